//! Host files of Linux and Windows whose device code grew: who looks for it as the runtime does finds it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use hsaco_tests::program::{self, run, sh};
use hsaco_tests::scratch_dir;

use super::container::{changed, check, grown, listed};
use super::{fixture, says};

/// Device code of two bundles, each with the structure through which the runtime finds it.
const TWO_BUNDLES: &str = r#"
struct wrapper { unsigned magic, version; const void *binary; void *unused; };
extern const char first[], second[];
__asm__(
#ifdef _WIN32
    ".section .hip_fatbin,\"dr\"\n"
#else
    ".section .hip_fatbin,\"a\",@progbits\n.hidden first\n.hidden second\n"
#endif
    ".p2align 12\n.globl first\nfirst:\n.incbin \"plain.bundle\"\n"
    ".p2align 12\n.globl second\nsecond:\n.incbin \"plain.bundle\"\n.text\n");
__attribute__((section(".hipFatBinSegment"), used))
const struct wrapper wrappers[2] = { { 0x48495046, 1, first, 0 }, { 0x48495046, 1, second, 0 } };
"#;

/// Prints a hash of all code of each bundle.
const SHOW: &str = r#"
#include <stdio.h>
#include <string.h>
static void show(const char *start) {
    unsigned long long row[3], count, at = 32, hash = 5381;
    memcpy(&count, start + 24, 8);
    for (unsigned long long i = 0; i < count; i++) {
        memcpy(row, start + at, 24);
        for (unsigned long long j = 0; j < row[1]; j++)
            hash = hash * 33 + (unsigned char)start[row[0] + j];
        at += 24 + row[2];
    }
    printf("%.24s %llx\n", start, hash);
}
int main(void) {
    for (int i = 0; i < 2; i++) show(*(const char *const volatile *)&wrappers[i].binary);
    return 0;
}
"#;

/// What the program prints of a file with two bundles.
fn shown(file: &[u8]) -> String {
    let entries: Vec<Vec<u8>> = listed(file).into_iter().map(|it| it.2).collect();
    let (first, second) = entries.split_at(entries.len() / 2);
    let hash = |entries: &[Vec<u8>]| {
        let bytes = entries.iter().flatten();
        bytes.fold(5381_u64, |hash, &byte| hash.wrapping_mul(33).wrapping_add(byte.into()))
    };
    let line = |entries| format!("__CLANG_OFFLOAD_BUNDLE__ {:x}\n", hash(entries));
    line(first) + &line(second)
}

/// The objects of the first of two bundles, or of the second, grown.
fn grown_half(file: &[u8], second: bool) -> BTreeMap<usize, Vec<u8>> {
    let half = listed(file).len() / 2;
    let mut all = changed(file, grown);
    all.retain(|number, _| (*number >= half) == second);
    all
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn programs_find_the_bundle_behind_one_that_grew() {
    let folder = scratch_dir();
    let folder = folder.path();
    fs::write(folder.join("plain.bundle"), fixture("plain.bundle")).unwrap();
    fs::write(folder.join("program.c"), [TWO_BUNDLES, SHOW].concat()).unwrap();
    let ran = |bytes: &[u8], link: &str| {
        fs::write(folder.join("new"), bytes).unwrap();
        fs::write(folder.join("new.o"), bytes).unwrap();
        sh(folder, "chmod 755 new");
        sh(folder, link);
        let ran = run(Command::new("./ready").current_dir(folder));
        assert_eq!(ran.code, Some(0), "{} {}", ran.text(), ran.stderr);
        ran.text().to_owned()
    };
    let kinds = [
        ("clang-22 -O1 -fPIE -pie -fuse-ld=lld program.c -o object", "cp -f new ready"),
        ("clang-22 -O1 -fPIE -c program.c -o object", "clang-22 -pie -fuse-ld=lld new.o -o ready"),
    ];
    for (compile, link) in kinds {
        sh(folder, compile);
        let file = fs::read(folder.join("object")).unwrap();
        assert_eq!(ran(&file, link), shown(&file), "{compile}");
        for second in [false, true] {
            let written = check(compile, &file, grown_half(&file, second));
            assert_eq!(ran(&written, link), shown(&written), "{compile}");
        }
    }
}

fn number(bytes: &[u8], at: usize, size: usize) -> usize {
    bytes[at..at + size].iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte))
}

/// The bytes that each wrapper of an image points at, once the image is in memory at another place than it wants: sections are
/// mapped as its headers say, and what they list is relocated.
fn loaded_bundles(image: &[u8]) -> Vec<Vec<u8>> {
    const MOVED: usize = 0x1234_0000;
    let headers = number(image, 0x3c, 4);
    let optional = headers + 24;
    let base = number(image, optional + 24, 8);
    let mut memory = vec![0; number(image, optional + 56, 4)];
    let (mut wrappers, mut expected) = (0..0, 0);
    let table = optional + number(image, headers + 20, 2);
    for section in 0..number(image, headers + 6, 2) {
        let header = &image[table + section * 40..][..40];
        let [size, address, raw, offset] = [8, 12, 16, 20].map(|at| number(header, at, 4));
        // Sections are mapped without gaps, in the order of their addresses.
        let align = number(image, optional + 32, 4);
        assert!(expected == 0 || address == expected, "{address:#x} {expected:#x}");
        expected = (address + size).next_multiple_of(align);
        memory[address..address + size.min(raw)]
            .copy_from_slice(&image[offset..offset + size.min(raw)]);
        if header.starts_with(b".hipFatB") {
            wrappers = address..address + size;
        }
    }
    assert_eq!(expected, memory.len());
    let mut block = number(image, optional + 112 + 40, 4);
    let end = block + number(image, optional + 112 + 44, 4);
    while block < end {
        let (page, size) = (number(&memory, block, 4), number(&memory, block + 4, 4));
        for entry in (block + 8..block + size).step_by(2) {
            let entry = number(&memory, entry, 2);
            if entry >> 12 == 10 {
                let place = page + (entry & 0xfff);
                let new = number(&memory, place, 8) + MOVED;
                memory[place..place + 8].copy_from_slice(&new.to_le_bytes());
            }
        }
        block += size;
    }
    let pointers = wrappers.step_by(24).map(|at| number(&memory, at + 8, 8) - base - MOVED);
    pointers.map(|at| memory[at..].to_vec()).collect()
}

/// The entries of the bundles that the wrappers of an image point at.
fn loaded(image: &[u8]) -> Vec<Vec<u8>> {
    use hsaco::container::bundle::Bundle;
    let mut entries = Vec::new();
    for bytes in loaded_bundles(image) {
        let bundle = Bundle::parse(&bytes).unwrap();
        let contents = bundle.entries.iter().map(|it| bundle.content(&bytes, it).unwrap().to_vec());
        entries.extend(contents);
    }
    entries
}

fn contents(file: &[u8]) -> Vec<Vec<u8>> {
    listed(file).into_iter().map(|it| it.2).collect()
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn windows_images_point_at_code_that_grew() {
    let folder = scratch_dir();
    let file = fixture("host.dll");
    assert_eq!(loaded(&file), contents(&file));
    let written = check("host.dll", &file, changed(&file, grown));
    assert_eq!(loaded(&written), contents(&written));
    let again = check("host.dll", &written, changed(&written, grown));
    assert_eq!(loaded(&again), contents(&again));
    let arguments = ["--file-headers", "--sections", "--coff-basereloc"];
    let (text, complaints) = says("llvm-readobj-22", &arguments, folder.path(), &again);
    assert_eq!(complaints, "", "{text}");
    assert_eq!(text.matches("Name: .hip_fat ").count(), 1, "{text}");
}

/// Links a Windows object.
fn linked(folder: &Path, object: &[u8]) -> Vec<u8> {
    fs::write(folder.join("new.obj"), object).unwrap();
    sh(folder, "lld-link-22 /dll /noentry /force:unresolved /out:new.dll new.obj");
    fs::read(folder.join("new.dll")).unwrap()
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn linkers_take_windows_objects_whose_code_grew() {
    let folder = scratch_dir();
    let folder = folder.path();
    fs::write(folder.join("plain.bundle"), fixture("plain.bundle")).unwrap();
    fs::write(folder.join("two.c"), TWO_BUNDLES).unwrap();
    let target = "--target=x86_64-pc-windows-msvc";
    sh(folder, &format!("clang-22 {target} -c two.c -o two.obj"));
    let two = fs::read(folder.join("two.obj")).unwrap();
    let one = fixture("host.obj");
    for (file, new) in [
        (&one, changed(&one, grown)),
        (&two, grown_half(&two, false)),
        (&two, grown_half(&two, true)),
        (&two, changed(&two, grown)),
    ] {
        let written = check("an object", file, new);
        let (text, complaints) =
            says("llvm-readobj-22", &["--sections", "--symbols", "--relocs"], folder, &written);
        assert_eq!(complaints, "", "{text}");
        let image = linked(folder, &written);
        assert_eq!(contents(&image), contents(&written));
        assert_eq!(loaded(&image), contents(&written));
        // The image may grow as well.
        let half = contents(&image).len() / 2;
        let mut new = changed(&image, grown);
        new.retain(|number, _| *number < half.max(2));
        let image = check("an image", &image, new);
        assert_eq!(loaded(&image), contents(&image));
    }
}

/// Runs the command, which must succeed.
fn hsaco(words: &[&str]) {
    let ran = program::hsaco(words);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn device_code_of_windows_files_is_rewritten() {
    let folder = scratch_dir();
    let folder = folder.path();
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let source = hsaco_tests::fixture("steppings.co");
    hsaco(&["bundle", source.to_str().unwrap(), "-o", &path("plain.bundle")]);
    fs::write(folder.join("two.c"), TWO_BUNDLES).unwrap();
    sh(folder, "clang-22 --target=x86_64-pc-windows-msvc -c two.c -o two.obj");
    fs::write(folder.join("two.dll"), linked(folder, &fs::read(path("two.obj")).unwrap())).unwrap();
    hsaco(&["patch", source.to_str().unwrap(), "-o", &path("a0.co")]);
    let a0 = fs::read(path("a0.co")).unwrap();
    for name in ["two.obj", "two.dll"] {
        hsaco(&["patch", &path(name), "-o", &path("a0")]);
        let written = fs::read(path("a0")).unwrap();
        let image = if name == "two.obj" { linked(folder, &written) } else { written };
        let objects = loaded(&image).into_iter().filter(|it| !it.is_empty());
        assert_eq!(objects.collect::<Vec<_>>(), [a0.clone(), a0.clone()], "{name}");
    }
}
