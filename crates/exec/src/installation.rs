//! Where the runtime is, and the preload that goes with it.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

/// The name under which programs ask for the runtime.
const SONAME: &str = "libhsa-runtime64.so.1";

/// The name under which cargo builds it.
const BUILT: &str = "libhsa_runtime64.so";

/// The library that answers for a driver.
const PRELOAD: &str = "libhsaco_preload.so";

/// The libraries that stand between a program and the emulator.
///
/// ```no_run
/// let here = std::env::current_exe()?;
/// let installation = hsaco_exec::Installation::find(&here, None)?;
/// println!("{}", installation.runtime().display());
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installation {
    runtime: PathBuf,
    preload: Option<PathBuf>,
}

impl Installation {
    /// Looks for the libraries where `named` says, a file or its folder, or else around the command: beside it, where cargo
    /// builds, and in `../lib/hsaco`, where they are installed.
    ///
    /// # Errors
    /// There is no runtime, with all places that were looked at.
    pub fn find(command: &Path, named: Option<&OsStr>) -> Result<Self> {
        let places = match named {
            Some(named) => vec![PathBuf::from(named)],
            None => around(command),
        };
        let candidates = places.iter().flat_map(|it| [it.clone(), it.join(SONAME), it.join(BUILT)]);
        let Some(runtime) = candidates.into_iter().find(|it| it.is_file()) else {
            let places: Vec<_> = places.iter().map(|it| it.display().to_string()).collect();
            bail!(
                "no {SONAME} in {}: build it with `cargo build --release -p hsaco-hsa -p hsaco-preload`, or say where it is \
                 with HSACO_RUNTIME",
                places.join(" or ")
            );
        };
        let runtime = runtime.canonicalize().with_context(|| runtime.display().to_string())?;
        let beside = runtime.parent().map(Path::to_path_buf);
        let preloads = beside.into_iter().chain(around(command)).map(|it| it.join(PRELOAD));
        Ok(Self { preload: preloads.into_iter().find(|it| it.is_file()), runtime })
    }

    /// The file of the runtime.
    #[must_use]
    pub fn runtime(&self) -> &Path {
        &self.runtime
    }

    /// The library that answers for a driver, if it is there.
    #[must_use]
    pub fn preload(&self) -> Option<&Path> {
        self.preload.as_deref()
    }

    /// A folder in which programs find the runtime under its name. Beside a build it is made, and holds a link.
    pub(crate) fn folder(&self) -> Result<PathBuf> {
        let folder = self.runtime.parent().unwrap_or(Path::new("/"));
        if self.runtime.file_name() == Some(OsStr::new(SONAME)) {
            return Ok(folder.to_path_buf());
        }
        let folder = folder.join("hsaco-runtime");
        let why = || {
            format!(
                "{}: no place for a link to the runtime; HSACO_RUNTIME may name a file called {SONAME}",
                folder.display()
            )
        };
        fs::create_dir_all(&folder).with_context(why)?;
        link(&self.runtime, &folder.join(SONAME)).with_context(why)?;
        Ok(folder)
    }
}

/// The folders that may hold the libraries of a command.
fn around(command: &Path) -> Vec<PathBuf> {
    let command = command.canonicalize().unwrap_or_else(|_| command.to_path_buf());
    let folder = command.parent().unwrap_or(Path::new("/"));
    let installed = folder.parent().map(|it| it.join("lib/hsaco"));
    std::iter::once(folder.to_path_buf()).chain(installed).collect()
}

/// A link that is there, or is made whole: others may be about the same.
#[cfg(unix)]
fn link(file: &Path, link: &Path) -> std::io::Result<()> {
    if fs::read_link(link).is_ok_and(|it| it == file) {
        return Ok(());
    }
    let made = link.with_extension(std::process::id().to_string());
    std::os::unix::fs::symlink(file, &made)?;
    fs::rename(&made, link)
}

#[cfg(not(unix))]
fn link(_: &Path, _: &Path) -> std::io::Result<()> {
    Err(std::io::Error::other("programs of ROCm run on Linux only"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;
    use hsaco_tests::scratch_dir;

    fn touch(path: &Path) -> PathBuf {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
        path.canonicalize().unwrap()
    }

    #[test]
    fn a_build_gets_a_folder_with_the_name_that_programs_ask_for() {
        let dir = scratch_dir();
        let command = touch(&dir.path().join("release/hsaco"));
        let runtime = touch(&dir.path().join("release").join(BUILT));
        let found = Installation::find(&command, None).unwrap();
        assert_eq!((found.runtime(), found.preload()), (runtime.as_path(), None));
        for _ in 0..2 {
            let folder = found.folder().unwrap();
            assert_eq!(folder.join(SONAME).canonicalize().unwrap(), runtime);
            assert_eq!(fs::read_dir(folder).unwrap().count(), 1);
        }
    }

    #[test]
    fn an_installation_is_used_as_it_is() {
        let dir = scratch_dir();
        let command = touch(&dir.path().join("bin/hsaco"));
        let runtime = touch(&dir.path().join("lib/hsaco").join(SONAME));
        let preload = touch(&dir.path().join("lib/hsaco").join(PRELOAD));
        let found = Installation::find(&command, None).unwrap();
        assert_eq!(
            (found.runtime(), found.preload()),
            (runtime.as_path(), Some(preload.as_path()))
        );
        assert_eq!(Some(found.folder().unwrap().as_path()), runtime.parent());
    }

    #[test]
    fn a_name_wins_and_nothing_is_said_so() {
        let dir = scratch_dir();
        let command = touch(&dir.path().join("bin/hsaco"));
        let named = touch(&dir.path().join("elsewhere").join(SONAME));
        for name in [named.as_path(), named.parent().unwrap()] {
            let found = Installation::find(&command, Some(name.as_os_str())).unwrap();
            assert_eq!(found.runtime(), named);
        }
        let missing = Installation::find(&command, None).unwrap_err().to_string();
        assert!(missing.starts_with("no libhsa-runtime64.so.1 in "), "{missing}");
        assert!(missing.contains("/bin or ") && missing.contains("/lib/hsaco: "), "{missing}");
    }
}
