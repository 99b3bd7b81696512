//! Barriers: of the workgroup, named ones, and those that trap handlers and clusters have.

use crate::step::{Context, Step};
use crate::wave::{State, Wave, scalar};

/// Named barriers of a workgroup at most.
const MOST_NAMED: usize = 16;

/// A barrier: how many must come, how many have, and how often all had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Barrier {
    members: u32,
    signalled: u32,
    passed: u32,
}

impl Barrier {
    /// Counts one wave; says whether it was the first.
    fn signal(&mut self) -> bool {
        self.signalled += 1;
        let is_first = self.signalled == 1;
        self.complete();
        is_first
    }

    /// One member fewer.
    fn leave(&mut self) {
        self.members = self.members.saturating_sub(1);
        self.complete();
    }

    /// Lets waves pass where all that are left have come.
    fn complete(&mut self) {
        if self.signalled >= self.members && self.signalled > 0 {
            self.signalled = 0;
            self.passed = self.passed.wrapping_add(1);
        }
    }
}

/// A barrier that a wave can wait at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    Workgroup,
    /// By number, from 1 on.
    Named(u8),
}

/// The barriers of a workgroup.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Barriers {
    workgroup: Barrier,
    named: [Barrier; MOST_NAMED],
    /// How many named ones there are.
    count: u8,
    /// A single wave is no workgroup, and its barriers do nothing.
    is_workgroup: bool,
}

impl Barriers {
    pub(crate) fn new(waves: u32, named: u32) -> Self {
        let is_workgroup = waves > 1;
        let count = if is_workgroup { named.min(MOST_NAMED as u32) as u8 } else { 0 };
        Self {
            workgroup: Barrier { members: waves, ..Barrier::default() },
            named: [Barrier::default(); MOST_NAMED],
            count,
            is_workgroup,
        }
    }

    fn get(&mut self, which: Which) -> Option<&mut Barrier> {
        match which {
            Which::Workgroup => self.is_workgroup.then_some(&mut self.workgroup),
            Which::Named(number) => {
                let exists = number > 0 && number <= self.count;
                self.named.get_mut(usize::from(number).wrapping_sub(1)).filter(|_| exists)
            }
        }
    }

    fn passed(&self, which: Which) -> u32 {
        match which {
            Which::Workgroup => self.workgroup.passed,
            Which::Named(number) => {
                self.named.get(usize::from(number).wrapping_sub(1)).map_or(0, |it| it.passed)
            }
        }
    }

    /// A wave ends, and with it its part in barriers that count waves.
    pub(crate) fn leave(&mut self) {
        self.workgroup.leave();
    }

    /// Whether a wave that waits may go on.
    pub(crate) fn wakes<const C: usize>(&self, wave: &mut Wave<C>) -> bool {
        let State::Waiting(which) = wave.state else { return false };
        let passed = self.passed(which);
        let seen = wave.seen(which);
        if *seen == passed {
            return false;
        }
        *seen = passed;
        wave.state = State::Running;
        true
    }
}

impl<const C: usize> Wave<C> {
    /// How often the wave has gone through a barrier.
    fn seen(&mut self, which: Which) -> &mut u32 {
        match which {
            Which::Workgroup => &mut self.barriers_seen[0],
            Which::Named(_) => &mut self.barriers_seen[1],
        }
    }
}

/// `s_barrier`: comes, and waits for the others.
pub(crate) fn meet<const C: usize>(wave: &mut Wave<C>, context: &mut Context<'_>, _: &Step<C>) {
    if let Some(barrier) = context.barriers.get(Which::Workgroup) {
        barrier.signal();
        wait_at(wave, context, Which::Workgroup);
    }
}

fn wait_at<const C: usize>(wave: &mut Wave<C>, context: &Context<'_>, which: Which) {
    wave.state = State::Waiting(which);
    if !context.barriers.wakes(wave) {
        wave.stop = true;
    }
}

/// The barrier that an operand names: `k`, or M0 where `a` is 1; none where signalling it does nothing.
fn named<const C: usize>(wave: &Wave<C>, step: &Step<C>) -> (Option<Which>, u32) {
    if step.a == 1 {
        let m0 = wave.s[usize::from(scalar::M0)];
        return (Some(Which::Named(m0 as u8 & 31)), m0 >> 16 & 0x7f);
    }
    match step.k as i16 {
        -1 => (Some(Which::Workgroup), 0),
        number @ 1.. => (Some(Which::Named(number.min(255) as u8)), 0),
        // Those of trap handlers, none, and that of a cluster, which this is no part of.
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
    let Some(barrier) = which.and_then(|it| context.barriers.get(it)) else {
        if step.c == 1 && step.e == 1 {
            wave.scc = false;
        }
        return;
    };
    if members != 0 {
        barrier.members = members;
    }
    let is_first = barrier.signal();
    if step.c == 1 {
        wave.scc = is_first;
    }
}

/// Waits at the barrier `k`: from 0 on, at the named one that the wave has joined.
pub(crate) fn wait<const C: usize>(wave: &mut Wave<C>, context: &mut Context<'_>, step: &Step<C>) {
    let which = match step.k as i16 {
        -1 => Which::Workgroup,
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
    if let Some(barrier) = which.and_then(|it| context.barriers.get(it)) {
        barrier.signalled = 0;
        if members != 0 {
            barrier.members = members;
        }
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
    wave.scc = false;
    if let Some(barrier) = context.barriers.get(Which::Named(wave.joined)) {
        barrier.leave();
        wave.scc = barrier.members == 0;
        wave.joined = 0;
    }
}

/// `s[d]` is the state of a barrier: whether it is there, its members, those that have come, a quarter of the named ones.
pub(crate) fn state<const C: usize>(wave: &mut Wave<C>, context: &mut Context<'_>, step: &Step<C>) {
    let (which, _) = named(wave, step);
    let count = u32::from(context.barriers.count);
    let barrier = which.and_then(|it| context.barriers.get(it).copied());
    let valid = u32::from(barrier.is_some());
    let Barrier { members, signalled, .. } = barrier.unwrap_or_default();
    wave.s[usize::from(step.d)] =
        (count / 4) << 24 | (signalled & 0x7f) << 16 | (members & 0x7f) << 4 | valid;
}
