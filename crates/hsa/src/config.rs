//! What the environment and the configuration file ask for.

use std::path::PathBuf;

use hsaco_emu::Revision;
use serde::Deserialize;

use crate::model::Model;

/// What the runtime is to be.
#[derive(Clone, Debug, Default)]
pub(crate) struct Config {
    pub(crate) devices: Vec<Model>,
    /// Threads that run workgroups of one dispatch.
    pub(crate) threads: usize,
    pub(crate) checks: bool,
    pub(crate) rules: Option<String>,
    pub(crate) sanitizers: Option<String>,
    pub(crate) trace: Option<String>,
    pub(crate) dump: Option<PathBuf>,
    pub(crate) summary: Option<String>,
    pub(crate) tools: Vec<String>,
    /// Instructions that a dispatch may run.
    pub(crate) instructions: Option<u64>,
}

/// `HSACO_CONFIG`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    device: Vec<Device>,
    threads: Option<u64>,
    check: Option<bool>,
    patch: Option<String>,
    sanitize: Option<String>,
    trace: Option<String>,
    dump: Option<PathBuf>,
    summary: Option<String>,
    instructions: Option<u64>,
}

/// One device of the file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Device {
    target: String,
    product: Option<String>,
    compute_units: Option<u32>,
    /// The stepping of a gfx1250: `a0` or `b0`.
    revision: Option<String>,
    /// MiB.
    memory: Option<u64>,
}

/// The device that there is where none is asked for: the newest that HIP 5.2 knows.
const DEFAULT_DEVICE: &str = "gfx90a";

/// Devices that there may be: agents are bits of a word, and the host is one.
const MOST_DEVICES: usize = 62;
/// Threads that may work on one dispatch.
const MOST_THREADS: u64 = 1024;

impl Config {
    /// By environment variables, which come before what the file says.
    pub(crate) fn read() -> Result<Self, String> {
        let file = match variable("HSACO_CONFIG")? {
            Some(path) => parse(&path)?,
            None => File::default(),
        };
        let devices = match variable("HSACO_DEVICES")? {
            Some(names) => named(&names)?,
            None if file.device.is_empty() => named(DEFAULT_DEVICE)?,
            None => file.device.iter().map(Device::model).collect::<Result<_, _>>()?,
        };
        if devices.len() > MOST_DEVICES {
            return Err(format!("{} devices, and {MOST_DEVICES} are the most", devices.len()));
        }
        let cores = || std::thread::available_parallelism().map_or(1, |it| it.get() as u64);
        let threads = number("HSACO_THREADS")?.or(file.threads);
        let threads = threads.unwrap_or_else(|| cores().min(MOST_THREADS));
        if threads > MOST_THREADS {
            return Err(format!("{threads} threads, and {MOST_THREADS} are the most"));
        }
        Ok(Self {
            devices: visible(devices)?,
            threads: usize::try_from(threads).unwrap_or(1).max(1),
            checks: variable("HSACO_CHECK")?.map(|it| it != "0").or(file.check).unwrap_or(false),
            rules: variable("HSACO_PATCH")?.or(file.patch),
            sanitizers: variable("HSACO_SANITIZE")?.or(file.sanitize),
            trace: variable("HSACO_TRACE")?.or(file.trace),
            dump: variable("HSACO_DUMP")?.map(PathBuf::from).or(file.dump),
            summary: variable("HSACO_SUMMARY")?.or(file.summary).filter(|it| it != "0"),
            tools: variable("HSA_TOOLS_LIB")?.map(|it| libraries(&it)).unwrap_or_default(),
            instructions: number("HSACO_INSTRUCTIONS")?.or(file.instructions),
        })
    }
}

impl Device {
    fn model(&self) -> Result<Model, String> {
        let mut model = Model::new(&self.target)?;
        if let Some(product) = &self.product {
            model.product.clone_from(product);
        }
        if self.compute_units == Some(0) || self.memory == Some(0) {
            return Err(format!("a {} without compute units or memory", self.target));
        }
        model.compute_units = self.compute_units.unwrap_or(model.compute_units);
        model.memory = self.memory.map_or(model.memory, |it| it.saturating_mul(1 << 20));
        model.revision = match self.revision.as_deref() {
            None | Some("b0") => model.revision,
            Some("a0") => Revision::A0,
            Some(other) => return Err(format!("there is no stepping {other}")),
        };
        Ok(model)
    }
}

/// What a variable is set to; an empty one says nothing.
fn variable(name: &str) -> Result<Option<String>, String> {
    let value = std::env::var_os(name).filter(|it| !it.is_empty());
    let text = value.map(std::ffi::OsString::into_string);
    text.transpose().map_err(|it| format!("{name}={} is no text", it.display()))
}

fn number(name: &str) -> Result<Option<u64>, String> {
    let parsed = |it: String| it.trim().parse().map_err(|_| format!("{name}={it} is no number"));
    variable(name)?.map(parsed).transpose()
}

fn parse(path: &str) -> Result<File, String> {
    let text = std::fs::read_to_string(path).map_err(|it| format!("{path}: {it}"))?;
    toml::from_str(&text).map_err(|it| format!("{path}: {it}"))
}

fn named(names: &str) -> Result<Vec<Model>, String> {
    let each = names.split(',').map(str::trim).filter(|it| !it.is_empty());
    let models = each.map(Model::new).collect::<Result<Vec<_>, _>>()?;
    if models.is_empty() { Err(format!("`{names}` names no device")) } else { Ok(models) }
}

fn libraries(names: &str) -> Vec<String> {
    names.split([' ', ':']).filter(|it| !it.is_empty()).map(str::to_owned).collect()
}

/// Those of the devices that `ROCR_VISIBLE_DEVICES` names by number, in its order.
fn visible(devices: Vec<Model>) -> Result<Vec<Model>, String> {
    let Ok(names) = std::env::var("ROCR_VISIBLE_DEVICES") else { return Ok(devices) };
    let mut seen = Vec::new();
    for name in names.split(',').map(str::trim).filter(|it| !it.is_empty()) {
        let uuid = |at: usize| format!("GPU-{:016x}", at + 1);
        let at = name.parse().ok().or_else(|| (0..devices.len()).find(|at| uuid(*at) == name));
        // As AMD's runtime does: what follows a device that there is not is not seen.
        match at.and_then(|at| devices.get(at)) {
            Some(device) => seen.push(device.clone()),
            None => break,
        }
    }
    Ok(seen)
}
