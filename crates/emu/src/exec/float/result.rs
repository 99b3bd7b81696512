//! What becomes of results: OMOD and clamp, as operations of their own.

use std::marker::PhantomData;

use super::Operation;
use super::function::both;
use crate::num::{self, Format, Mode, OutputModifier};

/// Into 0 to 1.
pub(crate) struct Clamp<F>(PhantomData<F>);

impl<F: Format> Operation for Clamp<F> {
    const WIDE: [bool; 4] = [F::WIDTH == 64; 4];
    fn f(mode: &Mode, a: u64, _: u64, _: u64) -> u64 {
        num::clamp::<F>(F::narrow(a), mode).into()
    }
}

/// Both halves into 0 to 1.
pub(crate) struct ClampBoth<F>(PhantomData<F>);

impl<F: Format> Operation for ClampBoth<F> {
    const WIDE: [bool; 4] = [false; 4];
    fn f(mode: &Mode, a: u64, b: u64, c: u64) -> u64 {
        both(Clamp::<F>::f, mode, [a, b, c])
    }
}

/// By what the number of OMOD in `b` says.
pub(crate) struct OutputScale<F>(PhantomData<F>);

impl<F: Format> Operation for OutputScale<F> {
    const WIDE: [bool; 4] = [F::WIDTH == 64, F::WIDTH == 64, false, false];
    fn f(mode: &Mode, a: u64, b: u64, _: u64) -> u64 {
        let modifier = OutputModifier::of_field(b as u32);
        num::omod::<F>(F::narrow(a), modifier, mode.env::<F>()).into()
    }
}
