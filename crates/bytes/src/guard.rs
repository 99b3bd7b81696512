//! Text for people as a terminal may have it: names in it are any bytes, and must not tell the terminal what to do.

use std::io::{self, Write};

const REPLACEMENT: char = char::REPLACEMENT_CHARACTER;

/// The last thing before an output for people: lets lines, tabs and our own colours through, and no other command to a
/// terminal.
///
/// ```
/// use hsaco_bytes::Guard;
/// let (mut guard, mut out) = (Guard::new(true), Vec::new());
/// guard.write(b"\x1b[1mname\x1b[0m \x1b[2J\n", &mut out)?;
/// guard.finish(&mut out)?;
/// assert_eq!(String::from_utf8_lossy(&out), "\x1b[1mname\x1b[0m \u{fffd}[2J\n");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Guard {
    /// Whether colours are ours; where there are none, none are.
    color: bool,
    /// The beginning of a character or a colour whose end is not written yet.
    begun: Vec<u8>,
}

impl Guard {
    /// A guard of an output with or without colours.
    #[must_use]
    pub fn new(color: bool) -> Self {
        Self { color, begun: Vec::new() }
    }

    /// Writes all of these bytes, or what stands for them.
    ///
    /// # Errors
    /// The output's.
    pub fn write(&mut self, bytes: &[u8], out: &mut impl Write) -> io::Result<()> {
        // Nearly all text is this.
        if self.begun.is_empty() && are_plain(bytes) {
            return out.write_all(bytes);
        }
        let mut all = std::mem::take(&mut self.begun);
        all.extend_from_slice(bytes);
        let mut rest = all.as_slice();
        while let Some(first) = rest.iter().position(|&byte| !is_plain(byte)) {
            let (plain, unusual) = rest.split_at(first);
            out.write_all(plain)?;
            let Some((size, is_ours)) = self.unusual(unusual) else {
                self.begun = unusual.to_vec();
                return Ok(());
            };
            let (unit, after) = unusual.split_at(size);
            match is_ours {
                true => out.write_all(unit)?,
                false => out.write_all(REPLACEMENT.encode_utf8(&mut [0; 4]).as_bytes())?,
            }
            rest = after;
        }
        out.write_all(rest)
    }

    /// Writes what stands for a character that never ended.
    ///
    /// # Errors
    /// The output's.
    pub fn finish(&mut self, out: &mut impl Write) -> io::Result<()> {
        match std::mem::take(&mut self.begun).is_empty() {
            true => Ok(()),
            false => out.write_all(REPLACEMENT.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }

    /// How many bytes the character or colour at the beginning has, and whether it may pass; nothing if it is not all there.
    fn unusual(&self, bytes: &[u8]) -> Option<(usize, bool)> {
        const ESCAPE: u8 = 0x1b;
        match *bytes {
            [ESCAPE, ref rest @ ..] if self.color => match rest {
                [] => None,
                [b'[', rest @ ..] => {
                    let end = rest.iter().position(|byte| !matches!(byte, b'0'..=b'9' | b';'));
                    let end = end?;
                    Some(if rest.get(end) == Some(&b'm') { (end + 3, true) } else { (1, false) })
                }
                _ => Some((1, false)),
            },
            [0xc2, second, ..] => Some((2, !(0x80..=0x9f).contains(&second))),
            [0xe2, 0x80, third, ..] => Some((3, !matches!(third, 0xa8..=0xae))),
            [0xe2, 0x81, third, ..] => Some((3, !matches!(third, 0xa6..=0xa9))),
            [0xc2] | [0xe2] | [0xe2, 0x80 | 0x81] => None,
            [0xe2, ..] => Some((1, true)),
            _ => Some((1, false)),
        }
    }
}

/// Whether no byte is, or begins, a command: drawings and letters of other languages may pass, too. Without a branch for each,
/// so that compilers look at many at once.
fn are_plain(bytes: &[u8]) -> bool {
    let begins = |&byte: &u8| (byte == 0xc2) | (byte == 0xe2);
    let after = bytes.get(1..).unwrap_or_default();
    // U+0080 to U+009F, and U+2000 to U+207F.
    let is_command = |(&one, &two): (&u8, &u8)| {
        (one == 0xc2) & (two < 0xa0) | (one == 0xe2) & (two & 0xfe == 0x80)
    };
    !bytes.last().is_some_and(begins)
        && !bytes.iter().fold(false, |any, byte| any | (!is_plain(*byte) & !begins(byte)))
        && !bytes.iter().zip(after).fold(false, |any, pair| any | is_command(pair))
}

/// False for what may be, or begin, a command.
fn is_plain(byte: u8) -> bool {
    let is_command = (byte < b' ') & (byte != b'\n') & (byte != b'\t') | (byte == 0x7f);
    !(is_command | (byte == 0xc2) | (byte == 0xe2))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "a\x1b[31m\n\r\u{9b}\u{202e}\u{2066}\u{2028}\u{7f}\u{e9}\u{a0}\u{2030}b";

    fn guarded(text: &str, color: bool, step: usize) -> String {
        let (mut guard, mut out) = (Guard::new(color), Vec::new());
        for part in text.as_bytes().chunks(step) {
            guard.write(part, &mut out).unwrap();
        }
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_guard_lets_lines_and_our_colours_through() {
        let bad = "\u{fffd}";
        let text = format!("\x1b[1mN\x1b[0m\tx\n{HOSTILE}\x1b]0;title\x07\x1b[2J");
        for step in [1, 2, 3, 5, 1000] {
            let rest = format!("\n{}\u{e9}\u{a0}\u{2030}b", bad.repeat(6));
            let title = format!("{bad}]0;title{bad}{bad}[2J");
            let plain = format!("{bad}[1mN{bad}[0m\tx\na{bad}[31m{rest}{title}");
            assert_eq!(guarded(&text, false, step), plain, "{step}");
            let colored = format!("\x1b[1mN\x1b[0m\tx\na\x1b[31m{rest}{title}");
            assert_eq!(guarded(&text, true, step), colored, "{step}");
        }
    }
}
