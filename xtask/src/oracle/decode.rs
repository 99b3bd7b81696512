//! `cargo xtask oracle decode`: the decoder against LLVM 22 on random encodings.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Result, anyhow, ensure};
use hsaco_tests::oracle::{Judge, Tally, Target};

use super::generate::Generator;
use super::llvm::Disassembler;
use crate::args::Args;

const BATCH: usize = 200_000;

pub(crate) fn run(mut args: Args) -> Result<()> {
    let mut targets = Vec::new();
    while let Some(target) = args.option::<Target>("--target")? {
        targets.push(target);
    }
    let count = args.option::<usize>("--count")?.unwrap_or(1_000_000);
    let seed = args.option::<u64>("--seed")?.unwrap_or(0);
    let limit = args.option::<usize>("--limit")?.unwrap_or(3);
    args.finish()?;
    ensure!(!targets.is_empty(), "which --target?");
    let disassembler = Disassembler::build()?;
    let mut differences = 0;
    for target in targets {
        let start = Instant::now();
        let tally = compare(&disassembler, &Generator::new(&target)?, count, seed)?;
        let seconds = start.elapsed().as_secs_f64();
        #[allow(clippy::cast_precision_loss, reason = "only shown")]
        let rate = tally.rows as f64 / seconds / 1e3;
        println!("{target}: {tally}; {seconds:.1} s, {rate:.0} k/s");
        print!("{}", tally.report(usize::MAX, limit));
        differences += tally.differences();
    }
    ensure!(differences == 0, "{differences} encodings differ");
    Ok(())
}

/// Compares so many encodings, in batches that all cores share.
fn compare(
    disassembler: &Disassembler,
    generator: &Generator,
    count: usize,
    seed: u64,
) -> Result<Tally> {
    let next = AtomicUsize::new(0);
    let work = || -> Result<Tally> {
        let mut judge = Judge::new(generator.target())?;
        let mut tally = Tally::default();
        loop {
            let batch = next.fetch_add(1, Ordering::Relaxed);
            let Some(left) = count.checked_sub(batch * BATCH).filter(|left| *left > 0) else {
                return Ok(tally);
            };
            let encodings = generator.batch(seed, batch, left.min(BATCH));
            let answers = disassembler.ask(generator.target(), &encodings)?;
            for (encoding, theirs) in encodings.iter().zip(answers.iter()) {
                tally.add(&mut judge, encoding.bytes(), &theirs);
            }
        }
    };
    let threads = thread::available_parallelism().map_or(2, usize::from);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let mut sum = Tally::default();
        for thread in threads {
            sum.merge(thread.join().map_err(|_| anyhow!("a thread panicked"))??);
        }
        Ok(sum)
    })
}
