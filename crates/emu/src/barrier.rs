//! Barriers of a workgroup and of a cluster: who has come, and who may go on.
#![allow(clippy::cast_possible_truncation, reason = "there are few barriers")]

use std::cell::Cell;
use std::rc::Rc;

use crate::grid::GridSync;
use crate::wave::{State, Wave, Which};

/// Named barriers of a workgroup at most.
const MOST_NAMED: usize = 16;

/// A barrier: how many must come, how many have, and how often all had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Barrier {
    pub(crate) members: u32,
    pub(crate) signalled: u32,
    passed: u32,
}

impl Barrier {
    /// Counts one wave; says whether it was the first.
    pub(crate) fn signal(&mut self) -> bool {
        self.signalled += 1;
        let is_first = self.signalled == 1;
        self.complete();
        is_first
    }

    /// One member fewer.
    pub(crate) fn leave(&mut self) {
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

/// A workgroup of a cluster.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    /// Its number there.
    pub(crate) number: u32,
    /// Counts workgroups, not waves. All of a cluster run on one thread.
    barrier: Rc<Cell<Barrier>>,
}

impl Member {
    /// The workgroups of a cluster of so many; a single one is no cluster.
    pub(crate) fn all(count: usize) -> Vec<Option<Self>> {
        let members = count as u32;
        let barrier = Rc::new(Cell::new(Barrier { members, ..Barrier::default() }));
        let member = |number| Self { number, barrier: Rc::clone(&barrier) };
        (0..members).map(|number| (members > 1).then(|| member(number))).collect()
    }
}

/// The barriers of a workgroup.
#[derive(Clone, Debug)]
pub(crate) struct Barriers {
    workgroup: Barrier,
    named: [Barrier; MOST_NAMED],
    /// How many named ones there are.
    pub(crate) count: u8,
    /// A single wave is no workgroup, and its barriers do nothing.
    is_workgroup: bool,
    pub(crate) cluster: Option<Member>,
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
            cluster: None,
        }
    }

    /// The same for a workgroup of a cluster.
    pub(crate) fn in_cluster(self, cluster: Option<Member>) -> Self {
        Self { cluster, ..self }
    }

    /// A barrier, if it is there.
    pub(crate) fn get(&self, which: Which) -> Option<Barrier> {
        match which {
            Which::Workgroup => self.is_workgroup.then_some(self.workgroup),
            Which::Named(number) => {
                let exists = number > 0 && number <= self.count;
                self.named.get(usize::from(number).wrapping_sub(1)).copied().filter(|_| exists)
            }
            Which::Cluster => self.cluster.as_ref().map(|it| it.barrier.get()),
            Which::Grid(_) => None,
        }
    }

    /// Changes a barrier, if it is there.
    pub(crate) fn update<R>(
        &mut self,
        which: Which,
        change: impl FnOnce(&mut Barrier) -> R,
    ) -> Option<R> {
        let mut barrier = self.get(which)?;
        let result = change(&mut barrier);
        match which {
            Which::Workgroup => self.workgroup = barrier,
            Which::Named(number) => {
                let place = self.named.get_mut(usize::from(number).wrapping_sub(1));
                place.into_iter().for_each(|it| *it = barrier);
            }
            Which::Cluster => {
                self.cluster.iter().for_each(|it| it.barrier.set(barrier));
            }
            Which::Grid(_) => {}
        }
        Some(result)
    }

    pub(crate) fn passed(&self, which: Which) -> u32 {
        match which {
            Which::Workgroup => self.workgroup.passed,
            Which::Named(number) => {
                self.named.get(usize::from(number).wrapping_sub(1)).map_or(0, |it| it.passed)
            }
            Which::Cluster => self.cluster.as_ref().map_or(0, |it| it.barrier.get().passed),
            Which::Grid(_) => 0,
        }
    }

    /// How often all waves of the workgroup have come.
    pub(crate) fn phase(&self) -> u32 {
        self.workgroup.passed
    }

    /// Whether signals of a barrier are lost; in a workgroup of one wave none is needed.
    pub(crate) fn is_missing(&mut self, which: Which) -> bool {
        self.is_workgroup && self.get(which).is_none()
    }

    /// A wave ends, and with it its part in barriers that count waves; with the last one, that of its workgroup.
    pub(crate) fn leave(&mut self) {
        self.workgroup.leave();
        if self.workgroup.members == 0 {
            self.update(Which::Cluster, Barrier::leave);
        }
    }

    /// Whether a wave that waits may go on.
    pub(crate) fn wakes<const C: usize>(&self, wave: &mut Wave<C>, grid: &GridSync) -> bool {
        let State::Waiting(which) = wave.state else { return false };
        let passed = match which {
            Which::Grid(number) => grid.passed(number),
            which => self.passed(which),
        };
        let seen = wave.seen(which);
        if *seen == passed {
            return false;
        }
        *seen = passed;
        wave.state = State::Running;
        true
    }
}
