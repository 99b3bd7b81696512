//! A dispatch that the HSA runtime has kept, to be run again: `HSACO_DUMP`.
//!
//! A folder holds `dispatch.json` and the files that it names: memory as it was before the kernel ran, and after.

use hsaco_bytes::TextError;
use hsaco_emu::{Device, KernelCode, Places};
use hsaco_kernarg::Launch;
use serde::{Deserialize, Serialize};

/// The file of a folder that says what the others are.
pub const REPLAY_FILE: &str = "dispatch.json";

/// A dispatch.
///
/// ```
/// use hsaco_describe::replay::KeptDispatch;
/// let kept = KeptDispatch { kernel: "add".to_owned(), grid: vec![64], workgroup: vec![64], ..KeptDispatch::default() };
/// let text = serde_json::to_string(&kept).unwrap();
/// assert_eq!(KeptDispatch::parse(&text)?, kept);
/// # Ok::<(), hsaco_bytes::TextError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeptDispatch {
    /// The version of the format.
    pub schema_version: u32,
    /// The device.
    pub target: String,
    /// The kernel's name.
    pub kernel: String,
    /// Where its descriptor is.
    pub kernel_object: u64,
    /// Where its arguments are.
    pub kernarg_address: u64,
    /// Where its packet is.
    pub packet_address: u64,
    /// Where the queue is.
    pub queue_address: u64,
    /// Work-items in each dimension.
    pub grid: Vec<u32>,
    /// Work-items of a workgroup in each dimension.
    pub workgroup: Vec<u32>,
    /// Bytes of LDS.
    pub group_segment: u32,
    /// Bytes of scratch memory of a work-item.
    pub private_segment: u32,
    /// Memory that the kernel may reach.
    pub memory: Vec<KeptMemory>,
}

/// Memory that was kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeptMemory {
    /// Where it is.
    pub address: u64,
    /// Its bytes.
    pub size: u64,
    /// Whether the kernel may write there.
    pub is_writable: bool,
    /// The file with its bytes before the kernel ran; none where there were too many.
    pub before: Option<String>,
    /// The file with its bytes afterwards, if the kernel has changed them.
    pub after: Option<String>,
}

/// A difference between a run and the one that was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayDifference {
    /// The first address that differs.
    pub address: u64,
    /// How many bytes differ in the same memory.
    pub bytes: u64,
}

impl KeptDispatch {
    /// Reads it.
    ///
    /// # Errors
    /// It is another text, or of another version.
    pub fn parse(text: &str) -> Result<Self, TextError> {
        let kept: Self = serde_json::from_str(text)
            .map_err(|error| TextError::new(format!("{REPLAY_FILE}: {error}")))?;
        if kept.schema_version > hsaco_bytes::SCHEMA_VERSION {
            let detail = format!("{REPLAY_FILE} is of version {}", kept.schema_version);
            return Err(TextError::new(detail));
        }
        Ok(kept)
    }

    /// A device with memory as it was; `read` reads a file of the folder.
    ///
    /// # Errors
    /// A file cannot be read or has another size, memory was not kept, or the device is none.
    pub fn device<E: From<TextError> + From<hsaco_emu::Error>>(
        &self,
        read: impl Fn(&str) -> Result<Vec<u8>, E>,
    ) -> Result<Device, E> {
        let target = self.target.parse();
        let target = target.map_err(|_| TextError::new(format!("no target {}", self.target)))?;
        /// Memory for what waves need.
        const WORKING_MEMORY: u64 = 4 << 30;
        let kept: u64 = self.memory.iter().map(|it| it.size).sum();
        let device = Device::new(target, kept.saturating_add(WORKING_MEMORY));
        for memory in &self.memory {
            let Some(file) = &memory.before else {
                let detail =
                    format!("{} bytes at {:#x} were not kept", memory.size, memory.address);
                return Err(TextError::new(detail).into());
            };
            let bytes = read(file)?;
            if bytes.len() as u64 != memory.size {
                let detail = format!("{file} has {} bytes instead of {}", bytes.len(), memory.size);
                return Err(TextError::new(detail).into());
            }
            device.memory.allocate_at(memory.address, memory.size, memory.is_writable)?;
            device.memory.write(memory.address, &bytes)?;
        }
        Ok(device)
    }

    /// The kernel.
    ///
    /// # Errors
    /// Its descriptor is not in the memory that was kept.
    pub fn code(&self, device: &Device) -> hsaco_emu::Result<KernelCode> {
        KernelCode::new(device, &self.kernel, self.kernel_object)
    }

    /// The grid.
    ///
    /// # Errors
    /// It is none.
    pub fn launch(&self) -> Result<Launch, TextError> {
        Launch::new(&self.grid, &self.workgroup).map_err(|it| TextError::new(it.to_string()))
    }

    /// Where the dispatch has what is not the kernel's own.
    #[must_use]
    pub fn places(&self) -> Places {
        Places {
            kernarg: self.kernarg_address,
            packet: self.packet_address,
            queue: self.queue_address,
            dispatch_id: 0,
        }
    }

    /// Where memory differs from what the kept run has left, once the kernel has run again.
    ///
    /// # Errors
    /// A file cannot be read, or those of the device.
    pub fn differences<E: From<TextError> + From<hsaco_emu::Error>>(
        &self,
        device: &Device,
        read: impl Fn(&str) -> Result<Vec<u8>, E>,
    ) -> Result<Vec<ReplayDifference>, E> {
        let mut found = Vec::new();
        for memory in self.memory.iter().filter(|it| it.is_writable) {
            let Some(file) = memory.after.as_ref().or(memory.before.as_ref()) else { continue };
            let wanted = read(file)?;
            let size = usize::try_from(memory.size).unwrap_or(usize::MAX);
            let got = device.memory.read(memory.address, size)?;
            let differs = |it: &(u64, (&u8, &u8))| it.1.0 != it.1.1;
            let mut places = (0..).zip(got.iter().zip(&wanted)).filter(differs).map(|it| it.0);
            if let Some(first) = places.next() {
                let bytes = 1 + places.count() as u64;
                found.push(ReplayDifference { address: memory.address + first, bytes });
            }
        }
        Ok(found)
    }
}
