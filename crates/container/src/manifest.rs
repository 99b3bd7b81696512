//! Manifests: how the bundles of a file are made, all but their contents, so that they can be made again.

use std::borrow::Cow;

use hsaco_bytes::{TextError, hex};
use hsaco_compress::Method;
use serde::{Deserialize, Serialize};

use crate::bundle::{self, Bundle, BundleEntry};
use crate::ccob::{self, Ccob, default_level};
use crate::joined::Joined;
use crate::outer::{Opened, OuterBundle, OuterBundles, OuterEntry, between};
use crate::trail::TrailStep;

/// The version of manifests, as of every answer of the command in JSON.
const SCHEMA_VERSION: u32 = 1;

/// How the name of a manifest ends.
pub const SUFFIX: &str = ".hsaco.json";

type Result<T, E = TextError> = std::result::Result<T, E>;

/// The bundles of a file. Files that it names stand beside it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Manifest {
    schema_version: u32,
    /// The file it describes, as the user spelled it.
    source: String,
    /// What that file is: `bundle`, `elf`, …
    container: String,
    bundles: Vec<BundleRecord>,
    /// What follows the last bundle, in files that are nothing but bundles.
    after: Fill,
}

/// One bundle.
#[derive(Debug, Serialize, Deserialize)]
struct BundleRecord {
    /// Where it begins in the file.
    offset: u64,
    /// How many bytes it has there.
    size: u64,
    /// What it lies in; null in files that are nothing but bundles.
    within: Option<String>,
    /// What lies between it and the bundle before it in the same section.
    before: Fill,
    /// Null if it is plain.
    compressed: Option<Compressed>,
    /// How contents are laid out when their sizes change.
    alignment: u64,
    /// How many bytes it has when it is plain.
    plain_size: u64,
    entries: Vec<EntryRecord>,
    /// Bytes between the contents that are not zero.
    gaps: Vec<Gap>,
}

/// How a bundle was compressed.
#[derive(Debug, Serialize, Deserialize)]
struct Compressed {
    version: u16,
    method: String,
    /// The file with the compressed bundle as it was.
    block: String,
}

/// One row of a bundle's table.
#[derive(Debug, Serialize, Deserialize)]
struct EntryRecord {
    id: String,
    /// The bytes of an id that is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id_bytes: Option<String>,
    /// From the start of the plain bundle.
    offset: u64,
    size: u64,
    /// The file with its content; null if it has none.
    file: Option<String>,
}

/// Bytes at a place of the plain bundle.
#[derive(Debug, Serialize, Deserialize)]
struct Gap {
    offset: u64,
    bytes: String,
}

/// Bytes that belong to no bundle.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Fill {
    size: u64,
    /// What they are; null for zeros.
    bytes: Option<String>,
}

impl Fill {
    fn new(bytes: &[u8]) -> Self {
        let is_zero = bytes.iter().all(|&byte| byte == 0);
        let text = (!is_zero).then(|| hex::encode(bytes));
        Self { size: bytes.len() as u64, bytes: text }
    }

    /// The bytes, at most `cap` of them.
    fn to_bytes(&self, cap: u64) -> Result<Vec<u8>> {
        let size = usize::try_from(self.size).ok().filter(|_| self.size <= cap);
        let too_many = || TextError::new(format!("{} bytes of padding, {cap} allowed", self.size));
        let size = size.ok_or_else(too_many)?;
        match &self.bytes {
            None => Ok(vec![0; size]),
            Some(text) => unhex(text),
        }
    }
}

impl EntryRecord {
    fn id_bytes(&self) -> Result<Cow<'_, [u8]>> {
        match &self.id_bytes {
            None => Ok(Cow::Borrowed(self.id.as_bytes())),
            Some(text) => unhex(text).map(Cow::Owned),
        }
    }
}

fn unhex(text: &str) -> Result<Vec<u8>> {
    let wrong = || TextError::new(format!("'{text}' is not a row of hexadecimal byte values"));
    hex::decode(text).ok_or_else(wrong)
}

fn where_it_is(offset: u64) -> String {
    format!("bundle at {offset:#x}")
}

/// What a described file needs beside its objects.
pub trait Store {
    /// Why something cannot be kept.
    type Error: From<TextError>;

    /// Keeps a compressed bundle as it is, and says the name of its file.
    ///
    /// # Errors
    /// When it cannot be written.
    fn block(&mut self, bundle: usize, bytes: &[u8]) -> Result<String, Self::Error>;

    /// Keeps an entry that is no object of its own, such as the host's, and says the name of its file.
    ///
    /// # Errors
    /// When it cannot be written.
    fn entry(
        &mut self,
        bundle: usize,
        index: usize,
        id: &str,
        bytes: &[u8],
    ) -> Result<String, Self::Error>;
}

impl Manifest {
    /// Describes the bundles of a file; nothing if a compressed block in it is no bundle.
    ///
    /// # Errors
    /// When a bundle cannot be read, and those of `store`.
    pub fn describe<S: Store>(
        source: &str,
        container: &str,
        file: &[u8],
        bundles: &OuterBundles,
        max_size: u64,
        store: &mut S,
    ) -> Result<Option<Self>, S::Error> {
        let mut records: Vec<BundleRecord> = Vec::new();
        let mut end: Option<(u64, &[TrailStep])> = None;
        for (number, bundle) in bundles.0.iter().enumerate() {
            let describer = Describer { source, file, bundle, number };
            let Some(mut record) = describer.record(max_size, store)? else {
                return Ok(None);
            };
            // Between sections lies what is the host file's own.
            let before = match end {
                Some((end, outer)) if outer == bundle.outer => between(file, end, bundle.offset),
                None if bundle.outer.is_empty() => between(file, 0, bundle.offset),
                _ => &[],
            };
            record.before = Fill::new(before);
            end = Some((bundle.offset.saturating_add(record.size), &bundle.outer));
            records.push(record);
        }
        let after = match end {
            Some((end, [])) => between(file, end, file.len() as u64),
            _ => &[],
        };
        let (source, container) = (source.to_owned(), container.to_owned());
        let (schema_version, after) = (SCHEMA_VERSION, Fill::new(after));
        Ok(Some(Manifest { schema_version, source, container, bundles: records, after }))
    }

    /// Reads a manifest.
    ///
    /// # Errors
    /// When the text is none, or one of another version.
    pub fn parse(text: &[u8]) -> Result<Self> {
        let wrong = |error| TextError::new(format!("not a manifest: {error}"));
        let manifest: Self = serde_json::from_slice(text).map_err(wrong)?;
        match manifest.schema_version {
            SCHEMA_VERSION => Ok(manifest),
            version => Err(TextError::new(format!(
                "a manifest of schema version {version}; this hsaco knows {SCHEMA_VERSION}"
            ))),
        }
    }

    /// The manifest as text.
    #[must_use]
    pub fn to_json(&self) -> String {
        let text = serde_json::to_string_pretty(self);
        text.map(|text| text + "\n").unwrap_or_default()
    }

    /// How many bundles it is about.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bundles.len()
    }

    /// Whether it is about none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bundles.is_empty()
    }

    /// Makes the bundles again, one after the other; `read` gives the content of a file that the manifest names. What was not
    /// changed comes out as it was; what was is compressed with `level`, or as usual.
    ///
    /// # Errors
    /// When something does not fit, and those of `read`.
    pub fn rebuild(
        &self,
        read: &dyn Fn(&str) -> Result<Vec<u8>>,
        level: Option<i32>,
        max_size: u64,
    ) -> Result<Vec<u8>> {
        let mut joined = Joined::default();
        for record in &self.bundles {
            let within = |error: TextError| error.within(&where_it_is(record.offset));
            let bytes = record.bundle(read, level, max_size).map_err(within)?;
            let before = record.before.to_bytes(max_size).map_err(within)?;
            joined.push(&before, &bytes, record.size)?;
        }
        joined.end(&self.after.to_bytes(max_size)?)?;
        Ok(joined.bytes)
    }
}

struct Describer<'d> {
    source: &'d str,
    file: &'d [u8],
    bundle: &'d OuterBundle,
    number: usize,
}

impl Describer<'_> {
    fn record<S: Store>(
        &self,
        max_size: u64,
        store: &mut S,
    ) -> Result<Option<BundleRecord>, S::Error> {
        let data = between(self.file, self.bundle.offset, self.file.len() as u64);
        let opened = Opened::new(data, max_size).map_err(|error| self.broken(error))?;
        let Ok(bundle) = Bundle::parse(&opened.plain) else {
            return Ok(None);
        };
        let compressed = match &opened.header {
            Some(header) => {
                let block = store.block(self.number, between(data, 0, opened.size))?;
                let method = header.method.name().to_owned();
                Some(Compressed { version: header.version, method, block })
            }
            None => None,
        };
        let gap = |(offset, bytes)| Gap { offset, bytes: hex::encode(bytes) };
        Ok(Some(BundleRecord {
            offset: self.bundle.offset,
            size: opened.size,
            within: surroundings(&self.bundle.outer),
            before: Fill::default(),
            compressed,
            alignment: bundle.alignment().unwrap_or_else(|| bundle.common_alignment()),
            plain_size: opened.plain.len() as u64,
            entries: self.entries(&bundle, &opened.plain, store)?,
            gaps: bundle.gaps(&opened.plain).into_iter().map(gap).collect(),
        }))
    }

    fn broken(&self, error: hsaco_bytes::Error) -> TextError {
        let place = format!("{}: {}", self.source, where_it_is(self.bundle.offset));
        TextError::from(error).within(&place)
    }

    fn entries<S: Store>(
        &self,
        bundle: &Bundle<'_>,
        plain: &[u8],
        store: &mut S,
    ) -> Result<Vec<EntryRecord>, S::Error> {
        let mut contents = self.bundle.contents.iter().peekable();
        let mut records = Vec::new();
        for (index, entry) in bundle.entries.iter().enumerate() {
            let BundleEntry { id: bytes, offset, size, .. } = *entry;
            let id = bytes.to_str_lossy();
            let is_entry = |it: &&OuterEntry| {
                it.is_direct && it.size == size && it.id.as_deref() == Some(&*id)
            };
            let written = contents.next_if(is_entry).and_then(|it| it.file.clone());
            // Objects of a container within the entry have files; the entry itself needs one.
            while contents.next_if(|it| !it.is_direct).is_some() {}
            let file = match written {
                None if size > 0 => {
                    let data = bundle.content(plain, entry).map_err(|error| self.broken(error))?;
                    Some(store.entry(self.number, index, &id, data)?)
                }
                written => written,
            };
            let is_text = str::from_utf8(bytes.as_bytes()).is_ok();
            let id_bytes = (!is_text).then(|| hex::encode(bytes.as_bytes()));
            records.push(EntryRecord { id: id.to_string(), id_bytes, offset, size, file });
        }
        Ok(records)
    }
}

/// `archive(a.o) > elf(.hip_fatbin)`
fn surroundings(outer: &[TrailStep]) -> Option<String> {
    let step = |it: &TrailStep| match &it.part {
        Some(part) => format!("{}({part})", it.container.name()),
        None => it.container.name().to_owned(),
    };
    (!outer.is_empty()).then(|| outer.iter().map(step).collect::<Vec<_>>().join(" > "))
}

impl BundleRecord {
    fn bundle(
        &self,
        read: &dyn Fn(&str) -> Result<Vec<u8>>,
        level: Option<i32>,
        max_size: u64,
    ) -> Result<Vec<u8>> {
        let plain = self.plain(read, max_size)?;
        let Some(compressed) = &self.compressed else {
            return Ok(plain);
        };
        // No two zstd libraries compress alike: what did not change must not be compressed again.
        let block = read(&compressed.block)?;
        let before = Ccob::parse(&block).and_then(|header| header.payload(&block, max_size));
        let before = before.map_err(|error| TextError::from(error).within(&compressed.block))?;
        if before == plain {
            return Ok(block);
        }
        let method = method_named(&compressed.method)?;
        let level = level.unwrap_or(default_level(method));
        Ok(ccob::write(&plain, compressed.version, method, level)?)
    }

    fn plain(&self, read: &dyn Fn(&str) -> Result<Vec<u8>>, max_size: u64) -> Result<Vec<u8>> {
        let mut entries = Vec::new();
        for entry in &self.entries {
            let data = entry.file.as_ref().map(|it| read(it)).transpose()?.unwrap_or_default();
            entries.push((entry.id_bytes()?, entry.offset, data));
        }
        let same_size = |(entry, (_, _, data)): (&EntryRecord, &(_, _, Vec<u8>))| {
            entry.size == data.len() as u64
        };
        if self.plain_size <= max_size && self.entries.iter().zip(&entries).all(same_size) {
            let mut gaps = Vec::new();
            for gap in &self.gaps {
                gaps.push((gap.offset, unhex(&gap.bytes)?));
            }
            let gaps: Vec<_> = gaps.iter().map(|(at, bytes)| (*at, bytes.as_slice())).collect();
            if let Some(plain) = bundle::assemble(&entries, &gaps, self.plain_size) {
                return Ok(plain);
            }
        }
        const MOST: u64 = 1 << 20;
        if !(1..=MOST).contains(&self.alignment) {
            let text = format!("alignment {}, 1 to {MOST} allowed", self.alignment);
            return Err(TextError::new(text));
        }
        let entries: Vec<_> = entries.into_iter().map(|(id, _, data)| (id, data)).collect();
        Ok(bundle::write(&entries, self.alignment))
    }
}

fn method_named(name: &str) -> Result<Method> {
    let known = [Method::Zlib, Method::Zstd].into_iter().find(|it| it.name() == name);
    let unknown =
        || TextError::new(format!("compression method '{name}'; zlib and zstd are known"));
    known.ok_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fills_remember_what_is_not_zero() {
        for bytes in [b"".as_slice(), b"\0\0", b"\0\x01"] {
            assert_eq!(Fill::new(bytes).to_bytes(10).unwrap(), bytes);
        }
        assert!(Fill { size: 11, bytes: None }.to_bytes(10).is_err());
    }
}
