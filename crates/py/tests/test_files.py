"""Files of a database: changed after they were added, added twice, chosen from by target and device."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Callable

import hsaco

from support import KERNEL_ONE, KERNEL_TWO, LINES, fixture

BIG = 24 << 20
"""More than is read at once: such files are mapped while they are indexed."""


class Folder(unittest.TestCase):
    """Tests with a folder of their own."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.path = self.folder / "kernels.co"
        shutil.copy(LINES, self.path)


def questions(kernel: hsaco.Kernel) -> dict[str, Callable[[], object]]:
    """All that has to be read from the file."""
    return {
        "instructions": lambda: [it.text for it in kernel.instructions],
        "blocks": lambda: len(kernel.blocks),
        "lines": lambda: kernel.lines,
        "code": lambda: kernel.code,
        "resources": lambda: kernel.resources,
        "arguments": lambda: kernel.arguments,
        "typed_arguments": lambda: kernel.typed_arguments(),
        "layout": lambda: kernel.layout,
        "entry_registers": lambda: kernel.entry_registers,
        "data": lambda: kernel.object.data,
    }


class ChangedFiles(Folder):
    def refused(self, change: Callable[[], object]) -> list[str]:
        """The messages of all questions after a change of the file."""
        kernel = hsaco.open(self.path).kernel(KERNEL_ONE)
        change()
        messages = []
        for name, ask in questions(kernel).items():
            with self.subTest(name), self.assertRaises(hsaco.Error) as raised:
                ask()
            self.assertEqual(raised.exception.kind, "changed", name)
            messages.append(str(raised.exception))
        self.assertEqual(kernel.name, KERNEL_ONE)
        return messages

    def test_a_file_overwritten_with_as_many_bytes_is_an_error(self) -> None:
        size = self.path.stat().st_size
        for message in self.refused(lambda: self.path.write_bytes(b"\x55" * size)):
            self.assertIn("kernels.co", message)
            self.assertIn("it was written to after it was indexed", message)

    def test_a_time_of_modification_that_is_set_back_hides_nothing(self) -> None:
        before = self.path.stat()

        def overwrite() -> None:
            self.path.write_bytes(b"\x55" * before.st_size)
            os.utime(self.path, ns=(before.st_atime_ns, before.st_mtime_ns))

        self.refused(overwrite)

    def test_a_file_that_grew_is_an_error_with_both_sizes(self) -> None:
        size = self.path.stat().st_size
        for message in self.refused(lambda: self.path.write_bytes(bytes(size + 5))):
            self.assertIn(f"{size} bytes when it was indexed and has {size + 5} now", message)

    def test_a_truncated_file_is_an_error_and_no_signal(self) -> None:
        for padding in (0, BIG):
            with open(self.path, "ab") as file:
                file.write(bytes(padding))
            program = f"""
import os, hsaco
kernel = hsaco.open({str(self.path)!r}).kernel({KERNEL_ONE!r})
os.truncate({str(self.path)!r}, 0)
for ask in (lambda: kernel.code, lambda: kernel.resources, lambda: kernel.object.data, lambda: kernel.lines):
    try:
        ask()
    except hsaco.Error as error:
        print(error.kind)
"""
            run = subprocess.run(
                [sys.executable, "-c", program], stdout=subprocess.PIPE, check=False, text=True
            )
            self.assertEqual((run.returncode, run.stdout.split()), (0, ["changed"] * 4))
            shutil.copy(LINES, self.path)

    def test_what_was_decoded_before_stays(self) -> None:
        kernel = hsaco.open(self.path).kernel(KERNEL_ONE)
        before = [it.text for it in kernel.instructions]
        self.path.write_bytes(b"")
        self.assertEqual([it.text for it in kernel.instructions], before)

    def test_a_file_that_was_removed_or_replaced_is_still_the_one_that_was_added(self) -> None:
        expected = hsaco.open(LINES).kernel(KERNEL_ONE)
        changes: list[Callable[[], object]] = [
            self.path.unlink,
            lambda: os.replace(fixture_copy(self), self.path),
        ]
        for change in changes:
            shutil.copy(LINES, self.path)
            kernel = hsaco.open(self.path).kernel(KERNEL_ONE)
            change()
            self.assertEqual(kernel.code, expected.code)
            self.assertEqual([it.text for it in kernel.instructions], [it.text for it in expected.instructions])

    def test_many_files_need_no_more_open_ones(self) -> None:
        for number in range(300):
            shutil.copy(LINES, self.folder / f"{number}.co")
        program = f"""
import resource, hsaco
resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))
database = hsaco.open({str(self.folder)!r})
print(sum(len(it.instructions) > 0 for it in database.kernels))
"""
        run = subprocess.run(
            [sys.executable, "-c", program], stdout=subprocess.PIPE, check=True, text=True
        )
        self.assertEqual(int(run.stdout), 301 * 4)


def fixture_copy(test: Folder) -> Path:
    """A file to put in the place of another."""
    return Path(shutil.copy(fixture("s1.gfx942.co"), test.folder / "other"))


class FilesAddedTwice(Folder):
    def test_a_file_added_twice_is_there_once(self) -> None:
        database = hsaco.Database()
        (first,) = database.add(self.path)
        link = self.folder / "link"
        link.symlink_to(self.path)
        for path in (self.path, str(self.path), link, self.folder / "." / "kernels.co"):
            self.assertEqual(database.add(path), [first])
        self.assertEqual((len(database.objects), len(database.kernels)), (1, 4))
        self.assertEqual(database.kernel(KERNEL_ONE).object, first)

    def test_bytes_added_twice_under_a_name_are_there_once(self) -> None:
        database = hsaco.Database()
        content = self.path.read_bytes()
        (first,) = database.add(content, "a")
        self.assertEqual(database.add(content, "a"), [first])
        self.assertEqual(len(database.kernels), 4)
        self.assertNotEqual(database.add(content, "b"), [first])
        self.assertEqual(len(database.kernels), 8)

    def test_another_filter_adds_what_is_not_there(self) -> None:
        database = hsaco.Database()
        database.add(self.path, filter="kernel_one")
        database.add(self.path, filter="kernel_(one|two)")
        self.assertEqual(sorted(it.name for it in database.kernels), sorted([KERNEL_ONE, KERNEL_TWO]))
        database.add(self.path)
        self.assertEqual(len(database.kernels), 4)
        self.assertEqual(len({it.name for it in database.kernels}), 4)

    def test_a_file_that_was_changed_and_is_added_again_takes_its_own_place(self) -> None:
        database = hsaco.Database()
        database.add(LINES)
        database.add(self.path)
        stale = database.kernels_named(KERNEL_ONE)[1]
        shutil.copy(fixture("s1.gfx942.co"), self.path)
        (new,) = database.add(self.path)
        self.assertEqual([it.object.file for it in database.kernels_named(KERNEL_ONE)], [LINES])
        self.assertEqual(len(database.objects), 2)
        self.assertGreater(len(new.kernels[0].instructions), 0)
        self.assertEqual(database.kernel(new.kernels[0].name), new.kernels[0])
        with self.assertRaises(hsaco.Error):
            stale.instructions


class Targets(Folder):
    def setUp(self) -> None:
        super().setUp()
        self.bundle = fixture("plain.bundle")
        self.targets = [it.target for it in hsaco.open(self.bundle).objects]

    def test_a_target_or_a_device_picks_objects(self) -> None:
        for target in self.targets:
            for database in (
                hsaco.open(self.bundle, target=target),
                hsaco.open([self.bundle], device=target),
                hsaco.Database.open(self.bundle, target=target),
            ):
                self.assertEqual([it.target for it in database.objects], [target])
        database = hsaco.Database()
        (added,) = database.add(self.bundle, target=self.targets[1])
        self.assertEqual((added.target, added.number), (self.targets[1], 1))

    def test_a_kernel_of_several_targets_is_picked_by_target_or_device(self) -> None:
        database = hsaco.open(self.bundle)
        name = database.objects[0].kernels[0].name
        with self.assertRaisesRegex(hsaco.Error, "is 2 kernels") as raised:
            database.kernel(name)
        self.assertEqual(raised.exception.kind, "ambiguous")
        for target in self.targets:
            self.assertEqual(database.kernel(name, target=target).target, target)
            self.assertEqual(database.kernel(name, device=target).target, target)

    def test_a_target_that_does_not_exist_is_an_error(self) -> None:
        database = hsaco.open(self.bundle)
        name = database.kernels[0].name
        for wrong in ("gfx943", "nonsense", ""):
            for ask in (
                lambda: hsaco.open(self.bundle, target=wrong),
                lambda: hsaco.open(self.bundle, device=wrong),
                lambda: hsaco.Database().add(self.bundle, target=wrong),
                lambda: database.kernel(name, target=wrong),
                lambda: database.kernel(name, device=wrong),
            ):
                with self.assertRaises(hsaco.Error) as raised:
                    ask()
                self.assertEqual(raised.exception.kind, "not-recognised")

    def test_a_target_that_the_file_does_not_have_is_an_error_that_names_those_it_has(self) -> None:
        for source in (self.bundle, Path(self.bundle).read_bytes()):
            for words in ({"target": "gfx90a"}, {"device": "gfx90a:xnack-"}):
                with self.assertRaises(hsaco.Error) as raised:
                    hsaco.open(source, **words)
                self.assertEqual(raised.exception.kind, "not-found")
                for target in [*words.values(), *self.targets]:
                    self.assertIn(target, str(raised.exception))
        database = hsaco.open(self.bundle)
        with self.assertRaisesRegex(hsaco.NotFoundError, "gfx90a"):
            database.kernel(database.kernels[0].name, target="gfx90a")
        with self.assertRaisesRegex(hsaco.Error, "gfx90a"):
            database.add(self.bundle, target="gfx90a")
        shutil.copy(self.bundle, self.folder / "a.bundle")
        with self.assertRaisesRegex(hsaco.Error, "gfx90a"):
            hsaco.open(self.folder, target="gfx90a")

    def test_a_target_and_a_device_are_not_given_together(self) -> None:
        with self.assertRaises(ValueError):
            hsaco.open(self.bundle, target="gfx942", device="gfx942")


if __name__ == "__main__":
    unittest.main()
