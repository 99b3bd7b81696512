//! Addresses of vector accesses, one for each lane: the first step of each.

use hsaco_isa::target::Generation;

use super::{Body, format};
use crate::step::{Context, Step};
use crate::wave::{Space, Vector, Wave};

/// Upper halves of addresses in the shared and the private aperture.
pub(crate) const SHARED_APERTURE: u32 = 0x1_0000;
pub(crate) const PRIVATE_APERTURE: u32 = 0x2_0000;
/// Where scratch memory is, for descriptors and FLAT_SCRATCH.
pub(crate) const SCRATCH_BASE: u64 = 0x6000_0000_0000;
const SCRATCH_SIZE: u64 = 1 << 40;

/// Addresses that can be seen to follow each other without being made.
pub(crate) trait Row<const C: usize>: Body<C> {
    const SPACE: Space;
    /// The address of the first lane, if lanes are `stride` bytes from each other.
    fn first(wave: &Wave<C>, step: &Step<C>, stride: u32) -> Option<u64>;
}

/// What the first lane has, if lanes are `stride` from each other.
#[inline(always)]
fn first_of_row<const C: usize>(lanes: &Vector<C>, stride: u32) -> Option<u32> {
    let first = lanes.0[0][0];
    // Differences are collected by lane of a vector of the host's.
    let mut differ = [0; 16];
    for (at, sixteen) in lanes.sixteens().iter().enumerate() {
        for (lane, (differ, value)) in differ.iter_mut().zip(sixteen).enumerate() {
            let expected = first.wrapping_add((at * 16 + lane) as u32 * stride);
            *differ |= value ^ expected;
        }
    }
    // The last lane does not begin anew at zero.
    let is_row = differ == [0; 16] && first.checked_add(C as u32 * 8 * stride).is_some();
    is_row.then_some(first)
}

/// What all lanes have, if it is the same.
#[inline(always)]
fn all_of_row<const C: usize>(lanes: &Vector<C>) -> Option<u32> {
    let first = lanes.0[0][0];
    let mut differ = [0; 16];
    for sixteen in lanes.sixteens() {
        for (differ, value) in differ.iter_mut().zip(sixteen) {
            *differ |= value ^ first;
        }
    }
    (differ == [0; 16]).then_some(first)
}

/// The address of a vector pair `a`, and `k`.
pub(crate) struct Vector64<const FLAT: bool>;

impl<const C: usize, const FLAT: bool> Row<C> for Vector64<FLAT> {
    const SPACE: Space = if FLAT { Space::Flat } else { Space::Global };

    #[inline(always)]
    fn first(wave: &Wave<C>, step: &Step<C>, stride: u32) -> Option<u64> {
        let low = first_of_row(&wave.v[usize::from(step.a)], stride)?;
        let high = all_of_row(&wave.v[usize::from(step.a) + 1])?;
        Some((u64::from(low) | u64::from(high) << 32).wrapping_add(step.k))
    }
}

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

impl<const C: usize, const FLAT: bool> Row<C> for Scalar64<FLAT> {
    const SPACE: Space = if FLAT { Space::Flat } else { Space::Global };

    #[inline(always)]
    fn first(wave: &Wave<C>, step: &Step<C>, stride: u32) -> Option<u64> {
        let offset = first_of_row(&wave.v[usize::from(step.a)], stride)?;
        let base = wave.pair(step.b).wrapping_add(step.k);
        (step.c == 1).then_some(base.wrapping_add(offset.into()))
    }
}

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

impl<const C: usize> Row<C> for Offset<true> {
    const SPACE: Space = Space::Lds;

    #[inline(always)]
    fn first(wave: &Wave<C>, step: &Step<C>, stride: u32) -> Option<u64> {
        let offset = first_of_row(&wave.v[usize::from(step.a)], stride)?;
        let base = wave.s[usize::from(step.b)].wrapping_add(step.k as u32);
        let is_row = step.c == 1 && base.checked_add(offset).is_some();
        is_row.then_some(base.wrapping_add(offset).into())
    }
}

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

/// A base for all lanes, four times the lane's number, and `k`: in LDS behind M0, whose lower bits `e` count, else behind
/// the scalar pair `b`. Where LDS has more than 16 bits, the sum is cut to them, as comgr's replacement for gfx1250 has it.
pub(crate) fn of_lane<const C: usize>(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
    let is_lds = step.e != 0;
    let bits = (1 << step.e) - 1;
    let base = match is_lds {
        true => u64::from(wave.s[usize::from(crate::wave::scalar::M0)]) & bits,
        false => wave.pair(step.b),
    };
    for lane in 0..Wave::<C>::LANES {
        let mut address = base.wrapping_add(lane as u64 * 4);
        if step.e > 16 {
            address &= bits;
        }
        address = address.wrapping_add(step.k);
        wave.addresses[lane] = if is_lds { address & 0xffff_ffff } else { address };
    }
    wave.space = if is_lds { Space::Lds } else { Space::Global };
    wave.valid = wave.active;
}

/// A buffer descriptor, as far as addresses go by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Resource {
    base: u64,
    stride: u64,
    records: u64,
    /// Bytes of a record that stay together where the buffer is swizzled; 0 where it is not.
    element: u64,
    adds_lane: bool,
    index_stride: u64,
    bounds: Bounds,
    layout: Layout,
}

/// What is out of bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bounds {
    /// Offsets from the number of records on.
    Start,
    /// What ends behind the number of records, the scalar offset counted in.
    End,
    /// Indices from the number of records on, and what begins (`false`) or ends (`true`) behind the stride.
    Structured(bool),
    /// Indices from the number of records on.
    Index,
    /// What ends behind the number of records; with `true`, also what ends behind the stride.
    Total(bool),
    /// Nothing, unless there are no records.
    Open,
    /// Nothing.
    None,
}

/// One lane's place in a buffer.
#[derive(Clone, Copy, Debug, Default)]
struct Spot {
    index: u64,
    /// The immediate and the vector offset.
    offset: u64,
    scalar: u64,
}

/// How many bytes from a place on may be accessed, and whether it is enough that a part begins inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Room {
    bytes: u64,
    by_start: bool,
}

impl Room {
    const ALL: Self = Self { bytes: u64::MAX, by_start: true };
    const NONE: Self = Self { bytes: 0, by_start: true };

    fn until_start(bound: u64, at: u64) -> Self {
        Self { bytes: bound.saturating_sub(at), by_start: true }
    }

    fn until_end(bound: u64, at: u64) -> Self {
        Self { bytes: bound.saturating_sub(at), by_start: false }
    }

    /// How many parts of an access, of so many bytes each, are inside.
    fn parts(self, size: u64) -> u64 {
        if self.by_start { self.bytes.div_ceil(size) } else { self.bytes / size }
    }
}

/// How a step's `k` says it: the immediate, whether there is an offset and an index, bytes of the access, and which
/// layout descriptors have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BufferAccess {
    pub(crate) offset: u32,
    pub(crate) has_offset: bool,
    pub(crate) has_index: bool,
    /// Bytes of the access; 0 where the format of the descriptor says it.
    pub(crate) bytes: u8,
    /// Whether the access is in bounds as a whole, or word by word.
    pub(crate) is_whole: bool,
    /// Whether the descriptor's format is used as such.
    pub(crate) is_formatted: bool,
    pub(crate) layout: Layout,
}

/// Which descriptors a processor has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    Gfx9,
    Gfx10,
    Gfx11,
    Gfx12,
    Gfx1250,
}

impl Layout {
    pub(crate) fn of(generation: Generation) -> Self {
        match generation {
            Generation::Gfx10 => Self::Gfx10,
            Generation::Gfx11 => Self::Gfx11,
            Generation::Gfx12 => Self::Gfx12,
            Generation::Gfx125 => Self::Gfx1250,
            _ => Self::Gfx9,
        }
    }

    pub(crate) fn unpack(bits: u64) -> Self {
        match bits & 7 {
            0 => Self::Gfx9,
            1 => Self::Gfx10,
            2 => Self::Gfx11,
            3 => Self::Gfx12,
            _ => Self::Gfx1250,
        }
    }
}

impl BufferAccess {
    pub(crate) fn pack(self) -> u64 {
        u64::from(self.offset)
            | u64::from(self.has_offset) << 32
            | u64::from(self.has_index) << 33
            | (self.layout as u64) << 34
            | u64::from(self.is_whole) << 37
            | u64::from(self.is_formatted) << 38
            | u64::from(self.bytes) << 40
    }

    /// How many words may be accessed: they are checked one by one, unless they belong together.
    fn reach(self, room: Room, bytes: u64) -> u64 {
        match self.is_whole {
            true => room.parts(bytes).saturating_mul(4),
            false => room.parts(bytes.min(4)),
        }
    }

    fn unpack(bits: u64) -> Self {
        Self {
            offset: bits as u32,
            has_offset: bits >> 32 & 1 == 1,
            has_index: bits >> 33 & 1 == 1,
            layout: Layout::unpack(bits >> 34),
            is_whole: bits >> 37 & 1 == 1,
            is_formatted: bits >> 38 & 1 == 1,
            bytes: (bits >> 40) as u8,
        }
    }
}

impl Resource {
    fn new(words: [u32; 4], access: BufferAccess) -> Self {
        let [w0, w1, w2, w3] = words.map(u64::from);
        let layout = access.layout;
        if layout == Layout::Gfx1250 {
            let swizzles = w3 >> 28 & 1 == 1;
            return Self {
                base: (w0 | w1 << 32) & ((1 << 57) - 1),
                stride: (w3 >> 12 & 0x3fff) * SCALES[(w3 >> 26 & 3) as usize],
                records: w1 >> 25 | w2 << 7 | (w3 & 0x3f) << 39,
                element: if swizzles { 16 } else { 0 },
                adds_lane: false,
                index_stride: 32,
                bounds: if swizzles { Bounds::None } else { Bounds::Total(w3 >> 29 & 1 == 1) },
                layout,
            };
        }
        let adds_lane = w3 >> 23 & 1 == 1;
        let mut stride = w1 >> 16 & 0x3fff;
        if layout == Layout::Gfx9 && adds_lane && !access.is_formatted {
            stride |= (w3 >> 15 & 15) << 14;
        }
        if layout == Layout::Gfx12 {
            stride *= SCALES[(w3 >> 18 & 3) as usize];
        }
        let element = match (layout, w1 >> 30 & 3) {
            (Layout::Gfx9 | Layout::Gfx10, mode) => (mode >> 1) * 4,
            (_, 1) => 4,
            (_, 3) => 16,
            _ => 0,
        };
        let bounds = match (layout, w3 >> 28 & 3) {
            (Layout::Gfx9, _) if adds_lane && !access.has_index => Bounds::None,
            (Layout::Gfx9, _) if access.has_index && stride != 0 => Bounds::Index,
            (Layout::Gfx9, _) => Bounds::Start,
            (layout, 0) => Bounds::Structured(layout != Layout::Gfx10),
            (_, 1) => Bounds::Index,
            (_, 2) => Bounds::Open,
            (layout, _) if element != 0 && stride != 0 => {
                Bounds::Structured(layout != Layout::Gfx10)
            }
            _ => Bounds::End,
        };
        Self {
            base: w0 | (w1 & 0xffff) << 32,
            stride,
            records: w2,
            element,
            adds_lane,
            index_stride: 8 << (w3 >> 21 & 3),
            bounds,
            layout,
        }
    }

    /// What may be accessed from a place on.
    fn room(&self, spot: Spot) -> Room {
        let Spot { index, offset, scalar } = spot;
        let has_record = index < self.records;
        match self.bounds {
            Bounds::Start => Room::until_start(self.records, offset),
            Bounds::End => Room::until_end(self.records, offset + scalar),
            Bounds::Structured(true) if has_record => Room::until_end(self.stride, offset),
            Bounds::Structured(false) if has_record => Room::until_start(self.stride, offset),
            Bounds::Total(by_record) => {
                let total = Room::until_end(self.records, index * self.stride + offset + scalar);
                let record = Room::until_end(self.stride, offset + scalar);
                if by_record && record.bytes < total.bytes { record } else { total }
            }
            Bounds::Index if has_record => Room::ALL,
            Bounds::Open if self.records != 0 => Room::ALL,
            Bounds::None => Room::ALL,
            _ => Room::NONE,
        }
    }

    /// Where it is in memory.
    fn address(&self, spot: Spot) -> u64 {
        let Spot { index, mut offset, mut scalar } = spot;
        if self.element == 0 {
            let place = index.wrapping_mul(self.stride).wrapping_add(offset);
            return self.base.wrapping_add(scalar).wrapping_add(place);
        }
        if matches!(self.layout, Layout::Gfx12 | Layout::Gfx1250) {
            offset += scalar;
            scalar = 0;
        }
        let (rows, column) = (index / self.index_stride, index % self.index_stride);
        let row = rows * self.stride + offset / self.element * self.element;
        let place = row * self.index_stride + column * self.element + offset % self.element;
        self.base.wrapping_add(scalar).wrapping_add(place)
    }
}

/// Where a buffer begins, and how many bytes it has, as scalar accesses see it.
pub(crate) fn scalar_buffer(words: [u32; 4], layout: Layout) -> (u64, u64) {
    let access = BufferAccess {
        offset: 0,
        has_offset: false,
        has_index: false,
        bytes: 4,
        is_whole: false,
        is_formatted: true,
        layout,
    };
    let Resource { base, stride, records, .. } = Resource::new(words, access);
    let size = if layout == Layout::Gfx1250 { records } else { records * stride.max(1) };
    (base, size)
}

/// What a stride is multiplied by.
const SCALES: [u64; 4] = [1, 4, 8, 32];

/// The vector registers from `a` on (index before offset), the descriptor `b`, the scalar offset `c`.
pub(crate) struct Buffer;

impl<const C: usize> Body<C> for Buffer {
    #[inline(always)]
    fn run(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
        if !plain_buffer(wave, step) {
            buffer(wave, step);
        }
    }
}

impl<const C: usize> Row<C> for Buffer {
    const SPACE: Space = Space::Global;

    #[inline(always)]
    fn first(wave: &Wave<C>, step: &Step<C>, stride: u32) -> Option<u64> {
        let first = first_of_row(&wave.v[usize::from(step.a)], stride)?;
        let last = first + (Wave::<C>::LANES as u32 - 1) * stride;
        Some(plain_base(wave, step, last)?.wrapping_add(first.into()))
    }
}

/// Makes addresses where all lanes are in bounds of a plain buffer; says whether they are.
#[inline(always)]
fn plain_buffer<const C: usize>(wave: &mut Wave<C>, step: &Step<C>) -> bool {
    let offsets = &wave.v[usize::from(step.a)];
    let mut largest = 0;
    for at in 0..C {
        for lane in 0..8 {
            largest = largest.max(offsets.0[at][lane]);
        }
    }
    let Some(base) = plain_base(wave, step, largest).filter(|_| wave.full) else { return false };
    for at in 0..C {
        for lane in 0..8 {
            wave.addresses[at * 8 + lane] = base.wrapping_add(offsets.0[at][lane].into());
        }
    }
    wave.space = Space::Global;
    wave.valid = wave.active;
    true
}

/// Where the offset 0 of a plain buffer is, one without index and swizzle, if an offset is in bounds: all that are smaller
/// are so too.
#[inline]
fn plain_base<const C: usize>(wave: &Wave<C>, step: &Step<C>, largest: u32) -> Option<u64> {
    let access = BufferAccess::unpack(step.k);
    if access.has_index || !access.has_offset || access.bytes == 0 {
        return None;
    }
    let words = [0, 1, 2, 3].map(|at| wave.s[usize::from(step.b + at)]);
    let resource = Resource::new(words, access);
    if resource.element != 0 || resource.adds_lane || is_scratch(resource) {
        return None;
    }
    let scalar = u64::from(wave.s[usize::from(step.c)]);
    let offset = largest.checked_add(access.offset)?;
    let spot = Spot { index: 0, offset: offset.into(), scalar };
    let bytes = u64::from(access.bytes);
    let is_inside = access.reach(resource.room(spot), bytes) >= bytes.div_ceil(4);
    is_inside.then_some(resource.base.wrapping_add(scalar).wrapping_add(access.offset.into()))
}

fn is_scratch(resource: Resource) -> bool {
    (SCRATCH_BASE..SCRATCH_BASE + SCRATCH_SIZE).contains(&resource.base)
}

#[inline(never)]
fn buffer<const C: usize>(wave: &mut Wave<C>, step: &Step<C>) {
    let access = BufferAccess::unpack(step.k);
    let words = [0, 1, 2, 3].map(|at| wave.s[usize::from(step.b + at)]);
    let resource = Resource::new(words, access);
    let scalar = u64::from(wave.s[usize::from(step.c)]);
    let is_scratch = is_scratch(resource);
    wave.space = if is_scratch { Space::Private } else { Space::Global };
    wave.valid = wave.active;
    let bytes = match access.bytes {
        // As the descriptor's format has it.
        0 => format::bytes(format::of_descriptor(words[3], access.layout), access.layout),
        bytes => u64::from(bytes),
    };
    for lane in crate::wave::lanes(wave.active) {
        let register = |at: u16| u64::from(wave.v[usize::from(step.a + at)].lane(lane));
        let index = if access.has_index { register(0) } else { 0 };
        let variable = if access.has_offset { register(u16::from(access.has_index)) } else { 0 };
        let mut offset = variable + u64::from(access.offset);
        if access.layout != Layout::Gfx1250 {
            offset &= 0xffff_ffff;
        }
        if is_scratch {
            // Swizzled by lane: what is left is the offset in the lane's own memory.
            let all = scalar / Wave::<C>::LANES as u64 + offset;
            wave.addresses[lane] = all;
            continue;
        }
        let index = if resource.adds_lane { index + lane as u64 } else { index };
        let spot = Spot { index, offset, scalar };
        let reach = access.reach(resource.room(spot), bytes);
        wave.reach[lane] = reach.min(4) as u8;
        if reach < bytes.div_ceil(4) {
            wave.valid &= !(1 << lane);
        }
        wave.addresses[lane] = resource.address(spot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(layout: Layout, has_index: bool) -> BufferAccess {
        BufferAccess {
            offset: 0,
            has_offset: true,
            has_index,
            bytes: 4,
            is_whole: false,
            is_formatted: false,
            layout,
        }
    }

    fn at(index: u64, offset: u64) -> Spot {
        Spot { index, offset, scalar: 0 }
    }

    #[test]
    fn raw_buffers_end_with_their_bytes() {
        let words = [0x1000, 0x1, 64, 0x3100_4000];
        let raw = Resource::new(words, access(Layout::Gfx11, false));
        assert_eq!((raw.base, raw.bounds), (0x1_0000_1000, Bounds::End));
        assert_eq!(raw.room(at(0, 60)).parts(4), 1);
        assert_eq!(raw.room(at(0, 61)).parts(4), 0);
        assert_eq!(raw.room(Spot { scalar: 4, ..at(0, 60) }).parts(4), 0);
        // gfx9 asks where a word begins, and leaves the scalar offset out.
        let raw = Resource::new(words, access(Layout::Gfx9, false));
        assert_eq!(raw.room(at(0, 61)).parts(4), 1);
        assert_eq!(raw.room(at(0, 64)).parts(4), 0);
        assert_eq!(raw.room(Spot { scalar: 4, ..at(0, 60) }).parts(4), 1);
    }

    #[test]
    fn records_are_counted() {
        let words = [0, 8 << 16, 3, 0];
        let records = Resource::new(words, access(Layout::Gfx9, true));
        assert_eq!((records.room(at(2, 4)), records.room(at(3, 0))), (Room::ALL, Room::NONE));
        assert_eq!(records.address(at(2, 4)), 20);
        let records = Resource::new(words, access(Layout::Gfx12, true));
        assert_eq!(records.room(at(2, 4)).parts(4), 1);
        assert_eq!(records.room(at(2, 6)).parts(4), 0);
        assert_eq!(records.room(at(3, 0)).parts(4), 0);
        // gfx10 asks where an access begins.
        let records = Resource::new(words, access(Layout::Gfx10, true));
        assert_eq!(records.room(at(2, 6)).parts(4), 1);
    }

    #[test]
    fn wide_descriptors_count_bytes() {
        // 100 bytes at 0x2000, records of 8 times 4.
        let words = [0x2000, 100 << 25, 0, 8 << 12 | 1 << 26 | 1 << 29];
        let wide = Resource::new(words, access(Layout::Gfx1250, true));
        assert_eq!((wide.base, wide.stride, wide.records), (0x2000, 32, 100));
        assert_eq!((wide.room(at(3, 0)).parts(4), wide.room(at(3, 4)).parts(4)), (1, 0));
        assert_eq!((wide.room(at(0, 28)).parts(4), wide.room(at(0, 32)).parts(4)), (1, 0));
    }

    #[test]
    fn swizzled_words_of_lanes_are_beside_each_other() {
        let words = [0, 4 << 16 | 1 << 31, 1 << 20, 3 << 21 | 1 << 23];
        let scratch = Resource::new(words, access(Layout::Gfx9, false));
        let place = |index, offset| scratch.address(at(index, offset));
        assert_eq!((place(0, 4), place(1, 0), place(2, 9)), (256, 4, 521));
    }
}
