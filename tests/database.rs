//! The kernel database, on what goes wrong with kernelDB and on real libraries.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::path::Path;
use std::sync::Barrier;
use std::{fs, thread};

use hsaco::bytes::ErrorKind;
use hsaco::db::{Database, IndexedKernel, Wanted, Which};
use hsaco::object::CodeObject;
use hsaco_tests::{corpus_file, fixture};

fn database(files: &[&str]) -> Database {
    let database = Database::new();
    for name in files {
        database.add(name, fs::read(fixture(name)).unwrap()).unwrap();
    }
    database
}

fn texts(kernel: &IndexedKernel) -> Vec<String> {
    kernel.instructions().unwrap().map(|it| it.text()).collect()
}

fn names(database: &Database) -> Vec<String> {
    database.kernels().map(|it| it.name().to_string()).collect()
}

const DEMANGLED: &str = "void filled<int, 3>(int*, vec::Pair<int>)";
const MANGLED: &str = "_Z6filledIiLi3EEvPT_N3vec4PairIS0_EE";

/// Row A7 of docs/kerneldb.md.
#[test]
fn listing_decodes_nothing_and_asking_decodes_only_what_is_asked_for() {
    let database = database(&["lines.dwarf5.co"]);
    assert_eq!(names(&database).len(), 4);
    assert_eq!(database.counts().decoded_bytes, 0);
    let kernel = database.kernel(MANGLED).unwrap();
    assert_eq!(database.counts().decoded_bytes, 0);
    let size = kernel.code().unwrap().len() as u64;
    texts(&kernel);
    texts(&database.kernel(DEMANGLED).unwrap());
    let counts = database.counts();
    assert_eq!((counts.decoded_kernels, counts.decoded_bytes), (1, size));
    texts(&database.kernel("_Z10kernel_twoPfN3vec4PairIfEE").unwrap());
    assert_eq!(database.counts().decoded_kernels, 2);
}

/// Of an exact and a generic object in one bundle a runtime takes the exact one.
#[test]
fn a_device_takes_of_each_bundle_what_fits_it_most_closely() {
    let [exact, generic] =
        ["s1.gfx1100.co", "s1.gfx11-generic.co"].map(|it| fs::read(fixture(it)).unwrap());
    let id = |target: &str| format!("hipv4-amdgcn-amd-amdhsa--{target}");
    let (exact_id, generic_id) = (id("gfx1100"), id("gfx11-generic"));
    let entries = [(generic_id.as_str(), &*generic), (exact_id.as_str(), &*exact)];
    let bundle = hsaco::container::bundle::write(&entries, 4096);
    for (device, expected) in [("gfx1100", "gfx1100"), ("gfx1151", "gfx11-generic")] {
        let objects = Wanted::Device(device.parse().unwrap());
        let which = Which { objects, ..Which::default() };
        for is_known in [false, true] {
            let database = Database::new();
            if is_known {
                database.add("bundle", bundle.clone()).unwrap();
            }
            let added = database.add_some("bundle", bundle.clone(), &which).unwrap();
            let targets: Vec<_> = added.objects.iter().map(|it| it.target()).collect();
            assert_eq!(targets, [expected], "{device}");
            let name = added.objects[0].kernel(0).unwrap().name().to_string();
            let kernel = database.kernel_for(&name, objects).unwrap();
            assert_eq!(kernel.object().target(), expected, "{device}");
        }
    }
    let wanted = Wanted::Device("gfx942".parse().unwrap());
    let which = Which { objects: wanted, ..Which::default() };
    let error = Database::new().add_some("bundle", bundle, &which).unwrap_err();
    assert_eq!(
        error.to_string(),
        "not found: file: no object that gfx942 runs is in it, only for gfx11-generic, gfx1100"
    );
}

/// Row A6 of docs/kerneldb.md.
#[test]
fn every_listed_name_is_found_in_every_spelling() {
    let database = database(&["lines.dwarf5.co", "mangled.co", "odd-names.co"]);
    for kernel in database.kernels() {
        let (name, readable) = (kernel.name().to_string(), kernel.readable_name());
        for spelling in [
            name.clone(),
            readable.clone(),
            format!("{name}.kd"),
            format!("{readable} [clone .kd]"),
        ] {
            assert_eq!(database.kernel(&spelling).unwrap(), kernel, "{spelling}");
        }
        assert!(kernel.instructions().unwrap().len() > 0);
        assert_eq!(database.kernel(&readable).unwrap(), kernel);
    }
}

/// Row B6 of docs/kerneldb.md.
#[test]
fn names_with_dots_stay_apart() {
    let database = database(&["odd-names.co"]);
    let mut dotted: Vec<_> =
        names(&database).into_iter().filter(|name| name.contains('.')).collect();
    let count = dotted.len();
    dotted.dedup();
    assert!(count >= 2 && dotted.len() == count);
    for name in dotted {
        assert_eq!(database.kernel(&name).unwrap().name().to_string(), name);
    }
}

/// Row B6 of docs/kerneldb.md.
#[test]
fn one_name_in_two_objects_is_two_kernels() {
    let database = database(&["s1.gfx942.co", "s1.gfx1100.co"]);
    let name = database.kernels().next().unwrap().name().to_string();
    let found = database.kernels_named(&name);
    let targets: Vec<_> = found.iter().map(|it| it.object().target().to_owned()).collect();
    assert_eq!(targets, ["gfx942", "gfx1100"]);
    assert_ne!(texts(&found[0]), texts(&found[1]));
    let error = database.kernel(&name).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Ambiguous);
    assert!(error.to_string().contains("s1.gfx1100.co#0, gfx1100"), "{error}");
}

/// Row B3 of docs/kerneldb.md.
#[test]
fn a_kernel_is_all_there_and_in_program_order() {
    let database =
        database(&["lines.dwarf5.co", "s1.gfx1250.co", "s1.gfx11-generic.co", "mangled.co"]);
    for kernel in database.kernels() {
        let mut next = kernel.entry().unwrap();
        let mut bytes = Vec::new();
        for instruction in kernel.instructions().unwrap() {
            assert_eq!(instruction.address(), next);
            assert_ne!(instruction.mnemonic(), ".long");
            next += instruction.bytes().len() as u64;
            bytes.extend_from_slice(instruction.bytes());
        }
        assert_eq!(bytes, *kernel.code().unwrap());
        let size = kernel.tables().unwrap().kernel().code_size().unwrap();
        assert_eq!(next - kernel.entry().unwrap(), size);
    }
}

/// Row B5 of docs/kerneldb.md.
#[test]
fn device_functions_are_no_kernels() {
    let database = database(&["lines.dwarf5.co"]);
    let object = &database.objects()[0];
    let functions: Vec<_> = object.functions().iter().map(|it| it.name.as_str()).collect();
    assert_eq!(functions, ["_Z4slowf"]);
    assert!(database.kernels_named("_Z4slowf").is_empty());
}

/// Row B7 of docs/kerneldb.md.
#[test]
fn kernels_are_found_without_a_symbol_table() {
    let whole = names(&database(&["s1.gfx942.co"]));
    for name in ["s1.stripped.co", "s1.no-note.co"] {
        let database = database(&[name]);
        assert_eq!(names(&database), whole, "{name}");
        database.kernels().for_each(|it| assert!(it.instructions().unwrap().len() > 0));
    }
}

/// Row B1 of docs/kerneldb.md.
#[test]
fn the_content_decides_not_the_name() {
    let plain = database(&["plain.bundle"]);
    for (fixture_name, name) in
        [("plain.bundle", "x.hsaco"), ("zstd-v3.bundle", "x"), ("zlib-v2.bundle", "x.co")]
    {
        let database = Database::new();
        database.add(name, fs::read(fixture(fixture_name)).unwrap()).unwrap();
        assert_eq!(names(&database), names(&plain), "{fixture_name} as {name}");
    }
}

/// Row B19 of docs/kerneldb.md.
#[test]
fn adding_a_file_changes_nothing_that_was_there() {
    let database = database(&["lines.dwarf5.co"]);
    let kernel = database.kernel(MANGLED).unwrap();
    let places = |kernel: &IndexedKernel| -> Vec<_> {
        let all = kernel.instructions().unwrap();
        all.map(|it| it.location().unwrap().map(|it| (it.file.to_owned(), it.line))).collect()
    };
    let before = (texts(&kernel), places(&kernel));
    database.add("other", fs::read(fixture("lines.dwarf4.co")).unwrap()).unwrap();
    database.add("more", fs::read(fixture("mangled.co")).unwrap()).unwrap();
    assert_eq!((texts(&kernel), places(&kernel)), before);
    assert_eq!(database.kernels_named(MANGLED)[0], kernel);
}

/// Row B8 of docs/kerneldb.md.
#[test]
fn lines_belong_to_their_object_and_file() {
    let database = database(&["lines.dwarf5.co", "lines.zstd.co", "lines.tables.co"]);
    for kernel in database.kernels_named("_Z10kernel_twoPfN3vec4PairIfEE") {
        let mut files: Vec<_> = kernel
            .instructions()
            .unwrap()
            .filter_map(|it| {
                it.location().unwrap().map(|it| it.file.rsplit('/').next().unwrap().to_owned())
            })
            .collect();
        files.sort();
        files.dedup();
        assert_eq!(files, ["elsewhere.cuh", "lines-two.hip", "lines.h"], "{kernel:?}");
    }
    let found = database.code_of_line("elsewhere.cuh", 270, None).unwrap();
    assert!(found.len() >= 9);
    assert!(database.code_of_line("lines-two.hip", 270, None).unwrap().is_empty());
    let with_column = database.code_of_line("elsewhere.cuh", 270, Some(10)).unwrap();
    assert_eq!(with_column.len(), 3);
    for (object, range) in with_column {
        let kernel = database
            .kernels_named("_Z10kernel_twoPfN3vec4PairIfEE")
            .into_iter()
            .find(|it| it.object().file() == object.file())
            .unwrap();
        let code =
            kernel.entry().unwrap()..kernel.entry().unwrap() + kernel.code().unwrap().len() as u64;
        assert!(code.contains(&range.start));
    }
}

/// Row B11 of docs/kerneldb.md.
#[test]
fn without_debug_information_there_is_all_but_lines() {
    let database = database(&["mangled.co"]);
    for kernel in database.kernels() {
        assert!(!kernel.blocks().unwrap().blocks().is_empty());
        for instruction in kernel.instructions().unwrap() {
            assert_eq!(instruction.location().unwrap(), None);
            assert!(instruction.frames().unwrap().is_empty());
        }
        let metadata = kernel.tables().unwrap();
        let metadata = metadata.kernel().metadata().copied().unwrap();
        assert!(metadata.decode().unwrap().arguments().unwrap().count() > 0);
    }
}

/// Row B18 of docs/kerneldb.md.
#[test]
fn a_failed_load_fails_again_at_once_and_the_same() {
    let mut file = fs::read(fixture("s1.gfx942.co")).unwrap();
    // An unknown processor.
    file[48] = 0xfe;
    let database = Database::new();
    database.add("unknown", file).unwrap();
    let kernel = database.kernels().next().unwrap();
    let errors = [(); 2].map(|()| kernel.instructions().map(|_| ()).unwrap_err().to_string());
    assert_eq!(errors[0], errors[1]);
    assert!(errors[0].starts_with("unsupported"), "{}", errors[0]);
    assert_eq!(database.counts().decoded_kernels, 0);
}

#[test]
fn what_holds_no_code_is_an_error_that_says_so() {
    let database = Database::new();
    for (file, kind) in [
        (b"#!/bin/sh\n".to_vec(), ErrorKind::NotRecognised),
        (b"\x7fELF".to_vec(), ErrorKind::Truncated),
        (Vec::new(), ErrorKind::NotRecognised),
    ] {
        assert_eq!(database.add("x", file).unwrap_err().kind(), kind);
    }
    let bitcode = database.add("x", fs::read(fixture("host-rdc.o")).unwrap()).unwrap_err();
    assert_eq!(bitcode.kind(), ErrorKind::Unsupported);
    assert!(bitcode.to_string().contains("bitcode has no kernels before"), "{bitcode}");
    assert_eq!(database.kernel("x").unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(database.kernels().count(), 0);
}

#[test]
fn a_filter_takes_only_the_kernels_that_are_wanted() {
    let database = Database::new();
    let file = fs::read(fixture("lines.dwarf5.co")).unwrap();
    database.add_where("x", file, |name| name.to_string().contains("filled")).unwrap();
    assert_eq!(names(&database).len(), 2);
}

/// Row A21 of docs/kerneldb.md.
#[test]
fn threads_that_ask_at_once_share_one_decode() {
    const THREADS: usize = 32;
    let database = database(&["lines.dwarf5.co", "lines.zstd.co", "mangled.co", "s1.gfx1250.co"]);
    let (start, kernels) = (Barrier::new(THREADS), database.kernels().count() as u64);
    thread::scope(|scope| {
        for first in 0..THREADS {
            let (database, start) = (&database, &start);
            scope.spawn(move || {
                start.wait();
                let all: Vec<_> = database.kernels().collect();
                for kernel in all.iter().cycle().skip(first).take(all.len()) {
                    let count = kernel.instructions().unwrap().len();
                    let steps: usize =
                        kernel.blocks().unwrap().blocks().iter().map(|it| it.steps().len()).sum();
                    assert_eq!(count, steps);
                    kernel.instructions().unwrap().for_each(|it| _ = it.frames().unwrap());
                    assert!(database.kernels_named(&kernel.readable_name()).contains(kernel));
                }
            });
        }
    });
    assert_eq!(database.counts().decoded_kernels, kernels);
}

/// Row B4 of docs/kerneldb.md.
#[test]
#[cfg_attr(not(corpus), ignore = "needs `cargo xtask corpus`")]
fn one_kernel_at_a_time_equals_the_whole_object() {
    for name in ["bitsandbytes/libbitsandbytes_rocm64.so", "debian/librocrand.so.1.1"] {
        let path = corpus_file(name);
        check_library(&path);
    }
}

/// Every kernel of a library: found by its descriptor, its code as in a walk over the whole object.
fn check_library(path: &Path) {
    let database = Database::new();
    database.add("library", fs::read(path).unwrap()).unwrap();
    let mut kernels = 0;
    for object in database.objects() {
        let data = object.data().unwrap();
        let parsed = CodeObject::parse(&data).unwrap();
        assert_eq!(object.kernel_count(), parsed.index().kernels().len());
        kernels += object.kernel_count();
    }
    assert_eq!(database.counts().decoded_kernels, 0);
    for kernel in database.kernels() {
        let size: usize = kernel.instructions().unwrap().map(|it| it.bytes().len()).sum();
        assert_eq!(size, kernel.code().unwrap().len());
        assert_eq!(Some(size as u64), kernel.tables().unwrap().kernel().code_size());
    }
    assert_eq!(database.counts().decoded_kernels, kernels as u64);
    assert!(kernels > 50, "{kernels}");
}
