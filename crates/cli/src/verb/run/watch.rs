//! What `--trace` and `--profile` write, and what kernels print.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use hsaco::emu::{Executed, Host, InstructionProfile, RegisterValue, TraceFilter, Tracer};
use hsaco::isa::model::{Register, RegisterFile, Special};
use hsaco::load::Executable;
use serde::Serialize;

use super::BASE;
use crate::executable::parse_address;
use crate::schema::SCHEMA_VERSION;

/// Which instructions a trace has.
#[derive(clap::Args)]
pub(super) struct TraceArgs {
    /// Write each instruction with what it read and wrote, a line of JSON each; slow
    #[arg(long, value_name = "FILE", conflicts_with = "threads")]
    pub(super) trace: Option<String>,
    /// Trace the waves of this number only
    #[arg(long, value_name = "N", requires = "trace")]
    trace_wave: Option<u32>,
    /// Trace this workgroup only
    #[arg(long, value_name = "X,Y,Z", requires = "trace", value_parser = parse_workgroup)]
    trace_workgroup: Option<Workgroup>,
    /// Trace instructions at these addresses only, as disasm prints them for the first object
    #[arg(long, value_name = "START..END", requires = "trace", value_parser = parse_range)]
    trace_range: Option<Addresses>,
    /// Trace instructions that read or write this register only
    #[arg(long, value_name = "REGISTER", requires = "trace", value_parser = parse_register)]
    trace_register: Option<Register>,
}

#[derive(Clone, Copy, Debug)]
struct Workgroup([u32; 3]);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Addresses(u64, u64);

fn parse_workgroup(text: &str) -> Result<Workgroup, String> {
    let mut parts = text.split(',').map(str::parse::<u32>);
    let mut number = [0; 3];
    for (place, part) in number.iter_mut().zip(&mut parts) {
        *place = part.map_err(|_| "expected X, X,Y or X,Y,Z".to_owned())?;
    }
    match parts.next() {
        None => Ok(Workgroup(number)),
        Some(_) => Err("expected X, X,Y or X,Y,Z".to_owned()),
    }
}

fn parse_range(text: &str) -> Result<Addresses, String> {
    let (start, end) = text.split_once("..").ok_or("expected START..END")?;
    // What is below the base is an address of the object.
    let loaded = |address: u64| if address < BASE { address + BASE } else { address };
    Ok(Addresses(loaded(parse_address(start)?), loaded(parse_address(end)?)))
}

fn parse_register(text: &str) -> Result<Register, String> {
    let special = |special| (RegisterFile::Special(special), 0);
    let (file, first) = match text {
        "vcc" => special(Special::Vcc),
        "exec" => special(Special::Exec),
        "m0" => special(Special::M0),
        "scc" => special(Special::Scc),
        _ => {
            let expected = "expected a register such as v3, s5, a0, vcc, exec, m0 or scc";
            let at = text.find(|it: char| it.is_ascii_digit()).ok_or(expected)?;
            let (file, number) = text.split_at(at);
            let file = match file {
                "v" => RegisterFile::Vgpr,
                "a" => RegisterFile::Agpr,
                "s" => RegisterFile::Sgpr,
                "ttmp" => RegisterFile::Ttmp,
                _ => return Err(expected.to_owned()),
            };
            (file, number.parse().map_err(|_| expected)?)
        }
    };
    Ok(Register { file, first, count: 1, half: None })
}

impl TraceArgs {
    pub(super) fn filter(&self) -> TraceFilter {
        TraceFilter {
            workgroup: self.trace_workgroup.map(|it| it.0),
            wave: self.trace_wave,
            addresses: self.trace_range.map(|it| it.0..it.1),
            register: self.trace_register,
        }
    }
}

/// Writes a trace.
pub(super) struct Trace {
    file: Mutex<(BufWriter<File>, std::io::Result<()>)>,
}

impl Trace {
    pub(super) fn create(path: &str) -> Result<Self> {
        let file = File::create(path).with_context(|| path.to_owned())?;
        Ok(Self { file: Mutex::new((BufWriter::new(file), Ok(()))) })
    }

    pub(super) fn finish(self) -> Result<()> {
        let (mut file, written) = self.file.into_inner().unwrap_or_else(PoisonError::into_inner);
        written?;
        Ok(file.flush()?)
    }
}

#[derive(Serialize)]
struct TraceLine<'t> {
    workgroup: [u32; 3],
    wave: u32,
    address: u64,
    text: &'t str,
    exec: u64,
    reads: BTreeMap<String, &'t [Vec<u32>]>,
    writes: BTreeMap<String, &'t [Vec<u32>]>,
    memory: Vec<Accessed>,
}

#[derive(Serialize)]
struct Accessed {
    lane: Option<u8>,
    address: u64,
}

fn by_name(values: &[RegisterValue]) -> BTreeMap<String, &[Vec<u32>]> {
    values.iter().map(|it| (it.register.to_string(), &it.values[..])).collect()
}

impl Tracer for Trace {
    fn instruction(&self, executed: &Executed<'_>) {
        let memory = executed.memory.iter();
        let line = TraceLine {
            workgroup: executed.workgroup,
            wave: executed.wave,
            address: executed.address,
            text: executed.text,
            exec: executed.exec,
            reads: by_name(executed.reads),
            writes: by_name(executed.writes),
            memory: memory
                .map(|(lane, address)| Accessed { lane: *lane, address: *address })
                .collect(),
        };
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if file.1.is_ok() {
            let written = serde_json::to_writer(&mut file.0, &line).map_err(Into::into);
            file.1 = written.and_then(|()| file.0.write_all(b"\n"));
        }
    }
}

#[derive(Serialize)]
struct Profile<'p> {
    schema_version: u32,
    kernel: &'p str,
    target: &'p str,
    wave_size: u32,
    instructions: Vec<ProfileRow<'p>>,
}

#[derive(Serialize)]
struct ProfileRow<'p> {
    address: u64,
    object: Option<&'p str>,
    object_address: Option<u64>,
    symbol: Option<String>,
    text: &'p str,
    executions: u64,
    lanes: u64,
    cache_lines: u64,
}

/// The profile of a run as JSON.
pub(super) fn profile(
    executable: &Executable<'_>,
    kernel: &str,
    target: &str,
    wave_size: u32,
    rows: &BTreeMap<u64, InstructionProfile>,
) -> Result<Vec<u8>> {
    let row = |(address, it): (&u64, &'_ InstructionProfile)| {
        let found = executable.locate(*address);
        let symbol = found.as_ref().and_then(|it| it.symbol.as_ref());
        ProfileRow {
            address: *address,
            object: found.as_ref().map(|it| executable.object_name(it.object)),
            object_address: found.as_ref().map(|it| it.object_address),
            symbol: symbol.map(|(symbol, _)| symbol.name().to_string()),
            text: "",
            executions: it.executions,
            lanes: it.lanes,
            cache_lines: it.cache_lines,
        }
    };
    let instructions = rows.iter().map(|it| ProfileRow { text: &it.1.text, ..row(it) }).collect();
    let profile =
        Profile { schema_version: SCHEMA_VERSION, kernel, target, wave_size, instructions };
    let mut bytes = serde_json::to_vec(&profile)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Keeps what kernels print until it can go where it belongs.
#[derive(Debug, Default)]
pub(super) struct Printed {
    pub(super) text: Mutex<Vec<u8>>,
}

impl Host for Printed {
    fn print(&self, text: &[u8], is_error: bool) {
        if is_error {
            // The exit code is not about what a kernel prints.
            let _ = anstream::stderr().write_all(text);
            return;
        }
        self.text.lock().unwrap_or_else(PoisonError::into_inner).extend(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_read() {
        assert_eq!(parse_range("0x10..0x20"), Ok(Addresses(BASE + 16, BASE + 32)));
        assert_eq!(parse_register("v12").unwrap().to_string(), "v12");
        assert_eq!(parse_register("exec").unwrap().to_string(), "exec");
        assert!(parse_register("x1").is_err() && parse_register("v").is_err());
        assert_eq!(parse_workgroup("1,2").unwrap().0, [1, 2, 0]);
        assert!(parse_workgroup("1,2,3,4").is_err());
    }
}
