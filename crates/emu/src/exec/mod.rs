//! What steps do, a file for each family of instructions.
#![allow(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "registers are checked when steps are made; operations are defined on the bits of registers"
)]

pub(crate) mod address;
pub(crate) mod atomic;
pub(crate) mod barrier;
pub(crate) mod control;
pub(crate) mod ds;
pub(crate) mod float;
pub(crate) mod format;
pub(crate) mod lane;
pub(crate) mod lds_copy;
pub(crate) mod matrix;
pub(crate) mod memory;
pub(crate) mod modifier;
pub(crate) mod salu;
pub(crate) mod smem;
pub(crate) mod tensor;
pub(crate) mod transpose;
pub(crate) mod valu;

use crate::step::{Context, Handler, Host, Step};
use crate::wave::Wave;

/// What a handler does, to be compiled for each set of the host's vector instructions.
pub(crate) trait Body<const C: usize> {
    fn run(wave: &mut Wave<C>, context: &mut Context<'_>, step: &Step<C>);
}

fn portable<const C: usize, B: Body<C>>(
    wave: &mut Wave<C>,
    context: &mut Context<'_>,
    step: &Step<C>,
) {
    B::run(wave, context, step);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
fn avx2<const C: usize, B: Body<C>>(wave: &mut Wave<C>, context: &mut Context<'_>, step: &Step<C>) {
    B::run(wave, context, step);
}

/// The handler for a host.
pub(crate) fn handler<const C: usize, B: Body<C>>(host: Host) -> Handler<C> {
    match host {
        Host::Portable => portable::<C, B>,
        #[cfg(target_arch = "x86_64")]
        Host::Avx2 => avx2::<C, B>,
    }
}
