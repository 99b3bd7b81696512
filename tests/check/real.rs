//! Real libraries, each object against the device that it is for: nothing may be called an error.

use std::fs;

use hsaco::check::{Checker, Severity};
use hsaco::object::container::{Container, EntryKind, Options, entries};
use hsaco_tests::{corpus_dir, corpus_file};

/// Errors of every object in a file, with the number of objects.
fn errors(checker: &Checker, bytes: &[u8]) -> (usize, Vec<String>) {
    if Container::detect(bytes) == Some(Container::CodeObject) {
        return (1, of_object(checker, bytes));
    }
    let (mut objects, mut found) = (0, Vec::new());
    for entry in entries(bytes, &Options::default()) {
        let entry = entry.unwrap();
        if entry.kind == EntryKind::CodeObject {
            objects += 1;
            found.extend(of_object(checker, &entry.data));
        }
    }
    (objects, found)
}

fn of_object(checker: &Checker, bytes: &[u8]) -> Vec<String> {
    let report = checker.object(bytes);
    let errors = report.findings.iter().filter(|it| it.severity == Severity::Error);
    errors.map(ToString::to_string).collect()
}

fn passes(checker: &Checker, file: &str, expected: usize) {
    let Some(path) = corpus_file(file) else { return };
    let (objects, found) = errors(checker, &fs::read(path).unwrap());
    assert_eq!(found, [""; 0], "{file}");
    assert!(objects >= expected, "{file}: {objects} objects");
}

#[test]
fn libraries_have_no_errors() {
    let checker = Checker::new();
    for version in ["64", "70", "71", "714", "715", "72"] {
        passes(&checker, &format!("bitsandbytes/libbitsandbytes_rocm{version}.so"), 2);
    }
    passes(&checker, "debian/librocsparse.so.0.1", 777);
    passes(&checker, "debian/librocrand.so.1.1", 7);
}

#[test]
fn triton_kernels_have_no_errors_code_included() {
    let Ok(files) = fs::read_dir(corpus_dir().join("triton")) else {
        return passes(&Checker::new(), "triton/add.gfx942.co", 1);
    };
    let checker = Checker::new().with_code();
    for file in
        files.map(|it| it.unwrap().path()).filter(|it| it.extension().is_some_and(|it| it == "co"))
    {
        let (_, found) = errors(&checker, &fs::read(&file).unwrap());
        assert_eq!(found, [""; 0], "{}", file.display());
    }
}

#[test]
fn code_of_a_library_has_no_errors() {
    passes(&Checker::new().with_code(), "bitsandbytes/libbitsandbytes_rocm64.so", 2);
}
