//! The memory that an instruction is about to access.
#![allow(clippy::cast_possible_truncation, reason = "offsets in LDS and bytes of words are small")]

use hsaco_isa::effects::Access;

use super::site::VectorAccess;
use crate::exec::address::SHARED_APERTURE;
use crate::exec::lds_copy;
use crate::exec::memory::{is_private, reach};
use crate::memory::Hint;
use crate::step::{Context, Step};
use crate::wave::{Space, Wave, lanes};

/// Bytes that one lane accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) lane: usize,
    pub(super) space: In,
    pub(super) address: u64,
    pub(super) bytes: u64,
}

/// Which memory it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum In {
    Device,
    Lds,
    /// Of the lane of that number.
    Scratch(usize),
}

/// An access: what it does, and where.
pub(super) struct Touched {
    pub(super) access: Access,
    pub(super) runs: Vec<Run>,
}

/// A word of memory or LDS, and which of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) lane: usize,
    pub(super) is_lds: bool,
    /// A multiple of four.
    pub(super) address: u64,
    pub(super) bytes: u8,
}

impl Touched {
    /// The words of memory and LDS.
    pub(super) fn pieces(&self) -> impl Iterator<Item = Piece> {
        let shared = self.runs.iter().filter(|it| !matches!(it.space, In::Scratch(_)));
        shared.flat_map(|run| {
            let end = run.address.saturating_add(run.bytes);
            (run.address & !3..end).step_by(4).map(move |address| {
                let first = run.address.saturating_sub(address).min(3);
                let count = (end - address).min(4);
                let bytes = (0xf_u8 << first) & 0xf & (0xf_u8 >> (4 - count));
                let is_lds = run.space == In::Lds;
                Piece { lane: run.lane, is_lds, address, bytes }
            })
        })
    }
}

impl Piece {
    /// What is there now.
    pub(super) fn value(&self, context: &Context<'_>) -> u32 {
        if self.is_lds {
            return context.lds.get((self.address / 4) as usize).copied().unwrap_or(0);
        }
        let found = context.memory.find(self.address, 4, &mut Hint::default());
        found.map_or(0, |(allocation, offset)| allocation.load32(offset))
    }
}

/// Where lanes go, once a step has made addresses; `last` is the step that goes there.
pub(super) fn of_lanes<const C: usize>(
    access: VectorAccess,
    last: &Step<C>,
    wave: &Wave<C>,
    context: &Context<'_>,
) -> Touched {
    let mut runs = Vec::with_capacity(64);
    let Some(bytes) = access.bytes.map(u64::from) else {
        return Touched { access: access.access, runs };
    };
    let offsets = match access.is_double {
        true => [last.k & 0xffff_ffff, last.k >> 32],
        false => [0; 2],
    };
    for lane in lanes(wave.active) {
        let count = reach(wave, wave.valid, lane, bytes.div_ceil(4) as u16);
        let size = bytes.min(u64::from(count) * 4);
        if size == 0 {
            continue;
        }
        for offset in offsets.iter().take(1 + usize::from(access.is_double)) {
            let address = wave.addresses[lane].wrapping_add(*offset);
            let (space, address) = place(wave, context, lane, address);
            runs.push(Run { lane, space, address, bytes: size });
        }
    }
    Touched { access: access.access, runs }
}

/// The other side of a copy between memory and LDS.
pub(super) fn of_copy<const C: usize>(
    access: VectorAccess,
    last: &Step<C>,
    wave: &Wave<C>,
) -> Option<Touched> {
    let access = access.lds?;
    let runs = lanes(wave.active)
        .map(|lane| {
            let (address, bytes) = lds_copy::lds_place(wave, last, lane);
            Run { lane, space: In::Lds, address, bytes }
        })
        .collect();
    Some(Touched { access, runs })
}

pub(super) fn place<const C: usize>(
    wave: &Wave<C>,
    context: &Context<'_>,
    lane: usize,
    address: u64,
) -> (In, u64) {
    let offset = address & 0xffff_ffff;
    match wave.space {
        Space::Lds => (In::Lds, offset),
        Space::Private => (In::Scratch(lane), address),
        Space::Flat if address >> 32 == u64::from(SHARED_APERTURE) => (In::Lds, offset),
        Space::Flat if is_private(address, context.wide_private) => {
            let owner = if context.wide_private { (address >> 52) as usize & 31 } else { lane };
            (In::Scratch(owner), offset)
        }
        Space::Flat | Space::Global => (In::Device, address),
    }
}
