//! What tests of every crate share: where things are, which tools are there, scratch folders.
//!
//! A test that needs an outside tool or the corpus skips without it, but fails when `CI` is set:
//!
//! ```
//! hsaco_tests::require_tools!("llvm-readelf-22");
//! ```

pub mod assembly;
pub mod broken;
pub mod diff;
pub mod disassembly;
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

/// A file of the corpus, e.g. `corpus_file("debian/librocrand.so.1.1")`, if it was fetched.
///
/// # Panics
/// Panics when the file is missing and `CI` is set.
pub fn corpus_file(name: &str) -> Option<PathBuf> {
    let path = corpus_dir().join(name);
    if path.is_file() {
        return Some(path);
    }
    skip_or_fail(&format!("corpus file {name} is missing: run `cargo xtask corpus`"));
    None
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

/// Are all these tools on `PATH`? If not, says which are missing.
///
/// # Panics
/// Panics when one is missing and `CI` is set.
pub fn have_tools(names: &[&str]) -> bool {
    let missing: Vec<_> = names.iter().copied().filter(|name| tool(name).is_none()).collect();
    if missing.is_empty() {
        return true;
    }
    skip_or_fail(&format!("missing tools: {}", missing.join(", ")));
    false
}

/// Returns from the calling test when a tool is missing, or fails it when `CI` is set.
#[macro_export]
macro_rules! require_tools {
    ($($name:expr),+ $(,)?) => {
        if !$crate::have_tools(&[$($name),+]) {
            return;
        }
    };
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

#[allow(clippy::panic, reason = "a test helper: failing the test is the point")]
fn skip_or_fail(why: &str) {
    assert!(!in_ci(), "{why}");
    eprintln!("skipped: {why}");
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
