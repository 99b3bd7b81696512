//! From bytes to instructions.
#![allow(
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    reason = "fields are cut out of words; tables are as long as their indices reach"
)]

mod checks;
mod index;
mod tops;

use std::num::NonZeroU32;
use std::sync::Arc;

use crate::model::code::misaligned;
use crate::model::generated::CHECKS;
use crate::model::inst::{self, load};
use crate::model::table::{Check, Flags, Role, Slot};
use crate::model::{Arch, Code, Features, Form, Inst, Mode, Model, feature, tag};
use checks::{LITERAL, Verdicts};
use index::{Bucket, Candidate, Index, Leaf};

/// Finds the form that bytes have.
pub(crate) struct Matcher {
    model: Arc<Model>,
    max_len: usize,
    index: Index,
    verdicts: Verdicts,
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

impl Matcher {
    pub(crate) fn new(model: Arc<Model>, mode: Mode) -> Self {
        Matcher {
            max_len: max_len(&model.features),
            index: Index::new(Arc::clone(&model), mode),
            verdicts: Verdicts::new(),
            model,
        }
    }

    /// The fixed bits in the first word of the forms that are wanted: their mask and their values.
    pub(crate) fn first_words(&self, is_wanted: impl Fn(Form) -> bool) -> Vec<(u32, u32)> {
        self.index.first_words(is_wanted)
    }

    /// The instruction that LLVM decodes and then refuses.
    pub(crate) fn refused(&self, bytes: &[u8]) -> Option<Inst> {
        self.examine(bytes).err().flatten()
    }

    #[inline]
    fn bucket(&self, low: u64) -> &Bucket {
        self.index.bucket(low, &self.verdicts)
    }

    /// Nearly always the first form fits and its operands say nothing.
    ///
    /// Always inlined: an instruction is longer than what a call returns in registers.
    #[inline(always)]
    pub(crate) fn decode(&self, bytes: &[u8]) -> Option<Inst> {
        let (low, high, last) = load(bytes);
        let (form, len, marks) = 'found: {
            let bucket = self.bucket(low);
            let (leaf, size) = bucket.leaf(low);
            let candidate = bucket.candidate(leaf.first)?;
            if !candidate.fits(low, high) {
                break 'found self.decode_other(bucket, leaf, bytes)?.parts();
            }
            if leaf.is_plain {
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

    /// Tries the forms after the first, which does not fit.
    #[inline(never)]
    fn decode_other(&self, bucket: &Bucket, leaf: Leaf, bytes: &[u8]) -> Option<Found> {
        let (low, high, _) = load(bytes);
        let mut others = bucket.others(leaf).iter().filter_map(|it| bucket.candidate(*it));
        let other = others.find(|it| it.fits(low, high))?;
        let found = other.is_plain && usize::from(other.size) <= bytes.len();
        if found && self.verdicts.of(low, &other.checks) == 0 {
            return Some(Found::new(other.form, other.size, 0));
        }
        self.decode_carefully(bytes)
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
                    let code = self.model.code_of(slot.kind, value);
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
            && self.model.arch.is_gfx12_plus()
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

/// The mark of an operand that does not start where tuples do.
fn alignment(slot: &Slot, value: u16, code: Code) -> u8 {
    if misaligned(slot.kind().source, value, code).is_some() { inst::MISALIGNED } else { 0 }
}

/// Whether a form has rules beyond its operands, those of `Matcher::take_special`.
fn has_rules(flags: &Flags, arch: Arch) -> bool {
    let is_buffer = flags.any(Flags::MUBUF | Flags::MTBUF) || flags.has(Flags::SCALAR_BUFFER);
    flags.any(Flags::MIMG)
        || flags.has(Flags::WRITES_EXEC_ONLY)
        || is_buffer && arch.is_gfx12_plus()
}

/// The longest encoding, literal included.
fn max_len(features: &Features) -> usize {
    let has_wide_literals = features.has(const { feature("FeatureGFX950Insts") })
        || features.has(const { feature("FeatureGFX1250Insts") });
    if features.has(const { feature("FeatureNSAEncoding") }) {
        20
    } else if has_wide_literals {
        16
    } else if features.has(const { feature("FeatureVOP3Literal") }) {
        12
    } else {
        8
    }
}
