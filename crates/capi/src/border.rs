//! What crosses the border: text, bytes, structures and places for answers that callers hand over, rows that they get.
//!
//! The functions that take pointers ask of their callers what the head of `hsaco.h` asks of C's.

use std::ffi::{CStr, CString, c_char};
use std::sync::OnceLock;
use std::{mem, ptr, slice};

use crate::error::{Failure, Result, c_string};

/// A number that is not known.
pub const UNKNOWN: u64 = u64::MAX;

/// Text of the caller.
///
/// # Safety
/// `text` is null, or points to bytes that end in NUL and do not change for as long as the result is used.
pub(crate) unsafe fn text<'t>(text: *const c_char, what: &str) -> Result<&'t str> {
    // SAFETY: as this function asks.
    unsafe { optional_text(text, what) }?
        .ok_or_else(|| Failure::argument(format!("{what} is null")))
}

/// Text of the caller, or null for none.
///
/// # Safety
/// As that of [`text`].
pub(crate) unsafe fn optional_text<'t>(text: *const c_char, what: &str) -> Result<Option<&'t str>> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: not null, and the caller promises the rest.
    let text = unsafe { CStr::from_ptr(text) };
    let no_text = |error| Failure::argument(format!("{what} is no UTF-8: {error}"));
    text.to_str().map(Some).map_err(no_text)
}

/// Bytes of the caller; a null pointer is no bytes if the size says so too.
///
/// # Safety
/// `bytes` points to `size` bytes that do not change for as long as the result is used, or is null.
pub(crate) unsafe fn bytes<'b>(bytes: *const u8, size: usize, what: &str) -> Result<&'b [u8]> {
    // SAFETY: as this function asks; bytes are aligned.
    unsafe { list(bytes, size, what) }
}

/// Bytes of the caller to write to.
///
/// # Safety
/// `bytes` points to `size` bytes that nothing else uses for as long as the result is, or is null.
pub(crate) unsafe fn bytes_mut<'b>(
    bytes: *mut u8,
    size: usize,
    what: &str,
) -> Result<&'b mut [u8]> {
    // SAFETY: checks only.
    if unsafe { list::<u8>(bytes, size, what) }?.is_empty() {
        return Ok(&mut []);
    }
    // SAFETY: not null and not too large, and the caller promises the rest.
    Ok(unsafe { slice::from_raw_parts_mut(bytes, size) })
}

/// A list of the caller; a null pointer is none if the count says so too.
///
/// # Safety
/// `items` points to `count` items that do not change for as long as the result is used, or is null.
pub(crate) unsafe fn list<'i, T>(items: *const T, count: usize, what: &str) -> Result<&'i [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    if items.is_null() {
        return Err(Failure::argument(format!("{what} is null, and there are {count}")));
    }
    if !items.is_aligned() {
        return Err(Failure::argument(format!("{what} is not aligned")));
    }
    if count.checked_mul(mem::size_of::<T>()).is_none_or(|it| isize::try_from(it).is_err()) {
        return Err(Failure::argument(format!("{what}: {count} are more than there can be")));
    }
    // SAFETY: not null, aligned, no larger than anything can be, and the caller promises the rest.
    Ok(unsafe { slice::from_raw_parts(items, count) })
}

/// A list of texts of the caller.
///
/// # Safety
/// As those of [`list`] and [`text`].
pub(crate) unsafe fn texts<'t>(
    items: *const *const c_char,
    count: usize,
    what: &str,
) -> Result<Vec<&'t str>> {
    // SAFETY: as this function asks.
    let items = unsafe { list(items, count, what) }?;
    // SAFETY: as above.
    items.iter().map(|it| unsafe { text(*it, what) }).collect()
}

/// A structure of the caller that begins with its size, so that later versions of it can have more members.
///
/// # Safety
/// Any bytes are a value of it, and it begins with its size as a `usize`.
pub(crate) unsafe trait Versioned: Copy {
    /// What messages call it.
    const NAME: &'static str;
}

/// Such a structure, or null for none; members that the caller's version has not are zero.
///
/// # Safety
/// `value` is null or points to as many bytes as the size says that it begins with.
pub(crate) unsafe fn sized<T: Versioned>(value: *const T) -> Result<Option<T>> {
    if value.is_null() {
        return Ok(None);
    }
    // SAFETY: not null, and the caller promises a size.
    let size = unsafe { ptr::read_unaligned(value.cast::<usize>()) };
    let known = mem::size_of::<T>();
    if !(mem::size_of::<usize>()..=known).contains(&size) {
        let reason = format!("{} says that it has {size} bytes, and it has {known}", T::NAME);
        return Err(Failure::argument(reason));
    }
    let mut copy = mem::MaybeUninit::<T>::zeroed();
    // SAFETY: as many bytes as the caller says, which are no more than there is room for; any bytes are a value.
    unsafe {
        ptr::copy_nonoverlapping(value.cast::<u8>(), copy.as_mut_ptr().cast::<u8>(), size);
        Ok(Some(copy.assume_init()))
    }
}

/// Such a structure that there must be.
///
/// # Safety
/// As that of [`sized`].
pub(crate) unsafe fn sized_given<T: Versioned>(value: *const T) -> Result<T> {
    // SAFETY: as this function asks.
    unsafe { sized(value) }?.ok_or_else(|| Failure::argument(format!("{} is null", T::NAME)))
}

/// A place of the caller for an answer: filled in with nothing, until there is an answer.
pub(crate) struct Out<T>(*mut T);

impl<T> Out<T> {
    /// A place that there must be.
    ///
    /// # Safety
    /// `place` is null or a place for such a value that is there until this is dropped.
    pub(crate) unsafe fn new(place: *mut T, what: &str, nothing: T) -> Result<Self> {
        if place.is_null() {
            return Err(Failure::argument(format!("{what} is null")));
        }
        // SAFETY: as this function asks.
        Ok(unsafe { Self::optional(place, nothing) })
    }

    /// A place that there need not be.
    ///
    /// # Safety
    /// As that of [`new`](Self::new).
    pub(crate) unsafe fn optional(place: *mut T, nothing: T) -> Self {
        let out = Self(place);
        out.set(nothing);
        out
    }

    /// Answers.
    pub(crate) fn set(&self, value: T) {
        if !self.0.is_null() {
            // SAFETY: a place for such a value, as was asked of the caller that made this.
            unsafe { ptr::write_unaligned(self.0, value) };
        }
    }
}

impl<T> Out<*mut T> {
    /// A place for a handle.
    ///
    /// # Safety
    /// As that of [`new`](Self::new).
    pub(crate) unsafe fn handle(place: *mut *mut T, what: &str) -> Result<Self> {
        // SAFETY: as this function asks.
        unsafe { Self::new(place, what, ptr::null_mut()) }
    }
}

impl<T> Out<*const T> {
    /// A place for a row.
    ///
    /// # Safety
    /// As that of [`new`](Self::new).
    pub(crate) unsafe fn row(place: *mut *const T, what: &str) -> Result<Self> {
        // SAFETY: as this function asks.
        unsafe { Self::new(place, what, ptr::null()) }
    }
}

/// A structure for C, with the text that it points to.
pub(crate) struct Row<T> {
    value: T,
    _texts: Texts,
}

// SAFETY: a row points to what it owns, and neither changes once it is made.
unsafe impl<T> Send for Row<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Row<T> {}

impl<T> Row<T> {
    /// Makes a row; what it is to point to is kept in the texts.
    pub(crate) fn new(make: impl FnOnce(&mut Texts) -> T) -> Self {
        let mut texts = Texts::default();
        Self { value: make(&mut texts), _texts: texts }
    }

    /// The row.
    pub(crate) fn get(&self) -> &T {
        &self.value
    }

    /// For C, for as long as the row is where it is.
    pub(crate) fn as_ptr(&self) -> *const T {
        &raw const self.value
    }
}

/// What a row points to.
#[derive(Default)]
pub(crate) struct Texts {
    strings: Vec<CString>,
    kept: Vec<Box<dyn std::any::Any>>,
}

impl Texts {
    /// Text.
    pub(crate) fn keep(&mut self, text: &str) -> *const c_char {
        let text = c_string(text);
        let start = text.as_ptr();
        self.strings.push(text);
        start
    }

    /// Text, or null.
    pub(crate) fn keep_some(&mut self, text: Option<&str>) -> *const c_char {
        text.map_or(ptr::null(), |it| self.keep(it))
    }

    /// A list of texts, and its length.
    pub(crate) fn list<'t>(
        &mut self,
        texts: impl IntoIterator<Item = &'t str>,
    ) -> (*const *const c_char, usize) {
        let texts: Vec<_> = texts.into_iter().map(|it| self.keep(it)).collect();
        self.items(texts)
    }

    /// A list, and its length; null if there is nothing in it.
    pub(crate) fn items<T: 'static>(&mut self, items: Vec<T>) -> (*const T, usize) {
        if items.is_empty() {
            return (ptr::null(), 0);
        }
        let items = items.into_boxed_slice();
        let all = (items.as_ptr(), items.len());
        self.kept.push(Box::new(items));
        all
    }

    /// One thing that others point to.
    pub(crate) fn item<T: 'static>(&mut self, item: T) -> *const T {
        let item = Box::new(item);
        let place = &raw const *item;
        self.kept.push(item);
        place
    }
}

/// What a cell holds, worked out the first time; a failure is not kept.
pub(crate) fn cached<T>(cell: &OnceLock<T>, make: impl FnOnce() -> Result<T>) -> Result<&T> {
    match cell.get() {
        Some(value) => Ok(value),
        None => {
            let made = make()?;
            Ok(cell.get_or_init(|| made))
        }
    }
}

/// The row of that number.
pub(crate) fn row_at<T>(rows: &[Row<T>], index: usize, what: &str) -> Result<*const T> {
    let row = rows.get(index).ok_or_else(|| Failure::index(what, index, rows.len()))?;
    Ok(row.as_ptr())
}

/// The text of that number.
pub(crate) fn text_at(texts: &[CString], index: usize, what: &str) -> Result<*const c_char> {
    let text = texts.get(index).ok_or_else(|| Failure::index(what, index, texts.len()))?;
    Ok(text.as_ptr())
}
