//! What one device of each kind can hold: memory, registers, waves.
//!
//! Derived from LLVM's AMDGPU target definitions (Apache-2.0 WITH LLVM-exception).

/// How many lanes one wave has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WaveSize {
    /// 32 lanes.
    Wave32,
    /// 64 lanes.
    Wave64,
}

impl WaveSize {
    /// Both sizes, smaller first.
    pub const ALL: [WaveSize; 2] = [WaveSize::Wave32, WaveSize::Wave64];

    /// The number of lanes.
    #[must_use]
    pub const fn lanes(self) -> u32 {
        match self {
            WaveSize::Wave32 => 32,
            WaveSize::Wave64 => 64,
        }
    }

    /// The size with that many lanes.
    #[must_use]
    pub const fn from_lanes(lanes: u32) -> Option<Self> {
        match lanes {
            32 => Some(WaveSize::Wave32),
            64 => Some(WaveSize::Wave64),
            _ => None,
        }
    }
}

/// How vector registers are counted out to waves of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VgprRules {
    /// The unit of the register count in a kernel descriptor.
    pub encoding_granule: u32,
    /// The unit in which the hardware hands registers out.
    pub allocation_granule: u32,
    /// Registers that all waves on one SIMD share.
    pub file: u32,
}

const fn vgprs(encoding_granule: u32, allocation_granule: u32, file: u32) -> Option<VgprRules> {
    Some(VgprRules { encoding_granule, allocation_granule, file })
}

/// Accumulation registers, the second half of a matrix-capable register file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccVgprs {
    /// None.
    None,
    /// A file of their own, as large as the vector one and allocated alongside it.
    Separate,
    /// The upper part of one file shared with the vector registers.
    Unified,
}

/// How flat instructions learn where scratch memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FlatScratch {
    /// No flat scratch: no generic address space.
    None,
    /// FLAT_SCRATCH holds an offset and a size.
    Offset,
    /// FLAT_SCRATCH holds an address.
    Absolute,
    /// The hardware sets it up; kernels do nothing.
    Architected,
}

/// The limits of one processor.
///
/// ```
/// use hsaco_isa::target::WaveSize;
/// use hsaco_isa::Processor;
/// let limits = Processor::from_name("gfx1100").unwrap().limits();
/// assert_eq!(limits.lds_bytes, 65536);
/// assert_eq!(limits.vgprs(WaveSize::Wave32).unwrap().allocation_granule, 24);
/// assert_eq!(limits.waves_with_vgprs(WaveSize::Wave32, 256), Some(5));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// Most LDS one workgroup can address, in bytes.
    pub lds_bytes: u32,
    /// The unit of the LDS size in a kernel descriptor, in bytes.
    pub lds_granule: u32,
    /// Registers of 32-lane waves, where they exist.
    pub wave32: Option<VgprRules>,
    /// Registers of 64-lane waves, where they exist.
    pub wave64: Option<VgprRules>,
    /// Most vector registers one wave can use (both halves where they are unified).
    pub max_vgprs: u32,
    /// Whether there are accumulation registers, and where.
    pub acc_vgprs: AccVgprs,
    /// Most scalar registers one wave can name, VCC and other special ones aside.
    pub max_sgprs: u32,
    /// Scalar registers that all waves on one SIMD share; none where they never limit occupancy.
    pub sgpr_file: Option<u32>,
    /// Most scalar registers that the launch can fill.
    pub max_user_sgprs: u32,
    /// Most waves on one SIMD.
    pub max_waves: u32,
    /// SIMDs in one compute unit.
    pub simds_per_cu: u32,
    /// Most work-items in one workgroup, in all and in each dimension.
    pub max_workgroup: u32,
    /// How flat instructions find scratch memory.
    pub flat_scratch: FlatScratch,
    /// The three work-item ids arrive packed in v0.
    pub packed_work_item_ids: bool,
    /// Kernel arguments can be loaded into SGPRs before the kernel starts.
    pub kernarg_preload: bool,
    /// A workgroup's waves may be spread over several compute units.
    pub tgsplit: bool,
    /// Two compute units can work as one workgroup processor.
    pub wgp_mode: bool,
    /// Waves can ask for more vector registers while they run.
    pub dynamic_vgprs: bool,
    /// Workgroups can be launched in clusters.
    pub clusters: bool,
}

impl Limits {
    /// The register rules for waves of that size, if the processor has them.
    #[must_use]
    pub const fn vgprs(&self, wave: WaveSize) -> Option<VgprRules> {
        match wave {
            WaveSize::Wave32 => self.wave32,
            WaveSize::Wave64 => self.wave64,
        }
    }

    /// The wave sizes that the processor has, smaller first.
    pub fn wave_sizes(&self) -> impl Iterator<Item = WaveSize> + '_ {
        WaveSize::ALL.into_iter().filter(|wave| self.vgprs(*wave).is_some())
    }

    /// How many waves fit on one SIMD when each uses that many vector registers.
    ///
    /// Nothing if the processor has no waves of that size; 0 if not even one fits.
    #[must_use]
    pub fn waves_with_vgprs(&self, wave: WaveSize, vgprs: u32) -> Option<u32> {
        let rules = self.vgprs(wave)?;
        if vgprs > self.max_vgprs {
            return Some(0);
        }
        let allocated = vgprs.max(1).next_multiple_of(rules.allocation_granule);
        Some((rules.file / allocated).min(self.max_waves))
    }
}

// Each row says only what differs from the row it starts from.
// Sources: "td" the processor features, "base" the target's register and occupancy queries, "kd" the
// kernel descriptor documentation, "llc" measured: largest LDS accepted, occupancy by register count.
// What `tests/llvm.rs` can measure, it does, for every processor.

/// gfx600 to gfx602. LDS: td, llc; granule: kd; registers, waves: base, llc; no flat instructions: td.
pub(crate) const GFX6: Limits = Limits {
    lds_bytes: 32768,
    lds_granule: 256,
    wave32: None,
    wave64: vgprs(4, 4, 256),
    max_vgprs: 256,
    acc_vgprs: AccVgprs::None,
    max_sgprs: 104,
    sgpr_file: Some(512),
    max_user_sgprs: 16,
    max_waves: 10,
    simds_per_cu: 4,
    max_workgroup: 1024,
    flat_scratch: FlatScratch::None,
    packed_work_item_ids: false,
    kernarg_preload: false,
    tgsplit: false,
    wgp_mode: false,
    dynamic_vgprs: false,
    clusters: false,
};

/// gfx700 to gfx705. LDS: td, llc; granule: kd; scratch: td.
pub(crate) const GFX7: Limits =
    Limits { lds_bytes: 65536, lds_granule: 512, flat_scratch: FlatScratch::Offset, ..GFX6 };

/// gfx801, gfx803, gfx810. SGPRs: base.
pub(crate) const GFX8: Limits = Limits { max_sgprs: 102, sgpr_file: Some(800), ..GFX7 };

/// gfx802, gfx805. Fewer SGPRs because of the initialisation bug: td, base.
pub(crate) const GFX802: Limits = Limits { max_sgprs: 96, ..GFX8 };

/// gfx900 to gfx909, gfx90c, gfx9-generic. Scratch: td.
pub(crate) const GFX9: Limits = Limits { flat_scratch: FlatScratch::Absolute, ..GFX8 };

/// gfx908. Accumulation registers: td.
pub(crate) const GFX908: Limits = Limits { acc_vgprs: AccVgprs::Separate, ..GFX9 };

/// gfx90a. Registers, waves: base, llc; ids, preload, tgsplit: td.
pub(crate) const GFX90A: Limits = Limits {
    wave64: vgprs(8, 8, 512),
    max_vgprs: 512,
    acc_vgprs: AccVgprs::Unified,
    max_waves: 8,
    packed_work_item_ids: true,
    kernarg_preload: true,
    tgsplit: true,
    ..GFX9
};

/// gfx942, gfx9-4-generic (which keeps 64 KB of LDS even on gfx950). Scratch: td.
pub(crate) const GFX942: Limits = Limits { flat_scratch: FlatScratch::Architected, ..GFX90A };

/// gfx950. LDS: td, llc; granule: kd (llc rounds to 2048 where no runtime fills the field in).
pub(crate) const GFX950: Limits = Limits { lds_bytes: 163_840, lds_granule: 1280, ..GFX942 };

/// gfx1010 to gfx1013, gfx10-1-generic. Registers, waves, SIMDs: base, llc.
pub(crate) const GFX101: Limits = Limits {
    wave32: vgprs(8, 8, 1024),
    wave64: vgprs(4, 4, 512),
    max_sgprs: 106,
    sgpr_file: None,
    max_waves: 20,
    simds_per_cu: 2,
    wgp_mode: true,
    ..GFX9
};

/// gfx1030 to gfx1036, gfx10-3-generic. Registers, waves: base, llc.
pub(crate) const GFX103: Limits =
    Limits { wave32: vgprs(8, 16, 1024), wave64: vgprs(4, 8, 512), max_waves: 16, ..GFX101 };

/// gfx1102, gfx1103, gfx1150, gfx1152, gfx1153, gfx11-generic. Scratch, ids: td.
pub(crate) const GFX11: Limits =
    Limits { flat_scratch: FlatScratch::Architected, packed_work_item_ids: true, ..GFX103 };

/// gfx1100, gfx1101, gfx1151: half as many registers again: td, base, llc.
pub(crate) const GFX1100: Limits =
    Limits { wave32: vgprs(8, 24, 1536), wave64: vgprs(4, 12, 768), ..GFX11 };

/// gfx1200, gfx1201, gfx12-generic. Dynamic registers: td.
pub(crate) const GFX12: Limits = Limits { dynamic_vgprs: true, ..GFX1100 };

/// gfx1250, gfx1251. LDS: td, llc; granule: kd; registers: base, llc; the rest: td.
pub(crate) const GFX125: Limits = Limits {
    lds_bytes: 327_680,
    lds_granule: 2048,
    wave32: vgprs(16, 16, 1024),
    wave64: None,
    max_vgprs: 1024,
    max_user_sgprs: 32,
    simds_per_cu: 4,
    kernarg_preload: true,
    wgp_mode: false,
    dynamic_vgprs: false,
    clusters: true,
    ..GFX12
};
