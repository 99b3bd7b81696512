//! Tensor loads of waves that are in no cluster, on B0.

use hsaco_isa::Inst;
use hsaco_isa::model::{OperandValue, Register};

use super::tensor_mask::{SCC, base, is_free};
use super::{Example, Requirement, RewriteRule, Stage, Trigger, answer};
use crate::body::unsupported;
use crate::{Answer, Plan, Refusal, Site};

pub(super) const RULE: RewriteRule = RewriteRule {
    name: "tensor-mask-b0",
    summary: "tensor loads of waves in no cluster name no other workgroup",
    stage: Stage::Site,
    requirement: Requirement::Required,
    trigger: Trigger::Opcodes(&["tensor_load_to_lds"]),
    look: |site| answer(look(site)),
    residual: |site| !base(site).is_some_and(|base| is_chosen(site, &base)),
    examples: EXAMPLES,
    page: include_str!("../../rules/tensor-mask-b0.md"),
};

fn look(site: &Site<'_>) -> Result<Answer, Refusal> {
    let base = base(site).ok_or_else(|| unsupported(site, "its second group is no register"))?;
    if is_chosen(site, &base) { Ok(Answer::NotMine) } else { choosing(site, &base) }
}

/// Clears the mask only where the wave is in no cluster.
fn choosing(site: &Site<'_>, base: &Register) -> Result<Answer, Refusal> {
    let mut scratch = site.scratch_registers();
    let saved = scratch.sgprs(1, 1)?;
    let scc = if site.is_scc_needed() { Some(scratch.sgprs(1, 1)?) } else { None };
    let mut lines = vec![format!("s_mov_b32 {saved}, {base}")];
    match scc {
        Some(scc) => lines.push(format!("s_cselect_b32 {scc}, 1, 0")),
        None => scratch.take(&SCC),
    }
    lines.extend(choice(base, &saved));
    lines.extend(scc.map(|scc| format!("s_cmp_lg_u32 {scc}, 0")));
    let mut code = site.assemble_all(&lines)?;
    code.extend(site.inst());
    if is_free(site, base) {
        scratch.take(base);
    } else {
        code.push(site.assemble(&format!("s_mov_b32 {base}, {saved}"))?);
    }
    Ok(Answer::Rewrite(Plan::replace(site, code).taking(scratch)))
}

/// Puts a register that is saved in another one into itself again, without the mask where the number of the cluster is 0.
fn choice(base: &Register, saved: &Register) -> [String; 4] {
    [
        format!("s_getreg_b32 {base}, hwreg(HW_REG_IB_STS2, 6, 4)"),
        format!("s_cmp_eq_u32 {base}, 0"),
        format!("s_pack_hh_b32_b16 {base}, 0, {saved}"),
        format!("s_cselect_b32 {base}, {base}, {saved}"),
    ]
}

/// Whether the choice stands before the load.
fn is_chosen(site: &Site<'_>, base: &Register) -> bool {
    let decoder = site.view().decoder();
    let before = |back: usize| site.view().stream().inst(site.step().checked_sub(back)?);
    let restores_scc = before(1).is_some_and(|it| it.mnemonic() == "s_cmp_lg_u32");
    let last = 1 + usize::from(restores_scc);
    let saved = before(last).and_then(|select| decoder.operand(&select, "src1"));
    let Some(OperandValue::Register(saved)) = saved else { return false };
    let text = |inst: Inst| decoder.text(&inst);
    let is_line = |(back, line): (usize, &String)| {
        site.assemble(line).ok().map(text).is_some_and(|it| before(back).map(text) == Some(it))
    };
    (last..).zip(choice(base, &saved).iter().rev()).all(is_line)
}

const EXAMPLES: &[Example] = &[
    Example::new(
        "TN13",
        "tensor_load_to_lds s[0:3], s[4:11]
         v_mov_b32_e32 v0, s4
         global_store_b32 v1, v0, s[2:3]",
        "s_mov_b32 s12, s4
         s_getreg_b32 s4, hwreg(HW_REG_IB_STS2, 6, 4)
         s_cmp_eq_u32 s4, 0
         s_pack_hh_b32_b16 s4, 0, s12
         s_cselect_b32 s4, s4, s12
         tensor_load_to_lds s[0:3], s[4:11]
         s_mov_b32 s4, s12
         v_mov_b32_e32 v0, s4
         global_store_b32 v1, v0, s[2:3]",
    ),
    Example::new(
        "TN13-scc",
        "s_cmp_eq_u32 s20, s21
         tensor_load_to_lds s[0:3], s[4:11]
         s_cbranch_scc1 0",
        "s_cmp_eq_u32 s20, s21
         s_mov_b32 s12, s4
         s_cselect_b32 s13, 1, 0
         s_getreg_b32 s4, hwreg(HW_REG_IB_STS2, 6, 4)
         s_cmp_eq_u32 s4, 0
         s_pack_hh_b32_b16 s4, 0, s12
         s_cselect_b32 s4, s4, s12
         s_cmp_lg_u32 s13, 0
         tensor_load_to_lds s[0:3], s[4:11]
         s_cbranch_scc1 0",
    ),
    Example::same(
        "TN13-chosen",
        "s_mov_b32 s12, s4
         s_getreg_b32 s4, hwreg(HW_REG_IB_STS2, 6, 4)
         s_cmp_eq_u32 s4, 0
         s_pack_hh_b32_b16 s4, 0, s12
         s_cselect_b32 s4, s4, s12
         tensor_load_to_lds s[0:3], s[4:11]",
    ),
    Example::new(
        "TN13-another-choice",
        "s_cmp_eq_u32 s20, 0
         s_pack_hh_b32_b16 s4, 0, s12
         s_cselect_b32 s4, s4, s12
         tensor_load_to_lds s[0:3], s[4:11]",
        "s_cmp_eq_u32 s20, 0
         s_pack_hh_b32_b16 s4, 0, s12
         s_cselect_b32 s4, s4, s12
         s_mov_b32 s12, s4
         s_getreg_b32 s4, hwreg(HW_REG_IB_STS2, 6, 4)
         s_cmp_eq_u32 s4, 0
         s_pack_hh_b32_b16 s4, 0, s12
         s_cselect_b32 s4, s4, s12
         tensor_load_to_lds s[0:3], s[4:11]",
    ),
];
