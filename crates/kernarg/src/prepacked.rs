//! Buffers that the caller has packed.

use hsaco_bytes::{Error, ErrorKind, Result};

use crate::CONTEXT;
use crate::value::Value;

/// What compilers round the size of a segment up to.
const SEGMENT_UNIT: u32 = 8;

/// A buffer as callers of C interfaces give it: a length, and bytes that may not be there.
///
/// ```
/// use hsaco_kernarg::Blob;
/// assert_eq!(Blob::from(&[1, 2, 3][..]).length, 3);
/// let missing = Blob { length: 4, data: None };
/// assert!(hsaco_kernarg::DirectLayout::new(None).prepacked(missing).is_err());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Blob<'b> {
    /// How many bytes the caller says there are.
    pub length: u64,
    /// The bytes.
    pub data: Option<&'b [u8]>,
}

impl<'b> From<&'b [u8]> for Blob<'b> {
    fn from(bytes: &'b [u8]) -> Self {
        Self { length: bytes.len() as u64, data: Some(bytes) }
    }
}

impl<'b> Blob<'b> {
    /// The bytes that the length promises.
    fn bytes(self) -> Result<&'b [u8]> {
        let data = match (self.data, self.length) {
            (Some(data), _) => data,
            (None, 0) => &[],
            (None, length) => {
                let detail = format!("a buffer of {length} bytes, and no address of it");
                return Err(Error::new(ErrorKind::NotFound, CONTEXT, detail));
            }
        };
        let promised = usize::try_from(self.length).ok().and_then(|it| data.get(..it));
        promised.ok_or_else(|| Error::truncated(CONTEXT, 0, self.length, data.len() as u64))
    }
}

/// A buffer that has every visible argument, and what is odd about it.
///
/// ```
/// use hsaco_kernarg::{Declaration, Declared, NativeLayout};
/// use hsaco_object::metadata::ValueKind;
/// let layout = NativeLayout::new(&Declaration::new(16, vec![
///     Declared::new(0, 8, ValueKind::GlobalBuffer),
///     Declared::new(8, 4, ValueKind::ByValue),
/// ]))?;
/// let buffer = layout.prepacked([0; 12][..].into())?;
/// assert_eq!((buffer.padding(), buffer.surplus()), (4, 0));
/// assert_eq!(layout.prepacked([0; 24][..].into())?.surplus(), 8);
/// assert_eq!(
///     layout.prepacked([0; 9][..].into()).unwrap_err().to_string(),
///     "truncated: kernel arguments: argument 1 ends at 12, and the buffer has 9 bytes of 12"
/// );
/// # Ok::<(), hsaco_bytes::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prepacked<'b> {
    explicit: &'b [u8],
    padding: u32,
    hidden: u64,
    surplus: u64,
}

impl<'b> Prepacked<'b> {
    pub(crate) fn new(blob: Blob<'b>, explicit: u32, segment: u32) -> Result<Self> {
        let bytes = blob.bytes()?;
        let kept = bytes.get(..explicit as usize).unwrap_or(bytes);
        let padding = explicit.saturating_sub(u32::try_from(kept.len()).unwrap_or(u32::MAX));
        let beyond = blob.length.saturating_sub(u64::from(explicit));
        let hidden = beyond.min(u64::from(segment.saturating_sub(explicit)));
        Ok(Self { explicit: kept, padding, hidden, surplus: beyond.saturating_sub(hidden) })
    }

    /// What of the buffer is used.
    pub fn explicit(&self) -> &'b [u8] {
        self.explicit
    }

    /// Bytes of padding at the end that the buffer leaves out; they are zero.
    pub fn padding(&self) -> u32 {
        self.padding
    }

    /// Bytes that lie where hidden arguments are, and are not used: hidden arguments are the runtime's.
    pub fn hidden(&self) -> u64 {
        self.hidden
    }

    /// Bytes behind the segment, which are not used.
    pub fn surplus(&self) -> u64 {
        self.surplus
    }
}

/// The layout of a kernel of whose arguments nothing is known: prepacked buffers only.
///
/// ```
/// use hsaco_kernarg::DirectLayout;
/// let layout = DirectLayout::new(Some(16));
/// assert!(layout.prepacked([0; 16][..].into()).is_ok());
/// assert_eq!(layout.prepacked([0; 9][..].into())?.padding(), 7);
/// assert!(layout.prepacked([0; 8][..].into()).is_err());
/// assert!(layout.pack(&[]).is_ok());
/// assert!(layout.pack(&[7_u32.into()]).is_err());
/// # Ok::<(), hsaco_bytes::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DirectLayout {
    size: Option<u32>,
}

impl DirectLayout {
    /// A segment of that size; none where the buffer decides.
    pub const fn new(size: Option<u32>) -> Self {
        Self { size }
    }

    /// Bytes of the segment, if the file says.
    pub const fn size(self) -> Option<u32> {
        self.size
    }

    /// Accepts a buffer that has all of the segment, but for the padding that compilers put behind the last argument: up
    /// to a multiple of 8.
    pub fn prepacked(self, blob: Blob<'_>) -> Result<Prepacked<'_>> {
        let length = u32::try_from(blob.length).map_err(|_| {
            let detail = format!("a buffer of {} bytes, more than 2^32 - 1", blob.length);
            Error::new(ErrorKind::LimitExceeded, CONTEXT, detail)
        })?;
        let size = self.size.unwrap_or(length);
        if length < size && length.checked_next_multiple_of(SEGMENT_UNIT) != Some(size) {
            let detail = format!("the segment has {size} bytes, and the buffer {length}");
            return Err(Error::new(ErrorKind::Truncated, CONTEXT, detail));
        }
        Prepacked::new(blob, size, size)
    }

    /// Takes an empty array of arguments; any other has nowhere to go.
    pub fn pack(self, values: &[Value<'_>]) -> Result<()> {
        if values.is_empty() {
            return Ok(());
        }
        let detail = format!(
            "{} values, and nothing is known of the kernel's arguments: prepacked buffers only",
            values.len()
        );
        Err(Error::new(ErrorKind::Unsupported, CONTEXT, detail))
    }
}
