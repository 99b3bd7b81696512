//! A dispatch that is running: workgroups, shared out among the threads that come to work.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::dispatch::{Dispatch, Outcome};
use crate::error::{Error, Result};
use crate::hostcall::Messages;
use crate::translate::{self, Program};
use crate::watch::{Tainted, Watcher};
use crate::wave::Wave;
use crate::workgroup::{Progress, Workgroup};

/// Bytes that the registers and the scratch memory of workgroups which wait for their turn may have, for each thread.
const RESIDENT_BYTES: u64 = 256 << 20;

/// A dispatch that is running.
///
/// Each thread that calls [`work`](Self::work) runs workgroups until none is left. One is enough; nothing here makes
/// any. Programs without races do the same on any number of them.
///
/// A workgroup that does not end within its turn makes room for others: those that wait for each other all run.
#[derive(Debug)]
pub struct Run<'d> {
    dispatch: &'d Dispatch<'d>,
    /// Threads that may still come.
    vacancies: AtomicUsize,
    threads: usize,
    is_over: AtomicBool,
    executed: AtomicU64,
    shared: Mutex<Shared>,
    messages: Mutex<Messages>,
    tainted: Tainted,
}

#[derive(Debug)]
struct Shared {
    /// The workgroup that is to begin next.
    next: Option<[u32; 3]>,
    outcome: Outcome,
    failure: Option<Error>,
}

impl<'d> Run<'d> {
    /// All workgroups of a dispatch, none of them begun, for so many threads at most.
    #[must_use]
    pub fn new(dispatch: &'d Dispatch<'d>, threads: usize) -> Self {
        let threads = threads.max(1);
        dispatch.device.memory.set_shared(threads > 1);
        let is_empty = dispatch.workgroups().contains(&0);
        Self {
            dispatch,
            vacancies: AtomicUsize::new(threads),
            threads,
            is_over: AtomicBool::new(false),
            executed: AtomicU64::new(0),
            shared: Mutex::new(Shared {
                next: (!is_empty).then_some([0; 3]),
                outcome: Outcome::default(),
                failure: None,
            }),
            messages: Mutex::default(),
            tainted: Tainted::default(),
        }
    }

    /// Runs workgroups until none is left, or one has failed. A thread that comes when all have come does nothing.
    pub fn work(&self) {
        let enter = |left: usize| left.checked_sub(1);
        if self.vacancies.fetch_update(Relaxed, Relaxed, enter).is_err() {
            return;
        }
        let done = match self.dispatch.entry.wave_size() {
            32 => Worker::<4>::work(self),
            _ => Worker::<8>::work(self),
        };
        if let Err(error) = done {
            self.is_over.store(true, Relaxed);
            self.lock().failure.get_or_insert(error);
        }
    }

    /// What all of it has done, once every thread is back.
    ///
    /// # Errors
    /// The program stopped; the error says where.
    pub fn finish(self) -> Result<Outcome> {
        let printed = self.print();
        let shared = self.shared.into_inner().unwrap_or_else(PoisonError::into_inner);
        match shared.failure {
            Some(error) => Err(error),
            None => printed
                .map(|()| Outcome { instructions: self.executed.into_inner(), ..shared.outcome }),
        }
    }

    /// Answers what waves have asked of the host.
    fn serve(&self) -> Result<()> {
        let device = self.dispatch.device;
        let Some((hostcall, host)) = device.hostcall.zip(self.dispatch.watching.host) else {
            return Ok(());
        };
        let mut messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        hostcall.serve(&device.memory, &mut messages, host)
    }

    /// Prints what the kernel has left in the buffer.
    fn print(&self) -> Result<()> {
        let device = self.dispatch.device;
        let Some((prints, host)) = device.prints.zip(self.dispatch.watching.host) else {
            return Ok(());
        };
        prints.print(&device.memory, &device.formats, host)
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next workgroup to begin.
    fn begin(&self) -> Option<[u32; 3]> {
        let mut shared = self.lock();
        let number = shared.next?;
        shared.next = following(number, self.dispatch.workgroups());
        Some(number)
    }

    /// Wave instructions that may still run.
    pub(crate) fn left(&self) -> u64 {
        self.dispatch.limits.instructions.saturating_sub(self.executed.load(Relaxed))
    }

    pub(crate) fn count(&self, instructions: u64) {
        self.executed.fetch_add(instructions, Relaxed);
    }
}

/// The workgroup after one, x first.
fn following([x, y, z]: [u32; 3], counts: [u32; 3]) -> Option<[u32; 3]> {
    let [columns, rows, layers] = counts;
    if x + 1 < columns {
        return Some([x + 1, y, z]);
    }
    if y + 1 < rows {
        return Some([0, y + 1, z]);
    }
    (z + 1 < layers).then_some([0, 0, z + 1])
}

/// One thread's share: its translated code, and the workgroups that it has begun.
struct Worker<'r, const C: usize> {
    run: &'r Run<'r>,
    program: Program<C>,
    residents: VecDeque<Workgroup<'r, C>>,
    /// Waves of workgroups that have ended, whose memory is used again.
    spare: Vec<Wave<C>>,
    waves: u64,
    watcher: Option<Watcher<'r>>,
}

impl<'r, const C: usize> Worker<'r, C> {
    fn work(run: &'r Run<'r>) -> Result<()> {
        let Dispatch { target, layout, watching, .. } = *run.dispatch;
        let watcher = match watching.is_needed() {
            true => {
                let decoder = translate::decoder::<C>(target)?;
                Some(Watcher::new(watching, decoder, layout, target, &run.tainted))
            }
            false => None,
        };
        let mut worker = Self {
            run,
            program: Program::new(target, layout)?,
            residents: VecDeque::new(),
            spare: Vec::new(),
            waves: 0,
            watcher,
        };
        let done = worker.take_turns();
        worker.report();
        done
    }

    /// Workgroups that may be begun at once.
    fn most(&self) -> usize {
        let dispatch = self.run.dispatch;
        let left = dispatch.device.memory.left() / self.run.threads as u64;
        let most = RESIDENT_BYTES.min(left) / dispatch.workgroup_bytes().max(1);
        usize::try_from(most).unwrap_or(usize::MAX).max(1)
    }

    fn take_turns(&mut self) -> Result<()> {
        let most = self.most();
        let mut room = 1;
        while !self.run.is_over.load(Relaxed) {
            while self.residents.len() < room
                && let Some(number) = self.run.begin()
            {
                let workgroup = Workgroup::new(self.run.dispatch, number, &mut self.spare);
                self.waves += workgroup.waves.len() as u64;
                self.residents.push_back(workgroup);
            }
            if self.residents.is_empty() {
                return Ok(());
            }
            let has_ended = self.turn()?;
            // Where none ends, they may be waiting for one that has not begun.
            room = if has_ended { self.residents.len().max(1) } else { (room * 2).min(most) };
        }
        Ok(())
    }

    /// Gives each workgroup a turn; says whether one has ended.
    fn turn(&mut self) -> Result<bool> {
        let mut has_ended = false;
        for _ in 0..self.residents.len() {
            let Some(mut workgroup) = self.residents.pop_front() else { break };
            let progress = workgroup.turn(&mut self.program, self.run, &mut self.watcher)?;
            self.run.serve()?;
            match progress {
                Progress::Ended => {
                    has_ended = true;
                    self.spare.append(&mut workgroup.waves);
                }
                Progress::Goes => self.residents.push_back(workgroup),
            }
        }
        Ok(has_ended)
    }

    /// Adds what this thread has done to what all have.
    fn report(self) {
        let column = self.run.dispatch.target.column();
        let mut mnemonics = BTreeMap::new();
        for block in &self.program.blocks {
            for semantics in &block.semantics {
                let fidelity = semantics.fidelity_on(column);
                let entry = mnemonics.entry(semantics.mnemonic).or_insert((fidelity, 0));
                entry.1 += block.runs;
            }
        }
        let mut shared = self.run.lock();
        shared.outcome.waves += self.waves;
        for (mnemonic, (fidelity, count)) in mnemonics {
            shared.outcome.mnemonics.entry(mnemonic).or_insert((fidelity, 0)).1 += count;
        }
        let Some(watcher) = self.watcher else { return };
        let (profile, reached) = watcher.finish();
        for (address, of_thread) in profile {
            let all = shared.outcome.profile.entry(address).or_default();
            all.text = of_thread.text;
            all.executions += of_thread.executions;
            all.lanes += of_thread.lanes;
            all.cache_lines += of_thread.cache_lines;
        }
        if self.run.dispatch.watching.follows {
            let all = shared.outcome.reached.get_or_insert_default();
            all.address |= reached.address;
            all.branch |= reached.branch;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workgroups_follow_each_other_x_first() {
        let all = std::iter::successors(Some([0; 3]), |it| following(*it, [2, 1, 2]));
        assert_eq!(all.collect::<Vec<_>>(), [[0, 0, 0], [1, 0, 0], [0, 0, 1], [1, 0, 1]]);
    }
}
