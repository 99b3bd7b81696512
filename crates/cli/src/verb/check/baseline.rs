//! Baselines: findings that are known, so that only new ones fail a run.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};

use crate::schema::SCHEMA_VERSION;

use super::model::{DeviceResult, FileResult, Shown};

/// What makes a finding the same in the next run: no numbers and no offsets, which change with every build.
#[derive(Clone, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
struct Key {
    file: String,
    device: Option<String>,
    rule: String,
    kernel: Option<String>,
    field: Option<String>,
}

/// The file's shape.
#[derive(Deserialize, Serialize)]
struct Document {
    schema_version: u32,
    findings: Vec<Known>,
}

#[derive(Deserialize, Serialize)]
struct Known {
    #[serde(flatten)]
    key: Key,
    count: usize,
}

/// How often each finding is known.
pub(super) struct Baseline(BTreeMap<Key, usize>);

impl Baseline {
    /// All findings of a run.
    pub(super) fn of(files: &[FileResult]) -> Self {
        let mut counts = BTreeMap::new();
        for file in files {
            for (device, shown) in file.findings() {
                *counts.entry(Key::new(file, device, shown)).or_insert(0) += 1;
            }
        }
        Self(counts)
    }

    pub(super) fn to_json(&self) -> Result<String> {
        let findings = self.0.iter().map(|(key, count)| Known { key: key.clone(), count: *count });
        let document = Document { schema_version: SCHEMA_VERSION, findings: findings.collect() };
        Ok(serde_json::to_string_pretty(&document)? + "\n")
    }

    pub(super) fn from_json(text: &str) -> Result<Self> {
        let document: Document = serde_json::from_str(text)?;
        if document.schema_version != SCHEMA_VERSION {
            bail!("schema version {}, and this is {SCHEMA_VERSION}", document.schema_version);
        }
        Ok(Self(document.findings.into_iter().map(|it| (it.key, it.count)).collect()))
    }

    /// Marks the findings that are known, each as often as it is.
    pub(super) fn apply(mut self, files: &mut [FileResult]) {
        for file in files {
            let mut devices = std::mem::take(&mut file.devices);
            for device in &mut devices {
                let mut findings = std::mem::take(&mut device.findings);
                for shown in &mut findings {
                    let left =
                        self.0.get_mut(&Key::new(file, device, shown)).filter(|left| **left > 0);
                    shown.is_new = left.is_none();
                    if let Some(left) = left {
                        *left -= 1;
                    }
                }
                device.findings = findings;
            }
            file.devices = devices;
        }
    }
}

impl Key {
    fn new(file: &FileResult, device: &DeviceResult, shown: &Shown) -> Self {
        let finding = &shown.finding;
        Self {
            file: file.name.clone(),
            device: device.device.clone(),
            rule: finding.rule.to_owned(),
            kernel: finding.subject.kernel.clone(),
            field: shown.lasting_field().map(str::to_owned),
        }
    }
}
