//! Relocations of every type, on objects that yaml2obj makes and on those that ld.lld keeps them in.

use std::fs;

use hsaco::load::{ErrorKind, Executable, Freeze};
use hsaco::object::CodeObject;
use hsaco_tests::program::sh;
use hsaco_tests::scratch_dir;

use super::sample::{S1, S2, S3_A, S3_B, TARGETS, built, loaded, object, s5_b};

/// A relocation: where, its type, its symbol, what it adds.
type Row<'t> = (u64, &'t str, &'t str, i64);

/// An object with code at 0x1000, data at 0x2000 and a GOT at 0x3000, whose first entry is `far`'s.
pub(crate) fn object_with(dynamic: &[Row<'_>], kept: &[Row<'_>]) -> Vec<u8> {
    let rows = |rows: &[Row<'_>]| -> String {
        let one = |(offset, kind, symbol, addend): &Row<'_>| {
            let symbol =
                if symbol.is_empty() { String::new() } else { format!(", Symbol: {symbol}") };
            format!("      - {{ Offset: {offset:#x}, Type: {kind}{symbol}, Addend: {addend} }}\n")
        };
        let all: String = rows.iter().map(one).collect();
        if all.is_empty() { String::new() } else { format!("    Relocations:\n{all}") }
    };
    let symbols = "
  - { Name: f, Type: STT_FUNC, Section: .text, Binding: STB_GLOBAL, Value: 0x1010, Size: 16 }
  - { Name: far, Type: STT_OBJECT, Section: .data, Binding: STB_GLOBAL, Value: 0x2008, Size: 8 }
  - { Name: number, Index: SHN_ABS, Binding: STB_GLOBAL, Value: 0x123456789a }
";
    let section = |name: &str, flags: &str, address: u64| {
        format!(
            "  - {{ Name: {name}, Type: SHT_PROGBITS, Flags: [ SHF_ALLOC, {flags} ], Address: {address:#x}, \
             AddressAlign: 0x1000, Size: 0x40 }}\n"
        )
    };
    let load = |name: &str, flags: &str, address: u64| {
        format!(
            "  - {{ Type: PT_LOAD, Flags: [ {flags} ], FirstSec: {name}, LastSec: {name}, VAddr: {address:#x}, \
             Align: 0x1000 }}\n"
        )
    };
    let yaml = format!(
        "--- !ELF
FileHeader:
  Class: ELFCLASS64
  Data: ELFDATA2LSB
  OSABI: ELFOSABI_AMDGPU_HSA
  ABIVersion: 4
  Type: ET_DYN
  Machine: EM_AMDGPU
  Flags: [ EF_AMDGPU_MACH_AMDGCN_GFX942, EF_AMDGPU_FEATURE_XNACK_ANY_V4, EF_AMDGPU_FEATURE_SRAMECC_ANY_V4 ]
ProgramHeaders:
{}{}{}Sections:
{}{}{}  - Name: .rela.dyn
    Type: SHT_RELA
    Flags: [ SHF_ALLOC ]
    Link: .dynsym
{}  - Name: .rela.text
    Type: SHT_RELA
    Link: .symtab
    Info: .text
{}Symbols:{symbols}DynamicSymbols:{symbols}...\n",
        load(".text", "PF_R, PF_X", 0x1000),
        load(".data", "PF_R, PF_W", 0x2000),
        load(".got", "PF_R, PF_W", 0x3000),
        section(".text", "SHF_EXECINSTR", 0x1000),
        section(".data", "SHF_WRITE", 0x2000),
        section(".got", "SHF_WRITE", 0x3000),
        rows(dynamic),
        rows(kept),
    );
    let dir = scratch_dir();
    fs::write(dir.path().join("object.yaml"), yaml).unwrap();
    sh(dir.path(), "yaml2obj-22 object.yaml -o object.co");
    fs::read(dir.path().join("object.co")).unwrap()
}

const BASE: u64 = 0x7f00_0000_0000;

/// What is stored at an address of the object, loaded at [`BASE`].
fn stored(dynamic: &[Row<'_>], kept: &[Row<'_>], address: u64, size: usize) -> Result<u64, String> {
    let mut executable = Executable::new(None);
    executable
        .load_at("o", object_with(dynamic, kept), BASE + 0x1000)
        .map_err(|it| it.to_string())?;
    executable.freeze(Freeze::default()).map_err(|it| it.to_string())?;
    let id = executable.objects().next().unwrap();
    let bytes = executable.image(id).unwrap().bytes_at(BASE + address, size).unwrap();
    Ok(bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

/// Case F44.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn each_type_stores_what_it_is_defined_to() {
    let loaded = [
        ("R_AMDGPU_ABS32_LO", "f", 0x10, 4, 0x1020),
        ("R_AMDGPU_ABS32_HI", "f", 0x10, 4, 0x7f00),
        ("R_AMDGPU_ABS64", "f", 0x10, 8, BASE + 0x1020),
        ("R_AMDGPU_ABS64", "far", -8, 8, BASE + 0x2000),
        ("R_AMDGPU_ABS64", "number", 0, 8, 0x12_3456_789a),
        ("R_AMDGPU_ABS32_HI", "number", 0, 4, 0x12),
        ("R_AMDGPU_RELATIVE64", "", 0x1d00, 8, BASE + 0x1d00),
        ("R_AMDGPU_NONE", "", 0x1d00, 8, 0),
    ];
    for (kind, symbol, addend, size, value) in loaded {
        let found = stored(&[(0x2010, kind, symbol, addend)], &[], 0x2010, size);
        assert_eq!(found, Ok(value), "{kind} {symbol}");
    }
    let slot = [(0x3000, "R_AMDGPU_ABS64", "far", 0)];
    let kept = [
        ("R_AMDGPU_REL32", "f", 4, 4, 0xffff_fff4),
        ("R_AMDGPU_REL64", "f", 4, 8, 0xffff_ffff_ffff_fff4),
        ("R_AMDGPU_REL32_LO", "f", 4, 4, 0xffff_fff4),
        ("R_AMDGPU_REL32_HI", "f", 12, 4, 0xffff_ffff),
        ("R_AMDGPU_REL32_LO", "far", 4, 4, 0xfec),
        ("R_AMDGPU_REL32_HI", "far", 12, 4, 0),
        ("R_AMDGPU_GOTPCREL", "far", 4, 4, 0x1fe4),
        ("R_AMDGPU_GOTPCREL32_LO", "far", 4, 4, 0x1fe4),
        ("R_AMDGPU_GOTPCREL32_HI", "far", 12, 4, 0),
        ("R_AMDGPU_REL16", "f", 0, 2, 0xfffb),
        ("R_AMDGPU_ABS64", "far", 0, 8, BASE + 0x2008),
        ("R_AMDGPU_ABS32_LO", "far", 0, 4, 0x2008),
    ];
    for (kind, symbol, addend, size, value) in kept {
        let found = stored(&slot, &[(0x1020, kind, symbol, addend)], 0x1020, size);
        assert_eq!(found, Ok(value), "{kind} {symbol}");
    }
}

/// Case F44.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn what_cannot_be_applied_is_refused_by_name() {
    for kind in
        ["R_AMDGPU_REL32", "R_AMDGPU_REL64", "R_AMDGPU_GOTPCREL", "R_AMDGPU_REL16", "0xc", "0x63"]
    {
        let mut executable = Executable::new(None);
        let bytes = object_with(&[(0x2010, kind, "f", 0)], &[]);
        let error = executable.load("o", bytes).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnsupportedRelocation, "{kind}");
        let name = if kind.starts_with("0x") { "R_AMDGPU_" } else { kind };
        assert!(error.to_string().contains(name), "{error}");
        assert_eq!(executable.objects().len(), 0);
    }
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn facts_3_6_values_that_do_not_fit_are_refused() {
    let refused =
        |dynamic: &[Row<'_>], kept: &[Row<'_>]| stored(dynamic, kept, 0x2010, 4).unwrap_err();
    let text = refused(&[(0x2010, "R_AMDGPU_ABS32", "f", 0)], &[]);
    assert_eq!(
        text,
        "o: relocation-overflow: R_AMDGPU_ABS32 at 0x2010 of `f`: 0x7f0000001010 does not fit into 32 unsigned bits"
    );
    let text = refused(&[], &[(0x1020, "R_AMDGPU_REL16", "f", 0x40000)]);
    assert!(text.contains("R_AMDGPU_REL16") && text.contains("16 signed bits"), "{text}");
    let text = refused(&[], &[(0x1020, "R_AMDGPU_REL32", "f", 0x8000_1000)]);
    assert!(text.contains("32 signed bits"), "{text}");
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn facts_3_6_places_outside_of_segments_are_refused() {
    for (place, why) in [
        (0x9000, "is in no segment"),
        (0x203c, "reaches past the end of its segment"),
        (0xffff_ffff_ffff_fff8, "is in no segment"),
    ] {
        let bytes = object_with(&[(place, "R_AMDGPU_ABS64", "f", 0)], &[]);
        let error = Executable::new(None).load("o", bytes).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadRelocation, "{place:#x}");
        assert!(error.to_string().contains(why), "{error}");
    }
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn what_the_linker_kept_says_what_it_did() {
    for target in TARGETS {
        let sources = [S1, S2, S3_A, S3_B, &s5_b(target)].map(str::to_owned);
        for source in &sources {
            let bytes = built(target, source, "-shared --emit-relocs");
            let mut executable =
                loaded(&[("kept", &bytes), ("ext", &object(target, &provider(source)))]);
            executable.freeze(Freeze { fix_resources: false, ..Freeze::default() }).unwrap();
            let kept: Vec<_> = executable.relocations().filter(|it| it.is_static).collect();
            let file = CodeObject::parse(&bytes).unwrap();
            let id = executable.objects().next().unwrap();
            let image = executable.image(id).unwrap();
            let relocated: Vec<u64> =
                executable.relocations().filter(|it| !it.is_static).map(|it| it.place).collect();
            for relocation in &kept {
                if relocated.contains(&relocation.place) {
                    continue;
                }
                let place = relocation.place - image.delta;
                let there = file.elf().at_address(place, 8).unwrap();
                let now = image.bytes_at(relocation.place, 8).unwrap();
                assert_eq!(there, now, "{target}: {relocation:?}");
            }
            assert_eq!(kept.is_empty(), source.starts_with('.'), "{target} {source}");
        }
    }
}

/// What a source lacks.
fn provider(source: &str) -> String {
    let has =
        |name: &str| source.contains(name) && source.contains(&format!("extern DEFAULT {name}"));
    let mut provided = String::from("NOINLINE int nothing(int x) { return x; }\n");
    if has("int extdev") {
        provided += "DEFAULT NOINLINE int extdev(int x) { return x * 3; }\n";
    }
    if has("GLOBAL int extvar") {
        provided += "DEFAULT GLOBAL int extvar = 1;\n";
    }
    provided
}
