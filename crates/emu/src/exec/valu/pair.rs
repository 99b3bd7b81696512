//! Integers of 64 bits whose halves are computed by themselves.

use super::{MapPair, Pair};
use crate::exec::wide_handler;
use crate::generated::Op;
use crate::step::{Handler, Host};

fn add([low, high]: [u32; 2], [of_low, of_high]: [u32; 2]) -> [u32; 2] {
    let sum = low.wrapping_add(of_low);
    [sum, high.wrapping_add(of_high).wrapping_add((sum < low).into())]
}

fn sub([low, high]: [u32; 2], [of_low, of_high]: [u32; 2]) -> [u32; 2] {
    let borrows = low < of_low;
    [low.wrapping_sub(of_low), high.wrapping_sub(of_high).wrapping_sub(borrows.into())]
}

/// Shifted by less than 32 bits.
fn shl([low, high]: [u32; 2], count: u32) -> [u32; 2] {
    [low << count, high << count | low >> 1 >> (31 - count)]
}

/// `Operation [a, b, c wide] |a, b, c| expression`.
macro_rules! pairs {
    ($($op:ident $wide:expr, |$a:pat_param, $b:pat_param, $c:pat_param| $body:expr;)*) => {
        $(
            struct $op;
            impl Pair for $op {
                const WIDE: [bool; 3] = $wide;
                #[inline(always)]
                fn f($a: [u32; 2], $b: [u32; 2], $c: [u32; 2]) -> [u32; 2] { $body }
            }
        )*

        pub(super) fn find<const C: usize>(op: Op, host: Host) -> Option<Handler<C>> {
            Some(match op {
                $(Op::$op => wide_handler::<C, MapPair<$op>>(host),)*
                _ => return None,
            })
        }
    };
}

pairs! {
    VMovB64 [true; 3], |a, _, _| a;
    VAddU64 [true; 3], |a, b, _| add(a, b);
    VSubU64 [true; 3], |a, b, _| sub(a, b);
    VLshlAddU64 [true, false, true], |a, b, c| add(shl(a, b[0] & 7), c);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(value: u64) -> [u32; 2] {
        [value as u32, (value >> 32) as u32]
    }

    #[test]
    fn halves_are_what_all_64_bits_have() {
        let numbers =
            [0, 1, 0xffff_ffff, 0x1_0000_0000, 0x8000_0000_8000_0000, u64::MAX - 1, u64::MAX];
        for x in numbers {
            for y in numbers {
                assert_eq!(add(pair(x), pair(y)), pair(x.wrapping_add(y)));
                assert_eq!(sub(pair(x), pair(y)), pair(x.wrapping_sub(y)));
            }
            for count in 0..8 {
                assert_eq!(shl(pair(x), count), pair(x << count));
            }
        }
    }
}
