//! Threads that help to run the workgroups of a dispatch.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

use hsaco_emu::Run;

use crate::runtime;

/// A dispatch that can be helped with.
struct Job {
    /// Where it is. Valid while the job is in the list or a thread is inside.
    run: *const Run<'static>,
    number: u64,
}

// SAFETY: a `Run` is shared between threads by design; who owns it waits until all others have left.
unsafe impl Send for Job {}

#[derive(Default)]
struct Board {
    jobs: VecDeque<Job>,
    /// Numbers of the jobs that helpers are inside of.
    inside: Vec<u64>,
    /// Numbers of the jobs that a helper has panicked in.
    failed: Vec<u64>,
    next: u64,
    is_over: bool,
}

impl Board {
    /// Whether a helper has panicked in a job, which is then forgotten.
    fn take_failure(&mut self, number: u64) -> bool {
        let count = self.failed.len();
        self.failed.retain(|it| *it != number);
        self.failed.len() < count
    }
}

/// The helpers.
pub(crate) struct Helpers {
    most: usize,
    board: &'static (Mutex<Board>, Condvar, Condvar),
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Helpers {
    /// Helpers so that so many threads work on a dispatch in all. None is started before it is needed.
    pub(crate) fn new(threads: usize) -> Self {
        let board = Box::leak(Box::default());
        Self { most: threads.saturating_sub(1), board, threads: Mutex::default() }
    }

    /// Threads that may work on one dispatch.
    pub(crate) fn threads(&self) -> usize {
        self.most + 1
    }

    fn start(&self) {
        let mut threads = runtime::lock(&self.threads);
        while threads.len() < self.most {
            let board = self.board;
            let Some(thread) = runtime::spawn("hsaco-helper", move || help(board)) else { return };
            threads.push(thread);
        }
    }

    /// Runs a dispatch on the calling thread, and on others where it has `parts` enough.
    pub(crate) fn work(&self, run: &Run<'_>, parts: u64) {
        if self.most == 0 || parts < 2 {
            return run.work();
        }
        self.start();
        let (board, come, left) = self.board;
        let mut held = runtime::lock(board);
        let number = held.next;
        held.next += 1;
        held.jobs.push_back(Job { run: std::ptr::from_ref(run).cast(), number });
        drop(held);
        come.notify_all();
        let ended = catch_unwind(AssertUnwindSafe(|| run.work()));
        let mut held = runtime::lock(board);
        held.jobs.retain(|it| it.number != number);
        // Helpers use the run until they have left, however this thread has.
        while held.inside.contains(&number) {
            held = left.wait(held).unwrap_or_else(PoisonError::into_inner);
        }
        let has_failed = held.take_failure(number);
        drop(held);
        if let Err(panic) = ended {
            resume_unwind(panic);
        }
        assert!(!has_failed, "a helper of this dispatch has panicked");
    }

    pub(crate) fn end(&self) {
        let (board, come, _) = self.board;
        runtime::lock(board).is_over = true;
        come.notify_all();
        for thread in runtime::lock(&self.threads).drain(..) {
            runtime::join(Some(thread));
        }
    }
}

fn help((board, come, left): &'static (Mutex<Board>, Condvar, Condvar)) {
    let mut held = runtime::lock(board);
    while !held.is_over {
        let Some(job) = held.jobs.pop_front() else {
            held = come.wait(held).unwrap_or_else(PoisonError::into_inner);
            continue;
        };
        let (run, number) = (job.run, job.number);
        held.inside.push(number);
        // Others may help too.
        held.jobs.push_back(job);
        drop(held);
        // SAFETY: the job was in the list, and its number is now among those inside: its owner waits before the run is
        // given back.
        let ended = catch_unwind(AssertUnwindSafe(|| unsafe { (*run).work() }));
        held = runtime::lock(board);
        if ended.is_err() {
            held.failed.push(number);
        }
        take_one(&mut held.inside, number);
        // Nothing is left of what this thread has come back from.
        held.jobs.retain(|it| it.number != number);
        left.notify_all();
    }
}

/// Takes one of several equal numbers away.
fn take_one(numbers: &mut Vec<u64>, number: u64) {
    if let Some(at) = numbers.iter().position(|it| *it == number) {
        numbers.swap_remove(at);
    }
}
