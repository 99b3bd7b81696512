//! What kernelDB does, does wrong and lacks, each row of `docs/kerneldb.md` that no other test stands for.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod index;
mod lazy;
mod page;
mod watched;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use hsaco::bytes::{Id, number};
use hsaco::compress::Method;
use hsaco::container::ccob;
use hsaco::db::{Database, IndexedKernel, Listing};
use hsaco::isa::decoder::DecodeOptions;
use hsaco::isa::effects::{Access, Memory, Space};
use hsaco::isa::target::WaveSize;
use hsaco::isa::{Assembler, Processor};
use hsaco_tests::program::{Ran, hsaco_command, hsaco_fine, run, sh};
use hsaco_tests::{corpus_file, fixture, fixtures_dir, scratch_dir};
use serde_json::Value;

pub(crate) fn database(files: &[&str]) -> Database {
    let database = Database::new();
    for name in files {
        database.add(name, fs::read(fixture(name)).unwrap()).unwrap();
    }
    database
}

pub(crate) fn names(database: &Database) -> BTreeSet<String> {
    database.kernels().map(|it| it.name().to_string()).collect()
}

pub(crate) fn texts(kernel: &IndexedKernel) -> Vec<String> {
    kernel.instructions().unwrap().map(|it| it.text()).collect()
}

/// An object assembled for gfx942.
pub(crate) fn assembled(source: &str) -> Vec<u8> {
    let folder = scratch_dir();
    fs::write(folder.path().join("a.s"), source).unwrap();
    sh(folder.path(), "llvm-mc-22 -triple=amdgcn-amd-amdhsa -mcpu=gfx942 -filetype=obj a.s -o a.o");
    sh(folder.path(), "ld.lld-22 -shared a.o -o a.co");
    fs::read(folder.path().join("a.co")).unwrap()
}

/// A kernel of some instructions, in assembly.
pub(crate) fn kernel_source(name: &str, code: &str) -> String {
    format!(
        ".text\n.globl {name}\n.p2align 8\n.type {name},@function\n{name}:\n{code}\n.size {name}, .-{name}\n\
         .rodata\n.p2align 6\n.amdhsa_kernel {name}\n.amdhsa_next_free_vgpr 8\n\
         .amdhsa_next_free_sgpr 8\n.amdhsa_accum_offset 8\n.end_amdhsa_kernel\n"
    )
}

/// Row A1 of docs/kerneldb.md.
#[test]
fn code_objects_of_every_generation_open() {
    let mut gfx950 = fs::read(fixture("s1.gfx942.co")).unwrap();
    gfx950[48] = 0x4f;
    let database =
        database(&["s1.gfx90a-xnack-off.co", "s1.gfx942.co", "s1.gfx1100.co", "halves.co"]);
    database.add("gfx950", gfx950).unwrap();
    let targets: Vec<_> =
        database.objects().iter().map(|it| it.target_id().unwrap().processor.name()).collect();
    assert_eq!(targets, ["gfx90a", "gfx942", "gfx1100", "gfx1200", "gfx950"]);
    for kernel in database.kernels() {
        assert!(texts(&kernel).iter().all(|it| !it.contains(".long")), "{kernel:?}");
    }
}

/// Row A2 of docs/kerneldb.md.
#[test]
fn a_host_file_has_the_kernels_of_all_its_units() {
    let whole = database(&["host.so"]);
    let mut union = BTreeSet::new();
    for object in whole.objects() {
        let alone = Database::new();
        alone.add("alone", object.data().unwrap().to_vec()).unwrap();
        union.extend(names(&alone));
    }
    assert_eq!(names(&whole), union);
    let of_unit = |unit: &str| union.iter().any(|it| it.contains(unit));
    assert!(["1", "2", "3", "4", "5"].iter().all(|it| of_unit(it)), "{union:?}");
}

/// Row A3 of docs/kerneldb.md.
#[test]
fn compressed_code_is_the_same_code() {
    for (plain, compressed) in [
        ("host.so", "host-compressed.so"),
        ("plain.bundle", "zstd-v2.bundle"),
        ("plain.bundle", "zstd-v3.bundle"),
        ("plain.bundle", "zlib-v2.bundle"),
    ] {
        let code = |name| -> Vec<(String, Vec<u8>)> {
            let kernel = |it: IndexedKernel| (it.name().to_string(), it.code().unwrap().to_vec());
            database(&[name]).kernels().map(kernel).collect()
        };
        assert!(!code(plain).is_empty());
        assert_eq!(code(plain), code(compressed), "{compressed}");
    }
}

/// Row A5 of docs/kerneldb.md.
#[test]
fn every_instance_of_a_template_is_listed_as_it_was_written() {
    let database = database(&["lines.dwarf5.co"]);
    let mut listed: Vec<_> = database.kernels().map(|it| it.readable_name()).collect();
    listed.sort();
    assert_eq!(
        listed,
        [
            "kernel_two(float*, vec::Pair<float>)",
            "space::kernel_one(float*, vec::Pair<float> const*, int)",
            "void filled<double, 5>(double*, vec::Pair<double>)",
            "void filled<int, 3>(int*, vec::Pair<int>)",
        ]
    );
}

/// Row A7 of docs/kerneldb.md.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn ten_thousand_kernels_are_listed_without_decoding_one() {
    let source: String =
        (0..10_000).map(|at| kernel_source(&format!("k{at}"), "s_nop 0\ns_endpgm")).collect();
    let database = Database::new();
    database.add("many", assembled(&source)).unwrap();
    assert_eq!((names(&database).len(), database.counts().decoded_instructions), (10_000, 0));
    assert_eq!(texts(&database.kernel("k7777").unwrap()), ["s_nop 0", "s_endpgm"]);
    assert_eq!(database.counts().decoded_instructions, 2);
}

/// A kernel that adds vectors has three blocks: the test of the index, the sum, the end.
/// Row A11 of docs/kerneldb.md.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn blocks_are_those_of_the_program() {
    let code = "v_cmp_gt_u32_e32 vcc, s0, v0\ns_and_saveexec_b64 s[2:3], vcc\ns_cbranch_execz end\n\
                v_add_f32_e32 v1, v1, v2\nend:\ns_endpgm";
    let database = Database::new();
    database.add("add", assembled(&kernel_source("vector_add", code))).unwrap();
    let kernel = database.kernel("vector_add").unwrap();
    let blocks = kernel.blocks().unwrap();
    let steps: Vec<_> = blocks.blocks().iter().map(|it| it.steps().len()).collect();
    assert_eq!(steps, [3, 1, 1]);
    let successors = |it| blocks.successors(it).map(Id::index).collect();
    let next: Vec<Vec<usize>> = blocks.blocks().ids().map(successors).collect();
    assert_eq!(next, [vec![1, 2], vec![2], vec![]]);
}

/// Below each source line, marks where its instructions come from.
/// Row A17 of docs/kerneldb.md.
#[test]
fn columns_are_marked_below_their_line() {
    let mut command = hsaco_command();
    command.args(["source", "-k", "kernel_one", "--columns"]);
    command.arg(format!("--map=/src={}", fixtures_dir().join("src").display()));
    let ran = run(command.arg(fixture("lines.dwarf5.co")));
    let lines: Vec<_> = ran.text().lines().collect();
    let at = lines.iter().position(|it| it.starts_with("       16 |")).unwrap();
    let (line, marks) = (lines[at], lines[at + 1]);
    let columns: Vec<_> = marks.char_indices().filter(|it| it.1 == '^').map(|it| it.0).collect();
    assert!(!columns.is_empty(), "{line}\n{marks}");
    assert!(columns.iter().all(|it| !line[*it..].starts_with(' ')), "{line}\n{marks}");
}

/// Row A19 of docs/kerneldb.md.
#[test]
fn what_a_target_has_is_known_without_a_device() {
    let limits = |name| Processor::from_name(name).unwrap().limits();
    let waves = |name| limits(name).wave_sizes().collect::<Vec<_>>();
    assert_eq!(waves("gfx942"), [WaveSize::Wave64]);
    assert_eq!(waves("gfx1100"), [WaveSize::Wave32, WaveSize::Wave64]);
    assert_eq!((limits("gfx942").simds_per_cu, limits("gfx942").max_waves), (4, 8));
}

/// Row B2 of docs/kerneldb.md.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn the_target_is_the_objects() {
    for name in ["s1.gfx1100.co", "s1.gfx90a-xnack-off.co", "s1.gfx1250.co", "mangled.co"] {
        let mut objdump = Command::new("llvm-objdump-22");
        let listed = run(objdump.arg("-d").arg(fixture(name)));
        let listed: BTreeSet<_> = listed.text().lines().filter_map(instruction_of).collect();
        for kernel in database(&[name]).kernels() {
            for instruction in kernel.instructions().unwrap() {
                let ours = (instruction.address(), instruction.text());
                assert!(listed.contains(&ours), "{name}: {ours:?}");
            }
        }
    }
}

/// Address and text of a line of llvm-objdump.
fn instruction_of(line: &str) -> Option<(u64, String)> {
    let (text, comment) = line.split_once("// ")?;
    let address = number::hex(comment.split(':').next()?)?;
    Some((address, text.trim().to_owned()))
}

/// Waves of either size, and halves of registers or whole ones, as each kernel has them.
/// Row B2 of docs/kerneldb.md.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn code_is_decoded_for_the_waves_and_registers_that_it_is_for() {
    for (name, attribute) in [("s1.wave64.co", "+wavefrontsize64"), ("halves.co", "+real-true16")] {
        let mut objdump = Command::new("llvm-objdump-22");
        let attribute = format!("--mattr={attribute}");
        let listed = run(objdump.args(["-d", &attribute]).arg(fixture(name)));
        let listed: BTreeSet<_> = listed.text().lines().filter_map(instruction_of).collect();
        for kernel in database(&[name]).kernels() {
            let needs_halves = name == "halves.co" && kernel.name() == "halved";
            for instruction in kernel.instructions().unwrap() {
                let ours = (instruction.address(), instruction.text());
                assert!(listed.contains(&ours), "{name}: {ours:?}");
            }
            let has_halves = texts(&kernel).iter().any(|it| it.contains(".h"));
            assert_eq!(has_halves, needs_halves, "{kernel:?}");
        }
    }
}

/// Row B9 of docs/kerneldb.md.
#[test]
fn lines_of_one_number_in_two_files_are_two_lines() {
    let database = database(&["lines.dwarf5.co"]);
    let header = database.code_of_line("elsewhere.cuh", 270, None).unwrap();
    assert!(!header.is_empty());
    assert!(database.code_of_line("lines-two.hip", 270, None).unwrap().is_empty());
    let columns = |column| database.code_of_line("elsewhere.cuh", 270, Some(column)).unwrap().len();
    assert!(columns(10) > 0 && columns(10) < header.len() && columns(999) == 0);
}

/// Row B15 of docs/kerneldb.md.
#[test]
fn every_version_of_a_compressed_bundle_is_read_and_beside_others() {
    let plain = fs::read(fixture("plain.bundle")).unwrap();
    let expected = names(&database(&["plain.bundle"]));
    let mut all = plain.clone();
    for version in [1, 2, 3] {
        for method in [Method::Zlib, Method::Zstd] {
            let packed = ccob::write(&plain, version, method, 3).unwrap();
            let database = Database::new();
            database.add("packed", packed.clone()).unwrap();
            assert_eq!(names(&database), expected, "version {version}, {method:?}");
            if version > 1 {
                // Without a size in its header only the last may follow no boundary.
                all.extend([0; 100]);
                all.extend(packed);
            }
        }
    }
    let alone = database(&["plain.bundle"]).kernels().count();
    let database = Database::new();
    database.add("mixed", all).unwrap();
    assert_eq!(database.kernels().count(), 5 * alone);
}

/// Row B21 of docs/kerneldb.md.
#[test]
fn each_target_of_a_bundle_is_listed_and_can_be_picked() {
    let listed = |arguments: &[&str]| -> Vec<String> {
        let file = fixture("plain.bundle");
        let mut command = hsaco_command();
        let ran = run(command.args(["ls", "--format", "json"]).args(arguments).arg(file));
        let answer: Value = serde_json::from_slice(&ran.stdout).unwrap();
        let objects = answer["files"][0]["objects"].as_array().unwrap();
        objects.iter().map(|it| it["target"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(listed(&[]), ["gfx942", "gfx1100"]);
    assert_eq!(listed(&["-t", "gfx1100"]), ["gfx1100"]);
    assert_eq!(listed(&["--device", "gfx942:sramecc+:xnack-"]), ["gfx942"]);
}

fn memory_of(target: &str, line: &str) -> Option<Memory> {
    let processor = Processor::from_name(target).unwrap();
    let assembler = Assembler::new(processor, DecodeOptions::default()).unwrap();
    let inst = assembler.assemble(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    let bytes = inst.bytes()[..inst.len()].to_vec();
    let listing = Listing::decode(assembler.decoder().clone(), 0, bytes);
    listing.instruction(0).unwrap().memory()
}

/// Row C6 of docs/kerneldb.md.
#[test]
fn memory_is_told_by_class_and_width() {
    for (target, line, space, access, bytes) in [
        ("gfx942", "ds_read_b128 v[0:3], v4", Space::Lds, Access::Load, Some(16)),
        ("gfx942", "ds_write_b8 v0, v1", Space::Lds, Access::Store, Some(1)),
        ("gfx942", "ds_add_u64 v0, v[2:3]", Space::Lds, Access::Atomic, Some(8)),
        (
            "gfx942",
            "global_load_dwordx3 v[0:2], v[4:5], off",
            Space::Global,
            Access::Load,
            Some(12),
        ),
        ("gfx942", "global_atomic_add v[0:1], v2, off", Space::Global, Access::Atomic, Some(4)),
        ("gfx942", "flat_store_short v[0:1], v2", Space::Flat, Access::Store, Some(2)),
        ("gfx942", "scratch_load_dword v0, v1, off", Space::Scratch, Access::Load, Some(4)),
        ("gfx942", "s_load_dwordx8 s[0:7], s[8:9], 0x0", Space::Scalar, Access::Load, Some(32)),
        (
            "gfx942",
            "buffer_load_dwordx4 v[0:3], off, s[0:3], 0",
            Space::Buffer,
            Access::Load,
            Some(16),
        ),
        ("gfx1100", "ds_load_b96 v[0:2], v4", Space::Lds, Access::Load, Some(12)),
        (
            "gfx1100",
            "image_load v[0:3], v[4:5], s[0:7] dmask:0xf dim:SQ_RSRC_IMG_2D",
            Space::Image,
            Access::Load,
            None,
        ),
    ] {
        let memory = memory_of(target, line).unwrap_or_else(|| panic!("{line}: no access"));
        assert_eq!((memory.space, memory.access), (space, access), "{line}");
        if bytes.is_some() {
            assert_eq!(memory.bytes, bytes, "{line}");
        }
    }
    assert_eq!(
        memory_of("gfx942", "v_mfma_f32_32x32x8_f16 v[0:15], v[16:17], v[18:19], v[0:15]"),
        None
    );
}

/// Row C9 of docs/kerneldb.md.
#[test]
fn a_line_leads_back_to_all_of_its_code() {
    let database = database(&["lines.dwarf5.co", "lines.zstd.co"]);
    let mut checked = 0;
    for kernel in database.kernels() {
        for instruction in kernel.instructions().unwrap() {
            let Some(place) = instruction.location().unwrap() else { continue };
            let Some(line) = place.line else { continue };
            let found = database.code_of_line(place.file, line, place.column).unwrap();
            let here = |it: &(std::sync::Arc<hsaco::db::Object>, std::ops::Range<u64>)| {
                std::sync::Arc::ptr_eq(&it.0, kernel.object())
                    && it.1.contains(&instruction.address())
            };
            assert!(place.column.is_none() || found.iter().any(here), "{instruction:?}");
            checked += 1;
        }
    }
    assert!(checked > 100, "{checked}");
}

/// Row C10 of docs/kerneldb.md.
#[test]
fn sources_that_moved_are_found() {
    let folder = scratch_dir();
    fs::create_dir(folder.path().join("moved")).unwrap();
    for name in ["lines.hip", "lines.h"] {
        fs::copy(fixtures_dir().join("src").join(name), folder.path().join("moved").join(name))
            .unwrap();
    }
    let source = |moves: &str| -> Ran {
        let mut command = hsaco_command();
        command.args(["source", "-k", "kernel_one", "--map", moves]);
        run(command.arg(fixture("lines.dwarf5.co")))
    };
    let moves = format!("/src={}", folder.path().join("moved").display());
    assert!(source(&moves).text().contains("16 |     total += vec::norm(in[i]);"));
    let nowhere = source("/other=/elsewhere");
    assert!(nowhere.text().contains("   16 |\n") && nowhere.text().contains("not found"));
}

/// Every verb has a test of what it prints.
/// Row C11 of docs/kerneldb.md.
#[test]
fn every_verb_has_a_golden_test() {
    let help = run(hsaco_command().arg("--help"));
    let commands = help.text().lines().skip_while(|it| *it != "Commands:").skip(1);
    let verbs: Vec<_> = commands
        .take_while(|it| !it.is_empty())
        // What is further in goes on with the line before.
        .filter_map(|it| it.strip_prefix("  ").filter(|it| !it.starts_with(' ')))
        .filter_map(|it| it.split_whitespace().next())
        .filter(|it| *it != "help")
        .collect();
    assert!(verbs.len() >= 17, "{verbs:?}");
    let mut tests = String::new();
    for entry in fs::read_dir(fixtures_dir().join("../cli")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|it| it == "test") {
            tests.push_str(&fs::read_to_string(path).unwrap());
        }
    }
    for verb in verbs {
        assert!(tests.contains(&format!("RUN: hsaco {verb}")), "no test of {verb}");
    }
}

/// Row C12 of docs/kerneldb.md.
#[test]
fn what_is_unpacked_is_packed_again_byte_for_byte() {
    for name in ["plain.bundle", "aligned.bundle", "zstd-v3.bundle", "zlib-v2.bundle"] {
        let folder = scratch_dir();
        let (objects, again) = (folder.path().join("objects"), folder.path().join("again"));
        let steps = [
            ["extract".into(), fixture(name).into_os_string(), "-o".into(), objects.clone().into()],
            ["bundle".into(), objects.into(), "-o".into(), again.clone().into()],
        ];
        for step in steps {
            hsaco_fine(step);
        }
        assert_eq!(fs::read(again).unwrap(), fs::read(fixture(name)).unwrap(), "{name}");
    }
}

/// What is not compressed is looked at where it is; `cargo xtask bench` measures the memory that an index takes.
/// Row C18 of docs/kerneldb.md.
#[test]
fn objects_are_parts_of_the_file() {
    for name in ["host.so", "plain.bundle", "offloading.bin", "lines.dwarf5.co"] {
        let file: &'static [u8] = fs::read(fixture(name)).unwrap().leak();
        let database = Database::new();
        database.add(name, hsaco::db::Data::new(file)).unwrap();
        for object in database.objects() {
            assert!(file.as_ptr_range().contains(&object.data().unwrap().as_ptr()), "{name}");
        }
        for kernel in database.kernels() {
            assert!(file.as_ptr_range().contains(&kernel.code().unwrap().as_ptr()), "{name}");
        }
    }
}

/// Row C19 of docs/kerneldb.md.
#[test]
fn code_is_found_wherever_it_is() {
    for (name, count) in [("host.a", 4), ("host-offloading.o", 2), ("offloading.bin", 2)] {
        assert_eq!(database(&[name]).objects().len(), count, "{name}");
    }
    let ls = |input: &str| -> Vec<Value> {
        let ran = run(hsaco_command().args(["ls", "--format", "json", input]));
        let answer: Value = serde_json::from_slice(&ran.stdout).unwrap();
        answer["files"].as_array().unwrap().clone()
    };
    let rdc = ls(&fixture("host-rdc.o").display().to_string());
    assert_eq!(rdc[0]["objects"][0]["type"], "bitcode");
    let bundle = fixture("plain.bundle");
    let objects = ls(&bundle.display().to_string());
    let (offset, size) = (&objects[0]["objects"][0]["offset"], &objects[0]["objects"][0]["size"]);
    let uri = format!("file://{}#offset={offset}&size={size}", bundle.display());
    assert_eq!(ls(&uri)[0]["objects"][0]["target"], "gfx942");
    assert!(ls(&fixtures_dir().display().to_string()).len() > 40);
}

/// Triton keeps a code object and what it knows of it side by side.
/// Row C19 of docs/kerneldb.md.
#[test]
#[cfg_attr(not(corpus), ignore = "needs `cargo xtask corpus`")]
fn kernels_of_triton_are_found() {
    let file = corpus_file("triton/add.gfx942.co");
    let database = Database::new();
    database.add("triton", fs::read(file).unwrap()).unwrap();
    assert!(database.kernels().all(|it| it.instructions().unwrap().len() > 10));
}

fn query(arguments: &[&str], file: &Path) -> BTreeSet<u64> {
    let mut command = hsaco_command();
    let ran = run(command.args(["query", "--format", "json"]).args(arguments).arg(file));
    let answer: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let functions = answer["files"][0]["objects"][0]["functions"].as_array().unwrap().clone();
    let of_function = |it: &Value| it["instructions"].as_array().unwrap().clone();
    functions.iter().flat_map(of_function).map(|it| it["address"].as_u64().unwrap()).collect()
}

/// Row C21 of docs/kerneldb.md.
#[test]
fn questions_of_class_width_and_line_find_what_the_database_has() {
    let database = database(&["lines.dwarf5.co"]);
    let file = fixture("lines.dwarf5.co");
    let chosen = |wanted: &dyn Fn(&hsaco::db::Instruction<'_>) -> bool| -> BTreeSet<u64> {
        let mut found = BTreeSet::new();
        for kernel in database.kernels() {
            let all = kernel.instructions().unwrap();
            found.extend(all.filter(|it| wanted(it)).map(|it| it.address()));
        }
        found
    };
    let in_kernels = ["-k", "."];
    let ask = |arguments: &[&str]| query(&[&in_kernels[..], arguments].concat(), &file);
    let is_wide = |it: &Memory| it.bytes == Some(16);
    assert_eq!(
        ask(&["--class", "load", "--width", "16"]),
        chosen(&|it| { it.memory().is_some_and(|it| it.access == Access::Load && is_wide(&it)) })
    );
    assert_eq!(
        ask(&["--mnemonic", "^global_store"]),
        chosen(&|it| { it.full_mnemonic().starts_with("global_store") })
    );
    let at = |it: &hsaco::db::Instruction<'_>| {
        it.location().unwrap().is_some_and(|it| it.is_at("lines.h", 12, None))
    };
    assert_eq!(ask(&["--at", "lines.h:12"]), chosen(&at));
    assert!(!ask(&["--at", "lines.h:12"]).is_empty());
}
