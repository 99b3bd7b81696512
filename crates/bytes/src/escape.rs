//! Names of symbols and files as each format can hold them. A name is any bytes: it must not end a line, a quote or an
//! element, and must not tell a terminal what to do.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

const REPLACEMENT: char = char::REPLACEMENT_CHARACTER;

/// True for what a terminal obeys instead of showing it: control characters, ends of lines, and what turns the direction
/// of text around.
pub fn is_obeyed(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A name in a line of text: U+FFFD stands for each character that is a command to a terminal.
///
/// ```
/// assert_eq!(hsaco_bytes::escape::shown("f\u{1b}[31m"), "f\u{fffd}[31m");
/// ```
pub fn shown(name: &str) -> Cow<'_, str> {
    // Nearly all names are of printable ASCII, which is told without a look at each letter by itself.
    let is_plain = name.bytes().fold(true, |all, byte| all & (b' '..0x7f).contains(&byte));
    match !is_plain && name.chars().any(is_obeyed) {
        true => Cow::Owned(name.replace(is_obeyed, "\u{fffd}")),
        false => Cow::Borrowed(name),
    }
}

/// A name between the quotes of DOT, in which backslashes begin Graphviz's own words. Ends of lines stay what they are.
pub fn dot(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for letter in name.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            '\n' => out.push_str("\\n"),
            letter if is_obeyed(letter) => out.push(REPLACEMENT),
            letter => out.push(letter),
        }
    }
    out
}

/// A name in XML, as text or between quotes.
#[derive(Clone, Copy, Debug)]
pub struct Xml<'t>(pub &'t str);

impl fmt::Display for Xml<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for letter in self.0.chars() {
            match letter {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                // XML 1.0 has no way at all to write these two, nor most control characters.
                '\u{fffe}' | '\u{ffff}' => f.write_char(REPLACEMENT)?,
                letter if is_obeyed(letter) => f.write_char(REPLACEMENT)?,
                letter => f.write_char(letter)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "a\x1b[31m\n\r\u{9b}\u{202e}\u{2066}\u{2028}\u{7f}\u{e9}\u{a0}\u{2030}b";

    #[test]
    fn a_name_is_one_line_and_no_command() {
        let bad = "\u{fffd}";
        let expected = format!("a{bad}[31m{}\u{e9}\u{a0}\u{2030}b", bad.repeat(7));
        assert_eq!(shown(HOSTILE), expected);
        assert!(matches!(shown("vadd(float*)"), Cow::Borrowed(_)));
    }

    #[test]
    fn names_cannot_end_quotes_or_elements() {
        assert_eq!(dot("a\"b\\N\nc\0"), "a\\\"b\\\\N\\nc\u{fffd}");
        let text = Xml("a<b>&\"\u{1}\u{fffe}\u{ffff}\u{9b}\u{202e}").to_string();
        assert_eq!(text, format!("a&lt;b&gt;&amp;&quot;{}", "\u{fffd}".repeat(5)));
    }
}
