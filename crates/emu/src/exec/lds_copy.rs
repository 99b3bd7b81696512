//! Copies between memory and LDS that go through no vector register: `buffer_load … lds`, `global_load_lds`, and the
//! asynchronous ones of gfx1250.

use super::memory::{Part, Place, byte, place, reach, set_byte, set_word, word};
use crate::step::{Context, Step};
use crate::wave::{Space, Wave, lanes, scalar};

/// How a copy goes, packed into a step's `k`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Copy {
    /// What is added to the address in LDS.
    pub(crate) offset: u32,
    pub(crate) kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Words(u8),
    /// A byte as it is.
    Byte,
    /// Less than a word, which becomes one in LDS.
    Part(Part),
}

impl Copy {
    pub(crate) fn pack(self) -> u64 {
        let kind = match self.kind {
            Kind::Byte => 0,
            Kind::Words(words) => 1 | u64::from(words) << 8,
            Kind::Part(part) => 2 | part.pack() << 8,
        };
        u64::from(self.offset) | kind << 32
    }

    fn unpack(bits: u64) -> Self {
        let kind = match bits >> 32 & 0xff {
            0 => Kind::Byte,
            1 => Kind::Words((bits >> 40) as u8),
            _ => Kind::Part(Part::unpack(bits >> 40)),
        };
        Self { offset: bits as u32, kind }
    }
}

impl Kind {
    /// Bytes in memory, and in LDS.
    fn bytes(self) -> (u64, u64) {
        match self {
            Self::Words(words) => (u64::from(words) * 4, u64::from(words) * 4),
            Self::Byte => (1, 1),
            Self::Part(part) => (part.bytes.into(), 4),
        }
    }
}

/// Where a lane's data are in LDS: behind the address in M0, in the order of lanes; or at its own address in `a`.
fn lds_address<const C: usize>(
    wave: &Wave<C>,
    step: &Step<C>,
    copy: Copy,
    lane: usize,
) -> Place<'static> {
    let is_of_lane = step.c == 1;
    let address = if is_of_lane {
        u64::from(wave.v[usize::from(step.a)].lane(lane).wrapping_add(copy.offset))
    } else {
        let base = wave.s[usize::from(scalar::M0)] & 0x3_fffc;
        u64::from(base) + u64::from(copy.offset) + lane as u64 * copy.kind.bytes().1
    };
    Place::Lds(address)
}

/// Where a lane's data are in LDS, and how many bytes they have there, for those who watch it.
pub(crate) fn lds_place<const C: usize>(wave: &Wave<C>, step: &Step<C>, lane: usize) -> (u64, u64) {
    let copy = Copy::unpack(step.k);
    match lds_address(wave, step, copy, lane) {
        Place::Lds(address) => (address, copy.kind.bytes().1),
        _ => (0, 0),
    }
}

/// From memory to LDS; what is out of a buffer's bounds is zero.
pub(crate) fn load<const C: usize>(wave: &mut Wave<C>, context: &mut Context<'_>, step: &Step<C>) {
    let copy = Copy::unpack(step.k);
    let valid = wave.valid;
    for lane in lanes(wave.active) {
        let to = lds_address(wave, step, copy, lane);
        let (bytes, _) = copy.kind.bytes();
        let count = reach(wave, valid, lane, bytes.div_ceil(4) as u16);
        let inside = (u64::from(count) * 4).min(bytes);
        let from = match inside {
            0 => None,
            _ => {
                let found = place(wave, context, lane, inside, false);
                if found.is_none() {
                    return;
                }
                found
            }
        };
        match copy.kind {
            Kind::Words(words) => {
                for at in 0..u16::from(words) {
                    let at_byte = u64::from(at) * 4;
                    let value = from
                        .filter(|_| at < count)
                        .map_or(0, |from| word(wave, context, from, at_byte));
                    set_word(wave, context, to, at_byte, value);
                }
            }
            Kind::Byte => {
                let value = from.map_or(0, |from| byte(wave, context, from, 0));
                set_byte(wave, context, to, 0, value);
            }
            Kind::Part(part) => {
                let mut loaded = 0;
                if let Some(from) = from {
                    for at in 0..u64::from(part.bytes) {
                        loaded |= u32::from(byte(wave, context, from, at)) << (at * 8);
                    }
                }
                set_word(wave, context, to, 0, part.merged(0, loaded));
            }
        }
    }
}

/// From LDS to memory.
pub(crate) fn store<const C: usize>(wave: &mut Wave<C>, context: &mut Context<'_>, step: &Step<C>) {
    let copy = Copy::unpack(step.k);
    for lane in lanes(wave.active & wave.valid) {
        let from = lds_address(wave, step, copy, lane);
        let (bytes, _) = copy.kind.bytes();
        let Some(to) = place(wave, context, lane, bytes, true) else { return };
        match copy.kind {
            Kind::Words(words) => {
                for at in (0..u64::from(words)).map(|at| at * 4) {
                    let value = word(wave, context, from, at);
                    set_word(wave, context, to, at, value);
                }
            }
            Kind::Byte | Kind::Part(_) => {
                let value = byte(wave, context, from, 0);
                set_byte(wave, context, to, 0, value);
            }
        }
    }
}

/// Loads those of 32 registers from `d` on that M0 has bits for, each a word further.
pub(crate) fn load_block<const C: usize>(
    wave: &mut Wave<C>,
    context: &mut Context<'_>,
    step: &Step<C>,
) {
    let mask = wave.s[usize::from(scalar::M0)];
    let first = wave.addresses;
    for at in (0..32).filter(|at| mask >> at & 1 == 1) {
        advance(wave, &first, at);
        for lane in lanes(wave.active) {
            let Some(from) = place(wave, context, lane, 4, false) else { return };
            let value = word(wave, context, from, 0);
            wave.v[usize::from(step.d + at)].set_lane(lane, value);
        }
    }
}

/// Stores those of 32 registers from `a` on that M0 has bits for.
pub(crate) fn store_block<const C: usize>(
    wave: &mut Wave<C>,
    context: &mut Context<'_>,
    step: &Step<C>,
) {
    let mask = wave.s[usize::from(scalar::M0)];
    let first = wave.addresses;
    for at in (0..32).filter(|at| mask >> at & 1 == 1) {
        advance(wave, &first, at);
        for lane in lanes(wave.active) {
            let Some(to) = place(wave, context, lane, 4, true) else { return };
            let value = wave.v[usize::from(step.a + at)].lane(lane);
            set_word(wave, context, to, 0, value);
        }
    }
}

/// Addresses of the word of a number.
fn advance<const C: usize>(wave: &mut Wave<C>, first: &[u64; 64], word: u16) {
    let is_offset = wave.space == Space::Private;
    for (address, first) in wave.addresses.iter_mut().zip(first) {
        let next = first.wrapping_add(u64::from(word) * 4);
        *address = if is_offset { next & 0xffff_ffff } else { next };
    }
}
