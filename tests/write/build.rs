//! Objects that are built anew from the parts of others.

use hsaco::bytes::ErrorKind;
use hsaco::elf::relocation::RelocationType;
use hsaco::elf::symbol::{Binding, STT_FUNC, STT_OBJECT, SymbolTable, Visibility};
use hsaco::elf::{SHF_ALLOC, SHT_NOBITS, SHT_PROGBITS};
use hsaco::object::CodeObject;
use hsaco::object::note::{NT_AMDGPU_METADATA, OWNER_AMDGPU};
use hsaco::object::write::{Builder, Identity, MetadataEdit, NewRelocation, NewSection, NewSymbol};
use hsaco_tests::program::{sh, succeed};
use hsaco_tests::scratch_dir;

use super::{fixture, says};

/// The same object again: its own sections a few pages higher, symbols and metadata, new tables.
fn rebuilt(file: &[u8], by: u64) -> Vec<u8> {
    let object = CodeObject::parse(file).unwrap();
    let elf = object.elf();
    let header = elf.header();
    let mut builder = Builder::new(Identity {
        os_abi: header.os_abi,
        abi_version: header.abi_version,
        flags: header.flags,
    });
    let mut indices = vec![0; elf.sections().len()];
    for section in elf.sections() {
        if matches!(section.kind, SHT_PROGBITS | SHT_NOBITS) {
            let mapped = section.flags & SHF_ALLOC != 0;
            indices[section.index as usize] = builder.section(NewSection {
                name: section.name.to_string(),
                kind: section.kind,
                flags: section.flags,
                address: if mapped { section.address + by } else { 0 },
                align: section.align,
                entry_size: section.entry_size,
                content: elf.section_data(section).unwrap().into(),
                memory_size: section.size,
            });
        }
    }
    let mut numbers = std::collections::BTreeMap::new();
    for symbol in object.symbol_table().unwrap().unwrap().iter().map(Result::unwrap) {
        if symbol.name == "_DYNAMIC" {
            continue;
        }
        let special = symbol.section == 0 || symbol.section >= 0xff00;
        let number = builder.symbol(NewSymbol {
            name: symbol.name.as_bytes().to_vec(),
            value: if special { symbol.value } else { symbol.value + by },
            size: symbol.size,
            kind: symbol.kind,
            binding: symbol.binding,
            visibility: symbol.visibility,
            section: if special { symbol.section } else { indices[symbol.section as usize] },
        });
        numbers.insert(symbol.name, number);
    }
    let shift = i64::try_from(by).unwrap();
    for relocation in object.relocations().0 {
        let symbol = numbers.get(&relocation.symbol_name).copied();
        builder.relocation(NewRelocation {
            offset: relocation.offset + by,
            kind: relocation.kind,
            symbol,
            addend: if symbol.is_some() { relocation.addend } else { relocation.addend + shift },
        });
    }
    if let Ok(document) = MetadataEdit::of(&object).unwrap().to_document() {
        builder.note(OWNER_AMDGPU, NT_AMDGPU_METADATA, &document).unwrap();
    }
    builder.finish().unwrap()
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn an_object_is_built_again() {
    let folder = scratch_dir();
    let names = [
        "s1.gfx942.co",
        "s1.gfx1250.co",
        "two-notes.co",
        "external.co",
        "lines.dwarf5.co",
        "mangled.co",
    ];
    for name in names {
        let file = fixture(name);
        let new = rebuilt(&file, 0x2000);
        let (before, after) = (CodeObject::parse(&file).unwrap(), CodeObject::parse(&new).unwrap());
        assert!(after.problems().is_empty(), "{name}: {:?}", after.problems());
        assert_eq!(after.metadata().documents(), 1);
        let kernels = |object: &CodeObject<'_>, by: u64| {
            let index = object.index();
            assert!(index.problems().is_empty(), "{:?}", index.problems());
            let all = index.kernels().iter();
            all.map(|it| (it.name().to_string(), it.entry().map(|it| it + by))).collect::<Vec<_>>()
        };
        assert_eq!(kernels(&after, 0), kernels(&before, 0x2000), "{name}");

        let (readelf, complaints) = says("llvm-readelf-22", &["-aW"], folder.path(), &new);
        assert_eq!(complaints, "", "{name}\n{readelf}");
        let listing = |bytes: &[u8], by: &str| {
            let (text, complaints) = says(
                "llvm-objdump-22",
                &["-d", "--no-show-raw-insn", "--no-leading-addr", by],
                folder.path(),
                bytes,
            );
            assert_eq!(complaints, "", "{name}");
            let lines = text.lines().filter(|it| !it.contains('<'));
            lines.map(|it| it.split("//").next().unwrap().trim_end().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(listing(&new, "--adjust-vma=0"), listing(&file, "--adjust-vma=0"), "{name}");

        // Every symbol is found through both hash tables.
        let hashes = says("llvm-readelf-22", &["--hash-symbols", "-W"], folder.path(), &new).0;
        let table = SymbolTable::find_dynamic(after.elf()).unwrap().unwrap();
        for symbol in table.iter().map(Result::unwrap) {
            let listed =
                hashes.lines().filter(|it| it.ends_with(&format!(" {}", symbol.name))).count();
            let expected = if symbol.is_defined() { 2 } else { 1 };
            assert_eq!(listed, expected, "{name}: {}\n{hashes}", symbol.name);
        }
        // The linker takes it as an input.
        sh(
            folder.path(),
            "ld.lld-22 -shared object -o linked --no-undefined --allow-shlib-undefined",
        );
        // Found without section headers too.
        succeed(folder.path(), "llvm-strip-22", &["--strip-sections", "object", "-o", "bare"]);
        let bare = std::fs::read(folder.path().join("bare")).unwrap();
        let bare = CodeObject::parse(&bare).unwrap();
        assert_eq!(bare.index().kernels().len(), before.index().kernels().len(), "{name}");
    }
}

fn data(address: u64, size: usize, flags: u64) -> NewSection<'static> {
    NewSection {
        name: ".data".to_owned(),
        kind: SHT_PROGBITS,
        flags,
        address,
        align: 8,
        entry_size: 0,
        content: vec![7; size].into(),
        memory_size: 0,
    }
}

fn builder() -> Builder<'static> {
    Builder::new(Identity { os_abi: 64, abi_version: 4, flags: 0x54c })
}

#[test]
fn segments_follow_permissions_and_gaps() {
    let mut builder = builder();
    builder.section(data(0x1000, 16, SHF_ALLOC));
    builder.section(data(0x1010, 16, SHF_ALLOC));
    builder.section(data(0x1020, 16, SHF_ALLOC | 4));
    builder.section(NewSection {
        kind: SHT_NOBITS,
        memory_size: 64,
        content: [].as_slice().into(),
        ..data(0x2100, 0, SHF_ALLOC | 1)
    });
    builder.section(data(0x2140, 8, SHF_ALLOC | 1));
    builder.section(data(0x9_0000, 8, SHF_ALLOC | 1));
    let file = builder.finish().unwrap();
    let object = CodeObject::parse(&file).unwrap();
    let loads: Vec<_> = object
        .elf()
        .loads()
        .map(|it| (it.address, it.file_size, it.memory_size, it.flags))
        .skip(1)
        .take(5)
        .collect();
    let expected = [
        (0x1000, 32, 32, 4),
        (0x1020, 16, 16, 5),
        (0x2100, 0, 64, 6),
        (0x2140, 8, 8, 6),
        (0x9_0000, 8, 8, 6),
    ];
    assert_eq!(loads, expected);
    assert!(object.elf().loads().all(|it| it.offset % 4096 == it.address % 4096));
    assert!(object.elf().loads().map(|it| it.address).is_sorted());
    for section in object
        .elf()
        .sections()
        .iter()
        .filter(|it| it.flags & SHF_ALLOC != 0 && it.kind != SHT_NOBITS)
    {
        assert_eq!(object.elf().file_offset(section.address), Some(section.offset));
    }
}

#[test]
fn what_cannot_be_built_is_said() {
    let said = |builder: Builder<'_>| {
        let error = builder.finish().unwrap_err();
        assert_ne!(error.kind(), ErrorKind::NotRecognised);
        error.to_string()
    };
    let mut low = builder();
    low.section(data(0x40, 8, SHF_ALLOC));
    assert_eq!(
        said(low),
        "malformed: new code object: .data at 0x40, and what is below it ends at 0x1c8"
    );
    let mut overlapping = builder();
    overlapping.section(data(0x1000, 8, SHF_ALLOC));
    overlapping.section(data(0x1004, 8, SHF_ALLOC | 1));
    assert_eq!(
        said(overlapping),
        "malformed: new code object: .data at 0x1004, and what is below it ends at 0x1008"
    );
    let mut hidden = builder();
    let section = hidden.section(data(0x1000, 8, SHF_ALLOC));
    let symbol = hidden.symbol(NewSymbol {
        name: b"x".to_vec(),
        value: 0x1000,
        size: 8,
        kind: STT_OBJECT,
        binding: Binding::Global,
        visibility: Visibility::Hidden,
        section,
    });
    hidden.relocation(NewRelocation {
        offset: 0x1000,
        kind: RelocationType(3),
        symbol: Some(symbol),
        addend: 0,
    });
    assert_eq!(
        said(hidden),
        "malformed: new code object: the relocation at 0x1000 refers to \"x\", which the loader does not see"
    );
    let mut nowhere = builder();
    nowhere.symbol(NewSymbol {
        name: b"f".to_vec(),
        value: 0,
        size: 0,
        kind: STT_FUNC,
        binding: Binding::Local,
        visibility: Visibility::Default,
        section: 99,
    });
    assert_eq!(said(nowhere), "unsupported: new symbol: f is in section 99 of 6");
    let mut far = builder();
    far.section(data(u64::MAX - 4, 8, SHF_ALLOC));
    assert_eq!(said(far), "limit exceeded: new code object: it would not fit in 64 bits");
}
