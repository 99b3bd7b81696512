"""What the tests share."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
FIXTURES = Path(os.environ.get("HSACO_FIXTURES", ROOT / "tests" / "fixtures"))

LINES = str(FIXTURES / "lines.dwarf5.co")
"""Four kernels of two units, with debug information."""

KERNEL_ONE = "_ZN5space10kernel_oneEPfPKN3vec4PairIfEEi"
KERNEL_TWO = "_Z10kernel_twoPfN3vec4PairIfEE"


def fixture(name: str) -> str:
    """The path of a fixture."""
    return str(FIXTURES / name)
