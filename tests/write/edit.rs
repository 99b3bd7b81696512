//! Edits of existing objects: appended segments, symbols, sections.

use expect_test::expect;
use hsaco::bytes::ErrorKind;
use hsaco::elf::symbol::{Binding, STT_FUNC, Visibility};
use hsaco::elf::{PF_X, PT_LOAD, PT_PHDR};
use hsaco::object::CodeObject;
use hsaco::object::write::{Access, Edit, NewSymbol, Placed};
use hsaco_tests::program::sh;
use hsaco_tests::scratch_dir;

use super::{assert_as_clean_as, code_objects, fixture, line_changes, real_objects, says};

/// `s_endpgm` of every processor of the fixtures that have one, else nothing in particular.
const CODE: [u8; 256] = [0; 256];

fn append(edit: &mut Edit<'_>) -> Placed {
    edit.append(".text.hsaco", Access::Code, &CODE).unwrap()
}

fn symbol(name: &str, placed: &Placed, binding: Binding) -> NewSymbol {
    NewSymbol {
        name: name.into(),
        value: placed.address,
        size: 4,
        kind: STT_FUNC,
        binding,
        visibility: Visibility::Default,
        section: placed.section.unwrap(),
    }
}

/// True for an object that segments and symbols can be added to.
fn is_linked(object: &CodeObject<'_>) -> bool {
    !object.is_relocatable() && object.elf().loads().next().is_some()
}

/// Every byte that was there is there, but for the fields of the file header that say where the
/// header tables are.
pub(super) fn assert_nothing_moved(old: &[u8], new: &[u8], what: &str) {
    assert!(new.len() >= old.len(), "{what}");
    let is_table_field = |at: usize| (32..48).contains(&at) || (54..62).contains(&at);
    for (at, (old, new)) in old.iter().zip(new).enumerate() {
        assert!(old == new || is_table_field(at), "{what} differs at {at:#x}");
    }
}

#[test]
fn an_edit_without_changes_is_the_file() {
    for (name, file) in code_objects() {
        assert!(Edit::new(&file).unwrap().finish().unwrap() == file, "{name}");
    }
}

#[test]
#[cfg_attr(not(corpus), ignore = "needs `cargo xtask corpus`")]
fn an_appended_segment_moves_nothing() {
    let mut count = 0;
    let fixtures = code_objects().into_iter().map(|(_, file)| file);
    for file in fixtures.chain(real_objects()) {
        let old = CodeObject::parse(&file).unwrap();
        if !is_linked(&old) {
            continue;
        }
        count += 1;
        let mut edit = Edit::new(&file).unwrap();
        let next = edit.next_address().unwrap();
        let placed = append(&mut edit);
        let new = edit.finish().unwrap();
        assert_nothing_moved(&file, &new, "object");
        assert_eq!(placed.address, next);
        assert!(placed.address.is_multiple_of(4096) && placed.offset.is_multiple_of(4096));
        let again = CodeObject::parse(&new).unwrap();
        assert!(again.problems().is_empty(), "{:?}", again.problems());
        assert_eq!(again.elf().at_address(placed.address, 256).unwrap(), CODE);
        let executable = |object: &CodeObject<'_>| {
            object.elf().loads().filter(|it| it.flags & PF_X != 0).count()
        };
        assert_eq!(executable(&again), executable(&old) + 1);
        // ROCr maps up to the last PT_LOAD of the table: they stand in the order of addresses.
        assert!(again.elf().loads().map(|it| it.address).is_sorted());
        for (before, after) in old.elf().sections().iter().zip(again.elf().sections()) {
            let moved = [".shstrtab", ".strtab"].iter().any(|it| before.name == *it);
            assert!(moved || before == after, "{before:?} {after:?}");
        }
        for table in again.elf().segments().iter().filter(|it| it.kind == PT_PHDR) {
            assert_eq!(table.offset, again.elf().header().program_headers);
            assert_eq!(again.elf().file_offset(table.address), Some(table.offset));
        }
        assert_eq!(old.index().kernels().len(), again.index().kernels().len());
    }
    assert!(count >= 20, "{count}");
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn llvm_reads_an_appended_segment() {
    let folder = scratch_dir();
    for (name, file) in code_objects() {
        if !is_linked(&CodeObject::parse(&file).unwrap()) {
            continue;
        }
        let mut edit = Edit::new(&file).unwrap();
        append(&mut edit);
        let new = edit.finish().unwrap();
        assert_as_clean_as(&new, &file, folder.path(), &name);
        let read =
            |flags: &[&str], bytes: &[u8]| says("llvm-objdump-22", flags, folder.path(), bytes).0;
        let (before, after) = (read(&["-d"], &file), read(&["-d"], &new));
        assert!(after.starts_with(&before), "{name}");
    }
    let file = fixture("s1.gfx942.co");
    let mut edit = Edit::new(&file).unwrap();
    append(&mut edit);
    let new = edit.finish().unwrap();
    let headers = |bytes: &[u8]| says("llvm-readelf-22", &["-lSW"], folder.path(), bytes).0;
    expect![[r#"
        -There are 17 section headers, starting at offset 0x1b10:
        -  [15] .shstrtab         STRTAB          0000000000000000 001888 000095 00      0   0  1
        -There are 9 program headers, starting at offset 64
        -  PHDR           0x000040 0x0000000000000040 0x0000000000000040 0x0001f8 0x0001f8 R   0x8
        +There are 18 section headers, starting at offset 0x2410:
        +  [15] .shstrtab         STRTAB          0000000000000000 002368 0000a1 00      0   0  1
        +  [17] .text.hsaco       PROGBITS        0000000000005000 002000 000100 00  AX  0   0 256
        +There are 11 program headers, starting at offset 8448
        +  PHDR           0x002100 0x0000000000006100 0x0000000000006100 0x000268 0x000268 R   0x8
        +  LOAD           0x002000 0x0000000000005000 0x0000000000005000 0x000100 0x000100 R E 0x1000
        +  LOAD           0x002100 0x0000000000006100 0x0000000000006100 0x000268 0x000268 R   0x1000
        +   09     .text.hsaco 
        +   10     
    "#]].assert_eq(&line_changes(&headers(&file), &headers(&new)));
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn symbols_are_added_and_nothing_else_changes() {
    let folder = scratch_dir();
    for (name, file) in code_objects() {
        let object = CodeObject::parse(&file).unwrap();
        if !is_linked(&object) || object.elf().sections().is_empty() {
            continue;
        }
        let mut edit = Edit::new(&file).unwrap();
        let placed = append(&mut edit);
        edit.add_symbol(symbol("a.global", &placed, Binding::Global));
        edit.add_symbol(symbol("a.local", &placed, Binding::Local));
        let new = edit.finish().unwrap();
        assert_nothing_moved(&file, &new, &name);
        assert_as_clean_as(&new, &file, folder.path(), &name);
        let names = |bytes: &[u8]| {
            let object = CodeObject::parse(bytes).unwrap();
            let table = object.symbol_table().unwrap().unwrap();
            let rows = table.iter().map(Result::unwrap);
            rows.map(|it| (it.name.to_string(), it.value, it.kind, it.section)).collect::<Vec<_>>()
        };
        let (before, after) = (names(&file), names(&new));
        let added: Vec<_> = after.iter().filter(|it| !before.contains(it)).collect();
        assert_eq!(
            added.iter().map(|it| it.0.as_str()).collect::<Vec<_>>(),
            ["a.local", "a.global"],
            "{name}"
        );
        assert_eq!(
            before,
            after.iter().filter(|it| !it.0.starts_with("a.")).cloned().collect::<Vec<_>>()
        );
    }
}

/// Relocations that the linker kept refer to symbols by number.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn local_symbols_renumber_relocations() {
    let folder = scratch_dir();
    std::fs::copy(hsaco_tests::fixture("s1.gfx942.o"), folder.path().join("s1.o")).unwrap();
    sh(folder.path(), "ld.lld-22 -shared --emit-relocs s1.o -o s1.co");
    let file = std::fs::read(folder.path().join("s1.co")).unwrap();
    let mut edit = Edit::new(&file).unwrap();
    let placed = append(&mut edit);
    edit.add_symbol(symbol("a.local", &placed, Binding::Local));
    let new = edit.finish().unwrap();
    let named = |bytes: &[u8]| {
        let (rows, errors) = CodeObject::parse(bytes).unwrap().relocations();
        assert!(errors.is_empty());
        rows.iter()
            .map(|it| (it.offset, it.kind, it.symbol_name.to_string(), it.addend))
            .collect::<Vec<_>>()
    };
    assert!(!named(&file).is_empty());
    assert_eq!(named(&file), named(&new));
    let symbols = |bytes: &[u8]| says("llvm-readelf-22", &["-rW"], folder.path(), bytes).0;
    let strip = |text: &str| {
        text.lines()
            .map(|it| it.split_whitespace().skip(2).collect::<Vec<_>>().join(" "))
            .collect::<Vec<_>>()
    };
    assert_eq!(strip(&symbols(&file)), strip(&symbols(&new)));
    assert_as_clean_as(&new, &file, folder.path(), "emitted relocations");
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn an_edited_object_is_edited_again() {
    let folder = scratch_dir();
    for name in ["s1.gfx942.co", "s1.stripped.co", "s1.no-sections.co", "lines.zlib.co"] {
        let file = fixture(name);
        let mut versions = vec![file];
        for round in 0..3 {
            let last = versions.last().unwrap();
            let mut edit = Edit::new(last).unwrap();
            let placed = append(&mut edit);
            if placed.section.is_some() {
                edit.add_symbol(symbol(&format!("local.{round}"), &placed, Binding::Local));
                edit.add_symbol(symbol(&format!("global.{round}"), &placed, Binding::Global));
                edit.set_section(".debug_hsaco", vec![round; 10 + usize::from(round)]).unwrap();
            }
            let next = edit.finish().unwrap();
            assert_as_clean_as(&next, last, folder.path(), name);
            versions.push(next);
        }
        let last = CodeObject::parse(versions.last().unwrap()).unwrap();
        assert!(last.problems().is_empty(), "{name}: {:?}", last.problems());
        let sections = last.elf().sections().iter();
        let count =
            sections.filter(|it| it.name == ".text.hsaco" || it.name == ".debug_hsaco").count();
        assert_eq!(count, if last.elf().sections().is_empty() { 0 } else { 4 }, "{name}");
        let loads =
            last.elf().segments().iter().filter(|it| it.kind == PT_LOAD && it.flags & PF_X != 0);
        assert_eq!(loads.count(), 4, "{name}");
    }
}

#[test]
fn sections_without_an_address_are_replaced() {
    let file = fixture("lines.zstd.co");
    let mut edit = Edit::new(&file).unwrap();
    edit.set_section(".debug_line", vec![7; 5000]).unwrap();
    edit.set_section(".debug_mine", vec![8; 3]).unwrap();
    edit.set_section(".debug_mine", vec![9; 4]).unwrap();
    let new = edit.finish().unwrap();
    assert_nothing_moved(&file, &new, "lines.zstd.co");
    let elf = CodeObject::parse(&new).unwrap();
    let content = |name: &str| {
        let section = elf.elf().section_named(name).unwrap();
        elf.elf().section_content(section, 1 << 20).unwrap().into_owned()
    };
    assert!(content(".debug_line") == [7; 5000]);
    assert_eq!(content(".debug_mine"), [9; 4]);

    let refused = Edit::new(&file).unwrap().set_section(".text", vec![0; 4]).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "unsupported: edit of a code object: .text has an address and cannot grow"
    );
}

#[test]
fn what_cannot_be_edited_is_said() {
    let file = fixture("s1.gfx942.o");
    let mut edit = Edit::new(&file).unwrap();
    let error = edit.append(".text.hsaco", Access::Code, &CODE).unwrap_err();
    assert_eq!(
        error.to_string(),
        "unsupported: edit of a code object: segments of an object that is not linked"
    );
    let error = edit.replace(file.len() as u64 - 1, &[1, 2]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Truncated);

    let bare = fixture("s1.no-sections.co");
    let mut edit = Edit::new(&bare).unwrap();
    let placed = append(&mut edit);
    assert_eq!(placed.section, None);
    assert_eq!(edit.set_section(".debug", vec![]).unwrap_err().kind(), ErrorKind::Unsupported);
    let error = edit.replace_at(0x7000_0000, &[1]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let named = NewSymbol {
        section: 0,
        ..symbol("a", &Placed { section: Some(0), ..placed }, Binding::Local)
    };
    edit.add_symbol(named);
    assert_eq!(
        edit.finish().unwrap_err().to_string(),
        "unsupported: edit of a code object: symbols of an object without section headers"
    );
}
