//! Cube maps: face, coordinates, major axis.

use super::{Env, F32, Format, Relation, compare, ldexp, neg_abs};

/// What the four instructions tell of a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cube {
    /// v_cubeid_f32
    pub id: u32,
    /// v_cubesc_f32
    pub sc: u32,
    /// v_cubetc_f32
    pub tc: u32,
    /// v_cubema_f32
    pub ma: u32,
}

/// v_cubeid, v_cubesc, v_cubetc, v_cubema of a direction.
///
/// ```
/// use hsaco_emu::num::{cube, Env};
/// let [x, y, z] = [1f32, 0., -3.].map(f32::to_bits);
/// let cube = cube([x, y, z], Env::IEEE);
/// assert_eq!((cube.id, cube.ma), (5f32.to_bits(), (-6f32).to_bits()));
/// ```
pub fn cube([x, y, z]: [u32; 3], env: Env) -> Cube {
    let flush = |bits: u32| super::float::operand::<F32>(bits, env) as u32;
    let [x, y, z] = [x, y, z].map(flush);
    let abs = |bits| neg_abs::<F32>(bits, false, true);
    let neg = |bits: u32| bits ^ F32::SIGN as u32;
    let not_less = |a, b| compare::<F32>(Relation::Ge, abs(a), abs(b), env);
    let below_zero = |bits| compare::<F32>(Relation::Lt, bits, 0, env);
    let (face, sc, tc, major) = if not_less(z, x) && not_less(z, y) {
        let back = below_zero(z);
        (4 + u32::from(back), if back { neg(x) } else { x }, neg(y), z)
    } else if not_less(y, x) {
        let down = below_zero(y);
        (2 + u32::from(down), x, if down { neg(z) } else { z }, y)
    } else {
        let left = below_zero(x);
        (u32::from(left), if left { z } else { neg(z) }, neg(y), x)
    };
    let id = super::from_integer::<F32>(face.into(), super::Integer::unsigned(8), Env::IEEE);
    Cube { id, sc, tc, ma: ldexp::<F32>(major, 1, env) }
}
