//! `hsaco extract --keep-target`: the same container with the code of fewer targets.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};
use hsaco::container::{Container, Entry, Options, OuterBundles};
use hsaco_files::{holes, write_sparse};
use serde::Serialize;

use super::walk::{self, Item, Sink};
use crate::args::{Format, ObjectFilter};
use crate::input::Input;
use crate::output::Output;
use crate::report::{Report, Status, Trouble};
use crate::scan::ObjectItem;
use crate::schema::SCHEMA_VERSION;
use crate::select::ObjectSelection;
use crate::table::{count, human_size};
use crate::verb::bundle::write_bytes;

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
        bundles: OuterBundles::default(),
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
    let path = Path::new(output);
    write_sparse(path, &bytes).with_context(|| path.display().to_string())?;
    copy_permissions(Path::new(file), output);
    let stored = bytes.len().saturating_sub(holes(&bytes)) as u64;
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
    bundles: OuterBundles,
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
    fn begin(&mut self, input: &Input, _container: Option<Container>) -> Result<()> {
        self.size = input.len() as u64;
        Ok(())
    }

    fn entry(&mut self, _input: &Input, item: &Item<'_, '_>, _report: &mut Report) -> Result<()> {
        let is_object = item.number.is_some() && !item.entry.data.is_empty();
        self.objects += usize::from(is_object);
        self.kept += usize::from(is_object && item.wanted);
        let in_bundle = self.bundles.add(item.entry, None);
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
        // What is wrong with an object was told when the file was walked.
        let keep = |entry: &Entry<'_>| {
            ObjectItem::new(0, entry, &mut Trouble::default()).is_wanted(self.selection)
        };
        let pruned = self.bundles.prune(input, self.max_size, &keep);
        self.result = Some(pruned.with_context(|| name.clone())?);
        Ok(())
    }
}
