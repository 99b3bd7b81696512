"""Layouts, packing, packets, registers at entry."""

from __future__ import annotations

import array
import ctypes
import struct
import unittest

import hsaco
from support import fixture

try:
    import numpy
except ImportError:
    numpy = None  # type: ignore[assignment]


def layout(name: str, kernel: str) -> hsaco.Layout:
    return hsaco.open(fixture(name)).kernel(kernel).layout


def of_types(part: str) -> hsaco.Kernel:
    (kernel,) = [it for it in hsaco.open(fixture("types.co")).kernels if part in it.name]
    return kernel


class Packing(unittest.TestCase):
    def test_f27_by_position_and_by_name(self) -> None:
        found = layout("s1.gfx942.co", "foo")
        self.assertEqual((found.size, found.alignment, found.required), (24, 8, 24))
        packed = found.pack([0x1122334455667788, 7, -1])
        self.assertEqual(packed.data, struct.pack("<Qi4xq", 0x1122334455667788, 7, -1))
        self.assertEqual((bytes(packed), packed.left_zero), (packed.data, []))
        named = of_types("vector_add").layout
        values = {"n": 3, "c": 48, "b": 32, "a": 16}
        self.assertEqual(named.pack(values).data, struct.pack("<QQQi", 16, 32, 48, 3))
        self.assertEqual([it.name for it in named.parameters], ["a", "b", "c", "n"])

    def test_members_go_by_their_types(self) -> None:
        found = of_types("in_class").layout
        packed = found.pack([4096, {"a": -2, "b": 5}])
        self.assertEqual(packed.data, struct.pack("<Qh2xi", 4096, -2, 5))
        values = [it.value for it in found.unpack(packed.data)]
        self.assertEqual(values, [4096, {"a": -2, "b": 5}])
        self.assertEqual(found.pack(values).data, packed.data)

    def test_what_has_a_buffer_is_taken_as_it_is(self) -> None:
        found = layout("s1.gfx942.co", "foo")
        expected = found.pack([1, 7, 9]).data
        raw = struct.pack("<i", 7)
        for seven in (raw, bytearray(raw), memoryview(raw), array.array("i", [7]), ctypes.c_int(7)):
            self.assertEqual(found.pack([1, seven, 9]).data, expected)

    @unittest.skipIf(numpy is None, "no numpy")
    def test_numpy_scalars_and_arrays(self) -> None:
        found = layout("s1.gfx942.co", "foo")
        expected = found.pack([1, 7, 9]).data
        values = [numpy.uint64(1), numpy.int32(7), numpy.int64(9)]
        self.assertEqual(found.pack(values).data, expected)
        self.assertEqual(found.pack([1, numpy.array([7], "int32"), 9]).data, expected)
        with self.assertRaisesRegex(hsaco.Error, "argument 1: 8 bytes for 4"):
            found.pack([1, numpy.int64(7), 9])
        with self.assertRaisesRegex(TypeError, "argument 3: a buffer of format 'f'"):
            of_types("vector_add").layout.pack([1, 2, 3, numpy.float32(1)])

    def test_what_is_wrong_is_named(self) -> None:
        found = layout("s1.gfx942.co", "foo")
        for values, message in [
            ([1, 7], "2 values for 3 arguments"),
            ([1, 1 << 32, 9], "argument 1: 4294967296 does not fit in u32"),
            ([1.5, 7, 9], "argument 0: a number with a fraction for a pointer"),
            ([1, b"123", 9], "argument 1: 3 bytes for 4"),
        ]:
            with self.assertRaisesRegex(hsaco.Error, message):
                found.pack(values)
        with self.assertRaises(TypeError):
            found.pack([1, object(), 9])
        named = of_types("vector_add").layout
        with self.assertRaisesRegex(hsaco.Error, "no argument is called m; there are a, b, c, n"):
            named.pack({"a": 1, "b": 2, "c": 3, "m": 4})
        with self.assertRaisesRegex(hsaco.Error, r"argument 3 \(n\) has no value"):
            named.pack({"a": 1, "b": 2, "c": 3})
        with self.assertRaisesRegex(hsaco.Error, "prepacked buffers only"):
            layout("s1.no-note.co", "foo")

    def test_f31_hidden_arguments(self) -> None:
        found = layout("s1.v5.co", "ind")
        launch = hsaco.Launch([100, 3], [32, 1], hidden={"heap_v1": 0x77})
        packed = found.pack([4096], launch)
        self.assertEqual(struct.unpack_from("<3I3H3H", packed.data, 8), (3, 3, 1, 32, 1, 1, 4, 0, 0))
        self.assertIn("hidden_hostcall_buffer", packed.left_zero)
        self.assertNotIn("hidden_heap_v1", packed.left_zero)
        values = {it.kind: it.value for it in found.unpack(packed.data)}
        self.assertEqual((values["hidden_heap_v1"], values["hidden_grid_dims"]), (0x77, 2))
        with self.assertRaises(hsaco.Error):
            hsaco.Launch([1], [70000])

    def test_a_grid_counts_workgroups(self) -> None:
        launch = hsaco.Launch.of_workgroups(grid=[4, 2], workgroup=[256, 1], dynamic_lds=8)
        self.assertEqual((launch.work_items, launch.workgroup), ([1024, 2, 1], [256, 1, 1]))
        self.assertEqual((launch.dynamic_lds, repr(launch)), (8, "Launch([1024, 2, 1], [256, 1, 1])"))
        with self.assertRaisesRegex(hsaco.Error, "more than 4294967295 work-items"):
            hsaco.Launch.of_workgroups([1 << 31], [2])

    def test_prepacked_buffers(self) -> None:
        found = layout("s1.v5.co", "ind")
        self.assertEqual(found.check(bytes(8)).to_dict(), {"padding": 0, "hidden": 0, "surplus": 0})
        self.assertEqual(found.check(bytes(300)).to_dict(), {"padding": 0, "hidden": 256, "surplus": 36})
        with self.assertRaisesRegex(hsaco.Error, "argument 0 ends at 8"):
            found.check(bytes(7))
        self.assertEqual(found.pointer_slots, [0])
        self.assertEqual(len(found.hash), 32)


class Registers(unittest.TestCase):
    def test_they_are_listed_and_have_values(self) -> None:
        kernel = hsaco.open(fixture("s1.gfx942.co")).kernel("foo")
        holds = {it.register: it.holds for it in kernel.entry_registers}
        self.assertEqual(holds["s[0:1]"], "kernarg_segment_ptr")
        launch = hsaco.Launch([256], [64])
        values = kernel.entry_values(launch, workgroup=[3, 0, 0], lane=5, kernarg_address=0x1_0000_0010)
        self.assertEqual((values["s0"], values["s1"], values["s2"], values["v0"]), (0x10, 1, 3, 5))

    def test_waves_lanes_and_workgroups_that_cannot_be_are_refused(self) -> None:
        kernel = hsaco.open(fixture("s1.gfx942.co")).kernels[0]
        launch = hsaco.Launch([200], [96])
        kernel.entry_values(launch, wave=1, lane=31, workgroup=[1, 0, 0])
        # The last workgroup has 8 work-items.
        kernel.entry_values(launch, lane=7, workgroup=[2, 0, 0])
        for words, message in (
            ({"lane": 64}, "lane 64 of a wave of 64 lanes"),
            ({"wave": 2}, "wave 2 of a workgroup of 96 work-items, which has 2 waves of 64"),
            ({"wave": 99}, "wave 99 of a workgroup of 96 work-items, which has 2 waves of 64"),
            ({"wave": 1, "lane": 32}, "lane 32 of wave 1, work-item 96 of a workgroup of 96"),
            ({"workgroup": [2, 0, 0], "lane": 8}, "lane 8 of wave 0, work-item 8 of a workgroup of 8"),
            ({"workgroup": [3, 0, 0]}, "workgroup 3 of 3 in x"),
            ({"workgroup": [0, 1, 0]}, "workgroup 1 of 1 in y"),
        ):
            with self.subTest(words), self.assertRaises(hsaco.Error) as raised:
                kernel.entry_values(launch, **words)
            self.assertIn(message, str(raised.exception))


class Packets(unittest.TestCase):
    def test_they_are_built_and_decoded(self) -> None:
        launch = hsaco.Launch([1000, 5], [256, 2], dynamic_lds=512)
        packet = hsaco.dispatch_packet(launch, 0x7F1234567840, 0x1230, static_lds=256)
        self.assertEqual((len(packet), packet[:4]), (64, b"\x02\x15\x02\x00"))
        decoded = hsaco.decode_packet(packet)
        self.assertEqual((decoded["grid"], decoded["group_segment"]), ([1000, 5, 1], 768))
        self.assertEqual((decoded["type"], decoded["problems"]), ("dispatch", []))
        with self.assertRaisesRegex(hsaco.Error, "no multiple of 16"):
            hsaco.dispatch_packet(launch, 0x40, 8)
        with self.assertRaises(hsaco.Error):
            hsaco.decode_packet(b"\0" * 63)


if __name__ == "__main__":
    unittest.main()
