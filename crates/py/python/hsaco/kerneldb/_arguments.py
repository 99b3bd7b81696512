"""Arguments of kernels, as kernelDB describes them.

This is the one place that knows where they come from: today the metadata, which has every explicit argument's offset,
size and kind, and its name and type where the compiler wrote them down.
"""

from __future__ import annotations

from dataclasses import dataclass

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
    """The explicit arguments of a kernel. The metadata has types as they were written, so there is nothing to resolve."""
    del resolve_typedefs
    explicit = [argument for argument in kernel.arguments or [] if not argument.hidden]
    return [_of_metadata(position, argument) for position, argument in enumerate(explicit)]


def _of_metadata(position: int, argument: hsaco.Argument) -> KernelArgument:
    return KernelArgument(
        name=argument.name or "",
        type=argument.type_name or "",
        size=argument.size,
        offset=argument.offset,
        alignment=_alignment(argument),
        position=position,
    )


def _alignment(argument: hsaco.Argument) -> int:
    """Pointers are aligned to their size; of other values the metadata does not say it."""
    if argument.kind in ("global_buffer", "dynamic_shared_pointer"):
        return argument.size
    return 0
