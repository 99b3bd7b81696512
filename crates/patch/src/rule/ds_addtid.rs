//! LDS instructions that add the lane's number to M0.

use hsaco_isa::errata::DS_ADDTID;
use hsaco_isa::model::Register;

use super::{Example, Requirement, RewriteRule, Stage, Trigger, answer};
use crate::body::{Body, Role, unsupported, vgprs_near};
use crate::{Answer, Plan, Refusal, Site};

const LOAD: &str = "ds_load_addtid_b32";

pub(super) const RULE: RewriteRule = RewriteRule {
    name: DS_ADDTID.name,
    summary: "LDS instructions that add the lane's number to M0 compute their address first",
    stage: Stage::Site,
    requirement: Requirement::Required,
    trigger: Trigger::Opcodes(DS_ADDTID.mnemonics),
    look: |site| answer(look(site)),
    residual: |_| true,
    examples: EXAMPLES,
    page: include_str!("../../rules/ds-addtid.md"),
};

fn look(site: &Site<'_>) -> Result<Answer, Refusal> {
    let mut body = Body::new(site)?;
    let mut scratch = site.scratch_registers();
    let is_load = site.mnemonic() == LOAD;
    let (name, role) = if is_load { ("vdst", Role::Destination) } else { ("data0", Role::Second) };
    let data = body.register(name, role).ok_or_else(|| unsupported(site, "no data register"))?;
    // A load that is still to come back may overwrite what is in its own register meanwhile.
    let is_own = is_load && !site.view().outstanding(site.step()).contains(&data);
    let address = if is_own { data } else { vgprs_near(&mut scratch, 1, 1, &data)? };
    compute(&mut body, address)?;
    let offset = match site.number("offset") {
        Some(0) => String::new(),
        Some(offset) => format!(" offset:{offset}"),
        None => return Err(unsupported(site, "no offset")),
    };
    if is_load {
        let operands = [(Role::Destination, data), (Role::First, address)];
        body.emit(&format!("ds_load_b32 @, @{offset}"), &operands)?;
    } else {
        let operands = [(Role::First, address), (Role::Second, data)];
        body.emit(&format!("ds_store_b32 @, @{offset}"), &operands)?;
    }
    Ok(Answer::Rewrite(Plan::replace(site, body.finish()?).taking(scratch)))
}

/// M0 and four times the lane's number, in the 20 bits that B0 has.
fn compute(body: &mut Body<'_, '_>, to: Register) -> Result<(), Refusal> {
    let both = [(Role::Destination, to), (Role::Second, to)];
    // The address is read as a first source: no switch is needed in between.
    body.emit("v_mbcnt_lo_u32_b32 @, -1, 0", &[(Role::Destination, to)])?;
    body.emit("v_mbcnt_hi_u32_b32 @, -1, @", &both)?;
    body.emit("v_lshlrev_b32_e32 @, 2, @", &both)?;
    body.emit("v_add_nc_u32_e32 @, m0, @", &both)?;
    body.emit("v_and_b32_e32 @, 0xfffff, @", &both)
}

const EXAMPLES: &[Example] = &[
    Example::new(
        "AT1",
        "ds_load_addtid_b32 v5 offset:128",
        ".long d71f0005, 000100c1, d7200005, 00020ac1, 300a0a82, 4a0a0a7d, 360a0aff, 000fffff, d8d80080, 05000005",
    ),
    Example::new(
        "AT2",
        "ds_load_addtid_b32 v6",
        "v_mbcnt_lo_u32_b32 v6, -1, 0
         v_mbcnt_hi_u32_b32 v6, -1, v6
         v_lshlrev_b32_e32 v6, 2, v6
         v_add_nc_u32_e32 v6, m0, v6
         v_and_b32_e32 v6, 0xfffff, v6
         ds_load_b32 v6, v6",
    ),
    Example::new(
        "AT2-in-flight",
        "ds_load_b32 v6, v7
         ds_load_addtid_b32 v6",
        "ds_load_b32 v6, v7
         v_mbcnt_lo_u32_b32 v0, -1, 0
         v_mbcnt_hi_u32_b32 v0, -1, v0
         v_lshlrev_b32_e32 v0, 2, v0
         v_add_nc_u32_e32 v0, m0, v0
         v_and_b32_e32 v0, 0xfffff, v0
         ds_load_b32 v6, v0",
    ),
    Example::new(
        "AT3",
        "ds_store_addtid_b32 v8 offset:64",
        "v_mbcnt_lo_u32_b32 v0, -1, 0
         v_mbcnt_hi_u32_b32 v0, -1, v0
         v_lshlrev_b32_e32 v0, 2, v0
         v_add_nc_u32_e32 v0, m0, v0
         v_and_b32_e32 v0, 0xfffff, v0
         ds_store_b32 v0, v8 offset:64",
    ),
    Example::new(
        "AT-banks",
        "s_set_vgpr_msb 0x41
         ds_load_addtid_b32 v5
         s_set_vgpr_msb 0x4100",
        "s_set_vgpr_msb 0x41
         v_mbcnt_lo_u32_b32 v5, -1, 0
         s_wait_xcnt 0x0
         s_set_vgpr_msb 0x4145
         v_mbcnt_hi_u32_b32 v5, -1, v5
         v_lshlrev_b32_e32 v5, 2, v5
         v_add_nc_u32_e32 v5, m0, v5
         v_and_b32_e32 v5, 0xfffff, v5
         ds_load_b32 v5, v5
         s_set_vgpr_msb 0x4541
         s_set_vgpr_msb 0x4100",
    ),
];
