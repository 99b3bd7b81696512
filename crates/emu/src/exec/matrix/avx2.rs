//! CDNA3's products of 16-bit floats on the host's vectors, eight columns at a time: bit-equal to
//! [`crate::num::matrix::Aligned`], and only where every number is finite and in the range that f32 holds exactly.

use std::arch::x86_64::*;

use super::Multiply;
use crate::exec::Body;
use crate::exec::avx2::{floats, lanes, vector};
use crate::matrix::layout::{Layout, Run};
use crate::matrix::{Addend, Arithmetic, Input, Matrix, Output, Sign};
use crate::num::matrix::{Aligned, Element, Model, Shape, finish_aligned};
use crate::num::{F32, Format};
use crate::step::{Context, Step};
use crate::wave::{Vector, Wave};

/// The exponent of a zero: below that of any product.
const NO_EXPONENT: i32 = -4096;
/// Products of such exponents are normal numbers of f32, whatever their significands are, and so is a sum that is not
/// smaller than the grid that it is on.
const EXPONENTS: std::ops::Range<i32> = -94..62;
/// Elements of A or B at most.
const MOST: usize = 512;
/// Elements of a run.
const WIDTH: usize = 16;

/// Any matrix operation; those that it is made for are quick.
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn multiply<const C: usize>(
    wave: &mut Wave<C>,
    context: &mut Context<'_>,
    step: &Step<C>,
) {
    let Wave { v: file, matrices, .. } = wave;
    let matrix = &matrices[step.k as usize];
    let is_done = model::<C>(matrix).is_some_and(|it| quick(file, matrix, it));
    if !is_done {
        Multiply::run(wave, context, step);
    }
}

/// The model of an operation that can be quick: CDNA3's, of waves of 64 lanes.
fn model<const C: usize>(matrix: &Matrix) -> Option<Aligned> {
    let Shape { m, n, k } = matrix.shape;
    match matrix.arithmetic {
        Arithmetic::Factors { model: Model::Aligned(model), flushes: false, .. }
            if C == 8
                && !model.is_split
                && !matrix.needs_all_lanes
                && matrix.indices.is_none()
                && m.is_multiple_of(WIDTH)
                && matches!(n, 16 | 32)
                && m.max(n) * k * matrix.blocks <= MOST
                && matches!(at_once(matrix, model), 4 | 8)
                && k.is_multiple_of(at_once(matrix, model))
                && has_plain_sums::<C>(matrix) =>
        {
            Some(model)
        }
        _ => None,
    }
}

/// Whether C and D are numbers of f32 whose rows can be taken and put back one after the other.
fn has_plain_sums<const C: usize>(matrix: &Matrix) -> bool {
    let registers = matrix.blocks * matrix.shape.m * matrix.shape.n / Wave::<C>::LANES;
    let (d, Sign { abs, neg }) = (&matrix.d, matrix.sign);
    let is_apart = match &matrix.c {
        Addend::Constant(_) => true,
        Addend::Registers(c) => {
            let distance = usize::from(c.register.abs_diff(d.register));
            c.bits == 32 && (distance == 0 || distance >= registers)
        }
    };
    d.bits == 32 && !matrix.narrows && !abs && !neg && is_apart
}

/// Says whether the numbers were such that it could be done.
#[inline]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
fn quick<const C: usize>(file: &mut [Vector<C>], matrix: &Matrix, model: Aligned) -> bool {
    let (mut a, mut b) = (Factors::NONE, Factors::NONE);
    let is_finite = a.take(file, &matrix.a.0, matrix.a.1) && b.take(file, &matrix.b.0, matrix.b.1);
    let is_in_range = a.largest + b.largest < EXPONENTS.end
        && a.smallest.saturating_add(b.smallest) >= EXPONENTS.start;
    if !is_finite || !is_in_range {
        return false;
    }
    for block in 0..matrix.blocks {
        match (matrix.shape.n, at_once(matrix, model)) {
            (32, 8) => multiply_block::<C, 4, 8>(file, matrix, block, (&a, &b)),
            (32, _) => multiply_block::<C, 4, 4>(file, matrix, block, (&a, &b)),
            (_, 8) => multiply_block::<C, 2, 8>(file, matrix, block, (&a, &b)),
            _ => multiply_block::<C, 2, 4>(file, matrix, block, (&a, &b)),
        }
    }
    true
}

/// How many products are added at once.
fn at_once(matrix: &Matrix, model: Aligned) -> usize {
    model.group.min(matrix.shape.k)
}

/// The chunks of a run.
#[inline(always)]
fn chunks_of<const C: usize>(run: Run) -> [usize; 2] {
    let first = usize::from(run.lane) / 8;
    [first % C, (first + 1) % C]
}

/// The factors of a matrix, or of several, by block and K: as f32, and their exponents as alignment has them.
struct Factors {
    numbers: [[u32; 8]; MOST / 8],
    exponents: [[u32; 8]; MOST / 8],
    largest: i32,
    /// Of those that are not zero.
    smallest: i32,
}

impl Factors {
    const NONE: Self = Self {
        numbers: [[0; 8]; MOST / 8],
        exponents: [[0; 8]; MOST / 8],
        largest: NO_EXPONENT,
        smallest: -NO_EXPONENT,
    };

    /// Takes elements of a format that is laid out as IEEE 754 says; says whether all of them are finite.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn take<const C: usize>(
        &mut self,
        file: &[Vector<C>],
        input: &Input,
        element: Element,
    ) -> bool {
        match element {
            Element::F16 => self.ieee::<C, 5, 10, 0>(file, input),
            Element::Bf16 => self.ieee::<C, 8, 7, 0>(file, input),
            Element::Xf32 => self.ieee::<C, 8, 10, 13>(file, input),
            _ => false,
        }
    }

    /// `E` bits of exponent and `M` of mantissa, above `S` bits that do not count.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn ieee<const C: usize, const E: i32, const M: i32, const S: i32>(
        &mut self,
        file: &[Vector<C>],
        input: &Input,
    ) -> bool {
        let (none, above) = (_mm256_set1_epi32(NO_EXPONENT), _mm256_set1_epi32(-NO_EXPONENT));
        let (mut largest, mut smallest) = (none, above);
        let last = _mm256_set1_epi32((1 << E) - 1);
        let flip = _mm256_set1_epi32(input.flip.cast_signed());
        let mut special = _mm256_setzero_si256();
        let numbers = self.numbers.as_chunks_mut::<2>().0;
        let exponents = self.exponents.as_chunks_mut::<2>().0;
        for ((run, numbers), exponents) in input.layout.runs.iter().zip(numbers).zip(exponents) {
            let from = &file[usize::from(input.register + run.register)].0;
            let shift = _mm_cvtsi32_si128(i32::from(run.shift) + S);
            for (half, at) in chunks_of::<C>(*run).into_iter().enumerate() {
                let bits = _mm256_srl_epi32(_mm256_xor_si256(vector(&from[at]), flip), shift);
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
                numbers[half] = lanes(single::<E, M>(bits, magnitude));
                exponents[half] = lanes(or_none);
            }
        }
        let (largest, smallest) = (lanes(largest), lanes(smallest));
        self.largest = largest.map(u32::cast_signed).into_iter().fold(NO_EXPONENT, i32::max);
        self.smallest = smallest.map(u32::cast_signed).into_iter().fold(-NO_EXPONENT, i32::min);
        _mm256_testz_si256(special, special) == 1
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

/// One block, whose rows have `W` times eight columns, with `G` products at once.
#[inline]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
fn multiply_block<const C: usize, const W: usize, const G: usize>(
    file: &mut [Vector<C>],
    matrix: &Matrix,
    block: usize,
    (a, b): (&Factors, &Factors),
) {
    let Shape { m, n, k } = matrix.shape;
    let numbers_a = &a.numbers.as_flattened()[block * k * m..][..k * m];
    let exponents_a = &a.exponents.as_flattened()[block * k * m..][..k * m];
    let columns = block * k * n / 8..(block + 1) * k * n / 8;
    let numbers_b = b.numbers[columns.clone()].as_chunks::<W>().0.as_chunks::<G>().0;
    let exponents_b = b.exponents[columns].as_chunks::<W>().0.as_chunks::<G>().0;
    for (group, (numbers, exponents)) in numbers_b.iter().zip(exponents_b).enumerate() {
        for row in 0..m {
            let first = (block * m + row) * W / 2;
            let mut factors = ([0; G], [0; G]);
            for at in 0..G {
                let place = (group * G + at) * m + row;
                (factors.0[at], factors.1[at]) = (numbers_a[place], exponents_a[place]);
            }
            let (units, largest) = dot(&factors.0, &factors.1, numbers, exponents);
            let sums = match group {
                0 => row_of::<C, W>(file, &matrix.c, first),
                _ => row_of_registers::<C, W>(file, &matrix.d, first),
            };
            put_row(file, &matrix.d, first, finish(units, largest, sums));
        }
    }
}

/// A row of C, which has `W / 2` runs from `first` on.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn row_of<const C: usize, const W: usize>(
    file: &[Vector<C>],
    c: &Addend,
    first: usize,
) -> [__m256i; W] {
    match c {
        Addend::Constant(bits) => [_mm256_set1_epi32((*bits as u32).cast_signed()); W],
        Addend::Registers(output) => row_of_registers(file, output, first),
    }
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn row_of_registers<const C: usize, const W: usize>(
    file: &[Vector<C>],
    output: &Output,
    first: usize,
) -> [__m256i; W] {
    let mut row = [_mm256_setzero_si256(); W];
    for (half, run) in runs::<W>(&output.layout, first).iter().enumerate() {
        let from = &file[usize::from(output.register + run.register)].0;
        let [low, high] = chunks_of::<C>(*run);
        row[2 * half] = vector(&from[low]);
        row[2 * half + 1] = vector(&from[high]);
    }
    row
}

/// Writes a row of D.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn put_row<const C: usize, const W: usize>(
    file: &mut [Vector<C>],
    output: &Output,
    first: usize,
    row: [__m256i; W],
) {
    for (half, run) in runs::<W>(&output.layout, first).iter().enumerate() {
        let to = &mut file[usize::from(output.register + run.register)].0;
        let [low, high] = chunks_of::<C>(*run);
        to[low] = lanes(row[2 * half]);
        to[high] = lanes(row[2 * half + 1]);
    }
}

/// The runs of a row.
#[inline(always)]
fn runs<const W: usize>(layout: &Layout, first: usize) -> &[Run] {
    &layout.runs[first..first + W / 2]
}

/// A group's products, each cut toward zero at 24 bits below the largest exponent; that exponent.
#[inline]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
fn dot<const W: usize, const G: usize>(
    numbers_a: &[u32; G],
    exponents_a: &[u32; G],
    numbers: &[[[u32; 8]; W]; G],
    exponents: &[[[u32; 8]; W]; G],
) -> ([__m256i; W], [__m256i; W]) {
    let mut largest = [_mm256_set1_epi32(2 * NO_EXPONENT); W];
    for (a, b) in exponents_a.iter().zip(exponents) {
        let exponent = _mm256_set1_epi32(a.cast_signed());
        for at in 0..W {
            largest[at] = _mm256_max_epi32(largest[at], _mm256_add_epi32(vector(&b[at]), exponent));
        }
    }
    let mut scales = [_mm256_setzero_ps(); W];
    for at in 0..W {
        // Where all products are zero, any scale will do.
        let at_least = _mm256_max_epi32(largest[at], _mm256_set1_epi32(EXPONENTS.start));
        scales[at] = power(_mm256_sub_epi32(_mm256_set1_epi32(Aligned::CUT), at_least));
    }
    let mut units = [_mm256_setzero_si256(); W];
    for (a, b) in numbers_a.iter().zip(numbers) {
        let number = _mm256_set1_ps(f32::from_bits(*a));
        for at in 0..W {
            let product = _mm256_mul_ps(floats(&b[at]), number);
            let cut = _mm256_cvttps_epi32(_mm256_mul_ps(product, scales[at]));
            units[at] = _mm256_add_epi32(units[at], cut);
        }
    }
    (units, largest)
}

/// `2^exponent`, of normal numbers.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn power(exponent: __m256i) -> __m256 {
    let field = _mm256_add_epi32(exponent, _mm256_set1_epi32(127));
    _mm256_castsi256_ps(_mm256_slli_epi32::<23>(field))
}

/// Adds sums of products to `c` and rounds, as [`finish_aligned`] does.
#[inline]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
fn finish<const W: usize>(
    units: [__m256i; W],
    largest: [__m256i; W],
    sums: [__m256i; W],
) -> [__m256i; W] {
    let (mut results, mut doubts) = (sums, _mm256_setzero_si256());
    for at in 0..W {
        let doubt;
        (results[at], doubt) = finish_eight(units[at], largest[at], sums[at]);
        doubts = _mm256_or_si256(doubts, doubt);
    }
    if _mm256_testz_si256(doubts, doubts) == 0 {
        for at in 0..W {
            results[at] =
                vector(&finish_each(lanes(units[at]), lanes(largest[at]), lanes(sums[at])));
        }
    }
    results
}

/// Eight of them, and which are in doubt: where `c` is very small or not finite.
///
/// The grid is 24 bits below the largest exponent of the products, or 32 below that of `c`: it holds what is left of both,
/// and the sum of both is an integer of it that a double holds.
#[inline]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
fn finish_eight(units: __m256i, largest: __m256i, c: __m256i) -> (__m256i, __m256i) {
    const BELOW: i32 = Aligned::DOT - Aligned::CUT;
    const SMALLEST: i32 = EXPONENTS.start + BELOW + 127;
    let magnitude = _mm256_and_si256(c, _mm256_set1_epi32(i32::MAX));
    let is_small = _mm256_cmpgt_epi32(_mm256_set1_epi32(SMALLEST << 23), magnitude);
    let is_some = _mm256_cmpgt_epi32(magnitude, _mm256_setzero_si256());
    let is_special = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(0x7f7f_ffff));
    let doubt = _mm256_or_si256(_mm256_and_si256(is_small, is_some), is_special);
    let field = _mm256_srli_epi32::<23>(magnitude);
    let by_c = _mm256_sub_epi32(field, _mm256_set1_epi32(127 + BELOW));
    let least = _mm256_max_epi32(by_c, _mm256_set1_epi32(EXPONENTS.start));
    let exponent = _mm256_max_epi32(largest, least);
    let units = _mm256_srav_epi32(units, _mm256_sub_epi32(exponent, largest));
    let to_grid = power(_mm256_sub_epi32(_mm256_set1_epi32(Aligned::CUT), exponent));
    let of_c = _mm256_floor_ps(_mm256_mul_ps(_mm256_castsi256_ps(c), to_grid));
    let rounded = |units: __m128i, c: __m128| {
        let sum = _mm256_add_pd(_mm256_cvtepi32_pd(units), _mm256_cvtps_pd(c));
        _mm256_cvtpd_ps(floored(sum))
    };
    let low = rounded(_mm256_castsi256_si128(units), _mm256_castps256_ps128(of_c));
    let high = rounded(_mm256_extracti128_si256::<1>(units), _mm256_extractf128_ps::<1>(of_c));
    let grid = power(_mm256_sub_epi32(exponent, _mm256_set1_epi32(Aligned::CUT)));
    let result = _mm256_mul_ps(_mm256_set_m128(high, low), grid);
    (_mm256_castps_si256(result), doubt)
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
    std::array::from_fn(|at| match sums[at] & 0x7fff_ffff {
        // An infinity stays one: products are finite.
        0x7f80_0000 => sums[at],
        0x7f80_0001.. => F32::INVALID as u32,
        _ => {
            let units = f64::from(units[at].cast_signed());
            finish_aligned(units, largest[at].cast_signed(), sums[at])
        }
    })
}
