//! What descriptors and metadata have to say of the new code.

use std::collections::{BTreeMap, BTreeSet};

use hsaco_object::Kernel;
use hsaco_object::descriptor::Field;
use hsaco_object::write::{KernelChange, NewValue, Registers};

use super::apply::ENTRY;
use crate::manifest::{KernelRecord, Remark, Setting, Verdict};
use crate::place::Placed;
use crate::revision;
use crate::rule::Stepping;
use crate::survey::{KernelId, Survey};

/// Why a kernel is as it was.
const NOTHING: &str = "no rule has anything to rewrite in its own code";

/// Lines of 128 bytes that a stub has.
const STUB_LINES: u64 = 2;

/// What changes of kernels.
pub(crate) type KernelSettings = BTreeMap<KernelId, Vec<Setting>>;

/// What has to change for what was placed, and for rules that give a stepping.
pub(crate) fn settings(
    survey: &Survey<'_>,
    placed: &Placed,
    stepping: Option<Stepping>,
) -> KernelSettings {
    let kernels = survey.kernels.ids().zip(survey.index.kernels());
    let settings = kernels.map(|(id, kernel)| {
        let mut changed = code_settings(survey, placed, id, kernel);
        let stepping =
            stepping.filter(|it| kernel.descriptor().is_some() && revision::changes(*it, kernel));
        changed.extend(stepping.map(|it| setting(revision::KEY, it.takes, it.gives)));
        (id, changed)
    });
    settings.filter(|(_, settings)| !settings.is_empty()).collect()
}

fn code_settings(
    survey: &Survey<'_>,
    placed: &Placed,
    id: KernelId,
    kernel: &Kernel<'_>,
) -> Vec<Setting> {
    let mut changed = Vec::new();
    let facts = &survey.kernels[id];
    if kernel.descriptor().is_none() {
        return changed;
    }
    let needed = placed.allocations.get(&id).copied().unwrap_or_default();
    let reserved = survey.kit.usual().dialect().reserved_sgprs;
    let sgprs = if needed.sgprs == 0 { 0 } else { needed.sgprs + reserved };
    if sgprs > facts.budget.sgprs {
        changed.push(setting(".sgpr_count", &facts.budget.sgprs, &sgprs));
    }
    changed.extend(vgpr_settings(survey, kernel, needed.vgprs.into()));
    if needed.private_segment > facts.private_segment {
        let (old, new) = (facts.private_segment, needed.private_segment);
        changed.push(setting(".private_segment_fixed_size", &old, &new));
    }
    if let Some(stub) = placed.stubs.get(&id) {
        let place = |address: u64| format!("{address:#x}");
        changed.push(setting(ENTRY, &place(stub.entry), &place(stub.address)));
        if facts.prefetch > STUB_LINES {
            changed.push(setting("inst_pref_size", &facts.prefetch, &STUB_LINES));
        }
    }
    changed
}

/// What has a kernel allocate so many vector registers: accumulation registers stay behind them.
fn vgpr_settings(survey: &Survey<'_>, kernel: &Kernel<'_>, vgprs: u32) -> Vec<Setting> {
    let generation = survey.kit.processor().generation();
    let Ok(mut change) = KernelChange::of(&survey.object, kernel) else {
        return Vec::new();
    };
    if vgprs <= change.registers().vgprs {
        return Vec::new();
    }
    let before = kernel.resources(Some(generation)).0.vgprs.unwrap_or(0);
    let field = Field::by_name(generation, "accum_offset");
    let offset = |change: &KernelChange| field.map(|field| change.descriptor().value(field));
    let old = offset(&change);
    if change.set_registers(Registers { vgprs, ..change.registers() }).is_err() {
        return Vec::new();
    }
    let after = change.values().iter().find(|(key, _)| key == ".vgpr_count");
    let after = match after {
        Some((_, NewValue::UInt(count))) => *count,
        _ => vgprs.into(),
    };
    let mut changed = vec![setting(".vgpr_count", &before, &after)];
    if let (Some(old), Some(new)) = (old, offset(&change))
        && change.registers().agprs != 0
        && old != new
    {
        changed.push(setting("accum_offset", &old, &new));
    }
    changed
}

fn setting<T: ToString + ?Sized>(name: &str, old: &T, new: &T) -> Setting {
    Setting { name: name.to_owned(), old: old.to_string(), new: new.to_string() }
}

/// How every kernel comes out: `touched` are those whose own code changes.
pub(crate) fn records(
    survey: &Survey<'_>,
    remarks: &[Remark],
    touched: &BTreeSet<KernelId>,
    mut settings: KernelSettings,
) -> Vec<KernelRecord> {
    let refused = refused_functions(remarks);
    let records = survey.kernels.enumerated().map(|(id, kernel)| {
        let settings = settings.remove(&id).unwrap_or_default();
        let verdict = if refused.contains(kernel.name.as_str()) {
            Verdict::Refused
        } else if touched.contains(&id) || !settings.is_empty() {
            Verdict::Changed
        } else {
            Verdict::Unchanged(NOTHING.to_owned())
        };
        KernelRecord { name: kernel.name.clone(), verdict, settings }
    });
    records.collect()
}

/// How every kernel comes out of a refused run.
pub(crate) fn refused_records(survey: &Survey<'_>, remarks: &[Remark]) -> Vec<KernelRecord> {
    let refused = refused_functions(remarks);
    let records = survey.kernels.iter().map(|kernel| {
        let verdict = match refused.contains(kernel.name.as_str()) {
            true => Verdict::Refused,
            false => Verdict::Unchanged("the object is refused".to_owned()),
        };
        KernelRecord { name: kernel.name.clone(), verdict, settings: Vec::new() }
    });
    records.collect()
}

fn refused_functions(remarks: &[Remark]) -> BTreeSet<&str> {
    let refused = remarks.iter().filter(|it| it.said.is_err());
    refused.map(|it| it.function.as_str()).collect()
}
