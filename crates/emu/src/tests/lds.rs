//! LDS: accesses, exchanges, transposing loads, copies.

use super::machine::{ALL, M0, Machine};

fn is_gfx11_or_later(target: &str) -> bool {
    target.starts_with("gfx11") || target.starts_with("gfx12")
}

/// Words 0x1000, 0x1001, …
fn numbered(words: usize) -> Vec<u8> {
    (0..words as u32).flat_map(|at| (0x1000 + at).to_le_bytes()).collect()
}

#[test]
fn two_words_are_exchanged_at_once() {
    for target in ALL {
        let (name, wide) = match is_gfx11_or_later(target) {
            true => ("ds_storexchg_2addr_rtn_b32", "ds_storexchg_2addr_stride64_rtn_b64"),
            false => ("ds_wrxchg2_rtn_b32", "ds_wrxchg2st64_rtn_b64"),
        };
        let mut machine = Machine::new(target)
            .lds(numbered(1024))
            .v(0, |lane| lane as u32 * 16)
            .v(1, |lane| 0xa000 + lane as u32)
            .v(2, |lane| 0xb000 + lane as u32)
            .v(4, |lane| 0xc000 + lane as u32)
            .v(6, |lane| 0xd000 + lane as u32);
        let ran = machine.run(&format!(
            "{name} v[8:9], v0, v1, v2 offset0:1 offset1:3\n\
             {wide} v[10:13], v0, v[4:5], v[6:7] offset0:2 offset1:6"
        ));
        for lane in 0..machine.lanes() {
            let at = lane * 4;
            assert_eq!(ran.v(8, lane), 0x1000 + at as u32 + 1, "{target} {lane}");
            assert_eq!(ran.v(9, lane), 0x1000 + at as u32 + 3);
            assert_eq!(ran.lds_word(at + 1), 0xa000 + lane as u32);
            assert_eq!(ran.lds_word(at + 3), 0xb000 + lane as u32);
            // 64 times 8 bytes apart.
            assert_eq!(ran.v(12, lane), 0x1000 + at as u32 + 768, "{target} {lane}");
            assert_eq!(ran.lds_word(at + 768), 0xd000 + lane as u32);
        }
    }
}

#[test]
fn what_is_past_the_end_reads_zero_and_is_not_written() {
    for target in ALL {
        let (read, write) = match is_gfx11_or_later(target) {
            true => ("ds_load_b128", "ds_store_b64"),
            false => ("ds_read_b128", "ds_write_b64"),
        };
        let mut machine = Machine::new(target)
            .lds(numbered(8))
            .v(0, |lane| lane as u32 * 16)
            .v(2, |_| 7)
            .v(3, |_| 8);
        let ran = machine.run(&format!("{read} v[4:7], v0\n{write} v0, v[2:3] offset:16"));
        assert_eq!((ran.v(4, 0), ran.v(7, 1)), (0x1000, 0x1007));
        assert_eq!((ran.v(4, 2), ran.v(7, 9)), (0, 0));
        assert_eq!((ran.lds_word(4), ran.lds_word(5), ran.lds.len()), (7, 8, 32));
    }
}

#[test]
fn lanes_append_to_one_counter() {
    for target in ALL {
        let mut machine = Machine::new(target).lds(vec![0; 64]).exec(0b1011);
        let ran =
            machine.run("ds_append v1 offset:8\nds_append v2 offset:8\nds_consume v3 offset:8");
        assert_eq!((ran.v(1, 0), ran.v(2, 3), ran.v(3, 1)), (0, 3, 6), "{target}");
        assert_eq!((ran.v(2, 2), ran.lds_word(2)), (0, 3));
    }
    let mut machine = Machine::new("gfx1100").lds(vec![0; 64]).s(M0, 16);
    assert!(machine.try_run("ds_append v1").is_err());
}

#[test]
fn words_with_their_upper_bit_set_are_stored() {
    for target in ALL {
        let mut machine =
            Machine::new(target).lds(numbered(4)).exec(1).v(4, |_| 0x8000_0011).v(5, |_| 0x22);
        let ran = machine.run("ds_condxchg32_rtn_b64 v[6:7], v0, v[4:5] offset:8");
        assert_eq!((ran.v(6, 0), ran.v(7, 0)), (0x1002, 0x1003), "{target}");
        assert_eq!((ran.lds_word(2), ran.lds_word(3)), (0x11, 0x1003));
    }
}

#[test]
fn addresses_may_be_those_of_lanes() {
    for target in ALL {
        let (read, write) = match is_gfx11_or_later(target) {
            true => ("ds_load_addtid_b32", "ds_store_addtid_b32"),
            false => ("ds_read_addtid_b32", "ds_write_addtid_b32"),
        };
        let mut machine =
            Machine::new(target).lds(numbered(256)).s(M0, 64).v(1, |lane| 0xe000 + lane as u32);
        let ran = machine.run(&format!("{read} v2 offset:16\n{write} v1 offset:512"));
        for lane in 0..machine.lanes() {
            assert_eq!(ran.v(2, lane), 0x1000 + 20 + lane as u32, "{target}");
            assert_eq!(ran.lds_word(144 + lane), 0xe000 + lane as u32);
        }
    }
}

#[test]
fn columns_are_loaded_from_rows() {
    // Sixteen lanes hold four rows of sixteen halves; a lane gets a column.
    let halves: Vec<u8> = (0..256_u16).flat_map(u16::to_le_bytes).collect();
    let mut machine = Machine::new("gfx950").lds(halves.clone()).v(0, |lane| lane as u32 * 8);
    let ran = machine.run("ds_read_b64_tr_b16 v[2:3], v0");
    for lane in 0..64 {
        let (group, column) = (lane / 16 * 64, lane % 16);
        let element = |row: usize| (group + row * 16 + column) as u32;
        assert_eq!(ran.v(2, lane), element(0) | element(1) << 16, "{lane}");
        assert_eq!(ran.v(3, lane), element(2) | element(3) << 16);
    }
    // Eight rows of sixteen bytes.
    let bytes: Vec<u8> = (0..512_usize).map(|at| (at % 251) as u8).collect();
    let mut machine = Machine::new("gfx950").lds(bytes).v(0, |lane| lane as u32 * 8);
    let ran = machine.run("ds_read_b64_tr_b8 v[2:3], v0");
    for lane in 0..64 {
        let element = |row: usize| ((lane / 16 * 128 + row * 16 + lane % 16) % 251) as u32;
        let low = (0..4).fold(0, |all, row| all | element(row) << (row * 8));
        assert_eq!(ran.v(2, lane), low, "{lane}");
    }
    // Sixteen rows of sixteen half bytes, and of sixteen times six bits.
    let nibbles: Vec<u8> = (0..512_usize).map(|at| (at * 7 % 256) as u8).collect();
    let mut machine = Machine::new("gfx950").lds(nibbles.clone()).v(0, |lane| lane as u32 * 8);
    let ran = machine.run("ds_read_b64_tr_b4 v[2:3], v0");
    for lane in 0..64 {
        let element = |row: usize| {
            let at = lane / 16 * 256 + row * 16 + lane % 16;
            u32::from(nibbles[at / 2] >> (at % 2 * 4) & 15)
        };
        assert_eq!(ran.v(3, lane), (0..8).fold(0, |all, row| all | element(row + 8) << (row * 4)));
    }
    let six: Vec<u8> = (0..64 * 12_usize).map(|at| (at * 37 % 256) as u8).collect();
    let mut machine = Machine::new("gfx950").lds(six.clone()).v(0, |lane| lane as u32 * 12);
    let ran = machine.run("ds_read_b96_tr_b6 v[2:4], v0");
    let bit = |lane: usize, at: usize| u32::from(six[lane * 12 + at / 8] >> (at % 8) & 1);
    for lane in 0..64 {
        for at in 0..96 {
            let (element, part) = (at / 6, at % 6);
            let wanted = bit(lane / 16 * 16 + element, lane % 16 * 6 + part);
            assert_eq!(ran.v(2 + at / 32, lane) >> (at % 32) & 1, wanted, "{lane} {at}");
        }
    }
}

#[test]
fn eight_lanes_transpose_from_gfx12_on() {
    let halves: Vec<u8> = (0..256_u16).flat_map(u16::to_le_bytes).collect();
    let wanted = |lane: usize, at: usize| (lane / 8 * 64 + at * 8 + lane % 8) as u32;
    let mut machine =
        Machine::new("gfx1250").lds(halves.clone()).v(0, |lane| lane as u32 * 16).exec(1);
    let ran = machine.run("ds_load_tr16_b128 v[2:5], v0");
    for lane in 0..32 {
        for at in 0..8 {
            assert_eq!(ran.v(2 + at / 2, lane) >> (at % 2 * 16) & 0xffff, wanted(lane, at));
        }
    }
    for (target, name) in [("gfx1201", "global_load_tr_b128"), ("gfx1250", "global_load_tr16_b128")]
    {
        let mut machine = Machine::new(target);
        let buffer = machine.buffer(&halves);
        let mut machine = machine.v64(0, |lane| buffer + lane as u64 * 16);
        let ran = machine.run(&format!("{name} v[2:5], v[0:1], off"));
        for lane in 0..32 {
            for at in 0..8 {
                assert_eq!(ran.v(2 + at / 2, lane) >> (at % 2 * 16) & 0xffff, wanted(lane, at));
            }
        }
    }
    // Bytes, as a public test has them.
    let bytes: Vec<u8> = (0..=255).collect();
    let mut machine = Machine::new("gfx1250").lds(bytes).v(0, |lane| lane as u32 * 8);
    let ran = machine.run("ds_load_tr8_b64 v[2:3], v0");
    for lane in 0..32 {
        for at in 0..8 {
            let source = lane / 16 * 16 + lane / 8 % 2 * 4 + at / 4 * 8 + at % 4;
            let got = ran.v(2 + at / 4, lane) >> (at % 4 * 8) & 0xff;
            assert_eq!(got as usize, source * 8 + lane % 8);
        }
    }
}

#[test]
fn loads_go_to_lds_in_the_order_of_lanes() {
    for target in ["gfx90a", "gfx942", "gfx950", "gfx1030"] {
        let mut machine = Machine::new(target);
        let buffer = machine.words(&(0..256).collect::<Vec<_>>());
        let mut machine = machine
            .lds(vec![0xff; 1024])
            .s(M0, 64)
            .s64(4, buffer)
            .s64(8, buffer)
            .s(10, 200)
            .s(11, if target == "gfx1030" { 3 << 28 } else { 0 })
            .v(0, |lane| (lane as u32 ^ 1) * 4)
            .exec(!2);
        let global = match target {
            "gfx942" | "gfx950" => "global_load_lds_dword v0, s[4:5] offset:4",
            _ => "global_load_dword v0, s[4:5] offset:4 lds",
        };
        let ran = machine.run(global);
        for lane in (0..machine.lanes()).filter(|lane| *lane != 1) {
            assert_eq!(ran.lds_word(17 + lane), (lane as u32 ^ 1) + 1, "{target} {lane}");
        }
        assert_eq!(ran.lds_word(18), u32::MAX);
        // A buffer ends after fifty words: what is behind is zero.
        let ran = machine.run("buffer_load_dword v0, s[8:11], 0 offen offset:64 lds");
        for lane in (0..machine.lanes()).filter(|lane| *lane != 1) {
            let at = (lane as u32 ^ 1) + 16;
            assert_eq!(ran.lds_word(32 + lane), if at < 50 { at } else { 0 }, "{target} {lane}");
        }
        let ran = machine.run("buffer_load_sbyte v0, s[8:11], 0 offen lds");
        assert_eq!((ran.lds_word(16), ran.lds_word(16 + 5)), (1, 4));
    }
    let mut machine = Machine::new("gfx950");
    let buffer = machine.words(&(0..256).collect::<Vec<_>>());
    let mut machine =
        machine.lds(vec![0; 4096]).v64(0, |lane| buffer + (63 - lane as u64) * 16).s(M0, 32);
    let ran = machine.run("global_load_lds_dwordx4 v[0:1], off offset:0");
    assert_eq!((ran.lds_word(8), ran.lds_word(11), ran.lds_word(12)), (252, 255, 248));
}

#[test]
fn copies_without_registers_have_addresses_on_both_sides() {
    let mut machine = Machine::new("gfx1250");
    let buffer = machine.words(&(0..256).collect::<Vec<_>>());
    let mut machine = machine
        .lds(vec![0; 2048])
        .s64(4, buffer)
        .v(0, |lane| (31 - lane as u32 % 32) * 16)
        .v(1, |lane| lane as u32 * 32);
    let ran = machine.run(
        "global_load_async_to_lds_b128 v1, v0, s[4:5] offset:16\n\
         s_wait_asynccnt 0x0\n\
         global_store_async_from_lds_b32 v0, v1, s[4:5] offset:20",
    );
    // The offset counts on both sides.
    let word = |lane: u32| (31 - lane) * 4 + 4;
    for lane in 0..32 {
        assert_eq!(ran.lds_word(lane as usize * 8 + 4), word(lane));
        assert_eq!(ran.lds_word(lane as usize * 8 + 7), word(lane) + 3);
    }
    let left = machine.read_words(buffer, 256);
    for lane in 0..32 {
        assert_eq!(left[(31 - lane as usize) * 4 + 5], word(lane) + 1);
    }
}

#[test]
fn tiles_of_tensors_are_moved() {
    // A tile of 4 by 3 words out of rows of 10 words, of which 3 are in the tensor; padded by two words after eight.
    let mut machine = Machine::new("gfx1250");
    let words: Vec<u32> = (0..100).collect();
    let buffer = machine.words(&words);
    let mut machine = machine
        .lds(vec![0xee; 256])
        .s(0, 1)
        .s(1, 16)
        .s64(2, (buffer + 4 * 12) | 2 << 62)
        .s(4, 2 << 16 | 1 << 20 | 2 << 22 | 1 << 25)
        .s(5, 3 << 16)
        .s(6, 100 << 16)
        .s(7, 4 << 16)
        .s(8, 3)
        .s(9, 10);
    let ran = machine.run("tensor_load_to_lds s[0:3], s[4:11]\ns_wait_tensorcnt 0x0");
    let wanted = [12, 13, 14, 0, 22, 23, 24, 0, 0xeeee_eeee, 0xeeee_eeee, 32, 33, 34, 0];
    for (at, wanted) in wanted.into_iter().enumerate() {
        assert_eq!(ran.lds_word(4 + at), wanted, "{at}");
    }
    let mut machine = machine.lds((0..64).collect()).s(4, 2 << 16);
    machine.run("tensor_store_from_lds s[0:3], s[4:11]");
    let left = machine.read_words(buffer, 40);
    let lds = |word: u32| u32::from_le_bytes([0, 1, 2, 3].map(|at| (word * 4 + at) as u8));
    assert_eq!(left[12..16], [lds(4), lds(5), lds(6), 15]);
    assert_eq!(left[22..26], [lds(8), lds(9), lds(10), 25]);
}

#[test]
fn blocks_of_registers_skip_what_m0_leaves_out() {
    for target in ["gfx1201", "gfx1250"] {
        let mut machine = Machine::new(target);
        let buffer = machine.words(&(0..1024).collect::<Vec<_>>());
        let mut machine =
            machine.v64(0, |lane| buffer + lane as u64 * 128).s(M0, 0x8000_0005).v(3, |_| 0xabc);
        let ran = machine.run("global_load_block v[2:33], v[0:1], off");
        assert_eq!((ran.v(2, 3), ran.v(3, 3), ran.v(4, 3)), (96, 0xabc, 98), "{target}");
        assert_eq!(ran.v(33, 3), 96 + 31);
    }
}

#[test]
fn waves_arrive_at_cells_in_lds() {
    // Three are to come, counted from two; then the phase changes and counting begins anew.
    let mut lds = 2_u32.to_le_bytes().to_vec();
    lds.extend(2_u32.to_le_bytes());
    let mut machine = Machine::new("gfx1250").lds(lds).v(2, |_| 1).exec(0b11);
    let ran = machine.run(
        "ds_atomic_barrier_arrive_rtn_b64 v[4:5], v0, v[2:3]\n\
         ds_atomic_async_barrier_arrive_b64 v0",
    );
    assert_eq!((ran.v(4, 0), ran.v(4, 1), ran.v(5, 1)), (2, 1, 2));
    assert_eq!(ran.lds_word(0), 7 << 29 | 1);
}
