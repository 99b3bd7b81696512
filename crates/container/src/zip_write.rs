//! zip files with other contents for some of their members, and a wheel's list of files that says so.

use std::collections::BTreeMap;

use hsaco_bytes::{Error, ErrorKind, Result, memory, read_u16, slice};
use hsaco_compress::{Codec, pack};
use sha2::{Digest as _, Sha256};

use crate::package::Stream;
use crate::zip::{
    CENTRAL_BYTES, Directory, EMPTY_MAGIC, END_SIZE, END64_MAGIC, END64_SIZE, LOCAL_BYTES,
    LOCATOR_MAGIC, MAGIC, Member, Storage, ZIP64, members,
};

const CONTEXT: &str = "zip file";
const DEFLATE: u16 = 8;
const HAS_DESCRIPTOR: u16 = 1 << 3;
const WIDE: u64 = u32::MAX as u64;
/// The version of the format that reads deflate, and the one that reads sizes of 64 bits.
const VERSION: u16 = 20;
const WIDE_VERSION: u16 = 45;

/// A member with new content, as it will be stored.
pub(crate) struct Prepared {
    bytes: Vec<u8>,
    /// The method, if it is not what it was.
    method: Option<u16>,
    size: u64,
    checksum: u32,
    digest: [u8; 32],
}

impl Prepared {
    /// Stores new content as the old one was; what is not written here is compressed with deflate.
    pub(crate) fn new(member: &Member, content: Vec<u8>) -> Result<Self> {
        let (size, checksum) = (content.len() as u64, crc32fast::hash(&content));
        let digest = Sha256::digest(&content).into();
        let (bytes, method) = match member.storage {
            Storage::Stored => (content, None),
            Storage::Packed(codec @ (Codec::Deflate | Codec::Zstd)) => {
                (pack(codec, &content)?, None)
            }
            Storage::Packed(_) => (pack(Codec::Deflate, &content)?, Some(DEFLATE)),
        };
        Ok(Self { bytes, method, size, checksum, digest })
    }
}

/// What becomes of a member.
pub(crate) enum Fate {
    Changed(Prepared),
    Removed,
}

/// What a member holds.
pub(crate) fn content(data: &[u8], member: &Member, cap: u64) -> Result<Vec<u8>> {
    let size = member.data.end - member.data.start;
    let stored = slice(data, member.data.start, size, CONTEXT)?;
    let named = |kind, detail: &str| {
        let detail = format!("{}: {detail}", member.name);
        Error::new(kind, "zip member", detail).at(member.data.start)
    };
    if member.size > cap {
        let detail = format!("{} bytes uncompressed, {cap} allowed", member.size);
        return Err(named(ErrorKind::LimitExceeded, &detail));
    }
    let content = match member.storage {
        Storage::Stored => memory::copy(stored, CONTEXT)?,
        Storage::Packed(codec) => {
            let read = Stream::new(codec, stored).and_then(|stream| stream.all(member.size));
            read.map_err(|error| named(error.kind(), error.detail()))?
        }
    };
    if content.len() as u64 != member.size || crc32fast::hash(&content) != member.checksum {
        return Err(named(ErrorKind::Mismatch, "its size or checksum is not that of its content"));
    }
    Ok(content)
}

/// The file with some members changed or removed, by their place among [`members`]. Where it is a wheel, its `RECORD` says so.
pub(crate) fn rewrite(data: &[u8], mut fates: BTreeMap<usize, Fate>, cap: u64) -> Result<Vec<u8>> {
    let all: Vec<_> = members(data).into_iter().collect::<Result<_>>()?;
    let directory = Directory::find(data)?;
    if directory.shift != 0 {
        let detail = "a zip file behind other bytes is not written";
        return Err(Error::new(ErrorKind::Unsupported, CONTEXT, detail).at(0));
    }
    if fates.is_empty() {
        return memory::copy(data, CONTEXT);
    }
    if let Some((index, list)) = all.iter().enumerate().find(|(_, it)| is_record(&it.name)) {
        let text = record_with(&content(data, list, cap)?, &all, &fates);
        fates.insert(index, Fate::Changed(Prepared::new(list, text)?));
    }
    let mut writer = Writer { data, out: Vec::new(), headers: BTreeMap::new() };
    writer.members(&all, &fates, directory.range.start)?;
    writer.directory(&all, &fates, directory.end)?;
    Ok(writer.out)
}

struct Writer<'d> {
    data: &'d [u8],
    out: Vec<u8>,
    /// Where each member's local header is now.
    headers: BTreeMap<usize, u64>,
}

impl Writer<'_> {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        memory::append(&mut self.out, bytes, CONTEXT)
    }

    /// What stands before the members, and these in the order in which they stand in the file.
    fn members(&mut self, all: &[Member], fates: &BTreeMap<usize, Fate>, end: u64) -> Result<()> {
        let mut order: Vec<_> = all.iter().map(|it| it.header).enumerate().collect();
        order.sort_by_key(|(_, header)| *header);
        let ends = order.iter().skip(1).map(|(_, header)| *header).chain([end]);
        let ends: Vec<_> = ends.collect();
        let prefix = order.first().map_or(end, |(_, header)| *header);
        self.append(slice(self.data, 0, prefix, CONTEXT)?)?;
        for (&(index, start), end) in order.iter().zip(ends) {
            match fates.get(&index) {
                Some(Fate::Removed) => continue,
                Some(Fate::Changed(new)) => {
                    self.headers.insert(index, self.out.len() as u64);
                    let header = local_header(slice(self.data, start, end - start, CONTEXT)?, new);
                    self.append(&header)?;
                    self.append(&new.bytes)?;
                }
                // With the descriptor that may follow it.
                None => {
                    self.headers.insert(index, self.out.len() as u64);
                    self.append(slice(self.data, start, end - start, CONTEXT)?)?;
                }
            }
        }
        Ok(())
    }

    /// The tables that end the file.
    fn directory(&mut self, all: &[Member], fates: &BTreeMap<usize, Fate>, end: u64) -> Result<()> {
        let start = self.out.len() as u64;
        let mut count = 0;
        for (index, member) in all.iter().enumerate() {
            let Some(&header) = self.headers.get(&index) else { continue };
            let size = member.record.end - member.record.start;
            let record = slice(self.data, member.record.start, size, CONTEXT)?;
            let new = match fates.get(&index) {
                Some(Fate::Changed(new)) => Some(new),
                _ => None,
            };
            let record = central_record(record, member, new, header);
            self.append(&record)?;
            count += 1;
        }
        let size = self.out.len() as u64 - start;
        let table = slice(self.data, end, END_SIZE, CONTEXT)?;
        let comment =
            slice(self.data, end + END_SIZE, self.data.len() as u64 - end - END_SIZE, CONTEXT)?;
        let ends = end_tables(count, size, start, read_u16(table, 20).unwrap_or(0));
        self.append(&ends)?;
        self.append(comment)
    }
}

/// The header before a member, for what it holds now.
fn local_header(old: &[u8], new: &Prepared) -> Vec<u8> {
    let half = |at| read_u16(old, at).unwrap_or(0);
    let name_size = usize::from(half(26));
    let names = LOCAL_BYTES;
    let name = old.get(names..names + name_size).unwrap_or_default();
    let extra = old.get(names + name_size..names + name_size + usize::from(half(28)));
    let sizes = [new.size, new.bytes.len() as u64];
    let is_wide = sizes.iter().any(|it| *it >= WIDE);
    let extra = extra_with(extra.unwrap_or_default(), if is_wide { &sizes } else { &[] });
    let version = half(4).max(if is_wide { WIDE_VERSION } else { VERSION });
    let mut out = MAGIC.to_vec();
    out.extend(version.to_le_bytes());
    out.extend((half(6) & !HAS_DESCRIPTOR).to_le_bytes());
    out.extend(new.method.unwrap_or(half(8)).to_le_bytes());
    out.extend_from_slice(old.get(10..14).unwrap_or_default());
    out.extend(new.checksum.to_le_bytes());
    let field = |value| if is_wide { u32::MAX } else { narrow(value) };
    out.extend(field(sizes[1]).to_le_bytes());
    out.extend(field(sizes[0]).to_le_bytes());
    out.extend(half(26).to_le_bytes());
    out.extend(length(&extra).to_le_bytes());
    out.extend_from_slice(name);
    out.extend(extra);
    out
}

/// A record of the central directory, for what the member holds now and where it is.
fn central_record(old: &[u8], member: &Member, new: Option<&Prepared>, header: u64) -> Vec<u8> {
    let half = |at| read_u16(old, at).unwrap_or(0);
    let stored = member.data.end - member.data.start;
    let (size, packed) = new.map_or((member.size, stored), |it| (it.size, it.bytes.len() as u64));
    let wide: Vec<_> = [size, packed, header].into_iter().filter(|it| *it >= WIDE).collect();
    let names = CENTRAL_BYTES;
    let (name_end, extra_end) =
        (names + usize::from(half(28)), names + usize::from(half(28)) + usize::from(half(30)));
    let extra = extra_with(old.get(name_end..extra_end).unwrap_or_default(), &wide);
    let mut out = old.get(..names).unwrap_or_default().to_vec();
    if !wide.is_empty() {
        put(&mut out, 6, &half(6).max(WIDE_VERSION).to_le_bytes());
    }
    if let Some(new) = new {
        put(&mut out, 8, &(half(8) & !HAS_DESCRIPTOR).to_le_bytes());
        put(&mut out, 10, &new.method.unwrap_or(half(10)).to_le_bytes());
        put(&mut out, 16, &new.checksum.to_le_bytes());
    }
    for (at, value) in [(20, packed), (24, size), (42, header)] {
        put(&mut out, at, &narrow(value).to_le_bytes());
    }
    put(&mut out, 30, &length(&extra).to_le_bytes());
    out.extend_from_slice(old.get(names..name_end).unwrap_or_default());
    out.extend(extra);
    out.extend_from_slice(old.get(extra_end..).unwrap_or_default());
    out
}

/// The last tables, up to the comment.
fn end_tables(count: u64, size: u64, start: u64, comment: u16) -> Vec<u8> {
    let mut out = Vec::new();
    if count >= u64::from(u16::MAX) || size >= WIDE || start >= WIDE {
        let at = start + size;
        out.extend_from_slice(END64_MAGIC);
        out.extend((END64_SIZE - 12).to_le_bytes());
        out.extend([WIDE_VERSION; 2].iter().flat_map(|it| it.to_le_bytes()));
        out.extend([0; 8]);
        out.extend([count, count, size, start].iter().flat_map(|it| it.to_le_bytes()));
        out.extend_from_slice(LOCATOR_MAGIC);
        out.extend([0; 4]);
        out.extend(at.to_le_bytes());
        out.extend(1_u32.to_le_bytes());
    }
    let count = u16::try_from(count).unwrap_or(u16::MAX);
    out.extend_from_slice(EMPTY_MAGIC);
    out.extend([0; 4]);
    out.extend([count; 2].iter().flat_map(|it| it.to_le_bytes()));
    out.extend([narrow(size), narrow(start)].iter().flat_map(|it| it.to_le_bytes()));
    out.extend(comment.to_le_bytes());
    out
}

/// Extra fields with other sizes of 64 bits, or without any.
fn extra_with(mut old: &[u8], wide: &[u64]) -> Vec<u8> {
    let mut out = Vec::new();
    if !wide.is_empty() {
        out.extend(ZIP64.to_le_bytes());
        out.extend(u16::try_from(wide.len() * 8).unwrap_or(0).to_le_bytes());
        out.extend(wide.iter().flat_map(|it| it.to_le_bytes()));
    }
    while let (Some(id), Some(size)) = (read_u16(old, 0), read_u16(old, 2)) {
        let Some((field, rest)) = old.split_at_checked(4 + usize::from(size)) else { break };
        if id != ZIP64 {
            out.extend_from_slice(field);
        }
        old = rest;
    }
    out
}

fn narrow(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

fn length(bytes: &[u8]) -> u16 {
    u16::try_from(bytes.len()).unwrap_or(u16::MAX)
}

fn put(out: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(place) = out.get_mut(at..).and_then(|it| it.get_mut(..bytes.len())) {
        place.copy_from_slice(bytes);
    }
}

/// The list of a wheel's files: `NAME-VERSION.dist-info/RECORD`.
fn is_record(name: &str) -> bool {
    name.strip_suffix(".dist-info/RECORD").is_some_and(|it| !it.is_empty() && !it.contains('/'))
}

/// A wheel's list of files with other digests and sizes for those that changed, and without those that went.
fn record_with(old: &[u8], all: &[Member], fates: &BTreeMap<usize, Fate>) -> Vec<u8> {
    let fates: BTreeMap<&str, &Fate> = fates
        .iter()
        .filter_map(|(index, fate)| Some((all.get(*index)?.name.as_str(), fate)))
        .collect();
    let mut out = Vec::new();
    for line in old.split_inclusive(|&byte| byte == b'\n') {
        let (name, raw) = first_field(line);
        match fates.get(name.as_str()) {
            None => out.extend_from_slice(line),
            Some(Fate::Removed) => {}
            Some(Fate::Changed(new)) => {
                let end = line.trim_ascii_end().len();
                out.extend_from_slice(raw);
                let digest = url_safe_base64(&new.digest);
                out.extend(format!(",sha256={digest},{}", new.size).into_bytes());
                out.extend_from_slice(line.get(end..).unwrap_or_default());
            }
        }
    }
    out
}

/// The first field of a line of comma-separated values, and how it is spelled there.
fn first_field(line: &[u8]) -> (String, &[u8]) {
    let line = line.trim_ascii_end();
    if line.first() != Some(&b'"') {
        let raw = line.split(|&byte| byte == b',').next().unwrap_or_default();
        return (String::from_utf8_lossy(raw).into_owned(), raw);
    }
    let mut name = Vec::new();
    let mut at = 1;
    while let Some(&byte) = line.get(at) {
        let is_doubled = byte == b'"' && line.get(at + 1) == Some(&b'"');
        if byte == b'"' && !is_doubled {
            break;
        }
        name.push(byte);
        at += if is_doubled { 2 } else { 1 };
    }
    (String::from_utf8_lossy(&name).into_owned(), line.get(..=at).unwrap_or(line))
}

/// As wheels spell digests: with `-` and `_`, and nothing at the end.
fn url_safe_base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut out = String::new();
    for group in bytes.chunks(3) {
        let word = group.iter().fold(0u32, |word, &byte| word << 8 | u32::from(byte));
        let word = word << (8 * (3 - group.len()));
        for index in 0..=group.len() {
            let digit = (word >> (18 - 6 * index)) & 63;
            out.push(char::from(DIGITS.get(digit as usize).copied().unwrap_or(b'A')));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zip::tests::build;

    fn changed(data: &[u8], index: usize, new: &[u8]) -> Fate {
        let all: Vec<_> = members(data).into_iter().collect::<Result<_>>().unwrap();
        Fate::Changed(Prepared::new(&all[index], new.to_vec()).unwrap())
    }

    fn contents(data: &[u8]) -> Vec<(String, Vec<u8>)> {
        let read = |it: Result<Member>| {
            let it = it.unwrap();
            (it.name.clone(), content(data, &it, 1 << 20).unwrap())
        };
        members(data).into_iter().map(read).collect()
    }

    #[test]
    fn other_contents_and_the_list_of_files() {
        let record = "a.so,sha256=old,3\r\n\"with,comma\",sha256=old,1\r\ngone,,\r\nx-1.dist-info/RECORD,,\r\n";
        let text = pack(Codec::Deflate, b"text").unwrap();
        let file = build(&[
            ("a.so", 0, b"123", b"123"),
            ("with,comma", 8, &text, b"text"),
            ("gone", 0, b"x", b"x"),
            ("kept", 8, &text, b"text"),
            ("x-1.dist-info/RECORD", 0, record.as_bytes(), record.as_bytes()),
        ]);
        let fates = BTreeMap::from([
            (0, changed(&file, 0, b"abc")),
            (1, changed(&file, 1, b"longer text")),
            (2, Fate::Removed),
        ]);
        let new = rewrite(&file, fates, 1 << 20).unwrap();
        let expected = "a.so,sha256=ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0,3\r\n\
            \"with,comma\",sha256=K3wihXLb-iIzE_6OSw82bJQ1j21Ia8BBOQqtJyZ6kYM,11\r\n\
            x-1.dist-info/RECORD,,\r\n";
        let found = contents(&new);
        assert_eq!(found[0], ("a.so".to_owned(), b"abc".to_vec()));
        assert_eq!(found[1], ("with,comma".to_owned(), b"longer text".to_vec()));
        assert_eq!(found[2], ("kept".to_owned(), b"text".to_vec()));
        let text = String::from_utf8(found[3].1.clone()).unwrap();
        let digests = |text: &str| text.matches("sha256=").count();
        assert_eq!((text.lines().count(), digests(&text)), (3, 2));
        assert_eq!(text.lines().next(), expected.lines().next());
        assert_eq!(found.len(), 4);
    }

    #[test]
    fn nothing_changed_is_the_same_file() {
        let file = build(&[("a.so", 0, b"123", b"123")]);
        assert_eq!(rewrite(&file, BTreeMap::new(), 1 << 20).unwrap(), file);
    }

    #[test]
    fn digests_as_wheels_spell_them() {
        assert_eq!(url_safe_base64(b""), "");
        assert_eq!(url_safe_base64(b"\xff"), "_w");
        assert_eq!(url_safe_base64(b"\xfb\xff"), "-_8");
        assert_eq!(url_safe_base64(b"abc"), "YWJj");
    }
}
