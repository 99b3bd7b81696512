//! Clang offload bundles: a table of ids, and for each id a range of the same file.
//!
//! ```
//! use hsaco_container::bundle::{self, Bundle};
//! let file = bundle::write(&[("host-x86_64-unknown-linux-gnu-", ""), ("hip-gfx90a", "abc")], 4096);
//! let bundle = Bundle::parse(&file)?;
//! assert_eq!((bundle.entries[1].offset, bundle.entries[1].size), (4096, 3));
//! # Ok::<(), hsaco_bytes::Error>(())
//! ```

use std::ops::Range;

use hsaco_bytes::{Error, Result, Str, memory, read_u64, slice};

use crate::piece::{FilePiece, zeroed};

/// What every bundle begins with.
pub const MAGIC: &[u8; 24] = b"__CLANG_OFFLOAD_BUNDLE__";

const CONTEXT: &str = "offload bundle";
pub(crate) const COUNT_END: usize = 32;
const ENTRY_FIXED: usize = 24;
const MAX_ALIGNMENT: u64 = 1 << 20;

/// A bundle's header.
///
/// ```
/// use hsaco_container::bundle::{self, Bundle};
/// let file = bundle::write(&[("hip-gfx90a", b"abc")], 1);
/// let bundle = Bundle::parse(&file)?;
/// assert_eq!((bundle.header_size, bundle.extent()), (66, 69));
/// # Ok::<(), hsaco_bytes::Error>(())
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
    /// use hsaco_container::bundle::{self, Bundle};
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
    /// use hsaco_container::bundle::{self, Bundle};
    /// let file = bundle::write(&[("hip-gfx90a", b"abc")], 1);
    /// let bundle = Bundle::parse(&file)?;
    /// assert_eq!(bundle.content(&file, &bundle.entries[0])?, b"abc");
    /// # Ok::<(), hsaco_bytes::Error>(())
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
    pub(crate) fn readable_extent(&self, limit: u64) -> u64 {
        let ends = self.entries.iter().filter_map(|entry| entry.offset.checked_add(entry.size));
        ends.filter(|&end| end <= limit).fold(self.header_size, u64::max)
    }

    /// The alignment with which [`write()`] lays these entries out as they are, if there is one.
    ///
    /// ```
    /// use hsaco_container::bundle::{self, Bundle};
    /// let file = bundle::write(&[("hip-gfx90a", b"abc")], 4096);
    /// assert_eq!(Bundle::parse(&file)?.alignment(), Some(4096));
    /// # Ok::<(), hsaco_bytes::Error>(())
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
    /// use hsaco_container::bundle::{self, Bundle, Part};
    /// let file = bundle::write(&[("hip-gfx90a", b"abc")], 128);
    /// let parts = Bundle::parse(&file)?.parts();
    /// assert_eq!(
    ///     parts,
    ///     [(0..66, Part::Header), (66..128, Part::Padding), (128..131, Part::Entry(0))]
    /// );
    /// # Ok::<(), hsaco_bytes::Error>(())
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

pub(crate) fn is_host_id(id: &[u8]) -> bool {
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
/// use hsaco_container::bundle;
/// let file = bundle::write(&[("host-x86_64-unknown-linux-gnu-", ""), ("hip-gfx90a", "abc")], 1);
/// assert_eq!(file.len(), 24 + 8 + 24 + 30 + 24 + 10 + 3);
/// ```
pub fn write<I: AsRef<[u8]>, D: AsRef<[u8]>>(entries: &[(I, D)], alignment: u64) -> Vec<u8> {
    let mut out = Vec::new();
    write_into(&mut out, entries, alignment);
    out
}

/// As [`write`], where contents are as large as input makes them.
pub(crate) fn try_write<I: AsRef<[u8]>, D: AsRef<[u8]>>(
    entries: &[(I, D)],
    alignment: u64,
) -> Result<Vec<u8>> {
    let step = usize::try_from(alignment).unwrap_or(usize::MAX);
    let room = |(id, data): &(I, D)| {
        let id = ENTRY_FIXED.saturating_add(id.as_ref().len());
        id.saturating_add(data.as_ref().len()).saturating_add(step)
    };
    let room = entries.iter().map(room).fold(COUNT_END, usize::saturating_add);
    let mut out = Vec::new();
    memory::reserve(&mut out, room, CONTEXT)?;
    write_into(&mut out, entries, alignment);
    Ok(out)
}

fn write_into<I: AsRef<[u8]>, D: AsRef<[u8]>>(
    out: &mut Vec<u8>,
    entries: &[(I, D)],
    alignment: u64,
) {
    let sizes: Vec<u64> = entries.iter().map(|(_, data)| data.as_ref().len() as u64).collect();
    let ids: usize = entries.iter().map(|(id, _)| id.as_ref().len()).sum();
    let header = (COUNT_END + ENTRY_FIXED * entries.len() + ids) as u64;
    let rows = entries.iter().zip(&sizes).zip(layout(header, &sizes, alignment));
    let rows: Vec<_> = rows.map(|(((id, _), &size), offset)| (id.as_ref(), offset, size)).collect();
    out.extend(header_bytes(&rows));
    for (_, data) in entries {
        let aligned = out.len().checked_next_multiple_of(alignment.max(1).try_into().unwrap_or(1));
        out.resize(aligned.unwrap_or(out.len()), 0);
        out.extend_from_slice(data.as_ref());
    }
}

/// Magic, count and table of these ids, offsets and sizes.
fn header_bytes(rows: &[(&[u8], u64, u64)]) -> Vec<u8> {
    let mut out = Vec::from(MAGIC);
    out.extend_from_slice(&(rows.len() as u64).to_le_bytes());
    for &(id, offset, size) in rows {
        for field in [offset, size, id.len() as u64] {
            out.extend_from_slice(&field.to_le_bytes());
        }
        out.extend_from_slice(id);
    }
    out
}

/// A bundle of `size` bytes with its contents where they are told to be, and `gaps` between them;
/// all else is zero. Nothing if they do not fit: past the end, in the header, or over each other.
///
/// With the entries and [`gaps`](Bundle::gaps) of a bundle that exists, this is that bundle.
///
/// ```
/// use hsaco_container::bundle::{assemble, write};
/// let entries = [("hip-gfx90a", 128, "abc")];
/// assert_eq!(assemble(&entries, &[], 131), Some(write(&[("hip-gfx90a", "abc")], 128)));
/// assert_eq!(assemble(&entries, &[], 130), None);
/// ```
pub fn assemble<I: AsRef<[u8]>, D: AsRef<[u8]>>(
    entries: &[(I, u64, D)],
    gaps: &[(u64, &[u8])],
    size: u64,
) -> Option<Vec<u8>> {
    let rows: Vec<_> = entries
        .iter()
        .map(|(id, offset, data)| (id.as_ref(), *offset, data.as_ref().len() as u64))
        .collect();
    let header = header_bytes(&rows);
    let mut out = header.clone();
    let size = usize::try_from(size).ok().filter(|&size| size >= out.len())?;
    out.try_reserve_exact(size - out.len()).ok()?;
    out.resize(size, 0);
    let contents = entries.iter().map(|(_, offset, data)| (*offset, data.as_ref()));
    let pieces: Vec<_> = gaps.iter().copied().chain(contents).collect();
    for &(offset, bytes) in pieces.iter().filter(|(_, bytes)| !bytes.is_empty()) {
        range_mut(&mut out, offset, bytes.len())?.copy_from_slice(bytes);
    }
    let intact = |&(offset, bytes): &(u64, &[u8])| {
        bytes.is_empty()
            || slice(&out, offset, bytes.len() as u64, CONTEXT).is_ok_and(|found| found == bytes)
    };
    (out.starts_with(&header) && pieces.iter().all(intact)).then_some(out)
}

fn range_mut(data: &mut [u8], offset: u64, size: usize) -> Option<&mut [u8]> {
    data.get_mut(usize::try_from(offset).ok()?..)?.get_mut(..size)
}

/// The bundle at the start of `data`, of which nothing moves, as pieces of `data`: the table lists only the entries that
/// `keep` wants, and the host's; what the others held is zero.
pub(crate) fn blank(data: &[u8], keep: impl Fn(&str) -> bool) -> Result<Vec<FilePiece>> {
    let bundle = Bundle::parse(data)?;
    let extent = bundle.extent();
    slice(data, 0, extent, CONTEXT)?;
    let (kept, dropped): (Vec<&BundleEntry<'_>>, Vec<_>) =
        bundle.entries.iter().partition(|it| it.is_host() || keep(&it.id.to_str_lossy()));
    for entry in &kept {
        bundle.content(data, entry)?;
    }
    let rows: Vec<_> = kept.iter().map(|it| (it.id.as_bytes(), it.offset, it.size)).collect();
    let header = header_bytes(&rows);
    let rest = bundle.header_size.saturating_sub(header.len() as u64);
    let range = |it: &&BundleEntry<'_>| it.offset..it.offset.saturating_add(it.size);
    // A content may lie within another: what is kept stays.
    let contents =
        zeroed(bundle.header_size, extent, dropped.iter().map(range), kept.iter().map(range));
    Ok([FilePiece::New(header), FilePiece::Zeros(rest)].into_iter().chain(contents).collect())
}

/// The same as [`prune`] makes of the bundle, as pieces of `data`.
pub(crate) fn prune_in_pieces(data: &[u8], keep: impl Fn(&str) -> bool) -> Result<Vec<FilePiece>> {
    let bundle = Bundle::parse(data)?;
    let kept: Vec<&BundleEntry<'_>> =
        bundle.entries.iter().filter(|it| it.is_host() || keep(&it.id.to_str_lossy())).collect();
    let alignment = bundle.alignment().unwrap_or_else(|| bundle.common_alignment());
    let sizes: Vec<u64> = kept.iter().map(|it| it.size).collect();
    let ids: usize = kept.iter().map(|it| it.id.as_bytes().len()).sum();
    let mut end = (COUNT_END + ENTRY_FIXED * kept.len() + ids) as u64;
    let (mut rows, mut contents) = (Vec::new(), Vec::new());
    for (entry, offset) in kept.iter().zip(layout(end, &sizes, alignment)) {
        bundle.content(data, entry)?;
        rows.push((entry.id.as_bytes(), offset, entry.size));
        contents.push(FilePiece::Zeros(offset.saturating_sub(end)));
        // Where an empty entry says that it is does not matter.
        let from = if entry.size == 0 { 0 } else { entry.offset };
        contents.push(FilePiece::Kept(from..from.saturating_add(entry.size)));
        end = offset.saturating_add(entry.size);
    }
    Ok([FilePiece::New(header_bytes(&rows))].into_iter().chain(contents).collect())
}

/// The bundle at the start of `data` with only the entries that `keep` wants, and the host's.
///
/// ```
/// use hsaco_container::bundle::{self, prune};
/// let one = ("host-x86_64-unknown-linux-gnu-", b"".as_slice());
/// let two = ("hip-gfx90a", b"abc".as_slice());
/// let three = ("hip-gfx942", b"de".as_slice());
/// let file = bundle::write(&[one, two, three], 1);
/// assert_eq!(prune(&file, |id| id == "hip-gfx942")?, bundle::write(&[one, three], 1));
/// # Ok::<(), hsaco_bytes::Error>(())
/// ```
pub fn prune(data: &[u8], keep: impl Fn(&str) -> bool) -> Result<Vec<u8>> {
    let bundle = Bundle::parse(data)?;
    let mut kept = Vec::new();
    for entry in &bundle.entries {
        if entry.is_host() || keep(&entry.id.to_str_lossy()) {
            kept.push((entry.id.as_bytes(), bundle.content(data, entry)?));
        }
    }
    try_write(&kept, bundle.alignment().unwrap_or_else(|| bundle.common_alignment()))
}

impl Bundle<'_> {
    /// The bytes of `data`, which is the bundle and what follows it, that belong to nothing and are
    /// not zero.
    ///
    /// ```
    /// use hsaco_container::bundle::{self, Bundle};
    /// let mut file = bundle::write(&[("hip-gfx90a", b"abc")], 128);
    /// file[100] = 7;
    /// let bundle = Bundle::parse(&file)?;
    /// assert_eq!(bundle.gaps(&file)[0].0, 66);
    /// assert_eq!(bundle.gaps(&file)[0].1.len(), 62);
    /// # Ok::<(), hsaco_bytes::Error>(())
    /// ```
    pub fn gaps<'d>(&self, data: &'d [u8]) -> Vec<(u64, &'d [u8])> {
        let mut ranges: Vec<_> = self.parts();
        ranges.retain(|(_, part)| *part == Part::Padding);
        ranges.push((self.extent()..data.len() as u64, Part::Padding));
        let bytes = ranges.into_iter().filter_map(|(range, _)| {
            let size = range.end.checked_sub(range.start)?;
            Some((range.start, slice(data, range.start, size, CONTEXT).ok()?))
        });
        bytes.filter(|(_, bytes)| bytes.iter().any(|&byte| byte != 0)).collect()
    }

    /// The largest alignment, up to a page, that every content has.
    pub fn common_alignment(&self) -> u64 {
        let bits = self.entries.iter().fold(4096, |bits, entry| bits | entry.offset);
        1 << bits.trailing_zeros()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hsaco_bytes::ErrorKind;

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
    fn a_bundle_taken_apart_is_put_together() {
        let mut file = write(&[HOST, ONE, TWO], 256);
        file[300] = 9;
        file.extend_from_slice(b"tail");
        let bundle = Bundle::parse(&file).unwrap();
        let entries: Vec<_> = bundle
            .entries
            .iter()
            .map(|it| (it.id.as_bytes(), it.offset, bundle.content(&file, it).unwrap()))
            .collect();
        let gaps = bundle.gaps(&file);
        assert_eq!(gaps.len(), 2);
        assert_eq!(assemble(&entries, &gaps, file.len() as u64), Some(file.clone()));
        let over_each_other = [("a", 100, "xx"), ("b", 101, "yy")];
        assert_eq!(assemble(&over_each_other, &[], 200), None);
        assert_eq!(assemble(&[("a", 10, "x")], &[], 200), None);
        assert_eq!(assemble(&[("a", u64::MAX, "x")], &[], 200), None);
        assert_eq!(assemble(&[("a", u64::MAX, "")], &[], 200).unwrap().len(), 200);
    }

    #[test]
    fn blanking_moves_nothing() {
        let file = write(&[HOST, ONE, TWO], 256);
        let blanked = |keep: fn(&str) -> bool| {
            let mut out = Vec::new();
            blank(&file, keep).unwrap().iter().for_each(|it| it.append(&file, &mut out).unwrap());
            out
        };
        assert_eq!(blanked(|_| true), file);
        let blanked = blanked(|id| id.ends_with("gfx1100"));
        let before = Bundle::parse(&file).unwrap();
        let after = Bundle::parse(&blanked).unwrap();
        let places = |bundle: &Bundle<'_>| -> Vec<_> {
            bundle.entries.iter().map(|it| (it.id.to_string(), it.offset, it.size)).collect()
        };
        let kept: Vec<_> = places(&before).into_iter().filter(|it| it.0 != ONE.0).collect();
        assert_eq!((places(&after), blanked.len()), (kept, file.len()));
        let gone = usize::try_from(before.entries[1].offset).unwrap();
        assert_eq!(blanked[gone..gone + 4], [0; 4]);
        assert_eq!(after.content(&blanked, &after.entries[1]).unwrap(), TWO.1);
    }

    #[test]
    fn pruning_keeps_the_host_and_the_alignment() {
        let file = write(&[HOST, ONE, TWO], 4096);
        let small = prune(&file, |id| id.ends_with("gfx1100")).unwrap();
        assert_eq!(small, write(&[HOST, TWO], 4096));
        assert_eq!(prune(&file, |_| true).unwrap(), file);
    }
}
