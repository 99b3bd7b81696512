//! Loads that one workgroup makes for its cluster.

use hsaco_isa::errata::CLUSTER_LOAD;

use super::{Example, Requirement, RewriteRule, Stage, Trigger, answer};
use crate::{Answer, ClusterLoads, Plan, Refusal, RefusalKind, Site};

/// Cluster loads, the loads that they become, and these loads' opcodes.
const LOADS: [(&str, &str, u32); 7] = [
    ("cluster_load_b32", "global_load_b32", 0x14),
    ("cluster_load_b64", "global_load_b64", 0x15),
    ("cluster_load_b128", "global_load_b128", 0x17),
    ("cluster_load_async_to_lds_b8", "global_load_async_to_lds_b8", 0x5f),
    ("cluster_load_async_to_lds_b32", "global_load_async_to_lds_b32", 0x60),
    ("cluster_load_async_to_lds_b64", "global_load_async_to_lds_b64", 0x61),
    ("cluster_load_async_to_lds_b128", "global_load_async_to_lds_b128", 0x62),
];

/// Where the opcode is in the first word.
const OPCODE: u32 = 0xff << 14;

pub(super) const RULE: RewriteRule = RewriteRule {
    name: CLUSTER_LOAD.name,
    summary: "cluster loads become global loads",
    stage: Stage::Site,
    requirement: Requirement::Required,
    trigger: Trigger::Opcodes(CLUSTER_LOAD.mnemonics),
    look: |site| {
        answer(match site.options().cluster_loads {
            ClusterLoads::Global => to_global(site),
            ClusterLoads::Masked => masked(site),
        })
    },
    residual,
    examples: EXAMPLES,
    page: include_str!("../../rules/cluster-load.md"),
};

/// Only the opcode differs: modifiers and operands stay where they are.
fn to_global(site: &Site<'_>) -> Result<Answer, Refusal> {
    let found = LOADS.iter().find(|(cluster, ..)| *cluster == site.mnemonic());
    let Some((_, global, opcode)) = found else { return Ok(Answer::NotMine) };
    let mut bytes = site.bytes();
    if let Some(first) = bytes.first_chunk_mut() {
        *first = (u32::from_le_bytes(*first) & !OPCODE | opcode << 14).to_le_bytes();
    }
    let inst = site.decode(&bytes)?;
    if inst.mnemonic() != *global {
        let detail = format!("{} has no form that {global} has too", site.text());
        return Err(Refusal::new(RefusalKind::Unsupported, detail));
    }
    Ok(Answer::Rewrite(Plan::replace(site, vec![inst])))
}

/// The mask is the lower half of M0. A load whose page was not there reads M0 again, so its translation has to be
/// over before M0 is what it was.
fn masked(site: &Site<'_>) -> Result<Answer, Refusal> {
    if is_masked(site) {
        return Ok(Answer::NotMine);
    }
    let Some(load) = site.inst() else { return Ok(Answer::NotMine) };
    let mut scratch = site.scratch_registers();
    let saved = scratch.sgprs(1, 1)?;
    let code = vec![
        site.assemble(&format!("s_mov_b32 {saved}, m0"))?,
        site.assemble("s_pack_hh_b32_b16 m0, 0, m0")?,
        load,
        site.assemble("s_wait_xcnt 0x0")?,
        site.assemble(&format!("s_mov_b32 m0, {saved}"))?,
    ];
    Ok(Answer::Rewrite(Plan::replace(site, code).taking(scratch)))
}

fn residual(site: &Site<'_>) -> bool {
    match site.options().cluster_loads {
        ClusterLoads::Global => true,
        ClusterLoads::Masked => !is_masked(site),
    }
}

/// Whether the instruction before clears the mask.
fn is_masked(site: &Site<'_>) -> bool {
    let before = site.step().checked_sub(1).and_then(|step| site.view().stream().inst(step));
    before.is_some_and(|inst| {
        site.view().decoder().text(&inst).starts_with("s_pack_hh_b32_b16 m0, 0, m0")
    })
}

const EXAMPLES: &[Example] = &[
    Example::new("IP1", "cluster_load_b32 v0, v[2:3], off", ".long ee05007c, 00000000, 00000002"),
    Example::new(
        "IP2",
        "cluster_load_b64 v[0:1], v[2:3], off",
        "global_load_b64 v[0:1], v[2:3], off",
    ),
    Example::new(
        "IP3",
        "cluster_load_b128 v[4:7], v[8:9], off",
        "global_load_b128 v[4:7], v[8:9], off",
    ),
    Example::new(
        "IP4",
        "cluster_load_async_to_lds_b8 v0, v[2:3], off",
        "global_load_async_to_lds_b8 v0, v[2:3], off",
    ),
    Example::new(
        "IP5",
        "cluster_load_async_to_lds_b32 v0, v[2:3], off",
        "global_load_async_to_lds_b32 v0, v[2:3], off",
    ),
    Example::new(
        "IP6",
        "cluster_load_async_to_lds_b64 v0, v[2:3], off",
        "global_load_async_to_lds_b64 v0, v[2:3], off",
    ),
    Example::new(
        "IP7",
        "cluster_load_async_to_lds_b128 v0, v[2:3], off",
        "global_load_async_to_lds_b128 v0, v[2:3], off",
    ),
    Example::new(
        "IP8",
        "cluster_load_b64 v[0:1], v2, s[4:5]",
        "global_load_b64 v[0:1], v2, s[4:5]",
    ),
    Example::new(
        "IP9",
        "cluster_load_b128 v[8:11], v12, s[8:9] offset:64 scale_offset th:TH_LOAD_NT_HT scope:SCOPE_DEV",
        ".long ee05c008, 00690008, 0000400c",
    ),
    Example::new(
        "IP10",
        "cluster_load_async_to_lds_b8 v13, v14, s[10:11] offset:-64 th:TH_LOAD_NT_HT scope:SCOPE_DEV",
        "global_load_async_to_lds_b8 v13, v14, s[10:11] offset:-64 th:TH_LOAD_NT_HT scope:SCOPE_DEV",
    ),
    Example::new(
        "IP11",
        "cluster_load_async_to_lds_b64 v15, v16, s[12:13] scale_offset th:TH_LOAD_BYPASS scope:SCOPE_SYS",
        "global_load_async_to_lds_b64 v15, v16, s[12:13] scale_offset th:TH_LOAD_BYPASS scope:SCOPE_SYS",
    ),
    Example::new(
        "IP12",
        "cluster_load_b64 v[0:1], v2, s[4:5]",
        "global_load_b64 v[0:1], v2, s[4:5]",
    )
    .registers(106, 8),
    Example::new(
        "CW1",
        "cluster_load_b32 v4, v1, s[2:3]",
        "s_mov_b32 s0, m0
         s_pack_hh_b32_b16 m0, 0, m0
         cluster_load_b32 v4, v1, s[2:3]
         s_wait_xcnt 0x0
         s_mov_b32 m0, s0",
    )
    .options(|it| it.cluster_loads = ClusterLoads::Masked),
];
