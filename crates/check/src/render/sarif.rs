//! For code scanning: SARIF 2.1.0.

use std::collections::HashMap;
use std::fmt;

use serde_json::{Value, json};

use crate::finding::Severity;
use crate::result::{FileResult, Shown, Standing};
use crate::rule::Rule;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// A run with a result for each finding.
#[derive(Clone, Copy)]
pub struct Sarif<'r> {
    /// What was found.
    pub files: &'r [FileResult],
    /// The rules that were checked.
    pub rules: &'r [&'r Rule],
    /// What a file is called wherever the project is checked out: results are known by it in the next run.
    pub name: &'r dyn Fn(&str) -> String,
}

impl fmt::Debug for Sarif<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sarif").field("files", &self.files).finish_non_exhaustive()
    }
}

impl fmt::Display for Sarif<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let document = json!({
            "$schema": SCHEMA,
            "version": "2.1.0",
            "runs": [{
                "tool": { "driver": {
                    "name": "hsaco",
                    "semanticVersion": env!("CARGO_PKG_VERSION"),
                    "rules": self.rules.iter().map(|rule| descriptor(rule)).collect::<Vec<_>>(),
                }},
                "columnKind": "unicodeCodePoints",
                "results": self.results(),
            }],
        });
        writeln!(f, "{}", serde_json::to_string_pretty(&document).map_err(|_| fmt::Error)?)
    }
}

impl Sarif<'_> {
    fn results(&self) -> Vec<Value> {
        let index = |name: &str| self.rules.iter().position(|rule| rule.name == name);
        let mut prints = Fingerprints::default();
        let mut results = Vec::new();
        for file in self.files {
            let name = (self.name)(&file.name);
            for (device, shown) in file.findings() {
                let device = device.device.as_deref();
                let print = prints.of(&identity(file, &name, device, shown));
                results.push(result(file, device, shown, index(shown.finding.rule), &print));
            }
        }
        results
    }
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

fn result(
    file: &FileResult,
    device: Option<&str>,
    shown: &Shown,
    index: Option<usize>,
    fingerprints: &Value,
) -> Value {
    let finding = &shown.finding;
    let subject = &finding.subject;
    let about = file.about(shown);
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
        let name = shown.kernel();
        let logical = json!([{ "name": name, "decoratedName": kernel, "kind": "function" }]);
        location.insert("logicalLocations".to_owned(), logical);
    }
    let mut result = json!({
        "ruleId": finding.rule,
        "ruleIndex": index.unwrap_or_default(),
        "level": level(finding.severity),
        "message": { "text": format!("{about}{}{on}. {}", finding.message, capital(&finding.help)) },
        "locations": [binary],
        "partialFingerprints": fingerprints,
        "baselineState": match shown.standing {
            Standing::New => "new",
            Standing::Known => "unchanged",
            Standing::Worse | Standing::Better => "updated",
        },
        "properties": { "target": file.target(shown) },
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

/// What stays the same when the file is built again: no offsets, no number of the object, no value.
fn identity(file: &FileResult, name: &str, device: Option<&str>, shown: &Shown) -> String {
    let subject = &shown.finding.subject;
    let parts = [
        Some(name),
        file.target(shown),
        device,
        Some(shown.finding.rule),
        subject.kernel.as_deref(),
        shown.lasting_field(),
    ];
    parts.map(Option::unwrap_or_default).join("|")
}

/// Fingerprints of results, of which no two are the same.
#[derive(Default)]
struct Fingerprints(HashMap<String, usize>);

impl Fingerprints {
    /// Those of the next result of an identity. GitHub knows results by `primaryLocationLineHash` alone, and makes one of
    /// the line otherwise, of which a binary has but one.
    fn of(&mut self, identity: &str) -> Value {
        let count = self.0.entry(identity.to_owned()).or_insert(0);
        *count += 1;
        json!({
            "hsaco/v2": format!("{identity}|{count}"),
            "primaryLocationLineHash": format!("{:016x}:{count}", fnv1a(identity.as_bytes())),
        })
    }
}

/// A hash that is the same wherever and whenever it is made: FNV-1a.
fn fnv1a(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
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
