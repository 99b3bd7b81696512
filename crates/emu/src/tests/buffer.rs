//! Buffers with their bounds, and scalar memory.

use super::machine::{ALL, Machine};

/// The third and fourth word of a descriptor of so many bytes, in which words are out of bounds one by one.
fn raw(target: &str, base: u64, bytes: u32) -> [u32; 4] {
    match target {
        "gfx1250" => [base as u32, (base >> 32) as u32 | bytes << 25, bytes >> 7, 0],
        "gfx90a" | "gfx942" | "gfx950" => [base as u32, (base >> 32) as u32, bytes, 0],
        _ => [base as u32, (base >> 32) as u32, bytes, 3 << 28],
    }
}

fn with_descriptor(machine: Machine, words: [u32; 4]) -> Machine {
    (8..).zip(words).fold(machine, |machine, (register, word)| machine.s(register, word))
}

#[test]
fn words_past_the_end_of_a_buffer_are_zero() {
    for target in ALL {
        let mut machine = Machine::new(target);
        let buffer = machine.words(&(0x100..0x140).collect::<Vec<_>>());
        let mut machine = with_descriptor(machine, raw(target, buffer, 40))
            .v(0, |lane| lane as u32 * 4)
            .v(4, |_| 1)
            .v(5, |_| 2)
            .v(6, |_| 3)
            .v(7, |_| 4);
        let (load, store, add, none) =
            match target.starts_with("gfx11") || target.starts_with("gfx12") {
                true => (
                    "buffer_load_b128",
                    "buffer_store_b128",
                    "buffer_atomic_add_u32",
                    if target.starts_with("gfx12") { "null" } else { "0" },
                ),
                false => ("buffer_load_dwordx4", "buffer_store_dwordx4", "buffer_atomic_add", "0"),
            };
        let ran = machine.run(&format!("{load} v[8:11], v0, s[8:11], {none} offen"));
        for lane in 0..machine.lanes() {
            for at in 0..4 {
                let word = lane + at;
                let wanted = if word < 10 { 0x100 + word as u32 } else { 0 };
                assert_eq!(ran.v(8 + at, lane), wanted, "{target} {lane} {at}");
            }
        }
        let mut machine = machine.exec(1 << 8);
        machine.run(&format!("{store} v[4:7], v0, s[8:11], {none} offen"));
        assert_eq!(machine.read_words(buffer, 12)[7..], [0x107, 1, 2, 0x10a, 0x10b], "{target}");
        let mut machine = machine.exec(0b11 << 9);
        machine.run(&format!("{add} v4, v0, s[8:11], {none} offen"));
        assert_eq!(machine.read_words(buffer, 12)[9..], [3, 0x10a, 0x10b], "{target}");
    }
}

#[test]
fn atomics_of_buffers_without_bounds_are_done() {
    // What is out of bounds is up to two bits, of which 2 says that nothing is.
    let mut machine = Machine::new("gfx1100");
    let buffer = machine.words(&[5; 32]);
    let words = [buffer as u32, (buffer >> 32) as u32, 1, 2 << 28];
    let mut machine = with_descriptor(machine, words).v(0, |lane| lane as u32 * 4).v(4, |_| 3);
    machine.run("buffer_atomic_add_u32 v4, v0, s[8:11], 0 offen");
    assert_eq!(machine.read_words(buffer, 32), [8; 32]);
}

#[test]
fn records_have_an_index() {
    // Three records of eight bytes.
    for target in ALL.into_iter().filter(|it| *it != "gfx1250") {
        let mut machine = Machine::new(target);
        let buffer = machine.words(&(0x100..0x140).collect::<Vec<_>>());
        let words = [buffer as u32, (buffer >> 32) as u32 | 8 << 16, 3, 0];
        let mut machine = with_descriptor(machine, words).v(0, |lane| lane as u32).v(1, |_| 4);
        let load = match target {
            "gfx1201" => "buffer_load_b32 v2, v[0:1], s[8:11], null idxen offen",
            "gfx1100" | "gfx1151" => "buffer_load_b32 v2, v[0:1], s[8:11], 0 idxen offen",
            _ => "buffer_load_dword v2, v[0:1], s[8:11], 0 idxen offen",
        };
        let ran = machine.run(load);
        for lane in 0..machine.lanes() {
            let wanted = if lane < 3 { 0x101 + lane as u32 * 2 } else { 0 };
            assert_eq!(ran.v(2, lane), wanted, "{target} {lane}");
        }
    }
}

#[test]
fn scalar_loads_through_buffers_are_bounded() {
    for target in ALL {
        let mut machine = Machine::new(target);
        let buffer = machine.words(&(0x100..0x140).collect::<Vec<_>>());
        let mut machine = with_descriptor(machine, raw(target, buffer, 24)).s(4, 8);
        let load = match target {
            "gfx1201" | "gfx1250" => "s_buffer_load_b256 s[16:23], s[8:11], s4 offset:0x4",
            "gfx1100" | "gfx1151" => "s_buffer_load_b256 s[16:23], s[8:11], s4 offset:0x4",
            "gfx1030" => "s_buffer_load_dwordx8 s[16:23], s[8:11], s4 offset:0x4",
            _ => "s_buffer_load_dwordx8 s[16:23], s[8:11], s4 offset:0x4",
        };
        let ran = machine.run(load);
        let got: Vec<u32> = (16..24).map(|at| ran.s(at)).collect();
        assert_eq!(got, [0x103, 0x104, 0x105, 0, 0, 0, 0, 0], "{target}");
        if target.starts_with("gfx12") {
            let ran = machine
                .run("s_buffer_load_i8 s16, s[8:11], 0x4\ns_buffer_load_u16 s17, s[8:11], 0x18");
            assert_eq!((ran.s(16), ran.s(17)), (1, 0), "{target}");
        }
    }
}

/// A descriptor of 64 bytes with a format of bytes, and components in another order: B, G, R, one.
fn formatted(target: &str, base: u64) -> [u32; 4] {
    let select = 6 | 5 << 3 | 4 << 6 | 1 << 9;
    let last = match target {
        "gfx90a" | "gfx942" | "gfx950" => 10 << 15,
        "gfx1030" => 56 << 12 | 3 << 28,
        _ => 42 << 12 | 3 << 28,
    };
    [base as u32, (base >> 32) as u32, 64, last | select]
}

#[test]
fn elements_have_formats() {
    for target in ALL.into_iter().filter(|it| *it != "gfx1250") {
        let mut machine = Machine::new(target);
        let bytes: Vec<u8> = (0..64).map(|at| at * 4).collect();
        let buffer = machine.buffer(&bytes);
        let mut machine =
            with_descriptor(machine, formatted(target, buffer)).v(0, |lane| lane as u32 * 4);
        let none = if target == "gfx1201" { "null" } else { "0" };
        let ran =
            machine.run(&format!("buffer_load_format_xyzw v[4:7], v0, s[8:11], {none} offen"));
        for lane in 0..machine.lanes() {
            let component = |at: usize| match lane < 16 {
                true => (f32::from(bytes[lane * 4 + at]) / 255.0).to_bits(),
                false => 0,
            };
            let got = [4, 5, 6, 7].map(|register| ran.v(register, lane));
            let wanted = [component(2), component(1), component(0), 1.0_f32.to_bits()];
            assert_eq!(got, wanted, "{target} {lane}");
        }
        let mut machine =
            machine.exec(1).v(4, |_| 1.0_f32.to_bits()).v(5, |_| 0.2_f32.to_bits()).v(6, |_| 0);
        machine.run(&format!("buffer_store_format_xyz v[4:6], v0, s[8:11], {none} offen"));
        assert_eq!(machine.read_words(buffer, 1), [0x00ff_3300], "{target}");
    }
}

#[test]
fn instructions_have_formats_of_their_own() {
    let cases = [("gfx90a", 7 << 4 | 5), ("gfx1030", 29), ("gfx1100", 29), ("gfx1201", 29)];
    for (target, number) in cases {
        let mut machine = Machine::new(target);
        // Two halves: 1 and -2.
        let buffer = machine.words(&[0xc000_3c00]);
        let identity = 4 | 5 << 3 | 6 << 6 | 7 << 9;
        let last = if target == "gfx90a" { 0 } else { 3 << 28 };
        let words = [buffer as u32, (buffer >> 32) as u32, 4, last | identity];
        let mut machine = with_descriptor(machine, words).exec(1);
        let none = if target == "gfx1201" { "null" } else { "0" };
        let ran = machine
            .run(&format!("tbuffer_load_format_xyzw v[4:7], off, s[8:11], {none} format:{number}"));
        let got = [4, 5, 6, 7].map(|register| f32::from_bits(ran.v(register, 0)));
        assert_eq!(got, [1.0, -2.0, 0.0, 1.0], "{target}");
    }
}
