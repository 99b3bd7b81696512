//! Who calls whom in an executable, across its objects.

use std::sync::Arc;

use hsaco_analysis::{CallGraph, CallKind, Callee, Code, Evidence};
use hsaco_bytes::Id as _;
use hsaco_isa::Processor;
use hsaco_object::CodeObject;

use crate::error::Errors;
use crate::executable::Executable;
use crate::id::ObjectId;
use crate::link::{self, Linked};

/// A function of an executable, as a call graph names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FunctionRef {
    /// The object that it is in.
    pub object: ObjectId,
    /// Where it is in memory.
    pub address: u64,
    /// Its name; none where no symbol has one.
    pub name: Option<String>,
}

/// Who is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallTarget {
    /// A function of one of the objects.
    Function(FunctionRef),
    /// What the caller has defined, by its name.
    Defined(String),
    /// One of the functions whose address is taken, or code that is not here.
    Unknown,
}

/// A call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallEdge {
    /// Who calls.
    pub caller: FunctionRef,
    /// Where the instruction is in memory.
    pub site: u64,
    /// How control gets to the callee.
    pub kind: CallKind,
    /// Who is called.
    pub callee: CallTarget,
    /// How that is known.
    pub evidence: Evidence,
    /// Of a call of an unknown callee, such as through a table, the functions that it may go to: those whose addresses are
    /// taken. All such calls share the list.
    pub candidates: Arc<[FunctionRef]>,
}

impl CallEdge {
    /// Whether caller and callee are in different objects.
    #[must_use]
    pub fn crosses_objects(&self) -> bool {
        match &self.callee {
            CallTarget::Function(callee) => callee.object != self.caller.object,
            CallTarget::Defined(_) => true,
            CallTarget::Unknown => false,
        }
    }
}

impl Executable<'_> {
    /// Every call, in the order of addresses in the linked object. Decodes all code.
    ///
    /// # Errors
    /// The executable is not frozen.
    pub fn calls(&self) -> Result<Vec<CallEdge>, Errors> {
        Ok(self.with_call_graph(|view| self.edges(view))?.unwrap_or_default())
    }

    /// Shows `look` the call graph of all objects together; nothing where their code cannot be decoded.
    ///
    /// ```
    /// use hsaco_load::{Executable, Freeze};
    /// let mut executable = Executable::new(None);
    /// for name in ["scale-user.co", "scale-library.co"] {
    ///     executable.load(name, std::fs::read(format!("../../tests/fixtures/{name}"))?)?;
    /// }
    /// executable.freeze(Freeze::default())?;
    /// let reached = executable.with_call_graph(|view| {
    ///     let index = view.object.index();
    ///     let reach = view.graph.reach(view.graph.function_of(&index.kernels()[0])?);
    ///     let called = view.graph.functions().get(*reach.functions.get(1)?)?;
    ///     Some((called.name?.to_string(), view.place(called.address)?.0.index()))
    /// })?;
    /// assert_eq!(reached, Some(Some(("scale".to_owned(), 1))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The executable is not frozen.
    pub fn with_call_graph<T>(
        &self,
        look: impl FnOnce(&CallView<'_>) -> T,
    ) -> Result<Option<T>, Errors> {
        let whole = Whole::new(self)?;
        Ok(whole.with_graph(|object, graph, _| {
            look(&CallView { graph, object, executable: self, whole: &whole })
        }))
    }

    fn edges(&self, view: &CallView<'_>) -> Vec<CallEdge> {
        let CallView { graph, whole, .. } = *view;
        let memory = |address: u64| view.place(address);
        let function = |number: usize| {
            let function = graph.functions().get(number)?;
            let (object, address) = memory(function.address)?;
            let name = function.name.map(|it| it.to_string());
            Some(FunctionRef { object, address, name })
        };
        let taken: Arc<[FunctionRef]> =
            graph.address_taken().iter().filter_map(|&it| function(it)).collect();
        let none: Arc<[FunctionRef]> = Arc::default();
        let mut edges = Vec::new();
        for (number, caller) in
            (0..graph.functions().len()).filter_map(|it| Some((it, function(it)?)))
        {
            for call in graph.calls(number) {
                let defined = call.slot.and_then(|slot| whole.definition_at(slot));
                let callee = match (call.callee, defined) {
                    (Callee::Function(callee), _) => function(callee).map(CallTarget::Function),
                    (_, Some(definition)) => self
                        .definition_at(definition)
                        .map(|it| CallTarget::Defined(it.name().to_string())),
                    _ => None,
                };
                let Some((_, site)) = memory(call.site) else { continue };
                let callee = callee.unwrap_or(CallTarget::Unknown);
                let candidates = if callee == CallTarget::Unknown { &taken } else { &none };
                edges.push(CallEdge {
                    caller: caller.clone(),
                    site,
                    kind: call.kind,
                    callee,
                    evidence: call.evidence,
                    candidates: Arc::clone(candidates),
                });
            }
        }
        edges
    }
}

/// The call graph of an executable, over one object made of all.
#[derive(Clone, Copy)]
pub struct CallView<'v> {
    /// Who calls whom, in addresses of that object.
    pub graph: &'v CallGraph<'v>,
    /// All objects as one.
    pub object: &'v CodeObject<'v>,
    executable: &'v Executable<'v>,
    whole: &'v Whole,
}

impl CallView<'_> {
    /// The object that an address of the graph belongs to, and where that is in memory.
    #[must_use]
    pub fn place(&self, address: u64) -> Option<(ObjectId, u64)> {
        let (object, own) = self.whole.locate(address)?;
        let number = u32::try_from(object).unwrap_or(u32::MAX);
        Some((ObjectId(number), own.wrapping_add(self.executable.delta(number)?)))
    }
}

/// All objects as one, to be looked at as a whole.
pub(crate) struct Whole {
    linked: Linked,
    /// Where each object is in it, by address.
    ranges: Vec<(u64, u64, usize)>,
}

impl Whole {
    pub(crate) fn new(executable: &Executable<'_>) -> Result<Self, Errors> {
        let linked = link::link(executable, &[], link::Purpose::Analysis)?;
        let spans = executable.objects.iter().map(crate::object::Object::span);
        let mut ranges: Vec<(u64, u64, usize)> = spans
            .zip(linked.deltas.iter())
            .enumerate()
            .map(|(number, (span, delta))| {
                (span.start.wrapping_add(*delta), span.end.wrapping_add(*delta), number)
            })
            .collect();
        ranges.sort_unstable();
        Ok(Self { linked, ranges })
    }

    /// Shows the call graph to a function; nothing where code cannot be decoded.
    pub(crate) fn with_graph<T>(
        &self,
        look: impl for<'g> FnOnce(&'g CodeObject<'g>, &'g CallGraph<'g>, Processor) -> T,
    ) -> Option<T> {
        let object = CodeObject::parse(&self.linked.bytes).ok()?;
        let code = Code::of(&object).ok()?;
        let graph = CallGraph::new(&code);
        Some(look(&object, &graph, code.processor()))
    }

    /// Where an address of an object is in the whole.
    pub(crate) fn address(&self, object: usize, address: u64) -> u64 {
        address.wrapping_add(self.linked.deltas[ObjectId::new(object)])
    }

    /// The object that an address of the whole belongs to, and the address there.
    pub(crate) fn locate(&self, address: u64) -> Option<(usize, u64)> {
        let after = self.ranges.partition_point(|(start, ..)| *start <= address);
        let (_, end, object) = *self.ranges.get(after.checked_sub(1)?)?;
        let delta = self.linked.deltas[ObjectId::new(object)];
        (address < end).then_some((object, address.wrapping_sub(delta)))
    }

    /// The number of the definition whose address is at a place.
    pub(crate) fn definition_at(&self, place: u64) -> Option<u32> {
        let found =
            self.linked.definitions.binary_search_by_key(&place, |(place, _)| *place).ok()?;
        self.linked.definitions.get(found).map(|(_, number)| *number)
    }
}
