"""What goes to another process and comes back."""

from __future__ import annotations

import copy
import dataclasses
import multiprocessing
import pickle
import shutil
import tempfile
import unittest
from pathlib import Path
from typing import Any, TypeVar

import hsaco
import hsaco.kerneldb
from support import KERNEL_ONE, LINES, fixture

T = TypeVar("T")


def again(thing: T) -> T:
    """The same from a pickle, of every protocol that there is."""
    for protocol in range(2, pickle.HIGHEST_PROTOCOL):
        pickle.loads(pickle.dumps(thing, protocol))
    found: T = pickle.loads(pickle.dumps(thing))
    assert type(found) is type(thing)
    return found


def texts(kernel: hsaco.Kernel) -> list[str]:
    return [it.text for it in kernel.instructions]


class Pickles(unittest.TestCase):
    def same(self, one: hsaco.Kernel, other: hsaco.Kernel) -> None:
        self.assertEqual(one.to_dict(), other.to_dict())
        self.assertEqual(texts(one), texts(other))
        self.assertEqual((one.object.entry_id, one.object.data), (other.object.entry_id, other.object.data))

    def test_databases_are_what_was_added(self) -> None:
        database = hsaco.Database()
        database.add(fixture("plain.bundle"), target="gfx1100")
        database.add(Path(LINES).read_bytes(), "in memory", filter="kernel_(one|two)")
        other = again(database)
        self.assertEqual(repr(other), repr(database))
        self.assertEqual([it.to_dict() for it in other.kernels], [it.to_dict() for it in database.kernels])
        other.add(fixture("flow.co"))
        self.assertNotEqual(repr(other), repr(database))
        with self.assertRaises((pickle.PicklingError, AttributeError)):
            pickle.dumps(hsaco.open(LINES, filter=lambda name: True))

    def test_parts_find_their_database(self) -> None:
        paths = ["plain.bundle", "host-compressed.so", "host.a", "wheel.whl", "types.no-note.co", "odd-names.co"]
        sources: list[Any] = [fixture(it) for it in paths]
        sources += [f"file://{fixture('flow.co')}", Path(fixture("mixed.bundle")).read_bytes()]
        for source in sources:
            kernels = hsaco.open(source).kernels
            for kernel in kernels:
                self.same(kernel, again(kernel))
            self.assertEqual([texts(it) for it in again(kernels)], [texts(it) for it in kernels])
            self.assertEqual(repr(again(kernels[0].object)), repr(kernels[0].object))
        kernel = hsaco.open(LINES, device="gfx942", filter="kernel_one").kernels[0]
        self.same(again(kernel), kernel)
        instruction = kernel.instructions[3]
        self.assertEqual(again(instruction).to_dict(), instruction.to_dict())
        self.assertEqual(repr(again(kernel.blocks[0])), repr(kernel.blocks[0]))
        self.assertEqual(copy.deepcopy(kernel).name, copy.copy(kernel).name)
        (nop,) = hsaco.disassemble(hsaco.assemble("s_nop 3", "gfx942"), "gfx942", 64)
        self.assertEqual(repr(again(nop)), repr(nop))

    def test_a_file_that_was_changed_is_an_error(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "kernels.co")
            shutil.copy(fixture("s1.gfx942.co"), path)
            kernel = hsaco.open(path).kernel("foo")
            pickled, whole = pickle.dumps(kernel), pickle.dumps(kernel.object)
            self.assertEqual(pickle.loads(pickled).name, "foo")
            # In its place: one that is removed is still read as it was.
            path.write_bytes(Path(fixture("s1.gfx1100.co")).read_bytes())
            for each in (pickled, whole):
                with self.assertRaises(hsaco.Error) as caught:
                    pickle.loads(each)
                self.assertEqual(caught.exception.kind, "changed")
            path.unlink()
            with self.assertRaises(FileNotFoundError):
                pickle.loads(pickled)

    def test_other_processes_have_the_same(self) -> None:
        kernels = list(hsaco.open([LINES, fixture("flow.co")]).kernels)
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            self.assertEqual(pool.map(texts, kernels), [texts(it) for it in kernels])

    def test_arguments_and_launches(self) -> None:
        kernel = hsaco.open(LINES).kernel(KERNEL_ONE)
        layout = kernel.layout
        self.assertEqual((again(layout).hash, again(layout).parameters), (layout.hash, layout.parameters))
        declared = hsaco.Layout.declare(16, [(0, 8, "global_buffer", "out"), (8, 4, "by_value", None)])
        self.assertEqual((again(declared).hash, again(declared).parameters), (declared.hash, declared.parameters))
        compact = hsaco.open(fixture("s1.gfx942.co")).kernel("foo").compact(marker_seen=True)
        self.assertEqual(again(compact).hash, compact.hash)
        launch = hsaco.Launch([100, 3], [64, 1], dynamic_lds=16, hidden={"heap_v1": 0x1000})
        other = again(launch)
        self.assertEqual((repr(other), other.dynamic_lds, other.dimensions), (repr(launch), 16, 2))
        object_ = hsaco.open(fixture("s1.v5.co")).kernel("ind")
        values = [0] * len(object_.layout.parameters)
        self.assertEqual(object_.layout.pack(values, other).data, object_.layout.pack(values, launch).data)

    def test_executables_and_devices(self) -> None:
        executable = hsaco.Executable("gfx942")
        for name in ("library", "user"):
            executable.load(name, Path(fixture(f"scale-{name}.co")).read_bytes())
        self.assertEqual(again(executable).symbols, executable.symbols)
        executable.freeze(0x7F0000000000, fix_resources=False)
        other = again(executable)
        self.assertTrue(other.frozen)
        self.assertEqual((other.symbols, other.segments), (executable.symbols, executable.segments))
        device = hsaco.Device("gfx942", memory=1 << 24)
        program = device.load(fixture("run.gfx942.co"))
        self.assertEqual((again(device).target, again(program).kernels), ("gfx942", program.kernels))
        y, x = bytearray(4), b"\0\0\x80?"
        again(program["saxpy"])(y, x, 2.0, 1, grid=1, workgroup=64)
        self.assertEqual(bytes(y), b"\0\0\0@")

    def test_records_and_findings(self) -> None:
        findings = hsaco.check(fixture("s1.gfx942.co"), "gfx950")
        self.assertEqual(again(findings), findings)
        kernel = hsaco.open(LINES).kernel(KERNEL_ONE)
        records = [*kernel.typed_arguments(), kernel.graph, *kernel.live_registers(), *(kernel.arguments or [])]
        for record in records:
            self.assertTrue(dataclasses.is_dataclass(record))
            self.assertEqual(again(record), record)
        kerneldb = hsaco.kerneldb.KernelDB(LINES)
        self.assertEqual(again(kerneldb).get_kernels(), kerneldb.get_kernels())
