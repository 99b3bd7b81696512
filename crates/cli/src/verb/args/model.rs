//! What `args` says of an object: the JSON shape, which the text is made from too.

use std::sync::atomic::Ordering;

use hsaco::analysis::{Disagreement, KernelArguments, Source};
use hsaco::bytes::Error;
use hsaco::dwarf::{DebugSections, SourceMap, Spelling};
use hsaco::kernarg::{SpelledArgument, spell};
use hsaco::object::{CodeObject, Kernel};
use serde::Serialize;

use super::Question;
use crate::report::Trouble;
use crate::scan::ObjectItem;
use crate::verb::ls::source_name;

/// One object of `args`.
#[derive(Serialize)]
pub(super) struct ObjectArguments {
    pub(super) index: usize,
    pub(super) entry_id: Option<String>,
    pub(super) target: Option<String>,
    pub(super) kernels: Vec<KernelInfo>,
}

#[derive(Serialize)]
pub(super) struct KernelInfo {
    pub(super) name: String,
    pub(super) demangled: String,
    pub(super) kernarg_size: Option<u64>,
    /// Whether offsets follow from the types, as there is no metadata.
    pub(super) computed: bool,
    pub(super) arguments: Vec<SpelledArgument>,
    pub(super) disagreements: Vec<DisagreementInfo>,
}

/// Both sides of a contradiction, and what it is about.
#[derive(Serialize)]
pub(super) struct DisagreementInfo {
    pub(super) about: &'static str,
    pub(super) argument: Option<usize>,
    pub(super) metadata: serde_json::Value,
    pub(super) debug: serde_json::Value,
    pub(super) message: String,
}

impl ObjectArguments {
    pub(super) fn new(
        item: &ObjectItem<'_, '_>,
        question: &Question<'_>,
        trouble: &mut Trouble,
    ) -> Self {
        let mut found = Self {
            index: item.number,
            entry_id: item.entry.id.clone(),
            target: item.target.clone(),
            kernels: Vec::new(),
        };
        if let Some(object) = &item.object {
            let result = found.read(object, item, question, trouble);
            if let Err(error) = result {
                trouble.note(item.place(), item.located(error));
            }
        }
        found
    }

    /// Reads all kernels; debug information that cannot be read leaves the metadata.
    fn read(
        &mut self,
        object: &CodeObject<'_>,
        item: &ObjectItem<'_, '_>,
        question: &Question<'_>,
        trouble: &mut Trouble,
    ) -> Result<(), Error> {
        let index = item.index(object, trouble);
        let sections = DebugSections::new(object, question.max_size);
        let map = sections.as_ref().map_err(Clone::clone).and_then(SourceMap::new);
        let debug = map.as_ref().ok().zip(sections.as_ref().ok());
        for kernel in question.kernels.of(&index) {
            let arguments = KernelArguments::new(kernel, debug);
            let place = || format!("{}: kernel {}", item.place(), kernel.name());
            for problem in &arguments.problems {
                trouble.note(place(), item.located(problem.clone()));
            }
            if !arguments.disagreements.is_empty() {
                question.differs.store(true, Ordering::Relaxed);
            }
            self.kernels.push(KernelInfo::new(kernel, object, &arguments, question.spelling));
        }
        map.map(drop)
    }
}

impl KernelInfo {
    fn new(
        kernel: &Kernel<'_>,
        object: &CodeObject<'_>,
        found: &KernelArguments,
        spelling: Spelling,
    ) -> Self {
        let (resources, _) = kernel.resources(object.target().generation());
        Self {
            name: kernel.name().to_string(),
            demangled: source_name(kernel.name()).into_owned(),
            kernarg_size: resources.kernarg_size,
            computed: found.arguments.iter().any(|it| it.source == Source::Debug),
            arguments: spell(found, spelling),
            disagreements: found.disagreements.iter().map(DisagreementInfo::new).collect(),
        }
    }
}

impl DisagreementInfo {
    fn new(disagreement: &Disagreement) -> Self {
        let (about, argument, metadata, debug) = match disagreement {
            Disagreement::Count { metadata, debug } => {
                ("count", None, (*metadata).into(), (*debug).into())
            }
            Disagreement::Size { position, metadata, debug } => {
                ("size", Some(*position), (*metadata).into(), (*debug).into())
            }
            Disagreement::Offset { position, metadata, debug } => {
                ("offset", Some(*position), (*metadata).into(), (*debug).into())
            }
            Disagreement::Name { position, metadata, debug } => {
                ("name", Some(*position), metadata.as_str().into(), debug.as_str().into())
            }
            _ => ("other", None, serde_json::Value::Null, serde_json::Value::Null),
        };
        Self { about, argument, metadata, debug, message: disagreement.to_string() }
    }
}
