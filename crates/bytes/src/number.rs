//! Numbers and addresses as people and tools write them.

/// A number without a sign: decimal, or hexadecimal after `0x`, where `_` may stand between digits.
///
/// ```
/// use hsaco_bytes::number::parse;
/// assert_eq!([parse("4096"), parse("0x1000"), parse("0X7f00_0000")], [Some(4096), Some(4096), Some(0x7f00_0000)]);
/// assert!(["", "0x", "-1", "+1", "0x+1", "1_000", "0x_", "0x10000000000000000"].iter().all(|it| parse(it).is_none()));
/// ```
#[must_use]
pub fn parse(text: &str) -> Option<u64> {
    u64::try_from(parse_wide(text)?).ok()
}

/// The same, of up to 128 bits.
#[must_use]
pub fn parse_wide(text: &str) -> Option<u128> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => digits(&hex.replace('_', ""), 16),
        None => digits(text, 10),
    }
}

/// A number of hexadecimal digits, and of nothing else.
///
/// ```
/// use hsaco_bytes::number::hex;
/// assert_eq!(hex("0000fF"), Some(255));
/// assert!(["", "0x1", "+1", "10000000000000000"].iter().all(|it| hex(it).is_none()));
/// ```
#[must_use]
pub fn hex(text: &str) -> Option<u64> {
    u64::try_from(digits(text, 16)?).ok()
}

/// A number of digits of a radix, and of nothing else: the standard parser would take a sign as well.
///
/// # Panics
/// If the radix is above 36.
#[must_use]
pub fn digits(text: &str, radix: u32) -> Option<u128> {
    text.chars().all(|it| it.is_digit(radix)).then(|| u128::from_str_radix(text, radix).ok())?
}

/// So many of something, with the plural where it is due.
///
/// ```
/// use hsaco_bytes::number::count;
/// assert_eq!([count(1, "kernel"), count(88_697, "kernel")], ["1 kernel", "88,697 kernels"]);
/// ```
#[must_use]
pub fn count(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {what}{plural}", grouped(number as u64))
}

/// Digits in groups of three.
#[must_use]
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
