//! How long short runs take: starting, and one kernel of many.

use std::process::Command;

use anyhow::Result;
use hsaco_tests::tool;

use super::measure::{in_turns, wall_time};
use super::{Bar, Bench, input};

/// Runs of a millisecond, of which many are needed.
const RUNS: usize = 200;

pub(super) fn start(bench: &mut Bench) -> Result<()> {
    let row = "start: hsaco --version / true";
    if bench.wants(row) {
        let (hsaco, nothing) = in_turns(
            bench.runs.max(RUNS),
            || wall_time(Command::new(&bench.hsaco).arg("--version")),
            || wall_time(&mut Command::new("true")),
        )?;
        bench.row(row, hsaco, nothing, Bar::AimWithin(2.0));
    }
    one_of_many(bench)
}

/// One kernel with its source lines: by `-k`, by symbol, and by llvm-objdump.
fn one_of_many(bench: &mut Bench) -> Result<()> {
    const BY_KERNEL: &[&str] = &["disasm", "-l", "-k", "^kernel_2500$"];
    const BY_SYMBOL: &[&str] = &["disasm", "-l", "--disassemble-symbols", "kernel_2500"];
    let row = format!("one kernel of {} with lines", input::KERNELS);
    if !bench.wants(&row) {
        return Ok(());
    }
    let Some(object) = input::kernels_with_lines(input::KERNELS)? else {
        println!("{row}: skipped: no LLVM 22");
        return Ok(());
    };
    bench.check_answer(BY_KERNEL, &object, "<kernel_2500>:")?;
    bench.check_answer(BY_SYMBOL, &object, "<kernel_2500>:")?;
    let (by_kernel, by_symbol) = in_turns(
        bench.runs,
        || wall_time(&mut bench.hsaco(BY_KERNEL, &object)),
        || wall_time(&mut bench.hsaco(BY_SYMBOL, &object)),
    )?;
    bench.row(&format!("{row}: -k / by symbol"), by_kernel, by_symbol, Bar::Shown);
    if tool("llvm-objdump-22").is_none() {
        println!("{row}: skipped: no LLVM 22");
        return Ok(());
    }
    let mut objdump = Command::new("llvm-objdump-22");
    objdump.args(["-d", "-l", "--disassemble-symbols=kernel_2500"]).arg(&object);
    for (name, arguments) in [("by symbol", BY_SYMBOL), ("-k", BY_KERNEL)] {
        let (hsaco, objdump) = in_turns(
            bench.runs,
            || wall_time(&mut bench.hsaco(arguments, &object)),
            || wall_time(&mut objdump),
        )?;
        bench.row(&format!("{row}: {name} / objdump"), hsaco, objdump, Bar::AimFaster(40.0));
    }
    Ok(())
}
