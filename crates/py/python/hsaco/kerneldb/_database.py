"""kernelDB's database."""

from __future__ import annotations

import os
from typing import Optional


from ._arguments import KernelArgument
from ._kernel import BasicBlock, CDNAKernel, Instruction
from ._kerneldb import HsaAgent, get_first_gpu_agent
from ._kerneldb import KernelDB as _KernelDB


class KernelDB:
    """The kernels of files, or of the running process.

    Kernels are decoded when they are first asked for, ``lazy`` or not: it only says whether a database without a path
    is empty or has the kernels of the running process. ``target`` picks one of several targets of a file; without it
    the GPU of the system does. Where there is none, a kernel that is there for several targets is an error.
    """

    def __init__(
        self,
        binary_path: Optional[str] = None,
        agent_id: Optional[int] = None,
        lazy: bool = False,
        *,
        target: Optional[str] = None,
    ) -> None:
        self.agent = get_first_gpu_agent()
        if agent_id is not None:
            self.agent = HsaAgent(agent_id, self.agent.target)
        self.binary_path = os.fspath(binary_path) if binary_path else ""
        self._kdb = _KernelDB(self.agent, target=target)
        if self.binary_path:
            self._kdb.load(self.binary_path)
        elif not lazy:
            self._kdb.load_process()

    def add_file(self, path: str, filter: str = "", lazy: bool = True) -> bool:
        """Adds a file, of its kernels only those whose name matches ``filter``; False if it holds no GPU code."""
        return self._kdb.add_file(os.fspath(path), self.agent, filter, lazy)

    def scan_code_object(self, co_file: str) -> bool:
        """Adds a code object; one that was added before is left as it is."""
        return self._kdb.scan_code_object(os.fspath(co_file))

    def has_kernel(self, name: str) -> bool:
        """Whether there is a kernel of that name, mangled or not."""
        return self._kdb.has_kernel(name)

    def get_kernels(self) -> list[str]:
        """The names of all kernels, demangled."""
        return self._kdb.get_kernels()

    def get_kernel(self, name: str) -> Kernel:
        """The kernel of a name, mangled or not; KernelNotFoundError if there is none."""
        return Kernel(self._kdb.get_kernel(name), self)

    def get_kernel_lines(self, kernel_name: str) -> list[int]:
        """The source lines that a kernel's code comes from, sorted; none of a kernel that is not there."""
        return self._kdb.get_kernel_lines(kernel_name)

    def get_instructions_for_line(
        self, kernel_name: str, line: int, filter_pattern: Optional[str] = None
    ) -> list[Instruction]:
        """A kernel's instructions of a source line, those whose whole name matches a pattern."""
        return self._kdb.get_instructions_for_line(kernel_name, line, filter_pattern)

    def get_file_name(self, kernel_name: str, index: int) -> str:
        """The path of a kernel's source file by its number, from 1; empty if the kernel is not there."""
        return self._kdb.get_file_name(kernel_name, index)

    def get_kernel_arguments(
        self, kernel_name: str, resolve_typedefs: bool = False
    ) -> list[KernelArgument]:
        """A kernel's explicit arguments."""
        return self._kdb.get_kernel_arguments(kernel_name, resolve_typedefs)

    def __repr__(self) -> str:
        return f"<KernelDB: {len(self.get_kernels())} kernels>"


class Kernel:
    """A kernel, with properties."""

    def __init__(self, cdna_kernel: CDNAKernel, kdb_instance: KernelDB) -> None:
        self._kernel = cdna_kernel
        self._kdb = kdb_instance
        self.name = cdna_kernel.get_name()

    @property
    def signature(self) -> str:
        """Its name, which has the types of its arguments."""
        return self.name

    @property
    def lines(self) -> list[int]:
        """The source lines that its code comes from, sorted."""
        return self._kernel.get_line_numbers()

    @property
    def assembly(self) -> list[str]:
        """The lines that llvm-objdump prints of it, all of them, in program order."""
        return [each.disassembly for each in self._kernel.get_instructions()]

    @property
    def hip_source(self) -> list[str]:
        """Nothing: paths that a binary names are not opened."""
        return self._kernel.get_source_code()

    @property
    def files(self) -> list[str]:
        """The source files that its code comes from, sorted."""
        return self._kernel.get_files()

    @property
    def arguments(self) -> list[KernelArgument]:
        """Its explicit arguments."""
        return self._kernel.get_arguments()

    def get_instructions_for_line(
        self, line: int, filter_pattern: Optional[str] = None
    ) -> list[Instruction]:
        """Its instructions of a source line, those whose whole name matches a pattern."""
        return self._kernel.get_instructions_for_line(line, filter_pattern)

    def get_basic_blocks(self) -> list[BasicBlock]:
        """Its blocks, in program order."""
        return self._kernel.get_basic_blocks()

    def has_arguments(self) -> bool:
        """Whether any argument is known."""
        return self._kernel.has_arguments()

    def __repr__(self) -> str:
        return f"<Kernel: {self.name}>"
