//! `hsaco extract --keep-target`: the same container with the code of fewer targets.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};
use hsaco::bytes::memory;
use hsaco::compress::Method;
use hsaco::container::bundle::{self, Bundle};
use hsaco::container::{Container, Entry, EntryKind, Options, Trail, ccob};
use serde::Serialize;

use super::describe::{Opened, between};
use super::walk::{self, Item, Place, Places, Sink};
use crate::args::{Format, ObjectFilter};
use crate::input::Input;
use crate::output::{self, Output};
use crate::report::{Report, Status, Trouble};
use crate::scan::ObjectItem;
use crate::schema::SCHEMA_VERSION;
use crate::select::ObjectSelection;
use crate::table::{count, human_size};
use crate::verb::bundle::{default_level, join::Joined, write_bytes};

pub(super) fn run(
    files: &[OsString],
    keep: &[String],
    output: &OsStr,
    format: Format,
    options: &Options,
) -> Result<Status> {
    let [file] = files else {
        bail!("--keep-target takes one FILE, since it writes one");
    };
    ensure!(!Path::new(file).is_dir(), "--keep-target takes a file, not a directory");
    let filter = ObjectFilter { target: keep.to_vec(), ..ObjectFilter::default() };
    let selection = ObjectSelection::new(&filter).context("--keep-target")?;
    let mut prune = Prune {
        selection: &selection,
        keep,
        max_size: options.max_size,
        container: None,
        places: Places::default(),
        kept: 0,
        objects: 0,
        stuck: None,
        result: None,
        size: 0,
    };
    let status = walk::run(files, &selection, options, &mut prune)?;
    // What is wrong has been told; nothing is written that could be taken for a whole file.
    let Some(bytes) = prune.result else { return Ok(status) };
    if output == "-" {
        write_bytes(output, &bytes)?;
        return Ok(status);
    }
    output::write_sparse(Path::new(output), &bytes)?;
    copy_permissions(Path::new(file), output);
    let stored = bytes.len().saturating_sub(output::holes(&bytes)) as u64;
    let sizes = Sizes { size: bytes.len(), stored, saved: prune.size.saturating_sub(stored) };
    answer(format, output, prune.kept, prune.objects, sizes)?;
    Ok(status)
}

#[derive(Serialize)]
struct Answer<'a> {
    schema_version: u32,
    file: &'a str,
    #[serde(flatten)]
    sizes: Sizes,
    kept_objects: usize,
    dropped_objects: usize,
}

/// How large the file is, in bytes.
#[derive(Clone, Copy, Serialize)]
struct Sizes {
    size: usize,
    /// Without its holes: what it takes on disk.
    stored: u64,
    /// How much less that is than the file it was made of.
    saved: u64,
}

fn answer(format: Format, file: &OsStr, kept: usize, objects: usize, sizes: Sizes) -> Result<()> {
    let mut out = Output::open(None)?.for_people(format == Format::Text);
    let file = file.to_string_lossy();
    match format {
        Format::Text => {
            let [size, stored, saved] =
                [sizes.size as u64, sizes.stored, sizes.saved].map(human_size);
            let objects = count(objects, "object");
            writeln!(out, "{file}: {kept} of {objects}, {size}, {stored} on disk, {saved} saved")?;
        }
        Format::Json => {
            let (schema_version, dropped_objects) = (SCHEMA_VERSION, objects - kept);
            let answer =
                Answer { schema_version, file: &file, sizes, kept_objects: kept, dropped_objects };
            serde_json::to_writer(&mut out, &answer)?;
            writeln!(out)?;
        }
    }
    out.finish()
}

/// A program must stay one. Where that is not allowed, the copy is as any new file is.
fn copy_permissions(from: &Path, to: &OsStr) {
    if let Ok(metadata) = std::fs::metadata(from)
        && metadata.is_file()
    {
        drop(std::fs::set_permissions(to, metadata.permissions()));
    }
}

struct Prune<'p> {
    selection: &'p ObjectSelection,
    keep: &'p [String],
    max_size: u64,
    container: Option<Container>,
    places: Places,
    /// How many objects stay.
    kept: usize,
    /// How many there are.
    objects: usize,
    /// The first object that should go but is in no bundle.
    stuck: Option<String>,
    result: Option<Vec<u8>>,
    /// How large the file was.
    size: u64,
}

impl Sink for Prune<'_> {
    fn begin(&mut self, input: &Input, container: Option<Container>) -> Result<()> {
        self.container = container;
        self.size = input.len() as u64;
        Ok(())
    }

    fn entry(&mut self, _input: &Input, item: &Item<'_, '_>, _report: &mut Report) -> Result<()> {
        let is_object = item.number.is_some() && !item.entry.data.is_empty();
        self.objects += usize::from(is_object);
        self.kept += usize::from(is_object && item.wanted);
        let in_bundle = self.places.add(item.entry, None);
        if is_object && !item.wanted && !in_bundle && self.stuck.is_none() {
            let target = item.target.as_deref().unwrap_or("unknown");
            let number = item.number.unwrap_or_default();
            self.stuck = Some(format!("object {number} ({target}), in {}", item.entry.trail));
        }
        Ok(())
    }

    fn end(&mut self, input: &Input, whole: bool, report: &mut Report) -> Result<()> {
        if !whole {
            report.failure(&anyhow!("not pruned: what cannot be read cannot be kept"));
            return Ok(());
        }
        let name = &input.name;
        ensure!(
            self.kept > 0,
            "{name}: nothing in it is for {}; hsaco ls shows what is",
            self.keep.join(" or ")
        );
        if let Some(stuck) = &self.stuck {
            bail!("{name}: {stuck}, is in no offload bundle and cannot be left out of its file");
        }
        let pruned = match self.container {
            Some(Container::Bundle | Container::CompressedBundle) => self.smaller(input),
            _ => self.in_place(input),
        };
        self.result = Some(pruned.with_context(|| name.clone())?);
        Ok(())
    }
}

impl Prune<'_> {
    /// Bundles one after the other, each without what goes.
    fn smaller(&self, data: &[u8]) -> Result<Vec<u8>> {
        let mut joined = Joined::default();
        let mut end = 0;
        for place in &self.places.0 {
            let rest = between(data, place.offset, data.len() as u64);
            let opened = Opened::new(rest, self.max_size).with_context(|| where_it_is(place))?;
            let before = between(data, end, place.offset);
            let kept = self.kept_ids(&opened.plain)?;
            let original = between(rest, 0, opened.size);
            let pruned = match &opened.header {
                _ if kept.is_all => memory::copy(original, "bundle")?,
                None => bundle::prune(&opened.plain, |id| kept.ids.contains(id))?,
                Some(header) => {
                    let plain = bundle::prune(&opened.plain, |id| kept.ids.contains(id))?;
                    let level = default_level(header.method);
                    ccob::write(&plain, header.version, header.method, level)?
                }
            };
            joined.push(before, &pruned, opened.size)?;
            end = place.offset.saturating_add(opened.size);
        }
        joined.end(between(data, end, data.len() as u64))?;
        Ok(joined.bytes)
    }

    /// The file with nothing moved: code elsewhere in it points at the bundles.
    fn in_place(&self, data: &[u8]) -> Result<Vec<u8>> {
        let mut out = memory::copy(data, "file")?;
        for place in &self.places.0 {
            let rest = between(data, place.offset, data.len() as u64);
            let pruned = self.blanked(rest).with_context(|| where_it_is(place))?;
            let start = usize::try_from(place.offset).ok();
            let range = start.and_then(|start| out.get_mut(start..)?.get_mut(..pruned.len()));
            range.context("outside the file")?.copy_from_slice(&pruned);
        }
        Ok(out)
    }

    /// The bundle at the start of `data`, as many bytes as it was.
    fn blanked(&self, data: &[u8]) -> Result<Vec<u8>> {
        let opened = Opened::new(data, self.max_size)?;
        let kept = self.kept_ids(&opened.plain)?;
        if kept.is_all {
            return Ok(memory::copy(between(data, 0, opened.size), "bundle")?);
        }
        let Some(header) = &opened.header else {
            return Ok(bundle::blank(data, |id| kept.ids.contains(id))?);
        };
        let plain = bundle::prune(&opened.plain, |id| kept.ids.contains(id))?;
        let room = usize::try_from(opened.size)?;
        let mut smallest = usize::MAX;
        for &level in levels(header.method) {
            let mut block = ccob::write(&plain, header.version, header.method, level)?;
            if block.len() <= room {
                block.resize(room, 0);
                return Ok(block);
            }
            smallest = smallest.min(block.len());
        }
        bail!(
            "compressed again it takes {smallest} bytes and has room for {room}; \
             keep more targets, or extract the objects instead"
        )
    }

    /// The ids of the entries that stay.
    fn kept_ids(&self, plain: &[u8]) -> Result<Kept> {
        let bundle = Bundle::parse(plain)?;
        let mut kept = Kept { ids: HashSet::new(), is_all: true };
        for entry in &bundle.entries {
            let id = entry.id.to_string();
            let data = bundle.content(plain, entry)?;
            let entry = Entry {
                id: Some(id.clone()),
                kind: if entry.is_host() { EntryKind::Host } else { EntryKind::detect(data) },
                data: data.into(),
                offset: None,
                trail: Trail::default(),
            };
            // What is wrong with an object was told when the file was walked.
            let object = ObjectItem::new(0, &entry, &mut Trouble::default());
            if object.is_wanted(self.selection) {
                kept.ids.insert(id);
            } else {
                kept.is_all &= entry.kind == EntryKind::Host;
            }
        }
        Ok(kept)
    }
}

struct Kept {
    ids: HashSet<String>,
    is_all: bool,
}

/// First what is usual, then what packs best.
fn levels(method: Method) -> &'static [i32] {
    match method {
        Method::Zstd => &[3, 19],
        Method::Zlib => &[6, 10],
    }
}

fn where_it_is(place: &Place) -> String {
    format!("bundle at {:#x}", place.offset)
}
