//! Matrix operations as they are translated: where elements are, and how they are multiplied.

pub(crate) mod layout;

use self::layout::Layout;
use crate::num::Small;
use crate::num::matrix::{Accumulator, Element, Model, Shape};

/// A, B, or the indices of a sparse A.
#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) register: u16,
    pub(crate) bits: u32,
    /// Bits of each register that are flipped first: `neg_lo` and `neg_hi`.
    pub(crate) flip: u32,
    pub(crate) layout: Layout,
}

/// C, or D.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) register: u16,
    pub(crate) bits: u32,
    pub(crate) layout: Layout,
}

/// Where C comes from.
#[derive(Debug)]
pub(crate) enum Addend {
    Registers(Output),
    /// The same number everywhere.
    Constant(u64),
}

/// What changes C.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sign {
    pub(crate) abs: bool,
    pub(crate) neg: bool,
}

/// Scales of A or B: one for so many elements along K.
#[derive(Debug)]
pub(crate) struct Scale {
    pub(crate) codes: Input,
    pub(crate) per: usize,
    pub(crate) format: ScaleFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScaleFormat {
    /// A power of two.
    E8m0,
    Small(Small),
}

/// How products are added.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Arithmetic {
    Integer {
        clamps: bool,
    },
    /// Single precision; A and B may lose their subnormal numbers.
    Fused {
        flushes: bool,
    },
    /// Double precision, with A, B and C negated.
    FusedDouble {
        negates: [bool; 3],
    },
    Flushed {
        group: usize,
    },
    Factors {
        model: Model,
        to: Accumulator,
        flushes: bool,
    },
    Doubles {
        group: usize,
        to: Accumulator,
    },
}

/// One instruction.
#[derive(Debug)]
pub(crate) struct Matrix {
    pub(crate) shape: Shape,
    pub(crate) blocks: usize,
    pub(crate) a: (Input, Element),
    pub(crate) b: (Input, Element),
    pub(crate) c: Addend,
    pub(crate) sign: Sign,
    pub(crate) d: Output,
    /// Which elements of B the packed ones of A belong to.
    pub(crate) indices: Option<Input>,
    pub(crate) scales: Option<[Scale; 2]>,
    pub(crate) arithmetic: Arithmetic,
    /// Whether the sum is an f32 of which D is the bf16.
    pub(crate) narrows: bool,
    pub(crate) needs_all_lanes: bool,
}
