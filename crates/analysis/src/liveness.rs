//! Which registers are still needed.

use std::sync::OnceLock;

use hsaco_bytes::IndexVec;
use hsaco_isa::Decoder;
use hsaco_isa::effects::Lanes;

use crate::block_effects::{BlockEffects, Focus, Summary};
use crate::cfg::{BlockId, Cfg, Exit};
use crate::register_set::RegisterSet;
use crate::state::{KnownStates, States};
use crate::stream::Stream;

/// The registers whose values are needed before and after every block and instruction.
///
/// What the code cannot show counts as needed: all registers where a block leaves the function other
/// than by ending the wave, and before calls. A write of half a register keeps the other half, so
/// the register stays needed. Under [`Lanes::All`] a vector write replaces its register; under
/// [`Lanes::Some`] only where EXEC is known to enable every lane.
#[derive(Clone, Debug)]
pub struct Liveness<'a> {
    effects: BlockEffects<'a>,
    found: Place<'a>,
}

/// Where it is kept what was found.
#[derive(Clone, Debug)]
enum Place<'a> {
    Here(Found),
    There(&'a OnceLock<Found>),
}

/// What was worked out about a function, without the function: for who comes back to it now and then.
///
/// ```
/// use hsaco_analysis::{Cfg, Liveness, LivenessMemo, Stream};
/// use hsaco_isa::effects::Lanes;
/// use hsaco_isa::{Decoder, Processor};
/// let decoder = Decoder::new(Processor::from_name("gfx942").unwrap())?;
/// // v_add_u32 v3, v1, v2; s_endpgm
/// let code = [0x01, 0x05, 0x06, 0x68, 0x00, 0x00, 0x81, 0xbf];
/// let stream = Stream::decode(&decoder, 0, &code);
/// let cfg = Cfg::new(&decoder, &stream);
/// let memo = LivenessMemo::default();
/// for _ in 0..2 {
///     let liveness = Liveness::inside(&decoder, &stream, &cfg, Lanes::All, &memo);
///     assert_eq!(liveness.live_before(1).to_string(), "");
/// }
/// # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct LivenessMemo {
    focus: Focus,
    states: OnceLock<KnownStates>,
    found: OnceLock<Found>,
}

impl LivenessMemo {
    /// For who asks about these registers.
    #[must_use]
    pub fn new(focus: Focus) -> Self {
        LivenessMemo { focus, ..LivenessMemo::default() }
    }
}

/// What is needed at the start and the end of each block.
#[derive(Clone, Debug)]
struct Found {
    live_in: IndexVec<BlockId, RegisterSet>,
    live_out: IndexVec<BlockId, RegisterSet>,
}

impl<'a> Liveness<'a> {
    /// Works it out for a function.
    #[must_use]
    pub fn new(decoder: &'a Decoder, stream: &'a Stream<'a>, cfg: &'a Cfg, lanes: Lanes) -> Self {
        Self::of(BlockEffects::new(decoder, stream, cfg, lanes))
    }

    /// The same for who only asks what is needed inside blocks: [`walk`](Self::walk), [`walk_to`](Self::walk_to) and
    /// [`live_out`](Self::live_out). It is worked out when asked for, and kept in a memo that is this function's
    /// alone. What blocks need that no other leads to is not; [`live_in`](Self::live_in) of these is every register.
    #[must_use]
    pub fn inside(
        decoder: &'a Decoder,
        stream: &'a Stream<'a>,
        cfg: &'a Cfg,
        lanes: Lanes,
        memo: &'a LivenessMemo,
    ) -> Self {
        let states = || States::new(decoder, stream, cfg, lanes).into_known();
        let known = memo.states.get_or_init(states);
        let effects = BlockEffects::unseen(decoder, stream, cfg, lanes, memo.focus, known);
        Liveness { effects, found: Place::There(&memo.found) }
    }

    /// Works it out from what the blocks do.
    #[must_use]
    pub fn of(effects: BlockEffects<'a>) -> Self {
        let found = Found::new(effects.cfg, effects.focus, &effects.summaries);
        Liveness { effects, found: Place::Here(found) }
    }

    fn found(&self) -> &Found {
        let BlockEffects { cfg, focus, .. } = self.effects;
        let new = || Found::new(cfg, focus, &self.effects.summaries_of_joins());
        match &self.found {
            Place::Here(found) => found,
            Place::There(place) => place.get_or_init(new),
        }
    }

    /// The registers needed at the start of a block.
    #[must_use]
    pub fn live_in(&self, block: BlockId) -> RegisterSet {
        self.found().live_in[block]
    }

    /// The registers needed at the end of a block.
    #[must_use]
    pub fn live_out(&self, block: BlockId) -> RegisterSet {
        self.found().live_out[block]
    }

    /// The registers needed before an instruction.
    #[must_use]
    pub fn live_before(&self, step: usize) -> RegisterSet {
        let mut found = RegisterSet::default();
        if let Some(block) = self.effects.cfg.block_of(step) {
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
    pub fn walk(&self, block: BlockId, mut visit: impl FnMut(usize, &RegisterSet, &RegisterSet)) {
        let mut after = self.live_out(block);
        self.walk_to(block, 0, |index, before| {
            visit(index, before, &after);
            after = *before;
        });
    }

    /// Calls with the instructions of a block, from the last to `first` or to the block's first: the number of
    /// each, and the registers needed before it.
    pub fn walk_to(
        &self,
        block: BlockId,
        first: usize,
        mut visit: impl FnMut(usize, &RegisterSet),
    ) {
        let steps = self.effects.cfg.blocks()[block].steps();
        let mut needs = self.live_out(block);
        self.effects.each_backward(
            block,
            steps.start.max(first)..steps.end,
            |effects, index, state| {
                effects.add_needs(&mut needs, index, state);
                visit(index, &needs);
            },
        );
    }
}

impl Found {
    fn new(cfg: &Cfg, focus: Focus, summaries: &IndexVec<BlockId, Summary>) -> Self {
        let blocks = cfg.blocks();
        let always = blocks.filled(focus.always());
        let mut found = Found { live_in: always.clone(), live_out: always };
        let mut work: Vec<BlockId> = blocks.ids().collect();
        let mut is_waiting = blocks.filled(true);
        while let Some(block) = work.pop() {
            is_waiting[block] = false;
            if !found.flow_back(cfg, summaries, block) {
                continue;
            }
            for before in cfg.predecessors(block) {
                if !std::mem::replace(&mut is_waiting[before], true) {
                    work.push(before);
                }
            }
        }
        found
    }

    /// Works out what a block needs from what its successors need; whether that is more than before.
    fn flow_back(
        &mut self,
        cfg: &Cfg,
        summaries: &IndexVec<BlockId, Summary>,
        block: BlockId,
    ) -> bool {
        let mut live = match cfg.blocks()[block].exit {
            None | Some(Exit::End) => self.live_out[block],
            Some(Exit::Return | Exit::Outside(_) | Exit::Unknown) => RegisterSet::all(),
        };
        for next in cfg.successors(block) {
            live.union_with(&self.live_in[next]);
        }
        self.live_out[block] = live;
        let summary = &summaries[block];
        live.subtract(&summary.replaces);
        live.union_with(&summary.needs);
        self.live_in[block].union_with(&live)
    }
}
