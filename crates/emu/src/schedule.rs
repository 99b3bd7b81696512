//! A dispatch that is running: workgroups, shared out among the threads that come to work.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::barrier::Member;
use crate::code::{self, KernelCode, MnemonicCounts, Translated};
use crate::dispatch::{Dispatch, Outcome};
use crate::error::{Error, Result};
use crate::hostcall::Messages;
use crate::memory::View;
use crate::revision::Met;
use crate::sanitize::Observer;
use crate::translate::{self, Program};
use crate::watch::{Tainted, Watcher};
use crate::wave::Wave;
use crate::workgroup::{Budget, Eyes, Progress, Workgroup};

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
    budget: Budget,
    shared: Mutex<Shared>,
    messages: Mutex<Messages>,
    tainted: Tainted,
}

#[derive(Debug)]
struct Shared {
    /// The cluster that is to begin next; most have one workgroup.
    next: Option<[u32; 3]>,
    outcome: Outcome,
    errata: Met,
    failure: Option<Error>,
}

impl<'d> Run<'d> {
    /// All workgroups of a dispatch, none of them begun, for so many threads at most.
    #[must_use]
    pub fn new(dispatch: &'d Dispatch<'d>, threads: usize) -> Self {
        let threads = threads.max(1);
        if !dispatch.keeps_code {
            dispatch.device.memory.set_shared(threads > 1);
        }
        let is_empty = dispatch.workgroups().contains(&0);
        Self {
            dispatch,
            vacancies: AtomicUsize::new(threads),
            threads,
            is_over: AtomicBool::new(false),
            budget: Budget::new(dispatch.limits.instructions),
            shared: Mutex::new(Shared {
                next: (!is_empty).then_some([0; 3]),
                outcome: Outcome::default(),
                errata: Met::default(),
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
        let code = &self.dispatch.code;
        let done = match code.entry.wave_size() {
            32 => Worker::<4>::work(self, &code.narrow),
            _ => Worker::<8>::work(self, &code.wide),
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
        let Dispatch { code, device, .. } = self.dispatch;
        let text = |address| translate::text(code.target, address, &device.memory);
        let shared = self.shared.into_inner().unwrap_or_else(PoisonError::into_inner);
        match shared.failure {
            Some(error) => Err(error),
            None => printed.map(|()| Outcome {
                instructions: self.budget.executed(),
                errata: shared.errata.reports(text),
                ..shared.outcome
            }),
        }
    }

    /// Answers what waves have asked of the host.
    fn serve(&self) -> Result<()> {
        let device = self.dispatch.device;
        let Some((hostcall, host)) = device.hostcall.zip(self.dispatch.host) else {
            return Ok(());
        };
        let mut messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        hostcall.serve(&device.memory, &mut messages, host)
    }

    /// Prints what the kernel has left in the buffer.
    fn print(&self) -> Result<()> {
        let device = self.dispatch.device;
        let Some((prints, host)) = device.prints.zip(self.dispatch.host) else {
            return Ok(());
        };
        prints.print(&device.memory, &device.formats, host)
    }

    /// Whether it is to end: a workgroup has failed, or the caller does not want it any more.
    fn is_over(&self) -> bool {
        let is_stopped = self.dispatch.stop.is_some_and(|it| it.load(Relaxed));
        is_stopped || self.is_over.load(Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The workgroups of the next cluster to begin.
    fn begin(&self) -> Option<Vec<[u32; 3]>> {
        let mut shared = self.lock();
        let number = shared.next?;
        let (size, mut counts) = (self.dispatch.cluster, self.dispatch.workgroups());
        counts.iter_mut().zip(size).for_each(|(count, size)| *count /= size.max(1));
        shared.next = following(number, counts);
        let inside = std::iter::successors(Some([0; 3]), |it| following(*it, size));
        let place = |[x, y, z]: [u32; 3]| {
            let ([a, b, c], [columns, rows, layers]) = (number, size);
            [a * columns + x, b * rows + y, c * layers + z]
        };
        Some(inside.map(place).collect())
    }
}

impl Dispatch<'_> {
    /// Runs all workgroups on the calling thread. [`Run`] does it on several.
    ///
    /// # Errors
    /// The program stopped; the error says where.
    pub fn run(&self) -> Result<Outcome> {
        let run = Run::new(self, 1);
        run.work();
        run.finish()
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
    view: View,
    residents: VecDeque<Workgroup<'r, C>>,
    /// Waves of workgroups that have ended, whose memory is used again.
    spare: Vec<Wave<C>>,
    waves: u64,
    watcher: Option<Watcher<'r>>,
    errata: Met,
    observer: Option<Observer<'r>>,
}

impl<'r, const C: usize> Worker<'r, C> {
    fn work(run: &'r Run<'r>, shelf: &Mutex<Vec<Translated<C>>>) -> Result<()> {
        let watching = run.dispatch.watching;
        let KernelCode { target, layout, .. } = *run.dispatch.code;
        let watcher = match watching.is_needed() {
            true => {
                let decoder = translate::decoder::<C>(target)?;
                Some(Watcher::new(watching, decoder, layout, target, &run.tainted))
            }
            false => None,
        };
        let observer = match run.dispatch.sanitizer {
            Some(sanitizer) => {
                let decoder = translate::decoder::<C>(target)?;
                Some(Observer::new(sanitizer, run.dispatch.observed(), decoder))
            }
            None => None,
        };
        // Code that is watched is translated for that.
        let is_watched = watcher.is_some() || observer.is_some();
        let keeps_code = run.dispatch.keeps_code && !is_watched;
        let kept = shelf.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let Translated { program, spare } = match kept.filter(|_| keeps_code) {
            Some(translated) => translated,
            None => {
                let program = Program::new(target, layout)?.watched(is_watched);
                Translated { program, spare: Vec::new() }
            }
        };
        let mut worker = Self {
            run,
            program,
            view: View::new(&run.dispatch.device.memory),
            residents: VecDeque::new(),
            spare,
            waves: 0,
            watcher,
            errata: Met::default(),
            observer,
        };
        let done = worker.take_turns();
        let translated = worker.report(keeps_code);
        if keeps_code {
            translated.keep(shelf);
        }
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
        while !self.run.is_over() {
            if self.view.is_old() {
                self.view = View::new(&self.run.dispatch.device.memory);
            }
            while self.residents.len() < room
                && let Some(numbers) = self.run.begin()
            {
                let members = Member::all(numbers.len());
                for (number, member) in numbers.into_iter().zip(members) {
                    let dispatch = self.run.dispatch;
                    let workgroup = Workgroup::new(dispatch, number, member, &mut self.spare);
                    self.waves += workgroup.waves.len() as u64;
                    self.residents.push_back(workgroup);
                }
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
        let (mut has_ended, mut has_run, mut is_awake) = (false, false, false);
        for _ in 0..self.residents.len() {
            let Some(mut workgroup) = self.residents.pop_front() else { break };
            let eyes = Eyes { watcher: &mut self.watcher, observer: &mut self.observer };
            let budget = &self.run.budget;
            let Self { program, view, errata, .. } = self;
            let progress = workgroup.turn(program, view, budget, errata, eyes)?;
            self.run.serve()?;
            has_run |= match progress {
                Progress::Waits => false,
                // Others may come: on other threads, or when it is their turn to begin.
                Progress::WaitsForGrid => self.run.threads > 1 || self.run.lock().next.is_some(),
                _ => true,
            };
            is_awake |= matches!(progress, Progress::Ended | Progress::Goes);
            match progress {
                Progress::Ended => {
                    has_ended = true;
                    if let Some(observer) = &mut self.observer {
                        observer.leave(workgroup.number());
                    }
                    self.spare.append(&mut workgroup.waves);
                }
                Progress::Goes | Progress::Sleeps | Progress::Waits | Progress::WaitsForGrid => {
                    self.residents.push_back(workgroup);
                }
            }
        }
        if !is_awake && let Some(host) = self.run.dispatch.host {
            host.pause();
        }
        match self.residents.front() {
            // Clusters begin as a whole, so that none can come any more.
            Some(first) if !has_run => Err(first.stuck(&self.program)),
            _ => Ok(has_ended),
        }
    }

    /// Adds what this thread has done to what all have.
    fn report(mut self, keeps_code: bool) -> Translated<C> {
        let column = self.run.dispatch.code.target.column();
        let mut mnemonics = MnemonicCounts::new();
        if !keeps_code {
            code::count(&mut self.program, column, &mut mnemonics);
        }
        let translated = Translated { program: self.program, spare: self.spare };
        let mut shared = self.run.lock();
        shared.outcome.waves += self.waves;
        shared.errata.take(&mut self.errata);
        for (mnemonic, (fidelity, count)) in mnemonics {
            shared.outcome.mnemonics.entry(mnemonic).or_insert((fidelity, 0)).1 += count;
        }
        let Some(watcher) = self.watcher else { return translated };
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
        translated
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
