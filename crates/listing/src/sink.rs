//! Where a listing goes, piece by piece.

use std::io;

/// Takes a listing as it is made, so that no more than a little of it need be in memory.
pub trait Sink {
    /// Where the next piece is to be put, at the end.
    fn bytes(&mut self) -> &mut Vec<u8>;
    /// Called after each small piece: what there is may be handed on.
    ///
    /// # Errors
    /// What keeps the listing from being written, and ends it.
    fn pass(&mut self) -> io::Result<()>;
}

/// All of it in memory.
impl Sink for Vec<u8> {
    #[inline]
    fn bytes(&mut self) -> &mut Vec<u8> {
        self
    }

    #[inline]
    fn pass(&mut self) -> io::Result<()> {
        Ok(())
    }
}
