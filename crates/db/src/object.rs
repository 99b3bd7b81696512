//! An indexed code object.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use hsaco_analysis::{KernelArguments, Reading};
use hsaco_bytes::{Error, ErrorKind, IndexVec, Result, Str, ids};
use hsaco_container::{Entry, Trail};
use hsaco_dwarf::{DebugInfo, DebugSections, Frame, PlaceId, SourceMap};
use hsaco_isa::TargetId;
use hsaco_object::{CodeMap, CodeObject, DetachedKernel};

use crate::code::Code;
use crate::content::Content;
use crate::data::Data;
use crate::shared::Shared;
use crate::wanted::Wanted;

/// A code object of the database: where it was found, what it is for, what it defines.
pub struct Object {
    file: Arc<str>,
    number: usize,
    id: Option<String>,
    trail: Trail,
    content: Content,
    target: Option<TargetId>,
    generic_version: u8,
    target_text: String,
    kernels: IndexVec<KernelId, Slot>,
    functions: Vec<DeviceFunction>,
    problems: Vec<Error>,
    source: OnceLock<Result<Source>>,
    shared: Arc<Shared>,
}

impl AsRef<Object> for Object {
    fn as_ref(&self) -> &Object {
        self
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Object({}#{}, {})", self.file, self.number, self.target_text)
    }
}

/// A device function: code that a symbol names and no descriptor describes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceFunction {
    /// Its mangled name.
    pub name: String,
    /// Where it starts.
    pub address: u64,
    /// How many bytes it has, as its symbol says.
    pub size: u64,
}

ids! {
    /// A kernel of an object.
    pub(crate) struct KernelId;
}

/// A kernel, and what was worked out about it.
pub(crate) struct Slot {
    name: Arc<[u8]>,
    kernel: DetachedKernel,
    /// Where its code starts, and which bytes of the object it is.
    code: Option<(u64, Range<usize>)>,
    decoded: OnceLock<Result<Code>>,
    places: OnceLock<Result<Vec<Option<PlaceId>>>>,
}

/// What maps an object's code to its source; sections that are not in memory already are kept.
struct Source {
    kept: Option<DebugSections<'static>>,
    map: SourceMap,
}

impl Object {
    /// Indexes an object of a file: its kernels that are wanted, by name.
    pub(crate) fn index(
        found: Found<'_>,
        object: &CodeObject<'_>,
        is_wanted: &dyn Fn(Str<'_>) -> bool,
        intern: &dyn Fn(Str<'_>) -> Arc<[u8]>,
        shared: &Arc<Shared>,
    ) -> Self {
        let index = object.index();
        let map = CodeMap::new(object, &index);
        let wanted = index.kernels().iter().filter(|kernel| is_wanted(kernel.name()));
        let slot = |kernel: &hsaco_object::Kernel<'_>| Slot {
            name: intern(kernel.name()),
            kernel: kernel.detach(object),
            code: code_range(kernel, &map),
            decoded: OnceLock::new(),
            places: OnceLock::new(),
        };
        let function = |symbol: &hsaco_elf::symbol::Symbol<'_>| DeviceFunction {
            name: symbol.name.to_string(),
            address: symbol.value,
            size: symbol.size,
        };
        Object {
            file: Arc::clone(found.file),
            number: found.number,
            id: found.entry.id.clone(),
            trail: found.entry.trail.clone(),
            content: found.content,
            target: object.target().id(),
            generic_version: object.e_flags().generic_version(),
            target_text: object.target().to_string(),
            kernels: wanted.map(slot).collect(),
            functions: index.functions().iter().map(function).collect(),
            problems: index.problems().to_vec(),
            source: OnceLock::new(),
            shared: Arc::clone(shared),
        }
    }

    /// The same without kernels of some names, before any of them has an id.
    pub(crate) fn without_kernels(mut self, is_unwanted: impl Fn(&Arc<[u8]>) -> bool) -> Self {
        let kernels = std::mem::take(&mut self.kernels).into_iter();
        self.kernels = kernels.filter(|slot| !is_unwanted(&slot.name)).collect();
        self
    }

    /// The name under which the file was added.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Which object of the file it is.
    #[must_use]
    pub fn number(&self) -> usize {
        self.number
    }

    /// The id of its entry in a bundle.
    #[must_use]
    pub fn entry_id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// The target, as text.
    #[must_use]
    pub fn target(&self) -> &str {
        &self.target_text
    }

    /// The target, if its processor is known.
    #[must_use]
    pub fn target_id(&self) -> Option<TargetId> {
        self.target
    }

    /// Whether it is one of those that are wanted.
    #[must_use]
    pub fn is_wanted(&self, wanted: Wanted) -> bool {
        wanted.takes(self.target, self.generic_version)
    }

    /// What its database carries, if it is of this type.
    #[must_use]
    pub fn carried<T: 'static>(&self) -> Option<&T> {
        self.shared.carried.as_ref()?.0.downcast_ref()
    }

    /// Whether it is in the same bundle as another object of its file.
    pub(crate) fn shares_bundle(&self, other: &Object) -> bool {
        self.trail == other.trail
    }

    /// Its bytes. They are read if its file is not in memory, which is an error if the file is not as it was.
    pub fn data(&self) -> Result<Cow<'_, [u8]>> {
        self.content.read()
    }

    /// How many kernels of it are in the database.
    #[must_use]
    pub fn kernel_count(&self) -> usize {
        self.kernels.len()
    }

    pub(crate) fn kernel_ids(&self) -> impl ExactSizeIterator<Item = KernelId> + use<> {
        self.kernels.ids()
    }

    pub(crate) fn kernel_id(&self, number: usize) -> Option<KernelId> {
        self.kernels.id(number)
    }

    /// Its device functions.
    #[must_use]
    pub fn functions(&self) -> &[DeviceFunction] {
        &self.functions
    }

    /// What was wrong with its tables.
    #[must_use]
    pub fn problems(&self) -> &[Error] {
        &self.problems
    }

    pub(crate) fn kernel_names(&self) -> impl Iterator<Item = (KernelId, &Arc<[u8]>)> {
        self.kernels.enumerated().map(|(id, slot)| (id, &slot.name))
    }

    pub(crate) fn kernel_name(&self, id: KernelId) -> Str<'_> {
        Str::new(&self.kernels[id].name)
    }

    /// What the tables say of a kernel.
    pub(crate) fn kernel_tables(&self, id: KernelId) -> Result<Tables<'_>> {
        let kernel = self.kernels[id].kernel;
        if let Some(bytes) = self.content.in_memory() {
            return Ok(Tables { bytes: Cow::Borrowed(bytes), kernel });
        }
        let (kernel, bytes) = kernel.copy_parts(|parts| self.content.read_parts(parts))?;
        Ok(Tables { bytes: Cow::Owned(bytes), kernel })
    }

    /// Where a kernel's code starts, and where it is in the object.
    pub(crate) fn code_range(&self, id: KernelId) -> Option<(u64, Range<usize>)> {
        self.kernels[id].code.clone()
    }

    /// The bytes of a kernel's code.
    pub(crate) fn code_bytes(&self, id: KernelId) -> Result<Data> {
        let (_, range) = self.code_range(id).ok_or_else(no_code)?;
        self.content.load(range)
    }

    /// The instructions of a kernel, decoded when they are first asked for.
    pub(crate) fn code(&self, id: KernelId) -> Result<&Code> {
        let slot = &self.kernels[id];
        slot.decoded.get_or_init(|| self.decode(id)).as_ref().map_err(Clone::clone)
    }

    fn decode(&self, id: KernelId) -> Result<Code> {
        let (address, range) = self.code_range(id).ok_or_else(no_code)?;
        let code = self.content.load(range)?;
        let tables = self.kernel_tables(id)?;
        let unsupported = |detail: String| Error::new(ErrorKind::Unsupported, "target", detail);
        let target = self.target.ok_or_else(|| unsupported(self.target_text.clone()))?;
        let (kernel, processor) = (tables.kernel(), target.processor);
        let (asked, decoders) = (self.shared.options.decode, &self.shared.decoders);
        let decoder = Reading::kernel_decoder(&kernel, code.as_ref(), processor, asked, decoders);
        let decoder = decoder.map_err(|error| unsupported(error.to_string()))?;
        let code = Code::decode(decoder, address, code);
        self.shared.count(&code.stream());
        Ok(code)
    }

    /// The places of a kernel's instructions; none where nothing says.
    pub(crate) fn places(&self, id: KernelId) -> Result<&[Option<PlaceId>]> {
        let slot = &self.kernels[id];
        let places = slot.places.get_or_init(|| {
            let stream = self.code(id)?.stream();
            let addresses = (0..stream.len()).map(|index| stream.address_of(index));
            self.with_source(|sections, map| {
                let base = slot.source_base(sections);
                let place = |at: u64| map.place(sections, at.wrapping_add(base));
                addresses.map(place).collect()
            })
        });
        places.as_deref().map_err(Clone::clone)
    }

    /// The arguments of a kernel; debug information that cannot be read leaves the metadata, and is a problem.
    pub(crate) fn arguments(&self, id: KernelId) -> Result<KernelArguments> {
        let tables = self.kernel_tables(id)?;
        let kernel = tables.kernel();
        let joined = self
            .with_source(|sections, map| Ok(KernelArguments::new(&kernel, Some((map, sections)))));
        joined.or_else(|error| {
            if error.kind() == ErrorKind::Changed {
                return Err(error);
            }
            let mut arguments = KernelArguments::new(&kernel, None);
            arguments.problems.push(error);
            Ok(arguments)
        })
    }

    /// The functions that an instruction of a kernel is in.
    pub(crate) fn frames(&self, id: KernelId, address: u64) -> Result<Vec<Frame<'_>>> {
        let slot = &self.kernels[id];
        self.with_source(|sections, map| {
            map.frames(sections, address.wrapping_add(slot.source_base(sections)))
        })
    }

    /// What maps its code to its source.
    pub(crate) fn source_map(&self) -> Result<&SourceMap> {
        self.source().map(|source| &source.map)
    }

    /// Lets read what maps its code to its source.
    pub(crate) fn with_source<'o, T>(
        &'o self,
        read: impl FnOnce(&DebugSections<'_>, &'o SourceMap) -> Result<T>,
    ) -> Result<T> {
        let source = self.source()?;
        match &source.kept {
            Some(sections) => read(sections, &source.map),
            None => read(&self.debug_sections(&self.content.read()?)?, &source.map),
        }
    }

    fn source(&self) -> Result<&Source> {
        let source = self.source.get_or_init(|| {
            let bytes = self.content.read()?;
            let cap = self.shared.options.container.max_size;
            let debug = DebugInfo::open_capped(&CodeObject::parse(&bytes)?, cap)?;
            let (sections, map) = debug.into_parts();
            let is_there = self.content.in_memory().is_some() && sections.is_borrowed();
            let kept = (!is_there).then(|| sections.into_owned());
            Ok(Source { kept, map })
        });
        source.as_ref().map_err(Clone::clone)
    }

    fn debug_sections<'b>(&self, bytes: &'b [u8]) -> Result<DebugSections<'b>> {
        DebugSections::new(&CodeObject::parse(bytes)?, self.shared.options.container.max_size)
    }
}

/// Where an object was found.
pub(crate) struct Found<'f> {
    /// The name under which the file was added.
    pub(crate) file: &'f Arc<str>,
    /// Which object of the file it is.
    pub(crate) number: usize,
    /// The entry of the file that holds it.
    pub(crate) entry: &'f Entry<'f>,
    /// Its bytes.
    pub(crate) content: Content,
}

impl Slot {
    /// What to add to its addresses before asking for their source.
    fn source_base(&self, sections: &DebugSections<'_>) -> u64 {
        self.kernel.entry_section().map_or(0, |section| sections.base_of(section))
    }
}

/// What the tables of an object say of a kernel, with the bytes that say it.
#[derive(Clone, Debug)]
pub struct Tables<'o> {
    bytes: Cow<'o, [u8]>,
    kernel: DetachedKernel,
}

impl Tables<'_> {
    /// Descriptor, metadata and entry.
    #[must_use]
    pub fn kernel(&self) -> hsaco_object::Kernel<'_> {
        self.kernel.attach(&self.bytes)
    }
}

/// Where a kernel's code starts, and which bytes of the object it is.
fn code_range(kernel: &hsaco_object::Kernel<'_>, map: &CodeMap<'_>) -> Option<(u64, Range<usize>)> {
    let code = map.kernel(kernel).filter(|code| !code.bytes.is_empty())?;
    let start = usize::try_from(code.offset).ok()?;
    Some((kernel.entry()?, start..start + code.bytes.len()))
}

fn no_code() -> Error {
    Error::new(ErrorKind::NotFound, "kernel", "its code is not in the object")
}
