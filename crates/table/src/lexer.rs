//! Words of expressions, with their places.

use std::ops::Range;

use crate::problem::ExpressionProblem;

/// A word of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    /// `128`, `0x80`, `64K`.
    Number(u64),
    /// `'vgprs'` or `"vgprs"`.
    Text(String),
    /// A column, or a word of the language.
    Name(String),
    /// `&&`, `<=`, `(`.
    Sign(&'static str),
}

/// A word and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Placed {
    pub(crate) word: Word,
    pub(crate) place: Range<usize>,
}

/// All signs, the longer ones first.
const SIGNS: [&str; 18] = [
    "||", "&&", "==", "!=", "!~", "<=", ">=", "<", ">", "=", "~", "!", "(", ")", "+", "-", "*", "/",
];

/// What may follow a number.
const UNITS: [(&str, u64); 3] = [("K", 1 << 10), ("M", 1 << 20), ("G", 1 << 30)];

/// Takes a text apart.
pub(crate) fn words(text: &str) -> Result<Vec<Placed>, ExpressionProblem> {
    let mut words = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|it| !it.is_empty()) {
        let first = rest.chars().next().unwrap_or_default();
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let (word, size) = word(text, at, rest, first)?;
        words.push(Placed { word, place: at..at + size });
        at += size;
    }
    Ok(words)
}

/// The word that a text goes on with, and its bytes.
fn word(
    text: &str,
    at: usize,
    rest: &str,
    first: char,
) -> Result<(Word, usize), ExpressionProblem> {
    if matches!(first, '\'' | '"') {
        return quoted(text, at, rest, first);
    }
    if let Some(sign) = SIGNS.iter().find(|it| rest.starts_with(**it)) {
        return Ok((Word::Sign(sign), sign.len()));
    }
    let is_part = |it: char| it.is_alphanumeric() || it == '_';
    let size = rest.find(|it| !is_part(it)).unwrap_or(rest.len());
    let name = rest.get(..size).unwrap_or_default();
    match first {
        '0'..='9' => number(name).map(|it| (Word::Number(it), size)).ok_or_else(|| {
            let message = format!("'{name}' is no number such as 128, 0x80 or 64K");
            ExpressionProblem::new(text, at..at + size, message)
        }),
        _ if is_part(first) => Ok((Word::Name(name.to_owned()), size)),
        _ => {
            let message = format!("'{first}' means nothing here");
            Err(ExpressionProblem::new(text, at..at + first.len_utf8(), message))
        }
    }
}

fn number(text: &str) -> Option<u64> {
    let unit = UNITS.iter().find_map(|(unit, of)| Some((text.strip_suffix(unit)?, *of)));
    let (digits, unit) = unit.unwrap_or((text, 1));
    hsaco_bytes::number::parse(digits)?.checked_mul(unit)
}

/// Text up to the next quote of the kind; two of them stand for one.
fn quoted(
    text: &str,
    at: usize,
    rest: &str,
    quote: char,
) -> Result<(Word, usize), ExpressionProblem> {
    let mut found = String::new();
    let mut letters = rest.char_indices().skip(1).peekable();
    while let Some((here, letter)) = letters.next() {
        if letter != quote {
            found.push(letter);
        } else if letters.next_if(|it| it.1 == quote).is_some() {
            found.push(quote);
        } else {
            return Ok((Word::Text(found), here + 1));
        }
    }
    Err(ExpressionProblem::new(
        text,
        at..text.len(),
        format!("this text has no {quote} at its end"),
    ))
}
