//! What happens to code objects when they are loaded, and to dispatches before and after they run, on request:
//! `HSACO_CHECK`, `HSACO_PATCH`, `HSACO_SANITIZE`, `HSACO_TRACE`, `HSACO_DUMP`.

use std::fs::File;
use std::io::BufWriter;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use hsaco_check::{Finding, UNRESOLVED_SYMBOL};
use hsaco_describe::run::Trace;
use hsaco_emu::{Dispatch, Fault, FaultKind, KernelCode, Sanitizer, TraceFilter};
use hsaco_kernarg::DispatchPacket;
use hsaco_patch::{Options, Patcher, RuleSet};

use crate::abi::{Answer, Status};
use crate::agent::Agent;
use crate::log;
use crate::runtime::dump::{self, Dumped};
use crate::runtime::executable::Reader;
use crate::runtime::{Runtime, lock};

/// What is asked for, made once.
#[derive(Default)]
pub(crate) struct Interceptors {
    kinds: Vec<FaultKind>,
    trace: Option<Trace<BufWriter<File>>>,
    filter: TraceFilter,
    patcher: Option<(&'static RuleSet, Patcher)>,
    /// Findings that were told, so that each is told once.
    told: Mutex<std::collections::HashSet<String>>,
    objects: AtomicU64,
}

impl Interceptors {
    /// As the configuration asks.
    pub(crate) fn new(config: &crate::config::Config) -> Result<Self, String> {
        let kinds = config.sanitizers.as_deref().map(kinds).transpose()?.unwrap_or_default();
        let trace = match &config.trace {
            Some(path) => {
                let file = File::create(path).map_err(|it| format!("HSACO_TRACE: {path}: {it}"))?;
                Some(Trace::new(BufWriter::new(file)))
            }
            None => None,
        };
        let patcher = match &config.rules {
            Some(name) => {
                let set = RuleSet::by_name(name)
                    .ok_or_else(|| format!("HSACO_PATCH: no rule set {name}"))?;
                let patcher = Patcher::new(set, Options::default());
                Some((set, patcher.map_err(|it| format!("HSACO_PATCH: {it}"))?))
            }
            None => None,
        };
        Ok(Self { kinds, trace, patcher, ..Self::default() })
    }
}

impl Interceptors {
    /// Writes what is left of a trace.
    pub(crate) fn flush(&self) {
        if let Some(trace) = &self.trace
            && let Err(error) = trace.flush()
        {
            log::once(&format!("HSACO_TRACE: {error}"));
        }
    }
}

/// Kinds of findings: `1` and `all` are all of them.
fn kinds(text: &str) -> Result<Vec<FaultKind>, String> {
    if matches!(text, "1" | "all") {
        return Ok(FaultKind::ALL.to_vec());
    }
    let names = text.split(',').map(str::trim).filter(|it| !it.is_empty());
    names.map(|it| it.parse().map_err(|error| format!("HSACO_SANITIZE: {error}"))).collect()
}

/// What is wrong with an object unless another one defines a name.
#[derive(Debug)]
pub(crate) struct Unresolved {
    name: String,
    number: u64,
    finding: Finding,
}

impl Unresolved {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn tell(self, runtime: &Runtime) {
        tell(runtime, self.number, &self.finding);
    }
}

/// The bytes of an object that are to be loaded, and what is wrong with it unless others define what it wants.
pub(crate) fn loaded(
    runtime: &Runtime,
    agent: &Agent,
    reader: &Arc<Reader>,
) -> Answer<(Vec<u8>, Vec<Unresolved>)> {
    let number = runtime.interceptors.objects.fetch_add(1, Relaxed);
    let unresolved = match runtime.config.checks {
        true => check(runtime, agent, number, &reader.bytes),
        false => Vec::new(),
    };
    let processor = agent.gpu.as_ref().map(|it| it.model.target.processor.name());
    let bytes = match &runtime.interceptors.patcher {
        // Rules are for one processor; code of others is right as it is.
        Some((set, patcher)) if processor == Some(set.processor()) => {
            patched(patcher, number, &reader.bytes)?
        }
        _ => reader.bytes.clone(),
    };
    if let Some(folder) = &runtime.config.dump {
        dump::object(folder, number, &bytes);
    }
    Ok((bytes, unresolved))
}

/// Tells what is wrong with an object whatever else is loaded, and gives back the rest.
fn check(runtime: &Runtime, agent: &Agent, number: u64, bytes: &[u8]) -> Vec<Unresolved> {
    let Some(gpu) = &agent.gpu else { return Vec::new() };
    let report = hsaco_check::check(bytes, &hsaco_check::Device::new(gpu.model.target));
    let mut unresolved = Vec::new();
    for finding in report.findings {
        match &finding.subject.field {
            Some(name) if finding.rule == UNRESOLVED_SYMBOL => {
                unresolved.push(Unresolved { name: name.to_string(), number, finding });
            }
            _ => tell(runtime, number, &finding),
        }
    }
    unresolved
}

fn tell(runtime: &Runtime, number: u64, finding: &Finding) {
    runtime.summary.findings.fetch_add(1, Relaxed);
    log::line(&format!("check of code object {number}: {finding}"));
}

fn patched(patcher: &Patcher, number: u64, bytes: &[u8]) -> Answer<Vec<u8>> {
    let refused = |detail: String| {
        log::line(&format!("code object {number} cannot be rewritten: {detail}"));
        Status::INVALID_CODE_OBJECT
    };
    let result = patcher.patch(bytes).map_err(|it| refused(it.to_string()))?;
    if let Some((remark, refusal)) = result.manifest.refusals().next() {
        return Err(refused(format!(
            "{refusal} (at {:#x} in {})",
            remark.address, remark.function
        )));
    }
    let records = result.manifest.records.len();
    log::line(&format!("code object {number}: {records} instructions are rewritten"));
    for (rule, address) in result.manifest.records.iter().flat_map(|it| &it.rules) {
        log::line(&format!("code object {number}: {rule} at {address:#x}"));
    }
    Ok(result.bytes.unwrap_or_else(|| bytes.to_vec()))
}

/// What looks at one dispatch.
pub(crate) struct Watched<'r> {
    runtime: &'r Runtime,
    sanitizer: Option<Sanitizer>,
    dumped: Option<Dumped>,
}

/// Before a dispatch.
pub(crate) fn begin<'r>(
    runtime: &'r Runtime,
    agent: &Agent,
    code: &KernelCode,
    packet: &DispatchPacket,
    places: &hsaco_emu::Places,
) -> Watched<'r> {
    runtime.summary.count_launch(code);
    let kinds = &runtime.interceptors.kinds;
    Watched {
        runtime,
        sanitizer: (!kinds.is_empty()).then(|| Sanitizer::new(kinds)),
        dumped: runtime
            .config
            .dump
            .as_ref()
            .and_then(|folder| Dumped::new(runtime, folder, agent, code, packet, places)),
    }
}

impl Watched<'_> {
    pub(crate) fn attach<'d>(&'d self, mut dispatch: Dispatch<'d>) -> Dispatch<'d> {
        if let Some(sanitizer) = &self.sanitizer {
            dispatch = dispatch.with_sanitizer(sanitizer);
        } else if let Some(trace) = &self.runtime.interceptors.trace {
            dispatch = dispatch.with_tracer(trace, &self.runtime.interceptors.filter);
        }
        dispatch
    }

    /// After it.
    pub(crate) fn end(self) {
        if let Some(dumped) = self.dumped {
            dumped.end();
        }
        let Some(sanitizer) = &self.sanitizer else { return };
        for fault in sanitizer.faults() {
            let text = text(&fault);
            let mut told = lock(&self.runtime.interceptors.told);
            if told.insert(text.clone()) {
                self.runtime.summary.findings.fetch_add(1, Relaxed);
                log::line(&text);
            }
        }
    }
}

fn text(fault: &Fault) -> String {
    let [x, y, z] = fault.at.workgroup;
    let certainty = if fault.is_certain { "error" } else { "warning" };
    let before = fault.before.as_ref().map(|it| format!("; {} {:#x}", it.what, it.at.address));
    format!(
        "sanitize: {certainty}: {}: {} (kernel {}, at {:#x} `{}`, workgroup {x},{y},{z}, wave {}{}); {}",
        fault.kind.name(),
        fault.message,
        fault.at.kernel,
        fault.at.address,
        fault.at.instruction,
        fault.at.wave,
        before.unwrap_or_default(),
        fault.help
    )
}
