//! The notes of an object, as `llvm-readelf --notes` shows them and as rows.

use std::io::{self, Write};

use hsaco_bytes::hex::encode as hex;
use hsaco_elf::note::{Note, NoteTable, sections, tables};
use hsaco_files::{ObjectItem, Trouble};
use hsaco_object::msgpack::Value;
use hsaco_object::note::{self, IsaVersion};
use hsaco_object::yaml::{Node, to_yaml};
use hsaco_object::{CodeObject, metadata};
use serde::Serialize;

use crate::Tree;

/// The notes of an object.
#[derive(Debug, Default, Serialize)]
pub struct Notes {
    /// In the order of the file.
    pub notes: Vec<NoteRow>,
}

/// A note.
#[derive(Debug, Serialize)]
pub struct NoteRow {
    /// Who defines its type.
    pub owner: String,
    /// A number of the owner's.
    #[serde(rename = "type")]
    pub kind: u32,
    /// The type's name.
    pub name: Option<&'static str>,
    /// Where it is in the object.
    pub offset: u64,
    /// Bytes of what it holds.
    pub size: usize,
    /// Metadata as a tree, other notes that hold text as text.
    pub content: Option<Tree>,
    /// What it holds, as hexadecimal.
    pub bytes: String,
}

impl Notes {
    /// Reads all notes.
    pub fn new(item: &ObjectItem<'_, '_>, trouble: &mut Trouble) -> Self {
        let Some(object) = &item.object else { return Self::default() };
        note_problems(item, object, trouble);
        let notes = object.notes().flatten().map(|it| NoteRow::new(&it, item, trouble));
        Self { notes: notes.collect() }
    }
}

impl NoteRow {
    fn new(note: &Note<'_>, item: &ObjectItem<'_, '_>, trouble: &mut Trouble) -> Self {
        let is_metadata = note.is(note::OWNER_AMDGPU, note::NT_AMDGPU_METADATA);
        let content = match is_metadata.then(|| Value::parse_at(note.desc, note.desc_offset)) {
            Some(Ok(document)) => Some(Tree::of(document)),
            Some(Err(error)) => {
                item.note(error, trouble);
                None
            }
            None if describe(note).is_some() => v2_text(note).map(|text| {
                Tree::Text(String::from_utf8_lossy(&text).trim_end_matches('\0').to_owned())
            }),
            None => None,
        };
        Self {
            owner: note.owner.to_string(),
            kind: note.kind,
            name: describe(note).map(|(name, _)| name),
            offset: note.offset,
            size: note.desc.len(),
            content,
            bytes: hex(note.desc),
        }
    }
}

fn note_problems(item: &ObjectItem<'_, '_>, object: &CodeObject<'_>, trouble: &mut Trouble) {
    object.problems().into_iter().for_each(|problem| item.note(problem, trouble));
}

/// The text that `llvm-readelf --notes` prints of an object; nothing for what is no object.
pub fn readelf(item: &ObjectItem<'_, '_>, trouble: &mut Trouble) -> Option<Vec<u8>> {
    let object = item.object.as_ref()?;
    note_problems(item, object, trouble);
    let mut text = Vec::new();
    write_notes(&mut text, object).ok()?;
    Some(text)
}

fn write_notes(text: &mut Vec<u8>, object: &CodeObject<'_>) -> io::Result<()> {
    // readelf prefers sections, which have names, over segments.
    let sections = sections(object.elf());
    let tables = if sections.is_empty() { tables(object.elf()) } else { sections };
    for (at, table) in tables.iter().flatten().enumerate() {
        if at > 0 {
            writeln!(text)?;
        }
        write_table(text, table)?;
    }
    Ok(())
}

fn write_table(out: &mut Vec<u8>, table: &NoteTable<'_>) -> io::Result<()> {
    match table.section {
        Some(name) => writeln!(out, "Displaying notes found in: {name}")?,
        None => writeln!(
            out,
            "Displaying notes found at file offset {:#010x} with length {:#010x}:",
            table.offset, table.size
        )?,
    }
    writeln!(out, "  Owner                Data size \tDescription")?;
    for note in table.notes().map_while(Result::ok) {
        write!(out, "  {:<20} {:#010x}\t", note.owner, note.desc.len())?;
        write_note(out, &note)?;
    }
    Ok(())
}

fn write_note(out: &mut Vec<u8>, note: &Note<'_>) -> io::Result<()> {
    let (name, title) = match describe(note) {
        Some(described) => described,
        None => return write_unknown(out, note),
    };
    writeln!(out, "{name} ({title})")?;
    if note.owner == note::OWNER_AMDGPU {
        return write_metadata(out, note, title);
    }
    writeln!(out, "    {title}:")?;
    out.write_all(b"        ")?;
    match v2_text(note) {
        Some(text) => out.write_all(&text)?,
        None => write!(out, "Invalid {title}")?,
    }
    writeln!(out)?;
    Ok(())
}

/// The name and title of a note that readelf knows how to show.
fn describe(note: &Note<'_>) -> Option<(&'static str, &'static str)> {
    if note.is(note::OWNER_AMDGPU, note::NT_AMDGPU_METADATA) {
        return Some(("NT_AMDGPU_METADATA", "AMDGPU Metadata"));
    }
    if note.owner != note::OWNER_AMD {
        return None;
    }
    Some(match note.kind {
        note::NT_AMD_HSA_CODE_OBJECT_VERSION => {
            ("NT_AMD_HSA_CODE_OBJECT_VERSION", "AMD HSA Code Object Version")
        }
        note::NT_AMD_HSA_HSAIL => ("NT_AMD_HSA_HSAIL", "AMD HSA HSAIL Properties"),
        note::NT_AMD_HSA_ISA_VERSION => ("NT_AMD_HSA_ISA_VERSION", "AMD HSA ISA Version"),
        note::NT_AMD_HSA_METADATA => ("NT_AMD_HSA_METADATA", "AMD HSA Metadata"),
        note::NT_AMD_HSA_ISA_NAME => ("NT_AMD_HSA_ISA_NAME", "AMD HSA ISA Name"),
        note::NT_AMD_PAL_METADATA => ("NT_AMD_PAL_METADATA", "AMD PAL Metadata"),
        _ => return None,
    })
}

/// The content of an `AMD` note; `None` when it is too short for its type.
fn v2_text(note: &Note<'_>) -> Option<Vec<u8>> {
    let text = match note.kind {
        note::NT_AMD_HSA_CODE_OBJECT_VERSION => {
            let (major, minor) = note::code_object_version(note.desc).ok()?;
            format!("[Major: {major}, Minor: {minor}]")
        }
        note::NT_AMD_HSA_HSAIL => hsail_text(note.desc)?,
        note::NT_AMD_HSA_ISA_VERSION => {
            let isa = IsaVersion::parse(note.desc).ok()?;
            format!(
                "[Vendor: {}, Architecture: {}, Major: {}, Minor: {}, Stepping: {}]",
                isa.vendor, isa.architecture, isa.major, isa.minor, isa.stepping
            )
        }
        note::NT_AMD_PAL_METADATA => pal_text(note.desc)?,
        note::NT_AMD_HSA_METADATA => {
            return Some(note.desc.split_last().map_or(&[][..], |(_, text)| text).to_vec());
        }
        _ => return Some(note.desc.to_vec()),
    };
    Some(text.into_bytes())
}

fn hsail_text(desc: &[u8]) -> Option<String> {
    let &[a, b, c, d, e, f, g, h, profile, model, rounding, _] = desc.first_chunk::<12>()?;
    let major = u32::from_le_bytes([a, b, c, d]);
    let minor = u32::from_le_bytes([e, f, g, h]);
    Some(format!(
        "[HSAIL Major: {major}, HSAIL Minor: {minor}, Profile: {profile}, \
         Machine Model: {model}, Default Float Round: {rounding}]"
    ))
}

/// Register and value pairs.
fn pal_text(desc: &[u8]) -> Option<String> {
    let (pairs, rest) = desc.as_chunks::<8>();
    let pair = |&[a, b, c, d, e, f, g, h]: &[u8; 8]| {
        let register = u32::from_le_bytes([a, b, c, d]);
        format!("[{register}: {}]", u32::from_le_bytes([e, f, g, h]))
    };
    rest.is_empty().then(|| pairs.iter().map(pair).collect())
}

fn write_metadata(out: &mut Vec<u8>, note: &Note<'_>, title: &str) -> io::Result<()> {
    if note.desc.is_empty() {
        return Ok(());
    }
    let document = match Value::parse_prefix(note.desc, note.desc_offset) {
        Ok(document) if is_container(document) => document,
        _ => return write_bytes(out, note.desc),
    };
    let Some(node) = node(document) else {
        return write_bytes(out, note.desc);
    };
    writeln!(out, "    {title}:")?;
    out.write_all(b"        ")?;
    // readelf holds only documents to the rules that speak of HSA somewhere.
    let is_hsa = note.desc.windows(7).any(|it| it == b"amdhsa.");
    if is_hsa && metadata::verify(document).is_err() {
        writeln!(out, "Invalid {title}")?;
    }
    writeln!(out, "{}", to_yaml(&node))?;
    Ok(())
}

fn is_container(value: Value<'_>) -> bool {
    matches!(value, Value::Array(_) | Value::Map(_))
}

/// A value as the YAML printer takes it; `None` for extensions, which LLVM does not print.
fn node(value: Value<'_>) -> Option<Node<'_>> {
    Some(match value {
        Value::Nil => Node::Nil,
        Value::Bool(value) => Node::Bool(value),
        Value::Int(value) => Node::Int(value),
        Value::UInt(value) => Node::UInt(value),
        Value::F32(value) => Node::Float(f64::from(value)),
        Value::F64(value) => Node::Float(value),
        Value::Str(text) => Node::Str(text),
        Value::Bin(bytes) => Node::Binary(bytes),
        Value::Ext(..) => return None,
        Value::Array(array) => {
            Node::Array(array.iter().map(|it| node(it.ok()?)).collect::<Option<_>>()?)
        }
        Value::Map(map) => {
            let mut entries = Vec::with_capacity(map.len());
            for it in map.iter() {
                let it = it.ok()?;
                entries.push((Node::Str(it.key), node(it.value)?));
            }
            Node::Map(entries)
        }
    })
}

fn write_unknown(out: &mut Vec<u8>, note: &Note<'_>) -> io::Result<()> {
    let generic = note.owner != note::OWNER_AMD && note.owner != note::OWNER_AMDGPU;
    match note.kind {
        3 if note.owner == "GNU" => {
            writeln!(out, "NT_GNU_BUILD_ID (unique build ID bitstring)")?;
            writeln!(out, "    Build ID: {}", hex(note.desc))?;
            return Ok(());
        }
        1 if generic => writeln!(out, "NT_VERSION (version)")?,
        2 if generic => writeln!(out, "NT_ARCH (architecture)")?,
        0x100 if generic => writeln!(out, "OPEN")?,
        0x101 if generic => writeln!(out, "func")?,
        kind => writeln!(out, "Unknown note type: ({kind:#010x})")?,
    }
    match note.desc {
        [] => Ok(()),
        desc => write_bytes(out, desc),
    }
}

fn write_bytes(out: &mut Vec<u8>, bytes: &[u8]) -> io::Result<()> {
    out.write_all(b"   description data:")?;
    for byte in bytes {
        write!(out, " {byte:02x}")?;
    }
    writeln!(out)?;
    Ok(())
}
