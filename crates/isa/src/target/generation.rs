//! Families of processors that share encodings and register layouts.

/// A family of processors whose kernel descriptors and instruction encodings agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Generation {
    /// gfx600 to gfx602.
    Gfx6,
    /// gfx700 to gfx705.
    Gfx7,
    /// gfx801 to gfx810.
    Gfx8,
    /// gfx900 to gfx909 and gfx90c, gfx9-generic.
    Gfx9,
    /// gfx90a.
    Gfx90a,
    /// gfx942, gfx950, gfx9-4-generic.
    Gfx940,
    /// gfx1010 to gfx1036, gfx10-1-generic, gfx10-3-generic.
    Gfx10,
    /// gfx1100 to gfx1153, gfx11-generic.
    Gfx11,
    /// gfx1200, gfx1201, gfx12-generic.
    Gfx12,
    /// gfx1250, gfx1251.
    Gfx125,
}
