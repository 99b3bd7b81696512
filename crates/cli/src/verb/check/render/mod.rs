//! One model, many formats: a file each.

mod github;
mod json;
mod junit;
mod markdown;
mod sarif;
mod text;

use std::io::Write;

use anyhow::Result;
use hsaco::check::Rule;

use super::model::FileResult;
use super::options::{FailOn, Format, Settings};
use junit::Suite;

/// Writes what was found in a format.
pub(super) fn write(
    format: Format,
    out: &mut dyn Write,
    files: &[FileResult],
    settings: &Settings,
    color: bool,
) -> Result<()> {
    let rules: Vec<&Rule> = Rule::all().collect();
    match format {
        Format::Text => text::write(out, files, settings.devices.len() > 1, color),
        Format::Json => json::write(out, files, settings.fail_on),
        Format::Jsonl => json::write_lines(out, files),
        Format::Sarif => sarif::write(out, files, &rules),
        Format::Github => github::write(out, files),
        Format::Junit => {
            let suite = Suite { verb: "check", rules: &rules, fail_on: settings.fail_on };
            junit::write(out, files, suite)
        }
        Format::Markdown => markdown::write(out, files),
    }
}

/// A format of findings for other programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exchange {
    Sarif,
    Github,
    Junit,
}

/// Writes what another verb found of a file by one rule.
pub(super) fn write_for(
    verb: &str,
    format: Exchange,
    out: &mut dyn Write,
    file: FileResult,
    rule: &Rule,
) -> Result<()> {
    let (files, rules) = (&[file], &[rule]);
    match format {
        Exchange::Sarif => sarif::write(out, files, rules),
        Exchange::Github => github::write(out, files),
        Exchange::Junit => junit::write(out, files, Suite { verb, rules, fail_on: FailOn::Error }),
    }
}
