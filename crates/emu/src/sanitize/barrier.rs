//! Barriers that not all waves reach, or not the same.

use super::fault::{Event, Fault};
use super::site::{BarrierUse, Site};
use super::{FaultKind, Here, Observer};
use crate::error::StopLocation;
use crate::exec::barrier::named;
use crate::step::{Context, Step};
use crate::wave::Wave;
use crate::wave::Which;

pub(super) const HELP: &str =
    "let all waves of the workgroup reach the same barrier: move it out of the branch or the loop";
const TWICE_HELP: &str = "wait (s_barrier_wait) between two signals of a wave";
const MEMBERS_HELP: &str = "give the barrier one number of waves, in s_barrier_init";
const MISSING_HELP: &str = "ask for enough named barriers in the kernel descriptor (NAMED_BAR_CNT)";

/// Who has come to the barriers of a workgroup.
#[derive(Default)]
pub(super) struct Meetings {
    /// The first arrival of the phase that is not complete.
    first: Option<Arrival>,
    /// How often the barrier of the workgroup was complete at that time.
    phase: u32,
    /// Waves that have signalled, and not waited since; and where.
    signalled: Vec<Arrival>,
    /// How many waves a named barrier is for, and who said so.
    members: Vec<(u8, u32, Arrival)>,
}

/// Which instruction of which wave.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Arrival {
    wave: u32,
    address: u64,
}

impl Arrival {
    fn of(here: Here<'_>) -> Self {
        Self { wave: here.wave, address: here.site.address }
    }
}

impl Observer<'_> {
    /// A wave comes to a barrier.
    pub(super) fn check_barrier<const C: usize>(
        &mut self,
        site: &Site,
        way: BarrierUse,
        step: &Step<C>,
        wave: &Wave<C>,
        context: &mut Context<'_>,
    ) {
        let here = self.here(site, 0);
        match way {
            BarrierUse::Meet => self.meet(here, context),
            BarrierUse::Signal => match named(wave, step) {
                (Some(Which::Workgroup), _) => {
                    self.signal(here);
                    self.meet(here, context);
                }
                (Some(which @ Which::Named(number)), members) => {
                    self.named(here, which, number, members, context);
                }
                (Some(Which::Cluster | Which::Grid(_)) | None, _) => {}
            },
            BarrierUse::Init => {
                if let (Some(which @ Which::Named(number)), members) = named(wave, step) {
                    // What it was for before does not count any more.
                    self.group().members.retain(|it| it.0 != number);
                    self.named(here, which, number, members, context);
                }
            }
            BarrierUse::Wait if step.k as i16 == -1 => {
                let wave = self.wave;
                self.group().signalled.retain(|it| it.wave != wave);
            }
            BarrierUse::Wait | BarrierUse::Join | BarrierUse::Leave => {}
        }
    }

    fn group(&mut self) -> &mut Meetings {
        &mut self.group.barriers
    }

    /// All waves should meet at one instruction: two that do not may have skipped one.
    fn meet(&mut self, here: Here<'_>, context: &Context<'_>) {
        let phase = context.barriers.phase();
        let group = self.group();
        let Some(first) = group.first.filter(|_| group.phase == phase) else {
            (group.phase, group.first) = (phase, Some(Arrival::of(here)));
            return;
        };
        if first.address != here.site.address {
            let message = "waves meet at different barriers".to_owned();
            let before = ("another wave of the workgroup has come to", first);
            self.tell(here, false, message, Some(before), HELP);
        }
    }

    /// A wave that signals twice counts twice.
    fn signal(&mut self, here: Here<'_>) {
        let group = self.group();
        match group.signalled.iter().find(|it| it.wave == here.wave).copied() {
            None => group.signalled.push(Arrival::of(here)),
            Some(first) => {
                let message = "signals the barrier twice without waiting: it counts as two waves";
                let before = Some(("signalled by", first));
                self.tell(here, true, message.to_owned(), before, TWICE_HELP);
            }
        }
    }

    fn named(
        &mut self,
        here: Here<'_>,
        which: Which,
        number: u8,
        members: u32,
        context: &mut Context<'_>,
    ) {
        if context.barriers.is_missing(which) {
            let message = format!("named barrier {number} is not there: signals are lost");
            self.tell(here, true, message, None, MISSING_HELP);
            return;
        }
        if members == 0 {
            return;
        }
        let group = self.group();
        match group.members.iter().find(|it| it.0 == number).copied() {
            None => group.members.push((number, members, Arrival::of(here))),
            Some((_, before, place)) if before != members => {
                let message =
                    format!("named barrier {number} is for {members} waves, and was for {before}");
                self.tell(here, true, message, Some(("said by", place)), MEMBERS_HELP);
            }
            Some(_) => {}
        }
    }

    fn tell(
        &self,
        here: Here<'_>,
        is_certain: bool,
        message: String,
        before: Option<(&'static str, Arrival)>,
        help: &'static str,
    ) {
        let kind = FaultKind::Barrier;
        let other = before.map_or(0, |it| it.1.address);
        self.sanitizer.faults.add((kind, here.site.address, other), || Fault {
            kind,
            is_certain,
            at: self.location(here),
            message,
            before: before.map(|(what, Arrival { wave, address })| {
                let instruction = self.text_at(address);
                Event {
                    what,
                    at: StopLocation { address, instruction, wave, ..self.location(here) },
                }
            }),
            help: help.to_owned(),
            times: 1,
        });
    }
}
