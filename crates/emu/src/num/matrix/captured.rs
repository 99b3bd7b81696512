//! RDNA3 and RDNA4, as captures of gfx1100 and gfx1201 show them (rocm-systems issue 12056): terms on a grid, added as
//! integers, rounded once for each step.

use super::super::float::{Exact, round};
use super::super::{BF16, Denorm, Env, F16, F32, Format, convert};
use super::element::Infinities;
use super::{Accumulator, Class, FRACTION, Factor};

/// Which unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Captured {
    /// Two products for each step; what differs from C in sign is one too small.
    Gfx11,
    /// So many products for each step, of which some are aligned and added before the others.
    Gfx12 {
        /// Products of a step.
        step: usize,
        /// Products that are added first.
        together: usize,
    },
}

/// What comes out where a factor is a NaN.
const FACTOR_NAN: u32 = 0xffc0_0a3d;
const NO_EXPONENT: i32 = -1024;
/// Bits below the leading one that C and the largest products keep.
const KEPT: i32 = 26;
/// Bits below the largest sum of exponents that products keep.
const CUT: i32 = 24;

/// Products of a step at most.
const MOST: usize = 4;

/// `significand * 2^exponent`.
#[derive(Clone, Copy, Debug)]
struct Term {
    significand: u64,
    exponent: i32,
    negative: bool,
}

impl Term {
    fn leading(&self) -> i32 {
        match self.significand {
            0 => NO_EXPONENT,
            bits => 63 - bits.leading_zeros() as i32 + self.exponent,
        }
    }

    /// The magnitude on a grid, and whether bits were cut off.
    fn cut(&self, grid: i32) -> (i64, bool) {
        let shift = grid - self.exponent;
        match shift {
            _ if self.significand == 0 => (0, false),
            ..=0 => ((self.significand << -shift) as i64, false),
            1..=63 => {
                let kept = self.significand >> shift;
                (kept as i64, kept << shift != self.significand)
            }
            _ => (0, true),
        }
    }

    /// Its floor on a grid.
    fn floored(&self, grid: i32) -> i64 {
        let (kept, is_cut) = self.cut(grid);
        if self.negative { -kept - i64::from(is_cut) } else { kept }
    }
}

/// A product, and the grid that it asks for.
#[derive(Clone, Copy, Debug)]
struct Product {
    term: Term,
    grid: i32,
}

impl Product {
    const NONE: Self =
        Self { term: Term { significand: 0, exponent: 0, negative: false }, grid: NO_EXPONENT };
}

fn product(a: Factor, b: Factor) -> Product {
    let significand = u64::from(a.significand) * u64::from(b.significand);
    let exponent = a.exponent + b.exponent;
    let negative = a.negative != b.negative;
    let grid = if significand == 0 { NO_EXPONENT } else { exponent - CUT };
    let term = Term { significand, exponent: exponent - 2 * FRACTION as i32, negative };
    Product { term, grid }
}

impl Captured {
    /// `c` and all products, step after step.
    pub(super) fn dot(self, a: &[Factor], b: &[Factor], c: u32, to: Accumulator) -> u32 {
        let step = match self {
            Self::Gfx11 => 2,
            Self::Gfx12 { step, .. } => step,
        };
        a.chunks(step).zip(b.chunks(step)).fold(c, |c, (a, b)| self.step(a, b, c, to))
    }

    fn step(self, a: &[Factor], b: &[Factor], c: u32, to: Accumulator) -> u32 {
        let c = widened(c, to);
        let invalid = match self {
            Self::Gfx12 { together: 4, .. } => FACTOR_NAN,
            _ => F32::INVALID as u32,
        };
        if let Some(bits) = special(a, b, c, invalid) {
            return narrowed_special(bits, to);
        }
        let mut all = [Product::NONE; MOST];
        for (to, (a, b)) in all.iter_mut().zip(a.iter().zip(b)) {
            *to = product(*a, *b);
        }
        let products = all.get(..a.len()).unwrap_or(&all);
        match self {
            Self::Gfx11 => gfx11(products, c, to),
            Self::Gfx12 { together, .. } => gfx12(products, together, c, to),
        }
    }
}

/// C as a term; subnormal numbers are zero unless they are kept.
fn term_of(c: u32, keeps_subnormal: bool) -> Term {
    let field = (c >> 23 & 0xff) as i32;
    let fraction = u64::from(c & 0x7f_ffff);
    let significand = match field {
        0 if keeps_subnormal => fraction,
        0 => 0,
        _ => fraction | 1 << 23,
    };
    Term { significand, exponent: field.max(1) - 127 - 23, negative: c >> 31 == 1 }
}

fn gfx11(products: &[Product], c: u32, to: Accumulator) -> u32 {
    let c = term_of(c, false);
    if c.significand == 0 && products.iter().all(|it| it.term.significand == 0) {
        return 0;
    }
    let lowest_c = if matches!(to, Accumulator::F16 { .. }) { -14 } else { NO_EXPONENT };
    let leading = products.iter().map(|it| it.term.leading()).max().unwrap_or(NO_EXPONENT);
    let leading = leading.max(c.leading().max(lowest_c));
    let of_products = products.iter().map(|it| it.grid).max().unwrap_or(NO_EXPONENT);
    let grid = of_products.max(leading - KEPT);
    // In a frame where C is positive, negative terms are the complement of their magnitude.
    let framed = |term: &Term| {
        let (kept, _) = term.cut(grid);
        if term.negative == c.negative { kept } else { !kept }
    };
    let total = products.iter().fold(framed(&c), |sum, it| sum + framed(&it.term));
    let denorm = Denorm::FLUSH;
    rounded(total, grid, c.negative, denorm, to)
}

fn gfx12(products: &[Product], together: usize, c: u32, to: Accumulator) -> u32 {
    let c = term_of(c, true);
    let lowest_c = if matches!(to, Accumulator::F16 { .. }) { -14 } else { -126 };
    let of_products = products.iter().map(|it| it.grid).max().unwrap_or(NO_EXPONENT);
    let grid = of_products.max(c.leading().max(lowest_c) - KEPT);
    // A negative C that is below a coarse grid is lost, not floored.
    let is_lost = grid > lowest_c && c.cut(grid).0 == 0;
    let of_c = if is_lost { 0 } else { c.floored(grid) };
    let of_groups = products.chunks(together).map(|group| {
        let finer = group.iter().map(|it| it.grid).max().unwrap_or(NO_EXPONENT);
        let sum: i64 = group.iter().map(|it| it.term.floored(finer)).sum();
        Term { significand: sum.unsigned_abs(), exponent: finer, negative: sum < 0 }.floored(grid)
    });
    let total = of_groups.fold(of_c, |sum, it| sum + it);
    rounded(total, grid, false, Denorm::KEEP, to)
}

/// The sum in the accumulator's format. bf16 is the upper half of an f32, cut.
fn rounded(units: i64, grid: i32, is_flipped: bool, denorm: Denorm, to: Accumulator) -> u32 {
    let value = Exact {
        negative: (units < 0) != is_flipped,
        significand: units.unsigned_abs().into(),
        exponent: grid,
    };
    let bits = match to {
        Accumulator::F16 { saturate } => {
            // Halves keep subnormal numbers on every device.
            round::<F16>(value, Env { saturate, ..Env::IEEE }) as u32
        }
        _ => round::<F32>(value, Env { denorm, ..Env::IEEE }) as u32,
    };
    // Zeros are positive.
    match to {
        Accumulator::F16 { .. } if bits & 0x7fff == 0 => 0,
        Accumulator::F16 { .. } => bits,
        _ if bits & 0x7fff_ffff == 0 => 0,
        Accumulator::F32 => bits,
        Accumulator::Bf16 => bits >> 16,
    }
}

/// NaNs and infinities: NaNs of factors first, then invalid products, then C's NaN.
fn special(a: &[Factor], b: &[Factor], c: u32, invalid: u32) -> Option<u32> {
    let is_zero = |it: &Factor| it.class == Class::Finite && it.significand == 0;
    let mut infinities = Infinities::default();
    let mut is_invalid = false;
    for (x, y) in a.iter().zip(b) {
        if x.class == Class::Nan || y.class == Class::Nan {
            return Some(FACTOR_NAN);
        }
        if x.class == Class::Infinite || y.class == Class::Infinite {
            is_invalid |= is_zero(x) || is_zero(y);
            infinities.add(x.negative != y.negative);
        }
    }
    if is_invalid || infinities.are_opposed() {
        return Some(invalid);
    }
    let infinity = F32::INFINITY as u32;
    match c & 0x7fff_ffff {
        magnitude if magnitude > infinity => return Some(c | F32::QUIET as u32),
        magnitude if magnitude == infinity => infinities.add(c >> 31 == 1),
        _ => {}
    }
    infinities.sum(invalid)
}

/// The accumulator as an f32, without quieting NaNs.
fn widened(c: u32, from: Accumulator) -> u32 {
    let keeps = Env { quiet: false, ..Env::IEEE };
    match from {
        Accumulator::F32 => c,
        Accumulator::Bf16 => convert::<BF16, F32>(c as u16, keeps, keeps),
        Accumulator::F16 { .. } => convert::<F16, F32>(c as u16, keeps, keeps),
    }
}

fn narrowed_special(bits: u32, to: Accumulator) -> u32 {
    match (to, bits) {
        (Accumulator::F32, _) => bits,
        (Accumulator::Bf16, FACTOR_NAN) => 0xfffd,
        (Accumulator::F16 { .. }, FACTOR_NAN) => 0xfe3d,
        (Accumulator::Bf16, _) => bits >> 16,
        (Accumulator::F16 { .. }, _) => bits >> 16 & 0x8000 | 0x7c00 | bits >> 13 & 0x3ff,
    }
}
