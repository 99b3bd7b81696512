//! Registers and constants.

use crate::model::code::{Code, FLOATS, Float, scalar_dwords, tag};
use crate::model::table::{Class, Kind, Slot, Source, Type};
use crate::model::{Arch, Inst};

use super::Printer;
use super::out::{Marks, Out, Token};
use super::padded::{NUMBER_COUNT, NUMBERS, SPECIAL_NAMES};

/// How many vector registers VGPR MSBs reach.
const VGPRS: u32 = 1024;

/// A register, with the number of registers that the operand spans.
#[inline]
pub(super) fn register<M: Marks>(out: &mut Out<'_, M>, code: Code, dwords: u8) {
    out.token(Token::Register);
    let number = u32::from(code.number());
    match code.tag() {
        tag::VGPR => range(out, b'v', number, dwords),
        tag::AGPR => range(out, b'a', number, dwords),
        tag::SGPR => range(out, b's', number, dwords),
        tag::TTMP => {
            out.text("ttm");
            range(out, b'p', number, dwords);
        }
        tag::HALF => half_register(out, number >> 1, number & 1 != 0),
        _ => {
            if let Some(name) = SPECIAL_NAMES.get(number as usize) {
                out.padded(name);
            }
        }
    }
}

fn half_register<M: Marks>(out: &mut Out<'_, M>, number: u32, is_upper: bool) {
    range(out, b'v', number, 1);
    out.text(if is_upper { ".h" } else { ".l" });
}

/// `v1`, or `v[1:2]`.
#[inline]
fn range<M: Marks>(out: &mut Out<'_, M>, file: u8, first: u32, dwords: u8) {
    let first = first as usize;
    let [first, last] =
        [first, first + usize::from(dwords.max(1)) - 1].map(|it| NUMBERS[it & (NUMBER_COUNT - 1)]);
    let [first_len, last_len] = [first, last].map(|digits| (digits >> 56) as usize);
    if dwords <= 1 {
        out.word(first << 8 | u64::from(file), 1 + first_len);
    } else {
        out.word(first << 16 | u64::from(b'[') << 8 | u64::from(file), 2 + first_len);
        out.word(last << 8 | u64::from(b':'), 1 + last_len);
        out.byte(b']');
    }
}

impl Printer {
    /// An operand that is a register or a constant, as LLVM prints it.
    pub(super) fn print_operand<M: Marks>(
        &self,
        out: &mut Out<'_, M>,
        inst: &Inst,
        slot: &Slot,
        kind: &Kind,
        msbs: u8,
    ) {
        self.print_operand_of(out, inst, slot, kind, msbs, kind.dwords);
    }

    /// The same, `dwords` wide.
    pub(super) fn print_operand_of<M: Marks>(
        &self,
        out: &mut Out<'_, M>,
        inst: &Inst,
        slot: &Slot,
        kind: &Kind,
        msbs: u8,
        dwords: u8,
    ) {
        match kind.source {
            Source::Immediate | Source::ScalarOffset | Source::Literal => {
                return self.print_immediate(out, self.number(inst, slot, kind), kind);
            }
            Source::Absent => {
                out.token(Token::Comment);
                out.text("/*Missing OP");
                out.dec(
                    inst.slots().iter().position(|other| std::ptr::eq(other, slot)).unwrap_or(0)
                        as u64,
                );
                return out.text("*/");
            }
            _ => {}
        }
        let code = self.model.code(inst, slot);
        match code.tag() {
            tag::LITERAL if kind.read == Type::None => {
                out.token(Token::Immediate);
                constant(out, self.model.arch, 255, kind.ty);
            }
            tag::LITERAL => literal(out, self.model.arch, inst.literal().unwrap_or(0), kind),
            tag::LITERAL64 => literal64(out, self.model.arch, inst.literal().unwrap_or(0), kind.ty),
            _ => {
                let code = self.model.settled(inst, slot, kind, code);
                self.print_code_after(out, kind, code, dwords, (slot.msb, msbs));
            }
        }
    }

    /// The same where other operands may decide the width.
    pub(super) fn print_resized<M: Marks>(
        &self,
        out: &mut Out<'_, M>,
        inst: &Inst,
        slot: &'static Slot,
        kind: &Kind,
        msbs: u8,
    ) {
        match self.model.resized_dwords(inst, slot) {
            Some(4 | 6 | 12) if self.is_small_constant(inst, slot) => {
                // LLVM looks for the number's first registers and finds none.
                out.token(Token::Immediate);
                out.text("0/*Invalid immediate*/");
            }
            Some(dwords) => self.print_operand_of(out, inst, slot, kind, msbs, dwords),
            None => self.print_operand(out, inst, slot, kind, msbs),
        }
    }

    fn is_small_constant(&self, inst: &Inst, slot: &Slot) -> bool {
        let code = self.model.code(inst, slot);
        inst.has_formats() && code.tag() == tag::INLINE && code.number() <= 192
    }

    /// A register or an inline constant where `s_set_vgpr_msb` came before: which of its bits, and what they are.
    fn print_code_after<M: Marks>(
        &self,
        out: &mut Out<'_, M>,
        kind: &Kind,
        code: Code,
        dwords: u8,
        upper: (u8, u8),
    ) {
        if code.tag() == tag::INLINE {
            if kind.read == kind.ty {
                return inline(out, self.model.arch, code.number(), kind.ty);
            }
            out.token(Token::Immediate);
            return constant(
                out,
                self.model.arch,
                read_constant(self.model.arch, kind.read, code.number().into(), None),
                kind.ty,
            );
        }
        let dwords = if kind.dwords == 0 { self.model.dwords(kind) } else { dwords };
        let shown = if dwords == kind.dwords { scalar_dwords(code.tag(), dwords) } else { dwords };
        register(out, code, shown);
        self.print_upper_register(out, code, dwords, upper);
        self.print_class_remark(out, kind, code, dwords);
    }

    /// The number that an operand holds, after LLVM took it for the encoding of a constant where it does.
    #[inline]
    pub(super) fn number(&self, inst: &Inst, slot: &Slot, kind: &Kind) -> u64 {
        let value = inst.value(slot);
        if kind.read == Type::None || value < 128 {
            value
        } else {
            read_constant(self.model.arch, kind.read, value, inst.literal())
        }
    }

    /// The register meant after `s_set_vgpr_msb`, as a comment, if there is one of that number.
    fn print_upper_register<M: Marks>(
        &self,
        out: &mut Out<'_, M>,
        code: Code,
        dwords: u8,
        (msb, msbs): (u8, u8),
    ) {
        if msbs == 0 || msb > 3 || !matches!(code.tag(), tag::VGPR | tag::HALF) {
            return;
        }
        let upper = u32::from(msbs >> (msb * 2) & 3) << 8;
        let number = u32::from(code.number());
        // LLVM has no tuple that reaches past the last register.
        let is_beyond = code.tag() == tag::VGPR && number + upper + u32::from(dwords) > VGPRS;
        if upper == 0 || is_beyond {
            return;
        }
        out.token(Token::Comment);
        out.text(" /*");
        match code.tag() {
            tag::HALF => half_register(out, (number >> 1) + upper, number & 1 != 0),
            _ => range(out, b'v', number + upper, dwords),
        }
        out.text("*/");
    }

    /// What LLVM says of a register that the operand should not name.
    fn print_class_remark<M: Marks>(
        &self,
        out: &mut Out<'_, M>,
        kind: &Kind,
        code: Code,
        dwords: u8,
    ) {
        let Some(class) = self.model.class_without(kind, code, dwords) else { return };
        out.token(Token::Comment);
        out.text("/*Invalid register, operand has '");
        print_class_name(out, class, kind.dwords, dwords);
        out.text("' register class*/");
    }

    pub(super) fn print_immediate<M: Marks>(&self, out: &mut Out<'_, M>, value: u64, kind: &Kind) {
        out.token(Token::Immediate);
        match kind.ty {
            Type::Unknown | Type::PcRelative => out.signed(value as i64),
            _ => constant32(out, value as u32),
        }
    }
}

/// The class's name, the one of the width at hand.
fn print_class_name<M: Marks>(out: &mut Out<'_, M>, class: &'static Class, usual: u8, dwords: u8) {
    let width = (u32::from(usual) * 32).to_string();
    match class.name.split_once(&width).filter(|_| usual != dwords) {
        Some((before, after)) => {
            out.text(before);
            out.dec(u64::from(dwords) * 32);
            out.text(after);
        }
        None => out.text(class.name),
    }
}

fn inline<M: Marks>(out: &mut Out<'_, M>, arch: Arch, encoding: u16, ty: Type) {
    out.token(Token::Immediate);
    if encoding <= 208 {
        let value = i64::from(encoding);
        out.signed(if value <= 192 { value - 128 } else { 192 - value });
    } else if let Some(float) = FLOATS.get(usize::from(encoding) - 240) {
        inline_float(out, arch, float, ty);
    }
    if ty == Type::Register {
        out.token(Token::Comment);
        out.text("/*Invalid immediate*/");
    }
}

fn inline_float<M: Marks>(out: &mut Out<'_, M>, _: Arch, float: &Float, ty: Type) {
    match ty {
        // LLVM takes the half's bits for a 32-bit value, which it does not know.
        Type::Int16 => out.hex(float.0.into()),
        Type::V2F16NoInline => out.hex(float.2.into()),
        Type::Int64 | Type::F64 if float.0 == 0x3118 => out.text("0.15915494309189532"),
        _ => out.text(float.4),
    }
}

/// A literal of 32 bits.
fn literal<M: Marks>(out: &mut Out<'_, M>, arch: Arch, value: u64, kind: &Kind) {
    out.token(Token::Immediate);
    if looks_inline(arch, value, kind.read) {
        out.text("lit(");
        out.hex(value);
        out.byte(b')');
        return;
    }
    let value = if kind.read == Type::F64 { value << 32 } else { value };
    constant(out, arch, value, kind.ty);
}

/// The value of a constant's encoding, or the encoding itself where it is none.
fn read_constant(arch: Arch, ty: Type, encoding: u64, literal: Option<u64>) -> u64 {
    let float =
        usize::try_from(encoding).ok().and_then(|encoding| FLOATS.get(encoding.wrapping_sub(240)));
    match (encoding, float) {
        (_, _) if ty == Type::None => encoding,
        (128..=192, _) => encoding - 128,
        (193..=208, _) => 192_u64.wrapping_sub(encoding),
        (255, _) => literal.unwrap_or(encoding),
        (_, Some(float)) => match ty {
            Type::BF16 | Type::V2BF16 | Type::V2InlineBF16 => float.1.into(),
            Type::F16 | Type::Int16 | Type::V2F16 | Type::V2InlineF16 => float.0.into(),
            Type::V2F16Splat if arch.is_gfx11_plus() => {
                u64::from(float.0) << 16 | u64::from(float.0)
            }
            Type::V2F16Splat => float.0.into(),
            Type::F64 | Type::Int64 => float.3,
            _ => float.2.into(),
        },
        _ => encoding,
    }
}

/// A literal of 64 bits.
fn literal64<M: Marks>(out: &mut Out<'_, M>, arch: Arch, value: u64, ty: Type) {
    out.token(Token::Immediate);
    if value >> 32 == 0 {
        out.text("lit64(");
        out.hex(value);
        out.byte(b')');
    } else {
        constant(out, arch, value, ty);
    }
}

/// Whether the assembler would take an inline constant for the value.
pub(super) fn looks_inline(arch: Arch, value: u64, ty: Type) -> bool {
    let word = value as u32;
    let half = value as u16;
    let small16 = is_small(i64::from(half as i16));
    let small32 = is_small(i64::from(word as i32));
    let any = |found: &dyn Fn(&Float) -> bool| FLOATS.iter().any(found);
    match ty {
        Type::BF16 | Type::V2InlineBF16 => small16 || any(&|float| float.1 == half),
        Type::F16 | Type::V2InlineF16 => small16 || any(&|float| float.0 == half),
        Type::V2BF16 => small32 || any(&|float| u32::from(float.1) == word),
        Type::V2F16 => small32 || any(&|float| u32::from(float.0) == word),
        Type::V2F16Splat if arch.is_gfx11_plus() => {
            small32
                || word >> 16 == word & 0xffff
                    && (is_small(i64::from(half)) || any(&|float| float.0 == half))
        }
        Type::V2F16Splat => small32 || any(&|float| u32::from(float.0) == word),
        Type::Int16 | Type::V2Int16 | Type::Int32 | Type::F32 => {
            small32 || any(&|float| float.2 == word)
        }
        Type::Int64 => is_small(value as i64) || any(&|float| float.3 == value),
        _ => false,
    }
}

const fn is_small(value: i64) -> bool {
    -16 <= value && value <= 64
}

/// A value as its type prints it.
fn constant<M: Marks>(out: &mut Out<'_, M>, arch: Arch, value: u64, ty: Type) {
    let word = value as u32;
    let half = value as u16;
    let known = |found: &dyn Fn(&Float) -> bool| {
        FLOATS.iter().find(|float| found(float)).map(|float| float.4)
    };
    match ty {
        Type::Int64 | Type::F64 => constant64(out, value, ty == Type::F64),
        Type::Int16 => match small_or_float(word) {
            Some(Ok(small)) => out.signed(small),
            Some(Err(text)) => out.text(text),
            None => out.hex(half.into()),
        },
        Type::F16 | Type::BF16 if is_small(i64::from(half as i16)) => {
            out.signed((half as i16).into());
        }
        Type::F16 => match known(&|float| float.0 == half) {
            Some(text) => out.text(text),
            None => out.hex(half.into()),
        },
        Type::BF16 => match known(&|float| float.1 == half) {
            Some(text) => out.text(text),
            None => out.hex(word.into()),
        },
        Type::V2Int16
        | Type::V2F16
        | Type::V2BF16
        | Type::V2F16Splat
        | Type::V2F16NoInline
        | Type::V2InlineF16
        | Type::V2InlineBF16 => {
            packed_constant(out, arch, word, ty);
        }
        _ => constant32(out, word),
    }
    if ty == Type::Register {
        out.token(Token::Comment);
        out.text("/*Invalid immediate*/");
    }
}

fn packed_constant<M: Marks>(out: &mut Out<'_, M>, arch: Arch, word: u32, ty: Type) {
    if is_small(i64::from(word as i32)) {
        return out.signed((word as i32).into());
    }
    let low = word & 0xffff;
    let wanted = match ty {
        Type::V2F16Splat if arch.is_gfx11_plus() => (word >> 16 == low).then_some(low),
        _ => (word >> 16 == 0).then_some(low),
    };
    let found = FLOATS.iter().find(|float| match ty {
        Type::V2Int16 => float.2 == word,
        Type::V2F16 | Type::V2F16Splat | Type::V2InlineF16 => wanted == Some(float.0.into()),
        Type::V2BF16 | Type::V2InlineBF16 => wanted == Some(float.1.into()),
        _ => false,
    });
    match found {
        Some(float) => out.text(float.4),
        None => out.hex(word.into()),
    }
}

fn small_or_float(word: u32) -> Option<Result<i64, &'static str>> {
    let signed = i64::from(word as i32);
    if is_small(signed) {
        return Some(Ok(signed));
    }
    FLOATS.iter().find(|float| float.2 == word).map(|float| Err(float.4))
}

/// A 32-bit value: a small number, a well-known float, else hexadecimal.
pub(super) fn constant32<M: Marks>(out: &mut Out<'_, M>, word: u32) {
    match small_or_float(word) {
        Some(Ok(small)) => out.signed(small),
        Some(Err(text)) => out.text(text),
        None => out.hex(word.into()),
    }
}

fn constant64<M: Marks>(out: &mut Out<'_, M>, value: u64, is_float: bool) {
    if is_small(value as i64) {
        return out.signed(value as i64);
    }
    match FLOATS.iter().find(|float| float.3 == value) {
        Some(float) if float.0 == 0x3118 => out.text("0.15915494309189532"),
        Some(float) => out.text(float.4),
        None => long(out, value, is_float),
    }
}

/// A 64-bit literal; of a double whose lower half is zero only the upper is shown.
pub(super) fn long<M: Marks>(out: &mut Out<'_, M>, value: u64, is_float: bool) {
    out.hex(if is_float && value & 0xffff_ffff == 0 { value >> 32 } else { value });
}
