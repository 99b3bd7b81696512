//! Wait counters, and where `s_waitcnt` keeps them.
//! Derived from LLVM's AMDGPU target definitions (Apache-2.0 WITH LLVM-exception).

use super::arch::Arch;
use super::named_enum::named_enum;

named_enum! {
    /// A counter of outstanding operations.
    ///
    /// Up to gfx11 there are `vmcnt`, `vscnt` (from gfx10 on), `expcnt` and `lgkmcnt`; from gfx12 on finer ones.
    Counter {
        Vmcnt = "vmcnt",
        Vscnt = "vscnt",
        Expcnt = "expcnt",
        Lgkmcnt = "lgkmcnt",
        Loadcnt = "loadcnt",
        Storecnt = "storecnt",
        Dscnt = "dscnt",
        Kmcnt = "kmcnt",
        Samplecnt = "samplecnt",
        Bvhcnt = "bvhcnt",
        Xcnt = "xcnt",
        Asynccnt = "asynccnt",
        Tensorcnt = "tensorcnt",
    }
}

/// Where `s_waitcnt` keeps a counter: `low` bits from `shift` on, and `high` more from bit 14 on.
pub(crate) struct WaitField {
    pub(crate) counter: Counter,
    shift: u32,
    low: u32,
    high: u32,
}

const fn field(counter: Counter, shift: u32, low: u32, high: u32) -> WaitField {
    WaitField { counter, shift, low, high }
}

const EXPCNT: WaitField = field(Counter::Expcnt, 4, 3, 0);

static GFX8: [WaitField; 3] =
    [field(Counter::Vmcnt, 0, 4, 0), EXPCNT, field(Counter::Lgkmcnt, 8, 4, 0)];
static GFX9: [WaitField; 3] =
    [field(Counter::Vmcnt, 0, 4, 2), EXPCNT, field(Counter::Lgkmcnt, 8, 4, 0)];
static GFX10: [WaitField; 3] =
    [field(Counter::Vmcnt, 0, 4, 2), EXPCNT, field(Counter::Lgkmcnt, 8, 6, 0)];
static GFX11: [WaitField; 3] = [
    field(Counter::Vmcnt, 10, 6, 0),
    field(Counter::Expcnt, 0, 3, 0),
    field(Counter::Lgkmcnt, 4, 6, 0),
];

impl WaitField {
    /// The fields of `s_waitcnt` on a processor.
    pub(crate) const fn all(arch: Arch) -> &'static [WaitField; 3] {
        if arch.is_gfx11_plus() {
            &GFX11
        } else if arch.is_gfx10_plus() {
            &GFX10
        } else if arch.is_gfx9_plus() {
            &GFX9
        } else {
            &GFX8
        }
    }

    /// The count that an operand holds.
    pub(crate) const fn read(&self, operand: u32) -> u32 {
        (operand >> self.shift & ones(self.low)) | (operand >> 14 & ones(self.high)) << self.low
    }

    /// The bits of an operand that hold a count.
    pub(crate) const fn write(&self, count: u32) -> u32 {
        (count & ones(self.low)) << self.shift | (count >> self.low & ones(self.high)) << 14
    }

    /// The count that is not waited for: all bits set.
    pub(crate) const fn max(&self) -> u32 {
        ones(self.low + self.high)
    }
}

/// So many bits that are set.
pub(crate) const fn ones(width: u32) -> u32 {
    (1 << width) - 1
}
