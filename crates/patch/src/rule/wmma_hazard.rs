//! Vector instructions that come too soon after a matrix instruction.

use std::collections::BTreeMap;

use hsaco_analysis::RegisterSet;
use hsaco_isa::Inst;
use hsaco_isa::effects::Flow;
use hsaco_isa::errata::{WMMA_HAZARD, WMMA_SLOTS, is_matrix, is_vector_alu};
use hsaco_isa::model::VgprMsb;

use super::{Example, Requirement, RewriteRule, Stage, Trigger, answer};
use crate::view::EVERY_MSB;
use crate::{Answer, Edit, Plan, Refusal, Site};

pub(super) const RULE: RewriteRule = RewriteRule {
    name: WMMA_HAZARD.name,
    summary: "v_nop between an integer matrix instruction and what writes its registers, along every path",
    stage: Stage::Distance,
    requirement: Requirement::Required,
    trigger: Trigger::Opcodes(WMMA_HAZARD.mnemonics),
    look: |site| answer(look(site)),
    residual: |site| !Search::run(site).is_done(),
    examples: &[
        Example::new(
            "HZ1",
            "v_wmma_i32_16x16x64_iu8 v[16:23], v[0:7], v[8:15], v[16:23]
             v_add_f32_e32 v16, v0, v1",
            "v_wmma_i32_16x16x64_iu8 v[16:23], v[0:7], v[8:15], v[16:23]
             v_nop\nv_nop\nv_nop\nv_nop\nv_nop\nv_nop\nv_nop\nv_nop
             v_add_f32_e32 v16, v0, v1",
        ),
        Example::new(
            "HZ2",
            "v_wmma_i32_16x16x64_iu8 v[16:23], v[0:7], v[8:15], v[16:23]
             v_nop\nv_nop\nv_nop\nv_nop\nv_nop
             v_add_f32_e32 v16, v0, v1",
            "v_wmma_i32_16x16x64_iu8 v[16:23], v[0:7], v[8:15], v[16:23]
             v_nop\nv_nop\nv_nop\nv_nop\nv_nop\nv_nop\nv_nop\nv_nop
             v_add_f32_e32 v16, v0, v1",
        ),
        Example::same(
            "HZ3",
            "v_wmma_f32_16x16x32_f16 v[16:23], v[0:7], v[8:15], v[16:23]
             v_add_f32_e32 v16, v0, v1",
        ),
        Example::new(
            "HZ4",
            "v_swmmac_i32_16x16x128_iu8 v[16:23], v[0:7], v[24:39], v[40:41]
             v_add_f32_e32 v16, v0, v1",
            "v_swmmac_i32_16x16x128_iu8 v[16:23], v[0:7], v[24:39], v[40:41]
             v_nop\nv_nop\nv_nop\nv_nop\nv_nop\nv_nop\nv_nop\nv_nop
             v_add_f32_e32 v16, v0, v1",
        ),
        Example::same(
            "HZ5",
            "v_wmma_i32_16x16x64_iu8 v[16:23], v[0:7], v[8:15], v[16:23]
             v_add_f32_e32 v50, v51, v52
             v_add_f32_e32 v50, v51, v52
             v_add_f32_e32 v50, v51, v52
             v_add_f32_e32 v50, v51, v52
             v_add_f32_e32 v50, v51, v52
             v_add_f32_e32 v50, v51, v52
             v_add_f32_e32 v50, v51, v52
             v_add_f32_e32 v50, v51, v52
             v_add_f32_e32 v16, v0, v1",
        ),
        // The loop's first instruction follows its last.
        Example::new(
            "HZ-loop",
            "v_add_f32_e32 v16, v0, v1
             v_add_f32_e32 v50, v51, v52
             v_wmma_i32_16x16x64_iu8 v[16:23], v[0:7], v[8:15], v[16:23]
             s_sub_co_i32 s0, s0, 1
             s_cbranch_scc1 65530",
            "v_nop\nv_nop\nv_nop\nv_nop\nv_nop\nv_nop\nv_nop\nv_nop
             v_add_f32_e32 v16, v0, v1
             v_add_f32_e32 v50, v51, v52
             v_wmma_i32_16x16x64_iu8 v[16:23], v[0:7], v[8:15], v[16:23]
             s_sub_co_i32 s0, s0, 1
             s_cbranch_scc1 65530",
        ),
        // Where it is not known what follows, the distance comes right after.
        Example::new(
            "HZ-unknown",
            "v_wmma_i32_16x16x64_iu8 v[16:23], v[0:7], v[8:15], v[16:23]
             v_add_f32_e32 v50, v51, v52
             s_swap_pc_i64 s[30:31], s[4:5]",
            "v_wmma_i32_16x16x64_iu8 v[16:23], v[0:7], v[8:15], v[16:23]
             v_nop\nv_nop\nv_nop\nv_nop\nv_nop\nv_nop\nv_nop
             v_add_f32_e32 v50, v51, v52
             s_swap_pc_i64 s[30:31], s[4:5]",
        ),
    ],
    page: include_str!("../../rules/wmma-hazard.md"),
};

fn look(site: &Site<'_>) -> Result<Answer, Refusal> {
    let found = Search::run(site);
    if found.is_done() {
        return Ok(Answer::NotMine);
    }
    // One place is enough where a path is lost from sight, or comes too soon outside of the function.
    if let Some(missing) = found.lost {
        let nop = site.assemble("v_nop")?;
        let mut code: Vec<Inst> = site.inst().into_iter().collect();
        code.extend(vec![nop; missing.into()]);
        return Ok(Answer::Rewrite(Plan::edit(Edit { first: site.step(), count: 1, code })));
    }
    let pads = found.pads.into_iter().collect();
    Ok(Answer::Rewrite(Plan { pads, ..Plan::default() }))
}

/// A walk along all paths from a matrix instruction until it is far enough behind.
struct Search<'s> {
    site: &'s Site<'s>,
    /// The registers that the matrix instruction reads and writes.
    registers: RegisterSet,
    /// How many slots are missing before instructions of the function.
    pads: BTreeMap<usize, u8>,
    /// How many are missing where the path is lost from sight.
    lost: Option<u8>,
    /// The fewest slots with which a place was reached.
    seen: BTreeMap<u64, u8>,
    /// Places to go on from, and the slots behind them.
    work: Vec<(u64, u8)>,
}

impl<'s> Search<'s> {
    fn run(site: &'s Site<'s>) -> Self {
        let mut registers = RegisterSet::default();
        let length = site.inst().map_or(0, |inst| inst.len()) as u64;
        for msb in site.msb().map_or(EVERY_MSB.to_vec(), |msb| vec![msb.bits()]) {
            if let Some(inst) = site.inst() {
                let effects = site.view().decoder().effects(&inst, VgprMsb::new(msb));
                effects.reads().chain(effects.writes()).for_each(|it| registers.insert(&it));
            }
        }
        let work = vec![(site.address().wrapping_add(length), 0)];
        let mut search = Search {
            site,
            registers,
            pads: BTreeMap::new(),
            lost: None,
            seen: BTreeMap::new(),
            work,
        };
        while let Some((address, slots)) = search.work.pop() {
            search.step(address, slots);
        }
        search
    }

    fn is_done(&self) -> bool {
        self.pads.is_empty() && self.lost.is_none()
    }

    fn lose(&mut self, slots: u8) {
        self.lost = Some(self.lost.unwrap_or(0).max(WMMA_SLOTS - slots));
    }

    /// Looks at one instruction that so many slots precede.
    fn step(&mut self, address: u64, slots: u8) {
        let seen = self.seen.entry(address).or_insert(u8::MAX);
        if slots >= WMMA_SLOTS || *seen <= slots {
            return;
        }
        *seen = slots;
        let view = self.site.view();
        let step = view.stream().index_of(address);
        let inst = match step {
            Some(step) => view.stream().inst(step),
            None => view.code_at(address).and_then(|code| view.decoder().decode(code)),
        };
        let Some(inst) = inst else { return self.lose(slots) };
        let mut slots = slots;
        if is_vector_alu(&inst) {
            if is_matrix(&inst) {
                return;
            }
            if self.overlaps(&inst, step) {
                match step {
                    Some(step) => {
                        let pad = self.pads.entry(step).or_default();
                        *pad = (*pad).max(WMMA_SLOTS - slots);
                    }
                    None => self.lose(slots),
                }
                return;
            }
            slots += 1;
        }
        self.go_on(address, &inst, slots);
    }

    fn go_on(&mut self, address: u64, inst: &Inst, slots: u8) {
        let next = address.wrapping_add(inst.len() as u64);
        let target = inst.branch_target(address);
        match inst.flow() {
            Flow::Next => {
                // A far jump makes its address first.
                match self.site.view().far_target(address) {
                    Some(target) => self.work.push((target, slots)),
                    None => self.work.push((next, slots)),
                }
            }
            Flow::Branch | Flow::ConditionalBranch => {
                self.work.extend(target.map(|target| (target, slots)));
                if inst.flow() == Flow::ConditionalBranch {
                    self.work.push((next, slots));
                }
            }
            Flow::End => {}
            _ => match self.site.view().jump_target(address) {
                Some(target) => self.work.push((target, slots)),
                None => self.lose(slots),
            },
        }
    }

    fn overlaps(&self, inst: &Inst, step: Option<usize>) -> bool {
        let view = self.site.view();
        let msb = step.and_then(|step| view.msb(step));
        let msbs = msb.map_or(EVERY_MSB.to_vec(), |msb| vec![msb.bits()]);
        inst.mnemonic() != "v_nop"
            && msbs.into_iter().any(|msb| {
                let effects = view.decoder().effects(inst, VgprMsb::new(msb));
                effects.writes().any(|register| self.registers.contains(&register))
            })
    }
}
