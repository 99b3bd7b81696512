//! Sets of registers, one bit for each 32-bit register.

use std::fmt;

use hsaco_isa::model::{Register, RegisterFile, Special};

const VGPRS: usize = 1024;
const AGPRS: usize = 256;
const AGPR_START: usize = VGPRS;
const SCALAR_START: usize = AGPR_START + AGPRS;
const WORDS: usize = SCALAR_START / 64 + 3;
const _: () = assert!(SCALAR_START.is_multiple_of(64));

/// The numbers of scalar registers: as encoded, then those that no field names.
mod scalar {
    pub(super) const SGPRS: usize = 106;
    pub(super) const VCC: usize = 106;
    pub(super) const TTMP: usize = 108;
    pub(super) const TTMPS: usize = 16;
    pub(super) const M0: usize = 124;
    pub(super) const EXEC: usize = 126;
    pub(super) const SCC: usize = 128;
    pub(super) const MODE: usize = 129;
    pub(super) const FLAT_SCRATCH: usize = 130;
    pub(super) const XNACK_MASK: usize = 132;
    pub(super) const TBA: usize = 134;
    pub(super) const TMA: usize = 136;
    pub(super) const END: usize = 138;
}

/// A set of registers of all files.
///
/// ```
/// use hsaco_analysis::RegisterSet;
/// use hsaco_isa::model::{Register, RegisterFile};
/// let pair = Register { file: RegisterFile::Vgpr, first: 4, count: 2, half: None };
/// let mut set = RegisterSet::default();
/// set.insert(&pair);
/// assert!(set.contains(&Register { first: 5, count: 1, ..pair }));
/// assert_eq!(set.count(RegisterFile::Vgpr), 2);
/// assert_eq!(set.to_string(), "v[4:5]");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RegisterSet([u64; WORDS]);

impl Default for RegisterSet {
    fn default() -> Self {
        RegisterSet([0; WORDS])
    }
}

impl RegisterSet {
    /// Every register there is.
    #[must_use]
    pub fn all() -> Self {
        let mut set = RegisterSet([u64::MAX; WORDS]);
        let unused = SCALAR_START + scalar::END..WORDS * 64;
        unused.for_each(|bit| set.clear(bit));
        set.clear(SCALAR_START + scalar::M0 + 1);
        set
    }

    /// Every vector register there is.
    #[must_use]
    pub fn vectors() -> Self {
        let mut set = RegisterSet::default();
        set.0.iter_mut().take(SCALAR_START / 64).for_each(|word| *word = u64::MAX);
        set
    }

    /// The same without vector registers.
    #[must_use]
    pub fn without_vectors(mut self) -> Self {
        self.0.iter_mut().take(SCALAR_START / 64).for_each(|word| *word = 0);
        self
    }

    /// The same with all vector registers.
    ///
    /// ```
    /// use hsaco_analysis::RegisterSet;
    /// use hsaco_isa::model::{Register, RegisterFile};
    /// let pair = Register { file: RegisterFile::Sgpr, first: 4, count: 2, half: None };
    /// let mut set = RegisterSet::default();
    /// set.insert(&pair);
    /// assert!(set.without_vectors().with_all_vectors().contains(&pair));
    /// ```
    #[must_use]
    pub fn with_all_vectors(mut self) -> Self {
        self.0.iter_mut().take(SCALAR_START / 64).for_each(|word| *word = u64::MAX);
        self
    }

    /// Adds registers.
    #[inline(always)]
    pub fn insert(&mut self, register: &Register) {
        let (start, count) = bits(register);
        self.each_word(start, count, |word, mask| *word |= mask);
    }

    /// Takes registers away.
    #[inline(always)]
    pub fn remove(&mut self, register: &Register) {
        let (start, count) = bits(register);
        self.each_word(start, count, |word, mask| *word &= !mask);
    }

    /// Whether any of the registers is in the set.
    #[must_use]
    pub fn contains(&self, register: &Register) -> bool {
        let (start, count) = bits(register);
        (start..start + count).any(|bit| self.has(bit))
    }

    /// Adds what another set has; whether that changed anything.
    #[inline]
    pub fn union_with(&mut self, other: &RegisterSet) -> bool {
        let mut changed = 0;
        for (word, more) in self.0.iter_mut().zip(&other.0) {
            changed |= more & !*word;
            *word |= more;
        }
        changed != 0
    }

    /// Takes away what another set has.
    #[inline]
    pub fn subtract(&mut self, other: &RegisterSet) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, less)| *word &= !less);
    }

    /// Whether nothing is in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// How many registers of a file are in it.
    #[must_use]
    pub fn count(&self, file: RegisterFile) -> usize {
        let bits = file_bits(file);
        let words = self.0.iter().enumerate();
        let here = words.map(|(at, word)| word & mask(at, &bits));
        here.map(|word| word.count_ones() as usize).sum()
    }

    /// The highest number among the registers of a file.
    #[must_use]
    pub fn highest(&self, file: RegisterFile) -> Option<u16> {
        let bits = file_bits(file);
        let start = bits.start;
        bits.rev().find(|bit| self.has(*bit)).map(|bit| (bit - start) as u16)
    }

    /// The registers, one range after the other.
    pub fn iter(&self) -> impl Iterator<Item = Register> + '_ {
        let files =
            [RegisterFile::Vgpr, RegisterFile::Agpr, RegisterFile::Sgpr, RegisterFile::Ttmp];
        let numbered = files.into_iter().flat_map(|file| self.ranges(file));
        let special = SPECIALS.into_iter().map(special).filter(|register| self.contains(register));
        numbered.chain(special)
    }

    fn ranges(&self, file: RegisterFile) -> impl Iterator<Item = Register> + '_ {
        let bits = file_bits(file);
        let mut next = bits.start;
        std::iter::from_fn(move || {
            let first = self.next_bit(next).filter(|bit| *bit < bits.end)?;
            let run = (first..bits.end).take_while(|bit| self.has(*bit));
            let count = run.take(usize::from(u8::MAX)).count();
            next = first + count;
            let number = (first - bits.start) as u16;
            Some(Register { file, first: number, count: count as u8, half: None })
        })
    }

    /// The first bit that is set, from one on.
    fn next_bit(&self, from: usize) -> Option<usize> {
        let first = from / 64;
        let words = self.0.iter().enumerate().skip(first);
        let mut words = words.map(|(at, word)| {
            (at, if at == first { word & u64::MAX << (from % 64) } else { *word })
        });
        words
            .find(|(_, word)| *word != 0)
            .map(|(at, word)| at * 64 + word.trailing_zeros() as usize)
    }

    fn has(&self, bit: usize) -> bool {
        self.0.get(bit / 64).is_some_and(|word| word >> (bit % 64) & 1 == 1)
    }

    fn clear(&mut self, bit: usize) {
        self.each_word(bit, 1, |word, mask| *word &= !mask);
    }

    /// Calls with each word that has some of the bits, and which.
    #[inline(always)]
    fn each_word(&mut self, start: usize, count: usize, mut change: impl FnMut(&mut u64, u64)) {
        // Nearly always all bits are in one word.
        if start % 64 + count <= 64 {
            let mask = u64::MAX.checked_shr(64 - count as u32).unwrap_or(0) << (start % 64);
            if let Some(word) = self.0.get_mut(start / 64) {
                change(word, mask);
            }
            return;
        }
        let (mut at, end) = (start, start + count);
        while at < end {
            let low = at % 64;
            let here = (64 - low).min(end - at);
            let mask = (u64::MAX >> (64 - here)) << low;
            if let Some(word) = self.0.get_mut(at / 64) {
                change(word, mask);
            }
            at += here;
        }
    }
}

/// Many sets, of which those that follow each other are much alike: of each only what is different is kept.
///
/// ```
/// use hsaco_analysis::{RegisterSet, RegisterSets};
/// let mut sets = RegisterSets::default();
/// sets.push(&RegisterSet::all());
/// sets.push(&RegisterSet::default());
/// assert_eq!((sets.get(0), sets.get(1)), (Some(RegisterSet::all()), Some(RegisterSet::default())));
/// assert_eq!(sets.get(2), None);
/// ```
#[derive(Clone, Debug, Default)]
pub struct RegisterSets {
    /// Words that are not as in the set before, with their numbers.
    words: Vec<(u8, u64)>,
    /// Where those of each set end.
    ends: Vec<u32>,
    last: RegisterSet,
}

impl RegisterSets {
    /// So many are told from the first of them; that is told from the empty set.
    const RUN: usize = 32;

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Adds a set; false if there are too many.
    pub fn push(&mut self, set: &RegisterSet) -> bool {
        let before = match self.ends.len() % Self::RUN {
            0 => RegisterSet::default(),
            _ => self.last,
        };
        let words = (0_u8..).zip(set.0.iter().zip(before.0));
        let new =
            words.filter(|(_, (now, before))| *now != before).map(|(at, (now, _))| (at, *now));
        self.words.extend(new);
        let Ok(end) = u32::try_from(self.words.len()) else { return false };
        self.ends.push(end);
        self.last = *set;
        true
    }

    /// The set of a number.
    #[must_use]
    pub fn get(&self, number: usize) -> Option<RegisterSet> {
        let end = *self.ends.get(number)?;
        let first = number / Self::RUN * Self::RUN;
        let start = first.checked_sub(1).and_then(|it| self.ends.get(it)).copied().unwrap_or(0);
        let mut set = RegisterSet::default();
        for (at, now) in self.words.get(start as usize..end as usize)? {
            if let Some(word) = set.0.get_mut(usize::from(*at)) {
                *word = *now;
            }
        }
        Some(set)
    }
}

/// Which bits of a word are in a range of all bits.
#[inline]
fn mask(word: usize, bits: &std::ops::Range<usize>) -> u64 {
    let first = word * 64;
    let start = bits.start.clamp(first, first + 64) - first;
    let end = bits.end.clamp(first, first + 64) - first;
    match end.saturating_sub(start) {
        0 => 0,
        len => (u64::MAX >> (64 - len)) << start,
    }
}

/// One of each special register that is not part of another.
const SPECIALS: [Special; 12] = [
    Special::VccLo,
    Special::VccHi,
    Special::ExecLo,
    Special::ExecHi,
    Special::M0,
    Special::Scc,
    Special::Mode,
    Special::FlatScratchLo,
    Special::FlatScratchHi,
    Special::XnackMask,
    Special::Tba,
    Special::Tma,
];

fn special(special: Special) -> Register {
    Register { file: RegisterFile::Special(special), first: 0, count: 1, half: None }
}

fn file_bits(file: RegisterFile) -> std::ops::Range<usize> {
    match file {
        RegisterFile::Vgpr => 0..VGPRS,
        RegisterFile::Agpr => AGPR_START..AGPR_START + AGPRS,
        RegisterFile::Sgpr => SCALAR_START..SCALAR_START + scalar::SGPRS,
        RegisterFile::Ttmp => {
            SCALAR_START + scalar::TTMP..SCALAR_START + scalar::TTMP + scalar::TTMPS
        }
        RegisterFile::Special(special) => {
            let (first, count) = special_bits(special);
            SCALAR_START + first..SCALAR_START + first + count
        }
    }
}

/// First bit and number of bits.
#[inline(always)]
fn bits(register: &Register) -> (usize, usize) {
    let numbered = |start: usize, len: usize| {
        let first = usize::from(register.first).min(len);
        (start + first, usize::from(register.count.max(1)).min(len - first))
    };
    match register.file {
        RegisterFile::Vgpr => numbered(0, VGPRS),
        RegisterFile::Agpr => numbered(AGPR_START, AGPRS),
        RegisterFile::Sgpr => numbered(SCALAR_START, scalar::SGPRS),
        RegisterFile::Ttmp => numbered(SCALAR_START + scalar::TTMP, scalar::TTMPS),
        RegisterFile::Special(special) => {
            let (first, count) = special_bits(special);
            (SCALAR_START + first, count)
        }
    }
}

/// First number and how many; none for constants and what no instruction writes.
fn special_bits(special: Special) -> (usize, usize) {
    use scalar::*;
    match special {
        Special::VccLo => (VCC, 1),
        Special::VccHi => (VCC + 1, 1),
        Special::Vcc | Special::VccZ => (VCC, 2),
        Special::ExecLo => (EXEC, 1),
        Special::ExecHi => (EXEC + 1, 1),
        Special::Exec | Special::ExecZ => (EXEC, 2),
        Special::M0 | Special::LdsDirect => (M0, 1),
        Special::Scc => (SCC, 1),
        Special::Mode => (MODE, 1),
        Special::FlatScratchLo => (FLAT_SCRATCH, 1),
        Special::FlatScratchHi => (FLAT_SCRATCH + 1, 1),
        Special::FlatScratch => (FLAT_SCRATCH, 2),
        Special::XnackMaskLo => (XNACK_MASK, 1),
        Special::XnackMaskHi => (XNACK_MASK + 1, 1),
        Special::XnackMask => (XNACK_MASK, 2),
        Special::TbaLo => (TBA, 1),
        Special::TbaHi => (TBA + 1, 1),
        Special::Tba => (TBA, 2),
        Special::TmaLo => (TMA, 1),
        Special::TmaHi => (TMA + 1, 1),
        Special::Tma => (TMA, 2),
        _ => (0, 0),
    }
}

impl fmt::Display for RegisterSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, register) in self.iter().enumerate() {
            write!(f, "{}{register}", if at == 0 { "" } else { " " })?;
        }
        Ok(())
    }
}

impl fmt::Debug for RegisterSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{self}}}")
    }
}
