//! The end of a text that grows line by line: what is written in blocks may be longer than what counts of it.

/// A text at the end of a vector, and room after it.
///
/// What is written goes over the room, so that a line costs neither a fill nor a new length. The vector ends where the
/// text does once the page is dropped.
///
/// ```
/// use hsaco_isa::print::Page;
/// let mut bytes = b"a".to_vec();
/// let mut page = Page::new(&mut bytes);
/// *page.room().unwrap() = *b"bc  ";
/// page.advance(2);
/// page.push(b"d");
/// drop(page);
/// assert_eq!(bytes, b"abcd");
/// ```
#[derive(Debug)]
pub struct Page<'a> {
    pub(super) bytes: &'a mut Vec<u8>,
    pub(super) end: usize,
}

/// So much room is made at a time.
const ROOM: usize = 4096;

impl<'a> Page<'a> {
    /// The end of these bytes.
    pub fn new(bytes: &'a mut Vec<u8>) -> Self {
        Page { end: bytes.len(), bytes }
    }

    /// How long the text is, with what the vector had before.
    #[inline]
    #[must_use]
    pub const fn end(&self) -> usize {
        self.end
    }

    /// So many bytes after the text, whatever they are: always there, but that this cannot be told to the compiler.
    #[inline]
    pub fn room<const N: usize>(&mut self) -> Option<&mut [u8; N]> {
        if self.bytes.len() < self.end + N {
            self.make_room(N);
        }
        self.bytes.get_mut(self.end..)?.first_chunk_mut()
    }

    #[cold]
    fn make_room(&mut self, least: usize) {
        self.bytes.resize(self.end + least + ROOM, 0);
    }

    /// So many bytes of the room count from now on.
    #[inline]
    pub fn advance(&mut self, count: usize) {
        self.end += count;
    }

    /// Begins again with an empty text.
    pub fn clear(&mut self) {
        self.end = 0;
    }

    /// Appends bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        let end = self.end + bytes.len();
        if self.bytes.len() < end {
            self.make_room(bytes.len());
        }
        if let Some(room) = self.bytes.get_mut(self.end..end) {
            room.copy_from_slice(bytes);
            self.end = end;
        }
    }
}

impl Drop for Page<'_> {
    fn drop(&mut self) {
        self.bytes.truncate(self.end);
    }
}
