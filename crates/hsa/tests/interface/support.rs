//! The library, loaded as programs load it, and what tests of its interface share.
#![allow(
    dead_code,
    unsafe_code,
    unreachable_pub,
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "tests call C, and fail by panics; each test has some of it"
)]

use std::ffi::{CString, c_char, c_void};
use std::path::PathBuf;
use std::ptr::{null, null_mut};
use std::sync::OnceLock;

/// Where the library is: beside the tests.
pub fn library_path() -> PathBuf {
    let folder = std::env::current_exe().unwrap();
    folder.parent().unwrap().join("libhsa_runtime64.so")
}

fn library() -> usize {
    static LIBRARY: OnceLock<usize> = OnceLock::new();
    *LIBRARY.get_or_init(|| {
        let path = CString::new(library_path().to_str().unwrap()).unwrap();
        // SAFETY: loads the library that is tested.
        let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        assert!(!library.is_null(), "{} cannot be loaded", library_path().display());
        library as usize
    })
}

/// The address of a name.
pub fn symbol(name: &str) -> *mut c_void {
    let text = CString::new(name).unwrap();
    // SAFETY: the library is loaded, and the name is a text.
    let found = unsafe { libc::dlsym(library() as *mut c_void, text.as_ptr()) };
    assert!(!found.is_null(), "{name} is not exported");
    found
}

/// Calls a function of the library by its name; arguments are words, as in the calling convention.
#[macro_export]
macro_rules! hsa {
    ($name:ident($($argument:expr),* $(,)?)) => {{
        let function = $crate::support::symbol(stringify!($name));
        // SAFETY: the test hands over what the interface asks for, or what it must refuse.
        let function: extern "C" fn($($crate::hsa!(@ty $argument)),*) -> u32 =
            unsafe { std::mem::transmute(function) };
        function($(($argument) as u64),*)
    }};
    (@ty $argument:expr) => { u64 };
}

/// The same for a function that gives 64 bits.
#[macro_export]
macro_rules! hsa64 {
    ($name:ident($($argument:expr),* $(,)?)) => {{
        let function = $crate::support::symbol(stringify!($name));
        // SAFETY: as above.
        let function: extern "C" fn($($crate::hsa!(@ty $argument)),*) -> u64 =
            unsafe { std::mem::transmute(function) };
        function($(($argument) as u64),*)
    }};
}

pub const SUCCESS: u32 = 0;

/// Agents, the host first.
pub fn agents() -> Vec<u64> {
    extern "C" fn add(handle: u64, list: *mut c_void) -> u32 {
        // SAFETY: the list is that of the caller below.
        unsafe { (*list.cast::<Vec<u64>>()).push(handle) };
        0
    }
    let mut list: Vec<u64> = Vec::new();
    assert_eq!(hsa!(hsa_iterate_agents(add as *const () as usize, &raw mut list)), SUCCESS);
    list
}

/// Pools of an agent.
pub fn pools(agent: u64) -> Vec<u64> {
    extern "C" fn add(handle: u64, list: *mut c_void) -> u32 {
        // SAFETY: the list is that of the caller below.
        unsafe { (*list.cast::<Vec<u64>>()).push(handle) };
        0
    }
    let mut list: Vec<u64> = Vec::new();
    let visitor = add as *const () as usize;
    assert_eq!(hsa!(hsa_amd_agent_iterate_memory_pools(agent, visitor, &raw mut list)), SUCCESS);
    list
}

pub fn signal(value: i64) -> u64 {
    let mut handle = 0_u64;
    assert_eq!(hsa!(hsa_signal_create(value, 0, null::<u64>(), &raw mut handle)), SUCCESS);
    handle
}

/// Waits until a signal is below one; fails after a minute.
pub fn wait(handle: u64) {
    const LT: u64 = 2;
    let value = hsa64!(hsa_signal_wait_scacquire(handle, LT, 1_u64, 60_000_000_000_u64, 0)) as i64;
    assert!(value < 1, "the signal is {value}");
}

pub fn allocate(pool: u64, size: usize) -> *mut u8 {
    let mut pointer: *mut u8 = null_mut();
    assert_eq!(hsa!(hsa_amd_memory_pool_allocate(pool, size, 0, &raw mut pointer)), SUCCESS);
    pointer
}

/// An executable with one object, frozen.
pub fn load(agent: u64, object: &[u8]) -> u64 {
    let (mut reader, mut executable) = (0_u64, 0_u64);
    let (base, size) = (object.as_ptr(), object.len());
    assert_eq!(
        hsa!(hsa_code_object_reader_create_from_memory(base, size, &raw mut reader)),
        SUCCESS
    );
    assert_eq!(
        hsa!(hsa_executable_create_alt(1, 0, null::<c_char>(), &raw mut executable)),
        SUCCESS
    );
    let none = null_mut::<u64>();
    let loaded = hsa!(hsa_executable_load_agent_code_object(
        executable,
        agent,
        reader,
        null::<c_char>(),
        none
    ));
    assert_eq!(loaded, SUCCESS);
    assert_eq!(hsa!(hsa_executable_freeze(executable, null::<c_char>())), SUCCESS);
    assert_eq!(hsa!(hsa_code_object_reader_destroy(reader)), SUCCESS);
    executable
}

pub fn find(executable: u64, agent: u64, name: &str) -> u64 {
    let (name, mut symbol) = (CString::new(name).unwrap(), 0_u64);
    let found = hsa!(hsa_executable_get_symbol_by_name(
        executable,
        name.as_ptr(),
        &raw const agent,
        &raw mut symbol
    ));
    assert_eq!(found, SUCCESS, "{name:?}");
    symbol
}

/// A word of what is known of a symbol.
pub fn about(symbol: u64, attribute: u32) -> u64 {
    let mut value = 0_u64;
    assert_eq!(hsa!(hsa_executable_symbol_get_info(symbol, attribute, &raw mut value)), SUCCESS);
    value
}

pub const KERNEL_OBJECT: u32 = 22;

#[repr(C)]
pub struct HsaQueue {
    pub kind: u32,
    pub features: u32,
    pub base: *mut [u8; 64],
    pub doorbell: u64,
    pub size: u32,
    pub reserved: u32,
    pub id: u64,
}

/// Tells errors of queues to tests: the last status.
pub static LAST_ERROR: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);

pub extern "C" fn on_error(status: u32, _: *mut HsaQueue, _: *mut c_void) {
    LAST_ERROR.store(status, std::sync::atomic::Ordering::SeqCst);
}

pub fn queue(agent: u64, size: u32) -> *mut HsaQueue {
    let mut queue: *mut HsaQueue = null_mut();
    let callback = on_error as *const () as usize;
    let made = hsa!(hsa_queue_create(
        agent,
        size,
        0,
        callback,
        null_mut::<c_void>(),
        u32::MAX,
        u32::MAX,
        &raw mut queue
    ));
    assert_eq!(made, SUCCESS);
    queue
}

/// What a dispatch says.
#[derive(Clone, Copy, Default)]
pub struct Launch {
    pub header: u16,
    pub dimensions: u16,
    pub workgroup: [u16; 3],
    pub grid: [u32; 3],
    pub private: u32,
    pub group: u32,
    pub kernel: u64,
    pub kernarg: u64,
    pub completion: u64,
}

impl Launch {
    pub fn new(kernel: u64, kernarg: u64, grid: u32, workgroup: u16, completion: u64) -> Self {
        Self {
            header: 2 | 1 << 8 | 2 << 9 | 2 << 11,
            dimensions: 1,
            workgroup: [workgroup, 1, 1],
            grid: [grid, 1, 1],
            kernel,
            kernarg,
            completion,
            ..Self::default()
        }
    }

    pub fn bytes(&self) -> [u8; 64] {
        let mut bytes = [0; 64];
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(0, &self.header.to_le_bytes());
        put(2, &self.dimensions.to_le_bytes());
        for axis in 0..3 {
            put(4 + 2 * axis, &self.workgroup[axis].to_le_bytes());
            put(12 + 4 * axis, &self.grid[axis].to_le_bytes());
        }
        put(24, &self.private.to_le_bytes());
        put(28, &self.group.to_le_bytes());
        put(32, &self.kernel.to_le_bytes());
        put(40, &self.kernarg.to_le_bytes());
        put(56, &self.completion.to_le_bytes());
        bytes
    }
}

/// Puts a packet into a queue as programs do: its header last, then the doorbell.
pub fn submit(queue: *mut HsaQueue, packet: &[u8; 64]) {
    let index = hsa64!(hsa_queue_add_write_index_screlease(queue, 1));
    // SAFETY: the queue is alive.
    let (size, base, doorbell) =
        unsafe { (u64::from((*queue).size), (*queue).base, (*queue).doorbell) };
    while index - hsa64!(hsa_queue_load_read_index_scacquire(queue)) >= size {
        std::thread::yield_now();
    }
    let header = u16::from_le_bytes([packet[0], packet[1]]);
    // SAFETY: the slot is this packet's, now that the queue has read what was there.
    unsafe {
        let slot = base.add((index % size) as usize).cast::<u8>();
        std::ptr::copy_nonoverlapping(packet.as_ptr().add(2), slot.add(2), 62);
        let first = &*slot.cast::<std::sync::atomic::AtomicU16>();
        first.store(header, std::sync::atomic::Ordering::Release);
    }
    hsa!(hsa_signal_store_screlease(doorbell, index));
}

pub fn fixture(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
