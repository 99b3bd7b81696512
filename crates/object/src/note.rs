//! AMD's notes: where metadata, ISA names and producers' remarks live.

use hsaco_bytes::{Error, Result, Str, read_u16, read_u32, read_u64, slice};

/// Owner of the notes of code objects V3 and later.
pub const OWNER_AMDGPU: &str = "AMDGPU";
/// Owner of the notes of code object V2.
pub const OWNER_AMD: &str = "AMD";
/// MessagePack metadata, owner `AMDGPU`.
pub const NT_AMDGPU_METADATA: u32 = 32;
/// Code object version, owner `AMD`.
pub const NT_AMD_HSA_CODE_OBJECT_VERSION: u32 = 1;
/// HSAIL properties, owner `AMD`.
pub const NT_AMD_HSA_HSAIL: u32 = 2;
/// ISA version, owner `AMD`.
pub const NT_AMD_HSA_ISA_VERSION: u32 = 3;
/// YAML metadata, owner `AMD`.
pub const NT_AMD_HSA_METADATA: u32 = 10;
/// ISA name, owner `AMD`.
pub const NT_AMD_HSA_ISA_NAME: u32 = 11;
/// PAL metadata, owner `AMD`.
pub const NT_AMD_PAL_METADATA: u32 = 12;

/// What the ISA note of code object V2 says.
///
/// ```
/// let bytes = b"\x04\0\x07\0\x09\0\0\0\0\0\0\0\x07\0\0\0AMD\0AMDGPU\0";
/// let isa = hsaco_object::note::IsaVersion::parse(bytes).unwrap();
/// assert_eq!(isa.to_string(), "AMD:AMDGPU:9:0:7");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IsaVersion<'a> {
    /// `AMD`.
    pub vendor: Str<'a>,
    /// `AMDGPU`.
    pub architecture: Str<'a>,
    /// Major version.
    pub major: u32,
    /// Minor version.
    pub minor: u32,
    /// Stepping.
    pub stepping: u32,
}

impl<'a> IsaVersion<'a> {
    /// Reads the content of a note of type [`NT_AMD_HSA_ISA_VERSION`].
    pub fn parse(desc: &'a [u8]) -> Result<Self> {
        const CONTEXT: &str = "ISA version note";
        let header = slice(desc, 0, 16, CONTEXT)?;
        let half = |at| u64::from(read_u16(header, at).unwrap_or(0));
        let word = |at| read_u32(header, at).unwrap_or(0);
        let vendor = slice(desc, 16, half(0), CONTEXT)?;
        let architecture = slice(desc, 16 + half(0), half(2), CONTEXT)?;
        Ok(Self {
            vendor: until_nul(vendor),
            architecture: until_nul(architecture),
            major: word(4),
            minor: word(8),
            stepping: word(12),
        })
    }
}

impl std::fmt::Display for IsaVersion<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { vendor, architecture, major, minor, stepping } = self;
        write!(f, "{vendor}:{architecture}:{major}:{minor}:{stepping}")
    }
}

fn until_nul(bytes: &[u8]) -> Str<'_> {
    Str::new(bytes.split(|&byte| byte == 0).next().unwrap_or(bytes))
}

/// The two words of a note of type [`NT_AMD_HSA_CODE_OBJECT_VERSION`]: major and minor.
pub fn code_object_version(desc: &[u8]) -> Result<(u32, u32)> {
    let both = read_u64(desc, 0).zip(read_u32(desc, 4));
    let short = || Error::truncated("code object version note", 0, 8, desc.len() as u64);
    both.and_then(|(_, minor)| Some((read_u32(desc, 0)?, minor))).ok_or_else(short)
}
