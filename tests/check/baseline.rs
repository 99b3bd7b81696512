//! Baselines: what is known passes, what is new or worse fails, what is better is said.

use std::fs;
use std::path::Path;

use hsaco_tests::program::hsaco_command;
use hsaco_tests::scratch_dir;

use super::assembled::{Kernel, PLAIN, object};

const SMALL: Kernel = Kernel {
    directives: ".amdhsa_next_free_vgpr 42\n.amdhsa_accum_offset 44",
    metadata: &[(".vgpr_count", "42")],
    ..PLAIN
};
const LARGE: Kernel = Kernel {
    directives: ".amdhsa_next_free_vgpr 128\n.amdhsa_accum_offset 128\n.amdhsa_private_segment_fixed_size 300",
    metadata: &[(".vgpr_count", "128"), (".private_segment_fixed_size", "300")],
    ..PLAIN
};

/// The exit code and all that is said, with a folder to run in.
fn check(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = hsaco_command().current_dir(folder).arg("check").args(arguments).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn a_kernel_that_grew_fails_and_one_that_shrank_is_said() {
    let dir = scratch_dir();
    let file = dir.path().join("k.co");
    fs::write(&file, object("gfx942", &[SMALL])).unwrap();
    let (code, text) = check(dir.path(), &["--write-baseline", "known.json", "k.co"]);
    assert_eq!(code, Some(0), "{text}");
    let (code, text) = check(dir.path(), &["--baseline", "known.json", "k.co"]);
    assert_eq!(code, Some(0), "{text}");
    fs::write(&file, object("gfx942", &[LARGE])).unwrap();
    let (code, text) = check(dir.path(), &["--baseline", "known.json", "k.co"]);
    assert_eq!(code, Some(1), "{text}");
    let worse = "error[regression]: plain: worse than in the baseline: vgprs 42 -> 128, scratch 0 -> 300, occupancy 8 -> 4";
    assert!(text.contains(worse), "{text}");
    let (code, text) =
        check(dir.path(), &["--baseline", "known.json", "--ignore", "regression", "k.co"]);
    assert_eq!(code, Some(0), "{text}");
    check(dir.path(), &["--write-baseline", "known.json", "k.co"]);
    fs::write(&file, object("gfx942", &[SMALL])).unwrap();
    let (code, text) = check(dir.path(), &["--baseline", "known.json", "k.co"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("1 kernel better than the baseline"), "{text}");
    let (_, text) = check(dir.path(), &["--baseline", "known.json", "--notes", "k.co"]);
    assert!(
        text.contains("note[regression]: plain: better than in the baseline: vgprs 128 -> 42"),
        "{text}"
    );
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn a_finding_that_is_worse_than_it_was_is_not_known() {
    let dir = scratch_dir();
    let file = dir.path().join("k.co");
    let budget = ["--budget", "vgprs <= 32", "--ignore", "regression"];
    let run = |more: &[&str]| check(dir.path(), &[&budget, more, &["k.co"]].concat());
    fs::write(&file, object("gfx942", &[SMALL])).unwrap();
    assert_eq!(run(&["--write-baseline", "known.json"]).0, Some(1));
    assert_eq!(run(&["--baseline", "known.json"]).0, Some(0));
    fs::write(&file, object("gfx942", &[LARGE])).unwrap();
    let (code, text) = run(&["--baseline", "known.json"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("vgprs is 128, 96 over the budget"), "{text}");
    assert!(text.contains("baseline: known, and worse than it was"), "{text}");
    // The same finding of another target is another finding.
    fs::write(&file, object("gfx950", &[SMALL])).unwrap();
    let (code, text) = run(&["--baseline", "known.json"]);
    assert_eq!(code, Some(1), "{text}");
    // What is less bad than it was passes, and is said.
    fs::write(&file, object("gfx942", &[LARGE])).unwrap();
    run(&["--write-baseline", "known.json"]);
    fs::write(&file, object("gfx942", &[SMALL])).unwrap();
    let (code, text) = run(&["--baseline", "known.json"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("baseline: known, and better than it was"), "{text}");
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn a_baseline_holds_in_every_checkout_and_from_every_folder() {
    let (one, other) = (scratch_dir(), scratch_dir());
    for folder in [one.path(), other.path()] {
        fs::create_dir_all(folder.join("build/deep")).unwrap();
        fs::write(folder.join("build/k.co"), object("gfx942", &[SMALL])).unwrap();
    }
    let budget = ["--budget", "vgprs <= 32"];
    let run = |folder: &Path, more: &[&str]| check(folder, &[&budget, more].concat());
    let written = run(one.path(), &["--write-baseline", "known.json", "build/k.co"]);
    assert_eq!(written.0, Some(1), "{}", written.1);
    fs::copy(one.path().join("known.json"), other.path().join("known.json")).unwrap();
    let absolute = other.path().join("build/k.co").display().to_string();
    for (folder, baseline, file) in [
        ("", "known.json", "build/k.co"),
        ("", "known.json", "./build/deep/../k.co"),
        ("", "known.json", "build"),
        ("build/deep", "../../known.json", "../k.co"),
        ("build", "../known.json", absolute.as_str()),
    ] {
        let (code, text) = run(&other.path().join(folder), &["--baseline", baseline, file]);
        assert_eq!(code, Some(0), "{folder}: {file}: {text}");
    }
    fs::write(other.path().join("build/k.co"), object("gfx942", &[LARGE])).unwrap();
    let (code, text) = run(&other.path().join("build"), &["--baseline", "../known.json", "k.co"]);
    assert_eq!(code, Some(1), "{text}");
}

#[test]
fn a_baseline_of_an_older_version_says_how_to_write_a_new_one() {
    let dir = scratch_dir();
    let old = r#"{"schema_version": 1, "findings": []}"#;
    fs::write(dir.path().join("old.json"), old).unwrap();
    let file = hsaco_tests::fixture("s1.gfx942.co").display().to_string();
    let (code, text) = check(dir.path(), &["--baseline", "old.json", &file]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("old.json: a baseline of an older version"), "{text}");
    assert!(text.contains("write it again with --write-baseline"), "{text}");
}
