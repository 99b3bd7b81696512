//! Assembling, against `llvm-mc`.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use hsaco_tests::assembly::Assembly;
use hsaco_tests::golden::family;
use hsaco_tests::oracle::Target;
use hsaco_tests::{tool, workspace_root};

use super::measure::{in_turns, usage};
use super::{Bar, Bench};

const TARGETS: [&str; 3] = ["gfx900", "gfx1100", "gfx1250"];
/// So long that starting up hardly counts.
const LINES: usize = 200_000;

pub(super) fn asm(bench: &mut Bench) -> Result<()> {
    for name in TARGETS {
        let row = format!("asm {name} / llvm-mc, user");
        if !bench.wants(&row) {
            continue;
        }
        if tool("python3").is_none() || tool("llvm-mc-22").is_none() {
            println!("{row}: skipped: no python3 or no LLVM 22");
            continue;
        }
        one_target(bench, &row, &name.parse()?)?;
    }
    Ok(())
}

fn one_target(bench: &mut Bench, row: &str, target: &Target) -> Result<()> {
    let source = source(target)?;
    let output = workspace_root().join("target/bench/encodings.txt");
    let processor = target.processor.name();
    let arguments = ["asm", "-t", processor];
    bench.check_answer(&arguments, &source, "; encoding: [")?;
    let mut llvm = Command::new("llvm-mc-22");
    llvm.args(["-triple=amdgcn", "-show-encoding", "-mcpu", processor]).arg(&source);
    let (hsaco, llvm) = in_turns(
        bench.runs,
        || Ok(usage(&bench.hsaco(&arguments, &source), 1, &output)?.user),
        || Ok(usage(&llvm, 1, &output)?.user),
    )?;
    bench.row(row, hsaco, llvm, Bar::Faster(10.0));
    fs::remove_file(output)?;
    Ok(())
}

/// The lines of the golden files that the target assembles, over and over.
fn source(target: &Target) -> Result<PathBuf> {
    let golden = Assembly::read(family(target.processor))?;
    let assembler = hsaco::isa::Assembler::new(target.processor, target.options)?;
    let mut lines = Vec::new();
    for row in golden.rows() {
        let is_own = golden.sets.get(row.set).is_some_and(|set| set.contains(target));
        if is_own && assembler.assemble(row.text).is_ok() {
            lines.push(row.text);
        }
    }
    let lines = llvm_lines(target, &lines)?;
    let mut text = String::new();
    for line in lines.iter().cycle().take(LINES) {
        writeln!(text, "{line}")?;
    }
    let path = workspace_root().join(format!("target/bench/{}.s", target.processor.name()));
    fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
    fs::write(&path, text)?;
    Ok(path)
}

/// Those that llvm-mc assembles as well.
fn llvm_lines<'a>(target: &Target, lines: &[&'a str]) -> Result<Vec<&'a str>> {
    let answers = hsaco_tests::assembly::llvm_mc(target, lines)?;
    Ok(lines
        .iter()
        .zip(answers)
        .filter(|(_, answer)| answer.is_some())
        .map(|(line, _)| *line)
        .collect())
}
