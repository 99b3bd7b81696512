//! Which key of a metadata document stands at an offset.

use crate::msgpack::{Head, Reader};

/// The keys that lead to what stands at `offset` of a file, for a document that begins at `base`: as far as the
/// document can be read, which need not be all of it. Where a root key cannot be read, it is the one before: what is
/// wrong begins there. Nothing where the offset is the root's own.
///
/// ```
/// use hsaco_object::metadata::path_at;
/// let document = b"\x81\xaeamdhsa.kernels\x92\x80\x81\xa5.name\xa3foo";
/// assert_eq!(path_at(document, 0x100, 0x100 + 26).as_deref(), Some("amdhsa.kernels[1].name"));
/// ```
#[must_use]
pub fn path_at(document: &[u8], base: u64, offset: u64) -> Option<String> {
    let mut path = String::new();
    walk(&mut Reader::new(document, base), offset, &mut path, 0);
    // Of a root that is no map, no key leads to anything.
    Some(path).filter(|path| !path.is_empty() && !path.starts_with('['))
}

/// Deeper than any metadata.
const MAX_DEPTH: usize = 16;

/// Follows the value that holds the offset, or that cannot be read.
fn walk(reader: &mut Reader<'_>, offset: u64, path: &mut String, depth: usize) {
    let head = if depth < MAX_DEPTH { reader.head() } else { return };
    let (count, is_map) = match head {
        Ok(Head::Map(count)) => (count, true),
        Ok(Head::Array(count)) => (count, false),
        _ => return,
    };
    let mut before = String::new();
    for number in 0..count {
        let known = path.len();
        if is_map {
            let start = reader.offset();
            let Ok(key) = reader.key() else { return path.push_str(&before) };
            if start >= offset {
                return;
            }
            let key = key.to_string();
            let dot = if path.is_empty() || key.starts_with('.') { "" } else { "." };
            path.push_str(dot);
            path.push_str(&key);
        } else {
            path.push_str(&format!("[{number}]"));
        }
        let mut value = *reader;
        if reader.skip().is_err() || reader.offset() > offset {
            return walk(&mut value, offset, path, depth + 1);
        }
        if depth == 0 {
            before.clone_from(path);
        }
        path.truncate(known);
    }
}
