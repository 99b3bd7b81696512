//! Registers that are allocated, beside those that code uses.

use std::borrow::Cow;

use expect_test::expect;
use hsaco::check::{Checker, Severity};
use hsaco::load::{Executable, Freeze};

use super::assembled::{Kernel, PLAIN, object};
use super::{findings, on, own};

/// Targets on which both kinds of vector registers share a file.
const UNIFIED: [&str; 3] = ["gfx90a", "gfx942", "gfx950"];

fn kernel(directives: &'static str, code: &'static str) -> Kernel {
    Kernel { directives, code, ..PLAIN }
}

const SPLIT: &str = ".amdhsa_next_free_vgpr 256\n.amdhsa_accum_offset 160";

fn with_code(target: &str, kernel: Kernel) -> String {
    findings(&own(Checker::new().with_code()), &object(target, &[kernel]))
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn vgprs_above_accum_offset_are_allocated_and_a_warning() {
    let above = kernel(SPLIT, "v_mov_b32 v235, 0");
    let expected = expect![[r#"
        warning: resource-closure: plain: code uses v160 to v235, and accum_offset is 160: the same registers as a0 to a75; it uses no AGPR (in plain) (accum_offset, at offset 0x46c); if that is not on purpose, raise .amdhsa_accum_offset to 236
    "#]];
    for target in UNIFIED {
        expected.assert_eq(&with_code(target, above));
    }
    let both = kernel(SPLIT, "v_mov_b32 v160, 0\nv_accvgpr_write_b32 a63, v1");
    expect![[r#"
        warning: resource-closure: plain: code uses v160, and accum_offset is 160: the same registers as a0; it uses AGPRs up to a63, too (in plain) (accum_offset, at offset 0x46c); if that is not on purpose, raise .amdhsa_accum_offset to 164
    "#]].assert_eq(&with_code("gfx942", both));
    let apart = kernel(SPLIT, "v_mov_b32 v159, 0\nv_accvgpr_write_b32 a95, v1");
    for target in UNIFIED {
        assert_eq!(with_code(target, apart), "", "{target}");
    }
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn more_than_the_total_is_an_error_with_both_numbers() {
    let directives = ".amdhsa_next_free_vgpr 64\n.amdhsa_accum_offset 32";
    let vgprs = expect![[r#"
        error: resource-closure: plain: vgprs: 64 allocated, 65 needed by plain (granulated_workitem_vgpr_count, at offset 0x470); raise .amdhsa_next_free_vgpr to what the code uses
    "#]];
    let agprs = expect![[r#"
        error: resource-closure: plain: agprs: 32 allocated (64 in all, accum_offset is 32), 33 needed by plain (granulated_workitem_vgpr_count, at offset 0x470); raise .amdhsa_next_free_vgpr to what the code uses
    "#]];
    for target in UNIFIED {
        vgprs.assert_eq(&with_code(target, kernel(directives, "v_mov_b32 v64, 0")));
        agprs.assert_eq(&with_code(target, kernel(directives, "v_accvgpr_write_b32 a32, v1")));
    }
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn a_file_of_its_own_has_as_many_agprs_as_vgprs_are_allocated() {
    let with = |code| with_code("gfx908", kernel(".amdhsa_next_free_vgpr 64", code));
    assert_eq!(with("v_mov_b32 v63, 0\nv_accvgpr_write_b32 a63, v1"), "");
    expect![[r#"
        error: resource-closure: plain: agprs: 64 allocated, 65 needed by plain (granulated_workitem_vgpr_count, at offset 0x470); raise .amdhsa_next_free_vgpr to what the code uses
    "#]].assert_eq(&with("v_accvgpr_write_b32 a64, v1"));
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn shared_vgprs_of_waves_of_64_count() {
    let directives =
        ".amdhsa_next_free_vgpr 32\n.amdhsa_wavefront_size32 0\n.amdhsa_shared_vgpr_count 2";
    let metadata: &[_] = &[(".wavefront_size", "64")];
    for target in ["gfx1030", "gfx1100"] {
        let with = |code| with_code(target, Kernel { directives, code, metadata, ..PLAIN });
        assert_eq!(with("v_mov_b32 v47, 0"), "", "{target}");
        let text = with("v_mov_b32 v48, 0");
        assert!(text.contains("vgprs: 48 allocated, 49 needed by plain"), "{target}: {text}");
    }
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn granules_are_those_of_the_wave_size() {
    let wave64: &[_] = &[(".wavefront_size", "64")];
    let cases = [
        ("gfx1100", ".amdhsa_next_free_vgpr 33", PLAIN.metadata, "v_mov_b32 v39, 0", ""),
        (
            "gfx1100",
            ".amdhsa_next_free_vgpr 33",
            PLAIN.metadata,
            "v_mov_b32 v40, 0",
            "40 allocated, 41",
        ),
        (
            "gfx1100",
            ".amdhsa_next_free_vgpr 33\n.amdhsa_wavefront_size32 0",
            wave64,
            "v_mov_b32 v35, 0",
            "",
        ),
        (
            "gfx1100",
            ".amdhsa_next_free_vgpr 33\n.amdhsa_wavefront_size32 0",
            wave64,
            "v_mov_b32 v36, 0",
            "36 allocated, 37",
        ),
        (
            "gfx1250",
            ".amdhsa_next_free_vgpr 1024",
            PLAIN.metadata,
            "s_set_vgpr_msb 0xc0\nv_mov_b32 v255 /*v1023*/, 0",
            "",
        ),
        (
            "gfx1250",
            ".amdhsa_next_free_vgpr 768",
            PLAIN.metadata,
            "s_set_vgpr_msb 0xc0\nv_mov_b32 v255 /*v1023*/, 0",
            "768 allocated, 1024",
        ),
        ("gfx900", ".amdhsa_next_free_sgpr 26", PLAIN.metadata, "s_mov_b32 s31, 0", ""),
        (
            "gfx900",
            ".amdhsa_next_free_sgpr 26",
            PLAIN.metadata,
            "s_mov_b32 s32, 0",
            "32 allocated, 33",
        ),
        ("gfx1100", ".amdhsa_next_free_sgpr 4", PLAIN.metadata, "s_mov_b32 s105, 0", ""),
    ];
    for (target, directives, metadata, code, numbers) in cases {
        let kernel = Kernel { directives, metadata, code, ..PLAIN };
        let report = own(Checker::new().with_code()).file(&object(target, &[kernel]));
        let errors = report.findings.iter().filter(|it| it.severity == Severity::Error);
        let text: String = errors.map(ToString::to_string).collect();
        assert_eq!(text.is_empty(), numbers.is_empty(), "{target}: {code}: {text}");
        assert!(text.contains(numbers), "{target}: {code}: {text}");
    }
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn kernels_that_use_vgprs_above_accum_offset_are_loaded_and_linked_as_they_are() {
    let metadata: &[_] = &[
        (".vgpr_count", "256"),
        (".max_flat_workgroup_size", "512"),
        (".reqd_workgroup_size", "[512, 1, 1]"),
    ];
    for code in ["v_mov_b32 v235, 0", "v_mov_b32 v235, 0\nv_accvgpr_write_b32 a63, v1"] {
        for target in UNIFIED {
            let kernel = Kernel { directives: SPLIT, code, metadata, ..PLAIN };
            let bytes = object(target, &[kernel]);
            let mut executable = Executable::new(None);
            executable.load("k.co", Cow::Borrowed(bytes.as_slice())).unwrap();
            let before = executable.symbol("plain").unwrap().kernel();
            executable.freeze(Freeze::default()).unwrap();
            assert_eq!(executable.symbol("plain").unwrap().kernel(), before, "{target}");
            assert!(executable.raises().is_empty(), "{target}: {:?}", executable.raises());
            let [remark] = executable.remarks() else { panic!("{:?}", executable.remarks()) };
            assert!(remark.contains("accum_offset is 160"), "{remark}");
            assert!(remark.contains("v160 to v235"), "{remark}");
            let linked = executable.link().unwrap();
            assert!(
                !findings(&own(Checker::new().with_code()), &linked).contains("error"),
                "{target}"
            );
        }
    }
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn counts_of_scalar_registers_that_no_hardware_reads_are_not_warned_of() {
    let declares = |count| Kernel { metadata: count, ..PLAIN };
    for target in [
        "gfx803", "gfx900", "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1201", "gfx1250",
    ] {
        let object = object(target, &[declares(&[(".sgpr_count", "112")])]);
        assert_eq!(findings(&on(target), &object), "", "{target}");
    }
    assert_eq!(
        findings(&on("gfx1100"), &object("gfx1100", &[declares(&[(".sgpr_count", "128")])])),
        ""
    );
    // The descriptor's count is what the hardware allocates.
    let mut bytes = object("gfx942", &[PLAIN]);
    let parsed = hsaco::object::CodeObject::parse(&bytes).unwrap();
    let address = parsed.index().kernels()[0].descriptor_address().unwrap();
    let at = usize::try_from(parsed.elf().file_offset(address).unwrap()).unwrap() + 48;
    bytes[at] |= 0xc0;
    bytes[at + 1] |= 0x03;
    expect![[r#"
        warning: register-limit: plain: allocates 128 SGPRs, and a wave on gfx942 has 112 at most, special ones included (granulated_wavefront_sgpr_count, at offset 0x470); lower .amdhsa_next_free_sgpr
    "#]].assert_eq(&findings(&on("gfx942"), &bytes));
}
