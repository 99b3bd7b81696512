//! The examples build against both libraries, and do and refuse what they should.
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use hsaco_tests::{fixture, scratch_dir, workspace_root};

fn root() -> PathBuf {
    workspace_root().join("crates/capi")
}

/// Where cargo has put the libraries: beside this test.
fn libraries() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    test.parent().expect("a test is in a folder").to_path_buf()
}

fn run(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

fn compile(command: &mut Command) {
    let output = run(command);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// What the example says of a fixture.
fn says(program: &Path, device: &str) -> (Option<i32>, String) {
    let output = run(Command::new(program).arg(device).arg(fixture("s1.gfx942.co")));
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

fn check(program: &Path) {
    assert_eq!(says(program, "gfx942"), (Some(0), "registered\n".to_owned()));
    let (code, text) = says(program, "gfx950");
    assert_eq!(code, Some(1));
    assert_eq!(
        text,
        "target-mismatch in the object\n\
         refused: error: target-mismatch: compiled for gfx942, and the device is gfx950: exact processors do not run \
         each other's code (e_flags, at offset 0x30); compile for gfx950 or gfx9-4-generic\n"
    );
    let (code, text) = says(program, "gfx");
    assert_eq!(code, Some(1));
    assert!(text.starts_with("refused: device 'gfx': "), "{text}");
}

fn example() -> Command {
    let mut command = Command::new("c++");
    command.args(["-std=c++11", "-Wall", "-Wextra", "-Werror", "-I"]).arg(root().join("include"));
    command.arg(root().join("examples/registration.cpp"));
    command
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn the_example_runs_with_the_static_library() {
    let dir = scratch_dir();
    let program = dir.path().join("registration");
    let mut command = example();
    command.arg(libraries().join("libhsaco_c.a")).args(["-lpthread", "-ldl", "-lm", "-o"]);
    compile(command.arg(&program));
    check(&program);
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn the_example_runs_with_the_shared_library() {
    let dir = scratch_dir();
    let program = dir.path().join("registration");
    let mut command = example();
    command.arg("-L").arg(libraries()).arg("-lhsaco_c");
    command.arg(format!("-Wl,-rpath,{}", libraries().display())).arg("-o");
    compile(command.arg(&program));
    check(&program);
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn a_runtime_in_c_puts_objects_together() {
    let dir = scratch_dir();
    let program = dir.path().join("loader");
    let mut command = Command::new("cc");
    command.args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I"]);
    command.arg(root().join("include")).arg(root().join("examples/loader.c"));
    command.arg(libraries().join("libhsaco_c.a")).args(["-lpthread", "-ldl", "-lm", "-o"]);
    compile(command.arg(&program));
    let says = |device: &str, files: &[&str]| {
        let files = files.iter().map(|name| fixture(name));
        let output = run(Command::new(&program).arg(device).args(files));
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (code, text) = says("gfx942", &["scale-user.co", "scale-library.co"]);
    assert_eq!(code, Some(0), "{text}");
    expect_test::expect![[r#"
        0x7f0000004400 external scale
        0x7f00000069b8 external factor
        0x7f00000008c0 kernel apply.kd, code at 0x7f0000001900
        0x7f0000004900 function wide, code at 0x7f0000004900
        0x7f0000004400 function scale, code at 0x7f0000004400
        0x7f00000069b8 variable factor
        8020 bytes of memory, linked: yes
    "#]]
    .assert_eq(&text);
    let (code, text) = says("gfx942", &["scale-user.co"]);
    assert_eq!(code, Some(1));
    expect_test::expect![[r#"
        hsa status 0x1015
        not frozen: undefined-symbol: `factor` is wanted by object (at 0x2e68), and no object defines it
        undefined-symbol: `scale` is wanted by object (at 0x2e60), and no object defines it
    "#]].assert_eq(&text);
    let (code, text) = says("gfx1100", &["scale-user.co"]);
    assert_eq!(code, Some(1));
    assert!(text.starts_with("not loaded: object: wrong-device: "), "{text}");
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn the_header_is_plain_c() {
    let mut command = Command::new("cc");
    command.args([
        "-std=c99",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-pedantic",
        "-fsyntax-only",
        "-x",
        "c",
    ]);
    compile(command.arg(root().join("include/hsaco.h")));
}
