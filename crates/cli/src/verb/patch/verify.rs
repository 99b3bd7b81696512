//! `hsaco patch --verify`: holds a result against its original and its manifest, which says by what rules it was made.

use std::io::Write;

use anyhow::{Context, Result, bail, ensure};
use hsaco::container;
use hsaco::patch::{
    FileFinding, FileManifest, Manifest, Options, Pair, Pairing, RuleSet, VerifiedRow,
};
use hsaco_files::parallel;

use super::outcome::place;
use super::{Args, has_edits, named_rule_set, open};
use crate::args::Format;
use crate::input::Input;
use crate::json;
use crate::output::Output;
use crate::report::{self, Status};

pub(super) fn run(args: &Args) -> Result<Status> {
    let [original, result, manifest] = args.files.as_slice() else {
        bail!("--verify takes three files: the original, the result and its manifest");
    };
    if has_edits(args) {
        bail!("--verify takes edits from the manifest, not from the command line");
    }
    let (original, result, manifest) = (open(original)?, open(result)?, open(manifest)?);
    let found = findings(args, &original, &result, &manifest);
    let found = found.with_context(|| manifest.name.clone())?;
    let found: Vec<_> = found
        .into_iter()
        .map(|it| {
            let file = if it.is_of_original { &original } else { &result };
            (place(&file.name, it.entry), it)
        })
        .collect();
    answer(args, &original, &result, &found)?;
    Ok(if found.is_empty() { Status::Fine } else { Status::Findings })
}

fn findings(
    args: &Args,
    original: &Input,
    result: &Input,
    manifest: &Input,
) -> Result<Vec<FileFinding>> {
    let manifest = FileManifest::parse(manifest, original)?;
    manifest.objects.iter().try_for_each(|(_, it)| check_asked(args, &it.manifest))?;
    let options = container::WalkOptions::default();
    let pairing = Pairing::new(&manifest, original, result, &options);
    let pairing = pairing.with_context(|| original.name.clone())?;
    if let Some(number) = pairing.missing() {
        bail!("{} has no object that is entry {number}", original.name);
    }
    let objects = parallel::map(&pairing.pairs(), hsaco_files::OBJECT_WEIGHT, Pair::verify);
    Ok(pairing.finish(objects, &options)?)
}

/// That the rules and options of a manifest are those that the command line names, if it names any.
fn check_asked(args: &Args, manifest: &Manifest) -> Result<()> {
    let asked = named_rule_set(args)?.map(RuleSet::name);
    if let Some(asked) = asked.filter(|it| Some(*it) != manifest.rule_set.as_deref()) {
        let said = manifest.rule_set.as_deref().unwrap_or("none");
        bail!("it is of rule set {said}, not {asked}");
    }
    let mut options = Options::default();
    args.options.iter().try_for_each(|it| options.set(it)).map_err(anyhow::Error::msg)?;
    let names: Vec<&str> = manifest.options.names().collect();
    ensure!(
        args.options.is_empty() || options == manifest.options,
        "its options are not those of the command line but `{}`",
        names.join(" ")
    );
    Ok(())
}

fn answer(
    args: &Args,
    original: &[u8],
    result: &Input,
    found: &[(String, FileFinding)],
) -> Result<()> {
    for (place, FileFinding { finding, .. }) in found {
        report::line(place, &finding.to_string());
    }
    let row = VerifiedRow::new(original, result, found);
    let (same, listed) = (row.bytes_as_before, row.bytes_as_listed);
    let mut out = Output::open(None)?.for_people(args.format == Format::Text);
    match args.format {
        Format::Json => json::document(&mut out, &row)?,
        Format::Text if row.holds => writeln!(
            out,
            "{}: holds: both digests, {same} bytes as in the original, {listed} as the manifest says",
            result.name
        )?,
        Format::Text => writeln!(out, "{}: {} findings", result.name, found.len())?,
    }
    out.finish()
}
