//! What rules look at, each thing read once.

use std::cell::OnceCell;
use std::collections::HashMap;

use hsaco_analysis::Allocation;
use hsaco_isa::{Generation, Limits, Processor, TargetId, WaveSize};
use hsaco_object::descriptor::{Field, KernelDescriptor};
use hsaco_object::metadata::{Argument, KernelMetadata};
use hsaco_object::{CodeObject, Error, Index, Kernel, Str};

use crate::checker::Checker;
use crate::code::Code;
use crate::device::Device;
use crate::finding::Subject;

/// Bytes that may be a code object.
pub(crate) struct FileFacts<'f, 'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) object: Result<&'f CodeObject<'a>, &'f Error>,
}

/// A code object and what it is held against.
pub(crate) struct ObjectFacts<'f, 'a> {
    pub(crate) object: &'f CodeObject<'a>,
    pub(crate) index: Index<'a>,
    pub(crate) target: Option<TargetId>,
    pub(crate) checker: &'f Checker,
    own_device: Option<Device>,
    code: OnceCell<Option<Code<'a>>>,
    others: OnceCell<HashMap<Str<'a>, Other>>,
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

impl<'f, 'a> ObjectFacts<'f, 'a> {
    pub(crate) fn new(object: &'f CodeObject<'a>, checker: &'f Checker) -> Self {
        let target = object.target().id();
        Self {
            object,
            index: object.index(),
            target,
            checker,
            own_device: target.map(Device::new),
            code: OnceCell::new(),
            others: OnceCell::new(),
        }
    }

    /// What stands for a name that is no kernel's.
    pub(crate) fn other(&self, name: Str<'_>) -> Option<Other> {
        let index = &self.index;
        let collect = || {
            let functions = index.functions().iter().map(|it| (it.name, Other::Function(it.value)));
            let externals = index.externals().iter().map(|it| (it.name, Other::External));
            let variables = index.variables().iter().map(|it| (it.name, Other::Variable));
            // Of several of one name the last stays, so that those go last that matter most.
            variables.rev().chain(externals.rev()).chain(functions.rev()).collect()
        };
        self.others.get_or_init(collect).get(&name).copied()
    }

    /// The device: the one that was asked for, else the one that the object is for.
    pub(crate) fn device(&self) -> Option<&Device> {
        self.checker.device.as_ref().or(self.own_device.as_ref())
    }

    /// Whether the device takes code of this target; true where nobody knows.
    pub(crate) fn runs(&self) -> bool {
        let version = self.object.e_flags().generic_version();
        match (self.target, &self.checker.device) {
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

    /// The limits that registers are held against: the device's, unless it counts registers in another way.
    pub(crate) fn register_limits(&self) -> Option<&Limits> {
        let device = self.device()?;
        let processor = self.processor()?;
        match device.target.processor.generation() == processor.generation() {
            true => Some(&device.limits),
            false => Some(processor.limits()),
        }
    }

    /// The decoded code, worked out when a rule asks for it.
    pub(crate) fn code(&self) -> Option<&Code<'a>> {
        self.code.get_or_init(|| Code::new(self.object)).as_ref()
    }
}

/// A kernel of it.
pub(crate) struct KernelFacts<'f, 'a> {
    pub(crate) object: &'f ObjectFacts<'f, 'a>,
    pub(crate) kernel: &'f Kernel<'a>,
    pub(crate) metadata: Option<Result<KernelMetadata<'a>, Error>>,
    pub(crate) descriptor: Option<KernelDescriptor>,
    /// What the descriptor allocates, or the header of a V2 kernel.
    pub(crate) allocation: Option<Allocation>,
    arguments: OnceCell<Vec<Argument<'a>>>,
}

impl<'f, 'a> KernelFacts<'f, 'a> {
    pub(crate) fn new(object: &'f ObjectFacts<'f, 'a>, kernel: &'f Kernel<'a>) -> Self {
        let metadata = kernel.metadata().map(hsaco_object::metadata::Kernel::decode);
        let allocation = object.generation().and_then(|it| Allocation::of(kernel, it));
        Self {
            object,
            kernel,
            metadata,
            descriptor: kernel.descriptor(),
            allocation,
            arguments: OnceCell::new(),
        }
    }

    /// What the metadata says, if it can be read.
    pub(crate) fn said(&self) -> Option<&KernelMetadata<'a>> {
        self.metadata.as_ref()?.as_ref().ok()
    }

    /// The arguments, up to one that cannot be read, which is `metadata-invalid`'s.
    pub(crate) fn arguments(&self) -> &[Argument<'a>] {
        let read = || self.said()?.arguments().map(|it| it.map_while(Result::ok).collect());
        self.arguments.get_or_init(|| read().unwrap_or_default())
    }

    /// The descriptor and the family by which it is read.
    pub(crate) fn described(&self) -> Option<(KernelDescriptor, Generation)> {
        self.descriptor.zip(self.object.generation())
    }

    /// Lanes of a wave.
    pub(crate) fn wave(&self) -> Option<WaveSize> {
        self.allocation.map(|allocation| allocation.wave)
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
