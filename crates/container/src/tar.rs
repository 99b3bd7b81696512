//! tar archives: POSIX, GNU and older ones.

use hsaco_bytes::{Error, ErrorKind, Result};

use crate::package::{Head, Source, name_of};

const CONTEXT: &str = "tar header";
const BLOCK: u64 = BLOCK_BYTES as u64;
const BLOCK_BYTES: usize = 512;

/// Extended headers and long names are read no further than this.
const MAX_EXTENDED: u64 = 1 << 20;

/// Whether these bytes begin with the header of a member.
pub(crate) fn is_header(data: &[u8]) -> bool {
    data.get(..BLOCK_BYTES).is_some_and(is_sound)
}

/// A header's checksum is the sum of its bytes, with spaces where the checksum is. Old programs added signed bytes.
fn is_sound(block: &[u8]) -> bool {
    let Some(stated) = block.get(148..156).and_then(number) else { return false };
    let sum = |of: fn(u8) -> i64| {
        let around = block.iter().enumerate().filter(|(at, _)| !(148..156).contains(at));
        around.map(|(_, &byte)| of(byte)).sum::<i64>() + 8 * 32
    };
    let stated = i64::try_from(stated).unwrap_or(-1);
    stated > 0 && (stated == sum(i64::from) || stated == sum(|byte| i64::from(byte.cast_signed())))
}

/// A number: octal digits among spaces and zeros, or GNU's binary.
fn number(field: &[u8]) -> Option<u64> {
    match field {
        [0x80, rest @ ..] => rest
            .iter()
            .try_fold(0u64, |value, &byte| value.checked_mul(256)?.checked_add(u64::from(byte))),
        [first, ..] if *first >= 0x80 => None,
        _ => {
            let text = field.split(|&byte| byte == 0).next()?.trim_ascii();
            let digit = |byte: u8| (b'0'..=b'7').contains(&byte).then(|| u64::from(byte - b'0'));
            text.iter()
                .try_fold(0u64, |value, &byte| value.checked_mul(8)?.checked_add(digit(byte)?))
        }
    }
}

/// What extended headers say of the next member, or of all that follow.
#[derive(Clone, Default)]
struct Extended {
    name: Option<String>,
    size: Option<u64>,
    is_sparse: bool,
}

/// Goes from member to member.
#[derive(Default)]
pub(crate) struct Reader {
    global: Extended,
}

impl Reader {
    /// Reads up to the content of the next file; `None` at the end.
    pub(crate) fn next(&mut self, source: &mut dyn Source) -> Result<Option<Head>> {
        let mut extended = self.global.clone();
        loop {
            let start = source.position();
            let block = source.take(BLOCK)?;
            if block.is_empty() {
                let detail = "it ends without the empty block that ends an archive";
                return Err(Error::new(ErrorKind::Truncated, "tar", detail).at(start));
            }
            if block.iter().all(|&byte| byte == 0) && block.len() as u64 == BLOCK {
                return Ok(None);
            }
            let header = Header::read(&block, start)?;
            let size = extended.size.unwrap_or(header.size);
            let padding = size.wrapping_neg() % BLOCK;
            match header.kind {
                b'L' => extended.name = Some(name_of(&content(source, &header)?)),
                b'x' => read_records(&content(source, &header)?, &mut extended, start)?,
                b'g' => read_records(&content(source, &header)?, &mut self.global, start)?,
                // The name of a link's target, and the label of a volume.
                b'K' | b'V' => drop(content(source, &header)?),
                // Links, devices, folders and pipes have no content, whatever their size says of what they lead to.
                b'1'..=b'6' => extended = self.global.clone(),
                b'S' | b'M' => return Err(unsupported(&header, &extended, start)),
                _ if extended.is_sparse => return Err(unsupported(&header, &extended, start)),
                // Old archives name folders with a slash.
                _ if header.name.ends_with('/') && size == 0 => extended = self.global.clone(),
                // Unknown kinds are files.
                _ => {
                    let name = extended.name.unwrap_or(header.name);
                    return Ok(Some(Head { name, size, padding }));
                }
            }
        }
    }
}

fn unsupported(header: &Header, extended: &Extended, start: u64) -> Error {
    let name = extended.name.as_ref().unwrap_or(&header.name);
    let what = if header.kind == b'M' { "goes on in another volume" } else { "is a sparse file" };
    Error::new(ErrorKind::Unsupported, "tar member", format!("{name} {what}")).at(start)
}

struct Header {
    name: String,
    size: u64,
    kind: u8,
    start: u64,
}

impl Header {
    fn read(block: &[u8], start: u64) -> Result<Self> {
        if (block.len() as u64) < BLOCK {
            return Err(Error::truncated(CONTEXT, start, BLOCK, block.len() as u64));
        }
        if !is_sound(block) {
            let detail = "its checksum is not that of its bytes";
            return Err(Error::new(ErrorKind::Mismatch, CONTEXT, detail).at(start));
        }
        let field = |from: usize, to: usize| block.get(from..to).unwrap_or_default();
        let size = number(field(124, 136))
            .ok_or_else(|| Error::malformed(CONTEXT, start + 124, "its size is no number"))?;
        let mut name = name_of(field(0, 100));
        // GNU's header has times where the one of POSIX has the first part of a long name.
        if field(257, 263) == b"ustar\0" {
            let prefix = name_of(field(345, 500));
            if !prefix.is_empty() {
                name = format!("{prefix}/{name}");
            }
        }
        let kind = block.get(156).copied().unwrap_or(0);
        Ok(Self { name, size, kind, start })
    }
}

/// The content of an extended header, and what pads it.
fn content(source: &mut dyn Source, header: &Header) -> Result<Vec<u8>> {
    if header.size > MAX_EXTENDED {
        let detail = format!("an extended header of {} bytes, {MAX_EXTENDED} allowed", header.size);
        return Err(Error::new(ErrorKind::LimitExceeded, CONTEXT, detail).at(header.start));
    }
    let content = source.take(header.size)?;
    if (content.len() as u64) < header.size {
        return Err(Error::truncated(CONTEXT, header.start, header.size, content.len() as u64));
    }
    source.skip(header.size.wrapping_neg() % BLOCK)?;
    Ok(content)
}

/// Records of an extended header: `LENGTH KEY=VALUE\n`.
fn read_records(mut content: &[u8], extended: &mut Extended, start: u64) -> Result<()> {
    let broken = || Error::malformed("tar extended header", start, "a record that cannot be read");
    while !content.is_empty() && content.first() != Some(&0) {
        let space = content.iter().position(|&byte| byte == b' ').ok_or_else(broken)?;
        let (length, _) = content.split_at_checked(space).ok_or_else(broken)?;
        let length = str::from_utf8(length).ok().and_then(|it| it.parse::<usize>().ok());
        let (record, rest) =
            length.and_then(|length| content.split_at_checked(length)).ok_or_else(broken)?;
        let record = record.get(space + 1..).and_then(|it| it.strip_suffix(b"\n"));
        let record = record.ok_or_else(broken)?;
        let equals = record.iter().position(|&byte| byte == b'=').ok_or_else(broken)?;
        let (key, value) = record.split_at_checked(equals).ok_or_else(broken)?;
        let value = value.get(1..).unwrap_or_default();
        match key {
            b"path" => extended.name = Some(name_of(value)),
            b"size" => {
                let text = str::from_utf8(value).ok().and_then(|it| it.parse().ok());
                extended.size = Some(text.ok_or_else(broken)?);
            }
            _ if key.starts_with(b"GNU.sparse.") => extended.is_sparse = true,
            _ => {}
        }
        content = rest;
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A header block with a checksum.
    pub(crate) fn header(name: &str, size: u64, kind: u8) -> Vec<u8> {
        let mut block = vec![0; 512];
        block[..name.len()].copy_from_slice(name.as_bytes());
        block[124..135].copy_from_slice(format!("{size:011o}").as_bytes());
        block[156] = kind;
        block[257..265].copy_from_slice(b"ustar\x0000");
        block[148..156].copy_from_slice(b"        ");
        let sum: u64 = block.iter().map(|&byte| u64::from(byte)).sum();
        block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        block
    }

    /// An archive of files.
    pub(crate) fn build(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut out = Vec::new();
        for (name, data) in files {
            push(&mut out, name, data, b'0');
        }
        out.resize(out.len() + 1024, 0);
        out
    }

    pub(crate) fn push(out: &mut Vec<u8>, name: &str, data: &[u8], kind: u8) {
        out.extend(header(name, data.len() as u64, kind));
        out.extend_from_slice(data);
        out.resize(out.len().next_multiple_of(512), 0);
    }

    #[test]
    fn large_sizes_are_binary() {
        assert_eq!(number(b"\x80\0\0\0\0\0\0\x02\0\0\0\0"), Some(2 << 32));
        assert_eq!(number(b"00000000017\0"), Some(15));
        assert_eq!(number(b"  17 \0"), Some(15));
        assert_eq!(number(b"18"), None);
        assert_eq!(number(b"\xff\xff"), None);
    }
}
