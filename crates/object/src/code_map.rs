//! Which bytes of an object are code, at which addresses, and how long each kernel is.

use hsaco_bytes::Str;
use hsaco_elf::CodeAddresses;
use hsaco_elf::symbol::Symbol;

use crate::{CodeObject, Index, Kernel};

/// Code that stands together: a section, or a segment where there are no sections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeRange<'a> {
    /// The address of its first byte.
    pub address: u64,
    /// Where that is in the object's file.
    pub offset: u64,
    /// The code.
    pub bytes: &'a [u8],
}

impl<'a> CodeRange<'a> {
    /// The address behind its last byte.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.address.saturating_add(self.bytes.len() as u64)
    }

    /// Where it ends in the object's file.
    #[must_use]
    pub fn file_end(&self) -> u64 {
        self.offset.saturating_add(self.bytes.len() as u64)
    }

    /// The part between two addresses, as far as it is in it.
    fn between(&self, start: u64, end: u64) -> Option<CodeRange<'a>> {
        let into = |address: u64| usize::try_from(address.checked_sub(self.address)?).ok();
        let bytes = self.bytes.get(into(start)?..into(end.min(self.end()))?)?;
        let offset = self.offset.checked_add(start - self.address)?;
        Some(CodeRange { address: start, offset, bytes })
    }
}

/// Code that a symbol or a descriptor names.
#[derive(Clone, Copy, Debug)]
pub struct NamedCode<'a> {
    /// Its name.
    pub name: Str<'a>,
    /// Whether it is a kernel's: a descriptor names it.
    pub is_kernel: bool,
    /// The address of its first instruction.
    pub address: u64,
    /// How many bytes its symbol says that it has.
    pub size: Option<u64>,
}

/// The code of an object, before anything of it is decoded.
///
/// ```
/// use hsaco_object::{CodeMap, CodeObject};
/// # let file = include_bytes!("../../../tests/fixtures/s1.gfx942.co");
/// let object = CodeObject::parse(file)?;
/// let index = object.index();
/// let map = CodeMap::new(&object, &index);
/// let kernel = &index.kernels()[0];
/// assert_eq!(map.entry(kernel), kernel.entry());
/// assert_eq!(map.kernel(kernel).map(|code| code.bytes.len() as u64), kernel.code_size());
/// # Ok::<(), hsaco_bytes::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct CodeMap<'a> {
    bases: CodeAddresses,
    ranges: Vec<CodeRange<'a>>,
    /// In the order of their addresses, one at each.
    named: Vec<NamedCode<'a>>,
}

impl<'a> CodeMap<'a> {
    /// Reads it from the headers and the index of an object.
    #[must_use]
    pub fn new(object: &CodeObject<'a>, index: &Index<'a>) -> Self {
        let bases = CodeAddresses::new(object.elf());
        let ranges = code_ranges(object, &bases);
        let named = named(index, &bases);
        Self { bases, ranges, named }
    }

    /// The ranges alone, without a look at symbols.
    #[must_use]
    pub fn ranges_of(object: &CodeObject<'a>) -> Vec<CodeRange<'a>> {
        code_ranges(object, &CodeAddresses::new(object.elf()))
    }

    /// All of it, by address.
    #[must_use]
    pub fn ranges(&self) -> &[CodeRange<'a>] {
        &self.ranges
    }

    /// What symbols and descriptors name, in the order of addresses.
    #[must_use]
    pub fn named(&self) -> &[NamedCode<'a>] {
        &self.named
    }

    /// The address of a place in a section, or of an address in a linked object.
    #[must_use]
    pub fn address_of(&self, section: u32, value: u64) -> u64 {
        self.bases.of(section, value)
    }

    /// The address of a kernel's first instruction.
    #[must_use]
    pub fn entry(&self, kernel: &Kernel<'_>) -> Option<u64> {
        entry(kernel, &self.bases)
    }

    /// The code of a kernel.
    #[must_use]
    pub fn kernel(&self, kernel: &Kernel<'_>) -> Option<CodeRange<'a>> {
        self.extent(self.entry(kernel)?, kernel.code_size())
    }

    /// The code of a function.
    #[must_use]
    pub fn function(&self, symbol: &Symbol<'_>) -> Option<CodeRange<'a>> {
        let size = Some(symbol.size).filter(|size| *size != 0);
        self.extent(self.address_of(symbol.section, symbol.value), size)
    }

    /// The code that begins at an address: as long as its symbol says, else up to the next that is named, at the most up
    /// to the end of the range that it is in.
    #[must_use]
    pub fn extent(&self, address: u64, size: Option<u64>) -> Option<CodeRange<'a>> {
        let after = self.ranges.partition_point(|it| it.address <= address);
        let range = self.ranges.get(after.checked_sub(1)?)?;
        let end = size.map(|size| address.saturating_add(size));
        let end = end.or_else(|| self.next_start(address)).unwrap_or(u64::MAX);
        range.between(address, end)
    }

    fn next_start(&self, address: u64) -> Option<u64> {
        let next = self.named.partition_point(|it| it.address <= address);
        self.named.get(next).map(|it| it.address)
    }
}

fn code_ranges<'a>(object: &CodeObject<'a>, bases: &CodeAddresses) -> Vec<CodeRange<'a>> {
    let elf = object.elf();
    let in_sections = elf.code_sections().map(|section| CodeRange {
        address: bases.of(section.index, section.address),
        offset: section.offset,
        bytes: elf.code_of(section),
    });
    let in_segments = elf.code_segments().filter_map(|segment| {
        let bytes = elf.segment_data(segment).ok()?;
        Some(CodeRange { address: segment.address, offset: segment.offset, bytes })
    });
    let mut ranges: Vec<_> = in_sections.chain(in_segments).collect();
    ranges.sort_by_key(|it| it.address);
    ranges
}

fn named<'a>(index: &Index<'a>, bases: &CodeAddresses) -> Vec<NamedCode<'a>> {
    let kernels = index.kernels().iter().filter_map(|kernel| {
        let (name, address, size) = (kernel.name(), entry(kernel, bases)?, kernel.code_size());
        Some(NamedCode { name, is_kernel: true, address, size })
    });
    let functions = index.functions().iter().map(|symbol| NamedCode {
        name: symbol.name,
        is_kernel: false,
        address: bases.of(symbol.section, symbol.value),
        size: Some(symbol.size).filter(|size| *size != 0),
    });
    // Of several names at one address the last kernel's counts, else the last function's.
    let mut named: Vec<_> = functions.chain(kernels).collect();
    named.reverse();
    named.sort_by_key(|it| it.address);
    named.dedup_by_key(|it| it.address);
    named
}

fn entry(kernel: &Kernel<'_>, bases: &CodeAddresses) -> Option<u64> {
    let entry = kernel.entry()?;
    Some(kernel.entry_section().map_or(entry, |section| bases.of(section, entry)))
}
