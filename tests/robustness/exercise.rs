//! Reads everything that the library can read of some bytes, and holds each error to the rules.

use hsaco::bytes::Error;
use hsaco::container::{EntryKind, WalkOptions, entries};
use hsaco::demangle::demangle;
use hsaco::elf::note::Note;
use hsaco::object::msgpack::Value;
use hsaco::object::note::{NT_AMDGPU_METADATA, OWNER_AMDGPU};
use hsaco::object::{CodeObject, Kernel, metadata};

/// What was read.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// One line for each entry, kernel, function and variable.
    pub(crate) content: Vec<String>,
    pub(crate) errors: Vec<Error>,
}

const OPTIONS: WalkOptions =
    WalkOptions { max_size: 1 << 22, max_depth: 8, hash: hsaco::container::HashCheck::Always };

/// Walks the containers, and reads each object in them.
pub(crate) fn exercise(bytes: &[u8]) -> Found {
    let mut found = Found::default();
    for entry in entries(bytes, &OPTIONS) {
        match entry {
            Ok(entry) => {
                found.content.push(format!("{:?} {:?} {}", entry.id, entry.kind, entry.data.len()));
                if entry.kind == EntryKind::CodeObject {
                    found.read_object(&entry.data);
                }
            }
            Err(error) => found.errors.push(error),
        }
    }
    found.errors.iter().for_each(check);
    found
}

/// An error has a kind, a place and a text that says both.
fn check(error: &Error) {
    let text = error.to_string();
    let start = format!("{}: {}", error.kind().name(), error.context());
    assert!(text.starts_with(&start) && !error.context().is_empty(), "{text}");
    let offset = error.offset().unwrap_or_else(|| panic!("no offset: {text}"));
    assert!(text.ends_with(&format!(" (at offset {offset:#x})")), "{text}");
}

impl Found {
    fn keep<T>(&mut self, result: Result<T, Error>) -> Option<T> {
        result.map_err(|error| self.errors.push(error)).ok()
    }

    fn read_object(&mut self, bytes: &[u8]) {
        let Some(object) = self.keep(CodeObject::parse(bytes)) else { return };
        self.errors.extend(object.problems());
        self.content.push(format!("{} {}", object.target(), object.abi_version()));
        self.read_tables(&object);
        for note in object.notes().flatten() {
            self.read_note(&note);
        }
        let index = object.index();
        self.errors.extend_from_slice(index.problems());
        for kernel in index.kernels() {
            self.read_kernel(kernel, &object);
        }
        for symbol in [index.functions(), index.variables(), index.lds_variables()].concat() {
            self.content.push(format!("{} {:#x} {}", symbol.name, symbol.value, symbol.size));
            object.bytes_at(&symbol, symbol.size);
        }
    }

    fn read_tables(&mut self, object: &CodeObject<'_>) {
        for segment in object.elf().segments() {
            self.keep(object.elf().segment_data(segment));
        }
        for section in object.elf().sections() {
            self.keep(object.elf().section_data(section));
        }
        if let Some(Some(table)) = self.keep(object.symbol_table()) {
            let symbols: Vec<_> = table.iter().collect();
            assert!(symbols.len() <= table.len());
            for symbol in symbols {
                self.keep(symbol);
            }
        }
        let (relocations, errors) = object.relocations();
        self.errors.extend(errors);
        self.content.push(format!("{} relocations", relocations.len()));
    }

    fn read_note(&mut self, note: &Note<'_>) {
        if note.is(OWNER_AMDGPU, NT_AMDGPU_METADATA)
            && let Some(document) = self.keep(Value::parse_at(note.desc, note.desc_offset))
        {
            // Of a root that is no map the verifier cannot know the place.
            let verified = metadata::verify(document).map_err(|error| match document {
                Value::Map(_) => error,
                _ => error.at(note.desc_offset),
            });
            self.keep(verified);
        }
    }

    fn read_kernel(&mut self, kernel: &Kernel<'_>, object: &CodeObject<'_>) {
        let generation = object.target().generation();
        let (resources, error) = kernel.resources(generation);
        self.keep(error);
        self.content.push(format!("{} {:?} {resources:?}", kernel.name(), kernel.entry()));
        demangle(kernel.name().as_bytes());
        if let (Some(descriptor), Some(generation)) = (kernel.descriptor(), generation) {
            let fields = descriptor.fields(generation);
            let again = hsaco::object::KernelDescriptor::from_fields(fields);
            assert_eq!(self.keep(again), Some(descriptor));
        }
        if let Some(code) = kernel.v2_header() {
            assert_eq!(hsaco::object::KernelCodeV2::from_bytes(&code.to_bytes()), code);
        }
        let metadata = kernel.metadata().map(metadata::Kernel::decode);
        let arguments = metadata.and_then(|it| self.keep(it)).and_then(|it| it.arguments());
        for argument in arguments.into_iter().flatten() {
            self.keep(argument);
        }
    }
}
