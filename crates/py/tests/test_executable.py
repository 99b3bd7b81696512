"""Executables: objects put together as a runtime does."""

from __future__ import annotations

import threading
import unittest
from pathlib import Path
from typing import Callable

import hsaco
from support import fixture


def data(name: str) -> bytes:
    return Path(fixture(name)).read_bytes()


class Executables(unittest.TestCase):
    def linked(self) -> hsaco.Executable:
        executable = hsaco.Executable("gfx942")
        self.assertEqual(executable.load("library", data("scale-library.co")), 0)
        self.assertEqual(executable.load("user", data("scale-user.co")), 1)
        executable.freeze(0x7F0000000000)
        return executable

    def test_a_kernel_finds_its_library(self) -> None:
        executable = self.linked()
        self.assertTrue(executable.frozen)
        self.assertEqual((executable.target, executable.objects), ("gfx942", ["library", "user"]))
        scale = executable.symbol("scale")
        self.assertEqual((scale.kind, scale.object, scale.exported), ("function", "library", True))
        slots = {it.symbol: it for it in executable.relocations if it.object == "user"}
        self.assertEqual(slots["scale"].value, scale.address)
        self.assertEqual(slots["scale"].provider, "library")
        crossing = [(it.caller, it.callee) for it in executable.calls() if it.crosses_objects]
        self.assertEqual(crossing, [("apply", "scale")])
        assert scale.address is not None
        self.assertEqual(executable.locate(scale.address + 4), ("library", 0x1404, "scale", 4))

    def test_the_kernel_gets_what_the_library_needs(self) -> None:
        executable = self.linked()
        (raised,) = executable.raises
        self.assertEqual((raised.kernel, raised.applied), ("apply", True))
        vgprs = next(it for it in raised.shortfalls if it.resource == "vgprs")
        self.assertEqual((vgprs.allocated, vgprs.needed), (48, 201))
        self.assertEqual(executable.symbol("apply.kd").vgprs, 208)
        again = hsaco.open(executable.link())
        self.assertEqual([it.name for it in again.kernels], ["apply"])

    def test_code_has_no_address_in_memory_before_freezing(self) -> None:
        executable = hsaco.Executable()
        executable.load("library", data("scale-library.co"))
        scale = executable.symbol("scale")
        self.assertEqual((scale.address, scale.code_address), (None, None))
        self.assertIsNotNone(scale.code_size)
        executable.freeze(0x10_0000)
        scale = executable.symbol("scale")
        assert scale.code_address is not None
        self.assertGreater(scale.code_address, 0x10_0000)

    def test_calls_through_tables_list_their_candidates(self) -> None:
        executable = hsaco.Executable()
        executable.load("flow", data("flow.co"))
        executable.load("other", data("s1.gfx942.co"))
        executable.freeze()
        calls = {it.site: it for it in executable.calls()}
        known = [it for it in calls.values() if it.callee is not None]
        unknown = [it for it in calls.values() if it.callee is None]
        self.assertTrue(known and unknown)
        for call in known:
            self.assertEqual((call.candidates, call.candidate_objects), ((), ()))
        for call in unknown:
            self.assertEqual(call.evidence, "address_taken")
            self.assertIn(("count", "flow"), set(zip(call.candidates, call.candidate_objects)))
            for name, owner in zip(call.candidates, call.candidate_objects):
                self.assertEqual(executable.symbol(name).object, owner)

    def test_any_thread_may_use_a_shared_executable(self) -> None:
        """While one thread loads, freezes or decodes, others ask and add."""
        executable = hsaco.Executable("gfx942")
        content = data("lines.dwarf5.co")
        failures: list[Exception] = []
        barrier = threading.Barrier(8)

        def together(use: Callable[[int], object]) -> None:
            def guarded(number: int) -> None:
                barrier.wait()
                try:
                    use(number)
                except Exception as error:
                    failures.append(error)

            threads = [threading.Thread(target=guarded, args=(number,)) for number in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        def add_and_ask(number: int) -> None:
            for turn in range(25):
                executable.define_variable(f"variable {number} {turn}", 0x1000)
                executable.load(f"{number} {turn}", content)
                self.assertIn(f"{number} {turn}", executable.objects)
                self.assertEqual((executable.frozen, executable.locate(0)), (False, None))

        together(add_and_ask)
        self.assertEqual(failures, [])
        self.assertEqual(len(executable.objects), 200)
        # Each of them defines the same kernels: that is wrong, and all threads are told so.
        together(lambda number: executable.freeze())
        self.assertEqual({type(it) for it in failures}, {hsaco.LinkError})
        failures.clear()
        linked = self.linked()

        def ask(number: int) -> None:
            for _ in range(5):
                linked.calls(), linked.link(), linked.symbols, linked.segments, repr(linked)

        together(ask)
        self.assertEqual(failures, [])

    def test_all_that_is_wrong_is_said_at_once(self) -> None:
        executable = hsaco.Executable()
        executable.load("user", data("scale-user.co"))
        with self.assertRaises(hsaco.LinkError) as caught:
            executable.freeze()
        self.assertEqual([it.kind for it in caught.exception.errors], ["undefined-symbol"] * 2)
        executable.define_function("scale", 0x1000)
        executable.define_variable("factor", 0x2000)
        executable.freeze()
        self.assertEqual(len(executable.remarks), 1)
        with self.assertRaises(hsaco.Error) as frozen:
            executable.load("late", data("s1.gfx942.co"))
        self.assertEqual(frozen.exception.kind, "frozen")
        with self.assertRaises(hsaco.NotFoundError):
            executable.symbol("nobody")

    def test_what_is_no_object_is_refused(self) -> None:
        executable = hsaco.Executable("gfx1100")
        for content, kind in ((b"no object", "unreadable"), (data("s1.gfx942.co"), "wrong-device")):
            with self.assertRaises(hsaco.Error) as caught:
                executable.load("object", content)
            self.assertEqual(caught.exception.kind, kind)
        self.assertEqual(executable.objects, [])


if __name__ == "__main__":
    unittest.main()
