//! Long answers: made on every core, written in order, never more than a little of them in memory.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::{mem, slice, thread};

use crate::parallel::cores;

/// Bytes that are handed on together.
const FULL: usize = 1 << 18;
/// Items that may wait to be written, so that the fast ones do not fill the memory.
const WAITING: usize = 32;
/// More threads than this are not kept busy by one that writes.
const MOST_THREADS: usize = 64;

/// The end of the answer to one item, on its way to the output.
pub(crate) struct Part<'s> {
    pub(crate) bytes: Vec<u8>,
    hand_on: &'s mut dyn FnMut(&mut Vec<u8>) -> io::Result<()>,
}

impl Part<'_> {
    /// Hands on what there is, once it is much. Called after each small piece.
    #[inline]
    pub(crate) fn pass(&mut self) -> io::Result<()> {
        match self.bytes.len() < FULL {
            true => Ok(()),
            false => (self.hand_on)(&mut self.bytes),
        }
    }
}

/// Writes what `make` makes of each item, in the items' order.
pub(crate) fn write<T: Sync>(
    items: &[T],
    out: &mut dyn Write,
    make: impl Fn(&T, &mut Part<'_>) -> io::Result<()> + Sync,
) -> io::Result<()> {
    match cores().min(items.len()).min(MOST_THREADS) {
        0 | 1 => write_alone(items, out, make),
        threads => write_together(items, threads, out, make),
    }
}

fn write_alone<T>(
    items: &[T],
    out: &mut dyn Write,
    make: impl Fn(&T, &mut Part<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let mut write = |bytes: &mut Vec<u8>| {
        out.write_all(bytes)?;
        bytes.clear();
        Ok(())
    };
    let mut part = Part { bytes: new_buffer(), hand_on: &mut write };
    for item in items {
        make(item, &mut part)?;
        part.pass()?;
    }
    let Part { mut bytes, hand_on } = part;
    hand_on(&mut bytes)
}

/// Each thread takes the next item, and with it a place in the queue of what is written.
fn write_together<T: Sync>(
    items: &[T],
    threads: usize,
    out: &mut dyn Write,
    make: impl Fn(&T, &mut Part<'_>) -> io::Result<()> + Sync,
) -> io::Result<()> {
    let (places, queue) = sync_channel(WAITING);
    let todo = Mutex::new(Todo { items: items.iter(), places: Some(places) });
    let spare = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((item, place)) = Todo::take(&todo) {
                    make_one(item, &place, &spare, &make);
                }
            });
        }
        // When writing fails the queue is dropped, and every thread that hands on ends.
        for place in queue {
            for bytes in place {
                out.write_all(&bytes)?;
                lock(&spare).push(bytes);
            }
        }
        Ok(())
    })
}

/// Items that no thread has taken yet, and the end of the queue.
struct Todo<'t, T> {
    items: slice::Iter<'t, T>,
    places: Option<SyncSender<Receiver<Vec<u8>>>>,
}

impl<'t, T> Todo<'t, T> {
    /// The next item and where its answer goes. Waits while too many are ahead of what is written.
    fn take(todo: &Mutex<Self>) -> Option<(&'t T, SyncSender<Vec<u8>>)> {
        let mut todo = lock(todo);
        let Some(item) = todo.items.next() else {
            todo.places = None;
            return None;
        };
        let (sender, receiver) = sync_channel(1);
        todo.places.as_ref()?.send(receiver).ok()?;
        Some((item, sender))
    }
}

fn make_one<T>(
    item: &T,
    place: &SyncSender<Vec<u8>>,
    spare: &Mutex<Vec<Vec<u8>>>,
    make: &impl Fn(&T, &mut Part<'_>) -> io::Result<()>,
) {
    let empty = || {
        let mut bytes = lock(spare).pop().unwrap_or_else(new_buffer);
        bytes.clear();
        bytes
    };
    let mut send = |bytes: &mut Vec<u8>| {
        let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
        place.send(mem::replace(bytes, empty())).map_err(gone)
    };
    let mut part = Part { bytes: empty(), hand_on: &mut send };
    // Nobody waits for the rest if handing on failed: the writer has said why.
    if make(item, &mut part).is_ok() {
        let _ = place.send(part.bytes);
    }
}

fn new_buffer() -> Vec<u8> {
    Vec::with_capacity(FULL + FULL / 8)
}

/// What a thread that panicked was at does not matter: its panic ends the command.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(item: &usize, part: &mut Part<'_>) -> io::Result<()> {
        for _ in 0..*item {
            part.bytes.extend_from_slice(format!("{item} ").as_bytes());
            part.pass()?;
        }
        Ok(())
    }

    #[test]
    fn answers_come_in_order_whoever_makes_them() {
        let items: Vec<usize> = (0..600).chain([200_000]).chain(0..100).collect();
        let (mut alone, mut together) = (Vec::new(), Vec::new());
        write_alone(&items, &mut alone, number).unwrap();
        write_together(&items, 5, &mut together, number).unwrap();
        assert!(alone.len() > 4 * FULL);
        assert!(alone == together);
    }

    #[test]
    fn a_failing_output_ends_the_work() {
        struct Broken;
        impl Write for Broken {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let items = vec![50_000; 300];
        let error = write_together(&items, 3, &mut Broken, number).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
}
