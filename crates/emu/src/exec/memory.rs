//! Loads and stores of vector registers, at the addresses that the step before has left in the wave.

use super::address::{PRIVATE_APERTURE, SHARED_APERTURE};
use crate::error::ErrorKind;
use crate::memory::Allocation;
use crate::semantics::Type;
use crate::step::{Context, Handler, Step};
use crate::wave::{Space, Wave, lanes};

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
    wave.fail(kind, 1 << lane, forbidden(kind, address, bytes));
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
fn is_private(address: u64, wide: bool) -> bool {
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
        let wide = match (self.bytes, self.is_signed) {
            (1, true) => i32::from(loaded as i8).cast_unsigned(),
            (2, true) => i32::from(loaded as i16).cast_unsigned(),
            _ => loaded,
        };
        let old = if self.clears { 0 } else { old };
        match self.half {
            None => wide,
            Some(false) => old & 0xffff_0000 | wide & 0xffff,
            Some(true) => old & 0xffff | wide << 16,
        }
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

/// Loads `N` registers from `d` on.
fn load_words<const C: usize, const N: usize>(
    wave: &mut Wave<C>,
    context: &mut Context<'_>,
    step: &Step<C>,
) {
    if wave.space == Space::Global
        && wave.valid == wave.active
        && load_together::<C, N>(wave, context, step)
    {
        return;
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

/// The first and the last address of the active lanes.
fn span<const C: usize>(wave: &Wave<C>) -> Option<(u64, u64)> {
    let mut active = lanes(wave.active).map(|lane| wave.addresses[lane]);
    let first = active.next()?;
    Some(active.fold((first, first), |(low, high), it| (low.min(it), high.max(it))))
}

/// Loads where all lanes are in one allocation; says whether they were.
#[inline]
fn load_together<const C: usize, const N: usize>(
    wave: &mut Wave<C>,
    context: &mut Context<'_>,
    step: &Step<C>,
) -> bool {
    let Some((low, high)) = span(wave) else { return true };
    let bytes = (high - low).saturating_add(N as u64 * 4);
    let Some((allocation, start)) = context.memory.find(low, bytes, &mut context.hint) else {
        return false;
    };
    for lane in lanes(wave.active) {
        let offset = start + (wave.addresses[lane] - low);
        set_lanes(wave, step.d, lane, allocation.load::<N>(offset));
    }
    true
}

/// Stores `N` registers from `a` on.
fn store_words<const C: usize, const N: usize>(
    wave: &mut Wave<C>,
    context: &mut Context<'_>,
    step: &Step<C>,
) {
    if wave.space == Space::Global
        && wave.valid == wave.active
        && store_together::<C, N>(wave, context, step)
    {
        return;
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

/// Stores where all lanes are in one allocation; says whether they were.
#[inline]
fn store_together<const C: usize, const N: usize>(
    wave: &Wave<C>,
    context: &mut Context<'_>,
    step: &Step<C>,
) -> bool {
    let Some((low, high)) = span(wave) else { return true };
    let bytes = (high - low).saturating_add(N as u64 * 4);
    let Some((allocation, start)) = context.memory.find(low, bytes, &mut context.hint) else {
        return false;
    };
    if allocation.forbids_write(start, bytes).is_some() {
        return false;
    }
    let mut left = wave.active;
    while left != 0 {
        let lane = left.trailing_zeros() as usize;
        left &= left - 1;
        let address = wave.addresses[lane];
        let offset = start + (address - low);
        // Two neighbours fill a word of memory, which needs no reading then.
        let has_neighbour = N == 1
            && offset.is_multiple_of(8)
            && left >> lane & 2 == 2
            && wave.addresses[lane + 1] == address + 4;
        if has_neighbour {
            let data = &wave.v[usize::from(step.a)];
            allocation.store(offset, [data.lane(lane), data.lane(lane + 1)]);
            left &= left - 1;
        } else {
            allocation.store(offset, lanes_of::<C, N>(wave, step.a, lane));
        }
    }
    true
}

/// Loads a part of the register `d`.
fn load_part<const C: usize>(wave: &mut Wave<C>, context: &mut Context<'_>, step: &Step<C>) {
    let part = Part::unpack(step.k);
    let valid = wave.valid;
    for lane in lanes(wave.active) {
        let mut loaded = 0;
        if valid >> lane & 1 == 1 {
            let Some(place) = place(wave, context, lane, part.bytes.into(), false) else { return };
            loaded = match (place, part.bytes) {
                (Place::Memory(allocation, offset), 2) => allocation.load16(offset).into(),
                (_, 2) => {
                    u16::from_le_bytes([0, 1].map(|at| byte(wave, context, place, at))).into()
                }
                _ => byte(wave, context, place, 0).into(),
            };
        }
        let old = wave.v[usize::from(step.d)].lane(lane);
        wave.v[usize::from(step.d)].set_lane(lane, part.merged(old, loaded));
    }
}

/// Stores a part of the register `a`.
fn store_part<const C: usize>(wave: &mut Wave<C>, context: &mut Context<'_>, step: &Step<C>) {
    let part = Part::unpack(step.k);
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
pub(crate) fn load<const C: usize>(ty: Type, clears: bool) -> Option<(Handler<C>, u64)> {
    if let Some(part) = Part::of(ty) {
        return Some((load_part::<C>, Part { clears, ..part }.pack()));
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
