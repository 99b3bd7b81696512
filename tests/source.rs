//! Source places of every instruction, against llvm-symbolizer.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use hsaco::dwarf::{DebugSections, Frame, SourceMap};
use hsaco::object::CodeObject;
use hsaco_tests::program::{hsaco_command, run, sh, with_input};
use hsaco_tests::random::Random;
use hsaco_tests::{corpus_file, fixture, scratch_dir};
use serde_json::Value;

/// The objects of `lines.hip` and `lines-two.hip`.
const FORMS: [&str; 5] = ["dwarf5", "dwarf4", "tables", "zlib", "zstd"];

/// What is known of a place: function, file, line, column; nothing is empty and zero.
type Place = (String, String, u64, u64);

/// Row B10 of docs/kerneldb.md.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn fixtures_come_from_where_llvm_symbolizer_says() {
    for form in FORMS {
        let found = check(&fixture(&format!("lines.{form}.co")));
        assert!(found.placed > 100 && found.inlined > 10, "{form}: {found:?}");
    }
}

/// Row C8 of docs/kerneldb.md.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
#[cfg_attr(not(corpus), ignore = "needs `cargo xtask corpus`")]
fn triton_kernels_come_from_where_llvm_symbolizer_says() {
    let stamp = corpus_file("triton/fetched.txt");
    let files = fs::read_dir(stamp.parent().unwrap()).unwrap().map(|it| it.unwrap().path());
    let objects = files.filter(|it| it.extension().is_some_and(|it| it == "co"));
    let placed: usize = objects.map(|it| check(&it).placed).sum();
    assert!(placed > 10_000, "{placed}");
}

/// Types in units of their own have a line table, the same one, and no code.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn types_apart_do_not_hide_where_code_comes_from() {
    for name in ["types.units.co", "types.units4.co"] {
        let found = check(&fixture(name));
        assert!(found.placed > 100, "{name}: {found:?}");
    }
}

/// A kernel with a loop, and a function that is inlined into it.
const SPLIT: &str = "
static int twice(int x) { return x * 2; }
__attribute__((amdgpu_kernel, visibility(\"protected\")))
void kernel_one(__attribute__((address_space(1))) int *out, int n) {
  out[0] = twice(n);
  for (int i = 0; i < n; i++)
    out[i] += i;
}
";

/// What the command says of lines, without what has the file's name in it.
fn lines_of(folder: &Path, file: &str) -> String {
    let ran = run(hsaco_command().current_dir(folder).args(["lines", file]));
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{file}");
    ran.text().lines().skip(2).map(|line| format!("{line}\n")).collect()
}

/// The remarks of a listing: functions and source lines.
fn remarks(folder: &Path, command: &mut Command) -> Vec<String> {
    let ran = run(command.current_dir(folder));
    assert_eq!(ran.code, Some(0), "{command:?}: {}", ran.stderr);
    ran.text().lines().filter(|line| line.starts_with("; ")).map(str::to_owned).collect()
}

/// What stays in the object when debug information goes to a file of its own has the line table.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn skeletons_of_split_debug_information_have_lines() {
    let scratch = scratch_dir();
    let folder = scratch.path();
    fs::write(folder.join("split.c"), SPLIT).unwrap();
    let compile = "clang-22 -x c --target=amdgcn-amd-amdhsa -mcpu=gfx942 -nogpulib -O2";
    for version in [4, 5] {
        for sections in ["", "-ffunction-sections"] {
            sh(folder, &format!("{compile} -gdwarf-{version} {sections} -c split.c -o whole.o"));
            sh(folder, "ld.lld-22 -shared whole.o -o whole.co");
            for split in ["split", "single"] {
                let options = format!("-gdwarf-{version} -gsplit-dwarf={split} {sections}");
                sh(folder, &format!("{compile} {options} -c split.c -o split.o"));
                sh(folder, "ld.lld-22 -shared split.o -o split.co");
                for form in ["o", "co"] {
                    let (part, whole) = (format!("split.{form}"), format!("whole.{form}"));
                    let lines = lines_of(folder, &part);
                    assert!(lines.contains("split.c:7:"), "{options} {form}: {lines}");
                    assert_eq!(lines, lines_of(folder, &whole), "{options} {form}");
                }
                let ours =
                    remarks(folder, hsaco_command().args(["disasm", "-l", "-S", "split.co"]));
                let mut objdump = Command::new("llvm-objdump-22");
                let theirs = remarks(folder, objdump.args(["-d", "-l", "-S", "split.co"]));
                assert_eq!(ours, theirs, "{options}");
                assert!(ours.len() > 8, "{ours:?}");
            }
        }
    }
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn line_tables_that_have_lost_their_units_have_lines() {
    let scratch = scratch_dir();
    let folder = scratch.path();
    for form in FORMS {
        fs::copy(fixture(&format!("lines.{form}.co")), folder.join("whole.co")).unwrap();
        sh(folder, "llvm-objcopy-22 --remove-section .debug_info whole.co part.co");
        assert_eq!(lines_of(folder, "part.co"), lines_of(folder, "whole.co"), "{form}");
    }
}

/// Where the loops of an object's kernels begin, where most registers are live, and the lines of their code.
fn places_of_loops(folder: &Path, name: &str) -> BTreeMap<String, Vec<Value>> {
    let words = ["source", "--hot", "--format", "json", name];
    let ran = run(hsaco_command().current_dir(folder).args(words));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let answer: Value = serde_json::from_str(ran.text()).unwrap();
    let place = |it: &Value| serde_json::json!([it["file"], it["line"]]);
    let of_kernel = |kernel: &Value| {
        let loops = || kernel["loops"].as_array().unwrap().iter();
        let stretches = kernel["stretches"].as_array().unwrap().iter();
        let stretches = stretches.chain(loops().flat_map(|it| it["stretches"].as_array().unwrap()));
        let peaks = loops().map(|it| &it["live"]["vgprs"]);
        let places = loops().chain(peaks).chain(stretches).map(place).collect();
        (kernel["name"].as_str().unwrap().to_owned(), places)
    };
    answer["files"][0]["objects"][0]["kernels"].as_array().unwrap().iter().map(of_kernel).collect()
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn loops_of_an_object_that_is_not_linked_have_the_lines_of_the_linked_one() {
    let scratch = scratch_dir();
    let folder = scratch.path();
    let kernel = |name: &str| {
        format!(
            "kernel void {name}(global int *out, int n) {{\n  int sum = 0;\n\
             #pragma unroll 1\n  for (int i = 0; i < n; i++)\n    sum += out[i] * i;\n  out[n] = sum;\n}}\n"
        )
    };
    fs::write(folder.join("loops.cl"), ["one", "two", "three"].map(kernel).concat()).unwrap();
    let compile = "clang-22 -x cl --target=amdgcn-amd-amdhsa -mcpu=gfx942 -nogpulib -O1 -g";
    for sections in ["-ffunction-sections", "-fno-function-sections"] {
        sh(folder, &format!("{compile} {sections} -c loops.cl -o loops.o"));
        sh(folder, "ld.lld-22 -shared loops.o -o loops.co");
        let linked = places_of_loops(folder, "loops.co");
        assert_eq!(linked.keys().collect::<Vec<_>>(), ["one", "three", "two"]);
        for (name, places) in &linked {
            assert!(places.len() > 4 && places[0][1].is_u64(), "{name}: {places:?}");
        }
        assert_eq!(places_of_loops(folder, "loops.o"), linked, "{sections}");
    }
}

/// A file that is not all there, or not as it was written, is not one that was compiled without -g.
#[test]
fn lines_of_damaged_files_are_an_error() {
    let scratch = scratch_dir();
    let path = scratch.path().join("damaged.co");
    let whole = fs::read(fixture("lines.dwarf5.co")).unwrap();
    let mut damaged: Vec<(String, Vec<u8>)> = Vec::new();
    for size in [whole.len() - 1, 16_000, 15_064, 11_000, 8_000] {
        damaged.push((format!("cut to {size}"), whole[..size].to_vec()));
    }
    for (form, name, at) in [
        ("zlib", ".debug_line", 40),
        ("zstd", ".debug_line", 30),
        ("zstd", ".debug_info", 24),
        ("dwarf5", ".debug_line", 4),
        ("dwarf4", ".debug_line", 4),
        ("dwarf5", ".debug_info", 4),
        ("dwarf5", ".debug_abbrev", 1),
    ] {
        let mut file = fs::read(fixture(&format!("lines.{form}.co"))).unwrap();
        let start = {
            let object = CodeObject::parse(&file).unwrap();
            object.elf().section_named(name).unwrap().offset as usize
        };
        file[start + at..start + at + 8].fill(0xff);
        damaged.push((format!("{form} {name}"), file));
    }
    for (what, file) in damaged {
        fs::write(&path, file).unwrap();
        for words in [
            &["lines"][..],
            &["lines", "--format", "json"],
            &["disasm", "-l"],
            &["disasm", "-S"],
            &["source"],
            &["query", "--at", "lines.h:12"],
        ] {
            let ran = run(hsaco_command().args(words).arg(&path));
            assert_eq!(ran.code, Some(2), "{what}: {words:?}: {}{}", ran.text(), ran.stderr);
            assert!(ran.stderr.contains("0x"), "{what}: {words:?}: {}", ran.stderr);
            assert!(!ran.text().contains("compile with"), "{what}: {words:?}: {}", ran.text());
        }
    }
}

/// Bytes of the debug sections changed at random: errors or other answers, never a panic.
/// Row B16 of docs/kerneldb.md.
#[test]
fn broken_debug_sections_do_no_harm() {
    let mut random = Random::new(5);
    for form in FORMS {
        let mut file = fs::read(fixture(&format!("lines.{form}.co"))).unwrap();
        let debug: Vec<_> = {
            let elf = CodeObject::parse(&file).unwrap().elf().clone();
            let sections =
                elf.sections().iter().filter(|it| it.name.to_string().starts_with(".debug"));
            sections.map(|it| (it.offset as usize, it.size as usize)).collect()
        };
        for _ in 0..400 {
            let (start, size) = random.pick(&debug);
            let at = start + random.below(size);
            let before = std::mem::replace(&mut file[at], random.bits() as u8);
            ask_everything(&file);
            if random.below(4) != 0 {
                file[at] = before;
            }
        }
    }
}

fn ask_everything(file: &[u8]) {
    let object = CodeObject::parse(file).unwrap();
    let Ok(sections) = DebugSections::new(&object, 1 << 20) else { return };
    let Ok(map) = SourceMap::new(&sections) else { return };
    for address in (0x1f00..0x2a00).step_by(64) {
        let _ = map.frames(&sections, address);
    }
    let _ = map.stretches(&sections);
}

#[derive(Debug, Default)]
struct Found {
    placed: usize,
    inlined: usize,
}

/// Compares every word of an object's code.
fn check(path: &Path) -> Found {
    let file = fs::read(path).unwrap();
    let object = CodeObject::parse(&file).unwrap();
    let section = object.elf().section_named(".text").unwrap();
    let addresses: Vec<u64> =
        (section.address..section.address + section.size).step_by(4).collect();
    let sections = DebugSections::new(&object, 1 << 30).unwrap();
    let map = SourceMap::new(&sections).unwrap();
    let mut found = Found::default();
    for (address, theirs) in addresses.iter().zip(symbolizer(path, &addresses)) {
        let frames = map.frames(&sections, *address).unwrap();
        found.placed += usize::from(!frames.is_empty());
        found.inlined += usize::from(frames.len() > 1);
        let mut ours = ours(&frames);
        // llvm-symbolizer takes the outermost name from the symbol: DWARF may lack it, or have it in short.
        if let Some(last) = ours.last_mut() {
            last.0 = symbol_at(&object, *address);
        }
        assert_eq!(ours, theirs, "{}: {address:#x}", path.display());
        let location = map.location(&sections, *address).unwrap();
        assert_eq!(location, frames.first().and_then(|it| it.location));
    }
    found
}

fn symbol_at(object: &CodeObject<'_>, address: u64) -> String {
    let index = object.index();
    let kernels =
        index.kernels().iter().filter_map(|it| Some((it.name(), it.entry()?, it.code_size()?)));
    let functions = index.functions().iter().map(|it| (it.name, it.value, it.size));
    let mut all = kernels.chain(functions);
    let found = all.find(|(_, start, size)| (*start..start + size).contains(&address));
    found.map_or(String::new(), |(name, ..)| name.to_string())
}

fn ours(frames: &[Frame<'_>]) -> Vec<Place> {
    let place = |frame: &Frame<'_>| {
        let function = frame.function.clone().unwrap_or_default();
        let (file, line, column) =
            frame.location.map_or(("", None, None), |it| (it.file, it.line, it.column));
        (function, file.to_owned(), u64::from(line.unwrap_or(0)), u64::from(column.unwrap_or(0)))
    };
    frames.iter().map(place).collect()
}

/// What llvm-symbolizer says; frames without a file are none.
fn symbolizer(path: &Path, addresses: &[u64]) -> Vec<Vec<Place>> {
    let mut command = Command::new("llvm-symbolizer-22");
    command.args(["--inlining", "--no-demangle", "--output-style=JSON", "--obj"]).arg(path);
    let input = addresses.iter().map(|address| format!("{address:#x}\n")).collect::<String>();
    let output = with_input(&mut command, input).unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<_> =
        text.lines().map(|line| places(&serde_json::from_str(line).unwrap())).collect();
    assert_eq!(answers.len(), addresses.len());
    answers
}

fn places(answer: &Value) -> Vec<Place> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let frames = answer["Symbol"].as_array().unwrap().iter();
    let place = |frame: &Value| {
        (
            text(&frame["FunctionName"]),
            text(&frame["FileName"]),
            frame["Line"].as_u64().unwrap_or(0),
            frame["Column"].as_u64().unwrap_or(0),
        )
    };
    frames.map(place).filter(|place| !place.1.is_empty()).collect()
}
