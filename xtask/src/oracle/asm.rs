//! `cargo xtask oracle asm`: the assembler against llvm-mc on lines with something wrong in them.

use anyhow::{Context as _, Result, ensure};
use hsaco_tests::broken::{Breaker, Fault};
use hsaco_tests::oracle::Target;

use crate::args::Args;

pub(crate) fn run(mut args: Args) -> Result<()> {
    let target = args.option::<Target>("--target")?.context("--target: of which processor?")?;
    let count = args.option::<usize>("--count")?.unwrap_or(2000);
    let seed = args.option::<u64>("--seed")?.unwrap_or(0);
    let limit = args.option::<usize>("--limit")?.unwrap_or(10);
    args.finish()?;
    let mut breaker = Breaker::new(&target, seed)?;
    let mut differences = 0;
    for fault in Fault::ALL {
        let verdicts = breaker.refused(fault, count)?;
        println!("{target}, {fault:?}: {verdicts}");
        for line in verdicts.too_lenient.iter().take(limit) {
            println!("  only ours: {line}");
        }
        for line in verdicts.otherwise.iter().take(limit) {
            println!("  otherwise: {line}");
        }
        differences += verdicts.too_lenient.len() + verdicts.otherwise.len();
    }
    ensure!(differences == 0, "{differences} lines differ");
    Ok(())
}
