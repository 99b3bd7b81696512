"""Rewriting, comparing, leaving out: files made of files."""

from __future__ import annotations

import pickle
import tempfile
import unittest
import zipfile
from pathlib import Path

import hsaco
from support import fixture

OBJECT = fixture("s1.gfx942.co")


class Rewriting(unittest.TestCase):
    def test_a_stepping_is_rewritten_and_verified(self) -> None:
        original = Path(fixture("steppings.co")).read_bytes()
        patched = hsaco.patch(original)
        self.assertEqual((patched.changed, patched.manifest["result"]), (True, "changed"))
        self.assertEqual(len(patched.data), 6192)
        self.assertEqual(hsaco.patch(fixture("steppings.co"), "gfx1250-b0-to-a0"), patched)
        self.assertEqual(hsaco.verify_patch(original, patched.data, patched.manifest), [])
        broken = bytearray(patched.data)
        broken[-1] ^= 1
        self.assertNotEqual(hsaco.verify_patch(original, broken, patched.manifest), [])
        again = hsaco.patch(patched.data)
        self.assertEqual((again.changed, again.data), (False, patched.data))
        self.assertEqual(pickle.loads(pickle.dumps(patched)), patched)

    def test_edits_and_settings(self) -> None:
        kernel = hsaco.open(OBJECT).kernel("foo")
        at = kernel.instructions[-1].address
        edited = hsaco.patch(OBJECT, edits=[("insert", f"{at:#x}=s_nop 5")])
        nop = hsaco.assemble("s_nop 5", "gfx942")
        self.assertEqual((nop in Path(OBJECT).read_bytes(), nop in edited.data), (False, True))
        self.assertNotEqual(hsaco.open(edited.data).kernel("foo").code, kernel.code)
        changed = hsaco.patch(OBJECT, settings=["foo.vgpr_count=77"])
        self.assertEqual(hsaco.open(changed.data).kernel("foo").resources["vgprs"], 77)

    def test_what_cannot_be_done_is_an_error(self) -> None:
        with self.assertRaises(hsaco.PatchError) as caught:
            hsaco.patch(OBJECT)
        self.assertEqual((caught.exception.kind, caught.exception.manifest["result"]), ("refused", "refused"))
        self.assertIn("is for gfx1250, the object for gfx942", str(caught.exception))
        again = pickle.loads(pickle.dumps(caught.exception))
        self.assertEqual((str(again), again.manifest), (str(caught.exception), caught.exception.manifest))
        with self.assertRaisesRegex(ValueError, "no rule set 'all'; there are gfx1250-b0-to-a0"):
            hsaco.patch(OBJECT, "all")
        with self.assertRaisesRegex(ValueError, "no edit is of kind 'improve'"):
            hsaco.patch(OBJECT, edits=[("improve", "all")])
        with self.assertRaisesRegex(ValueError, "settings stand alone"):
            hsaco.patch(OBJECT, edits=[("count", "entries")], settings=["foo.vgpr_count=77"])
        with self.assertRaises(FileNotFoundError):
            hsaco.patch("no-such-file")
        with self.assertRaises(IsADirectoryError):
            hsaco.patch(tempfile.gettempdir())
        with self.assertRaises(hsaco.Error):
            hsaco.patch(b"no code")


class Comparing(unittest.TestCase):
    def test_what_differs_is_told(self) -> None:
        self.assertEqual(hsaco.diff(OBJECT, OBJECT), [])
        (found,) = hsaco.diff(OBJECT, fixture("s1.gfx90a-xnack-off.co"), kernels=["foo"], context=0)
        self.assertEqual(found["header"][1], {"name": "target", "a": "gfx942", "b": "gfx90a:xnack-"})
        (foo,) = found["functions"]
        self.assertEqual((foo["name"], foo["removed"], foo["added"]), ("foo", 13, 15))
        (plain,) = hsaco.diff(Path(OBJECT).read_bytes(), fixture("s1.gfx90a-xnack-off.co"), kernels=["foo"], code=False)
        self.assertEqual(plain["functions"][0]["hunks"], [])

    def test_nothing_compared_is_not_equal(self) -> None:
        with self.assertRaisesRegex(hsaco.Error, "no kernel of such a name"):
            hsaco.diff(OBJECT, OBJECT, kernels=["nope"])
        with self.assertRaises(hsaco.Error):
            hsaco.diff(OBJECT, b"no code")
        with self.assertRaisesRegex(hsaco.Error, "no AMD GPU code object"):
            hsaco.diff(OBJECT, OBJECT, target="gfx1100")
        with self.assertRaises(hsaco.Error):
            hsaco.diff(OBJECT, OBJECT, target="gfx9999")


class Leaving(unittest.TestCase):
    def test_one_target_of_a_bundle_and_of_a_wheel(self) -> None:
        small = hsaco.keep_targets(fixture("plain.bundle"), ["gfx942"])
        self.assertEqual([it.target for it in hsaco.open(small).objects], ["gfx942"])
        wheel = hsaco.keep_targets(Path(fixture("wheel.whl")).read_bytes(), ["gfx942"])
        self.assertEqual({it.target for it in hsaco.open(wheel).objects}, {"gfx942"})
        with tempfile.TemporaryFile() as file:
            file.write(wheel)
            with zipfile.ZipFile(file) as opened:
                self.assertIsNone(opened.testzip())

    def test_what_cannot_be_left_out(self) -> None:
        with self.assertRaisesRegex(ValueError, "at least one target"):
            hsaco.keep_targets(OBJECT, [])
        with self.assertRaisesRegex(hsaco.Error, "nothing in it is for the targets"):
            hsaco.keep_targets(fixture("plain.bundle"), ["gfx90a"])
        with self.assertRaises(hsaco.Error):
            hsaco.keep_targets(fixture("demo.deb"), ["gfx942"])


class Limits(unittest.TestCase):
    def test_a_device_has_its_own(self) -> None:
        def errors(**limits: int) -> list[str]:
            return [it.rule for it in hsaco.check(OBJECT, "gfx942", limits=limits) if it.severity == "error"]

        self.assertEqual(errors(), [])
        self.assertEqual(errors(lds=65536), [])
        self.assertIn("register-limit", errors(vgprs=1))
        with self.assertRaisesRegex(ValueError, "no limit 'LDS' of a device; there are lds, vgprs"):
            hsaco.check(OBJECT, "gfx942", limits={"LDS": 1})
        with self.assertRaisesRegex(ValueError, "limits are those of a device"):
            hsaco.check(OBJECT, limits={"lds": 1})


class Arguments(unittest.TestCase):
    def test_both_projections(self) -> None:
        kernel = hsaco.open(OBJECT).kernel("foo")
        compact = kernel.compact(marker_seen=True)
        self.assertEqual((compact.size, compact.bindings, compact.spans), (24, [0], [(8, 0, 4), (16, 4, 8)]))
        packed = compact.pack([0x1000], bytes(range(compact.constant_size)))
        self.assertEqual(compact.unpack(packed.data), ([0x1000], bytes(range(compact.constant_size))))
        self.assertNotEqual(compact.hash, kernel.layout.hash)
        with self.assertRaisesRegex(hsaco.Error, "no marker says that the runtime packs"):
            kernel.compact()
        with self.assertRaisesRegex(hsaco.Error, "2 bindings for 1"):
            compact.pack([1, 2], b"")

    def test_kernels_without_metadata(self) -> None:
        kernel = hsaco.open(fixture("s1.no-note.co")).kernel("foo")
        self.assertIsNone(kernel.arguments)
        with self.assertRaises(hsaco.Error):
            kernel.layout
        self.assertEqual(kernel.check_prepacked(bytes(24)).surplus, 0)
        with self.assertRaises(hsaco.Error):
            kernel.check_prepacked(b"")
        layout = hsaco.Layout.declare(24, [(0, 8, "global_buffer", "out"), (8, 4, "by_value", None), (16, 8, "by_value", None)])
        known = hsaco.open(OBJECT).kernel("foo").layout
        self.assertEqual(layout.pack([1, 7, -1]).data, known.pack([1, 7, -1]).data)
        with self.assertRaises(hsaco.Error):
            hsaco.Layout.declare(24, [(0, 8, "global_buffer", None)], alignment=3)

    def test_live_registers(self) -> None:
        kernel = hsaco.open(fixture("flow.co")).kernels[0]
        live = kernel.live_registers()
        self.assertEqual(len(live), len(kernel.instructions))
        peak = kernel.needs(peak=True)["peak"]["vgprs"]
        self.assertEqual(max(it.vgprs or 0 for it in live), peak["count"] if peak else 0)
