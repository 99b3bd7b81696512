//! Readers of code objects, executables and symbols.

use std::ffi::{CStr, c_char, c_void};
use std::sync::{Arc, PoisonError};

use hsaco_elf::symbol::Binding;
use hsaco_load::{LoadedSymbolKind, Symbol};

use crate::abi::{Answer, Status, symbol as info, symbol_kind};
use crate::runtime::executable::{self, Program, Reader, Side, SymbolHandle};
use crate::runtime::{self, Runtime, enter};
use crate::value::{Value, put};

/// A text of C.
pub(crate) fn text<'a>(text: *const c_char) -> Answer<&'a str> {
    if text.is_null() {
        return Err(Status::INVALID_ARGUMENT);
    }
    // SAFETY: the program's text ends with a zero, and lives until the call is over.
    unsafe { CStr::from_ptr(text) }.to_str().map_err(|_| Status::INVALID_ARGUMENT)
}

fn keep(runtime: &Runtime, reader: Reader, handle: *mut u64) -> Answer {
    let number = runtime.handle();
    runtime::lock(&runtime.readers).insert(number, Arc::new(reader));
    // SAFETY: the program has room for the handle, which was seen not to be null.
    unsafe { put(handle, number) }
}

pub(crate) fn reader(runtime: &Runtime, handle: u64) -> Answer<Arc<Reader>> {
    let readers = runtime::lock(&runtime.readers);
    readers.get(&handle).cloned().ok_or(Status::INVALID_CODE_OBJECT_READER)
}

pub(crate) extern "C" fn hsa_code_object_reader_create_from_memory(
    code_object: *const c_void,
    size: usize,
    handle: *mut u64,
) -> Status {
    enter(|runtime| {
        if code_object.is_null() || size == 0 || handle.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        // SAFETY: the program says how many bytes there are.
        let reader = unsafe { executable::read_memory(code_object, size) }?;
        keep(runtime, reader, handle)
    })
}

pub(crate) extern "C" fn hsa_code_object_reader_create_from_file(
    file: i32,
    handle: *mut u64,
) -> Status {
    enter(|runtime| {
        if handle.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        keep(runtime, executable::read_file(file, 0, None)?, handle)
    })
}

pub(crate) extern "C" fn hsa_ven_amd_loader_code_object_reader_create_from_file_with_offset_size(
    file: i32,
    offset: usize,
    size: usize,
    handle: *mut u64,
) -> Status {
    enter(|runtime| {
        if handle.is_null() || size == 0 {
            return Err(Status::INVALID_ARGUMENT);
        }
        keep(runtime, executable::read_file(file, offset as u64, Some(size as u64))?, handle)
    })
}

pub(crate) extern "C" fn hsa_code_object_reader_destroy(handle: u64) -> Status {
    enter(|runtime| {
        let removed = runtime::lock(&runtime.readers).remove(&handle);
        removed.map(drop).ok_or(Status::INVALID_CODE_OBJECT_READER)
    })
}

fn create(profile: u32, rounding: u32, handle: *mut u64) -> Answer {
    let runtime = runtime::get().ok_or(Status::NOT_INITIALIZED)?;
    if profile > 1 || rounding > 2 || handle.is_null() {
        return Err(Status::INVALID_ARGUMENT);
    }
    let number = runtime.handle();
    let program = Arc::new(Program::new(number, profile, rounding));
    let mut loaded = runtime.loaded.write().unwrap_or_else(PoisonError::into_inner);
    loaded.programs.insert(number, program);
    // SAFETY: the program has room for the handle, which is not null.
    unsafe { put(handle, number) }
}

pub(crate) extern "C" fn hsa_executable_create_alt(
    profile: u32,
    rounding: u32,
    _options: *const c_char,
    handle: *mut u64,
) -> Status {
    runtime::guard(|| create(profile, rounding, handle))
}

pub(crate) extern "C" fn hsa_executable_create(
    profile: u32,
    state: u32,
    _options: *const c_char,
    handle: *mut u64,
) -> Status {
    runtime::guard(|| {
        if state > 1 {
            return Err(Status::INVALID_ARGUMENT);
        }
        create(profile, 0, handle)?;
        if state == 1 {
            let runtime = runtime::get().ok_or(Status::NOT_INITIALIZED)?;
            // SAFETY: `create` has just put it there.
            runtime.program(unsafe { *handle })?.freeze(runtime)?;
        }
        Ok(())
    })
}

pub(crate) extern "C" fn hsa_executable_destroy(handle: u64) -> Status {
    enter(|runtime| {
        let mut loaded = runtime.loaded.write().unwrap_or_else(PoisonError::into_inner);
        let program = loaded.programs.remove(&handle).ok_or(Status::INVALID_EXECUTABLE)?;
        loaded.symbols.retain(|_, it| it.program.handle != handle);
        loaded.parts.retain(|_, it| it.handle != handle);
        drop(loaded);
        program.unload(runtime);
        Ok(())
    })
}

/// Loads an object for an agent, and tells the handle of the loaded object.
pub(crate) fn load(
    runtime: &Runtime,
    program: u64,
    agent: u64,
    reader: &Arc<Reader>,
    handle: *mut u64,
) -> Answer {
    let program = runtime.program(program)?;
    let agent = runtime.agent(agent)?;
    let number = program.load(runtime, agent, reader)?;
    let mut loaded = runtime.loaded.write().unwrap_or_else(PoisonError::into_inner);
    loaded.parts.insert(number, program);
    if handle.is_null() {
        return Ok(());
    }
    // SAFETY: the program has room for the handle, which is not null.
    unsafe { put(handle, number) }
}

pub(crate) extern "C" fn hsa_executable_load_agent_code_object(
    program: u64,
    agent: u64,
    handle: u64,
    _options: *const c_char,
    loaded: *mut u64,
) -> Status {
    enter(|runtime| {
        runtime.program(program)?;
        runtime.agent(agent)?;
        load(runtime, program, agent, &reader(runtime, handle)?, loaded)
    })
}

pub(crate) extern "C" fn hsa_executable_load_program_code_object(
    program: u64,
    handle: u64,
    _options: *const c_char,
    _loaded: *mut u64,
) -> Status {
    enter(|runtime| {
        runtime.program(program)?;
        reader(runtime, handle)?;
        // Objects of the program alone were of HSAIL; those of now are for an agent.
        Err(Status::INVALID_CODE_OBJECT)
    })
}

pub(crate) extern "C" fn hsa_executable_freeze(program: u64, _options: *const c_char) -> Status {
    enter(|runtime| runtime.program(program)?.freeze(runtime))
}

pub(crate) extern "C" fn hsa_executable_get_info(
    program: u64,
    attribute: u32,
    value: *mut c_void,
) -> Status {
    enter(|runtime| {
        let program = runtime.program(program)?;
        let answer = match attribute {
            1 => Value::U32(program.profile),
            2 => Value::U32(runtime::lock(&program.inner).is_frozen.into()),
            3 => Value::U32(program.rounding),
            _ => return Err(Status::INVALID_ARGUMENT),
        };
        // SAFETY: the program has room for the attribute.
        unsafe { answer.write(value) }
    })
}

fn define(program: u64, agent: Option<u64>, name: *const c_char, address: *mut c_void) -> Status {
    enter(|runtime| {
        let program = runtime.program(program)?;
        let agent = agent.map(|it| runtime.agent(it)).transpose()?;
        let name = text(name)?;
        program.define(agent, name, address as u64)
    })
}

pub(crate) extern "C" fn hsa_executable_global_variable_define(
    program: u64,
    name: *const c_char,
    address: *mut c_void,
) -> Status {
    define(program, None, name, address)
}

pub(crate) extern "C" fn hsa_executable_agent_global_variable_define(
    program: u64,
    agent: u64,
    name: *const c_char,
    address: *mut c_void,
) -> Status {
    define(program, Some(agent), name, address)
}

pub(crate) extern "C" fn hsa_executable_readonly_variable_define(
    program: u64,
    agent: u64,
    name: *const c_char,
    address: *mut c_void,
) -> Status {
    define(program, Some(agent), name, address)
}

pub(crate) extern "C" fn hsa_executable_validate(program: u64, result: *mut u32) -> Status {
    enter(|runtime| {
        runtime.program(program)?;
        // What is wrong is found when it is frozen.
        // SAFETY: the program has room for the number.
        unsafe { put(result, 0) }
    })
}

pub(crate) extern "C" fn hsa_executable_validate_alt(
    program: u64,
    _options: *const c_char,
    result: *mut u32,
) -> Status {
    hsa_executable_validate(program, result)
}

fn symbol(runtime: &Runtime, program: u64, name: *const c_char, agent: Option<u64>) -> Answer<u64> {
    let program = runtime.program(program)?;
    let name = text(name)?;
    if let Some(agent) = agent {
        runtime.agent(agent)?;
    }
    let mut inner = runtime::lock(&program.inner);
    let side = match agent {
        Some(agent) => inner.side_of(agent),
        None => inner.sides.first_mut(),
    };
    let side = side.ok_or(Status::INVALID_SYMBOL_NAME)?;
    let id = side.symbol(name).ok_or(Status::INVALID_SYMBOL_NAME)?;
    Ok(side.handle(runtime, &program, id))
}

pub(crate) extern "C" fn hsa_executable_get_symbol_by_name(
    program: u64,
    name: *const c_char,
    agent: *const u64,
    handle: *mut u64,
) -> Status {
    enter(|runtime| {
        if handle.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        // SAFETY: the program says where the agent is, or null.
        let agent = unsafe { agent.as_ref() }.copied();
        let found = symbol(runtime, program, name, agent)?;
        // SAFETY: the program has room for the handle, which is not null.
        unsafe { put(handle, found) }
    })
}

pub(crate) extern "C" fn hsa_executable_get_symbol(
    program: u64,
    module: *const c_char,
    name: *const c_char,
    agent: u64,
    _call_convention: i32,
    handle: *mut u64,
) -> Status {
    enter(|runtime| {
        if handle.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        // Modules are of HSAIL: symbols of now are in none.
        if !module.is_null() && !text(module)?.is_empty() {
            return Err(Status::INVALID_SYMBOL_NAME);
        }
        let found = symbol(runtime, program, name, Some(agent).filter(|it| *it != 0))?;
        // SAFETY: the program has room for the handle, which is not null.
        unsafe { put(handle, found) }
    })
}

/// A function of the program that sees one symbol after the other.
type SymbolVisitor = Option<extern "C" fn(u64, u64, *mut c_void) -> Status>;
type AgentSymbolVisitor = Option<extern "C" fn(u64, u64, u64, *mut c_void) -> Status>;

/// The handles of all symbols of an executable, with their agents.
fn symbols(runtime: &Runtime, program: &Arc<Program>) -> Vec<(u64, u64)> {
    let mut inner = runtime::lock(&program.inner);
    let mut handles = Vec::new();
    for side in &mut inner.sides {
        for id in side.symbols() {
            handles.push((side.agent, side.handle(runtime, program, id)));
        }
    }
    handles
}

pub(crate) extern "C" fn hsa_executable_iterate_symbols(
    program: u64,
    visitor: SymbolVisitor,
    data: *mut c_void,
) -> Status {
    enter(|runtime| {
        let visitor = visitor.ok_or(Status::INVALID_ARGUMENT)?;
        let all = symbols(runtime, &runtime.program(program)?);
        all.into_iter().try_for_each(|it| visitor(program, it.1, data).check())
    })
}

pub(crate) extern "C" fn hsa_executable_iterate_agent_symbols(
    program: u64,
    agent: u64,
    visitor: AgentSymbolVisitor,
    data: *mut c_void,
) -> Status {
    enter(|runtime| {
        let visitor = visitor.ok_or(Status::INVALID_ARGUMENT)?;
        let found = runtime.program(program)?;
        runtime.agent(agent)?;
        let all = symbols(runtime, &found).into_iter().filter(|it| it.0 == agent);
        { all }.try_for_each(|it| visitor(program, agent, it.1, data).check())
    })
}

pub(crate) extern "C" fn hsa_executable_iterate_program_symbols(
    program: u64,
    visitor: SymbolVisitor,
    _data: *mut c_void,
) -> Status {
    enter(|runtime| {
        visitor.ok_or(Status::INVALID_ARGUMENT)?;
        // All symbols are an agent's.
        runtime.program(program).map(drop)
    })
}

pub(crate) extern "C" fn hsa_executable_symbol_get_info(
    handle: u64,
    attribute: u32,
    value: *mut c_void,
) -> Status {
    enter(|runtime| {
        let found = {
            let loaded = runtime.loaded.read().unwrap_or_else(PoisonError::into_inner);
            loaded.symbols.get(&handle).cloned()
        };
        let SymbolHandle { program, agent, id } = found.ok_or(Status::INVALID_EXECUTABLE_SYMBOL)?;
        let mut inner = runtime::lock(&program.inner);
        let side = inner.side_of(agent).ok_or(Status::INVALID_EXECUTABLE_SYMBOL)?;
        let answer = if attribute == extra::CALLERS || attribute == extra::CALLER_COUNT {
            callers(runtime, &program, side, id, attribute)?
        } else {
            let symbol =
                side.executable.symbol_by_id(id).ok_or(Status::INVALID_EXECUTABLE_SYMBOL)?;
            attribute_of(agent, &symbol, attribute)?
        };
        // SAFETY: the program has room for the attribute.
        unsafe { answer.write(value) }
    })
}

/// Attributes of hsaco's own, for what the interface has no names for.
pub(crate) mod extra {
    /// `uint32_t`: 0 a kernel, 1 a variable, 2 a function, 3 an indirect function, 4 what is not defined here.
    pub(crate) const KIND: u32 = 0x4853_0000;
    /// `uint64_t`: where it is.
    pub(crate) const ADDRESS: u32 = 0x4853_0001;
    /// `uint64_t`: bytes of its code, or of its data.
    pub(crate) const SIZE: u32 = 0x4853_0002;
    /// `uint32_t`: how many kernels and functions call it.
    pub(crate) const CALLER_COUNT: u32 = 0x4853_0003;
    /// Symbols that call it, of which there are so many; those without a name are 0.
    pub(crate) const CALLERS: u32 = 0x4853_0004;
}

fn callers(
    runtime: &Runtime,
    program: &Arc<Program>,
    side: &mut Side,
    id: hsaco_load::SymbolId,
    attribute: u32,
) -> Answer<Value> {
    let symbol = side.executable.symbol_by_id(id).ok_or(Status::INVALID_EXECUTABLE_SYMBOL)?;
    let address = symbol.code().map(|it| it.0).or(symbol.address()).unwrap_or(0);
    let addresses = side.callers(address).to_vec();
    if attribute == extra::CALLER_COUNT {
        return Ok(Value::U32(u32::try_from(addresses.len()).unwrap_or(u32::MAX)));
    }
    let mut handles = Vec::new();
    for address in addresses {
        let is_it = |it: &Symbol<'_>| it.code().is_some_and(|code| code.0 == address);
        let caller = side.executable.symbols().find(is_it).map(|it| it.id());
        handles.push(caller.map_or(0, |id| side.handle(runtime, program, id)));
    }
    Ok(Value::u64s(&handles))
}

fn attribute_of(agent: u64, symbol: &Symbol<'_>, attribute: u32) -> Answer<Value> {
    let name = symbol.symbol_name();
    let address = || symbol.address().ok_or(Status::INVALID_EXECUTABLE);
    let small = |value: u64| Value::U32(u32::try_from(value).unwrap_or(u32::MAX));
    Ok(match attribute {
        info::TYPE => Value::U32(kind(symbol.kind())),
        info::NAME_LENGTH | info::MODULE_NAME_LENGTH => {
            small(if attribute == info::NAME_LENGTH { name.as_bytes().len() as u64 } else { 0 })
        }
        info::NAME => Value::Bytes(name.as_bytes().to_vec()),
        info::MODULE_NAME => Value::Bytes(Vec::new()),
        info::AGENT => Value::U64(agent),
        // Of a module, of the program.
        info::LINKAGE => Value::U32(u32::from(symbol.binding() != Binding::Local)),
        info::IS_DEFINITION => Value::U8(symbol.is_definition().into()),
        info::VARIABLE_ALLOCATION => Value::U32(0),
        info::VARIABLE_SEGMENT => Value::U32(0),
        info::VARIABLE_ALIGNMENT => small(symbol.align()),
        info::VARIABLE_SIZE => small(symbol.size()),
        info::VARIABLE_IS_CONST => Value::U8(symbol.is_const().into()),
        info::VARIABLE_ADDRESS | info::KERNEL_OBJECT | info::INDIRECT_FUNCTION_OBJECT => {
            Value::U64(address()?)
        }
        info::INDIRECT_FUNCTION_CALL_CONVENTION | info::KERNEL_CALL_CONVENTION => Value::U32(0),
        extra::KIND => Value::U32(match symbol.kind() {
            LoadedSymbolKind::Kernel => 0,
            LoadedSymbolKind::Variable => 1,
            LoadedSymbolKind::Function => 2,
            LoadedSymbolKind::IndirectFunction => 3,
            _ => 4,
        }),
        extra::ADDRESS => Value::U64(address()?),
        extra::SIZE => Value::U64(symbol.code().map_or(symbol.size(), |it| it.1)),
        _ => return kernel_attribute(symbol, attribute),
    })
}

fn kernel_attribute(symbol: &Symbol<'_>, attribute: u32) -> Answer<Value> {
    let kernel = symbol.kernel().ok_or(Status::INVALID_ARGUMENT)?;
    let small = |value: u64| Value::U32(u32::try_from(value).unwrap_or(u32::MAX));
    Ok(match attribute {
        info::KERNEL_KERNARG_SEGMENT_SIZE => small(kernel.kernarg_size),
        info::KERNEL_KERNARG_SEGMENT_ALIGNMENT => small(kernel.kernarg_align.max(16)),
        info::KERNEL_GROUP_SEGMENT_SIZE => small(kernel.allocation.lds.into()),
        info::KERNEL_PRIVATE_SEGMENT_SIZE => small(kernel.allocation.scratch.into()),
        info::KERNEL_DYNAMIC_CALLSTACK => Value::U8(kernel.allocation.has_dynamic_stack.into()),
        info::KERNEL_WAVEFRONT_SIZE => Value::U32(kernel.allocation.wave.lanes()),
        _ => return Err(Status::INVALID_ARGUMENT),
    })
}

/// `hsa_symbol_kind_t`.
fn kind(kind: LoadedSymbolKind) -> u32 {
    match kind {
        LoadedSymbolKind::Kernel => symbol_kind::KERNEL,
        LoadedSymbolKind::Function | LoadedSymbolKind::IndirectFunction => {
            symbol_kind::INDIRECT_FUNCTION
        }
        _ => symbol_kind::VARIABLE,
    }
}
