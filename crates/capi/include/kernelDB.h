// The C++ interface of AMD Research's kernelDB, on hsaco: classes, methods and structures are kernelDB's, answers are
// hsaco's. Programs that include kernelDB's header compile unchanged with this one's folder on the include path, and link
// libhsaco instead of kernelDB, comgr and libdwarf. docs/c.md lists where answers differ, and why.
//
// No HSA is needed. With HSA's headers on the include path hsa_agent_t is HSA's, and in a program that is linked with the
// runtime an agent chooses between the objects of a file by its ISA. Without, the GPU of the system does, else
// kernelDB::agentForTarget("gfx942"); where nothing chooses, a kernel that is there for several targets is an error.

#pragma once

#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <chrono>
#include <climits>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <regex>
#include <set>
#include <shared_mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

#if __has_include(<hsa.h>)
#include <hsa.h>
#define HSACO_KERNELDB_HAS_HSA 1
#elif __has_include(<hsa/hsa.h>)
#include <hsa/hsa.h>
#define HSACO_KERNELDB_HAS_HSA 1
#else
typedef struct hsa_agent_s {
    uint64_t handle;
} hsa_agent_t;
#endif

#if __has_include(<amd_comgr/amd_comgr.h>)
#include <amd_comgr/amd_comgr.h>
#elif __has_include(<amd_comgr.h>)
#include <amd_comgr.h>
#else
typedef struct code_object_info_s {
    const char *isa;
    size_t size;
    uint64_t offset;
} amd_comgr_code_object_info_t;
#endif

#include <hsaco.hpp>

#ifdef HSACO_KERNELDB_HAS_HSA
// Asked where the program is linked with the runtime, and only there.
#pragma weak hsa_agent_iterate_isas
#pragma weak hsa_isa_get_info_alt
#endif

#define MISSING_SOURCE_INFO 0xffffffff

typedef unsigned long long Dwarf_Unsigned;
typedef unsigned long long Dwarf_Addr;

typedef struct {
    std::string isa_;
    uint32_t xccs_;
    uint32_t ses_;
    uint32_t cus_;
    uint32_t simds_;
    uint32_t wave_size_;
    uint32_t max_waves_;
} kdb_arch_descriptor_t;

// A place in a source file.
struct SourceLocation {
    std::string fileName;
    Dwarf_Unsigned lineNumber;
    Dwarf_Unsigned columnNumber;

    SourceLocation(const std::string &file = "", Dwarf_Unsigned line = 0, Dwarf_Unsigned col = 0)
        : fileName(file), lineNumber(line), columnNumber(col) {}
};

// An argument of a kernel, or a member of one.
struct KernelArgument {
    std::string name;
    std::string type_name;
    size_t size;
    size_t offset; // In the kernarg segment; of a member, in its structure.
    size_t alignment;
    uint32_t position;
    std::vector<KernelArgument> members;

    KernelArgument(const std::string &n = "", const std::string &t = "", size_t sz = 0, size_t off = 0, size_t align = 0,
                   uint32_t pos = 0)
        : name(n), type_name(t), size(sz), offset(off), alignment(align), position(pos) {}
};

namespace kernelDB {

class basicBlock;

typedef struct instruction_s {
    std::string prefix_; // Of loads and stores the first part of the name, such as "global".
    std::string type_;   // "load", "store" or nothing.
    std::string size_;   // Of loads and stores what follows, such as "dwordx4".
    std::string inst_;
    std::vector<std::string> operands_; // The words behind the name, with their commas.
    std::string disassembly_;           // The line that llvm-objdump prints.
    uint64_t address_ = 0;
    uint32_t line_ = MISSING_SOURCE_INFO;
    uint32_t column_ = MISSING_SOURCE_INFO;
    size_t path_id_ = MISSING_SOURCE_INFO; // The number of its file, from 1, as getFileName takes it.
    std::string file_name_;
    basicBlock *block_ = nullptr;
} instruction_t;

enum parse_mode { BEGIN, KERNEL, BBLOCK, BRANCH };

// Instructions that run one after the other, the branch at their end included.
class basicBlock {
public:
    basicBlock() = default;
    void addInstruction(const instruction_t &instruction) { instructions_.push_back(instruction); }
    const std::vector<instruction_t> &getInstructions() const { return instructions_; }
    std::vector<instruction_t> &getModifiableInstructions() { return instructions_; }

private:
    std::vector<instruction_t> instructions_;
};

namespace detail {

// What Omniprobe puts in front of the mangled names of instrumented kernels.
inline const std::string &clonePrefix() {
    static const std::string prefix = "__amd_crk_";
    return prefix;
}

inline bool startsWith(const std::string &text, const std::string &start) {
    return text.compare(0, start.size(), start) == 0;
}

inline bool endsWith(const std::string &text, const std::string &end) {
    return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

inline uint64_t known(uint64_t number) { return number == HSACO_UNKNOWN ? 0 : number; }

inline std::string text(const char *text) { return text == nullptr ? std::string() : std::string(text); }

// A type as kernelDB spells it: no blank before * and &.
inline std::string spelled(const char *type) {
    std::string result;
    for (const char c : text(type)) {
        if ((c == '*' || c == '&') && !result.empty() && result.back() == ' ')
            result.pop_back();
        result.push_back(c);
    }
    return result;
}

inline std::vector<KernelArgument> members(const hsaco_member *const *list, size_t count) {
    std::vector<KernelArgument> all;
    for (size_t i = 0; i < count; ++i) {
        const hsaco_member &it = *list[i];
        KernelArgument member(text(it.name), spelled(it.type_name), known(it.size), known(it.offset),
                              known(it.alignment), static_cast<uint32_t>(i));
        member.members = members(it.members, it.member_count);
        all.push_back(std::move(member));
    }
    return all;
}

// The explicit arguments of a kernel.
inline std::vector<KernelArgument> arguments(const hsaco::kernel &kernel, bool resolve_typedefs) {
    std::vector<KernelArgument> all;
    const hsaco::arguments found =
        kernel.arguments(HSACO_ARGUMENTS_KEYWORDS | (resolve_typedefs ? HSACO_ARGUMENTS_RESOLVE_TYPEDEFS : 0));
    for (const hsaco_argument &it : found.all()) {
        if (it.is_hidden)
            continue;
        const std::string kind = text(it.kind);
        const bool is_pointer = kind == "global_buffer" || kind == "dynamic_shared_pointer";
        const uint64_t alignment = it.alignment == HSACO_UNKNOWN && is_pointer ? it.size : it.alignment;
        KernelArgument argument(text(it.name), spelled(it.type_name), known(it.size), known(it.offset), known(alignment),
                                static_cast<uint32_t>(all.size()));
        argument.members = it.member_count > 0 ? members(it.members, it.member_count)
                                               : members(it.pointee_members, it.pointee_member_count);
        all.push_back(std::move(argument));
    }
    return all;
}

// The line that llvm-objdump prints of an instruction.
inline std::string listed(const hsaco_instruction &it, const hsaco_kernel_info &kernel) {
    constexpr size_t COMMENT_COLUMN = 59;
    std::ostringstream line;
    std::string words = text(it.text);
    if (words.size() < COMMENT_COLUMN - 1)
        words.resize(COMMENT_COLUMN - 1, ' ');
    line << '\t' << words << " // " << std::hex << std::uppercase << std::setfill('0') << std::setw(12) << it.address
         << ":";
    for (size_t at = 0; at < it.size; at += 4) {
        line << ' ';
        for (size_t byte = std::min(it.size, at + 4); byte > at; --byte)
            line << std::setw(2) << static_cast<unsigned>(it.bytes[byte - 1]);
    }
    const uint64_t target = it.branch_target, end = kernel.entry + kernel.code_size;
    if (target != HSACO_UNKNOWN && kernel.entry != HSACO_UNKNOWN && target >= kernel.entry && target < end) {
        line << " <" << kernel.name;
        if (target > kernel.entry)
            line << "+0x" << std::nouppercase << target - kernel.entry;
        line << ">";
    }
    return line.str();
}

// The parts of a load's or store's name; of another name nothing.
inline void split(instruction_t &instruction) {
    const std::string &name = instruction.inst_;
    const size_t first = name.find('_');
    const size_t second = first == std::string::npos ? first : name.find('_', first + 1);
    if (first == std::string::npos)
        return;
    const std::string kind = name.substr(first + 1, second == std::string::npos ? second : second - first - 1);
    if (kind != "load" && kind != "store")
        return;
    instruction.prefix_ = name.substr(0, first);
    instruction.type_ = kind;
    instruction.size_ = second == std::string::npos ? "" : name.substr(second + 1);
}

inline std::vector<instruction_t> matching(const std::vector<instruction_t> &instructions, const std::string &match) {
    const std::regex pattern(match);
    std::vector<instruction_t> all;
    std::copy_if(instructions.begin(), instructions.end(), std::back_inserter(all),
                 [&](const instruction_t &it) { return std::regex_match(it.inst_, pattern); });
    return all;
}

// Targets of agents that stand for one.
inline std::string targetOfToken(uint64_t handle, const std::string *give = nullptr) {
    static std::mutex mutex;
    static std::map<uint64_t, std::string> targets;
    const std::lock_guard<std::mutex> lock(mutex);
    if (give != nullptr)
        targets[handle] = *give;
    const auto found = targets.find(handle);
    return found == targets.end() ? std::string() : found->second;
}

inline std::string targetName(unsigned major, unsigned minor, unsigned stepping) {
    std::ostringstream name;
    name << "gfx" << major << std::hex << minor << stepping;
    return name.str();
}

// The architecture of the first GPU, as the driver says it; nothing without one.
inline std::string targetOfSystem() {
    unsigned major = 0, minor = 0, stepping = 0;
    const char *override_version = std::getenv("HSA_OVERRIDE_GFX_VERSION");
    if (override_version != nullptr && *override_version != '\0') {
        if (std::sscanf(override_version, "%u.%u.%u", &major, &minor, &stepping) != 3)
            throw std::runtime_error("HSA_OVERRIDE_GFX_VERSION is not of the form 9.4.2");
        return targetName(major, minor, stepping);
    }
    for (unsigned node = 0;; ++node) {
        std::ifstream properties("/sys/class/kfd/kfd/topology/nodes/" + std::to_string(node) + "/properties");
        if (!properties)
            return "";
        std::string key;
        unsigned long value = 0;
        while (properties >> key >> value)
            if (key == "gfx_target_version" && value != 0)
                return targetName(static_cast<unsigned>(value / 10000), static_cast<unsigned>(value / 100 % 100),
                                  static_cast<unsigned>(value % 100));
    }
}

// The ISAs of an agent of the HSA runtime; none without one.
inline std::vector<std::string> isasOfRuntime([[maybe_unused]] hsa_agent_t agent) {
    std::vector<std::string> all;
#ifdef HSACO_KERNELDB_HAS_HSA
    // Weak: null in a program that is not linked with the runtime.
    hsa_status_t (*volatile iterate)(hsa_agent_t, hsa_status_t (*)(hsa_isa_t, void *), void *) = hsa_agent_iterate_isas;
    if (iterate == nullptr || agent.handle == 0)
        return all;
    iterate(
        agent,
        [](hsa_isa_t isa, void *data) {
            uint32_t length = 0;
            if (hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME_LENGTH, &length) == HSA_STATUS_SUCCESS) {
                std::vector<char> name(length + 1, '\0');
                if (hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME, name.data()) == HSA_STATUS_SUCCESS)
                    static_cast<std::vector<std::string> *>(data)->emplace_back(name.data());
            }
            return HSA_STATUS_SUCCESS;
        },
        &all);
#endif
    return all;
}

// The target that an agent stands for; nothing where nothing says.
inline std::string targetOf(hsa_agent_t agent) {
    const std::string given = targetOfToken(agent.handle);
    if (!given.empty())
        return given;
    const std::vector<std::string> isas = isasOfRuntime(agent);
    return isas.empty() ? targetOfSystem() : isas.front();
}

inline hsaco::selection selectionFor(const std::string &target) {
    hsaco::selection selection;
    if (!target.empty())
        selection.device(target);
    return selection;
}

inline std::vector<uint8_t> readBytes(const std::string &path, size_t offset, size_t length) {
    std::ifstream file(path, std::ios::binary);
    if (!file)
        throw std::runtime_error("Could not open file: " + path);
    file.seekg(static_cast<std::streamoff>(offset));
    std::vector<uint8_t> bytes;
    if (length == 0)
        bytes.assign(std::istreambuf_iterator<char>(file), {});
    else {
        bytes.resize(length);
        file.read(reinterpret_cast<char *>(bytes.data()), static_cast<std::streamsize>(length));
        bytes.resize(static_cast<size_t>(file.gcount()));
    }
    return bytes;
}

inline std::string temporaryFile(const uint8_t *bytes, size_t size) {
    std::string path = (std::filesystem::temp_directory_path() / "hsaco-XXXXXX").string();
    const int file = mkstemp(path.data());
    if (file < 0)
        throw std::runtime_error("no temporary file: " + path);
    for (size_t done = 0; done < size;) {
        const ssize_t count = write(file, bytes + done, size - done);
        if (count < 0) {
            close(file);
            unlink(path.c_str());
            throw std::runtime_error("cannot write " + path);
        }
        done += static_cast<size_t>(count);
    }
    close(file);
    return path;
}

inline bool isNoCode(const hsaco::error &error) {
    return error.status() == HSACO_STATUS_NOT_FOUND || error.status() == HSACO_STATUS_NOT_RECOGNISED;
}

} // namespace detail

// An agent that stands for a target, such as "gfx942", on a machine that need not have one.
inline hsa_agent_t agentForTarget(const std::string &target) {
    hsa_agent_t agent;
    agent.handle = std::hash<std::string>()(target) | 1;
    detail::targetOfToken(agent.handle, &target);
    return agent;
}

inline std::string demangleName(const char *name) {
    const std::string mangled = name == nullptr ? "" : name;
    const std::string &prefix = detail::clonePrefix();
    if (detail::startsWith(mangled, prefix))
        return prefix + hsaco::demangle(mangled.substr(prefix.size()));
    return hsaco::demangle(mangled);
}

inline std::vector<std::string> getIsaList(hsa_agent_t agent) {
    std::vector<std::string> isas = detail::isasOfRuntime(agent);
    const std::string target = isas.empty() ? detail::targetOf(agent) : "";
    if (!target.empty())
        isas.push_back(detail::startsWith(target, "amdgcn") ? target : "amdgcn-amd-amdhsa--" + target);
    return isas;
}

// The part of a readable name up to its parameters' end, or of another up to its last dot.
inline std::string getKernelName(const std::string &name) {
    const size_t parenthesis = name.find_last_of(')');
    if (parenthesis != std::string::npos)
        return name.substr(0, parenthesis + 1);
    return name.substr(0, name.find_last_of('.'));
}

// A kernel: text, blocks, and instructions by source line.
class CDNAKernel {
public:
    explicit CDNAKernel(const std::string &name) : name_(name) {}

    size_t addBlock(uint32_t, std::unique_ptr<basicBlock> block) {
        blocks_.push_back(std::move(block));
        return blocks_.size();
    }
    size_t getBlockCount() const { return blocks_.size(); }
    std::string getName() const { return name_; }
    const std::vector<std::unique_ptr<basicBlock>> &getBasicBlocks() const { return blocks_; }
    void addInstructionForLine(uint64_t line, const instruction_t &instruction) {
        addLine(static_cast<uint32_t>(line), instruction);
    }
    void addLine(uint32_t line, const instruction_t &instruction) { line_map_[line].push_back(instruction); }
    size_t addFileName(const std::string &name) {
        const auto found = std::find(file_names_.begin(), file_names_.end(), name);
        if (found != file_names_.end())
            return static_cast<size_t>(found - file_names_.begin()) + 1;
        file_names_.push_back(name);
        return file_names_.size();
    }
    void getLineNumbers(std::vector<uint32_t> &out) const {
        for (const auto &line : line_map_)
            out.push_back(line.first);
    }
    const std::vector<instruction_t> &getInstructionsForLine(uint32_t line) const {
        const auto found = line_map_.find(line);
        if (found == line_map_.end())
            throw std::runtime_error(name_ + " has no code of line " + std::to_string(line));
        return found->second;
    }
    std::vector<instruction_t> getInstructionsForLine(uint32_t line, const std::string &match) const {
        return detail::matching(getInstructionsForLine(line), match);
    }
    // The path of a file by its number, which counts from 1.
    std::string getFileName(size_t index) const {
        if (index == MISSING_SOURCE_INFO)
            return "<unknown>";
        if (index == 0 || index > file_names_.size())
            throw std::out_of_range(name_ + " has no file " + std::to_string(index));
        return file_names_[index - 1];
    }
    const basicBlock *getBasicBlock(uint32_t idx) const { return blocks_.at(idx).get(); }
    // The lines of its source files that its code comes from, as far as the files are there.
    void getSourceCode(std::vector<std::string> &outputLines) {
        std::set<std::pair<size_t, uint32_t>> seen;
        for (const auto &block : blocks_)
            for (const instruction_t &it : block->getInstructions())
                if (it.line_ != MISSING_SOURCE_INFO && seen.emplace(it.path_id_, it.line_).second)
                    if (const std::string *line = sourceLine(it))
                        outputLines.push_back(*line);
    }
    std::string getDisassembly() const {
        std::string all;
        for (const auto &block : blocks_)
            for (const instruction_t &it : block->getInstructions())
                all += it.disassembly_ + "\n";
        return all;
    }
    // The source lines of a block, with ^ below the columns that instructions come from.
    void printBlock(std::ostream &out, basicBlock *block, const std::string &) {
        std::map<std::pair<size_t, uint32_t>, std::set<uint32_t>> columns;
        for (const instruction_t &it : block->getInstructions())
            if (it.line_ != MISSING_SOURCE_INFO)
                columns[{it.path_id_, it.line_}].insert(it.column_);
        for (const instruction_t &it : block->getInstructions()) {
            const auto found = columns.find({it.path_id_, it.line_});
            const std::string *line = found == columns.end() ? nullptr : sourceLine(it);
            if (line != nullptr) {
                std::string marks;
                for (const uint32_t column : found->second) {
                    if (column == 0 || column == MISSING_SOURCE_INFO)
                        continue;
                    marks.resize(std::max<size_t>(marks.size(), column), ' ');
                    marks[column - 1] = '^';
                }
                out << *line << std::endl << marks << std::endl;
            }
            if (found != columns.end())
                columns.erase(found);
        }
    }
    void setArguments(const std::vector<KernelArgument> &args) { arguments_ = args; }
    const std::vector<KernelArgument> &getArguments() const { return arguments_; }
    bool hasArguments() const { return !arguments_.empty(); }

private:
    // A source line, if its file is there.
    const std::string *sourceLine(const instruction_t &instruction) {
        const std::lock_guard<std::mutex> lock(sources_mutex_);
        auto found = sources_.find(instruction.path_id_);
        if (found == sources_.end()) {
            std::vector<std::string> lines;
            std::ifstream file(instruction.file_name_);
            for (std::string line; std::getline(file, line);)
                lines.push_back(line);
            found = sources_.emplace(instruction.path_id_, std::move(lines)).first;
        }
        const uint32_t line = instruction.line_;
        return line == 0 || line > found->second.size() ? nullptr : &found->second[line - 1];
    }

    std::string name_;
    std::vector<std::unique_ptr<basicBlock>> blocks_;
    std::map<uint32_t, std::vector<instruction_t>> line_map_;
    std::vector<std::string> file_names_;
    std::mutex sources_mutex_;
    std::map<size_t, std::vector<std::string>> sources_;
    std::vector<KernelArgument> arguments_;
};

// Kernels by name. All methods may be called from any thread. A kernel is decoded when it is first asked for.
class kernelDB {
public:
    // The kernels of a file; of the running process where the name is empty.
    kernelDB(hsa_agent_t agent, const std::string &fileName) : kernelDB(agent) {
        if (fileName.empty())
            addProcess();
        else
            load(fileName, agent, "");
    }
    explicit kernelDB(hsa_agent_t agent) : agent_(agent) {}
    kernelDB(const kernelDB &) = delete;
    kernelDB &operator=(const kernelDB &) = delete;

    // Adds what an agent runs of a file, of its kernels only those whose name matches the filter, a regular expression;
    // false if the file holds no GPU code. Kernels are decoded when they are first asked for, lazy or not.
    bool addFile(const std::string &name, hsa_agent_t agent, const std::string &strFilter, bool lazy = false) {
        (void)lazy;
        try {
            load(name, agent, strFilter);
        } catch (const hsaco::error &error) {
            if (detail::isNoCode(error) && !holdsCode(name))
                return false;
            throw;
        }
        return true;
    }
    // Adds a code object; one that was added before is left as it is.
    bool scanCodeObject(const std::string &co_file) { return addFile(co_file, agent_, ""); }

    bool hasKernel(const std::string &name) { return !named(name).empty(); }
    CDNAKernel &getKernel(const std::string &name) {
        const auto found = find(name);
        if (found == nullptr)
            throw std::runtime_error(name + " kernel does not exist.");
        return found->loaded();
    }
    void getKernels(std::vector<std::string> &out) {
        const std::lock_guard<std::mutex> lock(mutex_);
        out.insert(out.end(), names_.begin(), names_.end());
    }
    void getKernelLines(const std::string &kernel, std::vector<uint32_t> &out) {
        if (const auto found = find(kernel))
            found->loaded().getLineNumbers(out);
    }
    const std::vector<instruction_t> &getInstructionsForLine(const std::string &kernel_name, uint32_t line) {
        return getKernel(kernel_name).getInstructionsForLine(line);
    }
    std::vector<instruction_t> getInstructionsForLine(const std::string &kernel_name, uint32_t line,
                                                      const std::string &match) {
        return getKernel(kernel_name).getInstructionsForLine(line, match);
    }
    std::string getFileName(const std::string &kernel, size_t index) {
        const auto found = find(kernel);
        return found == nullptr ? "" : found->loaded().getFileName(index);
    }
    std::vector<KernelArgument> getKernelArguments(const std::string &kernel_name, bool resolve_typedefs = false) {
        const auto found = find(kernel_name);
        if (found == nullptr)
            throw std::runtime_error("Unable to find kernel " + kernel_name);
        return found->arguments(resolve_typedefs);
    }
    bool getBasicBlocks(const std::string &name, std::vector<basicBlock> &out) {
        for (const auto &block : getKernel(name).getBasicBlocks())
            out.push_back(*block);
        return true;
    }
    // Adds a kernel that the caller made; false if it takes the place of another.
    bool addKernel(std::unique_ptr<CDNAKernel> kernel) {
        const std::string name = kernel->getName();
        const auto entry = std::make_shared<Entry>(std::move(kernel));
        const std::lock_guard<std::mutex> lock(mutex_);
        auto &all = kernels_[name];
        const bool is_new = all.empty();
        all.assign(1, entry);
        if (is_new)
            names_.push_back(name);
        return is_new;
    }
    // What is known of the target; numbers that only a device has are 0.
    kdb_arch_descriptor_t getArchitecture() {
        kdb_arch_descriptor_t arch{detail::targetOf(agent_), 0, 0, 0, 0, 0, 0};
        if (!arch.isa_.empty())
            arch.max_waves_ = hsaco::device(arch.isa_)[HSACO_DEVICE_LIMIT_WAVES];
        return arch;
    }

    // Nothing here reads the text of a disassembler.
    bool parseDisassembly(const std::string &) { throw unsupported("parseDisassembly"); }
    void mapDisassemblyToSource(hsa_agent_t, const char *) { throw unsupported("mapDisassemblyToSource"); }
    void getBlockMarkers(const std::string &, std::map<std::string, std::set<uint64_t>> &) {
        throw unsupported("getBlockMarkers");
    }

    // The bytes of a section of an ELF file, and where they begin in it.
    static void getElfSectionBits(const std::string &fileName, const std::string &sectionName, size_t &offset,
                                  std::vector<uint8_t> &sectionData) {
        const std::vector<uint8_t> file = detail::readBytes(fileName, 0, 0);
        const auto number = [&file](uint64_t at, size_t size) {
            uint64_t value = 0;
            if (at > file.size() || size > file.size() - at)
                throw std::runtime_error("Not a valid ELF file");
            std::memcpy(&value, file.data() + at, size);
            return value;
        };
        if (number(0, 4) != 0x464c457f || number(4, 1) != 2)
            throw std::runtime_error("Not a valid ELF file");
        const uint64_t table = number(40, 8), entry = number(58, 2), count = number(60, 2), names = number(62, 2);
        const uint64_t strings = number(table + names * entry + 24, 8), strings_size = number(table + names * entry + 32, 8);
        for (uint64_t i = 0; i < count; ++i) {
            const uint64_t header = table + i * entry, name = number(header, 4);
            if (name >= strings_size || number(strings + name, 1) == 0)
                continue;
            const char *start = reinterpret_cast<const char *>(file.data() + strings + name);
            if (std::string(start, strnlen(start, strings_size - name)) != sectionName)
                continue;
            const uint64_t at = number(header + 24, 8), size = number(header + 32, 8);
            if (at > file.size() || size > file.size() - at)
                throw std::runtime_error("Not a valid ELF file");
            offset = at;
            sectionData.assign(file.begin() + static_cast<std::ptrdiff_t>(at),
                               file.begin() + static_cast<std::ptrdiff_t>(at + size));
            return;
        }
        throw std::runtime_error("Section not found: " + sectionName);
    }

    // The code objects of a bundle that an agent runs, by their places in it.
    static std::vector<amd_comgr_code_object_info_t> getCodeObjectInfo(hsa_agent_t agent, std::vector<uint8_t> &bits) {
        static const std::string magic = "__CLANG_OFFLOAD_BUNDLE__";
        static std::mutex mutex;
        static std::set<std::string> isas;
        std::vector<amd_comgr_code_object_info_t> all;
        hsaco::database database;
        database.add_bytes("bundle", bits, detail::selectionFor(detail::targetOf(agent)));
        std::set<std::string> wanted;
        for (const hsaco::object &object : database.objects())
            wanted.insert(detail::text(object.info().entry_id));
        const auto begins = [&](size_t at) {
            return bits.size() - at > 32 && std::memcmp(bits.data() + at, magic.data(), magic.size()) == 0;
        };
        for (size_t bundle = 0; bundle + 32 < bits.size(); ++bundle) {
            if (!begins(bundle))
                continue;
            const auto number = [&](size_t at) {
                uint64_t value = 0;
                if (at > bits.size() || bits.size() - at < 8)
                    throw std::runtime_error("the bundle is truncated");
                std::memcpy(&value, bits.data() + at, 8);
                return value;
            };
            size_t at = bundle + 32;
            for (uint64_t left = number(bundle + 24); left > 0; --left) {
                const uint64_t offset = number(at), size = number(at + 8), length = number(at + 16);
                if (length > bits.size() - at - 24)
                    throw std::runtime_error("the bundle is truncated");
                const std::string id(reinterpret_cast<const char *>(bits.data() + at + 24), length);
                at += 24 + length;
                if (wanted.count(id) == 0)
                    continue;
                const std::lock_guard<std::mutex> lock(mutex);
                const size_t triple = id.find("amdgcn");
                const auto isa = isas.insert(triple == std::string::npos ? id : id.substr(triple)).first;
                all.push_back({isa->c_str(), static_cast<size_t>(size), bundle + offset});
            }
        }
        if (all.empty())
            throw std::runtime_error("no bundle that is not compressed; hsaco::database reads all of them");
        return all;
    }

private:
    // A kernel that is decoded when it is first asked for.
    class Entry {
    public:
        explicit Entry(hsaco::kernel kernel) : kernel_(std::move(kernel)) {}
        explicit Entry(std::unique_ptr<CDNAKernel> given) : given_(std::move(given)) {}

        std::string target() const { return kernel_ ? std::string(kernel_.target()) : ""; }
        CDNAKernel &loaded() {
            const std::lock_guard<std::mutex> lock(mutex_);
            if (given_ == nullptr)
                given_ = load();
            return *given_;
        }
        std::vector<KernelArgument> arguments(bool resolve_typedefs) {
            return kernel_ ? detail::arguments(kernel_, resolve_typedefs) : loaded().getArguments();
        }

    private:
        std::unique_ptr<CDNAKernel> load() const {
            const hsaco_kernel_info &info = kernel_.info();
            auto made = std::make_unique<CDNAKernel>(demangleName(info.name));
            const auto instructions = kernel_.instructions();
            for (const hsaco_block &block : kernel_.blocks()) {
                auto kept = std::make_unique<basicBlock>();
                for (size_t i = 0; i < block.instruction_count; ++i) {
                    const size_t index = block.first_instruction + i;
                    instruction_t instruction = describe(instructions[index], info, kernel_.location(index), *made);
                    instruction.block_ = kept.get();
                    if (instruction.line_ != MISSING_SOURCE_INFO)
                        made->addLine(instruction.line_, instruction);
                    kept->addInstruction(instruction);
                }
                made->addBlock(static_cast<uint32_t>(block.index), std::move(kept));
            }
            made->setArguments(detail::arguments(kernel_, false));
            return made;
        }
        static instruction_t describe(const hsaco_instruction &it, const hsaco_kernel_info &info,
                                      const hsaco_location *location, CDNAKernel &kernel) {
            instruction_t instruction;
            std::istringstream words(detail::text(it.text));
            words >> instruction.inst_;
            instruction.operands_.assign(std::istream_iterator<std::string>(words), {});
            instruction.disassembly_ = detail::listed(it, info);
            instruction.address_ = it.address;
            detail::split(instruction);
            if (location != nullptr) {
                instruction.file_name_ = location->file;
                instruction.path_id_ = kernel.addFileName(location->file);
                if (location->line != 0) {
                    instruction.line_ = location->line;
                    instruction.column_ = location->column;
                }
            }
            return instruction;
        }

        hsaco::kernel kernel_;
        std::mutex mutex_;
        std::unique_ptr<CDNAKernel> given_;
    };

    static std::runtime_error unsupported(const std::string &what) {
        return std::runtime_error(what + " is not there: nothing here reads the text of a disassembler");
    }

    static bool holdsCode(const std::string &path) {
        try {
            hsaco::database().add_file(path);
            return true;
        } catch (const hsaco::error &) {
            return false;
        }
    }

    void load(const std::string &path, hsa_agent_t agent, const std::string &filter) {
        const std::lock_guard<std::mutex> lock(mutex_);
        hsaco::selection selection = detail::selectionFor(detail::targetOf(agent));
        if (!filter.empty()) {
            const std::regex pattern(filter);
            selection.filter([pattern](const char *name) {
                return std::regex_search(name, pattern) || std::regex_search(demangleName(name), pattern);
            });
        }
        database_.add_file(path, selection);
        for (const auto &object : database_.objects()) {
            const std::string place = detail::text(object.info().file) + "\n" + std::to_string(object.info().number);
            size_t &known = indexed_[place];
            if (known < object.info().kernel_count)
                index(object);
            known = object.info().kernel_count;
        }
    }

    // Names an object's kernels; of several of a name and a target the first stays.
    void index(const hsaco::object &object) {
        for (hsaco::kernel &&kernel : object.kernels()) {
            const std::string mangled(kernel.name()), name = demangleName(mangled.c_str()), target(kernel.target());
            readable_.emplace(mangled, name);
            auto &all = kernels_[name];
            if (all.empty())
                names_.push_back(name);
            if (std::none_of(all.begin(), all.end(), [&](const auto &it) { return it->target() == target; }))
                all.push_back(std::make_shared<Entry>(std::move(kernel)));
        }
    }

    // The executable and the libraries of the running process, those that hold GPU code.
    void addProcess() {
        std::vector<std::string> paths{"/proc/self/exe"};
        dl_iterate_phdr(
            [](dl_phdr_info *info, size_t, void *data) {
                if (info->dlpi_name != nullptr && *info->dlpi_name != '\0')
                    static_cast<std::vector<std::string> *>(data)->push_back(info->dlpi_name);
                return 0;
            },
            &paths);
        for (const std::string &path : paths) {
            try {
                load(path, agent_, "");
            } catch (const hsaco::error &) {
                // Whatever else is mapped is not asked for.
            }
        }
    }

    // The kernels of a name, mangled or not, with or without ".kd": one for each target.
    std::vector<std::shared_ptr<Entry>> named(const std::string &name) {
        const std::lock_guard<std::mutex> lock(mutex_);
        const std::string bare = detail::endsWith(name, ".kd") ? name.substr(0, name.size() - 3) : name;
        for (const std::string &spelling : {name, bare, getKernelName(name)}) {
            const auto mangled = readable_.find(spelling);
            const auto found = kernels_.find(mangled == readable_.end() ? spelling : mangled->second);
            if (found != kernels_.end())
                return found->second;
        }
        return {};
    }

    std::shared_ptr<Entry> find(const std::string &name) {
        const auto all = named(name);
        if (all.size() > 1) {
            std::string targets;
            for (const auto &it : all)
                targets += (targets.empty() ? "" : ", ") + it->target();
            throw std::runtime_error(name + " is there for " + targets + ": choose one with agentForTarget");
        }
        return all.empty() ? nullptr : all.front();
    }

    hsa_agent_t agent_;
    std::mutex mutex_;
    hsaco::database database_;
    std::map<std::string, size_t> indexed_;
    std::vector<std::string> names_;
    std::map<std::string, std::string> readable_;
    std::map<std::string, std::vector<std::shared_ptr<Entry>>> kernels_;
};

static inline void ltrim(std::string &s) {
    s.erase(s.begin(), std::find_if(s.begin(), s.end(), [](unsigned char c) { return !std::isspace(c); }));
}

static inline void rtrim(std::string &s) {
    s.erase(std::find_if(s.rbegin(), s.rend(), [](unsigned char c) { return !std::isspace(c); }).base(), s.end());
}

static inline void trim(std::string &s) {
    ltrim(s);
    rtrim(s);
}

// The fields of a text between delimiters, empty ones if wanted; how many there are.
static inline size_t split(std::string const &s, std::vector<std::string> &container, const char *delimiter,
                           bool keepBlankFields) {
    size_t count = 0;
    for (size_t start = 0; start <= s.size();) {
        const size_t end = std::min(s.find(*delimiter, start), s.size());
        if (keepBlankFields || end > start) {
            container.push_back(s.substr(start, end - start));
            ++count;
        }
        start = end + 1;
    }
    return count;
}

} // namespace kernelDB

// What llvm-objdump -d prints of the code objects of a file that an agent runs.
inline bool getDisassembly(hsa_agent_t agent, const std::string &fileName, std::string &out) {
    hsaco::database database;
    database.add_file(fileName, kernelDB::detail::selectionFor(kernelDB::detail::targetOf(agent)));
    out.clear();
    for (const hsaco::object &object : database.objects())
        out += object.disassembly().str();
    return true;
}

// The same of one kernel.
inline bool getDisassemblyForSymbol(hsa_agent_t agent, const std::string &fileName, const std::string &symbolName,
                                    std::string &out) {
    kernelDB::kernelDB database(agent, fileName);
    if (!database.hasKernel(symbolName))
        return false;
    out = database.getKernel(symbolName).getDisassembly();
    return true;
}

// The code objects of a file that an agent runs, as files: temporary ones, which the caller removes, unless the file is
// one itself.
inline std::vector<std::string> extractCodeObjects(hsa_agent_t agent, const std::string &fileName) {
    hsaco::database database;
    database.add_file(fileName, kernelDB::detail::selectionFor(kernelDB::detail::targetOf(agent)));
    std::vector<std::string> paths;
    for (const hsaco::object &object : database.objects()) {
        const hsaco::buffer data = object.data();
        const bool is_whole = object.info().entry_id == nullptr &&
                              std::filesystem::is_regular_file(fileName) && data.size() == std::filesystem::file_size(fileName);
        paths.push_back(is_whole ? fileName : kernelDB::detail::temporaryFile(data.data(), data.size()));
    }
    return paths;
}

// A part of a file as a temporary file, which the caller removes.
inline std::string create_temp_file_segment(const std::string &filename, std::streamoff offset, std::streamsize length) {
    const std::vector<uint8_t> bytes =
        kernelDB::detail::readBytes(filename, static_cast<size_t>(offset), static_cast<size_t>(length));
    return kernelDB::detail::temporaryFile(bytes.data(), bytes.size());
}

// Where the code of the kernels of a code object comes from, by address.
inline bool buildDwarfAddressMap(const char *filename, size_t offset, size_t hsaco_length,
                                 std::map<Dwarf_Addr, SourceLocation> &addressMap) {
    hsaco::database database;
    database.add_bytes(filename, kernelDB::detail::readBytes(filename, offset, hsaco_length));
    for (const hsaco::kernel &kernel : database.kernels())
        for (const hsaco_instruction &instruction : kernel.instructions())
            if (const hsaco_location *location = kernel.location(instruction.index))
                addressMap[instruction.address] = SourceLocation(location->file, location->line, location->column);
    return true;
}

// The place of an address: that of the last one in the map that is not behind it.
inline SourceLocation getSourceLocation(const std::map<Dwarf_Addr, SourceLocation> &addrMap, Dwarf_Addr addr) {
    const auto behind = addrMap.upper_bound(addr);
    if (behind == addrMap.begin())
        throw std::runtime_error("no source location for this address");
    return std::prev(behind)->second;
}

// The arguments of the kernels of a code object, by their names.
inline bool extractKernelArguments(const char *filename, size_t offset, size_t hsaco_length,
                                   std::map<std::string, std::vector<KernelArgument>> &kernelArgsMap,
                                   bool resolve_typedefs = false) {
    hsaco::database database;
    database.add_bytes(filename, kernelDB::detail::readBytes(filename, offset, hsaco_length));
    for (const hsaco::kernel &kernel : database.kernels())
        kernelArgsMap[kernelDB::demangleName(kernel.info().name)] =
            kernelDB::detail::arguments(kernel, resolve_typedefs);
    return true;
}
