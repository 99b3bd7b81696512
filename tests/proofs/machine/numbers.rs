//! What vector instructions compute.

/// Nearest, ties to even.
fn f32_to_f16(bits: u32) -> u32 {
    let sign = bits >> 16 & 0x8000;
    let magnitude = bits & 0x7fff_ffff;
    if magnitude > 0x7f80_0000 {
        return sign | 0x7e00;
    }
    if magnitude >= 0x4780_0000 {
        return sign | 0x7c00;
    }
    if magnitude < 0x3880_0000 {
        // Below the smallest normal number: adding 0.5 leaves a count of 2^-24 in the lower bits.
        let sum = f32::from_bits(magnitude) + 0.5;
        return sign | (sum.to_bits() - 0x3f00_0000);
    }
    let rounded = magnitude + 0xfff + (magnitude >> 13 & 1) - (112 << 23);
    sign | rounded >> 13
}

pub(crate) fn f16_to_f32(half: u32) -> u32 {
    let sign = (half & 0x8000) << 16;
    let magnitude = half & 0x7fff;
    let value = match magnitude >> 10 {
        0 => ((magnitude as f32) * 2.0_f32.powi(-24)).to_bits(),
        31 => magnitude << 13 | 0x7f80_0000,
        _ => (magnitude << 13) + (112 << 23),
    };
    sign | value
}

fn permute([upper, lower, select]: [u32; 3]) -> u32 {
    let bytes = u64::from(upper) << 32 | u64::from(lower);
    (0..4).fold(0, |result, at| {
        let from = select >> (8 * at) & 0xff;
        assert!(from < 8, "no constants here");
        result | ((bytes >> (8 * from)) as u32 & 0xff) << (8 * at)
    })
}

/// The operation of an instruction, on what its three sources hold.
pub(crate) fn operation(name: &str) -> fn([u32; 3]) -> u32 {
    match name {
        "v_mov_b32" => |[a, ..]| a,
        "v_and_b32" => |[a, b, _]| a & b,
        "v_add_nc_u32" => |[a, b, _]| a.wrapping_add(b),
        "v_sub_nc_u32" => |[a, b, _]| a.wrapping_sub(b),
        "v_add3_u32" => |[a, b, c]| a.wrapping_add(b).wrapping_add(c),
        "v_min_u32" => |[a, b, _]| a.min(b),
        "v_max_u32" => |[a, b, _]| a.max(b),
        "v_lshlrev_b32" => |[a, b, _]| b << (a & 31),
        "v_lshrrev_b32" => |[a, b, _]| b >> (a & 31),
        "v_lshl_or_b32" => |[a, b, c]| a << (b & 31) | c,
        "v_lshl_add_u32" => |[a, b, c]| (a << (b & 31)).wrapping_add(c),
        "v_bfe_u32" => |[a, b, c]| a >> (b & 31) & ((1 << (c & 31)) - 1),
        "v_bfi_b32" => |[a, b, c]| a & b | !a & c,
        "v_perm_b32" => permute,
        "v_cndmask_b32" => |[a, b, c]| if c == 1 { b } else { a },
        "v_mbcnt_lo_u32_b32" => |[a, b, _]| a.count_ones() + b,
        // Of 32 lanes none is beyond the 32nd.
        "v_mbcnt_hi_u32_b32" => |[_, b, _]| b,
        "v_max_num_f32" => |[a, b, _]| {
            let (one, other) = (f32::from_bits(a), f32::from_bits(b));
            assert_eq!(a, 0, "the first source is zero");
            // Zero is above minus zero, and a number is favoured over NaN.
            if other.is_nan() || other <= one { a } else { b }
        },
        "v_ldexp_f32" => |[a, b, _]| {
            let value = f64::from(f32::from_bits(a)) * 2_f64.powi(b as i32);
            (value as f32).to_bits()
        },
        "v_rndne_f32" => |[a, ..]| f32::from_bits(a).round_ties_even().to_bits(),
        "v_cvt_u32_f32" => |[a, ..]| f32::from_bits(a) as u32,
        "v_cvt_f32_u32" => |[a, ..]| (a as f32).to_bits(),
        "v_cvt_f32_f16" => |[a, ..]| f16_to_f32(a & 0xffff),
        "v_cvt_pk_f16_f32" => |[a, b, _]| f32_to_f16(a) | f32_to_f16(b) << 16,
        other => panic!("no {other} here"),
    }
}
