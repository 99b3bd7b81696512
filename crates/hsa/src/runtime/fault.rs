//! What programs that ask for it are told of memory that a kernel may not access.

use std::ffi::c_void;
use std::sync::Mutex;

use crate::abi::{MemoryFaultEvent, Status};
use crate::runtime::{self, Runtime};

/// `hsa_amd_system_event_callback_t`.
pub(crate) type Callback = extern "C" fn(*const MemoryFaultEvent, *mut c_void) -> Status;

static HANDLERS: Mutex<Vec<(Callback, usize)>> = Mutex::new(Vec::new());

pub(crate) fn register(callback: Callback, data: *mut c_void) {
    runtime::lock(&HANDLERS).push((callback, data as usize));
}

/// Tells all handlers of an address that a kernel may not access.
pub(crate) fn tell(_: &Runtime, agent: u64, address: u64, is_read_only: bool) {
    const NOT_PRESENT: u32 = 1;
    const READ_ONLY: u32 = 2;
    let fault_reason_mask = if is_read_only { READ_ONLY } else { NOT_PRESENT };
    let event =
        MemoryFaultEvent { event_type: 0, agent, virtual_address: address, fault_reason_mask };
    let handlers = runtime::lock(&HANDLERS).clone();
    for (callback, data) in handlers {
        callback(&raw const event, data as *mut c_void);
    }
}
