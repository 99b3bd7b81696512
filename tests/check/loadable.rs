//! What a loader refuses is found, and nothing else is called so.

use std::borrow::Cow;
use std::fs;

use expect_test::expect;
use hsaco::check::{Checker, Severity};
use hsaco::load::{Executable, Freeze};
use hsaco::object::CodeObject;
use hsaco_tests::random::Random;

use super::{findings, fixture, only, own};

/// Whether loading it alone fails, at whichever step.
fn is_refused(bytes: &[u8]) -> bool {
    let mut executable = Executable::new(None);
    executable.load("", Cow::Borrowed(bytes)).is_err()
        || executable.freeze(Freeze::default()).is_err()
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

/// Where the header of a loaded segment is.
fn load_header(bytes: &[u8], number: usize) -> usize {
    let object = CodeObject::parse(bytes).unwrap();
    let index = object.elf().loads().nth(number).unwrap().index;
    64 + 56 * usize::try_from(index).unwrap()
}

fn section(bytes: &[u8], name: &str) -> usize {
    let object = CodeObject::parse(bytes).unwrap();
    usize::try_from(object.elf().section_named(name).unwrap().offset).unwrap()
}

/// Where the value of a symbol is in a table.
fn symbol_value(bytes: &[u8], table: &str, name: &str) -> usize {
    let object = CodeObject::parse(bytes).unwrap();
    let section = object.elf().section_named(table).unwrap();
    let symbols = hsaco::elf::symbol::SymbolTable::of_section(
        object.elf(),
        section,
        hsaco::elf::symbol::SymbolSource::Symtab,
    );
    let symbols = symbols.unwrap();
    let index = symbols.iter().flatten().find(|it| it.name == name).unwrap().index;
    usize::try_from(section.offset).unwrap() + 24 * usize::try_from(index).unwrap() + 8
}

/// What is said of an object that something was done to.
fn said(name: &str, change: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut bytes = fixture(name);
    assert!(!is_refused(&bytes) || name == "external.co", "{name}");
    change(&mut bytes);
    assert!(is_refused(&bytes), "{name}");
    findings(&own(Checker::new().with_code()), &bytes)
}

#[test]
fn segments_that_no_loader_maps_are_found() {
    let align = said("s1.gfx942.co", |bytes| {
        let at = load_header(bytes, 1);
        put(bytes, at + 48, &3_u64.to_le_bytes());
    });
    let overlap = said("s1.gfx942.co", |bytes| {
        let (first, second) = (load_header(bytes, 0), load_header(bytes, 1));
        let address = bytes[first + 16..first + 24].to_vec();
        put(bytes, second + 16, &address);
    });
    let past = said("s1.gfx942.co", |bytes| {
        let at = load_header(bytes, 3);
        put(bytes, at + 40, &u64::MAX.to_le_bytes());
    });
    let first = |text: &str| text.lines().next().unwrap_or_default().to_owned() + "\n";
    expect![[r#"
        error: not-loadable: the loader refuses it: segment 2: aligned to 0x3 (bad-segment, at offset 0xb0); link it again, with ld.lld -shared
    "#]].assert_eq(&align);
    assert!(overlap.contains("error: not-loadable: the loader refuses it: segment"), "{overlap}");
    assert!(overlap.contains("overlaps segment"), "{overlap}");
    expect![[r#"
        error: not-loadable: the loader refuses it: segment 4: 0xffffffffffffffff bytes at 0x4530 are past all addresses (bad-segment, at offset 0x120); link it again, with ld.lld -shared
    "#]].assert_eq(&first(&past));
}

#[test]
fn descriptors_and_symbols_in_no_segment_are_found() {
    let descriptor = said("s1.gfx942.co", |bytes| {
        for table in [".symtab", ".dynsym"] {
            let at = symbol_value(bytes, table, "foo.kd");
            put(bytes, at, &0x10_0000_u64.to_le_bytes());
        }
    });
    assert!(descriptor.contains("error: "), "{descriptor}");
    let function = said("s1.gfx942.co", |bytes| {
        let at = symbol_value(bytes, ".symtab", "helper");
        put(bytes, at, &0x7fff_0000_u64.to_le_bytes());
    });
    assert!(
        function.contains("error: not-loadable: the loader refuses it: function `helper`"),
        "{function}"
    );
}

#[test]
fn a_relocation_of_a_symbol_that_is_not_there_is_found() {
    let text = said("external.co", |bytes| {
        let at = section(bytes, ".rela.dyn");
        put(bytes, at + 12, &124_u32.to_le_bytes());
    });
    assert!(text.contains("error: not-loadable: the loader refuses it: "), "{text}");
    assert!(text.contains("symbol 124 of "), "{text}");
}

#[test]
fn a_file_type_that_is_no_shared_object_is_an_error() {
    for kind in [0_u16, 2, 4, 65535] {
        let text = said("s1.gfx942.co", |bytes| put(bytes, 16, &kind.to_le_bytes()));
        assert!(text.contains(&format!("error: not-linked: file type {kind}")), "{text}");
        assert!(!text.contains("not-loadable"), "said twice: {text}");
    }
}

#[test]
fn what_another_rule_says_is_not_said_twice() {
    let said_twice = |bytes: &[u8]| findings(&own(Checker::new()), bytes).contains("not-loadable");
    assert!(!said_twice(&fixture("s1.gfx942.o")));
    assert!(!said_twice(&fixture("external.co")));
    assert!(!said_twice(b"nothing"));
    // Asked alone, the rule says all of it.
    for broken in [fixture("s1.gfx942.o"), b"nothing".to_vec()] {
        let text = only("not-loadable", own(Checker::new()), &broken);
        assert!(text.starts_with("error: not-loadable: the loader refuses it: "), "{text}");
    }
}

#[test]
fn objects_that_load_have_no_such_finding() {
    let folder = hsaco_tests::fixture("s1.gfx942.co").parent().unwrap().to_path_buf();
    let mut compared = 0;
    for file in fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()) {
        if file.extension().is_none_or(|it| it != "co") {
            continue;
        }
        let bytes = fs::read(&file).unwrap();
        let object = CodeObject::parse(&bytes);
        let loads = |it: &CodeObject<'_>| hsaco::load::check_object(it, &it.index()).is_ok();
        let refused = !object.is_ok_and(|it| loads(&it));
        let text = only("not-loadable", own(Checker::new()), &bytes);
        assert_eq!(refused, !text.is_empty(), "{}: {text}", file.display());
        compared += 1;
    }
    assert!(compared > 20, "{compared}");
}

/// The places that a loader trusts most: headers, symbols, relocations, notes.
fn tables(bytes: &[u8]) -> Vec<std::ops::Range<usize>> {
    let object = CodeObject::parse(bytes).unwrap();
    let headers = usize::try_from(object.elf().header().section_headers).unwrap();
    let mut ranges = vec![0..64 + 56 * object.elf().segments().len(), headers..bytes.len()];
    for name in [".dynsym", ".symtab", ".rela.dyn", ".dynamic", ".note", ".rodata"] {
        if let Some(section) = object.elf().section_named(name) {
            let start = usize::try_from(section.offset).unwrap();
            ranges.push(start..start + usize::try_from(section.size).unwrap());
        }
    }
    ranges.retain(|it| !it.is_empty());
    ranges
}

#[test]
fn whatever_loading_refuses_is_an_error_of_a_check() {
    let mut random = Random::new(25);
    let (mut refused, mut missed) = (0, Vec::new());
    for name in [
        "s1.gfx942.co",
        "s1.gfx1100.co",
        "s1.stripped.co",
        "s1.no-sections.co",
        "v2.co",
        "short.co",
    ] {
        let original = fixture(name);
        let tables = tables(&original);
        for _ in 0..500 {
            let mut bytes = original.clone();
            let mut changes = Vec::new();
            for _ in 0..1 + random.below(3) {
                let range = &tables[random.below(tables.len())];
                let at = (range.start + random.below(range.len())).min(bytes.len() - 1);
                bytes[at] = match random.below(4) {
                    0 => 0xff,
                    1 => 0,
                    2 => bytes[at].wrapping_add(1),
                    _ => random.bits().to_le_bytes()[0],
                };
                changes.push((at, bytes[at]));
            }
            if !is_refused(&bytes) {
                continue;
            }
            refused += 1;
            let report = own(Checker::new().with_code()).file(&bytes);
            let is_unknown = report.findings.iter().any(|it| it.rule == "unknown-target");
            if report.worst() != Some(Severity::Error) && !is_unknown {
                let mut executable = Executable::new(None);
                let why = match executable.load("", Cow::Borrowed(bytes.as_slice())) {
                    Err(error) => error.to_string(),
                    Ok(_) => executable.freeze(Freeze::default()).unwrap_err().to_string(),
                };
                missed.push(format!("{name}: {changes:x?}: {why}"));
            }
        }
    }
    assert!(refused > 500, "{refused}");
    assert!(missed.is_empty(), "{} of {refused}:\n{}", missed.len(), missed.join("\n"));
}
