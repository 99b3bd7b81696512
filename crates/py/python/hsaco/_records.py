"""Plain values that kernels and instructions are described with."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Optional


class _Record:
    """What all records can do."""

    def to_dict(self) -> dict[str, Any]:
        """A row for a table."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}  # type: ignore[arg-type]


@dataclass(frozen=True)
class Argument(_Record):
    """An argument of a kernel, as the metadata has it. None is "not stated"."""

    name: Optional[str]
    type_name: Optional[str]
    offset: int
    """Where it is in the kernarg segment."""
    size: int
    kind: str
    """Its ``.value_kind``, such as "global_buffer", "by_value" or "hidden_block_count_x"."""
    hidden: bool
    """Whether the runtime fills it in."""
    value_type: Optional[str]
    address_space: Optional[str]
    access: Optional[str]
    actual_access: Optional[str]
    align: Optional[int]
    pointee_align: Optional[int]
    is_const: Optional[bool]
    is_restrict: Optional[bool]
    is_volatile: Optional[bool]
    is_pipe: Optional[bool]


@dataclass(frozen=True)
class Function(_Record):
    """A device function: code that a symbol names and no descriptor describes."""

    name: str
    demangled: str
    address: int
    size: int


@dataclass(frozen=True)
class Memory(_Record):
    """What memory an instruction reads or writes."""

    space: str
    """"scalar", "global", "flat", "buffer", "lds", "scratch" or "image"."""
    access: str
    """"load", "store" or "atomic"."""
    width: Optional[int]
    """Bytes that a lane moves, or the wave in scalar accesses; None where a format or a descriptor decides."""
    lds: Optional[str]
    """What it does to LDS on the other side, where data bypass the registers."""


@dataclass(frozen=True)
class Frame(_Record):
    """A function that an instruction is in, and the place there: its own, or that of the call that was inlined."""

    function: Optional[str]
    demangled: Optional[str]
    file: Optional[str]
    line: Optional[int]
    column: Optional[int]


@dataclass(frozen=True)
class Counts(_Record):
    """What a database has decoded so far."""

    decoded_kernels: int
    decoded_instructions: int
    decoded_bytes: int


for _class in (Argument, Function, Memory, Frame, Counts):
    _class.__module__ = "hsaco"
