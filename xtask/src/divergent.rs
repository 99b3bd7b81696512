//! `cargo xtask divergent`: random kernels whose lanes part and meet again, on the emulator, held against a model that runs
//! all lanes in step.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::indexing_slicing,
    reason = "a developer's tool, whose numbers are small and its own"
)]

mod emit;
mod make;
mod model;

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use hsaco::emu::{self, Device, Dispatch, Limits};
use hsaco::kernarg::Launch;
use hsaco::load::{Executable, Freeze};

use crate::args::Args;
use crate::process;
use crate::sanitize::Sanitize;
use make::Program;

/// Each target with the wave sizes that it has.
const TARGETS: [(&str, &[u32]); 8] = [
    ("gfx90a", &[64]),
    ("gfx942", &[64]),
    ("gfx950", &[64]),
    ("gfx1030", &[32, 64]),
    ("gfx1100", &[32, 64]),
    ("gfx1151", &[32, 64]),
    ("gfx1201", &[32, 64]),
    ("gfx1250", &[32]),
];

/// Work-items of the one workgroup that runs.
const ITEMS: usize = 128;
/// Wave instructions that a program may take.
const MOST_INSTRUCTIONS: u64 = 50_000_000;

pub(crate) fn run(mut args: Args) -> Result<()> {
    let seeds: String = args.option("--seeds")?.unwrap_or_else(|| "1..10".to_owned());
    let targets: Option<String> = args.option("--targets")?;
    let levels: String = args.option("--levels")?.unwrap_or_else(|| "0,1,2,3".to_owned());
    let sanitize = Sanitize::new(&mut args);
    args.finish()?;
    let (first, end) = seeds.split_once("..").context("--seeds wants FIRST..END")?;
    let (first, end): (u64, u64) = (first.parse()?, end.parse()?);
    let folder = process::target_dir()?.join("divergent");
    fs::create_dir_all(&folder)?;
    let wants = |target: &str| {
        targets.as_ref().is_none_or(|targets| targets.split(',').any(|it| it == target))
    };
    let (mut passed, mut failed) = (0, 0);
    for seed in first..end {
        let program = Program::random(seed);
        for (target, wave_sizes) in TARGETS.iter().filter(|(target, _)| wants(target)) {
            for wave_size in *wave_sizes {
                let path = folder.join(format!("seed{seed}.wave{wave_size}.c"));
                fs::write(&path, emit::source(&program, ITEMS, *wave_size))?;
                let expected = model::run(&program, ITEMS, *wave_size as usize);
                for level in levels.split(',') {
                    let object = compile(&path, target, *wave_size, level)?;
                    match differs(&object, &expected, sanitize) {
                        Ok(None) => passed += 1,
                        Ok(Some(what)) => {
                            println!("seed {seed} {target} wave{wave_size} -O{level}: {what}");
                            failed += 1;
                        }
                        Err(error) => {
                            println!("seed {seed} {target} wave{wave_size} -O{level}: {error:#}");
                            failed += 1;
                        }
                    }
                }
            }
        }
    }
    println!("{passed} passed, {failed} failed");
    ensure!(failed == 0, "{failed} programs differ from the model");
    Ok(())
}

fn compile(path: &Path, target: &str, wave_size: u32, level: &str) -> Result<Vec<u8>> {
    let object = path.with_extension("co");
    let mut clang = Command::new("clang-22");
    clang.args(["--target=amdgcn-amd-amdhsa", "-nogpulib", "-ffreestanding", "-w"]);
    clang.arg(format!("-mcpu={target}")).arg(format!("-O{level}"));
    if wave_size == 64 && target.starts_with("gfx1") {
        clang.arg("-mwavefrontsize64");
    }
    process::output(clang.arg(path).arg("-o").arg(&object))?;
    Ok(fs::read(object)?)
}

/// The first result that differs from the model's.
fn differs(object: &[u8], expected: &[u32], sanitize: Sanitize) -> Result<Option<String>> {
    let mut executable = Executable::new(None);
    executable.load("program.co", object.to_vec())?;
    if let Err(errors) = executable.freeze(Freeze { base: 0x7d00_0000_0000, ..Freeze::default() }) {
        bail!("{errors:?}");
    }
    let mut device = Device::new(executable.target().context("no target")?, 1 << 30);
    device.load(&executable)?;
    let out = device.memory.allocate(expected.len() as u64 * 4)?;
    let launch = emu::with_apertures(Launch::new(&[ITEMS as u32], &[ITEMS as u32])?)?;
    let limits = Limits { instructions: MOST_INSTRUCTIONS, ..Limits::default() };
    let mut kernarg = out.to_le_bytes().to_vec();
    kernarg.resize(512, 0);
    let dispatch = Dispatch::new(&mut device, &executable, "run", launch, &kernarg)?;
    let undefined = out..out + expected.len() as u64 * 4;
    let sanitized = sanitize.watch(Some(undefined));
    let ran = sanitized.dispatch(dispatch.with_limits(limits)).run();
    sanitized.judge()?;
    ran?;
    let bytes = device.memory.read(out, expected.len() * 4)?;
    let got = bytes.as_chunks().0.iter().map(|it| u32::from_le_bytes(*it));
    let found = got.zip(expected).enumerate().find(|(_, (got, wanted))| got != *wanted);
    Ok(found.map(|(at, (got, wanted))| {
        let (lane, variable) = (at % ITEMS, at / ITEMS);
        format!("work-item {lane}, variable {variable}: {got:#x}, and {wanted:#x} by the model")
    }))
}
