//! `hsaco packet`: AQL packets, built with every check and decoded.

use std::ffi::OsString;
use std::io::Write;

use anyhow::{Context, Result, bail};
use clap::{Subcommand, ValueEnum};
use hsaco::bytes::Error;
use hsaco::kernarg::{
    DispatchPacket, Fences, KernelNeeds, Packet, PacketNeeds, PacketRow, Scope, spaced_hex,
};
use hsaco::object::Kernel;
use serde::Serialize;

use super::kernarg::{LaunchArgs, number};
use crate::args::{Answer, Format, Inputs, KernelFilter, ObjectFilter};
use crate::json;
use crate::output::Output;
use crate::report::{self, Status};
use crate::scan;
use crate::schema::SCHEMA_VERSION;
use crate::select::KernelSelection;

/// Builds and decodes AQL packets, the 64 bytes that launch a kernel
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    Build(Box<BuildArgs>),
    Decode(DecodeArgs),
}

/// Builds the packet of a launch
///
/// With FILE and -k the kernel's LDS, scratch and largest workgroup are the file's, and the limits those of its target.
#[derive(clap::Args)]
struct BuildArgs {
    /// A file with the kernel
    #[arg(value_name = "FILE")]
    files: Vec<OsString>,
    #[command(flatten)]
    objects: ObjectFilter,
    #[command(flatten)]
    kernels: KernelFilter,
    #[command(flatten)]
    launch: LaunchArgs,
    /// Address of the kernel's descriptor
    #[arg(long, value_name = "ADDRESS", value_parser = number)]
    kernel_object: u64,
    /// Address of the arguments
    #[arg(long, value_name = "ADDRESS", value_parser = number, default_value = "0")]
    kernarg: u64,
    /// Handle of the signal that the end is told to
    #[arg(long, value_name = "HANDLE", value_parser = number, default_value = "0")]
    signal: u64,
    /// Bytes of LDS that the kernel declares [default: the file's, else 0]
    #[arg(long, value_name = "BYTES")]
    static_lds: Option<u32>,
    /// Bytes of scratch of a work-item [default: the file's, else 0]
    #[arg(long, value_name = "BYTES")]
    private: Option<u32>,
    /// How far memory is made visible before the kernel begins: none, agent, system
    #[arg(long, value_name = "SCOPE", value_parser = scope, default_value = "system")]
    acquire: Scope,
    /// How far memory is made visible when the kernel has ended: none, agent, system
    #[arg(long, value_name = "SCOPE", value_parser = scope, default_value = "system")]
    release: Scope,
    /// Do not wait for the packets before it
    #[arg(long)]
    no_barrier: bool,
    /// What to make of the packet; a file that is named with -o gets its bytes unless told otherwise
    #[arg(long, value_enum)]
    format: Option<BuildFormat>,
    /// Write the answer to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<OsString>,
}

/// Shows what packets say, and which rules they break
///
/// A packet that breaks a rule ends in exit code 1.
#[derive(clap::Args)]
struct DecodeArgs {
    /// A file of packets of 64 bytes, - for standard input, or the bytes as hex:0215…
    #[arg(value_name = "PACKETS")]
    packets: OsString,
    #[command(flatten)]
    answer: Answer,
}

/// A form of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum BuildFormat {
    /// What is in it
    Text,
    /// Its bytes in hexadecimal
    Hex,
    /// Its bytes
    Bin,
    Json,
}

fn scope(text: &str) -> Result<Scope, String> {
    Scope::from_name(text).ok_or_else(|| "expected none, agent or system".to_owned())
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    match &args.action {
        Action::Build(args) => build(args),
        Action::Decode(args) => decode(args),
    }
}

fn build(args: &BuildArgs) -> Result<Status> {
    let Some(launch) = args.launch.launch()? else {
        bail!("a packet needs --workgroup and one of --grid and --work-items")
    };
    let Some(kernel) = args.kernel()? else { return Ok(Status::Unreadable) };
    if let Some(required) = kernel.required_workgroup
        && required != launch.workgroup().map(u64::from)
    {
        bail!(
            "the kernel is compiled for workgroups of {required:?}, not of {:?}",
            launch.workgroup()
        );
    }
    let needs = PacketNeeds {
        static_lds: args.static_lds.unwrap_or(kernel.static_lds),
        lds_limit: kernel.lds_limit,
        max_workgroup: kernel.max_workgroup,
        private_segment: args.private.unwrap_or(kernel.private_segment),
        kernel_object: args.kernel_object,
        kernarg_address: args.kernarg,
        completion_signal: args.signal,
        fences: Fences { barrier: !args.no_barrier, acquire: args.acquire, release: args.release },
    };
    let packet = DispatchPacket::new(&launch, &needs)?;
    let bytes = packet.to_bytes();
    let by_default = if args.output.is_some() { BuildFormat::Bin } else { BuildFormat::Text };
    let mut out = Output::open(args.output.as_deref())?;
    match args.format.unwrap_or(by_default) {
        BuildFormat::Text => write_packet(&mut out, &Packet::Dispatch(packet))?,
        BuildFormat::Hex => writeln!(out, "{}", json::hex(&bytes))?,
        BuildFormat::Bin => out.write_all(&bytes)?,
        BuildFormat::Json => write_json(&mut out, &[bytes])?,
    }
    out.finish()?;
    Ok(Status::Fine)
}

impl BuildArgs {
    /// What the file says, or the limits of no device in particular; none where no one kernel was found.
    fn kernel(&self) -> Result<Option<KernelNeeds>> {
        if self.files.is_empty() {
            return Ok(Some(KernelNeeds::default()));
        }
        let kernels = KernelSelection::new(&self.kernels);
        let inputs = Inputs { files: self.files.clone(), max_size: 4 << 30 };
        let (found, status) = scan::gather(&inputs, &self.objects, |_, item, trouble| {
            let Some(object) = &item.object else { return Vec::new() };
            let index = object.index();
            let needs = |kernel: &&Kernel<'_>| {
                let (needs, read) = KernelNeeds::of(object, kernel);
                read.unwrap_or_else(|error| item.note(error, trouble));
                needs
            };
            kernels.of(&index).iter().map(needs).collect()
        })?;
        kernels.conclude(status);
        match found.as_slice() {
            [] => Ok(None),
            [needs] => Ok(Some(*needs)),
            several => bail!("{} kernels fit; choose with -k, -t or --object", several.len()),
        }
    }
}

#[derive(Serialize)]
struct Document {
    schema_version: u32,
    packets: Vec<PacketRow>,
}

fn write_json(out: &mut Output, packets: &[[u8; Packet::SIZE]]) -> Result<()> {
    let packets = packets.iter().map(PacketRow::new).collect();
    json::document(out, &Document { schema_version: SCHEMA_VERSION, packets })
}

fn decode(args: &DecodeArgs) -> Result<Status> {
    args.answer.color.apply();
    let content = args.bytes()?;
    let (packets, rest) = content.as_chunks::<{ Packet::SIZE }>();
    if !rest.is_empty() || packets.is_empty() {
        bail!("{} bytes are no packets of {}", content.len(), Packet::SIZE);
    }
    let mut status = Status::Fine;
    let mut out = Output::answer(&args.answer)?;
    let mut problems: Vec<(usize, Error)> = Vec::new();
    for (number, bytes) in packets.iter().enumerate() {
        let (packet, wrong) = Packet::decode(bytes);
        if args.answer.format == Format::Text {
            if packets.len() > 1 {
                writeln!(out, "packet {number}")?;
            }
            write_packet(&mut out, &packet)?;
        }
        problems.extend(wrong.into_iter().map(|it| (number, it)));
    }
    if args.answer.format == Format::Json {
        write_json(&mut out, packets)?;
    }
    out.finish()?;
    for (number, problem) in problems {
        report::error(&format!("packet {number}: {problem}"));
        status.note(Status::Findings);
    }
    Ok(status)
}

impl DecodeArgs {
    fn bytes(&self) -> Result<Vec<u8>> {
        match self.packets.to_str().and_then(|it| it.strip_prefix("hex:")) {
            Some(digits) => spaced_hex(digits).context("hex: wants pairs of hexadecimal digits"),
            None => super::kernarg::read_bytes(&self.packets),
        }
    }
}

fn write_packet(out: &mut Output, packet: &Packet) -> Result<()> {
    for (name, value) in packet.rows() {
        writeln!(out, "  {name:<18}{value}")?;
    }
    Ok(())
}
