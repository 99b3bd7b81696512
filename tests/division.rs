//! Divisions and square roots as clang makes them of v_rcp, v_div_scale, v_div_fmas, v_div_fixup and v_sqrt: rounded as the host's are.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a test fails by panicking"
)]

use std::fs;

use hsaco::emu::{self, Device, Dispatch};
use hsaco::kernarg::Launch;
use hsaco::load::{Executable, Freeze};
use hsaco_tests::program::sh;
use hsaco_tests::random::Random;
use hsaco_tests::scratch_dir;

const TARGETS: [&str; 8] =
    ["gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1151", "gfx1201", "gfx1250"];
const ITEMS: usize = 4096;
const SOURCE: &str = "
__attribute__((amdgpu_kernel)) void run(float *f, double *d) {
  unsigned i = __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x();
  f[4 * i + 2] = f[4 * i] / f[4 * i + 1];
  f[4 * i + 3] = __builtin_sqrtf(f[4 * i]);
  d[4 * i + 2] = d[4 * i] / d[4 * i + 1];
  d[4 * i + 3] = __builtin_sqrt(d[4 * i]);
}";

/// A number of a format with so many bits of mantissa: any, near one, denormal, near either end, or special.
fn number(random: &mut Random, width: u32, mantissa: u32) -> u64 {
    let bits = random.bits() >> (64 - width);
    let (sign, fraction) = (bits & 1 << (width - 1), bits & ((1 << mantissa) - 1));
    let infinite = (1 << (width - 1 - mantissa)) - 1;
    let near = random.below(3) as u64;
    let exponent = match random.below(6) {
        0 => infinite / 2 + near,
        1 => 0,
        2 => near,
        3 => infinite - 1 - near,
        4 => return sign | random.pick(&[0, 1, 1 << mantissa, infinite << mantissa]),
        _ => return bits,
    };
    sign | exponent << mantissa | fraction
}

/// What the kernel leaves in its two buffers.
fn run(object: Vec<u8>, buffers: [&[u8]; 2]) -> [Vec<u8>; 2] {
    let mut executable = Executable::new(None);
    executable.load("division.co", object).unwrap();
    executable.freeze(Freeze { base: 0x7d00_0000_0000, ..Freeze::default() }).unwrap();
    let mut device = Device::new(executable.target().unwrap(), 1 << 28);
    device.load(&executable).unwrap();
    let addresses = buffers.map(|bytes| {
        let address = device.memory.allocate(bytes.len() as u64).unwrap();
        device.memory.write(address, bytes).unwrap();
        address
    });
    let mut kernarg = addresses.map(u64::to_le_bytes).concat();
    kernarg.resize(512, 0);
    let launch = emu::with_apertures(Launch::new(&[ITEMS as u32], &[256]).unwrap()).unwrap();
    Dispatch::new(&mut device, &executable, "run", launch, &kernarg).unwrap().run().unwrap();
    let sizes = buffers.map(<[u8]>::len);
    [0, 1].map(|it| device.memory.read(addresses[it], sizes[it]).unwrap())
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn quotients_and_roots_are_the_hosts() {
    let mut random = Random::new(5);
    let singles: Vec<f32> =
        (0..4 * ITEMS).map(|_| f32::from_bits(number(&mut random, 32, 23) as u32)).collect();
    let doubles: Vec<f64> =
        (0..4 * ITEMS).map(|_| f64::from_bits(number(&mut random, 64, 52))).collect();
    let [f, d] = [
        singles.iter().flat_map(|it| it.to_le_bytes()).collect::<Vec<u8>>(),
        doubles.iter().flat_map(|it| it.to_le_bytes()).collect(),
    ];
    let folder = scratch_dir();
    fs::write(folder.path().join("division.c"), SOURCE).unwrap();
    for target in TARGETS {
        let flags = format!("--target=amdgcn-amd-amdhsa -mcpu={target} -nogpulib -O2");
        let clang = "clang-22 -ffreestanding -fno-math-errno";
        sh(folder.path(), &format!("{clang} {flags} division.c -o division.co"));
        let object = fs::read(folder.path().join("division.co")).unwrap();
        let [found_f, found_d] = run(object, [&f, &d]);
        for (item, found) in found_f.chunks_exact(16).enumerate() {
            let [a, b] = [singles[4 * item], singles[4 * item + 1]];
            let found =
                [2, 3].map(|it| f32::from_le_bytes(found[4 * it..][..4].try_into().unwrap()));
            let same = |x: f32, y: f32| x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan();
            assert!(same(found[0], a / b), "{target}: {a:e} / {b:e} is {:e}", found[0]);
            assert!(same(found[1], a.sqrt()), "{target}: the root of {a:e} is {:e}", found[1]);
        }
        for (item, found) in found_d.chunks_exact(32).enumerate() {
            let [a, b] = [doubles[4 * item], doubles[4 * item + 1]];
            let found =
                [2, 3].map(|it| f64::from_le_bytes(found[8 * it..][..8].try_into().unwrap()));
            let same = |x: f64, y: f64| x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan();
            assert!(same(found[0], a / b), "{target}: {a:e} / {b:e} is {:e}", found[0]);
            assert!(same(found[1], a.sqrt()), "{target}: the root of {a:e} is {:e}", found[1]);
        }
    }
}
