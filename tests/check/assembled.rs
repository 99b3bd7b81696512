//! Rules that assembly breaks: LLVM's assembler objects to hardly anything.

use std::fmt::Write as _;
use std::fs;

use expect_test::expect;
use hsaco::check::{Checker, LaunchFacts};
use hsaco_tests::program::sh;
use hsaco_tests::scratch_dir;

use super::{Asked, findings, on, only, own};

/// A kernel to assemble: what differs from one that is fine on every device.
#[derive(Clone, Copy)]
pub(crate) struct Kernel {
    pub(crate) name: &'static str,
    /// Lines of `.amdhsa_kernel`.
    pub(crate) directives: &'static str,
    /// Keys of its metadata with other values, or new ones; an empty value leaves the key out.
    pub(crate) metadata: &'static [(&'static str, &'static str)],
    pub(crate) code: &'static str,
}

pub(crate) const PLAIN: Kernel = Kernel { name: "plain", directives: "", metadata: &[], code: "" };

const METADATA: [(&str, &str); 10] = [
    (".kernarg_segment_size", "8"),
    (".kernarg_segment_align", "8"),
    (".group_segment_fixed_size", "0"),
    (".private_segment_fixed_size", "0"),
    (".wavefront_size", "64"),
    (".sgpr_count", "16"),
    (".vgpr_count", "4"),
    (".max_flat_workgroup_size", "256"),
    (".args", "[{.offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}]"),
    (".language", "Assembler"),
];

/// The linked object of some kernels.
pub(crate) fn object(target: &str, kernels: &[Kernel]) -> Vec<u8> {
    let processor = target.split(':').next().unwrap();
    let wave32 = processor.starts_with("gfx1");
    let unified = matches!(processor, "gfx90a" | "gfx942" | "gfx950");
    let mut text = format!(".amdgcn_target \"amdgcn-amd-amdhsa--{target}\"\n");
    let mut metadata = format!(
        "---\namdhsa.version: [1, 2]\namdhsa.target: 'amdgcn-amd-amdhsa--{target}'\namdhsa.kernels:\n"
    );
    for kernel in kernels {
        let Kernel { name, directives, code, .. } = kernel;
        writeln!(text, ".text\n.globl {name}\n.p2align 8\n.type {name},@function\n{name}:\n{code}\ns_endpgm\n.size {name}, .-{name}").unwrap();
        writeln!(text, ".rodata\n.p2align 6\n.amdhsa_kernel {name}\n.amdhsa_kernarg_size 8\n.amdhsa_user_sgpr_kernarg_segment_ptr 1").unwrap();
        for (line, default) in [
            (".amdhsa_next_free_vgpr", "4"),
            (".amdhsa_next_free_sgpr", "16"),
            (".amdhsa_accum_offset", "4"),
        ] {
            if !directives.contains(line) && (unified || line != ".amdhsa_accum_offset") {
                writeln!(text, "{line} {default}").unwrap();
            }
        }
        writeln!(text, "{directives}\n.end_amdhsa_kernel").unwrap();
        writeln!(metadata, "  - .name: {name}\n    .symbol: {name}.kd").unwrap();
        let wave = if wave32 { "32" } else { "64" };
        let default = METADATA
            .iter()
            .map(|(key, value)| (*key, if *key == ".wavefront_size" { wave } else { value }));
        let changed = |key: &str| {
            kernel.metadata.iter().find(|(other, _)| *other == key).map(|(_, value)| *value)
        };
        let values = default.map(|(key, value)| (key, changed(key).unwrap_or(value)));
        let new = kernel
            .metadata
            .iter()
            .copied()
            .filter(|(key, _)| METADATA.iter().all(|(known, _)| known != key));
        for (key, value) in values.chain(new).filter(|(_, value)| !value.is_empty()) {
            writeln!(metadata, "    {key}: {value}").unwrap();
        }
    }
    writeln!(text, ".amdgpu_metadata\n{metadata}...\n.end_amdgpu_metadata").unwrap();
    link(target, &text)
}

fn link(target: &str, text: &str) -> Vec<u8> {
    let dir = scratch_dir();
    fs::write(dir.path().join("k.s"), text).unwrap();
    let (processor, features) = target.split_once(':').unwrap_or((target, ""));
    let attributes = if features == "xnack+" { "-mattr=+xnack" } else { "" };
    sh(
        dir.path(),
        &format!(
            "llvm-mc-22 --triple=amdgcn-amd-amdhsa -mcpu={processor} {attributes} -filetype=obj k.s -o k.o"
        ),
    );
    sh(dir.path(), "ld.lld-22 -shared k.o -o k.co");
    fs::read(dir.path().join("k.co")).unwrap()
}

const LDS_65536: &[(&str, &str)] = &[(".group_segment_fixed_size", "65536")];
const LDS_200000: &[(&str, &str)] = &[(".group_segment_fixed_size", "200000")];
const LDS_163840: &[(&str, &str)] = &[(".group_segment_fixed_size", "163840")];
const LDS_163844: &[(&str, &str)] = &[(".group_segment_fixed_size", "163844")];

/// LLVM's assembler takes these values. What decodes the metadata refuses them, and so all that launches by it.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn what_the_metadata_cannot_say_of_a_kernel_is_an_error() {
    let told = |key: &'static str, value: &'static str| {
        let metadata: &'static [_] = Box::leak(Box::new([(key, value)]));
        let object = object("gfx1250", &[Kernel { metadata, ..PLAIN }]);
        only("metadata-invalid", on("gfx1250"), &object)
    };
    for (key, fine) in [
        (".uniform_work_group_size", &["0", "1"][..]),
        (".cluster_dims", &["[1, 1, 1]", "[2, 255, 1]"]),
    ] {
        fine.iter().for_each(|value| assert_eq!(told(key, value), "", "{key} {value}"));
    }
    let wrong = [
        (".uniform_work_group_size", "2"),
        (".cluster_dims", "[0, 1, 1]"),
        (".cluster_dims", "[256, 1, 1]"),
        (".vgpr_count", "-1"),
    ];
    let told: String = wrong.into_iter().map(|(key, value)| told(key, value)).collect();
    expect![[r#"
        error: metadata-invalid: plain: what the metadata says of it cannot be read: .uniform_work_group_size is 2, not a boolean, 0 or 1 (amdhsa.kernels[0].uniform_work_group_size, at offset 0x348); make the metadata again: compilers and .amdgpu_metadata write it
        error: metadata-invalid: plain: what the metadata says of it cannot be read: .cluster_dims is [0, 1, 1]; each must be 1 to 255 (amdhsa.kernels[0].cluster_dims[0], at offset 0x27c); make the metadata again: compilers and .amdgpu_metadata write it
        error: metadata-invalid: plain: what the metadata says of it cannot be read: .cluster_dims is [256, 1, 1]; each must be 1 to 255 (amdhsa.kernels[0].cluster_dims[0], at offset 0x27c); make the metadata again: compilers and .amdgpu_metadata write it
        error: metadata-invalid: plain: what the metadata says of it cannot be read: .vgpr_count is -1, not a non-negative integer (amdhsa.kernels[0].vgpr_count, at offset 0x33b); make the metadata again: compilers and .amdgpu_metadata write it
    "#]].assert_eq(&told);
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn a_plain_kernel_passes_everywhere() {
    for target in [
        "gfx900",
        "gfx908",
        "gfx90a",
        "gfx942",
        "gfx942:xnack+",
        "gfx950",
        "gfx1030",
        "gfx1100",
        "gfx1201",
        "gfx1250",
    ] {
        let object = object(target, &[PLAIN]);
        assert_eq!(findings(&own(Checker::new().with_code()), &object), "", "{target}");
    }
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn lds_limit() {
    let with = |directives, metadata| Kernel { name: "tiles", directives, metadata, ..PLAIN };
    let good = with(".amdhsa_group_segment_fixed_size 65536", LDS_65536);
    let bad = with(".amdhsa_group_segment_fixed_size 200000", LDS_200000);
    assert_eq!(findings(&on("gfx942"), &object("gfx942", &[good])), "");
    expect![[r#"
        error: lds-limit: tiles: needs 200000 bytes of LDS, and a workgroup on gfx942 has 65536: 134464 too many (group_segment_fixed_size, at offset 0x440); use smaller tiles, or another device
    "#]].assert_eq(&findings(&on("gfx942"), &object("gfx942", &[bad])));
    // The first kernel is fine, the second is not.
    expect![[r#"
        error: lds-limit: tiles: needs 200000 bytes of LDS, and a workgroup on gfx942 has 65536: 134464 too many (group_segment_fixed_size, at offset 0x600); use smaller tiles, or another device
    "#]].assert_eq(&findings(&on("gfx942"), &object("gfx942", &[PLAIN, bad])));
    let full = with(".amdhsa_group_segment_fixed_size 163840", LDS_163840);
    let over = with(".amdhsa_group_segment_fixed_size 163844", LDS_163844);
    let full = object("gfx950", &[full]);
    assert_eq!(findings(&on("gfx950"), &full), "");
    expect![[r#"
        error: target-mismatch: compiled for gfx950, and the device is gfx942: exact processors do not run each other's code (e_flags, at offset 0x30); compile for gfx942 or gfx9-4-generic
        error: lds-limit: tiles: needs 163840 bytes of LDS, and a workgroup on gfx942 has 65536: 98304 too many; gfx950, which it is compiled for, has 163840 (group_segment_fixed_size, at offset 0x440); use smaller tiles, or another device
    "#]].assert_eq(&findings(&on("gfx942"), &full));
    expect![[r#"
        error: lds-limit: tiles: needs 163844 bytes of LDS, and a workgroup on gfx950 has 163840: 4 too many (group_segment_fixed_size, at offset 0x440); use smaller tiles, or another device
    "#]].assert_eq(&findings(&on("gfx950"), &object("gfx950", &[over])));
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn limits_can_be_the_projects_own() {
    let kernel = Kernel {
        name: "tiles",
        directives: ".amdhsa_group_segment_fixed_size 65536",
        metadata: LDS_65536,
        ..PLAIN
    };
    let mut device: hsaco::check::Device = "gfx942".parse().unwrap();
    device.name = "half".into();
    device.set(hsaco::check::Limit::Lds, 32768);
    expect![[r#"
        error: lds-limit: tiles: needs 65536 bytes of LDS, and a workgroup on half has 32768: 32768 too many (group_segment_fixed_size, at offset 0x440); use smaller tiles, or another device
    "#]]
        .assert_eq(&findings(&Asked { device: Some(device), ..own(Checker::new()) }, &object("gfx942", &[kernel])));
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn register_limit() {
    let good = Kernel {
        directives: ".amdhsa_next_free_vgpr 256",
        metadata: &[(".vgpr_count", "256"), (".max_flat_workgroup_size", "32")],
        ..PLAIN
    };
    let bad = Kernel {
        directives: ".amdhsa_next_free_vgpr 512",
        metadata: &[(".vgpr_count", "512"), (".max_flat_workgroup_size", "32")],
        ..PLAIN
    };
    assert_eq!(findings(&on("gfx1100"), &object("gfx1100", &[good])), "");
    expect![[r#"
        error: register-limit: plain: allocates 512 VGPRs, and a wave on gfx1100 has 256 at most: 256 too many (granulated_workitem_vgpr_count, at offset 0x470); compile with fewer registers: __launch_bounds__, or .amdhsa_next_free_vgpr
    "#]].assert_eq(&findings(&on("gfx1100"), &object("gfx1100", &[bad])));
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn code_decides_who_is_wrong_about_registers() {
    let says = |code| Kernel { metadata: &[(".vgpr_count", "64")], code, ..PLAIN };
    expect![[r#"
        error: register-limit: plain: the descriptor allocates 4 VGPRs, and the metadata declares 64; the code uses 64 vgprs (granulated_workitem_vgpr_count, at offset 0x470); raise .amdhsa_next_free_vgpr
    "#]]
        .assert_eq(&findings(&on("gfx900"), &object("gfx900", &[says("v_mov_b32 v63, 0")])));
    expect![[r#"
        warning: register-limit: plain: the descriptor allocates 4 VGPRs, and the metadata declares 64 (granulated_workitem_vgpr_count, at offset 0x470); let the compiler write both
    "#]]
        .assert_eq(&findings(&on("gfx900"), &object("gfx900", &[says("v_mov_b32 v3, 0")])));
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn waves_do_not_fit() {
    let required = |directives, metadata| Kernel { name: "groups", directives, metadata, ..PLAIN };
    let good = required(
        ".amdhsa_next_free_vgpr 128",
        &[
            (".vgpr_count", "128"),
            (".max_flat_workgroup_size", "1024"),
            (".reqd_workgroup_size", "[1024, 1, 1]"),
        ],
    );
    let bad = required(
        ".amdhsa_next_free_vgpr 136",
        &[
            (".vgpr_count", "136"),
            (".max_flat_workgroup_size", "1024"),
            (".reqd_workgroup_size", "[1024, 1, 1]"),
        ],
    );
    let odd = required(
        ".amdhsa_next_free_vgpr 136",
        &[(".vgpr_count", "136"), (".max_flat_workgroup_size", "1024")],
    );
    assert_eq!(findings(&on("gfx942"), &object("gfx942", &[good])), "");
    expect![[r#"
        error: waves-do-not-fit: groups: the required workgroups of 1024 work-items are 16 waves, and 12 of them have room with 136 VGPRs each: 3 on each of 4 SIMDs (granulated_workitem_vgpr_count, at offset 0x4b0); use workgroups of 768 at most, or fewer registers
    "#]].assert_eq(&findings(&on("gfx942"), &object("gfx942", &[bad])));
    let odd = object("gfx942", &[odd]);
    expect![[r#"
        warning: waves-do-not-fit: groups: the largest declared workgroups of 1024 work-items are 16 waves, and 12 of them have room with 136 VGPRs each: 3 on each of 4 SIMDs (granulated_workitem_vgpr_count, at offset 0x470); use workgroups of 768 at most, or fewer registers
    "#]].assert_eq(&findings(&on("gfx942"), &odd));
    let launched = |size| LaunchFacts { workgroup: Some([size, 1, 1]), ..LaunchFacts::default() };
    assert_eq!(findings(&Asked { launch: launched(768), ..on("gfx942") }, &odd), "");
    expect![[r#"
        error: waves-do-not-fit: groups: workgroups of 769 work-items are 13 waves, and 12 of them have room with 136 VGPRs each: 3 on each of 4 SIMDs (granulated_workitem_vgpr_count, at offset 0x470); use workgroups of 768 at most, or fewer registers
    "#]].assert_eq(&findings(&Asked { launch: launched(769), ..on("gfx942") }, &odd));
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn workgroup_limit() {
    let plain = object("gfx942", &[PLAIN]);
    let launched = |size| Asked {
        launch: LaunchFacts { workgroup: Some([size, 1, 1]), ..LaunchFacts::default() },
        ..on("gfx942")
    };
    assert_eq!(findings(&launched(256), &plain), "");
    expect![[r#"
        error: workgroup-limit: plain: launched with workgroups of 257x1x1, 257 work-items, and compiled for 256 at most (amdhsa.kernels[0].max_flat_workgroup_size, at offset 0x2e5); launch smaller workgroups, or compile with larger __launch_bounds__
    "#]].assert_eq(&findings(&launched(257), &plain));
    let fixed = Kernel { metadata: &[(".reqd_workgroup_size", "[64, 1, 1]")], ..PLAIN };
    let fixed = object("gfx942", &[fixed]);
    assert_eq!(findings(&launched(64), &fixed), "");
    expect![[r#"
        error: workgroup-limit: plain: launched with workgroups of 128x1x1, and compiled for 64x1x1 only (amdhsa.kernels[0].reqd_workgroup_size, at offset 0x326); launch that size
    "#]].assert_eq(&findings(&launched(128), &fixed));
    let huge = Kernel {
        metadata: &[(".max_flat_workgroup_size", "1024"), (".reqd_workgroup_size", "[64, 32, 1]")],
        ..PLAIN
    };
    expect![[r#"
        error: workgroup-limit: plain: requires workgroups of 64x32x1, 2048 work-items, and devices run 1024 at most (amdhsa.kernels[0].reqd_workgroup_size, at offset 0x326); require a smaller workgroup
    "#]].assert_eq(&findings(&on("gfx942"), &object("gfx942", &[huge])));
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn kernarg_layout() {
    let long = Kernel {
        metadata: &[(
            ".args",
            "[{.offset: 0, .size: 8, .value_kind: global_buffer}, {.offset: 8, .size: 4, .value_kind: by_value}]",
        )],
        ..PLAIN
    };
    expect![[r#"
        warning: kernarg-layout: plain: the arguments end at 12, and the segment has 8 bytes: 4 too few (amdhsa.kernels[0].kernarg_segment_size, at offset 0x2c7); allocate 12 bytes, or correct .kernarg_segment_size
    "#]].assert_eq(&findings(&on("gfx942"), &object("gfx942", &[long])));
    let overlapping = Kernel {
        metadata: &[(
            ".args",
            "[{.offset: 0, .size: 4, .value_kind: by_value}, {.offset: 2, .size: 4, .value_kind: by_value}]",
        )],
        ..PLAIN
    };
    expect![[r#"
        warning: kernarg-layout: plain: argument 1 is at 2, and those before it end at 4 (amdhsa.kernels[0].args[1].offset, at offset 0x253); compile it again, or correct the offsets
    "#]].assert_eq(&findings(&on("gfx942"), &object("gfx942", &[overlapping])));
    let hidden = Kernel {
        metadata: &[(".args", "[{.offset: 0, .size: 8, .value_kind: hidden_block_count_x}]")],
        ..PLAIN
    };
    expect![[r#"
        warning: kernarg-layout: plain: argument 0, hidden_block_count_x, has 8 bytes, and runtimes write 4 (amdhsa.kernels[0].args[0].size, at offset 0x22d); compile it again, or correct .size
    "#]].assert_eq(&findings(&on("gfx942"), &object("gfx942", &[hidden])));
    let aligned = Kernel { metadata: &[(".kernarg_segment_align", "3")], ..PLAIN };
    expect![[r#"
        warning: kernarg-layout: plain: the segment is to be aligned to 3, and powers of two up to 64 are possible (amdhsa.kernels[0].kernarg_segment_align, at offset 0x2a0); use 16
    "#]].assert_eq(&findings(&on("gfx942"), &object("gfx942", &[aligned])));
    let none = Kernel { metadata: &[(".args", "")], ..PLAIN };
    assert_eq!(findings(&on("gfx942"), &object("gfx942", &[none])), "");
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn user_sgprs() {
    let count = |directives| Kernel { directives, ..PLAIN };
    let text = |directives| findings(&on("gfx942"), &object("gfx942", &[count(directives)]));
    assert_eq!(text(".amdhsa_user_sgpr_count 16"), "");
    expect![[r#"
        error: user-sgprs: plain: 17 user SGPRs, and the hardware fills 16 at most (2 are enabled) (user_sgpr_count, at offset 0x474); let the assembler count: leave out .amdhsa_user_sgpr_count
    "#]].assert_eq(&text(".amdhsa_user_sgpr_count 17"));
    let preload =
        ".amdhsa_user_sgpr_kernarg_preload_length 2\n.amdhsa_user_sgpr_kernarg_preload_offset 0";
    assert_eq!(text(preload), "");
    // The assembler counts what is enabled, so that a descriptor with too small a count is made by hand.
    let mut short = object("gfx942", &[PLAIN]);
    let object = hsaco::object::CodeObject::parse(&short).unwrap();
    let address = object.index().kernels()[0].descriptor_address().unwrap();
    let at = usize::try_from(object.elf().file_offset(address).unwrap()).unwrap() + 52;
    assert_eq!(short[at] >> 1 & 31, 2);
    short[at] = short[at] & !0x3e | 1 << 1;
    expect![[r#"
        error: user-sgprs: plain: 1 user SGPRs, and 2 are enabled: 1 are not filled in (user_sgpr_count, at offset 0x474); let the assembler count: leave out .amdhsa_user_sgpr_count
    "#]].assert_eq(&findings(&on("gfx942"), &short));
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn scratch_needed() {
    let private = Kernel {
        directives: ".amdhsa_private_segment_fixed_size 64",
        metadata: &[(".private_segment_fixed_size", "64")],
        ..PLAIN
    };
    let object_with = object("gfx942", &[private]);
    expect![[r#"
        note: scratch-needed: plain: needs 64 bytes of scratch for each work-item (private_segment_fixed_size, at offset 0x444); set private_segment_size in the dispatch packet
    "#]].assert_eq(&only("scratch-needed", on("gfx942"), &object_with));
    assert_eq!(findings(&on("gfx942"), &object_with), "", "nothing is wrong with it");
    assert_eq!(only("scratch-needed", on("gfx942"), &object("gfx942", &[PLAIN])), "");
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn caller_duties() {
    let init = Kernel { metadata: &[(".kind", "init")], ..PLAIN };
    expect![[r#"
        note: caller-duties: plain: is of kind init: the caller launches it once after loading, before any other (amdhsa.kernels[0].kind, at offset 0x2be); runtimes below HIP do not do it by themselves
    "#]].assert_eq(&only("caller-duties", on("gfx942"), &object("gfx942", &[init])));
    assert_eq!(only("caller-duties", on("gfx942"), &object("gfx942", &[PLAIN])), "");
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn grid_limit_knows_clusters() {
    let clustered = Kernel { metadata: &[(".cluster_dims", "[4, 1, 1]")], ..PLAIN };
    let clustered = object("gfx1250", &[clustered]);
    let launched = |groups| Asked {
        launch: LaunchFacts { grid: Some([groups, 1, 1]), ..LaunchFacts::default() },
        ..on("gfx1250")
    };
    assert_eq!(findings(&launched(8), &clustered), "");
    expect![[r#"
        error: grid-limit: plain: launched with 9 workgroups in x, and clusters have 4: that does not divide (amdhsa.kernels[0].cluster_dims, at offset 0x27c); launch whole clusters
    "#]].assert_eq(&findings(&launched(9), &clustered));
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn undecodable_code() {
    let bad = Kernel { code: ".long 0xffffffff", ..PLAIN };
    let object_with = object("gfx942", &[bad]);
    expect![[r#"
        error: undecodable-code: plain: 0xffffffff at 0x1500 in plain is no instruction of gfx942 (.text, at offset 0x500); assemble it for this processor; hsaco disasm shows what is around it
    "#]].assert_eq(&findings(&on("gfx942").with(Checker::with_code), &object_with));
    assert_eq!(findings(&on("gfx942"), &object_with), "", "code is looked at when asked for");
    // Words that are never reached may be anything.
    let data = Kernel { code: "s_branch 1\n.long 0xffffffff", ..PLAIN };
    assert_eq!(findings(&on("gfx942").with(Checker::with_code), &object("gfx942", &[data])), "");
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn descriptor_missing() {
    let announced = Kernel {
        name: "plain",
        metadata: &[(
            ".language",
            "Assembler\n  - .name: ghost\n    .symbol: ghost.kd\n    .kernarg_segment_size: 8\n    .kernarg_segment_align: 8\n    .group_segment_fixed_size: 0\n    .private_segment_fixed_size: 0\n    .wavefront_size: 64\n    .sgpr_count: 16\n    .vgpr_count: 4\n    .max_flat_workgroup_size: 256",
        )],
        ..PLAIN
    };
    expect![[r#"
        error: descriptor-missing: ghost: its descriptor ghost.kd is not in the symbol table (amdhsa.kernels[1].symbol, at offset 0x3f2); let .amdhsa_kernel write it, and keep the symbol when stripping
    "#]].assert_eq(&findings(&on("gfx942"), &object("gfx942", &[announced])));
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn an_undefined_symbol_with_an_addend_is_an_error() {
    let text = ".amdgcn_target \"amdgcn-amd-amdhsa--gfx942\"\n.data\n.globl table\n.type table,@object\ntable:\n.quad elsewhere+8\n.size table, 8\n";
    expect![[r#"
        error: unresolved-symbol: 'elsewhere' is not defined, and R_AMDGPU_ABS64 at 0x3358 needs it + 8, which ROCr accepts and turns into the address 0x8 (elsewhere, at offset 0x358); link the object that defines it, or load that one first
    "#]].assert_eq(&findings(&on("gfx942"), &link("gfx942", text)));
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn the_setting_of_a_feature_is_not_the_processor() {
    let object = object("gfx942:xnack+", &[PLAIN]);
    expect![[r#"
        error: feature-mismatch: compiled with xnack on, and the device gfx942:xnack- has it off (e_flags, at offset 0x30); compile for gfx942:xnack-, or without xnack for both settings
    "#]].assert_eq(&findings(&on("gfx942:xnack-"), &object));
    assert_eq!(findings(&on("gfx942:xnack+"), &object), "");
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn budgets() {
    let object = object("gfx942", &[PLAIN, Kernel { name: "other", ..PLAIN }]);
    let hold = |budget: &str| {
        let budget = budget.parse().unwrap();
        findings(&on("gfx942").with(|it| it.budget(budget, |name| name.starts_with("pl"))), &object)
    };
    for kept in
        ["vgprs <= 4", "vgprs = 4", "lds <= 64K", "occupancy >= 8", "scratch = 0", "code <= 64"]
    {
        assert_eq!(hold(kept), "", "{kept}");
    }
    expect![[r#"
        error: budget: plain: vgprs is 4, 1 over the budget of vgprs <= 3 (amdhsa.kernels[0].vgpr_count, at offset 0x33b); make the kernel smaller, or raise its budget
    "#]].assert_eq(&hold("vgprs <= 3"));
    expect![[r#"
        error: budget: plain: occupancy is 8, 1 under the budget of occupancy >= 9 (waves per SIMD); make the kernel smaller, or raise its budget
    "#]].assert_eq(&hold("occupancy >= 9"));
    expect![[r#"
        warning: budget: plain: spills is not known, and the budget is spills = 0 (amdhsa.kernels[0].vgpr_spill_count, at offset 0x225); compile with metadata that says it
    "#]].assert_eq(&hold("spills = 0"));
}
