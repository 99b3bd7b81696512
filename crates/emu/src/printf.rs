//! C's printf, for what kernels print.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "numbers are cut to what a length modifier says"
)]

/// The most that a width or a precision may ask for: more is no picture of a number.
const MOST: usize = 4096;

/// Where the values of conversions come from.
pub(crate) trait Values {
    /// The next number; `size` is what the conversion's length modifier says, in bytes. None where there are no more.
    fn integer(&mut self, size: u8) -> Option<u64>;
    fn float(&mut self) -> Option<f64>;
    fn string(&mut self) -> Option<Vec<u8>>;
    /// So many elements of a vector; floats as the bits of doubles.
    fn vector(&mut self, count: u8, is_float: bool) -> Option<Vec<u64>> {
        let mut next = || if is_float { self.float().map(f64::to_bits) } else { self.integer(4) };
        (0..count).map(|_| next()).collect()
    }
}

/// What a format and its values print. Where values or the format end early, so does the text.
pub(crate) fn format(format: &[u8], values: &mut impl Values) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = format;
    while let Some(at) = rest.iter().position(|it| *it == b'%') {
        let (text, from) = rest.split_at(at);
        out.extend(text);
        let from = from.get(1..).unwrap_or_default();
        if let Some(after) = from.strip_prefix(b"%") {
            out.push(b'%');
            rest = after;
            continue;
        }
        let Some(after) = conversion(from, values, &mut out) else { return out };
        rest = after;
    }
    out.extend(rest);
    out
}

#[derive(Clone, Copy, Debug, Default)]
struct Spec {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
    /// Elements of a vector of OpenCL.
    elements: Option<u8>,
    /// Bytes of an integer.
    size: Option<u8>,
}

/// Prints one conversion; what follows it.
fn conversion<'f>(
    format: &'f [u8],
    values: &mut impl Values,
    out: &mut Vec<u8>,
) -> Option<&'f [u8]> {
    let mut spec = Spec::default();
    let mut rest = format;
    loop {
        let (first, after) = rest.split_first()?;
        match first {
            b'-' => spec.left = true,
            b'+' => spec.plus = true,
            b' ' => spec.space = true,
            b'#' => spec.alternate = true,
            b'0' => spec.zero = true,
            _ => break,
        }
        rest = after;
    }
    let (width, after) = number(rest, values)?;
    rest = after;
    if let Some(width) = width {
        spec.left |= width < 0;
        spec.width = usize::try_from(width.unsigned_abs()).unwrap_or(MOST).min(MOST);
    }
    if let Some(after) = rest.strip_prefix(b".") {
        let (precision, after) = number(after, values)?;
        rest = after;
        let precision = precision.unwrap_or(0);
        spec.precision = usize::try_from(precision).ok().map(|it| it.min(MOST));
    }
    if let Some(after) = rest.strip_prefix(b"v") {
        let (count, after) = number(after, values)?;
        spec.elements = Some(u8::try_from(count?).ok()?.min(16));
        rest = after;
    }
    const LENGTHS: [(&[u8], u8); 8] =
        [(b"hh", 1), (b"hl", 4), (b"ll", 8), (b"h", 2), (b"l", 8), (b"j", 8), (b"z", 8), (b"t", 8)];
    if let Some((length, size)) = LENGTHS.iter().find(|(length, _)| rest.starts_with(length)) {
        spec.size = Some(*size);
        rest = rest.get(length.len()..)?;
    }
    let (kind, after) = rest.split_first()?;
    match spec.elements {
        None => value(*kind, spec, values, out)?,
        Some(count) => vector(*kind, count, spec, values, out)?,
    }
    Some(after)
}

/// A number of the format, or of the values where it is a star.
fn number<'f>(format: &'f [u8], values: &mut impl Values) -> Option<(Option<i64>, &'f [u8])> {
    if let Some(after) = format.strip_prefix(b"*") {
        return Some((Some(i64::from(values.integer(4)? as i32)), after));
    }
    let count = format.iter().take_while(|it| it.is_ascii_digit()).count();
    let (digits, after) = format.split_at(count);
    let text = std::str::from_utf8(digits).ok()?;
    let number = (count > 0).then(|| text.parse().unwrap_or(i64::MAX));
    Some((number, after))
}

fn value(kind: u8, spec: Spec, values: &mut impl Values, out: &mut Vec<u8>) -> Option<()> {
    let size = spec.size.unwrap_or(4);
    match kind {
        b'd' | b'i' | b'u' | b'o' | b'x' | b'X' => {
            integer(kind, spec, values.integer(size)?, size, out);
        }
        b'c' => pad(spec, b"", &[values.integer(4)? as u8], false, out),
        b'p' => {
            let spec = Spec { alternate: true, ..spec };
            integer(b'x', spec, values.integer(8)?, 8, out);
        }
        b's' => {
            let mut text = values.string()?;
            text.truncate(spec.precision.unwrap_or(usize::MAX));
            pad(spec, b"", &text, false, out);
        }
        b'n' => drop(values.integer(8)?),
        _ if is_float(kind) => float(kind, spec, values.float()?, out),
        _ => return None,
    }
    Some(())
}

fn is_float(kind: u8) -> bool {
    matches!(kind.to_ascii_lowercase(), b'f' | b'e' | b'g' | b'a')
}

fn vector(
    kind: u8,
    count: u8,
    spec: Spec,
    values: &mut impl Values,
    out: &mut Vec<u8>,
) -> Option<()> {
    for (at, bits) in values.vector(count, is_float(kind))?.into_iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        match is_float(kind) {
            true => float(kind, spec, f64::from_bits(bits), out),
            false => integer(kind, spec, bits, spec.size.unwrap_or(4), out),
        }
    }
    Some(())
}

fn integer(kind: u8, spec: Spec, bits: u64, size: u8, out: &mut Vec<u8>) {
    let shift = 64 - u32::from(size) * 8;
    let unsigned = bits << shift >> shift;
    let signed = (bits << shift) as i64 >> shift;
    let (sign, mut digits) = match kind {
        b'd' | b'i' => (sign(spec, signed < 0), signed.unsigned_abs().to_string()),
        b'u' => (&b""[..], unsigned.to_string()),
        b'o' if spec.alternate && unsigned != 0 => (&b""[..], format!("0{unsigned:o}")),
        b'o' => (&b""[..], format!("{unsigned:o}")),
        b'X' if spec.alternate && unsigned != 0 => (&b"0X"[..], format!("{unsigned:X}")),
        b'X' => (&b""[..], format!("{unsigned:X}")),
        _ if spec.alternate && unsigned != 0 => (&b"0x"[..], format!("{unsigned:x}")),
        _ => (&b""[..], format!("{unsigned:x}")),
    };
    if let Some(precision) = spec.precision {
        if precision == 0 && unsigned == 0 {
            digits.clear();
        }
        digits = format!("{digits:0>precision$}");
    }
    pad(spec, sign, digits.as_bytes(), spec.precision.is_none(), out);
}

fn sign(spec: Spec, is_negative: bool) -> &'static [u8] {
    match (is_negative, spec.plus, spec.space) {
        (true, ..) => b"-",
        (false, true, _) => b"+",
        (false, false, true) => b" ",
        _ => b"",
    }
}

fn float(kind: u8, spec: Spec, value: f64, out: &mut Vec<u8>) {
    let mut prefix = sign(spec, value.is_sign_negative()).to_vec();
    let magnitude = value.abs();
    if !magnitude.is_finite() {
        let name: &[u8] = if magnitude.is_nan() { b"nan" } else { b"inf" };
        let text =
            if kind.is_ascii_uppercase() { name.to_ascii_uppercase() } else { name.to_vec() };
        return pad(spec, &prefix, &text, false, out);
    }
    let precision = spec.precision;
    let mut text = match kind.to_ascii_lowercase() {
        b'f' => point(format!("{magnitude:.*}", precision.unwrap_or(6)), spec),
        b'e' => scientific(magnitude, precision.unwrap_or(6), spec),
        b'g' => general(magnitude, precision.unwrap_or(6).max(1), spec),
        _ => {
            prefix.extend(b"0x");
            hexadecimal(magnitude, precision, spec)
        }
    };
    if kind.is_ascii_uppercase() {
        text.make_ascii_uppercase();
        prefix.make_ascii_uppercase();
    }
    pad(spec, &prefix, text.as_bytes(), true, out);
}

/// A number with a point, if one is asked for.
fn point(text: String, spec: Spec) -> String {
    if spec.alternate && !text.contains('.') { text + "." } else { text }
}

fn scientific(value: f64, precision: usize, spec: Spec) -> String {
    let text = format!("{value:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", point(digits.to_owned(), spec), exponent.unsigned_abs())
}

fn general(value: f64, precision: usize, spec: Spec) -> String {
    let exponent = {
        let text = format!("{value:.*e}", precision - 1);
        text.split_once('e').and_then(|(_, it)| it.parse::<i64>().ok()).unwrap_or(0)
    };
    let is_small = exponent < -4;
    if is_small || exponent >= precision as i64 {
        let text = scientific(value, precision - 1, spec);
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "+00"));
        return format!("{}e{exponent}", trimmed(digits, spec));
    }
    let decimals = usize::try_from(precision as i64 - 1 - exponent).unwrap_or(0);
    trimmed(&point(format!("{value:.decimals$}"), spec), spec).to_owned()
}

/// Without the zeros at the end of a fraction.
fn trimmed(text: &str, spec: Spec) -> &str {
    if spec.alternate || !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.')
}

fn hexadecimal(value: f64, precision: Option<usize>, spec: Spec) -> String {
    let bits = value.to_bits();
    let (mut exponent, mut mantissa) = ((bits >> 52) as i64 - 1023, bits & ((1 << 52) - 1));
    let mut lead = 1;
    if bits >> 52 == 0 {
        lead = 0;
        exponent = if mantissa == 0 { 0 } else { -1022 };
    }
    let mut digits = 13;
    if let Some(precision) = precision.filter(|it| *it < 13) {
        // To nearest even.
        let cut = (13 - precision) as u32 * 4;
        let whole = lead << 52 | mantissa;
        let (kept, rest, half) = (whole >> cut, whole & ((1 << cut) - 1), 1 << (cut - 1));
        let up = rest > half || rest == half && kept & 1 == 1;
        let rounded = (kept + u64::from(up)) << cut;
        (lead, mantissa, digits) = (rounded >> 52, rounded & ((1 << 52) - 1), precision);
    }
    let mut text = format!("{mantissa:013x}");
    text.truncate(digits);
    match precision {
        None => text.truncate(text.trim_end_matches('0').len()),
        Some(precision) => text = format!("{text:0<precision$}"),
    }
    let dot = if text.is_empty() && !spec.alternate { "" } else { "." };
    format!("{lead}{dot}{text}p{exponent:+}")
}

/// Fills up to the width: with zeros between sign and digits only where `may_zero` and the format asks for it.
fn pad(spec: Spec, prefix: &[u8], text: &[u8], may_zero: bool, out: &mut Vec<u8>) {
    let missing = spec.width.saturating_sub(prefix.len() + text.len());
    let fill = |out: &mut Vec<u8>, byte: u8| out.extend(std::iter::repeat_n(byte, missing));
    let zeros = spec.zero && may_zero && !spec.left;
    if !spec.left && !zeros {
        fill(out, b' ');
    }
    out.extend(prefix);
    if zeros {
        fill(out, b'0');
    }
    out.extend(text);
    if spec.left {
        fill(out, b' ');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    enum Value {
        Int(u64),
        Float(f64),
        Text(&'static str),
    }

    struct List(Vec<Value>);

    impl Values for List {
        fn integer(&mut self, _: u8) -> Option<u64> {
            match self.0.pop()? {
                Value::Int(it) => Some(it),
                _ => None,
            }
        }

        fn float(&mut self) -> Option<f64> {
            match self.0.pop()? {
                Value::Float(it) => Some(it),
                _ => None,
            }
        }

        fn string(&mut self) -> Option<Vec<u8>> {
            match self.0.pop()? {
                Value::Text(it) => Some(it.as_bytes().to_vec()),
                _ => None,
            }
        }
    }

    fn check(text: &str, mut values: Vec<Value>, wanted: &str) {
        values.reverse();
        let printed = format(text.as_bytes(), &mut List(values));
        assert_eq!(String::from_utf8(printed).unwrap(), wanted, "{text}");
    }

    /// What glibc prints.
    #[test]
    fn conversions_print_as_in_c() {
        use Value::{Float, Int, Text};
        check(
            "%d|%5d|%-5d|%05d|%+d",
            [-7_i32, 7, 7, 7, 7].map(|it| Int(it as u64)).into(),
            "-7|    7|7    |00007|+7",
        );
        check(
            "%u %x %#X %o %lld",
            vec![Int(u64::MAX), Int(255), Int(255), Int(8), Int(u64::MAX)],
            "4294967295 ff 0XFF 10 -1",
        );
        check("%hhd %.3d %c%%", vec![Int(0x180), Int(5), Int(65)], "-128 005 A%");
        check("%s|%5.2s|%-4s|", vec![Text("abc"), Text("abc"), Text("x")], "abc|   ab|x   |");
        check(
            "%f %.2f %8.3f %e",
            vec![Float(1.5), Float(2.675), Float(-3.0), Float(12345.678)],
            "1.500000 2.67   -3.000 1.234568e+04",
        );
        check(
            "%g %g %g %g %G",
            vec![Float(0.0001), Float(1e-5), Float(100_000.0), Float(1e6), Float(1e-10)],
            "0.0001 1e-05 100000 1e+06 1E-10",
        );
        check(
            "%a %.1a %f %F",
            vec![Float(1.0), Float(1.96875), Float(f64::NAN), Float(f64::NEG_INFINITY)],
            "0x1p+0 0x2.0p+0 nan -INF",
        );
        check(
            "%*d %-*d| %.*f",
            vec![Int(4), Int(1), Int(3), Int(2), Int(1), Float(0.25)],
            "   1 2  | 0.2",
        );
        check(
            "%v4d %v2f",
            vec![Int(1), Int(2), Int(3), Int(4), Float(0.5), Float(1.0)],
            "1,2,3,4 0.500000,1.000000",
        );
        check("%p", vec![Int(0x7e00)], "0x7e00");
        check("then %d and %d", vec![Int(1)], "then 1 and ");
    }
}
