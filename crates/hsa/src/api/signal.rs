//! Signals and signal groups.

use std::ffi::c_void;
use std::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};

use crate::abi::{Answer, Status, signal_kind};
use crate::runtime::event;
use crate::runtime::queue::ring_doorbell;
use crate::runtime::{self, enter};
use crate::signal::{self, Condition};
use crate::value::{put, slice};

pub(crate) extern "C" fn hsa_signal_create(
    value: i64,
    consumers: u32,
    agents: *const u64,
    handle: *mut u64,
) -> Status {
    hsa_amd_signal_create(value, consumers, agents, 0, handle)
}

pub(crate) extern "C" fn hsa_amd_signal_create(
    value: i64,
    consumers: u32,
    agents: *const u64,
    attributes: u64,
    handle: *mut u64,
) -> Status {
    enter(|runtime| {
        // SAFETY: the program says how many agents there are.
        let agents = unsafe { slice(agents, consumers as usize) }?;
        for (at, agent) in agents.iter().enumerate() {
            runtime.agent(*agent)?;
            if agents.iter().take(at).any(|it| it == agent) {
                return Err(Status::INVALID_ARGUMENT);
            }
        }
        if handle.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        const IPC: u64 = 2;
        if attributes & IPC != 0 {
            crate::log::once("signals between processes are not supported");
            return Err(Status::OUT_OF_RESOURCES);
        }
        // SAFETY: the program has room for the handle, which is not null.
        unsafe { put(handle, signal::create(value, signal_kind::USER)?) }
    })
}

pub(crate) extern "C" fn hsa_signal_destroy(handle: u64) -> Status {
    enter(|_| {
        if handle == 0 {
            return Err(Status::INVALID_ARGUMENT);
        }
        match signal::find(handle)?.kind.load(Relaxed) {
            signal_kind::USER => signal::destroy(handle),
            _ => Err(Status::INVALID_SIGNAL),
        }
    })
}

pub(crate) extern "C" fn hsa_amd_signal_value_pointer(
    handle: u64,
    pointer: *mut *mut i64,
) -> Status {
    enter(|_| {
        let signal = signal::find(handle)?;
        if signal.kind.load(Relaxed) != signal_kind::USER {
            return Err(Status::INVALID_ARGUMENT);
        }
        // SAFETY: the program has room for a pointer.
        unsafe { put(pointer, signal.value.as_ptr()) }
    })
}

macro_rules! loads {
    ($($name:ident)*) => {
        $(pub(crate) extern "C" fn $name(handle: u64) -> i64 {
            signal::get(handle).map_or(0, |it| it.value.load(Acquire))
        })*
    };
}

loads! { hsa_signal_load_relaxed hsa_signal_load_scacquire }

/// Stores a value; a doorbell also tells its queue.
fn store(handle: u64, value: i64) {
    let Some(signal) = signal::get(handle) else { return };
    signal::update(signal, |it| it.swap(value, SeqCst));
    if signal.kind.load(Relaxed) == signal_kind::DOORBELL {
        ring_doorbell(signal);
    }
}

macro_rules! stores {
    ($($name:ident)*) => {
        $(pub(crate) extern "C" fn $name(handle: u64, value: i64) {
            store(handle, value);
        })*
    };
}

// Who waits is told even by silent stores: that is allowed, and none is missed.
stores! {
    hsa_signal_store_relaxed hsa_signal_store_screlease
    hsa_signal_silent_store_relaxed hsa_signal_silent_store_screlease
}

macro_rules! updates {
    ($($operation:ident: $($name:ident)*;)*) => {
        $($(pub(crate) extern "C" fn $name(handle: u64, value: i64) {
            if let Some(signal) = signal::get(handle) {
                signal::update(signal, |it| it.$operation(value, SeqCst));
            }
        })*)*
    };
}

updates! {
    fetch_add: hsa_signal_add_relaxed hsa_signal_add_scacquire hsa_signal_add_screlease hsa_signal_add_scacq_screl;
    fetch_sub: hsa_signal_subtract_relaxed hsa_signal_subtract_scacquire hsa_signal_subtract_screlease
        hsa_signal_subtract_scacq_screl;
    fetch_and: hsa_signal_and_relaxed hsa_signal_and_scacquire hsa_signal_and_screlease hsa_signal_and_scacq_screl;
    fetch_or: hsa_signal_or_relaxed hsa_signal_or_scacquire hsa_signal_or_screlease hsa_signal_or_scacq_screl;
    fetch_xor: hsa_signal_xor_relaxed hsa_signal_xor_scacquire hsa_signal_xor_screlease hsa_signal_xor_scacq_screl;
}

macro_rules! exchanges {
    ($($name:ident)*) => {
        $(pub(crate) extern "C" fn $name(handle: u64, value: i64) -> i64 {
            signal::get(handle).map_or(0, |signal| signal::update(signal, |it| it.swap(value, SeqCst)))
        })*
    };
}

exchanges! {
    hsa_signal_exchange_relaxed hsa_signal_exchange_scacquire hsa_signal_exchange_screlease
    hsa_signal_exchange_scacq_screl
}

macro_rules! compares {
    ($($name:ident)*) => {
        $(pub(crate) extern "C" fn $name(handle: u64, expected: i64, value: i64) -> i64 {
            let Some(signal) = signal::get(handle) else { return 0 };
            signal::update(signal, |it| match it.compare_exchange(expected, value, SeqCst, SeqCst) {
                Ok(old) | Err(old) => old,
            })
        })*
    };
}

compares! { hsa_signal_cas_relaxed hsa_signal_cas_scacquire hsa_signal_cas_screlease hsa_signal_cas_scacq_screl }

fn wait(handle: u64, condition: u32, value: i64, timeout: u64) -> i64 {
    let Some(signal) = signal::get(handle) else { return 0 };
    let Ok(until) = Condition::new(condition, value) else { return signal.value.load(Acquire) };
    signal::wait(signal, until, signal::deadline(timeout))
}

pub(crate) extern "C" fn hsa_signal_wait_relaxed(
    handle: u64,
    condition: u32,
    value: i64,
    timeout: u64,
    _hint: u32,
) -> i64 {
    wait(handle, condition, value, timeout)
}

pub(crate) extern "C" fn hsa_signal_wait_scacquire(
    handle: u64,
    condition: u32,
    value: i64,
    timeout: u64,
    _hint: u32,
) -> i64 {
    wait(handle, condition, value, timeout)
}

/// Signals with what each is waited for.
fn waits(
    count: u32,
    signals: *const u64,
    conditions: *const u32,
    values: *const i64,
) -> Answer<Vec<(&'static crate::abi::AmdSignal, Condition)>> {
    let count = count as usize;
    // SAFETY: the program says how many there are of each.
    let (signals, conditions, values) =
        unsafe { (slice(signals, count)?, slice(conditions, count)?, slice(values, count)?) };
    let each = signals.iter().zip(conditions).zip(values);
    each.map(|((signal, condition), value)| {
        Ok((signal::find(*signal)?, Condition::new(*condition, *value)?))
    })
    .collect()
}

pub(crate) extern "C" fn hsa_amd_signal_wait_any(
    count: u32,
    signals: *mut u64,
    conditions: *mut u32,
    values: *mut i64,
    timeout: u64,
    _hint: u32,
    satisfying: *mut i64,
) -> u32 {
    let mut first = u32::MAX;
    let _ = runtime::guard(|| {
        let waits = waits(count, signals, conditions, values)?;
        if let Some((at, value)) = signal::wait_any(&waits, signal::deadline(timeout)) {
            first = u32::try_from(at).unwrap_or(u32::MAX);
            if !satisfying.is_null() {
                // SAFETY: the program has room for the value, which is not null.
                unsafe { put(satisfying, value) }?;
            }
        }
        Ok(())
    });
    first
}

pub(crate) extern "C" fn hsa_amd_signal_wait_all(
    count: u32,
    signals: *mut u64,
    conditions: *mut u32,
    values: *mut i64,
    timeout: u64,
    _hint: u32,
    satisfying: *mut i64,
) -> u32 {
    let mut answer = u32::MAX;
    let _ = runtime::guard(|| {
        let deadline = signal::deadline(timeout);
        for (at, (signal, until)) in
            waits(count, signals, conditions, values)?.into_iter().enumerate()
        {
            let value = signal::wait(signal, until, deadline);
            if !until.holds(value) {
                return Ok(());
            }
            if !satisfying.is_null() {
                // SAFETY: the program has room for as many values as there are signals.
                unsafe { put(satisfying.add(at), value) }?;
            }
        }
        answer = 0;
        Ok(())
    });
    answer
}

pub(crate) extern "C" fn hsa_amd_signal_async_handler(
    handle: u64,
    condition: u32,
    value: i64,
    handler: Option<event::Callback>,
    argument: *mut c_void,
) -> Status {
    enter(|runtime| {
        let handler = handler.ok_or(Status::INVALID_ARGUMENT)?;
        signal::find(handle)?;
        let until = Condition::new(condition, value)?;
        runtime.events.add(runtime, handle, until, handler, argument)
    })
}

pub(crate) extern "C" fn hsa_amd_async_function(
    function: Option<extern "C" fn(*mut c_void)>,
    argument: *mut c_void,
) -> Status {
    enter(|runtime| {
        let function = function.ok_or(Status::INVALID_ARGUMENT)?;
        runtime.events.call(runtime, function, argument)
    })
}

pub(crate) extern "C" fn hsa_signal_group_create(
    count: u32,
    signals: *const u64,
    consumers: u32,
    agents: *const u64,
    group: *mut u64,
) -> Status {
    enter(|runtime| {
        // SAFETY: the program says how many there are of each.
        let (signals, agents) =
            unsafe { (slice(signals, count as usize)?, slice(agents, consumers as usize)?) };
        if signals.is_empty() || group.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        signals.iter().try_for_each(|it| signal::find(*it).map(drop))?;
        agents.iter().try_for_each(|it| runtime.agent(*it).map(drop))?;
        let handle = runtime.handle();
        runtime::lock(&runtime.groups).insert(handle, signals.to_vec());
        // SAFETY: the program has room for the handle, which is not null.
        unsafe { put(group, handle) }
    })
}

pub(crate) extern "C" fn hsa_signal_group_destroy(group: u64) -> Status {
    enter(|runtime| {
        let removed = runtime::lock(&runtime.groups).remove(&group);
        removed.map(drop).ok_or(Status::INVALID_SIGNAL_GROUP)
    })
}

fn wait_any(
    group: u64,
    conditions: *const u32,
    values: *const i64,
    found: *mut u64,
    satisfying: *mut i64,
) -> Status {
    enter(|runtime| {
        let signals = runtime::lock(&runtime.groups).get(&group).cloned();
        let signals = signals.ok_or(Status::INVALID_SIGNAL_GROUP)?;
        if found.is_null() || satisfying.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        let count = u32::try_from(signals.len()).unwrap_or(u32::MAX);
        let waits = waits(count, signals.as_ptr(), conditions, values)?;
        let (at, value) = signal::wait_any(&waits, None).ok_or(Status::ERROR)?;
        let handle = signals.get(at).copied().ok_or(Status::ERROR)?;
        // SAFETY: the program has room for both answers, which are not null.
        unsafe {
            put(found, handle)?;
            put(satisfying, value)
        }
    })
}

pub(crate) extern "C" fn hsa_signal_group_wait_any_relaxed(
    group: u64,
    conditions: *const u32,
    values: *const i64,
    _hint: u32,
    found: *mut u64,
    satisfying: *mut i64,
) -> Status {
    wait_any(group, conditions, values, found, satisfying)
}

pub(crate) extern "C" fn hsa_signal_group_wait_any_scacquire(
    group: u64,
    conditions: *const u32,
    values: *const i64,
    _hint: u32,
    found: *mut u64,
    satisfying: *mut i64,
) -> Status {
    wait_any(group, conditions, values, found, satisfying)
}
