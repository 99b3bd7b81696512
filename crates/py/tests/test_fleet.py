"""Data sets of many files: without an engine, beside `hsaco table`, stopped and gone on with, and asked in SQL."""

import contextlib
import io
import os
import re
import shutil
import tempfile
import unittest
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from hsaco import fleet
from hsaco._hsaco import command
from support import FIXTURES

COOKBOOK = os.path.join(FIXTURES, "../../docs/cookbook.md")


def parts(dataset: str) -> dict[str, bytes]:
    """Every Parquet file that is by digest."""
    found = {}
    for folder, _, names in os.walk(dataset):
        for name in names:
            path = os.path.join(folder, name)
            if name != "rows.parquet":
                with open(path, "rb") as file:
                    found[os.path.relpath(path, dataset)] = file.read()
    return found


def paths(dataset: str) -> list[dict[str, Any]]:
    table = import_module("pyarrow.parquet").read_table(os.path.join(dataset, "files/rows.parquet"))
    rows: list[dict[str, Any]] = table.to_pylist()
    return sorted(rows, key=lambda row: str(row["path"]))


@unittest.skipUnless(find_spec("pyarrow") and find_spec("duckdb"), "needs pyarrow and duckdb")
class FleetTest(unittest.TestCase):
    folder: str
    before: str
    files: list[str]

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.before = os.getcwd()
        cls.addClassCleanup(os.chdir, cls.before)
        os.chdir(cls.folder)
        for name in os.listdir(FIXTURES):
            path = os.path.join(FIXTURES, name)
            if os.path.isfile(path) and name != "manifest.txt":
                shutil.copyfile(path, name)
        with open("s1.gfx942.co", "rb") as whole, open("broken.co", "wb") as broken:
            broken.write(whole.read(5000))
        with open("garbage.so", "wb") as garbage:
            garbage.write(b"\x7fELF" + bytes(range(256)) * 4)
        cls.files = sorted(name for name in os.listdir(".") if os.path.isfile(name))
        # With lines of its own about broken.co.
        with contextlib.redirect_stderr(io.StringIO()):
            assert command(["hsaco", "table", *cls.files, "-o", "dataset"]) == 0

    def test_the_command_and_the_library_write_the_same(self) -> None:
        summary = fleet.scan(self.files, "alone")
        self.assertEqual(summary, fleet.Summary(len(self.files), 0, 0))
        self.assertEqual(parts("alone"), parts("dataset"))
        self.assertEqual(paths("alone"), paths("dataset"))

    def test_what_is_known_is_not_read_again(self) -> None:
        fleet.scan(self.files, "twice")
        before = parts("twice")
        summary = fleet.scan(self.files, "twice", chunk=7)
        self.assertEqual(summary, fleet.Summary(len(self.files), len(self.files), 0))
        self.assertEqual(parts("twice"), before)

    def test_a_scan_that_was_stopped_goes_on(self) -> None:
        def stopping(work: fleet.Work, chunks: Sequence[Sequence[str]]) -> Iterator[Any]:
            for number, chunk in enumerate(chunks):
                if number == 20:
                    raise KeyboardInterrupt
                yield work(chunk)

        with self.assertRaises(KeyboardInterrupt):
            fleet.scan(self.files, "stopped", engine=stopping)
        self.assertLess(len(parts("stopped")), len(parts("dataset")))
        summary = fleet.scan(self.files, "stopped")
        self.assertEqual(summary.known, 20)
        self.assertEqual(parts("stopped"), parts("dataset"))
        self.assertEqual(paths("stopped"), paths("dataset"))

    def test_a_file_that_is_not_there_is_a_row(self) -> None:
        summary = fleet.scan(["flow.co", "nowhere.co"], "missing")
        self.assertEqual(summary, fleet.Summary(2, 0, 1))
        self.assertIn("No such file", paths("missing")[1]["error"])

    def test_ten_questions(self) -> None:
        with open(COOKBOOK, encoding="utf-8") as file:
            text = file.read()
        connection = import_module("duckdb").connect()
        connection.execute(re.findall(r"```sql setup\n(.*?)```", text, re.S)[0])
        blocks = re.compile(r"(```sql\n(.*?)```\n\n```answer\n)(.*?)(```)", re.S)
        self.assertEqual(len(blocks.findall(text)), 10)

        def answered(match: re.Match[str]) -> str:
            cursor = connection.execute(match[2])
            rows = [[column[0] for column in cursor.description], *cursor.fetchall()]
            cells = [["" if cell is None else str(cell) for cell in row] for row in rows]
            widths = [max(map(len, column)) for column in zip(*cells)]
            lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in cells]
            return match[1] + "".join(line + "\n" for line in lines) + match[4]

        expected = blocks.sub(answered, text)
        if os.environ.get("BLESS"):
            with open(COOKBOOK, "w", encoding="utf-8") as file:
                file.write(expected)
        else:
            self.assertEqual(text, expected)


if __name__ == "__main__":
    unittest.main()
