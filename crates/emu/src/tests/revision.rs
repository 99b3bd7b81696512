//! What stepping A0 of gfx1250 does otherwise than B0.

use super::machine::{M0, Machine, Ran};
use crate::error::ErrorKind;
use crate::revision::{Effect, MODELS};

/// The same machine in both steppings.
fn both(program: &str, make: impl Fn(Machine) -> Machine) -> [Ran; 2] {
    let [a0, b0] = [Machine::new("gfx1250").a0(), Machine::new("gfx1250")];
    [a0, b0].map(|machine| make(machine).run(program))
}

fn names(ran: &Ran) -> Vec<&'static str> {
    ran.errata.iter().map(|it| it.name).collect()
}

/// Programs that meet an erratum whatever registers hold, and which.
const PROGRAMS: [(&str, &str); 9] = [
    ("s_clause 0x1\ns_nop 0\ns_nop 0", "clause"),
    ("s_barrier_signal_isfirst -3", "barrier-isfirst"),
    ("s_sethalt 0", "sethalt"),
    ("v_wmma_f32_16x16x128_f8f6f4 v[0:7], v[16:31], v[32:47], v[0:7]", "vop3px-wrap"),
    (
        "v_wmma_scale16_f32_16x16x128_f8f6f4 v[0:7], v[16:31], v[32:47], v[0:7], v[48:49], v[50:51]",
        "scale-sixteen",
    ),
    ("s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 0, 4), 0\ns_set_vgpr_msb 0", "mode-before-msb"),
    ("s_sleep 1", "deferred"),
    ("v_cvt_pk_fp8_f32 v0.l, v1, v2 clamp", "e5m3"),
    ("v_wmma_f32_16x16x128_fp8_fp8 v[0:7], v[16:31], v[32:47], v[0:7]", "wmma-split"),
];

#[test]
fn errata_are_told_on_a0_alone() {
    for (program, name) in PROGRAMS {
        let [a0, b0] = both(program, |machine| machine);
        assert_eq!(names(&a0), [name], "{program}");
        assert_eq!(names(&b0), [""; 0], "{program}");
    }
}

#[test]
fn a_signal_of_the_clusters_barrier_leaves_scc() {
    let program = "s_cmp_eq_u32 s0, s0\ns_barrier_signal_isfirst -3";
    assert!(Machine::new("gfx1250").a0().run(program).wave(0).scc);
}

#[test]
fn sixteen_bits_of_m0_count_on_a0() {
    let lds: Vec<u8> = (0..0x1_1000_u32 / 4).flat_map(u32::to_le_bytes).collect();
    let make = |machine: Machine| machine.lds(lds.clone()).s(M0, 0x1_0100);
    let [a0, b0] = both("ds_load_addtid_b32 v0 offset:8", make);
    assert_eq!((a0.v(0, 3), b0.v(0, 3)), (0x100 / 4 + 2 + 3, 0x1_0100 / 4 + 2 + 3));
    assert_eq!(names(&a0), ["ds-addtid"]);
    let low = |machine: Machine| machine.lds(lds.clone()).s(M0, 0x100);
    let [a0, b0] = both("ds_load_addtid_b32 v0 offset:8", low);
    assert_eq!((a0.v(0, 3), names(&a0)), (b0.v(0, 3), vec![]));
}

#[test]
fn two_addresses_have_to_be_aligned_on_a0() {
    let program = "ds_load_2addr_b64 v[2:5], v0 offset1:1";
    for (step, met) in [(8, &[][..]), (4, &["ds-two-address"][..])] {
        let make = |machine: Machine| machine.lds(vec![0; 1024]).v(0, |lane| lane as u32 * step);
        assert_eq!(names(&both(program, make)[0]), met);
    }
    // Lanes that are off do not count.
    let make = |machine: Machine| machine.lds(vec![0; 64]).v(0, |lane| lane as u32 * 4).exec(0b101);
    assert_eq!(names(&both(program, make)[0]), [""; 0]);
}

#[test]
fn the_clamp_bit_makes_e5m3_on_b0_alone() {
    let make = |machine: Machine| machine.v(1, |_| 1f32.to_bits()).v(2, |_| 448f32.to_bits());
    let [a0, b0] = both("v_cvt_pk_fp8_f32 v0.l, v1, v2 clamp", make);
    assert_eq!((a0.v(0, 0), b0.v(0, 0)), (0x7e38, 0xbe78));
}

#[test]
fn seven_bits_of_an_opcode_count_on_a0() {
    // 0x80 is v_wmma_f32_16x16x128_fp8_fp8, and 0 is v_pk_mad_i16.
    let make = |machine: Machine| {
        machine.v(16, |_| 0x0003_0002).v(32, |_| 0x0005_0004).v(0, |_| 0x0001_0001)
    };
    let program = "v_wmma_f32_16x16x128_fp8_fp8 v[0:7], v[16:31], v[32:47], v[0:7]";
    let [a0, _] = both(program, make);
    assert_eq!((a0.v(0, 0), a0.v(1, 0)), (0x0010_0009, 0));
}

#[test]
fn a_mask_of_workgroups_in_a_tensors_descriptor_hangs() {
    let machine = || Machine::new("gfx1250").s(4, 1);
    let program = "tensor_load_to_lds s[0:3], s[4:11]";
    let error = machine().a0().try_run(program).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Erratum);
    assert!(error.detail().starts_with("tensor-mask: "), "{error}");
    assert!(machine().try_run(program).is_ok());
}

#[test]
fn a_mask_of_workgroups_in_m0_is_told() {
    let mut machine = Machine::new("gfx1250").a0().s(M0, 2).exec(1);
    let buffer = machine.words(&[7]);
    let ran = machine.v64(2, |_| buffer).run("cluster_load_b32 v0, v[2:3], off");
    assert_eq!((names(&ran), ran.v(0, 0)), (vec!["cluster-load"], 7));
}

#[test]
fn registers_of_integer_matrices_are_not_to_be_written_soon() {
    let matrix = "v_wmma_i32_16x16x64_iu8 v[16:23], v[0:7], v[8:15], v[16:23]\n";
    let write = "v_mov_b32_e32 v8, 0\n";
    for (between, met) in [(0, true), (7, true), (8, false)] {
        let program = format!("{matrix}{}{write}", "v_nop\n".repeat(between));
        let [a0, b0] = both(&program, |machine| machine);
        assert_eq!(names(&a0), if met { vec!["wmma-hazard"] } else { vec![] }, "{between}");
        assert_eq!(names(&b0), [""; 0]);
    }
    let other = format!("{matrix}v_mov_b32_e32 v50, 0");
    assert_eq!(names(&both(&other, |machine| machine)[0]), [""; 0]);
}

#[test]
fn the_first_access_of_a_wave_is_in_no_clause() {
    let make = |machine: Machine| machine.exec(0);
    let load = "global_load_b32 v0, v[2:3], off\n";
    let clause = format!("s_clause 0x1\n{load}{load}");
    assert_eq!(names(&both(&clause, make)[0]), ["clause", "entry-stub"]);
    assert_eq!(names(&both(&format!("{load}{clause}"), make)[0]), ["clause"]);
}

#[test]
fn each_erratum_is_modelled_once() {
    let names: Vec<_> = MODELS.iter().map(|it| it.erratum.name).collect();
    let errata: Vec<_> = hsaco_isa::errata::GFX1250_A0.iter().map(|it| it.name).collect();
    assert_eq!(names, errata);
    assert!(MODELS.iter().any(|it| it.effect == Effect::Hang));
}
