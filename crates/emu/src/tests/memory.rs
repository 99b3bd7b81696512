//! Flat and global memory, parts of registers, scalar stores and changes.

use super::machine::{ALL, Machine};
use crate::exec::address::SHARED_APERTURE;

fn is_gfx11_or_later(target: &str) -> bool {
    target.starts_with("gfx11") || target.starts_with("gfx12")
}

#[test]
fn flat_addresses_lead_to_lds_as_well() {
    for target in ALL {
        let name =
            if is_gfx11_or_later(target) { "flat_atomic_add_u32" } else { "flat_atomic_add" };
        let mut machine = Machine::new(target);
        let buffer = machine.words(&[5]);
        let shared = u64::from(SHARED_APERTURE) << 32;
        let mut machine = machine
            .lds(vec![0; 64])
            .v64(0, |lane| if lane % 2 == 0 { shared + 8 } else { buffer })
            .v(2, |lane| lane as u32)
            .exec(0xff);
        let ran = machine.run(&format!("{name} v[0:1], v2"));
        assert_eq!(ran.lds_word(2), 2 + 4 + 6, "{target}");
        assert_eq!(machine.read_words(buffer, 1), [5 + 1 + 3 + 5 + 7], "{target}");
    }
}

#[test]
fn offsets_count_elements_on_gfx1250() {
    let mut machine = Machine::new("gfx1250");
    let buffer = machine.words(&(0..256).collect::<Vec<_>>());
    let mut machine = machine.s64(4, buffer).v(0, |lane| 31 - lane as u32 % 32).s(8, 3);
    let ran = machine.run(
        "global_load_b64 v[2:3], v0, s[4:5] offset:16 scale_offset\n\
         s_load_b64 s[10:11], s[4:5], s8 offset:0x8 scale_offset",
    );
    for lane in 0..32 {
        assert_eq!(ran.v(2, lane), (31 - lane as u32) * 2 + 4);
    }
    assert_eq!((ran.s(10), ran.s(11)), (8, 9));
}

#[test]
fn halves_of_registers_are_loaded_and_stored() {
    for target in ALL {
        let (load, store) = match is_gfx11_or_later(target) {
            true => (
                "global_load_d16_hi_b16 v2, v0, s[4:5]",
                "global_store_d16_hi_b8 v0, v3, s[4:5] offset:4",
            ),
            false => (
                "global_load_short_d16_hi v2, v0, s[4:5]",
                "global_store_byte_d16_hi v0, v3, s[4:5] offset:4",
            ),
        };
        let mut machine = Machine::new(target);
        let buffer = machine.words(&[0x1111_8888, 0x2222_2222]);
        let mut machine =
            machine.s64(4, buffer).v(2, |_| 0xaaaa_bbbb).v(3, |_| 0x00cc_00dd).exec(1);
        let ran = machine.run(&format!("{load}\n{store}"));
        // With ECC the other half is not kept.
        let kept = if target.starts_with("gfx9") { 0 } else { 0xbbbb };
        assert_eq!(ran.v(2, 0), 0x8888_0000 | kept, "{target}");
        assert_eq!(machine.read_words(buffer, 2)[1], 0x2222_22cc, "{target}");
    }
}

#[test]
fn parts_of_operands_are_chosen() {
    for (target, name) in [("gfx90a", "v_add_u32_sdwa"), ("gfx1030", "v_add_nc_u32_sdwa")] {
        for (unused, wanted) in
            [("UNUSED_PAD", 0x4d00), ("UNUSED_SEXT", 0x4d00), ("UNUSED_PRESERVE", 0x1111_4d11)]
        {
            let mut machine = Machine::new(target)
                .v(0, |_| 0x1234_0000)
                .v(1, |_| 0x1111_1111)
                .v(2, |_| 0x1900_0000);
            let ran = machine.run(&format!(
                "{name} v1, v0, v2 dst_sel:BYTE_1 dst_unused:{unused} src0_sel:WORD_1 src1_sel:BYTE_3"
            ));
            assert_eq!(ran.v(1, 7), wanted, "{target} {unused}");
        }
        let mut machine = Machine::new(target).v(0, |_| 0x80).v(2, |_| 1);
        let ran = machine.run(&format!(
            "{name} v1, sext(v0), v2 dst_sel:WORD_0 dst_unused:UNUSED_SEXT src0_sel:BYTE_0 src1_sel:DWORD"
        ));
        assert_eq!(ran.v(1, 3), 0xffff_ff81, "{target}");
    }
}

#[test]
fn apertures_are_where_the_hardware_register_says() {
    // clang 15 reads the register, later ones the operands.
    for target in ["gfx90a", "gfx942", "gfx1030"] {
        let ran = Machine::new(target).try_run(
            "s_getreg_b32 s4, hwreg(HW_REG_SH_MEM_BASES, 0, 16)\n\
             s_lshl_b32 s4, s4, 16\n\
             s_getreg_b32 s5, hwreg(HW_REG_SH_MEM_BASES, 16, 16)\n\
             s_lshl_b32 s5, s5, 16\n\
             s_mov_b64 s[6:7], src_private_base\n\
             s_mov_b64 s[8:9], src_shared_base",
        );
        let ran = ran.unwrap();
        assert_eq!([ran.s(4), ran.s(5)], [ran.s(7), ran.s(9)], "{target}");
        assert_ne!(ran.s(4), ran.s(5), "{target}");
    }
}
