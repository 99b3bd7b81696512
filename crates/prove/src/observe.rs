//! What waves hold at the edges of sites.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Mutex, PoisonError};

use hsaco_emu::{Arrival, Executed, Host, Observer, RegisterValue, Tracer};
use hsaco_isa::model::Register;

/// A wave: its workgroup and its number there.
pub(crate) type WaveId = ([u32; 3], u32);

/// The registers that are looked at, by the address at which they are live.
pub(crate) type Edges = HashMap<u64, Vec<Register>>;

/// Where a wave was, and a digest of its live registers there.
pub(crate) type Visited = (u64, u64);

/// Digests of what waves held, in the order in which each came by.
pub(crate) struct Visits<'e> {
    edges: &'e Edges,
    found: Mutex<BTreeMap<WaveId, Vec<Visited>>>,
}

impl<'e> Visits<'e> {
    pub(crate) fn new(edges: &'e Edges) -> Self {
        Self { edges, found: Mutex::default() }
    }

    pub(crate) fn finish(self) -> BTreeMap<WaveId, Vec<Visited>> {
        self.found.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Visits<'_> {
    fn visit(&self, visit: &Arrival<'_>) {
        let mut hasher = DefaultHasher::new();
        visit.msb.hash(&mut hasher);
        for register in self.edges.get(&visit.address).into_iter().flatten() {
            visit.value(register).map(|it| it.values).hash(&mut hasher);
        }
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let wave = found.entry((visit.workgroup, visit.wave)).or_default();
        wave.push((visit.address, hasher.finish()));
    }
}

/// Whatever a wave held when it came by for the nth time.
pub(crate) struct Capture<'e> {
    edges: &'e Edges,
    wave: WaveId,
    number: usize,
    state: Mutex<(usize, Option<Captured>)>,
}

/// Registers of a wave at an edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Captured {
    pub(crate) msb: u16,
    pub(crate) registers: Vec<RegisterValue>,
}

impl<'e> Capture<'e> {
    pub(crate) fn new(edges: &'e Edges, wave: WaveId, number: usize) -> Self {
        Self { edges, wave, number, state: Mutex::default() }
    }

    pub(crate) fn finish(self) -> Option<Captured> {
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner).1
    }
}

impl Observer for Capture<'_> {
    fn visit(&self, visit: &Arrival<'_>) {
        if (visit.workgroup, visit.wave) != self.wave {
            return;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.0 == self.number {
            let registers = self.edges.get(&visit.address).into_iter().flatten();
            let registers = registers.filter_map(|it| visit.value(it)).collect();
            state.1 = Some(Captured { msb: visit.msb, registers });
        }
        state.0 += 1;
    }
}

/// The last instruction that may have written a byte.
pub(crate) struct LastStore {
    address: u64,
    found: Mutex<Option<Store>>,
}

/// An instruction that wrote to memory.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    pub(crate) address: u64,
    pub(crate) text: String,
    pub(crate) wave: WaveId,
    pub(crate) lanes: u64,
}

/// Bytes that a lane stores at most.
const WIDEST: u64 = 16;

impl LastStore {
    pub(crate) fn new(address: u64) -> Self {
        Self { address, found: Mutex::default() }
    }

    pub(crate) fn finish(self) -> Option<Store> {
        self.found.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tracer for LastStore {
    fn instruction(&self, executed: &Executed<'_>) {
        let writes = ["store", "atomic"].iter().any(|it| executed.text.contains(it));
        if !writes {
            return;
        }
        let reaches = |at: u64| (at..at.saturating_add(WIDEST)).contains(&self.address);
        let lanes = executed.memory.iter().filter(|it| reaches(it.1));
        let lanes = lanes.fold(0, |all, it| all | it.0.map_or(0, |lane| 1 << (lane & 63)));
        if lanes != 0 {
            let store = Store {
                address: executed.address,
                text: executed.text.to_owned(),
                wave: (executed.workgroup, executed.wave),
                lanes,
            };
            *self.found.lock().unwrap_or_else(PoisonError::into_inner) = Some(store);
        }
    }
}

/// What a kernel prints.
#[derive(Default)]
pub(crate) struct Printed(Mutex<Vec<u8>>);

impl Printed {
    pub(crate) fn finish(self) -> Vec<u8> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Host for Printed {
    fn print(&self, text: &[u8], _: bool) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(text);
    }
}

/// The addresses of edges.
pub(crate) fn addresses(edges: &Edges) -> HashSet<u64> {
    edges.keys().copied().collect()
}
