//! Work on every core, with answers in order.

use std::num::NonZero;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Below this many items a thread costs more than it saves.
const WORTH_A_THREAD: usize = 512;

/// `map` of every item; items are `weight` times as much work as one of many small ones.
pub fn map<'t, T: Sync, R: Send>(
    items: &'t [T],
    weight: usize,
    map: impl Fn(&'t T) -> R + Sync,
) -> Vec<R> {
    let worth = items.len().saturating_mul(weight) / WORTH_A_THREAD;
    let wanted = worth.min(items.len());
    let threads = if wanted < 2 { wanted } else { wanted.min(cores()) };
    if threads < 2 {
        return items.iter().map(map).collect();
    }
    let next = AtomicUsize::new(0);
    // Each thread takes the next item when it has done one: some are larger than others.
    let work = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            match items.get(at) {
                Some(item) => done.push((at, map(item))),
                None => return done,
            }
        }
    };
    let mut answers = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut answers = work();
        for other in others {
            match other.join() {
                Ok(more) => answers.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        answers
    });
    answers.sort_unstable_by_key(|(at, _)| *at);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

/// How many threads run at once. Finding out reads files, so it is done once.
pub fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| thread::available_parallelism().map_or(1, NonZero::get))
}

#[cfg(test)]
mod tests {
    #[test]
    fn answers_come_in_order() {
        let items: Vec<u32> = (0..10_000).collect();
        let doubled: Vec<u32> = items.iter().map(|it| it * 2).collect();
        assert_eq!(super::map(&items, 1, |it| it * 2), doubled);
        assert_eq!(super::map(&items[..3], 1000, |it| it * 2), doubled[..3]);
        assert!(super::map(&[], 1000, |it: &u32| *it).is_empty());
    }
}
