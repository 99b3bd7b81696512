//! What stops a program, and where.

use std::fmt;

use crate::snapshot::Registers;

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The device, the object or the launch cannot be set up.
    Setup,
    /// Memory outside of every allocation was accessed.
    OutOfBounds,
    /// Memory was written that may only be read.
    ReadOnly,
    /// An address is not a multiple of what the access needs.
    Misaligned,
    /// There is no instruction at the program counter.
    IllegalInstruction,
    /// The emulator does not run the instruction.
    Unsupported,
    /// Some waves wait at a barrier that the others never reach.
    Barrier,
    /// The program executed more instructions than it was given.
    Limit,
    /// The program ended itself by a trap.
    Trap,
    /// The device hangs on what is right on a later stepping.
    Erratum,
    /// There is no memory for what was asked.
    Memory,
}

impl ErrorKind {
    /// A short name that programs may rely on.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Setup => "setup",
            Self::OutOfBounds => "out-of-bounds",
            Self::ReadOnly => "read-only",
            Self::Misaligned => "misaligned",
            Self::IllegalInstruction => "illegal-instruction",
            Self::Unsupported => "unsupported",
            Self::Barrier => "barrier",
            Self::Limit => "limit",
            Self::Trap => "trap",
            Self::Erratum => "erratum",
            Self::Memory => "memory",
        }
    }
}

/// Where in a running program something went wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StopLocation {
    /// The kernel.
    pub kernel: String,
    /// The address of the instruction.
    pub address: u64,
    /// The instruction's text.
    pub instruction: String,
    /// The workgroup.
    pub workgroup: [u32; 3],
    /// The wave's number in the workgroup.
    pub wave: u32,
    /// The lanes that did it.
    pub lanes: u64,
}

/// Why a program cannot go on.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Inner>);

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    kind: ErrorKind,
    detail: String,
    location: Option<StopLocation>,
    registers: Option<Box<Registers>>,
    accessed: Option<u64>,
}

/// A result with an [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn new(kind: ErrorKind, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        Self(Box::new(Inner { kind, detail, location: None, registers: None, accessed: None }))
    }

    pub(crate) fn memory(size: u64) -> Self {
        Self::new(ErrorKind::Memory, format!("no memory for {size} bytes"))
    }

    pub(crate) fn at(mut self, location: StopLocation, registers: Option<Registers>) -> Self {
        self.0.location = Some(location);
        self.0.registers = registers.map(Box::new);
        self
    }

    /// The same of an access to an address.
    pub(crate) fn of_access(mut self, address: u64) -> Self {
        self.0.accessed = Some(address);
        self
    }

    /// The address that must not be accessed, if that is what went wrong.
    #[must_use]
    pub fn accessed(&self) -> Option<u64> {
        self.0.accessed
    }

    /// What went wrong.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What went wrong, in words.
    #[must_use]
    pub fn detail(&self) -> &str {
        &self.0.detail
    }

    /// Where, if the program was running.
    #[must_use]
    pub fn location(&self) -> Option<&StopLocation> {
        self.0.location.as_ref()
    }

    /// What the registers of the wave held, if the program was running.
    #[must_use]
    pub fn registers(&self) -> Option<&Registers> {
        self.0.registers.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.kind.name(), self.0.detail)?;
        let Some(at) = &self.0.location else { return Ok(()) };
        let [x, y, z] = at.workgroup;
        write!(f, " (kernel {}, at {:#x}", at.kernel, at.address)?;
        if !at.instruction.is_empty() {
            write!(f, " `{}`", at.instruction)?;
        }
        write!(f, ", workgroup {x},{y},{z}, wave {}", at.wave)?;
        if at.lanes != 0 {
            write!(f, ", lanes {:#x}", at.lanes)?;
        }
        f.write_str(")")
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}
