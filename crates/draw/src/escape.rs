//! Names of symbols and files as DOT and XML can hold them. A name is any bytes: it must not end a quote or an element, and
//! must not tell a terminal what to do.

use std::fmt::{self, Write as _};

const REPLACEMENT: char = char::REPLACEMENT_CHARACTER;

/// True for what a terminal obeys instead of showing it: control characters, ends of lines, and what turns the direction
/// of text around.
pub fn is_obeyed(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
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

    #[test]
    fn names_cannot_end_quotes_or_elements() {
        assert_eq!(dot("a\"b\\N\nc\0"), "a\\\"b\\\\N\\nc\u{fffd}");
        let text = Xml("a<b>&\"\u{1}\u{fffe}\u{ffff}\u{9b}\u{202e}").to_string();
        assert_eq!(text, format!("a&lt;b&gt;&amp;&quot;{}", "\u{fffd}".repeat(5)));
    }
}
