//! `cargo xtask threads`: signals and queues of the HSA runtime under ThreadSanitizer, with nightly and its `rust-src`.

use std::process::Command;

use anyhow::Result;
use hsaco_tests::workspace_root;

use crate::args::Args;
use crate::process;

const TARGET: &str = "x86_64-unknown-linux-gnu";

pub(crate) fn run(args: Args) -> Result<()> {
    args.finish()?;
    let folder = process::target_dir()?.join("threads");
    // `cargo` here must be rustup's: the one that runs us is already bound to a toolchain.
    let mut cargo = Command::new("cargo");
    cargo.args(["+nightly", "run", "-Zbuild-std", "--target", TARGET]);
    cargo.args(["--manifest-path", "tests/threads/Cargo.toml", "--target-dir"]).arg(folder);
    cargo.env("RUSTFLAGS", "-Zsanitizer=thread");
    cargo.current_dir(workspace_root()).env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO");
    process::run(&mut cargo)
}
