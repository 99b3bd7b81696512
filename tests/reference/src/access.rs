//! Instructions that read and write memory: LDS, global and flat, lane by lane.

use hsaco_isa::model::{Format, OperandValue, Register, RegisterFile, Special};
use hsaco_isa::target::Generation;

use super::buffer;
use super::generate::Random;
use super::machine::Machine;
use super::memory::Space;
use super::operand::{Instruction, Type};

/// Part of a register, or several, that is loaded or stored.
#[derive(Clone, Copy)]
struct Part {
    bits: u32,
    is_signed: bool,
    /// The half of a register that it goes to or comes from: the lower or the upper one.
    half: Option<bool>,
}

/// What an instruction does with memory.
enum Kind {
    Load(Part),
    Store(Part),
    /// Two numbers of so many bits, so many bytes for each unit of their offsets.
    Load2(u32, u64),
    Store2(u32, u64),
    Swap2(u32, u64),
    Atomic(Atomic),
    /// Data goes between lanes, through LDS's switches and not its memory.
    Permute,
    Bpermute,
    Swizzle,
}

struct Atomic {
    name: String,
    bits: u32,
    is_signed: bool,
}

impl Kind {
    fn of(instruction: &Instruction) -> Option<Self> {
        let (family, rest) = instruction.name.split_once('_')?;
        match (family, rest) {
            ("ds", "permute_b32") => return Some(Self::Permute),
            ("ds", "bpermute_b32") => return Some(Self::Bpermute),
            ("ds", "swizzle_b32") => return Some(Self::Swizzle),
            ("ds" | "buffer", _) => {}
            ("global" | "flat", _) => {
                if let Some(name) = rest.strip_prefix("atomic_") {
                    return Atomic::of(name).map(Self::Atomic);
                }
            }
            _ => return None,
        }
        let (verb, what) = rest.split_once('_')?;
        match verb {
            "load" | "read" if !what.starts_with("2addr") => part(what).map(Self::Load),
            "store" | "write" if !what.starts_with("2addr") => part(what).map(Self::Store),
            _ if family == "ds" => two(rest).or_else(|| Atomic::of(rest).map(Self::Atomic)),
            _ => None,
        }
    }

    fn is_store(&self) -> bool {
        matches!(self, Self::Store(_) | Self::Store2(..) | Self::Swap2(..))
    }
}

/// The part that a name ends with: `ubyte`, `dwordx3`, `d16_hi_b16`, `u8_d16`.
fn part(name: &str) -> Option<Part> {
    let tokens: Vec<&str> = name.split('_').collect();
    let has = |token: &str| tokens.contains(&token);
    let half = has("d16").then(|| has("hi"));
    let mut rest = tokens.iter().filter(|it| !matches!(**it, "d16" | "hi"));
    let (what, None) = (rest.next()?, rest.next()) else { return None };
    let (bits, is_signed) = match *what {
        "u8" | "b8" | "ubyte" | "byte" => (8, false),
        "i8" | "sbyte" => (8, true),
        "u16" | "b16" | "ushort" | "short" => (16, false),
        "i16" | "sshort" => (16, true),
        "b32" | "dword" => (32, false),
        "b64" | "dwordx2" => (64, false),
        "b96" | "dwordx3" => (96, false),
        "b128" | "dwordx4" => (128, false),
        _ => return None,
    };
    Some(Part { bits, is_signed, half })
}

/// LDS instructions with two addresses.
fn two(name: &str) -> Option<Kind> {
    let bits = if name.ends_with("_b64") { 64 } else { 32 };
    let unit = u64::from(bits / 8);
    let is_far = name.contains("st64") || name.contains("stride64");
    let unit = if is_far { unit * 64 } else { unit };
    let verb = name.trim_end_matches("_b64").trim_end_matches("_b32").trim_end_matches("_rtn");
    Some(match verb {
        "read2" | "read2st64" | "load_2addr" | "load_2addr_stride64" => Kind::Load2(bits, unit),
        "write2" | "write2st64" | "store_2addr" | "store_2addr_stride64" => {
            Kind::Store2(bits, unit)
        }
        "wrxchg2" | "wrxchg2st64" | "storexchg_2addr" | "storexchg_2addr_stride64" => {
            Kind::Swap2(bits, unit)
        }
        _ => return None,
    })
}

impl Atomic {
    /// From the name without its family: `add_rtn_u32`, `smin_x2`, `cond_sub_u32`.
    fn of(name: &str) -> Option<Self> {
        let tokens = name.split('_');
        let (mut bits, mut is_signed) = (32, false);
        let mut words = Vec::new();
        for token in tokens {
            match token {
                "rtn" | "u32" | "b32" => {}
                "i32" => is_signed = true,
                "x2" | "u64" | "b64" => bits = 64,
                "i64" => (bits, is_signed) = (64, true),
                word => words.push(word),
            }
        }
        let name = words.join("_");
        let (name, is_signed) = match name.as_str() {
            "smin" | "smax" => (name[1..].to_owned(), true),
            "umin" | "umax" => (name[1..].to_owned(), false),
            _ => (name, is_signed),
        };
        let known = [
            "add",
            "sub",
            "rsub",
            "inc",
            "dec",
            "min",
            "max",
            "and",
            "or",
            "xor",
            "swap",
            "wrxchg",
            "storexchg",
            "cmpswap",
            "cmpst",
            "cmpstore",
            "mskor",
            "csub",
            "sub_clamp",
            "cond_sub",
        ];
        known.contains(&name.as_str()).then_some(Self { name, bits, is_signed })
    }

    /// What memory holds afterwards; `b` is the second operand.
    fn new_value(&self, old: u64, a: u64, b: u64) -> u64 {
        let number = |value: u64| match (self.is_signed, self.bits) {
            (true, 32) => i128::from(value as i32),
            (true, _) => i128::from(value as i64),
            _ => i128::from(value),
        };
        match self.name.as_str() {
            "add" => old.wrapping_add(a),
            "sub" => old.wrapping_sub(a),
            "rsub" => a.wrapping_sub(old),
            "inc" => {
                if old >= a {
                    0
                } else {
                    old + 1
                }
            }
            "dec" => {
                if old == 0 || old > a {
                    a
                } else {
                    old - 1
                }
            }
            "min" => {
                if number(a) < number(old) {
                    a
                } else {
                    old
                }
            }
            "max" => {
                if number(a) > number(old) {
                    a
                } else {
                    old
                }
            }
            "and" => old & a,
            "or" => old | a,
            "xor" => old ^ a,
            // The value to compare with is second, but first in LDS before gfx11.
            "cmpswap" | "cmpstore" => {
                if old == b {
                    a
                } else {
                    old
                }
            }
            "cmpst" => {
                if old == a {
                    b
                } else {
                    old
                }
            }
            "mskor" => old & !a | b,
            "csub" | "sub_clamp" => old.saturating_sub(a),
            "cond_sub" => {
                if old >= a {
                    old - a
                } else {
                    old
                }
            }
            _ => a,
        }
    }
}

pub(super) fn run(machine: &mut Machine<'_>, instruction: &Instruction) -> bool {
    let Some(kind) = Kind::of(instruction) else { return false };
    let is_plain = !instruction.is_set("gds") && !instruction.is_set("scale_offset");
    let is_simple = has_plain_base(instruction) && is_simple_buffer(machine, instruction);
    is_plain && is_simple && apply(machine, instruction, &kind).is_some()
}

/// None where manuals leave open what happens.
fn apply(machine: &mut Machine<'_>, instruction: &Instruction, kind: &Kind) -> Option<()> {
    match kind {
        Kind::Permute | Kind::Bpermute => return permute(machine, instruction, kind),
        Kind::Swizzle => return swizzle(machine, instruction),
        _ => {}
    }
    for lane in machine.active() {
        match kind {
            Kind::Load(part) => load(machine, instruction, *part, lane)?,
            Kind::Store(part) => store(machine, instruction, *part, lane)?,
            Kind::Load2(bits, unit) | Kind::Store2(bits, unit) | Kind::Swap2(bits, unit) => {
                both(machine, instruction, kind, (*bits, *unit), lane)?;
            }
            Kind::Atomic(atomic) => update(machine, instruction, atomic, lane)?,
            _ => {}
        }
    }
    Some(())
}

/// Whether a buffer instruction is one that loads or stores registers, and does nothing else.
fn is_simple_buffer(machine: &Machine<'_>, instruction: &Instruction) -> bool {
    instruction.format != Format::Mubuf || buffer::is_simple(machine, instruction)
}

pub(super) fn register<'i>(instruction: &'i Instruction, names: &[&str]) -> Option<&'i Register> {
    let value = names.iter().find_map(|name| instruction.operand(name))?;
    match value {
        OperandValue::Register(register) => {
            (register.file == RegisterFile::Vgpr && register.half.is_none()).then_some(register)
        }
        _ => None,
    }
}

fn space(instruction: &Instruction) -> Space {
    if instruction.format == Format::Ds { Space::Lds } else { Space::Global }
}

/// Whether the scalar base of an address is a pair of registers, or none.
fn has_plain_base(instruction: &Instruction) -> bool {
    match instruction.operand("saddr") {
        Some(OperandValue::Register(register)) => matches!(
            register.file,
            RegisterFile::Sgpr | RegisterFile::Special(Special::Null | Special::Null64)
        ),
        _ => true,
    }
}

/// The scalar base of an address, where it has one.
fn scalar_base(machine: &Machine<'_>, instruction: &Instruction) -> Option<u64> {
    match instruction.operand("saddr")? {
        value @ OperandValue::Register(Register { file: RegisterFile::Sgpr, .. }) => {
            Some(machine.scalar(value, Type::U64))
        }
        _ => None,
    }
}

/// The constant that is added to addresses; flat ones have no sign before gfx11.
fn offset(machine: &Machine<'_>, instruction: &Instruction) -> u64 {
    let field = instruction.number("offset").unwrap_or(0) as u64;
    let is_flat = instruction.format == Format::Flat;
    let bits = match machine.generation {
        _ if instruction.format == Format::Ds => return field & 0xffff,
        _ if instruction.format == Format::Mubuf => return field,
        it if it < Generation::Gfx10 && is_flat => return field & 0xfff,
        Generation::Gfx10 if is_flat => return field & 0x7ff,
        it if it < Generation::Gfx10 => 13,
        Generation::Gfx10 => 12,
        Generation::Gfx11 => 13,
        _ => 24,
    };
    ((field << (64 - bits)) as i64 >> (64 - bits)) as u64
}

fn address(machine: &Machine<'_>, instruction: &Instruction, lane: usize) -> Option<u64> {
    let offset = offset(machine, instruction);
    if instruction.format == Format::Mubuf {
        return buffer::address(machine, instruction, offset, lane);
    }
    if instruction.format == Format::Ds {
        let from = register(instruction, &["addr"])?;
        return Some(u64::from(machine.before.vectors[usize::from(from.first)][lane]) + offset);
    }
    let from = usize::from(register(instruction, &["vaddr"])?.first);
    let low = u64::from(machine.before.vectors[from][lane]);
    let start = match scalar_base(machine, instruction) {
        Some(base) => base.wrapping_add(low),
        None => low | u64::from(machine.before.vectors[from + 1][lane]) << 32,
    };
    Some(start.wrapping_add(offset))
}

/// The value of registers from one on.
fn words(machine: &Machine<'_>, first: u16, bits: u32, lane: usize) -> u128 {
    let mut value = 0;
    for number in 0..bits.div_ceil(32) {
        let word = machine.before.vectors[usize::from(first) + number as usize][lane];
        value |= u128::from(word) << (number * 32);
    }
    value
}

fn set_words(machine: &mut Machine<'_>, first: u16, bits: u32, lane: usize, value: u128) {
    for number in 0..bits.div_ceil(32) {
        let to = &mut machine.after.vectors[usize::from(first) + number as usize][lane];
        *to = (value >> (number * 32)) as u32;
    }
}

fn load(
    machine: &mut Machine<'_>,
    instruction: &Instruction,
    part: Part,
    lane: usize,
) -> Option<()> {
    let to = register(instruction, &["vdst", "vdata"])?.first;
    let at = address(machine, instruction, lane)?;
    let value = machine.writes.read(machine.memory, space(instruction), at, part.bits / 8)?;
    let widened = match (part.bits, part.is_signed) {
        (8, true) => i32::from(value as i8) as u32,
        (16, true) => i32::from(value as i16) as u32,
        _ => value as u32,
    };
    let old = machine.before.vectors[usize::from(to)][lane];
    // Registers with error correction are written as a whole.
    let kept = if machine.is_gfx9() { 0 } else { old };
    match part.half {
        Some(false) => {
            set_words(machine, to, 32, lane, u128::from(kept & !0xffff | widened & 0xffff));
        }
        Some(true) => set_words(machine, to, 32, lane, u128::from(kept & 0xffff | widened << 16)),
        None if part.bits < 32 => set_words(machine, to, 32, lane, widened.into()),
        None => set_words(machine, to, part.bits, lane, value),
    }
    Some(())
}

fn store(
    machine: &mut Machine<'_>,
    instruction: &Instruction,
    part: Part,
    lane: usize,
) -> Option<()> {
    let from = register(instruction, &["data0", "vdata"])?.first;
    let at = address(machine, instruction, lane)?;
    let value = words(machine, from, part.bits.max(32), lane);
    let value = if part.half == Some(true) { value >> 16 } else { value };
    put(machine, space(instruction), at, part.bits, value, lane)
}

/// Writes memory; none where it is not there, or where another lane writes it: which of them is last is not defined.
fn put(
    machine: &mut Machine<'_>,
    space: Space,
    at: u64,
    bits: u32,
    value: u128,
    lane: usize,
) -> Option<()> {
    machine.writes.read(machine.memory, space, at, bits / 8)?;
    machine.writes.write(space, at, bits / 8, value, lane).then_some(())
}

fn both(
    machine: &mut Machine<'_>,
    instruction: &Instruction,
    kind: &Kind,
    (bits, unit): (u32, u64),
    lane: usize,
) -> Option<()> {
    let start = address(machine, instruction, lane)?;
    for (number, (offset, data)) in (0..).zip([("offset0", "data0"), ("offset1", "data1")]) {
        let at = start + (instruction.number(offset)? as u64 & 0xff) * unit;
        let old = machine.writes.read(machine.memory, Space::Lds, at, bits / 8)?;
        if !matches!(kind, Kind::Load2(..)) {
            let value = words(machine, register(instruction, &[data])?.first, bits, lane);
            put(machine, Space::Lds, at, bits, value, lane)?;
        }
        if !matches!(kind, Kind::Store2(..)) {
            let to = register(instruction, &["vdst"])?.first + number * (bits / 32) as u16;
            set_words(machine, to, bits, lane, old);
        }
    }
    Some(())
}

fn update(
    machine: &mut Machine<'_>,
    instruction: &Instruction,
    atomic: &Atomic,
    lane: usize,
) -> Option<()> {
    let space = space(instruction);
    let at = address(machine, instruction, lane)?;
    let bytes = atomic.bits / 8;
    if at % u64::from(bytes) != 0 {
        return None;
    }
    let first = register(instruction, &["data0", "vdata"])?.first;
    let a = words(machine, first, atomic.bits, lane) as u64;
    // Memory instructions have both operands behind each other.
    let second = match instruction.operand("data1") {
        Some(_) => register(instruction, &["data1"])?.first,
        None => first + (bytes / 4) as u16,
    };
    let has_second = atomic.name.starts_with("cmp") || atomic.name == "mskor";
    let b = if has_second { words(machine, second, atomic.bits, lane) as u64 } else { 0 };
    let old = machine.writes.read(machine.memory, space, at, bytes)? as u64;
    machine.writes.write(space, at, bytes, atomic.new_value(old, a, b).into(), lane);
    if instruction.operand("vdst").is_some() {
        let to = register(instruction, &["vdst"])?.first;
        set_words(machine, to, atomic.bits, lane, old.into());
    }
    Some(())
}

/// Lanes send or fetch words: among all of them, in gfx10 and gfx11 among 32.
fn permute(machine: &mut Machine<'_>, instruction: &Instruction, kind: &Kind) -> Option<()> {
    let offset = instruction.number("offset").unwrap_or(0) as u64;
    let by = usize::from(register(instruction, &["addr"])?.first);
    let data = usize::from(register(instruction, &["data0"])?.first);
    let to = usize::from(register(instruction, &["vdst"])?.first);
    let has_halves = matches!(machine.generation, Generation::Gfx10 | Generation::Gfx11);
    let lanes = if has_halves { 32 } else { machine.lanes };
    let other = |lane: usize| {
        let number = (u64::from(machine.before.vectors[by][lane]) + offset) / 4;
        lane / lanes * lanes + number as usize % lanes
    };
    let mut values = vec![0; machine.lanes];
    for lane in machine.active() {
        match kind {
            Kind::Permute => values[other(lane)] = machine.before.vectors[data][lane],
            _ if machine.is_active(other(lane)) => {
                values[lane] = machine.before.vectors[data][other(lane)];
            }
            _ => {}
        }
    }
    for lane in machine.active() {
        machine.after.vectors[to][lane] = values[lane];
    }
    Some(())
}

/// Quads permuted, or the bits of lane numbers changed among 32 lanes; the other modes are left out.
fn swizzle(machine: &mut Machine<'_>, instruction: &Instruction) -> Option<()> {
    let offset = instruction.number("offset")? as usize;
    let data = usize::from(register(instruction, &["addr", "data0"])?.first);
    let to = usize::from(register(instruction, &["vdst"])?.first);
    let other = |lane: usize| match offset {
        0xc000.. => None,
        0x8000.. => Some(lane & !3 | offset >> (lane % 4 * 2) & 3),
        _ => {
            let (and, or, xor) = (offset & 31, offset >> 5 & 31, offset >> 10 & 31);
            Some(lane & !31 | (lane & and | or) ^ xor)
        }
    };
    for lane in machine.active() {
        let other = other(lane)?;
        let is_there = machine.is_active(other);
        let value = if is_there { machine.before.vectors[data][other] } else { 0 };
        machine.after.vectors[to][lane] = value;
    }
    Some(())
}

/// Bytes between the lanes' addresses of stores.
pub(super) const STRIDE: u64 = 256;

/// Makes the addresses of an instruction ones of memory: apart from each other for stores, few for atomics.
pub(super) fn aim(
    machine: &Machine<'_>,
    instruction: &Instruction,
    random: &mut Random,
) -> Option<hsaco_emu::Registers> {
    let kind = Kind::of(instruction)?;
    let mut registers = machine.before.clone();
    let offset = offset(machine, instruction);
    if instruction.format == Format::Mubuf {
        buffer::aim(machine, instruction, &mut registers, offset, kind.is_store(), random)?;
        return Some(registers);
    }
    let first = register(instruction, &["addr", "vaddr"])?.first;
    let scalar = match instruction.operand("saddr") {
        Some(OperandValue::Register(Register { file: RegisterFile::Sgpr, first, .. })) => {
            Some(usize::from(*first))
        }
        _ => None,
    };
    if matches!(kind, Kind::Permute | Kind::Bpermute | Kind::Swizzle) {
        return Some(registers);
    }
    // Far enough below memory that offsets of lanes are positive.
    let base = machine.memory.base.wrapping_sub(1 << 25);
    if let Some(scalar) = scalar {
        registers.scalars[scalar] = base as u32;
        *registers.scalars.get_mut(scalar + 1)? = (base >> 32) as u32;
    }
    for lane in 0..machine.lanes {
        let align = if random.below(8) == 0 && !matches!(kind, Kind::Atomic(_)) { 1 } else { 16 };
        let at = match kind {
            Kind::Atomic(_) => random.below(64) as u64 * 8,
            _ if kind.is_store() => lane as u64 * STRIDE + random.below(128) as u64 / align * align,
            _ => random.below(16384) as u64 / align * align,
        };
        let at = match (instruction.format, scalar) {
            (Format::Ds, _) => at + (offset.wrapping_neg() & (align - 1)),
            (_, Some(_)) => (at + (1 << 25)).wrapping_sub(offset),
            _ => (machine.memory.base + at).wrapping_sub(offset),
        };
        registers.vectors[usize::from(first)][lane] = at as u32;
        if instruction.format != Format::Ds && scalar.is_none() {
            registers.vectors.get_mut(usize::from(first) + 1)?[lane] = (at >> 32) as u32;
        }
    }
    Some(registers)
}
