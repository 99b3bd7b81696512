//! Matrix operations: elements out of registers, the product, and its elements back. EXEC takes no part.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use super::{Body, handler};
use crate::error::ErrorKind;
use crate::matrix::{Addend, Arithmetic, Input, Matrix, Output, Scale, ScaleFormat, Sign};
use crate::num::matrix::{
    Accumulator, Element, Model, Shape, multiply_aligned, multiply_doubles, multiply_flushed,
    multiply_fused, multiply_fused_f64, multiply_integers,
};
use crate::num::{BF16, Env, F16, F32, convert, e8m0};
use crate::step::{Context, Handler, Host, Step};
use crate::wave::{Vector, Wave};

struct Multiply;

/// The handler of all matrix operations; `k` is the number of the operation.
pub(crate) fn find<const C: usize>(host: Host) -> Handler<C> {
    match host {
        Host::Portable => handler::<C, Multiply>(host),
        #[cfg(target_arch = "x86_64")]
        Host::Avx2 | Host::Avx512 => avx2::multiply::<C>,
    }
}

impl<const C: usize> Body<C> for Multiply {
    #[inline(always)]
    fn run(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
        let matrix = Arc::clone(&wave.matrices[step.k as usize]);
        if matrix.needs_all_lanes && wave.exec() != Wave::<C>::ALL {
            let lanes = wave.exec();
            wave.fail(ErrorKind::IllegalInstruction, lanes, "the instruction needs all lanes");
            return;
        }
        let Shape { m, n, k } = matrix.shape;
        let packed = if matrix.indices.is_some() { k / 2 } else { k };
        let a = gather(&wave.v, &matrix.a.0);
        let b = gather(&wave.v, &matrix.b.0);
        if let Arithmetic::FusedDouble { negates } = matrix.arithmetic {
            multiply_double(wave, &matrix, &a, &b, negates);
            return;
        }
        let mut acc = addends(&wave.v, &matrix);
        for block in 0..matrix.blocks {
            let a = &a[block * packed * m..][..packed * m];
            let b = &b[block * k * n..][..k * n];
            let acc = &mut acc[block * m * n..][..m * n];
            multiply_block(&wave.v, &matrix, a, b, acc);
        }
        scatter(&mut wave.v, &matrix.d, &acc, matrix.narrows);
    }
}

/// One matrix; `a` and `b` are raw elements by K.
#[inline(always)]
fn multiply_block<const C: usize>(
    file: &[Vector<C>],
    matrix: &Matrix,
    a: &[u32],
    b: &[u32],
    acc: &mut [u32],
) {
    let (of_a, of_b) = (matrix.a.1, matrix.b.1);

    let indices = matrix.indices.as_ref().map(|it| gather(file, it));
    let indices = indices.as_deref();
    let rows_of = matrix.shape.m;
    match matrix.arithmetic {
        Arithmetic::Integer { clamps } => {
            let number = |element: Element| move |bits: u32| integer(element, bits);
            let (a, b) = (rows(a, rows_of, number(of_a)), mapped(b, number(of_b)));
            product(matrix.shape, &a, &b, indices, acc, &Integers { clamps });
        }
        Arithmetic::Fused { flushes } => {
            let number = |bits: u32| {
                let is_subnormal = bits & 0x7f80_0000 == 0;
                if flushes && is_subnormal { bits & 0x8000_0000 } else { bits }
            };
            let (a, b) = (rows(a, rows_of, number), mapped(b, number));
            product(matrix.shape, &a, &b, indices, acc, &Fused);
        }
        Arithmetic::Flushed { group } => {
            let a = rows(a, rows_of, |bits| of_a.flushed_single(bits));
            let b = mapped(b, |bits| of_b.flushed_single(bits));
            product(matrix.shape, &a, &b, indices, acc, &Flushed { group });
        }
        Arithmetic::Factors { model, to, flushes } => {
            let a = rows(a, rows_of, |bits| bits);
            let factors = Factors { model, to, flushes, of_a, of_b };
            product(matrix.shape, &a, b, indices, acc, &factors);
        }
        Arithmetic::Doubles { group, to } => {
            let (mut a, mut b) =
                (mapped(a, |bits| of_a.double(bits)), mapped(b, |bits| of_b.double(bits)));
            if let Some([for_a, for_b]) = &matrix.scales {
                scale(file, for_a, &mut a, matrix.shape.m);
                scale(file, for_b, &mut b, matrix.shape.n);
            }
            let a = rows(&a, rows_of, |it| it);
            product(matrix.shape, &a, &b, indices, acc, &Doubles { group, to });
        }
        Arithmetic::FusedDouble { .. } => {}
    }
}

/// `acc += a * b`. Methods, not closures: only these are sure to be compiled for the host's vectors.
trait Multiplier<E> {
    fn multiply(&self, shape: Shape, a: &[E], b: &[E], acc: &mut [u32]);
}

struct Integers {
    clamps: bool,
}

impl Multiplier<i32> for Integers {
    #[inline(always)]
    fn multiply(&self, shape: Shape, a: &[i32], b: &[i32], acc: &mut [u32]) {
        multiply_integers(shape, a, b, acc, self.clamps);
    }
}

struct Fused;

impl Multiplier<u32> for Fused {
    #[inline(always)]
    fn multiply(&self, shape: Shape, a: &[u32], b: &[u32], acc: &mut [u32]) {
        multiply_fused(shape, a, b, acc);
    }
}

struct Flushed {
    group: usize,
}

impl Multiplier<f32> for Flushed {
    #[inline(always)]
    fn multiply(&self, shape: Shape, a: &[f32], b: &[f32], acc: &mut [u32]) {
        multiply_flushed(self.group, shape, a, b, acc);
    }
}

struct Factors {
    model: Model,
    to: Accumulator,
    flushes: bool,
    of_a: Element,
    of_b: Element,
}

impl Multiplier<u32> for Factors {
    #[inline(always)]
    fn multiply(&self, shape: Shape, a: &[u32], b: &[u32], acc: &mut [u32]) {
        let Self { model, to, flushes, of_a, of_b } = *self;
        if let Model::Aligned(aligned) = model
            && !flushes
            && multiply_aligned(aligned, shape, (a, of_a), (b, of_b), acc)
        {
            return;
        }
        let number = |element: Element| {
            move |bits: u32| {
                let factor = element.factor(bits);
                if flushes { factor.flushed() } else { factor }
            }
        };
        let (a, b) = (mapped(a, number(of_a)), mapped(b, number(of_b)));
        model.multiply(shape, &a, &b, acc, to);
    }
}

struct Doubles {
    group: usize,
    to: Accumulator,
}

impl Multiplier<f64> for Doubles {
    #[inline(always)]
    fn multiply(&self, shape: Shape, a: &[f64], b: &[f64], acc: &mut [u32]) {
        let Accumulator::F16 { saturate } = self.to else {
            return multiply_doubles(self.group, shape, a, b, acc, self.to);
        };
        // Sums are of 32 bits, and rounded to 16 at the end: so do replacements that AMD's tools make of such products.
        for sum in &mut *acc {
            *sum = convert::<F16, F32>(*sum as u16, Env::IEEE, Env::IEEE);
        }
        multiply_doubles(self.group, shape, a, b, acc, Accumulator::F32);
        for sum in acc {
            *sum = convert::<F32, F16>(*sum, Env::IEEE, Env { saturate, ..Env::IEEE }).into();
        }
    }
}

/// A number of an integer format.
fn integer(element: Element, bits: u32) -> i32 {
    let Element::Integer { bits: width, signed } = element else { return 0 };
    let top = bits << (32 - width);
    if signed { top.cast_signed() >> (32 - width) } else { (top >> (32 - width)).cast_signed() }
}

/// Each element, as what it stands for.
#[inline(always)]
fn mapped<T: Copy, E>(elements: &[T], number: impl Fn(T) -> E) -> Vec<E> {
    elements.iter().map(|it| number(*it)).collect()
}

/// The same by rows: elements come by K.
#[inline(always)]
fn rows<T: Copy, E>(elements: &[T], rows: usize, number: impl Fn(T) -> E) -> Vec<E> {
    let mut by_rows = Vec::with_capacity(elements.len());
    for row in 0..rows {
        by_rows.extend(elements.iter().skip(row).step_by(rows).map(|it| number(*it)));
    }
    by_rows
}

/// The product of matrices; where A is packed, each row is multiplied with the rows of B that its indices choose.
#[inline(always)]
fn product<E: Copy>(
    shape: Shape,
    a: &[E],
    b: &[E],
    indices: Option<&[u32]>,
    acc: &mut [u32],
    multiplier: &impl Multiplier<E>,
) {
    let (k, at_once) = if indices.is_some() { (shape.k / 2, 1) } else { (shape.k, shape.m) };
    let part = Shape { m: at_once, n: shape.n, k };
    let mut chosen = Vec::new();
    for row in (0..shape.m).step_by(at_once) {
        let b = match indices {
            None => b,
            Some(indices) => {
                choose(&mut chosen, shape, b, indices, row);
                &chosen
            }
        };
        let acc = &mut acc[row * shape.n..][..at_once * shape.n];
        multiplier.multiply(part, &a[row * k..][..at_once * k], b, acc);
    }
}

/// The rows of B that belong to the packed elements of a row of A.
fn choose<E: Copy>(chosen: &mut Vec<E>, shape: Shape, b: &[E], indices: &[u32], row: usize) {
    chosen.clear();
    for at in 0..shape.k / 2 {
        let k = at / 2 * 4 + indices[at * shape.m + row] as usize;
        chosen.extend_from_slice(&b[k * shape.n..][..shape.n]);
    }
}

/// Multiplies elements, which are by K, with their scales.
fn scale<const C: usize>(file: &[Vector<C>], scale: &Scale, elements: &mut [f64], size: usize) {
    let codes = gather(file, &scale.codes);
    for (k, elements) in elements.chunks_exact_mut(size).enumerate() {
        let codes = &codes[k / scale.per * size..][..size];
        for (element, code) in elements.iter_mut().zip(codes) {
            *element *= scale.format.number(*code);
        }
    }
}

impl ScaleFormat {
    fn number(self, code: u32) -> f64 {
        match self {
            Self::E8m0 => match e8m0(code as u8) {
                Some(exponent) => f64::from_bits(((exponent + 1023) as u64) << 52),
                None => f64::NAN,
            },
            Self::Small(small) => f64::from(f32::from_bits(small.decode(code))),
        }
    }
}

/// Elements by block, K, and row or column.
#[inline(always)]
fn gather<const C: usize>(file: &[Vector<C>], input: &Input) -> Vec<u32> {
    let width = input.layout.width;
    let first = usize::from(input.register);
    let mask = if input.bits >= 32 { u32::MAX } else { (1 << input.bits) - 1 };
    let words = input.bits.div_ceil(32) as usize;
    let mut elements = Vec::with_capacity(input.layout.runs.len() * width * words);
    for run in &input.layout.runs {
        let lane = usize::from(run.lane);
        let at = |register: usize| &file[register].0.as_flattened()[lane..lane + width];
        let register = first + usize::from(run.register);
        let shift = u32::from(run.shift);
        if shift + input.bits > 32 && input.bits < 32 {
            let pairs = at(register).iter().zip(at(register + 1));
            elements.extend(pairs.map(|(low, high)| {
                ((u64::from(*low) | u64::from(*high) << 32) >> shift) as u32 & mask
            }));
            continue;
        }
        for word in 0..words {
            let (from, end) = (at(register + word), elements.len());
            elements.resize(end + width, 0);
            for (to, from) in elements[end..].iter_mut().zip(from) {
                *to = (from ^ input.flip) >> shift & mask;
            }
        }
    }
    elements
}

/// C, with what changes it, by block and row.
#[inline(always)]
fn addends<const C: usize>(file: &[Vector<C>], matrix: &Matrix) -> Vec<u32> {
    let mut acc = match &matrix.c {
        Addend::Constant(bits) => {
            vec![*bits as u32; matrix.blocks * matrix.shape.m * matrix.shape.n]
        }
        Addend::Registers(output) => read(file, output),
    };
    let bits = match &matrix.c {
        Addend::Registers(output) => output.bits,
        Addend::Constant(_) => matrix.d.bits,
    };
    let sign = 1 << (bits - 1);
    let Sign { abs, neg } = matrix.sign;
    if abs || neg {
        for it in &mut acc {
            let cleared = if abs { *it & !sign } else { *it };
            *it = if neg { cleared ^ sign } else { cleared };
        }
    }
    acc
}

/// The elements of C, by block and row.
#[inline(always)]
fn read<const C: usize>(file: &[Vector<C>], output: &Output) -> Vec<u32> {
    let width = output.layout.width;
    let mask = if output.bits >= 32 { u32::MAX } else { (1 << output.bits) - 1 };
    let mut elements = Vec::with_capacity(output.layout.runs.len() * width);
    for run in &output.layout.runs {
        let lane = usize::from(run.lane);
        let register = &file[usize::from(output.register + run.register)];
        let lanes = &register.0.as_flattened()[lane..lane + width];
        if output.bits == 32 {
            elements.extend_from_slice(lanes);
            continue;
        }
        elements.extend(lanes.iter().map(|it| it >> run.shift & mask));
    }
    elements
}

/// Writes D; halves of registers that it does not have stay.
#[inline(always)]
fn scatter<const C: usize>(
    file: &mut [Vector<C>],
    output: &Output,
    elements: &[u32],
    narrows: bool,
) {
    let width = output.layout.width;
    let mask = if output.bits >= 32 { u32::MAX } else { (1 << output.bits) - 1 };
    for (run, elements) in output.layout.runs.iter().zip(elements.chunks_exact(width)) {
        let lane = usize::from(run.lane);
        let register = &mut file[usize::from(output.register + run.register)];
        let lanes = &mut register.0.as_flattened_mut()[lane..lane + width];
        if output.bits == 32 {
            lanes.copy_from_slice(elements);
            continue;
        }
        for (to, from) in lanes.iter_mut().zip(elements) {
            let bits = if narrows { narrowed(*from) } else { *from };
            *to = *to & !(mask << run.shift) | (bits & mask) << run.shift;
        }
    }
}

fn narrowed(single: u32) -> u32 {
    convert::<F32, BF16>(single, Env::IEEE, Env::IEEE).into()
}

/// Double precision, where all elements have two registers.
fn multiply_double<const C: usize>(
    wave: &mut Wave<C>,
    matrix: &Matrix,
    a: &[u32],
    b: &[u32],
    negates: [bool; 3],
) {
    let Shape { m, n, k } = matrix.shape;
    let [neg_a, neg_b, neg_c] = negates.map(|it| u64::from(it) << 63);
    let width = |input: &Input| input.layout.width;
    let (a, b) = (doubles(a, width(&matrix.a.0), neg_a), doubles(b, width(&matrix.b.0), neg_b));
    let mut acc = match &matrix.c {
        Addend::Constant(bits) => vec![*bits ^ neg_c; matrix.blocks * m * n],
        Addend::Registers(output) => {
            let input = Input {
                register: output.register,
                bits: 64,
                flip: 0,
                layout: output.layout.clone(),
            };
            doubles(&gather(&wave.v, &input), output.layout.width, neg_c)
        }
    };
    for block in 0..matrix.blocks {
        let a = rows(&a[block * k * m..][..k * m], m, |it| it);
        let b = &b[block * k * n..][..k * n];
        multiply_fused_f64(matrix.shape, &a, b, &mut acc[block * m * n..][..m * n]);
    }
    let width = matrix.d.layout.width;
    for (run, elements) in matrix.d.layout.runs.iter().zip(acc.chunks_exact(width)) {
        let lane = usize::from(run.lane);
        let first = usize::from(matrix.d.register + run.register);
        for (at, value) in elements.iter().enumerate() {
            wave.v[first].set_lane(lane + at, *value as u32);
            wave.v[first + 1].set_lane(lane + at, (value >> 32) as u32);
        }
    }
}

/// Pairs of runs as numbers of 64 bits, some bits flipped.
fn doubles(words: &[u32], width: usize, flip: u64) -> Vec<u64> {
    let pairs = words.chunks_exact(2 * width).flat_map(|it| {
        let (low, high) = it.split_at(width);
        low.iter().zip(high)
    });
    pairs.map(|(low, high)| (u64::from(*low) | u64::from(*high) << 32) ^ flip).collect()
}
