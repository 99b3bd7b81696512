//! What instructions compute, as pure functions on bits: no machine, no state, no host rounding mode.
//!
//! Operands and results are register bits in a [`Format`]; what MODE says of an operation comes in an [`Env`].
//!
//! ```
//! use hsaco_emu::num::{add, Env, Round, F32};
//! let env = Env { round: Round::Up, ..Env::IEEE };
//! let tiny = 1;
//! assert_eq!(add::<F32>(0x3f80_0000, tiny, env), 0x3f80_0001);
//! ```
//!
//! [docs/numerics.md](https://github.com/hsaco/hsaco/blob/main/docs/numerics.md) says where each rule comes from.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "bit fields are cut to their width on purpose"
)]

mod arith;
mod compare;
mod convert;
mod cube;
mod division;
mod fidelity;
mod float;
mod integral;
pub mod matrix;
mod minmax;
mod mode;
mod modifier;
mod preop;
mod small;
mod trans;

#[cfg(test)]
mod tests;

pub use arith::{add, fma, mad, mul, neg_abs, sub};
pub use compare::{Relation, class, compare};
pub use convert::{
    Integer, ToInteger, convert, cvt_f32_ubyte, cvt_norm, cvt_off_f32_i4, cvt_pkrtz, from_integer,
    is_nan_bits, to_integer,
};
pub use cube::{Cube, cube};
pub use division::{div_fixup, div_fmas, div_scale};
pub use fidelity::Fidelity;
pub use float::{BF16, F16, F32, F64, Format};
pub use integral::{ceil, floor, fract, frexp_exp, frexp_mant, ldexp, rndne, trunc};
pub use minmax::{MinMax, max, maximum, med3, min, minimum, nested};
pub use mode::{Denorm, Env, Generation, Mode, Round};
pub use modifier::{OutputModifier, clamp, omod};
pub use preop::trig_preop;
pub use small::{Small, SmallRound, e8m0, stochastic_16};
pub use trans::{Transcendental, seed_f64, transcendental_16, transcendental_f32};
