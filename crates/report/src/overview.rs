//! The table of all kernels.

use hsaco_check::{Finding, Severity};
use hsaco_describe::resources::KernelResources;
use serde::Serialize;

/// A kernel or function in the table; what is not known is null.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Row {
    /// The mangled name.
    pub(crate) name: String,
    /// The name in the source.
    pub(crate) demangled: String,
    /// `kernel`, `function` or `unnamed`.
    pub(crate) kind: &'static str,
    /// The object that it is in, by number in the report.
    pub(crate) object: usize,
    pub(crate) vgprs: Option<u64>,
    pub(crate) agprs: Option<u64>,
    pub(crate) sgprs: Option<u64>,
    pub(crate) lds: Option<u64>,
    pub(crate) scratch: Option<u64>,
    pub(crate) spills: Option<u64>,
    pub(crate) waves: Option<u32>,
    pub(crate) max_waves: Option<u32>,
    pub(crate) limiter: Option<&'static str>,
    /// Bytes of code.
    pub(crate) size: usize,
    pub(crate) instructions: usize,
    pub(crate) loops: usize,
    /// Errors, warnings and notes.
    pub(crate) findings: [usize; 3],
    /// Executions of its instructions, where there is a profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) executions: Option<u64>,
    /// Samples in it, where there are some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) samples: Option<u64>,
    /// How it differs from the older one, where there is one: `same`, `changed`, `new`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) change: Option<&'static str>,
}

impl Row {
    /// Puts in what a kernel takes of a device.
    pub(crate) fn set_resources(&mut self, it: &KernelResources) {
        self.vgprs = it.vgprs.declared;
        self.agprs = it.agprs.declared;
        self.sgprs = it.sgprs.declared;
        self.lds = it.lds.declared;
        self.scratch = it.scratch.declared;
        self.spills = it.spills.total();
        let occupancy = it.occupancy.as_ref();
        self.waves = occupancy.map(|it| it.waves_per_simd);
        self.max_waves = occupancy.map(|it| it.max_waves_per_simd);
        self.limiter = occupancy.and_then(|it| it.limiter);
    }
}

/// How many findings there are of each severity, the worst first.
pub(crate) fn counted<'f>(findings: impl Iterator<Item = &'f Finding>) -> [usize; 3] {
    let mut counts = [0; 3];
    let [errors, warnings, notes] = &mut counts;
    for finding in findings {
        match finding.severity {
            Severity::Error => *errors += 1,
            Severity::Warning => *warnings += 1,
            Severity::Note => *notes += 1,
        }
    }
    counts
}

/// A finding.
#[derive(Debug, Serialize)]
pub(crate) struct FindingRow {
    rule: &'static str,
    severity: &'static str,
    message: String,
    help: String,
    field: Option<String>,
    offset: Option<u64>,
    address: Option<u64>,
}

impl From<&Finding> for FindingRow {
    fn from(it: &Finding) -> Self {
        Self {
            rule: it.rule,
            severity: it.severity.name(),
            message: it.message.clone(),
            help: it.help.clone(),
            field: it.subject.field.as_deref().map(str::to_owned),
            offset: it.subject.offset,
            address: it.subject.address,
        }
    }
}
