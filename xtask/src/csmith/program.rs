//! One random program: made, compiled for the host and for a target, and run on both.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::panic;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use hsaco::emu::{self, Device, Dispatch, ErrorKind, Limits};
use hsaco::kernarg::Launch;
use hsaco::load::{Executable, Freeze};

use super::fault::{self, Fault};
use super::record::Outcome;
use crate::process;
use crate::sanitize::Sanitize;

const HEADER: &str = include_str!("csmith.h");
const KERNEL: &str = include_str!("kernel.c");

/// Every other program is as csmith makes them, and every other small, so that more are tried.
const SMALL: [&str; 4] = ["--max-funcs", "4", "--max-block-depth", "3"];
/// Seconds of the host's processor: programs that take more are left out, as some never end.
const HOST_SECONDS: u32 = 1;
/// What the shell's limit ends a program with.
const OUT_OF_TIME: [i32; 2] = [9, 24];
/// Wave instructions that a program may take.
const MOST_INSTRUCTIONS: u64 = 400_000_000;

/// Where one job keeps its program and what is made of it.
pub(super) struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left over does no harm.
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Folder {
    pub(super) fn new(path: PathBuf) -> Result<Self> {
        fs::create_dir_all(&path)?;
        fs::write(path.join("csmith.h"), HEADER)?;
        fs::write(path.join("kernel.c"), KERNEL)?;
        Ok(Self(path))
    }

    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(name);
        command.current_dir(&self.0);
        command
    }

    fn compiler(&self, level: &str) -> Command {
        let mut clang = self.command("clang-22");
        clang.args(["-ffreestanding", "-w", "-I.", "-I/usr/include/csmith"]);
        clang.arg("-DPROGRAM=\"program.c\"").arg(format!("-O{level}"));
        clang
    }

    /// Makes the program of a seed; the checksum that the host computes, or none where it does not end.
    pub(super) fn on_host(&self, seed: u64) -> Result<Option<u32>> {
        let mut csmith = self.command("csmith");
        csmith.args(["--no-argc", "--seed", &seed.to_string()]);
        if seed % 2 == 1 {
            csmith.args(SMALL);
        }
        fs::write(self.0.join("program.c"), process::output(&mut csmith)?)?;
        // Compilers may take loops for finite, and endless programs for anything.
        process::output(self.compiler("0").args(["kernel.c", "-o", "host"]))?;
        let run = format!("ulimit -t {HOST_SECONDS}; exec ./host");
        let printed = self.command("sh").args(["-c", &run]).output()?;
        if printed.status.signal().is_some_and(|it| OUT_OF_TIME.contains(&it)) {
            return Ok(None);
        }
        let text = String::from_utf8(printed.stdout)?;
        let sum = u32::from_str_radix(text.trim(), 16);
        sum.map(Some).with_context(|| format!("seed {seed} on the host: {}", printed.status))
    }

    /// Compiles the program for a target, runs it, and compares.
    pub(super) fn on_emulator(
        &self,
        target: &str,
        level: &str,
        expected: u32,
        sanitize: Sanitize,
    ) -> Result<Outcome> {
        // The driver would start both the compiler and the linker anew.
        let mut clang = self.compiler_for(target, level);
        let compiled = clang.args(["-c", "kernel.c", "-o", "program.o"]).output()?;
        if compiled.status.success() {
            return self.run(expected, sanitize);
        }
        let message = String::from_utf8_lossy(&compiled.stderr);
        Ok(match fault::refusal(&message) {
            Some(known) => Outcome::NotCompiled(known.to_owned()),
            None => Outcome::Failed(format!("not compiled: {message}")),
        })
    }

    /// The same with instructions of the compiler's assembly mended, which then has to give the host's checksum.
    pub(super) fn mended(
        &self,
        fault: &Fault,
        target: &str,
        level: &str,
        expected: u32,
    ) -> Result<Outcome> {
        let mut clang = self.compiler_for(target, level);
        process::output(clang.args(["-S", "kernel.c", "-o", "program.s"]))?;
        let assembly = fs::read_to_string(self.0.join("program.s"))?;
        let Some(mended) = fault.mend(&assembly) else {
            return Ok(Outcome::Failed(format!("the compiler's fault {} is gone", fault.name)));
        };
        fs::write(self.0.join("program.s"), mended)?;
        let mut clang = self.compiler_for(target, level);
        process::output(clang.args(["-c", "program.s", "-o", "program.o"]))?;
        Ok(match self.run(expected, Sanitize::Off)? {
            Outcome::Passed => Outcome::Compiler(fault.name.to_owned()),
            other => other,
        })
    }

    fn compiler_for(&self, target: &str, level: &str) -> Command {
        let mut clang = self.compiler(level);
        clang.args(["--target=amdgcn-amd-amdhsa", "-nogpulib", &format!("-mcpu={target}")]);
        clang
    }

    /// Links what was compiled and runs it.
    fn run(&self, expected: u32, sanitize: Sanitize) -> Result<Outcome> {
        let mut linker = self.command("ld.lld-22");
        process::output(linker.args([
            "-shared",
            "--no-undefined",
            "program.o",
            "-o",
            "program.co",
        ]))?;
        let object = fs::read(self.0.join("program.co"))?;
        let run = panic::AssertUnwindSafe(|| run(object, sanitize));
        Ok(match panic::catch_unwind(run) {
            Ok(Ok(sum)) if sum == expected => Outcome::Passed,
            Ok(Ok(sum)) => Outcome::Failed(format!("{sum:08x}, and {expected:08x} on the host")),
            Ok(Err(error)) if is_too_long(&error) => Outcome::TooLong,
            Ok(Err(error)) => Outcome::Failed(format!("{error:#}")),
            Err(_) => Outcome::Failed("the emulator panicked".to_owned()),
        })
    }
}

fn is_too_long(error: &anyhow::Error) -> bool {
    error.downcast_ref::<emu::Error>().is_some_and(|it| it.kind() == ErrorKind::Limit)
}

/// What the kernel `run` of an object leaves.
fn run(object: Vec<u8>, sanitize: Sanitize) -> Result<u32> {
    let limits = Limits { instructions: MOST_INSTRUCTIONS, ..Limits::default() };
    let mut found = Ok(());
    let ran = launch(object, |dispatch, out| {
        let sanitized = sanitize.watch(Some(out..out + 4));
        let ran = sanitized.dispatch(dispatch.with_limits(limits)).run();
        found = sanitized.judge();
        ran
    });
    found?;
    Ok(ran?.1)
}

/// Runs the kernel `run` of an object; `run` is told where its result goes.
pub(crate) fn launch(
    object: Vec<u8>,
    run: impl FnOnce(Dispatch<'_>, u64) -> emu::Result<emu::Outcome>,
) -> Result<(emu::Outcome, u32)> {
    let mut executable = Executable::new(None);
    executable.load("program.co", object)?;
    if let Err(errors) = executable.freeze(Freeze { base: 0x7d00_0000_0000, ..Freeze::default() }) {
        bail!("{errors:?}");
    }
    let mut device = Device::new(executable.target().context("no target")?, 1 << 30);
    device.load(&executable)?;
    let out = device.memory.allocate(4)?;
    let launch = emu::with_apertures(Launch::new(&[1], &[1])?)?;
    let mut kernarg = out.to_le_bytes().to_vec();
    kernarg.resize(512, 0);
    let dispatch = Dispatch::new(&mut device, &executable, "run", launch, &kernarg)?;
    let outcome = run(dispatch, out)?;
    let bytes = device.memory.read(out, 4)?;
    Ok((outcome, u32::from_le_bytes(*bytes.first_chunk().context("four bytes")?)))
}
