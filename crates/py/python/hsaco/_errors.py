"""The exceptions."""

from __future__ import annotations

from typing import Optional


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


for _class in (Error, NotFoundError, AssemblyError, LinkError):
    _class.__module__ = "hsaco"
