//! One form's attempt at a line.

use crate::model::generated::{IMAGES, OPERAND_NAMES, PIECES};
use crate::model::named::cache::SCC;
use crate::model::table::{DEFAULT_MODIFIER, Flags, Kind, NO_FIELD, Op, P, Slot, Source, Type};
use crate::model::{Arch, Code, Inst, Model, field_width, modifier, tag};

use super::cursor::{Cursor, is_inner};
use super::error::{Expected, Miss, Parse};
use super::modifier::is_modifier;
use super::named;
use super::number::Number;
use super::operand::{self, Constant, ConstantRules, Register, Wrapping, Written, half_bits};
use super::rule::{self, DualPlaces, Line};
use super::{Parser, PlainKind, Standard};

/// What stands around an operand.
#[derive(Clone, Copy, Default)]
struct Around {
    in_bars: bool,
    /// A sign or bars.
    is_modified: bool,
    inline_only: bool,
}

/// Operands that rules ask for: lines with none of them need not be looked at again.
#[derive(Clone, Copy, Default)]
pub(super) struct Seen {
    /// A register that is no vector register, a named value or a literal.
    pub(super) scalar: bool,
    pub(super) lds_direct: bool,
    /// Several registers in one operand.
    pub(super) tuple: bool,
}

pub(super) struct Attempt<'a, 't> {
    pub(super) model: &'t Model,
    /// What operands of each kind may be without a closer look.
    plain_kinds: &'t [PlainKind],
    seen: Seen,
    pub(super) cursor: Cursor<'a>,
    pub(super) inst: Inst,
    /// The literal that operands ask for.
    literal: Option<Constant>,
    /// The literal that the encoding itself holds.
    held: Option<u64>,
    /// How many registers each slot was written with, where the form alone does not say.
    widths: Vec<(u8, u8)>,
    /// How many address registers stand in brackets.
    addresses: Option<u8>,
    /// `op_sel`, `op_sel_hi`, `neg_lo`, `neg_hi`: a bit for each element.
    pub(super) lists: [Option<u8>; 4],
    /// Whether the sources and the destination were written as upper or lower halves.
    halves: [Option<bool>; 4],
    exports: [Option<u16>; 4],
    /// The name of an operand that may not be there.
    pub(super) unwanted: Option<&'static str>,
}

impl<'a, 't> Attempt<'a, 't> {
    pub(super) fn new(assembler: &'t Parser, blank: Inst, cursor: Cursor<'a>) -> Self {
        let is_resized = blank.shape().image != 0 || blank.has_formats();
        Attempt {
            model: &assembler.model,
            plain_kinds: if is_resized { &[] } else { &assembler.plain_kinds },
            seen: Seen::default(),
            cursor,
            inst: blank,
            literal: None,
            held: None,
            widths: Vec::new(),
            addresses: None,
            lists: [None; 4],
            halves: [None; 4],
            exports: [None; 4],
            unwanted: None,
        }
    }

    /// Follows the form's program over the line.
    pub(super) fn run(&mut self) -> Parse<()> {
        for op in self.inst.ops() {
            if self.unwanted.is_some_and(|name| self.reads(op, name)) {
                return self.cursor.wanted("something else");
            }
            if is_modifier(op.0) { self.modifier(op)? } else { self.step(op)? }
        }
        if !self.cursor.is_end() {
            return self.cursor.wanted("the end, or a modifier that may follow here");
        }
        self.finish()
    }

    /// Whether a step reads the operand of a name.
    fn reads(&self, Op(what, number): &Op, name: &str) -> bool {
        let is_text = matches!(what, P::Text | P::Vcc | P::VccFirst);
        let has_modifiers =
            matches!(what, P::FloatModifiers | P::FloatModifiersVcc | P::IntModifiers);
        let slot = self.inst.slots().get(usize::from(*number) + usize::from(has_modifiers));
        !is_text && slot.and_then(Slot::label) == Some(name)
    }

    /// What the rules between operands are about.
    pub(super) fn line(
        &self,
        dual: Option<DualPlaces>,
        partner: &'static str,
        standard: Standard,
    ) -> Line<'_> {
        let Attempt { model, ref inst, seen, lists, halves, .. } = *self;
        Line { model, inst, standard, seen, dual, partner, lists, halves }
    }

    pub(super) fn arch(&self) -> Arch {
        self.model.arch
    }

    fn step(&mut self, Op(what, number): &Op) -> Parse<()> {
        match what {
            P::Text => {
                return self.piece(PIECES.get(usize::from(*number)).copied().unwrap_or_default());
            }
            P::Vcc | P::VccFirst => return self.vcc(*what),
            _ => {}
        }
        let slots = self.inst.slots();
        let Some(slot) = slots.get(usize::from(*number)) else { return Ok(()) };
        let next = slots.get(usize::from(*number) + 1);
        let arch = self.arch();
        match what {
            P::Operand | P::FirstRegister => self.operand(slot),
            P::FloatModifiers => self.float_modifiers(slot, next),
            P::FloatModifiersVcc => {
                self.float_modifiers(slot, next)?;
                self.vcc(P::Vcc)
            }
            P::IntModifiers => self.int_modifiers(slot, next),
            P::Addresses => self.address_list(usize::from(*number)),
            P::U16 | P::U32 if slot.kind().source != Source::Literal => self.plain(slot),
            P::U16 => self.literal_operand(slot, Type::F16),
            P::U32 => self.literal_operand(slot, Type::F32),
            P::ScalarOffset => self.signed(slot, "an offset"),
            P::F64 => self.literal_operand(slot, Type::F64),
            P::ExportSource0 => self.export_source(0),
            P::ExportSource1 => self.export_source(1),
            P::ExportSource2 => self.export_source(2),
            P::ExportSource3 => self.export_source(3),
            P::EndPgm if self.cursor.is_end() => Ok(()),
            P::EndPgm => self.plain(slot),
            P::InterpSlot => self.named(slot, named::interp_slot),
            P::InterpAttr => self.named(slot, named::interp_attr),
            P::InterpAttrChan => self.named(slot, named::interp_attr_chan),
            P::HwReg => self.named(slot, |cursor| named::hwreg(cursor, arch)),
            P::GprIdxMode => self.named(slot, named::gpr_idx_mode),
            P::ExportTarget => self.named(slot, |cursor| named::export_target(cursor, arch)),
            P::DepCtr => self.named(slot, |cursor| named::dep_ctr(cursor, arch)),
            P::SendMsg => self.named(slot, |cursor| named::send_msg(cursor, arch)),
            P::WaitCnt => self.named(slot, |cursor| named::wait_cnt(cursor, arch)),
            P::DelayAlu => self.named(slot, named::delay_alu),
            P::Version => self.named(slot, named::version),
            _ => Ok(()),
        }
    }

    /// Text that every line of the form has.
    pub(super) fn piece(&mut self, piece: &'static str) -> Parse<()> {
        if piece == ", " {
            return self.cursor.expect(",");
        }
        let mut rest = piece.trim_ascii_start();
        while let Some(first) = rest.as_bytes().first() {
            let length = match is_inner(*first) {
                true => rest.bytes().take_while(|byte| is_inner(*byte)).count(),
                false => 1,
            };
            let (token, after) = rest.split_at(length);
            let found = match is_inner(*first) {
                true => self.cursor.eat_word(token),
                false => self.cursor.eat(*first),
            };
            if !found {
                return Err(self.cursor.miss(Expected::Text(token)));
            }
            rest = after.trim_ascii_start();
        }
        Ok(())
    }

    fn vcc(&mut self, what: P) -> Parse<()> {
        let name = if self.arch().has(Arch::WAVE32) { "vcc_lo" } else { "vcc" };
        if what == P::VccFirst && self.leaves_vcc_out() {
            return Ok(());
        }
        if what == P::Vcc {
            self.cursor.expect(",")?;
        }
        if !self.cursor.eat_word(name) {
            return Err(self.cursor.miss(Expected::Text(name)));
        }
        if what == P::VccFirst {
            self.cursor.expect(",")?;
        }
        Ok(())
    }

    /// A comparison writes VCC in all but its longest encoding, whether or not the line says so.
    fn leaves_vcc_out(&self) -> bool {
        let flags = self.inst.flags();
        let operands = self.cursor.rest().split([' ', '\t']).filter(|word| word.ends_with(','));
        flags.any(Flags::VOPC) && !flags.any(Flags::VOP3 | Flags::SDWA) && operands.count() == 1
    }

    fn named(
        &mut self,
        slot: &Slot,
        read: impl FnOnce(&mut Cursor<'a>) -> Parse<u32>,
    ) -> Parse<()> {
        let start = self.cursor;
        let value = read(&mut self.cursor)?;
        self.put(slot, value.into(), start)
    }

    pub(super) fn put(&mut self, slot: &Slot, value: u64, start: Cursor<'a>) -> Parse<()> {
        if self.inst.put(slot, value) {
            return Ok(());
        }
        Err(start.miss(Expected::Between("a value", 0, (1 << field_width(slot).min(62)) - 1)))
    }

    /// A number of the field's width, signed or not.
    fn plain(&mut self, slot: &Slot) -> Parse<()> {
        let width = field_width(slot).clamp(1, 62);
        let least = if slot.kind().unsigned { 0 } else { -(1 << (width - 1)) };
        let value = self.cursor.integer_between("a number", least, (1 << width) - 1)?;
        let start = self.cursor;
        self.put(slot, value as u64 & ((1 << width) - 1), start)
    }

    /// A number that the processor may take as signed.
    pub(super) fn signed(&mut self, slot: &Slot, what: &'static str) -> Parse<()> {
        let kind = slot.kind();
        let (first, last) = self.offset_range(slot, kind);
        let start = self.cursor;
        let value = self.cursor.integer_between(what, first, last)?;
        self.put(slot, value as u64 & ((1 << field_width(slot)) - 1), start)
    }

    fn offset_range(&self, slot: &Slot, kind: &Kind) -> (i64, i64) {
        let flags = self.inst.flags();
        let arch = self.arch();
        let width = field_width(slot).max(1);
        let signed = (-(1 << (width - 1)), (1 << (width - 1)) - 1);
        let unsigned = (0, (1 << width) - 1);
        if kind.source == Source::ScalarOffset {
            let is_buffer = flags.has(Flags::SCALAR_BUFFER);
            return if arch.is_gfx12_plus() {
                if is_buffer { (0, 0x7f_ffff) } else { signed }
            } else if arch.has(Arch::GFX8) || is_buffer {
                (0, 0xf_ffff)
            } else {
                (-(1 << 20), (1 << 20) - 1)
            };
        }
        if flags.any(Flags::MUBUF | Flags::MTBUF) && arch.is_gfx12_plus() {
            return (0, 0x7f_ffff);
        }
        let is_flat = flags.any(Flags::FLAT);
        let is_signed =
            flags.any(Flags::FLAT_GLOBAL | Flags::FLAT_SCRATCH) || is_flat && arch.is_gfx12_plus();
        if is_signed {
            if arch.has(Arch::GFX10) { (-(1 << 11), (1 << 11) - 1) } else { signed }
        } else if !is_flat {
            unsigned
        } else if arch.has(Arch::GFX8) {
            (0, 0)
        } else if arch.has(Arch::GFX10) {
            (0, (1 << 11) - 1)
        } else {
            (0, (1 << (width - 1)) - 1)
        }
    }

    /// A register or a constant, and the modifiers of its slot before it.
    fn float_modifiers(&mut self, slot: &Slot, next: Option<&'static Slot>) -> Parse<()> {
        let Some(next) = next else { return Ok(()) };
        let start = self.cursor;
        if start.peek() == b'-' && start.byte(1) == b'-' {
            return start.wanted("one sign, or `neg(…)`");
        }
        let minus = self.cursor.peek() == b'-'
            && !self.cursor.byte(1).is_ascii_digit()
            && self.cursor.eat(b'-');
        let negative = minus || self.cursor.eat_call("neg");
        if minus && matches!(self.cursor.word(), "lit" | "lit64") {
            return start.wanted("`neg(…)` around a literal");
        }
        let in_words = self.cursor.eat_call("abs");
        let absolute = in_words || self.cursor.eat(b'|');
        let around = Around {
            in_bars: absolute && !in_words,
            is_modified: absolute || negative,
            inline_only: slot.kind().inline_only,
        };
        self.operand_within(next, around)?;
        if absolute {
            self.cursor.expect(if in_words { ")" } else { "|" })?;
        }
        if negative && !minus {
            self.cursor.expect(")")?;
        }
        let bits =
            if negative { modifier::NEG } else { 0 } | if absolute { modifier::ABS } else { 0 };
        self.modify(slot, bits, start)
    }

    fn int_modifiers(&mut self, slot: &Slot, next: Option<&'static Slot>) -> Parse<()> {
        let Some(next) = next else { return Ok(()) };
        let start = self.cursor;
        let extends = self.cursor.eat_call("sext");
        let is_float = ["f32_fp8", "f32_bf8"].iter().any(|it| self.inst.mnemonic().ends_with(it));
        if extends && is_float {
            return start.wanted("no `sext` here");
        }
        let inline_only = slot.kind().inline_only;
        self.operand_within(next, Around { inline_only, ..Around::default() })?;
        if extends {
            self.cursor.expect(")")?;
        }
        self.modify(slot, if extends { modifier::SEXT } else { 0 }, start)
    }

    fn modify(&mut self, slot: &Slot, bits: u64, start: Cursor<'a>) -> Parse<()> {
        if bits == 0 || self.inst.add(slot, bits) {
            return Ok(());
        }
        start.wanted("an operand without this modifier")
    }

    fn operand(&mut self, slot: &'static Slot) -> Parse<()> {
        let inline_only = slot.kind().inline_only;
        self.operand_within(slot, Around { inline_only, ..Around::default() })
    }

    fn operand_within(&mut self, slot: &'static Slot, around: Around) -> Parse<()> {
        if self.is_plain_register(slot) {
            return Ok(());
        }
        let kind = slot.kind();
        let start = self.cursor;
        match kind.source {
            Source::Absent => return Ok(()),
            Source::Immediate | Source::ScalarOffset => return self.immediate(slot, kind),
            Source::Literal => return self.literal_operand(slot, Type::F32),
            _ => {}
        }
        if self.cursor.peek() == b'[' && self.inst.shape().image != 0 {
            return start.wanted("registers that follow one another");
        }
        if start.peek() == b'-' && start.byte(1) == b'-' && self.is_float_source(kind) {
            return start.wanted("one sign, or `neg(…)`");
        }
        match self.cursor.operand(around.in_bars)? {
            Written::Register(register) => self.register(slot, kind, register, start),
            Written::Named(name) => self.special(slot, kind, name, start),
            Written::Constant(number, wrapping) => {
                // LLVM does not look at it between bars.
                let wrapping = if around.in_bars { Wrapping::None } else { wrapping };
                self.constant(slot, around, number, wrapping, start)
            }
        }
    }

    /// Reads what most operands are: one register where any of its file may stand.
    #[inline]
    fn is_plain_register(&mut self, slot: &Slot) -> bool {
        let Some(kind) = self.plain_kinds.get(usize::from(slot.kind)) else { return false };
        let file = self.cursor.peek();
        let (tag, count, bits) = match file {
            b'v' => (tag::VGPR, kind.vectors, 0x100),
            b's' => (tag::SGPR, kind.scalars, 0),
            _ => return false,
        };
        let mut ahead = self.cursor;
        let Some(number) = ahead.numbered(file).filter(|number| *number < count) else {
            return false;
        };
        self.inst.add(slot, u64::from(number) | bits);
        // Operands that share a field are the same register.
        let is_as_written = self.model.code(&self.inst, slot) == Code(tag << 12 | number);
        if is_as_written {
            self.seen.scalar |= tag == tag::SGPR;
            self.cursor = ahead;
        }
        is_as_written
    }

    /// Instructions of two halves in which LLVM does not read `lit`.
    fn takes_no_lit(&self) -> bool {
        match self.inst.mnemonic() {
            "v_pk_fmac_f16" => !self.arch().is_gfx11_plus(),
            "v_dot2c_f32_f16" | "v_dot2acc_f32_f16" => self.arch().is_gfx10_plus(),
            _ => false,
        }
    }

    /// Whether a form of the name reads the source with modifiers, so that two signs would be two things.
    fn is_float_source(&self, kind: &Kind) -> bool {
        let flags = self.inst.flags();
        let is_long_dual = self.inst.named("vdstX").is_some() && self.arch().has(Arch::GFX1250);
        let is_vector = flags
            .any(Flags::VOP1 | Flags::VOP2 | Flags::VOPC | Flags::VOP3 | Flags::SDWA | Flags::DPP);
        let is_packed = matches!(kind.ty, Type::V2F16 | Type::V2F16Splat | Type::V2InlineF16);
        is_long_dual
            || is_vector && matches!(kind.ty, Type::F16 | Type::BF16 | Type::F32 | Type::F64)
            || is_packed && flags.any(Flags::VOP2)
    }

    fn immediate(&mut self, slot: &'static Slot, kind: &Kind) -> Parse<()> {
        if matches!(kind.ty, Type::Unknown | Type::PcRelative) {
            return self.plain(slot);
        }
        let start = self.cursor;
        match self.cursor.number()? {
            // LLVM makes zero of it.
            Number::Float(_) => start.wanted("an integer"),
            Number::Integer(_) => {
                self.cursor = start;
                self.plain(slot)
            }
        }
    }

    /// A literal that the encoding itself holds.
    fn literal_operand(&mut self, slot: &'static Slot, ty: Type) -> Parse<()> {
        let start = self.cursor;
        let Written::Constant(number, wrapping) = self.cursor.operand(false)? else {
            return start.wanted("a constant");
        };
        let bits = operand::literal_bits(ty, number, wrapping).map_err(|what| start.miss(what))?;
        if self.held.is_some_and(|other| other != bits) {
            return start.wanted("the same literal as before");
        }
        self.held = Some(bits);
        self.put(slot, bits, start)
    }

    fn register(
        &mut self,
        slot: &'static Slot,
        kind: &Kind,
        register: Register,
        start: Cursor<'a>,
    ) -> Parse<()> {
        self.seen.scalar |= register.tag != tag::VGPR;
        self.seen.tuple |= register.count > 1;
        let arch = self.arch();
        let (file, last) = operand::last_register(arch, register);
        // Where there are more than eight bits can name, a tuple may go on there.
        let reaches_past = register.tag == tag::VGPR && arch.has(Arch::GFX1250);
        let named = if reaches_past { 1 } else { register.count };
        if register.first + u16::from(named) - 1 > last {
            return Err(start.miss(Expected::UpTo(file, last)));
        }
        let wide = self.model.dwords(kind).max(1);
        if self.is_resized(slot) {
            let is_odd = register.count > 1 && register.first % 2 == 1;
            if is_odd && arch.has(Arch::ALIGNED_VGPRS) && !self.has_remark(start) {
                return Err(start.miss(Expected::Multiple(2)));
            }
            self.note_width(slot, register.count);
        } else if register.count != if kind.source == Source::Sdwa { 1 } else { wide } {
            return Err(start.miss(Expected::Registers(wide)));
        }
        let is_half = matches!(
            kind.source,
            Source::Half | Source::HalfLow | Source::AnyHalf | Source::AnyHalfLow
        );
        let is_mask = matches!(kind.source, Source::Mask | Source::SdwaMask);
        if is_mask && matches!(register.tag, tag::VGPR | tag::AGPR) {
            return start.wanted("a scalar register");
        }
        if register.half.is_some() != (is_half && register.tag == tag::VGPR) {
            return start.wanted(if is_half { "half a register" } else { "a whole register" });
        }
        if register.half.is_some() {
            self.note_half(slot, register.half);
        }
        let value = operand::register_value(arch, kind.source, register);
        self.inst.add(slot, value.into());
        self.check_register(slot, kind, register, start)
    }

    fn note_half(&mut self, slot: &Slot, half: Option<bool>) {
        let position = rule::SELECTED.iter().position(|name| slot.label() == Some(name));
        if let Some(noted) = position.and_then(|position| self.halves.get_mut(position)) {
            *noted = half;
        }
    }

    /// Whether the field now says what was written.
    fn check_register(
        &mut self,
        slot: &'static Slot,
        kind: &Kind,
        register: Register,
        start: Cursor<'a>,
    ) -> Parse<()> {
        let wanted = operand::register_code(register);
        let mut code = self.model.code(&self.inst, slot);
        if kind.source == Source::DualDestination {
            // The destination of the first half is the first operand.
            let first = self.inst.slots().first().map_or(0, |slot| self.inst.value(slot));
            if first & 1 == u64::from(register.first & 1) {
                return start.wanted(if first & 1 == 0 {
                    "an odd register"
                } else {
                    "an even register"
                });
            }
            code.0 = code.0 & !1 | register.first & 1;
        }
        if code.tag() == tag::HALF && register.half == Some(true) && code != wanted {
            self.select_half(slot);
            code = self.model.half(&self.inst, slot, code);
        }
        let dwords = if kind.dwords == 0 { self.model.dwords(kind) } else { register.count };
        let in_class = self.model.class_without(kind, code, dwords).is_none();
        if code == wanted && (in_class || self.is_resized(slot) || self.has_remark(start)) {
            return Ok(());
        }
        // Fields of scalar tuples leave the lowest bits out.
        if code.tag() == register.tag && code.number() != register.first {
            return Err(start.miss(Expected::Multiple(if register.count == 2 { 2 } else { 4 })));
        }
        start.wanted("a register that this operand may be")
    }

    /// Whether the decoder itself remarked that the operand is not one, as it does of encodings that exist.
    fn has_remark(&self, start: Cursor<'a>) -> bool {
        let written = start.rest().get(..self.cursor.at() - start.at());
        written.is_some_and(|written| written.contains("/*Invalid "))
    }

    /// Says by `op_sel` that a register's upper half is meant.
    fn select_half(&mut self, slot: &Slot) {
        let (source, bit) = match OPERAND_NAMES.get(usize::from(slot.name)).copied() {
            Some("src0") => (0, modifier::OP_SEL),
            Some("src1") => (1, modifier::OP_SEL),
            Some("src2") => (2, modifier::OP_SEL),
            _ => (0, modifier::DESTINATION_SEL),
        };
        if let Some(modifiers) = self.modifier_slot(source) {
            self.inst.add(modifiers, bit);
        }
    }

    fn modifier_slot(&self, source: usize) -> Option<&'static Slot> {
        let position = self
            .inst
            .shape()
            .packed
            .get(source)
            .copied()
            .filter(|position| *position != DEFAULT_MODIFIER)?;
        self.inst.slots().get(usize::from(position))
    }

    fn special(
        &mut self,
        slot: &'static Slot,
        kind: &Kind,
        name: &str,
        start: Cursor<'a>,
    ) -> Parse<()> {
        let Some(value) = operand::special_value(self.arch(), name) else {
            return start.wanted("a register or a constant");
        };
        self.seen.scalar = true;
        self.seen.lds_direct |= name == "src_lds_direct";
        if name == "src_lds_direct" && matches!(kind.source, Source::Mask | Source::SdwaMask) {
            return start.wanted("a register that this operand may be");
        }
        let is_mask = matches!(kind.source, Source::Mask | Source::SdwaMask);
        if slot.is_output && kind.dwords == 1 && !is_mask && operand::is_wide_value(name) {
            return start.wanted("a register that can be written");
        }
        let is_mask_of_vcc = kind.source == Source::SdwaMask && value == 106;
        if !is_mask_of_vcc {
            self.inst.add(slot, operand::scalar_value(kind.source, value).into());
        }
        let code = self.model.code(&self.inst, slot);
        let in_class = || {
            self.model.class_without(kind, code, self.model.dwords(kind)).is_none()
                && (kind.ty != Type::Register || self.model.class_names(kind, code))
        };
        if operand::is_special(code, name) && (in_class() || self.has_remark(start)) {
            return Ok(());
        }
        start.wanted("a register that this operand may be")
    }

    fn constant(
        &mut self,
        slot: &'static Slot,
        around: Around,
        number: Number,
        wrapping: Wrapping,
        start: Cursor<'a>,
    ) -> Parse<()> {
        let kind = slot.kind();
        let ty = match kind.ty {
            Type::Register if self.has_remark(start) => Type::Int32,
            Type::Register | Type::None => return start.wanted("a register"),
            ty => ty,
        };
        let flags = self.inst.flags();
        let rules = ConstantRules {
            arch: self.arch(),
            ty,
            long: self.arch().has(Arch::LITERAL64) && !flags.any(Flags::VOP3 | Flags::VOP3P),
            has_literal: self.has_literal(),
            inline_only: around.inline_only,
        };
        if wrapping == Wrapping::Lit64 && !self.arch().has(Arch::LITERAL64) {
            return start.wanted("no `lit64` on this processor");
        }
        let is_inexact =
            |number| matches!(number, Number::Float(float) if half_bits(float) == Some(0x3118));
        let is_exponent = slot.label() == Some("src1") && self.inst.mnemonic() == "v_ldexp_f16";
        let is_integer = ty == Type::Int16 || is_exponent;
        if is_integer && flags.any(Flags::DPP | Flags::SDWA) && is_inexact(number) {
            return start.wanted("a constant that half precision holds");
        }
        if wrapping == Wrapping::Lit && self.takes_no_lit() {
            return start.wanted("no `lit` here");
        }
        let constant = rules.encode(number, wrapping).map_err(|what| start.miss(what))?;
        let value = match constant {
            Constant::Inline(encoding) => encoding,
            Constant::Literal(_) => 255,
            Constant::LongLiteral(_) => 254,
        };
        if value >= 254 {
            self.seen.scalar = true;
            let is_ambiguous =
                ty == Type::F64 && around.is_modified && matches!(number, Number::Integer(_));
            if around.inline_only || is_ambiguous {
                return start.wanted("a constant that needs no literal");
            }
            self.take_literal(constant, start)?;
        }
        let value = operand::scalar_value(kind.source, value);
        self.inst.add(slot, value.into());
        let tag = self.model.code(&self.inst, slot).tag();
        if self.inst.value(slot) & 0xff == u64::from(value) & 0xff
            && matches!(tag, tag::INLINE | tag::LITERAL | tag::LITERAL64)
        {
            return Ok(());
        }
        start.wanted("a register")
    }

    fn take_literal(&mut self, constant: Constant, start: Cursor<'a>) -> Parse<()> {
        let may_have = self.inst.len == 4
            || self.has_literal()
            || self.inst.len == 8 && self.arch().is_gfx10_plus();
        if !may_have || self.inst.flags().any(Flags::SDWA | Flags::DPP) {
            return start.wanted("a constant that needs no literal");
        }
        if self.literal.is_some_and(|other| other != constant) {
            return start.wanted("the same literal as before");
        }
        self.literal = Some(constant);
        Ok(())
    }

    fn literal_slot(&self) -> Option<&'static Slot> {
        self.inst.slots().iter().find(|slot| slot.kind().source == Source::Literal)
    }

    fn has_literal(&self) -> bool {
        self.literal_slot().is_some()
    }

    fn is_resized(&self, slot: &Slot) -> bool {
        (self.inst.shape().image != 0
            && !slot.is_named_like("srsrc")
            && !slot.is_named_like("ssamp")
            && !slot.is_named_like("rsrc")
            && !slot.is_named_like("samp"))
            || self.inst.has_formats()
                && matches!(OPERAND_NAMES.get(usize::from(slot.name)), Some(&"src0" | &"src1"))
    }

    fn note_width(&mut self, slot: &'static Slot, count: u8) {
        let position =
            self.inst.slots().iter().position(|other| std::ptr::eq(other, slot)).unwrap_or(0);
        self.widths.push((position as u8, count));
    }

    /// `[v1, v2]`, or one operand.
    fn address_list(&mut self, first: usize) -> Parse<()> {
        let slots = self.inst.slots();
        let all = slots.iter().skip(first).take_while(|slot| slot.is_named_like("vaddr"));
        let bracket = self.cursor.peek() == b'[';
        if bracket {
            self.cursor.advance(1);
        }
        let mut count = 0;
        for slot in all {
            if count > 0 && !(bracket && self.cursor.eat(b',')) {
                break;
            }
            self.operand(slot)?;
            count += 1;
        }
        if bracket {
            self.cursor.expect("]")?;
        }
        self.addresses = Some(count);
        Ok(())
    }

    fn export_source(&mut self, number: usize) -> Parse<()> {
        let start = self.cursor;
        if self.cursor.eat_word("off") {
            return Ok(());
        }
        match self.cursor.register()? {
            Some(register)
                if register.tag == tag::VGPR
                    && register.count == 1
                    && register.half.is_none()
                    && register.first < 256 =>
            {
                if let Some(export) = self.exports.get_mut(number) {
                    *export = Some(register.first);
                }
                Ok(())
            }
            _ => start.wanted("a vector register or `off`"),
        }
    }

    /// What only the whole line decides.
    fn finish(&mut self) -> Parse<()> {
        self.apply_lists()?;
        self.apply_exports()?;
        self.check_widths()?;
        self.apply_literal()
    }

    /// Bits of `op_sel` and the like, by source.
    fn apply_lists(&mut self) -> Parse<()> {
        let shape = self.inst.shape();
        let sources = usize::from(shape.sources);
        let is_packed = || shape.is_packed && self.inst.named("op_sel_hi").is_some();
        let by_default = is_packed().then_some(0xff);
        let bits = [modifier::OP_SEL, modifier::OP_SEL_HI, modifier::NEG, modifier::NEG_HI];
        let [op_sel, op_sel_hi, neg_lo, neg_hi] = self.lists;
        for (list, bit) in [op_sel, op_sel_hi.or(by_default), neg_lo, neg_hi].into_iter().zip(bits)
        {
            let Some(list) = list else { continue };
            let is_default = list == 0xff;
            for source in (0..sources).filter(|source| list >> source & 1 == 1) {
                // A source that is the destination too has modifiers that are nowhere encoded.
                let set = self
                    .modifier_slot(source)
                    .is_some_and(|slot| slot.field == NO_FIELD || self.inst.add(slot, bit));
                if !set && !is_default {
                    return self.cursor.wanted("a modifier list without this element");
                }
            }
            if bit == modifier::OP_SEL && shape.selects_half && list >> sources & 1 == 1 {
                let set = self
                    .modifier_slot(0)
                    .is_some_and(|slot| self.inst.add(slot, modifier::DESTINATION_SEL));
                if !set {
                    return self.cursor.wanted("an op_sel without a destination");
                }
            }
        }
        Ok(())
    }

    /// All words of a cache policy together.
    pub(super) fn apply_policy(&mut self, number: u8, policy: u32) -> Parse<()> {
        let Some(slot) = self.inst.slots().get(usize::from(number)) else { return Ok(()) };
        let wanted = u64::from(policy);
        // LLVM takes `scc` on gfx90a also where there is no bit for it.
        let ignored = if self.arch().has(Arch::GFX940) { 0 } else { u64::from(SCC) };
        if self.inst.put(slot, wanted) || self.inst.value(slot) == wanted & !ignored {
            return Ok(());
        }
        let missing = u64::from(slot.fixed) & !wanted != 0;
        self.cursor.wanted(if missing {
            "the modifier that returns the value before"
        } else {
            "a cache policy that the instruction has"
        })
    }

    fn apply_exports(&mut self) -> Parse<()> {
        let exports = self.inst.flags().any(Flags::EXP);
        let Some(enabled) = exports.then(|| self.inst.named("en")).flatten() else { return Ok(()) };
        let compressed = self.inst.named("compr").is_some_and(|slot| self.inst.value(slot) != 0);
        let [first, second, third, fourth] = self.exports;
        let sources =
            if compressed { [first, third, None, None] } else { [first, second, third, fourth] };
        let mut mask = 0;
        for ((number, source), name) in (0..).zip(sources).zip(["src0", "src1", "src2", "src3"]) {
            let Some(source) = source else { continue };
            mask |= if compressed { 3 << (2 * number) } else { 1 << number };
            if let Some(slot) = self.inst.named(name) {
                self.inst.add(slot, source.into());
            }
        }
        self.inst.add(enabled, mask);
        Ok(())
    }

    /// Whether operands are as wide as the rest of the line asks.
    fn check_widths(&mut self) -> Parse<()> {
        let slots = self.inst.slots();
        let first_miss =
            |expected: u8| Err(Miss { at: self.cursor.at(), what: Expected::Registers(expected) });
        for (position, count) in &self.widths {
            let Some(slot) = slots.get(usize::from(*position)) else { continue };
            let kind = slot.kind();
            let expected = self.model.operand_dwords(&self.inst, slot, kind).max(1);
            // Eight registers may stand for the five to seven that are needed.
            let is_oversized =
                *count == 8 && (5..8).contains(&expected) && slot.is_named_like("vaddr");
            if expected != *count && !is_oversized && !self.is_free_address(slot, *count) {
                return first_miss(expected);
            }
        }
        if let Some(count) = self.addresses {
            let all = slots.iter().filter(|slot| slot.is_named_like("vaddr")).count();
            let expected = self.model.separate_addresses(&self.inst).map_or(all, usize::from);
            if expected != usize::from(count) {
                return first_miss(expected as u8);
            }
        }
        if self.inst.flags().any(Flags::MIMG) {
            self.inst.len += self.inst.extra_addresses().div_ceil(4) * 4;
        }
        Ok(())
    }

    /// Before gfx10 nothing but the register tells how many words of address there are.
    fn is_free_address(&self, slot: &Slot, count: u8) -> bool {
        let image = IMAGES.get(usize::from(self.inst.shape().image).wrapping_sub(1));
        let exists =
            image.is_some_and(|image| image.shapes.iter().any(|(_, address)| *address == count));
        exists && !self.arch().is_gfx10_plus() && slot.is_named_like("vaddr")
    }

    fn apply_literal(&mut self) -> Parse<()> {
        let Some(literal) = self.literal else { return Ok(()) };
        let (value, is_long) = match literal {
            Constant::LongLiteral(value) => (value, true),
            Constant::Literal(value) => (value.into(), false),
            Constant::Inline(_) => return Ok(()),
        };
        match self.literal_slot() {
            None => self.inst.append_literal(value, is_long),
            Some(slot) if self.inst.value(slot) == value => {}
            Some(_) => return self.cursor.wanted("the same literal twice"),
        }
        Ok(())
    }
}
