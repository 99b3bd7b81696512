//! Rules that fixtures break when a few of their bytes change; these need no tools.

use expect_test::{Expect, expect};
use hsaco::check::{Checker, Device, Facts, LaunchFacts, check};
use hsaco::object::CodeObject;

use super::{Asked, findings, fixture, on, only, own};

/// A fixture with some bytes replaced.
fn patched(name: &str, patch: &[(usize, &[u8])]) -> Vec<u8> {
    let mut bytes = fixture(name);
    for (at, new) in patch {
        bytes[*at..*at + new.len()].copy_from_slice(new);
    }
    bytes
}

/// A fixture in which one text stands for another of its length.
fn reworded(name: &str, old: &str, new: &str) -> Vec<u8> {
    let mut bytes = fixture(name);
    let at = bytes.windows(old.len()).position(|it| it == old.as_bytes()).unwrap();
    bytes[at..at + new.len()].copy_from_slice(new.as_bytes());
    bytes
}

/// Where the descriptor of a kernel stands.
fn descriptor(bytes: &[u8], kernel: &str) -> usize {
    let object = CodeObject::parse(bytes).unwrap();
    let index = object.index();
    let kernel = index.kernels().iter().find(|it| it.name() == kernel).unwrap();
    usize::try_from(object.elf().file_offset(kernel.descriptor_address().unwrap()).unwrap())
        .unwrap()
}

/// What is said of bad bytes; and nothing of good ones.
fn breaks(bad: &[u8], good: &[u8], device: &str, expected: &Expect) {
    expected.assert_eq(&findings(&on(device), bad));
    assert_eq!(findings(&on(device), good), "");
}

#[test]
fn not_a_code_object() {
    let good = fixture("s1.gfx942.co");
    let bad = patched("s1.gfx942.co", &[(7, &[65])]);
    breaks(
        &bad,
        &good,
        "gfx942",
        &expect![[r#"
        error: not-a-code-object: OS ABI 65 (PAL, of graphics drivers), and the HSA runtime takes 64 only (EI_OSABI, at offset 0x7); compile for the triple amdgcn-amd-amdhsa
    "#]],
    );
    breaks(
        b"hello",
        &good,
        "gfx942",
        &expect![[r#"
        error: not-a-code-object: ELF header: the file does not begin with \x7fELF (ELF header, at offset 0x0); hsaco ls says what a file holds; a kernel library is an ELF file for machine 224
    "#]],
    );
    breaks(
        b"",
        &good,
        "gfx942",
        &expect![[r#"
        error: not-a-code-object: ELF header: the file does not begin with \x7fELF (ELF header, at offset 0x0); hsaco ls says what a file holds; a kernel library is an ELF file for machine 224
    "#]],
    );
    let newer = patched("s1.gfx942.co", &[(8, &[9])]);
    breaks(
        &newer,
        &good,
        "gfx942",
        &expect![[r#"
        warning: not-a-code-object: ABI version 9, and the newest that is known is 4 (EI_ABIVERSION, at offset 0x8); a runtime that is as new as the compiler may take it; else compile with -mcode-object-version=6
    "#]],
    );
}

#[test]
fn not_linked() {
    breaks(
        &fixture("s1.gfx942.o"),
        &fixture("s1.gfx942.co"),
        "gfx942",
        &expect![[r#"
        error: not-linked: not linked: a relocatable object (ET_REL), and the loader takes shared objects (ET_DYN) (e_type, at offset 0x10); link it: ld.lld -shared object.o -o object.co
    "#]],
    );
}

#[test]
fn truncated() {
    let good = fixture("s1.gfx942.co");
    breaks(
        &good[..good.len() - 1],
        &good,
        "gfx942",
        &expect![[r#"
        error: truncated: the file ends too early: section header table: 1087 bytes of 1088 (section header table, at offset 0x1b10); copy or download it again, and compare sizes
    "#]],
    );
    breaks(
        &good[..40],
        &good,
        "gfx942",
        &expect![[r#"
        error: truncated: the file ends too early: ELF header: 40 bytes of 64 (ELF header, at offset 0x0); copy or download it again, and compare sizes
    "#]],
    );
}

#[test]
#[cfg_attr(not(corpus), ignore = "needs `cargo xtask corpus`")]
fn every_prefix_is_refused() {
    let good = fixture("s1.gfx942.co");
    let device = "gfx942".parse().unwrap();
    for end in 0..good.len() {
        assert!(!check(&good[..end], &device).passes(), "{end} bytes");
    }
    assert!(check(&good, &device).passes());
}

#[test]
fn unknown_target() {
    let bad = patched("s1.gfx942.co", &[(48, &[0x40])]);
    breaks(
        &bad,
        &fixture("s1.gfx942.co"),
        "gfx942",
        &expect![[r#"
        error: unknown-target: made for machine 0x40, and gfx942 is machine 0x4c (e_flags, at offset 0x30); compile for a processor of this device
    "#]],
    );
    expect![[r#"
        warning: unknown-target: made for machine 0x40, which is not known: limits are not checked (e_flags, at offset 0x30); compile for a processor of this device
    "#]].assert_eq(&findings(&own(Checker::new()), &bad));
}

#[test]
fn target_mismatch() {
    breaks(
        &fixture("s1.gfx1100.co"),
        &fixture("s1.gfx11-generic.co"),
        "gfx1151",
        &expect![[r#"
            error: target-mismatch: compiled for gfx1100, and the device is gfx1151: exact processors do not run each other's code (e_flags, at offset 0x30); compile for gfx1151 or gfx11-generic
        "#]],
    );
    expect![[r#"
        error: target-mismatch: compiled for gfx11-generic, and the device is gfx1201: gfx11-generic stands for gfx1100, gfx1101, gfx1102, gfx1103, gfx1150, gfx1151, gfx1152, gfx1153 (e_flags, at offset 0x30); compile for gfx1201 or gfx12-generic
    "#]].assert_eq(&findings(&on("gfx1201"), &fixture("s1.gfx11-generic.co")));
}

#[test]
fn feature_mismatch() {
    let object = fixture("s1.gfx90a-xnack-off.co");
    expect![[r#"
        error: feature-mismatch: compiled with xnack off, and the device gfx90a:xnack+ has it on (e_flags, at offset 0x30); compile for gfx90a:xnack+, or without xnack for both settings
    "#]].assert_eq(&findings(&on("gfx90a:xnack+"), &object));
    assert_eq!(findings(&on("gfx90a:xnack-"), &object), "");
    assert_eq!(findings(&on("gfx90a"), &object), "");
}

#[test]
fn generic_version() {
    let bad = patched("s1.gfx11-generic.co", &[(51, &[0])]);
    breaks(
        &bad,
        &fixture("s1.gfx11-generic.co"),
        "gfx1100",
        &expect![[r#"
        error: generic-version: generic version 0, and gfx1100 runs gfx11-generic from version 1 (e_flags, at offset 0x30); compile with a newer compiler
    "#]],
    );
    let older = patched("s1.gfx11-generic.co", &[(8, &[3]), (51, &[0])]);
    expect![[r#"
        error: generic-version: gfx11-generic in code object version V5, and generic processors need 6 (e_flags, at offset 0x30); compile with -mcode-object-version=6
    "#]].assert_eq(&findings(&on("gfx1100"), &older));
    let exact = patched("s1.gfx1100.co", &[(51, &[1])]);
    expect![[r#"
        warning: generic-version: generic version 1, and gfx1100 is no generic processor: 0 is due (e_flags, at offset 0x30); clear the upper 8 bits of e_flags
    "#]].assert_eq(&findings(&on("gfx1100"), &exact));
}

#[test]
fn no_section_headers() {
    breaks(
        &fixture("s1.no-sections.co"),
        &fixture("s1.gfx942.co"),
        "gfx942",
        &expect![[r#"
        error: no-section-headers: no section headers, and the loader finds symbols and relocations by them (e_shnum, at offset 0x3c); keep section headers: llvm-strip without --strip-sections
    "#]],
    );
}

#[test]
fn no_symbol_table() {
    breaks(
        &fixture("s1.stripped.co"),
        &fixture("s1.gfx942.co"),
        "gfx942",
        &expect![[r#"
        warning: no-symbol-table: no .symtab, only .dynsym: ROCr lists no symbols of this object, and 3 kernels are in it (.symtab); do not strip it, or set LOADER_USE_DYNSYM=1 where it is loaded
    "#]],
    );
}

#[test]
fn kernel_not_found() {
    let object = fixture("s1.gfx942.co");
    expect![[r#"
        error: kernel-not-found: nones: no kernel of this name among 3 (.symbol); nearest: none, foo, ind
    "#]].assert_eq(&findings(&on("gfx942").with(|it| it.kernel("nones")), &object));
    assert_eq!(findings(&on("gfx942").with(|it| it.kernel("none").kernel("foo.kd")), &object), "");
}

#[test]
fn a_kernel_may_be_in_any_object_of_a_file() {
    let file = fixture("plain.bundle");
    let names = |name: &str| only("kernel-not-found", own(Checker::new().kernel(name)), &file);
    let object = CodeObject::parse(&fixture("s1.gfx942.co")).unwrap().index().kernels().len();
    assert_eq!(object, 3);
    assert_ne!(names("no_such_kernel"), "");
}

#[test]
fn metadata_invalid() {
    let good = fixture("s1.gfx942.co");
    breaks(
        &fixture("s1.no-note.co"),
        &good,
        "gfx942",
        &expect![[r#"
        warning: metadata-invalid: no metadata note, and 3 kernels: HIP finds none of them (amdhsa.kernels); make the metadata again: compilers and .amdgpu_metadata write it
    "#]],
    );
    let missing = reworded("s1.gfx942.co", ".sgpr_count", ".sgpr_C0UNT");
    breaks(
        &missing,
        &good,
        "gfx942",
        &expect![[r#"
            warning: metadata-invalid: foo: the metadata breaks LLVM's rules: no .sgpr_count (amdhsa.kernels[0].sgpr_count, at offset 0x25e); make the metadata again: compilers and .amdgpu_metadata write it
        "#]],
    );
    let kernels = good.windows(14).position(|it| it == b"amdhsa.kernels").unwrap();
    let unreadable = patched("s1.gfx942.co", &[(kernels + 14, &[0xc1])]);
    expect![[r#"
        error: metadata-invalid: the metadata cannot be read: byte 0xc1 begins no value (amdhsa.kernels, at offset 0x25c); make the metadata again: compilers and .amdgpu_metadata write it
    "#]].assert_eq(&only("metadata-invalid", on("gfx942"), &unreadable));
}

#[test]
fn metadata_target_mismatch() {
    let bad = reworded("s1.gfx942.co", "amdhsa--gfx942", "amdhsa--gfx90a");
    breaks(
        &bad,
        &fixture("s1.gfx942.co"),
        "gfx942",
        &expect![[r#"
        warning: metadata-target-mismatch: the metadata says 'amdgcn-amd-amdhsa--gfx90a', and e_flags say gfx942 (amdhsa.target); loaders go by e_flags; compile it again, or set amdhsa.target
    "#]],
    );
}

#[test]
fn unresolved_symbol() {
    breaks(
        &fixture("external.co"),
        &fixture("s1.gfx942.co"),
        "gfx942",
        &expect![[r#"
        error: unresolved-symbol: 'external_variable' is not defined, and R_AMDGPU_ABS64 at 0x2f60 needs it (external_variable, at offset 0xf60); link the object that defines it, or load that one first
        error: unresolved-symbol: 'external_function' is not defined, and R_AMDGPU_ABS64 at 0x2f68 needs it (external_function, at offset 0xf68); link the object that defines it, or load that one first
    "#]],
    );
}

#[test]
fn unsupported_relocation() {
    let good = fixture("s1.gfx942.co");
    let object = CodeObject::parse(&good).unwrap();
    let table = usize::try_from(object.elf().section_named(".rela.dyn").unwrap().offset).unwrap();
    let bad = patched("s1.gfx942.co", &[(table + 8, &[4])]);
    breaks(
        &bad,
        &good,
        "gfx942",
        &expect![[r#"
        error: unsupported-relocation: R_AMDGPU_REL32 at 0x4530, and the loader applies ABS32, ABS64 and RELATIVE64 only (R_AMDGPU_REL32, at offset 0x1530); link it with ld.lld -shared, without options that keep such relocations
    "#]],
    );
    let outside = patched("s1.gfx942.co", &[(table + 4, &[1])]);
    breaks(
        &outside,
        &good,
        "gfx942",
        &expect![[r#"
        error: unsupported-relocation: R_AMDGPU_RELATIVE64 at 0x100004530, which is in no loaded segment (R_AMDGPU_RELATIVE64); link it again
    "#]],
    );
}

#[test]
fn entry_invalid() {
    let good = fixture("s1.gfx942.co");
    let at = descriptor(&good, "foo") + 16;
    let unaligned = patched("s1.gfx942.co", &[(at, &[good[at] + 4])]);
    breaks(
        &unaligned,
        &good,
        "gfx942",
        &expect![[r#"
        error: entry-invalid: foo: its entry 0x1e04 is no multiple of 256: the hardware starts at 0x1e00 (kernel_code_entry_byte_offset, at offset 0xc10); align the code: .p2align 8
    "#]],
    );
    let far = patched("s1.gfx942.co", &[(at + 3, &[1])]);
    breaks(
        &far,
        &good,
        "gfx942",
        &expect![[r#"
        error: entry-invalid: foo: its entry 0x1001e00 is in no executable segment (kernel_code_entry_byte_offset, at offset 0xc10); link it again; the descriptor's field is relative to the descriptor
    "#]],
    );
    let nowhere = patched("s1.gfx942.co", &[(at + 7, &[0xff])]);
    breaks(
        &nowhere,
        &good,
        "gfx942",
        &expect![[r#"
        error: entry-invalid: foo: its entry is no address: it lies before the start of memory or past its end (kernel_code_entry_byte_offset, at offset 0xc10); link it again
    "#]],
    );
}

#[test]
fn reserved_bits() {
    let good = fixture("s1.gfx942.co");
    let at = descriptor(&good, "none") + 52;
    let bad = patched("s1.gfx942.co", &[(at + 2, &[good[at + 2] | 0x10])]);
    breaks(
        &bad,
        &good,
        "gfx942",
        &expect![[r#"
        warning: reserved-bits: none: granulated_lds_size is 0x20, and bits 15 to 23 must be zero on this processor (granulated_lds_size, at offset 0xc74); let .amdhsa_kernel write the descriptor
    "#]],
    );
}

#[test]
fn wave_size() {
    let good = fixture("s1.gfx1250.co");
    let at = descriptor(&good, "none") + 57;
    let bad = patched("s1.gfx1250.co", &[(at, &[good[at] & !4])]);
    breaks(
        &bad,
        &good,
        "gfx1250",
        &expect![[r#"
        error: wave-size: none: the descriptor asks for waves of 64, and gfx1250 has waves of 32 (enable_wavefront_size32, at offset 0xc78); compile it for this processor
    "#]],
    );
    let good = fixture("s1.gfx1100.co");
    let at = descriptor(&good, "none") + 57;
    let bad = patched("s1.gfx1100.co", &[(at, &[good[at] & !4])]);
    breaks(
        &bad,
        &good,
        "gfx1100",
        &expect![[r#"
        warning: wave-size: none: the descriptor asks for waves of 64, and the metadata says 32 (enable_wavefront_size32, at offset 0xcb8); the descriptor decides; callers that go by the metadata count lanes wrongly
    "#]],
    );
}

#[test]
fn metadata_descriptor_mismatch() {
    let good = fixture("s1.gfx942.co");
    let at = descriptor(&good, "foo");
    for (byte, expected) in [
        (
            0,
            expect![[r#"
        warning: metadata-descriptor-mismatch: foo: the descriptor says group_segment_fixed_size 16, and the metadata says 0 (group_segment_fixed_size, at offset 0xc00); the hardware goes by the descriptor, HIP by the metadata: make both say the same
    "#]],
        ),
        (
            4,
            expect![[r#"
        warning: metadata-descriptor-mismatch: foo: the descriptor says private_segment_fixed_size 16, and the metadata says 0 (private_segment_fixed_size, at offset 0xc04); the hardware goes by the descriptor, HIP by the metadata: make both say the same
    "#]],
        ),
        (
            8,
            expect![[r#"
        warning: metadata-descriptor-mismatch: foo: the descriptor says kernarg_size 8, and the metadata says 24 (kernarg_size, at offset 0xc08); the hardware goes by the descriptor, HIP by the metadata: make both say the same
    "#]],
        ),
    ] {
        let bad = patched("s1.gfx942.co", &[(at + byte, &[good[at + byte] ^ 0x10])]);
        breaks(&bad, &good, "gfx942", &expected);
    }
}

#[test]
fn resource_closure() {
    expect![[r#"
        error: resource-closure: far: vgprs: 48 allocated, 201 needed by far > between > needs_more (granulated_workitem_vgpr_count, at offset 0xe70); compile caller and callee together, or raise .amdhsa_next_free_vgpr
        error: resource-closure: near: vgprs: 48 allocated, 201 needed by near > needs_more (granulated_workitem_vgpr_count, at offset 0xeb0); compile caller and callee together, or raise .amdhsa_next_free_vgpr
    "#]].assert_eq(&findings(&on("gfx942").with(Checker::with_code), &fixture("short.co")));
    assert_eq!(
        findings(&on("gfx942"), &fixture("short.co")),
        "",
        "code is looked at when asked for"
    );
    assert_eq!(findings(&on("gfx942").with(Checker::with_code), &fixture("s1.gfx942.co")), "");
}

#[test]
fn launches() {
    let object = fixture("s1.gfx942.co");
    let launched = |workgroup: [u32; 3], grid: [u32; 3]| {
        let launch = LaunchFacts { workgroup: Some(workgroup), grid: Some(grid), dynamic_lds: 0 };
        findings(&Asked { launch, checker: Checker::new().kernel("foo"), ..on("gfx942") }, &object)
    };
    assert_eq!(launched([1024, 1, 1], [4_194_303, 1, 1]), "");
    expect![[r#"
        error: workgroup-limit: foo: launched with workgroups of 1024x2x1, 2048 work-items, and devices run 1024 at most (workgroup_size); launch more, smaller workgroups
    "#]].assert_eq(&launched([1024, 2, 1], [1, 1, 1]));
    expect![[r#"
        error: workgroup-limit: foo: launched with workgroups of 0x1x1: a dimension is 0 (workgroup_size); use 1 for dimensions that are not used
    "#]].assert_eq(&launched([0, 1, 1], [1, 1, 1]));
    expect![[r#"
        error: grid-limit: foo: launched with 4194304 workgroups of 1024 in x, 4294967296 work-items, and a packet counts 4294967295 at most (grid_size); launch several grids, or use another dimension
    "#]].assert_eq(&launched([1024, 1, 1], [4_194_304, 1, 1]));
    expect![[r#"
        warning: grid-limit: foo: launched with 8589932544 work-items in all, and agents announce 4294967295 at most (grid_size); launch several grids
    "#]].assert_eq(&launched([1024, 1, 1], [4_194_303, 2, 1]));
    expect![[r#"
        error: grid-limit: foo: launched with 0 workgroups in y: nothing to run (grid_size); use 1 for dimensions that are not used
    "#]].assert_eq(&launched([1, 1, 1], [1, 0, 1]));
}

#[test]
fn dynamic_lds_counts() {
    let object = fixture("s1.gfx942.co");
    let with = |dynamic_lds| {
        let launch = LaunchFacts { dynamic_lds, ..LaunchFacts::default() };
        findings(&Asked { launch, checker: Checker::new().kernel("foo"), ..on("gfx942") }, &object)
    };
    assert_eq!(with(65536), "");
    expect![[r#"
        error: lds-limit: foo: needs 65537 bytes of LDS (0 of its own and 65537 of the launch), and a workgroup on gfx942 has 65536: 1 too many (group_segment_fixed_size, at offset 0xc00); use smaller tiles, or another device
    "#]].assert_eq(&with(65537));
}

#[test]
#[cfg_attr(not(corpus), ignore = "needs `cargo xtask corpus`")]
fn containers_give_each_device_what_is_its_own() {
    let file = fixture("plain.bundle");
    let report = check(&file, &"gfx942".parse().unwrap());
    assert!(report.passes());
    assert!(report.skipped > 0);
    expect![[r#"
        error: target-mismatch: none of the 2 objects runs on gfx1201: they are for gfx1100, gfx942 (e_flags); compile for gfx1201 or gfx12-generic
    "#]].assert_eq(&findings(&on("gfx1201"), &file));
}

/// What was read for one device is the same for the next.
#[test]
fn facts_are_shared_by_devices() {
    let checker = Checker::new().with_code();
    let launch = LaunchFacts { workgroup: Some([256, 1, 1]), ..LaunchFacts::default() };
    for name in ["s1.gfx942.co", "s1.gfx11-generic.co", "short.co", "two-notes.co", "v2.co"] {
        let file = fixture(name);
        let facts = Facts::read(&file);
        for device in Device::all() {
            let shared = checker.object(&facts, Some(&device), &launch);
            let alone = checker.object(&Facts::read(&file), Some(&device), &launch);
            assert_eq!(shared.findings, alone.findings, "{name} on {}", device.name);
            assert_eq!(shared.runs, alone.runs, "{name} on {}", device.name);
        }
    }
}
