//! Operations that read or write lane masks besides registers: carries, selections.

use super::super::{Body, all_ones_if, blend, handler, lane_mask};
use crate::generated::Op;
use crate::step::{Context, Handler, Host, Step};
use crate::wave::{Wave, lanes};

/// `d, mask e = a + b + mask c` and the like; the carry goes out to the scalar register `e`, comes in from `c`.
/// With `k` set, a result that does not fit is the limit.
trait Carry {
    const CARRIES_IN: bool;
    const LIMIT: u32;
    fn f(a: u32, b: u32, carry: bool) -> (u32, bool);
}

struct Carried<O>(std::marker::PhantomData<O>);

impl<const C: usize, O: Carry> Body<C> for Carried<O> {
    #[inline(always)]
    fn run(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
        let carries = if O::CARRIES_IN { wave.lane_mask(step.c) } else { 0 };
        let (d, a, b) = (usize::from(step.d), usize::from(step.a), usize::from(step.b));
        let file = wave.v.as_mut_slice();
        if d.max(a).max(b) >= file.len() {
            return;
        }
        let clamps = all_ones_if(step.k != 0);
        let mut columns = [0; 8];
        for at in 0..C {
            let (x, y) = (file[a].0[at], file[b].0[at]);
            let bits = (carries >> (at * 8)) as u32;
            let mut result = [0; 8];
            for lane in 0..8 {
                let (value, carry) = O::f(x[lane], y[lane], bits & 1 << lane != 0);
                columns[lane] |= all_ones_if(carry) & 1 << at;
                let is_limit = all_ones_if(carry) & clamps;
                result[lane] = value & !is_limit | O::LIMIT & is_limit;
            }
            if wave.full {
                file[d].0[at] = result;
            } else {
                blend(&mut file[d].0[at], &result, &wave.mask.0[at]);
            }
        }
        wave.set_lane_mask(step.e, lane_mask(columns) & wave.active);
    }
}

macro_rules! carries {
    ($($op:ident $carries_in:literal $limit:literal |$a:pat_param, $b:pat_param, $c:pat_param| $body:expr;)*) => {
        $(
            struct $op;
            impl Carry for $op {
                const CARRIES_IN: bool = $carries_in;
                const LIMIT: u32 = $limit;
                #[inline(always)]
                fn f($a: u32, $b: u32, $c: bool) -> (u32, bool) { $body }
            }
        )*

        pub(crate) fn find<const C: usize>(op: Op, host: Host) -> Option<Handler<C>> {
            Some(match op {
                $(Op::$op => handler::<C, Carried<$op>>(host),)*
                Op::VMadU64U32 => mad_u64_u32::<C>,
                Op::VMadI64I32 => mad_i64_i32::<C>,
                Op::VCndmaskB32 | Op::VCndmaskB16 => handler::<C, Select>(host),
                _ => return None,
            })
        }
    };
}

/// Whether `clamp` of an operation is its `k`.
pub(crate) fn clamps(op: Op) -> bool {
    use Op::{VAddCoCiU32, VAddCoU32, VSubCoCiU32, VSubCoU32, VSubrevCoCiU32, VSubrevCoU32};
    matches!(op, VAddCoU32 | VSubCoU32 | VSubrevCoU32 | VAddCoCiU32 | VSubCoCiU32 | VSubrevCoCiU32)
}

fn add(a: u32, b: u32, carry: bool) -> (u32, bool) {
    let (sum, first) = a.overflowing_add(b);
    let (sum, second) = sum.overflowing_add(u32::from(carry));
    (sum, first | second)
}

fn sub(a: u32, b: u32, borrow: bool) -> (u32, bool) {
    let (rest, first) = a.overflowing_sub(b);
    let (rest, second) = rest.overflowing_sub(u32::from(borrow));
    (rest, first | second)
}

carries! {
    VAddCoU32 false 0xffff_ffff |a, b, _| a.overflowing_add(b);
    VSubCoU32 false 0 |a, b, _| a.overflowing_sub(b);
    VSubrevCoU32 false 0 |a, b, _| b.overflowing_sub(a);
    VAddCoCiU32 true 0xffff_ffff |a, b, carry| add(a, b, carry);
    VSubCoCiU32 true 0 |a, b, carry| sub(a, b, carry);
    VSubrevCoCiU32 true 0 |a, b, carry| sub(b, a, carry);
}

/// `d = mask c ? b : a`.
struct Select;

impl<const C: usize> Body<C> for Select {
    #[inline(always)]
    fn run(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
        let mask = wave.lane_mask(step.c);
        let [d, a, b] = [step.d, step.a, step.b].map(usize::from);
        let file = wave.v.as_mut_slice();
        if d.max(a).max(b) >= file.len() {
            return;
        }
        for at in 0..C {
            let (x, y, old) = (file[a].0[at], file[b].0[at], file[d].0[at]);
            let bits = (mask >> (at * 8)) as u32;
            let active = if wave.full { [u32::MAX; 8] } else { wave.mask.0[at] };
            let mut result = [0; 8];
            for lane in 0..8 {
                let selected = if bits & 1 << lane != 0 { y[lane] } else { x[lane] };
                result[lane] = selected & active[lane] | old[lane] & !active[lane];
            }
            file[d].0[at] = result;
        }
    }
}

fn mad_u64_u32<const C: usize>(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
    mad(wave, step, |a, b, c| {
        let (sum, carry) = (u64::from(a) * u64::from(b)).overflowing_add(c);
        (sum, carry)
    });
}

fn mad_i64_i32<const C: usize>(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
    mad(wave, step, |a, b, c| {
        let product = i64::from(a.cast_signed()) * i64::from(b.cast_signed());
        // The carry is the 65th bit of the exact sum.
        let sum = i128::from(product) + i128::from(c.cast_signed());
        (sum as u64, sum < 0)
    });
}

/// A product of two registers and a sum of two, with the carry to the scalar register `e`.
#[inline(always)]
fn mad<const C: usize>(
    wave: &mut Wave<C>,
    step: &Step<C>,
    function: impl Fn(u32, u32, u64) -> (u64, bool),
) {
    let mut carries = 0_u64;
    for lane in lanes(wave.active) {
        let value = |register: u16| wave.v[usize::from(register)].lane(lane);
        let c = u64::from(value(step.c)) | u64::from(value(step.c + 1)) << 32;
        let (sum, carry) = function(value(step.a), value(step.b), c);
        wave.v[usize::from(step.d)].set_lane(lane, sum as u32);
        wave.v[usize::from(step.d) + 1].set_lane(lane, (sum >> 32) as u32);
        carries |= u64::from(carry) << lane;
    }
    wave.set_lane_mask(step.e, carries);
}
