//! Half precision in both forms, to and from double precision.

/// Shape of a small floating-point format below one sign bit.
struct Format {
    exponent_bits: u32,
    fraction_bits: u32,
}

const HALF: Format = Format { exponent_bits: 5, fraction_bits: 10 };
const BRAIN: Format = Format { exponent_bits: 8, fraction_bits: 7 };

/// To IEEE half precision, ties to even.
pub(crate) fn to_half(value: f64) -> u16 {
    HALF.round(value)
}

/// To bfloat16, ties to even.
pub(crate) fn to_brain(value: f64) -> u16 {
    BRAIN.round(value)
}

/// From IEEE half precision, exactly.
pub(crate) fn from_half(bits: u16) -> f64 {
    HALF.widen(bits)
}

/// From bfloat16, exactly.
pub(crate) fn from_brain(bits: u16) -> f64 {
    BRAIN.widen(bits)
}

const F64_FRACTION: u32 = 52;
const F64_BIAS: i32 = 1023;

impl Format {
    fn bias(&self) -> i32 {
        (1 << (self.exponent_bits - 1)) - 1
    }

    fn infinity(&self) -> u64 {
        ((1 << self.exponent_bits) - 1) << self.fraction_bits
    }

    fn round(&self, value: f64) -> u16 {
        let bits = value.to_bits();
        let sign = (bits >> 63) << 15;
        let magnitude = bits & (u64::MAX >> 1);
        let rounded = if value.is_nan() {
            // Quiet, with the upper bits of the payload.
            let payload = magnitude >> (F64_FRACTION - self.fraction_bits);
            let fraction = payload & ((1 << self.fraction_bits) - 1);
            self.infinity() | 1 << (self.fraction_bits - 1) | fraction
        } else {
            self.round_magnitude(magnitude)
        };
        u16::try_from(sign | rounded).unwrap_or(u16::MAX)
    }

    fn round_magnitude(&self, magnitude: u64) -> u64 {
        let exponent = i32::try_from(magnitude >> F64_FRACTION).unwrap_or(0) - F64_BIAS;
        let smallest = 1 - self.bias();
        if exponent > self.bias() {
            return self.infinity();
        }
        // Subnormal numbers have fewer bits of fraction, down to none.
        let lost = F64_FRACTION - self.fraction_bits
            + u32::try_from(smallest.saturating_sub(exponent)).unwrap_or(0);
        if lost > F64_FRACTION + 1 {
            return 0;
        }
        let hidden = 1 << F64_FRACTION;
        let fraction = magnitude & (hidden - 1) | hidden;
        let kept = fraction >> lost;
        let rest = fraction & ((1 << lost) - 1);
        let half = 1 << (lost - 1);
        let up = rest > half || (rest == half && kept & 1 == 1);
        let biased = u64::try_from((exponent - smallest).max(0)).unwrap_or(0);
        // The hidden bit of a normal number counts as one step of the exponent, as does a carry.
        let all = (biased << self.fraction_bits) + kept + u64::from(up);
        all.min(self.infinity())
    }

    fn widen(&self, bits: u16) -> f64 {
        let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
        let magnitude = u64::from(bits & 0x7fff);
        let exponent = i32::try_from(magnitude >> self.fraction_bits).unwrap_or(0);
        let fraction = magnitude & ((1 << self.fraction_bits) - 1);
        let fraction_bits = i32::try_from(self.fraction_bits).unwrap_or(0);
        if magnitude >= self.infinity() {
            return if fraction == 0 { sign * f64::INFINITY } else { f64::NAN };
        }
        let hidden = if exponent == 0 { 0 } else { 1 << self.fraction_bits };
        let scale = exponent.max(1) - self.bias() - fraction_bits;
        #[allow(clippy::cast_precision_loss, reason = "at most 11 bits")]
        let digits = (fraction | hidden) as f64;
        sign * digits * 2_f64.powi(scale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_comes_back() {
        for bits in 0..=u16::MAX {
            for (to, from) in
                [(to_half as fn(f64) -> u16, from_half as fn(u16) -> f64), (to_brain, from_brain)]
            {
                let value = from(bits);
                if !value.is_nan() {
                    assert_eq!(to(value), bits, "{bits:#x} is {value}");
                }
            }
        }
    }

    #[test]
    fn rounding_is_to_nearest_even() {
        let half = [
            (1.0, 0x3c00),
            (1.0 + 1.0 / 2048.0, 0x3c00),
            (1.0 + 3.0 / 2048.0, 0x3c02),
            (65504.0, 0x7bff),
            (65519.9, 0x7bff),
            (65520.0, 0x7c00),
            (2_f64.powi(-24), 0x0001),
            (2_f64.powi(-25), 0x0000),
            (2_f64.powi(-25) * 1.0001, 0x0001),
            (-0.0, 0x8000),
            (f64::INFINITY, 0x7c00),
        ];
        for (value, bits) in half {
            assert_eq!(to_half(value), bits, "{value}");
        }
        assert!(from_half(to_half(f64::NAN)).is_nan());
    }

    /// bfloat16 is the upper half of single precision, of which the compiler knows the conversion.
    #[test]
    #[allow(clippy::cast_possible_truncation, reason = "what is tested")]
    fn brain_floats_are_half_of_a_single() {
        for bits in (0..=u32::MAX).step_by(65_521) {
            let single = f32::from_bits(bits);
            if single.is_nan() {
                continue;
            }
            let low = bits & 0xffff;
            let up = low > 0x8000 || (low == 0x8000 && bits & 0x1_0000 != 0);
            let expected = ((bits >> 16) + u32::from(up)) as u16;
            assert_eq!(to_brain(f64::from(single)), expected, "{single}");
        }
    }
}
