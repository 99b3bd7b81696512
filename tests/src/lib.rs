//! What tests of every crate share: where things are, which tools are there, scratch folders.
//!
//! A test that needs an outside tool or the corpus says so, and is ignored without it unless `CI` is set:
//!
//! ```ignore
//! #[test]
//! #[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
//! #[cfg_attr(not(corpus), ignore = "needs `cargo xtask corpus`")]
//! ```
//!
//! `requirements.rs` is the build script that sets both.

pub mod assembly;
pub mod broken;
pub mod browser;
pub mod diff;
pub mod disassembly;
pub mod every_target;
pub mod exact;
pub mod gfx1250;
pub mod golden;
pub mod listing;
pub mod oracle;
pub mod program;
pub mod random;
pub mod readelf;
pub mod reassembly;
pub mod rewritten;
pub mod rocm;
pub mod run_line;

use std::env;
use std::path::{Path, PathBuf};

pub use tempfile::TempDir;

/// The folder that holds the workspace's `Cargo.toml`.
pub fn workspace_root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).to_path_buf()
}

/// The folder `tests/fixtures`.
pub fn fixtures_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

/// The path of one committed fixture, e.g. `fixture("s1.gfx942.co")`.
pub fn fixture(name: &str) -> PathBuf {
    fixtures_dir().join(name)
}

/// The folder that `cargo xtask corpus` fills: `$HSACO_CORPUS`, else `target/corpus`.
pub fn corpus_dir() -> PathBuf {
    match env::var_os("HSACO_CORPUS") {
        Some(dir) if !dir.is_empty() => PathBuf::from(dir),
        _ => workspace_root().join("target/corpus"),
    }
}

/// A file of the corpus, e.g. `corpus_file("debian/librocrand.so.1.1")`. Its tests are ignored without `cfg(corpus)`.
///
/// # Panics
/// Panics when the file is missing.
pub fn corpus_file(name: &str) -> PathBuf {
    let path = corpus_dir().join(name);
    assert!(path.is_file(), "corpus file {name} is missing: run `cargo xtask corpus`");
    path
}

/// Is this a CI run, where nothing may be skipped? True when `CI` is set and not `false` or `0`.
pub fn in_ci() -> bool {
    env::var_os("CI").is_some_and(|value| !matches!(value.to_str(), Some("" | "0" | "false")))
}

/// The full path of a program on `PATH`.
pub fn tool(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let file = format!("{name}{}", env::consts::EXE_SUFFIX);
    env::split_paths(&path).map(|dir| dir.join(&file)).find(|candidate| candidate.is_file())
}

/// A fresh folder that is removed when the value is dropped.
///
/// # Panics
/// Panics when the folder cannot be made: no test can go on without it.
#[allow(clippy::panic, reason = "a test helper: failing the test is the point")]
pub fn scratch_dir() -> TempDir {
    match tempfile::Builder::new().prefix("hsaco-test-").tempdir() {
        Ok(dir) => dir,
        Err(error) => panic!("cannot make a scratch folder: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_found_on_the_path() {
        assert!(tool("cargo").is_some_and(|path| path.is_absolute()));
        assert_eq!(tool("hsaco-no-such-tool"), None);
    }

    #[test]
    fn the_root_holds_the_workspace() {
        assert!(workspace_root().join("tests/Cargo.toml").is_file());
        assert!(fixtures_dir().is_dir());
    }

    #[test]
    fn scratch_folders_vanish() {
        let dir = scratch_dir();
        let path = dir.path().to_path_buf();
        assert!(path.is_dir());
        drop(dir);
        assert!(!path.exists());
    }
}
