//! Barriers: of the workgroup, named ones, that of a cluster, and those that trap handlers have.

use crate::barrier::Barrier;
use crate::error::ErrorKind;
use crate::step::{Context, Step};
use crate::wave::{State, Wave, Which, scalar};

/// `s_barrier`: comes, and waits for the others.
pub(crate) fn meet<const C: usize>(wave: &mut Wave<C>, context: &mut Context<'_>, _: &Step<C>) {
    if context.barriers.update(Which::Workgroup, Barrier::signal).is_some() {
        wait_at(wave, context, Which::Workgroup);
    }
}

fn wait_at<const C: usize>(wave: &mut Wave<C>, context: &Context<'_>, which: Which) {
    wave.state = State::Waiting(which);
    if !context.barriers.wakes(wave, context.grid) {
        wave.stop = true;
    }
}

/// The barrier of the dispatch that an instruction names: its offset `k`, and M0.
fn of_grid<const C: usize>(wave: &Wave<C>, step: &Step<C>) -> (u8, u32) {
    let base = u64::from(wave.s[usize::from(scalar::M0)] >> 16);
    let lane = wave.active.trailing_zeros() as usize;
    let others = wave.v[usize::from(step.a)].lane(lane % Wave::<C>::LANES);
    ((base + step.k) as u8 & 63, others)
}

/// `ds_gws_init`: `v[a]` of the first lane is how many waves must come besides one.
pub(crate) fn init_grid<const C: usize>(
    wave: &mut Wave<C>,
    context: &mut Context<'_>,
    step: &Step<C>,
) {
    let (number, others) = of_grid(wave, step);
    context.grid.init(number, others);
}

/// `ds_gws_barrier`: comes, and waits for all waves of the dispatch that use it.
pub(crate) fn meet_grid<const C: usize>(
    wave: &mut Wave<C>,
    context: &mut Context<'_>,
    step: &Step<C>,
) {
    let (number, others) = of_grid(wave, step);
    *wave.seen(Which::Grid(number)) = context.grid.arrive(number, others);
    wait_at(wave, context, Which::Grid(number));
}

/// The barrier that an operand names: `k`, or M0 where `a` is 1; none where signalling it does nothing.
pub(crate) fn named<const C: usize>(wave: &Wave<C>, step: &Step<C>) -> (Option<Which>, u32) {
    if step.a == 1 {
        let m0 = wave.s[usize::from(scalar::M0)];
        return (Some(Which::Named(m0 as u8 & 31)), m0 >> 16 & 0x7f);
    }
    match step.k as i16 {
        -1 => (Some(Which::Workgroup), 0),
        -3 => (Some(Which::Cluster), 0),
        number @ 1.. => (Some(Which::Named(number.min(255) as u8)), 0),
        // Those of trap handlers, and none.
        _ => (None, 0),
    }
}

/// A wave says that it has come; with `c` 1, SCC says whether it was the first; `e` is 1 where SCC is cleared if there is
/// no such barrier.
pub(crate) fn signal<const C: usize>(
    wave: &mut Wave<C>,
    context: &mut Context<'_>,
    step: &Step<C>,
) {
    let (which, members) = named(wave, step);
    let change = |barrier: &mut Barrier| {
        if members != 0 {
            barrier.members = members;
        }
        barrier.signal()
    };
    match which.and_then(|it| context.barriers.update(it, change)) {
        Some(is_first) if step.c == 1 => wave.scc = is_first,
        None if step.c == 1 && step.e == 1 => wave.scc = false,
        _ => {}
    }
}

/// Waits at the barrier `k`: from 0 on, at the named one that the wave has joined.
pub(crate) fn wait<const C: usize>(wave: &mut Wave<C>, context: &mut Context<'_>, step: &Step<C>) {
    let which = match step.k as i16 {
        -1 => Which::Workgroup,
        -3 => Which::Cluster,
        0.. => Which::Named(wave.joined),
        _ => return,
    };
    if context.barriers.get(which).is_some() {
        wait_at(wave, context, which);
    }
}

/// How many waves a named barrier is for, if M0 says so; none has come.
pub(crate) fn init<const C: usize>(wave: &mut Wave<C>, context: &mut Context<'_>, step: &Step<C>) {
    let (which, members) = named(wave, step);
    let which = which.filter(|it| matches!(it, Which::Named(_)));
    if let Some(which) = which {
        context.barriers.update(which, |barrier| {
            barrier.signalled = 0;
            if members != 0 {
                barrier.members = members;
            }
        });
    }
}

/// From now on a wave waits at this named barrier; at none where it is 0.
pub(crate) fn join<const C: usize>(wave: &mut Wave<C>, context: &mut Context<'_>, step: &Step<C>) {
    let number = match named(wave, step) {
        (Some(Which::Named(number)), _) => number,
        _ if step.k as i16 == 0 => 0,
        _ => return,
    };
    if number == 0 || context.barriers.get(Which::Named(number)).is_some() {
        wave.joined = number;
        *wave.seen(Which::Named(number)) = context.barriers.passed(Which::Named(number));
    }
}

/// Leaves the named barrier, which is for one wave fewer; SCC says whether none is left.
pub(crate) fn leave<const C: usize>(wave: &mut Wave<C>, context: &mut Context<'_>, _: &Step<C>) {
    let leave = |barrier: &mut Barrier| {
        barrier.leave();
        barrier.members == 0
    };
    let is_last = context.barriers.update(Which::Named(wave.joined), leave);
    if is_last.is_some() {
        wave.joined = 0;
    }
    wave.scc = is_last.unwrap_or(false);
}

/// `s[d]` is the state of a barrier: whether it is there, its members, those that have come, a quarter of the named ones.
pub(crate) fn state<const C: usize>(wave: &mut Wave<C>, context: &mut Context<'_>, step: &Step<C>) {
    let (which, _) = named(wave, step);
    let count = u32::from(context.barriers.count);
    let barrier = which.and_then(|it| context.barriers.get(it));
    let valid = u32::from(barrier.is_some());
    let Barrier { members, signalled, .. } = barrier.unwrap_or_default();
    wave.s[usize::from(step.d)] =
        (count / 4) << 24 | (signalled & 0x7f) << 16 | (members & 0x7f) << 4 | valid;
}

/// A load for the workgroups of a cluster that M0 names, of which the wave's own has to be one: what others get that did not
/// ask for it is not defined.
pub(crate) fn check_mask<const C: usize>(
    wave: &mut Wave<C>,
    context: &mut Context<'_>,
    _: &Step<C>,
) {
    let mask = wave.s[usize::from(scalar::M0)] & 0xffff;
    if let Some(member) = &context.barriers.cluster
        && mask != 0
        && mask >> member.number & 1 == 0
    {
        let why =
            format!("a load for workgroups {mask:#x} of a cluster by workgroup {}", member.number);
        wave.fail(ErrorKind::Unsupported, 0, why);
    }
}
