//! RPM packages: a lead, two headers, and a compressed cpio archive.

use hsaco_bytes::{Error, ErrorKind, Result, slice};

const CONTEXT: &str = "RPM package";
const LEAD: u64 = 96;
const HEADER_MAGIC: &[u8] = b"\x8e\xad\xe8\x01";
const ENTRY: usize = 16;

pub(crate) const MAGIC: &[u8; 4] = b"\xed\xab\xee\xdb";

const PAYLOAD_FORMAT: u32 = 1124;
const PAYLOAD_COMPRESSOR: u32 = 1125;

/// Where the parts of a package are.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Rpm {
    /// Where the payload begins.
    pub(crate) payload: u64,
    /// What the payload is compressed with, in RPM's words.
    pub(crate) compressor: Option<String>,
}

impl Rpm {
    /// Reads the headers; the payload must hold a cpio archive.
    pub(crate) fn parse(data: &[u8]) -> Result<Self> {
        slice(data, 0, LEAD, CONTEXT)?;
        let signature = Header::parse(data, LEAD)?;
        // The signature is padded to a multiple of eight bytes.
        let main = Header::parse(data, signature.end.next_multiple_of(8))?;
        let format = main.string(PAYLOAD_FORMAT);
        match format.as_deref() {
            None | Some("cpio") => {}
            Some(other) => {
                let detail = format!("a payload of the format {other}");
                return Err(Error::new(ErrorKind::Unsupported, CONTEXT, detail).at(main.start));
            }
        }
        Ok(Self { payload: main.end, compressor: main.string(PAYLOAD_COMPRESSOR) })
    }
}

/// A header: an index of entries, and a store that holds their values.
struct Header<'d> {
    index: &'d [u8],
    store: &'d [u8],
    start: u64,
    end: u64,
}

impl<'d> Header<'d> {
    fn parse(data: &'d [u8], start: u64) -> Result<Self> {
        let head = slice(data, start, 16, "RPM header")?;
        if !head.starts_with(HEADER_MAGIC) {
            return Err(Error::malformed(
                "RPM header",
                start,
                "it does not begin with 8e ad e8 01",
            ));
        }
        let count = u64::from(big_u32(head, 8).unwrap_or(0));
        let size = u64::from(big_u32(head, 12).unwrap_or(0));
        let index = slice(data, start + 16, count * ENTRY as u64, "RPM header")?;
        let at = start + 16 + count * ENTRY as u64;
        let store = slice(data, at, size, "RPM header")?;
        Ok(Self { index, store, start, end: at + size })
    }

    /// The text of a tag.
    fn string(&self, tag: u32) -> Option<String> {
        let mut entries = self.index.chunks_exact(ENTRY);
        let entry = entries.find(|entry| big_u32(entry, 0) == Some(tag))?;
        let offset = usize::try_from(big_u32(entry, 8)?).ok()?;
        let text = self.store.get(offset..)?.split(|&byte| byte == 0).next()?;
        let text = text.get(..text.len().min(64)).unwrap_or_default();
        Some(String::from_utf8_lossy(text).into_owned())
    }
}

fn big_u32(data: &[u8], at: usize) -> Option<u32> {
    hsaco_bytes::read_u32(data, at).map(u32::swap_bytes)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    fn header(tags: &[(u32, &str)]) -> Vec<u8> {
        let mut store = Vec::new();
        let mut out = HEADER_MAGIC.to_vec();
        out.extend([0; 4]);
        out.extend(u32::try_from(tags.len()).unwrap().to_be_bytes());
        let mut index = Vec::new();
        for (tag, text) in tags {
            let offset = u32::try_from(store.len()).unwrap();
            index.extend([*tag, 6, offset, 1].iter().flat_map(|it| it.to_be_bytes()));
            store.extend_from_slice(text.as_bytes());
            store.push(0);
        }
        out.extend(u32::try_from(store.len()).unwrap().to_be_bytes());
        out.extend(index);
        out.extend(store);
        out
    }

    /// A package with a payload.
    pub(crate) fn build(compressor: &str, payload: &[u8]) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.resize(96, 0);
        out.extend(header(&[(1000, "sig")]));
        out.resize(out.len().next_multiple_of(8), 0);
        out.extend(header(&[(PAYLOAD_FORMAT, "cpio"), (PAYLOAD_COMPRESSOR, compressor)]));
        out.extend_from_slice(payload);
        out
    }

    #[test]
    fn the_payload_follows_the_headers() {
        let file = build("xz", b"payload");
        let rpm = Rpm::parse(&file).unwrap();
        assert_eq!(rpm.compressor.as_deref(), Some("xz"));
        assert_eq!(&file[usize::try_from(rpm.payload).unwrap()..], b"payload");
        for length in 0..file.len() - 7 {
            assert!(Rpm::parse(&file[..length]).is_err(), "{length}");
        }
    }
}
