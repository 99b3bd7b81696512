//! ELF headers that lie: each case is one field of a good file, and the error is spelled out.

use std::fs;

use hsaco::bytes::ErrorKind;
use hsaco::elf::{Elf, SHT_SYMTAB};
use hsaco::object::CodeObject;
use hsaco_tests::fixture;

/// The good file, with what is needed to harm it.
struct Patient {
    bytes: Vec<u8>,
    section_headers: usize,
    symtab: usize,
    text: usize,
    note_offset: usize,
}

impl Patient {
    fn new() -> Self {
        let bytes = fs::read(fixture("s1.gfx942.co")).unwrap();
        let elf = Elf::parse(&bytes).unwrap();
        let symtab = elf.sections().iter().position(|it| it.kind == SHT_SYMTAB).unwrap();
        let text = elf.sections().iter().position(|it| it.name == ".text").unwrap();
        let note = elf.section_named(".note").unwrap().offset;
        let section_headers = usize::try_from(elf.header().section_headers).unwrap();
        let note_offset = usize::try_from(note).unwrap();
        Self { section_headers, symtab, text, note_offset, bytes }
    }

    fn put(&mut self, at: usize, value: &[u8]) {
        self.bytes[at..at + value.len()].copy_from_slice(value);
    }

    /// Sets a field of a section header.
    fn put_section(&mut self, section: usize, field: usize, value: &[u8]) {
        self.put(self.section_headers + section * 64 + field, value);
    }

    /// All problems, and the kernels with whether they have a descriptor.
    fn examine(&self) -> (Vec<String>, Vec<(String, bool)>) {
        let object = CodeObject::parse(&self.bytes).unwrap();
        let index = object.index();
        let mut problems: Vec<_> =
            object.problems().iter().chain(index.problems()).map(ToString::to_string).collect();
        problems.dedup();
        let kernel =
            |it: &hsaco::object::Kernel<'_>| (it.name().to_string(), it.descriptor().is_some());
        (problems, index.kernels().iter().map(kernel).collect())
    }

    fn check(&self, problems: &[&str], described: bool) {
        let kernels = ["foo", "none", "ind"].map(|name| (name.to_owned(), described));
        let (found_problems, found_kernels) = self.examine();
        assert_eq!(found_problems, problems);
        assert_eq!(found_kernels, kernels);
    }
}

const OFFSET: usize = 24;
const SIZE: usize = 32;
const LINK: usize = 40;
const ENTRY_SIZE: usize = 56;

#[test]
fn the_good_file_is_good() {
    Patient::new().check(&[], true);
}

/// The metadata names the kernels, and the dynamic symbols still have their descriptors.
#[test]
fn symbols_past_the_end_leave_the_others() {
    let mut patient = Patient::new();
    let end = patient.bytes.len() as u64;
    patient.put_section(patient.symtab, OFFSET, &(end - 8).to_le_bytes());
    patient.put_section(patient.symtab, SIZE, &64u64.to_le_bytes());
    let error = format!("truncated: section content: 8 bytes of 64 (at offset {:#x})", end - 8);
    patient.check(&[&error], true);
}

#[test]
fn a_string_table_index_is_32_bits_wide() {
    let mut patient = Patient::new();
    patient.put_section(patient.symtab, LINK, &0x1_0001u32.to_le_bytes());
    let (problems, kernels) = patient.examine();
    let [problem] = problems.as_slice() else { panic!("{problems:?}") };
    assert!(
        problem.starts_with("malformed: symbol table: strings in section 65537 of "),
        "{problem}"
    );
    assert_eq!(kernels.len(), 3);
}

#[test]
fn symbols_too_small_to_be_any() {
    let mut patient = Patient::new();
    patient.put_section(patient.symtab, ENTRY_SIZE, &8u64.to_le_bytes());
    let (problems, kernels) = patient.examine();
    let [problem] = problems.as_slice() else { panic!("{problems:?}") };
    let expected = "malformed: symbol table: entries of 8 bytes, at least 24 needed (at offset 0x";
    assert!(problem.starts_with(expected), "{problem}");
    assert_eq!(kernels.len(), 3);
}

/// As many sections as section 0 says, which is none: the dynamic segment has the symbols.
#[test]
fn a_section_count_of_zero() {
    let mut patient = Patient::new();
    patient.put(60, &[0, 0]);
    patient.check(&[], true);
}

#[test]
fn a_section_count_in_section_0() {
    let mut patient = Patient::new();
    patient.put(60, &[0, 0]);
    patient.put_section(0, SIZE, &u64::MAX.to_le_bytes());
    let offset = patient.section_headers;
    let left = patient.bytes.len() - offset;
    let error = format!(
        "truncated: section header table: {left} bytes of {} (at offset {offset:#x})",
        u64::MAX
    );
    patient.check(&[&error], true);
}

#[test]
fn program_headers_too_small_to_be_any() {
    let mut patient = Patient::new();
    patient.put(54, &[8, 0]);
    let error = "malformed: program header table: entries of 8 bytes, at least 56 needed \
                 (at offset 0x36)";
    patient.check(&[error], true);
}

#[test]
fn an_offset_that_overflows() {
    let mut patient = Patient::new();
    patient.put_section(patient.text, OFFSET, &(u64::MAX - 4).to_le_bytes());
    patient.put_section(patient.text, SIZE, &64u64.to_le_bytes());
    let error = "truncated: section content: 0 bytes of 64 (at offset 0xfffffffffffffffb)";
    patient.check(&[error], true);
}

#[test]
fn a_name_table_that_is_no_section() {
    let mut patient = Patient::new();
    patient.put(62, &[200, 0]);
    let (problems, kernels) = patient.examine();
    let [problem] = problems.as_slice() else { panic!("{problems:?}") };
    assert!(problem.starts_with("malformed: section name table: index 200 of "), "{problem}");
    assert!(problem.ends_with(" sections (at offset 0x3e)"), "{problem}");
    assert_eq!(kernels.len(), 3);
}

/// Without metadata, the kernels are those that have descriptors.
#[test]
fn a_note_with_an_endless_owner() {
    let mut patient = Patient::new();
    patient.put(patient.note_offset, &u32::MAX.to_le_bytes());
    let (problems, kernels) = patient.examine();
    let [problem] = problems.as_slice() else { panic!("{problems:?}") };
    let offset = format!(" of 4294967295 (at offset {:#x})", patient.note_offset + 12);
    assert!(
        problem.starts_with("truncated: note owner: ") && problem.ends_with(&offset),
        "{problem}"
    );
    assert_eq!(kernels.len(), 3);
    assert!(kernels.iter().all(|(_, described)| *described));
}

#[test]
fn headers_that_are_no_code_object() {
    let good = Patient::new().bytes;
    let cases: [(&str, usize, u8, ErrorKind, u64); 5] = [
        ("no magic", 0, 0, ErrorKind::NotRecognised, 0),
        ("32 bits", 4, 1, ErrorKind::Unsupported, 4),
        ("big-endian", 5, 2, ErrorKind::Unsupported, 4),
        ("no class", 4, 9, ErrorKind::Malformed, 4),
        ("another machine", 18, 62, ErrorKind::NotRecognised, 18),
    ];
    for (name, at, value, kind, offset) in cases {
        let mut bytes = good.clone();
        bytes[at] = value;
        let error = CodeObject::parse(&bytes).unwrap_err();
        assert_eq!((error.kind(), error.offset()), (kind, Some(offset)), "{name}: {error}");
    }
}

/// An ELF file of one body that many program or section headers share.
fn shared(body: &[u8], segments: &[[u64; 7]], sections: &[[u64; 8]]) -> Vec<u8> {
    let (start, end) = (64, 64 + body.len() as u64);
    let mut bytes = b"\x7fELF\x02\x01\x01\x40\x04\0\0\0\0\0\0\0\x03\0\xe0\0\x01\0\0\0".to_vec();
    bytes.extend([0, if segments.is_empty() { 0 } else { end }].map(u64::to_le_bytes).concat());
    bytes.extend((if sections.is_empty() { 0 } else { end }).to_le_bytes());
    bytes.extend(0x54cu32.to_le_bytes());
    let counts = [segments.len(), sections.len()].map(|it| u16::try_from(it).unwrap());
    bytes.extend([64, 56, counts[0], 64, counts[1], 0].map(u16::to_le_bytes).concat());
    assert_eq!(bytes.len(), start);
    bytes.extend(body);
    bytes.extend(segments.as_flattened().iter().flat_map(|it| it.to_le_bytes()));
    bytes.extend(sections.as_flattened().iter().flat_map(|it| it.to_le_bytes()));
    bytes
}

/// Thousands of headers that name the same bytes would make gigabytes of them.
#[test]
fn tables_that_share_their_bytes() {
    const COPIES: usize = 4000;
    let body = vec![1; 24 * 20_000];
    let size = body.len() as u64;
    let relocations = shared(&body, &[], &[[4 << 32, 0, 0, 64, size, 0, 8, 24]; COPIES]);
    let (rows, problems) = CodeObject::parse(&relocations).unwrap().relocations();
    assert_eq!((rows.len(), problems.len()), (20_000, 1));
    assert_eq!(problems[0].kind(), ErrorKind::LimitExceeded);

    let mut note = [7u32, 0, 32].map(u32::to_le_bytes).concat();
    note.extend(b"AMDGPU\0\0");
    note.extend(b"\x81\xaeamdhsa.kernels\xdd\0\0\x4e\x20");
    note.extend(b"\x81\xa5.name\xa1k".repeat(20_000));
    let content = u32::try_from(note.len() - 20).unwrap();
    note[4..8].copy_from_slice(&content.to_le_bytes());
    let size = note.len() as u64;
    let notes = shared(&note, &[[4 << 32 | 4, 64, 0, 0, size, size, 4]; COPIES], &[]);
    let object = CodeObject::parse(&notes).unwrap();
    // Two copies are no larger than the file, most of which is headers.
    assert_eq!(object.index().kernels().len(), 40_000);
    let kinds: Vec<_> = object.problems().iter().map(hsaco::bytes::Error::kind).collect();
    assert_eq!(kinds, [ErrorKind::LimitExceeded]);
}

/// Names that share their bytes add up to more than any file has.
#[test]
fn names_that_share_their_bytes() {
    let mut patient = Patient::new();
    let symtab = patient.section_headers + patient.symtab * 64;
    let count = 20_000_u64;
    let strings = patient.bytes.len() as u64;
    patient.bytes.extend(vec![b'a'; 500_000]);
    patient.bytes.push(0);
    let symbols = patient.bytes.len() as u64;
    for name in 0..u32::try_from(count).unwrap() {
        let mut row = [0; 24];
        row[..4].copy_from_slice(&name.to_le_bytes());
        row[4] = 2;
        row[6] = 1;
        patient.bytes.extend(row);
    }
    let link = u32::from_le_bytes(*patient.bytes[symtab + LINK..].first_chunk().unwrap());
    patient.put_section(patient.symtab, OFFSET, &symbols.to_le_bytes());
    patient.put_section(patient.symtab, SIZE, &(count * 24).to_le_bytes());
    patient.put_section(link as usize, OFFSET, &strings.to_le_bytes());
    patient.put_section(link as usize, SIZE, &500_001_u64.to_le_bytes());
    let (problems, kernels) = patient.examine();
    let error = format!(
        "limit exceeded: symbol names: together they are larger than the file \
         (at offset {symbols:#x})"
    );
    assert_eq!(problems, [error]);
    assert_eq!(kernels.len(), 3);
}
