//! The instructions of a function, with its control flow and VGPR MSBs; each is computed on first use.

use std::cell::OnceCell;

use hsaco_analysis::{Block, BlockId, Cfg, Exit, FunctionKind, States, Stream, vgpr_msb_after};
use hsaco_isa::Decoder;
use hsaco_isa::effects::{Flow, Lanes};
use hsaco_isa::model::VgprMsb;

use crate::tools::Tools;

/// The instructions of a function. Most rewrites need neither its control flow nor its VGPR MSBs.
pub(crate) struct Instructions<'a> {
    tools: &'a Tools,
    stream: Stream<'a>,
    entered: Entered,
    cfg: OnceCell<Cfg>,
    msbs: OnceCell<Msbs>,
    is_closed: OnceCell<bool>,
}

/// How a function is entered and left, which its own instructions do not show.
pub(super) struct Entered {
    pub(super) kind: FunctionKind,
    /// Other code enters it in its middle.
    pub(super) inside: bool,
    /// No code of the object sets VGPR MSBs, so calls leave them as they are.
    pub(super) calls_keep_msbs: bool,
}

impl<'a> Instructions<'a> {
    pub(super) fn new(tools: &'a Tools, stream: Stream<'a>, entered: Entered) -> Self {
        let (cfg, msbs, is_closed) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
        Instructions { tools, stream, entered, cfg, msbs, is_closed }
    }

    pub(super) fn tools(&self) -> &'a Tools {
        self.tools
    }

    pub(super) fn decoder(&self) -> &'a Decoder {
        self.tools.decoder()
    }

    pub(super) fn stream(&self) -> &Stream<'a> {
        &self.stream
    }

    pub(super) fn kind(&self) -> FunctionKind {
        self.entered.kind
    }

    pub(super) fn is_entered_inside(&self) -> bool {
        self.entered.inside
    }

    pub(super) fn cfg(&self) -> &Cfg {
        self.cfg.get_or_init(|| Cfg::new(self.decoder(), &self.stream))
    }

    /// Whether every branch target is known, and other code enters it at its start only.
    pub(super) fn is_closed(&self) -> bool {
        let is_known = |block: &Block| !matches!(block.exit, Some(Exit::Unknown));
        *self
            .is_closed
            .get_or_init(|| !self.entered.inside && self.cfg().blocks().iter().all(is_known))
    }

    /// Why the function's control flow is not known, if it is not.
    pub(super) fn opacity(&self) -> Option<String> {
        if self.entered.inside {
            return Some("other code enters the function in its middle".to_owned());
        }
        let blocks = self.cfg().blocks().iter();
        let unknown = blocks.filter(|it| matches!(it.exit, Some(Exit::Unknown)));
        let last = unknown.map(|it| it.end.saturating_sub(1)).next()?;
        Some(match self.stream.inst(last) {
            None => self.undecoded(last),
            Some(_) => format!("it is not known where {} leads", self.place(last)),
        })
    }

    /// What to call an instruction in messages.
    pub(super) fn place(&self, step: usize) -> String {
        let text = self.stream.inst(step).map(|inst| self.decoder().text(&inst));
        format!("`{}` at {:#x}", text.unwrap_or_default(), self.stream.address_of(step))
    }

    fn undecoded(&self, step: usize) -> String {
        format!("the word at {:#x} does not decode", self.stream.address_of(step))
    }

    /// The instructions that may run before one, those of its own block first.
    pub(super) fn before(&self, step: usize) -> impl Iterator<Item = usize> {
        let cfg = self.cfg();
        let here = cfg.block_of(step);
        let first = here.map_or(step, |it| cfg.blocks()[it].first);
        let mut seen = cfg.blocks().filled(false);
        let mut left: Vec<BlockId> = here.into_iter().flat_map(|it| cfg.predecessors(it)).collect();
        let others = std::iter::from_fn(move || {
            while let Some(block) = left.pop() {
                if !std::mem::replace(&mut seen[block], true) {
                    left.extend(cfg.predecessors(block));
                    return Some(cfg.blocks()[block].steps());
                }
            }
            None
        });
        (first..step).rev().chain(others.flatten())
    }

    /// The VGPR MSBs before an instruction, if they are known.
    pub(super) fn msb(&self, step: usize) -> Option<VgprMsb> {
        self.msbs.get_or_init(|| Msbs::new(self)).before(step)
    }

    /// Why the VGPR MSBs before an instruction are not known: what may run before it and set them to anything.
    pub(super) fn msb_breaker(&self, step: usize) -> Option<String> {
        let decoder = self.decoder();
        let known = Some(VgprMsb::default());
        let breaks = |step: &usize| match self.stream.inst(*step) {
            None => true,
            Some(inst) => vgpr_msb_after(decoder, known, &inst).is_none(),
        };
        let step = self.before(step).find(breaks)?;
        Some(match self.stream.inst(step) {
            None => self.undecoded(step),
            Some(_) => format!("{} may set them to anything", self.place(step)),
        })
    }
}

/// The VGPR MSBs before every instruction.
enum Msbs {
    /// No instruction sets any.
    Never,
    /// Those before each.
    Before(Vec<Option<VgprMsb>>),
}

impl Msbs {
    /// Where branch targets are not known, any instruction may be entered with any MSBs that the function sets anywhere.
    fn new(code: &Instructions<'_>) -> Self {
        let (decoder, stream) = (code.decoder(), &code.stream);
        let calls = |flow| matches!(flow, Flow::Call | Flow::IndirectCall);
        let never = stream.is_whole()
            && !stream.has_flow(|flow| flow == Flow::Trap)
            && (code.entered.calls_keep_msbs || !stream.writes_mode() && !stream.has_flow(calls));
        if never || !decoder.has_vgpr_msb() {
            return Msbs::Never;
        }
        let mut msbs = vec![None; stream.len()];
        if !code.is_closed() {
            return Msbs::Before(msbs);
        }
        let states = States::new(decoder, stream, code.cfg(), Lanes::All);
        for (id, block) in code.cfg().blocks().enumerated() {
            let mut state = states.before_block(id);
            for step in Block::steps(block) {
                if let Some(place) = msbs.get_mut(step) {
                    *place = state.msb;
                }
                state = states.after(state, step);
            }
        }
        Msbs::Before(msbs)
    }

    fn before(&self, step: usize) -> Option<VgprMsb> {
        match self {
            Msbs::Never => Some(VgprMsb::default()),
            Msbs::Before(before) => before.get(step).copied().flatten(),
        }
    }
}
