//! `cargo xtask package`: what users install, made and tried in an empty folder: crates, a Debian package.

use anyhow::{Result, ensure};
use hsaco_tests::workspace_root;

use crate::args::Args;
use crate::install::{self, deb};
use crate::process;

pub(crate) fn run(mut args: Args) -> Result<()> {
    let profile: Option<String> = args.option("--profile")?;
    let only: Option<String> = args.positional();
    args.finish()?;
    let profile = profile.unwrap_or_else(|| "release".to_owned());
    let wanted = |name: &str| only.as_deref().is_none_or(|it| it == name);
    ensure!(wanted("crates") || wanted("deb"), "there are the packages `crates` and `deb`");
    if wanted("crates") {
        crates()?;
    }
    if wanted("deb") {
        let folder = process::target_dir()?.join("packages");
        let package = deb::make(&install::build(&profile)?, &workspace_root(), &folder, "xz")?;
        println!("{}", package.display());
    }
    Ok(())
}

/// Has cargo package every crate, in the order in which they are published, and build each of what it packaged.
fn crates() -> Result<()> {
    let mut publish = process::cargo();
    process::run(publish.args(["publish", "--workspace", "--dry-run", "--allow-dirty"]))
}
