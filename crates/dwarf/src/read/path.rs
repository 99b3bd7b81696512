//! Paths of source files, put together as LLVM does.

/// A file's path from the unit's folder, the entry's folder and its name; each may be absolute.
pub(super) fn join(unit_folder: &str, folder: &str, name: &str) -> String {
    let mut path = String::new();
    for part in [unit_folder, folder, name] {
        if is_absolute(part) {
            path.clear();
        } else if !path.is_empty() && !path.ends_with('/') && !part.is_empty() {
            path.push('/');
        }
        path.push_str(part);
    }
    path
}

/// By the rules of either kind of system, whichever compiled it.
fn is_absolute(path: &str) -> bool {
    let mut letters = path.bytes();
    match (letters.next(), letters.next(), letters.next()) {
        (Some(b'/'), ..) | (Some(b'\\'), Some(b'\\'), _) => true,
        (Some(drive), Some(b':'), Some(b'/' | b'\\')) => drive.is_ascii_alphabetic(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::join;

    #[test]
    fn the_last_absolute_part_begins_the_path() {
        assert_eq!(join("/home", "include", "a.h"), "/home/include/a.h");
        assert_eq!(join("/home/", "", "a.h"), "/home/a.h");
        assert_eq!(join("/home", "/usr/include", "a.h"), "/usr/include/a.h");
        assert_eq!(join("/home", "include", "/tmp/a.h"), "/tmp/a.h");
        assert_eq!(join("/home", "C:\\include", "a.h"), "C:\\include/a.h");
        assert_eq!(join("", "", "a.h"), "a.h");
    }
}
