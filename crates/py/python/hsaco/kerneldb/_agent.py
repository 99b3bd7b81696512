"""Which GPU a system has, as its driver says it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Optional

_NODES = Path("/sys/class/kfd/kfd/topology/nodes")
"""Where the kernel driver describes CPUs and GPUs, each with a folder of its own."""

_OVERRIDE = "HSA_OVERRIDE_GFX_VERSION"
"""What makes ROCm's runtime take a GPU for another one, as in ``9.4.2``."""


def gpu_target() -> Optional[str]:
    """The architecture of the first GPU, such as "gfx942"; None without one."""
    override = os.environ.get(_OVERRIDE)
    if override:
        return _from_override(override)
    nodes = sorted((it for it in _NODES.glob("*") if it.name.isdigit()), key=lambda it: int(it.name))
    targets = (_target_of(node) for node in nodes)
    return next((target for target in targets if target is not None), None)


def _from_override(text: str) -> str:
    try:
        major, minor, stepping = (int(part) for part in text.split("."))
    except ValueError as error:
        raise ValueError(f"{_OVERRIDE} is {text!r}, not of the form 9.4.2") from error
    return _name(major, minor, stepping)


def _target_of(node: Path) -> Optional[str]:
    """The architecture of a node; a CPU has none."""
    try:
        lines = (node / "properties").read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeError):
        return None
    version = next((line.split()[1] for line in lines if line.startswith("gfx_target_version ")), "0")
    number = int(version) if version.isdigit() else 0
    return _name(number // 10000, number // 100 % 100, number % 100) if number else None


def _name(major: int, minor: int, stepping: int) -> str:
    return f"gfx{major}{minor:x}{stepping:x}"
