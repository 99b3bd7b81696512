//! Divisions by zero, where the kernel asks to be stopped at them.

use crate::error::ErrorKind;
use crate::generated::Op;
use crate::semantics::Semantics;
use crate::step::{Context, Step};
use crate::wave::{Wave, lanes};

/// The first of the bits of MODE that make exceptions trap, up to gfx11.
const FIRST: u32 = 12;
const FLOAT_DIVISION: u32 = 14;
const INTEGER_DIVISION: u32 = 18;

/// The bits of MODE by the second resource register of a descriptor, which has them in the same order.
pub(crate) fn of_descriptor(rsrc2: u32) -> u32 {
    (rsrc2 >> 24 & 0x7f) << FIRST
}

/// Whether some of these bits of MODE ask for what is not modelled.
pub(crate) fn are_others(mode: u32) -> bool {
    mode & 0x7f << FIRST & !(1 << FLOAT_DIVISION | 1 << INTEGER_DIVISION) != 0
}

/// The bit of MODE that a reciprocal of zero is stopped by, and the bytes of its operand.
pub(crate) fn division(semantics: &Semantics) -> Option<(u32, u16)> {
    let size = match semantics.op {
        Op::VRcpF16 | Op::VRsqF16 => 2,
        Op::VRcpF32 | Op::VRsqF32 => 4,
        Op::VRcpF64 | Op::VRsqF64 => 8,
        _ => return None,
    };
    // Compilers divide integers by this one.
    let is_integer = semantics.mnemonic == "v_rcp_iflag_f32";
    Some((if is_integer { INTEGER_DIVISION } else { FLOAT_DIVISION }, size))
}

/// Stops if bit `k` of MODE is set and `v[a]`, of `e` bytes, is zero in a lane.
pub(crate) fn check_divisor<const C: usize>(
    wave: &mut Wave<C>,
    _: &mut Context<'_>,
    step: &Step<C>,
) {
    if wave.mode.0 >> step.k & 1 == 0 {
        return;
    }
    let at = usize::from(step.a);
    let word = |at: usize, lane: usize| wave.v.get(at).map_or(0, |it| it.lane(lane));
    let is_zero = |lane: &usize| match step.e {
        2 => word(at, *lane) & 0x7fff == 0,
        4 => word(at, *lane) << 1 == 0,
        _ => word(at, *lane) == 0 && word(at + 1, *lane) << 1 == 0,
    };
    let lanes = lanes(wave.active).filter(is_zero).fold(0_u64, |all, lane| all | 1 << lane);
    if lanes != 0 {
        wave.fail(ErrorKind::Trap, lanes, "a division by zero, which the kernel asks to trap");
    }
}
