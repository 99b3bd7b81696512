//! What the bits of an operand stand for.

use super::arch::Arch;
use super::special::Special;
use super::table::Source;

/// What a value of a register field stands for, in sixteen bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Code(pub(crate) u16);

/// The upper bits of a [`Code`].
pub(crate) mod tag {
    pub(crate) const INVALID: u16 = 0;
    pub(crate) const VGPR: u16 = 1;
    pub(crate) const AGPR: u16 = 2;
    pub(crate) const SGPR: u16 = 3;
    pub(crate) const TTMP: u16 = 4;
    pub(crate) const SPECIAL: u16 = 5;
    /// Twice the number of the vector register, one more for its upper half.
    pub(crate) const HALF: u16 = 6;
    /// An inline constant's encoding.
    pub(crate) const INLINE: u16 = 7;
    pub(crate) const LITERAL: u16 = 8;
    pub(crate) const LITERAL64: u16 = 9;
}

impl Code {
    pub(crate) const INVALID: Code = Code(0);

    const fn new(tag: u16, number: u16) -> Self {
        Code(tag << 12 | number)
    }

    pub(crate) const fn tag(self) -> u16 {
        self.0 >> 12
    }

    pub(crate) const fn number(self) -> u16 {
        self.0 & 0xfff
    }

    /// The half of a register that modifiers choose.
    #[inline]
    pub(crate) const fn half(self, upper: bool) -> Self {
        Code(self.0 | upper as u16)
    }

    pub(crate) fn special(self) -> Option<Special> {
        Special::ALL.get(usize::from(self.number())).copied()
    }

    const fn of(special: Special) -> Self {
        Code::new(tag::SPECIAL, special as u16)
    }
}

/// An inline float in half, brain, single and double precision, and its text.
pub(crate) type Float = (u16, u16, u32, u64, &'static str);

/// Inline floats, by encoding from 240 on.
pub(crate) const FLOATS: [Float; 9] = [
    (0x3800, 0x3f00, 0x3f00_0000, 0x3fe0_0000_0000_0000, "0.5"),
    (0xb800, 0xbf00, 0xbf00_0000, 0xbfe0_0000_0000_0000, "-0.5"),
    (0x3c00, 0x3f80, 0x3f80_0000, 0x3ff0_0000_0000_0000, "1.0"),
    (0xbc00, 0xbf80, 0xbf80_0000, 0xbff0_0000_0000_0000, "-1.0"),
    (0x4000, 0x4000, 0x4000_0000, 0x4000_0000_0000_0000, "2.0"),
    (0xc000, 0xc000, 0xc000_0000, 0xc000_0000_0000_0000, "-2.0"),
    (0x4400, 0x4080, 0x4080_0000, 0x4010_0000_0000_0000, "4.0"),
    (0xc400, 0xc080, 0xc080_0000, 0xc010_0000_0000_0000, "-4.0"),
    (0x3118, 0x3e22, 0x3e22_f983, 0x3fc4_5f30_6dc9_c882, "0.15915494"),
];

const LITERAL: u16 = 255;
const LITERAL64: u16 = 254;

/// What `value` stands for in a field of that kind, as LLVM 22 has it.
pub(crate) fn decode(arch: Arch, source: Source, dwords: u8, value: u16) -> Code {
    match source {
        Source::Vgpr | Source::DualDestination => vector(tag::VGPR, dwords, value & 0xff),
        Source::VgprLow if value & 0xff >= 128 => Code::INVALID,
        Source::VgprLow => vector(tag::VGPR, dwords, value & 0xff),
        Source::Agpr => vector(tag::AGPR, dwords, value & 0xff),
        Source::Any => any(arch, dwords, value),
        Source::Vector => any(arch, dwords, value | 0x100),
        Source::Accumulator => any(arch, dwords, value | 0x200),
        Source::Mask => any(arch, mask_dwords(arch), value),
        Source::Half => half(value & 0xff, value >> 9 & 1),
        Source::HalfLow => half(value & 0x7f, value >> 7 & 1),
        Source::AnyHalf if value & 0x100 != 0 => half(value & 0xff, value >> 9 & 1),
        Source::AnyHalfLow if value & 0x100 != 0 => half(value & 0x7f, value >> 7 & 1),
        Source::AnyHalf | Source::AnyHalfLow => scalar(arch, 0, value & 0xff),
        Source::Sdwa => sdwa(arch, dwords, value),
        Source::SdwaMask => sdwa_mask(arch, value),
        Source::Immediate | Source::ScalarOffset | Source::Literal | Source::Absent => {
            Code::INVALID
        }
    }
}

/// The register that a field names, where that was rounded down to where scalar tuples start: at multiples of four at
/// most, and so do the numbers of both files.
pub(crate) fn misaligned(source: Source, value: u16, code: Code) -> Option<u16> {
    if !matches!(code.tag(), tag::SGPR | tag::TTMP) {
        return None;
    }
    let value = value & if source == Source::SdwaMask { 0x7f } else { 0xff };
    let rounded = value.wrapping_sub(code.number()) & 3;
    (rounded != 0).then_some(code.number() + rounded)
}

const fn mask_dwords(arch: Arch) -> u8 {
    if arch.has(Arch::WAVE32) { 1 } else { 2 }
}

const fn half(number: u16, upper: u16) -> Code {
    Code::new(tag::HALF, number << 1 | upper)
}

/// LLVM has vector registers beyond those that eight bits can name, so a tuple may reach past v255.
fn vector(tag: u16, dwords: u8, number: u16) -> Code {
    let fits = tag == tag::VGPR || number + u16::from(dwords.max(1)) <= 256;
    if fits { Code::new(tag, number) } else { Code::INVALID }
}

fn any(arch: Arch, dwords: u8, value: u16) -> Code {
    match value & 0x1ff {
        // LLVM knows no such tuple.
        _ if value & 0x300 == 0x300 && dwords == 6 => Code::INVALID,
        number @ 256.. => {
            vector(if value & 0x200 != 0 { tag::AGPR } else { tag::VGPR }, dwords, number - 256)
        }
        value => scalar(arch, dwords, value),
    }
}

const fn last_sgpr(arch: Arch) -> u16 {
    if arch.is_gfx10_plus() { 105 } else { 101 }
}

/// The eight bits that name no vector register.
fn scalar(arch: Arch, dwords: u8, value: u16) -> Code {
    match value {
        _ if value <= last_sgpr(arch) => scalar_tuple(tag::SGPR, 106, dwords, value),
        _ if trap_register(arch, value).is_some() => {
            scalar_tuple(tag::TTMP, 16, dwords, trap_register(arch, value).unwrap_or_default())
        }
        128..=208 | 240..=248 => Code::new(tag::INLINE, value),
        LITERAL => Code::new(tag::LITERAL, 0),
        LITERAL64 if arch.has(Arch::LITERAL64) => Code::new(tag::LITERAL64, 0),
        _ => match dwords {
            0 | 1 => special32(arch, value),
            2 => special64(arch, value),
            _ => null(arch, value).unwrap_or(Code::INVALID),
        },
    }
}

fn trap_register(arch: Arch, value: u16) -> Option<u16> {
    let range = if arch.is_gfx9_plus() { 108..=123 } else { 112..=123 };
    range.contains(&value).then(|| value - range.start())
}

/// Pairs start at even registers, longer tuples at multiples of four; LLVM rounds down.
fn scalar_tuple(tag: u16, registers: u16, dwords: u8, number: u16) -> Code {
    let dwords = scalar_dwords(tag, dwords.max(1));
    let step = match dwords {
        1 => 1,
        2 => 2,
        _ => 4,
    };
    let first = number / step * step;
    let fits = first / step <= (registers - u16::from(dwords)) / step;
    if fits { Code::new(tag, first) } else { Code::INVALID }
}

/// How many registers a scalar tuple spans: LLVM lacks some and falls through to its next.
pub(crate) fn scalar_dwords(tag: u16, dwords: u8) -> u8 {
    match (tag, dwords) {
        (tag::SGPR, 6) => 5,
        (tag::TTMP, 3 | 5 | 6) => 8,
        (tag::SGPR | tag::TTMP, 32) => 16,
        _ => dwords,
    }
}

fn null(arch: Arch, value: u16) -> Option<Code> {
    (value == if arch.is_gfx11_plus() { 124 } else { 125 }).then_some(Code::of(Special::Null))
}

fn special32(arch: Arch, value: u16) -> Code {
    use Special::*;
    if let Some(null) = null(arch, value) {
        return null;
    }
    Code::of(match value {
        102 => FlatScratchLo,
        103 => FlatScratchHi,
        104 => XnackMaskLo,
        105 => XnackMaskHi,
        106 => VccLo,
        107 => VccHi,
        108 => TbaLo,
        109 => TbaHi,
        110 => TmaLo,
        111 => TmaHi,
        124 | 125 => M0,
        126 => ExecLo,
        127 => ExecHi,
        230 => FlatScratchBaseLo,
        231 => FlatScratchBaseHi,
        235 => SharedBaseLo,
        236 => SharedLimitLo,
        237 => PrivateBaseLo,
        238 => PrivateLimitLo,
        239 => PopsExitingWaveId,
        251 => VccZ,
        252 => ExecZ,
        253 => Scc,
        254 => LdsDirect,
        _ => return Code::INVALID,
    })
}

fn special64(arch: Arch, value: u16) -> Code {
    use Special::*;
    if let Some(null) = null(arch, value) {
        return null;
    }
    Code::of(match value {
        102 => FlatScratch,
        104 => XnackMask,
        106 => Vcc,
        108 => Tba,
        110 => Tma,
        126 => Exec,
        230 => FlatScratchBaseLo,
        235 => SharedBase,
        236 => SharedLimit,
        237 => PrivateBase,
        238 => PrivateLimit,
        239 => PopsExitingWaveId,
        251 => VccZ,
        252 => ExecZ,
        253 => Scc,
        _ => return Code::INVALID,
    })
}

fn sdwa(arch: Arch, dwords: u8, value: u16) -> Code {
    if arch.has(Arch::GFX8) || value < 256 {
        return vector(tag::VGPR, dwords, value & 0xff);
    }
    match value - 256 {
        number if number <= last_sgpr(arch) => scalar_tuple(tag::SGPR, 106, 1, number),
        number @ 108..=123 => scalar_tuple(tag::TTMP, 16, 1, number - 108),
        constant @ (128..=208 | 240..=248) => Code::new(tag::INLINE, constant),
        other => special32(arch, other),
    }
}

fn sdwa_mask(arch: Arch, value: u16) -> Code {
    let wave32 = arch.has(Arch::WAVE32);
    if value & 0x80 == 0 {
        return Code::of(if wave32 { Special::VccLo } else { Special::Vcc });
    }
    let number = value & 0x7f;
    let dwords = mask_dwords(arch);
    match trap_register(arch, number) {
        Some(register) => scalar_tuple(tag::TTMP, 16, dwords, register),
        None if number <= last_sgpr(arch) => scalar_tuple(tag::SGPR, 106, dwords, number),
        None if wave32 => special32(arch, number),
        None => special64(arch, number),
    }
}
