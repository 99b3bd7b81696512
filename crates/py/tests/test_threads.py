"""Many threads at once: one decode for each kernel, and nothing done but answering."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import unittest
from collections.abc import Callable
from pathlib import Path

import hsaco
import hsaco.kerneldb
from support import fixture

THREADS = 32
FILES = ["lines.dwarf5.co", "lines.zstd.co", "mangled.co", "s1.gfx1250.co"]


def together(work: Callable[[int], object]) -> None:
    """Runs work on all threads at once and raises what they raise."""
    start, failures = threading.Barrier(THREADS), []

    def run(number: int) -> None:
        try:
            start.wait()
            work(number)
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def query(database: hsaco.Database, first: int) -> None:
    """Asks everything of every kernel, beginning anywhere."""
    kernels = database.kernels
    for number in range(len(kernels)):
        kernel = kernels[(first + number) % len(kernels)]
        count = len(kernel.instructions)
        assert count == sum(len(block.instructions) for block in kernel.blocks)
        assert len([it.to_dict() for it in kernel.instructions]) == count
        assert len([it.frames for it in kernel.instructions]) == count
        assert kernel in database.kernels_named(kernel.demangled)
        assert kernel.lines == kernel.lines


def everything() -> None:
    """What the threads do, in a process that is watched."""
    database = hsaco.open([fixture(name) for name in FILES])
    together(lambda number: query(database, number))
    assert database.counts.decoded_kernels == len(database.kernels), database.counts
    growing = hsaco.Database()

    def grow(number: int) -> None:
        growing.add(fixture(FILES[number % len(FILES)]))
        query(growing, 0)

    together(grow)
    assert len(growing.objects) == len(FILES)
    named = hsaco.kerneldb.KernelDB(lazy=True)
    together(lambda number: named.add_file(fixture(FILES[number % len(FILES)])))
    together(lambda number: [named.get_kernel(it).assembly for it in named.get_kernels()])


class Threads(unittest.TestCase):
    def test_queries_share_one_decode(self) -> None:
        everything()

    # Row B17 of docs/kerneldb.md.
    def test_nothing_is_printed_created_or_spawned(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            environment = {
                **os.environ,
                "PYTHONPATH": str(Path(__file__).parent),
                "PYTHONDONTWRITEBYTECODE": "1",
                "TMPDIR": folder,
                "HOME": folder,
                "PATH": "",
            }
            # An audit hook sees what Python does; files and children show what the extension does.
            code = (
                "import sys\n"
                "import os, test_threads\n"
                "def forbid(event, args):\n"
                "    if event in ('subprocess.Popen', 'os.exec', 'os.fork', 'os.posix_spawn', 'os.system'):\n"
                "        os._exit(7)\n"
                "    if event == 'open' and isinstance(args[1], str) and set(args[1]) & set('wax+'):\n"
                "        os._exit(8)\n"
                "sys.addaudithook(forbid)\n"
                "test_threads.everything()\n"
                "import resource\n"
                "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
                "assert (used.ru_utime, used.ru_maxrss) == (0, 0), used\n"
            )
            done = subprocess.run(
                [sys.executable, "-c", code],
                cwd=folder, env=environment, capture_output=True, text=True,
            )
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
            self.assertEqual(list(Path(folder).iterdir()), [])

    def test_other_threads_run_while_files_are_added(self) -> None:
        database = hsaco.Database()
        together(lambda number: database.add(fixture("plain.bundle"), filter=lambda name: True))
        self.assertEqual([it.target for it in database.objects], ["gfx942", "gfx1100"])


if __name__ == "__main__":
    unittest.main()
