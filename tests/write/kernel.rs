//! Descriptors and metadata changed together, held against what the assembler writes.

use hsaco::object::CodeObject;
use hsaco::object::write::{Edit, KernelChange, MetadataEdit, Registers};
use hsaco_tests::program::sh;
use hsaco_tests::scratch_dir;

/// A kernel that says it uses so many registers, and what else is said in `more`.
fn source(cpu: &str, registers: Registers, more: &str) -> String {
    let Registers { vgprs, agprs, sgprs } = registers;
    let unified = matches!(cpu, "gfx90a" | "gfx942");
    let accum = vgprs.max(1).next_multiple_of(4);
    let total = if unified && agprs != 0 { accum + agprs } else { vgprs.max(agprs) };
    let reserve = match cpu {
        "gfx906" | "gfx908" | "gfx90a" => ".amdhsa_reserve_flat_scratch 0",
        _ => "",
    };
    // Scratch that the hardware sets up takes six, which the assembler adds.
    let free = if cpu == "gfx942" { sgprs - 6 } else { sgprs };
    let accum = if unified { format!(".amdhsa_accum_offset {accum}") } else { String::new() };
    format!(
        ".text\n.globl k\n.p2align 8\n.type k,@function\nk:\n s_endpgm\n.size k, .-k\n\
         .rodata\n.p2align 6\n.amdhsa_kernel k\n {accum}\n .amdhsa_next_free_vgpr {total}\n \
         .amdhsa_next_free_sgpr {free}\n .amdhsa_reserve_vcc 0\n {reserve}\n {more}\n.end_amdhsa_kernel\n\
         .amdgpu_metadata\n---\namdhsa.version: [ 1, 2 ]\namdhsa.kernels:\n  - .name: k\n    .symbol: k.kd\n    \
         .kernarg_segment_size: 8\n    .kernarg_segment_align: 8\n    .wavefront_size: 64\n    \
         .group_segment_fixed_size: 0\n    .private_segment_fixed_size: 0\n    .max_flat_workgroup_size: 64\n    \
         .sgpr_count: {sgprs}\n    .vgpr_count: {total}\n    .agpr_count: {agprs}\n...\n.end_amdgpu_metadata\n"
    )
}

fn assemble(folder: &std::path::Path, cpu: &str, source: &str) -> Vec<u8> {
    std::fs::write(folder.join("k.s"), source).unwrap();
    // Where it may be on, the assembler counts two registers for it.
    let attributes = if cpu.starts_with("gfx9") { "-mattr=-xnack" } else { "" };
    sh(
        folder,
        &format!(
            "llvm-mc-22 --triple=amdgcn-amd-amdhsa -mcpu={cpu} {attributes} -filetype=obj k.s -o k.o"
        ),
    );
    sh(folder, "ld.lld-22 -shared k.o -o k.co");
    std::fs::read(folder.join("k.co")).unwrap()
}

fn change(file: &[u8], change: impl Fn(&mut KernelChange)) -> Vec<u8> {
    let object = CodeObject::parse(file).unwrap();
    let kernel = object.index().kernels()[0];
    let mut edited = KernelChange::of(&object, &kernel).unwrap();
    change(&mut edited);
    let (mut edit, mut metadata) = (Edit::new(file).unwrap(), MetadataEdit::of(&object).unwrap());
    edited.apply(&mut edit, &mut metadata).unwrap();
    metadata.apply(&mut edit).unwrap();
    edit.finish().unwrap()
}

/// The descriptor's bytes but for the entry, and the document.
fn said(file: &[u8]) -> ([u8; 64], Vec<u8>) {
    let object = CodeObject::parse(file).unwrap();
    let mut descriptor = object.index().kernels()[0].descriptor().unwrap();
    descriptor.kernel_code_entry_byte_offset = 0;
    (descriptor.to_bytes(), MetadataEdit::of(&object).unwrap().to_document().unwrap())
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn registers_are_set_as_the_assembler_sets_them() {
    let folder = scratch_dir();
    let cases: [(&str, &[u32], &[u32]); 6] = [
        ("gfx906", &[1, 4, 5, 127, 128, 256], &[0]),
        ("gfx908", &[1, 64, 65, 256], &[0, 3, 100]),
        ("gfx90a", &[1, 4, 5, 201, 256], &[0, 3, 256]),
        ("gfx942", &[1, 41, 201, 256], &[0, 8, 100]),
        ("gfx1100", &[1, 8, 9, 201, 256], &[0]),
        ("gfx1250", &[1, 16, 17, 256, 257, 1024], &[0]),
    ];
    for (cpu, vgprs, agprs) in cases {
        let start = Registers { vgprs: 24, agprs: 0, sgprs: 20 };
        let start = assemble(folder.path(), cpu, &source(cpu, start, ""));
        for &vgprs in vgprs {
            for &agprs in agprs {
                let registers = Registers { vgprs, agprs, sgprs: 20 + vgprs % 60 };
                let expected = assemble(folder.path(), cpu, &source(cpu, registers, ""));
                let new = change(&start, |it| it.set_registers(registers).unwrap());
                assert_eq!(said(&new), said(&expected), "{cpu} {registers:?}");
            }
        }
    }
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn sizes_are_set_as_the_assembler_sets_them() {
    let folder = scratch_dir();
    let registers = Registers { vgprs: 24, agprs: 0, sgprs: 20 };
    for cpu in ["gfx942", "gfx1100", "gfx1250"] {
        let start = assemble(folder.path(), cpu, &source(cpu, registers, ""));
        let more = ".amdhsa_group_segment_fixed_size 4096\n.amdhsa_private_segment_fixed_size 64\n\
                    .amdhsa_enable_private_segment 1\n.amdhsa_uses_dynamic_stack 1\n.amdhsa_kernarg_size 264";
        let expected = assemble(folder.path(), cpu, &source(cpu, registers, more));
        let new = change(&start, |it| {
            it.set("group_segment_fixed_size", 4096).unwrap();
            it.set("private_segment_fixed_size", 64).unwrap();
            it.set("uses_dynamic_stack", 1).unwrap();
            it.set("kernarg_segment_size", 264).unwrap();
            it.set("max_flat_workgroup_size", 1024).unwrap();
        });
        assert_eq!(said(&new).0, said(&expected).0, "{cpu}");
        let object = CodeObject::parse(&new).unwrap();
        let kernel = object.metadata().kernels()[0].decode().unwrap();
        assert_eq!(kernel.group_segment_fixed_size, Some(4096));
        assert_eq!(kernel.private_segment_fixed_size, Some(64));
        assert_eq!(kernel.uses_dynamic_stack, Some(true));
        assert_eq!(kernel.kernarg_segment_size, Some(264));
        assert_eq!(kernel.max_flat_workgroup_size, Some(1024));
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let file = super::fixture("s1.gfx942.co");
    let object = CodeObject::parse(&file).unwrap();
    let mut change = KernelChange::of(&object, &object.index().kernels()[0]).unwrap();
    let said = |result: hsaco::bytes::Result<()>| result.unwrap_err().to_string();
    assert_eq!(
        said(change.set("vgpr_count", 513)),
        "limit exceeded: kernel descriptor: accum_offset is 128, and at most 63 (at offset 0x2c)"
    );
    assert_eq!(
        said(change.set("no_such_thing", 1)),
        "not found: kernel change: no_such_thing of foo: neither a key nor a field"
    );
    assert_eq!(
        said(change.set_entry(0, 0x1234)),
        "malformed: kernel change: an entry at 0x1234, which is no multiple of 256"
    );
    let file = super::fixture("s1.gfx90a-xnack-off.co");
    let object = CodeObject::parse(&file).unwrap();
    let index = object.index();
    let none = index.kernels().iter().find(|it| it.name() == "none").unwrap();
    let mut change = KernelChange::of(&object, none).unwrap();
    assert_eq!(
        said(change.set("private_segment_fixed_size", 16)),
        "unsupported: kernel change: scratch for none, whose code does not set up scratch addresses"
    );
}
