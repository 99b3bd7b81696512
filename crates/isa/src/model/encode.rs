//! From instructions to bytes: the inverse of reading an operand's bits.

use super::generated::{FIELDS, FORMS, HIGH_VALUES};
use super::inst::{self, Inst};
use super::table::{Field, Flags, NO_FIELD, Run, Slot};

/// Where VOP3P keeps `op_sel_hi` of the three sources.
const OP_SEL_HI: [u64; 3] = [1 << 59, 1 << 60, 1 << 14];
/// The destination of a comparison that writes EXEC.
const EXEC: u64 = 126;

impl Inst {
    /// Appends its bytes.
    ///
    /// ```
    /// use hsaco_isa::{Decoder, Processor};
    /// let decoder = Decoder::new(Processor::from_name("gfx942").unwrap())?;
    /// let inst = decoder.decode(&[0x01, 0x05, 0x06, 0x68]).unwrap();
    /// let mut code = Vec::new();
    /// inst.encode(&mut code);
    /// assert_eq!(code, [0x01, 0x05, 0x06, 0x68]);
    /// # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
    /// ```
    #[inline]
    pub fn encode(&self, out: &mut Vec<u8>) {
        let end = out.len() + self.len();
        let mut bytes = [0; 20];
        let (low, rest) = bytes.split_at_mut(8);
        let (high, last) = rest.split_at_mut(8);
        low.copy_from_slice(&self.low.to_le_bytes());
        high.copy_from_slice(&self.high.to_le_bytes());
        last.copy_from_slice(&self.last.to_le_bytes());
        out.extend_from_slice(&bytes);
        out.truncate(end);
    }

    /// The encoding of a form whose operands are all zero.
    pub(crate) fn blank(form: u16, size: u8) -> Inst {
        let facts = FORMS.get(usize::from(form)).unwrap_or(&FORMS[0]);
        let high = HIGH_VALUES.get(usize::from(facts.high)).copied().unwrap_or_default();
        Inst { low: facts.value, high, last: 0, form, len: size, marks: 0 }
    }

    /// Sets bits that decoders ignore as LLVM's encoder sets them.
    pub(crate) fn set_ignored(&mut self) {
        let flags = self.flags();
        if flags.has(Flags::WRITES_EXEC_ONLY) {
            self.low |= EXEC;
        }
        let reuses = ["matrix_b_fmt", "matrix_b_scale", "matrix_b_reuse"]
            .iter()
            .any(|name| self.named(name).is_some());
        let moves_accumulator = flags.any(Flags::MAI) && self.named("src1").is_none();
        if (flags.any(Flags::VOP3P) || moves_accumulator) && !reuses {
            let sources = ["src0", "src1", "src2"]
                .iter()
                .take_while(|name| self.named(name).is_some())
                .count();
            let used = if self.named("op_sel_hi").is_none() {
                0
            } else if self.named("src2").is_some() {
                3
            } else {
                sources
            };
            self.low |= OP_SEL_HI.iter().skip(used).sum::<u64>();
        }
    }

    /// Puts a value into an operand's bits, which must be zero before; whether it fits.
    #[inline]
    pub(crate) fn put(&mut self, slot: &Slot, value: u64) -> bool {
        if let Some(field) = FIELDS.get(usize::from(slot.field)).filter(|_| slot.field != NO_FIELD)
        {
            self.put_field(field, value);
        }
        self.value(slot) == value
    }

    /// Sets some more bits of an operand; whether it has them all.
    pub(crate) fn add(&mut self, slot: &Slot, bits: u64) -> bool {
        if let Some(field) = FIELDS.get(usize::from(slot.field)).filter(|_| slot.field != NO_FIELD)
        {
            self.put_field(field, bits);
        }
        self.value(slot) & bits == bits
    }

    /// Lets a literal follow the encoding.
    pub(crate) fn append_literal(&mut self, value: u64, is_long: bool) {
        let (bytes, mark) = if is_long { (8, inst::LITERAL64) } else { (4, inst::LITERAL32) };
        self.put_run((self.len * 8, 0, bytes * 8), value);
        self.len += bytes;
        self.marks |= mark;
    }

    fn put_field(&mut self, field: &Field, value: u64) {
        self.put_run(field.0, value);
        for run in field.1 {
            self.put_run(*run, value);
        }
    }

    #[inline]
    fn put_run(&mut self, (at, first, width): Run, value: u64) {
        let mask = if width >= 64 { u64::MAX } else { (1 << width) - 1 };
        let bits = value >> first & mask;
        match at {
            0..64 => {
                self.low |= bits << at;
                self.high |= bits.checked_shr(64 - u32::from(at)).unwrap_or(0);
            }
            64..128 => self.high |= bits << (at - 64),
            _ => self.last |= u32::try_from(bits << (at - 128)).unwrap_or(0),
        }
    }
}

/// How many bits the value of an operand has.
pub(crate) fn field_width(slot: &Slot) -> u32 {
    let Some(field) = FIELDS.get(usize::from(slot.field)).filter(|_| slot.field != NO_FIELD) else {
        return 0;
    };
    let ends =
        std::iter::once(&field.0).chain(field.1).map(|(_, first, width)| u32::from(first + width));
    ends.max().unwrap_or(0)
}
