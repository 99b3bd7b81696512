//! What `cargo xtask codegen` and `cargo xtask import-isa` run.
#![allow(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "stops at a surprise in its own data"
)]
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test fails by panicking"))]

mod effects;
mod facts;
mod import;
mod lenient;
mod operands;
mod pool;
mod semantics;
mod tables;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

/// The workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tables"] => tables::write(),
        ["check"] => tables::check(),
        ["import", records, registers] => import::run(Path::new(records), Path::new(registers)),
        _ => bail!("usage: hsaco-codegen tables | check | import RECORDS REGISTERS"),
    }
}
