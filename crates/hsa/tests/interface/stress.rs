//! Many dispatches: none is lost, none is slow.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;
use std::time::Instant;

use crate::kernels::setup;
use crate::support::*;
use crate::{hsa, hsa64};

/// A kernel that finds that it has nothing to do, its executable, and its arguments.
fn empty_kernel(agent: u64) -> (u64, u64, u64) {
    let executable = load(agent, &fixture("run.gfx942.co"));
    let kernel = about(find(executable, agent, "saxpy.kd"), KERNEL_OBJECT);
    let kernarg = allocate(pools(agents()[0])[1], 4096) as u64;
    (executable, kernel, kernarg)
}

/// Dispatches on several queues at once; each is counted by its signal. Gives how many ran in a second.
fn dispatches(queues: usize, each: u64) -> f64 {
    let agents = setup();
    let (executable, kernel, kernarg) = empty_kernel(agents[1]);
    let started = Instant::now();
    let work = |_| {
        std::thread::spawn(move || {
            let queue = queue(agents_of(1), 1024);
            let done = signal(each as i64);
            let packet = Launch::new(kernel, kernarg, 1, 64, done).bytes();
            (0..each).for_each(|_| submit(queue, &packet));
            wait(done);
            assert_eq!(hsa64!(hsa_signal_load_relaxed(done)), 0);
            assert_eq!(hsa!(hsa_queue_destroy(queue)), SUCCESS);
            assert_eq!(hsa!(hsa_signal_destroy(done)), SUCCESS);
        })
    };
    let threads: Vec<_> = (0..queues).map(work).collect();
    threads.into_iter().for_each(|it| it.join().unwrap());
    let seconds = started.elapsed().as_secs_f64();
    assert_eq!(hsa!(hsa_amd_memory_pool_free(kernarg)), SUCCESS);
    assert_eq!(hsa!(hsa_executable_destroy(executable)), SUCCESS);
    (queues as u64 * each) as f64 / seconds
}

fn agents_of(number: usize) -> u64 {
    agents()[number]
}

/// Bytes of this process that are in memory.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

#[test]
fn no_dispatch_of_four_queues_is_lost() {
    let rate = dispatches(4, 5_000);
    println!("{rate:.0} dispatches a second");
}

/// Plain memory that threads write before they change a signal, a word for each.
#[derive(Default)]
struct Shared(UnsafeCell<[u64; 4]>);

// SAFETY: each thread writes a word of its own, and all are read when the signal says that they are written: whether it
// does is what the test, under ThreadSanitizer, is about.
unsafe impl Sync for Shared {}

impl Shared {
    fn set(&self, thread: usize) {
        // SAFETY: as above.
        unsafe { (&raw mut (*self.0.get())[thread]).write(1) };
    }

    fn sum(&self) -> u64 {
        // SAFETY: as above.
        unsafe { *self.0.get() }.iter().sum()
    }
}

/// A handler that opens a gate.
extern "C" fn open(_: i64, gate: *mut c_void) -> bool {
    hsa!(hsa_signal_store_screlease(gate as u64, 0));
    false
}

/// Takes one from a signal so many times, each time in another way.
fn count_down(handle: u64, each: u64) {
    for round in 0..each {
        match round % 4 {
            0 => hsa64!(hsa_signal_subtract_relaxed(handle, 1)),
            1 => hsa64!(hsa_signal_add_scacq_screl(handle, u64::MAX)),
            2 => {
                hsa64!(hsa_signal_subtract_screlease(handle, 3));
                hsa64!(hsa_signal_add_relaxed(handle, 2))
            }
            _ => loop {
                let old = hsa64!(hsa_signal_load_scacquire(handle));
                if hsa64!(hsa_signal_cas_scacq_screl(handle, old, old - 1)) == old {
                    break 0;
                }
            },
        };
    }
}

#[test]
fn no_change_of_a_signal_is_lost_and_each_waiter_wakes() {
    const THREADS: u64 = 4;
    const EACH: u64 = 2000;
    setup();
    let (counted, plain) = (signal((THREADS * EACH) as i64), Arc::new(Shared::default()));
    let waiters: Vec<_> = (0..3)
        .map(|way| {
            let plain = Arc::clone(&plain);
            std::thread::spawn(move || {
                match way {
                    0 => wait(counted),
                    1 => {
                        let (mut condition, mut value) = ([2_u32], [1_i64]);
                        let first = hsa!(hsa_amd_signal_wait_any(
                            1,
                            &raw const counted,
                            condition.as_mut_ptr(),
                            value.as_mut_ptr(),
                            u64::MAX,
                            0,
                            null_mut::<i64>()
                        ));
                        assert_eq!(first, 0);
                    }
                    _ => {
                        let gate = signal(1);
                        let handler = open as *const () as usize;
                        let added =
                            hsa!(hsa_amd_signal_async_handler(counted, 2, 1, handler, gate));
                        assert_eq!(added, SUCCESS);
                        wait(gate);
                        assert_eq!(hsa!(hsa_signal_destroy(gate)), SUCCESS);
                    }
                }
                // What was written before the last change is seen after the wait.
                plain.sum()
            })
        })
        .collect();
    let changers: Vec<_> = (0..THREADS)
        .map(|thread| {
            let plain = Arc::clone(&plain);
            std::thread::spawn(move || {
                plain.set(thread as usize);
                count_down(counted, EACH);
            })
        })
        .collect();
    changers.into_iter().for_each(|it| it.join().unwrap());
    for waiter in waiters {
        assert_eq!(waiter.join().unwrap(), THREADS);
    }
    assert_eq!(hsa64!(hsa_signal_load_relaxed(counted)), 0);
    assert_eq!(hsa!(hsa_signal_destroy(counted)), SUCCESS);
}

#[test]
#[ignore = "runs in a process of its own"]
fn a_million_dispatches_lose_none_and_take_no_memory() {
    let single = dispatches(1, 100_000);
    // What four queues and threads take once is no growth.
    dispatches(4, 1000);
    let before = resident();
    let rate = dispatches(4, 250_000);
    let after = resident();
    println!(
        "{single:.0} a second on one queue, {rate:.0} on four; {before} bytes before, {after} after"
    );
    assert!(single > 10_000.0, "{single:.0} dispatches a second");
    assert!(after < before + (4 << 20), "{before} bytes before, {after} after");
}
