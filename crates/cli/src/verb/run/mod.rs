//! `hsaco run`: a kernel on the CPU.

mod watch;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::sync::PoisonError;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use hsaco::emu::{self, Device, Dispatch, ErrorKind, Fidelity, Kernel, Limits, Outcome, Revision};
use hsaco::isa::TargetId;
use hsaco::kernarg::{ArgumentSpec, GivenArgument, Launch, Value};
use hsaco::load::{Executable, Freeze, SourceFrame};
use hsaco::object::CodeObject;
use serde::Serialize;

use self::watch::{Printed, Trace, TraceArgs};
use super::kernarg::LaunchArgs;
use crate::args::{Answer, Format, Inputs, KernelFilter, ObjectFilter};
use crate::executable::{self, Together};
use crate::json;
use crate::output::{self, Output};
use crate::report::{self, Status};
use crate::schema::SCHEMA_VERSION;
use crate::select::KernelSelection;

/// Runs a kernel on the CPU, as a device would
///
/// Arguments are given in their order, or by name where the file has names (x=f32:1.5): i32:-5, u64:7, f32:1.5, f16:2, bf16:2,
/// bytes:0a0b, or a buffer, whose address the kernel gets: buf:4096 (bytes), buf:f32[1024] with =zero, =iota, =random:SEED or
/// =@FILE. --dump 0 gives the bytes of the buffer of argument 0 afterwards. Hidden arguments are filled in, and what the kernel
/// prints is printed.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    inputs: Inputs,
    #[command(flatten)]
    objects: ObjectFilter,
    #[command(flatten)]
    together: Together,
    /// The kernel: its name, mangled or readable, or a regular expression that fits one
    #[arg(short, long, value_name = "NAME")]
    kernel: String,
    #[command(flatten)]
    launch: LaunchArgs,
    /// The value of the next argument, or of the one that is named
    #[arg(long = "arg", value_name = "[NAME=]SPEC", allow_hyphen_values = true)]
    values: Vec<GivenArgument>,
    /// Print the bytes of an argument's buffer afterwards, or write them to a file
    #[arg(long, value_name = "N[=FILE]", value_parser = parse_dump)]
    dump: Vec<Dump>,
    /// The silicon of the device
    #[arg(long, value_enum, default_value_t = Silicon::B0)]
    revision: Silicon,
    /// Threads that run workgroups
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: u16,
    /// Run waves in an order that this number chooses
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Stop after so many wave instructions
    #[arg(long, value_name = "N", default_value_t = MOST_INSTRUCTIONS)]
    max_instructions: u64,
    /// Bytes of device memory, with what waves need
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 32)]
    memory: u64,
    /// Let kernels read past the end of buffers within the last page of 4 KiB, as HIP's allocations do
    #[arg(long)]
    page_slack: bool,
    /// Show the registers of a wave that stopped
    #[arg(long)]
    registers: bool,
    /// Find out whether an approximate value decides an address or a branch; slow
    #[arg(long)]
    follow_approximate: bool,
    /// Write how often each instruction ran as JSON; slow
    #[arg(long, value_name = "FILE")]
    profile: Option<String>,
    #[command(flatten)]
    trace: TraceArgs,
    #[command(flatten)]
    answer: Answer,
}

/// Wave instructions after which a program counts as endless: some ten minutes on one core.
const MOST_INSTRUCTIONS: u64 = 1 << 36;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Silicon {
    A0,
    B0,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Dump {
    argument: usize,
    file: Option<String>,
}

fn parse_dump(text: &str) -> Result<Dump, String> {
    let (number, file) = match text.split_once('=') {
        Some((number, file)) => (number, Some(file.to_owned())),
        None => (text, None),
    };
    let argument = number.parse().map_err(|_| "expected N or N=FILE".to_owned())?;
    Ok(Dump { argument, file })
}

/// What was run, for programs.
#[derive(Serialize)]
struct Answered {
    schema_version: u32,
    kernel: String,
    target: String,
    instructions: u64,
    seconds: f64,
    waves: u64,
    fidelity: FidelityRow,
    printed: String,
    dumps: BTreeMap<usize, String>,
}

/// How often instructions of each fidelity ran, by mnemonic.
#[derive(Default, Serialize)]
struct FidelityRow {
    exact: BTreeMap<&'static str, u64>,
    silicon: BTreeMap<&'static str, u64>,
    approximate: BTreeMap<&'static str, u64>,
    approximate_reached: ReachedRow,
}

/// What approximate values decided; null where that was not asked for.
#[derive(Default, Serialize)]
struct ReachedRow {
    address: Option<bool>,
    branch: Option<bool>,
}

impl FidelityRow {
    fn new(outcome: &Outcome) -> Self {
        let mut row = Self::default();
        for (mnemonic, (fidelity, count)) in &outcome.mnemonics {
            let counts = match fidelity {
                Fidelity::Silicon => &mut row.silicon,
                Fidelity::Approximate => &mut row.approximate,
                _ => &mut row.exact,
            };
            counts.insert(mnemonic, *count);
        }
        // Where none ran, none reached anything.
        let reached = outcome.reached.or(row.approximate.is_empty().then(Default::default));
        row.approximate_reached = ReachedRow {
            address: reached.map(|it| it.address),
            branch: reached.map(|it| it.branch),
        };
        row
    }
}

/// What stopped a program, for programs.
#[derive(Serialize)]
struct Stopped<'e> {
    schema_version: u32,
    kernel: &'e str,
    target: String,
    printed: String,
    error: ErrorRow<'e>,
}

#[derive(Serialize)]
struct ErrorRow<'e> {
    kind: &'static str,
    detail: &'e str,
    address: Option<u64>,
    instruction: Option<&'e str>,
    workgroup: Option<[u32; 3]>,
    wave: Option<u32>,
    lanes: Option<u64>,
    source: Vec<SourceFrame>,
}

/// Where objects are loaded.
const BASE: u64 = 0x7d00_0000_0000;

pub(crate) fn run(args: &Args) -> Result<Status> {
    args.answer.color.apply();
    let (mut executable, status) =
        executable::read(&args.inputs, &args.objects, &args.together, &[])?;
    if executable.objects().len() == 0 {
        return Ok(status.max(Status::Unreadable));
    }
    let fix_resources = !args.together.no_fix_resources;
    if let Err(errors) = executable.freeze(Freeze { base: BASE, fix_resources }) {
        return Ok(executable::tell(&errors));
    }
    let kernel = Kernel::find(&executable, &name(args, &executable)?)?;
    let mut device = device(args, &executable)?;
    let launch = args.launch.launch()?.map_or_else(|| Launch::new(&[1], &[1]), Ok)?;
    let launch = device.equip(launch, &kernel.layout)?;
    let mut buffers = BTreeMap::new();
    let kernarg = arguments(args, &kernel, &launch, &mut device, &mut buffers)?;
    for dump in &args.dump {
        buffers
            .get(&dump.argument)
            .with_context(|| format!("--dump: argument {} is no buffer", dump.argument))?;
    }
    let descriptor = kernel.descriptor;
    let dispatch = Dispatch::at(&mut device, &kernel.name, descriptor, launch, &kernarg)?;
    let wave_size = dispatch.wave_size();
    let printed = Printed::default();
    let started = Instant::now();
    let ran = run_dispatch(args, dispatch, &printed)?;
    let seconds = started.elapsed().as_secs_f64();
    let printed = printed.text.into_inner().unwrap_or_else(PoisonError::into_inner);
    let outcome = match ran {
        Ok(outcome) => outcome,
        Err(error) => return stopped(args, &executable, &device, &kernel.name, &printed, &error),
    };
    if let Some(path) = &args.profile {
        let target = device.target.to_string();
        let profile =
            watch::profile(&executable, &kernel.name, &target, wave_size, &outcome.profile)?;
        output::write_file(Path::new(path), &profile)?;
    }
    answer(args, &kernel.name, &device, &buffers, &outcome, &printed, seconds)?;
    Ok(status)
}

/// Runs it on as many threads as were asked for.
fn run_dispatch(
    args: &Args,
    dispatch: Dispatch<'_>,
    printed: &Printed,
) -> Result<emu::Result<Outcome>> {
    let trace = args.trace.trace.as_deref().map(Trace::create).transpose()?;
    let filter = args.trace.filter();
    let limits =
        Limits { instructions: args.max_instructions, seed: args.seed, ..Limits::default() };
    let ran = {
        let mut dispatch = dispatch.with_limits(limits).with_host(printed);
        if let Some(trace) = &trace {
            dispatch = dispatch.with_tracer(trace, &filter);
        }
        if args.profile.is_some() {
            dispatch = dispatch.with_profile();
        }
        if args.follow_approximate {
            dispatch = dispatch.with_reached();
        }
        let run = emu::Run::new(&dispatch, args.threads.into());
        std::thread::scope(|scope| {
            for _ in 1..args.threads {
                scope.spawn(|| run.work());
            }
            run.work();
        });
        run.finish()
    };
    trace.map(Trace::finish).transpose()?;
    Ok(ran)
}

/// The device, with everything loaded.
fn device(args: &Args, executable: &Executable<'_>) -> Result<Device> {
    let mut device = Device::new(target(args, executable)?, args.memory);
    device.revision = match args.revision {
        // The machine knows no erratum yet: what it computed would be B0's.
        Silicon::A0 => bail!("--revision a0: the emulator does not model stepping A0 yet"),
        Silicon::B0 => Revision::B0,
    };
    if args.page_slack {
        device.memory = device.memory.with_page_slack();
    }
    device.load(executable)?;
    Ok(device)
}

/// Tells why a program stopped, with its source line where that is known.
fn stopped(
    args: &Args,
    executable: &Executable<'_>,
    device: &Device,
    kernel: &str,
    printed: &[u8],
    error: &emu::Error,
) -> Result<Status> {
    let frames = error.location().and_then(|at| executable.source(at.address).ok());
    let frames = frames.unwrap_or_default();
    let mut message = error.to_string();
    for frame in &frames {
        let file = frame.file.as_deref().unwrap_or("?");
        let function = frame.function.as_deref().unwrap_or("?");
        message += &format!("\nin {function} at {file}:{}", frame.line.unwrap_or(0));
    }
    if let Some(registers) = error.registers().filter(|_| args.registers) {
        message += &format!("\n{registers}");
    }
    let mut out = Output::open(args.answer.output.as_deref())?;
    match args.answer.format {
        Format::Text => out.write_all(printed)?,
        Format::Json => {
            let at = error.location();
            let row = ErrorRow {
                kind: error.kind().name(),
                detail: error.detail(),
                address: at.map(|it| it.address),
                instruction: at.map(|it| it.instruction.as_str()),
                workgroup: at.map(|it| it.workgroup),
                wave: at.map(|it| it.wave),
                lanes: at.map(|it| it.lanes),
                source: frames,
            };
            let stopped = Stopped {
                schema_version: SCHEMA_VERSION,
                kernel,
                target: device.target.to_string(),
                printed: String::from_utf8_lossy(printed).into_owned(),
                error: row,
            };
            serde_json::to_writer(&mut out, &stopped)?;
            writeln!(out)?;
        }
    }
    out.finish()?;
    report::error(message.trim_end());
    Ok(match error.kind() {
        ErrorKind::Unsupported => Status::Unsupported,
        ErrorKind::Setup => Status::Unreadable,
        _ => Status::Findings,
    })
}

/// What the kernel runs on: the device that was asked for, else what the objects are for.
fn target(args: &Args, executable: &Executable<'_>) -> Result<TargetId> {
    match &args.objects.device {
        Some(text) => text.parse().with_context(|| format!("--device {text}")),
        None => executable.target().context("no target is known"),
    }
}

/// The name of the only kernel that is meant; one that is spelled out comes before those that a pattern fits.
fn name(args: &Args, executable: &Executable<'_>) -> Result<String> {
    let wanted = KernelSelection::new(&KernelFilter { kernel: vec![args.kernel.clone()] });
    let mut found = Vec::new();
    for object in executable.objects() {
        let object = CodeObject::parse(executable.object_bytes(object))?;
        let index = object.index();
        for kernel in wanted.of(&index) {
            found.push((wanted.names_exactly(kernel.name()), kernel.name().to_string()));
        }
    }
    if found.iter().any(|(is_exact, _)| *is_exact) {
        found.retain(|(is_exact, _)| *is_exact);
    }
    match &found[..] {
        [(_, name)] => Ok(name.clone()),
        [] => bail!("no kernel fits '{}'; hsaco ls lists them", args.kernel),
        all => {
            let names: Vec<_> = all.iter().take(5).map(|it| it.1.as_str()).collect();
            bail!("{} kernels fit '{}': {}", all.len(), args.kernel, names.join(", "))
        }
    }
}

/// Buffers of the command line, by the number of the argument: address and size.
type Buffers = BTreeMap<usize, (u64, usize)>;

/// What is given for each argument, in the order of the kernel.
fn in_order<'g>(args: &'g Args, kernel: &Kernel) -> Result<Vec<&'g ArgumentSpec>> {
    let parameters = kernel.layout.parameters();
    let mut specs: Vec<Option<&ArgumentSpec>> = vec![None; parameters.len()];
    let mut next = 0;
    for given in &args.values {
        let at = match &given.name {
            Some(name) => kernel.layout.position(name)?,
            None => next,
        };
        next = at + 1;
        let wrong = || {
            let (wanted, given) = (parameters.len(), args.values.len());
            format!("{} has {wanted} arguments, and {given} are given", kernel.name)
        };
        let place = specs.get_mut(at).with_context(wrong)?;
        if place.replace(&given.spec).is_some() {
            bail!("argument {at} of {} is given twice", kernel.name);
        }
    }
    let missing = specs.iter().position(Option::is_none);
    if let Some(at) = missing {
        let name = parameters.get(at).and_then(|it| it.name.as_deref());
        let name = name.map(|it| format!(" ({it})")).unwrap_or_default();
        let (wanted, given) = (parameters.len(), args.values.len());
        bail!(
            "{} has {wanted} arguments, and {given} are given: argument {at}{name} has no value",
            kernel.name
        );
    }
    Ok(specs.into_iter().flatten().collect())
}

/// The bytes of the arguments; buffers are allocated and filled.
fn arguments(
    args: &Args,
    kernel: &Kernel,
    launch: &Launch,
    device: &mut Device,
    buffers: &mut Buffers,
) -> Result<Vec<u8>> {
    let specs = in_order(args, kernel)?;
    let mut values = Vec::new();
    for (number, (spec, slot)) in specs.iter().zip(kernel.layout.parameters()).enumerate() {
        values.push(match spec {
            ArgumentSpec::Bytes(bytes) => Value::Bytes(bytes),
            ArgumentSpec::Number(given) => {
                if let Some(why) = given.mismatch(&slot.ty) {
                    bail!("argument {number} of {}: {why}", kernel.name);
                }
                Value::Bytes(given.bytes())
            }
            ArgumentSpec::Buffer(buffer) => {
                let read = |file: &str| std::fs::read(file).with_context(|| file.to_owned());
                let bytes = buffer.content(buffer.file().map(read).transpose()?)?;
                let address = device.memory.allocate(bytes.len() as u64)?;
                device.memory.write(address, &bytes)?;
                buffers.insert(number, (address, bytes.len()));
                Value::Pointer(address)
            }
        });
    }
    Ok(kernel.pack(&values, launch)?)
}

fn answer(
    args: &Args,
    kernel: &str,
    device: &Device,
    buffers: &Buffers,
    outcome: &Outcome,
    printed: &[u8],
    seconds: f64,
) -> Result<()> {
    let is_text = args.answer.format == Format::Text;
    let mut out = Output::open(args.answer.output.as_deref())?.exact(is_text);
    if is_text {
        out.write_all(printed)?;
    }
    let mut dumps = BTreeMap::new();
    let mut has_printed = !printed.is_empty();
    for dump in &args.dump {
        let Some((address, size)) = buffers.get(&dump.argument) else { continue };
        let bytes = device.memory.read(*address, *size)?;
        match &dump.file {
            Some(file) => output::write_file(Path::new(file), &bytes)?,
            None if args.answer.format == Format::Json => {
                dumps.insert(dump.argument, json::hex(&bytes));
            }
            None => {
                out.write_all(&bytes)?;
                has_printed = true;
            }
        }
    }
    match args.answer.format {
        Format::Json => {
            let answered = Answered {
                schema_version: SCHEMA_VERSION,
                kernel: kernel.to_owned(),
                target: device.target.to_string(),
                instructions: outcome.instructions,
                seconds,
                waves: outcome.waves,
                fidelity: FidelityRow::new(outcome),
                printed: String::from_utf8_lossy(printed).into_owned(),
                dumps,
            };
            serde_json::to_writer(&mut out, &answered)?;
            writeln!(out)?;
        }
        Format::Text if !has_printed => {
            let Outcome { instructions, waves, .. } = outcome;
            writeln!(out, "{kernel}: {instructions} instructions in {waves} waves")?;
        }
        Format::Text => {}
    }
    out.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dumps_name_an_argument_and_perhaps_a_file() {
        assert_eq!(parse_dump("2"), Ok(Dump { argument: 2, file: None }));
        let file = Some("out.bin".to_owned());
        assert_eq!(parse_dump("0=out.bin"), Ok(Dump { argument: 0, file }));
        assert!(parse_dump("x").is_err());
    }
}
