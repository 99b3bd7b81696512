//! The emulator, against the same C that the host's compiler made: on one core, the time of kernels alone.

mod mix;
mod tinygrad;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use hsaco_tests::{tool, workspace_root};
use serde_json::Value;

use super::measure::{in_turns, repeat};
use super::{Bar, Bench};
use crate::process;

const SOURCE: &str = include_str!("emu/loops.c");
const WORKGROUP: u32 = 256;

/// A loop, in both worlds.
struct Loop {
    name: &'static str,
    kernel: &'static str,
    workgroups: u32,
    /// Elements of each buffer.
    size: u32,
    times: u32,
    bar: Bar,
    /// Millions of wave instructions a second, where there is an aim.
    rate: Option<f64>,
}

const LOOPS: [Loop; 3] = [
    Loop {
        name: "alu",
        kernel: "alu",
        workgroups: 64,
        size: 64 * WORKGROUP,
        times: 10_000,
        bar: Bar::AimWithin(8.0),
        rate: Some(100.0),
    },
    // More than caches hold.
    Loop {
        name: "saxpy, 128 MiB",
        kernel: "saxpy",
        workgroups: 64,
        size: 1 << 24,
        times: 3,
        bar: Bar::AimWithin(20.0),
        rate: None,
    },
    Loop {
        name: "saxpy, 8 MiB",
        kernel: "saxpy",
        workgroups: 64,
        size: 1 << 20,
        times: 50,
        bar: Bar::Shown,
        rate: None,
    },
];

pub(super) fn emu(bench: &mut Bench) -> Result<()> {
    if !bench.wants("emu") {
        return Ok(());
    }
    if tool("clang-22").is_none() {
        println!("emu: skipped: no LLVM 22");
        return Ok(());
    }
    let folder = workspace_root().join("target/bench/emu");
    let (native, object) = compile(&folder)?;
    for it in &LOOPS {
        compare_answers(bench, it, &native, &object, &folder)?;
        let mut ran = Ran::default();
        let (hsaco, host) = in_turns(
            bench.runs,
            || {
                ran = ran.or(emulate(&mut it.emulated(bench, &object))?);
                Ok(ran.last)
            },
            || native_time(&mut it.native(&native)),
        )?;
        bench.row(&format!("emu {}: kernel / native", it.name), hsaco, host, it.bar);
        let row = format!("emu {}: wave instructions", it.name);
        show_rate(bench, &row, ran.rate(), it.rate);
    }
    match tinygrad::rate(&object, &folder)? {
        Some(rate) => show_rate(bench, "emu alu: wave instructions, tinygrad", rate, None),
        None => println!("emu alu, tinygrad: skipped: $TINYGRAD is no checkout of it"),
    }
    threads(bench, &object)?;
    matrix(bench, &object)?;
    mix::mix(bench)
}

/// What the quickest of several runs did.
#[derive(Clone, Copy, Default)]
struct Ran {
    instructions: f64,
    seconds: Option<f64>,
    last: Duration,
}

impl Ran {
    /// The quicker one.
    fn or(self, other: Self) -> Self {
        let is_quicker = self.seconds.is_none_or(|it| other.seconds.is_some_and(|new| new < it));
        if is_quicker { other } else { Self { last: other.last, ..self } }
    }

    /// Millions of wave instructions a second.
    fn rate(&self) -> f64 {
        self.instructions / self.seconds.unwrap_or(f64::INFINITY) / 1e6
    }
}

/// Runs a kernel: how many instructions it has, and the time of the kernel alone.
fn emulate(command: &mut Command) -> Result<Ran> {
    let told: Value = serde_json::from_slice(&process::output(command)?)?;
    let number =
        |key: &str| told.get(key).and_then(Value::as_f64).with_context(|| format!("no {key}"));
    let (instructions, seconds) = (number("instructions")?, number("seconds")?);
    Ok(Ran { instructions, seconds: Some(seconds), last: Duration::from_secs_f64(seconds) })
}

/// The time of a loop alone, as the program tells it.
fn native_time(command: &mut Command) -> Result<Duration> {
    let output = command.output().with_context(|| process::describe(command))?;
    ensure!(output.status.success(), "`{}`: {}", process::describe(command), output.status);
    Ok(Duration::from_secs_f64(str::from_utf8(&output.stderr)?.trim().parse()?))
}

fn show_rate(bench: &Bench, row: &str, rate: f64, aim: Option<f64>) {
    let number = format!("{rate:.2} M/s");
    match aim {
        Some(aim) => bench.aim_row(row, &number, &format!(">= {aim} M/s"), rate >= aim),
        None => println!("{row:<44} {number:>19}"),
    }
}

/// Two threads against one.
fn threads(bench: &mut Bench, object: &Path) -> Result<()> {
    if thread::available_parallelism()?.get() < 2 {
        println!("emu alu: two threads: skipped: one core");
        return Ok(());
    }
    let [it, ..] = &LOOPS;
    let on = |count: &str| {
        let mut command = it.emulated(bench, object);
        Ok(emulate(command.args(["--threads", count]))?.last)
    };
    let (two, one) = in_turns(bench.runs, || on("2"), || on("1"))?;
    bench.row("emu alu: two threads / one", two, one, Bar::AimFaster(1.7));
    Ok(())
}

/// One matrix product, of 32 times 32 times 8 halves.
fn matrix(bench: &Bench, object: &Path) -> Result<()> {
    const TIMES: u32 = 2000;
    const EACH: f64 = 8.0 * TIMES as f64;
    let time = repeat(bench.runs, || {
        let mut command = bench.hsaco(&["run", "--format", "json", "-k", "mfma"], object);
        command.args(["--grid", "1", "--workgroup", "64", "--arg", "buf:f32[64]=iota", "--arg"]);
        Ok(emulate(command.arg(format!("i32:{TIMES}")))?.last)
    })?;
    let microseconds = time.min.as_secs_f64() * 1e6 / EACH;
    let number = format!("{microseconds:.2} us");
    bench.aim_row("emu mfma 32x32x8 f16: one", &number, "<= 3 us", microseconds <= 3.0);
    Ok(())
}

/// The program for the host, and the object.
fn compile(folder: &Path) -> Result<(PathBuf, PathBuf)> {
    fs::create_dir_all(folder)?;
    let (source, native, object) =
        (folder.join("loops.c"), folder.join("loops"), folder.join("loops.co"));
    fs::write(&source, SOURCE)?;
    let clang = || {
        let mut clang = Command::new("clang-22");
        clang.arg("-O2").arg(&source);
        clang
    };
    process::run(clang().args(["-march=native", "-o"]).arg(&native))?;
    process::run(
        clang()
            .args(["--target=amdgcn-amd-amdhsa", "-mcpu=gfx942", "-nogpulib", "-o"])
            .arg(&object),
    )?;
    Ok((native, object))
}

impl Loop {
    fn emulated(&self, bench: &Bench, object: &Path) -> Command {
        let mut command = bench.hsaco(&["run", "--format", "json", "-k", self.kernel], object);
        let grid = self.workgroups.to_string();
        command.args(["--grid", &grid, "--workgroup", &WORKGROUP.to_string()]);
        let buffer = format!("buf:f32[{}]=iota", self.size);
        let numbers =
            [self.size, self.workgroups * WORKGROUP, self.times].map(|it| format!("i32:{it}"));
        let values: Vec<&str> = match (self.kernel, &numbers) {
            ("alu", [.., times]) => vec![&buffer, times],
            (_, [size, items, times]) => vec![&buffer, &buffer, size, items, times],
        };
        values.into_iter().for_each(|it| {
            command.args(["--arg", it]);
        });
        command
    }

    fn native(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.arg(self.kernel).args([self.size, self.times].map(|it| it.to_string()));
        command
    }
}

/// A fast wrong answer must not pass: both compute the same bits.
fn compare_answers(
    bench: &Bench,
    it: &Loop,
    native: &Path,
    object: &Path,
    folder: &Path,
) -> Result<()> {
    let dump = folder.join("result");
    let mut emulated = it.emulated(bench, object);
    process::output(emulated.arg("--dump").arg(format!("0={}", dump.display())))?;
    let expected = process::output(&mut it.native(native))?;
    ensure!(fs::read(&dump)? == expected, "emu {}: not what the host computes", it.name);
    Ok(())
}
