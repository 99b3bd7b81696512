//! The registers that the kernels of a function allocate.

/// How many vector registers a bank has.
pub(crate) const BANK: u16 = 256;

/// What a function's kernels allocate, and how much more they could.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterBudget {
    /// Scalar registers that every kernel that may run the function says it has.
    pub sgprs: u16,
    /// Scalar registers that code can name by number: 102 up to gfx9, 106 later.
    pub max_sgprs: u16,
    /// Vector registers that every one of them allocates.
    pub vgprs: u16,
    /// Vector registers that every one of them may allocate and still run its largest workgroup.
    pub max_vgprs: u16,
    /// Registers from these numbers on are in no code of the object; what is dead in this function may
    /// be needed by its callers and callees.
    pub unused: Option<(u16, u16)>,
}

/// The most scalar registers that a launch fills.
const LAUNCHED: u16 = 34;

impl RegisterBudget {
    /// A pair of scalar registers that holds nothing when a kernel begins, whatever its code is.
    pub(crate) fn unset_pair(&self) -> Option<u16> {
        let first = self.sgprs.max(LAUNCHED).next_multiple_of(2);
        (first..self.max_sgprs.saturating_sub(1)).step_by(2).find(|pair| *pair != 102)
    }

    /// Whether a pair of scalar registers holds nothing when a kernel begins.
    pub(crate) fn is_unset(&self, pair: u16) -> bool {
        pair >= self.sgprs.max(LAUNCHED)
    }
}
