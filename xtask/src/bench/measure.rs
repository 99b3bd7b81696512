//! Time and memory of processes.

use std::fmt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::process;

/// The times of several runs of one thing.
#[derive(Clone, Copy)]
pub(crate) struct Timing {
    pub(crate) min: Duration,
    pub(crate) median: Duration,
}

impl Timing {
    fn new(mut times: Vec<Duration>) -> Result<Self> {
        times.sort();
        let min = *times.first().context("nothing was timed")?;
        let median = *times.get(times.len() / 2).context("nothing was timed")?;
        Ok(Self { min, median })
    }

    /// The times of doing it two times.
    pub(crate) fn twice(self) -> Self {
        Self { min: self.min * 2, median: self.median * 2 }
    }
}

impl fmt::Display for Timing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
        f.pad(&format!("{:.2} / {:.2}", milliseconds(self.min), milliseconds(self.median)))
    }
}

/// Times one thing, after one untimed run that warms the caches.
pub(crate) fn repeat(runs: usize, mut one: impl FnMut() -> Result<Duration>) -> Result<Timing> {
    one()?;
    Timing::new((0..runs).map(|_| one()).collect::<Result<_>>()?)
}

/// Times two things in turns, so that what the machine does beside hits both alike.
pub(crate) fn in_turns(
    runs: usize,
    mut one: impl FnMut() -> Result<Duration>,
    mut other: impl FnMut() -> Result<Duration>,
) -> Result<(Timing, Timing)> {
    one()?;
    other()?;
    let (mut ones, mut others) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        ones.push(one()?);
        others.push(other()?);
    }
    Ok((Timing::new(ones)?, Timing::new(others)?))
}

/// From start to end of a process; its output goes nowhere.
pub(crate) fn wall_time(command: &mut Command) -> Result<Duration> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    let status = command.status().with_context(|| process::describe(command))?;
    let time = start.elapsed();
    if !status.success() {
        bail!("`{}`: {status}", process::describe(command));
    }
    Ok(time)
}

/// From the start of two processes to the end of both; their output goes nowhere.
pub(crate) fn wall_time_of_both(one: &mut Command, other: &mut Command) -> Result<Duration> {
    let start = Instant::now();
    thread::scope(|scope| {
        let other = scope.spawn(|| wall_time(other));
        wall_time(one)?;
        other.join().ok().context("a thread panicked")?
    })?;
    Ok(start.elapsed())
}

/// What a process took.
pub(crate) struct Usage {
    /// The time that it computed, on all cores together, of one run.
    pub(crate) user: Duration,
    /// The same with the time that the system worked for it.
    pub(crate) on_core: Duration,
    /// The most memory that it had resident, in bytes.
    pub(crate) peak_memory: u64,
}

/// Runs a command so many times, its output going to a file.
///
/// The kernel tells user from system time by looking now and then: a run of a few milliseconds may well
/// come out as none, so only several of them together say anything.
/// Python asks the kernel, for std cannot; its own 10 MiB or so are the least memory that can come out.
/// Where `python3` is a script that starts Python, what that script ran counts among the children too.
pub(crate) fn usage(command: &Command, runs: u32, output: &Path) -> Result<Usage> {
    measured(command, runs, output, "")
}

/// The same on one core, and so with one thread: two that share a core both take longer.
pub(crate) fn usage_on_one_core(command: &Command, runs: u32, output: &Path) -> Result<Usage> {
    measured(command, runs, output, "import os\nos.sched_setaffinity(0, {0})\n")
}

fn measured(command: &Command, runs: u32, output: &Path, prepare: &str) -> Result<Usage> {
    const SCRIPT: &str = "\
import resource, subprocess, sys
before = resource.getrusage(resource.RUSAGE_CHILDREN)
for _ in range(int(sys.argv[1])):
    with open(sys.argv[2], 'wb') as output:
        code = subprocess.run(sys.argv[3:], stdout=output).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime - before.ru_utime, used.ru_stime - before.ru_stime, used.ru_maxrss)
sys.exit(code)";
    let mut python = Command::new("python3");
    python.arg("-c").arg(format!("{prepare}{SCRIPT}")).arg(runs.to_string()).arg(output);
    python.arg(command.get_program()).args(command.get_args());
    let text = String::from_utf8(process::output(&mut python)?)?;
    let figures: Vec<f64> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    let [user, system, kibibytes] = figures.try_into().ok().context("no three figures")?;
    let [user, system] = [user, system].map(|it| Duration::from_secs_f64(it) / runs);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number")]
    Ok(Usage { user, on_core: user + system, peak_memory: kibibytes as u64 * 1024 })
}

/// The instructions that a process retires outside of the system, where the machine's counters are to be had.
pub(crate) fn instructions(command: &Command) -> Result<Option<u64>> {
    let mut perf = Command::new("perf");
    perf.args(["stat", "-x,", "-e", "instructions:u"]).arg(command.get_program());
    perf.args(command.get_args()).stdin(Stdio::null()).stdout(Stdio::null());
    let Ok(output) = perf.output() else { return Ok(None) };
    let text = String::from_utf8(output.stderr)?;
    let counted = text.lines().find(|line| line.contains("instructions"));
    Ok(counted.and_then(|line| line.split(',').next()?.parse().ok()))
}
