//! Comparisons: v_cmp, v_cmpx.

use hsaco_isa::model::{OperandValue, Register, RegisterFile, Special};

use super::float;
use super::machine::Machine;
use super::operand::{Instruction, Type};
use super::vector::{From, source_bits, source_lane};

pub(super) fn run(machine: &mut Machine<'_>, instruction: &Instruction) -> bool {
    let (rest, writes_exec) = match instruction.name.strip_prefix("v_cmpx_") {
        Some(rest) => (rest, true),
        None => match instruction.name.strip_prefix("v_cmp_") {
            Some(rest) => (rest, false),
            None => return false,
        },
    };
    let Some((relation, ty)) = rest.rsplit_once('_') else { return false };
    let Some(ty) = Type::named(ty) else { return false };
    let second = if relation == "class" { class_type(ty) } else { ty };
    let (Some(a), Some(b)) = (instruction.operand("src0"), instruction.operand("src1")) else {
        return false;
    };
    let mut mask = 0;
    for lane in machine.active() {
        let Some(from) = source_lane(machine, instruction, lane) else { continue };
        let a = source_bits(machine, instruction, ty, 0, a, from);
        let b = source_bits(machine, instruction, second, 1, b, From::Lane(lane));
        let is_true = if ty.has_sign_bit() {
            float::compares(&float::Env::new(machine, instruction), relation, ty, a, b)
        } else {
            holds(relation, ty.number(a), ty.number(b))
        };
        let Some(is_true) = is_true else { return false };
        mask |= u64::from(is_true) << lane;
    }
    if writes_exec {
        machine.after.exec = machine.cut(mask);
        if !machine.is_gfx9() {
            return true;
        }
    }
    machine.set_mask(destination(instruction), mask);
    true
}

/// Classes are named by a number as wide as the operand, of 32 bits for f64.
fn class_type(ty: Type) -> Type {
    if ty == Type::F16 { Type::U16 } else { Type::U32 }
}

fn destination(instruction: &Instruction) -> Option<&OperandValue> {
    const VCC: OperandValue = OperandValue::Register(Register {
        file: RegisterFile::Special(Special::Vcc),
        first: 0,
        count: 2,
        half: None,
    });
    let named = instruction.operand("sdst").or_else(|| instruction.operand("vdst"));
    Some(named.unwrap_or(&VCC))
}

/// Whether integers compare so.
pub(super) fn holds(relation: &str, a: i128, b: i128) -> Option<bool> {
    Some(match relation {
        "f" => false,
        "lt" => a < b,
        "eq" => a == b,
        "le" => a <= b,
        "gt" => a > b,
        "ne" | "lg" => a != b,
        "ge" => a >= b,
        "t" | "tru" => true,
        _ => return None,
    })
}
