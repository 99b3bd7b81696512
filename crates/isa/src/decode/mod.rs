//! From bytes to instructions.

mod cache;
mod checks;
mod codes;
mod index;
mod tops;

pub use cache::DecoderCache;
use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;

use crate::arch::Arch;
use crate::effects::QuickSlots;
use crate::generated::{CHECKS, FEATURES, KINDS, TARGETS};
use crate::inst::{self, Inst};
use crate::operand::{Code, misaligned, tag};
use crate::print::Texts;
use crate::table::{Check, Condition, Flags, Role, Slot};
use crate::{Processor, WaveSize};
use checks::{LITERAL, Verdicts};
use codes::Codes;
use index::{Bucket, Candidate, Forms, Index};

/// How much a decoder lets pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Refuses what LLVM 22 refuses.
    #[default]
    Strict,
    /// Also takes encodings that differ only in bits that the hardware ignores;
    /// [`Inst::is_lenient`] says when that was so.
    Lenient,
}

/// How a decoder reads code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DecodeOptions {
    /// How much to let pass.
    pub mode: Mode,
    /// Whether 16-bit operands name halves of registers; by default as LLVM 22 has it for the processor.
    pub real_true16: Option<bool>,
    /// The size of a wave; by default as LLVM 22 has it for the processor.
    pub wave_size: Option<WaveSize>,
}

/// There are no instruction tables for a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnsupportedProcessor(pub Processor);

impl fmt::Display for UnsupportedProcessor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no instruction tables for {}: hsaco decodes gfx8 and later", self.0)
    }
}

impl std::error::Error for UnsupportedProcessor {}

/// Decodes and prints the instructions of one processor.
///
/// ```
/// use hsaco_isa::{Decoder, Processor};
/// let decoder = Decoder::new(Processor::from_name("gfx942").unwrap())?;
/// let inst = decoder.decode(&[0x01, 0x05, 0x06, 0x68]).unwrap();
/// assert_eq!(inst.len(), 4);
/// assert_eq!(decoder.text(&inst), "v_add_u32_e32 v3, v1, v2");
/// # Ok::<(), hsaco_isa::UnsupportedProcessor>(())
/// ```
#[derive(Clone)]
pub struct Decoder {
    tables: Arc<Tables>,
    /// What prints, where the text is another decoder's.
    text: Option<Arc<Tables>>,
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Decoder").field(&self.tables.arch).finish()
    }
}

/// What a decoder has worked out for its processor.
pub(crate) struct Tables {
    features: Features,
    pub(crate) arch: Arch,
    /// Which of LLVM's modes chooses register classes.
    pub(crate) class_mode: usize,
    max_len: usize,
    index: Index,
    verdicts: Verdicts,
    codes: Codes,
    pub(crate) texts: Texts,
    pub(crate) quick: QuickSlots,
}

impl Decoder {
    /// A strict decoder with LLVM 22's settings for the processor.
    pub fn new(processor: Processor) -> Result<Self, UnsupportedProcessor> {
        Self::with_options(processor, DecodeOptions::default())
    }

    /// A decoder with settings of its own.
    pub fn with_options(
        processor: Processor,
        options: DecodeOptions,
    ) -> Result<Self, UnsupportedProcessor> {
        let features = Features::of(processor, options).ok_or(UnsupportedProcessor(processor))?;
        let tables = Arc::new(Tables::new(features, options.mode));
        Ok(Decoder { tables, text: None })
    }

    /// The same decoder with the text of another: who looks at what code does takes its waves and registers as they
    /// are, who reads it the text that everything else prints. What the other does not decode has its own text.
    ///
    /// ```
    /// use hsaco_isa::{DecodeOptions, Decoder, Processor, WaveSize};
    /// let gfx1030 = Processor::from_name("gfx1030").unwrap();
    /// let wave64 = DecodeOptions { wave_size: Some(WaveSize::Wave64), ..DecodeOptions::default() };
    /// let wave64 = Decoder::with_options(gfx1030, wave64)?;
    /// let llvm = Decoder::new(gfx1030)?;
    /// let inst = wave64.decode(&[0x01, 0x05, 0x84, 0x7d]).unwrap();
    /// assert_eq!(wave64.text(&inst), "v_cmp_eq_u32_e32 vcc, v1, v2");
    /// assert_eq!(wave64.with_text_of(&llvm).text(&inst), "v_cmp_eq_u32_e32 vcc_lo, v1, v2");
    /// # Ok::<(), hsaco_isa::UnsupportedProcessor>(())
    /// ```
    #[must_use]
    pub fn with_text_of(&self, other: &Decoder) -> Self {
        let text = Some(&other.tables).filter(|it| it.features != self.tables.features);
        Decoder { tables: Arc::clone(&self.tables), text: text.cloned() }
    }

    /// The instruction at the start of `bytes`, if there is one.
    #[inline(always)]
    #[must_use]
    pub fn decode(&self, bytes: &[u8]) -> Option<Inst> {
        self.tables.decode(bytes)
    }

    /// The instruction at the start of `bytes` that LLVM decodes and then refuses; it remarks on its operands all
    /// the same ([`print_remarks`](Self::print_remarks)).
    #[must_use]
    pub fn refused(&self, bytes: &[u8]) -> Option<Inst> {
        self.tables.examine(bytes).err().flatten()
    }

    /// What the first four bytes of an instruction of this name look like: pairs of a mask and the value
    /// under it. For who looks through much code for little.
    ///
    /// ```
    /// use hsaco_isa::{Decoder, Processor};
    /// let decoder = Decoder::new(Processor::from_name("gfx942").unwrap())?;
    /// let nop = decoder.first_words("s_nop");
    /// assert!(nop.iter().any(|(mask, value)| 0xbf80_0000 & mask == *value));
    /// # Ok::<(), hsaco_isa::UnsupportedProcessor>(())
    /// ```
    #[must_use]
    pub fn first_words(&self, mnemonic: &str) -> Vec<(u32, u32)> {
        let mut words = self.tables.index.first_words(|form| {
            let inst = Inst::blank(form, 4);
            inst.mnemonic() == mnemonic || inst.full_mnemonic() == mnemonic
        });
        words.sort_unstable();
        words.dedup();
        words
    }

    /// Whether it is the same decoder, or a copy of it.
    #[inline]
    pub(crate) fn is(&self, other: &Decoder) -> bool {
        let is_same = |one: &Option<Arc<Tables>>, other: &Option<Arc<Tables>>| match (one, other) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (None, None) => true,
            _ => false,
        };
        Arc::ptr_eq(&self.tables, &other.tables) && is_same(&self.text, &other.text)
    }

    pub(crate) fn tables(&self) -> &Tables {
        &self.tables
    }

    /// What prints an instruction, and the instruction as that decodes it.
    #[inline]
    pub(crate) fn printer(&self, inst: &Inst) -> (&Tables, Inst) {
        match &self.text {
            None => (&self.tables, *inst),
            Some(text) => self.printer_of(text, inst),
        }
    }

    #[cold]
    fn printer_of<'t>(&'t self, text: &'t Tables, inst: &Inst) -> (&'t Tables, Inst) {
        let bytes = inst.bytes();
        let own = bytes.get(..inst.len()).unwrap_or_default();
        match text.decode(own).filter(|it| it.len() == inst.len()) {
            Some(read) => (text, read),
            None => (&self.tables, *inst),
        }
    }
}

/// The number of a feature, for the compiler to look up: it refuses names that LLVM does not have.
pub(crate) const fn feature(name: &str) -> u8 {
    let mut number = 0;
    while !is_same(FEATURES[number], name) {
        number += 1;
    }
    number as u8
}

const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

/// The features of a processor under its settings.
#[derive(PartialEq, Eq)]
pub(crate) struct Features([bool; FEATURES.len()]);

impl Features {
    pub(crate) fn of(processor: Processor, options: DecodeOptions) -> Option<Self> {
        let target = TARGETS.iter().find(|target| target.name == processor.name())?;
        let mut features = Features([false; FEATURES.len()]);
        for number in target.features {
            features.set(*number, true);
        }
        if let Some(on) = options.real_true16 {
            let on = on && features.has(const { feature("FeatureTrue16BitInsts") });
            features.set(const { feature("FeatureRealTrue16Insts") }, on);
        }
        // From gfx10 on a processor has both.
        if !features.has(const { feature("FeatureWavefrontSize64") }) {
            let wave64 = options.wave_size == Some(WaveSize::Wave64);
            features.set(const { feature("FeatureWavefrontSize32") }, !wave64);
            features.set(const { feature("FeatureWavefrontSize64") }, wave64);
        }
        let has_tables = features.has(const { feature("FeatureGCN3Encoding") })
            || features.has(const { feature("FeatureGFX10Insts") });
        has_tables.then_some(features)
    }

    fn set(&mut self, number: u8, on: bool) {
        if let Some(feature) = self.0.get_mut(usize::from(number)) {
            *feature = on;
        }
    }

    pub(crate) fn has(&self, number: u8) -> bool {
        self.0.get(usize::from(number)).is_some_and(|on| *on)
    }

    fn any(&self, numbers: &[u8]) -> bool {
        numbers.is_empty() || numbers.iter().any(|number| self.has(*number))
    }

    pub(crate) fn fulfil(&self, condition: &Condition) -> bool {
        condition.0.iter().any(|(with, without)| {
            with.iter().all(|number| self.has(*number))
                && !without.iter().any(|number| self.has(*number))
        })
    }
}

/// Form, length and marks in one register.
struct Found(NonZeroU32);

impl Found {
    fn new(form: u16, len: u8, marks: u8) -> Self {
        let bits = u32::from(form) << 16 | u32::from(len) << 8 | u32::from(marks) << 1;
        Found(NonZeroU32::MIN | bits)
    }

    const fn parts(&self) -> (u16, u8, u8) {
        let bits = self.0.get();
        ((bits >> 16) as u16, (bits >> 8) as u8, bits as u8 >> 1)
    }
}

/// What became of a candidate.
enum Verdict {
    /// It is this instruction.
    Taken(Inst),
    /// It is not; others may be.
    Next,
    /// It is, but an operand rules the whole encoding out.
    Refused(Inst),
}

impl Tables {
    fn new(features: Features, mode: Mode) -> Self {
        let arch = Arch::of(&features);
        Tables {
            arch,
            class_mode: class_mode(arch),
            max_len: max_len(&features),
            index: Index::new(Forms::new(&features, arch, mode)),
            features,
            verdicts: Verdicts::new(),
            codes: Codes::new(arch),
            texts: Texts::new(),
            quick: QuickSlots::new(),
        }
    }

    /// The forms that the processor has, in the order in which they are tried, and their sizes.
    pub(crate) fn forms(&self) -> impl Iterator<Item = (u16, u8)> {
        self.index.forms()
    }

    /// What the value of an operand stands for.
    #[inline]
    pub(crate) fn code(&self, inst: &Inst, slot: &Slot) -> Code {
        self.code_of(slot.kind, inst.value(slot) as u16)
    }

    /// What a value stands for in operands of a kind.
    #[inline]
    pub(crate) fn code_of(&self, kind: u16, value: u16) -> Code {
        let codes = self.codes.table(self.codes.number(kind));
        codes.map_or(Code::INVALID, |(codes, _)| codes[usize::from(value & 0x3ff)])
    }

    /// What all values stand for in operands of a kind.
    pub(crate) fn codes_of(&self, kind: u16) -> Option<&[Code]> {
        self.codes.table(self.codes.number(kind)).map(|(codes, _)| &codes[..])
    }

    #[inline]
    fn bucket(&self, low: u64) -> &Bucket {
        self.index.bucket(low, (&self.codes, &self.verdicts))
    }

    /// The number of the table of values for operands of a kind, which is there from now on.
    pub(crate) fn code_table(&self, kind: u16) -> u8 {
        let number = self.codes.number(kind);
        self.codes.table(number);
        number
    }

    /// What a value stands for in a table that is there.
    #[inline]
    pub(crate) fn code_in(&self, table: u8, value: u16) -> Option<Code> {
        self.codes.made(table).map(|codes| codes[usize::from(value & 0x3ff)])
    }

    /// Nearly always the first form fits and its operands say nothing.
    ///
    /// Always inlined: an instruction is longer than what a call returns in registers.
    #[inline(always)]
    fn decode(&self, bytes: &[u8]) -> Option<Inst> {
        let (low, high, last) = load(bytes);
        let (form, len, marks) = 'found: {
            let bucket = self.bucket(low);
            let (leaf, size) = bucket.leaf(low);
            let candidate = bucket.candidate(leaf.first)?;
            if leaf.is_plain && candidate.fits(low, high) {
                let verdict = self.verdicts.of(low, &candidate.checks);
                if verdict == 0 && usize::from(size) <= bytes.len() {
                    break 'found (candidate.form, size, 0);
                }
                if verdict == LITERAL && usize::from(size) + 4 <= bytes.len().min(self.max_len) {
                    break 'found (candidate.form, size + 4, inst::LITERAL32);
                }
            }
            self.decode_carefully(bytes)?.parts()
        };
        Some(Inst { low, last, form, len, marks, high })
    }

    #[cold]
    fn decode_carefully(&self, bytes: &[u8]) -> Option<Found> {
        self.examine(bytes).ok()
    }

    /// Tries every form; what is refused as a whole is the error, where there is any.
    fn examine(&self, bytes: &[u8]) -> Result<Found, Option<Inst>> {
        let (low, high, last) = load(bytes);
        let bucket = self.bucket(low);
        let (leaf, _) = bucket.leaf(low);
        let available = bytes.len().min(self.max_len);
        if available < 4 {
            return Err(None);
        }
        for number in [leaf.first].iter().chain(bucket.others(leaf)) {
            let candidate = bucket.candidate(*number).ok_or(None)?;
            if !candidate.fits(low, high) || available < usize::from(candidate.size) {
                continue;
            }
            if candidate.is_plain
                && let Some(found) = self.take_plain(candidate, low, available)
            {
                return Ok(found);
            }
            let marks = if candidate.lenient { inst::LENIENT } else { 0 };
            let inst = Inst { low, last, form: candidate.form, len: candidate.size, marks, high };
            match self.take(candidate, inst, available) {
                Verdict::Taken(inst) => return Ok(Found::new(inst.form, inst.len, inst.marks)),
                Verdict::Next => {}
                Verdict::Refused(inst) => return Err(Some(inst)),
            }
        }
        Err(None)
    }

    /// Nothing if its operands take a closer look.
    fn take_plain(&self, candidate: &Candidate, low: u64, available: usize) -> Option<Found> {
        let Candidate { form, size, .. } = *candidate;
        match self.verdicts.of(low, &candidate.checks) {
            0 => Some(Found::new(form, size, 0)),
            LITERAL if usize::from(size) + 4 <= available => {
                Some(Found::new(form, size + 4, inst::LITERAL32))
            }
            _ => None,
        }
    }

    fn take(&self, candidate: &Candidate, mut inst: Inst, available: usize) -> Verdict {
        let shape = inst.shape();
        let (start, count) = shape.checks;
        let checks = CHECKS
            .get(usize::from(start)..usize::from(start) + usize::from(count))
            .unwrap_or_default();
        if !checks.is_empty() && !self.check(candidate, &mut inst, checks, available) {
            return Verdict::Next;
        }
        if candidate.special {
            return self.take_special(inst, available);
        }
        Verdict::Taken(inst)
    }

    /// Whether every operand is one, and which literal they take.
    fn check(
        &self,
        candidate: &Candidate,
        inst: &mut Inst,
        checks: &[Check],
        available: usize,
    ) -> bool {
        let slots = inst.slots();
        let mut wants_literal = false;
        let mut literal = None;
        for check in checks {
            let Some(slot) = slots.get(usize::from(check.slot)) else { return false };
            match check.role {
                Role::Register | Role::Source => {
                    let value = inst.value(slot) as u16;
                    let code = self.code_of(slot.kind, value);
                    inst.marks |= alignment(slot, value, code);
                    match code.tag() {
                        tag::INVALID => return false,
                        tag::LITERAL => wants_literal |= check.role == Role::Source,
                        tag::LITERAL64 if literal.is_none() => {
                            let at = if candidate.literal_inside {
                                4
                            } else {
                                usize::from(candidate.size)
                            };
                            if available < at + 8 {
                                return false;
                            }
                            inst.len = at as u8 + 8;
                            inst.marks |= inst::LITERAL64;
                            literal = inst.literal();
                        }
                        _ => {}
                    }
                }
                Role::Literal => {
                    let value = inst.value(slot);
                    if literal.is_some_and(|literal| literal != value) {
                        return false;
                    }
                    inst.marks |= inst::LITERAL_INSIDE;
                    literal = Some(value);
                }
                Role::Number => wants_literal |= inst.value(slot) == 255,
                Role::Dpp8 => {
                    if !matches!(inst.value(slot), 0xe9 | 0xea) {
                        return false;
                    }
                }
            }
        }
        if wants_literal && literal.is_none() {
            inst.len += 4;
            inst.marks |= inst::LITERAL32;
        }
        usize::from(inst.len) <= available
    }

    /// Rules that few forms have.
    fn take_special(&self, mut inst: Inst, available: usize) -> Verdict {
        let flags = inst.flags();
        let is_buffer = flags.any(Flags::MUBUF | Flags::MTBUF) || flags.has(Flags::SCALAR_BUFFER);
        if is_buffer
            && self.arch.is_gfx12_plus()
            && let Some(slot) = inst.named("offset")
            && inst.value(slot) & 0x80_0000 != 0
        {
            return Verdict::Refused(inst);
        }
        if flags.any(Flags::MIMG) {
            let extra = inst.extra_addresses();
            inst.len += extra.div_ceil(4) * 4;
            if inst.len() > available {
                return Verdict::Refused(inst);
            }
        }
        if flags.has(Flags::WRITES_EXEC_ONLY) && inst.low as u8 != 126 {
            inst.marks |= inst::DOUBTFUL;
        }
        Verdict::Taken(inst)
    }
}

/// The bytes of an instruction and what follows them.
type Words = (u64, u64, u32);

/// The first twenty bytes, or what there is of them.
#[inline]
pub(crate) fn load(bytes: &[u8]) -> Words {
    match bytes.first_chunk::<20>() {
        Some(bytes) => parts(bytes),
        None => {
            let mut padded = [0; 20];
            padded.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
            parts(&padded)
        }
    }
}

#[inline]
fn parts(bytes: &[u8; 20]) -> Words {
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t] = *bytes;
    let low = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
    let high = u64::from_le_bytes([i, j, k, l, m, n, o, p]);
    (low, high, u32::from_le_bytes([q, r, s, t]))
}

/// The mark of an operand that does not start where tuples do.
fn alignment(slot: &Slot, value: u16, code: Code) -> u8 {
    let kind = KINDS.get(usize::from(slot.kind));
    let number = kind.and_then(|kind| misaligned(kind.source, value, code));
    if number.is_some() { inst::MISALIGNED } else { 0 }
}

/// Whether a form has rules beyond its operands, those of `Tables::take_special`.
fn has_rules(flags: &Flags, arch: Arch) -> bool {
    let is_buffer = flags.any(Flags::MUBUF | Flags::MTBUF) || flags.has(Flags::SCALAR_BUFFER);
    flags.any(Flags::MIMG)
        || flags.has(Flags::WRITES_EXEC_ONLY)
        || is_buffer && arch.is_gfx12_plus()
}

/// The longest encoding, literal included.
fn max_len(features: &Features) -> usize {
    match () {
        () if features.has(const { feature("FeatureNSAEncoding") }) => 20,
        () if features.has(const { feature("FeatureGFX950Insts") })
            || features.has(const { feature("FeatureGFX1250Insts") }) =>
        {
            16
        }
        () if features.has(const { feature("FeatureVOP3Literal") }) => 12,
        () => 8,
    }
}

/// Which of LLVM's modes chooses register classes, numbered as the generated tables do.
const fn class_mode(arch: Arch) -> usize {
    match (arch.has(Arch::ALIGNED_VGPRS), arch.has(Arch::GFX9), arch.has(Arch::WAVE32)) {
        (false, _, false) => 0,
        (false, _, true) => 1,
        (true, true, _) => 2,
        (true, false, false) => 3,
        (true, false, true) => 4,
    }
}

impl Inst {
    /// How many address registers stand in words after an image instruction.
    pub(crate) fn extra_addresses(&self) -> u8 {
        let slots = self.slots();
        let extra = slots.iter().filter(|slot| is_extra_address(slot, self.len));
        extra.count() as u8
    }
}

fn is_extra_address(slot: &Slot, base_size: u8) -> bool {
    let field = crate::generated::FIELDS.get(usize::from(slot.field));
    field.is_some_and(|field| slot.field != crate::table::NO_FIELD && field.0.0 >= base_size * 8)
}
