//! The arguments of a kernel: what its metadata says, joined with the types of its debug information.

use std::collections::HashMap;
use std::fmt;

use hsaco_bytes::{Error, Str};
use hsaco_dwarf::{
    DebugSections, Encoding, Parameter, Signature, SourceMap, TypeId, TypeKind, Types,
};
use hsaco_object::Kernel;
use hsaco_object::metadata::{Argument as Said, OwnedValueKind, ValueKind};

/// What LLVM aligns 128-bit integers to where they are arguments, whatever C++ says.
const WIDE_INTEGER_ALIGNMENT: u64 = 8;

/// How deep a structure may hold one member that holds one member.
const MAX_WRAPPING: usize = 64;

/// The arguments of a kernel, from the metadata and from the debug information, or from whichever there is.
///
/// ```
/// use hsaco_analysis::KernelArguments;
/// use hsaco_dwarf::{DebugInfo, Spelling};
/// use hsaco_object::CodeObject;
/// # let file = std::fs::read("../../tests/fixtures/lines.dwarf5.co")?;
/// let object = CodeObject::parse(&file)?;
/// let debug = DebugInfo::open(&object)?;
/// let kernel = object.index().kernels()[0];
/// let arguments = KernelArguments::new(&kernel, Some((debug.map(), debug.sections())));
/// assert_eq!(arguments.disagreements, []);
/// let count = &arguments.arguments[2];
/// assert_eq!((count.name.as_deref(), count.offset, count.size), (Some("count"), Some(16), Some(4)));
/// assert_eq!(arguments.types.spell(count.ty, Spelling::default()), "int");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct KernelArguments {
    /// The arguments: those of the source in its order, then those that the runtime adds.
    pub arguments: Vec<Argument>,
    /// The types of those that the debug information knows.
    pub types: Types,
    /// Where metadata and debug information contradict each other. The arguments then have what the metadata
    /// says, as launching a kernel goes by it.
    pub disagreements: Vec<Disagreement>,
    /// What could not be read; the rest was.
    pub problems: Vec<Error>,
}

/// One argument of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Argument {
    /// Its name.
    pub name: Option<String>,
    /// Where it is in the kernarg segment. Without metadata, where the rules of the compiler put it.
    pub offset: Option<u64>,
    /// Its size in bytes.
    pub size: Option<u64>,
    /// The alignment of its type, or what the metadata says of it.
    pub alignment: Option<u64>,
    /// What it holds, if the metadata says it.
    pub kind: Option<OwnedValueKind>,
    /// The memory that it points into, as the metadata calls it.
    pub address_space: Option<String>,
    /// How it may be accessed, as the metadata calls it.
    pub access: Option<String>,
    /// How it is accessed, as the metadata calls it.
    pub actual_access: Option<String>,
    /// The name of its type in the metadata.
    pub type_name: Option<String>,
    /// Its type.
    pub ty: Option<TypeId>,
    /// Who knows of it.
    pub source: Source,
}

/// Where an argument is known from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Source {
    /// The metadata alone.
    Metadata,
    /// The debug information alone: the offset is computed.
    Debug,
    /// Both.
    Both,
}

impl Source {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Source::Metadata => "metadata",
            Source::Debug => "debug",
            Source::Both => "both",
        }
    }
}

/// What metadata and debug information say differently. Positions count the arguments of the source from 0.
///
/// ```
/// use hsaco_analysis::KernelArguments;
/// use hsaco_dwarf::DebugInfo;
/// use hsaco_object::CodeObject;
/// # let file = std::fs::read("../../tests/fixtures/odd-types.co")?;
/// let object = CodeObject::parse(&file)?;
/// let debug = DebugInfo::open(&object)?;
/// let kernel = object.index().kernels()[0];
/// let arguments = KernelArguments::new(&kernel, Some((debug.map(), debug.sections())));
/// let told: Vec<_> = arguments.disagreements.iter().map(ToString::to_string).collect();
/// assert_eq!(told[2], "argument 2 has 4 bytes in the metadata, its type has 8");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Disagreement {
    /// How many arguments there are; they are then joined by their names.
    Count {
        /// In the metadata, hidden ones left out.
        metadata: usize,
        /// In the debug information.
        debug: usize,
    },
    /// How large an argument is.
    Size {
        /// Which argument.
        position: usize,
        /// Bytes in the metadata.
        metadata: u64,
        /// Bytes of its type.
        debug: u64,
    },
    /// Where an argument is.
    Offset {
        /// Which argument.
        position: usize,
        /// Its offset in the metadata.
        metadata: u64,
        /// Where its type would have to be, after the argument before it.
        debug: u64,
    },
    /// What an argument is called.
    Name {
        /// Which argument.
        position: usize,
        /// Its name in the metadata.
        metadata: String,
        /// Its name in the source.
        debug: String,
    },
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count { metadata, debug } => write!(
                f,
                "the metadata has {metadata} arguments, the debug information has {debug}"
            ),
            Self::Size { position, metadata, debug } => write!(
                f,
                "argument {position} has {metadata} bytes in the metadata, its type has {debug}"
            ),
            Self::Offset { position, metadata, debug } => write!(
                f,
                "argument {position} is at {metadata} in the metadata, its type belongs at {debug}"
            ),
            Self::Name { position, metadata, debug } => write!(
                f,
                "argument {position} is '{metadata}' in the metadata, '{debug}' in the debug \
                 information"
            ),
        }
    }
}

impl KernelArguments {
    /// Reads them; `debug` is what there is of debug information.
    #[must_use]
    pub fn new(kernel: &Kernel<'_>, debug: Option<(&SourceMap, &DebugSections<'_>)>) -> Self {
        let mut all = Self::default();
        let said = all.read_metadata(kernel);
        let signature = debug.and_then(|(map, sections)| {
            let found = match kernel.entry() {
                Some(entry) => {
                    map.signature_at(sections, sections.address_of(kernel.entry_section(), entry))
                }
                None => map.signature_of(sections, &kernel.name().to_str_lossy()),
            };
            found.unwrap_or_else(|error| {
                all.problems.push(error);
                None
            })
        });
        match (said, signature) {
            (Some(said), Some(signature)) => all.join(said, signature),
            (Some(said), None) => all.arguments = said,
            (None, Some(signature)) => all.lay_out(signature),
            (None, None) => {}
        }
        all
    }

    /// What the metadata says; none if nothing.
    fn read_metadata(&mut self, kernel: &Kernel<'_>) -> Option<Vec<Argument>> {
        let decoded = kernel.metadata()?.decode();
        let decoded = decoded.map_err(|error| self.problems.push(error)).ok()?;
        let mut found = Vec::new();
        for argument in decoded.arguments()? {
            match argument {
                Ok(argument) => found.push(Argument::said(&argument)),
                Err(error) => self.problems.push(error),
            }
        }
        Some(found)
    }

    fn join(&mut self, said: Vec<Argument>, signature: Signature) {
        self.arguments = said;
        self.types = signature.types;
        let parameters = signature.parameters;
        let explicit: Vec<usize> = (0..self.arguments.len())
            .filter(|at| self.arguments.get(*at).is_some_and(|it| !it.is_hidden()))
            .collect();
        if explicit.len() == parameters.len() {
            let mut end = 0;
            for (position, (at, parameter)) in explicit.into_iter().zip(&parameters).enumerate() {
                self.compare_offset(at, position, parameter, end);
                self.join_one(at, position, parameter);
                let argument = self.arguments.get(at);
                end = argument.and_then(Argument::end).unwrap_or(end);
            }
            return;
        }
        let (metadata, debug) = (explicit.len(), parameters.len());
        self.disagreements.push(Disagreement::Count { metadata, debug });
        let named = parameters.iter().filter_map(|it| Some((it.name.as_deref()?, it)));
        let named: HashMap<&str, &Parameter> = named.collect();
        for (position, at) in explicit.into_iter().enumerate() {
            let name = self.arguments.get(at).and_then(|it| it.name.as_deref());
            if let Some(parameter) = name.and_then(|name| named.get(name)) {
                self.join_one(at, position, parameter);
            }
        }
    }

    /// Gives an argument its type, and says where that does not fit.
    fn join_one(&mut self, at: usize, position: usize, parameter: &Parameter) {
        let Some(argument) = self.arguments.get_mut(at) else { return };
        argument.ty = argument.own_type(parameter);
        let ty = argument.ty.and_then(|ty| self.types.get(ty));
        argument.source = Source::Both;
        argument.alignment = ty.and_then(|ty| ty.alignment).or(argument.alignment);
        if let (Some(metadata), Some(debug)) = (argument.size, ty.and_then(|ty| ty.size))
            && metadata != debug
        {
            self.disagreements.push(Disagreement::Size { position, metadata, debug });
        }
        match (&argument.name, &parameter.name) {
            (Some(metadata), Some(debug)) if **metadata != **debug => {
                let (metadata, debug) = (metadata.clone(), debug.to_string());
                self.disagreements.push(Disagreement::Name { position, metadata, debug });
            }
            (None, Some(name)) => argument.name = Some(name.to_string()),
            _ => {}
        }
    }

    /// Says where an argument does not follow the one before it, which ends at `end`.
    fn compare_offset(&mut self, at: usize, position: usize, parameter: &Parameter, end: u64) {
        let Some(argument) = self.arguments.get(at) else { return };
        let ty = argument.own_type(parameter);
        let alignment = ty.and_then(|ty| passed_alignment(&self.types, ty));
        let debug = alignment.and_then(|it| end.checked_next_multiple_of(it));
        let metadata = argument.offset;
        if let (Some(metadata), Some(debug)) = (metadata, debug)
            && metadata != debug
        {
            self.disagreements.push(Disagreement::Offset { position, metadata, debug });
        }
    }

    /// Puts parameters where the compiler would; what follows one of unknown size could be anywhere.
    fn lay_out(&mut self, signature: Signature) {
        let mut end = Some(0_u64);
        for parameter in &signature.parameters {
            let ty = parameter.ty.and_then(|ty| signature.types.get(ty));
            let alignment = parameter.ty.and_then(|ty| passed_alignment(&signature.types, ty));
            let offset = end.zip(alignment).and_then(|(end, it)| end.checked_next_multiple_of(it));
            let argument = Argument {
                name: parameter.name.as_deref().map(str::to_owned),
                offset,
                size: ty.and_then(|ty| ty.size),
                alignment: ty.and_then(|ty| ty.alignment),
                ty: parameter.ty,
                source: Source::Debug,
                ..Argument::unknown()
            };
            end = argument.end();
            self.arguments.push(argument);
        }
        self.types = signature.types;
    }
}

impl Argument {
    /// Whether the runtime supplies it and the source does not have it.
    #[must_use]
    pub fn is_hidden(&self) -> bool {
        self.kind.as_ref().is_some_and(OwnedValueKind::is_hidden)
    }

    /// The type that the debug information gives it. Of an OpenCL pipe that is the type of its packets: the argument itself
    /// is the pipe's address.
    fn own_type(&self, parameter: &Parameter) -> Option<TypeId> {
        parameter.ty.filter(|_| self.kind != Some(ValueKind::Pipe))
    }

    fn unknown() -> Self {
        Argument {
            name: None,
            offset: None,
            size: None,
            alignment: None,
            kind: None,
            address_space: None,
            access: None,
            actual_access: None,
            type_name: None,
            ty: None,
            source: Source::Metadata,
        }
    }

    fn said(said: &Said<'_>) -> Self {
        let text = |text: Option<Str<'_>>| text.map(|it| it.to_string());
        Argument {
            name: text(said.name),
            offset: Some(said.offset),
            size: Some(said.size),
            alignment: said.align,
            kind: Some(said.value_kind.to_owned()),
            address_space: text(said.address_space),
            access: text(said.access),
            actual_access: text(said.actual_access),
            type_name: text(said.type_name),
            ..Self::unknown()
        }
    }

    fn end(&self) -> Option<u64> {
        self.offset?.checked_add(self.size?)
    }
}

/// The alignment of an argument, which is that of what LLVM passes: a structure of one member is that member,
/// what an alias asks for does not count, and 128-bit integers are not what they are in memory.
fn passed_alignment(types: &Types, ty: TypeId) -> Option<u64> {
    let passed = unwrapped(types, ty)?;
    let found = types.get(passed)?;
    match found.kind {
        TypeKind::Base(Encoding::Signed | Encoding::Unsigned) if found.size == Some(16) => {
            Some(WIDE_INTEGER_ALIGNMENT)
        }
        _ => found.alignment,
    }
}

/// The only thing that a type holds, as far as it is all of it.
fn unwrapped(types: &Types, ty: TypeId) -> Option<TypeId> {
    let mut ty = types.unqualified(ty)?;
    for _ in 0..MAX_WRAPPING {
        let Some(inner) = only_part(types, ty) else { break };
        ty = inner;
    }
    Some(ty)
}

fn only_part(types: &Types, ty: TypeId) -> Option<TypeId> {
    let outer = types.get(ty)?;
    let inner = match &outer.kind {
        TypeKind::Array { of, dimensions } if dimensions.iter().all(|it| *it == Some(1)) => *of,
        TypeKind::Record { members, .. } => {
            let mut filled =
                members.iter().filter(|it| !it.ty.is_some_and(|ty| is_empty(types, ty)));
            filled.next().filter(|_| filled.next().is_none())?.ty
        }
        _ => None,
    };
    let inner = types.unqualified(inner?)?;
    (types.get(inner)?.size == outer.size).then_some(inner)
}

fn is_empty(types: &Types, ty: TypeId) -> bool {
    let kind = types.unqualified(ty).and_then(|ty| types.get(ty)).map(|ty| &ty.kind);
    matches!(kind, Some(TypeKind::Record { complete: true, members, .. }) if members.is_empty())
}
