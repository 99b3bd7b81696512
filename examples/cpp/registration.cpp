// A kernel library that looks at an embedded code object before it registers it, as AITER's init() would: the kernel by
// its name, the blob by its address alone, the LDS that the device itself reports. A bad one is refused with a reason
// instead of a null function at the first launch.
//
//   c++ -std=c++17 registration.cpp $(pkg-config --cflags --libs hsaco) -o registration
//   registration gfx950 65536 kernels.co kernel

#include "file.hpp"

#include <hsaco.hpp>

#include <iostream>

class Kernel {
public:
    // What a library knows when it registers a kernel: hipGetDeviceProperties() has name and LDS.
    Kernel(const std::string &name, const void *blob, const std::string &device_name, std::uint32_t lds) {
        hsaco::device device(device_name);
        device.set(HSACO_DEVICE_LIMIT_LDS, lds);
        const hsaco::report report =
            hsaco::checker(device).kernel(name).check({blob, hsaco::elf_size(blob)});
        for (const hsaco_finding &finding : report.findings())
            if (finding.severity >= HSACO_SEVERITY_WARNING)
                std::cout << finding.rule << " in " << (finding.kernel ? finding.kernel : "the object") << "\n";
        if (!report.passes())
            throw std::runtime_error(reason(report));
        // hipModuleLoadData(&module_, blob) follows here.
    }

private:
    static std::string reason(const hsaco::report &report) {
        for (const hsaco_finding &finding : report.findings())
            if (finding.severity == HSACO_SEVERITY_ERROR)
                return finding.text;
        return "";
    }
};

int main(int argc, char **argv) {
    if (argc != 5) {
        std::cerr << "usage: registration DEVICE LDS FILE KERNEL\n";
        return 2;
    }
    try {
        const std::vector<std::uint8_t> blob = read_file(argv[3]);
        Kernel(argv[4], blob.data(), argv[1], static_cast<std::uint32_t>(std::stoul(argv[2])));
    } catch (const std::runtime_error &error) {
        std::cout << "refused: " << error.what() << "\n";
        return 1;
    }
    std::cout << "registered " << argv[4] << "\n";
}
