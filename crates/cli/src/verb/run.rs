//! `hsaco run`: a kernel on the CPU.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use hsaco::emu::{Device, Dispatch, ErrorKind, Fidelity, Limits, Outcome, Revision};
use hsaco::isa::TargetId;
use hsaco::kernarg::{Declaration, Launch, NativeLayout, Value};
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
    #[arg(long = "arg", value_name = "SPEC", value_parser = parse_spec, allow_hyphen_values = true)]
    values: Vec<Spec>,
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

/// An argument as it is written.
#[derive(Clone, Debug, PartialEq)]
enum Spec {
    Bytes(Vec<u8>),
    Buffer { size: usize, element: Element, content: Content },
}

/// What a buffer begins with.
#[derive(Clone, Debug, PartialEq)]
enum Content {
    Zero,
    Iota,
    Random(u64),
    File(String),
}

/// The type of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    Integer { bytes: usize },
    F16,
    F32,
    F64,
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

impl Element {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "i8" | "u8" => Self::Integer { bytes: 1 },
            "i16" | "u16" => Self::Integer { bytes: 2 },
            "i32" | "u32" => Self::Integer { bytes: 4 },
            "i64" | "u64" => Self::Integer { bytes: 8 },
            "f16" => Self::F16,
            "f32" => Self::F32,
            "f64" => Self::F64,
            _ => return None,
        })
    }

    fn size(self) -> usize {
        match self {
            Self::Integer { bytes } => bytes,
            Self::F16 => 2,
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    /// The bytes of a whole number.
    fn whole(self, number: u64) -> Vec<u8> {
        #[allow(clippy::cast_precision_loss, reason = "counts up to what a float holds")]
        let float = number as f64;
        match self {
            Self::Integer { bytes } => number.to_le_bytes().into_iter().take(bytes).collect(),
            _ => self.float(float),
        }
    }

    fn float(self, number: f64) -> Vec<u8> {
        match self {
            Self::F16 => match Value::half(number) {
                Value::F16(bits) => bits.to_le_bytes().to_vec(),
                _ => Vec::new(),
            },
            #[allow(clippy::cast_possible_truncation, reason = "rounded to single precision")]
            Self::F32 => (number as f32).to_le_bytes().to_vec(),
            _ => number.to_le_bytes().to_vec(),
        }
    }
}

fn parse_spec(text: &str) -> Result<Spec, String> {
    let expected = "expected i32:-5, f32:1.5, bytes:0a0b, buf:4096 or buf:f32[1024]=iota";
    let (kind, rest) = text.split_once(':').ok_or(expected)?;
    match kind {
        "buf" => parse_buffer(rest),
        "bytes" => match hsaco::bytes::hex::decode(rest) {
            Some(bytes) => Ok(Spec::Bytes(bytes)),
            None => Err(format!("`{rest}` is no hexadecimal number")),
        },
        _ => {
            let element = Element::named(kind).ok_or_else(|| format!("no type `{kind}`"))?;
            parse_number(element, rest).map(Spec::Bytes)
        }
    }
}

fn parse_number(element: Element, text: &str) -> Result<Vec<u8>, String> {
    let wrong = || format!("`{text}` is no such number");
    let Element::Integer { bytes } = element else {
        return text.parse().map(|number| element.float(number)).map_err(|_| wrong());
    };
    let number: i128 = match text.strip_prefix("0x") {
        Some(digits) => i128::from_str_radix(digits, 16).map_err(|_| wrong())?,
        None => text.parse().map_err(|_| wrong())?,
    };
    let bits = bytes * 8;
    if number >= 1 << bits || number < -(1 << (bits - 1)) {
        return Err(format!("{number} does not fit {bits} bits"));
    }
    Ok(number.to_le_bytes().into_iter().take(bytes).collect())
}

fn parse_buffer(text: &str) -> Result<Spec, String> {
    let (shape, content) = match text.split_once('=') {
        Some((shape, content)) => (shape, parse_content(content)?),
        None => (text, Content::Zero),
    };
    let number = |text: &str| text.parse::<usize>().map_err(|_| format!("`{text}` is no size"));
    let (element, count) = match shape.split_once('[') {
        Some((name, rest)) => {
            let element = Element::named(name).ok_or_else(|| format!("no type `{name}`"))?;
            let count = rest.strip_suffix(']').ok_or("expected buf:TYPE[COUNT]")?;
            (element, number(count)?)
        }
        None => (Element::Integer { bytes: 1 }, number(shape)?),
    };
    let size = count.checked_mul(element.size()).ok_or("a buffer of that size")?;
    Ok(Spec::Buffer { size, element, content })
}

fn parse_content(text: &str) -> Result<Content, String> {
    if let Some(file) = text.strip_prefix('@') {
        return Ok(Content::File(file.to_owned()));
    }
    if let Some(seed) = text.strip_prefix("random:") {
        return seed.parse().map(Content::Random).map_err(|_| format!("`{seed}` is no seed"));
    }
    match text {
        "zero" => Ok(Content::Zero),
        "iota" => Ok(Content::Iota),
        _ => Err("expected zero, iota, random:SEED or @FILE".to_owned()),
    }
}

/// Numbers that look random and are the same for the same seed.
fn random(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}

/// What a buffer holds before the kernel runs.
fn content(size: usize, element: Element, content: &Content) -> Result<Vec<u8>> {
    let count = size / element.size();
    let mut bytes: Vec<u8> = match content {
        Content::Zero => Vec::new(),
        Content::Iota => (0..count as u64).flat_map(|it| element.whole(it)).collect(),
        Content::Random(seed) => {
            let mut next = random(*seed);
            let mut one = || match element {
                Element::Integer { .. } => element.whole(next()),
                // From -1 to 1, in steps that every format holds.
                #[allow(clippy::cast_precision_loss, reason = "ten bits")]
                _ => element.float((next() % 2048) as f64 / 1024.0 - 1.0),
            };
            (0..count).flat_map(|_| one()).collect()
        }
        Content::File(path) => std::fs::read(path).with_context(|| path.clone())?,
    };
    if bytes.len() > size {
        bail!("{} bytes do not fit a buffer of {size}", bytes.len());
    }
    bytes.resize(size, 0);
    Ok(bytes)
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
            Spec::Bytes(bytes) => bytes.clone(),
            Spec::Buffer { size, element, content: from } => {
                let bytes = content(*size, *element, from)?;
                let address = device.memory.allocate(*size as u64)?;
                device.memory.write(address, &bytes)?;
                buffers.insert(number, (address, *size));
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
    fn arguments_are_read() {
        assert_eq!(parse_spec("i32:-5"), Ok(Spec::Bytes(vec![0xfb, 0xff, 0xff, 0xff])));
        assert_eq!(parse_spec("f16:1"), Ok(Spec::Bytes(vec![0, 0x3c])));
        assert!(parse_spec("u8:256").is_err());
        let buffer = parse_spec("buf:f32[3]=iota").unwrap();
        let Spec::Buffer { size, element, content: from } = buffer else { panic!() };
        assert_eq!(size, 12);
        let bytes = content(size, element, &from).unwrap();
        assert_eq!(bytes, [[0; 4], 1_f32.to_le_bytes(), 2_f32.to_le_bytes()].concat());
    }

    #[test]
    fn dumps_name_an_argument_and_perhaps_a_file() {
        assert_eq!(parse_dump("2"), Ok(Dump { argument: 2, file: None }));
        let file = Some("out.bin".to_owned());
        assert_eq!(parse_dump("0=out.bin"), Ok(Dump { argument: 0, file }));
        assert!(parse_dump("x").is_err());
    }
}
