// The rest of kernelDB's interface, over several files: free functions, blocks, source, threads, errors.
//
//   kerneldb FIXTURES

#include "kernelDB.h"

static int wrong = 0;

#define HOLDS(condition) holds((condition), #condition, __LINE__)

static void holds(bool condition, const char *text, int line) {
    if (!condition) {
        ++wrong;
        std::cout << line << ": " << text << " does not hold\n";
    }
}

template <class Work>
static bool throws(Work work) {
    try {
        work();
        return false;
    } catch (const std::exception &) {
        return true;
    }
}

int main(int, char **argv) {
    const std::string folder = argv[1], lines = folder + "/lines.dwarf5.co", host = folder + "/host.so";
    const std::string two = "kernel_two(float*, vec::Pair<float>)";
    const hsa_agent_t agent = kernelDB::agentForTarget("gfx942");

    // Several files; adding one again, or another, changes nothing that was there.
    kernelDB::kernelDB database(agent, lines);
    const std::vector<kernelDB::instruction_t> before = database.getInstructionsForLine(two, 270);
    std::vector<std::string> names;
    database.getKernels(names);
    HOLDS(names.size() == 4);
    HOLDS(database.scanCodeObject(lines) && database.addFile(host, agent, "", true));
    HOLDS(!database.addFile(folder + "/manifest.txt", agent, "", true));
    HOLDS(throws([&] { database.addFile("/no/such/file", agent, "", true); }));
    HOLDS(throws([&] { kernelDB::kernelDB missing(agent, "/no/such/file"); }));
    HOLDS(database.getInstructionsForLine(two, 270).size() == before.size());
    names.clear();
    database.getKernels(names);
    HOLDS(names.size() > 4);

    // Every spelling, before and after loading; names that are none.
    for (const char *name : {"kernel_two(float*, vec::Pair<float>)", "_Z10kernel_twoPfN3vec4PairIfEE",
                             "_Z10kernel_twoPfN3vec4PairIfEE.kd"})
        HOLDS(database.hasKernel(name) && database.getKernel(name).getName() == two);
    HOLDS(!database.hasKernel("none") && throws([&] { database.getKernel("none"); }));
    HOLDS(throws([&] { database.getInstructionsForLine(two, 4); }));
    HOLDS(throws([&] { database.getKernelArguments("none"); }));
    HOLDS(database.getFileName("none", 1).empty() && database.getFileName(two, MISSING_SOURCE_INFO) == "<unknown>");
    HOLDS(throws([&] { database.getFileName(two, 0); }));

    // A filter takes some kernels only.
    kernelDB::kernelDB some(agent);
    HOLDS(some.addFile(lines, agent, "filled<int", true));
    names.clear();
    some.getKernels(names);
    HOLDS(names.size() == 1 && names[0] == "void filled<int, 3>(int*, vec::Pair<int>)");

    // Blocks tile the kernel, branches included, and lead back from instructions.
    const std::string one = "space::kernel_one(float*, vec::Pair<float> const*, int)";
    kernelDB::CDNAKernel &kernel = database.getKernel(one);
    HOLDS(kernel.getBlockCount() == kernel.getBasicBlocks().size() && kernel.getBlockCount() > 1);
    uint64_t last = 0;
    bool in_order = true, leads_back = true, has_branch = false;
    for (const auto &block : kernel.getBasicBlocks())
        for (const kernelDB::instruction_t &it : block->getInstructions()) {
            in_order = in_order && it.address_ > last;
            last = it.address_;
            leads_back = leads_back && it.block_ == block.get();
            has_branch = has_branch || it.inst_.find("s_cbranch") == 0;
        }
    HOLDS(in_order && leads_back && has_branch);
    std::vector<kernelDB::basicBlock> copies;
    HOLDS(database.getBasicBlocks(one, copies) && copies.size() == kernel.getBlockCount());
    HOLDS(kernel.getBasicBlock(0)->getInstructions().size() == copies[0].getInstructions().size());
    HOLDS(throws([&] { kernel.getBasicBlock(99); }));
    HOLDS(kernel.hasArguments() && kernel.getArguments().size() == 3 && kernel.getArguments()[2].type_name == "int");
    HOLDS(kernel.getArguments()[1].members.size() == 2 && kernel.getArguments()[1].members[1].offset == 4);

    // Free functions.
    std::string text;
    HOLDS(getDisassembly(agent, lines, text) && text.find("<_Z10kernel_twoPfN3vec4PairIfEE>:") != std::string::npos);
    HOLDS(text.find(before.front().disassembly_) != std::string::npos);
    HOLDS(getDisassemblyForSymbol(agent, lines, two, text) && text.find("s_endpgm") != std::string::npos);
    HOLDS(extractCodeObjects(agent, lines) == std::vector<std::string>{lines});
    for (const std::string &path : extractCodeObjects(agent, host)) {
        HOLDS(path != host && kernelDB::kernelDB(agent, path).hasKernel(names[0]) == false);
        unlink(path.c_str());
    }
    std::map<Dwarf_Addr, SourceLocation> places;
    HOLDS(buildDwarfAddressMap(lines.c_str(), 0, 0, places));
    HOLDS(getSourceLocation(places, before.front().address_).lineNumber == 270);
    std::map<std::string, std::vector<KernelArgument>> arguments;
    HOLDS(extractKernelArguments(lines.c_str(), 0, 0, arguments) && arguments[two].size() == 2);
    HOLDS(kernelDB::demangleName("_Z10kernel_twoPfN3vec4PairIfEE") == two);
    HOLDS(kernelDB::demangleName("__amd_crk__Z3fooi") == "__amd_crk_foo(int)");
    HOLDS(kernelDB::getKernelName("foo(int) [clone .kd]") == "foo(int)" && kernelDB::getKernelName("foo.kd") == "foo");
    size_t offset = 0;
    std::vector<uint8_t> bits;
    kernelDB::kernelDB::getElfSectionBits(host, ".hip_fatbin", offset, bits);
    HOLDS(offset > 0 && !bits.empty());
    const auto infos = kernelDB::kernelDB::getCodeObjectInfo(agent, bits);
    HOLDS(!infos.empty() && std::string(infos[0].isa) == "amdgcn-amd-amdhsa--gfx942");
    HOLDS(memcmp(&bits.at(infos[0].offset), "\177ELF", 4) == 0 && infos[0].offset + infos[0].size <= bits.size());
    HOLDS(throws([&] { kernelDB::kernelDB::getElfSectionBits(host, ".none", offset, bits); }));
    HOLDS(throws([&] { database.parseDisassembly("text"); }));

    // What callers make themselves.
    auto made = std::make_unique<kernelDB::CDNAKernel>("made");
    auto block = std::make_unique<kernelDB::basicBlock>();
    block->addInstruction(before.front());
    HOLDS(made->addBlock(0, std::move(block)) == 1 && made->addFileName("a.hip") == 1 && made->addFileName("a.hip") == 1);
    HOLDS(database.addKernel(std::move(made)) && database.getKernel("made").getBlockCount() == 1);

    // Threads that ask at once get the same kernel.
    std::vector<std::thread> threads;
    std::atomic<size_t> sum{0};
    for (int i = 0; i < 8; ++i)
        threads.emplace_back([&] { sum += database.getKernel("void filled<double, 5>(double*, vec::Pair<double>)").getBlockCount(); });
    for (std::thread &thread : threads)
        thread.join();
    HOLDS(sum == 8 * database.getKernel("void filled<double, 5>(double*, vec::Pair<double>)").getBlockCount());

    // The running process, which is none with GPU code; source with marks; no chatter.
    kernelDB::kernelDB process(agent, "");
    names.clear();
    process.getKernels(names);
    HOLDS(names.empty());
    std::vector<std::string> fields;
    HOLDS(kernelDB::split("a, b,,c", fields, ",", false) == 3 && fields[1] == " b");
    std::cout << (wrong == 0 ? "all as it should be" : "wrong") << "\n";
    return wrong;
}
