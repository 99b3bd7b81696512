//! A decoded instruction.

use std::hash::{Hash, Hasher};
use std::num::NonZeroU8;

use super::form::Form;
use super::generated::{FIELDS, OPERAND_NAMES, OPS, PIECES};
use super::table::{Field, Flags, NO_FIELD, Op, P, Run, Shape, Slot, Source, Type};

/// One decoded instruction: its bytes and what form they have.
///
/// Small and `Copy`; operands are read from the bytes when asked for, by the
/// [`Decoder`](crate::Decoder) that made it.
#[derive(Clone, Copy)]
// In this order the first word is loaded by itself, which is sooner than as half of a vector.
#[repr(C)]
pub struct Inst {
    pub(crate) low: u64,
    pub(crate) last: u32,
    pub(crate) form: u16,
    pub(crate) len: u8,
    pub(crate) marks: u8,
    pub(crate) high: u64,
}

/// All that makes an instruction what it is, and nothing of the bytes after it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(C)]
pub(crate) struct Key {
    low: u64,
    high: u64,
    last: u32,
    /// Form, length and marks.
    what: u32,
}

/// The bits of an encoding by its words: what follows them is not its own.
static OWN_BITS: [(u64, u64, u32); 8] = {
    let mut bits = [(u64::MAX, u64::MAX, u32::MAX); 8];
    (bits[0], bits[1]) = ((0, 0, 0), (u32::MAX as u64, 0, 0));
    (bits[2], bits[3]) = ((u64::MAX, 0, 0), (u64::MAX, u32::MAX as u64, 0));
    bits[4] = (u64::MAX, u64::MAX, 0);
    bits
};

/// Two are equal if their bytes are, and what they were decoded as; what follows them in memory does not matter.
impl PartialEq for Inst {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Inst {}

impl Hash for Inst {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Hash::hash(&self.key(), state);
    }
}

/// Form, length and flags of a decoded instruction, in 4 bytes; [`with_bytes`](Self::with_bytes) restores the [`Inst`].
///
/// For lists of instructions beside the bytes that they were decoded from.
///
/// ```
/// use hsaco_isa::{Decoder, Processor};
/// let decoder = Decoder::new(Processor::from_name("gfx942").unwrap())?;
/// let bytes = [0x01, 0x05, 0x06, 0x68];
/// let inst = decoder.decode(&bytes).unwrap();
/// assert_eq!(inst.outline().with_bytes(&bytes), inst);
/// # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outline {
    form: u16,
    len: NonZeroU8,
    marks: u8,
}

impl Outline {
    /// The instruction, from the bytes that it was decoded from; any that follow do not matter.
    #[inline]
    #[must_use]
    pub fn with_bytes(self, bytes: &[u8]) -> Inst {
        let (low, high, last) = load(bytes);
        Inst { low, last, form: self.form, len: self.len.get(), marks: self.marks, high }
    }
}

/// A 32-bit literal follows the encoding.
pub(crate) const LITERAL32: u8 = 1 << 0;
/// A 64-bit literal follows the encoding, or is its last eight bytes.
pub(crate) const LITERAL64: u8 = 1 << 1;
/// The encoding itself holds the literal.
pub(crate) const LITERAL_INSIDE: u8 = 1 << 2;
/// LLVM decodes it but doubts it.
pub(crate) const DOUBTFUL: u8 = 1 << 3;
/// Bits that the hardware ignores are not as the assembler sets them.
pub(crate) const LENIENT: u8 = 1 << 4;
/// A tuple of scalar registers does not start where tuples do.
pub(crate) const MISALIGNED: u8 = 1 << 5;

impl Inst {
    /// Its length in bytes: 4, 8, 12, 16 or 20.
    #[inline]
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "no instruction is empty")]
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// What it is beside its bytes.
    #[inline]
    #[must_use]
    pub fn outline(&self) -> Outline {
        let len = NonZeroU8::new(self.len).unwrap_or(NonZeroU8::MIN);
        Outline { form: self.form, len, marks: self.marks }
    }

    /// Its name, without the suffix that tells encodings apart.
    #[must_use]
    pub fn mnemonic(&self) -> &'static str {
        self.form().mnemonic()
    }

    /// Its name as printed, with `_e64` and the like.
    #[must_use]
    pub fn full_mnemonic(&self) -> &'static str {
        self.form().full_mnemonic()
    }

    /// The name of the second operation of a dual instruction.
    ///
    /// ```
    /// use hsaco_isa::{Decoder, Processor};
    /// let decoder = Decoder::new(Processor::from_name("gfx1100").unwrap())?;
    /// let bytes = [0x01, 0x04, 0x00, 0xc9, 0x69, 0x06, 0x06, 0xff];
    /// let inst = decoder.decode(&bytes).unwrap();
    /// assert_eq!(inst.second_mnemonic(), Some("v_dual_fmac_f32"));
    /// # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
    /// ```
    #[must_use]
    pub fn second_mnemonic(&self) -> Option<&'static str> {
        let (start, count) = self.shape().ops;
        let ops = OPS.get(usize::from(start)..usize::from(start) + usize::from(count))?;
        let texts = ops.iter().filter(|op| op.0 == P::Text);
        let mut pieces = texts.filter_map(|op| PIECES.get(usize::from(op.1)));
        pieces.find_map(|piece| piece.trim().strip_prefix(":: "))
    }

    /// Whether LLVM warns of the encoding although it decodes.
    #[must_use]
    pub const fn is_doubtful(&self) -> bool {
        self.marks & DOUBTFUL != 0
    }

    /// Whether only a lenient decoder takes the encoding: it differs from the documented one in
    /// bits that the hardware ignores.
    #[must_use]
    pub const fn is_lenient(&self) -> bool {
        self.marks & LENIENT != 0
    }

    /// Whether the instruction ends a basic block.
    #[must_use]
    pub fn is_terminator(&self) -> bool {
        self.flags().has(Flags::TERMINATOR)
    }

    /// Whether it is a direct branch.
    #[inline]
    #[must_use]
    pub fn has_target(&self) -> bool {
        self.flags().has(Flags::HAS_TARGET)
    }

    /// Whether there may be something to remark on it: [`Decoder::print_remarks`](crate::Decoder::print_remarks).
    #[inline]
    #[must_use]
    pub const fn has_remarks(&self) -> bool {
        self.marks & MISALIGNED != 0
    }

    /// Where a direct branch that stands at `address` goes.
    #[inline]
    #[must_use]
    pub fn branch_target(&self, address: u64) -> Option<u64> {
        if !self.has_target() {
            return None;
        }
        let slot = self.slots().iter().find(|slot| is_branch_target(slot))?;
        let offset = i64::from(self.value(slot) as u16 as i16) * 4 + 4;
        Some(address.wrapping_add_signed(offset))
    }

    /// Whether the target of a branch is LLVM's first operand: then `llvm-objdump` names it behind the encoding.
    #[must_use]
    pub fn has_target_first(&self) -> bool {
        self.slots().first().is_some_and(is_branch_target)
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> [u8; 20] {
        let mut bytes = [0; 20];
        let parts = self
            .low
            .to_le_bytes()
            .into_iter()
            .chain(self.high.to_le_bytes())
            .chain(self.last.to_le_bytes());
        bytes.iter_mut().zip(parts).take(self.len()).for_each(|(to, from)| *to = from);
        bytes
    }

    #[inline]
    pub(crate) const fn key(&self) -> Key {
        let (low, high, last) = OWN_BITS[((self.len / 4) & 7) as usize];
        let what = (self.form as u32) << 16 | (self.len as u32) << 8 | self.marks as u32;
        Key { low: self.low & low, high: self.high & high, last: self.last & last, what }
    }

    /// The identity of its encoding.
    #[inline]
    #[must_use]
    pub const fn form(&self) -> Form {
        Form::new(self.form)
    }

    #[inline]
    pub(crate) fn flags(&self) -> &'static Flags {
        self.form().flags()
    }

    #[inline]
    pub(crate) fn shape(&self) -> &'static Shape {
        self.form().shape()
    }

    #[inline]
    pub(crate) fn slots(&self) -> &'static [Slot] {
        self.form().slots()
    }

    #[inline]
    pub(crate) fn ops(&self) -> &'static [Op] {
        self.form().ops()
    }

    /// The first slot of that name.
    pub(crate) fn named(&self, name: &str) -> Option<&'static Slot> {
        self.slots().iter().find(|slot| OPERAND_NAMES.get(usize::from(slot.name)) == Some(&name))
    }

    #[inline]
    pub(crate) fn value(&self, slot: &Slot) -> u64 {
        if slot.field == NO_FIELD {
            return slot.fixed.into();
        }
        let field = FIELDS.get(usize::from(slot.field)).unwrap_or(&FIELDS[0]);
        let (at, first, width) = field.0;
        let is_simple = field.1.is_empty() && at + width <= 64;
        let value = if is_simple {
            (self.low >> (at & 63) & ones(width)) << first
        } else {
            self.field(field)
        };
        value | u64::from(slot.fixed)
    }

    fn field(&self, field: &Field) -> u64 {
        let mut value = self.run(field.0);
        for run in field.1 {
            value |= self.run(*run);
        }
        value
    }

    #[inline]
    fn run(&self, (at, first, width): Run) -> u64 {
        let bits = match at {
            0..64 if at + width <= 64 => self.low >> at,
            64..128 if at + width <= 128 => self.high >> (at - 64),
            0..64 => (self.low >> at) | (self.high << (64 - at)),
            _ => {
                (self.high.checked_shr(at.into()).unwrap_or(0))
                    | u64::from(self.last.checked_shr(u32::from(at) - 128).unwrap_or(0))
            }
        };
        (bits & ones(width)) << first
    }

    /// Whether it is a matrix instruction whose operands are as wide as their formats ask.
    #[inline]
    pub(crate) fn has_formats(&self) -> bool {
        self.flags().has(Flags::HAS_FORMATS)
    }

    pub(crate) fn operand(&self, name: &str) -> Option<u64> {
        self.named(name).map(|slot| self.value(slot))
    }

    /// How many address registers stand in words after an image instruction.
    pub(crate) fn extra_addresses(&self) -> u8 {
        let slots = self.slots();
        let extra = slots.iter().filter(|slot| is_extra_address(slot, self.len));
        extra.count() as u8
    }

    /// The literal, if there is one.
    pub(crate) fn literal(&self) -> Option<u64> {
        if self.marks & (LITERAL32 | LITERAL64) != 0 {
            let width = if self.marks & LITERAL32 != 0 { 32 } else { 64 };
            let at = self.len * 8 - width;
            return Some(self.run((at, 0, width)));
        }
        if self.marks & LITERAL_INSIDE != 0 {
            return self.slots().iter().find(|slot| is_literal(slot)).map(|slot| self.value(slot));
        }
        None
    }
}

/// So many ones, one at least.
#[inline]
const fn ones(width: u8) -> u64 {
    u64::MAX >> ((64 - width as u32) & 63)
}

fn is_literal(slot: &Slot) -> bool {
    slot.kind().source == Source::Literal
}

fn is_branch_target(slot: &Slot) -> bool {
    slot.kind().ty == Type::PcRelative
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

fn is_extra_address(slot: &Slot, base_size: u8) -> bool {
    let field = FIELDS.get(usize::from(slot.field));
    field.is_some_and(|field| slot.field != NO_FIELD && field.0.0 >= base_size * 8)
}

impl std::fmt::Debug for Inst {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Inst({}, {} bytes)", self.full_mnemonic(), self.len())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashSet};

    use crate::{Decoder, Processor};

    /// Random bytes, the first of which often begin a long encoding.
    fn encodings(mut seed: u64) -> impl Iterator<Item = [u8; 20]> {
        std::iter::repeat_with(move || {
            let mut bytes = [0; 20];
            for byte in &mut bytes {
                seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
                *byte = (seed >> 56) as u8;
            }
            if seed & 1 << 40 == 0 {
                bytes[3] = [0xd5, 0xf0, 0xcc, 0xd3][(seed >> 41 & 3) as usize];
            }
            bytes
        })
    }

    #[test]
    fn equality_knows_nothing_of_the_bytes_after() {
        let mut lengths = BTreeSet::new();
        for processor in ["gfx942", "gfx950", "gfx1030", "gfx1250"] {
            let decoder = Decoder::new(Processor::from_name(processor).unwrap()).unwrap();
            for mut bytes in encodings(7).take(50_000) {
                let Some(first) = decoder.decode(&bytes) else { continue };
                lengths.insert(first.len());
                for byte in &mut bytes[first.len()..] {
                    *byte = !*byte;
                }
                let second = decoder.decode(&bytes).unwrap();
                assert_eq!(first, second, "{bytes:x?}");
                assert_eq!(HashSet::from([first, second]).len(), 1);
                bytes[first.len() - 1] ^= 1;
                assert_ne!(decoder.decode(&bytes), Some(first));
            }
        }
        assert_eq!(lengths, BTreeSet::from([4, 8, 12, 16, 20]));
    }
}
