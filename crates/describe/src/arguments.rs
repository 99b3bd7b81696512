//! The arguments of kernels: where they are and of which type.

use crate::source_name;
use hsaco_analysis::{Disagreement, KernelArguments, Source};
use hsaco_bytes::Error;
use hsaco_dwarf::DebugInfo;
use hsaco_dwarf::Spelling;
use hsaco_files::{KernelSelection, ObjectItem, Trouble};
use hsaco_kernarg::{SpelledArgument, spell};
use hsaco_object::{CodeObject, Kernel};
use serde::Serialize;

/// How arguments are read.
#[derive(Clone, Copy, Debug)]
pub struct Options<'q> {
    /// Of which kernels.
    pub kernels: &'q KernelSelection,
    /// How types are spelt.
    pub spelling: Spelling,
    /// Largest size that a debug section may unfold to.
    pub max_size: u64,
}

/// The arguments of an object's kernels.
#[derive(Debug, Default, Serialize)]
pub struct Arguments {
    /// By kernel.
    pub kernels: Vec<ArgumentsOf>,
}

/// The arguments of one kernel.
#[derive(Debug, Serialize)]
pub struct ArgumentsOf {
    /// The mangled name.
    pub name: String,
    /// The name in the source.
    pub demangled: String,
    /// Bytes of the segment.
    pub kernarg_size: Option<u64>,
    /// Whether offsets follow from the types, as there is no metadata.
    pub computed: bool,
    /// In the order of the segment.
    pub arguments: Vec<SpelledArgument>,
    /// What metadata and debug information say differently.
    pub disagreements: Vec<DisagreementRow>,
}

/// Both sides of a contradiction, and what it is about.
#[derive(Debug, Serialize)]
pub struct DisagreementRow {
    /// `count`, `size`, `offset` or `name`.
    pub about: &'static str,
    /// The argument's position.
    pub argument: Option<usize>,
    /// What the metadata says.
    pub metadata: Said,
    /// What the debug information says.
    pub debug: Said,
    /// Both, in words.
    pub message: String,
}

/// One side of a contradiction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Said {
    /// Something that this version does not know.
    Other,
    /// A count, size or offset.
    Number(u64),
    /// A name.
    Text(String),
}

impl Arguments {
    /// Reads all wanted kernels; where debug information cannot be read, the metadata is left.
    pub fn new(item: &ObjectItem<'_, '_>, options: &Options<'_>, trouble: &mut Trouble) -> Self {
        let mut found = Self::default();
        if let Some(object) = &item.object
            && let Err(error) = found.read(object, item, options, trouble)
        {
            item.note(error, trouble);
        }
        found
    }

    /// Whether metadata and debug information contradict each other somewhere.
    #[must_use]
    pub fn disagree(&self) -> bool {
        self.kernels.iter().any(|it| !it.disagreements.is_empty())
    }

    fn read(
        &mut self,
        object: &CodeObject<'_>,
        item: &ObjectItem<'_, '_>,
        options: &Options<'_>,
        trouble: &mut Trouble,
    ) -> Result<(), Error> {
        let index = item.index(object, trouble);
        let debug = DebugInfo::open_capped(object, options.max_size);
        let known = debug.as_ref().ok().map(|it| (it.map(), it.sections()));
        for kernel in options.kernels.of(&index) {
            let arguments = KernelArguments::new(kernel, known);
            for problem in &arguments.problems {
                item.note_kernel(kernel.name(), problem.clone(), trouble);
            }
            self.kernels.push(ArgumentsOf::new(kernel, object, &arguments, options.spelling));
        }
        debug.map(drop)
    }
}

impl ArgumentsOf {
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
            disagreements: found.disagreements.iter().map(DisagreementRow::new).collect(),
        }
    }
}

impl DisagreementRow {
    fn new(disagreement: &Disagreement) -> Self {
        let count = |it: usize| Said::Number(it as u64);
        let text = |it: &String| Said::Text(it.clone());
        let (about, argument, metadata, debug) = match disagreement {
            Disagreement::Count { metadata, debug } => {
                ("count", None, count(*metadata), count(*debug))
            }
            Disagreement::Size { position, metadata, debug } => {
                ("size", Some(*position), Said::Number(*metadata), Said::Number(*debug))
            }
            Disagreement::Offset { position, metadata, debug } => {
                ("offset", Some(*position), Said::Number(*metadata), Said::Number(*debug))
            }
            Disagreement::Name { position, metadata, debug } => {
                ("name", Some(*position), text(metadata), text(debug))
            }
            _ => ("other", None, Said::Other, Said::Other),
        };
        Self { about, argument, metadata, debug, message: disagreement.to_string() }
    }
}
