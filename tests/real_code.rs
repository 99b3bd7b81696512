//! `hsaco disasm` against llvm-objdump on real code.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use hsaco_tests::corpus_file;
use hsaco_tests::disassembly::{Comparison, compare_file};
use hsaco_tests::program::hsaco_binary;
use hsaco_tests::reassembly::Reassembly;

/// Libraries of the corpus, and every how-many-th object of each is compared. All of them take
/// llvm-objdump half an hour: `cargo xtask oracle disasm` does that.
const LIBRARIES: [(&str, usize); 8] = [
    ("bitsandbytes/libbitsandbytes_rocm64.so", 3),
    ("bitsandbytes/libbitsandbytes_rocm70.so", 7),
    ("bitsandbytes/libbitsandbytes_rocm71.so", 7),
    ("bitsandbytes/libbitsandbytes_rocm72.so", 7),
    ("bitsandbytes/libbitsandbytes_rocm714.so", 7),
    ("bitsandbytes/libbitsandbytes_rocm715.so", 1),
    ("debian/librocrand.so.1.1", 2),
    ("debian/librocsparse.so.0.1", 61),
];

/// The same for what is assembled again; `cargo xtask oracle reassemble` does all of it.
const REASSEMBLED: [(&str, usize); 4] = [
    ("bitsandbytes/libbitsandbytes_rocm64.so", 4),
    ("bitsandbytes/libbitsandbytes_rocm715.so", 3),
    ("debian/librocrand.so.1.1", 5),
    ("debian/librocsparse.so.0.1", 401),
];

fn check(file: &Path, every: usize) -> Comparison {
    let found = compare_file(&hsaco_binary().unwrap(), file, every).unwrap();
    assert!(found.differences.is_empty(), "{}", found.differences.join("\n"));
    assert!(found.objects > 0 && found.lines > 0, "{}", file.display());
    found
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
#[cfg_attr(not(corpus), ignore = "needs `cargo xtask corpus`")]
fn libraries_read_as_llvm_objdump_reads_them() {
    for (name, every) in LIBRARIES {
        let file = corpus_file(name);
        check(&file, every);
    }
}

fn triton_files() -> Vec<PathBuf> {
    let stamp = corpus_file("triton/fetched.txt");
    let files = fs::read_dir(stamp.parent().unwrap()).unwrap().map(|it| it.unwrap().path());
    files.filter(|it| it.extension().is_some_and(|it| it == "co")).collect()
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
#[cfg_attr(not(corpus), ignore = "needs `cargo xtask corpus`")]
fn what_is_printed_assembles_to_the_same_bytes() {
    let mut found = Reassembly::default();
    for file in triton_files() {
        found.add_file(&file, 1).unwrap();
    }
    for (name, every) in REASSEMBLED {
        let file = corpus_file(name);
        found.add_file(&file, every).unwrap();
    }
    for (target, (tally, exact)) in found.tallies() {
        let differing: Vec<_> = tally.differing.iter().map(ToString::to_string).collect();
        assert!(differing.is_empty(), "{target}:\n{}", differing.join("\n"));
        assert!(exact.wrong.is_empty(), "{target}:\n{}", exact.wrong.join("\n"));
        assert_eq!(exact.rows(), tally.rows);
    }
    assert!(found.instructions > 100_000, "{}", found.instructions);
    found.ask_llvm_mc().unwrap();
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
#[cfg_attr(not(corpus), ignore = "needs `cargo xtask corpus`")]
fn triton_kernels_read_as_llvm_objdump_reads_them() {
    let files = triton_files();
    let found: usize = files.iter().map(|it| check(it, 1).objects).sum();
    assert!(files.is_empty() || found == 123, "{found}");
}
