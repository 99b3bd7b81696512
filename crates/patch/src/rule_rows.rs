//! Rule sets as rows, for JSON.

use hsaco_bytes::SCHEMA_VERSION;
use serde::Serialize;

use crate::rule::{ExampleOutcome, Requirement, RewriteRule, RuleSet, Trigger};

/// All rule sets.
///
/// ```
/// let rows = hsaco_patch::RuleSetRows::default();
/// assert!(rows.sets.iter().any(|it| it.name == "gfx1250-b0-to-a0"));
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct RuleSetRows {
    schema_version: u32,
    /// The sets.
    pub sets: Vec<RuleSetRow>,
}

/// A rule set.
#[derive(Clone, Debug, Serialize)]
pub struct RuleSetRow {
    /// Its name.
    pub name: &'static str,
    /// Null where there are no rules to be for one.
    pub processor: Option<&'static str>,
    /// The stepping that code is for before, and the one that it is for afterwards.
    pub stepping: Option<SteppingRow>,
    /// Its rules.
    pub rules: Vec<RuleRow>,
}

/// Steppings of a processor.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SteppingRow {
    /// The one that code is for.
    pub takes: &'static str,
    /// The one that it is for afterwards.
    pub gives: &'static str,
}

/// A rule.
#[derive(Clone, Debug, Serialize)]
pub struct RuleRow {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub summary: &'static str,
    /// Whether an instruction that it cannot rewrite is a failure.
    pub required: bool,
    /// The instructions that it is about, if they are known by name.
    pub instructions: Vec<&'static str>,
    /// Examples.
    pub examples: Vec<ExampleRow>,
}

/// An example of a rule.
#[derive(Clone, Debug, Serialize)]
pub struct ExampleRow {
    /// Its name.
    pub name: &'static str,
    /// Lines before.
    pub before: Vec<&'static str>,
    /// Lines afterwards.
    pub after: Option<Vec<&'static str>>,
    /// Why it is not rewritten.
    pub refused: Option<&'static str>,
}

impl Default for RuleSetRows {
    fn default() -> Self {
        let sets = RuleSet::all().iter().map(RuleSetRow::new).collect();
        Self { schema_version: SCHEMA_VERSION, sets }
    }
}

impl RuleSetRow {
    fn new(set: &RuleSet) -> Self {
        let rules = set.rules().iter().map(RuleRow::new).collect();
        let stepping = set.stepping().map(|it| SteppingRow { takes: it.takes, gives: it.gives });
        // Without rules it is for edits, of code for any.
        let processor = (!set.rules().is_empty()).then(|| set.processor());
        Self { name: set.name(), processor, stepping, rules }
    }
}

impl RuleRow {
    fn new(rule: &RewriteRule) -> Self {
        let lines = |text: &'static str| text.lines().map(str::trim).collect::<Vec<_>>();
        let examples = rule.examples.iter().map(|example| {
            let before = lines(example.before);
            let (after, refused) = match example.after {
                ExampleOutcome::Same => (Some(before.clone()), None),
                ExampleOutcome::Code(code) => (Some(lines(code)), None),
                ExampleOutcome::Refused(reason) => (None, Some(reason)),
            };
            ExampleRow { name: example.name, before, after, refused }
        });
        Self {
            name: rule.name,
            summary: rule.summary,
            required: rule.requirement == Requirement::Required,
            instructions: match rule.trigger {
                Trigger::Opcodes(names) => names.to_vec(),
                Trigger::Look(..) | Trigger::Entry => Vec::new(),
            },
            examples: examples.collect(),
        }
    }
}
