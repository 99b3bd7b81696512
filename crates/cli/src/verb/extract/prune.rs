//! `hsaco extract --keep-target`: the same container with the code of fewer targets.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};
use hsaco::bytes::number::count;
use hsaco::container::{Entry, WalkOptions};
use hsaco_files::{EntryItem, PrunedSizes, Pruning, is_kept};
use serde::Serialize;

use super::walk::{self, Sink};
use crate::args::{Format, ObjectFilter};
use crate::input::Input;
use crate::json;
use crate::output::Output;
use crate::report::{Report, Status};
use crate::schema::SCHEMA_VERSION;
use crate::select::ObjectSelection;
use crate::table::human_size;
use crate::verb::bundle::write_bytes;

pub(super) fn run(
    files: &[OsString],
    keep: &[String],
    output: &OsStr,
    format: Format,
    options: &WalkOptions,
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
        pruning: Pruning::default(),
        from: Path::new(file),
        output,
        written: None,
    };
    let status = walk::run(files, &selection, options, &mut prune)?;
    // Else what is wrong has been told; nothing is written that could be taken for a whole file.
    if let Some(sizes) = prune.written {
        answer(format, output, &prune.pruning, sizes)?;
    }
    Ok(status)
}

#[derive(Serialize)]
struct Answer<'a> {
    schema_version: u32,
    file: &'a str,
    #[serde(flatten)]
    sizes: PrunedSizes,
    kept_objects: usize,
    dropped_objects: usize,
}

fn answer(format: Format, file: &OsStr, pruning: &Pruning, sizes: PrunedSizes) -> Result<()> {
    let Pruning { kept, objects, .. } = *pruning;
    let mut out = Output::open(None)?.for_people(format == Format::Text);
    let file = file.to_string_lossy();
    match format {
        Format::Text => {
            let [size, stored, saved] = [sizes.size, sizes.stored, sizes.saved].map(human_size);
            let objects = count(objects, "object");
            writeln!(out, "{file}: {kept} of {objects}, {size}, {stored} on disk, {saved} saved")?;
        }
        Format::Json => {
            let (schema_version, dropped_objects) = (SCHEMA_VERSION, objects - kept);
            let answer =
                Answer { schema_version, file: &file, sizes, kept_objects: kept, dropped_objects };
            json::document(&mut out, &answer)?;
        }
    }
    out.finish()
}

struct Prune<'p> {
    selection: &'p ObjectSelection,
    keep: &'p [String],
    max_size: u64,
    pruning: Pruning,
    from: &'p Path,
    output: &'p OsStr,
    /// Set once a file was written.
    written: Option<PrunedSizes>,
}

impl Sink for Prune<'_> {
    fn entry(&mut self, _input: &Input, item: &EntryItem<'_, '_>) -> Result<()> {
        self.pruning.entry(item);
        Ok(())
    }

    fn end(&mut self, input: &Input, whole: bool, report: &mut Report) -> Result<()> {
        if !whole {
            report.failure(&anyhow!("not pruned: what cannot be read cannot be kept"));
            return Ok(());
        }
        let name = &input.name;
        ensure!(
            self.pruning.kept > 0,
            "{name}: nothing in it is for {}; hsaco ls shows what is",
            self.keep.join(" or ")
        );
        let selection = self.selection;
        let keep = |entry: &Entry<'_>| is_kept(entry, selection);
        let pruned = self.pruning.finish(input, &keep, self.max_size)?;
        match self.output == "-" {
            true => write_bytes(self.output, &pruned.bytes()?)?,
            false => self.written = Some(pruned.write(self.from, Path::new(self.output))?),
        }
        Ok(())
    }
}
