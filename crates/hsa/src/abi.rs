//! Numbers and layouts of the C interface: `hsa.h`, `hsa_ext_amd.h`, `amd_hsa_queue.h`, `amd_hsa_signal.h`.
//!
//! Names are those of the headers; a test compares all of them with a C compiler's answer.

use std::ffi::c_void;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64};

/// What a call answers: `hsa_status_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Status(pub(crate) u32);

/// What a call that can fail gives.
pub(crate) type Answer<T = ()> = Result<T, Status>;

macro_rules! statuses {
    ($($name:ident = $value:literal, $header:literal, $text:literal;)*) => {
        #[allow(dead_code, reason = "all numbers of the headers, which tests compare")]
        impl Status {
            $(#[doc = $text] pub(crate) const $name: Self = Self($value);)*
        }

        /// Each status with its name in the headers and what it means.
        pub(crate) const STATUSES: &[(Status, &str, &std::ffi::CStr)] = &[$((
            Status($value),
            $header,
            match std::ffi::CStr::from_bytes_with_nul(concat!($header, ": ", $text, "\0").as_bytes()) {
                Ok(text) => text,
                Err(_) => c"",
            },
        ),)*];
    };
}

statuses! {
    SUCCESS = 0x0, "HSA_STATUS_SUCCESS", "The call succeeded.";
    INFO_BREAK = 0x1, "HSA_STATUS_INFO_BREAK", "A callback has ended an iteration.";
    ERROR = 0x1000, "HSA_STATUS_ERROR", "An error without a number of its own.";
    INVALID_ARGUMENT = 0x1001, "HSA_STATUS_ERROR_INVALID_ARGUMENT", "An argument is not valid.";
    INVALID_QUEUE_CREATION = 0x1002, "HSA_STATUS_ERROR_INVALID_QUEUE_CREATION", "The agent has no queues of this kind.";
    INVALID_ALLOCATION = 0x1003, "HSA_STATUS_ERROR_INVALID_ALLOCATION", "The memory cannot be allocated, or was not.";
    INVALID_AGENT = 0x1004, "HSA_STATUS_ERROR_INVALID_AGENT", "There is no such agent.";
    INVALID_REGION = 0x1005, "HSA_STATUS_ERROR_INVALID_REGION", "There is no such memory region.";
    INVALID_SIGNAL = 0x1006, "HSA_STATUS_ERROR_INVALID_SIGNAL", "There is no such signal.";
    INVALID_QUEUE = 0x1007, "HSA_STATUS_ERROR_INVALID_QUEUE", "There is no such queue.";
    OUT_OF_RESOURCES = 0x1008, "HSA_STATUS_ERROR_OUT_OF_RESOURCES", "There is not enough of what was asked for.";
    INVALID_PACKET_FORMAT = 0x1009, "HSA_STATUS_ERROR_INVALID_PACKET_FORMAT", "A packet is malformed.";
    RESOURCE_FREE = 0x100a, "HSA_STATUS_ERROR_RESOURCE_FREE", "Something cannot be given back.";
    NOT_INITIALIZED = 0x100b, "HSA_STATUS_ERROR_NOT_INITIALIZED", "The runtime is not initialized.";
    REFCOUNT_OVERFLOW = 0x100c, "HSA_STATUS_ERROR_REFCOUNT_OVERFLOW", "The runtime is initialized too often.";
    INCOMPATIBLE_ARGUMENTS = 0x100d, "HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS", "Arguments do not go together.";
    INVALID_INDEX = 0x100e, "HSA_STATUS_ERROR_INVALID_INDEX", "The index is not valid.";
    INVALID_ISA = 0x100f, "HSA_STATUS_ERROR_INVALID_ISA", "There is no such instruction set.";
    INVALID_CODE_OBJECT = 0x1010, "HSA_STATUS_ERROR_INVALID_CODE_OBJECT", "The code object is not valid.";
    INVALID_EXECUTABLE = 0x1011, "HSA_STATUS_ERROR_INVALID_EXECUTABLE", "There is no such executable.";
    FROZEN_EXECUTABLE = 0x1012, "HSA_STATUS_ERROR_FROZEN_EXECUTABLE", "The executable is frozen.";
    INVALID_SYMBOL_NAME = 0x1013, "HSA_STATUS_ERROR_INVALID_SYMBOL_NAME", "There is no symbol of this name.";
    VARIABLE_ALREADY_DEFINED = 0x1014, "HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED", "The variable is already defined.";
    VARIABLE_UNDEFINED = 0x1015, "HSA_STATUS_ERROR_VARIABLE_UNDEFINED", "A variable is not defined.";
    EXCEPTION = 0x1016, "HSA_STATUS_ERROR_EXCEPTION", "A kernel has ended with an exception.";
    INVALID_ISA_NAME = 0x1017, "HSA_STATUS_ERROR_INVALID_ISA_NAME", "There is no instruction set of this name.";
    INVALID_CODE_SYMBOL = 0x1018, "HSA_STATUS_ERROR_INVALID_CODE_SYMBOL", "There is no such code symbol.";
    INVALID_EXECUTABLE_SYMBOL = 0x1019, "HSA_STATUS_ERROR_INVALID_EXECUTABLE_SYMBOL", "There is no such symbol.";
    INVALID_FILE = 0x1020, "HSA_STATUS_ERROR_INVALID_FILE", "The file cannot be read.";
    INVALID_CODE_OBJECT_READER = 0x1021, "HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER", "There is no such code object reader.";
    INVALID_CACHE = 0x1022, "HSA_STATUS_ERROR_INVALID_CACHE", "There is no such cache.";
    INVALID_WAVEFRONT = 0x1023, "HSA_STATUS_ERROR_INVALID_WAVEFRONT", "There is no such wavefront.";
    INVALID_SIGNAL_GROUP = 0x1024, "HSA_STATUS_ERROR_INVALID_SIGNAL_GROUP", "There is no such signal group.";
    INVALID_RUNTIME_STATE = 0x1025, "HSA_STATUS_ERROR_INVALID_RUNTIME_STATE", "The runtime is in an error state.";
    FATAL = 0x1026, "HSA_STATUS_ERROR_FATAL", "The queue met an error that nothing can go on after.";
    INVALID_MEMORY_POOL = 40, "HSA_STATUS_ERROR_INVALID_MEMORY_POOL", "There is no such memory pool.";
    MEMORY_APERTURE_VIOLATION = 41, "HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION", "A kernel has accessed memory outside of its apertures.";
    ILLEGAL_INSTRUCTION = 42, "HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION", "A kernel has met an instruction that the agent does not run.";
    MEMORY_FAULT = 43, "HSA_STATUS_ERROR_MEMORY_FAULT", "A kernel has accessed memory that it may not.";
    CU_MASK_REDUCED = 44, "HSA_STATUS_CU_MASK_REDUCED", "Not all of the compute units can be masked.";
    OUT_OF_REGISTERS = 45, "HSA_STATUS_ERROR_OUT_OF_REGISTERS", "A kernel needs more registers than there are.";
    RESOURCE_BUSY = 46, "HSA_STATUS_ERROR_RESOURCE_BUSY", "Something is in use.";
    FINALIZER_INVALID_PROGRAM = 0x2000, "HSA_EXT_STATUS_ERROR_INVALID_PROGRAM", "There is no such program.";
    IMAGE_FORMAT_UNSUPPORTED = 0x3000, "HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED", "Images of this format are not supported.";
    IMAGE_SIZE_UNSUPPORTED = 0x3001, "HSA_EXT_STATUS_ERROR_IMAGE_SIZE_UNSUPPORTED", "Images of this size are not supported.";
    IMAGE_PITCH_UNSUPPORTED = 0x3002, "HSA_EXT_STATUS_ERROR_IMAGE_PITCH_UNSUPPORTED", "Images of this pitch are not supported.";
    SAMPLER_DESCRIPTOR_UNSUPPORTED = 0x3003, "HSA_EXT_STATUS_ERROR_SAMPLER_DESCRIPTOR_UNSUPPORTED", "Such samplers are not supported.";
}

impl Status {
    /// As a result.
    pub(crate) fn check(self) -> Answer {
        match self {
            Self::SUCCESS => Ok(()),
            other => Err(other),
        }
    }
}

/// `hsa_queue_t`.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct HsaQueue {
    pub(crate) kind: u32,
    pub(crate) features: u32,
    pub(crate) base_address: *mut c_void,
    pub(crate) doorbell_signal: u64,
    pub(crate) size: u32,
    pub(crate) reserved1: u32,
    pub(crate) id: u64,
}

/// `amd_queue_t`.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct AmdQueue {
    pub(crate) hsa_queue: HsaQueue,
    pub(crate) reserved1: [u32; 4],
    pub(crate) write_dispatch_id: AtomicU64,
    pub(crate) group_segment_aperture_base_hi: u32,
    pub(crate) private_segment_aperture_base_hi: u32,
    pub(crate) max_cu_id: u32,
    pub(crate) max_wave_id: u32,
    pub(crate) max_legacy_doorbell_dispatch_id_plus_1: AtomicU64,
    pub(crate) legacy_doorbell_lock: AtomicU32,
    pub(crate) reserved2: [u32; 9],
    pub(crate) read_dispatch_id: AtomicU64,
    pub(crate) read_dispatch_id_field_base_byte_offset: u32,
    pub(crate) compute_tmpring_size: u32,
    pub(crate) scratch_resource_descriptor: [u32; 4],
    pub(crate) scratch_backing_memory_location: u64,
    pub(crate) scratch_backing_memory_byte_size: u64,
    pub(crate) scratch_wave64_lane_byte_size: u32,
    pub(crate) queue_properties: AtomicU32,
    pub(crate) reserved3: [u32; 2],
    pub(crate) queue_inactive_signal: u64,
    pub(crate) reserved4: [u32; 14],
}

/// `amd_signal_t`; the reserved words at its end are the runtime's own.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct AmdSignal {
    pub(crate) kind: AtomicI64,
    pub(crate) value: AtomicI64,
    pub(crate) event_mailbox_ptr: u64,
    pub(crate) event_id: u32,
    pub(crate) reserved1: u32,
    pub(crate) start_ts: AtomicU64,
    pub(crate) end_ts: AtomicU64,
    pub(crate) queue_ptr: AtomicU64,
    /// Threads that sleep until the value changes.
    pub(crate) sleepers: AtomicU32,
    /// Watchers that are told when the value changes: handlers, copies, groups.
    pub(crate) watchers: AtomicU32,
}

/// `hsa_dim3_t`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Dim3 {
    pub(crate) x: u32,
    pub(crate) y: u32,
    pub(crate) z: u32,
}

/// `hsa_pitched_ptr_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct PitchedPointer {
    pub(crate) base: *mut c_void,
    pub(crate) pitch: usize,
    pub(crate) slice: usize,
}

/// `hsa_amd_pointer_info_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct PointerInfo {
    pub(crate) size: u32,
    pub(crate) kind: u32,
    pub(crate) agent_base_address: *mut c_void,
    pub(crate) host_base_address: *mut c_void,
    pub(crate) size_in_bytes: usize,
    pub(crate) user_data: *mut c_void,
    pub(crate) agent_owner: u64,
    pub(crate) global_flags: u32,
}

/// `hsa_amd_svm_attribute_pair_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct SvmAttribute {
    pub(crate) attribute: u64,
    pub(crate) value: u64,
}

/// `hsa_amd_profiling_dispatch_time_t` and `hsa_amd_profiling_async_copy_time_t`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Times {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// `hsa_amd_memory_access_desc_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct AccessDescription {
    pub(crate) permissions: u32,
    pub(crate) agent: u64,
}

/// `hsa_amd_event_t`, of a memory fault.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct MemoryFaultEvent {
    pub(crate) event_type: u32,
    pub(crate) agent: u64,
    pub(crate) virtual_address: u64,
    pub(crate) fault_reason_mask: u32,
}

/// `hsa_ven_amd_loader_segment_descriptor_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct SegmentDescriptor {
    pub(crate) agent: u64,
    pub(crate) executable: u64,
    pub(crate) storage_type: u32,
    pub(crate) storage_base: *const c_void,
    pub(crate) storage_size: usize,
    pub(crate) storage_offset: usize,
    pub(crate) segment_base: *const c_void,
    pub(crate) segment_size: usize,
}

macro_rules! constants {
    ($($(#[$doc:meta])* $module:ident { $($name:ident = $value:expr,)* })*) => {
        $($(#[$doc])*
        #[allow(dead_code, reason = "all numbers of the headers, which tests compare")]
        pub(crate) mod $module {
            $(pub(crate) const $name: u32 = $value;)*
        })*

        /// Every number, with its module and name.
        #[cfg(test)]
        pub(crate) const NUMBERS: &[(&str, &str, u32)] =
            &[$($((stringify!($module), stringify!($name), $value),)*)*];
    };
}

constants! {
    /// `hsa_system_info_t`.
    system {
        VERSION_MAJOR = 0, VERSION_MINOR = 1, TIMESTAMP = 2, TIMESTAMP_FREQUENCY = 3, SIGNAL_MAX_WAIT = 4,
        ENDIANNESS = 5, MACHINE_MODEL = 6, EXTENSIONS = 7, BUILD_VERSION = 0x200, SVM_SUPPORTED = 0x201,
        SVM_ACCESSIBLE_BY_DEFAULT = 0x202, MWAITX_ENABLED = 0x203, DMABUF_SUPPORTED = 0x204,
        VIRTUAL_MEM_API_SUPPORTED = 0x205, XNACK_ENABLED = 0x206, EXT_VERSION_MAJOR = 0x207,
        EXT_VERSION_MINOR = 0x208,
    }
    /// `hsa_agent_info_t` and `hsa_amd_agent_info_t`.
    agent {
        NAME = 0, VENDOR_NAME = 1, FEATURE = 2, MACHINE_MODEL = 3, PROFILE = 4, DEFAULT_FLOAT_ROUNDING_MODE = 5,
        WAVEFRONT_SIZE = 6, WORKGROUP_MAX_DIM = 7, WORKGROUP_MAX_SIZE = 8, GRID_MAX_DIM = 9, GRID_MAX_SIZE = 10,
        FBARRIER_MAX_SIZE = 11, QUEUES_MAX = 12, QUEUE_MIN_SIZE = 13, QUEUE_MAX_SIZE = 14, QUEUE_TYPE = 15,
        NODE = 16, DEVICE = 17, CACHE_SIZE = 18, ISA = 19, EXTENSIONS = 20, VERSION_MAJOR = 21, VERSION_MINOR = 22,
        BASE_PROFILE_DEFAULT_FLOAT_ROUNDING_MODES = 23, FAST_F16_OPERATION = 24,
        IMAGE_1D_MAX_ELEMENTS = 0x3000, IMAGE_1DA_MAX_ELEMENTS = 0x3001, IMAGE_1DB_MAX_ELEMENTS = 0x3002,
        IMAGE_2D_MAX_ELEMENTS = 0x3003, IMAGE_2DA_MAX_ELEMENTS = 0x3004, IMAGE_2DDEPTH_MAX_ELEMENTS = 0x3005,
        IMAGE_2DADEPTH_MAX_ELEMENTS = 0x3006, IMAGE_3D_MAX_ELEMENTS = 0x3007, IMAGE_ARRAY_MAX_LAYERS = 0x3008,
        MAX_IMAGE_RD_HANDLES = 0x3009, MAX_IMAGE_RORW_HANDLES = 0x300a, MAX_SAMPLER_HANDLERS = 0x300b,
        IMAGE_LINEAR_ROW_PITCH_ALIGNMENT = 0x300c,
        CHIP_ID = 0xa000, CACHELINE_SIZE = 0xa001, COMPUTE_UNIT_COUNT = 0xa002, MAX_CLOCK_FREQUENCY = 0xa003,
        DRIVER_NODE_ID = 0xa004, MAX_ADDRESS_WATCH_POINTS = 0xa005, BDFID = 0xa006, MEMORY_WIDTH = 0xa007,
        MEMORY_MAX_FREQUENCY = 0xa008, PRODUCT_NAME = 0xa009, MAX_WAVES_PER_CU = 0xa00a, NUM_SIMDS_PER_CU = 0xa00b,
        NUM_SHADER_ENGINES = 0xa00c, NUM_SHADER_ARRAYS_PER_SE = 0xa00d, HDP_FLUSH = 0xa00e, DOMAIN = 0xa00f,
        COOPERATIVE_QUEUES = 0xa010, UUID = 0xa011, ASIC_REVISION = 0xa012, SVM_DIRECT_HOST_ACCESS = 0xa013,
        COOPERATIVE_COMPUTE_UNIT_COUNT = 0xa014, MEMORY_AVAIL = 0xa015, TIMESTAMP_FREQUENCY = 0xa016,
        ASIC_FAMILY_ID = 0xa107, UCODE_VERSION = 0xa108, SDMA_UCODE_VERSION = 0xa109, NUM_SDMA_ENG = 0xa10a,
        NUM_SDMA_XGMI_ENG = 0xa10b, IOMMU_SUPPORT = 0xa110, NUM_XCC = 0xa111, DRIVER_UID = 0xa112,
        NEAREST_CPU = 0xa113, MEMORY_PROPERTIES = 0xa114, AQL_EXTENSIONS = 0xa115, SCRATCH_LIMIT_MAX = 0xa116,
        SCRATCH_LIMIT_CURRENT = 0xa117,
    }
    /// `hsa_isa_info_t`.
    isa {
        NAME_LENGTH = 0, NAME = 1, CALL_CONVENTION_COUNT = 2, CALL_CONVENTION_INFO_WAVEFRONT_SIZE = 3,
        CALL_CONVENTION_INFO_WAVEFRONTS_PER_COMPUTE_UNIT = 4, MACHINE_MODELS = 5, PROFILES = 6,
        DEFAULT_FLOAT_ROUNDING_MODES = 7, BASE_PROFILE_DEFAULT_FLOAT_ROUNDING_MODES = 8, FAST_F16_OPERATION = 9,
        WORKGROUP_MAX_DIM = 12, WORKGROUP_MAX_SIZE = 13, GRID_MAX_DIM = 14, GRID_MAX_SIZE = 16,
        FBARRIER_MAX_SIZE = 17,
    }
    /// `hsa_cache_info_t`.
    cache { NAME_LENGTH = 0, NAME = 1, LEVEL = 2, SIZE = 3, }
    /// `hsa_region_info_t` and `hsa_amd_region_info_t`.
    region {
        SEGMENT = 0, GLOBAL_FLAGS = 1, SIZE = 2, ALLOC_MAX_SIZE = 4, RUNTIME_ALLOC_ALLOWED = 5,
        RUNTIME_ALLOC_GRANULE = 6, RUNTIME_ALLOC_ALIGNMENT = 7, ALLOC_MAX_PRIVATE_WORKGROUP_SIZE = 8,
        HOST_ACCESSIBLE = 0xa000, BASE = 0xa001, BUS_WIDTH = 0xa002, MAX_CLOCK_FREQUENCY = 0xa003,
    }
    /// `hsa_amd_memory_pool_info_t`.
    pool {
        SEGMENT = 0, GLOBAL_FLAGS = 1, SIZE = 2, RUNTIME_ALLOC_ALLOWED = 5, RUNTIME_ALLOC_GRANULE = 6,
        RUNTIME_ALLOC_ALIGNMENT = 7, ACCESSIBLE_BY_ALL = 15, ALLOC_MAX_SIZE = 16, LOCATION = 17,
        RUNTIME_ALLOC_REC_GRANULE = 18,
    }
    /// `hsa_amd_agent_memory_pool_info_t`.
    agent_pool { ACCESS = 0, NUM_LINK_HOPS = 1, LINK_INFO = 2, }
    /// `hsa_amd_memory_pool_access_t`.
    access { NEVER_ALLOWED = 0, ALLOWED_BY_DEFAULT = 1, DISALLOWED_BY_DEFAULT = 2, }
    /// Flags of pools and regions.
    flag { KERNARG = 1, FINE_GRAINED = 2, COARSE_GRAINED = 4, EXTENDED_SCOPE = 8, }
    /// `hsa_executable_symbol_info_t`, with what AMD's runtime adds.
    symbol {
        TYPE = 0, NAME_LENGTH = 1, NAME = 2, MODULE_NAME_LENGTH = 3, MODULE_NAME = 4, LINKAGE = 5,
        VARIABLE_ALLOCATION = 6, VARIABLE_SEGMENT = 7, VARIABLE_ALIGNMENT = 8, VARIABLE_SIZE = 9,
        VARIABLE_IS_CONST = 10, KERNEL_KERNARG_SEGMENT_SIZE = 11, KERNEL_KERNARG_SEGMENT_ALIGNMENT = 12,
        KERNEL_GROUP_SEGMENT_SIZE = 13, KERNEL_PRIVATE_SEGMENT_SIZE = 14, KERNEL_DYNAMIC_CALLSTACK = 15,
        INDIRECT_FUNCTION_CALL_CONVENTION = 16, IS_DEFINITION = 17, KERNEL_CALL_CONVENTION = 18,
        KERNEL_WAVEFRONT_SIZE = 19, AGENT = 20, VARIABLE_ADDRESS = 21, KERNEL_OBJECT = 22,
        INDIRECT_FUNCTION_OBJECT = 23,
    }
    /// `hsa_symbol_kind_t`.
    symbol_kind { VARIABLE = 0, KERNEL = 1, INDIRECT_FUNCTION = 2, }
    /// `hsa_ven_amd_loader_loaded_code_object_info_t`.
    loaded {
        EXECUTABLE = 1, KIND = 2, AGENT = 3, STORAGE_TYPE = 4, STORAGE_MEMORY_BASE = 5, STORAGE_MEMORY_SIZE = 6,
        STORAGE_FILE = 7, LOAD_DELTA = 8, LOAD_BASE = 9, LOAD_SIZE = 10, URI_LENGTH = 11, URI = 12,
    }
    /// `hsa_packet_type_t`.
    packet { VENDOR_SPECIFIC = 0, INVALID = 1, KERNEL_DISPATCH = 2, BARRIER_AND = 3, AGENT_DISPATCH = 4, BARRIER_OR = 5, }
    /// `hsa_signal_condition_t`.
    condition { EQ = 0, NE = 1, LT = 2, GTE = 3, }
    /// `hsa_queue_type_t`.
    queue_type { MULTI = 0, SINGLE = 1, COOPERATIVE = 2, }
    /// `hsa_extension_t`.
    extension {
        FINALIZER = 0, IMAGES = 1, PERFORMANCE_COUNTERS = 2, PROFILING_EVENTS = 3, AMD_PROFILER = 0x200,
        AMD_LOADER = 0x201, AMD_AQLPROFILE = 0x202, AMD_PC_SAMPLING = 0x203,
    }
}

/// `amd_signal_kind_t`.
pub(crate) mod signal_kind {
    pub(crate) const INVALID: i64 = 0;
    pub(crate) const USER: i64 = 1;
    pub(crate) const DOORBELL: i64 = -1;
}
