//! Baselines: what is known of a project, so that later runs fail only for what is new or worse.
//!
//! A baseline has the findings of a run, with how bad each was, and what every kernel used.

use std::collections::BTreeMap;
use std::fmt;

use hsaco_analysis::Metric;
use serde::{Deserialize, Serialize};

use crate::budget::Measures;
use crate::checker::Checker;
use crate::finding::{Finding, Severity, Subject};
use crate::result::{DeviceResult, FileResult, Shown, Standing};
use crate::rules::REGRESSION;

/// The version of the file. The first had neither values nor targets.
const VERSION: u32 = 2;

/// What is compared: the size of code and of arguments say nothing about a regression.
const COMPARED: [Metric; 7] = [
    Metric::Vgprs,
    Metric::Agprs,
    Metric::Sgprs,
    Metric::Spills,
    Metric::Lds,
    Metric::Scratch,
    Metric::Occupancy,
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

/// What is known of files and their kernels.
///
/// Files have names that hold wherever a project is checked out: its methods take a function that says what a file is
/// called there.
///
/// ```
/// use hsaco_check::Baseline;
/// let none = Baseline::new(&[], |name| name.to_owned());
/// assert!(Baseline::parse(&none.to_string()).is_ok());
/// assert!(Baseline::parse("{}").unwrap_err().to_string().starts_with("a baseline of an older version"));
/// ```
#[derive(Clone, Debug)]
pub struct Baseline {
    /// How bad each was, the worst first.
    findings: BTreeMap<FindingKey, Vec<Badness>>,
    kernels: BTreeMap<KernelKey, Values>,
}

impl Baseline {
    /// What a run found.
    pub fn new(files: &[FileResult], name: impl Fn(&str) -> String) -> Self {
        let mut known = Self { findings: BTreeMap::new(), kernels: BTreeMap::new() };
        for file in files {
            let name = name(&file.name);
            for (device, shown) in file.findings() {
                let found = known.findings.entry(key(&name, file, device, shown)).or_default();
                found.push(badness(shown));
            }
            let kernels = measured(&name, file).into_iter();
            known.kernels.extend(kernels.map(|(key, values, _)| (key, values)));
        }
        known.sorted()
    }

    /// What the text of a baseline says.
    pub fn parse(text: &str) -> Result<Self, ParseBaselineError> {
        let fault = |error: serde_json::Error| ParseBaselineError(error.to_string());
        match serde_json::from_str::<Versioned>(text).map_err(fault)?.baseline_version {
            Some(VERSION) => {}
            version => return Err(ParseBaselineError::of_version(version)),
        }
        let document: Document = serde_json::from_str(text).map_err(fault)?;
        let findings = document.findings.into_iter().map(|it| (it.key, it.found));
        let kernels = document.kernels.into_iter().map(|it| (it.key, it.values));
        Ok(Self { findings: findings.collect(), kernels: kernels.collect() }.sorted())
    }

    /// With the worst of each first.
    fn sorted(mut self) -> Self {
        self.findings.values_mut().for_each(|all| all.sort_by(|one, other| other.cmp(one)));
        self
    }

    /// Says of each finding how it stands to what is known. If a checker has the rule for it, adds kernels that use more
    /// or less, as far as they are to be shown.
    pub fn apply(
        &self,
        files: &mut [FileResult],
        name: impl Fn(&str) -> String,
        checker: &Checker,
        shows: impl Fn(&Finding) -> bool,
    ) {
        for file in files {
            let name = name(&file.name);
            self.compare_findings(&name, file);
            if checker.runs(&REGRESSION) {
                self.compare_kernels(&name, file, &shows);
            }
        }
    }

    /// The worst of today is held against the worst that is known, and so on.
    fn compare_findings(&self, name: &str, file: &mut FileResult) {
        let mut today: BTreeMap<FindingKey, Vec<(Badness, usize, usize)>> = BTreeMap::new();
        for (at, device) in file.devices.iter().enumerate() {
            for (number, shown) in device.findings.iter().enumerate() {
                let key = key(name, file, device, shown);
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

    fn compare_kernels(&self, name: &str, file: &mut FileResult, shows: impl Fn(&Finding) -> bool) {
        let found: Vec<(usize, Finding)> = measured(name, file)
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
            match shows(&finding) {
                true => {
                    let standing = if is_worse { Standing::Worse } else { Standing::Better };
                    device.findings.push(Shown { standing, ..Shown::new(finding) });
                }
                false => device.hidden += 1,
            }
        }
    }
}

impl fmt::Display for Baseline {
    /// The text that [`parse`](Self::parse) reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.clone();
        let findings = known.findings.into_iter().map(|(key, found)| KnownFinding { key, found });
        let kernels = known.kernels.into_iter().map(|(key, values)| KnownKernel { key, values });
        let document = Document {
            baseline_version: VERSION,
            findings: findings.collect(),
            kernels: kernels.collect(),
        };
        let text = serde_json::to_string_pretty(&document).map_err(|_| fmt::Error)?;
        writeln!(f, "{text}")
    }
}

/// A baseline that cannot be read; its text says why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseBaselineError(String);

impl ParseBaselineError {
    fn of_version(version: Option<u32>) -> Self {
        let is =
            version.map_or_else(|| "an older version".to_owned(), |it| format!("version {it}"));
        Self(format!(
            "a baseline of {is}, and this reads version {VERSION}; write it again with \
             --write-baseline"
        ))
    }
}

impl fmt::Display for ParseBaselineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ParseBaselineError {}

/// What the kernels of a file use. Of several of one name and target each value is the worst.
fn measured(name: &str, file: &FileResult) -> Vec<(KernelKey, Values, Place)> {
    let mut all: BTreeMap<KernelKey, (Values, Place)> = BTreeMap::new();
    for (device, result) in file.devices.iter().enumerate() {
        for measures in &result.measures {
            let target = file.object(measures.object).and_then(|it| it.target.clone());
            let key = KernelKey { file: name.to_owned(), target, kernel: measures.kernel.clone() };
            let place = Place { device, object: measures.object };
            let (values, _) = all.entry(key).or_insert_with(|| (Values::new(), place));
            merge(values, measures);
        }
    }
    all.into_iter().map(|(key, (values, place))| (key, values, place)).collect()
}

fn key(name: &str, file: &FileResult, device: &DeviceResult, shown: &Shown) -> FindingKey {
    let finding = &shown.finding;
    FindingKey {
        file: name.to_owned(),
        target: file.target(shown).map(str::to_owned),
        device: device.device.clone(),
        rule: finding.rule.to_owned(),
        kernel: finding.subject.kernel.clone(),
        field: shown.lasting_field().map(str::to_owned),
    }
}

/// Where a kernel was measured: the device it was checked for, and its object.
#[derive(Clone, Copy)]
struct Place {
    device: usize,
    object: Option<usize>,
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
    for metric in COMPARED {
        let Some(value) = measures.get(metric) else { continue };
        let worst = values.entry(metric.name().to_owned()).or_insert(value);
        if metric.is_worse(*worst, value) {
            *worst = value;
        }
    }
}

/// What is worse of a kernel, and what is better.
fn compared(key: &KernelKey, then: &Values, now: &Values, object: Option<usize>) -> Vec<Finding> {
    let (mut worse, mut better) = (Vec::new(), Vec::new());
    for metric in COMPARED {
        let name = metric.name();
        let (Some(then), Some(now)) = (then.get(name), now.get(name)) else { continue };
        if then == now {
            continue;
        }
        let list = if metric.is_worse(*then, *now) { &mut worse } else { &mut better };
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
