// A profiler that is told of a dispatch by the name of its kernel: files are indexed when they are loaded, which decodes
// nothing, and a kernel is decoded when it is first dispatched.
//
//   c++ -std=c++17 profiler.cpp $(pkg-config --cflags --libs hsaco) -o profiler
//   profiler gfx942 libkernels.so -- vector_add other

#include <hsaco.hpp>

#include <algorithm>
#include <iostream>
#include <map>
#include <string>

class Profiler {
public:
    explicit Profiler(std::string device) : device_(std::move(device)) {}

    void loaded(const std::string &path) { database_.add_file(path, hsaco::selection().device(device_)); }

    void dispatched(const std::string &name) const {
        const hsaco::kernel kernel = database_.kernel(name, device_.c_str());
        const auto instructions = kernel.instructions();
        std::map<hsaco_memory_access, std::size_t> accesses;
        for (const hsaco_instruction &instruction : instructions)
            ++accesses[instruction.memory_access];
        const auto lines = kernel.lines();
        std::cout << kernel.demangled() << " (" << kernel.target() << "): " << instructions.size()
                  << " instructions in " << kernel.blocks().size() << " blocks, " << accesses[HSACO_MEMORY_ACCESS_LOAD]
                  << " loads, " << accesses[HSACO_MEMORY_ACCESS_STORE] << " stores, " << lines.size()
                  << " source lines\n";
        for (const hsaco_line &line : lines)
            std::cout << "  " << line.file << ":" << line.line << ": " << line.instruction_count << " instructions\n";
    }

    void show_counts() const {
        const hsaco_database_counts counts = database_.counts();
        std::cout << counts.kernels << " kernels in " << counts.objects << " objects, " << counts.decoded_kernels
                  << " decoded\n";
    }

private:
    hsaco::database database_;
    std::string device_;
};

int main(int argc, char **argv) {
    if (argc < 3) {
        std::cerr << "usage: profiler DEVICE FILE... -- KERNEL...\n";
        return 2;
    }
    int result = 0;
    try {
        Profiler profiler(argv[1]);
        int i = 2;
        for (; i < argc && std::string(argv[i]) != "--"; ++i)
            profiler.loaded(argv[i]);
        profiler.show_counts();
        for (++i; i < argc; ++i) {
            try {
                profiler.dispatched(argv[i]);
            } catch (const hsaco::error &error) {
                std::cout << "not shown: " << error.what() << "\n";
                result = 1;
            }
        }
        profiler.show_counts();
    } catch (const hsaco::error &error) {
        std::cout << "not indexed: " << error.what() << "\n";
        return 1;
    }
    return result;
}
