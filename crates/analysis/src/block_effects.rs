//! What the instructions of each block do to registers, all together: one look at every instruction, which
//! liveness and resources share.

use hsaco_bytes::IndexVec;
use hsaco_isa::effects::{Effects, Flow, Lanes, Registers};
use hsaco_isa::model::{Register, RegisterFile, Special, VgprMsb};
use hsaco_isa::{Decoder, Inst};

use crate::cfg::{BlockId, Cfg};
use crate::register_set::RegisterSet;
use crate::state::{DESTINATION, KnownStates, State, States};
use crate::stream::Stream;
use crate::usage::{Usage, reached};

/// What a block needs of what came before, and what it replaces.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Summary {
    pub(crate) needs: RegisterSet,
    pub(crate) replaces: RegisterSet,
}

/// The registers that are asked about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Focus {
    /// All.
    #[default]
    All,
    /// Those that are no vector registers, which takes a fraction of the time. All vector registers count as needed.
    Scalars,
}

impl Focus {
    /// What is needed where nothing is that is asked about.
    pub(crate) fn always(self) -> RegisterSet {
        match self {
            Focus::All => RegisterSet::default(),
            Focus::Scalars => RegisterSet::vectors(),
        }
    }

    /// The registers that an instruction writes, and those that it reads.
    #[inline]
    pub fn registers<'a>(self, effects: &Effects<'a>) -> (Registers<'a>, Registers<'a>) {
        match self {
            Focus::All => (effects.writes(), effects.reads()),
            Focus::Scalars => effects.scalars(),
        }
    }
}

/// What the blocks of a function do to registers, and what the function uses.
#[derive(Clone, Debug)]
pub struct BlockEffects<'a> {
    pub(crate) decoder: &'a Decoder,
    pub(crate) stream: &'a Stream<'a>,
    pub(crate) cfg: &'a Cfg,
    pub(crate) focus: Focus,
    states: States<'a>,
    pub(crate) summaries: IndexVec<BlockId, Summary>,
    usage: Usage,
}

impl Usage {
    /// What a function uses: reachable code only, unless an indirect jump may go anywhere.
    #[must_use]
    pub fn new(decoder: &Decoder, stream: &Stream<'_>, cfg: &Cfg) -> Self {
        BlockEffects::new(decoder, stream, cfg, Lanes::All).usage().clone()
    }
}

impl<'a> BlockEffects<'a> {
    /// Looks at every instruction of a function.
    ///
    /// ```
    /// use hsaco_analysis::{BlockEffects, Cfg, Liveness, Stream};
    /// use hsaco_isa::effects::Lanes;
    /// use hsaco_isa::{Decoder, Processor};
    /// // v_add_u32 v3, v1, v2; s_endpgm
    /// let words = [0x6806_0501_u32, 0xbf81_0000];
    /// let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    /// let decoder = Decoder::new(Processor::from_name("gfx942").unwrap())?;
    /// let stream = Stream::decode(&decoder, 0, &bytes);
    /// let cfg = Cfg::new(&decoder, &stream);
    /// let effects = BlockEffects::new(&decoder, &stream, &cfg, Lanes::All);
    /// assert_eq!(effects.usage().vgprs(), 4);
    /// assert_eq!(Liveness::of(effects).live_in(cfg.entry().unwrap()).to_string(), "v[1:2] exec_lo exec_hi");
    /// # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
    /// ```
    #[must_use]
    pub fn new(decoder: &'a Decoder, stream: &'a Stream<'a>, cfg: &'a Cfg, lanes: Lanes) -> Self {
        let blocks = cfg.blocks();
        let mut effects = BlockEffects {
            decoder,
            stream,
            cfg,
            focus: Focus::All,
            states: States::new(decoder, stream, cfg, lanes),
            summaries: IndexVec::with_capacity(blocks.len()),
            usage: Usage { instructions: stream.len(), ..Usage::default() },
        };
        let mut is_reached = blocks.filled(false);
        for block in reached(stream, cfg) {
            is_reached[block] = true;
        }
        for (block, is_reached) in is_reached.enumerated() {
            effects.add_block(block, *is_reached);
        }
        effects
    }

    /// Ready to look at instructions, and none looked at yet.
    pub(crate) fn unseen(
        decoder: &'a Decoder,
        stream: &'a Stream<'a>,
        cfg: &'a Cfg,
        lanes: Lanes,
        focus: Focus,
        known: &'a KnownStates,
    ) -> Self {
        let states = States::known(decoder, stream, cfg, lanes, known);
        let (summaries, usage) = (IndexVec::default(), Usage::default());
        BlockEffects { decoder, stream, cfg, focus, states, summaries, usage }
    }

    /// What each block does that others lead to. The rest does not matter to any block, and needs all.
    pub(crate) fn summaries_of_joins(&self) -> IndexVec<BlockId, Summary> {
        let summaries = self.cfg.blocks().enumerated().map(|(id, block)| {
            if self.cfg.predecessors(id).next().is_none() {
                return Summary { needs: RegisterSet::all(), ..Summary::default() };
            }
            let mut summary = Summary::default();
            self.each_backward(id, block.steps(), |effects, index, state| {
                effects.add_to(&mut summary, index, state, None);
            });
            summary
        });
        summaries.collect()
    }

    /// What the function uses.
    #[must_use]
    pub fn usage(&self) -> &Usage {
        &self.usage
    }

    fn add_block(&mut self, block: BlockId, is_reached: bool) {
        let mut summary = Summary::default();
        let mut usage = std::mem::take(&mut self.usage);
        let steps = self.cfg.blocks()[block].steps();
        self.each_backward(block, steps, |effects, index, state| {
            effects.add_to(&mut summary, index, state, is_reached.then_some(&mut usage));
        });
        self.usage = usage;
        self.summaries.push(summary);
    }

    /// Puts an instruction before a summary, and takes note of what it uses where that is asked for.
    #[inline]
    pub(crate) fn add_to(
        &self,
        summary: &mut Summary,
        index: usize,
        state: State,
        mut usage: Option<&mut Usage>,
    ) {
        let Some(inst) = self.stream.inst(index) else {
            summary.needs = RegisterSet::all();
            usage.into_iter().for_each(|usage| usage.undecoded += 1);
            return;
        };
        // What callees leave of upper bits is what they found: none.
        let effects = self.decoder.effects(&inst, state.msb.unwrap_or_default());
        let indexed = state.indexed.filter(|_| inst.is_vector_alu());
        let writes_any = indexed.is_some_and(|operands| operands & DESTINATION != 0);
        let (writes, reads) = self.focus.registers(&effects);
        writes.for_each(|register| {
            if let Some(usage) = &mut usage {
                usage.add_write(self.decoder, &inst, &register);
            }
            let is_certain = !(writes_any && register.file == RegisterFile::Vgpr);
            if state.msb.is_some() && is_certain && effects.is_overwritten(&register, state.lanes) {
                summary.needs.remove(&register);
                summary.replaces.insert(&register);
            }
        });
        reads.for_each(|register| {
            if let Some(usage) = &mut usage {
                usage.add_read(&inst, &register, &effects);
            }
            summary.needs.insert(&register);
            if indexed.is_some() && register.file == RegisterFile::Vgpr {
                insert_from(&mut summary.needs, &register);
            }
        });
        if indexed.is_some() {
            let m0 = RegisterFile::Special(Special::M0);
            summary.needs.insert(&Register { file: m0, first: 0, count: 1, half: None });
        }
        if let Some(usage) = usage {
            usage.add_memory(self.decoder, &inst, &effects);
        }
        if state.msb.is_none() {
            self.add_any_bank(summary, &inst, state.lanes);
        }
        if matches!(inst.flow(), Flow::Call | Flow::IndirectCall) {
            summary.needs = RegisterSet::all();
        }
        effects.indexed().for_each(|register| insert_from(&mut summary.needs, &register));
    }

    /// What is needed before an instruction, from what is needed after it.
    #[inline]
    pub(crate) fn add_needs(&self, needs: &mut RegisterSet, index: usize, state: State) {
        let msb = match self.focus {
            Focus::All => state.msb,
            Focus::Scalars => Some(VgprMsb::default()),
        };
        let (Some(inst), Some(msb), None) = (self.stream.inst(index), msb, state.indexed) else {
            let mut summary = Summary { needs: *needs, ..Summary::default() };
            self.add_to(&mut summary, index, state, None);
            *needs = summary.needs;
            return;
        };
        let effects = self.decoder.effects(&inst, msb);
        let (writes, reads) = self.focus.registers(&effects);
        writes.for_each(|register| {
            if effects.is_overwritten(&register, state.lanes) {
                needs.remove(&register);
            }
        });
        reads.for_each(|register| needs.insert(&register));
        if matches!(effects.flow(), Flow::Call | Flow::IndirectCall) {
            *needs = RegisterSet::all();
        }
        if effects.is_indexed() {
            effects.indexed().for_each(|register| insert_from(needs, &register));
        }
    }

    /// Where the upper bits of vector registers are not known: reads any, replaces none.
    fn add_any_bank(&self, summary: &mut Summary, inst: &Inst, lanes: Lanes) {
        for bank in [0x00, 0x55, 0xaa, 0xff] {
            let effects = self.decoder.effects(inst, VgprMsb::new(bank));
            let scalar =
                effects.overwrites(lanes).filter(|register| register.file != RegisterFile::Vgpr);
            for register in scalar {
                summary.needs.remove(&register);
                summary.replaces.insert(&register);
            }
        }
        for bank in [0x00, 0x55, 0xaa, 0xff] {
            let effects = self.decoder.effects(inst, VgprMsb::new(bank));
            effects.reads().for_each(|register| summary.needs.insert(&register));
        }
    }

    /// Calls with the last instructions of a block from the last to the first, each with the state before it.
    pub(crate) fn each_backward(
        &self,
        block: BlockId,
        steps: std::ops::Range<usize>,
        mut visit: impl FnMut(&Self, usize, State),
    ) {
        let mut state = self.states.before_block(block);
        let is_known = self.focus == Focus::Scalars && !self.states.has_index_mode();
        if self.states.never_change() || is_known {
            steps.rev().for_each(|index| visit(self, index, state));
            return;
        }
        let first = self.cfg.blocks()[block].first;
        let mut states = Vec::with_capacity(steps.len());
        for index in first..steps.end {
            if index >= steps.start {
                states.push(state);
            }
            state = self.states.after(state, index);
        }
        for (index, state) in steps.zip(states).rev() {
            visit(self, index, state);
        }
    }
}

/// Adds a register and all after it in its file; and the first, which stands for those beyond the last.
fn insert_from(set: &mut RegisterSet, register: &Register) {
    let last = match register.file {
        RegisterFile::Vgpr => 1024,
        RegisterFile::Agpr => 256,
        _ => 106,
    };
    for first in (register.first..last).chain([0]) {
        set.insert(&Register { first, count: 1, half: None, ..*register });
    }
}
