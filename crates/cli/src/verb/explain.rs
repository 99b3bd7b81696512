//! `hsaco explain`: the page of a rule.

use std::ffi::OsString;
use std::io::Write;

use anyhow::Result;
use hsaco::check::Rule;

use crate::args::Color;
use crate::output::Output;
use crate::report::Status;
use crate::table::{Align, Cell, Table};
use crate::verb::check::rule;

/// Explains a rule of `hsaco check`: what it means, how runtimes fail, how to fix it
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
    let rules: Vec<_> = args.rule.iter().map(|name| rule(name)).collect::<Result<_>>()?;
    let mut out = Output::open(args.output.as_deref())?;
    let color = out.color();
    if rules.is_empty() {
        list(&mut out, color)?;
    }
    for (number, rule) in rules.iter().enumerate() {
        let gap = if number > 0 { "\n" } else { "" };
        write!(out, "{gap}{}", rule.page)?;
    }
    out.finish()?;
    Ok(Status::Fine)
}

fn list(out: &mut dyn Write, color: bool) -> Result<()> {
    let mut table = Table::new(&[
        ("RULE", Align::Left),
        ("WORST", Align::Left),
        ("NEEDS", Align::Left),
        ("FINDS", Align::Left),
    ]);
    for rule in Rule::all() {
        table.row([
            Cell::from(rule.name),
            Cell::from(rule.severity.name()),
            Cell::from(rule.needs.name()),
            Cell::from(rule.summary),
        ]);
    }
    table.write(out, color)?;
    Ok(())
}
