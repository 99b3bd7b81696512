//! What `info` says of an object: the JSON shape, which the text is made from too.

use hsaco::elf::relocation::Relocation;
use hsaco::elf::symbol::Symbol;
use hsaco::elf::{Section, Segment, section_type_name, segment_type_name};
use hsaco::object::metadata::Metadata;
use hsaco::object::note::{self, IsaVersion, Note};
use hsaco::object::{CodeObject, Index, Kernel, SymbolKind};
use serde::Serialize;
use serde_json::Value;

use crate::json::{entries_to_json, hex, map_to_json};
use crate::report::Trouble;
use crate::scan::ObjectItem;
use crate::schema;
use crate::verb::ls::{kernel_row, kind_name, source_name};

/// One object of `info`, without what there may be a million of: kernels, symbols, relocations.
#[derive(Serialize)]
pub(super) struct ObjectInfo {
    pub(super) index: usize,
    pub(super) entry_id: Option<String>,
    pub(super) offset: Option<u64>,
    pub(super) size: u64,
    pub(super) target: Option<String>,
    pub(super) abi_version: Option<u8>,
    pub(super) code_object_version: Option<u8>,
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    #[serde(flatten)]
    pub(super) elf: Option<ElfInfo>,
}

/// What only a code object has.
#[derive(Serialize)]
pub(super) struct ElfInfo {
    pub(super) os_abi: u8,
    pub(super) e_flags: u32,
    pub(super) e_flags_text: String,
    pub(super) generic_version: u8,
    pub(super) symbol_source: Option<&'static str>,
    pub(super) segments: Vec<SegmentInfo>,
    pub(super) sections: Vec<SectionInfo>,
    pub(super) notes: Vec<NoteInfo>,
    pub(super) metadata: MetadataInfo,
}

#[derive(Serialize)]
pub(super) struct SegmentInfo {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) flags: String,
    pub(super) offset: u64,
    pub(super) address: u64,
    pub(super) file_size: u64,
    pub(super) memory_size: u64,
    pub(super) align: u64,
}

#[derive(Serialize)]
pub(super) struct SectionInfo {
    pub(super) index: u32,
    pub(super) name: String,
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) flags: String,
    pub(super) address: u64,
    pub(super) offset: u64,
    pub(super) size: u64,
    pub(super) link: u32,
    pub(super) info: u32,
    pub(super) align: u64,
    pub(super) entry_size: u64,
}

#[derive(Serialize)]
pub(super) struct NoteInfo {
    pub(super) owner: String,
    #[serde(rename = "type")]
    pub(super) kind: u32,
    pub(super) offset: u64,
    pub(super) size: usize,
    pub(super) text: Option<String>,
}

#[derive(Serialize)]
pub(super) struct MetadataInfo {
    pub(super) notes: usize,
    pub(super) version: Option<[u64; 2]>,
    pub(super) target: Option<String>,
    pub(super) printf: Vec<String>,
    pub(super) unknown: Value,
}

#[derive(Serialize)]
pub(super) struct KernelInfo<'a> {
    #[serde(flatten)]
    pub(super) row: schema::Kernel<'a>,
    pub(super) metadata: Option<Value>,
    pub(super) descriptor_bytes: Option<String>,
    #[serde(serialize_with = "fields_in_order")]
    pub(super) descriptor_fields: Option<Vec<(&'static str, u64)>>,
    pub(super) directives: Option<Vec<String>>,
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

#[derive(Serialize)]
pub(super) struct SymbolInfo {
    pub(super) name: String,
    pub(super) demangled: String,
    pub(super) kind: &'static str,
    pub(super) value: u64,
    pub(super) size: u64,
    #[serde(rename = "type")]
    pub(super) elf_type: u8,
    pub(super) binding: &'static str,
    pub(super) visibility: &'static str,
    pub(super) section: u32,
}

#[derive(Serialize)]
pub(super) struct RelocationInfo {
    pub(super) offset: u64,
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) symbol: Option<String>,
    pub(super) addend: i64,
    pub(super) section: Option<u32>,
}

impl ObjectInfo {
    pub(super) fn new(item: &ObjectItem<'_, '_>, index: &Index<'_>) -> Self {
        let object = item.object.as_ref();
        let version = |it: &CodeObject<'_>| it.abi_version().code_object_version();
        Self {
            index: item.number,
            entry_id: item.entry.id.clone(),
            offset: item.entry.offset,
            size: item.entry.data.len() as u64,
            target: item.target.clone(),
            abi_version: object.map(|it| it.elf().header().abi_version),
            code_object_version: object.filter(|it| it.is_hsa()).and_then(version),
            kind: kind_name(item.entry.kind, object),
            elf: object.map(|it| ElfInfo::new(it, index)),
        }
    }
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

/// The symbols of an object, each when it is asked for.
pub(super) fn symbols(object: &CodeObject<'_>) -> impl Iterator<Item = SymbolInfo> {
    let table = object.symbol_table().ok().flatten();
    let is_v2 = object.is_v2();
    let symbols = table.into_iter().flat_map(|it| it.iter().flatten());
    symbols.map(move |it| SymbolInfo::new(&it, is_v2))
}

impl SegmentInfo {
    pub(super) fn new(segment: &Segment) -> Self {
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
    pub(super) fn new(section: &Section<'_>) -> Self {
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
    pub(super) fn new(note: &Note<'_>) -> Self {
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
    pub(super) fn new(metadata: &Metadata<'_>) -> Self {
        Self {
            notes: metadata.documents(),
            version: metadata.version().map(|(major, minor)| [major, minor]),
            target: metadata.target().map(|it| it.to_string()),
            printf: metadata.printf().iter().map(ToString::to_string).collect(),
            unknown: entries_to_json(metadata.unknown()),
        }
    }
}

impl<'a> KernelInfo<'a> {
    pub(super) fn new(
        kernel: &Kernel<'a>,
        object: &CodeObject<'_>,
        item: &ObjectItem<'_, '_>,
        trouble: &mut Trouble,
    ) -> Self {
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
            row: kernel_row(kernel, generation, item, trouble),
            metadata: kernel.metadata().and_then(|it| it.map().ok()).map(|it| map_to_json(&it)),
            descriptor_bytes: descriptor.map(|it| hex(&it.to_bytes())),
            descriptor_fields: fields,
            directives,
        }
    }
}

impl SymbolInfo {
    pub(super) fn new(symbol: &Symbol<'_>, is_v2: bool) -> Self {
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
    pub(super) fn new(relocation: &Relocation<'_>) -> Self {
        Self {
            offset: relocation.offset,
            kind: relocation.kind.to_string(),
            symbol: Some(relocation.symbol_name.to_string()).filter(|it| !it.is_empty()),
            addend: relocation.addend,
            section: relocation.section,
        }
    }
}
