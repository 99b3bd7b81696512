"""The command inside the package behaves as the binary does."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import tempfile
import unittest
from pathlib import Path

import hsaco
from support import LINES


def run(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "hsaco", *args], capture_output=True, text=True)


class Command(unittest.TestCase):
    def test_it_lists_kernels(self) -> None:
        for args in (("ls", LINES), (LINES,)):
            done = run(*args)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("space::kernel_one(float*, vec::Pair<float> const*, int)", done.stdout)

    def test_exit_codes_are_the_binarys(self) -> None:
        self.assertEqual(run("ls", __file__).returncode, 2)
        self.assertEqual(run("ls", "there/is/no/such.file").returncode, 2)
        usage = run("ls")
        self.assertEqual(usage.returncode, 2)
        self.assertIn("Usage: hsaco ls", usage.stderr)

    def test_version_and_help(self) -> None:
        done = run("--version")
        self.assertEqual((done.returncode, done.stdout), (0, f"hsaco {hsaco.__version__}\n"))
        self.assertIn("Usage: hsaco", run("--help").stdout)

    def test_a_closed_pipe_is_no_trouble(self) -> None:
        process = subprocess.Popen(
            [sys.executable, "-m", "hsaco", "disasm", LINES],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        assert process.stdout is not None
        process.stdout.close()
        _, errors = process.communicate()
        self.assertEqual((process.returncode, errors), (0, b""))

    def test_the_script_is_installed(self) -> None:
        script = shutil.which("hsaco", path=sysconfig.get_path("scripts"))
        assert script is not None
        done = subprocess.run([script, "ls", LINES], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, run("ls", LINES).stdout))
        self.assertEqual(Path(script).parent, Path(sysconfig.get_path("scripts")))

    def test_the_tour(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder, "report.html")
            done = run("demo", "--report", str(report))
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn(f"The report is in {report}", done.stdout)
            self.assertTrue(report.read_text(encoding="utf-8").startswith("<!doctype html>"))


if __name__ == "__main__":
    unittest.main()
