//! Changes of code that a caller asks for, done by the same engine: instructions replaced and inserted, counters, calls.

use hsaco_analysis::{Function, FunctionKind};
use hsaco_isa::Inst;

use crate::argument::InsertedArgument;
use crate::call::{Callee, InsertedCall};
use crate::manifest::{CALL, COUNT, EDIT};
use crate::refusal::{Refusal, RefusalKind};
use crate::rewrite::Plan;
use crate::site::Site;
use crate::view::View;

/// A change of code that a caller asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CodeEdit {
    /// These lines of assembly in place of the instruction at an address.
    Replace(u64, Vec<String>),
    /// These lines before the instruction at an address.
    Insert(u64, Vec<String>),
    /// A counter of the waves that come by at each of these places.
    Count(Points),
    /// A call of a function at each of these places; it leaves everything as it was that is still needed.
    Call(Points, InsertedCall),
}

/// Where to count or call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Points {
    /// At the first instruction of each kernel.
    Entries,
    /// At the first instruction of each block of each kernel.
    Blocks,
    /// At the instruction at an address.
    Address(u64),
}

impl CodeEdit {
    /// The addresses in a function that it is about.
    pub(crate) fn steps(&self, view: &View<'_>) -> Vec<usize> {
        let at = |address: u64| view.stream().index_of(address).into_iter().collect();
        match self {
            CodeEdit::Replace(address, _)
            | CodeEdit::Insert(address, _)
            | CodeEdit::Count(Points::Address(address))
            | CodeEdit::Call(Points::Address(address), _) => at(*address),
            CodeEdit::Count(_) | CodeEdit::Call(..) if view.kind() != FunctionKind::Kernel => {
                Vec::new()
            }
            CodeEdit::Count(Points::Entries) | CodeEdit::Call(Points::Entries, _) => {
                vec![view.first_step()]
            }
            CodeEdit::Count(Points::Blocks) | CodeEdit::Call(Points::Blocks, _) => {
                let order = view.cfg().reverse_post_order().iter();
                order.map(|block| view.cfg().blocks()[*block].first).collect()
            }
        }
    }

    /// The address that it names, if it names one.
    pub(crate) fn address(&self) -> Option<u64> {
        match self {
            CodeEdit::Replace(address, _)
            | CodeEdit::Insert(address, _)
            | CodeEdit::Count(Points::Address(address))
            | CodeEdit::Call(Points::Address(address), _) => Some(*address),
            CodeEdit::Count(_) | CodeEdit::Call(..) => None,
        }
    }

    /// What it passes on.
    pub(crate) fn arguments(&self) -> &[InsertedArgument] {
        match self {
            CodeEdit::Call(_, call) => &call.arguments,
            _ => &[],
        }
    }

    /// The name that manifests have for it.
    pub(crate) fn rule(&self) -> &'static str {
        match self {
            CodeEdit::Replace(..) | CodeEdit::Insert(..) => EDIT,
            CodeEdit::Count(_) => COUNT,
            CodeEdit::Call(..) => CALL,
        }
    }

    /// What to do at an instruction; `counter` is where its counter is, `functions` are all that may be called.
    pub(crate) fn plan(
        &self,
        view: &View<'_>,
        step: usize,
        counter: u64,
        functions: &[Function<'_>],
    ) -> Result<Plan, Refusal> {
        let site = view
            .site(step)
            .ok_or_else(|| Refusal::new(RefusalKind::ControlFlow, "there is no instruction"))?;
        let keep = |mut code: Vec<Inst>| {
            code.extend(site.inst());
            code
        };
        match self {
            CodeEdit::Replace(_, lines) => Ok(Plan::replace(&site, written(&site, lines)?)),
            CodeEdit::Insert(_, lines) => Ok(Plan::replace(&site, keep(written(&site, lines)?))),
            CodeEdit::Call(_, call) => Callee::find(view.decoder(), functions, call)?.call(&site),
            CodeEdit::Count(_) => {
                let (mut plan, code) = count(&site, counter)?;
                plan.edits = Plan::replace(&site, keep(code)).edits;
                Ok(plan)
            }
        }
    }
}

/// The instructions of a caller's lines. What counts from where it stands has to stay among them.
fn written(site: &Site<'_>, lines: &[String]) -> Result<Vec<Inst>, Refusal> {
    let code = site.assemble_all(lines)?;
    let end: u64 = code.iter().map(|inst| inst.len() as u64).sum();
    let kept = site.inst();
    let mut at = 0;
    for (inst, line) in code.iter().zip(lines) {
        let target = inst.branch_target(at).filter(|_| Some(*inst) != kept);
        if target.is_some_and(|target| target > end) {
            let detail = format!("`{line}` leads out of the lines that it is in");
            return Err(Refusal::new(RefusalKind::ControlFlow, detail));
        }
        at += inst.len() as u64;
    }
    Ok(code)
}

/// The code that counts one more wave, with what it takes and where its counter is.
fn count(site: &Site<'_>, counter: u64) -> Result<(Plan, Vec<Inst>), Refusal> {
    let view = site.view();
    let dialect = view.dialect();
    site.refuse_relative_registers()?;
    let mut scratch = site.scratch_registers();
    let address = scratch.sgprs(2, 2)?;
    let halves = site.exec_halves();
    let mut lanes = Vec::new();
    for half in halves {
        lanes.push((*half, scratch.sgprs(1, 1)?));
    }
    let scc = site.keep_scc(&mut scratch)?;
    let zero = scratch.vgprs(1, 1, 0)?;
    let one = scratch.vgprs(1, 1, 0)?;
    // Registers are named without VGPR MSBs.
    let msb = site.msb()?.bits();
    let mut before: Vec<String> = site.distance();
    before.extend(scc.map(|it| format!("s_cselect_b32 {it}, 1, 0")));
    let mut lines: Vec<String> =
        lanes.iter().map(|(half, saved)| format!("s_mov_b32 {saved}, {half}")).collect();
    let mut first = "1";
    for half in halves {
        lines.push(format!("s_mov_b32 {half}, {first}"));
        first = "0";
    }
    if msb != 0 {
        lines.push(format!("s_set_vgpr_msb {:#x}", u32::from(msb) << 8));
    }
    lines.extend([
        format!("v_mov_b32_e32 {zero}, 0"),
        format!("v_mov_b32_e32 {one}, 1"),
        format!("{} {zero}, {one}, {address}", dialect.atomic_add),
    ]);
    lines.extend(dialect.atomic_done.iter().map(|line| (*line).to_owned()));
    if msb != 0 {
        lines.push(format!("s_set_vgpr_msb {msb:#x}"));
    }
    lines.extend(lanes.iter().map(|(half, saved)| format!("s_mov_b32 {half}, {saved}")));
    lines.extend(scc.map(|it| format!("s_cmp_lg_u32 {it}, 0")));
    let mut code = site.assemble_all(&dialect.settled(before))?;
    let mut plan = Plan { fixups: vec![(code.len(), counter)], ..Plan::default() };
    code.extend(site.address_code(address, counter)?);
    code.extend(site.assemble_all(&dialect.settled(lines))?);
    plan.scratch_registers = scratch.into_granted();
    Ok((plan, code))
}
