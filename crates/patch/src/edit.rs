//! Edits that a caller asks for, done by the same engine: settings of kernels, instructions replaced and inserted,
//! counters.

use hsaco_analysis::{Function, FunctionKind};
use hsaco_isa::Inst;
use hsaco_object::write::{KernelChange, NewValue};
use hsaco_object::{CodeObject, Error, ErrorKind, Kernel, Result, memory};

use crate::apply::apply;
use crate::argument::Argument;
use crate::call::{Call, Callee};
use crate::manifest::{KernelRecord, Manifest, Setting, Verdict};
use crate::patcher::Patched;
use crate::plan::Plan;
use crate::refusal::{Refusal, RefusalKind};
use crate::view::{Site, View};

/// The rule name of what a caller asked for.
pub(crate) const EDIT: &str = "edit";
/// The rule name of counters.
pub(crate) const COUNT: &str = "count";
/// The rule name of calls.
pub(crate) const CALL: &str = "call";

/// Whether a rule name is that of something a caller asked for.
pub(crate) fn is_asked_for(rule: &str) -> bool {
    [EDIT, COUNT, CALL].contains(&rule)
}

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
    Call(Points, Call),
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
                let blocks = order.filter_map(|block| view.cfg().blocks().get(*block));
                blocks.map(|block| block.first).collect()
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
    pub(crate) fn arguments(&self) -> &[Argument] {
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
    ) -> std::result::Result<Plan, Refusal> {
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
fn written(site: &Site<'_>, lines: &[String]) -> std::result::Result<Vec<Inst>, Refusal> {
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
fn count(site: &Site<'_>, counter: u64) -> std::result::Result<(Plan, Vec<Inst>), Refusal> {
    let view = site.view();
    let dialect = view.dialect();
    site.refuse_relative_registers()?;
    let mut leases = site.leases();
    let address = leases.sgprs(2, 2)?;
    let halves = site.exec_halves();
    let mut lanes = Vec::new();
    for half in halves {
        lanes.push((*half, leases.sgprs(1, 1)?));
    }
    let scc = site.keep_scc(&mut leases)?;
    let zero = leases.vgprs(1, 1, 0)?;
    let one = leases.vgprs(1, 1, 0)?;
    // Registers are named without upper bits.
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
    plan.leases = leases.into_granted();
    Ok((plan, code))
}

/// A number of a kernel that a caller sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelSetting {
    /// The kernel's name.
    pub kernel: String,
    /// A key of the metadata without its dot, or a field of the descriptor.
    pub field: String,
    /// The new value.
    pub value: u64,
}

impl std::str::FromStr for KernelSetting {
    type Err = String;

    /// Reads `KERNEL.FIELD=VALUE`; the value may be hexadecimal.
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let wanted = || format!("`{text}` is not KERNEL.FIELD=VALUE");
        let (place, value) = text.rsplit_once('=').ok_or_else(wanted)?;
        let (kernel, field) = place.rsplit_once('.').ok_or_else(wanted)?;
        let value = match value.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => value.parse(),
        };
        let value = value.map_err(|_| wanted())?;
        Ok(KernelSetting { kernel: kernel.to_owned(), field: field.to_owned(), value })
    }
}

/// Sets numbers of kernels, in descriptors and metadata together, in an object for any processor.
///
/// ```
/// use hsaco_patch::{KernelSetting, set};
/// let file = std::fs::read("../../tests/fixtures/s1.gfx942.co").unwrap();
/// let setting: KernelSetting = "foo.group_segment_fixed_size=4096".parse().unwrap();
/// let patched = set(&file, &[setting]).unwrap();
/// assert_eq!(patched.manifest.kernels[0].settings[0].new, "4096");
/// ```
///
/// # Errors
/// When there is no such kernel or field, or the value does not fit.
pub fn set(file: &[u8], settings: &[KernelSetting]) -> Result<Patched> {
    let object = CodeObject::parse(file)?;
    let index = object.index();
    let is_known =
        |it: &&KernelSetting| index.kernels().iter().any(|k| k.name() == it.kernel.as_str());
    if let Some(unknown) = settings.iter().find(|it| !is_known(it)) {
        return Err(Error::new(ErrorKind::NotFound, "kernel", unknown.kernel.clone()));
    }
    let mut manifest = Manifest::new(None, file.len(), Verdict::Changed);
    for kernel in index.kernels() {
        let own = settings.iter().filter(|it| kernel.name() == it.kernel.as_str());
        manifest.kernels.push(kernel_record(&object, kernel, own)?);
    }
    let bytes = apply(file, memory::copy(file, "file")?, &manifest)?.bytes;
    manifest.sizes.1 = bytes.len() as u64;
    let problems = CodeObject::parse(&bytes)?.problems();
    if let Some(error) = problems.first() {
        return Err(error.clone());
    }
    Ok(Patched { bytes: Some(bytes), manifest })
}

/// What settings do to a kernel.
fn kernel_record<'s>(
    object: &CodeObject<'_>,
    kernel: &Kernel<'_>,
    settings: impl Iterator<Item = &'s KernelSetting>,
) -> Result<KernelRecord> {
    let mut settings = settings.peekable();
    let name = kernel.name().to_string();
    if settings.peek().is_none() {
        let verdict = Verdict::Unchanged("nothing was asked for".to_owned());
        return Ok(KernelRecord { name, verdict, settings: Vec::new() });
    }
    let mut change = KernelChange::of(object, kernel)?;
    let mut records = Vec::new();
    for setting in settings {
        let KernelSetting { field, value, .. } = setting;
        let old = said(object, kernel, &change, field);
        change.set(field, *value)?;
        let key = format!(".{field}");
        let is_key = change.values().iter().any(|(it, _)| *it == key);
        let name = if is_key { key } else { field.clone() };
        let new = value.to_string();
        // The last word on a number counts.
        match records.iter_mut().find(|it: &&mut Setting| it.name == name) {
            Some(record) => record.new = new,
            None => records.push(Setting { name, old, new }),
        }
    }
    // One setting may move what another has set: vector registers are counted with accumulation registers.
    let is_undone = |setting: &&Setting| {
        let mut values = change.values().iter().filter(|(key, _)| *key == setting.name);
        values.any(|(_, value)| number(value).is_some_and(|it| it.to_string() != setting.new))
    };
    if let Some(undone) = records.iter().find(is_undone) {
        let detail =
            format!("{} of {name} cannot be {} beside the others", undone.name, undone.new);
        return Err(Error::new(ErrorKind::Mismatch, "settings", detail));
    }
    Ok(KernelRecord { name, verdict: Verdict::Changed, settings: records })
}

fn number(value: &NewValue) -> Option<u64> {
    match value {
        NewValue::UInt(value) => Some(*value),
        _ => None,
    }
}

/// What a number was: the metadata's, else the descriptor's.
fn said(
    object: &CodeObject<'_>,
    kernel: &Kernel<'_>,
    change: &KernelChange,
    field: &str,
) -> String {
    let map = kernel.metadata().and_then(|it| it.map().ok());
    let value = map.and_then(|map| map.value(&format!(".{field}")).ok().flatten());
    let generation = object.target().generation();
    let bits = generation.and_then(|it| hsaco_object::descriptor::Field::by_name(it, field));
    let value = value.and_then(hsaco_object::msgpack::Value::as_u64);
    let value = value.or_else(|| Some(change.descriptor().value(bits?)));
    value.map(|it| it.to_string()).unwrap_or_default()
}
