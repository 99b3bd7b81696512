//! `cargo xtask oracle reassemble`: every distinct instruction of files, printed and assembled again.

use std::path::Path;

use anyhow::{Result, ensure};
use hsaco_tests::reassembly::Reassembly;

use crate::args::Args;

/// How many differences are shown of each target.
const SHOWN: usize = 10;

pub(crate) fn run(mut args: Args) -> Result<()> {
    let every = args.option::<usize>("--every")?.unwrap_or(1);
    let mut found = Reassembly::default();
    while let Some(file) = args.positional() {
        found.add_file(Path::new(&file), every)?;
    }
    args.finish()?;
    ensure!(found.objects > 0, "which files?");
    println!("{} objects, {} instructions", found.objects, found.instructions);
    let mut differing = 0;
    for (target, (tally, exact)) in found.tallies() {
        let (rows, agreed, excused) = (tally.rows, tally.agreed, &tally.excused);
        println!("{target}: {rows} distinct, {agreed} the same, {excused:?}");
        tally.differing.iter().take(SHOWN).for_each(|it| println!("  {it}"));
        println!("  to be assembled: {:?}", exact.counts);
        exact.wrong.iter().take(SHOWN).for_each(|it| println!("  {it}"));
        differing += tally.differing.len() + exact.wrong.len();
    }
    ensure!(differing == 0, "{differing} instructions differ");
    found.ask_llvm_mc()
}
