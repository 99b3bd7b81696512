//! What to check with: a device, a launch, kernels, rules.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use hsaco_object::{CodeObject, Kernel, demangle};

use crate::budget::{Budget, KernelBudget, Measures};
use crate::device::Device;
use crate::facts::{FileFacts, KernelFacts, ObjectFacts};
use crate::file::{ObjectReport, Report};
use crate::finding::{Findings, MOST_OF_A_KERNEL, MOST_OF_AN_OBJECT, Severity};
use crate::launch::Launch;
use crate::rule::{Check, Needs, Rule};
use crate::rules;

/// Checks code objects in one way: against one device, as one launch, by some rules.
///
/// ```
/// use hsaco_check::{Checker, Launch};
/// let file = std::fs::read("../../tests/fixtures/s1.gfx942.co")?;
/// let launch = Launch { workgroup: Some([2048, 1, 1]), ..Launch::default() };
/// let checker = Checker::new().device("gfx942".parse()?).launch(launch).kernel("foo");
/// let findings = checker.file(&file).findings;
/// assert_eq!(findings[0].rule, "workgroup-limit");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Checker {
    pub(crate) device: Option<Device>,
    pub(crate) launch: Launch,
    pub(crate) kernels: Vec<Wanted>,
    pub(crate) budgets: Vec<KernelBudget>,
    selected: Vec<&'static str>,
    ignored: Vec<&'static str>,
    code: bool,
    measures: bool,
}

impl Checker {
    /// Every rule that needs no code, every kernel, each object against the device that it is for.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Against this device.
    #[must_use]
    pub fn device(mut self, device: Device) -> Self {
        self.device = Some(device);
        self
    }

    /// As it is launched.
    #[must_use]
    pub fn launch(mut self, launch: Launch) -> Self {
        self.launch = launch;
        self
    }

    /// Only kernels of such names, mangled or not; a name that no kernel has is a finding.
    #[must_use]
    pub fn kernel(self, name: impl Into<String>) -> Self {
        self.kernels_like(name, |_| false)
    }

    /// As [`kernel`](Self::kernel), and also kernels one of whose names the function accepts.
    #[must_use]
    pub fn kernels_like(
        mut self,
        name: impl Into<String>,
        accepts: impl Fn(&str) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.kernels.push(Wanted { name: name.into(), accepts: Box::new(accepts) });
        self
    }

    /// Only rules that are selected, those for code included.
    #[must_use]
    pub fn select(mut self, rule: &Rule) -> Self {
        self.selected.push(rule.name);
        self
    }

    /// Without this rule.
    #[must_use]
    pub fn ignore(mut self, rule: &Rule) -> Self {
        self.ignored.push(rule.name);
        self
    }

    /// Rules for code, too: they decode every instruction that kernels reach.
    #[must_use]
    pub fn with_code(mut self) -> Self {
        self.code = true;
        self
    }

    /// Says what each kernel uses as well, see [`Measures`].
    #[must_use]
    pub fn with_measures(mut self) -> Self {
        self.measures = true;
        self
    }

    /// Holds those kernels to a budget whose name the function accepts.
    #[must_use]
    pub fn budget(
        mut self,
        budget: Budget,
        applies: impl Fn(&str) -> bool + Send + Sync + 'static,
    ) -> Self {
        let is_used = AtomicBool::new(false);
        self.budgets.push(KernelBudget { budget, is_used, applies: Box::new(applies) });
        self
    }

    /// The device that was asked for.
    #[must_use]
    pub fn checked_device(&self) -> Option<&Device> {
        self.device.as_ref()
    }

    /// Whether a rule is asked for by its name.
    #[must_use]
    pub fn selects(&self, rule: &str) -> bool {
        self.selected.contains(&rule)
    }

    /// Whether a rule is asked for. A kernel that is named and not there is always told, unless that is ignored: else
    /// the rules that are selected would pass although they saw nothing.
    #[must_use]
    pub fn runs(&self, rule: &Rule) -> bool {
        let wanted = self.selects(rule.name)
            || self.selected.is_empty() && (self.code || rule.needs < Needs::Code)
            || !self.kernels.is_empty() && rule.name == rules::KERNEL_NOT_FOUND;
        wanted && !self.ignored.contains(&rule.name)
    }

    /// Whether some rule is left that could find something.
    ///
    /// ```
    /// use hsaco_check::{Checker, Rule};
    /// let rule = Rule::by_name("lds-limit").unwrap();
    /// assert!(!Checker::new().select(rule).ignore(rule).has_rules());
    /// ```
    #[must_use]
    pub fn has_rules(&self) -> bool {
        let can_find = |rule: &&Rule| match rule.check {
            Check::Budgets => !self.budgets.is_empty(),
            Check::Baseline => self.measures,
            _ => rule.name != rules::KERNEL_NOT_FOUND || self.selects(rule.name),
        };
        rules::all().filter(|rule| self.runs(rule)).any(|rule| can_find(&rule))
    }

    /// Whether kernels are asked for by name.
    #[must_use]
    pub fn names_kernels(&self) -> bool {
        !self.kernels.is_empty()
    }

    /// For each budget, in the order in which they were given, whether a kernel was held to it.
    pub fn used_budgets(&self) -> impl Iterator<Item = bool> {
        self.budgets.iter().map(|it| it.is_used.load(Ordering::Relaxed))
    }

    /// Checks a file: a code object, or whatever carries some.
    #[must_use]
    pub fn file(&self, bytes: &[u8]) -> Report {
        Report::of_file(self, bytes)
    }

    /// Checks one object of a container; of one for another device no more than that is looked at.
    #[must_use]
    pub fn entry(&self, bytes: &[u8]) -> ObjectReport {
        if let (Some(device), Ok(object)) = (&self.device, CodeObject::parse(bytes)) {
            let target = object.target().id();
            let version = object.e_flags().generic_version();
            if target.is_some_and(|target| target.runs_on(device.target, version).is_err()) {
                return ObjectReport { target, ..ObjectReport::default() };
            }
        }
        self.object(bytes)
    }

    /// Checks one code object by itself.
    #[must_use]
    pub fn object(&self, bytes: &[u8]) -> ObjectReport {
        let parsed = CodeObject::parse(bytes);
        let mut findings = Findings::new();
        let mut report = ObjectReport::default();
        let file = FileFacts { bytes, object: parsed.as_ref() };
        self.each_rule(&mut findings, |rule, findings| {
            if let Check::File(check) = rule.check {
                check(&file, findings);
            }
        });
        let is_broken = findings.found.iter().any(|it| it.severity == Severity::Error);
        if let (Ok(object), false) = (&parsed, is_broken) {
            let facts = ObjectFacts::new(object, self);
            report.target = facts.target;
            report.runs = facts.runs();
            self.check_object(&facts, &mut report, &mut findings);
        }
        if !is_broken {
            self.each_rule(&mut findings, |rule, findings| {
                if let Check::Load(check) = rule.check {
                    check(bytes, findings);
                }
            });
        }
        report.findings = findings.found;
        report
    }

    /// Checks an object and its kernels.
    fn check_object(
        &self,
        facts: &ObjectFacts<'_, '_>,
        report: &mut ObjectReport,
        findings: &mut Findings,
    ) {
        self.each_rule(findings, |rule, findings| {
            if let Check::Object(check) = rule.check {
                check(facts, findings);
            }
        });
        let rules: Vec<&Rule> = rules::all().filter(|rule| self.runs(rule)).collect();
        for kernel in facts.index.kernels().iter().filter(|kernel| self.wants(kernel)) {
            let facts = KernelFacts::new(facts, kernel);
            for rule in &rules {
                findings.begin(rule.name, MOST_OF_A_KERNEL);
                match rule.check {
                    Check::Kernel(check) => check(&facts, findings),
                    Check::Budgets => self.budgets.iter().for_each(|it| it.check(&facts, findings)),
                    Check::File(_) | Check::Object(_) | Check::Load(_) | Check::Baseline => {}
                }
            }
            report.kernels += 1;
            if self.measures {
                report.measures.push(Measures::new(&facts));
            }
        }
    }

    fn each_rule(&self, findings: &mut Findings, check: impl Fn(&Rule, &mut Findings)) {
        for rule in rules::all().filter(|rule| self.runs(rule)) {
            findings.begin(rule.name, MOST_OF_AN_OBJECT);
            check(rule, findings);
        }
    }

    fn wants(&self, kernel: &Kernel<'_>) -> bool {
        self.kernels.is_empty() || self.kernels.iter().any(|wanted| wanted.is(kernel))
    }
}

/// A kernel that is asked for.
pub(crate) struct Wanted {
    pub(crate) name: String,
    accepts: Box<dyn Fn(&str) -> bool + Send + Sync>,
}

impl fmt::Debug for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Wanted({})", self.name)
    }
}

impl Wanted {
    /// Whether a kernel is called that: mangled or not, with the descriptor's `.kd` or without.
    pub(crate) fn is(&self, kernel: &Kernel<'_>) -> bool {
        let name = self.name.strip_suffix(".kd").unwrap_or(&self.name);
        let is = |it: &str| it == name || (self.accepts)(it);
        is(&kernel.name().to_str_lossy())
            || kernel.metadata().is_some_and(|it| it.name() == name)
            || demangle(kernel.name()).is_some_and(|it| is(&it))
    }
}
