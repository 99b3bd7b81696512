"""The ALU loop on tinygrad's emulator: CHECKOUT CODE prints its wave instructions a second.

CODE is the machine code of the kernel. A loop of 15 instructions is timed by what 2000 turns more of it take.
"""
import ctypes, mmap, struct, sys, time

sys.path.insert(0, sys.argv[1])
from test.mockgpu.amd import emu

with open(sys.argv[2], "rb") as file:
    code = file.read()
memory = mmap.mmap(-1, len(code))
memory.write(code)
start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
data = (ctypes.c_float * 64)(*range(64))


def run(times):
    arguments = ctypes.create_string_buffer(struct.pack("<Qi", ctypes.addressof(data), times), 64)
    before = time.perf_counter()
    # Two user SGPRs and the number of the workgroup, as the kernel's descriptor has it.
    emu.run_asm(start, len(code), 1, 1, 1, 64, 1, 1, ctypes.addressof(arguments), 0x84, 0, "cdna")
    return time.perf_counter() - before


run(1)
few, many = (min(run(times) for _ in range(5)) for times in (100, 2100))
print(2000 * 15 / (many - few))
