//! From instructions to steps: blocks of code, translated when they are first reached.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "fields of encodings are cut to their widths"
)]

mod errata;
mod matrix;
mod memory;
mod operand;
mod salu;
mod small;
mod valu;

use std::collections::HashMap;
use std::sync::Arc;

use hsaco_isa::effects::Flow;
use hsaco_isa::errata::{WMMA_HAZARD, WMMA_SPLIT};
use hsaco_isa::model::{Operand, VgprMsb};
use hsaco_isa::target::{Generation, WaveSize};
use hsaco_isa::{Decoder, Inst, Processor};

use crate::error::{Error, ErrorKind, Result};
use crate::exec::memory::Source;
use crate::generated::{Op, TARGETS};
use crate::matrix::Matrix;
use crate::memory::Memory;
use crate::num;
use crate::revision::{self, Revision};
use crate::semantics::{self, Fidelity, Semantics};
use crate::step::{Handler, Host, Step};
use crate::wave::{Layout, Mode, Vector, Wave, scalar};

/// Instructions of a block at most.
const MAX_BLOCK: usize = 128;

/// What of a processor decides how instructions are translated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    pub(crate) processor: Processor,
    pub(crate) generation: Generation,
    pub(crate) revision: Revision,
}

impl Target {
    /// The stepping that ships.
    pub(crate) fn new(processor: Processor) -> Self {
        Self { processor, generation: processor.generation(), revision: Revision::default() }
    }

    /// Whether it has the errata of stepping A0.
    fn has_errata(self) -> bool {
        self.revision == Revision::A0 && self.processor.name() == "gfx1250"
    }

    pub(crate) fn is_gfx9(self) -> bool {
        self.generation < Generation::Gfx10
    }

    /// The number of the target that its fidelity is that of.
    pub(crate) fn column(self) -> usize {
        let like = match self.numerics() {
            num::Generation::Gfx908 | num::Generation::Gfx90a => "gfx90a",
            num::Generation::Gfx942 => "gfx942",
            num::Generation::Gfx950 => "gfx950",
            num::Generation::Gfx103 => "gfx1030",
            num::Generation::Gfx11 => "gfx1100",
            num::Generation::Gfx12 => "gfx1201",
            num::Generation::Gfx1250 => "gfx1250",
        };
        let position = |name: &str| TARGETS.iter().position(|it| *it == name);
        position(self.processor.name()).or_else(|| position(like)).unwrap_or(0)
    }

    /// How it computes with floats.
    pub(crate) fn numerics(self) -> num::Generation {
        match self.generation {
            Generation::Gfx940 if self.processor.name() == "gfx950" => num::Generation::Gfx950,
            Generation::Gfx940 => num::Generation::Gfx942,
            Generation::Gfx90a => num::Generation::Gfx90a,
            Generation::Gfx10 => num::Generation::Gfx103,
            Generation::Gfx11 => num::Generation::Gfx11,
            Generation::Gfx12 => num::Generation::Gfx12,
            Generation::Gfx125 => num::Generation::Gfx1250,
            _ => num::Generation::Gfx908,
        }
    }
}

/// Constants that steps read like registers.
#[derive(Debug, Default)]
pub(crate) struct Pools {
    vector: Vec<u32>,
    vector_at: HashMap<(u32, Option<u32>), u16>,
    /// Scalar registers, one or two, that are kept in all lanes of a vector.
    broadcasts: HashMap<(u16, bool), u16>,
    scalar: Vec<u32>,
    scalar_at: HashMap<(u32, Option<u32>), u16>,
    matrices: Vec<Arc<Matrix>>,
    zeros: Option<u16>,
}

impl Pools {
    /// The number of a constant, or of two after each other.
    fn add(
        list: &mut Vec<u32>,
        known: &mut HashMap<(u32, Option<u32>), u16>,
        low: u32,
        high: Option<u32>,
    ) -> u16 {
        *known.entry((low, high)).or_insert_with(|| {
            let at = list.len() as u16;
            list.push(low);
            list.extend(high);
            at
        })
    }

    fn vector(&mut self, low: u32, high: Option<u32>) -> u16 {
        Self::add(&mut self.vector, &mut self.vector_at, low, high)
    }

    /// The number of what is kept for a scalar register, or for two. It is zero at first, in all lanes.
    fn broadcast(&mut self, register: u16, is_pair: bool) -> u16 {
        let list = &mut self.vector;
        *self.broadcasts.entry((register, is_pair)).or_insert_with(|| {
            let at = list.len() as u16;
            list.extend(std::iter::repeat_n(0, 1 + usize::from(is_pair)));
            at
        })
    }

    fn scalar(&mut self, low: u32, high: Option<u32>) -> u16 {
        Self::add(&mut self.scalar, &mut self.scalar_at, low, high)
    }

    /// The number of a matrix operation.
    fn matrix(&mut self, matrix: Matrix) -> u64 {
        self.matrices.push(Arc::new(matrix));
        self.matrices.len() as u64 - 1
    }

    /// The number of four zeros after each other.
    fn zeros(&mut self) -> u16 {
        *self.zeros.get_or_insert_with(|| {
            let at = self.scalar.len() as u16;
            self.scalar.extend([0; 4]);
            at
        })
    }

    /// Gives a wave the constants that it does not have yet.
    pub(crate) fn fill<const C: usize>(&self, layout: Layout, wave: &mut Wave<C>) {
        let (vectors, scalars) = (usize::from(layout.constants()), usize::from(scalar::CONSTANTS));
        // One more, so that pairs of anything stay inside.
        if wave.v.len() < vectors + self.vector.len() + 2 {
            wave.v.truncate(vectors);
            wave.v.extend(self.vector.iter().map(|value| Vector::splat(*value)));
            wave.v.extend([Vector::ZERO; 2]);
        }
        if wave.s.len() < scalars + self.scalar.len() + 4 {
            wave.s.truncate(scalars);
            wave.s.extend(&self.scalar);
            wave.s.extend([0; 4]);
        }
        wave.matrices.extend(self.matrices.iter().skip(wave.matrices.len()).cloned());
    }
}

/// What decides a conditional branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    Scc(bool),
    VccZero(bool),
    ExecZero(bool),
}

/// Where execution goes after a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    To(u64),
    If(Condition, u64, u64),
    /// Where a step has put the program counter.
    Indirect,
    /// Nowhere.
    Stop,
}

/// Instructions that run one after the other.
pub(crate) struct Block<const C: usize> {
    pub(crate) steps: Vec<Step<C>>,
    /// The addresses of its instructions.
    pub(crate) addresses: Vec<u64>,
    /// Their lines in the table.
    pub(crate) semantics: Vec<&'static Semantics>,
    pub(crate) end: End,
    /// The blocks that follow, once known: the state they were translated for is the one at the end of this.
    pub(crate) next: [Option<u32>; 2],
    /// How often it ran.
    pub(crate) runs: u64,
    /// Whether the state that translation depends on may have changed at its end.
    pub(crate) changes_state: bool,
}

/// The state of a wave that translation depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TranslationState {
    mode: u32,
    msb: u16,
    index_mode: u8,
    index: u8,
}

impl TranslationState {
    pub(crate) fn of<const C: usize>(wave: &Wave<C>) -> Self {
        let index = if wave.index_mode == 0 {
            0
        } else {
            wave.s.get(usize::from(scalar::M0)).map_or(0, |it| *it as u8)
        };
        Self { mode: wave.mode.0 & 0x0080_03ff, msb: wave.msb, index_mode: wave.index_mode, index }
    }
}

/// The code of a dispatch, as far as it has run.
pub(crate) struct Program<const C: usize> {
    decoder: Decoder,
    target: Target,
    pub(crate) layout: Layout,
    host: Host,
    /// Whether something looks at waves between the steps of an instruction.
    is_watched: bool,
    pub(crate) pools: Pools,
    pub(crate) blocks: Vec<Block<C>>,
    known: HashMap<(u64, TranslationState), u32>,
}

impl<const C: usize> Program<C> {
    pub(crate) fn new(target: Target, layout: Layout) -> Result<Self> {
        Ok(Self {
            decoder: decoder::<C>(target)?,
            target,
            layout,
            host: Host::detect(),
            is_watched: false,
            pools: Pools::default(),
            blocks: Vec::new(),
            known: HashMap::new(),
        })
    }

    /// The same with other handlers.
    #[cfg(test)]
    pub(crate) fn on(self, host: Host) -> Self {
        Self { host, ..self }
    }

    /// The same, where something looks at the addresses of accesses.
    pub(crate) fn watched(self, is_watched: bool) -> Self {
        Self { is_watched, ..self }
    }

    /// The block at an address.
    pub(crate) fn block(
        &mut self,
        address: u64,
        state: TranslationState,
        memory: &Memory,
    ) -> Result<u32> {
        if let Some(number) = self.known.get(&(address, state)) {
            return Ok(*number);
        }
        let block = self.translate(address, state, memory)?;
        let number = self.blocks.len() as u32;
        self.blocks.push(block);
        self.known.insert((address, state), number);
        Ok(number)
    }

    /// The text of the instruction at an address.
    pub(crate) fn text(&self, address: u64, memory: &Memory) -> String {
        self.decode(address, memory).map_or_else(String::new, |inst| self.decoder.text(&inst))
    }

    fn decode(&self, address: u64, memory: &Memory) -> Option<Inst> {
        decode(&self.decoder, address, memory)
    }

    fn translate(
        &mut self,
        start: u64,
        state: TranslationState,
        memory: &Memory,
    ) -> Result<Block<C>> {
        let mut block = Block {
            steps: Vec::new(),
            addresses: Vec::new(),
            semantics: Vec::new(),
            end: End::Stop,
            next: [None; 2],
            runs: 0,
            changes_state: false,
        };
        let mut address = start;
        loop {
            let Some(inst) = self.decode(address, memory) else {
                // What came before runs; the next block fails at its first instruction.
                if !block.addresses.is_empty() {
                    block.end = End::To(address);
                    return Ok(block);
                }
                let detail = format!("no instruction at {address:#x}");
                return Err(Error::new(ErrorKind::IllegalInstruction, detail));
            };
            let next = address + inst.len() as u64;
            let met = self.errata(&inst, next, memory);
            let at = block.addresses.len() as u16;
            let translated = self.instruction(&inst, address, state, at, &met);
            let (steps, end, semantics) = match translated {
                Ok(translated) => translated,
                Err(error) if block.addresses.is_empty() => return Err(error),
                Err(_) => {
                    block.end = End::To(address);
                    return Ok(block);
                }
            };
            block.steps.extend(steps);
            block.addresses.push(address);
            block.semantics.push(semantics);
            address = next;
            match end {
                Some(After::Flow(end)) => {
                    block.end = end;
                    return Ok(block);
                }
                Some(After::State) => {
                    block.end = End::To(next);
                    block.changes_state = true;
                    return Ok(block);
                }
                None if block.addresses.len() == MAX_BLOCK => {
                    block.end = End::To(next);
                    return Ok(block);
                }
                None => {}
            }
        }
    }

    /// The numbers of the errata that an instruction may meet.
    fn errata(&self, inst: &Inst, next: u64, memory: &Memory) -> Vec<u16> {
        if !self.target.has_errata() {
            return Vec::new();
        }
        revision::met_by(&self.decoder, inst, self.decode(next, memory).as_ref())
    }

    /// What the device takes an instruction for.
    fn executed(&self, inst: Inst, met: &[u16]) -> Inst {
        if !met.contains(&revision::number_of(&WMMA_SPLIT)) || inst.len() != 8 {
            return inst;
        }
        let mut bytes = inst.bytes();
        if let Some(opcode) = bytes.get_mut(2) {
            *opcode &= 0x7f;
        }
        self.decoder.decode(&bytes).filter(|it| it.len() == inst.len()).unwrap_or(inst)
    }

    #[allow(clippy::type_complexity, reason = "what one instruction is translated to")]
    fn instruction(
        &mut self,
        inst: &Inst,
        address: u64,
        state: TranslationState,
        at: u16,
        met: &[u16],
    ) -> Result<(Vec<Step<C>>, Option<After>, &'static Semantics)> {
        let decoded = *inst;
        let inst = &self.executed(decoded, met);
        let semantics = lookup(inst.mnemonic(), self.target)?;
        let msb = VgprMsb::new(state.msb as u8);
        let operands: Vec<Operand> = self.decoder.operands_in(inst, msb).collect();
        let mut builder = Builder {
            target: self.target,
            layout: self.layout,
            host: self.host,
            is_watched: self.is_watched,
            source: None,
            pools: &mut self.pools,
            mode: Mode(state.mode),
            index: (state.index_mode, state.index),
            inst,
            operands: &operands,
            address,
            at,
            steps: Vec::new(),
            temporaries: 0,
        };
        if builder.target.has_errata() {
            builder.errata(met)?;
        }
        let after = builder.translate(semantics)?;
        if met.contains(&revision::number_of(&WMMA_HAZARD)) {
            builder.remember_matrix();
        }
        Ok((builder.steps, after, semantics))
    }
}

/// A decoder for what waves of so many lanes run.
pub(crate) fn decoder<const C: usize>(target: Target) -> Result<Decoder> {
    let wave_size = if C == 8 { WaveSize::Wave64 } else { WaveSize::Wave32 };
    hsaco_analysis::hardware_decoder(target.processor, wave_size)
        .map_err(|it| Error::new(ErrorKind::Setup, it.to_string()))
}

/// The instruction at an address.
pub(crate) fn decode(decoder: &Decoder, address: u64, memory: &Memory) -> Option<Inst> {
    // Near the end of the code fewer bytes may be left than the longest instruction has.
    let bytes = [20, 16, 12, 8, 4].iter().find_map(|size| memory.read(address, *size).ok())?;
    let mut padded = [0; 20];
    padded.iter_mut().zip(&bytes).for_each(|(to, from)| *to = *from);
    decoder.decode(&padded).filter(|inst| inst.len() <= bytes.len())
}

/// The text of the instruction at an address.
pub(crate) fn text(target: Target, address: u64, memory: &Memory) -> String {
    let Ok(decoder) = decoder::<4>(target) else { return String::new() };
    decode(&decoder, address, memory).map_or_else(String::new, |inst| decoder.text(&inst))
}

/// The line of an instruction that runs.
fn lookup(mnemonic: &str, target: Target) -> Result<&'static Semantics> {
    let unsupported = |detail: String| Error::new(ErrorKind::Unsupported, detail);
    let semantics = semantics::find(mnemonic)
        .ok_or_else(|| unsupported(format!("{mnemonic} is of no target that is emulated")))?;
    match semantics.fidelity_on(target.column()) {
        Fidelity::Unwritten => Err(unsupported(format!("{mnemonic} is not written yet"))),
        Fidelity::Refused => Err(unsupported(format!("{mnemonic}: {}", semantics.reason))),
        _ => Ok(semantics),
    }
}

/// What ends a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    Flow(End),
    /// The next instruction, which may have to be translated for another state.
    State,
}

/// Translates one instruction.
pub(crate) struct Builder<'b, const C: usize> {
    target: Target,
    layout: Layout,
    host: Host,
    is_watched: bool,
    /// Where the addresses of an access come from.
    source: Option<Source>,
    pools: &'b mut Pools,
    mode: Mode,
    /// The bits of `s_set_gpr_idx_on`, and the index.
    index: (u8, u8),
    inst: &'b Inst,
    operands: &'b [Operand],
    address: u64,
    at: u16,
    steps: Vec<Step<C>>,
    temporaries: u16,
}

/// The registers of a step.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Registers {
    pub(crate) d: u16,
    pub(crate) a: u16,
    pub(crate) b: u16,
    pub(crate) c: u16,
    pub(crate) e: u16,
    pub(crate) k: u64,
}

impl<const C: usize> Builder<'_, C> {
    fn push(&mut self, run: Handler<C>, registers: Registers) {
        let Registers { d, a, b, c, e, k } = registers;
        self.steps.push(Step { run, d, a, b, c, e, at: self.at, k });
    }

    fn next(&self) -> u64 {
        self.address + self.inst.len() as u64
    }

    /// So many vector registers for values within the instruction.
    fn temporary(&mut self, count: u16) -> Result<u16> {
        let first = self.layout.temporary() + self.temporaries;
        self.temporaries += count;
        if self.temporaries > Layout::TEMPORARIES {
            return Err(self.unsupported("too many operands"));
        }
        Ok(first)
    }

    fn unsupported(&self, why: &str) -> Error {
        let detail = format!("{}: {why}", self.inst.full_mnemonic());
        Error::new(ErrorKind::Unsupported, detail)
    }

    fn translate(&mut self, semantics: &'static Semantics) -> Result<Option<After>> {
        use hsaco_isa::model::Format;
        match self.inst.format() {
            Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk | Format::Sopp => {
                self.scalar_instruction(semantics)
            }
            Format::Smem => self.scalar_memory(semantics).map(|()| None),
            _ if matches!(semantics.op, Op::DsGwsInit | Op::DsGwsBarrier) => {
                self.grid_barrier(semantics.op)
            }
            Format::Ds
            | Format::Flat
            | Format::Global
            | Format::Scratch
            | Format::Mubuf
            | Format::Mtbuf => self.vector_memory(semantics).map(|()| None),
            _ if matches!(semantics.op, Op::TensorLoadToLds | Op::TensorStoreFromLds) => {
                self.tensor(semantics.op).map(|()| None)
            }
            Format::Vopd => self.dual(semantics).map(|()| None),
            _ if matches!(semantics.op, Op::SNop | Op::Nop | Op::VNop) => Ok(None),
            _ if semantics.op == Op::VIllegal => {
                self.push(crate::exec::control::illegal::<C>, Registers::default());
                Ok(None)
            }
            _ if self.inst.mnemonic().starts_with("s_") => self.scalar_instruction(semantics),
            _ if self.inst.flow() == Flow::End => Ok(Some(After::Flow(End::Stop))),
            _ => self.vector(semantics, valu::Part::Single).map(|()| None),
        }
    }
}
