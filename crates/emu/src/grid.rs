//! Barriers of all workgroups of a dispatch: what `ds_gws_init` sets up and `ds_gws_barrier` waits at.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Barriers that a device has.
const COUNT: usize = 64;

/// One of them.
#[derive(Clone, Copy, Debug, Default)]
struct Resource {
    /// Waves that must come.
    members: u32,
    arrived: u32,
    /// How often all had.
    passed: u32,
}

/// The barriers of a device. They keep what one dispatch has set up for the next.
#[derive(Debug)]
pub(crate) struct GridSync(Mutex<[Resource; COUNT]>);

impl Default for GridSync {
    fn default() -> Self {
        Self(Mutex::new([Resource::default(); COUNT]))
    }
}

impl GridSync {
    fn lock(&self) -> MutexGuard<'_, [Resource; COUNT]> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets a barrier up for so many waves and one more.
    pub(crate) fn init(&self, number: u8, others: u32) {
        if let Some(it) = self.lock().get_mut(usize::from(number) % COUNT) {
            it.members = others.saturating_add(1);
            it.arrived = 0;
        }
    }

    /// A wave comes; the next time so many and one more must. Says how often all had come before.
    pub(crate) fn arrive(&self, number: u8, others: u32) -> u32 {
        let mut all = self.lock();
        let Some(it) = all.get_mut(usize::from(number) % COUNT) else { return 0 };
        let passed = it.passed;
        it.arrived += 1;
        if it.arrived >= it.members {
            *it = Resource {
                members: others.saturating_add(1),
                arrived: 0,
                passed: passed.wrapping_add(1),
            };
        }
        passed
    }

    /// How often all waves had come.
    pub(crate) fn passed(&self, number: u8) -> u32 {
        self.lock().get(usize::from(number) % COUNT).map_or(0, |it| it.passed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_waves_pass_when_the_last_has_come() {
        let grid = GridSync::default();
        grid.init(3, 1);
        assert_eq!((grid.arrive(3, 2), grid.passed(3)), (0, 0));
        assert_eq!((grid.arrive(3, 2), grid.passed(3)), (0, 1));
        // Three must come now.
        assert_eq!((grid.arrive(3, 0), grid.arrive(3, 0), grid.passed(3)), (1, 1, 1));
        assert_eq!((grid.arrive(3, 0), grid.passed(3)), (1, 2));
        assert_eq!((grid.arrive(3, 0), grid.passed(3), grid.passed(4)), (2, 3, 0));
    }
}
