//! Where approximate values go: whether one decides an address or a branch.
//!
//! Registers, SCC and memory have a shadow that says whether a value comes from an instruction that is approximate. A
//! register that M0 selects counts as the one that the instruction names.
#![allow(clippy::cast_possible_truncation, reason = "lanes and words are below 2^32")]

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use hsaco_isa::effects::{Access, Flow};
use hsaco_isa::model::{Register, RegisterFile, Special};

use super::{Place, Seen, locate};
use crate::semantics::Fidelity;
use crate::wave::{Layout, Space, Wave};

/// What an approximate value has decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    /// An address.
    pub address: bool,
    /// A branch, or which lanes are enabled.
    pub branch: bool,
}

/// Words of memory that hold approximate values: threads share them.
#[derive(Debug, Default)]
pub(crate) struct Tainted(Mutex<HashSet<(Owner, u64)>>);

/// Whose memory a word is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Owner {
    Device,
    /// LDS of a workgroup.
    Workgroup([u32; 3]),
    /// Scratch memory of a lane.
    Lane([u32; 3], u32, u8),
}

impl Tainted {
    fn lock(&self) -> MutexGuard<'_, HashSet<(Owner, u64)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The shadow of a wave.
#[derive(Default)]
struct Shadow {
    /// The lanes of each vector register.
    vectors: HashMap<usize, u64>,
    scalars: HashSet<usize>,
    scc: bool,
}

type WaveNumber = ([u32; 3], u32);

/// Follows values.
pub(crate) struct Reaching<'d> {
    memory: &'d Tainted,
    waves: HashMap<WaveNumber, Shadow>,
    reached: Reached,
}

impl Shadow {
    /// The lanes in which a register is approximate; all for a scalar.
    fn lanes(&self, register: &Register, layout: Layout) -> u64 {
        let count = usize::from(register.count.max(1));
        match locate(register, layout) {
            Some(Place::Vector(first)) => (first..first + count)
                .filter_map(|at| self.vectors.get(&at))
                .fold(0, |all, lanes| all | lanes),
            Some(Place::Scalar(first)) => {
                let any = (first..first + count).any(|at| self.scalars.contains(&at));
                if any { u64::MAX } else { 0 }
            }
            Some(Place::Scc) if self.scc => u64::MAX,
            _ => 0,
        }
    }

    fn write(&mut self, register: &Register, layout: Layout, exec: u64, lanes: u64) {
        let count = usize::from(register.count.max(1));
        match locate(register, layout) {
            Some(Place::Vector(first)) => {
                for at in first..first + count {
                    let old = self.vectors.entry(at).or_default();
                    *old = *old & !exec | lanes & exec;
                }
            }
            Some(Place::Scalar(first)) => {
                for at in first..first + count {
                    if lanes == 0 {
                        self.scalars.remove(&at);
                    } else {
                        self.scalars.insert(at);
                    }
                }
            }
            Some(Place::Scc) => self.scc = lanes != 0,
            _ => {}
        }
    }
}

fn is_exec(register: &Register) -> bool {
    use Special::{Exec, ExecHi, ExecLo};
    matches!(register.file, RegisterFile::Special(Exec | ExecLo | ExecHi))
}

impl<'d> Reaching<'d> {
    pub(crate) fn new(memory: &'d Tainted) -> Self {
        Self { memory, waves: HashMap::new(), reached: Reached::default() }
    }

    pub(crate) fn reached(&self) -> Reached {
        self.reached
    }

    /// An instruction has run.
    pub(super) fn follow<const C: usize>(
        &mut self,
        number: WaveNumber,
        seen: &Seen,
        layout: Layout,
        exec: u64,
        memory: &[(Option<u8>, u64)],
        wave: &Wave<C>,
    ) {
        let shadow = self.waves.entry(number).or_default();
        let of = |list: &[Register]| {
            let values = list.iter().filter(|it| !is_exec(it));
            values.fold(0, |all, it| all | shadow.lanes(it, layout))
        };
        let mut lanes = of(&seen.reads) & exec_or_all(exec);
        if seen.crosses_lanes && of(&seen.reads) != 0 {
            lanes = u64::MAX;
        }
        if seen.fidelity == Fidelity::Approximate {
            lanes = u64::MAX;
        }
        if let Some(access) = seen.memory {
            self.reached.address |= of(&seen.addresses) & exec_or_all(exec) != 0;
            let data = lanes;
            let mut all = self.memory.lock();
            lanes = 0;
            for (lane, address) in memory {
                let bit = lane.map_or(u64::MAX, |it| 1 << it);
                let owner = owner(number, lane.unwrap_or(0), wave);
                let owner = if lane.is_none() { Owner::Device } else { owner };
                let words = address / 4..=(address + u64::from(access.bytes.unwrap_or(4)) - 1) / 4;
                for word in words {
                    if access.access != Access::Store && all.contains(&(owner, word)) {
                        lanes |= bit;
                    }
                    if access.access != Access::Load && data & bit != 0 {
                        all.insert((owner, word));
                    } else if access.access == Access::Store {
                        all.remove(&(owner, word));
                    }
                }
            }
        }
        let decides =
            matches!(seen.flow, Flow::ConditionalBranch | Flow::IndirectCall | Flow::IndirectJump);
        let of_branch = seen.reads.iter().fold(0, |all, it| all | shadow.lanes(it, layout));
        self.reached.branch |= decides && of_branch != 0;
        for register in &seen.writes {
            self.reached.branch |= is_exec(register) && lanes != 0;
            shadow.write(register, layout, exec, lanes);
        }
    }
}

/// The lanes that an instruction works on; those of scalars do not depend on EXEC.
fn exec_or_all(exec: u64) -> u64 {
    if exec == 0 { u64::MAX } else { exec }
}

fn owner<const C: usize>(number: WaveNumber, lane: u8, wave: &Wave<C>) -> Owner {
    let address = wave.addresses.get(usize::from(lane)).copied().unwrap_or(0);
    use crate::exec::address::{PRIVATE_APERTURE, SHARED_APERTURE};
    match wave.space {
        Space::Lds => Owner::Workgroup(number.0),
        Space::Private => Owner::Lane(number.0, number.1, lane),
        Space::Flat if address >> 32 == u64::from(SHARED_APERTURE) => Owner::Workgroup(number.0),
        Space::Flat if address >> 32 == u64::from(PRIVATE_APERTURE) => {
            Owner::Lane(number.0, number.1, lane)
        }
        _ => Owner::Device,
    }
}
