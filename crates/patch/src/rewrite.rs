//! What a rule wants done.

use hsaco_isa::Inst;
use hsaco_isa::model::Register;

use crate::scratch::ScratchRegisters;
use crate::site::Site;

/// Instructions in place of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The number of the first instruction that goes.
    pub first: usize,
    /// How many go.
    pub count: usize,
    /// What comes.
    pub code: Vec<Inst>,
}

/// What a rule wants done; where it goes is not the rule's concern.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Instructions to replace.
    pub edits: Vec<Edit>,
    /// So many `v_nop`s before the instructions of these numbers; the most that is wanted counts.
    pub pads: Vec<(usize, u8)>,
    /// The registers that the replacements may write beside those that the replaced ones write.
    pub scratch_registers: Vec<Register>,
    /// Addresses that the first edit's code makes: the number of the first of the instructions that make one of the
    /// program counter, and the address. On gfx1250 these are `s_get_pc_i64` and `s_add_nc_u64` with a 64-bit constant.
    pub fixups: Vec<(usize, u64)>,
    /// Bytes of scratch memory that kernels need for it, all that they had included; 0 where it needs none.
    pub private_segment: u32,
    /// What to run before a kernel's first instruction.
    pub prologue: Vec<Inst>,
}

impl Plan {
    /// These instructions in place of the site's.
    ///
    /// ```no_run
    /// # fn look(site: &hsaco_patch::Site<'_>) -> Result<hsaco_patch::Answer, hsaco_patch::Refusal> {
    /// use hsaco_patch::{Answer, Plan};
    /// Ok(Answer::Rewrite(Plan::replace(site, vec![site.assemble("s_nop 0")?])))
    /// # }
    /// ```
    #[must_use]
    pub fn replace(site: &Site<'_>, code: Vec<Inst>) -> Self {
        Plan::edit(Edit { first: site.step(), count: 1, code })
    }

    /// One edit, anywhere in the function.
    #[must_use]
    pub fn edit(edit: Edit) -> Self {
        Plan { edits: vec![edit], ..Plan::default() }
    }

    /// The same, with registers to write.
    #[must_use]
    pub fn taking(self, scratch: ScratchRegisters<'_>) -> Self {
        Plan { scratch_registers: scratch.into_granted(), ..self }
    }
}
