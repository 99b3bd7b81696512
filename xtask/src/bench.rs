//! `cargo xtask bench`: whole-process times of hsaco and of the incumbent, taken in turns in one run.
//!
//! Only the ratio counts: times differ from machine to machine, the ratio hardly does. A row `A / B` has the time of A by
//! that of B, unless it says how many times `faster` A is.

mod asm;
mod check;
mod data;
pub(crate) mod database;
mod disasm;
mod distinct;
mod emu;
mod flow;
mod input;
pub(crate) mod kernarg;
pub(crate) mod load;
mod measure;
pub(crate) mod mix;
mod patch;
pub(crate) mod rate;
pub(crate) mod reference;
mod start;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};
use hsaco_tests::{corpus_dir, tool, workspace_root};
use measure::{Timing, in_turns, usage, wall_time};

use crate::args::Args;
use crate::{corpus, process};

const MEBIBYTE: u64 = 1 << 20;
/// What hsaco may take beside the largest payload that it decompresses.
const MEMORY_BASE: u64 = 32 * MEBIBYTE;
/// llvm-objdump writes 1.2 GB each time, and it is run once before that.
const RUNS_OF_OBJDUMP: usize = 1;

pub(crate) fn run(mut args: Args) -> Result<()> {
    let filter = args.option::<String>("--filter")?.unwrap_or_default();
    let runs = args.option::<usize>("--runs")?.unwrap_or(15).max(1);
    args.finish()?;
    let mut bench = Bench { hsaco: process::release_hsaco()?, filter, runs, failures: 0 };
    println!(
        "{:<44} {:>19} {:>19} {:>14} {:>9}",
        "min/median ms", "hsaco", "incumbent", "ratio", "bar"
    );
    for group in [
        start::start,
        many_kernels,
        rocsparse,
        compressed,
        data::data,
        disasm::disasm,
        distinct::distinct,
        asm::asm,
        flow::flow,
        database::database,
        kernarg::kernarg,
        patch::patch,
        load::load,
        check::check,
        emu::emu,
    ] {
        if let Err(error) = group(&mut bench) {
            println!("FAIL: {error:#}");
            bench.failures += 1;
        }
    }
    ensure!(bench.failures == 0, "{} rows miss their bar", bench.failures);
    Ok(())
}

struct Bench {
    hsaco: PathBuf,
    filter: String,
    runs: usize,
    failures: usize,
}

/// What a row must reach.
#[derive(Clone, Copy)]
enum Bar {
    /// hsaco is at least so many times faster.
    Faster(f64),
    /// hsaco takes at most so many times as long.
    Within(f64),
    /// hsaco is to be at least so many times faster; where it is not, that is told and nothing fails.
    AimFaster(f64),
    /// hsaco is to take at most so many times as long.
    AimWithin(f64),
    /// None: how many times as long hsaco takes, for information.
    Shown,
    /// None: how many times faster hsaco is, for information.
    ShownFaster,
}

impl Bar {
    /// The ratio to print, and whether it is good enough.
    fn judge(self, hsaco: Duration, incumbent: Duration) -> (String, bool) {
        let (hsaco, incumbent) = (hsaco.as_secs_f64().max(1e-9), incumbent.as_secs_f64().max(1e-9));
        let (longer, faster) = (hsaco / incumbent, incumbent / hsaco);
        let [as_long, times_faster] = [format!("{longer:.2}x"), format!("{faster:.2}x faster")];
        match self {
            Self::Faster(bar) | Self::AimFaster(bar) => (times_faster, faster >= bar),
            Self::Within(bar) | Self::AimWithin(bar) => (as_long, longer <= bar),
            Self::Shown => (as_long, true),
            Self::ShownFaster => (times_faster, true),
        }
    }

    fn text(self) -> String {
        match self {
            Self::Faster(bar) | Self::AimFaster(bar) => format!(">= {bar}x"),
            Self::Within(bar) | Self::AimWithin(bar) => format!("<= {bar}x"),
            Self::Shown | Self::ShownFaster => String::new(),
        }
    }
}

impl Bench {
    fn wants(&self, row: &str) -> bool {
        row.contains(&self.filter)
    }

    fn hsaco(&self, arguments: &[&str], file: &Path) -> Command {
        let mut command = Command::new(&self.hsaco);
        command.args(arguments).arg(file);
        command
    }

    /// A fast wrong answer must not pass: fails unless the output holds `wanted`.
    fn check_answer(&self, arguments: &[&str], file: &Path, wanted: &str) -> Result<()> {
        let mut command = self.hsaco(arguments, file);
        let output = process::output(&mut command)?;
        let found = output.windows(wanted.len()).any(|window| window == wanted.as_bytes());
        ensure!(found, "`{}` does not show {wanted}", process::describe(&command));
        Ok(())
    }

    fn row(&mut self, name: &str, hsaco: Timing, incumbent: Timing, bar: Bar) {
        let (ratio, good) = bar.judge(hsaco.min, incumbent.min);
        let verdict = match bar {
            Bar::Shown | Bar::ShownFaster => "",
            Bar::AimFaster(_) | Bar::AimWithin(_) => aim(good),
            Bar::Faster(_) | Bar::Within(_) => self.verdict(good),
        };
        println!("{name:<44} {hsaco:>19} {incumbent:>19} {ratio:>14} {:>9} {verdict}", bar.text(),);
    }

    fn memory_row(
        &mut self,
        name: &str,
        arguments: &[&str],
        file: &Path,
        limit: u64,
    ) -> Result<()> {
        if tool("python3").is_none() {
            println!("{name:<44} skipped: no python3");
            return Ok(());
        }
        let peak = usage(&self.hsaco(arguments, file), 1, Path::new("/dev/null"))?.peak_memory;
        self.memory_verdict(name, peak, limit);
        Ok(())
    }

    fn memory_verdict(&mut self, name: &str, peak: u64, limit: u64) {
        let [peak_text, limit_text] =
            [peak, limit].map(|bytes| format!("{} MiB", bytes.div_ceil(MEBIBYTE)));
        let verdict = self.verdict(peak <= limit);
        println!(
            "{name:<44} {peak_text:>19} {:>19} {:>14} {:>9} {verdict}",
            "",
            "",
            format!("<= {limit_text}")
        );
    }

    /// A time that may be so long.
    fn time_row(&mut self, name: &str, time: Duration, limit: Duration) {
        let (text, bar) =
            (format!("{:.2} s", time.as_secs_f64()), format!("<= {} s", limit.as_secs()));
        let verdict = self.verdict(time <= limit);
        println!("{name:<44} {text:>19} {:>19} {:>14} {bar:>9} {verdict}", "", "");
    }

    /// A time that is aimed at.
    fn time_aim(&self, name: &str, time: Duration, limit: Duration) {
        let text = format!("{:.2} s", time.as_secs_f64());
        self.aim_row(name, &text, &format!("<= {} s", limit.as_secs()), time <= limit);
    }

    /// A peak of memory that is aimed at.
    fn memory_aim(&self, name: &str, arguments: &[&str], file: &Path, limit: u64) -> Result<()> {
        if tool("python3").is_none() {
            println!("{name:<44} skipped: no python3");
            return Ok(());
        }
        let peak = usage(&self.hsaco(arguments, file), 1, Path::new("/dev/null"))?.peak_memory;
        let [text, bar] = [peak, limit].map(|it| format!("{} MiB", it.div_ceil(MEBIBYTE)));
        self.aim_row(name, &text, &format!("<= {bar}"), peak <= limit);
        Ok(())
    }

    /// Millions a second, of which there must be so many.
    fn rate_row(&mut self, name: &str, rate: f64, bar: f64) {
        let (rate_text, bar_text) = (format!("{rate:.1} M/s"), format!(">= {bar} M/s"));
        let verdict = self.verdict(rate >= bar);
        println!("{name:<44} {rate_text:>19} {:>19} {:>14} {bar_text:>9} {verdict}", "", "");
    }

    /// Instructions retired: how many times fewer hsaco needs.
    fn instructions_row(&self, name: &str, hsaco: u64, incumbent: u64) {
        let [ours, theirs] = [hsaco, incumbent].map(|it| format!("{:.1} M", it as f64 / 1e6));
        let ratio = format!("{:.2}x fewer", incumbent as f64 / hsaco.max(1) as f64);
        println!("{name:<44} {ours:>19} {theirs:>19} {ratio:>14}");
    }

    /// A number that is aimed at: how it and the aim are written, and whether it is reached.
    fn aim_row(&self, name: &str, number: &str, bar: &str, good: bool) {
        println!("{name:<44} {number:>19} {:>19} {:>14} {bar:>9} {}", "", "", aim(good));
    }

    fn verdict(&mut self, good: bool) -> &'static str {
        self.failures += usize::from(!good);
        if good { "PASS" } else { "FAIL" }
    }
}

fn aim(good: bool) -> &'static str {
    if good { "reached" } else { "missed" }
}

/// Listing 5,000 kernels, against printing the notes they stand in.
fn many_kernels(bench: &mut Bench) -> Result<()> {
    // readelf does not demangle, so that C++ names are more work for us only.
    for (name, language, bar) in [
        ("5000 kernels", input::Language::C, Bar::Faster(20.0)),
        ("5000 C++ kernels", input::Language::Cpp, Bar::ShownFaster),
    ] {
        let rows: [(&str, &[&str]); 2] =
            [("ls", &["ls"]), ("ls json", &["ls", "--format", "json"])];
        for (verb, arguments) in rows {
            let row = format!("{name}: {verb}");
            if !bench.wants(&row) {
                continue;
            }
            let Some(object) = input::many_kernels(language)? else {
                println!("{row}: skipped: no LLVM 22");
                continue;
            };
            bench.check_answer(arguments, &object, language.expected_text())?;
            let (hsaco, readelf) = in_turns(
                bench.runs,
                || wall_time(&mut bench.hsaco(arguments, &object)),
                || wall_time(Command::new("llvm-readelf-22").arg("--notes").arg(&object)),
            )?;
            bench.row(&format!("{row} / readelf --notes"), hsaco, readelf, bar);
            bench.memory_row(&format!("{row}, memory"), arguments, &object, MEMORY_BASE)?;
        }
    }
    Ok(())
}

/// Listing a library of 1.3 GB, against llvm-objdump, which can only extract it.
fn rocsparse(bench: &mut Bench) -> Result<()> {
    let row = "librocsparse: ls";
    if !bench.wants(row) {
        return Ok(());
    }
    let Some(library) = library("debian", "librocsparse") else {
        println!("{row}: skipped: run `cargo xtask corpus`");
        return Ok(());
    };
    bench.check_answer(&["ls"], &library, "gfx1030")?;
    let hsaco = measure::repeat(bench.runs, || wall_time(&mut bench.hsaco(&["ls"], &library)))?;
    bench.memory_row(&format!("{row}, memory"), &["ls"], &library, MEMORY_BASE)?;
    if tool("llvm-objdump-22").is_none() {
        println!("{row}: skipped: no LLVM 22");
        return Ok(());
    }
    let objdump = measure::repeat(RUNS_OF_OBJDUMP, || extract_with_objdump(&library))?;
    bench.row(&format!("{row} / objdump --offloading"), hsaco, objdump, Bar::Faster(20.0));
    Ok(())
}

/// llvm-objdump writes every object beside its input, so it gets a link to that in a folder of its
/// own, which is wiped.
fn extract_with_objdump(library: &Path) -> Result<Duration> {
    let dir = workspace_root().join("target/bench/objdump");
    fs::create_dir_all(&dir)?;
    let link = dir.join("library.so");
    std::os::unix::fs::symlink(library, &link)?;
    let time = wall_time(Command::new("llvm-objdump-22").arg("--offloading").arg(link));
    fs::remove_dir_all(&dir)?;
    time
}

/// Listing compressed bundles, against decompressing them with the reference zstd.
fn compressed(bench: &mut Bench) -> Result<()> {
    let folder = corpus_dir().join("bitsandbytes");
    let Ok(libraries) = corpus::libraries(&folder) else {
        println!("compressed: skipped: run `cargo xtask corpus`");
        return Ok(());
    };
    for library in libraries {
        let stem = library.file_stem().unwrap_or_default().display().to_string();
        let row = format!("compressed {}: ls", stem.trim_start_matches("libbitsandbytes_"));
        if bench.wants(&row) {
            compressed_library(bench, &row, &library)?;
        }
    }
    Ok(())
}

/// Does a thing once, and says how long it took.
type TimedRun<'a> = Box<dyn FnMut() -> Result<Duration> + 'a>;

fn compressed_library(bench: &mut Bench, row: &str, library: &Path) -> Result<()> {
    let payloads = reference::payloads(&fs::read(library)?);
    ensure!(!payloads.is_empty(), "{}: no compressed bundle", library.display());
    bench.check_answer(&["ls"], library, "gfx942")?;
    let files = reference::write_frames(&payloads, &workspace_root().join("target/bench"))?;
    let mut library_calls = Command::new(std::env::current_exe()?);
    library_calls.arg(reference::VERB);
    for (payload, file) in payloads.iter().zip(&files) {
        library_calls.arg(payload.size.to_string()).arg(file);
    }
    let mut library_here = reference::Library::new(&payloads)?;
    let mut rivals: Vec<(&str, TimedRun<'_>, Bar)> = vec![
        ("libzstd", Box::new(move || wall_time(&mut library_calls)), Bar::Within(1.5)),
        // No process to start, no file to read, no page to touch for the first time: no bar.
        ("libzstd in process", Box::new(|| library_here.time(&payloads)), Bar::Shown),
    ];
    if tool("zstd").is_some() {
        let mut command = Command::new("zstd");
        command.args(["-d", "-q", "-c"]).args(&files);
        rivals.push(("zstd -d", Box::new(move || wall_time(&mut command)), Bar::Within(1.5)));
    }
    for (name, rival, bar) in rivals {
        let (hsaco, reference) =
            in_turns(bench.runs, || wall_time(&mut bench.hsaco(&["ls"], library)), rival)?;
        bench.row(&format!("{row} / {name}"), hsaco, reference, bar);
    }
    let largest = payloads.iter().map(|payload| payload.size).max().unwrap_or(0);
    let limit = MEMORY_BASE + largest as u64;
    bench.memory_row(&format!("{row}, memory"), &["ls"], library, limit)
}

fn library(folder: &str, prefix: &str) -> Option<PathBuf> {
    let libraries = corpus::libraries(&corpus_dir().join(folder)).ok()?;
    libraries.into_iter().find(|path| {
        path.file_name().is_some_and(|name| name.display().to_string().starts_with(prefix))
    })
}
