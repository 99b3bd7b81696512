//! tinygrad's emulator, which is among its tests: its package has none, so it needs a checkout.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use hsaco::object::CodeObject;

use crate::process;

const SCRIPT: &str = include_str!("tinygrad.py");

/// Millions of wave instructions a second of the ALU loop; none without `$TINYGRAD`.
pub(super) fn rate(object: &Path, folder: &Path) -> Result<Option<f64>> {
    let Some(checkout) = env::var_os("TINYGRAD") else { return Ok(None) };
    let file = fs::read(object)?;
    let parsed = CodeObject::parse(&file)?;
    let section = parsed.elf().section_named(".text").context("it has no .text")?;
    // The loop is the first kernel.
    let (script, code) = (folder.join("tinygrad.py"), folder.join("alu.bin"));
    fs::write(&code, parsed.elf().section_data(section)?)?;
    fs::write(&script, SCRIPT)?;
    let mut python = Command::new("python3");
    // Its own choice, `clang`, is not there where LLVM is installed by version.
    python.env("CC", "clang-22").arg(script).arg(checkout).arg(code);
    let told = String::from_utf8(process::output(&mut python)?)?;
    Ok(Some(told.trim().parse::<f64>()? / 1e6))
}
