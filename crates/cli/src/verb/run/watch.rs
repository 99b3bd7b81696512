//! What `--trace` writes, and where what kernels print goes.

use std::fs::File;
use std::io::{BufWriter, Write as _};

use anyhow::{Context, Result};
use hsaco::emu::TraceFilter;
use hsaco::isa::model::Register;
use hsaco_describe::run::{self, parse_addresses, parse_register, parse_workgroup};

use super::BASE;

/// Writes a trace.
pub(super) type Trace = run::Trace<BufWriter<File>>;

/// Keeps what kernels print until it can go where it belongs.
pub(super) type Printed = run::Printed<fn(&[u8])>;

/// Nothing printed yet; what goes to standard error goes there at once.
pub(super) fn printed() -> Printed {
    Printed::new(|text| {
        // The exit code is not about what a kernel prints.
        let _ = anstream::stderr().write_all(text);
    })
}

/// Which instructions a trace has.
#[derive(clap::Args)]
pub(super) struct TraceArgs {
    /// Write each instruction with what it read and wrote, a line of JSON each; slow
    #[arg(long, value_name = "FILE", conflicts_with = "threads")]
    trace: Option<String>,
    /// Trace the waves of this number only
    #[arg(long, value_name = "N", requires = "trace")]
    trace_wave: Option<u32>,
    /// Trace this workgroup only
    #[arg(long, value_name = "X,Y,Z", requires = "trace", value_parser = |it: &str| parse_workgroup(it).map(Workgroup))]
    trace_workgroup: Option<Workgroup>,
    /// Trace instructions at these addresses only, as disasm prints them for the first object
    #[arg(long, value_name = "START..END", requires = "trace", value_parser = |it: &str| parse_addresses(it, BASE).map(|it| Addresses(it.start, it.end)))]
    trace_range: Option<Addresses>,
    /// Trace instructions that read or write this register only
    #[arg(long, value_name = "REGISTER", requires = "trace", value_parser = parse_register)]
    trace_register: Option<Register>,
}

#[derive(Clone, Copy, Debug)]
struct Workgroup([u32; 3]);

#[derive(Clone, Copy, Debug)]
struct Addresses(u64, u64);

impl TraceArgs {
    /// The file that the trace goes to, if one is asked for.
    pub(super) fn create(&self) -> Result<Option<Trace>> {
        let Some(path) = &self.trace else { return Ok(None) };
        let file = File::create(path).with_context(|| path.to_owned())?;
        Ok(Some(Trace::new(BufWriter::new(file))))
    }

    pub(super) fn filter(&self) -> TraceFilter {
        TraceFilter {
            workgroup: self.trace_workgroup.map(|it| it.0),
            wave: self.trace_wave,
            addresses: self.trace_range.map(|it| it.0..it.1),
            register: self.trace_register,
        }
    }
}
