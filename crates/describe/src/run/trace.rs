//! What each instruction of a run read and wrote, as lines of JSON.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use hsaco_bytes::{TextError, number};
use hsaco_emu::{Executed, RegisterValue, Tracer};
use hsaco_isa::model::{Register, RegisterFile, Special};
use serde::Serialize;

/// A workgroup: `X`, `X,Y` or `X,Y,Z`.
///
/// ```
/// use hsaco_describe::run::parse_workgroup;
/// assert_eq!(parse_workgroup("1,2"), Ok([1, 2, 0]));
/// assert!(parse_workgroup("1,2,3,4").is_err());
/// ```
///
/// # Errors
/// Any other text.
pub fn parse_workgroup(text: &str) -> Result<[u32; 3], TextError> {
    let expected = || TextError::new("expected X, X,Y or X,Y,Z");
    let mut parts = text.split(',').map(str::parse::<u32>);
    let mut number = [0; 3];
    for (place, part) in number.iter_mut().zip(&mut parts) {
        *place = part.map_err(|_| expected())?;
    }
    parts.next().map_or(Ok(number), |_| Err(expected()))
}

/// Addresses: `START..END`. What is below `base`, where the first object is loaded, is an address of the object.
///
/// ```
/// use hsaco_describe::run::parse_addresses;
/// assert_eq!(parse_addresses("0x10..0x1020", 0x1000), Ok(0x1010..0x1020));
/// assert!(parse_addresses("0x10", 0).is_err());
/// ```
///
/// # Errors
/// Any other text.
pub fn parse_addresses(text: &str, base: u64) -> Result<Range<u64>, TextError> {
    let (start, end) =
        text.split_once("..").ok_or_else(|| TextError::new("expected START..END"))?;
    let expected = || TextError::new("expected an address such as 0x7f0000000000");
    let loaded = |text: &str| {
        let address = number::parse(text).ok_or_else(expected);
        address.map(|it| if it < base { it + base } else { it })
    };
    Ok(loaded(start)?..loaded(end)?)
}

/// A register: `v3`, `s5`, `a0`, `ttmp1`, `vcc`, `exec`, `m0` or `scc`.
///
/// ```
/// use hsaco_describe::run::parse_register;
/// assert_eq!(parse_register("v12")?.to_string(), "v12");
/// assert_eq!(parse_register("exec")?.to_string(), "exec");
/// assert!(parse_register("x1").is_err() && parse_register("v").is_err());
/// # Ok::<(), hsaco_bytes::TextError>(())
/// ```
///
/// # Errors
/// Any other text.
pub fn parse_register(text: &str) -> Result<Register, TextError> {
    let expected =
        || TextError::new("expected a register such as v3, s5, a0, vcc, exec, m0 or scc");
    let special = |special| (RegisterFile::Special(special), 0);
    let (file, first) = match text {
        "vcc" => special(Special::Vcc),
        "exec" => special(Special::Exec),
        "m0" => special(Special::M0),
        "scc" => special(Special::Scc),
        _ => {
            let at = text.find(|it: char| it.is_ascii_digit()).ok_or_else(expected)?;
            let (file, number) = text.split_at(at);
            let file = match file {
                "v" => RegisterFile::Vgpr,
                "a" => RegisterFile::Agpr,
                "s" => RegisterFile::Sgpr,
                "ttmp" => RegisterFile::Ttmp,
                _ => return Err(expected()),
            };
            (file, number.parse().map_err(|_| expected())?)
        }
    };
    Ok(Register { file, first, count: 1, half: None })
}

/// Writes a line of JSON for each instruction that runs.
#[derive(Debug)]
pub struct Trace<W>(Mutex<(W, io::Result<()>)>);

impl<W: Write> Trace<W> {
    /// A trace that goes to a sink.
    pub fn new(out: W) -> Self {
        Self(Mutex::new((out, Ok(()))))
    }

    /// Hands on what was written so far.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn flush(&self) -> io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0.flush()
    }

    /// Ends it.
    ///
    /// # Errors
    /// The first of the sink's.
    pub fn finish(self) -> io::Result<()> {
        let (mut out, written) = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        written.and_then(|()| out.flush())
    }
}

impl<W: Write + Send> Tracer for Trace<W> {
    fn instruction(&self, executed: &Executed<'_>) {
        let mut sink = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if sink.1.is_ok() {
            let line = TraceLine::new(executed);
            let written = serde_json::to_writer(&mut sink.0, &line).map_err(Into::into);
            sink.1 = written.and_then(|()| sink.0.write_all(b"\n"));
        }
    }
}

/// An instruction that ran.
#[derive(Clone, Debug, Serialize)]
pub struct TraceLine<'t> {
    /// The workgroup.
    pub workgroup: [u32; 3],
    /// The wave's number in the workgroup.
    pub wave: u32,
    /// Where the instruction is in memory.
    pub address: u64,
    /// The instruction.
    pub text: &'t str,
    /// The lanes that are on.
    pub exec: u64,
    /// Registers that it read: words of each lane, or of the wave.
    pub reads: BTreeMap<String, &'t [Vec<u32>]>,
    /// Registers that it wrote.
    pub writes: BTreeMap<String, &'t [Vec<u32>]>,
    /// Memory that it accessed.
    pub memory: Vec<Accessed>,
}

/// An access to memory.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Accessed {
    /// The lane; null for the wave.
    pub lane: Option<u8>,
    /// Where.
    pub address: u64,
}

impl<'t> TraceLine<'t> {
    fn new(executed: &Executed<'t>) -> Self {
        let memory = executed.memory.iter();
        Self {
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
        }
    }
}

fn by_name(values: &[RegisterValue]) -> BTreeMap<String, &[Vec<u32>]> {
    values.iter().map(|it| (it.register.to_string(), &it.values[..])).collect()
}
