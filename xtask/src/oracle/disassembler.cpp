// LLVM's disassembler for AMDGPU, one encoding at a time, as llvm-objdump drives it.
//
//   disassembler MCPU MATTR < encodings > answers
//
// An encoding is a byte that says how many bytes there are, and 20 bytes of which those count. An
// answer is a byte that says how many of them make an instruction (0: none; 255: LLVM crashed), two
// bytes that say how long the text is, and the text. All of standard input is read before the first
// answer is written.
//
// LLVM's C interface would hide the instructions that llvm-objdump shows although their status is
// SoftFail. Work is done in a child, so that a crash costs one encoding and a fork.

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "llvm-c/Target.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstPrinter.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Triple.h"

namespace {

constexpr size_t MaxSize = 20, RecordSize = 1 + MaxSize;
constexpr size_t HeaderSize = 3, MaxText = 4096;
constexpr uint8_t Crashed = 255;

/// What the child has done so far, in memory that outlives it.
struct Progress {
  size_t Encodings;
  size_t Bytes;
};

class Disassembler {
public:
  Disassembler(const char *Cpu, const char *Features) : Triple("amdgcn-amd-amdhsa") {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
    std::string Error;
    const llvm::Target *Target = llvm::TargetRegistry::lookupTarget(Triple, Error);
    Registers.reset(Target->createMCRegInfo(Triple));
    AsmInfo.reset(Target->createMCAsmInfo(*Registers, Triple, Options));
    Subtarget.reset(Target->createMCSubtargetInfo(Triple, Cpu, Features));
    Instructions.reset(Target->createMCInstrInfo());
    Context = std::make_unique<llvm::MCContext>(Triple, AsmInfo.get(), Registers.get(), Subtarget.get());
    Decoder.reset(Target->createMCDisassembler(*Subtarget, *Context));
    Printer.reset(Target->createMCInstPrinter(Triple, AsmInfo->getAssemblerDialect(), *AsmInfo,
                                              *Instructions, *Registers));
  }

  /// Writes the answer to one encoding; says how many bytes it takes.
  size_t answer(llvm::ArrayRef<uint8_t> Encoding, uint8_t *Out) {
    llvm::MCInst Instruction;
    uint64_t Size = 0;
    Text.clear();
    if (Decoder->getInstruction(Instruction, Size, Encoding, 0, llvm::nulls()) !=
        llvm::MCDisassembler::Fail) {
      llvm::raw_svector_ostream Stream(Text);
      Printer->printInst(&Instruction, 0, "", *Subtarget, Stream);
    } else {
      Size = 0;
    }
    llvm::StringRef Trimmed = llvm::StringRef(Text).trim().take_front(MaxText);
    Out[0] = static_cast<uint8_t>(Size);
    Out[1] = static_cast<uint8_t>(Trimmed.size());
    Out[2] = static_cast<uint8_t>(Trimmed.size() >> 8);
    std::memcpy(Out + HeaderSize, Trimmed.data(), Trimmed.size());
    return HeaderSize + Trimmed.size();
  }

private:
  llvm::Triple Triple;
  llvm::MCTargetOptions Options;
  std::unique_ptr<llvm::MCRegisterInfo> Registers;
  std::unique_ptr<llvm::MCAsmInfo> AsmInfo;
  std::unique_ptr<llvm::MCSubtargetInfo> Subtarget;
  std::unique_ptr<llvm::MCInstrInfo> Instructions;
  std::unique_ptr<llvm::MCContext> Context;
  std::unique_ptr<llvm::MCDisassembler> Decoder;
  std::unique_ptr<llvm::MCInstPrinter> Printer;
  llvm::SmallString<256> Text;
};

std::vector<uint8_t> readInput() {
  std::vector<uint8_t> Input;
  uint8_t Chunk[1 << 16];
  while (size_t Read = std::fread(Chunk, 1, sizeof Chunk, stdin))
    Input.insert(Input.end(), Chunk, Chunk + Read);
  return Input;
}

void *share(size_t Size) {
  return mmap(nullptr, Size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

} // namespace

int main(int Count, char **Arguments) {
  if (Count != 3)
    return 2;
  // The remains of a crash are not looked at.
  const rlimit NoCores = {0, 0};
  setrlimit(RLIMIT_CORE, &NoCores);
  Disassembler Disassembler(Arguments[1], Arguments[2]);
  std::vector<uint8_t> Input = readInput();
  size_t Encodings = Input.size() / RecordSize;
  auto *Done = static_cast<Progress *>(share(sizeof(Progress)));
  auto *Answers = static_cast<uint8_t *>(share(Encodings * (HeaderSize + MaxText) + 1));
  while (Done->Encodings < Encodings) {
    pid_t Child = fork();
    if (Child == 0) {
      for (; Done->Encodings < Encodings; ++Done->Encodings) {
        const uint8_t *Record = &Input[Done->Encodings * RecordSize];
        Done->Bytes += Disassembler.answer({Record + 1, Record[0]}, Answers + Done->Bytes);
      }
      _exit(0);
    }
    int Status = 0;
    if (Child < 0 || waitpid(Child, &Status, 0) != Child)
      return 2;
    if (Done->Encodings < Encodings) {
      const uint8_t Answer[HeaderSize] = {Crashed, 0, 0};
      std::memcpy(Answers + Done->Bytes, Answer, HeaderSize);
      Done->Bytes += HeaderSize;
      ++Done->Encodings;
    }
  }
  return std::fwrite(Answers, 1, Done->Bytes, stdout) == Done->Bytes && !std::fflush(stdout) ? 0 : 2;
}
