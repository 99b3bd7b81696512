// A kernel library that looks at a code object before it registers it, as AITER's init() would: a bad one is refused
// with a reason instead of a null function at the first launch.
//
//   c++ -I crates/capi/include registration.cpp -L target/debug -lhsaco_c -o registration
//   registration gfx942 kernels.co

#include <hsaco.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

class Kernels {
public:
    void init(const std::vector<unsigned char> &object, const std::string &device) {
        if (hsaco_check(object.data(), object.size(), device.c_str(), nullptr) != HSACO_STATUS_OK)
            throw std::runtime_error(hsaco_last_error());
        // hipModuleLoadData(&module_, object.data()) follows here.
    }
};

// The same with warnings, which do not keep an object from running.
static void report(const std::vector<unsigned char> &object, const std::string &device) {
    hsaco_report *report = nullptr;
    hsaco_check(object.data(), object.size(), device.c_str(), &report);
    for (size_t i = 0; i < hsaco_report_size(report); ++i) {
        const hsaco_finding *finding = hsaco_report_finding(report, i);
        if (finding->severity < HSACO_SEVERITY_WARNING)
            continue;
        std::cout << finding->rule << " in " << (finding->kernel ? finding->kernel : "the object") << "\n";
    }
    hsaco_report_free(report);
}

int main(int argc, char **argv) {
    if (argc != 3) {
        std::cerr << "usage: registration DEVICE FILE\n";
        return 2;
    }
    std::ifstream file(argv[2], std::ios::binary);
    const std::vector<unsigned char> object{std::istreambuf_iterator<char>(file), {}};
    try {
        report(object, argv[1]);
        Kernels().init(object, argv[1]);
    } catch (const std::runtime_error &error) {
        std::cout << "refused: " << error.what() << "\n";
        return 1;
    }
    std::cout << "registered\n";
}
