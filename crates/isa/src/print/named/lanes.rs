//! How values move between the lanes of a wave, and which part of a register is read or written.
//! Derived from LLVM's AMDGPU target definitions (Apache-2.0 WITH LLVM-exception).

use super::{Marks, Out, Token, modifier, space};
use crate::model::Arch;
use crate::model::named::lanes::{CONTROLS, FFT, INDEXED, ROTATE, ROW_SHARE, SELECTIONS, UNUSED};

/// The lane each of eight lanes reads.
pub(in crate::print) fn dpp8<M: Marks>(out: &mut Out<'_, M>, value: u32) {
    out.token(Token::Modifier);
    out.text("dpp8:");
    list(out, b'[', [0, 3, 6, 9, 12, 15, 18, 21].map(|shift| value >> shift & 7));
    out.byte(b']');
}

/// What is said of a control that the processor does not have; of one there is a space before it.
static REFUSALS: [(u32, u32, &str); 7] = [
    (0x130, 0x130, "/* wave_shl is not supported starting from GFX10 */"),
    (0x134, 0x134, "/* wave_rol is not supported starting from GFX10 */"),
    (0x138, 0x138, "/* wave_shr is not supported starting from GFX10 */"),
    (0x13c, 0x13c, "/* wave_ror is not supported starting from GFX10 */"),
    (0x142, 0x143, "/* row_bcast is not supported starting from GFX10 */"),
    (
        ROW_SHARE,
        ROW_SHARE + 15,
        " /* row_newbcast/row_share is not supported on ASICs earlier than GFX90A/GFX10 */",
    ),
    (0x160, 0x16f, "/* row_xmask is not supported on ASICs earlier than GFX10 */"),
];

/// Which lane each lane reads; `dp_alu` says that the unit for doubles runs the instruction.
pub(in crate::print) fn dpp_ctrl<M: Marks>(
    out: &mut Out<'_, M>,
    arch: Arch,
    value: u32,
    dp_alu: bool,
) {
    let in_range = |first: u32, last: u32| (first..=last).contains(&value);
    if dp_alu && !is_dp_alu_control(arch, value) {
        remark(out, " /* DP ALU dpp only supports ");
        out.text(if arch.is_gfx12_plus() { "row_share */" } else { "row_newbcast */" });
    } else if value <= 0xff {
        out.token(Token::Modifier);
        out.text("quad_perm:");
        list(out, b'[', quad(value));
        out.byte(b']');
    } else if let Some((first, last, text, _)) =
        CONTROLS.iter().find(|(first, last, _, when)| in_range(*first, *last) && when.holds(arch))
    {
        out.token(Token::Modifier);
        out.text(text);
        if first != last {
            out.dec(u64::from(value & 15));
        }
    } else {
        let refusal = REFUSALS.iter().find(|(first, last, _)| in_range(*first, *last));
        remark(out, refusal.map_or("/* Invalid dpp_ctrl value */", |(_, _, text)| *text));
    }
}

fn remark<M: Marks>(out: &mut Out<'_, M>, text: &str) {
    match text.strip_prefix(' ') {
        Some(text) => {
            space(out, Token::Comment);
            out.text(text);
        }
        None => {
            out.token(Token::Comment);
            out.text(text);
        }
    }
}

fn is_dp_alu_control(arch: Arch, value: u32) -> bool {
    let has_any = arch.is_gfx12_plus() || arch.has(Arch::GFX90A);
    has_any && (ROW_SHARE..=ROW_SHARE + 15).contains(&value)
}

/// Which part of a register SDWA takes; the prefix is `dst_sel:`, `src0_sel:` or `src1_sel:`.
pub(in crate::print) fn sdwa_sel<M: Marks>(out: &mut Out<'_, M>, prefix: &str, value: u32) {
    prefixed(out, prefix, &SELECTIONS, value);
}

/// What SDWA does with the rest of the register it writes.
pub(in crate::print) fn sdwa_dst_unused<M: Marks>(out: &mut Out<'_, M>, value: u32) {
    prefixed(out, "dst_unused:", &UNUSED, value);
}

fn prefixed<M: Marks>(out: &mut Out<'_, M>, prefix: &str, names: &[&str], value: u32) {
    out.token(Token::Modifier);
    out.text(prefix);
    // LLVM takes any other value for unreachable; its build falls through to the first.
    out.text(names.get(value as usize).or(names.first()).unwrap_or(&""));
}

/// Which operands the index register moves.
pub(in crate::print) fn gpr_idx_mode<M: Marks>(out: &mut Out<'_, M>, value: u32) {
    if value > 15 {
        out.token(Token::Immediate);
        return out.hex(u64::from(value));
    }
    out.token(Token::Modifier);
    out.text("gpr_idx(");
    let set = INDEXED.iter().filter(|(bit, _)| value & bit != 0);
    for (at, (_, name)) in set.enumerate() {
        if at > 0 {
            out.byte(b',');
        }
        out.text(name);
    }
    out.byte(b')');
}

/// The offset of `ds_swizzle_b32`, which says how lanes are exchanged; zero is left out.
pub(in crate::print) fn swizzle<M: Marks>(out: &mut Out<'_, M>, arch: Arch, value: u32) {
    let value = value & 0xffff;
    if value == 0 {
        return;
    }
    modifier(out, "offset:");
    if value >= FFT && arch.is_gfx9_plus() {
        call(out, "FFT", [value & 31]);
    } else if value >= ROTATE && arch.is_gfx9_plus() {
        call(out, "ROTATE", [value >> 10 & 1, value >> 5 & 31]);
    } else if value & 0xff00 == 0x8000 {
        call(out, "QUAD_PERM", quad(value));
    } else if value & 0x8000 == 0 {
        swizzle_masks(out, value & 31, value >> 5 & 31, value >> 10 & 31);
    } else {
        out.dec(u64::from(value));
    }
}

/// Lanes read the lane whose number is theirs after an and, an or and an exclusive or.
fn swizzle_masks<M: Marks>(out: &mut Out<'_, M>, and: u32, or: u32, xor: u32) {
    let group = 32 - and;
    if (and, or) == (31, 0) && xor.is_power_of_two() {
        call(out, "SWAP", [xor]);
    } else if (and, or) == (31, 0) && xor > 0 && (xor + 1).is_power_of_two() {
        call(out, "REVERSE", [xor + 1]);
    } else if group > 1 && group.is_power_of_two() && or < group && xor == 0 {
        call(out, "BROADCAST", [group, or]);
    } else {
        out.text("swizzle(BITMASK_PERM,\"");
        let of_zero = or ^ xor;
        let of_one = (and | or) ^ xor;
        for bit in [16, 8, 4, 2, 1] {
            out.byte(match (of_zero & bit != 0, of_one & bit != 0) {
                (false, false) => b'0',
                (true, true) => b'1',
                (false, true) => b'p',
                (true, false) => b'i',
            });
        }
        out.text("\")");
    }
}

fn call<M: Marks, const N: usize>(out: &mut Out<'_, M>, name: &str, values: [u32; N]) {
    out.text("swizzle(");
    out.text(name);
    list(out, b',', values);
    out.byte(b')');
}

/// Four lanes of two bits each.
fn quad(value: u32) -> [u32; 4] {
    [0, 2, 4, 6].map(|shift| value >> shift & 3)
}

/// Numbers between commas, after a first character.
fn list<M: Marks, const N: usize>(out: &mut Out<'_, M>, first: u8, values: [u32; N]) {
    let mut before = first;
    for value in values {
        out.byte(before);
        out.dec(u64::from(value));
        before = b',';
    }
}
