//! Writing down how a file's bundles are made, so that they can be made again.

use anyhow::{Context, Result};
use hsaco::container::Step;
use hsaco::container::bundle::{Bundle, BundleEntry};
use hsaco::container::ccob::{self, Ccob};

use super::walk::{Content, Place, Places};
use super::{Extract, file_name_part};
use crate::input::Input;
use crate::schema::SCHEMA_VERSION;
use crate::verb::bundle::manifest::{BundleRecord, Compressed, EntryRecord, Fill, Gap, Manifest};

/// The manifest of a file; nothing if a compressed block in it is no bundle.
pub(super) fn manifest(
    extract: &mut Extract,
    input: &Input,
    container: &str,
    places: &Places,
) -> Result<Option<Manifest>> {
    let mut bundles: Vec<BundleRecord> = Vec::new();
    let mut end: Option<(u64, &[Step])> = None;
    for (number, place) in places.0.iter().enumerate() {
        let Some(mut record) = Describe { extract, input, place, number }.record()? else {
            return Ok(None);
        };
        // Between sections lies what is the host file's own.
        let before = match end {
            Some((end, outer)) if outer == place.outer => between(input, end, place.offset),
            None if place.outer.is_empty() => between(input, 0, place.offset),
            _ => &[],
        };
        record.before = Fill::new(before);
        end = Some((place.offset.saturating_add(record.size), &place.outer));
        bundles.push(record);
    }
    let after = match end {
        Some((end, [])) => between(input, end, input.len() as u64),
        _ => &[],
    };
    Ok(Some(Manifest {
        schema_version: SCHEMA_VERSION,
        source: input.name.clone(),
        container: container.to_owned(),
        bundles,
        after: Fill::new(after),
    }))
}

/// The bytes of a file from one place to another.
pub(super) fn between(data: &[u8], start: u64, end: u64) -> &[u8] {
    let range = usize::try_from(start).ok().zip(usize::try_from(end).ok());
    range.and_then(|(start, end)| data.get(start..end)).unwrap_or_default()
}

/// How many bytes of `data` the bundle at its start takes, and the plain bundle that it is.
pub(super) struct Opened<'a> {
    pub(super) size: u64,
    pub(super) header: Option<Ccob>,
    pub(super) plain: std::borrow::Cow<'a, [u8]>,
}

impl<'a> Opened<'a> {
    pub(super) fn new(data: &'a [u8], max_size: u64) -> hsaco::bytes::Result<Self> {
        if data.starts_with(ccob::MAGIC) {
            let header = Ccob::parse(data)?;
            let plain = header.payload(data, max_size)?.into();
            return Ok(Self { size: header.total_size, header: Some(header), plain });
        }
        let size = Bundle::parse(data)?.extent();
        Ok(Self { size, header: None, plain: between(data, 0, size).into() })
    }
}

struct Describe<'e> {
    extract: &'e mut Extract,
    input: &'e Input,
    place: &'e Place,
    number: usize,
}

impl Describe<'_> {
    fn record(mut self) -> Result<Option<BundleRecord>> {
        let data = between(self.input, self.place.offset, self.input.len() as u64);
        let opened =
            Opened::new(data, self.extract.max_size).with_context(|| self.where_it_is())?;
        let Ok(bundle) = Bundle::parse(&opened.plain) else {
            return Ok(None);
        };
        let compressed = match opened.header {
            Some(header) => Some(self.compressed(&header, between(data, 0, opened.size))?),
            None => None,
        };
        let gaps = bundle.gaps(&opened.plain).into_iter();
        Ok(Some(BundleRecord {
            offset: self.place.offset,
            size: opened.size,
            within: surroundings(&self.place.outer),
            before: Fill::default(),
            compressed,
            alignment: bundle.alignment().unwrap_or_else(|| bundle.common_alignment()),
            plain_size: opened.plain.len() as u64,
            entries: self.entries(&bundle, &opened.plain)?,
            gaps: gaps
                .map(|(offset, bytes)| Gap { offset, bytes: crate::json::hex(bytes) })
                .collect(),
        }))
    }

    fn where_it_is(&self) -> String {
        format!("{}: bundle at {:#x}", self.input.name, self.place.offset)
    }

    fn compressed(&mut self, header: &Ccob, block: &[u8]) -> Result<Compressed> {
        let name = format!("{}.{}.ccob", self.extract.stem, self.number);
        self.extract.write_other(&name, block, "compressed bundle as it is")?;
        let method = header.method.name().to_owned();
        Ok(Compressed { version: header.version, method, block: name })
    }

    fn entries(&mut self, bundle: &Bundle<'_>, plain: &[u8]) -> Result<Vec<EntryRecord>> {
        let mut contents = self.place.contents.iter().peekable();
        let mut records = Vec::new();
        for (index, entry) in bundle.entries.iter().enumerate() {
            let id = entry.id.to_str_lossy();
            let is_entry = |it: &&Content| {
                it.is_direct && it.size == entry.size && it.id.as_deref() == Some(&*id)
            };
            let written = contents.next_if(is_entry).and_then(|it| it.file.clone());
            // Objects of a container within the entry have files; the entry itself needs one.
            while contents.next_if(|it| !it.is_direct).is_some() {}
            let file = match written {
                None if entry.size > 0 => Some(self.other(bundle, entry, plain, index)?),
                written => written,
            };
            records.push(EntryRecord {
                id: id.to_string(),
                id_bytes: str::from_utf8(entry.id.as_bytes())
                    .is_err()
                    .then(|| crate::json::hex(entry.id.as_bytes())),
                offset: entry.offset,
                size: entry.size,
                file,
            });
        }
        Ok(records)
    }

    /// Writes an entry that is no object of its own, such as the host's.
    fn other(
        &mut self,
        bundle: &Bundle<'_>,
        entry: &BundleEntry<'_>,
        plain: &[u8],
        index: usize,
    ) -> Result<String> {
        let data = bundle.content(plain, entry).with_context(|| self.where_it_is())?;
        let (stem, id) = (&self.extract.stem, entry.id.to_str_lossy());
        let name = format!("{stem}.{}-{index}.{}.bin", self.number, file_name_part(&id));
        self.extract.write_other(&name, data, &id)?;
        Ok(name)
    }
}

/// `archive(a.o) > elf(.hip_fatbin)`
fn surroundings(outer: &[Step]) -> Option<String> {
    let step = |it: &Step| match &it.part {
        Some(part) => format!("{}({part})", it.container.name()),
        None => it.container.name().to_owned(),
    };
    (!outer.is_empty()).then(|| outer.iter().map(step).collect::<Vec<_>>().join(" > "))
}
