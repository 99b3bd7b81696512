//! What a manifest of `hsaco patch` says was changed.

use hsaco_analysis::{Code, Function, instructions};
use hsaco_bytes::TextError;
use hsaco_isa::{Decoder, Inst};
use hsaco_patch::{Digest, FileManifest, Manifest, Record, Remark};
use serde::Serialize;

/// What was changed in a file.
#[derive(Debug, Default)]
pub struct Rewriting(Option<FileManifest>);

/// What was changed in a function.
#[derive(Debug, Serialize)]
pub(crate) struct RewritingRows {
    rule_set: Option<String>,
    sites: Vec<SiteRow>,
    /// What was to be changed and was not, and why.
    kept: Vec<RemarkRow>,
}

/// Code that was replaced.
#[derive(Debug, Serialize)]
struct SiteRow {
    address: u64,
    rules: Vec<&'static str>,
    placement: &'static str,
    registers: Vec<String>,
    old: Vec<LineRow>,
    new: Vec<LineRow>,
    /// What stands elsewhere, the way back included.
    body: Vec<LineRow>,
}

type LineRow = (u64, String);

#[derive(Debug, Serialize)]
struct RemarkRow {
    rule: String,
    address: u64,
    text: String,
}

impl Rewriting {
    /// Reads the manifest of a run whose result a file is.
    ///
    /// # Errors
    /// When the text is no manifest, or one of another file.
    pub fn parse(text: &[u8], result: &[u8]) -> Result<Self, TextError> {
        let manifest = FileManifest::parse(text, result)?;
        let (said, found) = (manifest.digests.result, Digest::of(result));
        if said != found {
            let detail = format!(
                "the manifest describes another result: SHA-256 {said}, and the file has {found}"
            );
            return Err(TextError::new(detail));
        }
        Ok(Self(Some(manifest)))
    }

    fn manifest(&self, object: usize) -> Option<&Manifest> {
        let objects = &self.0.as_ref()?.objects;
        let found = objects.iter().find(|(entry, _)| entry.is_none_or(|it| it == object));
        found.map(|(_, it)| &it.manifest)
    }

    /// What was changed in a function of an object; none where nothing was.
    pub(crate) fn function(
        &self,
        object: usize,
        code: &Code<'_>,
        function: &Function<'_>,
    ) -> Option<RewritingRows> {
        let manifest = self.manifest(object)?;
        let name = function.name?.to_string();
        let decoder = code.decoder(function);
        let records = manifest.records.iter().filter(|it| *it.function == *name);
        let remarks = manifest.remarks.iter().filter(|it| *it.function == *name);
        let rows = RewritingRows {
            rule_set: manifest.rule_set.clone(),
            sites: records.map(|it| SiteRow::new(&decoder, it)).collect(),
            kept: remarks.map(RemarkRow::new).collect(),
        };
        (!rows.sites.is_empty() || !rows.kept.is_empty()).then_some(rows)
    }
}

impl SiteRow {
    fn new(decoder: &Decoder, record: &Record) -> Self {
        let body = record.body.as_ref();
        Self {
            address: record.site.address,
            rules: record.rules.iter().map(|(rule, _)| *rule).collect(),
            placement: record.placement.name(),
            registers: record.scratch_registers.iter().map(ToString::to_string).collect(),
            old: lines(decoder, record.site.address, &record.site.old),
            new: lines(decoder, record.site.address, &record.site.new),
            body: body.map_or_else(Vec::new, |it| lines(decoder, it.address, &it.new)),
        }
    }
}

fn lines(decoder: &Decoder, address: u64, code: &[u8]) -> Vec<LineRow> {
    let line = |(offset, inst): (usize, Option<Inst>)| {
        let at = address.wrapping_add(offset as u64);
        let text =
            inst.map_or_else(|| "not an instruction".to_owned(), |it| text(decoder, &it, at));
        (at, text)
    };
    instructions(decoder, code).map(line).collect()
}

/// An instruction, and where it branches to.
fn text(decoder: &Decoder, inst: &Inst, address: u64) -> String {
    let text = decoder.text(inst);
    match inst.branch_target(address) {
        Some(target) => format!("{text}  // to {target:x}"),
        None => text,
    }
}

impl RemarkRow {
    fn new(remark: &Remark) -> Self {
        let text = match &remark.said {
            Ok(text) => text.clone(),
            Err(refusal) => refusal.to_string(),
        };
        Self { rule: remark.rule.to_string(), address: remark.address, text }
    }
}
