//! How large an ELF file in memory is, of which only the address is known.

use std::slice;

use crate::border::Out;
use crate::error::{Failure, Result, Status, border};

/// Bytes of the header of an ELF file of 64 bits.
const HEADER: u64 = 64;
const SHT_NOBITS: u32 = 8;
const SHT_NULL: u32 = 0;

/// The size of an ELF file from its address: what a linker put into the program with no length beside it. Only headers
/// are read. `available` is how many bytes can be read at most; SIZE_MAX if that is not known, when the file must be
/// whole.
///
/// # Safety
/// `bytes` points to an ELF file of which the tables that its header names can be read, or to `available` bytes. The rest
/// is as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_elf_size(
    bytes: *const u8,
    available: usize,
    size: *mut usize,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::new(size, "size", 0) }?;
        if bytes.is_null() {
            return Err(Failure::argument("bytes is null"));
        }
        let blob = Blob { bytes, available: u64::try_from(available).unwrap_or(u64::MAX) };
        // SAFETY: as above.
        let found = unsafe { blob.size() }?;
        out.set(usize::try_from(found).map_err(|_| too_large(found))?);
        Ok(())
    })
}

fn too_large(size: u64) -> Failure {
    Failure::new(Status::LimitExceeded, format!("the file has {size} bytes"))
}

/// An ELF file, of which not more than asked for is looked at.
struct Blob {
    bytes: *const u8,
    available: u64,
}

impl Blob {
    /// Some of its bytes.
    ///
    /// # Safety
    /// They can be read, if they are not behind what is available.
    unsafe fn part(&self, offset: u64, size: u64, what: &str) -> Result<&[u8]> {
        let end = offset.checked_add(size).filter(|it| *it <= self.available);
        let range = end.and_then(|end| {
            isize::try_from(end).ok()?;
            Some((usize::try_from(offset).ok()?, usize::try_from(size).ok()?))
        });
        let (offset, size) = range.ok_or_else(|| {
            let reason = format!("{what} has {size} bytes at {offset:#x} of {}", self.available);
            Failure::new(Status::Truncated, reason)
        })?;
        // SAFETY: within what is available, as this function asks.
        Ok(unsafe { slice::from_raw_parts(self.bytes.add(offset), size) })
    }

    /// Where the last table, segment or section ends.
    ///
    /// # Safety
    /// As that of `part`, for the tables.
    unsafe fn size(&self) -> Result<u64> {
        // SAFETY: as this function asks.
        let header = unsafe { self.part(0, HEADER, "the header") }?;
        if !header.starts_with(b"\x7fELF\x02\x01") {
            let reason = "no ELF file of 64 bits, little endian";
            return Err(Failure::new(Status::NotRecognised, reason));
        }
        let half = |at: usize| u64::from(u16::from_le_bytes(array(header, at)));
        let word = |at: usize| u64::from_le_bytes(array(header, at));
        let (segments, segment_size, segment_count) = (word(32), half(54), half(56));
        let (sections, section_size, mut section_count) = (word(40), half(58), half(60));
        if sections != 0 && section_count == 0 {
            // More than fit: the first section says how many.
            // SAFETY: as this function asks.
            let first = unsafe { self.part(sections, HEADER, "the first section header") }?;
            section_count = u64::from_le_bytes(array(first, 32));
        }
        let mut end = HEADER;
        let table =
            Table { what: "a program header", offset: segments, size: segment_size, least: 56 };
        // SAFETY: as this function asks.
        unsafe {
            self.visit(&table, segment_count, &mut end, |row| {
                (u64::from_le_bytes(array(row, 8)), u64::from_le_bytes(array(row, 32)))
            })?;
            let table =
                Table { what: "a section header", offset: sections, size: section_size, least: 64 };
            self.visit(&table, section_count, &mut end, |row| {
                let kind = u32::from_le_bytes(array(row, 4));
                let size = u64::from_le_bytes(array(row, 32));
                let takes_none = matches!(kind, SHT_NOBITS | SHT_NULL);
                (u64::from_le_bytes(array(row, 24)), if takes_none { 0 } else { size })
            })?;
        }
        match end <= self.available {
            true => Ok(end),
            false => Err(Failure::new(
                Status::Truncated,
                format!("the file has {end} bytes, and {} are there", self.available),
            )),
        }
    }

    /// Moves `end` behind a table and all that its rows are about.
    ///
    /// # Safety
    /// As that of `part`, for the table.
    unsafe fn visit(
        &self,
        table: &Table,
        count: u64,
        end: &mut u64,
        place: impl Fn(&[u8]) -> (u64, u64),
    ) -> Result {
        if table.offset == 0 || count == 0 {
            return Ok(());
        }
        let wrong = |reason: String| Failure::new(Status::Malformed, reason);
        if table.size < table.least {
            return Err(wrong(format!("{} has {} bytes", table.what, table.size)));
        }
        let bytes = count.checked_mul(table.size).and_then(|it| table.offset.checked_add(it));
        *end = (*end).max(bytes.ok_or_else(|| wrong(format!("{count} of {}", table.what)))?);
        for number in 0..count {
            // SAFETY: as this function asks.
            let row =
                unsafe { self.part(table.offset + number * table.size, table.least, table.what) }?;
            let (offset, size) = place(row);
            let last = offset.checked_add(size).filter(|_| size != 0);
            *end = (*end).max(last.unwrap_or(0));
            if size != 0 && last.is_none() {
                return Err(wrong(format!("{size} bytes at {offset:#x}")));
            }
        }
        Ok(())
    }
}

/// A table of headers.
struct Table {
    what: &'static str,
    offset: u64,
    size: u64,
    least: u64,
}

/// Bytes of a row that has them.
fn array<const N: usize>(row: &[u8], at: usize) -> [u8; N] {
    row.get(at..).and_then(|it| it.first_chunk()).copied().unwrap_or([0; N])
}
