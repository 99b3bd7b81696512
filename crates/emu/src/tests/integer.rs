//! Integers of bytes and halves.

use super::machine::Machine;

#[test]
fn sums_of_differences_are_taken_four_at_a_time() {
    let (bytes, pattern) = ([1_u8, 9, 20, 3, 7, 200, 5, 6], [4_u8, 0, 18, 250]);
    let sum = |at: usize, skips: bool| -> u32 {
        let pairs = bytes[at..at + 4].iter().zip(pattern);
        pairs.filter(|(_, b)| !skips || *b != 0).map(|(a, b)| u32::from(a.abs_diff(b))).sum()
    };
    for target in ["gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1151", "gfx1201"] {
        for (name, skips) in [("v_qsad_pk_u16_u8", false), ("v_mqsad_pk_u16_u8", true)] {
            let ran = Machine::new(target)
                .v64(2, |_| u64::from_le_bytes(bytes))
                .v(4, |_| u32::from_le_bytes(pattern))
                .v(6, |_| 100 | 1000 << 16)
                .v(7, |_| 0xffff)
                .run(&format!("{name} v[8:9], v[2:3], v4, v[6:7]"));
            let low = (100 + sum(0, skips)) | (1000 + sum(1, skips)) << 16;
            let high = (0xffff + sum(2, skips)) & 0xffff | sum(3, skips) << 16;
            assert_eq!((ran.v(8, 5), ran.v(9, 5)), (low, high), "{target} {name}");
        }
    }
}

#[test]
fn numbers_are_cut_to_bytes_and_less() {
    for target in ["gfx950", "gfx1250"] {
        let ran = Machine::new(target)
            .v(0, |_| 1000_u32.wrapping_neg())
            .v(1, |_| 0x7ff)
            .v(3, |_| 0xaaaa_0000)
            .v(4, |_| 0xbbbb_0000)
            .run("v_ashr_pk_i8_i32 v3, v0, v1, 2\nv_ashr_pk_u8_i32 v4, v0, v1, 3");
        // -250 is cut to -128, 511 to 127; -125 to 0, and 255 is as it is.
        assert_eq!((ran.v(3, 0), ran.v(4, 0)), (0xaaaa_7f80, 0xbbbb_ff00), "{target}");
    }
    let ran = Machine::new("gfx1250")
        .v(0, |_| 0x0580_fc7f)
        .v(5, |_| 0x7654_3210)
        .v(6, |_| 0xfedc_ba98)
        .v(2, |_| 0xabcd_1234)
        .v(3, |_| 0x0f0f_5555)
        .run("v_sat_pk4_i4_i8 v8.l, v0\nv_perm_pk16_b4_u4 v[10:11], v5, v6, v[2:3]");
    assert_eq!(ran.v(8, 0) & 0xffff, 0x58c7);
    // The table is 0x76543210_fedcba98: from 8 on, the number less 8; below, the number and 8.
    assert_eq!((ran.v(10, 0), ran.v(11, 0)), (0x2345_9abc, 0x8787_dddd));
}

#[test]
fn sums_saturate_before_they_are_compared() {
    let ran = Machine::new("gfx1250")
        .v(0, |_| 0x7fff_0001)
        .v(1, |_| 0x0002_0002)
        .v(2, |_| 0x0003_0009)
        .run(
            "v_pk_add_max_i16 v4, v0, v1, v2\nv_pk_add_min_i16 v5, v0, v1, v2\n\
             v_pk_add_max_u16 v6, v0, v1, v2\nv_pk_add_min_u16 v7, v0, v1, v2",
        );
    let got = [4, 5, 6, 7].map(|register| ran.v(register, 0));
    assert_eq!(got, [0x7fff_0009, 0x0003_0003, 0x8001_0009, 0x0003_0003]);
}

#[test]
fn sums_before_a_choice_are_clamped() {
    let ran = Machine::new("gfx1250").v(0, |_| 0x7fff_ffff).v(1, |_| 2).v(2, |_| u32::MAX).run(
        "v_add_max_i32 v4, v0, v1, 0\nv_add_min_u32 v5, v2, v1, v2\nv_add_min_i32 v6, v0, v1, v0",
    );
    assert_eq!([4, 5, 6].map(|at| ran.v(at, 0)), [0x7fff_ffff, u32::MAX, 0x7fff_ffff]);
}
