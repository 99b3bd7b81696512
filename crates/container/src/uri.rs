//! Code-object URIs: how the loader and its debuggers name where a code object is.
//!
//! ```
//! use hsaco_container::uri::Uri;
//! let uri = Uri::parse("file:///opt/my%20app#offset=0x1000&size=512")?;
//! assert_eq!(uri.range().map(|range| (range.offset, range.size)), Some((4096, 512)));
//! assert_eq!(uri.to_string(), "file:///opt/my%20app#offset=4096&size=512");
//! # Ok::<(), hsaco_bytes::Error>(())
//! ```

use std::fmt::{self, Write as _};

use hsaco_bytes::{Error, Result, hex, number};

const CONTEXT: &str = "code object URI";
const FILE_SCHEME: &str = "file://";

/// Where a code object is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Uri {
    /// In a file.
    File {
        /// The path, without escapes. A path is bytes and need not be UTF-8.
        path: Vec<u8>,
        /// Which part of the file; all of it when absent.
        range: Option<UriRange>,
    },
    /// In the memory of a process.
    Memory {
        /// The process id.
        process: u64,
        /// The range of addresses in that process.
        range: UriRange,
    },
}

/// The part of a file or of a memory that a [`Uri`] names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UriRange {
    /// A file offset or an address.
    pub offset: u64,
    /// How many bytes.
    pub size: u64,
}

impl Uri {
    /// Reads a `file://` or `memory://` URI.
    ///
    /// ```
    /// use hsaco_container::uri::{Uri, UriRange};
    /// assert_eq!(
    ///     Uri::parse("memory://1234?offset=0x7f00&size=017")?,
    ///     Uri::Memory { process: 1234, range: UriRange { offset: 0x7f00, size: 15 } },
    /// );
    /// # Ok::<(), hsaco_bytes::Error>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self> {
        if let Some(rest) = text.strip_prefix(FILE_SCHEME) {
            let (path, range) = split_range(text, rest)?;
            return Ok(Self::File { path: unescape(path)?, range });
        }
        if let Some(rest) = text.strip_prefix("memory://") {
            let (process, range) = split_range(text, rest)?;
            let digits = !process.is_empty() && process.bytes().all(|byte| byte.is_ascii_digit());
            let process = process.parse().ok().filter(|_| digits);
            let process =
                process.ok_or_else(|| malformed(text, rest, "a process is a decimal number"))?;
            let range = range
                .ok_or_else(|| malformed(text, "", "a memory URI ends in #offset=…&size=…"))?;
            return Ok(Self::Memory { process, range });
        }
        Err(malformed(text, text, "it begins with neither file:// nor memory://"))
    }

    /// The part that is named, if it is not everything.
    pub fn range(&self) -> Option<UriRange> {
        match self {
            Self::File { range, .. } => *range,
            Self::Memory { range, .. } => Some(*range),
        }
    }
}

impl std::str::FromStr for Uri {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text)
    }
}

impl fmt::Display for Uri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, range } => {
                f.write_str(FILE_SCHEME)?;
                path.iter().try_for_each(|&byte| write_escaped(f, byte))?;
                match range {
                    Some(UriRange { offset, size }) => write!(f, "#offset={offset}&size={size}"),
                    None => Ok(()),
                }
            }
            // The loader writes addresses in hexadecimal and file offsets in decimal.
            Self::Memory { process, range: UriRange { offset, size } } => {
                write!(f, "memory://{process}#offset={offset:#x}&size={size}")
            }
        }
    }
}

fn write_escaped(f: &mut fmt::Formatter<'_>, byte: u8) -> fmt::Result {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
            f.write_char(char::from(byte))
        }
        _ => write!(f, "%{byte:02X}"),
    }
}

/// An error at the place in `text` where the `rest` of it begins.
fn malformed(text: &str, rest: &str, detail: &str) -> Error {
    let offset = text.len().saturating_sub(rest.len());
    Error::malformed(CONTEXT, offset as u64, detail)
}

fn split_range<'a>(text: &str, rest: &'a str) -> Result<(&'a str, Option<UriRange>)> {
    let Some((before, range)) = rest.split_once(['#', '?']) else { return Ok((rest, None)) };
    let fields = range.strip_prefix("offset=").and_then(|range| range.split_once("&size="));
    let numbers =
        fields.and_then(|(offset, size)| Some((parse_number(offset)?, parse_number(size)?)));
    match numbers {
        Some((offset, size)) => Ok((before, Some(UriRange { offset, size }))),
        None => Err(malformed(text, range, "a range is offset=NUMBER&size=NUMBER")),
    }
}

/// Hexadecimal after `0x`, octal after `0`, else decimal.
fn parse_number(text: &str) -> Option<u64> {
    let (digits, radix) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None if text.len() > 1 && text.starts_with('0') => (text, 8),
        None => (text, 10),
    };
    u64::try_from(number::digits(digits, radix)?).ok()
}

fn unescape(path: &str) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((plain, escaped)) = rest.split_once('%') {
        out.extend_from_slice(plain.as_bytes());
        let byte = escaped.get(..2).and_then(hex::decode);
        out.extend(byte.ok_or_else(|| {
            let offset = FILE_SCHEME.len() + path.len() - escaped.len();
            let detail = "a % is followed by two hexadecimal digits";
            Error::malformed(CONTEXT, offset as u64, detail)
        })?);
        rest = escaped.get(2..).unwrap_or_default();
    }
    out.extend_from_slice(rest.as_bytes());
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &[u8], range: Option<(u64, u64)>) -> Uri {
        let range = range.map(|(offset, size)| UriRange { offset, size });
        Uri::File { path: path.to_vec(), range }
    }

    #[test]
    fn files() {
        let cases: [(&str, Uri); 6] = [
            ("file:///usr/lib/a.so", file(b"/usr/lib/a.so", None)),
            ("file:///a#offset=10&size=20", file(b"/a", Some((10, 20)))),
            ("file:///a?offset=010&size=0x20", file(b"/a", Some((8, 32)))),
            ("file:///a#offset=0&size=00", file(b"/a", Some((0, 0)))),
            ("file:///a%20%23%ff#offset=1&size=2", file(b"/a #\xff", Some((1, 2)))),
            ("file://", file(b"", None)),
        ];
        for (text, expected) in cases {
            assert_eq!(Uri::parse(text).unwrap(), expected, "{text}");
            assert_eq!(expected.to_string().parse::<Uri>().unwrap(), expected);
        }
    }

    #[test]
    fn memory() {
        let uri = Uri::parse("memory://77#offset=0x7f0010&size=14472").unwrap();
        assert_eq!(uri.to_string(), "memory://77#offset=0x7f0010&size=14472");
    }

    #[test]
    fn errors_say_where() {
        let cases = [
            ("http://x", 0, "it begins with neither file:// nor memory://"),
            ("memory://77", 11, "a memory URI ends in #offset=…&size=…"),
            ("memory://x#offset=1&size=1", 9, "a process is a decimal number"),
            ("memory://+1#offset=1&size=1", 9, "a process is a decimal number"),
            ("file:///a#offset=+1&size=1", 10, "a range is offset=NUMBER&size=NUMBER"),
            ("file:///a#offset=08&size=1", 10, "a range is offset=NUMBER&size=NUMBER"),
            ("file:///a#size=1&offset=1", 10, "a range is offset=NUMBER&size=NUMBER"),
            (
                "file:///a#offset=1&size=18446744073709551616",
                10,
                "a range is offset=NUMBER&size=NUMBER",
            ),
            ("file:///a%2", 10, "a % is followed by two hexadecimal digits"),
            ("file:///a%+1", 10, "a % is followed by two hexadecimal digits"),
            ("file:///a%é", 10, "a % is followed by two hexadecimal digits"),
        ];
        for (text, offset, detail) in cases {
            let error = Uri::parse(text).unwrap_err();
            assert_eq!((error.offset(), error.detail()), (Some(offset), detail), "{text}");
        }
    }
}
