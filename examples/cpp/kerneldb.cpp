// A program that is written against kernelDB's header, and knows nothing of hsaco: it compiles unchanged with either.
// It lists the kernels of files, and of those that are named after -- everything: lines, blocks, arguments.
//
//   c++ -std=c++17 kerneldb.cpp $(pkg-config --cflags --libs hsaco-kerneldb) -o kerneldb
//   kerneldb kernels.co library.so -- 'vector_add(float*, int)'

#include "kernelDB.h"

#include <iostream>
#include <string>
#include <vector>

static void show(const std::vector<KernelArgument> &arguments, const std::string &indent) {
    for (const KernelArgument &argument : arguments) {
        std::cout << indent << argument.name << ": " << argument.type_name << ", " << argument.size << " bytes at "
                  << argument.offset << "\n";
        show(argument.members, indent + "  ");
    }
}

static void show(kernelDB::kernelDB &database, const std::string &name) {
    kernelDB::CDNAKernel &kernel = database.getKernel(name);
    size_t count = 0;
    for (const auto &block : kernel.getBasicBlocks())
        count += block->getInstructions().size();
    std::cout << kernel.getName() << ": " << count << " instructions in " << kernel.getBlockCount() << " blocks\n";
    std::vector<uint32_t> lines;
    database.getKernelLines(name, lines);
    for (const uint32_t line : lines) {
        const std::vector<kernelDB::instruction_t> &all = database.getInstructionsForLine(name, line);
        const auto memory = database.getInstructionsForLine(name, line, std::string(".*(load|store).*"));
        std::cout << "  line " << line << " of " << database.getFileName(name, all.front().path_id_) << ": " << all.size()
                  << " instructions, " << memory.size() << " loads and stores";
        if (!memory.empty())
            std::cout << " (" << memory.front().prefix_ << " " << memory.front().type_ << " " << memory.front().size_ << ")";
        std::cout << "\n";
    }
    show(database.getKernelArguments(name), "  ");
    std::cout << "  resolved:\n";
    show(database.getKernelArguments(name, true), "    ");
    const auto &first = kernel.getBasicBlocks().front()->getInstructions();
    std::cout << first.front().disassembly_ << "\n" << first.back().disassembly_ << "\n";
}

int main(int argc, char **argv) {
    hsa_agent_t agent;
    agent.handle = 0;
    try {
        kernelDB::kernelDB database(agent);
        int i = 1;
        for (; i < argc && std::string(argv[i]) != "--"; ++i)
            if (!database.addFile(argv[i], agent, "", true))
                std::cout << argv[i] << " holds no GPU code\n";
        std::vector<std::string> kernels;
        database.getKernels(kernels);
        for (const std::string &name : kernels)
            std::cout << name << (database.hasKernel(name) ? "" : " is not there") << "\n";
        for (++i; i < argc; ++i)
            show(database, argv[i]);
    } catch (const std::runtime_error &error) {
        std::cout << "error: " << error.what() << "\n";
        return 1;
    }
}
