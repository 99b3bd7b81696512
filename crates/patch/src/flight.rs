//! Registers that memory instructions still write, or may read once more.
//!
//! A register that no later instruction reads may still be the target of a load that is under way, or the
//! address of an access that is tried again when its page was not there. Neither may be written.

use hsaco_analysis::{Block, Focus, RegisterSet};
use hsaco_isa::{Counter, Effects, Flow};

use crate::view::View;

/// The counters whose accesses matter, in the order of [`Flight`]'s sets.
const COUNTERS: [Counter; 8] = [
    Counter::Loadcnt,
    Counter::Samplecnt,
    Counter::Bvhcnt,
    Counter::Storecnt,
    Counter::Dscnt,
    Counter::Kmcnt,
    Counter::Asynccnt,
    Counter::Tensorcnt,
];

/// The registers of accesses under way, for each counter.
#[derive(Clone, Copy, Default)]
pub(crate) struct Flight {
    sets: [RegisterSet; COUNTERS.len()],
    /// The counters that were waited for until they were zero: what was under way at the start is over.
    is_drained: [bool; COUNTERS.len()],
}

impl Flight {
    /// Nothing is known: all registers may be.
    fn unknown() -> Self {
        Flight { sets: [RegisterSet::all(); COUNTERS.len()], ..Flight::default() }
    }

    pub(crate) fn registers(&self) -> RegisterSet {
        let mut all = RegisterSet::default();
        self.sets.iter().for_each(|set| {
            all.union_with(set);
        });
        all
    }

    /// Takes in what another path leaves under way; whether that is more.
    fn union_with(&mut self, other: &Flight) -> bool {
        let sets = self.sets.iter_mut().zip(&other.sets);
        sets.fold(false, |any, (to, from)| to.union_with(from) | any)
    }

    /// What is under way after code that began with `before` under way, where this is what it leaves by itself.
    fn after(&self, before: &Flight) -> Flight {
        let mut after = *self;
        for (at, set) in after.sets.iter_mut().enumerate() {
            if let (Some(false), Some(before)) = (self.is_drained.get(at), before.sets.get(at)) {
                set.union_with(before);
            }
        }
        after
    }

    /// What is under way after an instruction.
    pub(crate) fn step(&mut self, view: &View<'_>, focus: Focus, step: usize) {
        let Some(inst) = view.stream().inst(step) else {
            *self = Flight::unknown();
            return;
        };
        let msb = view.msb(step);
        let effects = view.decoder().effects(inst, msb.unwrap_or_default());
        self.take_in(&effects, focus, msb.is_some());
    }

    /// What is under way after an instruction, whose vector registers are known or not.
    fn take_in(&mut self, effects: &Effects<'_>, focus: Focus, is_known: bool) {
        if matches!(effects.flow(), Flow::Call | Flow::IndirectCall | Flow::Trap) {
            *self = Flight::unknown();
            return;
        }
        if effects.counts_nothing() {
            return;
        }
        if effects.waits_for_idle() {
            *self = Flight { is_drained: [true; COUNTERS.len()], ..Flight::default() };
        }
        for (counter, _) in effects.waits().filter(|(_, value)| *value == 0) {
            let all = COUNTERS.iter().zip(&mut self.sets).zip(&mut self.is_drained);
            for ((_, set), is_drained) in all.filter(|((it, _), _)| **it == counter) {
                (*set, *is_drained) = (RegisterSet::default(), true);
            }
        }
        let raised = effects.raises();
        let all = COUNTERS.iter().zip(&mut self.sets);
        for (counter, set) in all.filter(|(counter, _)| raised.contains(**counter)) {
            if !is_known {
                *set = RegisterSet::all();
                continue;
            }
            let (writes, reads) = focus.registers(effects);
            writes.for_each(|register| set.insert(&register));
            // LDS is always there: nothing is tried again.
            if *counter != Counter::Dscnt {
                reads.for_each(|register| set.insert(&register));
            }
        }
    }
}

/// What is under way before every block.
pub(crate) fn before_blocks(view: &View<'_>, focus: Focus, is_kernel: bool) -> Vec<Flight> {
    let cfg = view.cfg();
    let count = cfg.blocks().len();
    let mut before = vec![Flight::unknown(); count];
    // What each leaves under way by itself; nobody comes after those that have none.
    let mut left: Vec<Option<Flight>> = vec![None; count];
    for block in cfg.reverse_post_order() {
        if let Some(place) = before.get_mut(*block) {
            *place = Flight::default();
        }
        if cfg.successors(*block).next().is_some()
            && let Some(place) = left.get_mut(*block)
        {
            let mut flight = Flight::default();
            for step in cfg.blocks().get(*block).map_or(0..0, Block::steps) {
                flight.step(view, focus, step);
            }
            *place = Some(flight);
        }
    }
    if let Some(entry) = before.first_mut()
        && !is_kernel
    {
        *entry = Flight::unknown();
    }
    let mut changed = true;
    while changed {
        changed = false;
        for block in cfg.reverse_post_order() {
            let left = left.get(*block).and_then(Option::as_ref);
            let (Some(left), Some(here)) = (left, before.get(*block)) else { continue };
            let after = left.after(here);
            for next in cfg.successors(*block) {
                changed |= before.get_mut(next).is_some_and(|it| it.union_with(&after));
            }
        }
    }
    before
}

#[cfg(test)]
mod tests {
    use hsaco_isa::{Assembler, DecodeOptions, Processor, VgprMsb};

    use super::*;

    #[test]
    fn a_load_is_under_way_until_it_is_waited_for() {
        let assembler =
            Assembler::new(Processor::from_name("gfx1250").unwrap(), DecodeOptions::default())
                .unwrap();
        let mut flight = Flight::default();
        let mut run = |line: &str| {
            let inst = assembler.assemble(line).unwrap();
            let effects = assembler.decoder().effects(&inst, VgprMsb::default());
            flight.take_in(&effects, Focus::All, true);
            flight.registers().to_string()
        };
        assert_eq!(run("global_load_b32 v0, v2, s[4:5]"), "v0 v2 s[4:5] exec_lo");
        assert_eq!(run("ds_load_b32 v8, v9"), "v0 v2 v8 s[4:5] exec_lo");
        assert_eq!(run("s_wait_loadcnt 0x1"), "v0 v2 v8 s[4:5] exec_lo");
        assert_eq!(run("s_wait_loadcnt 0x0"), "v8");
        assert_eq!(run("s_wait_dscnt 0x0"), "");
        assert_eq!(run("s_load_b64 s[8:9], s[0:1], 0x0"), "s[0:1] s[8:9]");
        assert_eq!(run("s_wait_idle"), "");
    }
}
