//! Offload binaries: device images with key-value strings, as `.llvm.offloading` sections hold them.
//!
//! ```
//! use hsaco_container::offload_binary::OffloadBinary;
//! let error = OffloadBinary::parse(b"\x10\xff\x10\xad").unwrap_err();
//! assert_eq!(error.to_string(), "truncated: offload binary: 4 bytes of 32 (at offset 0x0)");
//! ```

use hsaco_bytes::{Error, ErrorKind, Result, Str, c_str, read_u16, read_u32, read_u64, slice};

/// What every offload binary begins with.
pub const MAGIC: &[u8; 4] = b"\x10\xff\x10\xad";

const CONTEXT: &str = "offload binary";
pub(crate) const HEADER_SIZE: u64 = 32;
const ENTRY_SIZE: u64 = 40;
/// Keys and values are words; a bound keeps a hostile table from being read over and over.
const MAX_STRING: u64 = 1024;

/// An offload binary's header and images.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffloadBinary<'a> {
    /// Of the layout: 1 has one image, 2 any number.
    pub version: u32,
    /// Bytes of the whole binary.
    pub size: u64,
    /// The images, in the order of the file.
    pub images: Vec<OffloadImage<'a>>,
}

/// One image of an offload binary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffloadImage<'a> {
    /// What the image is: 1 object, 2 bitcode, 3 cubin, 4 fatbinary, 5 PTX, 6 SPIR-V.
    pub image_kind: u16,
    /// Who made it, a bit each: 1 OpenMP, 2 CUDA, 4 HIP, 8 SYCL.
    pub offload_kind: u16,
    /// Flags of the entry.
    pub flags: u32,
    /// Keys and values, such as `triple` and `arch`.
    pub strings: Vec<(Str<'a>, Str<'a>)>,
    /// Where the image begins, from the start of the binary.
    pub offset: u64,
    /// How many bytes it has.
    pub size: u64,
}

impl<'a> OffloadBinary<'a> {
    /// Reads the offload binary at the start of `data`; every image lies within it.
    ///
    /// ```
    /// use hsaco_container::offload_binary::OffloadBinary;
    /// // Version 2, 36 bytes in all, no images.
    /// let fields = [36u64, 32, 0].map(u64::to_le_bytes).concat();
    /// let file = [b"\x10\xff\x10\xad\x02\0\0\0".as_slice(), &fields, b"rest"].concat();
    /// let binary = OffloadBinary::parse(&file)?;
    /// assert_eq!((binary.version, binary.size, binary.images.len()), (2, 36, 0));
    /// # Ok::<(), hsaco_bytes::Error>(())
    /// ```
    pub fn parse(data: &'a [u8]) -> Result<Self> {
        let (version, size) = Self::header(data)?;
        let data = slice(data, 0, size, CONTEXT)?;
        let field = |at| read_u64(data, at).unwrap_or(0);
        let (table, last_field) = (field(16), field(24));
        let count = if version == 1 { 1 } else { last_field };
        let rows = slice(data, table, count.saturating_mul(ENTRY_SIZE), "offload binary entries")?;
        let mut strings_left = size;
        let mut images = Vec::new();
        for row in rows.chunks_exact(40) {
            images.push(OffloadImage::parse(data, row, version, &mut strings_left)?);
        }
        Ok(Self { version, size, images })
    }

    /// Where the table of images is, if it lies within `data`.
    pub(crate) fn table(data: &[u8]) -> Result<std::ops::Range<u64>> {
        let (version, size) = Self::header(data)?;
        let [start, last_field] = [16, 24].map(|at| read_u64(data, at).unwrap_or(0));
        let count = if version == 1 { 1 } else { last_field };
        let end = start.saturating_add(count.saturating_mul(ENTRY_SIZE));
        Ok(start.min(size)..end.min(size))
    }

    /// The version and the size, both checked.
    pub(crate) fn header(data: &[u8]) -> Result<(u32, u64)> {
        let header = slice(data, 0, HEADER_SIZE, CONTEXT)?;
        if !header.starts_with(MAGIC) {
            return Err(Error::malformed(CONTEXT, 0, "it does not begin with 10 ff 10 ad"));
        }
        let version = read_u32(header, 4).unwrap_or(0);
        if !matches!(version, 1 | 2) {
            let detail = format!("version {version}; 1 and 2 are known");
            return Err(Error::new(ErrorKind::Unsupported, CONTEXT, detail).at(4));
        }
        let size = read_u64(header, 8).unwrap_or(0);
        if size < HEADER_SIZE {
            let detail = format!("{size} bytes in all, {HEADER_SIZE} of them header");
            return Err(Error::malformed(CONTEXT, 8, detail));
        }
        slice(data, 0, size, CONTEXT)?;
        Ok((version, size))
    }
}

impl<'a> OffloadImage<'a> {
    fn parse(data: &'a [u8], row: &[u8], version: u32, strings_left: &mut u64) -> Result<Self> {
        let field = |at| read_u64(row, at).unwrap_or(0);
        let (strings_at, strings_count) = (field(8), field(16));
        let row_size = if version == 1 { 16u64 } else { 24 };
        let table_size = strings_count.saturating_mul(row_size);
        *strings_left = strings_left.checked_sub(table_size).ok_or_else(|| {
            let detail = format!("{strings_count} strings do not fit {} bytes", data.len());
            Error::malformed("offload binary strings", strings_at, detail)
        })?;
        let table = slice(data, strings_at, table_size, "offload binary strings")?;
        let rows = table.chunks_exact(if version == 1 { 16 } else { 24 });
        let image = Self {
            image_kind: read_u16(row, 0).unwrap_or(0),
            offload_kind: read_u16(row, 2).unwrap_or(0),
            flags: read_u32(row, 4).unwrap_or(0),
            strings: rows.map(|row| string_pair(data, row)).collect::<Result<_>>()?,
            offset: field(24),
            size: field(32),
        };
        slice(data, image.offset, image.size, "offload binary image")?;
        Ok(image)
    }

    /// The value of a key.
    pub fn string(&self, key: &str) -> Option<Str<'a>> {
        self.strings.iter().find(|(name, _)| *name == key).map(|(_, value)| *value)
    }

    /// The name of the producer, if it is a known one.
    pub fn producer(&self) -> Option<&'static str> {
        match self.offload_kind {
            1 => Some("openmp"),
            2 => Some("cuda"),
            4 => Some("hip"),
            8 => Some("sycl"),
            _ => None,
        }
    }

    /// Producer, triple and processor in the form of a bundle entry's id:
    /// `hip-amdgcn-amd-amdhsa--gfx942`.
    pub fn id(&self) -> Option<String> {
        let triple = self.string("triple").filter(|triple| !triple.is_empty())?;
        let mut id = self.producer().map_or(String::new(), |producer| format!("{producer}-"));
        id.push_str(&triple.to_str_lossy());
        let components = triple.as_bytes().split(|&byte| byte == b'-').count();
        // An id has four triple components before the processor, empty ones included.
        id.extend(std::iter::repeat_n('-', 5usize.saturating_sub(components).max(1)));
        id.push_str(&self.string("arch").unwrap_or_default().to_str_lossy());
        Some(id)
    }
}

/// A key and its value: version 1 ends the value with a NUL, version 2 gives its size.
fn string_pair<'a>(data: &'a [u8], row: &[u8]) -> Result<(Str<'a>, Str<'a>)> {
    let key = string_at(data, read_u64(row, 0).unwrap_or(0))?;
    let offset = read_u64(row, 8).unwrap_or(0);
    let value = match read_u64(row, 16) {
        Some(size) => Str::new(slice(data, offset, size, "offload binary string")?),
        None => string_at(data, offset)?,
    };
    Ok((key, value))
}

fn string_at(data: &[u8], offset: u64) -> Result<Str<'_>> {
    let available = (data.len() as u64).saturating_sub(offset).min(MAX_STRING);
    let window = slice(data, offset, available, "offload binary string")?;
    c_str(window, 0).ok_or_else(|| {
        let detail = format!("no NUL within {available} bytes");
        Error::malformed("offload binary string", offset, detail)
    })
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation)]
mod tests {
    use super::*;

    /// An offload binary of version 2: a header, rows for two images, one string table, the images.
    fn version_two() -> Vec<u8> {
        let mut out = [MAGIC.as_slice(), &2u32.to_le_bytes()].concat();
        let words = |out: &mut Vec<u8>, words: &[u64]| {
            out.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        };
        let (rows, table) = (32u64, 32 + 2 * 40);
        let names = table + 2 * 24;
        let images = names + 32;
        words(&mut out, &[images + 5, rows, 2]);
        for (offset, size) in [(images, 3), (images + 3, 2)] {
            out.extend_from_slice(&[1, 0, 4, 0, 0, 0, 0, 0]);
            words(&mut out, &[table, 2, offset, size]);
        }
        words(&mut out, &[names, names + 12, 3, names + 7, names + 15, 6]);
        out.extend_from_slice(b"triple\0arch\0a-bgfx90a\0");
        out.resize(images as usize, 0);
        out.extend_from_slice(b"onetw");
        out
    }

    #[test]
    fn version_two_has_many_images_and_sized_strings() {
        let file = version_two();
        let binary = OffloadBinary::parse(&file).unwrap();
        let places: Vec<_> = binary.images.iter().map(|image| (image.offset, image.size)).collect();
        assert_eq!(places, [(192, 3), (195, 2)]);
        let image = &binary.images[0];
        assert_eq!(image.string("triple").unwrap().to_string(), "a-b");
        assert_eq!(image.id().as_deref(), Some("hip-a-b---gfx90a"));
    }

    #[test]
    fn every_strict_prefix_is_an_error() {
        let file = version_two();
        for length in 0..file.len() {
            let error = OffloadBinary::parse(&file[..length]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Truncated, "{length}: {error}");
        }
    }

    #[test]
    fn shared_string_tables_may_not_outgrow_the_file() {
        let mut file = version_two();
        file[32 + 16..32 + 24].copy_from_slice(&9u64.to_le_bytes());
        let error = OffloadBinary::parse(&file).unwrap_err();
        assert_eq!(error.detail(), "9 strings do not fit 197 bytes");
    }
}
