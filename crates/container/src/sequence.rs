//! Archives whose members follow each other, in memory or in a compressed stream.

use hsaco_bytes::{Error, ErrorKind, Result};

use crate::package::{Head, Slice, Source};
use crate::{Container, cpio, tar};

/// A format whose members follow each other, each behind a header of its own.
pub(crate) enum Sequence {
    Tar(tar::Reader),
    Cpio,
}

impl Sequence {
    /// The format of bytes that begin like this.
    pub(crate) fn of(container: Container) -> Option<Self> {
        match container {
            Container::Tar => Some(Self::Tar(tar::Reader::default())),
            Container::Cpio => Some(Self::Cpio),
            _ => None,
        }
    }

    /// Reads up to the content of the next member that is a file; `None` at the end.
    pub(crate) fn next(&mut self, source: &mut dyn Source) -> Result<Option<Head>> {
        match self {
            Self::Tar(reader) => reader.next(source),
            Self::Cpio => cpio::next(source),
        }
    }
}

/// A member whose content lies within the archive.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) name: String,
    /// Where its header begins.
    pub(crate) header: u64,
    pub(crate) offset: u64,
    pub(crate) size: u64,
}

/// The members of a sequence in memory, in order; after an error there are no more.
pub(crate) fn members(container: Container, data: &[u8]) -> Vec<Result<Member>> {
    let Some(mut sequence) = Sequence::of(container) else { return Vec::new() };
    let mut source = Slice::new(data);
    let mut found = Vec::new();
    loop {
        let header = source.position();
        match sequence.next(&mut source) {
            Ok(None) => return found,
            Ok(Some(Head { name, size, padding })) => {
                let offset = source.position();
                let there = source.skip(size).unwrap_or(0);
                if there < size {
                    found.push(Err(cut_short(container, &name, offset, size, there)));
                    return found;
                }
                found.push(Ok(Member { name, header, offset, size }));
                drop(source.skip(padding));
            }
            Err(error) => {
                found.push(Err(error));
                return found;
            }
        }
    }
}

/// A member that ends before its content does.
pub(crate) fn cut_short(
    container: Container,
    name: &str,
    offset: u64,
    size: u64,
    there: u64,
) -> Error {
    let context = if container == Container::Tar { "tar member" } else { "cpio member" };
    let detail = format!("{name}: {there} bytes of {size}");
    Error::new(ErrorKind::Truncated, context, detail).at(offset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpio::tests::build as build_cpio;
    use crate::tar::tests::{build as build_tar, header, push};

    fn names(data: &[u8]) -> Vec<String> {
        let show = |it: Result<Member>| match it {
            Ok(it) => format!("{} {}+{}", it.name, it.offset, it.size),
            Err(error) => error.to_string(),
        };
        members(Container::Tar, data).into_iter().map(show).collect()
    }

    #[test]
    fn names_of_every_kind_in_tar() {
        let mut file = Vec::new();
        push(&mut file, "folder/", b"", b'5');
        push(&mut file, "./plain", b"1", b'0');
        push(&mut file, "././@LongLink", b"a/very/long/name\0", b'L');
        push(&mut file, "a/very", b"22", b'0');
        push(&mut file, "pax", b"20 path=pax/name.so\n11 mtime=1\n", b'x');
        push(&mut file, "short", b"333", b'\0');
        push(&mut file, "link", b"", b'1');
        push(&mut file, "last", b"4", b'7');
        file.resize(file.len() + 512, 0);
        let found = names(&file);
        assert_eq!(
            found,
            ["plain 1024+1", "a/very/long/name 3072+2", "pax/name.so 5120+3", "last 6656+1"]
        );
    }

    #[test]
    fn what_cannot_be_read_of_tar_says_so() {
        let mut file = header("holes", 0, b'S');
        file.resize(2048, 0);
        assert_eq!(
            names(&file),
            ["unsupported: tar member: holes is a sparse file (at offset 0x0)"]
        );
        let mut file = build_tar(&[("a", b"1")]);
        file[512 + 512 + 5] = 1;
        assert_eq!(
            names(&file)[1..],
            ["mismatch: tar header: its checksum is not that of its bytes (at offset 0x400)"]
        );
    }

    #[test]
    fn every_strict_prefix_of_tar_is_an_error() {
        let file = build_tar(&[("a", b"12"), ("b", &[7; 600])]);
        for length in 1..file.len() - 512 {
            let found = members(Container::Tar, &file[..length]);
            assert!(found.last().is_some_and(Result::is_err), "{length}");
        }
        assert!(members(Container::Tar, &file).iter().all(Result::is_ok));
    }

    #[test]
    fn members_of_cpio_in_order() {
        let file = build_cpio(&[("./usr/a", b"123"), ("b", b"")]);
        let found: Vec<_> =
            members(Container::Cpio, &file).into_iter().map(Result::unwrap).collect();
        let found: Vec<_> = found.iter().map(|it| (it.name.as_str(), it.offset, it.size)).collect();
        assert_eq!(found, [("usr/a", 236, 3), ("b", 352, 0)]);
    }

    #[test]
    fn every_strict_prefix_of_cpio_is_an_error() {
        let file = build_cpio(&[("./usr/a", b"123")]);
        for length in 0..file.len() {
            let found = members(Container::Cpio, &file[..length]);
            assert!(found.last().is_some_and(Result::is_err), "{length}");
        }
    }

    #[test]
    fn formats_that_are_not_read_have_names() {
        for (magic, text) in [
            ("070707", "unsupported: cpio header: the old ASCII format; the new one is read"),
            ("07070X", "unsupported: cpio header: RPM's format for files of more than 4 GiB"),
        ] {
            let mut file = build_cpio(&[("a", b"1")]);
            file[..6].copy_from_slice(magic.as_bytes());
            assert!(cpio::is_header(&file));
            let error = members(Container::Cpio, &file)[0].as_ref().unwrap_err().to_string();
            assert_eq!(error, format!("{text} (at offset 0x0)"));
        }
    }
}
