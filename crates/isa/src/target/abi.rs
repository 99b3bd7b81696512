//! Code object versions, as the ELF header's ABI version byte states them.

use std::fmt;

/// The EI_ABIVERSION byte of an HSA code object; bytes without a meaning yet are kept.
///
/// ```
/// use hsaco_isa::target::AbiVersion;
/// assert_eq!(AbiVersion::from_byte(4), AbiVersion::V6);
/// assert_eq!(AbiVersion::V6.code_object_version(), Some(6));
/// assert_eq!(AbiVersion::from_byte(9).code_object_version(), None);
/// assert_eq!(AbiVersion::from_byte(9).byte(), 9);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AbiVersion(u8);

impl AbiVersion {
    /// ELFABIVERSION_AMDGPU_HSA_V2.
    pub const V2: Self = Self(0);
    /// ELFABIVERSION_AMDGPU_HSA_V3.
    pub const V3: Self = Self(1);
    /// ELFABIVERSION_AMDGPU_HSA_V4.
    pub const V4: Self = Self(2);
    /// ELFABIVERSION_AMDGPU_HSA_V5.
    pub const V5: Self = Self(3);
    /// ELFABIVERSION_AMDGPU_HSA_V6.
    pub const V6: Self = Self(4);

    /// Takes the byte as it stands in the file.
    #[must_use]
    pub const fn from_byte(byte: u8) -> Self {
        Self(byte)
    }

    /// The version a compiler's `-mcode-object-version` names, 2 to 6.
    #[must_use]
    pub const fn from_code_object_version(version: u8) -> Option<Self> {
        match version {
            2..=6 => Some(Self(version - 2)),
            _ => None,
        }
    }

    /// The byte as it stands in the file.
    #[must_use]
    pub const fn byte(self) -> u8 {
        self.0
    }

    /// 2 to 6, or nothing for a byte that means no version LLVM 22 knows.
    #[must_use]
    pub const fn code_object_version(self) -> Option<u8> {
        match self.0 {
            byte @ 0..=4 => Some(byte + 2),
            _ => None,
        }
    }
}

impl fmt::Display for AbiVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code_object_version() {
            Some(version) => write!(f, "V{version}"),
            None => write!(f, "unknown ABI version {}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_bytes_agree() {
        for version in 2..=6 {
            let abi = AbiVersion::from_code_object_version(version).unwrap();
            assert_eq!(abi.code_object_version(), Some(version));
            assert_eq!(AbiVersion::from_byte(abi.byte()), abi);
            assert_eq!(abi.to_string(), format!("V{version}"));
        }
        assert_eq!(AbiVersion::from_code_object_version(1), None);
        assert_eq!(AbiVersion::from_code_object_version(7), None);
        assert_eq!(AbiVersion::from_byte(5).to_string(), "unknown ABI version 5");
    }
}
