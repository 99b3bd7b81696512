//! Finds the forms that a first word may have.

use crate::generated::{FLAGS, FORMS, LENIENT, MASKS, TABLES};
use crate::table::{Flags, Form, Table};

/// A form that the processor has, with what a first look needs.
pub(super) struct Candidate {
    pub(super) mask: u64,
    pub(super) value: u64,
    pub(super) form: u16,
    pub(super) shape: u16,
    pub(super) size: u8,
    pub(super) literal_inside: bool,
    /// There are rules beyond operands.
    pub(super) special: bool,
    /// Bits that the hardware ignores need not be as LLVM demands.
    pub(super) lenient: bool,
}

/// The upper nine bits choose a bucket; a bucket chooses a list by some more bits.
pub(super) struct Index {
    buckets: Vec<Bucket>,
    lists: Vec<(u32, u32)>,
    members: Vec<u16>,
    candidates: Vec<Candidate>,
}

#[derive(Clone, Copy, Default)]
struct Bucket {
    first_list: u32,
    shift: u8,
    mask: u32,
}

const TOP: u32 = 23;

impl Index {
    /// The forms of the tables that apply, in the order in which they are tried; after them, if wanted, the
    /// lenient ones.
    pub(super) fn new(applies: impl Fn(&Table) -> bool, allowed: impl Fn(&Form) -> bool, lenient: bool) -> Self {
        let mut candidates = Vec::with_capacity(6000);
        for table in TABLES.iter().filter(|table| applies(table)) {
            let (start, end) = table.forms;
            for number in start..end {
                if let Some(form) = FORMS.get(usize::from(number)).filter(|form| allowed(form)) {
                    candidates.push(candidate(table, number, form));
                }
            }
        }
        if lenient {
            let strict = |number: u16| candidates.iter().find(|candidate| candidate.form == number);
            let more: Vec<_> = LENIENT.iter().filter_map(|(number, ignored)| Some(strict(*number)?.ignoring(*ignored))).collect();
            candidates.extend(more);
        }
        let mut tops: Vec<Vec<u16>> = vec![Vec::new(); 512];
        for (number, candidate) in (0..).zip(&candidates) {
            each_match(candidate, TOP, 9, |top| {
                if let Some(members) = tops.get_mut(top as usize) {
                    members.push(number);
                }
            });
        }
        let mut index = Index { buckets: Vec::with_capacity(512), lists: Vec::new(), members: Vec::new(), candidates };
        for members in &tops {
            index.add_bucket(members);
        }
        index
    }

    #[inline]
    pub(super) fn candidates(&self, word: u32) -> &[u16] {
        let bucket = self.buckets.get((word >> TOP) as usize).copied().unwrap_or_default();
        let list = bucket.first_list + (word >> bucket.shift & bucket.mask);
        let (start, end) = self.lists.get(list as usize).copied().unwrap_or_default();
        self.members.get(start as usize..end as usize).unwrap_or_default()
    }

    #[inline]
    pub(super) fn candidate(&self, number: u16) -> Option<&Candidate> {
        self.candidates.get(usize::from(number))
    }

    pub(super) fn strict(&self) -> impl Iterator<Item = &Candidate> {
        self.candidates.iter().filter(|candidate| !candidate.lenient)
    }

    fn add_bucket(&mut self, members: &[u16]) {
        let (shift, width) = self.best_bits(members);
        let mut lists: Vec<Vec<u16>> = vec![Vec::new(); 1 << width];
        for number in members {
            if let Some(candidate) = self.candidates.get(usize::from(*number)) {
                each_match(candidate, shift, width, |bits| {
                    if let Some(list) = lists.get_mut(bits as usize) {
                        list.push(*number);
                    }
                });
            }
        }
        self.buckets.push(Bucket { first_list: self.lists.len() as u32, shift: shift as u8, mask: (1 << width) - 1 });
        for list in lists {
            let start = self.members.len() as u32;
            self.members.extend(list);
            self.lists.push((start, self.members.len() as u32));
        }
    }

    /// The run of bits that tells most of the members apart: the longest that nearly all of them fix.
    fn best_bits(&self, members: &[u16]) -> (u32, u32) {
        if members.len() <= 4 {
            return (0, 0);
        }
        let fixing = |bit: u32| {
            let masks = members.iter().filter_map(|number| self.candidates.get(usize::from(*number)));
            masks.filter(|candidate| candidate.mask >> bit & 1 == 1).count()
        };
        let (mut best, mut run) = ((0, 0), 0);
        for bit in 0..TOP {
            run = if fixing(bit) * 10 >= members.len() * 9 { run + 1 } else { 0 };
            if run > best.1 {
                best = (bit + 1 - run, run);
            }
        }
        (best.0, best.1.min(10))
    }
}

fn candidate(table: &Table, number: u16, form: &Form) -> Candidate {
    let flags = &FLAGS[usize::from(form.flags)];
    let special = flags.any(Flags::MUBUF | Flags::MTBUF | Flags::MIMG)
        || flags.own & (Flags::SCALAR_BUFFER | Flags::WRITES_EXEC_ONLY) != 0;
    Candidate {
        mask: MASKS[usize::from(form.mask)] as u64,
        value: form.value,
        form: number,
        shape: form.shape,
        size: table.size,
        literal_inside: table.literal_inside,
        special,
        lenient: false,
    }
}

impl Candidate {
    /// The same encoding where these bits may be anything.
    fn ignoring(&self, ignored: u128) -> Candidate {
        let kept = !(ignored as u64);
        Candidate { mask: self.mask & kept, value: self.value & kept, lenient: true, ..*self }
    }

    /// The fixed bits after the eighth byte.
    pub(super) fn high_mask(&self) -> u64 {
        let mask = FORMS.get(usize::from(self.form)).and_then(|form| MASKS.get(usize::from(form.mask)));
        let ignored = LENIENT.iter().find(|(form, _)| self.lenient && *form == self.form);
        ((mask.copied().unwrap_or(0) & !ignored.map_or(0, |(_, ignored)| *ignored)) >> 64) as u64
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
