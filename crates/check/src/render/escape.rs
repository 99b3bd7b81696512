//! Names as formats can hold them. A name is any bytes: it must not end a line or an element, and must not tell a terminal
//! what to do.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

const REPLACEMENT: char = char::REPLACEMENT_CHARACTER;

/// True for what a terminal obeys instead of showing it: control characters, ends of lines, and what turns the direction
/// of text around.
fn is_obeyed(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A name in a line of text: U+FFFD stands for each character that is a command to a terminal.
pub(super) fn shown(name: &str) -> Cow<'_, str> {
    match name.chars().any(is_obeyed) {
        true => Cow::Owned(name.replace(is_obeyed, "\u{fffd}")),
        false => Cow::Borrowed(name),
    }
}

/// A name in XML, as text or between quotes.
pub(super) struct Xml<'t>(pub(super) &'t str);

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
