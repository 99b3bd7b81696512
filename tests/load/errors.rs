//! The error cases of loading: each has a name of its own, and leaves the executable as it was.

use std::sync::Arc;

use hsaco::load::{ErrorKind, Executable, Freeze};
use hsaco::object::CodeObject;
use hsaco_tests::program::sh;
use hsaco_tests::{fixture, scratch_dir};

use super::sample::{S1, S3_A, S3_B, compile, object};

fn s1() -> Vec<u8> {
    std::fs::read(fixture("s1.gfx942.co")).unwrap()
}

fn external() -> Vec<u8> {
    std::fs::read(fixture("external.co")).unwrap()
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

/// The offset of the program header of the load segment of that number.
fn load_header(bytes: &[u8], number: usize) -> usize {
    let object = CodeObject::parse(bytes).unwrap();
    let segment = object.elf().loads().nth(number).unwrap().index as usize;
    64 + 56 * segment
}

fn section_offset(bytes: &[u8], name: &str) -> (usize, usize) {
    let object = CodeObject::parse(bytes).unwrap();
    let section = object.elf().section_named(name).unwrap();
    let header = usize::try_from(object.elf().header().section_headers).unwrap();
    (usize::try_from(section.offset).unwrap(), header + 64 * section.index as usize)
}

/// Loading must fail with that error and leave no trace; the object before the change loads.
fn refused(original: Vec<u8>, change: impl FnOnce(&mut Vec<u8>), kind: ErrorKind, words: &str) {
    let mut executable = Executable::new(None);
    executable.load("fine", original.clone()).unwrap();
    let before: Vec<String> = executable.symbols().map(|it| format!("{it:?}")).collect();
    let mut bytes = original;
    change(&mut bytes);
    let error = executable.load("broken", bytes).unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains(words), "{error}");
    assert_eq!(error.object(), Some("broken"));
    let after: Vec<String> = executable.symbols().map(|it| format!("{it:?}")).collect();
    assert_eq!((executable.objects().len(), after), (1, before));
}

#[test]
fn facts_3_6_segments_that_overlap_are_refused() {
    refused(
        s1(),
        |bytes| {
            let second = load_header(bytes, 1);
            put(bytes, second + 16, &0x100_u64.to_le_bytes());
        },
        ErrorKind::BadSegment,
        "overlaps segment",
    );
}

#[test]
fn facts_3_6_segments_out_of_order_are_refused() {
    refused(
        s1(),
        |bytes| {
            let third = load_header(bytes, 2);
            put(bytes, third + 16, &0x1000_u64.to_le_bytes());
        },
        ErrorKind::BadSegment,
        "out of order",
    );
}

#[test]
fn facts_3_6_segments_past_all_addresses_are_refused() {
    refused(
        s1(),
        |bytes| {
            let last = load_header(bytes, 2);
            put(bytes, last + 16, &0xffff_ffff_ffff_f000_u64.to_le_bytes());
            put(bytes, last + 40, &0x2000_u64.to_le_bytes());
        },
        ErrorKind::BadSegment,
        "past all addresses",
    );
}

#[test]
fn facts_3_6_more_in_the_file_than_in_memory_is_refused() {
    refused(
        s1(),
        |bytes| {
            let first = load_header(bytes, 0);
            put(bytes, first + 40, &16_u64.to_le_bytes());
        },
        ErrorKind::BadSegment,
        "bytes in the file, 0x10 in memory",
    );
}

#[test]
fn facts_3_6_a_segment_past_the_file_is_refused() {
    refused(
        s1(),
        |bytes| {
            let first = load_header(bytes, 1);
            put(bytes, first + 8, &0x100_0000_u64.to_le_bytes());
        },
        ErrorKind::BadSegment,
        "reaches past the file",
    );
}

#[test]
fn facts_3_6_a_descriptor_outside_of_memory_is_refused() {
    refused(
        s1(),
        |bytes| {
            let row = symbol_row(bytes, ".symtab", "foo.kd");
            put(bytes, row + 8, &0x9_0000_u64.to_le_bytes());
        },
        ErrorKind::BadDescriptor,
        "the descriptor of `foo` at 0x90000",
    );
}

#[test]
fn facts_3_6_a_kernel_that_starts_in_data_is_refused() {
    refused(
        s1(),
        |bytes| put(bytes, 0xc00 + 16, &0x3000_u64.to_le_bytes()),
        ErrorKind::BadEntry,
        "kernel `foo` starts at 0x3c00, where no code is",
    );
}

#[test]
fn facts_3_6_symbols_in_a_table_that_is_not_there_are_refused() {
    refused(
        external(),
        |bytes| {
            let (_, header) = section_offset(bytes, ".rela.dyn");
            put(bytes, header + 40, &0x1_0002_u32.to_le_bytes());
        },
        ErrorKind::BadRelocation,
        "symbols in section 65538",
    );
    refused(
        external(),
        |bytes| {
            let (_, header) = section_offset(bytes, ".dynsym");
            put(bytes, header + 40, &0x1_0002_u32.to_le_bytes());
        },
        ErrorKind::Unreadable,
        "strings in section 65538",
    );
}

#[test]
fn facts_3_6_a_relocation_of_a_symbol_that_is_not_there_is_refused() {
    refused(
        external(),
        |bytes| {
            let (offset, _) = section_offset(bytes, ".rela.dyn");
            put(bytes, offset + 12, &0xff_ffff_u32.to_le_bytes());
        },
        ErrorKind::BadRelocation,
        "symbol 16777215 of",
    );
}

#[test]
fn facts_3_6_a_symbol_in_a_reserved_section_is_refused() {
    refused(
        s1(),
        |bytes| {
            let row = symbol_row(bytes, ".symtab", "helper");
            put(bytes, row + 6, &0xff05_u16.to_le_bytes());
        },
        ErrorKind::BadSymbol,
        "`helper` is in section 0xff05",
    );
}

#[test]
fn facts_3_6_a_function_outside_of_memory_is_refused() {
    refused(
        s1(),
        |bytes| {
            let row = symbol_row(bytes, ".symtab", "helper");
            put(bytes, row + 8, &0x77_0000_u64.to_le_bytes());
        },
        ErrorKind::BadSymbol,
        "function `helper`",
    );
}

fn symbol_row(bytes: &[u8], table: &str, name: &str) -> usize {
    let object = CodeObject::parse(bytes).unwrap();
    let symbols = object.symbol_table().unwrap().unwrap();
    let row = symbols.iter().flatten().find(|it| it.name == name).unwrap().index as usize;
    section_offset(bytes, table).0 + 24 * row
}

#[test]
fn facts_3_6_an_object_for_another_device_is_refused() {
    let mut executable = Executable::new(Some("gfx90a".parse().unwrap()));
    let error = executable.load("s1", s1()).unwrap_err();
    assert_eq!((error.kind(), error.kind().hsa_status()), (ErrorKind::WrongDevice, 0x100d));
    let mut executable = Executable::new(None);
    executable.load("s1", s1()).unwrap();
    let other = std::fs::read(fixture("s1.gfx1100.co")).unwrap();
    let error = executable.load("other", other).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TargetMismatch);
    assert!(
        error.to_string().starts_with("other: target-mismatch: does not go with s1:"),
        "{error}"
    );
}

#[test]
fn what_is_no_linked_object_is_refused() {
    let load = |bytes: Vec<u8>| Executable::new(None).load("o", bytes).unwrap_err();
    assert_eq!(load(b"not ELF".to_vec()).kind(), ErrorKind::Unreadable);
    let relocatable = load(std::fs::read(fixture("s1.gfx942.o")).unwrap());
    assert_eq!(relocatable.kind(), ErrorKind::NotLinked);
    assert!(relocatable.to_string().contains("ld.lld -shared"), "{relocatable}");
    let mut pal = s1();
    pal[7] = 65;
    assert_eq!(load(pal).kind(), ErrorKind::NotHsa);
    let mut unknown = s1();
    unknown[48] = 0xee;
    assert_eq!(load(unknown).kind(), ErrorKind::UnknownTarget);
}

#[test]
fn places_must_be_free_and_aligned() {
    let place = |first: u64, second: u64| {
        let mut executable = Executable::new(None);
        executable.load_at("a", external(), first).unwrap();
        executable.load_at("b", s1(), second).unwrap();
        executable.define_variable("external_variable", 0x10, 4).unwrap();
        executable.define_function("external_function", 0x20).unwrap();
        let frozen = executable.freeze(Freeze::default());
        frozen.map_err(|errors| (errors[0].kind(), errors.to_string()))
    };
    assert_eq!(place(0x10_0000, 0x20_0000), Ok(()));
    let (kind, text) = place(0x10_0000, 0x10_1000).unwrap_err();
    assert_eq!(kind, ErrorKind::BadPlacement);
    assert!(text.contains("overlaps"), "{text}");
    assert_eq!(place(0x10_0000, 0x20_0100).unwrap_err().0, ErrorKind::BadPlacement);
    assert_eq!(place(0x10_0000, 0xffff_ffff_ffff_f000).unwrap_err().0, ErrorKind::BadPlacement);
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn a_failed_freeze_can_be_mended() {
    let mut executable = Executable::new(None);
    executable.load("a", object("gfx942", S3_A).to_vec()).unwrap();
    assert_eq!(executable.freeze(Freeze::default()).unwrap_err().len(), 2);
    assert!(!executable.is_frozen() && executable.relocations().next().is_none());
    executable.load("b", object("gfx942", S3_B).to_vec()).unwrap();
    executable.freeze(Freeze::default()).unwrap();
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn an_object_without_section_headers_is_loaded_and_linked() {
    let dir = scratch_dir();
    compile(dir.path(), "gfx942", S1, "s1");
    sh(dir.path(), "ld.lld-22 -shared s1.o -o s1.co");
    sh(dir.path(), "llvm-strip-22 --strip-sections s1.co -o bare.co");
    let bare = Arc::new(std::fs::read(dir.path().join("bare.co")).unwrap());
    let executable = super::sample::frozen(&[("bare", &bare)]);
    let linked = executable.link().unwrap();
    let object = CodeObject::parse(&linked).unwrap();
    assert_eq!(object.index().kernels().len(), 3);
}
