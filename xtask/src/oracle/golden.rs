//! `cargo xtask oracle golden`: where the decoder differs from the golden files, by mnemonic.

use anyhow::{Result, ensure};
use hsaco_tests::golden::{FAMILIES, Golden, family};
use hsaco_tests::oracle::Target;

use crate::args::Args;

pub(crate) fn run(mut args: Args) -> Result<()> {
    let only = args.option::<Target>("--target")?;
    let limit = args.option::<usize>("--limit")?.unwrap_or(3);
    args.finish()?;
    let wants_family =
        |name: &&str| only.as_ref().is_none_or(|only| family(only.processor) == *name);
    let (mut rows, mut differences) = (0, 0);
    for family in FAMILIES.into_iter().filter(wants_family) {
        let golden = Golden::read(family)?;
        let wanted = |index| only.as_ref().is_none_or(|it| golden.targets.get(index) == Some(it));
        for (index, tally) in golden.tallies(wanted)? {
            let Some(target) = golden.targets.get(index) else { continue };
            println!("{target}: {tally}\n{}", tally.report(usize::MAX, limit));
            rows += tally.rows;
            differences += tally.differences();
        }
    }
    ensure!(rows > 0, "there are no golden rows for that target");
    ensure!(differences == 0, "{differences} of {rows} rows differ");
    Ok(())
}
