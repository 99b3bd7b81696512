//! Instructions on a wave of their own: places by a matrix product of integers, sums by answers of devices.

use std::time::{Duration, Instant};

use hsaco_isa::decoder::DecodeOptions;
use hsaco_isa::target::WaveSize;
use hsaco_isa::{Assembler, Processor};

use crate::barrier::Barriers;
use crate::error::Result;
use crate::grid::GridSync;
use crate::matrix::layout::{self, Axes, Digit};
use crate::memory::{Memory, View};
use crate::num::matrix::{Accumulator, Element, Model, Shape, multiply_aligned};
use crate::step::{self, Context, Host, Parked};
use crate::translate::{Program, Target, TranslationState};
use crate::wave::{Layout, Vector, Wave};

/// Runs one instruction on a wave whose registers `setup` fills.
fn run<const C: usize>(
    target: &str,
    text: &str,
    setup: impl FnOnce(&mut Wave<C>),
) -> Result<Wave<C>> {
    run_often(target, text, setup, |step| step())
}

/// The same, as often as `repeat` calls what it is given.
fn run_often<const C: usize>(
    target: &str,
    text: &str,
    setup: impl FnOnce(&mut Wave<C>),
    repeat: impl FnOnce(&mut dyn FnMut()),
) -> Result<Wave<C>> {
    run_on(Host::detect(), target, text, setup, repeat)
}

/// The same on a host that has no more than this one.
fn run_on<const C: usize>(
    host: Host,
    target: &str,
    text: &str,
    setup: impl FnOnce(&mut Wave<C>),
    repeat: impl FnOnce(&mut dyn FnMut()),
) -> Result<Wave<C>> {
    let processor = Processor::from_name(target).unwrap();
    let wave_size = Some(if C == 8 { WaveSize::Wave64 } else { WaveSize::Wave32 });
    let options = DecodeOptions { wave_size, ..DecodeOptions::default() };
    let assembler = Assembler::new(processor, options).unwrap();
    let mut code = Vec::new();
    for line in [text, "s_endpgm"] {
        let statement = assembler.statement(line).unwrap_or_else(|it| panic!("{line}: {it:?}"));
        statement.encode(&mut code);
    }
    let memory = Memory::new(1 << 20);
    let start = memory.allocate(4096)?;
    memory.write(start, &code)?;
    let layout = Layout { vgprs: 256, agprs: 256 };
    let mut program = Program::<C>::new(Target::new(processor), layout)?.on(host);
    let mut wave = Wave::blank(usize::from(layout.constants()));
    setup(&mut wave);
    let number = program.block(start, TranslationState::of(&wave), &memory)?;
    program.pools.fill(layout, &mut wave);
    let numerics = Target::new(processor).numerics();
    let view = View::new(&memory);
    let grid = GridSync::default();
    let mut context = Context::new(&view, &grid, Parked::new(0, Barriers::new(1, 0), numerics));
    let steps = &program.blocks[number as usize].steps;
    repeat(&mut || {
        step::run(steps, &mut wave, &mut context);
    });
    match wave.failure.take() {
        Some(failure) => Err(failure.error),
        None => Ok(wave),
    }
}

/// A generator of numbers that is the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as u32
    }
}

fn fill<const C: usize>(
    wave: &mut Wave<C>,
    registers: std::ops::Range<usize>,
    random: &mut Random,
) {
    for register in registers {
        for lane in 0..C * 8 {
            wave.v[register].set_lane(lane, random.next());
        }
    }
}

fn byte(word: u32, at: usize) -> i64 {
    i64::from((word >> (8 * at)) as i8)
}

#[test]
fn bytes_of_mfma_are_where_the_manual_says() {
    let mut random = Random(0x1234_5678_9abc_def1);
    let mut before = None;
    let text = "v_mfma_i32_16x16x32_i8 a[0:3], v[0:1], v[2:3], a[4:7]";
    let after = run::<8>("gfx942", text, |wave| {
        fill(wave, 0..4, &mut random);
        fill(wave, 260..264, &mut random);
        before = Some(wave.v.clone());
    })
    .unwrap();
    let v = before.unwrap();
    for (row, column) in (0..16).flat_map(|row| (0..16).map(move |column| (row, column))) {
        // CDNA3: k runs over 8 bytes of two registers, then over four rows of lanes.
        let element = |first: usize, at: usize, k: usize| {
            byte(v[first + k % 8 / 4].lane(at + 16 * (k / 8)), k % 4)
        };
        let sum: i64 = (0..32).map(|k| element(0, row, k) * element(2, column, k)).sum();
        let lane = column + 16 * (row / 4);
        let c = v[260 + row % 4].lane(lane);
        assert_eq!(after.v[256 + row % 4].lane(lane), c.wrapping_add(sum as u32), "{row} {column}");
    }
}

#[test]
fn blocks_of_mfma_can_be_broadcast() {
    let mut random = Random(77);
    for (controls, source, target) in [("", 0, 0), (" cbsz:1 abid:1", 32, 0), (" blgp:2", 0, 32)] {
        let mut before = None;
        let text = format!("v_mfma_i32_32x32x4_2b_i8 a[0:31], v0, v1, 0{controls}");
        let after = run::<8>("gfx942", &text, |wave| {
            fill(wave, 0..2, &mut random);
            before = Some(wave.v.clone());
        })
        .unwrap();
        let v = before.unwrap();
        for (row, column) in [(0, 0), (7, 31), (30, 5)] {
            let (a, b) = (v[0].lane(row + source), v[1].lane(column + target));
            let sum: i64 = (0..4).map(|k| byte(a, k) * byte(b, k)).sum();
            let (register, lane) = (row / 8 * 4 + row % 4, column + 32 * (row / 4 % 2));
            assert_eq!(after.v[256 + register].lane(lane), sum as u32, "{text} {row} {column}");
        }
    }
}

/// The elements of a register, as integers of `bits` bits.
fn parts(word: u32, bits: u32, signed: bool) -> Vec<i64> {
    (0..32 / bits)
        .map(|at| {
            let top = word << (32 - bits * (at + 1));
            if signed {
                i64::from(top.cast_signed() >> (32 - bits))
            } else {
                i64::from(top >> (32 - bits))
            }
        })
        .collect()
}

/// All K of a row or column, whatever its order, which the sum does not depend on.
fn lane_parts<const C: usize>(
    wave: &Wave<C>,
    registers: std::ops::Range<usize>,
    lanes: &[usize],
    signed: bool,
    bits: u32,
) -> Vec<i64> {
    let words =
        lanes.iter().flat_map(|lane| registers.clone().map(move |at| wave.v[at].lane(*lane)));
    words.flat_map(|word| parts(word, bits, signed)).collect()
}

#[test]
fn wmma_of_integers_is_the_product() {
    let mut random = Random(99);
    let text = "v_wmma_i32_16x16x16_iu8 v[16:23], v[0:3], v[4:7], v[8:15] neg_lo:[1,0,0]";
    let mut before = None;
    let after = run::<4>("gfx1100", text, |wave| {
        fill(wave, 0..16, &mut random);
        for register in 0..8 {
            for lane in 0..16 {
                let value = wave.v[register].lane(lane);
                wave.v[register].set_lane(lane + 16, value);
            }
        }
        before = Some(Wave { v: wave.v.clone(), ..Wave::blank(0) });
    })
    .unwrap();
    let before = before.unwrap();
    for (row, column) in (0..16).flat_map(|row| (0..16).map(move |column| (row, column))) {
        let a = lane_parts(&before, 0..4, &[row], true, 8);
        let b = lane_parts(&before, 4..8, &[column], false, 8);
        let sum: i64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
        let (register, lane) = (row / 2, column + 16 * (row % 2));
        let c = before.v[8 + register].lane(lane);
        assert_eq!(after.v[16 + register].lane(lane), c.wrapping_add(sum as u32));
    }
}

#[test]
fn gfx12_wmma_of_integers_is_the_product() {
    let mut random = Random(5);
    let text = "v_wmma_i32_16x16x32_iu4 v[16:23], v[0:1], v[2:3], v[8:15] neg_lo:[1,1,0] clamp";
    let mut before = None;
    let after = run::<4>("gfx1201", text, |wave| {
        fill(wave, 0..16, &mut random);
        before = Some(Wave { v: wave.v.clone(), ..Wave::blank(0) });
    })
    .unwrap();
    let before = before.unwrap();
    for (row, column) in (0..16).flat_map(|row| (0..16).map(move |column| (row, column))) {
        let a = lane_parts(&before, 0..2, &[row, row + 16], true, 4);
        let b = lane_parts(&before, 2..4, &[column, column + 16], true, 4);
        let sum: i64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
        let (register, lane) = (row % 8, column + 16 * (row / 8));
        let c = i64::from(before.v[8 + register].lane(lane).cast_signed());
        let clamped = (c + sum).clamp(i32::MIN.into(), i32::MAX.into());
        assert_eq!(after.v[16 + register].lane(lane), clamped as u32);
    }
}

/// A sparse product, where each pair of A belongs to two of four consecutive elements of B in the same lanes.
#[test]
fn sparse_products_follow_their_indices() {
    let mut random = Random(31);
    let text = "v_smfmac_i32_16x16x64_i8 v[8:11], v[0:1], v[2:5], v6 abid:1";
    let mut before = None;
    // Indices 0 < 1, 1 < 3 and so on.
    let pairs = [0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110];
    let after = run::<8>("gfx942", text, |wave| {
        fill(wave, 0..12, &mut random);
        for lane in 0..64 {
            let set = (0..4).fold(0, |all, at| all | pairs[random.next() as usize % 6] << (4 * at));
            wave.v[6].set_lane(lane, set << 16 | 0x4444);
        }
        before = Some(Wave { v: wave.v.clone(), ..Wave::blank(0) });
    })
    .unwrap();
    let before = before.unwrap();
    for (row, column) in (0..16).flat_map(|row| (0..16).map(move |column| (row, column))) {
        let sum: i64 = (0..4)
            .map(|group| {
                let a = lane_parts(&before, 0..2, &[row + 16 * group], true, 8);
                let b = lane_parts(&before, 2..6, &[column + 16 * group], true, 8);
                let indices = before.v[6].lane(row + 16 * group) >> 16;
                let index = |at: usize| (indices >> (2 * at) & 3) as usize;
                a.iter().enumerate().map(|(at, a)| a * b[at / 2 * 4 + index(at)]).sum::<i64>()
            })
            .sum();
        let (register, lane) = (row % 4, column + 16 * (row / 4));
        let c = before.v[8 + register].lane(lane);
        assert_eq!(after.v[8 + register].lane(lane), c.wrapping_add(sum as u32), "{row} {column}");
    }
}

#[test]
fn dot_products_keep_to_their_range() {
    let dot = |target: &str, text: &str, [a, b, c]: [u32; 3]| {
        let wave = run::<4>(target, text, |wave| {
            for (register, value) in [a, b, c].into_iter().enumerate() {
                wave.v[register] = Vector::splat(value);
            }
        });
        wave.unwrap().v[3].lane(9)
    };
    let signs = "v_dot4_i32_iu8 v3, v0, v1, v2 neg_lo:[1,0,0]";
    assert_eq!(dot("gfx1100", signs, [0xff01_0000, 0xff02_0000, 5]), 5_u32.wrapping_sub(253));
    let clamps = "v_dot4_i32_iu8 v3, v0, v1, v2 neg_lo:[1,0,0] clamp";
    assert_eq!(dot("gfx1100", clamps, [0x7f7f_7f7f, 0x7f7f_7f7f, 0x7fff_fff0]), 0x7fff_ffff);
    assert_eq!(dot("gfx1030", "v_dot8_u32_u4 v3, v0, v1, v2", [0xffff_ffff; 3]), 8 * 225 - 1);
}

#[test]
fn gfx1250_needs_all_lanes() {
    let text = "v_wmma_i32_16x16x64_iu8 v[16:23], v[0:7], v[8:15], 0";
    let failed = run::<4>("gfx1250", text, |wave| {
        wave.set_pair(crate::wave::scalar::EXEC, 1);
        wave.sync_exec();
    });
    assert!(failed.is_err());
    let text = "v_wmma_f32_16x16x128_f8f6f4 v[40:47], v[0:15], v[16:31], 1.0";
    let ones = run::<4>("gfx1250", text, |wave| {
        for register in 0..32 {
            wave.v[register] = Vector::splat(0x3838_3838);
        }
    });
    assert_eq!(ones.unwrap().v[47].lane(31), 129_f32.to_bits());
}

#[test]
fn scales_multiply_blocks() {
    // A is 1 in fp4, B is 2 in fp8; the scales are 2^1 and 2^-2, and the sum has 64 terms.
    let text = "v_mfma_scale_f32_32x32x64_f8f6f4 v[32:47], v[0:3], v[8:15], 0, v16, v17 \
                op_sel:[1,0,0] op_sel_hi:[0,0,0] cbsz:4";
    let wave = run::<8>("gfx950", text, |wave| {
        for register in 0..4 {
            wave.v[register] = Vector::splat(0x2222_2222);
        }
        for register in 8..16 {
            wave.v[register] = Vector::splat(0x4040_4040);
        }
        wave.v[16] = Vector::splat(0x0000_8000);
        wave.v[17] = Vector::splat(0x0000_007d);
    });
    assert_eq!(wave.unwrap().v[35].lane(40), 64_f32.to_bits());
}

/// Rows of a table of captures: the first column, and numbers in the others.
fn captures(text: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    text.lines().skip(1).map(|line| line.split('\t').collect())
}

fn hex(word: &str) -> u32 {
    u32::from_str_radix(word, 16).unwrap()
}

#[test]
fn dot_products_of_halves_are_those_of_devices() {
    let table = include_str!("../../../data/float-dot.tsv");
    let mut count = 0;
    for row in captures(table) {
        let [operation, a, b, c, gfx1100, gfx1201] = row[..] else { panic!("{row:?}") };
        for (target, expected) in [("gfx1100", gfx1100), ("gfx1201", gfx1201)] {
            if expected == "-" {
                continue;
            }
            let kind = operation.strip_prefix("dot2_").unwrap();
            let text = format!("v_dot2_f32_{kind} v3, v0, v1, v2");
            let wave = run::<4>(target, &text, |wave| {
                for (register, value) in [a, b, c].into_iter().enumerate() {
                    wave.v[register] = Vector::splat(hex(value));
                }
            });
            let found = wave.unwrap().v[3].lane(7);
            assert_eq!(format!("{found:08x}"), expected, "{target} {row:?}");
            count += 1;
        }
    }
    assert_eq!(count, 50 + 53 + 50 + 71);
}

#[test]
fn matrices_of_halves_are_those_of_gfx1201() {
    for row in captures(include_str!("../../../data/gfx1201-wmma.tsv")) {
        let [operation, a, b, c, wave32, wave64] = row[..] else { panic!("{row:?}") };
        let kind = operation.strip_prefix("wmma_").unwrap();
        let element = |list: &str, k: usize| hex(&list[4 * k..4 * k + 4]);
        // In waves of 32 lanes, K was taken to be 8 elements of a lane; the instruction has 4 and 4.
        let text = format!("v_wmma_f32_16x16x16_{kind} v[24:31], v[0:3], v[8:11], v[16:23]");
        let wave = run::<4>("gfx1201", &text, |wave| {
            for (first, list) in [(0, a), (8, b)] {
                for (register, lane) in (0..4).flat_map(|at| (0..32).map(move |lane| (at, lane))) {
                    let k = lane / 16 * 8 + register * 2;
                    let word = element(list, k) | element(list, k + 1) << 16;
                    wave.v[first + register].set_lane(lane, word);
                }
            }
            wave.v[16..24].fill(Vector::splat(hex(c)));
        });
        assert_eq!(format!("{:08x}", wave.unwrap().v[30].lane(20)), wave32, "{row:?}");
        let text = format!("v_wmma_f32_16x16x16_{kind} v[24:27], v[0:1], v[8:9], v[16:19]");
        let wave = run::<8>("gfx1201", &text, |wave| {
            for (first, list) in [(0, a), (8, b)] {
                for (register, lane) in (0..2).flat_map(|at| (0..64).map(move |lane| (at, lane))) {
                    let k = lane / 16 * 4 + register * 2;
                    let word = element(list, k) | element(list, k + 1) << 16;
                    wave.v[first + register].set_lane(lane, word);
                }
            }
            wave.v[16..20].fill(Vector::splat(hex(c)));
        });
        assert_eq!(format!("{:08x}", wave.unwrap().v[27].lane(60)), wave64, "{row:?}");
    }
}

#[test]
fn modifiers_of_matrices_are_those_of_devices() {
    for row in captures(include_str!("../../../data/wmma-operands.tsv")) {
        let [first, second, a, b, c, gfx1100, gfx1201] = row[..] else { panic!("{row:?}") };
        for (target, expected) in [("gfx1100", gfx1100), ("gfx1201", gfx1201)] {
            let text = format!(".long 0x{first}, 0x{second}");
            let wave = run::<4>(target, &text, |wave| {
                wave.v[0..8].fill(Vector::splat(hex(a)));
                wave.v[8..16].fill(Vector::splat(hex(b)));
                wave.v[16..24].fill(Vector::splat(hex(c)));
                wave.v[24..32].fill(Vector::splat(0x5678_1234));
            });
            // gfx12 has bits there that must be zero; it reads none of them.
            let wave = match wave {
                Err(_) if target == "gfx1201" && hex(first) >> 11 & 7 != 0 => continue,
                wave => wave.unwrap(),
            };
            assert_eq!(format!("{:08x}", wave.v[25].lane(3)), expected, "{target} {row:?}");
        }
    }
}

/// The vectorised way of CDNA3 against the plain one, on numbers of all sizes.
#[test]
fn columns_at_once_are_columns_one_by_one() {
    let mut random = Random(2026);
    let mut fast = 0;
    for round in 0..400 {
        let shape = Shape { m: 3, n: 16, k: [4, 8, 16][round % 3] };
        let element = [Element::F16, Element::Bf16, Element::Xf32][round % 3];
        let model = if element == Element::Xf32 { Model::CDNA3_XF32 } else { Model::CDNA3 };
        let Model::Aligned(aligned) = model else { panic!("{model:?}") };
        let mut elements = |count: usize| -> Vec<u32> {
            let finite = |random: &mut Random| match random.next() % 8 {
                0 => 0,
                1 => random.next() & 0x8000_83ff,
                _ => random.next() & [0xbbff, 0xbf7f, 0xbf7f_ffff][round % 3],
            };
            (0..count).map(|_| finite(&mut random)).collect()
        };
        let (a, b) = (elements(shape.m * shape.k), elements(shape.k * shape.n));
        let c: Vec<u32> = (0..shape.m * shape.n)
            .map(|_| random.next() & if round % 5 == 0 { 0x80ff_ffff } else { 0xbfff_ffff })
            .collect();
        let (mut one, mut other) = (c.clone(), c);
        let factors =
            |bits: &[u32]| -> Vec<_> { bits.iter().map(|it| element.factor(*it)).collect() };
        model.multiply(shape, &factors(&a), &factors(&b), &mut one, Accumulator::F32);
        if multiply_aligned(aligned, shape, (&a, element), (&b, element), &mut other) {
            assert_eq!(one, other, "{round}");
            fast += 1;
        }
    }
    assert!(fast > 200, "{fast}");
}

/// An f32 of any kind: exponents near those of products, far from them, zeros, subnormal and infinite numbers, NaNs.
fn addend(random: &mut Random, round: u32) -> u32 {
    let bits = random.next();
    let field = match round % 4 {
        0 => 110 + bits % 32,
        1 => 60 + random.next() % 130,
        2 => random.next() % 256,
        _ => return if bits.is_multiple_of(3) { bits } else { bits & 0x8000_0000 },
    };
    bits & 0x807f_ffff | field << 23
}

/// The host's vectors against one row after the other, on whole instructions.
#[test]
fn vectors_of_the_host_give_the_same_matrices() {
    let instructions = [
        ("v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]", [0xbbff_bbff, 0xffff_ffff]),
        ("v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[16:31]", [0xbbff_bbff, 0x83ff_83ff]),
        ("v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], 1.0", [0xbbff_bbff, 0xbbff_bbff]),
        ("v_mfma_f32_16x16x16_f16 a[0:3], v[0:1], v[2:3], a[0:3]", [0xbbff_bbff, 0x0]),
        ("v_mfma_f32_32x32x4_2b_f16 a[0:31], v[0:1], v[2:3], a[0:31]", [0xbbff_bbff, 0xbbff_bbff]),
        ("v_mfma_f32_16x16x4_4b_f16 a[0:15], v[0:1], v[2:3], a[0:15]", [0xbbff_bbff, 0xbbff_bbff]),
        ("v_mfma_f32_32x32x8_bf16 a[0:15], v[0:1], v[2:3], a[0:15]", [0xbf7f_bf7f, 0xc77f_c77f]),
        ("v_mfma_f32_16x16x16_bf16 a[0:3], v[0:1], v[2:3], a[0:3]", [0xbf7f_bf7f, 0xbbff_bbff]),
        ("v_mfma_f32_32x32x4_xf32 a[0:15], v[0:1], v[2:3], a[0:15]", [0xbf7f_ffff, 0xc77f_ffff]),
        ("v_mfma_f32_16x16x8_xf32 a[0:3], v[0:1], v[2:3], a[0:3]", [0xbf7f_ffff, 0x47ff_ffff]),
    ];
    let mut random = Random(0xaced);
    for round in 0..60 {
        for (text, masks) in instructions {
            let mut registers = vec![Vector::<8>::ZERO; 4 + 32];
            for (number, register) in registers.iter_mut().enumerate() {
                for lane in 0..64 {
                    let value = match number {
                        0..4 if random.next().is_multiple_of(16) => 0,
                        0..4 if random.next().is_multiple_of(256) => random.next(),
                        0..4 => random.next() & masks[number / 2],
                        _ => addend(&mut random, round),
                    };
                    register.set_lane(lane, value);
                }
            }
            let on = |host: Host| {
                let setup = |wave: &mut Wave<8>| {
                    wave.v[..4].copy_from_slice(&registers[..4]);
                    wave.v[256..][..32].copy_from_slice(&registers[4..]);
                };
                let ran = run_on::<8>(host, "gfx942", text, setup, |step| step()).unwrap();
                ran.v[256..][..32].to_vec()
            };
            let (found, wanted) = (on(Host::detect()), on(Host::Portable));
            assert!(found == wanted, "{text}, round {round}");
        }
    }
}

/// Where an element is: register, bit, lane.
fn place(axes: &Axes, bits: u32, index: (usize, usize, usize)) -> (usize, u32, usize) {
    let (block, inner, outer) = index;
    let layout = axes.runs(bits, |lane| lane);
    let per_block = layout.runs.len() / blocks_of(axes);
    let run = layout.runs[block * per_block + inner * layout.per_inner + outer / layout.width];
    (run.register.into(), run.shift.into(), usize::from(run.lane) + outer % layout.width)
}

fn blocks_of(axes: &Axes) -> usize {
    axes.block
        .iter()
        .map(|it| match it {
            Digit::Item(count) | Digit::Lane(count, _) => *count,
        })
        .product()
}

fn put(
    wave: &mut Wave<8>,
    first: usize,
    (register, shift, lane): (usize, u32, usize),
    bits: u32,
    value: u64,
) {
    if bits == 64 {
        wave.v[first + register].set_lane(lane, value as u32);
        wave.v[first + register + 1].set_lane(lane, (value >> 32) as u32);
        return;
    }
    let old = wave.v[first + register].lane(lane);
    let mask = if bits == 32 { u32::MAX } else { (1 << bits) - 1 };
    wave.v[first + register].set_lane(lane, old & !(mask << shift) | (value as u32) << shift);
}

/// An MFMA of the sample: what its name says.
struct Mfma {
    m: usize,
    k: usize,
    blocks: usize,
    input: u32,
    output: u32,
}

impl Mfma {
    fn of(suffix: &str) -> Self {
        let mut numbers = suffix.split('_').nth(1).unwrap().split('x').map(|it| {
            it[..it.find(|it: char| !it.is_ascii_digit()).unwrap_or(it.len())].parse().unwrap()
        });
        let [m, _, k] = std::array::from_fn(|_| numbers.next().unwrap());
        let ends = |names: &[&str]| names.iter().any(|name| suffix.ends_with(name));
        let input = match () {
            () if ends(&["f64"]) => 64,
            () if ends(&["fp8", "bf8"]) => 8,
            () if ends(&["f16", "1k"]) => 16,
            () => 32,
        };
        // The older forms of single precision and bf16 read one register, the others two.
        let is_one = suffix.ends_with("f32") && !suffix.ends_with("xf32")
            || suffix.ends_with("bf16") && !suffix.contains("_bf16");
        let registers = if is_one { 1 } else { 2 };
        let blocks = 2048 * registers / (m * k * input as usize);
        Self { m, k, blocks, input, output: if suffix.starts_with("f64") { 64 } else { 32 } }
    }

    /// Runs products whose rows and columns of the same number are those of the lines, and compares the diagonal.
    fn check(&self, target: &str, suffix: &str, lines: &[Vec<&str>]) {
        let Self { m, k, blocks, input, output } = *self;
        let inputs = layout::mfma_input(m, k, blocks, input as usize);
        let outputs = match output {
            64 => layout::mfma_output_f64(m, m, blocks),
            _ => layout::mfma_output(m, m, blocks),
        };
        let (a, d) = (inputs.registers(input), outputs.registers(output));
        let last = |first: usize, count: usize| match count {
            1 => format!("{first}"),
            _ => format!("[{first}:{}]", first + count - 1),
        };
        let text = format!(
            "v_mfma_{suffix} a{}, v{}, v{}, a{}",
            last(64, d),
            last(0, a),
            last(16, a),
            last(128, d),
        );
        let all = |row: usize| (0..blocks).map(move |block| (block, row));
        let digits = input as usize / 4;
        let wave = run::<8>(target, &text, |wave| {
            for (row, line) in lines.iter().enumerate() {
                for (block, row) in all(row) {
                    for (first, list) in [(0, line[2]), (16, line[3])] {
                        for at in 0..k {
                            let value = &list[at * digits..][..digits];
                            let value = u64::from_str_radix(value, 16).unwrap();
                            put(wave, first, place(&inputs, input, (block, at, row)), input, value);
                        }
                    }
                    let c = u64::from_str_radix(line[4], 16).unwrap();
                    put(wave, 256 + 128, place(&outputs, output, (block, row, row)), output, c);
                }
            }
        })
        .unwrap();
        for (row, line) in lines.iter().enumerate() {
            for (block, row) in all(row) {
                let (register, _, lane) = place(&outputs, output, (block, row, row));
                let first = 256 + 64 + register;
                let low = wave.v[first].lane(lane);
                let (found, is_nan) = match output {
                    64 => {
                        let found = u64::from(low) | u64::from(wave.v[first + 1].lane(lane)) << 32;
                        (format!("{found:016x}"), f64::from_bits(found).is_nan())
                    }
                    _ => (format!("{low:08x}"), f32::from_bits(low).is_nan()),
                };
                let expected = u64::from_str_radix(line[5], 16).unwrap();
                let wants_nan = match output {
                    64 => f64::from_bits(expected).is_nan(),
                    _ => f32::from_bits(expected as u32).is_nan(),
                };
                assert!(found == line[5] || is_nan && wants_nan, "{text}: {found} {line:?}");
            }
        }
    }
}

#[test]
fn mfma_is_what_mma_sim_says() {
    let lines: Vec<Vec<&str>> = captures(include_str!("../../../data/mfma.tsv")).collect();
    let mut count = 0;
    for instruction in lines.chunk_by(|one, other| one[..2] == other[..2]) {
        let (target, suffix) = (instruction[0][0], instruction[0][1]);
        let mfma = Mfma::of(suffix);
        for lines in instruction.chunks(mfma.m) {
            mfma.check(target, suffix, lines);
        }
        count += 1;
    }
    assert_eq!(count, 15 + 22 + 27);
}

#[test]
#[ignore = "a measurement"]
fn one_mfma_takes_microseconds() {
    let mut random = Random(8);
    let text = "v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[16:31]";
    let mut best = Duration::MAX;
    run_often::<8>(
        "gfx942",
        text,
        |wave| {
            fill(wave, 0..4, &mut random);
            for register in 0..4 {
                for lane in 0..64 {
                    let finite = wave.v[register].lane(lane) & 0xbbff_bbff;
                    wave.v[register].set_lane(lane, finite);
                }
            }
        },
        |step| {
            for _ in 0..100 {
                let start = Instant::now();
                (0..100).for_each(|_| step());
                best = best.min(start.elapsed() / 100);
            }
        },
    )
    .unwrap();
    println!("{text}: {best:?}");
    assert!(best < Duration::from_micros(60), "{best:?}");
}
