//! What rules should have rewritten, and is still there.

use hsaco_analysis::Function;

use crate::budget::RegisterBudget;
use crate::rule::Requirement;
use crate::scan::{Claim, Rules, claims};
use crate::survey::Survey;
use crate::view::{Surroundings, View};

/// An instruction that a rule should have rewritten.
pub(crate) struct Residual {
    pub(crate) rule: &'static str,
    /// The function's name; its address where it has none.
    pub(crate) function: String,
    pub(crate) address: u64,
    pub(crate) text: String,
}

/// All of them, in all code of an object.
pub(crate) fn residuals(rules: &Rules, survey: &Survey<'_>) -> Vec<Residual> {
    let functions = survey.functions.iter().copied().chain(survey.unnamed());
    functions.flat_map(|function| residuals_of(rules, survey, &function)).collect()
}

fn residuals_of(rules: &Rules, survey: &Survey<'_>, function: &Function<'_>) -> Vec<Residual> {
    let hits = rules.hits(function.code);
    if hits.is_empty() {
        return Vec::new();
    }
    let tools = survey.kit.of(function);
    let stream = function.decode(tools.decoder());
    let claims = claims(rules.set, &stream, &hits);
    // No register is taken: nothing is written.
    let unused = Some((u16::MAX, u16::MAX));
    let budget = RegisterBudget { sgprs: 0, max_sgprs: 0, vgprs: 0, max_vgprs: 0, unused };
    let alone = Surroundings::alone(function.kind, budget);
    let surroundings = Surroundings { code: &survey.code, ..alone };
    let view = View::new(tools, &rules.options, stream, surroundings);
    let residual = |Claim { step, rule }: &Claim| {
        let site = view.site(*step)?;
        let is_left = rule.requirement == Requirement::Required && (rule.residual)(&site);
        is_left.then(|| Residual {
            rule: rule.name,
            function: match function.name {
                Some(name) => name.to_string(),
                None => format!("{:#x}", function.address),
            },
            address: site.address(),
            text: site.text(),
        })
    };
    claims.iter().filter_map(residual).collect()
}
