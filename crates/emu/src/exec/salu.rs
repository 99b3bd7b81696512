//! Scalar arithmetic: functions of up to three scalar values and SCC.

use crate::exec::float;
use crate::generated::Op;
use crate::step::{Context, Handler, Step};
use crate::wave::{Wave, scalar};

/// A function of scalar values. `c` is the destination's old value, or a third operand.
trait Scalar {
    /// Which of result and operands have two registers.
    const WIDE: [bool; 4];
    /// Whether there is a result, and whether SCC is written.
    const WRITES: (bool, bool);
    fn f(a: u64, b: u64, c: u64, scc: bool) -> (u64, bool);
}

fn apply<const C: usize, O: Scalar>(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
    let value = |register: u16, wide: bool| {
        if wide { wave.pair(register) } else { u64::from(wave.s[usize::from(register)]) }
    };
    let [wide, wide_a, wide_b, wide_c] = O::WIDE;
    let (a, b, c) = (value(step.a, wide_a), value(step.b, wide_b), value(step.c, wide_c));
    let (result, scc) = O::f(a, b, c, wave.scc);
    if O::WRITES.0 {
        if wide {
            wave.set_pair(step.d, result);
        } else {
            wave.s[usize::from(step.d)] = result as u32;
        }
    }
    if O::WRITES.1 {
        wave.scc = scc;
    }
}

macro_rules! scalars {
    ($($op:ident $wide:ident $writes:ident |$a:pat_param, $b:pat_param, $c:pat_param, $scc:pat_param| $body:expr;)*) => {
        $(
            struct $op;
            impl Scalar for $op {
                const WIDE: [bool; 4] = $wide;
                const WRITES: (bool, bool) = $writes;
                #[inline(always)]
                fn f($a: u64, $b: u64, $c: u64, $scc: bool) -> (u64, bool) { $body }
            }
        )*

        /// The handler of a scalar operation.
        pub(crate) fn find<const C: usize>(op: Op) -> Option<Handler<C>> {
            Some(match op {
                $(Op::$op => apply::<C, $op>,)*
                _ => return float::find_scalar(op).or_else(|| exec(op)),
            })
        }

        /// Which of result and operands have two registers, and whether there is a result.
        pub(crate) fn shape(op: Op) -> Option<([bool; 4], bool)> {
            Some(match op {
                $(Op::$op => ($op::WIDE, $op::WRITES.0),)*
                _ => (W32, float::scalar_shape(op)?),
            })
        }
    };
}

/// All of 32 bits.
const W32: [bool; 4] = [false; 4];
/// All of 64 bits.
const W64: [bool; 4] = [true; 4];
/// A shift of 64 bits: the count is of 32.
const SHIFT: [bool; 4] = [true, true, false, true];
/// A result of 32 bits from 64.
const NARROW: [bool; 4] = [false, true, true, false];
/// A result of 64 bits from 32.
const WIDENED: [bool; 4] = [true, false, false, true];

/// Result, SCC, both, as the hardware writes them.
const R: (bool, bool) = (true, false);
const S: (bool, bool) = (false, true);
const RS: (bool, bool) = (true, true);

fn nz(value: u64) -> (u64, bool) {
    (value, value != 0)
}

fn nz32(value: u64) -> (u64, bool) {
    nz(value & 0xffff_ffff)
}

fn r(value: u64) -> (u64, bool) {
    (value, false)
}

fn scc(value: bool) -> (u64, bool) {
    (0, value)
}

fn i(value: u64) -> i32 {
    value as i32
}

fn u(value: i32) -> u64 {
    u64::from(value.cast_unsigned())
}

fn field(value: u64, control: u64, bits: u32) -> (u64, u32) {
    let (first, width) = (control as u32 & (bits - 1), (control >> 16) as u32 & 0x7f);
    let width = width.min(bits);
    let shifted = value >> first;
    let kept = match width {
        0 => 0,
        64 => shifted,
        _ => shifted & (u64::MAX >> (64 - width)),
    };
    (kept, width)
}

fn signed_field(value: u64, control: u64, bits: u32) -> u64 {
    let (_, width) = field(value, control, bits);
    let first = control as u32 & (bits - 1);
    if width == 0 {
        return 0;
    }
    let value = if bits == 32 { i64::from(i(value)) } else { value.cast_signed() };
    let shifted = value >> first;
    ((shifted << (64 - width)) >> (64 - width)).cast_unsigned()
}

fn ones(count: u64, first: u64, bits: u64) -> u64 {
    let (count, first) = (count & (bits - 1), first & (bits - 1));
    ((1_u64 << count) - 1) << first
}

/// Each bit doubled.
fn replicate(value: u64) -> u64 {
    (0..32).fold(0, |all, bit| all | ((value >> bit & 1) * 3) << (bit * 2))
}

/// A bit for each four: whether any is set.
fn quads(value: u64) -> u64 {
    (0..16).fold(0, |all, quad| all | u64::from(value >> (quad * 4) & 15 != 0) << quad)
}

/// Four bits for each four: whether any is set.
fn whole_quads(value: u64) -> u64 {
    (0..16).fold(0, |all, quad| all | (u64::from(value >> (quad * 4) & 15 != 0) * 15) << (quad * 4))
}

fn leading_signs(value: i64, bits: u32) -> u64 {
    let flipped = (value ^ value >> 63).cast_unsigned();
    if flipped == 0 { u64::MAX } else { u64::from(flipped.leading_zeros() - (64 - bits)) }
}

fn overflows(sum: u64, a: u64, b: u64) -> bool {
    (a ^ sum) & (b ^ sum) & 0x8000_0000 != 0
}

scalars! {
    SMovB32 W32 R |a, _, _, _| r(a);
    SMovB64 W64 R |a, _, _, _| r(a);
    SCmovB32 W32 R |a, _, c, scc| r(if scc { a } else { c });
    SCmovB64 W64 R |a, _, c, scc| r(if scc { a } else { c });
    SNotB32 W32 RS |a, _, _, _| nz32(!a);
    SNotB64 W64 RS |a, _, _, _| nz(!a);
    SWqmB32 W32 RS |a, _, _, _| nz32(whole_quads(a));
    SWqmB64 W64 RS |a, _, _, _| nz(whole_quads(a));
    SQuadmaskB32 W32 RS |a, _, _, _| nz(quads(a));
    SQuadmaskB64 W64 RS |a, _, _, _| nz(quads(a));
    SBrevB32 W32 R |a, _, _, _| r(u64::from((a as u32).reverse_bits()));
    SBrevB64 W64 R |a, _, _, _| r(a.reverse_bits());
    SBcnt0I32B32 W32 RS |a, _, _, _| nz(u64::from((a as u32).count_zeros()));
    SBcnt0I32B64 NARROW RS |a, _, _, _| nz(u64::from(a.count_zeros()));
    SBcnt1I32B32 W32 RS |a, _, _, _| nz(u64::from((a as u32).count_ones()));
    SBcnt1I32B64 NARROW RS |a, _, _, _| nz(u64::from(a.count_ones()));
    SFf0I32B32 W32 R |a, _, _, _| r(if a as u32 == u32::MAX { u64::MAX } else { u64::from((a as u32).trailing_ones()) });
    SFf0I32B64 NARROW R |a, _, _, _| r(if a == u64::MAX { u64::MAX } else { u64::from(a.trailing_ones()) });
    SCtzI32B32 W32 R |a, _, _, _| r(if a == 0 { u64::MAX } else { u64::from(a.trailing_zeros()) });
    SCtzI32B64 NARROW R |a, _, _, _| r(if a == 0 { u64::MAX } else { u64::from(a.trailing_zeros()) });
    SClzI32U32 W32 R |a, _, _, _| r(if a == 0 { u64::MAX } else { u64::from(a.leading_zeros() - 32) });
    SClzI32U64 NARROW R |a, _, _, _| r(if a == 0 { u64::MAX } else { u64::from(a.leading_zeros()) });
    SClsI32 W32 R |a, _, _, _| r(leading_signs(i64::from(i(a)), 32));
    SClsI32I64 NARROW R |a, _, _, _| r(leading_signs(a.cast_signed(), 64));
    SSextI32I8 W32 R |a, _, _, _| r(u(i32::from(a as i8)));
    SSextI32I16 W32 R |a, _, _, _| r(u(i32::from(a as i16)));
    SBitset0B32 W32 R |a, _, c, _| r(c & !(1 << (a & 31)));
    SBitset1B32 W32 R |a, _, c, _| r(c | 1 << (a & 31));
    SBitset0B64 BITSET R |a, _, c, _| r(c & !(1 << (a & 63)));
    SBitset1B64 BITSET R |a, _, c, _| r(c | 1 << (a & 63));
    SBitreplicateB64B32 WIDENED R |a, _, _, _| r(replicate(a));
    SAbsI32 W32 RS |a, _, _, _| nz(u64::from(i(a).unsigned_abs()));
    SAddU32 W32 RS |a, b, _, _| (a + b, (a + b) >> 32 != 0);
    SSubU32 W32 RS |a, b, _, _| (a.wrapping_sub(b), b > a);
    SAddI32 W32 RS |a, b, _, _| (a + b, overflows(a + b, a, b));
    SSubI32 W32 RS |a, b, _, _| (a.wrapping_sub(b), overflows(a.wrapping_sub(b), a, !b));
    SAddcU32 W32 RS |a, b, _, scc| (a + b + u64::from(scc), (a + b + u64::from(scc)) >> 32 != 0);
    SSubbU32 W32 RS |a, b, _, scc| (a.wrapping_sub(b).wrapping_sub(u64::from(scc)), b + u64::from(scc) > a);
    SAddU64 W64 R |a, b, _, _| r(a.wrapping_add(b));
    SSubU64 W64 R |a, b, _, _| r(a.wrapping_sub(b));
    SMulU64 W64 R |a, b, _, _| r(a.wrapping_mul(b));
    SAbsdiffI32 W32 RS |a, b, _, _| nz(u64::from(i(a).wrapping_sub(i(b)).unsigned_abs()));
    SMinI32 W32 RS |a, b, _, _| (u(i(a).min(i(b))), i(a) < i(b));
    SMinU32 W32 RS |a, b, _, _| (a.min(b), a < b);
    SMaxI32 W32 RS |a, b, _, _| (u(i(a).max(i(b))), i(a) >= i(b));
    SMaxU32 W32 RS |a, b, _, _| (a.max(b), a >= b);
    SCselectB32 W32 R |a, b, _, scc| r(if scc { a } else { b });
    SCselectB64 W64 R |a, b, _, scc| r(if scc { a } else { b });
    SAndB32 W32 RS |a, b, _, _| nz32(a & b);
    SAndB64 W64 RS |a, b, _, _| nz(a & b);
    SOrB32 W32 RS |a, b, _, _| nz32(a | b);
    SOrB64 W64 RS |a, b, _, _| nz(a | b);
    SXorB32 W32 RS |a, b, _, _| nz32(a ^ b);
    SXorB64 W64 RS |a, b, _, _| nz(a ^ b);
    SAndn2B32 W32 RS |a, b, _, _| nz32(a & !b);
    SAndn2B64 W64 RS |a, b, _, _| nz(a & !b);
    SOrn2B32 W32 RS |a, b, _, _| nz32(a | !b);
    SOrn2B64 W64 RS |a, b, _, _| nz(a | !b);
    SNandB32 W32 RS |a, b, _, _| nz32(!(a & b));
    SNandB64 W64 RS |a, b, _, _| nz(!(a & b));
    SNorB32 W32 RS |a, b, _, _| nz32(!(a | b));
    SNorB64 W64 RS |a, b, _, _| nz(!(a | b));
    SXnorB32 W32 RS |a, b, _, _| nz32(!(a ^ b));
    SXnorB64 W64 RS |a, b, _, _| nz(!(a ^ b));
    SLshlB32 W32 RS |a, b, _, _| nz32(a << (b & 31));
    SLshlB64 SHIFT RS |a, b, _, _| nz(a << (b & 63));
    SLshrB32 W32 RS |a, b, _, _| nz(a >> (b & 31));
    SLshrB64 SHIFT RS |a, b, _, _| nz(a >> (b & 63));
    SAshrI32 W32 RS |a, b, _, _| nz(u(i(a) >> (b & 31)));
    SAshrI64 SHIFT RS |a, b, _, _| nz((a.cast_signed() >> (b & 63)).cast_unsigned());
    SBfmB32 W32 R |a, b, _, _| r(ones(a, b, 32));
    SBfmB64 WIDENED R |a, b, _, _| r(ones(a, b, 64));
    SBfeU32 W32 RS |a, b, _, _| nz(field(a, b, 32).0);
    SBfeI32 W32 RS |a, b, _, _| nz32(signed_field(a, b, 32));
    SBfeU64 SHIFT RS |a, b, _, _| nz(field(a, b, 64).0);
    SBfeI64 SHIFT RS |a, b, _, _| nz(signed_field(a, b, 64));
    SMulI32 W32 R |a, b, _, _| r(a.wrapping_mul(b));
    SMulHiU32 W32 R |a, b, _, _| r((a * b) >> 32);
    SMulHiI32 W32 R |a, b, _, _| r(((i64::from(i(a)) * i64::from(i(b))) >> 32).cast_unsigned());
    SLshl1AddU32 W32 RS |a, b, _, _| ((a << 1) + b, (a << 1) + b > 0xffff_ffff);
    SLshl2AddU32 W32 RS |a, b, _, _| ((a << 2) + b, (a << 2) + b > 0xffff_ffff);
    SLshl3AddU32 W32 RS |a, b, _, _| ((a << 3) + b, (a << 3) + b > 0xffff_ffff);
    SLshl4AddU32 W32 RS |a, b, _, _| ((a << 4) + b, (a << 4) + b > 0xffff_ffff);
    SPackLlB32B16 W32 R |a, b, _, _| r(a & 0xffff | b << 16);
    SPackLhB32B16 W32 R |a, b, _, _| r(a & 0xffff | b & 0xffff_0000);
    SPackHhB32B16 W32 R |a, b, _, _| r(a >> 16 | b & 0xffff_0000);
    SPackHlB32B16 W32 R |a, b, _, _| r(a >> 16 | b << 16);
    SCmpEqI32 W32 S |a, b, _, _| scc(a == b);
    SCmpLgI32 W32 S |a, b, _, _| scc(a != b);
    SCmpGtI32 W32 S |a, b, _, _| scc(i(a) > i(b));
    SCmpGeI32 W32 S |a, b, _, _| scc(i(a) >= i(b));
    SCmpLtI32 W32 S |a, b, _, _| scc(i(a) < i(b));
    SCmpLeI32 W32 S |a, b, _, _| scc(i(a) <= i(b));
    SCmpEqU32 W32 S |a, b, _, _| scc(a == b);
    SCmpLgU32 W32 S |a, b, _, _| scc(a != b);
    SCmpGtU32 W32 S |a, b, _, _| scc(a > b);
    SCmpGeU32 W32 S |a, b, _, _| scc(a >= b);
    SCmpLtU32 W32 S |a, b, _, _| scc(a < b);
    SCmpLeU32 W32 S |a, b, _, _| scc(a <= b);
    SCmpEqU64 W64 S |a, b, _, _| scc(a == b);
    SCmpLgU64 W64 S |a, b, _, _| scc(a != b);
    SBitcmp0B32 W32 S |a, b, _, _| scc(a >> (b & 31) & 1 == 0);
    SBitcmp1B32 W32 S |a, b, _, _| scc(a >> (b & 31) & 1 == 1);
    SBitcmp0B64 SHIFT S |a, b, _, _| scc(a >> (b & 63) & 1 == 0);
    SBitcmp1B64 SHIFT S |a, b, _, _| scc(a >> (b & 63) & 1 == 1);
}

/// A bit of 64: its number is of 32.
const BITSET: [bool; 4] = [true, false, false, true];

/// `d = EXEC; EXEC = f(a, EXEC)`, and the like.
fn save_exec<const C: usize, const N: u8, const BITS: u32>(
    wave: &mut Wave<C>,
    _: &mut Context<'_>,
    step: &Step<C>,
) {
    let all = if BITS == 32 { Wave::<C>::ALL & 0xffff_ffff } else { Wave::<C>::ALL };
    let (value, exec) = (wave.lane_mask(step.a) & all, wave.exec() & all);
    let new = all
        & match N % 16 {
            0 => value & exec,
            1 => value | exec,
            2 => value ^ exec,
            3 => !(value & exec),
            4 => !(value | exec),
            5 => !(value ^ exec),
            // n1 inverts EXEC's partner, n2 EXEC itself, in AMD's order of operands.
            6 => !value & exec,
            7 => value & !exec,
            8 => !value | exec,
            _ => value | !exec,
        };
    let writes_result = N >= 16;
    let saved = if writes_result { new } else { exec };
    if BITS == 32 {
        wave.s[usize::from(step.d)] = saved as u32;
        wave.s[usize::from(scalar::EXEC)] = new as u32;
    } else {
        wave.set_lane_mask(step.d, saved);
        wave.set_lane_mask(scalar::EXEC, new);
    }
    wave.scc = new != 0;
    wave.sync_exec();
}

/// The last register of the part of the file that a register is in: what is indexed stays in it.
fn last_of(register: u16) -> u32 {
    match register {
        0..scalar::TTMP => u32::from(scalar::TTMP) - 1,
        _ => u32::from(scalar::M0) - 1,
    }
}

/// The register so many behind another, of `count` registers.
fn relative(first: u16, index: u32, count: u16) -> Option<u16> {
    let at = u32::from(first).checked_add(index)?;
    (at + u32::from(count) - 1 <= last_of(first)).then_some(at as u16)
}

/// `e` registers from `a` on to `d`; `k` says by what each is moved: 1 the source by M0, 2 the destination, 3 both by its
/// halves. A source that is not there is the first register, a destination that is not there is not written.
pub(crate) fn move_relative<const C: usize>(
    wave: &mut Wave<C>,
    _: &mut Context<'_>,
    step: &Step<C>,
) {
    let m0 = wave.s[usize::from(scalar::M0)];
    let (from, to) = match step.k {
        1 => (m0, 0),
        2 => (0, m0),
        _ => (m0 & 0x3ff, m0 >> 16 & 0x3ff),
    };
    let is_indexed = |bit: u64| step.k & bit != 0;
    let from = match is_indexed(1) {
        true => relative(step.a, from, step.e).unwrap_or(0),
        false => step.a,
    };
    let to = if is_indexed(2) { relative(step.d, to, step.e) } else { Some(step.d) };
    let Some(to) = to else { return };
    let values = [0, 1].map(|at| wave.s[usize::from(from) + at]);
    for (at, value) in (0..step.e).zip(values) {
        wave.s[usize::from(to + at)] = value;
    }
}

/// Those that also change EXEC: all of it, or its lower half. In waves of 32 lanes there is no other.
fn exec<const C: usize>(op: Op) -> Option<Handler<C>> {
    macro_rules! saves {
        ($($narrow:ident $wide:ident $number:expr;)*) => {
            match op {
                $(Op::$narrow => save_exec::<C, { $number }, 32>,
                Op::$wide => save_exec::<C, { $number }, 64>,)*
                _ => return None,
            }
        };
    }
    Some(saves! {
        SAndSaveexecB32 SAndSaveexecB64 0;
        SOrSaveexecB32 SOrSaveexecB64 1;
        SXorSaveexecB32 SXorSaveexecB64 2;
        SNandSaveexecB32 SNandSaveexecB64 3;
        SNorSaveexecB32 SNorSaveexecB64 4;
        SXnorSaveexecB32 SXnorSaveexecB64 5;
        SAndn1SaveexecB32 SAndn1SaveexecB64 6;
        SAndn2SaveexecB32 SAndn2SaveexecB64 7;
        SOrn1SaveexecB32 SOrn1SaveexecB64 8;
        SOrn2SaveexecB32 SOrn2SaveexecB64 9;
        SAndn1WrexecB32 SAndn1WrexecB64 16 + 6;
        SAndn2WrexecB32 SAndn2WrexecB64 16 + 7;
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run<O: Scalar>(a: u64, b: u64) -> (u64, bool) {
        let (result, scc) = O::f(a, b, 0, false);
        (if O::WIDE[0] { result } else { result & 0xffff_ffff }, scc)
    }

    #[test]
    fn sums_say_carry_or_overflow() {
        assert_eq!(run::<SAddU32>(0xffff_ffff, 1), (0, true));
        assert_eq!(run::<SAddI32>(0x7fff_ffff, 1), (0x8000_0000, true));
        assert_eq!(run::<SAddI32>(0xffff_ffff, 1), (0, false));
        assert_eq!(run::<SSubI32>(0x8000_0000, 1), (0x7fff_ffff, true));
        assert_eq!(run::<SSubU32>(0, 1), (0xffff_ffff, true));
        assert_eq!(SSubbU32::f(5, 5, 0, true), (u64::MAX, true));
    }

    #[test]
    fn fields_are_cut_out() {
        assert_eq!(run::<SBfeU32>(0xabcd_1234, 8 << 16 | 8), (0x12, true));
        assert_eq!(run::<SBfeI32>(0x0000_8000, 8 << 16 | 8), (0xffff_ff80, true));
        assert_eq!(run::<SBfeI64>(1 << 63, 1 << 16 | 63), (u64::MAX, true));
        assert_eq!(run::<SBfeU64>(u64::MAX, 64 << 16), (u64::MAX, true));
        assert_eq!(run::<SBfmB32>(4, 8), (0xf00, false));
    }

    #[test]
    fn bits_are_counted_and_found() {
        assert_eq!(run::<SClzI32U32>(1, 0).0, 31);
        assert_eq!(run::<SClzI32U32>(0, 0).0, 0xffff_ffff);
        assert_eq!(run::<SClsI32>(0xffff_fff0, 0).0, 28);
        assert_eq!(run::<SFf0I32B32>(0b0111, 0).0, 3);
        assert_eq!(run::<SBitreplicateB64B32>(0b101, 0).0, 0b11_00_11);
        assert_eq!(run::<SQuadmaskB32>(0x0010_0003, 0), (0b10_0001, true));
        assert_eq!(run::<SWqmB32>(0x10, 0).0, 0xf0);
    }
}
