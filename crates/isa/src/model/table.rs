//! The shape of the generated tables.
//!
//! A [`FormRow`] is one encoding of one instruction. What many forms share is stored once: masks, flags,
//! [`Shape`]s (operands and how to print them), [`Field`]s (where an operand's bits are), [`Kind`]s (what
//! the bits mean).

/// One encoding of one instruction.
pub(crate) struct FormRow {
    /// The fixed bits of the first eight bytes.
    pub(crate) value: u64,
    /// Which of `HIGH_VALUES` the bytes after the eighth must hold.
    pub(crate) high: u8,
    /// Which of `IGNORED` the hardware ignores: fixed bits that a lenient decoder does not look at.
    pub(crate) ignored: u8,
    pub(crate) mask: u16,
    pub(crate) name: u16,
    pub(crate) shape: u16,
    pub(crate) predicates: u16,
    pub(crate) flags: u16,
}

/// One of LLVM's decoder tables: forms of one size, tried before those of the tables after it.
pub(crate) struct Table {
    pub(crate) size: u8,
    /// Any of these features makes the table apply.
    pub(crate) when: &'static [u8],
    pub(crate) forms: (u16, u16),
    /// An 8-byte literal is the encoding's own last eight bytes.
    pub(crate) literal_inside: bool,
}

/// A mnemonic: where it starts in `TEXT`, its length, and its length with `_e64` and the like.
pub(crate) struct Name {
    pub(crate) start: u32,
    pub(crate) base: u8,
    pub(crate) full: u8,
}

/// Properties of a form, LLVM's bits first.
pub(crate) struct Flags {
    pub(crate) llvm: u64,
    pub(crate) own: u32,
}

impl Flags {
    pub(crate) const MAY_LOAD: u32 = 1 << 0;
    pub(crate) const MAY_STORE: u32 = 1 << 1;
    pub(crate) const BRANCH: u32 = 1 << 2;
    pub(crate) const TERMINATOR: u32 = 1 << 3;
    pub(crate) const CALL: u32 = 1 << 4;
    pub(crate) const RETURN: u32 = 1 << 5;
    pub(crate) const BARRIER: u32 = 1 << 6;
    pub(crate) const SIDE_EFFECTS: u32 = 1 << 7;
    pub(crate) const CONVERGENT: u32 = 1 << 8;
    /// A buffer instruction of scalar memory.
    pub(crate) const SCALAR_BUFFER: u32 = 1 << 9;
    /// Writes EXEC and nothing else; LLVM doubts the encoding when its destination field names another register.
    pub(crate) const WRITES_EXEC_ONLY: u32 = 1 << 10;
    /// Stores although it also loads, for the temporal hint's sake.
    pub(crate) const STORE_HINT: u32 = 1 << 11;
    /// A 32-bit operation that DPP treats as double precision.
    pub(crate) const DP_ALU_32: u32 = 1 << 12;
    /// Sets the VGPR MSBs.
    pub(crate) const SETS_VGPR_MSB: u32 = 1 << 13;
    /// Multiplies matrices that are as wide as their formats ask.
    pub(crate) const HAS_FORMATS: u32 = 1 << 14;
    /// An operand is the distance to the target of a branch.
    pub(crate) const HAS_TARGET: u32 = 1 << 15;
    /// The assembler takes it only where no other form has the text.
    pub(crate) const LAST_RESORT: u32 = 1 << 16;

    pub(crate) const SALU: u64 = 1 << 0;
    pub(crate) const VALU: u64 = 1 << 1;
    pub(crate) const VOP1: u64 = 1 << 7;
    pub(crate) const VOP2: u64 = 1 << 8;
    pub(crate) const VOPC: u64 = 1 << 9;
    pub(crate) const VOP3: u64 = 1 << 10;
    pub(crate) const VOP3P: u64 = 1 << 12;
    pub(crate) const SDWA: u64 = 1 << 14;
    pub(crate) const DPP: u64 = 1 << 15;
    /// A transcendental computation, in a pipeline of its own.
    pub(crate) const TRANS: u64 = 1 << 16;
    pub(crate) const MUBUF: u64 = 1 << 17;
    pub(crate) const MTBUF: u64 = 1 << 18;
    pub(crate) const SMRD: u64 = 1 << 19;
    pub(crate) const MIMG: u64 = 1 << 20;
    pub(crate) const VIMAGE: u64 = 1 << 21;
    pub(crate) const VSAMPLE: u64 = 1 << 22;
    pub(crate) const EXP: u64 = 1 << 23;
    pub(crate) const FLAT: u64 = 1 << 24;
    pub(crate) const DS: u64 = 1 << 25;
    /// Two operations in twelve bytes.
    pub(crate) const VOPD3: u64 = 1 << 30;
    pub(crate) const GATHER4: u64 = 1 << 37;
    pub(crate) const FLAT_GLOBAL: u64 = 1 << 51;
    pub(crate) const MAI: u64 = 1 << 54;
    pub(crate) const DOT: u64 = 1 << 55;
    pub(crate) const FLAT_SCRATCH: u64 = 1 << 56;
    pub(crate) const ATOMIC_NO_RETURN: u64 = 1 << 57;
    pub(crate) const ATOMIC_RETURN: u64 = 1 << 58;
    pub(crate) const GWS: u64 = 1 << 62;

    /// Whether any of LLVM's bits is set.
    pub(crate) const fn any(&self, bits: u64) -> bool {
        self.llvm & bits != 0
    }

    pub(crate) const fn has(&self, bits: u32) -> bool {
        self.own & bits == bits
    }
}

/// The operands of a form, how they print, and which of them can make it invalid.
pub(crate) struct Shape {
    pub(crate) slots: (u16, u8),
    pub(crate) ops: (u16, u8),
    pub(crate) checks: (u16, u8),
    /// The slots of the source modifiers, as `op_sel` and the like list them.
    pub(crate) packed: [u8; 3],
    pub(crate) sources: u8,
    /// `op_sel` has a last element for the destination.
    pub(crate) selects_half: bool,
    pub(crate) is_packed: bool,
    /// One more than the number of the image's shape.
    pub(crate) image: u16,
}

/// A packed-modifier entry without modifiers of its own: what it has by default.
pub(crate) const DEFAULT_MODIFIER: u8 = 0xff;

/// One operand as LLVM lists it.
pub(crate) struct Slot {
    /// Where its bits are; `NO_FIELD` when it has none.
    pub(crate) field: u8,
    /// Bits that are always set.
    pub(crate) fixed: u16,
    pub(crate) kind: u16,
    pub(crate) name: u8,
    pub(crate) is_output: bool,
    /// Which pair of bits of `s_set_vgpr_msb` extends its register number: 0 to 3; 4 for none.
    pub(crate) msb: u8,
}

pub(crate) const NO_FIELD: u8 = 0xff;

/// Consecutive bits: first bit of the encoding, first bit of the value, width.
pub(crate) type Run = (u8, u8, u8);

/// Where an operand's bits are: nearly always in one run.
pub(crate) struct Field(pub(crate) Run, pub(crate) &'static [Run]);

/// An operand whose value can make an encoding invalid or ask for a literal.
pub(crate) struct Check {
    pub(crate) slot: u8,
    pub(crate) role: Role,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Must be a value that the source knows.
    Register,
    /// The same, and 255 takes a literal from what follows.
    Source,
    /// Holds the literal itself.
    Literal,
    /// Must be one of DPP8's two values.
    Dpp8,
    /// A number that LLVM takes for a constant's encoding: 255 takes a literal.
    Number,
}

/// What an operand's bits mean and how they print.
pub(crate) struct Kind {
    pub(crate) source: Source,
    /// In registers of 32 bits; 0 for half of one.
    pub(crate) dwords: u8,
    /// How a constant prints.
    pub(crate) ty: Type,
    /// How LLVM reads a constant's encoding: like `ty`, unless its operand list is out of step with the
    /// decoder's when it does so; `None` leaves the encoding as it is.
    pub(crate) read: Type,
    /// One more than the number of the class by mode.
    pub(crate) class: u8,
    pub(crate) label: &'static str,
    pub(crate) hex: bool,
    pub(crate) always: bool,
    /// Constants that need a literal are none of its, or of the source whose modifiers it holds.
    pub(crate) inline_only: bool,
    /// The assembler takes no number below zero.
    pub(crate) unsigned: bool,
}

/// How a field becomes an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Source {
    /// A plain number.
    Immediate,
    /// The offset of a scalar load, signed or not by generation.
    ScalarOffset,
    /// A literal that the encoding itself holds.
    Literal,
    Vgpr,
    /// One of the first 128.
    VgprLow,
    Agpr,
    /// Nine bits: scalar registers, constants, vector registers.
    Any,
    /// The same with bit 8 set.
    Vector,
    /// The same with bit 9 set: accumulation registers.
    Accumulator,
    /// A lane mask, 32 or 64 bits wide by wave size.
    Mask,
    /// Half of a register, bit 9 says which.
    Half,
    /// Half of a register below 128, bit 7 says which.
    HalfLow,
    /// Nine bits and bit 9 for the half.
    AnyHalf,
    /// Nine bits, of which bit 7 says which half of a vector register.
    AnyHalfLow,
    Sdwa,
    SdwaMask,
    /// The second destination of a dual instruction: its lowest bit is the opposite of the first one's.
    DualDestination,
    /// LLVM lists an operand that the encoding does not hold.
    Absent,
}

/// LLVM's operand types: how constants are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Type {
    None,
    Register,
    Int16,
    Int32,
    Int64,
    F16,
    BF16,
    F32,
    F64,
    /// Double precision, inline constants only.
    V2Int16,
    V2F16,
    V2F16Splat,
    V2F16NoInline,
    V2BF16,
    V2InlineF16,
    V2InlineBF16,
    PcRelative,
    Unknown,
    Immediate,
}

/// One step of printing: what, and which slot or piece of text.
#[derive(Clone, Copy)]
pub(crate) struct Op(pub(crate) P, pub(crate) u8);

/// How to print.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub(crate) enum P {
    Text,
    Operand,
    FloatModifiers,
    /// The same with vcc after the operand, inside the bars.
    FloatModifiersVcc,
    IntModifiers,
    Vcc,
    VccFirst,
    NamedInt,
    NamedBit,
    Gds,
    CachePolicy,
    U16,
    U32,
    F64,
    ScalarOffset,
    Offset,
    FlatOffset,
    OutputModifier,
    DppFetchInvalid,
    DppBoundCtrl,
    DppCtrl,
    Dpp8,
    SdwaDst,
    SdwaSrc0,
    SdwaSrc1,
    SdwaUnused,
    R128A16,
    OpSel,
    OpSelHi,
    /// `op_sel` of two elements, both of the first source.
    OpSelByte,
    /// `op_sel` of two elements, one of each of the first two sources.
    OpSelLanes,
    NegLo,
    NegHi,
    MatrixAFormat,
    MatrixBFormat,
    MatrixAScale,
    MatrixBScale,
    MatrixAScaleFormat,
    MatrixBScaleFormat,
    InterpSlot,
    InterpAttr,
    InterpAttrChan,
    IndexKey,
    HwReg,
    GprIdxMode,
    BufferFormat,
    ExportTarget,
    ExportSource0,
    ExportSource1,
    ExportSource2,
    ExportSource3,
    EndPgm,
    Dim,
    DepCtr,
    BitOp3,
    Blgp,
    BlgpNeg,
    Swizzle,
    SendMsg,
    WaitCnt,
    DelayAlu,
    Version,
    /// The first register of a tuple.
    FirstRegister,
    /// The address registers of an image, one by one.
    Addresses,
}

/// The members of a register class.
pub(crate) struct Class {
    pub(crate) name: &'static str,
    /// First register numbers of vector, accumulation, scalar and trap registers: last and step; step 0 for none.
    pub(crate) banks: [(u16, u8); 4],
    /// By number of `Special`.
    pub(crate) special: u64,
}

/// What an image instruction's address and data look like.
pub(crate) struct Image {
    pub(crate) flags: u16,
    pub(crate) extra: u8,
    pub(crate) encoding: ImageEncoding,
    pub(crate) data: u8,
    pub(crate) address: u8,
    /// The pairs of data and address words that LLVM knows.
    pub(crate) shapes: &'static [(u8, u8)],
}

impl Image {
    pub(crate) const GRADIENTS: u16 = 1 << 0;
    pub(crate) const G16: u16 = 1 << 1;
    pub(crate) const COORDINATES: u16 = 1 << 2;
    pub(crate) const LOD: u16 = 1 << 3;
    pub(crate) const BVH: u16 = 1 << 4;
    pub(crate) const MSAA: u16 = 1 << 5;
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ImageEncoding {
    Plain,
    /// The address words are registers of their own.
    Separate,
}

/// What a processor must have: where that stands in `CONDITIONS`. A count of alternatives, and for each the features that
/// must be there and those that must not, two lists after their lengths.
pub(crate) struct Condition(pub(crate) u16);

/// Another name of an instruction, on processors that fulfil a condition: where it stands in `ALIAS_NAMES`, its length,
/// and that of the instruction's, which follows it.
pub(crate) struct Alias {
    pub(crate) start: u16,
    pub(crate) name: u8,
    pub(crate) instruction: u8,
    pub(crate) when: Condition,
}

/// A processor and the features it has in LLVM.
pub(crate) struct Target {
    pub(crate) name: &'static str,
    pub(crate) features: &'static [u8],
}
