//! All objects as one: a code object that any loader takes, with nothing left to resolve.
//!
//! Every object keeps its own distances, so its sections move together. The tables of the dynamic linker are made
//! anew, the metadata becomes one note. Debug information is not kept: its addresses would no longer be right.

use std::collections::HashSet;
use std::ops::Range;

use hsaco_bytes::{Id as _, memory};
use hsaco_elf::relocation::{Encoding, RelocationType};
use hsaco_elf::symbol::{Binding, SHN_ABS, SHN_AMDGPU_LDS};
use hsaco_elf::{
    PF_W, SHF_ALLOC, SHF_EXECINSTR, SHF_WRITE, SHT_DYNAMIC, SHT_DYNSYM, SHT_GNU_HASH, SHT_HASH,
    SHT_NOBITS, SHT_NOTE, SHT_PROGBITS, SHT_STRTAB, Section,
};
use hsaco_isa::target::{AbiVersion, EFlags};
use hsaco_object::CodeObject;
use hsaco_object::note::{NT_AMDGPU_METADATA, OWNER_AMDGPU};
use hsaco_object::write::{
    Builder, Identity, MetadataEdit, NewRelocation, NewSection, NewSymbol, PAGE,
};

use crate::error::{ErrorKind, Errors, Result, refusal, unreadable};
use crate::executable::Executable;
use crate::id::{Deltas, ObjectId};
use crate::image::{self, Applied, Image};
use crate::object::{Entry, Object, Place};
use crate::raise::Raise;
use crate::relocate::Rule;
use crate::resolve::Bound;
use crate::symbol::Symbol;

const RELATIVE64: RelocationType = RelocationType(13);

/// One object made of all, and how far each was moved in it.
pub(crate) struct Linked {
    pub(crate) bytes: Vec<u8>,
    pub(crate) deltas: Deltas,
    /// Places that hold the address of what the caller defined, with its number.
    pub(crate) definitions: Vec<(u64, u32)>,
}

/// What the object is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To be loaded: with metadata.
    Loading,
    /// To be looked at: code and data are enough.
    Analysis,
}

impl Executable<'_> {
    /// One code object of all: with one note, all their symbols, and nothing left to resolve. Kernels that were
    /// raised are so in descriptor and metadata.
    ///
    /// ```
    /// use hsaco_load::{Executable, Freeze};
    /// # let file = std::fs::read("../../tests/fixtures/s1.gfx942.co")?;
    /// let mut executable = Executable::new(None);
    /// executable.load("s1.co", file)?;
    /// executable.freeze(Freeze::default())?;
    /// let linked = executable.link()?;
    /// let object = hsaco_object::CodeObject::parse(&linked)?;
    /// assert_eq!(object.index().kernels().len(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The executable is not frozen, or its metadata cannot become one note.
    pub fn link(&self) -> std::result::Result<Vec<u8>, Errors> {
        let raises: Vec<Raise> = self.raises().iter().filter(|it| it.is_applied).cloned().collect();
        Ok(self::link(self, &raises, Purpose::Loading)?.bytes)
    }
}

/// Makes one object of all those of a frozen executable.
pub(crate) fn link(
    executable: &Executable<'_>,
    raises: &[Raise],
    purpose: Purpose,
) -> std::result::Result<Linked, Errors> {
    let Some(frozen) = &executable.frozen else {
        return Err(refusal(ErrorKind::NotFrozen, "linking: the executable is not frozen").into());
    };
    let files = executable.objects.iter().map(Object::code_object).collect::<Result<Vec<_>>>()?;
    let parts: Vec<Vec<Part>> =
        executable.objects.iter().zip(&files).map(|(object, file)| parts(object, file)).collect();
    let deltas = image::place(&executable.objects, first_address(&parts), |_| None)?;
    let (mut images, log) = executable.images(&deltas, &frozen.bound)?;
    for raise in raises {
        raise.write(&mut images);
    }
    let mut linker = Linker::new(executable, &deltas)?;
    for (number, (parts, image)) in parts.iter().zip(&images).enumerate() {
        linker.add_sections(number, parts, image)?;
    }
    linker.add_symbols(&frozen.bound);
    linker.add_relocations(&log)?;
    if purpose == Purpose::Loading {
        linker.add_metadata(&files, raises)?;
    }
    let mut definitions = linker.definitions;
    definitions.sort_unstable();
    let bytes = linker.builder.finish().map_err(|error| unreadable(&error))?;
    Ok(Linked { bytes, deltas, definitions })
}

/// A piece of an object that is mapped.
struct Part {
    name: String,
    kind: u32,
    flags: u64,
    align: u64,
    entry_size: u64,
    range: Range<u64>,
}

/// What of an object is kept: its sections but those of the dynamic linker, else its segments.
fn parts(object: &Object<'_>, file: &CodeObject<'_>) -> Vec<Part> {
    let sections = file.elf().sections();
    if sections.is_empty() {
        return object.segments.iter().flat_map(of_segment).collect();
    }
    let kept = sections.iter().filter(|it| is_kept(it));
    let mut parts: Vec<Part> = kept.map(of_section).collect();
    parts.sort_by_key(|it| (it.range.start, it.range.end));
    parts
}

fn is_kept(section: &Section<'_>) -> bool {
    let is_table = matches!(
        section.kind,
        SHT_DYNSYM | SHT_STRTAB | SHT_HASH | SHT_GNU_HASH | SHT_DYNAMIC | SHT_NOTE
    ) || Encoding::of_section(section.kind).is_some();
    section.flags & SHF_ALLOC != 0 && !is_table && section.size != 0
}

fn of_section(section: &Section<'_>) -> Part {
    Part {
        name: section.name.to_string(),
        kind: section.kind,
        flags: section.flags & (SHF_ALLOC | SHF_EXECINSTR | SHF_WRITE),
        align: section.align,
        entry_size: section.entry_size,
        range: section.address..section.address.saturating_add(section.size),
    }
}

/// The bytes of a segment, and the zeros behind them.
fn of_segment(segment: &hsaco_elf::Segment) -> impl Iterator<Item = Part> {
    let (name, zeros, flags) = match (segment.is_executable(), segment.flags & PF_W != 0) {
        (true, _) => (".text", ".text.zero", SHF_EXECINSTR),
        (false, true) => (".data", ".bss", SHF_WRITE),
        (false, false) => (".rodata", ".rodata.zero", 0),
    };
    let (align, start) = (segment.align.max(1), segment.address);
    let middle = start.saturating_add(segment.file_size);
    let end = start.saturating_add(segment.memory_size);
    let part = move |name: &str, kind, align, range| Part {
        name: name.to_owned(),
        kind,
        flags: flags | SHF_ALLOC,
        align,
        entry_size: 0,
        range,
    };
    let parts =
        [part(name, SHT_PROGBITS, align, start..middle), part(zeros, SHT_NOBITS, 1, middle..end)];
    parts.into_iter().filter(|it| !it.range.is_empty())
}

/// The first address behind the headers, which are as many as there are parts at most, and a few.
fn first_address(parts: &[Vec<Part>]) -> u64 {
    const HEADER: u64 = 64;
    const SEGMENT: u64 = 56;
    const OTHERS: u64 = 8;
    let count: usize = parts.iter().map(Vec::len).sum();
    (HEADER + SEGMENT * (count as u64 + OTHERS)).next_multiple_of(PAGE)
}

struct Linker<'l, 'a> {
    executable: &'l Executable<'a>,
    deltas: &'l Deltas,
    builder: Builder<'l>,
    /// Where the parts of each object are in the new one, and their numbers there.
    placed: Vec<Vec<(Range<u64>, u32)>>,
    /// The number of each symbol in the new object.
    symbols: Vec<Vec<Option<usize>>>,
    definitions: Vec<(u64, u32)>,
}

impl<'l, 'a> Linker<'l, 'a> {
    fn new(executable: &'l Executable<'a>, deltas: &'l Deltas) -> Result<Self> {
        let (Some(flags), Some(first)) = (executable.e_flags(), executable.objects.first()) else {
            return Err(refusal(ErrorKind::NotFound, "linking: there is no object"));
        };
        let header = *first.code_object()?.elf().header();
        let identity =
            Identity { os_abi: header.os_abi, abi_version: header.abi_version, flags: flags.raw() };
        Ok(Self {
            executable,
            deltas,
            builder: Builder::new(identity),
            placed: Vec::new(),
            symbols: Vec::new(),
            definitions: Vec::new(),
        })
    }

    fn delta(&self, object: usize) -> u64 {
        self.deltas[ObjectId::new(object)]
    }

    fn add_sections(&mut self, object: usize, parts: &[Part], image: &Image) -> Result<()> {
        let delta = self.delta(object);
        let mut placed = Vec::with_capacity(parts.len());
        for part in parts {
            let address = part.range.start.wrapping_add(delta);
            let size = part.range.end - part.range.start;
            let content = match part.kind {
                SHT_NOBITS => Vec::new(),
                _ => file_bytes(image, address, size)?,
            };
            let number = self.builder.section(NewSection {
                name: part.name.clone(),
                kind: part.kind,
                flags: part.flags,
                address,
                align: part.align,
                entry_size: part.entry_size,
                content: content.into(),
                memory_size: size,
            });
            placed.push((address..address.wrapping_add(size), number));
        }
        self.placed.push(placed);
        Ok(())
    }

    /// The section of the new object that an address is in, or right behind.
    fn section_at(&self, object: usize, address: u64) -> Option<u32> {
        let placed = self.placed.get(object)?;
        let after = placed.partition_point(|(range, _)| range.start <= address);
        let (range, number) = placed.get(after.checked_sub(1)?)?;
        (address <= range.end).then_some(*number)
    }

    fn add_symbols(&mut self, bound: &[Vec<Bound>]) {
        for (number, (object, bound)) in self.executable.objects.iter().zip(bound).enumerate() {
            let all = object.symbols.iter().zip(bound).zip(0_u32..);
            let written = all.map(|((entry, bound), symbol)| {
                let own = Bound::Symbol { object: u32::try_from(number).unwrap_or(0), symbol };
                let is_provider = *bound == own;
                let symbol = self.symbol(number, entry, is_provider)?;
                Some(self.builder.symbol(symbol))
            });
            let written = written.collect();
            self.symbols.push(written);
        }
    }

    /// A symbol as the new object has it: what does not provide its name stays local.
    fn symbol(&self, object: usize, entry: &Entry, is_provider: bool) -> Option<NewSymbol> {
        let (value, section) = match entry.place {
            Place::Elsewhere => return None,
            Place::Number(value) => (value, SHN_ABS),
            Place::Lds(align) => (align, SHN_AMDGPU_LDS),
            Place::Memory(address) => {
                let address = address.wrapping_add(self.delta(object));
                (address, self.section_at(object, address)?)
            }
        };
        let is_exported = entry.is_exported() && is_provider;
        Some(NewSymbol {
            name: self.executable.names.name(entry.name).as_bytes().to_vec(),
            value,
            size: entry.size,
            kind: entry.file_type,
            binding: if is_exported { entry.binding } else { Binding::Local },
            visibility: entry.visibility,
            section,
        })
    }

    /// What the loader still has to do: add where the object is to every address in it.
    fn add_relocations(&mut self, log: &[Applied]) -> Result<()> {
        let dynamic: HashSet<u64> =
            log.iter().filter(|it| !it.is_static).map(|it| it.place).collect();
        for applied in log {
            if applied.is_static && dynamic.contains(&applied.place) {
                continue;
            }
            if let Some(Bound::Definition(number)) = applied.bound {
                self.definitions.push((applied.place, number));
            }
            if !applied.is_moved {
                continue;
            }
            match Rule::of(applied.kind, applied.is_static) {
                Some(Rule::Absolute64 | Rule::Moved) => {
                    let addend = applied.value.cast_signed();
                    let (offset, kind) = (applied.place, RELATIVE64);
                    self.builder.relocation(NewRelocation { offset, kind, symbol: None, addend });
                }
                Some(Rule::AbsoluteLow | Rule::AbsoluteHigh | Rule::Absolute32) => {
                    self.keep(applied)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Half an address has no relocation without a symbol.
    fn keep(&mut self, applied: &Applied) -> Result<()> {
        let symbol = match applied.bound {
            Some(Bound::Symbol { object, symbol }) => {
                let exported =
                    self.executable.symbol_at(object, symbol).filter(Symbol::is_exported);
                let numbers = exported.and(self.symbols.get(object as usize));
                numbers.and_then(|it| it.get(symbol as usize).copied().flatten())
            }
            _ => None,
        };
        let Some(symbol) = symbol else {
            let detail = format!(
                "{} at {:#x} needs a symbol that the loader sees, and has none",
                applied.kind, applied.place
            );
            return Err(refusal(ErrorKind::UnsupportedRelocation, detail));
        };
        let (offset, kind, addend) = (applied.place, applied.kind, applied.addend);
        self.builder.relocation(NewRelocation { offset, kind, symbol: Some(symbol), addend });
        Ok(())
    }

    /// The metadata of all objects in one note, raised where kernels were.
    fn add_metadata(&mut self, files: &[CodeObject<'_>], raises: &[Raise]) -> Result<()> {
        let mut merged: Option<MetadataEdit<'_>> = None;
        for (number, (file, object)) in files.iter().zip(&self.executable.objects).enumerate() {
            let conflict = |error: hsaco_bytes::Error| {
                let kind = match error.kind() {
                    hsaco_bytes::ErrorKind::Unsupported => ErrorKind::UnsupportedMetadata,
                    _ => ErrorKind::MetadataConflict,
                };
                refusal(kind, error.detail()).in_object(&object.name)
            };
            let mut metadata = MetadataEdit::of(file).map_err(conflict)?;
            for raise in raises.iter().filter(|it| it.object.index() == number) {
                raise.write_metadata(&mut metadata).map_err(conflict)?;
            }
            if metadata.documents() == 0 {
                continue;
            }
            match &mut merged {
                Some(merged) => merged.append(&metadata).map_err(conflict)?,
                None => merged = Some(metadata),
            }
        }
        let Some(mut merged) = merged else { return Ok(()) };
        let unreadable = |error: hsaco_bytes::Error| unreadable(&error);
        let has_target = !matches!(self.abi(), AbiVersion::V2 | AbiVersion::V3);
        if let Some(target) = self.executable.target().filter(|_| has_target) {
            let target = format!("amdgcn-amd-amdhsa--{target}");
            merged.set_root("amdhsa.target", target.as_str()).map_err(unreadable)?;
        }
        let document = merged.to_document().map_err(unreadable)?;
        self.builder.note(OWNER_AMDGPU, NT_AMDGPU_METADATA, &document).map_err(unreadable)
    }

    fn abi(&self) -> AbiVersion {
        self.executable.e_flags().map_or(AbiVersion::V6, EFlags::abi)
    }
}

/// `size` bytes of memory at an address, as many as the file has of them.
fn file_bytes(image: &Image, address: u64, size: u64) -> Result<Vec<u8>> {
    let Some(segment) = image.segments.iter().find(|it| it.range().contains(&address)) else {
        return Ok(Vec::new());
    };
    let start = usize::try_from(address - segment.address).unwrap_or(usize::MAX);
    let have = segment.bytes.get(start..).unwrap_or_default();
    let have = have.get(..usize::try_from(size).unwrap_or(usize::MAX)).unwrap_or(have);
    memory::copy(have, "section").map_err(|error| unreadable(&error))
}
