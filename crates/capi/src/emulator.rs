//! Kernels on the CPU.

use std::ffi::{c_char, c_int, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

use hsaco::emu::{self, CallArgument, Dispatch, Limits, LoadedKernel};
use hsaco::kernarg::Value;

use crate::border::{Out, Versioned, bytes, bytes_mut, list, sized, text};
use crate::error::{Failure, Result, Status, border};
use crate::executable::{Executable, frozen};
use crate::handle::{self, Handle};
use crate::launch::{self, Launch};

/// A device that runs kernels on the CPU; hsaco_emulator_free takes it back. All functions may be called from any thread;
/// kernels of one emulator run one after the other.
pub struct Emulator {
    device: Mutex<emu::Device>,
}

impl Handle for Emulator {
    const NAME: &'static str = "emulator";
}

impl Emulator {
    fn lock(&self) -> MutexGuard<'_, emu::Device> {
        self.device.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl From<emu::Error> for Failure {
    fn from(error: emu::Error) -> Self {
        let status = match error.kind() {
            emu::ErrorKind::Unsupported => Status::Unsupported,
            _ => Status::Findings,
        };
        Failure::new(status, error.to_string())
    }
}

/// What a kernel is called with.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CallValue {
    /// The bytes: those of a value, or of memory that the kernel gets the address of.
    pub data: *mut u8,
    /// How many. A value has exactly the argument's size.
    pub size: usize,
    /// 0 for a value; 1 for memory, which is copied to the device and back afterwards.
    pub is_memory: u32,
}

/// Called with what a kernel prints: bytes, how many, and 1 if it is for standard error.
pub type PrintCallback =
    Option<unsafe extern "C" fn(text: *const u8, size: usize, is_error: c_int, data: *mut c_void)>;

/// How a kernel is run. Set everything to 0 and `size` to sizeof(hsaco_run_options).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RunOptions {
    /// sizeof(hsaco_run_options).
    pub size: usize,
    /// Most instructions that all waves execute together; 0 for any number.
    pub max_instructions: u64,
    /// Another number has waves take turns in another order.
    pub seed: u64,
    /// Gets what kernels print; null drops it. It is called on this thread.
    pub print: PrintCallback,
    /// Handed to `print`.
    pub data: *mut c_void,
}

// SAFETY: numbers, a pointer and a function pointer that may be null; it begins with its size.
unsafe impl Versioned for RunOptions {
    const NAME: &'static str = "options";
}

/// What a run was.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct RunOutcome {
    /// Instructions that waves executed.
    pub instructions: u64,
    /// Waves.
    pub waves: u64,
}

/// Prints as the caller wants it.
struct Printer {
    print: PrintCallback,
    data: *mut c_void,
}

// SAFETY: one thread runs the kernel, the one that called.
unsafe impl Sync for Printer {}

impl emu::Host for Printer {
    fn print(&self, text: &[u8], is_error: bool) {
        if let Some(print) = self.print {
            // SAFETY: the caller's function, with the data that it wants.
            unsafe { print(text.as_ptr(), text.len(), c_int::from(is_error), self.data) };
        }
    }
}

/// Makes a device of a target such as "gfx942", with so many bytes of memory at most.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_emulator_create(
    target: *const c_char,
    memory: u64,
    emulator: *mut *mut Emulator,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let (out, target) =
            unsafe { (Out::handle(emulator, "emulator")?, text(target, "target")?) };
        let parsed = target.parse().map_err(|error| Failure::target("target", target, &error))?;
        out.set(handle::new(Emulator { device: Mutex::new(emu::Device::new(parsed, memory)) }));
        Ok(())
    })
}

/// Loads a frozen executable into the memory of a device. It must not be where another one is.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_emulator_load(
    emulator: *mut Emulator,
    executable: *const Executable,
) -> Status {
    border(|| {
        let (emulator, now) = (handle::get(emulator)?, handle::get(executable)?.now());
        frozen(&now)?;
        Ok(emulator.lock().load(&now)?)
    })
}

/// Allocates memory of a device, which is zero.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_emulator_allocate(
    emulator: *mut Emulator,
    size: u64,
    address: *mut u64,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::new(address, "address", 0) }?;
        out.set(handle::get(emulator)?.lock().memory.allocate(size)?);
        Ok(())
    })
}

/// Takes memory of a device back; HSACO_STATUS_NOT_FOUND if none was allocated at that address.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_emulator_release(emulator: *mut Emulator, address: u64) -> Status {
    border(|| match handle::get(emulator)?.lock().memory.free(address) {
        true => Ok(()),
        false => {
            Err(Failure::new(Status::NotFound, format!("no memory was allocated at {address:#x}")))
        }
    })
}

/// Writes to the memory of a device.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_emulator_write(
    emulator: *mut Emulator,
    address: u64,
    data: *const u8,
    size: usize,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let data = unsafe { bytes(data, size, "data") }?;
        Ok(handle::get(emulator)?.lock().memory.write(address, data)?)
    })
}

/// Reads memory of a device.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_emulator_read(
    emulator: *const Emulator,
    address: u64,
    data: *mut u8,
    size: usize,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let data = unsafe { bytes_mut(data, size, "data") }?;
        Ok(handle::get(emulator)?.lock().memory.read_into(address, data)?)
    })
}

/// Runs a kernel of an executable that was loaded, with a value for each argument, as a program would call a function:
/// memory is copied to the device, and back afterwards, also where the kernel stopped. `options` and `outcome` may be
/// null.
///
/// HSACO_STATUS_FINDINGS where the arguments do not fit or the kernel stopped: hsaco_last_error() says where and why.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_emulator_call(
    emulator: *mut Emulator,
    executable: *const Executable,
    kernel: *const c_char,
    launch: *const Launch,
    arguments: *const CallValue,
    argument_count: usize,
    options: *const RunOptions,
    outcome: *mut RunOutcome,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let (out, name, launch, options, mut arguments) = unsafe {
            (
                Out::optional(outcome, RunOutcome::default()),
                text(kernel, "kernel")?,
                launch::given(launch)?,
                Run::new(options)?,
                call_arguments(arguments, argument_count)?,
            )
        };
        let (emulator, now) = (handle::get(emulator)?, handle::get(executable)?.now());
        frozen(&now)?;
        let kernel = LoadedKernel::find(&now, name)?;
        let ran = emulator.lock().call(&kernel, launch, &mut arguments, |it| options.run(it))?;
        out.set(RunOutcome { instructions: ran.instructions, waves: ran.waves });
        Ok(())
    })
}

/// Runs a kernel of an executable that was loaded, with a segment that is packed already, hidden arguments included.
/// Addresses in it are the device's. The rest is as for hsaco_emulator_call.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_emulator_dispatch(
    emulator: *mut Emulator,
    executable: *const Executable,
    kernel: *const c_char,
    launch: *const Launch,
    segment: *const u8,
    segment_size: usize,
    options: *const RunOptions,
    outcome: *mut RunOutcome,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let (out, name, launch, options, segment) = unsafe {
            (
                Out::optional(outcome, RunOutcome::default()),
                text(kernel, "kernel")?,
                launch::given(launch)?,
                Run::new(options)?,
                bytes(segment, segment_size, "segment")?,
            )
        };
        let (emulator, now) = (handle::get(emulator)?, handle::get(executable)?.now());
        frozen(&now)?;
        let mut device = emulator.lock();
        let dispatch = Dispatch::new(&mut device, &now, name, launch, segment)?;
        let ran = options.run(dispatch)?;
        out.set(RunOutcome { instructions: ran.instructions, waves: ran.waves });
        Ok(())
    })
}

/// How a run goes.
struct Run {
    limits: Limits,
    printer: Printer,
}

impl Run {
    /// # Safety
    /// `options` is null or points to options.
    unsafe fn new(options: *const RunOptions) -> Result<Self> {
        // SAFETY: as this function asks.
        let given = unsafe { sized(options) }?;
        let most = given.map_or(0, |it| it.max_instructions);
        let limits = Limits {
            instructions: if most == 0 { u64::MAX } else { most },
            seed: given.map_or(0, |it| it.seed),
            ..Limits::default()
        };
        let print = given.and_then(|it| it.print);
        let data = given.map_or(std::ptr::null_mut(), |it| it.data);
        Ok(Self { limits, printer: Printer { print, data } })
    }

    fn run(&self, dispatch: Dispatch<'_>) -> emu::Result<emu::Outcome> {
        let dispatch = dispatch.with_limits(self.limits);
        match self.printer.print {
            Some(_) => dispatch.with_host(&self.printer).run(),
            None => dispatch.run(),
        }
    }
}

/// # Safety
/// Pointers are as the head of hsaco.h asks.
unsafe fn call_arguments<'a>(
    arguments: *const CallValue,
    count: usize,
) -> Result<Vec<CallArgument<'a>>> {
    // SAFETY: as this function asks.
    let arguments = unsafe { list(arguments, count, "arguments") }?;
    let mut memory: Vec<(usize, usize)> = Vec::new();
    let mut all = Vec::new();
    for it in arguments {
        // SAFETY: as above.
        all.push(match it.is_memory {
            0 => CallArgument::Value(Value::Bytes(unsafe { bytes(it.data, it.size, "a value")? })),
            1 => {
                let range = (it.data.addr(), it.data.addr().saturating_add(it.size));
                if memory.iter().any(|other| range.0 < other.1 && other.0 < range.1) {
                    let reason = "two arguments share memory: have one of them copied";
                    return Err(Failure::argument(reason));
                }
                memory.push(range);
                CallArgument::Buffer(unsafe { bytes_mut(it.data, it.size, "memory")? })
            }
            other => return Err(Failure::argument(format!("is_memory is {other}, not 0 or 1"))),
        });
    }
    Ok(all)
}

/// Takes a device back; null is fine.
#[unsafe(no_mangle)]
pub extern "C" fn hsaco_emulator_free(emulator: *mut Emulator) -> Status {
    handle::free(emulator)
}
