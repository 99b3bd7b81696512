//! What is no arithmetic: mode, hardware registers, messages, the program counter.

use hsaco_isa::model::HwRegField;

use super::address::{PRIVATE_APERTURE, SHARED_APERTURE};
use super::exception;
use crate::error::ErrorKind;
use crate::num::Generation;
use crate::step::{Context, Step};
use crate::wave::{State, Wave};

/// EXEC was written as a register.
pub(crate) fn sync_exec<const C: usize>(wave: &mut Wave<C>, _: &mut Context<'_>, _: &Step<C>) {
    wave.sync_exec();
}

/// SCC, VCCZ and EXECZ as registers from `d` on.
pub(crate) fn flags<const C: usize>(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
    let vcc = wave.lane_mask(crate::wave::scalar::VCC);
    let flags = [wave.scc, vcc == 0, wave.exec() == 0];
    // As pairs: operands of 64 bits read zero above.
    for (pair, flag) in wave.s[usize::from(step.d)..].chunks_mut(2).zip(flags) {
        pair.copy_from_slice(&[u32::from(flag), 0]);
    }
}

/// `s[d..] = k`.
pub(crate) fn set_pair<const C: usize>(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
    wave.set_pair(step.d, step.k);
}

/// The wave goes on at the address in `s[a..]`.
pub(crate) fn jump<const C: usize>(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
    wave.pc = wave.pair(step.a);
}

/// The same, and `s[d..] = k`.
pub(crate) fn swap_pc<const C: usize>(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
    wave.pc = wave.pair(step.a);
    wave.set_pair(step.d, step.k);
}

pub(crate) fn add_pc<const C: usize>(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
    wave.pc = step.k.wrapping_add(wave.pair(step.a));
}

/// Hardware registers by number.
mod register {
    pub(super) const MODE: u8 = super::HwRegField::MODE;
    pub(super) const LDS_ALLOC: u8 = 6;
    pub(super) const SH_MEM_BASES: u8 = 15;
    /// From gfx10 on; gfx12 has the upper half behind it.
    pub(super) const SHADER_CYCLES: u8 = 29;
    pub(super) const SHADER_CYCLES_HI: u8 = 30;
    pub(super) const HW_ID: u8 = 4;
    pub(super) const XCC_ID: u8 = 20;
    pub(super) const HW_ID1: u8 = 23;
    pub(super) const HW_ID2: u8 = 24;
    pub(super) const IB_STS2: u8 = 28;
}

/// The field of IB_STS2 that is not zero in a cluster: compilers read it to number workgroups.
const CLUSTER: HwRegField = HwRegField { register: register::IB_STS2, first: 6, width: 4 };

/// `s[d] =` a field of the hardware register `k`: number, first bit, width less one.
pub(crate) fn get_register<const C: usize>(
    wave: &mut Wave<C>,
    context: &mut Context<'_>,
    step: &Step<C>,
) {
    let (number, first, width) = field(step.k);
    context.clock += 4;
    let value = match number {
        register::MODE => wave.mode.0,
        // In units of 128 words from bit 12 on.
        register::LDS_ALLOC => wave.hardware.lds_words.div_ceil(128) << 12,
        // The upper quarters of both apertures' addresses, the private one's first.
        register::SH_MEM_BASES => PRIVATE_APERTURE >> 16 | SHARED_APERTURE,
        register::SHADER_CYCLES => context.clock as u32,
        register::SHADER_CYCLES_HI => (context.clock >> 32) as u32,
        // Where a wave runs is up to the device: all run in the first place of the first unit.
        register::HW_ID | register::HW_ID1 | register::HW_ID2 => 0,
        register::XCC_ID if has_xcc(context.numerics) => 0,
        register::IB_STS2
            if context.numerics == Generation::Gfx1250
                && HwRegField::from_operand(step.k as u16) == CLUSTER =>
        {
            wave.hardware.cluster << CLUSTER.first
        }
        _ => {
            let detail = format!("s_getreg of hardware register {number}");
            return wave.fail(ErrorKind::Unsupported, 0, detail);
        }
    };
    wave.s[usize::from(step.d)] = value >> first & (u32::MAX >> (32 - width));
}

/// Whether register 20 is the number of a compute die; elsewhere it is part of FLAT_SCRATCH.
fn has_xcc(device: Generation) -> bool {
    matches!(device, Generation::Gfx942 | Generation::Gfx950)
}

fn field(k: u64) -> (u8, u32, u32) {
    let HwRegField { register, first, width } = HwRegField::from_operand(k as u16);
    (register, first.into(), width.into())
}

/// A field of the hardware register `k` is `s[a]`. What only the driver uses is left alone.
pub(crate) fn set_register<const C: usize>(
    wave: &mut Wave<C>,
    context: &mut Context<'_>,
    step: &Step<C>,
) {
    let (number, first, width) = field(step.k);
    if number == register::MODE {
        let mask = (u32::MAX >> (32 - width)) << first;
        let value = wave.s[usize::from(step.a)] << first;
        wave.mode.0 = wave.mode.0 & !mask | value & mask;
        // What follows was translated for another mode.
        wave.msb = if step.e == 1 { msb_of_mode(wave.mode.0) } else { wave.msb };
        if context.numerics < Generation::Gfx12 && exception::are_others(wave.mode.0) {
            wave.fail(ErrorKind::Unsupported, 0, "a trap at exceptions that are not modelled");
        }
    }
}

/// On gfx1250 MODE also holds the upper bits of register numbers, in bits 12 to 19.
fn msb_of_mode(mode: u32) -> u16 {
    (mode >> 12 & 0xff) as u16
}

/// Bits of MODE: `k` has the mask above bit 32 and the value below.
pub(crate) fn set_mode<const C: usize>(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
    let mask = (step.k >> 32) as u32;
    wave.mode.0 = wave.mode.0 & !mask | step.k as u32 & mask;
}

/// Upper bits of vector register numbers.
pub(crate) fn set_msb<const C: usize>(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
    wave.msb = step.k as u16;
}

/// The bits of `s_set_gpr_idx_on`; M0 holds the index.
pub(crate) fn set_index_mode<const C: usize>(
    wave: &mut Wave<C>,
    _: &mut Context<'_>,
    step: &Step<C>,
) {
    wave.index_mode = step.k as u8 & 15;
    if step.c == 1 {
        let m0 = &mut wave.s[usize::from(crate::wave::scalar::M0)];
        *m0 = *m0 & !0xf000 | (step.k as u32 & 15) << 12;
    }
}

/// `M0 = s[a]`'s lowest byte, its other bits kept.
pub(crate) fn set_index<const C: usize>(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
    let value = wave.s[usize::from(step.a)] & 0xff;
    let m0 = &mut wave.s[usize::from(crate::wave::scalar::M0)];
    *m0 = *m0 & !0xff | value;
}

pub(crate) fn end<const C: usize>(wave: &mut Wave<C>, context: &mut Context<'_>, _: &Step<C>) {
    wave.state = State::Ended;
    wave.stop = true;
    context.barriers.leave();
}

pub(crate) fn trap<const C: usize>(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
    let detail = match step.k {
        2 => "the program aborted itself".to_owned(),
        number => format!("trap {number}"),
    };
    wave.fail(ErrorKind::Trap, wave.active, detail);
}

/// Messages that answer: `s[d..]`, of `c` registers, is zero, or the clock.
pub(crate) fn message<const C: usize>(
    wave: &mut Wave<C>,
    context: &mut Context<'_>,
    step: &Step<C>,
) {
    context.clock += 40;
    let answer = if step.k & 0xff == 0x83 { context.clock } else { 0 };
    wave.s[usize::from(step.d)] = answer as u32;
    if step.c == 2 {
        wave.s[usize::from(step.d) + 1] = (answer >> 32) as u32;
    }
}

/// A wave that polls lets others run.
pub(crate) fn sleep<const C: usize>(wave: &mut Wave<C>, context: &mut Context<'_>, _: &Step<C>) {
    context.clock += 64;
    wave.yields = true;
}

pub(crate) fn illegal<const C: usize>(wave: &mut Wave<C>, _: &mut Context<'_>, _: &Step<C>) {
    wave.fail(ErrorKind::IllegalInstruction, 0, "an encoding that is always illegal");
}
