//! Everything that holds device code, in any bytes: judged by content, never by name.
//!
//! ```
//! use hsaco_container::{EntryKind, WalkOptions, bundle, entries};
//! let file = bundle::write(
//!     &[
//!         ("host-x86_64-unknown-linux-gnu-", b"".as_slice()),
//!         ("hipv4-amdgcn-amd-amdhsa--gfx942", b"\x7fELF\x02\x01\x01@\x04\0\0\0\0\0\0\0\x03\0\xe0\0"),
//!     ],
//!     4096,
//! );
//! let found: Vec<_> = entries(&file, &WalkOptions::default()).collect::<Result<_, _>>()?;
//! assert_eq!(found[1].kind, EntryKind::CodeObject);
//! assert_eq!(found[1].id.as_deref(), Some("hipv4-amdgcn-amd-amdhsa--gfx942"));
//! assert_eq!(found[1].offset, Some(4096));
//! # Ok::<(), hsaco_bytes::Error>(())
//! ```
#![forbid(unsafe_code)]

mod archive;
mod bytes;
mod cpio;
mod host;
mod host_coff;
mod host_elf;
mod join;
#[cfg(feature = "json")]
mod joined;
mod member;
mod outer;
mod package;
mod part;
mod piece;
mod prune;
mod put_back;
mod region;
mod rpm;
mod sequence;
mod tar;
mod trail;
mod visit;
mod walk;
mod zip;
mod zip_write;

pub mod bundle;
pub mod ccob;
#[cfg(feature = "json")]
pub mod manifest;
pub mod md5;
pub mod offload_binary;
pub mod uri;

pub use bytes::Bytes;
pub use member::member;
pub use outer::{OuterBundle, OuterBundles, OuterEntry};
pub use part::parts;
pub use piece::FilePiece;
pub use prune::{PruneError, PruneReason, Pruned};
pub use put_back::put_back;
pub use region::{EntryPlace, Part, PartKind, Region, RegionKind};
pub use trail::{Trail, TrailStep};
pub use visit::{RegionVisitor, visit};
pub use walk::{Entries, PackedBundle, PackedRange, UnpackedBundle, WantedTargets, entries};

use hsaco_bytes::{read_u16, read_u32};
use hsaco_compress::Codec;
use hsaco_elf::{EM_AMDGPU, MAGIC};
use hsaco_isa::target::EntryId;

/// How far to go into a file.
///
/// ```
/// use hsaco_container::{HashCheck, WalkOptions};
/// let options = WalkOptions { hash: HashCheck::UpTo(64 << 20), ..WalkOptions::default() };
/// assert_eq!((options.max_size, options.max_depth), (4 << 30, 8));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WalkOptions {
    /// The most bytes that one payload may decompress to.
    pub max_size: u64,
    /// How many containers may lie within each other.
    pub max_depth: usize,
    /// Which payloads are compared with their hash.
    pub hash: HashCheck,
}

impl Default for WalkOptions {
    fn default() -> Self {
        Self { max_size: 4 << 30, max_depth: 8, hash: HashCheck::Always }
    }
}

/// Which decompressed payloads are compared with the hash in their header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashCheck {
    /// Each of them.
    Always,
    /// Those of at most so many bytes.
    UpTo(u64),
}

impl HashCheck {
    /// Those that are so small that it takes no time to speak of.
    pub const CHEAP: Self = Self::UpTo(1 << 20);

    fn covers(self, size: u64) -> bool {
        match self {
            Self::Always => true,
            Self::UpTo(limit) => size <= limit,
        }
    }
}

/// Declares the formats: what each is, its name for programs, and what text for people calls it.
macro_rules! containers {
    ($($(#[$doc:meta])* $variant:ident $name:literal $title:literal)*) => {
        /// A file format that holds device code.
        ///
        /// ```
        /// use hsaco_container::Container;
        /// assert_eq!(Container::detect(b"!<arch>\n"), Some(Container::Archive));
        /// assert_eq!(Container::detect(b"#!/bin/sh\n"), None);
        /// assert_eq!(Container::CompressedBundle.name(), "compressed_bundle");
        /// assert_eq!(Container::CompressedBundle.title(), "compressed offload bundle");
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Container {
            $($(#[$doc])* $variant,)*
        }

        impl Container {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// A short name that programs may rely on.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// What it is, in words.
            pub fn title(self) -> &'static str {
                match self {
                    $(Self::$variant => $title,)*
                }
            }
        }
    };
}

containers! {
    /// An AMDGPU ELF file: the code object itself.
    CodeObject "code_object" "code object"
    /// A clang offload bundle.
    Bundle "bundle" "offload bundle"
    /// A compressed clang offload bundle (`CCOB`).
    CompressedBundle "compressed_bundle" "compressed offload bundle"
    /// An LLVM offload binary.
    OffloadBinary "offload_binary" "offload binary"
    /// An ELF file for another machine.
    HostElf "elf" "host ELF file"
    /// A Windows image: `.exe`, `.dll`.
    HostPe "pe" "Windows image"
    /// A Windows object.
    HostCoff "coff" "Windows object"
    /// An `ar` archive.
    Archive "archive" "archive"
    /// A zip file, such as a Python wheel.
    Zip "zip" "zip file"
    /// A tar archive.
    Tar "tar" "tar archive"
    /// A cpio archive.
    Cpio "cpio" "cpio archive"
    /// An RPM package.
    Rpm "rpm" "RPM package"
    /// Something compressed with gzip.
    Gzip "gzip" "gzip stream"
    /// Something compressed with xz.
    Xz "xz" "xz stream"
    /// Something compressed with zstd.
    Zstd "zstd" "zstd stream"
    /// Something compressed with bzip2.
    Bzip2 "bzip2" "bzip2 stream"
}

/// Formats that are known by their first bytes alone.
const MAGICS: &[(&[u8], Container)] = &[
    (bundle::MAGIC, Container::Bundle),
    (ccob::MAGIC, Container::CompressedBundle),
    (offload_binary::MAGIC, Container::OffloadBinary),
    (archive::MAGIC, Container::Archive),
    (archive::THIN_MAGIC, Container::Archive),
    (zip::MAGIC, Container::Zip),
    (zip::EMPTY_MAGIC, Container::Zip),
    (rpm::MAGIC, Container::Rpm),
];

/// Formats that are nothing but compressed.
const STREAMS: &[(Codec, Container)] = &[
    (Codec::Gzip, Container::Gzip),
    (Codec::Xz, Container::Xz),
    (Codec::Zstd, Container::Zstd),
    (Codec::Bzip2, Container::Bzip2),
];

impl Container {
    /// The format of these bytes, if it is one that may hold device code.
    pub fn detect(data: &[u8]) -> Option<Self> {
        if let Some(&(_, found)) = MAGICS.iter().find(|(magic, _)| data.starts_with(magic)) {
            return Some(found);
        }
        if data.starts_with(&MAGIC) {
            return Some(if is_amdgpu_elf(data) { Self::CodeObject } else { Self::HostElf });
        }
        if is_pe_image(data) {
            return Some(Self::HostPe);
        }
        if let Some(codec) = Codec::detect(data) {
            return STREAMS.iter().find(|(it, _)| *it == codec).map(|(_, container)| *container);
        }
        if cpio::is_header(data) {
            return Some(Self::Cpio);
        }
        if tar::is_header(data) {
            return Some(Self::Tar);
        }
        if host_coff::is_object(data) {
            return Some(Self::HostCoff);
        }
        zip::is_behind_a_prefix(data).then_some(Self::Zip)
    }

    /// What a compressed stream is compressed with.
    pub(crate) fn codec(self) -> Option<Codec> {
        STREAMS.iter().find(|(_, it)| *it == self).map(|(codec, _)| *codec)
    }

    /// True for formats that can be written with other contents, whatever their size.
    pub fn is_written_back(self) -> bool {
        self.codec().is_none() && !matches!(self, Self::Tar | Self::Cpio | Self::Rpm)
    }

    /// True for formats of whole files that are shipped: packages, and what is compressed as a whole.
    pub(crate) fn holds_files(self) -> bool {
        self.is_package() || self == Self::Rpm || self.codec().is_some()
    }

    /// True for formats whose members are files with paths, as those of a folder are.
    pub(crate) fn is_package(self) -> bool {
        matches!(self, Self::Zip | Self::Tar | Self::Cpio)
    }
}

/// What an entry holds.
///
/// ```
/// use hsaco_container::EntryKind;
/// assert_eq!(EntryKind::detect(b"BC\xc0\xde"), EntryKind::Bitcode);
/// assert_eq!(EntryKind::Bitcode.name(), "bitcode");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EntryKind {
    /// An AMDGPU ELF file.
    CodeObject,
    /// LLVM bitcode, with or without its wrapper. For which target, only bitcode readers know.
    Bitcode,
    /// A SPIR-V module.
    Spirv,
    /// The host's side of a bundle, whatever is in it.
    Host,
    /// No bytes at all.
    Empty,
    /// Code for a target that [`Entries::only`] does not want: it was not unpacked, and stands without its bytes.
    Unread,
    /// Something else.
    Unknown,
}

impl EntryKind {
    /// What these bytes are.
    pub fn detect(data: &[u8]) -> Self {
        const SPIRV: u32 = 0x0723_0203;
        const BITCODE: u32 = 0xdec0_4342;
        const BITCODE_WRAPPER: u32 = 0x0b17_c0de;
        match read_u32(data, 0) {
            None if data.is_empty() => Self::Empty,
            Some(SPIRV) => Self::Spirv,
            Some(magic) if magic.swap_bytes() == SPIRV => Self::Spirv,
            Some(BITCODE | BITCODE_WRAPPER) => Self::Bitcode,
            Some(_) if is_amdgpu_elf(data) => Self::CodeObject,
            _ => Self::Unknown,
        }
    }

    /// How names of files with such content end.
    pub fn extension(self) -> &'static str {
        match self {
            Self::CodeObject => "co",
            Self::Bitcode => "bc",
            Self::Spirv => "spv",
            Self::Host | Self::Empty | Self::Unread | Self::Unknown => "bin",
        }
    }

    /// A short name that programs may rely on.
    pub fn name(self) -> &'static str {
        match self {
            Self::CodeObject => "code_object",
            Self::Bitcode => "bitcode",
            Self::Spirv => "spirv",
            Self::Host => "host",
            Self::Empty => "empty",
            Self::Unread => "unread",
            Self::Unknown => "unknown",
        }
    }
}

/// One piece of device code, or of what stands in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// What it is for: a bundle entry's id, or the like of it from a section's name or an offload
    /// binary's strings. `None` for a code object that stands alone.
    pub id: Option<String>,
    /// What it holds.
    pub kind: EntryKind,
    /// Its bytes.
    pub data: Bytes<'a>,
    /// Where it begins in the outermost bytes; `None` if it had to be decompressed.
    pub offset: Option<u64>,
    /// Where its bytes are if they are part of the payload of a compressed bundle that lies in the outermost bytes.
    pub packed: Option<PackedRange>,
    /// The containers it came through.
    pub trail: Trail,
}

impl Entry<'_> {
    /// True for an entry that counts as an object: one that may be for an AMD GPU. The host's side
    /// of a bundle is not, nor is code whose id says another architecture.
    pub fn is_object(&self) -> bool {
        match self.kind {
            EntryKind::CodeObject => true,
            EntryKind::Host => false,
            _ => self.parsed_id().is_none_or(|id| id.is_amd()),
        }
    }

    /// The target that the id names.
    pub fn named_target(&self) -> Option<&str> {
        self.parsed_id().map(|id| id.target).filter(|target| !target.is_empty())
    }

    fn parsed_id(&self) -> Option<EntryId<'_>> {
        self.id.as_deref().and_then(EntryId::parse)
    }
}

fn is_amdgpu_elf(data: &[u8]) -> bool {
    let machine = match data.get(5) {
        Some(2) => read_u16(data, 18).map(u16::swap_bytes),
        _ => read_u16(data, 18),
    };
    data.starts_with(&MAGIC) && machine == Some(EM_AMDGPU)
}

/// A DOS header whose pointer leads to a PE signature, or past the end of what is there.
fn is_pe_image(data: &[u8]) -> bool {
    let signature = read_u32(data, 0x3c).and_then(|at| data.get(usize::try_from(at).ok()?..));
    data.starts_with(b"MZ")
        && data.len() >= 0x40
        && signature.is_none_or(|bytes| bytes.starts_with(b"PE\0\0"))
}
