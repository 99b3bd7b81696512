//! A device: a processor and its memory.

use hsaco_isa::{Processor, TargetId};
use hsaco_kernarg::{Launch, NativeLayout};
use hsaco_load::Executable;
use hsaco_object::CodeObject;
use hsaco_object::metadata::Hidden;

use crate::error::{Error, ErrorKind, Result};
use crate::exec::address::{PRIVATE_APERTURE, SHARED_APERTURE};
use crate::grid::GridSync;
use crate::hostcall::Hostcall;
use crate::memory::Memory;
use crate::print_buffer::{Format, PrintBuffer};
use crate::revision::Revision;

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
    /// Barriers of whole dispatches.
    pub(crate) grid: GridSync,
    pub(crate) hostcall: Option<Hostcall>,
    pub(crate) prints: Option<PrintBuffer>,
    /// Formats of what loaded objects print.
    pub(crate) formats: Vec<Format>,
}

impl Device {
    /// A device with so many bytes of memory at most.
    #[must_use]
    pub fn new(target: TargetId, memory: u64) -> Self {
        Self {
            target,
            revision: Revision::default(),
            memory: Memory::new(memory),
            grid: GridSync::default(),
            hostcall: None,
            prints: None,
            formats: Vec::new(),
        }
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
            // What cannot be read has no formats to print by.
            let Ok(parsed) = CodeObject::parse(executable.object_bytes(object)) else { continue };
            for line in parsed.metadata().printf() {
                self.formats.extend(Format::parse(line.as_bytes()));
            }
        }
        Ok(())
    }

    /// A launch with the hidden arguments that a device brings: where its apertures are, and where kernels with such
    /// a layout ask the host to print.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn equip(&mut self, launch: Launch, layout: &NativeLayout) -> Result<Launch> {
        let wants = |kind| layout.hidden().iter().any(|it| it.kind == Some(kind));
        let mut launch = with_apertures(launch)?;
        if wants(Hidden::HostcallBuffer) && launch.hidden_value(Hidden::HostcallBuffer).is_none() {
            let hostcall = match self.hostcall {
                Some(it) => it,
                None => *self.hostcall.insert(Hostcall::new(&self.memory)?),
            };
            launch = hidden(launch, Hidden::HostcallBuffer, hostcall.address())?;
        }
        if wants(Hidden::PrintfBuffer) && launch.hidden_value(Hidden::PrintfBuffer).is_none() {
            let prints = match self.prints {
                Some(it) => it,
                None => *self.prints.insert(PrintBuffer::new(&self.memory)?),
            };
            launch = hidden(launch, Hidden::PrintfBuffer, prints.address())?;
        }
        Ok(launch)
    }
}

fn hidden(launch: Launch, kind: Hidden, value: u64) -> Result<Launch> {
    launch.with_hidden(kind, value).map_err(|it| Error::new(ErrorKind::Setup, it.to_string()))
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
