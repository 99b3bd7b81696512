// comgr's hotswap call, amd_comgr_hotswap_rewrite, on hsaco: an object for one stepping of gfx1250 becomes one for another,
// or a reason. Success means that there is a valid object, not that it is a changed one. Unlike comgr's, the result is
// verified, and a manifest says every byte that changed.
//
//   c++ -std=c++17 hotswap.cpp $(pkg-config --cflags --libs hsaco) -o hotswap
//   hotswap kernels.co amdgcn-amd-amdhsa--gfx1250:gfx1250-b0-specific+ amdgcn-amd-amdhsa--gfx1250 out.co

#include "file.hpp"

#include <hsaco.hpp>

#include <iostream>

static bool says(const std::string &isa, const char *token) { return isa.find(token) != std::string::npos; }

// A result, or nothing where the object is one already.
static std::optional<hsaco::patched> hotswap_rewrite(hsaco::bytes_view object, const std::string &source, const std::string &target) {
    if (!says(source, "gfx1250") || !says(target, "gfx1250"))
        throw hsaco::error(HSACO_STATUS_INVALID_ARGUMENT, "both must be gfx1250");
    // What comgr takes for unsaid: the source is B0, the target A0.
    const bool from_b0 = !says(source, "gfx1250-b0-specific-"), to_b0 = says(target, "gfx1250-b0-specific+");
    if (!from_b0 || to_b0)
        return std::nullopt;
    return hsaco::patcher("gfx1250-b0-to-a0").patch(object);
}

int main(int argc, char **argv) {
    static const char *const VERDICTS[] = {"unchanged", "changed", "refused"};
    if (argc != 5) {
        std::cerr << "usage: hotswap OBJECT SOURCE-ISA TARGET-ISA OUTPUT\n";
        return 2;
    }
    try {
        const std::vector<std::uint8_t> object = read_file(argv[1]);
        const auto rewritten = hotswap_rewrite(object, argv[2], argv[3]);
        if (!rewritten) {
            write_file(argv[4], object.data(), object.size());
            std::cout << "copied: " << object.size() << " bytes\n";
            return 0;
        }
        const hsaco::patched &result = *rewritten;
        if (result.verdict() == HSACO_PATCH_VERDICT_REFUSED) {
            std::cout << "not rewritten: " << result.refusals()
                      << "\n";
            return 1;
        }
        const hsaco::buffer data = result.data();
        const std::string wrong = hsaco::verify(object, data, result.manifest());
        if (!wrong.empty()) {
            std::cout << "does not hold: " << wrong << "\n";
            return 1;
        }
        write_file(argv[4], data.data(), data.size());
        std::cout << VERDICTS[result.verdict()] << ": " << data.size() << " bytes, verified\n";
    } catch (const hsaco::error &error) {
        std::cout << "not rewritten: " << error.what() << "\n";
        return 1;
    }
}
