//! Patching the objects inside other files, and putting them back.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::{Context, Result};
use hsaco::object::container::{self, Entry, EntryKind, put_back};
use hsaco::patch::{Patched, Patcher, Verdict};
use serde::Serialize;

use super::manifest::{Document, Sites};
use super::{Args, report_refusals, result_path, write_manifest, write_text};
use crate::args::Format;
use crate::input::Input;
use crate::output::{self, Output};
use crate::parallel;
use crate::report::Status;
use crate::scan::Verify;

/// Largest size that a compressed payload may unfold to.
const MAX_SIZE: u64 = 4 << 30;

/// Rewriting an object is worth a thread.
const OBJECT_WEIGHT: usize = 128;

/// What became of the objects of a file.
#[derive(Serialize)]
struct Documents<'m> {
    schema_version: u32,
    objects: Vec<ObjectDocument<'m>>,
}

#[derive(Serialize)]
struct ObjectDocument<'m> {
    /// The number of the entry in the file.
    entry: usize,
    entry_id: Option<&'m str>,
    manifest: Document<Sites<'m>>,
}

/// Rewrites the objects of a file, all or none, and puts them back; the rest is as it was.
pub(super) fn patch(args: &Args, patcher: &Patcher, input: &Input) -> Result<Status> {
    let options = Verify::All.options(MAX_SIZE);
    let mut objects: Vec<(usize, Entry<'_>)> = Vec::new();
    for (number, entry) in container::entries(input, &options).enumerate() {
        let entry = entry.with_context(|| input.name.clone())?;
        if entry.kind == EntryKind::CodeObject {
            objects.push((number, entry));
        }
    }
    let patched = parallel::map(&objects, OBJECT_WEIGHT, |(_, entry)| patcher.patch(&entry.data));
    let patched: Vec<Patched> = patched
        .into_iter()
        .zip(&objects)
        .map(|(it, (number, _))| it.with_context(|| place(input, *number)))
        .collect::<Result<_>>()?;
    let is_refused = patched.iter().any(|it| it.manifest.verdict == Verdict::Refused);
    let documents = || Documents {
        schema_version: 1,
        objects: objects
            .iter()
            .zip(&patched)
            .map(|((number, entry), it)| ObjectDocument {
                entry: *number,
                entry_id: entry.id.as_deref(),
                manifest: Document::new(&it.manifest),
            })
            .collect(),
    };
    write_manifest(args, documents)?;
    if let Some(path) = result_path(args, is_refused)? {
        let new = objects.iter().zip(&patched);
        let new: BTreeMap<_, _> =
            new.filter_map(|((number, _), it)| Some((*number, it.bytes.clone()?))).collect();
        let bytes = match new.is_empty() {
            true => input.to_vec(),
            false => put_back(input, &options, new).with_context(|| input.name.clone())?,
        };
        output::write_file(path, &bytes)?;
    }
    let mut out = Output::open(None)?;
    match args.format {
        Format::Json => {
            serde_json::to_writer(&mut out, &documents())?;
            writeln!(out)?;
        }
        Format::Text => {
            for ((number, _), it) in objects.iter().zip(&patched) {
                write_text(&place(input, *number), &it.manifest, &mut out)?;
            }
        }
    }
    out.finish()?;
    for ((number, _), it) in objects.iter().zip(&patched) {
        report_refusals(&place(input, *number), &it.manifest);
    }
    Ok(if is_refused { Status::Findings } else { Status::Fine })
}

fn place(input: &Input, number: usize) -> String {
    format!("{}, entry {number}", input.name)
}
