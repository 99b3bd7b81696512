//! Scalars: their text, their quotes, and the tags that keep a string from being read as another
//! kind.

use hsaco_bytes::hex;

use super::Node;
use super::generated::unprintable::UNPRINTABLE;

/// Appends a scalar; containers have no scalar text.
pub(super) fn print(node: &Node<'_>, out: &mut String) {
    match node {
        Node::Nil => out.push_str("!nil ''"),
        Node::Str(text) => {
            let text = text.as_bytes();
            if implies_another_kind(text) {
                out.push_str("!str ");
            }
            Quotes::needed_by_string(text).print(text, out);
        }
        Node::Binary(bytes) => {
            out.push_str("!bin ");
            Quotes::Single.print(hex::encode(bytes).as_bytes(), out);
        }
        other => out.push_str(&text(other)),
    }
}

/// Appends a map key with its colon, and returns the width that the column of values counts:
/// the text's own bytes, without quotes and escapes.
pub(super) fn print_key(key: &Node<'_>, out: &mut String) -> usize {
    let owned;
    let bytes = match key {
        Node::Str(text) => text.as_bytes(),
        other => {
            owned = text(other);
            owned.as_bytes()
        }
    };
    Quotes::needed(bytes).print(bytes, out);
    out.push(':');
    bytes.len()
}

/// The plain text of what is not a string.
fn text(node: &Node<'_>) -> String {
    match node {
        Node::Bool(value) => value.to_string(),
        Node::Int(value) => value.to_string(),
        Node::UInt(value) => value.to_string(),
        Node::Float(value) => exponential(*value),
        Node::Binary(bytes) => hex::encode(bytes),
        _ => String::new(),
    }
}

/// C's `%e`.
fn exponential(value: f64) -> String {
    if value.is_nan() {
        return "nan".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "INF" } else { "-INF" }.into();
    }
    let text = format!("{value:.6e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    match exponent.strip_prefix('-') {
        Some(exponent) => format!("{digits}e-{exponent:0>2}"),
        None => format!("{digits}e+{exponent:0>2}"),
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Quotes {
    None,
    Single,
    Double,
}

impl Quotes {
    /// The quotes that the characters of a text need, whatever the text stands for.
    fn needed(text: &[u8]) -> Self {
        let (Some(first), Some(last)) = (text.first(), text.last()) else { return Self::Single };
        let edges =
            is_space(*first) || is_space(*last) || br#"-?:\,[]{}#&*!|>'"%@`"#.contains(first);
        let edges = if edges { Self::Single } else { Self::None };
        text.iter().map(|&byte| Self::for_byte(byte)).fold(edges, Self::max)
    }

    /// The same for a string that must not look like another kind of scalar.
    fn needed_by_string(text: &[u8]) -> Self {
        let ambiguous = is_null(text) || is_bool(text) || is_numeric(text);
        Self::needed(text).max(if ambiguous { Self::Single } else { Self::None })
    }

    fn for_byte(byte: u8) -> Self {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => Self::None,
            b'_' | b'-' | b'^' | b'.' | b',' | b' ' | b'\t' => Self::None,
            0..0x20 | 0x7f.. => Self::Double,
            _ => Self::Single,
        }
    }

    fn print(self, text: &[u8], out: &mut String) {
        match self {
            Self::None => out.push_str(&String::from_utf8_lossy(text)),
            Self::Single => {
                out.push('\'');
                out.push_str(&String::from_utf8_lossy(text).replace('\'', "''"));
                out.push('\'');
            }
            Self::Double => {
                out.push('"');
                escape(text, out);
                out.push('"');
            }
        }
    }
}

/// Appends a text for double quotes, up to the first byte that is not UTF-8.
fn escape(text: &[u8], out: &mut String) {
    let (valid, bad) = match text.utf8_chunks().next() {
        Some(chunk) => (chunk.valid(), !chunk.invalid().is_empty()),
        None => ("", false),
    };
    for character in valid.chars() {
        escape_char(character, out);
    }
    if bad {
        out.push(char::REPLACEMENT_CHARACTER);
    }
}

fn escape_char(character: char, out: &mut String) {
    let short = match character {
        '\\' => "\\\\",
        '"' => "\\\"",
        '\0' => "\\0",
        '\u{7}' => "\\a",
        '\u{8}' => "\\b",
        '\t' => "\\t",
        '\n' => "\\n",
        '\u{b}' => "\\v",
        '\u{c}' => "\\f",
        '\r' => "\\r",
        '\u{1b}' => "\\e",
        '\u{85}' => "\\N",
        '\u{a0}' => "\\_",
        '\u{2028}' => "\\L",
        '\u{2029}' => "\\P",
        _ if is_printable(character) => return out.push(character),
        _ => &numeric_escape(character.into()),
    };
    out.push_str(short);
}

fn is_printable(character: char) -> bool {
    let code = u32::from(character);
    let run = UNPRINTABLE.partition_point(|&(_, last)| last < code);
    code >= 0x20 && UNPRINTABLE.get(run).is_none_or(|&(first, _)| code < first)
}

fn numeric_escape(code: u32) -> String {
    match code {
        0..0x100 => format!("\\x{code:02X}"),
        0x100..0x1_0000 => format!("\\u{code:04X}"),
        _ => format!("\\U{code:08X}"),
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

fn is_null(text: &[u8]) -> bool {
    matches!(text, b"null" | b"Null" | b"NULL" | b"~")
}

fn is_bool(text: &[u8]) -> bool {
    matches!(text, b"true" | b"True" | b"TRUE" | b"false" | b"False" | b"FALSE")
}

/// True for what YAML 1.2 reads as a number.
fn is_numeric(text: &[u8]) -> bool {
    let unsigned = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
    if matches!(text, b".nan" | b".NaN" | b".NAN")
        || matches!(unsigned, b".inf" | b".Inf" | b".INF")
    {
        return true;
    }
    if let Some(octal) = text.strip_prefix(b"0o") {
        return !octal.is_empty() && octal.iter().all(|byte| matches!(byte, b'0'..=b'7'));
    }
    if let Some(hex) = text.strip_prefix(b"0x") {
        return !hex.is_empty() && hex.iter().all(u8::is_ascii_hexdigit);
    }
    decimal_len(unsigned) == Some(unsigned.len())
}

/// The length of the decimal number that a text begins with, if it does: digits with at most one
/// point among them, and an exponent if it is complete.
fn decimal_len(text: &[u8]) -> Option<usize> {
    number_len(text, u8::is_ascii_digit, b'e')
}

fn number_len(text: &[u8], is_digit: fn(&u8) -> bool, exponent: u8) -> Option<usize> {
    let whole = run(text, 0, is_digit);
    let point = text.get(whole) == Some(&b'.');
    let fraction = if point { run(text, whole + 1, is_digit) } else { 0 };
    if whole + fraction == 0 {
        return None;
    }
    let mantissa = whole + usize::from(point) + fraction;
    let has_exponent = text.get(mantissa).is_some_and(|byte| byte.to_ascii_lowercase() == exponent);
    let sign = matches!(text.get(mantissa + 1), Some(b'+' | b'-'));
    let digits_at = mantissa + 1 + usize::from(sign);
    let digits = run(text, digits_at, u8::is_ascii_digit);
    Some(if has_exponent && digits > 0 { digits_at + digits } else { mantissa })
}

/// How many bytes from `start` on are of a kind.
fn run(text: &[u8], start: usize, is_kind: fn(&u8) -> bool) -> usize {
    text.get(start..).unwrap_or_default().iter().take_while(|byte| is_kind(byte)).count()
}

/// True when LLVM would read the text as a number or a truth value if nothing said otherwise.
fn implies_another_kind(text: &[u8]) -> bool {
    let is_integer = match text.strip_prefix(b"-") {
        Some(magnitude) => unsigned(magnitude).is_some_and(|it| it <= i64::MIN.unsigned_abs()),
        None => unsigned(text).is_some(),
    };
    is_integer || matches!(text, b"true" | b"false") || is_float(text)
}

/// An unsigned integer whose prefix gives its base, as in C and with `0b` and `0o`.
fn unsigned(text: &[u8]) -> Option<u64> {
    let (radix, digits) = match text {
        [b'0', b'x' | b'X', digits @ ..] => (16, digits),
        [b'0', b'b' | b'B', digits @ ..] => (2, digits),
        [b'0', b'o', digits @ ..] => (8, digits),
        [b'0', digits @ ..] if digits.first().is_some_and(u8::is_ascii_digit) => (8, digits),
        digits => (10, digits),
    };
    let sum = |sum: u64, &byte: &u8| {
        let digit = char::from(byte).to_digit(radix)?;
        sum.checked_mul(radix.into())?.checked_add(digit.into())
    };
    if digits.is_empty() { None } else { digits.iter().try_fold(0, sum) }
}

/// True when C's `strtod` reads the text to its end, which is at the first NUL; the empty text
/// counts as read.
fn is_float(text: &[u8]) -> bool {
    let text = text.split(|&byte| byte == 0).next().unwrap_or_default();
    if text.is_empty() {
        return true;
    }
    let spaces = text.iter().take_while(|byte| is_space(**byte)).count();
    let text = text.get(spaces..).unwrap_or_default().to_ascii_lowercase();
    match text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(&text) {
        b"inf" | b"infinity" | b"nan" => true,
        [b'n', b'a', b'n', b'(', payload @ .., b')'] => {
            payload.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        }
        [b'0', b'x', hex @ ..] => number_len(hex, u8::is_ascii_hexdigit, b'p') == Some(hex.len()),
        decimal => decimal_len(decimal) == Some(decimal.len()),
    }
}
