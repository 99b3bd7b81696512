//! Rewrites an object: all that the rules want, or nothing.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use hsaco_analysis::{Cfg, Function, FunctionKind, Stream};
use hsaco_isa::Processor;
use hsaco_kernarg::Entry;
use hsaco_object::descriptor::Field;
use hsaco_object::write::{KernelChange, NewValue, Registers};
use hsaco_object::{CodeObject, Error, ErrorKind, Kernel, Result};

use crate::apply::{ENTRY, apply};
use crate::argument::Argument;
use crate::census::Census;
use crate::edit::{CodeEdit, Points};
use crate::gather::{Gatherer, Wishes};
use crate::manifest::{KernelRecord, Manifest, Patched, Pool, Remark, Setting, Stub, Verdict};
use crate::option::Options;
use crate::padding::Padding;
use crate::place::{self, Placer};
use crate::refusal::{Refusal, RefusalKind};
use crate::release::{self, Release, Walk};
use crate::revision::{self, Revision};
use crate::rule::{RuleSet, Stage};
use crate::scan::{Filter, Hit};
use crate::stack;
use crate::tools::{Kit, Tools, Workshop};
use crate::verify::{self, Finding, Residual};
use crate::view::View;

/// Why a kernel is as it was.
const NOTHING: &str = "no rule has anything to rewrite in its own code";

/// Rewrites objects by a rule set; made once for many of them.
///
/// ```
/// use hsaco_patch::{Options, Patcher, RuleSet};
/// let set = RuleSet::by_name("gfx1250-b0-to-a0").unwrap();
/// let patcher = Patcher::new(set, Options::default())?;
/// assert!(patcher.patch(b"no object").is_err());
/// # Ok::<(), hsaco_object::Error>(())
/// ```
pub struct Patcher {
    pub(crate) set: &'static RuleSet,
    pub(crate) options: Options,
    pub(crate) filter: Filter,
    /// Tools of the objects so far.
    pub(crate) workshop: Workshop,
    edits: Vec<CodeEdit>,
}

/// Registers that kernels need for replacements: one more than the highest scalar and vector one.
type Extent = (u16, u16);

/// What is to be done to an object, before any of it is.
struct Work<'p, 'a> {
    patcher: &'p Patcher,
    kit: &'p Kit,
    census: Census<'a>,
    placer: Placer,
    remarks: Vec<Remark>,
    is_refused: bool,
    /// Kernels that need more registers, by number.
    extents: BTreeMap<usize, Extent>,
    /// Scratch memory that kernels need, by number.
    scratch: BTreeMap<usize, u32>,
    /// What runs before kernels, by their numbers.
    stubs: BTreeMap<usize, Stub>,
    /// Counters: what each counts, and where it is.
    counters: Vec<(u64, u64)>,
    /// Where the next counter goes.
    next_counter: u64,
    /// Bytes for counters.
    counter_space: u64,
    /// The edits that have found a place, by their number and the address of the function.
    edited: BTreeSet<(usize, u64)>,
    /// Kernels whose own code changes.
    touched: BTreeSet<usize>,
    /// What does not hold of the replacements.
    findings: Vec<Finding>,
}

impl Patcher {
    /// For a rule set.
    ///
    /// # Errors
    /// When there are no instruction tables for the set's processor.
    pub fn new(set: &'static RuleSet, options: Options) -> Result<Self> {
        let unsupported = |detail: String| Error::new(ErrorKind::Unsupported, "rule set", detail);
        let processor = Processor::from_name(set.processor())
            .ok_or_else(|| unsupported(format!("no processor {}", set.processor())))?;
        let tools = Tools::new(processor).map_err(|error| unsupported(error.to_string()))?;
        let filter = Filter::new(set, tools.decoder());
        Ok(Patcher { set, options, filter, workshop: Workshop::default(), edits: Vec::new() })
    }

    /// The same, which also makes these edits in every object.
    #[must_use]
    pub fn with_edits(self, edits: Vec<CodeEdit>) -> Self {
        Patcher { edits, ..self }
    }

    /// Rewrites an object. What cannot be rewritten is not an error: the manifest says it.
    ///
    /// # Errors
    /// When the bytes are no code object, or one that cannot be written anew.
    pub fn patch(&self, file: &[u8]) -> Result<Patched> {
        self.patch_releasing(file, &|_| ())
    }

    /// The same, for who can do without parts of the file for a while: it is told which are not looked at for some time, so
    /// that a large mapped file does not take memory beside its result.
    ///
    /// # Errors
    /// As [`patch`](Self::patch).
    pub fn patch_releasing(&self, file: &[u8], release: &dyn Fn(Range<usize>)) -> Result<Patched> {
        let object = CodeObject::parse(file)?;
        let processor = object.target().id().map(|id| id.processor.name());
        if !self.set.rules().is_empty() && processor != Some(self.set.processor()) {
            let (set, processor) = (self.set.name(), self.set.processor());
            let detail = format!("{set} is for {processor}, the object for {}", object.target());
            return Ok(self.refused(file, Refusal::new(RefusalKind::Processor, detail)));
        }
        if let Some(error) = object.problems().first() {
            return Err(error.clone());
        }
        if object.is_relocatable() {
            let detail = "an object that is not linked";
            return Err(Error::new(ErrorKind::Unsupported, "patch", detail));
        }
        let revision =
            self.set.stepping().map(|stepping| (revision::of(&object, stepping), stepping));
        if let Some((Revision::Refused(refusal), _)) = revision {
            return Ok(self.refused(file, refusal));
        }
        let kit = self.workshop.kit(&object)?;
        let census = Census::new(object, &kit);
        if census.code.is_empty() {
            let (kernels, functions) = (census.kernels.len(), census.index.functions().len());
            if kernels + functions != 0 {
                let detail = format!(
                    "{kernels} kernels and {functions} functions are named, and nothing is executable"
                );
                return Err(Error::new(ErrorKind::NotFound, "code", detail));
            }
            const NO_CODE: &str = "it holds no code";
            return Ok(match self.edits.is_empty() {
                true => self.unchanged(file, NO_CODE),
                false => self.refused(file, Refusal::new(RefusalKind::NoPlace, NO_CODE)),
            });
        }
        if let Some((Revision::Done, stepping)) = revision {
            let claim = format!("all kernels say that they are for {}", stepping.gives);
            let residuals = verify::residuals(self, &kit, &census);
            if !residuals.is_empty() {
                return Ok(self.mislabelled(file, &claim, residuals));
            }
            if self.edits.is_empty() && !self.options.entry_stub {
                return Ok(self.unchanged(file, &claim));
            }
        }
        let mut work = Work::new(self, &kit, census)?;
        work.plan_all(file, release);
        work.finish(file, release)
    }

    /// How many bytes counters take.
    fn counter_space(&self, census: &Census<'_>, kit: &Kit) -> u64 {
        let blocks = || {
            let kernels = census.functions.iter().filter(|it| it.kind == FunctionKind::Kernel);
            let count = |function: &Function<'_>| {
                let decoder = kit.of(function).decoder();
                Cfg::new(decoder, &function.decode(decoder)).blocks().len()
            };
            kernels.map(count).sum::<usize>()
        };
        let counters = self.edits.iter().map(|edit| match edit {
            CodeEdit::Replace(..) | CodeEdit::Insert(..) | CodeEdit::Call(..) => 0,
            CodeEdit::Count(Points::Address(_)) => 1,
            CodeEdit::Count(Points::Entries) => census.kernels.len(),
            CodeEdit::Count(Points::Blocks) => blocks(),
        });
        counters.sum::<usize>() as u64 * COUNTER
    }

    fn manifest(&self, file: &[u8], verdict: Verdict) -> Manifest {
        Manifest::new(Some((self.set, &self.options)), file.len(), verdict)
    }

    fn unchanged(&self, file: &[u8], why: &str) -> Patched {
        Patched { bytes: None, manifest: self.manifest(file, Verdict::Unchanged(why.to_owned())) }
    }

    /// For an object that says it is for a stepping, and holds instructions that the rules would have rewritten for it.
    fn mislabelled(&self, file: &[u8], claim: &str, residuals: Vec<Residual>) -> Patched {
        let mut manifest = self.manifest(file, Verdict::Refused);
        let remarks = residuals.into_iter().map(|Residual { rule, function, address, text }| {
            let detail = format!("{claim}, and {text} is not for it");
            let said = Err(Refusal::new(RefusalKind::Metadata, detail));
            Remark { rule: rule.to_owned(), function, address, said }
        });
        manifest.remarks = remarks.collect();
        Patched { bytes: None, manifest }
    }

    fn refused(&self, file: &[u8], refusal: Refusal) -> Patched {
        let mut manifest = self.manifest(file, Verdict::Refused);
        let (rule, function) = (String::new(), String::new());
        manifest.remarks.push(Remark { rule, function, address: 0, said: Err(refusal) });
        Patched { bytes: None, manifest }
    }
}

/// Bytes of a counter.
const COUNTER: u64 = 4;

/// Lines of 128 bytes that a stub has.
const STUB_LINES: u64 = 2;

fn function_start(view: &View<'_>) -> u64 {
    view.stream().address()
}

/// Where the pool of an object will be: on the page behind all that has an address.
///
/// # Errors
/// When there is no room for it below the end of all addresses.
fn pool_base(object: &CodeObject<'_>, reach: u64) -> Result<u64> {
    /// No code is larger, as instructions' offsets are of 32 bits.
    const ROOM: u64 = 1 << 33;
    const ALLOC: u64 = 2;
    let elf = object.elf();
    let sections = elf.sections().iter().filter(|it| it.flags & ALLOC != 0);
    let sections = sections.map(|it| it.address.saturating_add(it.size));
    let segments = elf.loads().map(|it| it.address.saturating_add(it.memory_size));
    let end = sections.chain(segments).max().unwrap_or(0);
    let base = end.checked_next_multiple_of(hsaco_object::write::PAGE);
    let start = elf.loads().map(|it| it.address).min().unwrap_or(0);
    let is_within = |base: &u64| base.checked_add(ROOM).is_some() && base - start < reach;
    base.filter(is_within).ok_or_else(|| {
        let detail = format!("the object ends at {end:#x}, and nothing can be put behind it");
        Error::new(ErrorKind::Unsupported, "patch", detail)
    })
}

impl<'p, 'a> Work<'p, 'a> {
    fn new(patcher: &'p Patcher, kit: &'p Kit, census: Census<'a>) -> Result<Self> {
        let base = pool_base(&census.object, kit.usual().dialect().reach())?;
        let counter_space = patcher.counter_space(&census, kit);
        let pool = base + counter_space.next_multiple_of(hsaco_object::write::PAGE);
        let placer = Placer::new(pool);
        Ok(Work {
            counters: Vec::new(),
            next_counter: base,
            counter_space,
            edited: BTreeSet::new(),
            patcher,
            kit,
            census,
            placer,
            remarks: Vec::new(),
            is_refused: false,
            extents: BTreeMap::new(),
            scratch: BTreeMap::new(),
            stubs: BTreeMap::new(),
            touched: BTreeSet::new(),
            findings: Vec::new(),
        })
    }

    fn plan_all(&mut self, file: &[u8], release: Release<'_>) {
        let mut walk = Walk::new(release);
        for function in self.census.stretches() {
            let start = release::offset_in(file, function.code);
            walk.at(start);
            self.plan_function(&function, || walk.at(start + function.code.len()));
        }
        let records = &mut self.placer.records;
        if !records.is_sorted_by_key(|record| record.site.address) {
            records.sort_by_key(|record| record.site.address);
        }
        for (number, edit) in self.patcher.edits.iter().enumerate() {
            let unmade = self.unmade(number, edit);
            self.is_refused |= !unmade.is_empty();
            self.remarks.extend(unmade);
        }
    }

    /// The places of an edit that were not found: its address, or kernels whose code is not there.
    fn unmade(&self, number: usize, edit: &CodeEdit) -> Vec<Remark> {
        let remark = |function: &str, address: u64, detail: &str| {
            let said = Err(Refusal::new(RefusalKind::ControlFlow, detail));
            let (rule, function) = (edit.rule().to_owned(), function.to_owned());
            Remark { rule, function, address, said }
        };
        let is_made = |function: u64| self.edited.contains(&(number, function));
        if let Some(address) = edit.address() {
            let mut made = self.edited.range((number, 0)..=(number, u64::MAX));
            let is_made = made.next().is_some();
            let unmade = (!is_made).then(|| remark("", address, "no instruction begins there"));
            return unmade.into_iter().collect();
        }
        let kernels = &self.census.kernels;
        if kernels.is_empty() {
            return vec![remark("", 0, "the object has no kernels")];
        }
        let unmade = kernels.iter().filter(|it| !it.entry.is_some_and(is_made));
        let detail = "the kernel has no code in the object";
        unmade.map(|it| remark(&it.name, it.entry.unwrap_or(0), detail)).collect()
    }

    /// Plans what is done to a function; calls once its bytes are not looked at any more for some time.
    fn plan_function(&mut self, function: &Function<'a>, have_read: impl FnOnce()) {
        let hits = self.patcher.filter.hits(function.code);
        let wants_stub = self.patcher.options.entry_stub && function.kind == FunctionKind::Kernel;
        let has_edit = self.patcher.edits.iter().any(|edit| match edit.address() {
            Some(address) => (function.address..function.end()).contains(&address),
            None => function.kind == FunctionKind::Kernel,
        });
        if hits.is_empty() && !wants_stub && !has_edit {
            return;
        }
        let (tools, options) = (self.kit.of(function), &self.patcher.options);
        let stream = function.decode(tools.decoder());
        have_read();
        let hits: Vec<Hit> = hits.into_iter().filter(|hit| self.is_real(&stream, hit)).collect();
        if hits.is_empty() && !wants_stub && !has_edit {
            return;
        }
        let name: Arc<str> = match function.name {
            Some(name) => name.to_string().into(),
            None => format!("{:#x}", function.address).into(),
        };
        let code = self.census.code.clone();
        let cfg = OnceCell::new();
        let launched = self.launched(function);
        let passed: Vec<Argument> =
            self.patcher.edits.iter().flat_map(CodeEdit::arguments).copied().collect();
        let mut reserved = Argument::homes(&passed, launched.as_ref());
        if self.patcher.edits.iter().any(|it| matches!(it, CodeEdit::Call(..))) {
            let homes = stack::homes(self.kit.processor(), launched.as_ref());
            homes.iter().for_each(|register| reserved.insert(register));
        }
        let budget = self.census.budget(function, &stream, tools);
        let is_entered = self.census.is_entered_inside(tools, function);
        let kernels = self.kernels_of(function, budget.unused.is_none());
        let stack = self.census.stack(kernels);
        let view = View::new(tools, options, &stream, &cfg, function.kind, budget)
            .with_stack(stack)
            .entered_inside(is_entered)
            .launched_with(launched, reserved)
            .without_banks(self.census.calls_without_banks(&stream, tools.decoder()))
            .with_code(&code)
            .with_denormals(self.census.keeps_denormals(function));
        let steps: Vec<usize> = hits
            .iter()
            .filter_map(|hit| stream.index_of(stream.address() + hit.offset as u64))
            .collect();
        view.prepare(&steps);
        let mut gatherer = Gatherer::new(&view, &name);
        gatherer.ask(self.patcher.set, &hits);
        if wants_stub {
            let site = view.entry();
            for rule in self.patcher.set.rules().iter().filter(|it| it.stage == Stage::Entry) {
                gatherer.take(rule, &site);
            }
        }
        if has_edit {
            self.edit(&view, &mut gatherer);
        }
        let wishes = gatherer.finish();
        self.place(function, &view, &name, wishes);
    }

    /// What registers hold when the kernel of a function begins.
    fn launched(&self, function: &Function<'a>) -> Option<Entry> {
        let kernel = self.census.index.kernels().get(self.census.kernel_of(function)?)?;
        Entry::new(self.kit.processor(), &kernel.descriptor()?).ok()
    }

    /// Makes the edits of a function.
    fn edit(&mut self, view: &View<'_>, gatherer: &mut Gatherer<'_>) {
        for (number, edit) in self.patcher.edits.iter().enumerate() {
            for step in edit.steps(view) {
                let address = view.stream().address_of(step);
                let (rule, is_counter) = (edit.rule(), matches!(edit, CodeEdit::Count(_)));
                let plan = edit.plan(view, step, self.next_counter, &self.census.functions);
                match plan.and_then(|plan| gatherer.add(rule, address, plan)) {
                    Ok(()) if is_counter => {
                        self.counters.push((address, self.next_counter));
                        self.next_counter += COUNTER;
                    }
                    Ok(()) => {}
                    Err(refusal) => gatherer.refuse_edit(rule, address, refusal),
                }
                self.edited.insert((number, function_start(view)));
            }
        }
    }

    /// Whether a hit is an instruction that its rule is about, and not a word in the middle of another.
    fn is_real(&self, stream: &Stream, hit: &Hit) -> bool {
        let Some(rule) = self.patcher.set.rules().get(hit.rule) else { return false };
        let step = stream.index_of(stream.address().wrapping_add(hit.offset as u64));
        let inst = step.and_then(|step| stream.inst(step));
        inst.is_some_and(|inst| {
            !matches!(rule.trigger, crate::Trigger::Opcodes(_)) || rule.claims(inst.mnemonic())
        })
    }

    fn place(&mut self, function: &Function<'a>, view: &View<'_>, name: &Arc<str>, wishes: Wishes) {
        self.is_refused |= wishes.is_refused;
        self.remarks.extend(wishes.remarks);
        let kernel = self.census.kernel_of(function);
        if !wishes.windows.is_empty() || wishes.prologue.is_some() {
            self.touched.extend(kernel);
        }
        let before = self.placer.records.len();
        if !wishes.windows.is_empty() {
            let padding = || Padding::new(&self.census, self.kit.usual());
            self.placer.padding.get_or_insert_with(padding);
        }
        if let Err((address, rule, refusal)) = self.placer.place(view, name, &wishes.windows) {
            self.is_refused = true;
            let (rule, function) = (rule.to_owned(), name.to_string());
            self.remarks.push(Remark { rule, function, address, said: Err(refusal) });
        }
        let pairs = self.placer.records.get(before..).unwrap_or_default().iter();
        let pairs = pairs.filter_map(|record| record.pair);
        let mut extent = pairs.fold((0, 0), |all, pair| widest(all, place::extent(&[pair], None)));
        for window in &wishes.windows {
            extent = widest(extent, place::extent(&window.leases, None));
        }
        if let Some(prologue) = &wishes.prologue
            && let Some(kernel) = kernel
        {
            match self.placer.stub(view, name, prologue) {
                Ok((stub, pair)) => {
                    extent = widest(extent, place::extent(&[], Some(pair)));
                    self.stubs.insert(kernel, stub);
                }
                Err(refusal) => {
                    self.is_refused = true;
                    let (rule, function) = (prologue.rule.to_owned(), name.to_string());
                    let address = function_start(view);
                    self.remarks.push(Remark { rule, function, address, said: Err(refusal) });
                }
            }
        }
        if let Err(refusal) = self.need(function, view, extent, wishes.scratch) {
            self.is_refused = true;
            let window = wishes.windows.first().and_then(|it| it.rules.first().copied());
            let (rule, address) = window.unwrap_or(("", function_start(view)));
            let (rule, function) = (rule.to_owned(), name.to_string());
            self.remarks.push(Remark { rule, function, address, said: Err(refusal) });
        }
        // Here what the checks ask about the function as it was is known already.
        let records = self.placer.records.get(before..).unwrap_or_default();
        let stub = kernel.and_then(|kernel| self.stubs.get(&kernel));
        self.findings.extend(verify::function(view, records, stub));
    }

    /// The kernels that may run a function: its own where it is alone, else all.
    fn kernels_of(&self, function: &Function<'a>, is_alone: bool) -> Range<usize> {
        match self.census.kernel_of(function).filter(|_| is_alone) {
            Some(kernel) => kernel..kernel + 1,
            None => 0..self.census.kernels.len(),
        }
    }

    /// Has every kernel that may run a function allocate so many registers, and so much scratch memory.
    fn need(
        &mut self,
        function: &Function<'a>,
        view: &View<'_>,
        extent: Extent,
        scratch: u32,
    ) -> std::result::Result<(), Refusal> {
        for kernel in self.kernels_of(function, view.budget().unused.is_none()) {
            if let Some(facts) = self.census.kernels.get(kernel)
                && !facts.has_metadata
                && (extent.0 != 0 || extent.1 > facts.vgprs)
            {
                let detail = format!(
                    "kernel {} has no metadata, so neither .sgpr_count nor .vgpr_count can say that it needs more",
                    facts.name
                );
                return Err(Refusal::new(RefusalKind::Metadata, detail));
            }
            let known = self.extents.entry(kernel).or_default();
            *known = widest(*known, extent);
            let known = self.scratch.entry(kernel).or_default();
            *known = scratch.max(*known);
        }
        Ok(())
    }

    fn finish(mut self, file: &[u8], release: Release<'_>) -> Result<Patched> {
        let mut manifest = self.patcher.manifest(file, Verdict::Changed);
        manifest.remarks = std::mem::take(&mut self.remarks);
        if self.is_refused {
            manifest.verdict = Verdict::Refused;
            manifest.kernels = self.kernel_records(&manifest.remarks, BTreeMap::new());
            return Ok(Patched { bytes: None, manifest });
        }
        let is_code_same = self.placer.records.is_empty() && self.stubs.is_empty();
        // Rules that had nothing to rewrite may still have kernels say another stepping.
        if is_code_same && self.kernel_settings().is_empty() {
            manifest.verdict = Verdict::Unchanged("no rule has anything to rewrite".to_owned());
            manifest.kernels = self.kernel_records(&manifest.remarks, BTreeMap::new());
            return Ok(Patched { bytes: None, manifest });
        }
        release(0..file.len());
        let bytes = self.write(file, release, &mut manifest)?;
        manifest.sizes.1 = bytes.len() as u64;
        let found =
            verify::result(self.patcher, self.kit, &self.census, &bytes, &manifest, release);
        self.findings.extend(found);
        if let Some(finding) = self.findings.first() {
            let detail = format!("the result does not hold: {finding}");
            return Ok(self.patcher.refused(file, Refusal::new(RefusalKind::Unsupported, detail)));
        }
        Ok(Patched { bytes: Some(bytes), manifest })
    }

    /// Takes what was planned into the manifest, which says then all that the result depends on, and writes that.
    fn write(
        &mut self,
        file: &[u8],
        release: Release<'_>,
        manifest: &mut Manifest,
    ) -> Result<Vec<u8>> {
        manifest.records = std::mem::take(&mut self.placer.records);
        manifest.stubs = self.stubs.values().cloned().collect();
        manifest.counters = std::mem::take(&mut self.counters);
        manifest.counter_space = self.counter_space;
        manifest.pool = self.pool();
        manifest.kernels = self.kernel_records(&manifest.remarks, self.kernel_settings());
        let applied = apply(file, release::copied(file, release)?, manifest)?;
        if let (Some(pool), Some(offset)) = (&mut manifest.pool, applied.pool_offset) {
            pool.offset = offset;
        }
        Ok(applied.bytes)
    }

    /// The pool, if there is one; where it is in the file shows when it is written.
    fn pool(&mut self) -> Option<Pool> {
        let code = std::mem::take(&mut self.placer.pool).len() as u64;
        let lines = self.census.kernels.iter().map(|kernel| kernel.prefetch).max().unwrap_or(0);
        let guard = (lines * 128).max(self.kit.usual().dialect().guard);
        let pool = Pool { address: self.placer.base, offset: 0, size: code + guard, guard };
        (code != 0).then_some(pool)
    }

    /// What descriptors and metadata have to say of the new code.
    fn kernel_settings(&self) -> BTreeMap<usize, Vec<Setting>> {
        let kernels = self.census.index.kernels().iter().enumerate();
        let settings = kernels.map(|(number, kernel)| (number, self.settings_of(number, kernel)));
        settings.filter(|(_, settings)| !settings.is_empty()).collect()
    }

    fn settings_of(&self, number: usize, kernel: &Kernel<'_>) -> Vec<Setting> {
        let mut changed = Vec::new();
        let Some(facts) = self.census.kernels.get(number) else { return changed };
        if kernel.descriptor().is_none() {
            return changed;
        }
        let (sgprs, vgprs) = self.extents.get(&number).copied().unwrap_or_default();
        let reserved = self.kit.usual().dialect().reserved_sgprs;
        let sgprs = if sgprs == 0 { 0 } else { sgprs + reserved };
        if sgprs > facts.sgprs {
            changed.push(setting(".sgpr_count", &facts.sgprs, &sgprs));
        }
        changed.extend(self.vgpr_settings(kernel, vgprs.into()));
        let scratch = self.scratch.get(&number).copied().unwrap_or(0);
        if scratch > facts.scratch {
            changed.push(setting(".private_segment_fixed_size", &facts.scratch, &scratch));
        }
        if let Some(stub) = self.stubs.get(&number) {
            let place = |address: u64| format!("{address:#x}");
            changed.push(setting(ENTRY, &place(stub.entry), &place(stub.address)));
            if facts.prefetch > STUB_LINES {
                changed.push(setting("inst_pref_size", &facts.prefetch, &STUB_LINES));
            }
        }
        let stepping = self.patcher.set.stepping().filter(|it| revision::changes(*it, kernel));
        changed.extend(stepping.map(|it| setting(revision::KEY, it.takes, it.gives)));
        changed
    }

    /// What has a kernel allocate so many vector registers: accumulation registers stay behind them.
    fn vgpr_settings(&self, kernel: &Kernel<'_>, vgprs: u32) -> Vec<Setting> {
        let generation = self.kit.processor().generation();
        let Ok(mut change) = KernelChange::of(&self.census.object, kernel) else {
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

    fn kernel_records(
        &self,
        remarks: &[Remark],
        mut settings: BTreeMap<usize, Vec<Setting>>,
    ) -> Vec<KernelRecord> {
        let refused = remarks.iter().filter(|it| it.said.is_err());
        let refused: BTreeSet<&str> = refused.map(|it| it.function.as_str()).collect();
        let records = self.census.kernels.iter().enumerate().map(|(number, kernel)| {
            let settings = settings.remove(&number).unwrap_or_default();
            let is_refused = refused.contains(kernel.name.as_str());
            let verdict = match () {
                () if is_refused => Verdict::Refused,
                () if self.is_refused => Verdict::Unchanged("the object is refused".to_owned()),
                () if self.touched.contains(&number) || !settings.is_empty() => Verdict::Changed,
                () => Verdict::Unchanged(NOTHING.to_owned()),
            };
            KernelRecord { name: kernel.name.clone(), verdict, settings }
        });
        records.collect()
    }
}

fn setting<T: ToString + ?Sized>(name: &str, old: &T, new: &T) -> Setting {
    Setting { name: name.to_owned(), old: old.to_string(), new: new.to_string() }
}

fn widest(left: Extent, right: Extent) -> Extent {
    (left.0.max(right.0), left.1.max(right.1))
}
