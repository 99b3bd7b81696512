//! Registers that memory instructions still write, or may read once more.
//!
//! A register that no later instruction reads may still be the target of a load that is under way, or the
//! address of an access that is tried again when its page was not there. Neither may be written.

use hsaco_analysis::{Focus, FunctionKind, RegisterSet};
use hsaco_isa::{Counter, Effects, Flow};

use crate::view::View;

/// The counters whose accesses matter.
const COUNTERS: [Counter; 12] = [
    Counter::Vmcnt,
    Counter::Vscnt,
    Counter::Expcnt,
    Counter::Lgkmcnt,
    Counter::Loadcnt,
    Counter::Samplecnt,
    Counter::Bvhcnt,
    Counter::Storecnt,
    Counter::Dscnt,
    Counter::Kmcnt,
    Counter::Asynccnt,
    Counter::Tensorcnt,
];

/// The registers of accesses under way.
#[derive(Clone, Default)]
pub(crate) struct Flight {
    /// By counter, those that count any: mostly few.
    sets: Vec<(Counter, RegisterSet)>,
    /// The counters that were waited for until they were zero: what was under way at the start is over.
    drained: Vec<Counter>,
}

impl Flight {
    /// Nothing is known: all registers may be.
    fn unknown() -> Self {
        let all = COUNTERS.map(|counter| (counter, RegisterSet::all()));
        Flight { sets: all.to_vec(), drained: Vec::new() }
    }

    pub(crate) fn registers(&self) -> RegisterSet {
        let mut all = RegisterSet::default();
        self.sets.iter().for_each(|(_, set)| {
            all.union_with(set);
        });
        all
    }

    fn set(&mut self, counter: Counter) -> Option<&mut RegisterSet> {
        let at = self.sets.iter().position(|(it, _)| *it == counter).unwrap_or_else(|| {
            self.sets.push((counter, RegisterSet::default()));
            self.sets.len() - 1
        });
        self.sets.get_mut(at).map(|(_, set)| set)
    }

    /// Takes in what a path leaves under way that begins with `before` under way and leaves `left` by itself; whether that
    /// is more.
    fn take_path(&mut self, before: &Flight, left: &Flight) -> bool {
        let kept = before.sets.iter().filter(|(counter, _)| !left.drained.contains(counter));
        kept.chain(&left.sets).fold(false, |is_more, (counter, set)| {
            self.set(*counter).is_some_and(|to| to.union_with(set)) | is_more
        })
    }

    /// What is under way after an instruction.
    pub(crate) fn step(&mut self, view: &View<'_>, focus: Focus, step: usize) {
        let Some(inst) = view.stream().inst(step) else {
            *self = Flight::unknown();
            return;
        };
        let msb = view.msb(step);
        let effects = view.decoder().effects(&inst, msb.unwrap_or_default());
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
            *self = Flight { sets: Vec::new(), drained: COUNTERS.to_vec() };
        }
        for (counter, _) in effects.waits().filter(|(_, value)| *value == 0) {
            self.sets.retain(|(it, _)| *it != counter);
            if !self.drained.contains(&counter) {
                self.drained.push(counter);
            }
        }
        let raised = effects.raises();
        for counter in COUNTERS.into_iter().filter(|counter| raised.contains(*counter)) {
            let Some(set) = self.set(counter) else { continue };
            if !is_known {
                *set = RegisterSet::all();
                continue;
            }
            let (writes, reads) = focus.registers(effects);
            writes.for_each(|register| set.insert(&register));
            // LDS is always there: nothing is tried again.
            if counter != Counter::Dscnt {
                reads.for_each(|register| set.insert(&register));
            }
        }
    }
}

/// What is under way before every block.
pub(crate) fn before_blocks(view: &View<'_>, focus: Focus) -> Vec<Flight> {
    let (cfg, is_kernel) = (view.cfg(), view.kind() == FunctionKind::Kernel);
    let mut before = vec![Flight::default(); cfg.blocks().len()];
    let mut is_reached = vec![false; before.len()];
    cfg.reverse_post_order().iter().for_each(|block| set(&mut is_reached, *block, true));
    let unknown = is_reached.iter().enumerate().filter(|(at, is)| !**is || *at == 0 && !is_kernel);
    unknown.for_each(|(block, _)| set(&mut before, block, Flight::unknown()));
    // What each leaves under way by itself; nobody comes after those that have none.
    let left: Vec<Option<Flight>> = (0..before.len())
        .map(|block| {
            cfg.successors(block).next().filter(|_| is_reached.get(block) == Some(&true))?;
            let mut flight = Flight::default();
            cfg.blocks().get(block)?.steps().for_each(|step| flight.step(view, focus, step));
            Some(flight)
        })
        .collect();
    let mut has_changed = is_reached;
    while has_changed.contains(&true) {
        for block in cfg.reverse_post_order() {
            let left = left.get(*block).and_then(Option::as_ref);
            let is_new = has_changed.get_mut(*block).is_some_and(std::mem::take);
            let (Some(left), true) = (left, is_new) else { continue };
            let here = before.get(*block).cloned().unwrap_or_default();
            for next in cfg.successors(*block) {
                if before.get_mut(next).is_some_and(|it| it.take_path(&here, left)) {
                    set(&mut has_changed, next, true);
                }
            }
        }
    }
    before
}

fn set<T>(list: &mut [T], at: usize, to: T) {
    if let Some(place) = list.get_mut(at) {
        *place = to;
    }
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
