//! Edits of metadata: what changes, and that nothing else does.

use expect_test::{Expect, expect};
use hsaco::bytes::ErrorKind;
use hsaco::object::CodeObject;
use hsaco::object::write::{Edit, KernelChange, MetadataEdit, NewValue};
use hsaco_tests::scratch_dir;

use super::{assert_as_clean_as, code_objects, fixture, line_changes, real_objects, says};

fn edited(file: &[u8], change: impl Fn(&mut MetadataEdit<'_>)) -> Vec<u8> {
    let object = CodeObject::parse(file).unwrap();
    let mut metadata = MetadataEdit::of(&object).unwrap();
    change(&mut metadata);
    let mut edit = Edit::new(file).unwrap();
    metadata.apply(&mut edit).unwrap();
    edit.finish().unwrap()
}

/// How the notes differ, as llvm-readelf shows them.
fn check(file: &[u8], change: impl Fn(&mut MetadataEdit<'_>), expected: &Expect) {
    let folder = scratch_dir();
    let new = edited(file, change);
    assert_as_clean_as(&new, file, folder.path(), "edited metadata");
    let notes = |bytes: &[u8]| {
        let text = says("llvm-readelf-22", &["-n"], folder.path(), bytes).0;
        let is_value = |line: &&str| !line.contains("NT_AMDGPU_METADATA");
        text.lines().filter(is_value).map(|it| format!("{it}\n")).collect::<String>()
    };
    expected.assert_eq(&line_changes(&notes(file), &notes(&new)));
    let again = CodeObject::parse(&new).unwrap();
    assert!(again.problems().is_empty(), "{:?}", again.problems());
    assert!(again.metadata().problems().is_empty());
    // Where a segment and a section say where the notes are, they say the same.
    let elf = again.elf();
    for segment in elf.segments().iter().filter(|it| it.kind == 4) {
        let section = elf.sections().iter().find(|it| it.kind == 7);
        let said = section.map(|it| (it.offset, it.address, it.size));
        assert!(said.is_none_or(|it| it == (segment.offset, segment.address, segment.file_size)));
        assert_eq!(elf.file_offset(segment.address), Some(segment.offset));
        assert!(elf.at_address(segment.address, segment.memory_size).is_some());
    }
}

/// A value of the same size stays where it is.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn a_value_of_the_same_size_is_replaced_in_place() {
    let file = fixture("s1.gfx942.co");
    let set =
        |it: &mut MetadataEdit<'_>| it.set("foo", ".max_flat_workgroup_size", 512_u64).unwrap();
    check(
        &file,
        set,
        &expect![[r#"
        +    .max_flat_workgroup_size: 512
    "#]],
    );
    let new = edited(&file, set);
    let differs = file.iter().zip(&new).filter(|(old, new)| old != new).count();
    assert_eq!((new.len(), differs), (file.len(), 1));
}

/// Counts that take a byte more: comgr fails here.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn a_count_that_takes_more_bytes_moves_the_note() {
    for name in
        ["s1.gfx942.co", "s1.gfx1250.co", "s1.stripped.co", "s1.no-sections.co", "s1.gfx942.o"]
    {
        let file = fixture(name);
        let small = edited(&file, |it| {
            it.set("foo", ".sgpr_count", 127_u64).unwrap();
            it.set("foo", ".vgpr_count", 255_u64).unwrap();
        });
        let grow = |it: &mut MetadataEdit<'_>| {
            it.set("foo", ".sgpr_count", 128_u64).unwrap();
            it.set("foo", ".vgpr_count", 256_u64).unwrap();
        };
        if name.ends_with(".o") {
            let object = edited(&small, grow);
            let object = CodeObject::parse(&object).unwrap();
            let kernel = object.metadata().kernels()[0].decode().unwrap();
            assert_eq!((kernel.sgpr_count, kernel.vgpr_count), (Some(128), Some(256)));
            continue;
        }
        check(
            &small,
            grow,
            &expect![[r#"
            -    .sgpr_count:     127
            -    .vgpr_count:     255
            +    .sgpr_count:     128
            +    .vgpr_count:     256
        "#]],
        );
    }
}

/// One of several notes grows: the others move with it, as they are.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn notes_of_several_inputs_move_together() {
    let file = fixture("two-notes.co");
    let object = CodeObject::parse(&file).unwrap();
    let names: Vec<_> =
        object.metadata().kernels().iter().map(|it| it.name().to_string()).collect();
    check(
        &file,
        |it| it.set(&names[0], ".custom", "x".repeat(40).as_str()).unwrap(),
        &expect![[r#"
            +    .custom:         xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
        "#]],
    );
    check(
        &file,
        |it| it.set(&names[1], ".custom", "short").unwrap(),
        &expect![[r#"
        +    .custom:         short
    "#]],
    );
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn keys_come_and_go_and_the_rest_stays() {
    let file = fixture("s1.gfx1250.co");
    let change = |it: &mut MetadataEdit<'_>| {
        it.set("foo", ".gfx1250_revision", "A0").unwrap();
        it.set(
            "none",
            ".cluster_dims",
            NewValue::Array(vec![1_u64.into(), 2_u64.into(), 3_u64.into()]),
        )
        .unwrap();
        assert!(it.remove("ind", ".uses_dynamic_stack").unwrap());
        assert!(!it.remove("ind", ".uses_dynamic_stack").unwrap());
        it.set_root("custom.config", "kept").unwrap();
    };
    check(
        &file,
        change,
        &expect![[r#"
        -    .uses_dynamic_stack: true
        +    .gfx1250_revision: A0
        +    .cluster_dims:
        +      - 1
        +      - 2
        +      - 3
        +custom.config:   kept
    "#]],
    );
}

/// What is set to what it is changes nothing: not the note, not the file.
#[test]
fn setting_what_is_there_is_no_change() {
    for (name, file) in code_objects() {
        let object = CodeObject::parse(&file).unwrap();
        let Ok(mut metadata) = MetadataEdit::of(&object) else {
            assert_eq!(name, "v2.co");
            continue;
        };
        let index = object.index();
        for kernel in index.kernels().iter().filter(|it| it.metadata().is_some()) {
            let decoded = kernel.metadata().unwrap().decode().unwrap();
            let Some(count) = decoded.vgpr_count else { continue };
            match metadata.set(&kernel.name().to_string(), ".vgpr_count", count) {
                Ok(()) => {}
                Err(error) => assert_eq!(error.kind(), ErrorKind::Ambiguous, "{name}"),
            }
        }
        let mut edit = Edit::new(&file).unwrap();
        metadata.apply(&mut edit).unwrap();
        assert!(edit.finish().unwrap() == file, "{name}");
    }
}

#[test]
fn what_cannot_be_changed_is_said() {
    let file = fixture("s1.gfx942.co");
    let object = CodeObject::parse(&file).unwrap();
    let mut metadata = MetadataEdit::of(&object).unwrap();
    assert_eq!(
        metadata.set("bar", ".vgpr_count", 1_u64).unwrap_err().to_string(),
        "not found: metadata edit: kernel bar"
    );
    let v2 = fixture("v2.co");
    let error = MetadataEdit::of(&CodeObject::parse(&v2).unwrap()).err();
    assert!(error.is_none_or(|it| it.kind() == ErrorKind::Unsupported));
}

/// Metadata of real libraries, every kernel changed and changed back.
#[test]
#[cfg_attr(not(corpus), ignore = "needs `cargo xtask corpus`")]
fn real_metadata_is_changed_and_changed_back() {
    for file in real_objects() {
        let object = CodeObject::parse(&file).unwrap();
        let index = object.index();
        let set = |file: &[u8], value: &dyn Fn(&KernelChange) -> u64| {
            let object = CodeObject::parse(file).unwrap();
            let mut metadata = MetadataEdit::of(&object).unwrap();
            for kernel in index.kernels() {
                let change = KernelChange::of(&object, kernel).unwrap();
                metadata.set(&kernel.name().to_string(), ".hsaco", value(&change)).unwrap();
            }
            let mut edit = Edit::new(file).unwrap();
            metadata.apply(&mut edit).unwrap();
            edit.finish().unwrap()
        };
        let grown = set(&file, &|_| 70_000);
        let read = CodeObject::parse(&grown).unwrap();
        assert!(read.problems().is_empty());
        let merged = read.metadata();
        for kernel in merged.kernels() {
            let said = kernel.map().unwrap().value(".hsaco").unwrap().unwrap();
            assert_eq!(said.as_u64(), Some(70_000));
        }
        let mut metadata = MetadataEdit::of(&read).unwrap();
        for kernel in index.kernels() {
            assert!(metadata.remove(&kernel.name().to_string(), ".hsaco").unwrap());
        }
        let before = MetadataEdit::of(&object).unwrap().to_document().unwrap();
        assert!(metadata.to_document().unwrap() == before);
    }
}

/// All notes as one: what comgr makes of them.
#[test]
fn notes_are_merged_into_one_document() {
    let file = fixture("two-notes.co");
    let object = CodeObject::parse(&file).unwrap();
    let merged = MetadataEdit::of(&object).unwrap().to_document().unwrap();
    let value = hsaco::object::msgpack::Value::parse(&merged).unwrap();
    let kernels = value.as_map().unwrap().value("amdhsa.kernels").unwrap().unwrap();
    let names: Vec<_> = kernels
        .as_array()
        .unwrap()
        .iter()
        .map(|it| {
            it.unwrap()
                .as_map()
                .unwrap()
                .value(".name")
                .unwrap()
                .unwrap()
                .as_str()
                .unwrap()
                .to_string()
        })
        .collect();
    let all: Vec<_> = object.metadata().kernels().iter().map(|it| it.name().to_string()).collect();
    assert_eq!(names, all);

    let (s1, other) = (fixture("s1.gfx942.co"), fixture("two-notes.co"));
    let (s1, other) = (CodeObject::parse(&s1).unwrap(), CodeObject::parse(&other).unwrap());
    let mut edit = MetadataEdit::of(&s1).unwrap();
    edit.append(&MetadataEdit::of(&other).unwrap()).unwrap();
    let merged = edit.to_document().unwrap();
    let value = hsaco::object::msgpack::Value::parse(&merged).unwrap();
    let kernels = value.as_map().unwrap().value("amdhsa.kernels").unwrap().unwrap();
    assert_eq!(kernels.as_array().unwrap().len(), 3 + all.len());
}
