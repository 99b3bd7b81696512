//! `hsaco-reference TARGET,… COUNT SEED`: where the emulator and the reference differ.

use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context as _, Result};
use hsaco_reference::agreement::compare;

fn main() -> Result<ExitCode> {
    let mut args = std::env::args().skip(1);
    let mut next = |name: &str| args.next().with_context(|| format!("{name} is missing"));
    let targets = next("TARGET,…")?;
    let count: u64 = next("COUNT")?.parse()?;
    let seed: u64 = next("SEED")?.parse()?;
    let mut differences = 0;
    for target in targets.split(',') {
        let start = Instant::now();
        let tally = compare(target, count, seed)?;
        print!("{target}, {:.1} s: {tally}", start.elapsed().as_secs_f64());
        differences += tally.differences();
    }
    if differences > 0 {
        println!("{differences} instructions differ");
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}
