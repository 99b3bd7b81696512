//! A file of any kind, opened for its code objects.

use hsaco_bytes::Error;
use hsaco_container::{self as container, Entry, EntryKind, WalkOptions};
use hsaco_object::CodeObject;

/// Finds the code objects of a file: a code object, a bundle, a library or a program that holds some, an archive. What is
/// compressed is decompressed, with a cap; nothing is decoded.
///
/// Files whose objects do not fit into memory together are for [`container::entries`], which shows one after the other.
#[must_use]
pub fn open(bytes: &[u8]) -> File<'_> {
    let mut file = File { entries: Vec::new(), problems: Vec::new() };
    for entry in container::entries(bytes, &WalkOptions::default()) {
        match entry {
            Ok(entry) if entry.kind == EntryKind::CodeObject => file.add(entry),
            Ok(_) => {}
            Err(problem) => file.problems.push(problem),
        }
    }
    file
}

/// The code objects of a file.
#[derive(Debug)]
pub struct File<'a> {
    /// Entries that are code objects for certain.
    entries: Vec<Entry<'a>>,
    problems: Vec<Error>,
}

impl<'a> File<'a> {
    fn add(&mut self, entry: Entry<'a>) {
        match CodeObject::parse(&entry.data) {
            Ok(_) => self.entries.push(entry),
            Err(problem) => {
                let offset = entry.offset;
                self.problems
                    .push(offset.map_or(problem.clone(), |offset| problem.rebased(offset)));
            }
        }
    }

    /// The code objects, in the order of the file.
    pub fn objects(&self) -> impl Iterator<Item = CodeObject<'_>> {
        self.entries.iter().filter_map(|entry| CodeObject::parse(&entry.data).ok())
    }

    /// What could not be read; the rest of the file was.
    #[must_use]
    pub fn problems(&self) -> &[Error] {
        &self.problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_is_a_problem_and_the_rest_is_there() {
        let mut bytes = include_bytes!("../../../tests/fixtures/plain.bundle").to_vec();
        let whole = open(&bytes);
        let places: Vec<u64> = whole.entries.iter().filter_map(|it| it.offset).collect();
        assert_eq!((whole.objects().count(), places.len()), (2, 2));
        drop(whole);
        let first = usize::try_from(places[0]).unwrap();
        bytes[first + 4] = 1; // ELFCLASS32
        let file = open(&bytes);
        assert_eq!(file.objects().count(), 1);
        assert_eq!(file.problems().len(), 1);
        assert!(open(b"text").objects().next().is_none());
    }
}
