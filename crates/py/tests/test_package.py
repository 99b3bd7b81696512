"""The package's own interface, on the fixtures."""

from __future__ import annotations

import pickle
import re
import tempfile
import unittest
from importlib import metadata
from pathlib import Path

import hsaco
from support import KERNEL_ONE, KERNEL_TWO, LINES, fixture


class Installed(unittest.TestCase):
    # Row C22 of docs/kerneldb.md.
    def test_the_package_is_complete_and_needs_nothing(self) -> None:
        package = metadata.distribution("hsaco")
        self.assertEqual(package.version, hsaco.__version__)
        self.assertIsNone(package.requires)
        names = {file.name for file in package.files or []}
        self.assertLessEqual({"py.typed", "_hsaco.pyi", "LICENSE", "LICENSE-MIT"}, names)

    def test_public_names_are_there(self) -> None:
        for name in hsaco.__all__:
            self.assertIsNotNone(getattr(hsaco, name))


class Opening(unittest.TestCase):
    def test_what_is_opened_may_be_a_path_bytes_or_several(self) -> None:
        content = Path(LINES).read_bytes()
        for source in (LINES, Path(LINES), content, bytearray(content), memoryview(content)):
            self.assertEqual(len(hsaco.open(source).kernels), 4)
        several = hsaco.open([LINES, content])
        self.assertEqual([it.file for it in several.objects], [LINES, "<bytes>"])

    def test_bytes_may_have_a_name(self) -> None:
        database = hsaco.Database()
        (added,) = database.add(Path(LINES).read_bytes(), name="kernels")
        self.assertEqual((added.file, added.number, added.target), ("kernels", 0, "gfx942"))
        self.assertIsNone(added.entry_id)
        self.assertEqual(added.data, Path(LINES).read_bytes())

    def test_a_directory_is_searched(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            inner = Path(folder) / "inner"
            inner.mkdir()
            (inner / "kernels").write_bytes(Path(LINES).read_bytes())
            (inner / "notes.txt").write_text("no code")
            (inner / "broken").write_bytes(b"\x7fELF")
            database = hsaco.open(folder)
            self.assertEqual([it.file for it in database.objects], [str(inner / "kernels")])
            (problem,) = database.problems
            self.assertIsInstance(problem, hsaco.Error)
            self.assertIn("broken: truncated", str(problem))

    def test_containers_are_judged_by_content(self) -> None:
        plain = [it.name for it in hsaco.open(fixture("plain.bundle")).kernels]
        self.assertTrue(plain)
        for name in ("zstd-v3.bundle", "zlib-v2.bundle"):
            database = hsaco.open(Path(fixture(name)).read_bytes())
            self.assertEqual([it.name for it in database.kernels], plain)
        entry_id = hsaco.open(fixture("plain.bundle")).objects[0].entry_id
        self.assertIn("amdgcn-amd-amdhsa", str(entry_id))

    def test_a_filter_takes_some_kernels(self) -> None:
        wanted = re.compile("filled<")
        for keep in ("filled<", wanted, lambda name: "filled" in name):
            self.assertEqual(len(hsaco.open(LINES, filter=keep).kernels), 2)

    def test_what_a_filter_raises_is_raised(self) -> None:
        with self.assertRaises(ZeroDivisionError):
            hsaco.open(LINES, filter=lambda name: 1 // 0)
        with self.assertRaises(re.error):
            hsaco.open(LINES, filter="(")

    def test_errors_say_what_and_where(self) -> None:
        with self.assertRaises(hsaco.Error) as caught:
            hsaco.Database().add(b"\x7fELF", name="cut.co")
        self.assertEqual((caught.exception.kind, caught.exception.offset), ("truncated", 0))
        self.assertTrue(str(caught.exception).startswith("cut.co: truncated: "))
        with self.assertRaises(hsaco.Error) as caught:
            hsaco.open(b"#!/bin/sh\n")
        self.assertEqual(caught.exception.kind, "not-recognised")
        with self.assertRaises(FileNotFoundError) as missing:
            hsaco.open("there/is/no/such.file")
        self.assertEqual(missing.exception.filename, "there/is/no/such.file")
        with self.assertRaises(TypeError):
            hsaco.Database().add(7)  # type: ignore[arg-type]

    def test_errors_cross_processes(self) -> None:
        for error in (
            hsaco.Error("cut", "truncated", 4),
            hsaco.NotFoundError("nobody"),
            hsaco.AssemblyError("odd", 2, 7),
        ):
            again = pickle.loads(pickle.dumps(error))
            self.assertEqual((type(again), str(again)), (type(error), str(error)))
            self.assertEqual(vars(again), vars(error))


class Sequences(unittest.TestCase):
    def setUp(self) -> None:
        self.kernels = hsaco.open([LINES, fixture("mangled.co")]).kernels

    def test_they_are_sequences(self) -> None:
        kernels = self.kernels
        every = list(kernels)
        self.assertEqual(len(kernels), len(every))
        self.assertEqual(kernels[-1], every[-1])
        self.assertEqual(list(kernels[1:3]), every[1:3])
        self.assertEqual(list(kernels[::-2]), every[::-2])
        self.assertEqual(list(reversed(kernels)), every[::-1])
        self.assertEqual(kernels.index(every[2]), 2)
        self.assertIn(every[1], kernels[:2])
        self.assertNotIn(every[2], kernels[:2])
        self.assertEqual(kernels[:2], kernels[:2])
        self.assertNotEqual(kernels[:2], kernels[1:3])
        self.assertEqual(len({*kernels, *kernels}), len(every))

    def test_past_the_end_is_an_index_error(self) -> None:
        for index in (len(self.kernels), -len(self.kernels) - 1):
            with self.assertRaises(IndexError):
                self.kernels[index]

    def test_they_show_how_they_begin(self) -> None:
        self.assertIn(f"… {len(self.kernels)} in all]", repr(self.kernels))
        self.assertEqual(repr(self.kernels[:0]), "[]")


class Lookup(unittest.TestCase):
    def test_every_spelling_of_a_name_is_found(self) -> None:
        database = hsaco.open([LINES, fixture("odd-names.co")])
        for kernel in database.kernels:
            for name in (kernel.name, kernel.demangled, kernel.name + ".kd"):
                self.assertEqual(database.kernel(name), kernel)

    def test_a_name_that_is_not_there_is_a_key_error(self) -> None:
        database = hsaco.open(LINES)
        with self.assertRaises(KeyError) as caught:
            database.kernel("nobody")
        self.assertIsInstance(caught.exception, hsaco.NotFoundError)
        self.assertIsInstance(caught.exception, hsaco.Error)
        self.assertEqual(str(caught.exception), "not found: kernel: `nobody`")
        self.assertEqual(database.kernels_named("nobody"), [])

    def test_a_name_of_two_kernels_is_ambiguous(self) -> None:
        database = hsaco.open([fixture("s1.gfx942.co"), fixture("s1.gfx1100.co")])
        name = database.kernels[0].name
        with self.assertRaises(hsaco.Error) as caught:
            database.kernel(name)
        self.assertEqual(caught.exception.kind, "ambiguous")
        targets = [it.target for it in database.kernels_named(name)]
        self.assertEqual(targets, ["gfx942", "gfx1100"])

    def test_device_functions_are_no_kernels(self) -> None:
        (function,) = hsaco.open(LINES).objects[0].functions
        self.assertEqual((function.name, function.demangled), ("_Z4slowf", "slow(float)"))
        self.assertEqual((function.address, function.size), (0x2000, 92))


class Kernels(unittest.TestCase):
    def setUp(self) -> None:
        self.database = hsaco.open(LINES)
        self.kernel = self.database.kernel(KERNEL_ONE)

    def test_listing_decodes_nothing_and_a_kernel_is_decoded_once(self) -> None:
        for kernel in self.database.kernels:
            self.assertTrue(kernel.name and kernel.resources and kernel.code)
        self.assertEqual(self.database.counts.decoded_kernels, 0)
        for _ in range(2):
            self.assertTrue(self.kernel.instructions)
        counts = self.database.counts
        self.assertEqual((counts.decoded_kernels, counts.decoded_bytes), (1, 152))

    def test_what_a_kernel_is(self) -> None:
        kernel = self.kernel
        self.assertEqual(kernel.demangled, "space::kernel_one(float*, vec::Pair<float> const*, int)")
        self.assertEqual((kernel.entry, kernel.size, kernel.target), (0x2100, 152, "gfx942"))
        self.assertEqual(kernel.object, self.database.objects[0])
        self.assertEqual(kernel.resources["vgprs"], 7)
        self.assertEqual(kernel.resources["kernarg_size"], 20)
        self.assertEqual(
            repr(kernel), f"<Kernel {kernel.demangled}: {LINES}#0, gfx942>"
        )
        row = kernel.to_dict()
        self.assertEqual((row["name"], row["object"], row["sgprs"]), (KERNEL_ONE, 0, 39))

    def test_arguments_are_the_metadatas(self) -> None:
        arguments = self.kernel.arguments
        assert arguments is not None
        self.assertEqual(
            [(it.offset, it.size, it.kind, it.hidden) for it in arguments],
            [(0, 8, "global_buffer", False), (8, 8, "global_buffer", False), (16, 4, "by_value", False)],
        )
        self.assertEqual(arguments[0].address_space, "global")
        self.assertEqual(arguments[2].to_dict()["size"], 4)
        self.assertIsNone(hsaco.open(fixture("s1.no-note.co")).kernels[0].arguments)

    def test_arguments_have_types_members_and_rows(self) -> None:
        arguments = hsaco.open(LINES).kernel(KERNEL_TWO).typed_arguments()
        explicit = [it for it in arguments if not it.hidden]
        self.assertEqual([it.type for it in explicit], ["float *", "vec::Pair<float>"])
        self.assertEqual([it.source for it in explicit], ["both", "both"])
        assert explicit[0].pointee is not None and explicit[1].members is not None
        self.assertEqual(explicit[0].pointee.type, "float")
        row = explicit[1].to_dict()
        self.assertEqual([it["offset"] for it in row["members"]], [0, 4])
        self.assertEqual(row["pointee"], None)
        self.assertTrue(all(it.offset is not None for it in arguments))

    def test_instructions_are_all_there_in_program_order(self) -> None:
        for kernel in hsaco.open([LINES, fixture("s1.gfx1250.co"), fixture("mangled.co")]).kernels:
            self.assertEqual(b"".join(it.bytes for it in kernel.instructions), kernel.code)
            address = kernel.entry
            for instruction in kernel.instructions:
                self.assertEqual(instruction.address, address)
                address = instruction.address + instruction.size

    def test_blocks_cover_the_kernel_and_know_their_neighbours(self) -> None:
        for kernel in hsaco.open([LINES, fixture("mangled.co"), fixture("s1.gfx942.co")]).kernels:
            every = [it for block in kernel.blocks for it in block.instructions]
            self.assertEqual(every, list(kernel.instructions))
            self.assertEqual(kernel.blocks[0].start, kernel.entry)
            for block in kernel.blocks:
                self.assertEqual(block.end - block.start, sum(it.size for it in block.instructions))
                for following in block.successors:
                    self.assertIn(block, following.predecessors)
                if not block.successors:
                    self.assertIsNotNone(block.exit)
        self.assertEqual(repr(self.kernel.blocks[0])[:8], "<Block 0")

    def test_lines_keep_their_files_apart(self) -> None:
        kernel = self.database.kernel(KERNEL_TWO)
        files = {Path(file).name for file, _ in kernel.lines}
        self.assertEqual(files, {"elsewhere.cuh", "lines-two.hip", "lines.h"})
        self.assertEqual(kernel.lines, sorted(set(kernel.lines)))
        found = self.database.code_of_line("elsewhere.cuh", 270)
        self.assertTrue(found)
        for code_object, addresses in found:
            self.assertEqual(code_object, kernel.object)
            self.assertIsInstance(addresses, range)
        self.assertEqual(self.database.code_of_line("lines-two.hip", 270), [])
        self.assertLess(len(self.database.code_of_line("elsewhere.cuh", 270, 10)), len(found))

    def test_without_debug_information_there_is_all_but_lines(self) -> None:
        for kernel in hsaco.open(fixture("mangled.co")).kernels:
            self.assertEqual(kernel.lines, [])
            for instruction in kernel.instructions:
                self.assertIsNone(instruction.line)
                self.assertEqual(instruction.frames, [])

    def test_an_unknown_target_is_refused_the_same_each_time(self) -> None:
        content = bytearray(Path(fixture("s1.gfx942.co")).read_bytes())
        content[48] = 0xFE
        kernel = hsaco.open(content).kernels[0]
        messages = set()
        for _ in range(2):
            with self.assertRaises(hsaco.Error) as caught:
                kernel.instructions
            self.assertEqual(caught.exception.kind, "unsupported")
            messages.add(str(caught.exception))
        self.assertEqual(len(messages), 1)


class Instructions(unittest.TestCase):
    def setUp(self) -> None:
        self.database = hsaco.open(LINES)
        self.kernel = self.database.kernel(KERNEL_ONE)

    def test_what_an_instruction_is(self) -> None:
        first = self.kernel.instructions[0]
        self.assertEqual((first.index, first.address, first.size), (0, 0x2100, 8))
        self.assertEqual((first.mnemonic, first.base_mnemonic), ("s_load_dword", "s_load_dword"))
        self.assertEqual(first.text, f"s_load_dword {', '.join(first.operands)}")
        self.assertEqual(first.memory, hsaco.Memory("scalar", "load", 4, None))
        self.assertEqual(first.kernel, self.kernel)
        self.assertEqual((Path(str(first.file)).name, first.line), ("lines.hip", 15))
        self.assertEqual(repr(first), f"<Instruction 0x2100: {first.text}>")
        self.assertEqual(str(first), first.text)

    def test_branches_say_where_they_go(self) -> None:
        targets = [it.branch_target for it in self.kernel.instructions if it.branch_target]
        self.assertTrue(targets)
        starts = {block.start for block in self.kernel.blocks}
        self.assertLessEqual(set(targets), starts)

    def test_frames_are_the_inlined_calls(self) -> None:
        frames = max((it.frames for it in self.kernel.instructions), key=len)
        self.assertGreater(len(frames), 1)
        self.assertEqual(frames[-1].function, KERNEL_ONE)
        self.assertEqual(frames[-1].demangled, self.kernel.demangled)

    def test_rows_are_plain(self) -> None:
        for instruction in self.kernel.instructions:
            row = instruction.to_dict()
            self.assertEqual(row["bytes"], instruction.bytes.hex())
            self.assertEqual(row["mnemonic"], instruction.mnemonic)
            self.assertEqual(row["operands"], instruction.operands)
            self.assertEqual(row["modifiers"], instruction.modifiers)
            self.assertEqual(row["text"], instruction.text)
            self.assertEqual((row["file"], row["line"]), (instruction.file, instruction.line))
            memory = instruction.memory
            self.assertEqual(row["memory_space"], memory and memory.space)
            self.assertEqual(row["memory_width"], memory and memory.width)

    def test_equality_is_identity(self) -> None:
        again = self.database.kernel(KERNEL_ONE)
        self.assertEqual(again.instructions[3], self.kernel.instructions[3])
        self.assertNotEqual(again.instructions[3], self.kernel.instructions[4])
        other = hsaco.open(LINES).kernel(KERNEL_ONE)
        self.assertNotEqual(other, self.kernel)
        self.assertNotEqual(other.instructions[3], self.kernel.instructions[3])
        self.assertNotEqual(self.kernel, KERNEL_ONE)


class Code(unittest.TestCase):
    def test_assembly_and_back(self) -> None:
        text = "v_add_u32_e32 v3, v1, v2 ; sum\n\ns_endpgm // end\n"
        code = hsaco.assemble(text, "gfx942")
        self.assertEqual(code.hex(), "01050668000081bf")
        listing = hsaco.disassemble(code, "gfx942", address=0x100)
        self.assertEqual([it.text for it in listing], ["v_add_u32_e32 v3, v1, v2", "s_endpgm"])
        self.assertEqual([it.address for it in listing], [0x100, 0x104])
        self.assertEqual((listing[0].mnemonic, listing[0].base_mnemonic), ("v_add_u32_e32", "v_add_u32"))
        self.assertIsNone(listing[0].kernel)
        self.assertEqual(listing[0], listing[0])
        self.assertEqual(len(set(listing)), 2)

    def test_modifiers_are_no_operands(self) -> None:
        code = hsaco.assemble("global_load_dword v1, v2, s[4:5] offset:16", "gfx90a:xnack-")
        (load,) = hsaco.disassemble(code, "gfx90a")
        self.assertEqual((load.operands, load.modifiers), (["v1", "v2", "s[4:5]"], ["offset:16"]))
        self.assertEqual(load.memory, hsaco.Memory("global", "load", 4, None))

    def test_a_word_that_is_no_instruction_is_shown_as_one(self) -> None:
        (word,) = hsaco.disassemble(b"\xff\xff\xff\xff", "gfx942")
        self.assertEqual((word.mnemonic, word.operands), (".long", ["0xffffffff"]))

    def test_what_does_not_assemble_says_where(self) -> None:
        with self.assertRaises(hsaco.AssemblyError) as caught:
            hsaco.assemble("s_endpgm\ns_nop s1\n", "gfx942")
        self.assertEqual((caught.exception.line, caught.exception.column), (2, 7))
        self.assertEqual(caught.exception.kind, "syntax")
        self.assertIsInstance(caught.exception, ValueError)

    def test_bytes_that_are_no_whole_word_are_told_as_the_command_tells_them(self) -> None:
        for code, text in (
            (b"\1\2\3", ".byte 0x01, 0x02, 0x03"),
            (b"\xff", ".byte 0xff"),
            (b"\xff\xff\xff\xff", ".long 0xffffffff"),
        ):
            (only,) = hsaco.disassemble(code, "gfx942")
            mnemonic, operands = text.split(" ", 1)
            self.assertEqual((only.text, only.bytes, only.size), (text, code, len(code)))
            self.assertEqual((only.mnemonic, only.base_mnemonic), (mnemonic, mnemonic))
            self.assertEqual((only.operands, only.modifiers), (operands.split(", "), []))
            self.assertEqual(hsaco.assemble(only.text, "gfx942"), code)
        whole, tail = hsaco.disassemble(b"\0\0\x81\xbf\1\2", "gfx942")
        self.assertEqual((whole.text, tail.text), ("s_endpgm", ".byte 0x01, 0x02"))

    def test_targets_are_checked(self) -> None:
        for target, kind in (("gfx943", "not-recognised"), ("gfx600", "unsupported")):
            with self.assertRaises(hsaco.Error) as caught:
                hsaco.disassemble(b"", target)
            self.assertEqual(caught.exception.kind, kind)
        with self.assertRaises(ValueError):
            hsaco.disassemble(bytes(8), "gfx942", address=2**64 - 4)

    def test_names_are_demangled(self) -> None:
        self.assertEqual(hsaco.demangle("_Z4slowf"), "slow(float)")
        self.assertEqual(hsaco.demangle("main"), "main")


if __name__ == "__main__":
    unittest.main()
