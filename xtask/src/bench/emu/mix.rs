//! Real kernels: some that Triton compiled, one after the other, on data of a size that they are used with. That their
//! results are right is what `cargo xtask triton` shows.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result};
use hsaco_tests::corpus_dir;
use serde_json::Value;

use super::{Ran, emulate, show_rate};
use crate::bench::measure::in_turns;
use crate::bench::{Bar, Bench};

const TARGET: &str = "gfx942";
/// Millions of wave instructions a second.
const AIM: f64 = 50.0;

/// A kernel, its workgroups and its arguments.
type RealLaunch = (&'static str, &'static str, &'static [&'static str]);

/// Vectors of 2^20 elements, 512 rows, matrices of 512 by 512, attention over 1024 tokens.
const LAUNCHES: [RealLaunch; 7] = [
    (
        "add",
        "1024,1",
        &[
            "buf:f32[1048576]=random:1",
            "buf:f32[1048576]=random:2",
            "buf:f32[1048576]",
            "i32:1048576",
        ],
    ),
    ("softmax", "512,1", &["buf:f32[399872]=random:1", "buf:f32[399872]", "i32:781"]),
    (
        "layer_norm",
        "512,1",
        &[
            "buf:f16[397824]=random:1",
            "buf:f32[777]=random:2",
            "buf:f32[777]=random:3",
            "buf:f16[397824]",
            "i32:777",
            "f32:0.00001",
        ],
    ),
    ("matmul_f16", "8,8", &MATRICES),
    (
        "attention",
        "16,1",
        &[
            "buf:f16[65536]=random:1",
            "buf:f16[65536]=random:2",
            "buf:f16[65536]=random:3",
            "buf:f16[65536]",
            "i32:1024",
            "f32:0.125",
        ],
    ),
    (
        "dropout",
        "1024,1",
        &["buf:f32[1048576]=random:1", "buf:f32[1048576]", "i32:1048576", "i32:42", "f32:0.75"],
    ),
    ("histogram", "512,1", &["buf:u32[262144]", "buf:u32[256]", "i32:262144"]),
];

const MATRICES: [&str; 6] = [
    "buf:f16[262144]=random:1",
    "buf:f16[262144]=random:2",
    "buf:f32[262144]",
    "i32:512",
    "i32:512",
    "i32:512",
];

pub(super) fn mix(bench: &mut Bench) -> Result<()> {
    let triton = corpus_dir().join("triton");
    let Ok(about) = fs::read(triton.join("run/launches.json")) else {
        println!("emu Triton: skipped: run `cargo xtask corpus`");
        return Ok(());
    };
    let about: Value = serde_json::from_slice(&about)?;
    let (mut instructions, mut seconds) = (0.0, 0.0);
    for launch in LAUNCHES {
        let mut best = Ran::default();
        for _ in 0..bench.runs {
            best = best.or(emulate(&mut command(bench, &triton, &about, launch)?)?);
        }
        let (name, took) = (launch.0, best.seconds.unwrap_or_default());
        show_rate(bench, &format!("emu Triton {name}"), best.instructions / took / 1e6, None);
        instructions += best.instructions;
        seconds += took;
    }
    show_rate(bench, "emu Triton: wave instructions", instructions / seconds / 1e6, Some(AIM));
    sanitized(bench, &triton, &about)
}

/// All of them under all sanitizers, which must find nothing, against plain runs.
fn sanitized(bench: &mut Bench, triton: &Path, about: &Value) -> Result<()> {
    let all = |more: &[&str]| -> Result<Duration> {
        let each = LAUNCHES.into_iter().map(|launch| {
            let mut command = command(bench, triton, about, launch)?;
            Ok(emulate(command.args(more))?.last)
        });
        each.sum()
    };
    let (sanitized, plain) = in_turns(bench.runs, || all(&["--sanitize"]), || all(&[]))?;
    bench.row("emu Triton: all sanitizers / none", sanitized, plain, Bar::Within(8.0));
    Ok(())
}

fn command(
    bench: &Bench,
    triton: &Path,
    about: &Value,
    (kernel, grid, arguments): RealLaunch,
) -> Result<Command> {
    let object = format!("{kernel}.{TARGET}");
    let launch = about.get(&object).with_context(|| format!("no launch of {object}"))?;
    let number = |key: &str| {
        Ok::<_, anyhow::Error>(launch.get(key).with_context(|| format!("no {key}"))?.to_string())
    };
    let symbol = launch.get("symbol").and_then(Value::as_str).context("no symbol")?;
    let mut command =
        bench.hsaco(&["run", "--format", "json"], &triton.join(format!("{object}.co")));
    command.args(["-k", &format!("^{symbol}$"), "--grid", grid]);
    command.args(["--workgroup", &format!("{},1", number("items")?)]);
    command.args(["--dynamic-lds", &number("lds")?]);
    // Two pointers that Triton adds: memory of its own, which these kernels do not use.
    for argument in arguments.iter().chain(&["u64:0", "u64:0"]) {
        command.args(["--arg", argument]);
    }
    Ok(command)
}
