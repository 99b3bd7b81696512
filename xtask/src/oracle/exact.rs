//! `cargo xtask oracle exact`: random encodings, printed to be assembled and assembled by us and llvm-mc.

use std::collections::{BTreeMap, HashSet};

use anyhow::{Context as _, Result, ensure};
use hsaco::isa::model::VgprMsb;
use hsaco_tests::assembly::llvm_mc;
use hsaco_tests::exact::{ExactJudge, ExactTally};
use hsaco_tests::oracle::{Target, hex};

use super::generate::Generator;
use crate::args::Args;

/// How many lines llvm-mc gets at a time.
const BATCH: usize = 100_000;

pub(crate) fn run(mut args: Args) -> Result<()> {
    let target = args.option::<Target>("--target")?.context("--target: of which processor?")?;
    let count = args.option::<usize>("--count")?.unwrap_or(1_000_000);
    let seed = args.option::<u64>("--seed")?.unwrap_or(0);
    let limit = args.option::<usize>("--limit")?.unwrap_or(3);
    args.finish()?;
    let judge = ExactJudge::new(&target)?;
    let generator = Generator::new(&target)?;
    let (mut tally, mut wrong) = (ExactTally::default(), BTreeMap::<String, Vec<String>>::new());
    for batch in 0..count.div_ceil(BATCH) {
        let size = BATCH.min(count - batch * BATCH);
        let encodings = generator.batch(seed, batch, size);
        let insts: HashSet<_> =
            encodings.iter().filter_map(|it| judge.decoder().decode(it.bytes())).collect();
        let lines: Vec<_> = insts
            .iter()
            .map(|inst| (inst, judge.add(inst, VgprMsb::default(), &mut tally)))
            .filter(|(_, line)| !line.starts_with('.'))
            .collect();
        let texts: Vec<_> = lines.iter().map(|(_, line)| line.as_str()).collect();
        for ((inst, line), theirs) in lines.iter().zip(llvm_mc(&target, &texts)?) {
            let mut bytes = Vec::new();
            inst.encode(&mut bytes);
            if theirs.as_ref() != Some(&bytes) {
                let theirs = theirs.as_deref().map_or("refused".to_owned(), hex);
                let found = format!("{line}\n    ours    {}\n    theirs  {theirs}", hex(&bytes));
                wrong.entry(inst.full_mnemonic().to_owned()).or_default().push(found);
            }
        }
    }
    println!("{target}: {:?}", tally.counts);
    tally.wrong.iter().take(limit).for_each(|it| println!("  {it}"));
    for (name, lines) in &wrong {
        println!("  {name}: {}", lines.len());
        lines.iter().take(limit).for_each(|it| println!("  {it}"));
    }
    let count = tally.wrong.len() + wrong.values().map(Vec::len).sum::<usize>();
    ensure!(count == 0, "{count} lines give other bytes");
    Ok(())
}
