//! Calls as text: a tree for each kernel.

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};

use anstyle::Style;
use hsaco_analysis::CallKind;
use hsaco_bytes::escape::shown;
use hsaco_bytes::number::count;

use super::{CallRow, Calls, KernelCalls};

/// How many functions are named that an unknown call may go to.
const SHOWN_CANDIDATES: usize = 20;
/// How deep a tree is shown.
const MAX_DEPTH: usize = 64;

impl Calls {
    /// The tree of each kernel, with or without colours for a terminal.
    #[must_use]
    pub fn to_text(&self, color: bool) -> String {
        let mut text = String::new();
        for kernel in &self.kernels {
            let (path, shown) = (vec![kernel.function], BTreeSet::new());
            // Writing to a string cannot fail.
            let _ = Tree { calls: self, out: &mut text, color, path, shown }.kernel(kernel);
        }
        text
    }
}

/// The tree of one kernel.
struct Tree<'t> {
    calls: &'t Calls,
    out: &'t mut String,
    color: bool,
    /// The functions from the kernel to the one that is shown.
    path: Vec<usize>,
    /// Functions whose calls have been shown.
    shown: BTreeSet<usize>,
}

impl Tree<'_> {
    fn kernel(&mut self, kernel: &KernelCalls) -> fmt::Result {
        let style = if self.color { Style::new().bold() } else { Style::new() };
        writeln!(self.out, "\n{style}{}{style:#}{}", shown(&kernel.demangled), summary(kernel))?;
        self.function(kernel.function)
    }

    /// The calls of a function, one line each, and what those call in turn.
    fn function(&mut self, index: usize) -> fmt::Result {
        self.shown.insert(index);
        let calls = self.calls;
        for call in calls.function(index).map_or(&[][..], |function| &function.calls) {
            self.call(call)?;
        }
        Ok(())
    }

    fn call(&mut self, call: &CallRow) -> fmt::Result {
        let indent = "  ".repeat(self.path.len());
        let callee = self.callee(call);
        let callee = shown(&callee);
        let mut notes = String::new();
        if call.exact {
            notes.push_str(", exact");
        }
        if let Some(slot) = call.slot {
            notes.push_str(&format!(", pointer at {slot:#x}"));
        }
        let (verb, site) = (verb(call.call_kind), call.site);
        let seen = call.function.map_or("", |function| self.seen(function));
        writeln!(self.out, "{indent}{verb} {callee} at {site:#x}{notes}{seen}")?;
        match call.function {
            Some(function) => self.descend(function),
            None if call.is_unknown() => self.candidates(),
            None => Ok(()),
        }
    }

    fn callee(&self, call: &CallRow) -> String {
        match (call.function, &call.external, call.address) {
            (Some(function), ..) => self.name(function),
            (_, Some(external), _) => format!("{external} (external)"),
            (.., Some(address)) => format!("{address:#x} (no function)"),
            _ => match self.calls.address_taken.len() {
                0 => "unknown".to_owned(),
                taken => format!("one of {}", count(taken, "function")),
            },
        }
    }

    /// What a function is called, and its object where that is not the caller's.
    fn name(&self, function: usize) -> String {
        let object = |index| self.calls.function(index)?.object.as_deref();
        let name = self.calls.name(function);
        match (object(function), self.path.last().and_then(|caller| object(*caller))) {
            (Some(own), caller) if caller != Some(own) => format!("{name} ({own})"),
            _ => name,
        }
    }

    /// What is to be said of a function that is not shown again.
    fn seen(&self, function: usize) -> &'static str {
        let has_calls = self.calls.function(function).is_some_and(|it| !it.calls.is_empty());
        if self.path.contains(&function) {
            " (recursive)"
        } else if has_calls && self.shown.contains(&function) {
            " (as above)"
        } else {
            ""
        }
    }

    fn descend(&mut self, function: usize) -> fmt::Result {
        if self.shown.contains(&function) || self.path.len() >= MAX_DEPTH {
            return Ok(());
        }
        self.path.push(function);
        let result = self.function(function);
        self.path.pop();
        result
    }

    /// The functions that an unknown call may go to.
    fn candidates(&mut self) -> fmt::Result {
        let taken = &self.calls.address_taken;
        let indent = "  ".repeat(self.path.len() + 1);
        // The unknown callee has a place on the path of its own.
        self.path.push(usize::MAX);
        for &function in taken.iter().take(SHOWN_CANDIDATES) {
            let name = self.name(function);
            writeln!(self.out, "{indent}{}{}", shown(&name), self.seen(function))?;
            self.descend(function)?;
        }
        self.path.pop();
        let rest = taken.len().saturating_sub(SHOWN_CANDIDATES);
        if rest > 0 {
            writeln!(self.out, "{indent}and {rest} more")?;
        }
        Ok(())
    }
}

fn verb(kind: CallKind) -> &'static str {
    match kind {
        CallKind::Call => "calls",
        CallKind::TailCall => "jumps to",
        CallKind::FallThrough => "runs into",
    }
}

/// What a kernel's tree comes to.
fn summary(kernel: &KernelCalls) -> String {
    let reached = kernel.reaches.len() - 1;
    if reached == 0 && kernel.complete {
        return ": calls nothing".to_owned();
    }
    let mut parts = vec![format!("reaches {}", count(reached, "function"))];
    if !kernel.externals.is_empty() {
        parts.push(count(kernel.externals.len(), "external function"));
    }
    if kernel.unknown_calls > 0 {
        parts.push(count(kernel.unknown_calls, "unknown call"));
    }
    if kernel.recursive {
        parts.push("recursive".to_owned());
    }
    format!(": {}", parts.join(", "))
}
