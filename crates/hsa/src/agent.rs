//! Agents: the host and its emulated GPUs, what they report, their instruction sets, caches and pools.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock};

use hsaco_emu::{Device, KernelCode};
use hsaco_isa::target::WaveSize;

use crate::abi::{self, Answer, Status, agent as info, flag};
use crate::model::Model;
use crate::value::Value;

/// Handles of what belongs to agents: a number in its own range for each kind.
const AGENTS: u64 = 0x0010_0000;
const ISAS: u64 = 0x0020_0000;
const POOLS: u64 = 0x0030_0000;
const CACHES: u64 = 0x0040_0000;
const WAVEFRONTS: u64 = 0x0050_0000;
/// Numbers that each agent has in such a range.
const EACH: u64 = 16;

/// Ticks in a second: nanoseconds.
pub(crate) const FREQUENCY: u64 = 1_000_000_000;
/// What a program may have in host memory that agents access.
const HOST_MEMORY: u64 = 32 << 30;
/// Packets of a queue at most.
pub(crate) const QUEUE_MAX: u32 = 131_072;
/// Packets of a queue at least.
pub(crate) const QUEUE_MIN: u32 = 64;

/// An agent.
#[derive(Debug)]
pub(crate) struct Agent {
    pub(crate) handle: u64,
    pub(crate) node: u32,
    pub(crate) gpu: Option<Gpu>,
}

/// What a GPU has besides.
#[derive(Debug)]
pub(crate) struct Gpu {
    pub(crate) model: Model,
    pub(crate) device: Arc<Device>,
    /// Bytes of its memory that are allocated.
    pub(crate) used: AtomicU64,
    /// Kernels that were launched, by the address of their descriptor.
    pub(crate) kernels: RwLock<HashMap<u64, Arc<KernelCode>>>,
}

/// A kind of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PoolKind {
    HostFine,
    HostKernarg,
    HostCoarse,
    Coarse,
    Fine,
    ExtendedFine,
    Group,
}

/// A pool of an agent's memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pool<'a> {
    pub(crate) agent: &'a Agent,
    pub(crate) kind: PoolKind,
    pub(crate) handle: u64,
}

impl Agent {
    pub(crate) fn host() -> Self {
        Self { handle: AGENTS, node: 0, gpu: None }
    }

    pub(crate) fn gpu(node: u32, model: Model) -> Self {
        /// What registers and scratch memory of running workgroups may take.
        const WORKING_MEMORY: u64 = 8 << 30;
        let mut device = Device::new(model.target, WORKING_MEMORY);
        device.revision = model.revision;
        let device = Arc::new(device);
        let kernels = RwLock::default();
        let gpu = Gpu { model, device, used: AtomicU64::new(0), kernels };
        Self { handle: AGENTS + u64::from(node), node, gpu: Some(gpu) }
    }

    /// Its number as a bit.
    pub(crate) fn bit(&self) -> u64 {
        1 << self.node.min(63)
    }

    pub(crate) fn isa(&self) -> Option<u64> {
        self.gpu.as_ref().map(|_| ISAS + u64::from(self.node))
    }

    fn first(&self, range: u64) -> u64 {
        range + u64::from(self.node) * EACH
    }

    fn kinds(&self) -> &'static [PoolKind] {
        match self.gpu {
            Some(_) => &[PoolKind::Coarse, PoolKind::Fine, PoolKind::ExtendedFine, PoolKind::Group],
            None => &[PoolKind::HostFine, PoolKind::HostKernarg, PoolKind::HostCoarse],
        }
    }

    pub(crate) fn pools(&self) -> impl Iterator<Item = Pool<'_>> {
        let numbered = (self.first(POOLS)..).zip(self.kinds());
        numbered.map(|(handle, kind)| Pool { agent: self, kind: *kind, handle })
    }

    /// The caches, smallest first: handle, level and bytes.
    pub(crate) fn caches(&self) -> impl Iterator<Item = (u64, u8, u32)> {
        let sizes = self.gpu.as_ref().map_or([32 << 10, 1 << 20, 0], |it| it.model.caches);
        let first = self.first(CACHES);
        let numbered =
            (first..).zip(1_u8..).zip(sizes).map(|((handle, level), size)| (handle, level, size));
        numbered.filter(|it| it.2 > 0)
    }

    /// The sizes of waves: handle and lanes.
    pub(crate) fn wavefronts(&self) -> impl Iterator<Item = (u64, u32)> {
        let sizes: Vec<_> = match &self.gpu {
            Some(gpu) => {
                gpu.model.target.processor.limits().wave_sizes().map(WaveSize::lanes).collect()
            }
            None => Vec::new(),
        };
        (self.first(WAVEFRONTS)..).zip(sizes)
    }

    pub(crate) fn name(&self) -> String {
        match &self.gpu {
            Some(gpu) => gpu.model.target.processor.name().to_owned(),
            None => "Host".to_owned(),
        }
    }

    /// An attribute of `hsa_agent_get_info`.
    pub(crate) fn info(&self, attribute: u32) -> Answer<Value> {
        self.core_info(attribute)
            .or_else(|| self.amd_info(attribute))
            .or_else(|| self.image_info(attribute))
            .ok_or(Status::INVALID_ARGUMENT)
    }

    fn core_info(&self, attribute: u32) -> Option<Value> {
        let gpu = self.gpu.as_ref();
        let of_gpu = |value: u32| Value::U32(if gpu.is_some() { value } else { 0 });
        let most = gpu.map_or(0, |it| it.model.target.processor.limits().max_workgroup);
        Some(match attribute {
            info::NAME => Value::text(&self.name(), 64),
            info::VENDOR_NAME => Value::text(if gpu.is_some() { "AMD" } else { "CPU" }, 64),
            // Kernels; the host dispatches to agents.
            info::FEATURE => Value::U32(if gpu.is_some() { 1 } else { 2 }),
            info::MACHINE_MODEL => Value::U32(1),
            info::PROFILE => Value::U32(u32::from(gpu.is_none())),
            info::DEFAULT_FLOAT_ROUNDING_MODE => Value::U32(2),
            info::BASE_PROFILE_DEFAULT_FLOAT_ROUNDING_MODES => Value::U32(2),
            info::FAST_F16_OPERATION => Value::U8(gpu.is_some().into()),
            info::WAVEFRONT_SIZE => Value::U32(gpu.map_or(0, |it| it.model.wave_size())),
            info::WORKGROUP_MAX_DIM => Value::u16s([u16::try_from(most).unwrap_or(u16::MAX); 3]),
            info::WORKGROUP_MAX_SIZE => Value::U32(most),
            info::GRID_MAX_DIM => Value::u32s(&[if gpu.is_some() { u32::MAX } else { 0 }; 3]),
            info::GRID_MAX_SIZE => of_gpu(u32::MAX),
            info::FBARRIER_MAX_SIZE => of_gpu(32),
            info::QUEUES_MAX => of_gpu(128),
            info::QUEUE_MIN_SIZE => of_gpu(QUEUE_MIN),
            info::QUEUE_MAX_SIZE => of_gpu(QUEUE_MAX),
            info::QUEUE_TYPE => Value::U32(abi::queue_type::MULTI),
            info::NODE => Value::U32(self.node),
            info::DEVICE => Value::U32(gpu.is_some().into()),
            info::CACHE_SIZE => {
                let mut sizes = [0; 4];
                self.caches().zip(&mut sizes).for_each(|(cache, size)| *size = cache.2);
                Value::u32s(&sizes)
            }
            info::ISA => Value::U64(self.isa().unwrap_or(0)),
            // HIP's copies need the bit of images; creating one is refused.
            info::EXTENSIONS => {
                Value::bits(128, if gpu.is_some() { &[abi::extension::IMAGES] } else { &[] })
            }
            info::VERSION_MAJOR | info::VERSION_MINOR => Value::U16(1),
            _ => return None,
        })
    }

    fn amd_info(&self, attribute: u32) -> Option<Value> {
        let Some(gpu) = &self.gpu else { return self.host_info(attribute) };
        let (model, limits) = (&gpu.model, gpu.model.target.processor.limits());
        let waves = limits.max_waves * limits.simds_per_cu;
        Some(match attribute {
            info::CHIP_ID => Value::U32(model.chip_id),
            info::CACHELINE_SIZE => Value::U32(if limits.wave32.is_some() { 128 } else { 64 }),
            info::COMPUTE_UNIT_COUNT | info::COOPERATIVE_COMPUTE_UNIT_COUNT => {
                Value::U32(model.compute_units)
            }
            info::MAX_CLOCK_FREQUENCY => Value::U32(model.clock),
            info::DRIVER_NODE_ID => Value::U32(self.node),
            info::MAX_ADDRESS_WATCH_POINTS => Value::U32(4),
            info::BDFID => Value::U32(self.node << 8),
            info::MEMORY_WIDTH => Value::U32(model.memory_bits),
            info::MEMORY_MAX_FREQUENCY => Value::U32(model.memory_clock),
            info::PRODUCT_NAME => Value::text(&model.product, 64),
            info::MAX_WAVES_PER_CU => Value::U32(waves),
            info::NUM_SIMDS_PER_CU => Value::U32(limits.simds_per_cu),
            info::NUM_SHADER_ENGINES => Value::U32(model.shader_engines),
            info::NUM_SHADER_ARRAYS_PER_SE => Value::U32(model.arrays_per_engine),
            info::HDP_FLUSH => Value::u64s(&[0; 2]),
            info::DOMAIN => Value::U32(0),
            info::COOPERATIVE_QUEUES => Value::U8(1),
            info::UUID => Value::text(&format!("GPU-{:016x}", self.node), 24),
            info::ASIC_REVISION => Value::U32(1),
            // Kernels and the host share memory, but device memory is copied to, as on boards.
            info::SVM_DIRECT_HOST_ACCESS => Value::U8(0),
            info::MEMORY_AVAIL => Value::U64(model.memory.saturating_sub(gpu.used.load(Relaxed))),
            info::TIMESTAMP_FREQUENCY => Value::U64(FREQUENCY),
            info::ASIC_FAMILY_ID | info::UCODE_VERSION | info::SDMA_UCODE_VERSION => Value::U32(0),
            info::NUM_SDMA_ENG => Value::U32(2),
            info::NUM_SDMA_XGMI_ENG => Value::U32(0),
            info::IOMMU_SUPPORT => Value::U32(0),
            info::NUM_XCC => Value::U32(model.dies),
            info::DRIVER_UID => Value::U32(self.node),
            info::NEAREST_CPU => Value::U64(AGENTS),
            info::MEMORY_PROPERTIES | info::AQL_EXTENSIONS => Value::bits(8, &[]),
            info::SCRATCH_LIMIT_MAX | info::SCRATCH_LIMIT_CURRENT => Value::U64(0),
            _ => return None,
        })
    }

    fn host_info(&self, attribute: u32) -> Option<Value> {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Some(match attribute {
            info::CACHELINE_SIZE => Value::U32(64),
            info::COMPUTE_UNIT_COUNT => Value::U32(u32::try_from(cores).unwrap_or(u32::MAX)),
            info::MAX_ADDRESS_WATCH_POINTS => Value::U32(1),
            info::PRODUCT_NAME => Value::text(&self.name(), 64),
            info::UUID => Value::text("CPU-XX", 24),
            info::HDP_FLUSH => Value::u64s(&[0; 2]),
            info::TIMESTAMP_FREQUENCY | info::MEMORY_AVAIL => Value::U64(match attribute {
                info::MEMORY_AVAIL => HOST_MEMORY,
                _ => FREQUENCY,
            }),
            info::NEAREST_CPU => Value::U64(self.handle),
            info::COOPERATIVE_QUEUES | info::SVM_DIRECT_HOST_ACCESS => Value::U8(0),
            info::MEMORY_PROPERTIES | info::AQL_EXTENSIONS => Value::bits(8, &[]),
            info::SCRATCH_LIMIT_MAX | info::SCRATCH_LIMIT_CURRENT => Value::U64(0),
            info::CHIP_ID..=info::COOPERATIVE_COMPUTE_UNIT_COUNT
            | info::ASIC_FAMILY_ID..=info::NUM_SDMA_XGMI_ENG
            | info::IOMMU_SUPPORT..=info::DRIVER_UID => Value::U32(0),
            _ => return None,
        })
    }

    fn image_info(&self, attribute: u32) -> Option<Value> {
        let most = if self.gpu.is_some() { 16384 } else { 0 };
        Some(match attribute {
            info::IMAGE_1D_MAX_ELEMENTS..=info::IMAGE_1DB_MAX_ELEMENTS => Value::U32(most),
            info::IMAGE_2D_MAX_ELEMENTS..=info::IMAGE_2DADEPTH_MAX_ELEMENTS => {
                Value::u32s(&[most; 2])
            }
            info::IMAGE_3D_MAX_ELEMENTS => Value::u32s(&[most, most, most / 2]),
            info::IMAGE_ARRAY_MAX_LAYERS => Value::U32(most / 2),
            info::MAX_IMAGE_RD_HANDLES => Value::U32(most / 128),
            info::MAX_IMAGE_RORW_HANDLES => Value::U32(most / 256),
            info::MAX_SAMPLER_HANDLERS => Value::U32(most / 1024),
            info::IMAGE_LINEAR_ROW_PITCH_ALIGNMENT => Value::U32(256),
            _ => return None,
        })
    }

    /// The name of its instruction set.
    pub(crate) fn isa_name(&self) -> Option<String> {
        self.gpu.as_ref().map(|it| format!("amdgcn-amd-amdhsa--{}", it.model.target))
    }

    /// An attribute of `hsa_isa_get_info_alt`.
    pub(crate) fn isa_info(&self, attribute: u32) -> Answer<Value> {
        use abi::isa;
        let gpu = self.gpu.as_ref().ok_or(Status::INVALID_ISA)?;
        let limits = gpu.model.target.processor.limits();
        let name = self.isa_name().unwrap_or_default();
        let most = limits.max_workgroup;
        Ok(match attribute {
            isa::NAME_LENGTH => Value::U32(u32::try_from(name.len() + 1).unwrap_or(0)),
            isa::NAME => Value::text(&name, name.len() + 1),
            isa::CALL_CONVENTION_COUNT => Value::U32(1),
            isa::CALL_CONVENTION_INFO_WAVEFRONT_SIZE => Value::U32(gpu.model.wave_size()),
            isa::CALL_CONVENTION_INFO_WAVEFRONTS_PER_COMPUTE_UNIT => {
                Value::U32(limits.max_waves * limits.simds_per_cu)
            }
            isa::MACHINE_MODELS => Value::Bytes(vec![0, 1]),
            isa::PROFILES => Value::Bytes(vec![1, 0]),
            isa::DEFAULT_FLOAT_ROUNDING_MODES | isa::BASE_PROFILE_DEFAULT_FLOAT_ROUNDING_MODES => {
                Value::Bytes(vec![0, 0, 1])
            }
            isa::FAST_F16_OPERATION => Value::U8(1),
            isa::WORKGROUP_MAX_DIM => Value::u16s([u16::try_from(most).unwrap_or(u16::MAX); 3]),
            isa::WORKGROUP_MAX_SIZE => Value::U32(most),
            isa::GRID_MAX_DIM => Value::u32s(&[u32::MAX; 3]),
            isa::GRID_MAX_SIZE => Value::U64(u32::MAX.into()),
            isa::FBARRIER_MAX_SIZE => Value::U32(32),
            _ => return Err(Status::INVALID_ARGUMENT),
        })
    }

    /// Forgets kernels whose descriptors were in a range of addresses. Those of other code may have called it.
    pub(crate) fn forget_kernels(&self) {
        if let Some(gpu) = &self.gpu {
            gpu.kernels.write().unwrap_or_else(PoisonError::into_inner).clear();
        }
    }
}

impl Pool<'_> {
    pub(crate) fn is_group(&self) -> bool {
        self.kind == PoolKind::Group
    }

    pub(crate) fn is_host(&self) -> bool {
        self.agent.gpu.is_none()
    }

    pub(crate) fn flags(&self) -> u32 {
        match self.kind {
            PoolKind::HostKernarg => flag::KERNARG | flag::FINE_GRAINED,
            PoolKind::HostFine | PoolKind::Fine => flag::FINE_GRAINED,
            PoolKind::ExtendedFine => flag::EXTENDED_SCOPE,
            PoolKind::HostCoarse | PoolKind::Coarse => flag::COARSE_GRAINED,
            PoolKind::Group => 0,
        }
    }

    /// Bytes that there are in all.
    pub(crate) fn size(&self) -> u64 {
        match &self.agent.gpu {
            Some(gpu) if self.is_group() => gpu.model.target.processor.limits().lds_bytes.into(),
            Some(gpu) => gpu.model.memory,
            None => HOST_MEMORY,
        }
    }

    /// An attribute of `hsa_amd_memory_pool_get_info`.
    pub(crate) fn info(&self, attribute: u32) -> Answer<Value> {
        use abi::pool;
        let granule = if self.is_group() { 0 } else { crate::pages::PAGE };
        Ok(match attribute {
            pool::SEGMENT => Value::U32(if self.is_group() { 3 } else { 0 }),
            pool::GLOBAL_FLAGS => Value::U32(self.flags()),
            pool::SIZE => Value::U64(self.size()),
            pool::ALLOC_MAX_SIZE => Value::U64(if self.is_group() { 0 } else { self.size() }),
            pool::RUNTIME_ALLOC_ALLOWED => Value::U8((!self.is_group()).into()),
            pool::RUNTIME_ALLOC_GRANULE
            | pool::RUNTIME_ALLOC_ALIGNMENT
            | pool::RUNTIME_ALLOC_REC_GRANULE => Value::U64(granule),
            pool::ACCESSIBLE_BY_ALL => Value::U8(self.is_host().into()),
            pool::LOCATION => Value::U32((!self.is_host()).into()),
            _ => return Err(Status::INVALID_ARGUMENT),
        })
    }

    /// An attribute of `hsa_region_get_info`.
    pub(crate) fn region_info(&self, attribute: u32) -> Answer<Value> {
        use abi::region;
        Ok(match attribute {
            // The group segment has another number as a region.
            region::SEGMENT => Value::U32(if self.is_group() { 3 } else { 0 }),
            region::ALLOC_MAX_SIZE => Value::U64(if self.is_group() { 0 } else { self.size() }),
            region::ALLOC_MAX_PRIVATE_WORKGROUP_SIZE => Value::U32(0),
            region::HOST_ACCESSIBLE => Value::U8(self.is_host().into()),
            region::BASE => Value::U64(0),
            region::BUS_WIDTH => {
                Value::U32(self.agent.gpu.as_ref().map_or(64, |it| it.model.memory_bits))
            }
            region::MAX_CLOCK_FREQUENCY => {
                Value::U32(self.agent.gpu.as_ref().map_or(0, |it| it.model.memory_clock))
            }
            region::GLOBAL_FLAGS
            | region::SIZE
            | region::RUNTIME_ALLOC_ALLOWED
            | region::RUNTIME_ALLOC_GRANULE
            | region::RUNTIME_ALLOC_ALIGNMENT => self.info(attribute)?,
            _ => return Err(Status::INVALID_ARGUMENT),
        })
    }

    /// How another agent may access it, and an attribute of the way there.
    pub(crate) fn seen_by(&self, other: &Agent, attribute: u32) -> Answer<Value> {
        use abi::{access, agent_pool};
        let is_own = self.agent.handle == other.handle;
        Ok(match attribute {
            agent_pool::ACCESS => Value::U32(match self.kind {
                _ if is_own => access::ALLOWED_BY_DEFAULT,
                PoolKind::Group => access::NEVER_ALLOWED,
                _ if self.is_host() => access::ALLOWED_BY_DEFAULT,
                // As over a bus: programs then copy by the runtime, which sees what they do.
                _ if other.gpu.is_none() => access::NEVER_ALLOWED,
                _ => access::DISALLOWED_BY_DEFAULT,
            }),
            agent_pool::NUM_LINK_HOPS => Value::U32((!is_own).into()),
            agent_pool::LINK_INFO if is_own => Value::Bytes(Vec::new()),
            agent_pool::LINK_INFO => {
                // Latencies, bandwidths, atomics of both sizes and coherence, PCI Express, distance.
                let mut link = Value::u32s(&[1, 1, 16_000, 16_000]).into_bytes();
                link.extend([1, 1, 1, 0]);
                link.extend(Value::u32s(&[2, 20]).into_bytes());
                Value::Bytes(link)
            }
            _ => return Err(Status::INVALID_ARGUMENT),
        })
    }
}
