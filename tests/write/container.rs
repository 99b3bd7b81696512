//! Changed objects put back into every container.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use hsaco::bytes::ErrorKind;
use hsaco::container::{EntryKind, WalkOptions, entries, put_back};
use hsaco::object::CodeObject;
use hsaco::object::write::{Access, Edit};
use hsaco_tests::program::{run, sh};
use hsaco_tests::scratch_dir;

use super::{fixture, says};

/// Entries as a list of what tells them apart.
pub(super) fn listed(file: &[u8]) -> Vec<(Option<String>, EntryKind, Vec<u8>, String)> {
    entries(file, &WalkOptions::default())
        .map(Result::unwrap)
        .map(|it| (it.id.clone(), it.kind, it.data.to_vec(), it.trail.to_string()))
        .collect()
}

/// The objects of a file, changed.
pub(super) fn changed(file: &[u8], change: impl Fn(&[u8]) -> Vec<u8>) -> BTreeMap<usize, Vec<u8>> {
    let all = listed(file).into_iter().enumerate();
    let objects = all.filter(|(_, it)| matches!(it.1, EntryKind::CodeObject | EntryKind::Bitcode));
    objects.map(|(number, it)| (number, change(&it.2))).collect()
}

/// An object with a segment more; one that is not linked is just longer.
pub(super) fn grown(object: &[u8]) -> Vec<u8> {
    let edited = Edit::new(object).and_then(|mut edit| {
        edit.append(".text.hsaco", Access::Code, &[7; 5000])?;
        edit.finish()
    });
    edited.unwrap_or_else(|_| [object, &[7; 5000]].concat())
}

/// An object of the same size with another last byte.
fn touched(object: &[u8]) -> Vec<u8> {
    let mut new = object.to_vec();
    *new.last_mut().unwrap() ^= 1;
    new
}

/// Puts objects back and looks whether they, and all others, are there.
pub(super) fn check(name: &str, file: &[u8], new: BTreeMap<usize, Vec<u8>>) -> Vec<u8> {
    let mut expected = listed(file);
    for (number, object) in &new {
        expected[*number].2.clone_from(object);
    }
    let written = put_back(file, &WalkOptions::default(), new).unwrap();
    let found = listed(&written);
    assert_eq!(found.len(), expected.len(), "{name}");
    for (found, expected) in found.iter().zip(&expected) {
        assert!(found == expected, "{name}: {:?} {} {}", found.0, found.2.len(), expected.2.len());
    }
    written
}

const CONTAINERS: [&str; 19] = [
    "plain.bundle",
    "aligned.bundle",
    "back-to-back.bundle",
    "mixed.bundle",
    "zlib-v2.bundle",
    "zstd-v2.bundle",
    "zstd-v3.bundle",
    "offloading.bin",
    "host.so",
    "host-compressed.so",
    "host-offloading.o",
    "host-rdc.o",
    "host-rdc-new.o",
    "host.a",
    "host.dll",
    "host.obj",
    "s1.gfx942.co",
    "wheel.whl",
    "methods.zip",
];

/// Those in which a changed object is compressed again, to whatever size that gives.
const HAVE_COMPRESSED: [&str; 8] = [
    "mixed.bundle",
    "zlib-v2.bundle",
    "zstd-v2.bundle",
    "zstd-v3.bundle",
    "host-compressed.so",
    "host.a",
    "wheel.whl",
    "methods.zip",
];

#[test]
fn objects_of_the_same_size_take_their_place() {
    for name in CONTAINERS {
        let file = fixture(name);
        let same = changed(&file, <[u8]>::to_vec);
        assert!(!same.is_empty(), "{name}");
        assert!(check(name, &file, same) == file, "{name}");
        let new = changed(&file, touched);
        let count = new.len();
        let written = check(name, &file, new);
        if !HAVE_COMPRESSED.contains(&name) {
            let differs = written.iter().zip(&file).filter(|(new, old)| new != old).count();
            assert_eq!((written.len(), differs), (file.len(), count), "{name}");
        }
    }
}

#[test]
fn objects_that_grew_make_room() {
    for name in CONTAINERS {
        let file = fixture(name);
        let all = changed(&file, grown);
        // Each alone, then all at once, then once more.
        for (number, object) in &all {
            check(name, &file, BTreeMap::from([(*number, object.clone())]));
        }
        let written = check(name, &file, all);
        let again = changed(&written, grown);
        check(name, &written, again);
    }
}

#[test]
fn what_cannot_grow_says_so() {
    // A Windows image with something behind its section headers; one with a signature.
    let file = fixture("host.dll");
    for (at, reason) in [(0x2c8, "room for a section header"), (0x120, "a signed image")] {
        let mut file = file.clone();
        file[at..at + 8].fill(1);
        let error = put_back(&file, &WalkOptions::default(), changed(&file, grown)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert!(error.to_string().contains(reason), "{error}");
    }
    // Packages in which nothing can grow, and those that are not written at all.
    for (name, reason) in [
        ("plain.tar", "in tar: it cannot grow"),
        ("nested.tar.xz", "what is in an xz stream is not written back"),
        ("demo.deb", "what is in an xz stream is not written back"),
        ("demo.rpm", "what is in a zstd stream is not written back"),
        ("flow.co.gz", "what is in a gzip stream is not written back"),
    ] {
        let file = fixture(name);
        let error = put_back(&file, &WalkOptions::default(), changed(&file, grown)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{name}: {error}");
        assert!(error.to_string().contains(reason), "{name}: {error}");
    }
    let file = fixture("plain.bundle");
    let error = put_back(&file, &WalkOptions::default(), BTreeMap::from([(99, Vec::new())]));
    assert_eq!(
        error.unwrap_err().to_string(),
        "not found: putting back: entry 99, and there are 3"
    );
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn llvm_finds_what_was_put_back() {
    let folder = scratch_dir();
    let folder = folder.path();
    for name in ["plain.bundle", "aligned.bundle", "zstd-v3.bundle"] {
        let file = fixture(name);
        let new = changed(&file, grown);
        let written = check(name, &file, new.clone());
        fs::write(folder.join("b"), &written).unwrap();
        for (number, object) in new {
            let id = listed(&file)[number].0.clone().unwrap();
            sh(
                folder,
                &format!(
                    "clang-offload-bundler-22 --unbundle --type=o --input=b --targets={id} --output=o"
                ),
            );
            assert!(fs::read(folder.join("o")).unwrap() == object, "{name} {id}");
        }
    }
    for name in ["host.so", "host-compressed.so", "host-rdc.o", "host-offloading.o"] {
        let file = fixture(name);
        let written = check(name, &file, changed(&file, grown));
        let before = says("llvm-readelf-22", &["-a"], folder, &file).1;
        assert_eq!(says("llvm-readelf-22", &["-a"], folder, &written).1, before, "{name}");
    }
    let file = fixture("host.a");
    let written = check("host.a", &file, changed(&file, grown));
    let symbols = |bytes: &[u8]| says("llvm-nm-22", &["--print-armap"], folder, bytes);
    assert_eq!(symbols(&file), symbols(&written));
    let listing = |bytes: &[u8]| says("llvm-ar-22", &["t"], folder, bytes);
    assert_eq!(listing(&file), listing(&written));
}

/// A program that finds its device code as the runtime does, and prints the code's last bytes.
const PROGRAM: &str = r#"
#include <stdio.h>
#include <string.h>
extern const char __hip_fatbin[] __attribute__((section(".hip_fatbin")));
__asm__(".section .hip_fatbin,\"a\",@progbits\n.p2align 12\n.hidden __hip_fatbin\n.globl __hip_fatbin\n__hip_fatbin:\n.incbin \"plain.bundle\"\n.text\n");
struct wrapper { unsigned magic, version; const void *binary; void *unused; };
__attribute__((section(".hipFatBinSegment"), used))
const struct wrapper __hip_fatbin_wrapper = { 0x48495046, 1, __hip_fatbin, 0 };
static char zeroes[100000];
int show(void) {
    const char *start = *(const char *const volatile *)&__hip_fatbin_wrapper.binary;
    unsigned long long row[3];
    unsigned long long count, at = 32, hash = 5381, total = 0;
    memcpy(&count, start + 24, 8);
    for (unsigned long long i = 0; i < count; i++) {
        memcpy(row, start + at, 24);
        for (unsigned long long j = 0; j < row[1]; j++)
            hash = hash * 33 + (unsigned char)start[row[0] + j];
        total += row[1];
        at += 24 + row[2];
    }
    printf("%.24s %llu %llu %llx %d\n", start, count, total, hash, zeroes[99999]);
    return 0;
}
#ifndef LIBRARY
int main(void) { return show(); }
#endif
"#;

/// Loads a library and calls into it.
const LOADER: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
int main(void) {
    void *library = dlopen("./object", RTLD_NOW);
    if (!library) { puts(dlerror()); return 1; }
    return ((int (*)(void))dlsym(library, "show"))();
}
"#;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn programs_run_with_code_that_grew() {
    let folder = scratch_dir();
    let folder = folder.path();
    let bundle = fixture("plain.bundle");
    fs::write(folder.join("plain.bundle"), &bundle).unwrap();
    fs::write(folder.join("program.c"), PROGRAM).unwrap();
    fs::write(folder.join("loader.c"), LOADER).unwrap();
    sh(folder, "clang-22 -O1 loader.c -o loader -ldl");
    let hash = |entries: &[Vec<u8>]| {
        let bytes = entries.iter().flatten();
        bytes.fold(5381_u64, |hash, &byte| hash.wrapping_mul(33).wrapping_add(byte.into()))
    };
    let kinds = [
        ("-fPIE -pie -fuse-ld=lld", true),
        ("-fno-pie -no-pie -fuse-ld=lld", true),
        ("-fPIE -pie", true),
        ("-fPIE -pie -fuse-ld=lld -Wl,-z,pack-relative-relocs", true),
        ("-fPIC -shared -DLIBRARY -fuse-ld=lld", false),
        ("-fPIC -shared -DLIBRARY -fuse-ld=lld -Wl,-z,max-page-size=65536", false),
    ];
    for (flags, is_program) in kinds {
        sh(folder, &format!("clang-22 -O1 {flags} program.c -o object"));
        let file = fs::read(folder.join("object")).unwrap();
        let says = |bytes: &[u8]| {
            // A program that is being run cannot be written over.
            fs::remove_file(folder.join("object")).unwrap();
            fs::write(folder.join("object"), bytes).unwrap();
            sh(folder, "chmod 755 object");
            let ran =
                run(Command::new(if is_program { "./object" } else { "./loader" })
                    .current_dir(folder));
            assert_eq!(ran.code, Some(0), "{flags}: {} {}", ran.text(), ran.stderr);
            ran.text().to_owned()
        };
        let expected = |bytes: &[u8]| {
            let contents: Vec<_> = listed(bytes).into_iter().map(|it| it.2).collect();
            let total: usize = contents.iter().map(Vec::len).sum();
            format!("__CLANG_OFFLOAD_BUNDLE__ {} {total} {:x} 0\n", contents.len(), hash(&contents))
        };
        assert_eq!(says(&file), expected(&file), "{flags}");
        let written = check(flags, &file, changed(&file, grown));
        assert_eq!(says(&written), expected(&written), "{flags}");
        let again = check(flags, &written, changed(&written, grown));
        assert_eq!(says(&again), expected(&again), "{flags}");
        let (text, complaints) = super::says("llvm-readelf-22", &["-lS"], folder, &again);
        assert_eq!(complaints, "", "{text}");
        assert!(CodeObject::parse(&again).is_err());
    }
}
