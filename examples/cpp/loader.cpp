// A runtime that takes code objects in any order, puts them together and makes a table of their device functions: HSA's
// calls, with device functions among the symbols, what kernels were raised to, and who may call whom.
//
//   c++ -std=c++17 loader.cpp $(pkg-config --cflags --libs hsaco) -o loader
//   loader gfx942 kernels.co library.co

#include "file.hpp"

#include <hsaco.hpp>

#include <iostream>

static void show_functions(const hsaco::executable &executable) {
    for (const hsaco::symbol &symbol : executable.symbols()) {
        if (symbol.kind() != HSACO_EXECUTABLE_SYMBOL_KIND_DEVICE_FUNCTION)
            continue;
        const auto address = symbol.info<std::uint64_t>(HSACO_EXECUTABLE_SYMBOL_INFO_CODE_ADDRESS);
        const auto size = symbol.info<std::uint64_t>(HSACO_EXECUTABLE_SYMBOL_INFO_CODE_SIZE);
        const auto object = symbol.info<std::uint32_t>(HSACO_EXECUTABLE_SYMBOL_INFO_LOADED_CODE_OBJECT);
        std::cout << "function " << symbol.name() << " at 0x" << std::hex << address << std::dec << ", " << size
                  << " bytes, of object " << object << "\n";
    }
}

static void show_raises(const hsaco::executable &executable) {
    for (const hsaco_raise *raise : executable.raises())
        for (const hsaco_shortage *shortage : hsaco::span<const hsaco_shortage *>(raise->shortages, raise->shortage_count))
            std::cout << "kernel " << raise->kernel << " of " << raise->object << ": " << shortage->resource << " "
                      << shortage->allocated << " raised to " << shortage->needed << " by "
                      << shortage->path[shortage->path_count - 1] << "\n";
}

static void show_calls(const hsaco::executable &executable) {
    const hsaco::calls calls = executable.calls();
    for (const hsaco_call &call : calls.all())
        std::cout << call.caller->name << " calls " << (call.callee ? call.callee->name : "?") << " (" << call.evidence
                  << "), " << call.candidate_count << " candidates\n";
}

int main(int argc, char **argv) {
    if (argc < 3) {
        std::cerr << "usage: loader DEVICE FILE...\n";
        return 2;
    }
    try {
        hsaco::executable executable{std::string(argv[1])};
        for (int i = 2; i < argc; ++i)
            executable.load("object", read_file(argv[i]));
        try {
            executable.freeze(0x7f0000000000);
        } catch (const hsaco::error &error) {
            std::cout << "not frozen: " << error.what() << "\nhsa status 0x"
                      << std::hex << executable.hsa_status() << "\n";
            return 1;
        }
        show_functions(executable);
        show_raises(executable);
        show_calls(executable);
        std::uint64_t memory = 0;
        for (const hsaco::segment &segment : executable.segments())
            memory += segment.size;
        std::cout << memory << " bytes of memory, linked: " << (executable.link().size() > 64 ? "yes" : "no") << "\n";
    } catch (const hsaco::error &error) {
        std::cout << "not loaded: " << error.what() << "\n";
        return 1;
    }
}
