//! `cargo xtask fuzz`: fuzzing from the fixtures, with nightly and cargo-fuzz.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use hsaco_tests::{fixtures_dir, tool, workspace_root};

use crate::args::Args;
use crate::process;

const TARGETS: &[&str] = &["container", "object", "msgpack"];

pub(crate) fn run(mut args: Args) -> Result<()> {
    let minutes = args.option::<u64>("--minutes")?.unwrap_or(5).max(1);
    let target = args.positional();
    args.finish()?;
    let targets = match &target {
        None => TARGETS.to_vec(),
        Some(name) if TARGETS.contains(&name.as_str()) => vec![name.as_str()],
        Some(name) => bail!("no fuzz target `{name}`; there are {}", TARGETS.join(", ")),
    };
    if tool("cargo-fuzz").is_none() {
        process::run(process::cargo().args(["install", "cargo-fuzz", "--locked"]))?;
    }
    for target in targets {
        println!("==> {target}, {minutes} min");
        fuzz(target, minutes)?;
    }
    Ok(())
}

fn fuzz(target: &str, minutes: u64) -> Result<()> {
    let root = workspace_root();
    let corpus = root.join("fuzz/corpus").join(target);
    seed(&corpus)?;
    // `cargo` here must be rustup's: the one that runs us is already bound to a toolchain.
    let mut command = Command::new("cargo");
    command.args(["+nightly", "fuzz", "run", target]).arg(&corpus);
    command.args(["--", "-rss_limit_mb=2048", "-timeout=10"]);
    command.arg(format!("-max_total_time={}", minutes * 60));
    process::run(command.current_dir(root).env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO"))
}

fn seed(corpus: &Path) -> Result<()> {
    fs::create_dir_all(corpus)?;
    for entry in fs::read_dir(fixtures_dir())? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            fs::copy(entry.path(), corpus.join(entry.file_name())).context("seeding")?;
        }
    }
    Ok(())
}
