//! The arguments of kernels: where they are and of which type.

use crate::source_name;
use hsaco_analysis::{Disagreement, KernelArguments, Source};
use hsaco_bytes::Error;
use hsaco_dwarf::DebugInfo;
use hsaco_dwarf::Spelling;
use hsaco_files::{KernelSelection, ObjectItem, Trouble};
use hsaco_kernarg::{SpelledArgument, SpelledMember, spell};
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

/// A line of a kernel's segment: an argument, a member of one, or what lies between them.
#[derive(Clone, Copy, Debug)]
pub struct ArgumentLine<'a> {
    /// How many structures it is in.
    pub depth: usize,
    /// Where it begins in the segment.
    pub offset: Option<u64>,
    /// Its bytes.
    pub size: Option<u64>,
    /// Of a bit field, its first bit in the byte where it begins, and how many there are.
    pub bits: Option<(u64, u64)>,
    /// What it is.
    pub what: What<'a>,
}

/// What a line is of.
#[derive(Clone, Copy, Debug)]
pub enum What<'a> {
    /// An argument.
    Argument(&'a SpelledArgument),
    /// A member of a structure.
    Member(&'a SpelledMember),
    /// Bytes that are not used.
    Padding,
}

impl ArgumentsOf {
    /// The segment line by line, in the order of addresses; offsets are those in the segment, of members too.
    #[must_use]
    pub fn lines(&self) -> Vec<ArgumentLine<'_>> {
        let mut lines = Lines(Vec::new());
        let mut end = Some(0);
        for spelled in &self.arguments {
            let argument = &spelled.argument;
            let (offset, size) = (argument.offset, argument.size);
            lines.padding(end, offset, 0);
            let what = What::Argument(spelled);
            lines.0.push(ArgumentLine { depth: 0, offset, size, bits: None, what });
            if let Some(members) = &spelled.members {
                lines.members(members, offset, size, 1);
            }
            end = offset.and_then(|it| it.checked_add(size?));
        }
        lines.padding(end, self.kernarg_size.filter(|_| !self.computed), 0);
        lines.0
    }
}

/// Lines in the making.
struct Lines<'a>(Vec<ArgumentLine<'a>>);

impl<'a> Lines<'a> {
    /// The members of a structure that begins at `start`, with what lies between them.
    fn members(
        &mut self,
        members: &'a [SpelledMember],
        start: Option<u64>,
        size: Option<u64>,
        depth: usize,
    ) {
        let mut end = start;
        for (at, member) in members.iter().enumerate() {
            let offset = start.zip(member.offset).and_then(|(start, it)| start.checked_add(it));
            self.padding(end, offset, depth);
            self.member(member, start, offset, depth);
            if let Some(inner) = &member.members {
                // What follows a base may stand in the padding at its end.
                let next =
                    members.get(at + 1).and_then(|it| it.offset?.checked_sub(member.offset?));
                let room = next.filter(|room| member.base && *room > 0);
                let size = member.size.map(|size| size.min(room.unwrap_or(size)));
                self.members(inner, offset, size, depth + 1);
            }
            end = end.max(member_end(member, start, offset));
        }
        let all = start.zip(size).and_then(|(start, size)| start.checked_add(size));
        // The one byte of a structure without members is no padding.
        self.padding(end, all.filter(|_| !members.is_empty()), depth);
    }

    fn member(
        &mut self,
        member: &'a SpelledMember,
        start: Option<u64>,
        offset: Option<u64>,
        depth: usize,
    ) {
        let bits = start.zip(member.bit_offset).and_then(|(start, bit)| {
            Some((start.checked_add(bit / 8)?, (bit % 8, member.bit_size?)))
        });
        let what = What::Member(member);
        let (offset, bits) = match bits {
            Some((byte, bits)) => (Some(byte), Some(bits)),
            None => (offset, None),
        };
        self.0.push(ArgumentLine { depth, offset, size: member.size, bits, what });
    }

    /// Bytes between what ends and what begins next.
    fn padding(&mut self, end: Option<u64>, next: Option<u64>, depth: usize) {
        if let Some((end, next)) = end.zip(next)
            && end < next
        {
            let (offset, size) = (Some(end), Some(next - end));
            self.0.push(ArgumentLine { depth, offset, size, bits: None, what: What::Padding });
        }
    }
}

/// Where a member ends, in whole bytes.
fn member_end(member: &SpelledMember, start: Option<u64>, offset: Option<u64>) -> Option<u64> {
    match member.bit_offset.zip(member.bit_size) {
        Some((bit, size)) => start?.checked_add(bit.checked_add(size)?.div_ceil(8)),
        None => offset?.checked_add(member.size?),
    }
}
