//! The script of the GitHub Action and the GitLab template, on a repository.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use hsaco_tests::program::hsaco_command;
use hsaco_tests::{TempDir, fixture, scratch_dir, workspace_root};

fn git(repository: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=n", "-c", "user.email=n@example.org"]);
    let output = command.args(arguments).current_dir(repository).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A repository with an object that is good, on a branch `main`, and a change on top of it.
fn repository(change: impl FnOnce(&Path)) -> TempDir {
    let folder = scratch_dir();
    let path = folder.path();
    git(path, &["init", "-q", "-b", "main"]);
    fs::create_dir(path.join("lib")).unwrap();
    fs::copy(fixture("s1.gfx942.co"), path.join("lib/good kernel.co")).unwrap();
    fs::write(path.join("readme"), "text\n").unwrap();
    git(path, &["add", "."]);
    git(path, &["commit", "-qm", "base"]);
    git(path, &["checkout", "-qb", "change"]);
    change(path);
    git(path, &["add", "."]);
    git(path, &["commit", "-qm", "change", "--allow-empty"]);
    folder
}

fn check(repository: &TempDir, settings: &[(&str, &str)]) -> Output {
    let program = hsaco_command();
    let script = workspace_root().join("ci/check.sh");
    Command::new("sh")
        .arg(script)
        .current_dir(repository.path())
        .env("HSACO", program.get_program())
        .envs(settings.iter().copied())
        .output()
        .unwrap()
}

fn text(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

const CHANGE: (&str, &str) = ("HSACO_BASE", "main");

#[test]
fn a_change_without_gpu_code_is_fine() {
    let repository = repository(|path| fs::write(path.join("readme"), "more\n").unwrap());
    let none = "hsaco: no file of the change holds AMD GPU code\n".to_owned();
    assert_eq!(text(&check(&repository, &[CHANGE])), (0, String::new(), none));
}

#[test]
fn a_change_that_a_device_refuses_is_annotated() {
    let repository = repository(|path| {
        fs::copy(fixture("s1.gfx1100.co"), path.join("lib/other.co")).unwrap();
        fs::write(path.join("readme"), "more\n").unwrap();
    });
    let refused = check(&repository, &[CHANGE, ("HSACO_DEVICES", "gfx942")]);
    let (code, annotations, _) = text(&refused);
    assert_eq!(code, 1);
    assert!(annotations.starts_with("::error file=lib/other.co,"), "{annotations}");
    // What did not change is not looked at.
    assert!(!annotations.contains("good kernel"), "{annotations}");
    let (code, annotations, _) = text(&check(&repository, &[CHANGE, ("HSACO_DEVICES", "gfx1100")]));
    assert_eq!((code, annotations.as_str()), (0, ""));
    let all = check(&repository, &[("HSACO_FILES", "lib/*.co"), ("HSACO_DEVICES", "gfx1100")]);
    let (code, annotations, _) = text(&all);
    assert_eq!(code, 1);
    assert!(annotations.contains("file=lib/good kernel.co,"), "{annotations}");
}

#[test]
fn a_file_that_cannot_be_read_is_no_success() {
    let repository = repository(|path| {
        let whole = fs::read(fixture("s1.gfx942.co")).unwrap();
        fs::write(path.join("cut.co"), &whole[..5000]).unwrap();
    });
    let (code, annotations, _) = text(&check(&repository, &[CHANGE]));
    assert_ne!(code, 0);
    assert!(annotations.contains("file=cut.co,"), "{annotations}");
}

#[test]
fn a_baseline_lets_pass_what_it_knows() {
    let repository = repository(|path| {
        fs::copy(fixture("s1.gfx1100.co"), path.join("other.co")).unwrap();
    });
    let baseline = repository.path().join("baseline.json");
    let written = hsaco_command()
        .args(["check", "--device", "gfx942", "--write-baseline"])
        .arg(&baseline)
        .arg("other.co")
        .current_dir(repository.path())
        .output()
        .unwrap();
    assert!(baseline.is_file(), "{}", String::from_utf8_lossy(&written.stderr));
    let baseline = ("HSACO_BASELINE", "baseline.json");
    let settings = [CHANGE, ("HSACO_DEVICES", "gfx942"), baseline];
    assert_eq!(text(&check(&repository, &settings)).0, 0);
}

#[test]
fn reports_of_gitlab_and_summaries_of_github() {
    let repository = repository(|path| {
        fs::copy(fixture("s1.gfx1100.co"), path.join("other.co")).unwrap();
    });
    let settings = [
        CHANGE,
        ("HSACO_DEVICES", "gfx942"),
        ("HSACO_FORMAT", "junit"),
        ("HSACO_OUTPUT", "hsaco.xml"),
        ("GITHUB_STEP_SUMMARY", "summary.md"),
    ];
    assert_eq!(text(&check(&repository, &settings)).0, 1);
    let report = fs::read_to_string(repository.path().join("hsaco.xml")).unwrap();
    assert!(report.contains("<failure"), "{report}");
    let summary = fs::read_to_string(repository.path().join("summary.md")).unwrap();
    assert!(summary.contains("other.co"), "{summary}");
}
