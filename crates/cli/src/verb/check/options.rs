//! What the command line and `hsaco.toml` ask for, put together.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use hsaco::check::{Budget, Checker, Config, Device, Finding, LaunchFacts, Rule, Severity};
use regex::Regex;

use crate::args::{Color, Inputs, ObjectFilter, parse_size};
use crate::tabular::{NameStyle, TableFormat, ViewArgs};

use super::config;

/// Says why a device would refuse code objects, or run them wrongly
///
/// Every kernel of every object is held to the rules of docs/rules; `hsaco explain RULE` prints the page of
/// one. An error is certain; what is merely odd is a warning. Without --device each object is checked
/// against the device that it is for. Of a file that holds objects for several devices those are checked
/// that the device would take. The exit code is 1 if there are errors (see --fail-on).
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) inputs: Inputs,
    /// Only objects of this target; features that are not named may be anything
    #[arg(short, long, value_name = "TARGET")]
    target: Vec<String>,
    /// Only the object with this number, counted from 0 in each file
    #[arg(long, value_name = "N")]
    object: Option<usize>,
    /// Only kernels of this name: as written, as mangled, or a regular expression found in either
    #[arg(short, long, value_name = "NAME")]
    kernel: Vec<String>,
    /// The device to check against: a target id (gfx942, gfx90a:xnack-), or a name of the devices file
    #[arg(short, long, value_name = "DEVICE")]
    device: Vec<String>,
    /// Show which of all devices can run each file
    #[arg(long, conflicts_with = "device")]
    pub(super) all_devices: bool,
    /// Devices with limits of their own: [[device]] tables, as in hsaco.toml
    #[arg(long, value_name = "FILE")]
    devices_file: Option<PathBuf>,
    /// Work-items of a workgroup in the launch
    #[arg(long, value_name = "X,Y,Z")]
    workgroup: Option<Sizes>,
    /// Workgroups of the grid in the launch
    #[arg(long, value_name = "X,Y,Z")]
    grid: Option<Sizes>,
    /// Bytes of LDS that the launch adds to the kernel's own
    #[arg(long, value_name = "BYTES", default_value = "0", value_parser = parse_size)]
    dynamic_lds: u64,
    /// Check code as well, which takes far longer: undecodable-code, resource-closure, missing-wait and hazard
    #[arg(long)]
    code: bool,
    /// Check only these rules
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    select: Vec<String>,
    /// Leave out these rules
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    ignore: Vec<String>,
    /// Hold kernels to a budget: 'vgprs <= 128', or 'NAME: spills = 0' with a regular expression for NAME
    #[arg(long, value_name = "BUDGET")]
    budget: Vec<String>,
    /// Fail only for findings that this file does not have, or not as bad, and for kernels that use more than it says
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Write all findings and what kernels use to this file, so that later runs fail only for what is new or worse
    #[arg(long, value_name = "FILE")]
    pub(super) write_baseline: Option<PathBuf>,
    /// The least severity that makes the exit code 1
    #[arg(long, value_enum)]
    fail_on: Option<FailOn>,
    /// Show notes, too: what the caller has to know, although nothing is wrong
    #[arg(long)]
    notes: bool,
    /// Load each object with this machine's HSA runtime as well, and show what it answers
    #[arg(long)]
    pub(super) probe: bool,
    /// The settings to use instead of hsaco.toml in the current folder
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// How to answer
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(super) format: Format,
    #[command(flatten)]
    pub(super) view: ViewArgs,
    #[command(flatten)]
    pub(super) style: NameStyle,
    /// Write the answer to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<OsString>,
    /// When to colour the answer
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    pub(super) color: Color,
}

/// Who the answer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// People
    Text,
    /// Programs: one document
    Json,
    /// Programs: one line for each finding
    Jsonl,
    /// Code scanning: SARIF 2.1.0
    Sarif,
    /// GitHub Actions: annotations
    Github,
    /// Test reports: JUnit XML
    Junit,
    /// Comments and summaries: a table
    Markdown,
    /// Spreadsheets: a line for each finding
    Csv,
    /// Databases: findings by column; wants -o
    Parquet,
}

impl Format {
    /// True for text that is read on a terminal or in a log. Other formats have their own ways to write any name.
    pub(crate) fn is_for_people(self) -> bool {
        matches!(self, Self::Text | Self::Github | Self::Markdown)
    }

    /// The table that it is, if rows are chosen or it is always one.
    pub(super) fn table(self, chooses_rows: bool) -> Result<Option<TableFormat>> {
        Ok(match (self, chooses_rows) {
            (Self::Csv, _) => Some(TableFormat::Csv),
            (Self::Parquet, _) => Some(TableFormat::Parquet),
            (_, false) => None,
            (Self::Text, true) => Some(TableFormat::Text),
            (Self::Jsonl, true) => Some(TableFormat::Jsonl),
            (_, true) => bail!(
                "--where, --sort and --columns are about rows: use --format text, csv, jsonl or parquet"
            ),
        })
    }
}

/// From which severity on a run fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    Error,
    Warning,
}

impl From<FailOn> for Severity {
    fn from(fail_on: FailOn) -> Self {
        match fail_on {
            FailOn::Error => Severity::Error,
            FailOn::Warning => Severity::Warning,
        }
    }
}

/// Up to three sizes, the others 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes([u32; 3]);

impl std::str::FromStr for Sizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers: Result<Vec<u32>, _> = text.split([',', 'x']).map(str::parse).collect();
        match numbers.as_deref() {
            Ok(&[x]) => Ok(Self([x, 1, 1])),
            Ok(&[x, y]) => Ok(Self([x, y, 1])),
            Ok(&[x, y, z]) => Ok(Self([x, y, z])),
            _ => Err("expected one to three numbers such as 256,1,1".to_owned()),
        }
    }
}

/// What to check, with what.
pub(super) struct Settings {
    pub(super) devices: Vec<Device>,
    pub(super) launch: LaunchFacts,
    pub(super) checker: Checker,
    pub(super) objects: ObjectFilter,
    pub(super) fail_on: Severity,
    pub(super) baseline: Option<PathBuf>,
    notes: bool,
    /// The budgets of the command line, which are the checker's last.
    budgets: Vec<String>,
}

impl Settings {
    pub(super) fn new(args: &Args, config: &Config, folder: &Path) -> Result<Self> {
        let mut own = config.devices()?;
        if let Some(path) = &args.devices_file {
            own.extend(config::read(path)?.devices()?);
        }
        let devices = match args.all_devices {
            true => Device::all().collect(),
            false if args.device.is_empty() => super::devices(&config.check.devices, &own)?,
            false => super::devices(&args.device, &own)?,
        };
        let configured = config.baseline().map(|path| folder.join(path));
        let baseline = args.baseline.clone().or(configured);
        let mut checker = checker(args, config)?;
        if baseline.is_some() || args.write_baseline.is_some() {
            checker = checker.with_measures();
        }
        if !checker.has_rules() {
            bail!("nothing is to be checked: no rule is left that could find something");
        }
        Ok(Self {
            checker,
            launch: LaunchFacts {
                workgroup: args.workgroup.map(|it| it.0),
                grid: args.grid.map(|it| it.0),
                dynamic_lds: args.dynamic_lds,
            },
            devices,
            objects: ObjectFilter {
                target: args.target.clone(),
                device: None,
                object: args.object,
            },
            fail_on: fail_on(args, config)?,
            baseline,
            notes: args.notes,
            budgets: args.budget.clone(),
        })
    }

    /// Why no object was checked.
    pub(super) fn unmatched(&self) -> String {
        let targets = self.objects.target.iter().map(|target| format!("-t {target}"));
        let number = self.objects.object.map(|number| format!("--object {number}"));
        let options: Vec<String> = targets.chain(number).collect();
        match options.is_empty() {
            true => "no code object is in any of the files".to_owned(),
            false => format!("no object fits {}; hsaco ls lists them", options.join(" ")),
        }
    }

    /// A budget of the command line that no kernel was held to.
    pub(super) fn unused_budget(&self) -> Option<&str> {
        let used: Vec<bool> = self.checker.used_budgets().collect();
        let configured = used.len() - self.budgets.len();
        let mut given = self.budgets.iter().zip(used.iter().skip(configured));
        given.find(|(_, is_used)| !**is_used).map(|(budget, _)| budget.as_str())
    }

    /// Whether a finding is to be shown: notes are, if they were asked for.
    pub(super) fn shows(&self, finding: &Finding) -> bool {
        self.notes || self.checker.selects(finding.rule) || finding.severity > Severity::Note
    }
}

fn fail_on(args: &Args, config: &Config) -> Result<Severity> {
    let configured = config.fail_on()?;
    Ok(args.fail_on.map(Severity::from).or(configured).unwrap_or(Severity::Error))
}

fn checker(args: &Args, config: &Config) -> Result<Checker> {
    let mut checker = Checker::new();
    if args.code || config.check.code {
        checker = checker.with_code();
    }
    for name in &args.kernel {
        // A name such as `add(float*)` need not be a regular expression to be looked for.
        let pattern = Regex::new(name).ok();
        checker = checker.kernels_like(name.clone(), move |it| {
            pattern.as_ref().is_some_and(|regex| regex.is_match(it))
        });
    }
    for name in or(&args.select, &config.check.select) {
        checker = checker.select(rule(name)?);
    }
    for name in or(&args.ignore, &config.check.ignore) {
        checker = checker.ignore(rule(name)?);
    }
    for (pattern, budget) in config.budgets().chain(args.budget.iter().map(|text| split(text))) {
        let parsed: Budget = budget.parse().with_context(|| format!("budget '{budget}'"))?;
        let regex =
            Regex::new(pattern).with_context(|| format!("kernels of the budget '{budget}'"))?;
        checker = checker.budget(parsed, move |name| regex.is_match(name));
    }
    Ok(checker)
}

/// What the command line says, else the file.
fn or<'s>(given: &'s [String], configured: &'s [String]) -> &'s [String] {
    if given.is_empty() { configured } else { given }
}

/// `NAME: BUDGET`; C++ names have colons, budgets have none.
fn split(text: &str) -> (&str, &str) {
    text.rsplit_once(':').map_or(("", text), |(name, budget)| (name.trim(), budget.trim()))
}

/// The rule of a name, or what is nearest to it.
pub(crate) fn rule(name: &str) -> Result<&'static Rule> {
    match Rule::by_name(name) {
        Some(rule) => Ok(rule),
        None => bail!("no rule '{name}'; nearest: {}", Rule::nearest(name).join(", ")),
    }
}
