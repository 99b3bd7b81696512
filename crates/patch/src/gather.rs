//! Asks the rules about a function, and makes one list of all that they want changed.

use std::collections::BTreeMap;

use hsaco_isa::{Flow, Inst, OperandValue, Register};

use crate::lease::Leases;
use crate::manifest::{Remark, is_asked_for};
use crate::needs::Around;
use crate::plan::{Edit, Plan};
use crate::refusal::{Refusal, RefusalKind};
use crate::rule::{Answer, Requirement, Rule, RuleSet, Stage};
use crate::scan::Hit;
use crate::view::{Site, View};

/// A rule that wants something, and the address of its instruction.
type Wish = (&'static str, u64);

/// Instructions of a function and what takes their place.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    pub(crate) first: usize,
    pub(crate) count: usize,
    pub(crate) code: Vec<Inst>,
    /// The rules that want it, each with its instruction's address.
    pub(crate) rules: Vec<(&'static str, u64)>,
    pub(crate) leases: Vec<Register>,
    /// Addresses that the code makes, as in [`Plan::fixups`].
    pub(crate) fixups: Vec<(usize, u64)>,
    /// The branch that the code ends with, which stood at the end of the window.
    pub(crate) branch: Option<Branch>,
}

/// A branch that leads from elsewhere to where it led.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Branch {
    /// The instruction.
    pub(crate) word: u32,
    pub(crate) target: u64,
    /// Whether control may go on behind it.
    pub(crate) is_conditional: bool,
}

impl Window {
    pub(crate) fn end(&self) -> usize {
        self.first + self.count
    }
}

/// What is to run before a kernel.
pub(crate) struct Prologue {
    pub(crate) rule: &'static str,
    pub(crate) code: Vec<Inst>,
}

/// What the rules want done to a function.
#[derive(Default)]
pub(crate) struct Wishes {
    pub(crate) windows: Vec<Window>,
    pub(crate) prologue: Option<Prologue>,
    pub(crate) remarks: Vec<Remark>,
    /// Bytes of scratch memory that kernels need.
    pub(crate) scratch: u32,
    /// A rule that is required has refused.
    pub(crate) is_refused: bool,
}

pub(crate) struct Gatherer<'v> {
    view: &'v View<'v>,
    name: &'v str,
    windows: BTreeMap<usize, Window>,
    pads: BTreeMap<usize, (u8, Vec<Wish>)>,
    wishes: Wishes,
}

impl<'v> Gatherer<'v> {
    pub(crate) fn new(view: &'v View<'v>, name: &'v str) -> Self {
        Gatherer {
            view,
            name,
            windows: BTreeMap::new(),
            pads: BTreeMap::new(),
            wishes: Wishes::default(),
        }
    }

    /// Asks about all places that the filter has found, in the order of their addresses.
    pub(crate) fn ask(&mut self, set: &'static RuleSet, hits: &[Hit]) {
        let mut owned = None;
        for hit in hits {
            let Some(rule) = set.rules().get(hit.rule) else { continue };
            let Some(site) = self.site_at(hit, rule) else { continue };
            let is_owned = owned == Some(hit.offset);
            if rule.stage == Stage::Site && is_owned {
                continue;
            }
            if self.take(rule, &site) && rule.stage == Stage::Site {
                owned = Some(hit.offset);
            }
        }
    }

    /// Takes one answer; whether the rule has something to say.
    pub(crate) fn take(&mut self, rule: &'static Rule, site: &Site<'_>) -> bool {
        match (rule.look)(site) {
            Answer::NotMine => return false,
            Answer::Keep(reason) => self.remark(rule.name, site.address(), Ok(reason.to_owned())),
            Answer::Rewrite(plan) => {
                if let Err(refusal) = self.add(rule.name, site.address(), plan) {
                    self.refuse(rule, site.address(), refusal);
                }
            }
            Answer::Refuse(refusal) => self.refuse(rule, site.address(), refusal),
        }
        true
    }

    fn site_at(&self, hit: &Hit, rule: &Rule) -> Option<Site<'v>> {
        let address = self.view.stream().address().wrapping_add(hit.offset as u64);
        let site = self.view.site(self.view.stream().index_of(address)?)?;
        let is_claimed = !matches!(rule.trigger, crate::Trigger::Opcodes(_));
        (is_claimed || rule.claims(site.mnemonic())).then_some(site)
    }

    pub(crate) fn add(
        &mut self,
        rule: &'static str,
        address: u64,
        plan: Plan,
    ) -> Result<(), Refusal> {
        self.wishes.scratch = self.wishes.scratch.max(plan.scratch);
        let mut fixups = plan.fixups;
        for edit in plan.edits {
            self.add_edit(rule, address, edit, &plan.leases, std::mem::take(&mut fixups))?;
        }
        for (step, count) in plan.pads {
            let pad = self.pads.entry(step).or_default();
            pad.0 = pad.0.max(count);
            pad.1.push((rule, address));
        }
        if !plan.prologue.is_empty() {
            self.wishes.prologue = Some(Prologue { rule, code: plan.prologue });
        }
        Ok(())
    }

    fn add_edit(
        &mut self,
        rule: &'static str,
        address: u64,
        edit: Edit,
        leases: &[Register],
        fixups: Vec<(usize, u64)>,
    ) -> Result<(), Refusal> {
        let Edit { first, count, code } = edit;
        let end = first + count;
        let before = self.windows.range_mut(..end).next_back().map(|(_, window)| window);
        if let Some(window) = before.filter(|window| window.end() > first) {
            // A change that several rules want is one; what callers ask for is done as often as they ask.
            let leases = leases.to_vec();
            let rules = Vec::new();
            let wanted = Window { first, count, code, rules, leases, fixups, branch: None };
            let wanted = bound(self.view, wanted)?;
            let is_same =
                (window.first, window.count, &window.code) == (first, count, &wanted.code);
            if !is_same || is_asked_for(rule) {
                let detail = format!("two changes are wanted at {}", self.view.place(first));
                return Err(Refusal::new(RefusalKind::Overlap, detail));
            }
            window.rules.push((rule, address));
            return Ok(());
        }
        let rules = vec![(rule, address)];
        let leases = leases.to_vec();
        let window = Window { first, count, code, rules, leases, fixups, branch: None };
        self.windows.insert(first, bound(self.view, window)?);
        Ok(())
    }

    fn refuse(&mut self, rule: &Rule, address: u64, refusal: Refusal) {
        self.wishes.is_refused |= rule.requirement == Requirement::Required;
        self.remark(rule.name, address, Err(refusal));
    }

    /// An edit that a caller asked for cannot be made.
    pub(crate) fn refuse_edit(&mut self, rule: &str, address: u64, refusal: Refusal) {
        self.wishes.is_refused = true;
        self.remark(rule, address, Err(refusal));
    }

    fn remark(&mut self, rule: &str, address: u64, said: Result<String, Refusal>) {
        let function = self.name.to_owned();
        self.wishes.remarks.push(Remark { rule: rule.to_owned(), function, address, said });
    }

    /// Everything, with distance before what needs it.
    pub(crate) fn finish(mut self) -> Wishes {
        for (step, (count, rules)) in std::mem::take(&mut self.pads) {
            let (rule, address) = rules.first().copied().unwrap_or(("", 0));
            if let Err(refusal) = self.pad(step, count, rules) {
                self.wishes.is_refused = true;
                self.remark(rule, address, Err(refusal));
            }
        }
        if let Err(refusal) = self.break_clauses() {
            self.wishes.is_refused = true;
            self.remark("clause", self.view.stream().address(), Err(refusal));
        }
        self.wishes.windows = std::mem::take(&mut self.windows).into_values().collect();
        self.wishes
    }

    /// A clause holds instructions of one kind alone: where one of them leads elsewhere, `s_nop` takes the place of
    /// `s_clause`.
    fn break_clauses(&mut self) -> Result<(), Refusal> {
        let stream = self.view.stream();
        let size = |code: &[Inst]| code.iter().map(Inst::len).sum::<usize>() as u64;
        let leads_away = |window: &&Window| {
            let room = stream.address_of(window.end()) - stream.address_of(window.first);
            window.branch.is_some() || size(&window.code) > room
        };
        let mut broken: Vec<Window> = Vec::new();
        for (step, number) in self.clauses() {
            let covered = self.windows.range(..=step).next_back();
            if covered.is_some_and(|(_, window)| window.end() > step) {
                continue;
            }
            let inside = self.windows.range(step + 1..=step + number).map(|(_, window)| window);
            let Some(window) = inside.into_iter().find(leads_away) else { continue };
            let Some(site) = self.view.site(step) else { continue };
            let (code, rules) = (vec![site.assemble("s_nop 0")?], window.rules.clone());
            let (leases, fixups) = (Vec::new(), Vec::new());
            let (first, count) = (step, 1);
            broken.push(Window { first, count, code, rules, leases, fixups, branch: None });
        }
        self.windows.extend(broken.into_iter().map(|window| (window.first, window)));
        Ok(())
    }

    /// The clauses of the function, each with how many instructions it holds.
    fn clauses(&self) -> Vec<(usize, usize)> {
        if self.windows.is_empty() {
            return Vec::new();
        }
        let steps = self.view.stream().steps().enumerate();
        let clauses = steps.filter_map(|(step, it)| {
            let inst = it.inst.filter(|inst| inst.mnemonic() == "s_clause")?;
            match self.view.decoder().operand(&inst, "simm16")? {
                OperandValue::Number(number) => {
                    Some((step, (number.cast_unsigned() & 0x3f) as usize + 1))
                }
                _ => None,
            }
        });
        clauses.collect()
    }

    fn pad(
        &mut self,
        step: usize,
        count: u8,
        rules: Vec<(&'static str, u64)>,
    ) -> Result<(), Refusal> {
        let site = self.view.site(step).ok_or_else(|| {
            Refusal::new(RefusalKind::ControlFlow, "no instruction to put distance before")
        })?;
        let nop = site.assemble("v_nop")?;
        let mut code = vec![nop; count.into()];
        let before = self.windows.range_mut(..=step).next_back().map(|(_, window)| window);
        match before.filter(|window| window.end() > step) {
            Some(window) if window.first == step => {
                window.fixups.iter_mut().for_each(|fixup| fixup.0 += code.len());
                code.extend(&window.code);
                window.code = code;
                window.rules.extend(rules);
            }
            Some(_) => {
                let detail =
                    format!("distance is needed inside a change at {}", self.view.place(step));
                return Err(Refusal::new(RefusalKind::Overlap, detail));
            }
            None => {
                code.extend(site.inst());
                let (leases, fixups) = (Vec::new(), Vec::new());
                let (first, count) = (step, 1);
                let window = Window { first, count, code, rules, leases, fixups, branch: None };
                self.windows.insert(step, bound(self.view, window)?);
            }
        }
        Ok(())
    }
}

/// A window whose code does elsewhere what its last instruction did where it stood: a branch leads where it led, and the
/// program counter is read as it was.
fn bound(view: &View<'_>, mut window: Window) -> Result<Window, Refusal> {
    let step = window.end().saturating_sub(1);
    let (Some(last), address) = (view.stream().inst(step), view.stream().address_of(step)) else {
        return Ok(window);
    };
    if window.code.last() != Some(&last) || window.code.len() == 1 {
        return Ok(window);
    }
    let name = last.mnemonic();
    if name == "s_clause" {
        window.code.pop();
        window.code.extend(view.tools().assemble("s_nop 0").ok());
    } else if let Some(target) = last.branch_target(address) {
        let is_conditional = match last.flow() {
            Flow::Branch => false,
            _ if name.starts_with("s_cbranch") && last.len() == 4 => true,
            _ => {
                let detail = format!("{} counts from where it stands", view.place(step));
                return Err(Refusal::new(RefusalKind::ControlFlow, detail));
            }
        };
        window.code.pop();
        let [a, b, c, d, ..] = last.bytes();
        let word = u32::from_le_bytes([a, b, c, d]);
        window.branch = Some(Branch { word, target, is_conditional });
    } else if matches!(name, "s_getpc_b64" | "s_get_pc_i64") {
        window.code.pop();
        read_counter(view, &mut window, step, address + last.len() as u64)?;
    } else if name.contains("_pc")
        && !matches!(last.flow(), Flow::IndirectCall | Flow::IndirectJump)
    {
        let detail = format!("{} reads where it stands", view.place(step));
        return Err(Refusal::new(RefusalKind::ControlFlow, detail));
    }
    Ok(window)
}

/// Puts the address that an instruction read from the program counter at the end of a window.
fn read_counter(
    view: &View<'_>,
    window: &mut Window,
    step: usize,
    value: u64,
) -> Result<(), Refusal> {
    let (dialect, tools) = (view.dialect(), view.tools());
    let lost = || Refusal::new(RefusalKind::Unsupported, "the program counter's register is none");
    let inst = view.stream().inst(step).ok_or_else(lost)?;
    let [a, b, c, d, ..] = inst.bytes();
    let pair = dialect.address_pair(u32::from_le_bytes([a, b, c, d]));
    let mut leases = Leases::around(Around { view, first: window.first, last: step });
    window.leases.iter().for_each(|register| leases.avoid(register));
    let saved = match dialect.loses_scc() && leases.scc().is_err() {
        true => Some(leases.sgprs(1, 1)?.first),
        false => None,
    };
    let save = saved.map(|it| dialect.save_scc(it)).unwrap_or_default();
    let restore = saved.map(|it| dialect.restore_scc(it));
    let insts = |words: &[u32]| tools.insts(words).ok_or_else(lost);
    window.code.extend(insts(&save)?);
    window.fixups.push((window.code.len(), value));
    window.code.extend(insts(&dialect.address(0, value, pair))?);
    window.code.extend(insts(restore.as_slice())?);
    window.leases.extend(leases.into_granted());
    Ok(())
}
