//! `hsaco.toml`: what a project wants checked.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use hsaco_bytes::{TextError, parse_size};
use serde::Deserialize;

use crate::device::{Device, Limit};
use crate::finding::Severity;

type Result<T, E = TextError> = std::result::Result<T, E>;

/// What a project wants checked.
///
/// ```
/// let config = hsaco_check::Config::parse("[check]\ndevices = ['gfx942']\nfail-on = 'warning'")?;
/// assert_eq!(config.check.devices, ["gfx942"]);
/// assert_eq!(config.fail_on()?, Some(hsaco_check::Severity::Warning));
/// assert!(hsaco_check::Config::parse("[chek]").is_err());
/// # Ok::<(), hsaco_bytes::TextError>(())
/// ```
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// What to check.
    #[serde(default)]
    pub check: CheckTable,
    #[serde(default)]
    device: Vec<DeviceTable>,
}

/// `[check]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CheckTable {
    /// Target ids, and names of devices of one's own.
    #[serde(default)]
    pub devices: Vec<String>,
    /// Names of the only rules to check.
    #[serde(default)]
    pub select: Vec<String>,
    /// Names of rules to leave out.
    #[serde(default)]
    pub ignore: Vec<String>,
    /// Whether to check code as well.
    #[serde(default)]
    pub code: bool,
    baseline: Option<PathBuf>,
    fail_on: Option<String>,
    #[serde(default)]
    budget: Vec<BudgetTable>,
}

/// `[[check.budget]]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BudgetTable {
    /// A regular expression; none is every kernel.
    #[serde(default)]
    kernel: String,
    require: Vec<String>,
}

/// `[[device]]`.
#[derive(Clone, Debug, Deserialize)]
struct DeviceTable {
    name: String,
    target: String,
    #[serde(flatten)]
    limits: BTreeMap<String, Number>,
}

/// `65536` or `"64K"`.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Number {
    Plain(u64),
    Text(String),
}

impl Config {
    /// The name of the file that is read if it is in the current folder.
    pub const NAME: &'static str = "hsaco.toml";

    /// Reads a configuration.
    ///
    /// # Errors
    /// When the text is none.
    pub fn parse(text: &str) -> Result<Self> {
        toml::from_str(text).map_err(|error| TextError::new(error.to_string()))
    }

    /// The devices of one's own.
    ///
    /// # Errors
    /// When a target or a limit is not known.
    pub fn devices(&self) -> Result<Vec<Device>> {
        self.device.iter().map(DeviceTable::device).collect()
    }

    /// The file of the baseline, as seen from where the configuration is.
    #[must_use]
    pub fn baseline(&self) -> Option<&Path> {
        self.check.baseline.as_deref()
    }

    /// Patterns of kernels, each with a budget.
    pub fn budgets(&self) -> impl Iterator<Item = (&str, &str)> {
        let tables = self.check.budget.iter();
        tables.flat_map(|it| it.require.iter().map(|budget| (it.kernel.as_str(), budget.as_str())))
    }

    /// The least severity that makes a run fail.
    ///
    /// # Errors
    /// When it is none.
    pub fn fail_on(&self) -> Result<Option<Severity>> {
        match self.check.fail_on.as_deref() {
            None => Ok(None),
            Some("error") => Ok(Some(Severity::Error)),
            Some("warning") => Ok(Some(Severity::Warning)),
            Some(text) => {
                let text = format!("fail-on is '{text}', and can be error or warning");
                Err(TextError::new(text))
            }
        }
    }
}

impl DeviceTable {
    fn device(&self) -> Result<Device> {
        let wrong = |text: String| TextError::new(format!("device '{}': {text}", self.name));
        let target = self.target.parse::<Device>();
        let mut device = target.map_err(|error| wrong(error.to_string()))?;
        device.name = self.name.clone().into();
        for (name, value) in &self.limits {
            let Some((_, limit)) = Limit::ALL.into_iter().find(|(known, _)| known == name) else {
                let known = Limit::ALL.map(|(name, _)| name).join(", ");
                return Err(wrong(format!("no limit '{name}'; there are {known}")));
            };
            let value = value.value().map_err(|text| wrong(format!("{name}: {text}")))?;
            device.set(limit, value);
        }
        Ok(device)
    }
}

impl Number {
    fn value(&self) -> Result<u32, String> {
        let value = match self {
            Self::Plain(value) => *value,
            Self::Text(text) => parse_size(text)?,
        };
        let too_many = |error| format!("{value} is more than any device has: {error}");
        u32::try_from(value).map_err(too_many)
    }
}
