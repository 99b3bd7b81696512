//! CDNA3's products of 16-bit floats on the host's vectors, eight columns at a time: bit-equal to
//! [`crate::num::matrix::Aligned`], and only where every number is finite and in the range that f32 holds exactly.

use std::arch::x86_64::*;

use super::{Multiply, addends, gather, scatter};
use crate::exec::Body;
use crate::exec::avx2::{lanes, vector};
use crate::matrix::{Arithmetic, Matrix};
use crate::num::matrix::{Aligned, Element, Model, Shape, finish_aligned};
use crate::step::{Context, Step};
use crate::wave::{Vector, Wave};

/// The exponent of a zero: below that of any product.
const NO_EXPONENT: i32 = -4096;
/// Products of such exponents are normal numbers of f32, whatever their significands are.
const EXPONENTS: std::ops::Range<i32> = -100..126;

/// Any matrix operation; those that it is made for are quick.
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn multiply<const C: usize>(
    wave: &mut Wave<C>,
    context: &mut Context<'_>,
    step: &Step<C>,
) {
    let Wave { v: file, matrices, .. } = wave;
    let matrix = &matrices[step.k as usize];
    let is_done =
        !matrix.needs_all_lanes && model(matrix).is_some_and(|it| quick(file, matrix, it));
    if !is_done {
        Multiply::run(wave, context, step);
    }
}

/// The model of an operation that can be quick.
fn model(matrix: &Matrix) -> Option<Aligned> {
    match matrix.arithmetic {
        Arithmetic::Factors { model: Model::Aligned(model), flushes: false, .. }
            if !model.is_split
                && matrix.indices.is_none()
                && matrix.shape.m.is_multiple_of(8)
                && matches!(matrix.shape.n, 16 | 32) =>
        {
            Some(model)
        }
        _ => None,
    }
}

/// Says whether the numbers were such that it could be done.
#[inline]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
fn quick<const C: usize>(file: &mut [Vector<C>], matrix: &Matrix, model: Aligned) -> bool {
    let Shape { m, n, k } = matrix.shape;
    let a = Factors::new(&gather(file, &matrix.a.0), matrix.a.1);
    let b = Factors::new(&gather(file, &matrix.b.0), matrix.b.1);
    let (Some(a), Some(b)) = (a, b) else { return false };
    if a.largest + b.largest >= EXPONENTS.end || a.smallest + b.smallest < EXPONENTS.start {
        return false;
    }
    let mut acc = addends(file, matrix);
    let special = acc.iter().fold(0, |all, it| all.max(it & 0x7f80_0000));
    if special == 0x7f80_0000 {
        return false;
    }
    for block in 0..matrix.blocks {
        let a = a.by_rows(block, m, k);
        let b = &b.eights[block * k * n / 8..][..k * n / 8];
        let sums = &mut acc[block * m * n..][..m * n];
        match n {
            32 => multiply_block::<4>(model.group, k, &a, b, sums),
            _ => multiply_block::<2>(model.group, k, &a, b, sums),
        }
    }
    scatter(file, &matrix.d, &acc, matrix.narrows);
    true
}

/// An element as f32, and its exponent as alignment has it; or those of eight columns.
#[derive(Clone, Copy)]
struct Factor<T> {
    number: T,
    exponent: T,
}

/// The factors of a matrix, or of several, and the range of their exponents.
struct Factors {
    eights: Vec<Factor<[u32; 8]>>,
    largest: i32,
    /// Of those that are not zero.
    smallest: i32,
}

impl Factors {
    /// Elements of a format that is laid out as IEEE 754 says, if all of them are finite.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn new(elements: &[u32], element: Element) -> Option<Self> {
        match element {
            Element::F16 => Self::ieee::<5, 10, 0>(elements),
            Element::Bf16 => Self::ieee::<8, 7, 0>(elements),
            Element::Xf32 => Self::ieee::<8, 10, 13>(elements),
            _ => None,
        }
    }

    /// `E` bits of exponent and `M` of mantissa, above `S` bits that do not count.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn ieee<const E: i32, const M: i32, const S: i32>(elements: &[u32]) -> Option<Self> {
        let (none, above) = (_mm256_set1_epi32(NO_EXPONENT), _mm256_set1_epi32(-NO_EXPONENT));
        let (mut largest, mut smallest) = (none, above);
        let last = _mm256_set1_epi32((1 << E) - 1);
        let mut special = _mm256_setzero_si256();
        let mut eights = vec![Factor { number: [0; 8], exponent: [0; 8] }; elements.len() / 8];
        for (elements, eight) in elements.as_chunks::<8>().0.iter().zip(&mut eights) {
            let bits = _mm256_srl_epi32(vector(elements), _mm_cvtsi32_si128(S));
            let magnitude = _mm256_and_si256(bits, _mm256_set1_epi32((1 << (E + M)) - 1));
            let field = _mm256_srl_epi32(magnitude, _mm_cvtsi32_si128(M));
            special = _mm256_or_si256(special, _mm256_cmpeq_epi32(field, last));
            let bias = _mm256_set1_epi32((1 << (E - 1)) - 1);
            let normal = _mm256_max_epi32(field, _mm256_set1_epi32(1));
            let exponent = _mm256_sub_epi32(normal, bias);
            let is_zero = _mm256_cmpeq_epi32(magnitude, _mm256_setzero_si256());
            let or_none = _mm256_blendv_epi8(exponent, none, is_zero);
            let or_above = _mm256_blendv_epi8(exponent, above, is_zero);
            largest = _mm256_max_epi32(largest, or_none);
            smallest = _mm256_min_epi32(smallest, or_above);
            let number = single::<E, M>(bits, magnitude);
            *eight = Factor { number: lanes(number), exponent: lanes(or_none) };
        }
        let (largest, smallest) = (lanes(largest), lanes(smallest));
        let largest = largest.iter().map(|it| it.cast_signed()).max()?;
        let smallest = smallest.iter().map(|it| it.cast_signed()).min()?;
        let is_finite = _mm256_testz_si256(special, special) == 1;
        is_finite.then_some(Self { eights, largest, smallest })
    }

    /// Those of one block of A, which come by K, row after row.
    #[inline]
    fn by_rows(&self, block: usize, m: usize, k: usize) -> Vec<Factor<u32>> {
        let mut rows = Vec::with_capacity(m * k);
        let eights = &self.eights[block * k * m / 8..][..k * m / 8];
        for first in 0..m / 8 {
            for lane in 0..8 {
                let column = eights.iter().skip(first).step_by(m / 8);
                rows.extend(
                    column
                        .map(|it| Factor { number: it.number[lane], exponent: it.exponent[lane] }),
                );
            }
        }
        rows
    }
}

/// Eight elements as f32. As its upper bits first, whose exponents begin elsewhere where they have more bits.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn single<const E: i32, const M: i32>(bits: __m256i, magnitude: __m256i) -> __m256i {
    let wide = _mm256_sll_epi32(magnitude, _mm_cvtsi32_si128(23 - M));
    let unit = _mm256_set1_ps(f32::from_bits((254 - ((1 << (E - 1)) - 1)) << 23));
    let number = match E {
        8 => wide,
        _ => _mm256_castps_si256(_mm256_mul_ps(_mm256_castsi256_ps(wide), unit)),
    };
    let sign = _mm256_sll_epi32(bits, _mm_cvtsi32_si128(31 - E - M));
    _mm256_or_si256(number, _mm256_and_si256(sign, _mm256_set1_epi32(i32::MIN)))
}

/// One block, whose rows have `W` times eight columns.
#[inline]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
fn multiply_block<const W: usize>(
    group: usize,
    k: usize,
    a: &[Factor<u32>],
    b: &[Factor<[u32; 8]>],
    sums: &mut [u32],
) {
    let b = b.as_chunks::<W>().0;
    let sums = sums.as_chunks_mut::<8>().0.as_chunks_mut::<W>().0;
    for (row, sums) in a.chunks_exact(k).zip(sums) {
        for (row, columns) in row.chunks(group).zip(b.chunks(group)) {
            let (units, largest) = dot(row, columns);
            for at in 0..W {
                let (new, is_doubtful) = finish(units[at], largest[at], vector(&sums[at]));
                sums[at] = match is_doubtful {
                    true => finish_each(lanes(units[at]), lanes(largest[at]), sums[at]),
                    false => lanes(new),
                };
            }
        }
    }
}

/// A group's products, each cut toward zero at 24 bits below the largest exponent; that exponent.
#[inline]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
fn dot<const W: usize>(
    row: &[Factor<u32>],
    columns: &[[Factor<[u32; 8]>; W]],
) -> ([__m256i; W], [__m256i; W]) {
    let mut largest = [_mm256_set1_epi32(2 * NO_EXPONENT); W];
    for (a, b) in row.iter().zip(columns) {
        let exponent = _mm256_set1_epi32(a.exponent.cast_signed());
        for at in 0..W {
            let sum = _mm256_add_epi32(vector(&b[at].exponent), exponent);
            largest[at] = _mm256_max_epi32(largest[at], sum);
        }
    }
    let mut scales = [_mm256_setzero_ps(); W];
    for at in 0..W {
        // Where all products are zero, any scale will do.
        let at_least = _mm256_max_epi32(largest[at], _mm256_set1_epi32(EXPONENTS.start));
        let field = _mm256_sub_epi32(_mm256_set1_epi32(Aligned::CUT + 127), at_least);
        scales[at] = _mm256_castsi256_ps(_mm256_slli_epi32::<23>(field));
    }
    let mut units = [_mm256_setzero_si256(); W];
    for (a, b) in row.iter().zip(columns) {
        let number = _mm256_set1_ps(f32::from_bits(a.number));
        for at in 0..W {
            let product = _mm256_mul_ps(_mm256_castsi256_ps(vector(&b[at].number)), number);
            let cut = _mm256_cvttps_epi32(_mm256_mul_ps(product, scales[at]));
            units[at] = _mm256_add_epi32(units[at], cut);
        }
    }
    (units, largest)
}

/// `2^exponent` of the lower four lanes, and of the upper four.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn powers(exponents: __m256i) -> [__m256d; 2] {
    let upper = _mm256_slli_epi32::<20>(_mm256_add_epi32(exponents, _mm256_set1_epi32(1023)));
    let [low, high] = halves(upper);
    [wide(low), wide(high)]
}

/// Four doubles by the upper halves of their bits.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn wide(upper: __m128i) -> __m256d {
    _mm256_castsi256_pd(_mm256_slli_epi64::<32>(_mm256_cvtepu32_epi64(upper)))
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn halves(vector: __m256i) -> [__m128i; 2] {
    [_mm256_castsi256_si128(vector), _mm256_extracti128_si256::<1>(vector)]
}

/// Adds `c` and rounds, as [`finish_aligned`] does; says whether a sum is too small for this way.
#[inline]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
fn finish(units: __m256i, largest: __m256i, c: __m256i) -> (__m256i, bool) {
    let field = _mm256_and_si256(_mm256_srli_epi32::<23>(c), _mm256_set1_epi32(0xff));
    let normal = _mm256_max_epi32(field, _mm256_set1_epi32(1));
    let of_c = _mm256_sub_epi32(normal, _mm256_set1_epi32(127));
    let exponent = _mm256_max_epi32(largest, of_c);
    let below = _mm256_max_epi32(_mm256_sub_epi32(largest, exponent), _mm256_set1_epi32(-200));
    let extra = Aligned::DOT - Aligned::CUT;
    let for_dot = powers(_mm256_add_epi32(below, _mm256_set1_epi32(extra)));
    let for_c = powers(_mm256_sub_epi32(_mm256_set1_epi32(Aligned::CUT), exponent));
    let grid = powers(_mm256_sub_epi32(exponent, _mm256_set1_epi32(Aligned::DOT)));
    let (units, c) = (halves(units), halves(c));
    let (mut results, mut tiny) = ([_mm_setzero_ps(); 2], _mm256_setzero_pd());
    for half in 0..2 {
        let dot = _mm256_mul_pd(_mm256_cvtepi32_pd(units[half]), for_dot[half]);
        let c = _mm256_mul_pd(_mm256_cvtps_pd(_mm_castsi128_ps(c[half])), for_c[half]);
        let unit = _mm256_set1_pd(f64::from(1 << extra));
        let sum = _mm256_fmadd_pd(_mm256_floor_pd(c), unit, _mm256_floor_pd(dot));
        let value = _mm256_mul_pd(sum, grid[half]);
        results[half] = _mm256_cvtpd_ps(floored(value));
        let magnitude = _mm256_andnot_pd(_mm256_set1_pd(-0.0), value);
        let least = _mm256_set1_pd(f64::from(f32::MIN_POSITIVE));
        let is_small = _mm256_cmp_pd::<_CMP_LT_OQ>(magnitude, least);
        let is_not_zero = _mm256_cmp_pd::<_CMP_NEQ_OQ>(value, _mm256_setzero_pd());
        tiny = _mm256_or_pd(tiny, _mm256_and_pd(is_small, is_not_zero));
    }
    let [low, high] = results;
    (_mm256_castps_si256(_mm256_set_m128(high, low)), _mm256_movemask_pd(tiny) != 0)
}

/// Floored at 31 bits below the leading one. The bits of a double count magnitudes: those of negative numbers go up.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn floored(value: __m256d) -> __m256d {
    const REST: i64 = (1 << (52 - Aligned::SUM)) - 1;
    let (bits, rest) = (_mm256_castpd_si256(value), _mm256_set1_epi64x(REST));
    let is_negative = _mm256_cmpgt_epi64(_mm256_setzero_si256(), bits);
    let raised = _mm256_add_epi64(bits, _mm256_and_si256(is_negative, rest));
    _mm256_castsi256_pd(_mm256_andnot_si256(rest, raised))
}

#[cold]
fn finish_each(units: [u32; 8], largest: [u32; 8], sums: [u32; 8]) -> [u32; 8] {
    std::array::from_fn(|at| {
        finish_aligned(f64::from(units[at].cast_signed()), largest[at].cast_signed(), sums[at])
    })
}
