//! `cargo xtask oracle disasm`: `hsaco disasm` against `llvm-objdump -d` on every object of files.

use std::path::Path;

use anyhow::{Result, ensure};
use hsaco_tests::disassembly::compare_file;

use crate::args::Args;
use crate::process;

pub(crate) fn run(mut args: Args) -> Result<()> {
    let every = args.option::<usize>("--every")?.unwrap_or(1);
    let mut files = Vec::new();
    while let Some(file) = args.positional() {
        files.push(file);
    }
    args.finish()?;
    ensure!(!files.is_empty(), "which files?");
    let hsaco = process::release_hsaco()?;
    let mut differing = 0;
    for file in files {
        let found = compare_file(&hsaco, Path::new(&file), every)?;
        found.differences.iter().for_each(|it| println!("{it}"));
        let count = found.differences.len();
        println!(
            "{file}: {} objects, {} lines, {count} objects differ",
            found.objects, found.lines
        );
        differing += count;
    }
    ensure!(differing == 0, "{differing} objects differ");
    Ok(())
}
