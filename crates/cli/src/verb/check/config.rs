//! `hsaco.toml`: what a project wants checked.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use hsaco::check::{Device, Limit};
use serde::Deserialize;

use crate::args::parse_size;

use super::options::FailOn;

/// The file that is read if it is in the current folder.
const NAME: &str = "hsaco.toml";

/// What the file says.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Config {
    #[serde(default)]
    pub(super) check: CheckTable,
    #[serde(default)]
    device: Vec<DeviceTable>,
    /// Where the file is: its paths start there.
    #[serde(skip)]
    folder: PathBuf,
}

/// `[check]`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct CheckTable {
    #[serde(default)]
    pub(super) devices: Vec<String>,
    #[serde(default)]
    pub(super) select: Vec<String>,
    #[serde(default)]
    pub(super) ignore: Vec<String>,
    #[serde(default)]
    pub(super) code: bool,
    baseline: Option<PathBuf>,
    fail_on: Option<String>,
    #[serde(default)]
    budget: Vec<BudgetTable>,
}

/// `[[check.budget]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BudgetTable {
    /// A regular expression; none is every kernel.
    #[serde(default)]
    kernel: String,
    require: Vec<String>,
}

/// `[[device]]`.
#[derive(Deserialize)]
struct DeviceTable {
    name: String,
    target: String,
    #[serde(flatten)]
    limits: BTreeMap<String, Number>,
}

/// `65536` or `"64K"`.
#[derive(Deserialize)]
#[serde(untagged)]
enum Number {
    Plain(u64),
    Text(String),
}

impl Config {
    /// The settings of a file, else of the current folder's, else none.
    pub(super) fn load(path: Option<&Path>) -> Result<Self> {
        match path {
            Some(path) => Self::read(path),
            None if Path::new(NAME).is_file() => Self::read(Path::new(NAME)),
            None => Ok(Self::default()),
        }
    }

    pub(super) fn read(path: &Path) -> Result<Self> {
        let shown = || path.display().to_string();
        let text = std::fs::read_to_string(path).with_context(shown)?;
        let mut config: Self = toml::from_str(&text).with_context(shown)?;
        config.folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
        Ok(config)
    }

    pub(super) fn devices(&self) -> Result<Vec<Device>> {
        self.device.iter().map(DeviceTable::device).collect()
    }

    pub(super) fn baseline(&self) -> Option<PathBuf> {
        self.check.baseline.as_ref().map(|path| self.folder.join(path))
    }

    /// Patterns of kernels, each with a budget.
    pub(super) fn budgets(&self) -> impl Iterator<Item = (&str, &str)> {
        let tables = self.check.budget.iter();
        tables.flat_map(|it| it.require.iter().map(|budget| (it.kernel.as_str(), budget.as_str())))
    }
}

impl CheckTable {
    pub(super) fn fail_on(&self) -> Result<Option<FailOn>> {
        let read = |text: &String| match FailOn::from_str(text, false) {
            Ok(severity) => Ok(severity),
            Err(_) => bail!("fail-on is '{text}', and can be error or warning"),
        };
        self.fail_on.as_ref().map(read).transpose()
    }
}

impl DeviceTable {
    fn device(&self) -> Result<Device> {
        let place = || format!("device '{}'", self.name);
        let mut device: Device = self.target.parse().with_context(place)?;
        device.name = self.name.clone().into();
        for (name, value) in &self.limits {
            let Some((_, limit)) = Limit::ALL.into_iter().find(|(known, _)| known == name) else {
                let known = Limit::ALL.map(|(name, _)| name).join(", ");
                bail!("{}: no limit '{name}'; there are {known}", place());
            };
            device.set(limit, value.value().with_context(|| format!("{}: {name}", place()))?);
        }
        Ok(device)
    }
}

impl Number {
    fn value(&self) -> Result<u32> {
        let value = match self {
            Self::Plain(value) => *value,
            Self::Text(text) => parse_size(text).map_err(anyhow::Error::msg)?,
        };
        u32::try_from(value).with_context(|| format!("{value} is more than any device has"))
    }
}
