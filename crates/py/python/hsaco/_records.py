"""Plain values that kernels and instructions are described with."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any, Optional

from . import _html


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
class Member(_Record):
    """A member or base of a structure. None is "not known", or "has none"."""

    name: Optional[str]
    type: str
    offset: Optional[int]
    """From the beginning of the structure that it is in."""
    size: Optional[int]
    alignment: Optional[int]
    bit_offset: Optional[int]
    """Of a bit-field, from the beginning of the structure."""
    bit_size: Optional[int]
    base: bool
    """Whether it is a base class."""
    members: Optional[list[Member]]

    def to_dict(self) -> dict[str, Any]:
        """A row for a table, with rows for its members."""
        return {**super().to_dict(), "members": _rows(self.members)}


@dataclass(frozen=True)
class Pointee(_Record):
    """What a pointer points to."""

    type: str
    size: Optional[int]
    alignment: Optional[int]
    members: Optional[list[Member]]

    def to_dict(self) -> dict[str, Any]:
        """A row for a table, with rows for its members."""
        return {**super().to_dict(), "members": _rows(self.members)}


@dataclass(frozen=True)
class TypedArgument(_Record):
    """An argument of a kernel with its type: the metadata joined with the debug information. None is "not known"."""

    name: Optional[str]
    type: Optional[str]
    offset: Optional[int]
    """Where it is in the kernarg segment; without metadata, where the rules of the compiler put it."""
    size: Optional[int]
    alignment: Optional[int]
    kind: Optional[str]
    hidden: bool
    address_space: Optional[str]
    access: Optional[str]
    actual_access: Optional[str]
    members: Optional[list[Member]]
    """Of a structure that is passed by value."""
    pointee: Optional[Pointee]
    source: str
    """Who knows of it: "metadata", "debug" or "both"."""

    def to_dict(self) -> dict[str, Any]:
        """A row for a table, with rows for its members and what it points to."""
        pointee = None if self.pointee is None else self.pointee.to_dict()
        return {**super().to_dict(), "members": _rows(self.members), "pointee": pointee}


def _rows(members: Optional[list[Member]]) -> Optional[list[dict[str, Any]]]:
    return None if members is None else [each.to_dict() for each in members]


def _members(rows: Optional[list[dict[str, Any]]]) -> Optional[list[Member]]:
    if rows is None:
        return None
    return [Member(**{**row, "members": _members(row["members"])}) for row in rows]


def typed_arguments(text: str) -> list[TypedArgument]:
    """Arguments from the JSON that ``hsaco args`` has of them."""

    def pointee(row: Optional[dict[str, Any]]) -> Optional[Pointee]:
        return None if row is None else Pointee(**{**row, "members": _members(row["members"])})

    def argument(row: dict[str, Any]) -> TypedArgument:
        parts = {"members": _members(row["members"]), "pointee": pointee(row["pointee"])}
        return TypedArgument(**{**row, **parts})

    return [argument(row) for row in json.loads(text)]


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


@dataclass(frozen=True)
class Finding(_Record):
    """What :func:`hsaco.check` found. None is "the whole object", or "no such place"."""

    rule: str
    """Its name, such as "lds-limit"; ``hsaco explain`` prints its page."""
    severity: str
    """"error" is certain, "warning" is odd, "note" is for the caller to know."""
    object: Optional[int]
    """The number of the object in its container."""
    kernel: Optional[str]
    field: Optional[str]
    offset: Optional[int]
    address: Optional[int]
    message: str
    help: str
    text: str
    """All of it in one line."""

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return _html.findings([self])


class Findings(list[Finding]):
    """What :func:`hsaco.check` found, as a list; notebooks show a table."""

    def _repr_html_(self) -> str:
        return _html.findings(self)


@dataclass(frozen=True)
class Graph(_Record):
    """The control flow of a kernel as a picture; notebooks show it."""

    svg: Optional[str]
    """None where there are too many edges for a picture."""
    dot: str
    """For Graphviz."""

    def _repr_svg_(self) -> Optional[str]:
        return self.svg


@dataclass(frozen=True)
class Parameter(_Record):
    """Where an argument is in the kernarg segment, and what it holds."""

    name: Optional[str]
    offset: int
    size: int
    kind: str
    type: Optional[str]
    """Its type, as far as anybody says; "bytes4" is four bytes of which no more is known. None for hidden arguments."""


@dataclass(frozen=True)
class Outcome(_Record):
    """What a kernel has done."""

    instructions: int
    """Wave instructions executed."""
    waves: int
    mnemonics: dict[str, tuple[str, int]]
    """How far the results of each instruction can be trusted ("exact", "silicon", "approximate"), and how often it ran."""


@dataclass(frozen=True)
class LiveRegisters(_Record):
    """How many registers hold values that are still needed, before an instruction. None is "cannot be known"."""

    vgprs: Optional[int]
    agprs: Optional[int]
    sgprs: Optional[int]


@dataclass(frozen=True)
class Patched(_Record):
    """A rewritten file."""

    changed: bool
    """Whether anything had to be rewritten."""
    data: bytes
    """The result; the file itself if nothing was changed."""
    manifest: dict[str, Any]
    """Everything that was changed, as docs/json.md says."""
    summary: str
    """The same for people."""

    def __bytes__(self) -> bytes:
        return self.data


@dataclass(frozen=True)
class Packed(_Record):
    """A packed kernarg segment."""

    data: bytes
    left_zero: list[str]
    """The hidden arguments that were not supplied."""

    def __bytes__(self) -> bytes:
        return self.data


@dataclass(frozen=True)
class Unpacked(_Record):
    """The value of an argument in a packed buffer."""

    name: Optional[str]
    offset: int
    kind: str
    value: Any


@dataclass(frozen=True)
class Prepacked(_Record):
    """What is odd about a packed buffer that has every argument."""

    padding: int
    """Bytes of padding at the end that it leaves out."""
    hidden: int
    """Bytes where hidden arguments are."""
    surplus: int
    """Bytes behind the segment."""


@dataclass(frozen=True)
class EntryRegister(_Record):
    """What a register holds when a kernel begins."""

    register: str
    low_bit: Optional[int]
    """The lowest bit, where it shares the register."""
    bits: Optional[int]
    holds: str


for _class in (
    Argument,
    TypedArgument,
    Member,
    Pointee,
    Function,
    Memory,
    Frame,
    Counts,
    Finding,
    Findings,
    Graph,
    Parameter,
    LiveRegisters,
    Patched,
    Packed,
    Unpacked,
    Prepacked,
    EntryRegister,
):
    _class.__module__ = "hsaco"


@dataclass(frozen=True)
class Symbol(_Record):
    """A symbol of an executable. None is "does not apply", or "not known yet"."""

    name: str
    demangled: str
    symbol: str
    """The name in the file: a kernel's ends in ".kd"."""
    kind: str
    """"kernel", "variable", "function", "indirect_function", "external", "lds" or "absolute"."""
    object: Optional[str]
    value: Optional[int]
    """Its address in its own object."""
    address: Optional[int]
    """Its address in memory, once frozen; an external's is that of its provider."""
    size: int
    align: int
    const_: bool
    definition: bool
    exported: bool
    binding: str
    visibility: str
    provider: Optional[str]
    """The object that provides an external."""
    code_address: Optional[int]
    code_size: Optional[int]
    kernarg_size: Optional[int]
    kernarg_align: Optional[int]
    group_size: Optional[int]
    private_size: Optional[int]
    dynamic_stack: Optional[bool]
    wavefront_size: Optional[int]
    vgprs: Optional[int]


@dataclass(frozen=True)
class Segment(_Record):
    """A segment in memory: what it begins with; the rest of its size is zeros."""

    object: str
    address: int
    size: int
    permissions: str
    data: bytes


@dataclass(frozen=True)
class Relocation(_Record):
    """A relocation that was applied."""

    object: str
    place: int
    type: str
    symbol: Optional[str]
    provider: Optional[str]
    addend: int
    value: int
    static_: bool
    """Whether the linker had applied it already, and kept it."""


@dataclass(frozen=True)
class Shortfall(_Record):
    """A resource of which a kernel has less than it needs with all that it calls."""

    resource: str
    allocated: int
    needed: int
    path: list[str]


@dataclass(frozen=True)
class Raise(_Record):
    """A kernel that needs more than it was compiled to have."""

    kernel: str
    object: str
    applied: bool
    shortfalls: list[Shortfall]
    dynamic_stack: bool
    workgroup_limit: Optional[int]


@dataclass(frozen=True)
class Call(_Record):
    """A call in an executable. Where the callee is not known, ``candidates`` are the functions that it may be, and
    ``candidate_objects`` the objects that these are in."""

    caller: str
    caller_object: str
    site: int
    kind: str
    callee: Optional[str]
    callee_object: Optional[str]
    evidence: str
    candidates: tuple[str, ...]
    candidate_objects: tuple[str, ...]
    crosses_objects: bool
