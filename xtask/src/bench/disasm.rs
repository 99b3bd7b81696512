//! Disassembling, against `llvm-objdump -d`; and how fast the decoder is by itself.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use anyhow::{Context as _, Result, ensure};
use hsaco_tests::{tool, workspace_root};

use super::measure::{in_turns, repeat, usage_on_one_core, wall_time, wall_time_of_both};
use super::{Bar, Bench, MEBIBYTE, input, library, rate};
use crate::process;

const TARGETS: [&str; 3] = ["gfx942", "gfx1100", "gfx1250"];
/// What disassembling may take beside its input.
const MEMORY: u64 = 64 * MEBIBYTE;
pub(super) const DISASM: &[&str] = &["disasm"];
/// One run of hsaco is too short for its user time to be known.
const RUNS_AT_ONCE: u32 = 4;
/// Each takes seconds.
const RUNS_ON_CORES: usize = 5;

pub(super) fn disasm(bench: &mut Bench) -> Result<()> {
    for target in TARGETS {
        let row = format!("disasm {target}");
        if !bench.wants(&row) {
            continue;
        }
        let objects = input::objects(target)?;
        match objects.first() {
            Some(largest) => one_target(bench, &row, &objects, largest)?,
            None => println!("{row}: skipped: run `cargo xtask corpus`"),
        }
    }
    two_threads(bench)
}

fn one_target(bench: &mut Bench, row: &str, objects: &[PathBuf], object: &Path) -> Result<()> {
    bench.check_answer(DISASM, object, "s_endpgm")?;
    if tool("python3").is_some() && tool("llvm-objdump-22").is_some() {
        let output = workspace_root().join("target/bench/disassembly.txt");
        let mut objdump = Command::new("llvm-objdump-22");
        objdump.arg("-d").args(objects);
        let mut hsaco = Command::new(&bench.hsaco);
        hsaco.args(DISASM).args(objects);
        let is_same = process::output(&mut hsaco)? == process::output(&mut objdump)?;
        ensure!(is_same, "{row}: hsaco and llvm-objdump print different text");
        let (hsaco, objdump) = in_turns(
            bench.runs,
            || Ok(usage_on_one_core(&hsaco, RUNS_AT_ONCE, &output)?.user),
            || Ok(usage_on_one_core(&objdump, 1, &output)?.user),
        )?;
        bench.row(&format!("{row} / objdump -d, user"), hsaco, objdump, Bar::Faster(25.0));
        fs::remove_file(output)?;
    } else {
        println!("{row}: skipped: no python3 or no LLVM 22");
    }
    let limit = fs::metadata(object)?.len() + MEMORY;
    bench.memory_row(&format!("{row}, memory"), DISASM, object, limit)?;
    let [decode, print, encode, analyse, with_calls] = rates(object)?;
    bench.rate_row(&format!("{row}, decode only"), decode, 80.0);
    bench.rate_row(&format!("{row}, decode and print"), print, 20.0);
    bench.rate_row(&format!("{row}, encode"), encode, 30.0);
    bench.rate_row(&format!("{row}, blocks and liveness"), analyse, 5.0);
    bench.rate_row(&format!("{row}, blocks, liveness, calls"), with_calls, 5.0);
    Ok(())
}

/// Millions of instructions a second: decoded, decoded and printed, encoded, analysed, analysed with all
/// calls. An optimised process measures them.
pub(super) fn rates(object: &Path) -> Result<[f64; 5]> {
    let xtask = process::release_binary("xtask", "xtask")?;
    let output = process::output(Command::new(xtask).arg(rate::VERB).arg(object))?;
    let text = String::from_utf8(output)?;
    let rates: Vec<f64> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    rates.try_into().ok().context("no five rates")
}

/// How much faster two cores are; and, for comparison, how much more two processes get done that have a core
/// each and share nothing, which is what the machine has to give.
fn two_threads(bench: &mut Bench) -> Result<()> {
    let row = "disasm librocsparse: two cores / one";
    if !bench.wants(row) {
        return Ok(());
    }
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let (Some(library), Some(taskset), 2..) =
        (library("debian", "librocsparse"), tool("taskset"), cores)
    else {
        println!("{row}: skipped: it takes two cores, taskset, and `cargo xtask corpus`");
        return Ok(());
    };
    let on = |cores: &str| {
        let mut command = Command::new(&taskset);
        command.args(["--cpu-list", cores]).arg(&bench.hsaco).args(DISASM);
        command.args(["--device", "gfx90a"]).arg(&library);
        command
    };
    let runs = bench.runs.min(RUNS_ON_CORES);
    let (two, one) = in_turns(runs, || wall_time(&mut on("0,1")), || wall_time(&mut on("0")))?;
    let both = repeat(runs, || wall_time_of_both(&mut on("0"), &mut on("1")))?;
    bench.row(row, two, one, Bar::Faster(1.7));
    bench.row("two processes at once / in turn", both, one.twice(), Bar::Shown);
    Ok(())
}
