//! The second stage: what rules and edits want done to a function, as one list of changes.

mod edit;
mod gather;
mod window;

use std::sync::Arc;

use hsaco_analysis::{Function, FunctionKind, RegisterSet};

use crate::argument::InsertedArgument;
use crate::edit::CodeEdit;
use crate::rule::Stage;
use crate::scan::{Claim, Rules, claims};
use crate::stack;
use crate::survey::Survey;
use crate::view::View;
use gather::Gatherer;

pub(crate) use edit::{COUNTER, Edited, counter_space};
pub(crate) use gather::Requests;
pub(crate) use window::{Branch, Prologue, Window};

/// What is asked of an object.
#[derive(Clone, Copy)]
pub(crate) struct Planner<'p, 'a> {
    pub(crate) survey: &'p Survey<'a>,
    pub(crate) rules: &'p Rules,
    pub(crate) edits: &'p [CodeEdit],
}

/// A function that something is asked of.
pub(crate) struct Planned<'p> {
    pub(crate) view: View<'p>,
    pub(crate) name: Arc<str>,
    pub(crate) requests: Requests,
}

impl<'p> Planner<'p, '_> {
    /// What is to be done to a function, if anything may be; counters are put from `counter` on.
    pub(crate) fn plan(&self, function: &Function<'p>, counter: u64) -> Option<Planned<'p>> {
        let Planner { survey, rules, .. } = *self;
        let hits = rules.hits(function.code);
        let is_asked = self.wants_stub(function) || self.has_edit(function);
        if hits.is_empty() && !is_asked {
            return None;
        }
        let stream = function.decode(survey.kit.of(function).decoder());
        let claims = claims(rules.set, &stream, &hits);
        if claims.is_empty() && !is_asked {
            return None;
        }
        let steps: Vec<usize> = claims.iter().map(|claim| claim.step).collect();
        let view = survey.view(function, stream, &rules.options, self.reserved(function));
        let view = view.asked_around(&steps);
        let name: Arc<str> = match function.name {
            Some(name) => name.to_string().into(),
            None => format!("{:#x}", function.address).into(),
        };
        let requests = self.ask(function, &view, &name, &claims, counter);
        Some(Planned { view, name, requests })
    }

    fn ask(
        &self,
        function: &Function<'_>,
        view: &View<'_>,
        name: &str,
        claims: &[Claim],
        counter: u64,
    ) -> Requests {
        let mut gatherer = Gatherer::new(view, name);
        gatherer.ask(claims);
        if self.wants_stub(function) {
            let site = view.entry();
            for rule in self.rules.set.rules().iter().filter(|it| it.stage == Stage::Entry) {
                gatherer.take(rule, &site);
            }
        }
        if self.has_edit(function) {
            gatherer.edit(self.edits, &self.survey.functions, counter);
        }
        gatherer.finish()
    }

    fn wants_stub(&self, function: &Function<'_>) -> bool {
        self.rules.options.entry_stub && function.kind == FunctionKind::Kernel
    }

    fn has_edit(&self, function: &Function<'_>) -> bool {
        self.edits.iter().any(|edit| match edit.address() {
            Some(address) => (function.address..function.end()).contains(&address),
            None => function.kind == FunctionKind::Kernel,
        })
    }

    /// The registers whose values at the kernel's entry calls pass on, or make their stack from.
    fn reserved(&self, function: &Function<'_>) -> RegisterSet {
        let mut reserved = RegisterSet::default();
        if self.edits.is_empty() {
            return reserved;
        }
        let entry = self.survey.entry_of(function);
        let passed: Vec<InsertedArgument> =
            self.edits.iter().flat_map(CodeEdit::arguments).copied().collect();
        reserved.union_with(&InsertedArgument::homes(&passed, entry.as_ref()));
        if self.edits.iter().any(|it| matches!(it, CodeEdit::Call(..))) {
            let homes = stack::homes(self.survey.kit.processor(), entry.as_ref());
            homes.iter().for_each(|register| reserved.insert(register));
        }
        reserved
    }
}
