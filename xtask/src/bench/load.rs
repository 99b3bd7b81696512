//! Freezing an executable: a thousand objects that all refer to each other, and how the time grows.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use hsaco::elf::relocation::RelocationType;
use hsaco::elf::symbol::{Binding, STT_FUNC, STT_NOTYPE, STT_OBJECT, Visibility};
use hsaco::elf::write::{Builder, Identity, NewRelocation, NewSection, NewSymbol};
use hsaco::elf::{SHF_ALLOC, SHF_EXECINSTR, SHF_WRITE, SHT_PROGBITS};
use hsaco::load::{Executable, Freeze};

use super::Bench;
use crate::args::Args;
use crate::process;

/// The verb that no developer types: the benchmark runs it in an optimised build of this program.
pub(crate) const VERB: &str = "freeze-time";

const FUNCTIONS: usize = 50;
const REFERENCES: usize = 4;
const MOST: usize = 1000;
const BAR: Duration = Duration::from_secs(1);
/// How much more one symbol or relocation may cost among the most objects than among the fewest.
const GROWTH: f64 = 2.0;

/// Prints the nanoseconds that freezing so many objects takes, the best of a few.
pub(crate) fn run(mut args: Args) -> Result<()> {
    const RUNS: usize = 5;
    let count: usize = args.positional().context("how many objects?")?.parse()?;
    let has_kernels = args.positional().is_some();
    args.finish()?;
    let objects: Vec<Vec<u8>> =
        (0..count).map(|number| object(number, count, has_kernels)).collect::<Result<_>>()?;
    let times = (0..RUNS).map(|_| freeze(&objects)).collect::<Result<Vec<_>>>()?;
    println!("{}", times.into_iter().min().unwrap_or_default().as_nanos());
    Ok(())
}

pub(super) fn load(bench: &mut Bench) -> Result<()> {
    for (row, has_kernels) in [("freeze", false), ("freeze with kernels", true)] {
        if bench.wants(row) {
            grow(bench, row, has_kernels)?;
        }
    }
    Ok(())
}

/// Times growing numbers of objects; the last must be within the bar, and none may cost much more for each thing.
fn grow(bench: &mut Bench, row: &str, has_kernels: bool) -> Result<()> {
    let xtask = process::release_binary("xtask", "xtask")?;
    let mut costs: Vec<f64> = Vec::new();
    for count in [MOST / 8, MOST / 4, MOST / 2, MOST] {
        let mut command = Command::new(&xtask);
        command.arg(VERB).arg(count.to_string()).args(has_kernels.then_some("kernels"));
        let time = String::from_utf8(process::output(&mut command)?)?;
        let time = Duration::from_nanos(time.trim().parse()?);
        let things = count * FUNCTIONS * (1 + 2 * REFERENCES);
        let cost = time.as_secs_f64() * 1e9 / things as f64;
        costs.push(cost);
        let name = format!("{row}: {count} objects of {FUNCTIONS} functions");
        let spent = format!("{:.0} ms", time.as_secs_f64() * 1e3);
        let each = format!("{cost:.0} ns each");
        let is_judged = count == MOST;
        let bar = if is_judged { format!("<= {} ms", BAR.as_millis()) } else { String::new() };
        let verdict = if is_judged { bench.verdict(time <= BAR) } else { "" };
        let plot = "#".repeat(usize::try_from(time.as_millis() / 10).unwrap_or(0).clamp(1, 100));
        println!("{name:<44} {spent:>19} {each:>19} {:>9} {bar:>9} {verdict} {plot}", "");
    }
    let growth = costs.last().copied().unwrap_or(0.0) / costs.first().copied().unwrap_or(1.0);
    let verdict = bench.verdict(growth <= GROWTH);
    let (text, bar) = (format!("{growth:.2}x"), format!("<= {GROWTH}x"));
    println!(
        "{:<44} {:>19} {:>19} {text:>14} {bar:>9} {verdict}",
        format!("{row}: growth of one's cost"),
        "",
        ""
    );
    Ok(())
}

fn freeze(objects: &[Vec<u8>]) -> Result<Duration> {
    let mut executable = Executable::new(None);
    for (number, bytes) in objects.iter().enumerate() {
        executable.load(&format!("object{number}"), bytes.as_slice())?;
    }
    let start = Instant::now();
    executable.freeze(Freeze::default())?;
    let time = start.elapsed();
    let applied = executable.relocations().count();
    ensure!(
        applied == objects.len() * FUNCTIONS * REFERENCES,
        "{applied} relocations were applied"
    );
    Ok(time)
}

/// An object of functions whose data points to functions of the next objects, a few for each.
fn object(number: usize, count: usize, has_kernel: bool) -> Result<Vec<u8>> {
    const CODE: u64 = 0x1000;
    const DATA: u64 = 0x8000;
    const DESCRIPTOR: u64 = 0x7000;
    let section = |name: &str, flags, address, content: Vec<u8>| NewSection {
        name: name.to_owned(),
        kind: SHT_PROGBITS,
        flags: SHF_ALLOC | flags,
        address,
        align: 4096,
        entry_size: 0,
        content: content.into(),
        memory_size: 0,
    };
    let mut builder = Builder::new(Identity { os_abi: 64, abi_version: 4, flags: 0x54c });
    // v_mov_b32 v1, v0; s_setpc_b64 s[30:31]; padding
    let mut function = [0x7e02_0300_u32, 0xbe80_1d1e].map(u32::to_le_bytes).concat();
    function.resize(256, 0);
    let code = function.repeat(FUNCTIONS);
    let text = builder.section(section(".text", SHF_EXECINSTR, CODE, code));
    let name =
        |object: usize, function: usize| format!("function_{object}_{function}").into_bytes();
    let symbol = |name: Vec<u8>, value, size, kind, section| NewSymbol {
        name,
        value,
        size,
        kind,
        binding: Binding::Global,
        visibility: Visibility::Default,
        section,
    };
    for function in 0..FUNCTIONS {
        builder.symbol(symbol(
            name(number, function),
            CODE + 256 * function as u64,
            8,
            STT_FUNC,
            text,
        ));
    }
    if has_kernel {
        let mut descriptor = vec![0; 64];
        let distance = CODE.wrapping_sub(DESCRIPTOR).to_le_bytes();
        descriptor.splice(16..24, distance);
        let rodata = builder.section(section(".rodata", 0, DESCRIPTOR, descriptor));
        let name = format!("kernel_{number}.kd").into_bytes();
        builder.symbol(symbol(name, DESCRIPTOR, 64, STT_OBJECT, rodata));
    }
    let slots = FUNCTIONS * REFERENCES;
    builder.section(section(".data", SHF_WRITE, DATA, vec![0; 8 * slots]));
    for slot in 0..slots {
        let (function, step) = (slot / REFERENCES, 1 + slot % REFERENCES);
        let wanted = name((number + step) % count, function);
        let symbol = builder.symbol(symbol(wanted, 0, 0, STT_NOTYPE, 0));
        let (offset, kind) = (DATA + 8 * slot as u64, RelocationType(3));
        builder.relocation(NewRelocation { offset, kind, symbol: Some(symbol), addend: 0 });
    }
    Ok(builder.finish()?)
}
