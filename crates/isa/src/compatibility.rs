//! Whether code for one target runs on a device.

use std::fmt;

use crate::{EFlags, Feature, Setting, TargetId};

impl TargetId {
    /// Whether code for this target, of that generic version, loads on a device.
    ///
    /// A device's settings are on, off or unsupported; "any" stands for one that is not known, and
    /// is never held against the code. The generic version is 0 for code of an exact processor.
    ///
    /// ```
    /// use hsaco_isa::TargetId;
    /// let code: TargetId = "gfx90a:xnack+".parse()?;
    /// let device: TargetId = "gfx90a:sramecc+:xnack-".parse()?;
    /// assert_eq!(
    ///     code.runs_on(device, 0).unwrap_err().to_string(),
    ///     "gfx90a:xnack+ does not run on gfx90a:sramecc+:xnack-: \
    ///      it needs xnack on, and the device has it off",
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The first reason why it does not.
    pub fn runs_on(self, device: TargetId, generic_version: u8) -> Result<(), Incompatible> {
        let fail = |reason| Err(Incompatible { object: self, device, reason });
        if self.processor != device.processor {
            if !self.processor.is_generic() {
                return fail(Reason::ProcessorDiffers);
            }
            if device.processor.generic() != Some(self.processor) {
                return fail(Reason::NotInFamily);
            }
        }
        if self.processor.is_generic() {
            let needed = device.processor.joined_generic_in().unwrap_or(1);
            if generic_version < needed {
                return fail(Reason::GenericVersion { object: generic_version, needed });
            }
        }
        for feature in Feature::ALL {
            let (object, device) = (self.setting(feature), device.setting(feature));
            let is_pinned = matches!(object, Setting::On | Setting::Off);
            if is_pinned && device != Setting::Any && device != object {
                return fail(match feature {
                    Feature::Xnack => Reason::Xnack { object, device },
                    Feature::Sramecc => Reason::Sramecc { object, device },
                });
            }
        }
        Ok(())
    }
}

impl EFlags {
    /// Whether a code object with these flags loads on a device.
    ///
    /// Nothing if the flags name no known processor.
    #[must_use]
    pub fn runs_on(self, device: TargetId) -> Option<Result<(), Incompatible>> {
        Some(self.target_id()?.runs_on(device, self.generic_version()))
    }
}

/// Code and device, and why the one does not run on the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incompatible {
    /// What the code was compiled for.
    pub object: TargetId,
    /// What it was to run on.
    pub device: TargetId,
    /// What stands between them.
    pub reason: Reason,
}

/// Why code does not run on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// Two exact processors: none runs the other's code.
    ProcessorDiffers,
    /// Generic code of another family.
    NotInFamily,
    /// Generic code from before the device's processor joined the family.
    GenericVersion {
        /// The version of the code.
        object: u8,
        /// The version in which the processor joined.
        needed: u8,
    },
    /// Code pinned to an xnack setting that the device has not.
    Xnack {
        /// The setting of the code.
        object: Setting,
        /// The setting of the device.
        device: Setting,
    },
    /// Code pinned to an sramecc setting that the device has not.
    Sramecc {
        /// The setting of the code.
        object: Setting,
        /// The setting of the device.
        device: Setting,
    },
}

impl fmt::Display for Incompatible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { object, device, reason } = self;
        write!(f, "{object} does not run on {device}: ")?;
        match reason {
            Reason::ProcessorDiffers => match device.processor.generic() {
                Some(generic) => write!(
                    f,
                    "exact processors do not run each other's code; compile for {} or {generic}",
                    device.processor
                ),
                None => write!(
                    f,
                    "exact processors do not run each other's code; compile for {}",
                    device.processor
                ),
            },
            Reason::NotInFamily => {
                write!(f, "{} stands for ", object.processor)?;
                for (i, member) in object.processor.members().enumerate() {
                    write!(f, "{}{member}", if i == 0 { "" } else { ", " })?;
                }
                Ok(())
            }
            Reason::GenericVersion { object, needed } => {
                write!(f, "it has generic version {object}, and the device needs {needed} or later")
            }
            Reason::Xnack { object, device } => setting(f, Feature::Xnack, *object, *device),
            Reason::Sramecc { object, device } => setting(f, Feature::Sramecc, *object, *device),
        }
    }
}

fn setting(
    f: &mut fmt::Formatter<'_>,
    feature: Feature,
    object: Setting,
    device: Setting,
) -> fmt::Result {
    write!(f, "it needs {feature} {object}, and the device ")?;
    match device {
        Setting::Unsupported => f.write_str("has no such setting"),
        _ => write!(f, "has it {device}"),
    }
}

impl std::error::Error for Incompatible {}
