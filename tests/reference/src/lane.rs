//! Operations between lanes.

use hsaco_isa::model::{OperandValue, Register, RegisterFile};

use super::machine::Machine;
use super::operand::{Instruction, Type};

pub(super) fn run(machine: &mut Machine<'_>, instruction: &Instruction) -> bool {
    match instruction.name {
        "v_nop" => {}
        "v_readfirstlane_b32" => {
            let exec = machine.before.exec;
            let lane = if exec == 0 { 0 } else { exec.trailing_zeros() as usize };
            return read(machine, instruction, lane);
        }
        "v_readlane_b32" => {
            let Some(lane) = selected(machine, instruction) else { return false };
            return read(machine, instruction, lane);
        }
        "v_writelane_b32" => return write(machine, instruction),
        "v_swap_b32" => return swap(machine, instruction),
        "v_permlane64_b32" => {
            if machine.lanes == 64 {
                return gather(machine, instruction, |lane| lane ^ 32);
            }
        }
        "v_permlane16_b32" => return permute(machine, instruction, 0),
        "v_permlanex16_b32" => return permute(machine, instruction, 16),
        "v_permlane16_var_b32" => return permute_var(machine, instruction, 0),
        "v_permlanex16_var_b32" => return permute_var(machine, instruction, 16),
        "v_permlane16_swap_b32" => return swap_rows(machine, instruction, 16),
        "v_permlane32_swap_b32" => return swap_rows(machine, instruction, 32),
        _ => return false,
    }
    true
}

/// A vector register.
fn register<'i>(instruction: &'i Instruction, name: &str) -> Option<&'i Register> {
    match instruction.operand(name)? {
        OperandValue::Register(register) if register.file == RegisterFile::Vgpr => Some(register),
        _ => None,
    }
}

fn selected(machine: &Machine<'_>, instruction: &Instruction) -> Option<usize> {
    let select = instruction.operand("src1")?;
    Some(machine.bits(select, Type::U32, 0) as usize % machine.lanes)
}

fn read(machine: &mut Machine<'_>, instruction: &Instruction, lane: usize) -> bool {
    let to = instruction.operand("vdst").or_else(|| instruction.operand("sdst"));
    let (Some(from), Some(to)) = (instruction.operand("src0"), to) else { return false };
    let value = machine.bits(from, Type::U32, lane);
    machine.set_scalar(to, Type::U32, value);
    true
}

fn write(machine: &mut Machine<'_>, instruction: &Instruction) -> bool {
    let (Some(from), Some(to)) = (instruction.operand("src0"), register(instruction, "vdst"))
    else {
        return false;
    };
    let Some(lane) = selected(machine, instruction) else { return false };
    machine.after.vectors[usize::from(to.first)][lane] = machine.bits(from, Type::U32, 0) as u32;
    true
}

fn swap(machine: &mut Machine<'_>, instruction: &Instruction) -> bool {
    let (Some(a), Some(b)) = (register(instruction, "vdst"), register(instruction, "src0")) else {
        return false;
    };
    let (a, b) = (usize::from(a.first), usize::from(b.first));
    for lane in machine.active() {
        machine.after.vectors[a][lane] = machine.before.vectors[b][lane];
        machine.after.vectors[b][lane] = machine.before.vectors[a][lane];
    }
    true
}

/// Each active lane takes the first source of another.
fn gather(
    machine: &mut Machine<'_>,
    instruction: &Instruction,
    from: impl Fn(usize) -> usize,
) -> bool {
    let (Some(source), Some(to)) = (instruction.operand("src0"), register(instruction, "vdst"))
    else {
        return false;
    };
    for lane in machine.active() {
        let value = machine.bits(source, Type::U32, from(lane)) as u32;
        machine.after.vectors[usize::from(to.first)][lane] = value;
    }
    true
}

/// Swizzles rows of 16 lanes; the operand's selects of inactive lanes read zero, unless they are fetched too.
fn permuted(
    machine: &mut Machine<'_>,
    instruction: &Instruction,
    from: impl Fn(&Machine<'_>, usize) -> usize,
) -> bool {
    // The first two bits of op_sel stand for what DPP calls FI and BOUND_CTRL.
    let fetches = instruction.modifiers(0).op_sel;
    let zeroes = instruction.modifiers(1).op_sel;
    let (Some(source), Some(to)) = (instruction.operand("src0"), register(instruction, "vdst"))
    else {
        return false;
    };
    for lane in machine.active() {
        let from = from(machine, lane);
        let value = match (fetches || machine.is_active(from), zeroes) {
            (true, _) => machine.bits(source, Type::U32, from) as u32,
            (false, true) => 0,
            (false, false) => continue,
        };
        machine.after.vectors[usize::from(to.first)][lane] = value;
    }
    true
}

fn permute(machine: &mut Machine<'_>, instruction: &Instruction, across: usize) -> bool {
    let (Some(low), Some(high)) = (instruction.operand("src1"), instruction.operand("src2")) else {
        return false;
    };
    let low = machine.bits(low, Type::U32, 0) & 0xffff_ffff;
    let select = low | machine.bits(high, Type::U32, 0) << 32;
    permuted(machine, instruction, |_, lane| {
        (lane & !15 ^ across) + (select >> (lane % 16 * 4) & 15) as usize
    })
}

fn permute_var(machine: &mut Machine<'_>, instruction: &Instruction, across: usize) -> bool {
    let Some(select) = instruction.operand("src1").copied() else { return false };
    permuted(machine, instruction, move |machine, lane| {
        (lane & !15 ^ across) + (machine.bits(&select, Type::U32, lane) & 15) as usize
    })
}

/// Exchanges odd rows of the destination with even rows of the source. Manuals do not say what inactive lanes do.
fn swap_rows(machine: &mut Machine<'_>, instruction: &Instruction, rows: usize) -> bool {
    let (Some(a), Some(b)) = (register(instruction, "vdst"), register(instruction, "src0")) else {
        return false;
    };
    let (a, b) = (usize::from(a.first), usize::from(b.first));
    if machine.active().count() != machine.lanes {
        return false;
    }
    for lane in (0..machine.lanes).filter(|lane| (lane / rows).is_multiple_of(2)) {
        machine.after.vectors[b][lane] = machine.before.vectors[a][lane + rows];
        machine.after.vectors[a][lane + rows] = machine.before.vectors[b][lane];
    }
    true
}
