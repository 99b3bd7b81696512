//! The emulator, against the same C that the host's compiler made.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use hsaco_tests::{tool, workspace_root};
use serde_json::Value;

use super::measure::{in_turns, wall_time};
use super::{Bar, Bench};
use crate::process;

const SOURCE: &str = include_str!("emu/loops.c");
const WORKGROUP: u32 = 256;

/// A loop, in both worlds.
struct Loop {
    kernel: &'static str,
    workgroups: u32,
    /// Elements of each buffer.
    size: u32,
    times: u32,
    bar: Bar,
}

const LOOPS: [Loop; 2] = [
    Loop {
        kernel: "alu",
        workgroups: 64,
        size: 64 * WORKGROUP,
        times: 10_000,
        bar: Bar::Within(8.0),
    },
    Loop { kernel: "saxpy", workgroups: 64, size: 1 << 20, times: 50, bar: Bar::Within(20.0) },
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
        let (hsaco, host) = in_turns(
            bench.runs.min(5),
            || wall_time(&mut it.emulated(bench, &object)),
            || wall_time(&mut it.native(&native)),
        )?;
        bench.row(&format!("emu {}: run / native", it.kernel), hsaco, host, it.bar);
        let told: Value =
            serde_json::from_slice(&process::output(&mut it.emulated(bench, &object))?)?;
        let number =
            |key: &str| told.get(key).and_then(Value::as_f64).with_context(|| format!("no {key}"));
        let rate = number("instructions")? / number("seconds")? / 1e6;
        println!(
            "{:<44} {:>19}",
            format!("emu {}: wave instructions", it.kernel),
            format!("{rate:.1} M/s")
        );
    }
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
    ensure!(fs::read(&dump)? == expected, "emu {}: not what the host computes", it.kernel);
    Ok(())
}
