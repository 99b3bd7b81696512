//! Formatted accesses: elements of a buffer as the format of the instruction or of the descriptor has them.

use super::address::Layout;
use super::memory::{byte, place, set_byte};
use crate::num::{Env, F16, F32, convert};
use crate::step::{Context, Step};
use crate::wave::{Wave, lanes};

fn f(bits: u32) -> f32 {
    f32::from_bits(bits)
}

fn half_to_f32(bits: u16) -> f32 {
    f(convert::<F16, F32>(bits, Env::IEEE, Env::IEEE))
}

fn f32_to_half(value: f32) -> u16 {
    convert::<F32, F16>(value.to_bits(), Env::IEEE, Env::IEEE)
}

/// How the bits of a component are a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Numbers {
    Unorm,
    Snorm,
    Uscaled,
    Sscaled,
    Uint,
    Sint,
    Float,
}

/// What an element is: the widths of its components, from the lowest bit on, and what they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Element {
    widths: [u8; 4],
    numbers: Numbers,
}

const NUMBERS: [Option<Numbers>; 8] = [
    Some(Numbers::Unorm),
    Some(Numbers::Snorm),
    Some(Numbers::Uscaled),
    Some(Numbers::Sscaled),
    Some(Numbers::Uint),
    Some(Numbers::Sint),
    None,
    Some(Numbers::Float),
];

/// Widths by the number of a gfx9 data format.
const WIDTHS: [[u8; 4]; 15] = [
    [0; 4],
    [8, 0, 0, 0],
    [16, 0, 0, 0],
    [8, 8, 0, 0],
    [32, 0, 0, 0],
    [16, 16, 0, 0],
    [11, 11, 10, 0],
    [10, 11, 11, 0],
    [2, 10, 10, 10],
    [10, 10, 10, 2],
    [8, 8, 8, 8],
    [32, 32, 0, 0],
    [16, 16, 16, 16],
    [32, 32, 32, 0],
    [32, 32, 32, 32],
];

/// Runs of formats from gfx11 on: the first number, widths as a gfx9 format, and which numbers follow each other.
const RUNS: &[(u8, u8, &[Numbers])] = {
    use Numbers::{Float, Sint, Snorm, Sscaled, Uint, Unorm, Uscaled};
    const SIX: &[Numbers] = &[Unorm, Snorm, Uscaled, Sscaled, Uint, Sint];
    const SEVEN: &[Numbers] = &[Unorm, Snorm, Uscaled, Sscaled, Uint, Sint, Float];
    const THREE: &[Numbers] = &[Uint, Sint, Float];
    &[
        (1, 1, SIX),
        (7, 2, SEVEN),
        (14, 3, SIX),
        (20, 4, THREE),
        (23, 5, SEVEN),
        (30, 6, &[Float]),
        (31, 7, &[Float]),
        (32, 8, &[Unorm, Snorm, Uint, Sint]),
        (36, 9, SIX),
        (42, 10, SIX),
        (48, 11, THREE),
        (51, 12, SEVEN),
        (58, 13, THREE),
        (61, 14, THREE),
    ]
};

/// The same on gfx10, where numbers of formats that do not exist are left free.
const RUNS_GFX10: &[(u8, u8, &[Numbers])] = {
    use Numbers::{Float, Sint, Snorm, Sscaled, Uint, Unorm, Uscaled};
    const SIX: &[Numbers] = &[Unorm, Snorm, Uscaled, Sscaled, Uint, Sint];
    const SEVEN: &[Numbers] = &[Unorm, Snorm, Uscaled, Sscaled, Uint, Sint, Float];
    const THREE: &[Numbers] = &[Uint, Sint, Float];
    &[
        (1, 1, SIX),
        (7, 2, SEVEN),
        (14, 3, SIX),
        (20, 4, THREE),
        (23, 5, SEVEN),
        (36, 6, &[Float]),
        (43, 7, &[Float]),
        (44, 8, &[Unorm, Snorm]),
        (48, 8, &[Uint, Sint]),
        (50, 9, SIX),
        (56, 10, SIX),
        (62, 11, THREE),
        (65, 12, SEVEN),
        (72, 13, THREE),
        (75, 14, THREE),
    ]
};

impl Element {
    /// The format of a number; none where there is no such format.
    fn new(number: u8, layout: Layout) -> Option<Self> {
        let (data, numbers) = if layout == Layout::Gfx9 {
            (number & 15, NUMBERS[usize::from(number >> 4 & 7)]?)
        } else {
            let runs = if layout == Layout::Gfx10 { RUNS_GFX10 } else { RUNS };
            runs.iter().find_map(|(first, data, numbers)| {
                let at = number.checked_sub(*first)?;
                numbers.get(usize::from(at)).map(|numbers| (*data, *numbers))
            })?
        };
        let widths = *WIDTHS.get(usize::from(data)).filter(|it| it[0] != 0)?;
        let is_small = numbers == Numbers::Float && widths.iter().any(|it| matches!(it, 2 | 8));
        (!is_small).then_some(Self { widths, numbers })
    }

    fn bytes(self) -> u64 {
        self.widths.iter().map(|it| u64::from(*it)).sum::<u64>() / 8
    }

    fn has(self, component: usize) -> bool {
        self.widths[component] != 0
    }

    /// A component as a register has it.
    fn decoded(self, bits: u128, component: usize) -> u32 {
        let first: u32 = self.widths[..component].iter().map(|it| u32::from(*it)).sum();
        let width = u32::from(self.widths[component]);
        let raw = (bits >> first) as u32 & (u32::MAX >> (32 - width));
        let signed = ((raw << (32 - width)).cast_signed()) >> (32 - width);
        let float = match self.numbers {
            Numbers::Uint => return raw,
            Numbers::Sint => return signed.cast_unsigned(),
            Numbers::Uscaled => raw as f32,
            Numbers::Sscaled => signed as f32,
            Numbers::Unorm => (f64::from(raw) / f64::from(u32::MAX >> (32 - width))) as f32,
            Numbers::Snorm => {
                let most = f64::from(u32::MAX >> (33 - width));
                (f64::from(signed) / most).max(-1.0) as f32
            }
            Numbers::Float => match width {
                32 => return raw,
                16 => half_to_f32(raw as u16),
                // Five bits of exponent as in a half, and no sign.
                _ => half_to_f32((raw << (15 - width)) as u16),
            },
        };
        float.to_bits()
    }

    /// The bits of a component for what a register has.
    fn encoded(self, value: u32, component: usize) -> u128 {
        let first: u32 = self.widths[..component].iter().map(|it| u32::from(*it)).sum();
        let width = u32::from(self.widths[component]);
        let all = u32::MAX >> (32 - width);
        let float = f64::from(f(value));
        let rounded = |low: f64, high: f64, scale: f64| {
            let clamped = if float.is_nan() { 0.0 } else { (float * scale).clamp(low, high) };
            clamped.round_ties_even()
        };
        let half = f64::from(all >> 1);
        let raw = match self.numbers {
            Numbers::Uint => value.min(all),
            Numbers::Sint => {
                let most = (all >> 1).cast_signed();
                value.cast_signed().clamp(-most - 1, most).cast_unsigned()
            }
            Numbers::Uscaled => rounded(0.0, all.into(), 1.0) as u32,
            Numbers::Unorm => rounded(0.0, all.into(), all.into()) as u32,
            Numbers::Sscaled => (rounded(-half - 1.0, half, 1.0) as i32).cast_unsigned(),
            Numbers::Snorm => (rounded(-half, half, half) as i32).cast_unsigned(),
            Numbers::Float => match width {
                32 => value,
                16 => f32_to_half(f(value)).into(),
                _ if float <= 0.0 => 0,
                _ => u32::from(f32_to_half(f(value))) >> (15 - width),
            },
        };
        u128::from(raw & all) << first
    }

    fn one(self) -> u32 {
        match self.numbers {
            Numbers::Uint | Numbers::Sint => 1,
            _ => 1.0_f32.to_bits(),
        }
    }

    fn is_integer(self) -> bool {
        matches!(self.numbers, Numbers::Uint | Numbers::Sint)
    }
}

/// A formatted access, packed into a step's `k`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Formatted {
    /// The format that the instruction has; none where the descriptor has it.
    pub(crate) number: Option<u8>,
    pub(crate) components: u8,
    /// Two components in a register.
    pub(crate) is_half: bool,
    /// The upper half of one register.
    pub(crate) is_high: bool,
    /// Whether the other half of a register becomes zero.
    pub(crate) clears: bool,
    pub(crate) layout: Layout,
}

impl Formatted {
    pub(crate) fn pack(self) -> u64 {
        self.number.map_or(0, |number| u64::from(number) | 1 << 19)
            | u64::from(self.components) << 8
            | u64::from(self.is_half) << 16
            | u64::from(self.is_high) << 17
            | u64::from(self.clears) << 18
            | (self.layout as u64) << 24
    }

    fn unpack(bits: u64) -> Self {
        Self {
            number: (bits >> 19 & 1 == 1).then_some(bits as u8),
            components: (bits >> 8) as u8,
            is_half: bits >> 16 & 1 == 1,
            is_high: bits >> 17 & 1 == 1,
            clears: bits >> 18 & 1 == 1,
            layout: Layout::unpack(bits >> 24),
        }
    }

    /// The format of an access with a descriptor.
    fn element(self, descriptor: u32) -> Option<Element> {
        let number = self.number.unwrap_or_else(|| of_descriptor(descriptor, self.layout));
        Element::new(number, self.layout)
    }
}

/// The number of the format in the last word of a descriptor.
pub(crate) fn of_descriptor(descriptor: u32, layout: Layout) -> u8 {
    match layout {
        Layout::Gfx9 => (descriptor >> 15 & 15 | (descriptor >> 12 & 7) << 4) as u8,
        Layout::Gfx10 => (descriptor >> 12 & 0x7f) as u8,
        _ => (descriptor >> 12 & 0x3f) as u8,
    }
}

/// Which component each register has: zero, one, or by number.
fn selected(descriptor: u32) -> [u32; 4] {
    [0, 3, 6, 9].map(|first| descriptor >> first & 7)
}

/// Half of a register for a component.
fn narrowed(value: u32, element: Element) -> u32 {
    if element.is_integer() { value & 0xffff } else { u32::from(f32_to_half(f(value))) }
}

fn widened(half: u32, element: Element) -> u32 {
    match element.numbers {
        Numbers::Uint => half & 0xffff,
        Numbers::Sint => i32::from(half as u16 as i16).cast_unsigned(),
        _ => half_to_f32(half as u16).to_bits(),
    }
}

/// Loads components to registers from `d` on; the descriptor's last word is `s[b]`.
pub(crate) fn load<const C: usize>(wave: &mut Wave<C>, context: &mut Context<'_>, step: &Step<C>) {
    let access = Formatted::unpack(step.k);
    let descriptor = wave.s[usize::from(step.b)];
    let element = access.element(descriptor);
    let select = selected(descriptor);
    let valid = wave.valid;
    for lane in lanes(wave.active) {
        let is_inside = valid >> lane & 1 == 1 && element.is_some();
        let mut bits = 0_u128;
        let bytes = element.map_or(0, Element::bytes);
        if is_inside {
            let Some(from) = place(wave, context, lane, bytes, false) else { return };
            for at in 0..bytes {
                bits |= u128::from(byte(wave, context, from, at)) << (at * 8);
            }
        }
        let value = |component: usize| {
            let Some(element) = element else { return 0 };
            let of = |number: usize| match element.has(number) {
                _ if !is_inside => 0,
                true => element.decoded(bits, number),
                false if number == 3 => element.one(),
                false => 0,
            };
            let wide = match select[component] {
                1 => element.one(),
                number @ 4..=7 => of(number as usize - 4),
                _ => 0,
            };
            if access.is_half { narrowed(wide, element) } else { wide }
        };
        let count = usize::from(access.components);
        if !access.is_half {
            for component in 0..count {
                wave.v[usize::from(step.d) + component].set_lane(lane, value(component));
            }
            continue;
        }
        for pair in 0..count.div_ceil(2) {
            let low = value(pair * 2);
            let register = &mut wave.v[usize::from(step.d) + pair];
            let old = if access.clears { 0 } else { register.lane(lane) };
            let new = match (access.is_high, pair * 2 + 1 < count) {
                (true, _) => old & 0xffff | low << 16,
                (false, true) => low | value(pair * 2 + 1) << 16,
                (false, false) => old & 0xffff_0000 | low,
            };
            register.set_lane(lane, new);
        }
    }
}

/// Stores components of registers from `a` on.
pub(crate) fn store<const C: usize>(wave: &mut Wave<C>, context: &mut Context<'_>, step: &Step<C>) {
    let access = Formatted::unpack(step.k);
    let descriptor = wave.s[usize::from(step.b)];
    let Some(element) = access.element(descriptor) else { return };
    let select = selected(descriptor);
    for lane in lanes(wave.active & wave.valid) {
        let Some(to) = place(wave, context, lane, element.bytes(), true) else { return };
        let data = |component: usize| {
            if component >= usize::from(access.components) {
                return 0;
            }
            if !access.is_half {
                return wave.v[usize::from(step.a) + component].lane(lane);
            }
            let register = wave.v[usize::from(step.a) + component / 2].lane(lane);
            let shift = if access.is_high { 16 } else { component % 2 * 16 };
            widened(register >> shift & 0xffff, element)
        };
        let mut bits = 0;
        for number in (0..4).filter(|number| element.has(*number)) {
            let from = select.iter().position(|it| *it as usize == number + 4);
            bits |= element.encoded(from.map_or(0, data), number);
        }
        for at in 0..element.bytes() {
            set_byte(wave, context, to, at, (bits >> (at * 8)) as u8);
        }
    }
}

/// Bytes of an element; one where there is no such format, which nothing is loaded of.
pub(crate) fn bytes(number: u8, layout: Layout) -> u64 {
    Element::new(number, layout).map_or(1, Element::bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_numbered_by_generation() {
        let of = |number, layout| Element::new(number, layout).map(|it| (it.widths, it.numbers));
        let bytes = Some(([8, 8, 8, 8], Numbers::Unorm));
        assert_eq!(of(10, Layout::Gfx9), bytes);
        assert_eq!(of(56, Layout::Gfx10), bytes);
        assert_eq!((of(42, Layout::Gfx11), of(42, Layout::Gfx12)), (bytes, bytes));
        assert_eq!(of(77, Layout::Gfx10), Some(([32; 4], Numbers::Float)));
        assert_eq!(of(63, Layout::Gfx12), Some(([32; 4], Numbers::Float)));
        assert_eq!(of(7 << 4 | 6, Layout::Gfx9), Some(([11, 11, 10, 0], Numbers::Float)));
        assert_eq!(
            (of(0, Layout::Gfx11), of(30, Layout::Gfx10), of(64, Layout::Gfx11)),
            (None, None, None)
        );
    }

    #[test]
    fn components_are_read_and_written() {
        let element = Element { widths: [10, 10, 10, 2], numbers: Numbers::Unorm };
        let bits = 1023 | 512 << 20 | 3 << 30;
        let read = |component| f(element.decoded(bits, component));
        assert_eq!((read(0), read(1), read(3)), (1.0, 0.0, 1.0));
        assert_eq!(read(2), 512.0 / 1023.0);
        assert_eq!(element.encoded(0.5_f32.to_bits(), 0), 512);
        assert_eq!(element.encoded(7.0_f32.to_bits(), 3), 3 << 30);
        let signed = Element { widths: [8, 8, 0, 0], numbers: Numbers::Snorm };
        assert_eq!(f(signed.decoded(0x80, 0)), -1.0);
        assert_eq!(signed.encoded((-1.0_f32).to_bits(), 1), 0x8100);
        let small = Element { widths: [11, 11, 10, 0], numbers: Numbers::Float };
        // One is the exponent 15.
        assert_eq!(f(small.decoded(15 << 6, 0)), 1.0);
        assert_eq!(small.encoded(1.0_f32.to_bits(), 2), 15 << 5 << 22);
        assert_eq!(small.encoded((-1.0_f32).to_bits(), 2), 0);
        let integer = Element { widths: [16, 16, 0, 0], numbers: Numbers::Sint };
        assert_eq!(integer.decoded(0x8000_0000, 1), 0xffff_8000);
        assert_eq!(integer.encoded(0x12_3456, 0), 0x7fff);
    }
}
