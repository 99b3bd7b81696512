//! Running LLVM's tools as the oracle, and random input for them.
#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A directory for one test's files, removed with everything in it at the end.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("hsaco-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a temporary directory");
        Self(path)
    }

    /// The path of a file in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file into it.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, bytes).expect("a writable temporary directory");
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A scratch directory when all tools are there; `None`, with a message, when a test must be
/// skipped. Under `CI` a missing tool fails the test.
pub(crate) fn tools(names: &[&str], scratch: &str) -> Option<Scratch> {
    for name in names {
        if Command::new(name).arg("--version").output().is_err() {
            assert!(std::env::var_os("CI").is_none(), "{name} is not installed");
            eprintln!("skipped: {name} is not installed");
            return None;
        }
    }
    Some(Scratch::new(scratch))
}

/// Runs a tool that must succeed, and returns what it printed.
pub(crate) fn run(tool: &str, arguments: &[&OsStr]) -> String {
    let output = Command::new(tool).args(arguments).output().expect("a tool that starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{tool} failed: {errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Reads a file that a tool wrote.
#[allow(dead_code, reason = "not every test file reads one")]
pub(crate) fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).expect("a file that was just written")
}
