//! Programs of ROCm on hsaco's HSA runtime: HIP, its libraries, rocminfo, and clients of the HSA interface alone.
#![cfg(target_os = "linux")]
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

#[path = "runtime/exec.rs"]
mod exec;
#[path = "runtime/functions.rs"]
mod functions;
#[path = "runtime/programs.rs"]
mod programs;
#[path = "runtime/rocminfo.rs"]
mod rocminfo;
#[path = "runtime/workflow.rs"]
mod workflow;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use hsaco_tests::program::hsaco_binary;

/// Where cargo has put the runtime and the preload: beside this test.
fn libraries() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    test.parent().expect("a test is in a folder").to_path_buf()
}

/// The command under test.
fn hsaco() -> &'static Path {
    static HSACO: OnceLock<PathBuf> = OnceLock::new();
    HSACO.get_or_init(|| hsaco_binary().expect("hsaco is built"))
}

/// `hsaco exec` with options, then the program and its arguments.
fn exec(options: &[&str], program: &Path, arguments: &[impl AsRef<OsStr>]) -> Output {
    let mut command = Command::new(hsaco());
    command.arg("exec").args(options).arg("--").arg(program).args(arguments);
    command.env("HSACO_RUNTIME", libraries());
    command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What the program said, which must have ended well and complained of nothing.
fn said(output: &Output) -> String {
    let (code, complaint) = (output.status.code(), text(&output.stderr));
    assert_eq!(
        (code, complaint.as_str()),
        (Some(0), ""),
        "{:?}: {}",
        output.status,
        text(&output.stdout)
    );
    text(&output.stdout)
}
