//! Loads that transpose small matrices: lanes of a group exchange the elements that they have read.

use super::memory::read;
use crate::error::ErrorKind;
use crate::step::{Context, Step};
use crate::wave::{Vector, Wave};

/// Which lane reads an element that another one gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exchange {
    /// Groups of so many lanes hold a matrix, row after row; a lane gets the column of its number.
    Columns(u8),
    /// Bytes on gfx1250, as a public test has found it: sixteen lanes, of which four and four make up eight rows.
    Interleaved,
}

/// One kind of transposing load, packed into a step's `k`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transpose {
    pub(crate) exchange: Exchange,
    /// Bits of an element.
    pub(crate) bits: u8,
    /// Registers that a lane reads and writes.
    pub(crate) words: u8,
    /// Whether lanes take part that are off.
    pub(crate) ignores_exec: bool,
}

impl Transpose {
    pub(crate) fn pack(self) -> u64 {
        let lanes = match self.exchange {
            Exchange::Columns(lanes) => lanes,
            Exchange::Interleaved => 0,
        };
        u64::from(lanes)
            | u64::from(self.bits) << 8
            | u64::from(self.words) << 16
            | u64::from(self.ignores_exec) << 24
    }

    fn unpack(bits: u64) -> Self {
        let exchange = match bits as u8 {
            0 => Exchange::Interleaved,
            lanes => Exchange::Columns(lanes),
        };
        Self {
            exchange,
            bits: (bits >> 8) as u8,
            words: (bits >> 16) as u8,
            ignores_exec: bits >> 24 & 1 == 1,
        }
    }

    /// The lane, and which of its elements, that a lane gets as its element of a number.
    fn source(self, lane: usize, element: usize) -> (usize, usize) {
        let count = usize::from(self.words) * 32 / usize::from(self.bits);
        match self.exchange {
            Exchange::Columns(lanes) => {
                let lanes = usize::from(lanes);
                let (base, at) = (lane / lanes * lanes, lane % lanes);
                (base + element * (lanes / count) + at / count, at % count)
            }
            Exchange::Interleaved => {
                let (base, half) = (lane & !15, lane / 8 % 2);
                (base + half * 4 + element / 4 * 8 + element % 4, lane % 8)
            }
        }
    }
}

/// So many bits of words, from a bit on.
fn bits(words: &[u32], first: usize, width: usize) -> u32 {
    let low = words.get(first / 32).copied().unwrap_or(0);
    let high = words.get(first / 32 + 1).copied().unwrap_or(0);
    let both = u64::from(low) | u64::from(high) << 32;
    ((both >> (first % 32)) & ((1 << width) - 1)) as u32
}

/// Loads registers from `d` on, of a kind that `k` says.
pub(crate) fn load<const C: usize>(wave: &mut Wave<C>, context: &mut Context<'_>, step: &Step<C>) {
    let kind = Transpose::unpack(step.k);
    if !kind.ignores_exec && wave.active != Wave::<C>::ALL {
        if wave.active != 0 {
            let off = Wave::<C>::ALL & !wave.active;
            let detail = "a transposing load with lanes off is undefined";
            wave.fail(ErrorKind::Unsupported, off, detail);
        }
        return;
    }
    let mut loaded = [[0; 4]; 64];
    for (lane, words) in loaded.iter_mut().enumerate().take(Wave::<C>::LANES) {
        if !read(wave, context, lane, u16::from(kind.words), words) {
            return;
        }
    }
    let width = usize::from(kind.bits);
    let mut results = [Vector::<C>::ZERO; 4];
    for lane in 0..Wave::<C>::LANES {
        let mut words = [0; 4];
        for element in 0..usize::from(kind.words) * 32 / width {
            let (source, number) = kind.source(lane, element);
            let value = u64::from(bits(&loaded[source], number * width, width));
            let first = element * width;
            let placed = value << (first % 32);
            words[first / 32] |= placed as u32;
            if let Some(next) = words.get_mut(first / 32 + 1) {
                *next |= (placed >> 32) as u32;
            }
        }
        for (result, word) in results.iter_mut().zip(words) {
            result.set_lane(lane, word);
        }
    }
    for (at, result) in (0..u16::from(kind.words)).zip(results) {
        wave.v[usize::from(step.d + at)] = result;
    }
}
