//! Finds the forms that a first word may have.

use super::checks::{CheckBook, Checks};
use crate::generated::{FLAGS, FORMS, HIGH_VALUES, LENIENT, MASKS, TABLES};
use crate::table::{Flags, Form, Table};

/// A form that the processor has, with all that most encodings need in one line of the cache.
#[repr(align(64))]
pub(super) struct Candidate {
    pub(super) mask: u64,
    pub(super) value: u64,
    pub(super) high_mask: u64,
    pub(super) high_value: u64,
    pub(super) checks: Checks,
    pub(super) form: u16,
    pub(super) size: u8,
    pub(super) literal_inside: bool,
    /// There are rules beyond operands.
    pub(super) special: bool,
    /// Bits that the hardware ignores need not be as LLVM demands.
    pub(super) lenient: bool,
    /// Its fixed bits and `checks` are all that there is to it.
    pub(super) is_plain: bool,
    /// Where an operand is that must stand for DPP8; `NOWHERE` if there is none.
    dpp8_at: u8,
}

const NOWHERE: u8 = 0xff;
const _: () = assert!(size_of::<Candidate>() == 64);

impl Candidate {
    /// The same encoding where these bits may be anything.
    fn ignoring(&self, ignored: u128) -> Candidate {
        let [kept, high_kept] = [!ignored as u64, (!ignored >> 64) as u64];
        Candidate {
            mask: self.mask & kept,
            value: self.value & kept,
            high_mask: self.high_mask & high_kept,
            high_value: self.high_value & high_kept,
            lenient: true,
            is_plain: false,
            ..*self
        }
    }

    /// Whether the fixed bits are what they must be.
    #[inline]
    pub(super) const fn fits(&self, low: u64, high: u64) -> bool {
        (low & self.mask ^ self.value) | (high & self.high_mask ^ self.high_value) == 0
    }
}

/// The forms of one first word, in the order in which they are tried.
#[derive(Clone, Copy)]
pub(super) struct Leaf {
    pub(super) first: u16,
    /// The first form is as long as most of the bucket's, and its fixed bits and checks are all that there
    /// is to it.
    pub(super) is_plain: bool,
    /// Where the others start, and in the lowest eight bits how many there are.
    others: u32,
}

impl Leaf {
    const EMPTY: Leaf = Leaf { first: u16::MAX, is_plain: false, others: 0 };
}

/// The upper nine bits choose a bucket; a bucket chooses a leaf by some more bits.
pub(super) struct Index {
    buckets: [Bucket; 1 << TOP_WIDTH],
    leaves: Vec<Leaf>,
    members: Vec<u16>,
    candidates: Vec<Candidate>,
}

#[derive(Clone, Copy, Default)]
struct Bucket {
    first_leaf: u32,
    mask: u16,
    shift: u8,
    /// Which of `escapes` tells forms apart.
    escape: u8,
    /// The bytes of most forms, and of most that an escape tells: known sooner than which form it is.
    sizes: [u8; 2],
}

const TOP: u32 = 23;
const TOP_WIDTH: u32 = 9;

/// The first operand of four bytes and that of eight.
const FIRST_OPERANDS: [u8; 2] = [0, 32];

/// Operands of nine bits that stand for DPP8, SDWA and DPP: their forms have no other first operand, and
/// the other forms none of these.
const ESCAPES: [usize; 4] = [0xe9, 0xea, 0xf9, 0xfa];

static IS_ESCAPE: [bool; 1 << 9] = {
    let mut is_escape = [false; 1 << 9];
    let mut at = 0;
    while at < ESCAPES.len() {
        is_escape[ESCAPES[at]] = true;
        at += 1;
    }
    is_escape
};

#[inline]
fn is_escape(low: u64, shift: u8) -> bool {
    IS_ESCAPE[(low >> shift & 0x1ff) as usize]
}

/// Which of `FIRST_OPERANDS` are escapes, a bit for each.
#[inline]
fn escapes(low: u64) -> u8 {
    let [first, second] = FIRST_OPERANDS.map(|shift| u8::from(is_escape(low, shift)));
    first | second << 1
}

impl Index {
    /// The forms of the tables that apply, in the order in which they are tried; after them, if wanted,
    /// the lenient ones.
    pub(super) fn new(
        applies: impl Fn(&Table) -> bool,
        allowed: impl Fn(&Form) -> bool,
        has_rules: impl Fn(&Flags) -> bool,
        lenient: bool,
        book: &mut CheckBook<'_>,
    ) -> Self {
        let mut candidates = Vec::with_capacity(6000);
        for table in TABLES.iter().filter(|table| applies(table)) {
            let (start, end) = table.forms;
            for number in start..end {
                if let Some(form) = FORMS.get(usize::from(number)).filter(|form| allowed(form)) {
                    candidates.push(candidate(table, number, form, &has_rules, book));
                }
            }
        }
        if lenient {
            let strict = |number: u16| candidates.iter().find(|it| it.form == number);
            let more = |(number, ignored): &(u16, u128)| Some(strict(*number)?.ignoring(*ignored));
            let more: Vec<_> = LENIENT.iter().filter_map(more).collect();
            candidates.extend(more);
        }
        let buckets = [Bucket::default(); 1 << TOP_WIDTH];
        let mut builder =
            Builder { candidates: &candidates, buckets, leaves: Vec::new(), members: Vec::new() };
        builder.build();
        let Builder { buckets, leaves, members, .. } = builder;
        Index { buckets, leaves, members, candidates }
    }

    /// Where the forms of a first word are, and the length that they have if the first of them is plain.
    #[inline]
    pub(super) fn leaf(&self, low: u64) -> (Leaf, u8) {
        let bucket = &self.buckets[(low as u32 >> TOP) as usize];
        let bits = (low as u32 >> (bucket.shift & 31)) & u32::from(bucket.mask);
        let escape = usize::from(escapes(low) & bucket.escape != 0);
        let at = bucket.first_leaf as usize + bits as usize * 2 + escape;
        (self.leaves.get(at).copied().unwrap_or(Leaf::EMPTY), bucket.sizes[escape])
    }

    /// The forms to try after the first.
    pub(super) fn others(&self, leaf: Leaf) -> &[u16] {
        let start = (leaf.others >> 8) as usize;
        self.members.get(start..start + (leaf.others & 0xff) as usize).unwrap_or_default()
    }

    #[inline]
    pub(super) fn candidate(&self, number: u16) -> Option<&Candidate> {
        self.candidates.get(usize::from(number))
    }

    /// The fixed bits in the first word of the forms that are wanted.
    pub(super) fn first_words(&self, is_wanted: impl Fn(u16) -> bool) -> Vec<(u32, u32)> {
        let wanted = self.candidates.iter().filter(|candidate| is_wanted(candidate.form));
        wanted.map(|it| (it.mask as u32, it.value as u32)).collect()
    }

    pub(super) fn strict(&self) -> impl Iterator<Item = &Candidate> {
        self.candidates.iter().filter(|candidate| !candidate.lenient)
    }
}

fn candidate(
    table: &Table,
    number: u16,
    form: &Form,
    has_rules: impl Fn(&Flags) -> bool,
    book: &mut CheckBook<'_>,
) -> Candidate {
    let program = book.program(form.shape);
    let mask = MASKS.get(usize::from(form.mask)).copied().unwrap_or(u128::MAX);
    let special = FLAGS.get(usize::from(form.flags)).is_some_and(has_rules);
    Candidate {
        mask: mask as u64,
        value: form.value,
        high_mask: (mask >> 64) as u64,
        high_value: HIGH_VALUES.get(usize::from(form.high)).copied().unwrap_or_default(),
        checks: program.checks,
        form: number,
        size: table.size,
        literal_inside: table.literal_inside,
        special,
        lenient: false,
        is_plain: program.is_whole && !special && !table.literal_inside,
        dpp8_at: program.dpp8_at.unwrap_or(NOWHERE),
    }
}

/// Puts candidates into buckets and leaves.
struct Builder<'c> {
    candidates: &'c [Candidate],
    buckets: [Bucket; 1 << TOP_WIDTH],
    leaves: Vec<Leaf>,
    members: Vec<u16>,
}

impl Builder<'_> {
    fn build(&mut self) {
        let mut pairs = Vec::with_capacity(1 << 14);
        for (number, candidate) in (0..).zip(self.candidates) {
            each_match(candidate, TOP, TOP_WIDTH, |top| pairs.push((top as u16, number)));
        }
        let tops = Groups::new(&pairs, 1 << TOP_WIDTH);
        let mut last = (Bucket::default(), [].as_slice());
        for top in 0..1 << TOP_WIDTH {
            let members = tops.members(top);
            // What the bits of an operand choose are often the same buckets.
            if top == 0 || members != last.1 {
                last = (self.add_bucket(members, &mut pairs), members);
            }
            if let Some(bucket) = self.buckets.get_mut(top) {
                *bucket = last.0;
            }
        }
    }

    fn add_bucket(&mut self, members: &[u16], pairs: &mut Vec<(u16, u16)>) -> Bucket {
        let (shift, width) = self.best_bits(members);
        let operand = self.best_operand(members);
        pairs.clear();
        for number in members {
            let Some(candidate) = self.candidates.get(usize::from(*number)) else { continue };
            let escape = candidate.escapes(operand);
            each_match(candidate, shift, width, |bits| {
                let leaf = bits as u16 * 2;
                if escape != Some(true) {
                    pairs.push((leaf, *number));
                }
                if escape != Some(false) {
                    pairs.push((leaf + 1, *number));
                }
            });
        }
        let first_leaf = self.leaves.len() as u32;
        let leaves = Groups::new(pairs, 2 << width);
        let sizes = [0, 1].map(|escape| self.most_frequent_size(&leaves, escape));
        for number in 0..2 << width {
            self.add_leaf(leaves.members(number), sizes[number & 1]);
        }
        let (mask, shift) = ((1 << width) - 1, shift as u8);
        Bucket { first_leaf, mask, shift, escape: 1 << operand, sizes }
    }

    /// Of the first forms of the leaves with an escape, or of those without.
    fn most_frequent_size(&self, leaves: &Groups, escape: usize) -> u8 {
        let mut counts = [0_u32; 6];
        for number in (escape..leaves.len()).step_by(2) {
            let first = leaves.members(number).first();
            let candidate = first.and_then(|it| self.candidates.get(usize::from(*it)));
            let words = candidate.map_or(0, |it| usize::from(it.size) / 4);
            if let Some(count) = counts.get_mut(words).filter(|_| words > 0) {
                *count += 1;
            }
        }
        let most = (0..).zip(counts).max_by_key(|(_, count)| *count);
        most.map_or(0, |(words, _)| words * 4)
    }

    fn add_leaf(&mut self, members: &[u16], usual_size: u8) {
        let leaf = members.split_first().and_then(|(first, others)| {
            let Candidate { size, is_plain, .. } = *self.candidates.get(usize::from(*first))?;
            let start = self.members.len() as u32;
            self.members.extend_from_slice(others);
            Some(Leaf {
                first: *first,
                is_plain: is_plain && size == usual_size,
                others: start << 8 | others.len() as u32 & 0xff,
            })
        });
        self.leaves.push(leaf.unwrap_or(Leaf::EMPTY));
    }

    /// The run of bits that tells most of the members apart: the longest that nearly all of them fix.
    fn best_bits(&self, members: &[u16]) -> (u32, u32) {
        if members.len() <= 1 {
            return (0, 0);
        }
        // Some of many stand for all: what they are is decided by few formats.
        let some = members.iter().step_by(members.len() / 64 + 1);
        let mut fixing = [0; TOP as usize];
        for candidate in some.clone().filter_map(|it| self.candidates.get(usize::from(*it))) {
            for (bit, count) in fixing.iter_mut().enumerate() {
                *count += (candidate.mask >> bit & 1) as usize;
            }
        }
        let (mut best, mut run) = ((0, 0), 0);
        for (bit, count) in (0..).zip(fixing) {
            run = if count * 10 >= some.len() * 9 { run + 1 } else { 0 };
            if run > best.1 {
                best = (bit + 1 - run, run);
            }
        }
        (best.0, best.1.min(10))
    }

    /// Which of `FIRST_OPERANDS` tells more of the members apart.
    fn best_operand(&self, members: &[u16]) -> usize {
        let candidates = || members.iter().filter_map(|it| self.candidates.get(usize::from(*it)));
        let told = |operand| candidates().filter(|it| it.escapes(operand) == Some(true)).count();
        usize::from(told(1) > told(0))
    }
}

impl Candidate {
    /// Whether one of `FIRST_OPERANDS` is an escape in all the form's encodings, or in none.
    fn escapes(&self, operand: usize) -> Option<bool> {
        let shift = *FIRST_OPERANDS.get(operand)?;
        match self.mask >> shift & 0x1ff {
            0x1ff => Some(is_escape(self.value, shift)),
            _ => (self.dpp8_at == shift).then_some(true),
        }
    }
}

/// Numbers sorted by group, within a group in the order in which they came.
struct Groups {
    starts: Vec<u32>,
    members: Vec<u16>,
}

impl Groups {
    /// Sorts pairs of a group and a number.
    fn new(pairs: &[(u16, u16)], count: usize) -> Self {
        let mut starts = vec![0; count + 2];
        for (group, _) in pairs {
            if let Some(start) = starts.get_mut(usize::from(*group) + 2) {
                *start += 1;
            }
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut members = vec![0; pairs.len()];
        for (group, number) in pairs {
            // The start of the next group: what it counts up to becomes right as this one fills.
            let Some(next) = starts.get_mut(usize::from(*group) + 1) else { continue };
            if let Some(member) = members.get_mut(*next as usize) {
                *member = *number;
            }
            *next += 1;
        }
        Groups { starts, members }
    }

    fn len(&self) -> usize {
        self.starts.len() - 2
    }

    fn members(&self, group: usize) -> &[u16] {
        let [start, end] = [group, group + 1].map(|it| self.starts.get(it).copied().unwrap_or(0));
        self.members.get(start as usize..end as usize).unwrap_or_default()
    }
}

/// Calls with every value of the bits from `shift` on that the candidate allows.
fn each_match(candidate: &Candidate, shift: u32, width: u32, mut found: impl FnMut(u32)) {
    let all = (1_u32 << width) - 1;
    let mask = (candidate.mask >> shift) as u32 & all;
    let value = (candidate.value >> shift) as u32 & all;
    let free = !mask & all;
    // Counts through the subsets of the free bits.
    let mut subset = 0_u32;
    loop {
        found(value | subset);
        subset = subset.wrapping_sub(free) & free;
        if subset == 0 {
            break;
        }
    }
}
