//! What a thread sees of a memory while it runs a program.

use std::cell::OnceCell;
use std::sync::Arc;
use std::sync::atomic::Ordering::Acquire;

use super::{Allocation, Hint, Memory, Near, Table};

/// The allocations of a memory as they were, and as they are where that has too little.
///
/// Looking something up takes no lock, and what is found stays while the view does: memory that is given back meanwhile
/// is dropped after the last view of it.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) memory: Memory,
    table: Arc<Table>,
    version: u64,
    /// What was looked at when something was not found here: the host may have allocated it while the program ran.
    later: OnceCell<Box<View>>,
}

impl View {
    pub(crate) fn new(memory: &Memory) -> Self {
        // A change between the two is seen twice, which does no harm.
        let version = memory.shared.version.load(Acquire);
        let table = Arc::clone(&memory.table());
        let memory = Memory { shared: Arc::clone(&memory.shared) };
        Self { memory, table, version, later: OnceCell::new() }
    }

    /// Whether something was allocated or given back since.
    #[inline]
    pub(crate) fn is_old(&self) -> bool {
        self.memory.shared.version.load(Acquire) != self.version
    }

    /// The allocation that an access is in; `hint` remembers the last ones.
    #[inline]
    pub(crate) fn find(
        &self,
        address: u64,
        bytes: u64,
        hint: &mut Hint,
    ) -> Option<(&Allocation, u64)> {
        if let Some(found) = self.table.get(hint.last, address, bytes) {
            return Some(found);
        }
        std::mem::swap(&mut hint.last, &mut hint.before);
        if let Some(found) = self.table.get(hint.last, address, bytes) {
            return Some(found);
        }
        self.search(address, bytes, hint)
    }

    #[inline(never)]
    fn search(&self, address: u64, bytes: u64, hint: &mut Hint) -> Option<(&Allocation, u64)> {
        if let Some(at) = self.table.before(address)
            && let Some(found) = self.table.get(at, address, bytes)
        {
            *hint = Hint { last: at, before: hint.before };
            return Some(found);
        }
        let mut newest = self;
        while let Some(later) = newest.later.get() {
            newest = later;
            let at = newest.table.before(address);
            if let Some(found) = at.and_then(|at| newest.table.get(at, address, bytes)) {
                return Some(found);
            }
        }
        if !newest.is_old() {
            return None;
        }
        let newest = newest.later.get_or_init(|| Box::new(View::new(&self.memory)));
        newest.table.before(address).and_then(|at| newest.table.get(at, address, bytes))
    }

    /// What an address is near to that is not in an allocation, or not all of what is accessed there.
    pub(crate) fn near(&self, address: u64) -> Option<Near> {
        self.table.near(address)
    }
}
