//! Much data: hashes of compressed bundles, files with fewer targets, tables of very many kernels.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};
use hsaco::container::{WalkOptions, entries};
use hsaco_tests::{tool, workspace_root};

use super::measure::{in_turns, repeat, usage, wall_time};
use super::{Bar, Bench, MEBIBYTE, MEMORY_BASE, database, input, library};
use crate::process;

/// What pruning a library may take, whatever its size.
const PRUNING: u64 = 300 * MEBIBYTE;
/// Payloads that are unpacked together.
const TOGETHER: u64 = 64 * MEBIBYTE;
/// The first and the last target of the library's bundles, and one between: what follows it is not unpacked.
const ONE_TARGET: [&str; 3] = ["gfx803", "gfx90a", "gfx1030"];
/// What an index of one target may take, whatever its code comes to: with the objects that a database keeps unpacked.
const INDEX_OF_ONE: u64 = 300 * MEBIBYTE;
/// A run takes seconds.
const RUNS: usize = 5;
/// What opening one target of a large library may take.
const TWO_SECONDS: Duration = Duration::from_secs(2);
/// Copies of an object of 5,000 kernels.
const COPIES: [usize; 2] = [12, 120];

pub(super) fn data(bench: &mut Bench) -> Result<()> {
    hashes(bench)?;
    one_target(bench)?;
    fewer_targets(bench)?;
    tables(bench)
}

/// Checking the hashes of all payloads, beside unpacking them.
fn hashes(bench: &mut Bench) -> Result<()> {
    let row = "compressed library: ls --verify";
    if !bench.wants(row) {
        return Ok(());
    }
    let Some(file) = input::compressed_library()? else {
        println!("{row}: skipped: run `cargo xtask corpus`");
        return Ok(());
    };
    bench.check_answer(&["ls", "--verify"], &file, "gfx1030")?;
    let (verified, listed) = in_turns(
        bench.runs.min(RUNS),
        || wall_time(&mut bench.hsaco(&["ls", "--verify"], &file)),
        || wall_time(&mut bench.hsaco(&["ls"], &file)),
    )?;
    bench.row(&format!("{row} / ls"), verified, listed, Bar::AimWithin(2.5));
    if tool("md5sum").is_some() {
        let plain = input::plain_library(&file);
        let (verified, summed) = in_turns(
            bench.runs.min(RUNS),
            || wall_time(&mut bench.hsaco(&["ls", "--verify"], &file)),
            || wall_time(Command::new("md5sum").arg(&plain)),
        )?;
        bench.row(&format!("{row} / md5sum of the content"), verified, summed, Bar::AimWithin(1.0));
    }
    // A payload larger than those that are unpacked together is unpacked alone, and they are let go of after that.
    let limit = MEMORY_BASE + TOGETHER + TOGETHER.max(largest_payload(&file)?);
    bench.memory_row(&format!("{row}, memory"), &["ls", "--verify"], &file, limit)
}

/// One target of all: listed, and as an index that a program keeps. Beside it stands zstd, which unpacks the same frames on
/// one core.
fn one_target(bench: &mut Bench) -> Result<()> {
    let row = "compressed library: one target";
    if !bench.wants(row) {
        return Ok(());
    }
    let Some(file) = input::compressed_library()? else {
        println!("{row}: skipped: run `cargo xtask corpus`");
        return Ok(());
    };
    let xtask = process::release_binary("xtask", "xtask")?;
    for target in ONE_TARGET {
        let arguments = ["resources", "-t", target, "--format", "csv"];
        bench.check_answer(&arguments, &file, target)?;
        let mut index = Command::new(&xtask);
        index.arg(database::VERB).arg(&file).args(["--target", target]);
        if tool("zstd").is_some() {
            let frames = input::frames_of(&file)?;
            let (listed, unpacked) = in_turns(
                bench.runs.min(RUNS),
                || wall_time(&mut bench.hsaco(&arguments, &file)),
                || wall_time(Command::new("zstd").args(["-d", "-q", "-c"]).arg(&frames)),
            )?;
            let name = format!("{row}, {target}: resources / zstd -d");
            bench.row(&name, listed, unpacked, Bar::AimWithin(1.0));
        }
        let indexed = repeat(bench.runs.min(RUNS), || wall_time(&mut index))?;
        bench.time_aim(&format!("{row}, {target}: index"), indexed.min, TWO_SECONDS);
        let nowhere = Path::new("/dev/null");
        let peak = usage(&index, 1, nowhere)?.peak_memory;
        bench.memory_verdict(&format!("{row}, {target}: index, memory"), peak, INDEX_OF_ONE);
        let limit = MEMORY_BASE + 2 * TOGETHER;
        bench.memory_row(
            &format!("{row}, {target}: resources, memory"),
            &arguments,
            &file,
            limit,
        )?;
    }
    Ok(())
}

/// The bytes that the largest compressed bundle of a file unfolds to.
fn largest_payload(file: &Path) -> Result<u64> {
    let file = fs::read(file)?;
    let mut walk = entries(&file, &WalkOptions::default());
    Ok(walk.upcoming().map(|it| it.size()).max().unwrap_or(0))
}

/// A library without the code of all targets but one, beside copying it.
fn fewer_targets(bench: &mut Bench) -> Result<()> {
    let row = "librocsparse: extract --keep-target";
    if !bench.wants(row) {
        return Ok(());
    }
    let Some(library) = library("debian", "librocsparse") else {
        println!("{row}: skipped: run `cargo xtask corpus`");
        return Ok(());
    };
    let output = workspace_root().join("target/bench/pruned.so");
    let to = output.to_string_lossy();
    let arguments = ["extract", "--keep-target", "gfx1030", "-o", &to];
    let copy = workspace_root().join("target/bench/copy.so");
    let (pruned, copied) = in_turns(
        bench.runs.min(RUNS),
        || wall_time(&mut bench.hsaco(&arguments, &library)),
        || wall_time(Command::new("cp").arg(&library).arg(&copy)),
    )?;
    fs::remove_file(copy)?;
    let size = |path: &Path| fs::metadata(path).map(|it| it.len());
    ensure!(size(&output)? == size(&library)?, "{row}: what is written has another size");
    bench.row(&format!("{row} / cp"), pruned, copied, Bar::Shown);
    bench.memory_row(&format!("{row}, memory"), &arguments, &library, PRUNING)?;
    fs::remove_file(output)?;
    Ok(())
}

/// Tables of files with ten times as many kernels: memory must not grow with them.
fn tables(bench: &mut Bench) -> Result<()> {
    let verbs: [(&str, &[&str]); 3] = [
        ("resources --format csv", &["resources", "--format", "csv"]),
        ("resources --format json", &["resources", "--format", "json"]),
        ("query --format csv", &["query", "--class", "store", "--format", "csv"]),
    ];
    for (name, arguments) in verbs {
        let row = format!("{} kernels: {name}", COPIES[1] * input::KERNELS);
        if !bench.wants(&row) {
            continue;
        }
        if tool("python3").is_none() {
            println!("{row}: skipped: no python3");
            continue;
        }
        let [Some(few), Some(many)] = [copies(COPIES[0])?, copies(COPIES[1])?] else {
            println!("{row}: skipped: no LLVM 22");
            continue;
        };
        let peak = |file: &Path| -> Result<u64> {
            let nowhere = Path::new("/dev/null");
            Ok(usage(&bench.hsaco(arguments, file), 1, nowhere)?.peak_memory)
        };
        let (small, large) = (peak(&few)?, peak(&many)?);
        // Pages of the file are given back in steps of 32 MiB.
        bench.memory_verdict(&format!("{row}, memory"), large, small + 64 * MEBIBYTE);
    }
    Ok(())
}

/// The object of 5,000 kernels so many times in one bundle.
fn copies(count: usize) -> Result<Option<PathBuf>> {
    let Some(object) = input::many_kernels(input::Language::C)? else { return Ok(None) };
    input::copies_of(&object, count).map(Some)
}
