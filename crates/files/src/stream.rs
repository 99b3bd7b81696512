//! Long answers: made on every core, written in order, never more than a little of them in memory.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use hsaco_listing::Sink;

use crate::parallel::cores;

/// Bytes that are handed on together.
const FULL: usize = 1 << 18;
/// What an answer may grow to before it waits for its turn.
const MOST: usize = 2 * FULL;
/// Items that may be begun and not written, so that the fast ones do not fill the memory.
const AHEAD: usize = 32;
/// More threads than this wait for one another.
const MOST_THREADS: usize = AHEAD;

/// The end of the answer to one item, on its way to the output.
pub struct Part<'s> {
    bytes: Vec<u8>,
    /// So many are handed on.
    full: usize,
    /// Takes the bytes, or leaves them; how many are to be handed on next.
    hand_on: &'s mut dyn FnMut(&mut Vec<u8>) -> io::Result<usize>,
}

impl Sink for Part<'_> {
    #[inline]
    fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Hands on what there is, once it is much.
    #[inline]
    fn pass(&mut self) -> io::Result<()> {
        if self.bytes.len() >= self.full {
            self.full = (self.hand_on)(&mut self.bytes)?;
        }
        Ok(())
    }
}

/// Writes what `make` makes of each item, in the items' order, on as many threads as the work is worth, and there are.
///
/// ```
/// use hsaco_files::stream;
/// use hsaco_listing::Sink as _;
/// let mut out = Vec::new();
/// stream::write(&[1, 2, 3], 2, &mut out, |item, part| {
///     part.bytes().extend(format!("{item} ").bytes());
///     part.pass()
/// })?;
/// assert_eq!(out, b"1 2 3 ");
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// The first one of `make` or of the output, after which nothing more is written.
pub fn write<T: Sync>(
    items: &[T],
    worth: usize,
    out: &mut (dyn Write + Send),
    make: impl Fn(&T, &mut Part<'_>) -> io::Result<()> + Sync,
) -> io::Result<()> {
    let most = items.len().min(worth).min(MOST_THREADS);
    match if most < 2 { most } else { most.min(cores()) } {
        ..2 => write_alone(items, out, make),
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
        Ok(FULL)
    };
    let mut part = Part { bytes: new_buffer(), full: FULL, hand_on: &mut write };
    for item in items {
        make(item, &mut part)?;
        part.pass()?;
    }
    let Part { mut bytes, hand_on, .. } = part;
    hand_on(&mut bytes).map(|_| ())
}

/// Every thread makes answers, and writes those whose turn it is when it has made one: no thread is a dedicated writer.
fn write_together<T: Sync>(
    items: &[T],
    threads: usize,
    out: &mut (dyn Write + Send),
    make: impl Fn(&T, &mut Part<'_>) -> io::Result<()> + Sync,
) -> io::Result<()> {
    let line = Line::new(out);
    let work = || {
        let _leaving = Leaving(&line);
        while let Some((number, item)) = line.begin(items) {
            line.answer(number, item, &make);
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    let state = line.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    state.error.map_or(Ok(()), Err)
}

/// Answers in the order in which they are written.
struct Line<'o> {
    state: Mutex<State<'o>>,
    moved: Condvar,
}

struct State<'o> {
    /// Nothing while a thread writes.
    out: Option<&'o mut (dyn Write + Send)>,
    /// Items that were begun.
    begun: usize,
    /// Items that were written: the number of the one whose turn it is.
    written: usize,
    /// Answers that wait for their turn.
    waiting: BTreeMap<usize, Vec<u8>>,
    /// Buffers that were written.
    spare: Vec<Vec<u8>>,
    /// Why nothing more is written.
    error: Option<io::Error>,
}

impl<'o> Line<'o> {
    fn new(out: &'o mut (dyn Write + Send)) -> Self {
        let state = State {
            out: Some(out),
            begun: 0,
            written: 0,
            waiting: BTreeMap::new(),
            spare: Vec::new(),
            error: None,
        };
        Line { state: Mutex::new(state), moved: Condvar::new() }
    }

    /// What a thread that panicked was at does not matter: its panic ends the command.
    fn lock(&self) -> MutexGuard<'_, State<'o>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State<'o>>) -> MutexGuard<'s, State<'o>> {
        self.moved.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// The next item and its number. Waits while too many are ahead of what is written.
    fn begin<'t, T>(&self, items: &'t [T]) -> Option<(usize, &'t T)> {
        let mut state = self.lock();
        while state.error.is_none() && state.begun >= state.written + AHEAD {
            state = self.wait(state);
        }
        let number = state.begun;
        let item = items.get(number).filter(|_| state.error.is_none())?;
        state.begun += 1;
        Some((number, item))
    }

    fn answer<T>(
        &self,
        number: usize,
        item: &T,
        make: &impl Fn(&T, &mut Part<'_>) -> io::Result<()>,
    ) {
        let bytes = self.lock().spare.pop().unwrap_or_else(new_buffer);
        let mut hand_on = |bytes: &mut Vec<u8>| self.hand_on(number, bytes);
        let mut part = Part { bytes, full: FULL, hand_on: &mut hand_on };
        match make(item, &mut part) {
            Ok(()) => self.finish(number, part.bytes),
            Err(error) => self.stop(error),
        }
    }

    /// Nothing more is written, for the first reason that there was.
    fn stop(&self, error: io::Error) {
        self.lock().error.get_or_insert(error);
        self.moved.notify_all();
    }

    /// Writes a part of an answer if it is its turn, and waits for that if it is much.
    fn hand_on(&self, number: usize, bytes: &mut Vec<u8>) -> io::Result<usize> {
        let mut state = self.lock();
        if state.written != number && bytes.len() < MOST {
            return Ok(bytes.len() + FULL);
        }
        while state.error.is_none() && (state.written != number || state.out.is_none()) {
            state = self.wait(state);
        }
        let state = self.write(state, bytes);
        bytes.clear();
        match &state.error {
            Some(error) => Err(error.kind().into()),
            None => Ok(FULL),
        }
    }

    /// Puts an answer into the line, and writes from its head as long as no other thread does.
    fn finish(&self, number: usize, bytes: Vec<u8>) {
        let mut state = self.lock();
        state.waiting.insert(number, bytes);
        while state.out.is_some() && state.error.is_none() {
            let turn = state.written;
            let Some(mut bytes) = state.waiting.remove(&turn) else { return };
            state = self.write(state, &bytes);
            state.written += 1;
            bytes.clear();
            state.spare.push(bytes);
            self.moved.notify_all();
        }
    }

    /// Writes without keeping the others from what they do.
    fn write<'s>(
        &'s self,
        mut state: MutexGuard<'s, State<'o>>,
        bytes: &[u8],
    ) -> MutexGuard<'s, State<'o>> {
        let Some(out) = state.out.take().filter(|_| state.error.is_none()) else { return state };
        drop(state);
        let written = out.write_all(bytes);
        if let Err(error) = written {
            self.stop(error);
        }
        let mut state = self.lock();
        state.out = Some(out);
        self.moved.notify_all();
        state
    }
}

/// A thread that leaves because it panicked stops the line: others may wait for its answer.
struct Leaving<'l, 'o>(&'l Line<'o>);

impl Drop for Leaving<'_, '_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stop(io::ErrorKind::Other.into());
        }
    }
}

fn new_buffer() -> Vec<u8> {
    Vec::with_capacity(FULL + FULL / 8)
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
    fn answers_come_in_order_on_any_thread() {
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
