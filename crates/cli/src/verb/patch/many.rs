//! Several files, or all those of directories that hold code: rewritten into a directory, all or none.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;

use anyhow::{Result, ensure};
use hsaco::patch::{PatchedFile, Patcher, write_manifests};
use hsaco_files::{StagedSource, Staging};

use super::Args;
use super::outcome::Outcome;
use crate::args::Format;
use crate::output::Output;
use crate::report::Status;

/// True where there is more than one file to be written, or one into a directory.
pub(super) fn is_asked(args: &Args) -> bool {
    let is_folder = |name: &OsString| Path::new(name).is_dir();
    args.files.len() != 1
        || args.files.iter().any(is_folder)
        || args.output.as_ref().is_some_and(is_folder)
}

/// Rewrites all of them, or writes nothing.
pub(super) fn patch(args: &Args, patcher: &Patcher) -> Result<Status> {
    ensure!(args.manifest.is_none(), "--manifest is for one file at a time");
    let sources = hsaco_files::sources(&args.files)?;
    let mut staging = match &args.output {
        Some(target) => Some(Staging::new(Path::new(target), &args.files, &sources)?),
        None => None,
    };
    let mut outcomes = Vec::new();
    for StagedSource { place, relative } in sources {
        let input = place.open()?;
        let Some(mut outcome) = Outcome::of(patcher, &input)? else { continue };
        // A file that is named is to be rewritten; of those of directories, some may be for other processors.
        if !outcome.found {
            PatchedFile::settle([&mut outcome.file]);
        }
        if let Some(staging) = &mut staging {
            staging.write(relative, &outcome.take_bytes(&input)?)?;
        }
        outcomes.push(outcome);
    }
    ensure!(!outcomes.is_empty(), "no file holds code");
    PatchedFile::settle(outcomes.iter_mut().filter(|it| it.found).map(|it| &mut it.file));
    let is_refused = outcomes.iter().any(|it| it.file.is_refused());
    if let Some(staging) = staging.filter(|_| !is_refused) {
        staging.commit()?;
    }
    let mut out = Output::open(None)?.for_people(args.format == Format::Text);
    match args.format {
        Format::Json => {
            let files = outcomes.iter().map(|it| (it.name.as_str(), &it.file));
            write_manifests(&mut out, files)?;
            writeln!(out)?;
        }
        Format::Text => outcomes.iter().try_for_each(|it| it.write_text(&mut out))?,
    }
    out.finish()?;
    outcomes.iter().for_each(Outcome::report);
    Ok(if is_refused { Status::Findings } else { Status::Fine })
}
