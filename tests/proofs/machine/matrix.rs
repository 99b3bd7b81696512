//! Matrix products: sums are exact until the end, where they are rounded once to what the instruction returns.

use std::sync::LazyLock;

use hsaco::isa::Inst;
use hsaco::isa::model::{OperandValue, RegisterFile};
use hsaco::patch::Tools;

use super::numbers::f16_to_f32;
use super::{LANES, Wave};

pub(crate) const ROWS: usize = 16;
/// Sums are whole numbers of 2^-64.
const UNIT: i32 = -64;

/// How elements are laid out: as the products of bytes have it, or as those with scales.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Layout {
    Plain,
    Scaled,
}

#[derive(Clone, Copy, Debug)]
enum Third {
    Vector(usize),
    Constant(f32),
}

#[derive(Clone, Copy, Debug)]
enum Scale {
    Vector(usize),
    Scalar(usize),
    One,
}

/// A product.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    layout: Layout,
    columns: usize,
    /// Numbers for each scale.
    block: usize,
    is_half: bool,
    d: usize,
    a: (usize, u32),
    b: (usize, u32),
    c: Third,
    scales: [(Scale, usize); 2],
    neg: bool,
    abs: bool,
}

impl Operation {
    pub(crate) fn of(tools: &Tools, inst: &Inst, msb: u32) -> Operation {
        let name = inst.mnemonic();
        let named = |name: &str| tools.decoder().operand(inst, name);
        let register = |name: &str, shift: u32| match named(name) {
            Some(OperandValue::Register(it)) => {
                it.first as usize + (msb >> shift & 3) as usize * 256
            }
            other => panic!("{name}: {other:?}"),
        };
        let number = |name: &str| match named(name) {
            Some(OperandValue::Number(number)) => number as usize,
            _ => 0,
        };
        let is_scaled = name.contains("_scale") || name.contains("f8f6f4");
        let format = |matrix: &str, place: usize| match number(&format!("matrix_{matrix}_fmt")) {
            _ if !is_scaled => u32::from(name.split('_').nth(place).unwrap() == "bf8"),
            format => format as u32,
        };
        let scale = |name: &str| match named(name) {
            Some(OperandValue::Register(it)) if it.file == RegisterFile::Vgpr => {
                Scale::Vector(it.first as usize)
            }
            Some(OperandValue::Register(it)) => Scale::Scalar(it.first as usize),
            _ => Scale::One,
        };
        let modifiers = match named("src2_modifiers") {
            Some(OperandValue::Modifiers(it)) => it,
            _ => Default::default(),
        };
        let is_half = name.contains("_f16_");
        let c = match named("src2") {
            Some(OperandValue::Register(_)) => Third::Vector(register("src2", 4)),
            Some(OperandValue::Integer(0)) => Third::Constant(0.0),
            Some(OperandValue::Float(bits)) if !is_half => {
                Third::Constant(f32::from_bits(bits as u32))
            }
            other => panic!("{other:?}"),
        };
        assert_eq!((number("matrix_a_scale_fmt"), number("matrix_b_scale_fmt")), (0, 0));
        Operation {
            layout: if is_scaled { Layout::Scaled } else { Layout::Plain },
            columns: if name.contains("x64_") { 64 } else { 128 },
            block: if name.contains("scale16") { 16 } else { 32 },
            is_half,
            d: register("vdst", 6),
            a: (register("src0", 0), format("a", 4)),
            b: (register("src1", 2), format("b", 5)),
            c,
            scales: [
                (scale("scale_src0"), number("matrix_a_scale")),
                (scale("scale_src1"), number("matrix_b_scale")),
            ],
            neg: modifiers.neg,
            abs: modifiers.abs,
        }
    }

    pub(crate) fn run(&self, wave: &mut Wave) {
        let a = elements(wave, self.a, self.layout, self.columns);
        let b = elements(wave, self.b, self.layout, self.columns);
        let c = self.third(wave);
        let scales = self.scales.map(|scale| exponents(wave, scale, self.block, self.columns));
        let mut d = [[0.0; ROWS]; ROWS];
        for row in 0..ROWS {
            for column in 0..ROWS {
                let shifts = (scales[0][row].as_slice(), scales[1][column].as_slice());
                let sum = dot(&a[row], &b[column], self.block, shifts);
                let third = c[row][column];
                d[row][column] = match sum {
                    Some(_) if !third.is_finite() => third,
                    Some(sum) => rounded(sum + fixed(third)),
                    None => special(&a[row], &b[column]) + third,
                };
            }
        }
        self.store(wave, &d);
    }

    fn third(&self, wave: &Wave) -> [[f32; ROWS]; ROWS] {
        let mut c = [[0.0; ROWS]; ROWS];
        for (row, line) in c.iter_mut().enumerate() {
            for (column, value) in line.iter_mut().enumerate() {
                let found = match self.c {
                    Third::Constant(value) => value,
                    Third::Vector(first) if self.is_half => {
                        let (register, lane, shift) = half_place(row, column);
                        f32::from_bits(f16_to_f32(
                            wave.vgprs[first + register][lane] >> shift & 0xffff,
                        ))
                    }
                    Third::Vector(first) => {
                        f32::from_bits(wave.vgprs[first + row % 8][column + 16 * (row / 8)])
                    }
                };
                let found = if self.abs { found.abs() } else { found };
                *value = if self.neg { -found } else { found };
            }
        }
        c
    }

    fn store(&self, wave: &mut Wave, d: &[[f32; ROWS]; ROWS]) {
        for (row, line) in d.iter().enumerate() {
            for (column, value) in line.iter().enumerate() {
                if self.is_half {
                    let (register, lane, shift) = half_place(row, column);
                    let place = &mut wave.vgprs[self.d + register][lane];
                    let half = u32::from(nearest_half(f64::from(*value)));
                    *place = *place & !(0xffff << shift) | half << shift;
                } else {
                    wave.vgprs[self.d + row % 8][column + 16 * (row / 8)] = value.to_bits();
                }
            }
        }
    }
}

/// Where an element of a matrix of halves is: register, lane, first bit.
pub(crate) fn half_place(row: usize, column: usize) -> (usize, usize, usize) {
    (row % 8 / 2, column + 16 * (row / 8), 16 * (row % 2))
}

/// The half nearest to a number, ties to even, by way of its distance from its neighbours.
pub(crate) fn nearest_half(value: f64) -> u16 {
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    let value = value.abs();
    if value.is_nan() {
        return sign | 0x7e00;
    }
    if value >= 65520.0 {
        return sign | 0x7c00;
    }
    let exponent = (value.log2().floor() as i32).clamp(-14, 15);
    let exponent =
        if value < 2_f64.powi(exponent) && exponent > -14 { exponent - 1 } else { exponent };
    let steps = (value / 2_f64.powi(exponent - 10)).round_ties_even() as i32;
    // A count of 2048 is the first of the next exponent, which the sum makes it.
    sign | ((exponent + 14) * 1024 + steps) as u16
}

/// A number as a whole number of 2^-64.
pub(crate) fn fixed(value: f32) -> i128 {
    let scaled = f64::from(value) * 2_f64.powi(-UNIT);
    assert!(scaled.fract() == 0.0 && scaled.abs() < 2_f64.powi(120), "{value} does not fit");
    scaled as i128
}

/// The nearest number to a whole number of 2^-64, ties to even.
pub(crate) fn rounded(sum: i128) -> f32 {
    let magnitude = sum.unsigned_abs();
    let extra = (128 - magnitude.leading_zeros()).saturating_sub(24);
    let mut kept = magnitude >> extra;
    let dropped = magnitude - (kept << extra);
    let half = if extra == 0 { 0 } else { 1_u128 << (extra - 1) };
    if extra != 0 && (dropped > half || dropped == half && kept & 1 == 1) {
        kept += 1;
    }
    let value = (kept as f64 * 2_f64.powi(extra as i32 + UNIT)) as f32;
    if sum < 0 { -value } else { value }
}

/// An element as a whole number of 2^-16, if it is finite, and as a number.
fn element(format: u32, code: u32) -> Element {
    type Table = [[Element; 256]; 5];
    static ELEMENTS: LazyLock<Box<Table>> = LazyLock::new(|| {
        Box::new(std::array::from_fn(|format| {
            std::array::from_fn(|code| worked_out(format as u32, code as u32))
        }))
    });
    ELEMENTS[format as usize][code as usize]
}

fn worked_out(format: u32, code: u32) -> Element {
    let (exponent_bits, mantissa_bits, bias) = match format {
        0 => (4, 3, 7),
        1 => (5, 2, 15),
        2 => (2, 3, 1),
        3 => (3, 2, 3),
        _ => (2, 1, 1),
    };
    let mantissa = code & ((1 << mantissa_bits) - 1);
    let exponent = code >> mantissa_bits & ((1 << exponent_bits) - 1);
    let is_negative = code >> (exponent_bits + mantissa_bits) & 1 == 1;
    let sign = if is_negative { -1.0 } else { 1.0 };
    if format == 0 && code & 0x7f == 0x7f || format == 1 && exponent == 31 && mantissa != 0 {
        return (None, f64::NAN);
    }
    if format == 1 && exponent == 31 {
        return (None, sign * f64::INFINITY);
    }
    let significand = mantissa | u32::from(exponent != 0) << mantissa_bits;
    let power = exponent.max(1) as i32 - bias - mantissa_bits;
    let value = sign * f64::from(significand) * 2_f64.powi(power);
    (Some((value * 65536.0) as i64), value)
}

type Element = (Option<i64>, f64);
type Line = Vec<Element>;

/// A matrix: 16 rows of A, or 16 columns of B.
pub(crate) fn elements(
    wave: &Wave,
    (first, format): (usize, u32),
    layout: Layout,
    columns: usize,
) -> Vec<Line> {
    let code = |row: usize, k: usize| {
        let (register, lane, bit) = match (format, layout) {
            (0 | 1, Layout::Plain) => {
                let register = k / 64 * 8 + k % 64 / 32 * 4 + k % 32 / 16 * 2 + k % 8 / 4;
                (register, row + 16 * (k % 16 / 8), k % 4 * 8)
            }
            (0 | 1, Layout::Scaled) => {
                (k / 32 * 4 + k % 16 / 4, row + 16 * (k % 32 / 16), k % 4 * 8)
            }
            (2 | 3, _) => (k / 64 * 6, row + 16 * (k % 64 / 32), k % 32 * 6),
            _ => (k / 64 * 4, row + 16 * (k % 64 / 32), k % 32 * 4),
        };
        let (register, bit) = (first + register + bit / 32, bit % 32);
        let low = u64::from(wave.vgprs[register][lane]);
        let high = u64::from(wave.vgprs[register + 1][lane]);
        let width = [8, 8, 6, 6, 4][format as usize];
        ((low | high << 32) >> bit) as u32 & ((1 << width) - 1)
    };
    (0..LANES / 2)
        .map(|row| (0..columns).map(|k| element(format, code(row, k))).collect())
        .collect()
}

/// The exponents of the scales of each row, one for each block.
fn exponents(
    wave: &Wave,
    (scale, row_select): (Scale, usize),
    block: usize,
    columns: usize,
) -> Vec<Vec<i32>> {
    let byte = |row: usize, at: usize| match scale {
        Scale::One => 127,
        Scale::Scalar(number) => (wave.sgprs[number] & 0xff) as i32,
        Scale::Vector(first) => {
            let word = wave.vgprs[first + at / 4][row + 16 * row_select];
            (word >> (at % 4 * 8) & 0xff) as i32
        }
    };
    (0..ROWS).map(|row| (0..columns / block).map(|at| byte(row, at) - 127).collect()).collect()
}

/// The sum of products, if all numbers are finite.
pub(crate) fn dot(
    a: &Line,
    b: &Line,
    block: usize,
    (left, right): (&[i32], &[i32]),
) -> Option<i128> {
    let mut sum = 0;
    for (at, (a, b)) in a.chunks(block).zip(b.chunks(block)).enumerate() {
        let mut products = 0;
        for (a, b) in a.iter().zip(b) {
            products += i128::from(a.0?) * i128::from(b.0?);
        }
        let shift = 32 + left[at] + right[at];
        assert!((0..60).contains(&shift), "scales are small here");
        sum += products << shift;
    }
    Some(sum)
}

/// The sum of products with infinities among them.
fn special(a: &Line, b: &Line) -> f32 {
    a.iter().zip(b).map(|(a, b)| a.1 * b.1).sum::<f64>() as f32
}
