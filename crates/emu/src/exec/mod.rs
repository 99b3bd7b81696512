//! What steps do, a file for each family of instructions.
#![allow(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "registers are checked when steps are made; operations are defined on the bits of registers"
)]

pub(crate) mod address;
pub(crate) mod atomic;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;
pub(crate) mod barrier;
pub(crate) mod control;
pub(crate) mod ds;
pub(crate) mod errata;
pub(crate) mod exception;
pub(crate) mod float;
pub(crate) mod format;
pub(crate) mod lane;
pub(crate) mod lds_copy;
pub(crate) mod matrix;
pub(crate) mod memory;
pub(crate) mod modifier;
pub(crate) mod salu;
pub(crate) mod small;
pub(crate) mod smem;
pub(crate) mod tensor;
pub(crate) mod transpose;
pub(crate) mod valu;

use crate::step::{Context, Handler, Host, Step};
use crate::wave::{Vector, Wave};

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

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512dq,avx512vl")]
fn avx512<const C: usize, B: Body<C>>(
    wave: &mut Wave<C>,
    context: &mut Context<'_>,
    step: &Step<C>,
) {
    B::run(wave, context, step);
}

/// One or two registers of a lane.
#[inline(always)]
fn value_at<const C: usize>(
    file: &[Vector<C>],
    register: usize,
    at: usize,
    lane: usize,
    wide: bool,
) -> u64 {
    let low = u64::from(file[register].0[at][lane]);
    if wide { low | u64::from(file[register + 1].0[at][lane]) << 32 } else { low }
}

/// New values where the mask is set.
#[inline(always)]
fn blend(old: &mut [u32; 8], new: &[u32; 8], mask: &[u32; 8]) {
    for lane in 0..8 {
        old[lane] = new[lane] & mask[lane] | old[lane] & !mask[lane];
    }
}

#[inline(always)]
fn all_ones_if(is_so: bool) -> u32 {
    0_u32.wrapping_sub(is_so.into())
}

/// A lane mask from what each of eight lanes has found, a bit for each chunk: the transpose of eight times eight bits.
#[inline(always)]
fn lane_mask(columns: [u32; 8]) -> u64 {
    let mut bits = u64::from_le_bytes(columns.map(|it| it as u8));
    for (distance, mask) in
        [(7, 0x00aa_00aa_00aa_00aa), (14, 0x0000_cccc_0000_cccc), (28, 0xf0f0_f0f0)]
    {
        let swapped = (bits ^ bits >> distance) & mask;
        bits ^= swapped ^ swapped << distance;
    }
    bits
}

/// The handler of what is seldom used: one for all hosts, so that there is less to compile.
pub(crate) fn rare_handler<const C: usize, B: Body<C>>(_: Host) -> Handler<C> {
    portable::<C, B>
}

/// The handler for a host.
pub(crate) fn handler<const C: usize, B: Body<C>>(host: Host) -> Handler<C> {
    match host {
        Host::Portable => portable::<C, B>,
        #[cfg(target_arch = "x86_64")]
        Host::Avx2 | Host::Avx512 => avx2::<C, B>,
    }
}

/// The handler for a host, of what is used so often that vectors of 512 bits are worth one more.
pub(crate) fn wide_handler<const C: usize, B: Body<C>>(host: Host) -> Handler<C> {
    match host {
        #[cfg(target_arch = "x86_64")]
        Host::Avx512 => avx512::<C, B>,
        _ => handler::<C, B>(host),
    }
}

#[cfg(test)]
mod tests {
    use super::lane_mask;

    #[test]
    fn lane_masks_have_the_lanes_of_a_chunk_beside_each_other() {
        for lane in 0..8 {
            for at in 0..8 {
                let mut columns = [0; 8];
                columns[lane] = 1 << at;
                assert_eq!(lane_mask(columns), 1 << (at * 8 + lane));
            }
        }
    }
}
