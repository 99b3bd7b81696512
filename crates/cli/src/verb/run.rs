//! `hsaco run`: a kernel on the CPU.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use hsaco::emu::{Device, Dispatch, ErrorKind, Fidelity, Limits, Outcome, Revision};
use hsaco::isa::TargetId;
use hsaco::kernarg::{ArgumentSpec, Declaration, Launch, NativeLayout, Value};
use hsaco::load::{Executable, Freeze};
use hsaco::object::CodeObject;
use serde::Serialize;

use super::kernarg::LaunchArgs;
use crate::args::{Answer, Format, Inputs, ObjectFilter};
use crate::executable::{self, Together};
use crate::json;
use crate::output::{self, Output};
use crate::report::{self, Status};
use crate::schema::SCHEMA_VERSION;

/// Runs a kernel on the CPU, as a device would
///
/// Arguments are given in their order: i32:-5, u64:7, f32:1.5, f16:2, bytes:0a0b, or a buffer, whose address the kernel
/// gets: buf:4096 (bytes), buf:f32[1024] with =zero, =iota, =random:SEED or =@FILE. --dump 0 gives the bytes of the buffer
/// of argument 0 afterwards. Hidden arguments are filled in.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    inputs: Inputs,
    #[command(flatten)]
    objects: ObjectFilter,
    #[command(flatten)]
    together: Together,
    /// The kernel
    #[arg(short, long, value_name = "NAME")]
    kernel: String,
    #[command(flatten)]
    launch: LaunchArgs,
    /// The value of the next argument
    #[arg(long = "arg", value_name = "SPEC", allow_hyphen_values = true)]
    values: Vec<ArgumentSpec>,
    /// Print the bytes of an argument's buffer afterwards, or write them to a file
    #[arg(long, value_name = "N[=FILE]", value_parser = parse_dump)]
    dump: Vec<Dump>,
    /// The silicon of the device
    #[arg(long, value_enum, default_value_t = Silicon::B0)]
    revision: Silicon,
    /// Run waves in an order that this number chooses
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Stop after so many wave instructions
    #[arg(long, value_name = "N")]
    max_instructions: Option<u64>,
    /// Bytes of device memory
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 32)]
    memory: u64,
    #[command(flatten)]
    answer: Answer,
}

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
    dumps: BTreeMap<usize, String>,
}

/// How often instructions of each fidelity ran, by mnemonic.
#[derive(Default, Serialize)]
struct FidelityRow {
    exact: BTreeMap<&'static str, u64>,
    silicon: BTreeMap<&'static str, u64>,
    approximate: BTreeMap<&'static str, u64>,
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
        row
    }
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
    let mut device = Device::new(target(args, &executable)?, args.memory);
    device.revision = match args.revision {
        // The machine knows no erratum yet: what it computed would be B0's.
        Silicon::A0 => anyhow::bail!("--revision a0: the emulator does not model stepping A0 yet"),
        Silicon::B0 => Revision::B0,
    };
    device.load(&executable)?;
    let layout = layout(&executable, &args.kernel)?;
    let launch = args.launch.launch()?.map_or_else(|| Launch::new(&[1], &[1]), Ok)?;
    let launch = hsaco::emu::with_apertures(launch)?;
    let mut buffers = BTreeMap::new();
    let kernarg = arguments(args, &layout, &launch, &mut device, &mut buffers)?;
    let limits = Limits {
        instructions: args.max_instructions.unwrap_or(u64::MAX),
        seed: args.seed,
        ..Limits::default()
    };
    let dispatch = Dispatch::new(&mut device, &executable, &args.kernel, launch, &kernarg)?;
    let started = Instant::now();
    let ran = dispatch.with_limits(limits).run();
    let seconds = started.elapsed().as_secs_f64();
    match ran {
        Ok(outcome) => {
            answer(args, &device, &buffers, &outcome, seconds)?;
            Ok(status)
        }
        Err(error) => Ok(stopped(&executable, &error)),
    }
}

/// Tells why a program stopped, with its source line where that is known.
fn stopped(executable: &Executable<'_>, error: &hsaco::emu::Error) -> Status {
    let mut message = error.to_string();
    let frames = error.location().and_then(|at| executable.source(at.address).ok());
    for frame in frames.into_iter().flatten() {
        let file = frame.file.as_deref().unwrap_or("?");
        let function = frame.function.as_deref().unwrap_or("?");
        message += &format!("\nin {function} at {file}:{}", frame.line.unwrap_or(0));
    }
    report::error(&message);
    match error.kind() {
        ErrorKind::Unsupported => Status::Unsupported,
        ErrorKind::Setup => Status::Unreadable,
        _ => Status::Findings,
    }
}

/// What the kernel runs on: the device that was asked for, else what the objects are for.
fn target(args: &Args, executable: &Executable<'_>) -> Result<TargetId> {
    match &args.objects.device {
        Some(text) => text.parse().with_context(|| format!("--device {text}")),
        None => executable.target().context("no target is known"),
    }
}

/// Where the arguments of a kernel go.
fn layout(executable: &Executable<'_>, kernel: &str) -> Result<NativeLayout> {
    let symbol = executable.symbol(kernel).with_context(|| format!("no kernel {kernel}"))?;
    let object = symbol.object().with_context(|| format!("{kernel} is in no object"))?;
    let object = CodeObject::parse(executable.object_bytes(object))?;
    let index = object.index();
    let name = symbol.name();
    let kernel = index.kernels().iter().find(|it| it.name() == name);
    let kernel = kernel.with_context(|| format!("{name} is no kernel"))?;
    Ok(NativeLayout::new(&Declaration::of(kernel)?)?)
}

/// A buffer of the command line: address and size.
type Buffers = BTreeMap<usize, (u64, usize)>;

/// The bytes of the arguments; buffers are allocated and filled.
fn arguments(
    args: &Args,
    layout: &NativeLayout,
    launch: &Launch,
    device: &mut Device,
    buffers: &mut Buffers,
) -> Result<Vec<u8>> {
    let wanted = layout.parameters().len();
    if args.values.len() != wanted {
        bail!("{} has {wanted} arguments, and {} are given", args.kernel, args.values.len());
    }
    let mut all = Vec::new();
    for (number, spec) in args.values.iter().enumerate() {
        let bytes = match spec {
            ArgumentSpec::Bytes(bytes) => bytes.clone(),
            ArgumentSpec::Buffer(buffer) => {
                let read = |file: &str| std::fs::read(file).with_context(|| file.to_owned());
                let bytes = buffer.content(buffer.file().map(read).transpose()?)?;
                let address = device.memory.allocate(bytes.len() as u64)?;
                device.memory.write(address, &bytes)?;
                buffers.insert(number, (address, bytes.len()));
                address.to_le_bytes().to_vec()
            }
        };
        all.push(bytes);
    }
    let values: Vec<_> = all.iter().map(|it| Value::Bytes(it)).collect();
    let mut segment = vec![0; layout.size() as usize];
    layout.pack(&values, Some(launch), &mut segment)?;
    Ok(segment)
}

fn answer(
    args: &Args,
    device: &Device,
    buffers: &Buffers,
    outcome: &Outcome,
    seconds: f64,
) -> Result<()> {
    let is_text = args.answer.format == Format::Text;
    let mut out = Output::open(args.answer.output.as_deref())?.exact(is_text);
    let mut dumps = BTreeMap::new();
    let mut has_printed = false;
    for dump in &args.dump {
        let (address, size) = buffers
            .get(&dump.argument)
            .with_context(|| format!("argument {} is no buffer", dump.argument))?;
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
                kernel: args.kernel.clone(),
                target: device.target.to_string(),
                instructions: outcome.instructions,
                seconds,
                waves: outcome.waves,
                fidelity: FidelityRow::new(outcome),
                dumps,
            };
            serde_json::to_writer(&mut out, &answered)?;
            writeln!(out)?;
        }
        Format::Text if !has_printed => {
            let Outcome { instructions, waves, .. } = outcome;
            writeln!(out, "{}: {instructions} instructions in {waves} waves", args.kernel)?;
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
