//! `cargo xtask codegen [--check]` and `cargo xtask import-isa RECORDS REGISTERS`.

use std::process::Command;

use anyhow::{Context as _, Result};

use crate::args::Args;
use crate::process;

/// Makes the tables of hsaco-isa from isa-data, or checks that they are current.
pub(crate) fn run(mut args: Args) -> Result<()> {
    let verb = if args.flag("--check") { "check" } else { "tables" };
    args.finish()?;
    codegen(&[verb])
}

/// Condenses LLVM's records into isa-data.
pub(crate) fn import(mut args: Args) -> Result<()> {
    let mut file = |name: &str| args.positional().with_context(|| format!("{name} is missing"));
    let (records, registers) = (file("RECORDS")?, file("REGISTERS")?);
    args.finish()?;
    codegen(&["import", &records, &registers])
}

fn codegen(arguments: &[&str]) -> Result<()> {
    let mut cargo = Command::new("cargo");
    process::run(cargo.args(["run", "--quiet", "--package", "hsaco-codegen", "--"]).args(arguments))
}
