//! Floating-point literals, which a name holds as the digits of their bits.

/// The value in C's hexadecimal notation (`%a`), with the suffix of its type.
pub(crate) fn hexadecimal(code: u8, digits: &str) -> String {
    let bits = u128::from_str_radix(digits, 16).unwrap_or(0);
    let (text, suffix) = match code {
        b'f' => (double(f64::from(f32::from_bits(low(bits)))), "f"),
        b'd' => (double(f64::from_bits(u64::try_from(bits).unwrap_or(0))), ""),
        _ => (extended(bits), "L"),
    };
    text + suffix
}

fn low(bits: u128) -> u32 {
    u32::try_from(bits & u128::from(u32::MAX)).unwrap_or(0)
}

fn double(value: f64) -> String {
    const FRACTION: u32 = 52;
    let sign = if value.is_sign_negative() { "-" } else { "" };
    if value.is_nan() {
        return format!("{sign}nan");
    }
    if value.is_infinite() {
        return format!("{sign}inf");
    }
    let bits = value.to_bits();
    let exponent = i64::try_from(bits >> FRACTION & 0x7ff).unwrap_or(0);
    let fraction = format!("{:013x}", bits & ((1 << FRACTION) - 1));
    let (lead, exponent) = match exponent {
        0 if value == 0.0 => (0, 0),
        0 => (0, -1022),
        _ => (1, exponent - 1023),
    };
    finish(sign, lead, &fraction, exponent)
}

/// The 80-bit format of x86: 64 bits of significand with no hidden one.
fn extended(bits: u128) -> String {
    const SIGNIFICAND: u32 = 64;
    let sign = if bits >> 79 & 1 == 1 { "-" } else { "" };
    let exponent = i64::try_from(bits >> SIGNIFICAND & 0x7fff).unwrap_or(0);
    let significand = u64::try_from(bits & u128::from(u64::MAX)).unwrap_or(0);
    let normal = significand >> 63 == 1;
    if exponent == 0x7fff && normal && significand << 1 == 0 {
        return format!("{sign}inf");
    }
    if exponent == 0x7fff || (exponent != 0 && !normal) {
        return format!("{sign}nan");
    }
    let exponent = match exponent {
        0 if significand == 0 => 0,
        0 => -16385,
        _ => exponent - 16383 - 3,
    };
    let fraction = format!("{:015x}", significand & ((1 << 60) - 1));
    finish(sign, significand >> 60, &fraction, exponent)
}

fn finish(sign: &str, lead: u64, fraction: &str, exponent: i64) -> String {
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}0x{lead:x}{point}{fraction}p{exponent:+}")
}
