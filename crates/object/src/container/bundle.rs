//! Clang offload bundles: a table of ids, and for each id a range of the same file.
//!
//! ```
//! use hsaco_object::container::bundle::{self, Bundle};
//! let file = bundle::write(&[("host-x86_64-unknown-linux-gnu-", ""), ("hip-gfx90a", "abc")], 4096);
//! let bundle = Bundle::parse(&file)?;
//! assert_eq!((bundle.entries[1].offset, bundle.entries[1].size), (4096, 3));
//! # Ok::<(), hsaco_object::Error>(())
//! ```

use std::ops::Range;

use crate::bytes::{read_u64, slice};
use crate::{Error, Result, Str};

/// What every bundle begins with.
pub const MAGIC: &[u8; 24] = b"__CLANG_OFFLOAD_BUNDLE__";

const CONTEXT: &str = "offload bundle";
pub(crate) const COUNT_END: usize = 32;
const ENTRY_FIXED: usize = 24;
const MAX_ALIGNMENT: u64 = 1 << 20;

/// A bundle's header.
///
/// ```
/// use hsaco_object::container::bundle::{self, Bundle};
/// let file = bundle::write(&[("hip-gfx90a", b"abc")], 1);
/// let bundle = Bundle::parse(&file)?;
/// assert_eq!((bundle.header_size, bundle.extent()), (66, 69));
/// # Ok::<(), hsaco_object::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bundle<'a> {
    /// The entries in the order of the table.
    pub entries: Vec<BundleEntry<'a>>,
    /// How many bytes the magic, the count and the table take.
    pub header_size: u64,
}

/// One row of a bundle's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BundleEntry<'a> {
    /// What the content is for: `hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+`.
    pub id: Str<'a>,
    /// Where the content begins, from the start of the bundle.
    pub offset: u64,
    /// How many bytes it has.
    pub size: u64,
    /// Where this row of the table begins.
    pub row: u64,
}

/// What a range of a bundle's bytes is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Magic, count and table.
    Header,
    /// The content of the entry with this index.
    Entry(usize),
    /// Bytes between those.
    Padding,
}

impl<'a> Bundle<'a> {
    /// Reads the header at the start of `data` and checks that every entry lies within `data`,
    /// after the header.
    ///
    /// ```
    /// use hsaco_object::container::bundle::{self, Bundle};
    /// let file = bundle::write(&[("hip-gfx90a", b"abc")], 1);
    /// let error = Bundle::parse(&file[..68]).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "truncated: offload bundle entry: 2 bytes of 3 (at offset 0x42)"
    /// );
    /// ```
    pub fn parse(data: &'a [u8]) -> Result<Self> {
        let (bundle, damage) = Self::read(data);
        if let Some(error) = damage {
            return Err(error);
        }
        for entry in &bundle.entries {
            bundle.content(data, entry)?;
        }
        Ok(bundle)
    }

    /// Reads as much of the header as there is, and says what stopped it.
    pub(crate) fn read(data: &'a [u8]) -> (Self, Option<Error>) {
        let mut bundle = Self::default();
        let damage = bundle.read_table(data).err();
        (bundle, damage)
    }

    fn read_table(&mut self, data: &'a [u8]) -> Result<()> {
        if !data.starts_with(MAGIC) {
            return Err(Error::malformed(CONTEXT, 0, "it does not begin with the bundle magic"));
        }
        self.header_size = MAGIC.len() as u64;
        let count = read_u64(data, MAGIC.len())
            .ok_or_else(|| Error::truncated(CONTEXT, 0, COUNT_END as u64, data.len() as u64))?;
        self.header_size = COUNT_END as u64;
        let possible = (data.len() - COUNT_END) / ENTRY_FIXED;
        if count > possible as u64 {
            let detail = format!("{count} entries announced, there is room for {possible}");
            return Err(Error::malformed(CONTEXT, MAGIC.len() as u64, detail));
        }
        for _ in 0..count {
            let entry = BundleEntry::parse(data, self.header_size)?;
            self.header_size += ENTRY_FIXED as u64 + entry.id.as_bytes().len() as u64;
            self.entries.push(entry);
        }
        Ok(())
    }

    /// The content of one entry.
    ///
    /// ```
    /// use hsaco_object::container::bundle::{self, Bundle};
    /// let file = bundle::write(&[("hip-gfx90a", b"abc")], 1);
    /// let bundle = Bundle::parse(&file)?;
    /// assert_eq!(bundle.content(&file, &bundle.entries[0])?, b"abc");
    /// # Ok::<(), hsaco_object::Error>(())
    /// ```
    pub fn content<'d>(&self, data: &'d [u8], entry: &BundleEntry<'_>) -> Result<&'d [u8]> {
        if entry.size > 0 && entry.offset < self.header_size {
            let detail = format!(
                "{} begins at {:#x}, inside the header of {:#x} bytes",
                entry.id, entry.offset, self.header_size
            );
            return Err(Error::malformed("offload bundle entry", entry.row, detail));
        }
        slice(data, entry.offset, entry.size, "offload bundle entry")
    }

    /// Where the bundle ends: the end of its header or of its last entry.
    pub fn extent(&self) -> u64 {
        self.readable_extent(u64::MAX)
    }

    /// The same, for a bundle of which only `limit` bytes are there: entries that reach further
    /// say nothing about where the next bundle is.
    pub(super) fn readable_extent(&self, limit: u64) -> u64 {
        let ends = self.entries.iter().filter_map(|entry| entry.offset.checked_add(entry.size));
        ends.filter(|&end| end <= limit).fold(self.header_size, u64::max)
    }

    /// The alignment with which [`write`] lays these entries out as they are, if there is one.
    ///
    /// ```
    /// use hsaco_object::container::bundle::{self, Bundle};
    /// let file = bundle::write(&[("hip-gfx90a", b"abc")], 4096);
    /// assert_eq!(Bundle::parse(&file)?.alignment(), Some(4096));
    /// # Ok::<(), hsaco_object::Error>(())
    /// ```
    pub fn alignment(&self) -> Option<u64> {
        let sizes: Vec<u64> = self.entries.iter().map(|entry| entry.size).collect();
        let powers = std::iter::successors(Some(1u64), |power| power.checked_mul(2));
        powers.take_while(|&power| power <= MAX_ALIGNMENT).find(|&power| {
            let offsets = layout(self.header_size, &sizes, power);
            offsets.eq(self.entries.iter().map(|entry| entry.offset))
        })
    }

    /// Every byte up to [`extent`](Self::extent), in order, and what it belongs to.
    ///
    /// ```
    /// use hsaco_object::container::bundle::{self, Bundle, Part};
    /// let file = bundle::write(&[("hip-gfx90a", b"abc")], 128);
    /// let parts = Bundle::parse(&file)?.parts();
    /// assert_eq!(
    ///     parts,
    ///     [(0..66, Part::Header), (66..128, Part::Padding), (128..131, Part::Entry(0))]
    /// );
    /// # Ok::<(), hsaco_object::Error>(())
    /// ```
    pub fn parts(&self) -> Vec<(Range<u64>, Part)> {
        let mut contents: Vec<_> = self.entries.iter().enumerate().collect();
        contents.retain(|(_, entry)| entry.size > 0);
        contents.sort_by_key(|(_, entry)| entry.offset);
        let mut parts = vec![(0..self.header_size, Part::Header)];
        let mut position = self.header_size;
        for (index, entry) in contents {
            if entry.offset > position {
                parts.push((position..entry.offset, Part::Padding));
            }
            let end = entry.offset.saturating_add(entry.size);
            parts.push((entry.offset..end, Part::Entry(index)));
            position = position.max(end);
        }
        parts
    }
}

impl<'a> BundleEntry<'a> {
    fn parse(data: &'a [u8], row: u64) -> Result<Self> {
        let fixed = slice(data, row, ENTRY_FIXED as u64, "offload bundle table")?;
        let [offset, size, id_size] = [0, 8, 16].map(|at| read_u64(fixed, at).unwrap_or(0));
        let id = slice(data, row + ENTRY_FIXED as u64, id_size, "offload bundle entry id")?;
        Ok(Self { id: Str::new(id), offset, size, row })
    }

    /// True for the entry that stands for the host's side, which is nearly always empty.
    pub fn is_host(&self) -> bool {
        is_host_id(self.id.as_bytes())
    }
}

pub(super) fn is_host_id(id: &[u8]) -> bool {
    id == b"host" || id.starts_with(b"host-")
}

/// Where contents of these sizes go after a header, each at a multiple of `alignment`.
fn layout(header: u64, sizes: &[u64], alignment: u64) -> impl Iterator<Item = u64> {
    let alignment = alignment.max(1);
    sizes.iter().scan(header, move |position, &size| {
        let offset = position.checked_next_multiple_of(alignment)?;
        *position = offset.checked_add(size)?;
        Some(offset)
    })
}

/// A bundle of these entries, byte for byte as `clang-offload-bundler` lays it out.
///
/// The ids are written as given; the bundler appends a `-` to ids that name no processor.
///
/// ```
/// use hsaco_object::container::bundle;
/// let file = bundle::write(&[("host-x86_64-unknown-linux-gnu-", ""), ("hip-gfx90a", "abc")], 1);
/// assert_eq!(file.len(), 24 + 8 + 24 + 30 + 24 + 10 + 3);
/// ```
pub fn write<I: AsRef<[u8]>, D: AsRef<[u8]>>(entries: &[(I, D)], alignment: u64) -> Vec<u8> {
    let sizes: Vec<u64> = entries.iter().map(|(_, data)| data.as_ref().len() as u64).collect();
    let ids: usize = entries.iter().map(|(id, _)| id.as_ref().len()).sum();
    let header = (COUNT_END + ENTRY_FIXED * entries.len() + ids) as u64;
    let mut out = Vec::from(MAGIC);
    out.extend_from_slice(&(entries.len() as u64).to_le_bytes());
    for ((id, data), offset) in entries.iter().zip(layout(header, &sizes, alignment)) {
        let (id, data) = (id.as_ref(), data.as_ref());
        for field in [offset, data.len() as u64, id.len() as u64] {
            out.extend_from_slice(&field.to_le_bytes());
        }
        out.extend_from_slice(id);
    }
    for (_, data) in entries {
        let aligned = out.len().checked_next_multiple_of(alignment.max(1).try_into().unwrap_or(1));
        out.resize(aligned.unwrap_or(out.len()), 0);
        out.extend_from_slice(data.as_ref());
    }
    out
}

/// The bundle at the start of `data` with only the entries that `keep` wants, and the host's.
///
/// ```
/// use hsaco_object::container::bundle::{self, prune};
/// let one = ("host-x86_64-unknown-linux-gnu-", b"".as_slice());
/// let two = ("hip-gfx90a", b"abc".as_slice());
/// let three = ("hip-gfx942", b"de".as_slice());
/// let file = bundle::write(&[one, two, three], 1);
/// assert_eq!(prune(&file, |id| id == "hip-gfx942")?, bundle::write(&[one, three], 1));
/// # Ok::<(), hsaco_object::Error>(())
/// ```
pub fn prune(data: &[u8], keep: impl Fn(&str) -> bool) -> Result<Vec<u8>> {
    let bundle = Bundle::parse(data)?;
    let mut kept = Vec::new();
    for entry in &bundle.entries {
        if entry.is_host() || keep(&entry.id.to_str_lossy()) {
            kept.push((entry.id.as_bytes(), bundle.content(data, entry)?));
        }
    }
    Ok(write(&kept, bundle.alignment().unwrap_or_else(|| bundle.common_alignment())))
}

impl Bundle<'_> {
    /// The largest alignment, up to a page, that every content has.
    fn common_alignment(&self) -> u64 {
        let bits = self.entries.iter().fold(4096, |bits, entry| bits | entry.offset);
        1 << bits.trailing_zeros()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    const HOST: (&str, &[u8]) = ("host-x86_64-unknown-linux-gnu-", b"");
    const ONE: (&str, &[u8]) = ("hipv4-amdgcn-amd-amdhsa--gfx942", b"AAAA");
    const TWO: (&str, &[u8]) = ("hipv4-amdgcn-amd-amdhsa--gfx1100", b"BBBBBBB");

    #[test]
    fn what_is_written_is_read_back() {
        for alignment in [1, 4, 8, 4096] {
            let file = write(&[HOST, ONE, TWO], alignment);
            let bundle = Bundle::parse(&file).unwrap();
            assert_eq!(bundle.extent(), file.len() as u64);
            let back: Vec<_> = bundle
                .entries
                .iter()
                .map(|entry| (entry.id.as_bytes(), bundle.content(&file, entry).unwrap()))
                .collect();
            assert_eq!(back, [HOST, ONE, TWO].map(|(id, data)| (id.as_bytes(), data)));
            assert_eq!(write(&back, bundle.alignment().unwrap()), file);
        }
    }

    #[test]
    fn every_strict_prefix_is_an_error() {
        let file = write(&[HOST, ONE, TWO], 16);
        for length in 0..file.len() {
            let error = Bundle::parse(&file[..length]).unwrap_err();
            assert!(error.offset().is_some(), "{length}: {error}");
        }
    }

    #[test]
    fn an_absurd_count_allocates_nothing() {
        let mut file = write(&[ONE], 1);
        file[24..32].copy_from_slice(&u64::MAX.to_le_bytes());
        let error = Bundle::parse(&file).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Malformed);
        assert_eq!(error.detail(), "18446744073709551615 entries announced, there is room for 2");
    }

    #[test]
    fn an_entry_inside_the_header_is_refused() {
        let mut file = write(&[ONE], 1);
        file[32..40].copy_from_slice(&8u64.to_le_bytes());
        let error = Bundle::parse(&file).unwrap_err();
        assert_eq!((error.kind(), error.offset()), (ErrorKind::Malformed, Some(32)));
    }

    #[test]
    fn pruning_keeps_the_host_and_the_alignment() {
        let file = write(&[HOST, ONE, TWO], 4096);
        let small = prune(&file, |id| id.ends_with("gfx1100")).unwrap();
        assert_eq!(small, write(&[HOST, TWO], 4096));
        assert_eq!(prune(&file, |_| true).unwrap(), file);
    }
}
