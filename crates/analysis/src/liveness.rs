//! Which registers are still needed.

use hsaco_isa::{Decoder, Flow, Inst, Lanes, Register, RegisterFile, VgprMsb};

use crate::cfg::{Block, Cfg, Exit};
use crate::register_set::RegisterSet;
use crate::state::{State, States};
use crate::stream::Stream;

/// The registers whose values are needed before and after every block and instruction.
///
/// What the code cannot show counts as needed: all registers where a block leaves the function other
/// than by ending the wave, and before calls. A write of half a register keeps the other half, so
/// the register stays needed. Under [`Lanes::All`] a vector write replaces its register; under
/// [`Lanes::Some`] only where EXEC is known to enable every lane.
#[derive(Clone, Debug)]
pub struct Liveness<'a> {
    decoder: &'a Decoder,
    stream: &'a Stream,
    cfg: &'a Cfg,
    states: States<'a>,
    live_in: Vec<RegisterSet>,
    live_out: Vec<RegisterSet>,
}

/// What a block needs of what came before, and what it replaces.
#[derive(Clone, Copy, Default)]
struct Summary {
    needs: RegisterSet,
    replaces: RegisterSet,
}

impl<'a> Liveness<'a> {
    /// Works it out for a function.
    #[must_use]
    pub fn new(decoder: &'a Decoder, stream: &'a Stream, cfg: &'a Cfg, lanes: Lanes) -> Self {
        let count = cfg.blocks().len();
        let states = States::new(decoder, stream, cfg, lanes);
        let empty = vec![RegisterSet::default(); count];
        let mut liveness =
            Liveness { decoder, stream, cfg, states, live_in: empty.clone(), live_out: empty };
        let summaries: Vec<Summary> = (0..count).map(|block| liveness.summary(block)).collect();
        let mut work: Vec<usize> = (0..count).collect();
        let mut is_waiting = vec![true; count];
        while let Some(block) = work.pop() {
            set(&mut is_waiting, block, false);
            if !liveness.flow_back(block, &summaries) {
                continue;
            }
            for before in cfg.predecessors(block) {
                if !is_waiting.get(before).copied().unwrap_or(true) {
                    set(&mut is_waiting, before, true);
                    work.push(before);
                }
            }
        }
        liveness
    }

    /// The registers needed at the start of a block.
    #[must_use]
    pub fn live_in(&self, block: usize) -> RegisterSet {
        self.live_in.get(block).copied().unwrap_or_default()
    }

    /// The registers needed at the end of a block.
    #[must_use]
    pub fn live_out(&self, block: usize) -> RegisterSet {
        self.live_out.get(block).copied().unwrap_or_default()
    }

    /// The registers needed before an instruction.
    #[must_use]
    pub fn live_before(&self, step: usize) -> RegisterSet {
        let mut found = RegisterSet::default();
        if let Some(block) = self.cfg.block_of(step) {
            self.walk(block, |index, before, _| {
                if index == step {
                    found = *before;
                }
            });
        }
        found
    }

    /// Calls with each instruction of a block, from the last to the first: its number, and the
    /// registers needed before and after it.
    pub fn walk(&self, block: usize, mut visit: impl FnMut(usize, &RegisterSet, &RegisterSet)) {
        let Some(steps) = self.cfg.blocks().get(block).map(Block::steps) else { return };
        let mut live = self.live_out(block);
        self.each_backward(block, steps, |liveness, index, state| {
            let after = live;
            liveness.step_back(index, state, &mut live);
            visit(index, &live, &after);
        });
    }

    /// Works out what a block needs from what its successors need; whether that is more than before.
    fn flow_back(&mut self, block: usize, summaries: &[Summary]) -> bool {
        let mut live = match self.cfg.blocks().get(block).and_then(|block| block.exit) {
            None | Some(Exit::End) => RegisterSet::default(),
            Some(Exit::Return | Exit::Outside(_) | Exit::Unknown) => RegisterSet::all(),
        };
        for next in self.cfg.successors(block) {
            if let Some(needed) = self.live_in.get(next) {
                live.union_with(needed);
            }
        }
        let out = live;
        if let Some(summary) = summaries.get(block) {
            live.subtract(&summary.replaces);
            live.union_with(&summary.needs);
        }
        if let Some(place) = self.live_out.get_mut(block) {
            *place = out;
        }
        self.live_in.get_mut(block).is_some_and(|place| place.union_with(&live))
    }

    fn summary(&self, block: usize) -> Summary {
        let mut summary = Summary::default();
        let Some(steps) = self.cfg.blocks().get(block).map(Block::steps) else { return summary };
        self.each_backward(block, steps, |liveness, index, state| {
            liveness.add_to(&mut summary, index, state);
        });
        summary
    }

    /// Calls with the instructions of a block from the last to the first, each with the state before it.
    fn each_backward(
        &self,
        block: usize,
        steps: std::ops::Range<usize>,
        mut visit: impl FnMut(&Self, usize, State),
    ) {
        let mut state = self.states.before_block(block);
        if self.states.never_change() {
            steps.rev().for_each(|index| visit(self, index, state));
            return;
        }
        let mut states = Vec::with_capacity(steps.len());
        for index in steps.clone() {
            states.push(state);
            state = self.states.after(state, index);
        }
        for (index, state) in steps.zip(states).rev() {
            visit(self, index, state);
        }
    }

    /// From what is needed after an instruction to what is needed before it.
    fn step_back(&self, index: usize, state: State, live: &mut RegisterSet) {
        let mut summary = Summary { needs: *live, replaces: RegisterSet::default() };
        self.add_to(&mut summary, index, state);
        *live = summary.needs;
    }

    /// Puts an instruction before a summary.
    fn add_to(&self, summary: &mut Summary, index: usize, state: State) {
        let Some(inst) = self.stream.inst(index) else {
            summary.needs = RegisterSet::all();
            return;
        };
        match state.msb {
            Some(msb) => {
                let effects = self.decoder.effects(inst, msb);
                for register in effects.overwrites(state.lanes) {
                    summary.needs.remove(&register);
                    summary.replaces.insert(&register);
                }
                effects.reads().for_each(|register| summary.needs.insert(&register));
            }
            None => self.add_any_bank(summary, inst, state.lanes),
        }
        if matches!(inst.flow(), Flow::Call | Flow::IndirectCall) {
            summary.needs = RegisterSet::all();
        }
        let indexed = self.decoder.effects(inst, VgprMsb::default()).indexed();
        indexed.for_each(|register| insert_from(&mut summary.needs, &register));
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
}

/// Adds a register and all after it in its file.
fn insert_from(set: &mut RegisterSet, register: &Register) {
    let last = match register.file {
        RegisterFile::Vgpr => 1024,
        RegisterFile::Agpr => 256,
        _ => 106,
    };
    for first in register.first..last {
        set.insert(&Register { first, count: 1, half: None, ..*register });
    }
}

fn set(list: &mut [bool], at: usize, to: bool) {
    if let Some(place) = list.get_mut(at) {
        *place = to;
    }
}
