//! Bundles one after the other, with what lies between them.

use hsaco_bytes::{Result, memory};

/// Alignments above a page mean nothing to a loader.
const MAX_ALIGNMENT: u64 = 4096;

/// Bundles put one after the other. As long as none changes its size nothing moves; after that,
/// each begins at a multiple of what it began at before.
#[derive(Debug, Default)]
pub(crate) struct Joined {
    pub(crate) bytes: Vec<u8>,
    /// How many bytes there were up to here when nothing had changed.
    original: u64,
}

impl Joined {
    /// Adds what comes before a bundle, and the bundle, which had `original` bytes.
    pub(crate) fn push(&mut self, before: &[u8], bundle: &[u8], original: u64) -> Result<()> {
        self.end(before)?;
        if self.bytes.len() as u64 != self.original && is_zero(before) {
            let alignment = alignment_of(self.original);
            let end = self.bytes.len() - before.len();
            self.bytes.truncate(end);
            self.bytes.resize(end.next_multiple_of(alignment), 0);
        }
        memory::append(&mut self.bytes, bundle, "bundles")?;
        self.original = self.original.saturating_add(original);
        Ok(())
    }

    /// Adds what comes after the last bundle.
    pub(crate) fn end(&mut self, after: &[u8]) -> Result<()> {
        memory::append(&mut self.bytes, after, "bundles")?;
        self.original = self.original.saturating_add(after.len() as u64);
        Ok(())
    }
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0)
}

/// The largest alignment, up to a page, that a position has.
fn alignment_of(position: u64) -> usize {
    1 << (position | MAX_ALIGNMENT).trailing_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_moves_unless_it_must() {
        let mut joined = Joined::default();
        joined.push(b"", b"aaa", 3).unwrap();
        joined.push(&[0; 5], b"bb", 2).unwrap();
        joined.push(b"", b"c", 1).unwrap();
        joined.end(b"\0").unwrap();
        assert_eq!(joined.bytes, b"aaa\0\0\0\0\0bbc\0");

        let mut joined = Joined::default();
        joined.push(b"", b"aaaaaaaaa", 3).unwrap();
        joined.push(&[0; 5], b"bb", 2).unwrap();
        joined.push(b"xx", b"c", 1).unwrap();
        assert_eq!(joined.bytes, b"aaaaaaaaa\0\0\0\0\0\0\0bbxxc");
    }
}
