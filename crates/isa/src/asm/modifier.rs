//! Modifiers: after the operands, in the printer's order, each with a value that it has when left out.

use crate::model::named::cache::TemporalKind;
use crate::model::table::{Flags, Kind, Op, P, Slot, Source};
use crate::model::{Arch, Inst, field_width};

use super::error::{Expected, Parse};
use super::form::Attempt;
use super::named;

/// Words that are part of a form's text and stand among the modifiers.
const FLAG_WORDS: [&str; 2] = ["idxen", "offen"];

/// Whether a step belongs to the modifiers.
pub(super) fn is_modifier(what: P) -> bool {
    use P::*;
    matches!(
        what,
        NamedInt
            | NamedBit
            | Gds
            | CachePolicy
            | Offset
            | FlatOffset
            | OutputModifier
            | DppFetchInvalid
            | DppBoundCtrl
            | DppCtrl
            | Dpp8
            | SdwaDst
            | SdwaSrc0
            | SdwaSrc1
            | SdwaUnused
            | R128A16
            | OpSel
            | OpSelHi
            | OpSelByte
            | OpSelLanes
            | NegLo
            | NegHi
            | MatrixAFormat
            | MatrixBFormat
            | MatrixAScale
            | MatrixBScale
            | MatrixAScaleFormat
            | MatrixBScaleFormat
            | IndexKey
            | BufferFormat
            | Dim
            | BitOp3
            | Blgp
            | BlgpNeg
            | Swizzle
    )
}

/// The words that a form's text has: they say how a buffer is addressed, and nothing else does.
pub(super) fn words_of(blank: &Inst) -> u8 {
    let words = super::pieces(blank).flat_map(|piece| piece.split(' '));
    words.fold(0, |words, word| words | flag_bit(word))
}

/// The words of a line behind its last comma.
pub(super) fn words_in(line: &str) -> u8 {
    let tail = line.rsplit(',').next().unwrap_or_default();
    tail.split_ascii_whitespace().fold(0, |words, word| words | flag_bit(word))
}

fn flag_bit(word: &str) -> u8 {
    FLAG_WORDS.iter().position(|flag| *flag == word).map_or(0, |at| 1 << at)
}

/// Lists of bits, in the order of `Attempt::lists`.
const LISTS: [&str; 4] = ["op_sel", "op_sel_hi", "neg_lo", "neg_hi"];

impl Attempt<'_, '_> {
    /// Reads a modifier, or gives it the value that it has when left out.
    pub(super) fn modifier(&mut self, op: &Op) -> Parse<()> {
        let found = match op.0 {
            P::OpSel => self.list(0)?,
            P::OpSelHi => self.list(1)?,
            P::NegLo => self.list(2)?,
            P::NegHi => self.list(3)?,
            P::CachePolicy => return self.cache_policy(op.1),
            _ => self.value_modifier(op)?,
        };
        if found { Ok(()) } else { self.left_out(op) }
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

    /// The words of a cache policy, in any order.
    fn cache_policy(&mut self, number: u8) -> Parse<()> {
        let arch = self.arch();
        let flags = self.inst.flags();
        let scalar = flags.any(Flags::SMRD);
        let kind = TemporalKind::of(flags);
        let first = self.cursor;
        let (mut policy, mut seen) = (0, 0);
        while !self.cursor.is_end() {
            let start = self.cursor;
            let word = named::cache_policy(&mut self.cursor, arch, kind, scalar)?;
            let Some((bits, all)) = word else { break };
            if seen & all != 0 {
                return start.wanted("each word of a cache policy once");
            }
            policy |= bits;
            seen |= all;
        }
        match named::settled_policy(policy, arch) {
            Some(policy) => self.apply_policy(number, policy),
            None => first.wanted("a temporal hint that goes with the scope"),
        }
    }

    /// A modifier that is one number.
    fn value_modifier(&mut self, Op(what, number): &Op) -> Parse<bool> {
        let slots = self.inst.slots();
        let Some(slot) = slots.get(usize::from(*number)) else { return Ok(false) };
        let kind = slot.kind();
        match what {
            P::NamedInt if kind.source == Source::ScalarOffset => self.offset(slot, kind.label),
            P::Offset | P::FlatOffset => self.offset(slot, "offset"),
            P::NamedInt => self.named_int(slot, kind),
            P::OpSelByte | P::OpSelLanes => self.op_sel_pair(*what),
            _ => {
                let start = self.cursor;
                match self.named_value(*what, slot)? {
                    Some(value) => self.put(slot, value.into(), start).map(|()| true),
                    None => Ok(false),
                }
            }
        }
    }

    fn offset(&mut self, slot: &Slot, label: &str) -> Parse<bool> {
        if !self.cursor.eat_label(label) {
            return Ok(false);
        }
        self.signed(slot, "an offset").map(|()| true)
    }

    /// The value of a modifier, if it is there.
    fn named_value(&mut self, what: P, slot: &Slot) -> Parse<Option<u32>> {
        let arch = self.arch();
        let cursor = &mut self.cursor;
        match what {
            P::NamedBit | P::Gds => named::bit(cursor, slot.kind().label),
            // Printed, and refused by LLVM.
            P::R128A16 if self.inst.mnemonic().starts_with("tensor_") => Ok(None),
            P::R128A16 if arch.has(Arch::R128_A16) => named::bit(cursor, "a16"),
            P::R128A16 => named::bit(cursor, "r128"),
            P::OutputModifier => named::output_modifier(cursor),
            P::DppFetchInvalid => Ok(named::flag(cursor, "fi")?.map(|on| fetch_invalid(slot, on))),
            // Before gfx11 either number sets the bit.
            P::DppBoundCtrl => Ok(named::flag(cursor, "bound_ctrl")?
                .map(|on| if arch.is_gfx11_plus() { on } else { 1 })),
            P::DppCtrl => named::dpp_ctrl(cursor, arch),
            P::Dpp8 => named::dpp8(cursor),
            P::SdwaDst => named::sdwa_sel(cursor, "dst_sel"),
            P::SdwaSrc0 => named::sdwa_sel(cursor, "src0_sel"),
            P::SdwaSrc1 => named::sdwa_sel(cursor, "src1_sel"),
            P::SdwaUnused => named::sdwa_dst_unused(cursor),
            P::MatrixAFormat => named::matrix_format(cursor, "matrix_a_fmt"),
            P::MatrixBFormat => named::matrix_format(cursor, "matrix_b_fmt"),
            P::MatrixAScale => named::matrix_scale(cursor, "matrix_a_scale"),
            P::MatrixBScale => named::matrix_scale(cursor, "matrix_b_scale"),
            P::MatrixAScaleFormat => named::matrix_scale_format(cursor, "matrix_a_scale_fmt"),
            P::MatrixBScaleFormat => named::matrix_scale_format(cursor, "matrix_b_scale_fmt"),
            P::IndexKey => named::labelled(cursor, "index_key"),
            P::BufferFormat => named::buffer_format(cursor, arch),
            P::Dim => named::image_dim(cursor),
            P::BitOp3 => named::labelled(cursor, "bitop3"),
            P::BlgpNeg if arch.has(Arch::GFX940) => named::neg_list(cursor),
            P::Blgp | P::BlgpNeg => named::labelled(cursor, "blgp"),
            P::Swizzle => named::swizzle(cursor, arch),
            _ => Ok(None),
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
                Kind { source: Source::ScalarOffset, .. } if self.arch().is_gfx12_plus() => 0,
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
            (P::Dim, _) => return Err(self.cursor.miss(Expected::Text("dim:"))),
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
