//! What to check: rules, kernels, budgets.

use std::sync::atomic::{AtomicBool, Ordering};

use hsaco_bytes::{Error, ErrorKind};
use hsaco_container::{Container, WalkOptions, entries};

use crate::budget::{Budget, KernelBudget, Measures};
use crate::device::Device;
use crate::facts::{Facts, ObjectFacts};
use crate::finding::{Findings, MOST_OF_A_KERNEL, MOST_OF_AN_OBJECT};
use crate::launch::LaunchFacts;
use crate::question::{Question, Wanted};
use crate::report::{ObjectReport, Report};
use crate::rule::{Check, Depth, Rule};
use crate::rules;

/// Checks a code object, or whatever carries some, against a device: what would go wrong when it is loaded there?
///
/// Headers, metadata and descriptors are looked at, code is not; [`Checker`] can do more.
///
/// ```
/// let file = std::fs::read("../../tests/fixtures/s1.gfx11-generic.co")?;
/// assert!(hsaco_check::check(&file, &"gfx1151".parse()?).passes());
/// assert!(!hsaco_check::check(&file, &"gfx1201".parse()?).passes());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn check(bytes: &[u8], device: &Device) -> Report {
    Checker::new().file(bytes, Some(device), &LaunchFacts::default())
}

/// Which rules to hold which kernels to, on any device.
///
/// ```
/// use hsaco_check::{Checker, LaunchFacts};
/// let file = std::fs::read("../../tests/fixtures/s1.gfx942.co")?;
/// let launch = LaunchFacts { workgroup: Some([2048, 1, 1]), ..LaunchFacts::default() };
/// let checker = Checker::new().kernel("foo");
/// let findings = checker.file(&file, Some(&"gfx942".parse()?), &launch).findings;
/// assert_eq!(findings[0].rule, "workgroup-limit");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Checker {
    kernels: Vec<Wanted>,
    budgets: Vec<KernelBudget>,
    selected: Vec<&'static str>,
    ignored: Vec<&'static str>,
    code: bool,
    measures: bool,
}

impl Checker {
    /// Every rule that needs no code, every kernel.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
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
            || self.selected.is_empty() && (self.code || rule.needs < Depth::Code)
            || !self.kernels.is_empty() && rule.name == rules::KERNEL_NOT_FOUND;
        wanted && !rule.is_of_runs() && !self.ignored.contains(&rule.name)
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

    /// Checks a file, a code object or whatever carries some: against a device, else each object against the one that
    /// it is for, and as it is launched.
    #[must_use]
    pub fn file(&self, bytes: &[u8], device: Option<&Device>, launch: &LaunchFacts) -> Report {
        if !matches!(Container::detect(bytes), Some(container) if container != Container::CodeObject)
        {
            return Report::from_iter([self.object(&Facts::read(bytes), device, launch)]);
        }
        let (mut objects, mut broken, mut number) = (Vec::new(), Vec::new(), 0);
        for entry in entries(bytes, &WalkOptions::default()) {
            match entry {
                Ok(entry) if entry.is_object() => {
                    let facts = Facts::of_entry(number, &entry);
                    objects.extend(facts.map(|facts| self.object(&facts, device, launch)));
                    number += 1;
                }
                Ok(_) => {}
                Err(error) => broken.push(rules::unreadable(&error)),
            }
        }
        if objects.is_empty() && broken.is_empty() {
            let error = Error::new(ErrorKind::NotRecognised, "file", "it holds no code object");
            broken.push(rules::unreadable(&error));
        }
        let mut report = Report::from_iter(objects);
        report.findings.splice(0..0, broken);
        report
    }

    /// Checks one object, which was read once for every device and launch. Of one in a container that is for another
    /// device no more than that is looked at.
    #[must_use]
    pub fn object(
        &self,
        facts: &Facts<'_>,
        device: Option<&Device>,
        launch: &LaunchFacts,
    ) -> ObjectReport {
        if let (Some(_), Some(device), Ok(object)) = (facts.place, device, &facts.object)
            && object.target.is_some()
            && !object.runs_on(Some(device))
        {
            let left_by = Some(device.clone());
            return ObjectReport { target: object.target, left_by, ..ObjectReport::default() };
        }
        let mut findings = Findings::new();
        let mut report = ObjectReport::default();
        self.each_rule(&mut findings, |rule, findings| {
            if let Check::File(check) = rule.check {
                check(facts, findings);
            }
        });
        if !findings.has_error() {
            if let Ok(object) = &facts.object {
                let question = Question::new(object, device, launch, &self.kernels);
                report.target = object.target;
                report.runs = object.runs_on(device);
                self.check_object(object, &question, &mut findings);
                self.check_kernels(object, &question, &mut report, &mut findings);
            }
            self.each_rule(&mut findings, |rule, findings| {
                if let Check::Load(check) = rule.check {
                    check(facts, findings);
                }
            });
        }
        report.findings = findings.found;
        if let Some(place) = facts.place {
            report.place(place);
        }
        report
    }

    fn check_object(
        &self,
        object: &ObjectFacts<'_>,
        question: &Question<'_>,
        findings: &mut Findings,
    ) {
        self.each_rule(findings, |rule, findings| match rule.check {
            Check::Object(check) => check(object, findings),
            Check::ObjectOn(check) => check(object, question, findings),
            _ => {}
        });
    }

    fn check_kernels(
        &self,
        object: &ObjectFacts<'_>,
        question: &Question<'_>,
        report: &mut ObjectReport,
        findings: &mut Findings,
    ) {
        let rules: Vec<&Rule> = rules::all().filter(|rule| self.runs(rule)).collect();
        for facts in object.kernels().filter(|kernel| question.wants(kernel)) {
            for rule in &rules {
                findings.begin(rule.name, MOST_OF_A_KERNEL);
                match rule.check {
                    Check::Kernel(check) => check(&facts, findings),
                    Check::KernelOn(check) => check(&facts, question, findings),
                    Check::Budgets => {
                        self.budgets.iter().for_each(|it| it.check(&facts, question, findings));
                    }
                    _ => {}
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
}
