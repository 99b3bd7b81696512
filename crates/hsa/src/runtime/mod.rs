//! The runtime: made by the first `hsa_init`, gone with the last `hsa_shut_down`.

pub(crate) mod copy;
pub(crate) mod dispatch;
mod dump;
pub(crate) mod event;
pub(crate) mod executable;
pub(crate) mod fault;
pub(crate) mod intercept;
pub(crate) mod pool;
pub(crate) mod queue;
pub(crate) mod summary;
pub(crate) mod vmem;

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use crate::abi::{Answer, Status};
use crate::agent::{Agent, Gpu, Pool};
use crate::config::Config;
use crate::log;
use crate::runtime::copy::Copies;
use crate::runtime::event::Events;
use crate::runtime::executable::{Loaded, Reader};
use crate::runtime::intercept::Interceptors;
use crate::runtime::pool::Helpers;
use crate::runtime::queue::Queue;
use crate::runtime::summary::Summary;
use crate::runtime::vmem::Handles;
use crate::signal;
use crate::space::Space;

/// Everything that the runtime holds.
pub(crate) struct Runtime {
    pub(crate) config: Config,
    pub(crate) agents: Vec<Agent>,
    pub(crate) space: Space,
    pub(crate) queues: Mutex<HashMap<u64, Arc<Queue>>>,
    pub(crate) readers: Mutex<HashMap<u64, Arc<Reader>>>,
    pub(crate) loaded: RwLock<Loaded>,
    pub(crate) groups: Mutex<HashMap<u64, Vec<u64>>>,
    pub(crate) events: Events,
    pub(crate) copies: Copies,
    pub(crate) helpers: Helpers,
    pub(crate) handles: Mutex<Handles>,
    pub(crate) summary: Summary,
    pub(crate) interceptors: Interceptors,
    /// Set when it is to end; threads look at it.
    pub(crate) is_over: AtomicBool,
    next: AtomicU64,
}

static RUNTIME: AtomicPtr<Runtime> = AtomicPtr::new(ptr::null_mut());
static COUNT: AtomicU64 = AtomicU64::new(0);
/// Held while the runtime begins or ends. No mutex: a child process must be able to begin anew.
static IS_CHANGING: AtomicBool = AtomicBool::new(false);
/// How often the runtime may be initialized.
const MOST: u64 = u32::MAX as u64;

struct Changing;

impl Changing {
    fn begin() -> Self {
        while IS_CHANGING.swap(true, SeqCst) {
            std::thread::yield_now();
        }
        Self
    }
}

impl Drop for Changing {
    fn drop(&mut self) {
        IS_CHANGING.store(false, SeqCst);
    }
}

/// The runtime, if it is initialized.
pub(crate) fn get() -> Option<&'static Runtime> {
    // SAFETY: what the pointer says was leaked by `init`, and is never given back.
    unsafe { RUNTIME.load(SeqCst).as_ref() }
}

/// Nanoseconds of the host's monotonic clock: what the clocks of all agents say.
pub(crate) fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time is ours to write. HIP compares times of this clock with ours, so it is the host's.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    let [seconds, rest] =
        [time.tv_sec, time.tv_nsec].map(|it| u64::try_from(it).unwrap_or_default());
    // Never zero, which stands for no time at all.
    seconds.saturating_mul(crate::agent::FREQUENCY).saturating_add(rest).max(1)
}

/// A lock that outlives a thread which died with it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a call of the interface: no panic leaves it.
pub(crate) fn guard(call: impl FnOnce() -> Answer) -> Status {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => Status::SUCCESS,
        Ok(Err(status)) => status,
        Err(_) => {
            log::line("an error of hsaco's own; the call fails");
            Status::ERROR
        }
    }
}

/// The same for a call that needs the runtime.
pub(crate) fn enter(call: impl FnOnce(&'static Runtime) -> Answer) -> Status {
    guard(|| call(get().ok_or(Status::NOT_INITIALIZED)?))
}

/// Initializes the runtime, if it is not; `begin` sees it when it is new.
pub(crate) fn init(begin: impl FnOnce(&Runtime)) -> Answer {
    let changing = Changing::begin();
    if COUNT.load(SeqCst) >= MOST {
        return Err(Status::REFCOUNT_OVERFLOW);
    }
    if get().is_none() {
        watch_forks();
        watch_exit();
        let runtime = Runtime::new()?;
        let runtime: &'static Runtime = Box::leak(Box::new(runtime));
        RUNTIME.store(ptr::from_ref(runtime).cast_mut(), SeqCst);
        COUNT.store(1, SeqCst);
        drop(changing);
        begin(runtime);
        return Ok(());
    }
    COUNT.fetch_add(1, SeqCst);
    Ok(())
}

/// Ends the runtime with the last of those who have initialized it, who has called `end` before.
pub(crate) fn shut_down(end: impl FnOnce()) -> Answer {
    let _changing = Changing::begin();
    let runtime = get().ok_or(Status::NOT_INITIALIZED)?;
    if COUNT.fetch_sub(1, SeqCst) > 1 {
        return Ok(());
    }
    end();
    runtime.end();
    RUNTIME.store(ptr::null_mut(), SeqCst);
    Ok(())
}

/// A child process has none of the threads: it must initialize the runtime itself, and finds it as if it never was.
fn watch_forks() {
    static ONCE: OnceLock<()> = OnceLock::new();
    extern "C" fn in_child() {
        RUNTIME.store(ptr::null_mut(), SeqCst);
        COUNT.store(0, SeqCst);
        IS_CHANGING.store(false, SeqCst);
    }
    ONCE.get_or_init(|| {
        // SAFETY: the handler changes atomics alone, and stays loaded: the library is never unloaded.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    });
}

/// Programs that never shut the runtime down get their summary when they end.
fn watch_exit() {
    static ONCE: OnceLock<()> = OnceLock::new();
    extern "C" fn at_exit() {
        let _ = guard(|| {
            if let Some(runtime) = get() {
                runtime.interceptors.flush();
                runtime.summary.write(runtime);
            }
            Ok(())
        });
    }
    ONCE.get_or_init(|| {
        // SAFETY: the function stays loaded: the library is never unloaded.
        unsafe { libc::atexit(at_exit) };
    });
}

impl Runtime {
    fn new() -> Answer<Self> {
        now();
        let told = |error: String| {
            log::line(&error);
            Status::ERROR
        };
        let config = Config::read().map_err(told)?;
        let interceptors = Interceptors::new(&config).map_err(told)?;
        let mut agents = vec![Agent::host()];
        for (node, model) in (1..).zip(&config.devices) {
            agents.push(Agent::gpu(node, model.clone()));
        }
        let arena = signal::arena().ok_or(Status::OUT_OF_RESOURCES)?;
        for gpu in agents.iter().filter_map(|it| it.gpu.as_ref()) {
            let signals = hsaco_emu::HostMemory {
                words: arena.words(),
                bytes: 0..arena.words().len() as u64 * 8,
                address: arena.address(),
                is_writable: true,
                slack: 0,
                keeper: Arc::new(()),
            };
            gpu.device.memory.share(signals).map_err(|_| Status::OUT_OF_RESOURCES)?;
            let (address, words) =
                crate::runtime::queue::shared_words().ok_or(Status::OUT_OF_RESOURCES)?;
            let queues = hsaco_emu::HostMemory {
                words,
                bytes: 0..words.len() as u64 * 8,
                address,
                is_writable: true,
                slack: 0,
                keeper: Arc::new(()),
            };
            gpu.device.memory.share(queues).map_err(|_| Status::OUT_OF_RESOURCES)?;
        }
        let summary = Summary::new(&config);
        Ok(Self {
            helpers: Helpers::new(config.threads),
            config,
            agents,
            space: Space::default(),
            queues: Mutex::default(),
            readers: Mutex::default(),
            loaded: RwLock::default(),
            groups: Mutex::default(),
            events: Events::default(),
            copies: Copies::default(),
            handles: Mutex::default(),
            summary,
            interceptors,
            is_over: AtomicBool::new(false),
            next: AtomicU64::new(0x1000),
        })
    }

    /// Ends threads, and gives everything back.
    fn end(&'static self) {
        self.is_over.store(true, SeqCst);
        let queues: Vec<_> = lock(&self.queues).drain().map(|it| it.1).collect();
        queues.iter().for_each(|it| it.end());
        self.helpers.end();
        signal::changed().ring();
        self.events.end();
        self.copies.end();
        self.interceptors.flush();
        self.summary.write(self);
        lock(&self.readers).clear();
        *self.loaded.write().unwrap_or_else(PoisonError::into_inner) = Loaded::default();
        for block in self.space.take() {
            for agent in self.agents.iter().filter(|it| block.agents & it.bit() != 0) {
                agent.gpu.iter().for_each(|it| {
                    it.device.memory.free(block.base);
                });
            }
        }
        self.agents.iter().for_each(Agent::forget_kernels);
    }

    /// A number that no handle had before.
    pub(crate) fn handle(&self) -> u64 {
        self.next.fetch_add(0x10, Relaxed)
    }

    pub(crate) fn agent(&self, handle: u64) -> Answer<&Agent> {
        self.agents.iter().find(|it| it.handle == handle).ok_or(Status::INVALID_AGENT)
    }

    /// An agent that runs kernels.
    pub(crate) fn gpu(&self, handle: u64) -> Answer<(&Agent, &Gpu)> {
        let agent = self.agent(handle)?;
        agent.gpu.as_ref().map(|gpu| (agent, gpu)).ok_or(Status::INVALID_AGENT)
    }

    pub(crate) fn host(&self) -> Answer<&Agent> {
        self.agents.first().ok_or(Status::ERROR)
    }

    pub(crate) fn agent_of_isa(&self, isa: u64) -> Answer<&Agent> {
        self.agents.iter().find(|it| it.isa() == Some(isa)).ok_or(Status::INVALID_ISA)
    }

    pub(crate) fn pool(&self, handle: u64) -> Option<Pool<'_>> {
        self.agents.iter().flat_map(Agent::pools).find(|it| it.handle == handle)
    }
}

/// A thread of the runtime. Signals are for the program's own.
pub(crate) fn spawn(
    name: &str,
    work: impl FnOnce() + Send + 'static,
) -> Option<std::thread::JoinHandle<()>> {
    let quiet = move || {
        // SAFETY: sets are local, and filling and using one is what these calls are for.
        unsafe {
            let mut all = std::mem::zeroed();
            libc::sigfillset(&raw mut all);
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, ptr::null_mut());
        }
        work();
    };
    std::thread::Builder::new().name(name.to_owned()).spawn(quiet).ok()
}

/// Waits for a thread, unless it is the one that calls.
pub(crate) fn join(thread: Option<std::thread::JoinHandle<()>>) {
    if let Some(thread) = thread
        && thread.thread().id() != std::thread::current().id()
    {
        // What panicked there was told there.
        let _ = thread.join();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::panic, reason = "it is what must not leave a call")]
    fn a_panic_is_a_status_of_its_call() {
        assert_eq!(guard(|| panic!("inside a call")), Status::ERROR);
        assert_eq!(enter(|_| panic!("without a runtime")), Status::NOT_INITIALIZED);
        assert_eq!(guard(|| Err(Status::INVALID_AGENT)), Status::INVALID_AGENT);
        assert_eq!(guard(|| Ok(())), Status::SUCCESS);
    }
}
