//! Registers of outstanding memory operations.
//!
//! A register that no later instruction reads may still be the destination of an outstanding load, or the address of
//! an access that is replayed after a page fault. Neither may be written.

use hsaco_analysis::{BlockId, Focus, FunctionKind, RegisterSet};
use hsaco_bytes::IndexVec;
use hsaco_isa::effects::{Counter, Effects, Flow};

use super::instructions::Instructions;

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

/// The registers of outstanding memory operations.
#[derive(Clone, Default)]
pub(super) struct Outstanding {
    /// By counter, those that count any: mostly few.
    sets: Vec<(Counter, RegisterSet)>,
    /// The counters that were waited for until they were zero: what was outstanding at the start is complete.
    drained: Vec<Counter>,
}

impl Outstanding {
    /// Nothing is known: all registers may be.
    fn unknown() -> Self {
        let all = COUNTERS.map(|counter| (counter, RegisterSet::all()));
        Outstanding { sets: all.to_vec(), drained: Vec::new() }
    }

    pub(super) fn registers(&self) -> RegisterSet {
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

    /// Merges the operations outstanding after a block (entry state `before`, block effect `left`); whether this set grew.
    fn merge(&mut self, before: &Outstanding, left: &Outstanding) -> bool {
        let kept = before.sets.iter().filter(|(counter, _)| !left.drained.contains(counter));
        kept.chain(&left.sets).fold(false, |is_more, (counter, set)| {
            self.set(*counter).is_some_and(|to| to.union_with(set)) | is_more
        })
    }

    /// What is outstanding after an instruction.
    pub(super) fn step(&mut self, code: &Instructions<'_>, focus: Focus, step: usize) {
        let Some(inst) = code.stream().inst(step) else {
            *self = Outstanding::unknown();
            return;
        };
        let msb = code.msb(step);
        let effects = code.decoder().effects(&inst, msb.unwrap_or_default());
        self.take_in(&effects, focus, msb.is_some());
    }

    /// What is outstanding after an instruction, whose vector registers are known or not.
    fn take_in(&mut self, effects: &Effects<'_>, focus: Focus, is_known: bool) {
        if matches!(effects.flow(), Flow::Call | Flow::IndirectCall | Flow::Trap) {
            *self = Outstanding::unknown();
            return;
        }
        if effects.counts_nothing() {
            return;
        }
        if effects.waits_for_idle() {
            *self = Outstanding { sets: Vec::new(), drained: COUNTERS.to_vec() };
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
            // LDS accesses are never replayed.
            if counter != Counter::Dscnt {
                reads.for_each(|register| set.insert(&register));
            }
        }
    }
}

/// What is outstanding before every block.
pub(super) fn before_blocks(
    code: &Instructions<'_>,
    focus: Focus,
) -> IndexVec<BlockId, Outstanding> {
    let (cfg, is_kernel) = (code.cfg(), code.kind() == FunctionKind::Kernel);
    let mut before = cfg.blocks().filled(Outstanding::default());
    let mut is_reached = cfg.blocks().filled(false);
    cfg.reverse_post_order().iter().for_each(|block| is_reached[*block] = true);
    let is_unknown = |block| !is_reached[block] || Some(block) == cfg.entry() && !is_kernel;
    for block in cfg.blocks().ids().filter(|block| is_unknown(*block)) {
        before[block] = Outstanding::unknown();
    }
    // What each block leaves outstanding by itself, where it has successors.
    let left = cfg.blocks().enumerated().map(|(id, block)| {
        cfg.successors(id).next().filter(|_| is_reached[id])?;
        let mut outstanding = Outstanding::default();
        block.steps().for_each(|step| outstanding.step(code, focus, step));
        Some(outstanding)
    });
    let left: IndexVec<BlockId, Option<Outstanding>> = left.collect();
    let mut has_changed = is_reached;
    while has_changed.as_slice().contains(&true) {
        for block in cfg.reverse_post_order() {
            let is_new = std::mem::take(&mut has_changed[*block]);
            let (Some(left), true) = (&left[*block], is_new) else { continue };
            let here = before[*block].clone();
            for next in cfg.successors(*block) {
                has_changed[next] |= before[next].merge(&here, left);
            }
        }
    }
    before
}

#[cfg(test)]
mod tests {
    use hsaco_isa::decoder::DecodeOptions;
    use hsaco_isa::model::VgprMsb;
    use hsaco_isa::{Assembler, Processor};

    use super::*;

    #[test]
    fn a_load_is_outstanding_until_it_is_waited_for() {
        let assembler =
            Assembler::new(Processor::from_name("gfx1250").unwrap(), DecodeOptions::default())
                .unwrap();
        let mut outstanding = Outstanding::default();
        let mut run = |line: &str| {
            let inst = assembler.assemble(line).unwrap();
            let effects = assembler.decoder().effects(&inst, VgprMsb::default());
            outstanding.take_in(&effects, Focus::All, true);
            outstanding.registers().to_string()
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
