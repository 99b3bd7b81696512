//! The registration probe: what the HSA runtime of this machine makes of an object.
//!
//! The runtime is found when it is asked for and never linked. Loading needs a device; without one the answer says so.
//!
//! ```no_run
//! let object = std::fs::read("kernels.co")?;
//! println!("{}", hsaco_probe::HsaRuntime::new().load(&object));
//! # Ok::<(), std::io::Error>(())
//! ```

use hsaco_check::result::Answer;

/// Why no runtime was asked.
fn unasked(why: impl Into<String>) -> Answer {
    Answer { loads: None, function: None, status: None, meaning: why.into() }
}

/// The runtime, opened and started once.
pub struct HsaRuntime(Result<imp::Runtime, Answer>);

impl Default for HsaRuntime {
    fn default() -> Self {
        Self::new()
    }
}

impl HsaRuntime {
    /// Finds the runtime, and starts it.
    #[must_use]
    pub fn new() -> Self {
        Self(imp::Runtime::start())
    }

    /// Loads an object on the first device.
    #[must_use]
    pub fn load(&self, object: &[u8]) -> Answer {
        match &self.0 {
            Ok(runtime) => runtime.load(object),
            Err(answer) => answer.clone(),
        }
    }
}

#[cfg(not(unix))]
mod imp {
    use super::{Answer, unasked};

    pub(super) enum Runtime {}

    impl Runtime {
        pub(super) fn start() -> Result<Self, Answer> {
            Err(unasked("there is no HSA runtime for this system"))
        }

        pub(super) fn load(&self, _object: &[u8]) -> Answer {
            match *self {}
        }
    }
}

#[cfg(unix)]
#[allow(unsafe_code, reason = "functions of a C library; each block says why it is sound")]
mod imp {
    use std::ffi::{CStr, c_char, c_void};
    use std::sync::Mutex;
    use std::{mem, ptr};

    use super::{Answer, unasked};

    const LIBRARY: &CStr = c"libhsa-runtime64.so.1";
    const SUCCESS: u32 = 0;
    const INFO_BREAK: u32 = 1;
    /// `HSA_AGENT_INFO_DEVICE`, and its value for GPUs.
    const AGENT_INFO_DEVICE: u32 = 17;
    const DEVICE_TYPE_GPU: u32 = 1;
    /// `HSA_PROFILE_FULL`, `HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT`.
    const PROFILE_FULL: u32 = 1;
    const DEFAULT_ROUNDING: u32 = 0;

    type Status = u32;
    type Handle = u64;
    type AgentCallback = extern "C" fn(Handle, *mut c_void) -> Status;

    /// The functions of the runtime that a load takes, as `hsa.h` declares them.
    struct Api {
        init: unsafe extern "C" fn() -> Status,
        shut_down: unsafe extern "C" fn() -> Status,
        status_string: unsafe extern "C" fn(Status, *mut *const c_char) -> Status,
        iterate_agents: unsafe extern "C" fn(AgentCallback, *mut c_void) -> Status,
        agent_get_info: unsafe extern "C" fn(Handle, u32, *mut c_void) -> Status,
        reader_create: unsafe extern "C" fn(*const c_void, usize, *mut Handle) -> Status,
        reader_destroy: unsafe extern "C" fn(Handle) -> Status,
        executable_create: unsafe extern "C" fn(u32, u32, *const c_char, *mut Handle) -> Status,
        executable_load:
            unsafe extern "C" fn(Handle, Handle, Handle, *const c_char, *mut Handle) -> Status,
        executable_freeze: unsafe extern "C" fn(Handle, *const c_char) -> Status,
        executable_destroy: unsafe extern "C" fn(Handle) -> Status,
    }

    pub(super) struct Runtime {
        api: Api,
        agent: Handle,
        /// Loading is not tried by two threads at once: old runtimes are not all safe.
        turn: Mutex<()>,
    }

    /// What finding a device takes.
    struct Search {
        get_info: unsafe extern "C" fn(Handle, u32, *mut c_void) -> Status,
        found: Option<Handle>,
    }

    extern "C" fn visit(agent: Handle, search: *mut c_void) -> Status {
        let mut kind = u32::MAX;
        // SAFETY: `start` passes its own search, which outlives the iteration; the attribute is 4 bytes.
        unsafe {
            let search = &mut *search.cast::<Search>();
            let status =
                (search.get_info)(agent, AGENT_INFO_DEVICE, ptr::from_mut(&mut kind).cast());
            if status == SUCCESS && kind == DEVICE_TYPE_GPU {
                search.found = Some(agent);
                return INFO_BREAK;
            }
        }
        SUCCESS
    }

    impl Runtime {
        /// Finds the library, starts it, and finds a device.
        pub(super) fn start() -> Result<Self, Answer> {
            // SAFETY: a name that ends in NUL; the runtime may be loaded at any time.
            let library = unsafe { libc::dlopen(LIBRARY.as_ptr(), libc::RTLD_NOW) };
            if library.is_null() {
                let name = LIBRARY.to_string_lossy();
                return Err(unasked(format!(
                    "no HSA runtime on this machine: {name} cannot be loaded"
                )));
            }
            let api = Api::find(library)?;
            // SAFETY: as declared in hsa.h; nothing else of the runtime is called before it.
            let status = unsafe { (api.init)() };
            if status != SUCCESS {
                let mut answer = api.answer("hsa_init", status);
                answer.loads = None;
                answer.meaning.push_str("; is there a driver (/dev/kfd), and may you use it?");
                return Err(answer);
            }
            let mut search = Search { get_info: api.agent_get_info, found: None };
            // SAFETY: the callback is given its own search.
            unsafe { (api.iterate_agents)(visit, ptr::from_mut(&mut search).cast()) };
            match search.found {
                Some(agent) => Ok(Self { api, agent, turn: Mutex::new(()) }),
                None => {
                    // SAFETY: the runtime was started, and nothing of it is used after.
                    unsafe { (api.shut_down)() };
                    Err(unasked("the HSA runtime finds no GPU on this machine"))
                }
            }
        }

        pub(super) fn load(&self, object: &[u8]) -> Answer {
            let _turn = self.turn.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let (api, none) = (&self.api, ptr::null());
            let (mut reader, mut executable) = (0, 0);
            // SAFETY: all as declared in hsa.h, in the order that it asks for; the bytes outlive the reader.
            unsafe {
                let status = (api.reader_create)(object.as_ptr().cast(), object.len(), &mut reader);
                if status != SUCCESS {
                    return api.answer("hsa_code_object_reader_create_from_memory", status);
                }
                let status =
                    (api.executable_create)(PROFILE_FULL, DEFAULT_ROUNDING, none, &mut executable);
                let answer = if status != SUCCESS {
                    api.answer("hsa_executable_create_alt", status)
                } else {
                    let status = (api.executable_load)(
                        executable,
                        self.agent,
                        reader,
                        none,
                        ptr::null_mut(),
                    );
                    let answer = match status {
                        SUCCESS => api.answer(
                            "hsa_executable_freeze",
                            (api.executable_freeze)(executable, none),
                        ),
                        status => api.answer("hsa_executable_load_agent_code_object", status),
                    };
                    (api.executable_destroy)(executable);
                    answer
                };
                (api.reader_destroy)(reader);
                answer
            }
        }
    }

    impl Drop for Runtime {
        fn drop(&mut self) {
            // SAFETY: it was started once, and this is the last use of it.
            unsafe { (self.api.shut_down)() };
        }
    }

    impl Api {
        fn find(library: *mut c_void) -> Result<Self, Answer> {
            // SAFETY: each symbol is the function of that name, whose type hsa.h declares as the field's.
            unsafe {
                Ok(Self {
                    init: function(library, c"hsa_init")?,
                    shut_down: function(library, c"hsa_shut_down")?,
                    status_string: function(library, c"hsa_status_string")?,
                    iterate_agents: function(library, c"hsa_iterate_agents")?,
                    agent_get_info: function(library, c"hsa_agent_get_info")?,
                    reader_create: function(library, c"hsa_code_object_reader_create_from_memory")?,
                    reader_destroy: function(library, c"hsa_code_object_reader_destroy")?,
                    executable_create: function(library, c"hsa_executable_create_alt")?,
                    executable_load: function(library, c"hsa_executable_load_agent_code_object")?,
                    executable_freeze: function(library, c"hsa_executable_freeze")?,
                    executable_destroy: function(library, c"hsa_executable_destroy")?,
                })
            }
        }

        /// A status in words.
        fn answer(&self, function: &'static str, status: Status) -> Answer {
            let mut text = ptr::null();
            // SAFETY: as declared in hsa.h: the text is the library's, ends in NUL and never goes away.
            let meaning = unsafe {
                match (self.status_string)(status, &mut text) {
                    SUCCESS if !text.is_null() => {
                        first_sentence(&CStr::from_ptr(text).to_string_lossy())
                    }
                    _ => "a status without a text".to_owned(),
                }
            };
            Answer {
                loads: Some(status == SUCCESS),
                function: Some(function),
                status: Some(status),
                meaning,
            }
        }
    }

    /// As much of a status's text as says what it is.
    fn first_sentence(text: &str) -> String {
        text.split_inclusive(". ").next().unwrap_or(text).trim_end_matches([' ', '.']).to_owned()
    }

    /// A function of a library.
    ///
    /// # Safety
    /// `library` is open, and `F` is a function pointer of the type that the function has.
    unsafe fn function<F: Copy>(library: *mut c_void, name: &CStr) -> Result<F, Answer> {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        // SAFETY: the caller promises that the library is open; the name ends in NUL.
        let symbol = unsafe { libc::dlsym(library, name.as_ptr()) };
        if symbol.is_null() {
            return Err(unasked(format!("the HSA runtime has no {}", name.to_string_lossy())));
        }
        // SAFETY: of one size, and the caller promises that it is such a function.
        Ok(unsafe { mem::transmute_copy::<*mut c_void, F>(&symbol) })
    }
}
