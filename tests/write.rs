//! What is written: edited and built code objects, held against LLVM's tools.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod broken;
mod build;
mod container;
mod debug;
mod edit;
mod host;
mod kernel;
mod metadata;
#[path = "robustness/mutation.rs"]
mod mutation;

use std::fs;
use std::path::Path;
use std::process::Command;

use hsaco::container::{EntryKind, WalkOptions, entries};
use hsaco_tests::program::run;
use hsaco_tests::{corpus_file, fixtures_dir};

/// Every committed code object with its name, sorted.
fn code_objects() -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(fixtures_dir()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.ends_with(".co") {
            found.push((name, fs::read(path).unwrap()));
        }
    }
    found.sort();
    assert!(found.len() >= 25, "{} code objects", found.len());
    found
}

fn fixture(name: &str) -> Vec<u8> {
    fs::read(hsaco_tests::fixture(name)).unwrap()
}

/// Some code objects of real libraries; none, with a word about it, where the corpus is missing.
fn real_objects() -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for name in ["debian/librocrand.so.1.1", "bitsandbytes/libbitsandbytes_rocm72.so"] {
        let path = corpus_file(name);
        let file = fs::read(path).unwrap();
        let objects = entries(&file, &WalkOptions::default()).map(Result::unwrap);
        let objects = objects.filter(|it| it.kind == EntryKind::CodeObject);
        found.extend(objects.step_by(40).map(|it| it.data.to_vec()));
    }
    found
}

/// What a tool says of a file: what it prints, and what it complains about.
fn says(tool: &str, flags: &[&str], folder: &Path, bytes: &[u8]) -> (String, String) {
    let path = folder.join("object");
    fs::write(&path, bytes).unwrap();
    let ran = run(Command::new(tool).args(flags).arg("object").current_dir(folder));
    (String::from_utf8_lossy(&ran.stdout).into_owned(), ran.stderr)
}

/// LLVM reads the whole of a file and complains of nothing that it did not say of another.
fn assert_as_clean_as(new: &[u8], old: &[u8], folder: &Path, what: &str) {
    for (tool, flags) in [("llvm-readelf-22", "-a"), ("llvm-objdump-22", "-d")] {
        let (_, before) = says(tool, &[flags], folder, old);
        let (_, after) = says(tool, &[flags], folder, new);
        assert_eq!(after, before, "{tool} {flags} on {what}");
    }
}

/// Lines of `new` that are not in `old`, in order, and the other way round.
fn line_changes(old: &str, new: &str) -> String {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let (old, new) = (lines(old), lines(new));
    let gone = old.iter().filter(|it| !new.contains(it)).map(|it| format!("-{it}\n"));
    let come = new.iter().filter(|it| !old.contains(it)).map(|it| format!("+{it}\n"));
    gone.chain(come).collect()
}
