//! Disassembling code that does not repeat, in the mix of real kernels, against `llvm-objdump -d`.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};
use hsaco_tests::{tool, workspace_root};

use super::disasm::{DISASM, rates};
use super::measure::{in_turns, instructions, usage_on_one_core};
use super::{Bar, Bench, mix};
use crate::process;

/// So many instructions that starting up hardly counts.
const COUNT: usize = 1_000_000;
/// A kernel has so many.
const KERNEL: usize = 5_000;
/// One run of hsaco is too short for its time to be known.
const RUNS_AT_ONCE: u32 = 8;
/// llvm-objdump takes seconds.
const RUNS: usize = 5;

pub(super) fn distinct(bench: &mut Bench) -> Result<()> {
    for (target, _) in mix::TARGETS {
        let row = format!("distinct {target}");
        if bench.wants(&row) {
            match tool("python3").is_some() && tool("llvm-objdump-22").is_some() {
                true => one_target(bench, &row, target)?,
                false => println!("{row}: skipped: no python3 or no LLVM 22"),
            }
        }
    }
    Ok(())
}

fn one_target(bench: &mut Bench, row: &str, target: &str) -> Result<()> {
    let object = object(target)?;
    let mut hsaco = Command::new(&bench.hsaco);
    hsaco.args(DISASM).arg(&object);
    let mut objdump = Command::new("llvm-objdump-22");
    objdump.arg("-d").arg(&object);
    let text = process::output(&mut objdump)?;
    ensure!(process::output(&mut hsaco)? == text, "{row}: llvm-objdump prints different text");
    ensure!(!String::from_utf8_lossy(&text).contains("\t.long "), "{row}: not all is code to LLVM");
    // What writing to a file takes is the file system's: the same for both, and shown by itself.
    for (name, output) in
        [("", Path::new("/dev/null")), (", to a file", &object.with_extension("txt"))]
    {
        let (ours, theirs) = in_turns(
            bench.runs.min(RUNS),
            || Ok(usage_on_one_core(&hsaco, RUNS_AT_ONCE, output)?.on_core),
            || Ok(usage_on_one_core(&objdump, 1, output)?.on_core),
        )?;
        let bar = if name.is_empty() { Bar::AimFaster(40.0) } else { Bar::ShownFaster };
        bench.row(&format!("{row} / objdump -d{name}, user+sys"), ours, theirs, bar);
    }
    fs::remove_file(object.with_extension("txt"))?;
    match (instructions(&hsaco)?, instructions(&objdump)?) {
        (Some(ours), Some(theirs)) => {
            bench.instructions_row(&format!("{row} / objdump -d, instructions"), ours, theirs);
        }
        _ => println!("{row}, instructions: unavailable: `perf stat` counts none on this machine"),
    }
    let [decode, print, ..] = rates(&object)?;
    bench.rate_row(&format!("{row}, decode only"), decode, 80.0);
    bench.rate_row(&format!("{row}, decode and print"), print, 20.0);
    Ok(())
}

/// The object, made once.
fn object(target: &str) -> Result<PathBuf> {
    let dir = workspace_root().join("target/bench");
    let [code, source, object] =
        ["bin", "s", "co"].map(|it| dir.join(format!("distinct.{target}.{it}")));
    let (bytes, ends) = mix::code(target, COUNT, KERNEL)?;
    if object.exists() && fs::read(&code).is_ok_and(|old| old == bytes) {
        return Ok(object);
    }
    let mut text = String::from(".text\n");
    let mut start = 0;
    for (number, end) in ends.iter().enumerate() {
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            ".globl kernel_{number}\n.type kernel_{number},@function\n.p2align 2\nkernel_{number}:"
        );
        let _ = writeln!(text, ".incbin \"{}\",{start},{}", code.display(), end - start);
        let _ = writeln!(text, ".size kernel_{number}, .-kernel_{number}");
        start = *end;
    }
    fs::create_dir_all(&dir)?;
    fs::write(&code, bytes)?;
    fs::write(&source, text)?;
    let relocatable = object.with_extension("o");
    let mut mc = Command::new("llvm-mc-22");
    mc.args(["--triple=amdgcn-amd-amdhsa", "--filetype=obj"]).arg(format!("--mcpu={target}"));
    process::output(mc.arg(&source).arg("-o").arg(&relocatable))?;
    process::output(
        Command::new("ld.lld-22").arg("-shared").arg(&relocatable).arg("-o").arg(&object),
    )?;
    fs::remove_file(&relocatable)?;
    Ok(object)
}
