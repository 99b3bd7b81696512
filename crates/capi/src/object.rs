//! Code objects of a database.

use std::ffi::c_char;
use std::sync::{Arc, OnceLock};

use hsaco::db;
use hsaco::listing::{Lister, ListingOptions, ListingPlan, Selection, TextStyle};
use hsaco::object::CodeObject;

use crate::border::{Out, Row, row_at};
use crate::buffer::Buffer;
use crate::demangle::demangled;
use crate::error::{Failure, Status, border};
use crate::handle::{self, Handle};
use crate::kernel::Kernel;
use crate::problem::Problem;

/// A code object; hsaco_object_free takes it back. All functions may be called from any thread.
pub struct Object {
    object: Arc<db::Object>,
    info: Row<ObjectInfo>,
    functions: OnceLock<Vec<Row<DeviceFunction>>>,
    problems: Vec<Row<Problem>>,
}

impl Handle for Object {
    const NAME: &'static str = "object";
}

/// What a code object is.
#[repr(C)]
#[derive(Debug)]
pub struct ObjectInfo {
    /// The name under which its file was added.
    pub file: *const c_char,
    /// Which object of the file it is, from 0.
    pub number: usize,
    /// Its target, such as "gfx90a:xnack-".
    pub target: *const c_char,
    /// The id of its entry in a bundle; null if it is in none.
    pub entry_id: *const c_char,
    /// How many kernels of it are in the database.
    pub kernel_count: usize,
    /// How many device functions it has.
    pub function_count: usize,
    /// How many problems its tables have.
    pub problem_count: usize,
}

/// Code that kernels call: a symbol names it, and no descriptor describes it.
#[repr(C)]
#[derive(Debug)]
pub struct DeviceFunction {
    /// Its mangled name.
    pub name: *const c_char,
    /// Its name as people read it.
    pub demangled: *const c_char,
    /// Where it starts.
    pub address: u64,
    /// How many bytes it has, as its symbol says.
    pub size: u64,
}

impl Object {
    /// A handle of an object.
    pub(crate) fn handle(object: Arc<db::Object>) -> *mut Self {
        let info = Row::new(|texts| ObjectInfo {
            file: texts.keep(object.file()),
            number: object.number(),
            target: texts.keep(object.target()),
            entry_id: texts.keep_some(object.entry_id()),
            kernel_count: object.kernel_count(),
            function_count: object.functions().len(),
            problem_count: object.problems().len(),
        });
        let problems = object.problems().iter().map(|it| Problem::of(object.file(), it)).collect();
        handle::new(Self { object, info, functions: OnceLock::new(), problems })
    }

    fn functions(&self) -> &[Row<DeviceFunction>] {
        let row = |it: &db::DeviceFunction| {
            Row::new(|texts| DeviceFunction {
                name: texts.keep(&it.name),
                demangled: texts.keep(&demangled(&it.name)),
                address: it.address,
                size: it.size,
            })
        };
        self.functions.get_or_init(|| self.object.functions().iter().map(row).collect())
    }
}

/// The object that a kernel is in. hsaco_object_free takes it back.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_kernel_object(
    kernel: *const Kernel,
    object: *mut *mut Object,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::handle(object, "object") }?;
        out.set(Object::handle(Arc::clone(handle::get(kernel)?.kernel.object())));
        Ok(())
    })
}

/// What an object is. It lives as long as the handle.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_object_get_info(
    object: *const Object,
    info: *mut *const ObjectInfo,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::row(info, "info") }?;
        out.set(handle::get(object)?.info.as_ptr());
        Ok(())
    })
}

/// The bytes of an object, an ELF file. hsaco_buffer_free takes them back.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_object_data(
    object: *const Object,
    data: *mut *mut Buffer,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::handle(data, "data") }?;
        let object = handle::get(object)?;
        out.set(Buffer::handle(object.object.data()?.into_owned()));
        Ok(())
    })
}

/// The code of an object as text, to the byte as `llvm-objdump -d` of LLVM 22 prints it. hsaco_buffer_free takes it back.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_object_disassembly(
    object: *const Object,
    text: *mut *mut Buffer,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::handle(text, "text") }?;
        let object = handle::get(object)?;
        let data = object.object.data()?;
        let (parsed, lister) = (CodeObject::parse(&data)?, Lister::new(ListingOptions::default()));
        let plan = ListingPlan::new(&parsed, &lister, &Selection::default(), &mut Vec::new());
        let unknown = || Failure::new(Status::Unsupported, "instructions of an unknown processor");
        let style = TextStyle { leading_addresses: true, color: false };
        let text = plan.ok_or_else(unknown)?.to_text(object.object.file(), style);
        out.set(Buffer::handle(text));
        Ok(())
    })
}

/// The kernel of that number; HSACO_STATUS_NOT_FOUND behind the last. hsaco_kernel_free takes it back.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_object_kernel(
    object: *const Object,
    index: usize,
    kernel: *mut *mut Kernel,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::handle(kernel, "kernel") }?;
        let object = handle::get(object)?;
        let count = object.object.kernel_count();
        let kernel = object.object.kernel(index);
        let kernel = kernel.ok_or_else(|| Failure::index("kernel", index, count))?;
        out.set(Kernel::handle(kernel));
        Ok(())
    })
}

/// The device function of that number; HSACO_STATUS_NOT_FOUND behind the last. It lives as long as the handle.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_object_function(
    object: *const Object,
    index: usize,
    function: *mut *const DeviceFunction,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::row(function, "function") }?;
        out.set(row_at(handle::get(object)?.functions(), index, "device function")?);
        Ok(())
    })
}

/// What is wrong with the tables of an object; HSACO_STATUS_NOT_FOUND behind the last. It lives as long as the handle.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_object_problem(
    object: *const Object,
    index: usize,
    problem: *mut *const Problem,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::row(problem, "problem") }?;
        out.set(row_at(&handle::get(object)?.problems, index, "problem")?);
        Ok(())
    })
}

/// Takes an object back; null is fine.
#[unsafe(no_mangle)]
pub extern "C" fn hsaco_object_free(object: *mut Object) -> Status {
    handle::free(object)
}
