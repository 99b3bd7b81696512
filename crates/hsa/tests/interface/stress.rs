//! Many dispatches: none is lost, none is slow.

use std::time::Instant;

use crate::kernels::setup;
use crate::support::*;
use crate::{hsa, hsa64};

fn empty_kernel(agent: u64) -> (u64, u64) {
    let executable = load(agent, &fixture("run.gfx942.co"));
    let kernel = about(find(executable, agent, "saxpy.kd"), KERNEL_OBJECT);
    let kernarg = allocate(pools(agents()[0])[1], 4096) as u64;
    (kernel, kernarg)
}

/// Dispatches on several queues at once; each is counted by its signal. Gives how many ran in a second.
fn dispatches(queues: usize, each: u64) -> f64 {
    let agents = setup();
    let (kernel, kernarg) = empty_kernel(agents[1]);
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
    (queues as u64 * each) as f64 / started.elapsed().as_secs_f64()
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

#[test]
#[ignore = "runs in a process of its own"]
fn a_million_dispatches_lose_none_and_take_no_memory() {
    let single = dispatches(1, 100_000);
    let before = resident();
    let rate = dispatches(4, 250_000);
    let after = resident();
    println!(
        "{single:.0} a second on one queue, {rate:.0} on four; {before} bytes before, {after} after"
    );
    assert!(single > 10_000.0, "{single:.0} dispatches a second");
    assert!(after < before + (16 << 20), "{before} bytes before, {after} after");
}
