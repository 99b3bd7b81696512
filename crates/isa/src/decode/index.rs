//! Finds the forms that a first word may have.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::checks::{CheckBook, Checks, Program, Verdicts};
use super::has_rules;
use super::tops::{self, Place, TABLE_STARTS};
use crate::model::generated::{FLAGS, HIGH_VALUES, IGNORED, MASKS, TABLES};
use crate::model::table::{FormRow, Table};
use crate::model::{Arch, Form, Known, Mode, Model};

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

/// The upper bits choose a bucket, which is filled when it is first asked for: most code needs few.
pub(super) struct Index {
    buckets: Box<[Line; tops::COUNT]>,
    model: Arc<Model>,
    mode: Mode,
    book: Mutex<CheckBook>,
}

/// A bucket on a line of the cache.
#[repr(align(64))]
struct Line(OnceLock<Bucket>);

const _: () = assert!(size_of::<Line>() == 64);

/// Forms with the same upper bits; some more bits choose a leaf.
#[derive(Clone)]
pub(super) struct Bucket {
    leaves: Arc<[Leaf]>,
    candidates: Arc<[Candidate]>,
    /// What leaves have but their first.
    others: Arc<[u16]>,
    masks: [u16; 2],
    /// The first has above them which of `escapes` tells forms apart: a bucket fits a line of the cache.
    rotations: [u8; 2],
    /// The bytes of most forms, and of most that an escape tells: known sooner than which form it is.
    sizes: [u8; 2],
}

/// Some bits of the first word that stand together.
#[derive(Clone, Copy, Default)]
struct Run {
    shift: u8,
    width: u8,
}

impl Run {
    const fn mask(self) -> u32 {
        (1 << self.width) - 1
    }
}

/// The first operand of four bytes and that of eight.
const FIRST_OPERANDS: [u8; 2] = [0, 32];

/// The bits of a rotation are below.
const ESCAPE_SHIFT: u32 = 6;

/// An opcode has no more bits, and what chooses between its forms.
const MOST_OPCODE: u8 = 10;
const MOST_CHOICE: usize = 5;
/// So many together, so that a bucket stays small.
const MOST_BITS: usize = 12;

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
    pub(super) fn new(model: Arc<Model>, mode: Mode) -> Self {
        Index {
            buckets: Box::new([const { Line(OnceLock::new()) }; tops::COUNT]),
            model,
            mode,
            book: Mutex::default(),
        }
    }

    /// The forms with the upper bits of a first word.
    #[inline]
    pub(super) fn bucket(&self, low: u64, verdicts: &Verdicts) -> &Bucket {
        let top = (low as u32 >> tops::SHIFT) as usize;
        self.buckets[top].0.get_or_init(|| self.fill(top, verdicts))
    }

    #[cold]
    fn fill(&self, top: usize, verdicts: &Verdicts) -> Bucket {
        let first = tops::first_alike(top);
        if first != top {
            return self.bucket((first as u64) << tops::SHIFT, verdicts).clone();
        }
        let mut book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        let mut new = |table, number, form: &FormRow| {
            let program = book.program(form.shape, (&self.model.codes, verdicts));
            candidate(table, number, form, self.model.arch, program)
        };
        let known = tops::places(top).iter().filter_map(|place| self.at(*place));
        let mut candidates: Vec<_> =
            known.clone().map(|(table, number, form)| new(table, number, form)).collect();
        let lenient = known.filter_map(|it| self.lenient(it));
        candidates.extend(
            lenient
                .map(|(table, number, form, ignored)| new(table, number, form).ignoring(ignored)),
        );
        Builder { candidates, leaves: Vec::new(), others: Vec::new() }.build()
    }

    /// The fixed bits in the first word of the forms that are wanted.
    pub(super) fn first_words(&self, is_wanted: impl Fn(Form) -> bool) -> Vec<(u32, u32)> {
        let strict = self.model.forms().map(|(table, number, form)| (table, number, form, 0));
        let lenient = self.model.forms().filter_map(|it| self.lenient(it));
        let wanted = strict.chain(lenient).filter(|(_, number, ..)| is_wanted(Form::new(*number)));
        wanted.map(|(.., form, ignored)| first_word(form, ignored)).collect()
    }

    /// A form with the bits of it that may be anything: a lenient decoder takes it so after all others.
    fn lenient(
        &self,
        (table, number, form): Known,
    ) -> Option<(&'static Table, u16, &'static FormRow, u128)> {
        let ignored = IGNORED.get(usize::from(form.ignored)).copied().unwrap_or_default();
        (self.mode == Mode::Lenient && ignored != 0).then_some((table, number, form, ignored))
    }

    /// The form at a place, and its table, if the processor has them.
    fn at(&self, place: Place) -> Option<Known> {
        let table = TABLE_STARTS.partition_point(|start| *start <= place).checked_sub(1)?;
        let first = TABLES.get(table)?.forms.0;
        self.model.form(table, first + (place - TABLE_STARTS.get(table)?))
    }
}

impl Bucket {
    /// Where the forms of a first word are, and the length that they have if the first of them is plain.
    #[inline]
    pub(super) fn leaf(&self, low: u64) -> (Leaf, u8) {
        let run = |at: usize| {
            (low as u32).rotate_right(self.rotations[at].into()) & u32::from(self.masks[at])
        };
        let bits = run(0) | run(1);
        let escape = usize::from(escapes(low) << ESCAPE_SHIFT & self.rotations[0] != 0);
        let leaf = self.leaves.get(bits as usize * 2 + escape);
        (leaf.copied().unwrap_or(Leaf::EMPTY), self.sizes[escape])
    }

    /// The forms to try after the first.
    pub(super) fn others(&self, leaf: Leaf) -> &[u16] {
        let start = (leaf.others >> 8) as usize;
        self.others.get(start..start + (leaf.others & 0xff) as usize).unwrap_or_default()
    }

    #[inline]
    pub(super) fn candidate(&self, number: u16) -> Option<&Candidate> {
        self.candidates.get(usize::from(number))
    }
}

/// The fixed bits of a form's first word where some may be anything: their mask and their values.
fn first_word(form: &FormRow, ignored: u128) -> (u32, u32) {
    let mask = fixed_bits(form) & !ignored;
    (mask as u32, (form.value & mask as u64) as u32)
}

fn fixed_bits(form: &FormRow) -> u128 {
    MASKS.get(usize::from(form.mask)).copied().unwrap_or(u128::MAX)
}

fn candidate(
    table: &Table,
    number: u16,
    form: &FormRow,
    arch: Arch,
    program: Program,
) -> Candidate {
    let mask = fixed_bits(form);
    let special = FLAGS.get(usize::from(form.flags)).is_some_and(|flags| has_rules(flags, arch));
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

/// Puts the candidates of a bucket into leaves.
struct Builder {
    candidates: Vec<Candidate>,
    leaves: Vec<Leaf>,
    others: Vec<u16>,
}

impl Builder {
    fn build(mut self) -> Bucket {
        let bits = self.best_bits();
        let width = bits[0].width + bits[1].width;
        let operand = self.best_operand();
        let mut pairs = Vec::new();
        for (number, candidate) in (0..).zip(&self.candidates) {
            let escape = candidate.escapes(operand);
            each_match(candidate, bits[0], |first| {
                each_match(candidate, bits[1], |second| {
                    let leaf = ((second << bits[0].width | first) * 2) as u16;
                    if escape != Some(true) {
                        pairs.push((leaf, number));
                    }
                    if escape != Some(false) {
                        pairs.push((leaf + 1, number));
                    }
                });
            });
        }
        let leaves = Groups::new(&pairs, 2 << width);
        let sizes = [0, 1].map(|escape| self.most_frequent_size(&leaves, escape));
        for number in 0..2 << width {
            self.add_leaf(leaves.members(number), sizes[number & 1]);
        }
        Bucket {
            leaves: self.leaves.into(),
            candidates: self.candidates.into(),
            others: self.others.into(),
            rotations: [
                bits[0].shift | 1 << operand << ESCAPE_SHIFT,
                bits[1].shift.wrapping_sub(bits[0].width) & 31,
            ],
            masks: [bits[0].mask() as u16, (bits[1].mask() << bits[0].width) as u16],
            sizes,
        }
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
            let start = self.others.len() as u32;
            self.others.extend_from_slice(others);
            Some(Leaf {
                first: *first,
                is_plain: is_plain && size == usual_size,
                others: start << 8 | others.len() as u32 & 0xff,
            })
        });
        self.leaves.push(leaf.unwrap_or(Leaf::EMPTY));
    }

    /// The runs of bits that tell most of the candidates apart: the longest that nearly all of them fix, which is the
    /// opcode; and the few that some forms of an opcode fix one way and some the other.
    fn best_bits(&self) -> [Run; 2] {
        if self.candidates.len() <= 1 {
            return [Run::default(); 2];
        }
        let opcode = self.opcode();
        let tells = self.choices(opcode);
        let told = |shift: usize| tells.iter().skip(shift).take(MOST_CHOICE).sum::<usize>();
        let best = (0..tells.len()).max_by_key(|shift| told(*shift)).unwrap_or(0);
        // What few of them tell is not worth the room.
        let is_worth =
            |bit: &usize| tells.get(*bit).is_some_and(|it| it * 32 > self.candidates.len());
        let mut bits = (best..best + MOST_CHOICE).filter(is_worth);
        let Some(first) = bits.next() else { return [opcode, Run::default()] };
        let width = bits.next_back().unwrap_or(first) + 1 - first;
        let width = width.min(MOST_BITS - usize::from(opcode.width));
        [opcode, Run { shift: first as u8, width: width as u8 }]
    }

    fn opcode(&self) -> Run {
        // Some of many stand for all: what they are is decided by few formats.
        let some = self.candidates.iter().step_by(self.candidates.len() / 64 + 1);
        let mut fixing = [0; tops::SHIFT as usize];
        for candidate in some.clone() {
            for (bit, count) in fixing.iter_mut().enumerate() {
                *count += (candidate.mask >> bit & 1) as usize;
            }
        }
        let (mut opcode, mut width) = (Run::default(), 0);
        for (bit, count) in (0..).zip(fixing) {
            width = if count * 10 >= some.len() * 9 { width + 1 } else { 0 };
            if width > opcode.width {
                opcode = Run { shift: bit + 1 - width, width };
            }
        }
        Run { width: opcode.width.min(MOST_OPCODE), ..opcode }
    }

    /// For each bit how many forms have an opcode whose forms it tells apart.
    fn choices(&self, opcode: Run) -> [usize; tops::SHIFT as usize] {
        let all = opcode.mask() << opcode.shift;
        let fixing = self.candidates.iter().filter(|it| it.mask as u32 & all == all);
        let mut forms: Vec<_> = fixing
            .map(|it| (it.value as u32 & all, it.mask as u32 & !it.value as u32, it.value as u32))
            .collect();
        forms.sort_unstable();
        let mut tells = [0; tops::SHIFT as usize];
        for forms in forms.chunk_by(|one, other| one.0 == other.0).filter(|it| it.len() > 1) {
            let both = forms.iter().fold((0, 0), |all, it| (all.0 | it.1, all.1 | it.2));
            for (bit, count) in tells.iter_mut().enumerate() {
                *count += ((both.0 & both.1) as usize >> bit & 1) * forms.len();
            }
        }
        tells
    }

    /// Which of `FIRST_OPERANDS` tells more of the candidates apart.
    fn best_operand(&self) -> usize {
        let told =
            |operand| self.candidates.iter().filter(|it| it.escapes(operand) == Some(true)).count();
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

/// Calls with every value of some bits that the candidate allows.
fn each_match(candidate: &Candidate, run: Run, mut found: impl FnMut(u32)) {
    let all = run.mask();
    let mask = (candidate.mask >> run.shift) as u32 & all;
    let value = (candidate.value >> run.shift) as u32 & all;
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
