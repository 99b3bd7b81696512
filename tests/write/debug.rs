//! Debug information of appended code, held against llvm-symbolizer and llvm-dwarfdump.

use std::path::Path;

use hsaco::dwarf::{MovedCode, MovedDebug, add_debug};
use hsaco::elf::symbol::{Binding, STT_FUNC, Visibility};
use hsaco::object::CodeObject;
use hsaco::object::write::{Access, Edit, NewSymbol};
use hsaco_tests::program::sh;
use hsaco_tests::scratch_dir;

use super::edit::assert_nothing_moved;
use super::{assert_as_clean_as, fixture, says};

/// An object with a piece of code appended for every fourth instruction of every function, and
/// where each piece is.
fn with_moved_code(file: &[u8]) -> (Vec<u8>, Vec<MovedCode>, MovedDebug) {
    let object = CodeObject::parse(file).unwrap();
    let index = object.index();
    let kernels = index.kernels().iter().filter_map(|it| Some((it.entry()?, it.code_size()?)));
    let functions = index.functions().iter().map(|it| (it.value, it.size));
    let mut edit = Edit::new(file).unwrap();
    let base = edit.next_address().unwrap();
    let mut moved = Vec::new();
    for (start, size) in kernels.chain(functions) {
        for original in (start..start + size).step_by(16) {
            // Pieces that touch, and pieces that do not.
            let number = moved.len() as u64;
            moved.push(MovedCode {
                address: base + number * 32 + number % 2 * 8,
                size: 24,
                original,
            });
        }
    }
    let placed = edit.append(".text.hsaco", Access::Code, &vec![0; moved.len() * 32 + 8]).unwrap();
    assert_eq!(placed.address, base);
    for (code, number) in moved.iter().zip(0..) {
        edit.add_symbol(NewSymbol {
            name: format!("site.{number}").into_bytes(),
            value: code.address,
            size: code.size,
            kind: STT_FUNC,
            binding: Binding::Local,
            visibility: Visibility::Default,
            section: placed.section.unwrap(),
        });
    }
    let debug = add_debug(&mut edit, &moved).unwrap();
    (edit.finish().unwrap(), moved, debug)
}

/// What `llvm-dwarfdump --verify` complains about.
fn complaints(folder: &Path, bytes: &[u8]) -> Vec<String> {
    let (out, error) = says("llvm-dwarfdump-22", &["--verify"], folder, bytes);
    let text = out + &error;
    let bad = text.lines().filter(|it| it.contains("error") || it.contains("warning"));
    bad.map(str::to_owned).collect()
}

/// Function and place of addresses, as llvm-symbolizer says them.
fn symbolized(folder: &Path, addresses: &[u64]) -> Vec<(String, String)> {
    let list: Vec<_> = addresses.iter().map(|it| format!("{it:#x}")).collect();
    let text =
        sh(folder, &format!("llvm-symbolizer-22 --no-inlines --obj=object {}", list.join(" ")));
    let found: Vec<_> = text
        .split("\n\n")
        .filter(|it| !it.trim().is_empty())
        .map(|it| {
            let mut lines = it.trim().lines().map(str::to_owned);
            (lines.next().unwrap(), lines.next().unwrap())
        })
        .collect();
    assert_eq!(found.len(), addresses.len());
    found
}

fn check(name: &str, file: &[u8]) {
    let folder = scratch_dir();
    let folder = folder.path();
    let (new, moved, debug) = with_moved_code(file);
    assert!(!moved.is_empty());
    assert_eq!(debug.lines, moved.len(), "{name}");
    assert_nothing_moved(file, &new, name);
    assert_as_clean_as(&new, file, folder, name);
    assert_eq!(complaints(folder, &new), complaints(folder, file), "{name}");
    std::fs::write(folder.join("object"), &new).unwrap();
    let original = symbolized(folder, &moved.iter().map(|it| it.original).collect::<Vec<_>>());
    for into in [0, 20] {
        let places: Vec<_> = moved.iter().map(|it| it.address + into).collect();
        for (((function, place), (_, expected)), number) in
            symbolized(folder, &places).into_iter().zip(&original).zip(0..)
        {
            assert_eq!((function, &place), (format!("site.{number}"), expected), "{name}");
        }
    }
    // What was there says what it said.
    std::fs::write(folder.join("object"), file).unwrap();
    assert_eq!(
        symbolized(folder, &moved.iter().map(|it| it.original).collect::<Vec<_>>()),
        original
    );
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn moved_code_has_the_line_of_its_original() {
    for name in [
        "lines.dwarf4.co",
        "lines.dwarf5.co",
        "lines.tables.co",
        "lines.zlib.co",
        "lines.zstd.co",
        "types.units.co",
    ] {
        check(name, &fixture(name));
    }
}

/// A unit of one range says so by two numbers, which become a list.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn units_of_one_range_and_of_many() {
    let folder = scratch_dir();
    let folder = folder.path();
    let source = |name: &str| {
        format!(
            "__attribute__((noinline)) int {name}_help(int x) {{\n  return x * x + 3;\n}}\n\
         __attribute__((amdgpu_kernel)) void {name}(__attribute__((address_space(1))) int *p) {{\n  \
         p[0] = {name}_help(p[1]);\n  p[2] = 4;\n}}\n"
        )
    };
    for name in ["one", "two"] {
        std::fs::write(folder.join(format!("{name}.c")), source(name)).unwrap();
    }
    for version in [4, 5] {
        for more in ["", "-ffunction-sections", "-gdwarf64", "-gdwarf-aranges"] {
            for name in ["one", "two"] {
                sh(
                    folder,
                    &format!(
                        "clang-22 -x c --target=amdgcn-amd-amdhsa -mcpu=gfx942 -nogpulib -O1 -gdwarf-{version} {more} -c {name}.c -o {name}.o"
                    ),
                );
            }
            sh(folder, "ld.lld-22 -shared one.o two.o -o both.co");
            let file = std::fs::read(folder.join("both.co")).unwrap();
            check(&format!("DWARF {version} {more}"), &file);
        }
    }
}

/// Every piece has the rules that are in force at its original.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn moved_code_has_frame_descriptions() {
    let folder = scratch_dir();
    for name in ["lines.dwarf4.co", "lines.dwarf5.co"] {
        let file = fixture(name);
        let (new, moved, debug) = with_moved_code(&file);
        assert_eq!(debug.frames, moved.len(), "{name}");
        let (text, complaints) = says("llvm-dwarfdump-22", &["--debug-frame"], folder.path(), &new);
        assert_eq!(complaints, "");
        for code in &moved {
            let range = format!("pc={:08x}...{:08x}", code.address, code.address + code.size);
            assert!(text.contains(&range), "{name}: {range} in {text}");
        }
    }
}

/// Rows of the table that says how to unwind from addresses.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn rules_are_those_at_the_original_address() {
    let folder = scratch_dir();
    let folder = folder.path();
    let source = ".text\n.globl f\n.p2align 8\n.type f,@function\nf:\n.cfi_sections .debug_frame\n.cfi_startproc\n.cfi_def_cfa 32, 0\n\
                  s_nop 0\n.cfi_def_cfa_offset 16\ns_nop 1\n.cfi_offset 16, -8\n.cfi_remember_state\ns_nop 2\n\
                  .cfi_def_cfa_offset 32\ns_nop 3\n.cfi_restore_state\ns_setpc_b64 s[30:31]\n.cfi_endproc\n.size f,.-f\n";
    std::fs::write(folder.join("f.s"), source).unwrap();
    sh(folder, "llvm-mc-22 --triple=amdgcn-amd-amdhsa -mcpu=gfx942 -filetype=obj f.s -o f.o");
    sh(folder, "ld.lld-22 -shared f.o -o f.co");
    let file = std::fs::read(folder.join("f.co")).unwrap();
    let start = CodeObject::parse(&file).unwrap().index().functions()[0].value;
    let mut edit = Edit::new(&file).unwrap();
    let placed = edit.append(".text.hsaco", Access::Code, &[0; 256]).unwrap();
    let moved: Vec<_> = (0..5)
        .map(|at| MovedCode {
            address: placed.address + at * 16,
            size: 16,
            original: start + at * 4,
        })
        .collect();
    assert_eq!(add_debug(&mut edit, &moved).unwrap(), MovedDebug { lines: 0, frames: 5 });
    let new = edit.finish().unwrap();
    let text = says("llvm-dwarfdump-22", &["--debug-frame"], folder, &new).0;
    let rule = |address: u64| {
        let line =
            text.lines().rev().find(|it| it.trim_start().starts_with(&format!("0x{address:x}: ")));
        line.map(|it| it.split_once(": ").unwrap().1.to_owned())
    };
    for code in &moved {
        assert!(rule(code.original).is_some(), "{text}");
        assert_eq!(rule(code.address), rule(code.original), "{text}");
    }
}
