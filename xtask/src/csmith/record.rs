//! What became of each program, kept in a file so that a long run can be cut and gone on with.

use std::collections::HashSet;
use std::env;
use std::fmt;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hasher as _};
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result};

#[derive(Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    Passed,
    /// It does not end within the instructions that a program may take.
    TooLong,
    /// It does not end on the host either.
    Endless,
    /// The compiler's code is wrong in a way that has this name, and right once that is mended.
    Compiler(String),
    /// The compiler makes no code of it, for this reason, which is known.
    NotCompiled(String),
    Failed(String),
}

/// What rows of the compiler's faults begin with.
const FAULT: &str = "fault of the compiler: ";
/// What rows of programs without code begin with.
const NOT_COMPILED: &str = "refused by the compiler: ";

#[derive(Clone)]
pub(super) struct Row {
    pub(super) seed: u64,
    pub(super) target: String,
    pub(super) level: String,
    pub(super) outcome: Outcome,
}

/// The rows of one build of the emulator, or of all.
pub(super) struct Record {
    build: String,
    file: File,
    rows: Vec<Row>,
    done: HashSet<(u64, String, String)>,
}

impl Row {
    pub(super) fn endless(seed: u64) -> Self {
        let any = || "any".to_owned();
        Self { seed, target: any(), level: any(), outcome: Outcome::Endless }
    }

    fn parse(fields: &[&str]) -> Option<Self> {
        let [seed, target, level, outcome] = fields else { return None };
        let outcome = match *outcome {
            "passed" => Outcome::Passed,
            "too long" => Outcome::TooLong,
            "endless" => Outcome::Endless,
            why => Self::parse_reason(why),
        };
        let (target, level) = ((*target).to_owned(), (*level).to_owned());
        Some(Self { seed: seed.parse().ok()?, target, level, outcome })
    }

    fn parse_reason(text: &str) -> Outcome {
        if let Some(name) = text.strip_prefix(FAULT) {
            Outcome::Compiler(name.to_owned())
        } else if let Some(why) = text.strip_prefix(NOT_COMPILED) {
            Outcome::NotCompiled(why.to_owned())
        } else {
            Outcome::Failed(text.to_owned())
        }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, target, level, outcome } = self;
        write!(f, "{seed}\t{target}\t{level}\t")?;
        match outcome {
            Outcome::Passed => write!(f, "passed"),
            Outcome::TooLong => write!(f, "too long"),
            Outcome::Endless => write!(f, "endless"),
            Outcome::Compiler(name) => write!(f, "{FAULT}{name}"),
            Outcome::NotCompiled(why) => write!(f, "{NOT_COMPILED}{why}"),
            Outcome::Failed(why) => write!(f, "{}", why.replace(['\n', '\t'], " ")),
        }
    }
}

impl Record {
    /// Reads the rows that this build has left, or those of any.
    pub(super) fn open(path: &Path, is_any_build: bool) -> Result<Self> {
        let build = build()?;
        let text = if path.exists() { fs::read_to_string(path)? } else { String::new() };
        let file = File::options().create(true).append(true).open(path)?;
        let mut record = Self { build, file, rows: Vec::new(), done: HashSet::new() };
        for line in text.lines() {
            let mut fields: Vec<&str> = line.split('\t').collect();
            let by = fields.remove(0);
            let row = Row::parse(&fields).with_context(|| format!("not a row: {line}"))?;
            if is_any_build || by == record.build {
                record.keep(row);
            }
        }
        Ok(record)
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter()
    }

    pub(super) fn has(&self, seed: u64, target: &str, level: &str) -> bool {
        let has = |target: &str, level: &str| {
            self.done.contains(&(seed, target.to_owned(), level.to_owned()))
        };
        has(target, level) || has("any", "any")
    }

    pub(super) fn add(&mut self, row: Row) -> Result<()> {
        writeln!(self.file, "{}\t{row}", self.build)?;
        self.keep(row);
        Ok(())
    }

    fn keep(&mut self, row: Row) {
        if self.done.insert((row.seed, row.target.clone(), row.level.clone())) {
            self.rows.push(row);
        }
    }
}

/// A number of this build, which has the emulator inside.
fn build() -> Result<String> {
    let mut hasher = DefaultHasher::new();
    hasher.write(&fs::read(env::current_exe()?)?);
    Ok(format!("{:016x}", hasher.finish()))
}
