//! Comparisons: a lane mask from two operands. A handler finds how operands are ordered; `k` says of which orders the
//! comparison is true.

use std::marker::PhantomData;

use super::super::{Body, all_ones_if, handler, lane_mask, value_at};
use crate::exec::float::HostFormat;
use crate::generated::Op;
use crate::num::{self, F16, F32, F64, Format, Mode, Relation};
use crate::step::{Context, Handler, Host, Step};
use crate::wave::{Wave, scalar};

/// Bits of `k`: of which orders the comparison is true, as in the numbers of [`Relation`], and whether it goes into
/// EXEC too.
const LESS: u64 = 1;
const EQUAL: u64 = 2;
const GREATER: u64 = 4;
const UNORDERED: u64 = 8;
const TO_EXEC: u64 = 16;

/// `k` as masks: what is true of none of the orders, and what changes that.
#[derive(Clone, Copy)]
struct Truth {
    unordered: u32,
    less: u32,
    equal: u32,
    greater: u32,
}

impl Truth {
    #[inline(always)]
    fn of(k: u64) -> Self {
        let unordered = all_ones_if(k & UNORDERED != 0);
        Self {
            unordered,
            less: all_ones_if(k & LESS != 0) ^ unordered,
            equal: all_ones_if(k & EQUAL != 0) ^ unordered,
            greater: all_ones_if(k & GREATER != 0) ^ unordered,
        }
    }

    #[inline(always)]
    fn pick<T: Copy + PartialOrd>(self, x: T, y: T) -> u32 {
        self.unordered
            ^ all_ones_if(x < y) & self.less
            ^ all_ones_if(x == y) & self.equal
            ^ all_ones_if(x > y) & self.greater
    }
}

/// A comparison of two values of a lane.
trait Compare {
    /// Whether the operands have two registers.
    const WIDE: [bool; 2];
    /// All ones or zero.
    fn f(truth: Truth, a: u64, b: u64) -> u32;
    /// The handler that names the host's instructions.
    fn named<const C: usize>(_: Host) -> Option<Handler<C>> {
        None
    }
}

/// A comparison into the scalar register `d`, of lanes that are not active zero.
struct Set<O>(PhantomData<O>);

impl<const C: usize, O: Compare> Body<C> for Set<O> {
    #[inline(always)]
    fn run(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
        let (a, b) = (usize::from(step.a), usize::from(step.b));
        let file = wave.v.as_slice();
        if a.max(b) + 1 >= file.len() {
            return;
        }
        let truth = Truth::of(step.k);
        let mut columns = [0; 8];
        for at in 0..C {
            for (lane, column) in columns.iter_mut().enumerate() {
                let x = value_at(file, a, at, lane, O::WIDE[0]);
                let y = value_at(file, b, at, lane, O::WIDE[1]);
                *column |= O::f(truth, x, y) & 1 << at;
            }
        }
        set(wave, step, lane_mask(columns));
    }
}

/// Writes the lanes where a comparison is true.
#[inline(always)]
fn set<const C: usize>(wave: &mut Wave<C>, step: &Step<C>, lanes: u64) {
    let mask = lanes & wave.active;
    wave.set_lane_mask(step.d, mask);
    if step.k & TO_EXEC != 0 {
        wave.set_lane_mask(scalar::EXEC, mask);
        wave.sync_exec();
    }
}

/// Lanes by how their operands are ordered; in all others the first is greater.
struct Orders {
    less: u64,
    equal: u64,
    unordered: u64,
}

impl Orders {
    /// The lanes of the orders in `k`.
    fn chosen(&self, k: u64) -> u64 {
        let Self { less, equal, unordered } = *self;
        let greater = !(less | equal | unordered);
        [(LESS, less), (EQUAL, equal), (GREATER, greater), (UNORDERED, unordered)]
            .iter()
            .fold(0, |all, (order, lanes)| if k & order != 0 { all | lanes } else { all })
    }
}

/// Integers: `Name type wide`, and the handler that names the host's instructions.
macro_rules! integers {
    ($($name:ident $type:ident $wide:expr $(, $named:ident)?;)*) => {$(
        struct $name;
        impl Compare for $name {
            const WIDE: [bool; 2] = [$wide; 2];
            #[inline(always)]
            fn f(truth: Truth, a: u64, b: u64) -> u32 { truth.pick(a as $type, b as $type) }
            $(
                fn named<const C: usize>(host: Host) -> Option<Handler<C>> { named::$named(host) }
            )?
        }
    )*};
}

integers! {
    U16 u16 false;
    I16 i16 false;
    U32 u32 false, unsigned;
    I32 i32 false, signed;
    U64 u64 true;
    I64 i64 true;
}

/// Floats; `Z`: denormals are zeros.
struct Float<F, const Z: bool>(PhantomData<F>);

impl<F: HostFormat, const Z: bool> Compare for Float<F, Z> {
    const WIDE: [bool; 2] = [F::WIDTH == 64; 2];
    #[inline(always)]
    fn f(truth: Truth, a: u64, b: u64) -> u32 {
        truth.pick(F::on_host::<Z>(a), F::on_host::<Z>(b))
    }
}

/// Whether a number is of the classes in `b`.
struct Class<F>(PhantomData<F>);

impl<F: Format> Compare for Class<F> {
    const WIDE: [bool; 2] = [F::WIDTH == 64, false];
    #[inline(always)]
    fn f(_: Truth, a: u64, b: u64) -> u32 {
        all_ones_if(num::class::<F>(F::narrow(a), b as u32))
    }
}

fn integer<const C: usize, O: Compare>(host: Host) -> Handler<C> {
    O::named(host).unwrap_or_else(|| handler::<C, Set<O>>(host))
}

fn float<const C: usize, F: HostFormat>(mode: &Mode, host: Host) -> Handler<C> {
    match mode.env::<F>().denorm.input {
        true if F::WIDTH == 32 => {
            named::single(host).unwrap_or_else(|| handler::<C, Set<Float<F, false>>>(host))
        }
        true => handler::<C, Set<Float<F, false>>>(host),
        false => handler::<C, Set<Float<F, true>>>(host),
    }
}

/// Comparisons of one register with the host's instructions: `name: handler |x, y| less, equal, unordered`.
#[cfg(target_arch = "x86_64")]
mod named {
    use std::arch::x86_64::*;

    use super::{Orders, avx512, set};
    use crate::exec::avx2::vector;
    use crate::step::{Context, Handler, Host, Step};
    use crate::wave::Wave;

    macro_rules! orders {
        ($($name:ident: $handler:ident |$x:ident, $y:ident| $less:expr, $equal:expr, $unordered:expr;)*) => {$(
            #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
            fn $handler<const C: usize>(wave: &mut Wave<C>, _: &mut Context<'_>, step: &Step<C>) {
                let (a, b) = (usize::from(step.a), usize::from(step.b));
                let file = wave.v.as_slice();
                if a.max(b) >= file.len() {
                    return;
                }
                let mut orders = Orders { less: 0, equal: 0, unordered: 0 };
                for at in 0..C {
                    let ($x, $y) = (vector(&file[a].0[at]), vector(&file[b].0[at]));
                    orders.less |= bits($less) << (at * 8);
                    orders.equal |= bits($equal) << (at * 8);
                    orders.unordered |= bits($unordered) << (at * 8);
                }
                set(wave, step, orders.chosen(step.k));
            }

            pub(super) fn $name<const C: usize>(host: Host) -> Option<Handler<C>> {
                match host {
                    Host::Portable => None,
                    Host::Avx2 => Some($handler::<C>),
                    Host::Avx512 => Some(avx512::$handler::<C>),
                }
            }
        )*};
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn bits(lanes: __m256i) -> u64 {
        u64::from(_mm256_movemask_ps(_mm256_castsi256_ps(lanes)).cast_unsigned())
    }

    /// Unsigned numbers in the order of signed ones.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn shifted(lanes: __m256i) -> __m256i {
        _mm256_xor_si256(lanes, _mm256_set1_epi32(i32::MIN))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn floats<const ORDER: i32>(x: __m256i, y: __m256i) -> __m256i {
        _mm256_castps_si256(_mm256_cmp_ps::<ORDER>(_mm256_castsi256_ps(x), _mm256_castsi256_ps(y)))
    }

    orders! {
        signed: compare_signed |x, y|
            _mm256_cmpgt_epi32(y, x), _mm256_cmpeq_epi32(x, y), _mm256_setzero_si256();
        unsigned: compare_unsigned |x, y|
            _mm256_cmpgt_epi32(shifted(y), shifted(x)), _mm256_cmpeq_epi32(x, y), _mm256_setzero_si256();
        single: compare_singles |x, y|
            floats::<_CMP_LT_OQ>(x, y), floats::<_CMP_EQ_OQ>(x, y), floats::<_CMP_UNORD_Q>(x, y);
    }
}

/// What `named` does, sixteen lanes at a time.
#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::*;

    use super::{Orders, set};
    use crate::exec::avx512::{floats, integers};
    use crate::step::{Context, Step};
    use crate::wave::Wave;

    /// `handler reader |x, y| less, equal, unordered`.
    macro_rules! orders {
        ($($handler:ident $read:ident |$x:ident, $y:ident| $less:expr, $equal:expr, $unordered:expr;)*) => {$(
            #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512dq,avx512vl")]
            pub(super) fn $handler<const C: usize>(
                wave: &mut Wave<C>,
                _: &mut Context<'_>,
                step: &Step<C>,
            ) {
                let (a, b) = (usize::from(step.a), usize::from(step.b));
                let file = wave.v.as_slice();
                if a.max(b) >= file.len() {
                    return;
                }
                let mut orders = Orders { less: 0, equal: 0, unordered: 0 };
                for at in 0..C / 2 {
                    let ($x, $y) = ($read(&file[a].sixteens()[at]), $read(&file[b].sixteens()[at]));
                    orders.less |= u64::from($less) << (at * 16);
                    orders.equal |= u64::from($equal) << (at * 16);
                    orders.unordered |= u64::from($unordered) << (at * 16);
                }
                set(wave, step, orders.chosen(step.k));
            }
        )*};
    }

    orders! {
        compare_signed integers |x, y|
            _mm512_cmplt_epi32_mask(x, y), _mm512_cmpeq_epi32_mask(x, y), 0_u16;
        compare_unsigned integers |x, y|
            _mm512_cmplt_epu32_mask(x, y), _mm512_cmpeq_epi32_mask(x, y), 0_u16;
        compare_singles floats |x, y|
            _mm512_cmp_ps_mask::<_CMP_LT_OQ>(x, y),
            _mm512_cmp_ps_mask::<_CMP_EQ_OQ>(x, y),
            _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(x, y);
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod named {
    use crate::step::{Handler, Host};

    pub(super) fn signed<const C: usize>(_: Host) -> Option<Handler<C>> {
        None
    }

    pub(super) fn unsigned<const C: usize>(_: Host) -> Option<Handler<C>> {
        None
    }

    pub(super) fn single<const C: usize>(_: Host) -> Option<Handler<C>> {
        None
    }
}

macro_rules! compares {
    (
        integers { $($set:ident $set_exec:ident $type:ident $relation:ident;)* }
        floats { $($set_float:ident $set_exec_float:ident $format:ident $relation_float:ident;)* }
        classes { $($set_class:ident $set_exec_class:ident $of:ident;)* }
    ) => {
        /// The handler of a comparison, and its `k`.
        pub(crate) fn find<const C: usize>(op: Op, mode: &Mode, host: Host) -> Option<(Handler<C>, u64)> {
            Some(match op {
                $(
                    Op::$set => (integer::<C, $type>(host), Relation::$relation as u64),
                    Op::$set_exec => (integer::<C, $type>(host), Relation::$relation as u64 | TO_EXEC),
                )*
                $(
                    Op::$set_float => (float::<C, $format>(mode, host), Relation::$relation_float as u64),
                    Op::$set_exec_float => (float::<C, $format>(mode, host), Relation::$relation_float as u64 | TO_EXEC),
                )*
                $(
                    Op::$set_class => (handler::<C, Set<Class<$of>>>(host), 0),
                    Op::$set_exec_class => (handler::<C, Set<Class<$of>>>(host), TO_EXEC),
                )*
                _ => return None,
            })
        }

        /// Every comparison of floats.
        #[cfg(test)]
        pub(crate) const FLOATS: &[(Op, Relation, u32)] =
            &[$((Op::$set_float, Relation::$relation_float, $format::WIDTH),)*];
    };
}

compares! {
    integers {
        VCmpFU16 VCmpxFU16 U16 F;
        VCmpLtU16 VCmpxLtU16 U16 Lt;
        VCmpEqU16 VCmpxEqU16 U16 Eq;
        VCmpLeU16 VCmpxLeU16 U16 Le;
        VCmpGtU16 VCmpxGtU16 U16 Gt;
        VCmpNeU16 VCmpxNeU16 U16 Lg;
        VCmpGeU16 VCmpxGeU16 U16 Ge;
        VCmpTU16 VCmpxTU16 U16 T;
        VCmpFI16 VCmpxFI16 I16 F;
        VCmpLtI16 VCmpxLtI16 I16 Lt;
        VCmpEqI16 VCmpxEqI16 I16 Eq;
        VCmpLeI16 VCmpxLeI16 I16 Le;
        VCmpGtI16 VCmpxGtI16 I16 Gt;
        VCmpNeI16 VCmpxNeI16 I16 Lg;
        VCmpGeI16 VCmpxGeI16 I16 Ge;
        VCmpTI16 VCmpxTI16 I16 T;
        VCmpFU32 VCmpxFU32 U32 F;
        VCmpLtU32 VCmpxLtU32 U32 Lt;
        VCmpEqU32 VCmpxEqU32 U32 Eq;
        VCmpLeU32 VCmpxLeU32 U32 Le;
        VCmpGtU32 VCmpxGtU32 U32 Gt;
        VCmpNeU32 VCmpxNeU32 U32 Lg;
        VCmpGeU32 VCmpxGeU32 U32 Ge;
        VCmpTU32 VCmpxTU32 U32 T;
        VCmpFI32 VCmpxFI32 I32 F;
        VCmpLtI32 VCmpxLtI32 I32 Lt;
        VCmpEqI32 VCmpxEqI32 I32 Eq;
        VCmpLeI32 VCmpxLeI32 I32 Le;
        VCmpGtI32 VCmpxGtI32 I32 Gt;
        VCmpNeI32 VCmpxNeI32 I32 Lg;
        VCmpGeI32 VCmpxGeI32 I32 Ge;
        VCmpTI32 VCmpxTI32 I32 T;
        VCmpFU64 VCmpxFU64 U64 F;
        VCmpLtU64 VCmpxLtU64 U64 Lt;
        VCmpEqU64 VCmpxEqU64 U64 Eq;
        VCmpLeU64 VCmpxLeU64 U64 Le;
        VCmpGtU64 VCmpxGtU64 U64 Gt;
        VCmpNeU64 VCmpxNeU64 U64 Lg;
        VCmpGeU64 VCmpxGeU64 U64 Ge;
        VCmpTU64 VCmpxTU64 U64 T;
        VCmpFI64 VCmpxFI64 I64 F;
        VCmpLtI64 VCmpxLtI64 I64 Lt;
        VCmpEqI64 VCmpxEqI64 I64 Eq;
        VCmpLeI64 VCmpxLeI64 I64 Le;
        VCmpGtI64 VCmpxGtI64 I64 Gt;
        VCmpNeI64 VCmpxNeI64 I64 Lg;
        VCmpGeI64 VCmpxGeI64 I64 Ge;
        VCmpTI64 VCmpxTI64 I64 T;
    }
    floats {
        VCmpFF16 VCmpxFF16 F16 F;
        VCmpLtF16 VCmpxLtF16 F16 Lt;
        VCmpEqF16 VCmpxEqF16 F16 Eq;
        VCmpLeF16 VCmpxLeF16 F16 Le;
        VCmpGtF16 VCmpxGtF16 F16 Gt;
        VCmpGeF16 VCmpxGeF16 F16 Ge;
        VCmpLgF16 VCmpxLgF16 F16 Lg;
        VCmpOF16 VCmpxOF16 F16 O;
        VCmpUF16 VCmpxUF16 F16 U;
        VCmpNgeF16 VCmpxNgeF16 F16 Nge;
        VCmpNgtF16 VCmpxNgtF16 F16 Ngt;
        VCmpNleF16 VCmpxNleF16 F16 Nle;
        VCmpNltF16 VCmpxNltF16 F16 Nlt;
        VCmpNlgF16 VCmpxNlgF16 F16 Nlg;
        VCmpNeqF16 VCmpxNeqF16 F16 Neq;
        VCmpTruF16 VCmpxTruF16 F16 T;
        VCmpTF16 VCmpxTF16 F16 T;
        VCmpFF32 VCmpxFF32 F32 F;
        VCmpLtF32 VCmpxLtF32 F32 Lt;
        VCmpEqF32 VCmpxEqF32 F32 Eq;
        VCmpLeF32 VCmpxLeF32 F32 Le;
        VCmpGtF32 VCmpxGtF32 F32 Gt;
        VCmpGeF32 VCmpxGeF32 F32 Ge;
        VCmpLgF32 VCmpxLgF32 F32 Lg;
        VCmpOF32 VCmpxOF32 F32 O;
        VCmpUF32 VCmpxUF32 F32 U;
        VCmpNgeF32 VCmpxNgeF32 F32 Nge;
        VCmpNgtF32 VCmpxNgtF32 F32 Ngt;
        VCmpNleF32 VCmpxNleF32 F32 Nle;
        VCmpNltF32 VCmpxNltF32 F32 Nlt;
        VCmpNlgF32 VCmpxNlgF32 F32 Nlg;
        VCmpNeqF32 VCmpxNeqF32 F32 Neq;
        VCmpTruF32 VCmpxTruF32 F32 T;
        VCmpTF32 VCmpxTF32 F32 T;
        VCmpFF64 VCmpxFF64 F64 F;
        VCmpLtF64 VCmpxLtF64 F64 Lt;
        VCmpEqF64 VCmpxEqF64 F64 Eq;
        VCmpLeF64 VCmpxLeF64 F64 Le;
        VCmpGtF64 VCmpxGtF64 F64 Gt;
        VCmpGeF64 VCmpxGeF64 F64 Ge;
        VCmpLgF64 VCmpxLgF64 F64 Lg;
        VCmpOF64 VCmpxOF64 F64 O;
        VCmpUF64 VCmpxUF64 F64 U;
        VCmpNgeF64 VCmpxNgeF64 F64 Nge;
        VCmpNgtF64 VCmpxNgtF64 F64 Ngt;
        VCmpNleF64 VCmpxNleF64 F64 Nle;
        VCmpNltF64 VCmpxNltF64 F64 Nlt;
        VCmpNlgF64 VCmpxNlgF64 F64 Nlg;
        VCmpNeqF64 VCmpxNeqF64 F64 Neq;
        VCmpTruF64 VCmpxTruF64 F64 T;
        VCmpTF64 VCmpxTF64 F64 T;
    }
    classes {
        VCmpClassF16 VCmpxClassF16 F16;
        VCmpClassF32 VCmpxClassF32 F32;
        VCmpClassF64 VCmpxClassF64 F64;
    }
}
