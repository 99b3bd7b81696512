//! Code without a file: bytes to instructions and back.

use std::ffi::c_char;
use std::sync::OnceLock;

use hsaco::db;
use hsaco::isa::decoder::{DecodeOptions, UnsupportedProcessor};
use hsaco::isa::{Assembler, Decoder, Processor, TargetId};

use crate::border::{Out, Row, bytes, text};
use crate::buffer::Buffer;
use crate::error::{Failure, Result, Status, border};
use crate::handle::{self, Handle};
use crate::instruction::Instruction;

/// Decoded code; hsaco_listing_free takes it back. All functions may be called from any thread.
pub struct Listing {
    listing: db::Listing,
    rows: Vec<OnceLock<Row<Instruction>>>,
}

impl Handle for Listing {
    const NAME: &'static str = "listing";
}

fn processor(target: &str) -> Result<Processor> {
    let parsed = target.parse::<TargetId>();
    parsed.map(|it| it.processor).map_err(|error| Failure::target("target", target, &error))
}

fn unsupported(error: UnsupportedProcessor) -> Failure {
    Failure::new(Status::Unsupported, error.to_string())
}

/// Decodes code for a target such as "gfx942", as if it stood at `address`. Bytes that are no instruction are there as
/// ".long" and ".byte".
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_disassemble(
    code: *const u8,
    size: usize,
    target: *const c_char,
    address: u64,
    listing: *mut *mut Listing,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let (out, code, target) = unsafe {
            let out = Out::handle(listing, "listing")?;
            (out, bytes(code, size, "code")?, text(target, "target")?)
        };
        if address.checked_add(size as u64).is_none() {
            return Err(Failure::argument("the code reaches past the last address"));
        }
        let decoder = Decoder::new(processor(target)?).map_err(unsupported)?;
        let listing = db::Listing::decode(decoder, address, db::Data::new(code.to_vec()));
        let rows = listing.instructions().map(|_| OnceLock::new()).collect();
        out.set(handle::new(Listing { listing, rows }));
        Ok(())
    })
}

/// How many instructions there are.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_listing_count(listing: *const Listing, count: *mut usize) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::new(count, "count", 0) }?;
        out.set(handle::get(listing)?.rows.len());
        Ok(())
    })
}

/// The instruction of that number, in the order of their addresses; HSACO_STATUS_NOT_FOUND behind the last. It lives as
/// long as the listing.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_listing_instruction(
    listing: *const Listing,
    index: usize,
    instruction: *mut *const Instruction,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::row(instruction, "instruction") }?;
        let listing = handle::get(listing)?;
        let missing = || Failure::index("instruction", index, listing.rows.len());
        let row = listing.rows.get(index).ok_or_else(missing)?;
        let decoded = listing.listing.instruction(index).ok_or_else(missing)?;
        out.set(row.get_or_init(|| Instruction::row(&decoded)).as_ptr());
        Ok(())
    })
}

/// Takes a listing back; null is fine.
#[unsafe(no_mangle)]
pub extern "C" fn hsaco_listing_free(listing: *mut Listing) -> Status {
    handle::free(listing)
}

/// Assembles lines, one instruction or ".long" and the like each, for a target such as "gfx942"; ; and // begin comments.
/// HSACO_STATUS_MALFORMED for the first line that does not assemble: hsaco_last_error() has its line, its column and why.
/// hsaco_buffer_free takes the code back.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_assemble(
    lines: *const c_char,
    target: *const c_char,
    code: *mut *mut Buffer,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let (out, lines, target) =
            unsafe { (Out::handle(code, "code")?, text(lines, "lines")?, text(target, "target")?) };
        let assembler = Assembler::new(processor(target)?, DecodeOptions::default());
        let assembler = assembler.map_err(unsupported)?;
        let mut code = Vec::new();
        for (number, line) in (1..).zip(lines.lines()) {
            let Some(statement) = assembler.line(line) else { continue };
            let statement = statement.map_err(|error| {
                let reason = format!("{number}:{}: {error}", error.column() + 1);
                Failure::new(Status::Malformed, reason)
            })?;
            statement.encode(&mut code);
        }
        out.set(Buffer::handle(code));
        Ok(())
    })
}
