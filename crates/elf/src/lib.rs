//! ELF64 little-endian files: read with every bound checked and every offset known, edited so that nothing moves, built.
//!
//! Only a broken file header is an error. A section or segment that reaches past the end, or a table that does, is kept as
//! a problem while the rest is read.
//!
//! ```
//! # let file = std::fs::read("../../tests/fixtures/s1.gfx942.co")?;
//! let elf = hsaco_elf::Elf::parse(&file)?;
//! let text = elf.section_named(".text").unwrap();
//! assert!(text.is_executable());
//! assert_eq!(elf.section_data(text)?.len() as u64, text.size);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod abi;
mod file;

mod code_addresses;
pub mod note;
pub mod relocation;
pub mod symbol;
pub mod write;

pub use abi::*;
pub use code_addresses::CodeAddresses;
pub use file::{Elf, Header, Section, Segment};
