//! Any function of three bits, by its table of eight.

use crate::generated::Op;
use crate::step::{Context, Handler, Step};
use crate::wave::{Vector, Wave};

/// `d =` the bits of the table `k` that `a` (bit 2), `b` (bit 1) and `c` (bit 0) number.
fn table(k: u64, a: u32, b: u32, c: u32) -> u32 {
    let mut result = 0;
    for number in (0..8).filter(|number| k >> number & 1 == 1) {
        let term = |bits: u32, bit: u32| if number >> bit & 1 == 1 { bits } else { !bits };
        result |= term(a, 2) & term(b, 1) & term(c, 0);
    }
    result
}

fn bits<const C: usize, const MASK: u32>(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
    let mut result = Vector::ZERO;
    for at in 0..C {
        for lane in 0..8 {
            let value = |register: u16| wave.v[usize::from(register)].0[at][lane];
            let bits = table(step.k, value(step.a), value(step.b), value(step.c));
            result.0[at][lane] = bits & MASK;
        }
    }
    wave.write(step.d, &result);
}

pub(crate) fn find<const C: usize>(op: Op) -> Option<Handler<C>> {
    Some(match op {
        Op::VBitop3B32 | Op::VBitop2B32 => bits::<C, { u32::MAX }>,
        Op::VBitop3B16 => bits::<C, 0xffff>,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_number_bits_from_the_first_operand_down() {
        let (a, b, c) = (0xf0, 0xcc, 0xaa);
        assert_eq!(table(0xf0, a, b, c) & 0xff, a);
        assert_eq!(table(0xcc, a, b, c) & 0xff, b);
        assert_eq!(table(0xaa, a, b, c) & 0xff, c);
        assert_eq!(table(0x96, a, b, c) & 0xff, 0x96);
    }
}
