//! `hsaco rules`: the rules that code is rewritten by.

use std::io::Write;

use anyhow::{Context, Result};
use hsaco::patch::{Options, RuleSet, RuleSetRows};

use crate::args::{Answer, Format};
use crate::json;
use crate::output::Output;
use crate::report::Status;

/// Lists the rules that `patch` rewrites by, or shows the page of one
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Show the page of this rule
    #[arg(value_name = "RULE")]
    rule: Option<String>,
    #[command(flatten)]
    answer: Answer,
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
        (None, Format::Json) => json::document(&mut out, &RuleSetRows::default())?,
        (None, Format::Text) => write_text(&mut out)?,
    }
    out.finish()?;
    Ok(Status::Fine)
}

fn write_text(out: &mut Output) -> Result<()> {
    for set in RuleSetRows::default().sets {
        let stepping = set.stepping.map(|it| format!(", {} to {}", it.takes, it.gives));
        let stepping = stepping.unwrap_or_default();
        let processor = set.processor.unwrap_or("any processor");
        writeln!(out, "{} (code for {processor}{stepping})", set.name)?;
        let width = set.rules.iter().map(|rule| rule.name.len()).max().unwrap_or(0);
        for rule in set.rules {
            let may_fail = if rule.required { "" } else { " (optional)" };
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
