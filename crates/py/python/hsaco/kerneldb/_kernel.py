"""kernelDB's view of a kernel: text, blocks, and instructions by source line."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Optional

import hsaco

from ._arguments import KernelArgument, arguments_of

_PREFIX_OF_CLONES = "__amd_crk_"
"""What Omniprobe puts in front of the mangled names of instrumented kernels."""

_COMMENT_COLUMN = 59
"""Where llvm-objdump puts address and encoding, counted from behind the tab."""


class KernelNotFoundError(hsaco.NotFoundError, RuntimeError):
    """There is no such kernel, or it has no code of such a line. kernelDB raises RuntimeError."""


def name_of(kernel: hsaco.Kernel) -> str:
    """A kernel's name as kernelDB spells it: demangled, behind Omniprobe's prefix if it has one."""
    if kernel.name.startswith(_PREFIX_OF_CLONES):
        return _PREFIX_OF_CLONES + hsaco.demangle(kernel.name[len(_PREFIX_OF_CLONES) :])
    return kernel.demangled


@dataclass(frozen=True)
class Instruction:
    """An instruction, as kernelDB describes it."""

    prefix: str = ""
    """Of loads and stores the first part of the name, such as "global"."""
    type: str = ""
    """"load", "store", or empty."""
    size: str = ""
    """Of loads and stores what follows, such as "dwordx4"."""
    inst: str = ""
    operands: list[str] = field(default_factory=list)
    """The words behind the name, with their commas."""
    disassembly: str = ""
    """The line that llvm-objdump prints."""
    address: int = 0
    line: Optional[int] = None
    column: Optional[int] = None
    path_id: Optional[int] = None
    """The number of its file, from 1, as ``get_file_name`` takes it."""
    file_name: str = ""

    def __repr__(self) -> str:
        return f"<Instruction: {self.disassembly.strip()}>"


class BasicBlock:
    """Instructions that run one after the other, the branch at their end included."""

    def __init__(self, instructions: list[Instruction]) -> None:
        self._instructions = instructions

    def get_instructions(self) -> list[Instruction]:
        """Its instructions."""
        return list(self._instructions)

    def __len__(self) -> int:
        return len(self._instructions)

    def __repr__(self) -> str:
        return f"<BasicBlock: {len(self)} instructions>"


class CDNAKernel:
    """A kernel. What it is asked for is worked out when it is first asked for."""

    def __init__(self, kernel: hsaco.Kernel) -> None:
        self._kernel = kernel
        self._name = name_of(kernel)

    @property
    def target(self) -> str:
        """The target that it was compiled for."""
        return self._kernel.target

    @cached_property
    def _instructions(self) -> list[Instruction]:
        paths: dict[str, int] = {}
        return [_describe(self._kernel, each, paths) for each in self._kernel.instructions]

    @cached_property
    def _files(self) -> list[str]:
        """The files, in the order of their numbers."""
        return list(dict.fromkeys(each.file_name for each in self._instructions if each.file_name))

    @cached_property
    def _lines(self) -> dict[int, list[Instruction]]:
        lines: dict[int, list[Instruction]] = {}
        for each in self._instructions:
            if each.line is not None:
                lines.setdefault(each.line, []).append(each)
        return lines

    def get_instructions(self) -> list[Instruction]:
        """All instructions, in program order."""
        return list(self._instructions)

    def get_name(self) -> str:
        """Its name, demangled."""
        return self._name

    def get_block_count(self) -> int:
        """How many blocks it has."""
        return len(self._kernel.blocks)

    def get_basic_blocks(self) -> list[BasicBlock]:
        """Its blocks, in program order."""
        every = self._instructions
        return [
            BasicBlock([every[each.index] for each in block.instructions])
            for block in self._kernel.blocks
        ]

    def get_line_numbers(self) -> list[int]:
        """The source lines that its code comes from, of whatever file, sorted."""
        return sorted(self._lines)

    def get_instructions_for_line(self, line: int, pattern: Optional[str] = None) -> list[Instruction]:
        """The instructions of a source line, in program order; with a pattern those whose whole name matches it."""
        if line not in self._lines:
            raise KernelNotFoundError(f"{self._name} has no code of line {line}")
        return matching(self._lines[line], pattern)

    def get_files(self) -> list[str]:
        """The source files that its code comes from, sorted."""
        return sorted(self._files)

    def get_file_name(self, index: int) -> str:
        """The path of a file by its number, which counts from 1."""
        if not 1 <= index <= len(self._files):
            raise IndexError(f"{self._name} has files 1 to {len(self._files)}, not {index}")
        return self._files[index - 1]

    def get_source_code(self) -> list[str]:
        """Nothing: paths that a binary names are not opened."""
        return []

    def get_disassembly(self) -> str:
        """The lines that llvm-objdump prints of it."""
        return "".join(f"{each.disassembly}\n" for each in self._instructions)

    def get_arguments(self, resolve_typedefs: bool = False) -> list[KernelArgument]:
        """Its explicit arguments."""
        return arguments_of(self._kernel, resolve_typedefs)

    def has_arguments(self) -> bool:
        """Whether any argument is known."""
        return bool(self.get_arguments())

    def __repr__(self) -> str:
        return f"<CDNAKernel: {self._name}>"


def matching(instructions: Iterable[Instruction], pattern: Optional[str]) -> list[Instruction]:
    """The instructions whose whole name matches a pattern; without one, all."""
    if not pattern:
        return list(instructions)
    matches = re.compile(pattern).fullmatch
    return [each for each in instructions if matches(each.inst)]


def _describe(
    kernel: hsaco.Kernel, instruction: hsaco.Instruction, paths: dict[str, int]
) -> Instruction:
    """An instruction in kernelDB's words; new files are given the next number."""
    inst, *operands = instruction.text.split()
    prefix, kind, size = _parts_of_access(inst)
    file, line, column = instruction.file, instruction.line, instruction.column
    return Instruction(
        prefix=prefix,
        type=kind,
        size=size,
        inst=inst,
        operands=operands,
        disassembly=_listed(kernel, instruction),
        address=instruction.address,
        line=line,
        # A line without a column is all of the line.
        column=column if line is None else column or 0,
        path_id=None if file is None else paths.setdefault(file, len(paths) + 1),
        file_name=file or "",
    )


def _parts_of_access(name: str) -> tuple[str, str, str]:
    """The parts of a load's or store's name; of another name nothing."""
    prefix, _, rest = name.partition("_")
    kind, _, size = rest.partition("_")
    return (prefix, kind, size) if kind in ("load", "store") else ("", "", "")


def _listed(kernel: hsaco.Kernel, instruction: hsaco.Instruction) -> str:
    """The line that llvm-objdump prints."""
    code = instruction.bytes
    words = (code[at : at + 4][::-1].hex().upper() for at in range(0, len(code), 4))
    text = f"{instruction.text:<{_COMMENT_COLUMN - 1}} "
    return f"\t{text}// {instruction.address:012X}: {' '.join(words)}{_remark(kernel, instruction)}"


def _remark(kernel: hsaco.Kernel, instruction: hsaco.Instruction) -> str:
    """Where a branch inside the kernel goes."""
    target, entry, size = instruction.branch_target, kernel.entry, kernel.size
    if target is None or entry is None or size is None or not entry <= target < entry + size:
        return ""
    distance = f"+{target - entry:#x}" if target > entry else ""
    return f" <{kernel.name}{distance}>"
