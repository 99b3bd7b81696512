//! Instructions by what they are, do and come from.

use std::str::FromStr;

use hsaco_analysis::{Cfg, Function, RegisterSet, States, Stream};
use hsaco_bytes::hex::encode as hex;
use hsaco_dwarf::DebugInfo;
use hsaco_dwarf::Location;
use hsaco_files::{KernelSelection, ObjectItem, Trouble};
use hsaco_isa::effects::Lanes;
use hsaco_isa::effects::{Access, Effects, Flow, Memory, Space};
use hsaco_isa::model::{Register, RegisterFile, Special};
use hsaco_isa::{Decoder, Inst};
use serde::Serialize;

use crate::{PlacePattern, open_code};

/// Whether a mnemonic is wanted.
pub type Mnemonic<'q> = &'q (dyn Fn(&str) -> bool + Sync);

/// What instructions are asked for; they must fit all of it.
#[derive(Clone, Copy)]
pub struct Query<'q> {
    /// In which kernels and functions.
    pub kernels: &'q KernelSelection,
    /// The name fits.
    pub mnemonic: Option<Mnemonic<'q>>,
    /// It is of all these classes.
    pub classes: &'q [Class],
    /// It moves so many bytes.
    pub width: Option<Width>,
    /// It reads or writes each of these.
    pub registers: &'q [Registers],
    /// It reads each of these.
    pub reads: &'q [Registers],
    /// It writes each of these.
    pub writes: &'q [Registers],
    /// It comes from there.
    pub at: Option<&'q PlacePattern>,
    /// Largest size that a debug section may unfold to.
    pub max_size: u64,
}

/// A class of instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Accesses memory in any way.
    Memory,
    /// Reads or writes memory in this way.
    Access(Access),
    /// Accesses memory of this kind.
    Space(Space),
    /// Branches, with or without a condition.
    Branch,
    /// Calls a function.
    Call,
    /// Multiplies matrices.
    Matrix,
    /// Waits for counters.
    Wait,
    /// Waits for the other waves of the workgroup.
    Barrier,
}

impl Class {
    fn has(self, inst: &Inst, effects: &Effects<'_>) -> bool {
        let memory = effects.memory();
        let is_named = |parts: &[&str]| parts.iter().any(|part| inst.mnemonic().starts_with(part));
        match self {
            Self::Memory => memory.is_some(),
            Self::Access(wanted) => {
                memory.is_some_and(|it| it.access == wanted || it.lds == Some(wanted))
            }
            Self::Space(wanted) => memory
                .is_some_and(|it| it.space == wanted || wanted == Space::Lds && it.lds.is_some()),
            Self::Branch => {
                matches!(inst.flow(), Flow::Branch | Flow::ConditionalBranch | Flow::IndirectJump)
            }
            Self::Call => matches!(inst.flow(), Flow::Call | Flow::IndirectCall),
            Self::Matrix => is_named(&["v_mfma", "v_smfmac", "v_wmma", "v_swmmac"]),
            Self::Wait => effects.waits().next().is_some() || effects.waits_for_idle(),
            Self::Barrier => is_named(&["s_barrier"]),
        }
    }
}

/// A width of accesses: `16`, `>=8`, `<4`.
///
/// ```
/// use hsaco_describe::query::Width;
/// assert!(">=8".parse::<Width>().is_ok());
/// assert_eq!("~8".parse::<Width>().unwrap_err(), "'~8' is not a number of bytes such as 16, >=8 or <4");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Width {
    least: u64,
    most: u64,
}

impl FromStr for Width {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = text.trim_start_matches(['<', '>', '=']);
        let bytes: u64 = digits
            .parse()
            .map_err(|_| format!("'{text}' is not a number of bytes such as 16, >=8 or <4"))?;
        let (least, most) = match text.strip_suffix(digits).unwrap_or_default() {
            "" | "=" => (bytes, bytes),
            ">=" => (bytes, u64::MAX),
            ">" => (bytes.saturating_add(1), u64::MAX),
            "<=" => (0, bytes),
            "<" => (0, bytes.saturating_sub(1)),
            other => return Err(format!("'{other}' compares nothing; there are >= > <= < =")),
        };
        Ok(Self { least, most })
    }
}

impl Width {
    fn fits(self, memory: Option<Memory>) -> bool {
        let bytes = memory.and_then(|it| it.bytes).map(u64::from);
        bytes.is_some_and(|bytes| (self.least..=self.most).contains(&bytes))
    }
}

/// Registers that are asked for: `v12`, `s[4:7]`, `vcc`.
///
/// ```
/// use hsaco_describe::query::Registers;
/// assert!("s[4:7]".parse::<Registers>().is_ok() && "vcc".parse::<Registers>().is_ok());
/// assert!("x1".parse::<Registers>().is_err());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Registers(RegisterSet);

impl FromStr for Registers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let unknown = || format!("'{text}' is no register such as v12, s[4:7], a0 or vcc");
        let mut registers = RegisterSet::default();
        registers.insert(&register(text).ok_or_else(unknown)?);
        Ok(Self(registers))
    }
}

impl Registers {
    fn is_among(&self, mut registers: impl Iterator<Item = Register>) -> bool {
        registers.any(|it| self.0.contains(&it))
    }
}

fn register(text: &str) -> Option<Register> {
    if let Some(special) = Special::ALL.iter().find(|it| it.name() == text) {
        let file = RegisterFile::Special(*special);
        return Some(Register { file, first: 0, count: 1, half: None });
    }
    let files = [
        ("ttmp", RegisterFile::Ttmp),
        ("v", RegisterFile::Vgpr),
        ("a", RegisterFile::Agpr),
        ("s", RegisterFile::Sgpr),
    ];
    let (numbers, file) =
        files.iter().find_map(|(name, file)| Some((text.strip_prefix(name)?, *file)))?;
    let (first, last) = match numbers.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
        Some(range) => range.split_once(':').unwrap_or((range, range)),
        None => (numbers, numbers),
    };
    let (first, last): (u16, u16) = (first.parse().ok()?, last.parse().ok()?);
    let count = u8::try_from(last.checked_sub(first)?.checked_add(1)?).ok()?;
    Some(Register { file, first, count, half: None })
}

/// What was found in an object.
#[derive(Debug, Default, Serialize)]
pub struct Found {
    /// Those that have such instructions.
    pub functions: Vec<FoundFunction>,
}

/// What was found in a function.
#[derive(Debug, Serialize)]
pub struct FoundFunction {
    /// The mangled name.
    pub name: Option<String>,
    /// Where it begins.
    pub address: u64,
    /// By address.
    pub instructions: Vec<FoundInstruction>,
}

/// An instruction that fits.
#[derive(Debug, Serialize)]
pub struct FoundInstruction {
    /// Where it is.
    pub address: u64,
    /// Its encoding, as hexadecimal.
    pub bytes: String,
    /// With suffixes such as `_e32`.
    pub mnemonic: &'static str,
    /// As a listing has it.
    pub text: String,
    /// The kind of memory that it accesses.
    pub space: Option<&'static str>,
    /// How it accesses memory.
    pub access: Option<&'static str>,
    /// Bytes that a lane moves, or the wave in scalar accesses.
    pub width: Option<u8>,
    /// The source file that it comes from.
    pub file: Option<String>,
    /// The line there.
    pub line: Option<u32>,
    /// The column there.
    pub column: Option<u32>,
}

impl Query<'_> {
    /// Searches the wanted kernels and functions of an object.
    pub fn find(&self, item: &ObjectItem<'_, '_>, trouble: &mut Trouble) -> Found {
        let mut found = Found::default();
        let Some(code) = open_code(item, trouble) else { return found };
        let debug = DebugInfo::open_capped(code.object(), self.max_size);
        let debug = debug.map_err(|error| item.note(error, trouble)).ok();
        for function in code.functions().as_slice() {
            let is_wanted = function.name.is_some_and(|name| self.kernels.wants(name));
            if !is_wanted && !self.kernels.is_all() {
                continue;
            }
            let instructions = self.function(function, &code.decoder(function), debug.as_ref());
            if !instructions.is_empty() {
                let (name, address) = (function.name.map(|it| it.to_string()), function.address);
                found.functions.push(FoundFunction { name, address, instructions });
            }
        }
        for error in debug.iter().flat_map(|it| it.map().errors()) {
            item.note(error.clone(), trouble);
        }
        found
    }

    fn function(
        &self,
        function: &Function<'_>,
        decoder: &Decoder,
        debug: Option<&DebugInfo<'_>>,
    ) -> Vec<FoundInstruction> {
        let stream = function.decode(decoder);
        let cfg = Cfg::new(decoder, &stream);
        let states = States::new(decoder, &stream, &cfg, Lanes::All);
        let mut found = Vec::new();
        for (id, block) in cfg.blocks().enumerated() {
            let mut state = states.before_block(id);
            for step in block.steps() {
                if let Some(inst) = stream.inst(step) {
                    let msb = state.msb.unwrap_or_default();
                    let effects = decoder.effects(&inst, msb);
                    let place = debug.and_then(|it| it.location(stream.address_of(step)).ok()?);
                    if self.fits(&inst, &effects, place) {
                        found.push(instruction(decoder, &stream, step, &inst, &effects, place));
                    }
                }
                state = states.after(state, step);
            }
        }
        found.sort_by_key(|it| it.address);
        found
    }

    fn fits(&self, inst: &Inst, effects: &Effects<'_>, place: Option<Location<'_>>) -> bool {
        let reads = |it: &Registers| it.is_among(effects.reads());
        let writes = |it: &Registers| it.is_among(effects.writes());
        self.mnemonic.is_none_or(|fits| fits(inst.full_mnemonic()))
            && self.classes.iter().all(|class| class.has(inst, effects))
            && self.width.is_none_or(|width| width.fits(effects.memory()))
            && self.reads.iter().all(reads)
            && self.writes.iter().all(writes)
            && self.registers.iter().all(|it| reads(it) || writes(it))
            && self.at.is_none_or(|at| place.is_some_and(|place| at.matches(place)))
    }
}

fn instruction(
    decoder: &Decoder,
    stream: &Stream,
    step: usize,
    inst: &Inst,
    effects: &Effects<'_>,
    place: Option<Location<'_>>,
) -> FoundInstruction {
    let memory = effects.memory();
    FoundInstruction {
        address: stream.address_of(step),
        bytes: hex(inst.bytes().get(..inst.len()).unwrap_or_default()),
        mnemonic: inst.full_mnemonic(),
        text: decoder.text(inst),
        space: memory.map(|it| it.space.name()),
        access: memory.map(|it| it.access.name()),
        width: memory.and_then(|it| it.bytes),
        file: place.map(|it| it.file.to_owned()),
        line: place.and_then(|it| it.line),
        column: place.and_then(|it| it.column),
    }
}
