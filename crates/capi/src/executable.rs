//! Executables, in the shape that HSA gave them: create, define, load, freeze, ask.
//!
//! Names and numbers of attributes are those of `hsa_executable_symbol_get_info`; device functions, externals, LDS and
//! numbers are kinds that HSA has not, and code has attributes of its own.

use std::ffi::{c_char, c_void};
use std::ptr;

use hsaco::elf::symbol::{Binding, Visibility};
use hsaco::load::{self, ErrorKind, Freeze, LoadedSymbolKind, SymbolId};

use crate::error::{self, Status, end};

/// Code objects that belong together; hsaco_executable_destroy takes it back.
#[derive(Debug)]
pub struct Executable {
    inner: load::Executable<'static>,
    hsa_status: u32,
}

/// A symbol of an executable; 0 is none.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExecutableSymbol {
    /// Its number, which is good for as long as the executable.
    pub handle: u64,
}

/// What a symbol stands for. The first three are HSA's.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecutableSymbolKind {
    /// Data in memory.
    Variable = 0,
    /// A descriptor, and the code it starts.
    Kernel = 1,
    /// Code that answers with the address of a function.
    IndirectFunction = 2,
    /// Code that kernels and functions call.
    DeviceFunction = 3,
    /// Wanted from another object.
    External = 4,
    /// Data in LDS.
    Lds = 5,
    /// A number.
    Absolute = 6,
}

/// What can be asked about a symbol, and what the answer is; up to 23 as in HSA.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecutableSymbolInfo {
    /// uint32_t: a hsaco_executable_symbol_kind.
    Type = 0,
    /// uint32_t: bytes of the name, which has no NUL.
    NameLength = 1,
    /// char[]: the name; a kernel's ends in ".kd".
    Name = 2,
    /// uint32_t: 0.
    ModuleNameLength = 3,
    /// char[]: nothing.
    ModuleName = 4,
    /// uint32_t: 0 in its object, 1 in the program.
    Linkage = 5,
    /// uint32_t: 0, of the agent.
    VariableAllocation = 6,
    /// uint32_t: 0 global, 1 read-only.
    VariableSegment = 7,
    /// uint32_t.
    VariableAlignment = 8,
    /// uint32_t.
    VariableSize = 9,
    /// bool.
    VariableIsConst = 10,
    /// uint32_t.
    KernelKernargSegmentSize = 11,
    /// uint32_t.
    KernelKernargSegmentAlignment = 12,
    /// uint32_t.
    KernelGroupSegmentSize = 13,
    /// uint32_t.
    KernelPrivateSegmentSize = 14,
    /// bool.
    KernelDynamicCallstack = 15,
    /// uint32_t: 0.
    IndirectFunctionCallConvention = 16,
    /// bool.
    IsDefinition = 17,
    /// uint32_t: 0.
    KernelCallConvention = 18,
    /// uint32_t.
    KernelWavefrontSize = 19,
    /// uint64_t: 0, there is no agent.
    Agent = 20,
    /// uint64_t: where it is in memory.
    VariableAddress = 21,
    /// uint64_t: where its descriptor is in memory.
    KernelObject = 22,
    /// uint64_t: where its code is in memory.
    IndirectFunctionObject = 23,
    /// uint64_t: where the code of a kernel or function is in memory; an error before freezing.
    CodeAddress = 200,
    /// uint64_t: bytes of that code, 0 if unknown.
    CodeSize = 201,
    /// uint32_t: the number of its object, UINT32_MAX if the caller defined it.
    LoadedCodeObject = 202,
    /// uint32_t: 0 default, 1 internal, 2 hidden, 3 protected.
    Visibility = 203,
    /// uint64_t: where it is in memory, or who provides it; the value of a number.
    Address = 204,
    /// uint64_t: bytes that it takes.
    Size = 205,
}

/// Called with each symbol; anything but HSACO_STATUS_OK ends the iteration.
pub type ExecutableSymbolCallback = Option<
    unsafe extern "C" fn(
        executable: *const Executable,
        symbol: ExecutableSymbol,
        data: *mut c_void,
    ) -> Status,
>;

/// Called with each segment: its address, its size in memory, the bytes that it begins with and how many, and its
/// permissions (4 read, 2 write, 1 execute).
pub type ExecutableSegmentCallback = Option<
    unsafe extern "C" fn(
        address: u64,
        size: u64,
        bytes: *const u8,
        byte_count: usize,
        permissions: u32,
        data: *mut c_void,
    ) -> Status,
>;

/// Makes an executable for a device such as "gfx942:sramecc+:xnack-", or for whatever its objects are for if that is
/// null.
///
/// # Safety
/// `device` is null or text that ends in NUL; `executable` points to a place for a pointer, which is filled in, with null
/// on failure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_executable_create(
    device: *const c_char,
    executable: *mut *mut Executable,
) -> Status {
    if executable.is_null() {
        return end(Status::InvalidArgument, "executable is null");
    }
    // SAFETY: not null, and the caller promises that it is a place for a pointer.
    unsafe { *executable = ptr::null_mut() };
    let device = match device.is_null() {
        true => Ok(None),
        // SAFETY: as this function asks of its caller.
        false => unsafe { error::text(device, "device") }
            .and_then(|text| text.parse().map(Some).map_err(|it| format!("device '{text}': {it}"))),
    };
    match device {
        Ok(device) => {
            let made = Executable { inner: load::Executable::new(device), hsa_status: 0 };
            // SAFETY: as above.
            unsafe { *executable = Box::into_raw(Box::new(made)) };
            end(Status::Ok, "")
        }
        Err(reason) => end(Status::InvalidArgument, &reason),
    }
}

/// Takes an executable back; null is fine.
///
/// # Safety
/// `executable` is null or from hsaco_executable_create, and not destroyed before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_executable_destroy(executable: *mut Executable) {
    if !executable.is_null() {
        // SAFETY: hsaco_executable_create made it of a box.
        drop(unsafe { Box::from_raw(executable) });
    }
}

/// Says where a variable is that objects may refer to.
///
/// # Safety
/// `executable` is from hsaco_executable_create and alive, `name` is text that ends in NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_executable_define_variable(
    executable: *mut Executable,
    name: *const c_char,
    address: u64,
    size: u64,
) -> Status {
    // SAFETY: as this function asks of its caller.
    unsafe { define(executable, name, |it, name| it.define_variable(name, address, size)) }
}

/// Says where a function is that objects may call.
///
/// # Safety
/// As that of hsaco_executable_define_variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_executable_define_function(
    executable: *mut Executable,
    name: *const c_char,
    address: u64,
) -> Status {
    // SAFETY: as this function asks of its caller.
    unsafe { define(executable, name, |it, name| it.define_function(name, address)) }
}

unsafe fn define(
    executable: *mut Executable,
    name: *const c_char,
    define: impl FnOnce(&mut load::Executable<'static>, &str) -> load::Result<SymbolId>,
) -> Status {
    // SAFETY: the caller passes on what its own caller promised.
    let (executable, name) = unsafe { (executable.as_mut(), error::text(name, "name")) };
    match (executable, name) {
        (Some(executable), Ok(name)) => {
            let defined = define(&mut executable.inner, name);
            executable
                .ended(defined.map_err(Into::into))
                .map_or_else(|status| status, |_| Status::Ok)
        }
        (None, _) => end(Status::InvalidArgument, "executable is null"),
        (_, Err(reason)) => end(Status::InvalidArgument, &reason),
    }
}

/// Adds a code object, of which the bytes are copied. `name` is what messages call it; `base` is where its address 0 is to
/// be, UINT64_MAX for wherever there is room. Objects come in any order. A failure leaves the executable as it was.
///
/// # Safety
/// `executable` is from hsaco_executable_create and alive, `name` is text that ends in NUL, `bytes` points to `size`
/// bytes, `loaded` is null or points to a place for the object's number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_executable_load_code_object(
    executable: *mut Executable,
    name: *const c_char,
    bytes: *const u8,
    size: usize,
    base: u64,
    loaded: *mut u32,
) -> Status {
    // SAFETY: as this function asks of its caller.
    let arguments = unsafe {
        error::text(name, "name").and_then(|name| Ok((name, error::bytes(bytes, size)?.to_vec())))
    };
    // SAFETY: null, or alive.
    let Some(executable) = (unsafe { executable.as_mut() }) else {
        return end(Status::InvalidArgument, "executable is null");
    };
    let (name, bytes) = match arguments {
        Ok(arguments) => arguments,
        Err(reason) => return end(Status::InvalidArgument, &reason),
    };
    let result = match base {
        u64::MAX => executable.inner.load(name, bytes),
        base => executable.inner.load_at(name, bytes, base),
    };
    match executable.ended(result.map_err(Into::into)) {
        Ok(object) => {
            if !loaded.is_null() {
                let number = u32::try_from(object.index()).unwrap_or(u32::MAX);
                // SAFETY: not null, and the caller promises that it is a place for a number.
                unsafe { *loaded = number };
            }
            Status::Ok
        }
        Err(status) => status,
    }
}

/// Puts the objects together, from `base` on. `fix_resources` says whether kernels get what they need with all that they
/// call. On HSACO_STATUS_FINDINGS hsaco_last_error() has everything that is wrong, a line each, and the executable is as
/// it was. On HSACO_STATUS_OK without `fix_resources` it has a line for each kernel that falls short of what it needs, with
/// both numbers, and is empty if none does.
///
/// # Safety
/// `executable` is from hsaco_executable_create and alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_executable_freeze(
    executable: *mut Executable,
    base: u64,
    fix_resources: bool,
) -> Status {
    // SAFETY: null, or alive.
    let Some(executable) = (unsafe { executable.as_mut() }) else {
        return end(Status::InvalidArgument, "executable is null");
    };
    let result = executable.inner.freeze(Freeze { base, fix_resources });
    match executable.ended(result) {
        Ok(()) => end(Status::Ok, &short_kernels(&executable.inner)),
        Err(status) => status,
    }
}

/// The kernels that need more than they have and were not raised, a line each.
fn short_kernels(executable: &load::Executable<'_>) -> String {
    let short = executable.raises().iter().filter(|it| !it.is_applied);
    let line = |it: &load::Raise| format!("{}: {it}", executable.object_name(it.object));
    short.map(line).collect::<Vec<_>>().join("\n")
}

/// The `hsa_status_t` that ROCm's loader has for why the last call that changes this executable failed; 0 if it did not.
///
/// # Safety
/// `executable` is null or from hsaco_executable_create and alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_executable_hsa_status(executable: *const Executable) -> u32 {
    // SAFETY: null, or alive.
    unsafe { executable.as_ref() }.map_or(0, |executable| executable.hsa_status)
}

/// The symbol of a name, with or without ".kd", mangled or as people read it.
///
/// # Safety
/// `executable` is from hsaco_executable_create and alive, `name` is text that ends in NUL, `symbol` points to a place
/// for a symbol.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_executable_get_symbol_by_name(
    executable: *const Executable,
    name: *const c_char,
    symbol: *mut ExecutableSymbol,
) -> Status {
    // SAFETY: as this function asks of its caller.
    let (executable, name) = unsafe { (executable.as_ref(), error::text(name, "name")) };
    let (Some(executable), Ok(name), false) = (executable, name, symbol.is_null()) else {
        return end(Status::InvalidArgument, "executable, name or symbol is null or no text");
    };
    match executable.inner.symbol(name) {
        Some(found) => {
            // SAFETY: not null, and the caller promises that it is a place for a symbol.
            unsafe { *symbol = ExecutableSymbol { handle: found.id().to_raw() } };
            end(Status::Ok, "")
        }
        None => end(Status::InvalidArgument, &format!("no symbol has the name '{name}'")),
    }
}

/// Calls back with each symbol.
///
/// # Safety
/// `executable` is from hsaco_executable_create and alive; `callback` may be called with it, a symbol and `data`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_executable_iterate_symbols(
    executable: *const Executable,
    callback: ExecutableSymbolCallback,
    data: *mut c_void,
) -> Status {
    // SAFETY: null, or alive.
    let (Some(this), Some(callback)) = (unsafe { executable.as_ref() }, callback) else {
        return end(Status::InvalidArgument, "executable or callback is null");
    };
    for symbol in this.inner.symbols() {
        let handle = symbol.id().to_raw();
        // SAFETY: as this function asks of its caller.
        let status = unsafe { callback(executable, ExecutableSymbol { handle }, data) };
        if status != Status::Ok {
            return end(status, "the callback ended it");
        }
    }
    end(Status::Ok, "")
}

/// Answers a question about a symbol, with a value of the type that the attribute names.
///
/// # Safety
/// `executable` is from hsaco_executable_create and alive, `value` points to a place for the answer: for a name as many
/// bytes as HSACO_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_executable_symbol_get_info(
    executable: *const Executable,
    symbol: ExecutableSymbol,
    attribute: u32,
    value: *mut c_void,
) -> Status {
    // SAFETY: null, or alive.
    let (Some(this), false) = (unsafe { executable.as_ref() }, value.is_null()) else {
        return end(Status::InvalidArgument, "executable or value is null");
    };
    let found = SymbolId::from_raw(symbol.handle).and_then(|id| this.inner.symbol_by_id(id));
    let Some(found) = found else {
        return end(Status::InvalidArgument, "the executable has no such symbol");
    };
    let is_frozen = this.inner.is_frozen();
    let Some(answer) = answer(&found, attribute, is_frozen) else {
        let why = if is_frozen { "" } else { ", or not before the executable is frozen" };
        let detail =
            format!("attribute {attribute} of a {} is not known{why}", found.kind().name());
        return end(Status::InvalidArgument, &detail);
    };
    // SAFETY: not null, and the caller promises that there is room for an answer of this kind.
    unsafe { ptr::copy_nonoverlapping(answer.as_ptr(), value.cast::<u8>(), answer.len()) };
    end(Status::Ok, "")
}

/// The bytes of an answer; none where the symbol or the attribute has none.
fn answer(symbol: &load::Symbol<'_>, attribute: u32, is_frozen: bool) -> Option<Vec<u8>> {
    let word = |value: u32| Some(value.to_ne_bytes().to_vec());
    let long = |value: u64| Some(value.to_ne_bytes().to_vec());
    let flag = |value: bool| Some(vec![u8::from(value)]);
    let narrow = |value: u64| word(u32::try_from(value).unwrap_or(u32::MAX));
    let name = symbol.symbol_name().as_bytes();
    let is = |kind| symbol.kind() == kind;
    let variable = is(LoadedSymbolKind::Variable).then_some(());
    let indirect = is(LoadedSymbolKind::IndirectFunction).then_some(());
    let kernel = symbol.kernel();
    // Before freezing the address of code in memory is unknown.
    let code_address = symbol.code().filter(|_| is_frozen).map(|code| code.0);
    match attribute {
        0 => word(kind(symbol.kind()) as u32),
        1 => narrow(name.len() as u64),
        2 => Some(name.to_vec()),
        3 => word(0),
        4 => Some(Vec::new()),
        5 => word(u32::from(symbol.binding() != Binding::Local)),
        6 => variable.and_then(|()| word(0)),
        7 => variable.and_then(|()| word(u32::from(symbol.is_const()))),
        8 => variable.and_then(|()| narrow(symbol.align())),
        9 => variable.and_then(|()| narrow(symbol.size())),
        10 => variable.and_then(|()| flag(symbol.is_const())),
        11 => narrow(kernel?.kernarg_size),
        12 => narrow(kernel?.kernarg_align),
        13 => word(kernel?.allocation.lds),
        14 => word(kernel?.allocation.scratch),
        15 => flag(kernel?.allocation.has_dynamic_stack),
        16 => indirect.and_then(|()| word(0)),
        17 => flag(symbol.is_definition()),
        18 => kernel.and_then(|_| word(0)),
        19 => word(kernel?.allocation.wave.lanes()),
        20 => long(0),
        21 => variable.and_then(|()| long(symbol.address()?)),
        22 => kernel.and_then(|_| long(symbol.address()?)),
        23 => indirect.and_then(|()| long(code_address?)),
        200 => long(code_address?),
        201 => long(symbol.code()?.1),
        202 => word(
            symbol.object().map_or(u32::MAX, |it| u32::try_from(it.index()).unwrap_or(u32::MAX)),
        ),
        203 => word(match symbol.visibility() {
            Visibility::Default => 0,
            Visibility::Internal => 1,
            Visibility::Hidden => 2,
            Visibility::Protected => 3,
        }),
        204 => long(symbol.address()?),
        205 => long(symbol.size()),
        _ => None,
    }
}

fn kind(kind: LoadedSymbolKind) -> ExecutableSymbolKind {
    match kind {
        LoadedSymbolKind::Kernel => ExecutableSymbolKind::Kernel,
        LoadedSymbolKind::Variable => ExecutableSymbolKind::Variable,
        LoadedSymbolKind::Function => ExecutableSymbolKind::DeviceFunction,
        LoadedSymbolKind::IndirectFunction => ExecutableSymbolKind::IndirectFunction,
        LoadedSymbolKind::External => ExecutableSymbolKind::External,
        LoadedSymbolKind::Lds => ExecutableSymbolKind::Lds,
        _ => ExecutableSymbolKind::Absolute,
    }
}

/// Calls back with each segment of a frozen executable: what memory holds, relocations applied. It is an error before
/// freezing.
///
/// # Safety
/// `executable` is from hsaco_executable_create and alive; `callback` may be called with `data`, and keeps no pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_executable_iterate_segments(
    executable: *const Executable,
    callback: ExecutableSegmentCallback,
    data: *mut c_void,
) -> Status {
    // SAFETY: null, or alive.
    let (Some(this), Some(callback)) = (unsafe { executable.as_ref() }, callback) else {
        return end(Status::InvalidArgument, "executable or callback is null");
    };
    if !this.inner.is_frozen() {
        return end(Status::InvalidArgument, "the executable is not frozen");
    }
    let images = this.inner.objects().filter_map(|it| this.inner.image(it));
    for segment in images.flat_map(|image| &image.segments) {
        let (bytes, count) = (segment.bytes.as_ptr(), segment.bytes.len());
        let (address, size, flags) = (segment.address, segment.size, segment.flags);
        // SAFETY: as this function asks of its caller.
        let status = unsafe { callback(address, size, bytes, count, flags, data) };
        if status != Status::Ok {
            return end(status, "the callback ended it");
        }
    }
    end(Status::Ok, "")
}

/// Makes one code object of all those of a frozen executable; hsaco_bytes_free takes it back.
///
/// # Safety
/// `executable` is from hsaco_executable_create and alive; `bytes` and `size` point to places that are filled in, with
/// null and 0 on failure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_executable_link(
    executable: *mut Executable,
    bytes: *mut *mut u8,
    size: *mut usize,
) -> Status {
    // SAFETY: null, or alive.
    let (Some(this), false, false) =
        (unsafe { executable.as_mut() }, bytes.is_null(), size.is_null())
    else {
        return end(Status::InvalidArgument, "executable, bytes or size is null");
    };
    let linked = this.inner.link();
    let (made, length, status) = match this.ended(linked) {
        Ok(linked) => {
            let linked = linked.into_boxed_slice();
            let length = linked.len();
            (Box::into_raw(linked).cast::<u8>(), length, Status::Ok)
        }
        Err(status) => (ptr::null_mut(), 0, status),
    };
    // SAFETY: not null, and the caller promises that they are places for these.
    unsafe {
        *bytes = made;
        *size = length;
    }
    status
}

/// Takes bytes back; null is fine.
///
/// # Safety
/// `bytes` is null, or from a function that says so with this `size`, and not freed before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_bytes_free(bytes: *mut u8, size: usize) {
    if !bytes.is_null() {
        // SAFETY: it was made of a box of that many bytes.
        drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(bytes, size)) });
    }
}

impl Executable {
    /// Keeps and tells why a call failed.
    fn ended<T>(&mut self, result: Result<T, load::Errors>) -> Result<T, Status> {
        match result {
            Ok(value) => {
                self.hsa_status = 0;
                end(Status::Ok, "");
                Ok(value)
            }
            Err(errors) => {
                let kind = errors.first().map(load::Error::kind);
                self.hsa_status = kind.map_or(0, ErrorKind::hsa_status);
                let status = match kind {
                    Some(ErrorKind::UnsupportedRelocation | ErrorKind::UnsupportedMetadata) => {
                        Status::Unsupported
                    }
                    _ => Status::Findings,
                };
                Err(end(status, &errors.to_string()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;
    use crate::error::hsaco_last_error;

    fn fixture(name: &str) -> Vec<u8> {
        std::fs::read(hsaco_tests::fixture(name)).unwrap()
    }

    struct Handle(*mut Executable);

    impl Drop for Handle {
        fn drop(&mut self) {
            unsafe { hsaco_executable_destroy(self.0) };
        }
    }

    fn create() -> Handle {
        let mut made = ptr::null_mut();
        assert_eq!(
            unsafe { hsaco_executable_create(c"gfx942".as_ptr(), &raw mut made) },
            Status::Ok
        );
        Handle(made)
    }

    fn load(executable: &Handle, name: &CStr, bytes: &[u8]) -> Status {
        let mut number = 0;
        let (start, size) = (bytes.as_ptr(), bytes.len());
        let loaded = &raw mut number;
        unsafe {
            hsaco_executable_load_code_object(
                executable.0,
                name.as_ptr(),
                start,
                size,
                u64::MAX,
                loaded,
            )
        }
    }

    fn find(executable: &Handle, name: &CStr) -> ExecutableSymbol {
        let mut symbol = ExecutableSymbol { handle: 0 };
        let place = &raw mut symbol;
        let status =
            unsafe { hsaco_executable_get_symbol_by_name(executable.0, name.as_ptr(), place) };
        assert_eq!(status, Status::Ok);
        symbol
    }

    fn ask<T: Default>(executable: &Handle, symbol: ExecutableSymbol, attribute: u32) -> Option<T> {
        let mut value = T::default();
        let place = (&raw mut value).cast();
        let status =
            unsafe { hsaco_executable_symbol_get_info(executable.0, symbol, attribute, place) };
        (status == Status::Ok).then_some(value)
    }

    fn last_error() -> String {
        unsafe { CStr::from_ptr(hsaco_last_error()) }.to_str().unwrap().to_owned()
    }

    #[test]
    fn a_runtime_finds_what_it_knows_from_hsa() {
        let executable = create();
        assert_eq!(load(&executable, c"user", &fixture("scale-user.co")), Status::Ok);
        let freeze = |base| unsafe { hsaco_executable_freeze(executable.0, base, true) };
        assert_eq!(freeze(0x1_0000), Status::Findings);
        assert_eq!(last_error().lines().count(), 2);
        assert_eq!(unsafe { hsaco_executable_hsa_status(executable.0) }, 0x1015);
        assert_eq!(load(&executable, c"library", &fixture("scale-library.co")), Status::Ok);
        assert_eq!(freeze(0x1_0000), Status::Ok);
        assert_eq!(freeze(0x1_0000), Status::Findings);
        assert_eq!(unsafe { hsaco_executable_hsa_status(executable.0) }, 0x1012);

        let apply = find(&executable, c"apply.kd");
        assert_eq!(ask::<u32>(&executable, apply, 0), Some(ExecutableSymbolKind::Kernel as u32));
        assert_eq!(ask::<u32>(&executable, apply, 1), Some(8));
        assert_eq!(ask::<[u8; 8]>(&executable, apply, 2).as_ref(), Some(b"apply.kd"));
        assert_eq!(ask::<u32>(&executable, apply, 12), Some(8));
        assert_eq!(ask::<u32>(&executable, apply, 19), Some(64));
        assert_eq!(ask::<u64>(&executable, apply, 22), Some(0x1_08c0));
        assert_eq!(ask::<u32>(&executable, apply, 9), None);
        assert_eq!(ask::<u32>(&executable, apply, 999), None);

        let scale = find(&executable, c"scale");
        let kind = ExecutableSymbolKind::DeviceFunction as u32;
        assert_eq!(ask::<u32>(&executable, scale, 0), Some(kind));
        assert_eq!(ask::<u32>(&executable, scale, 202), Some(1));
        assert_eq!(ask::<u64>(&executable, scale, 200), ask::<u64>(&executable, scale, 204));
        let factor = find(&executable, c"factor");
        assert_eq!(
            (ask::<u8>(&executable, factor, 10), ask::<u32>(&executable, factor, 9)),
            (Some(0), Some(4))
        );
    }

    #[test]
    fn code_has_no_address_in_memory_before_freezing() {
        unsafe extern "C" fn never(
            _: u64,
            _: u64,
            _: *const u8,
            _: usize,
            _: u32,
            _: *mut c_void,
        ) -> Status {
            Status::Unsupported
        }
        let executable = create();
        assert_eq!(load(&executable, c"library", &fixture("scale-library.co")), Status::Ok);
        assert_eq!(load(&executable, c"user", &fixture("scale-user.co")), Status::Ok);
        for name in [c"scale", c"apply.kd"] {
            let symbol = find(&executable, name);
            for address in [200, 204] {
                assert_eq!(ask::<u64>(&executable, symbol, address), None, "{name:?} {address}");
                assert!(last_error().ends_with("not before the executable is frozen"));
            }
            assert!(ask::<u64>(&executable, symbol, 201).is_some_and(|size| size > 0));
        }
        let segments = unsafe {
            hsaco_executable_iterate_segments(executable.0, Some(never), ptr::null_mut())
        };
        assert_eq!(
            (segments, &*last_error()),
            (Status::InvalidArgument, "the executable is not frozen")
        );
        assert_eq!(unsafe { hsaco_executable_freeze(executable.0, 0x10_0000, true) }, Status::Ok);
        for name in [c"scale", c"apply.kd"] {
            let address = ask::<u64>(&executable, find(&executable, name), 200);
            assert!(address.is_some_and(|it| it > 0x10_0000), "{name:?}");
        }
    }

    #[test]
    fn freezing_without_raising_says_which_kernels_fall_short() {
        for (fix_resources, lines) in [(false, 1), (true, 0)] {
            let executable = create();
            assert_eq!(load(&executable, c"library", &fixture("scale-library.co")), Status::Ok);
            assert_eq!(load(&executable, c"user", &fixture("scale-user.co")), Status::Ok);
            let frozen = unsafe { hsaco_executable_freeze(executable.0, 0x1000, fix_resources) };
            assert_eq!(frozen, Status::Ok);
            let said = last_error();
            assert_eq!(said.lines().count(), lines, "{said}");
            for word in ["user: kernel `apply`", "vgprs", "48", "201"].iter().take(4 * lines) {
                assert!(said.contains(word), "{said}");
            }
        }
    }

    #[test]
    fn everything_is_iterated_and_linked() {
        unsafe extern "C" fn count(
            _: *const Executable,
            _: ExecutableSymbol,
            data: *mut c_void,
        ) -> Status {
            unsafe { *data.cast::<u32>() += 1 };
            Status::Ok
        }
        unsafe extern "C" fn add(
            _: u64,
            size: u64,
            bytes: *const u8,
            byte_count: usize,
            _: u32,
            data: *mut c_void,
        ) -> Status {
            assert!(!bytes.is_null() && byte_count as u64 <= size);
            unsafe { *data.cast::<u64>() += size };
            Status::Ok
        }
        let executable = create();
        assert_eq!(load(&executable, c"s1", &fixture("s1.gfx942.co")), Status::Ok);
        assert_eq!(unsafe { hsaco_executable_freeze(executable.0, 0x1000, true) }, Status::Ok);
        let mut symbols = 0_u32;
        let data = (&raw mut symbols).cast();
        assert_eq!(
            unsafe { hsaco_executable_iterate_symbols(executable.0, Some(count), data) },
            Status::Ok
        );
        assert!(symbols >= 5, "{symbols}");
        let mut memory = 0_u64;
        let data = (&raw mut memory).cast();
        assert_eq!(
            unsafe { hsaco_executable_iterate_segments(executable.0, Some(add), data) },
            Status::Ok
        );
        assert_eq!(memory, 0xcc0 + 0x780 + 0xb80 + 8);
        let (mut bytes, mut size) = (ptr::null_mut(), 0);
        let status = unsafe { hsaco_executable_link(executable.0, &raw mut bytes, &raw mut size) };
        assert_eq!(status, Status::Ok);
        assert_eq!(unsafe { std::slice::from_raw_parts(bytes, 4) }, b"\x7fELF");
        unsafe { hsaco_bytes_free(bytes, size) };
    }

    #[test]
    fn null_and_nonsense_are_refused() {
        let executable = create();
        assert_eq!(load(&executable, c"junk", b"no object"), Status::Findings);
        assert_eq!(unsafe { hsaco_executable_hsa_status(executable.0) }, 0x1010);
        let mut made = ptr::null_mut();
        let status = unsafe { hsaco_executable_create(c"gfx".as_ptr(), &raw mut made) };
        assert_eq!((status, made.is_null()), (Status::InvalidArgument, true));
        assert_eq!(
            unsafe { hsaco_executable_freeze(ptr::null_mut(), 0, true) },
            Status::InvalidArgument
        );
        assert_eq!(ask::<u32>(&executable, ExecutableSymbol { handle: 77 }, 0), None);
        unsafe { hsaco_executable_destroy(ptr::null_mut()) };
    }
}
