//! Tools: libraries of `HSA_TOOLS_LIB`, which see and may replace every call.

use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::Mutex;
use std::sync::atomic::Ordering::SeqCst;

use crate::api::table::{self, SLOTS};
use crate::log;
use crate::runtime::{self, Runtime};

/// A table: its version, and pointers to functions or to tables.
type Table = Vec<usize>;

/// `bool OnLoad(HsaApiTable*, uint64_t version, uint64_t count, const char* const* names)`.
type OnLoad = extern "C" fn(*mut usize, u64, u64, *const *const c_char) -> bool;
type OnUnload = extern "C" fn();

static UNLOAD: Mutex<Vec<OnUnload>> = Mutex::new(Vec::new());

/// The interface tables of one generation of ROCm.
struct Layout {
    /// Major numbers of the root, of each table, and the steps of both.
    major: [u32; 2],
    amd: &'static [&'static str],
    images: &'static [&'static str],
    amd_step: u32,
    has_pc_sampling: bool,
}

fn layout() -> Layout {
    // A tool that was built for ROCm 5 can be told from none but by its user.
    if std::env::var("HSACO_TOOLS_ABI").is_ok_and(|it| it == "5") {
        let images = table::IMAGE.get(..table::IMAGE_5).unwrap_or_default();
        return Layout {
            major: [1, 1],
            amd: table::AMD_5,
            images,
            amd_step: 0,
            has_pc_sampling: false,
        };
    }
    Layout {
        major: [3, 2],
        amd: table::AMD,
        images: table::IMAGE,
        amd_step: 5,
        has_pc_sampling: true,
    }
}

/// Two words of a table's version: major, size, step.
fn version(major: u32, words: usize, step: u32) -> [usize; 2] {
    let size = words * size_of::<usize>();
    [major as usize | size << 32, step as usize]
}

/// A table of the functions of these names.
fn functions(major: u32, step: u32, names: &[&str]) -> Table {
    let mut table = version(major, names.len() + 2, step).to_vec();
    table.extend(
        names.iter().map(|it| SLOTS.get(table::slot(it)).map_or(0, |it| it.load(SeqCst) as usize)),
    );
    table
}

/// Takes what a tool has put into a table.
fn take(table: &[usize], names: &[&str]) {
    for (name, function) in names.iter().zip(table.iter().skip(2)) {
        if let Some(slot) = SLOTS.get(table::slot(name)).filter(|_| *function != 0) {
            slot.store(*function as *mut (), SeqCst);
        }
    }
}

/// Loads the tools, and lets each see the tables as the one before has left them.
pub(crate) fn load(runtime: &Runtime) {
    let names: Vec<CString> =
        runtime.config.tools.iter().filter_map(|it| CString::new(it.as_str()).ok()).collect();
    for name in &names {
        if let Err(error) = load_one(name, &names) {
            log::line(&format!("HSA_TOOLS_LIB: {}: {error}", name.to_string_lossy()));
        }
    }
}

fn load_one(name: &CStr, all: &[CString]) -> Result<(), String> {
    // SAFETY: the name is a text of ours. What the library does when it is loaded is what the user asked for.
    let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
    if library.is_null() {
        return Err(last_error());
    }
    let Some(begin) = function(library, c"OnLoad") else {
        return Err("it has no OnLoad".to_owned());
    };
    // SAFETY: a tool's OnLoad has this type by the interface of tools.
    let begin: OnLoad = unsafe { std::mem::transmute::<*mut c_void, OnLoad>(begin) };
    let names: Vec<*const c_char> = all.iter().map(|it| it.as_ptr()).collect();
    let layout = layout();
    let [root, each] = layout.major;
    let mut tables = [
        functions(each, 0, table::CORE),
        functions(each, layout.amd_step, layout.amd),
        functions(each, 0, table::FINALIZER),
        functions(each, u32::from(root == 3), layout.images),
        // Events of tools: none is ever told.
        version(1, 8, 0).into_iter().chain([0; 6]).collect(),
        functions(1, 0, table::PC_SAMPLING),
    ];
    let count = if layout.has_pc_sampling { 6 } else { 4 };
    let mut main: Table = version(root, count + 2, u32::from(root == 3)).to_vec();
    main.extend(tables.iter_mut().take(count).map(|it| it.as_mut_ptr() as usize));
    if !begin(main.as_mut_ptr(), root.into(), names.len() as u64, names.as_ptr()) {
        return Err("it does not want to be loaded".to_owned());
    }
    let orders =
        [table::CORE, layout.amd, table::FINALIZER, layout.images, &[], table::PC_SAMPLING];
    for (table, names) in tables.iter().zip(orders).take(count) {
        take(table, names);
    }
    // Tools keep the tables, and may look at them at any time.
    std::mem::forget((main, tables));
    if let Some(end) = function(library, c"OnUnload") {
        // SAFETY: a tool's OnUnload has this type by the interface of tools.
        let end: OnUnload = unsafe { std::mem::transmute::<*mut c_void, OnUnload>(end) };
        runtime::lock(&UNLOAD).push(end);
    }
    Ok(())
}

fn function(library: *mut c_void, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the library is loaded, and the name is a text.
    let found = unsafe { libc::dlsym(library, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

fn last_error() -> String {
    // SAFETY: the text lives until the next call of the loader on this thread.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "it cannot be loaded".to_owned();
    }
    // SAFETY: as above, and it ends with a zero.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// Tells the tools that the runtime ends.
pub(crate) fn unload() {
    let ends: Vec<_> = runtime::lock(&UNLOAD).drain(..).collect();
    ends.iter().rev().for_each(|it| it());
}
