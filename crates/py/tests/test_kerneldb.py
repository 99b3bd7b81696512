"""kernelDB's interface: what its own tests assert, and what it gets wrong."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest.mock import patch

import hsaco
import hsaco.kerneldb as kerneldb
from support import KERNEL_ONE, KERNEL_TWO, LINES, fixture


class Names(unittest.TestCase):
    # Row A20 of docs/kerneldb.md.
    def test_the_public_names_are_there(self) -> None:
        self.assertTrue(kerneldb.__version__)
        for name in (
            "KernelDB", "Kernel", "Instruction", "BasicBlock",
            "CDNAKernel", "ArchDescriptor", "HsaAgent", "KernelArgument",
        ):
            self.assertIn(name, kerneldb.__all__)
            self.assertIsInstance(getattr(kerneldb, name), type)

    # Row A20 of docs/kerneldb.md.
    def test_the_private_module_answers_as_if_there_were_a_gpu(self) -> None:
        from hsaco.kerneldb import _kerneldb

        self.assertEqual(_kerneldb.hsa_init(), 0)
        agent = _kerneldb.get_first_gpu_agent()
        self.assertNotEqual(agent.handle, 0)
        raw = _kerneldb.KernelDB(agent, LINES)
        self.assertIsInstance(raw.get_kernel(KERNEL_ONE), kerneldb.CDNAKernel)

    def test_it_can_take_the_name(self) -> None:
        code = (
            "import hsaco.kerneldb; hsaco.kerneldb.install_as_kerneldb()\n"
            "import kerneldb\nfrom kerneldb._kerneldb import hsa_init\n"
            "from kerneldb import KernelDB\nassert hsa_init() == 0"
        )
        subprocess.run([sys.executable, "-c", code], check=True)


class Discovery(unittest.TestCase):
    def setUp(self) -> None:
        self.db = kerneldb.KernelDB(LINES)

    def test_kernels_are_listed_and_device_functions_are_not(self) -> None:
        names = self.db.get_kernels()
        self.assertEqual(len(names), 4)
        self.assertIn("kernel_two(float*, vec::Pair<float>)", names)
        self.assertNotIn("slow(float)", names)

    def test_every_listed_name_is_found_mangled_or_not(self) -> None:
        db = kerneldb.KernelDB(lazy=True)
        for name in ("lines.dwarf5.co", "odd-names.co", "mangled.co"):
            self.assertTrue(db.add_file(fixture(name)))
        for name in db.get_kernels():
            self.assertTrue(db.has_kernel(name))
            self.assertEqual(db.get_kernel(name).name, name)
        for name in (KERNEL_ONE, KERNEL_TWO, KERNEL_TWO + ".kd"):
            self.assertTrue(db.has_kernel(name))
        dotted = [it for it in db.get_kernels() if it.count(".") > 1]
        self.assertEqual(len(dotted), len(set(dotted)))

    def test_host_files_and_bundles_are_opened(self) -> None:
        plain = kerneldb.KernelDB(fixture("host.so")).get_kernels()
        self.assertTrue(plain)
        self.assertEqual(kerneldb.KernelDB(fixture("host-compressed.so")).get_kernels(), plain)
        for name in ("host.a", "zstd-v3.bundle", "plain.bundle", "v2.co"):
            self.assertTrue(kerneldb.KernelDB(fixture(name)).get_kernels(), name)

    def test_what_is_not_there(self) -> None:
        self.assertFalse(self.db.has_kernel("nobody"))
        self.assertEqual(self.db.get_kernel_lines("nobody"), [])
        self.assertEqual(self.db.get_file_name("nobody", 1), "")
        for missing in (RuntimeError, KeyError, hsaco.Error):
            with self.assertRaises(missing):
                self.db.get_kernel("nobody")
            with self.assertRaises(missing):
                self.db.get_instructions_for_line(KERNEL_ONE, 10**6)

    def test_a_path_that_is_not_there_or_holds_no_code(self) -> None:
        with self.assertRaises(FileNotFoundError):
            kerneldb.KernelDB("there/is/no/such.hsaco")
        with self.assertRaises(hsaco.Error):
            kerneldb.KernelDB(__file__)
        self.assertFalse(self.db.add_file(__file__))

    def test_a_filter_is_obeyed(self) -> None:
        db = kerneldb.KernelDB(lazy=True)
        self.assertTrue(db.add_file(LINES, filter="filled"))
        self.assertEqual(len(db.get_kernels()), 2)

    # Row A8 of docs/kerneldb.md.
    def test_scanning_again_changes_nothing(self) -> None:
        before = (self.db.get_kernels(), self.db.get_kernel(KERNEL_ONE).assembly)
        self.assertTrue(self.db.scan_code_object(LINES))
        self.assertTrue(self.db.scan_code_object(fixture("lines.dwarf4.co")))
        self.assertEqual((self.db.get_kernels(), self.db.get_kernel(KERNEL_ONE).assembly), before)

    # Row B21 of docs/kerneldb.md.
    def test_one_of_several_targets_can_be_picked(self) -> None:
        bundle = hsaco.open(fixture("mixed.bundle"))
        targets = [it.target for it in bundle.objects]
        self.assertGreater(len(targets), 1)
        name = bundle.objects[1].kernels[0].name
        db = kerneldb.KernelDB(fixture("mixed.bundle"), target=targets[1])
        self.assertEqual(
            [it.text for it in bundle.objects[1].kernels[0].instructions],
            [line.split("//")[0].strip() for line in db.get_kernel(name).assembly],
        )

    def test_the_agents_architecture_is_picked_and_not_the_files_first(self) -> None:
        raw = kerneldb._kerneldb
        bundle, name = fixture("plain.bundle"), hsaco.open(fixture("plain.bundle")).kernels[0].name
        for target in ("gfx942", "gfx1100"):
            agent = raw.HsaAgent(7, target)
            by_name = raw.KernelDB(agent, bundle)
            added = raw.KernelDB(raw.HsaAgent())
            self.assertEqual(added.get_kernels(), [])
            self.assertTrue(added.add_file(bundle, agent, "", True))
            scanned = raw.KernelDB(agent)
            self.assertTrue(scanned.scan_code_object(co_file=bundle))
            self.assertTrue(scanned.scan_code_object(bundle))
            for db in (by_name, added, scanned):
                self.assertEqual(db.get_kernel(name).target, target)
                self.assertEqual(len(db.get_kernels()), 1)
        with patch.dict(os.environ, {"HSA_OVERRIDE_GFX_VERSION": "11.0.0"}):
            overridden = kerneldb.KernelDB(bundle)
            self.assertEqual(overridden.agent.target, "gfx1100")
            self.assertEqual(overridden._kdb.get_kernel(name).target, "gfx1100")
            self.assertEqual(kerneldb.KernelDB(bundle, agent_id=5).agent.target, "gfx1100")

    def test_the_driver_says_which_gpu_there_is(self) -> None:
        from hsaco.kerneldb import _agent

        with tempfile.TemporaryDirectory() as folder:
            for number, version in (("0", "0"), ("2", "90402"), ("10", "110000")):
                (Path(folder) / number).mkdir()
                text = f"cpu_cores_count 0\ngfx_target_version {version}\n"
                (Path(folder) / number / "properties").write_text(text)
            with patch.object(_agent, "_NODES", Path(folder)):
                self.assertEqual(_agent.gpu_target(), "gfx942")
            (Path(folder) / "2" / "properties").write_text("gfx_target_version 90010\n")
            with patch.object(_agent, "_NODES", Path(folder)):
                self.assertEqual(_agent.gpu_target(), "gfx90a")
                self.assertEqual(kerneldb.KernelDB(lazy=True).agent.target, "gfx90a")
        with patch.object(_agent, "_NODES", Path(folder)):
            self.assertIsNone(_agent.gpu_target())

    def test_a_target_that_does_not_exist_is_an_error(self) -> None:
        bundle = fixture("plain.bundle")
        for wrong in ("gfx943", "nonsense"):
            for path in (bundle, None):
                with self.assertRaisesRegex(hsaco.Error, "gfx943|nonsense"):
                    kerneldb.KernelDB(path, target=wrong)
                with self.assertRaisesRegex(hsaco.Error, "gfx943|nonsense"):
                    kerneldb._kerneldb.KernelDB(kerneldb.HsaAgent(1, wrong), path)
        for ask in (
            lambda: kerneldb.KernelDB(bundle, target="gfx90a"),
            lambda: kerneldb.KernelDB(lazy=True, target="gfx90a").add_file(bundle),
            lambda: kerneldb.KernelDB(lazy=True, target="gfx90a").scan_code_object(bundle),
            lambda: kerneldb._kerneldb.KernelDB(kerneldb.HsaAgent(1, "gfx90a"), bundle),
        ):
            with self.assertRaisesRegex(hsaco.Error, "gfx90a.*gfx1100, gfx942"):
                ask()

    def test_a_kernel_of_several_targets_is_not_picked_by_its_place(self) -> None:
        db = kerneldb.KernelDB(fixture("plain.bundle"))
        (name,) = db.get_kernels()
        self.assertTrue(db.has_kernel(name))
        with self.assertRaisesRegex(hsaco.Error, "gfx942, gfx1100: choose one with target="):
            db.get_kernel(name)

    # Row A4 of docs/kerneldb.md.
    def test_the_running_process_is_searched(self) -> None:
        db = kerneldb.KernelDB()
        self.assertEqual(db.binary_path, "")
        self.assertIsInstance(db.get_kernels(), list)

    # Row A18 of docs/kerneldb.md.
    def test_an_instrumented_name_keeps_its_prefix(self) -> None:
        content = Path(LINES).read_bytes()
        name = KERNEL_TWO.encode()
        clone = b"__amd_crk_" + b"_Z10kernel_twoPfN3vec4PairIfEE"[10:]
        self.assertEqual(len(clone), len(name))
        database = hsaco.open(content.replace(name, clone))
        from hsaco.kerneldb._kernel import name_of

        names = [name_of(it) for it in database.kernels]
        self.assertTrue(any(it.startswith("__amd_crk_") for it in names), names)


class Lines(unittest.TestCase):
    def setUp(self) -> None:
        self.db = kerneldb.KernelDB(LINES)

    def test_lines_are_numbers_and_kernels_have_their_own(self) -> None:
        one, two = self.db.get_kernel_lines(KERNEL_ONE), self.db.get_kernel_lines(KERNEL_TWO)
        for lines in (one, two):
            self.assertTrue(lines)
            self.assertEqual(lines, sorted(set(lines)))
            self.assertTrue(all(line > 0 for line in lines))
        self.assertNotEqual(one, two)

    def test_instructions_of_a_line(self) -> None:
        for name in self.db.get_kernels():
            for line in self.db.get_kernel_lines(name):
                for each in self.db.get_instructions_for_line(name, line):
                    self.assertIn(each.inst, each.disassembly)
                    self.assertEqual(each.line, line)
                    self.assertIsInstance(each.column, int)
                    self.assertTrue(each.file_name)
                    assert each.path_id is not None
                    self.assertEqual(self.db.get_file_name(name, each.path_id), each.file_name)

    # Row A9 of docs/kerneldb.md.
    def test_filtering_by_name(self) -> None:
        pattern, found = ".*(load|store).*", 0
        for line in self.db.get_kernel_lines(KERNEL_ONE):
            every = self.db.get_instructions_for_line(KERNEL_ONE, line)
            some = self.db.get_instructions_for_line(KERNEL_ONE, line, pattern)
            found += len(some)
            self.assertLessEqual(len(some), len(every))
            self.assertTrue(all(re.fullmatch(pattern, it.inst) for it in some))
            self.assertEqual(self.db.get_instructions_for_line(KERNEL_ONE, line, "load"), [])
        self.assertGreater(found, 0)

    # Row A10 of docs/kerneldb.md.
    def test_files_count_from_one(self) -> None:
        files = self.db.get_kernel(KERNEL_TWO).files
        self.assertEqual({Path(it).name for it in files}, {"elsewhere.cuh", "lines-two.hip", "lines.h"})
        self.assertEqual(files, sorted(files))
        numbered = {self.db.get_file_name(KERNEL_TWO, index) for index in (1, 2, 3)}
        self.assertEqual(numbered, set(files))
        for index in (0, 4, -1):
            with self.assertRaises(IndexError):
                self.db.get_file_name(KERNEL_TWO, index)

    # Row 4574fef of docs/kerneldb.md.
    def test_a_file_number_that_is_none_is_an_index_error(self) -> None:
        for index in (0, -1, 10**9):
            with self.assertRaises(IndexError):
                self.db.get_kernel(KERNEL_ONE)._kernel.get_file_name(index)

    def test_kernels_of_two_units_have_their_own_files(self) -> None:
        one = {Path(it).name for it in self.db.get_kernel(KERNEL_ONE).files}
        self.assertIn("lines.hip", one)
        self.assertNotIn("lines-two.hip", one)


class Code(unittest.TestCase):
    def setUp(self) -> None:
        self.db = kerneldb.KernelDB(LINES)

    # Row B22 of docs/kerneldb.md.
    def test_assembly_is_complete_and_in_program_order(self) -> None:
        for kernel in hsaco.open(LINES).kernels:
            assembly = self.db.get_kernel(kernel.name).assembly
            self.assertEqual(
                [int(line.split("// ")[1].split(":")[0], 16) for line in assembly],
                [it.address for it in kernel.instructions],
            )
            self.assertEqual(assembly, self.db.get_kernel(kernel.demangled).assembly)

    # Row A12 of docs/kerneldb.md.
    def test_assembly_is_what_the_command_lists(self) -> None:
        for name in ("lines.dwarf5.co", "mangled.co", "s1.gfx1250.co"):
            run = subprocess.run(
                [sys.executable, "-m", "hsaco", "disasm", fixture(name)],
                check=True, capture_output=True, text=True,
            )
            listed = set(run.stdout.splitlines())
            db = kerneldb.KernelDB(fixture(name))
            for kernel in db.get_kernels():
                assembly = db.get_kernel(kernel).assembly
                self.assertEqual([line for line in assembly if line not in listed], [])

    def test_blocks_have_their_branches(self) -> None:
        kernel = self.db.get_kernel(KERNEL_ONE)
        blocks = kernel.get_basic_blocks()
        self.assertGreater(len(blocks), 1)
        every = [each for block in blocks for each in block.get_instructions()]
        self.assertEqual([it.disassembly for it in every], kernel.assembly)
        self.assertEqual(sum(len(block) for block in blocks), len(every))
        self.assertTrue(any("branch" in it.inst for it in every))

    def test_the_wrapper_has_all_properties(self) -> None:
        kernel = self.db.get_kernel(KERNEL_ONE)
        self.assertEqual(kernel.signature, kernel.name)
        self.assertTrue(kernel.lines and kernel.files and kernel.assembly)
        self.assertEqual(kernel.hip_source, [])
        self.assertTrue(kernel.has_arguments())
        line = kernel.lines[0]
        self.assertTrue(kernel.get_instructions_for_line(line))
        self.assertLessEqual(
            len(kernel.get_instructions_for_line(line, "s_.*")),
            len(kernel.get_instructions_for_line(line)),
        )

    # Row A13 of docs/kerneldb.md.
    def test_loads_and_stores_are_taken_apart(self) -> None:
        found = {}
        for name in self.db.get_kernels():
            for block in self.db.get_kernel(name).get_basic_blocks():
                for each in block.get_instructions():
                    found[each.inst] = (each.prefix, each.type, each.size)
        self.assertEqual(found["s_load_dword"], ("s", "load", "dword"))
        self.assertEqual(found["global_store_dword"], ("global", "store", "dword"))
        self.assertEqual(found["s_endpgm"], ("", "", ""))

    def test_operands_keep_their_commas(self) -> None:
        (first, *_) = self.db.get_kernel(KERNEL_ONE).get_basic_blocks()[0].get_instructions()
        self.assertEqual(" ".join([first.inst, *first.operands]), first.disassembly.split("//")[0].strip())

    def test_without_debug_information_there_is_all_but_lines(self) -> None:
        db = kerneldb.KernelDB(fixture("mangled.co"))
        for name in db.get_kernels():
            kernel = db.get_kernel(name)
            self.assertTrue(kernel.assembly and kernel.get_basic_blocks())
            self.assertEqual((kernel.lines, kernel.files), ([], []))
            self.assertTrue(kernel.has_arguments())
            for block in kernel.get_basic_blocks():
                for each in block.get_instructions():
                    self.assertEqual((each.line, each.column, each.path_id), (None, None, None))

    # Row A14 of docs/kerneldb.md.
    def test_arguments_have_places_and_positions(self) -> None:
        arguments = self.db.get_kernel_arguments(KERNEL_ONE)
        self.assertEqual(
            [(it.name, it.type_name, it.size, it.offset, it.alignment, it.position) for it in arguments],
            [
                ("out", "float*", 8, 0, 8, 0),
                ("in", "const struct vec::Pair<float>*", 8, 8, 8, 1),
                ("count", "int", 4, 16, 4, 2),
            ],
        )
        self.assertEqual([it.name for it in arguments[1].members], ["first", "second"])
        self.assertEqual(self.db.get_kernel_arguments(KERNEL_ONE, resolve_typedefs=True), arguments)
        made = kerneldb.KernelArgument(name="n", type="int", size=4, offset=16, alignment=4, position=2)
        self.assertEqual((made.type_name, made.members), ("int", []))

    # Row A15 of docs/kerneldb.md.
    def test_members_are_there_by_value_and_through_a_pointer(self) -> None:
        by_value = self.db.get_kernel_arguments(KERNEL_TWO)[1]
        self.assertEqual((by_value.type_name, by_value.size), ("struct vec::Pair<float>", 8))
        for argument in (by_value, self.db.get_kernel_arguments(KERNEL_ONE)[1]):
            self.assertEqual(
                [(it.name, it.type_name, it.size, it.offset) for it in argument.members],
                [("first", "float", 4, 0), ("second", "float", 4, 4)],
            )

    # Row A16 of docs/kerneldb.md.
    def test_typedefs_are_kept_or_resolved_by_each_call_alone(self) -> None:
        db = kerneldb.KernelDB(fixture("types.co"))
        name = next(it for it in db.get_kernels() if it.startswith("aliases("))
        types = [
            [it.type_name for it in db.get_kernel_arguments(name, resolve_typedefs=resolve)]
            for resolve in (False, True, False)
        ]
        self.assertEqual(types[0], types[2])
        self.assertEqual((types[0][2], types[1][2]), ("Twice", "struct shape::Pair<float>"))

    # Row B14 of docs/kerneldb.md.
    def test_contradictions_are_told(self) -> None:
        kernel = hsaco.open(fixture("odd-types.co")).kernels[0]
        self.assertIn("argument 2 has 4 bytes in the metadata, its type has 8", kernel.argument_disagreements)
        self.assertEqual(hsaco.open(LINES).kernels[0].argument_disagreements, [])

    # Row B2 of docs/kerneldb.md.
    def test_another_target_is_decoded_as_what_it_is(self) -> None:
        db = kerneldb.KernelDB(fixture("s1.gfx1100.co"))
        for name in db.get_kernels():
            self.assertFalse([line for line in db.get_kernel(name).assembly if ".long" in line])


class Lazy(unittest.TestCase):
    """Loading at once and loading when asked give the same, for every kernel."""

    def setUp(self) -> None:
        self.eager = kerneldb.KernelDB(LINES)
        self.lazy = kerneldb.KernelDB(lazy=True)
        self.lazy.add_file(LINES, lazy=True)

    def test_names(self) -> None:
        self.assertEqual(sorted(self.lazy.get_kernels()), sorted(self.eager.get_kernels()))

    def test_the_path_is_honoured(self) -> None:
        db = kerneldb.KernelDB(LINES, lazy=True)
        self.assertEqual(db.get_kernels(), self.eager.get_kernels())
        self.assertEqual(db.binary_path, LINES)

    def test_kernels_are_there_before_they_are_loaded(self) -> None:
        self.assertTrue(all(self.lazy.has_kernel(it) for it in self.eager.get_kernels()))

    def test_kernels(self) -> None:
        for name in self.eager.get_kernels():
            one, other = self.eager.get_kernel(name), self.lazy.get_kernel(name)
            self.assertEqual((one.assembly, one.lines), (other.assembly, other.lines))
            for line in one.lines:
                self.assertEqual(
                    self.eager.get_instructions_for_line(name, line),
                    self.lazy.get_instructions_for_line(name, line),
                )


if __name__ == "__main__":
    unittest.main()
