//! AQL packets, and the arithmetic of queues: blocks, words, LDS.

use hsaco::kernarg::{self, DispatchPacket, Fences, KernelNeeds, Packet, PacketNeeds, Scope};
use hsaco::object::CodeObject;

use crate::border::{Out, Versioned, bytes, bytes_mut, sized_given};
use crate::error::{Failure, Result, Status, border, lines};
use crate::handle;
use crate::kernel::Kernel;
use crate::launch::{self, Launch};

/// What a packet needs beside the launch. Set everything to 0 and `size` to sizeof(hsaco_packet_needs), or have
/// hsaco_kernel_packet_needs fill it in.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DispatchNeeds {
    /// sizeof(hsaco_packet_needs).
    pub size: usize,
    /// Where the kernel's descriptor is in memory.
    pub kernel_object: u64,
    /// Where its arguments are in memory.
    pub kernarg_address: u64,
    /// A signal, or 0.
    pub completion_signal: u64,
    /// Bytes of static LDS.
    pub static_lds: u32,
    /// Most bytes of LDS that the device has; 0 for any.
    pub lds_limit: u32,
    /// Most work-items of a workgroup; 0 for 1024.
    pub max_workgroup: u32,
    /// Bytes of scratch memory of a work-item.
    pub private_segment: u32,
    /// The sizes of a workgroup that the kernel was compiled for; 0 where it is for any.
    pub required_workgroup: [u32; 3],
    /// Before the packet begins: 0 system, 1 agent, 2 none.
    pub acquire: u32,
    /// After it ends: 0 system, 1 agent, 2 none.
    pub release: u32,
    /// Whether packets before it need not have ended: 0 or 1.
    pub no_barrier: u32,
}

// SAFETY: numbers, and it begins with its size.
unsafe impl Versioned for DispatchNeeds {
    const NAME: &'static str = "needs";
}

/// What a packet says; which members mean something depends on its kind.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct PacketInfo {
    /// Its kind, as in HSA: 0 vendor, 1 invalid, 2 dispatch, 3 barrier-and, 4 agent, 5 barrier-or; others are unknown.
    pub kind: u32,
    /// Dimensions of the grid.
    pub dimensions: u32,
    /// Work-items of a workgroup.
    pub workgroup: [u32; 3],
    /// Work-items of the grid.
    pub grid: [u32; 3],
    /// Bytes of scratch memory of a work-item.
    pub private_segment: u32,
    /// Bytes of LDS.
    pub group_segment: u32,
    /// Where the kernel's descriptor is in memory.
    pub kernel_object: u64,
    /// Where its arguments are in memory.
    pub kernarg_address: u64,
    /// Signals that a barrier waits for.
    pub signals: [u64; 5],
    /// Arguments of an agent packet.
    pub arguments: [u64; 4],
    /// Where an agent packet's answer goes.
    pub return_address: u64,
    /// The function of an agent packet.
    pub function: u32,
    /// A signal, or 0.
    pub completion_signal: u64,
}

/// How many blocks of 64 bytes a kernarg ring needs for so many bytes of an alignment: at least one.
/// HSACO_STATUS_LIMIT_EXCEEDED where it is no number of 32 bits, or the alignment is none that blocks have.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_kernarg_blocks(
    size: u64,
    alignment: u64,
    blocks: *mut u32,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::new(blocks, "blocks", 0) }?;
        out.set(kernarg::blocks(size, alignment)?);
        Ok(())
    })
}

/// How many words of 8 bytes a command buffer needs for so many bytes; HSACO_STATUS_LIMIT_EXCEEDED above 65535.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_command_words(size: u64, words: *mut u16) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::new(words, "words", 0) }?;
        out.set(kernarg::command_words(size)?);
        Ok(())
    })
}

/// Static and dynamic LDS together; HSACO_STATUS_LIMIT_EXCEEDED above the limit of the device.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_group_segment(
    static_lds: u32,
    dynamic_lds: u32,
    limit: u32,
    size: *mut u32,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::new(size, "size", 0) }?;
        out.set(kernarg::group_segment(static_lds, dynamic_lds, limit)?);
        Ok(())
    })
}

/// What packets of a kernel need: LDS, scratch memory, limits of its target. Addresses, signal and fences become 0.
/// `needs->size` must be set.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_kernel_packet_needs(
    kernel: *const Kernel,
    needs: *mut DispatchNeeds,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let given: DispatchNeeds = unsafe { sized_given(needs) }?;
        if given.size != size_of::<DispatchNeeds>() {
            return Err(Failure::argument("needs is of an older version, and has no room"));
        }
        let kernel = handle::get(kernel)?;
        let tables = kernel.kernel.tables()?;
        let data = kernel.kernel.object().data()?;
        let object = CodeObject::parse(&data)?;
        let (own, read) = KernelNeeds::of(&object, &tables.kernel());
        read?;
        let required = own.required_workgroup.unwrap_or_default();
        // SAFETY: not null, and of the size that was checked.
        let out = unsafe { Out::new(needs, "needs", given) }?;
        out.set(DispatchNeeds {
            size: given.size,
            kernel_object: 0,
            kernarg_address: 0,
            completion_signal: 0,
            static_lds: own.static_lds,
            lds_limit: own.lds_limit,
            max_workgroup: own.max_workgroup,
            private_segment: own.private_segment,
            required_workgroup: required.map(|it| u32::try_from(it).unwrap_or(u32::MAX)),
            acquire: 0,
            release: 0,
            no_barrier: 0,
        });
        Ok(())
    })
}

/// Makes the packet of 64 bytes that launches a kernel, held to every rule of HSA. Nothing is written if one is broken.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_packet_dispatch(
    launch: *const Launch,
    needs: *const DispatchNeeds,
    packet: *mut u8,
    packet_size: usize,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let (launch, given, packet) = unsafe {
            (
                launch::given(launch)?,
                sized_given::<DispatchNeeds>(needs)?,
                bytes_mut(packet, packet_size, "packet")?,
            )
        };
        let wrong = || Failure::argument(format!("a packet has 64 bytes, not {packet_size}"));
        let packet: &mut [u8; Packet::SIZE] = packet.try_into().map_err(|_| wrong())?;
        let any = PacketNeeds::default();
        let or = |value: u32, otherwise: u32| if value == 0 { otherwise } else { value };
        let sizes = launch.workgroup().map(u32::from);
        let required = given.required_workgroup;
        if required != [0; 3] && required != sizes {
            let reason = format!("a workgroup of {sizes:?}, and the kernel is for {required:?}");
            return Err(Failure::new(Status::Mismatch, reason));
        }
        let needs = PacketNeeds {
            static_lds: given.static_lds,
            lds_limit: or(given.lds_limit, any.lds_limit),
            max_workgroup: or(given.max_workgroup, any.max_workgroup),
            private_segment: given.private_segment,
            kernel_object: given.kernel_object,
            kernarg_address: given.kernarg_address,
            completion_signal: given.completion_signal,
            fences: Fences {
                barrier: given.no_barrier == 0,
                acquire: scope(given.acquire)?,
                release: scope(given.release)?,
            },
        };
        *packet = DispatchPacket::new(&launch, &needs)?.to_bytes();
        Ok(())
    })
}

fn scope(number: u32) -> Result<Scope> {
    match number {
        0 => Ok(Scope::System),
        1 => Ok(Scope::Agent),
        2 => Ok(Scope::None),
        _ => Err(Failure::argument(format!("fence {number} is none: 0 to 2 are"))),
    }
}

/// What a packet of 64 bytes says. HSACO_STATUS_FINDINGS where it breaks rules of HSA: hsaco_last_error() then has them,
/// a line each, and `info` is filled in all the same.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_packet_decode(
    packet: *const u8,
    packet_size: usize,
    info: *mut PacketInfo,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let (out, packet) = unsafe {
            let out = Out::new(info, "info", PacketInfo::default())?;
            (out, bytes(packet, packet_size, "packet")?)
        };
        let wrong = |_| Failure::argument(format!("a packet has 64 bytes, not {packet_size}"));
        let (packet, broken) = Packet::decode(packet.try_into().map_err(wrong)?);
        out.set(PacketInfo::of(&packet));
        match broken.is_empty() {
            true => Ok(()),
            false => Err(Failure::new(Status::Findings, lines(broken))),
        }
    })
}

impl PacketInfo {
    fn of(packet: &Packet) -> Self {
        match packet {
            Packet::Dispatch(it) => Self {
                kind: 2,
                dimensions: it.dimensions.into(),
                workgroup: it.workgroup.map(u32::from),
                grid: it.grid,
                private_segment: it.private_segment,
                group_segment: it.group_segment,
                kernel_object: it.kernel_object,
                kernarg_address: it.kernarg_address,
                completion_signal: it.completion_signal,
                ..Self::default()
            },
            Packet::BarrierAnd(it) | Packet::BarrierOr(it) => Self {
                kind: if matches!(packet, Packet::BarrierAnd(_)) { 3 } else { 5 },
                signals: it.signals,
                completion_signal: it.completion_signal,
                ..Self::default()
            },
            Packet::Agent(it) => Self {
                kind: 4,
                function: it.function.into(),
                return_address: it.return_address,
                arguments: it.arguments,
                completion_signal: it.completion_signal,
                ..Self::default()
            },
            Packet::Invalid => Self { kind: 1, ..Self::default() },
            Packet::Unknown(kind) => Self { kind: (*kind).into(), ..Self::default() },
            _ => Self::default(),
        }
    }
}
