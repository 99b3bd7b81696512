//! The shape of the generated effects: what a form does, whatever its operands are.

use super::form::Form;
use super::generated::{EFFECTS, EFFECTS_OF_FORM};
use super::inst::Inst;
use super::table::Flags;

/// Where memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// Through the scalar cache.
    Scalar,
    /// Global memory.
    Global,
    /// Global, LDS or scratch, as the address says.
    Flat,
    /// Through a buffer descriptor.
    Buffer,
    /// Memory of the workgroup; with `gds`, of the device.
    Lds,
    /// Memory of the lane.
    Scratch,
    /// Through an image descriptor.
    Image,
}

impl Space {
    /// A short name that programs may rely on.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Space::Scalar => "scalar",
            Space::Global => "global",
            Space::Flat => "flat",
            Space::Buffer => "buffer",
            Space::Lds => "lds",
            Space::Scratch => "scratch",
            Space::Image => "image",
        }
    }
}

/// What is done to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "named as the manuals name them")]
pub enum Access {
    Load,
    Store,
    Atomic,
}

impl Access {
    /// A short name that programs may rely on.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Access::Load => "load",
            Access::Store => "store",
            Access::Atomic => "atomic",
        }
    }
}

/// Where execution goes after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flow {
    /// To the next instruction.
    Next,
    /// To [`Inst::branch_target`].
    Branch,
    /// There or to the next instruction.
    ConditionalBranch,
    /// There, and back to the next instruction.
    Call,
    /// To the address in a register, and back to the next instruction.
    IndirectCall,
    /// To the address in a register: a jump, a tail call or a function's return.
    IndirectJump,
    /// Back from the trap handler.
    Return,
    /// Nowhere: the wave ends.
    End,
    /// To the trap handler, which may come back to the next instruction.
    Trap,
}

impl Flow {
    /// Whether the next instruction may follow.
    ///
    /// ```
    /// use hsaco_isa::effects::Flow;
    /// assert!(Flow::Call.falls_through());
    /// assert!(!Flow::End.falls_through());
    /// ```
    #[must_use]
    pub const fn falls_through(self) -> bool {
        !matches!(self, Flow::Branch | Flow::IndirectJump | Flow::Return | Flow::End)
    }
}

/// What all instructions of one form do.
pub(crate) struct FormEffects {
    /// Slots that are registers and read, one bit each.
    pub(crate) reads: u32,
    /// Slots that are registers and written.
    pub(crate) writes: u32,
    /// Slots to whose register number M0 is added.
    pub(crate) indexed: u32,
    pub(crate) implicit_reads: Implicit,
    pub(crate) implicit_writes: Implicit,
    /// The slot of what lanes keep that DPP does not write; 255 for none.
    pub(crate) old: u8,
    pub(crate) rules: Rules,
    pub(crate) memory: Option<FormMemory>,
    pub(crate) counting: Counting,
    pub(crate) wait: Wait,
    pub(crate) flow: Flow,
}

/// Registers that no operand names, one bit each.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Implicit(pub(crate) u16);

impl Implicit {
    pub(crate) const SCC: u16 = 1 << 0;
    /// As wide as a wave.
    pub(crate) const VCC: u16 = 1 << 1;
    /// As wide as a wave.
    pub(crate) const EXEC: u16 = 1 << 2;
    /// Both halves, whatever the wave.
    pub(crate) const EXEC64: u16 = 1 << 3;
    pub(crate) const EXEC_LO: u16 = 1 << 4;
    pub(crate) const M0: u16 = 1 << 5;
    pub(crate) const MODE: u16 = 1 << 6;
    pub(crate) const FLAT_SCRATCH: u16 = 1 << 7;

    pub(crate) const fn has(self, bits: u16) -> bool {
        self.0 & bits != 0
    }
}

/// What operands beside the registers change, one bit each.
#[derive(Clone, Copy)]
pub(crate) struct Rules(pub(crate) u16);

impl Rules {
    /// `dst_sel` and `dst_unused` say how much of the destination is kept.
    pub(crate) const SDWA: u16 = 1 << 0;
    /// Masks and `bound_ctrl` say whether lanes keep their old value.
    pub(crate) const DPP: u16 = 1 << 1;
    /// Only enabled sources are read.
    pub(crate) const EXPORT: u16 = 1 << 2;
    pub(crate) const WRITES_LOW_HALF: u16 = 1 << 3;
    pub(crate) const WRITES_HIGH_HALF: u16 = 1 << 4;
    /// The last element of `op_sel` says which half is written.
    pub(crate) const SELECTS_HALF: u16 = 1 << 5;
    /// Address registers beyond what the image's dimension asks for are not read.
    pub(crate) const IMAGE: u16 = 1 << 6;
    /// M0 limits LDS addresses up to gfx8 only.
    pub(crate) const M0_UNTIL_GFX8: u16 = 1 << 7;
    /// Other operands decide how wide an operand is.
    pub(crate) const RESIZED: u16 = 1 << 8;

    pub(crate) const fn has(self, bits: u16) -> bool {
        self.0 & bits != 0
    }
}

/// The memory that a form accesses; 0 bytes where a format or a descriptor decides.
pub(crate) struct FormMemory {
    pub(crate) space: Space,
    pub(crate) access: Access,
    pub(crate) bytes: u8,
    pub(crate) lds: Option<Access>,
}

/// What decides the counters that a form raises; their names change with the generation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counting {
    None,
    VectorLoad,
    VectorStore,
    FlatLoad,
    FlatStore,
    Sample,
    Bvh,
    Scalar,
    Lds,
    Gds,
    Export,
    Message,
    Async,
    Tensor,
}

/// What a form waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    None,
    /// Three counters in one number.
    Packed,
    Vm,
    Vs,
    Exp,
    Lgkm,
    Load,
    Store,
    Sample,
    Bvh,
    Ds,
    Km,
    X,
    Async,
    Tensor,
    LoadDs,
    StoreDs,
    /// Everything.
    Idle,
}

impl Form {
    #[inline]
    pub(crate) fn effects(self) -> &'static FormEffects {
        let number = EFFECTS_OF_FORM.get(self.index()).copied().unwrap_or_default();
        EFFECTS.get(usize::from(number)).unwrap_or(&EFFECTS[0])
    }

    /// Where execution goes after it.
    #[must_use]
    #[inline]
    pub fn flow(self) -> Flow {
        self.effects().flow
    }
}

impl Inst {
    /// Whether it writes fields of MODE.
    #[must_use]
    #[inline]
    pub fn writes_mode(&self) -> bool {
        self.form().effects().implicit_writes.has(Implicit::MODE)
    }

    /// Whether it computes with vector registers, and neither loads nor stores them.
    #[must_use]
    pub fn is_vector_alu(&self) -> bool {
        self.flags().any(Flags::VALU)
    }

    /// Where execution goes after it.
    ///
    /// ```
    /// use hsaco_isa::effects::Flow;
    /// use hsaco_isa::{Decoder, Processor};
    /// let decoder = Decoder::new(Processor::from_name("gfx942").unwrap())?;
    /// let endpgm = decoder.decode(&[0x00, 0x00, 0x81, 0xbf]).unwrap();
    /// assert_eq!(endpgm.flow(), Flow::End);
    /// # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn flow(&self) -> Flow {
        self.form().effects().flow
    }
}
