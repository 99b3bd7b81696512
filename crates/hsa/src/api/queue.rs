//! Queues.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use crate::abi::{Answer, HsaQueue, Status, queue_type};
use crate::agent::{QUEUE_MAX, QUEUE_MIN};
use crate::runtime::queue::{self, ErrorCallback, Queue, Setup};
use crate::runtime::{self, Runtime, enter};
use crate::signal;
use crate::value::{Value, put, slice};

fn find(runtime: &Runtime, queue: *const HsaQueue) -> Answer<Arc<Queue>> {
    if queue.is_null() {
        return Err(Status::INVALID_ARGUMENT);
    }
    runtime::lock(&runtime.queues).get(&(queue as u64)).cloned().ok_or(Status::INVALID_QUEUE)
}

pub(crate) extern "C" fn hsa_queue_create(
    agent: u64,
    size: u32,
    kind: u32,
    callback: Option<ErrorCallback>,
    data: *mut c_void,
    _private_segment_size: u32,
    _group_segment_size: u32,
    queue: *mut *mut HsaQueue,
) -> Status {
    enter(|runtime| {
        let agent = runtime.agent(agent)?;
        if queue.is_null() || size == 0 || !size.is_power_of_two() || kind > queue_type::COOPERATIVE
        {
            return Err(Status::INVALID_ARGUMENT);
        }
        if agent.gpu.is_none() {
            return Err(Status::INVALID_QUEUE_CREATION);
        }
        if !(1..=QUEUE_MAX).contains(&size) {
            return Err(Status::OUT_OF_RESOURCES);
        }
        let size = size.max(QUEUE_MIN);
        const KERNELS: u32 = 1;
        // Cooperative queues take packets of several threads too.
        let shown = if kind == queue_type::COOPERATIVE { queue_type::MULTI } else { kind };
        let setup = Setup { kind: shown, features: KERNELS, size, callback, data, doorbell: None };
        let made = Queue::create(runtime, agent, &setup)?;
        let pointer = made.pointer();
        runtime::lock(&runtime.queues).insert(pointer as u64, made);
        // SAFETY: the program has room for a pointer, which is not null.
        unsafe { put(queue, pointer) }
    })
}

pub(crate) extern "C" fn hsa_soft_queue_create(
    region: u64,
    size: u32,
    kind: u32,
    features: u32,
    doorbell: u64,
    queue: *mut *mut HsaQueue,
) -> Status {
    enter(|runtime| {
        let region = runtime.pool(region).ok_or(Status::INVALID_REGION)?;
        signal::find(doorbell)?;
        let is_valid =
            size > 0 && size.is_power_of_two() && size <= QUEUE_MAX && (1..=3).contains(&features);
        if queue.is_null() || !is_valid || kind > queue_type::SINGLE || region.is_group() {
            return Err(Status::INVALID_ARGUMENT);
        }
        let data = std::ptr::null_mut();
        let setup = Setup { kind, features, size, callback: None, data, doorbell: Some(doorbell) };
        let made = Queue::create(runtime, region.agent, &setup)?;
        let pointer = made.pointer();
        runtime::lock(&runtime.queues).insert(pointer as u64, made);
        // SAFETY: the program has room for a pointer, which is not null.
        unsafe { put(queue, pointer) }
    })
}

pub(crate) extern "C" fn hsa_queue_destroy(queue: *mut HsaQueue) -> Status {
    enter(|runtime| {
        find(runtime, queue)?;
        let removed = runtime::lock(&runtime.queues).remove(&(queue as u64));
        removed.ok_or(Status::INVALID_QUEUE)?.end();
        Ok(())
    })
}

pub(crate) extern "C" fn hsa_queue_inactivate(queue: *mut HsaQueue) -> Status {
    enter(|runtime| {
        find(runtime, queue)?.inactivate();
        Ok(())
    })
}

macro_rules! indices {
    (load $field:ident: $($load:ident)*) => {
        $(pub(crate) extern "C" fn $load(queue: *const HsaQueue) -> u64 {
            queue::get(queue).map_or(0, |it| it.$field.load(SeqCst))
        })*
    };
    (store $field:ident: $($store:ident)*) => {
        $(pub(crate) extern "C" fn $store(queue: *const HsaQueue, value: u64) {
            if let Some(queue) = queue::get(queue) {
                queue.$field.store(value, SeqCst);
            }
        })*
    };
}

indices! { load read_dispatch_id: hsa_queue_load_read_index_relaxed hsa_queue_load_read_index_scacquire }
indices! { load write_dispatch_id: hsa_queue_load_write_index_relaxed hsa_queue_load_write_index_scacquire }
indices! { store read_dispatch_id: hsa_queue_store_read_index_relaxed hsa_queue_store_read_index_screlease }
indices! { store write_dispatch_id: hsa_queue_store_write_index_relaxed hsa_queue_store_write_index_screlease }

macro_rules! adds {
    ($($name:ident)*) => {
        $(pub(crate) extern "C" fn $name(queue: *const HsaQueue, value: u64) -> u64 {
            queue::get(queue).map_or(0, |it| it.write_dispatch_id.fetch_add(value, SeqCst))
        })*
    };
}

adds! {
    hsa_queue_add_write_index_relaxed hsa_queue_add_write_index_scacquire hsa_queue_add_write_index_screlease
    hsa_queue_add_write_index_scacq_screl
}

macro_rules! compares {
    ($($name:ident)*) => {
        $(pub(crate) extern "C" fn $name(queue: *const HsaQueue, expected: u64, value: u64) -> u64 {
            let Some(queue) = queue::get(queue) else { return 0 };
            match queue.write_dispatch_id.compare_exchange(expected, value, SeqCst, SeqCst) {
                Ok(old) | Err(old) => old,
            }
        })*
    };
}

compares! {
    hsa_queue_cas_write_index_relaxed hsa_queue_cas_write_index_scacquire hsa_queue_cas_write_index_screlease
    hsa_queue_cas_write_index_scacq_screl
}

pub(crate) extern "C" fn hsa_amd_queue_set_priority(queue: *mut HsaQueue, priority: u32) -> Status {
    enter(|runtime| {
        let queue = find(runtime, queue)?;
        if priority > 2 {
            return Err(Status::INVALID_ARGUMENT);
        }
        queue.priority.store(priority, Relaxed);
        Ok(())
    })
}

pub(crate) extern "C" fn hsa_amd_queue_cu_set_mask(
    queue: *const HsaQueue,
    count: u32,
    mask: *const u32,
) -> Status {
    enter(|runtime| {
        let queue = find(runtime, queue)?;
        if !count.is_multiple_of(32) {
            return Err(Status::INVALID_ARGUMENT);
        }
        // SAFETY: the program says how many bits there are.
        let words = unsafe { slice(mask, (count / 32) as usize) }?;
        *runtime::lock(&queue.mask) = words.to_vec();
        Ok(())
    })
}

pub(crate) extern "C" fn hsa_amd_queue_cu_get_mask(
    queue: *const HsaQueue,
    count: u32,
    mask: *mut u32,
) -> Status {
    enter(|runtime| {
        let queue = find(runtime, queue)?;
        if !count.is_multiple_of(32) || count == 0 || mask.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        let units = runtime.gpu(queue.agent)?.1.model.compute_units as usize;
        let known = runtime::lock(&queue.mask);
        for word in 0..(count / 32) as usize {
            let all =
                (0..32).filter(|bit| word * 32 + bit < units).fold(0, |all, bit| all | 1 << bit);
            let value = if known.is_empty() { all } else { known.get(word).copied().unwrap_or(0) };
            // SAFETY: the program has room for so many bits.
            unsafe { put(mask.add(word), value) }?;
        }
        Ok(())
    })
}

pub(crate) extern "C" fn hsa_amd_queue_get_info(
    queue: *mut HsaQueue,
    attribute: u32,
    value: *mut c_void,
) -> Status {
    enter(|runtime| {
        let queue = find(runtime, queue)?;
        let answer = match attribute {
            0 => Value::U64(queue.agent),
            1 => Value::U64(queue.doorbell),
            _ => return Err(Status::INVALID_ARGUMENT),
        };
        // SAFETY: the program has room for the attribute.
        unsafe { answer.write(value) }
    })
}
