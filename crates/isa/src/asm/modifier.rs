//! Modifiers: after the operands, in any order, each with a value that it has when left out.

use crate::arch::Arch;
use crate::encode::field_width;
use crate::generated::{OPS, PIECES};
use crate::inst::Inst;
use crate::table::{Flags, Kind, Op, P, Slot, Source};

use super::error::{Expected, Parse};
use super::form::Attempt;
use super::named;

/// Words that are part of a form's text and stand among the modifiers.
const FLAG_WORDS: [&str; 7] = ["idxen", "offen", "tfe", "lds", "gds", "done", "row_en"];

/// Whether a step belongs to the modifiers.
pub(super) fn is_modifier(Op(what, number): &Op) -> bool {
    use P::*;
    match what {
        Text => match piece(*number) {
            " " => true,
            piece if !piece.starts_with(' ') => false,
            piece => piece.split(' ').all(|word| word.is_empty() || FLAG_WORDS.contains(&word)),
        },
        NamedInt | NamedBit | Gds | CachePolicy | Offset | FlatOffset | OutputModifier
        | DppFetchInvalid | DppBoundCtrl | DppCtrl | Dpp8 | SdwaDst | SdwaSrc0 | SdwaSrc1
        | SdwaUnused | R128A16 | OpSel | OpSelHi | OpSelByte | OpSelLanes | NegLo | NegHi
        | MatrixAFormat | MatrixBFormat | MatrixAScale | MatrixBScale | MatrixAScaleFormat
        | MatrixBScaleFormat | IndexKey | BufferFormat | Dim | BitOp3 | Blgp | BlgpNeg
        | Swizzle => true,
        _ => false,
    }
}

fn piece(number: u8) -> &'static str {
    PIECES.get(usize::from(number)).copied().unwrap_or_default()
}

/// Those that say how a buffer is addressed, and nothing else does.
pub(super) const ADDRESSING: u8 = 3;

/// The words that a form's text always has.
pub(super) fn words_of(blank: &Inst) -> u8 {
    let (start, count) = blank.shape().ops;
    let ops = OPS.get(usize::from(start)..usize::from(start) + usize::from(count));
    let texts = ops.unwrap_or_default().iter().filter(|op| op.0 == P::Text && is_modifier(op));
    texts.flat_map(|op| piece(op.1).split(' ')).fold(0, |words, word| words | flag_bit(word))
}

/// The words of a line behind its last comma.
pub(super) fn words_in(line: &str) -> u8 {
    let tail = line.rsplit(',').next().unwrap_or_default();
    tail.split_ascii_whitespace().fold(0, |words, word| words | flag_bit(word))
}

fn flag_bit(word: &str) -> u8 {
    FLAG_WORDS.iter().position(|flag| *flag == word).map_or(0, |at| 1 << at)
}

/// What a group of modifiers has had.
#[derive(Default)]
struct Seen {
    /// Steps of the group, by number.
    steps: u64,
    /// Words of pieces of text.
    words: u8,
}

/// Lists of bits, in the order of `Attempt::lists`.
const LISTS: [&str; 4] = ["op_sel", "op_sel_hi", "neg_lo", "neg_hi"];

impl Attempt<'_, '_> {
    /// Reads the modifiers of one part of the line.
    pub(super) fn modifiers(&mut self, group: &[Op]) -> Parse<()> {
        let mut seen = Seen::default();
        'next: while !self.cursor.word().is_empty() {
            for (at, op) in group.iter().enumerate() {
                let again = matches!(op.0, P::CachePolicy | P::Text);
                if (seen.steps >> at & 1 == 0 || again) && self.modifier(op, &mut seen)? {
                    seen.steps |= 1 << at;
                    continue 'next;
                }
            }
            break;
        }
        for (at, op) in group.iter().enumerate() {
            match op.0 {
                P::Text => self.check_flags(op.1, &seen)?,
                P::CachePolicy => self.apply_policy(op.1)?,
                _ if seen.steps >> at & 1 == 0 => self.left_out(op)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Reads a modifier if it is this step's.
    fn modifier(&mut self, op: &Op, seen: &mut Seen) -> Parse<bool> {
        match op.0 {
            P::Text => Ok(piece(op.1) != " " && self.flag_word(op.1, seen)),
            P::OpSel => self.list(0),
            P::OpSelHi => self.list(1),
            P::NegLo => self.list(2),
            P::NegHi => self.list(3),
            P::CachePolicy => self.cache_policy(),
            _ => self.value_modifier(op),
        }
    }

    fn flag_word(&mut self, number: u8, seen: &mut Seen) -> bool {
        let word = self.cursor.word();
        let bit = flag_bit(word) & !seen.words;
        let found = bit != 0
            && piece(number).split(' ').any(|other| other == word)
            && self.cursor.eat_word(word);
        if found {
            seen.words |= bit;
        }
        found
    }

    /// Whether all words of a piece were there.
    fn check_flags(&self, number: u8, seen: &Seen) -> Parse<()> {
        if piece(number) == " " {
            return Ok(());
        }
        let missing = piece(number).split(' ').find(|word| flag_bit(word) & !seen.words != 0);
        missing.map_or(Ok(()), |word| Err(self.cursor.miss(Expected::Text(word))))
    }

    fn list(&mut self, number: usize) -> Parse<bool> {
        let label = LISTS.get(number).copied().unwrap_or_default();
        if !self.cursor.eat_label(label) {
            return Ok(false);
        }
        let bits = named::bit_list(&mut self.cursor)?;
        if let Some(list) = self.lists.get_mut(number) {
            *list = Some(bits);
        }
        Ok(true)
    }

    fn cache_policy(&mut self) -> Parse<bool> {
        let arch = self.arch();
        let flags = self.inst.flags();
        let scalar = flags.any(Flags::SMRD);
        let bits = named::cache_policy(
            &mut self.cursor,
            arch,
            crate::print::temporal_kind(flags),
            scalar,
        )?;
        self.policy |= bits.unwrap_or(0);
        Ok(bits.is_some())
    }

    /// A modifier that is one number.
    fn value_modifier(&mut self, Op(what, number): &Op) -> Parse<bool> {
        let slots = self.inst.slots();
        let Some(slot) = slots.get(usize::from(*number)) else { return Ok(false) };
        let kind = slot.kind();
        let arch = self.arch();
        let start = self.cursor;
        let cursor = &mut self.cursor;
        let value = match what {
            P::NamedInt if kind.source == Source::ScalarOffset => {
                return if cursor.eat_label(kind.label) {
                    self.signed(slot, "an offset").map(|()| true)
                } else {
                    Ok(false)
                };
            }
            P::Offset | P::FlatOffset => {
                return if cursor.eat_label("offset") {
                    self.signed(slot, "an offset").map(|()| true)
                } else {
                    Ok(false)
                };
            }
            P::NamedInt => return self.named_int(slot, kind),
            P::NamedBit | P::Gds => named::bit(cursor, kind.label)?,
            P::R128A16 => {
                named::bit(cursor, if arch.has(Arch::R128_A16) { "a16" } else { "r128" })?
            }
            P::OutputModifier => named::output_modifier(cursor)?,
            P::DppFetchInvalid => named::flag(cursor, "fi")?.map(|on| fetch_invalid(slot, on)),
            P::DppBoundCtrl => named::flag(cursor, "bound_ctrl")?.map(|_| 1),
            P::DppCtrl => named::dpp_ctrl(cursor, arch)?,
            P::Dpp8 => named::dpp8(cursor)?,
            P::SdwaDst => named::sdwa_sel(cursor, "dst_sel")?,
            P::SdwaSrc0 => named::sdwa_sel(cursor, "src0_sel")?,
            P::SdwaSrc1 => named::sdwa_sel(cursor, "src1_sel")?,
            P::SdwaUnused => named::sdwa_dst_unused(cursor)?,
            P::OpSelByte | P::OpSelLanes => return self.op_sel_pair(*what),
            P::MatrixAFormat => named::matrix_format(cursor, "matrix_a_fmt")?,
            P::MatrixBFormat => named::matrix_format(cursor, "matrix_b_fmt")?,
            P::MatrixAScale => named::matrix_scale(cursor, "matrix_a_scale")?,
            P::MatrixBScale => named::matrix_scale(cursor, "matrix_b_scale")?,
            P::MatrixAScaleFormat => named::matrix_scale_format(cursor, "matrix_a_scale_fmt")?,
            P::MatrixBScaleFormat => named::matrix_scale_format(cursor, "matrix_b_scale_fmt")?,
            P::IndexKey => named::labelled(cursor, "index_key")?,
            P::BufferFormat => named::buffer_format(cursor, arch)?,
            P::Dim => named::image_dim(cursor)?,
            P::BitOp3 => named::labelled(cursor, "bitop3")?,
            P::Blgp => named::labelled(cursor, "blgp")?,
            P::BlgpNeg if arch.has(Arch::GFX940) => named::neg_list(cursor)?,
            P::BlgpNeg => named::labelled(cursor, "blgp")?,
            P::Swizzle => named::swizzle(cursor, arch)?,
            _ => None,
        };
        match value {
            Some(value) => self.put(slot, value.into(), start).map(|()| true),
            None => Ok(false),
        }
    }

    fn named_int(&mut self, slot: &Slot, kind: &Kind) -> Parse<bool> {
        if !self.cursor.eat_label(kind.label) {
            return Ok(false);
        }
        let start = self.cursor;
        let value = self.cursor.integer_between(kind.label, 0, (1 << field_width(slot)) - 1)?;
        self.put(slot, value as u64, start).map(|()| true)
    }

    /// `op_sel:[0,1]` where both elements are bits of modifiers of their own.
    fn op_sel_pair(&mut self, what: P) -> Parse<bool> {
        if !self.cursor.eat_label("op_sel") {
            return Ok(false);
        }
        let bits = named::bit_list(&mut self.cursor)?;
        if what == P::OpSelByte {
            self.lists = [Some(bits & 1), Some(bits >> 1 & 1), None, None];
        } else {
            self.lists = [Some(bits), None, None, None];
        }
        Ok(true)
    }

    /// The value of a modifier that is not there.
    fn left_out(&mut self, op: &Op) -> Parse<()> {
        let Op(what, number) = op;
        let slot = self.inst.slots().get(usize::from(*number));
        let value = match (what, slot) {
            (P::DppCtrl, _) => return self.cursor.wanted("a DPP control"),
            (P::Dpp8, _) => return Err(self.cursor.miss(Expected::Text("dpp8:"))),
            (P::NamedInt, Some(slot)) => match *slot.kind() {
                Kind { source: Source::ScalarOffset, .. } => {
                    return Err(self.cursor.miss(Expected::Text("offset:")));
                }
                Kind { label: "row_mask" | "bank_mask", .. } => 0xf,
                _ => return Ok(()),
            },
            (P::DppFetchInvalid, Some(slot)) => fetch_invalid(slot, 0),
            (P::SdwaDst | P::SdwaSrc0 | P::SdwaSrc1, _) => 6,
            (P::SdwaUnused, _) => 2,
            (P::BufferFormat, _) => 1,
            _ => return Ok(()),
        };
        match slot {
            Some(slot) => self.put(slot, value.into(), self.cursor),
            None => Ok(()),
        }
    }
}

/// DPP8 says by one of two values of a whole field whether inactive lanes are read.
fn fetch_invalid(slot: &Slot, on: u32) -> u32 {
    if field_width(slot) > 1 { 0xe9 + on } else { on }
}
