//! Reading an object into what the loader needs, with every bound checked before anything is kept.

mod kernel;
mod relocation;
mod segment;
mod symbol;

use std::borrow::Cow;
use std::ops::Range;

use hsaco_elf::{ET_DYN, Segment};
use hsaco_isa::TargetId;
use hsaco_isa::target::EFlags;
use hsaco_object::{CodeObject, Index};

use crate::error::{Error, ErrorKind, Result, refusal, unreadable};
use crate::name::Names;

pub(crate) use kernel::Kernel;
pub use kernel::KernelInfo;
use kernel::Located;
pub(crate) use relocation::{Relocation, Target};
pub(crate) use segment::file_backed;
pub(crate) use symbol::{Class, Entry, Place};

/// One object of an executable.
#[derive(Clone, Debug)]
pub(crate) struct Object<'a> {
    pub(crate) name: String,
    pub(crate) bytes: Cow<'a, [u8]>,
    /// Where its address 0 is to be, if that was said.
    pub(crate) base: Option<u64>,
    pub(crate) flags: EFlags,
    pub(crate) target: TargetId,
    /// What is mapped, in the order of addresses.
    pub(crate) segments: Vec<Segment>,
    /// The largest alignment of a segment.
    pub(crate) align: u64,
    pub(crate) symbols: Vec<Entry>,
    pub(crate) kernels: Vec<Kernel>,
    pub(crate) relocations: Vec<Relocation>,
    /// Where the linker has put addresses for code to load.
    pub(crate) got: Option<Range<u64>>,
    /// Whether it can be in memory; else its symbols are all there is of it.
    pub(crate) is_linked: bool,
}

impl<'a> Object<'a> {
    /// Reads an object. Names that it brings are in `names` also where it fails.
    pub(crate) fn read(name: &str, bytes: Cow<'a, [u8]>, names: &mut Names) -> Result<Self> {
        let in_object = |error: Error| error.in_object(name);
        let code = CodeObject::parse(&bytes).map_err(|it| in_object(unreadable(&it)))?;
        let (object, located) = Self::check(name, &code, &code.index(), names)?;
        let kernels = kernels(object.target, &located).map_err(in_object)?;
        Ok(Self { kernels, bytes, ..object })
    }

    /// Reads all of an object that can be refused, but neither its bytes nor what a launch must know of its kernels.
    pub(crate) fn check<'c>(
        name: &str,
        code: &CodeObject<'c>,
        index: &Index<'c>,
        names: &mut Names,
    ) -> Result<(Self, Vec<Located<'c>>)> {
        let in_object = |error: Error| error.in_object(name);
        check_linked(code).map_err(in_object)?;
        let (flags, target) = identity(code).map_err(in_object)?;
        let segments = segment::read(code).map_err(in_object)?;
        let relro = segment::relro(code);
        let tables = symbol::Tables::read(code, index, &segments, &relro, names);
        let tables = tables.map_err(in_object)?;
        let relocations = relocation::read(code, &segments, &tables).map_err(in_object)?;
        let got = code
            .elf()
            .section_named(".got")
            .map(|section| section.address..section.address.saturating_add(section.size));
        let align = segments.iter().map(|it| it.align).max().unwrap_or(1).max(segment::PAGE);
        let object = Self {
            name: name.to_owned(),
            base: None,
            flags,
            target,
            segments,
            align,
            symbols: tables.entries,
            kernels: Vec::new(),
            relocations,
            got,
            is_linked: true,
            bytes: Cow::default(),
        };
        Ok((object, tables.kernels))
    }

    /// Reads an object that no linker has seen yet, for its symbols.
    pub(crate) fn read_relocatable(
        name: &str,
        bytes: Cow<'a, [u8]>,
        names: &mut Names,
    ) -> Result<Self> {
        let in_object = |error: Error| error.in_object(name);
        let code = CodeObject::parse(&bytes).map_err(|it| in_object(unreadable(&it)))?;
        let (flags, target) = identity(&code).map_err(in_object)?;
        let tables = symbol::Tables::read(&code, &code.index(), &[], &[], names);
        let tables = tables.map_err(in_object)?;
        let kernels = kernels(target, &tables.kernels).map_err(in_object)?;
        Ok(Self {
            name: name.to_owned(),
            base: None,
            flags,
            target,
            segments: Vec::new(),
            align: segment::PAGE,
            symbols: tables.entries,
            kernels,
            relocations: Vec::new(),
            got: None,
            is_linked: false,
            bytes,
        })
    }

    /// The file again; it was read once, so that it can be.
    pub(crate) fn code_object(&self) -> Result<CodeObject<'_>> {
        CodeObject::parse(&self.bytes).map_err(|error| unreadable(&error).in_object(&self.name))
    }

    /// From its lowest to its highest address, the lowest rounded down as segments are aligned.
    pub(crate) fn span(&self) -> Range<u64> {
        let start = self.segments.first().map_or(0, |it| it.address);
        let ends = self.segments.iter().map(|it| it.address.saturating_add(it.memory_size));
        start - start % self.align..ends.max().unwrap_or(start)
    }
}

/// What launches must know of kernels.
fn kernels(target: TargetId, located: &[Located<'_>]) -> Result<Vec<Kernel>> {
    let generation = target.processor.generation();
    let kernel = |it: &Located<'_>| {
        let missing = || {
            let detail = format!("the descriptor of `{}` is not there", it.name());
            refusal(ErrorKind::BadDescriptor, detail)
        };
        Kernel::new(it, generation).ok_or_else(missing)
    };
    located.iter().map(kernel).collect()
}

fn check_linked(code: &CodeObject<'_>) -> Result<()> {
    if code.is_relocatable() {
        let error = refusal(ErrorKind::NotLinked, "a relocatable file, not a shared object");
        return Err(error.at(16).with_help("link it first, with ld.lld -shared"));
    }
    let kind = code.elf().header().e_type;
    if kind != ET_DYN {
        let detail = format!("file type {kind}, not {ET_DYN} (a shared object)");
        return Err(refusal(ErrorKind::NotLinked, detail).at(16));
    }
    Ok(())
}

fn identity(code: &CodeObject<'_>) -> Result<(EFlags, TargetId)> {
    if !code.is_hsa() {
        let abi = code.elf().header().os_abi;
        let detail = format!("OS ABI {abi}, not 64 (HSA)");
        return Err(refusal(ErrorKind::NotHsa, detail).at(7));
    }
    let flags = code.e_flags();
    match code.target().id() {
        Some(target) => Ok((flags, target)),
        None => {
            let detail = format!("machine number {:#x} is no known processor", flags.mach());
            Err(refusal(ErrorKind::UnknownTarget, detail).at(48))
        }
    }
}
