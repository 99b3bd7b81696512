//! What registers hold when a kernel begins: who put what where, and for one wave of a launch which values.
//!
//! Derived from LLVM's AMDGPU documentation and definitions (Apache-2.0 WITH LLVM-exception).

use hsaco_bytes::{Error, ErrorKind, Result};
use hsaco_isa::Processor;
use hsaco_isa::model::{Register, RegisterFile};
use hsaco_isa::target::{FlatScratch, Generation};
use hsaco_object::descriptor::KernelDescriptor;

use crate::launch::Launch;

const CONTEXT: &str = "registers at entry";

/// Bytes of code that old firmware runs, and firmware that preloads arguments skips.
const PRELOAD_PROLOGUE: u32 = 256;

/// What a register holds at entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EntryValue {
    /// The buffer resource of scratch memory.
    PrivateSegmentBuffer,
    /// The address of the dispatch packet.
    DispatchPtr,
    /// The address of the queue.
    QueuePtr,
    /// The address of the arguments.
    KernargSegmentPtr,
    /// The number of the dispatch.
    DispatchId,
    /// What FLAT_SCRATCH is made from.
    FlatScratchInit,
    /// Bytes of scratch of a work-item.
    PrivateSegmentSize,
    /// Arguments that are loaded before the kernel begins.
    PreloadedKernargs,
    /// A workgroup's number in a dimension; on gfx125x, that of its cluster.
    WorkgroupId(u8),
    /// How many waves the workgroup has, and whether this is the first.
    WorkgroupInfo,
    /// Where the wave's scratch memory begins.
    PrivateSegmentWaveOffset,
    /// A wave's number in its workgroup.
    WaveId,
    /// A workgroup's number in its cluster, in a dimension.
    ClusterWorkgroupId(u8),
    /// The largest number of a workgroup in its cluster, in a dimension.
    ClusterWorkgroupMaxId(u8),
    /// The largest flat number of a workgroup in its cluster.
    ClusterWorkgroupMaxFlatId,
    /// A work-item's number in its workgroup, in a dimension.
    WorkitemId(u8),
}

impl EntryValue {
    /// Its name.
    pub fn name(self) -> String {
        let axis = |axis: u8| ["x", "y", "z"].get(usize::from(axis)).copied().unwrap_or("?");
        match self {
            Self::PrivateSegmentBuffer => "private_segment_buffer".to_owned(),
            Self::DispatchPtr => "dispatch_ptr".to_owned(),
            Self::QueuePtr => "queue_ptr".to_owned(),
            Self::KernargSegmentPtr => "kernarg_segment_ptr".to_owned(),
            Self::DispatchId => "dispatch_id".to_owned(),
            Self::FlatScratchInit => "flat_scratch_init".to_owned(),
            Self::PrivateSegmentSize => "private_segment_size".to_owned(),
            Self::PreloadedKernargs => "kernarg_preload".to_owned(),
            Self::WorkgroupId(at) => format!("workgroup_id_{}", axis(at)),
            Self::WorkgroupInfo => "workgroup_info".to_owned(),
            Self::PrivateSegmentWaveOffset => "private_segment_wave_offset".to_owned(),
            Self::WaveId => "wave_id".to_owned(),
            Self::ClusterWorkgroupId(at) => format!("cluster_workgroup_id_{}", axis(at)),
            Self::ClusterWorkgroupMaxId(at) => format!("cluster_workgroup_max_id_{}", axis(at)),
            Self::ClusterWorkgroupMaxFlatId => "cluster_workgroup_max_flat_id".to_owned(),
            Self::WorkitemId(at) => format!("workitem_id_{}", axis(at)),
        }
    }
}

/// One register, or several in a row, and what is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct EntryRegister {
    /// The first register, and how many.
    pub register: Register,
    /// The lowest bit and how many, where it shares the register.
    pub bits: Option<(u8, u8)>,
    /// What is in it.
    pub holds: EntryValue,
}

/// Arguments that are in scalar registers when the kernel begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Preload {
    /// The first register.
    pub first: u16,
    /// How many registers, and 4-byte words of the segment.
    pub words: u16,
    /// The first of those words.
    pub offset: u16,
    /// How far behind the descriptor's entry the kernel begins: code for firmware that cannot preload stands there.
    pub skipped: u32,
}

impl Preload {
    /// The register that an argument begins in, if all of it is preloaded and it begins with a word.
    ///
    /// ```
    /// # use hsaco_isa::Processor;
    /// # use hsaco_kernarg::EntryState;
    /// # use hsaco_object::descriptor::KernelDescriptor;
    /// let mut descriptor = KernelDescriptor::default();
    /// descriptor.kernel_code_properties = 1 << 3;
    /// descriptor.kernarg_preload = 4;
    /// descriptor.compute_pgm_rsrc2 = 6 << 1;
    /// let entry = EntryState::new(Processor::from_name("gfx942").unwrap(), &descriptor)?;
    /// let preload = entry.preload().unwrap();
    /// assert_eq!((preload.register(8, 8), preload.register(16, 4)), (Some(4), None));
    /// # Ok::<(), hsaco_bytes::Error>(())
    /// ```
    pub fn register(self, offset: u32, size: u32) -> Option<u16> {
        let from = offset.checked_sub(u32::from(self.offset) * 4)?;
        let end = from.checked_add(size)?;
        let inside = from % 4 == 0 && end <= u32::from(self.words) * 4;
        let register = u32::from(self.first).checked_add(from / 4)?;
        inside.then(|| u16::try_from(register).ok()).flatten()
    }
}

/// What registers hold when a kernel begins.
///
/// ```
/// use hsaco_isa::Processor;
/// use hsaco_kernarg::EntryState;
/// use hsaco_object::descriptor::KernelDescriptor;
/// let mut descriptor = KernelDescriptor::default();
/// descriptor.kernel_code_properties = 1 << 1 | 1 << 3; // dispatch pointer, arguments
/// descriptor.compute_pgm_rsrc2 = 4 << 1 | 1 << 7 | 1 << 8; // 4 registers, then workgroup x and y
/// let shown = |name| {
///     let entry = EntryState::new(Processor::from_name(name).unwrap(), &descriptor)?;
///     let text = |it: &hsaco_kernarg::EntryRegister| format!("{}={}", it.register, it.holds.name());
///     Ok::<_, hsaco_bytes::Error>(entry.registers().iter().map(text).collect::<Vec<_>>().join(" "))
/// };
/// assert_eq!(
///     shown("gfx942")?,
///     "s[0:1]=dispatch_ptr s[2:3]=kernarg_segment_ptr s4=workgroup_id_x s5=workgroup_id_y v0=workitem_id_x"
/// );
/// assert!(shown("gfx1201")?.contains("ttmp9=workgroup_id_x ttmp7=workgroup_id_y"));
/// # Ok::<(), hsaco_bytes::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryState {
    registers: Vec<EntryRegister>,
    preload: Option<Preload>,
    wave_size: u32,
}

/// What is known of one wave of a launch. What is not is left out of the values.
#[derive(Clone, Debug)]
pub struct Wave<'w> {
    /// The launch.
    pub launch: &'w Launch,
    /// The number of its workgroup.
    pub workgroup: [u32; 3],
    /// Its number in the workgroup.
    pub wave: u32,
    /// Workgroups of a cluster in each dimension.
    pub cluster: [u32; 3],
    /// The address of the dispatch packet.
    pub dispatch_ptr: Option<u64>,
    /// The address of the queue.
    pub queue_ptr: Option<u64>,
    /// The address of the arguments.
    pub kernarg_address: Option<u64>,
    /// The arguments.
    pub kernarg: &'w [u8],
    /// The number of the dispatch.
    pub dispatch_id: Option<u64>,
    /// Bytes of scratch of a work-item.
    pub private_segment_size: Option<u32>,
}

impl<'w> Wave<'w> {
    /// The first wave of the first workgroup.
    #[must_use]
    pub fn first(launch: &'w Launch, kernarg: &'w [u8]) -> Self {
        Self {
            launch,
            workgroup: [0; 3],
            wave: 0,
            cluster: [1; 3],
            dispatch_ptr: None,
            queue_ptr: None,
            kernarg_address: None,
            kernarg,
            dispatch_id: None,
            private_segment_size: None,
        }
    }

    /// Work-items of its workgroup, which at the end of the grid may be fewer.
    fn items(&self) -> [u32; 3] {
        let mut items = self.launch.workgroup().map(u32::from);
        for ((size, grid), number) in
            items.iter_mut().zip(self.launch.work_items()).zip(self.workgroup)
        {
            *size = (*size).min(grid.saturating_sub(number.saturating_mul(*size)));
        }
        items
    }
}

/// The properties that take scalar registers, in the order of these: bit, registers, and whether only targets take
/// it that do not set up scratch memory by themselves.
const USER: [(u8, u8, bool, EntryValue); 7] = [
    (0, 4, true, EntryValue::PrivateSegmentBuffer),
    (1, 2, false, EntryValue::DispatchPtr),
    (2, 2, false, EntryValue::QueuePtr),
    (3, 2, false, EntryValue::KernargSegmentPtr),
    (4, 2, false, EntryValue::DispatchId),
    (5, 2, true, EntryValue::FlatScratchInit),
    (6, 1, false, EntryValue::PrivateSegmentSize),
];

impl EntryState {
    /// Reads a descriptor as the hardware of that processor does.
    pub fn new(processor: Processor, descriptor: &KernelDescriptor) -> Result<Self> {
        let generation = processor.generation();
        let wave_size = descriptor.wavefront_size(generation);
        let mut entry = Self { registers: Vec::new(), preload: None, wave_size };
        let used = entry.add_user(processor, descriptor)?;
        let user = descriptor.user_sgprs(generation);
        if used > user || user > processor.limits().max_user_sgprs {
            let limit = processor.limits().max_user_sgprs;
            let detail = format!(
                "the properties take {used} scalar registers, the descriptor counts {user}, and there are {limit}"
            );
            return Err(Error::new(ErrorKind::Mismatch, CONTEXT, detail));
        }
        entry.add_system(processor, descriptor, user);
        entry.add_vector(processor, descriptor);
        Ok(entry)
    }

    fn push(&mut self, file: RegisterFile, first: u32, count: u8, holds: EntryValue) {
        let first = u16::try_from(first).unwrap_or(u16::MAX);
        let register = Register { file, first, count, half: None };
        self.registers.push(EntryRegister { register, bits: None, holds });
    }

    fn push_bits(&mut self, file: RegisterFile, first: u16, bits: (u8, u8), holds: EntryValue) {
        let register = Register { file, first, count: 1, half: None };
        self.registers.push(EntryRegister { register, bits: Some(bits), holds });
    }

    /// Registers that are the same in all waves of a dispatch. Says how many there are.
    fn add_user(&mut self, processor: Processor, descriptor: &KernelDescriptor) -> Result<u32> {
        let architected = processor.limits().flat_scratch == FlatScratch::Architected;
        let mut next = 0;
        for (bit, count, not_architected, holds) in USER {
            let wanted = descriptor.kernel_code_properties >> bit & 1 == 1;
            if wanted && !(not_architected && architected) {
                self.push(RegisterFile::Sgpr, next, count, holds);
                next += u32::from(count);
            }
        }
        let words = descriptor.kernarg_preload_length();
        if words == 0 {
            return Ok(next);
        }
        if !processor.limits().kernarg_preload {
            let detail = format!("{words} words of arguments to preload, and {processor} cannot");
            return Err(Error::new(ErrorKind::Unsupported, CONTEXT, detail));
        }
        self.preload = Some(Preload {
            first: u16::try_from(next).unwrap_or(u16::MAX),
            words,
            offset: descriptor.kernarg_preload_offset(),
            skipped: match processor.generation() {
                Generation::Gfx125 => 0,
                _ => PRELOAD_PROLOGUE,
            },
        });
        let count = u8::try_from(words).unwrap_or(u8::MAX);
        self.push(RegisterFile::Sgpr, next, count, EntryValue::PreloadedKernargs);
        Ok(next + u32::from(words))
    }

    /// Registers of a wave, behind those of the dispatch.
    fn add_system(&mut self, processor: Processor, descriptor: &KernelDescriptor, user: u32) {
        let enabled = |bit: u8| descriptor.compute_pgm_rsrc2 >> bit & 1 == 1;
        let generation = processor.generation();
        let mut next = user;
        let mut system = |entry: &mut Self, holds| {
            entry.push(RegisterFile::Sgpr, next, 1, holds);
            next += 1;
        };
        for axis in 0..3 {
            if enabled(7 + axis) && generation < Generation::Gfx12 {
                system(self, EntryValue::WorkgroupId(axis));
            }
        }
        if enabled(10) {
            system(self, EntryValue::WorkgroupInfo);
        }
        if enabled(0) && processor.limits().flat_scratch != FlatScratch::Architected {
            system(self, EntryValue::PrivateSegmentWaveOffset);
        }
        if generation >= Generation::Gfx12 {
            self.add_trap_registers(generation, descriptor);
        }
    }

    /// From gfx12 on the numbers of workgroups are in registers of the trap handler; those not asked for are zero.
    fn add_trap_registers(&mut self, generation: Generation, descriptor: &KernelDescriptor) {
        let enabled = |bit: u8| descriptor.compute_pgm_rsrc2 >> bit & 1 == 1;
        let ttmp = RegisterFile::Ttmp;
        if enabled(7) {
            self.push(ttmp, 9, 1, EntryValue::WorkgroupId(0));
        }
        if enabled(8) {
            self.push_bits(ttmp, 7, (0, 16), EntryValue::WorkgroupId(1));
        }
        if enabled(9) {
            self.push_bits(ttmp, 7, (16, 16), EntryValue::WorkgroupId(2));
        }
        self.push_bits(ttmp, 8, (25, 5), EntryValue::WaveId);
        if generation == Generation::Gfx125 {
            for axis in 0..3 {
                let holds = EntryValue::ClusterWorkgroupId(axis);
                self.push_bits(ttmp, 6, (4 * axis, 4), holds);
            }
            for axis in 0..3 {
                let holds = EntryValue::ClusterWorkgroupMaxId(axis);
                self.push_bits(ttmp, 6, (12 + 4 * axis, 4), holds);
            }
            self.push_bits(ttmp, 6, (24, 4), EntryValue::ClusterWorkgroupMaxFlatId);
        }
    }

    fn add_vector(&mut self, processor: Processor, descriptor: &KernelDescriptor) {
        let ids = (descriptor.compute_pgm_rsrc2 >> 11 & 3).min(2);
        // Alone, the first has the register to itself: the bits above it are zero.
        let packed = processor.limits().packed_work_item_ids && ids > 0;
        for axis in (0..3_u8).filter(|&axis| u32::from(axis) <= ids) {
            let holds = EntryValue::WorkitemId(axis);
            match packed {
                true => self.push_bits(RegisterFile::Vgpr, 0, (10 * axis, 10), holds),
                false => self.push(RegisterFile::Vgpr, u32::from(axis), 1, holds),
            }
        }
    }

    /// Every register that something is in.
    pub fn registers(&self) -> &[EntryRegister] {
        &self.registers
    }

    /// Arguments that are in registers.
    pub fn preload(&self) -> Option<Preload> {
        self.preload
    }

    /// Lanes of a wave.
    pub fn wave_size(&self) -> u32 {
        self.wave_size
    }

    /// Whether there is such a workgroup in the launch, such a wave in it and such a lane in that.
    ///
    /// ```
    /// # use hsaco_isa::Processor;
    /// # use hsaco_kernarg::{EntryState, Launch, Wave};
    /// # use hsaco_object::descriptor::KernelDescriptor;
    /// let entry = EntryState::new(Processor::from_name("gfx942").unwrap(), &KernelDescriptor::default())?;
    /// let launch = Launch::new(&[192], &[96])?;
    /// let wave = Wave { wave: 1, ..Wave::first(&launch, &[]) };
    /// assert!(entry.check(&wave, 31).is_ok());
    /// assert!(entry.check(&wave, 32).unwrap_err().to_string().ends_with("work-item 96 of a workgroup of 96"));
    /// # Ok::<(), hsaco_bytes::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is not; the error has both numbers.
    pub fn check(&self, wave: &Wave<'_>, lane: u32) -> Result<()> {
        let refuse = |detail: String| Err(Error::new(ErrorKind::NotFound, CONTEXT, detail));
        let sizes = wave.launch.work_items().into_iter().zip(wave.launch.workgroup());
        for ((number, (grid, size)), axis) in
            wave.workgroup.into_iter().zip(sizes).zip(["x", "y", "z"])
        {
            let count = grid.div_ceil(u32::from(size).max(1));
            if number >= count {
                return refuse(format!("workgroup {number} of {count} in {axis}"));
            }
        }
        let items: u64 = wave.items().into_iter().map(u64::from).product();
        let lanes = u64::from(self.wave_size);
        let (number, lane) = (u64::from(wave.wave), u64::from(lane));
        if lane >= lanes {
            return refuse(format!("lane {lane} of a wave of {lanes} lanes"));
        }
        if number * lanes >= items {
            let waves = items.div_ceil(lanes.max(1));
            return refuse(format!(
                "wave {number} of a workgroup of {items} work-items, which has {waves} waves of {lanes}"
            ));
        }
        let item = number * lanes + lane;
        if item >= items {
            return refuse(format!(
                "lane {lane} of wave {number}, work-item {item} of a workgroup of {items}"
            ));
        }
        Ok(())
    }

    /// The scalar registers of a wave, each with its value; none where only the driver knows it.
    pub fn scalar_values(&self, wave: &Wave<'_>) -> Vec<(Register, Option<u32>)> {
        let mut values: Vec<(Register, Option<u32>)> = Vec::new();
        for entry in self.registers.iter().filter(|it| it.register.file != RegisterFile::Vgpr) {
            for at in 0..u16::from(entry.register.count) {
                let first = entry.register.first.saturating_add(at);
                let register = Register { first, count: 1, ..entry.register };
                let value = self.scalar(entry.holds, at, wave);
                let Some((low, width)) = entry.bits else {
                    values.push((register, value));
                    continue;
                };
                let part = value.map(|it| (it & (u32::MAX >> (32 - u32::from(width)))) << low);
                match values.iter_mut().find(|(other, _)| *other == register) {
                    Some((_, all)) => *all = all.zip(part).map(|(all, part)| all | part),
                    None => values.push((register, part)),
                }
            }
        }
        values
    }

    /// The `at`-th word of what a register holds.
    fn scalar(&self, holds: EntryValue, at: u16, wave: &Wave<'_>) -> Option<u32> {
        let word = |value: Option<u64>| {
            let shifted = value? >> (32 * u32::from(at.min(1)));
            u32::try_from(shifted & u64::from(u32::MAX)).ok()
        };
        let of = |numbers: [u32; 3], axis: u8| numbers.get(usize::from(axis)).copied();
        match holds {
            EntryValue::DispatchPtr => word(wave.dispatch_ptr),
            EntryValue::QueuePtr => word(wave.queue_ptr),
            EntryValue::KernargSegmentPtr => word(wave.kernarg_address),
            EntryValue::DispatchId => word(wave.dispatch_id),
            EntryValue::PrivateSegmentSize => wave.private_segment_size,
            EntryValue::PreloadedKernargs => {
                let word = usize::from(self.preload?.offset.checked_add(at)?);
                let bytes = wave.kernarg.get(word * 4..)?.first_chunk()?;
                Some(u32::from_le_bytes(*bytes))
            }
            EntryValue::WorkgroupId(axis) => {
                let cluster = of(wave.cluster, axis)?.max(1);
                Some(of(wave.workgroup, axis)? / cluster)
            }
            EntryValue::ClusterWorkgroupId(axis) => {
                Some(of(wave.workgroup, axis)? % of(wave.cluster, axis)?.max(1))
            }
            EntryValue::ClusterWorkgroupMaxId(axis) => {
                Some(of(wave.cluster, axis)?.saturating_sub(1))
            }
            EntryValue::ClusterWorkgroupMaxFlatId => {
                let all = wave.cluster.iter().fold(1_u32, |all, &it| all.saturating_mul(it.max(1)));
                Some(all.saturating_sub(1))
            }
            EntryValue::WaveId => Some(wave.wave),
            EntryValue::WorkgroupInfo => {
                let items = wave.items().iter().fold(1_u32, |all, &it| all.saturating_mul(it));
                let waves = items.div_ceil(self.wave_size.max(1)) & 0x3f;
                Some(u32::from(wave.wave == 0) << 31 | waves)
            }
            EntryValue::PrivateSegmentBuffer
            | EntryValue::FlatScratchInit
            | EntryValue::PrivateSegmentWaveOffset
            | EntryValue::WorkitemId(_) => None,
        }
    }

    /// The vector registers of one lane, each with its value; none for a lane that has no work-item.
    ///
    /// ```
    /// use hsaco_isa::Processor;
    /// use hsaco_kernarg::{EntryState, Launch, Wave};
    /// use hsaco_object::descriptor::KernelDescriptor;
    /// let mut descriptor = KernelDescriptor::default();
    /// descriptor.compute_pgm_rsrc2 = 1 << 11; // x and y
    /// let entry = EntryState::new(Processor::from_name("gfx942").unwrap(), &descriptor)?;
    /// let launch = Launch::new(&[16, 16], &[16, 8])?;
    /// let wave = Wave { wave: 1, ..Wave::first(&launch, &[]) };
    /// assert_eq!(entry.vector_values(&wave, 17).unwrap()[0].1, 5 << 10 | 1);
    /// # Ok::<(), hsaco_bytes::Error>(())
    /// ```
    pub fn vector_values(&self, wave: &Wave<'_>, lane: u32) -> Option<Vec<(Register, u32)>> {
        let ids = self.work_item(wave, lane)?;
        let mut values: Vec<(Register, u32)> = Vec::new();
        for entry in &self.registers {
            let EntryValue::WorkitemId(axis) = entry.holds else { continue };
            let id = ids.get(usize::from(axis)).copied()?;
            let value = id << entry.bits.map_or(0, |it| it.0);
            match values.iter_mut().find(|(register, _)| *register == entry.register) {
                Some((_, all)) => *all |= value,
                None => values.push((entry.register, value)),
            }
        }
        Some(values)
    }

    /// The numbers of a lane's work-item in its workgroup; none for a lane that has no work-item.
    ///
    /// ```
    /// use hsaco_isa::Processor;
    /// use hsaco_kernarg::{EntryState, Launch, Wave};
    /// use hsaco_object::descriptor::KernelDescriptor;
    /// let processor = Processor::from_name("gfx942").unwrap();
    /// let entry = EntryState::new(processor, &KernelDescriptor::default())?;
    /// let launch = Launch::new(&[16, 16], &[16, 8])?;
    /// let wave = Wave { wave: 1, ..Wave::first(&launch, &[]) };
    /// assert_eq!(entry.work_item(&wave, 17), Some([1, 5, 0]));
    /// assert_eq!(entry.work_item(&wave, 64), None);
    /// # Ok::<(), hsaco_bytes::Error>(())
    /// ```
    #[must_use]
    pub fn work_item(&self, wave: &Wave<'_>, lane: u32) -> Option<[u32; 3]> {
        let [x, y, z] = wave.items();
        let flat = wave.wave.checked_mul(self.wave_size)?.checked_add(lane)?;
        let row = flat.checked_div(x)?;
        let ids @ [.., last] = [flat.checked_rem(x)?, row.checked_rem(y)?, row.checked_div(y)?];
        (lane < self.wave_size && last < z).then_some(ids)
    }
}
