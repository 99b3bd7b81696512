//! A check that looked at nothing has not passed.

use std::fs;
use std::path::Path;

use hsaco_tests::program::hsaco_command;
use hsaco_tests::scratch_dir;

use super::fixture;

fn hsaco(verb: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let output = hsaco_command().args(verb.split(' ')).args(arguments).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

fn path(name: &str) -> String {
    hsaco_tests::fixture(name).display().to_string()
}

#[test]
fn what_selects_nothing_is_an_error() {
    let dir = scratch_dir();
    let folder = dir.path().display().to_string();
    let (object, bundle) = (path("s1.gfx942.co"), path("plain.bundle"));
    let cases: &[&[&str]] = &[
        &["-t", "gfx1100", &object],
        &["--object", "7", &object],
        &["-t", "gfx1100", "--format", "json", &object],
        &["-t", "gfx1100", "--all-devices", &object],
        &["--object", "7", &bundle],
        &["-t", "gfx600", &bundle],
        &["-t", "gfx1100", "--device", "gfx942", &object, &object],
        &["-k", "no_such_kernel", "--ignore", "kernel-not-found", &object],
        &["--budget", "no_such_kernel: vgprs <= 1", &object],
        &[&folder],
    ];
    for arguments in cases {
        let (code, text) = hsaco("check", arguments);
        assert_eq!(code, Some(2), "{arguments:?}: {text}");
        assert!(text.contains("nothing was"), "{arguments:?}: {text}");
        assert!(!text.contains("passes"), "{arguments:?}: {text}");
    }
    fs::write(dir.path().join("notes.txt"), "no code").unwrap();
    let (code, text) = hsaco("check", &[&folder]);
    assert_eq!(code, Some(2), "{text}");
    let baseline = dir.path().join("known.json").display().to_string();
    hsaco("check", &["--write-baseline", &baseline, "-t", "gfx1100", &object]);
    assert!(!Path::new(&baseline).exists(), "a baseline of nothing");
}

#[test]
fn rules_that_cannot_find_anything_are_an_error() {
    let object = path("s1.gfx942.co");
    for arguments in [
        &["--select", "lds-limit", "--ignore", "lds-limit"][..],
        &["--select", "budget"],
        &["--select", "regression"],
        &["--select", "lds-limit", "--ignore", "lds-limit", "-k", "foo"],
    ] {
        let (code, text) = hsaco("check", &[arguments, &[&object]].concat());
        assert_eq!(code, Some(2), "{arguments:?}: {text}");
        assert!(text.contains("no rule is left"), "{arguments:?}: {text}");
    }
}

#[test]
fn a_kernel_that_is_not_there_is_told_whatever_rules_are_selected() {
    let object = path("s1.gfx942.co");
    let (code, text) = hsaco("check", &["--select", "lds-limit", "-k", "no_such", &object]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("kernel-not-found"), "{text}");
}

#[test]
fn what_selects_something_is_checked() {
    let (object, bundle) = (path("s1.gfx942.co"), path("plain.bundle"));
    for arguments in [
        &["-t", "gfx942", &object][..],
        &["--object", "0", &object],
        &["-t", "gfx9*", &object],
        &["--object", "1", &bundle],
        &["-t", "gfx942", &object, &path("s1.gfx1100.co")],
        &["--budget", "foo: vgprs <= 512", &object],
    ] {
        let (code, text) = hsaco("check", arguments);
        assert_eq!(code, Some(0), "{arguments:?}: {text}");
    }
}

#[test]
fn arguments_of_a_malformed_kernel_are_not_checked_in_silence() {
    let dir = scratch_dir();
    let (file, buffer) = (dir.path().join("broken.co"), dir.path().join("buffer.bin"));
    let mut bytes = fixture("s1.gfx942.co");
    let args = bytes.windows(5).position(|it| it == b".args").unwrap();
    bytes[args + 5] = 0xc1;
    fs::write(&file, &bytes).unwrap();
    fs::write(&buffer, [0; 24]).unwrap();
    let (file, buffer) = (file.display().to_string(), buffer.display().to_string());
    for action in ["check", "unpack"] {
        let (code, text) = hsaco(&format!("kernarg {action}"), &[&buffer, "-k", "foo", &file]);
        assert!(text.contains("malformed"), "{action}: {text}");
        assert_eq!(code, Some(2), "{action}: {text}");
    }
}
