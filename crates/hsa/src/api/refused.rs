//! What there is none of here: each answers with the status that the interface has for it, and is told once.

use std::ffi::c_void;

use crate::abi::Status;
use crate::log;
use crate::runtime::enter;

macro_rules! refused {
    ($($name:ident($($argument:ident: $type:ty),*) = $status:ident;)*) => {
        $(pub(crate) extern "C" fn $name($($argument: $type),*) -> Status {
            $(let _ = $argument;)*
            enter(|_| {
                log::once(concat!(stringify!($name), " is not supported"));
                Err(Status::$status)
            })
        })*
    };
}

type P = *mut c_void;

refused! {
    // Images are not modelled.
    hsa_ext_image_get_capability(agent: u64, geometry: u32, format: P, mask: *mut u32) = IMAGE_FORMAT_UNSUPPORTED;
    hsa_ext_image_get_capability_with_layout(agent: u64, geometry: u32, format: P, layout: u32, mask: *mut u32)
        = IMAGE_FORMAT_UNSUPPORTED;
    hsa_ext_image_data_get_info(agent: u64, image: P, access: u32, info: P) = IMAGE_FORMAT_UNSUPPORTED;
    hsa_ext_image_data_get_info_with_layout(agent: u64, image: P, access: u32, layout: u32, pitch: usize, slice: usize, info: P)
        = IMAGE_FORMAT_UNSUPPORTED;
    hsa_ext_image_create(agent: u64, image: P, data: P, access: u32, handle: *mut u64) = IMAGE_FORMAT_UNSUPPORTED;
    hsa_ext_image_create_with_layout(agent: u64, image: P, data: P, access: u32, layout: u32, pitch: usize, slice: usize, handle: *mut u64)
        = IMAGE_FORMAT_UNSUPPORTED;
    hsa_amd_image_create(agent: u64, image: P, layout: P, data: P, access: u32, handle: *mut u64) = IMAGE_FORMAT_UNSUPPORTED;
    hsa_ext_image_destroy(agent: u64, image: u64) = INVALID_ARGUMENT;
    hsa_ext_image_copy(agent: u64, from: u64, from_offset: P, to: u64, to_offset: P, range: P) = INVALID_ARGUMENT;
    hsa_ext_image_import(agent: u64, from: P, pitch: usize, slice: usize, to: u64, region: P) = INVALID_ARGUMENT;
    hsa_ext_image_export(agent: u64, from: u64, to: P, pitch: usize, slice: usize, region: P) = INVALID_ARGUMENT;
    hsa_ext_image_clear(agent: u64, image: u64, data: P, region: P) = INVALID_ARGUMENT;
    hsa_ext_sampler_create(agent: u64, descriptor: P, sampler: *mut u64) = SAMPLER_DESCRIPTOR_UNSUPPORTED;
    hsa_ext_sampler_create_v2(agent: u64, descriptor: P, sampler: *mut u64) = SAMPLER_DESCRIPTOR_UNSUPPORTED;
    hsa_ext_sampler_destroy(agent: u64, sampler: u64) = INVALID_ARGUMENT;
    // No HSAIL.
    hsa_ext_program_create(model: u32, profile: u32, rounding: u32, options: P, program: *mut u64) = ERROR;
    hsa_ext_program_destroy(program: u64) = FINALIZER_INVALID_PROGRAM;
    hsa_ext_program_add_module(program: u64, module: P) = FINALIZER_INVALID_PROGRAM;
    hsa_ext_program_iterate_modules(program: u64, visitor: P, data: P) = FINALIZER_INVALID_PROGRAM;
    hsa_ext_program_get_info(program: u64, attribute: u32, value: P) = FINALIZER_INVALID_PROGRAM;
    hsa_ext_program_finalize(program: u64, isa: u64, convention: i32, options: u64, text: P, kind: u32, object: *mut u64)
        = FINALIZER_INVALID_PROGRAM;
    // Memory of one process is that process's.
    hsa_amd_ipc_memory_create(pointer: P, length: usize, handle: P) = INVALID_ARGUMENT;
    hsa_amd_ipc_memory_attach(handle: P, length: usize, count: u32, agents: *const u64, pointer: *mut P) = INVALID_ARGUMENT;
    hsa_amd_ipc_memory_detach(pointer: P) = INVALID_ARGUMENT;
    hsa_amd_ipc_signal_create(signal: u64, handle: P) = INVALID_ARGUMENT;
    hsa_amd_ipc_signal_attach(handle: P, signal: *mut u64) = INVALID_ARGUMENT;
    hsa_amd_interop_map_buffer(count: u32, agents: *mut u64, handle: i32, flags: u32, size: *mut usize, pointer: *mut P, metadata_size: *mut usize, metadata: *mut P)
        = INVALID_ARGUMENT;
    hsa_amd_interop_unmap_buffer(pointer: P) = INVALID_ARGUMENT;
    hsa_amd_portable_export_dmabuf(pointer: P, size: usize, file: *mut i32, offset: *mut u64) = INVALID_ALLOCATION;
    hsa_amd_portable_close_dmabuf(file: i32) = RESOURCE_FREE;
    // Counters of hardware there are none of.
    hsa_amd_spm_acquire(agent: u64) = OUT_OF_RESOURCES;
    hsa_amd_spm_release(agent: u64) = INVALID_ARGUMENT;
    hsa_amd_spm_set_dest_buffer(agent: u64, size: usize, timeout: *mut u32, copied: *mut u32, to: P, is_lost: *mut bool)
        = INVALID_ARGUMENT;
    hsa_ven_amd_pcs_iterate_configuration(agent: u64, visitor: P, data: P) = INVALID_AGENT;
    hsa_ven_amd_pcs_create(agent: u64, method: u32, units: u32, interval: usize, latency: usize, size: usize, ready: P, data: P, handle: P)
        = INVALID_AGENT;
    hsa_ven_amd_pcs_create_from_id(number: u32, agent: u64, method: u32, units: u32, interval: usize, latency: usize, size: usize, ready: P, data: P, handle: P)
        = INVALID_AGENT;
    hsa_ven_amd_pcs_destroy(handle: u64) = INVALID_ARGUMENT;
    hsa_ven_amd_pcs_start(handle: u64) = INVALID_ARGUMENT;
    hsa_ven_amd_pcs_stop(handle: u64) = INVALID_ARGUMENT;
    hsa_ven_amd_pcs_flush(handle: u64) = INVALID_ARGUMENT;
    // Of the tables for tools alone.
    hsa_amd_queue_intercept_create(agent: u64, size: u32, kind: u32, callback: P, data: P, private: u32, group: u32, queue: *mut P)
        = INVALID_QUEUE_CREATION;
    hsa_amd_queue_intercept_register(queue: P, callback: P, data: P) = INVALID_QUEUE;
    hsa_amd_runtime_queue_create_register(callback: P, data: P) = INVALID_ARGUMENT;
}
