//! An instruction's text, step by step.

use crate::model::generated::KINDS;
use crate::model::modifier;
use crate::model::named::cache::TemporalKind;
use crate::model::table::{Flags, Kind, Op, P, Slot, Source};
use crate::model::{Arch, Inst, Special, VgprMsb, sign_extend, tag};

use super::out::{Marks, Out, Token};
use super::padded::{PADDED_PIECES, SPECIAL_NAMES};
use super::page::Page;
use super::script::{CarefulStep, Script, Step, is_decided};
use super::{Printer, named, operand};

impl Printer {
    /// Appends an instruction's text where the VGPR MSBs are `state`.
    #[inline]
    pub(crate) fn print_after(&self, inst: &Inst, state: VgprMsb, out: &mut Vec<u8>) {
        self.print_on(inst, state, &mut Page::new(out));
    }

    /// The same, and where each token starts.
    pub(crate) fn print_tokens(
        &self,
        inst: &Inst,
        state: VgprMsb,
        out: &mut Vec<u8>,
        tokens: &mut Vec<(Token, usize)>,
    ) {
        Out::append(out, &mut *tokens, |out| self.print(inst, state.bits(), out));
        tokens.pop_if(|(_, start)| *start == out.len());
    }

    /// The same, on a page.
    #[inline]
    pub(crate) fn print_on(&self, inst: &Inst, state: VgprMsb, page: &mut Page<'_>) {
        Out::on(page, (), |out| self.print(inst, state.bits(), out));
    }

    #[inline]
    fn print<M: Marks>(&self, inst: &Inst, msbs: u8, out: &mut Out<'_, M>) {
        if !M::WANTED {
            let script = self.scripts.find(inst).or_else(|| self.make_script(inst));
            match script {
                Some(script) if msbs == 0 => return self.print_script(script, inst, out),
                Some(script) if self.model.arch.has(Arch::GFX1250) => {
                    return self.print_moved(script, inst, msbs, out);
                }
                _ => {}
            }
        }
        out.token(Token::Mnemonic);
        out.text(inst.full_mnemonic());
        self.print_any(inst, msbs, out);
    }

    #[inline]
    fn print_script<M: Marks>(&self, script: &Script, inst: &Inst, out: &mut Out<'_, M>) {
        let Some(mut cursor) = out.cursor() else { return };
        cursor.head(&script.head);
        let unknown = script.steps.iter().position(|it| !it.write(&self.texts, inst, &mut cursor));
        let end = cursor.end();
        out.advance(end);
        if let Some(unknown) = unknown {
            self.print_from(script, unknown, inst, out);
        }
    }

    /// Goes on with a step that has no text.
    #[inline(never)]
    fn print_from<M: Marks>(
        &self,
        script: &Script,
        number: usize,
        inst: &Inst,
        out: &mut Out<'_, M>,
    ) {
        let mut is_known = false;
        for (step, careful) in script.steps.iter().zip(&script.careful).skip(number) {
            if is_known {
                let Some(mut cursor) = out.cursor() else { return };
                is_known = step.write(&self.texts, inst, &mut cursor);
                let end = cursor.end();
                out.advance(end);
            }
            if !is_known {
                self.print_unknown(step, careful, inst, 0, out);
            }
            is_known = true;
        }
    }

    /// The same where VGPR MSBs are set.
    #[inline(never)]
    fn print_moved<M: Marks>(&self, script: &Script, inst: &Inst, msbs: u8, out: &mut Out<'_, M>) {
        out.padded(&script.head);
        for (step, careful) in script.steps.iter().zip(&script.careful) {
            let Some(mut cursor) = out.cursor() else { return };
            let Some(texts) = careful.moved(self, msbs) else {
                let is_written = step.write(&self.texts, inst, &mut cursor);
                let end = cursor.end();
                out.advance(end);
                if !is_written {
                    self.print_unknown(step, careful, inst, msbs, out);
                }
                continue;
            };
            let value = step.value(inst);
            let is_written = texts.get(value).is_some_and(|text| cursor.text(&text));
            let end = cursor.end();
            out.advance(end);
            if !is_written {
                let printed = self.print_step(careful, inst, msbs, out);
                texts.learn(value, printed);
            }
        }
    }

    /// Prints a step that has no text yet, or can have none.
    #[inline(never)]
    fn print_unknown<M: Marks>(
        &self,
        step: &Step,
        careful: &CarefulStep,
        inst: &Inst,
        msbs: u8,
        out: &mut Out<'_, M>,
    ) {
        // There are texts that only had no room.
        match step.text(inst) {
            Some(text) => out.quick(&text),
            None => {
                let printed = self.print_step(careful, inst, msbs, out);
                step.learn(&self.texts, inst, printed);
            }
        }
    }

    /// Prints a step without its texts; what it printed, if that is decided by its value.
    fn print_step<'o, M: Marks>(
        &self,
        CarefulStep { piece, op, .. }: &CarefulStep,
        inst: &Inst,
        msbs: u8,
        out: &'o mut Out<'_, M>,
    ) -> Option<&'o [u8]> {
        let start = out.end();
        out.word(u32::from_le_bytes(piece.0).into(), piece.1.into());
        self.print_op(op, inst, msbs, out);
        Some(out.written(start)).filter(|_| is_decided(self, inst, *op))
    }

    fn print_any<M: Marks>(&self, inst: &Inst, msbs: u8, out: &mut Out<'_, M>) {
        for op in inst.ops() {
            self.print_op(op, inst, msbs, out);
        }
    }

    pub(super) fn print_op<M: Marks>(
        &self,
        Op(what, number): &Op,
        inst: &Inst,
        msbs: u8,
        out: &mut Out<'_, M>,
    ) {
        if *what == P::Text {
            out.token(Token::Punctuation);
            out.padded(&PADDED_PIECES[usize::from(*number)]);
        } else if let Some((slot, rest)) =
            inst.slots().get(usize::from(*number)..).and_then(<[Slot]>::split_first)
        {
            self.step(out, inst, *what, slot, rest.first(), msbs);
        } else if matches!(what, P::Vcc | P::VccFirst) {
            self.vcc(out, *what);
        }
    }

    #[inline]
    fn step<M: Marks>(
        &self,
        out: &mut Out<'_, M>,
        inst: &Inst,
        what: P,
        slot: &'static Slot,
        next: Option<&'static Slot>,
        msbs: u8,
    ) {
        let kind = &KINDS[usize::from(slot.kind)];
        match what {
            P::Operand => self.sized_operand(out, inst, slot, kind, msbs),
            P::FloatModifiers => self.float_modifiers(out, inst, slot, next, msbs, false),
            P::FloatModifiersVcc => self.float_modifiers(out, inst, slot, next, msbs, true),
            P::IntModifiers => self.int_modifiers(out, inst, slot, next, msbs),
            P::Vcc | P::VccFirst => self.vcc(out, what),
            P::Addresses => self.addresses(out, inst, slot, msbs),
            P::OpSel => self.packed(out, inst, "op_sel:[", modifier::OP_SEL),
            P::OpSelHi => self.packed(out, inst, "op_sel_hi:[", modifier::OP_SEL_HI),
            P::NegLo => self.packed(out, inst, "neg_lo:[", modifier::NEG),
            P::NegHi => self.packed(out, inst, "neg_hi:[", modifier::NEG_HI),
            _ => self.value_step(out, inst, what, kind, self.number(inst, slot, kind), slot),
        }
    }

    /// Steps that print one number, or look at more than that.
    #[inline]
    fn value_step<M: Marks>(
        &self,
        out: &mut Out<'_, M>,
        inst: &Inst,
        what: P,
        kind: &Kind,
        raw: u64,
        slot: &'static Slot,
    ) {
        let value = raw as u32;
        match what {
            P::CachePolicy => named::cache_policy(
                out,
                self.model.arch,
                value,
                TemporalKind::of(inst.flags()),
                inst.flags().any(Flags::SMRD),
            ),
            P::Offset => self.offset(out, inst, value),
            P::FlatOffset => self.flat_offset(out, inst, value),
            P::DppCtrl => named::dpp_ctrl(out, self.model.arch, value, self.model.is_dp_alu(inst)),
            P::OpSelByte => self.op_sel_byte(out, inst),
            P::OpSelLanes => self.op_sel_lanes(out, inst),
            P::ExportSource0 => self.export_source(out, inst, 0),
            P::ExportSource1 => self.export_source(out, inst, 1),
            P::ExportSource2 => self.export_source(out, inst, 2),
            P::ExportSource3 => self.export_source(out, inst, 3),
            P::FirstRegister => operand::register(out, self.model.code(inst, slot), 1),
            _ => self.number_step(out, what, kind, raw),
        }
    }

    /// Steps that print one number, whatever the instruction.
    pub(super) fn number_step<M: Marks>(
        &self,
        out: &mut Out<'_, M>,
        what: P,
        kind: &Kind,
        raw: u64,
    ) {
        let arch = self.model.arch;
        let value = raw as u32;
        match what {
            P::NamedInt => named_int(out, kind, self.model.signed_offset(kind, raw)),
            P::NamedBit => named_bit(out, kind.label, raw != 0),
            P::Gds => named_bit(out, kind.label, raw != 0 && arch.has(Arch::GDS)),
            P::U16 => half_word(out, raw),
            P::U32 => immediate_hex(out, raw & 0xffff_ffff),
            P::F64 => double(out, raw),
            P::ScalarOffset => signed_hex(out, self.model.signed_offset(kind, raw)),
            P::OutputModifier => named::output_modifier(out, value),
            P::DppFetchInvalid => named_bit(out, "fi:1", matches!(raw, 1 | 0xea)),
            P::DppBoundCtrl => named_bit(out, "bound_ctrl:1", raw != 0),
            P::Dpp8 => named::dpp8(out, value),
            P::SdwaDst => named::sdwa_sel(out, "dst_sel:", value),
            P::SdwaSrc0 => named::sdwa_sel(out, "src0_sel:", value),
            P::SdwaSrc1 => named::sdwa_sel(out, "src1_sel:", value),
            P::SdwaUnused => named::sdwa_dst_unused(out, value),
            P::R128A16 => {
                named_bit(out, if arch.has(Arch::R128_A16) { "a16" } else { "r128" }, raw != 0);
            }
            P::MatrixAFormat => named::matrix_format(out, b'a', value),
            P::MatrixBFormat => named::matrix_format(out, b'b', value),
            P::MatrixAScale => named::matrix_scale(out, b'a', value),
            P::MatrixBScale => named::matrix_scale(out, b'b', value),
            P::MatrixAScaleFormat => named::matrix_scale_format(out, b'a', value),
            P::MatrixBScaleFormat => named::matrix_scale_format(out, b'b', value),
            P::InterpSlot => named::interp_slot(out, value),
            P::InterpAttr => named::interp_attr(out, value),
            P::InterpAttrChan => named::interp_attr_chan(out, value),
            P::IndexKey => labelled(out, "index_key", raw & 7),
            P::HwReg => named::hwreg(out, arch, value),
            P::GprIdxMode => named::gpr_idx_mode(out, value),
            P::BufferFormat => named::buffer_format(out, arch, value),
            P::ExportTarget => named::export_target(out, arch, value),
            P::EndPgm => named::endpgm(out, value),
            P::Dim => named::image_dim(out, value),
            P::DepCtr => named::dep_ctr(out, arch, value),
            P::BitOp3 => named::bit_op3(out, value),
            P::Blgp => labelled(out, "blgp", raw),
            P::BlgpNeg => self.blgp_neg(out, raw),
            P::Swizzle => named::swizzle(out, arch, value),
            P::SendMsg => named::send_msg(out, arch, value),
            P::WaitCnt => named::wait_cnt(out, arch, value),
            P::DelayAlu => named::delay_alu(out, value),
            P::Version => named::version(out, value),
            _ => {}
        }
    }

    pub(super) fn vcc<M: Marks>(&self, out: &mut Out<'_, M>, what: P) {
        let vcc = if self.model.arch.has(Arch::WAVE32) { Special::VccLo } else { Special::Vcc };
        if what == P::Vcc {
            out.token(Token::Punctuation);
            out.text(", ");
        }
        out.token(Token::Register);
        out.padded(&SPECIAL_NAMES[vcc as usize]);
        if what == P::VccFirst {
            out.token(Token::Punctuation);
            out.text(", ");
        }
    }

    /// An operand whose width other operands may decide.
    #[inline]
    fn sized_operand<M: Marks>(
        &self,
        out: &mut Out<'_, M>,
        inst: &Inst,
        slot: &'static Slot,
        kind: &Kind,
        msbs: u8,
    ) {
        if inst.shape().image != 0 || inst.has_formats() {
            return self.print_resized(out, inst, slot, kind, msbs);
        }
        self.print_operand(out, inst, slot, kind, msbs);
    }

    fn float_modifiers<M: Marks>(
        &self,
        out: &mut Out<'_, M>,
        inst: &Inst,
        slot: &Slot,
        next: Option<&'static Slot>,
        msbs: u8,
        vcc: bool,
    ) {
        let modifiers = inst.value(slot);
        let Some(next) = next else { return };
        let kind = &KINDS[usize::from(next.kind)];
        let absolute = modifiers & modifier::ABS != 0;
        let negative = modifiers & modifier::NEG != 0;
        let in_words = negative && !absolute && self.prints_as_number(inst, next, kind);
        out.token(Token::Punctuation);
        if negative {
            out.text(if in_words { "neg(" } else { "-" });
        }
        if absolute {
            out.byte(b'|');
        }
        self.sized_operand(out, inst, next, kind, msbs);
        if vcc {
            self.vcc(out, P::Vcc);
        }
        out.token(Token::Punctuation);
        if absolute {
            out.byte(b'|');
        }
        if in_words {
            out.byte(b')');
        }
    }

    /// Whether an operand is a plain number to LLVM: a constant not wrapped as `lit(…)`.
    fn prints_as_number(&self, inst: &Inst, slot: &Slot, kind: &Kind) -> bool {
        match kind.source {
            Source::Immediate | Source::ScalarOffset | Source::Literal => true,
            _ => match self.model.code(inst, slot).tag() {
                tag::INLINE => true,
                tag::LITERAL => {
                    !operand::looks_inline(self.model.arch, inst.literal().unwrap_or(0), kind.read)
                }
                tag::LITERAL64 => inst.literal().unwrap_or(0) >> 32 != 0,
                _ => false,
            },
        }
    }

    fn int_modifiers<M: Marks>(
        &self,
        out: &mut Out<'_, M>,
        inst: &Inst,
        slot: &Slot,
        next: Option<&'static Slot>,
        msbs: u8,
    ) {
        let extends = inst.value(slot) & modifier::SEXT != 0;
        if extends {
            out.token(Token::Punctuation);
            out.text("sext(");
        }
        if let Some(next) = next {
            self.sized_operand(out, inst, next, &KINDS[usize::from(next.kind)], msbs);
        }
        if extends {
            out.token(Token::Punctuation);
            out.byte(b')');
        }
    }

    /// `op_sel:[0,1]` and the like, unless all is as by default.
    fn packed<M: Marks>(&self, out: &mut Out<'_, M>, inst: &Inst, label: &'static str, bit: u64) {
        let shape = inst.shape();
        let default = u64::from(bit == modifier::OP_SEL_HI);
        let count = usize::from(shape.sources);
        let is_set =
            |source: usize| self.model.modifiers(inst, source).unwrap_or(default) & bit != 0;
        let usual = shape.is_packed && bit == modifier::OP_SEL_HI;
        let selects_half = count > 0 && bit == modifier::OP_SEL && shape.selects_half;
        let upper = selects_half
            && self.model.modifiers(inst, 0).unwrap_or(default) & modifier::DESTINATION_SEL != 0;
        if (0..count).all(|source| is_set(source) == usual) && !upper {
            return;
        }
        modifier_text(out, label);
        for source in 0..count {
            if source > 0 {
                out.byte(b',');
            }
            out.byte(b'0' + u8::from(is_set(source)));
        }
        if selects_half {
            out.byte(b',');
            out.byte(b'0' + u8::from(upper));
        }
        out.byte(b']');
    }

    fn op_sel_byte<M: Marks>(&self, out: &mut Out<'_, M>, inst: &Inst) {
        let modifiers = self.model.modifiers(inst, 0).unwrap_or(0);
        pair(out, modifiers & modifier::OP_SEL != 0, modifiers & modifier::OP_SEL_HI != 0);
    }

    fn op_sel_lanes<M: Marks>(&self, out: &mut Out<'_, M>, inst: &Inst) {
        let is_set =
            |source| self.model.modifiers(inst, source).unwrap_or(0) & modifier::OP_SEL != 0;
        pair(out, is_set(0), is_set(1));
    }

    fn blgp_neg<M: Marks>(&self, out: &mut Out<'_, M>, value: u64) {
        if value == 0 {
            return;
        }
        if !self.model.arch.has(Arch::GFX940) {
            return labelled(out, "blgp", value);
        }
        modifier_text(out, "neg:[");
        for bit in 0..3 {
            if bit > 0 {
                out.byte(b',');
            }
            out.byte(b'0' + u8::from(value >> bit & 1 == 1));
        }
        out.byte(b']');
    }

    fn offset<M: Marks>(&self, out: &mut Out<'_, M>, inst: &Inst, value: u32) {
        let is_signed =
            self.model.arch.has(Arch::GFX12) && inst.flags().any(Flags::MUBUF | Flags::MTBUF);
        if is_signed && value != 0 {
            modifier_text(out, "offset:");
            out.signed(sign_extend(value.into(), 24));
        } else {
            unsigned_offset(out, value);
        }
    }

    fn flat_offset<M: Marks>(&self, out: &mut Out<'_, M>, inst: &Inst, value: u32) {
        if value == 0 {
            return;
        }
        modifier_text(out, "offset:");
        let bits = if self.model.arch.has(Arch::GFX10) {
            12
        } else if self.model.arch.has(Arch::GFX12) {
            24
        } else {
            13
        };
        if inst.flags().any(Flags::FLAT_GLOBAL | Flags::FLAT_SCRATCH)
            || self.model.arch.has(Arch::GFX12)
        {
            out.signed(sign_extend(value.into(), bits));
        } else {
            out.dec(u64::from(value & 0xffff));
        }
    }

    /// `[v1, v2]`, or one register without brackets.
    fn addresses<M: Marks>(
        &self,
        out: &mut Out<'_, M>,
        inst: &Inst,
        first: &'static Slot,
        msbs: u8,
    ) {
        let slots = inst.slots();
        let start = slots.iter().position(|slot| std::ptr::eq(slot, first)).unwrap_or(0);
        let all = slots.iter().skip(start).take_while(|slot| slot.is_named_like("vaddr"));
        let count =
            self.model.separate_addresses(inst).map_or_else(|| all.clone().count(), usize::from);
        out.token(Token::Punctuation);
        if count > 1 {
            out.byte(b'[');
        }
        for (number, slot) in all.take(count).enumerate() {
            if number > 0 {
                out.token(Token::Punctuation);
                out.text(", ");
            }
            self.sized_operand(out, inst, slot, &KINDS[usize::from(slot.kind)], msbs);
        }
        if count > 1 {
            out.token(Token::Punctuation);
            out.byte(b']');
        }
    }

    fn export_source<M: Marks>(&self, out: &mut Out<'_, M>, inst: &Inst, number: usize) {
        let value = |name: &str| inst.named(name).map_or(0, |slot| inst.value(slot));
        if value("en") >> number & 1 == 0 {
            out.token(Token::Register);
            return out.text("off");
        }
        let compressed = value("compr") != 0;
        let source = if compressed { number / 2 } else { number };
        let name = ["src0", "src1", "src2", "src3"].get(source).copied().unwrap_or_default();
        if let Some(slot) = inst.named(name) {
            operand::register(out, self.model.code(inst, slot), 1);
        }
    }
}

/// A modifier after a space.
#[inline]
fn modifier_text<M: Marks>(out: &mut Out<'_, M>, text: &'static str) {
    out.token(Token::Punctuation);
    out.byte(b' ');
    out.token(Token::Modifier);
    out.text(text);
}

/// ` offset:16`, unless it is zero.
pub(super) fn unsigned_offset<M: Marks>(out: &mut Out<'_, M>, value: u32) {
    if value != 0 {
        modifier_text(out, "offset:");
        out.dec(u64::from(value & 0xffff));
    }
}

fn named_bit<M: Marks>(out: &mut Out<'_, M>, label: &'static str, is_set: bool) {
    if is_set {
        modifier_text(out, label);
    }
}

/// ` label:3`, unless it is zero.
fn labelled<M: Marks>(out: &mut Out<'_, M>, label: &'static str, value: u64) {
    if value != 0 {
        named_bit(out, label, true);
        out.byte(b':');
        out.dec(value);
    }
}

fn named_int<M: Marks>(out: &mut Out<'_, M>, kind: &Kind, value: i64) {
    if kind.always || value != 0 {
        named_bit(out, kind.label, true);
        out.byte(b':');
        if kind.hex { hex(out, value) } else { out.signed(value) }
    }
}

fn hex<M: Marks>(out: &mut Out<'_, M>, value: i64) {
    if value < 0 {
        out.byte(b'-');
    }
    out.hex(value.unsigned_abs());
}

fn signed_hex<M: Marks>(out: &mut Out<'_, M>, value: i64) {
    out.token(Token::Immediate);
    hex(out, value);
}

fn immediate_hex<M: Marks>(out: &mut Out<'_, M>, value: u64) {
    out.token(Token::Immediate);
    out.hex(value);
}

fn half_word<M: Marks>(out: &mut Out<'_, M>, value: u64) {
    let fits = value <= 0xffff || i16::try_from(value as i64).is_ok();
    immediate_hex(out, if fits { value & 0xffff } else { value & 0xffff_ffff });
}

fn double<M: Marks>(out: &mut Out<'_, M>, value: u64) {
    out.token(Token::Immediate);
    if value >> 32 == 0 {
        out.text("lit64(");
        out.hex(value);
        out.byte(b')');
    } else {
        operand::long(out, value, true);
    }
}

fn pair<M: Marks>(out: &mut Out<'_, M>, first: bool, second: bool) {
    if first || second {
        modifier_text(out, "op_sel:[");
        out.byte(b'0' + u8::from(first));
        out.byte(b',');
        out.byte(b'0' + u8::from(second));
        out.byte(b']');
    }
}

#[cfg(test)]
mod tests {
    use crate::model::VgprMsb;
    use crate::{Decoder, Processor};

    #[test]
    fn tuples_past_the_last_register_have_no_comment() {
        let decoder = Decoder::new(Processor::from_name("gfx1250").unwrap()).unwrap();
        let bytes = [0xa5, 0x25, 0xfc, 0xdb, 0xdb, 0, 0, 0xfe];
        let inst = decoder.decode(&bytes).unwrap();
        for (state, expected) in [
            (0xc3, "ds_load_b128 v[254:257], v219 /*v987*/ offset:9637"),
            (0x80, "ds_load_b128 v[254:257] /*v[766:769]*/, v219 offset:9637"),
        ] {
            // The second time what was printed is known.
            for _ in 0..2 {
                let mut text = Vec::new();
                decoder.print_after(&inst, VgprMsb::new(state), &mut text);
                assert_eq!(String::from_utf8(text).unwrap(), expected);
            }
        }
    }
}
