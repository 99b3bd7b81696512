"""Sequences whose items are made on access."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Callable, TypeVar, Union, overload

T = TypeVar("T")

_SHOWN = 3


class LazySequence(Sequence[T]):
    """A sequence that makes each item when it is asked for. Slices are as lazy."""

    __slots__ = ("_get", "_indices")

    def __init__(self, get: Callable[[int], T], indices: range) -> None:
        self._get = get
        self._indices = indices

    def __len__(self) -> int:
        return len(self._indices)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> LazySequence[T]: ...
    def __getitem__(self, index: Union[int, slice]) -> Union[T, LazySequence[T]]:
        if isinstance(index, slice):
            return LazySequence(self._get, self._indices[index])
        return self._get(self._indices[index])

    def __iter__(self) -> Iterator[T]:
        return map(self._get, self._indices)

    def __eq__(self, other: Any) -> bool:
        if not isinstance(other, LazySequence):
            return NotImplemented
        return list(self) == list(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __reduce__(self) -> tuple[Callable[[list[T]], LazySequence[T]], tuple[list[T]]]:
        return _of, (list(self),)

    def __repr__(self) -> str:
        shown = [repr(item) for item in self[:_SHOWN]]
        if len(self) > _SHOWN:
            shown.append(f"… {len(self)} in all")
        return f"[{', '.join(shown)}]"


def _of(items: list[T]) -> LazySequence[T]:
    return LazySequence(items.__getitem__, range(len(items)))


LazySequence.__module__ = "hsaco"
