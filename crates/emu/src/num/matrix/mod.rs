//! Matrix and dot products: what devices do between exact products and a rounded sum.
//!
//! Each family of units is a [`Model`]: how many products it adds at once, to which grid it cuts them, and when it
//! rounds. All of them see factors in the same form, [`Factor`].
//!
//! ```
//! use hsaco_emu::num::matrix::{Accumulator, Element, Model};
//! let [one, two] = [0x3c00, 0x4000].map(|bits| Element::F16.factor(bits));
//! let sum = Model::CDNA3.dot(&[one, two], &[two, two], 1f32.to_bits(), Accumulator::F32);
//! assert_eq!(f32::from_bits(sum), 7.0);
//! ```

mod aligned;
mod captured;
mod doubles;
mod element;
mod exact;
mod flushed;
mod fused;
mod integer;

pub use aligned::{Aligned, finish_aligned, multiply_aligned};
pub use captured::Captured;
pub use doubles::multiply_doubles;
pub use element::{Class, Element, FRACTION, Factor};
pub use exact::Once;
pub use flushed::multiply_flushed;
pub use fused::{multiply_fused, multiply_fused_f64};
pub use integer::{dot_integers, dot_into_signed, multiply_integers};

/// Rows, columns, and products of each sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Rows of A, C and D.
    pub m: usize,
    /// Columns of B, C and D.
    pub n: usize,
    /// Columns of A, rows of B.
    pub k: usize,
}

/// The format that sums are rounded to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accumulator {
    /// Single precision.
    F32,
    /// Half precision; too large numbers are the largest one if `saturate` is set (MODE.FP16_OVFL).
    F16 {
        /// Whether nothing becomes infinite.
        saturate: bool,
    },
    /// bfloat16.
    Bf16,
}

/// How a unit adds products of small factors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// CDNA1: exact sums of groups.
    Once(Once),
    /// CDNA3: products cut to a common grid.
    Aligned(Aligned),
    /// RDNA3 and RDNA4, known by captures.
    Captured(Captured),
}

impl Model {
    /// f16 of CDNA1.
    pub const CDNA1_F16: Self = Self::Once(Once { group: 4 });
    /// bf16 of CDNA1.
    pub const CDNA1_BF16: Self = Self::Once(Once { group: 2 });
    /// f16 and bf16 of CDNA3.
    pub const CDNA3: Self = Self::Aligned(Aligned { group: 8, is_split: false });
    /// xf32 of CDNA3.
    pub const CDNA3_XF32: Self = Self::Aligned(Aligned { group: 4, is_split: false });
    /// fp8 and bf8 of CDNA3.
    pub const CDNA3_FP8: Self = Self::Aligned(Aligned { group: 16, is_split: true });
    /// f16 and bf16 of RDNA3, in dot products and matrices.
    pub const RDNA3: Self = Self::Captured(Captured::Gfx11);
    /// Dot products of two of RDNA4.
    pub const RDNA4_DOT2: Self = Self::Captured(Captured::Gfx12 { step: 2, together: 2 });
    /// f16 and bf16 matrices of RDNA4.
    pub const RDNA4: Self = Self::Captured(Captured::Gfx12 { step: 4, together: 2 });
    /// Dot products of four fp8 and bf8 of RDNA4.
    pub const RDNA4_FP8: Self = Self::Captured(Captured::Gfx12 { step: 4, together: 4 });

    /// `c` and the products of `a` and `b`, as bits of the accumulator.
    #[must_use]
    pub fn dot(self, a: &[Factor], b: &[Factor], c: u32, to: Accumulator) -> u32 {
        match self {
            Self::Once(model) => model.dot(a, b, c),
            Self::Aligned(model) => model.dot(a, b, c),
            Self::Captured(model) => model.dot(a, b, c, to),
        }
    }

    /// `acc += a * b` for matrices: `a` by rows, `b` by rows, `acc` by rows.
    pub fn multiply(
        self,
        shape: Shape,
        a: &[Factor],
        b: &[Factor],
        acc: &mut [u32],
        to: Accumulator,
    ) {
        let mut column = vec![Factor::default(); shape.k];
        for j in 0..shape.n {
            for (factor, row) in column.iter_mut().zip(b.chunks_exact(shape.n)) {
                *factor = row.get(j).copied().unwrap_or_default();
            }
            for (row, sums) in a.chunks_exact(shape.k).zip(acc.chunks_exact_mut(shape.n)) {
                if let Some(sum) = sums.get_mut(j) {
                    *sum = self.dot(row, &column, *sum, to);
                }
            }
        }
    }
}
