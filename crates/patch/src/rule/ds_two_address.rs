//! LDS instructions with two addresses.

use hsaco_isa::Inst;
use hsaco_isa::effects::{Counter, Space};
use hsaco_isa::errata::DS_TWO_ADDRESS;
use hsaco_isa::model::Register;

use super::{Example, RULES, Requirement, RewriteRule, Stage, Trigger, answer};
use crate::body::{Body, Role, part, vgprs_near};
use crate::{Answer, Edit, Plan, Refusal, RefusalKind, ScratchRegisters, Site};

/// An instruction with two addresses, that with one, how many bytes an offset counts, and how many registers
/// each of the two accesses has.
struct Form {
    name: &'static str,
    single: &'static str,
    unit: u32,
    words: u8,
}

const fn form(name: &'static str, single: &'static str, unit: u32, words: u8) -> Form {
    Form { name, single, unit, words }
}

const FORMS: [Form; 12] = [
    form("ds_load_2addr_b32", "ds_load_b32", 4, 1),
    form("ds_load_2addr_b64", "ds_load_b64", 8, 2),
    form("ds_load_2addr_stride64_b32", "ds_load_b32", 256, 1),
    form("ds_load_2addr_stride64_b64", "ds_load_b64", 512, 2),
    form("ds_store_2addr_b32", "ds_store_b32", 4, 1),
    form("ds_store_2addr_b64", "ds_store_b64", 8, 2),
    form("ds_store_2addr_stride64_b32", "ds_store_b32", 256, 1),
    form("ds_store_2addr_stride64_b64", "ds_store_b64", 512, 2),
    form("ds_storexchg_2addr_rtn_b32", "ds_storexchg_rtn_b32", 4, 1),
    form("ds_storexchg_2addr_rtn_b64", "ds_storexchg_rtn_b64", 8, 2),
    form("ds_storexchg_2addr_stride64_rtn_b32", "ds_storexchg_rtn_b32", 256, 1),
    form("ds_storexchg_2addr_stride64_rtn_b64", "ds_storexchg_rtn_b64", 512, 2),
];

/// What an offset of an instruction with one address can hold.
const OFFSETS: u32 = 0x1_0000;
/// The most that `s_wait_dscnt` can wait for.
const MOST: u8 = 63;

pub(super) const RULE: RewriteRule = RewriteRule {
    name: DS_TWO_ADDRESS.name,
    summary: "LDS instructions with two addresses become two with one",
    stage: Stage::Site,
    requirement: Requirement::Required,
    trigger: Trigger::Opcodes(DS_TWO_ADDRESS.mnemonics),
    look: |site| answer(look(site)),
    residual: |_| true,
    examples: EXAMPLES,
    page: include_str!("../../rules/ds-two-address.md"),
};

/// One of the two accesses.
#[derive(Clone, Copy)]
struct Access {
    address: Register,
    offset: u32,
    result: Option<Register>,
    data: Option<Register>,
}

impl Access {
    /// Whether what it returns overwrites what the other reads.
    fn spoils(&self, other: &Access) -> bool {
        self.result.is_some_and(|result| {
            result.overlaps(&other.address) || other.data.is_some_and(|it| result.overlaps(&it))
        })
    }
}

fn look(site: &Site<'_>) -> Result<Answer, Refusal> {
    if site.options().precise_waits
        && let Some(waits) = later_waits(site)
    {
        let mut scratch = site.scratch_registers();
        let code = split(site, &mut scratch)?;
        if scratch.granted().is_empty() {
            let mut plan = Plan::replace(site, code);
            plan.edits.extend(waits);
            return Ok(Answer::Rewrite(plan));
        }
    }
    if let Some(window) = Window::around(site) {
        let plan = window.plan(site)?;
        // What is free at the site may not be so all along the window.
        if plan.scratch_registers.is_empty() {
            return Ok(Answer::Rewrite(plan));
        }
    }
    let mut scratch = site.scratch_registers();
    let code = drained(site, &mut scratch)?;
    Ok(Answer::Rewrite(Plan::replace(site, code).taking(scratch)))
}

/// The two accesses, and a wait for both: what follows counts them as one.
fn drained(site: &Site<'_>, scratch: &mut ScratchRegisters<'_>) -> Result<Vec<Inst>, Refusal> {
    let mut code = split(site, scratch)?;
    code.push(site.assemble("s_wait_dscnt 0x0")?);
    Ok(code)
}

/// The two accesses.
fn split(site: &Site<'_>, scratch: &mut ScratchRegisters<'_>) -> Result<Vec<Inst>, Refusal> {
    let unknown = || crate::body::unsupported(site, "not one of the forms with two addresses");
    let form = FORMS.iter().find(|form| form.name == site.mnemonic()).ok_or_else(unknown)?;
    let offset = |name| Some(u32::try_from(site.number(name)?).ok()? * form.unit);
    let offsets = [offset("offset0").ok_or_else(unknown)?, offset("offset1").ok_or_else(unknown)?];
    // The second data changes its role, and so does an address that is added to: their banks have to be known.
    let keeps_roles = site.register("data1").is_none() && offsets.iter().all(|it| *it < OFFSETS);
    let mut body = if keeps_roles { Body::as_encoded(site) } else { Body::new(site)? };
    let address = body.register("addr", Role::First).ok_or_else(unknown)?;
    let results = body.register("vdst", Role::Destination);
    let access = |number: u8, offset, data| {
        let result = results.map(|row| part(&row, number * form.words, form.words));
        Access { address, offset, result, data }
    };
    let first = access(0, offsets[0], body.register("data0", Role::Second));
    let second = access(1, offsets[1], body.register("data1", Role::Third));
    let is_exchange = first.result.is_some() && first.data.is_some();
    if is_exchange && first.offset == second.offset {
        let detail = "both exchanges are with one place, and both return what was there before";
        return Err(Refusal::new(RefusalKind::Overlap, detail));
    }
    for access in ordered(&mut body, scratch, first, second)? {
        let mut line = form.single.to_owned();
        let mut registers = Vec::with_capacity(3);
        let mut operand = |role, register: Register| {
            line.push_str(if registers.is_empty() { " @" } else { ", @" });
            registers.push((role, register));
        };
        access.result.into_iter().for_each(|it| operand(Role::Destination, it));
        operand(Role::First, access.address);
        access.data.into_iter().for_each(|it| operand(Role::Second, it));
        if access.offset != 0 {
            line.push_str(&format!(" offset:{}", access.offset));
        }
        body.emit(&line, &registers)?;
    }
    body.finish()
}

/// The accesses in an order in which neither overwrites what the other reads; where there is none, from copies.
fn ordered(
    body: &mut Body<'_, '_>,
    scratch: &mut ScratchRegisters<'_>,
    mut first: Access,
    mut second: Access,
) -> Result<[Access; 2], Refusal> {
    if first.offset >= OFFSETS || second.offset >= OFFSETS {
        let raised = vgprs_near(scratch, 1, 1, &first.address)?;
        let operands = [(Role::Destination, raised), (Role::Second, first.address)];
        body.emit("v_add_nc_u32_e32 @, 0x10000, @", &operands)?;
        for access in [&mut first, &mut second].into_iter().filter(|it| it.offset >= OFFSETS) {
            access.address = raised;
            access.offset -= OFFSETS;
        }
    }
    if !first.spoils(&second) {
        return Ok([first, second]);
    }
    if !second.spoils(&first) {
        return Ok([second, first]);
    }
    let result = first.result.unwrap_or(first.address);
    if result.overlaps(&second.address) {
        second.address = copy(body, scratch, &second.address)?;
    }
    if let Some(data) = second.data.filter(|data| result.overlaps(data)) {
        second.data = Some(copy(body, scratch, &data)?);
    }
    Ok([first, second])
}

/// A copy of a row in registers of its own.
fn copy(
    body: &mut Body<'_, '_>,
    scratch: &mut ScratchRegisters<'_>,
    row: &Register,
) -> Result<Register, Refusal> {
    let to = vgprs_near(scratch, row.count, u16::from(row.count), row)?;
    for at in 0..row.count {
        let operands = [(Role::Destination, part(&to, at, 1)), (Role::First, part(row, at, 1))];
        body.emit("v_mov_b32_e32 @, @", &operands)?;
    }
    Ok(to)
}

/// The edits that let every later wait for LDS accesses wait for the same ones; nothing where that cannot be told
/// within the block, or another access with two addresses is counted too.
fn later_waits(site: &Site<'_>) -> Option<Vec<Edit>> {
    let view = site.view();
    let block = view.cfg().blocks()[view.cfg().block_of(site.step())?];
    let is_two =
        |step: usize| view.stream().inst(step).is_some_and(|inst| RULE.claims(inst.mnemonic()));
    if block.steps().any(|step| step != site.step() && is_two(step)) {
        return None;
    }
    let mut edits = Vec::new();
    let mut later = 0;
    for step in site.step() + 1..block.end {
        let inst = view.stream().inst(step)?;
        let effects = view.decoder().effects(&inst, view.msb(step).unwrap_or_default());
        if let Some((_, most)) = effects.waits().find(|(counter, _)| *counter == Counter::Dscnt) {
            if most <= later {
                return Some(edits);
            }
            if inst.mnemonic() != "s_wait_dscnt" || most >= MOST {
                return None;
            }
            let wait = site.assemble(&format!("s_wait_dscnt {}", most + 1)).ok()?;
            edits.push(Edit { first: step, count: 1, code: vec![wait] });
        }
        if effects.raises().contains(Counter::Dscnt) {
            // Others come back in an order of their own.
            effects.memory().filter(|memory| memory.space == Space::Lds)?;
            later = later.checked_add(1)?;
        }
    }
    None
}

/// The instructions from an `s_delay_alu` to the second that it delays, with accesses between them: as these become
/// more, the hint has to be given in two.
struct Window {
    delay: usize,
    target: usize,
    first: u32,
    second: u32,
}

const SKIP_SHIFT: u32 = 4;
const SECOND_SHIFT: u32 = 7;
/// The longest way from the hint to its second instruction.
const REACH: usize = 6;

impl Window {
    /// The one around a site, if it lies in one block and no other rule has a say in it.
    fn around(site: &Site<'_>) -> Option<Window> {
        let view = site.view();
        let block = view.cfg().blocks()[view.cfg().block_of(site.step())?];
        let earliest = site.step().saturating_sub(REACH).max(block.first);
        let delay = (earliest..site.step()).rev().find(|step| {
            view.stream().inst(*step).is_some_and(|inst| inst.mnemonic() == "s_delay_alu")
        })?;
        let bits = view.site(delay)?.number("simm16").and_then(|it| u32::try_from(it).ok())?;
        let target = delay + 1 + (bits >> SKIP_SHIFT & 7) as usize;
        let window = Window { delay, target, first: bits & 15, second: bits >> SECOND_SHIFT & 15 };
        // Distance from matrix instructions may have to go anywhere, and a literal of `s_and_b32` may change.
        let is_plain = |step: usize| {
            view.stream().inst(step).is_some_and(|inst| {
                let claims =
                    |rule: &RewriteRule| rule.name != RULE.name && rule.claims(inst.mnemonic());
                let may_change = inst.mnemonic() == "s_and_b32" && inst.len() > 4;
                // Other accesses are counted with those before them, which the replacement waits for.
                let effects = view.decoder().effects(&inst, view.msb(step).unwrap_or_default());
                let counts = effects.raises().contains(Counter::Dscnt);
                let is_other = counts && !RULE.claims(inst.mnemonic());
                !may_change && !is_other && !inst.writes_mode() && !RULES.iter().any(claims)
            })
        };
        let holds = window.second != 0
            && site.step() < target
            && target < block.end
            && !view.has_matrices();
        (holds && (delay..=target).all(is_plain)).then_some(window)
    }

    fn plan(&self, site: &Site<'_>) -> Result<Plan, Refusal> {
        let mut code = Vec::new();
        let mut scratch = site.scratch_registers();
        let hint = |id: u32| site.decode(&[id as u8, 0, 0x87, 0xbf]);
        if self.first != 0 {
            code.push(hint(self.first)?);
        }
        for step in self.delay + 1..=self.target {
            if step == self.target {
                code.push(hint(self.second)?);
            }
            let Some(other) = site.view().site(step) else { continue };
            if RULE.claims(other.mnemonic()) {
                code.extend(drained(&other, &mut scratch)?);
            } else {
                code.extend(other.inst());
            }
        }
        let count = self.target + 1 - self.delay;
        Ok(Plan::edit(Edit { first: self.delay, count, code }).taking(scratch))
    }
}

const EXAMPLES: &[Example] = &[
    Example::new(
        "DS1",
        "ds_load_2addr_b32 v[0:1], v2 offset0:1 offset1:3",
        "ds_load_b32 v0, v2 offset:4
         ds_load_b32 v1, v2 offset:12
         s_wait_dscnt 0x0",
    ),
    Example::new(
        "DS2",
        "ds_load_2addr_b64 v[0:3], v4 offset0:1 offset1:2",
        "ds_load_b64 v[0:1], v4 offset:8
         ds_load_b64 v[2:3], v4 offset:16
         s_wait_dscnt 0x0",
    ),
    Example::new(
        "DS3",
        "ds_load_2addr_stride64_b32 v[0:1], v2 offset0:1 offset1:3",
        "ds_load_b32 v0, v2 offset:256
         ds_load_b32 v1, v2 offset:768
         s_wait_dscnt 0x0",
    ),
    Example::new(
        "DS4",
        "ds_load_2addr_stride64_b64 v[0:3], v4 offset0:1 offset1:2",
        "ds_load_b64 v[0:1], v4 offset:512
         ds_load_b64 v[2:3], v4 offset:1024
         s_wait_dscnt 0x0",
    ),
    Example::new(
        "DS5",
        "ds_store_2addr_stride64_b32 v2, v0, v1 offset0:1 offset1:3",
        "ds_store_b32 v2, v0 offset:256
         ds_store_b32 v2, v1 offset:768
         s_wait_dscnt 0x0",
    ),
    Example::new(
        "DS5-stride1",
        "ds_store_2addr_b32 v2, v0, v1 offset0:1 offset1:3",
        "ds_store_b32 v2, v0 offset:4
         ds_store_b32 v2, v1 offset:12
         s_wait_dscnt 0x0",
    ),
    Example::new(
        "DS6",
        "ds_store_2addr_b64 v4, v[0:1], v[2:3] offset0:1 offset1:3",
        "ds_store_b64 v4, v[0:1] offset:8
         ds_store_b64 v4, v[2:3] offset:24
         s_wait_dscnt 0x0",
    ),
    Example::new(
        "DS6-stride64",
        "ds_store_2addr_stride64_b64 v4, v[0:1], v[2:3] offset1:127",
        "ds_store_b64 v4, v[0:1]
         ds_store_b64 v4, v[2:3] offset:65024
         s_wait_dscnt 0x0",
    ),
    Example::new(
        "DS7",
        "ds_storexchg_2addr_rtn_b32 v[0:1], v2, v3, v4 offset0:1 offset1:3",
        "ds_storexchg_rtn_b32 v0, v2, v3 offset:4
         ds_storexchg_rtn_b32 v1, v2, v4 offset:12
         s_wait_dscnt 0x0",
    ),
    Example::new(
        "DS7-stride64",
        "ds_storexchg_2addr_stride64_rtn_b32 v[0:1], v2, v3, v4 offset0:1 offset1:3",
        "ds_storexchg_rtn_b32 v0, v2, v3 offset:256
         ds_storexchg_rtn_b32 v1, v2, v4 offset:768
         s_wait_dscnt 0x0",
    ),
    Example::new(
        "DS8",
        "ds_storexchg_2addr_stride64_rtn_b64 v[0:3], v4, v[6:7], v[8:9] offset0:1 offset1:3",
        "ds_storexchg_rtn_b64 v[0:1], v4, v[6:7] offset:512
         ds_storexchg_rtn_b64 v[2:3], v4, v[8:9] offset:1536
         s_wait_dscnt 0x0",
    ),
    Example::new(
        "DS8-stride1",
        "ds_storexchg_2addr_rtn_b64 v[0:3], v4, v[6:7], v[8:9] offset0:1 offset1:3",
        "ds_storexchg_rtn_b64 v[0:1], v4, v[6:7] offset:8
         ds_storexchg_rtn_b64 v[2:3], v4, v[8:9] offset:24
         s_wait_dscnt 0x0",
    ),
    Example::new(
        "DS9",
        "ds_load_2addr_b64 v[2:5], v2 offset1:1",
        "ds_load_b64 v[4:5], v2 offset:8
         ds_load_b64 v[2:3], v2
         s_wait_dscnt 0x0",
    ),
    Example::new(
        "DS10",
        "ds_load_2addr_b64 v[2:5], v4 offset1:1",
        "ds_load_b64 v[2:3], v4
         ds_load_b64 v[4:5], v4 offset:8
         s_wait_dscnt 0x0",
    ),
    Example::new(
        "DS11",
        "ds_storexchg_2addr_rtn_b64 v[20:23], v24, v[22:23], v[20:21] offset1:1",
        "v_mov_b32_e32 v0, v20
         v_mov_b32_e32 v1, v21
         ds_storexchg_rtn_b64 v[20:21], v24, v[22:23]
         ds_storexchg_rtn_b64 v[22:23], v24, v[0:1] offset:8
         s_wait_dscnt 0x0",
    ),
    Example::refused(
        "DS11-same",
        "ds_storexchg_2addr_rtn_b32 v[0:1], v2, v3, v4 offset0:1 offset1:1",
        "overlap: both exchanges are with one place",
    ),
    Example::new(
        "DS12",
        "ds_load_2addr_stride64_b64 v[0:3], v4 offset0:128 offset1:0",
        "v_add_nc_u32_e32 v5, 0x10000, v4
         ds_load_b64 v[0:1], v5
         ds_load_b64 v[2:3], v4
         s_wait_dscnt 0x0",
    ),
    Example::refused(
        "DS12-banks",
        "s_cbranch_vccz 1
         s_set_vgpr_msb 0x40
         ds_load_2addr_stride64_b64 v[0:3], v4 offset0:128",
        "unknown-bank: ",
    ),
    Example::new(
        "DS13",
        "s_set_vgpr_msb 0x41
         ds_load_2addr_b64 v[254:257], v88 offset1:1
         s_set_vgpr_msb 0x4100",
        "s_set_vgpr_msb 0x41
         ds_load_b64 v[254:255], v88
         s_wait_xcnt 0x0
         s_set_vgpr_msb 0x4181
         ds_load_b64 v[0:1], v88 offset:8
         s_set_vgpr_msb 0x8141
         s_wait_dscnt 0x0
         s_set_vgpr_msb 0x4100",
    ),
    Example::new(
        "DS13-data",
        "s_set_vgpr_msb 0x10
         ds_store_2addr_b32 v2, v0, v1 offset1:1
         s_set_vgpr_msb 0x1000",
        "s_set_vgpr_msb 0x10
         ds_store_b32 v2, v0
         s_wait_xcnt 0x0
         s_set_vgpr_msb 0x1014
         ds_store_b32 v2, v1 offset:4
         s_set_vgpr_msb 0x1410
         s_wait_dscnt 0x0
         s_set_vgpr_msb 0x1000",
    ),
    Example::new(
        "DS14",
        "s_delay_alu instid0(SALU_CYCLE_1) | instskip(SKIP_3) | instid1(VALU_DEP_1)
         s_or_b32 exec_lo, exec_lo, s12
         ds_load_2addr_b64 v[2:5], v52 offset0:153 offset1:161
         s_wait_dscnt 1
         v_cmp_eq_u32_e64 s12, 0, v6
         v_cndmask_b32_e64 v116, 0, v198, s12",
        "s_delay_alu instid0(SALU_CYCLE_1)
         s_or_b32 exec_lo, exec_lo, s12
         ds_load_b64 v[2:3], v52 offset:1224
         ds_load_b64 v[4:5], v52 offset:1288
         s_wait_dscnt 0
         s_wait_dscnt 1
         v_cmp_eq_u32_e64 s12, 0, v6
         s_delay_alu instid0(VALU_DEP_1)
         v_cndmask_b32_e64 v116, 0, v198, s12",
    ),
    Example::new(
        "DS15",
        "s_delay_alu instid0(SALU_CYCLE_1) | instskip(SKIP_4) | instid1(VALU_DEP_1)
         s_or_b32 exec_lo, exec_lo, s12
         ds_load_2addr_b32 v[2:3], v52 offset0:13 offset1:14
         ds_load_2addr_b32 v[4:5], v52 offset0:15 offset1:16
         s_wait_dscnt 1
         v_cmp_eq_u32_e64 s12, 0, v6
         v_cndmask_b32_e64 v116, 0, v198, s12",
        "s_delay_alu instid0(SALU_CYCLE_1)
         s_or_b32 exec_lo, exec_lo, s12
         ds_load_b32 v2, v52 offset:52
         ds_load_b32 v3, v52 offset:56
         s_wait_dscnt 0
         ds_load_b32 v4, v52 offset:60
         ds_load_b32 v5, v52 offset:64
         s_wait_dscnt 0
         s_wait_dscnt 1
         v_cmp_eq_u32_e64 s12, 0, v6
         s_delay_alu instid0(VALU_DEP_1)
         v_cndmask_b32_e64 v116, 0, v198, s12",
    ),
    Example::new(
        "DS-precise",
        "ds_load_b32 v9, v8
         ds_load_2addr_b32 v[0:1], v2 offset1:1
         s_wait_dscnt 1
         v_mov_b32_e32 v10, v9
         s_wait_dscnt 0",
        "ds_load_b32 v9, v8
         ds_load_b32 v0, v2
         ds_load_b32 v1, v2 offset:4
         s_wait_dscnt 2
         v_mov_b32_e32 v10, v9
         s_wait_dscnt 0",
    )
    .options(|it| it.precise_waits = true),
    Example::new(
        "DS-precise-later",
        "ds_load_2addr_b32 v[0:1], v2 offset1:1
         ds_load_b32 v9, v8
         s_wait_dscnt 1
         v_mov_b32_e32 v10, v0",
        "ds_load_b32 v0, v2
         ds_load_b32 v1, v2 offset:4
         ds_load_b32 v9, v8
         s_wait_dscnt 1
         v_mov_b32_e32 v10, v0",
    )
    .options(|it| it.precise_waits = true),
    Example::new(
        "DS-precise-open",
        "ds_load_2addr_b32 v[0:1], v2 offset1:1
         s_cbranch_scc0 0",
        "ds_load_b32 v0, v2
         ds_load_b32 v1, v2 offset:4
         s_wait_dscnt 0
         s_cbranch_scc0 0",
    )
    .options(|it| it.precise_waits = true),
];
