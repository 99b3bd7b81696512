//! Rules between the operands of a line, and bits that only an encoder sets.

use crate::inst::Inst;
use crate::table::Flags;

use super::error::Expected;
use super::form::Attempt;

/// Where VOP3P keeps `op_sel_hi` of the three sources.
const OP_SEL_HI: [u64; 3] = [1 << 59, 1 << 60, 1 << 14];
/// The destination of a comparison that writes EXEC.
const EXEC: u64 = 126;

impl Inst {
    /// Sets bits that decoders ignore as LLVM's encoder sets them.
    pub(super) fn set_ignored(&mut self) {
        let flags = self.flags();
        if flags.has(Flags::WRITES_EXEC_ONLY) {
            self.low |= EXEC;
        }
        let reuses = ["matrix_b_fmt", "matrix_b_scale", "matrix_b_reuse"]
            .iter()
            .any(|name| self.named(name).is_some());
        let moves_accumulator = flags.any(Flags::MAI) && self.named("src1").is_none();
        if (flags.any(Flags::VOP3P) || moves_accumulator) && !reuses {
            let sources = ["src0", "src1", "src2"]
                .iter()
                .take_while(|name| self.named(name).is_some())
                .count();
            let used = if self.named("op_sel_hi").is_none() {
                0
            } else if self.named("src2").is_some() {
                3
            } else {
                sources
            };
            self.low |= OP_SEL_HI.iter().skip(used).sum::<u64>();
        }
    }
}

impl Attempt<'_, '_> {
    pub(super) fn check_constraints(&self) -> Result<(), Expected> {
        Ok(())
    }
}
