//! The e_flags word of an AMD GPU ELF file.
//!
//! Derived from LLVM's AMDGPU target definitions (Apache-2.0 WITH LLVM-exception).

use std::fmt;

use super::{AbiVersion, Feature, Processor, Setting, TargetId};

/// An e_flags word together with what decides how to read it.
///
/// ```
/// use hsaco_isa::target::{AbiVersion, EFlags, Setting};
/// let flags = EFlags::new(0x74c, AbiVersion::V6);
/// assert_eq!(flags.target_id().unwrap().to_string(), "gfx942:xnack+");
/// assert_eq!(flags.sramecc(), Setting::Any);
/// assert_eq!(flags.readelf_text(), "gfx942, xnack+, sramecc");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct EFlags {
    raw: u32,
    abi: AbiVersion,
    hsa: bool,
}

/// The four ways in which bits have been laid out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    V2,
    V3,
    V4,
    V6,
}

impl EFlags {
    /// EF_AMDGPU_MACH: the processor's number.
    pub const MACH: u32 = 0xff;
    /// EF_AMDGPU_FEATURE_XNACK_V2: xnack is on.
    pub const XNACK_V2: u32 = 0x1;
    /// EF_AMDGPU_FEATURE_TRAP_HANDLER_V2: a trap handler is needed.
    pub const TRAP_HANDLER_V2: u32 = 0x2;
    /// EF_AMDGPU_FEATURE_XNACK_V3: xnack is on.
    pub const XNACK_V3: u32 = 0x100;
    /// EF_AMDGPU_FEATURE_SRAMECC_V3: sramecc is on.
    pub const SRAMECC_V3: u32 = 0x200;
    /// EF_AMDGPU_FEATURE_XNACK_V4: the two bits of the xnack setting.
    pub const XNACK_V4: u32 = 0x300;
    /// EF_AMDGPU_FEATURE_XNACK_UNSUPPORTED_V4.
    pub const XNACK_UNSUPPORTED_V4: u32 = 0x000;
    /// EF_AMDGPU_FEATURE_XNACK_ANY_V4.
    pub const XNACK_ANY_V4: u32 = 0x100;
    /// EF_AMDGPU_FEATURE_XNACK_OFF_V4.
    pub const XNACK_OFF_V4: u32 = 0x200;
    /// EF_AMDGPU_FEATURE_XNACK_ON_V4.
    pub const XNACK_ON_V4: u32 = 0x300;
    /// EF_AMDGPU_FEATURE_SRAMECC_V4: the two bits of the sramecc setting.
    pub const SRAMECC_V4: u32 = 0xc00;
    /// EF_AMDGPU_FEATURE_SRAMECC_UNSUPPORTED_V4.
    pub const SRAMECC_UNSUPPORTED_V4: u32 = 0x000;
    /// EF_AMDGPU_FEATURE_SRAMECC_ANY_V4.
    pub const SRAMECC_ANY_V4: u32 = 0x400;
    /// EF_AMDGPU_FEATURE_SRAMECC_OFF_V4.
    pub const SRAMECC_OFF_V4: u32 = 0x800;
    /// EF_AMDGPU_FEATURE_SRAMECC_ON_V4.
    pub const SRAMECC_ON_V4: u32 = 0xc00;
    /// EF_AMDGPU_GENERIC_VERSION: the byte of the generic version.
    pub const GENERIC_VERSION: u32 = 0xff00_0000;
    /// EF_AMDGPU_GENERIC_VERSION_OFFSET: where that byte starts.
    pub const GENERIC_VERSION_OFFSET: u32 = 24;

    /// The flags of an HSA code object.
    #[must_use]
    pub const fn new(raw: u32, abi: AbiVersion) -> Self {
        Self { raw, abi, hsa: true }
    }

    /// The flags of an object for PAL, Mesa or no system: ABI version 0 there means V3 bits.
    ///
    /// ```
    /// use hsaco_isa::target::{AbiVersion, EFlags};
    /// let flags = EFlags::non_hsa(0x33f, AbiVersion::from_byte(0));
    /// assert_eq!(flags.target_id().unwrap().to_string(), "gfx90a:sramecc+:xnack+");
    /// ```
    #[must_use]
    pub const fn non_hsa(raw: u32, abi: AbiVersion) -> Self {
        Self { raw, abi, hsa: false }
    }

    /// The word as it stands in the file.
    #[must_use]
    pub const fn raw(self) -> u32 {
        self.raw
    }

    /// The ABI version by which the word is read.
    #[must_use]
    pub const fn abi(self) -> AbiVersion {
        self.abi
    }

    const fn layout(self) -> Layout {
        match self.abi.byte() {
            // The V2 bits share numbers with r600 processors, which HSA never had. Where an HSA
            // processor's number stands instead, LLVM wrote the file: it put V3 bits there.
            0 if self.hsa && self.raw & Self::MACH < FIRST_AMDGCN_MACH => Layout::V2,
            0 | 1 => Layout::V3,
            2 | 3 => Layout::V4,
            _ => Layout::V6,
        }
    }

    /// The processor's number; 0 where the word has none.
    #[must_use]
    pub const fn mach(self) -> u32 {
        match self.layout() {
            Layout::V2 => 0,
            Layout::V3 | Layout::V4 | Layout::V6 => self.raw & Self::MACH,
        }
    }

    /// The processor, if the word names one that is known. V2 objects name theirs in a note.
    #[must_use]
    pub fn processor(self) -> Option<Processor> {
        Processor::from_mach(self.mach())
    }

    /// The xnack setting.
    #[must_use]
    pub fn xnack(self) -> Setting {
        self.setting(Feature::Xnack)
    }

    /// The sramecc setting.
    #[must_use]
    pub fn sramecc(self) -> Setting {
        self.setting(Feature::Sramecc)
    }

    /// The setting of one feature.
    ///
    /// Up to V3 there is one bit: clear, it means off where the processor has the feature.
    #[must_use]
    pub fn setting(self, feature: Feature) -> Setting {
        match (self.layout(), feature) {
            (Layout::V2, Feature::Xnack) => Setting::on_or_off(self.raw & Self::XNACK_V2 != 0),
            (Layout::V2, Feature::Sramecc) => Setting::Unsupported,
            (Layout::V3, _) if self.raw & v3_bit(feature) != 0 => Setting::On,
            (Layout::V3, _) => match self.processor().map(|p| p.default_setting(feature)) {
                Some(Setting::Any) => Setting::Off,
                _ => Setting::Unsupported,
            },
            (Layout::V4 | Layout::V6, _) => match self.raw >> v4_shift(feature) & 3 {
                0 => Setting::Unsupported,
                1 => Setting::Any,
                2 => Setting::Off,
                _ => Setting::On,
            },
        }
    }

    /// The version of the generic processor; 0 where there is none.
    #[must_use]
    pub const fn generic_version(self) -> u8 {
        match self.layout() {
            Layout::V6 => self.raw.to_be_bytes()[0],
            Layout::V2 | Layout::V3 | Layout::V4 => 0,
        }
    }

    /// The bits that are set although nothing is known to be there.
    #[must_use]
    pub const fn reserved(self) -> u32 {
        self.raw & !self.layout().mask()
    }

    /// Processor and settings together, if the processor is known.
    #[must_use]
    pub fn target_id(self) -> Option<TargetId> {
        let processor = self.processor()?;
        Some(TargetId { processor, sramecc: self.sramecc(), xnack: self.xnack() })
    }

    /// The word that a compiler writes for that target into an HSA code object.
    ///
    /// A version that cannot say everything says what it can: before V6 there is no generic version,
    /// V3 takes "any" for "on", and V2 has room for xnack alone.
    ///
    /// ```
    /// use hsaco_isa::target::{AbiVersion, EFlags};
    /// let flags = EFlags::encode("gfx9-4-generic:xnack-".parse()?, AbiVersion::V6, 1);
    /// assert_eq!(flags.raw(), 0x0100_065f);
    /// # Ok::<(), hsaco_isa::target::ParseTargetError>(())
    /// ```
    #[must_use]
    pub fn encode(target: TargetId, abi: AbiVersion, generic_version: u8) -> Self {
        let layout = match abi {
            AbiVersion::V2 => Layout::V2,
            _ => Self::new(0, abi).layout(),
        };
        Self::new(layout.encode(target, generic_version), abi)
    }

    /// The word that a compiler writes for that target for PAL, Mesa or no system.
    #[must_use]
    pub fn encode_non_hsa(target: TargetId) -> Self {
        Self::non_hsa(Layout::V3.encode(target, 0), AbiVersion::from_byte(0))
    }

    /// What `llvm-readelf -h` of LLVM 22 prints behind the number: `gfx942, xnack, sramecc+`.
    ///
    /// Empty if it prints nothing there.
    #[must_use]
    pub fn readelf_text(self) -> String {
        let mut words = Vec::new();
        let has_sign = match self.abi.byte() {
            0 | 1 => false,
            2..=4 => true,
            // It knows no bits of later versions.
            _ => return String::new(),
        };
        words.extend(mach_name(self.raw & Self::MACH).map(str::to_owned));
        for feature in [Feature::Xnack, Feature::Sramecc] {
            let (is_named, sign) = if has_sign {
                let setting = self.setting(feature);
                (setting != Setting::Unsupported, setting.sign())
            } else {
                (self.raw & v3_bit(feature) != 0, None)
            };
            if is_named {
                words.push(sign.map_or_else(|| feature.to_string(), |s| format!("{feature}{s}")));
            }
        }
        if self.generic_version() != 0 {
            words.push(format!("generic_v{}", self.generic_version()));
        }
        words.join(", ")
    }

    /// What contradicts itself, or the table of processors, in the word.
    pub fn faults(self) -> impl Iterator<Item = EFlagsFault> {
        let version = self.generic_version();
        let processor = self.processor();
        let is_v2 = self.layout() == Layout::V2;
        let mut faults = Vec::new();
        match processor {
            None if is_v2 => {}
            None => faults.push(EFlagsFault::UnknownProcessor { mach: self.mach() }),
            Some(processor) if processor.is_generic() && self.layout() != Layout::V6 => {
                faults.push(EFlagsFault::GenericBeforeV6 { processor, abi: self.abi });
            }
            Some(processor) if processor.is_generic() && version == 0 => {
                faults.push(EFlagsFault::GenericVersionMissing { processor });
            }
            Some(processor) if !processor.is_generic() && version != 0 => {
                faults.push(EFlagsFault::GenericVersionUnexpected { processor, version });
            }
            Some(_) => {}
        }
        faults.extend(processor.into_iter().flat_map(|processor| {
            Feature::ALL.into_iter().filter_map(move |feature| {
                let setting = self.setting(feature);
                let has_setting = setting != Setting::Unsupported;
                let has_feature = processor.default_setting(feature) != Setting::Unsupported;
                (has_setting != has_feature).then_some(EFlagsFault::Feature {
                    processor,
                    feature,
                    setting,
                })
            })
        }));
        if self.reserved() != 0 {
            faults.push(EFlagsFault::Reserved { bits: self.reserved() });
        }
        faults.into_iter()
    }

    /// The flags of what a linker makes of two objects, in that order, as ld.lld 22 decides it.
    ///
    /// ```
    /// use hsaco_isa::target::{AbiVersion, EFlags};
    /// let any = EFlags::new(0x54c, AbiVersion::V6);
    /// let on = EFlags::new(0x74c, AbiVersion::V6);
    /// assert_eq!(any.merge(on), Ok(on));
    /// let off = EFlags::new(0x64c, AbiVersion::V6);
    /// assert_eq!(on.merge(off).unwrap_err().to_string(), "xnack differs: on and off");
    /// ```
    ///
    /// # Errors
    /// The first difference that keeps the two apart.
    pub fn merge(self, other: Self) -> Result<Self, MergeConflict> {
        let raw = match self.abi {
            AbiVersion::V2 | AbiVersion::V3 if self.raw == other.raw => self.raw,
            AbiVersion::V2 | AbiVersion::V3 => {
                return Err(MergeConflict::Flags { first: self.raw, second: other.raw });
            }
            // The first object's version says how to read them all; lld compares versions last.
            AbiVersion::V4 | AbiVersion::V5 | AbiVersion::V6 => {
                self.merge_fields(Self { abi: self.abi, ..other })?
            }
            abi => return Err(MergeConflict::UnknownAbi { abi }),
        };
        if self.abi != other.abi {
            return Err(MergeConflict::Abi { first: self.abi, second: other.abi });
        }
        Ok(Self { raw, ..self })
    }

    fn merge_fields(self, other: Self) -> Result<u32, MergeConflict> {
        if self.mach() != other.mach() {
            return Err(MergeConflict::Mach { first: self.mach(), second: other.mach() });
        }
        let mut raw = self.raw & (Self::MACH | Self::GENERIC_VERSION) & self.layout().mask();
        for feature in [Feature::Xnack, Feature::Sramecc] {
            let (first, second) = (self.setting(feature), other.setting(feature));
            let merged = match (first, second) {
                // lld lets "any" give way even to "unsupported", though not the other way round.
                (Setting::Any, second) => second,
                (first, second) if first == second => first,
                (Setting::On | Setting::Off, Setting::Any) => first,
                _ => return Err(MergeConflict::Feature { feature, first, second }),
            };
            raw |= v4_bits(merged) << v4_shift(feature);
        }
        let (first, second) = (self.generic_version(), other.generic_version());
        if first != second {
            return Err(MergeConflict::GenericVersion { first, second });
        }
        Ok(raw)
    }
}

impl fmt::Debug for EFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let system = if self.hsa { "" } else { ", not HSA" };
        write!(f, "EFlags({:#x}, ABI {}{system})", self.raw, self.abi.byte())
    }
}

impl Layout {
    const fn mask(self) -> u32 {
        match self {
            Layout::V2 => EFlags::XNACK_V2 | EFlags::TRAP_HANDLER_V2,
            Layout::V3 => EFlags::MACH | EFlags::XNACK_V3 | EFlags::SRAMECC_V3,
            Layout::V4 => EFlags::MACH | EFlags::XNACK_V4 | EFlags::SRAMECC_V4,
            Layout::V6 => Layout::V4.mask() | EFlags::GENERIC_VERSION,
        }
    }

    fn encode(self, target: TargetId, generic_version: u8) -> u32 {
        let settings = |bits: &dyn Fn(Feature, Setting) -> u32| {
            Feature::ALL.into_iter().fold(0, |raw, f| raw | bits(f, target.setting(f)))
        };
        let mach = target.processor.mach();
        match self {
            Layout::V2 if target.xnack == Setting::On => EFlags::XNACK_V2,
            Layout::V2 => 0,
            Layout::V3 => {
                mach | settings(&|feature, setting| match setting {
                    Setting::On | Setting::Any => v3_bit(feature),
                    Setting::Off | Setting::Unsupported => 0,
                })
            }
            Layout::V4 => mach | settings(&|feature, s| v4_bits(s) << v4_shift(feature)),
            Layout::V6 => {
                Layout::V4.encode(target, 0)
                    | u32::from(generic_version) << EFlags::GENERIC_VERSION_OFFSET
            }
        }
    }
}

const fn v3_bit(feature: Feature) -> u32 {
    match feature {
        Feature::Xnack => EFlags::XNACK_V3,
        Feature::Sramecc => EFlags::SRAMECC_V3,
    }
}

const fn v4_shift(feature: Feature) -> u32 {
    match feature {
        Feature::Xnack => EFlags::XNACK_V4.trailing_zeros(),
        Feature::Sramecc => EFlags::SRAMECC_V4.trailing_zeros(),
    }
}

const fn v4_bits(setting: Setting) -> u32 {
    match setting {
        Setting::Unsupported => 0,
        Setting::Any => 1,
        Setting::Off => 2,
        Setting::On => 3,
    }
}

/// EF_AMDGPU_MACH_AMDGCN_FIRST.
const FIRST_AMDGCN_MACH: u32 = 0x20;

/// The processors before AMDGCN, by number from 1: never an HSA target, but readelf names them.
const R600: [&str; 16] = [
    "r600", "r630", "rs880", "rv670", "rv710", "rv730", "rv770", "cedar", "cypress", "juniper",
    "redwood", "sumo", "barts", "caicos", "cayman", "turks",
];

fn mach_name(mach: u32) -> Option<&'static str> {
    let r600 = || R600.into_iter().zip(1..).find_map(|(name, n)| (n == mach).then_some(name));
    Processor::from_mach(mach).map(Processor::name).or_else(r600)
}

/// A contradiction in an e_flags word.
///
/// ```
/// use hsaco_isa::target::{AbiVersion, EFlags};
/// let faults: Vec<_> = EFlags::new(0x54, AbiVersion::V6).faults().collect();
/// assert_eq!(faults[0].to_string(), "generic processor gfx11-generic without a generic version");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EFlagsFault {
    /// No processor has that number.
    UnknownProcessor {
        /// The number.
        mach: u32,
    },
    /// A generic processor in a version that has no room for a generic version.
    GenericBeforeV6 {
        /// The processor.
        processor: Processor,
        /// The version.
        abi: AbiVersion,
    },
    /// A generic processor with generic version 0.
    GenericVersionMissing {
        /// The processor.
        processor: Processor,
    },
    /// An exact processor with a generic version.
    GenericVersionUnexpected {
        /// The processor.
        processor: Processor,
        /// The version.
        version: u8,
    },
    /// A setting for a feature the processor has not, or none for one it has.
    Feature {
        /// The processor.
        processor: Processor,
        /// The feature.
        feature: Feature,
        /// The setting.
        setting: Setting,
    },
    /// Bits that should be zero.
    Reserved {
        /// The bits.
        bits: u32,
    },
}

impl fmt::Display for EFlagsFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownProcessor { mach } => write!(f, "unknown processor number {mach:#x}"),
            Self::GenericBeforeV6 { processor, abi } => {
                write!(f, "generic processor {processor} in a code object {abi}; it needs V6")
            }
            Self::GenericVersionMissing { processor } => {
                write!(f, "generic processor {processor} without a generic version")
            }
            Self::GenericVersionUnexpected { processor, version } => {
                write!(f, "generic version {version} for {processor}, which is not generic")
            }
            Self::Feature { processor, feature, setting: Setting::Unsupported } => {
                write!(f, "no {feature} setting, which {processor} has")
            }
            Self::Feature { processor, feature, setting } => {
                write!(f, "{feature} is {setting}, which {processor} has no setting for")
            }
            Self::Reserved { bits } => write!(f, "reserved bits {bits:#x} are set"),
        }
    }
}

/// Why two objects cannot be linked into one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MergeConflict {
    /// The linker knows no rule for that ABI version.
    UnknownAbi {
        /// The version.
        abi: AbiVersion,
    },
    /// The ABI versions differ.
    Abi {
        /// Of the first object.
        first: AbiVersion,
        /// Of the second object.
        second: AbiVersion,
    },
    /// The words differ, in a version where they have to be equal.
    Flags {
        /// Of the first object.
        first: u32,
        /// Of the second object.
        second: u32,
    },
    /// The processors differ.
    Mach {
        /// Of the first object.
        first: u32,
        /// Of the second object.
        second: u32,
    },
    /// The settings of a feature exclude each other.
    Feature {
        /// The feature.
        feature: Feature,
        /// Of the first object.
        first: Setting,
        /// Of the second object.
        second: Setting,
    },
    /// The generic versions differ.
    GenericVersion {
        /// Of the first object.
        first: u8,
        /// Of the second object.
        second: u8,
    },
}

impl fmt::Display for MergeConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownAbi { abi } => write!(f, "no merge rule for {abi}"),
            Self::Abi { first, second } => {
                write!(f, "code object version differs: {first} and {second}")
            }
            Self::Flags { first, second } => {
                write!(f, "e_flags differ: {first:#x} and {second:#x}")
            }
            Self::Mach { first, second } => {
                f.write_str("processor differs: ")?;
                write_mach(f, *first)?;
                f.write_str(" and ")?;
                write_mach(f, *second)
            }
            Self::Feature { feature, first, second } => {
                write!(f, "{feature} differs: {first} and {second}")
            }
            Self::GenericVersion { first, second } => {
                write!(f, "generic version differs: {first} and {second}")
            }
        }
    }
}

impl std::error::Error for MergeConflict {}

fn write_mach(f: &mut fmt::Formatter<'_>, mach: u32) -> fmt::Result {
    match mach_name(mach) {
        Some(name) => f.write_str(name),
        None => write!(f, "{mach:#x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v6(raw: u32) -> EFlags {
        EFlags::new(raw, AbiVersion::V6)
    }

    /// What LLVM 22 writes.
    const MEASURED: [(&str, u32); 13] = [
        ("gfx942", 0x54c),
        ("gfx942:xnack+", 0x74c),
        ("gfx942:xnack-", 0x64c),
        ("gfx942:sramecc-:xnack+", 0xb4c),
        ("gfx90a:sramecc+", 0xd3f),
        ("gfx908:sramecc+:xnack-", 0xe30),
        ("gfx950", 0x54f),
        ("gfx900", 0x12c),
        ("gfx1010", 0x133),
        ("gfx1100", 0x41),
        ("gfx1250", 0x549),
        ("gfx9-4-generic:xnack-", 0x0100_065f),
        ("gfx11-generic", 0x0100_0054),
    ];

    #[test]
    fn measured_words() {
        for (text, raw) in MEASURED {
            let target: TargetId = text.parse().unwrap();
            assert_eq!(v6(raw).target_id(), Some(target), "{text}");
            let version = target.processor.generic_version();
            assert_eq!(EFlags::encode(target, AbiVersion::V6, version).raw(), raw, "{text}");
            assert_eq!(v6(raw).faults().collect::<Vec<_>>(), [], "{text}");
            assert_eq!(v6(raw).generic_version(), version);
            assert_eq!(v6(raw).reserved(), 0);
        }
    }

    #[test]
    fn every_processor_round_trips() {
        for processor in Processor::all() {
            let target = TargetId::new(processor);
            for abi in [AbiVersion::V4, AbiVersion::V5, AbiVersion::V6, AbiVersion::from_byte(9)] {
                let flags = EFlags::encode(target, abi, processor.generic_version());
                assert_eq!(flags.mach(), processor.mach());
                assert_eq!(flags.target_id(), Some(target), "{flags:?}");
            }
            for flags in [EFlags::encode(target, AbiVersion::V3, 0), EFlags::encode_non_hsa(target)]
            {
                let on = |s| if s == Setting::Any { Setting::On } else { s };
                assert_eq!(flags.processor(), Some(processor));
                assert_eq!(flags.xnack(), on(target.xnack));
                assert_eq!(flags.sramecc(), on(target.sramecc));
            }
        }
    }

    #[test]
    fn version_3_has_one_bit_for_each_feature() {
        let read = |raw| EFlags::new(raw, AbiVersion::V3).target_id().unwrap().to_string();
        assert_eq!(read(0x2f), "gfx906:sramecc-:xnack-");
        assert_eq!(read(0x12f), "gfx906:sramecc-:xnack+");
        assert_eq!(read(0x32f), "gfx906:sramecc+:xnack+");
        assert_eq!(read(0x2c), "gfx900:xnack-");
        assert_eq!(read(0x36), "gfx1030");
        assert_eq!(EFlags::new(0x72f, AbiVersion::V3).reserved(), 0x400);
    }

    #[test]
    fn version_2_names_no_processor() {
        let flags = EFlags::new(0x3, AbiVersion::V2);
        assert_eq!((flags.mach(), flags.processor(), flags.target_id()), (0, None, None));
        assert_eq!((flags.xnack(), flags.sramecc()), (Setting::On, Setting::Unsupported));
        assert_eq!(EFlags::new(0x2, AbiVersion::V2).xnack(), Setting::Off);
        assert_eq!(EFlags::new(0x7, AbiVersion::V2).reserved(), 0x4);
        assert_eq!(flags.faults().count(), 0);
        let target = "gfx900:xnack+".parse().unwrap();
        assert_eq!(EFlags::encode(target, AbiVersion::V2, 0).raw(), EFlags::XNACK_V2);
        // As LLVM wrote them.
        let flags = EFlags::new(0x12c, AbiVersion::V2);
        assert_eq!(flags.target_id(), Some(target));
    }

    #[test]
    fn only_version_6_has_generic_versions() {
        for (abi, version, reserved) in [
            (AbiVersion::V5, 0, 0x0700_0000),
            (AbiVersion::V6, 7, 0),
            (AbiVersion::from_byte(5), 7, 0),
        ] {
            let flags = EFlags::new(0x0700_0054, abi);
            assert_eq!((flags.generic_version(), flags.reserved()), (version, reserved));
        }
    }

    #[test]
    fn faults_are_named() {
        let faults = |flags: EFlags| {
            flags.faults().map(|fault| fault.to_string()).collect::<Vec<_>>().join("; ")
        };
        assert_eq!(faults(v6(0x54)), "generic processor gfx11-generic without a generic version");
        assert_eq!(faults(v6(0x0100_0041)), "generic version 1 for gfx1100, which is not generic");
        assert_eq!(faults(v6(0x141)), "xnack is any, which gfx1100 has no setting for");
        assert_eq!(faults(v6(0x44c)), "no xnack setting, which gfx942 has");
        assert_eq!(faults(v6(0x0001_1041)), "reserved bits 0x11000 are set");
        assert_eq!(faults(v6(0x40)), "unknown processor number 0x40");
        assert_eq!(
            faults(EFlags::new(0x54, AbiVersion::V5)),
            "generic processor gfx11-generic in a code object V5; it needs V6"
        );
    }

    #[test]
    fn readelf_text_of_odd_words() {
        assert_eq!(v6(0).readelf_text(), "");
        assert_eq!(v6(0x140).readelf_text(), "xnack");
        assert_eq!(v6(0x10).readelf_text(), "turks");
        assert_eq!(v6(0xff00_0041).readelf_text(), "gfx1100, generic_v255");
        assert_eq!(EFlags::new(1, AbiVersion::V2).readelf_text(), "r600");
        assert_eq!(EFlags::new(0x54c, AbiVersion::from_byte(5)).readelf_text(), "");
        assert_eq!(EFlags::new(0xf4c, AbiVersion::V3).readelf_text(), "gfx942, xnack, sramecc");
    }

    #[test]
    fn merging_depends_on_the_version() {
        assert_eq!(v6(0x94c).merge(v6(0x74c)), Ok(v6(0xb4c)));
        assert_eq!(v6(0x154c).merge(v6(0x54c)), Ok(v6(0x54c)));
        let say = |a: EFlags, b: EFlags| a.merge(b).unwrap_err().to_string();
        assert_eq!(say(v6(0x54c), v6(0x54f)), "processor differs: gfx942 and gfx950");
        assert_eq!(say(v6(0x54c), v6(0)), "processor differs: gfx942 and 0x0");
        assert_eq!(say(v6(0x0100_0054), v6(0x54)), "generic version differs: 1 and 0");
        let v3 = |raw| EFlags::new(raw, AbiVersion::V3);
        assert_eq!(say(v3(0x12f), v3(0x2f)), "e_flags differ: 0x12f and 0x2f");
        let v5 = EFlags::new(0x54c, AbiVersion::V5);
        assert_eq!(say(v5, v6(0x54c)), "code object version differs: V5 and V6");
        let v7 = EFlags::new(0x54c, AbiVersion::from_byte(5));
        assert_eq!(say(v7, v7), "no merge rule for unknown ABI version 5");
    }
}
