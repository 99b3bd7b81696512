//! `cargo xtask install --prefix DIR`: the command, the libraries and all that belongs to them.

pub(crate) mod deb;
mod tree;

use std::env::consts::EXE_SUFFIX;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use hsaco_tests::workspace_root;

use crate::args::Args;
use crate::process;

pub(crate) fn run(mut args: Args) -> Result<()> {
    let prefix: PathBuf = args.option("--prefix")?.context("--prefix DIR says where to")?;
    let profile: Option<String> = args.option("--profile")?;
    args.finish()?;
    let prefix = std::path::absolute(prefix)?;
    let artifacts = build(profile.as_deref().unwrap_or("release"))?;
    for path in artifacts.install(&workspace_root(), &prefix)? {
        println!("{}", path.display());
    }
    Ok(())
}

/// Builds the command and the libraries.
pub(crate) fn build(profile: &str) -> Result<tree::Artifacts> {
    let target = process::target_dir()?;
    let mut build = process::cargo();
    build.args(["build", "-p", "hsaco-cli", "-p", "hsaco-capi", "--profile", profile]);
    process::run(build.arg("--target-dir").arg(&target))?;
    let folder = target.join(if profile == "dev" { "debug" } else { profile });
    Ok(tree::Artifacts {
        command: folder.join(format!("hsaco{EXE_SUFFIX}")),
        archive: folder.join("libhsaco_c.a"),
    })
}
