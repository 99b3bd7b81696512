//! The shape of the generated effects: what a form does, whatever its operands are.

use super::{Access, Flow, Space};

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
