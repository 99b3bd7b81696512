"""The exceptions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional


class Error(Exception):
    """Something could not be read, found or done.

    ``kind`` is one of "not-recognised", "truncated", "malformed", "unsupported", "limit-exceeded", "mismatch",
    "not-found", "ambiguous", "changed" and "syntax". ``offset`` is the byte where the trouble is, where there is one.
    """

    def __init__(self, message: str, kind: str = "", offset: Optional[int] = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.offset = offset


class NotFoundError(Error, KeyError):
    """Nothing has that name."""

    def __init__(
        self, message: str, kind: str = "not-found", offset: Optional[int] = None
    ) -> None:
        super().__init__(message, kind, offset)

    def __str__(self) -> str:
        # A KeyError would show the message in quotes.
        return Exception.__str__(self)


class AssemblyError(Error, ValueError):
    """A line does not assemble: ``line`` and ``column``, both from 1, say where."""

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        super().__init__(message, "syntax")
        self.line = line
        self.column = column


class LinkError(Error):
    """Objects do not go together: ``errors`` is everything that is wrong."""

    def __init__(self, message: str, errors: Optional[list[Error]] = None) -> None:
        super().__init__(message, errors[0].kind if errors else "")
        self.errors = list(errors or [])


class PatchError(Error):
    """A file should be rewritten and cannot be: ``manifest`` has every reason, as docs/json.md says."""

    def __init__(self, message: str, manifest: Optional[dict[str, Any]] = None) -> None:
        super().__init__(message, "refused")
        self.manifest = manifest or {}


class KernelError(Error):
    """A kernel stopped while it ran.

    ``kind`` is one of "out-of-bounds", "read-only", "misaligned", "illegal-instruction", "unsupported", "barrier",
    "limit", "trap" and "memory". ``kernel``, ``address`` and ``instruction`` say where, ``workgroup``, ``wave`` and
    ``lanes`` (a mask) who, ``file`` and ``line`` the place in the source where that is known, and ``registers`` is what
    the wave's registers held, as text.
    """

    def __init__(
        self,
        message: str,
        kind: str = "",
        place: tuple[str, int, str] = ("", 0, ""),
        wave: tuple[Sequence[int], int, int] = ((0, 0, 0), 0, 0),
        file: Optional[str] = None,
        line: Optional[int] = None,
        registers: Optional[str] = None,
    ) -> None:
        super().__init__(message, kind)
        self.kernel, self.address, self.instruction = place
        workgroup, self.wave, self.lanes = wave
        self.workgroup = tuple(workgroup)
        self.file = file
        self.line = line
        self.registers = registers


for _class in (Error, NotFoundError, AssemblyError, LinkError, PatchError, KernelError):
    _class.__module__ = "hsaco"
