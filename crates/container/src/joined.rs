//! Bundles put one after the other in memory.

use hsaco_bytes::{Result, memory};

use crate::join::{Before, Joint};

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
