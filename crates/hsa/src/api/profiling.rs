//! Times of dispatches and copies: all agents have the clock of the host.

use std::sync::atomic::Ordering::Relaxed;

use crate::abi::{Answer, HsaQueue, Status, Times};
use crate::runtime::enter;
use crate::runtime::queue;
use crate::signal;
use crate::value::put;

/// The bit of a queue's properties that says that times are kept; they always are.
const PROFILING: u32 = 1 << 3;

pub(crate) extern "C" fn hsa_amd_profiling_set_profiler_enabled(
    queue: *mut HsaQueue,
    enable: i32,
) -> Status {
    enter(|_| {
        if queue.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        let queue = queue::get(queue).ok_or(Status::INVALID_QUEUE)?;
        match enable {
            0 => queue.queue_properties.fetch_and(!PROFILING, Relaxed),
            _ => queue.queue_properties.fetch_or(PROFILING, Relaxed),
        };
        Ok(())
    })
}

pub(crate) extern "C" fn hsa_amd_profiling_async_copy_enable(_enable: bool) -> Status {
    enter(|_| Ok(()))
}

fn times(handle: u64) -> Answer<Times> {
    let signal = signal::find(handle)?;
    let times = Times { start: signal.start_ts.load(Relaxed), end: signal.end_ts.load(Relaxed) };
    if times.end == 0 { Err(Status::ERROR) } else { Ok(times) }
}

pub(crate) extern "C" fn hsa_amd_profiling_get_dispatch_time(
    agent: u64,
    handle: u64,
    time: *mut Times,
) -> Status {
    enter(|runtime| {
        if time.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        runtime.gpu(agent)?;
        // SAFETY: the program has room for both times, which are not null.
        unsafe { put(time, times(handle)?) }
    })
}

pub(crate) extern "C" fn hsa_amd_profiling_get_async_copy_time(
    handle: u64,
    time: *mut Times,
) -> Status {
    enter(|_| {
        if time.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        // SAFETY: the program has room for both times, which are not null.
        unsafe { put(time, times(handle)?) }
    })
}

pub(crate) extern "C" fn hsa_amd_profiling_convert_tick_to_system_domain(
    agent: u64,
    tick: u64,
    system: *mut u64,
) -> Status {
    enter(|runtime| {
        runtime.gpu(agent)?;
        // SAFETY: the program has room for the time.
        unsafe { put(system, tick) }
    })
}
