//! Functions of one format, for whatever instruction has them.

use crate::num::{
    self, Denorm, Env, F32, F64, Format, MinMax, Mode, Relation, Round, Transcendental,
};

/// `name |mode, env, a, b, c| expression`, of the bits of a format `F`.
macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident |$m:pat_param, $env:pat_param, $a:pat_param, $b:pat_param, $c:pat_param| $body:expr;)*) => {$(
        $(#[$doc])*
        pub(crate) fn $name<F: Format>(mode: &Mode, a: u64, b: u64, c: u64) -> u64 {
            let ($m, $env) = (mode, mode.env::<F>());
            let [$a, $b, $c] = [a, b, c].map(F::narrow);
            ($body).into()
        }
    )*};
}

use MinMax::{Max, Min};

functions! {
    add |_, env, a, b, _| num::add::<F>(a, b, env);
    sub |_, env, a, b, _| num::sub::<F>(a, b, env);
    subrev |_, env, a, b, _| num::sub::<F>(b, a, env);
    mul |_, env, a, b, _| num::mul::<F>(a, b, env);
    fma |_, env, a, b, c| num::fma::<F>(a, b, c, env);
    /// Unfused, and denormals are flushed whatever MODE says.
    mad |_, env, a, b, c| num::mad::<F>(a, b, c, flushing(env));
    /// Zero times anything is zero.
    mul_legacy |_, env, a, b, _| {
        if is_zero::<F>(a, env) || is_zero::<F>(b, env) { F::narrow(0) } else { num::mul::<F>(a, b, env) }
    };
    /// The product is +0 then, and added: LLVM folds it so, though the manuals of gfx11 and later have `c` itself.
    fma_legacy |_, env, a, b, c| {
        if is_zero::<F>(a, env) || is_zero::<F>(b, env) { num::add::<F>(F::narrow(0), c, env) } else { num::fma::<F>(a, b, c, env) }
    };
    mad_legacy |_, env, a, b, c| {
        let env = flushing(env);
        let is_zero = is_zero::<F>(a, env) || is_zero::<F>(b, env);
        let product = if is_zero { F::narrow(0) } else { num::mul::<F>(a, b, env) };
        num::add::<F>(product, c, env)
    };
    minimum_number |m, env, a, b, _| num::min::<F>(a, b, env, m.generation());
    maximum_number |m, env, a, b, _| num::max::<F>(a, b, env, m.generation());
    minimum |_, env, a, b, _| num::minimum::<F>(a, b, env);
    maximum |_, env, a, b, _| num::maximum::<F>(a, b, env);
    min3 |m, env, a, b, c| num::nested::<F>([Min, Min], [a, b, c], false, env, m.generation());
    max3 |m, env, a, b, c| num::nested::<F>([Max, Max], [a, b, c], false, env, m.generation());
    minmax |m, env, a, b, c| num::nested::<F>([Min, Max], [a, b, c], false, env, m.generation());
    maxmin |m, env, a, b, c| num::nested::<F>([Max, Min], [a, b, c], false, env, m.generation());
    minimum3 |m, env, a, b, c| num::nested::<F>([Min, Min], [a, b, c], true, env, m.generation());
    maximum3 |m, env, a, b, c| num::nested::<F>([Max, Max], [a, b, c], true, env, m.generation());
    minimummaximum |m, env, a, b, c| num::nested::<F>([Min, Max], [a, b, c], true, env, m.generation());
    maximumminimum |m, env, a, b, c| num::nested::<F>([Max, Min], [a, b, c], true, env, m.generation());
    med3 |m, env, a, b, c| num::med3::<F>([a, b, c], env, m.generation());
    ceil |_, env, a, _, _| num::ceil::<F>(a, env);
    floor |_, env, a, _, _| num::floor::<F>(a, env);
    trunc |_, env, a, _, _| num::trunc::<F>(a, env);
    rndne |_, env, a, _, _| num::rndne::<F>(a, env);
    fract |_, env, a, _, _| num::fract::<F>(a, env);
    frexp_mant |_, env, a, _, _| num::frexp_mant::<F>(a, env);
    div_fixup |_, env, a, b, c| num::div_fixup::<F>(a, b, c, env);
}

fn flushing(env: Env) -> Env {
    Env { denorm: Denorm::FLUSH, ..env }
}

fn is_zero<F: Format>(bits: F::Bits, env: Env) -> bool {
    num::compare::<F>(Relation::Eq, bits, F::narrow(0), env)
}

/// The exponent that `frexp_mant` leaves, as an integer of 32 bits.
pub(crate) fn frexp_exp<F: Format>(mode: &Mode, a: u64, _: u64, _: u64) -> u64 {
    num::frexp_exp::<F>(F::narrow(a), mode.env::<F>()).cast_unsigned().into()
}

/// The same of 16 bits.
pub(crate) fn frexp_exp_16<F: Format>(mode: &Mode, a: u64, b: u64, c: u64) -> u64 {
    frexp_exp::<F>(mode, a, b, c) & 0xffff
}

/// By an exponent of 32 bits.
pub(crate) fn ldexp<F: Format>(mode: &Mode, a: u64, b: u64, _: u64) -> u64 {
    num::ldexp::<F>(F::narrow(a), (b as u32).cast_signed(), mode.env::<F>()).into()
}

/// By an exponent of 16 bits.
pub(crate) fn ldexp_16<F: Format>(mode: &Mode, a: u64, b: u64, _: u64) -> u64 {
    num::ldexp::<F>(F::narrow(a), (b as i16).into(), mode.env::<F>()).into()
}

pub(crate) fn compare<F: Format>(mode: &Mode, relation: Relation, a: u64, b: u64) -> bool {
    num::compare::<F>(relation, F::narrow(a), F::narrow(b), mode.env::<F>())
}

/// A transcendental function of a format.
pub(crate) fn transcendental<F: Format>(mode: &Mode, function: Transcendental, a: u64) -> u64 {
    let (env, generation) = (mode.env::<F>(), mode.generation());
    match F::WIDTH {
        32 => num::transcendental_f32(function, a as u32, mode.env::<F32>(), generation).into(),
        64 => num::seed_f64(function, a, mode.env::<F64>()).unwrap_or(F64::INVALID),
        _ => num::transcendental_16::<F>(function, F::narrow(a), env, generation).into(),
    }
}

macro_rules! transcendentals {
    ($($name:ident $function:ident;)*) => {$(
        pub(crate) fn $name<F: Format>(mode: &Mode, a: u64, _: u64, _: u64) -> u64 {
            transcendental::<F>(mode, Transcendental::$function, a)
        }
    )*};
}

transcendentals! {
    rcp Rcp;
    rsq Rsq;
    sqrt Sqrt;
    exp Exp2;
    log Log2;
    sin Sin;
    cos Cos;
    tanh Tanh;
}

pub(crate) fn trig_preop(_: &Mode, a: u64, b: u64, _: u64) -> u64 {
    num::trig_preop(a, b as u32)
}

macro_rules! cubes {
    ($($name:ident $field:ident;)*) => {$(
        pub(crate) fn $name(mode: &Mode, a: u64, b: u64, c: u64) -> u64 {
            num::cube([a, b, c].map(|bits| bits as u32), mode.env::<F32>()).$field.into()
        }
    )*};
}

cubes! {
    cube_id id;
    cube_sc sc;
    cube_tc tc;
    cube_ma ma;
}

/// A product for lighting: the least number where the second operand is it or no number, or the third is not above zero.
pub(crate) fn mullit(mode: &Mode, a: u64, b: u64, c: u64) -> u64 {
    let least = F32::SIGN | F32::MAX;
    let is = |relation, x, y| compare::<F32>(mode, relation, x, y);
    if is(Relation::Ngt, b, least) || is(Relation::Ngt, c, 0) {
        return least;
    }
    mul_legacy::<F32>(mode, a, b, 0)
}

/// A function of both halves of registers.
pub(crate) fn both(
    function: impl Fn(&Mode, u64, u64, u64) -> u64,
    mode: &Mode,
    [a, b, c]: [u64; 3],
) -> u64 {
    let half = |shift: u32| {
        let [a, b, c] = [a, b, c].map(|bits| bits >> shift & 0xffff);
        function(mode, a, b, c) & 0xffff
    };
    half(0) | half(16) << 16
}

/// A mode with another rounding of f32.
pub(super) fn rounding(env: Env, round: Round) -> Env {
    Env { round, ..env }
}
