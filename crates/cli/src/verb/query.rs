//! `hsaco query`: instructions by what they are, do and come from, over all kernels.

use std::io::Write;
use std::str::FromStr;

use anyhow::{Context, Result};
use clap::ValueEnum;
use hsaco::analysis::{Block, Cfg, Function, RegisterSet, States, Stream};
use hsaco::demangle::demangle;
use hsaco::dwarf::{DebugSections, Location, SourceMap};
use hsaco::isa::{
    Access, Decoder, Effects, Flow, Inst, Lanes, Memory, Register, RegisterFile, Space, Special,
};
use regex::Regex;
use serde::Serialize;

use crate::args::{Answer, Format, Inputs, KernelFilter, ObjectFilter};
use crate::json::hex;
use crate::output::Output;
use crate::report::{Status, Trouble};
use crate::scan::{self, FileItem, ObjectItem, Verify, Visit};
use crate::select::KernelSelection;
use crate::sought::Sought;
use crate::text::shown;
use crate::verb::lines::PlacePattern;
use crate::verb::ls::object_line;
use crate::{code, json_files};

/// Finds instructions: by name, class, width of access, register, source line
///
/// An instruction must fit every option that is given. Kernels and device functions are searched.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    inputs: Inputs,
    #[command(flatten)]
    objects: ObjectFilter,
    #[command(flatten)]
    kernels: KernelFilter,
    #[command(flatten)]
    answer: Answer,
    /// A regular expression found in the name (`^global_`, `_b128$`)
    #[arg(short, long, value_name = "REGEX")]
    mnemonic: Option<String>,
    /// What it is; several must all hold
    #[arg(short, long, value_enum, value_name = "CLASS")]
    class: Vec<Class>,
    /// Bytes that a lane moves, or the wave in scalar accesses (16, >=8, <4)
    #[arg(short, long, value_name = "BYTES")]
    width: Option<Width>,
    /// It reads or writes this register, or one of these (v12, s[4:7], vcc, exec)
    #[arg(long, value_name = "REGISTER")]
    register: Vec<Wanted>,
    /// It reads this register
    #[arg(long, value_name = "REGISTER")]
    reads: Vec<Wanted>,
    /// It writes this register
    #[arg(long, value_name = "REGISTER")]
    writes: Vec<Wanted>,
    /// It comes from this line (kernel.hip:17)
    #[arg(long, value_name = "FILE:LINE")]
    at: Option<PlacePattern>,
}

/// A class of instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Class {
    /// Accesses memory in any way
    Memory,
    Load,
    Store,
    Atomic,
    Scalar,
    Global,
    Flat,
    Buffer,
    Lds,
    Scratch,
    Image,
    /// Branches, with or without a condition
    Branch,
    Call,
    /// Multiplies matrices
    Matrix,
    /// Waits for counters
    Wait,
    Barrier,
}

impl Class {
    fn has(self, inst: &Inst, effects: &Effects<'_>) -> bool {
        let access = |wanted: Access| {
            effects.memory().is_some_and(|it| it.access == wanted || it.lds == Some(wanted))
        };
        let space = |wanted: Space| effects.memory().is_some_and(|it| it.space == wanted);
        let is_named = |parts: &[&str]| parts.iter().any(|part| inst.mnemonic().starts_with(part));
        match self {
            Self::Memory => effects.memory().is_some(),
            Self::Load => access(Access::Load),
            Self::Store => access(Access::Store),
            Self::Atomic => access(Access::Atomic),
            Self::Scalar => space(Space::Scalar),
            Self::Global => space(Space::Global),
            Self::Flat => space(Space::Flat),
            Self::Buffer => space(Space::Buffer),
            Self::Lds => space(Space::Lds) || effects.memory().is_some_and(|it| it.lds.is_some()),
            Self::Scratch => space(Space::Scratch),
            Self::Image => space(Space::Image),
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

/// A width of accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Width {
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

/// Registers that are asked for.
#[derive(Clone, Copy, Debug)]
struct Wanted(RegisterSet);

impl FromStr for Wanted {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let unknown = || format!("'{text}' is no register such as v12, s[4:7], a0 or vcc");
        let mut registers = RegisterSet::default();
        registers.insert(&register(text).ok_or_else(unknown)?);
        Ok(Self(registers))
    }
}

impl Wanted {
    fn is_among(&self, mut registers: impl Iterator<Item = Register>) -> bool {
        registers.any(|it| self.0.contains(&it))
    }
}

/// Reads `v12`, `s[4:7]`, `vcc`.
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

pub(crate) fn run(args: &Args) -> Result<Status> {
    args.answer.color.apply();
    let mut out = Output::answer(&args.answer)?;
    let kernels = KernelSelection::new(&args.kernels);
    let mnemonic = args.mnemonic.as_deref().map(Regex::new).transpose().context("--mnemonic")?;
    let question = Question { args, kernels: &kernels, mnemonic, found: Sought::default() };
    let status = match args.answer.format {
        Format::Json => {
            let read = |item: &ObjectItem<'_, '_>, trouble: &mut Trouble| {
                Ok(vec![serde_json::to_vec(&question.object(item, trouble))?])
            };
            json_files::run(&mut out, &args.inputs, &args.objects, Verify::Cheap, read)?
        }
        Format::Text => {
            let mut visitor = TextQuery { out: &mut out, question: &question, file: String::new() };
            scan::run(&args.inputs, &args.objects, Verify::Cheap, &mut visitor)?
        }
    };
    out.finish()?;
    let missing = "no instruction is of that kind";
    Ok(question.found.conclude(kernels.conclude(status), Status::Findings, missing))
}

/// What is asked of every instruction.
struct Question<'q> {
    args: &'q Args,
    kernels: &'q KernelSelection,
    mnemonic: Option<Regex>,
    found: Sought,
}

#[derive(Serialize)]
struct FoundObject {
    index: usize,
    target: Option<String>,
    functions: Vec<FoundFunction>,
}

#[derive(Serialize)]
struct FoundFunction {
    name: Option<String>,
    address: u64,
    instructions: Vec<FoundInstruction>,
}

#[derive(Serialize)]
struct FoundInstruction {
    address: u64,
    bytes: String,
    mnemonic: &'static str,
    text: String,
    space: Option<&'static str>,
    access: Option<&'static str>,
    width: Option<u8>,
    file: Option<String>,
    line: Option<u32>,
    column: Option<u32>,
}

/// What maps an object's code to its source.
struct Source<'e> {
    sections: DebugSections<'e>,
    map: SourceMap,
}

impl Source<'_> {
    fn at(&self, address: u64) -> Option<Location<'_>> {
        self.map.location(&self.sections, address).ok().flatten()
    }
}

impl Question<'_> {
    fn object(&self, item: &ObjectItem<'_, '_>, trouble: &mut Trouble) -> FoundObject {
        let mut found =
            FoundObject { index: item.number, target: item.target.clone(), functions: Vec::new() };
        let Some(code) = code::open(item, trouble) else { return found };
        let source = DebugSections::new(code.object(), self.args.inputs.max_size)
            .and_then(|sections| Ok(Source { map: SourceMap::new(&sections)?, sections }));
        let source = source.map_err(|error| trouble.note(item.place(), item.located(error))).ok();
        for function in code.functions().as_slice() {
            let is_wanted = function.name.is_some_and(|name| self.kernels.wants(name));
            if !is_wanted && !self.kernels.is_all() {
                continue;
            }
            let instructions = self.function(function, &code.decoder(function), source.as_ref());
            if !instructions.is_empty() {
                let name = function.name.map(|name| name.to_string());
                found.functions.push(FoundFunction {
                    name,
                    address: function.address,
                    instructions,
                });
            }
        }
        for error in source.iter().flat_map(|source| source.map.errors()) {
            trouble.note(item.place(), item.located(error.clone()));
        }
        found
    }

    fn function(
        &self,
        function: &Function<'_>,
        decoder: &Decoder,
        source: Option<&Source<'_>>,
    ) -> Vec<FoundInstruction> {
        let stream = function.decode(decoder);
        let cfg = Cfg::new(decoder, &stream);
        let states = States::new(decoder, &stream, &cfg, Lanes::All);
        let mut found = Vec::new();
        for (block, steps) in cfg.blocks().iter().map(Block::steps).enumerate() {
            let mut state = states.before_block(block);
            for step in steps {
                if let Some(inst) = stream.inst(step) {
                    let msb = state.msb.unwrap_or_default();
                    let effects = decoder.effects(&inst, msb);
                    let place = source.and_then(|source| source.at(stream.address_of(step)));
                    if self.fits(&inst, &effects, place) {
                        found.push(instruction(decoder, &stream, step, &inst, &effects, place));
                    }
                }
                state = states.after(state, step);
            }
        }
        found.sort_by_key(|it| it.address);
        self.found.note(!found.is_empty());
        found
    }

    fn fits(&self, inst: &Inst, effects: &Effects<'_>, place: Option<Location<'_>>) -> bool {
        let args = self.args;
        self.mnemonic.as_ref().is_none_or(|it| it.is_match(inst.full_mnemonic()))
            && args.class.iter().all(|class| class.has(inst, effects))
            && args.width.is_none_or(|width| width.fits(effects.memory()))
            && args.reads.iter().all(|it| it.is_among(effects.reads()))
            && args.writes.iter().all(|it| it.is_among(effects.writes()))
            && args
                .register
                .iter()
                .all(|it| it.is_among(effects.reads()) || it.is_among(effects.writes()))
            && args.at.as_ref().is_none_or(|at| place.is_some_and(|place| at.matches(place)))
    }
}

fn instruction(
    decoder: &Decoder,
    stream: &Stream<'_>,
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

struct TextQuery<'o, 'q> {
    out: &'o mut Output,
    question: &'q Question<'q>,
    file: String,
}

impl Visit for TextQuery<'_, '_> {
    type Row<'e> = String;

    fn begin(&mut self, file: &FileItem<'_>) -> Result<()> {
        self.file = format!("{}\n", file.input.name);
        Ok(())
    }

    fn read(&self, item: &ObjectItem<'_, '_>, trouble: &mut Trouble) -> Result<String> {
        let found = self.question.object(item, trouble);
        if found.functions.is_empty() {
            return Ok(String::new());
        }
        let mut text = format!("{}\n", object_line(item));
        for function in &found.functions {
            write_function(&mut text, function)?;
        }
        Ok(text)
    }

    /// The name of a file comes before the first that is found in it.
    fn object(&mut self, text: String) -> Result<()> {
        if !text.is_empty() {
            self.out.write_all(std::mem::take(&mut self.file).as_bytes())?;
        }
        Ok(self.out.write_all(text.as_bytes())?)
    }

    fn end(&mut self, _error: Option<&str>) -> Result<()> {
        Ok(())
    }
}

fn write_function(text: &mut String, function: &FoundFunction) -> Result<()> {
    use std::fmt::Write;
    let name = function.name.as_deref().unwrap_or("unnamed");
    let readable = demangle(name.as_bytes()).unwrap_or_else(|| name.to_owned());
    writeln!(text, "  {}", shown(&readable))?;
    for it in &function.instructions {
        let place = match (&it.file, it.line) {
            (Some(file), Some(line)) => format!("  {}:{line}", shown(file)),
            _ => String::new(),
        };
        let line = format!("    {:#x}  {:<48}{place}", it.address, it.text.trim_start());
        writeln!(text, "{}", line.trim_end())?;
    }
    Ok(())
}
