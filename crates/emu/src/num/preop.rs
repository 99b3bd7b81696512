//! v_trig_preop_f64: a piece of 2/pi, for reducing large angles.

use super::F64;
use super::float::{Exact, round};
use super::{Env, Format};

/// The first 1,201 bits of 2/pi behind the point, from the top, zeros behind them.
const TWO_OVER_PI: [u64; 20] = [
    0xa2f9_836e_4e44_1529,
    0xfc27_57d1_f534_ddc0,
    0xdb62_9599_3c43_9041,
    0xfe51_63ab_debb_c561,
    0xb724_6e3a_424d_d2e0,
    0x0649_2eea_09d1_921c,
    0xfe1d_eb1c_b129_a73e,
    0xe882_35f5_2ebb_4484,
    0xe99c_7026_b45f_7e41,
    0x3991_d639_8353_39f4,
    0x9c84_5f8b_bdf9_283b,
    0x1ff8_97ff_de05_980f,
    0xef2f_118b_5a0a_6d1f,
    0x6d36_7ecf_27cb_09b7,
    0x4f46_3f66_9e5f_ea2d,
    0x7527_bac7_ebe5_f17b,
    0x3d07_39f7_8a52_92ea,
    0x6bfb_5fb1_1f8d_5d08,
    0x5603_3046_fc7b_0000,
    0x0000_0000_0000_0000,
];

/// 53 bits of 2/pi for the exponent of `a`, those that segment `index` of its product needs.
///
/// ```
/// use hsaco_emu::num::trig_preop;
/// let first = f64::from_bits(trig_preop(1f64.to_bits(), 0));
/// assert!((first - std::f64::consts::FRAC_2_PI).abs() < 1e-15);
/// ```
pub fn trig_preop(a: u64, index: u32) -> u64 {
    let exponent = (a >> F64::MANTISSA & 0x7ff) as i32;
    let shift = 53 * (index & 31) as i32 + (exponent - 1077).max(0);
    let scale = if exponent >= 1968 { 128 } else { 0 };
    let word = |index: i32| {
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        u128::from(TWO_OVER_PI.get(index).copied().unwrap_or(0))
    };
    let pair = word(shift / 64) << 64 | word(shift / 64 + 1);
    let bits = pair << (shift % 64) >> (128 - 53);
    let exact = Exact { negative: false, significand: bits, exponent: scale - 53 - shift };
    round::<F64>(exact, Env::IEEE)
}
