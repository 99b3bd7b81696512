//! Vector operations lane by lane: which lanes, which sources, what changes them, what is written.

use hsaco_isa::model::{Extension, Format, Half, OperandValue, Register, RegisterFile};
use hsaco_isa::target::Generation;

use super::float;
use super::integer::{self, Env};
use super::machine::Machine;
use super::operand::{Instruction, Type};

/// What computes a result.
enum Function {
    Integer(integer::Function),
    Float(float::Function),
}

/// An operation: its types and its function.
pub(super) struct Operation {
    name: &'static str,
    result: Type,
    has_carry: bool,
    sources: Vec<Type>,
    function: Function,
}

impl Operation {
    pub(super) fn find(name: &str) -> Option<Self> {
        let (name, results, sources, function) = match integer::find(name) {
            Some(row) => (row.0, row.1, row.2, Function::Integer(row.3)),
            None => {
                let row = float::find(name)?;
                (row.0, row.1, row.2, Function::Float(row.3))
            }
        };
        Some(Self {
            name,
            result: Type::named(results.split(' ').next()?)?,
            has_carry: results.ends_with(" co"),
            sources: sources.split(' ').filter_map(Type::named).collect(),
            function,
        })
    }

    fn is_packed(&self) -> bool {
        self.name.starts_with("v_pk_")
    }
}

/// Names of the sources and the destination in one half of a dual instruction, or in another one.
struct Names {
    sources: [&'static str; 3],
    constant: &'static str,
    destination: &'static str,
}

const NAMES: Names =
    Names { sources: ["src0", "src1", "src2"], constant: "imm", destination: "vdst" };
const FIRST: Names =
    Names { sources: ["src0X", "vsrc1X", "vsrc2X"], constant: "imm", destination: "vdstX" };
const SECOND: Names =
    Names { sources: ["src0Y", "vsrc1Y", "vsrc2Y"], constant: "imm", destination: "vdstY" };

pub(super) fn run(machine: &mut Machine<'_>, instruction: &Instruction) -> bool {
    if let Some(second) = instruction.second {
        let of = |name: &str| Operation::find(&name.replace("v_dual_", "v_"));
        let (Some(x), Some(y)) = (of(instruction.name), of(second)) else { return false };
        return apply(machine, instruction, &x, &FIRST) && apply(machine, instruction, &y, &SECOND);
    }
    let Some(operation) = Operation::find(instruction.name) else { return false };
    apply(machine, instruction, &operation, &NAMES)
}

fn apply(
    machine: &mut Machine<'_>,
    instruction: &Instruction,
    operation: &Operation,
    names: &Names,
) -> bool {
    let Some(sources) = operands(machine, instruction, operation, names) else { return false };
    let Some(OperandValue::Register(to)) = instruction.operand(names.destination) else {
        return false;
    };
    if is_open(machine, instruction, operation, &sources) {
        return false;
    }
    let mut carries = 0;
    for lane in machine.active() {
        let Some(from) = source_lane(machine, instruction, lane) else { continue };
        let value = if operation.is_packed() {
            packed(machine, instruction, operation, &sources, lane, from)
        } else {
            let bits = |(at, value)| {
                source(
                    machine,
                    instruction,
                    operation,
                    at,
                    value,
                    if at == 0 { from } else { From::Lane(lane) },
                )
            };
            let all = triple(sources.iter().enumerate().map(bits));
            let (value, carry) = compute(machine, instruction, operation, all, lane, None);
            carries |= u64::from(carry) << lane;
            value
        };
        write(machine, instruction, operation, to, lane, value);
    }
    if operation.has_carry {
        machine.set_mask(instruction.operand("sdst"), carries);
    }
    true
}

/// Whether manuals leave open what an instruction does.
fn is_open(
    machine: &Machine<'_>,
    instruction: &Instruction,
    operation: &Operation,
    sources: &[OperandValue],
) -> bool {
    // Which part of two halves SDWA selects.
    if operation.is_packed() && instruction.extension == Some(Extension::Sdwa) {
        return true;
    }
    if matches!(operation.function, Function::Integer(_)) {
        return false;
    }
    // Which half of a constant is which.
    let is_register = |value: &OperandValue| matches!(value, OperandValue::Register(_));
    let is_wide_constant =
        operation.is_packed() && operation.result.bits() == 32 && !sources.iter().all(is_register);
    let env = float::Env::new(machine, instruction);
    is_wide_constant || float::is_open(&env, operation.name, operation.result)
}

/// The sources of an operation, in the order of its table.
fn operands(
    machine: &Machine<'_>,
    instruction: &Instruction,
    operation: &Operation,
    names: &Names,
) -> Option<Vec<OperandValue>> {
    let order: &[&str] = match operation.name {
        "v_fmaak_f32" | "v_fmaak_f16" | "v_fmaak_f64" | "v_madak_f32" | "v_madak_f16" => {
            &[names.sources[0], names.sources[1], names.constant]
        }
        "v_fmamk_f32" | "v_fmamk_f16" | "v_fmamk_f64" | "v_madmk_f32" | "v_madmk_f16" => {
            &[names.sources[0], names.constant, names.sources[1]]
        }
        _ => &names.sources,
    };
    let mut values = Vec::new();
    for (name, ty) in order.iter().zip(&operation.sources) {
        let value = match (instruction.operand(name), ty) {
            (Some(value), _) => *value,
            (None, Type::Mask) => vcc(machine),
            // What accumulates reads its destination.
            (None, _) => *instruction.operand(names.destination)?,
        };
        values.push(value);
    }
    Some(values)
}

fn vcc(machine: &Machine<'_>) -> OperandValue {
    use hsaco_isa::model::Special;
    let file = RegisterFile::Special(Special::Vcc);
    let count = if machine.lanes == 64 { 2 } else { 1 };
    OperandValue::Register(Register { file, first: 0, count, half: None })
}

/// Where the first source comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum From {
    Lane(usize),
    /// No lane: it is zero.
    Zero,
}

/// The lane that the first source is read from; nothing where the lane does not take part.
pub(super) fn source_lane(
    machine: &Machine<'_>,
    instruction: &Instruction,
    lane: usize,
) -> Option<From> {
    match instruction.extension {
        Some(Extension::Dpp8) => {
            let select = instruction.number("dpp8").unwrap_or(0) >> (lane % 8 * 3) & 7;
            let from = lane / 8 * 8 + select as usize;
            // The number of the source that stands for DPP8 says it: 0xea, or 0xe9.
            let is_there = instruction.number("fi") == Some(0xea) || machine.is_active(from);
            Some(if is_there { From::Lane(from) } else { From::Zero })
        }
        Some(Extension::Dpp16) => dpp16(machine, instruction, lane),
        _ => Some(From::Lane(lane)),
    }
}

fn dpp16(machine: &Machine<'_>, instruction: &Instruction, lane: usize) -> Option<From> {
    let mask = |name: &str| instruction.number(name).unwrap_or(0xf);
    let (row, bank) = (lane / 16, lane % 16 / 4);
    if mask("row_mask") >> row & 1 == 0 || mask("bank_mask") >> bank & 1 == 0 {
        return None;
    }
    let control = instruction.number("dpp_ctrl").unwrap_or(0) as usize;
    let from = dpp_lane(control, lane, machine.lanes);
    let is_there = from.filter(|from| instruction.is_set("fi") || machine.is_active(*from));
    match is_there {
        Some(from) => Some(From::Lane(from)),
        None if instruction.is_set("bound_ctrl") => Some(From::Zero),
        None => None,
    }
}

fn dpp_lane(control: usize, lane: usize, lanes: usize) -> Option<usize> {
    let (row, at, by) = (lane / 16 * 16, lane % 16, control & 15);
    match control {
        0x000..=0x0ff => Some(lane / 4 * 4 + (control >> (lane % 4 * 2) & 3)),
        0x101..=0x10f => (at + by < 16).then_some(lane + by),
        0x111..=0x11f => (at >= by).then(|| lane - by),
        0x121..=0x12f => Some(row + (at + 16 - by) % 16),
        0x130 => (lane + 1 < lanes).then_some(lane + 1),
        0x134 => Some((lane + 1) % lanes),
        0x138 => lane.checked_sub(1),
        0x13c => Some((lane + lanes - 1) % lanes),
        0x140 => Some(row + 15 - at),
        0x141 => Some(lane / 8 * 8 + 7 - lane % 8),
        0x142 => (lane > 15).then(|| row - 1),
        0x143 => (lane > 31).then_some(31),
        0x150..=0x15f => Some(row + by),
        0x160..=0x16f => Some(row + (at ^ by)),
        _ => None,
    }
}

/// The bits of a source, as its type has them, with what changes them.
pub(super) fn source_bits(
    machine: &Machine<'_>,
    instruction: &Instruction,
    ty: Type,
    at: usize,
    value: &OperandValue,
    from: From,
) -> u64 {
    if ty == Type::Mask {
        let From::Lane(lane) = from else { return 0 };
        return machine.bits(value, machine.mask_type(), lane) >> lane & 1;
    }
    let modifiers = instruction.modifiers(at);
    let mut bits = match from {
        From::Lane(lane) => machine.bits(value, ty, lane),
        From::Zero => 0,
    };
    let is_half = matches!(value, OperandValue::Register(Register { half: Some(_), .. }));
    if instruction.extension == Some(Extension::Sdwa) {
        const SELECTS: [&str; 2] = ["src0_sel", "src1_sel"];
        let select = SELECTS.get(at).and_then(|name| instruction.number(name)).unwrap_or(6);
        bits = selected(bits, select, modifiers.sext);
    } else if ty.bits() == 16 && modifiers.op_sel && !is_half && !instruction.name.contains("_mix")
    {
        bits = bits >> 16 & 0xffff;
    }
    bits = ty.cut(bits);
    if ty.has_sign_bit() {
        let sign = 1 << (ty.bits() - 1);
        if modifiers.abs {
            bits &= !sign;
        }
        if modifiers.neg {
            bits ^= sign;
        }
    }
    bits
}

fn source(
    machine: &Machine<'_>,
    instruction: &Instruction,
    operation: &Operation,
    at: usize,
    value: &OperandValue,
    from: From,
) -> u64 {
    source_bits(machine, instruction, operation.sources[at], at, value, from)
}

/// A byte, a half or all of a register, as SDWA selects it.
fn selected(bits: u64, select: i64, is_signed: bool) -> u64 {
    match select {
        0..=3 => {
            let byte = (bits >> (select * 8)) as u8;
            if is_signed { i64::from(byte as i8) as u64 } else { byte.into() }
        }
        4 | 5 => {
            let word = (bits >> ((select - 4) * 16)) as u16;
            if is_signed { i64::from(word as i16) as u64 } else { word.into() }
        }
        _ => bits,
    }
}

fn triple(values: impl Iterator<Item = u64>) -> [u64; 3] {
    let mut all = [0; 3];
    for (to, value) in all.iter_mut().zip(values) {
        *to = value;
    }
    all
}

/// The result of a lane, and whether it carries.
fn compute(
    machine: &Machine<'_>,
    instruction: &Instruction,
    operation: &Operation,
    bits: [u64; 3],
    lane: usize,
    _half: Option<u32>,
) -> (u64, bool) {
    match operation.function {
        Function::Integer(function) => {
            let mut numbers = [0; 3];
            for ((number, bits), ty) in numbers.iter_mut().zip(bits).zip(&operation.sources) {
                *number = ty.number(bits);
            }
            let signed = [0, 1].map(|at| instruction.modifiers(at).neg);
            let table = instruction.number("bitop3").unwrap_or(0) as u8;
            let result = function(Env { lane, signed, table }, numbers);
            let carry = result >> operation.result.bits() & 1 == 1;
            let written = if instruction.is_set("clamp") {
                operation.result.saturated(result)
            } else {
                result
            };
            (operation.result.cut(written as u64), carry)
        }
        Function::Float(function) => {
            let env = float::Env::new(machine, instruction);
            (operation.result.cut(function(&env, bits)), false)
        }
    }
}

/// Both halves of a packed operation.
fn packed(
    machine: &Machine<'_>,
    instruction: &Instruction,
    operation: &Operation,
    sources: &[OperandValue],
    lane: usize,
    from: From,
) -> u64 {
    let width = operation.result.bits();
    let half = |is_high: bool| {
        let part = |(at, value): (usize, &OperandValue)| {
            let modifiers = instruction.modifiers(at);
            let ty = operation.sources[at];
            let whole = if width == 32 { Type::U64 } else { Type::U32 };
            let all = match if at == 0 { from } else { From::Lane(lane) } {
                From::Lane(lane) => machine.bits(value, whole, lane),
                From::Zero => 0,
            };
            // Other encodings than VOP3P choose no halves.
            let (low, high) = match instruction.format {
                Format::Vop3p => (modifiers.op_sel, modifiers.op_sel_hi),
                _ => (false, true),
            };
            let select = if is_high { high } else { low };
            let bits = ty.cut(if select { all >> width } else { all });
            // For packed operations `abs` has the place of the negation of the upper half.
            let is_negated = if is_high { modifiers.abs } else { modifiers.neg };
            if is_negated && ty.has_sign_bit() { bits ^ 1 << (width - 1) } else { bits }
        };
        let all = triple(sources.iter().enumerate().map(part));
        compute(machine, instruction, operation, all, lane, Some(u32::from(is_high))).0
    };
    half(false) | half(true) << width
}

/// Writes the result of a lane.
fn write(
    machine: &mut Machine<'_>,
    instruction: &Instruction,
    operation: &Operation,
    to: &Register,
    lane: usize,
    value: u64,
) {
    let first = usize::from(to.first);
    if to.file != RegisterFile::Vgpr {
        return;
    }
    let zeroes = machine.generation < Generation::Gfx10 && zeroes_upper_half(operation.name);
    let old = machine.after.vectors[first][lane];
    let is_packed = operation.is_packed();
    let bits = if is_packed { operation.result.bits() * 2 } else { operation.result.bits() };
    let word = value as u32;
    if instruction.extension == Some(Extension::Sdwa) && bits <= 32 {
        machine.after.vectors[first][lane] = placed(instruction, old, word);
        return;
    }
    let goes_up = instruction.format == Format::Vop3 && instruction.modifiers(0).op_sel_hi;
    machine.after.vectors[first][lane] = match (bits, to.half) {
        (16, Some(Half::High)) => old & 0xffff | word << 16,
        (16, Some(Half::Low)) => old & !0xffff | word & 0xffff,
        (16, None) if goes_up => old & 0xffff | word << 16,
        (16, None) if zeroes => word & 0xffff,
        (16, None) => old & !0xffff | word & 0xffff,
        _ => word,
    };
    if bits == 64 {
        machine.after.vectors[first + 1][lane] = (value >> 32) as u32;
    }
}

/// The destination of SDWA.
fn placed(instruction: &Instruction, old: u32, value: u32) -> u32 {
    let select = instruction.number("dst_sel").unwrap_or(6) as u32;
    let (at, bits) = match select {
        0..=3 => (select * 8, 8),
        4 | 5 => ((select - 4) * 16, 16),
        _ => return value,
    };
    let mask = ((1_u32 << bits) - 1) << at;
    let field = (value << at) & mask;
    match instruction.number("dst_unused").unwrap_or(0) {
        2 => old & !mask | field,
        1 => {
            let shift = 32 - at - bits;
            (((field << shift) as i32) >> shift) as u32
        }
        _ => field,
    }
}

/// Whether a result of 16 bits clears the other half on gfx9: all do but those that gfx9 brought.
fn zeroes_upper_half(name: &str) -> bool {
    let is_of_three = ["v_min3_", "v_max3_", "v_med3_"].iter().any(|it| name.starts_with(it));
    !is_of_three
        && !matches!(
            name,
            "v_mad_f16"
                | "v_mad_u16"
                | "v_mad_i16"
                | "v_fma_f16"
                | "v_div_fixup_f16"
                | "v_fma_mixlo_f16"
                | "v_bitop3_b16"
                | "v_ashr_pk_i8_i32"
                | "v_ashr_pk_u8_i32"
        )
}
