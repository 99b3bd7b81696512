//! Code objects as HSA 1.0 had them: deprecated, and still there.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use hsaco_object::CodeObject;

use super::executable::{load, reader, text};
use crate::abi::{Answer, Status};
use crate::runtime::executable;
use crate::runtime::{self, Runtime, enter};
use crate::value::{Value, put};

pub(crate) extern "C" fn hsa_code_object_deserialize(
    serialized: *mut c_void,
    size: usize,
    _options: *const c_char,
    handle: *mut u64,
) -> Status {
    enter(|runtime| {
        if serialized.is_null() || size == 0 || handle.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        // SAFETY: the program says how many bytes there are.
        let reader = unsafe { executable::read_memory(serialized, size) }?;
        let number = runtime.handle();
        runtime::lock(&runtime.readers).insert(number, Arc::new(reader));
        // SAFETY: the program has room for the handle, which is not null.
        unsafe { put(handle, number) }
    })
}

fn bytes(runtime: &Runtime, handle: u64) -> Answer<Arc<executable::Reader>> {
    reader(runtime, handle).map_err(|_| Status::INVALID_CODE_OBJECT)
}

/// A function of the program that allocates: bytes, data of its own, and where to put the address.
type Allocator = extern "C" fn(usize, u64, *mut *mut c_void) -> Status;

pub(crate) extern "C" fn hsa_code_object_serialize(
    handle: u64,
    allocator: Option<Allocator>,
    data: u64,
    _options: *const c_char,
    serialized: *mut *mut c_void,
    size: *mut usize,
) -> Status {
    enter(|runtime| {
        let reader = bytes(runtime, handle)?;
        let allocator = allocator.ok_or(Status::INVALID_ARGUMENT)?;
        if serialized.is_null() || size.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        let mut place = std::ptr::null_mut();
        allocator(reader.bytes.len(), data, &raw mut place).check()?;
        if place.is_null() {
            return Err(Status::OUT_OF_RESOURCES);
        }
        // SAFETY: the program has allocated so many bytes, and has room for both answers.
        unsafe {
            std::ptr::copy_nonoverlapping(reader.bytes.as_ptr(), place.cast(), reader.bytes.len());
            put(serialized, place)?;
            put(size, reader.bytes.len())
        }
    })
}

pub(crate) extern "C" fn hsa_code_object_destroy(handle: u64) -> Status {
    enter(|runtime| {
        let removed = runtime::lock(&runtime.readers).remove(&handle);
        removed.map(drop).ok_or(Status::INVALID_CODE_OBJECT)
    })
}

pub(crate) extern "C" fn hsa_code_object_get_info(
    handle: u64,
    attribute: u32,
    value: *mut c_void,
) -> Status {
    enter(|runtime| {
        let reader = bytes(runtime, handle)?;
        let object = CodeObject::parse(&reader.bytes).map_err(|_| Status::INVALID_CODE_OBJECT)?;
        let isa = || {
            let target = object.target().id()?;
            let runs = |it: &&crate::agent::Agent| {
                it.gpu.as_ref().is_some_and(|gpu| target.processor == gpu.model.target.processor)
            };
            runtime.agents.iter().find(runs).and_then(crate::agent::Agent::isa)
        };
        let answer = match attribute {
            0 => Value::text("1.0", 64),
            1 => Value::U32(0),
            2 => Value::U64(isa().ok_or(Status::INVALID_ISA)?),
            3 => Value::U32(1),
            4 => Value::U32(0),
            5 => Value::U32(2),
            _ => return Err(Status::INVALID_ARGUMENT),
        };
        // SAFETY: the program has room for the attribute.
        unsafe { answer.write(value) }
    })
}

pub(crate) extern "C" fn hsa_executable_load_code_object(
    program: u64,
    agent: u64,
    handle: u64,
    _options: *const c_char,
) -> Status {
    enter(|runtime| {
        runtime.program(program)?;
        runtime.agent(agent)?;
        load(runtime, program, agent, &bytes(runtime, handle)?, std::ptr::null_mut())
    })
}

pub(crate) extern "C" fn hsa_code_object_get_symbol(
    handle: u64,
    name: *const c_char,
    symbol: *mut u64,
) -> Status {
    enter(|runtime| {
        bytes(runtime, handle)?;
        text(name)?;
        if symbol.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        crate::log::once(
            "symbols of code objects that are not loaded are not supported; an executable has them",
        );
        Err(Status::INVALID_SYMBOL_NAME)
    })
}

pub(crate) extern "C" fn hsa_code_object_get_symbol_from_name(
    handle: u64,
    _module: *const c_char,
    name: *const c_char,
    symbol: *mut u64,
) -> Status {
    hsa_code_object_get_symbol(handle, name, symbol)
}

pub(crate) extern "C" fn hsa_code_symbol_get_info(
    _symbol: u64,
    _attribute: u32,
    _value: *mut c_void,
) -> Status {
    enter(|_| Err(Status::INVALID_CODE_SYMBOL))
}

/// A function of the program that sees one symbol after the other.
type Visitor = Option<extern "C" fn(u64, u64, *mut c_void) -> Status>;

pub(crate) extern "C" fn hsa_code_object_iterate_symbols(
    handle: u64,
    visitor: Visitor,
    _data: *mut c_void,
) -> Status {
    enter(|runtime| {
        bytes(runtime, handle)?;
        visitor.ok_or(Status::INVALID_ARGUMENT)?;
        crate::log::once(
            "symbols of code objects that are not loaded are not supported; an executable has them",
        );
        Err(Status::ERROR)
    })
}
