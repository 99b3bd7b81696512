"""An instruction has the same text in Python, in the command and in llvm-objdump, for every target."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

import hsaco

TARGETS = os.environ.get("HSACO_TARGETS")
"""A folder of objects, each with the texts that llvm-objdump prints; made where LLVM is installed."""


def command(*args: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "hsaco", *args], capture_output=True, text=True, check=True
    )
    return done.stdout


def texts(answer: object) -> list[str]:
    """All values of the key `text`, however deep."""
    if isinstance(answer, list):
        return [text for item in answer for text in texts(item)]
    if isinstance(answer, dict):
        own = [answer["text"]] if isinstance(answer.get("text"), str) else []
        return own + [text for item in answer.values() for text in texts(item)]
    return []


@unittest.skipUnless(TARGETS, "no folder of objects for every target")
class SameText(unittest.TestCase):
    def test_python_prints_what_llvm_objdump_prints(self) -> None:
        objects = sorted(Path(TARGETS or "").glob("*.co"))
        self.assertGreater(len(objects), 60)
        for path in objects:
            with self.subTest(path.name):
                expected = path.with_suffix(".txt").read_text().splitlines()
                (kernel,) = hsaco.open(str(path)).kernels
                self.assertEqual([it.text for it in kernel.instructions], expected)

    def test_python_prints_what_the_command_prints(self) -> None:
        paths = sorted(str(it) for it in Path(TARGETS or "").glob("*.co"))
        expected = [it.text for path in paths for it in hsaco.open(path).kernels[0].instructions]
        for verb in (["disasm"], ["query", "-m", "."], ["cfg", "--instructions"], ["source"]):
            with self.subTest(verb[0]):
                shown = texts(json.loads(command(*verb, "--format", "json", *paths)))
                self.assertEqual(shown, expected)
