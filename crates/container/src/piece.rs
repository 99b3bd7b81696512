//! A file as pieces of the one that it is made of: what stays is never copied.

use std::ops::Range;

use hsaco_bytes::{Error, Result, memory};

/// The next bytes of a file that is made of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilePiece {
    /// These bytes of the other file.
    Kept(Range<u64>),
    /// New ones.
    New(Vec<u8>),
    /// So many zeros.
    Zeros(u64),
}

impl FilePiece {
    /// How many bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        match self {
            Self::Kept(range) => range.end.saturating_sub(range.start),
            Self::New(bytes) => bytes.len() as u64,
            Self::Zeros(size) => *size,
        }
    }

    /// The same of a file in which what it was made of begins at `base`.
    pub(crate) fn moved(self, base: u64) -> Self {
        let at = |offset: u64| base.saturating_add(offset);
        match self {
            Self::Kept(range) => Self::Kept(at(range.start)..at(range.end)),
            other => other,
        }
    }

    /// Adds the bytes to `out`.
    ///
    /// # Errors
    /// When they are not in the other file, or there is not enough memory.
    pub(crate) fn append(&self, file: &[u8], out: &mut Vec<u8>) -> Result<()> {
        const CONTEXT: &str = "file";
        match self {
            Self::Kept(range) => {
                let kept = kept(file, range).ok_or_else(|| {
                    Error::truncated(CONTEXT, range.start, self.size(), file.len() as u64)
                })?;
                memory::append(out, kept, CONTEXT)
            }
            Self::New(bytes) => memory::append(out, bytes, CONTEXT),
            Self::Zeros(size) => {
                let size = usize::try_from(*size).unwrap_or(usize::MAX);
                memory::resize(out, out.len().saturating_add(size), CONTEXT)
            }
        }
    }
}

fn kept<'f>(file: &'f [u8], range: &Range<u64>) -> Option<&'f [u8]> {
    file.get(usize::try_from(range.start).ok()?..usize::try_from(range.end).ok()?)
}

/// The pieces of a file from `start` to `end` in which some ranges are zero, unless they are also among those that stay.
pub(crate) fn zeroed(
    start: u64,
    end: u64,
    zero: impl Iterator<Item = Range<u64>>,
    stays: impl Iterator<Item = Range<u64>>,
) -> Vec<FilePiece> {
    let of = |range: Range<u64>, stays: bool| [(range.start, stays, 1), (range.end, stays, -1)];
    let mut borders: Vec<(u64, bool, i64)> = zero.flat_map(|it| of(it, false)).collect();
    borders.extend(stays.flat_map(|it| of(it, true)));
    borders.sort_unstable();
    borders.push((end, true, 0));
    let (mut pieces, mut at, mut zeros, mut kept) = (Vec::new(), start, 0, 0);
    for (border, stays, change) in borders {
        let border = border.clamp(start, end);
        if border > at {
            push(&mut pieces, at..border, zeros > 0 && kept == 0);
            at = border;
        }
        *(if stays { &mut kept } else { &mut zeros }) += change;
    }
    pieces
}

/// Adds a range to the last piece if that is of its kind.
fn push(pieces: &mut Vec<FilePiece>, range: Range<u64>, is_zero: bool) {
    match (pieces.last_mut(), is_zero) {
        (Some(FilePiece::Zeros(size)), true) => *size += range.end - range.start,
        (Some(FilePiece::Kept(last)), false) => last.end = range.end,
        (_, true) => pieces.push(FilePiece::Zeros(range.end - range.start)),
        (_, false) => pieces.push(FilePiece::Kept(range)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(zero: &[[u64; 2]], stays: &[[u64; 2]], expected: &[FilePiece]) {
        let ranges = |it: &[u64; 2]| it[0]..it[1];
        assert_eq!(zeroed(10, 100, zero.iter().map(ranges), stays.iter().map(ranges)), expected);
    }

    #[test]
    fn what_stays_wins() {
        use FilePiece::{Kept, Zeros};
        check(&[], &[], &[Kept(10..100)]);
        check(&[[0, 200]], &[], &[Zeros(90)]);
        check(&[[20, 30]], &[], &[Kept(10..20), Zeros(10), Kept(30..100)]);
        check(&[[20, 30], [25, 40], [40, 50]], &[], &[Kept(10..20), Zeros(30), Kept(50..100)]);
        check(&[[20, 30]], &[[20, 30]], &[Kept(10..100)]);
        check(
            &[[10, 60]],
            &[[20, 30], [25, 40]],
            &[Zeros(10), Kept(20..40), Zeros(20), Kept(60..100)],
        );
        check(&[[30, 30], [95, 300]], &[[0, 5]], &[Kept(10..95), Zeros(5)]);
    }

    #[test]
    fn pieces_are_bytes_again() {
        let file = b"0123456789";
        let mut out = Vec::new();
        for piece in [FilePiece::Kept(2..4), FilePiece::Zeros(2), FilePiece::New(b"ab".to_vec())] {
            piece.moved(1).append(file, &mut out).unwrap();
        }
        assert_eq!(out, b"34\0\0ab");
        assert!(FilePiece::Kept(8..11).append(file, &mut out).is_err());
    }
}
