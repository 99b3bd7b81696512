//! Addresses of vector accesses, one for each lane: the first step of each.

use super::Body;
use crate::step::{Context, Step};
use crate::wave::{Space, Wave};

/// Upper halves of addresses in the shared and the private aperture.
pub(crate) const SHARED_APERTURE: u32 = 0x1_0000;
pub(crate) const PRIVATE_APERTURE: u32 = 0x2_0000;
/// Where scratch memory is, for descriptors and FLAT_SCRATCH.
pub(crate) const SCRATCH_BASE: u64 = 0x6000_0000_0000;
const SCRATCH_SIZE: u64 = 1 << 40;

/// The address of a vector pair `a`, and `k`.
pub(crate) struct Vector64<const FLAT: bool>;

impl<const C: usize, const FLAT: bool> Body<C> for Vector64<FLAT> {
    #[inline(always)]
    fn run(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
        let (low, high) = (&wave.v[usize::from(step.a)], &wave.v[usize::from(step.a) + 1]);
        for at in 0..C {
            for lane in 0..8 {
                let base = u64::from(low.0[at][lane]) | u64::from(high.0[at][lane]) << 32;
                wave.addresses[at * 8 + lane] = base.wrapping_add(step.k);
            }
        }
        wave.space = if FLAT { Space::Flat } else { Space::Global };
        wave.valid = wave.active;
    }
}

/// A scalar pair `b`, a vector offset `a` times `c`, and `k`.
pub(crate) struct Scalar64<const FLAT: bool>;

impl<const C: usize, const FLAT: bool> Body<C> for Scalar64<FLAT> {
    #[inline(always)]
    fn run(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
        let base = wave.pair(step.b).wrapping_add(step.k);
        let scale = u64::from(step.c);
        let offsets = &wave.v[usize::from(step.a)];
        for at in 0..C {
            for lane in 0..8 {
                let offset = u64::from(offsets.0[at][lane]) * scale;
                wave.addresses[at * 8 + lane] = base.wrapping_add(offset);
            }
        }
        wave.space = if FLAT { Space::Flat } else { Space::Global };
        wave.valid = wave.active;
    }
}

/// An offset in a lane's own memory, or in LDS: a vector `a`, a scalar `b`, and `k`.
pub(crate) struct Offset<const LDS: bool>;

impl<const C: usize, const LDS: bool> Body<C> for Offset<LDS> {
    #[inline(always)]
    fn run(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
        let base = wave.s[usize::from(step.b)].wrapping_add(step.k as u32);
        let offsets = &wave.v[usize::from(step.a)];
        let scale = u32::from(step.c);
        for at in 0..C {
            for lane in 0..8 {
                let offset = offsets.0[at][lane].wrapping_mul(scale).wrapping_add(base);
                wave.addresses[at * 8 + lane] = u64::from(offset);
            }
        }
        wave.space = if LDS { Space::Lds } else { Space::Private };
        wave.valid = wave.active;
    }
}

/// A buffer descriptor, as far as addresses go by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Resource {
    base: u64,
    stride: u64,
    records: u64,
    swizzles: bool,
    adds_lane: bool,
    index_stride: u64,
    bounds: Bounds,
}

/// What an access must be below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bounds {
    /// The number of records is of bytes.
    Raw,
    /// The index must be below the number of records, and the offset below the stride.
    Structured,
    /// The index only.
    Index,
    /// Nothing, unless there are no records.
    Open,
}

/// How a step's `k` says it: the immediate, whether there is an offset and an index, bytes of the access, and which
/// layout descriptors have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BufferAccess {
    pub(crate) offset: u32,
    pub(crate) has_offset: bool,
    pub(crate) has_index: bool,
    pub(crate) bytes: u8,
    pub(crate) layout: Layout,
}

/// Which descriptors a processor has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    Gfx9,
    Gfx10,
    Gfx1250,
}

impl BufferAccess {
    pub(crate) fn pack(self) -> u64 {
        u64::from(self.offset)
            | u64::from(self.has_offset) << 32
            | u64::from(self.has_index) << 33
            | (self.layout as u64) << 34
            | u64::from(self.bytes) << 40
    }

    fn unpack(bits: u64) -> Self {
        Self {
            offset: bits as u32,
            has_offset: bits >> 32 & 1 == 1,
            has_index: bits >> 33 & 1 == 1,
            layout: match bits >> 34 & 3 {
                0 => Layout::Gfx9,
                1 => Layout::Gfx10,
                _ => Layout::Gfx1250,
            },
            bytes: (bits >> 40) as u8,
        }
    }
}

impl Resource {
    fn new(words: [u32; 4], layout: Layout) -> Self {
        let [w0, w1, w2, w3] = words.map(u64::from);
        if layout == Layout::Gfx1250 {
            return Self {
                base: (w0 | w1 << 32) & ((1 << 57) - 1),
                stride: w3 >> 12 & 0x3fff,
                records: w1 >> 25 | w2 << 7 | (w3 & 0x3f) << 39,
                swizzles: false,
                adds_lane: false,
                index_stride: 0,
                bounds: if w3 >> 12 & 0x3fff == 0 { Bounds::Raw } else { Bounds::Structured },
            };
        }
        let stride = w1 >> 16 & 0x3fff;
        let bounds = match (layout, w3 >> 28 & 3) {
            (Layout::Gfx9, _) if stride == 0 => Bounds::Raw,
            (Layout::Gfx9, _) => Bounds::Structured,
            (_, 0) => Bounds::Structured,
            (_, 1) => Bounds::Index,
            (_, 2) => Bounds::Open,
            _ => Bounds::Raw,
        };
        Self {
            base: w0 | (w1 & 0xffff) << 32,
            stride,
            records: w2,
            swizzles: w1 >> 31 & 1 == 1 || layout == Layout::Gfx10 && w1 >> 30 & 3 != 0,
            adds_lane: w3 >> 23 & 1 == 1,
            index_stride: 8 << (w3 >> 21 & 3),
            bounds,
        }
    }

    /// Whether `bytes` at an offset of a record may be accessed.
    fn holds(&self, index: u64, offset: u64, bytes: u64, has_index: bool) -> bool {
        match self.bounds {
            Bounds::Raw => index * self.stride + offset + bytes <= self.records,
            Bounds::Structured if !has_index && !self.adds_lane => {
                offset + bytes <= self.records * self.stride.max(1)
            }
            Bounds::Structured => index < self.records && offset + bytes <= self.stride,
            Bounds::Index => index < self.records,
            Bounds::Open => self.records != 0,
        }
    }

    /// Where an offset of a record is.
    fn place(&self, index: u64, offset: u64) -> u64 {
        if !self.swizzles || self.index_stride == 0 {
            return index * self.stride + offset;
        }
        let (rows, column) = (index / self.index_stride, index % self.index_stride);
        (rows * self.stride + offset / 4 * 4) * self.index_stride + column * 4 + offset % 4
    }
}

/// The vector registers from `a` on (index before offset), the descriptor `b`, the scalar offset `c`.
pub(crate) fn buffer<const C: usize>(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
    let access = BufferAccess::unpack(step.k);
    let words = [0, 1, 2, 3].map(|at| wave.s[usize::from(step.b + at)]);
    let resource = Resource::new(words, access.layout);
    let scalar_offset = u64::from(wave.s[usize::from(step.c)]);
    let is_scratch = (SCRATCH_BASE..SCRATCH_BASE + SCRATCH_SIZE).contains(&resource.base);
    wave.space = if is_scratch { Space::Private } else { Space::Global };
    wave.valid = wave.active;
    for lane in crate::wave::lanes(wave.active) {
        let register = |at: u16| u64::from(wave.v[usize::from(step.a + at)].lane(lane));
        let index = if access.has_index { register(0) } else { 0 };
        let variable = if access.has_offset { register(u16::from(access.has_index)) } else { 0 };
        let offset = (variable + u64::from(access.offset)) & 0xffff_ffff;
        if is_scratch {
            // Swizzled by lane: what is left is the offset in the lane's own memory.
            let all = scalar_offset / Wave::<C>::LANES as u64 + offset;
            wave.addresses[lane] = all;
            continue;
        }
        let index = if resource.adds_lane { index + lane as u64 } else { index };
        if !resource.holds(index, offset, u64::from(access.bytes), access.has_index) {
            wave.valid &= !(1 << lane);
        }
        let address = resource.base + scalar_offset + resource.place(index, offset);
        wave.addresses[lane] = address;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_bounded() {
        let raw = Resource::new([0x1000, 0x1, 64, 0x3100_4000], Layout::Gfx10);
        assert_eq!((raw.base, raw.bounds), (0x1_0000_1000, Bounds::Raw));
        assert!(raw.holds(0, 60, 4, false) && !raw.holds(0, 61, 4, false));
        let records = Resource::new([0, 8 << 16, 3, 0], Layout::Gfx9);
        assert!(records.holds(2, 4, 4, true));
        assert!(!records.holds(3, 0, 4, true) && !records.holds(2, 8, 4, true));
        assert_eq!(records.place(2, 4), 20);
    }

    #[test]
    fn swizzled_words_of_lanes_are_beside_each_other() {
        let scratch = Resource {
            base: 0,
            stride: 4,
            records: 1 << 20,
            swizzles: true,
            adds_lane: true,
            index_stride: 64,
            bounds: Bounds::Open,
        };
        assert_eq!((scratch.place(0, 4), scratch.place(1, 0), scratch.place(2, 9)), (256, 4, 521));
    }
}
