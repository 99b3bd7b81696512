//! `hsaco exec` itself: exit codes, arguments, and what a program finds.

use std::path::Path;

use super::{exec, libraries, text};

fn shell(options: &[&str], script: &str) -> (Option<i32>, String, String) {
    let output = exec(options, Path::new("sh"), &["-c", script, "sh", "a b", "*"]);
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn the_exit_code_and_the_arguments_are_the_programs() {
    assert_eq!(
        shell(&[], "printf '%s|' \"$@\"; exit 42"),
        (Some(42), "a b|*|".to_owned(), String::new())
    );
    assert_eq!(shell(&[], "kill -9 $$").0, None);
}

#[test]
fn options_are_the_variables_of_the_runtime() {
    let options = [
        "--device=gfx942,gfx1100",
        "--check",
        "--patch=gfx1250-b0-to-a0",
        "--trace=lines.json",
        "--dump=folder",
        "--summary=file",
    ];
    let (code, variables, _) = shell(&options, "env | grep ^HSACO_ | grep -v HSACO_RUNTIME | sort");
    assert_eq!(code, Some(0));
    expect_test::expect![[r#"
        HSACO_CHECK=1
        HSACO_DEVICES=gfx942,gfx1100
        HSACO_DUMP=folder
        HSACO_PATCH=gfx1250-b0-to-a0
        HSACO_SUMMARY=file
        HSACO_TRACE=lines.json
    "#]]
    .assert_eq(&variables);
}

#[test]
fn a_program_finds_the_runtime_by_its_name() {
    let (code, found, _) = shell(&[], "readlink -f ${LD_LIBRARY_PATH%%:*}/libhsa-runtime64.so.1");
    let runtime = libraries().join("libhsa_runtime64.so").canonicalize().unwrap();
    assert_eq!((code, found.trim()), (Some(0), runtime.to_str().unwrap()));
}

#[test]
fn a_driver_that_is_not_there_is_answered_for() {
    if Path::new("/dev/kfd").exists() {
        return;
    }
    let (code, _, _) = shell(&[], "exec 3</dev/kfd");
    assert_eq!(code, Some(0));
    let (code, _, complaint) = shell(&[], "exec 3</dev/no-such-device");
    assert_eq!(code, Some(2), "{complaint}");
}

#[test]
fn a_program_that_is_not_there_is_an_error() {
    let output = exec(&[], Path::new("no-such-program"), &[""; 0]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), String::new()));
    assert_eq!(
        text(&output.stderr),
        "hsaco: no-such-program: No such file or directory (os error 2)\n"
    );
}
