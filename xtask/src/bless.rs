//! `cargo xtask bless`: accept what the command line prints now.

use anyhow::Result;

use crate::args::Args;
use crate::process;

pub(crate) fn run(mut args: Args) -> Result<()> {
    let filter = args.positional();
    args.finish()?;
    let mut command = process::cargo();
    command.args([
        "test",
        "--package",
        "hsaco-tests",
        "--test",
        "cli",
        "--test",
        "instructions",
        "--",
    ]);
    command.args(filter);
    process::run(command.env("BLESS", "1"))
}
