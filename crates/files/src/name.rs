//! Names of files that objects are written to, and of the places that they come from.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::Path;

use hsaco_container::uri::{Uri, UriRange};

use crate::error::{FileError, Result};

/// Text from a file, made fit to be part of a file's name on any system.
///
/// ```
/// assert_eq!(hsaco_files::file_name_part("gfx90a:sramecc+:xnack-"), "gfx90a_sramecc+_xnack-");
/// assert_eq!(hsaco_files::file_name_part("../a\\b\n"), ".._a_b_");
/// ```
#[must_use]
pub fn file_name_part(text: &str) -> String {
    const LONGEST: usize = 80;
    let fit = |c: char| if c.is_ascii_alphanumeric() || "+-._".contains(c) { c } else { '_' };
    text.chars().take(LONGEST).map(fit).collect()
}

/// The file's name without its last extension; with it, or a number, if others have that name.
///
/// ```
/// let mut taken = Default::default();
/// let mut stem = |name| hsaco_files::unique_stem(name, &mut taken);
/// assert_eq!([stem("a/lib.so"), stem("a/lib.dll")], ["lib", "lib.dll"]);
/// assert_eq!([stem("b/lib.so"), stem("c/lib.so")], ["lib.so", "lib.so-2"]);
/// assert_eq!([stem("-"), stem(".."), stem("file:///x/y%20z.so#offset=0&size=1")], ["stdin", "file", "y z"]);
/// ```
pub fn unique_stem(name: &str, taken: &mut HashSet<String>) -> String {
    let path = match Uri::parse(name) {
        Ok(Uri::File { path, .. }) => String::from_utf8_lossy(&path).into_owned(),
        _ if name == "-" => "stdin".to_owned(),
        _ => name.to_owned(),
    };
    let part =
        |part: Option<&OsStr>| part.unwrap_or(OsStr::new("file")).to_string_lossy().into_owned();
    let (stem, full) = (part(Path::new(&path).file_stem()), part(Path::new(&path).file_name()));
    let numbered = (2..).map(|number| format!("{full}-{number}"));
    let free = [stem, full.clone()].into_iter().chain(numbered).find(|it| !taken.contains(it));
    let free = free.unwrap_or(full);
    taken.insert(free.clone());
    free
}

/// Where an object of a file is, as loaders and debuggers write it.
///
/// ```
/// let uri = hsaco_files::object_uri("file:///a#offset=100&size=50", 8, 4)?;
/// assert_eq!(uri.to_string(), "file:///a#offset=108&size=4");
/// assert!(hsaco_files::object_uri("-", 0, 1).is_err());
/// # Ok::<(), hsaco_files::FileError>(())
/// ```
///
/// # Errors
/// For standard input, and when the current directory is not known.
pub fn object_uri(name: &str, offset: u64, size: u64) -> Result<Uri> {
    let (path, base) = match Uri::parse(name) {
        Ok(Uri::File { path, range }) => (path, range.map_or(0, |it| it.offset)),
        _ if name == "-" => return Err(FileError::new("standard input has no URI: name a file")),
        _ => {
            let path = std::path::absolute(name).map_err(|it| FileError::from(it).named(name))?;
            (path.into_os_string().into_encoded_bytes(), 0)
        }
    };
    let range = UriRange { offset: base.saturating_add(offset), size };
    Ok(Uri::File { path, range: Some(range) })
}
