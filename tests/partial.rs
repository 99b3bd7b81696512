//! Compressed bundles of which one target is wanted: no more of them is unpacked than that takes.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use hsaco::bytes::ErrorKind;
use hsaco::compress::Method;
use hsaco::container::{bundle, ccob};
use hsaco::db::{Database, DatabaseOptions, IndexedKernel, Wanted, Which};
use hsaco_files::input::stored_inputs;
use hsaco_tests::program::{Ran, hsaco};
use hsaco_tests::{fixture, scratch_dir};

const HOST: &str = "host-x86_64-unknown-linux-gnu-";
const TARGETS: [&str; 3] = ["gfx90a:xnack-", "gfx942", "gfx1100"];
const OBJECTS: [&str; 3] = ["s1.gfx90a-xnack-off.co", "s1.gfx942.co", "s1.gfx1100.co"];

/// Bytes that no method makes smaller: their place in the payload is their place in the stream.
fn noise(seed: u32) -> Vec<u8> {
    let next = |it: &u32| Some(it.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
    let numbers = std::iter::successors(Some(seed), next);
    numbers.map(|it| it.to_be_bytes()[0]).take(600_000).collect()
}

/// A compressed bundle, too large for its hash to be compared unasked: each object has noise behind it.
fn packed() -> Vec<u8> {
    let objects = (1..).zip(OBJECTS).map(|(seed, name)| {
        let mut object = fs::read(fixture(name)).unwrap();
        object.extend(noise(seed));
        object
    });
    let ids = TARGETS.map(|it| format!("hipv4-amdgcn-amd-amdhsa--{it}"));
    let mut entries = vec![(HOST.to_owned(), Vec::new())];
    entries.extend(ids.into_iter().zip(objects));
    ccob::write(&bundle::write(&entries, 4096), 3, Method::Zstd, 3).unwrap()
}

/// Two such bundles, the second of which has other bytes in some places, counted from its end.
fn file(folder: &Path, damage: Range<usize>) -> PathBuf {
    let (first, mut second) = (packed(), packed());
    let end = second.len();
    second[end - damage.end..end - damage.start].fill(0xff);
    let path = folder.join("library.hipfb");
    fs::write(&path, [first, second].concat()).unwrap();
    path
}

fn ask(path: &Path, arguments: &[&str]) -> Ran {
    hsaco(arguments.iter().map(std::ffi::OsStr::new).chain([path.as_os_str()]))
}

const NO_DAMAGE: Range<usize> = 0..0;
/// Within the noise behind the last object, which is stored as it is.
const LAST: Range<usize> = 1000..1010;

#[test]
fn what_is_said_of_a_target_is_what_is_said_of_it_among_all() {
    let folder = scratch_dir();
    let path = file(folder.path(), NO_DAMAGE);
    let all = ask(&path, &["ls", "--format", "json"]).stdout;
    let all: serde_json::Value = serde_json::from_slice(&all).unwrap();
    let objects = all["files"][0]["objects"].as_array().unwrap();
    assert_eq!(objects.len(), 6);
    for (number, target) in TARGETS.iter().enumerate() {
        for option in ["--target", "--device"] {
            let some = ask(&path, &["ls", "--format", "json", option, target]).stdout;
            let some: serde_json::Value = serde_json::from_slice(&some).unwrap();
            let expected = [&objects[number], &objects[number + 3]];
            let found: Vec<_> = some["files"][0]["objects"].as_array().unwrap().iter().collect();
            assert_eq!(found, expected, "{option} {target}");
        }
        let number = number.to_string();
        for verb in ["disasm", "resources", "symbols", "check", "args", "notes", "cfg"] {
            let by_target = ask(&path, &[verb, "--target", target, "--object", &number]);
            let by_number = ask(&path, &[verb, "--object", &number]);
            assert_eq!((by_target.code, &by_target.stdout), (by_number.code, &by_number.stdout));
            assert!(!by_target.stdout.is_empty(), "{verb} {target}");
        }
    }
    let none = ask(&path, &["ls", "--target", "gfx1201"]);
    assert_eq!(none.code, Some(2));
    assert!(none.stderr.contains("no object fits --target gfx1201"), "{}", none.stderr);
}

/// A payload that is not unpacked whole is not compared with its hash; that is asked for by name, or by no target.
#[test]
fn damage_is_seen_where_it_is_read_and_by_those_who_verify() {
    let folder = scratch_dir();
    let path = file(folder.path(), LAST);
    for (arguments, is_seen) in [
        (&["ls"][..], false),
        (&["ls", "--verify"], true),
        (&["ls", "--verify", "-t", "gfx90a"], true),
        (&["disasm"], true),
        (&["disasm", "-t", "gfx90a"], false),
        (&["disasm", "-t", "gfx1100"], false),
        (&["disasm", "--device", "gfx942"], false),
        (&["disasm", "--object", "0"], true),
        (&["check", "-t", "gfx90a"], false),
        (&["check"], true),
        (&["resources", "-t", "gfx90a"], false),
        (&["resources"], true),
    ] {
        let ran = ask(&path, arguments);
        assert_eq!(ran.stderr.contains("its hash is"), is_seen, "{arguments:?}: {}", ran.stderr);
        assert_eq!(ran.code == Some(2), is_seen, "{arguments:?}: {:?}", ran.code);
    }
    // What is handed out is what was packed.
    let out = folder.path().join("out");
    let ran = ask(&path, &["extract", "-t", "gfx90a", "-o", out.to_str().unwrap()]);
    assert!(ran.stderr.contains("its hash is"), "{}", ran.stderr);
}

#[test]
fn a_stream_that_is_cut_or_broken_before_what_is_wanted_is_an_error() {
    let folder = scratch_dir();
    let path = file(folder.path(), NO_DAMAGE);
    let whole = fs::read(&path).unwrap();
    // The last bundle is cut: its header says how long it is.
    fs::write(&path, &whole[..whole.len() - 10]).unwrap();
    let ran = ask(&path, &["ls", "-t", "gfx90a", "-l"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("truncated: compressed bundle"), "{}", ran.stderr);
    // The header of the first block of the second bundle says that it is of no type.
    let second = whole.len() / 2;
    let block = second + 32 + 9;
    for at in block..block + 6 {
        let mut broken = whole.clone();
        broken[at] = 0xff;
        fs::write(&path, broken).unwrap();
        let ran = ask(&path, &["disasm", "-t", "gfx90a"]);
        let is_told = ran.code == Some(2) && ran.stderr.starts_with("hsaco: ");
        assert!(is_told || at > block + 2, "{at}: {}", ran.stderr);
    }
}

/// The kernels of a file for a target, unpacked again whenever they are asked for something.
fn kernels(path: &Path, wanted: Wanted, keep_unpacked: usize) -> (Database, Vec<IndexedKernel>) {
    let database =
        Database::with_options(DatabaseOptions { keep_unpacked, ..DatabaseOptions::default() });
    for input in stored_inputs(&[path.as_os_str().to_owned()]) {
        let which = Which { objects: wanted, ..Which::default() };
        let added = database.add_some("library", input.ok().unwrap().content, &which).unwrap();
        assert!(added.problems.is_empty(), "{:?}", added.problems);
    }
    let kernels = database.kernels().collect();
    (database, kernels)
}

fn texts(kernel: &IndexedKernel) -> Vec<String> {
    kernel.instructions().unwrap().map(|it| it.text()).collect()
}

#[test]
fn a_database_unpacks_again_what_it_does_not_keep() {
    let folder = scratch_dir();
    let path = file(folder.path(), LAST);
    for (target, name) in TARGETS.into_iter().zip(OBJECTS) {
        let plain = Database::new();
        plain.add(name, fs::read(fixture(name)).unwrap()).unwrap();
        let expected: Vec<_> =
            plain.kernels().map(|it| (it.name().to_string(), texts(&it))).collect();
        let target = target.parse().unwrap();
        for wanted in [Wanted::Target(target), Wanted::Device(target)] {
            for keep in [0, 1 << 20, 128 << 20] {
                let (database, kernels) = kernels(&path, wanted, keep);
                assert_eq!(database.objects().len(), 2);
                let found: Vec<_> =
                    kernels.iter().map(|it| (it.name().to_string(), texts(it))).collect();
                assert_eq!(found, [expected.clone(), expected.clone()].concat());
                let data = database.objects()[1].data().unwrap().into_owned();
                assert!(data.starts_with(&fs::read(fixture(name)).unwrap()));
                assert_eq!(database.objects()[1].data().unwrap(), data);
            }
        }
    }
}

#[test]
fn a_database_says_when_the_file_is_no_longer_what_it_was() {
    let folder = scratch_dir();
    let path = file(folder.path(), NO_DAMAGE);
    let wanted = Wanted::Target("gfx942".parse().unwrap());
    let (_forgets, forgotten) = kernels(&path, wanted, 0);
    let (_keeps, kept) = kernels(&path, wanted, 128 << 20);
    fs::write(&path, b"something else").unwrap();
    let error = forgotten[0].instructions().err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Changed, "{error}");
    assert!(kept[0].instructions().is_ok());
}

/// What is all wanted is compared with its hash, and not kept either.
#[test]
fn a_database_of_all_targets_verifies() {
    let folder = scratch_dir();
    let path = file(folder.path(), LAST);
    let database = Database::new();
    for input in stored_inputs(&[path.into_os_string()]) {
        let added = database.add("library", input.ok().unwrap().content).unwrap();
        assert_eq!(added.objects.len(), 6);
        assert!(added.problems[0].to_string().contains("its hash is"), "{:?}", added.problems);
    }
}
