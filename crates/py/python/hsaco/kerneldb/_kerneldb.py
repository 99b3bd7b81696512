"""What is a compiled module in kernelDB: agents, and the database that returns ``CDNAKernel``."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from threading import Lock
from typing import Optional

import hsaco

from .._hsaco import __version__ as __version__
from ._arguments import KernelArgument as KernelArgument
from ._kernel import BasicBlock as BasicBlock
from ._kernel import CDNAKernel, KernelNotFoundError, name_of
from ._kernel import Instruction as Instruction

_NO_CODE = ("not-recognised", "not-found")
"""Kinds of errors that say that a file is none that holds GPU code."""


@dataclass
class HsaAgent:
    """Stands where a GPU stands in kernelDB; nothing asks it anything."""

    handle: int = 0


@dataclass(frozen=True)
class ArchDescriptor:
    """A device, as kernelDB would describe it; nothing returns one."""

    isa: str = ""
    xccs: int = 0
    ses: int = 0
    cus: int = 0
    simds: int = 0
    wave_size: int = 0
    max_waves: int = 0


def hsa_init() -> int:
    """Success: there is no runtime to start."""
    return 0


def get_first_gpu_agent() -> HsaAgent:
    """An agent that stands for every target."""
    return HsaAgent(1)


class KernelDB:
    """Kernels by name. All methods may be called from any thread."""

    def __init__(
        self, agent: HsaAgent, filename: str = "", *, target: Optional[str] = None
    ) -> None:
        self.agent = agent
        self._target = target
        self._database = hsaco.Database()
        self._kernels: dict[str, CDNAKernel] = {}
        self._mangled: dict[str, str] = {}
        self._files: set[tuple[str, str]] = set()
        self._lock = Lock()
        if filename:
            self.load(filename)

    def load(self, path: str, filter: str = "") -> None:
        """Adds a file; one that was added before is left as it is."""
        file = (os.path.realpath(path), filter)
        with self._lock:
            if file in self._files:
                return
            for found in self._database.add(path, filter=filter or None):
                self._index(found)
            self._files.add(file)

    def _index(self, found: hsaco.Object) -> None:
        """Names an object's kernels; of several kernels of a name the first stays."""
        if self._target is not None and not _is_of_target(found.target, self._target):
            return
        for kernel in found.kernels:
            name = name_of(kernel)
            self._mangled.setdefault(kernel.name, name)
            self._kernels.setdefault(name, CDNAKernel(kernel))

    def load_process(self) -> None:
        """Adds the files that the running process has mapped, those that hold GPU code."""
        for path in _mapped_files():
            try:
                self.add_file(path)
            except (hsaco.Error, OSError):
                # Whatever else is mapped is not asked for.
                continue

    def add_file(self, name: str, filter: str = "") -> bool:
        """Adds a file; False if it holds no GPU code."""
        try:
            self.load(name, filter)
        except hsaco.Error as error:
            if error.kind in _NO_CODE:
                return False
            raise
        return True

    def _find(self, name: str) -> Optional[CDNAKernel]:
        bare = name[: -len(".kd")] if name.endswith(".kd") else name
        for spelling in (name, bare):
            found = self._kernels.get(self._mangled.get(spelling, spelling))
            if found is not None:
                return found
        return None

    def has_kernel(self, name: str) -> bool:
        """Whether there is a kernel of that name, mangled or not."""
        return self._find(name) is not None

    def get_kernels(self) -> list[str]:
        """The names of all kernels, demangled."""
        return list(self._kernels)

    def get_kernel(self, name: str) -> CDNAKernel:
        """The kernel of a name, mangled or not."""
        found = self._find(name)
        if found is None:
            raise KernelNotFoundError(f"there is no kernel `{name}`")
        return found

    def get_kernel_lines(self, kernel: str) -> list[int]:
        """The source lines that a kernel's code comes from, sorted; none of a kernel that is not there."""
        found = self._find(kernel)
        return [] if found is None else found.get_line_numbers()

    def get_instructions_for_line(
        self, kernel_name: str, line: int, pattern: Optional[str] = None
    ) -> list[Instruction]:
        """A kernel's instructions of a source line, those whose whole name matches a pattern."""
        return self.get_kernel(kernel_name).get_instructions_for_line(line, pattern)

    def get_file_name(self, kernel: str, index: int) -> str:
        """The path of a kernel's source file by its number, from 1; empty if the kernel is not there."""
        found = self._find(kernel)
        return "" if found is None else found.get_file_name(index)

    def get_kernel_arguments(
        self, kernel_name: str, resolve_typedefs: bool = False
    ) -> list[KernelArgument]:
        """A kernel's explicit arguments."""
        return self.get_kernel(kernel_name).get_arguments(resolve_typedefs)

    def __repr__(self) -> str:
        return f"<KernelDB: {len(self._kernels)} kernels>"


def _is_of_target(target: str, wanted: str) -> bool:
    """Whether a target is the wanted one, with any features that it does not name."""
    return target == wanted or target.startswith(wanted + ":")


def _mapped_files() -> Iterator[str]:
    """The executable and the libraries of the running process, where the system lists them."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
            paths = [line.split(maxsplit=5)[5].rstrip("\n") for line in maps if "/" in line]
    except OSError:
        paths = [sys.executable]
    return iter(dict.fromkeys(path for path in paths if os.path.isfile(path)))
