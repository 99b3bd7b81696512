//! What `cargo xtask codegen` and `cargo xtask import-isa` run.
#![allow(clippy::indexing_slicing, reason = "stops at the first surprise in its own data")]

mod facts;
mod import;
mod operands;
mod pool;
mod tables;

use std::path::Path;

use anyhow::{Result, bail};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tables"] => tables::write(),
        ["check"] => tables::check(),
        ["import", records, registers] => import::run(Path::new(records), Path::new(registers)),
        _ => bail!("usage: hsaco-codegen tables | check | import RECORDS REGISTERS"),
    }
}
