//! The runtime as a whole.

use std::ffi::{c_char, c_void};

use super::tools;
use crate::abi::{Answer, STATUSES, Status, extension, system};
use crate::agent::FREQUENCY;
use crate::runtime::{self, enter, guard, now};
use crate::value::{Value, put};

pub(crate) extern "C" fn hsa_init() -> Status {
    guard(|| runtime::init(tools::load))
}

pub(crate) extern "C" fn hsa_shut_down() -> Status {
    guard(|| runtime::shut_down(tools::unload))
}

pub(crate) extern "C" fn hsa_status_string(status: Status, text: *mut *const c_char) -> Status {
    guard(|| {
        let found = STATUSES.iter().find(|it| it.0 == status).ok_or(Status::INVALID_ARGUMENT)?;
        // SAFETY: the program has room for a pointer; texts are static.
        unsafe { put(text, found.2.as_ptr()) }
    })
}

pub(crate) extern "C" fn hsa_system_get_info(attribute: u32, value: *mut c_void) -> Status {
    enter(|_| {
        let answer = match attribute {
            system::VERSION_MAJOR | system::VERSION_MINOR => Value::U16(1),
            system::TIMESTAMP => Value::U64(now()),
            system::TIMESTAMP_FREQUENCY => Value::U64(FREQUENCY),
            system::SIGNAL_MAX_WAIT => Value::U64(u64::MAX),
            system::ENDIANNESS => Value::U32(0),
            system::MACHINE_MODEL => Value::U32(1),
            system::EXTENSIONS => Value::bits(128, &[extension::IMAGES, extension::AMD_LOADER]),
            system::BUILD_VERSION => {
                let text: &'static std::ffi::CStr = c"hsaco";
                Value::U64(text.as_ptr() as u64)
            }
            // Memory is shared where it is allocated for that.
            system::SVM_SUPPORTED | system::SVM_ACCESSIBLE_BY_DEFAULT => Value::U8(0),
            system::MWAITX_ENABLED | system::DMABUF_SUPPORTED | system::XNACK_ENABLED => {
                Value::U8(0)
            }
            system::VIRTUAL_MEM_API_SUPPORTED => Value::U8(1),
            system::EXT_VERSION_MAJOR => Value::U16(1),
            system::EXT_VERSION_MINOR => Value::U16(7),
            _ => return Err(Status::INVALID_ARGUMENT),
        };
        // SAFETY: the program has room for the attribute.
        unsafe { answer.write(value) }
    })
}

/// Extensions that there are, with their names and newest versions.
const EXTENSIONS: [(u32, &std::ffi::CStr, u16, u16); 2] = [
    (extension::IMAGES, c"HSA_EXTENSION_IMAGES", 1, 0),
    (extension::AMD_LOADER, c"HSA_EXTENSION_AMD_LOADER", 1, 3),
];
const OTHERS: [(u32, &std::ffi::CStr); 6] = [
    (extension::FINALIZER, c"HSA_EXTENSION_FINALIZER"),
    (extension::PERFORMANCE_COUNTERS, c"HSA_EXTENSION_PERFORMANCE_COUNTERS"),
    (extension::PROFILING_EVENTS, c"HSA_EXTENSION_PROFILING_EVENTS"),
    (extension::AMD_PROFILER, c"HSA_EXTENSION_AMD_PROFILER"),
    (extension::AMD_AQLPROFILE, c"HSA_EXTENSION_AMD_AQLPROFILE"),
    (extension::AMD_PC_SAMPLING, c"HSA_EXTENSION_AMD_PC_SAMPLING"),
];

/// An extension that the interface knows: its newest minor version, if it is here.
fn known(number: u16, major: u16) -> Answer<Option<u16>> {
    if let Some(found) = EXTENSIONS.iter().find(|it| it.0 == u32::from(number)) {
        return Ok((found.2 == major).then_some(found.3));
    }
    let is_other = OTHERS.iter().any(|it| it.0 == u32::from(number));
    is_other.then_some(None).ok_or(Status::INVALID_ARGUMENT)
}

pub(crate) extern "C" fn hsa_extension_get_name(number: u16, name: *mut *const c_char) -> Status {
    enter(|_| {
        let names = EXTENSIONS.iter().map(|it| (it.0, it.1)).chain(OTHERS);
        let found =
            { names }.find(|it| it.0 == u32::from(number)).ok_or(Status::INVALID_ARGUMENT)?;
        // SAFETY: the program has room for a pointer; names are static.
        unsafe { put(name, found.1.as_ptr()) }
    })
}

pub(crate) extern "C" fn hsa_system_extension_supported(
    number: u16,
    major: u16,
    minor: u16,
    result: *mut bool,
) -> Status {
    enter(|_| {
        let is_supported = known(number, major)?.is_some_and(|newest| minor <= newest);
        // SAFETY: the program has room for the answer.
        unsafe { put(result, is_supported) }
    })
}

pub(crate) extern "C" fn hsa_system_major_extension_supported(
    number: u16,
    major: u16,
    minor: *mut u16,
    result: *mut bool,
) -> Status {
    enter(|_| {
        let newest = known(number, major)?;
        if minor.is_null() || result.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        if let Some(newest) = newest {
            // SAFETY: the program has room for the number, which is not null.
            unsafe { put(minor, newest) }?;
        }
        // SAFETY: as above.
        unsafe { put(result, newest.is_some()) }
    })
}

pub(crate) extern "C" fn hsa_agent_extension_supported(
    number: u16,
    agent: u64,
    major: u16,
    minor: u16,
    result: *mut bool,
) -> Status {
    enter(|runtime| {
        let is_gpu = runtime.agent(agent)?.gpu.is_some();
        let is_supported = known(number, major)?.is_some_and(|newest| minor <= newest);
        // SAFETY: the program has room for the answer.
        unsafe { put(result, is_supported && is_gpu && u32::from(number) == extension::IMAGES) }
    })
}

pub(crate) extern "C" fn hsa_agent_major_extension_supported(
    number: u16,
    agent: u64,
    major: u16,
    minor: *mut u16,
    result: *mut bool,
) -> Status {
    enter(|runtime| {
        let is_gpu = runtime.agent(agent)?.gpu.is_some();
        let newest =
            known(number, major)?.filter(|_| is_gpu && u32::from(number) == extension::IMAGES);
        if minor.is_null() || result.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        if let Some(newest) = newest {
            // SAFETY: the program has room for the number, which is not null.
            unsafe { put(minor, newest) }?;
        }
        // SAFETY: as above.
        unsafe { put(result, newest.is_some()) }
    })
}

pub(crate) extern "C" fn hsa_system_get_extension_table(
    number: u16,
    major: u16,
    minor: u16,
    table: *mut c_void,
) -> Status {
    enter(|_| {
        let newest = known(number, major)?.filter(|newest| minor <= *newest);
        newest.ok_or(Status::INVALID_ARGUMENT)?;
        let pointers = super::loader::table(number, minor);
        fill(&pointers, pointers.len() * size_of::<usize>(), table)
    })
}

pub(crate) extern "C" fn hsa_system_get_major_extension_table(
    number: u16,
    major: u16,
    length: usize,
    table: *mut c_void,
) -> Status {
    enter(|_| {
        let newest = known(number, major)?.ok_or(Status::INVALID_ARGUMENT)?;
        if length == 0 {
            return Err(Status::INVALID_ARGUMENT);
        }
        fill(&super::loader::table(number, newest), length, table)
    })
}

/// Gives a program as much of a table as it has room for.
fn fill(pointers: &[usize], length: usize, table: *mut c_void) -> Answer {
    if table.is_null() {
        return Err(Status::INVALID_ARGUMENT);
    }
    let bytes = std::mem::size_of_val(pointers).min(length);
    // SAFETY: the program has room for so many bytes.
    unsafe { std::ptr::copy_nonoverlapping(pointers.as_ptr().cast::<u8>(), table.cast(), bytes) };
    Ok(())
}

pub(crate) extern "C" fn hsa_amd_enable_logging(flags: *mut u8, _file: *mut c_void) -> Status {
    enter(|_| if flags.is_null() { Err(Status::INVALID_ARGUMENT) } else { Ok(()) })
}

pub(crate) extern "C" fn hsa_amd_register_system_event_handler(
    callback: Option<crate::runtime::fault::Callback>,
    data: *mut c_void,
) -> Status {
    enter(|_| {
        crate::runtime::fault::register(callback.ok_or(Status::INVALID_ARGUMENT)?, data);
        Ok(())
    })
}
