//! What the host's unit gives is what `num` gives: every operation that has both ways, on special and random bits.

use crate::barrier::Barriers;
use crate::exec::float::{self, QUICK_OPERATIONS};
use crate::exec::valu::compare;
use crate::generated::Op;
use crate::grid::GridSync;
use crate::memory::{Memory, View};
use crate::num::{self, F16, F32, F64, Generation, Relation};
use crate::step::{self, Context, Handler, Host, Parked, Step};
use crate::wave::{Mode, Wave, scalar};

/// MODE: all denormals kept, those of f32 flushed, both without IEEE, other denormals flushed.
const MODES: [u32; 5] = [0x3f0, 0x3c0, 0x1f0, 0x1c0, 0x330];

const ROUNDS: usize = 250;

/// Numbers of all kinds, each as likely as the others.
struct Source(u64);

impl Source {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// The word of a register: an f32, two halves, or the upper half of an f64.
    fn word(&mut self) -> u32 {
        const SINGLES: [u32; 16] = [
            0,
            1,
            0x007f_ffff,
            0x0080_0000,
            0x0080_0001,
            0x00ff_ffff,
            0x3f80_0000,
            0x3f7f_ffff,
            0x3f00_0000,
            0x4b00_0001,
            0x4f00_0000,
            0x7f7f_ffff,
            0x7f80_0000,
            0x7f80_0001,
            0x7fbf_ffff,
            0x7fc0_1234,
        ];
        const HALVES: [u32; 16] = [
            0, 1, 0x3ff, 0x400, 0x401, 0x7ff, 0x3c00, 0x3bff, 0x3800, 0x6401, 0x7800, 0x7bff,
            0x7c00, 0x7c01, 0x7dff, 0x7e12,
        ];
        let random = self.next();
        let bits = (random >> 32) as u32;
        let at = (random >> 8) as usize % 16;
        match random & 7 {
            0 => SINGLES[at] | bits & 0x8000_0000,
            1 => HALVES[at] | HALVES[(random >> 16) as usize % 16] << 16 | bits & 0x8000_8000,
            // Exponents near each other, so that sums cancel and products meet the edge of denormals.
            2 => bits & 0x80ff_ffff | 0x3f00_0000,
            3 => bits & 0x807f_ffff | (0x40 + (bits >> 28)) << 23,
            4 => bits & 0x83ff_83ff | 0x3800_3800,
            5 => bits & 0x8fff_8fff,
            _ => bits,
        }
    }
}

/// A wave with anything in its registers, and some lanes on. In half of the waves active lanes have small f32 alone, of
/// which no arithmetic makes NaNs.
fn wave(source: &mut Source, mode: u32) -> Wave<4> {
    let mut wave = Wave::<4>::new(10, 0, None);
    let exec = if source.next() & 3 == 0 { source.next() & 0xffff_ffff } else { 0xffff_ffff };
    let small = if source.next() & 1 == 0 { exec } else { 0 };
    for register in &mut wave.v {
        for lane in 0..32 {
            let below_two = if small >> lane & 1 == 0 { u32::MAX } else { 0xbfff_ffff };
            register.set_lane(lane, source.word() & below_two);
        }
    }
    wave.set_pair(scalar::EXEC, exec);
    wave.set_pair(scalar::VCC, source.next() & source.next() & 0xffff_ffff);
    wave.sync_exec();
    wave.mode = Mode(mode);
    wave
}

fn run(wave: &mut Wave<4>, handler: Handler<4>, k: u64, generation: Generation) {
    let memory = Memory::new(0);
    let view = View::new(&memory);
    let grid = GridSync::default();
    let mut context = Context::new(&view, &grid, Parked::new(0, Barriers::new(1, 0), generation));
    let step = Step { run: handler, d: 8, a: 0, b: 2, c: 4, e: 0, at: 0, k };
    step::run(&[step], wave, &mut context);
}

fn check(op: Op, source: &mut Source, mode: u32, generation: Generation, host: Host) {
    let decoded = num::Mode::decode(mode, generation);
    let quick = float::find::<4>(op, &decoded, host).unwrap();
    let exact = float::find_exact::<4>(op).unwrap();
    for _ in 0..ROUNDS {
        let mut wave = wave(source, mode);
        let (before, scalars_before) = (wave.v.clone(), wave.s.clone());
        run(&mut wave, quick, 0, generation);
        let (found, scalars) = ([wave.v[8], wave.v[9]], wave.s.clone());
        wave.v.clone_from(&before);
        wave.s.copy_from_slice(&scalars_before);
        run(&mut wave, exact, 0, generation);
        assert_eq!(scalars, wave.s, "{op:?} in mode {mode:#x} of {generation:?}: a lane mask");
        for (number, found) in found.iter().enumerate() {
            for lane in 0..32 {
                let value = |register: usize| before[register].lane(lane);
                assert_eq!(
                    found.lane(lane),
                    wave.v[8 + number].lane(lane),
                    "{op:?} in mode {mode:#x} of {generation:?}, word {number}: {:x} {:x}, {:x} {:x}, {:x} {:x}",
                    value(0),
                    value(1),
                    value(2),
                    value(3),
                    value(4),
                    value(5),
                );
            }
        }
    }
}

#[test]
fn the_host_gives_what_num_gives() {
    let mut source = Source(0x1234_5678_9abc_def1);
    for op in QUICK_OPERATIONS.iter().chain(&[Op::VDivScaleF32, Op::VDivFmasF32]) {
        for mode in MODES {
            for generation in [Generation::Gfx942, Generation::Gfx11, Generation::Gfx12] {
                check(*op, &mut source, mode, generation, Host::detect());
            }
            for host in Host::all() {
                check(*op, &mut source, mode, Generation::Gfx11, host);
            }
        }
    }
}

/// Steps of a division, on operands that seldom have to be scaled.
#[test]
fn divisions_on_the_host_are_those_of_num() {
    let mut source = Source(0x0dd0_5eed_0dd0_5eed);
    for op in [Op::VDivScaleF32, Op::VDivFmasF32, Op::VDivFixupF32, Op::VLdexpF32] {
        for mode in MODES {
            let decoded = num::Mode::decode(mode, Generation::Gfx942);
            let quick = float::find::<4>(op, &decoded, Host::detect()).unwrap();
            let exact = float::find_exact::<4>(op).unwrap();
            for round in 0..2000 {
                let mut wave = wave(&mut source, mode);
                // Exponents around one edge after the other, in one lane beyond it now and then.
                let edges = [1, 24, 31, 126, 222, 252, 253, 254];
                let mut number = |at: usize, spread: u64| {
                    let field = edges[at % 8] + (source.next() % (spread + 1)).cast_signed();
                    let field = (field - spread.cast_signed() / 2).clamp(0, 255);
                    source.next() as u32 & 0x807f_ffff | (field.cast_unsigned() as u32) << 23
                };
                for register in [0, 2, 4] {
                    for lane in 0..32 {
                        let spread = if round % 2 == 0 { 2 } else { 100 };
                        wave.v[register]
                            .set_lane(lane, number(round / 2 + register * (round / 16), spread));
                    }
                }
                // v_div_scale scales one of the others.
                for lane in 0..32 {
                    let (value, chosen) =
                        (wave.v[0].lane(lane), 2 + source.next() as usize % 2 * 2);
                    let other = wave.v[chosen].lane(lane);
                    let is_scale = op == Op::VDivScaleF32 && !source.next().is_multiple_of(16);
                    wave.v[0].set_lane(lane, if is_scale { other } else { value });
                    if source.next().is_multiple_of(16) {
                        wave.v[chosen].set_lane(lane, source.next() as u32 & 0x8000_0000);
                    }
                }
                if op == Op::VLdexpF32 {
                    for lane in 0..32 {
                        let power = (source.next() % 64).cast_signed() as i32 - 32;
                        wave.v[2].set_lane(lane, power.cast_unsigned());
                    }
                }
                if round % 3 != 0 {
                    wave.set_pair(scalar::VCC, 0);
                }
                let (before, scalars_before) = (wave.v.clone(), wave.s.clone());
                run(&mut wave, quick, 0, Generation::Gfx942);
                let (found, scalars) = (wave.v[8], wave.s.clone());
                wave.v.clone_from(&before);
                wave.s.copy_from_slice(&scalars_before);
                run(&mut wave, exact, 0, Generation::Gfx942);
                assert_eq!(
                    (found, scalars),
                    (wave.v[8], wave.s.clone()),
                    "{op:?} in mode {mode:#x}"
                );
            }
        }
    }
}

fn compared(relation: Relation, width: u32, [a, b]: [u64; 2], mode: &num::Mode) -> bool {
    match width {
        16 => num::compare::<F16>(relation, a as u16, b as u16, mode.env::<F16>()),
        32 => num::compare::<F32>(relation, a as u32, b as u32, mode.env::<F32>()),
        _ => num::compare::<F64>(relation, a, b, mode.env::<F64>()),
    }
}

#[test]
fn comparisons_on_the_host_are_those_of_num() {
    let mut source = Source(0xfedc_ba98_7654_3211);
    for (op, relation, width) in compare::FLOATS {
        for mode in MODES {
            let decoded = num::Mode::decode(mode, Generation::Gfx11);
            let (handler, k) = compare::find::<4>(*op, &decoded, Host::detect()).unwrap();
            for _ in 0..20 {
                let mut wave = wave(&mut source, mode);
                for lane in (0..32).step_by(3) {
                    let [low, high] = [0, 1].map(|at| wave.v[at].lane(lane));
                    wave.v[2].set_lane(lane, low ^ if lane & 1 == 0 { 0x8000_8000 } else { 0 });
                    wave.v[3].set_lane(lane, high);
                }
                let pair = |at: usize, lane| {
                    u64::from(wave.v[at].lane(lane)) | u64::from(wave.v[at + 1].lane(lane)) << 32
                };
                let wanted = (0..32)
                    .filter(|lane| wave.active >> lane & 1 == 1)
                    .filter(|lane| {
                        compared(*relation, *width, [0, 2].map(|at| pair(at, *lane)), &decoded)
                    })
                    .fold(0, |mask, lane| mask | 1_u32 << lane);
                run(&mut wave, handler, k, Generation::Gfx11);
                assert_eq!(wave.s[8], wanted, "{op:?} in mode {mode:#x}");
            }
        }
    }
}

/// Series in double precision against what is correctly rounded, over all of their operands.
#[test]
fn series_are_correctly_rounded() {
    for op in [Op::VExpF32, Op::VLogF32, Op::VRsqF32] {
        let mode = num::Mode::decode(0x3f0, Generation::Gfx942);
        let quick = float::find::<4>(op, &mode, Host::detect()).unwrap();
        let exact = float::find_exact::<4>(op).unwrap();
        let mut source = Source(0x2026);
        for first in (0..u32::MAX).step_by(32 * 4099) {
            let mut wave = wave(&mut source, 0x3f0);
            for lane in 0..32 {
                wave.v[0].set_lane(lane as usize, first.wrapping_add(lane * 4099));
            }
            let before = wave.v.clone();
            run(&mut wave, quick, 0, Generation::Gfx942);
            let found = wave.v[8];
            wave.v.clone_from(&before);
            run(&mut wave, exact, 0, Generation::Gfx942);
            assert_eq!(found, wave.v[8], "{op:?} from {first:#x} on");
        }
    }
}
