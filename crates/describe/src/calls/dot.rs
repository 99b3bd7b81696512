//! Calls as a graph for Graphviz.

use std::collections::BTreeSet;

use hsaco_analysis::CallKind;
use hsaco_bytes::escape::dot;

use super::{CallRow, Calls, FunctionCalls};

impl Calls {
    /// A directed graph of this name, for Graphviz.
    #[must_use]
    pub fn to_dot(&self, name: &str) -> String {
        let mut lines = vec![format!("digraph {} {{", quoted(name))];
        lines.extend(["  rankdir=LR;", "  node [shape=box];"].map(str::to_owned));
        lines.extend(self.functions.iter().map(node));
        let mut edges = BTreeSet::new();
        let mut others = BTreeSet::new();
        for function in &self.functions {
            for call in &function.calls {
                let (node, declaration) = callee(call);
                others.extend(declaration);
                edges.insert(format!("  f{} -> {node}{};", function.index, style(call)));
            }
        }
        let has_unknown = others.contains(UNKNOWN);
        lines.extend(others.iter().map(|it| format!("  {it}")));
        lines.extend(edges);
        let taken = self.address_taken.iter().filter(|_| has_unknown);
        lines.extend(taken.map(|it| format!("  unknown -> f{it} [style=dotted];")));
        lines.push("}\n".to_owned());
        lines.join("\n")
    }
}

const UNKNOWN: &str = "unknown [label=\"?\", shape=diamond];";

fn node(function: &FunctionCalls) -> String {
    let object = function.object.as_ref().map(|it| format!("\n{it}")).unwrap_or_default();
    let label = quoted(&format!("{}{object}", function.shown_name()));
    let style = if function.kind == "kernel" { ", style=bold" } else { "" };
    format!("  f{} [label={label}{style}];", function.index)
}

/// The node of a callee, and what declares it where it is no function of the object.
fn callee(call: &CallRow) -> (String, Option<String>) {
    match (call.function, &call.external, call.address) {
        (Some(function), ..) => (format!("f{function}"), None),
        (_, Some(external), _) => {
            let node = quoted(&format!("external {external}"));
            let declaration = format!("{node} [label={}, shape=ellipse];", quoted(external));
            (node, Some(declaration))
        }
        (.., Some(address)) => (quoted(&format!("{address:#x}")), None),
        _ => ("unknown".to_owned(), Some(UNKNOWN.to_owned())),
    }
}

fn style(call: &CallRow) -> &'static str {
    match call.call_kind {
        CallKind::Call => "",
        CallKind::TailCall => " [style=dashed]",
        CallKind::FallThrough => " [style=dashed, arrowhead=empty]",
    }
}

/// A text as DOT takes it: between quotes.
fn quoted(text: &str) -> String {
    format!("\"{}\"", dot(text))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn no_name_ends_its_quotes() {
        assert_eq!(quoted("a\"b\\"), "\"a\\\"b\\\\\"");
        assert_eq!(quoted("two\nlines\u{0}"), "\"two\\nlines\u{fffd}\"");
    }
}
