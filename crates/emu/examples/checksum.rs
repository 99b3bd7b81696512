//! Runs the kernel `run(uint32_t *out)` of each file given, and prints the number that it leaves.

use hsaco_emu::{Device, Dispatch, Limits};
use hsaco_kernarg::Launch;
use hsaco_load::{Executable, Freeze};

fn main() {
    for path in std::env::args().skip(1) {
        match run(&path) {
            Ok((sum, count)) => println!("{path} {sum:08x} {count}"),
            Err(error) => println!("{path} {error}"),
        }
    }
}

fn run(path: &str) -> Result<(u32, u64), Box<dyn std::error::Error>> {
    let mut executable = Executable::new(None);
    executable.load(path, std::fs::read(path)?)?;
    executable.freeze(Freeze { base: 0x7d00_0000_0000, ..Freeze::default() })?;
    let target = executable.target().ok_or("no target")?;
    let mut device = Device::new(target, 1 << 30);
    device.load(&executable)?;
    let out = device.memory.allocate(4)?;
    let launch = Launch::new(&[1], &[1])?;
    let limits = Limits { instructions: 200_000_000, ..Limits::default() };
    let mut kernarg = out.to_le_bytes().to_vec();
    kernarg.resize(512, 0);
    let dispatch = Dispatch::new(&mut device, &executable, "run", launch, &kernarg)?;
    let outcome = dispatch.with_limits(limits).run()?;
    let bytes = device.memory.read(out, 4)?;
    let sum = bytes.first_chunk().map_or(0, |it| u32::from_le_bytes(*it));
    Ok((sum, outcome.instructions))
}
