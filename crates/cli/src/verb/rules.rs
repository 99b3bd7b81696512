//! `hsaco rules`: the rules that code is rewritten by.

use std::io::Write;

use anyhow::{Context, Result};
use hsaco::patch::{Options, Outcome, Requirement, Rule, RuleSet, Trigger};
use serde::Serialize;

use crate::args::{Answer, Format};
use crate::json;
use crate::output::Output;
use crate::report::Status;
use crate::schema::SCHEMA_VERSION;

/// Lists the rules that `patch` rewrites by, or shows the page of one
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Show the page of this rule
    #[arg(value_name = "RULE")]
    rule: Option<String>,
    #[command(flatten)]
    answer: Answer,
}

#[derive(Serialize)]
struct Document {
    schema_version: u32,
    sets: Vec<SetJson>,
}

#[derive(Serialize)]
struct SetJson {
    name: &'static str,
    /// Null where there are no rules to be for one.
    processor: Option<&'static str>,
    stepping: Option<SteppingJson>,
    rules: Vec<RuleJson>,
}

/// The stepping that code is for before, and the one that it is for afterwards.
#[derive(Serialize)]
struct SteppingJson {
    takes: &'static str,
    gives: &'static str,
}

#[derive(Serialize)]
struct RuleJson {
    name: &'static str,
    summary: &'static str,
    required: bool,
    instructions: Vec<&'static str>,
    examples: Vec<ExampleJson>,
}

#[derive(Serialize)]
struct ExampleJson {
    name: &'static str,
    before: Vec<&'static str>,
    after: Option<Vec<&'static str>>,
    refused: Option<&'static str>,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    args.answer.color.apply();
    let mut out = Output::answer(&args.answer)?;
    match (&args.rule, args.answer.format) {
        (Some(name), _) => {
            let mut rules = RuleSet::all().iter().flat_map(RuleSet::rules);
            let rule = rules.find(|rule| rule.name == name);
            let rule =
                rule.with_context(|| format!("no rule `{name}`; `hsaco rules` lists them"))?;
            out.write_all(rule.page.as_bytes())?;
        }
        (None, Format::Json) => {
            let sets = RuleSet::all().iter().map(set_json).collect();
            json::document(&mut out, &Document { schema_version: SCHEMA_VERSION, sets })?;
        }
        (None, Format::Text) => write_text(&mut out)?,
    }
    out.finish()?;
    Ok(Status::Fine)
}

fn write_text(out: &mut Output) -> Result<()> {
    for set in RuleSet::all() {
        let stepping = set.stepping().map(|it| format!(", {} to {}", it.takes, it.gives));
        let stepping = stepping.unwrap_or_default();
        let processor = processor(set).unwrap_or("any processor");
        writeln!(out, "{} (code for {processor}{stepping})", set.name())?;
        let width = set.rules().iter().map(|rule| rule.name.len()).max().unwrap_or(0);
        for rule in set.rules() {
            let may_fail =
                if rule.requirement == Requirement::Required { "" } else { " (optional)" };
            writeln!(out, "  {:width$}  {}{may_fail}", rule.name, rule.summary)?;
        }
    }
    writeln!(out, "\noptions of `patch --option`")?;
    let width = Options::switches().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, help) in Options::switches() {
        writeln!(out, "  {name:width$}  {help}")?;
    }
    Ok(())
}

fn set_json(set: &RuleSet) -> SetJson {
    let rules = set.rules().iter().map(rule_json).collect();
    let stepping = set.stepping().map(|it| SteppingJson { takes: it.takes, gives: it.gives });
    SetJson { name: set.name(), processor: processor(set), stepping, rules }
}

/// The processor that a set is for: without rules it is for edits, of code for any.
fn processor(set: &RuleSet) -> Option<&'static str> {
    (!set.rules().is_empty()).then(|| set.processor())
}

fn rule_json(rule: &Rule) -> RuleJson {
    let lines = |text: &'static str| text.lines().map(str::trim).collect::<Vec<_>>();
    let examples = rule.examples.iter().map(|example| {
        let before = lines(example.before);
        let (after, refused) = match example.after {
            Outcome::Same => (Some(before.clone()), None),
            Outcome::Code(code) => (Some(lines(code)), None),
            Outcome::Refused(reason) => (None, Some(reason)),
        };
        ExampleJson { name: example.name, before, after, refused }
    });
    RuleJson {
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
