//! Copies: at once, or on a thread of the runtime when the signals that they wait for allow it.

use std::sync::atomic::Ordering::{Acquire, SeqCst};
use std::sync::{Mutex, OnceLock};
use std::thread::JoinHandle;

use crate::abi::{AmdSignal, Answer, Dim3, PitchedPointer, Status};
use crate::log;
use crate::pages;
use crate::runtime::{self, Runtime, now};
use crate::signal::{self, Condition, Watching, changed};
use crate::sync::Patience;

/// What is copied, by addresses of the host.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    Bytes {
        to: u64,
        from: u64,
        size: u64,
        is_known: bool,
    },
    Rows {
        to: Rows,
        from: Rows,
        range: Dim3,
    },
    /// Nothing: only the signals count.
    Nothing,
}

/// Rows of a box in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rows {
    pub(crate) start: u64,
    pub(crate) pitch: u64,
    pub(crate) slice: u64,
}

impl Rows {
    /// Where a box begins that is `offset` into memory; and the bytes from its first to its last.
    pub(crate) fn new(pointer: &PitchedPointer, offset: Dim3, range: Dim3) -> Answer<(Self, u64)> {
        let (pitch, slice) = (pointer.pitch as u64, pointer.slice as u64);
        let row = u64::from(range.y.max(1) - 1).checked_mul(pitch);
        let layer = u64::from(range.z.max(1) - 1).checked_mul(slice);
        let into = u64::from(offset.y)
            .checked_mul(pitch)
            .zip(u64::from(offset.z).checked_mul(slice))
            .and_then(|(row, layer)| row.checked_add(layer)?.checked_add(offset.x.into()));
        let start = into.and_then(|it| (pointer.base as u64).checked_add(it));
        let size = row
            .zip(layer)
            .and_then(|(row, layer)| row.checked_add(layer)?.checked_add(range.x.into()));
        let (Some(start), Some(size)) = (start, size) else { return Err(Status::INVALID_ARGUMENT) };
        Ok((Self { start, pitch, slice }, size))
    }
}

impl Work {
    fn bytes(&self) -> u64 {
        match self {
            Self::Bytes { size, .. } => *size,
            Self::Rows { range, .. } => {
                u64::from(range.x) * u64::from(range.y) * u64::from(range.z)
            }
            Self::Nothing => 0,
        }
    }

    /// Does it; says whether all bytes could be accessed.
    pub(crate) fn run(&self) -> bool {
        match *self {
            Self::Bytes { to, from, size, is_known } => copy(to, from, size, is_known),
            Self::Rows { to, from, range } => {
                let mut is_done = true;
                for z in 0..u64::from(range.z) {
                    for y in 0..u64::from(range.y) {
                        let place = |it: Rows| it.start + z * it.slice + y * it.pitch;
                        is_done &= copy(place(to), place(from), range.x.into(), true);
                    }
                }
                is_done
            }
            Self::Nothing => true,
        }
    }
}

fn copy(to: u64, from: u64, size: u64, is_known: bool) -> bool {
    let Ok(bytes) = usize::try_from(size) else { return false };
    if !is_known {
        return pages::copy_checked(to, from, bytes);
    }
    // SAFETY: both ranges are inside memory that the runtime has mapped or the program has locked, and the program
    // says that nothing else uses them meanwhile. They may overlap.
    unsafe { std::ptr::copy(from as *const u8, to as *mut u8, bytes) };
    true
}

/// Fills words of four bytes.
pub(crate) fn fill(to: u64, value: u32, count: usize) {
    // SAFETY: the range is inside memory that the runtime has mapped or the program has locked, and starts at a
    // multiple of 4, as the caller has seen.
    unsafe { std::slice::from_raw_parts_mut(to as *mut u32, count).fill(value) };
}

struct Pending {
    work: Work,
    after: Vec<&'static AmdSignal>,
    completion: u64,
    _watching: Watching,
}

impl Pending {
    fn is_due(&self) -> bool {
        self.after.iter().all(|it| Condition::DONE.holds(it.value.load(Acquire)))
    }
}

/// Copies that wait, and the thread that does them.
#[derive(Default)]
pub(crate) struct Copies {
    pending: Mutex<Vec<Pending>>,
    thread: OnceLock<Mutex<Option<JoinHandle<()>>>>,
}

/// Bytes that are copied while the caller waits: waking a thread takes longer.
const SMALL: u64 = 1 << 20;

impl Copies {
    pub(crate) fn add(
        &self,
        runtime: &'static Runtime,
        work: Work,
        after: &[u64],
        completion: u64,
    ) -> Answer {
        if completion != 0 {
            signal::find(completion)?;
        }
        let signals = after.iter().filter(|it| **it != 0).map(|it| signal::find(*it));
        let after = signals.collect::<Answer<Vec<_>>>()?;
        let _watching = Watching::new(after.iter().copied());
        let pending = Pending { work, after, completion, _watching };
        if pending.work.bytes() <= SMALL && pending.is_due() {
            finish(&pending);
            return Ok(());
        }
        runtime::lock(&self.pending).push(pending);
        let start =
            || Mutex::new(runtime::spawn("hsaco-copies", move || runtime.copies.run(runtime)));
        let thread = self.thread.get_or_init(start);
        changed().ring();
        runtime::lock(thread).as_ref().map(drop).ok_or(Status::OUT_OF_RESOURCES)
    }

    fn run(&self, runtime: &Runtime) {
        let mut patience = Patience::new();
        while !runtime.is_over.load(SeqCst) {
            let known = changed().rings();
            let mut pending = runtime::lock(&self.pending);
            let due = pending.iter().position(Pending::is_due).map(|at| pending.remove(at));
            let is_idle = pending.is_empty();
            drop(pending);
            match due {
                Some(due) => {
                    finish(&due);
                    patience = Patience::new();
                }
                // What is added rings, so that there is nothing to look for.
                None if is_idle => changed().wait(known, std::time::Duration::from_millis(200)),
                None => changed().wait(known, patience.next()),
            }
        }
    }

    pub(crate) fn end(&self) {
        let thread = self.thread.get().and_then(|it| runtime::lock(it).take());
        runtime::join(thread);
        runtime::lock(&self.pending).clear();
    }
}

fn finish(pending: &Pending) {
    let start = now();
    if !pending.work.run() {
        log::line(&format!("a copy accesses memory that is not there: {:x?}", pending.work));
        // As AMD's runtime tells it: a negative value.
        if let Some(signal) = signal::get(pending.completion) {
            signal::update(signal, |value| value.swap(-1, SeqCst));
        }
        return;
    }
    signal::complete(pending.completion, start, now());
}
