//! Signals, bells and rings of packets of the HSA runtime between threads, under ThreadSanitizer: `cargo xtask threads` builds it so.
//!
//! The files are the runtime's own. Plain memory that is written before a signal changes must be seen after a wait for
//! it, whichever way the wait goes; the sanitizer reports what is not ordered.
#![allow(dead_code, unsafe_code, reason = "parts of a library; C shares memory")]

#[path = "../../../crates/hsa/src/abi.rs"]
mod abi;
#[path = "../../../crates/hsa/src/pages.rs"]
mod pages;
#[path = "../../../crates/hsa/src/ring.rs"]
mod ring;
#[path = "../../../crates/hsa/src/signal.rs"]
mod signal;
#[path = "../../../crates/hsa/src/sync.rs"]
mod sync;

use std::cell::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::AtomicU16;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::thread::{JoinHandle, spawn};
use std::time::Duration;

use abi::AmdQueue;
use abi::signal_kind::USER;
use pages::Pages;
use ring::Ring;
use signal::{Condition, Watching};
use sync::{Bell, Patience};

const ROUNDS: u64 = 200;
const THREADS: usize = 4;
/// How often each thread takes one from the signal.
const EACH: u64 = 50;

/// A word for each thread.
#[derive(Default)]
struct Plain(UnsafeCell<[u64; THREADS]>);

// SAFETY: each thread writes its own word, and all are read after the signal has said that they are written.
unsafe impl Sync for Plain {}
// SAFETY: as above.
unsafe impl Send for Plain {}

/// The ways in which the runtime waits.
fn wait(way: usize, handle: u64) {
    let signal = signal::find(handle).expect("a signal");
    match way {
        0 => assert!(signal::wait(signal, Condition::DONE, None) < 1),
        1 => assert!(signal::wait_any(&[(signal, Condition::DONE)], None).is_some()),
        // As queues, copies and handlers do.
        _ => {
            let _watching = Watching::new([signal]);
            loop {
                let known = signal::changed().rings();
                if Condition::DONE.holds(signal.value.load(Acquire)) {
                    break;
                }
                signal::changed().wait(known, Duration::from_millis(2));
            }
        }
    }
}

/// Signals that live for a moment, while others come and go.
fn come_and_go() {
    for _ in 0..20 {
        let handle = signal::create(1, USER).expect("a signal");
        signal::complete(handle, 1, 2);
        assert_eq!(signal::find(handle).expect("a signal").value.load(Acquire), 0);
        signal::destroy(handle).expect("a signal");
        assert!(signal::find(handle).is_err());
    }
}

fn round(number: u64) {
    let counted = signal::create((THREADS as u64 * EACH) as i64, USER).expect("a signal");
    let plain = Arc::new(Plain::default());
    let waiter = |way| {
        let plain = Arc::clone(&plain);
        spawn(move || {
            wait(way, counted);
            // SAFETY: all threads have written.
            unsafe { *plain.0.get() }.iter().sum::<u64>()
        })
    };
    let changer = |thread: usize| {
        let plain = Arc::clone(&plain);
        spawn(move || {
            // SAFETY: the word is this thread's.
            unsafe { (&raw mut (*plain.0.get())[thread]).write(number) };
            (0..EACH).for_each(|_| signal::complete(counted, 1, 2));
            come_and_go();
        })
    };
    let waiters: Vec<JoinHandle<u64>> = (0..3).map(waiter).collect();
    let changers: Vec<JoinHandle<()>> = (0..THREADS).map(changer).collect();
    changers.into_iter().for_each(|it| it.join().expect("a changer"));
    for waiter in waiters {
        assert_eq!(waiter.join().expect("a waiter"), THREADS as u64 * number);
    }
    signal::destroy(counted).expect("a signal");
}

/// A queue: programs' threads put packets there, the runtime's takes them.
struct Queue {
    shared: AmdQueue,
    ring: Ring,
    bell: Bell,
    pages: Pages,
}

// SAFETY: what changes of `amd_queue_t` is atomic; the address in it is not used.
unsafe impl Sync for Queue {}
// SAFETY: as above.
unsafe impl Send for Queue {}

impl Queue {
    const SLOTS: u64 = 4;

    fn new() -> Self {
        let pages = Pages::new(Self::SLOTS * 64).expect("pages");
        // SAFETY: numbers, atomics of numbers, and an address, which may be null.
        let shared = unsafe { std::mem::zeroed() };
        // SAFETY: the pages live as long as the queue.
        let ring = unsafe { Ring::new(pages.address(), Self::SLOTS) };
        Self { shared, ring, bell: Bell::default(), pages }
    }

    /// As programs do: a slot of one's own, the packet, its header last. The doorbell may come later.
    fn put(&self, words: [u64; 7]) {
        const DISPATCH: u16 = 2;
        let index = self.shared.write_dispatch_id.fetch_add(1, SeqCst);
        while index - self.shared.read_dispatch_id.load(SeqCst) >= Self::SLOTS {
            std::thread::yield_now();
        }
        let slot = self.pages.address() + index % Self::SLOTS * 64;
        // SAFETY: the slot is in the pages, and this packet's until it was taken.
        unsafe { ((slot + 8) as *mut [u64; 7]).write(words) };
        // SAFETY: as above; headers are atomics.
        unsafe { &*(slot as *const AtomicU16) }.store(DISPATCH, Release);
    }

    /// Takes so many packets, as the runtime's thread does; gives the sums of what they hold and point to.
    fn process(&self, count: u64) -> [u64; 2] {
        let (mut sums, mut taken, mut patience) = ([0; 2], 0, Patience::new());
        while taken < count {
            let known = self.bell.rings();
            let Some(next) = self.ring.next(&self.shared) else {
                self.bell.wait(known, patience.next());
                continue;
            };
            patience = Patience::new();
            let word = |at: usize| {
                let bytes = next.bytes[at * 8..].first_chunk().expect("a word");
                u64::from_le_bytes(*bytes)
            };
            assert_eq!(next.index, taken, "in order");
            // SAFETY: the packet has the address of a number, which lives until the signal is told.
            sums = [sums[0] + word(1), sums[1] + unsafe { *(word(2) as *const u64) }];
            // SAFETY: as above.
            unsafe { (word(2) as *mut u64).write(0) };
            taken += 1;
            self.ring.done(&self.shared, next.index);
            signal::complete(word(7), 1, 2);
        }
        sums
    }
}

/// Packets that a thread puts into a queue before it rings its bell.
const BATCH: usize = 3;

/// Threads put packets into a queue that has room for fewer, and wait until theirs are done.
fn packets(round: u64) {
    let queue = Arc::new(Queue::new());
    let producer = |thread: u64| {
        let queue = Arc::clone(&queue);
        spawn(move || {
            let done = signal::create(0, USER).expect("a signal");
            for number in 0..EACH {
                let mut arguments = [number + thread + round; BATCH];
                signal::find(done).expect("a signal").value.store(BATCH as i64, Relaxed);
                for at in 0..BATCH {
                    let argument = &raw mut arguments[at] as u64;
                    queue.put([number, argument, 0, 0, 0, 0, done]);
                }
                queue.bell.ring();
                wait((number % 3) as usize, done);
                // What the packets have written is seen after the wait.
                assert_eq!(arguments, [0; BATCH]);
            }
            signal::destroy(done).expect("a signal");
        })
    };
    let (threads, packets) = (THREADS as u64, (THREADS * BATCH) as u64 * EACH);
    let producers: Vec<JoinHandle<()>> = (0..threads).map(producer).collect();
    let sums = queue.process(packets);
    producers.into_iter().for_each(|it| it.join().expect("a producer"));
    let numbers = packets * (EACH - 1) / 2;
    assert_eq!(
        sums,
        [numbers, numbers + packets * (threads - 1) / 2 + packets * round],
        "each once"
    );
}

fn main() {
    (1..=ROUNDS).for_each(round);
    (1..=ROUNDS).for_each(packets);
    println!(
        "{ROUNDS} rounds of {THREADS} threads and 3 waiters, and of {THREADS} threads and a queue"
    );
}
