//! What the runtime is told, as the variables that it reads.

use std::convert::Infallible;
use std::env;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::Installation;

/// How a program is to be run; what is not said is left as the environment has it.
///
/// ```
/// let settings = hsaco_exec::ExecSettings { check: true, ..Default::default() };
/// assert_eq!(settings.variables(), [("HSACO_CHECK", "1".into())]);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExecSettings {
    /// The devices, `gfx942,gfx1100`.
    pub devices: Option<OsString>,
    /// A file that describes devices.
    pub config: Option<OsString>,
    /// Print what `check` finds in objects that are loaded.
    pub check: bool,
    /// The rule set by which objects are rewritten when they are loaded.
    pub patch: Option<OsString>,
    /// What kernels are watched for.
    pub sanitize: Option<OsString>,
    /// What is traced.
    pub trace: Option<OsString>,
    /// The folder that objects and dispatches are written into.
    pub dump: Option<OsString>,
    /// Where what was run is summed up: `1` for standard error, or a file.
    pub summary: Option<OsString>,
}

impl ExecSettings {
    /// The variables of the runtime that these settings are.
    #[must_use]
    pub fn variables(&self) -> Vec<(&'static str, OsString)> {
        let check = self.check.then(|| OsString::from("1"));
        let all = [
            ("HSACO_DEVICES", &self.devices),
            ("HSACO_CONFIG", &self.config),
            ("HSACO_CHECK", &check),
            ("HSACO_PATCH", &self.patch),
            ("HSACO_SANITIZE", &self.sanitize),
            ("HSACO_TRACE", &self.trace),
            ("HSACO_DUMP", &self.dump),
            ("HSACO_SUMMARY", &self.summary),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value.clone()?))).collect()
    }

    /// The program, ready to be started.
    ///
    /// # Errors
    /// No folder can be made in which it finds the runtime.
    pub fn command(
        &self,
        installation: &Installation,
        program: &OsStr,
        arguments: &[OsString],
    ) -> Result<Command> {
        let mut command = Command::new(program);
        command.args(arguments).envs(self.variables());
        let folder = installation.folder()?;
        command.env("LD_LIBRARY_PATH", before(folder.as_os_str(), "LD_LIBRARY_PATH"));
        if let Some(preload) = installation.preload() {
            command.env("LD_PRELOAD", before(preload.as_os_str(), "LD_PRELOAD"));
        }
        Ok(command)
    }

    /// Becomes the program: returns only if it cannot be started.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn exec(
        &self,
        installation: &Installation,
        program: &OsStr,
        arguments: &[OsString],
    ) -> Result<Infallible> {
        let error = become_it(self.command(installation, program, arguments)?);
        Err(error).with_context(|| Path::new(program).display().to_string())
    }
}

#[cfg(unix)]
fn become_it(mut command: Command) -> std::io::Error {
    use std::os::unix::process::CommandExt as _;
    command.exec()
}

#[cfg(not(unix))]
fn become_it(_: Command) -> std::io::Error {
    std::io::Error::other("programs of ROCm run on Linux only")
}

/// A list of paths with one more in front.
fn before(path: &OsStr, variable: &str) -> OsString {
    let mut list = path.to_os_string();
    if let Some(more) = env::var_os(variable).filter(|it| !it.is_empty()) {
        list.push(":");
        list.push(more);
    }
    list
}
