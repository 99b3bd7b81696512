//! The members of `ar` archives, in the GNU, BSD and COFF spellings.
//!
//! Read here rather than with a library: long names are looked at no further than they may go, so
//! that many members which share one endless name cost nothing.

use std::ops::Range;

use hsaco_bytes::{Error, ErrorKind, Result, slice};

const CONTEXT: &str = "archive";
const HEADER_SIZE: u64 = 60;
const MAX_NAME: usize = 1024;

pub(crate) const MAGIC: &[u8; 8] = b"!<arch>\n";
pub(crate) const THIN_MAGIC: &[u8; 8] = b"!<thin>\n";

/// A member whose content lies within the archive.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) offset: u64,
    pub(crate) size: u64,
}

/// The members in order, symbol and name tables left out; after an error there are no more.
pub(crate) fn members(data: &[u8]) -> Vec<Result<Member>> {
    let mut walk = Walk { data, position: MAGIC.len() as u64, names: &[] };
    if data.starts_with(THIN_MAGIC) {
        let detail = "a thin archive only names its members; give the member files themselves";
        return vec![Err(Error::new(ErrorKind::Unsupported, CONTEXT, detail).at(0))];
    }
    let mut found = Vec::new();
    while walk.position < data.len() as u64 {
        match walk.step() {
            Ok(member) => found.extend(member.map(Ok)),
            Err(error) => {
                found.push(Err(error));
                break;
            }
        }
    }
    found
}

/// Where a member's header, its name if that follows, and its content are.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) header: Range<u64>,
    pub(crate) content: Range<u64>,
    /// False for tables of symbols and names.
    pub(crate) is_member: bool,
}

/// The parts of an archive in order, up to the first that is broken.
pub(crate) fn parts(data: &[u8]) -> Vec<Part> {
    let mut walk = Walk { data, position: MAGIC.len() as u64, names: &[] };
    let mut found = Vec::new();
    while walk.position < data.len() as u64 {
        let start = walk.position;
        let Ok(member) = walk.step() else { break };
        let is_member = member.is_some();
        let content = match member {
            Some(member) => member.offset..member.offset + member.size,
            None => start + HEADER_SIZE..walk.position,
        };
        found.push(Part { header: start..content.start, content, is_member });
    }
    found
}

struct Walk<'a> {
    data: &'a [u8],
    position: u64,
    /// The table of names that do not fit a header.
    names: &'a [u8],
}

impl<'a> Walk<'a> {
    /// Reads one member and moves past it; tables give `None`.
    fn step(&mut self) -> Result<Option<Member>> {
        let start = self.position;
        let header = slice(self.data, start, HEADER_SIZE, "archive member header")?;
        if !header.ends_with(b"`\n") {
            let detail = "it does not end in a backquote and a line feed";
            return Err(Error::malformed("archive member header", start, detail));
        }
        let size = decimal(header.get(48..58).unwrap_or_default()).ok_or_else(|| {
            Error::malformed("archive member header", start + 48, "its size is no decimal number")
        })?;
        let offset = start + HEADER_SIZE;
        let content = slice(self.data, offset, size, "archive member")?;
        // Members begin at even offsets, and the last one need not be padded.
        self.position = offset + size + (size & 1);
        let field = header.get(..16).unwrap_or_default().trim_ascii_end();
        if field == b"//" {
            self.names = content;
            return Ok(None);
        }
        let (name, name_size) = self.name(field, content);
        let table = name.starts_with(b"__.SYMDEF") || is_table(field);
        let name = String::from_utf8_lossy(name).into_owned();
        let (offset, size) = (offset + name_size, size - name_size);
        Ok((!table).then_some(Member { name, offset, size }))
    }

    /// A member's name, and how much of the content it takes up.
    fn name(&self, field: &'a [u8], content: &'a [u8]) -> (&'a [u8], u64) {
        if let Some(size) = field.strip_prefix(b"#1/").and_then(decimal) {
            let name = usize::try_from(size).ok().and_then(|size| content.get(..size));
            return name.map_or((field, 0), |name| (up_to(name, &[0]), size));
        }
        let long = field.strip_prefix(b"/").and_then(decimal);
        let long = long.and_then(|offset| self.names.get(usize::try_from(offset).ok()?..));
        match long {
            Some(name) => (without_slash(up_to(name, b"\n\0")), 0),
            None if field.starts_with(b"/") => (field, 0),
            None => (without_slash(field), 0),
        }
    }
}

/// True for tables of symbols: `/`, `/SYM64/`, `/<ECSYMBOLS>/`.
fn is_table(field: &[u8]) -> bool {
    field.starts_with(b"/") && field.ends_with(b"/")
}

/// GNU ends names with a slash, so that they may hold spaces.
fn without_slash(name: &[u8]) -> &[u8] {
    name.strip_suffix(b"/").unwrap_or(name)
}

fn up_to<'a>(bytes: &'a [u8], ends: &[u8]) -> &'a [u8] {
    let window = bytes.get(..bytes.len().min(MAX_NAME)).unwrap_or_default();
    window.split(|byte| ends.contains(byte)).next().unwrap_or_default()
}

fn decimal(field: &[u8]) -> Option<u64> {
    let digits = str::from_utf8(field.trim_ascii_end()).ok()?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then_some(())?;
    digits.parse().ok()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// An archive of members, with each name field as given.
    pub(crate) fn build(members: &[(&str, &[u8])]) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        for (name, data) in members {
            out.extend_from_slice(
                format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, data.len())
                    .as_bytes(),
            );
            out.extend_from_slice(data);
            out.resize(out.len().next_multiple_of(2), b'\n');
        }
        out
    }

    fn names(file: &[u8]) -> Vec<(String, Vec<u8>)> {
        let content = |member: &Member| {
            hsaco_bytes::slice(file, member.offset, member.size, "member").unwrap().to_vec()
        };
        members(file)
            .into_iter()
            .map(|member| member.map(|member| (member.name.clone(), content(&member))).unwrap())
            .collect()
    }

    #[test]
    fn names_in_every_spelling() {
        let file = build(&[
            ("/", b"symbols"),
            ("//", b"a long name with spaces.o/\nanother long name.o\0"),
            ("short.o/", b"1"),
            ("/0", b"22"),
            ("/27", b"333"),
            ("bsd.o", b"4444"),
            ("#1/8", b"long.o\x00\x0055555"),
            ("__.SYMDEF", b"table"),
            ("#1/12", b"__.SYMDEF\0\0\0table"),
        ]);
        let expected = [
            ("short.o", b"1".as_slice()),
            ("a long name with spaces.o", b"22"),
            ("another long name.o", b"333"),
            ("bsd.o", b"4444"),
            ("long.o", b"55555"),
        ];
        let expected = expected.map(|(name, data)| (name.to_owned(), data.to_vec()));
        assert_eq!(names(&file), expected);
    }

    #[test]
    fn the_parts_follow_each_other() {
        let file = build(&[("/", b"table"), ("a/", b"123"), ("#1/4", b"b.o\x0055")]);
        let found: Vec<_> =
            parts(&file).into_iter().map(|it| (it.header, it.content, it.is_member)).collect();
        assert_eq!(
            found,
            [(8..68, 68..74, false), (74..134, 134..137, true), (138..202, 202..204, true)]
        );
    }

    #[test]
    fn broken_members_end_the_walk() {
        let mut file = build(&[("a/", b"12"), ("b/", b"34")]);
        let last = file.len() - 62;
        file[last + 58] = b'x';
        let found = members(&file);
        assert_eq!(found.len(), 2);
        assert_eq!(found[1].as_ref().unwrap_err().offset(), Some(70));
        assert_eq!(members(b"!<thin>\n")[0].as_ref().unwrap_err().kind(), ErrorKind::Unsupported);
    }

    #[test]
    fn every_strict_prefix_inside_a_member_is_an_error() {
        let file = build(&[("a/", b"12")]);
        for length in MAGIC.len() + 1..file.len() {
            assert!(members(&file[..length])[0].is_err(), "{length}");
        }
    }
}
