//! Tables as Arrow's C data interface has them, in capsules of Python: <https://arrow.apache.org/docs/format/CDataInterface.html>.
//!
//! What is handed over owns its memory, and has a function that frees it. The consumer that takes a structure out of a capsule marks the one
//! that is left as released, so that it is freed once.

use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr;

use hsaco_table::{CellValue, Column, ColumnType, Rows};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// `struct ArrowSchema`.
#[repr(C)]
struct Schema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut Schema,
    dictionary: *mut Schema,
    release: Option<unsafe extern "C" fn(*mut Schema)>,
    private_data: *mut c_void,
}

/// `struct ArrowArray`.
#[repr(C)]
struct Array {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut Array,
    dictionary: *mut Array,
    release: Option<unsafe extern "C" fn(*mut Array)>,
    private_data: *mut c_void,
}

/// `struct ArrowArrayStream`.
#[repr(C)]
struct Stream {
    get_schema: Option<unsafe extern "C" fn(*mut Stream, *mut Schema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut Stream, *mut Array) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut Stream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut Stream)>,
    private_data: *mut c_void,
}

// SAFETY: what the pointer leads to is owned, and has no tie to a thread.
unsafe impl Send for Stream {}

/// The values may be null.
const NULLABLE: i64 = 2;

/// What a schema owns.
struct SchemaParts {
    format: CString,
    name: CString,
    children: Vec<*mut Schema>,
}

/// What an array owns.
struct ArrayParts {
    buffers: Vec<*const c_void>,
    /// What the pointers lead to.
    _memory: Vec<Buffer>,
    children: Vec<*mut Array>,
}

/// A buffer, aligned for what it holds.
enum Buffer {
    Bytes(Vec<u8>),
    Words(Vec<u64>),
}

impl Buffer {
    fn address(&self) -> *const c_void {
        match self {
            Self::Bytes(it) => it.as_ptr().cast(),
            Self::Words(it) => it.as_ptr().cast(),
        }
    }
}

/// What a stream owns: rows that are still to be given.
struct StreamParts {
    columns: Vec<Column>,
    rows: Option<Rows>,
}

/// A capsule with a stream of one batch: all rows.
pub(crate) fn stream(py: Python<'_>, rows: Rows) -> PyResult<Bound<'_, PyCapsule>> {
    let parts = StreamParts { columns: rows.columns().to_vec(), rows: Some(rows) };
    let stream = Stream {
        get_schema: Some(get_schema),
        get_next: Some(get_next),
        get_last_error: Some(get_last_error),
        release: Some(release_stream),
        private_data: Box::into_raw(Box::new(parts)).cast(),
    };
    PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: it was not taken, so it is as `stream` made it.
            unsafe { release(self) }
        }
    }
}

unsafe extern "C" fn get_schema(stream: *mut Stream, out: *mut Schema) -> c_int {
    // SAFETY: callers give a stream that is not released, which owns parts, and memory for a schema.
    unsafe {
        let parts = &*(*stream).private_data.cast::<StreamParts>();
        let children = parts.columns.iter().map(|it| schema(format_of(it.ty), it.name, Vec::new()));
        let children = children.map(|it| Box::into_raw(Box::new(it))).collect();
        out.write(schema("+s", "", children));
    }
    0
}

unsafe extern "C" fn get_next(stream: *mut Stream, out: *mut Array) -> c_int {
    // SAFETY: callers give a stream that is not released, which owns parts, and memory for an array.
    unsafe {
        let parts = &mut *(*stream).private_data.cast::<StreamParts>();
        out.write(match parts.rows.take() {
            Some(rows) => batch(&rows),
            // An array that is released says that there are no more.
            None => Array { release: None, ..array(0, 0, Vec::new(), Vec::new()) },
        });
    }
    0
}

unsafe extern "C" fn get_last_error(_: *mut Stream) -> *const c_char {
    ptr::null()
}

unsafe extern "C" fn release_stream(stream: *mut Stream) {
    // SAFETY: a stream that is not released owns parts that `stream` boxed.
    unsafe {
        drop(Box::from_raw((*stream).private_data.cast::<StreamParts>()));
        (*stream).release = None;
    }
}

const fn format_of(ty: ColumnType) -> &'static str {
    match ty {
        ColumnType::Bool => "b",
        ColumnType::Number => "l",
        ColumnType::Address => "L",
        ColumnType::Text => "U",
    }
}

fn schema(format: &str, name: &str, children: Vec<*mut Schema>) -> Schema {
    let text = |it: &str| CString::new(it).unwrap_or_default();
    let mut parts = Box::new(SchemaParts { format: text(format), name: text(name), children });
    Schema {
        format: parts.format.as_ptr(),
        name: parts.name.as_ptr(),
        metadata: ptr::null(),
        flags: NULLABLE,
        n_children: long(parts.children.len()),
        children: parts.children.as_mut_ptr(),
        dictionary: ptr::null_mut(),
        release: Some(release_schema),
        private_data: Box::into_raw(parts).cast(),
    }
}

unsafe extern "C" fn release_schema(schema: *mut Schema) {
    // SAFETY: a schema that is not released owns parts that `schema` boxed, and so do those of its children that were not taken.
    unsafe {
        let parts = Box::from_raw((*schema).private_data.cast::<SchemaParts>());
        for child in parts.children {
            if let Some(release) = (*child).release {
                release(child);
            }
            drop(Box::from_raw(child));
        }
        (*schema).release = None;
    }
}

fn array(length: usize, nulls: usize, memory: Vec<Buffer>, children: Vec<*mut Array>) -> Array {
    let mut buffers: Vec<*const c_void> = memory.iter().map(Buffer::address).collect();
    if buffers.is_empty() {
        // A structure has one buffer, of which values are there; all are.
        buffers.push(ptr::null());
    }
    let mut parts = Box::new(ArrayParts { buffers, _memory: memory, children });
    Array {
        length: long(length),
        null_count: long(nulls),
        offset: 0,
        n_buffers: long(parts.buffers.len()),
        n_children: long(parts.children.len()),
        buffers: parts.buffers.as_mut_ptr(),
        children: parts.children.as_mut_ptr(),
        dictionary: ptr::null_mut(),
        release: Some(release_array),
        private_data: Box::into_raw(parts).cast(),
    }
}

unsafe extern "C" fn release_array(array: *mut Array) {
    // SAFETY: an array that is not released owns parts that `array` boxed, and so do those of its children that were not taken.
    unsafe {
        let parts = Box::from_raw((*array).private_data.cast::<ArrayParts>());
        for child in parts.children {
            if let Some(release) = (*child).release {
                release(child);
            }
            drop(Box::from_raw(child));
        }
        (*array).release = None;
    }
}

/// All rows as a structure of arrays.
fn batch(rows: &Rows) -> Array {
    let columns = 0..rows.columns().len();
    let children = columns.map(|at| Box::into_raw(Box::new(column(rows, at)))).collect();
    array(rows.len(), 0, Vec::new(), children)
}

/// One column: which values are there, and the values.
fn column(rows: &Rows, at: usize) -> Array {
    let ty = rows.columns().get(at).map_or(ColumnType::Text, |it| it.ty);
    let len = rows.len();
    let (mut there, mut bits) = (vec![0_u8; len.div_ceil(8)], vec![0_u8; len.div_ceil(8)]);
    let (mut words, mut text) = (Vec::with_capacity(len + 1), Vec::new());
    let mut nulls = 0;
    let set = |bits: &mut Vec<u8>, row: usize| {
        if let Some(byte) = bits.get_mut(row / 8) {
            *byte |= 1 << (row % 8);
        }
    };
    if ty == ColumnType::Text {
        words.push(0);
    }
    for row in 0..len {
        let value = match rows.get(row, at) {
            // No signed number is as large.
            CellValue::Number(it) if ty == ColumnType::Number && i64::try_from(it).is_err() => {
                CellValue::Null
            }
            value => value,
        };
        match &value {
            CellValue::Null => nulls += 1,
            _ => set(&mut there, row),
        }
        match (ty, value) {
            (ColumnType::Bool, CellValue::Bool(true)) => set(&mut bits, row),
            (ColumnType::Bool, _) => {}
            (ColumnType::Number | ColumnType::Address, CellValue::Number(it)) => words.push(it),
            (ColumnType::Number | ColumnType::Address, _) => words.push(0),
            (ColumnType::Text, value) => {
                if let CellValue::Text(it) = value {
                    text.extend_from_slice(it.as_bytes());
                }
                words.push(text.len() as u64);
            }
        }
    }
    let there = Buffer::Bytes(there);
    let memory = match ty {
        ColumnType::Bool => vec![there, Buffer::Bytes(bits)],
        ColumnType::Number | ColumnType::Address => vec![there, Buffer::Words(words)],
        ColumnType::Text => vec![there, Buffer::Words(words), Buffer::Bytes(text)],
    };
    array(len, nulls, memory, Vec::new())
}

fn long(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
