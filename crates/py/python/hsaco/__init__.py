"""AMD GPU code objects: their kernels, instructions, blocks, source lines, arguments and resources.

>>> database = hsaco.open("libexample.so")            # any file that holds GPU code; nothing is decoded
>>> kernel = database.kernel("vector_add(float*, float*, float*, int)")
>>> kernel.instructions[0].text                       # decodes this kernel, once
's_load_dword s4, s[0:1], 0x2c'
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Callable, Optional, Union
from re import Pattern

from ._errors import AssemblyError, Error, KernelError, LinkError, NotFoundError, PatchError
from ._hsaco import (
    Block,
    CompactLayout,
    Database,
    Device,
    Executable,
    Instruction,
    Kernel,
    Launch,
    Layout,
    LoadedKernel,
    Object,
    Program,
    Table,
    __version__,
    assemble,
    check,
    decode_packet,
    demangle,
    diff,
    disassemble,
    dispatch_packet,
    keep_targets,
    patch,
    table,
    verify_patch,
)
from ._records import (
    Argument,
    Call,
    Counts,
    EntryRegister,
    Finding,
    Findings,
    Frame,
    Function,
    Graph,
    LiveRegisters,
    Member,
    Memory,
    Outcome,
    Packed,
    Parameter,
    Patched,
    Pointee,
    Prepacked,
    Raise,
    Relocation,
    Segment,
    Shortfall,
    Symbol,
    TypedArgument,
    Unpacked,
)
from ._sequence import LazySequence

__all__ = [
    "Argument",
    "AssemblyError",
    "Block",
    "Call",
    "CompactLayout",
    "Counts",
    "Database",
    "Device",
    "EntryRegister",
    "Error",
    "Executable",
    "Finding",
    "Findings",
    "Frame",
    "Function",
    "Graph",
    "Instruction",
    "Kernel",
    "KernelError",
    "Launch",
    "Layout",
    "LazySequence",
    "LinkError",
    "LiveRegisters",
    "LoadedKernel",
    "Member",
    "Memory",
    "NotFoundError",
    "Object",
    "Outcome",
    "Packed",
    "Parameter",
    "PatchError",
    "Patched",
    "Pointee",
    "Prepacked",
    "Program",
    "Raise",
    "Relocation",
    "Segment",
    "Shortfall",
    "Symbol",
    "Table",
    "TypedArgument",
    "Unpacked",
    "__version__",
    "assemble",
    "check",
    "decode_packet",
    "demangle",
    "diff",
    "disassemble",
    "dispatch_packet",
    "keep_targets",
    "open",
    "patch",
    "table",
    "verify_patch",
]

Source = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview]
Filter = Union[str, "Pattern[str]", Callable[[str], object]]


def open(
    sources: Union[Source, Iterable[Source]],
    *,
    filter: Optional[Filter] = None,
    target: Optional[str] = None,
    device: Optional[str] = None,
) -> Database:
    """A database of the kernels of a file, a directory, bytes, or several of them.

    ``filter`` takes only some kernels: a regular expression that is searched for in the mangled and the readable name,
    or a function of the mangled name. ``target`` takes only objects of a target, ``device`` those that a device loads.
    """
    return Database.open(sources, filter=filter, target=target, device=device)
