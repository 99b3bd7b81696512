//! Wheels, zip files, tar archives and Debian packages, against Python's writers and readers, dpkg-deb and pip.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use hsaco::container::{EntryKind, WalkOptions, entries, put_back};
use hsaco_tests::program::hsaco_command;
use hsaco_tests::{TempDir, fixture, scratch_dir, workspace_root};
use serde_json::Value;

/// A folder whose `files` holds fixtures.
fn folder_with(fixtures: &[&str]) -> TempDir {
    let folder = scratch_dir();
    let files = folder.path().join("files");
    fs::create_dir(&files).unwrap();
    for name in fixtures {
        fs::copy(fixture(name), files.join(name)).unwrap();
    }
    folder
}

fn python(script: &str, argument: &Path) -> String {
    let path = workspace_root().join("tests/packages.py");
    let output = Command::new("python3").arg(path).arg(script).arg(argument).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    String::from_utf8(output.stdout).unwrap()
}

fn hsaco(arguments: &[&dyn AsRef<std::ffi::OsStr>]) -> Output {
    hsaco_command().args(arguments.iter().map(|it| (*it).as_ref())).output().unwrap()
}

/// How often each file holds an object of each target: `lib/host.so gfx942`.
fn objects(answer: &Output) -> BTreeMap<String, usize> {
    let stderr = String::from_utf8_lossy(&answer.stderr);
    assert!(answer.status.success() && stderr.is_empty(), "{stderr}");
    let document: Value = serde_json::from_slice(&answer.stdout).unwrap();
    let mut found = BTreeMap::new();
    for file in document["files"].as_array().unwrap() {
        for object in file["objects"].as_array().unwrap() {
            let member = object["member"].as_str().or(file["path"].as_str()).unwrap();
            let name = member.rsplit('/').next().unwrap();
            let target = object["target"].as_str().unwrap();
            *found.entry(format!("{name} {target}")).or_default() += 1;
        }
    }
    found
}

const FILES: [&str; 5] = ["flow.co", "host.so", "host.a", "host.dll", "zstd-v3.bundle"];

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn every_format_holds_what_the_files_hold() {
    let folder = folder_with(&FILES);
    let files = folder.path().join("files");
    let expected = objects(&hsaco(&[&"ls", &"--format", &"json", &files]));
    assert!(expected.values().sum::<usize>() > 10, "{expected:?}");
    python("make", folder.path());
    let mut packages: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap().path()).collect();
    packages.retain(|path| path.is_file());
    assert_eq!(packages.len(), 3 + 2 + 12 + 4);
    for package in packages {
        let found = objects(&hsaco(&[&"ls", &"--format", &"json", &package]));
        assert_eq!(found, expected, "{}", package.display());
    }
}

/// What stands before a zip file stays there.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn a_program_of_python_keeps_its_first_line() {
    let folder = folder_with(&["host.so"]);
    python("make", folder.path());
    let small = folder.path().join("small.pyz");
    let program = folder.path().join("program.pyz");
    let output = hsaco(&[&"extract", &"--keep-target", &"gfx942", &"-o", &small, &program]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let bytes = fs::read(&small).unwrap();
    assert!(bytes.starts_with(b"#!/usr/bin/env python3\nPK"));
    assert_eq!(python("test", &small), "None\n");
    let found = objects(&hsaco(&[&"ls", &"--format", &"json", &small]));
    assert!(found.keys().all(|it| it.ends_with("gfx942")) && !found.is_empty(), "{found:?}");
}

/// Standard error and exit code of each, with the folder left out.
fn failures(folder: &Path, names: &[&str], options: &[&str]) -> String {
    let mut text = String::new();
    for name in names {
        let path = folder.join(name);
        let output = hsaco_command().arg("ls").args(options).arg(&path).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        let stderr = stderr.replace(&format!("{}/", folder.display()), "");
        text += &format!("{} {stderr}", output.status.code().unwrap());
        let stdout = String::from_utf8(output.stdout).unwrap();
        assert!(!stdout.contains("no AMD GPU code"), "{name}: {stdout}");
    }
    text
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn what_cannot_be_read_is_named() {
    let folder = folder_with(&["flow.co"]);
    python("break", folder.path());
    let zips = [
        "encrypted.zip",
        "lzma.zip",
        "unknown.zip",
        "checksum.zip",
        "longer.zip",
        "shorter.zip",
        "damaged.zip",
        "cut.zip",
    ];
    expect_test::expect![[r#"
        3 hsaco: encrypted.zip: unsupported: zip member: lib/broken.co: it is encrypted (at offset 0x348)
        3 hsaco: lzma.zip: unsupported: zip member: lib/broken.co: it is compressed with LZMA (at offset 0x348)
        3 hsaco: unknown.zip: unsupported: zip member: lib/broken.co: it is compressed with method 77 (at offset 0x348)
        2 hsaco: checksum.zip: mismatch: zip member: a checksum of cbe0197f, the directory says 00000001, in the decompressed lib/broken.co (at offset 0x0)
        2 hsaco: longer.zip: mismatch: zip member: 2855 bytes announced, the stream holds more, in lib/broken.co (at offset 0x2b)
        2 hsaco: shorter.zip: mismatch: zip member: 2857 bytes announced, the stream holds fewer, in lib/broken.co (at offset 0x2b)
        2 hsaco: damaged.zip: malformed: zip member: not a valid deflate stream, after 0 bytes of its content, in lib/broken.co (at offset 0x2b)
        2 hsaco: cut.zip: truncated: zip file: it ends without the table that ends a zip file (at offset 0x37b)
    "#]].assert_eq(&failures(folder.path(), &zips, &[]));
    // The words are those of the decoders.
    for name in ["cut.tar.gz", "cut.tar.xz", "cut.tar.bz2"] {
        let text = failures(folder.path(), &[name], &[]);
        assert!(text.starts_with(&format!("2 hsaco: {name}: truncated: ")), "{text}");
    }
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn bombs_are_refused() {
    let folder = folder_with(&["flow.co"]);
    python("break", folder.path());
    let text = failures(folder.path(), &["overlap.zip"], &[]);
    assert_eq!(text.lines().count(), 999);
    assert!(text.starts_with("2 hsaco: overlap.zip: malformed: zip member: lib/x: it shares bytes with another member"), "{text}");
    expect_test::expect![[r#"
        2 hsaco: large.zip: limit exceeded: zip member: 67108884 bytes uncompressed, 33554432 allowed, in lib/broken.co (at offset 0x2b)
    "#]].assert_eq(&failures(
        folder.path(),
        &["large.zip"],
        &["--max-size", "32M"],
    ));
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn a_wheel_with_fewer_targets_installs() {
    let folder = scratch_dir();
    // pip takes what a wheel is from its name.
    let wheel = folder.path().join("demo-1.0-py3-none-any.whl");
    let output =
        hsaco(&[&"extract", &"--keep-target", &"gfx942", &"-o", &wheel, &fixture("wheel.whl")]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found = objects(&hsaco(&[&"ls", &"--format", &"json", &wheel]));
    let expected = [("libdemo.so gfx942".to_owned(), 5), ("s1.gfx942.co gfx942".to_owned(), 1)];
    assert_eq!(found, BTreeMap::from(expected));
    let names = python("verify", &wheel);
    assert!(!names.contains("s1.gfx1100.co"), "{names}");
    assert!(
        fs::metadata(&wheel).unwrap().len() < fs::metadata(fixture("wheel.whl")).unwrap().len()
    );
    let environment = folder.path().join("environment");
    let run = |command: &mut Command| {
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    run(Command::new("python3").args(["-m", "venv"]).arg(&environment));
    let pip = environment.join("bin/pip");
    run(Command::new(&pip).args(["install", "--no-index", "--no-deps", "-q"]).arg(&wheel));
    run(Command::new(environment.join("bin/python")).args(["-c", "import demo"]));
    run(Command::new(&pip).args(["show", "-f", "demo"]));
}

/// A wheel with a changed object has its library changed, and a list of files that says so.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn a_rewritten_wheel_has_a_true_record() {
    let folder = scratch_dir();
    let wheel = folder.path().join("demo-1.0-py3-none-any.whl");
    let old = fs::read(fixture("wheel.whl")).unwrap();
    let options = WalkOptions::default();
    // The last is one of the library's.
    let all: Vec<_> = entries(&old, &options).map(Result::unwrap).collect();
    let number = all.iter().rposition(|it| it.kind == EntryKind::CodeObject).unwrap();
    let grown = [&*all[number].data, &[1; 5000]].concat();
    let new = put_back(&old, &options, BTreeMap::from([(number, grown.clone())])).unwrap();
    let found: Vec<_> = entries(&new, &options).map(Result::unwrap).collect();
    assert_eq!(found.len(), all.len());
    for (index, (new, old)) in found.iter().zip(&all).enumerate() {
        let expected: &[u8] = if index == number { &grown } else { &old.data };
        assert!(*new.data == *expected, "{index}");
    }
    fs::write(&wheel, &new).unwrap();
    assert_eq!(python("verify", &wheel).lines().count(), 7);
}
