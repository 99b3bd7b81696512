//! Text that is to assemble to the very bytes that it was printed from: assembled, by us and by llvm-mc.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use hsaco::isa::assembler::{Data, Exactness};
use hsaco::isa::model::VgprMsb;
use hsaco::isa::{Assembler, Decoder, Inst};

use crate::assembly::{AsmJudge, TEXT_CAUSES};
use crate::golden::Golden;
use crate::oracle::{Target, hex};
use crate::program::with_input;
use crate::scratch_dir;

/// A state in which every operand has an upper bit.
const OTHER_BANKS: VgprMsb = VgprMsb::new(0b11_10_01_11);

/// What became of encodings of one target.
#[derive(Clone, Debug, Default)]
pub struct ExactTally {
    /// How many are printed in which way: the cause, or the spelling, by name.
    pub counts: BTreeMap<&'static str, usize>,
    /// What does not assemble to the same bytes.
    pub wrong: Vec<String>,
}

/// As the decoder prints it.
pub const USUAL: &str = "usual";
/// Data: bytes that are no instruction.
pub const NO_INSTRUCTION: &str = "no-instruction";
/// Data: the text remarks on a value that no line of assembly gives.
pub const REMARK: &str = "shown-as-invalid";
/// Data: LLVM's assembler refuses the text, or makes other bytes of it.
pub const NOT_LLVMS: &str = "not-for-llvm-mc";
/// The spellings that say more than the decoder's: what they are told by, their name, and what they say.
pub const RESPELLINGS: [(&str, &str); 3] = [
    ("long-suffix", "the suffix `_e64`, where LLVM prints both encodings alike"),
    ("plain-offset", "the number of the offset instead of `swizzle(…)`, which leaves bits out"),
    (
        "inline-float",
        "`0.5` and the like instead of `0x3800` among integers of 16 bits, which would be a literal",
    ),
];

impl ExactTally {
    fn count(&mut self, name: &'static str) {
        *self.counts.entry(name).or_default() += 1;
    }

    /// How many there are of some.
    pub fn of(&self, names: &[&str]) -> usize {
        names.iter().filter_map(|name| self.counts.get(name)).sum()
    }

    /// How many there are.
    pub fn rows(&self) -> usize {
        self.counts.values().sum()
    }
}

/// Prints and assembles encodings of one target.
#[derive(Debug)]
pub struct ExactJudge {
    assembler: Assembler,
    judge: AsmJudge,
}

impl ExactJudge {
    /// A judge for that target.
    pub fn new(target: &Target) -> Result<Self> {
        let assembler = Assembler::new(target.processor, target.options)?;
        Ok(Self { assembler, judge: AsmJudge::new(target, TEXT_CAUSES)? })
    }

    /// The decoder of the same.
    pub fn decoder(&self) -> &Decoder {
        self.assembler.decoder()
    }

    /// The line of an instruction, assembled and counted.
    pub fn add(&self, inst: &Inst, state: VgprMsb, tally: &mut ExactTally) -> String {
        let mut text = Vec::new();
        let exactness = self.assembler.print_exact(inst, state, &mut text);
        let text = String::from_utf8_lossy(&text).into_owned();
        let mut bytes = Vec::new();
        inst.encode(&mut bytes);
        self.check(&text, &bytes, tally);
        let usual = self.decoder().text(inst);
        tally.count(match exactness {
            Exactness::Usual => USUAL,
            Exactness::Respelt => respelling(&usual, &text),
            Exactness::Data if usual.contains("/*") || usual.contains("invalid_") => REMARK,
            Exactness::Data => self.judge.cause(&usual, &bytes).unwrap_or(NOT_LLVMS),
        });
        text
    }

    /// The line of bytes that are no instruction.
    pub fn add_data(&self, bytes: &[u8], tally: &mut ExactTally) -> String {
        let text = Data::of_bytes(bytes).to_string();
        self.check(&text, bytes, tally);
        tally.count(NO_INSTRUCTION);
        text
    }

    fn check(&self, text: &str, bytes: &[u8], tally: &mut ExactTally) {
        let mut ours = Vec::new();
        match self.assembler.statement(text) {
            Ok(statement) => statement.encode(&mut ours),
            Err(error) => tally.wrong.push(format!("{text}\n    {error}")),
        }
        if ours != bytes {
            tally.wrong.push(format!("{text}\n    {}, not {}", hex(&ours), hex(bytes)));
        }
    }
}

fn respelling(usual: &str, text: &str) -> &'static str {
    let name = |text: &str| text.split(' ').next().map(str::len);
    let [(suffix, _), (offset, _), (float, _)] = RESPELLINGS;
    match () {
        () if name(usual) != name(text) => suffix,
        () if usual.contains("swizzle(") => offset,
        () => float,
    }
}

/// Lines and the bytes that they are to assemble to.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    text: String,
    /// Where each line ends, in text and bytes.
    ends: Vec<(usize, usize)>,
    bytes: Vec<u8>,
}

impl Lines {
    /// Adds one.
    pub fn add(&mut self, text: &str, bytes: &[u8]) {
        self.text += text;
        self.text.push('\n');
        self.bytes.extend_from_slice(bytes);
        self.ends.push((self.text.len(), self.bytes.len()));
    }

    /// Lets llvm-mc assemble all of them into an object; the first that gives other bytes is an error.
    pub fn ask_llvm_mc(&self, target: &Target) -> Result<()> {
        let theirs = assemble_with_llvm(target, &self.text)?;
        let mut from = (0, 0);
        for end in &self.ends {
            let line = self.text.get(from.0..end.0).unwrap_or_default();
            let (wanted, found) = (self.bytes.get(from.1..end.1), theirs.get(from.1..end.1));
            ensure!(wanted == found, "{target}: {line}    {found:x?}, not {wanted:x?}");
            from = *end;
        }
        ensure!(
            theirs.len() == self.bytes.len(),
            "{target}: {} bytes too many",
            theirs.len() - self.bytes.len()
        );
        Ok(())
    }
}

/// The code of the object that llvm-mc makes of a text.
pub fn assemble_with_llvm(target: &Target, text: &str) -> Result<Vec<u8>> {
    let scratch = scratch_dir();
    let [object, code] = ["object", "code"].map(|name| scratch.path().join(name));
    let mut command = Command::new("llvm-mc-22");
    command.args(["-triple=amdgcn", "-filetype=obj", "-o"]).arg(&object);
    command.arg(format!("-mcpu={}", target.processor.name()));
    command.arg(format!("-mattr={}", target.features));
    let output = with_input(&mut command, text.to_owned())?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "{target}: {}",
        errors.lines().take(8).collect::<Vec<_>>().join("\n")
    );
    let mut command = Command::new("llvm-objcopy-22");
    command.args(["-O", "binary", "--only-section=.text"]).args([&object, &code]);
    ensure!(command.status()?.success(), "llvm-objcopy fails");
    fs::read(&code).context("no code")
}

/// All golden rows of the target with that index; where upper bits of register numbers may be set, with and
/// without.
pub fn golden_rows(golden: &Golden, index: usize) -> Result<(ExactTally, Lines)> {
    let judge = ExactJudge::new(golden.targets.get(index).context("no such target")?)?;
    let (mut tally, mut lines) = (ExactTally::default(), Lines::default());
    for row in golden.rows() {
        let slot = row.slot();
        let Some(inst) = judge.decoder().decode(&slot) else {
            let word = slot.get(..4).unwrap_or_default();
            lines.add(&judge.add_data(word, &mut tally), word);
            continue;
        };
        let bytes = slot.get(..inst.len()).unwrap_or_default();
        lines.add(&judge.add(&inst, VgprMsb::default(), &mut tally), bytes);
        if judge.decoder().has_vgpr_msb() {
            let mut other = ExactTally::default();
            lines.add(&judge.add(&inst, OTHER_BANKS, &mut other), bytes);
            tally.wrong.append(&mut other.wrong);
        }
    }
    Ok((tally, lines))
}
