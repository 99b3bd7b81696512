//! Compressed offload bundles: a short header, then a bundle as a zlib or zstd stream.
//!
//! ```
//! use hsaco_compress::Method;
//! use hsaco_container::{bundle, ccob::{self, Ccob}};
//! let plain = bundle::write(&[("hip-gfx90a", b"abc")], 1);
//! let file = ccob::write(&plain, 3, Method::Zstd, 3)?;
//! let header = Ccob::parse(&file)?;
//! assert_eq!(header.payload(&file, u64::MAX)?, plain);
//! # Ok::<(), hsaco_bytes::Error>(())
//! ```

use std::ops::Range;

use hsaco_bytes::{Error, ErrorKind, Result, read_u16, read_u32, read_u64, slice};
use hsaco_compress::{Method, Unpacker};

use crate::md5;

/// What every compressed bundle begins with.
pub const MAGIC: &[u8; 4] = b"CCOB";

const CONTEXT: &str = "compressed bundle";

/// A compressed bundle's header.
///
/// ```
/// use hsaco_compress::Method;
/// use hsaco_container::ccob::{self, Ccob};
/// let header = Ccob::parse(&ccob::write(b"0123456789", 2, Method::Zlib, 6)?)?;
/// assert_eq!((header.version, header.method), (2, Method::Zlib));
/// assert_eq!((header.header_size, header.uncompressed_size), (24, 10));
/// # Ok::<(), hsaco_bytes::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ccob {
    /// Of the header's layout: 1, 2 or 3.
    pub version: u16,
    /// How the payload is compressed.
    pub method: Method,
    /// Bytes of header and compressed payload. Version 1 does not say; there the stream does.
    pub total_size: u64,
    /// Bytes of the payload once decompressed.
    pub uncompressed_size: u64,
    /// The first eight bytes of the payload's MD5, as a little-endian number.
    pub hash: u64,
    /// Bytes before the compressed payload.
    pub header_size: u64,
}

/// Where the fields of one header version are, and how wide the sizes are.
struct Layout {
    version: u16,
    total: Option<usize>,
    uncompressed: usize,
    hash: usize,
    wide: bool,
}

const LAYOUTS: [Layout; 3] = [
    Layout { version: 1, total: None, uncompressed: 8, hash: 12, wide: false },
    Layout { version: 2, total: Some(8), uncompressed: 12, hash: 16, wide: false },
    Layout { version: 3, total: Some(8), uncompressed: 16, hash: 24, wide: true },
];

impl Layout {
    fn of(version: u16) -> Result<&'static Self> {
        LAYOUTS.iter().find(|layout| layout.version == version).ok_or_else(|| {
            let detail = format!("header version {version}; 1, 2 and 3 are known");
            Error::new(ErrorKind::Unsupported, CONTEXT, detail).at(4)
        })
    }

    fn header_size(&self) -> usize {
        self.hash + 8
    }

    fn size(&self, header: &[u8], at: usize) -> Option<u64> {
        if self.wide { read_u64(header, at) } else { read_u32(header, at).map(u64::from) }
    }

    fn push_size(&self, out: &mut Vec<u8>, size: u64) -> Result<()> {
        match u32::try_from(size) {
            _ if self.wide => out.extend_from_slice(&size.to_le_bytes()),
            Ok(size) => out.extend_from_slice(&size.to_le_bytes()),
            Err(_) => {
                let (version, most) = (self.version, u32::MAX);
                let detail = format!("{size} bytes; header version {version} counts to {most}");
                return Err(Error::new(ErrorKind::LimitExceeded, CONTEXT, detail));
            }
        }
        Ok(())
    }
}

impl Ccob {
    /// Reads the header at the start of `data` and checks that the payload lies within `data`.
    ///
    /// ```
    /// use hsaco_container::ccob::Ccob;
    /// let error = Ccob::parse(b"CCOB\x04\x00\x01\x00").unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "unsupported: compressed bundle: header version 4; 1, 2 and 3 are known (at offset 0x4)"
    /// );
    /// ```
    pub fn parse(data: &[u8]) -> Result<Self> {
        if !data.starts_with(MAGIC) {
            return Err(Error::malformed(CONTEXT, 0, "it does not begin with CCOB"));
        }
        let truncated = |size| Error::truncated(CONTEXT, 0, size, data.len() as u64);
        let version = read_u16(data, 4).ok_or_else(|| truncated(8))?;
        let layout = Layout::of(version)?;
        let header_size = layout.header_size();
        let short = || truncated(header_size as u64);
        let header = data.get(..header_size).ok_or_else(short)?;
        let method = method_of(read_u16(header, 6).ok_or_else(short)?)?;
        let uncompressed_size = layout.size(header, layout.uncompressed).ok_or_else(short)?;
        let hash = read_u64(header, layout.hash).ok_or_else(short)?;
        let total_size = match layout.total {
            Some(at) => {
                stated_total(data, header_size, layout.size(header, at).ok_or_else(short)?)?
            }
            None => measured_total(data, header_size, method)?,
        };
        let header_size = header_size as u64;
        Ok(Self { version, method, total_size, uncompressed_size, hash, header_size })
    }

    /// The payload, decompressed; at most `cap` bytes. The hash is not looked at.
    ///
    /// ```
    /// use hsaco_compress::Method;
    /// use hsaco_container::ccob::{self, Ccob};
    /// let file = ccob::write(b"0123456789", 3, Method::Zstd, 3)?;
    /// assert_eq!(Ccob::parse(&file)?.payload(&file, 1 << 20)?, b"0123456789");
    /// # Ok::<(), hsaco_bytes::Error>(())
    /// ```
    pub fn payload(&self, data: &[u8], cap: u64) -> Result<Vec<u8>> {
        let (stored, size) = (self.stored(data)?, self.uncompressed_size);
        let payload = hsaco_compress::decompress(self.method, stored, size, cap);
        payload.map_err(|error| self.place(error))
    }

    /// Parts of the payload, in order and apart from each other. It is decompressed up to the end of the last: what is
    /// wrong behind that is not seen, and the hash is not looked at.
    ///
    /// ```
    /// use hsaco_compress::Method;
    /// use hsaco_container::ccob::{self, Ccob};
    /// let file = ccob::write(b"0123456789", 3, Method::Zstd, 3)?;
    /// assert_eq!(Ccob::parse(&file)?.parts(&file, &[1..3, 7..8], 1 << 20)?, [b"12".to_vec(), b"7".to_vec()]);
    /// # Ok::<(), hsaco_bytes::Error>(())
    /// ```
    pub fn parts(&self, data: &[u8], parts: &[Range<u64>], cap: u64) -> Result<Vec<Vec<u8>>> {
        let (stored, size) = (self.stored(data)?, self.uncompressed_size);
        let found = hsaco_compress::decompress_parts(self.method, stored, size, parts, cap);
        found.map_err(|error| self.place(error))
    }

    /// The first bytes of the payload, before anything is known of the rest.
    pub(crate) fn start(&self, data: &[u8], size: u64) -> Result<Vec<u8>> {
        let mut start = Vec::new();
        Unpacker::new(self.method.into(), self.stored(data)?)?.take(&mut start, size)?;
        Ok(start)
    }

    /// The compressed payload.
    fn stored<'d>(&self, data: &'d [u8]) -> Result<&'d [u8]> {
        let size = self.total_size.saturating_sub(self.header_size);
        slice(data, self.header_size, size, CONTEXT)
    }

    /// An error of the payload's stream. A decompressor may not say where it stopped: then the place is that of the stream.
    fn place(&self, error: Error) -> Error {
        match error.offset() {
            Some(_) => error.rebased(self.header_size),
            None => error.at(self.header_size),
        }
    }

    /// Compares the hash with that of the decompressed payload.
    ///
    /// ```
    /// use hsaco_compress::Method;
    /// use hsaco_container::ccob::{self, Ccob};
    /// let header = Ccob::parse(&ccob::write(b"0123456789", 3, Method::Zstd, 3)?)?;
    /// assert!(header.verify(b"0123456789").is_ok());
    /// assert!(header.verify(b"0123456780").is_err());
    /// # Ok::<(), hsaco_bytes::Error>(())
    /// ```
    pub fn verify(&self, payload: &[u8]) -> Result<()> {
        self.compare(&md5::digest(payload))
    }

    /// Compares the hash with a digest of the payload.
    pub(crate) fn compare(&self, digest: &[u8; 16]) -> Result<()> {
        let found = md5::truncated(digest);
        if found == self.hash {
            return Ok(());
        }
        let detail = format!("its hash is {:#018x}, its payload's {found:#018x}", self.hash);
        Err(Error::new(ErrorKind::Mismatch, CONTEXT, detail).at(self.header_size - 8))
    }
}

fn method_of(code: u16) -> Result<Method> {
    match code {
        0 => Ok(Method::Zlib),
        1 => Ok(Method::Zstd),
        _ => {
            let detail = format!("compression method {code}; 0 (zlib) and 1 (zstd) are known");
            Err(Error::new(ErrorKind::Unsupported, CONTEXT, detail).at(6))
        }
    }
}

fn method_code(method: Method) -> u16 {
    match method {
        Method::Zlib => 0,
        Method::Zstd => 1,
    }
}

fn stated_total(data: &[u8], header_size: usize, total: u64) -> Result<u64> {
    if total < header_size as u64 {
        let detail = format!("{total} bytes in all, {header_size} of them header");
        return Err(Error::malformed(CONTEXT, 8, detail));
    }
    if total > data.len() as u64 {
        return Err(Error::truncated(CONTEXT, 0, total, data.len() as u64));
    }
    Ok(total)
}

fn measured_total(data: &[u8], header_size: usize, method: Method) -> Result<u64> {
    let stream = data.get(header_size..).unwrap_or_default();
    let size = hsaco_compress::stream_size(method, stream)
        .map_err(|error| error.rebased(header_size as u64))?;
    Ok((header_size + size) as u64)
}

/// The level that a method's own tools use unasked.
#[must_use]
pub const fn default_level(method: Method) -> i32 {
    match method {
        Method::Zstd => 3,
        Method::Zlib => 6,
    }
}

/// `payload` as a compressed bundle with a header of version 1, 2 or 3.
///
/// ```
/// use hsaco_compress::Method;
/// use hsaco_container::ccob;
/// let file = ccob::write(b"0123456789", 3, Method::Zstd, 3)?;
/// assert_eq!(file[..8], *b"CCOB\x03\x00\x01\x00");
/// # Ok::<(), hsaco_bytes::Error>(())
/// ```
pub fn write(payload: &[u8], version: u16, method: Method, level: i32) -> Result<Vec<u8>> {
    let layout = Layout::of(version)?;
    let stored = hsaco_compress::compress(method, payload, level)?;
    let total = (layout.header_size() + stored.len()) as u64;
    let mut out = Vec::with_capacity(layout.header_size() + stored.len());
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&version.to_le_bytes());
    out.extend_from_slice(&method_code(method).to_le_bytes());
    let sizes = [layout.total.map(|_| total), Some(payload.len() as u64)];
    for size in sizes.into_iter().flatten() {
        layout.push_size(&mut out, size)?;
    }
    out.extend_from_slice(&md5::truncated(&md5::digest(payload)).to_le_bytes());
    out.extend_from_slice(&stored);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAYLOAD: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__ and more, and more, and more, and more";

    fn every_form() -> impl Iterator<Item = (u16, Method)> {
        let versions = [1, 2, 3].into_iter();
        versions.flat_map(|version| [Method::Zlib, Method::Zstd].map(|method| (version, method)))
    }

    #[test]
    fn what_is_written_is_read_back() {
        for (version, method) in every_form() {
            let mut file = write(PAYLOAD, version, method, 5).unwrap();
            let size = file.len() as u64;
            file.extend_from_slice(&[0; 100]);
            let header = Ccob::parse(&file).unwrap();
            assert_eq!((header.version, header.method), (version, method));
            assert_eq!(header.total_size, size);
            assert_eq!(header.uncompressed_size, PAYLOAD.len() as u64);
            let payload = header.payload(&file, 1000).unwrap();
            assert_eq!(payload, PAYLOAD);
            header.verify(&payload).unwrap();
        }
    }

    #[test]
    fn every_strict_prefix_is_an_error() {
        for (version, method) in every_form() {
            let file = write(PAYLOAD, version, method, 5).unwrap();
            for length in 0..file.len() {
                let error = Ccob::parse(&file[..length]).unwrap_err();
                assert!(error.offset().is_some(), "{version} {method:?} {length}: {error}");
            }
        }
    }

    #[test]
    fn a_size_that_the_stream_cannot_have_is_refused_before_allocation() {
        for (version, method) in every_form() {
            let mut file = write(PAYLOAD, version, method, 5).unwrap();
            let at = [8, 12, 16][usize::from(version) - 1];
            file[at..at + 4].copy_from_slice(&0xf000_0000u32.to_le_bytes());
            let header = Ccob::parse(&file).unwrap();
            let error = header.payload(&file, 4 << 30).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
            let error = header.payload(&file, 1 << 30).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
        }
    }

    #[test]
    fn unknown_methods_and_small_totals_are_named() {
        let mut file = write(PAYLOAD, 2, Method::Zstd, 5).unwrap();
        file[8] = 10;
        assert_eq!(Ccob::parse(&file).unwrap_err().detail(), "10 bytes in all, 24 of them header");
        file[6] = 2;
        assert_eq!(Ccob::parse(&file).unwrap_err().kind(), ErrorKind::Unsupported);
    }
}
