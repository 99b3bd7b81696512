//! Queues: rings of packets in memory, and the thread that processes them.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;

use hsaco_kernarg::Packet;

use crate::abi::{AmdQueue, Answer, HsaQueue, Status, signal_kind};
use crate::agent::Agent;
use crate::log;
use crate::pages::Pages;
use crate::ring::Ring;
use crate::runtime::dispatch;
use crate::runtime::{self, Runtime, now};
use crate::signal::{self, Condition};
use crate::space::{Block, Kind};
use crate::sync::{Bell, Patience};

/// The callback of a queue that has met an error.
pub(crate) type ErrorCallback = extern "C" fn(Status, *mut HsaQueue, *mut c_void);

/// Upper halves of the addresses of LDS and of scratch memory, as the emulator has them.
const APERTURES: [u32; 2] = [0x1_0000, 0x2_0000];
/// Where the packet processor may say that a queue is alive: a reserved word of it.
const ALIVE: u32 = 0x5151_a1ce;
/// Queues that there may be at most.
const MOST: u64 = 1 << 12;

/// A queue.
pub(crate) struct Queue {
    runtime: &'static Runtime,
    /// Handle of its agent.
    pub(crate) agent: u64,
    /// Where its `amd_queue_t` is.
    pub(crate) address: u64,
    ring: Ring,
    callback: Option<ErrorCallback>,
    data: usize,
    pub(crate) doorbell: u64,
    /// Whether the doorbell was made with it.
    owns_doorbell: bool,
    bell: Bell,
    /// Ends the thread, and what it runs.
    pub(crate) stop: AtomicBool,
    /// The status that made it inactive; 0 is none.
    error: AtomicU32,
    pub(crate) priority: AtomicU32,
    pub(crate) mask: Mutex<Vec<u32>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What a queue is made of.
pub(crate) struct Setup {
    pub(crate) kind: u32,
    pub(crate) features: u32,
    pub(crate) size: u32,
    pub(crate) callback: Option<ErrorCallback>,
    pub(crate) data: *mut c_void,
    /// The doorbell of a queue that the program processes itself.
    pub(crate) doorbell: Option<u64>,
}

/// Where all `amd_queue_t` are: their addresses are checked without a lock.
struct Arena {
    pages: Pages,
    free: Mutex<(Vec<u64>, u64)>,
}

fn arena() -> Option<&'static Arena> {
    static ARENA: OnceLock<Option<Arena>> = OnceLock::new();
    let make = || {
        let pages = Pages::new(MOST * size_of::<AmdQueue>() as u64)?;
        Some(Arena { pages, free: Mutex::default() })
    };
    ARENA.get_or_init(make).as_ref()
}

/// The words of all `amd_queue_t`, which kernels may read.
pub(crate) fn shared_words() -> Option<(u64, &'static [AtomicU64])> {
    let arena = arena()?;
    // SAFETY: the arena is static, and its pages may be accessed.
    Some((arena.pages.address(), unsafe { arena.pages.words() }))
}

/// The queue at an address, if it is one.
#[inline]
pub(crate) fn get(queue: *const HsaQueue) -> Option<&'static AmdQueue> {
    let arena = arena()?;
    let offset = (queue as u64).wrapping_sub(arena.pages.address());
    let size = size_of::<AmdQueue>() as u64;
    if offset >= MOST * size || !offset.is_multiple_of(size) {
        return None;
    }
    // SAFETY: the address is that of a queue in the arena, which is static. What changes of it is atomic; the rest is
    // written before the queue is alive.
    let queue = unsafe { &*queue.cast::<AmdQueue>() };
    (alive(queue).load(Acquire) == ALIVE).then_some(queue)
}

/// The reserved word that says whether a queue is alive.
fn alive(queue: &AmdQueue) -> &AtomicU32 {
    let word = queue.reserved4.as_ptr().cast_mut();
    // SAFETY: the word is in the arena, is aligned, and is accessed by this alone.
    unsafe { AtomicU32::from_ptr(word) }
}

impl Arena {
    fn take(&self) -> Option<u64> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(address) = free.0.pop() {
            return Some(address);
        }
        let number = free.1;
        free.1 += 1;
        (number < MOST).then(|| self.pages.address() + number * size_of::<AmdQueue>() as u64)
    }
}

impl Queue {
    /// A queue of an agent, whose thread waits for packets.
    pub(crate) fn create(
        runtime: &'static Runtime,
        agent: &Agent,
        setup: &Setup,
    ) -> Answer<std::sync::Arc<Self>> {
        let arena = arena().ok_or(Status::OUT_OF_RESOURCES)?;
        let bytes = u64::from(setup.size) * Packet::SIZE as u64;
        let pages = Pages::new(bytes).ok_or(Status::OUT_OF_RESOURCES)?;
        // SAFETY: the pages live as long as the thread of the queue does.
        let ring = unsafe { Ring::new(pages.address(), setup.size.into()) };
        let address = arena.take().ok_or(Status::OUT_OF_RESOURCES)?;
        let doorbell = match setup.doorbell {
            Some(doorbell) => doorbell,
            None => signal::create(-1, signal_kind::DOORBELL)?,
        };
        let block = Block::of_pages(pages, bytes, Kind::Queue, agent);
        runtime.space.add(block, [agent])?;
        let queue = std::sync::Arc::new(Self {
            runtime,
            agent: agent.handle,
            address,
            ring,
            callback: setup.callback,
            data: setup.data as usize,
            doorbell,
            owns_doorbell: setup.doorbell.is_none(),
            bell: Bell::default(),
            stop: AtomicBool::new(false),
            error: AtomicU32::new(0),
            priority: AtomicU32::new(1),
            mask: Mutex::default(),
            thread: Mutex::default(),
        });
        queue.write(agent, setup);
        if setup.doorbell.is_none() {
            signal::find(doorbell)?.queue_ptr.store(address, Release);
            let its = std::sync::Arc::clone(&queue);
            let thread = runtime::spawn("hsaco-queue", move || its.run());
            *runtime::lock(&queue.thread) = Some(thread.ok_or(Status::OUT_OF_RESOURCES)?);
        }
        Ok(queue)
    }

    /// Fills its `amd_queue_t`.
    fn write(&self, agent: &Agent, setup: &Setup) {
        let units = agent.gpu.as_ref().map_or(0, |it| it.model.compute_units);
        let waves = agent.gpu.as_ref().map_or(0, |it| {
            let limits = it.model.target.processor.limits();
            limits.max_waves * limits.simds_per_cu
        });
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let offset = std::mem::offset_of!(AmdQueue, read_dispatch_id);
        let queue = AmdQueue {
            hsa_queue: HsaQueue {
                kind: setup.kind,
                features: setup.features,
                base_address: self.ring.address() as *mut c_void,
                doorbell_signal: self.doorbell,
                size: setup.size,
                reserved1: 0,
                id: NUMBER.fetch_add(1, Relaxed),
            },
            reserved1: [0; 4],
            write_dispatch_id: AtomicU64::new(0),
            group_segment_aperture_base_hi: APERTURES[0],
            private_segment_aperture_base_hi: APERTURES[1],
            max_cu_id: units.saturating_sub(1),
            max_wave_id: waves.saturating_sub(1),
            max_legacy_doorbell_dispatch_id_plus_1: AtomicU64::new(0),
            legacy_doorbell_lock: AtomicU32::new(0),
            reserved2: [0; 9],
            read_dispatch_id: AtomicU64::new(0),
            read_dispatch_id_field_base_byte_offset: u32::try_from(offset).unwrap_or(0),
            compute_tmpring_size: 0,
            scratch_resource_descriptor: [0; 4],
            scratch_backing_memory_location: 0,
            scratch_backing_memory_byte_size: 0,
            scratch_wave64_lane_byte_size: 0,
            // Pointers of 64 bits.
            queue_properties: AtomicU32::new(2),
            reserved3: [0; 2],
            queue_inactive_signal: 0,
            reserved4: [0; 14],
        };
        // SAFETY: the address is a place of the arena that this queue alone has, and is not alive yet.
        unsafe { (self.address as *mut AmdQueue).write(queue) };
        alive(self.own()).store(ALIVE, Release);
    }

    fn own(&self) -> &'static AmdQueue {
        // SAFETY: the address is a place of the arena, which is static, and was written before.
        unsafe { &*(self.address as *const AmdQueue) }
    }

    /// The queue, as C knows it.
    pub(crate) fn pointer(&self) -> *mut HsaQueue {
        self.address as *mut HsaQueue
    }

    /// Says that its doorbell was written.
    pub(crate) fn ring(&self) {
        self.bell.ring();
    }

    /// Whether an error has ended it, or the program has.
    pub(crate) fn is_inactive(&self) -> bool {
        self.error.load(SeqCst) != 0 || self.stop.load(SeqCst)
    }

    /// Ends its thread.
    pub(crate) fn inactivate(&self) {
        self.stop.store(true, SeqCst);
        self.bell.ring();
    }

    /// Ends it, and gives back what it has.
    pub(crate) fn end(&self) {
        self.inactivate();
        let thread = runtime::lock(&self.thread).take();
        runtime::join(thread);
        alive(self.own()).store(0, Release);
        if self.owns_doorbell {
            // Only this destroys it: it is no signal of the program's.
            let _ = signal::destroy(self.doorbell);
        }
        let runtime = self.runtime;
        runtime.space.remove(self.ring.address(), &runtime.agents, |it| it.kind == Kind::Queue);
        if let Some(arena) = arena() {
            arena.free.lock().unwrap_or_else(PoisonError::into_inner).0.push(self.address);
        }
    }

    /// Processes packets until it ends.
    fn run(&self) {
        let mut patience = Patience::new();
        while !self.is_inactive() {
            let known = self.bell.rings();
            if self.step() {
                patience = Patience::new();
            } else {
                // Kernels and programs write to queues without telling.
                self.bell.wait(known, patience.next());
            }
        }
    }

    /// Processes the next packet; says whether there was one.
    fn step(&self) -> bool {
        let queue = self.own();
        let Some(next) = self.ring.next(queue) else { return false };
        let start = now();
        let work = || self.process(next.index, next.address, &next.bytes);
        let ended = catch_unwind(AssertUnwindSafe(work));
        let own = || Failure::new(Status::ERROR, "an error of hsaco's own ends the queue");
        match ended.unwrap_or_else(|_| Err(own())) {
            Ok(completion) => {
                self.ring.done(queue, next.index);
                signal::complete(completion, start, now());
            }
            Err(failure) if self.stop.load(SeqCst) => drop(failure),
            Err(failure) => self.fail(&failure),
        }
        true
    }

    /// Does what a packet says; gives the signal that is told.
    fn process(&self, index: u64, address: u64, bytes: &[u8; 64]) -> Result<u64, Failure> {
        match Packet::decode(bytes).0 {
            Packet::Dispatch(packet) => {
                dispatch::run(self.runtime, self, index, address, &packet)?;
                Ok(packet.completion_signal)
            }
            Packet::BarrierAnd(packet) => {
                for handle in packet.signals.into_iter().filter(|it| *it != 0) {
                    self.wait(&[(handle, Condition::DONE, u64::MAX)])?;
                }
                Ok(packet.completion_signal)
            }
            Packet::BarrierOr(packet) => {
                let signals = packet.signals.into_iter().filter(|it| *it != 0);
                let waits: Vec<_> = signals.map(|it| (it, Condition::DONE, u64::MAX)).collect();
                if !waits.is_empty() {
                    self.wait(&waits)?;
                }
                Ok(packet.completion_signal)
            }
            Packet::Vendor(bytes) => self.vendor(&bytes),
            other => {
                let detail = format!("a packet of type {} on a queue of kernels", other.name());
                Err(Failure::new(Status::INVALID_PACKET_FORMAT, detail))
            }
        }
    }

    /// Packets of AMD's: a barrier that waits for a value.
    fn vendor(&self, bytes: &[u8; 64]) -> Result<u64, Failure> {
        const BARRIER_VALUE: u8 = 2;
        let word = |at: usize| {
            let bytes = bytes.get(at..).and_then(<[u8]>::first_chunk).copied().unwrap_or([0; 8]);
            u64::from_le_bytes(bytes)
        };
        let format = bytes.get(2).copied().unwrap_or(0);
        if format != BARRIER_VALUE {
            let detail = format!("a vendor packet of format {format}");
            return Err(Failure::new(Status::INVALID_PACKET_FORMAT, detail));
        }
        let (signal, value, mask) = (word(8), word(16).cast_signed(), word(24));
        #[allow(clippy::cast_possible_truncation, reason = "a field of 32 bits")]
        let condition = Condition::new(word(32) as u32, value);
        let condition = condition.map_err(|it| Failure::new(it, "a condition that is none"))?;
        if signal != 0 {
            self.wait(&[(signal, condition, mask)])?;
        }
        Ok(word(56))
    }

    /// Waits until one of the conditions holds, for masked values.
    fn wait(&self, waits: &[(u64, Condition, u64)]) -> Result<(), Failure> {
        let mut signals = Vec::new();
        for (handle, condition, mask) in waits {
            let signal = signal::find(*handle).map_err(|it| {
                Failure::new(it, format!("a barrier waits for {handle:#x}, which is no signal"))
            })?;
            signals.push((signal, *condition, *mask));
        }
        let _watching = signal::Watching::new(signals.iter().map(|it| it.0));
        let mut patience = Patience::new();
        loop {
            let known = signal::changed().rings();
            let value =
                |it: &crate::abi::AmdSignal, mask: u64| it.value.load(Acquire) & mask.cast_signed();
            if signals.iter().any(|(it, condition, mask)| condition.holds(value(it, *mask))) {
                return Ok(());
            }
            if self.stop.load(SeqCst) {
                return Err(Failure::new(Status::ERROR, "the queue has ended"));
            }
            signal::changed().wait(known, patience.next());
        }
    }

    /// Puts the queue into its error state, and tells the program.
    fn fail(&self, failure: &Failure) {
        log::line(&failure.detail);
        self.error.store(failure.status.0, SeqCst);
        if let Some(address) = failure.fault {
            crate::runtime::fault::tell(self.runtime, self.agent, address, failure.is_read_only);
        }
        if let Some(callback) = self.callback {
            callback(failure.status, self.pointer(), self.data as *mut c_void);
        }
    }
}

/// Why a packet could not be processed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: Status,
    pub(crate) detail: String,
    /// The address that a kernel may not access, if it did.
    pub(crate) fault: Option<u64>,
    pub(crate) is_read_only: bool,
}

impl Failure {
    pub(crate) fn new(status: Status, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into(), fault: None, is_read_only: false }
    }
}

/// Tells a queue that its doorbell was written.
pub(crate) fn ring_doorbell(signal: &crate::abi::AmdSignal) {
    let address = signal.queue_ptr.load(Acquire);
    if address == 0 {
        return;
    }
    if let Some(runtime) = runtime::get()
        && let Some(queue) = runtime::lock(&runtime.queues).get(&address)
    {
        queue.ring();
    }
}
