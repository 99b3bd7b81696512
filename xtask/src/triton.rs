//! `cargo xtask triton`: the Triton kernels of the corpus on the emulator, against what they should compute.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::indexing_slicing,
    reason = "a developer's tool, whose numbers are small and its own"
)]

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use hsaco::emu::{self, Device, Dispatch, Limits};
use hsaco::isa::target::Generation;
use hsaco::kernarg::Launch;
use hsaco::load::{Executable, Freeze};
use hsaco_tests::corpus_dir;

use crate::args::Args;

const TARGETS: &str = "gfx90a,gfx942,gfx950,gfx1100,gfx1151,gfx1201,gfx1250";
/// Waves of a workgroup, as Triton has it unless told otherwise.
const WAVES: u32 = 4;
/// The compiler says elsewhere how much LDS a kernel needs; this is enough.
const LDS: u32 = 64 << 10;

/// Numbers that look random, from -1 to 1.
struct Random(u64);

impl Random {
    fn word(&mut self) -> u32 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32
    }

    fn float(&mut self) -> f32 {
        (self.word() % 20_001) as f32 / 10_000.0 - 1.0
    }

    fn floats(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.float()).collect()
    }
}

/// What a kernel is given, in order.
enum Given {
    Words(Vec<u32>),
    Halves(Vec<u16>),
    Number(u32),
}

/// One launch, and how its result is judged.
struct Case {
    kernel: &'static str,
    grid: [u32; 2],
    given: Vec<Given>,
    /// Which of those is the result, and what it should be; whether in halves, and how far off it may be.
    result: usize,
    wanted: Vec<f64>,
    in_halves: bool,
    is_integer: bool,
    tolerance: f64,
}

pub(crate) fn run(mut args: Args) -> Result<()> {
    let targets: String = args.option("--targets")?.unwrap_or_else(|| TARGETS.to_owned());
    let kernels: Option<String> = args.option("--kernels")?;
    args.finish()?;
    let folder = corpus_dir().join("triton");
    ensure!(folder.is_dir(), "there are no Triton kernels: run `cargo xtask corpus`");
    let (mut passed, mut failed) = (0, 0);
    for target in targets.split(',') {
        for case in cases() {
            if kernels.as_ref().is_some_and(|it| !it.split(',').any(|name| name == case.kernel)) {
                continue;
            }
            let path = folder.join(format!("{}.{target}.co", case.kernel));
            match case.run(&path) {
                Ok(worst) => {
                    println!("{target} {}: off by {worst:.2e} at most", case.kernel);
                    passed += 1;
                }
                Err(error) => {
                    println!("{target} {}: {error:#}", case.kernel);
                    failed += 1;
                }
            }
        }
    }
    println!("{passed} passed, {failed} failed");
    ensure!(failed == 0, "{failed} kernels do not compute what they should");
    Ok(())
}

/// The half nearest to a number that one is close to.
fn half(value: f32) -> u16 {
    let bits = value.to_bits();
    let (sign, exponent) = ((bits >> 16) as u16 & 0x8000, (bits >> 23 & 0xff) as i32 - 112);
    if exponent <= 0 {
        return sign;
    }
    let rounded = (bits & 0x7f_ffff) + 0x1000;
    sign | (((exponent as u32) << 10) + (rounded >> 13)) as u16
}

fn of_half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 0x3ff));
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    match exponent {
        0 => sign * fraction * 2.0_f64.powi(-24),
        31 => sign * f64::INFINITY,
        _ => sign * (1.0 + fraction / 1024.0) * 2.0_f64.powi(exponent - 15),
    }
}

fn words(values: &[f32]) -> Given {
    Given::Words(values.iter().map(|it| it.to_bits()).collect())
}

fn halves(values: &[f32]) -> (Given, Vec<f64>) {
    let halves: Vec<u16> = values.iter().map(|it| half(*it)).collect();
    let exact = halves.iter().map(|it| of_half(*it)).collect();
    (Given::Halves(halves), exact)
}

fn cases() -> Vec<Case> {
    let mut random = Random(1);
    vec![
        add(&mut random),
        softmax(&mut random),
        layer_norm(&mut random),
        matmul(&mut random, true),
        matmul(&mut random, false),
        attention(&mut random),
        histogram(&mut random),
        scan(&mut random),
    ]
}

fn add(random: &mut Random) -> Case {
    const COUNT: usize = 2500;
    let (x, y) = (random.floats(COUNT), random.floats(COUNT));
    let wanted = x.iter().zip(&y).map(|(x, y)| f64::from(x + y)).collect();
    Case {
        kernel: "add",
        grid: [3, 1],
        given: vec![
            words(&x),
            words(&y),
            Given::Words(vec![0; COUNT]),
            Given::Number(COUNT as u32),
        ],
        result: 2,
        wanted,
        in_halves: false,
        is_integer: false,
        tolerance: 0.0,
    }
}

fn softmax(random: &mut Random) -> Case {
    const ROWS: usize = 3;
    const COLUMNS: usize = 781;
    let x: Vec<f32> = random.floats(ROWS * COLUMNS).iter().map(|it| it * 5.0).collect();
    let mut wanted = Vec::new();
    for row in x.chunks(COLUMNS) {
        let most = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let powers: Vec<f64> = row.iter().map(|it| f64::from(it - most).exp()).collect();
        let sum: f64 = powers.iter().sum();
        wanted.extend(powers.iter().map(|it| it / sum));
    }
    Case {
        kernel: "softmax",
        grid: [ROWS as u32, 1],
        given: vec![
            words(&x),
            Given::Words(vec![0; ROWS * COLUMNS]),
            Given::Number(COLUMNS as u32),
        ],
        result: 1,
        wanted,
        in_halves: false,
        is_integer: false,
        tolerance: 1e-6,
    }
}

fn layer_norm(random: &mut Random) -> Case {
    const ROWS: usize = 3;
    const COLUMNS: usize = 777;
    let (x, exact) = halves(&random.floats(ROWS * COLUMNS));
    let (weight, bias) = (random.floats(COLUMNS), random.floats(COLUMNS));
    let mut wanted = Vec::new();
    for row in exact.chunks(COLUMNS) {
        let mean = row.iter().sum::<f64>() / COLUMNS as f64;
        let variance = row.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / COLUMNS as f64;
        let scale = 1.0 / (variance + 1e-5).sqrt();
        for ((it, weight), bias) in row.iter().zip(&weight).zip(&bias) {
            wanted.push((it - mean) * scale * f64::from(*weight) + f64::from(*bias));
        }
    }
    Case {
        kernel: "layer_norm",
        grid: [ROWS as u32, 1],
        given: vec![
            x,
            words(&weight),
            words(&bias),
            Given::Halves(vec![0; ROWS * COLUMNS]),
            Given::Number(COLUMNS as u32),
            Given::Number(1e-5_f32.to_bits()),
        ],
        result: 3,
        wanted,
        in_halves: true,
        is_integer: false,
        tolerance: 3e-3,
    }
}

/// With small integers, which no rounding touches, or with any numbers.
fn matmul(random: &mut Random, with_integers: bool) -> Case {
    const SIZES: [usize; 3] = [128, 64, 96];
    let [m, n, k] = SIZES;
    let mut numbers = |count: usize| -> Vec<f32> {
        let number = |random: &mut Random| match with_integers {
            true => (random.word() % 9) as f32 - 4.0,
            false => random.float(),
        };
        (0..count).map(|_| number(random)).collect()
    };
    let (a, left) = halves(&numbers(m * k));
    let (b, right) = halves(&numbers(k * n));
    let mut wanted = Vec::new();
    for row in 0..m {
        for column in 0..n {
            wanted.push((0..k).map(|at| left[row * k + at] * right[at * n + column]).sum());
        }
    }
    Case {
        kernel: "matmul",
        grid: [(m / 64) as u32, (n / 64) as u32],
        given: vec![
            a,
            b,
            Given::Words(vec![0; m * n]),
            Given::Number(m as u32),
            Given::Number(n as u32),
            Given::Number(k as u32),
        ],
        result: 2,
        wanted,
        in_halves: false,
        is_integer: false,
        tolerance: if with_integers { 0.0 } else { 1e-4 },
    }
}

fn attention(random: &mut Random) -> Case {
    const LENGTH: usize = 128;
    const WIDTH: usize = 64;
    let scale = 0.125_f32;
    let (q, query) = halves(&random.floats(LENGTH * WIDTH));
    let (k, key) = halves(&random.floats(LENGTH * WIDTH));
    let (v, value) = halves(&random.floats(LENGTH * WIDTH));
    let mut wanted = Vec::new();
    for row in query.chunks(WIDTH) {
        let score = |key: &[f64]| -> f64 {
            row.iter().zip(key).map(|(a, b)| a * b).sum::<f64>() * f64::from(scale)
        };
        let powers: Vec<f64> = key.chunks(WIDTH).map(|key| score(key).exp()).collect();
        let sum: f64 = powers.iter().sum();
        for lane in 0..WIDTH {
            let weighted =
                powers.iter().zip(value.chunks(WIDTH)).map(|(power, value)| power * value[lane]);
            wanted.push(weighted.sum::<f64>() / sum);
        }
    }
    Case {
        kernel: "attention",
        grid: [(LENGTH / 64) as u32, 1],
        given: vec![
            q,
            k,
            v,
            Given::Halves(vec![0; LENGTH * WIDTH]),
            Given::Number(LENGTH as u32),
            Given::Number(scale.to_bits()),
        ],
        result: 3,
        wanted,
        in_halves: true,
        is_integer: false,
        tolerance: 2e-3,
    }
}

fn histogram(random: &mut Random) -> Case {
    const COUNT: usize = 1300;
    let x: Vec<u32> = (0..COUNT).map(|_| random.word()).collect();
    let mut wanted = vec![0.0; 256];
    for it in &x {
        wanted[*it as usize & 255] += 1.0;
    }
    Case {
        kernel: "histogram",
        grid: [3, 1],
        given: vec![Given::Words(x), Given::Words(vec![0; 256]), Given::Number(COUNT as u32)],
        result: 1,
        wanted,
        in_halves: false,
        is_integer: true,
        tolerance: 0.0,
    }
}

fn scan(random: &mut Random) -> Case {
    const COUNT: usize = 256;
    let x: Vec<u32> = (0..COUNT).map(|_| random.word() % 1000).collect();
    let mut sorted = x.clone();
    sorted.sort_unstable();
    let mut sum = 0;
    let wanted = sorted.iter().map(|it| {
        sum += it;
        f64::from(sum)
    });
    Case {
        kernel: "scan",
        grid: [1, 1],
        wanted: wanted.collect(),
        given: vec![Given::Words(x), Given::Words(vec![0; COUNT]), Given::Number(COUNT as u32)],
        result: 1,
        in_halves: false,
        is_integer: true,
        tolerance: 0.0,
    }
}

impl Case {
    /// Runs it; how far the worst result is off.
    fn run(&self, path: &Path) -> Result<f64> {
        let mut executable = Executable::new(None);
        executable
            .load("kernel.co", fs::read(path).with_context(|| path.display().to_string())?)?;
        let freeze = Freeze { base: 0x7d00_0000_0000, ..Freeze::default() };
        if let Err(errors) = executable.freeze(freeze) {
            bail!("{errors:?}");
        }
        let target = executable.target().context("no target")?;
        let lanes = if target.processor.generation() < Generation::Gfx10 { 64 } else { 32 };
        let mut device = Device::new(target, 1 << 30);
        device.load(&executable)?;
        let (kernarg, result) = self.arguments(&mut device)?;
        let [x, y] = self.grid;
        let items = WAVES * lanes;
        let launch = Launch::new(&[x * items, y], &[items, 1])?.with_dynamic_lds(LDS);
        let launch = emu::with_apertures(launch)?;
        let limits = Limits { instructions: 500_000_000, ..Limits::default() };
        Dispatch::new(&mut device, &executable, self.kernel, launch, &kernarg)?
            .with_limits(limits)
            .run()?;
        self.judge(&device, result)
    }

    fn arguments(&self, device: &mut Device) -> Result<(Vec<u8>, u64)> {
        let mut kernarg = Vec::new();
        let mut result = 0;
        for (number, given) in self.given.iter().enumerate() {
            let bytes: Vec<u8> = match given {
                Given::Number(value) => {
                    kernarg.extend(value.to_le_bytes());
                    continue;
                }
                Given::Words(words) => words.iter().flat_map(|it| it.to_le_bytes()).collect(),
                Given::Halves(halves) => halves.iter().flat_map(|it| it.to_le_bytes()).collect(),
            };
            let address = device.memory.allocate(bytes.len() as u64)?;
            device.memory.write(address, &bytes)?;
            kernarg.resize(kernarg.len().next_multiple_of(8), 0);
            kernarg.extend(address.to_le_bytes());
            if number == self.result {
                result = address;
            }
        }
        // Memory for the kernel's own use, which these have none of.
        kernarg.resize(kernarg.len().next_multiple_of(8) + 64, 0);
        Ok((kernarg, result))
    }

    fn judge(&self, device: &Device, result: u64) -> Result<f64> {
        let size = if self.in_halves { 2 } else { 4 };
        let bytes = device.memory.read(result, self.wanted.len() * size)?;
        let mut worst: f64 = 0.0;
        for (at, (chunk, wanted)) in bytes.chunks(size).zip(&self.wanted).enumerate() {
            let got = match *chunk {
                [a, b] => of_half(u16::from_le_bytes([a, b])),
                [a, b, c, d] if self.is_integer => f64::from(u32::from_le_bytes([a, b, c, d])),
                [a, b, c, d] => f64::from(f32::from_le_bytes([a, b, c, d])),
                _ => bail!("half an element"),
            };
            let off = (got - wanted).abs();
            ensure!(off <= self.tolerance, "element {at} is {got}, and should be {wanted}");
            worst = worst.max(off);
        }
        Ok(worst)
    }
}
