//! `hsaco run`: a kernel on the CPU.

mod replay;
mod sanitize;
mod watch;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use hsaco::emu::{
    self, Device, Dispatch, Effect, ErrorKind, Limits, LoadedKernel, MetErratum, Outcome, Revision,
    Sanitizer,
};
use hsaco::isa::TargetId;
use hsaco::kernarg::{GivenArgument, Launch};
use hsaco::load::{Executable, Freeze};
use hsaco_describe::run::{
    Answered, PlacedArguments, Profile, Stopped, kernel_name, place_arguments, stop_message,
};

use self::sanitize::SanitizeArgs;
use self::watch::{Printed, Trace, TraceArgs};
use super::kernarg::LaunchArgs;
use crate::args::{Answer, Format, Inputs, KernelFilter, ObjectFilter};
use crate::executable::{self, Together};
use crate::json;
use crate::output::{self, Output};
use crate::report::{self, Status};
use crate::select::KernelSelection;

/// Runs a kernel on the CPU, as a device would
///
/// Arguments are given in their order, or by name where the file has names (x=f32:1.5): i32:-5, u64:7, f32:1.5, f16:2, bf16:2,
/// bytes:0a0b, or a buffer, whose address the kernel gets: buf:4096 (bytes), buf:f32[1024] with =zero, =iota, =random:SEED or
/// =@FILE. --dump 0 gives the bytes of the buffer of argument 0 afterwards. Hidden arguments are filled in, and what the kernel
/// prints is printed.
#[derive(clap::Args)]
#[command(mut_arg("files", |it| it.required(false).required_unless_present("replay")))]
pub(crate) struct Args {
    #[command(flatten)]
    inputs: Inputs,
    #[command(flatten)]
    objects: ObjectFilter,
    #[command(flatten)]
    together: Together,
    /// The kernel: its name, mangled or readable, or a regular expression that fits one
    #[arg(
        short,
        long,
        value_name = "NAME",
        required_unless_present = "replay",
        default_value = "",
        hide_default_value = true
    )]
    kernel: String,
    /// Run a dispatch again that HSACO_DUMP has kept in this folder, and compare what it leaves in memory
    #[arg(long, value_name = "DIR", conflicts_with_all = ["files", "kernel"])]
    replay: Option<PathBuf>,
    #[command(flatten)]
    launch: LaunchArgs,
    /// The value of the next argument, or of the one that is named
    #[arg(long = "arg", value_name = "[NAME=]SPEC", allow_hyphen_values = true)]
    values: Vec<GivenArgument>,
    /// Print the bytes of an argument's buffer afterwards, or write them to a file
    #[arg(long, value_name = "N[=FILE]", value_parser = parse_dump)]
    dump: Vec<Dump>,
    /// The stepping of a gfx1250: on a0 errata go wrong as they do there, and are told
    #[arg(long, value_enum, default_value_t = Silicon::B0)]
    revision: Silicon,
    /// Run workgroups in clusters of so many in each dimension (gfx1250)
    #[arg(long, value_name = "X,Y,Z", value_delimiter = ',')]
    cluster: Vec<u32>,
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
    sanitize: SanitizeArgs,
    #[command(flatten)]
    trace: TraceArgs,
    #[command(flatten)]
    answer: Answer,
}

/// Wave instructions after which a program counts as endless: some ten minutes on one core.
const MOST_INSTRUCTIONS: u64 = 1 << 36;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Silicon {
    A0,
    B0,
}

impl From<Silicon> for Revision {
    fn from(silicon: Silicon) -> Self {
        match silicon {
            Silicon::A0 => Self::A0,
            Silicon::B0 => Self::B0,
        }
    }
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

/// Where objects are loaded.
const BASE: u64 = 0x7d00_0000_0000;

pub(crate) fn run(args: &Args) -> Result<Status> {
    args.answer.color.apply();
    if let Some(folder) = &args.replay {
        return replay::run(args, folder);
    }
    let (mut executable, status) =
        executable::read(&args.inputs, &args.objects, &args.together, &[])?;
    if executable.objects().len() == 0 {
        return Ok(status.max(Status::Unreadable));
    }
    let fix_resources = !args.together.no_fix_resources;
    if let Err(errors) = executable.freeze(Freeze { base: BASE, fix_resources }) {
        return Ok(executable::tell(&errors));
    }
    let wanted = KernelSelection::new(&KernelFilter { kernel: vec![args.kernel.clone()] });
    let kernel = LoadedKernel::find(&executable, &kernel_name(&executable, &wanted)?)?;
    let mut device = device(args, &executable)?;
    let launch = args.launch.launch()?.map_or_else(|| Launch::new(&[1], &[1]), Ok)?;
    let launch = device.equip(launch, &kernel.layout)?;
    let read = |file: &str| std::fs::read(file).with_context(|| file.to_owned());
    let placed = place_arguments(&args.values, &kernel, &launch, &mut device, read)?;
    for Dump { argument, .. } in &args.dump {
        let buffer = placed.buffers.get(argument);
        buffer.with_context(|| format!("--dump: argument {argument} is no buffer"))?;
    }
    let sanitizer = args.sanitize.sanitizer().map(|it| named(it, &kernel, &placed));
    let (name, segment) = (&kernel.name, &placed.segment);
    let mut dispatch = Dispatch::at(&mut device, name, kernel.descriptor, launch, segment)?;
    if !args.cluster.is_empty() {
        let size = |axis| args.cluster.get(axis).copied().unwrap_or(1);
        dispatch = dispatch.with_cluster(std::array::from_fn(size))?;
    }
    let wave_size = dispatch.wave_size();
    let printed = watch::printed();
    let started = Instant::now();
    let ran = run_dispatch(args, dispatch, &printed, sanitizer.as_ref())?;
    let seconds = started.elapsed().as_secs_f64();
    let printed = printed.into_text();
    let mut status = status;
    if let Some(sanitizer) = &sanitizer
        && args.sanitize.tell(&executable, &device.target.to_string(), sanitizer)?
    {
        status.note(Status::Findings);
    }
    let outcome = match ran {
        Ok(outcome) => outcome,
        Err(error) => {
            let row = Stopped::new(&executable, name, &device, &printed, &error);
            return stopped(args, &row, &printed, &error);
        }
    };
    if let Some(path) = &args.profile {
        let profile = Profile::new(&executable, name, &device, wave_size, &outcome.profile);
        write_profile(path, &profile)?;
    }
    let mut answered = Answered::new(name, &device, &outcome, &printed);
    answered.seconds = seconds;
    answer(args, answered, &device, &placed, &printed)?;
    Ok(status.max(tell_errata(&outcome.errata)))
}

fn write_profile(path: &str, profile: &Profile<'_>) -> Result<()> {
    let mut bytes = Vec::new();
    json::document(&mut bytes, profile)?;
    output::write_file(Path::new(path), &bytes)
}

/// Tells the errata that the program has met: findings, but for those that change no result.
fn tell_errata(errata: &[MetErratum]) -> Status {
    let mut status = Status::Fine;
    for met in errata {
        let MetErratum { name, detail, address, instruction, executions, .. } = met;
        report::error(&format!(
            "erratum {name}: {detail} (at {address:#x} `{instruction}`, {executions} times)"
        ));
        if met.effect != Effect::Harmless {
            status = Status::Findings;
        }
    }
    status
}

impl Args {
    fn limits(&self) -> Limits {
        Limits { instructions: self.max_instructions, seed: self.seed, ..Limits::default() }
    }
}

/// Runs it on as many threads as were asked for.
fn run_dispatch(
    args: &Args,
    dispatch: Dispatch<'_>,
    printed: &Printed,
    sanitizer: Option<&Sanitizer>,
) -> Result<emu::Result<Outcome>> {
    let trace = args.trace.create()?;
    let filter = args.trace.filter();
    let ran = {
        let mut dispatch = dispatch.with_limits(args.limits()).with_host(printed);
        if let Some(trace) = &trace {
            dispatch = dispatch.with_tracer(trace, &filter);
        }
        if args.profile.is_some() {
            dispatch = dispatch.with_profile();
        }
        if args.follow_approximate {
            dispatch = dispatch.with_reached();
        }
        if let Some(sanitizer) = sanitizer {
            dispatch = dispatch.with_sanitizer(sanitizer);
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
    device.revision = args.revision.into();
    let processor = device.processor().name();
    if device.revision == Revision::A0 && processor != "gfx1250" {
        bail!("--revision a0: gfx1250 has steppings, {processor} has none");
    }
    if args.page_slack {
        device.memory = device.memory.with_page_slack();
    }
    device.load(executable)?;
    Ok(device)
}

/// Tells why a program stopped, with its source line where that is known.
fn stopped(args: &Args, row: &Stopped<'_>, printed: &[u8], error: &emu::Error) -> Result<Status> {
    let mut out = Output::open(args.answer.output.as_deref())?;
    match args.answer.format {
        Format::Text => out.write_all(printed)?,
        Format::Json => json::document(&mut out, row)?,
    }
    out.finish()?;
    report::error(&stop_message(error, &row.error.source, args.registers));
    Ok(match error.kind() {
        ErrorKind::Unsupported => Status::Unsupported,
        ErrorKind::Setup => Status::Unreadable,
        _ => Status::Findings,
    })
}

/// What the kernel runs on: the device that was asked for, else what the objects are for.
fn target(args: &Args, executable: &Executable<'_>) -> Result<TargetId> {
    let asked = args.objects.device()?;
    asked.or_else(|| executable.target()).context("no target is known")
}

/// A sanitizer that calls buffers by their arguments; those that are not filled were never written.
fn named(sanitizer: Sanitizer, kernel: &LoadedKernel, placed: &PlacedArguments) -> Sanitizer {
    placed.buffers.iter().fold(sanitizer, |sanitizer, (number, buffer)| {
        let memory = buffer.address..buffer.address + buffer.size as u64;
        let parameter = kernel.layout.parameters().get(*number);
        let name = match parameter.and_then(|it| it.name.as_deref()) {
            Some(name) => format!("the buffer of argument {number} ({name})"),
            None => format!("the buffer of argument {number}"),
        };
        let sanitizer = sanitizer.with_name(memory.clone(), &name);
        if buffer.is_filled { sanitizer } else { sanitizer.with_undefined(memory) }
    })
}

fn answer(
    args: &Args,
    mut answered: Answered,
    device: &Device,
    placed: &PlacedArguments,
    printed: &[u8],
) -> Result<()> {
    let is_text = args.answer.format == Format::Text;
    let mut out = Output::open(args.answer.output.as_deref())?.exact(is_text);
    if is_text {
        out.write_all(printed)?;
    }
    let mut has_printed = !printed.is_empty();
    for dump in &args.dump {
        let Some(buffer) = placed.buffers.get(&dump.argument) else { continue };
        let bytes = device.memory.read(buffer.address, buffer.size)?;
        match &dump.file {
            Some(file) => output::write_file(Path::new(file), &bytes)?,
            None if is_text => {
                out.write_all(&bytes)?;
                has_printed = true;
            }
            None => {
                answered.dumps.insert(dump.argument, json::hex(&bytes));
            }
        }
    }
    let Answered { kernel, instructions, waves, .. } = &answered;
    match args.answer.format {
        Format::Json => json::document(&mut out, &answered)?,
        Format::Text if !has_printed => {
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
