//! The scalar unit.

use hsaco_isa::model::{Format, OperandValue};

use super::compare::holds;
use super::float;
use super::machine::Machine;
use super::operand::{Instruction, Type};

/// What becomes of SCC.
#[derive(Clone, Copy)]
enum Scc {
    Keep,
    /// Whether the result is not zero.
    NonZero,
    /// The bit above the result.
    Carry,
    /// Whether the result is no number of its type.
    Overflow,
}

/// The sources as numbers: two, what the destination held, and SCC.
struct Sources {
    a: i128,
    b: i128,
    d: i128,
    scc: bool,
}

type Function = fn(&Sources) -> i128;
type Row = (&'static str, &'static str, &'static str, Scc, Function);

pub(super) fn run(machine: &mut Machine<'_>, instruction: &Instruction) -> bool {
    let is_scalar =
        matches!(instruction.format, Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk);
    if !is_scalar {
        return false;
    }
    saveexec(machine, instruction)
        || compare(machine, instruction)
        || conditional_move(machine, instruction)
        || minmax(machine, instruction)
        || float_operation(machine, instruction)
        || plain(machine, instruction)
}

fn first<'i>(instruction: &'i Instruction, names: &[&str]) -> Option<&'i OperandValue> {
    names.iter().find_map(|name| instruction.operand(name))
}

/// The first source; for SOPK the constant behind it comes second.
fn sources(instruction: &Instruction) -> [Option<OperandValue>; 2] {
    let constant = instruction.operand("simm16").map(|value| match value {
        OperandValue::Number(number) => OperandValue::Number(i64::from(*number as u16)),
        other => *other,
    });
    let a = first(instruction, &["src0", "ssrc0"]).copied();
    let b = first(instruction, &["src1", "ssrc1"]).copied();
    if instruction.format == Format::Sopk { [constant, b] } else { [a, b] }
}

fn destination(instruction: &Instruction) -> Option<OperandValue> {
    first(instruction, &["sdst"]).copied()
}

fn plain(machine: &mut Machine<'_>, instruction: &Instruction) -> bool {
    let Some((_, result, types, rule, function)) =
        ROWS.iter().find(|row| row.0 == instruction.name)
    else {
        return false;
    };
    let Some(result) = Type::named(result) else { return false };
    let types: Vec<_> = types.split(' ').filter_map(Type::named).collect();
    let Some(to) = destination(instruction) else { return false };
    let values = sources(instruction);
    let number = |at: usize| {
        let (Some(ty), Some(Some(value))) = (types.get(at), values.get(at)) else { return 0 };
        ty.number(machine.scalar(value, *ty))
    };
    let d = result.number(machine.scalar(&to, result));
    let sources = Sources { a: number(0), b: number(1), d, scc: machine.before.scc };
    let number = function(&sources);
    let bits = result.cut(number as u64);
    machine.set_scalar(&to, result, bits);
    match rule {
        Scc::Keep => {}
        Scc::NonZero => machine.after.scc = bits != 0,
        Scc::Carry => machine.after.scc = number >> result.bits() & 1 == 1,
        Scc::Overflow => machine.after.scc = result.number(bits) != number,
    }
    true
}

fn minmax(machine: &mut Machine<'_>, instruction: &Instruction) -> bool {
    let (ty, is_max) = match instruction.name {
        "s_min_i32" => (Type::I32, false),
        "s_max_i32" => (Type::I32, true),
        "s_min_u32" => (Type::U32, false),
        "s_max_u32" => (Type::U32, true),
        _ => return false,
    };
    let ([Some(a), Some(b)], Some(to)) = (sources(instruction), destination(instruction)) else {
        return false;
    };
    let [a, b] = [a, b].map(|it| ty.number(machine.scalar(&it, ty)));
    let takes_first = if is_max { a >= b } else { a < b };
    machine.after.scc = takes_first;
    machine.set_scalar(&to, ty, if takes_first { a } else { b } as u64);
    true
}

fn conditional_move(machine: &mut Machine<'_>, instruction: &Instruction) -> bool {
    let ty = match instruction.name {
        "s_cmov_b32" => Type::U32,
        "s_cmov_b64" => Type::U64,
        "s_cmovk_i32" => Type::I16,
        _ => return false,
    };
    let ([Some(a), _], Some(to)) = (sources(instruction), destination(instruction)) else {
        return false;
    };
    if machine.before.scc {
        let value = ty.number(machine.scalar(&a, ty)) as u64;
        let written = if ty == Type::I16 { Type::U32 } else { ty };
        machine.set_scalar(&to, written, written.cut(value));
    }
    true
}

fn compare(machine: &mut Machine<'_>, instruction: &Instruction) -> bool {
    let name = instruction.name;
    if let Some(rest) = name.strip_prefix("s_bitcmp") {
        let Some((wanted, ty)) = rest.split_once("_b") else { return false };
        let ty = if ty == "64" { Type::U64 } else { Type::U32 };
        let [Some(a), Some(b)] = sources(instruction) else { return false };
        let at = machine.scalar(&b, Type::U32) & u64::from(ty.bits() - 1);
        let bit = machine.scalar(&a, ty) >> at & 1;
        machine.after.scc = bit == u64::from(wanted == "1");
        return true;
    }
    let (rest, is_constant) = match name.strip_prefix("s_cmpk_") {
        Some(rest) => (rest, true),
        None => match name.strip_prefix("s_cmp_") {
            Some(rest) => (rest, false),
            None => return false,
        },
    };
    let Some((relation, ty)) = rest.split_once('_') else { return false };
    let Some(ty) = Type::named(ty) else { return false };
    let (a, b) = if is_constant {
        let constant = if ty == Type::I32 { Type::I16 } else { Type::U16 };
        let ([Some(b), _], Some(a)) =
            (sources(instruction), first(instruction, &["sdst", "src0", "ssrc0"]))
        else {
            return false;
        };
        (ty.number(machine.scalar(a, ty)), constant.number(machine.scalar(&b, constant)))
    } else {
        let [Some(a), Some(b)] = sources(instruction) else { return false };
        (ty.number(machine.scalar(&a, ty)), ty.number(machine.scalar(&b, ty)))
    };
    let is_true = if ty.has_sign_bit() {
        let env = float::Env::new(machine, instruction);
        float::compares(&env, relation, ty, a as u64, b as u64)
    } else {
        holds(relation, a, b)
    };
    let Some(is_true) = is_true else { return false };
    machine.after.scc = is_true;
    true
}

/// Operations on EXEC and a mask, which keep what EXEC was or what it becomes.
fn saveexec(machine: &mut Machine<'_>, instruction: &Instruction) -> bool {
    let (name, keeps_old) = match instruction.name.split_once("_saveexec_") {
        Some((name, _)) => (name, true),
        None => match instruction.name.split_once("_wrexec_") {
            Some((name, _)) => (name, false),
            None => return false,
        },
    };
    let ty = if instruction.name.ends_with("64") { Type::U64 } else { Type::U32 };
    let ([Some(a), _], Some(to)) = (sources(instruction), destination(instruction)) else {
        return false;
    };
    let (a, exec) = (machine.scalar(&a, ty), ty.cut(machine.before.exec));
    let result = match name {
        "s_and" => a & exec,
        "s_or" => a | exec,
        "s_xor" => a ^ exec,
        "s_nand" => !(a & exec),
        "s_nor" => !(a | exec),
        "s_xnor" => !(a ^ exec),
        "s_andn2" | "s_and_not1" => a & !exec,
        "s_orn2" | "s_or_not1" => a | !exec,
        "s_andn1" | "s_and_not0" => !a & exec,
        "s_orn1" | "s_or_not0" => !a | exec,
        _ => return false,
    };
    let result = ty.cut(result);
    machine.set_scalar(&to, ty, if keeps_old { exec } else { result });
    machine.after.exec = machine.after.exec & !ty.cut(u64::MAX) | result;
    machine.after.scc = result != 0;
    true
}

fn float_operation(machine: &mut Machine<'_>, instruction: &Instruction) -> bool {
    let Some((_, result, types, function)) = float::find(instruction.name) else { return false };
    let Some(result) = Type::named(result) else { return false };
    let Some(to) = destination(instruction) else { return false };
    let env = float::Env::new(machine, instruction);
    if float::is_open(&env, instruction.name, result) {
        return false;
    }
    let [a, b] = sources(instruction);
    let constant = first(instruction, &["imm", "simm32"]).copied();
    let order = match instruction.name {
        "s_fmamk_f32" => [a, constant, b],
        "s_fmaak_f32" => [a, b, constant],
        _ => [a, b, Some(to)],
    };
    let mut bits = [0; 3];
    for ((bits, value), ty) in bits.iter_mut().zip(order).zip(types.split(' ')) {
        let (Some(value), Some(ty)) = (value, Type::named(ty)) else { return false };
        *bits = machine.scalar(&value, ty);
    }
    let value = function(&env, bits);
    machine.set_scalar(&to, Type::U32, result.cut(value));
    true
}

fn low(number: i128, bits: u32) -> i128 {
    number & ((1 << bits) - 1)
}

fn find_bit(number: i128, bits: u32, from_top: bool, wanted: i128) -> i128 {
    let at = |index: u32| if from_top { bits - 1 - index } else { index };
    (0..bits).find(|index| number >> at(*index) & 1 == wanted).map_or(-1, i128::from)
}

fn find_other_sign(number: i128, bits: u32) -> i128 {
    let sign = number >> (bits - 1) & 1;
    (1..bits).find(|at| number >> (bits - 1 - at) & 1 != sign).map_or(-1, i128::from)
}

fn count(number: i128, bits: u32, wanted: i128) -> i128 {
    (0..bits).filter(|bit| number >> bit & 1 == wanted).count() as i128
}

fn reversed(number: i128, bits: u32) -> i128 {
    (0..bits).map(|bit| (number >> bit & 1) << (bits - 1 - bit)).sum()
}

/// For each four bits whether one is set: as one bit, or as four.
fn quads(number: i128, bits: u32, whole: bool) -> i128 {
    let is_set = |quad: u32| i128::from(low(number >> (quad * 4), 4) != 0);
    let of =
        |quad: u32| if whole { (is_set(quad) * 15) << (quad * 4) } else { is_set(quad) << quad };
    (0..bits / 4).map(of).sum()
}

fn extracted(number: i128, control: i128, bits: u32, is_signed: bool) -> i128 {
    let at = low(control, bits.trailing_zeros()) as u32;
    let width = low(control >> 16, 7) as u32;
    let shifted = number >> at;
    if width == 0 {
        return 0;
    }
    let width = width.min(bits);
    let cut = low(shifted, width);
    if is_signed && cut >> (width - 1) == 1 { cut - (1 << width) } else { cut }
}

fn with_bit(number: i128, at: i128, value: i128) -> i128 {
    number & !(1 << at) | value << at
}

fn replicated(number: i128) -> i128 {
    (0..32).map(|bit| ((number >> bit & 1) * 3) << (bit * 2)).sum()
}

const ROWS: &[Row] = &[
    ("s_mov_b32", "u32", "u32", Scc::Keep, |s| s.a),
    ("s_mov_b64", "u64", "u64", Scc::Keep, |s| s.a),
    ("s_movk_i32", "i32", "i16", Scc::Keep, |s| s.a),
    ("s_not_b32", "u32", "u32", Scc::NonZero, |s| !s.a),
    ("s_not_b64", "u64", "u64", Scc::NonZero, |s| !s.a),
    ("s_wqm_b32", "u32", "u32", Scc::NonZero, |s| quads(s.a, 32, true)),
    ("s_wqm_b64", "u64", "u64", Scc::NonZero, |s| quads(s.a, 64, true)),
    ("s_quadmask_b32", "u32", "u32", Scc::NonZero, |s| quads(s.a, 32, false)),
    ("s_quadmask_b64", "u64", "u64", Scc::NonZero, |s| quads(s.a, 64, false)),
    ("s_brev_b32", "u32", "u32", Scc::Keep, |s| reversed(s.a, 32)),
    ("s_brev_b64", "u64", "u64", Scc::Keep, |s| reversed(s.a, 64)),
    ("s_bcnt0_i32_b32", "u32", "u32", Scc::NonZero, |s| count(s.a, 32, 0)),
    ("s_bcnt0_i32_b64", "u32", "u64", Scc::NonZero, |s| count(s.a, 64, 0)),
    ("s_bcnt1_i32_b32", "u32", "u32", Scc::NonZero, |s| count(s.a, 32, 1)),
    ("s_bcnt1_i32_b64", "u32", "u64", Scc::NonZero, |s| count(s.a, 64, 1)),
    ("s_ff0_i32_b32", "u32", "u32", Scc::Keep, |s| find_bit(s.a, 32, false, 0)),
    ("s_ff0_i32_b64", "u32", "u64", Scc::Keep, |s| find_bit(s.a, 64, false, 0)),
    ("s_ff1_i32_b32", "u32", "u32", Scc::Keep, |s| find_bit(s.a, 32, false, 1)),
    ("s_ff1_i32_b64", "u32", "u64", Scc::Keep, |s| find_bit(s.a, 64, false, 1)),
    ("s_ctz_i32_b32", "u32", "u32", Scc::Keep, |s| find_bit(s.a, 32, false, 1)),
    ("s_ctz_i32_b64", "u32", "u64", Scc::Keep, |s| find_bit(s.a, 64, false, 1)),
    ("s_flbit_i32_b32", "u32", "u32", Scc::Keep, |s| find_bit(s.a, 32, true, 1)),
    ("s_flbit_i32_b64", "u32", "u64", Scc::Keep, |s| find_bit(s.a, 64, true, 1)),
    ("s_clz_i32_u32", "u32", "u32", Scc::Keep, |s| find_bit(s.a, 32, true, 1)),
    ("s_clz_i32_u64", "u32", "u64", Scc::Keep, |s| find_bit(s.a, 64, true, 1)),
    ("s_flbit_i32", "u32", "u32", Scc::Keep, |s| find_other_sign(s.a, 32)),
    ("s_flbit_i32_i64", "u32", "u64", Scc::Keep, |s| find_other_sign(s.a, 64)),
    ("s_cls_i32", "u32", "u32", Scc::Keep, |s| find_other_sign(s.a, 32)),
    ("s_cls_i32_i64", "u32", "u64", Scc::Keep, |s| find_other_sign(s.a, 64)),
    ("s_sext_i32_i8", "i32", "u32", Scc::Keep, |s| i128::from(s.a as i8)),
    ("s_sext_i32_i16", "i32", "i16", Scc::Keep, |s| s.a),
    ("s_bitset0_b32", "u32", "u32", Scc::Keep, |s| with_bit(s.d, low(s.a, 5), 0)),
    ("s_bitset0_b64", "u64", "u32", Scc::Keep, |s| with_bit(s.d, low(s.a, 6), 0)),
    ("s_bitset1_b32", "u32", "u32", Scc::Keep, |s| with_bit(s.d, low(s.a, 5), 1)),
    ("s_bitset1_b64", "u64", "u32", Scc::Keep, |s| with_bit(s.d, low(s.a, 6), 1)),
    ("s_bitreplicate_b64_b32", "u64", "u32", Scc::Keep, |s| replicated(s.a)),
    ("s_abs_i32", "i32", "i32", Scc::NonZero, |s| s.a.abs()),
    ("s_absdiff_i32", "i32", "i32 i32", Scc::NonZero, |s| i128::from((s.a - s.b) as i32).abs()),
    ("s_add_u32", "u32", "u32 u32", Scc::Carry, |s| s.a + s.b),
    ("s_add_co_u32", "u32", "u32 u32", Scc::Carry, |s| s.a + s.b),
    ("s_sub_u32", "u32", "u32 u32", Scc::Carry, |s| s.a - s.b),
    ("s_sub_co_u32", "u32", "u32 u32", Scc::Carry, |s| s.a - s.b),
    ("s_addc_u32", "u32", "u32 u32", Scc::Carry, |s| s.a + s.b + i128::from(s.scc)),
    ("s_add_co_ci_u32", "u32", "u32 u32", Scc::Carry, |s| s.a + s.b + i128::from(s.scc)),
    ("s_subb_u32", "u32", "u32 u32", Scc::Carry, |s| s.a - s.b - i128::from(s.scc)),
    ("s_sub_co_ci_u32", "u32", "u32 u32", Scc::Carry, |s| s.a - s.b - i128::from(s.scc)),
    ("s_add_i32", "i32", "i32 i32", Scc::Overflow, |s| s.a + s.b),
    ("s_add_co_i32", "i32", "i32 i32", Scc::Overflow, |s| s.a + s.b),
    ("s_sub_i32", "i32", "i32 i32", Scc::Overflow, |s| s.a - s.b),
    ("s_sub_co_i32", "i32", "i32 i32", Scc::Overflow, |s| s.a - s.b),
    ("s_addk_i32", "i32", "i16", Scc::Overflow, |s| s.d + s.a),
    ("s_addk_co_i32", "i32", "i16", Scc::Overflow, |s| s.d + s.a),
    ("s_mulk_i32", "i32", "i16", Scc::Keep, |s| s.d * s.a),
    ("s_add_nc_u64", "u64", "u64 u64", Scc::Keep, |s| s.a + s.b),
    ("s_sub_nc_u64", "u64", "u64 u64", Scc::Keep, |s| s.a - s.b),
    ("s_mul_u64", "u64", "u64 u64", Scc::Keep, |s| s.a.wrapping_mul(s.b)),
    ("s_mul_i32", "i32", "i32 i32", Scc::Keep, |s| s.a * s.b),
    ("s_mul_hi_u32", "u32", "u32 u32", Scc::Keep, |s| (s.a * s.b) >> 32),
    ("s_mul_hi_i32", "i32", "i32 i32", Scc::Keep, |s| (s.a * s.b) >> 32),
    ("s_cselect_b32", "u32", "u32 u32", Scc::Keep, |s| if s.scc { s.a } else { s.b }),
    ("s_cselect_b64", "u64", "u64 u64", Scc::Keep, |s| if s.scc { s.a } else { s.b }),
    ("s_and_b32", "u32", "u32 u32", Scc::NonZero, |s| s.a & s.b),
    ("s_and_b64", "u64", "u64 u64", Scc::NonZero, |s| s.a & s.b),
    ("s_or_b32", "u32", "u32 u32", Scc::NonZero, |s| s.a | s.b),
    ("s_or_b64", "u64", "u64 u64", Scc::NonZero, |s| s.a | s.b),
    ("s_xor_b32", "u32", "u32 u32", Scc::NonZero, |s| s.a ^ s.b),
    ("s_xor_b64", "u64", "u64 u64", Scc::NonZero, |s| s.a ^ s.b),
    ("s_andn2_b32", "u32", "u32 u32", Scc::NonZero, |s| s.a & !s.b),
    ("s_andn2_b64", "u64", "u64 u64", Scc::NonZero, |s| s.a & !s.b),
    ("s_and_not1_b32", "u32", "u32 u32", Scc::NonZero, |s| s.a & !s.b),
    ("s_and_not1_b64", "u64", "u64 u64", Scc::NonZero, |s| s.a & !s.b),
    ("s_orn2_b32", "u32", "u32 u32", Scc::NonZero, |s| s.a | !s.b),
    ("s_orn2_b64", "u64", "u64 u64", Scc::NonZero, |s| s.a | !s.b),
    ("s_or_not1_b32", "u32", "u32 u32", Scc::NonZero, |s| s.a | !s.b),
    ("s_or_not1_b64", "u64", "u64 u64", Scc::NonZero, |s| s.a | !s.b),
    ("s_nand_b32", "u32", "u32 u32", Scc::NonZero, |s| !(s.a & s.b)),
    ("s_nand_b64", "u64", "u64 u64", Scc::NonZero, |s| !(s.a & s.b)),
    ("s_nor_b32", "u32", "u32 u32", Scc::NonZero, |s| !(s.a | s.b)),
    ("s_nor_b64", "u64", "u64 u64", Scc::NonZero, |s| !(s.a | s.b)),
    ("s_xnor_b32", "u32", "u32 u32", Scc::NonZero, |s| !(s.a ^ s.b)),
    ("s_xnor_b64", "u64", "u64 u64", Scc::NonZero, |s| !(s.a ^ s.b)),
    ("s_lshl_b32", "u32", "u32 u32", Scc::NonZero, |s| s.a << low(s.b, 5)),
    ("s_lshl_b64", "u64", "u64 u32", Scc::NonZero, |s| s.a << low(s.b, 6)),
    ("s_lshr_b32", "u32", "u32 u32", Scc::NonZero, |s| s.a >> low(s.b, 5)),
    ("s_lshr_b64", "u64", "u64 u32", Scc::NonZero, |s| s.a >> low(s.b, 6)),
    ("s_ashr_i32", "i32", "i32 u32", Scc::NonZero, |s| s.a >> low(s.b, 5)),
    ("s_ashr_i64", "i64", "i64 u32", Scc::NonZero, |s| s.a >> low(s.b, 6)),
    ("s_bfm_b32", "u32", "u32 u32", Scc::Keep, |s| ((1 << low(s.a, 5)) - 1) << low(s.b, 5)),
    ("s_bfm_b64", "u64", "u32 u32", Scc::Keep, |s| ((1 << low(s.a, 6)) - 1) << low(s.b, 6)),
    ("s_bfe_u32", "u32", "u32 u32", Scc::NonZero, |s| extracted(s.a, s.b, 32, false)),
    ("s_bfe_i32", "i32", "i32 u32", Scc::NonZero, |s| extracted(s.a, s.b, 32, true)),
    ("s_bfe_u64", "u64", "u64 u32", Scc::NonZero, |s| extracted(s.a, s.b, 64, false)),
    ("s_bfe_i64", "i64", "i64 u32", Scc::NonZero, |s| extracted(s.a, s.b, 64, true)),
    ("s_lshl1_add_u32", "u32", "u32 u32", Scc::Carry, |s| above(s.a * 2 + s.b)),
    ("s_lshl2_add_u32", "u32", "u32 u32", Scc::Carry, |s| above(s.a * 4 + s.b)),
    ("s_lshl3_add_u32", "u32", "u32 u32", Scc::Carry, |s| above(s.a * 8 + s.b)),
    ("s_lshl4_add_u32", "u32", "u32 u32", Scc::Carry, |s| above(s.a * 16 + s.b)),
    ("s_pack_ll_b32_b16", "u32", "u32 u32", Scc::Keep, |s| low(s.a, 16) | low(s.b, 16) << 16),
    ("s_pack_lh_b32_b16", "u32", "u32 u32", Scc::Keep, |s| low(s.a, 16) | s.b >> 16 << 16),
    ("s_pack_hl_b32_b16", "u32", "u32 u32", Scc::Keep, |s| s.a >> 16 | low(s.b, 16) << 16),
    ("s_pack_hh_b32_b16", "u32", "u32 u32", Scc::Keep, |s| s.a >> 16 | s.b >> 16 << 16),
];

/// A sum whose carry is any bit above 32: moved into that bit.
fn above(sum: i128) -> i128 {
    low(sum, 32) | i128::from(sum >> 32 != 0) << 32
}
