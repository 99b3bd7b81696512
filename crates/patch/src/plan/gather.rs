//! Asks the rules about a function, and collects what they and edits want changed.

use std::collections::BTreeMap;

use hsaco_analysis::Function;
use hsaco_isa::Inst;
use hsaco_isa::model::{OperandValue, Register};

use super::edit::COUNTER;
use super::window::{Prologue, Window, bound};
use crate::edit::CodeEdit;
use crate::manifest::is_asked_for;
use crate::refusal::{Refusal, RefusalKind};
use crate::remark::Remarks;
use crate::rewrite::{Edit, Plan};
use crate::rule::{Answer, Requirement, RewriteRule, Stage};
use crate::scan::Claim;
use crate::site::Site;
use crate::view::View;

/// A rule that wants something, and the address of its instruction.
type Request = (&'static str, u64);

/// What rules and edits want done to a function.
#[derive(Default)]
pub(crate) struct Requests {
    pub(crate) windows: Vec<Window>,
    pub(crate) prologue: Option<Prologue>,
    /// Bytes of scratch memory that kernels need.
    pub(crate) private_segment: u32,
    /// Counters: what each counts, and where it is.
    pub(crate) counters: Vec<(u64, u64)>,
    /// The numbers of the edits that have found a place here.
    pub(crate) edited: Vec<usize>,
    pub(crate) remarks: Remarks,
}

pub(crate) struct Gatherer<'v> {
    view: &'v View<'v>,
    name: &'v str,
    windows: BTreeMap<usize, Window>,
    pads: BTreeMap<usize, (u8, Vec<Request>)>,
    requests: Requests,
}

impl<'v> Gatherer<'v> {
    pub(crate) fn new(view: &'v View<'v>, name: &'v str) -> Self {
        Gatherer {
            view,
            name,
            windows: BTreeMap::new(),
            pads: BTreeMap::new(),
            requests: Requests::default(),
        }
    }

    /// Asks the rules about their instructions, in the order of these.
    pub(crate) fn ask(&mut self, claims: &[Claim]) {
        let mut owned = None;
        for Claim { step, rule } in claims {
            let Some(site) = self.view.site(*step) else { continue };
            if rule.stage == Stage::Site && owned == Some(*step) {
                continue;
            }
            if self.take(rule, &site) && rule.stage == Stage::Site {
                owned = Some(*step);
            }
        }
    }

    /// Takes one answer; whether the rule has something to say.
    pub(crate) fn take(&mut self, rule: &'static RewriteRule, site: &Site<'_>) -> bool {
        match (rule.look)(site) {
            Answer::NotMine => return false,
            Answer::Keep(reason) => {
                self.requests.remarks.keep(rule.name, self.name, site.address(), reason);
            }
            Answer::Rewrite(plan) => {
                if let Err(refusal) = self.add(rule.name, site.address(), plan) {
                    self.refuse_rule(rule, site.address(), refusal);
                }
            }
            Answer::Refuse(refusal) => self.refuse_rule(rule, site.address(), refusal),
        }
        true
    }

    pub(crate) fn add(
        &mut self,
        rule: &'static str,
        address: u64,
        plan: Plan,
    ) -> Result<(), Refusal> {
        self.requests.private_segment = self.requests.private_segment.max(plan.private_segment);
        let mut fixups = plan.fixups;
        for edit in plan.edits {
            self.add_edit(
                rule,
                address,
                edit,
                &plan.scratch_registers,
                std::mem::take(&mut fixups),
            )?;
        }
        for (step, count) in plan.pads {
            let pad = self.pads.entry(step).or_default();
            pad.0 = pad.0.max(count);
            pad.1.push((rule, address));
        }
        if !plan.prologue.is_empty() {
            self.requests.prologue = Some(Prologue { rule, code: plan.prologue });
        }
        Ok(())
    }

    fn add_edit(
        &mut self,
        rule: &'static str,
        address: u64,
        edit: Edit,
        scratch: &[Register],
        fixups: Vec<(usize, u64)>,
    ) -> Result<(), Refusal> {
        let Edit { first, count, code } = edit;
        let wanted = Window::new(first, count, code, vec![(rule, address)]);
        let scratch_registers = scratch.to_vec();
        let wanted = bound(self.view, Window { scratch_registers, fixups, ..wanted })?;
        let before = self.windows.range_mut(..wanted.end()).next_back().map(|(_, window)| window);
        let Some(window) = before.filter(|window| window.end() > first) else {
            self.windows.insert(first, wanted);
            return Ok(());
        };
        // A change that several rules want is one; what callers ask for is done as often as they ask.
        let is_same = (window.first, window.count, &window.code) == (first, count, &wanted.code);
        if !is_same || is_asked_for(rule) {
            let detail = format!("two changes are wanted at {}", self.view.place(first));
            return Err(Refusal::new(RefusalKind::Overlap, detail));
        }
        window.rules.push((rule, address));
        Ok(())
    }

    fn refuse_rule(&mut self, rule: &RewriteRule, address: u64, refusal: Refusal) {
        match rule.requirement {
            Requirement::Required => self.refuse(rule.name, address, refusal),
            Requirement::Optional => {
                self.requests.remarks.pass_over(rule.name, self.name, address, refusal);
            }
        }
    }

    fn refuse(&mut self, rule: &str, address: u64, refusal: Refusal) {
        self.requests.remarks.refuse(rule, self.name, address, refusal);
    }

    /// Makes the edits of the function; counters are put from `counter` on, and `functions` are all that may be called.
    pub(crate) fn edit(
        &mut self,
        edits: &[CodeEdit],
        functions: &[Function<'_>],
        mut counter: u64,
    ) {
        for (number, edit) in edits.iter().enumerate() {
            for step in edit.steps(self.view) {
                let (rule, address) = (edit.rule(), self.view.stream().address_of(step));
                let plan = edit.plan(self.view, step, counter, functions);
                match plan.and_then(|plan| self.add(rule, address, plan)) {
                    Ok(()) if matches!(edit, CodeEdit::Count(_)) => {
                        self.requests.counters.push((address, counter));
                        counter += COUNTER;
                    }
                    Ok(()) => {}
                    Err(refusal) => self.refuse(rule, address, refusal),
                }
                self.requests.edited.push(number);
            }
        }
    }

    /// Everything, with distance before what needs it.
    pub(crate) fn finish(mut self) -> Requests {
        for (step, (count, rules)) in std::mem::take(&mut self.pads) {
            let (rule, address) = rules.first().copied().unwrap_or(("", 0));
            if let Err(refusal) = self.pad(step, count, rules) {
                self.refuse(rule, address, refusal);
            }
        }
        if let Err(refusal) = self.break_clauses() {
            self.refuse("clause", self.view.stream().address(), refusal);
        }
        self.requests.windows = std::mem::take(&mut self.windows).into_values().collect();
        self.requests
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
            let nop = vec![site.assemble("s_nop 0")?];
            broken.push(Window::new(step, 1, nop, window.rules.clone()));
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
                let window = Window::new(step, 1, code, rules);
                self.windows.insert(step, bound(self.view, window)?);
            }
        }
        Ok(())
    }
}
