//! Wrong use: bad handles, double destroy, null pointers, wrong sizes, malformed packets. Each gives its status.

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::atomic::Ordering::SeqCst;

use crate::hsa;
use crate::kernels::setup;
use crate::support::*;

pub const INVALID_ARGUMENT: u32 = 0x1001;
const INVALID_QUEUE_CREATION: u32 = 0x1002;
const INVALID_ALLOCATION: u32 = 0x1003;
const INVALID_AGENT: u32 = 0x1004;
const INVALID_REGION: u32 = 0x1005;
const INVALID_SIGNAL: u32 = 0x1006;
const INVALID_QUEUE: u32 = 0x1007;
const OUT_OF_RESOURCES: u32 = 0x1008;
const INVALID_INDEX: u32 = 0x100e;
const INVALID_PACKET_FORMAT: u32 = 0x1009;
pub const NOT_INITIALIZED: u32 = 0x100b;
pub const INCOMPATIBLE_ARGUMENTS: u32 = 0x100d;
const INVALID_ISA: u32 = 0x100f;
const INVALID_CODE_OBJECT: u32 = 0x1010;
const INVALID_EXECUTABLE: u32 = 0x1011;
const FROZEN_EXECUTABLE: u32 = 0x1012;
const INVALID_SYMBOL_NAME: u32 = 0x1013;
const VARIABLE_ALREADY_DEFINED: u32 = 0x1014;
pub const VARIABLE_UNDEFINED: u32 = 0x1015;
const INVALID_ISA_NAME: u32 = 0x1017;
const INVALID_CODE_SYMBOL: u32 = 0x1018;
const INVALID_EXECUTABLE_SYMBOL: u32 = 0x1019;
const INVALID_FILE: u32 = 0x1020;
const INVALID_CODE_OBJECT_READER: u32 = 0x1021;
const INVALID_CACHE: u32 = 0x1022;
const INVALID_WAVEFRONT: u32 = 0x1023;
const INVALID_SIGNAL_GROUP: u32 = 0x1024;
const INVALID_MEMORY_POOL: u32 = 40;
const MEMORY_FAULT: u32 = 43;

/// Holds calls to their statuses; tells all that differ.
macro_rules! cases {
    ($($name:ident($($argument:expr),* $(,)?) => $status:expr;)*) => {{
        let mut wrong = Vec::new();
        let mut count = 0;
        $({
            let got = hsa!($name($($argument),*));
            count += 1;
            if got != $status {
                wrong.push(format!(
                    "{}({}) is {got:#x} and not {:#x}",
                    stringify!($name), stringify!($($argument),*), $status
                ));
            }
        })*
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        count
    }};
}

/// Names of the calls that give a status, as the library's own table has them.
pub fn status_names() -> Vec<String> {
    let table = include_str!("../../src/api/table.rs");
    let start = table.find("table! {\n").unwrap();
    let table = &table[start..][..table[start..].find("\n}\n").unwrap()];
    let is_value = |name: &str| {
        let is_operation = [
            "load", "store", "add", "and", "or", "xor", "exchange", "subtract", "cas", "wait",
            "silent",
        ]
        .iter()
        .any(|it| name.starts_with(&format!("hsa_signal_{it}_")));
        let is_index = name.contains("_write_index_") || name.contains("_read_index_");
        is_operation || is_index || name.starts_with("hsa_amd_signal_wait_")
    };
    // Of tools' tables alone.
    let hidden = [
        "hsa_amd_queue_intercept_create",
        "hsa_amd_queue_intercept_register",
        "hsa_amd_runtime_queue_create_register",
    ];
    table
        .split_whitespace()
        .filter(|it| it.starts_with("hsa_") && !is_value(it) && !hidden.contains(it))
        .map(str::to_owned)
        .collect()
}

/// Calls a function with zeros.
pub fn with_zeros(name: &str) -> u32 {
    let function = symbol(name);
    // SAFETY: every argument of the interface fits a word; those beyond a function's own are not looked at.
    unsafe {
        let function: extern "C" fn(u64, u64, u64, u64, u64, u64, u64, u64, u64, u64) -> u32 =
            std::mem::transmute(function);
        function(0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    }
}

#[test]
fn every_call_refuses_zeros() {
    setup();
    // What zeros are right for: nothing to free, nothing to register, a call without arguments.
    let fine = [
        "hsa_init",
        "hsa_shut_down",
        "hsa_memory_free",
        "hsa_memory_register",
        "hsa_memory_deregister",
        "hsa_amd_memory_pool_free",
        "hsa_amd_profiling_async_copy_enable",
    ];
    let names = status_names();
    assert!(names.len() > 150, "{}", names.len());
    for name in names.iter().filter(|it| !fine.contains(&it.as_str())) {
        let status = with_zeros(name);
        assert!(status != SUCCESS && status != NOT_INITIALIZED, "{name} gives {status:#x}");
    }
    for name in &fine[2..] {
        assert_eq!(with_zeros(name), SUCCESS, "{name}");
    }
}

#[test]
fn bad_handles_have_their_statuses() {
    let agents = setup();
    let (gpu, bad, none) = (agents[1], 0xdead_0000_u64, null_mut::<c_void>());
    let mut room = [0_u64; 32];
    let at = room.as_mut_ptr();
    let pool = pools(gpu)[0];
    extern "C" fn visit(_: u64, _: *mut c_void) -> u32 {
        0
    }
    let visitor = visit as *const () as usize;
    let count = cases! {
        hsa_agent_get_info(bad, 0, at) => INVALID_AGENT;
        hsa_agent_get_info(gpu, 0x7777, at) => INVALID_ARGUMENT;
        hsa_agent_get_info(gpu, 0, none) => INVALID_ARGUMENT;
        hsa_agent_iterate_isas(bad, visitor, none) => INVALID_AGENT;
        hsa_agent_iterate_isas(agents[0], visitor, none) => INVALID_AGENT;
        hsa_agent_iterate_isas(gpu, 0, none) => INVALID_ARGUMENT;
        hsa_agent_iterate_caches(bad, visitor, none) => INVALID_AGENT;
        hsa_agent_iterate_regions(bad, visitor, none) => INVALID_AGENT;
        hsa_amd_agent_iterate_memory_pools(bad, visitor, none) => INVALID_AGENT;
        hsa_amd_agent_iterate_memory_pools(gpu, 0, none) => INVALID_ARGUMENT;
        hsa_iterate_agents(0, none) => INVALID_ARGUMENT;
        hsa_isa_get_info_alt(bad, 0, at) => INVALID_ISA;
        hsa_isa_iterate_wavefronts(bad, visitor, none) => INVALID_ISA;
        hsa_isa_get_round_method(bad, 1, 1, at) => INVALID_ISA;
        hsa_isa_get_exception_policies(bad, 0, at) => INVALID_ISA;
        hsa_isa_compatible(bad, bad, at) => INVALID_ISA;
        hsa_isa_from_name(c"amdgcn-amd-amdhsa--gfx1".as_ptr(), at) => INVALID_ISA_NAME;
        hsa_isa_from_name(none, at) => INVALID_ARGUMENT;
        hsa_cache_get_info(bad, 0, at) => INVALID_CACHE;
        hsa_wavefront_get_info(bad, 0, at) => INVALID_WAVEFRONT;
        hsa_region_get_info(bad, 0, at) => INVALID_REGION;
        hsa_amd_memory_pool_get_info(bad, 0, at) => INVALID_MEMORY_POOL;
        hsa_amd_memory_pool_get_info(pool, 99, at) => INVALID_ARGUMENT;
        hsa_amd_agent_memory_pool_get_info(bad, pool, 0, at) => INVALID_AGENT;
        hsa_amd_agent_memory_pool_get_info(gpu, bad, 0, at) => INVALID_MEMORY_POOL;
        hsa_amd_memory_pool_allocate(bad, 4096, 0, at) => INVALID_MEMORY_POOL;
        hsa_amd_memory_pool_allocate(pool, 0, 0, at) => INVALID_ARGUMENT;
        hsa_amd_memory_pool_allocate(pool, 4096, 0, none) => INVALID_ARGUMENT;
        hsa_amd_memory_pool_allocate(pool, 1_u64 << 50, 0, at) => OUT_OF_RESOURCES;
        hsa_amd_memory_pool_allocate(pools(gpu)[3], 64, 0, at) => INVALID_ALLOCATION;
        hsa_memory_allocate(bad, 4096, at) => INVALID_REGION;
        hsa_amd_memory_pool_free(bad) => INVALID_ALLOCATION;
        hsa_memory_free(bad) => INVALID_ALLOCATION;
        hsa_amd_agents_allow_access(1, &raw const bad, none, at) => INVALID_AGENT;
        hsa_amd_agents_allow_access(1, &raw const gpu, none, at) => INVALID_ALLOCATION;
        hsa_amd_agents_allow_access(0, &raw const gpu, none, at) => INVALID_ARGUMENT;
        hsa_amd_memory_lock(none, 64, none, 0, at) => INVALID_ARGUMENT;
        hsa_amd_memory_lock(at, 0, none, 0, at) => INVALID_ARGUMENT;
        hsa_amd_memory_lock(at, 64, &raw const bad, 1, at) => INVALID_AGENT;
        hsa_amd_memory_lock_to_pool(at, 64, none, 0, bad, 0, at) => INVALID_MEMORY_POOL;
        hsa_amd_memory_lock_to_pool(at, 64, none, 0, pool, 0, at) => INVALID_MEMORY_POOL;
        hsa_amd_memory_unlock(none) => INVALID_ARGUMENT;
        hsa_amd_memory_fill(at, 0, 1) => INVALID_ALLOCATION;
        hsa_amd_memory_fill(at as u64 + 1, 0, 1) => INVALID_ARGUMENT;
        hsa_amd_pointer_info(at, none, 0, none, none) => INVALID_ARGUMENT;
        hsa_amd_pointer_info_set_userdata(bad, none) => INVALID_ARGUMENT;
        hsa_amd_register_deallocation_callback(bad, visitor, none) => INVALID_ALLOCATION;
        hsa_amd_deregister_deallocation_callback(bad, visitor) => INVALID_ARGUMENT;
        hsa_amd_memory_async_copy(at, bad, at, gpu, 8, 0, none, 0) => INVALID_AGENT;
        hsa_amd_memory_async_copy(none, gpu, at, gpu, 8, 0, none, 0) => INVALID_ARGUMENT;
        hsa_amd_memory_async_copy(at, gpu, at, gpu, 8, 0, none, bad) => INVALID_SIGNAL;
        hsa_amd_memory_async_copy(at, gpu, at, gpu, 8, 1, &raw const bad, 0) => INVALID_SIGNAL;
        hsa_amd_memory_async_copy_on_engine(at, gpu, at, gpu, 8, 0, none, 0, 3, 0) => INVALID_ARGUMENT;
        hsa_memory_copy(bad, at, 8) => INVALID_ARGUMENT;
        hsa_signal_destroy(bad) => INVALID_SIGNAL;
        hsa_signal_destroy(0) => INVALID_ARGUMENT;
        hsa_signal_create(1, 1, none, at) => INVALID_ARGUMENT;
        hsa_signal_create(1, 1, &raw const bad, at) => INVALID_AGENT;
        hsa_signal_create(1, 0, none, none) => INVALID_ARGUMENT;
        hsa_amd_signal_value_pointer(bad, at) => INVALID_SIGNAL;
        hsa_amd_signal_async_handler(bad, 0, 0, visitor, none) => INVALID_SIGNAL;
        hsa_signal_group_create(0, none, 0, none, at) => INVALID_ARGUMENT;
        hsa_signal_group_create(1, &raw const bad, 0, none, at) => INVALID_SIGNAL;
        hsa_signal_group_destroy(bad) => INVALID_SIGNAL_GROUP;
        hsa_signal_group_wait_any_relaxed(bad, none, none, 0, at, at) => INVALID_SIGNAL_GROUP;
        hsa_queue_create(bad, 64, 0, 0, none, 0, 0, at) => INVALID_AGENT;
        hsa_queue_create(agents[0], 64, 0, 0, none, 0, 0, at) => INVALID_QUEUE_CREATION;
        hsa_queue_create(gpu, 0, 0, 0, none, 0, 0, at) => INVALID_ARGUMENT;
        hsa_queue_create(gpu, 65, 0, 0, none, 0, 0, at) => INVALID_ARGUMENT;
        hsa_queue_create(gpu, 64, 9, 0, none, 0, 0, at) => INVALID_ARGUMENT;
        hsa_queue_create(gpu, 1_u32 << 24, 0, 0, none, 0, 0, at) => OUT_OF_RESOURCES;
        hsa_queue_create(gpu, 64, 0, 0, none, 0, 0, none) => INVALID_ARGUMENT;
        hsa_queue_destroy(bad) => INVALID_QUEUE;
        hsa_queue_destroy(none) => INVALID_ARGUMENT;
        hsa_queue_inactivate(bad) => INVALID_QUEUE;
        hsa_amd_queue_set_priority(bad, 1) => INVALID_QUEUE;
        hsa_amd_queue_cu_set_mask(bad, 32, at) => INVALID_QUEUE;
        hsa_amd_profiling_set_profiler_enabled(bad, 1) => INVALID_QUEUE;
        hsa_amd_profiling_get_dispatch_time(bad, bad, at) => INVALID_AGENT;
        hsa_amd_profiling_get_dispatch_time(gpu, bad, at) => INVALID_SIGNAL;
        hsa_amd_profiling_get_async_copy_time(bad, at) => INVALID_SIGNAL;
        hsa_soft_queue_create(bad, 64, 0, 1, bad, at) => INVALID_REGION;
        hsa_soft_queue_create(pool, 64, 0, 1, bad, at) => INVALID_SIGNAL;
        hsa_code_object_reader_create_from_file(-1_i64, at) => INVALID_FILE;
        hsa_code_object_reader_create_from_memory(none, 0, at) => INVALID_ARGUMENT;
        hsa_code_object_reader_destroy(bad) => INVALID_CODE_OBJECT_READER;
        hsa_executable_create_alt(7, 0, none, at) => INVALID_ARGUMENT;
        hsa_executable_create_alt(0, 0, none, none) => INVALID_ARGUMENT;
        hsa_executable_destroy(bad) => INVALID_EXECUTABLE;
        hsa_executable_freeze(bad, none) => INVALID_EXECUTABLE;
        hsa_executable_get_info(bad, 1, at) => INVALID_EXECUTABLE;
        hsa_executable_validate(bad, at) => INVALID_EXECUTABLE;
        hsa_executable_load_agent_code_object(bad, gpu, bad, none, none) => INVALID_EXECUTABLE;
        hsa_executable_get_symbol_by_name(bad, c"x".as_ptr(), none, at) => INVALID_EXECUTABLE;
        hsa_executable_iterate_symbols(bad, visitor, none) => INVALID_EXECUTABLE;
        hsa_executable_iterate_agent_symbols(bad, gpu, visitor, none) => INVALID_EXECUTABLE;
        hsa_executable_iterate_program_symbols(bad, visitor, none) => INVALID_EXECUTABLE;
        hsa_executable_symbol_get_info(bad, 0, at) => INVALID_EXECUTABLE_SYMBOL;
        hsa_executable_agent_global_variable_define(bad, gpu, c"x".as_ptr(), at) => INVALID_EXECUTABLE;
        hsa_code_object_destroy(bad) => INVALID_CODE_OBJECT;
        hsa_code_symbol_get_info(bad, 0, at) => INVALID_CODE_SYMBOL;
        hsa_system_get_info(0x7777, at) => INVALID_ARGUMENT;
        hsa_system_extension_supported(0x777, 1, 0, at) => INVALID_ARGUMENT;
        hsa_system_get_major_extension_table(0x201, 9, 24, at) => INVALID_ARGUMENT;
        hsa_extension_get_name(0x777, at) => INVALID_ARGUMENT;
        hsa_status_string(0x7777, at) => INVALID_ARGUMENT;
        hsa_amd_vmem_address_reserve(at, 17, 0, 0) => INVALID_ARGUMENT;
        hsa_amd_vmem_address_free(bad, 4096) => INVALID_ALLOCATION;
        hsa_amd_vmem_handle_create(bad, 4096, 0, 0, at) => INVALID_MEMORY_POOL;
        hsa_amd_vmem_handle_release(bad) => INVALID_ALLOCATION;
        hsa_amd_vmem_map(4096, 4096, 0, bad, 0) => INVALID_ALLOCATION;
        hsa_amd_vmem_unmap(bad, 4096) => INVALID_ALLOCATION;
        hsa_amd_ipc_memory_create(at, 8, at) => INVALID_ARGUMENT;
        hsa_ext_image_create(gpu, at, at, 3, at) => 0x3000;
        hsa_ext_sampler_create(gpu, at, at) => 0x3003;
        hsa_ext_program_destroy(bad) => 0x2000;
    };
    assert!(count >= 110, "{count}");
}

#[test]
fn wrong_arguments_have_their_statuses() {
    let agents = setup();
    let (gpu, bad, none) = (agents[1], 0xdead_0000_u64, null_mut::<c_void>());
    let mut room = [0_u64; 32];
    let at = room.as_mut_ptr();
    let (pool, host_pool) = (pools(gpu)[0], pools(agents[0])[0]);
    let (memory, done, gone) = (allocate(pool, 4096), signal(1), signal(1));
    assert_eq!(hsa!(hsa_signal_destroy(gone)), SUCCESS);
    let queue = queue(gpu, 64);
    let name = c"x".as_ptr();
    // SAFETY: new pages; those of the second are then given back, so that nothing is there.
    let (constant, missing) = unsafe {
        let new = |access| {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            libc::mmap(null_mut(), 1 << 16, access, flags, -1, 0)
        };
        let pages = [new(libc::PROT_NONE), new(libc::PROT_READ)];
        libc::munmap(pages[1], 1 << 16);
        (pages[0], pages[1])
    };
    extern "C" fn visit(_: u64, _: *mut c_void) -> u32 {
        0
    }
    let visitor = visit as *const () as usize;
    let (mut isa, mut executable, mut reader) = (0_u64, 0_u64, 0_u64);
    assert_eq!(hsa!(hsa_agent_get_info(gpu, 0x13, &raw mut isa)), SUCCESS);
    assert_eq!(hsa!(hsa_executable_create_alt(1, 0, none, &raw mut executable)), SUCCESS);
    let garbage = b"garbage";
    let read =
        hsa!(hsa_code_object_reader_create_from_memory(garbage.as_ptr(), 7, &raw mut reader));
    assert_eq!(read, SUCCESS);
    let big = [memory as u64, 1 << 40, 1 << 40];
    let (offset, range) = ([0_u32; 3], [1_u32, 1 << 20, 1]);
    let count = cases! {
        hsa_system_get_info(0, none) => INVALID_ARGUMENT;
        hsa_system_extension_supported(0x201, 1, 0, none) => INVALID_ARGUMENT;
        hsa_system_major_extension_supported(0x777, 1, at, at) => INVALID_ARGUMENT;
        hsa_system_major_extension_supported(0x201, 1, none, at) => INVALID_ARGUMENT;
        hsa_system_get_extension_table(0x201, 1, 99, at) => INVALID_ARGUMENT;
        hsa_system_get_extension_table(0x201, 1, 0, none) => INVALID_ARGUMENT;
        hsa_system_get_major_extension_table(0x201, 1, 0, at) => INVALID_ARGUMENT;
        hsa_system_get_major_extension_table(0x201, 1, 24, none) => INVALID_ARGUMENT;
        hsa_extension_get_name(1, none) => INVALID_ARGUMENT;
        hsa_status_string(0, none) => INVALID_ARGUMENT;
        hsa_agent_extension_supported(1, bad, 1, 0, at) => INVALID_AGENT;
        hsa_agent_extension_supported(0x777, gpu, 1, 0, at) => INVALID_ARGUMENT;
        hsa_agent_extension_supported(1, gpu, 1, 0, none) => INVALID_ARGUMENT;
        hsa_agent_major_extension_supported(1, bad, 1, at, at) => INVALID_AGENT;
        hsa_agent_major_extension_supported(1, gpu, 1, none, none) => INVALID_ARGUMENT;
        hsa_agent_get_exception_policies(bad, 0, at) => INVALID_AGENT;
        hsa_agent_get_exception_policies(gpu, 9, at) => INVALID_ARGUMENT;
        hsa_agent_get_exception_policies(gpu, 0, none) => INVALID_ARGUMENT;
        hsa_agent_iterate_caches(gpu, 0, none) => INVALID_ARGUMENT;
        hsa_agent_iterate_regions(gpu, 0, none) => INVALID_ARGUMENT;
        hsa_agent_get_info(0, 0, at) => INVALID_AGENT;
        hsa_agent_get_info(pool, 0, at) => INVALID_AGENT;
        hsa_agent_get_info(gpu, 0xafff, at) => INVALID_ARGUMENT;
        hsa_isa_get_info(bad, 0, 0, at) => INVALID_ISA;
        hsa_isa_get_info(isa, 0, 5, at) => INVALID_INDEX;
        hsa_isa_get_info(isa, 99, 0, at) => INVALID_ARGUMENT;
        hsa_isa_get_info_alt(isa, 99, at) => INVALID_ARGUMENT;
        hsa_isa_get_info_alt(isa, 0, none) => INVALID_ARGUMENT;
        hsa_isa_get_exception_policies(isa, 9, at) => INVALID_ARGUMENT;
        hsa_isa_get_round_method(isa, 9, 1, at) => INVALID_ARGUMENT;
        hsa_isa_get_round_method(isa, 1, 9, at) => INVALID_ARGUMENT;
        hsa_isa_get_round_method(isa, 1, 1, none) => INVALID_ARGUMENT;
        hsa_isa_iterate_wavefronts(isa, 0, none) => INVALID_ARGUMENT;
        hsa_isa_compatible(isa, bad, at) => INVALID_ISA;
        hsa_isa_compatible(isa, isa, none) => INVALID_ARGUMENT;
        hsa_isa_from_name(c"".as_ptr(), at) => INVALID_ISA_NAME;
        hsa_isa_from_name(c"amdgcn-amd-amdhsa--gfx942".as_ptr(), none) => INVALID_ARGUMENT;
        hsa_region_get_info(pool, 99, at) => INVALID_ARGUMENT;
        hsa_region_get_info(pool, 0, none) => INVALID_ARGUMENT;
        hsa_memory_allocate(pool, 0, at) => INVALID_ARGUMENT;
        hsa_memory_allocate(pool, 64, none) => INVALID_ARGUMENT;
        hsa_memory_allocate(pool, usize::MAX, at) => OUT_OF_RESOURCES;
        hsa_memory_free(memory as u64 + 8) => INVALID_ALLOCATION;
        hsa_amd_memory_pool_free(memory as u64 + 8) => INVALID_ALLOCATION;
        hsa_amd_memory_pool_free(at) => INVALID_ALLOCATION;
        hsa_amd_memory_pool_allocate(pool, usize::MAX, 0, at) => OUT_OF_RESOURCES;
        hsa_amd_memory_pool_allocate(pool, 64, 0x100, at) => INVALID_ARGUMENT;
        hsa_amd_memory_pool_get_info(pool, 0, none) => INVALID_ARGUMENT;
        hsa_amd_agent_memory_pool_get_info(gpu, pool, 99, at) => INVALID_ARGUMENT;
        hsa_amd_agent_memory_pool_get_info(gpu, pool, 0, none) => INVALID_ARGUMENT;
        hsa_amd_memory_pool_can_migrate(bad, pool, at) => INVALID_MEMORY_POOL;
        hsa_amd_memory_pool_can_migrate(pool, bad, at) => INVALID_MEMORY_POOL;
        hsa_amd_memory_pool_can_migrate(pool, pool, none) => INVALID_ARGUMENT;
        hsa_amd_memory_migrate(none, pool, 0) => INVALID_ARGUMENT;
        hsa_amd_memory_migrate(memory, bad, 0) => INVALID_MEMORY_POOL;
        hsa_amd_memory_migrate(memory, pool, 0) => OUT_OF_RESOURCES;
        hsa_memory_assign_agent(memory, bad, 3) => INVALID_AGENT;
        hsa_memory_assign_agent(none, gpu, 3) => INVALID_ARGUMENT;
        hsa_memory_assign_agent(memory, gpu, 9) => INVALID_ARGUMENT;
        hsa_memory_register(none, 64) => INVALID_ARGUMENT;
        hsa_memory_register(at, 0) => INVALID_ARGUMENT;
        hsa_memory_register(at, usize::MAX) => OUT_OF_RESOURCES;
        hsa_memory_register(missing, 64) => OUT_OF_RESOURCES;
        hsa_memory_register(constant, 64) => OUT_OF_RESOURCES;
        hsa_amd_memory_lock(missing, 64, none, 0, at) => OUT_OF_RESOURCES;
        hsa_amd_memory_lock(constant, 64, none, 0, at) => OUT_OF_RESOURCES;
        hsa_amd_memory_lock(at, usize::MAX, none, 0, at) => INVALID_ARGUMENT;
        hsa_amd_memory_lock(at, 64, none, 1, at) => INVALID_ARGUMENT;
        hsa_amd_memory_lock(at, 64, &raw const gpu, 0, at) => INVALID_ARGUMENT;
        hsa_amd_memory_lock(at, 64, &raw const gpu, -1_i64, at) => INVALID_ARGUMENT;
        hsa_amd_memory_lock(at, 64, none, 0, none) => INVALID_ARGUMENT;
        hsa_amd_memory_lock_to_pool(at, 64, none, 0, host_pool, 7, at) => INVALID_ARGUMENT;
        hsa_amd_memory_lock_to_pool(none, 64, none, 0, host_pool, 0, at) => INVALID_ARGUMENT;
        hsa_amd_agents_allow_access(1, none, none, memory) => INVALID_ARGUMENT;
        hsa_amd_agents_allow_access(1, &raw const gpu, at, memory) => INVALID_ARGUMENT;
        hsa_amd_agents_allow_access(1, &raw const gpu, none, none) => INVALID_ARGUMENT;
        hsa_memory_copy(none, at, 8) => INVALID_ARGUMENT;
        hsa_memory_copy(memory, none, 8) => INVALID_ARGUMENT;
        hsa_memory_copy(memory, missing, 8) => INVALID_ARGUMENT;
        hsa_memory_copy(missing, memory, 8) => INVALID_ARGUMENT;
        hsa_memory_copy(memory, at, usize::MAX) => INVALID_ARGUMENT;
        hsa_amd_memory_fill(none, 0, 1) => INVALID_ARGUMENT;
        hsa_amd_memory_fill(memory, 0, 1025) => INVALID_ALLOCATION;
        hsa_amd_memory_fill(memory, 0, usize::MAX) => INVALID_ARGUMENT;
        hsa_amd_memory_async_copy(memory, gpu, none, gpu, 8, 0, none, 0) => INVALID_ARGUMENT;
        hsa_amd_memory_async_copy(memory, gpu, at, bad, 8, 0, none, 0) => INVALID_AGENT;
        hsa_amd_memory_async_copy(memory, gpu, at, gpu, 8, 1, none, 0) => INVALID_ARGUMENT;
        hsa_amd_memory_async_copy(memory, gpu, at, gpu, 8, 0, none, gone) => INVALID_SIGNAL;
        hsa_amd_memory_async_copy(memory, gpu, at, gpu, 8, 1, &raw const gone, done) => INVALID_SIGNAL;
        hsa_amd_memory_copy_engine_status(bad, gpu, at) => INVALID_AGENT;
        hsa_amd_memory_copy_engine_status(gpu, bad, at) => INVALID_AGENT;
        hsa_amd_memory_copy_engine_status(gpu, gpu, none) => INVALID_ARGUMENT;
        hsa_amd_memory_async_copy_rect(none, offset.as_ptr(), big.as_ptr(), offset.as_ptr(), range.as_ptr(), gpu, 2, 0, none, 0) => INVALID_ARGUMENT;
        hsa_amd_memory_async_copy_rect(big.as_ptr(), offset.as_ptr(), big.as_ptr(), offset.as_ptr(), range.as_ptr(), bad, 2, 0, none, 0) => INVALID_AGENT;
        hsa_amd_memory_async_copy_rect(big.as_ptr(), offset.as_ptr(), big.as_ptr(), offset.as_ptr(), range.as_ptr(), gpu, 9, 0, none, 0) => INVALID_ARGUMENT;
        hsa_amd_memory_async_copy_rect(big.as_ptr(), offset.as_ptr(), big.as_ptr(), offset.as_ptr(), range.as_ptr(), gpu, 3, 0, none, 0) => INVALID_ARGUMENT;
        hsa_amd_pointer_info(none, at, 0, none, none) => INVALID_ARGUMENT;
        hsa_amd_register_deallocation_callback(memory, 0, none) => INVALID_ARGUMENT;
        hsa_amd_deregister_deallocation_callback(memory, visitor) => INVALID_ARGUMENT;
        hsa_amd_svm_attributes_set(none, 64, none, 0) => INVALID_ARGUMENT;
        hsa_amd_svm_attributes_set(memory, 64, none, 1) => INVALID_ARGUMENT;
        hsa_amd_svm_attributes_set(memory, 64, [0x7777_u64, 0].as_ptr(), 1) => INVALID_ARGUMENT;
        hsa_amd_svm_attributes_get(memory, 64, none, 1) => INVALID_ARGUMENT;
        hsa_amd_svm_prefetch_async(memory, 64, bad, 0, none, 0) => INVALID_AGENT;
        hsa_amd_svm_prefetch_async(memory, 0, gpu, 0, none, 0) => INVALID_ARGUMENT;
        hsa_signal_create(1, 2, [gpu, gpu].as_ptr(), at) => INVALID_ARGUMENT;
        hsa_signal_destroy(gone) => INVALID_SIGNAL;
        hsa_signal_destroy(done + 1) => INVALID_SIGNAL;
        hsa_amd_signal_create(1, 0, none, 0, none) => INVALID_ARGUMENT;
        hsa_amd_signal_create(1, 0, none, 2, at) => OUT_OF_RESOURCES;
        hsa_amd_signal_value_pointer(done, none) => INVALID_ARGUMENT;
        hsa_amd_signal_value_pointer(gone, at) => INVALID_SIGNAL;
        hsa_amd_signal_async_handler(done, 0, 0, 0, none) => INVALID_ARGUMENT;
        hsa_amd_signal_async_handler(done, 9, 0, visitor, none) => INVALID_ARGUMENT;
        hsa_amd_async_function(0, none) => INVALID_ARGUMENT;
        hsa_signal_group_create(1, &raw const done, 1, &raw const bad, at) => INVALID_AGENT;
        hsa_signal_group_create(1, none, 0, none, at) => INVALID_ARGUMENT;
        hsa_signal_group_create(1, &raw const done, 0, none, none) => INVALID_ARGUMENT;
        hsa_signal_group_wait_any_scacquire(bad, none, none, 0, at, at) => INVALID_SIGNAL_GROUP;
        hsa_queue_create(gpu, 64, 0, 0, none, 0, 0, none) => INVALID_ARGUMENT;
        hsa_queue_create(gpu, u32::MAX, 0, 0, none, 0, 0, at) => INVALID_ARGUMENT;
        hsa_queue_destroy(queue as u64 + 64) => INVALID_QUEUE;
        hsa_queue_inactivate(none) => INVALID_ARGUMENT;
        hsa_amd_queue_set_priority(queue, 77) => INVALID_ARGUMENT;
        hsa_amd_queue_cu_set_mask(queue, 31, at) => INVALID_ARGUMENT;
        hsa_amd_queue_cu_set_mask(queue, 32, none) => INVALID_ARGUMENT;
        hsa_amd_queue_cu_get_mask(bad, 32, at) => INVALID_QUEUE;
        hsa_amd_queue_get_info(bad, 0, at) => INVALID_QUEUE;
        hsa_amd_queue_get_info(queue, 99, at) => INVALID_ARGUMENT;
        hsa_amd_profiling_set_profiler_enabled(none, 1) => INVALID_ARGUMENT;
        hsa_amd_profiling_get_dispatch_time(gpu, done, none) => INVALID_ARGUMENT;
        hsa_amd_profiling_get_dispatch_time(gpu, done, at) => 0x1000;
        hsa_amd_profiling_get_async_copy_time(done, none) => INVALID_ARGUMENT;
        hsa_amd_profiling_get_async_copy_time(gone, at) => INVALID_SIGNAL;
        hsa_amd_profiling_convert_tick_to_system_domain(bad, 1, at) => INVALID_AGENT;
        hsa_amd_profiling_convert_tick_to_system_domain(gpu, 1, none) => INVALID_ARGUMENT;
        hsa_amd_coherency_get_type(bad, at) => INVALID_AGENT;
        hsa_amd_coherency_get_type(gpu, none) => INVALID_ARGUMENT;
        hsa_amd_coherency_set_type(gpu, 9) => INVALID_ARGUMENT;
        hsa_amd_agent_set_async_scratch_limit(bad, 0) => INVALID_AGENT;
        hsa_amd_register_system_event_handler(0, none) => INVALID_ARGUMENT;
        hsa_amd_enable_logging(none, none) => INVALID_ARGUMENT;
        hsa_code_object_reader_create_from_memory(garbage.as_ptr(), 0, at) => INVALID_ARGUMENT;
        hsa_code_object_reader_create_from_memory(garbage.as_ptr(), 7, none) => INVALID_ARGUMENT;
        hsa_code_object_reader_create_from_file(0, none) => INVALID_ARGUMENT;
        hsa_executable_create(1, 9, none, at) => INVALID_ARGUMENT;
        hsa_executable_create(9, 0, none, at) => INVALID_ARGUMENT;
        hsa_executable_create_alt(1, 9, none, at) => INVALID_ARGUMENT;
        hsa_executable_load_agent_code_object(executable, bad, reader, none, none) => INVALID_AGENT;
        hsa_executable_load_agent_code_object(executable, gpu, bad, none, none) => INVALID_CODE_OBJECT_READER;
        hsa_executable_load_agent_code_object(executable, gpu, reader, none, none) => INVALID_CODE_OBJECT;
        hsa_executable_load_program_code_object(executable, bad, none, none) => INVALID_CODE_OBJECT_READER;
        hsa_executable_load_program_code_object(executable, reader, none, none) => INVALID_CODE_OBJECT;
        hsa_executable_load_code_object(executable, gpu, bad, none) => INVALID_CODE_OBJECT;
        hsa_executable_global_variable_define(bad, name, at) => INVALID_EXECUTABLE;
        hsa_executable_global_variable_define(executable, none, at) => INVALID_ARGUMENT;
        hsa_executable_readonly_variable_define(executable, bad, name, at) => INVALID_AGENT;
        hsa_executable_agent_global_variable_define(executable, agents[0], name, at) => INVALID_AGENT;
        hsa_executable_get_info(executable, 99, at) => INVALID_ARGUMENT;
        hsa_executable_get_info(executable, 1, none) => INVALID_ARGUMENT;
        hsa_executable_validate(executable, none) => INVALID_ARGUMENT;
        hsa_executable_validate_alt(bad, none, at) => INVALID_EXECUTABLE;
        hsa_executable_get_symbol_by_name(executable, none, &raw const gpu, at) => INVALID_ARGUMENT;
        hsa_executable_get_symbol_by_name(executable, name, &raw const bad, at) => INVALID_AGENT;
        hsa_executable_get_symbol_by_name(executable, name, &raw const gpu, none) => INVALID_ARGUMENT;
        hsa_executable_get_symbol_by_name(executable, name, &raw const gpu, at) => INVALID_SYMBOL_NAME;
        hsa_executable_get_symbol(executable, name, name, gpu, 0, at) => INVALID_SYMBOL_NAME;
        hsa_executable_iterate_symbols(executable, 0, none) => INVALID_ARGUMENT;
        hsa_executable_iterate_agent_symbols(executable, bad, visitor, none) => INVALID_AGENT;
        hsa_executable_iterate_program_symbols(executable, 0, none) => INVALID_ARGUMENT;
        hsa_code_object_deserialize(none, 7, none, at) => INVALID_ARGUMENT;
        hsa_code_object_get_info(bad, 0, at) => INVALID_CODE_OBJECT;
        hsa_code_object_serialize(bad, visitor, 0, none, at, at) => INVALID_CODE_OBJECT;
        hsa_code_object_iterate_symbols(bad, visitor, none) => INVALID_CODE_OBJECT;
        hsa_amd_vmem_address_reserve(none, 4096, 0, 0) => INVALID_ARGUMENT;
        hsa_amd_vmem_address_reserve_align(at, 4096, 0, 3, 0) => INVALID_ARGUMENT;
        hsa_amd_vmem_handle_create(pool, 17, 1, 0, at) => INVALID_ARGUMENT;
        hsa_amd_vmem_handle_create(pool, 4096, 1, 0, none) => INVALID_ARGUMENT;
        hsa_amd_vmem_handle_create(pool, 1_u64 << 50, 1, 0, at) => OUT_OF_RESOURCES;
        hsa_amd_vmem_map(none, 4096, 0, 1, 0) => INVALID_ARGUMENT;
        hsa_amd_vmem_set_access(memory, 4096, [3, gpu].as_ptr(), 1) => INVALID_ALLOCATION;
        hsa_amd_vmem_get_access(memory, at, bad) => INVALID_AGENT;
        hsa_amd_vmem_get_access(memory, at, gpu) => INVALID_ALLOCATION;
        hsa_amd_vmem_export_shareable_handle(at, bad, 0) => INVALID_ALLOCATION;
        hsa_amd_vmem_import_shareable_handle(-1_i64, at) => INVALID_ARGUMENT;
        hsa_amd_vmem_retain_alloc_handle(at, memory) => INVALID_ALLOCATION;
        hsa_amd_vmem_get_alloc_properties_from_handle(bad, at, at) => INVALID_ALLOCATION;
        hsa_amd_portable_export_dmabuf(memory, 4096, at, at) => INVALID_ALLOCATION;
        hsa_amd_spm_acquire(gpu) => OUT_OF_RESOURCES;
        hsa_ext_image_get_capability(gpu, 0, at, at) => 0x3000;
        hsa_ven_amd_pcs_iterate_configuration(gpu, visitor, none) => INVALID_AGENT;
    };
    assert!(count >= 190, "{count}");
    assert_eq!(hsa!(hsa_queue_destroy(queue)), SUCCESS);
    assert_eq!(hsa!(hsa_amd_memory_pool_free(memory)), SUCCESS);
    // What was refused has taken nothing.
    assert_eq!(hsa!(hsa_executable_destroy(executable)), SUCCESS);
}

#[test]
fn what_is_destroyed_is_gone() {
    let agents = setup();
    let handle = signal(1);
    assert_eq!(hsa!(hsa_signal_destroy(handle)), SUCCESS);
    assert_eq!(hsa!(hsa_signal_destroy(handle)), INVALID_SIGNAL);
    let memory = allocate(pools(agents[1])[0], 100);
    assert_eq!(hsa!(hsa_amd_memory_pool_free(memory)), SUCCESS);
    assert_eq!(hsa!(hsa_amd_memory_pool_free(memory)), INVALID_ALLOCATION);
    let queue = queue(agents[1], 64);
    // SAFETY: the queue is alive.
    let doorbell = unsafe { (*queue).doorbell };
    assert_eq!(hsa!(hsa_signal_destroy(doorbell)), INVALID_SIGNAL, "a doorbell is the queue's");
    assert_eq!(hsa!(hsa_queue_destroy(queue)), SUCCESS);
    assert_eq!(hsa!(hsa_queue_destroy(queue)), INVALID_QUEUE);
    let executable = load(agents[1], &fixture("run.gfx942.co"));
    let symbol = find(executable, agents[1], "saxpy.kd");
    let mut room = [0_u64; 8];
    let none = null::<u8>();
    let missing = hsa!(hsa_executable_get_symbol_by_name(
        executable,
        c"nothing".as_ptr(),
        &raw const agents[1],
        &raw mut room
    ));
    assert_eq!(missing, INVALID_SYMBOL_NAME);
    assert_eq!(hsa!(hsa_executable_freeze(executable, none)), FROZEN_EXECUTABLE);
    let define = hsa!(hsa_executable_agent_global_variable_define(
        executable,
        agents[1],
        c"x".as_ptr(),
        &raw mut room
    ));
    assert_eq!(define, FROZEN_EXECUTABLE);
    assert_eq!(hsa!(hsa_executable_symbol_get_info(symbol, 77, &raw mut room)), INVALID_ARGUMENT);
    assert_eq!(hsa!(hsa_executable_destroy(executable)), SUCCESS);
    assert_eq!(hsa!(hsa_executable_destroy(executable)), INVALID_EXECUTABLE);
    assert_eq!(
        hsa!(hsa_executable_symbol_get_info(symbol, 0, &raw mut room)),
        INVALID_EXECUTABLE_SYMBOL
    );
}

/// The status of loading an object for an agent, and of freezing it.
pub fn statuses(agent: u64, object: &[u8], defined: Option<&std::ffi::CStr>) -> [u32; 3] {
    let (mut reader, mut executable) = (0_u64, 0_u64);
    let none = null::<u8>();
    let (base, size) = (object.as_ptr(), object.len());
    assert_eq!(
        hsa!(hsa_code_object_reader_create_from_memory(base, size, &raw mut reader)),
        SUCCESS
    );
    assert_eq!(hsa!(hsa_executable_create_alt(1, 0, none, &raw mut executable)), SUCCESS);
    let define = defined.map_or(SUCCESS, |name| {
        hsa!(hsa_executable_agent_global_variable_define(
            executable,
            agent,
            name.as_ptr(),
            object.as_ptr()
        ));
        hsa!(hsa_executable_agent_global_variable_define(
            executable,
            agent,
            name.as_ptr(),
            object.as_ptr()
        ))
    });
    let loaded = hsa!(hsa_executable_load_agent_code_object(
        executable,
        agent,
        reader,
        none,
        null_mut::<u64>()
    ));
    let frozen = hsa!(hsa_executable_freeze(executable, none));
    hsa!(hsa_executable_destroy(executable));
    [define, loaded, frozen]
}

#[test]
fn objects_that_do_not_fit_are_refused() {
    let agents = setup();
    let object = fixture("run.gfx942.co");
    assert_eq!(statuses(agents[1], b"nothing", None)[1], INVALID_CODE_OBJECT);
    assert_eq!(statuses(agents[1], &object[..100], None)[1], INVALID_CODE_OBJECT);
    assert_eq!(statuses(agents[2], &object, None)[1], INCOMPATIBLE_ARGUMENTS);
    assert_eq!(statuses(agents[0], &object, None)[1], INVALID_AGENT);
    assert_eq!(
        statuses(agents[1], &fixture("scale-user.co"), None)[1..],
        [SUCCESS, VARIABLE_UNDEFINED]
    );
    assert_eq!(statuses(agents[1], &object, Some(c"x"))[0], VARIABLE_ALREADY_DEFINED);
    for cut in (0..object.len()).step_by(97) {
        let [_, loaded, frozen] = statuses(agents[1], &[&object[..cut], &[0]].concat(), None);
        assert!(loaded != SUCCESS || frozen == SUCCESS, "cut at {cut}: {loaded:#x}, {frozen:#x}");
    }
}

/// The status that a queue's callback gets for a packet.
fn refused(packet: &[u8; 64]) -> u32 {
    static SERIAL: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _serial = SERIAL.lock();
    static STATUS: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    extern "C" fn told(status: u32, _: *mut HsaQueue, _: *mut c_void) {
        STATUS.store(status, SeqCst);
    }
    STATUS.store(0, SeqCst);
    let agents = setup();
    let mut queue: *mut HsaQueue = null_mut();
    let callback = told as *const () as usize;
    let made = hsa!(hsa_queue_create(
        agents[1],
        64,
        0,
        callback,
        null_mut::<c_void>(),
        0,
        0,
        &raw mut queue
    ));
    assert_eq!(made, SUCCESS);
    submit(queue, packet);
    for _ in 0..5000 {
        if STATUS.load(SeqCst) != 0 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert_eq!(hsa!(hsa_queue_destroy(queue)), SUCCESS);
    STATUS.load(SeqCst)
}

#[test]
fn malformed_packets_are_errors_of_the_queue() {
    let agents = setup();
    let executable = load(agents[1], &fixture("run.gfx942.co"));
    let kernel = about(find(executable, agents[1], "saxpy.kd"), KERNEL_OBJECT);
    let kernarg = allocate(pools(agents[0])[1], 4096) as u64;
    let good = Launch::new(kernel, kernarg, 64, 64, 0);
    let cases = [
        (Launch { kernel: 0, ..good }, INVALID_CODE_OBJECT),
        (Launch { kernel: 0x1234_5640, ..good }, INVALID_CODE_OBJECT),
        (Launch { kernel: kernel + 1, ..good }, INVALID_CODE_OBJECT),
        (Launch { dimensions: 0, ..good }, INCOMPATIBLE_ARGUMENTS),
        (Launch { dimensions: 4, ..good }, INCOMPATIBLE_ARGUMENTS),
        (Launch { workgroup: [0, 1, 1], ..good }, INVALID_ARGUMENT),
        (Launch { grid: [0, 1, 1], ..good }, INVALID_ARGUMENT),
        (Launch { workgroup: [2048, 1, 1], ..good }, INVALID_ARGUMENT),
        (Launch { dimensions: 2, workgroup: [64, 64, 1], ..good }, INVALID_ARGUMENT),
        (Launch { group: 1 << 20, ..good }, INVALID_ALLOCATION),
        (Launch { private: u32::MAX, ..good }, OUT_OF_RESOURCES),
        (Launch { kernarg: 0, ..good }, MEMORY_FAULT),
        (Launch { kernarg: 0x10, ..good }, MEMORY_FAULT),
        (Launch { header: 4 | 1 << 8, ..good }, INVALID_PACKET_FORMAT),
        (Launch { header: 77 | 1 << 8, ..good }, INVALID_PACKET_FORMAT),
    ];
    for (at, (launch, status)) in cases.iter().enumerate() {
        assert_eq!(refused(&launch.bytes()), *status, "case {at}");
    }
    let mut vendor = [0_u8; 64];
    vendor[2] = 9;
    assert_eq!(refused(&vendor), INVALID_PACKET_FORMAT);
    let mut barrier = [0_u8; 64];
    barrier[0] = 3;
    barrier[8..16].copy_from_slice(&0xdead_u64.to_le_bytes());
    assert_eq!(refused(&barrier), INVALID_SIGNAL);
}
