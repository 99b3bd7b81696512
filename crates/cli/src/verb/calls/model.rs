//! What `calls` says of an object: the JSON shape, which text and DOT are made from too.

use std::collections::BTreeSet;

use hsaco::analysis::{Call, CallGraph, CallKind, Callee, FunctionKind};
use hsaco::object::CodeObject;
use serde::Serialize;

use super::graph;
use crate::report::Trouble;
use crate::scan::ObjectItem;
use crate::select::KernelSelection;
use crate::verb::ls::source_name;

/// One object of `calls`.
#[derive(Default, Serialize)]
pub(super) struct ObjectCalls {
    pub(super) index: usize,
    pub(super) entry_id: Option<String>,
    pub(super) target: Option<String>,
    pub(super) kernels: Vec<KernelCalls>,
    pub(super) functions: Vec<FunctionCalls>,
    /// The functions that a call of an unknown callee may go to.
    pub(super) address_taken: Vec<usize>,
}

/// What a kernel reaches; functions are numbers of [`FunctionCalls::index`].
#[derive(Serialize)]
pub(super) struct KernelCalls {
    pub(super) name: String,
    pub(super) demangled: String,
    pub(super) function: usize,
    pub(super) reaches: Vec<usize>,
    pub(super) externals: Vec<String>,
    pub(super) unknown_calls: usize,
    /// Whether all that runs is in this object, and known.
    pub(super) complete: bool,
    pub(super) recursive: bool,
}

#[derive(Serialize)]
pub(super) struct FunctionCalls {
    pub(super) index: usize,
    pub(super) name: Option<String>,
    pub(super) demangled: Option<String>,
    /// The object that it is in, where several are looked at together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) object: Option<String>,
    pub(super) kind: &'static str,
    pub(super) address: u64,
    pub(super) size: u64,
    pub(super) calls: Vec<CallRow>,
}

/// One call. The callee is a function, an external name or an address; all are null where nobody knows.
#[derive(Serialize)]
pub(super) struct CallRow {
    pub(super) site: u64,
    pub(super) kind: &'static str,
    pub(super) function: Option<usize>,
    pub(super) external: Option<String>,
    pub(super) address: Option<u64>,
    pub(super) evidence: &'static str,
    pub(super) exact: bool,
    /// Where the pointer is that is called.
    pub(super) slot: Option<u64>,
    #[serde(skip)]
    pub(super) call_kind: CallKind,
}

impl ObjectCalls {
    pub(super) fn new(
        item: &ObjectItem<'_, '_>,
        selection: &KernelSelection,
        trouble: &mut Trouble,
    ) -> Self {
        let calls = match (&item.object, graph(item, trouble)) {
            (Some(object), Some((graph, _))) => Self::of(object, &graph, selection),
            _ => Self::default(),
        };
        let (entry_id, target) = (item.entry.id.clone(), item.target.clone());
        Self { index: item.number, entry_id, target, ..calls }
    }

    /// The calls of an object whose graph is known.
    pub(super) fn of(
        object: &CodeObject<'_>,
        graph: &CallGraph<'_>,
        selection: &KernelSelection,
    ) -> Self {
        let mut calls = Self::default();
        for kernel in selection.of(&object.index()) {
            if let Some(function) = graph.function_of(kernel) {
                let name = kernel.name();
                let (demangled, name) = (source_name(name).into_owned(), name.to_string());
                calls.kernels.push(KernelCalls::new(graph, function, name, demangled));
            }
        }
        calls.add_functions(graph, selection.is_all());
        calls
    }

    /// All functions, or those that the kernels reach.
    fn add_functions(&mut self, graph: &CallGraph<'_>, all: bool) {
        let reached = self.kernels.iter().flat_map(|kernel| kernel.reaches.iter().copied());
        let wanted: BTreeSet<usize> =
            if all { (0..graph.functions().len()).collect() } else { reached.collect() };
        let is_wanted = |number: &&usize| wanted.contains(number);
        self.address_taken = graph.address_taken().iter().filter(is_wanted).copied().collect();
        self.functions =
            wanted.iter().filter_map(|number| FunctionCalls::new(graph, *number)).collect();
    }

    /// The function with that number.
    pub(super) fn function(&self, index: usize) -> Option<&FunctionCalls> {
        let at = self.functions.binary_search_by_key(&index, |function| function.index).ok()?;
        self.functions.get(at)
    }

    /// What a function is called.
    pub(super) fn name(&self, index: usize) -> String {
        self.function(index).map_or_else(|| format!("function {index}"), FunctionCalls::shown_name)
    }
}

impl KernelCalls {
    fn new(graph: &CallGraph<'_>, function: usize, name: String, demangled: String) -> Self {
        let reach = graph.reach(function);
        Self {
            name,
            demangled,
            function,
            externals: reach.externals.iter().map(ToString::to_string).collect(),
            unknown_calls: reach.unknown.len(),
            complete: reach.is_complete(),
            recursive: reach.is_recursive,
            reaches: reach.functions,
        }
    }
}

impl FunctionCalls {
    fn new(graph: &CallGraph<'_>, index: usize) -> Option<Self> {
        let function = graph.functions().get(index)?;
        Some(Self {
            index,
            name: function.name.map(|name| name.to_string()),
            demangled: function.name.map(|name| source_name(name).into_owned()),
            object: None,
            kind: match function.kind {
                FunctionKind::Kernel => "kernel",
                FunctionKind::Device => "function",
                FunctionKind::Unnamed => "unnamed",
            },
            address: function.address,
            size: function.code.len() as u64,
            calls: graph.calls(index).iter().map(CallRow::new).collect(),
        })
    }

    /// Its source name, or its address.
    pub(super) fn shown_name(&self) -> String {
        self.demangled.clone().unwrap_or_else(|| format!("{:#x}", self.address))
    }
}

impl CallRow {
    fn new(call: &Call<'_>) -> Self {
        let mut row = Self {
            site: call.site,
            kind: call.kind.name(),
            function: None,
            external: None,
            address: None,
            evidence: call.evidence.name(),
            exact: call.evidence.is_exact(),
            slot: call.slot,
            call_kind: call.kind,
        };
        match call.callee {
            Callee::Function(function) => row.function = Some(function),
            Callee::External(name) => row.external = Some(source_name(name).into_owned()),
            Callee::Address(address) => row.address = Some(address),
            Callee::Unknown => {}
        }
        row
    }

    /// Whether nobody knows who is called.
    pub(super) fn is_unknown(&self) -> bool {
        self.function.is_none() && self.external.is_none() && self.address.is_none()
    }
}
