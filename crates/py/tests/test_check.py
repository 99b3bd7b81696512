"""Checks before registration, from Python."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path
from typing import Any

import hsaco
from support import fixture

OBJECT = fixture("s1.gfx942.co")


def wrong(*args: Any, **kwargs: Any) -> list[hsaco.Finding]:
    """What is wrong, without what is only worth knowing."""
    return [it for it in hsaco.check(*args, **kwargs) if it.severity != "note"]


class Check(unittest.TestCase):
    def test_an_object_passes_on_its_own_device(self) -> None:
        self.assertEqual(wrong(OBJECT, device="gfx942"), [])
        self.assertEqual(wrong(Path(OBJECT).read_bytes()), [])
        notes = {it.rule for it in hsaco.check(OBJECT)}
        self.assertEqual(notes, {"scratch-needed", "caller-duties"})

    def test_a_finding_says_what_where_and_what_to_do(self) -> None:
        (finding,) = wrong(OBJECT, device="gfx950")
        self.assertEqual((finding.rule, finding.severity), ("target-mismatch", "error"))
        self.assertEqual((finding.field, finding.offset, finding.kernel), ("e_flags", 48, None))
        self.assertTrue(finding.message.startswith("compiled for gfx942, and the device is gfx950"))
        self.assertEqual(finding.help, "compile for gfx950 or gfx9-4-generic")
        self.assertIn("target-mismatch: compiled", str(finding))

    def test_launches_kernels_and_rules_can_be_named(self) -> None:
        (finding,) = wrong(OBJECT, "gfx942", kernels=["foo"], workgroup=(2048, 1, 1))
        self.assertEqual((finding.rule, finding.kernel), ("workgroup-limit", "foo"))
        self.assertEqual(wrong(OBJECT, "gfx950", ignore=["target-mismatch"]), [])
        self.assertEqual([it.rule for it in wrong(fixture("short.co"), code=True)], ["resource-closure"] * 2)
        with self.assertRaisesRegex(ValueError, "no rule 'lds'; nearest: "):
            hsaco.check(OBJECT, select=["lds"])

    def test_a_check_of_nothing_does_not_pass(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(hsaco.Error, "nothing was checked"):
                hsaco.check(folder)
            Path(folder, "notes.txt").write_text("no code")
            with self.assertRaisesRegex(hsaco.Error, "nothing was checked"):
                hsaco.check(folder)
            Path(folder, "kernels.co").write_bytes(Path(OBJECT).read_bytes())
            self.assertEqual(wrong(folder), [])
        (missing,) = wrong(OBJECT, kernels=["no_such"], select=["lds-limit"])
        self.assertEqual(missing.rule, "kernel-not-found")
        with self.assertRaisesRegex(hsaco.Error, "nothing was checked"):
            hsaco.check(OBJECT, kernels=["no_such"], ignore=["kernel-not-found"])
        with self.assertRaisesRegex(ValueError, "no rule is left"):
            hsaco.check(OBJECT, select=["lds-limit"], ignore=["lds-limit"])

    def test_what_a_loader_refuses_is_found(self) -> None:
        broken = bytearray(Path(OBJECT).read_bytes())
        broken[64 + 56 + 48] = 3  # the alignment of the second program header
        self.assertIn("not-loadable", [it.rule for it in wrong(bytes(broken))])

    def test_what_cannot_be_is_an_exception(self) -> None:
        with self.assertRaises(hsaco.Error):
            hsaco.check(OBJECT, device="gfx9999")
        with self.assertRaises(OSError):
            hsaco.check(fixture("no-such-file"))


if __name__ == "__main__":
    unittest.main()
