//! `cargo xtask second-opinion`: the emulator against the reference interpreter on random instructions.

use std::process::Command;

use anyhow::Result;

use crate::args::Args;
use crate::process;

const TARGETS: &str = "gfx90a,gfx942,gfx950,gfx1030,gfx1100,gfx1151,gfx1201,gfx1250";

pub(crate) fn run(mut args: Args) -> Result<()> {
    let targets: String = args.option("--targets")?.unwrap_or_else(|| TARGETS.to_owned());
    let count: u64 = args.option("--count")?.unwrap_or(100_000);
    let seed: u64 = args.option("--seed")?.unwrap_or(1);
    args.finish()?;
    // Optimised, for it is slow by design.
    let program = process::release_binary("hsaco-reference", "hsaco-reference")?;
    process::run(Command::new(program).args([targets, count.to_string(), seed.to_string()]))
}
