//! Compressed streams behind one function each way, with a cap on what may come out.
//!
//! ```
//! use hsaco_compress::{Method, compress, decompress};
//! let text = b"kernel kernel kernel kernel kernel kernel kernel".as_slice();
//! for method in [Method::Zlib, Method::Zstd] {
//!     let packed = compress(method, text, 3)?;
//!     assert_eq!(decompress(method, &packed, text.len() as u64, 1 << 20)?, text);
//! }
//! # Ok::<(), hsaco_bytes::Error>(())
//! ```
#![forbid(unsafe_code)]

mod deflate;
mod stream;

pub use stream::{Codec, Unpacker, pack};

use std::ops::Range;

use hsaco_bytes::{Error, ErrorKind, Result, memory, read_u32};

/// How bytes were compressed.
///
/// ```
/// assert_eq!(hsaco_compress::Method::Zstd.name(), "zstd");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// A zlib stream (RFC 1950).
    Zlib,
    /// Zstandard frames (RFC 8878).
    Zstd,
}

impl Method {
    /// The usual name of the method.
    pub fn name(self) -> &'static str {
        match self {
            Self::Zlib => "zlib",
            Self::Zstd => "zstd",
        }
    }
}

/// No deflate stream grows by more than this factor: the shortest code for 258 bytes is two bits.
const ZLIB_MAX_RATIO: u64 = 1032;
/// No deflate stream looks back further than this.
const ZLIB_WINDOW: u64 = 32 << 10;

/// What `data` holds, which must be `expected_size` bytes and at most `cap`.
///
/// The size is believed only as far as the stream could produce it, so a short input never makes
/// a large allocation.
///
/// ```
/// use hsaco_bytes::ErrorKind;
/// use hsaco_compress::{Method, compress, decompress};
/// let packed = compress(Method::Zstd, &[7; 5000], 3)?;
/// assert_eq!(decompress(Method::Zstd, &packed, 5000, 5000)?, [7; 5000]);
/// let kind = |size, cap| decompress(Method::Zstd, &packed, size, cap).unwrap_err().kind();
/// assert_eq!(kind(5000, 4999), ErrorKind::LimitExceeded);
/// assert_eq!(kind(5001, 1 << 20), ErrorKind::Mismatch);
/// # Ok::<(), hsaco_bytes::Error>(())
/// ```
pub fn decompress(method: Method, data: &[u8], expected_size: u64, cap: u64) -> Result<Vec<u8>> {
    let (size, window) = check_announced(method, data, expected_size, cap)?;
    match method {
        Method::Zlib => inflate(data, size),
        Method::Zstd => unpack_zstd(data, size, window),
    }
}

/// Some ranges of what `data` holds, which must be `expected_size` bytes and at most `cap`. The ranges are in order and
/// apart from each other; what follows the last is not decompressed, and so not checked.
///
/// ```
/// use hsaco_compress::{Method, compress, decompress_parts};
/// let packed = compress(Method::Zstd, &[7; 5000], 3)?;
/// let parts = decompress_parts(Method::Zstd, &packed, 5000, &[10..12, 4000..4001], 5000)?;
/// assert_eq!(parts, [vec![7; 2], vec![7]]);
/// # Ok::<(), hsaco_bytes::Error>(())
/// ```
///
/// # Errors
/// As [`decompress`] up to the end of the last range, and for a window of more than 128 MiB.
pub fn decompress_parts(
    method: Method,
    data: &[u8],
    expected_size: u64,
    ranges: &[Range<u64>],
    cap: u64,
) -> Result<Vec<Vec<u8>>> {
    check_announced(method, data, expected_size, cap)?;
    let mut stream = Unpacker::new(method.into(), data)?;
    let mut part = |range: &Range<u64>| {
        let size = range.end.saturating_sub(range.start);
        let before = range.start.checked_sub(stream.position()).ok_or_else(|| {
            let detail = format!("the part at {:#x} begins within another", range.start);
            Error::malformed(method.context(), range.start, detail)
        })?;
        let mut part = Vec::new();
        if stream.skip(before)? == before {
            stream.take(&mut part, size)?;
        }
        if part.len() as u64 != size {
            return Err(size_mismatch(method, expected_size, stream.position()));
        }
        Ok(part)
    };
    ranges.iter().map(&mut part).collect()
}

/// Whether the stream could hold so much, from its headers alone; the size, and the largest window of its frames.
fn check_announced(
    method: Method,
    data: &[u8],
    expected_size: u64,
    cap: u64,
) -> Result<(usize, u64)> {
    if expected_size > cap {
        let detail = format!("{expected_size} bytes uncompressed, {cap} allowed");
        return Err(Error::new(ErrorKind::LimitExceeded, method.context(), detail));
    }
    let Ok(size) = usize::try_from(expected_size) else {
        let detail = format!("{expected_size} bytes do not fit this machine's memory");
        return Err(Error::new(ErrorKind::LimitExceeded, method.context(), detail));
    };
    let window = match method {
        Method::Zlib => check_zlib(data, expected_size)?,
        Method::Zstd => check_zstd(data, expected_size, cap)?,
    };
    Ok((size, window))
}

/// `data` compressed. The level means what it means to the method's library; pure-Rust zstd has
/// only one, and takes any level for it.
///
/// ```
/// use hsaco_compress::{Method, compress};
/// assert!(compress(Method::Zlib, &[0; 1000], 9)?.len() < 100);
/// # Ok::<(), hsaco_bytes::Error>(())
/// ```
pub fn compress(method: Method, data: &[u8], level: i32) -> Result<Vec<u8>> {
    match method {
        Method::Zlib => {
            let level = u8::try_from(level.clamp(0, 10)).unwrap_or(6);
            Ok(miniz_oxide::deflate::compress_to_vec_zlib(data, level))
        }
        Method::Zstd => zstd_library::compress(data, level),
    }
}

/// How many bytes of `data` the stream at its start takes, for containers that do not say.
///
/// The error's offset is how far the stream could be followed.
pub fn stream_size(method: Method, data: &[u8]) -> Result<usize> {
    match method {
        Method::Zlib => zlib_stream_size(data),
        Method::Zstd => ZstdFrame::parse(data, 0).map(|frame| frame.end),
    }
}

impl Method {
    fn context(self) -> &'static str {
        match self {
            Self::Zlib => "zlib stream",
            Self::Zstd => "zstd stream",
        }
    }
}

fn size_mismatch(method: Method, expected: u64, found: impl std::fmt::Display) -> Error {
    let detail = format!("{expected} bytes announced, the stream holds {found}");
    Error::new(ErrorKind::Mismatch, method.context(), detail)
}

fn check_zlib(data: &[u8], expected: u64) -> Result<u64> {
    let possible = (data.len() as u64).saturating_mul(ZLIB_MAX_RATIO);
    if expected > possible {
        return Err(size_mismatch(Method::Zlib, expected, format_args!("at most {possible}")));
    }
    Ok(ZLIB_WINDOW)
}

fn inflate(data: &[u8], size: usize) -> Result<Vec<u8>> {
    use miniz_oxide::inflate::TINFLStatus;
    use miniz_oxide::inflate::core::{DecompressorOxide, decompress, inflate_flags};

    let flags = inflate_flags::TINFL_FLAG_PARSE_ZLIB_HEADER
        | inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
    let mut out = memory::zeros(size, Method::Zlib.context())?;
    let mut decoder = Box::<DecompressorOxide>::default();
    let (status, consumed, written) = decompress(&mut decoder, data, &mut out, 0, flags);
    match status {
        TINFLStatus::Done if written == size => Ok(out),
        TINFLStatus::Done => Err(size_mismatch(Method::Zlib, size as u64, written)),
        TINFLStatus::HasMoreOutput => Err(size_mismatch(Method::Zlib, size as u64, "more")),
        other => Err(zlib_error(other, consumed)),
    }
}

fn zlib_stream_size(data: &[u8]) -> Result<usize> {
    use miniz_oxide::inflate::TINFLStatus;
    use miniz_oxide::inflate::core::{DecompressorOxide, decompress, inflate_flags};

    // The output itself need not be kept.
    let mut window = vec![0; usize::try_from(ZLIB_WINDOW).unwrap_or(usize::MAX)];
    let mut decoder = Box::<DecompressorOxide>::default();
    let (mut consumed, mut position) = (0, 0);
    loop {
        let rest = data.get(consumed..).unwrap_or_default();
        let flags = inflate_flags::TINFL_FLAG_PARSE_ZLIB_HEADER;
        let (status, taken, written) = decompress(&mut decoder, rest, &mut window, position, flags);
        consumed += taken;
        position = (position + written) % window.len();
        match status {
            TINFLStatus::Done => return Ok(consumed),
            TINFLStatus::HasMoreOutput if taken + written > 0 => {}
            other => return Err(zlib_error(other, consumed)),
        }
    }
}

fn zlib_error(status: miniz_oxide::inflate::TINFLStatus, consumed: usize) -> Error {
    use miniz_oxide::inflate::TINFLStatus;
    let (kind, detail) = match status {
        TINFLStatus::FailedCannotMakeProgress | TINFLStatus::NeedsMoreInput => {
            (ErrorKind::Truncated, "it ends before its last block does")
        }
        TINFLStatus::Adler32Mismatch => {
            (ErrorKind::Mismatch, "its checksum is not that of its content")
        }
        _ => (ErrorKind::Malformed, "not a valid deflate stream"),
    };
    Error::new(kind, Method::Zlib.context(), detail).at(consumed as u64)
}

fn check_zstd(data: &[u8], expected: u64, cap: u64) -> Result<u64> {
    let mut total = ZstdTotal::default();
    let mut position = 0;
    while position < data.len() {
        let frame = ZstdFrame::parse(data, position)?;
        total.add(&frame, position, cap)?;
        position = frame.end;
    }
    if total.least > expected {
        return Err(size_mismatch(Method::Zstd, expected, total.least));
    }
    if total.most < expected {
        return Err(size_mismatch(Method::Zstd, expected, format_args!("at most {}", total.most)));
    }
    Ok(total.window)
}

fn unpack_zstd(data: &[u8], size: usize, window: u64) -> Result<Vec<u8>> {
    let out = zstd_library::decompress(data, size, window)?;
    if out.len() != size {
        return Err(size_mismatch(Method::Zstd, size as u64, out.len()));
    }
    Ok(out)
}

/// Bounds on what a run of frames decompresses to, from their headers alone.
#[derive(Default)]
struct ZstdTotal {
    least: u64,
    most: u64,
    window: u64,
}

impl ZstdTotal {
    fn add(&mut self, frame: &ZstdFrame, offset: usize, cap: u64) -> Result<()> {
        if frame.window > cap.max(ZSTD_ORDINARY_WINDOW) {
            let detail = format!("a window of {} bytes, {cap} allowed", frame.window);
            let error = Error::new(ErrorKind::LimitExceeded, Method::Zstd.context(), detail);
            return Err(error.at(offset as u64));
        }
        if let Some(content) = frame.content_size
            && content > frame.most
        {
            let error =
                size_mismatch(Method::Zstd, content, format_args!("at most {}", frame.most));
            return Err(error.at(offset as u64));
        }
        self.least = self.least.saturating_add(frame.content_size.unwrap_or(0));
        self.most = self.most.saturating_add(frame.content_size.unwrap_or(frame.most));
        self.window = self.window.max(frame.window);
        Ok(())
    }
}

const ZSTD_MAGIC: u32 = 0xfd2f_b528;
const ZSTD_SKIPPABLE: u32 = 0x184d_2a50;
const ZSTD_MAX_BLOCK: u64 = 128 << 10;
/// Every decoder takes windows up to this size, whatever the content.
const ZSTD_ORDINARY_WINDOW: u64 = 8 << 20;

/// One frame as its header and block headers tell it, with nothing decompressed.
struct ZstdFrame {
    content_size: Option<u64>,
    window: u64,
    /// An upper bound on the content, from the blocks that are there.
    most: u64,
    end: usize,
}

impl ZstdFrame {
    fn parse(data: &[u8], start: usize) -> Result<Self> {
        let magic = read_u32(data, start).ok_or_else(|| zstd_truncated(data, start, 4))?;
        if magic & !0xf == ZSTD_SKIPPABLE {
            return Self::skippable(data, start);
        }
        if magic != ZSTD_MAGIC {
            let detail = format!("no frame magic: {magic:#010x}, expected {ZSTD_MAGIC:#010x}");
            return Err(Error::malformed(Method::Zstd.context(), start as u64, detail));
        }
        let mut position = start + 4;
        let descriptor = zstd_field(data, &mut position, 1)?;
        let single_segment = descriptor & 0x20 != 0;
        let mut window = match single_segment {
            true => 0,
            false => zstd_window(zstd_field(data, &mut position, 1)?),
        };
        let dictionary_size = [0, 1, 2, 4].get((descriptor & 3) as usize).copied().unwrap_or(0);
        zstd_field(data, &mut position, dictionary_size)?;
        let content_size = match (descriptor >> 6, single_segment) {
            (0, false) => None,
            (0, true) => Some(zstd_field(data, &mut position, 1)?),
            (1, _) => Some(zstd_field(data, &mut position, 2)? + 256),
            (2, _) => Some(zstd_field(data, &mut position, 4)?),
            _ => Some(zstd_field(data, &mut position, 8)?),
        };
        if single_segment {
            window = content_size.unwrap_or(0);
        }
        let most = zstd_blocks(data, &mut position)?;
        let checksum_size = if descriptor & 4 != 0 { 4 } else { 0 };
        zstd_field(data, &mut position, checksum_size)?;
        Ok(Self { content_size, window, most, end: position })
    }

    fn skippable(data: &[u8], start: usize) -> Result<Self> {
        let end = read_u32(data, start + 4)
            .and_then(|size| (start + 8).checked_add(usize::try_from(size).ok()?))
            .filter(|&end| end <= data.len())
            .ok_or_else(|| zstd_truncated(data, start, 8))?;
        Ok(Self { content_size: Some(0), window: 0, most: 0, end })
    }
}

/// Steps over the blocks of a frame and returns the most they can decompress to.
fn zstd_blocks(data: &[u8], position: &mut usize) -> Result<u64> {
    let mut most = 0u64;
    loop {
        let at = *position;
        let header = zstd_field(data, position, 3)?;
        let size = header >> 3;
        let (stored, content) = match header >> 1 & 3 {
            0 => (size, size),
            1 => (1, size),
            2 => (size, ZSTD_MAX_BLOCK),
            _ => {
                let detail = "a block of the reserved type 3";
                return Err(Error::malformed(Method::Zstd.context(), at as u64, detail));
            }
        };
        if content > ZSTD_MAX_BLOCK {
            let detail = format!("a block of {content} bytes, {ZSTD_MAX_BLOCK} allowed");
            return Err(Error::malformed(Method::Zstd.context(), at as u64, detail));
        }
        most = most.saturating_add(content);
        let end = usize::try_from(stored).ok().and_then(|stored| position.checked_add(stored));
        *position = end
            .filter(|&end| end <= data.len())
            .ok_or_else(|| zstd_truncated(data, *position, stored))?;
        if header & 1 == 1 {
            return Ok(most);
        }
    }
}

/// A little-endian field of up to eight bytes.
fn zstd_field(data: &[u8], position: &mut usize, size: usize) -> Result<u64> {
    let bytes = data
        .get(*position..)
        .and_then(|rest| rest.get(..size))
        .ok_or_else(|| zstd_truncated(data, *position, size as u64))?;
    *position += size;
    Ok(bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
}

/// The window that a window descriptor byte stands for: five bits of exponent, three of mantissa.
fn zstd_window(descriptor: u64) -> u64 {
    let base = 1u64 << (10 + (descriptor >> 3));
    base + base / 8 * (descriptor & 7)
}

fn zstd_truncated(data: &[u8], offset: usize, needed: u64) -> Error {
    let available = data.len().saturating_sub(offset) as u64;
    Error::truncated(Method::Zstd.context(), offset as u64, needed, available)
}

#[cfg(feature = "zstd-c")]
mod zstd_library {
    use super::{Error, ErrorKind, Method, Result, memory};

    pub(super) fn decompress(data: &[u8], size: usize, window: u64) -> Result<Vec<u8>> {
        // One shot into its own buffer: the window is the output, and its size needs no limit.
        let _ = window;
        let mut out = Vec::new();
        memory::reserve(&mut out, size, Method::Zstd.context())?;
        // What is reserved is what it may fill.
        zstd::bulk::Decompressor::new()
            .and_then(|mut decoder| decoder.decompress_to_buffer(data, &mut out))
            .map_err(|error| failure(&error))?;
        Ok(out)
    }

    pub(super) fn compress(data: &[u8], level: i32) -> Result<Vec<u8>> {
        zstd::bulk::compress(data, level).map_err(|error| failure(&error))
    }

    fn failure(error: &std::io::Error) -> Error {
        Error::new(ErrorKind::Malformed, Method::Zstd.context(), error.to_string())
    }
}

#[cfg(not(feature = "zstd-c"))]
mod zstd_library {
    use super::{Error, ErrorKind, Method, Result, memory};
    use ruzstd::decoding::FrameDecoder;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    pub(super) fn decompress(data: &[u8], size: usize, window: u64) -> Result<Vec<u8>> {
        let mut out = memory::zeros(size, Method::Zstd.context())?;
        check_window(window)?;
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(window);
        let written = decoder.decode_all(data, &mut out).map_err(|error| {
            Error::new(ErrorKind::Malformed, Method::Zstd.context(), error.to_string())
        })?;
        out.truncate(written);
        Ok(out)
    }

    /// The decoder takes memory for its window without asking whether there is any: twice what it needs while it
    /// grows, in powers of two.
    fn check_window(window: u64) -> Result<()> {
        let most = window.checked_next_power_of_two().and_then(|it| it.checked_mul(3));
        let most = most.and_then(|it| usize::try_from(it).ok()).unwrap_or(usize::MAX);
        memory::reserve(&mut Vec::<u8>::new(), most, Method::Zstd.context())
    }

    pub(super) fn compress(data: &[u8], _level: i32) -> Result<Vec<u8>> {
        Ok(compress_to_vec(data, CompressionLevel::Fastest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that compress somewhat, and differently at every place.
    fn sample(size: usize) -> Vec<u8> {
        (0u32..).flat_map(|n| (n / 3).wrapping_mul(n).to_le_bytes()).take(size).collect()
    }

    #[test]
    fn round_trips_of_every_size() {
        for size in [0, 1, 255, 256, 257, 65_791, 65_792, 131_072, 1_000_000] {
            let data = sample(size);
            for method in [Method::Zlib, Method::Zstd] {
                let packed = compress(method, &data, 3).unwrap();
                assert_eq!(
                    stream_size(method, &packed).unwrap(),
                    packed.len(),
                    "{method:?} {size}"
                );
                let back = decompress(method, &packed, size as u64, size as u64).unwrap();
                assert!(back == data, "{method:?} {size}");
            }
        }
    }

    #[test]
    fn the_reference_library_agrees() {
        let data = sample(700_000);
        for level in [-5, 1, 3, 9, 19, 22] {
            let theirs = zstd::bulk::compress(&data, level).unwrap();
            assert!(
                decompress(Method::Zstd, &theirs, 700_000, 1 << 20).unwrap() == data,
                "{level}"
            );
        }
        let ours = compress(Method::Zstd, &data, 3).unwrap();
        assert!(zstd::bulk::decompress(&ours, data.len()).unwrap() == data);
    }

    #[test]
    fn parts_are_what_is_there_in_the_whole() {
        let data = sample(700_000);
        let ranges = [0..1, 5..5, 5..300_000, 400_000..400_001, 699_990..700_000];
        let expected: Vec<_> = ranges.iter().map(|it| &data[it.clone()]).collect();
        let wide = ranges.clone().map(|it| it.start as u64..it.end as u64);
        for method in [Method::Zlib, Method::Zstd] {
            let packed = compress(method, &data, 3).unwrap();
            let parts =
                |ranges: &[Range<u64>]| decompress_parts(method, &packed, 700_000, ranges, 1 << 20);
            assert!(parts(&wide).unwrap() == expected);
            assert!(parts(&[]).unwrap().is_empty());
            assert_eq!(parts(&[4..9, 8..10]).unwrap_err().kind(), ErrorKind::Malformed);
            let error = parts(&[5..6, 699_999..700_001]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
            let error = decompress_parts(method, &packed, 700_000, &wide, 699_999).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::LimitExceeded);
        }
    }

    #[test]
    fn of_damage_only_that_before_the_end_of_the_last_part_is_seen() {
        let data = sample(700_000);
        for method in [Method::Zlib, Method::Zstd] {
            let packed = compress(method, &data, 3).unwrap();
            let part = |packed: &[u8]| {
                decompress_parts(method, packed, 700_000, &[10..15, 15..20], 1 << 20)
                    .map(|it| it.concat())
            };
            let mut broken = packed.clone();
            let end = broken.len() - 40;
            broken[end..].fill(0x5a);
            assert!(decompress(method, &broken, 700_000, 1 << 20).ok() != Some(data.clone()));
            assert_eq!(part(&broken).unwrap(), data[10..20], "{method:?}");
            broken[..40].fill(0x5a);
            assert!(part(&broken).is_err(), "{method:?}");
            for length in 0..12 {
                assert!(part(&packed[..length]).is_err(), "{method:?} {length}");
            }
        }
    }

    #[test]
    fn several_frames_and_frames_without_a_size() {
        let data = sample(300_000);
        let known = zstd::bulk::compress(&data, 3).unwrap();
        // A streaming encoder writes no content size.
        let streamed = zstd::stream::encode_all(data.as_slice(), 3).unwrap();
        let skippable = b"\x50\x2a\x4d\x18\x03\0\0\0abc".to_vec();
        let packed = [known, skippable, streamed].concat();
        let back = decompress(Method::Zstd, &packed, 600_000, 1 << 20).unwrap();
        assert!(back == [data.clone(), data].concat());
        for wrong in [299_999, 599_999, 600_001] {
            let error = decompress(Method::Zstd, &packed, wrong, 1 << 20).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Mismatch | ErrorKind::Malformed), "{error}");
        }
    }

    #[test]
    fn large_announcements_by_short_streams_are_refused() {
        // A frame that announces 3.9 GB and holds one byte.
        let mut frame = ZSTD_MAGIC.to_le_bytes().to_vec();
        frame.push(0xa0);
        frame.extend_from_slice(&3_900_000_000u32.to_le_bytes());
        frame.extend_from_slice(&[0x09, 0, 0, b'x']);
        let error = decompress(Method::Zstd, &frame, 3_900_000_000, 4 << 30).unwrap_err();
        assert_eq!(
            error.to_string(),
            "mismatch: zstd stream: 3900000000 bytes announced, the stream holds at most 1 (at offset 0x0)"
        );
        // A window of 3.75 TB, which a streaming decoder would allocate.
        let frame = [ZSTD_MAGIC.to_le_bytes().as_slice(), &[0, 0xff, 0x09, 0, 0, b'x']].concat();
        let error = decompress(Method::Zstd, &frame, 1, 4 << 30).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded);
        let zlib = compress(Method::Zlib, b"x", 6).unwrap();
        let error = decompress(Method::Zlib, &zlib, 1 << 31, 4 << 30).unwrap_err();
        assert_eq!(
            error.to_string(),
            "mismatch: zlib stream: 2147483648 bytes announced, the stream holds at most 9288"
        );
    }

    #[test]
    fn prefixes_and_flipped_bytes_never_panic() {
        let data = sample(3000);
        for method in [Method::Zlib, Method::Zstd] {
            let packed = compress(method, &data, 3).unwrap();
            for length in 0..packed.len() {
                assert!(decompress(method, &packed[..length], 3000, 3000).is_err(), "{length}");
                assert!(stream_size(method, &packed[..length]).is_err(), "{length}");
            }
            for at in 0..packed.len() {
                let mut broken = packed.clone();
                broken[at] ^= 0x55;
                let _ = decompress(method, &broken, 3000, 3000);
                let _ = stream_size(method, &broken);
            }
        }
    }
}
