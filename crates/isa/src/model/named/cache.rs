//! Cache policies: bits, and the temporal hints of gfx12.
//! Derived from LLVM's AMDGPU target definitions (Apache-2.0 WITH LLVM-exception).

use crate::model::table::Flags;

/// Which names the temporal hint of an instruction has from gfx12 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TemporalKind {
    Load,
    Store,
    Atomic,
}

impl TemporalKind {
    /// That of a memory instruction.
    pub(crate) const fn of(flags: &Flags) -> Self {
        let only_stores = flags.has(Flags::STORE_HINT) || !flags.has(Flags::MAY_LOAD);
        if flags.any(Flags::ATOMIC_NO_RETURN | Flags::ATOMIC_RETURN) {
            TemporalKind::Atomic
        } else if flags.has(Flags::MAY_STORE) && only_stores {
            TemporalKind::Store
        } else {
            TemporalKind::Load
        }
    }
}

pub(crate) const GLC: u32 = 1;
pub(crate) const SLC: u32 = 2;
pub(crate) const DLC: u32 = 4;
pub(crate) const SCC: u32 = 16;

pub(crate) const HINT: u32 = 7;
pub(crate) const SCOPE: u32 = 24;
pub(crate) const SCOPE_DEV: u32 = 16;
pub(crate) const NV: u32 = 32;
pub(crate) const SCALE_OFFSET: u32 = 1 << 11;

pub(crate) static LOADS: [&str; 8] = [
    "",
    "TH_LOAD_NT",
    "TH_LOAD_HT",
    "TH_LOAD_LU",
    "TH_LOAD_NT_RT",
    "TH_LOAD_RT_NT",
    "TH_LOAD_NT_HT",
    "0x7",
];
pub(crate) static STORES: [&str; 8] = [
    "",
    "TH_STORE_NT",
    "TH_STORE_HT",
    "TH_STORE_WB",
    "TH_STORE_NT_RT",
    "TH_STORE_RT_NT",
    "TH_STORE_NT_HT",
    "TH_STORE_NT_WB",
];
pub(crate) static ATOMICS: [&str; 8] = [
    "",
    "TH_ATOMIC_RETURN",
    "TH_ATOMIC_NT",
    "TH_ATOMIC_NT_RETURN",
    "TH_ATOMIC_0x4",
    "TH_ATOMIC_0x5",
    "TH_ATOMIC_0x6",
    "TH_ATOMIC_0x7",
];
