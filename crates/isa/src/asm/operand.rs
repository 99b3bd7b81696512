//! Operands that are registers or constants.

use crate::model::code::FLOATS;
use crate::model::table::{Source, Type};
use crate::model::{Arch, Code, Special, tag};

use super::cursor::{Cursor, is_inner};
use super::error::{Expected, Parse};
use super::number::Number;

/// An operand as written, without its modifiers.
#[derive(Clone, Copy)]
pub(super) enum Written<'a> {
    Register(Register),
    /// A register that has a name of its own.
    Named(&'a str),
    Constant(Number, Wrapping),
}

/// Registers that follow one another.
#[derive(Clone, Copy)]
pub(super) struct Register {
    /// As in [`Code`].
    pub(super) tag: u16,
    pub(super) first: u16,
    pub(super) count: u8,
    /// Whether it is the upper half of one, if it is a half.
    pub(super) half: Option<bool>,
}

/// How a literal is to be encoded.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wrapping {
    None,
    /// `lit(…)`
    Lit,
    /// `lit64(…)`
    Lit64,
}

impl<'a> Cursor<'a> {
    /// A register or a constant; in bars, a constant is one number.
    pub(super) fn operand(&mut self, in_bars: bool) -> Parse<Written<'a>> {
        if let Some(register) = self.register()? {
            return Ok(Written::Register(register));
        }
        if self.is_number() {
            let number = if in_bars { self.primary() } else { self.number() };
            return number.map(|number| Written::Constant(number, Wrapping::None));
        }
        for (name, wrapping) in [("lit", Wrapping::Lit), ("lit64", Wrapping::Lit64)] {
            if self.eat_call(name) {
                let number = self.number()?;
                self.expect(")")?;
                return Ok(Written::Constant(number, wrapping));
            }
        }
        match canonical(self.word()) {
            "" => self.wanted("a register or a constant"),
            word => {
                self.take_word();
                Ok(Written::Named(word))
            }
        }
    }

    /// The number of `v1`, where `v` is the file, if that is all there is to it.
    #[inline]
    pub(super) fn numbered(&mut self, file: u8) -> Option<u16> {
        if self.peek() != file || !self.byte(1).is_ascii_digit() {
            return None;
        }
        self.advance_exactly(1);
        let number = self.register_number();
        let goes_on = self.peek() == b'.' || is_inner(self.peek());
        self.skip();
        (!goes_on).then_some(number)
    }

    /// `v1`, `s[2:3]`, `[s2,s3]`, `v1.l`
    pub(super) fn register(&mut self) -> Parse<Option<Register>> {
        if self.peek() == b'[' {
            return self.register_list();
        }
        let Some((length, tag)) = self.register_file() else { return Ok(None) };
        let start = *self;
        self.advance_exactly(length);
        if self.eat(b'[') {
            let first = self.integer_between("a register number", 0, 1023)?;
            let last = if self.eat(b':') {
                self.integer_between("a register number", 0, 1023)?
            } else {
                first
            };
            self.expect("]")?;
            let count =
                u8::try_from(last - first + 1).ok().filter(|count| (1..=32).contains(count));
            let Some(count) = count else {
                return start.wanted("registers in ascending order, 32 at most");
            };
            return Ok(Some(Register { tag, first: first as u16, count, half: None }));
        }
        let first = self.register_number();
        let half = self.half();
        if is_inner(self.peek()) {
            *self = start;
            return Ok(None);
        }
        self.skip();
        Ok(Some(Register { tag, first, count: 1, half }))
    }

    /// The length of the name of the file that a register starts with, and its tag.
    fn register_file(&self) -> Option<(usize, u16)> {
        let (length, tag) = match (self.peek(), self.byte(1)) {
            (b'v', _) => (1, tag::VGPR),
            (b's', _) => (1, tag::SGPR),
            (b'a', b'c') => (3, tag::AGPR),
            (b'a', _) => (1, tag::AGPR),
            (b't', b't') => (4, tag::TTMP),
            _ => return None,
        };
        let is_named = length == 1 || ["acc", "ttmp"].iter().any(|name| self.starts_with(name));
        let is_numbered = matches!(self.byte(length), b'0'..=b'9' | b'[');
        (is_named && is_numbered).then_some((length, tag))
    }

    fn register_number(&mut self) -> u16 {
        let mut number = 0_u16;
        while self.peek().is_ascii_digit() {
            number = (number.min(999) * 10).saturating_add((self.peek() - b'0').into());
            self.advance_exactly(1);
        }
        number
    }

    fn half(&mut self) -> Option<bool> {
        let upper = match (self.peek(), self.byte(1)) {
            (b'.', b'l') => false,
            (b'.', b'h') => true,
            _ => return None,
        };
        self.advance_exactly(2);
        Some(upper)
    }

    fn register_list(&mut self) -> Parse<Option<Register>> {
        let mut ahead = *self;
        ahead.advance(1);
        let Some(mut all) = ahead.nested(Self::register)? else { return Ok(None) };
        while ahead.eat(b',') {
            let start = ahead;
            match ahead.nested(Self::register)? {
                Some(next)
                    if next.tag == all.tag
                        && next.first == all.first + u16::from(all.count)
                        && all.count < 32 =>
                {
                    all.count += next.count;
                }
                _ => return start.wanted("the register that follows"),
            }
        }
        ahead.expect("]")?;
        *self = ahead;
        Ok(Some(all))
    }
}

/// Shorter names of the special registers.
fn canonical(word: &str) -> &str {
    match word {
        "vccz" => "src_vccz",
        "execz" => "src_execz",
        "scc" => "src_scc",
        "lds_direct" => "src_lds_direct",
        "shared_base" => "src_shared_base",
        "shared_limit" => "src_shared_limit",
        "private_base" => "src_private_base",
        "private_limit" => "src_private_limit",
        "pops_exiting_wave_id" => "src_pops_exiting_wave_id",
        word => word,
    }
}

/// The eight bits that stand for a special register, whatever the width of the operand.
pub(super) fn special_value(arch: Arch, name: &str) -> Option<u16> {
    let (m0, null) = if arch.is_gfx11_plus() { (125, 124) } else { (124, 125) };
    let is_there = match name {
        "null" => arch.is_gfx10_plus(),
        "src_vccz" | "src_execz" => !arch.is_gfx11_plus(),
        "src_pops_exiting_wave_id" => !arch.has(Arch::GFX8) && !arch.is_gfx11_plus(),
        "xnack_mask" | "xnack_mask_lo" | "xnack_mask_hi" => arch.has(Arch::XNACK),
        name if is_wide_value(name) => !arch.has(Arch::GFX8),
        "src_flat_scratch_base_lo" | "src_flat_scratch_base_hi" => arch.has(Arch::GFX1250),
        _ => true,
    };
    if !is_there {
        return None;
    }
    Some(match name {
        "flat_scratch" | "flat_scratch_lo" => 102,
        "flat_scratch_hi" => 103,
        "xnack_mask" | "xnack_mask_lo" => 104,
        "xnack_mask_hi" => 105,
        "vcc" | "vcc_lo" => 106,
        "vcc_hi" => 107,
        "tba" | "tba_lo" => 108,
        "tba_hi" => 109,
        "tma" | "tma_lo" => 110,
        "tma_hi" => 111,
        "m0" => m0,
        "null" => null,
        "exec" | "exec_lo" => 126,
        "exec_hi" => 127,
        "src_flat_scratch_base_lo" => 230,
        "src_flat_scratch_base_hi" => 231,
        "src_shared_base" => 235,
        "src_shared_limit" => 236,
        "src_private_base" => 237,
        "src_private_limit" => 238,
        "src_pops_exiting_wave_id" => 239,
        "src_vccz" => 251,
        "src_execz" => 252,
        "src_scc" => 253,
        "src_lds_direct" => 254,
        _ => return None,
    })
}

/// Whether a name stands for 64 bits, also where 32 of them are read.
pub(super) fn is_wide_value(name: &str) -> bool {
    matches!(
        name,
        "src_shared_base" | "src_shared_limit" | "src_private_base" | "src_private_limit"
    )
}

/// The value of a field of that kind that means a register.
pub(super) fn register_value(arch: Arch, source: Source, register: Register) -> u16 {
    let number = register.first;
    let upper = u16::from(register.half == Some(true));
    match (register.tag, source) {
        (tag::VGPR, Source::Sdwa | Source::DualDestination) => number,
        (tag::VGPR, Source::HalfLow | Source::AnyHalfLow) => number | 0x100 | upper << 7,
        (tag::VGPR, _) => number | 0x100 | upper << 9,
        (tag::AGPR, Source::Agpr | Source::Accumulator) => number | 0x100,
        (tag::AGPR, _) => number | 0x300,
        (tag::TTMP, _) => {
            scalar_value(source, number + if arch.is_gfx9_plus() { 108 } else { 112 })
        }
        _ => scalar_value(source, number),
    }
}

/// The value of a field of that kind that means a scalar register or a constant.
pub(super) fn scalar_value(source: Source, value: u16) -> u16 {
    match source {
        Source::Sdwa => value | 0x100,
        Source::SdwaMask => value | 0x80,
        _ => value,
    }
}

/// What a register's code must be.
pub(super) fn register_code(register: Register) -> Code {
    match register.half {
        Some(upper) => Code(tag::HALF << 12 | register.first << 1 | u16::from(upper)),
        None => Code(register.tag << 12 | register.first),
    }
}

/// The last register of a file.
pub(super) fn last_register(arch: Arch, register: Register) -> (&'static str, u16) {
    match register.tag {
        tag::VGPR => ("v", 255),
        tag::AGPR => ("a", 255),
        tag::TTMP => ("ttmp", if arch.is_gfx9_plus() { 15 } else { 11 }),
        _ => ("s", if arch.is_gfx10_plus() { 105 } else { 101 }),
    }
}

/// Whether a code is the special register of that name.
pub(super) fn is_special(code: Code, name: &str) -> bool {
    code.tag() == tag::SPECIAL && code.special().map(Special::name) == Some(name)
}

/// How a constant is encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Constant {
    Inline(u16),
    Literal(u32),
    LongLiteral(u64),
}

/// What an operand does with constants.
#[derive(Clone, Copy)]
pub(super) struct ConstantRules {
    pub(super) arch: Arch,
    pub(super) ty: Type,
    /// A literal of 64 bits may follow.
    pub(super) long: bool,
    /// The encoding holds a literal anyway.
    pub(super) has_literal: bool,
    /// No literal may follow.
    pub(super) inline_only: bool,
}

impl ConstantRules {
    /// How a constant is encoded, if it can be.
    pub(super) fn encode(self, number: Number, wrapping: Wrapping) -> Result<Constant, Expected> {
        if wrapping == Wrapping::Lit && self.arch.has(Arch::LITERAL64) && self.is_64_bits() {
            return self.lower_half(number);
        }
        let bits = match number {
            Number::Float(float) => self.float_bits(float)?,
            Number::Integer(value) => self.integer_bits(value, wrapping)?,
        };
        if wrapping == Wrapping::None
            && let Some(encoding) = inline_encoding(self.arch, self.ty, bits)
        {
            return Ok(Constant::Inline(encoding));
        }
        Ok(self.literal(bits, wrapping))
    }

    /// LLVM takes the 32 bits of `lit()` for the lower half of a literal of 64 bits, even where they are the upper half of
    /// a float.
    fn lower_half(self, number: Number) -> Result<Constant, Expected> {
        let bits = match number {
            Number::Integer(value) => value as u32,
            Number::Float(float) if self.ty == Type::F64 => (float.to_bits() >> 32) as u32,
            Number::Float(_) => return Err(Expected::What("an integer")),
        };
        match self.long {
            true => Ok(Constant::LongLiteral(bits.into())),
            false => Err(Expected::What("no `lit` here")),
        }
    }

    fn is_64_bits(self) -> bool {
        matches!(self.ty, Type::Int64 | Type::F64)
    }

    fn literal(self, bits: u64, wrapping: Wrapping) -> Constant {
        let fits = match self.ty {
            Type::F64 => bits as u32 == 0,
            _ => bits <= 0x7fff_ffff,
        };
        let wants_long = wrapping == Wrapping::Lit64
            || wrapping == Wrapping::None && (!fits || self.has_literal && self.ty == Type::F64);
        if self.is_64_bits() && self.long && wants_long {
            return Constant::LongLiteral(bits);
        }
        Constant::Literal(match self.ty {
            Type::F64 => (bits >> 32) as u32,
            Type::F16 | Type::BF16 => bits as u32 & 0xffff,
            _ => bits as u32,
        })
    }

    fn float_bits(self, float: f64) -> Result<u64, Expected> {
        let single = u64::from((float as f32).to_bits());
        match self.ty {
            Type::F64 => Ok(float.to_bits()),
            Type::Int64 if inline_encoding(self.arch, self.ty, float.to_bits()).is_some() => {
                Ok(float.to_bits())
            }
            Type::Int64 => Err(Expected::What("an integer")),
            Type::F16
            | Type::V2F16
            | Type::V2F16Splat
            | Type::V2F16NoInline
            | Type::V2InlineF16 => half_bits(float)
                .map(u64::from)
                .ok_or(Expected::What("a number that half precision holds")),
            // Not rounded, as the hardware's constant is not.
            Type::BF16 | Type::V2BF16 | Type::V2InlineBF16 if single == 0x3e22_f983 => Ok(0x3e22),
            Type::BF16 | Type::V2BF16 | Type::V2InlineBF16 => {
                Ok((single + 0x7fff + (single >> 16 & 1)) >> 16)
            }
            _ => Ok(single),
        }
    }

    fn integer_bits(self, value: i64, wrapping: Wrapping) -> Result<u64, Expected> {
        let bits = value as u64;
        let is_word = i32::try_from(value).is_ok() || u32::try_from(value).is_ok();
        match self.ty {
            Type::Int64 | Type::F64
                if inline_encoding(self.arch, self.ty, bits).is_some()
                    && wrapping == Wrapping::None =>
            {
                Ok(bits)
            }
            // A literal is the upper half.
            Type::F64 if is_word && !self.inline_only && wrapping != Wrapping::Lit64 => {
                Ok(bits << 32)
            }
            Type::Int64 if is_word && !self.long => Ok(bits & 0xffff_ffff),
            Type::Int64 | Type::F64 if self.long || is_word => Ok(bits),
            Type::Int16 | Type::F16 | Type::BF16 => {
                let fits = i16::try_from(value).is_ok() || u16::try_from(value).is_ok();
                if fits {
                    Ok(bits & 0xffff_ffff)
                } else {
                    Err(Expected::Between("a number", -0x8000, 0xffff))
                }
            }
            _ if is_word => Ok(bits & 0xffff_ffff),
            _ => Err(Expected::Between("a number", -0x8000_0000, 0xffff_ffff)),
        }
    }
}

/// The bits of a literal that the encoding itself holds, in an operand of that type.
pub(super) fn literal_bits(ty: Type, number: Number, wrapping: Wrapping) -> Result<u64, Expected> {
    match (number, ty) {
        (Number::Float(float), Type::F64) => Ok(float.to_bits()),
        (Number::Float(float), Type::F16) => {
            let half = half_bits(float).map(u64::from);
            half.ok_or(Expected::What("a number that half precision holds"))
        }
        (Number::Float(float), _) => Ok((float as f32).to_bits().into()),
        (Number::Integer(value), Type::F64) => {
            let is_upper_half = is_within(value, 32) && wrapping != Wrapping::Lit64;
            Ok(if is_upper_half { (value as u64) << 32 } else { value as u64 })
        }
        // The upper half says the sign again, as in LLVM.
        (Number::Integer(value), Type::F16) if is_within(value, 16) => {
            Ok(value as u64 & 0xffff_ffff)
        }
        (Number::Integer(_), Type::F16) => Err(Expected::Between("a number", -0x8000, 0xffff)),
        (Number::Integer(value), _) if is_within(value, 32) => Ok(value as u64 & 0xffff_ffff),
        _ => Err(Expected::Between("a number", -0x8000_0000, 0xffff_ffff)),
    }
}

/// Whether so many bits hold a number, signed or not.
fn is_within(value: i64, bits: u32) -> bool {
    (-(1 << (bits - 1))..1 << bits).contains(&value)
}

/// Half precision, rounded to even; none where it overflows.
pub(super) fn half_bits(float: f64) -> Option<u16> {
    let sign = if float.is_sign_negative() { 0x8000 } else { 0 };
    let size = float.abs();
    if size == 0.0 {
        return Some(sign);
    }
    let exponent = ((size.to_bits() >> 52) as i32 - 1023).max(-14);
    let units = (size * 2_f64.powi(10 - exponent)).round_ties_even() as u32;
    // A unit too many carries into the exponent, as it should.
    let bits = ((exponent + 14) as u32 * 0x400 + units) as i64;
    (units > 0 && bits < 0x7c00).then_some(sign | bits as u16)
}

/// The encoding of a constant that needs no literal.
fn inline_encoding(arch: Arch, ty: Type, bits: u64) -> Option<u16> {
    let word = bits as u32;
    let half = bits as u16;
    let both = if word >> 16 == word & 0xffff { Some(half) } else { None };
    let small = match ty {
        Type::F16 | Type::BF16 => i64::from(half as i16),
        Type::Int64 | Type::F64 => bits as i64,
        Type::V2F16NoInline | Type::Register | Type::None => return None,
        Type::V2F16Splat if arch.is_gfx11_plus() && both.is_some_and(|half| half <= 64) => {
            i64::from(half)
        }
        _ => i64::from(word as i32),
    };
    match small {
        0..=64 => return Some(128 + small as u16),
        -16..=-1 => return Some((192 - small) as u16),
        _ => {}
    }
    let position = FLOATS.iter().position(|float| match ty {
        Type::F16 => float.0 == half,
        Type::BF16 => float.1 == half,
        Type::V2BF16 | Type::V2InlineBF16 => u32::from(float.1) == word,
        Type::V2F16Splat if arch.is_gfx11_plus() => both == Some(float.0),
        Type::V2F16 | Type::V2F16Splat | Type::V2InlineF16 => u32::from(float.0) == word,
        Type::Int64 | Type::F64 => float.3 == bits,
        _ => float.2 == word,
    })?;
    Some(240 + position as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_round_to_even() {
        assert_eq!(half_bits(1.0), Some(0x3c00));
        assert_eq!(half_bits(-4.0), Some(0xc400));
        assert_eq!(half_bits(0.15915494), Some(0x3118));
        assert_eq!(half_bits(65504.0), Some(0x7bff));
        assert_eq!(half_bits(65536.0), None);
        assert_eq!(half_bits(2_f64.powi(-24)), Some(1));
        assert_eq!(half_bits(0.0), Some(0));
    }
}
