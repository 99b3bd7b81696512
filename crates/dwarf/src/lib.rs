//! Debug information: where code comes from, what functions take, and lines and frames for code that moved.
//!
//! ```
//! use hsaco_dwarf::DebugInfo;
//! use hsaco_elf::Elf;
//! # let file = std::fs::read("../../tests/fixtures/lines.dwarf5.co")?;
//! let debug = DebugInfo::open(&Elf::parse(&file)?)?;
//! let location = debug.location(0x2100)?.unwrap();
//! assert!(location.file.ends_with("lines.hip"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]
#![cfg_attr(
    test,
    allow(clippy::cast_possible_truncation, reason = "sections that tests make are small")
)]

mod read;
mod write;

pub use read::{
    BitField, DebugInfo, DebugSections, Encoding, Enumerator, Frame, Keyword, Location, Member,
    Parameter, PlaceId, Pointer, PointerKind, Qualifier, Signature, SourceMap, Spelling, Type,
    TypeId, TypeKind, Types,
};
pub use write::{MovedCode, MovedDebug, add_debug};
