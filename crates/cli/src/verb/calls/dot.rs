//! `calls` for Graphviz: a directed graph for each object.

use std::collections::BTreeSet;
use std::io::Write;

use anyhow::Result;
use hsaco::analysis::CallKind;

use super::model::{CallRow, FunctionCalls, ObjectCalls};
use crate::output::Output;
use crate::report::Trouble;
use crate::scan::{FileItem, ObjectItem, Visit};
use crate::select::KernelSelection;

/// Writes the graphs.
pub(super) struct DotCalls<'o> {
    out: &'o mut Output,
    kernels: &'o KernelSelection,
    file: String,
}

impl<'o> DotCalls<'o> {
    pub(super) fn new(out: &'o mut Output, kernels: &'o KernelSelection) -> Self {
        Self { out, kernels, file: String::new() }
    }
}

impl Visit for DotCalls<'_> {
    type Row<'e> = Vec<u8>;

    fn begin(&mut self, file: &FileItem<'_>) -> Result<()> {
        self.file.clone_from(&file.input.name);
        Ok(())
    }

    fn read(&self, item: &ObjectItem<'_, '_>, trouble: &mut Trouble) -> Result<Vec<u8>> {
        let calls = ObjectCalls::new(item, self.kernels, trouble);
        let mut out = Vec::new();
        if !calls.functions.is_empty() {
            let target = item.target.as_deref().unwrap_or("unknown");
            let name = quoted(&format!("{}#{} {target}", self.file, item.number));
            write_graph(&mut out, &name, &calls)?;
        }
        Ok(out)
    }

    fn object(&mut self, graph: Vec<u8>) -> Result<()> {
        self.out.write_all(&graph)?;
        Ok(())
    }

    fn end(&mut self, _error: Option<&str>) -> Result<()> {
        Ok(())
    }
}

/// Writes one graph, whose name is quoted.
pub(super) fn write_graph(out: &mut Vec<u8>, name: &str, calls: &ObjectCalls) -> Result<()> {
    writeln!(out, "digraph {name} {{\n  rankdir=LR;\n  node [shape=box];")?;
    for function in &calls.functions {
        write_node(out, function)?;
    }
    let mut edges = BTreeSet::new();
    let mut others = BTreeSet::new();
    for function in &calls.functions {
        for call in &function.calls {
            let (node, declaration) = callee(call);
            others.extend(declaration);
            edges.insert(format!("  f{} -> {node}{};", function.index, style(call)));
        }
    }
    let has_unknown = others.contains(UNKNOWN);
    for other in others {
        writeln!(out, "  {other}")?;
    }
    for edge in edges {
        writeln!(out, "{edge}")?;
    }
    for function in calls.address_taken.iter().filter(|_| has_unknown) {
        writeln!(out, "  unknown -> f{function} [style=dotted];")?;
    }
    writeln!(out, "}}")?;
    Ok(())
}

const UNKNOWN: &str = "unknown [label=\"?\", shape=diamond];";

fn write_node(out: &mut Vec<u8>, function: &FunctionCalls) -> Result<()> {
    let object = function.object.as_ref().map(|it| format!("\n{it}")).unwrap_or_default();
    let label = quoted(&format!("{}{object}", function.shown_name()));
    let style = if function.kind == "kernel" { ", style=bold" } else { "" };
    writeln!(out, "  f{} [label={label}{style}];", function.index)?;
    Ok(())
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
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", crate::text::dot(text))
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
