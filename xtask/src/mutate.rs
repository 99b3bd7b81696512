//! `cargo xtask mutate`: kernels with a wait, a no-op or a barrier less, or an access elsewhere, and how many of these
//! `check --code` and `run --sanitize` find.

mod launch;
mod trace;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use hsaco::analysis::{
    BlockId, Certainty, Cfg, Code, Function, Stream, Workgroup, hazards, missing_barriers,
    missing_waits, unpaired_barriers,
};
use hsaco::emu::FaultKind;
use hsaco::isa::decoder::DecodeOptions;
use hsaco::isa::effects::{Count, Counter, Effects, Flow, Space};
use hsaco::isa::model::{Half, Register, VgprMsb};
use hsaco::isa::{Assembler, Decoder, Inst};
use hsaco::object::CodeObject;
use hsaco_tests::{corpus_dir, workspace_root};

use crate::args::Args;
use crate::compiled;
use launch::{Base, Harmless, Launched};
use trace::{Counting, Counts};

const PAGE: &str = "docs/mutations.md";
/// Changes of each kind that are made to a function of a random program.
const MOST_OF_PROGRAM: usize = 6;
/// Accesses of a function that are shifted, one after the other.
const MOST_SHIFTED: usize = 16;

/// What is done to an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    WaitDeleted,
    WaitWeakened,
    NopDeleted,
    BarrierDeleted,
    AddressShifted,
}

impl Change {
    const fn name(self) -> &'static str {
        match self {
            Change::WaitDeleted => "wait deleted",
            Change::WaitWeakened => "wait weakened by one",
            Change::NopDeleted => "`s_nop`, `v_nop` deleted",
            Change::BarrierDeleted => "barrier deleted",
            Change::AddressShifted => "address shifted",
        }
    }

    /// The kinds of findings that tell it.
    const fn kinds(self) -> &'static [FaultKind] {
        match self {
            Change::AddressShifted => &[FaultKind::Memory, FaultKind::Init],
            _ => &[FaultKind::Wait, FaultKind::Hazard, FaultKind::Race, FaultKind::Barrier],
        }
    }

    /// Whether there is a rule that tells it without running.
    const fn has_rule(self) -> bool {
        !matches!(self, Change::AddressShifted)
    }
}

/// What became of the changes of a kind.
#[derive(Clone, Copy, Default)]
struct Tally {
    changes: usize,
    errors: usize,
    warnings: usize,
    /// Nothing reads a register of what is not waited for before the next wait for the same counter.
    equivalent: usize,
    neither: usize,
    ran: Ran,
}

/// What became of those whose instruction is run.
#[derive(Clone, Copy, Default)]
struct Ran {
    changes: usize,
    found: usize,
    /// No value changes on the way that was run.
    equivalent: usize,
    neither: usize,
}

#[derive(Default)]
struct Table<'t> {
    /// The processors that are looked at.
    targets: Vec<&'t str>,
    /// Nothing is run.
    is_static: bool,
    kernels: BTreeMap<String, usize>,
    rows: BTreeMap<(String, Change), Tally>,
    /// Functions with findings before any change.
    unclean: usize,
    /// Kernels that ran, once for each change.
    ran: usize,
    /// Why shifted accesses make no difference, and how many.
    unshifted: BTreeMap<Harmless, usize>,
    missed: Vec<String>,
}

/// A file of kernels whose changes are looked at.
struct Subject<'f> {
    name: String,
    target: String,
    bytes: &'f [u8],
    launched: Option<(Launched, Base)>,
    /// So many changes of each kind are made to a function, at most.
    most: usize,
}

pub(crate) fn run(mut args: Args) -> Result<()> {
    let seeds: String = args.option("--seeds")?.unwrap_or_else(|| "1..9".to_owned());
    let most = args.option("--most")?.unwrap_or(MOST_OF_PROGRAM);
    let only: Option<String> = args.option("--targets")?;
    let [is_static, is_blessed] = ["--static", "--bless"].map(|it| args.flag(it));
    args.finish()?;
    let is_part = only.is_some() || is_static;
    ensure!(!(is_part && is_blessed), "the page has every target, without running and run");
    let (first, end) = seeds.split_once("..").context("--seeds wants FIRST..END")?;
    let targets: Vec<&str> =
        only.as_deref().map_or(compiled::TARGETS.to_vec(), |it| it.split(',').collect());
    let mut table = Table { targets, is_static, ..Table::default() };
    for path in objects_of(&corpus_dir().join("triton"))? {
        table.file(&path, None)?;
    }
    for path in objects_of(&workspace_root().join("tests/fixtures"))? {
        table.file(&path, None)?;
    }
    for path in compiled::programs(first.parse()?, end.parse()?)? {
        table.file(&path, Some(most))?;
    }
    let text = table.text();
    print!("{text}");
    table.missed.iter().for_each(|it| println!("not found: {it}"));
    if is_blessed {
        table.write()?;
    }
    ensure!(table.missed.is_empty(), "{} changes matter and are not found", table.missed.len());
    Ok(())
}

fn objects_of(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        files.extend(path.extension().is_some_and(|it| it == "co").then_some(path));
    }
    files.sort();
    Ok(files)
}

impl Table<'_> {
    /// The kernels of a file; `most` is for random programs, which have too many waits to delete each.
    fn file(&mut self, path: &Path, most: Option<usize>) -> Result<()> {
        let bytes = fs::read(path)?;
        let Ok(object) = CodeObject::parse(&bytes) else { return Ok(()) };
        let Some(target) = object.target().id() else { return Ok(()) };
        let target = target.processor.to_string();
        let Ok(code) = Code::of(&object) else { return Ok(()) };
        if !self.targets.contains(&target.as_str()) {
            return Ok(());
        }
        eprintln!("{}", path.display());
        *self.kernels.entry(target.clone()).or_default() += object.index().kernels().len();
        let launched = Launched::of(path, most.is_some())?.filter(|_| !self.is_static);
        let launched = launched.and_then(|launched| {
            let base = launched.base(&bytes, &counting(&code))?;
            Some((launched, base))
        });
        self.ran += usize::from(launched.is_some());
        let subject = Subject {
            name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            target,
            bytes: &bytes,
            launched,
            most: most.unwrap_or(usize::MAX),
        };
        for function in code.functions().as_slice() {
            self.function(&subject, &code, function)?;
        }
        Ok(())
    }

    fn function(
        &mut self,
        subject: &Subject<'_>,
        code: &Code<'_>,
        function: &Function<'_>,
    ) -> Result<()> {
        let decoder = code.decoder(function);
        let stream = function.decode(&decoder);
        let cfg = Cfg::new(&decoder, &stream);
        if verdict(&decoder, function.address, function.code) != Verdict::Clean {
            self.unclean += 1;
            return Ok(());
        }
        let group = group(code, function);
        let barriers = barriers(&decoder, function.address, function.code, group);
        let assembler = Assembler::new(code.processor(), DecodeOptions::default())?;
        for mutant in changes(&assembler, &stream, &cfg, function.code, subject.most) {
            let at = stream.address_of(mutant.step);
            let row = (subject.target.clone(), mutant.change);
            let tally = self.rows.entry(row).or_default();
            let verdict = match mutant.change {
                Change::BarrierDeleted => {
                    let all = self::barriers(&decoder, function.address, &mutant.code, group);
                    if all.is_subset(&barriers) { Verdict::Clean } else { Verdict::Warning }
                }
                _ => verdict(&decoder, function.address, &mutant.code),
            };
            let ran = subject.run(function, at, &mutant);
            if let Some(Found::Harmless(why)) = ran {
                *self.unshifted.entry(why).or_default() += 1;
            }
            let is_missed = verdict == Verdict::Clean
                && match mutant.change {
                    // Those that are not run may matter.
                    Change::BarrierDeleted => ran != Some(Found::Equivalent),
                    _ => {
                        ran == Some(Found::TooSoon)
                            || matters(&decoder, &stream, &cfg, mutant.step, mutant.change)
                    }
                };
            tally.add(mutant.change, &verdict, is_missed);
            tally.ran.add(ran);
            let name = mutant.change.name();
            // Addresses that do not follow from the number of the work-item are not looked at.
            if is_missed && mutant.change != Change::BarrierDeleted {
                self.missed.push(format!("{} {at:#x}: {name}, statically", subject.name));
            }
            if ran == Some(Found::Neither) {
                self.missed.push(format!("{} {at:#x}: {name}, when run", subject.name));
            }
        }
        Ok(())
    }

    fn text(&self) -> String {
        let mut text = "| target | change | mutants | error | warning | equivalent | neither | run | found | equivalent | neither |\n\
             |---|---|---|---|---|---|---|---|---|---|---|\n"
            .to_owned();
        for ((target, change), it) in &self.rows {
            let Tally { changes, errors, warnings, equivalent, neither, ran } = it;
            let (change, Ran { changes: runs, found, equivalent: same, neither: missed }) =
                (change.name(), ran);
            writeln!(
                text,
                "| {target} | {change} | {changes} | {errors} | {warnings} | {equivalent} | {neither} | {runs} | {found} | {same} | {missed} |"
            )
            .unwrap_or_default();
        }
        let kernels: usize = self.kernels.values().sum();
        writeln!(
            text,
            "\n{kernels} kernels, of which {} were run. Functions with findings before any change, left out: {}.",
            self.ran, self.unclean
        )
        .unwrap_or_default();
        let reasons: Vec<String> =
            self.unshifted.iter().map(|(why, count)| format!("{count} {}", why.name())).collect();
        writeln!(text, "\nShifted accesses that make no difference: {}.", reasons.join(", "))
            .unwrap_or_default();
        text
    }

    /// Puts the table into its page, between its first row and the words that follow it.
    fn write(&self) -> Result<()> {
        let path = workspace_root().join(PAGE);
        let page = fs::read_to_string(&path)?;
        let (before, rest) = page.split_once("| target |").context("a page without a table")?;
        let (_, after) = rest.split_once("\n## ").context("a table without an end")?;
        fs::write(path, format!("{before}{}\n## {after}", self.text()))?;
        Ok(())
    }
}

impl Tally {
    /// Counts what the rules say of a change.
    fn add(&mut self, change: Change, verdict: &Verdict, is_missed: bool) {
        self.changes += 1;
        match verdict {
            Verdict::Error => self.errors += 1,
            Verdict::Warning => self.warnings += 1,
            Verdict::Clean if is_missed || !change.has_rule() => self.neither += 1,
            Verdict::Clean => self.equivalent += 1,
        }
    }
}

impl Ran {
    fn add(&mut self, found: Option<Found>) {
        let Some(found) = found else { return };
        self.changes += 1;
        match found {
            Found::TooSoon | Found::Reported => self.found += 1,
            Found::Equivalent | Found::Harmless(_) => self.equivalent += 1,
            Found::Neither => self.neither += 1,
        }
    }
}

/// What a sanitized run makes of a change.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    /// A register is used too soon, which the rules have to tell as well.
    TooSoon,
    Reported,
    Equivalent,
    /// The results of a shifted access are the same, for this reason.
    Harmless(Harmless),
    Neither,
}

impl Subject<'_> {
    /// Runs a kernel with a change, if the changed instruction runs at all.
    fn run(&self, function: &Function<'_>, at: u64, mutant: &Mutant) -> Option<Found> {
        let (launched, base) = self.launched.as_ref()?;
        if !base.executed.contains(&at) {
            return None;
        }
        let start = function.code.as_ptr().addr() - self.bytes.as_ptr().addr();
        let mut object = self.bytes.to_vec();
        object.get_mut(start..start + mutant.code.len())?.copy_from_slice(&mutant.code);
        if mutant.change == Change::AddressShifted {
            return Some(launched.shifted(&object, self.bytes, at, base));
        }
        let kinds = launched.finds(&object, mutant.change.kinds());
        if kinds.iter().any(|it| matches!(it, FaultKind::Wait | FaultKind::Hazard)) {
            return Some(Found::TooSoon);
        }
        if !kinds.is_empty() {
            return Some(Found::Reported);
        }
        let matters = match mutant.change {
            Change::WaitDeleted => base.mattering.contains(&at),
            Change::BarrierDeleted => launched.differs(&object, base),
            Change::WaitWeakened | Change::NopDeleted | Change::AddressShifted => false,
        };
        Some(if matters { Found::Neither } else { Found::Equivalent })
    }
}

/// What the instructions of an object do to counters, by their addresses in memory.
fn counting(code: &Code<'_>) -> Counting {
    let mut all = Counting::new();
    for function in code.functions().as_slice() {
        let decoder = code.decoder(function);
        let stream = function.decode(&decoder);
        for step in 0..stream.len() {
            let Some(inst) = stream.inst(step) else { continue };
            let effects = decoder.effects(&inst, VgprMsb::default());
            let is_xcnt = |it: &Count| it.counter == Counter::Xcnt;
            let counts = Counts {
                counts: (effects.counts().iter().filter(|it| !is_xcnt(it)))
                    .map(|it| (*it, effects.most_outstanding(it.counter)))
                    .collect(),
                waits: effects.waits().collect(),
                waits_for_idle: effects.waits_for_idle(),
                is_masked: effects.is_masked(),
                is_flat: effects.memory().is_some_and(|it| it.space == Space::Flat),
            };
            all.insert(stream.address_of(step).wrapping_add(launch::BASE), counts);
        }
    }
    all
}

#[derive(PartialEq, Eq)]
enum Verdict {
    Clean,
    Warning,
    Error,
}

/// What the two rules say of code.
fn verdict(decoder: &Decoder, address: u64, code: &[u8]) -> Verdict {
    let stream = Stream::decode(decoder, address, code);
    let cfg = Cfg::new(decoder, &stream);
    let waits = missing_waits(decoder, &stream, &cfg);
    let hazards = hazards(decoder, &stream, &cfg);
    let mut all =
        waits.iter().map(|it| &it.certainty).chain(hazards.iter().map(|it| &it.certainty));
    match all.clone().next() {
        None => Verdict::Clean,
        Some(_) if all.any(|it| *it == Certainty::Always) => Verdict::Error,
        Some(_) => Verdict::Warning,
    }
}

/// The workgroups of the kernel that begins with a function.
fn group(code: &Code<'_>, function: &Function<'_>) -> Option<Workgroup> {
    let mut kernels = code.index().kernels().iter();
    let kernel = kernels.find(|it| it.entry() == Some(function.address))?;
    Workgroup::of(kernel, code.processor().generation())
}

/// What `missing-barrier` says of code.
fn barriers(
    decoder: &Decoder,
    address: u64,
    code: &[u8],
    group: Option<Workgroup>,
) -> BTreeSet<String> {
    let stream = Stream::decode(decoder, address, code);
    let cfg = Cfg::new(decoder, &stream);
    let missing = group.map(|it| missing_barriers(decoder, &stream, &cfg, it)).unwrap_or_default();
    let unpaired = unpaired_barriers(decoder, &stream, &cfg);
    let missing = missing.iter().map(|it| format!("{it:?}"));
    missing.chain(unpaired.iter().map(|it| format!("{it:?}"))).collect()
}

/// A function with a change.
struct Mutant {
    step: usize,
    change: Change,
    code: Vec<u8>,
}

/// A function with each change, one after the other; of each kind so many, evenly chosen.
fn changes(
    assembler: &Assembler,
    stream: &Stream<'_>,
    cfg: &Cfg,
    code: &[u8],
    most: usize,
) -> Vec<Mutant> {
    let mut places: BTreeMap<Change, Vec<(BlockId, usize)>> = BTreeMap::new();
    for block in cfg.reverse_post_order() {
        for step in cfg.blocks()[*block].steps() {
            let kinds = stream.inst(step).map(|inst| kinds(assembler, &inst)).unwrap_or_default();
            for kind in kinds {
                places.entry(*kind).or_default().push((*block, step));
            }
        }
    }
    let mut all = Vec::new();
    for (change, places) in places {
        let most = if change == Change::AddressShifted { most.min(MOST_SHIFTED) } else { most };
        for (block, step) in places.iter().step_by(places.len().div_ceil(most)) {
            let change_at = ChangeAt { assembler, stream, cfg, code, block: *block, step: *step };
            all.extend(change_at.make(change).map(|code| Mutant { step: *step, change, code }));
        }
    }
    all
}

/// What can be done to an instruction.
fn kinds(assembler: &Assembler, inst: &Inst) -> &'static [Change] {
    let name = inst.mnemonic();
    let effects = assembler.decoder().effects(inst, VgprMsb::default());
    if effects.memory().is_some() {
        &[Change::AddressShifted]
    } else if effects.waits().count() > 0 {
        &[Change::WaitDeleted, Change::WaitWeakened]
    } else if name == "s_wait_idle" {
        &[Change::WaitDeleted]
    } else if matches!(name, "s_nop" | "v_nop") {
        &[Change::NopDeleted]
    } else if name.starts_with("s_barrier") && inst.len() == 4 {
        &[Change::BarrierDeleted]
    } else {
        &[]
    }
}

/// An instruction that is to be changed.
struct ChangeAt<'c> {
    assembler: &'c Assembler,
    stream: &'c Stream<'c>,
    cfg: &'c Cfg,
    code: &'c [u8],
    block: BlockId,
    step: usize,
}

impl ChangeAt<'_> {
    /// The code of the function with the change, if it can be made.
    fn make(&self, change: Change) -> Option<Vec<u8>> {
        let offset = offset_of(self.stream, self.step);
        let replaced = |line: &str| replaced(self.assembler, self.code, offset, line);
        match change {
            Change::WaitDeleted | Change::BarrierDeleted => replaced("s_nop 0"),
            Change::WaitWeakened => {
                let inst = self.stream.inst(self.step)?;
                replaced(&weakened(&self.assembler.decoder().text(&inst))?)
            }
            Change::NopDeleted => self.moved_away(),
            Change::AddressShifted => self.shifted(),
        }
    }

    /// The code with an access one element further on, or further back where offsets end.
    fn shifted(&self) -> Option<Vec<u8>> {
        let inst = self.stream.inst(self.step)?;
        let decoder = self.assembler.decoder();
        let bytes = decoder.effects(&inst, VgprMsb::default()).memory()?.bytes;
        let step = i64::from(bytes.unwrap_or(4).clamp(1, 4));
        let text = decoder.text(&inst);
        let offset = offset_of(self.stream, self.step);
        let lines = [step, -step].into_iter().filter_map(|step| moved(&text, step));
        let is_as_long =
            |line: &String| self.assembler.assemble(line).is_ok_and(|it| it.len() == inst.len());
        let line = lines.into_iter().find(is_as_long)?;
        replaced(self.assembler, self.code, offset, &line)
    }

    /// The code with an instruction moved to the end of its block, before the branch that may end it, or to its beginning
    /// where it still keeps two others apart.
    fn moved_away(&self) -> Option<Vec<u8>> {
        let steps = self.cfg.blocks()[self.block].steps();
        let last = steps.clone().next_back()?;
        let is_turn = self.stream.inst(last).is_some_and(|inst| inst.is_terminator());
        let place = |step: usize| offset_of(self.stream, step);
        let (start, next) = (place(self.step), place(self.step + 1));
        let (first, end) = (place(steps.start), place(if is_turn { last } else { last + 1 }));
        let mut late = self.code.to_vec();
        late.get_mut(start..end)?.rotate_left(next - start);
        let mut early = self.code.to_vec();
        early.get_mut(first..next)?.rotate_right(next - start);
        let address = self.stream.address();
        let is_found = |it: &[u8]| verdict(self.assembler.decoder(), address, it) != Verdict::Clean;
        let all = [late, early].into_iter().filter(|it| it != self.code);
        let all: Vec<Vec<u8>> = all.collect();
        all.iter().find(|it| is_found(it)).or(all.first()).cloned()
    }
}

/// The code with another instruction of the same length in one's place.
fn replaced(assembler: &Assembler, code: &[u8], offset: usize, line: &str) -> Option<Vec<u8>> {
    let inst = assembler.assemble(line).ok()?;
    let mut changed = code.to_vec();
    let place = changed.get_mut(offset..offset + inst.len())?;
    place.copy_from_slice(inst.bytes().get(..inst.len())?);
    Some(changed)
}

/// The text of an access whose offset is so many bytes more.
fn moved(text: &str, step: i64) -> Option<String> {
    // Of two addresses, the first; they count elements.
    let (word, step) =
        match text.contains("2addr_") || text.contains("ds_read2") || text.contains("ds_write2") {
            true => (" offset0:", step.signum()),
            false => (" offset:", step),
        };
    if let Some((before, after)) = text.split_once(word) {
        let (number, rest) = after.split_at(after.find(' ').unwrap_or(after.len()));
        let (number, is_hex) = match number.strip_prefix("0x") {
            Some(digits) => (i64::from_str_radix(digits, 16).ok()?, true),
            None => (number.parse().ok()?, false),
        };
        let number = number + step;
        let is_shown = is_hex && number >= 0;
        let number = if is_shown { format!("{number:#x}") } else { number.to_string() };
        return Some(format!("{before}{word}{number}{rest}"));
    }
    // Scalar accesses have it as their last operand.
    let is_scalar = text.starts_with("s_");
    if let Some((before, number)) = text.rsplit_once(", 0x").filter(|_| is_scalar) {
        let (digits, rest) = number.split_at(number.find(' ').unwrap_or(number.len()));
        let number = i64::from_str_radix(digits, 16).ok()? + step;
        return (number >= 0).then(|| format!("{before}, {number:#x}{rest}"));
    }
    // What says more about an access comes after its offset.
    let end = [
        " gds",
        " glc",
        " slc",
        " sc0",
        " sc1",
        " nt",
        " th:",
        " scope:",
        " lds",
        " dlc",
        " offset1:",
        " nv",
    ];
    let end = end.iter().filter_map(|it| text.find(it)).min().unwrap_or(text.len());
    let (before, rest) = text.split_at(end);
    Some(format!("{before}{word}{step}{rest}"))
}

/// The text of a wait whose first counter may be one higher.
fn weakened(text: &str) -> Option<String> {
    if let Some((before, after)) = text.split_once('(') {
        let (value, rest) = after.split_once(')')?;
        let value: u32 = value.parse().ok()?;
        return Some(format!("{before}({}){rest}", value + 1));
    }
    let (before, value) = text.rsplit_once("0x")?;
    let value = u32::from_str_radix(value.trim(), 16).ok()?;
    Some(format!("{before}{:#x}", value + 1))
}

/// Whether a wait matters to a register: something before it holds one, and something after it uses that before the
/// next such wait. Worked out without `analysis`'s own walk, to judge it.
fn matters(decoder: &Decoder, stream: &Stream<'_>, cfg: &Cfg, step: usize, change: Change) -> bool {
    if change != Change::WaitDeleted {
        return false;
    }
    let Some(inst) = stream.inst(step) else { return false };
    let effects = decoder.effects(&inst, VgprMsb::default());
    let waits: Vec<(Counter, u8)> = effects.waits().collect();
    waits.into_iter().any(|(counter, value)| {
        // Where some must stay outstanding, which they are depends on the path: only complete waits are judged.
        let held = if value == 0 {
            held_before(decoder, stream, cfg, step, counter)
        } else {
            BTreeSet::new()
        };
        !held.is_empty() && is_used_after(decoder, stream, cfg, step, counter, &held)
    })
}

/// The registers that loads of a counter write, back to waits for all of them.
fn held_before(
    decoder: &Decoder,
    stream: &Stream<'_>,
    cfg: &Cfg,
    step: usize,
    counter: Counter,
) -> BTreeSet<String> {
    let mut held = BTreeSet::new();
    visit(stream, cfg, step, false, |at, open: &mut Option<u8>| {
        let Some(inst) = stream.inst(at) else { return true };
        let effects = decoder.effects(&inst, VgprMsb::default());
        let own = effects.counts().iter().find(|it| it.counter == counter);
        if let Some(count) = own {
            // A wait has left so many outstanding, those before the last ones are complete.
            let is_open = match open {
                Some(left) if count.sequence.is_some() => {
                    let is_open = *left > 0;
                    *left = left.saturating_sub(1);
                    is_open
                }
                _ => true,
            };
            if is_open && count.hold.has_results() {
                held.extend(effects.writes().flat_map(|it| each(&it)));
            }
        }
        for (_, value) in effects.waits().filter(|it| it.0 == counter) {
            *open = Some(open.map_or(value, |it| it.min(value)));
        }
        ends(&effects, counter)
    });
    held
}

fn is_used_after(
    decoder: &Decoder,
    stream: &Stream<'_>,
    cfg: &Cfg,
    step: usize,
    counter: Counter,
    held: &BTreeSet<String>,
) -> bool {
    let mut is_used = false;
    visit(stream, cfg, step, true, |at, _| {
        let Some(inst) = stream.inst(at) else { return true };
        let effects = decoder.effects(&inst, VgprMsb::default());
        is_used |= effects.reads().any(|it| each(&it).any(|it| held.contains(&it)));
        is_used || ends(&effects, counter) || effects.waits().any(|(it, _)| it == counter)
    });
    is_used
}

/// Whether nothing of a counter is outstanding after an instruction.
fn ends(effects: &Effects<'_>, counter: Counter) -> bool {
    effects.waits_for_idle()
        || matches!(effects.flow(), Flow::Call | Flow::IndirectCall)
        || effects.waits().any(|(it, value)| it == counter && value == 0)
}

/// The halves of the single registers of an operand, by name.
fn each(register: &Register) -> impl Iterator<Item = String> + use<> {
    let register = *register;
    (0..u16::from(register.count.max(1))).flat_map(move |at| {
        let halves = [Half::Low, Half::High].into_iter();
        let halves = halves.filter(move |it| register.half.is_none_or(|half| half == *it));
        halves.map(move |half| {
            let first = register.first + at;
            Register { first, count: 1, half: Some(half), ..register }.to_string()
        })
    })
}

/// Visits the instructions before or after one, each once, until told to stop on a path, of which something is
/// remembered.
fn visit(
    stream: &Stream<'_>,
    cfg: &Cfg,
    step: usize,
    forward: bool,
    mut stops: impl FnMut(usize, &mut Option<u8>) -> bool,
) {
    let Some(start) = cfg.block_of(step) else { return };
    let steps = cfg.blocks()[start].steps();
    let first = if forward { step + 1..steps.end } else { steps.start..step };
    let mut work = vec![(start, first, None)];
    let mut seen = BTreeSet::new();
    while let Some((block, range, mut open)) = work.pop() {
        debug_assert!(range.end <= stream.len());
        let mut stops = |at| stops(at, &mut open);
        let is_stopped =
            if forward { range.clone().any(&mut stops) } else { range.rev().any(&mut stops) };
        if is_stopped {
            continue;
        }
        let next: Vec<BlockId> = match forward {
            true => cfg.successors(block).collect(),
            false => cfg.predecessors(block).collect(),
        };
        for block in next {
            if seen.insert(block) {
                work.push((block, cfg.blocks()[block].steps(), open));
            }
        }
    }
}

/// Where an instruction begins in the code of its stream.
fn offset_of(stream: &Stream<'_>, step: usize) -> usize {
    usize::try_from(stream.address_of(step) - stream.address()).unwrap_or(usize::MAX)
}
