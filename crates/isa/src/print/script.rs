//! How instructions of a form print while their modifiers are these: text that is always the same, and operands in it,
//! whose texts are looked up by value.

use std::sync::OnceLock;

use super::Printer;
use super::number::{Number, Style};
use super::out::{Cursor, Out};
use super::padded::Padded;
use super::texts::{Key, LONG, MOST_PIECE, Piece, SHORT, Table, Text, Texts, word_number};
use crate::model::generated::{FIELDS, FORMS, KINDS, OPERAND_NAMES};
use crate::model::table::{DEFAULT_MODIFIER, Flags, NO_FIELD, Op, P, Run, Slot, Source, Type};
use crate::model::{Arch, Inst, modifier, tag};

/// What is printed of an instruction, in order.
pub(super) struct Script {
    /// The name, and what always follows it.
    pub(super) head: Padded,
    /// The bits of modifiers and what they are.
    mask: [u64; 2],
    value: [u64; 2],
    pub(super) steps: Box<[Step]>,
    /// How each step prints what has no text.
    pub(super) careful: Box<[CarefulStep]>,
    /// The same form with other modifiers, by a few bits of what they are.
    others: OnceLock<Box<Others>>,
}

type Others = [OnceLock<Box<Script>>; 1 << OTHER_BITS];

const OTHER_BITS: u32 = 4;

/// Looks one part of the text up, or works it out.
pub(super) struct Step {
    /// Nearly all have short texts by one run of bits of the first eight bytes; the others have an empty table.
    table: Table<SHORT>,
    run: Run1,
    other: Option<Box<Other>>,
}

/// A step that is not so.
pub(super) enum Other {
    Pair(Bits, Table<SHORT>),
    Long(Bits, Table<LONG>),
    /// By the lowest sixteen bits: which of those.
    Word(u8),
    Number(Number),
    /// Always as the careful step.
    Careful,
}

/// What a step prints, and the text before it.
pub(super) struct CarefulStep {
    pub(super) piece: Piece,
    pub(super) op: Op,
    /// How it prints where the VGPR MSBs change its register.
    moved: Option<Box<Moved>>,
}

/// The texts of an operand by upper bits of its register.
struct Moved {
    /// Which VGPR MSBs.
    msb: u8,
    key: Key,
    size: usize,
    tables: [OnceLock<Table<LONG>>; 4],
}

impl CarefulStep {
    /// The texts for VGPR MSBs that change the register.
    pub(super) fn moved(&self, printer: &Printer, msbs: u8) -> Option<&Table<LONG>> {
        let moved = self.moved.as_deref()?;
        let upper = msbs >> (moved.msb * 2) & 3;
        let table = moved.tables.get(usize::from(upper)).filter(|_| upper != 0)?;
        let key = || Key::Moved(upper, Box::new(moved.key.clone()));
        Some(table.get_or_init(|| printer.texts.long(key(), moved.size)))
    }
}

impl Step {
    /// Writes the text, if there is one and room for it.
    #[inline(always)]
    pub(super) fn write(&self, texts: &Texts, inst: &Inst, cursor: &mut Cursor<'_>) -> bool {
        match self.table.get(self.run.read(inst)) {
            Some(text) => cursor.text(&text),
            None => self.write_other(texts, inst, cursor),
        }
    }

    #[inline(always)]
    fn write_other(&self, texts: &Texts, inst: &Inst, cursor: &mut Cursor<'_>) -> bool {
        match self.other.as_deref() {
            Some(Other::Number(number)) => number.write(inst, cursor),
            Some(Other::Pair(bits, table)) => {
                table.get(bits.read(inst)).is_some_and(|text| cursor.text(&text))
            }
            Some(Other::Long(bits, table)) => {
                table.get(bits.read(inst)).is_some_and(|text| cursor.text(&text))
            }
            Some(Other::Word(number)) => {
                let text = texts.word(*number, inst.low as u16);
                text.is_some_and(|text| cursor.text(&text))
            }
            Some(Other::Careful) | None => false,
        }
    }

    /// The value that decides the text of an operand.
    pub(super) fn value(&self, inst: &Inst) -> u16 {
        match self.other.as_deref() {
            Some(Other::Pair(bits, _) | Other::Long(bits, _)) => bits.read(inst),
            _ => self.run.read(inst),
        }
    }

    /// The text that there is but for room.
    pub(super) fn text(&self, inst: &Inst) -> Option<Text<SHORT>> {
        self.table.get(self.run.read(inst))
    }

    /// Keeps what was printed.
    pub(super) fn learn(&self, texts: &Texts, inst: &Inst, printed: Option<&[u8]>) {
        let value = self.value(inst);
        match self.other.as_deref() {
            None => self.table.learn(value, printed),
            Some(Other::Pair(_, table)) => table.learn(value, printed),
            Some(Other::Long(_, table)) => table.learn(value, printed),
            Some(Other::Word(number)) => texts.put_word(*number, inst.low as u16, printed),
            Some(Other::Number(_) | Other::Careful) => {}
        }
    }
}

/// Where the bits of a value are that stand together in the first eight bytes.
#[derive(Clone, Copy, Default)]
pub(super) struct Run1 {
    mask: u32,
    rotation: u8,
}

impl Run1 {
    #[inline]
    pub(super) const fn read(&self, inst: &Inst) -> u16 {
        (inst.low.rotate_right(self.rotation as u32) as u32 & self.mask) as u16
    }
}

/// Where the bits of a value are: in two runs of one word.
#[derive(Clone, Copy)]
pub(super) struct Bits {
    is_high: bool,
    rotations: [u8; 2],
    masks: [u16; 2],
}

/// The scripts of forms, some of which are put there together.
pub(super) struct Scripts(Vec<OnceLock<Box<Forms>>>);

type Forms = [OnceLock<Option<Box<Script>>>; 1 << FORM_BITS];

const FORM_BITS: u32 = 6;

impl Scripts {
    pub(super) fn new() -> Self {
        Scripts((0..FORMS.len().div_ceil(1 << FORM_BITS)).map(|_| OnceLock::new()).collect())
    }

    /// The script of an instruction, if it was made.
    #[inline]
    pub(super) fn find(&self, inst: &Inst) -> Option<&Script> {
        let forms = self.0.get(usize::from(inst.form >> FORM_BITS))?.get()?;
        let form = &forms[usize::from(inst.form) & ((1 << FORM_BITS) - 1)];
        let script = form.get()?.as_deref()?;
        if script.is_for(inst) {
            return Some(script);
        }
        script.others.get()?[script.slot(inst)].get().map(|it| &**it)?.find(inst)
    }

    fn form(&self, form: u16) -> Option<&OnceLock<Option<Box<Script>>>> {
        let forms = self.0.get(usize::from(form >> FORM_BITS))?;
        let forms = forms.get_or_init(|| Box::new([const { OnceLock::new() }; 1 << FORM_BITS]));
        forms.get(usize::from(form) & ((1 << FORM_BITS) - 1))
    }
}

impl Script {
    #[inline]
    const fn is_for(&self, inst: &Inst) -> bool {
        let low = inst.low & self.mask[0] ^ self.value[0];
        let high = inst.high & self.mask[1] ^ self.value[1];
        low | high == 0
    }

    /// This one or one after it.
    #[inline]
    fn find(&self, inst: &Inst) -> Option<&Script> {
        let mut script = self;
        while !script.is_for(inst) {
            script = script.others.get()?[0].get()?;
        }
        Some(script)
    }

    /// Where among the others a script is.
    #[inline]
    const fn slot(&self, inst: &Inst) -> usize {
        const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
        let high = (inst.high & self.mask[1]).rotate_left(23);
        let all = inst.low & self.mask[0] ^ high;
        (all.wrapping_mul(SPREAD) >> (64 - OTHER_BITS)) as usize
    }
}

/// So many scripts may have one place. Code that was not made at random has fewer.
const MOST_SCRIPTS: usize = 6;

impl Printer {
    /// The script of an instruction that had none; nothing if its form has none, or too many.
    #[cold]
    pub(super) fn make_script(&self, inst: &Inst) -> Option<&Script> {
        let new = || Writer::new(self, inst).write().map(Box::new);
        let script = self.scripts.form(inst.form)?.get_or_init(new).as_deref()?;
        if script.is_for(inst) {
            return Some(script);
        }
        let others = || Box::new([const { OnceLock::new() }; 1 << OTHER_BITS]);
        let mut place = script.others.get_or_init(others).get(script.slot(inst))?;
        for _ in 0..MOST_SCRIPTS {
            // Another thread may put its own there first.
            if place.get().is_none() {
                let script = new()?;
                place.get_or_init(|| script);
            }
            let script = place.get()?;
            if script.is_for(inst) {
                return Some(script);
            }
            place = script.others.get_or_init(others).first()?;
        }
        None
    }
}

/// Writes the script of an instruction.
struct Writer<'p> {
    printer: &'p Printer,
    inst: &'p Inst,
    /// The bits of modifiers so far: what they are decides text that is always the same.
    mask: u128,
    /// The text after the last step.
    text: Vec<u8>,
    head: Option<Padded>,
    steps: Vec<Step>,
    careful: Vec<CarefulStep>,
}

/// What to do with an operation: text that bits of modifiers decide, or a step of its own.
enum Part {
    Text(u128),
    /// One that prints by a value, after modifiers.
    Values(Values),
    Number(Number),
    Word(u8),
    Other,
}

/// Where the value of a step is, and which texts it has.
struct Values {
    bits: Bits,
    kind: u16,
    fixed: u16,
    modifiers: u8,
    mask: u128,
    dwords: Option<u8>,
    /// Which VGPR MSBs extend the number of its register, of four.
    msb: u8,
    is_long: bool,
}

impl<'p> Writer<'p> {
    fn new(printer: &'p Printer, inst: &'p Inst) -> Self {
        let text = inst.full_mnemonic().into();
        let (steps, careful) = (Vec::new(), Vec::new());
        Writer { printer, inst, mask: 0, text, head: None, steps, careful }
    }

    /// The script; nothing if bits of modifiers are beyond the first sixteen bytes.
    fn write(mut self) -> Option<Script> {
        if self.inst.has_formats() {
            self.mask = self.format_bits()?;
        }
        for op in self.inst.ops() {
            match self.part(*op)? {
                Part::Text(mask) => {
                    self.mask |= mask;
                    Out::append(&mut self.text, (), |out| {
                        self.printer.print_op(op, self.inst, 0, out);
                    });
                }
                Part::Values(values) => self.values(&values, *op),
                Part::Number(number) => self.number(number, *op),
                Part::Word(number) => self.other(Other::Word(number), 0, *op),
                Part::Other => self.other(Other::Careful, 0, *op),
            }
        }
        self.take_text(0);
        let Writer { inst, mask, head, steps, careful, .. } = self;
        let mask = [mask as u64, (mask >> 64) as u64];
        Some(Script {
            head: head?,
            mask,
            value: [inst.low & mask[0], inst.high & mask[1]],
            steps: steps.into(),
            careful: careful.into(),
            others: OnceLock::new(),
        })
    }

    /// The operands that decide how wide matrices are.
    fn format_bits(&self) -> Option<u128> {
        let names = ["cbsz", "blgp", "matrix_a_fmt", "matrix_b_fmt"];
        let slots = names.into_iter().filter_map(|it| self.inst.named(it));
        slots.map(|slot| places(slot, u64::MAX)).try_fold(0, |all, bits| Some(all | bits?))
    }

    fn other(&mut self, other: Other, most_piece: usize, op: Op) {
        let piece = self.take_text(most_piece);
        self.push_other(other, CarefulStep { piece, op, moved: None });
    }

    fn push_other(&mut self, other: Other, careful: CarefulStep) {
        let table = self.printer.texts.none();
        self.push(Step { table, run: Run1::default(), other: Some(Box::new(other)) }, careful);
    }

    fn push(&mut self, step: Step, careful: CarefulStep) {
        self.steps.push(step);
        self.careful.push(careful);
    }

    /// Puts the text into the head or into steps of its own, but for the last few characters.
    fn take_text(&mut self, most: usize) -> Piece {
        const HEAD: usize = 31;
        let mut text = std::mem::take(&mut self.text);
        if self.head.is_none() {
            let rest = text.split_off(text.len().min(HEAD));
            self.head = Some(Padded::of(&text));
            text = rest;
        }
        while text.len() > most {
            let rest = text.split_off(text.len().min(SHORT * 8 - 1));
            let table = self.printer.texts.short(Key::Constant(text.clone()), 1);
            table.put(0, Some(&text));
            let op = Op(P::Text, u8::MAX);
            let careful = CarefulStep { piece: Piece::default(), op, moved: None };
            self.push(Step { table, run: Run1::default(), other: None }, careful);
            text = rest;
        }
        let mut piece = Piece::default();
        piece.0.iter_mut().zip(&text).for_each(|(to, from)| *to = *from);
        piece.1 = text.len() as u8;
        piece
    }

    fn values(&mut self, values: &Values, op: Op) {
        let Values { bits, kind, fixed, modifiers, mask, dwords, msb, is_long } = *values;
        self.mask |= mask;
        let piece = self.take_text(MOST_PIECE);
        let key = Key::Values {
            piece,
            what: op.0,
            kind,
            fixed,
            masks: bits.masks,
            modifiers,
            dwords,
            is_dp_alu: op.0 == P::DppCtrl && self.printer.model.is_dp_alu(self.inst),
        };
        let size = bits.values();
        let texts = &self.printer.texts;
        let tables = [const { OnceLock::new() }; 4];
        let moved = (msb <= 3 && self.printer.model.arch.has(Arch::GFX1250))
            .then(|| Box::new(Moved { msb, key: key.clone(), size, tables }));
        let careful = CarefulStep { piece, op, moved };
        match bits.first().filter(|_| !is_long) {
            Some(run) => {
                self.push(Step { table: texts.short(key, size), run, other: None }, careful);
            }
            None if is_long => self.push_other(Other::Long(bits, texts.long(key, size)), careful),
            None => self.push_other(Other::Pair(bits, texts.short(key, size)), careful),
        }
    }

    fn number(&mut self, number: Number, op: Op) {
        let piece = self.take_text(number.most_piece().min(MOST_PIECE));
        let (text, len) = piece;
        let text = text.get(..usize::from(len)).unwrap_or_default();
        let careful = CarefulStep { piece, op, moved: None };
        self.push_other(Other::Number(number.after(text)), careful);
    }

    /// What an operation comes to; nothing if modifiers cannot be told apart by the first sixteen bytes.
    fn part(&self, op: Op) -> Option<Part> {
        let Op(what, number) = op;
        let slots = self.inst.slots();
        if matches!(what, P::Text | P::Vcc | P::VccFirst) {
            return Some(Part::Text(0));
        }
        let Some(slot) = slots.get(usize::from(number)) else { return Some(Part::Other) };
        let next = slots.get(usize::from(number) + 1);
        let source = |bits| Some((next?, bits));
        let operand = match what {
            P::Operand => Some((slot, 0)),
            P::FloatModifiers | P::FloatModifiersVcc => source(modifier::NEG | modifier::ABS),
            P::IntModifiers => source(modifier::SEXT),
            P::OpSel => return self.packed(modifier::OP_SEL).map(Part::Text),
            P::OpSelHi => return self.packed(modifier::OP_SEL_HI).map(Part::Text),
            P::NegLo => return self.packed(modifier::NEG).map(Part::Text),
            P::NegHi => return self.packed(modifier::NEG_HI).map(Part::Text),
            P::OpSelByte | P::OpSelLanes => {
                let both = self.packed(modifier::OP_SEL)? | self.packed(modifier::OP_SEL_HI)?;
                return Some(Part::Text(both));
            }
            _ => return self.named(slot, what),
        };
        let Some((operand, modifiers)) = operand else { return Some(Part::Other) };
        let mask = if modifiers == 0 { 0 } else { places(slot, modifiers)? };
        let modifiers = (self.inst.value(slot) & modifiers) as u8;
        let values = self.operand(operand).map(|values| Values { mask, modifiers, ..values });
        Some(values.map_or_else(|| self.operand_number(operand, what), Part::Values))
    }

    /// An operand, unless it is not its bits that decide its text.
    fn operand(&self, slot: &'static Slot) -> Option<Values> {
        let kind = KINDS.get(usize::from(slot.kind))?;
        let is_other = match kind.source {
            Source::Immediate => kind.read != Type::None,
            Source::Absent | Source::Literal | Source::ScalarOffset => true,
            _ => false,
        };
        if is_other || self.inst.shape().image != 0 {
            return None;
        }
        let bits = Bits::of(slot)?;
        let bits = match kind.source {
            Source::DualDestination => bits.after_first_destination(self.inst.slots())?,
            _ if kind.may_be_half() => self.with_half(bits, slot)?,
            _ => bits,
        };
        let dwords = match self.inst.has_formats() {
            true => self.printer.model.resized_dwords(self.inst, slot),
            false => None,
        };
        let values = self.by_value(slot, bits)?;
        Some(Values { dwords, msb: slot.msb, ..values })
    }

    /// The same as a number.
    fn operand_number(&self, slot: &'static Slot, what: P) -> Part {
        let kind = KINDS.get(usize::from(slot.kind)).filter(|kind| {
            kind.source == Source::Immediate && kind.read == Type::None && what == P::Operand
        });
        let most = |ty| match ty {
            Type::Unknown | Type::PcRelative => u32::MAX,
            _ => MOST_INLINE,
        };
        let number = kind.and_then(|kind| Number::of(slot, Style::Decimal(most(kind.ty))));
        number.map_or(Part::Other, Part::Number)
    }

    /// A number, or what has names.
    fn named(&self, slot: &'static Slot, what: P) -> Option<Part> {
        let Some(kind) = KINDS.get(usize::from(slot.kind)).filter(|kind| kind.read == Type::None)
        else {
            return Some(Part::Other);
        };
        let width: u32 = runs(slot).map(|(.., width)| u32::from(width)).sum();
        let text = |most: u32| match width <= most {
            true => places(slot, u64::MAX).map(Part::Text),
            false => Some(Part::Other),
        };
        let values = |is_long| {
            let bits = Bits::of(slot).and_then(|bits| self.by_value(slot, bits));
            Some(bits.map_or(Part::Other, |it| Part::Values(Values { is_long, ..it })))
        };
        let number = |style| Some(Number::of(slot, style).map_or(Part::Other, Part::Number));
        match what {
            P::NamedInt if width > 4 && width <= 8 => values(false),
            P::BitOp3 => values(false),
            P::DppCtrl | P::BufferFormat => values(true),
            P::NamedInt
            | P::NamedBit
            | P::Gds
            | P::R128A16
            | P::OutputModifier
            | P::DppBoundCtrl
            | P::DppFetchInvalid
            | P::CachePolicy
            | P::Blgp
            | P::BlgpNeg
            | P::IndexKey
            | P::SdwaDst
            | P::SdwaSrc0
            | P::SdwaSrc1
            | P::SdwaUnused
            | P::Dim
            | P::MatrixAFormat
            | P::MatrixBFormat
            | P::MatrixAScale
            | P::MatrixBScale
            | P::MatrixAScaleFormat
            | P::MatrixBScaleFormat => text(9),
            P::Offset | P::FlatOffset => number(Style::Offset(self.offset_sign(what))),
            P::ScalarOffset if kind.source == Source::ScalarOffset => {
                number(Style::Hex(self.scalar_offset_sign()))
            }
            P::U16 if width == 16 => number(Style::Hex(None)),
            _ if is_first_half(slot) => Some(word_number(what).map_or(Part::Other, Part::Word)),
            _ => Some(Part::Other),
        }
    }

    /// Which bit of an offset is its sign.
    fn offset_sign(&self, what: P) -> Option<u8> {
        let (arch, flags) = (self.printer.model.arch, self.inst.flags());
        match what {
            P::FlatOffset if arch.has(Arch::GFX12) => Some(23),
            P::FlatOffset if !flags.any(Flags::FLAT_GLOBAL | Flags::FLAT_SCRATCH) => None,
            P::FlatOffset if arch.has(Arch::GFX10) => Some(11),
            P::FlatOffset => Some(12),
            _ if arch.has(Arch::GFX12) && flags.any(Flags::MUBUF | Flags::MTBUF) => Some(23),
            _ => None,
        }
    }

    /// The same of a scalar load's.
    fn scalar_offset_sign(&self) -> Option<u8> {
        let arch = self.printer.model.arch;
        match () {
            () if arch.is_gfx12_plus() => Some(23),
            () if arch.has(Arch::GFX8) => None,
            () => Some(20),
        }
    }

    fn by_value(&self, slot: &Slot, bits: Bits) -> Option<Values> {
        (bits.values() <= MOST_VALUES).then_some(Values {
            bits,
            kind: slot.kind,
            fixed: slot.fixed,
            modifiers: 0,
            mask: 0,
            dwords: None,
            msb: u8::MAX,
            is_long: false,
        })
    }

    /// The bits that a list such as `op_sel` shows.
    fn packed(&self, bits: u64) -> Option<u128> {
        let shape = self.inst.shape();
        let mut mask = 0;
        for position in shape.packed.iter().filter(|it| **it != DEFAULT_MODIFIER) {
            let slot = self.inst.slots().get(usize::from(*position))?;
            mask |= places(slot, bits | modifier::DESTINATION_SEL)?;
        }
        Some(mask)
    }

    /// An operand with one more bit where modifiers choose the half of its register; nothing if it cannot be read so.
    fn with_half(&self, bits: Bits, slot: &Slot) -> Option<Bits> {
        let Some((source, bit)) = slot.half_modifier() else { return Some(bits) };
        let position = self.inst.shape().packed.get(source).filter(|it| **it != DEFAULT_MODIFIER);
        let Some(position) = position else { return Some(bits) };
        let modifiers = self.inst.slots().get(usize::from(*position))?;
        let is_half = |(_, first, _): &Run| *first == bit.trailing_zeros() as u8;
        let (at, ..) = runs(modifiers).find(is_half)?;
        let first = (16 - (bits.masks[0] | slot.fixed).leading_zeros()) as u8;
        bits.with(1, (at, first, 1)).filter(|_| bits.masks[1] == 0 && modifiers.fixed == 0)
    }
}

/// Numbers up to this one are always decimal.
const MOST_INLINE: u32 = 64;

/// No operand has more values with texts.
const MOST_VALUES: usize = 1 << 11;

/// Whether it is the value of a step that decides its text, and not a literal.
pub(super) fn is_decided(printer: &Printer, inst: &Inst, Op(what, number): Op) -> bool {
    let modified = matches!(what, P::FloatModifiers | P::FloatModifiersVcc | P::IntModifiers);
    if what != P::Operand && !modified {
        return true;
    }
    let slot = inst.slots().get(usize::from(number) + usize::from(modified));
    slot.is_some_and(|slot| match slot.kind().source {
        Source::Immediate => true,
        _ => !matches!(
            printer.model.code(inst, slot).tag(),
            tag::INVALID | tag::LITERAL | tag::LITERAL64
        ),
    })
}

/// Whether the bits of a slot are the lowest sixteen.
fn is_first_half(slot: &Slot) -> bool {
    let field = FIELDS.get(usize::from(slot.field)).filter(|_| slot.field != NO_FIELD);
    slot.fixed == 0 && field.is_some_and(|field| field.0 == (0, 0, 16) && field.1.is_empty())
}

impl Bits {
    const NONE: Bits = Bits { is_high: false, rotations: [0; 2], masks: [0; 2] };

    /// Nothing if they stand otherwise.
    fn of(slot: &Slot) -> Option<Bits> {
        let mut runs = runs(slot);
        let bits = match (runs.next(), runs.next(), runs.next()) {
            (Some(first), None, _) => Bits::NONE.with(0, first)?,
            (Some(first), Some(second), None) => Bits::NONE.with(0, first)?.with(1, second)?,
            _ => return None,
        };
        Some(bits)
    }

    /// The same with one of the runs; nothing if it is in another word than those before.
    fn with(mut self, number: usize, (at, first, width): Run) -> Option<Bits> {
        let is_high = at >= 64;
        let in_one_word =
            at < 128 && at % 64 + width <= 64 && (number == 0 || is_high == self.is_high);
        if !in_one_word || first + width > 16 {
            return None;
        }
        self.is_high = is_high;
        *self.rotations.get_mut(number)? = (at + 64 - first) & 63;
        *self.masks.get_mut(number)? = (u16::MAX >> (16 - width)) << first;
        Some(self)
    }

    /// The second destination of a dual instruction: its lowest bit is the opposite of the first one's.
    fn after_first_destination(self, slots: &[Slot]) -> Option<Bits> {
        let is_first = |slot: &&Slot| OPERAND_NAMES.get(usize::from(slot.name)) == Some(&"vdstX");
        let first = FIELDS.get(usize::from(slots.iter().find(is_first)?.field))?;
        let (at, value_at, _) = first.0;
        let bits = self.with(1, (at, 0, 1))?;
        let is_simple = value_at == 0 && self.masks[0] & 1 == 0;
        (is_simple && self.masks[1] == 0).then_some(bits)
    }

    /// The same as one run in the first eight bytes.
    fn first(&self) -> Option<Run1> {
        let Bits { is_high, rotations: [rotation, _], masks: [mask, other] } = *self;
        (!is_high && other == 0).then_some(Run1 { mask: mask.into(), rotation })
    }

    /// One more than the highest value.
    fn values(&self) -> usize {
        let [first, second] = self.masks;
        usize::from(first | second) + 1
    }

    #[inline]
    pub(super) const fn read(&self, inst: &Inst) -> u16 {
        let word = if self.is_high { inst.high } else { inst.low };
        let [first, second] = self.rotations;
        let first = word.rotate_right(first as u32) as u16 & self.masks[0];
        let second = word.rotate_right(second as u32) as u16 & self.masks[1];
        first | second
    }
}

/// Where some bits of an operand stand; nothing if that is not in the first sixteen bytes.
fn places(slot: &Slot, bits: u64) -> Option<u128> {
    let mut mask = 0;
    for (at, first, width) in runs(slot) {
        let wanted = u128::from(bits >> first & (u64::MAX >> (64 - width)));
        let here = wanted.checked_shl(at.into()).unwrap_or(0);
        if here.checked_shr(at.into()).unwrap_or(0) != wanted {
            return None;
        }
        mask |= here;
    }
    Some(mask)
}

/// Where the bits of a slot are.
pub(super) fn runs(slot: &Slot) -> impl Iterator<Item = Run> {
    let field = FIELDS.get(usize::from(slot.field)).filter(|_| slot.field != NO_FIELD);
    field.into_iter().flat_map(|field| std::iter::once(&field.0).chain(field.1)).copied()
}
