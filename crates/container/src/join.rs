//! Bundles one after the other, with what lies between them.

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

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0)
}

/// The largest alignment, up to a page, that a position has.
fn alignment_of(position: u64) -> u64 {
    1 << (position | MAX_ALIGNMENT).trailing_zeros()
}
