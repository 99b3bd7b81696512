//! The two features a target id can pin, and the four states each can be in.

use std::fmt;

/// A feature that a target id can pin on or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Feature {
    /// Error correction of on-chip memories.
    Sramecc,
    /// Replay of memory accesses that page-fault.
    Xnack,
}

impl Feature {
    /// Both features, in the order a canonical target id lists them.
    pub const ALL: [Feature; 2] = [Feature::Sramecc, Feature::Xnack];

    /// The spelling in target ids.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Feature::Sramecc => "sramecc",
            Feature::Xnack => "xnack",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|feature| feature.name() == name)
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What a code object or a device says about one [`Feature`].
///
/// ```
/// use hsaco_isa::target::Setting;
/// use hsaco_isa::TargetId;
/// let target: TargetId = "gfx90a:xnack-".parse()?;
/// assert_eq!(target.xnack, Setting::Off);
/// assert_eq!(target.sramecc, Setting::Any);
/// # Ok::<(), hsaco_isa::target::ParseTargetError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Setting {
    /// The processor has no such feature.
    #[default]
    Unsupported,
    /// Code: runs either way. Device: not known.
    Any,
    /// Off, or compiled for off.
    Off,
    /// On, or compiled for on.
    On,
}

impl Setting {
    /// The sign a target id carries: `+`, `-`, or none.
    #[must_use]
    pub const fn sign(self) -> Option<char> {
        match self {
            Setting::On => Some('+'),
            Setting::Off => Some('-'),
            Setting::Any | Setting::Unsupported => None,
        }
    }

    pub(crate) const fn on_or_off(on: bool) -> Self {
        if on { Setting::On } else { Setting::Off }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Setting::Unsupported => "unsupported",
            Setting::Any => "any",
            Setting::Off => "off",
            Setting::On => "on",
        })
    }
}
