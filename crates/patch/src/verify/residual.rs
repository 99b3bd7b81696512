//! What rules should have rewritten, and is still there.

use std::cell::OnceCell;

use hsaco_analysis::{Function, Stream};

use crate::census::Census;
use crate::lease::Budget;
use crate::patcher::Patcher;
use crate::rule::{Requirement, Trigger};
use crate::scan::Hit;
use crate::tools::{Kit, Tools};
use crate::view::View;

/// An instruction that a rule should have rewritten.
pub(crate) struct Residual {
    pub(crate) rule: &'static str,
    /// The function's name; its address where it has none.
    pub(crate) function: String,
    pub(crate) address: u64,
    pub(crate) text: String,
}

/// All of them, in all code of an object.
pub(crate) fn residuals(patcher: &Patcher, kit: &Kit, census: &Census<'_>) -> Vec<Residual> {
    let mut found = Vec::new();
    for function in census.functions.iter().chain(&census.leftovers()) {
        let hits = patcher.filter.hits(function.code);
        if !hits.is_empty() {
            found.extend(residuals_of(patcher, kit.of(function), census, function, &hits));
        }
    }
    found
}

fn residuals_of(
    patcher: &Patcher,
    tools: &Tools,
    census: &Census<'_>,
    function: &Function<'_>,
    hits: &[Hit],
) -> Vec<Residual> {
    let stream = function.decode(tools.decoder());
    let sites: Vec<(usize, usize)> = hits
        .iter()
        .filter_map(|hit| {
            let address = stream.address().wrapping_add(hit.offset as u64);
            let step = stream.index_of(address)?;
            let name = stream.inst(step)?.mnemonic();
            let rule = patcher.set.rules().get(hit.rule)?;
            let is_claimed = !matches!(rule.trigger, Trigger::Opcodes(_));
            (is_claimed || rule.claims(name)).then_some((step, hit.rule))
        })
        .collect();
    if sites.is_empty() {
        return Vec::new();
    }
    residuals_at(patcher, tools, census, function, &stream, &sites)
}

/// The residuals among the sites of a function, which are instructions and the numbers of the rules that are about them.
fn residuals_at(
    patcher: &Patcher,
    tools: &Tools,
    census: &Census<'_>,
    function: &Function<'_>,
    stream: &Stream,
    sites: &[(usize, usize)],
) -> Vec<Residual> {
    let cfg = OnceCell::new();
    // Who looks for what is left takes nothing.
    let unused = Some((u16::MAX, u16::MAX));
    let budget = Budget { sgprs: 0, max_sgprs: 0, vgprs: 0, max_vgprs: 0, unused };
    let view = View::new(tools, &patcher.options, stream, &cfg, function.kind, budget)
        .with_code(&census.code);
    let mut found = Vec::new();
    for (step, rule) in sites {
        let (Some(site), Some(rule)) = (view.site(*step), patcher.set.rules().get(*rule)) else {
            continue;
        };
        if rule.requirement == Requirement::Required && (rule.residual)(&site) {
            let address = site.address();
            let name = function.name.map(|it| it.to_string());
            let function = name.unwrap_or_else(|| format!("{:#x}", function.address));
            found.push(Residual { rule: rule.name, function, address, text: site.text() });
        }
    }
    found
}
