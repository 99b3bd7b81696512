//! Races: two waves access the same bytes, one of them writes, and nothing orders the two.
//!
//! What orders accesses of waves: barriers, and atomic operations or accesses with a coherent scope at the same place. All
//! of them count as release and acquire. Time is the order in which the emulator runs; a wave that has acquired at a
//! time comes after all that others had released by then. That is more order than the program has, never less: what is found
//! is a race.
//!
//! A release covers what is complete: an access that was not waited for is not ordered by a barrier that follows it.
//!
//! A plain load of what others change by atomic operations is a guess where the wave itself goes on to an atomic operation at
//! the place: compilers so begin loops around compare-and-swap, and a wrong guess costs a round. Until that is known, what
//! would be found is kept.

use std::collections::HashMap;

use hsaco_isa::effects::Access;

use super::access::{Piece, Touched};
use super::fault::{Event, Fault, Key};
use super::site::Site;
use super::wait::Class;
use super::{FaultKind, Here, Observer};
use crate::error::StopLocation;
use crate::step::Context;

const HELP: &str = "put a barrier between the two, with the waits before it that complete them, or use atomic operations";
const ACROSS_HELP: &str = "workgroups run in any order: give each its own part, use atomic operations, or launch two kernels";

/// Bytes of a page of the shadow.
const PAGE: u64 = 4096;

/// When a wave has released, and what was complete.
#[derive(Default)]
pub(super) struct Clock {
    workgroup: [u32; 3],
    wave: u32,
    /// Times, and the last operation of each class that was complete.
    releases: Vec<(u64, [u32; 4])>,
    acquired: u64,
}

/// An access that is remembered.
#[derive(Clone, Copy, Default)]
struct Mark {
    /// The wave, from 1 on; 0 where there was none.
    wave: u32,
    number: u32,
    site: u32,
    /// The bytes of the word.
    bytes: u8,
    class: u8,
    is_atomic: bool,
}

/// What happened to a word: the last write, and a read since.
#[derive(Clone, Copy, Default)]
struct Cell {
    write: Mark,
    read: Mark,
}

/// The words of memory, as far as they were accessed.
#[derive(Default)]
pub(super) struct Words {
    pages: Vec<Box<[Cell]>>,
    numbers: HashMap<u64, usize>,
    /// The page that was looked up last: neighbours are in it.
    last: Option<(u64, usize)>,
}

impl Words {
    #[inline]
    fn cell(&mut self, address: u64) -> &mut Cell {
        let page = address / PAGE;
        let at = match self.last {
            Some((last, at)) if last == page => at,
            _ => self.look_up(page),
        };
        &mut self.pages[at][(address % PAGE / 4) as usize]
    }

    fn look_up(&mut self, page: u64) -> usize {
        let next = self.pages.len();
        let at = *self.numbers.entry(page).or_insert(next);
        if at == next {
            let cells = (PAGE / 4) as usize;
            self.pages.push(vec![Cell::default(); cells].into_boxed_slice());
        }
        self.last = Some((page, at));
        at
    }
}

/// The races of a dispatch.
#[derive(Default)]
pub(super) struct Races {
    clocks: Vec<Clock>,
    memory: Words,
    /// When a place was released.
    released: HashMap<(Place, u64), u64>,
    /// Findings about plain loads beside atomic operations, by who loaded what.
    guesses: HashMap<(u32, Place, u64), (Key, Fault)>,
    now: u64,
    sites: Vec<u64>,
    site_numbers: HashMap<u64, u32>,
}

/// Whose memory a place is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Place {
    Device,
    Workgroup([u32; 3]),
}

impl Races {
    /// The number of a wave that begins, from 1 on.
    pub(super) fn begin(&mut self, workgroup: [u32; 3], wave: u32) -> u32 {
        self.clocks.push(Clock { workgroup, wave, ..Clock::default() });
        self.clocks.len() as u32
    }

    fn clock(&mut self, wave: u32) -> &mut Clock {
        &mut self.clocks[wave as usize - 1]
    }

    /// A wave lets others know what it has done.
    pub(super) fn release(&mut self, wave: u32, completed: [u32; 4]) -> u64 {
        self.now += 1;
        let now = self.now;
        let releases = &mut self.clock(wave).releases;
        match releases.last_mut() {
            // An earlier release of the same orders all that this one does.
            Some(last) if last.1 == completed => {}
            _ => releases.push((now, completed)),
        }
        now
    }

    /// A wave learns what others have released by now.
    pub(super) fn acquire(&mut self, wave: u32, time: u64) {
        let clock = self.clock(wave);
        clock.acquired = clock.acquired.max(time);
    }

    pub(super) fn now(&self) -> u64 {
        self.now
    }

    /// Whether what is remembered came before what a wave does now.
    fn is_ordered(&self, mark: &Mark, wave: u32) -> bool {
        if mark.wave == 0 || mark.wave == wave {
            return true;
        }
        let class = usize::from(mark.class);
        let releases = &self.clocks[mark.wave as usize - 1].releases;
        let first = releases.partition_point(|it| it.1[class] < mark.number);
        let acquired = self.clocks[wave as usize - 1].acquired;
        releases.get(first).is_some_and(|it| it.0 <= acquired)
    }

    fn site(&mut self, address: u64) -> u32 {
        let next = self.sites.len() as u32;
        let number = *self.site_numbers.entry(address).or_insert(next);
        if number == next {
            self.sites.push(address);
        }
        number
    }
}

/// Who accesses memory.
#[derive(Clone, Copy)]
struct Actor {
    wave: u32,
    number: u32,
    class: Class,
    site: u32,
    access: Access,
    is_atomic: bool,
}

/// Two accesses that nothing orders.
pub(super) struct Conflict {
    place: Place,
    address: u64,
    lane: usize,
    before: Mark,
    wrote: bool,
    /// What was there; where a write leaves it as it was, nothing depends on the order.
    old: u32,
    /// The wave that has loaded what the other changes by an atomic operation.
    guessed_by: Option<u32>,
}

impl Races {
    /// Looks at one word, and remembers the access.
    #[inline]
    fn touch(&self, cells: &mut Words, piece: Piece, actor: Actor) -> Option<(Mark, bool)> {
        let cell = cells.cell(piece.address);
        let is_write = actor.access != Access::Load;
        let conflicts = |mark: &Mark| {
            mark.bytes & piece.bytes != 0
                && !(mark.is_atomic && actor.is_atomic)
                && !self.is_ordered(mark, actor.wave)
        };
        let found = if conflicts(&cell.write) {
            Some((cell.write, true))
        } else if is_write && conflicts(&cell.read) {
            Some((cell.read, false))
        } else {
            None
        };
        let mark = Mark {
            wave: actor.wave,
            number: actor.number,
            site: actor.site,
            bytes: piece.bytes,
            class: actor.class as u8,
            is_atomic: actor.is_atomic,
        };
        if is_write {
            *cell = Cell { write: mark, read: Mark::default() };
        } else if cell.read.bytes == 0 || self.is_ordered(&cell.read, actor.wave) {
            cell.read = mark;
        }
        found
    }
}

impl Observer<'_> {
    /// Looks at an access before it happens; says what conflicts with it.
    pub(super) fn check_races(
        &mut self,
        site: &Site,
        touched: &Touched,
        context: &Context<'_>,
    ) -> Vec<Conflict> {
        let state = &self.group.waves[self.wave as usize];
        let (wave, class) = (state.id, site.class.unwrap_or(Class::Load));
        let number = state.issued[class as usize] + 1;
        let completed = state.completed(self.orders_lds());
        let is_sync = touched.access == Access::Atomic || site.is_coherent;
        let site_number = self.races.site(site.address);
        let actor = Actor {
            wave,
            number,
            class,
            site: site_number,
            access: touched.access,
            is_atomic: is_sync,
        };
        let mut conflicts = Vec::new();
        let mut lds = std::mem::take(&mut self.group.lds);
        let mut memory = std::mem::take(&mut self.races.memory);
        let mut last = None;
        for piece in touched.pieces() {
            let place = if piece.is_lds { Place::Workgroup(self.workgroup) } else { Place::Device };
            // Lanes that read one word read it once.
            if last == Some((place, piece.address, piece.bytes)) && !is_sync {
                continue;
            }
            last = Some((place, piece.address, piece.bytes));
            if touched.access == Access::Atomic {
                self.races.guesses.remove(&(wave, place, piece.address));
            }
            if is_sync {
                let key = (place, piece.address);
                if let Some(time) = self.races.released.get(&key).copied() {
                    self.races.acquire(wave, time);
                }
                if touched.access != Access::Load {
                    let now = self.races.release(wave, completed);
                    self.races.released.insert(key, now);
                }
            }
            let cells = if piece.is_lds { &mut lds } else { &mut memory };
            if let Some((before, wrote)) = self.races.touch(cells, piece, actor) {
                let old = piece.value(context);
                let guessed_by = match (before.is_atomic, is_sync) {
                    (true, false) if touched.access == Access::Load => Some(wave),
                    (false, true) if !wrote => Some(before.wave),
                    _ => None,
                };
                conflicts.push(Conflict {
                    guessed_by,
                    place,
                    address: piece.address,
                    lane: piece.lane,
                    before,
                    wrote,
                    old,
                });
            }
        }
        self.group.lds = lds;
        self.races.memory = memory;
        conflicts
    }

    /// Tells conflicts, once the access has happened.
    pub(super) fn tell_races(
        &mut self,
        site: &Site,
        access: Access,
        conflicts: &[Conflict],
        context: &Context<'_>,
    ) {
        for conflict in conflicts {
            let piece = Piece {
                address: conflict.address,
                bytes: 15,
                lane: conflict.lane,
                is_lds: conflict.place != Place::Device,
            };
            if access != Access::Load && piece.value(context) == conflict.old {
                continue;
            }
            self.tell_race(self.here(site, 1 << conflict.lane), access, conflict);
        }
    }

    fn tell_race(&mut self, here: Here<'_>, access: Access, conflict: &Conflict) {
        let before = self.races.sites[conflict.before.site as usize];
        let key = (FaultKind::Race, here.site.address, before);
        if let Some(wave) = conflict.guessed_by {
            let fault = self.describe_race(here, access, conflict, before);
            let place = (wave, conflict.place, conflict.address);
            self.races.guesses.insert(place, (key, fault));
            return;
        }
        self.sanitizer.faults.add(key, || self.describe_race(here, access, conflict, before));
    }

    /// All waves of a workgroup have ended: what they loaded was no guess.
    pub(super) fn tell_guesses(&mut self, workgroup: [u32; 3]) {
        let Races { guesses, clocks, .. } = &mut self.races;
        let is_its = |wave: u32| clocks[wave as usize - 1].workgroup == workgroup;
        for (_, (key, fault)) in guesses.extract_if(|it, _| is_its(it.0)) {
            self.sanitizer.faults.add(key, || fault);
        }
    }

    fn describe_race(
        &self,
        here: Here<'_>,
        access: Access,
        conflict: &Conflict,
        before: u64,
    ) -> Fault {
        let clock = &self.races.clocks[conflict.before.wave as usize - 1];
        let memory = match conflict.place {
            Place::Device => format!("{:#x}", conflict.address),
            Place::Workgroup(_) => format!("{:#x} of LDS", conflict.address),
        };
        let does = if access == Access::Load { "reads" } else { "writes" };
        let is_across = clock.workgroup != here.workgroup;
        let who = if is_across { "workgroup" } else { "wave" };
        Fault {
            kind: FaultKind::Race,
            is_certain: true,
            at: self.location(here),
            message: format!("{does} {memory}, and nothing orders that with another {who}"),
            before: Some(Event {
                what: if conflict.wrote { "written by" } else { "read by" },
                at: StopLocation {
                    address: before,
                    instruction: self.text_at(before),
                    workgroup: clock.workgroup,
                    wave: clock.wave,
                    lanes: 0,
                    ..self.location(here)
                },
            }),
            help: if is_across { ACROSS_HELP } else { HELP }.to_owned(),
            times: 1,
        }
    }
}
