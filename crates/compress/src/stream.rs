//! Compressed streams that are read from their start on, as far as a caller wants.

use std::fmt;
use std::io::{self, Cursor, Read};

use hsaco_bytes::{Error, ErrorKind, Result, memory};

use crate::deflate::{Framing, Inflater};

/// The largest dictionary or window that a stream may ask for: what `xz -9` and `zstd --long` use fit.
const MAX_WINDOW_LOG: u32 = 27;
/// What the xz decoder needs beside its dictionary.
const XZ_OVERHEAD_KIB: u32 = 4 << 10;

/// A format of compressed streams.
///
/// ```
/// use hsaco_compress::Codec;
/// assert_eq!(Codec::detect(b"\x1f\x8b\x08\x00"), Some(Codec::Gzip));
/// assert_eq!(Codec::detect(b"\x7fELF"), None);
/// assert_eq!(Codec::Gzip.name(), "gzip");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Codec {
    /// Deflate with nothing around it (RFC 1951), as in zip files.
    Deflate,
    /// A zlib stream (RFC 1950).
    Zlib,
    /// gzip members (RFC 1952).
    Gzip,
    /// xz streams.
    Xz,
    /// Zstandard frames (RFC 8878).
    Zstd,
    /// bzip2 streams.
    Bzip2,
}

/// What streams begin with. Deflate has nothing of the kind, and zlib nothing to tell it by.
const MAGICS: &[(&[u8], Codec)] = &[
    (b"\x1f\x8b\x08", Codec::Gzip),
    (b"\xfd7zXZ\0", Codec::Xz),
    (b"\x28\xb5\x2f\xfd", Codec::Zstd),
];

impl Codec {
    /// The format of a stream that begins with these bytes.
    #[must_use]
    pub fn detect(data: &[u8]) -> Option<Self> {
        let known = MAGICS.iter().find(|(magic, _)| data.starts_with(magic));
        known.map(|&(_, codec)| codec).or_else(|| is_bzip2(data).then_some(Self::Bzip2))
    }

    /// Its usual name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Deflate => "deflate",
            Self::Zlib => "zlib",
            Self::Gzip => "gzip",
            Self::Xz => "xz",
            Self::Zstd => "zstd",
            Self::Bzip2 => "bzip2",
        }
    }

    fn context(self) -> &'static str {
        match self {
            Self::Deflate => "deflate stream",
            Self::Zlib => "zlib stream",
            Self::Gzip => "gzip stream",
            Self::Xz => "xz stream",
            Self::Zstd => "zstd stream",
            Self::Bzip2 => "bzip2 stream",
        }
    }
}

impl From<crate::Method> for Codec {
    fn from(method: crate::Method) -> Self {
        match method {
            crate::Method::Zlib => Self::Zlib,
            crate::Method::Zstd => Self::Zstd,
        }
    }
}

/// `BZh`, the block size, and the magic of a block or of the end.
fn is_bzip2(data: &[u8]) -> bool {
    let block = data.get(4..10);
    data.starts_with(b"BZh")
        && data.get(3).is_some_and(|size| (b'1'..=b'9').contains(size))
        && block.is_some_and(|it| it == b"1AY&SY" || it == b"\x17\x72\x45\x38\x50\x90")
}

/// What a compressed stream holds, from its start on. It never holds more than its window and what it was asked for.
///
/// ```
/// use hsaco_compress::{Codec, Unpacker};
/// let packed = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff\xcb\x4e\x2d\xca\x4b\xcd\x01\x00\xab\x9a\xd2\x5d\x06\x00\x00\x00";
/// let mut stream = Unpacker::new(Codec::Gzip, packed)?;
/// let mut text = Vec::new();
/// stream.take(&mut text, 2)?;
/// assert_eq!((text.as_slice(), stream.position()), (b"ke".as_slice(), 2));
/// stream.take(&mut text, 100)?;
/// assert_eq!(text, b"kernel");
/// # Ok::<(), hsaco_bytes::Error>(())
/// ```
pub struct Unpacker<'a> {
    codec: Codec,
    source: Box<dyn Read + Send + 'a>,
    position: u64,
}

impl fmt::Debug for Unpacker<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Unpacker({} at {})", self.codec.name(), self.position)
    }
}

impl<'a> Unpacker<'a> {
    /// Begins with a stream; all of `data` belongs to it.
    ///
    /// # Errors
    /// When there is not enough memory for a decoder.
    pub fn new(codec: Codec, data: impl AsRef<[u8]> + Send + 'a) -> Result<Self> {
        let source: Box<dyn Read + Send + 'a> = match codec {
            Codec::Deflate => Box::new(Inflater::new(data, Framing::Raw)),
            Codec::Zlib => Box::new(Inflater::new(data, Framing::Zlib)),
            Codec::Gzip => Box::new(Inflater::new(data, Framing::Gzip)),
            Codec::Xz => {
                let limit = (1 << (MAX_WINDOW_LOG - 10)) + XZ_OVERHEAD_KIB;
                Box::new(lzma_rust2::XzReader::new_mem_limit(Cursor::new(data), true, limit))
            }
            Codec::Zstd => zstd_stream::reader(data).map_err(|error| failure(codec, 0, &error))?,
            Codec::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(Cursor::new(data))),
        };
        Ok(Self { codec, source, position: 0 })
    }

    /// How many bytes have been taken.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Adds the next bytes of the content to `out`, as many as asked for unless the stream ends before.
    ///
    /// # Errors
    /// When the stream is damaged or ends in its midst, and when there is not enough memory.
    pub fn take(&mut self, out: &mut Vec<u8>, size: u64) -> Result<()> {
        /// Memory is asked for as it is filled: a size that was announced is not believed.
        const STEP: u64 = 1 << 20;
        let mut left = size;
        while left > 0 {
            let step = usize::try_from(left.min(STEP.max(out.len() as u64))).unwrap_or(usize::MAX);
            let start = out.len();
            memory::resize(out, start.saturating_add(step), self.codec.context())?;
            let read = self.fill(out.get_mut(start..).unwrap_or_default());
            out.truncate(start + *read.as_ref().unwrap_or(&0));
            match read? {
                0 => return Ok(()),
                read => left -= read as u64,
            }
        }
        Ok(())
    }

    /// Passes over the next bytes of the content, and says how many there were.
    ///
    /// # Errors
    /// When the stream is damaged or ends in its midst.
    pub fn skip(&mut self, size: u64) -> Result<u64> {
        let mut window = vec![0; 64 << 10];
        let mut left = size;
        while left > 0 {
            let step = usize::try_from(left).unwrap_or(usize::MAX).min(window.len());
            match self.fill(window.get_mut(..step).unwrap_or_default())? {
                0 => break,
                read => left -= read as u64,
            }
        }
        Ok(size - left)
    }

    /// Fills what it is given; less only at the end.
    fn fill(&mut self, out: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        while let Some(rest) = out.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.source.read(rest) {
                Ok(0) => break,
                Ok(read) => {
                    filled += read;
                    self.position += read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failure(self.codec, self.position, &error)),
            }
        }
        Ok(filled)
    }
}

/// `data` compressed as one stream, for the formats that are written.
///
/// ```
/// use hsaco_compress::{Codec, Unpacker, pack};
/// let packed = pack(Codec::Deflate, &[7; 1000])?;
/// let mut content = Vec::new();
/// Unpacker::new(Codec::Deflate, packed)?.take(&mut content, u64::MAX)?;
/// assert_eq!(content, [7; 1000]);
/// # Ok::<(), hsaco_bytes::Error>(())
/// ```
///
/// # Errors
/// For a format that is only read.
pub fn pack(codec: Codec, data: &[u8]) -> Result<Vec<u8>> {
    match codec {
        Codec::Deflate => Ok(miniz_oxide::deflate::compress_to_vec(data, 6)),
        Codec::Zstd => crate::compress(crate::Method::Zstd, data, 3),
        Codec::Zlib => crate::compress(crate::Method::Zlib, data, 6),
        Codec::Gzip | Codec::Xz | Codec::Bzip2 => {
            Err(Error::new(ErrorKind::Unsupported, codec.context(), "it is read and not written"))
        }
    }
}

fn failure(codec: Codec, position: u64, error: &io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::UnexpectedEof => ErrorKind::Truncated,
        io::ErrorKind::OutOfMemory => ErrorKind::LimitExceeded,
        io::ErrorKind::Unsupported => ErrorKind::Unsupported,
        _ => ErrorKind::Malformed,
    };
    let detail = format!("{error}, after {position} bytes of its content");
    Error::new(kind, codec.context(), detail).at(position)
}

#[cfg(feature = "zstd-c")]
mod zstd_stream {
    use super::{Cursor, MAX_WINDOW_LOG, Read, io};

    pub(super) fn reader<'a>(
        data: impl AsRef<[u8]> + Send + 'a,
    ) -> io::Result<Box<dyn Read + Send + 'a>> {
        let mut decoder = zstd::stream::read::Decoder::with_buffer(Cursor::new(data))?;
        decoder.window_log_max(MAX_WINDOW_LOG)?;
        Ok(Box::new(decoder))
    }
}

#[cfg(not(feature = "zstd-c"))]
mod zstd_stream {
    use super::{MAX_WINDOW_LOG, Read, io};
    use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
    use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

    #[expect(clippy::unnecessary_wraps, reason = "the other library can fail")]
    pub(super) fn reader<'a>(
        data: impl AsRef<[u8]> + Send + 'a,
    ) -> io::Result<Box<dyn Read + Send + 'a>> {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(1 << MAX_WINDOW_LOG);
        Ok(Box::new(Frames { data, position: 0, decoder, in_frame: false }))
    }

    /// Frames one after the other, which the decoder takes one at a time.
    struct Frames<D> {
        data: D,
        position: usize,
        decoder: FrameDecoder,
        in_frame: bool,
    }

    impl<D: AsRef<[u8]>> Frames<D> {
        fn is_at_end(&self) -> bool {
            self.position >= self.data.as_ref().len()
        }

        /// Has the decoder take something from the stream.
        fn feed<T>(
            &mut self,
            take: impl FnOnce(&mut FrameDecoder, &mut &[u8]) -> Result<T, FrameDecoderError>,
        ) -> Result<T, FrameDecoderError> {
            let mut rest = self.data.as_ref().get(self.position..).unwrap_or_default();
            let size = rest.len();
            let taken = take(&mut self.decoder, &mut rest);
            self.position += size - rest.len();
            taken
        }

        fn begin(&mut self) -> io::Result<()> {
            match self.feed(|decoder, rest| decoder.reset(rest)) {
                Ok(()) => self.in_frame = true,
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    self.position = self.position.saturating_add(length as usize);
                    if self.position > self.data.as_ref().len() {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(self.failure(&error)),
            }
            Ok(())
        }

        fn failure(&self, error: &FrameDecoderError) -> io::Error {
            let kind = match self.is_at_end() {
                true => io::ErrorKind::UnexpectedEof,
                false => io::ErrorKind::InvalidData,
            };
            io::Error::new(kind, error.to_string())
        }
    }

    impl<D: AsRef<[u8]>> Read for Frames<D> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            loop {
                if self.in_frame {
                    let read = ruzstd::io::Read::read(&mut self.decoder, out);
                    let read = read.map_err(|error| io::Error::other(error.to_string()))?;
                    if read > 0 {
                        return Ok(read);
                    }
                    if self.decoder.is_finished() {
                        self.in_frame = false;
                        continue;
                    }
                    let some = BlockDecodingStrategy::UptoBytes(out.len());
                    let decoded = self.feed(|decoder, rest| decoder.decode_blocks(rest, some));
                    decoded.map_err(|error| self.failure(&error))?;
                } else if self.is_at_end() {
                    return Ok(0);
                } else {
                    self.begin()?;
                }
            }
        }
    }
}
