//! What came of a run, as rows.

use std::collections::BTreeMap;

use hsaco_bytes::SCHEMA_VERSION;
use hsaco_emu::{Device, Error, Fidelity, InstructionProfile, MetErratum, Outcome};
use hsaco_load::{Executable, SourceFrame};
use serde::Serialize;

/// A program that ran to its end.
#[derive(Clone, Debug, Serialize)]
pub struct Answered {
    schema_version: u32,
    /// The kernel.
    pub kernel: String,
    /// The device.
    pub target: String,
    /// Wave instructions that ran.
    pub instructions: u64,
    /// How long that took.
    pub seconds: f64,
    /// Waves that ran.
    pub waves: u64,
    /// How far the numbers can be trusted.
    pub fidelity: FidelityRow,
    /// Errata of the device that it met.
    pub errata: Vec<ErratumRow>,
    /// What the kernel printed.
    pub printed: String,
    /// The bytes of buffers that were asked for, by the number of the argument.
    pub dumps: BTreeMap<usize, String>,
}

impl Answered {
    /// What came of a run; nothing is dumped yet.
    #[must_use]
    pub fn new(kernel: &str, device: &Device, outcome: &Outcome, printed: &[u8]) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            kernel: kernel.to_owned(),
            target: device.target.to_string(),
            instructions: outcome.instructions,
            seconds: 0.0,
            waves: outcome.waves,
            fidelity: FidelityRow::new(outcome),
            errata: outcome.errata.iter().map(ErratumRow::from).collect(),
            printed: String::from_utf8_lossy(printed).into_owned(),
            dumps: BTreeMap::new(),
        }
    }
}

/// An erratum of the device that the program has met.
#[derive(Clone, Debug, Serialize)]
pub struct ErratumRow {
    /// The rule of `patch` that is there for it.
    pub name: &'static str,
    /// What it does to the program.
    pub effect: &'static str,
    /// What goes wrong.
    pub detail: &'static str,
    /// Where the instruction is.
    pub address: u64,
    /// Its text.
    pub instruction: String,
    /// How often it ran.
    pub executions: u64,
}

impl From<&MetErratum> for ErratumRow {
    fn from(met: &MetErratum) -> Self {
        Self {
            name: met.name,
            effect: met.effect.name(),
            detail: met.detail,
            address: met.address,
            instruction: met.instruction.clone(),
            executions: met.executions,
        }
    }
}

/// How often instructions of each fidelity ran, by mnemonic.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FidelityRow {
    /// Bit for bit what hardware computes.
    pub exact: BTreeMap<&'static str, u64>,
    /// Modelled on values of silicon.
    pub silicon: BTreeMap<&'static str, u64>,
    /// Within the error that the manuals allow.
    pub approximate: BTreeMap<&'static str, u64>,
    /// What approximate values decided.
    pub approximate_reached: ReachedRow,
}

/// What approximate values decided; null where that was not asked for.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct ReachedRow {
    /// An address.
    pub address: Option<bool>,
    /// A branch.
    pub branch: Option<bool>,
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

/// A program that stopped.
#[derive(Clone, Debug, Serialize)]
pub struct Stopped<'e> {
    schema_version: u32,
    /// The kernel.
    pub kernel: &'e str,
    /// The device.
    pub target: String,
    /// What the kernel printed.
    pub printed: String,
    /// Why it stopped.
    pub error: ErrorRow<'e>,
}

/// Why and where a program stopped.
#[derive(Clone, Debug, Serialize)]
pub struct ErrorRow<'e> {
    /// The kind of error.
    pub kind: &'static str,
    /// What went wrong, in words.
    pub detail: &'e str,
    /// The address of the instruction.
    pub address: Option<u64>,
    /// The instruction's text.
    pub instruction: Option<&'e str>,
    /// The workgroup.
    pub workgroup: Option<[u32; 3]>,
    /// The wave's number in the workgroup.
    pub wave: Option<u32>,
    /// The lanes that did it.
    pub lanes: Option<u64>,
    /// The line of the source, and the lines that it is inlined at.
    pub source: Vec<SourceFrame>,
}

impl<'e> Stopped<'e> {
    /// Why a program of an executable stopped.
    #[must_use]
    pub fn new(
        executable: &Executable<'_>,
        kernel: &'e str,
        device: &Device,
        printed: &[u8],
        error: &'e Error,
    ) -> Self {
        let at = error.location();
        let error = ErrorRow {
            kind: error.kind().name(),
            detail: error.detail(),
            address: at.map(|it| it.address),
            instruction: at.map(|it| it.instruction.as_str()),
            workgroup: at.map(|it| it.workgroup),
            wave: at.map(|it| it.wave),
            lanes: at.map(|it| it.lanes),
            source: at.and_then(|it| executable.source(it.address).ok()).unwrap_or_default(),
        };
        Self {
            schema_version: SCHEMA_VERSION,
            kernel,
            target: device.target.to_string(),
            printed: String::from_utf8_lossy(printed).into_owned(),
            error,
        }
    }
}

/// Why a program stopped, for people: with its lines of the source, and with registers if they are asked for.
#[must_use]
pub fn stop_message(error: &Error, source: &[SourceFrame], registers: bool) -> String {
    let mut message = error.to_string();
    for frame in source {
        let file = frame.file.as_deref().unwrap_or("?");
        let function = frame.function.as_deref().unwrap_or("?");
        message += &format!("\nin {function} at {file}:{}", frame.line.unwrap_or(0));
    }
    if let Some(registers) = error.registers().filter(|_| registers) {
        message += &format!("\n{registers}");
    }
    message.truncate(message.trim_end().len());
    message
}

/// How often each instruction ran.
#[derive(Clone, Debug, Serialize)]
pub struct Profile<'p> {
    schema_version: u32,
    /// The kernel.
    pub kernel: &'p str,
    /// The device.
    pub target: String,
    /// Lanes of a wave.
    pub wave_size: u32,
    /// Instructions that ran, by address.
    pub instructions: Vec<ProfileRow<'p>>,
}

/// How often an instruction ran.
#[derive(Clone, Debug, Serialize)]
pub struct ProfileRow<'p> {
    /// Where it is in memory.
    pub address: u64,
    /// The object that it is of.
    pub object: Option<&'p str>,
    /// Where it is in the object.
    pub object_address: Option<u64>,
    /// The function that it is in.
    pub symbol: Option<String>,
    /// The instruction.
    pub text: &'p str,
    /// How often a wave ran it.
    pub executions: u64,
    /// How often a lane did.
    pub lanes: u64,
    /// Cache lines of 64 bytes that it touched.
    pub cache_lines: u64,
}

impl<'p> Profile<'p> {
    /// The profile of a kernel's run.
    #[must_use]
    pub fn new(
        executable: &'p Executable<'_>,
        kernel: &'p str,
        device: &Device,
        wave_size: u32,
        rows: &'p BTreeMap<u64, InstructionProfile>,
    ) -> Self {
        let row = |(address, it): (&u64, &'p InstructionProfile)| {
            let found = executable.locate(*address);
            let symbol = found.as_ref().and_then(|it| it.symbol.as_ref());
            ProfileRow {
                address: *address,
                object: found.as_ref().map(|it| executable.object_name(it.object)),
                object_address: found.as_ref().map(|it| it.object_address),
                symbol: symbol.map(|(symbol, _)| symbol.name().to_string()),
                text: &it.text,
                executions: it.executions,
                lanes: it.lanes,
                cache_lines: it.cache_lines,
            }
        };
        let (target, instructions) = (device.target.to_string(), rows.iter().map(row).collect());
        Self { schema_version: SCHEMA_VERSION, kernel, target, wave_size, instructions }
    }
}
