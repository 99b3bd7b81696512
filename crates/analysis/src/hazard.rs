//! Instructions that stand closer together than the processor's hazards allow.
//!
//! From each instruction that may be the second of a hazard a walk goes back over all paths, as far as any hazard reaches;
//! `isa`'s tables ([`Hazards`]) say what two instructions demand and what one in between adds to their distance.

use hsaco_isa::Decoder;
use hsaco_isa::effects::hazard::{Demand, Doubt, Hazards, Kinds, Outlook, Passage};
use hsaco_isa::effects::{Effects, Flow};
use hsaco_isa::model::VgprMsb;

use crate::cfg::{BlockId, Cfg};
use crate::state::States;
use crate::stream::Stream;
use crate::wait::{Certainty, skips_vectors};

/// So many of a function are told, and so many that are in doubt.
const MOST_FOUND: usize = 64;
/// So many instructions are looked at before one.
const FURTHEST: usize = 256;
/// So many blocks are gone back through from one instruction.
const MOST_BLOCKS: usize = 256;

/// Two instructions that stand too close together.
#[derive(Clone, Debug)]
pub struct TooClose {
    /// The number of the second.
    pub step: usize,
    /// The number of the first.
    pub first: usize,
    /// What they demand.
    pub demand: Demand,
    /// How much stands between them, in the hazard's unit.
    pub distance: u8,
    /// On which paths.
    pub certainty: Certainty,
}

impl TooClose {
    const fn is_doubtful(&self) -> bool {
        matches!(self.certainty, Certainty::Unless(_))
    }
}

/// The hazards in a function, in the order of its code; the first few.
///
/// ```
/// use hsaco_analysis::{Cfg, Stream, hazards};
/// use hsaco_isa::{Assembler, Processor};
/// let assembler = Assembler::new(Processor::from_name("gfx942").unwrap(), Default::default())?;
/// let lines = ["v_readfirstlane_b32 s0, v0", "s_nop 1", "v_readlane_b32 s1, v1, s0", "s_endpgm"];
/// let bytes = lines.map(|line| {
///     let inst = assembler.assemble(line).unwrap();
///     inst.bytes()[..inst.len()].to_vec()
/// });
/// let bytes = bytes.concat();
/// let stream = Stream::decode(assembler.decoder(), 0, &bytes);
/// let cfg = Cfg::new(assembler.decoder(), &stream);
/// let found = hazards(assembler.decoder(), &stream, &cfg);
/// assert_eq!(found[0].demand.hazard.name, "sgpr-lane-select");
/// assert_eq!((found[0].distance, found[0].demand.needed), (2, 4));
/// # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
/// ```
#[must_use]
pub fn hazards(decoder: &Decoder, stream: &Stream<'_>, cfg: &Cfg) -> Vec<TooClose> {
    let hazards = decoder.hazards();
    let kind = |step: usize| {
        let inst = stream.inst(step);
        inst.map_or(Kinds::default(), |it| Kinds::of(&decoder.effects(&it, VgprMsb::default())))
    };
    let kinds: Vec<Kinds> = (0..stream.len()).map(kind).collect();
    let present = kinds.iter().fold(Kinds::default(), |all, it| all.and(*it));
    if !present.any(hazards.firsts()) {
        return Vec::new();
    }
    let states = States::by_abi(decoder, stream, cfg);
    let bits = (!states.never_change()).then(|| bits_before(stream, cfg, &states));
    let mut found = Search { decoder, stream, cfg, bits, hazards, kinds, present }.run();
    if !found.is_empty() && skips_vectors(stream) {
        for it in found.iter_mut().filter(|it| !it.is_doubtful()) {
            it.certainty = Certainty::Unless(Doubt::Skip);
        }
    }
    found
}

/// The upper bits of vector registers before each instruction, where they are known.
fn bits_before(stream: &Stream<'_>, cfg: &Cfg, states: &States<'_>) -> Vec<Option<VgprMsb>> {
    let mut bits = vec![None; stream.len()];
    for block in cfg.reverse_post_order() {
        let mut state = states.before_block(*block);
        for step in cfg.blocks()[*block].steps() {
            if let Some(place) = bits.get_mut(step) {
                *place = state.msb;
            }
            state = states.after(state, step);
        }
    }
    bits
}

struct Search<'a> {
    decoder: &'a Decoder,
    stream: &'a Stream<'a>,
    cfg: &'a Cfg,
    /// The upper bits of vector registers before each instruction; none where they never change.
    bits: Option<Vec<Option<VgprMsb>>>,
    hazards: Hazards,
    /// What each instruction is.
    kinds: Vec<Kinds>,
    /// What any is.
    present: Kinds,
}

impl Search<'_> {
    fn run(&self) -> Vec<TooClose> {
        let mut found = Vec::new();
        let (mut certain, mut doubtful) = (0, 0);
        // Kinds come again and again: what to look for is worked out once for each.
        let mut outlooks: Vec<(Kinds, Outlook)> = Vec::new();
        for block in self.cfg.reverse_post_order() {
            for step in self.cfg.blocks()[*block].steps() {
                let kinds = self.kind(step);
                let known = outlooks.iter().find(|(it, _)| *it == kinds).map(|(_, it)| *it);
                let outlook = known.unwrap_or_else(|| {
                    let outlook = self.hazards.outlook(self.present, kinds);
                    outlooks.push((kinds, outlook));
                    outlook
                });
                let is_concerned = outlook.firsts != Kinds::default();
                let known = is_concerned.then(|| self.before(*block, step, outlook)).flatten();
                let Some(known) = known else { continue };
                let told = if known.is_doubtful() { &mut doubtful } else { &mut certain };
                *told += 1;
                if *told <= MOST_FOUND {
                    found.push(known);
                }
            }
        }
        found.sort_by_key(|it| (it.step, it.first));
        found
    }

    fn kind(&self, step: usize) -> Kinds {
        self.kinds.get(step).copied().unwrap_or_default()
    }

    /// The upper bits of vector registers before an instruction.
    fn msb(&self, step: usize) -> Option<VgprMsb> {
        match &self.bits {
            Some(bits) => bits.get(step).copied().flatten(),
            None => Some(VgprMsb::default()),
        }
    }

    /// The worst of the hazards that an instruction is the second of.
    fn before(&self, block: BlockId, step: usize, outlook: Outlook) -> Option<TooClose> {
        let msb = self.msb(step)?;
        let inst = self.stream.inst(step)?;
        let second = self.decoder.effects(&inst, msb);
        let mut back = Back {
            search: self,
            second: &second,
            step,
            outlook,
            passed: Vec::new(),
            path: Vec::new(),
            blocks: 0,
            found: Vec::new(),
        };
        let is_always = back.walk(block, step, Gone::default());
        let badness = |it: &TooClose| (!it.is_doubtful(), it.demand.needed - it.distance);
        let worst = back.found.into_iter().max_by_key(badness)?;
        let certainty = if is_always { Certainty::Always } else { worst.certainty };
        Some(TooClose { certainty, ..worst })
    }
}

/// How far a walk has gone back.
#[derive(Clone, Copy, Default)]
struct Gone {
    states: u8,
    computations: u8,
}

/// A walk back from one instruction.
struct Back<'a> {
    search: &'a Search<'a>,
    second: &'a Effects<'a>,
    step: usize,
    outlook: Outlook,
    /// The instructions in between, the last first.
    passed: Vec<usize>,
    /// The blocks gone back through.
    path: Vec<BlockId>,
    blocks: usize,
    found: Vec<TooClose>,
}

impl Back<'_> {
    /// Whether every path to here has a hazard with the second instruction.
    fn walk(&mut self, block: BlockId, end: usize, mut gone: Gone) -> bool {
        self.blocks += 1;
        self.path.push(block);
        let passed = self.passed.len();
        let outcome = self.walk_block(block, end, &mut gone);
        let is_always = outcome.unwrap_or_else(|| {
            let cfg = self.search.cfg;
            let before: Vec<BlockId> = cfg.predecessors(block).collect();
            let mut is_always = !before.is_empty() && Some(block) != cfg.entry();
            for before in before {
                let end = cfg.blocks()[before].end;
                is_always &= self.blocks < MOST_BLOCKS && self.walk(before, end, gone);
            }
            is_always
        });
        self.passed.truncate(passed);
        self.path.pop();
        is_always
    }

    /// Whether a block has a hazard, or none can be before; nothing if what is before must be looked at.
    fn walk_block(&mut self, block: BlockId, end: usize, gone: &mut Gone) -> Option<bool> {
        let search = self.search;
        for step in (search.cfg.blocks()[block].first..end).rev() {
            let is_far = gone.states >= self.outlook.states
                && gone.computations >= self.outlook.computations;
            let Some(inst) = search.stream.inst(step) else { return Some(false) };
            // Callees are not looked into.
            let leaves = matches!(inst.flow(), Flow::Call | Flow::IndirectCall | Flow::Trap);
            if is_far || leaves || self.passed.len() > FURTHEST {
                return Some(false);
            }
            let kinds = search.kind(step);
            if kinds.any(self.outlook.firsts) && self.check(step, kinds) {
                return Some(true);
            }
            self.passed.push(step);
            let effects = search.decoder.effects(&inst, VgprMsb::default());
            gone.states = gone.states.saturating_add(kinds.wait_states(&effects));
            gone.computations += u8::from(kinds.is_computation());
        }
        None
    }

    /// Whether an instruction is too close before the second, without doubt.
    fn check(&mut self, first_step: usize, kinds: Kinds) -> bool {
        let search = self.search;
        let Some(inst) = search.stream.inst(first_step) else { return false };
        let Some(msb) = search.msb(first_step) else { return false };
        let first = search.decoder.effects(&inst, msb);
        let second = (search.kind(self.step), self.second);
        let mut is_certain = false;
        for demand in search.hazards.between_kinds((kinds, &first), second) {
            let distance = self.distance(&demand);
            if let Some(distance) = distance.filter(|it| *it < demand.needed)
                && !self.is_overwritten(&demand, &first)
            {
                let doubt = demand.hazard.doubt(self.between());
                let path = || self.path.iter().rev().copied().collect();
                let certainty = doubt.map_or_else(|| Certainty::OnPath(path()), Certainty::Unless);
                is_certain |= doubt.is_none();
                let (step, first) = (self.step, first_step);
                self.found.push(TooClose { step, first, demand, distance, certainty });
            }
        }
        is_certain
    }

    /// What the instructions in between are.
    fn between(&self) -> Kinds {
        let kinds = self.passed.iter().map(|step| self.search.kind(*step));
        kinds.fold(Kinds::default(), Kinds::and)
    }

    /// What stands between the two; nothing where the hazard ends on the way.
    fn distance(&self, demand: &Demand) -> Option<u8> {
        self.passed.iter().try_fold(0_u8, |distance, step| {
            let inst = self.search.stream.inst(*step)?;
            let effects = self.search.decoder.effects(&inst, VgprMsb::default());
            match demand.hazard.passage(self.search.kind(*step), &effects) {
                Passage::Adds(more) => Some(distance.saturating_add(more)),
                Passage::Ends => None,
            }
        })
    }

    /// Whether instructions in between write all that the two share: then it is these that count.
    fn is_overwritten(&self, demand: &Demand, first: &Effects<'_>) -> bool {
        let Some(mut left) = demand.left_by(first) else { return false };
        for step in &self.passed {
            let (inst, msb) = (self.search.stream.inst(*step), self.search.msb(*step));
            if let Some(inst) = inst {
                left.overwrite(&self.search.decoder.effects(&inst, msb.unwrap_or_default()));
            }
        }
        left.is_empty()
    }
}
