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
from ._agent import gpu_target
from ._arguments import KernelArgument as KernelArgument
from ._kernel import BasicBlock as BasicBlock
from ._kernel import CDNAKernel, KernelNotFoundError, name_of
from ._kernel import Instruction as Instruction

_NO_CODE = ("not-recognised", "not-found")
"""Kinds of errors that say that a file is none that holds GPU code."""


@dataclass
class HsaAgent:
    """A GPU. ``target`` is its architecture, such as "gfx942"; None where nothing says which it is."""

    handle: int = 0
    target: Optional[str] = None


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
    """The first GPU of the system; without one, an agent of no architecture, which stands for every target."""
    return HsaAgent(1, gpu_target())


class KernelDB:
    """Kernels by name. All methods may be called from any thread.

    Without a file it is empty; an empty name stands for the running process. Of a file with several targets it takes
    ``target``, else what the agent runs.
    """

    def __init__(
        self, agent: HsaAgent, filename: Optional[str] = None, *, target: Optional[str] = None
    ) -> None:
        self.agent = agent
        self._target = target
        self._database = hsaco.Database()
        self._kernels: dict[str, list[CDNAKernel]] = {}
        self._mangled: dict[str, str] = {}
        self._objects: set[hsaco.Object] = set()
        self._lock = Lock()
        self._check_choice()
        if filename:
            self.load(filename)
        elif filename is not None:
            self.load_process()

    def __getstate__(self) -> tuple[HsaAgent, Optional[str], hsaco.Database]:
        return self.agent, self._target, self._database

    def __setstate__(self, state: tuple[HsaAgent, Optional[str], hsaco.Database]) -> None:
        self.agent, self._target, self._database = state
        self._kernels, self._mangled, self._lock = {}, {}, Lock()
        self._objects = set(self._database.objects)
        for found in self._database.objects:
            self._index(found)

    def _choice(self, agent: HsaAgent) -> dict[str, Optional[str]]:
        """What chooses between the objects of a file."""
        if self._target is not None:
            return {"target": self._target}
        return {"device": agent.target}

    def _check_choice(self) -> None:
        """Raises if there is no such target."""
        try:
            self._database.kernel("", **self._choice(self.agent))
        except hsaco.NotFoundError:
            pass

    def load(self, path: str, filter: str = "", agent: Optional[HsaAgent] = None) -> None:
        """Adds a file; what was added before is left as it is."""
        choice = self._choice(agent or self.agent)
        with self._lock:
            for found in self._database.add(path, filter=filter or None, **choice):
                if found not in self._objects:
                    self._objects.add(found)
                    self._index(found)

    def _index(self, found: hsaco.Object) -> None:
        """Names an object's kernels; of several kernels of a name and a target the first stays."""
        for kernel in found.kernels:
            name = name_of(kernel)
            self._mangled.setdefault(kernel.name, name)
            known = self._kernels.setdefault(name, [])
            if kernel.target not in (each.target for each in known):
                known.append(CDNAKernel(kernel))

    def load_process(self) -> None:
        """Adds the files that the running process has mapped, those that hold GPU code."""
        for path in _mapped_files():
            try:
                self.load(path)
            except (hsaco.Error, OSError):
                # Whatever else is mapped is not asked for.
                continue

    def add_file(self, path: str, agent: HsaAgent, filter: str = "", lazy: bool = True) -> bool:
        """Adds what an agent runs of a file, of its kernels only those whose name matches ``filter``; False if the file
        holds no GPU code. Kernels are decoded when they are first asked for, ``lazy`` or not."""
        del lazy
        try:
            self.load(path, filter, agent)
        except hsaco.Error as error:
            if error.kind in _NO_CODE and not _holds_code(path):
                return False
            raise
        return True

    def scan_code_object(self, co_file: str) -> bool:
        """Adds a code object; one that was added before is left as it is."""
        return self.add_file(co_file, self.agent)

    def _named(self, name: str) -> list[CDNAKernel]:
        """The kernels of a name, one for each target."""
        bare = name[: -len(".kd")] if name.endswith(".kd") else name
        spellings = (self._mangled.get(each, each) for each in (name, bare))
        return next((self._kernels[each] for each in spellings if each in self._kernels), [])

    def _find(self, name: str) -> Optional[CDNAKernel]:
        named = self._named(name)
        return _only(named) if named else None

    def has_kernel(self, name: str) -> bool:
        """Whether there is a kernel of that name, mangled or not."""
        return bool(self._named(name))

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


def _only(kernels: list[CDNAKernel]) -> CDNAKernel:
    """The kernel, if it is there for one target."""
    if len(kernels) > 1:
        targets = ", ".join(each.target for each in kernels)
        message = f"`{kernels[0].get_name()}` is there for {targets}: choose one with target="
        raise hsaco.Error(message, "ambiguous")
    return kernels[0]


def _holds_code(path: str) -> bool:
    """Whether a file holds GPU code, for whatever target."""
    try:
        return bool(hsaco.Database().add(path))
    except hsaco.Error:
        return False


def _mapped_files() -> Iterator[str]:
    """The executable and the libraries of the running process, where the system lists them."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
            paths = [line.split(maxsplit=5)[5].rstrip("\n") for line in maps if "/" in line]
    except OSError:
        paths = [sys.executable]
    return iter(dict.fromkeys(path for path in paths if os.path.isfile(path)))
