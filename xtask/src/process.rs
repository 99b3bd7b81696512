//! Running other programs.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context as _, Result, bail, ensure};
use hsaco_tests::workspace_root;

/// The cargo that runs us, in the workspace's folder.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(workspace_root());
    command
}

/// The optimised `hsaco`: `$HSACO_BIN`, else built where we were built.
pub(crate) fn release_hsaco() -> Result<PathBuf> {
    match env::var_os("HSACO_BIN") {
        Some(path) => Ok(fs::canonicalize(path)?),
        None => release_binary("hsaco-cli", "hsaco"),
    }
}

/// A binary of the workspace, optimised.
pub(crate) fn release_binary(package: &str, name: &str) -> Result<PathBuf> {
    let target = target_dir()?;
    let mut build = cargo();
    build.args(["build", "--release", "--quiet", "--package", package, "--target-dir"]);
    run(build.arg(&target))?;
    Ok(target.join("release").join(format!("{name}{}", env::consts::EXE_SUFFIX)))
}

/// The folder that cargo builds into.
pub(crate) fn target_dir() -> Result<PathBuf> {
    let this = env::current_exe()?;
    let target = this.ancestors().nth(2).context("xtask stands in no target folder")?;
    Ok(target.to_owned())
}

/// Removes a folder, if it is there.
pub(crate) fn remove_dir(dir: &Path) -> Result<()> {
    if dir.exists() {
        fs::remove_dir_all(dir).with_context(|| dir.display().to_string())?;
    }
    Ok(())
}

/// Runs a command whose output goes to the terminal.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| describe(command))?;
    ensure!(status.success(), "`{}`: {status}", describe(command));
    Ok(())
}

/// Runs a command and returns what it prints; its standard error shows only if it fails.
pub(crate) fn output(command: &mut Command) -> Result<Vec<u8>> {
    let Output { status, stdout, stderr } = command.output().with_context(|| describe(command))?;
    if !status.success() {
        bail!("`{}`: {status}\n{}", describe(command), String::from_utf8_lossy(&stderr).trim_end());
    }
    Ok(stdout)
}

/// The command as one would type it.
pub(crate) fn describe(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let mut text = program.file_name().unwrap_or(program.as_os_str()).display().to_string();
    for arg in command.get_args() {
        text.push(' ');
        text.push_str(&arg.display().to_string());
    }
    text
}
