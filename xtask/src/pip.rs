//! Python's package installer.

use std::process::Command;

use anyhow::Result;

use crate::{apt, process};

/// `python3 -m pip`, which is installed if need be. It takes wheels only.
pub(crate) fn pip(verb: &str) -> Result<Command> {
    if process::output(Command::new("python3").args(["-m", "pip", "--version"])).is_err() {
        apt::install(&["python3-pip"])?;
    }
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", verb, "--quiet", "--only-binary=:all:"]);
    // What is installed goes to folders of its own.
    pip.env("PIP_ROOT_USER_ACTION", "ignore");
    Ok(pip)
}
