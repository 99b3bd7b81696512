//! `cargo xtask csmith`: random C programs on the emulator, held against the host.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use hsaco::emu::{self, Device, Dispatch, Limits};
use hsaco::kernarg::Launch;
use hsaco::load::{Executable, Freeze};

use crate::apt;
use crate::args::Args;
use crate::process;

const TARGETS: &str = "gfx90a,gfx942,gfx950,gfx1030,gfx1100,gfx1151,gfx1201,gfx1250";
const HEADER: &str = include_str!("csmith/csmith.h");
const KERNEL: &str = include_str!("csmith/kernel.c");

/// Programs that take the host longer are left out: some never end.
const HOST_TIME: Duration = Duration::from_secs(2);
/// Wave instructions that a program may take.
const MOST_INSTRUCTIONS: u64 = 400_000_000;

/// What became of all programs.
#[derive(Default)]
struct Tally {
    passed: usize,
    failed: usize,
    /// Programs that never end on the host either.
    left_out: usize,
    instructions: u64,
    seconds: f64,
}

pub(crate) fn run(mut args: Args) -> Result<()> {
    let seeds: String = args.option("--seeds")?.unwrap_or_else(|| "1..10".to_owned());
    let targets: String = args.option("--targets")?.unwrap_or_else(|| TARGETS.to_owned());
    let levels: String = args.option("--levels")?.unwrap_or_else(|| "0,1,2,3".to_owned());
    args.finish()?;
    let (first, end) = seeds.split_once("..").context("--seeds wants FIRST..END")?;
    let (first, end): (u64, u64) = (first.parse()?, end.parse()?);
    if hsaco_tests::tool("csmith").is_none() {
        apt::install(&["csmith", "libcsmith-dev"])?;
    }
    let folder = process::target_dir()?.join("csmith");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("csmith.h"), HEADER)?;
    fs::write(folder.join("kernel.c"), KERNEL)?;
    let mut tally = Tally::default();
    for seed in first..end {
        let Some(expected) = on_host(&folder, seed)? else {
            tally.left_out += 1;
            continue;
        };
        for target in targets.split(',') {
            for level in levels.split(',') {
                tally.add(&folder, seed, target, level, expected)?;
            }
        }
    }
    let Tally { passed, failed, left_out, instructions, seconds } = tally;
    println!("{passed} passed, {failed} failed, {left_out} programs never end");
    println!("{instructions} wave instructions in {seconds:.1} s");
    ensure!(failed == 0, "{failed} checksums differ from the host's");
    Ok(())
}

/// The program of a seed, and the checksum that the host computes; none where it does not end.
fn on_host(folder: &Path, seed: u64) -> Result<Option<u32>> {
    let mut csmith = Command::new("csmith");
    // It writes a file of its own where it stands.
    csmith.current_dir(folder);
    let program = process::output(csmith.args(["--no-argc", "--seed", &seed.to_string()]))?;
    fs::write(folder.join("program.c"), program)?;
    let host = folder.join("host");
    process::output(compiler(folder, "1").arg("kernel.c").arg("-o").arg(&host))?;
    let mut child = Command::new(&host).stdout(Stdio::piped()).spawn()?;
    let started = Instant::now();
    while child.try_wait()?.is_none() {
        if started.elapsed() > HOST_TIME {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let printed = child.wait_with_output()?;
    if !printed.status.success() {
        return Ok(None);
    }
    let text = String::from_utf8(printed.stdout)?;
    Ok(Some(u32::from_str_radix(text.trim(), 16).with_context(|| text.clone())?))
}

fn compiler(folder: &Path, level: &str) -> Command {
    let mut clang = Command::new("clang-22");
    clang.current_dir(folder).args(["-ffreestanding", "-w", "-I.", "-I/usr/include/csmith"]);
    clang.arg("-DPROGRAM=\"program.c\"").arg(format!("-O{level}"));
    clang
}

impl Tally {
    fn add(
        &mut self,
        folder: &Path,
        seed: u64,
        target: &str,
        level: &str,
        expected: u32,
    ) -> Result<()> {
        let object = folder.join("program.co");
        let mut clang = compiler(folder, level);
        clang.args(["--target=amdgcn-amd-amdhsa", "-nogpulib", &format!("-mcpu={target}")]);
        process::output(clang.arg("kernel.c").arg("-o").arg(&object))?;
        let started = Instant::now();
        let found = on_emulator(&object);
        self.seconds += started.elapsed().as_secs_f64();
        match found {
            Ok((sum, instructions)) => {
                self.instructions += instructions;
                if sum == expected {
                    self.passed += 1;
                    return Ok(());
                }
                println!(
                    "seed {seed} {target} -O{level}: {sum:08x}, and {expected:08x} on the host"
                );
            }
            Err(error) => println!("seed {seed} {target} -O{level}: {error:#}"),
        }
        self.failed += 1;
        Ok(())
    }
}

/// What the kernel `run` of an object leaves, and how many instructions that took.
fn on_emulator(path: &PathBuf) -> Result<(u32, u64)> {
    let mut executable = Executable::new(None);
    executable.load("program.co", fs::read(path)?)?;
    if let Err(errors) = executable.freeze(Freeze { base: 0x7d00_0000_0000, ..Freeze::default() }) {
        bail!("{errors:?}");
    }
    let mut device = Device::new(executable.target().context("no target")?, 1 << 30);
    device.load(&executable)?;
    let out = device.memory.allocate(4)?;
    let launch = emu::with_apertures(Launch::new(&[1], &[1])?)?;
    let limits = Limits { instructions: MOST_INSTRUCTIONS, ..Limits::default() };
    let mut kernarg = out.to_le_bytes().to_vec();
    kernarg.resize(512, 0);
    let dispatch = Dispatch::new(&mut device, &executable, "run", launch, &kernarg)?;
    let outcome = dispatch.with_limits(limits).run()?;
    let bytes = device.memory.read(out, 4)?;
    let sum = bytes.first_chunk().context("four bytes")?;
    Ok((u32::from_le_bytes(*sum), outcome.instructions))
}
