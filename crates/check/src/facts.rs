//! What rules look at: an object read once, for every device that it is held against.

use std::cell::OnceCell;
use std::collections::HashMap;

use hsaco_analysis::Allocation;
use hsaco_bytes::{Error, Str};
use hsaco_container::{Entry, EntryKind};
use hsaco_demangle::demangle;
use hsaco_elf::note::Note;
use hsaco_elf::relocation::Relocation;
use hsaco_isa::target::{Generation, WaveSize};
use hsaco_isa::{Processor, TargetId};
use hsaco_load::Errors;
use hsaco_object::descriptor::{Field, KernelDescriptor};
use hsaco_object::metadata::{self, Argument, Broken, KernelMetadata, verify_at};
use hsaco_object::note::{NT_AMDGPU_METADATA, OWNER_AMDGPU};
use hsaco_object::{CodeObject, Index, Kernel};

use crate::code::{Code, Shortages, Undecodable};
use crate::device::Device;
use crate::finding::Subject;

/// Bytes that may be a code object, and what is known of them. They are parsed when this is made; everything else is
/// read when a rule first asks for it, and kept for the next device.
///
/// ```
/// use hsaco_check::{Checker, Device, Facts, LaunchFacts};
/// let file = std::fs::read("../../tests/fixtures/s1.gfx942.co")?;
/// let facts = Facts::read(&file);
/// let checker = Checker::new().with_code();
/// let runs = |device: &Device| checker.object(&facts, Some(device), &LaunchFacts::default()).runs;
/// let devices: Vec<Device> = Device::all().filter(runs).collect();
/// assert_eq!(devices[0].name, "gfx942");
/// assert_eq!(devices.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Facts<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) object: Result<ObjectFacts<'a>, Error>,
    pub(crate) place: Option<Place>,
    refusals: OnceCell<Option<Errors>>,
}

/// Where a container has an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) number: usize,
    pub(crate) offset: u64,
}

impl<'a> Facts<'a> {
    /// Facts of a file that is a code object, or should be one.
    #[must_use]
    pub fn read(bytes: &'a [u8]) -> Self {
        let object = CodeObject::parse(bytes).map(ObjectFacts::new);
        Self { bytes, object, place: None, refusals: OnceCell::new() }
    }

    /// Facts of the object with this number in a container; none of what has yet to be compiled, such as bitcode.
    #[must_use]
    pub fn of_entry(number: usize, entry: &'a Entry<'_>) -> Option<Self> {
        if matches!(entry.kind, EntryKind::Bitcode | EntryKind::Spirv | EntryKind::Empty) {
            return None;
        }
        let place = Place { number, offset: entry.offset.unwrap_or(0) };
        Some(Self { place: Some(place), ..Self::read(&entry.data) })
    }

    /// The code object, if the bytes are one.
    #[must_use]
    pub fn object(&self) -> Option<&CodeObject<'a>> {
        self.object.as_ref().ok().map(|it| &it.object)
    }

    /// The kernels and symbols of the object.
    #[must_use]
    pub fn index(&self) -> Option<&Index<'a>> {
        self.object.as_ref().ok().map(ObjectFacts::index)
    }

    /// What a loader refuses.
    pub(crate) fn refusals(&self) -> Option<&Errors> {
        let refusals = || match &self.object {
            Ok(facts) => hsaco_load::check_object(&facts.object, facts.index()).err(),
            Err(error) => Some(error.into()),
        };
        self.refusals.get_or_init(refusals).as_ref()
    }
}

impl std::fmt::Debug for Facts<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Facts").field("place", &self.place).finish_non_exhaustive()
    }
}

/// A code object.
pub(crate) struct ObjectFacts<'a> {
    pub(crate) object: CodeObject<'a>,
    pub(crate) target: Option<TargetId>,
    /// The device that the object is for.
    pub(crate) own_device: Option<Device>,
    index: OnceCell<Index<'a>>,
    kernels: OnceCell<Vec<ReadKernel<'a>>>,
    code: OnceCell<Option<Code<'a>>>,
    others: OnceCell<HashMap<Str<'a>, Other>>,
    relocations: OnceCell<(Vec<Relocation<'a>>, Vec<Error>)>,
    broken_notes: OnceCell<Vec<BrokenNote<'a>>>,
}

/// What is wrong with one note.
pub(crate) enum BrokenNote<'a> {
    /// It is no note.
    Note(Error),
    /// It holds metadata that cannot be read.
    Metadata(Note<'a>, Error),
    /// It holds metadata that break LLVM's rules.
    Rules(Note<'a>, Broken),
}

impl<'a> BrokenNote<'a> {
    fn of(note: Result<Note<'a>, Error>) -> Option<Self> {
        let note = match note {
            Ok(note) if note.is(OWNER_AMDGPU, NT_AMDGPU_METADATA) => note,
            Ok(_) => return None,
            Err(error) => return Some(Self::Note(error)),
        };
        match verify_at(note.desc, note.desc_offset) {
            Ok(broken) => broken.map(|it| Self::Rules(note, it)),
            Err(error) => Some(Self::Metadata(note, error)),
        }
    }
}

/// What has a name and is no kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Other {
    /// Code, at this address.
    Function(u64),
    /// Wanted from another object.
    External,
    /// Data.
    Variable,
}

impl<'a> ObjectFacts<'a> {
    fn new(object: CodeObject<'a>) -> Self {
        let target = object.target().id();
        Self {
            object,
            target,
            own_device: target.map(Device::new),
            index: OnceCell::new(),
            kernels: OnceCell::new(),
            code: OnceCell::new(),
            others: OnceCell::new(),
            relocations: OnceCell::new(),
            broken_notes: OnceCell::new(),
        }
    }

    pub(crate) fn index(&self) -> &Index<'a> {
        self.index.get_or_init(|| self.object.index())
    }

    pub(crate) fn kernels(&self) -> impl Iterator<Item = KernelFacts<'_, 'a>> {
        let generation = self.generation();
        let read =
            || self.index().kernels().iter().map(|it| ReadKernel::new(it, generation)).collect();
        let read: &Vec<ReadKernel<'a>> = self.kernels.get_or_init(read);
        let kernels = self.index().kernels().iter().zip(read);
        kernels.map(|(kernel, read)| KernelFacts { object: self, kernel, read })
    }

    /// What stands for a name that is no kernel's.
    pub(crate) fn other(&self, name: Str<'_>) -> Option<Other> {
        let index = self.index();
        let collect = || {
            let functions = index.functions().iter().map(|it| (it.name, Other::Function(it.value)));
            let externals = index.externals().iter().map(|it| (it.name, Other::External));
            let variables = index.variables().iter().map(|it| (it.name, Other::Variable));
            // Of several of one name the last stays, so that those go last that matter most.
            variables.rev().chain(externals.rev()).chain(functions.rev()).collect()
        };
        self.others.get_or_init(collect).get(&name).copied()
    }

    /// The relocations, and what cannot be read of their tables.
    pub(crate) fn relocations(&self) -> (&[Relocation<'a>], &[Error]) {
        let (relocations, problems) = self.relocations.get_or_init(|| self.object.relocations());
        (relocations, problems)
    }

    /// What is wrong with the notes, each for itself.
    pub(crate) fn broken_notes(&self) -> &[BrokenNote<'a>] {
        self.broken_notes.get_or_init(|| self.object.notes().filter_map(BrokenNote::of).collect())
    }

    /// Whether a device takes code of this target; true where that is not known.
    pub(crate) fn runs_on(&self, device: Option<&Device>) -> bool {
        let version = self.object.e_flags().generic_version();
        match (self.target, device) {
            (Some(target), Some(device)) => target.runs_on(device.target, version).is_ok(),
            (None, Some(_)) => false,
            (_, None) => true,
        }
    }

    pub(crate) fn processor(&self) -> Option<Processor> {
        self.target.map(|target| target.processor)
    }

    pub(crate) fn generation(&self) -> Option<Generation> {
        self.processor().map(Processor::generation)
    }

    pub(crate) fn code(&self) -> Option<&Code<'a>> {
        self.code.get_or_init(|| Code::new(&self.object)).as_ref()
    }
}

/// A kernel, as one that rules look at.
#[derive(Clone, Copy)]
pub(crate) struct KernelFacts<'f, 'a> {
    pub(crate) object: &'f ObjectFacts<'a>,
    pub(crate) kernel: &'f Kernel<'a>,
    read: &'f ReadKernel<'a>,
}

/// What is read of a kernel once.
struct ReadKernel<'a> {
    metadata: Option<Result<KernelMetadata<'a>, Error>>,
    descriptor: Option<KernelDescriptor>,
    allocation: Option<Allocation>,
    /// The arguments, up to one that cannot be read, and why it cannot.
    arguments: OnceCell<(Vec<Argument<'a>>, Option<Error>)>,
    source_name: OnceCell<Option<String>>,
    shortages: OnceCell<Option<Shortages>>,
    undecodable: OnceCell<Option<Undecodable>>,
}

impl<'a> ReadKernel<'a> {
    fn new(kernel: &Kernel<'a>, generation: Option<Generation>) -> Self {
        Self {
            metadata: kernel.metadata().map(metadata::Kernel::decode),
            descriptor: kernel.descriptor(),
            allocation: generation.and_then(|it| Allocation::of(kernel, it)),
            arguments: OnceCell::new(),
            source_name: OnceCell::new(),
            shortages: OnceCell::new(),
            undecodable: OnceCell::new(),
        }
    }
}

impl<'f, 'a> KernelFacts<'f, 'a> {
    /// What the metadata says, if it can be read.
    pub(crate) fn said(&self) -> Option<&'f KernelMetadata<'a>> {
        self.read.metadata.as_ref()?.as_ref().ok()
    }

    /// Why what the metadata says of it cannot be read.
    pub(crate) fn unsaid(&self) -> Option<&'f Error> {
        match self.read.metadata.as_ref()? {
            Ok(_) => self.read_arguments().1.as_ref(),
            Err(error) => Some(error),
        }
    }

    pub(crate) fn descriptor(&self) -> Option<KernelDescriptor> {
        self.read.descriptor
    }

    /// What the descriptor allocates, or the header of a V2 kernel.
    pub(crate) fn allocation(&self) -> Option<Allocation> {
        self.read.allocation
    }

    /// The arguments, up to one that cannot be read, which is `metadata-invalid`'s.
    pub(crate) fn arguments(&self) -> &'f [Argument<'a>] {
        &self.read_arguments().0
    }

    fn read_arguments(&self) -> &'f (Vec<Argument<'a>>, Option<Error>) {
        self.read.arguments.get_or_init(|| {
            let (mut arguments, mut wrong) = (Vec::new(), None);
            for argument in self.said().and_then(KernelMetadata::arguments).into_iter().flatten() {
                match argument {
                    Ok(argument) => arguments.push(argument),
                    Err(error) => {
                        wrong = Some(error);
                        break;
                    }
                }
            }
            (arguments, wrong)
        })
    }

    /// The name as it was written, where it is mangled.
    pub(crate) fn source_name(&self) -> Option<&'f str> {
        self.read.source_name.get_or_init(|| demangle(self.kernel.name().as_bytes())).as_deref()
    }

    /// What code needs and the kernel does not have; none where the code cannot be looked at.
    pub(crate) fn shortages(&self) -> Option<&'f Shortages> {
        let find = || self.object.code()?.shortages(self.kernel, self.allocation()?);
        self.read.shortages.get_or_init(find).as_ref()
    }

    /// The first word that is no instruction among those that the kernel gets to for certain.
    pub(crate) fn undecodable(&self) -> Option<Undecodable> {
        let find = || self.object.code()?.undecodable(self.kernel);
        *self.read.undecodable.get_or_init(find)
    }

    /// The descriptor and the family by which it is read.
    pub(crate) fn described(&self) -> Option<(KernelDescriptor, Generation)> {
        self.descriptor().zip(self.object.generation())
    }

    /// Lanes of a wave.
    pub(crate) fn wave(&self) -> Option<WaveSize> {
        self.allocation().map(|allocation| allocation.wave)
    }

    /// The kernel as a whole, at its descriptor.
    pub(crate) fn subject(&self) -> Subject {
        let kernel = Some(self.kernel.name().to_string());
        Subject { kernel, offset: self.descriptor_offset(), ..Subject::default() }
    }
    /// A field of the descriptor.
    pub(crate) fn descriptor_field(&self, name: &'static str) -> Subject {
        let generation = self.object.generation().unwrap_or(Generation::Gfx9);
        let word = Field::by_name(generation, name).map(|field| field.word.byte_offset() as u64);
        let offset = self.descriptor_offset().and_then(|start| start.checked_add(word?));
        Subject { field: Some(name.into()), ..self.subject() }.at(offset)
    }

    /// What is in no file: a field of the dispatch packet, or what others add up to.
    pub(crate) fn absent_field(&self, name: &'static str) -> Subject {
        Subject { field: Some(name.into()), offset: None, ..self.subject() }
    }

    /// A key of the metadata, by the keys that lead to it.
    pub(crate) fn metadata_field(&self, key: &str) -> Subject {
        let map = self.kernel.metadata().and_then(|it| it.map().ok());
        let entry = map.and_then(|map| map.iter().flatten().find(|entry| entry.key == key));
        let offset = entry.map(|it| it.offset).or_else(|| Some(self.kernel.metadata()?.offset()));
        Subject { field: Some(self.path(key).into()), ..self.subject() }.at(offset)
    }

    /// A key of an argument.
    pub(crate) fn argument_field(
        &self,
        number: usize,
        argument: &Argument<'_>,
        key: &str,
    ) -> Subject {
        let path = self.path(&format!(".args[{number}]{key}"));
        Subject { field: Some(path.into()), ..self.subject() }.at(argument.file_offset)
    }

    fn path(&self, key: &str) -> String {
        let map = self.kernel.metadata().map(hsaco_object::metadata::Kernel::path);
        map.unwrap_or_default() + key
    }

    /// Where the descriptor stands in the file.
    fn descriptor_offset(&self) -> Option<u64> {
        self.object.object.elf().file_offset(self.kernel.descriptor_address()?)
    }
}
