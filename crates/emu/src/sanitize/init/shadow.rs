//! Which bytes are undefined: of registers, LDS, scratch memory and memory.

use std::collections::HashMap;
use std::ops::Range;

use super::super::site::{Site, Span};
use super::origin::Origin;
use crate::wave::{Wave, lanes, scalar};

/// For each byte of a register or of a word of scratch memory, the lanes in which it is undefined.
pub(super) type Bytes = [u64; 4];

/// The shadow of a wave.
#[derive(Default)]
pub(in super::super) struct Shadow {
    pub(super) vectors: Vec<Bytes>,
    pub(super) vector_origins: Vec<Origin>,
    /// A bit for each bit.
    scalars: Vec<u32>,
    scalar_origins: Vec<Origin>,
    pub(super) scc: bool,
    pub(super) scc_origin: Origin,
    /// Words of all lanes.
    pub(super) scratch: Vec<Bytes>,
    pub(super) scratch_origins: Vec<Origin>,
}

impl Shadow {
    /// That of a wave of some lanes at its entry, where only what `entry` lists is defined.
    pub(in super::super) fn new(
        lanes: u64,
        vectors: usize,
        scratch: usize,
        entry: &[Span],
    ) -> Self {
        let undefined = [lanes; 4];
        let scalars = usize::from(scalar::CONSTANTS);
        let mut shadow = Self {
            vectors: vec![undefined; vectors],
            vector_origins: vec![Origin::NONE; vectors],
            scalars: vec![0; scalars],
            scalar_origins: vec![Origin::NONE; scalars],
            scc: true,
            scc_origin: Origin::NONE,
            scratch: vec![undefined; scratch],
            scratch_origins: vec![Origin::NONE; scratch],
        };
        // Of the others the hardware takes care.
        let usual = 0..usize::from(scalar::VCC) + 2;
        shadow.scalars[usual].fill(u32::MAX);
        for span in entry {
            shadow.define(*span, u64::MAX);
        }
        shadow
    }

    /// Whether a byte of registers is undefined in one of the lanes.
    #[inline]
    pub(super) fn is_undefined(&self, span: Span, lanes: u64) -> bool {
        if span.is_vector {
            let bytes = span.bytes;
            return self.vectors.get(span.registers()).is_some_and(|all| {
                all.iter()
                    .any(|it| (0..4).any(|byte| bytes >> byte & 1 == 1 && it[byte] & lanes != 0))
            });
        }
        self.scalars.get(span.registers()).is_some_and(|all| all.iter().any(|it| *it != 0))
    }

    /// The bytes of a register, where they are to be looked at one by one.
    pub(super) fn byte(&self, register: usize, byte: usize) -> u64 {
        self.vectors.get(register).map_or(0, |it| it[byte % 4])
    }

    pub(super) fn origin(&self, span: Span) -> Origin {
        let (origins, start) = match span.is_vector {
            true => (&self.vector_origins, span.registers().start),
            false => (&self.scalar_origins, span.registers().start),
        };
        let all = origins.get(start..span.registers().end).unwrap_or_default();
        all.iter().copied().find(|it| *it != Origin::NONE).unwrap_or(Origin::NONE)
    }

    #[inline]
    pub(in super::super) fn define(&mut self, span: Span, lanes: u64) {
        if span.is_vector {
            if let Some(all) = self.vectors.get_mut(span.registers()) {
                for it in all {
                    for (byte, mask) in it.iter_mut().enumerate() {
                        if span.bytes >> byte & 1 == 1 {
                            *mask &= !lanes;
                        }
                    }
                }
            }
        } else if let Some(all) = self.scalars.get_mut(span.registers()) {
            all.fill(0);
        }
    }

    /// A register was written of which only the file is known.
    pub(super) fn define_all(&mut self, lanes: u64) {
        for mask in self.vectors.iter_mut().flatten() {
            *mask &= !lanes;
        }
        self.scalars.fill(0);
    }

    pub(super) fn set_byte(&mut self, register: usize, byte: usize, lanes: u64, undefined: u64) {
        if let Some(it) = self.vectors.get_mut(register) {
            it[byte % 4] = it[byte % 4] & !lanes | undefined & lanes;
        }
    }

    /// Makes the bytes of a lane undefined that have all of these bits: lane masks that are spilled into a lane are undefined
    /// in some bits, which other lanes than the one that matters may have.
    pub(super) fn set_lane(&mut self, register: usize, lane: usize, bits: u32) {
        let Some(it) = self.vectors.get_mut(register) else { return };
        for (mask, bits) in it.iter_mut().zip(bits.to_le_bytes()) {
            *mask = *mask & !(1 << lane) | u64::from(bits == 0xff) << lane;
        }
    }

    pub(super) fn set_scalar(&mut self, register: usize, bits: u32, origin: Origin) {
        if let Some(it) = self.scalars.get_mut(register) {
            *it = bits;
            self.scalar_origins[register] = origin;
        }
    }

    pub(super) fn scalar(&self, register: usize) -> u32 {
        self.scalars.get(register).copied().unwrap_or(0)
    }

    /// The undefined bits of a lane mask.
    pub(super) fn pair(&self, first: usize, is_wide: bool) -> u64 {
        let high = if is_wide { self.scalar(first + 1) } else { 0 };
        u64::from(self.scalar(first)) | u64::from(high) << 32
    }

    /// Puts a byte wherever registers of an instruction are undefined in some lanes.
    pub(super) fn fill<const C: usize>(
        &self,
        site: &Site,
        wave: &mut Wave<C>,
        within: u64,
        pattern: u8,
    ) {
        let word = u32::from_le_bytes([pattern; 4]);
        for span in site.reads.iter().chain(&site.writes) {
            for at in span.registers() {
                if !span.is_vector {
                    let bits = self.scalar(at);
                    if let Some(register) = wave.s.get_mut(at).filter(|_| bits != 0) {
                        *register = *register & !bits | word & bits;
                    }
                    continue;
                }
                let (Some(bytes), Some(vector)) = (self.vectors.get(at), wave.v.get_mut(at)) else {
                    continue;
                };
                let any = within & bytes.iter().fold(0, |all, it| all | it);
                for lane in lanes(any).take_while(|lane| *lane < C * 8) {
                    let mask = bytes.map(|it| 0_u8.wrapping_sub((it >> lane & 1) as u8));
                    let mask = u32::from_le_bytes(mask);
                    vector.set_lane(lane, vector.lane(lane) & !mask | word & mask);
                }
            }
        }
        if self.scc {
            wave.scc = pattern & 1 == 1;
        }
    }
}

/// LDS of a workgroup: four bits for each word that say which bytes are defined.
#[derive(Default)]
pub(in super::super) struct Lds(Vec<u8>);

impl Lds {
    fn reserve(&mut self, word: usize) {
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
    }

    /// Which of at most four bytes are undefined, a bit each.
    pub(super) fn bits(&self, address: u64, count: u64) -> u8 {
        let word = |at: u64| u16::from(self.0.get(at as usize).copied().unwrap_or(0));
        let both = word(address / 4) | word(address / 4 + 1) << 4;
        !((both >> (address % 4)) as u8) & low(count)
    }

    pub(super) fn set_bits(&mut self, address: u64, count: u64, bits: u8) {
        let word = (address / 4) as usize;
        self.reserve(word + 1);
        let (at, mask) = (address % 4, u16::from(low(count)));
        let both = u16::from(self.0[word]) | u16::from(self.0[word + 1]) << 4;
        let both = both & !(mask << at) | (u16::from(!bits) & mask) << at;
        (self.0[word], self.0[word + 1]) = (both as u8 & 15, (both >> 4) as u8 & 15);
    }

    /// All of so many words.
    pub(super) fn define_all(&mut self, words: usize) {
        self.0.clear();
        self.0.resize(words, 15);
    }
}

/// Bytes of a page of memory.
const PAGE: u64 = 4096;

/// Memory that is undefined, by page; a bit for each byte.
#[derive(Default)]
pub(in super::super) struct Undefined {
    ranges: Vec<Range<u64>>,
    pages: Vec<Box<[u64]>>,
    numbers: HashMap<u64, usize>,
    /// The page that was looked up last: neighbours are in it.
    last: Option<(u64, usize)>,
}

impl Undefined {
    pub(in super::super) fn new(ranges: &[Range<u64>]) -> Self {
        Self { ranges: ranges.to_vec(), ..Self::default() }
    }

    /// Whether all of memory is defined.
    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty() && self.pages.is_empty()
    }

    fn page(&mut self, page: u64) -> &mut [u64] {
        let at = match self.last {
            Some((last, at)) if last == page => at,
            _ => self.look_up(page),
        };
        &mut self.pages[at]
    }

    fn look_up(&mut self, page: u64) -> usize {
        let next = self.pages.len();
        let at = *self.numbers.entry(page).or_insert(next);
        if at == next {
            let at_first = |address: u64| self.ranges.iter().any(|it| it.contains(&address));
            let start = page * PAGE;
            let word = |word: u64| {
                let bytes = start + word * 64..start + word * 64 + 64;
                bytes.rev().fold(0, |all, it| all << 1 | u64::from(at_first(it)))
            };
            let words = (0..PAGE / 64).map(word).collect();
            self.pages.push(words);
        }
        self.last = Some((page, at));
        at
    }

    /// Which of at most four bytes are undefined, a bit each.
    pub(super) fn bits(&mut self, address: u64, count: u64) -> u8 {
        if self.is_empty() {
            return 0;
        }
        let at = address % 64;
        if at + count <= 64 {
            let word = self.page(address / PAGE)[(address % PAGE / 64) as usize];
            return (word >> at) as u8 & low(count);
        }
        let inside = 64 - at;
        let first = self.bits(address, inside);
        first | self.bits(address + inside, count - inside) << inside
    }

    pub(super) fn set_bits(&mut self, address: u64, count: u64, bits: u8) {
        if bits == 0 && self.is_empty() {
            return;
        }
        let at = address % 64;
        if at + count <= 64 {
            let word = &mut self.page(address / PAGE)[(address % PAGE / 64) as usize];
            *word = *word & !(u64::from(low(count)) << at) | u64::from(bits & low(count)) << at;
            return;
        }
        let inside = 64 - at;
        self.set_bits(address, inside, bits);
        self.set_bits(address + inside, count - inside, bits >> inside);
    }
}

/// So many bits, four at most.
fn low(count: u64) -> u8 {
    15 >> (4 - count.min(4))
}
