//! What decoding and printing must know of a processor beyond its list of encodings.

use super::features::{Features, feature};

/// The properties of one processor, under its settings, that change how operands decode or print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arch(pub(crate) u64);

macro_rules! properties {
    ($($(#[$doc:meta])* $name:ident = $llvm:literal,)*) => {
        #[repr(u8)]
        #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "named as the constants")]
        enum Bit { $($name),* }

        impl Arch {
            $($(#[$doc])* pub(crate) const $name: Arch = Arch(1 << Bit::$name as u8);)*

            /// The properties that follow from LLVM's features.
            pub(crate) fn of(features: &Features) -> Arch {
                let mut arch = Arch(0);
                $(if features.has(const { feature($llvm) }) { arch.0 |= Arch::$name.0; })*
                arch
            }
        }
    };
}

properties! {
    GFX8 = "FeatureVolcanicIslands",
    GFX9 = "FeatureGFX9",
    GFX90A = "FeatureGFX90AInsts",
    GFX940 = "FeatureGFX940Insts",
    GFX950 = "FeatureGFX950Insts",
    GFX10 = "FeatureGFX10",
    GFX10_3 = "FeatureGFX10_3Insts",
    GFX10_B = "FeatureGFX10_BEncoding",
    GFX11 = "FeatureGFX11",
    GFX12 = "FeatureGFX12",
    GFX1250 = "FeatureGFX1250Insts",
    WAVE32 = "FeatureWavefrontSize32",
    REAL_TRUE16 = "FeatureRealTrue16Insts",
    FMA_MIX = "FeatureFmaMixInsts",
    UNPACKED_D16 = "FeatureUnpackedD16VMem",
    GDS = "FeatureGDS",
    R128_A16 = "FeatureR128A16",
    G16 = "FeatureG16",
    NSA = "FeatureNSAEncoding",
    PARTIAL_NSA = "FeaturePartialNSAEncoding",
    LITERAL64 = "Feature64BitLiterals",
    ALIGNED_VGPRS = "FeatureRequiresAlignedVGPRs",
    DP_ALU_DPP = "FeatureDPALU_DPP",
    DPP_SRC1_SGPR = "FeatureDPPSrc1SGPR",
    MFMA_INLINE_BUG = "FeatureMFMAInlineLiteralBug",
    TRUE16 = "FeatureTrue16BitInsts",
    XNACK = "FeatureSupportsXNACK",
    VCMPX_PERMLANE = "FeatureVcmpxPermlaneHazard",
    VALU_TRANS_USE = "FeatureVALUTransUseHazard",
    ARCHITECTED_FLAT_SCRATCH = "FeatureArchitectedFlatScratch",
}

impl Arch {
    /// Whether all of these properties hold.
    pub(crate) const fn has(self, properties: Arch) -> bool {
        self.0 & properties.0 == properties.0
    }

    const fn has_any(self, properties: u64) -> bool {
        self.0 & properties != 0
    }

    pub(crate) const fn is_gfx9_plus(self) -> bool {
        self.has(Arch::GFX9) || self.is_gfx10_plus()
    }

    pub(crate) const fn is_gfx10_plus(self) -> bool {
        self.has(Arch::GFX10) || self.is_gfx11_plus()
    }

    pub(crate) const fn is_gfx11_plus(self) -> bool {
        self.has_any(Arch::GFX11.0 | Arch::GFX12.0)
    }

    pub(crate) const fn is_gfx12_plus(self) -> bool {
        self.has(Arch::GFX12)
    }
}
