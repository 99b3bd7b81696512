//! Debian's package tools, where they are there and may be used.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use hsaco_tests::tool;

use crate::process;

/// A server that does not answer may do so a moment later.
const RETRIES: &str = "-oAcquire::Retries=3";

/// Installs packages, if we are root.
pub(crate) fn install(packages: &[&str]) -> Result<()> {
    update()?;
    let mut install = Command::new("apt-get");
    install.args(["-q", RETRIES, "install", "-y", "--no-install-recommends"]).args(packages);
    process::run(install.env("DEBIAN_FRONTEND", "noninteractive"))
}

/// Installs packages unless the tool is there that they bring.
pub(crate) fn ensure(name: &str, packages: &[&str]) -> Result<()> {
    if tool(name).is_some() { Ok(()) } else { install(packages) }
}

/// Downloads the packages' files into a folder; anyone may do that.
pub(crate) fn download(packages: &[&str], folder: &Path) -> Result<()> {
    let attempt = || {
        // apt's own user may not write to our folder; without this it warns, then does it as root.
        let mut apt = Command::new("apt-get");
        apt.args(["-q", RETRIES, "-oAPT::Sandbox::User=root", "download"]);
        process::run(apt.args(packages).current_dir(folder))
    };
    // A fresh machine has no package lists.
    attempt().or_else(|_| update().and_then(|()| attempt()))
}

fn update() -> Result<()> {
    ensure!(tool("apt-get").is_some(), "no apt-get here");
    let user = process::output(Command::new("id").arg("-u"))?;
    ensure!(user.trim_ascii() == b"0", "not root, so no packages can be installed");
    process::run(Command::new("apt-get").args(["-q", RETRIES, "update"]))
}
