//! Baselines: what is known of a project, so that later runs fail only for what is new or worse.
//!
//! A baseline has the findings of a run, with how bad each was, and what every kernel used. Files are named as they are
//! seen from the baseline's own folder, so that it holds in every checkout.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use hsaco::check::{Finding, Measures, Metric, REGRESSION, Severity, Subject};
use serde::{Deserialize, Serialize};

use crate::output::write_file;

use super::model::{DeviceResult, FileResult, Shown, Standing};
use super::options::Settings;
use super::path::seen_from;

/// The version of the file. The first had neither values nor targets.
const VERSION: u32 = 2;

/// What is compared, and whether more of it is worse.
const COMPARED: [(Metric, bool); 7] = [
    (Metric::Vgprs, true),
    (Metric::Agprs, true),
    (Metric::Sgprs, true),
    (Metric::Spills, true),
    (Metric::Lds, true),
    (Metric::Scratch, true),
    (Metric::Occupancy, false),
];

/// What makes a finding the same in the next run: no offsets, which change with every build.
#[derive(Clone, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
struct FindingKey {
    file: String,
    target: Option<String>,
    device: Option<String>,
    rule: String,
    kernel: Option<String>,
    field: Option<String>,
}

/// How bad a finding is: the severity first.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
struct Badness {
    severity: Level,
    excess: Option<u64>,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
enum Level {
    Note,
    Warning,
    Error,
}

/// What makes a kernel the same in the next run.
#[derive(Clone, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
struct KernelKey {
    file: String,
    target: Option<String>,
    kernel: String,
}

/// What a kernel uses, by the names of metrics.
type Values = BTreeMap<String, u64>;

/// The file's shape.
#[derive(Deserialize, Serialize)]
struct Document {
    baseline_version: u32,
    findings: Vec<KnownFinding>,
    kernels: Vec<KnownKernel>,
}

/// Any version of it.
#[derive(Deserialize)]
struct Versioned {
    baseline_version: Option<u32>,
}

#[derive(Deserialize, Serialize)]
struct KnownFinding {
    #[serde(flatten)]
    key: FindingKey,
    /// One for each time that it was found.
    found: Vec<Badness>,
}

#[derive(Deserialize, Serialize)]
struct KnownKernel {
    #[serde(flatten)]
    key: KernelKey,
    values: Values,
}

/// What is known, and the folder that files are named from.
pub(super) struct Baseline {
    root: PathBuf,
    /// How bad each was, the worst first.
    findings: BTreeMap<FindingKey, Vec<Badness>>,
    kernels: BTreeMap<KernelKey, Values>,
}

impl Baseline {
    /// Writes what a run found.
    pub(super) fn write(path: &Path, files: &[FileResult]) -> Result<()> {
        let mut known =
            Self { root: root(path), findings: BTreeMap::new(), kernels: BTreeMap::new() };
        for file in files {
            for (device, shown) in file.findings() {
                known
                    .findings
                    .entry(known.key(file, device, shown))
                    .or_default()
                    .push(badness(shown));
            }
            for (key, values, _) in known.measured(file) {
                known.kernels.insert(key, values);
            }
        }
        known.findings.values_mut().for_each(|all| all.sort_by(|one, other| other.cmp(one)));
        let findings = known.findings.into_iter().map(|(key, found)| KnownFinding { key, found });
        let kernels = known.kernels.into_iter().map(|(key, values)| KnownKernel { key, values });
        let document = Document {
            baseline_version: VERSION,
            findings: findings.collect(),
            kernels: kernels.collect(),
        };
        let text = serde_json::to_string_pretty(&document)? + "\n";
        write_file(path, text.as_bytes())
    }

    pub(super) fn read(path: &Path) -> Result<Self> {
        let shown = || path.display().to_string();
        let text = std::fs::read_to_string(path).with_context(shown)?;
        let version =
            serde_json::from_str::<Versioned>(&text).with_context(shown)?.baseline_version;
        if version != Some(VERSION) {
            let is =
                version.map_or_else(|| "an older version".to_owned(), |it| format!("version {it}"));
            bail!(
                "{}: a baseline of {is}, and this reads version {VERSION}; write it again with --write-baseline",
                shown()
            );
        }
        let document: Document = serde_json::from_str(&text).with_context(shown)?;
        let findings = document.findings.into_iter().map(|it| {
            let mut found = it.found;
            found.sort_by(|one, other| other.cmp(one));
            (it.key, found)
        });
        let kernels = document.kernels.into_iter().map(|it| (it.key, it.values));
        Ok(Self { root: root(path), findings: findings.collect(), kernels: kernels.collect() })
    }

    /// Says of each finding how it stands to what is known, and adds kernels that use more.
    pub(super) fn apply(&self, files: &mut [FileResult], settings: &Settings) {
        for file in files {
            self.compare_findings(file);
            if settings.checker.runs(&REGRESSION) {
                self.compare_kernels(file, settings);
            }
        }
    }

    /// The worst of today is held against the worst that is known, and so on.
    fn compare_findings(&self, file: &mut FileResult) {
        let mut today: BTreeMap<FindingKey, Vec<(Badness, usize, usize)>> = BTreeMap::new();
        for (at, device) in file.devices.iter().enumerate() {
            for (number, shown) in device.findings.iter().enumerate() {
                let key = self.key(file, device, shown);
                today.entry(key).or_default().push((badness(shown), at, number));
            }
        }
        for (key, mut found) in today {
            found.sort_by(|one, other| other.cmp(one));
            let known = self.findings.get(&key).map_or(&[][..], Vec::as_slice);
            for (rank, (now, at, number)) in found.into_iter().enumerate() {
                let standing = known.get(rank).map_or(Standing::New, |then| standing(*then, now));
                let device = file.devices.get_mut(at);
                if let Some(shown) = device.and_then(|it| it.findings.get_mut(number)) {
                    shown.standing = standing;
                }
            }
        }
    }

    fn compare_kernels(&self, file: &mut FileResult, settings: &Settings) {
        let found: Vec<(usize, Finding)> = self
            .measured(file)
            .into_iter()
            .flat_map(|(key, now, place)| {
                let then = self.kernels.get(&key);
                let compared = then.map(|then| compared(&key, then, &now, place.object));
                compared.into_iter().flatten().map(move |finding| (place.device, finding))
            })
            .collect();
        for (at, finding) in found {
            let Some(device) = file.devices.get_mut(at) else { continue };
            let is_worse = finding.severity == Severity::Error;
            device.better += usize::from(!is_worse);
            match settings.shows(finding.rule, finding.severity) {
                true => {
                    let standing = if is_worse { Standing::Worse } else { Standing::Better };
                    device.findings.push(Shown { finding, source: None, standing });
                }
                false => device.hidden += 1,
            }
        }
    }

    /// What the kernels of a file use. Of several of one name and target each value is the worst.
    fn measured(&self, file: &FileResult) -> Vec<(KernelKey, Values, Place)> {
        let mut all: BTreeMap<KernelKey, (Values, Place)> = BTreeMap::new();
        let name = seen_from(&self.root, &file.name);
        for (device, result) in file.devices.iter().enumerate() {
            for measures in &result.measures {
                let target = file.object(measures.object).and_then(|it| it.target.clone());
                let key = KernelKey { file: name.clone(), target, kernel: measures.kernel.clone() };
                let place = Place { device, object: measures.object };
                let (values, _) = all.entry(key).or_insert_with(|| (Values::new(), place));
                merge(values, measures);
            }
        }
        all.into_iter().map(|(key, (values, place))| (key, values, place)).collect()
    }

    fn key(&self, file: &FileResult, device: &DeviceResult, shown: &Shown) -> FindingKey {
        let finding = &shown.finding;
        FindingKey {
            file: seen_from(&self.root, &file.name),
            target: file.target(shown).map(str::to_owned),
            device: device.device.clone(),
            rule: finding.rule.to_owned(),
            kernel: finding.subject.kernel.clone(),
            field: shown.lasting_field().map(str::to_owned),
        }
    }
}

/// Where a kernel was measured: the device it was checked for, and its object.
#[derive(Clone, Copy)]
struct Place {
    device: usize,
    object: Option<usize>,
}

/// The folder that a baseline's files are named from: its own.
fn root(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

fn badness(shown: &Shown) -> Badness {
    let severity = match shown.finding.severity {
        Severity::Note => Level::Note,
        Severity::Warning => Level::Warning,
        Severity::Error => Level::Error,
    };
    Badness { severity, excess: shown.finding.excess }
}

fn standing(then: Badness, now: Badness) -> Standing {
    match now.cmp(&then) {
        std::cmp::Ordering::Less => Standing::Better,
        std::cmp::Ordering::Equal => Standing::Known,
        std::cmp::Ordering::Greater => Standing::Worse,
    }
}

fn merge(values: &mut Values, measures: &Measures) {
    for (metric, more_is_worse) in COMPARED {
        let Some(value) = measures.get(metric) else { continue };
        let worst = values.entry(metric.name().to_owned()).or_insert(value);
        *worst = if more_is_worse { value.max(*worst) } else { value.min(*worst) };
    }
}

/// What is worse of a kernel, and what is better.
fn compared(key: &KernelKey, then: &Values, now: &Values, object: Option<usize>) -> Vec<Finding> {
    let (mut worse, mut better) = (Vec::new(), Vec::new());
    for (metric, more_is_worse) in COMPARED {
        let name = metric.name();
        let (Some(then), Some(now)) = (then.get(name), now.get(name)) else { continue };
        if then == now {
            continue;
        }
        let list = if (now > then) == more_is_worse { &mut worse } else { &mut better };
        list.push(format!("{name} {then} -> {now}"));
    }
    let finding = |severity, changes: &[String], what: &str, help: &str| Finding {
        rule: REGRESSION.name,
        severity,
        subject: Subject { object, kernel: Some(key.kernel.clone()), ..Subject::default() },
        message: format!("{what} than in the baseline: {}", changes.join(", ")),
        help: help.to_owned(),
        excess: None,
    };
    let mut found = Vec::new();
    if !worse.is_empty() {
        let help = "make the kernel as small as it was, or write the baseline again";
        found.push(finding(Severity::Error, &worse, "worse", help));
    }
    if !better.is_empty() {
        let help = "write the baseline again, so that it stays so";
        found.push(finding(Severity::Note, &better, "better", help));
    }
    found
}
