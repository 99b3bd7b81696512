//! Asks the rules about a function, and makes one list of all that they want changed.

use std::collections::BTreeMap;

use hsaco_isa::{Inst, Register};

use crate::edit::is_asked_for;
use crate::manifest::Remark;
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
            let is_same = (window.first, window.count, &window.code) == (first, count, &code);
            if !is_same || is_asked_for(rule) {
                let detail = format!("two changes are wanted at {}", self.view.place(first));
                return Err(Refusal::new(RefusalKind::Overlap, detail));
            }
            window.rules.push((rule, address));
            return Ok(());
        }
        let rules = vec![(rule, address)];
        self.windows
            .insert(first, Window { first, count, code, rules, leases: leases.to_vec(), fixups });
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
        self.wishes.windows = std::mem::take(&mut self.windows).into_values().collect();
        self.wishes
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
                self.windows.insert(
                    step,
                    Window {
                        first: step,
                        count: 1,
                        code,
                        rules,
                        leases: Vec::new(),
                        fixups: Vec::new(),
                    },
                );
            }
        }
        Ok(())
    }
}
