//! Signals: values in memory that agents and the host change and wait for.
//!
//! A handle is the address of an `amd_signal_t`. All of them are in one range of addresses, so that a handle is checked
//! without a lock, and every GPU may access them.

use std::collections::VecDeque;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::abi::{AmdSignal, Answer, Status, condition, signal_kind};
use crate::pages::Pages;
use crate::sync::{self, Bell, Patience};

/// Signals that there may be at most.
const MOST: usize = 1 << 22;

/// Signals that are not used again before so many others are: who still has one of them is told.
const RESTING: usize = 1024;

/// Where all signals are.
pub(crate) struct Arena {
    pages: Pages,
    free: Mutex<Free>,
}

#[derive(Default)]
struct Free {
    /// Those that were given back, the latest last.
    returned: VecDeque<u64>,
    /// Signals that were ever used.
    used: u64,
}

/// Rings when a watched signal changes.
pub(crate) static CHANGED: OnceLock<Bell> = OnceLock::new();

pub(crate) fn changed() -> &'static Bell {
    CHANGED.get_or_init(Bell::default)
}

static ARENA: OnceLock<Option<Arena>> = OnceLock::new();

/// The one arena; none where the host has no room for it.
pub(crate) fn arena() -> Option<&'static Arena> {
    let make = || {
        let pages = Pages::new((MOST * size_of::<AmdSignal>()) as u64)?;
        Some(Arena { pages, free: Mutex::default() })
    };
    ARENA.get_or_init(make).as_ref()
}

impl Arena {
    pub(crate) fn address(&self) -> u64 {
        self.pages.address()
    }

    pub(crate) fn words(&self) -> &'static [AtomicU64] {
        // SAFETY: the arena is static, and its pages may be accessed.
        unsafe { self.pages.words() }
    }

    fn get(&self, handle: u64) -> Option<&'static AmdSignal> {
        let offset = handle.wrapping_sub(self.address());
        let is_inside = offset < (MOST * size_of::<AmdSignal>()) as u64;
        if !is_inside || !offset.is_multiple_of(size_of::<AmdSignal>() as u64) {
            return None;
        }
        // SAFETY: the address is that of a signal in the arena, which is static and all atomics but for fields that
        // nothing changes.
        Some(unsafe { &*(handle as *const AmdSignal) })
    }
}

/// The signal of a handle, if it is one.
#[inline]
pub(crate) fn get(handle: u64) -> Option<&'static AmdSignal> {
    let signal = arena()?.get(handle)?;
    (signal.kind.load(Relaxed) != signal_kind::INVALID).then_some(signal)
}

/// The same, or the status that says that there is none.
pub(crate) fn find(handle: u64) -> Answer<&'static AmdSignal> {
    get(handle).ok_or(Status::INVALID_SIGNAL)
}

/// A new signal.
pub(crate) fn create(value: i64, kind: i64) -> Answer<u64> {
    let arena = arena().ok_or(Status::OUT_OF_RESOURCES)?;
    let mut free = arena.free.lock().unwrap_or_else(PoisonError::into_inner);
    let has_new = free.used < MOST as u64;
    let handle = if has_new && free.returned.len() < RESTING {
        free.used += 1;
        arena.address() + (free.used - 1) * size_of::<AmdSignal>() as u64
    } else {
        free.returned.pop_front().ok_or(Status::OUT_OF_RESOURCES)?
    };
    drop(free);
    let signal = arena.get(handle).ok_or(Status::ERROR)?;
    signal.value.store(value, Relaxed);
    signal.start_ts.store(0, Relaxed);
    signal.end_ts.store(0, Relaxed);
    signal.queue_ptr.store(0, Relaxed);
    signal.kind.store(kind, Release);
    Ok(handle)
}

/// Gives a signal back.
pub(crate) fn destroy(handle: u64) -> Answer {
    let signal = find(handle)?;
    let kind = signal.kind.load(Relaxed);
    // Of two threads that destroy it, one succeeds.
    let taken = signal.kind.compare_exchange(kind, signal_kind::INVALID, SeqCst, Relaxed);
    if kind == signal_kind::INVALID || taken.is_err() {
        return Err(Status::INVALID_SIGNAL);
    }
    wake(signal);
    let arena = arena().ok_or(Status::INVALID_SIGNAL)?;
    arena.free.lock().unwrap_or_else(PoisonError::into_inner).returned.push_back(handle);
    Ok(())
}

/// The half of a value that threads sleep on.
fn word(signal: &AmdSignal) -> &AtomicU32 {
    // SAFETY: the value is eight bytes that live as long as the signal; the host orders their halves the low one
    // first, and both are accessed by atomics alone.
    unsafe { AtomicU32::from_ptr(signal.value.as_ptr().cast()) }
}

/// Tells who sleeps or watches that a value has changed.
#[inline]
pub(crate) fn wake(signal: &AmdSignal) {
    if signal.sleepers.load(SeqCst) != 0 {
        sync::wake_all(word(signal));
    }
    if signal.watchers.load(SeqCst) != 0 {
        changed().ring();
    }
}

/// Changes a value, and tells who waits for it.
#[inline]
pub(crate) fn update(
    signal: &AmdSignal,
    change: impl FnOnce(&std::sync::atomic::AtomicI64) -> i64,
) -> i64 {
    let old = change(&signal.value);
    wake(signal);
    old
}

/// What to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Condition {
    pub(crate) kind: u32,
    pub(crate) value: i64,
}

impl Condition {
    pub(crate) fn new(kind: u32, value: i64) -> Answer<Self> {
        let is_known = kind <= condition::GTE;
        is_known.then_some(Self { kind, value }).ok_or(Status::INVALID_ARGUMENT)
    }

    /// At most zero, as copies and barrier packets wait for.
    pub(crate) const DONE: Self = Self { kind: condition::LT, value: 1 };

    pub(crate) fn holds(self, value: i64) -> bool {
        match self.kind {
            condition::EQ => value == self.value,
            condition::NE => value != self.value,
            condition::LT => value < self.value,
            _ => value >= self.value,
        }
    }
}

/// When a wait that is to last so many nanoseconds is over; none is never.
pub(crate) fn deadline(timeout: u64) -> Option<Instant> {
    Instant::now().checked_add(Duration::from_nanos(timeout)).filter(|_| timeout < u64::MAX / 4)
}

/// Waits until a condition holds, or the time is over. Gives the value last seen.
pub(crate) fn wait(signal: &AmdSignal, until: Condition, deadline: Option<Instant>) -> i64 {
    /// Looks before it sleeps: most kernels are short.
    const LOOKS: u32 = 200;
    for _ in 0..LOOKS {
        let value = signal.value.load(Acquire);
        if until.holds(value) {
            return value;
        }
        std::hint::spin_loop();
    }
    let mut patience = Patience::new();
    signal.sleepers.fetch_add(1, SeqCst);
    let value = loop {
        let value = signal.value.load(SeqCst);
        if until.holds(value) || signal.kind.load(Relaxed) == signal_kind::INVALID {
            break value;
        }
        let left = deadline.map(|it| it.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            break value;
        }
        // Kernels change values without telling.
        let time = patience.next().min(left.unwrap_or(Duration::MAX));
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "its lower half"
        )]
        sync::sleep_while(word(signal), value as u32, time);
    };
    signal.sleepers.fetch_sub(1, SeqCst);
    value
}

/// Signals that are watched as long as this lives.
pub(crate) struct Watching(Vec<&'static AmdSignal>);

impl Watching {
    pub(crate) fn new(signals: impl IntoIterator<Item = &'static AmdSignal>) -> Self {
        let signals: Vec<_> = signals.into_iter().collect();
        signals.iter().for_each(|it| {
            it.watchers.fetch_add(1, SeqCst);
        });
        Self(signals)
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.iter().for_each(|it| {
            it.watchers.fetch_sub(1, SeqCst);
        });
    }
}

/// Waits until one of several conditions holds, or the time is over: the number of the first that does, and the value.
pub(crate) fn wait_any(
    waits: &[(&'static AmdSignal, Condition)],
    deadline: Option<Instant>,
) -> Option<(usize, i64)> {
    let _watching = Watching::new(waits.iter().map(|it| it.0));
    let mut patience = Patience::new();
    loop {
        let known = changed().rings();
        let value = |it: &(&AmdSignal, Condition)| it.0.value.load(Acquire);
        if let Some(at) = waits.iter().position(|it| it.1.holds(value(it))) {
            return waits.get(at).map(|it| (at, value(it)));
        }
        let left = deadline.map(|it| it.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            return None;
        }
        changed().wait(known, patience.next().min(left.unwrap_or(Duration::MAX)));
    }
}

/// Tells the end of a packet or a copy: times first, so that who sees the value sees them.
pub(crate) fn complete(handle: u64, start: u64, end: u64) {
    let Some(signal) = get(handle) else { return };
    signal.start_ts.store(start, Relaxed);
    signal.end_ts.store(end, Relaxed);
    update(signal, |value| value.fetch_sub(1, SeqCst));
}
