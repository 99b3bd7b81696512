//! Executables, in the shape that HSA gave them: create, define, load, freeze, ask.
//!
//! Names and numbers of attributes are those of `hsa_executable_symbol_get_info`; device functions, externals, LDS and
//! numbers are kinds that HSA has not, and code has attributes of its own.

use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use hsaco::elf::symbol::{Binding, Visibility};
use hsaco::load::{self, ErrorKind, Freeze, LoadedSymbolKind, SymbolId};

use crate::border::{Out, Row, bytes, optional_text, row_at, text, text_at};
use crate::buffer::Buffer;
use crate::error::{Failure, Result, Said, Status, border, c_string, lines};
use crate::handle::{self, Handle};

/// Code objects that belong together; hsaco_executable_free takes it back. All functions may be called from any thread: a
/// question sees the executable as it is when it is asked.
pub struct Executable {
    inner: RwLock<Arc<load::Executable<'static>>>,
    hsa_status: AtomicU32,
    /// What is known once it is frozen.
    raises: OnceLock<Vec<Row<Raise>>>,
    remarks: OnceLock<Vec<CString>>,
}

impl Handle for Executable {
    const NAME: &'static str = "executable";
}

/// A kernel that needs more than it was compiled to have, with all that it calls.
#[repr(C)]
#[derive(Debug)]
pub struct Raise {
    /// Its name, without ".kd".
    pub kernel: *const c_char,
    /// The object that it is in, by the name under which it was loaded.
    pub object: *const c_char,
    /// Whether descriptor and metadata were raised; else this only says what is missing.
    pub is_applied: bool,
    /// Whether it needs a stack of a size that only run time knows, and was compiled without.
    pub needs_dynamic_stack: bool,
    /// Most work-items of a workgroup that still fit; HSACO_UNKNOWN if that did not change.
    pub workgroup_limit: u64,
    /// What it has too little of.
    pub shortages: *const *const Shortage,
    /// How many.
    pub shortage_count: usize,
}

/// A resource that a kernel has less of than it needs.
#[repr(C)]
#[derive(Debug)]
pub struct Shortage {
    /// Which: "vgprs", "lds".
    pub resource: *const c_char,
    /// What the descriptor gives.
    pub allocated: u32,
    /// What the code uses.
    pub needed: u32,
    /// The functions from the kernel to the one that needs it.
    pub path: *const *const c_char,
    /// How many.
    pub path_count: usize,
}

/// What is at an address of memory.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct AddressInfo {
    /// The number of the object.
    pub object: u32,
    /// The address in the object, before that was placed.
    pub object_address: u64,
    /// The symbol that it is in or behind; 0 if there is none.
    pub symbol: ExecutableSymbol,
    /// How far behind its start.
    pub distance: u64,
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

/// Called with each symbol; anything but 0 ends the iteration.
pub type ExecutableSymbolCallback = Option<
    unsafe extern "C" fn(
        executable: *const Executable,
        symbol: ExecutableSymbol,
        data: *mut c_void,
    ) -> c_int,
>;

/// Called with each segment: its address, its size in memory, the bytes that it begins with and how many, and its
/// permissions (4 read, 2 write, 1 execute). Anything but 0 ends the iteration.
pub type ExecutableSegmentCallback = Option<
    unsafe extern "C" fn(
        address: u64,
        size: u64,
        bytes: *const u8,
        byte_count: usize,
        permissions: u32,
        data: *mut c_void,
    ) -> c_int,
>;

impl Executable {
    /// The executable as it is now.
    pub(crate) fn now(&self) -> Arc<load::Executable<'static>> {
        Arc::clone(&self.inner.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes it, and keeps why that failed.
    fn change<T>(
        &self,
        change: impl FnOnce(&mut load::Executable<'static>) -> Result<T, load::Errors>,
    ) -> Result<T> {
        let changed =
            change(Arc::make_mut(&mut self.inner.write().unwrap_or_else(PoisonError::into_inner)));
        self.ended(changed)
    }

    fn ended<T>(&self, result: Result<T, load::Errors>) -> Result<T> {
        let kind = result.as_ref().err().and_then(|it| it.first()).map(load::Error::kind);
        self.hsa_status.store(kind.map_or(0, ErrorKind::hsa_status), Ordering::Relaxed);
        result.map_err(|errors| {
            let status = match kind {
                Some(ErrorKind::UnsupportedRelocation | ErrorKind::UnsupportedMetadata) => {
                    Status::Unsupported
                }
                _ => Status::Findings,
            };
            Failure::new(status, errors.to_string())
        })
    }

    /// What freezing found out about what kernels need.
    fn raises(&self) -> Result<&[Row<Raise>]> {
        let now = self.now();
        frozen(&now)?;
        Ok(self.raises.get_or_init(|| now.raises().iter().map(|it| Raise::row(&now, it)).collect()))
    }
}

impl Raise {
    fn row(executable: &load::Executable<'_>, raise: &load::Raise) -> Row<Self> {
        Row::new(|texts| {
            let mut shortages = Vec::new();
            for short in &raise.shortages {
                let (path, path_count) = texts.list(short.way.iter().map(String::as_str));
                let shortage = Shortage {
                    resource: texts.keep(short.resource.name()),
                    allocated: short.allocated,
                    needed: short.needed,
                    path,
                    path_count,
                };
                shortages.push(texts.item(shortage));
            }
            let (shortages, shortage_count) = texts.items(shortages);
            Raise {
                kernel: texts.keep(&raise.kernel),
                object: texts.keep(executable.object_name(raise.object)),
                is_applied: raise.is_applied,
                needs_dynamic_stack: raise.needs_dynamic_stack,
                workgroup_limit: raise.workgroup_limit.unwrap_or(u64::MAX),
                shortages,
                shortage_count,
            }
        })
    }
}

/// An error unless it is frozen.
pub(crate) fn frozen(executable: &load::Executable<'_>) -> Result {
    match executable.is_frozen() {
        true => Ok(()),
        false => Err(Failure::argument("the executable is not frozen")),
    }
}

/// The number of an object.
fn number(object: load::ObjectId) -> u32 {
    u32::try_from(object.index()).unwrap_or(u32::MAX)
}

fn stopped() -> Failure {
    Failure::new(Status::Stopped, "the callback ended it")
}

/// Makes an executable for a device such as "gfx942:sramecc+:xnack-", or for whatever its objects are for if that is
/// null.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_executable_create(
    device: *const c_char,
    executable: *mut *mut Executable,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let (out, device) =
            unsafe { (Out::handle(executable, "executable")?, optional_text(device, "device")?) };
        let parse =
            |text: &str| text.parse().map_err(|error| Failure::target("device", text, &error));
        let inner = load::Executable::new(device.map(parse).transpose()?);
        out.set(handle::new(Executable {
            inner: RwLock::new(Arc::new(inner)),
            hsa_status: AtomicU32::new(0),
            raises: OnceLock::new(),
            remarks: OnceLock::new(),
        }));
        Ok(())
    })
}

/// Takes an executable back; null is fine.
#[unsafe(no_mangle)]
pub extern "C" fn hsaco_executable_free(executable: *mut Executable) -> Status {
    handle::free(executable)
}

/// Says where a variable is that objects may refer to.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_executable_define_variable(
    executable: *mut Executable,
    name: *const c_char,
    address: u64,
    size: u64,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let name = unsafe { text(name, "name") }?;
        let define = |it: &mut load::Executable<'_>| it.define_variable(name, address, size);
        handle::get(executable)?.change(|it| define(it).map_err(Into::into)).map(drop)
    })
}

/// Says where a function is that objects may call.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_executable_define_function(
    executable: *mut Executable,
    name: *const c_char,
    address: u64,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let name = unsafe { text(name, "name") }?;
        let define = |it: &mut load::Executable<'_>| it.define_function(name, address);
        handle::get(executable)?.change(|it| define(it).map_err(Into::into)).map(drop)
    })
}

/// Adds a code object, of which the bytes are copied. `name` is what messages call it; `base` is where its address 0 is to
/// be, HSACO_UNKNOWN for wherever there is room. Objects come in any order. A failure leaves the executable as it was.
/// `loaded` is null or becomes the object's number.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_executable_load_code_object(
    executable: *mut Executable,
    name: *const c_char,
    bytes: *const u8,
    size: usize,
    base: u64,
    loaded: *mut u32,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let (loaded, name, bytes) = unsafe {
            let loaded = Out::optional(loaded, u32::MAX);
            (loaded, text(name, "name")?, self::bytes(bytes, size, "bytes")?)
        };
        let object = handle::get(executable)?.change(|it| {
            let bytes = bytes.to_vec();
            let object = match base {
                u64::MAX => it.load(name, bytes),
                base => it.load_at(name, bytes, base),
            };
            object.map_err(Into::into)
        })?;
        loaded.set(number(object));
        Ok(())
    })
}

/// Puts the objects together, from `base` on. `fix_resources` says whether kernels get what they need with all that they
/// call. On HSACO_STATUS_FINDINGS hsaco_last_error() has everything that is wrong, a line each, and the executable is as
/// it was. On HSACO_STATUS_OK without `fix_resources` it has a line for each kernel that falls short of what it needs, with
/// both numbers, and is empty if none does; hsaco_executable_raise has the same as numbers.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_executable_freeze(
    executable: *mut Executable,
    base: u64,
    fix_resources: bool,
) -> Status {
    border(|| {
        let executable = handle::get(executable)?;
        executable.change(|it| it.freeze(Freeze { base, fix_resources }))?;
        let now = executable.now();
        let short = now.raises().iter().filter(|it| !it.is_applied);
        Ok(Said(lines(short.map(|it| format!("{}: {it}", now.object_name(it.object))))))
    })
}

/// The `hsa_status_t` that ROCm's loader has for why the last call that changes this executable failed; 0 if it did not.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_executable_hsa_status(
    executable: *const Executable,
    status: *mut u32,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::new(status, "status", 0) }?;
        out.set(handle::get(executable)?.hsa_status.load(Ordering::Relaxed));
        Ok(())
    })
}

/// The symbol of a name, with or without ".kd", mangled or as people read it.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_executable_get_symbol_by_name(
    executable: *const Executable,
    name: *const c_char,
    symbol: *mut ExecutableSymbol,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let (out, name) = unsafe {
            let none = ExecutableSymbol { handle: 0 };
            (Out::new(symbol, "symbol", none)?, text(name, "name")?)
        };
        let now = handle::get(executable)?.now();
        let missing = || Failure::new(Status::NotFound, format!("no symbol has the name '{name}'"));
        out.set(ExecutableSymbol { handle: now.symbol(name).ok_or_else(missing)?.id().to_raw() });
        Ok(())
    })
}

/// Calls back with each symbol.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_executable_iterate_symbols(
    executable: *const Executable,
    callback: ExecutableSymbolCallback,
    data: *mut c_void,
) -> Status {
    border(|| {
        let callback = callback.ok_or_else(|| Failure::argument("callback is null"))?;
        for symbol in handle::get(executable)?.now().symbols() {
            let handle = symbol.id().to_raw();
            // SAFETY: as this function asks of its caller.
            if unsafe { callback(executable, ExecutableSymbol { handle }, data) } != 0 {
                return Err(stopped());
            }
        }
        Ok(())
    })
}

/// Answers a question about a symbol, with a value of the type that the attribute, a hsaco_executable_symbol_info, names.
/// `value_size` is the room at `value`: exactly the size of that type, and for a name at least as many bytes as
/// HSACO_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH says.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_executable_symbol_get_info(
    executable: *const Executable,
    symbol: ExecutableSymbol,
    attribute: u32,
    value: *mut c_void,
    value_size: usize,
) -> Status {
    border(|| {
        if value.is_null() {
            return Err(Failure::argument("value is null"));
        }
        let now = handle::get(executable)?.now();
        let found = SymbolId::from_raw(symbol.handle).and_then(|id| now.symbol_by_id(id));
        let found = found.ok_or_else(|| Failure::argument("the executable has no such symbol"))?;
        let is_frozen = now.is_frozen();
        let answer = answer(&found, attribute, is_frozen).ok_or_else(|| {
            let why = if is_frozen { "" } else { ", or not before the executable is frozen" };
            let kind = found.kind().name();
            Failure::argument(format!("attribute {attribute} of a {kind} is not known{why}"))
        })?;
        let is_text = attribute == ExecutableSymbolInfo::Name as u32
            || attribute == ExecutableSymbolInfo::ModuleName as u32;
        if value_size != answer.len() && !(is_text && value_size > answer.len()) {
            let needed = answer.len();
            let reason =
                format!("attribute {attribute} has {needed} bytes, and there are {value_size}");
            return Err(Failure::argument(reason));
        }
        // SAFETY: not null, and the caller promises as much room as was checked.
        unsafe { ptr::copy_nonoverlapping(answer.as_ptr(), value.cast::<u8>(), answer.len()) };
        Ok(())
    })
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
/// Pointers are as the head of hsaco.h asks; `callback` keeps no pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_executable_iterate_segments(
    executable: *const Executable,
    callback: ExecutableSegmentCallback,
    data: *mut c_void,
) -> Status {
    border(|| {
        let callback = callback.ok_or_else(|| Failure::argument("callback is null"))?;
        let now = handle::get(executable)?.now();
        frozen(&now)?;
        let images = now.objects().filter_map(|it| now.image(it));
        for segment in images.flat_map(|image| &image.segments) {
            let (bytes, count) = (segment.bytes.as_ptr(), segment.bytes.len());
            let (address, size, flags) = (segment.address, segment.size, segment.flags);
            // SAFETY: as this function asks of its caller.
            if unsafe { callback(address, size, bytes, count, flags, data) } != 0 {
                return Err(stopped());
            }
        }
        Ok(())
    })
}

/// A kernel that needs more than it was compiled to have; HSACO_STATUS_NOT_FOUND behind the last. It lives as long as the
/// executable, which must be frozen.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_executable_raise(
    executable: *const Executable,
    index: usize,
    raise: *mut *const Raise,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::row(raise, "raise") }?;
        out.set(row_at(handle::get(executable)?.raises()?, index, "kernel that falls short")?);
        Ok(())
    })
}

/// Something that freezing could not find out about what kernels need; HSACO_STATUS_NOT_FOUND behind the last. It lives as
/// long as the executable, which must be frozen.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_executable_remark(
    executable: *const Executable,
    index: usize,
    words: *mut *const c_char,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::row(words, "words") }?;
        let executable = handle::get(executable)?;
        let now = executable.now();
        frozen(&now)?;
        let remarks = || now.remarks().iter().map(|it| c_string(it)).collect();
        out.set(text_at(executable.remarks.get_or_init(remarks), index, "remark")?);
        Ok(())
    })
}

/// What is at an address of memory: its object and the symbol that it is in or behind. HSACO_STATUS_NOT_FOUND where
/// nothing of the executable is.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_executable_locate(
    executable: *const Executable,
    address: u64,
    info: *mut AddressInfo,
) -> Status {
    border(|| {
        let none = ExecutableSymbol { handle: 0 };
        let nothing =
            AddressInfo { object: u32::MAX, object_address: u64::MAX, symbol: none, distance: 0 };
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::new(info, "info", nothing) }?;
        let now = handle::get(executable)?.now();
        frozen(&now)?;
        let missing = || Failure::new(Status::NotFound, format!("nothing is at {address:#x}"));
        let found = now.locate(address).ok_or_else(missing)?;
        out.set(AddressInfo {
            object: number(found.object),
            object_address: found.object_address,
            symbol: found.symbol.map_or(none, |it| ExecutableSymbol { handle: it.0.id().to_raw() }),
            distance: found.symbol.map_or(0, |it| it.1),
        });
        Ok(())
    })
}

/// Makes one code object of all those of a frozen executable. hsaco_buffer_free takes it back.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_executable_link(
    executable: *const Executable,
    linked: *mut *mut Buffer,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::handle(linked, "linked") }?;
        let executable = handle::get(executable)?;
        let now = executable.now();
        frozen(&now)?;
        out.set(Buffer::handle(executable.ended(now.link())?));
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;
    use crate::buffer::{hsaco_buffer_data, hsaco_buffer_free};
    use crate::error::hsaco_last_error;

    fn fixture(name: &str) -> Vec<u8> {
        std::fs::read(hsaco_tests::fixture(name)).unwrap()
    }

    struct Handle(*mut Executable);

    impl Drop for Handle {
        fn drop(&mut self) {
            hsaco_executable_free(self.0);
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
        let (executable, size) = (executable.0, size_of::<T>());
        let status =
            unsafe { hsaco_executable_symbol_get_info(executable, symbol, attribute, place, size) };
        (status == Status::Ok).then_some(value)
    }

    fn hsa_status(executable: &Handle) -> u32 {
        let mut status = 0;
        assert_eq!(
            unsafe { hsaco_executable_hsa_status(executable.0, &raw mut status) },
            Status::Ok
        );
        status
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
        assert_eq!(hsa_status(&executable), 0x1015);
        assert_eq!(load(&executable, c"library", &fixture("scale-library.co")), Status::Ok);
        assert_eq!(freeze(0x1_0000), Status::Ok);
        assert_eq!(freeze(0x1_0000), Status::Findings);
        assert_eq!(hsa_status(&executable), 0x1012);

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
        ) -> c_int {
            7
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
        ) -> c_int {
            unsafe { *data.cast::<u32>() += 1 };
            0
        }
        unsafe extern "C" fn add(
            _: u64,
            size: u64,
            bytes: *const u8,
            byte_count: usize,
            _: u32,
            data: *mut c_void,
        ) -> c_int {
            assert!(!bytes.is_null() && byte_count as u64 <= size);
            unsafe { *data.cast::<u64>() += size };
            0
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
        let mut linked = ptr::null_mut();
        let status = unsafe { hsaco_executable_link(executable.0, &raw mut linked) };
        assert_eq!(status, Status::Ok);
        let (mut bytes, mut size) = (ptr::null(), 0);
        let status = unsafe { hsaco_buffer_data(linked, &raw mut bytes, &raw mut size) };
        assert_eq!(status, Status::Ok);
        assert_eq!(unsafe { std::slice::from_raw_parts(bytes, 4) }, b"\x7fELF");
        assert_eq!(hsaco_buffer_free(linked), Status::Ok);
        assert_eq!(hsaco_buffer_free(linked), Status::InvalidArgument);
    }

    #[test]
    fn null_and_nonsense_are_refused() {
        let executable = create();
        assert_eq!(load(&executable, c"junk", b"no object"), Status::Findings);
        assert_eq!(hsa_status(&executable), 0x1010);
        let mut made = ptr::null_mut();
        let status = unsafe { hsaco_executable_create(c"gfx".as_ptr(), &raw mut made) };
        assert_eq!((status, made.is_null()), (Status::InvalidArgument, true));
        assert_eq!(
            unsafe { hsaco_executable_freeze(ptr::null_mut(), 0, true) },
            Status::InvalidArgument
        );
        assert_eq!(ask::<u32>(&executable, ExecutableSymbol { handle: 77 }, 0), None);
        assert_eq!(hsaco_executable_free(ptr::null_mut()), Status::Ok);
    }
}
