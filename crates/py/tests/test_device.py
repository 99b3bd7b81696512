"""Kernels on the CPU."""

from __future__ import annotations

import array
import threading
import unittest
from pathlib import Path

import hsaco
from support import fixture

RUN = fixture("run.gfx942.co")


class Devices(unittest.TestCase):
    def setUp(self) -> None:
        self.device = hsaco.Device("gfx942")
        self.program = self.device.load(RUN)

    def test_names_of_products_are_devices(self) -> None:
        self.assertEqual(hsaco.Device("mi300x").target, "gfx942")

    def test_a_kernel_computes(self) -> None:
        y = array.array("f", range(100))
        x = array.array("f", [1.0] * 100)
        outcome = self.program["saxpy"](y, x, 2.0, 100, grid=2, workgroup=64)
        self.assertEqual(list(y), [float(it + 2) for it in range(100)])
        self.assertEqual(list(x), [1.0] * 100)
        self.assertEqual(outcome.waves, 2)
        self.assertGreater(outcome.instructions, 0)
        self.assertEqual(outcome.mnemonics["s_endpgm"], ("exact", 2))

    def test_arguments_by_name(self) -> None:
        y, x = array.array("f", [1.0]), array.array("f", [3.0])
        self.program["saxpy"](y, a=2, n=1, x=x, grid=(1, 1), workgroup=[64, 1])
        self.assertEqual(list(y), [7.0])

    def test_bytes_are_read_only(self) -> None:
        y = array.array("f", [1.0])
        self.program["saxpy"](y, b"\0\0\x80\x3f", 2.0, 1, grid=1, workgroup=64)
        self.assertEqual(list(y), [3.0])

    def test_threads_change_nothing(self) -> None:
        results = []
        for threads in (1, 4):
            out = bytearray(64 * 16 * 4)
            self.program["reverse"](out, grid=16, workgroup=64, dynamic_lds=256, threads=threads, seed=7)
            results.append(bytes(out))
        self.assertEqual(results[0], results[1])
        self.assertEqual(array.array("I", results[0])[:3].tolist(), [63, 62, 61])

    def test_what_goes_wrong_says_where(self) -> None:
        out = bytearray(40)
        with self.assertRaises(hsaco.KernelError) as raised:
            self.program["past_the_end"](out, 0, grid=1, workgroup=64)
        error = raised.exception
        self.assertEqual((error.kind, error.kernel), ("out-of-bounds", "past_the_end"))
        self.assertEqual((error.workgroup, error.wave, error.lanes), ((0, 0, 0), 0, 1 << 10))
        self.assertTrue(error.instruction.startswith("global_store_dword"))
        assert error.file is not None and error.registers is not None
        self.assertTrue(error.file.endswith("run.hip"))
        self.assertIn(f"{error.file}:{error.line}", str(error))
        self.assertIn("exec", error.registers)

    def test_kinds_of_errors(self) -> None:
        for name, kind in (("aborts", "trap"), ("endless", "limit")):
            with self.assertRaises(hsaco.KernelError) as raised:
                self.program[name](bytearray(256), grid=1, workgroup=64, max_instructions=100000)
            self.assertEqual(raised.exception.kind, kind)

    def test_wrong_arguments(self) -> None:
        saxpy = self.program["saxpy"]
        with self.assertRaisesRegex(hsaco.Error, "saxpy has 4 arguments, and 1 are given"):
            saxpy(bytearray(4), grid=1, workgroup=64)
        with self.assertRaises(hsaco.Error):
            saxpy(bytearray(4), bytearray(4), 1.0, n=1, m=2, grid=1, workgroup=64)
        with self.assertRaises(TypeError):
            saxpy(bytearray(4), object(), 1.0, 1, grid=1, workgroup=64)
        with self.assertRaises(TypeError):
            saxpy(memoryview(bytearray(8))[::2], bytearray(4), 1.0, 1, grid=1, workgroup=64)
        with self.assertRaises(hsaco.NotFoundError):
            self.program["missing"]
        with self.assertRaises(hsaco.Error):
            saxpy(bytearray(4), bytearray(4), 1.0, 1, grid=1, workgroup=2048)

    def test_memory_is_a_budget(self) -> None:
        small = hsaco.Device("gfx942", memory=1 << 20).load(Path(RUN))
        with self.assertRaisesRegex(hsaco.Error, "no memory for"):
            small["saxpy"](bytearray(1 << 21), bytearray(4), 1.0, 1, grid=1, workgroup=64)
        # What a failed call took is given back.
        for _ in range(100):
            small["saxpy"](bytearray(1 << 18), bytearray(4), 1.0, 1, grid=1, workgroup=64)

    def test_a_device_refuses_what_it_does_not_run(self) -> None:
        with self.assertRaises(hsaco.Error):
            hsaco.Device("gfx1100").load(RUN)
        with self.assertRaises(hsaco.Error):
            hsaco.Device("gfx9999")

    def test_several_files_are_one_program(self) -> None:
        program = self.device.load(fixture("scale-library.co"), fixture("scale-user.co"))
        self.assertIn("apply", program.kernels)

    def test_any_thread(self) -> None:
        failures: list[str] = []

        def call() -> None:
            out = bytearray(256)
            self.program["reverse"](out, grid=1, workgroup=64, dynamic_lds=256)
            if out[0] != 63:
                failures.append("wrong")

        threads = [threading.Thread(target=call) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])


if __name__ == "__main__":
    unittest.main()
