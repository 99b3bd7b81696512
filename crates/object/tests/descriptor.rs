//! Kernel descriptors against LLVM: what its assembler writes, and what its disassembler reads.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod llvm;
#[path = "../../../tests/src/random.rs"]
mod random;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::Path;

use hsaco_isa::target::Generation;
use hsaco_object::descriptor::{Field, KernelCodeV2, KernelDescriptor};
use llvm::{Scratch, read, run, tools};
use random::Random;

const TOOLS: &[&str] = &["llvm-mc-22", "llvm-objcopy-22", "llvm-objdump-22"];

/// One processor of each kind, as target IDs: LLVM's `reserve_` lines are those without XNACK.
const TARGETS: &[(&str, Generation)] = &[
    ("gfx700", Generation::Gfx7),
    ("gfx803", Generation::Gfx8),
    ("gfx906:xnack-", Generation::Gfx9),
    ("gfx908:xnack-", Generation::Gfx9),
    ("gfx90a:xnack-", Generation::Gfx90a),
    ("gfx942:xnack-", Generation::Gfx940),
    ("gfx950:xnack-", Generation::Gfx940),
    ("gfx1010:xnack-", Generation::Gfx10),
    ("gfx1030", Generation::Gfx10),
    ("gfx1100", Generation::Gfx11),
    ("gfx1151", Generation::Gfx11),
    ("gfx1201", Generation::Gfx12),
    ("gfx1250", Generation::Gfx125),
];

/// LLVM's disassembler knows no gfx6 and gfx7.
fn has_disassembler(generation: Generation) -> bool {
    generation >= Generation::Gfx8
}

/// Assembles read-only data and returns its bytes; the object stays in `scratch` as `a.o`.
fn assemble(scratch: &Scratch, target: &str, version: u8, rodata: &str) -> Vec<u8> {
    let processor = target.split(':').next().unwrap();
    let mattr = if target.ends_with("xnack-") { "-mattr=-xnack" } else { "-mattr=" };
    let source = format!(
        ".amdgcn_target \"amdgcn-amd-amdhsa--{target}\"\n\
         .amdhsa_code_object_version {version}\n.rodata\n.p2align 6\n{rodata}"
    );
    let source = scratch.write("a.s", source.as_bytes());
    let target = ["-triple=amdgcn-amd-amdhsa", &format!("-mcpu={processor}"), mattr];
    image(scratch, &source, &target, ".rodata")
}

/// Assembles a file and returns the bytes of one section.
fn image(scratch: &Scratch, source: &Path, target: &[&str], section: &str) -> Vec<u8> {
    let object = scratch.path("a.o");
    let image = scratch.path("a.bin");
    let mut arguments: Vec<&OsStr> = target.iter().map(OsStr::new).collect();
    arguments.extend([
        OsStr::new("-filetype=obj"),
        source.as_ref(),
        "-o".as_ref(),
        object.as_ref(),
    ]);
    run("llvm-mc-22", &arguments);
    let only = format!("--only-section={section}");
    let arguments = [OsStr::new("-O"), "binary".as_ref(), only.as_ref()];
    run("llvm-objcopy-22", &[&arguments[..], &[object.as_ref(), image.as_ref()]].concat());
    read(&image)
}

fn descriptors(image: &[u8]) -> Vec<KernelDescriptor> {
    let (descriptors, rest) = image.as_chunks();
    assert!(rest.is_empty());
    descriptors.iter().map(KernelDescriptor::from_bytes).collect()
}

/// Random values for the fields that a directive sets, within what the assembler accepts.
fn random_values(
    random: &mut Random,
    generation: Generation,
    user_sgpr_count: bool,
) -> Vec<(&'static Field, u64)> {
    let mut values: Vec<(&'static Field, u64)> = Vec::new();
    for field in Field::all(generation).filter(|it| !it.must_be_zero && it.directive.is_some()) {
        let any = random.bits() & field.max();
        let value = match field.name {
            "granulated_workitem_vgpr_count" => 8 + any % 24,
            "granulated_wavefront_sgpr_count" if generation >= Generation::Gfx9 => 3,
            "granulated_wavefront_sgpr_count" => any % 12,
            "accum_offset" => 4,
            "shared_vgpr_count" => any % 8,
            "enable_vgpr_workitem_id" => any % 3,
            "user_sgpr_count" if !user_sgpr_count => continue,
            "user_sgpr_count" => 16,
            "kernarg_preload_spec_length" => any % 3,
            "kernarg_preload_spec_offset" => any % 4,
            "enable_sgpr_kernarg_segment_ptr" => 1,
            // Too many of these want more user registers than there are.
            "enable_sgpr_private_segment_buffer" | "enable_sgpr_dispatch_id" => any & random.bits(),
            _ => any,
        };
        values.push((field, value));
    }
    let wave32 =
        values.iter().any(|&(it, value)| it.name == "enable_wavefront_size32" && value == 1);
    for (field, value) in &mut values {
        if wave32 && field.name == "shared_vgpr_count" {
            *value = 0;
        }
    }
    values
}

/// What one writes after a field's directive to give it `value`.
fn operand(field: &Field, value: u64, generation: Generation, wave32: bool) -> u64 {
    match field.name {
        "granulated_workitem_vgpr_count" => {
            let granule = match generation {
                Generation::Gfx90a | Generation::Gfx940 => 8,
                Generation::Gfx125 if wave32 => 16,
                Generation::Gfx125 => 8,
                _ if wave32 => 8,
                _ => 4,
            };
            // Any count of the last granule means the whole of it.
            value * granule + 1 + value % granule
        }
        // The assembler adds the six that set up scratch memory.
        "granulated_wavefront_sgpr_count" if generation == Generation::Gfx940 => value * 8 + 2,
        "granulated_wavefront_sgpr_count" => (value + 1) * 8,
        "accum_offset" => (value + 1) * 4,
        _ => value,
    }
}

fn source(index: usize, generation: Generation, values: &[(&Field, u64)]) -> String {
    let wave32 =
        values.iter().any(|&(it, value)| it.name == "enable_wavefront_size32" && value == 1);
    let mut source = format!(".amdhsa_kernel k{index}\n.amdhsa_reserve_vcc 0\n");
    let architected = generation == Generation::Gfx940 || generation >= Generation::Gfx11;
    if !architected && generation >= Generation::Gfx7 {
        source += ".amdhsa_reserve_flat_scratch 0\n";
    }
    if generation >= Generation::Gfx10 {
        source += ".amdhsa_next_free_sgpr 1\n";
    }
    for &(field, value) in values {
        let skip = field.name == "shared_vgpr_count" && wave32;
        if let Some(directive) = field.directive.filter(|_| !skip) {
            let operand = operand(field, value, generation, wave32);
            writeln!(source, "{directive} {operand}").unwrap();
        }
    }
    source + ".end_amdhsa_kernel\n"
}

#[test]
fn fields_are_what_the_directives_said() {
    let Some(scratch) = tools(TOOLS, "descriptor-fields") else { return };
    let mut random = Random::new(7);
    for &(target, generation) in TARGETS {
        let kernels: Vec<_> =
            (0..50).map(|_| random_values(&mut random, generation, true)).collect();
        let text: String = kernels
            .iter()
            .enumerate()
            .map(|(index, values)| source(index, generation, values))
            .collect();
        let image = assemble(&scratch, target, 5, &text);
        let mut directives = BTreeSet::new();
        for (descriptor, values) in descriptors(&image).into_iter().zip(&kernels) {
            for &(field, value) in values {
                assert_eq!(descriptor.value(field), value, "{target} {}", field.name);
                directives.extend(field.directive.filter(|_| value != 0));
            }
            assert_eq!(descriptor.reserved_bits_set(generation).next(), None, "{target}");
            let again = KernelDescriptor::from_fields(descriptor.fields(generation)).unwrap();
            assert_eq!(again, descriptor);
        }
        assert_eq!(image.len(), kernels.len() * KernelDescriptor::SIZE);
        assert!(directives.len() >= 30, "{target}: {directives:?}");
    }
}

#[test]
fn directives_assemble_to_the_same_fields() {
    let Some(scratch) = tools(TOOLS, "descriptor-again") else { return };
    let mut random = Random::new(11);
    for &(target, generation) in TARGETS {
        let text: String = (0..50)
            .map(|index| source(index, generation, &random_values(&mut random, generation, false)))
            .collect();
        let first = descriptors(&assemble(&scratch, target, 5, &text));
        let text: String = first
            .iter()
            .enumerate()
            .map(|(index, descriptor)| block(&format!("k{index}"), *descriptor, generation, 5))
            .collect();
        let second = descriptors(&assemble(&scratch, target, 5, &text));
        assert_eq!(first.len(), second.len());
        for (first, second) in first.iter().zip(second) {
            for (field, value) in first.fields(generation).filter(|it| !is_lost(it.0, generation)) {
                assert_eq!(second.value(field), value, "{target} {}", field.name);
            }
        }
    }
}

/// The assembler adds the scalar registers that set up scratch memory to the count that LLVM's
/// disassembler prints, where they are already in it.
fn is_lost(field: &Field, generation: Generation) -> bool {
    field.name == "granulated_wavefront_sgpr_count" && generation == Generation::Gfx940
}

/// A descriptor as the disassembler prints it.
fn block(name: &str, descriptor: KernelDescriptor, generation: Generation, version: u8) -> String {
    let mut text = format!(".amdhsa_kernel {name}\n");
    for line in descriptor.directives(generation, version) {
        writeln!(text, "\t{line}").unwrap();
    }
    text + ".end_amdhsa_kernel\n"
}

/// Random bits everywhere, but few where they must be zero.
fn random_descriptor(random: &mut Random, generation: Generation) -> KernelDescriptor {
    let fields = Field::all(generation).map(|field| {
        let keep = !field.must_be_zero || random.below(150) == 0;
        (field, if keep { random.bits() & field.max() } else { 0 })
    });
    KernelDescriptor::from_fields(fields.collect::<Vec<_>>()).unwrap()
}

#[test]
fn text_is_what_objdump_prints() {
    let Some(scratch) = tools(TOOLS, "descriptor-text") else { return };
    let mut random = Random::new(13);
    for &(target, generation) in TARGETS.iter().filter(|it| has_disassembler(it.1)) {
        for version in 4..=6 {
            let descriptors: Vec<_> =
                (0..200).map(|_| random_descriptor(&mut random, generation)).collect();
            let compared = compare_text(&scratch, target, generation, version, &descriptors);
            assert!(compared * 4 > descriptors.len() * 3, "{target}: only {compared} compared");
        }
    }
}

/// Compares the text of every descriptor that the disassembler accepts, and returns how many.
fn compare_text(
    scratch: &Scratch,
    target: &str,
    generation: Generation,
    version: u8,
    descriptors: &[KernelDescriptor],
) -> usize {
    let mut data = String::new();
    for (index, descriptor) in descriptors.iter().enumerate() {
        let name = format!("k{index}.kd");
        writeln!(data, ".globl {name}\n.type {name},@object\n.size {name}, 64\n{name}:").unwrap();
        for byte in descriptor.to_bytes() {
            writeln!(data, ".byte {byte}").unwrap();
        }
    }
    assemble(scratch, target, version, &data);
    let object = scratch.path("a.o");
    let text = run(
        "llvm-objdump-22",
        &["-D".as_ref(), "-j".as_ref(), ".rodata".as_ref(), object.as_os_str()],
    );
    let mut compared = 0;
    for (index, &descriptor) in descriptors.iter().enumerate() {
        let heading = format!("<k{index}.kd>:\n");
        let start = text.find(&heading).unwrap() + heading.len();
        if text[start..].starts_with(".amdhsa_kernel ") {
            let end = start + text[start..].find(".end_amdhsa_kernel\n").unwrap() + 19;
            let expected = block(&format!("k{index}"), descriptor, generation, version);
            assert_eq!(expected, text[start..end], "{target}");
            compared += 1;
        } else {
            assert!(descriptor.reserved_bits_set(generation).next().is_some(), "{target}");
        }
    }
    compared
}

/// Assignments of the older assembler block, each with what it sets.
type Assignment = (&'static str, u64, fn(KernelCodeV2) -> u64);

const V2: &[Assignment] = &[
    ("amd_code_version_major", 11, |it| it.amd_kernel_code_version_major.into()),
    ("amd_code_version_minor", 12, |it| it.amd_kernel_code_version_minor.into()),
    ("amd_machine_kind", 13, |it| it.amd_machine_kind.into()),
    ("amd_machine_version_major", 14, |it| it.amd_machine_version_major.into()),
    ("amd_machine_version_minor", 15, |it| it.amd_machine_version_minor.into()),
    ("amd_machine_version_stepping", 16, |it| it.amd_machine_version_stepping.into()),
    ("kernel_code_entry_byte_offset", 256, |it| it.entry(0).unwrap()),
    ("kernel_code_prefetch_byte_size", 18, |it| it.kernel_code_prefetch_byte_size),
    ("granulated_workitem_vgpr_count", 5, |it| it.compute_pgm_rsrc1.into()),
    ("user_sgpr_count", 7, |it| it.user_sgprs().into()),
    ("is_dynamic_callstack", 1, |it| it.is_dynamic_call_stack().into()),
    ("is_xnack_enabled", 1, |it| it.is_xnack_enabled().into()),
    ("workitem_private_segment_byte_size", 21, |it| it.workitem_private_segment_byte_size.into()),
    ("workgroup_group_segment_byte_size", 22, |it| it.workgroup_group_segment_byte_size.into()),
    ("gds_segment_byte_size", 23, |it| it.gds_segment_byte_size.into()),
    ("kernarg_segment_byte_size", 24, |it| it.kernarg_segment_byte_size),
    ("workgroup_fbarrier_count", 25, |it| it.workgroup_fbarrier_count.into()),
    ("wavefront_sgpr_count", 26, |it| it.wavefront_sgpr_count.into()),
    ("workitem_vgpr_count", 27, |it| it.workitem_vgpr_count.into()),
    ("reserved_vgpr_first", 28, |it| it.reserved_vgpr_first.into()),
    ("reserved_vgpr_count", 29, |it| it.reserved_vgpr_count.into()),
    ("reserved_sgpr_first", 30, |it| it.reserved_sgpr_first.into()),
    ("reserved_sgpr_count", 31, |it| it.reserved_sgpr_count.into()),
    ("debug_wavefront_private_segment_offset_sgpr", 32, |it| {
        it.debug_wavefront_private_segment_offset_sgpr.into()
    }),
    ("debug_private_segment_buffer_sgpr", 33, |it| it.debug_private_segment_buffer_sgpr.into()),
    ("kernarg_segment_alignment", 4, |it| it.kernarg_segment_alignment.into()),
    ("group_segment_alignment", 5, |it| it.group_segment_alignment.into()),
    ("private_segment_alignment", 7, |it| it.private_segment_alignment.into()),
    ("wavefront_size", 6, |it| it.lanes().unwrap().ilog2().into()),
    ("call_convention", 8, |it| u64::try_from(it.call_convention).unwrap()),
    ("runtime_loader_kernel_symbol", 38, |it| it.runtime_loader_kernel_symbol),
];

/// LLVM writes code object V2 no more, but still the same structure for Mesa.
#[test]
fn v2_fields_are_what_the_assembler_said() {
    let Some(scratch) = tools(TOOLS, "descriptor-v2") else { return };
    let lines: String = V2.iter().map(|(name, value, _)| format!("{name} = {value}\n")).collect();
    let source = format!(".text\n.amd_kernel_code_t\n{lines}.end_amd_kernel_code_t\n");
    let source = scratch.write("a.s", source.as_bytes());
    let target = ["-triple=amdgcn-mesa-mesa3d", "-mcpu=gfx803"];
    let image = image(&scratch, &source, &target, ".text");
    let code = KernelCodeV2::parse(&image).unwrap();
    for (name, value, read) in V2 {
        assert_eq!(read(code), *value, "{name}");
    }
    assert_eq!(code.to_bytes(), image[..]);
}
