//! Where elements of matrices are: which lane, register and bits.
//!
//! An index is taken apart from its lowest digit up; each digit goes to a lane, or counts elements within a lane.
#![allow(clippy::cast_possible_truncation, reason = "there are few registers and lanes")]

/// A digit of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Digit {
    /// So many elements of one lane, after each other.
    Item(usize),
    /// So many lanes, at that distance.
    Lane(usize, usize),
}
use Digit::{Item, Lane};

/// The digits of one index, the lowest first.
pub(crate) type Axis = Vec<Digit>;

/// The element's number within a lane, and the lane.
fn place(axis: &[Digit], index: usize) -> (usize, usize) {
    let mut rest = index;
    let (mut item, mut scale, mut lane) = (0, 1, 0);
    for digit in axis {
        match *digit {
            Item(count) => {
                item += rest % count * scale;
                scale *= count;
                rest /= count;
            }
            Lane(count, stride) => {
                lane += rest % count * stride;
                rest /= count;
            }
        }
    }
    (item, lane)
}

/// How many values an index has.
fn size(axis: &[Digit]) -> usize {
    axis.iter()
        .map(|digit| match digit {
            Item(count) | Lane(count, _) => *count,
        })
        .product()
}

fn items(axis: &[Digit]) -> usize {
    axis.iter().map(|digit| if let Item(count) = digit { *count } else { 1 }).product()
}

/// The places of all elements of a matrix, or of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Axes {
    /// The index that may run within a lane: K of A and B, the row of C and D.
    pub(crate) inner: Axis,
    /// The index that runs over lanes: the row of A, the column of B, C and D.
    pub(crate) outer: Axis,
    /// The number of the matrix.
    pub(crate) block: Axis,
}

/// Elements in lanes beside each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) register: u16,
    pub(crate) shift: u8,
    pub(crate) lane: u8,
}

/// All elements as runs: by block, then by inner index, then by outer index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Lanes of a run.
    pub(crate) width: usize,
    /// Runs of one inner index.
    pub(crate) per_inner: usize,
    pub(crate) runs: Vec<Run>,
}

impl Axes {
    /// How many registers the elements take.
    pub(crate) fn registers(&self, bits: u32) -> usize {
        let all = items(&self.inner) * items(&self.outer) * items(&self.block);
        (all * bits as usize).div_ceil(32)
    }

    /// The runs of elements that have `slot` bits each; `lane_of` says which lane a run is read from.
    pub(crate) fn runs(&self, slot: u32, lane_of: impl Fn(usize) -> usize) -> Layout {
        let outer = size(&self.outer);
        let width = outer.min(16);
        let mut runs = Vec::new();
        for block in 0..size(&self.block) {
            for inner in 0..size(&self.inner) {
                for first in (0..outer).step_by(width) {
                    let places = [
                        place(&self.inner, inner),
                        place(&self.outer, first),
                        place(&self.block, block),
                    ];
                    let [(item, at_k), (of_outer, at_outer), (of_block, at_block)] = places;
                    let (inner_items, outer_items) = (items(&self.inner), items(&self.outer));
                    let item = item + inner_items * (of_outer + outer_items * of_block);
                    let bit = item * slot as usize;
                    runs.push(Run {
                        register: (bit / 32) as u16,
                        shift: (bit % 32) as u8,
                        lane: lane_of(at_k + at_outer + at_block) as u8,
                    });
                }
            }
        }
        Layout { width, per_inner: outer / width, runs }
    }
}

/// Bytes of a lane that hold consecutive elements of A or B, from eight bits up.
const CHUNK: usize = 16;

/// A or B of an MFMA: `size` rows or columns.
pub(crate) fn mfma_input(size: usize, k: usize, blocks: usize, bits: usize) -> Axes {
    let lanes = 64 / (size * blocks);
    let per_lane = k / lanes;
    let first = if bits < 8 { per_lane } else { per_lane.min(CHUNK * 8 / bits) };
    Axes {
        inner: vec![Item(first), Lane(lanes, size * blocks), Item(per_lane / first)],
        outer: vec![Lane(size, 1)],
        block: vec![Lane(blocks, size)],
    }
}

/// A of an SMFMAC, packed, and its indices.
pub(crate) fn smfmac_packed(size: usize, packed: usize) -> Axes {
    let lanes = 64 / size;
    Axes {
        inner: vec![Item(packed / lanes), Lane(lanes, size)],
        outer: vec![Lane(size, 1)],
        block: vec![],
    }
}

/// C and D of an MFMA with 32 bits.
pub(crate) fn mfma_output(m: usize, n: usize, blocks: usize) -> Axes {
    let (in_lanes, in_items) = if m == 4 { (blocks, 1) } else { (1, blocks) };
    let lanes = 64 / (n * in_lanes);
    Axes {
        inner: vec![Item(4), Lane(lanes, n * in_lanes), Item(m / 4 / lanes)],
        outer: vec![Lane(n, 1)],
        block: vec![Lane(in_lanes, n), Item(in_items)],
    }
}

/// C and D of an MFMA with 64 bits.
pub(crate) fn mfma_output_f64(m: usize, n: usize, blocks: usize) -> Axes {
    let lanes = 64 / (n * blocks);
    Axes {
        inner: vec![Lane(lanes, n * blocks), Item(m / lanes)],
        outer: vec![Lane(n, 1)],
        block: vec![Lane(blocks, n)],
    }
}

/// A or B of a WMMA of gfx11: all of K in each lane; each row of lanes has the same.
pub(crate) fn gfx11_input(k: usize) -> Axes {
    Axes { inner: vec![Item(k)], outer: vec![Lane(16, 1)], block: vec![] }
}

/// C and D of a WMMA of gfx11.
pub(crate) fn gfx11_output(lanes: usize) -> Axes {
    let rows = lanes / 16;
    Axes { inner: vec![Lane(rows, 16), Item(16 / rows)], outer: vec![Lane(16, 1)], block: vec![] }
}

/// A or B of a WMMA of gfx12, and packed A of an SWMMAC with its indices.
pub(crate) fn gfx12_input(lanes: usize, k: usize, bits: usize) -> Axes {
    let inner = match (lanes, bits, k) {
        (32, 16, _) => vec![Item(4), Lane(2, 16), Item(k / 8)],
        (64, 16, _) => vec![Item(4), Lane(4, 16), Item(k / 16)],
        (32, ..) => vec![Item(8), Lane(2, 16), Item(k / 16)],
        (_, 8, _) => vec![Item(4), Lane(2, 32), Lane(2, 16)],
        (_, _, 16) => vec![Item(8), Lane(2, 16)],
        _ => vec![Item(8), Lane(2, 32), Lane(2, 16)],
    };
    Axes { inner, outer: vec![Lane(16, 1)], block: vec![] }
}

/// B of an SWMMAC of gfx12.
pub(crate) fn gfx12_sparse_b(lanes: usize, k: usize, bits: usize) -> Axes {
    let inner = match (lanes, bits, k) {
        (32, 16, _) => vec![Item(8), Lane(2, 16), Item(k / 16)],
        (64, 16, _) => vec![Item(8), Lane(4, 16)],
        (32, ..) => vec![Item(16), Lane(2, 16), Item(k / 32)],
        (_, 4, 64) => vec![Item(16), Lane(2, 32), Lane(2, 16)],
        _ => vec![Item(8), Lane(2, 32), Lane(2, 16)],
    };
    Axes { inner, outer: vec![Lane(16, 1)], block: vec![] }
}

/// C and D of WMMA from gfx12 on; 32 rows are 16 and 16.
pub(crate) fn gfx12_output(lanes: usize, m: usize) -> Axes {
    let inner = match lanes {
        32 => vec![Item(8), Lane(2, 16), Item(m / 16)],
        _ => vec![Item(4), Lane(2, 32), Lane(2, 16)],
    };
    Axes { inner, outer: vec![Lane(16, 1)], block: vec![] }
}

/// A or B of a WMMA of gfx1250; of 32 rows the upper ones are in registers of their own.
pub(crate) fn gfx1250_input(size: usize, k: usize, bits: usize, is_scaled: bool) -> Axes {
    let first = match bits {
        32 => 2,
        16 => 8,
        8 if is_scaled => 16,
        8 => 8,
        _ => 32,
    };
    Axes {
        inner: vec![Item(first), Lane(2, 16), Item(k / 2 / first)],
        outer: vec![Lane(16, 1), Item(size / 16)],
        block: vec![],
    }
}

/// Packed A of an SWMMAC of gfx1250.
pub(crate) fn gfx1250_packed(packed: usize, bits: usize) -> Axes {
    let first = if bits == 16 { 8 } else { 16 };
    Axes {
        inner: vec![Item(first), Lane(2, 16), Item(packed / 2 / first)],
        outer: vec![Lane(16, 1)],
        block: vec![],
    }
}

/// Indices of an SWMMAC of gfx1250: by halves of K, not as A is.
pub(crate) fn gfx1250_indices(packed: usize) -> Axes {
    Axes { inner: vec![Item(packed / 2), Lane(2, 16)], outer: vec![Lane(16, 1)], block: vec![] }
}

/// B of an SWMMAC of gfx1250.
pub(crate) fn gfx1250_sparse_b(k: usize, bits: usize) -> Axes {
    let first = if bits == 16 { 16 } else { 32 };
    Axes {
        inner: vec![Item(first), Lane(2, 16), Item(k / 2 / first)],
        outer: vec![Lane(16, 1)],
        block: vec![],
    }
}

/// Scales of gfx950: one lane for each row and block of 32.
pub(crate) fn mfma_scales(size: usize) -> Axes {
    Axes { inner: vec![Lane(64 / size, size)], outer: vec![Lane(size, 1)], block: vec![] }
}

/// Scales of gfx1250: those of a row in one lane.
pub(crate) fn wmma_scales(size: usize, count: usize) -> Axes {
    Axes { inner: vec![Item(count)], outer: vec![Lane(size, 1)], block: vec![] }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The register, bit and lane of an element.
    fn find(axes: &Axes, bits: u32, block: usize, inner: usize, outer: usize) -> (u16, u8, usize) {
        let layout = axes.runs(bits, |lane| lane);
        let inners = size(&axes.inner);
        let at = (block * inners + inner) * layout.per_inner + outer / layout.width;
        let run = layout.runs[at];
        (run.register, run.shift, usize::from(run.lane) + outer % layout.width)
    }

    /// Values from the tables and examples of the ISA manuals.
    #[test]
    fn places_are_those_of_the_manuals() {
        // CDNA3 7.1.3.1: 32x32x1_2b: block 1 of A is in lanes 32 and up, of D in registers 16 and up.
        assert_eq!(find(&mfma_input(32, 1, 2, 32), 32, 1, 0, 5), (0, 0, 37));
        assert_eq!(find(&mfma_output(32, 32, 2), 32, 1, 13, 3), (21, 0, 35));
        // 32x32x8 f16: k 4 to 7 in lanes 32 and up, two of them in a register.
        assert_eq!(find(&mfma_input(32, 8, 1, 16), 16, 0, 7, 2), (1, 16, 34));
        // 4x4x4_16b: D's rows are registers, blocks four lanes.
        assert_eq!(find(&mfma_output(4, 4, 16), 32, 9, 2, 1), (2, 0, 37));
        // 16x16x4_f64, 4x4x4_4b_f64.
        assert_eq!(find(&mfma_output_f64(16, 16, 1), 64, 0, 6, 3), (2, 0, 35));
        assert_eq!(find(&mfma_output_f64(4, 4, 4), 64, 2, 3, 1), (0, 0, 57));
        assert_eq!(find(&mfma_input(4, 4, 4, 64), 64, 2, 3, 1), (0, 0, 57));
        // CDNA4: 16x16x128 of eight bits: k 64 is in register 4; of four bits: k 32 is in lane 16.
        assert_eq!(find(&mfma_input(16, 128, 1, 8), 8, 0, 64 + 17, 1), (4, 8, 17));
        assert_eq!(find(&mfma_input(16, 128, 1, 4), 4, 0, 33, 1), (0, 4, 17));
        // RDNA4 table 42: rows of C in waves of 64.
        assert_eq!(find(&gfx12_output(64, 16), 32, 0, 4, 15), (0, 0, 47));
        assert_eq!(find(&gfx12_output(64, 16), 32, 0, 8, 0), (0, 0, 16));
        assert_eq!(find(&gfx12_output(32, 16), 16, 0, 15, 1), (3, 16, 17));
        assert_eq!(find(&gfx12_input(32, 16, 16), 16, 0, 13, 2), (2, 16, 18));
        assert_eq!(find(&gfx12_input(64, 16, 16), 16, 0, 13, 2), (0, 16, 50));
        // RDNA3: rows of C alternate between halves of a wave.
        assert_eq!(find(&gfx11_output(32), 32, 0, 5, 2), (2, 0, 18));
        // CDNA5 7.12.2: 16x32 of 16 bits, 16x64 of eight bits, 32 rows of four bits.
        assert_eq!(find(&gfx1250_input(16, 32, 16, false), 16, 0, 25, 4), (4, 16, 20));
        assert_eq!(find(&gfx1250_input(16, 64, 8, false), 8, 0, 26, 4), (2, 16, 20));
        assert_eq!(find(&gfx1250_input(32, 128, 4, true), 4, 0, 40, 17), (9, 0, 17));
        assert_eq!(find(&gfx12_output(32, 32), 32, 0, 31, 2), (15, 0, 18));
    }
}
