"""Arguments of kernels, as kernelDB describes them.

This is the one place that knows where they come from: the metadata joined with the types of the debug information. Without
debug information there are offsets, sizes and kinds, and names and types as far as the compiler wrote them down.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

import hsaco


@dataclass(init=False)
class KernelArgument:
    """An argument of a kernel, or a member of one."""

    name: str
    type_name: str
    """Its type; empty where nothing says."""
    size: int
    offset: int
    """Where it is in the kernarg segment; of a member, in its structure."""
    alignment: int
    """What it is aligned to; 0 where nothing says."""
    position: int
    members: list[KernelArgument]

    def __init__(
        self,
        name: str = "",
        type: str = "",
        size: int = 0,
        offset: int = 0,
        alignment: int = 0,
        position: int = 0,
    ) -> None:
        self.name = name
        self.type_name = type
        self.size = size
        self.offset = offset
        self.alignment = alignment
        self.position = position
        self.members = []


def arguments_of(kernel: hsaco.Kernel, resolve_typedefs: bool = False) -> list[KernelArgument]:
    """The explicit arguments of a kernel, with names of types kept or replaced by what they stand for."""
    every = kernel.typed_arguments(resolve_typedefs=resolve_typedefs, keywords=True)
    explicit = [argument for argument in every if not argument.hidden]
    return [_argument(position, argument) for position, argument in enumerate(explicit)]


def _argument(position: int, argument: hsaco.TypedArgument) -> KernelArgument:
    described = KernelArgument(
        name=argument.name or "",
        type=_spelled(argument.type),
        size=argument.size or 0,
        offset=argument.offset or 0,
        alignment=_alignment(argument),
        position=position,
    )
    pointed_to = argument.pointee.members if argument.pointee is not None else None
    described.members = _members(argument.members or pointed_to or [])
    return described


def _members(members: list[hsaco.Member]) -> list[KernelArgument]:
    return [_member(position, member) for position, member in enumerate(members)]


def _member(position: int, member: hsaco.Member) -> KernelArgument:
    described = KernelArgument(
        name=member.name or "",
        type=_spelled(member.type),
        size=member.size or 0,
        offset=member.offset or 0,
        alignment=member.alignment or 0,
        position=position,
    )
    described.members = _members(member.members or [])
    return described


def _spelled(type_name: Optional[str]) -> str:
    """A type as kernelDB spells it: no blank before ``*`` and ``&``."""
    return (type_name or "").replace(" *", "*").replace(" &", "&")


def _alignment(argument: hsaco.TypedArgument) -> int:
    """The alignment of its type. Without one, pointers are aligned to their size; of other values nothing says it."""
    if argument.alignment is not None:
        return argument.alignment
    if argument.kind in ("global_buffer", "dynamic_shared_pointer"):
        return argument.size or 0
    return 0
