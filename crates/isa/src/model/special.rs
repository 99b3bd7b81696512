//! Registers with a name instead of a number.

use super::named_enum::named_enum;

named_enum! {
    /// A register that is not one of a numbered file.
    // In the order of the bits of register classes, which the table generator writes.
    Special {
        VccLo = "vcc_lo",
        VccHi = "vcc_hi",
        Vcc = "vcc",
        ExecLo = "exec_lo",
        ExecHi = "exec_hi",
        Exec = "exec",
        M0 = "m0",
        Null = "null",
        Null64 = "null",
        FlatScratchLo = "flat_scratch_lo",
        FlatScratchHi = "flat_scratch_hi",
        FlatScratch = "flat_scratch",
        XnackMaskLo = "xnack_mask_lo",
        XnackMaskHi = "xnack_mask_hi",
        XnackMask = "xnack_mask",
        TbaLo = "tba_lo",
        TbaHi = "tba_hi",
        Tba = "tba",
        TmaLo = "tma_lo",
        TmaHi = "tma_hi",
        Tma = "tma",
        LdsDirect = "src_lds_direct",
        SharedBaseLo = "src_shared_base",
        SharedLimitLo = "src_shared_limit",
        PrivateBaseLo = "src_private_base",
        PrivateLimitLo = "src_private_limit",
        SharedBase = "src_shared_base",
        SharedLimit = "src_shared_limit",
        PrivateBase = "src_private_base",
        PrivateLimit = "src_private_limit",
        PopsExitingWaveId = "src_pops_exiting_wave_id",
        VccZ = "src_vccz",
        ExecZ = "src_execz",
        Scc = "src_scc",
        FlatScratchBaseLo = "src_flat_scratch_base_lo",
        FlatScratchBaseHi = "src_flat_scratch_base_hi",
        Mode = "mode",
    }
}

impl Special {
    /// Whether it reads a value that any operand may have, whatever its register class.
    pub(crate) const fn is_inline_value(self) -> bool {
        self as u8 >= Special::SharedBaseLo as u8 || matches!(self, Special::Null)
    }

    pub(crate) const fn is_half_of(self, whole: Special) -> bool {
        matches!(
            (whole, self),
            (Special::Vcc, Special::VccLo | Special::VccHi)
                | (Special::Exec, Special::ExecLo | Special::ExecHi)
                | (Special::FlatScratch, Special::FlatScratchLo | Special::FlatScratchHi)
        )
    }
}
