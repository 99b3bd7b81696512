//! On which processors a row of a table holds.
//! A processor needs one property of a set, where the set is not empty, and none of another.

use crate::model::arch::Arch;

/// A condition on the properties of a processor.
#[derive(Clone, Copy)]
pub(crate) struct When {
    any: u64,
    none: u64,
}

/// The row holds everywhere.
pub(super) const ALWAYS: When = When { any: 0, none: 0 };
pub(super) const BEFORE_GFX9: When = none(GFX9_PLUS.any);
pub(super) const BEFORE_GFX10: When = none(GFX10_PLUS.any);
pub(super) const BEFORE_GFX11: When = none(GFX11_PLUS.any);
pub(super) const BEFORE_GFX12: When = none(GFX12.any);
pub(super) const GFX8_TO_10: When = any(Arch::GFX8.0 | GFX9_10.any);
pub(super) const GFX9_10: When = any(Arch::GFX9.0 | Arch::GFX10.0);
pub(super) const GFX9_TO_11: When = any(GFX9_10.any | Arch::GFX11.0);
pub(super) const GFX9_PLUS: When = any(Arch::GFX9.0 | GFX10_PLUS.any);
pub(super) const GFX90A: When = any(Arch::GFX90A.0);
pub(super) const GFX940: When = any(Arch::GFX940.0);
pub(super) const GFX10: When = any(Arch::GFX10.0);
pub(super) const GFX10_BEFORE_3: When = When { any: Arch::GFX10.0, none: Arch::GFX10_B.0 };
pub(super) const GFX10_3_TO_11: When = When { any: Arch::GFX10_B.0, none: Arch::GFX12.0 };
pub(super) const GFX10_3_PLUS: When = any(Arch::GFX10_B.0);
pub(super) const GFX10_11: When = any(Arch::GFX10.0 | Arch::GFX11.0);
pub(super) const GFX10_PLUS: When = any(Arch::GFX10.0 | GFX11_PLUS.any);
pub(super) const GFX11: When = any(Arch::GFX11.0);
pub(super) const GFX11_PLUS: When = any(Arch::GFX11.0 | Arch::GFX12.0);
pub(super) const GFX12: When = any(Arch::GFX12.0);
pub(super) const GFX1250: When = any(Arch::GFX1250.0);

const fn any(any: u64) -> When {
    When { any, none: 0 }
}

const fn none(none: u64) -> When {
    When { any: 0, none }
}

impl When {
    pub(crate) const fn holds(self, arch: Arch) -> bool {
        (self.any == 0 || arch.0 & self.any != 0) && arch.0 & self.none == 0
    }
}

/// A value, its name, and where it has that name.
pub(crate) type Row = (u32, &'static str, When);

/// The name of a value: the first row that holds.
pub(crate) fn name_of(rows: &[Row], value: u32, arch: Arch) -> Option<&'static str> {
    rows.iter().find(|(id, _, when)| *id == value && when.holds(arch)).map(|(_, name, _)| *name)
}

/// The value of a name: the first row that holds.
pub(crate) fn value_of(rows: &[Row], name: &str, arch: Arch) -> Option<u32> {
    rows.iter()
        .find(|(_, other, when)| *other == name && when.holds(arch))
        .map(|(value, _, _)| *value)
}
