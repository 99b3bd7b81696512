//! Pages that are compressed together, column by column: what is alike stands side by side, and compresses well.

use std::collections::HashMap;

use hsaco_compress::{Method, compress};
use serde::Serialize;

use crate::page::PageParts;

/// How compressed pages are: a little better takes much longer.
const LEVEL: i32 = 6;

/// Pages that are compressed together.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub(crate) pages: usize,
    pub(crate) bytes: Vec<u8>,
}

impl Chunk {
    /// Compresses pages, which all have the same columns.
    pub(crate) fn new(pages: &[PageParts]) -> hsaco_bytes::Result<Self> {
        let texts = Texts::new(pages.iter().map(|it| it.texts.as_str()));
        let mut json = serde_json::to_vec(&texts).unwrap_or_default();
        json.pop();
        json.extend_from_slice(b",\"columns\":{");
        let keys = pages.first().map_or(&[][..], |it| &it.columns);
        for (number, (key, _)) in keys.iter().enumerate() {
            let comma = if number == 0 { "" } else { "," };
            json.extend_from_slice(format!("{comma}\"{key}\":[").as_bytes());
            for (at, page) in pages.iter().enumerate() {
                if at > 0 {
                    json.push(b',');
                }
                let column = page.columns.get(number).map_or(&b"null"[..], |(_, column)| column);
                json.extend_from_slice(column);
            }
            json.push(b']');
        }
        json.extend_from_slice(b"}}");
        Ok(Self { pages: pages.len(), bytes: compress(Method::Zlib, &json, LEVEL)? })
    }
}

/// Instructions: which mnemonic each has, and for each mnemonic the operands in order.
#[derive(Default, Serialize)]
struct Texts<'t> {
    mnemonics: Vec<&'t str>,
    /// Lines, by mnemonic.
    operands: Vec<String>,
    /// A character for each instruction of a page, by mnemonic: that number after `]`.
    sequences: Vec<String>,
    #[serde(skip)]
    numbers: HashMap<&'t str, usize>,
}

impl<'t> Texts<'t> {
    fn new(pages: impl Iterator<Item = &'t str>) -> Self {
        let mut texts = Self::default();
        for page in pages {
            let lines = page.split('\n').filter(|_| !page.is_empty());
            let sequence = lines.map(|line| texts.letter(line)).collect();
            texts.sequences.push(sequence);
        }
        for lines in &mut texts.operands {
            lines.pop();
        }
        texts
    }

    fn letter(&mut self, line: &'t str) -> char {
        let (mnemonic, operands) = line.split_once(' ').unwrap_or((line, ""));
        let number = *self.numbers.entry(mnemonic).or_insert_with(|| {
            self.mnemonics.push(mnemonic);
            self.operands.push(String::new());
            self.mnemonics.len() - 1
        });
        if let Some(lines) = self.operands.get_mut(number) {
            lines.push_str(operands);
            lines.push('\n');
        }
        // There are fewer mnemonics than characters before the surrogates.
        u32::try_from(number + 0x5d).ok().and_then(char::from_u32).unwrap_or(']')
    }
}

#[cfg(test)]
mod tests {
    use super::Texts;

    #[test]
    fn instructions_are_kept_by_mnemonic() {
        let pages = ["s_nop 0\nv_add a, b\ns_nop 1", "", "s_endpgm\nv_add c, d"];
        let texts = Texts::new(pages.into_iter());
        assert_eq!(texts.mnemonics, ["s_nop", "v_add", "s_endpgm"]);
        assert_eq!(texts.operands, ["0\n1", "a, b\nc, d", ""]);
        assert_eq!(texts.sequences, ["]^]", "", "_^"]);
    }
}
