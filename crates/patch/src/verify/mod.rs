//! Holds a result against its original and its manifest. It trusts neither the rules nor who placed their
//! replacements: what it needs to know it reads from the two files.

mod flow;
mod layout;
mod state;

use std::fmt;

use hsaco_analysis::{Cfg, Function, FunctionKind, Stream};
use hsaco_object::CodeObject;

use crate::census::Census;
use crate::edit::EDIT;
use crate::manifest::{Manifest, Record, Verdict};
use crate::patcher::Patcher;
use crate::view::View;

/// Something that does not hold.
///
/// ```
/// use hsaco_patch::Finding;
/// let finding = Finding { check: "bytes", address: Some(0x1000), detail: "differs".to_owned() };
/// assert_eq!(finding.to_string(), "bytes: differs (at address 0x1000)");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What was checked.
    pub check: &'static str,
    /// Where.
    pub address: Option<u64>,
    /// What is wrong.
    pub detail: String,
}

impl Finding {
    fn new(
        check: &'static str,
        address: impl Into<Option<u64>>,
        detail: impl Into<String>,
    ) -> Self {
        Finding { check, address: address.into(), detail: detail.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.check, self.detail)?;
        match self.address {
            Some(address) => write!(f, " (at address {address:#x})"),
            None => Ok(()),
        }
    }
}

/// How many findings are enough to say that something is wrong.
const ENOUGH: usize = 64;

/// All that is looked at.
struct Case<'p, 'a> {
    patcher: &'p Patcher,
    old: Census<'a>,
    new: Census<'a>,
    manifest: &'p Manifest,
    findings: Vec<Finding>,
}

impl Patcher {
    /// Checks a result; what is wrong with it, nothing if it holds.
    #[must_use]
    pub fn verify(&self, original: &[u8], new: &[u8], manifest: &Manifest) -> Vec<Finding> {
        verify(self, original, new, manifest)
    }
}

pub(crate) fn verify(
    patcher: &Patcher,
    original: &[u8],
    new: &[u8],
    manifest: &Manifest,
) -> Vec<Finding> {
    if manifest.verdict != Verdict::Changed {
        let same = original == new;
        let finding = Finding::new("bytes", None, "nothing was to change, and the files differ");
        return if same { Vec::new() } else { vec![finding] };
    }
    let parse = |bytes| CodeObject::parse(bytes).map_err(|error| error.to_string());
    let (old, fresh) = match (parse(original), parse(new)) {
        (Ok(old), Ok(fresh)) => (old, fresh),
        (Err(error), _) | (_, Err(error)) => return vec![Finding::new("elf", None, error)],
    };
    let decoder = patcher.tools.decoder();
    let mut case = Case {
        patcher,
        old: Census::new(old, patcher.processor, decoder),
        new: Census::new(fresh, patcher.processor, decoder),
        manifest,
        findings: Vec::new(),
    };
    case.layout();
    // What follows reads code where the manifest says it is; without that it says nothing.
    if case.findings.is_empty() {
        case.functions();
        case.pool();
        case.stubs();
        case.residuals();
    }
    case.findings.truncate(ENOUGH);
    case.findings
}

impl<'a> Case<'_, 'a> {
    fn found(
        &mut self,
        check: &'static str,
        address: impl Into<Option<u64>>,
        detail: impl Into<String>,
    ) {
        self.findings.push(Finding::new(check, address, detail));
    }

    /// Every function that has a record, as it was.
    fn functions(&mut self) {
        let mut functions = self.old.functions.clone();
        functions.extend(self.old.leftovers());
        functions.sort_by_key(|function| function.address);
        let mut rest: &[Record] = &self.manifest.records;
        let mut covered = 0;
        for function in &functions {
            if function.address < covered && function.kind != FunctionKind::Unnamed {
                continue;
            }
            covered = covered.max(function.end());
            let count = rest.partition_point(|record| record.site.address < function.end());
            let (here, others) = rest.split_at(count);
            rest = others;
            if !here.is_empty() {
                self.function(function, here);
            }
        }
        if let Some(record) = rest.first() {
            self.found("sites", record.site.address, "the site is in no code");
        }
    }

    fn function(&mut self, function: &Function<'a>, records: &[Record]) {
        let tools = &self.patcher.tools;
        let stream = function.decode(tools.decoder());
        let cfg = Cfg::new(tools.decoder(), &stream);
        let budget = self.old.budget(function, &stream, tools.decoder());
        let options = &self.patcher.options;
        let view = View::new(tools, options, &stream, &cfg, function.kind, budget);
        let sites: Vec<usize> =
            records.iter().filter_map(|record| stream.index_of(record.site.address)).collect();
        view.prepare(&sites);
        let targets = flow::targets(&view);
        for record in records {
            let found = flow::check(&view, record, &targets, &self.new);
            self.findings.extend(found);
            // What a caller asked for may write what it likes.
            if record.rules.iter().all(|(rule, _)| rule != EDIT) {
                self.findings.extend(state::check(&view, record));
            }
        }
    }

    /// Stubs lead to where kernels began, and write nothing that is needed there.
    fn stubs(&mut self) {
        let decoder = self.patcher.tools.decoder();
        let mut wrong = Vec::new();
        for stub in &self.manifest.stubs {
            let way_on = stub.address + stub.way_on as u64;
            if flow::jump_target(decoder, &self.new, way_on) != Some(stub.entry) {
                wrong.push((stub.address, "the stub does not lead to the kernel"));
            }
            let kernel = self.new.kernels.iter().find(|it| it.name == stub.kernel);
            let before = self.old.kernels.iter().find(|it| it.name == stub.kernel);
            if kernel.and_then(|it| it.entry) != Some(stub.address)
                || before.and_then(|it| it.entry) != Some(stub.entry)
                || !stub.address.is_multiple_of(256)
            {
                wrong.push((stub.address, "the kernel does not begin at its stub"));
            }
            let Some(function) = self.old.functions.iter().find(|it| it.address == stub.entry)
            else {
                wrong.push((stub.entry, "no function begins where the stub leads"));
                continue;
            };
            let stream = function.decode(decoder);
            let cfg = Cfg::new(decoder, &stream);
            let budget = self.old.budget(function, &stream, decoder);
            let (tools, options) = (&self.patcher.tools, &self.patcher.options);
            let view = View::new(tools, options, &stream, &cfg, function.kind, budget);
            if state::stub_clobbers(&view, stub) {
                wrong.push((stub.address, "the stub writes what the kernel needs"));
            }
        }
        for (address, detail) in wrong {
            self.found("stub", address, detail);
        }
    }

    /// No rule finds anything left to do, in old code or new.
    fn residuals(&mut self) {
        let mut functions = self.new.functions.clone();
        functions.extend(self.new.leftovers());
        let mut found = Vec::new();
        for function in &functions {
            let hits = self.patcher.filter.hits(function.code);
            if hits.is_empty() {
                continue;
            }
            found.extend(self.residuals_of(function, &hits));
        }
        self.findings.extend(found);
    }

    fn residuals_of(&self, function: &Function<'a>, hits: &[crate::Hit]) -> Vec<Finding> {
        let tools = &self.patcher.tools;
        let stream = function.decode(tools.decoder());
        let rules = self.patcher.set.rules();
        let sites: Vec<(usize, usize)> = hits
            .iter()
            .filter_map(|hit| {
                let address = stream.address().wrapping_add(hit.offset as u64);
                let step = stream.index_of(address)?;
                let name = stream.inst(step)?.mnemonic();
                let rule = rules.get(hit.rule)?;
                let is_claimed = !matches!(rule.trigger, crate::Trigger::Opcodes(_));
                (is_claimed || rule.claims(name)).then_some((step, hit.rule))
            })
            .collect();
        if sites.is_empty() {
            return Vec::new();
        }
        self.residuals_at(function, &stream, &sites)
    }

    fn residuals_at(
        &self,
        function: &Function<'a>,
        stream: &Stream,
        sites: &[(usize, usize)],
    ) -> Vec<Finding> {
        let tools = &self.patcher.tools;
        let cfg = Cfg::new(tools.decoder(), stream);
        let budget = self.new.budget(function, stream, tools.decoder());
        let view = View::new(tools, &self.patcher.options, stream, &cfg, function.kind, budget)
            .with_code(&self.new.code);
        let mut found = Vec::new();
        for (step, rule) in sites {
            let (Some(site), Some(rule)) = (view.site(*step), self.patcher.set.rules().get(*rule))
            else {
                continue;
            };
            if rule.requirement == crate::Requirement::Required && (rule.residual)(&site) {
                let detail = format!("{} is left of rule {}", site.text(), rule.name);
                found.push(Finding::new("residual", site.address(), detail));
            }
        }
        found
    }
}
