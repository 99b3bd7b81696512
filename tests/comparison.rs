//! `hsaco diff` of whole libraries: what belongs together, and what is worse.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use hsaco::container::bundle;
use hsaco_tests::program::{Ran, hsaco, run, sh};
use hsaco_tests::{corpus_dir, corpus_file, fixture, scratch_dir};

/// An object of a library: its target and the fixture that it is.
type Object = (&'static str, &'static str);

const S1: Object = ("gfx942", "s1.gfx942.co");
const S1_GFX11: Object = ("gfx1100", "s1.gfx1100.co");
const S1_GENERIC: Object = ("gfx11-generic", "s1.gfx11-generic.co");
const LINES: Object = ("gfx942", "lines.dwarf5.co");
const MANGLED: Object = ("gfx942", "mangled.co");

/// A library: bundles that follow one another, as linkers put them.
fn library(folder: &Path, name: &str, bundles: &[&[Object]]) -> PathBuf {
    let mut bytes = Vec::new();
    for objects in bundles {
        let entry = |(target, file): &Object| {
            let content = fs::read(fixture(file)).unwrap();
            (format!("hipv4-amdgcn-amd-amdhsa--{target}"), content)
        };
        let entries: Vec<(String, Vec<u8>)> = objects.iter().map(entry).collect();
        bytes.resize(bytes.len().next_multiple_of(4096), 0);
        bytes.extend(bundle::write(&entries, 4096));
    }
    let path = folder.join(name);
    fs::write(&path, bytes).unwrap();
    path
}

fn diff(options: &[&str], a: &Path, b: &Path) -> Ran {
    let words = ["diff"].iter().chain(options).map(std::ffi::OsString::from);
    let ran = hsaco(words.chain([a.into(), b.into()]));
    assert_eq!(ran.stderr, "", "{options:?}");
    ran
}

#[test]
fn libraries_in_another_order_are_the_same() {
    let folder = scratch_dir();
    let a = library(folder.path(), "a", &[&[S1, S1_GFX11], &[LINES], &[MANGLED]]);
    let b = library(folder.path(), "b", &[&[MANGLED], &[S1_GFX11, S1], &[LINES]]);
    for options in [&[][..], &["--resources", "--format", "csv"], &["--no-code"]] {
        let ran = diff(options, &a, &b);
        assert_eq!(ran.code, Some(0), "{options:?}: {}", ran.text());
        assert!(ran.text().lines().count() <= 1, "{}", ran.text());
    }
}

#[test]
fn a_library_with_one_object_more_has_one_object_more() {
    let folder = scratch_dir();
    let a = library(folder.path(), "a", &[&[S1, S1_GFX11], &[LINES]]);
    let b = library(folder.path(), "b", &[&[MANGLED], &[S1, S1_GFX11], &[LINES]]);
    let ran = diff(&[], &a, &b);
    assert_eq!((ran.code, ran.text()), (Some(1), "object 0 (gfx942): only in B\n"));
    let ran = diff(&[], &b, &a);
    assert_eq!((ran.code, ran.text()), (Some(1), "object 0 (gfx942): only in A\n"));
}

#[test]
fn kernels_are_compared_with_what_a_device_would_choose_instead() {
    let folder = scratch_dir();
    let a = library(folder.path(), "a", &[&[LINES, S1_GENERIC]]);
    let b = library(folder.path(), "b", &[&[S1_GFX11, LINES]]);
    let ran = diff(&["--resources"], &a, &b);
    assert!(!ran.text().contains("only in"), "{}", ran.text());
    let ran = diff(&["--no-code"], &a, &b);
    let text = ran.text();
    assert!(text.contains("object 1 (gfx11-generic) and object 0 (gfx1100)"), "{text}");
    assert!(!text.contains("only in"), "{text}");
}

/// Bytes that have the same text are different bytes.
#[test]
fn instructions_that_are_encoded_otherwise_are_different() {
    let folder = scratch_dir();
    let mut bytes = fs::read(fixture("s1.gfx942.co")).unwrap();
    let whole = folder.path().join("whole.co");
    fs::write(&whole, &bytes).unwrap();
    let object = hsaco::object::CodeObject::parse(&bytes).unwrap();
    let section = object.elf().section_named(".text").unwrap();
    let start = usize::try_from(section.offset).unwrap();
    let end = start + usize::try_from(section.size).unwrap();
    // s_waitcnt has counters that only some of its bits say.
    let wait = (start..end).step_by(4).find(|at| bytes[at + 2..at + 4] == [0x8c, 0xbf]).unwrap();
    bytes[wait + 1] ^= 0x20;
    let other = folder.path().join("other.co");
    fs::write(&other, &bytes).unwrap();
    let ran = diff(&[], &whole, &other);
    assert_eq!(ran.code, Some(1), "{}", ran.text());
}

const SMALL: &str = "
#define KERNEL __attribute__((amdgpu_kernel, visibility(\"protected\"))) void
#define GLOBAL __attribute__((address_space(1)))
KERNEL grows(GLOBAL int *out, int n) { out[n] = n; }
KERNEL stays(GLOBAL int *out, int n) { out[n] = n + 1; }
";

const LARGE: &str = "
#define KERNEL __attribute__((amdgpu_kernel, visibility(\"protected\"))) void
#define GLOBAL __attribute__((address_space(1)))
KERNEL grows(GLOBAL int *out, int n) {
  volatile int a[75];
  for (int i = 0; i < n; i++) a[i % 75] = i;
  int v[90];
  for (int i = 0; i < 90; i++) v[i] = out[i];
  __builtin_amdgcn_s_barrier();
  for (int i = 0; i < 90; i++) out[i + 7] = v[89 - i] * a[i % 75];
}
KERNEL stays(GLOBAL int *out, int n) { out[n] = n + 1; }
";

/// Two releases of a library: in the second a kernel takes more.
fn releases(folder: &Path) -> (PathBuf, PathBuf) {
    for (name, source) in [("small", SMALL), ("large", LARGE)] {
        fs::write(folder.join(format!("{name}.c")), source).unwrap();
        let compile = "clang-22 -x c --target=amdgcn-amd-amdhsa -mcpu=gfx942 -nogpulib -O2";
        sh(folder, &format!("{compile} -c {name}.c -o {name}.o"));
        sh(folder, &format!("ld.lld-22 -shared {name}.o -o {name}.co"));
    }
    (folder.join("small.co"), folder.join("large.co"))
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn kernels_that_take_more_fail_and_kernels_that_take_less_do_not() {
    let folder = scratch_dir();
    let (small, large) = releases(folder.path());
    for options in [&["--fail-on-regression"][..], &["--fail-on-regression", "--resources"]] {
        assert_eq!(diff(options, &small, &large).code, Some(1), "{options:?}");
        assert_eq!(diff(options, &large, &small).code, Some(0), "{options:?}");
        assert_eq!(diff(options, &small, &small).code, Some(0), "{options:?}");
    }
    assert_eq!(diff(&["--resources"], &large, &small).code, Some(1));
    let ran = diff(&["--resources"], &small, &large);
    let text = ran.text();
    let row = text.lines().find(|line| line.ends_with("grows")).unwrap();
    assert!(row.contains("0 -> 3"), "{text}");
    assert!(!text.lines().any(|line| line.ends_with("stays")), "{text}");
    assert!(
        text.ends_with(
            "1 kernel changed, 1 worse in something, 0 better in something, 1 the same\n"
        )
    );
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
#[cfg_attr(not(corpus), ignore = "needs `cargo xtask corpus`")]
fn regressions_are_told_to_other_programs() {
    let folder = scratch_dir();
    let (small, large) = releases(folder.path());
    let github = diff(&["--format", "github"], &small, &large);
    let lines: Vec<&str> = github.text().lines().collect();
    assert!(lines.len() >= 3, "{lines:?}");
    assert!(lines.iter().all(|line| line.starts_with("::error file=") && line.contains("grows")));
    assert!(lines.iter().any(|line| line.contains("scratch rose from 0 to 3")), "{lines:?}");
    let csv = diff(&["--format", "csv"], &small, &large);
    let rows: Vec<Vec<&str>> = csv.text().lines().map(|it| it.split(',').collect()).collect();
    assert_eq!(rows.len(), 2, "{rows:?}");
    assert_eq!((rows[0][0], rows[1][0]), ("kernel", "grows"));
    assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{rows:?}");
    assert!(rows[1].last().unwrap().contains("vgprs"), "{rows:?}");
    let junit = diff(&["--format", "junit"], &small, &large);
    assert!(junit.text().contains("failures=\"1\""), "{}", junit.text());
    let junit = diff(&["--format", "junit"], &large, &small);
    assert!(junit.text().contains("failures=\"0\""), "{}", junit.text());
    let sarif = folder.path().join("regressions.sarif");
    let ran = diff(&["--format", "sarif", "-o", sarif.to_str().unwrap()], &small, &large);
    assert_eq!(ran.code, Some(1));
    let answer: serde_json::Value = serde_json::from_slice(&fs::read(&sarif).unwrap()).unwrap();
    let results = answer["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), lines.len());
    assert!(results.iter().all(|it| it["ruleId"] == "regression"));
    validate(&sarif);
}

/// Holds a document against the schema, where that was fetched.
fn validate(document: &Path) {
    const VALIDATE: &str = "
import json, sys, jsonschema
schema, document = (json.load(open(path)) for path in sys.argv[1:])
jsonschema.Draft7Validator(schema).validate(document)
";
    let schema = corpus_file("sarif/sarif-schema-2.1.0.json");
    let mut python = Command::new("python3");
    python.args(["-c", VALIDATE]).arg(schema).arg(document);
    python.env("PYTHONPATH", corpus_dir().join("sarif/library"));
    let ran = run(&mut python);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
}

/// A real library against a copy in which one bit of one kernel's code is another.
#[test]
#[cfg_attr(not(corpus), ignore = "needs `cargo xtask corpus`")]
fn one_changed_bit_of_a_real_library_is_one_kernel() {
    let path = corpus_file("debian/librocrand.so.1.1");
    let folder = scratch_dir();
    let mut bytes = fs::read(&path).unwrap();
    let place = {
        let entries = hsaco::container::entries(&bytes, &<_>::default());
        let entry = entries
            .filter_map(Result::ok)
            .filter(hsaco::container::Entry::is_object)
            .nth(3)
            .unwrap();
        let object = hsaco::object::CodeObject::parse(&entry.data).unwrap();
        let index = object.index();
        let kernel = &index.kernels()[5];
        let code = hsaco::object::CodeMap::new(&object, &index).kernel(kernel).unwrap().bytes;
        let offset = code.as_ptr() as usize - entry.data.as_ptr() as usize;
        usize::try_from(entry.offset.unwrap()).unwrap() + offset
    };
    // The register that the first instruction writes, or its constant.
    bytes[place] ^= 1;
    let changed = folder.path().join("changed.so");
    fs::write(&changed, bytes).unwrap();
    let ran = diff(&["--format", "json"], &path, &changed);
    assert_eq!(ran.code, Some(1));
    let answer: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    let objects = answer["objects"].as_array().unwrap();
    assert_eq!(objects.len(), 1);
    assert_eq!(objects[0]["functions"].as_array().unwrap().len(), 1);
    assert_eq!(answer["identical"], false);
}
