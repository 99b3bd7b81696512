//! Bundles one after the other, with what lies between them.

use hsaco_bytes::{Result, memory};

/// Alignments above a page mean nothing to a loader.
const MAX_ALIGNMENT: u64 = 4096;

/// Where bundles go that are put one after the other. As long as none changes its size nothing moves; after that,
/// each begins at a multiple of what it began at before.
#[derive(Debug, Default)]
pub(crate) struct Joint {
    /// How many bytes there are.
    size: u64,
    /// How many there were up to here when nothing had changed.
    original: u64,
}

/// What comes before a bundle.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Before {
    /// What did before.
    Same,
    /// So many zeros.
    Zeros(u64),
}

impl Joint {
    /// Adds what came before a bundle, and the bundle, which has `size` bytes and had `original`.
    pub(crate) fn push(&mut self, before: &[u8], size: u64, original: u64) -> Before {
        let has_moved = self.size != self.original;
        let start = self.original.saturating_add(before.len() as u64);
        let placed = match has_moved && is_zero(before) {
            true => {
                let aligned = self.size.checked_next_multiple_of(alignment_of(start));
                Before::Zeros(aligned.unwrap_or(self.size) - self.size)
            }
            false => Before::Same,
        };
        let gap = if let Before::Zeros(gap) = placed { gap } else { before.len() as u64 };
        self.size = self.size.saturating_add(gap).saturating_add(size);
        self.original = start.saturating_add(original);
        placed
    }
}

/// Bundles put one after the other.
#[derive(Debug, Default)]
pub(crate) struct Joined {
    pub(crate) bytes: Vec<u8>,
    joint: Joint,
}

impl Joined {
    /// Adds what comes before a bundle, and the bundle, which had `original` bytes.
    pub(crate) fn push(&mut self, before: &[u8], bundle: &[u8], original: u64) -> Result<()> {
        match self.joint.push(before, bundle.len() as u64, original) {
            Before::Same => self.end(before)?,
            Before::Zeros(size) => {
                let size = usize::try_from(size).unwrap_or(usize::MAX);
                let end = self.bytes.len().saturating_add(size);
                memory::resize(&mut self.bytes, end, "bundles")?;
            }
        }
        self.end(bundle)
    }

    /// Adds what comes after the last bundle.
    pub(crate) fn end(&mut self, after: &[u8]) -> Result<()> {
        memory::append(&mut self.bytes, after, "bundles")
    }
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0)
}

/// The largest alignment, up to a page, that a position has.
fn alignment_of(position: u64) -> u64 {
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
