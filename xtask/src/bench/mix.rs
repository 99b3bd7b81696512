//! Code that does not repeat: distinct instructions in the mix of real kernels.
//!
//! A table has a line for each kind of instruction that kernels of a target have: a form under modifiers and constants. Its
//! registers, offsets and literals are drawn anew for each instruction.

#![allow(
    clippy::indexing_slicing,
    reason = "numbers of rows and sizes of instructions that were just decoded"
)]

mod survey;

use std::collections::HashSet;

use anyhow::{Context as _, Result};
use hsaco::bytes::hex;
use hsaco::isa::model::{Form, OperandValue, Register, RegisterFile};
use hsaco::isa::{Decoder, Inst, Processor};
use hsaco_tests::random::Random;

pub(crate) use survey::{VERB, run};

/// The tables; each says what it was counted in.
pub(super) const TARGETS: [(&str, &str); 5] = [
    ("gfx942", include_str!("mix/gfx942.tsv")),
    ("gfx950", include_str!("mix/gfx950.tsv")),
    ("gfx1100", include_str!("mix/gfx1100.tsv")),
    ("gfx1201", include_str!("mix/gfx1201.tsv")),
    ("gfx1250", include_str!("mix/gfx1250.tsv")),
];

/// Bytes of one instruction, of which the first ones count.
type Bytes = [u8; 20];

/// How often a kind of instruction is drawn before another takes its turn: of `s_barrier` there is only one.
const ATTEMPTS: usize = 64;

/// One kind of instruction.
struct Row {
    /// How many there are of it, and in how many runs of one after the other.
    count: usize,
    runs: usize,
    example: Bytes,
    /// The bits that may be anything, as long as the instruction stays of its kind.
    free: Bytes,
    kind: Kind,
}

/// What does not change from one instruction of a kind to another.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Kind {
    form: Form,
    size: usize,
    operands: Vec<(&'static str, Fixed)>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Fixed {
    /// A register of a file.
    Register(RegisterFile, u8),
    /// Anything.
    Free,
    Value(OperandValue),
}

impl Kind {
    fn of(decoder: &Decoder, inst: &Inst) -> Self {
        let fixed = |name: &str, value| match value {
            OperandValue::Register(Register { file, count, .. }) => Fixed::Register(file, count),
            OperandValue::Literal32(_) | OperandValue::Literal64(_) => Fixed::Free,
            OperandValue::Number(_) if name.starts_with("offset") => Fixed::Free,
            OperandValue::Number(_) if inst.branch_target(0).is_some() => Fixed::Free,
            value => Fixed::Value(value),
        };
        let operands = decoder.operands(inst).map(|it| (it.name, fixed(it.name, it.value)));
        Self { form: inst.form(), size: inst.len(), operands: operands.collect() }
    }
}

/// The instruction that bytes begin with, as long as LLVM has nothing to remark on it.
fn decode(decoder: &Decoder, bytes: &[u8]) -> Option<Inst> {
    let inst = decoder.decode(bytes)?;
    let mut remarks = Vec::new();
    decoder.print_remarks(&inst, &mut remarks);
    // A register that operands of its class cannot be has its remark beside it.
    let is_silent = remarks.is_empty() && !decoder.text(&inst).contains("/*");
    (is_silent && !inst.is_doubtful()).then_some(inst)
}

/// So many instructions, which are distinct as far as their kinds have enough encodings, one after the other, and where
/// each kernel of so many ends.
pub(super) fn code(target: &str, count: usize, kernel: usize) -> Result<(Vec<u8>, Vec<usize>)> {
    let table = TARGETS.iter().find(|it| it.0 == target).context("there is no mix of it")?.1;
    let decoder = Decoder::new(Processor::from_name(target).context("no such processor")?)?;
    let rows = table.lines().filter(|line| !line.starts_with('#'));
    let rows: Vec<Row> = rows.map(|line| row(&decoder, line)).collect::<Result<_>>()?;
    let turns: Vec<usize> = (0..rows.len()).flat_map(|it| vec![it; rows[it].runs]).collect();
    let (mut random, mut seen) = (Random::new(0), HashSet::new());
    let (mut code, mut ends, mut made) = (Vec::new(), Vec::new(), 0);
    while made < count {
        let row = &rows[random.pick(&turns)];
        for _ in 0..row.run_length(&mut random) {
            let mut attempts = (0..ATTEMPTS).filter_map(|_| row.draw(&decoder, &mut random));
            let fresh = attempts.find(|it| seen.insert(*it));
            code.extend_from_slice(&fresh.unwrap_or(row.example)[..row.kind.size]);
            made += 1;
            if made % kernel == 0 {
                ends.push(code.len());
            }
        }
    }
    code.truncate(ends.last().copied().unwrap_or(0));
    Ok((code, ends))
}

impl Row {
    /// Runs are as long as in real code on average, with any length below twice that.
    fn run_length(&self, random: &mut Random) -> usize {
        let mean = self.count.div_ceil(self.runs);
        1 + random.below(2 * mean - 1)
    }

    fn draw(&self, decoder: &Decoder, random: &mut Random) -> Option<Bytes> {
        let mut bytes = self.example;
        for (byte, free) in bytes.iter_mut().zip(self.free) {
            *byte = *byte & !free | random.bits().to_le_bytes()[7] & free;
        }
        let inst = decode(decoder, &bytes[..self.kind.size])?;
        (Kind::of(decoder, &inst) == self.kind).then_some(bytes)
    }
}

/// A line has a count, a number of runs, an example and its free bits, and a text for people.
fn row(decoder: &Decoder, line: &str) -> Result<Row> {
    let mut columns = line.split('\t');
    let mut column = || columns.next().context("a column is missing");
    let [count, runs] = [column()?.parse()?, column()?.parse()?];
    let mut bytes = || -> Result<_> { hex::decode(column()?).context("no hexadecimal digits") };
    let [example, free] = [bytes()?, bytes()?];
    let inst = decode(decoder, &example).with_context(|| format!("no instruction: {line}"))?;
    let [example, free] = [padded(&example), padded(&free)];
    Ok(Row { count, runs, example, free, kind: Kind::of(decoder, &inst) })
}

fn padded(bytes: &[u8]) -> Bytes {
    let mut padded = Bytes::default();
    padded.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    padded
}
