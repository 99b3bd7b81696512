//! For code scanning: SARIF 2.1.0.

use std::io::Write;

use anyhow::Result;
use hsaco::check::{BUDGET, RULES, Rule, Severity};
use serde_json::{Value, json};

use super::super::model::{FileResult, Shown};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

pub(super) fn write(out: &mut dyn Write, files: &[FileResult]) -> Result<()> {
    let rules: Vec<&Rule> = RULES.iter().chain([&BUDGET]).collect();
    let index = |name: &str| rules.iter().position(|rule| rule.name == name);
    let results = files.iter().flat_map(|file| {
        file.findings().map(move |(device, shown)| {
            let device = device.device.as_deref();
            result(file, device, shown, index(shown.finding.rule))
        })
    });
    let results: Vec<Value> = results.collect();
    let document = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "hsaco",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules.iter().map(|rule| descriptor(rule)).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)?;
    Ok(())
}

fn descriptor(rule: &Rule) -> Value {
    json!({
        "id": rule.name,
        "shortDescription": { "text": rule.summary },
        "help": { "text": rule.page, "markdown": rule.page },
        "defaultConfiguration": { "level": level(rule.severity) },
        "properties": { "needs": rule.needs.name() },
    })
}

fn level(severity: Severity) -> &'static str {
    severity.name()
}

fn result(file: &FileResult, device: Option<&str>, shown: &Shown, index: Option<usize>) -> Value {
    let finding = &shown.finding;
    let subject = &finding.subject;
    let on = device.map_or_else(String::new, |name| format!(" (on {name})"));
    let mut binary = json!({
        "physicalLocation": {
            "artifactLocation": { "uri": uri(&file.name) },
            // Code scanning wants a line of every file; a binary has but one.
            "region": { "startLine": 1 },
        },
    });
    if let Some(offset) = subject.offset
        && let Some(region) = binary.pointer_mut("/physicalLocation/region")
    {
        *region = json!({ "startLine": 1, "byteOffset": offset, "byteLength": 0 });
    }
    if let Some(kernel) = &subject.kernel
        && let Some(location) = binary.as_object_mut()
    {
        let logical = json!([{ "name": kernel, "kind": "function" }]);
        location.insert("logicalLocations".to_owned(), logical);
    }
    let mut result = json!({
        "ruleId": finding.rule,
        "ruleIndex": index.unwrap_or_default(),
        "level": level(finding.severity),
        "message": { "text": format!("{}{on}. {}", finding.message, capital(&finding.help)) },
        "locations": [binary],
        "partialFingerprints": { "hsaco/v1": fingerprint(file, device, shown) },
        "baselineState": if shown.is_new { "new" } else { "unchanged" },
    });
    if let (Some(source), Some(members)) = (&shown.source, result.as_object_mut()) {
        let binary = members.insert(
            "locations".to_owned(),
            json!([{
                "physicalLocation": {
                    "artifactLocation": { "uri": uri(&source.file) },
                    "region": { "startLine": source.line.max(1) },
                },
            }]),
        );
        members.insert("relatedLocations".to_owned(), binary.unwrap_or_default());
    }
    result
}

/// What stays the same when the file is built again.
fn fingerprint(file: &FileResult, device: Option<&str>, shown: &Shown) -> String {
    let subject = &shown.finding.subject;
    let parts = [
        Some(file.name.as_str()),
        device,
        Some(shown.finding.rule),
        subject.kernel.as_deref(),
        shown.lasting_field(),
    ];
    parts.map(Option::unwrap_or_default).join("|")
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(chars).chain(['.']).collect())
}

/// A path as a relative or file URI.
fn uri(path: &str) -> String {
    let escape = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => {
            char::from(byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    };
    let escaped: String = path.bytes().map(escape).collect();
    if path.starts_with('/') { format!("file://{escaped}") } else { escaped }
}
