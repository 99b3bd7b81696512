//! Who calls whom.

mod dot;
mod text;

use std::collections::{BTreeMap, BTreeSet};

use crate::source_name;
use hsaco_analysis::{Call, CallGraph, CallKind, Callee, FunctionKind};
use hsaco_bytes::SCHEMA_VERSION;
use hsaco_files::{KernelSelection, ObjectItem, Trouble};
use hsaco_load::{CallView, Executable};
use hsaco_object::CodeObject;
use serde::Serialize;

use crate::code::call_graph;

/// The calls in an object.
#[derive(Debug, Default, Serialize)]
pub struct Calls {
    /// In the order of the index.
    pub kernels: Vec<KernelCalls>,
    /// All functions, or those that the wanted kernels reach.
    pub functions: Vec<FunctionCalls>,
    /// The functions that a call of an unknown callee may go to.
    pub address_taken: Vec<usize>,
}

/// The calls in an executable that is made of several objects, in addresses of the memory it would have.
#[derive(Debug, Serialize)]
pub struct CallsTogether {
    schema_version: u32,
    /// What it is for.
    pub target: Option<String>,
    /// What it is made of.
    pub objects: Vec<String>,
    /// The calls.
    #[serde(flatten)]
    pub calls: Calls,
}

impl CallsTogether {
    /// The calls of the wanted kernels, with everything where it would be in memory.
    #[must_use]
    pub fn new(
        executable: &Executable<'_>,
        view: &CallView<'_>,
        selection: &KernelSelection,
    ) -> Self {
        let mut calls = Calls::of(view.object, view.graph, selection);
        let memory = |address: u64| view.place(address).map_or(address, |(_, address)| address);
        for function in &mut calls.functions {
            let object = view.place(function.address).map(|(object, _)| object);
            function.object = object.map(|it| executable.object_name(it).to_owned());
            function.address = memory(function.address);
            for call in &mut function.calls {
                call.site = memory(call.site);
                call.address = call.address.map(memory);
                call.slot = call.slot.map(memory);
            }
        }
        let objects = executable.objects().map(|it| executable.object_name(it).to_owned());
        CallsTogether {
            schema_version: SCHEMA_VERSION,
            target: executable.target().map(|it| it.to_string()),
            objects: objects.collect(),
            calls,
        }
    }
}

/// What a kernel reaches; functions are numbers of [`FunctionCalls::index`].
#[derive(Debug, Serialize)]
pub struct KernelCalls {
    /// The mangled name.
    pub name: String,
    /// The name in the source.
    pub demangled: String,
    /// Its own number.
    pub function: usize,
    /// Itself, and all that it calls directly or not.
    pub reaches: Vec<usize>,
    /// Functions of other objects that it reaches.
    pub externals: Vec<String>,
    /// Calls whose callee is not known.
    pub unknown_calls: usize,
    /// Whether all that runs is in this object, and known.
    pub complete: bool,
    /// Whether a function calls itself, directly or not.
    pub recursive: bool,
}

/// A function and its calls.
#[derive(Debug, Serialize)]
pub struct FunctionCalls {
    /// Its number.
    pub index: usize,
    /// The mangled name.
    pub name: Option<String>,
    /// The name in the source.
    pub demangled: Option<String>,
    /// The object that it is in, where several are looked at together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// `kernel`, `function` or `unnamed`.
    pub kind: &'static str,
    /// Where it begins.
    pub address: u64,
    /// Bytes of code.
    pub size: u64,
    /// In the order of the code.
    pub calls: Vec<CallRow>,
}

/// One call. The callee is a function, an external name or an address; all are null where it is not known.
#[derive(Debug, Serialize)]
pub struct CallRow {
    /// Where the instruction is.
    pub site: u64,
    /// `call`, `tail_call` or `fall_through`.
    pub kind: &'static str,
    /// The number of the callee.
    pub function: Option<usize>,
    /// A function of another object.
    pub external: Option<String>,
    /// An address where no function is.
    pub address: Option<u64>,
    /// What says so.
    pub evidence: &'static str,
    /// Whether it can only be this callee.
    pub exact: bool,
    /// Where the pointer is that is called.
    pub slot: Option<u64>,
    /// The kind, typed.
    #[serde(skip)]
    pub call_kind: CallKind,
}

impl Calls {
    /// The calls of all functions, or of those that the wanted kernels reach.
    pub fn new(
        item: &ObjectItem<'_, '_>,
        selection: &KernelSelection,
        trouble: &mut Trouble,
    ) -> Self {
        let Some((graph, code)) = call_graph(item, trouble) else { return Self::default() };
        Self::of(code.object(), &graph, selection)
    }

    /// The calls of an object whose graph is known.
    pub fn of(object: &CodeObject<'_>, graph: &CallGraph<'_>, selection: &KernelSelection) -> Self {
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
    #[must_use]
    pub fn function(&self, index: usize) -> Option<&FunctionCalls> {
        let at = self.functions.binary_search_by_key(&index, |function| function.index).ok()?;
        self.functions.get(at)
    }

    /// What a function is called.
    #[must_use]
    pub fn name(&self, index: usize) -> String {
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
    #[must_use]
    pub fn shown_name(&self) -> String {
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

    /// Whether the callee is not known.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        self.function.is_none() && self.external.is_none() && self.address.is_none()
    }
}

/// Who may call each function and each external, by name; that decodes all code.
pub fn callers(
    item: &ObjectItem<'_, '_>,
    trouble: &mut Trouble,
) -> Option<BTreeMap<String, Vec<String>>> {
    let (graph, _) = call_graph(item, trouble)?;
    let functions = graph.functions();
    let name = |number: usize| {
        let function = functions.get(number)?;
        Some(function.name.map_or_else(|| format!("{:#x}", function.address), |it| it.to_string()))
    };
    let mut callers: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (number, caller) in (0..functions.len()).filter_map(|it| Some((it, name(it)?))) {
        let known = graph.callees(number).into_iter().filter_map(name);
        let wanted = graph.calls(number).iter().filter_map(|call| match call.callee {
            Callee::External(name) => Some(name.to_string()),
            _ => None,
        });
        for callee in known.chain(wanted) {
            let list = callers.entry(callee).or_default();
            if list.last() != Some(&caller) {
                list.push(caller.clone());
            }
        }
    }
    Some(callers)
}
