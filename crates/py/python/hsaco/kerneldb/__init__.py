"""kernelDB's interface, on hsaco: ``import hsaco.kerneldb as kerneldb``.

Names, signatures and conventions are kernelDB's; answers are hsaco's. There is no GPU agent: the target comes from the
code object. docs/python.md lists where answers differ, and why.
"""

from __future__ import annotations

import sys

from . import _kerneldb
from ._arguments import KernelArgument
from ._database import Kernel, KernelDB
from ._kerneldb import ArchDescriptor, HsaAgent
from ._kernel import BasicBlock, CDNAKernel, Instruction, KernelNotFoundError
from .._hsaco import __version__

__all__ = [
    "ArchDescriptor",
    "BasicBlock",
    "CDNAKernel",
    "HsaAgent",
    "Instruction",
    "Kernel",
    "KernelArgument",
    "KernelDB",
    "KernelNotFoundError",
    "__version__",
    "install_as_kerneldb",
]


def install_as_kerneldb() -> None:
    """Makes ``import kerneldb`` mean this module, for code that cannot be changed."""
    sys.modules["kerneldb"] = sys.modules[__name__]
    sys.modules["kerneldb._kerneldb"] = _kerneldb
