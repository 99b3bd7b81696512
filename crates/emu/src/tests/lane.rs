//! Data between lanes, and registers by index.

use super::machine::{ALL, M0, Machine};

/// Which lane is read.
type Source = fn(usize) -> usize;

fn squares(lane: usize) -> u32 {
    (lane * lane) as u32 + 3
}

#[test]
fn lanes_of_groups_read_each_other() {
    let cases: [(&str, Source); 4] = [
        ("v_permlane_bcast_b32 v1, v0, s2, s3", |lane| lane / 8 * 8 + 5),
        ("v_permlane_up_b32 v1, v0, s2, s3", |lane| if lane % 8 < 5 { lane } else { lane - 5 }),
        ("v_permlane_down_b32 v1, v0, s2, s3", |lane| if lane % 8 >= 3 { lane } else { lane + 5 }),
        ("v_permlane_xor_b32 v1, v0, s2, s3", |lane| lane ^ 5),
    ];
    for (line, source) in cases {
        let mut machine =
            Machine::new("gfx1250").v(0, squares).v(1, |_| 7).s(2, 5).s(3, 8).exec(!1);
        let ran = machine.run(line);
        assert_eq!(ran.v(1, 0), 7, "{line}");
        for lane in 1..32 {
            assert_eq!(ran.v(1, lane), squares(source(lane)), "{line} {lane}");
        }
    }
    let ran = Machine::new("gfx1250")
        .v(0, |lane| lane as u32 * 3)
        .run("v_permlane_idx_gen_b32 v1, v0, 16");
    for lane in 0..32 {
        assert_eq!(ran.v(1, lane), ((lane * 3 % 16 + lane / 16 * 16) * 4) as u32);
    }
}

#[test]
fn rows_are_gathered_by_each_lane() {
    for target in ["gfx1201", "gfx1250"] {
        for (name, other) in [("v_permlane16_var_b32", 0), ("v_permlanex16_var_b32", 16)] {
            let mut machine = Machine::new(target).v(0, squares).v(2, |lane| lane as u32 * 5 + 16);
            let ran = machine.run(&format!("{name} v1, v0, v2"));
            for lane in 0..32 {
                let source = ((lane / 16 * 16) ^ other) + lane * 5 % 16;
                assert_eq!(ran.v(1, lane), squares(source), "{target} {name} {lane}");
            }
        }
    }
}

#[test]
fn halves_of_waves_are_exchanged_where_there_are_two() {
    for target in ["gfx1100", "gfx1201"] {
        let mut machine = Machine::new(target).wave64().v(0, squares);
        let ran = machine.run("v_permlane64_b32 v1, v0");
        assert!((0..64).all(|lane| ran.v(1, lane) == squares(lane ^ 32)), "{target}");
        let ran = Machine::new(target).v(0, squares).v(1, |_| 9).run("v_permlane64_b32 v1, v0");
        assert_eq!(ran.v(1, 4), 9, "{target}");
    }
}

#[test]
fn halves_of_registers_are_exchanged() {
    for target in ["gfx1100", "gfx1201", "gfx1250"] {
        let mut machine =
            Machine::new(target).v(0, |_| 0x1111_2222).v(1, |_| 0x3333_4444).exec(0b10);
        let ran = machine.run("v_swap_b16 v0.l, v1.h");
        assert_eq!((ran.v(0, 1), ran.v(1, 1)), (0x1111_3333, 0x2222_4444), "{target}");
        assert_eq!(ran.v(0, 0), 0x1111_2222);
    }
}

#[test]
fn registers_are_found_by_m0() {
    for target in ["gfx1030", "gfx1100", "gfx1151", "gfx1201", "gfx1250"] {
        let machine =
            || Machine::new(target).v(5, |_| 55).v(9, |_| 99).s(5, 50).s(9, 90).s(10, 100);
        let ran = machine().s(M0, 4).run("v_movrels_b32 v1, v5\nv_movreld_b32 v2, v5");
        assert_eq!((ran.v(1, 0), ran.v(6, 0)), (99, 55), "{target}");
        let ran = machine().s(M0, 3 << 16 | 4).run("v_movrelsd_2_b32 v1, v5");
        assert_eq!(ran.v(4, 3), 99, "{target}");
        let ran = machine().s(M0, 3 << 16 | 4).run("v_swaprel_b32 v2, v5");
        assert_eq!((ran.v(5, 3), ran.v(9, 3)), (99, 55), "{target}");
        let program =
            "s_movrels_b32 s20, s5\ns_movreld_b32 s21, s5\ns_movrels_b64 s[22:23], s[4:5]";
        let ran = machine().s(M0, 4).s(8, 80).run(program);
        assert_eq!((ran.s(20), ran.s(25)), (90, 50), "{target}");
        assert_eq!((ran.s(22), ran.s(23)), (80, 90), "{target}");
        let ran = machine().s(M0, 3 << 16 | 4).run("s_movrelsd_2_b32 s20, s5");
        assert_eq!(ran.s(23), 90, "{target}");
    }
}

/// The lane that DPP reads, written once more, by the words of the manual.
fn dpp_source(control: &str, lane: usize, lanes: usize) -> Option<usize> {
    let (name, number) = control.split_once(':').unwrap_or((control, "0"));
    let number: usize = number.parse().unwrap_or(0);
    let (row, at) = (lane / 16 * 16, lane % 16);
    match name {
        "row_shl" => (at + number < 16).then_some(lane + number),
        "row_shr" => (at >= number).then(|| lane - number),
        "row_ror" => Some(row + (at + 16 - number) % 16),
        "row_mirror" => Some(row + 15 - at),
        "row_half_mirror" => Some(lane / 8 * 8 + 7 - lane % 8),
        "row_share" | "row_newbcast" => Some(row + number),
        "row_xmask" => Some(row + (at ^ number)),
        "wave_shl" => (lane + 1 < lanes).then_some(lane + 1),
        "wave_rol" => Some((lane + 1) % lanes),
        "wave_shr" => lane.checked_sub(1),
        "wave_ror" => Some((lane + lanes - 1) % lanes),
        "row_bcast" if number == 15 => row.checked_sub(1),
        "row_bcast" => (lane / 32 * 32).checked_sub(1),
        _ => Some(lane / 4 * 4 + [3, 1, 0, 2][lane % 4]),
    }
}

#[test]
fn dpp_reads_other_lanes() {
    for target in ALL {
        let mut controls = vec![
            "quad_perm:[3,1,0,2]",
            "row_shl:3",
            "row_shr:5",
            "row_ror:7",
            "row_mirror",
            "row_half_mirror",
        ];
        match target {
            "gfx90a" | "gfx942" | "gfx950" => controls.extend([
                "wave_shl:1",
                "wave_rol:1",
                "wave_shr:1",
                "wave_ror:1",
                "row_bcast:15",
                "row_bcast:31",
                "row_newbcast:6",
            ]),
            _ => controls.extend(["row_share:6", "row_xmask:9"]),
        }
        for control in controls {
            for bound in ["", " bound_ctrl:1"] {
                let off = 0x10_0002_u64;
                let mut machine = Machine::new(target).v(0, squares).v(1, |_| 0xaaaa).exec(!off);
                let ran = machine.run(&format!(
                    "v_mov_b32_dpp v1, v0 {control} row_mask:0xf bank_mask:0xd{bound}"
                ));
                for lane in 0..machine.lanes() {
                    let source = dpp_source(control, lane, machine.lanes());
                    let live = source.filter(|it| off >> it & 1 == 0);
                    let is_written = off >> lane & 1 == 0 && lane % 16 / 4 != 1;
                    let wanted = match live {
                        Some(source) if is_written => squares(source),
                        None if is_written && !bound.is_empty() => 0,
                        _ => 0xaaaa,
                    };
                    assert_eq!(ran.v(1, lane), wanted, "{target} {control}{bound} {lane}");
                }
            }
        }
        if !target.starts_with("gfx9") {
            let ran = Machine::new(target)
                .v(0, squares)
                .run("v_mov_b32_dpp v1, v0 dpp8:[7,2,2,0,1,5,4,3]");
            for lane in 0..32 {
                let source = lane / 8 * 8 + [7, 2, 2, 0, 1, 5, 4, 3][lane % 8];
                assert_eq!(ran.v(1, lane), squares(source), "{target} {lane}");
            }
        }
    }
}

#[test]
fn swizzles_go_by_their_pattern() {
    let patterns: [(&str, Source); 5] = [
        ("swizzle(QUAD_PERM,0,3,1,2)", |lane| lane / 4 * 4 + [0, 3, 1, 2][lane % 4]),
        ("swizzle(BITMASK_PERM,\"01pip\")", |lane| lane / 32 * 32 + 8 + (lane & 5 | !lane & 2)),
        ("swizzle(SWAP,4)", |lane| lane ^ 4),
        ("swizzle(REVERSE,8)", |lane| lane / 8 * 8 + 7 - lane % 8),
        ("swizzle(BROADCAST,8,3)", |lane| lane / 8 * 8 + 3),
    ];
    for target in ALL {
        for (pattern, source) in patterns {
            let mut machine = Machine::new(target).v(0, squares);
            let ran = machine.run(&format!("ds_swizzle_b32 v1, v0 offset:{pattern}"));
            for lane in 0..machine.lanes() {
                assert_eq!(ran.v(1, lane), squares(source(lane)), "{target} {pattern} {lane}");
            }
        }
        let off = 0b1000_u64;
        let mut machine = Machine::new(target)
            .v(0, squares)
            .v(1, |lane| (lane as u32 * 7 % 64) * 4)
            .v(3, |_| 5)
            .exec(!off);
        let lanes = machine.lanes();
        let ran = machine.run("ds_bpermute_b32 v2, v1, v0\nds_permute_b32 v3, v1, v0");
        for lane in (0..lanes).filter(|lane| *lane != 3) {
            let source = lane * 7 % 64 % lanes;
            assert_eq!(ran.v(2, lane), if source == 3 { 0 } else { squares(source) }, "{target}");
            let sender = (0..lanes).find(|it| it * 7 % lanes == lane && *it != 3);
            assert_eq!(ran.v(3, lane), sender.map_or(0, squares), "{target} {lane}");
        }
    }
}

#[test]
fn halves_of_a_wave_permute_apart_before_gfx12() {
    for (target, group) in [("gfx942", 64), ("gfx1030", 32), ("gfx1151", 32), ("gfx1201", 64)] {
        let mut machine =
            Machine::new(target).wave64().v(0, squares).v(1, |lane| (63 - lane as u32) * 4);
        let ran = machine.run("ds_bpermute_b32 v2, v1, v0\nds_permute_b32 v3, v1, v0");
        for lane in 0..64 {
            let other = squares(lane / group * group + (63 - lane) % group);
            assert_eq!([ran.v(2, lane), ran.v(3, lane)], [other; 2], "{target} {lane}");
        }
    }
}
