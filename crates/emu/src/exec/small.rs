//! Conversions with a scale, between floats and formats of 8, 6 and 4 bits; and other operations on many small elements.

use crate::error::ErrorKind;
use crate::exec::float::mode;
use crate::num::{self, BF16, Env, F16, F32, Generation, Mode, Round, Small, SmallRound, e8m0};
use crate::step::{Context, Step};
use crate::wave::{Wave, lanes};

/// What is converted from or to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    F32,
    F16,
    Bf16,
    Fp8,
    Bf8,
    Fp6,
    Bf6,
    Fp4,
}

impl Element {
    const ALL: [Self; 8] =
        [Self::F32, Self::F16, Self::Bf16, Self::Fp8, Self::Bf8, Self::Fp6, Self::Bf6, Self::Fp4];

    fn named(name: &str) -> Option<Self> {
        const NAMES: [&str; 8] = ["f32", "f16", "bf16", "fp8", "bf8", "fp6", "bf6", "fp4"];
        let at = NAMES.iter().position(|it| *it == name)?;
        Self::ALL.get(at).copied()
    }

    fn bits(self) -> u32 {
        match self {
            Self::F32 => 32,
            Self::F16 | Self::Bf16 => 16,
            _ => self.small().map_or(0, Small::width),
        }
    }

    /// Those that have scales have OCP's formats.
    fn small(self) -> Option<Small> {
        match self {
            Self::Fp8 => Some(Small::FP8_OCP),
            Self::Bf8 => Some(Small::BF8_OCP),
            Self::Fp6 => Some(Small::FP6),
            Self::Bf6 => Some(Small::BF6),
            Self::Fp4 => Some(Small::FP4),
            _ => None,
        }
    }
}

/// Where the scale is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// The exponent of the float that is the last operand.
    Exponent,
    /// The lowest byte of it, in lanes 16 apart the same.
    Byte,
}

/// What an instruction converts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Conversion {
    pub(crate) to: Element,
    pub(crate) from: Element,
    /// Elements, all in the first operand or in the first two in turn.
    pub(crate) count: u32,
    pub(crate) has_two_sources: bool,
    pub(crate) is_stochastic: bool,
    pub(crate) scale: Scale,
    /// The bit of the source, and of the destination, where elements begin.
    pub(crate) from_bit: u32,
    pub(crate) to_bit: u32,
    /// The sources whose sign is changed, and those whose sign is dropped before.
    pub(crate) negated: u32,
    pub(crate) absolute: u32,
}

impl Conversion {
    /// What a mnemonic of `v_cvt_scale…` says.
    pub(crate) fn named(mnemonic: &str) -> Option<Self> {
        let rest = mnemonic.strip_prefix("v_cvt_scale")?;
        let (scale, rest) = match rest.strip_prefix("f32_") {
            Some(rest) => (Scale::Exponent, rest),
            None => (Scale::Byte, rest.strip_prefix('_')?),
        };
        let (is_stochastic, rest) = match rest.strip_prefix("sr_") {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        let (rest, from) = rest.rsplit_once('_')?;
        let (pack, to) = rest.rsplit_once('_').unwrap_or(("", rest));
        let (to, from) = (Element::named(to)?, Element::named(from)?);
        let (count, is_double) = match pack {
            "" => (1, false),
            "pk" => (2, from == Element::F32 && !is_stochastic),
            "pk8" => (8, false),
            "pk16" => (16, false),
            "pk32" => (32, false),
            "2xpk16" => (32, true),
            _ => return None,
        };
        Some(Self {
            to,
            from,
            count,
            has_two_sources: is_double,
            is_stochastic,
            scale,
            from_bit: 0,
            to_bit: 0,
            negated: 0,
            absolute: 0,
        })
    }

    /// Bits of the result.
    pub(crate) fn result_bits(&self) -> u32 {
        self.count * self.to.bits()
    }

    /// Bits of an element of the source.
    pub(crate) fn source_bits(&self) -> u32 {
        self.from.bits()
    }

    pub(crate) fn pack(self) -> u64 {
        let at = |it| Element::ALL.iter().position(|other| *other == it).unwrap_or(0) as u64;
        at(self.to)
            | at(self.from) << 4
            | u64::from(self.count) << 8
            | u64::from(self.has_two_sources) << 16
            | u64::from(self.is_stochastic) << 17
            | u64::from(self.scale == Scale::Byte) << 18
            | u64::from(self.from_bit) << 20
            | u64::from(self.to_bit) << 28
            | u64::from(self.negated) << 36
            | u64::from(self.absolute) << 40
    }

    fn unpack(k: u64) -> Self {
        let element = |at: u64| Element::ALL.get((at & 7) as usize).copied();
        Self {
            to: element(k).unwrap_or(Element::F32),
            from: element(k >> 4).unwrap_or(Element::F32),
            count: (k >> 8 & 0xff) as u32,
            has_two_sources: k >> 16 & 1 == 1,
            is_stochastic: k >> 17 & 1 == 1,
            scale: if k >> 18 & 1 == 1 { Scale::Byte } else { Scale::Exponent },
            from_bit: (k >> 20 & 0xff) as u32,
            to_bit: (k >> 28 & 0xff) as u32,
            negated: (k >> 36 & 0xf) as u32,
            absolute: (k >> 40 & 0xf) as u32,
        }
    }

    /// One element, scaled; `seed` rounds it stochastically.
    fn element(&self, bits: u32, scale: u8, seed: Option<u32>, mode: &Mode) -> u32 {
        match (self.from.small(), self.to.small()) {
            (Some(from), None) => self.widened(from, bits, scale, mode),
            (None, Some(to)) => self.narrowed(to, bits, scale, seed, mode),
            _ => 0,
        }
    }

    /// A float of a small number: rounded to nearest even where it has to be.
    fn widened(&self, from: Small, bits: u32, scale: u8, mode: &Mode) -> u32 {
        let value = match e8m0(scale) {
            Some(scale) => from.decode_scaled(bits, scale),
            None => 0x7fc0_0000,
        };
        let env = Env { saturate: mode.fp16_ovfl, ..Env::IEEE };
        match self.to {
            Element::F16 => num::convert::<F32, F16>(value, Env::IEEE, env).into(),
            Element::Bf16 => num::convert::<F32, BF16>(value, Env::IEEE, env).into(),
            _ => value,
        }
    }

    fn narrowed(&self, to: Small, bits: u32, scale: u8, seed: Option<u32>, mode: &Mode) -> u32 {
        let value = match self.from {
            Element::F16 => num::convert::<F16, F32>(bits as u16, Env::IEEE, Env::IEEE),
            Element::Bf16 => bits << 16,
            _ => flushed(bits, mode),
        };
        let how = seed.map_or(SmallRound::Mode(Round::NearestEven), SmallRound::Stochastic);
        let is_infinite = value & 0x7fff_ffff == 0x7f80_0000;
        // An infinity that gfx1250 scales is no number that saturates.
        let is_nan = is_infinite && mode.fp16_ovfl && mode.generation() == Generation::Gfx1250;
        match e8m0(scale) {
            Some(_) if is_nan => to.encode(value | 0x40_0000, how, mode.fp16_ovfl),
            Some(scale) => to.encode_scaled(value, scale, how, mode.fp16_ovfl),
            None => to.encode(0x7fc0_0000, how, mode.fp16_ovfl),
        }
    }
}

/// An f32 as MODE has operands.
fn flushed(bits: u32, mode: &Mode) -> u32 {
    let is_denormal = bits & 0x7f80_0000 == 0;
    if is_denormal && !mode.env::<F32>().denorm.input { bits & 0x8000_0000 } else { bits }
}

/// What `v_prng_b32` makes of a number.
fn next_random(seed: u32) -> u32 {
    (seed << 1) ^ if seed >> 31 == 1 { 0xc5 } else { 0 }
}

/// Bits of registers of a lane from a place on.
fn bits<const C: usize>(wave: &Wave<C>, register: u16, lane: usize, at: u32, width: u32) -> u32 {
    let word = |at: u32| u64::from(wave.v[usize::from(register) + at as usize].lane(lane));
    let (first, shift) = (at / 32, at % 32);
    let high = if shift + width > 32 { word(first + 1) } else { 0 };
    let all = (word(first) | high << 32) >> shift;
    (all & ((1_u64 << width) - 1)) as u32
}

/// Adds bits of an element to the words of a result.
fn put(words: &mut [u32], at: u32, value: u32) {
    let wide = u64::from(value) << (at % 32);
    for (offset, part) in [wide as u32, (wide >> 32) as u32].into_iter().enumerate() {
        if let Some(word) = words.get_mut((at / 32) as usize + offset) {
            *word |= part;
        }
    }
}

/// `d` is the elements of `a`, or of `a` and `b` in turn, converted; the scale is in `c`, a seed in `b`.
pub(crate) fn convert<const C: usize>(
    wave: &mut Wave<C>,
    context: &mut Context<'_>,
    step: &Step<C>,
) {
    let conversion = Conversion::unpack(step.k);
    let mode = mode(wave, context);
    for lane in lanes(wave.active) {
        let scale = wave.v[usize::from(step.c)].lane(lane);
        if conversion.scale == Scale::Byte && !is_agreed(wave, step.c, lane, scale) {
            let why = "scales of lanes 16 apart differ, and the manual's text and tables disagree about whose counts";
            return wave.fail(ErrorKind::Unsupported, 1 << lane, why);
        }
        let scale = match conversion.scale {
            Scale::Exponent => (scale >> 23) as u8,
            Scale::Byte => scale as u8,
        };
        let words = converted(wave, step, &conversion, scale, &mode, lane);
        store(wave, step.d, lane, &conversion, &words);
    }
}

/// Whether the lane 16 further, or before, has the same scale.
fn is_agreed<const C: usize>(wave: &Wave<C>, register: u16, lane: usize, scale: u32) -> bool {
    wave.v[usize::from(register)].lane(lane ^ 16) & 0xff == scale & 0xff
}

fn converted<const C: usize>(
    wave: &Wave<C>,
    step: &Step<C>,
    conversion: &Conversion,
    scale: u8,
    mode: &Mode,
    lane: usize,
) -> [u32; 32] {
    let mut words = [0; 32];
    let mut random = wave.v[usize::from(step.b)].lane(lane);
    let (from, to) = (conversion.from.bits(), conversion.to.bits());
    let is_halved = mode.generation() == Generation::Gfx1250;
    for number in 0..conversion.count {
        let source = if conversion.has_two_sources { number % 2 } else { 0 };
        let register = if source == 1 { step.b } else { step.a };
        let place = if conversion.has_two_sources { number / 2 } else { number };
        let mut value = bits(wave, register, lane, conversion.from_bit + place * from, from);
        let sign = 1 << (from - 1);
        if conversion.absolute >> source & 1 == 1 {
            value &= !sign;
        }
        if conversion.negated >> source & 1 == 1 {
            value ^= sign;
        }
        // gfx1250 takes a half of the random number for each, and then the next one.
        let is_odd = number % 2 == 1;
        let seed = match is_halved {
            true if is_odd => random & 0xffff_0000,
            true => random << 16,
            false => random,
        };
        let seed = conversion.is_stochastic.then_some(seed);
        put(
            &mut words,
            conversion.to_bit + number * to,
            conversion.element(value, scale, seed, mode),
        );
        if !is_halved || is_odd {
            random = next_random(random);
        }
    }
    words
}

/// Writes the result; bits of its only register that are not of it are kept.
fn store<const C: usize>(
    wave: &mut Wave<C>,
    register: u16,
    lane: usize,
    conversion: &Conversion,
    words: &[u32; 32],
) {
    let width = conversion.result_bits();
    let at = usize::from(register);
    if width < 32 {
        let mask = ((1_u32 << width) - 1) << conversion.to_bit;
        let kept = wave.v[at].lane(lane) & !mask;
        wave.v[at].set_lane(lane, kept | words[0]);
        return;
    }
    for (word, value) in words.iter().enumerate().take((width / 32) as usize) {
        wave.v[at + word].set_lane(lane, *value);
    }
}

/// Sixteen elements of `k` bits, out of a table of sixteen by numbers of four bits in `c`: `b` is its lower part, of two
/// registers, `a` the upper one.
pub(crate) fn look_up<const C: usize>(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
    let width = step.k as u32;
    for lane in lanes(wave.active) {
        let word = |first: u16, at: usize| u128::from(wave.v[usize::from(first) + at].lane(lane));
        let high = word(step.a, 0) | if width == 8 { word(step.a, 1) << 32 } else { 0 };
        let table = word(step.b, 0) | word(step.b, 1) << 32 | high << 64;
        let numbers = word(step.c, 0) | word(step.c, 1) << 32;
        let mut words = [0; 4];
        for at in 0..16 {
            let number = numbers >> (at * 4) & 15;
            let element = table >> (number * u128::from(width)) & ((1 << width) - 1);
            put(&mut words, at * width, element as u32);
        }
        for (at, value) in words.iter().enumerate().take((width / 2) as usize) {
            wave.v[usize::from(step.d) + at].set_lane(lane, *value);
        }
    }
}

/// Four sums of differences of bytes of `a`, which begin one after the other, and those of `b` that are not zero, each
/// added to one of four registers from `c` on.
pub(crate) fn masked_sums<const C: usize>(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
    for lane in lanes(wave.active) {
        let word = |first: u16, at: usize| wave.v[usize::from(first) + at].lane(lane);
        let bytes = u64::from(word(step.a, 0)) | u64::from(word(step.a, 1)) << 32;
        let with = word(step.b, 0).to_le_bytes();
        let sums: [u32; 4] = std::array::from_fn(|at| {
            let pairs = (bytes >> (at * 8)).to_le_bytes().into_iter().zip(with);
            let differences = pairs.filter(|(_, with)| *with != 0);
            let sum: u32 = differences.map(|(byte, with)| u32::from(byte.abs_diff(with))).sum();
            word(step.c, at).wrapping_add(sum)
        });
        for (at, sum) in sums.into_iter().enumerate() {
            wave.v[usize::from(step.d) + at].set_lane(lane, sum);
        }
    }
}
