//! `cargo xtask csmith`: random C programs on the emulator, held against the host.

mod fault;
pub(crate) mod program;
mod record;

use std::fs;
use std::ops::Range;
use std::path::PathBuf;
use std::process;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use anyhow::{Context as _, Result, ensure};

use crate::args::Args;
use crate::sanitize::Sanitize;
use crate::{apt, process::target_dir};
use fault::Fault;
use program::Folder;
use record::{Outcome, Record, Row};

const TARGETS: &str = "gfx90a,gfx942,gfx950,gfx1030,gfx1100,gfx1151,gfx1201,gfx1250";

/// What was asked for.
struct Campaign {
    seeds: Range<u64>,
    targets: Vec<String>,
    levels: Vec<String>,
    jobs: usize,
    folder: PathBuf,
    sanitize: Sanitize,
}

pub(crate) fn run(mut args: Args) -> Result<()> {
    let seeds: String = args.option("--seeds")?.unwrap_or_else(|| "1..11".to_owned());
    let targets: String = args.option("--targets")?.unwrap_or_else(|| TARGETS.to_owned());
    let levels: String = args.option("--levels")?.unwrap_or_else(|| "0,1,2,3".to_owned());
    let jobs = args.option("--jobs")?.unwrap_or(1);
    let is_any_build = args.flag("--any-build");
    let is_report = args.flag("--report");
    let sanitize = Sanitize::new(&mut args);
    args.finish()?;
    let (first, end) = seeds.split_once("..").context("--seeds wants FIRST..END")?;
    let folder = target_dir()?.join("csmith");
    fs::create_dir_all(&folder)?;
    let campaign = Campaign {
        seeds: first.parse()?..end.parse()?,
        targets: targets.split(',').map(str::to_owned).collect(),
        levels: levels.split(',').map(str::to_owned).collect(),
        jobs,
        folder,
        sanitize,
    };
    let file = match sanitize {
        Sanitize::Off => "results.tsv",
        Sanitize::On => "sanitized.tsv",
    };
    let record = Record::open(&campaign.folder.join(file), is_any_build)?;
    let record = Mutex::new(record);
    if !is_report {
        apt::ensure("csmith", &["csmith", "libcsmith-dev"])?;
        campaign.run(&record)?;
    }
    let record = record.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    report(&campaign, &record)
}

/// The table of what passed, and a failure where something did not.
fn report(campaign: &Campaign, record: &Record) -> Result<()> {
    let rows = || record.rows().filter(|row| campaign.seeds.contains(&row.seed));
    println!(
        "target\t{}",
        campaign.levels.iter().map(|it| format!("-O{it}\t")).collect::<String>()
    );
    for target in &campaign.targets {
        let passed = |level: &String| {
            let is_it = |row: &&Row| row.target == *target && row.level == *level;
            rows().filter(is_it).filter(|row| row.outcome == Outcome::Passed).count()
        };
        let counts: Vec<String> = campaign.levels.iter().map(|it| passed(it).to_string()).collect();
        println!("{target}\t{}", counts.join("\t"));
    }
    let count = |outcome: &Outcome| rows().filter(|row| row.outcome == *outcome).count();
    println!(
        "{} passed; {} take too many instructions; {} programs never end on the host",
        count(&Outcome::Passed),
        count(&Outcome::TooLong),
        count(&Outcome::Endless)
    );
    let is_fault =
        |row: &&Row| matches!(row.outcome, Outcome::Compiler(_) | Outcome::NotCompiled(_));
    rows().filter(is_fault).for_each(|row| println!("{row}"));
    let failed: Vec<Row> =
        rows().filter(|row| matches!(row.outcome, Outcome::Failed(_))).cloned().collect();
    failed.iter().for_each(|row| println!("{row}"));
    ensure!(failed.is_empty(), "{} do not give the host's checksum", failed.len());
    Ok(())
}

impl Campaign {
    /// Every program that the record has no rows of, on so many threads.
    fn run(&self, record: &Mutex<Record>) -> Result<()> {
        let next = AtomicU64::new(self.seeds.start);
        let job = |number: usize| -> Result<()> {
            let name = format!("job{}.{number}", process::id());
            let folder = Folder::new(self.folder.join(name))?;
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if !self.seeds.contains(&seed) {
                    return Ok(());
                }
                self.seed(&folder, seed, record)?;
            }
        };
        thread::scope(|scope| {
            let jobs: Vec<_> =
                (0..self.jobs).map(|number| scope.spawn(move || job(number))).collect();
            for job in jobs {
                job.join().map_err(|_| anyhow::anyhow!("a job panicked"))??;
            }
            Ok(())
        })
    }

    /// One program, on every target at every level that it was not run for.
    fn seed(&self, folder: &Folder, seed: u64, record: &Mutex<Record>) -> Result<()> {
        let record = || record.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let pairs = || self.targets.iter().flat_map(|it| self.levels.iter().map(move |l| (it, l)));
        let left: Vec<_> =
            pairs().filter(|(target, level)| !record().has(seed, target, level)).collect();
        if left.is_empty() {
            return Ok(());
        }
        let Some(expected) = folder.on_host(seed)? else {
            return record().add(Row::endless(seed));
        };
        for (target, level) in left {
            let outcome = match Fault::of(seed, target, level) {
                Some(fault) => folder.mended(fault, target, level, expected)?,
                None => folder.on_emulator(target, level, expected, self.sanitize)?,
            };
            let row = Row { seed, target: target.clone(), level: level.clone(), outcome };
            if matches!(row.outcome, Outcome::Failed(_)) {
                println!("{row}");
            }
            record().add(row)?;
        }
        Ok(())
    }
}
