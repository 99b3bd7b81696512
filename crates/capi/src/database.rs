//! Databases: the kernels of many files, indexed by name and decoded when they are asked for.

use std::ffi::{CString, OsString, c_char, c_int, c_void};
use std::ptr;
use std::sync::{Mutex, PoisonError};

use hsaco::bytes::{Error, ErrorKind, Str};
use hsaco::db::{self, Content, Data, Wanted, Which};
use hsaco_files::input::stored_inputs;

use crate::border::{Out, Row, Versioned, optional_text, sized, text};
use crate::error::{Failure, Result, Status, border, c_string};
use crate::handle::{self, Handle};
use crate::kernel::Kernel;
use crate::object::Object;
use crate::problem::Problem;

/// The kernels of many files; hsaco_database_free takes it back. All functions may be called from any thread.
pub struct Database {
    kernels: db::Database,
    /// Boxed, so that they stay where they are while more are added.
    #[allow(clippy::vec_box, reason = "callers have pointers to them")]
    problems: Mutex<Vec<Box<Row<Problem>>>>,
}

impl Handle for Database {
    const NAME: &'static str = "database";
}

/// Says whether a kernel is wanted, by its mangled name; 0 if not.
pub type KernelFilter =
    Option<unsafe extern "C" fn(name: *const c_char, data: *mut c_void) -> c_int>;

/// Which objects and kernels of a file are added. Set everything to 0 and `size` to sizeof(hsaco_selection).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Selection {
    /// sizeof(hsaco_selection).
    pub size: usize,
    /// Only objects of this target, such as "gfx942"; features that it does not name may be anything. Null for any.
    pub target: *const c_char,
    /// Only objects that this device runs, of each bundle those that fit it most closely. Null for any; excludes `target`.
    pub device: *const c_char,
    /// Only kernels for which this gives not 0; null for all. It is called while the file is added, on the same thread.
    pub filter: KernelFilter,
    /// Handed to `filter`.
    pub data: *mut c_void,
}

// SAFETY: pointers, and a function pointer that may be null; it begins with its size.
unsafe impl Versioned for Selection {
    const NAME: &'static str = "selection";
}

/// What was decoded of a database so far.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct DatabaseCounts {
    /// Objects.
    pub objects: u64,
    /// Kernels.
    pub kernels: u64,
    /// Kernels whose instructions were decoded.
    pub decoded_kernels: u64,
    /// Instructions that were decoded.
    pub decoded_instructions: u64,
    /// Bytes of code that were decoded.
    pub decoded_bytes: u64,
}

/// Called with each range of code: its object, which the callback must free, its first address and the one behind it.
/// Anything but 0 ends the iteration.
pub type CodeRangeCallback = Option<
    unsafe extern "C" fn(object: *mut Object, start: u64, end: u64, data: *mut c_void) -> c_int,
>;

/// Makes an empty database.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_database_create(database: *mut *mut Database) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let database = unsafe { Out::handle(database, "database") }?;
        let made = Database { kernels: db::Database::new(), problems: Mutex::default() };
        database.set(handle::new(made));
        Ok(())
    })
}

/// Takes a database back; null is fine. Objects and kernels that came from it stay.
#[unsafe(no_mangle)]
pub extern "C" fn hsaco_database_free(database: *mut Database) -> Status {
    handle::free(database)
}

/// Adds the code objects of a file, or of all files of a directory: code objects, bundles, libraries, archives, judged
/// by content. Nothing is decoded, and of a file only what is asked for is read. `selection` may be null. `added` is
/// null or becomes the number of objects.
///
/// What is there already is not added again. Something that cannot be read beside objects that can is no failure:
/// hsaco_database_problem tells it.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_database_add_file(
    database: *mut Database,
    path: *const c_char,
    selection: *const Selection,
    added: *mut usize,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let (added, path, selection) =
            unsafe { (Out::optional(added, 0), path_of(path)?, Chosen::new(selection)?) };
        let database = handle::get(database)?;
        let place = path.to_string_lossy().into_owned();
        let mut brought = Brought::default();
        for input in stored_inputs(&[path]) {
            match input {
                Ok(input) => {
                    let (name, found) = (input.name, input.found);
                    brought.take(&name, found, database.add(&name, input.content, &selection));
                }
                Err(unopened) => brought.unopened(unopened),
            }
        }
        added.set(database.settle(brought, &place)?);
        Ok(())
    })
}

/// Adds the code objects of bytes, which are copied; `name` is what messages call them. The rest is as for
/// hsaco_database_add_file.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_database_add_bytes(
    database: *mut Database,
    name: *const c_char,
    bytes: *const u8,
    size: usize,
    selection: *const Selection,
    added: *mut usize,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let (added, name, bytes, selection) = unsafe {
            let added = Out::optional(added, 0);
            let bytes = crate::border::bytes(bytes, size, "bytes")?;
            (added, text(name, "name")?, bytes, Chosen::new(selection)?)
        };
        let database = handle::get(database)?;
        let mut brought = Brought::default();
        let content = Data::new(bytes.to_vec()).into();
        brought.take(name, false, database.add(name, content, &selection));
        added.set(database.settle(brought, name)?);
        Ok(())
    })
}

/// How much is in a database, and how much of it was decoded so far.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_database_get_counts(
    database: *const Database,
    counts: *mut DatabaseCounts,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let counts = unsafe { Out::new(counts, "counts", DatabaseCounts::default()) }?;
        let database = handle::get(database)?;
        let (objects, decoded) = (database.kernels.objects(), database.kernels.counts());
        counts.set(DatabaseCounts {
            objects: objects.len() as u64,
            kernels: objects.iter().map(|it| it.kernel_count() as u64).sum(),
            decoded_kernels: decoded.decoded_kernels,
            decoded_instructions: decoded.decoded_instructions,
            decoded_bytes: decoded.decoded_bytes,
        });
        Ok(())
    })
}

/// The object of that number, in the order in which they were added; HSACO_STATUS_NOT_FOUND behind the last.
/// hsaco_object_free takes it back.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_database_object(
    database: *const Database,
    index: usize,
    object: *mut *mut Object,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::handle(object, "object") }?;
        let objects = handle::get(database)?.kernels.objects();
        let object = objects.get(index).cloned();
        let object = object.ok_or_else(|| Failure::index("object", index, objects.len()))?;
        out.set(Object::handle(object));
        Ok(())
    })
}

/// The kernel of that number, in the order in which they were added; HSACO_STATUS_NOT_FOUND behind the last.
/// hsaco_kernel_free takes it back.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_database_kernel_at(
    database: *const Database,
    index: usize,
    kernel: *mut *mut Kernel,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::handle(kernel, "kernel") }?;
        let mut before = 0;
        for object in handle::get(database)?.kernels.objects() {
            if let Some(kernel) = object.kernel(index - before) {
                out.set(Kernel::handle(kernel));
                return Ok(());
            }
            before += object.kernel_count();
        }
        Err(Failure::index("kernel", index, before))
    })
}

/// The only kernel of a name: mangled or readable, with or without ".kd". `target` and `device` choose between objects as
/// a hsaco_selection does; of several a device takes the closest. Both may be null, one must be.
///
/// HSACO_STATUS_NOT_FOUND if there is none, HSACO_STATUS_AMBIGUOUS if there are several. hsaco_kernel_free takes it back.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_database_kernel(
    database: *const Database,
    name: *const c_char,
    target: *const c_char,
    device: *const c_char,
    kernel: *mut *mut Kernel,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let (out, name, wanted) = unsafe {
            (Out::handle(kernel, "kernel")?, text(name, "name")?, wanted(target, device)?)
        };
        let found = handle::get(database)?.kernels.kernel_for(name, wanted)?;
        out.set(Kernel::handle(found));
        Ok(())
    })
}

/// One of the kernels of a name, of which there may be several: for other targets, in other files.
/// HSACO_STATUS_NOT_FOUND behind the last. hsaco_kernel_free takes it back.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_database_kernel_named(
    database: *const Database,
    name: *const c_char,
    index: usize,
    kernel: *mut *mut Kernel,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let (out, name) = unsafe { (Out::handle(kernel, "kernel")?, text(name, "name")?) };
        let mut found = handle::get(database)?.kernels.kernels_named(name);
        if index >= found.len() {
            let reason = format!("there are {} kernels `{name}`, and no {index}", found.len());
            return Err(Failure::new(Status::NotFound, reason));
        }
        out.set(Kernel::handle(found.swap_remove(index)));
        Ok(())
    })
}

/// Calls back with the code of a source line, in every object that says where its code comes from: a path matches if it
/// ends in `file`. A column of 0 is any. Objects without debug information have no such code.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_database_code_of_line(
    database: *const Database,
    file: *const c_char,
    line: u32,
    column: u32,
    callback: CodeRangeCallback,
    data: *mut c_void,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let file = unsafe { text(file, "file") }?;
        let callback = callback.ok_or_else(|| Failure::argument("callback is null"))?;
        let column = Some(column).filter(|it| *it != 0);
        let found = handle::get(database)?.kernels.code_of_line(file, line, column)?;
        for (object, range) in found {
            // SAFETY: as this function asks of its caller.
            let ended = unsafe { callback(Object::handle(object), range.start, range.end, data) };
            if ended != 0 {
                return Err(Failure::new(Status::Stopped, "the callback ended it"));
            }
        }
        Ok(())
    })
}

/// What could not be read of the files that were added; HSACO_STATUS_NOT_FOUND behind the last. It lives as long as the
/// database.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_database_problem(
    database: *const Database,
    index: usize,
    problem: *mut *const Problem,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::row(problem, "problem") }?;
        let database = handle::get(database)?;
        let problems = database.problems.lock().unwrap_or_else(PoisonError::into_inner);
        let count = problems.len();
        let found = problems.get(index).ok_or_else(|| Failure::index("problem", index, count))?;
        out.set(found.as_ptr());
        Ok(())
    })
}

impl Database {
    fn add(
        &self,
        name: &str,
        content: Content,
        chosen: &Chosen,
    ) -> std::result::Result<db::Added, Error> {
        let is_wanted = |name: Str<'_>| chosen.is_wanted(name);
        let kernels = chosen.filter.is_some().then_some(&is_wanted as &dyn Fn(Str<'_>) -> bool);
        self.kernels.add_some(name, content, &Which { objects: chosen.objects, kernels })
    }

    /// Keeps the problems; where they are all there is, the first is why it failed.
    fn settle(&self, brought: Brought, place: &str) -> Result<usize> {
        if brought.objects == 0 {
            let nothing = || Error::new(ErrorKind::NotFound, "file", "it holds no AMD GPU code");
            let passed_over = brought.passed_over;
            let nothing = || Failure::from(passed_over.unwrap_or_else(nothing)).within(place);
            return Err(brought.failure.unwrap_or_else(nothing));
        }
        let mut problems = self.problems.lock().unwrap_or_else(PoisonError::into_inner);
        problems.extend(brought.problems.into_iter().map(Box::new));
        Ok(brought.objects)
    }
}

/// What adding brought.
#[derive(Default)]
struct Brought {
    objects: usize,
    problems: Vec<Row<Problem>>,
    /// The first of the problems.
    failure: Option<Failure>,
    /// Why a file of a directory brought nothing.
    passed_over: Option<Error>,
}

impl Brought {
    fn take(&mut self, file: &str, found: bool, result: std::result::Result<db::Added, Error>) {
        match result {
            Ok(added) => {
                self.objects += added.objects.len();
                added.problems.iter().for_each(|it| self.problem(file, it));
            }
            // Of a directory whatever holds no GPU code is not asked for.
            Err(error)
                if found
                    && matches!(error.kind(), ErrorKind::NotRecognised | ErrorKind::NotFound) =>
            {
                self.passed_over.get_or_insert(error);
            }
            Err(error) => self.problem(file, &error),
        }
    }

    fn problem(&mut self, file: &str, error: &Error) {
        self.problems.push(Problem::of(file, error));
        self.failure.get_or_insert_with(|| Failure::from(error.clone()).within(file));
    }

    fn unopened(&mut self, unopened: hsaco_files::input::Unopened) {
        let message = unopened.error.to_string();
        self.problems.push(Problem::row(&unopened.name, &message, None, Status::Io));
        self.failure.get_or_insert_with(|| unopened.into());
    }
}

/// A selection, read.
struct Chosen {
    objects: Wanted,
    filter: KernelFilter,
    data: *mut c_void,
}

impl Chosen {
    /// # Safety
    /// `selection` is null or points to a selection.
    unsafe fn new(selection: *const Selection) -> Result<Self> {
        // SAFETY: as this function asks.
        let Some(given) = unsafe { sized(selection) }? else {
            return Ok(Self { objects: Wanted::All, filter: None, data: ptr::null_mut() });
        };
        // SAFETY: as above.
        let objects = unsafe { wanted(given.target, given.device) }?;
        Ok(Self { objects, filter: given.filter, data: given.data })
    }

    fn is_wanted(&self, name: Str<'_>) -> bool {
        let name: CString = c_string(&name.to_str_lossy());
        // SAFETY: the caller's function, with the data that it wants.
        self.filter.is_none_or(|filter| unsafe { filter(name.as_ptr(), self.data) } != 0)
    }
}

/// Which objects are wanted: those of a target, those that a device runs, or all.
///
/// # Safety
/// Both are null or text.
unsafe fn wanted(target: *const c_char, device: *const c_char) -> Result<Wanted> {
    // SAFETY: as this function asks.
    let both = unsafe { (optional_text(target, "target")?, optional_text(device, "device")?) };
    let parse =
        |what: &str, text: &str| text.parse().map_err(|error| Failure::target(what, text, &error));
    match both {
        (None, None) => Ok(Wanted::All),
        (Some(target), None) => parse("target", target).map(Wanted::Target),
        (None, Some(device)) => parse("device", device).map(Wanted::Device),
        (Some(_), Some(_)) => Err(Failure::argument("target and device exclude each other")),
    }
}

/// A path, which need not be UTF-8.
///
/// # Safety
/// `path` is null or text.
unsafe fn path_of(path: *const c_char) -> Result<OsString> {
    if path.is_null() {
        return Err(Failure::argument("path is null"));
    }
    // SAFETY: not null, and the caller promises the rest.
    let bytes = unsafe { std::ffi::CStr::from_ptr(path) }.to_bytes();
    // What the command takes for standard input is a file here.
    let bytes = if bytes == b"-" { b"./-" } else { bytes };
    os_string(bytes)
}

#[cfg(unix)]
#[allow(clippy::unnecessary_wraps, reason = "elsewhere it may fail")]
fn os_string(bytes: &[u8]) -> Result<OsString> {
    Ok(std::os::unix::ffi::OsStringExt::from_vec(bytes.to_vec()))
}

#[cfg(not(unix))]
fn os_string(bytes: &[u8]) -> Result<OsString> {
    let text = std::str::from_utf8(bytes);
    text.map(OsString::from)
        .map_err(|error| Failure::argument(format!("path is no UTF-8: {error}")))
}
