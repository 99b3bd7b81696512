//! The kernels of an object: where their descriptors are, and what these and the metadata say.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use hsaco_analysis::Allocation;
use hsaco_bytes::Str;
use hsaco_elf::Segment;
use hsaco_elf::symbol::Symbol;
use hsaco_isa::target::Generation;
use hsaco_object::descriptor::KernelDescriptor;
use hsaco_object::{CodeObject, Index, Kernel as FileKernel};

use super::segment::{file_backed, mapped};
use crate::error::{ErrorKind, Result, refusal};

/// What a runtime must know of a kernel to launch it.
///
/// ```
/// # let file = std::fs::read("../../tests/fixtures/s1.gfx942.co")?;
/// let mut executable = hsaco_load::Executable::new(None);
/// executable.load("s1.co", file)?;
/// let info = executable.symbol("foo").unwrap().kernel().unwrap();
/// assert_eq!((info.kernarg_size, info.kernarg_align, info.allocation.vgprs), (24, 8, 8));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelInfo {
    /// Bytes of arguments: what the metadata says, else the descriptor.
    pub kernarg_size: u64,
    /// Alignment of the arguments; 16 where the metadata does not say.
    pub kernarg_align: u64,
    /// What the descriptor makes the hardware allocate.
    pub allocation: Allocation,
    /// Most work-items of a workgroup, if the metadata says it.
    pub max_workgroup_size: Option<u64>,
}

/// A kernel of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kernel {
    /// Where its descriptor is, or its header in code object V2.
    pub(crate) address: u64,
    pub(crate) entry: u64,
    pub(crate) code_size: u64,
    /// None in code object V2.
    pub(crate) descriptor: Option<KernelDescriptor>,
    pub(crate) info: KernelInfo,
    /// The size of workgroups, where the metadata fixes it.
    pub(crate) required_workgroup: Option<[u64; 3]>,
}

impl Kernel {
    /// Nothing where no descriptor says what to allocate.
    pub(super) fn new(located: &Located<'_>, generation: Generation) -> Option<Self> {
        let Located { kernel, address, entry } = *located;
        let metadata = kernel.metadata().and_then(|it| it.decode().ok());
        let (sizes, _) = kernel.resources(Some(generation));
        let info = KernelInfo {
            kernarg_size: sizes.kernarg_size.unwrap_or(0),
            kernarg_align: metadata.as_ref().and_then(|it| it.kernarg_segment_align).unwrap_or(16),
            allocation: Allocation::of(&kernel, generation)?,
            max_workgroup_size: sizes.max_workgroup_size,
        };
        let required_workgroup =
            metadata.and_then(|it| it.reqd_workgroup_size).filter(|sizes| !sizes.contains(&0));
        let code_size = kernel.code_size().unwrap_or(0);
        let descriptor = kernel.descriptor();
        Some(Self { address, entry, code_size, descriptor, info, required_workgroup })
    }

    /// The same with another descriptor.
    pub(crate) fn described(
        mut self,
        descriptor: KernelDescriptor,
        generation: Generation,
    ) -> Self {
        self.descriptor = Some(descriptor);
        self.info.allocation = Allocation::new(descriptor, generation);
        self
    }
}

/// A kernel whose descriptor and code are in segments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Located<'a> {
    kernel: FileKernel<'a>,
    address: u64,
    entry: u64,
}

impl<'a> Located<'a> {
    fn new(kernel: &FileKernel<'a>, is_relocatable: bool) -> Option<Self> {
        let address = kernel.descriptor_address()?;
        let entry = match (kernel.descriptor(), kernel.v2_header()) {
            _ if is_relocatable => kernel.entry(),
            (Some(descriptor), _) => descriptor.entry(address),
            (None, Some(header)) => header.entry(address),
            (None, None) => None,
        };
        Some(Self { kernel: *kernel, address, entry: entry? })
    }

    pub(super) fn name(&self) -> Str<'a> {
        self.kernel.name()
    }
}

/// The kernels of an object, by the symbols that are theirs.
pub(super) struct Found<'a> {
    kernels: Vec<Located<'a>>,
    by_symbol: HashMap<u32, u32, RandomState>,
    by_entry: HashMap<u64, u32, RandomState>,
    by_address: HashMap<u64, u32, RandomState>,
}

impl<'a> Found<'a> {
    pub(super) fn read(
        code: &CodeObject<'a>,
        index: &Index<'a>,
        segments: &[Segment],
    ) -> Result<Self> {
        let count = index.kernels().len();
        let mut found = Self {
            kernels: Vec::with_capacity(count),
            by_symbol: HashMap::with_capacity_and_hasher(count, RandomState::default()),
            by_entry: HashMap::with_capacity_and_hasher(count, RandomState::default()),
            by_address: HashMap::with_capacity_and_hasher(count, RandomState::default()),
        };
        for kernel in index.kernels() {
            let Some(symbol) = kernel.descriptor_symbol() else { continue };
            let is_relocatable = code.is_relocatable();
            if !is_relocatable {
                check_descriptor(kernel, symbol, segments)?;
            }
            let Some(read) = Located::new(kernel, is_relocatable) else {
                let detail = format!("kernel `{}` starts at no address", kernel.name());
                return Err(refusal(ErrorKind::BadEntry, detail));
            };
            if !is_relocatable {
                check_entry(kernel, read.entry, segments)?;
            }
            let number = u32::try_from(found.kernels.len()).unwrap_or(u32::MAX);
            found.by_symbol.insert(symbol.index, number);
            found.by_entry.insert(read.entry, number);
            found.by_address.insert(read.address, number);
            found.kernels.push(read);
        }
        Ok(found)
    }

    /// The kernel that a symbol is the descriptor or the code of; `is_indexed` says whether the symbol's number
    /// is one of the table that kernels were found in.
    pub(super) fn of_symbol(&self, symbol: &Symbol<'a>, is_indexed: bool) -> Option<u32> {
        let by_number = self.by_symbol.get(&symbol.index).filter(|_| is_indexed);
        let name = |number: u32| self.kernels.get(number as usize).map(Located::name);
        let is_descriptor = |number: &&u32| {
            let name = name(**number);
            name.is_some() && symbol.name.strip_suffix(".kd") == name
        };
        let is_code = |number: &&u32| name(**number) == Some(symbol.name);
        let by_address = self.by_address.get(&symbol.value).filter(is_descriptor);
        let by_entry = self.by_entry.get(&symbol.value).filter(is_code);
        by_number.or(by_address).or(by_entry).copied()
    }

    pub(super) fn into_kernels(self) -> Vec<Located<'a>> {
        self.kernels
    }
}

fn check_descriptor(
    kernel: &FileKernel<'_>,
    symbol: &Symbol<'_>,
    segments: &[Segment],
) -> Result<()> {
    if file_backed(segments, symbol.value, KernelDescriptor::SIZE as u64).is_some() {
        return Ok(());
    }
    let (name, address) = (kernel.name(), symbol.value);
    let detail = format!("the descriptor of `{name}` at {address:#x} is in no segment's bytes");
    Err(refusal(ErrorKind::BadDescriptor, detail))
}

fn check_entry(kernel: &FileKernel<'_>, entry: u64, segments: &[Segment]) -> Result<()> {
    let is_code = mapped(segments, entry, 4).is_some_and(Segment::is_executable);
    if is_code {
        return Ok(());
    }
    let detail = format!("kernel `{}` starts at {entry:#x}, where no code is", kernel.name());
    Err(refusal(ErrorKind::BadEntry, detail))
}
