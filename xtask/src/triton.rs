//! `cargo xtask triton`: the Triton kernels of the corpus on the emulator, against what numpy says they compute.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context as _, Result, bail, ensure};
use hsaco::bytes::hex::decode as from_hex;
use hsaco::emu::{self, CallArgument, Device, Dispatch, Host, Limits, LoadedKernel, Outcome};
use hsaco::kernarg::{Launch, Value};
use hsaco::load::{Executable, Freeze};
use hsaco_tests::corpus_dir;
use serde_json::Value as Json;

use crate::args::Args;
use crate::sanitize::Sanitize;

/// Those that Triton compiles for; it refuses gfx1030.
const TARGETS: &str = "gfx90a,gfx942,gfx950,gfx1100,gfx1151,gfx1200,gfx1201,gfx1250";

/// Where objects are loaded.
const BASE: u64 = 0x7d00_0000_0000;
/// Wave instructions that a kernel may take.
const MOST_INSTRUCTIONS: u64 = 500_000_000;

pub(crate) fn run(mut args: Args) -> Result<()> {
    let targets: String = args.option("--targets")?.unwrap_or_else(|| TARGETS.to_owned());
    let only: Option<String> = args.option("--cases")?;
    let sanitize = Sanitize::new(&mut args);
    args.finish()?;
    let folder = corpus_dir().join("triton");
    let launches = read(&folder.join("run/launches.json")).context("run `cargo xtask corpus`")?;
    let (mut passed, mut failed, mut seconds) = (0, 0, 0.0);
    for (name, case) in cases(&folder.join("run/cases"))? {
        if only.as_ref().is_some_and(|it| !it.split(',').any(|it| it == name)) {
            continue;
        }
        for target in targets.split(',') {
            let object = format!("{}.{target}", text(&case, "kernel")?);
            let Some(launch) = launches.get(&object) else { continue };
            if case
                .get("but")
                .and_then(Json::as_str)
                .is_some_and(|family| target.starts_with(family))
            {
                continue;
            }
            let path = folder.join(format!("{object}.co"));
            match run_case(fs::read(path)?, launch, &case, sanitize) {
                Ok((part, took)) => {
                    println!("{name} {target}: passed, {part:.2} of what it may be off");
                    passed += 1;
                    seconds += took;
                }
                Err(error) => {
                    println!("{name} {target}: {error:#}");
                    failed += 1;
                }
            }
        }
    }
    println!("{passed} passed, {seconds:.2} s in kernels");
    ensure!(failed == 0, "{failed} kernels do not compute what they should");
    Ok(())
}

fn read(path: &Path) -> Result<Json> {
    let bytes = fs::read(path).with_context(|| path.display().to_string())?;
    Ok(serde_json::from_slice(&bytes)?)
}

fn cases(folder: &Path) -> Result<BTreeMap<String, Json>> {
    let mut cases = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_stem().context("a case without a name")?.display().to_string();
        cases.insert(name, read(&path)?);
    }
    Ok(cases)
}

fn text<'a>(of: &'a Json, key: &str) -> Result<&'a str> {
    of[key].as_str().with_context(|| format!("no {key}"))
}

fn list<'a>(of: &'a Json, key: &str) -> Result<&'a [Json]> {
    Ok(of[key].as_array().with_context(|| format!("no {key}"))?)
}

fn number(of: &Json, key: &str) -> Result<u32> {
    Ok(u32::try_from(of[key].as_u64().with_context(|| format!("no {key}"))?)?)
}

/// What a kernel is given.
enum Given {
    Value(Value<'static>),
    Buffer(Vec<u8>),
}

/// Two pointers that Triton adds: memory of its own, which these kernels do not use.
const SCRATCH: [Value<'static>; 2] = [Value::Pointer(0), Value::Pointer(0)];

/// Runs a case; the largest part of a bound that a result is off by, and the seconds that the kernel took.
fn run_case(object: Vec<u8>, about: &Json, case: &Json, sanitize: Sanitize) -> Result<(f64, f64)> {
    let mut given =
        list(case, "arguments")?.iter().map(argument).collect::<Result<Vec<Given>>>()?;
    let host = Printed::default();
    let sanitized = sanitize.watch(None);
    let limits = Limits { instructions: MOST_INSTRUCTIONS, ..Limits::default() };
    let mut seconds = 0.0;
    let ran = dispatch(object, about, &grid(case)?, &mut given, |it| {
        let dispatch = sanitized.dispatch(it.with_limits(limits).with_host(&host));
        let start = Instant::now();
        let ran = dispatch.run();
        seconds = start.elapsed().as_secs_f64();
        ran
    });
    sanitized.judge()?;
    ran?;
    if let Some(wanted) = case["prints"].as_array() {
        host.judge(wanted)?;
    }
    let mut worst: f64 = 0.0;
    for check in list(case, "checks")? {
        let at = usize::try_from(number(check, "argument")?)?;
        let Some(Given::Buffer(bytes)) = given.get(at) else { bail!("argument {at} is no buffer") };
        worst = worst.max(judge(check, bytes).with_context(|| format!("argument {at}"))?);
    }
    Ok((worst, seconds))
}

fn grid(case: &Json) -> Result<Vec<u32>> {
    let sizes = list(case, "grid")?.iter().map(|it| it.as_u64().context("no size"));
    sizes.map(|it| Ok(u32::try_from(it?)?)).collect()
}

fn argument(it: &Json) -> Result<Given> {
    if let Some(digits) = it["buffer"].as_str() {
        return Ok(Given::Buffer(from_hex(digits).context("no digits")?));
    }
    if let Some(value) = it["i32"].as_i64() {
        return Ok(Given::Value(Value::I32(i32::try_from(value)?)));
    }
    #[allow(clippy::cast_possible_truncation, reason = "that is its type")]
    let value = it["f32"].as_f64().context("an argument of no kind")? as f32;
    Ok(Given::Value(Value::F32(value)))
}

fn dispatch(
    object: Vec<u8>,
    about: &Json,
    grid: &[u32],
    given: &mut [Given],
    run: impl FnOnce(Dispatch<'_>) -> emu::Result<Outcome>,
) -> Result<Outcome> {
    let mut executable = Executable::new(None);
    executable.load("kernel.co", object)?;
    let freeze = Freeze { base: BASE, ..Freeze::default() };
    if let Err(errors) = executable.freeze(freeze) {
        bail!("{errors:?}");
    }
    let mut device = Device::new(executable.target().context("no target")?, 1 << 30);
    device.load(&executable)?;
    let kernel = LoadedKernel::find(&executable, text(about, "symbol")?)?;
    let items = number(about, "items")?;
    let launch = Launch::of_workgroups(grid, &[items, 1])?.with_dynamic_lds(number(about, "lds")?);
    let mut arguments: Vec<CallArgument<'_>> = given
        .iter_mut()
        .map(|it| match it {
            Given::Value(value) => CallArgument::Value(*value),
            Given::Buffer(bytes) => CallArgument::Buffer(bytes),
        })
        .collect();
    arguments.extend(SCRATCH.map(CallArgument::Value));
    Ok(device.call(&kernel, launch, &mut arguments, run)?)
}

/// A kernel of the corpus with arguments to run it on.
pub(crate) struct Case {
    about: Json,
    case: Json,
}

impl Case {
    /// The first case of an object, such as `softmax.gfx942`.
    pub(crate) fn of(object: &str) -> Result<Option<Self>> {
        let folder = corpus_dir().join("triton/run");
        let launches = read(&folder.join("launches.json")).context("run `cargo xtask corpus`")?;
        let Some(about) = launches.get(object).cloned() else { return Ok(None) };
        let (kernel, target) = object.rsplit_once('.').context("an object of no target")?;
        let is_its = |case: &Json| {
            let but = case.get("but").and_then(Json::as_str);
            case["kernel"] == kernel && but.is_none_or(|family| !target.starts_with(family))
        };
        let case = cases(&folder.join("cases"))?.into_values().find(is_its);
        Ok(case.map(|case| Self { about, case }))
    }

    /// Runs an object; the answer is what is in the buffers afterwards.
    pub(crate) fn run(
        &self,
        object: Vec<u8>,
        run: impl FnOnce(Dispatch<'_>) -> emu::Result<Outcome>,
    ) -> Result<(Outcome, Vec<Vec<u8>>)> {
        let arguments = list(&self.case, "arguments")?.iter().map(argument);
        let mut given = arguments.collect::<Result<Vec<Given>>>()?;
        let host = Printed::default();
        let outcome = dispatch(object, &self.about, &grid(&self.case)?, &mut given, |it| {
            run(it.with_host(&host))
        })?;
        let buffers = given.into_iter().filter_map(|it| match it {
            Given::Buffer(bytes) => Some(bytes),
            Given::Value(_) => None,
        });
        Ok((outcome, buffers.collect()))
    }
}

/// The largest part of its bound that an element is off by; a failure where that is more than all of it.
fn judge(check: &Json, bytes: &[u8]) -> Result<f64> {
    let elements = elements(bytes, text(check, "type")?)?;
    let (wanted, bounds) = (doubles(check, "wanted")?, doubles(check, "bounds")?);
    ensure!(elements.len() == wanted.len(), "{} elements, not {}", elements.len(), wanted.len());
    let mut worst: f64 = 0.0;
    for (at, ((got, wanted), bound)) in elements.iter().zip(&wanted).zip(&bounds).enumerate() {
        let off = (got - wanted).abs();
        ensure!(off <= *bound, "element {at} is {got}, and should be {wanted} within {bound:e}");
        worst = worst.max(if *bound > 0.0 { off / bound } else { 0.0 });
    }
    Ok(worst)
}

fn doubles(of: &Json, key: &str) -> Result<Vec<f64>> {
    let bytes = from_hex(text(of, key)?).context("no digits")?;
    Ok(bytes.as_chunks().0.iter().map(|it| f64::from_le_bytes(*it)).collect())
}

fn elements(bytes: &[u8], kind: &str) -> Result<Vec<f64>> {
    let words = bytes.as_chunks().0.iter().map(|it| u32::from_le_bytes(*it));
    Ok(match kind {
        "float32" => words.map(|it| f64::from(f32::from_bits(it))).collect(),
        "int32" => words.map(|it| f64::from(it.cast_signed())).collect(),
        "float16" => bytes.as_chunks().0.iter().map(|it| half(u16::from_le_bytes(*it))).collect(),
        _ => bail!("elements of {kind}"),
    })
}

fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 0x3ff));
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    match exponent {
        0 => sign * fraction * 2.0_f64.powi(-24),
        31 if fraction == 0.0 => sign * f64::INFINITY,
        31 => f64::NAN,
        _ => sign * (1.0 + fraction / 1024.0) * 2.0_f64.powi(exponent - 15),
    }
}

/// What a kernel has printed.
#[derive(Default)]
struct Printed(Mutex<Vec<u8>>);

impl Host for Printed {
    fn print(&self, text: &[u8], _: bool) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(text);
    }
}

impl Printed {
    /// Lines may come in any order.
    fn judge(&self, wanted: &[Json]) -> Result<()> {
        let text = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = str::from_utf8(&text)?;
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_unstable();
        ensure!(lines.len() == wanted.len(), "{} lines, not {}", lines.len(), wanted.len());
        for (line, wanted) in lines.iter().zip(wanted) {
            ensure!(wanted.as_str() == Some(line), "printed `{line}`, not {wanted}");
        }
        Ok(())
    }
}
