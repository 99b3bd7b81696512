//! Tensor loads that several workgroups of a cluster share.

use hsaco_analysis::Exit;
use hsaco_isa::Inst;
use hsaco_isa::effects::Flow;
use hsaco_isa::errata::TENSOR_MASK;
use hsaco_isa::model::{OperandValue, Register, RegisterFile, Special};

use super::{Example, Requirement, RewriteRule, Stage, Trigger, answer};
use crate::body::{part, unsupported};
use crate::{Answer, Edit, Plan, Refusal, Site, View};

/// The bits of the mask in the first register of the second group.
const MASK: u32 = 0xffff;

pub(super) const RULE: RewriteRule = RewriteRule {
    name: TENSOR_MASK.name,
    summary: "tensor loads name no other workgroup of the cluster",
    stage: Stage::Site,
    requirement: Requirement::Required,
    trigger: Trigger::Opcodes(TENSOR_MASK.mnemonics),
    look: |site| answer(look(site)),
    residual,
    examples: EXAMPLES,
    page: include_str!("../../rules/tensor-mask.md"),
};

fn look(site: &Site<'_>) -> Result<Answer, Refusal> {
    let base = base(site).ok_or_else(|| unsupported(site, "its second group is no register"))?;
    match Definitions::of(site, base) {
        Some(found) if found.steps.is_empty() => Ok(Answer::NotMine),
        Some(found) => found.plan(site.view()).map(Answer::Rewrite),
        None => clearing(site, &base),
    }
}

fn residual(site: &Site<'_>) -> bool {
    let Some(base) = base(site) else { return true };
    !Definitions::of(site, base).is_some_and(|found| found.steps.is_empty())
}

/// The register with the mask.
pub(super) fn base(site: &Site<'_>) -> Option<Register> {
    let group = site.register("vaddr1")?;
    (group.file == RegisterFile::Sgpr).then(|| part(&group, 0, 1))
}

/// Clears the mask right before the load, and puts it back where it is live.
fn clearing(site: &Site<'_>, base: &Register) -> Result<Answer, Refusal> {
    let load = site.inst().into_iter();
    let clear = site.assemble(&format!("s_pack_hh_b32_b16 {base}, 0, {base}"))?;
    let mut scratch = site.scratch_registers();
    if is_free(site, base) {
        scratch.take(base);
        let code = std::iter::once(clear).chain(load).collect();
        return Ok(Answer::Rewrite(Plan::replace(site, code).taking(scratch)));
    }
    let saved = scratch.sgprs(1, 1)?;
    let mut code = vec![site.assemble(&format!("s_mov_b32 {saved}, {base}"))?, clear];
    code.extend(load);
    code.push(site.assemble(&format!("s_mov_b32 {base}, {saved}"))?);
    Ok(Answer::Rewrite(Plan::replace(site, code).taking(scratch)))
}

/// Whether the register is dead after the load, and no outstanding access may read it again.
pub(super) fn is_free(site: &Site<'_>, base: &Register) -> bool {
    !site.is_needed(base) && !site.view().outstanding(site.step()).contains(base)
}

pub(super) const SCC: Register =
    Register { file: RegisterFile::Special(Special::Scc), first: 0, count: 1, half: None };

/// The instructions that have to clear the mask so that it is clear at a load.
struct Definitions {
    base: Register,
    /// Each `s_and_b32` whose literal keeps the mask.
    steps: Vec<usize>,
}

/// What an instruction does to the mask.
enum Effect {
    /// Nothing.
    None,
    /// Keeps a clear one clear, and changes what SCC says of the register.
    Keeps,
    /// Clears it.
    Clears,
    /// Would clear it with another literal.
    CouldClear,
    /// Anything else.
    Other,
}

impl Definitions {
    /// Those of a load; nothing where some path to it has none, or where other code would see the change.
    fn of(site: &Site<'_>, base: Register) -> Option<Definitions> {
        let view = site.view();
        let before = site.step().checked_sub(1).map(|step| effect(view, step, &base));
        if matches!(before, Some(Effect::Clears)) {
            return Some(Definitions { base, steps: Vec::new() });
        }
        if !view.is_closed() {
            return None;
        }
        let mut steps = Vec::new();
        backward(view, site.step(), |step| {
            match effect(view, step, &base) {
                Effect::None | Effect::Keeps => return Some(true),
                Effect::Clears => {}
                Effect::CouldClear => {
                    if !steps.contains(&step) {
                        steps.push(step);
                    }
                }
                Effect::Other => return None,
            }
            Some(false)
        })?;
        steps.sort_unstable();
        let found = Definitions { base, steps };
        found.steps.iter().all(|step| found.is_private(view, *step)).then_some(found)
    }

    /// Whether only tensor loads see what the instruction leaves in the register and in SCC.
    fn is_private(&self, view: &View<'_>, definition: usize) -> bool {
        let is_scc_free = |step: usize| !view.is_needed_after(step, &SCC);
        let mut is_private = is_scc_free(definition);
        let reached = forward(view, definition, |step| {
            let inst = view.stream().inst(step)?;
            let effects = view.decoder().effects(&inst, view.msb(step).unwrap_or_default());
            let reads = effects.reads().any(|it| it.overlaps(&self.base));
            let writes = effects.writes().any(|it| it.overlaps(&self.base));
            if reads && matches!(effect(view, step, &self.base), Effect::Keeps | Effect::CouldClear)
            {
                is_private &= is_scc_free(step);
                return Some(true);
            }
            if reads && !self.is_load(view, step) {
                return None;
            }
            Some(!writes)
        });
        is_private && reached.is_some()
    }

    /// Whether the instruction is a tensor load that takes the register for its mask, and for that only.
    fn is_load(&self, view: &View<'_>, step: usize) -> bool {
        view.site(step).is_some_and(|site| {
            RULE.claims(site.mnemonic())
                && base(&site) == Some(self.base)
                && ["vaddr0", "vaddr2", "vaddr3"]
                    .iter()
                    .all(|name| site.register(name).is_none_or(|it| !it.overlaps(&self.base)))
        })
    }

    fn plan(&self, view: &View<'_>) -> Result<Plan, Refusal> {
        let mut plan = Plan::default();
        for step in &self.steps {
            let Some(site) = view.site(*step) else { continue };
            let mut bytes = site.bytes();
            bytes.iter_mut().skip(4).take(2).for_each(|byte| *byte = 0);
            plan.edits.push(Edit { first: *step, count: 1, code: vec![site.decode(&bytes)?] });
        }
        Ok(plan)
    }
}

/// What an instruction does to the mask in a register.
fn effect(view: &View<'_>, step: usize, base: &Register) -> Effect {
    let Some(inst) = view.stream().inst(step) else { return Effect::Other };
    let effects = view.decoder().effects(&inst, view.msb(step).unwrap_or_default());
    if matches!(effects.flow(), Flow::Call | Flow::IndirectCall | Flow::Trap) {
        return Effect::Other;
    }
    if !effects.writes().any(|it| it.overlaps(base)) {
        return Effect::None;
    }
    if view.decoder().operand(&inst, "sdst") != Some(OperandValue::Register(*base)) {
        return Effect::Other;
    }
    let sources = ["src0", "src1"].map(|name| view.decoder().operand(&inst, name));
    let is_own = |source: &Option<OperandValue>| *source == Some(OperandValue::Register(*base));
    let constant = sources.iter().flatten().find_map(constant);
    let keeps_own = sources.iter().any(is_own);
    match inst.mnemonic() {
        "s_and_b32" => match constant {
            Some(bits) if bits & MASK == 0 => Effect::Clears,
            Some(bits) if bits & MASK == MASK && keeps_own && inst.len() == 8 => Effect::CouldClear,
            _ if keeps_own => Effect::Keeps,
            _ => Effect::Other,
        },
        "s_or_b32" if keeps_own && constant.is_some_and(|bits| bits & MASK == 0) => Effect::Keeps,
        "s_mov_b32" if constant.is_some_and(|bits| bits & MASK == 0) => Effect::Clears,
        "s_pack_hh_b32_b16" | "s_pack_ll_b32_b16" | "s_pack_lh_b32_b16"
            if sources.first() == Some(&Some(OperandValue::Integer(0))) =>
        {
            Effect::Clears
        }
        _ => Effect::Other,
    }
}

fn constant(value: &OperandValue) -> Option<u32> {
    match value {
        OperandValue::Integer(number) => Some(i32::from(*number).cast_unsigned()),
        OperandValue::Literal32(bits) => Some(*bits),
        _ => None,
    }
}

/// Walks from before an instruction to what may have run before it. `visit` says whether to go on along the path;
/// nothing, to give up. Gives up where a path begins.
fn backward(
    view: &View<'_>,
    from: usize,
    mut visit: impl FnMut(usize) -> Option<bool>,
) -> Option<()> {
    let cfg = view.cfg();
    let start = cfg.block_of(from)?;
    let mut seen = cfg.blocks().filled(false);
    let mut work = vec![(start, from)];
    while let Some((number, end)) = work.pop() {
        let block = cfg.blocks()[number];
        let mut goes_on = true;
        for step in (block.first..end).rev() {
            goes_on = visit(step)?;
            if !goes_on {
                break;
            }
        }
        if !goes_on {
            continue;
        }
        // The function's entry, or code without known predecessors.
        if Some(number) == cfg.entry() || cfg.predecessors(number).next().is_none() {
            return None;
        }
        for before in cfg.predecessors(number) {
            if !std::mem::replace(&mut seen[before], true) {
                work.push((before, cfg.blocks()[before].end));
            }
        }
    }
    Some(())
}

/// Walks from after an instruction to all that may run after it. `visit` says whether to go on along the path;
/// nothing, to give up. Gives up where a path leaves the function other than by ending the program.
fn forward(
    view: &View<'_>,
    from: usize,
    mut visit: impl FnMut(usize) -> Option<bool>,
) -> Option<()> {
    let cfg = view.cfg();
    let start = cfg.block_of(from)?;
    let mut seen = cfg.blocks().filled(false);
    let mut work = vec![(start, from + 1)];
    while let Some((number, first)) = work.pop() {
        let block = cfg.blocks()[number];
        let mut goes_on = true;
        for step in first..block.end {
            if is_call(view.stream().inst(step).as_ref()) {
                return None;
            }
            goes_on = visit(step)?;
            if !goes_on {
                break;
            }
        }
        if !goes_on {
            continue;
        }
        if !matches!(block.exit, None | Some(Exit::End)) {
            return None;
        }
        for after in cfg.successors(number) {
            if !std::mem::replace(&mut seen[after], true) {
                work.push((after, cfg.blocks()[after].first));
            }
        }
    }
    Some(())
}

fn is_call(inst: Option<&Inst>) -> bool {
    inst.is_none_or(|it| matches!(it.flow(), Flow::Call | Flow::IndirectCall | Flow::Trap))
}

const EXAMPLES: &[Example] = &[
    Example::new(
        "TN1",
        "tensor_load_to_lds s[0:3], s[4:11]",
        ".long 9a040480
         tensor_load_to_lds s[0:3], s[4:11]",
    ),
    Example::new(
        "TN2",
        "tensor_load_to_lds s[0:3], s[4:11]
         s_mov_b32 s0, s4
         v_mov_b32_e32 v0, s0
         global_store_b32 v1, v0, s[2:3]",
        "s_mov_b32 s12, s4
         s_pack_hh_b32_b16 s4, 0, s4
         tensor_load_to_lds s[0:3], s[4:11]
         s_mov_b32 s4, s12
         s_mov_b32 s0, s4
         v_mov_b32_e32 v0, s0
         global_store_b32 v1, v0, s[2:3]",
    ),
    Example::new(
        "TN3",
        "tensor_load_to_lds s[0:3], s[16:23]",
        "s_pack_hh_b32_b16 s16, 0, s16
         tensor_load_to_lds s[0:3], s[16:23]",
    ),
    Example::new(
        "TN4",
        "tensor_load_to_lds s[0:3], s[4:11]
         s_mov_b32 s4, 1
         v_mov_b32_e32 v0, s4
         global_store_b32 v1, v0, s[2:3]",
        "s_pack_hh_b32_b16 s4, 0, s4
         tensor_load_to_lds s[0:3], s[4:11]
         s_mov_b32 s4, 1
         v_mov_b32_e32 v0, s4
         global_store_b32 v1, v0, s[2:3]",
    ),
    Example::new(
        "TN5",
        "tensor_load_to_lds s[0:3], s[4:11], s[12:15], s[16:19]",
        "s_pack_hh_b32_b16 s4, 0, s4
         tensor_load_to_lds s[0:3], s[4:11], s[12:15], s[16:19]",
    ),
    Example::new(
        "TN7",
        "s_mov_b32 s4, 0x10000
         s_and_b32 s4, s4, 0xfffcffff
         s_or_b32 s4, s4, s5
         .long 8b04ff04, fff7ffff
         tensor_load_to_lds s[0:3], s[4:11]",
        "s_mov_b32 s4, 0x10000
         s_and_b32 s4, s4, 0xfffcffff
         s_or_b32 s4, s4, s5
         .long 8b04ff04, fff70000
         tensor_load_to_lds s[0:3], s[4:11]",
    ),
    Example::same(
        "TN7-clear",
        "s_and_b32 s4, s4, 0xfff70000
         s_or_b32 s4, s4, 0x40000
         tensor_load_to_lds s[0:3], s[4:11]",
    ),
    Example::new(
        "TN8",
        "s_and_b32 s4, s4, 0xfff7ffff
         tensor_load_to_lds s[0:3], s[4:11]
         s_or_b32 s4, s4, 0x40000
         tensor_load_to_lds s[0:3], s[4:11]",
        "s_and_b32 s4, s4, 0xfff70000
         tensor_load_to_lds s[0:3], s[4:11]
         s_or_b32 s4, s4, 0x40000
         tensor_load_to_lds s[0:3], s[4:11]",
    ),
    Example::new(
        "TN9",
        "s_and_b32 s4, s4, 0xfff7ffff
         tensor_load_to_lds s[0:3], s[4:11]",
        "s_and_b32 s4, s4, 0xfff70000
         tensor_load_to_lds s[0:3], s[4:11]",
    )
    .registers(106, 64),
    Example::new(
        "TN11",
        "s_and_b32 s4, s4, 0xfff7ffff
         s_cselect_b32 s12, 1, 0
         v_mov_b32_e32 v0, s12
         tensor_load_to_lds s[0:3], s[4:11]
         global_store_b32 v1, v0, s[2:3]",
        "s_and_b32 s4, s4, 0xfff7ffff
         s_cselect_b32 s12, 1, 0
         v_mov_b32_e32 v0, s12
         s_pack_hh_b32_b16 s4, 0, s4
         tensor_load_to_lds s[0:3], s[4:11]
         global_store_b32 v1, v0, s[2:3]",
    ),
    Example::new(
        "TN11-join",
        "s_and_b32 s4, s4, 0xfff7ffff
         s_cbranch_vccz 1
         s_nop 0
         tensor_load_to_lds s[0:3], s[4:11]",
        "s_and_b32 s4, s4, 0xfff70000
         s_cbranch_vccz 1
         s_nop 0
         tensor_load_to_lds s[0:3], s[4:11]",
    ),
    Example::new(
        "TN11-other-path",
        "s_cbranch_vccz 2
         s_and_b32 s4, s4, 0xfff7ffff
         tensor_load_to_lds s[0:3], s[4:11]",
        "s_cbranch_vccz 2
         s_and_b32 s4, s4, 0xfff7ffff
         s_pack_hh_b32_b16 s4, 0, s4
         tensor_load_to_lds s[0:3], s[4:11]",
    ),
    Example::new(
        "TN11-seen",
        "s_and_b32 s4, s4, 0xfff7ffff
         v_mov_b32_e32 v0, s4
         tensor_load_to_lds s[0:3], s[4:11]
         global_store_b32 v1, v0, s[2:3]",
        "s_and_b32 s4, s4, 0xfff7ffff
         v_mov_b32_e32 v0, s4
         s_pack_hh_b32_b16 s4, 0, s4
         tensor_load_to_lds s[0:3], s[4:11]
         global_store_b32 v1, v0, s[2:3]",
    ),
    Example::new(
        "TN12",
        "s_and_b32 s4, s4, 0xfff7ffff
         s_get_pc_i64 s[12:13]
         s_add_nc_u64 s[12:13], s[12:13], 12
         s_set_pc_i64 s[12:13]
         s_endpgm
         tensor_load_to_lds s[0:3], s[4:11]",
        "s_and_b32 s4, s4, 0xfff70000
         s_get_pc_i64 s[12:13]
         s_add_nc_u64 s[12:13], s[12:13], 12
         s_set_pc_i64 s[12:13]
         s_endpgm
         tensor_load_to_lds s[0:3], s[4:11]",
    ),
    Example::new(
        "TN12-unknown",
        "s_and_b32 s4, s4, 0xfff7ffff
         s_cbranch_vccz 1
         s_set_pc_i64 s[12:13]
         tensor_load_to_lds s[0:3], s[4:11]",
        "s_and_b32 s4, s4, 0xfff7ffff
         s_cbranch_vccz 1
         s_set_pc_i64 s[12:13]
         s_pack_hh_b32_b16 s4, 0, s4
         tensor_load_to_lds s[0:3], s[4:11]",
    ),
];
