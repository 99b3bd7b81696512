//! Why something is not rewritten.

use std::fmt;

/// The class of a [`Refusal`], for programs to decide on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum RefusalKind {
    /// No register is free that the replacement needs.
    NoRegister,
    /// A register or flag that the replacement changes is still needed.
    StillNeeded,
    /// VGPR MSBs are not known here.
    UnknownBank,
    /// A number does not fit where it has to go.
    OutOfRange,
    /// Operands overlap in a way that the replacement cannot keep.
    Overlap,
    /// The form is not one that the rule can rewrite exactly.
    Unsupported,
    /// Unknown control flow makes the change unsafe.
    ControlFlow,
    /// No place within reach holds the replacement.
    NoPlace,
    /// More registers would keep a workgroup from running.
    Occupancy,
    /// What the object says of itself is missing or contradicts itself.
    Metadata,
    /// The rules are for another processor.
    Processor,
}

impl RefusalKind {
    const ALL: [RefusalKind; 11] = [
        Self::NoRegister,
        Self::StillNeeded,
        Self::UnknownBank,
        Self::OutOfRange,
        Self::Overlap,
        Self::Unsupported,
        Self::ControlFlow,
        Self::NoPlace,
        Self::Occupancy,
        Self::Metadata,
        Self::Processor,
    ];

    /// The class of a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    /// A short name that programs may rely on.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoRegister => "no-register",
            Self::StillNeeded => "still-needed",
            Self::UnknownBank => "unknown-bank",
            Self::OutOfRange => "out-of-range",
            Self::Overlap => "overlap",
            Self::Unsupported => "unsupported",
            Self::ControlFlow => "control-flow",
            Self::NoPlace => "no-place",
            Self::Occupancy => "occupancy",
            Self::Metadata => "metadata",
            Self::Processor => "processor",
        }
    }
}

/// Why an instruction that a rule owns is not rewritten.
///
/// ```
/// use hsaco_patch::{Refusal, RefusalKind};
/// let refusal = Refusal::new(RefusalKind::StillNeeded, "SCC is read at 0x1010");
/// assert_eq!(refusal.to_string(), "still-needed: SCC is read at 0x1010");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The class.
    pub kind: RefusalKind,
    /// The particulars.
    pub detail: String,
}

impl Refusal {
    /// A refusal of a class, with the particulars.
    pub fn new(kind: RefusalKind, detail: impl Into<String>) -> Self {
        Refusal { kind, detail: detail.into() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.name(), self.detail)
    }
}

impl std::error::Error for Refusal {}
