//! The emulator and the reference, compared on random instructions.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use anyhow::{Context as _, Result};
use hsaco_emu::{Probe, Registers};
use hsaco_isa::decoder::{DecodeOptions, Mode};
use hsaco_isa::model::Format;
use hsaco_isa::target::{Generation, WaveSize};
use hsaco_isa::{Decoder, Inst, Processor};

use super::generate::{Generator, Random, VGPRS, registers};
use super::machine::Machine;
use super::operand::Instruction;
use super::{Memory, Opinion, Writes, access};

/// The targets whose instructions are compared.
pub const TARGETS: [&str; 8] =
    ["gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1151", "gfx1201", "gfx1250"];

/// Bytes of LDS: more than any address and offset together.
const LDS_BYTES: usize = 192 << 10;
/// Bytes of the allocation.
const GLOBAL_BYTES: usize = 32 << 10;

/// Tries for each instruction that is to be compared, after which no more are made.
const TRIES: u64 = 1000;

/// What became of the instructions of a target.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Instructions on which both agree.
    pub agreed: u64,
    /// How often each name agreed.
    pub names: BTreeMap<&'static str, u64>,
    /// By name: how often they differ, and the first case in words.
    pub different: BTreeMap<&'static str, (u64, String)>,
    /// By name: how often the emulator refused it, and its first reason.
    pub refused: BTreeMap<&'static str, (u64, String)>,
    /// Names without a function in the reference, and how often they came up.
    pub unknown: BTreeMap<&'static str, u64>,
}

impl Tally {
    /// Instructions on which they differ.
    #[must_use]
    pub fn differences(&self) -> u64 {
        self.different.values().map(|it| it.0).sum()
    }

    fn compared(&self) -> u64 {
        self.agreed + self.differences()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let refused: u64 = self.refused.values().map(|it| it.0).sum();
        let unknown: u64 = self.unknown.values().sum();
        writeln!(
            f,
            "{} agree, {} differ, of {} names; {refused} refused by the emulator; {unknown} of {} names without a reference",
            self.agreed,
            self.differences(),
            self.names.len(),
            self.unknown.len()
        )?;
        for (name, (count, example)) in &self.different {
            writeln!(f, "  differ {count:>6} {name}: {example}")?;
        }
        for (name, (count, reason)) in &self.refused {
            writeln!(f, "  refused {count:>6} {name}: {reason}")?;
        }
        let names: Vec<_> = self.unknown.keys().copied().collect();
        writeln!(f, "  without a reference: {}", names.join(" "))
    }
}

/// Compares so many instructions of a target, half of them in each wave size that it has.
///
/// # Errors
/// There is no such target.
pub fn compare(target: &str, count: u64, seed: u64) -> Result<Tally> {
    let processor = Processor::from_name(target).with_context(|| format!("no target {target}"))?;
    let generation = processor.generation();
    let sizes: &[WaveSize] = match generation {
        Generation::Gfx125 => &[WaveSize::Wave32],
        it if it >= Generation::Gfx10 => &[WaveSize::Wave32, WaveSize::Wave64],
        _ => &[WaveSize::Wave64],
    };
    let mut tally = Tally::default();
    for (number, size) in sizes.iter().enumerate() {
        let until = count * (number as u64 + 1) / sizes.len() as u64;
        compare_waves(processor, *size, until, seed ^ (number as u64) << 32, &mut tally)?;
    }
    Ok(tally)
}

fn compare_waves(
    processor: Processor,
    wave_size: WaveSize,
    until: u64,
    seed: u64,
    tally: &mut Tally,
) -> Result<()> {
    let generation = processor.generation();
    let options = DecodeOptions {
        mode: Mode::Lenient,
        real_true16: Some(generation >= Generation::Gfx11),
        wave_size: Some(wave_size),
    };
    let decoder = Decoder::with_options(processor, options)?;
    let generator = Generator::new(&decoder, generation);
    let mut probe = Probe::new(processor, wave_size, VGPRS)?.with_lds(LDS_BYTES / 4);
    let mut random = Random::new(seed);
    let mut memory = filled(&mut probe, &mut random)?;
    let lanes = if wave_size == WaveSize::Wave64 { 64 } else { 32 };
    let mut tries = 0;
    while tally.compared() < until {
        tries += 1;
        if tries > until * TRIES {
            break;
        }
        let Some(inst) = generator.instruction(&mut random) else { continue };
        let mut before = registers(&mut random, lanes, generation);
        let is_access =
            matches!(inst.format(), Format::Ds | Format::Flat | Format::Global | Format::Mubuf);
        if is_access {
            let machine = Machine::new(generation, lanes, &before, &memory);
            let Some(aimed) =
                access::aim(&machine, &Instruction::new(&decoder, &inst), &mut random)
            else {
                *tally.unknown.entry(inst.mnemonic()).or_default() += 1;
                continue;
            };
            before = aimed;
        }
        let opinion = Opinion::of(&decoder, &inst, generation, wave_size, &before, &memory);
        let name = inst.mnemonic();
        let Opinion::Registers(expected, writes) = opinion else {
            *tally.unknown.entry(name).or_default() += 1;
            continue;
        };
        let mut found = before.clone();
        let bytes = inst.bytes();
        let ran = probe.run(bytes.get(..inst.len()).unwrap_or_default(), &mut found);
        let is_same_memory = !is_access || is_same(&mut probe, &mut memory, &writes)?;
        match ran {
            Err(error) => {
                let entry = tally.refused.entry(name).or_insert_with(|| (0, error.to_string()));
                entry.0 += 1;
            }
            Ok(()) if found == *expected && is_same_memory => {
                tally.agreed += 1;
                *tally.names.entry(name).or_default() += 1;
            }
            Ok(()) => {
                let entry = tally
                    .different
                    .entry(name)
                    .or_insert_with(|| (0, case(&decoder, &inst, &before, &expected, &found)));
                if !is_same_memory {
                    entry.1.push_str(" memory differs");
                }
                entry.0 += 1;
            }
        }
    }
    Ok(())
}

/// Memory with random bytes, in the emulator and for the reference.
fn filled(probe: &mut Probe, random: &mut Random) -> Result<Memory> {
    let base = probe.memory_mut().allocate(GLOBAL_BYTES as u64)?;
    let global: Vec<u8> = (0..GLOBAL_BYTES).map(|_| random.bits() as u8).collect();
    probe.memory_mut().write(base, &global)?;
    probe.lds_mut().fill_with(|| random.bits() as u32);
    Ok(Memory { lds: lds(probe), base, global })
}

fn lds(probe: &Probe) -> Vec<u8> {
    probe.lds().iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Whether the emulator has left in memory what the reference writes; the reference's is the emulator's afterwards.
fn is_same(probe: &mut Probe, memory: &mut Memory, writes: &Writes) -> Result<bool> {
    let found = Memory {
        lds: lds(probe),
        base: memory.base,
        global: probe.memory_mut().read(memory.base, GLOBAL_BYTES)?,
    };
    memory.apply(writes);
    let is_same = found == *memory;
    *memory = found;
    Ok(is_same)
}

/// One difference in words: the instruction, what its sources held, what either says.
fn case(
    decoder: &Decoder,
    inst: &Inst,
    before: &Registers,
    expected: &Registers,
    found: &Registers,
) -> String {
    let mut text = format!("{} (mode {:#x})", decoder.text(inst), before.mode);
    let mut lane_of_difference = 0;
    let vectors = expected.vectors.iter().zip(&found.vectors).enumerate();
    let mut count = 0;
    for (number, (expected, found)) in vectors {
        for (lane, (a, b)) in expected.iter().zip(found).enumerate().filter(|(_, it)| it.0 != it.1)
        {
            if count == 0 {
                lane_of_difference = lane;
                let _ = write!(text, " v{number}[{lane}] reference {a:08x} emulator {b:08x}");
            }
            count += 1;
        }
    }
    let scalars = expected.scalars.iter().zip(&found.scalars).enumerate();
    for (number, (a, b)) in scalars.filter(|(_, it)| it.0 != it.1) {
        let _ = write!(text, " s{number} reference {a:08x} emulator {b:08x}");
    }
    for (name, a, b) in [
        ("vcc", expected.vcc, found.vcc),
        ("exec", expected.exec, found.exec),
        ("m0", expected.m0.into(), found.m0.into()),
        ("scc", expected.scc.into(), found.scc.into()),
        ("mode", expected.mode.into(), found.mode.into()),
    ] {
        if a != b {
            let _ = write!(text, " {name} reference {a:x} emulator {b:x}");
            if a != b && count == 0 {
                lane_of_difference = (a ^ b).trailing_zeros() as usize % 64;
            }
        }
    }
    let _ = write!(text, "; {count} values; before, lane {lane_of_difference}:");
    for operand in decoder.operands(inst) {
        let hsaco_isa::model::OperandValue::Register(register) = operand.value else { continue };
        let first = usize::from(register.first);
        for at in first..first + usize::from(register.count.max(1)) {
            let value = match register.file {
                hsaco_isa::model::RegisterFile::Vgpr => {
                    before.vectors.get(at).and_then(|it| it.get(lane_of_difference)).copied()
                }
                hsaco_isa::model::RegisterFile::Sgpr => before.scalars.get(at).copied(),
                _ => None,
            };
            if let Some(value) = value {
                let _ = write!(text, " {register}={value:08x}");
            }
        }
    }
    let _ =
        write!(text, " exec={:x} vcc={:x} scc={}", before.exec, before.vcc, u8::from(before.scc));
    text
}
