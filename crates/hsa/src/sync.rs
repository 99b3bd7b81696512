//! Sleeping until another thread says that something has changed.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;

/// Sleeps while a word has a value, until it is woken or the time has passed.
pub(crate) fn sleep_while(word: &AtomicU32, value: u32, most: Duration) {
    let time = libc::timespec {
        tv_sec: most.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: most.subsec_nanos().into(),
    };
    // SAFETY: the word and the time live until the call is over, and nothing is written.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
            value,
            &raw const time,
        );
    }
}

/// Wakes all threads that sleep on a word.
pub(crate) fn wake_all(word: &AtomicU32) {
    // SAFETY: the word's address is only a name here; nothing is written.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
            i32::MAX,
        );
    }
}

/// A bell: who waits for it hears every ring after the last one that it knew of.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    rings: AtomicU32,
    sleepers: AtomicU32,
}

impl Bell {
    /// How often it has rung.
    pub(crate) fn rings(&self) -> u32 {
        self.rings.load(SeqCst)
    }

    pub(crate) fn ring(&self) {
        self.rings.fetch_add(1, SeqCst);
        if self.sleepers.load(SeqCst) != 0 {
            wake_all(&self.rings);
        }
    }

    /// Sleeps until it rings again, or the time has passed.
    pub(crate) fn wait(&self, known: u32, most: Duration) {
        self.sleepers.fetch_add(1, SeqCst);
        if self.rings() == known {
            sleep_while(&self.rings, known, most);
        }
        self.sleepers.fetch_sub(1, SeqCst);
    }
}

/// How long to sleep before looking again for what is not told: longer each time.
#[derive(Debug)]
pub(crate) struct Patience(Duration);

impl Patience {
    const LEAST: Duration = Duration::from_micros(50);
    const MOST: Duration = Duration::from_millis(2);

    pub(crate) fn new() -> Self {
        Self(Self::LEAST)
    }

    pub(crate) fn next(&mut self) -> Duration {
        let now = self.0;
        self.0 = (now * 2).min(Self::MOST);
        now
    }
}
