//! cpio archives as RPM packages hold them: the "new" ASCII format, with and without checksums.

use hsaco_bytes::{Error, ErrorKind, Result};

use crate::package::{Head, MAX_NAME, Source, name_of};

const CONTEXT: &str = "cpio header";
const HEADER: u64 = 110;
const TRAILER: &str = "TRAILER!!!";

/// Whether these bytes begin with the header of a member.
pub(crate) fn is_header(data: &[u8]) -> bool {
    [b"070701", b"070702", b"070707", b"07070X"].iter().any(|magic| data.starts_with(*magic))
        && data.get(6..14).is_some_and(|it| it.iter().all(u8::is_ascii_hexdigit))
}

/// Reads up to the content of the next file; `None` at the end.
pub(crate) fn next(source: &mut dyn Source) -> Result<Option<Head>> {
    loop {
        let start = source.position();
        let header = source.take(HEADER)?;
        if (header.len() as u64) < HEADER {
            return Err(Error::truncated(CONTEXT, start, HEADER, header.len() as u64));
        }
        check_magic(&header, start)?;
        let [mode, size, name_size] = [1, 6, 11].map(|index| field(&header, index));
        let fields = mode.zip(size).zip(name_size);
        let ((mode, size), name_size) = fields
            .ok_or_else(|| Error::malformed(CONTEXT, start, "a field is no hexadecimal number"))?;
        if name_size > MAX_NAME as u64 {
            let detail = format!("a name of {name_size} bytes, {MAX_NAME} allowed");
            return Err(Error::new(ErrorKind::LimitExceeded, CONTEXT, detail).at(start));
        }
        let name = source.take(name_size)?;
        // Header and name together, and the content alone, end at multiples of four.
        let gap = padding(HEADER + name_size);
        let skipped = source.skip(gap)?;
        if (name.len() as u64) < name_size || skipped < gap {
            return Err(Error::truncated(
                CONTEXT,
                start,
                HEADER + name_size,
                source.position() - start,
            ));
        }
        let name = name_of(&name);
        if name == TRAILER {
            return Ok(None);
        }
        if is_file(mode) {
            return Ok(Some(Head { name, size, padding: padding(size) }));
        }
        let all = size.saturating_add(padding(size));
        let skipped = source.skip(all)?;
        if skipped < all {
            return Err(Error::truncated("cpio member", start, all, skipped));
        }
    }
}

fn check_magic(header: &[u8], start: u64) -> Result<()> {
    let magic = header.get(..6).unwrap_or_default();
    match magic {
        b"070701" | b"070702" => Ok(()),
        b"070707" => {
            let detail = "the old ASCII format; the new one is read";
            Err(Error::new(ErrorKind::Unsupported, CONTEXT, detail).at(start))
        }
        b"07070X" => {
            let detail = "RPM's format for files of more than 4 GiB";
            Err(Error::new(ErrorKind::Unsupported, CONTEXT, detail).at(start))
        }
        _ => Err(Error::malformed(CONTEXT, start, "it does not begin with 070701")),
    }
}

/// One of the thirteen numbers of eight hexadecimal digits.
fn field(header: &[u8], index: usize) -> Option<u64> {
    let start = 6 + index * 8;
    let digits = header.get(start..start + 8).and_then(|it| str::from_utf8(it).ok())?;
    u64::from_str_radix(digits, 16).ok()
}

/// The kind of a regular file.
fn is_file(mode: u64) -> bool {
    mode & 0o170_000 == 0o100_000
}

fn padding(size: u64) -> u64 {
    size.wrapping_neg() % 4
}

#[cfg(test)]
pub(crate) mod tests {
    use super::TRAILER;

    fn push(out: &mut Vec<u8>, name: &str, mode: u32, data: &[u8]) {
        let [size, length] = [data.len(), name.len() + 1].map(|it| u32::try_from(it).unwrap());
        let fields = [1, mode, 0, 0, 1, 0, size, 0, 0, 0, 0, length, 0];
        out.extend_from_slice(b"070701");
        for field in fields {
            out.extend_from_slice(format!("{field:08x}").as_bytes());
        }
        out.extend_from_slice(name.as_bytes());
        out.push(0);
        out.resize(out.len().next_multiple_of(4), 0);
        out.extend_from_slice(data);
        out.resize(out.len().next_multiple_of(4), 0);
    }

    /// An archive of files.
    pub(crate) fn build(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut out = Vec::new();
        push(&mut out, "./usr", 0o040_755, b"");
        for (name, data) in files {
            push(&mut out, name, 0o100_644, data);
        }
        push(&mut out, TRAILER, 0, b"");
        out
    }
}
