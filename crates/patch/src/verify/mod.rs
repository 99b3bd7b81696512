//! The fifth stage: holds a result against its original and its manifest. It trusts neither the rules nor the placement
//! of their replacements: what it needs to know it reads from the two files.
//!
//! One thing it assumes, as placing does: an indirect jump whose target is unknown leads to the start of a function or
//! to a return address, or stays in its own function, in which then nothing moves. Jumps of any function whose target is
//! known are followed wherever they lead.

mod elf;
mod expected;
mod flow;
mod kernel;
mod layout;
mod pool;
mod residual;
mod state;
mod waits;

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fmt;

use hsaco_analysis::RegisterSet;
use hsaco_bytes::Result;
use hsaco_object::CodeObject;

use crate::manifest::{CALL, EDIT, Manifest, Record, Stub, Verdict};
use crate::release::Release;
use crate::scan::Rules;
use crate::survey::Survey;
use crate::view::{Around, View};

pub use expected::Expected;
pub(crate) use residual::residuals;

/// Something that does not hold.
///
/// ```
/// use hsaco_patch::VerifyFinding;
/// let (check, detail) = ("bytes", "differs".to_owned());
/// let finding = VerifyFinding { check, address: Some(0x1000), offset: None, detail };
/// assert_eq!(finding.to_string(), "bytes: differs (at address 0x1000)");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyFinding {
    /// What was checked.
    pub check: &'static str,
    /// The address that it is about.
    pub address: Option<u64>,
    /// The offset in the file that it is about.
    pub offset: Option<u64>,
    /// What is wrong.
    pub detail: String,
}

impl VerifyFinding {
    pub(crate) fn new(
        check: &'static str,
        address: impl Into<Option<u64>>,
        detail: impl Into<String>,
    ) -> Self {
        VerifyFinding { check, address: address.into(), offset: None, detail: detail.into() }
    }

    fn at_offset(self, offset: u64) -> Self {
        VerifyFinding { offset: Some(offset), ..self }
    }
}

impl fmt::Display for VerifyFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.check, self.detail)?;
        match (self.address, self.offset) {
            (Some(address), _) => write!(f, " (at address {address:#x})"),
            (None, Some(offset)) => write!(f, " (at offset {offset:#x})"),
            (None, None) => Ok(()),
        }
    }
}

/// How many findings are enough to say that something is wrong.
const ENOUGH: usize = 64;

/// All that is looked at.
struct Case<'p, 'a> {
    rules: &'p Rules,
    old: &'p Survey<'a>,
    new: Survey<'a>,
    manifest: &'p Manifest,
    findings: Vec<VerifyFinding>,
}

/// The last stage: what is wrong with a result, nothing if it holds. The survey is that of the original.
pub(crate) fn verify<'a>(
    rules: &Rules,
    survey: impl FnOnce() -> Result<Survey<'a>>,
    original: &[u8],
    new: &[u8],
    manifest: &Manifest,
) -> Vec<VerifyFinding> {
    let findings = bytes(original, new, manifest);
    if !findings.is_empty() || manifest.verdict != Verdict::Changed {
        return findings;
    }
    let old = match survey() {
        Ok(old) => old,
        Err(error) => return vec![VerifyFinding::new("elf", None, error.to_string())],
    };
    let mut findings = result(rules, &old, new, manifest, &|_| ());
    // Code is read where the manifest says it is; where that is not so, it says nothing.
    if findings.is_empty() {
        findings = functions(rules, &old, manifest);
    }
    findings
}

/// Checks the result of [`set`](crate::set), as [`Patcher::verify`](crate::Patcher::verify) checks that of a patcher, for any processor.
///
/// ```
/// # let file = std::fs::read("../../tests/fixtures/s1.gfx942.co").unwrap();
/// use hsaco_patch::{KernelSetting, set, verify_set};
/// let setting: KernelSetting = "foo.vgpr_count=77".parse().unwrap();
/// let patched = set(&file, &[setting]).unwrap();
/// assert_eq!(verify_set(&file, &patched.bytes.unwrap(), &patched.manifest), []);
/// assert_ne!(verify_set(&file, &file, &patched.manifest), []);
/// ```
#[must_use]
pub fn verify_set(original: &[u8], new: &[u8], manifest: &Manifest) -> Vec<VerifyFinding> {
    let findings = bytes(original, new, manifest);
    if !findings.is_empty() || manifest.verdict != Verdict::Changed {
        return findings;
    }
    if manifest.rule_set.is_some() || manifest.changes().next().is_some() || manifest.pool.is_some()
    {
        let detail = "it has changes of code, which are for a patcher to check";
        return vec![VerifyFinding::new("manifest", None, detail)];
    }
    let (old, new) = match (CodeObject::parse(original), CodeObject::parse(new)) {
        (Ok(old), Ok(new)) => (old, new),
        (Err(error), _) | (_, Err(error)) => {
            return vec![VerifyFinding::new("elf", None, error.to_string())];
        }
    };
    let (old_index, new_index) = (old.index(), new.index());
    let old = layout::File { object: &old, index: &old_index };
    let new = layout::File { object: &new, index: &new_index };
    layout::check(old, new, manifest, &|_| ())
}

/// Where a result is not what the original and the manifest make it.
fn bytes(original: &[u8], new: &[u8], manifest: &Manifest) -> Vec<VerifyFinding> {
    match Expected::new(original, manifest) {
        Ok(expected) => expected.compare(new),
        Err(error) => vec![VerifyFinding::new("manifest", None, error.to_string())],
    }
}

/// What is wrong with a file, beside what the replacements in it do.
pub(crate) fn result(
    rules: &Rules,
    old: &Survey<'_>,
    new: &[u8],
    manifest: &Manifest,
    release: Release<'_>,
) -> Vec<VerifyFinding> {
    let fresh = match CodeObject::parse(new) {
        Ok(fresh) => Survey::new(fresh, old.kit.clone()),
        Err(error) => return vec![VerifyFinding::new("elf", None, error.to_string())],
    };
    let file = |object, index| layout::File { object, index };
    let (before, after) = (file(&old.object, &old.index), file(&fresh.object, &fresh.index));
    let findings = layout::check(before, after, manifest, release);
    let mut case = Case { rules, old, new: fresh, manifest, findings };
    // What follows reads code where the manifest says it is; without that it says nothing.
    if case.findings.is_empty() {
        case.pool();
        case.strangers();
        case.stubs();
        case.residuals();
    }
    case.findings.truncate(ENOUGH);
    case.findings
}

/// What is wrong with what replacements do, in every function that has any.
fn functions(rules: &Rules, old: &Survey<'_>, manifest: &Manifest) -> Vec<VerifyFinding> {
    let mut findings = Vec::new();
    let mut rest: &[Record] = &manifest.records;
    let mut stubs: BTreeMap<u64, &Stub> = manifest.stubs.iter().map(|it| (it.entry, it)).collect();
    for function in old.ranges() {
        let count = rest.partition_point(|record| record.site.address < function.end());
        let (here, others) = rest.split_at(count);
        rest = others;
        let stub = stubs.remove(&function.address);
        if here.is_empty() && stub.is_none() {
            continue;
        }
        let stream = function.decode(old.kit.of(&function).decoder());
        let sites: Vec<usize> =
            here.iter().filter_map(|record| stream.index_of(record.site.address)).collect();
        let view = old.view(&function, stream, &rules.options, RegisterSet::default());
        let view = view.asked_around(&sites);
        findings.extend(self::function(&view, here, stub));
    }
    if let Some(record) = rest.first() {
        findings.push(VerifyFinding::new("sites", record.site.address, "the site is in no code"));
    }
    if let Some(entry) = stubs.keys().next() {
        findings.push(VerifyFinding::new(
            "stub",
            *entry,
            "no function begins where the stub leads",
        ));
    }
    findings.truncate(ENOUGH);
    findings
}

/// What is wrong with what the replacements of a function do, from the analysis of the function as it was and the
/// bytes that were written.
pub(crate) fn function(
    view: &View<'_>,
    records: &[Record],
    stub: Option<&Stub>,
) -> Vec<VerifyFinding> {
    let targets = OnceCell::new();
    let mut findings = Vec::new();
    for record in records {
        let replaced = replaced(view, record);
        findings.extend(flow::check(view, record, replaced.as_ref(), &targets));
        // What a caller asked for may write what it likes.
        let is_ours = record.rules.iter().all(|(rule, _)| *rule != EDIT && *rule != CALL);
        if let Some(replaced) = replaced.filter(|_| is_ours) {
            findings.extend(state::check(&replaced, record));
        }
    }
    if view.options().precise_waits {
        findings.extend(waits::check(view, records));
    }
    if let Some(stub) = stub.filter(|stub| state::stub_clobbers(view, stub)) {
        let detail = "the stub writes what the kernel needs";
        findings.push(VerifyFinding::new("stub", stub.address, detail));
    }
    findings
}

/// The instructions that a record replaces, if they are whole ones.
fn replaced<'v>(view: &'v View<'v>, record: &Record) -> Option<Around<'v>> {
    let stream = view.stream();
    let first = stream.index_of(record.site.address)?;
    let end = record.site.address.checked_add(record.site.old.len() as u64)?;
    // They are few.
    let last = (first..stream.len()).find(|step| stream.address_of(step + 1) >= end)?;
    (stream.address_of(last + 1) == end).then_some(Around { view, first, last })
}

impl Case<'_, '_> {
    fn found(
        &mut self,
        check: &'static str,
        address: impl Into<Option<u64>>,
        detail: impl Into<String>,
    ) {
        self.findings.push(VerifyFinding::new(check, address, detail));
    }

    /// Stubs lead to where kernels began.
    fn stubs(&mut self) {
        let decoder = self.old.kit.usual().decoder();
        let mut wrong = Vec::new();
        for stub in &self.manifest.stubs {
            let way_on = stub.address + stub.way_on as u64;
            let jump = stub.code.get(stub.way_on..).unwrap_or_default();
            if flow::jump_target(decoder, way_on, jump) != Some(stub.entry) {
                wrong.push((stub.address, "the stub does not lead to the kernel"));
            }
            let entry = |survey: &Survey<'_>| {
                survey.kernels.iter().find(|it| it.name == stub.kernel).and_then(|it| it.entry)
            };
            if entry(&self.new) != Some(stub.address)
                || entry(self.old) != Some(stub.entry)
                || !stub.address.is_multiple_of(256)
            {
                wrong.push((stub.address, "the kernel does not begin at its stub"));
            }
        }
        for (address, detail) in wrong {
            self.found("stub", address, detail);
        }
    }

    /// No rule finds anything left to do, in old code or new.
    fn residuals(&mut self) {
        let found = residuals(self.rules, &self.new);
        for it in found {
            let detail = format!("{} is left of rule {}", it.text, it.rule);
            self.found("residual", it.address, detail);
        }
    }
}
