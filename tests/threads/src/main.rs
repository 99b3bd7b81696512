//! Signals and bells of the HSA runtime between threads, under ThreadSanitizer: `cargo xtask threads` builds it so.
//!
//! The files are the runtime's own. Plain memory that is written before a signal changes must be seen after a wait for
//! it, whichever way the wait goes; the sanitizer reports what is not ordered.
#![allow(dead_code, unsafe_code, reason = "parts of a library; C shares memory")]

#[path = "../../../crates/hsa/src/abi.rs"]
mod abi;
#[path = "../../../crates/hsa/src/pages.rs"]
mod pages;
#[path = "../../../crates/hsa/src/signal.rs"]
mod signal;
#[path = "../../../crates/hsa/src/sync.rs"]
mod sync;

use std::cell::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::Ordering::Acquire;
use std::thread::{JoinHandle, spawn};
use std::time::Duration;

use abi::signal_kind::USER;
use signal::{Condition, Watching};

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

fn main() {
    (1..=ROUNDS).for_each(round);
    println!("{ROUNDS} rounds of {THREADS} threads and 3 waiters");
}
