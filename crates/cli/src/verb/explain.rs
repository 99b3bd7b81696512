//! `hsaco explain`: the page of a rule.

use std::ffi::OsString;
use std::io::Write;

use anyhow::Result;
use hsaco::check::Rule;
use hsaco::patch::RuleSet;

use crate::args::Color;
use crate::output::Output;
use crate::report::Status;
use crate::table::{Cell, Table};
use crate::verb::check::rule;

/// Explains a rule of `hsaco check` or of rewriting: what it means, how runtimes fail, how to fix it
///
/// Without a rule, lists them all.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The rule, as findings name it
    #[arg(value_name = "RULE")]
    rule: Vec<String>,
    /// Write the answer to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<OsString>,
    /// When to colour the answer
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    color: Color,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    args.color.apply();
    let pages: Vec<_> = args.rule.iter().map(|name| page(name)).collect::<Result<_>>()?;
    let mut out = Output::open(args.output.as_deref())?;
    let color = out.color();
    if pages.is_empty() {
        list(&mut out, color)?;
    }
    for (number, page) in pages.iter().enumerate() {
        let gap = if number > 0 { "\n" } else { "" };
        write!(out, "{gap}{page}")?;
    }
    out.finish()?;
    Ok(Status::Fine)
}

/// The page of a rule: of `check`, else of rewriting.
fn page(name: &str) -> Result<&'static str> {
    let mut rewriting = RuleSet::all().iter().flat_map(RuleSet::rules);
    match rewriting.find(|rule| rule.name == name) {
        Some(rule) => Ok(rule.page),
        None => rule(name).map(|rule| rule.page),
    }
}

fn list(out: &mut dyn Write, color: bool) -> Result<()> {
    let mut table = Table::titled("RULE|WORST|NEEDS|FINDS");
    for rule in Rule::all() {
        table.row([
            Cell::from(rule.name),
            Cell::from(rule.severity.name()),
            Cell::from(rule.needs.name()),
            Cell::from(rule.summary),
        ]);
    }
    table.write(out, color)?;
    writeln!(out)?;
    let mut table = Table::titled("REWRITING RULE|SET");
    for set in RuleSet::all() {
        for rule in set.rules() {
            table.row([Cell::from(rule.name), Cell::from(set.name())]);
        }
    }
    table.write(out, color)?;
    Ok(())
}
