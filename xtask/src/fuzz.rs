//! `cargo xtask fuzz`: fuzzing from the fixtures, with nightly and cargo-fuzz.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};
use hsaco::patch::RuleSet;
use hsaco_tests::assembly::Assembly;
use hsaco_tests::gfx1250;
use hsaco_tests::golden::{FAMILIES, Golden};
use hsaco_tests::random::Random;
use hsaco_tests::{fixtures_dir, tool, workspace_root};

use crate::args::Args;
use crate::process;

const TARGETS: &[&str] = &[
    "container",
    "object",
    "dwarf",
    "msgpack",
    "demangle",
    "decode",
    "assemble",
    "load",
    "kernarg",
    "check",
    "patch",
    "run",
];

/// Targets of nothing but safe code: no sanitizer has anything to find there, and without one they are
/// several times as fast.
const SAFE: &[&str] = &["demangle", "decode", "assemble", "patch"];
/// The byte that chooses the processor, and a few instructions: what a run takes grows with its input, and what
/// it finds does not.
const LONGEST_CODE: usize = 1 + 4 * 20;

pub(crate) fn run(mut args: Args) -> Result<()> {
    let minutes = args.option::<u64>("--minutes")?.unwrap_or(5).max(1);
    let processors = args.option::<String>("--processors")?.unwrap_or_default();
    let target = args.positional();
    args.finish()?;
    let targets = match &target {
        None => TARGETS.to_vec(),
        Some(name) if TARGETS.contains(&name.as_str()) => vec![name.as_str()],
        Some(name) => bail!("no fuzz target `{name}`; there are {}", TARGETS.join(", ")),
    };
    if tool("cargo-fuzz").is_none() {
        process::run(process::cargo().args(["install", "cargo-fuzz", "--locked"]))?;
    }
    for target in targets {
        println!("==> {target}, {minutes} min");
        fuzz(target, minutes, &processors)?;
    }
    Ok(())
}

/// Fuzzes; `decode` takes only processors whose names begin as told.
fn fuzz(target: &str, minutes: u64, processors: &str) -> Result<()> {
    let root = workspace_root();
    let corpus = root.join("fuzz/corpus").join(format!("{target}{processors}"));
    seed(target, &corpus, processors)?;
    // `cargo` here must be rustup's: the one that runs us is already bound to a toolchain.
    let mut command = Command::new("cargo");
    command.args(["+nightly", "fuzz", "run", target]).arg(&corpus);
    if SAFE.contains(&target) {
        command.args(["--sanitizer", "none"]);
    }
    command.args(["--", "-rss_limit_mb=2048", "-timeout=10"]);
    if target == "decode" {
        command.arg(format!("-max_len={LONGEST_CODE}"));
    }
    command.arg(format!("-max_total_time={}", minutes * 60));
    command.env("HSACO_FUZZ_PROCESSORS", processors);
    process::run(command.current_dir(root).env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO"))
}

/// Objects and containers start from whole fixtures, `msgpack` and `kernarg` from the metadata inside them,
/// `demangle` from its measured cases, `decode`, `assemble` and `run` from golden files, `patch` from the examples of its
/// rules.
fn seed(target: &str, corpus: &Path, processors: &str) -> Result<()> {
    fs::create_dir_all(corpus)?;
    match target {
        "demangle" => return seed_names(corpus),
        "decode" => return seed_encodings(corpus, processors),
        "assemble" => return seed_lines(corpus),
        "patch" => return seed_examples(corpus),
        "run" => return seed_programs(corpus),
        _ => {}
    }
    for entry in fs::read_dir(fixtures_dir())? {
        let entry = entry?;
        if !entry.file_type()?.is_file() {
            continue;
        }
        let file = fs::read(entry.path())?;
        let name = entry.file_name().display().to_string();
        if !matches!(target, "msgpack" | "kernarg") {
            fs::write(corpus.join(name), file)?;
            continue;
        }
        for (index, metadata) in metadata_notes(&file).enumerate() {
            // Before metadata, `kernarg` takes as many bytes of a packed buffer.
            let buffer: &[u8] = if target == "kernarg" { &[0; 48] } else { &[] };
            fs::write(corpus.join(format!("{name}.{index}")), [buffer, metadata].concat())?;
        }
    }
    Ok(())
}

/// The mangled names of the demangler's measured cases.
fn seed_names(corpus: &Path) -> Result<()> {
    let cases = workspace_root().join("crates/demangle/tests/demangle.txt");
    let cases = fs::read_to_string(cases)?;
    let names = cases.lines().filter_map(|line| Some(line.split_once('\t')?.0));
    for (index, name) in names.enumerate() {
        fs::write(corpus.join(index.to_string()), name)?;
    }
    Ok(())
}

/// A few encodings of each file, behind a byte that chooses the processor.
fn seed_encodings(corpus: &Path, processors: &str) -> Result<()> {
    const FILES: usize = 5000;
    const ENCODINGS_IN_A_FILE: usize = 4;
    // Both may be the shorter: `gfx1` is of several families, `gfx942` is one of a family.
    let is_meant =
        |family: &&str| family.starts_with(processors) || processors.starts_with(*family);
    for family in FAMILIES.into_iter().filter(is_meant) {
        let golden = Golden::read(family)?;
        let encodings: Vec<_> = golden.rows().map(|row| row.bytes).collect();
        // Rows of one instruction stand together.
        let step = (encodings.len() / (FILES * ENCODINGS_IN_A_FILE)).max(1);
        let encodings: Vec<_> = encodings.into_iter().step_by(step).collect();
        for (index, encodings) in encodings.chunks(ENCODINGS_IN_A_FILE).enumerate() {
            let [processor, ..] = index.to_le_bytes();
            let file = [vec![processor], encodings.concat()].concat();
            fs::write(corpus.join(format!("{family}.{index}")), file)?;
        }
    }
    Ok(())
}

/// Some instructions of each emulated target, behind what `run` chooses by: the target, whose registers are filled, and the
/// words that go into them.
fn seed_programs(corpus: &Path) -> Result<()> {
    const FILES: usize = 500;
    const ENCODINGS_IN_A_FILE: usize = 6;
    const DESCRIPTOR_SIZE: usize = 24;
    const KERNARG_SIZE: usize = 192;
    const FILLS_REGISTERS: u8 = 16;
    let mut random = Random::new(1);
    let families = ["gfx9", "gfx9", "gfx9", "gfx10", "gfx11", "gfx11", "gfx12", "gfx12"];
    for (number, family) in (0..).zip(families) {
        let golden = Golden::read(family)?;
        let encodings: Vec<_> = golden.rows().map(|row| row.bytes).collect();
        for index in 0..FILES {
            let [options, items, ..] = random.bits().to_le_bytes();
            let mut file = vec![number | options & 8 | FILLS_REGISTERS, items & 63, 0, 0];
            file.resize(file.len() + DESCRIPTOR_SIZE, 0);
            file.extend((0..KERNARG_SIZE / 8).flat_map(|_| random.bits().to_le_bytes()));
            for _ in 0..ENCODINGS_IN_A_FILE {
                file.extend(encodings.get(random.below(encodings.len())).into_iter().flatten());
            }
            fs::write(corpus.join(format!("{number}.{index}")), file)?;
        }
    }
    Ok(())
}

/// Some lines of assembly, each behind a byte that chooses the processor.
fn seed_lines(corpus: &Path) -> Result<()> {
    const EVERY: usize = 97;
    for family in FAMILIES {
        let golden = Assembly::read(family)?;
        for (index, row) in golden.rows().step_by(EVERY).enumerate() {
            let [processor, ..] = index.to_le_bytes();
            let file = [&[processor], row.text.as_bytes()].concat();
            fs::write(corpus.join(format!("{family}.{index}")), file)?;
        }
    }
    Ok(())
}

/// The examples of all rules that rewrite code, under every reading that the target knows, and whole objects.
fn seed_examples(corpus: &Path) -> Result<()> {
    const READINGS: u8 = 5;
    for name in ["steppings.co", "s1.gfx1250.co"] {
        fs::copy(fixtures_dir().join(name), corpus.join(name))?;
    }
    for rule in RuleSet::all().iter().flat_map(RuleSet::rules) {
        for example in rule.examples {
            let code = gfx1250::assemble(gfx1250::assembler()?, example.before)?;
            for reading in 0..READINGS {
                let file = [&[reading], code.as_slice(), &[0, 0, 0xb0, 0xbf]].concat();
                fs::write(corpus.join(format!("{}.{reading}", example.name)), file)?;
            }
        }
    }
    Ok(())
}

/// What follows each note header of owner AMDGPU and type 32, wherever it stands in the file.
fn metadata_notes(file: &[u8]) -> impl Iterator<Item = &[u8]> {
    const OWNER_SIZE_AND_TYPE: (u32, u32) = (7, 32);
    const HEADER_SIZE: usize = 20;
    let word = |at: usize| Some(u32::from_le_bytes(*file.get(at..)?.first_chunk()?));
    (0..file.len()).step_by(4).filter_map(move |at| {
        let header = (word(at)?, word(at + 8)?);
        let start = at + HEADER_SIZE;
        let is_note = header == OWNER_SIZE_AND_TYPE && file.get(at + 12..start)? == b"AMDGPU\0\0";
        let size = usize::try_from(word(at + 4)?).ok()?;
        if is_note { file.get(start..start.checked_add(size)?) } else { None }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metadata_note_becomes_a_seed() {
        let count = |name| {
            let file = fs::read(hsaco_tests::fixture(name)).unwrap();
            metadata_notes(&file).filter(|metadata| metadata.first() == Some(&0x83)).count()
        };
        assert_eq!(count("s1.gfx942.co"), 1);
        assert_eq!(count("two-notes.co"), 2);
        assert_eq!(count("v2.co"), 0);
    }
}
