//! `hsaco patch --verify`: holds a result against its original and its manifest, which says by what rules it was made.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::{Context, Result, bail};
use hsaco::container::{self, Entry, EntryKind};
use hsaco::patch::{
    Digests, Expected, Finding, Manifest, Options, Patcher, RuleSet, Verdict, verify_set,
};
use serde::Serialize;

use super::manifest::{ContainerDocument, Described, DescribedObjects, Document};
use super::outcome::{MAX_SIZE, OBJECT_WEIGHT, is_container, place};
use super::{Args, has_edits, named_rule_set, open};
use crate::args::Format;
use crate::input::Input;
use crate::output::Output;
use crate::parallel;
use crate::report::{self, Status};
use crate::scan::Verify;
use crate::schema::SCHEMA_VERSION;

/// What was found in a file, or in an object of it.
struct Found {
    place: String,
    finding: Finding,
}

#[derive(Serialize)]
struct Answer<'f> {
    schema_version: u32,
    holds: bool,
    bytes_as_before: u64,
    bytes_as_listed: u64,
    findings: Vec<FindingJson<'f>>,
}

#[derive(Serialize)]
struct FindingJson<'f> {
    place: &'f str,
    check: &'f str,
    address: Option<u64>,
    offset: Option<u64>,
    detail: &'f str,
}

pub(super) fn run(args: &Args) -> Result<Status> {
    let [original, result, manifest] = args.files.as_slice() else {
        bail!("--verify takes three files: the original, the result and its manifest");
    };
    if has_edits(args) {
        bail!("--verify takes edits from the manifest, not from the command line");
    }
    let (original, result, manifest) = (open(original)?, open(result)?, open(manifest)?);
    let named = || manifest.name.clone();
    let found = if !is_container(&original) {
        let described = Document::parse(&manifest).with_context(named)?;
        object(args, &original, &result, &result.name, &described).with_context(named)?
    } else {
        let described = ContainerDocument::parse(&manifest).with_context(named)?;
        objects(args, &original, &result, &described).with_context(named)?
    };
    answer(args, &original, &result, &found)?;
    Ok(if found.is_empty() { Status::Fine } else { Status::Findings })
}

/// Digests first: another file than the one that is meant is wrong all over.
fn differing(digests: &Digests, original: &[u8], result: &[u8], place: &str) -> Vec<Found> {
    let differences = digests.differences(original, result).into_iter();
    let finding = |detail| Finding { check: "digest", address: None, offset: None, detail };
    differences.map(|it| Found { place: place.to_owned(), finding: finding(it) }).collect()
}

fn object(
    args: &Args,
    original: &[u8],
    result: &[u8],
    place: &str,
    described: &Described,
) -> Result<Vec<Found>> {
    let mut found = differing(&described.digests, original, result, place);
    let findings = structure(args, original, result, &described.manifest)?;
    found.extend(findings.into_iter().map(|finding| Found { place: place.to_owned(), finding }));
    Ok(found)
}

fn structure(
    args: &Args,
    original: &[u8],
    result: &[u8],
    manifest: &Manifest,
) -> Result<Vec<Finding>> {
    let asked = named_rule_set(args)?.map(RuleSet::name);
    if let Some(asked) = asked.filter(|it| Some(*it) != manifest.rule_set.as_deref()) {
        let said = manifest.rule_set.as_deref().unwrap_or("none");
        bail!("it is of rule set {said}, not {asked}");
    }
    let mut options = Options::default();
    args.options.iter().try_for_each(|it| options.set(it)).map_err(anyhow::Error::msg)?;
    if !args.options.is_empty() && options != manifest.options {
        let names: Vec<&str> = manifest.options.names().collect();
        bail!("its options are not those of the command line but `{}`", names.join(" "));
    }
    let Some(name) = &manifest.rule_set else {
        return Ok(verify_set(original, result, manifest));
    };
    let set = RuleSet::by_name(name)
        .with_context(|| format!("rule set `{name}` is none that this hsaco knows"))?;
    // What was not changed takes no rules to check, and most objects of a file are such.
    if manifest.verdict != Verdict::Changed {
        return Ok(verify_set(original, result, manifest));
    }
    Ok(Patcher::new(set, manifest.options.clone())?.verify(original, result, manifest))
}

/// The objects of a file one by one, and the file around them.
fn objects(
    args: &Args,
    original: &Input,
    result: &Input,
    described: &DescribedObjects,
) -> Result<Vec<Found>> {
    let mut found = differing(&described.digests, original, result, &result.name);
    let mut say = |place: String, check: &'static str, detail: String| {
        let finding = Finding { check, address: None, offset: None, detail };
        found.push(Found { place, finding });
    };
    let before = code_objects(original).with_context(|| original.name.clone())?;
    for number in before.keys().filter(|it| !described.objects.contains_key(it)) {
        say(
            place(&original.name, Some(*number)),
            "manifest",
            "the manifest does not list it".to_owned(),
        );
    }
    let after = code_objects(result).unwrap_or_else(|error| {
        say(result.name.clone(), "container", format!("{error:#}"));
        BTreeMap::new()
    });
    for number in after.keys().filter(|it| !before.contains_key(it)) {
        say(
            place(&result.name, Some(*number)),
            "container",
            "the original has no such object".to_owned(),
        );
    }
    let mut pairs = Vec::new();
    for (number, described) in &described.objects {
        match (before.get(number), after.get(number)) {
            (Some(before), Some(after)) => pairs.push((*number, before, after, described)),
            (Some(_), None) => {
                say(place(&result.name, Some(*number)), "container", "it is gone".to_owned());
            }
            (None, _) => bail!("{} has no object that is entry {number}", original.name),
        }
    }
    let checked = parallel::map(&pairs, OBJECT_WEIGHT, |(number, before, after, described)| {
        object(args, &before.data, &after.data, &place(&result.name, Some(*number)), described)
    });
    for it in checked {
        found.extend(it?);
    }
    found.extend(around(original, result, described));
    Ok(found)
}

/// Whether every byte of a file is what its objects' manifests make of the original.
fn around(original: &Input, result: &Input, described: &DescribedObjects) -> Vec<Found> {
    let manifests = described.objects.iter().map(|(number, it)| (*number, &it.manifest)).collect();
    let options = Verify::All.options(MAX_SIZE);
    let findings = match Expected::in_container(original, &options, &manifests) {
        Ok(expected) => expected.compare(result),
        Err(error) => {
            let detail = error.to_string();
            vec![Finding { check: "manifest", address: None, offset: None, detail }]
        }
    };
    let place = &result.name;
    findings.into_iter().map(|finding| Found { place: place.clone(), finding }).collect()
}

fn code_objects(input: &Input) -> Result<BTreeMap<usize, Entry<'_>>> {
    let options = Verify::All.options(MAX_SIZE);
    let entries = container::entries(input, &options).enumerate();
    let entries = entries.map(|(number, entry)| Ok((number, entry?)));
    let is_object = |it: &Result<(usize, Entry<'_>)>| {
        it.as_ref().map_or(true, |(_, entry)| entry.kind == EntryKind::CodeObject)
    };
    entries.filter(is_object).collect()
}

fn answer(args: &Args, original: &[u8], result: &Input, found: &[Found]) -> Result<()> {
    let same = original.iter().zip(&**result).filter(|(left, right)| left == right).count() as u64;
    let listed = result.len() as u64 - same;
    for Found { place, finding } in found {
        report::line(place, &finding.to_string());
    }
    let mut out = Output::open(None)?.for_people(args.format == Format::Text);
    match args.format {
        Format::Json => {
            let findings = found.iter().map(|Found { place, finding }| FindingJson {
                place,
                check: finding.check,
                address: finding.address,
                offset: finding.offset,
                detail: &finding.detail,
            });
            let answer = Answer {
                schema_version: SCHEMA_VERSION,
                holds: found.is_empty(),
                bytes_as_before: same,
                bytes_as_listed: listed,
                findings: findings.collect(),
            };
            serde_json::to_writer(&mut out, &answer)?;
            writeln!(out)?;
        }
        Format::Text if found.is_empty() => writeln!(
            out,
            "{}: holds: both digests, {same} bytes as in the original, {listed} as the manifest says",
            result.name
        )?,
        Format::Text => writeln!(out, "{}: {} findings", result.name, found.len())?,
    }
    out.finish()
}
