//! Telling who keeps a file which of its bytes are not looked at for some time.

use std::ops::Range;

/// Takes note of bytes that are not looked at for some time.
pub(crate) type Release<'r> = &'r dyn Fn(Range<usize>);

/// Bytes between one message and the next.
const STEP: usize = 4 << 20;

/// A walk over a file, from its start on.
pub(crate) struct Walk<'r> {
    release: Release<'r>,
    done: usize,
}

impl<'r> Walk<'r> {
    pub(crate) fn new(release: Release<'r>) -> Self {
        Walk { release, done: 0 }
    }

    /// What is before an offset is done with.
    pub(crate) fn at(&mut self, offset: usize) {
        if offset >= self.done.saturating_add(STEP) {
            (self.release)(self.done..offset);
            self.done = offset;
        }
    }
}

/// A copy of a file with room for more, made without a need for all of the file at once.
pub(crate) fn copied(file: &[u8], release: Release<'_>) -> hsaco_bytes::Result<Vec<u8>> {
    // What is appended is seldom more than this; a large file should not be copied again for it.
    let mut copy = Vec::new();
    hsaco_bytes::memory::reserve(&mut copy, file.len() + file.len() / 4, "code object")?;
    let mut walk = Walk::new(release);
    for part in file.chunks(STEP) {
        copy.extend_from_slice(part);
        walk.at(copy.len());
    }
    Ok(copy)
}

/// Where a part of a file begins in it.
pub(crate) fn offset_in(file: &[u8], part: &[u8]) -> usize {
    part.as_ptr().addr().saturating_sub(file.as_ptr().addr())
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn a_copy_lets_go_of_what_it_has_read() {
        let file: Vec<u8> = (0..3 * STEP + 5).map(|at| (at % 251) as u8).collect();
        let told = RefCell::new(Vec::new());
        let copy = copied(&file, &|range| told.borrow_mut().push(range)).unwrap();
        assert_eq!(copy, file);
        assert_eq!(told.take(), [0..STEP, STEP..2 * STEP, 2 * STEP..3 * STEP]);
        assert_eq!(offset_in(&file, &file[7..9]), 7);
    }
}
