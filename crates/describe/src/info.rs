//! Everything about an object and its kernels.

mod text;

use std::collections::BTreeMap;

use crate::source_name;
use hsaco_bytes::hex::encode as hex;
use hsaco_elf::note::Note;
use hsaco_elf::relocation::Relocation;
use hsaco_elf::symbol::Symbol;
use hsaco_elf::{Section, Segment, section_type_name, segment_type_name};
use hsaco_files::{KernelSelection, ObjectItem, Trouble, parallel};
use hsaco_object::metadata::Metadata;
use hsaco_object::note::{self, IsaVersion};
use hsaco_object::{CodeObject, Index, Kernel, SymbolKind};
use serde::ser::SerializeSeq as _;
use serde::{Serialize, Serializer};

use crate::Tree;
use crate::list::{KernelRow, ObjectRow};

/// Kernels whose rows are in memory at a time.
const AT_ONCE: usize = 512;
/// Kernels that are looked at together.
const TOGETHER: usize = 64;

/// An object that was looked at. What there may be a million of, kernels, symbols and relocations, is read when it is
/// asked for.
#[derive(Debug)]
pub struct Info<'e> {
    item: ObjectItem<'e, 'e>,
    index: Index<'e>,
    /// The wanted kernels, by number.
    wanted: Vec<usize>,
    problems: Vec<String>,
}

impl<'e> Info<'e> {
    /// Looks at an object, and notes all that is wrong with it and its wanted kernels.
    pub fn new(
        item: &ObjectItem<'e, '_>,
        kernels: &KernelSelection,
        trouble: &mut Trouble,
    ) -> Self {
        let item = ObjectItem::new(item.number, item.entry, &mut Trouble::default());
        let mut info =
            Self { item, index: Index::default(), wanted: Vec::new(), problems: Vec::new() };
        let Some(object) = &info.item.object else { return info };
        info.index = object.index();
        let mut problems = object.problems();
        problems.extend_from_slice(info.index.problems());
        problems.extend(object.relocations().1);
        for problem in problems {
            info.problems.push(info.item.located(problem.clone()).to_string());
            info.item.note(problem, trouble);
        }
        let names = info.index.kernels().iter().map(Kernel::name).enumerate();
        info.wanted = names.filter(|(_, it)| kernels.wants(*it)).map(|(at, _)| at).collect();
        let wanted: Vec<_> = info.kernels().collect();
        let parts: Vec<_> = wanted.chunks(TOGETHER).collect();
        let noted = parallel::map(&parts, TOGETHER, |part| {
            let mut trouble = Trouble::default();
            part.iter().for_each(|kernel| info.note_problems(object, kernel, &mut trouble));
            trouble
        });
        noted.into_iter().for_each(|it| trouble.append(it));
        info
    }

    fn note_problems(&self, object: &CodeObject<'_>, kernel: &Kernel<'_>, trouble: &mut Trouble) {
        let (_, metadata) = kernel.resources(object.target().generation());
        let decoded = kernel.metadata().and_then(|it| it.decode().ok());
        let arguments = decoded.and_then(|it| it.arguments());
        let unread = arguments.into_iter().flatten().filter_map(Result::err);
        for error in metadata.err().into_iter().chain(unread) {
            self.item.note_kernel(kernel.name(), error, trouble);
        }
    }

    /// The object, unless the entry is something else.
    #[must_use]
    pub fn object(&self) -> Option<&CodeObject<'e>> {
        self.item.object.as_ref()
    }

    /// `V6`, or the platform's name.
    #[must_use]
    pub fn version(&self) -> Option<String> {
        self.item.version_name()
    }

    /// The wanted kernels.
    pub fn kernels(&self) -> impl Iterator<Item = &Kernel<'e>> {
        self.wanted.iter().filter_map(|&at| self.index.kernels().get(at))
    }

    /// Everything about a kernel.
    #[must_use]
    pub fn kernel<'k>(&self, kernel: &Kernel<'k>) -> Option<KernelInfo<'k>> {
        Some(KernelInfo::new(kernel, self.object()?))
    }

    /// What is said of the object itself.
    #[must_use]
    pub fn elf(&self) -> Option<ElfInfo> {
        Some(ElfInfo::new(self.object()?, &self.index))
    }

    /// Its symbols, each read when it is asked for.
    pub fn symbols(&self) -> impl Iterator<Item = SymbolInfo> {
        self.object().into_iter().flat_map(symbols)
    }

    /// Its relocations.
    #[must_use]
    pub fn relocations(&self) -> Vec<RelocationInfo> {
        let all = self.object().map(|it| it.relocations().0).unwrap_or_default();
        all.iter().map(RelocationInfo::new).collect()
    }
}

impl Serialize for Info<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let lists = self.object().map(|_| Lists {
            kernels: Kernels(self),
            symbols: Symbols(self),
            relocations: self.relocations(),
        });
        let head = ObjectRow::new(&self.item);
        Whole { head, elf: self.elf(), lists, problems: &self.problems }.serialize(serializer)
    }
}

#[derive(Serialize)]
struct Whole<'i, 'e> {
    #[serde(flatten)]
    head: ObjectRow<'i>,
    #[serde(flatten)]
    elf: Option<ElfInfo>,
    #[serde(flatten)]
    lists: Option<Lists<'i, 'e>>,
    problems: &'i [String],
}

#[derive(Serialize)]
struct Lists<'i, 'e> {
    kernels: Kernels<'i, 'e>,
    symbols: Symbols<'i, 'e>,
    relocations: Vec<RelocationInfo>,
}

/// Kernels, read on every core and a few at a time.
struct Kernels<'i, 'e>(&'i Info<'e>);

impl Serialize for Kernels<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let kernels: Vec<_> = self.0.kernels().collect();
        let mut list = serializer.serialize_seq(None)?;
        for some in kernels.chunks(AT_ONCE) {
            let rows = parallel::map(some, TOGETHER, |kernel| self.0.kernel(kernel));
            rows.iter().flatten().try_for_each(|row| list.serialize_element(row))?;
        }
        list.end()
    }
}

struct Symbols<'i, 'e>(&'i Info<'e>);

impl Serialize for Symbols<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.symbols())
    }
}

/// What only a code object has.
#[derive(Debug, Serialize)]
pub struct ElfInfo {
    /// The OS ABI of the header.
    pub os_abi: u8,
    /// The flags of the header.
    pub e_flags: u32,
    /// The same in words, as llvm-readelf has them.
    pub e_flags_text: String,
    /// Of a generic target.
    pub generic_version: u8,
    /// Where symbols come from.
    pub symbol_source: Option<&'static str>,
    /// In the order of the table.
    pub segments: Vec<SegmentInfo>,
    /// In the order of the table.
    pub sections: Vec<SectionInfo>,
    /// In the order of the file.
    pub notes: Vec<NoteInfo>,
    /// What the notes say.
    pub metadata: MetadataInfo,
}

/// A segment.
#[derive(Debug, Serialize)]
pub struct SegmentInfo {
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// As letters.
    pub flags: String,
    /// Where it is in the object.
    pub offset: u64,
    /// Where it is in memory.
    pub address: u64,
    /// Its bytes in the file.
    pub file_size: u64,
    /// Its bytes in memory.
    pub memory_size: u64,
    /// Its alignment.
    pub align: u64,
}

/// A section.
#[derive(Debug, Serialize)]
pub struct SectionInfo {
    /// Its number.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// As letters.
    pub flags: String,
    /// Where it is in memory.
    pub address: u64,
    /// Where it is in the object.
    pub offset: u64,
    /// Its bytes.
    pub size: u64,
    /// Another section.
    pub link: u32,
    /// What the type makes of it.
    pub info: u32,
    /// Its alignment.
    pub align: u64,
    /// Bytes of each of its entries.
    pub entry_size: u64,
}

/// A note.
#[derive(Debug, Serialize)]
pub struct NoteInfo {
    /// Who defines its type.
    pub owner: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: u32,
    /// Where it is in the object.
    pub offset: u64,
    /// Its bytes.
    pub size: usize,
    /// What it says, in words.
    pub text: Option<String>,
}

/// What the notes say of all kernels.
#[derive(Debug, Serialize)]
pub struct MetadataInfo {
    /// How many there were.
    pub notes: usize,
    /// Major and minor.
    pub version: Option<[u64; 2]>,
    /// The target id.
    pub target: Option<String>,
    /// Formats of printf.
    pub printf: Vec<String>,
    /// Keys that have no row of their own.
    pub unknown: BTreeMap<String, Tree>,
}

/// A kernel.
#[derive(Debug, Serialize)]
pub struct KernelInfo<'a> {
    /// As a listing has it.
    #[serde(flatten)]
    pub row: KernelRow<'a>,
    /// All keys of its metadata.
    pub metadata: Option<BTreeMap<String, Tree>>,
    /// The descriptor, as hexadecimal.
    pub descriptor_bytes: Option<String>,
    /// Its fields, in the order of the bits.
    #[serde(serialize_with = "fields_in_order")]
    pub descriptor_fields: Option<Vec<(&'static str, u64)>>,
    /// The directives that make it.
    pub directives: Option<Vec<String>>,
}

/// A map whose order is that of the bits.
fn fields_in_order<S: serde::Serializer>(
    fields: &Option<Vec<(&'static str, u64)>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match fields {
        Some(fields) => serializer.collect_map(fields.iter().copied()),
        None => serializer.serialize_none(),
    }
}

/// A symbol.
#[derive(Debug, Serialize)]
pub struct SymbolInfo {
    /// Its name.
    pub name: String,
    /// The name in the source.
    pub demangled: String,
    /// Its type.
    pub kind: &'static str,
    /// Its value.
    pub value: u64,
    /// Its bytes.
    pub size: u64,
    /// As the symbol table has it.
    #[serde(rename = "type")]
    pub elf_type: u8,
    /// Who sees it.
    pub binding: &'static str,
    /// Who sees it of those.
    pub visibility: &'static str,
    /// The section that it is in.
    pub section: u32,
}

/// A relocation.
#[derive(Debug, Serialize)]
pub struct RelocationInfo {
    /// Where it is in the object.
    pub offset: u64,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// What it refers to.
    pub symbol: Option<String>,
    /// What is added to that.
    pub addend: i64,
    /// The section that it is in.
    pub section: Option<u32>,
}

impl ElfInfo {
    fn new(object: &CodeObject<'_>, index: &Index<'_>) -> Self {
        let table = object.symbol_table().ok().flatten();
        Self {
            os_abi: object.elf().header().os_abi,
            e_flags: object.elf().header().flags,
            e_flags_text: object.e_flags().readelf_text(),
            generic_version: object.e_flags().generic_version(),
            symbol_source: table.map(|it| it.source().name()),
            segments: object.elf().segments().iter().map(SegmentInfo::new).collect(),
            sections: object.elf().sections().iter().map(SectionInfo::new).collect(),
            notes: object.notes().flatten().map(|it| NoteInfo::new(&it)).collect(),
            metadata: MetadataInfo::new(index.metadata()),
        }
    }
}

fn symbols(object: &CodeObject<'_>) -> impl Iterator<Item = SymbolInfo> {
    let table = object.symbol_table().ok().flatten();
    let is_v2 = object.is_v2();
    let symbols = table.into_iter().flat_map(|it| it.iter().flatten());
    symbols.map(move |it| SymbolInfo::new(&it, is_v2))
}

impl SegmentInfo {
    fn new(segment: &Segment) -> Self {
        let kind = segment_type_name(segment.kind).map(str::to_owned);
        Self {
            kind: kind.unwrap_or_else(|| format!("{:#x}", segment.kind)),
            flags: flag_letters(u64::from(segment.flags), &[(4, 'R'), (2, 'W'), (1, 'X')]),
            offset: segment.offset,
            address: segment.address,
            file_size: segment.file_size,
            memory_size: segment.memory_size,
            align: segment.align,
        }
    }
}

impl SectionInfo {
    fn new(section: &Section<'_>) -> Self {
        let kind = section_type_name(section.kind).map(str::to_owned);
        Self {
            index: section.index,
            name: section.name.to_string(),
            kind: kind.unwrap_or_else(|| format!("{:#x}", section.kind)),
            flags: flag_letters(
                section.flags,
                &[(1, 'W'), (2, 'A'), (4, 'X'), (16, 'M'), (32, 'S')],
            ),
            address: section.address,
            offset: section.offset,
            size: section.size,
            link: section.link,
            info: section.info,
            align: section.align,
            entry_size: section.entry_size,
        }
    }
}

fn flag_letters(flags: u64, letters: &[(u64, char)]) -> String {
    letters.iter().filter(|(bit, _)| flags & bit != 0).map(|(_, letter)| letter).collect()
}

impl NoteInfo {
    fn new(note: &Note<'_>) -> Self {
        Self {
            owner: note.owner.to_string(),
            kind: note.kind,
            offset: note.offset,
            size: note.desc.len(),
            text: note_text(note),
        }
    }
}

/// What a V2 note says, in words.
fn note_text(note: &Note<'_>) -> Option<String> {
    if note.owner != note::OWNER_AMD {
        return None;
    }
    match note.kind {
        note::NT_AMD_HSA_CODE_OBJECT_VERSION => {
            let (major, minor) = note::code_object_version(note.desc).ok()?;
            Some(format!("{major}.{minor}"))
        }
        note::NT_AMD_HSA_ISA_VERSION => Some(IsaVersion::parse(note.desc).ok()?.to_string()),
        note::NT_AMD_HSA_METADATA | note::NT_AMD_HSA_ISA_NAME => {
            let text = String::from_utf8_lossy(note.desc);
            Some(text.trim_end_matches('\0').to_owned())
        }
        _ => None,
    }
}

impl MetadataInfo {
    fn new(metadata: &Metadata<'_>) -> Self {
        Self {
            notes: metadata.documents(),
            version: metadata.version().map(|(major, minor)| [major, minor]),
            target: metadata.target().map(|it| it.to_string()),
            printf: metadata.printf().iter().map(ToString::to_string).collect(),
            unknown: Tree::entries(metadata.unknown()),
        }
    }
}

impl<'a> KernelInfo<'a> {
    fn new(kernel: &Kernel<'a>, object: &CodeObject<'_>) -> Self {
        let generation = object.target().generation();
        let version = object.abi_version().code_object_version().unwrap_or(6);
        let descriptor = kernel.descriptor();
        let described = descriptor.zip(generation);
        let fields = described.map(|(descriptor, generation)| {
            descriptor.fields(generation).map(|(field, value)| (field.name, value)).collect()
        });
        let directives = described.map(|(descriptor, generation)| {
            let lines = descriptor.directives(generation, version);
            lines.iter().map(ToString::to_string).collect()
        });
        Self {
            row: KernelRow::new(kernel, generation).0,
            metadata: kernel.metadata().and_then(|it| it.map().ok()).map(|it| Tree::map(&it)),
            descriptor_bytes: descriptor.map(|it| hex(&it.to_bytes())),
            descriptor_fields: fields,
            directives,
        }
    }
}

impl SymbolInfo {
    fn new(symbol: &Symbol<'_>, is_v2: bool) -> Self {
        Self {
            name: symbol.name.to_string(),
            demangled: source_name(symbol.name).into_owned(),
            kind: SymbolKind::of(symbol, is_v2).name(),
            value: symbol.value,
            size: symbol.size,
            elf_type: symbol.kind,
            binding: symbol.binding.name(),
            visibility: symbol.visibility.name(),
            section: symbol.section,
        }
    }
}

impl RelocationInfo {
    fn new(relocation: &Relocation<'_>) -> Self {
        Self {
            offset: relocation.offset,
            kind: relocation.kind.to_string(),
            symbol: Some(relocation.symbol_name.to_string()).filter(|it| !it.is_empty()),
            addend: relocation.addend,
            section: relocation.section,
        }
    }
}
