//! The database: indexing everything, then reading one kernel.

use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use hsaco::db::{Database, Wanted, Which};
use hsaco::isa::TargetId;
use hsaco_files::input::stored_inputs;
use hsaco_tests::tool;

use super::measure::{in_turns, usage, wall_time};
use super::{Bar, Bench, input, library};
use crate::args::Args;
use crate::process;

/// The verb that no developer types: indexes a file, or one target of it, and, if one is named, decodes a kernel; or all with
/// their lines.
pub(crate) const VERB: &str = "database-cost";

const FEW: usize = 50;
const SEVERAL: usize = 1000;

/// In place of a kernel's name.
const ALL: &str = "--all";

/// What an index of 88,137 kernels may take: it takes 71 MiB, the pages of the file that were looked at included.
const LIBRARY_MEMORY: u64 = 80 << 20;
const KERNEL: &str = "kernel_7";

pub(crate) fn run(mut args: Args) -> Result<()> {
    let file = args.positional().context("which object?")?;
    let all = args.flag(ALL);
    let target = args.option::<TargetId>("--target")?;
    let kernel = args.positional();
    args.finish()?;
    let database = Database::new();
    for input in stored_inputs(&[file.clone().into()]) {
        let input = input.map_err(|it| it.error)?;
        let which =
            Which { objects: target.map_or(Wanted::All, Wanted::Target), ..Which::default() };
        database.add_some(&file, input.content, &which)?;
    }
    if let Some(name) = kernel {
        let kernel = database.kernel(&name)?;
        kernel.instructions()?.for_each(|it| _ = black_box(it));
        ensure!(database.counts().decoded_kernels == 1, "more than one kernel was decoded");
    }
    if all {
        for kernel in database.kernels() {
            black_box(kernel.blocks()?);
            for instruction in kernel.instructions()? {
                black_box(instruction.location()?);
            }
        }
    }
    Ok(())
}

pub(super) fn database(bench: &mut Bench) -> Result<()> {
    let Some(object) = input::kernels_with_lines(input::KERNELS)? else {
        println!("database: skipped: no LLVM 22");
        return Ok(());
    };
    against_objdump(bench, &object)?;
    one_of_few_and_many(bench, &object)?;
    all_of_several_and_many(bench, &object)?;
    a_library(bench)
}

/// All that has to be known of 5,000 kernels, and then the lines of one.
fn against_objdump(bench: &mut Bench, object: &Path) -> Result<()> {
    let row = "index and list 5,000 / objdump -d";
    if bench.wants(row) {
        let mut objdump = Command::new("llvm-objdump-22");
        objdump.arg("-d").arg(object);
        bench.check_answer(&["ls"], object, "kernel_4999")?;
        let (hsaco, objdump) = in_turns(
            bench.runs,
            || wall_time(&mut bench.hsaco(&["ls"], object)),
            || wall_time(&mut objdump),
        )?;
        bench.row(row, hsaco, objdump, Bar::Faster(100.0));
    }
    let row = "one of 5,000 with lines / objdump -d -l";
    if bench.wants(row) {
        let arguments = ["disasm", "-l", "--disassemble-symbols", KERNEL];
        bench.check_answer(&arguments, object, "; kernel_7():")?;
        let mut objdump = Command::new("llvm-objdump-22");
        objdump.args(["-d", "-l"]).arg(format!("--disassemble-symbols={KERNEL}")).arg(object);
        let (hsaco, objdump) = in_turns(
            bench.runs,
            || wall_time(&mut bench.hsaco(&arguments, object)),
            || wall_time(&mut objdump),
        )?;
        bench.row(row, hsaco, objdump, Bar::Faster(20.0));
    }
    Ok(())
}

/// What one kernel costs must not depend on how many there are: instructions, as callgrind counts them.
fn one_of_few_and_many(bench: &mut Bench, many: &Path) -> Result<()> {
    let row = "one of 5,000 / one of 50, M instructions";
    if !bench.wants(row) {
        return Ok(());
    }
    let (Some(few), true) = (input::kernels_with_lines(FEW)?, tool("valgrind").is_some()) else {
        println!("{row}: skipped: no valgrind");
        return Ok(());
    };
    let cost = |object: &Path| -> Result<Duration> {
        let instructions = instructions(object, Some(KERNEL))? - instructions(object, None)?;
        Ok(Duration::from_secs_f64(instructions / 1e9))
    };
    let (many, few) = in_turns(1, || cost(many), || cost(&few))?;
    bench.row(row, many, few, Bar::Within(1.2));
    Ok(())
}

/// All kernels with their lines: what each costs must not depend on how many there are.
fn all_of_several_and_many(bench: &mut Bench, many: &Path) -> Result<()> {
    let row = "each of all 5,000 / of all 1,000, M instructions";
    if !bench.wants(row) {
        return Ok(());
    }
    let several = input::kernels_with_lines(SEVERAL)?;
    let (Some(several), true) = (several, tool("valgrind").is_some()) else {
        println!("{row}: skipped: no valgrind");
        return Ok(());
    };
    #[allow(clippy::cast_precision_loss, reason = "a few thousand")]
    let cost = |object: &Path, kernels: usize| -> Result<Duration> {
        let instructions = instructions(object, Some(ALL))? - instructions(object, None)?;
        Ok(Duration::from_secs_f64(instructions / kernels as f64 / 1e9))
    };
    let (many, several) = in_turns(1, || cost(many, input::KERNELS), || cost(&several, SEVERAL))?;
    bench.row(row, many, several, Bar::Within(1.2));
    Ok(())
}

/// How many instructions it takes to index an object, and to decode a kernel of it.
fn instructions(object: &Path, kernel: Option<&str>) -> Result<f64> {
    let xtask = process::release_binary("xtask", "xtask")?;
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    command.arg(xtask).arg(VERB).arg(object).args(kernel);
    let output = command.output()?;
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find(|line| line.contains("Collected : ")).context("no count")?;
    Ok(line.rsplit(' ').next().unwrap_or_default().parse()?)
}

/// A library of more than a hundred megabytes, read from the disk.
fn a_library(bench: &mut Bench) -> Result<()> {
    let row = "index librocsparse / one second";
    if !bench.wants(row) {
        return Ok(());
    }
    let Some(library) = library("debian", "librocsparse") else {
        println!("{row}: skipped: run `cargo xtask corpus`");
        return Ok(());
    };
    let xtask = process::release_binary("xtask", "xtask")?;
    let (hsaco, second) = in_turns(
        bench.runs,
        || wall_time(Command::new(&xtask).arg(VERB).arg(&library)),
        || Ok(Duration::from_secs(1)),
    )?;
    bench.row(row, hsaco, second, Bar::Faster(1.0));
    // Of 88,137 kernels, names and places: the library has 1.3 GB.
    let peak = usage(Command::new(&xtask).arg(VERB).arg(&library), 1, Path::new("/dev/null"))?;
    bench.memory_verdict("index librocsparse, memory", peak.peak_memory, LIBRARY_MEMORY);
    Ok(())
}
