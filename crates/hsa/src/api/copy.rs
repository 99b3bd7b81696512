//! Copies and fills.

use std::ffi::c_void;

use crate::abi::{Answer, Dim3, PitchedPointer, Status};
use crate::runtime::copy::{self, Rows, Work};
use crate::runtime::{Runtime, enter};
use crate::value::{put, slice};

/// Bytes from one place to another, as the host sees both.
fn bytes(runtime: &Runtime, to: u64, from: u64, size: u64) -> Work {
    let (to, knows_to) = runtime.space.translate(to, size);
    let (from, knows_from) = runtime.space.translate(from, size);
    Work::Bytes { to, from, size, is_known: knows_to && knows_from }
}

pub(crate) extern "C" fn hsa_memory_copy(
    to: *mut c_void,
    from: *const c_void,
    size: usize,
) -> Status {
    enter(|runtime| {
        if to.is_null() || from.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        let is_done = bytes(runtime, to as u64, from as u64, size as u64).run();
        if is_done { Ok(()) } else { Err(Status::INVALID_ARGUMENT) }
    })
}

fn after<'a>(count: u32, signals: *const u64) -> Answer<&'a [u64]> {
    if (count == 0) != signals.is_null() && count > 0 {
        return Err(Status::INVALID_ARGUMENT);
    }
    // SAFETY: the program says how many there are.
    unsafe { slice(signals, count as usize) }
}

pub(crate) extern "C" fn hsa_amd_memory_async_copy(
    to: *mut c_void,
    to_agent: u64,
    from: *const c_void,
    from_agent: u64,
    size: usize,
    count: u32,
    signals: *const u64,
    completion: u64,
) -> Status {
    enter(|runtime| {
        if to.is_null() || from.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        runtime.agent(to_agent)?;
        runtime.agent(from_agent)?;
        let work = if size == 0 {
            Work::Nothing
        } else {
            bytes(runtime, to as u64, from as u64, size as u64)
        };
        runtime.copies.add(runtime, work, after(count, signals)?, completion)
    })
}

pub(crate) extern "C" fn hsa_amd_memory_async_copy_on_engine(
    to: *mut c_void,
    to_agent: u64,
    from: *const c_void,
    from_agent: u64,
    size: usize,
    count: u32,
    signals: *const u64,
    completion: u64,
    engine: u32,
    _is_forced: bool,
) -> Status {
    if !engine.is_power_of_two() || engine > ENGINES {
        return enter(|_| Err(Status::INVALID_ARGUMENT));
    }
    hsa_amd_memory_async_copy(to, to_agent, from, from_agent, size, count, signals, completion)
}

/// Engines that copy, as bits.
const ENGINES: u32 = 3;

pub(crate) extern "C" fn hsa_amd_memory_copy_engine_status(
    to: u64,
    from: u64,
    engines: *mut u32,
) -> Status {
    enter(|runtime| {
        runtime.agent(to)?;
        runtime.agent(from)?;
        // SAFETY: the program has room for the mask.
        unsafe { put(engines, ENGINES) }
    })
}

pub(crate) extern "C" fn hsa_amd_memory_async_copy_rect(
    to: *const PitchedPointer,
    to_offset: *const Dim3,
    from: *const PitchedPointer,
    from_offset: *const Dim3,
    range: *const Dim3,
    agent: u64,
    direction: u32,
    count: u32,
    signals: *const u64,
    completion: u64,
) -> Status {
    enter(|runtime| {
        // SAFETY: the program says where each of them is, or null.
        let parts = unsafe {
            (to.as_ref(), to_offset.as_ref(), from.as_ref(), from_offset.as_ref(), range.as_ref())
        };
        let (Some(to), Some(to_offset), Some(from), Some(from_offset), Some(range)) = parts else {
            return Err(Status::INVALID_ARGUMENT);
        };
        runtime.agent(agent)?;
        if direction > 3 || to.base.is_null() || from.base.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        let signals = after(count, signals)?;
        if range.x == 0 || range.y == 0 || range.z == 0 {
            return runtime.copies.add(runtime, Work::Nothing, signals, completion);
        }
        let place = |pointer: &PitchedPointer, offset: &Dim3| {
            let (rows, size) = Rows::new(pointer, *offset, *range)?;
            let (start, is_known) = runtime.space.translate(rows.start, size);
            Ok((Rows { start, ..rows }, is_known))
        };
        let ((to, knows_to), (from, knows_from)) =
            (place(to, to_offset)?, place(from, from_offset)?);
        // One side is memory of agents; the other may be any of the program's.
        if !knows_to && !knows_from {
            return Err(Status::INVALID_ARGUMENT);
        }
        runtime.copies.add(runtime, Work::Rows { to, from, range: *range }, signals, completion)
    })
}

pub(crate) extern "C" fn hsa_amd_memory_fill(to: *mut c_void, value: u32, count: usize) -> Status {
    enter(|runtime| {
        let bytes = (count as u64).checked_mul(4).ok_or(Status::INVALID_ARGUMENT)?;
        if to.is_null() || !(to as u64).is_multiple_of(4) {
            return Err(Status::INVALID_ARGUMENT);
        }
        if count == 0 {
            return Ok(());
        }
        let (host, is_known) = runtime.space.translate(to as u64, bytes);
        if !is_known {
            return Err(Status::INVALID_ALLOCATION);
        }
        copy::fill(host, value, count);
        Ok(())
    })
}
