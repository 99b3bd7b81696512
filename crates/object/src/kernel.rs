//! A kernel: a name, a descriptor, an entry, and what the metadata says of it.

use hsaco_bytes::{Result, Str};
use hsaco_elf::symbol::Symbol;
use hsaco_isa::target::Generation;

use crate::code_object::CodeObject;
use crate::descriptor::{KernelCodeV2, KernelDescriptor};
use crate::metadata;
use crate::resources::Resources;

/// One kernel of a code object.
#[derive(Clone, Copy, Debug)]
pub struct Kernel<'a> {
    pub(crate) name: Str<'a>,
    pub(crate) symbol: Option<Symbol<'a>>,
    pub(crate) entry_symbol: Option<EntrySymbol>,
    pub(crate) metadata: Option<metadata::Kernel<'a>>,
    pub(crate) header: Option<Header<'a>>,
    pub(crate) relocatable: bool,
}

/// What the entry's symbol adds to the kernel's name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EntrySymbol {
    pub(crate) value: u64,
    pub(crate) size: u64,
    pub(crate) section: u32,
}

/// The bytes a kernel begins with for the hardware.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Header<'a> {
    Descriptor(&'a [u8; 64]),
    V2(&'a [u8; 256]),
}

impl<'a> Kernel<'a> {
    pub(crate) fn from_metadata(metadata: metadata::Kernel<'a>) -> Self {
        Self {
            name: metadata.base_name(),
            symbol: None,
            entry_symbol: None,
            metadata: Some(metadata),
            header: None,
            relocatable: false,
        }
    }

    pub(crate) fn from_descriptor(object: &CodeObject<'a>, symbol: Symbol<'a>) -> Self {
        let name = symbol.name.strip_suffix(".kd").unwrap_or(symbol.name);
        let mut kernel = Self {
            name,
            symbol: None,
            entry_symbol: None,
            metadata: None,
            header: None,
            relocatable: false,
        };
        kernel.set_descriptor(object, symbol);
        kernel
    }

    pub(crate) fn from_v2(object: &CodeObject<'a>, symbol: Symbol<'a>) -> Self {
        let header = object.bytes_at(&symbol, 256).and_then(|it| it.first_chunk());
        Self {
            name: symbol.name,
            symbol: Some(symbol),
            entry_symbol: None,
            metadata: None,
            header: header.map(Header::V2),
            relocatable: object.is_relocatable(),
        }
    }

    pub(crate) fn set_descriptor(&mut self, object: &CodeObject<'a>, symbol: Symbol<'a>) {
        let bytes = object.bytes_at(&symbol, 64).and_then(|it| it.first_chunk());
        self.header = bytes.map(Header::Descriptor);
        self.symbol = Some(symbol);
        self.relocatable = object.is_relocatable();
    }

    /// Whether a function of the kernel's name can be its entry: the descriptor has the last word.
    pub(crate) fn may_enter_at(&self, function: &Symbol<'a>) -> bool {
        self.entry_symbol.is_none()
            && self.described_entry().is_none_or(|entry| entry == function.value)
    }

    /// Whether a function is the kernel's entry beyond doubt: by its name, and by the descriptor.
    pub(crate) fn enters_at(&self, function: &Symbol<'a>) -> bool {
        function.name == self.name && self.described_entry() == Some(function.value)
    }

    pub(crate) fn set_entry(&mut self, function: &Symbol<'a>) {
        self.entry_symbol = Some(EntrySymbol {
            value: function.value,
            size: function.size,
            section: function.section,
        });
    }

    /// The mangled name, without `.kd`.
    pub fn name(&self) -> Str<'a> {
        self.name
    }

    /// The symbol of the descriptor; in V2, of the kernel itself.
    pub fn descriptor_symbol(&self) -> Option<&Symbol<'a>> {
        self.symbol.as_ref()
    }

    /// The kernel's map in the metadata.
    pub fn metadata(&self) -> Option<&metadata::Kernel<'a>> {
        self.metadata.as_ref()
    }

    /// Where the descriptor is: an address, in a relocatable object an offset into its section.
    pub fn descriptor_address(&self) -> Option<u64> {
        self.symbol.map(|it| it.value)
    }

    /// The descriptor, if its bytes are in the file.
    pub fn descriptor(&self) -> Option<KernelDescriptor> {
        match self.header? {
            Header::Descriptor(bytes) => Some(KernelDescriptor::from_bytes(bytes)),
            Header::V2(_) => None,
        }
    }

    /// The header of a V2 kernel, if its bytes are in the file.
    pub fn v2_header(&self) -> Option<KernelCodeV2> {
        match self.header? {
            Header::Descriptor(_) => None,
            Header::V2(bytes) => Some(KernelCodeV2::from_bytes(bytes)),
        }
    }

    /// Where the code begins: as the descriptor says, else as the symbol does.
    pub fn entry(&self) -> Option<u64> {
        self.described_entry().or_else(|| self.entry_symbol.map(|it| it.value))
    }

    /// The section that the symbol of the entry is in: in a relocatable object the entry is an offset into it.
    pub fn entry_section(&self) -> Option<u32> {
        self.entry_symbol.map(|it| it.section)
    }

    /// The entry of a linked kernel; the compiler leaves the field to the linker.
    fn described_entry(&self) -> Option<u64> {
        if self.relocatable {
            return None;
        }
        let from = self.descriptor_address()?;
        match self.header? {
            Header::Descriptor(_) => self.descriptor()?.entry(from),
            Header::V2(_) => self.v2_header()?.entry(from),
        }
    }

    /// Bytes of code, as far as a symbol says it.
    pub fn code_size(&self) -> Option<u64> {
        let size = match (self.header, self.entry_symbol) {
            (_, Some(entry)) => entry.size,
            (Some(Header::V2(_)), None) => {
                let symbol = self.symbol?;
                let header = self.described_entry()?.checked_sub(symbol.value)?;
                symbol.size.checked_sub(header)?
            }
            _ => return None,
        };
        Some(size).filter(|&size| size != 0)
    }

    /// What the kernel needs of a device, and an error when its metadata cannot be read; the
    /// descriptor's numbers are then all there is.
    pub fn resources(&self, generation: Option<Generation>) -> (Resources, Result<()>) {
        let described = || self.described_resources(generation);
        match self.metadata.map(|it| it.resources()).transpose() {
            Ok(Some(said)) => (said.or_described(described), Ok(())),
            Ok(None) => (described(), Ok(())),
            Err(error) => (described(), Err(error)),
        }
    }

    fn described_resources(&self, generation: Option<Generation>) -> Resources {
        match self.header {
            Some(Header::Descriptor(bytes)) => {
                Resources::from_descriptor(&KernelDescriptor::from_bytes(bytes), generation)
            }
            Some(Header::V2(bytes)) => Resources::from_v2(&KernelCodeV2::from_bytes(bytes)),
            None => Resources::default(),
        }
    }
}
