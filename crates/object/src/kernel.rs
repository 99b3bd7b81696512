//! A kernel: a name, a descriptor, an entry, and what the metadata says of it.

use hsaco_bytes::{Result, Str};
use hsaco_elf::symbol::Symbol;
use hsaco_isa::Generation;

use crate::code_object::CodeObject;
use crate::descriptor::{KernelCodeV2, KernelDescriptor};
use crate::metadata;

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

/// What a kernel needs of a device. `None` is "not known", never zero.
///
/// The numbers are the metadata's. A kernel without metadata has the descriptor's, where register
/// counts are what the hardware allocates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Resources {
    /// Vector registers, accumulation registers included where they share a file.
    pub vgprs: Option<u64>,
    /// Accumulation registers.
    pub agprs: Option<u64>,
    /// Scalar registers.
    pub sgprs: Option<u64>,
    /// Static LDS, in bytes.
    pub lds: Option<u64>,
    /// Scratch of one work-item, in bytes.
    pub scratch: Option<u64>,
    /// Size of the argument segment, in bytes.
    pub kernarg_size: Option<u64>,
    /// Work-items of a wave.
    pub wavefront_size: Option<u64>,
    /// Most work-items of a workgroup.
    pub max_workgroup_size: Option<u64>,
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

    /// The function symbol at the entry.
    pub(crate) fn entry_symbol(&self) -> Option<EntrySymbol> {
        self.entry_symbol
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

    /// The code, if a symbol says how much it is and the file holds it.
    pub fn code(&self, object: &CodeObject<'a>) -> Option<&'a [u8]> {
        let (entry, size) = (self.entry()?, self.code_size()?);
        if !self.relocatable {
            return object.elf().at_address(entry, size);
        }
        let section = object.elf().section(self.entry_symbol?.section)?;
        let end = usize::try_from(entry.checked_add(size)?).ok()?;
        object.elf().section_data(section).ok()?.get(usize::try_from(entry).ok()?..end)
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

impl Resources {
    fn from_descriptor(descriptor: &KernelDescriptor, generation: Option<Generation>) -> Self {
        Self {
            vgprs: generation.map(|it| u64::from(descriptor.vgprs(it))),
            agprs: generation.and_then(|it| descriptor.agprs(it)).map(u64::from),
            sgprs: generation.and_then(|it| descriptor.sgprs(it)).map(u64::from),
            lds: Some(u64::from(descriptor.group_segment_fixed_size)),
            scratch: Some(u64::from(descriptor.private_segment_fixed_size)),
            kernarg_size: descriptor.kernarg_segment_size().map(u64::from),
            wavefront_size: generation.map(|it| u64::from(descriptor.wavefront_size(it))),
            max_workgroup_size: None,
        }
    }

    fn from_v2(code: &KernelCodeV2) -> Self {
        Self {
            vgprs: Some(u64::from(code.workitem_vgpr_count)),
            agprs: None,
            sgprs: Some(u64::from(code.wavefront_sgpr_count)),
            lds: Some(u64::from(code.workgroup_group_segment_byte_size)),
            scratch: Some(u64::from(code.workitem_private_segment_byte_size)),
            kernarg_size: Some(code.kernarg_segment_byte_size),
            wavefront_size: code.lanes().filter(|&lanes| lanes > 1).map(u64::from),
            max_workgroup_size: None,
        }
    }

    /// Sizes that the metadata leaves out, from the descriptor. Register counts are not mixed: the
    /// metadata's are what the code uses, the descriptor's what the hardware allocates.
    fn or_described(self, described: impl FnOnce() -> Self) -> Self {
        let sizes = [self.lds, self.scratch, self.kernarg_size, self.wavefront_size];
        if sizes.iter().all(Option::is_some) {
            return self;
        }
        let described = described();
        Self {
            lds: self.lds.or(described.lds),
            scratch: self.scratch.or(described.scratch),
            kernarg_size: self.kernarg_size.or(described.kernarg_size),
            wavefront_size: self.wavefront_size.or(described.wavefront_size),
            ..self
        }
    }
}
