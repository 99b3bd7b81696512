//! `hsaco demo`: a tour of the verbs, on code objects that are part of the program.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use anstyle::Style;
use anyhow::{Context, Result};

use crate::args::Color;
use crate::report::Status;

/// Shows what hsaco does, on code objects that it carries with it
///
/// What is shown is what the commands print: they are run, in a directory of their own that is gone
/// afterwards. What stays is a report to look at in a browser.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Where the report goes; without this, into the directory for temporary files
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// When to colour the answer
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    color: Color,
}

/// The files that the steps work on.
const FILES: [(&str, &[u8]); 9] = [
    ("demo.co", include_bytes!("../../demo/demo.co")),
    ("calls.co", include_bytes!("../../demo/calls.co")),
    ("flow.co", include_bytes!("../../demo/flow.co")),
    ("demo.bundle", include_bytes!("../../demo/demo.bundle")),
    ("demo.so", include_bytes!("../../demo/demo.so")),
    ("steppings.co", include_bytes!("../../demo/steppings.co")),
    ("apply.co", include_bytes!("../../demo/apply.co")),
    ("library.co", include_bytes!("../../demo/library.co")),
    ("run.co", include_bytes!("../../demo/run.co")),
];

/// What is shown: for each step what it is about, and a command, of whose answer `| head -N` shows the first lines.
const TOUR: &str = include_str!("../../demo/tour.txt");

pub(crate) fn run(args: &Args) -> Result<Status> {
    args.color.apply();
    let directory = tempfile::tempdir().context("no directory for the demo's files")?;
    let report =
        args.report.clone().unwrap_or_else(|| std::env::temp_dir().join("hsaco-demo.html"));
    // The tour runs elsewhere.
    let to = std::path::absolute(&report).context("no current directory")?;
    for (name, bytes) in FILES {
        std::fs::write(directory.path().join(name), bytes).context(name)?;
    }
    let _inside = Inside::enter(directory.path())?;
    let mut status = Status::Fine;
    for step in TOUR.split("\n\n").filter_map(Step::read) {
        // That files differ is what the step is about.
        match step.show()? {
            Status::Findings if step.words.first() == Some(&"diff") => {}
            other => status.note(other),
        }
    }
    std::fs::copy(REPORT, &to).with_context(|| report.display().to_string())?;
    say(&format!("The report is in {}: open it in a browser.\n", report.display()))?;
    Ok(status)
}

/// The report that the tour makes.
const REPORT: &str = "report.html";

/// One thing to show.
struct Step<'t> {
    says: &'t str,
    command: &'t str,
    /// The words of the command after `hsaco`.
    words: Vec<&'t str>,
    /// How many lines are enough of a long answer.
    lines: Option<usize>,
}

impl<'t> Step<'t> {
    /// Reads `# WHAT` and below it `$ hsaco WORDS` or `$ hsaco WORDS | head -N`.
    fn read(text: &'t str) -> Option<Self> {
        let (says, command) = text.trim().split_once('\n')?;
        let (line, lines) = match command.split_once(" | head -") {
            Some((line, lines)) => (line, Some(lines.parse().ok()?)),
            None => (command, None),
        };
        let words = line.strip_prefix("$ hsaco ")?.split(' ').collect();
        Some(Self { says, command, words, lines })
    }

    fn show(&self) -> Result<Status> {
        let bold = Style::new().bold();
        let Self { says, command, .. } = self;
        say(&format!("{says}\n{bold}{command}{bold:#}\n"))?;
        let words = std::iter::once(&"hsaco").chain(&self.words).map(OsString::from);
        let status = match self.lines {
            None => crate::task(words.collect())?()?,
            Some(lines) => {
                let status =
                    crate::task(words.chain(["-o", ANSWER].map(OsString::from)).collect())?()?;
                let text = std::fs::read_to_string(ANSWER)?;
                say(&text.split_inclusive('\n').take(lines).collect::<String>())?;
                status
            }
        };
        say("\n")?;
        Ok(status)
    }
}

/// Where a long answer goes, to be shown in part.
const ANSWER: &str = "answer.txt";

fn say(text: &str) -> Result<()> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// The current directory changed, until the value is dropped: a directory that is in use cannot be
/// removed everywhere.
struct Inside {
    before: PathBuf,
}

impl Inside {
    fn enter(directory: &Path) -> Result<Self> {
        let before = std::env::current_dir().context("no current directory")?;
        std::env::set_current_dir(directory)?;
        Ok(Self { before })
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        // The demo is over and no file is opened after it, so that failing changes nothing.
        drop(std::env::set_current_dir(&self.before));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_of_the_tour_is_a_command() {
        let steps: Vec<&str> = TOUR.split("\n\n").collect();
        assert!(!steps.is_empty() && steps.iter().all(|step| Step::read(step).is_some()));
    }
}
