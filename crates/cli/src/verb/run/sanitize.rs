//! `--sanitize`: what a program does that it must not, as findings.

use std::ffi::OsString;
use std::io::Write as _;

use anyhow::{Result, bail};
use hsaco::check::{Rule, SANITIZERS, Severity};
use hsaco::emu::{FaultKind, Sanitizer};
use hsaco::load::Executable;
use hsaco_describe::run::{found_by_file, sanitizer_rule};

use crate::output::Output;
use crate::verb::check::{Answered, Format, render};

/// What to look for, and how to tell it.
#[derive(clap::Args)]
pub(super) struct SanitizeArgs {
    /// Find what the kernel must not do: memory, init, wait, race, barrier, hazard, or all of them; slower
    #[arg(
        long,
        value_name = "KIND,…",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "all",
        value_parser = parse_kinds,
        conflicts_with_all = ["threads", "trace", "profile", "follow_approximate"]
    )]
    sanitize: Option<Kinds>,
    /// How to tell what --sanitize finds
    #[arg(long, value_enum, default_value_t = Format::Text, requires = "sanitize")]
    sanitize_format: Format,
    /// Write what --sanitize finds to this file instead of standard error
    #[arg(long, value_name = "FILE", requires = "sanitize")]
    sanitize_output: Option<OsString>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Kinds(Vec<FaultKind>);

fn parse_kinds(text: &str) -> Result<Kinds, String> {
    match text {
        "all" => Ok(Kinds(FaultKind::ALL.to_vec())),
        text => text.split(',').map(str::parse).collect::<Result<_, _>>().map(Kinds),
    }
}

impl SanitizeArgs {
    pub(super) fn sanitizer(&self) -> Option<Sanitizer> {
        self.sanitize.as_ref().map(|kinds| Sanitizer::new(&kinds.0))
    }

    /// Tells what was found; says whether that is anything.
    pub(super) fn tell(
        &self,
        executable: &Executable<'_>,
        target: &str,
        sanitizer: &Sanitizer,
    ) -> Result<bool> {
        let faults = sanitizer.faults();
        let files = found_by_file(executable, target, &faults);
        let rules: Vec<&Rule> = SANITIZERS.iter().collect();
        let kinds = self.sanitize.iter().flat_map(|it| &it.0);
        let asked: Vec<&Rule> = kinds.filter_map(|it| sanitizer_rule(*it)).collect();
        let answered = Answered {
            verb: "run",
            files: &files,
            rules: &rules,
            asked: &asked,
            fail_on: Severity::Warning,
        };
        if self.sanitize_format == Format::Parquet && self.sanitize_output.is_none() {
            bail!("--sanitize-format parquet needs --sanitize-output FILE");
        }
        let left_out = sanitizer.left_out();
        match &self.sanitize_output {
            Some(path) => {
                let mut out =
                    Output::open(Some(path))?.for_people(self.sanitize_format.is_for_people());
                render(self.sanitize_format, &mut out, &answered, false, false)?;
                out.finish()?;
            }
            None => {
                let mut out = anstream::stderr();
                render(self.sanitize_format, &mut out, &answered, false, true)?;
                out.flush()?;
            }
        }
        if left_out > 0 {
            crate::report::error(&format!("--sanitize: {left_out} more findings are not shown"));
        }
        Ok(!faults.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_read() {
        assert_eq!(parse_kinds("all").unwrap().0, FaultKind::ALL);
        assert_eq!(
            parse_kinds("barrier,memory").unwrap().0,
            [FaultKind::Barrier, FaultKind::Memory]
        );
        assert!(parse_kinds("memory,").is_err() && parse_kinds("leaks").is_err());
    }
}
