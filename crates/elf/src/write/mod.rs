//! Writing ELF: the one place of the project that does. Bytes in, bytes out.
//!
//! - [`Edit`] changes a file so that no byte and no address of it moves: what must grow is
//!   written anew behind the end of the file, and the headers say so.
//! - [`Builder`] makes a new shared object from sections, symbols, relocations and notes.
//!
//! ```
//! use hsaco_elf::Elf;
//! use hsaco_elf::write::{Access, Edit};
//! # let file = std::fs::read("../../tests/fixtures/s1.gfx942.co")?;
//! let mut edit = Edit::new(&file)?;
//! let pool = edit.append(".text.hsaco", Access::Code, &[0x00, 0x00, 0x81, 0xbf])?;
//! assert_eq!(pool.address, 0x5000);
//! let edited = edit.finish()?;
//! let elf = Elf::parse(&edited)?;
//! assert_eq!(elf.section_named(".text.hsaco").unwrap().address, 0x5000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod build;
mod edit;
mod hash;
mod note;
mod row;
mod symbol;

pub use build::{Builder, Identity, NewRelocation, NewSection};
pub use edit::{Access, Edit, GrownSection, Placed, PointerSection, host_sections, moved};
pub use symbol::NewSymbol;

use hsaco_bytes::{Error, ErrorKind, Result, memory};

/// The page size of code objects: what `ld.lld` aligns their segments to.
pub const PAGE: u64 = 4096;

/// The next multiple of a power of two.
fn align_up(value: u64, align: u64, context: &'static str) -> Result<u64> {
    let mask = align.max(1) - 1;
    let sum = value.checked_add(mask).ok_or_else(|| too_large(context))?;
    Ok(sum & !mask)
}

fn add(left: u64, right: u64, context: &'static str) -> Result<u64> {
    left.checked_add(right).ok_or_else(|| too_large(context))
}

fn too_large(context: &'static str) -> Error {
    Error::new(ErrorKind::LimitExceeded, context, "it would not fit in 64 bits")
}

fn unsupported(context: &'static str, detail: impl Into<String>) -> Error {
    Error::new(ErrorKind::Unsupported, context, detail)
}

/// Adds a string and its NUL to a string table, and answers where it begins.
fn add_string(table: &mut Vec<u8>, text: &[u8], context: &'static str) -> Result<u32> {
    if text.contains(&0) {
        return Err(Error::new(ErrorKind::Malformed, context, "a name with a NUL in it"));
    }
    if table.last() != Some(&0) {
        table.push(0);
    }
    if text.is_empty() {
        return Ok(0);
    }
    let at = u32::try_from(table.len())
        .map_err(|_| Error::new(ErrorKind::LimitExceeded, context, "names of more than 4 GiB"))?;
    table.extend_from_slice(text);
    table.push(0);
    Ok(at)
}

/// Bytes up to `offset`, zeroes where there are none yet, then `content`.
fn put_at(bytes: &mut Vec<u8>, offset: u64, content: &[u8], context: &'static str) -> Result<()> {
    let start = usize::try_from(offset).map_err(|_| too_large(context))?;
    if start > bytes.len() {
        memory::resize(bytes, start, context)?;
    }
    let inside = content.len().min(bytes.len() - start);
    let (over, behind) = content.split_at(inside);
    if let Some(place) = bytes.get_mut(start..start + inside) {
        place.copy_from_slice(over);
    }
    memory::append(bytes, behind, context)
}
