//! An instruction's text, step by step.

use crate::model::generated::KINDS;
use crate::model::modifier;
use crate::model::named::cache::TemporalKind;
use crate::model::table::{Flags, Kind, Op, P, Slot, Source};
use crate::model::{Arch, Inst, Special, VgprMsb, sign_extend, tag};

use super::out::{Marks, Out, Token};
use super::padded::{PADDED_PIECES, SPECIAL_NAMES};
use super::quick::Shelf;
use super::script::{Script, Step, What};
use super::{Printer, named, operand};

impl Printer {
    /// Appends an instruction's text where the VGPR MSBs are `state`.
    #[inline]
    pub(crate) fn print_after(&self, inst: &Inst, state: VgprMsb, out: &mut Vec<u8>) {
        Out::append(out, (), |out| self.print(inst, state.bits(), out));
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

    fn print<M: Marks>(&self, inst: &Inst, msbs: u8, out: &mut Out<'_, M>) {
        out.token(Token::Mnemonic);
        let script = Script::of(inst);
        match script.name.len() {
            0 => out.text(inst.full_mnemonic()),
            _ => out.padded(&script.name),
        }
        if M::WANTED || !script.has_steps {
            return self.print_any(inst, msbs, out);
        }
        if msbs != 0 {
            return self.print_moved(script, inst, msbs, out);
        }
        match script.steps(inst) {
            Some(steps) => self.print_steps(steps.iter(), inst, 0, out),
            None => self.print_carefully(script, inst, out),
        }
    }

    #[inline(never)]
    fn print_carefully<M: Marks>(&self, script: &Script, inst: &Inst, out: &mut Out<'_, M>) {
        let steps = script.careful_steps().iter().filter_map(|step| step.of(inst));
        self.print_steps(steps, inst, 0, out);
    }

    /// Prints where upper bits of vector registers are not all zero.
    #[inline(never)]
    fn print_moved<M: Marks>(&self, script: &Script, inst: &Inst, msbs: u8, out: &mut Out<'_, M>) {
        let steps = script.careful_steps().iter().filter_map(|step| step.of(inst));
        self.print_steps(steps, inst, msbs, out);
    }

    #[inline(always)]
    fn print_steps<'s, M: Marks>(
        &self,
        mut steps: impl Iterator<Item = &'s Step>,
        inst: &Inst,
        msbs: u8,
        out: &mut Out<'_, M>,
    ) {
        while let Some(step) = self.print_known(&mut steps, inst, msbs, out) {
            self.print_unknown(step, inst, msbs, out);
        }
    }

    /// Prints as long as there are texts; the step for which there is none.
    #[inline(always)]
    fn print_known<'s, M: Marks>(
        &self,
        steps: &mut impl Iterator<Item = &'s Step>,
        inst: &Inst,
        msbs: u8,
        out: &mut Out<'_, M>,
    ) -> Option<&'s Step> {
        let mut cursor = out.cursor();
        let unknown = steps.find(|step| {
            let piece = &PADDED_PIECES[usize::from(step.piece)];
            let is_written = match step.what {
                _ if msbs != 0 && is_moved(step, inst, msbs) => false,
                What::Value(bits, shelf) => {
                    let text = self.texts.short(shelf, bits.read(inst));
                    text.is_some_and(|text| cursor.pair(piece, &text))
                }
                What::Word(number) => {
                    let text = self.texts.long(number, inst.low as u16);
                    text.is_some_and(|text| cursor.long_pair(piece, &text))
                }
                What::Other => false,
            };
            !is_written
        });
        let end = cursor.end();
        out.set_end(end);
        unknown
    }

    /// Prints a step that has no text yet, or can have none.
    fn print_unknown<M: Marks>(&self, step: &Step, inst: &Inst, msbs: u8, out: &mut Out<'_, M>) {
        out.padded(&PADDED_PIECES[usize::from(step.piece)]);
        if msbs != 0 && is_moved(step, inst, msbs) {
            return self.print_op(&step.op, inst, msbs, out);
        }
        let what = step.op.0;
        let slot = printed_slot(step, inst);
        let kind = slot.map_or(0, |slot| slot.kind);
        match step.what {
            What::Value(bits, shelf) => self.learn(shelf, bits.read(inst), what, kind),
            What::Word(number) => self.learn_long(number, inst.low as u16, what, kind),
            What::Other => {}
        }
        match slot {
            Some(slot) if what == P::Operand => {
                self.print_operand(out, inst, slot, &KINDS[usize::from(kind)], 0);
            }
            _ => self.print_op(&step.op, inst, msbs, out),
        }
    }

    fn print_any<M: Marks>(&self, inst: &Inst, msbs: u8, out: &mut Out<'_, M>) {
        for op in inst.ops() {
            self.print_op(op, inst, msbs, out);
        }
    }

    fn print_op<M: Marks>(
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
        let others_decide = kind.source == Source::DualDestination || kind.may_be_half();
        let text = if M::WANTED || msbs != 0 || others_decide {
            None
        } else {
            let shelf = Shelf::of_operand(slot.kind);
            let value = u16::try_from(inst.value(slot)).ok();
            value.and_then(|value| self.texts.short(shelf, value))
        };
        match text {
            Some(text) => out.quick(&text),
            None => self.print_operand(out, inst, slot, kind, msbs),
        }
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

/// The operand that a step prints.
fn printed_slot(step: &Step, inst: &Inst) -> Option<&'static Slot> {
    let Op(what, number) = step.op;
    inst.slots().get(usize::from(number) + usize::from(what == P::FloatModifiers))
}

/// Whether the upper bits have a say in the number of the register that a step prints, if it is one.
fn is_moved(step: &Step, inst: &Inst, msbs: u8) -> bool {
    let slot = printed_slot(step, inst).filter(|_| step.op.0 != P::Text);
    slot.is_some_and(|slot| VgprMsb::new(msbs).upper(slot) != 0)
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
