//! The edits of a caller: counters, and places that were not found.

use std::collections::BTreeSet;

use hsaco_analysis::{Cfg, Function, FunctionKind};

use crate::edit::{CodeEdit, Points};
use crate::refusal::{Refusal, RefusalKind};
use crate::remark::Remarks;
use crate::survey::Survey;

/// Bytes of a counter.
pub(crate) const COUNTER: u64 = 4;

/// How many bytes the counters of some edits take.
pub(crate) fn counter_space(survey: &Survey<'_>, edits: &[CodeEdit]) -> u64 {
    let blocks = || {
        let kernels = survey.functions.iter().filter(|it| it.kind == FunctionKind::Kernel);
        let count = |function: &Function<'_>| {
            let decoder = survey.kit.of(function).decoder();
            Cfg::new(decoder, &function.decode(decoder)).blocks().len()
        };
        kernels.map(count).sum::<usize>()
    };
    let counters = edits.iter().map(|edit| match edit {
        CodeEdit::Replace(..) | CodeEdit::Insert(..) | CodeEdit::Call(..) => 0,
        CodeEdit::Count(Points::Address(_)) => 1,
        CodeEdit::Count(Points::Entries) => survey.kernels.len(),
        CodeEdit::Count(Points::Blocks) => blocks(),
    });
    counters.sum::<usize>() as u64 * COUNTER
}

/// The edits that have found a place, by their number and the address of the function.
#[derive(Default)]
pub(crate) struct Edited(BTreeSet<(usize, u64)>);

impl Edited {
    /// These have found one in a function.
    pub(crate) fn add(&mut self, function: u64, edits: &[usize]) {
        self.0.extend(edits.iter().map(|number| (*number, function)));
    }

    /// Refuses the edits that have not found all their places: their address, or kernels whose code is not there.
    pub(crate) fn refuse_others(
        &self,
        survey: &Survey<'_>,
        edits: &[CodeEdit],
        remarks: &mut Remarks,
    ) {
        for (number, edit) in edits.iter().enumerate() {
            for (function, address, detail) in self.unmade(survey, number, edit) {
                let refusal = Refusal::new(RefusalKind::ControlFlow, detail);
                remarks.refuse(edit.rule(), function, address, refusal);
            }
        }
    }

    /// The places of an edit that were not found, as function, address and reason.
    fn unmade<'s>(
        &self,
        survey: &'s Survey<'_>,
        number: usize,
        edit: &CodeEdit,
    ) -> Vec<(&'s str, u64, &'static str)> {
        if let Some(address) = edit.address() {
            let is_made = self.0.range((number, 0)..=(number, u64::MAX)).next().is_some();
            let unmade = (!is_made).then_some(("", address, "no instruction begins there"));
            return unmade.into_iter().collect();
        }
        if survey.kernels.is_empty() {
            return vec![("", 0, "the object has no kernels")];
        }
        let is_made = |function: u64| self.0.contains(&(number, function));
        let unmade = survey.kernels.iter().filter(|it| !it.entry.is_some_and(is_made));
        let detail = "the kernel has no code in the object";
        unmade.map(|it| (it.name.as_str(), it.entry.unwrap_or(0), detail)).collect()
    }
}
