//! A dispatch: one kernel, its launch and its arguments.

use std::collections::BTreeMap;

use hsaco_isa::target::{AccVgprs, Generation};
use hsaco_kernarg::{DispatchPacket, Entry, Launch, PacketNeeds};
use hsaco_load::Executable;
use hsaco_object::descriptor::KernelDescriptor;
use hsaco_object::metadata::Hidden;

use crate::device::Device;
use crate::error::{Error, ErrorKind, Result};
use crate::exec::address::{PRIVATE_APERTURE, SHARED_APERTURE};
use crate::hostcall::Host;
use crate::schedule::Run;
use crate::semantics::Fidelity;
use crate::translate::{Layout, Target};
use crate::watch::{InstructionProfile, Reached, TraceFilter, Tracer, Watching};

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
    pub mnemonics: BTreeMap<&'static str, (Fidelity, u64)>,
    /// How often each instruction ran, by address, if that was asked for.
    pub profile: BTreeMap<u64, InstructionProfile>,
    /// What approximate values have decided, if that was asked for.
    pub reached: Option<Reached>,
}

/// A kernel to be run.
#[derive(Debug)]
pub struct Dispatch<'d> {
    pub(crate) device: &'d Device,
    pub(crate) kernel: String,
    pub(crate) descriptor: KernelDescriptor,
    pub(crate) entry: Entry,
    /// Where the first instruction is.
    pub(crate) start: u64,
    pub(crate) launch: Launch,
    pub(crate) kernarg: Vec<u8>,
    pub(crate) kernarg_address: u64,
    pub(crate) packet_address: u64,
    pub(crate) queue_address: u64,
    pub(crate) target: Target,
    pub(crate) layout: Layout,
    pub(crate) lds_bytes: u32,
    pub(crate) scratch_bytes: u32,
    pub(crate) limits: Limits,
    pub(crate) watching: Watching<'d>,
}

/// A launch with the hidden arguments that say where the apertures of a device are.
///
/// # Errors
/// Never, as these arguments have room for them.
pub fn with_apertures(launch: Launch) -> Result<Launch> {
    launch
        .with_hidden(Hidden::SharedBase, SHARED_APERTURE.into())
        .and_then(|it| it.with_hidden(Hidden::PrivateBase, PRIVATE_APERTURE.into()))
        .map_err(|it| Error::new(ErrorKind::Setup, it.to_string()))
}

fn setup(detail: String) -> Error {
    Error::new(ErrorKind::Setup, detail)
}

/// Bytes of scratch memory that a kernel gets whose stack depends on run time.
const DYNAMIC_STACK: u32 = 64 << 10;

/// What a dispatch needs in memory besides the kernel's own: made before it, so that it can share the device.
#[derive(Clone, Copy, Debug)]
struct Places {
    kernarg: u64,
    packet: u64,
    queue: u64,
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
        let address = descriptor;
        let bytes = device.memory.read(address, KernelDescriptor::SIZE)?;
        let descriptor =
            KernelDescriptor::parse(&bytes).map_err(|error| setup(error.to_string()))?;
        let processor = device.processor();
        let entry = Entry::new(processor, &descriptor).map_err(|it| setup(it.to_string()))?;
        let start = descriptor
            .entry(address)
            .and_then(|it| it.checked_add(entry.preload().map_or(0, |it| it.skipped).into()))
            .ok_or_else(|| setup(format!("{kernel} has no entry")))?;
        let limits = processor.limits();
        let lds_bytes = hsaco_kernarg::group_segment(
            descriptor.group_segment_fixed_size,
            launch.dynamic_lds(),
            limits.lds_bytes,
        )
        .map_err(|it| setup(it.to_string()))?;
        if launch.workgroup_items() > u64::from(limits.max_workgroup) {
            let detail = format!(
                "a workgroup of {} work-items, and {} are the most",
                launch.workgroup_items(),
                limits.max_workgroup
            );
            return Err(setup(detail));
        }
        let mut scratch_bytes = descriptor.private_segment_fixed_size;
        if descriptor.uses_dynamic_stack() {
            scratch_bytes = scratch_bytes.saturating_add(DYNAMIC_STACK);
        }
        let places = Places::new(device, kernarg, address, &launch, &descriptor)?;
        let target = Target { processor, generation: processor.generation() };
        let layout = layout(target, &descriptor);
        let dispatch = Self {
            device,
            kernel: kernel.to_owned(),
            descriptor,
            entry,
            start,
            launch,
            kernarg: kernarg.to_vec(),
            kernarg_address: places.kernarg,
            packet_address: places.packet,
            queue_address: places.queue,
            target,
            layout,
            lds_bytes,
            scratch_bytes,
            limits: Limits::default(),
            watching: Watching::default(),
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

    /// The same with a host that prints what the kernel asks it to print. Without one, what OpenCL's printf leaves is not
    /// printed, and a kernel that waits for the host's answer never ends.
    #[must_use]
    pub fn with_host(mut self, host: &'d dyn Host) -> Self {
        self.watching.host = Some(host);
        self
    }

    /// The same with a tracer, which sees the instructions that the filter takes. Slower.
    #[must_use]
    pub fn with_tracer(mut self, tracer: &'d dyn Tracer, filter: &'d TraceFilter) -> Self {
        self.watching.tracer = Some((tracer, filter));
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

    /// Lanes of a wave: 32 or 64.
    #[must_use]
    pub fn wave_size(&self) -> u32 {
        self.entry.wave_size()
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

    /// Runs all workgroups on the calling thread. [`Run`] does it on several.
    ///
    /// # Errors
    /// The program stopped; the error says where.
    pub fn run(&self) -> Result<Outcome> {
        let run = Run::new(self, 1);
        run.work();
        run.finish()
    }

    /// Bytes that a workgroup has besides the device's memory: registers, scratch memory, LDS.
    pub(crate) fn workgroup_bytes(&self) -> u64 {
        let lanes = u64::from(self.entry.wave_size());
        let waves = self.launch.workgroup_items().div_ceil(lanes);
        let registers = u64::from(self.layout.constants());
        let of_lane = registers * 4 + u64::from(self.scratch_bytes);
        waves * lanes * of_lane + u64::from(self.lds_bytes)
    }
}

impl Places {
    fn new(
        device: &mut Device,
        kernarg: &[u8],
        descriptor_address: u64,
        launch: &Launch,
        descriptor: &KernelDescriptor,
    ) -> Result<Self> {
        // Scalar loads of arguments may be wider than these.
        let arguments = device.memory.allocate(kernarg.len() as u64 + 64)?;
        device.memory.write(arguments, kernarg)?;
        let needs = PacketNeeds {
            static_lds: descriptor.group_segment_fixed_size,
            private_segment: descriptor.private_segment_fixed_size,
            kernel_object: descriptor_address,
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
        Ok(Self { kernarg: arguments, packet: place, queue })
    }
}

fn layout(target: Target, descriptor: &KernelDescriptor) -> Layout {
    let generation = target.generation;
    let all = u16::try_from(descriptor.vgprs(generation)).unwrap_or(u16::MAX);
    let limits = target.processor.limits();
    if limits.acc_vgprs == AccVgprs::None {
        return Layout { vgprs: all, agprs: 0 };
    }
    let offset =
        descriptor.accum_offset(generation).map_or(all, |it| u16::try_from(it).unwrap_or(u16::MAX));
    let agprs = if generation >= Generation::Gfx90a { all.saturating_sub(offset) } else { 256 };
    Layout { vgprs: offset.min(all), agprs }
}
