//! From bytes to instructions.

mod index;

use std::fmt;
use std::sync::Arc;

use crate::arch::Arch;
use crate::generated::{CHECKS, FEATURES, HIGH_VALUES, KINDS, PREDICATES, SHAPES, TARGETS};
use crate::inst::{self, Inst};
use crate::operand::{self, Code, tag};
use crate::table::{Check, Condition, Flags, Role, Slot, Source};
use crate::{Processor, WaveSize};
use index::{Candidate, Index};

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
pub struct Decoder(Arc<Tables>);

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Decoder").field(&self.0.arch).finish()
    }
}

/// What a decoder has worked out for its processor.
pub(crate) struct Tables {
    pub(crate) arch: Arch,
    /// Which of LLVM's modes chooses register classes.
    pub(crate) class_mode: usize,
    max_len: usize,
    index: Index,
    /// What each value stands for, for each kind of register field.
    codes: Vec<[Code; 1024]>,
    /// Which of `codes` a kind of operand uses.
    codes_of_kind: [u8; KINDS.len()],
}

impl Decoder {
    /// A strict decoder with LLVM 22's settings for the processor.
    pub fn new(processor: Processor) -> Result<Self, UnsupportedProcessor> {
        Self::with_options(processor, DecodeOptions::default())
    }

    /// A decoder with settings of its own.
    pub fn with_options(processor: Processor, options: DecodeOptions) -> Result<Self, UnsupportedProcessor> {
        let features = Features::of(processor, options).ok_or(UnsupportedProcessor(processor))?;
        Ok(Decoder(Arc::new(Tables::new(&features, options.mode))))
    }

    /// The instruction at the start of `bytes`, if there is one.
    #[inline]
    #[must_use]
    pub fn decode(&self, bytes: &[u8]) -> Option<Inst> {
        self.0.decode(bytes)
    }

    pub(crate) fn tables(&self) -> &Tables {
        &self.0
    }
}

/// The features of a processor under its settings.
pub(crate) struct Features([bool; FEATURES.len()]);

impl Features {
    fn of(processor: Processor, options: DecodeOptions) -> Option<Self> {
        let target = TARGETS.iter().find(|target| target.name == processor.name())?;
        let mut features = Features([false; FEATURES.len()]);
        for number in target.features {
            features.set(usize::from(*number), true);
        }
        if let Some(on) = options.real_true16 {
            features.set_named("FeatureRealTrue16Insts", on && features.named("FeatureTrue16BitInsts"));
        }
        // From gfx10 on a processor has both.
        if !features.named("FeatureWavefrontSize64") {
            let wave64 = options.wave_size == Some(WaveSize::Wave64);
            features.set_named("FeatureWavefrontSize32", !wave64);
            features.set_named("FeatureWavefrontSize64", wave64);
        }
        let has_tables = features.named("FeatureGCN3Encoding") || features.named("FeatureGFX10Insts");
        has_tables.then_some(features)
    }

    fn set(&mut self, number: usize, on: bool) {
        if let Some(feature) = self.0.get_mut(number) {
            *feature = on;
        }
    }

    fn set_named(&mut self, name: &str, on: bool) {
        if let Some(number) = FEATURES.iter().position(|feature| *feature == name) {
            self.set(number, on);
        }
    }

    pub(crate) fn named(&self, name: &str) -> bool {
        FEATURES.iter().zip(&self.0).any(|(feature, on)| *on && *feature == name)
    }

    fn has(&self, number: u8) -> bool {
        self.0.get(usize::from(number)).is_some_and(|on| *on)
    }

    fn any(&self, numbers: &[u8]) -> bool {
        numbers.is_empty() || numbers.iter().any(|number| self.has(*number))
    }

    fn fulfil(&self, condition: &Condition) -> bool {
        condition.0.iter().any(|(with, without)| {
            with.iter().all(|number| self.has(*number)) && !without.iter().any(|number| self.has(*number))
        })
    }
}

/// What became of a candidate.
enum Verdict {
    /// It is this instruction.
    Taken(Inst),
    /// It is not; others may be.
    Next,
    /// It is, but an operand rules the whole encoding out.
    Refused,
}

impl Tables {
    fn new(features: &Features, mode: Mode) -> Self {
        let arch = Arch::of(features);
        let allowed: Vec<bool> = PREDICATES.iter().map(|condition| features.fulfil(condition)).collect();
        let mut tables = Tables {
            arch,
            class_mode: class_mode(arch),
            max_len: max_len(features),
            index: Index::new(
                |table| features.any(table.when),
                |form| allowed.get(usize::from(form.predicates)) == Some(&true),
                mode == Mode::Lenient,
            ),
            codes: Vec::new(),
            codes_of_kind: [0; KINDS.len()],
        };
        tables.add_codes();
        tables
    }

    /// The forms that the processor has, in the order in which they are tried, and their sizes.
    pub(crate) fn forms(&self) -> impl Iterator<Item = (u16, u8)> {
        self.index.strict().map(|candidate| (candidate.form, candidate.size))
    }

    fn add_codes(&mut self) {
        let mut known: Vec<(Source, u8)> = Vec::new();
        for (kind, number) in KINDS.iter().zip(&mut self.codes_of_kind) {
            let key = (kind.source, kind.dwords);
            if matches!(kind.source, Source::Immediate | Source::ScalarOffset | Source::Literal | Source::Absent) {
                continue;
            }
            let position = known.iter().position(|other| *other == key).unwrap_or_else(|| {
                let mut codes = [Code::INVALID; 1024];
                for (value, code) in (0..).zip(&mut codes) {
                    *code = operand::decode(self.arch, kind.source, kind.dwords, value);
                }
                self.codes.push(codes);
                known.push(key);
                known.len() - 1
            });
            *number = position as u8;
        }
    }

    /// What the value of an operand stands for.
    #[inline]
    pub(crate) fn code(&self, inst: &Inst, slot: &Slot) -> Code {
        let value = inst.value(slot) as usize;
        let number = self.codes_of_kind.get(usize::from(slot.kind)).copied().unwrap_or_default();
        let codes = self.codes.get(usize::from(number));
        codes.and_then(|codes| codes.get(value & 0x3ff)).copied().unwrap_or(Code::INVALID)
    }

    #[inline]
    fn decode(&self, bytes: &[u8]) -> Option<Inst> {
        let mut inst = load(bytes);
        let available = bytes.len().min(self.max_len);
        if available < 4 {
            return None;
        }
        for number in self.index.candidates(inst.low as u32) {
            let candidate = self.index.candidate(*number)?;
            if inst.low & candidate.mask != candidate.value || available < usize::from(candidate.size) {
                continue;
            }
            match self.take(candidate, &mut inst, available) {
                Verdict::Taken(inst) => return Some(inst),
                Verdict::Next => {}
                Verdict::Refused => return None,
            }
        }
        None
    }

    #[inline]
    fn take(&self, candidate: &Candidate, inst: &mut Inst, available: usize) -> Verdict {
        inst.form = candidate.form;
        inst.len = candidate.size;
        inst.marks = if candidate.lenient { inst::LENIENT } else { 0 };
        if candidate.size > 8 && !has_high_bits(candidate, inst) {
            return Verdict::Next;
        }
        let shape = &SHAPES[usize::from(candidate.shape)];
        let (start, count) = shape.checks;
        let checks = CHECKS.get(usize::from(start)..usize::from(start) + usize::from(count)).unwrap_or_default();
        if !checks.is_empty() && !self.check(candidate, inst, checks, available) {
            return Verdict::Next;
        }
        if candidate.special {
            return self.take_special(*inst, available);
        }
        Verdict::Taken(*inst)
    }

    /// Whether every operand is one, and which literal they take.
    #[inline]
    fn check(&self, candidate: &Candidate, inst: &mut Inst, checks: &[Check], available: usize) -> bool {
        let slots = inst.slots();
        let mut wants_literal = false;
        let mut literal = None;
        for check in checks {
            let Some(slot) = slots.get(usize::from(check.slot)) else { return false };
            match check.role {
                Role::Register | Role::Source => match self.code(inst, slot).tag() {
                    tag::INVALID => return false,
                    tag::LITERAL => wants_literal |= check.role == Role::Source,
                    tag::LITERAL64 if literal.is_none() => {
                        let at = if candidate.literal_inside { 4 } else { usize::from(candidate.size) };
                        if available < at + 8 {
                            return false;
                        }
                        inst.len = at as u8 + 8;
                        inst.marks |= inst::LITERAL64;
                        literal = inst.literal();
                    }
                    _ => {}
                },
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
            return Verdict::Refused;
        }
        if flags.any(Flags::MIMG) {
            let extra = inst.extra_addresses();
            inst.len += extra.div_ceil(4) * 4;
            if usize::from(inst.len) > available {
                return Verdict::Refused;
            }
        }
        if flags.has(Flags::WRITES_EXEC_ONLY) && inst.low as u8 != 126 {
            inst.marks |= inst::DOUBTFUL;
        }
        Verdict::Taken(inst)
    }
}

/// The first twenty bytes, or what there is of them.
#[inline]
fn load(bytes: &[u8]) -> Inst {
    let (low, high, last) = match bytes.first_chunk::<20>() {
        Some(bytes) => parts(bytes),
        None => {
            let mut padded = [0; 20];
            padded.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
            parts(&padded)
        }
    };
    Inst { low, high, last, form: 0, len: 0, marks: 0 }
}

#[inline]
fn parts(bytes: &[u8; 20]) -> (u64, u64, u32) {
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t] = *bytes;
    let low = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
    let high = u64::from_le_bytes([i, j, k, l, m, n, o, p]);
    (low, high, u32::from_le_bytes([q, r, s, t]))
}

fn has_high_bits(candidate: &Candidate, inst: &Inst) -> bool {
    let mask = candidate.high_mask();
    let value = HIGH_VALUES.get(usize::from(inst.form().high)).copied().unwrap_or_default();
    (inst.high ^ value) & mask == 0
}

/// The longest encoding, literal included.
fn max_len(features: &Features) -> usize {
    match () {
        () if features.named("FeatureNSAEncoding") => 20,
        () if features.named("FeatureGFX950Insts") || features.named("FeatureGFX1250Insts") => 16,
        () if features.named("FeatureVOP3Literal") => 12,
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
        let extra = slots.iter().filter(|slot| is_extra_address(slot, self.base_size()));
        extra.count() as u8
    }

    fn base_size(&self) -> u8 {
        self.len
    }
}

fn is_extra_address(slot: &Slot, base_size: u8) -> bool {
    let field = crate::generated::FIELDS.get(usize::from(slot.field));
    field.is_some_and(|field| slot.field != crate::table::NO_FIELD && field.0.0 >= base_size * 8)
}
