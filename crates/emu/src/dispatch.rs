//! A dispatch: one kernel, its launch and its arguments.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use hsaco_isa::target::Generation;
use hsaco_kernarg::{DispatchPacket, Launch, PacketNeeds};
use hsaco_load::Executable;

use crate::code::{KernelCode, MnemonicCounts};
use crate::device::Device;
use crate::error::{Error, ErrorKind, Result};
use crate::exec::address::{PRIVATE_APERTURE, SHARED_APERTURE};
use crate::hostcall::Host;
use crate::revision::MetErratum;
use crate::sanitize::{Observed, Sanitizer};
use crate::watch::{InstructionProfile, Observer, Reached, TraceFilter, Tracer, Watching};

/// How long a dispatch may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Wave instructions in all.
    pub instructions: u64,
    /// Instructions that a wave runs before the next one has its turn.
    pub quantum: u64,
    /// Chooses the order of waves; 0 takes them by number.
    pub seed: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { instructions: u64::MAX, quantum: 4096, seed: 0 }
    }
}

/// What a dispatch has done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Wave instructions executed.
    pub instructions: u64,
    /// Waves that ran.
    pub waves: u64,
    /// How often each mnemonic ran, and how far its results can be trusted.
    pub mnemonics: MnemonicCounts,
    /// How often each instruction ran, by address, if that was asked for.
    pub profile: BTreeMap<u64, InstructionProfile>,
    /// What approximate values have decided, if that was asked for.
    pub reached: Option<Reached>,
    /// The errata of the device that were met, by address.
    pub errata: Vec<MetErratum>,
}

/// A kernel to be run.
pub struct Dispatch<'d> {
    pub(crate) device: &'d Device,
    pub(crate) code: Arc<KernelCode>,
    /// Whether its code is launched again, and keeps what was translated and counted.
    pub(crate) keeps_code: bool,
    pub(crate) launch: Launch,
    /// Workgroups of a cluster in each dimension.
    pub(crate) cluster: [u32; 3],
    pub(crate) kernarg: Vec<u8>,
    pub(crate) kernarg_address: u64,
    pub(crate) packet_address: u64,
    pub(crate) queue_address: u64,
    pub(crate) dispatch_id: u64,
    pub(crate) lds_bytes: u32,
    pub(crate) scratch_bytes: u32,
    pub(crate) limits: Limits,
    pub(crate) watching: Watching<'d>,
    pub(crate) host: Option<&'d dyn Host>,
    pub(crate) sanitizer: Option<&'d Sanitizer>,
    /// Set where it is to end before it is done.
    pub(crate) stop: Option<&'d AtomicBool>,
}

fn setup(detail: String) -> Error {
    Error::new(ErrorKind::Setup, detail)
}

/// Workgroups of a cluster at most.
const MOST_IN_CLUSTER: u32 = 16;
/// Bytes of a workgroup's LDS, and of a work-item's scratch memory.
#[derive(Clone, Copy, Debug)]
struct Segments {
    lds_bytes: u32,
    scratch_bytes: u32,
}

/// Bytes of scratch memory that a kernel gets whose stack depends on run time.
const DYNAMIC_STACK: u32 = 64 << 10;

/// Where in memory a dispatch has what is not the kernel's own.
#[derive(Clone, Copy, Debug, Default)]
pub struct Places {
    /// The arguments.
    pub kernarg: u64,
    /// The packet that launches it.
    pub packet: u64,
    /// The queue that the packet is in.
    pub queue: u64,
    /// The number of the packet in the queue.
    pub dispatch_id: u64,
}

impl fmt::Debug for Dispatch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dispatch")
            .field("kernel", &self.code.name)
            .field("launch", &self.launch)
            .field("limits", &self.limits)
            .field("watching", &self.watching)
            .finish_non_exhaustive()
    }
}

impl<'d> Dispatch<'d> {
    /// A launch of a kernel with the bytes of its arguments, hidden ones included.
    ///
    /// # Errors
    /// There is no such kernel, or it does not fit the device.
    pub fn new(
        device: &'d mut Device,
        executable: &Executable<'_>,
        kernel: &str,
        launch: Launch,
        kernarg: &[u8],
    ) -> Result<Self> {
        let symbol = executable
            .symbol(kernel)
            .ok_or_else(|| setup(format!("there is no kernel {kernel}")))?;
        let name = symbol.name().to_string();
        let address = symbol
            .address()
            .filter(|_| symbol.kernel().is_some())
            .ok_or_else(|| setup(format!("{kernel} is no kernel")))?;
        Self::at(device, &name, address, launch, kernarg)
    }

    /// The same for a kernel whose descriptor is at an address of the device's memory, as packets name it.
    ///
    /// # Errors
    /// There is no descriptor, or it does not fit the device.
    pub fn at(
        device: &'d mut Device,
        kernel: &str,
        descriptor: u64,
        launch: Launch,
        kernarg: &[u8],
    ) -> Result<Self> {
        let code = KernelCode::new(device, kernel, descriptor)?;
        let fixed = code.descriptor.group_segment_fixed_size;
        let limits = device.processor().limits();
        let lds_bytes = hsaco_kernarg::group_segment(fixed, launch.dynamic_lds(), limits.lds_bytes)
            .map_err(|it| setup(it.to_string()))?;
        let mut scratch_bytes = code.descriptor.private_segment_fixed_size;
        if code.descriptor.uses_dynamic_stack() {
            scratch_bytes = scratch_bytes.saturating_add(DYNAMIC_STACK);
        }
        let places = Places::new(device, kernarg, &launch, &code)?;
        let segments = Segments { lds_bytes, scratch_bytes };
        let dispatch = Self::placed(device, Arc::new(code), launch, places, segments)?;
        Ok(Self { kernarg: kernarg.to_vec(), ..dispatch })
    }

    /// A launch as a packet of a queue asks for it, whose arguments and packet are in memory already. `group` and
    /// `private` are the bytes of LDS and of scratch memory that the packet states.
    ///
    /// # Errors
    /// It does not fit the device, or its arguments are not in memory.
    pub fn of_packet(
        device: &'d Device,
        code: Arc<KernelCode>,
        launch: Launch,
        places: Places,
        [group, private]: [u32; 2],
    ) -> Result<Self> {
        let limit = device.processor().limits().lds_bytes;
        let lds_bytes = group.max(code.descriptor.group_segment_fixed_size);
        if lds_bytes > limit {
            return Err(setup(format!("{lds_bytes} bytes of LDS, and {limit} are the most")));
        }
        let fixed = code.descriptor.private_segment_fixed_size;
        let mut scratch_bytes = private.max(fixed);
        if code.descriptor.uses_dynamic_stack() && scratch_bytes == fixed {
            scratch_bytes = scratch_bytes.saturating_add(DYNAMIC_STACK);
        }
        let kernarg = match code.entry.preload() {
            Some(it) => {
                let words = usize::from(it.offset) + usize::from(it.words);
                device.memory.read(places.kernarg, words * 4)?
            }
            None => Vec::new(),
        };
        let segments = Segments { lds_bytes, scratch_bytes };
        let dispatch = Self::placed(device, code, launch, places, segments)?;
        Ok(Self { kernarg, keeps_code: true, ..dispatch })
    }

    fn placed(
        device: &'d Device,
        code: Arc<KernelCode>,
        launch: Launch,
        places: Places,
        segments: Segments,
    ) -> Result<Self> {
        let most = device.processor().limits().max_workgroup;
        let items = launch.workgroup_items();
        if items > u64::from(most) {
            return Err(setup(format!(
                "a workgroup of {items} work-items, and {most} are the most"
            )));
        }
        let dispatch = Self {
            device,
            code,
            keeps_code: false,
            launch,
            cluster: [1; 3],
            kernarg: Vec::new(),
            kernarg_address: places.kernarg,
            packet_address: places.packet,
            queue_address: places.queue,
            dispatch_id: places.dispatch_id,
            lds_bytes: segments.lds_bytes,
            scratch_bytes: segments.scratch_bytes,
            limits: Limits::default(),
            watching: Watching::default(),
            host: None,
            sanitizer: None,
            stop: None,
        };
        let bytes = dispatch.workgroup_bytes();
        if bytes > dispatch.device.memory.left() {
            return Err(Error::memory(bytes));
        }
        Ok(dispatch)
    }

    /// The same with limits.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// The same in clusters of so many workgroups in each dimension: they share a barrier, and run at once.
    ///
    /// # Errors
    /// The device has no clusters, not of that size, or the grid has parts of one.
    pub fn with_cluster(self, cluster: [u32; 3]) -> Result<Self> {
        let size = cluster.iter().fold(1_u32, |all, it| all.saturating_mul(*it));
        let [x, y, z] = cluster;
        if self.code.target.generation != Generation::Gfx125 {
            return Err(setup(format!("{} has no clusters", self.code.target.processor)));
        }
        if size == 0 || size > MOST_IN_CLUSTER {
            let detail =
                format!("a cluster of {x},{y},{z} workgroups; 1 to {MOST_IN_CLUSTER} are possible");
            return Err(setup(detail));
        }
        let counts = self.workgroups();
        if counts.iter().zip(cluster).any(|(count, size)| !count.is_multiple_of(size)) {
            let detail = format!("{counts:?} workgroups are no whole clusters of {cluster:?}");
            return Err(setup(detail));
        }
        let bytes = self.workgroup_bytes().saturating_mul(size.into());
        if bytes > self.device.memory.left() {
            return Err(Error::memory(bytes));
        }
        Ok(Self { cluster, ..self })
    }

    /// The same with a host that prints what the kernel asks it to print. Without one, what OpenCL's printf leaves is not
    /// printed, and a kernel that waits for the host's answer never ends.
    #[must_use]
    pub fn with_host(mut self, host: &'d dyn Host) -> Self {
        self.host = Some(host);
        self
    }

    /// The same, ended where the flag is set by another thread.
    #[must_use]
    pub fn with_stop(mut self, stop: &'d AtomicBool) -> Self {
        self.stop = Some(stop);
        self
    }

    /// The same with a tracer, which sees the instructions that the filter takes. Slower.
    #[must_use]
    pub fn with_tracer(mut self, tracer: &'d dyn Tracer, filter: &'d TraceFilter) -> Self {
        self.watching.tracer = Some((tracer, filter));
        self
    }

    /// The same with an observer, which sees waves that come to these addresses. Slower.
    #[must_use]
    pub fn with_observer(
        mut self,
        observer: &'d dyn Observer,
        addresses: &'d HashSet<u64>,
    ) -> Self {
        self.watching.observer = Some((observer, addresses));
        self
    }

    /// The same, counting for [`Outcome::profile`]. Slower.
    #[must_use]
    pub fn with_profile(mut self) -> Self {
        self.watching.profiles = true;
        self
    }

    /// The same, following approximate values for [`Outcome::reached`]. Slower.
    #[must_use]
    pub fn with_reached(mut self) -> Self {
        self.watching.follows = true;
        self
    }

    /// The same, observed by a sanitizer, which keeps what it finds. Slower; a tracer sees nothing then, and nothing is
    /// counted for a profile.
    #[must_use]
    pub fn with_sanitizer(mut self, sanitizer: &'d Sanitizer) -> Self {
        self.sanitizer = Some(sanitizer);
        self
    }

    /// Lanes of a wave: 32 or 64.
    #[must_use]
    pub fn wave_size(&self) -> u32 {
        self.code.entry.wave_size()
    }

    /// Workgroups in each dimension.
    #[must_use]
    pub fn workgroups(&self) -> [u32; 3] {
        let (items, size) = (self.launch.work_items(), self.launch.workgroup());
        let mut counts = [0; 3];
        for ((count, items), size) in counts.iter_mut().zip(items).zip(size) {
            *count = items.div_ceil(u32::from(size).max(1));
        }
        counts
    }

    /// What a sanitizer is told of it.
    pub(crate) fn observed(&self) -> Observed<'_> {
        Observed {
            kernel: &self.code.name,
            memory: &self.device.memory,
            entry: &self.code.entry,
            target: self.code.target,
            layout: self.code.layout,
            lds_bytes: self.lds_bytes,
            scratch_bytes: self.scratch_bytes,
        }
    }

    /// Bytes that a workgroup has besides the device's memory: registers, scratch memory, LDS.
    pub(crate) fn workgroup_bytes(&self) -> u64 {
        let lanes = u64::from(self.code.entry.wave_size());
        let waves = self.launch.workgroup_items().div_ceil(lanes);
        let registers = u64::from(self.code.layout.constants());
        let of_lane = registers * 4 + u64::from(self.scratch_bytes);
        waves * lanes * of_lane + u64::from(self.lds_bytes)
    }
}

impl Places {
    /// Puts them there.
    fn new(device: &Device, kernarg: &[u8], launch: &Launch, code: &KernelCode) -> Result<Self> {
        let descriptor = &code.descriptor;
        // Scalar loads of arguments may be wider than these.
        let arguments = device.memory.allocate(kernarg.len() as u64 + 64)?;
        device.memory.write(arguments, kernarg)?;
        let needs = PacketNeeds {
            static_lds: descriptor.group_segment_fixed_size,
            private_segment: descriptor.private_segment_fixed_size,
            kernel_object: code.address,
            kernarg_address: arguments,
            ..PacketNeeds::default()
        };
        let packet = DispatchPacket::new(launch, &needs)
            .map_err(|it| Error::new(ErrorKind::Setup, it.to_string()))?;
        let place = device.memory.allocate(64)?;
        device.memory.write(place, &packet.to_bytes())?;
        let queue = device.memory.allocate(256)?;
        // amd_queue_t: the upper halves of the shared and the private aperture.
        device.memory.write(queue + 0x40, &SHARED_APERTURE.to_le_bytes())?;
        device.memory.write(queue + 0x44, &PRIVATE_APERTURE.to_le_bytes())?;
        Ok(Self { kernarg: arguments, packet: place, queue, dispatch_id: 0 })
    }
}
