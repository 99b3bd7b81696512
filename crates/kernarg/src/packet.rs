//! AQL packets: the 64 bytes that launch a kernel, and the other kinds of them.

use std::fmt;

use hsaco_bytes::{Error, ErrorKind, Result};
use hsaco_object::{CodeObject, Kernel};

use crate::launch::{Launch, group_segment};

const CONTEXT: &str = "AQL packet";

/// Alignment of a kernarg segment's address.
const KERNARG_ALIGNMENT: u64 = 16;
/// Alignment of a kernel descriptor.
const DESCRIPTOR_ALIGNMENT: u64 = 64;

/// How far memory is made visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Scope {
    /// Not at all.
    None,
    /// On the device.
    Agent,
    /// Everywhere.
    System,
    /// A value that has no meaning.
    Reserved,
}

impl Scope {
    const ALL: [Self; 4] = [Self::None, Self::Agent, Self::System, Self::Reserved];

    fn from_bits(bits: u16) -> Self {
        Self::ALL.get(usize::from(bits & 3)).copied().unwrap_or(Self::Reserved)
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Agent => "agent",
            Self::System => "system",
            Self::Reserved => "reserved",
        }
    }

    /// The scope of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name && *it != Self::Reserved)
    }
}

/// What a packet waits for, and what it makes visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Fences {
    /// Whether the packets before it must have ended.
    pub barrier: bool,
    /// Before it begins.
    pub acquire: Scope,
    /// After it ends.
    pub release: Scope,
}

impl Default for Fences {
    /// The safe ones: after everything before it, and everything visible everywhere.
    fn default() -> Self {
        Self { barrier: true, acquire: Scope::System, release: Scope::System }
    }
}

impl Fences {
    fn header(self, kind: u16) -> u16 {
        let scope = |it: Scope| it as u16;
        kind | u16::from(self.barrier) << 8 | scope(self.acquire) << 9 | scope(self.release) << 11
    }

    fn from_header(header: u16) -> Self {
        Self {
            barrier: header >> 8 & 1 == 1,
            acquire: Scope::from_bits(header >> 9),
            release: Scope::from_bits(header >> 11),
        }
    }
}

/// What a dispatch needs that its launch does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PacketNeeds {
    /// Bytes of LDS that the kernel declares.
    pub static_lds: u32,
    /// Most LDS that the device gives to a workgroup.
    pub lds_limit: u32,
    /// Most work-items of a workgroup.
    pub max_workgroup: u32,
    /// Bytes of scratch of a work-item.
    pub private_segment: u32,
    /// Address of the kernel's descriptor.
    pub kernel_object: u64,
    /// Address of the arguments.
    pub kernarg_address: u64,
    /// Handle of the signal that the end is told to; 0 for none.
    pub completion_signal: u64,
    /// What to wait for.
    pub fences: Fences,
}

impl Default for PacketNeeds {
    fn default() -> Self {
        Self {
            static_lds: 0,
            lds_limit: u32::MAX,
            max_workgroup: 1024,
            private_segment: 0,
            kernel_object: 0,
            kernarg_address: 0,
            completion_signal: 0,
            fences: Fences::default(),
        }
    }
}

/// What a file says of a kernel that a packet must respect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KernelNeeds {
    /// Bytes of LDS that it declares.
    pub static_lds: u32,
    /// Most LDS that its target gives to a workgroup.
    pub lds_limit: u32,
    /// Most work-items of a workgroup.
    pub max_workgroup: u32,
    /// Bytes of scratch of a work-item.
    pub private_segment: u32,
    /// The one size of workgroups that it is compiled for.
    pub required_workgroup: Option<[u64; 3]>,
}

impl Default for KernelNeeds {
    /// Of no kernel and no device in particular.
    fn default() -> Self {
        let unlimited = PacketNeeds::default();
        KernelNeeds {
            static_lds: 0,
            lds_limit: unlimited.lds_limit,
            max_workgroup: unlimited.max_workgroup,
            private_segment: 0,
            required_workgroup: None,
        }
    }
}

impl KernelNeeds {
    /// Of a kernel, and what of its metadata cannot be read.
    pub fn of(object: &CodeObject<'_>, kernel: &Kernel<'_>) -> (Self, Result<()>) {
        let limits = object.target().id().map(|it| it.processor.limits());
        let (resources, read) = kernel.resources(object.target().generation());
        let small = |number: Option<u64>| number.map(|it| u32::try_from(it).unwrap_or(u32::MAX));
        let metadata = kernel.metadata().and_then(|it| it.decode().ok());
        let required = metadata.and_then(|it| it.reqd_workgroup_size);
        let any = KernelNeeds::default();
        let device = limits.map_or(any.max_workgroup, |it| it.max_workgroup);
        let needs = KernelNeeds {
            static_lds: small(resources.lds).unwrap_or(0),
            lds_limit: limits.map_or(any.lds_limit, |it| it.lds_bytes),
            max_workgroup: small(resources.max_workgroup_size).unwrap_or(device).min(device),
            private_segment: small(resources.scratch).unwrap_or(0),
            required_workgroup: required.filter(|it| *it != [0; 3]),
        };
        (needs, read)
    }
}

/// A packet that launches a kernel.
///
/// ```
/// use hsaco_kernarg::{DispatchPacket, Launch, Packet, PacketNeeds};
/// let needs = PacketNeeds { kernel_object: 0x7f00_0000_0c00, kernarg_address: 0x1000, ..PacketNeeds::default() };
/// let packet = DispatchPacket::new(&Launch::new(&[100], &[32])?, &needs)?;
/// let bytes = packet.to_bytes();
/// assert_eq!(bytes[..4], [0x02, 0x15, 1, 0]);
/// assert_eq!(Packet::decode(&bytes).0, Packet::Dispatch(packet));
/// # Ok::<(), hsaco_bytes::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct DispatchPacket {
    /// What it waits for.
    pub fences: Fences,
    /// Dimensions of the grid.
    pub dimensions: u8,
    /// Work-items of a workgroup.
    pub workgroup: [u16; 3],
    /// Work-items of the grid.
    pub grid: [u32; 3],
    /// Bytes of scratch of a work-item.
    pub private_segment: u32,
    /// Bytes of LDS of a workgroup.
    pub group_segment: u32,
    /// Address of the kernel's descriptor.
    pub kernel_object: u64,
    /// Address of the arguments.
    pub kernarg_address: u64,
    /// Handle of the signal that the end is told to.
    pub completion_signal: u64,
}

/// A packet that waits for up to five signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct BarrierPacket {
    /// What it waits for besides.
    pub fences: Fences,
    /// The signals; 0 is none.
    pub signals: [u64; 5],
    /// Handle of the signal that the end is told to.
    pub completion_signal: u64,
}

/// A packet that asks an agent to do something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct AgentPacket {
    /// What it waits for.
    pub fences: Fences,
    /// What to do; the application's to define.
    pub function: u16,
    /// Where to put the answer.
    pub return_address: u64,
    /// With what.
    pub arguments: [u64; 4],
    /// Handle of the signal that the end is told to.
    pub completion_signal: u64,
}

/// A packet of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Packet {
    /// Of a kind that the device's maker defines: its bytes.
    Vendor([u8; 64]),
    /// Of a slot that is not filled yet.
    Invalid,
    /// Launches a kernel.
    Dispatch(DispatchPacket),
    /// Waits for all of its signals.
    BarrierAnd(BarrierPacket),
    /// Waits for one of its signals.
    BarrierOr(BarrierPacket),
    /// Asks an agent.
    Agent(AgentPacket),
    /// Of a kind that has no name: its number.
    Unknown(u8),
}

const VENDOR: u16 = 0;
const INVALID: u16 = 1;
const DISPATCH: u16 = 2;
const BARRIER_AND: u16 = 3;
const AGENT: u16 = 4;
const BARRIER_OR: u16 = 5;

impl Packet {
    /// Bytes of any packet.
    pub const SIZE: usize = 64;

    /// Reads a packet, and what of it breaks the rules.
    pub fn decode(bytes: &[u8; Self::SIZE]) -> (Self, Vec<Error>) {
        let header = u16_at(bytes, 0);
        let fences = Fences::from_header(header);
        let mut wrong = Vec::new();
        let packet = match header & 0xff {
            VENDOR => Self::Vendor(*bytes),
            INVALID => Self::Invalid,
            DISPATCH => Self::Dispatch(DispatchPacket::read(bytes)),
            kind @ (BARRIER_AND | BARRIER_OR) => {
                let signals = [8, 16, 24, 32, 40].map(|at| u64_at(bytes, at));
                let completion_signal = u64_at(bytes, 56);
                let packet = BarrierPacket { fences, signals, completion_signal };
                if kind == BARRIER_AND { Self::BarrierAnd(packet) } else { Self::BarrierOr(packet) }
            }
            AGENT => Self::Agent(AgentPacket {
                fences,
                function: u16_at(bytes, 2),
                return_address: u64_at(bytes, 8),
                arguments: [16, 24, 32, 40].map(|at| u64_at(bytes, at)),
                completion_signal: u64_at(bytes, 56),
            }),
            kind => Self::Unknown(u8::try_from(kind).unwrap_or(u8::MAX)),
        };
        packet.check_reserved(bytes, header, &mut wrong);
        if let Self::Dispatch(packet) = &packet {
            packet.check(&mut |detail, at| wrong.push(malformed(detail, at)));
        }
        (packet, wrong)
    }

    /// What the packet is.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Vendor(_) => "vendor",
            Self::Invalid => "invalid",
            Self::Dispatch(_) => "dispatch",
            Self::BarrierAnd(_) => "barrier-and",
            Self::BarrierOr(_) => "barrier-or",
            Self::Agent(_) => "agent",
            Self::Unknown(_) => "unknown",
        }
    }

    /// What it says: the name of each field, and its value in words.
    #[must_use]
    pub fn rows(&self) -> Vec<(&'static str, String)> {
        let hex = |value: u64| format!("{value:#x}");
        let all = |values: &[u64]| values.iter().map(|it| hex(*it)).collect::<Vec<_>>().join(" ");
        let sizes = |all: [u32; 3]| all.map(|it| it.to_string()).join(" x ");
        let mut rows = vec![("type", self.name().to_owned())];
        match self {
            Self::Dispatch(it) => rows.extend([
                ("fences", it.fences.to_string()),
                ("dimensions", it.dimensions.to_string()),
                ("workgroup", sizes(it.workgroup.map(u32::from))),
                ("grid", sizes(it.grid)),
                ("private segment", format!("{} bytes", it.private_segment)),
                ("group segment", format!("{} bytes", it.group_segment)),
                ("kernel object", hex(it.kernel_object)),
                ("kernarg address", hex(it.kernarg_address)),
                ("completion signal", hex(it.completion_signal)),
            ]),
            Self::BarrierAnd(it) | Self::BarrierOr(it) => rows.extend([
                ("fences", it.fences.to_string()),
                ("signals", all(&it.signals)),
                ("completion signal", hex(it.completion_signal)),
            ]),
            Self::Agent(it) => rows.extend([
                ("fences", it.fences.to_string()),
                ("function", it.function.to_string()),
                ("arguments", all(&it.arguments)),
                ("return address", hex(it.return_address)),
                ("completion signal", hex(it.completion_signal)),
            ]),
            Self::Vendor(bytes) => rows.push(("bytes", hsaco_bytes::hex::encode(bytes))),
            Self::Invalid | Self::Unknown(_) => {}
        }
        rows
    }

    fn check_reserved(&self, bytes: &[u8; Self::SIZE], header: u16, wrong: &mut Vec<Error>) {
        let reserved: &[(usize, usize)] = match self {
            Self::Vendor(_) | Self::Invalid => return,
            Self::Unknown(kind) => {
                wrong.push(malformed(format!("packet type {kind} has no meaning"), 0));
                return;
            }
            Self::Dispatch(_) => &[(10, 2), (48, 8)],
            Self::BarrierAnd(_) | Self::BarrierOr(_) => &[(2, 6), (48, 8)],
            Self::Agent(_) => &[(4, 4), (48, 8)],
        };
        if header >> 13 != 0 {
            wrong.push(malformed(format!("reserved bits of the header {header:#06x} are set"), 0));
        }
        if matches!(self, Self::Dispatch(_)) && u16_at(bytes, 2) >> 2 != 0 {
            let setup = u16_at(bytes, 2);
            wrong.push(malformed(format!("reserved bits of the setup {setup:#06x} are set"), 2));
        }
        for &(at, size) in reserved {
            let bytes = bytes.get(at..).and_then(|it| it.get(..size)).unwrap_or_default();
            if bytes.iter().any(|&it| it != 0) {
                wrong.push(malformed("reserved bytes are set".to_owned(), at as u64));
            }
        }
    }
}

fn malformed(detail: String, at: u64) -> Error {
    Error::malformed(CONTEXT, at, detail)
}

impl DispatchPacket {
    /// The packet of a launch, held to every rule.
    pub fn new(launch: &Launch, needs: &PacketNeeds) -> Result<Self> {
        let items = launch.workgroup_items();
        if items > u64::from(needs.max_workgroup) {
            let limit = needs.max_workgroup;
            let detail = format!("a workgroup of {items} work-items, and at most {limit} run");
            return Err(Error::new(ErrorKind::LimitExceeded, CONTEXT, detail));
        }
        let packet = Self {
            fences: needs.fences,
            dimensions: launch.dimensions(),
            workgroup: launch.workgroup(),
            grid: launch.work_items(),
            private_segment: needs.private_segment,
            group_segment: group_segment(needs.static_lds, launch.dynamic_lds(), needs.lds_limit)?,
            kernel_object: needs.kernel_object,
            kernarg_address: needs.kernarg_address,
            completion_signal: needs.completion_signal,
        };
        let mut first = None;
        packet.check(&mut |detail, at| first = first.take().or(Some(malformed(detail, at))));
        first.map_or(Ok(packet), Err)
    }

    /// Says which rules are broken, and where.
    fn check(&self, wrong: &mut dyn FnMut(String, u64)) {
        if !(1..=3).contains(&self.dimensions) {
            wrong(format!("{} dimensions, and there must be 1 to 3", self.dimensions), 2);
        }
        if self.fences.acquire == Scope::Reserved || self.fences.release == Scope::Reserved {
            wrong("a fence of scope 3, which has no meaning".to_owned(), 0);
        }
        for (axis, (&size, &grid)) in self.workgroup.iter().zip(&self.grid).enumerate() {
            let name = ["x", "y", "z"].get(axis).copied().unwrap_or("?");
            let (at, grid_at) = (4 + 2 * axis as u64, 12 + 4 * axis as u64);
            if size == 0 {
                wrong(format!("a workgroup of 0 in {name}"), at);
            }
            if grid == 0 {
                wrong(format!("a grid of 0 in {name}"), grid_at);
            }
            if axis >= usize::from(self.dimensions) && (size > 1 || grid > 1) {
                let detail = format!(
                    "workgroup {size} and grid {grid} in {name}, which is not used and must be 1"
                );
                wrong(detail, at);
            }
        }
        if self.kernel_object == 0 || !self.kernel_object.is_multiple_of(DESCRIPTOR_ALIGNMENT) {
            let at = self.kernel_object;
            wrong(format!("a descriptor at {at:#x}, no multiple of {DESCRIPTOR_ALIGNMENT}"), 32);
        }
        if !self.kernarg_address.is_multiple_of(KERNARG_ALIGNMENT) {
            let at = self.kernarg_address;
            wrong(format!("arguments at {at:#x}, no multiple of {KERNARG_ALIGNMENT}"), 40);
        }
    }

    fn read(bytes: &[u8; Packet::SIZE]) -> Self {
        Self {
            fences: Fences::from_header(u16_at(bytes, 0)),
            dimensions: u8::try_from(u16_at(bytes, 2) & 3).unwrap_or(0),
            workgroup: [4, 6, 8].map(|at| u16_at(bytes, at)),
            grid: [12, 16, 20].map(|at| u32_at(bytes, at)),
            private_segment: u32_at(bytes, 24),
            group_segment: u32_at(bytes, 28),
            kernel_object: u64_at(bytes, 32),
            kernarg_address: u64_at(bytes, 40),
            completion_signal: u64_at(bytes, 56),
        }
    }

    /// The first two bytes, which a queue must see last, by a store with release semantics.
    pub fn header(&self) -> u16 {
        self.fences.header(DISPATCH)
    }

    /// The packet's bytes.
    pub fn to_bytes(&self) -> [u8; Packet::SIZE] {
        let mut bytes = [0; Packet::SIZE];
        let mut put = |at: usize, value: &[u8]| {
            if let Some(place) = bytes.get_mut(at..).and_then(|it| it.get_mut(..value.len())) {
                place.copy_from_slice(value);
            }
        };
        put(0, &self.header().to_le_bytes());
        put(2, &u16::from(self.dimensions).to_le_bytes());
        for (axis, size) in self.workgroup.iter().enumerate() {
            put(4 + 2 * axis, &size.to_le_bytes());
        }
        for (axis, size) in self.grid.iter().enumerate() {
            put(12 + 4 * axis, &size.to_le_bytes());
        }
        put(24, &self.private_segment.to_le_bytes());
        put(28, &self.group_segment.to_le_bytes());
        put(32, &self.kernel_object.to_le_bytes());
        put(40, &self.kernarg_address.to_le_bytes());
        put(56, &self.completion_signal.to_le_bytes());
        bytes
    }
}

impl fmt::Display for Fences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (acquire, release) = (self.acquire.name(), self.release.name());
        let barrier = if self.barrier { "barrier, " } else { "" };
        write!(f, "{barrier}acquire {acquire}, release {release}")
    }
}

fn array<const N: usize>(bytes: &[u8; Packet::SIZE], at: usize) -> [u8; N] {
    bytes.get(at..).and_then(<[u8]>::first_chunk).copied().unwrap_or([0; N])
}

fn u16_at(bytes: &[u8; Packet::SIZE], at: usize) -> u16 {
    u16::from_le_bytes(array(bytes, at))
}

fn u32_at(bytes: &[u8; Packet::SIZE], at: usize) -> u32 {
    u32::from_le_bytes(array(bytes, at))
}

fn u64_at(bytes: &[u8; Packet::SIZE], at: usize) -> u64 {
    u64::from_le_bytes(array(bytes, at))
}
