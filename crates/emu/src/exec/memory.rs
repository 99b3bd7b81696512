//! Loads and stores of vector registers, at the addresses that the step before has left in the wave.

use std::marker::PhantomData;

use super::address::{Buffer, Offset, PRIVATE_APERTURE, Row, SHARED_APERTURE, Scalar64, Vector64};
use super::{Body, blend, handler, wide_handler};
use crate::error::ErrorKind;
use crate::memory::Allocation;
use crate::semantics::Type;
use crate::step::{Context, Handler, Host, Step};
use crate::wave::{Space, Vector, Wave, lanes};

/// Where an access of one lane is.
#[derive(Clone, Copy)]
pub(crate) enum Place<'m> {
    Memory(&'m Allocation, u64),
    Lds(u64),
    /// Offset in the memory of a lane.
    Private {
        lane: usize,
        offset: u64,
    },
}

/// Finds where `bytes` of a lane are; fails the wave where they are nowhere.
#[inline]
pub(crate) fn place<'m, const C: usize>(
    wave: &mut Wave<C>,
    context: &mut Context<'m>,
    lane: usize,
    bytes: u64,
    is_write: bool,
) -> Option<Place<'m>> {
    let address = wave.addresses[lane];
    let place = match wave.space {
        Space::Lds => Place::Lds(address),
        Space::Private => Place::Private { lane, offset: address },
        Space::Flat if address >> 32 == u64::from(SHARED_APERTURE) => {
            Place::Lds(address & 0xffff_ffff)
        }
        Space::Flat if is_private(address, context.wide_private) => {
            let owner = if context.wide_private { (address >> 52) as usize & 31 } else { lane };
            Place::Private { lane: owner, offset: address & 0xffff_ffff }
        }
        Space::Flat | Space::Global => {
            match context.memory.find(address, bytes, &mut context.hint) {
                Some((allocation, offset)) => {
                    let forbidden = allocation.forbids_write(offset, bytes).filter(|_| is_write);
                    if let Some(kind) = forbidden {
                        refuse(wave, kind, lane, address, bytes);
                        return None;
                    }
                    Place::Memory(allocation, offset)
                }
                None => {
                    refuse(wave, ErrorKind::OutOfBounds, lane, address, bytes);
                    return None;
                }
            }
        }
    };
    if let Place::Private { offset, .. } = place
        && offset + bytes > (wave.scratch.len() / Wave::<C>::LANES * 4) as u64
    {
        let size = wave.scratch.len() / Wave::<C>::LANES * 4;
        let detail = format!("{bytes} bytes at {offset:#x} of a lane's {size:#x} bytes of scratch");
        wave.fail(ErrorKind::OutOfBounds, 1 << lane, detail);
        return None;
    }
    Some(place)
}

#[cold]
fn refuse<const C: usize>(
    wave: &mut Wave<C>,
    kind: ErrorKind,
    lane: usize,
    address: u64,
    bytes: u64,
) {
    wave.fail_at(kind, 1 << lane, address, forbidden(kind, address, bytes));
}

/// What is wrong with an access.
#[cold]
pub(crate) fn forbidden(kind: ErrorKind, address: u64, bytes: u64) -> String {
    match kind {
        ErrorKind::ReadOnly => format!("{bytes} bytes at {address:#x} may only be read"),
        _ => format!("{bytes} bytes at {address:#x} are outside of every allocation"),
    }
}

/// Whether a flat address is in the private aperture; on gfx1250 the lane's number is in its upper bits.
pub(crate) fn is_private(address: u64, wide: bool) -> bool {
    let upper = if wide { address >> 32 & 0xf_ffff } else { address >> 32 };
    upper == u64::from(PRIVATE_APERTURE)
}

/// The word of scratch memory that holds an offset of a lane.
fn scratch_word<const C: usize>(lane: usize, offset: u64) -> usize {
    (offset / 4) as usize * Wave::<C>::LANES + lane
}

fn lds_byte(lds: &[u32], offset: u64) -> u8 {
    let word = usize::try_from(offset / 4).ok().and_then(|at| lds.get(at)).copied().unwrap_or(0);
    (word >> (offset % 4 * 8)) as u8
}

pub(crate) fn byte<const C: usize>(
    wave: &Wave<C>,
    context: &Context<'_>,
    place: Place<'_>,
    at: u64,
) -> u8 {
    match place {
        Place::Memory(allocation, offset) => allocation.load8(offset + at),
        Place::Lds(offset) => lds_byte(&context.lds, offset + at),
        Place::Private { lane, offset } => {
            let offset = offset + at;
            (wave.scratch[scratch_word::<C>(lane, offset)] >> (offset % 4 * 8)) as u8
        }
    }
}

pub(crate) fn set_byte<const C: usize>(
    wave: &mut Wave<C>,
    context: &mut Context<'_>,
    place: Place<'_>,
    at: u64,
    value: u8,
) {
    let replace = |word: &mut u32, offset: u64| {
        let shift = offset % 4 * 8;
        *word = *word & !(0xff << shift) | u32::from(value) << shift;
    };
    match place {
        Place::Memory(allocation, offset) => allocation.store8(offset + at, value),
        Place::Lds(offset) => {
            let word = usize::try_from((offset + at) / 4).ok();
            if let Some(word) = word.and_then(|word| context.lds.get_mut(word)) {
                replace(word, offset + at);
            }
        }
        Place::Private { lane, offset } => {
            replace(&mut wave.scratch[scratch_word::<C>(lane, offset + at)], offset + at);
        }
    }
}

/// One word of an access; what is past the end of LDS is zero.
#[inline]
pub(crate) fn word<const C: usize>(
    wave: &Wave<C>,
    context: &Context<'_>,
    place: Place<'_>,
    at: u64,
) -> u32 {
    match place {
        Place::Memory(allocation, offset) => allocation.load32(offset + at),
        Place::Lds(offset) if offset % 4 == 0 => {
            let word = usize::try_from((offset + at) / 4).ok();
            word.and_then(|word| context.lds.get(word)).copied().unwrap_or(0)
        }
        Place::Private { lane, offset } if offset % 4 == 0 => {
            wave.scratch[scratch_word::<C>(lane, offset + at)]
        }
        _ => u32::from_le_bytes([0, 1, 2, 3].map(|part| byte(wave, context, place, at + part))),
    }
}

#[inline]
pub(crate) fn set_word<const C: usize>(
    wave: &mut Wave<C>,
    context: &mut Context<'_>,
    place: Place<'_>,
    at: u64,
    value: u32,
) {
    match place {
        Place::Memory(allocation, offset) => allocation.store32(offset + at, value),
        Place::Lds(offset) if offset % 4 == 0 => {
            let word = usize::try_from((offset + at) / 4).ok();
            if let Some(word) = word.and_then(|word| context.lds.get_mut(word)) {
                *word = value;
            }
        }
        Place::Private { lane, offset } if offset % 4 == 0 => {
            wave.scratch[scratch_word::<C>(lane, offset + at)] = value;
        }
        _ => {
            for (part, value) in (0..).zip(value.to_le_bytes()) {
                set_byte(wave, context, place, at + part, value);
            }
        }
    }
}

/// How a part of a register is loaded or stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) bytes: u8,
    pub(crate) is_signed: bool,
    /// Into or from half of a register; the other half is kept, or zero where `clears` is set.
    pub(crate) half: Option<bool>,
    pub(crate) clears: bool,
}

impl Part {
    /// Of a type that is less than a register, or half of one.
    pub(crate) fn of(ty: Type) -> Option<Self> {
        let (bytes, is_signed, half) = match ty {
            Type::U8 => (1, false, None),
            Type::I8 => (1, true, None),
            Type::U16 => (2, false, None),
            Type::I16 => (2, true, None),
            Type::U8D16 => (1, false, Some(false)),
            Type::U8D16Hi => (1, false, Some(true)),
            Type::I8D16 => (1, true, Some(false)),
            Type::I8D16Hi => (1, true, Some(true)),
            Type::U16D16 => (2, false, Some(false)),
            Type::U16D16Hi => (2, false, Some(true)),
            _ => return None,
        };
        Some(Self { bytes, is_signed, half, clears: false })
    }

    pub(crate) fn pack(self) -> u64 {
        let half = self.half.map_or(0, |high| 1 + u64::from(high));
        u64::from(self.bytes)
            | u64::from(self.is_signed) << 8
            | half << 9
            | u64::from(self.clears) << 11
    }

    pub(crate) fn unpack(bits: u64) -> Self {
        let half = match bits >> 9 & 3 {
            0 => None,
            half => Some(half == 2),
        };
        Self { bytes: bits as u8, is_signed: bits >> 8 & 1 == 1, half, clears: bits >> 11 & 1 == 1 }
    }

    /// The register after a load into it.
    pub(crate) fn merged(self, old: u32, loaded: u32) -> u32 {
        self.placement().merged(old, loaded)
    }

    #[inline(always)]
    fn placement(self) -> Placement {
        let kept = match self.half {
            _ if self.clears => 0,
            None => 0,
            Some(false) => 0xffff_0000,
            Some(true) => 0xffff,
        };
        let taken = match self.half {
            None => u32::MAX,
            Some(false) => 0xffff,
            Some(true) => 0xffff_0000,
        };
        let shift = if self.half == Some(true) { 16 } else { 0 };
        let sign = if self.is_signed { 1 << (u32::from(self.bytes) * 8 - 1) } else { 0 };
        Placement { sign, shift, taken, kept }
    }
}

/// How a loaded part becomes a register, as masks: the same for all lanes.
#[derive(Clone, Copy)]
struct Placement {
    /// The bit that those above it repeat.
    sign: u32,
    shift: u32,
    taken: u32,
    /// What stays of the register.
    kept: u32,
}

impl Placement {
    #[inline(always)]
    fn merged(self, old: u32, loaded: u32) -> u32 {
        let wide = (loaded ^ self.sign).wrapping_sub(self.sign);
        old & self.kept | wide << self.shift & self.taken
    }
}

/// How many registers a type of whole ones has.
pub(crate) fn words(ty: Type) -> Option<u16> {
    Some(match ty {
        Type::B32 | Type::U32 | Type::I32 | Type::F32 => 1,
        Type::B64 | Type::U64 | Type::I64 | Type::F64 => 2,
        Type::B96 => 3,
        Type::B128 => 4,
        Type::B256 => 8,
        Type::B512 => 16,
        _ => return None,
    })
}

/// Loads `N` registers from `d` on, from the addresses of `A`.
struct LoadAt<A, const N: usize>(PhantomData<A>);

impl<const C: usize, A: Row<C>, const N: usize> Body<C> for LoadAt<A, N> {
    #[inline(always)]
    fn run(wave: &mut Wave<C>, context: &mut Context<'_>, step: &Step<C>) {
        if !load_row::<C, A, N>(wave, context, step) {
            A::run(wave, context, step);
            load_words::<C, N>(wave, context, step);
        }
    }
}

/// Stores `N` registers from `d` on, at the addresses of `A`.
struct StoreAt<A, const N: usize>(PhantomData<A>);

impl<const C: usize, A: Row<C>, const N: usize> Body<C> for StoreAt<A, N> {
    #[inline(always)]
    fn run(wave: &mut Wave<C>, context: &mut Context<'_>, step: &Step<C>) {
        if !store_row::<C, A, N>(wave, context, step) {
            A::run(wave, context, step);
            store_words::<C, N>(wave, context, &Step { a: step.d, ..*step });
        }
    }
}

/// Where the first lane is, if all lanes are active and follow each other without gaps.
#[inline(always)]
fn row<const C: usize, A: Row<C>, const N: usize>(wave: &Wave<C>, step: &Step<C>) -> Option<u64> {
    if !wave.full {
        return None;
    }
    A::first(wave, step, N as u32 * 4).filter(|it| it.is_multiple_of(4))
}

/// The part of an allocation that lanes in a row access.
#[inline(always)]
fn row_of_memory<'m, const C: usize, const N: usize>(
    space: Space,
    context: &mut Context<'m>,
    first: u64,
) -> Option<(&'m Allocation, u64)> {
    let bytes = (Wave::<C>::LANES * N * 4) as u64;
    if space == Space::Flat && first.saturating_add(bytes) > APERTURES {
        return None;
    }
    context.memory.find(first, bytes, &mut context.hint)
}

/// Loads where lanes are in a row; says whether they were.
#[inline(always)]
fn load_row<const C: usize, A: Row<C>, const N: usize>(
    wave: &mut Wave<C>,
    context: &mut Context<'_>,
    step: &Step<C>,
) -> bool {
    let Some(first) = row::<C, A, N>(wave, step) else { return false };
    match A::SPACE {
        Space::Global | Space::Flat => {
            let Some((allocation, start)) = row_of_memory::<C, N>(A::SPACE, context, first) else {
                return false;
            };
            let Some(to) = registers_mut::<C, N>(wave, step.d) else { return false };
            if let [to] = to.as_mut_slice() {
                allocation.load_run(start, to.0.as_flattened_mut());
                return true;
            }
            allocation.load_row::<N>(start, Wave::<C>::LANES, |lane, values| {
                set_row(to, lane, values);
            });
            true
        }
        Space::Lds => {
            let words = context.lds.get((first / 4) as usize..);
            let Some(words) = words.and_then(|it| it.get(..Wave::<C>::LANES * N)) else {
                return false;
            };
            let Some(to) = registers_mut::<C, N>(wave, step.d) else { return false };
            if let [to] = to.as_mut_slice() {
                to.0.as_flattened_mut().copy_from_slice(words);
                return true;
            }
            for (lane, values) in words.as_chunks::<N>().0.iter().enumerate() {
                set_row(to, lane, *values);
            }
            true
        }
        Space::Private => false,
    }
}

/// Stores where lanes are in a row; says whether they were.
#[inline(always)]
fn store_row<const C: usize, A: Row<C>, const N: usize>(
    wave: &Wave<C>,
    context: &mut Context<'_>,
    step: &Step<C>,
) -> bool {
    let Some(first) = row::<C, A, N>(wave, step) else { return false };
    let from = wave.v.get(usize::from(step.d)..).and_then(<[_]>::first_chunk::<N>);
    let Some(from) = from else { return false };
    match A::SPACE {
        Space::Global | Space::Flat => {
            let Some((allocation, start)) = row_of_memory::<C, N>(A::SPACE, context, first) else {
                return false;
            };
            if allocation.forbids_write(start, (Wave::<C>::LANES * N * 4) as u64).is_some() {
                return false;
            }
            if let [from] = from.as_slice() {
                allocation.store_run(start, from.0.as_flattened());
                return true;
            }
            for lane in 0..Wave::<C>::LANES {
                allocation.store::<N>(start + (lane * N * 4) as u64, row_at(from, lane));
            }
            true
        }
        Space::Lds => {
            let words = context.lds.get_mut((first / 4) as usize..);
            let Some(words) = words.and_then(|it| it.get_mut(..Wave::<C>::LANES * N)) else {
                return false;
            };
            if let [from] = from.as_slice() {
                words.copy_from_slice(from.0.as_flattened());
                return true;
            }
            for (lane, values) in words.as_chunks_mut::<N>().0.iter_mut().enumerate() {
                *values = row_at(from, lane);
            }
            true
        }
        Space::Private => false,
    }
}

#[inline(always)]
fn registers_mut<const C: usize, const N: usize>(
    wave: &mut Wave<C>,
    first: u16,
) -> Option<&mut [Vector<C>; N]> {
    wave.v.get_mut(usize::from(first)..).and_then(<[_]>::first_chunk_mut::<N>)
}

#[inline(always)]
fn set_row<const C: usize, const N: usize>(
    registers: &mut [Vector<C>; N],
    lane: usize,
    values: [u32; N],
) {
    for at in 0..N {
        registers[at].set_lane(lane, values[at]);
    }
}

#[inline(always)]
fn row_at<const C: usize, const N: usize>(registers: &[Vector<C>; N], lane: usize) -> [u32; N] {
    let mut values = [0; N];
    for at in 0..N {
        values[at] = registers[at].lane(lane);
    }
    values
}

/// Loads `N` registers, wherever lanes are.
#[inline(never)]
fn load_words<const C: usize, const N: usize>(
    wave: &mut Wave<C>,
    context: &mut Context<'_>,
    step: &Step<C>,
) {
    if wave.valid == wave.active {
        let is_done = match wave.space {
            Space::Global | Space::Flat => load_together::<C, N>(wave, context, step),
            Space::Lds => load_lds::<C, N>(wave, context, step),
            Space::Private => load_scratch::<C, N>(wave, step),
        };
        if is_done {
            return;
        }
    }
    let (valid, active) = (wave.valid, wave.active);
    for lane in lanes(active) {
        let count = reach(wave, valid, lane, N as u16);
        let mut values = [0; N];
        if usize::from(count) == N {
            let Some(place) = place(wave, context, lane, N as u64 * 4, false) else { return };
            values = words_at(wave, context, place);
        } else if !read(wave, context, lane, count, &mut values) {
            return;
        }
        set_lanes(wave, step.d, lane, values);
    }
}

/// The registers that are loaded from one place: those of memory in as few pieces as there are.
#[inline]
fn words_at<const C: usize, const N: usize>(
    wave: &Wave<C>,
    context: &Context<'_>,
    place: Place<'_>,
) -> [u32; N] {
    match place {
        Place::Memory(allocation, offset) => allocation.load(offset),
        _ => std::array::from_fn(|at| word(wave, context, place, at as u64 * 4)),
    }
}

#[inline]
fn set_lanes<const C: usize, const N: usize>(
    wave: &mut Wave<C>,
    first: u16,
    lane: usize,
    values: [u32; N],
) {
    for (register, value) in wave.v[usize::from(first)..].iter_mut().zip(values) {
        register.set_lane(lane, value);
    }
}

#[inline]
fn lanes_of<const C: usize, const N: usize>(wave: &Wave<C>, first: u16, lane: usize) -> [u32; N] {
    std::array::from_fn(|at| wave.v[usize::from(first) + at].lane(lane))
}

/// Reads `count` words of a lane; says whether they are anywhere.
pub(crate) fn read<const C: usize>(
    wave: &mut Wave<C>,
    context: &mut Context<'_>,
    lane: usize,
    count: u16,
    words: &mut [u32],
) -> bool {
    if count == 0 {
        return true;
    }
    let Some(place) = place(wave, context, lane, u64::from(count) * 4, false) else {
        return false;
    };
    for (at, value) in (0..count).zip(words) {
        *value = word(wave, context, place, u64::from(at) * 4);
    }
    true
}

/// How many of `count` words of a lane may be accessed.
pub(crate) fn reach<const C: usize>(wave: &Wave<C>, valid: u64, lane: usize, count: u16) -> u16 {
    if valid >> lane & 1 == 1 { count } else { u16::from(wave.reach[lane]).min(count) }
}

/// Addresses from here on may be in an aperture.
const APERTURES: u64 = (SHARED_APERTURE as u64) << 32;
const _: () = assert!(SHARED_APERTURE < PRIVATE_APERTURE);

/// Loads from aligned words of LDS; says whether all were inside of it.
#[inline]
fn load_lds<const C: usize, const N: usize>(
    wave: &mut Wave<C>,
    context: &Context<'_>,
    step: &Step<C>,
) -> bool {
    load_lds_at::<C, N>(wave, context, step.d, 0)
}

/// The same so many bytes behind the addresses, into the registers from `first` on.
#[inline(always)]
pub(crate) fn load_lds_at<const C: usize, const N: usize>(
    wave: &mut Wave<C>,
    context: &Context<'_>,
    first: u16,
    offset: u64,
) -> bool {
    let Wave { v, addresses, active, .. } = wave;
    let to = v.get_mut(usize::from(first)..).and_then(<[_]>::first_chunk_mut::<N>);
    let Some(to) = to else { return false };
    for lane in lanes(*active) {
        let at = (addresses[lane] + offset) & 0xffff_ffff;
        let words = context.lds.get((at / 4) as usize..).and_then(<[u32]>::first_chunk::<N>);
        let Some(words) = words.filter(|_| at.is_multiple_of(4)) else { return false };
        set_row(to, lane, *words);
    }
    true
}

/// Stores into aligned words of LDS; says whether all were inside of it.
#[inline]
fn store_lds<const C: usize, const N: usize>(
    wave: &Wave<C>,
    context: &mut Context<'_>,
    step: &Step<C>,
) -> bool {
    let from = wave.v.get(usize::from(step.a)..).and_then(<[_]>::first_chunk::<N>);
    let Some(from) = from else { return false };
    for lane in lanes(wave.active) {
        let at = wave.addresses[lane];
        let words = context.lds.get_mut((at / 4) as usize..);
        let words = words.and_then(<[u32]>::first_chunk_mut::<N>);
        let Some(words) = words.filter(|_| at.is_multiple_of(4)) else { return false };
        *words = row_at(from, lane);
    }
    true
}

/// Whether the accesses of all active lanes are aligned words of their scratch memory.
#[inline]
fn are_in_scratch<const C: usize, const N: usize>(wave: &Wave<C>) -> bool {
    let words = (wave.scratch.len() / Wave::<C>::LANES) as u64;
    lanes(wave.active).all(|lane| {
        let at = wave.addresses[lane];
        at.is_multiple_of(4) && at / 4 + N as u64 <= words
    })
}

/// Loads from aligned words of scratch memory; says whether all were inside of it.
#[inline]
fn load_scratch<const C: usize, const N: usize>(wave: &mut Wave<C>, step: &Step<C>) -> bool {
    if !are_in_scratch::<C, N>(wave) {
        return false;
    }
    for lane in lanes(wave.active) {
        let first = scratch_word::<C>(lane, wave.addresses[lane]);
        for at in 0..N {
            let value = wave.scratch[first + at * Wave::<C>::LANES];
            wave.v[usize::from(step.d) + at].set_lane(lane, value);
        }
    }
    true
}

/// Stores into aligned words of scratch memory; says whether all were inside of it.
#[inline]
fn store_scratch<const C: usize, const N: usize>(wave: &mut Wave<C>, step: &Step<C>) -> bool {
    if !are_in_scratch::<C, N>(wave) {
        return false;
    }
    for lane in lanes(wave.active) {
        let first = scratch_word::<C>(lane, wave.addresses[lane]);
        for at in 0..N {
            let value = wave.v[usize::from(step.a) + at].lane(lane);
            wave.scratch[first + at * Wave::<C>::LANES] = value;
        }
    }
    true
}

/// Loads where all lanes are in one allocation; says whether they were.
#[inline]
fn load_together<const C: usize, const N: usize>(
    wave: &mut Wave<C>,
    context: &mut Context<'_>,
    step: &Step<C>,
) -> bool {
    let Some(first) = lanes(wave.active).next() else { return true };
    let Some(allocation) = common(wave, context, first, N as u64 * 4) else { return false };
    let Wave { v, addresses, active, .. } = wave;
    let to = v.get_mut(usize::from(step.d)..).and_then(<[_]>::first_chunk_mut::<N>);
    let Some(to) = to else { return false };
    for lane in lanes(*active) {
        let Some(offset) = allocation.offset(addresses[lane], N as u64 * 4) else { return false };
        set_row(to, lane, allocation.load::<N>(offset));
    }
    true
}

/// The allocation that so many bytes of a lane are in, if no active lane is in an aperture.
#[inline]
fn common<'m, const C: usize>(
    wave: &Wave<C>,
    context: &mut Context<'m>,
    lane: usize,
    bytes: u64,
) -> Option<&'m Allocation> {
    let is_outside = |lane: usize| wave.addresses[lane] < APERTURES;
    if wave.space == Space::Flat && !lanes(wave.active).all(is_outside) {
        return None;
    }
    Some(context.memory.find(wave.addresses[lane], bytes, &mut context.hint)?.0)
}

/// Stores `N` registers, wherever lanes are.
#[inline(never)]
fn store_words<const C: usize, const N: usize>(
    wave: &mut Wave<C>,
    context: &mut Context<'_>,
    step: &Step<C>,
) {
    if wave.valid == wave.active {
        let is_done = match wave.space {
            Space::Global | Space::Flat => store_together::<C, N>(wave, context, step),
            Space::Lds => store_lds::<C, N>(wave, context, step),
            Space::Private => store_scratch::<C, N>(wave, step),
        };
        if is_done {
            return;
        }
    }
    for lane in lanes(wave.active) {
        let count = reach(wave, wave.valid, lane, N as u16);
        if count == 0 {
            continue;
        }
        let Some(place) = place(wave, context, lane, u64::from(count) * 4, true) else { return };
        let values: [u32; N] = lanes_of(wave, step.a, lane);
        if let Place::Memory(allocation, offset) = place
            && usize::from(count) == N
        {
            allocation.store(offset, values);
            continue;
        }
        for (at, value) in values.into_iter().take(count.into()).enumerate() {
            set_word(wave, context, place, at as u64 * 4, value);
        }
    }
}

/// Stores where all lanes are in one allocation; says whether they were. What was stored before a lane that was not is
/// stored again.
#[inline]
fn store_together<const C: usize, const N: usize>(
    wave: &Wave<C>,
    context: &mut Context<'_>,
    step: &Step<C>,
) -> bool {
    let bytes = N as u64 * 4;
    let Some(first) = lanes(wave.active).next() else { return true };
    let Some(allocation) = common(wave, context, first, bytes) else { return false };
    let from = wave.v.get(usize::from(step.a)..).and_then(<[_]>::first_chunk::<N>);
    let Some(from) = from else { return false };
    let mut left = wave.active;
    while left != 0 {
        let lane = left.trailing_zeros() as usize;
        left &= left - 1;
        let address = wave.addresses[lane];
        let Some(offset) = allocation.offset(address, bytes) else { return false };
        // Two neighbours fill a word of memory, which needs no reading then.
        let has_neighbour = N == 1
            && offset.is_multiple_of(8)
            && left >> lane & 2 == 2
            && wave.addresses[lane + 1] == address + 4;
        let is_forbidden = |bytes| allocation.forbids_write(offset, bytes).is_some();
        if has_neighbour && !is_forbidden(2 * bytes) {
            let data = &from[0];
            allocation.store(offset, [data.lane(lane), data.lane(lane + 1)]);
            left &= left - 1;
        } else if is_forbidden(bytes) {
            return false;
        } else {
            allocation.store(offset, row_at(from, lane));
        }
    }
    true
}

/// Loads a part of the register `d`.
struct LoadPart;

impl<const C: usize> Body<C> for LoadPart {
    #[inline(always)]
    fn run(wave: &mut Wave<C>, context: &mut Context<'_>, step: &Step<C>) {
        let part = Part::unpack(step.k);
        let mut loaded = [[0; 8]; C];
        let lanes = loaded.as_flattened_mut();
        let together =
            wave.valid == wave.active && parts_together(wave, context, part.bytes, lanes);
        if !together && !parts_by_lane(wave, context, part.bytes, lanes) {
            return;
        }
        let (to, placement) = (&mut wave.v[usize::from(step.d)].0, part.placement());
        for at in 0..C {
            let mask = if wave.full { [u32::MAX; 8] } else { wave.mask.0[at] };
            let mut merged = [0; 8];
            for lane in 0..8 {
                merged[lane] = placement.merged(to[at][lane], loaded[at][lane]);
            }
            blend(&mut to[at], &merged, &mask);
        }
    }
}

/// What lanes load, one by one; says whether all of it is anywhere.
#[inline(never)]
fn parts_by_lane<const C: usize>(
    wave: &mut Wave<C>,
    context: &mut Context<'_>,
    bytes: u8,
    loaded: &mut [u32],
) -> bool {
    let valid = wave.valid;
    for lane in lanes(wave.active) {
        if valid >> lane & 1 == 0 {
            continue;
        }
        let Some(place) = place(wave, context, lane, bytes.into(), false) else { return false };
        loaded[lane] = match (place, bytes) {
            (Place::Memory(allocation, offset), 2) => allocation.load16(offset).into(),
            (_, 2) => u16::from_le_bytes([0, 1].map(|at| byte(wave, context, place, at))).into(),
            _ => byte(wave, context, place, 0).into(),
        };
    }
    true
}

/// The same where all lanes are in LDS or in one allocation; says whether they were.
#[inline(never)]
fn parts_together<const C: usize>(
    wave: &Wave<C>,
    context: &mut Context<'_>,
    bytes: u8,
    loaded: &mut [u32],
) -> bool {
    let Some(first) = lanes(wave.active).next() else { return true };
    match wave.space {
        Space::Lds if bytes == 2 => {
            for lane in lanes(wave.active) {
                loaded[lane] = lds_part::<2>(&context.lds, wave.addresses[lane]);
            }
        }
        Space::Lds => {
            for lane in lanes(wave.active) {
                loaded[lane] = lds_part::<1>(&context.lds, wave.addresses[lane]);
            }
        }
        Space::Global | Space::Flat => {
            let size = u64::from(bytes);
            let Some(allocation) = common(wave, context, first, size) else { return false };
            for lane in lanes(wave.active) {
                let offset = allocation.offset(wave.addresses[lane], size);
                let Some(offset) = offset else { return false };
                loaded[lane] = match bytes {
                    2 => allocation.load16(offset).into(),
                    _ => allocation.load8(offset).into(),
                };
            }
        }
        Space::Private => return false,
    }
    true
}

/// Stores parts where all lanes are in LDS or in one allocation; says whether they were.
#[inline(never)]
fn store_parts_together<const C: usize>(
    wave: &Wave<C>,
    context: &mut Context<'_>,
    register: u16,
    part: Part,
) -> bool {
    let Some(first) = lanes(wave.active).next() else { return true };
    let shift = if part.half == Some(true) { 16 } else { 0 };
    let data = &wave.v[usize::from(register)];
    let value = |lane: usize| data.lane(lane) >> shift;
    match wave.space {
        Space::Lds if part.bytes == 2 => {
            for lane in lanes(wave.active) {
                set_lds_part::<2>(&mut context.lds, wave.addresses[lane], value(lane));
            }
        }
        Space::Lds => {
            for lane in lanes(wave.active) {
                set_lds_part::<1>(&mut context.lds, wave.addresses[lane], value(lane));
            }
        }
        Space::Global | Space::Flat => {
            let size = u64::from(part.bytes);
            let Some(allocation) = common(wave, context, first, size) else { return false };
            for lane in lanes(wave.active) {
                let offset = allocation.offset(wave.addresses[lane], size);
                let Some(offset) =
                    offset.filter(|it| allocation.forbids_write(*it, size).is_none())
                else {
                    return false;
                };
                match part.bytes {
                    2 => allocation.store16(offset, value(lane) as u16),
                    _ => allocation.store8(offset, value(lane) as u8),
                }
            }
        }
        Space::Private => return false,
    }
    true
}

/// One or two bytes of LDS; what is past its end is zero.
#[inline(always)]
fn lds_part<const BYTES: u64>(lds: &[u32], at: u64) -> u32 {
    let shift = at % 4 * 8;
    if shift + BYTES * 8 > 32 {
        return u16::from_le_bytes([0, 1].map(|part| lds_byte(lds, at + part))).into();
    }
    let word = lds.get((at / 4) as usize).copied().unwrap_or(0);
    word >> shift & (u32::MAX >> (32 - BYTES * 8))
}

/// Stores one or two bytes into LDS, as far as they are inside.
#[inline(always)]
fn set_lds_part<const BYTES: u64>(lds: &mut [u32], at: u64, value: u32) {
    let shift = at % 4 * 8;
    if shift + BYTES * 8 <= 32 {
        let part = (u32::MAX >> (32 - BYTES * 8)) << shift;
        if let Some(word) = lds.get_mut((at / 4) as usize) {
            *word = *word & !part | value << shift & part;
        }
        return;
    }
    for (at, value) in (at..).zip([value, value >> 8]) {
        set_lds_part::<1>(lds, at, value);
    }
}

/// Stores a part of the register `a`.
fn store_part<const C: usize>(wave: &mut Wave<C>, context: &mut Context<'_>, step: &Step<C>) {
    let part = Part::unpack(step.k);
    if wave.valid == wave.active && store_parts_together(wave, context, step.a, part) {
        return;
    }
    for lane in lanes(wave.valid & wave.active) {
        let Some(place) = place(wave, context, lane, part.bytes.into(), true) else { return };
        let value = wave.v[usize::from(step.a)].lane(lane);
        let value = if part.half == Some(true) { value >> 16 } else { value };
        if let (Place::Memory(allocation, offset), 2) = (place, part.bytes) {
            allocation.store16(offset, value as u16);
            continue;
        }
        for at in 0..u64::from(part.bytes) {
            set_byte(wave, context, place, at, (value >> (at * 8)) as u8);
        }
    }
}

/// The handler of a load, and what its `k` is.
pub(crate) fn load<const C: usize>(
    ty: Type,
    clears: bool,
    host: Host,
) -> Option<(Handler<C>, u64)> {
    if let Some(part) = Part::of(ty) {
        return Some((handler::<C, LoadPart>(host), Part { clears, ..part }.pack()));
    }
    let handler: Handler<C> = match words(ty)? {
        1 => load_words::<C, 1>,
        2 => load_words::<C, 2>,
        3 => load_words::<C, 3>,
        4 => load_words::<C, 4>,
        _ => return None,
    };
    Some((handler, 0))
}

/// The handler of a store, and what its `k` is.
pub(crate) fn store<const C: usize>(ty: Type) -> Option<(Handler<C>, u64)> {
    if let Some(part) = Part::of(ty) {
        return Some((store_part::<C>, part.pack()));
    }
    let handler: Handler<C> = match words(ty)? {
        1 => store_words::<C, 1>,
        2 => store_words::<C, 2>,
        3 => store_words::<C, 3>,
        4 => store_words::<C, 4>,
        _ => return None,
    };
    Some((handler, 0))
}

/// Where addresses come from that an access can make by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Vector64 { is_flat: bool },
    Scalar64 { is_flat: bool },
    Buffer,
    Lds,
}

/// The handler that makes addresses and loads.
pub(crate) fn load_at<const C: usize>(source: Source, ty: Type, host: Host) -> Option<Handler<C>> {
    Some(match source {
        Source::Vector64 { is_flat: false } => load_from::<C, Vector64<false>>(ty, host)?,
        Source::Vector64 { is_flat: true } => load_from::<C, Vector64<true>>(ty, host)?,
        Source::Scalar64 { is_flat: false } => load_from::<C, Scalar64<false>>(ty, host)?,
        Source::Scalar64 { is_flat: true } => load_from::<C, Scalar64<true>>(ty, host)?,
        Source::Buffer => load_from::<C, Buffer>(ty, host)?,
        Source::Lds => load_from::<C, Offset<true>>(ty, host)?,
    })
}

fn load_from<const C: usize, A: Row<C>>(ty: Type, host: Host) -> Option<Handler<C>> {
    Some(match words(ty)? {
        1 => wide_handler::<C, LoadAt<A, 1>>(host),
        2 => wide_handler::<C, LoadAt<A, 2>>(host),
        3 => wide_handler::<C, LoadAt<A, 3>>(host),
        4 => wide_handler::<C, LoadAt<A, 4>>(host),
        _ => return None,
    })
}

/// The handler that makes addresses and stores `d`.
pub(crate) fn store_at<const C: usize>(source: Source, ty: Type, host: Host) -> Option<Handler<C>> {
    Some(match source {
        Source::Vector64 { is_flat: false } => store_to::<C, Vector64<false>>(ty, host)?,
        Source::Vector64 { is_flat: true } => store_to::<C, Vector64<true>>(ty, host)?,
        Source::Scalar64 { is_flat: false } => store_to::<C, Scalar64<false>>(ty, host)?,
        Source::Scalar64 { is_flat: true } => store_to::<C, Scalar64<true>>(ty, host)?,
        Source::Buffer => store_to::<C, Buffer>(ty, host)?,
        Source::Lds => store_to::<C, Offset<true>>(ty, host)?,
    })
}

fn store_to<const C: usize, A: Row<C>>(ty: Type, host: Host) -> Option<Handler<C>> {
    Some(match words(ty)? {
        1 => wide_handler::<C, StoreAt<A, 1>>(host),
        2 => wide_handler::<C, StoreAt<A, 2>>(host),
        3 => wide_handler::<C, StoreAt<A, 3>>(host),
        4 => wide_handler::<C, StoreAt<A, 4>>(host),
        _ => return None,
    })
}

/// Bytes of an access.
pub(crate) fn bytes(ty: Type) -> u8 {
    match Part::of(ty) {
        Some(part) => part.bytes,
        None => words(ty).map_or(4, |words| words as u8 * 4),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_put_into_registers() {
        let part = |ty| Part::unpack(Part::of(ty).unwrap().pack());
        assert_eq!(part(Type::I8).merged(0x1111_1111, 0x80), 0xffff_ff80);
        assert_eq!(part(Type::U16D16Hi).merged(0x1111_2222, 0x3333), 0x3333_2222);
        assert_eq!(part(Type::I8D16).merged(0x1111_2222, 0x80), 0x1111_ff80);
        assert_eq!(Part { clears: true, ..part(Type::U8D16) }.merged(0x1111_2222, 5), 5);
    }
}
