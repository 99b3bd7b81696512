"""What makes things again that were pickled.

A database is what was added to it: paths, which must mean the same where it is made again, and bytes. Objects, kernels, blocks and
instructions are found in their database, which those of one process share, and are held to a digest: a file that was changed is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Optional, TypeVar

from . import _hsaco
from ._errors import Error

Additions = tuple[tuple[Any, ...], ...]
"""Arguments of ``Database.add``: source, name, filter, target, device."""

T = TypeVar("T")


def database(additions: Additions) -> _hsaco.Database:
    made = _hsaco.Database()
    for source, name, filter, target, device in additions:
        made.add(source, name, filter=filter, target=target, device=device)
    return made


_shared = lru_cache(maxsize=16)(database)


def _found(
    additions: Additions, file: str, number: int, look: Callable[[_hsaco.Object], Optional[T]]
) -> Optional[T]:
    objects = (it for it in _shared(additions).objects if (it.number, it.file) == (number, file))
    return next((found for it in objects if (found := look(it)) is not None), None)


def _find(additions: Additions, file: str, number: int, look: Callable[[_hsaco.Object], Optional[T]], what: str) -> T:
    try:
        found = _found(additions, file, number, look)
    except Error as error:
        if error.kind != "changed":
            raise
        found = None
    if found is None:
        # The file may be another one than when it was last opened here.
        _shared.cache_clear()
        found = _found(additions, file, number, look)
    if found is None:
        raise Error(f"{file}: {what} of object {number} is not as it was when it was pickled", "changed")
    return found


def object(additions: Additions, file: str, number: int, digest: bytes) -> _hsaco.Object:
    return _find(additions, file, number, lambda it: it if it._digest() == digest else None, "the content")


def kernel(additions: Additions, file: str, number: int, index: int, digest: bytes) -> _hsaco.Kernel:
    def look(object: _hsaco.Object) -> Optional[_hsaco.Kernel]:
        kernels = object.kernels
        found = kernels[index] if index < len(kernels) else None
        return found if found is not None and found._digest() == digest else None

    return _find(additions, file, number, look, f"kernel {index}")


_listing = lru_cache(maxsize=16)(_hsaco.disassemble)


def listed(code: bytes, target: str, address: int, index: int) -> _hsaco.Instruction:
    return _listing(code, target, address)[index]


def instruction(kernel: _hsaco.Kernel, index: int) -> _hsaco.Instruction:
    return kernel.instructions[index]


def block(kernel: _hsaco.Kernel, index: int) -> _hsaco.Block:
    return kernel.blocks[index]


def launch(sizes: Sequence[Sequence[int]], dynamic_lds: int, hidden: dict[str, int]) -> _hsaco.Launch:
    work_items, workgroup = sizes
    return _hsaco.Launch(work_items, workgroup, dynamic_lds=dynamic_lds, hidden=hidden)


def layout(kernel: _hsaco.Kernel) -> _hsaco.Layout:
    return kernel.layout


def declared(size: int, alignment: int, arguments: Sequence[Any]) -> _hsaco.Layout:
    return _hsaco.Layout.declare(size, arguments, alignment=alignment)


def compact(kernel: _hsaco.Kernel) -> _hsaco.CompactLayout:
    return kernel.compact(marker_seen=True)


def executable(device: Optional[str], steps: Sequence[tuple[str, tuple[Any, ...]]]) -> _hsaco.Executable:
    made = _hsaco.Executable(device)
    for name, arguments in steps:
        getattr(made, name)(*arguments)
    return made


def device(target: str, memory: int, page_slack: bool) -> _hsaco.Device:
    return _hsaco.Device(target, memory=memory, page_slack=page_slack)


def program(device: _hsaco.Device, sources: Sequence[Any]) -> _hsaco.Program:
    return device.load(*sources)


def loaded(program: _hsaco.Program, name: str) -> _hsaco.LoadedKernel:
    return program[name]
