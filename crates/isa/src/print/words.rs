//! An instruction's text by words.

use super::out::Token;

/// An instruction's text, taken apart.
///
/// ```
/// use hsaco_isa::model::VgprMsb;
/// use hsaco_isa::print::Words;
/// use hsaco_isa::{Decoder, Processor};
/// let decoder = Decoder::new(Processor::from_name("gfx942").unwrap())?;
/// let inst = decoder.decode(&[0x10, 0x80, 0x50, 0xdc, 0x02, 0x00, 0x04, 0x01]);
/// let (mut text, mut tokens) = (Vec::new(), Vec::new());
/// decoder.print_tokens(&inst.unwrap(), VgprMsb::default(), &mut text, &mut tokens);
/// let text = String::from_utf8(text).unwrap();
/// let words = Words::of(&text, &tokens);
/// assert_eq!(words.mnemonic, "global_load_dword");
/// assert_eq!(words.operands, ["v1", "v2", "s[4:5]"]);
/// assert_eq!(words.modifiers, ["offset:16"]);
/// # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words<'t> {
    /// The name, with its encoding's suffix.
    pub mnemonic: &'t str,
    /// The operands, in order.
    pub operands: Vec<&'t str>,
    /// What follows them, such as `offset:16`.
    pub modifiers: Vec<&'t str>,
}

impl<'t> Words<'t> {
    /// Splits what [`Decoder::print_tokens`](crate::Decoder::print_tokens) gave, at commas and blanks that are not
    /// inside brackets. An operand has a comma before or after it, or is no modifier.
    #[must_use]
    pub fn of(text: &'t str, tokens: &[(Token, usize)]) -> Self {
        // A label is one word, whatever characters it has.
        let label = tokens.last().filter(|it| it.0 == Token::Label).map_or(text.len(), |it| it.1);
        let (plain, label) = text.split_at_checked(label).unwrap_or((text, ""));
        let (mnemonic, rest) = plain.split_once(' ').unwrap_or((plain, ""));
        let mut words = Self { mnemonic, ..Self::default() };
        let mut after_comma = false;
        for word in rest.split_inclusive(separator()) {
            let before_comma = word.ends_with(',');
            let word = word.trim_end_matches([',', ' ']);
            if word.is_empty() {
                continue;
            }
            let start = word.as_ptr().addr() - text.as_ptr().addr();
            match !after_comma && !before_comma && token_at(tokens, start) == Some(Token::Modifier)
            {
                true => words.modifiers.push(word),
                false => words.operands.push(word),
            }
            after_comma = before_comma;
        }
        words.operands.extend(Some(label).filter(|it| !it.is_empty()));
        words
    }
}

/// Finds commas and blanks outside brackets.
fn separator() -> impl FnMut(char) -> bool {
    let mut depth = 0_u32;
    move |c| {
        match c {
            '[' | '(' => depth += 1,
            ']' | ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && matches!(c, ',' | ' ')
    }
}

/// The kind of the token that a place is in.
fn token_at(tokens: &[(Token, usize)], at: usize) -> Option<Token> {
    let after = tokens.partition_point(|it| it.1 <= at);
    tokens.get(after.checked_sub(1)?).map(|it| it.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tokens of a text whose words that are marked with `^` are modifiers.
    fn words(marked: &str) -> (String, Vec<(Token, usize)>) {
        let mut text = String::new();
        let mut tokens = vec![(Token::Mnemonic, 0)];
        for c in marked.chars() {
            match c {
                '^' => tokens.push((Token::Modifier, text.len())),
                '@' => tokens.push((Token::Label, text.len())),
                ' ' if tokens.last().is_some_and(|it| it.0 != Token::Label) => {
                    tokens.push((Token::Punctuation, text.len()));
                    text.push(c);
                    tokens.push((Token::Register, text.len()));
                }
                c => text.push(c),
            }
        }
        (text, tokens)
    }

    fn check(marked: &str, mnemonic: &str, operands: &[&str], modifiers: &[&str]) {
        let (text, tokens) = words(marked);
        let expected =
            Words { mnemonic, operands: operands.to_vec(), modifiers: modifiers.to_vec() };
        assert_eq!(Words::of(&text, &tokens), expected);
    }

    #[test]
    fn text_is_taken_apart() {
        check("s_endpgm", "s_endpgm", &[], &[]);
        check("s_waitcnt ^vmcnt(0) ^lgkmcnt(1)", "s_waitcnt", &[], &["vmcnt(0)", "lgkmcnt(1)"]);
        check(
            "buffer_load_dword v1, v2, s[4:7], 0 ^offen ^offset:16",
            "buffer_load_dword",
            &["v1", "v2", "s[4:7]", "0"],
            &["offen", "offset:16"],
        );
        check(
            "s_setreg_b32 ^hwreg(HW_REG_MODE, 0, 4), s1",
            "s_setreg_b32",
            &["hwreg(HW_REG_MODE, 0, 4)", "s1"],
            &[],
        );
        check(
            "s_getreg_b32 s1, ^hwreg(HW_REG_MODE, 0, 4)",
            "s_getreg_b32",
            &["s1", "hwreg(HW_REG_MODE, 0, 4)"],
            &[],
        );
        check(
            "v_pk_fma v0, v1 ^op_sel:[0,1] ^clamp",
            "v_pk_fma",
            &["v0", "v1"],
            &["op_sel:[0,1]", "clamp"],
        );
        check("s_call_b64 s[0:1], @\"odd, name", "s_call_b64", &["s[0:1]", "\"odd, name"], &[]);
    }
}
