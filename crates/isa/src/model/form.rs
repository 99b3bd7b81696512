//! Forms: the identity of an encoding.

use std::fmt;
use std::sync::LazyLock;

use super::generated::{FLAGS, FORMS, NAMES, OPS, SHAPES, SLOTS, TEXT};
use super::table::{Flags, FormRow, Op, Shape, Slot, Source, Type};

/// One encoding of one instruction: which fields it has, and what they mean.
///
/// A form is the key for tables with something to say about every instruction, such as what it computes. Equal
/// mnemonics are not enough for that: `v_add_u32` of gfx8 writes a carry, that of gfx9 does not.
///
/// Forms are numbered as `isa-data/` lists them, without gaps, alike on all processors. Numbers hold for one version
/// of this crate: a table that outlives it is keyed by what [`mnemonic`](Self::mnemonic), [`format`](Self::format) and
/// [`operands`](Self::operands) say.
///
/// ```
/// use hsaco_isa::model::{Form, Format, OperandRole, ValueType};
/// use hsaco_isa::{Decoder, Processor};
/// let decoder = Decoder::new(Processor::from_name("gfx942").unwrap())?;
/// let form = decoder.decode(&[0x01, 0x05, 0x06, 0x68]).unwrap().form();
/// assert_eq!((form.mnemonic(), form.format()), ("v_add_u32", Format::Vop2));
///
/// let operands: Vec<_> = form.operands().map(|it| (it.name, it.role, it.bits)).collect();
/// let (output, source) = (OperandRole::Output, OperandRole::Source);
/// let all = [("vdst", output, Some(32)), ("src0", source, Some(32)), ("src1", source, Some(32))];
/// assert_eq!(operands, all);
/// assert_eq!(form.operands().nth(1).unwrap().value_type, ValueType::Int32);
///
/// // A table of all forms.
/// let is_add: Vec<bool> = Form::all().map(|it| it.mnemonic().starts_with("v_add_")).collect();
/// assert!(is_add[form.index()]);
/// // Which of them the processor has.
/// assert!(decoder.forms().any(|it| it == form));
/// # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Form(u16);

/// An operand of all instructions of a [`Form`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FormOperand {
    /// Its name in LLVM's tables: `vdst`, `src0`, `src0_modifiers`, `offset`, `cpol`, `dpp_ctrl`…
    pub name: &'static str,
    /// What the instruction does with it.
    pub role: OperandRole,
    /// How its bits are read.
    pub value_type: ValueType,
    /// How wide its value is; nothing where the size of a wave or other operands decide, and for
    /// [`Field`](OperandRole::Field)s.
    pub bits: Option<u16>,
}

/// What an instruction does with an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OperandRole {
    /// A register that is written.
    Output,
    /// A register or a constant that is read.
    Source,
    /// What changes the source that follows.
    Modifiers,
    /// A number that belongs to the encoding: an offset, a branch distance, a cache policy, clamp.
    Field,
}

/// How the bits of a constant are read, and so what an operand holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "named as LLVM names the types of operands")]
pub enum ValueType {
    Int16,
    Int32,
    Int64,
    F16,
    BF16,
    F32,
    F64,
    V2Int16,
    V2F16,
    V2BF16,
    /// LLVM's tables do not tell: destinations, and registers that take no constants.
    Unspecified,
}

impl Form {
    /// How many there are.
    pub const COUNT: usize = FORMS.len();

    /// All of them, by number.
    pub fn all() -> impl ExactSizeIterator<Item = Form> {
        (0..FORMS.len() as u16).map(Form)
    }

    /// Its number, less than [`COUNT`](Self::COUNT).
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    pub(crate) const fn number(self) -> u16 {
        self.0
    }

    /// The name of the instruction, without the suffix that tells encodings apart.
    #[must_use]
    pub fn mnemonic(self) -> &'static str {
        let name = NAMES.get(usize::from(self.row().name));
        name.map_or("", |name| text(name.start, name.base))
    }

    /// The name as printed, with `_e64` and the like.
    #[must_use]
    pub fn full_mnemonic(self) -> &'static str {
        let name = NAMES.get(usize::from(self.row().name));
        name.map_or("", |name| text(name.start, name.full))
    }

    /// Its operands: outputs first, then inputs, each source after its modifiers.
    pub fn operands(self) -> impl Iterator<Item = FormOperand> {
        self.slots().iter().filter_map(move |slot| {
            let operand = FormOperand::of(slot)?;
            let bits = operand.bits.filter(|_| !self.is_resized(operand.name));
            Some(FormOperand { bits, ..operand })
        })
    }

    /// Whether other operands decide the width of an operand: those of images, and matrices with formats.
    fn is_resized(self, operand: &str) -> bool {
        let is_image = self.shape().image != 0;
        match operand {
            "src0" | "src1" => self.flags().has(Flags::HAS_FORMATS),
            "vdata" | "vdst" => is_image,
            _ => is_image && operand.starts_with("vaddr"),
        }
    }

    /// The steps that print it, and that assembling follows.
    #[inline]
    pub(crate) fn ops(self) -> &'static [Op] {
        let (start, count) = self.shape().ops;
        OPS.get(usize::from(start)..usize::from(start) + usize::from(count)).unwrap_or_default()
    }

    #[inline]
    pub(crate) const fn new(number: u16) -> Self {
        Form(number)
    }

    #[inline]
    pub(crate) fn row(self) -> &'static FormRow {
        FORMS.get(usize::from(self.0)).unwrap_or(&FORMS[0])
    }

    #[inline]
    pub(crate) fn flags(self) -> &'static Flags {
        FLAGS.get(usize::from(self.row().flags)).unwrap_or(&FLAGS[0])
    }

    #[inline]
    pub(crate) fn shape(self) -> &'static Shape {
        SHAPES.get(usize::from(self.row().shape)).unwrap_or(&SHAPES[0])
    }

    #[inline]
    pub(crate) fn slots(self) -> &'static [Slot] {
        let (start, count) = self.shape().slots;
        SLOTS.get(usize::from(start)..usize::from(start) + usize::from(count)).unwrap_or_default()
    }
}

impl fmt::Debug for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Form({} {})", self.0, self.full_mnemonic())
    }
}

impl FormOperand {
    /// Nothing for one that LLVM lists and the encoding does not hold.
    fn of(slot: &'static Slot) -> Option<Self> {
        let (name, kind) = (slot.label()?, slot.kind());
        let role = match kind.source {
            Source::Absent => return None,
            Source::Immediate if name.ends_with("_modifiers") => OperandRole::Modifiers,
            Source::Immediate | Source::ScalarOffset => OperandRole::Field,
            _ if slot.is_output => OperandRole::Output,
            _ => OperandRole::Source,
        };
        let bits = match (role, kind.source) {
            (OperandRole::Modifiers | OperandRole::Field, _) => None,
            (_, Source::Mask | Source::SdwaMask) => None,
            _ if kind.dwords == 0 => Some(16),
            _ => Some(u16::from(kind.dwords) * 32),
        };
        Some(FormOperand { name, role, value_type: kind.ty.into(), bits })
    }
}

impl From<Type> for ValueType {
    fn from(ty: Type) -> Self {
        match ty {
            Type::Int16 => ValueType::Int16,
            Type::Int32 => ValueType::Int32,
            Type::Int64 => ValueType::Int64,
            Type::F16 => ValueType::F16,
            Type::BF16 => ValueType::BF16,
            Type::F32 => ValueType::F32,
            Type::F64 => ValueType::F64,
            Type::V2Int16 => ValueType::V2Int16,
            Type::V2F16 | Type::V2F16Splat | Type::V2F16NoInline | Type::V2InlineF16 => {
                ValueType::V2F16
            }
            Type::V2BF16 | Type::V2InlineBF16 => ValueType::V2BF16,
            Type::None | Type::Register | Type::PcRelative | Type::Unknown | Type::Immediate => {
                ValueType::Unspecified
            }
        }
    }
}

/// A piece of the text that all names share.
pub(crate) fn text(start: u32, len: u8) -> &'static str {
    static ALL: LazyLock<&str> = LazyLock::new(|| std::str::from_utf8(TEXT).unwrap_or_default());
    let start = start as usize;
    ALL.get(start..start + usize::from(len)).unwrap_or_default()
}
