//! `hsa_ven_amd_loader`: where loaded code came from and where it is.

use std::ffi::c_void;
use std::sync::{Arc, PoisonError};

use super::executable::hsa_ven_amd_loader_code_object_reader_create_from_file_with_offset_size as create_from_file;
use super::refused as image;
use crate::abi::{Answer, SegmentDescriptor, Status, extension, loaded};
use crate::runtime::executable::{Part, Program, Storage};
use crate::runtime::{self, Runtime, enter};
use crate::value::{Value, put};

/// The functions of an extension, in the order of its table; a loader's of a minor version.
pub(crate) fn table(number: u16, minor: u16) -> Vec<usize> {
    if u32::from(number) == extension::IMAGES {
        return vec![
            image::hsa_ext_image_get_capability as *const () as usize,
            image::hsa_ext_image_data_get_info as *const () as usize,
            image::hsa_ext_image_create as *const () as usize,
            image::hsa_ext_image_destroy as *const () as usize,
            image::hsa_ext_image_copy as *const () as usize,
            image::hsa_ext_image_import as *const () as usize,
            image::hsa_ext_image_export as *const () as usize,
            image::hsa_ext_image_clear as *const () as usize,
            image::hsa_ext_sampler_create as *const () as usize,
            image::hsa_ext_sampler_destroy as *const () as usize,
            image::hsa_ext_image_get_capability_with_layout as *const () as usize,
            image::hsa_ext_image_data_get_info_with_layout as *const () as usize,
            image::hsa_ext_image_create_with_layout as *const () as usize,
        ];
    }
    let mut pointers = vec![
        query_host_address as *const () as usize,
        query_segment_descriptors as *const () as usize,
        query_executable as *const () as usize,
        iterate_loaded_code_objects as *const () as usize,
        loaded_code_object_get_info as *const () as usize,
        create_from_file as *const () as usize,
        iterate_executables as *const () as usize,
    ];
    pointers.truncate(match minor {
        0 => 3,
        1 => 5,
        2 => 6,
        _ => 7,
    });
    pointers
}

extern "C" fn query_host_address(device: *const c_void, host: *mut *const c_void) -> Status {
    enter(|runtime| {
        if device.is_null() || host.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        let block = runtime.space.find(device as u64);
        let block = block
            .filter(|it| it.kind == crate::space::Kind::Code)
            .ok_or(Status::INVALID_ARGUMENT)?;
        let address = block.host + (device as u64 - block.base);
        // SAFETY: the program has room for a pointer, which is not null.
        unsafe { put(host, address as *const c_void) }
    })
}

fn programs(runtime: &Runtime) -> Vec<Arc<Program>> {
    let loaded = runtime.loaded.read().unwrap_or_else(PoisonError::into_inner);
    loaded.programs.values().cloned().collect()
}

fn segments(runtime: &Runtime) -> Vec<SegmentDescriptor> {
    let mut all = Vec::new();
    for program in programs(runtime) {
        let inner = runtime::lock(&program.inner);
        for side in inner.sides.iter().filter(|_| inner.is_frozen) {
            for part in &side.parts {
                let Some(image) = side.executable.image(part.id) else { continue };
                let (storage_type, base, size) = storage(&part.reader.storage);
                all.push(SegmentDescriptor {
                    agent: side.agent,
                    executable: program.handle,
                    storage_type,
                    storage_base: base as *const c_void,
                    storage_size: usize::try_from(size).unwrap_or(0),
                    storage_offset: 0,
                    segment_base: image.range().start as *const c_void,
                    segment_size: usize::try_from(part.size).unwrap_or(0),
                });
            }
        }
    }
    all
}

/// Kind, address and size of what an object was loaded from.
fn storage(storage: &Storage) -> (u32, u64, u64) {
    match *storage {
        Storage::Memory { base, size } => (2, base, size),
        Storage::File { size, .. } => (1, 0, size),
    }
}

extern "C" fn query_segment_descriptors(list: *mut SegmentDescriptor, count: *mut usize) -> Status {
    enter(|runtime| {
        if count.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        let all = segments(runtime);
        // SAFETY: the program has put a number there, which is not null.
        let room = unsafe { *count };
        if list.is_null() {
            if room != 0 {
                return Err(Status::INVALID_ARGUMENT);
            }
            // SAFETY: as above.
            return unsafe { put(count, all.len()) };
        }
        if room != all.len() {
            return Err(Status::INCOMPATIBLE_ARGUMENTS);
        }
        // SAFETY: the program has room for so many.
        unsafe { std::ptr::copy_nonoverlapping(all.as_ptr(), list, all.len()) };
        Ok(())
    })
}

extern "C" fn query_executable(device: *const c_void, handle: *mut u64) -> Status {
    enter(|runtime| {
        if device.is_null() || handle.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        let holds = |program: &&Arc<Program>| {
            let inner = runtime::lock(&program.inner);
            inner.sides.iter().any(|side| side.executable.locate(device as u64).is_some())
        };
        let all = programs(runtime);
        let found = all.iter().find(holds).ok_or(Status::INVALID_ARGUMENT)?;
        // SAFETY: the program has room for the handle, which is not null.
        unsafe { put(handle, found.handle) }
    })
}

type PartVisitor = Option<extern "C" fn(u64, u64, *mut c_void) -> Status>;

extern "C" fn iterate_loaded_code_objects(
    program: u64,
    visitor: PartVisitor,
    data: *mut c_void,
) -> Status {
    enter(|runtime| {
        let visitor = visitor.ok_or(Status::INVALID_ARGUMENT)?;
        let found = runtime.program(program)?;
        let handles: Vec<u64> = {
            let inner = runtime::lock(&found.inner);
            inner.sides.iter().flat_map(|it| it.parts.iter().map(|part| part.handle)).collect()
        };
        handles.into_iter().try_for_each(|it| visitor(program, it, data).check())
    })
}

extern "C" fn iterate_executables(visitor: super::agent::Visitor, data: *mut c_void) -> Status {
    enter(|runtime| {
        super::agent::visit(programs(runtime).iter().map(|it| it.handle), visitor, data)
    })
}

extern "C" fn loaded_code_object_get_info(
    handle: u64,
    attribute: u32,
    value: *mut c_void,
) -> Status {
    enter(|runtime| {
        let program = {
            let loaded = runtime.loaded.read().unwrap_or_else(PoisonError::into_inner);
            loaded.parts.get(&handle).cloned().ok_or(Status::INVALID_CODE_OBJECT)?
        };
        let inner = runtime::lock(&program.inner);
        let mut parts =
            inner.sides.iter().flat_map(|side| side.parts.iter().map(move |it| (side, it)));
        let (side, part) =
            parts.find(|it| it.1.handle == handle).ok_or(Status::INVALID_CODE_OBJECT)?;
        let image = side.executable.image(part.id);
        let answer = about(program.handle, side.agent, part, image, attribute)?;
        // SAFETY: the program has room for the attribute.
        unsafe { answer.write(value) }
    })
}

fn about(
    program: u64,
    agent: u64,
    part: &Part,
    image: Option<&hsaco_load::Image>,
    attribute: u32,
) -> Answer<Value> {
    const AGENT: u32 = 2;
    let (storage_type, base, size) = storage(&part.reader.storage);
    Ok(match attribute {
        loaded::EXECUTABLE => Value::U64(program),
        loaded::KIND => Value::U32(AGENT),
        loaded::AGENT => Value::U64(agent),
        loaded::STORAGE_TYPE => Value::U32(storage_type),
        loaded::STORAGE_MEMORY_BASE => Value::U64(base),
        loaded::STORAGE_MEMORY_SIZE => Value::U64(size),
        loaded::STORAGE_FILE => match part.reader.storage {
            Storage::File { descriptor, .. } => Value::U32(descriptor.cast_unsigned()),
            Storage::Memory { .. } => Value::U32(u32::MAX),
        },
        loaded::LOAD_DELTA => Value::U64(image.map_or(0, |it| it.delta)),
        loaded::LOAD_BASE => Value::U64(part.base),
        loaded::LOAD_SIZE => Value::U64(part.size),
        loaded::URI_LENGTH => Value::U32(u32::try_from(part.uri.len()).unwrap_or(0)),
        loaded::URI => Value::text(&part.uri, part.uri.len() + 1),
        _ => return Err(Status::INVALID_ARGUMENT),
    })
}
