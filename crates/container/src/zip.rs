//! zip files, wheels among them: members by the central directory.

use std::ops::Range;

use hsaco_bytes::{Error, ErrorKind, Result, read_u16, read_u32, read_u64, slice};
use hsaco_compress::Codec;

use crate::package::name_of;

const CONTEXT: &str = "zip file";

/// What a zip file begins with: a member, or the end of a file without any.
pub(crate) const MAGIC: &[u8; 4] = b"PK\x03\x04";
pub(crate) const EMPTY_MAGIC: &[u8; 4] = b"PK\x05\x06";

pub(crate) const LOCAL_SIZE: u64 = LOCAL_BYTES as u64;
pub(crate) const LOCAL_BYTES: usize = 30;
pub(crate) const CENTRAL_MAGIC: &[u8] = b"PK\x01\x02";
pub(crate) const CENTRAL_SIZE: u64 = CENTRAL_BYTES as u64;
pub(crate) const CENTRAL_BYTES: usize = 46;
pub(crate) const END_SIZE: u64 = END_BYTES as u64;
pub(crate) const END_BYTES: usize = 22;
pub(crate) const END64_MAGIC: &[u8] = b"PK\x06\x06";
pub(crate) const END64_SIZE: u64 = 56;
pub(crate) const LOCATOR_MAGIC: &[u8] = b"PK\x06\x07";
pub(crate) const LOCATOR_SIZE: u64 = 20;
/// The extra field with sizes of 64 bits.
pub(crate) const ZIP64: u16 = 1;

const ENCRYPTED: u16 = 1;
const STRONGLY_ENCRYPTED: u16 = 1 << 6;
const MASKED: u16 = 1 << 13;

/// How a member is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Storage {
    /// As it is.
    Stored,
    /// Compressed.
    Packed(Codec),
}

/// A member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) storage: Storage,
    /// Where its local header begins.
    pub(crate) header: u64,
    /// Where its bytes are, as they are stored.
    pub(crate) data: Range<u64>,
    /// How many bytes it has.
    pub(crate) size: u64,
    pub(crate) checksum: u32,
    /// Its record of the central directory.
    pub(crate) record: Range<u64>,
}

/// Where the tables are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Directory {
    /// The central directory.
    pub(crate) range: Range<u64>,
    /// The last of the tables, which ends in a comment.
    pub(crate) end: u64,
    /// How much further on everything is than the file says.
    pub(crate) shift: u64,
    count: u64,
}

impl Directory {
    /// Finds the central directory from the end of the file.
    pub(crate) fn find(data: &[u8]) -> Result<Self> {
        let end = find_end(data)?;
        let mut tables = EndTables::read(data, end)?;
        let size = data.len() as u64;
        if tables.disk != 0 || tables.first_disk != 0 {
            let detail = "it is one part of several";
            return Err(Error::new(ErrorKind::Unsupported, CONTEXT, detail).at(end));
        }
        tables.size = tables.size.min(size);
        let stop = tables.start;
        let start = stop.checked_sub(tables.size).ok_or_else(|| {
            Error::malformed(CONTEXT, end, "its central directory begins before the file")
        })?;
        let shift = start.checked_sub(tables.offset).ok_or_else(|| {
            let there = tables.offset;
            let detail = format!("its central directory should be at {there:#x}, and can begin at {start:#x} at the latest");
            Error::malformed(CONTEXT, end, detail)
        })?;
        Ok(Self { range: start..stop, end, shift, count: tables.count })
    }
}

/// What the tables behind the central directory say.
struct EndTables {
    disk: u32,
    first_disk: u32,
    count: u64,
    size: u64,
    offset: u64,
    /// Where the first of them begins.
    start: u64,
}

impl EndTables {
    fn read(data: &[u8], end: u64) -> Result<Self> {
        let table = slice(data, end, END_SIZE, CONTEXT)?;
        let half = |at| read_u16(table, at).unwrap_or(0);
        let word = |at| read_u32(table, at).unwrap_or(0);
        let mut tables = Self {
            disk: half(4).into(),
            first_disk: half(6).into(),
            count: half(10).into(),
            size: word(12).into(),
            offset: word(16).into(),
            start: end,
        };
        let locator =
            end.checked_sub(LOCATOR_SIZE).map(|at| slice(data, at, LOCATOR_SIZE, CONTEXT));
        match locator {
            Some(Ok(locator)) if locator.starts_with(LOCATOR_MAGIC) => {
                tables.widen(data, end - LOCATOR_SIZE)?;
            }
            _ => {}
        }
        Ok(tables)
    }

    /// Takes the numbers of 64 bits, which stand before their locator.
    fn widen(&mut self, data: &[u8], locator: u64) -> Result<()> {
        let missing =
            || Error::malformed(CONTEXT, locator, "no table where its locator should find one");
        let at = locator.checked_sub(END64_SIZE).ok_or_else(missing)?;
        let table = slice(data, at, END64_SIZE, CONTEXT)?;
        if !table.starts_with(END64_MAGIC) {
            return Err(missing());
        }
        let long = |at| read_u64(table, at).unwrap_or(0);
        self.disk = read_u32(table, 16).unwrap_or(0);
        self.first_disk = read_u32(table, 20).unwrap_or(0);
        (self.count, self.size, self.offset, self.start) = (long(32), long(40), long(48), at);
        Ok(())
    }
}

/// Whether the last bytes are those of a zip file, whatever it begins with: programs of Python begin with a line for the
/// shell.
pub(crate) fn is_behind_a_prefix(data: &[u8]) -> bool {
    let ends = data.last_chunk::<END_BYTES>();
    ends.is_some_and(|it| it.starts_with(EMPTY_MAGIC))
        && Directory::find(data).is_ok_and(|it| {
            slice(data, it.range.start, 4, CONTEXT).is_ok_and(|it| it == CENTRAL_MAGIC)
        })
}

/// The last table, from the end on: a comment follows it, of the length that it says.
fn find_end(data: &[u8]) -> Result<u64> {
    let size = data.len() as u64;
    let first = size.saturating_sub(END_SIZE + u64::from(u16::MAX));
    let mut at = size.checked_sub(END_SIZE);
    while let Some(here) = at.filter(|it| *it >= first) {
        let table = slice(data, here, END_SIZE, CONTEXT)?;
        let comment = u64::from(read_u16(table, 20).unwrap_or(0));
        if table.starts_with(EMPTY_MAGIC) && here + END_SIZE + comment == size {
            return Ok(here);
        }
        at = here.checked_sub(1);
    }
    let detail = "it ends without the table that ends a zip file";
    Err(Error::new(ErrorKind::Truncated, CONTEXT, detail).at(size))
}

/// The members in the order of the central directory. One that cannot be read is an error in its place; after one in the
/// directory there are no more.
pub(crate) fn members(data: &[u8]) -> Vec<Result<Member>> {
    let directory = match Directory::find(data) {
        Ok(directory) => directory,
        Err(error) => return vec![Err(error)],
    };
    let mut found = Vec::new();
    let mut position = directory.range.start;
    let mut count = 0;
    while position < directory.range.end {
        match Record::read(data, position, &directory) {
            Ok(record) => {
                position = record.range.end;
                count += 1;
                found.push(record.member(data, &directory));
            }
            Err(error) => {
                found.push(Err(error));
                return found;
            }
        }
    }
    // Some writers let the count of 16 bits overflow.
    if count != directory.count && count & 0xffff != directory.count {
        let detail = format!("{count} members, and it counts {}", directory.count);
        found.push(Err(Error::new(ErrorKind::Mismatch, CONTEXT, detail).at(directory.end)));
    }
    refuse_overlaps(&mut found);
    found
}

/// Members that share bytes are the way to make much of little.
fn refuse_overlaps(members: &mut [Result<Member>]) {
    let ranges = members.iter().enumerate().filter_map(|(index, member)| {
        member.as_ref().ok().map(|it| (it.header, it.data.end, index))
    });
    let mut ranges: Vec<_> = ranges.collect();
    ranges.sort_unstable();
    let mut end = 0;
    for (start, stop, index) in ranges {
        if start < end
            && let Some(place) = members.get_mut(index)
            && let Ok(member) = place
        {
            let detail = format!("{}: it shares bytes with another member", member.name);
            *place = Err(Error::malformed("zip member", start, detail));
        }
        end = end.max(stop);
    }
}

/// A record of the central directory.
struct Record {
    name: String,
    raw_name: Range<u64>,
    flags: u16,
    method: u16,
    checksum: u32,
    packed: u64,
    size: u64,
    header: u64,
    range: Range<u64>,
}

impl Record {
    fn read(data: &[u8], at: u64, directory: &Directory) -> Result<Self> {
        const RECORD: &str = "zip central directory";
        let size = CENTRAL_SIZE.min(directory.range.end.saturating_sub(at));
        let head = slice(data, at, size, RECORD)?;
        if size < CENTRAL_SIZE {
            return Err(Error::truncated(RECORD, at, CENTRAL_SIZE, size));
        }
        if !head.starts_with(CENTRAL_MAGIC) {
            return Err(Error::malformed(RECORD, at, "a record does not begin with PK 1 2"));
        }
        let half = |at| read_u16(head, at).unwrap_or(0);
        let word = |at| u64::from(read_u32(head, at).unwrap_or(0));
        let [name_size, extra_size, comment_size] = [28, 30, 32].map(|at| u64::from(half(at)));
        let names = at + CENTRAL_SIZE;
        let end = names + name_size + extra_size + comment_size;
        if end > directory.range.end {
            let there = directory.range.end - at;
            return Err(Error::truncated(RECORD, at, end - at, there));
        }
        let raw_name = names..names + name_size;
        let name = name_of(slice(data, raw_name.start, name_size, RECORD)?);
        let extra = slice(data, raw_name.end, extra_size, RECORD)?;
        let mut record = Self {
            name,
            raw_name,
            flags: half(8),
            method: half(10),
            checksum: read_u32(head, 16).unwrap_or(0),
            packed: word(20),
            size: word(24),
            header: word(42),
            range: at..end,
        };
        record.widen(extra).ok_or_else(|| {
            let detail = format!("{}: its sizes of 64 bits are not there", record.name);
            Error::malformed("zip member", at, detail)
        })?;
        Ok(record)
    }

    /// Takes the numbers of 64 bits in place of those that do not fit 32.
    fn widen(&mut self, extra: &[u8]) -> Option<()> {
        const WIDE: u64 = u32::MAX as u64;
        let wide = [&mut self.size, &mut self.packed, &mut self.header];
        let wide: Vec<_> = wide.into_iter().filter(|it| **it == WIDE).collect();
        if wide.is_empty() {
            return Some(());
        }
        let field = extra_field(extra, ZIP64)?;
        for (place, at) in wide.into_iter().zip((0..).step_by(8)) {
            *place = read_u64(field, at)?;
        }
        Some(())
    }

    /// The member, as its local header says where its bytes are.
    fn member(self, data: &[u8], directory: &Directory) -> Result<Member> {
        let named = |kind, detail: &str| {
            Error::new(kind, "zip member", format!("{}: {detail}", self.name)).at(self.range.start)
        };
        if self.flags & (ENCRYPTED | STRONGLY_ENCRYPTED | MASKED) != 0 {
            return Err(named(ErrorKind::Unsupported, "it is encrypted"));
        }
        let storage = storage(self.method).map_err(|method| {
            named(ErrorKind::Unsupported, &format!("it is compressed with {method}"))
        })?;
        let header = self.header.saturating_add(directory.shift);
        let local = slice(data, header, LOCAL_SIZE, CONTEXT)
            .map_err(|_| named(ErrorKind::Truncated, "its header lies past the end of the file"))?;
        if !local.starts_with(MAGIC) {
            return Err(named(ErrorKind::Malformed, "no header where it should begin"));
        }
        let [name_size, extra_size] =
            [26, 28].map(|at| u64::from(read_u16(local, at).unwrap_or(0)));
        let name = slice(data, header + LOCAL_SIZE, name_size, CONTEXT)?;
        let in_directory =
            slice(data, self.raw_name.start, self.raw_name.end - self.raw_name.start, CONTEXT)?;
        if name != in_directory {
            return Err(named(ErrorKind::Mismatch, "its header has another name"));
        }
        let start = header + LOCAL_SIZE + name_size + extra_size;
        let end = start.saturating_add(self.packed);
        if end > directory.range.start {
            return Err(named(ErrorKind::Truncated, "it reaches into the central directory"));
        }
        if storage == Storage::Stored && self.packed != self.size {
            return Err(named(ErrorKind::Mismatch, "it is stored, and its two sizes differ"));
        }
        let Self { name, size, checksum, range: record, .. } = self;
        Ok(Member { name, storage, header, data: start..end, size, checksum, record })
    }
}

/// The extra field of an id.
pub(crate) fn extra_field(mut extra: &[u8], id: u16) -> Option<&[u8]> {
    while let (Some(found), Some(size)) = (read_u16(extra, 0), read_u16(extra, 2)) {
        let field = extra.get(4..4 + usize::from(size))?;
        if found == id {
            return Some(field);
        }
        extra = extra.get(4 + usize::from(size)..)?;
    }
    None
}

/// How a member of a method is read, or what the method is called that cannot be.
fn storage(method: u16) -> std::result::Result<Storage, String> {
    Ok(match method {
        0 => Storage::Stored,
        8 => Storage::Packed(Codec::Deflate),
        12 => Storage::Packed(Codec::Bzip2),
        93 => Storage::Packed(Codec::Zstd),
        95 => Storage::Packed(Codec::Xz),
        other => {
            let known = [
                (1, "shrink"),
                (6, "implode"),
                (9, "deflate64"),
                (14, "LZMA"),
                (98, "PPMd"),
                (99, "AES"),
            ];
            let name = known.iter().find(|(number, _)| *number == other);
            return Err(
                name.map_or_else(|| format!("method {other}"), |(_, name)| (*name).to_owned())
            );
        }
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A file of members, each with its method, and its content as it is stored and as it is.
    pub(crate) fn build(members: &[(&str, u16, &[u8], &[u8])]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut directory = Vec::new();
        for (name, method, packed, content) in members {
            let word = |it: usize| u32::try_from(it).unwrap().to_le_bytes();
            let common = [
                &method.to_le_bytes()[..],
                &[0; 4],
                &crc32fast::hash(content).to_le_bytes(),
                &word(packed.len()),
                &word(content.len()),
                &u16::try_from(name.len()).unwrap().to_le_bytes(),
                &[0; 2],
            ]
            .concat();
            directory.extend(
                [
                    CENTRAL_MAGIC,
                    &[20, 0, 20, 0, 0, 0],
                    &common,
                    &[0; 10],
                    &word(out.len()),
                    name.as_bytes(),
                ]
                .concat(),
            );
            out.extend(
                [MAGIC.as_slice(), &[20, 0, 0, 0], &common, name.as_bytes(), packed].concat(),
            );
        }
        let count = u16::try_from(members.len()).unwrap().to_le_bytes();
        let at = u32::try_from(out.len()).unwrap().to_le_bytes();
        let size = u32::try_from(directory.len()).unwrap().to_le_bytes();
        out.extend(directory);
        out.extend([EMPTY_MAGIC.as_slice(), &[0; 4], &count, &count, &size, &at, &[0; 2]].concat());
        out
    }

    fn shown(file: &[u8]) -> Vec<String> {
        let show = |it: Result<Member>| match it {
            Ok(it) => format!("{} {:?} {:?} {}", it.name, it.storage, it.data, it.size),
            Err(error) => error.to_string(),
        };
        members(file).into_iter().map(show).collect()
    }

    #[test]
    fn members_and_how_they_are_stored() {
        let file = build(&[
            ("a", 0, b"123", b"123"),
            ("b/c", 8, b"\x03\x00", b""),
            ("d", 14, b"??", b""),
            ("e", 9, b"", b""),
            ("f", 77, b"", b""),
        ]);
        assert_eq!(
            shown(&file),
            [
                "a Stored 31..34 3",
                "b/c Packed(Deflate) 67..69 0",
                "unsupported: zip member: d: it is compressed with LZMA (at offset 0x104)",
                "unsupported: zip member: e: it is compressed with deflate64 (at offset 0x133)",
                "unsupported: zip member: f: it is compressed with method 77 (at offset 0x162)",
            ]
        );
        assert_eq!(shown(&build(&[])), [""; 0]);
    }

    #[test]
    fn encryption_is_named() {
        let mut file = build(&[("secret.so", 0, b"123", b"123")]);
        let record = file.len() - 22 - 55;
        file[record + 8] = 1;
        assert_eq!(
            shown(&file),
            ["unsupported: zip member: secret.so: it is encrypted (at offset 0x2a)"]
        );
    }

    #[test]
    fn members_that_share_bytes_are_refused() {
        let mut file = build(&[("a", 0, b"123", b"123"), ("a", 0, b"456", b"456")]);
        let second = file.len() - 22 - 47;
        file[second + 42..second + 46].fill(0);
        let found = shown(&file);
        assert_eq!(
            found[1],
            "malformed: zip member: a: it shares bytes with another member (at offset 0x0)"
        );
    }

    #[test]
    fn every_strict_prefix_is_an_error() {
        let file = build(&[("a", 0, b"123", b"123"), ("b", 0, b"", b"")]);
        for length in 0..file.len() {
            assert!(members(&file[..length])[0].is_err(), "{length}");
        }
    }

    #[test]
    fn flipped_bytes_never_panic() {
        let file = build(&[("a", 0, b"123", b"123"), ("b", 8, b"\x03\x00", b"")]);
        for at in 0..file.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut broken = file.clone();
                broken[at] ^= flip;
                members(&broken);
            }
        }
    }
}
