//! Vector operations on integers and bits, as AMD's manuals define them.
//!
//! An operation computes on exact numbers; what is written is the lowest bits of the result, or with `clamp` the nearest
//! number that the type has.

/// What an operation may know besides its sources.
#[derive(Clone, Copy)]
pub(super) struct Env {
    pub(super) lane: usize,
    /// The signs of sources, where they say which are signed.
    pub(super) signed: [bool; 2],
    /// A table of eight bits that is part of the instruction.
    pub(super) table: u8,
}

pub(super) type Function = fn(Env, [i128; 3]) -> i128;

/// Name, result, sources, function. A result `co` also writes a carry: the bit above the first result's.
pub(super) type Row = (&'static str, &'static str, &'static str, Function);

/// Looks an operation up.
pub(super) fn find(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.0 == name)
}

/// The lowest bits of a number.
fn low(number: i128, bits: u32) -> i128 {
    number & ((1 << bits) - 1)
}

/// A sum that stays in the range of 32 bits.
fn signed_sum(sum: i128) -> i128 {
    sum.clamp(-0x8000_0000, 0x7fff_ffff)
}

/// The lowest bits of a number, with their sign.
fn signed(number: i128, bits: u32) -> i128 {
    let number = low(number, bits);
    if number >> (bits - 1) == 1 { number - (1 << bits) } else { number }
}

/// Bits from one place, so many.
fn field(number: i128, at: u32, bits: u32) -> i128 {
    low(number >> at, bits)
}

fn lowest_one(number: i128, bits: u32) -> i128 {
    (0..bits).find(|bit| number >> bit & 1 == 1).map_or(-1, i128::from)
}

fn leading_zeros(number: i128, bits: u32) -> i128 {
    (0..bits).find(|bit| number >> (bits - 1 - bit) & 1 == 1).map_or(-1, i128::from)
}

/// How many bits from the top are like the first.
fn leading_signs(number: i128, bits: u32) -> i128 {
    let bit = |at: u32| number >> at & 1;
    (1..bits).find(|at| bit(bits - 1 - at) != bit(bits - 1)).map_or(-1, i128::from)
}

fn reversed(number: i128, bits: u32) -> i128 {
    (0..bits).map(|bit| (number >> bit & 1) << (bits - 1 - bit)).sum()
}

fn ones(number: i128, bits: u32) -> i128 {
    (0..bits).map(|bit| number >> bit & 1).sum()
}

fn extracted(number: i128, at: i128, width: i128, is_signed: bool) -> i128 {
    let width = low(width, 5) as u32;
    if width == 0 {
        return 0;
    }
    let shifted = number >> low(at, 5);
    if is_signed { signed(shifted, width) } else { low(shifted, width) }
}

fn median(a: i128, b: i128, c: i128) -> i128 {
    let mut all = [a, b, c];
    all.sort_unstable();
    all[1]
}

/// Sum of absolute differences of bytes, and the third source; `masked`: bytes that are zero in the second do not count.
fn sad(a: i128, b: i128, c: i128, masked: bool) -> i128 {
    let differences = (0..4).map(|byte| {
        let (a, b) = (field(a, byte * 8, 8), field(b, byte * 8, 8));
        if masked && b == 0 { 0 } else { (a - b).abs() }
    });
    c + differences.sum::<i128>()
}

/// Four sums at successive bytes of the first source, of which each has so many bits.
fn quad_sad(a: i128, b: i128, c: i128, masked: bool) -> i128 {
    let sum = |at: u32| {
        let part = sad(field(a, at * 8, 32), b, field(c, at * 16, 16), masked);
        low(part, 16) << (at * 16)
    };
    (0..4).map(sum).sum()
}

fn dot(env: Env, sources: [i128; 3], bits: u32) -> i128 {
    let [a, b, c] = sources;
    let part = |number: i128, at: u32, is_signed: bool| {
        let part = field(number, at * bits, bits);
        if is_signed { signed(part, bits) } else { part }
    };
    let products = (0..32 / bits).map(|at| part(a, at, env.signed[0]) * part(b, at, env.signed[1]));
    c + products.sum::<i128>()
}

fn signed_dot(sources: [i128; 3], bits: u32) -> i128 {
    dot(Env { lane: 0, signed: [true; 2], table: 0 }, sources, bits)
}

fn unsigned_dot(sources: [i128; 3], bits: u32) -> i128 {
    dot(Env { lane: 0, signed: [false; 2], table: 0 }, sources, bits)
}

fn permuted_byte(data: i128, select: i128) -> i128 {
    let byte = |at: i128| data >> (at * 8) & 0xff;
    match select {
        0..=7 => byte(select),
        8..=11 => (byte((select - 8) * 2 + 1) >> 7) * 0xff,
        12 => 0,
        _ => 0xff,
    }
}

fn average(a: i128, b: i128, c: i128) -> i128 {
    let byte = |at: u32| {
        let sum = field(a, at, 8) + field(b, at, 8) + field(c, at, 1);
        (sum >> 1) << at
    };
    byte(0) + byte(8) + byte(16) + byte(24)
}

/// Any function of three bits, for every bit: the table's bit number is made of the sources' bits.
fn bitop3(env: Env, [a, b, c]: [i128; 3], bits: u32) -> i128 {
    let of = |bit: u32| {
        let index = (a >> bit & 1) << 2 | (b >> bit & 1) << 1 | c >> bit & 1;
        (i128::from(env.table) >> index & 1) << bit
    };
    (0..bits).map(of).sum()
}

fn counted(mask: i128, env: Env, first_lane: usize) -> i128 {
    (0..32).filter(|bit| first_lane + bit < env.lane && mask >> bit & 1 == 1).count() as i128
}

fn two(low_half: i128, high_half: i128) -> i128 {
    low(low_half, 16) | low(high_half, 16) << 16
}

const ROWS: &[Row] = &[
    ("v_mov_b32", "b32", "b32", |_, [a, ..]| a),
    ("v_mov_b16", "b16", "b16", |_, [a, ..]| a),
    ("v_mov_b64", "b64", "b64", |_, [a, ..]| a),
    ("v_not_b32", "b32", "b32", |_, [a, ..]| !a),
    ("v_not_b16", "b16", "b16", |_, [a, ..]| !a),
    ("v_bfrev_b32", "b32", "b32", |_, [a, ..]| reversed(a, 32)),
    ("v_ffbh_u32", "u32", "u32", |_, [a, ..]| leading_zeros(a, 32)),
    ("v_clz_i32_u32", "u32", "u32", |_, [a, ..]| leading_zeros(a, 32)),
    ("v_ffbl_b32", "u32", "u32", |_, [a, ..]| lowest_one(a, 32)),
    ("v_ctz_i32_b32", "u32", "u32", |_, [a, ..]| lowest_one(a, 32)),
    ("v_ffbh_i32", "u32", "u32", |_, [a, ..]| leading_signs(a, 32)),
    ("v_cls_i32", "u32", "u32", |_, [a, ..]| leading_signs(a, 32)),
    ("v_cvt_i32_i16", "i32", "i16", |_, [a, ..]| a),
    ("v_cvt_u32_u16", "u32", "u16", |_, [a, ..]| a),
    ("v_prng_b32", "u32", "u32", |_, [a, ..]| (a << 1) ^ if a >> 31 & 1 == 1 { 197 } else { 0 }),
    ("v_sat_pk_u8_i16", "b16", "u32", |_, [a, ..]| {
        signed(a, 16).clamp(0, 255) | signed(a >> 16, 16).clamp(0, 255) << 8
    }),
    ("v_add_u32", "u32", "u32 u32", |_, [a, b, _]| a + b),
    ("v_add_nc_u32", "u32", "u32 u32", |_, [a, b, _]| a + b),
    ("v_sub_u32", "u32", "u32 u32", |_, [a, b, _]| a - b),
    ("v_sub_nc_u32", "u32", "u32 u32", |_, [a, b, _]| a - b),
    ("v_subrev_u32", "u32", "u32 u32", |_, [a, b, _]| b - a),
    ("v_subrev_nc_u32", "u32", "u32 u32", |_, [a, b, _]| b - a),
    ("v_add_nc_u64", "u64", "u64 u64", |_, [a, b, _]| a + b),
    ("v_sub_nc_u64", "u64", "u64 u64", |_, [a, b, _]| a - b),
    ("v_mul_u64", "u64", "u64 u64", |_, [a, b, _]| low(a.wrapping_mul(b), 64)),
    ("v_add_i32", "i32", "i32 i32", |_, [a, b, _]| a + b),
    ("v_add_nc_i32", "i32", "i32 i32", |_, [a, b, _]| a + b),
    ("v_sub_i32", "i32", "i32 i32", |_, [a, b, _]| a - b),
    ("v_sub_nc_i32", "i32", "i32 i32", |_, [a, b, _]| a - b),
    ("v_add_i16", "i16", "i16 i16", |_, [a, b, _]| a + b),
    ("v_add_nc_i16", "i16", "i16 i16", |_, [a, b, _]| a + b),
    ("v_sub_i16", "i16", "i16 i16", |_, [a, b, _]| a - b),
    ("v_sub_nc_i16", "i16", "i16 i16", |_, [a, b, _]| a - b),
    ("v_add_u16", "u16", "u16 u16", |_, [a, b, _]| a + b),
    ("v_add_nc_u16", "u16", "u16 u16", |_, [a, b, _]| a + b),
    ("v_sub_u16", "u16", "u16 u16", |_, [a, b, _]| a - b),
    ("v_sub_nc_u16", "u16", "u16 u16", |_, [a, b, _]| a - b),
    ("v_subrev_u16", "u16", "u16 u16", |_, [a, b, _]| b - a),
    ("v_mul_lo_u16", "u16", "u16 u16", |_, [a, b, _]| a * b),
    ("v_mad_u16", "u16", "u16 u16 u16", |_, [a, b, c]| a * b + c),
    ("v_mad_i16", "i16", "i16 i16 i16", |_, [a, b, c]| a * b + c),
    ("v_mad_legacy_u16", "u16", "u16 u16 u16", |_, [a, b, c]| a * b + c),
    ("v_mad_legacy_i16", "i16", "i16 i16 i16", |_, [a, b, c]| a * b + c),
    ("v_mad_u32_u16", "u32", "u16 u16 u32", |_, [a, b, c]| a * b + c),
    ("v_mad_i32_i16", "i32", "i16 i16 i32", |_, [a, b, c]| a * b + c),
    ("v_mad_u32", "u32", "u32 u32 u32", |_, [a, b, c]| a * b + c),
    ("v_mul_u32_u24", "u32", "u32 u32", |_, [a, b, _]| low(a, 24) * low(b, 24)),
    ("v_mul_i32_i24", "i32", "i32 i32", |_, [a, b, _]| signed(a, 24) * signed(b, 24)),
    ("v_mul_hi_u32_u24", "u32", "u32 u32", |_, [a, b, _]| (low(a, 24) * low(b, 24)) >> 32),
    ("v_mul_hi_i32_i24", "i32", "i32 i32", |_, [a, b, _]| (signed(a, 24) * signed(b, 24)) >> 32),
    ("v_mad_u32_u24", "u32", "u32 u32 u32", |_, [a, b, c]| low(a, 24) * low(b, 24) + c),
    ("v_mad_i32_i24", "i32", "i32 i32 i32", |_, [a, b, c]| signed(a, 24) * signed(b, 24) + c),
    ("v_mul_lo_u32", "u32", "u32 u32", |_, [a, b, _]| a * b),
    ("v_mul_hi_u32", "u32", "u32 u32", |_, [a, b, _]| (a * b) >> 32),
    ("v_mul_hi_i32", "i32", "i32 i32", |_, [a, b, _]| (a * b) >> 32),
    ("v_mad_u64_u32", "u64 co", "u32 u32 u64", |_, [a, b, c]| a * b + c),
    ("v_mad_co_u64_u32", "u64 co", "u32 u32 u64", |_, [a, b, c]| a * b + c),
    ("v_mad_nc_u64_u32", "u64", "u32 u32 u64", |_, [a, b, c]| a * b + c),
    ("v_mad_i64_i32", "i64 co", "i32 i32 i64", |_, [a, b, c]| a * b + c),
    ("v_mad_co_i64_i32", "i64 co", "i32 i32 i64", |_, [a, b, c]| a * b + c),
    ("v_mad_nc_i64_i32", "i64", "i32 i32 i64", |_, [a, b, c]| a * b + c),
    ("v_add_co_u32", "u32 co", "u32 u32", |_, [a, b, _]| a + b),
    ("v_sub_co_u32", "u32 co", "u32 u32", |_, [a, b, _]| a - b),
    ("v_subrev_co_u32", "u32 co", "u32 u32", |_, [a, b, _]| b - a),
    ("v_addc_co_u32", "u32 co", "u32 u32 mask", |_, [a, b, c]| a + b + c),
    ("v_add_co_ci_u32", "u32 co", "u32 u32 mask", |_, [a, b, c]| a + b + c),
    ("v_subb_co_u32", "u32 co", "u32 u32 mask", |_, [a, b, c]| a - b - c),
    ("v_sub_co_ci_u32", "u32 co", "u32 u32 mask", |_, [a, b, c]| a - b - c),
    ("v_subbrev_co_u32", "u32 co", "u32 u32 mask", |_, [a, b, c]| b - a - c),
    ("v_subrev_co_ci_u32", "u32 co", "u32 u32 mask", |_, [a, b, c]| b - a - c),
    ("v_cndmask_b32", "b32", "b32 b32 mask", |_, [a, b, c]| if c == 1 { b } else { a }),
    ("v_cndmask_b16", "b16", "f16 f16 mask", |_, [a, b, c]| if c == 1 { b } else { a }),
    ("v_add3_u32", "u32", "u32 u32 u32", |_, [a, b, c]| a + b + c),
    ("v_add_lshl_u32", "u32", "u32 u32 u32", |_, [a, b, c]| low(a + b, 32) << low(c, 5)),
    ("v_lshl_add_u32", "u32", "u32 u32 u32", |_, [a, b, c]| (a << low(b, 5)) + c),
    ("v_lshl_add_u64", "u64", "u64 u32 u64", |_, [a, b, c]| (a << low(b, 3)) + c),
    ("v_lshl_or_b32", "u32", "u32 u32 u32", |_, [a, b, c]| (a << low(b, 5)) | c),
    ("v_and_or_b32", "u32", "u32 u32 u32", |_, [a, b, c]| (a & b) | c),
    ("v_or3_b32", "u32", "u32 u32 u32", |_, [a, b, c]| a | b | c),
    ("v_xor3_b32", "u32", "u32 u32 u32", |_, [a, b, c]| a ^ b ^ c),
    ("v_xad_u32", "u32", "u32 u32 u32", |_, [a, b, c]| (a ^ b) + c),
    ("v_and_b32", "u32", "u32 u32", |_, [a, b, _]| a & b),
    ("v_or_b32", "u32", "u32 u32", |_, [a, b, _]| a | b),
    ("v_xor_b32", "u32", "u32 u32", |_, [a, b, _]| a ^ b),
    ("v_xnor_b32", "u32", "u32 u32", |_, [a, b, _]| !(a ^ b)),
    ("v_and_b16", "u16", "u16 u16", |_, [a, b, _]| a & b),
    ("v_or_b16", "u16", "u16 u16", |_, [a, b, _]| a | b),
    ("v_xor_b16", "u16", "u16 u16", |_, [a, b, _]| a ^ b),
    ("v_lshlrev_b32", "u32", "u32 u32", |_, [a, b, _]| b << low(a, 5)),
    ("v_lshrrev_b32", "u32", "u32 u32", |_, [a, b, _]| b >> low(a, 5)),
    ("v_ashrrev_i32", "i32", "u32 i32", |_, [a, b, _]| b >> low(a, 5)),
    ("v_lshlrev_b16", "u16", "u16 u16", |_, [a, b, _]| b << low(a, 4)),
    ("v_lshrrev_b16", "u16", "u16 u16", |_, [a, b, _]| b >> low(a, 4)),
    ("v_ashrrev_i16", "i16", "u16 i16", |_, [a, b, _]| b >> low(a, 4)),
    ("v_lshlrev_b64", "u64", "u32 u64", |_, [a, b, _]| b << low(a, 6)),
    ("v_lshrrev_b64", "u64", "u32 u64", |_, [a, b, _]| b >> low(a, 6)),
    ("v_ashrrev_i64", "i64", "u32 i64", |_, [a, b, _]| b >> low(a, 6)),
    ("v_min_u32", "u32", "u32 u32", |_, [a, b, _]| a.min(b)),
    ("v_max_u32", "u32", "u32 u32", |_, [a, b, _]| a.max(b)),
    ("v_min_i32", "i32", "i32 i32", |_, [a, b, _]| a.min(b)),
    ("v_max_i32", "i32", "i32 i32", |_, [a, b, _]| a.max(b)),
    ("v_min_u16", "u16", "u16 u16", |_, [a, b, _]| a.min(b)),
    ("v_max_u16", "u16", "u16 u16", |_, [a, b, _]| a.max(b)),
    ("v_min_i16", "i16", "i16 i16", |_, [a, b, _]| a.min(b)),
    ("v_max_i16", "i16", "i16 i16", |_, [a, b, _]| a.max(b)),
    ("v_min_u64", "u64", "u64 u64", |_, [a, b, _]| a.min(b)),
    ("v_max_u64", "u64", "u64 u64", |_, [a, b, _]| a.max(b)),
    ("v_min_i64", "i64", "i64 i64", |_, [a, b, _]| a.min(b)),
    ("v_max_i64", "i64", "i64 i64", |_, [a, b, _]| a.max(b)),
    ("v_min3_u32", "u32", "u32 u32 u32", |_, [a, b, c]| a.min(b).min(c)),
    ("v_max3_u32", "u32", "u32 u32 u32", |_, [a, b, c]| a.max(b).max(c)),
    ("v_med3_u32", "u32", "u32 u32 u32", |_, [a, b, c]| median(a, b, c)),
    ("v_min3_i32", "i32", "i32 i32 i32", |_, [a, b, c]| a.min(b).min(c)),
    ("v_max3_i32", "i32", "i32 i32 i32", |_, [a, b, c]| a.max(b).max(c)),
    ("v_med3_i32", "i32", "i32 i32 i32", |_, [a, b, c]| median(a, b, c)),
    ("v_min3_u16", "u16", "u16 u16 u16", |_, [a, b, c]| a.min(b).min(c)),
    ("v_max3_u16", "u16", "u16 u16 u16", |_, [a, b, c]| a.max(b).max(c)),
    ("v_med3_u16", "u16", "u16 u16 u16", |_, [a, b, c]| median(a, b, c)),
    ("v_min3_i16", "i16", "i16 i16 i16", |_, [a, b, c]| a.min(b).min(c)),
    ("v_max3_i16", "i16", "i16 i16 i16", |_, [a, b, c]| a.max(b).max(c)),
    ("v_med3_i16", "i16", "i16 i16 i16", |_, [a, b, c]| median(a, b, c)),
    ("v_minmax_u32", "u32", "u32 u32 u32", |_, [a, b, c]| a.min(b).max(c)),
    ("v_maxmin_u32", "u32", "u32 u32 u32", |_, [a, b, c]| a.max(b).min(c)),
    ("v_minmax_i32", "i32", "i32 i32 i32", |_, [a, b, c]| a.min(b).max(c)),
    ("v_maxmin_i32", "i32", "i32 i32 i32", |_, [a, b, c]| a.max(b).min(c)),
    ("v_add_max_i32", "i32", "i32 i32 i32", |_, [a, b, c]| signed_sum(a + b).max(c)),
    ("v_add_min_i32", "i32", "i32 i32 i32", |_, [a, b, c]| signed_sum(a + b).min(c)),
    ("v_add_max_u32", "u32", "u32 u32 u32", |_, [a, b, c]| (a + b).min(0xffff_ffff).max(c)),
    ("v_add_min_u32", "u32", "u32 u32 u32", |_, [a, b, c]| (a + b).min(0xffff_ffff).min(c)),
    ("v_pk_add_max_i16", "i16", "i16 i16 i16", |_, [a, b, c]| {
        (a + b).clamp(-0x8000, 0x7fff).max(c)
    }),
    ("v_pk_add_min_i16", "i16", "i16 i16 i16", |_, [a, b, c]| {
        (a + b).clamp(-0x8000, 0x7fff).min(c)
    }),
    ("v_pk_add_max_u16", "u16", "u16 u16 u16", |_, [a, b, c]| (a + b).min(0xffff).max(c)),
    ("v_pk_add_min_u16", "u16", "u16 u16 u16", |_, [a, b, c]| (a + b).min(0xffff).min(c)),
    ("v_bfe_u32", "u32", "u32 u32 u32", |_, [a, b, c]| extracted(a, b, c, false)),
    ("v_bfe_i32", "i32", "i32 u32 u32", |_, [a, b, c]| extracted(a, b, c, true)),
    ("v_bfi_b32", "u32", "u32 u32 u32", |_, [a, b, c]| (a & b) | (!a & c)),
    ("v_bfm_b32", "u32", "u32 u32", |_, [a, b, _]| ((1 << low(a, 5)) - 1) << low(b, 5)),
    ("v_bcnt_u32_b32", "u32", "u32 u32", |_, [a, b, _]| ones(a, 32) + b),
    ("v_mbcnt_lo_u32_b32", "u32", "u32 u32", |env, [a, b, _]| counted(a, env, 0) + b),
    ("v_mbcnt_hi_u32_b32", "u32", "u32 u32", |env, [a, b, _]| counted(a, env, 32) + b),
    ("v_alignbit_b32", "u32", "u32 u32 u16", |_, [a, b, c]| (a << 32 | b) >> low(c, 5)),
    ("v_alignbyte_b32", "u32", "u32 u32 u16", |_, [a, b, c]| (a << 32 | b) >> (low(c, 2) * 8)),
    ("v_perm_b32", "u32", "u32 u32 u32", |_, [a, b, c]| {
        (0..4).map(|at| permuted_byte(a << 32 | b, field(c, at * 8, 8)) << (at * 8)).sum()
    }),
    ("v_lerp_u8", "u32", "u32 u32 u32", |_, [a, b, c]| average(a, b, c)),
    ("v_sad_u8", "u32", "u32 u32 u32", |_, [a, b, c]| sad(a, b, c, false)),
    ("v_msad_u8", "u32", "u32 u32 u32", |_, [a, b, c]| sad(a, b, c, true)),
    ("v_sad_hi_u8", "u32", "u32 u32 u32", |_, [a, b, c]| (sad(a, b, 0, false) << 16) + c),
    ("v_sad_u16", "u32", "u32 u32 u32", |_, [a, b, c]| {
        (low(a, 16) - low(b, 16)).abs() + (field(a, 16, 16) - field(b, 16, 16)).abs() + c
    }),
    ("v_sad_u32", "u32", "u32 u32 u32", |_, [a, b, c]| (a - b).abs() + c),
    ("v_qsad_pk_u16_u8", "u64", "u64 u32 u64", |_, [a, b, c]| quad_sad(a, b, c, false)),
    ("v_mqsad_pk_u16_u8", "u64", "u64 u32 u64", |_, [a, b, c]| quad_sad(a, b, c, true)),
    ("v_cvt_pk_u16_u32", "u32", "u32 u32", |_, [a, b, _]| two(a.min(0xffff), b.min(0xffff))),
    ("v_cvt_pk_i16_i32", "u32", "i32 i32", |_, [a, b, _]| {
        two(a.clamp(-0x8000, 0x7fff), b.clamp(-0x8000, 0x7fff))
    }),
    ("v_ashr_pk_i8_i32", "b16", "i32 i32 u32", |_, [a, b, c]| {
        let byte = |number: i128| low((number >> low(c, 5)).clamp(-128, 127), 8);
        byte(a) | byte(b) << 8
    }),
    ("v_ashr_pk_u8_i32", "b16", "i32 i32 u32", |_, [a, b, c]| {
        let byte = |number: i128| (number >> low(c, 5)).clamp(0, 255);
        byte(a) | byte(b) << 8
    }),
    ("v_bitop3_b32", "u32", "u32 u32 u32", |env, sources| bitop3(env, sources, 32)),
    ("v_bitop3_b16", "u16", "u16 u16 u16", |env, sources| bitop3(env, sources, 16)),
    ("v_dot2_i32_i16", "i32", "u32 u32 i32", |_, all| signed_dot(all, 16)),
    ("v_dot2_u32_u16", "u32", "u32 u32 u32", |_, all| unsigned_dot(all, 16)),
    ("v_dot4_i32_i8", "i32", "u32 u32 i32", |_, all| signed_dot(all, 8)),
    ("v_dot4_u32_u8", "u32", "u32 u32 u32", |_, all| unsigned_dot(all, 8)),
    ("v_dot8_i32_i4", "i32", "u32 u32 i32", |_, all| signed_dot(all, 4)),
    ("v_dot8_u32_u4", "u32", "u32 u32 u32", |_, all| unsigned_dot(all, 4)),
    ("v_dot4_i32_iu8", "i32", "u32 u32 i32", |env, all| dot(env, all, 8)),
    ("v_dot8_i32_iu4", "i32", "u32 u32 i32", |env, all| dot(env, all, 4)),
    ("v_dot2c_i32_i16", "i32", "u32 u32 i32", |_, all| signed_dot(all, 16)),
    ("v_dot4c_i32_i8", "i32", "u32 u32 i32", |_, all| signed_dot(all, 8)),
    ("v_dot8c_i32_i4", "i32", "u32 u32 i32", |_, all| signed_dot(all, 4)),
    ("v_pk_add_i16", "i16", "i16 i16", |_, [a, b, _]| a + b),
    ("v_pk_add_u16", "u16", "u16 u16", |_, [a, b, _]| a + b),
    ("v_pk_sub_i16", "i16", "i16 i16", |_, [a, b, _]| a - b),
    ("v_pk_sub_u16", "u16", "u16 u16", |_, [a, b, _]| a - b),
    ("v_pk_mul_lo_u16", "u16", "u16 u16", |_, [a, b, _]| a * b),
    ("v_pk_mad_i16", "i16", "i16 i16 i16", |_, [a, b, c]| a * b + c),
    ("v_pk_mad_u16", "u16", "u16 u16 u16", |_, [a, b, c]| a * b + c),
    ("v_pk_min_i16", "i16", "i16 i16", |_, [a, b, _]| a.min(b)),
    ("v_pk_max_i16", "i16", "i16 i16", |_, [a, b, _]| a.max(b)),
    ("v_pk_min_u16", "u16", "u16 u16", |_, [a, b, _]| a.min(b)),
    ("v_pk_max_u16", "u16", "u16 u16", |_, [a, b, _]| a.max(b)),
    ("v_pk_min3_i16", "i16", "i16 i16 i16", |_, [a, b, c]| a.min(b).min(c)),
    ("v_pk_max3_i16", "i16", "i16 i16 i16", |_, [a, b, c]| a.max(b).max(c)),
    ("v_pk_min3_u16", "u16", "u16 u16 u16", |_, [a, b, c]| a.min(b).min(c)),
    ("v_pk_max3_u16", "u16", "u16 u16 u16", |_, [a, b, c]| a.max(b).max(c)),
    ("v_pk_lshlrev_b16", "u16", "u16 u16", |_, [a, b, _]| b << low(a, 4)),
    ("v_pk_lshrrev_b16", "u16", "u16 u16", |_, [a, b, _]| b >> low(a, 4)),
    ("v_pk_ashrrev_i16", "i16", "u16 i16", |_, [a, b, _]| b >> low(a, 4)),
];
