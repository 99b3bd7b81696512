//! Bytes of code, few at a time.

use std::fmt;
use std::ops::{Deref, DerefMut};

/// Bytes of code. Few are kept in place: a large object has a record for every hundred of its instructions.
///
/// ```
/// let mut bytes = hsaco_patch::CodeBytes::from(vec![1, 2, 3]);
/// bytes[0] = 7;
/// assert_eq!(bytes, [7, 2, 3]);
/// ```
#[derive(Clone)]
pub struct CodeBytes(Kept);

#[derive(Clone)]
enum Kept {
    Here(u8, [u8; FEW]),
    Elsewhere(Box<[u8]>),
}

/// As many as fit into three words with their number.
const FEW: usize = 22;

impl Default for CodeBytes {
    fn default() -> Self {
        CodeBytes(Kept::Here(0, [0; FEW]))
    }
}

impl From<&[u8]> for CodeBytes {
    fn from(bytes: &[u8]) -> Self {
        let mut few = [0; FEW];
        match few.get_mut(..bytes.len()) {
            Some(place) => {
                place.copy_from_slice(bytes);
                CodeBytes(Kept::Here(bytes.len() as u8, few))
            }
            None => CodeBytes(Kept::Elsewhere(bytes.into())),
        }
    }
}

impl From<Vec<u8>> for CodeBytes {
    fn from(bytes: Vec<u8>) -> Self {
        if bytes.len() > FEW {
            CodeBytes(Kept::Elsewhere(bytes.into()))
        } else {
            bytes.as_slice().into()
        }
    }
}

impl Deref for CodeBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Kept::Here(count, bytes) => bytes.get(..usize::from(*count)).unwrap_or_default(),
            Kept::Elsewhere(bytes) => bytes,
        }
    }
}

impl DerefMut for CodeBytes {
    fn deref_mut(&mut self) -> &mut [u8] {
        match &mut self.0 {
            Kept::Here(count, bytes) => bytes.get_mut(..usize::from(*count)).unwrap_or_default(),
            Kept::Elsewhere(bytes) => bytes,
        }
    }
}

impl AsRef<[u8]> for CodeBytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl<T: AsRef<[u8]> + ?Sized> PartialEq<T> for CodeBytes {
    fn eq(&self, other: &T) -> bool {
        **self == *other.as_ref()
    }
}

impl Eq for CodeBytes {}

impl fmt::Debug for CodeBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.deref().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_bytes_is_kept() {
        for count in 0..64 {
            let bytes: Vec<u8> = (0..count).collect();
            let mut kept = CodeBytes::from(bytes.as_slice());
            assert_eq!(kept, bytes);
            assert_eq!(kept, CodeBytes::from(bytes.clone()));
            assert_eq!(kept.len(), bytes.len());
            if let Some(last) = kept.last_mut() {
                *last ^= 1;
                assert_ne!(kept, bytes);
            }
        }
        assert_eq!(size_of::<Option<CodeBytes>>(), 24);
    }
}
