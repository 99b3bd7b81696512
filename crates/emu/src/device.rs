//! A device: a processor and its memory.

use hsaco_isa::{Processor, TargetId};
use hsaco_load::Executable;

use crate::error::{Error, ErrorKind, Result};
use crate::memory::Memory;

/// Which silicon of a processor: errata differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Revision {
    /// The first.
    A0,
    /// The one that ships.
    #[default]
    B0,
}

/// A device that runs kernels on the CPU.
///
/// ```
/// use hsaco_emu::Device;
/// let mut device = Device::new("gfx942".parse().unwrap(), 1 << 20);
/// let buffer = device.memory.allocate(16)?;
/// device.memory.write(buffer, &1_u32.to_le_bytes())?;
/// # Ok::<(), hsaco_emu::Error>(())
/// ```
#[derive(Debug)]
pub struct Device {
    /// What it is.
    pub target: TargetId,
    /// Its silicon.
    pub revision: Revision,
    /// Its memory.
    pub memory: Memory,
}

impl Device {
    /// A device with so many bytes of memory at most.
    #[must_use]
    pub fn new(target: TargetId, memory: u64) -> Self {
        Self { target, revision: Revision::default(), memory: Memory::new(memory) }
    }

    /// Its processor.
    #[must_use]
    pub fn processor(&self) -> Processor {
        self.target.processor
    }

    /// Puts a frozen executable into memory, at the addresses that freezing has chosen.
    ///
    /// # Errors
    /// It is not frozen, or there is no memory for it.
    pub fn load(&mut self, executable: &Executable<'_>) -> Result<()> {
        for object in executable.objects() {
            let image = executable
                .image(object)
                .ok_or_else(|| Error::new(ErrorKind::Setup, "the executable is not frozen"))?;
            for segment in &image.segments {
                if segment.size == 0 {
                    continue;
                }
                // Code prefetch and wide scalar loads read past the end of a segment.
                self.memory.allocate_at(segment.address, segment.size, segment.flags & 2 != 0)?;
                self.memory.write(segment.address, &segment.bytes)?;
            }
        }
        Ok(())
    }
}
