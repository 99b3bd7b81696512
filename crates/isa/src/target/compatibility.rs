//! Whether code for one target runs on a device.

use std::fmt;

use super::{EFlags, Feature, Setting, TargetId};

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

    /// Whether it is a wanted target; features that the wanted one does not pin may be anything.
    ///
    /// ```
    /// use hsaco_isa::TargetId;
    /// let code: TargetId = "gfx90a:xnack+".parse()?;
    /// assert!(code.is_a("gfx90a".parse()?) && !code.is_a("gfx90a:xnack-".parse()?));
    /// # Ok::<(), hsaco_isa::target::ParseTargetError>(())
    /// ```
    #[must_use]
    pub fn is_a(self, wanted: TargetId) -> bool {
        let agrees = |feature| {
            let setting = wanted.setting(feature);
            setting == Setting::Any || setting == self.setting(feature)
        };
        self.processor == wanted.processor && Feature::ALL.into_iter().all(agrees)
    }

    /// Whether code for this processor may be for a wanted target, whatever its features are: the id of a bundle's entry need
    /// not name all that the code says.
    ///
    /// ```
    /// use hsaco_isa::TargetId;
    /// let id: TargetId = "gfx906".parse()?;
    /// assert!(id.may_be_a("gfx906:xnack-".parse()?) && !id.may_be_a("gfx908".parse()?));
    /// # Ok::<(), hsaco_isa::target::ParseTargetError>(())
    /// ```
    #[must_use]
    pub fn may_be_a(self, wanted: TargetId) -> bool {
        self.processor == wanted.processor
    }

    /// Whether code for this processor, of whatever features and generic version, may run on a device.
    ///
    /// ```
    /// use hsaco_isa::TargetId;
    /// let id: TargetId = "gfx11-generic".parse()?;
    /// assert!(id.may_run_on("gfx1100".parse()?) && !id.may_run_on("gfx1201".parse()?));
    /// # Ok::<(), hsaco_isa::target::ParseTargetError>(())
    /// ```
    #[must_use]
    pub fn may_run_on(self, device: TargetId) -> bool {
        TargetId::new(self.processor).runs_on(device, u8::MAX).is_ok()
    }

    /// How closely code fits a device that runs it: of several objects a runtime takes the closest, one for the exact
    /// processor before a generic one, then one with more features pinned.
    #[must_use]
    pub fn closeness(self) -> (bool, usize) {
        let is_pinned =
            |feature: &Feature| matches!(self.setting(*feature), Setting::On | Setting::Off);
        (!self.processor.is_generic(), Feature::ALL.iter().filter(|it| is_pinned(it)).count())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    enum Verdict {
        Runs,
        Processor,
        Family,
        Version,
        Xnack,
        Sramecc,
    }

    #[rustfmt::skip]
    const PAIRS: &[(&str, &str, u8, Verdict)] = {
        use Verdict::*;
        &[
            // Exact processors.
            ("gfx942", "gfx942", 0, Runs),
            ("gfx1100", "gfx1100", 0, Runs),
            ("gfx1250", "gfx1250", 0, Runs),
            ("fiji", "gfx803", 0, Runs),
            ("gfx1100", "gfx1101", 0, Processor),
            ("gfx1100", "gfx1151", 0, Processor),
            ("gfx942", "gfx950", 0, Processor),
            ("gfx90a", "gfx942:sramecc+:xnack-", 0, Processor),
            ("gfx900", "gfx906", 0, Processor),
            ("gfx1250", "gfx1251", 0, Processor),
            ("gfx1100", "gfx11-generic", 0, Processor),
            // Families.
            ("gfx11-generic", "gfx1151", 1, Runs),
            ("gfx11-generic", "gfx1100", 1, Runs),
            ("gfx11-generic", "gfx1153", 1, Runs),
            ("gfx10-1-generic", "gfx1013", 1, Runs),
            ("gfx10-3-generic", "gfx1036", 1, Runs),
            ("gfx12-generic", "gfx1201", 1, Runs),
            ("gfx9-generic", "gfx906:sramecc+:xnack-", 1, Runs),
            ("gfx9-4-generic", "gfx950:sramecc+:xnack-", 1, Runs),
            ("gfx11-generic", "gfx11-generic", 1, Runs),
            ("gfx11-generic", "gfx1200", 1, Family),
            ("gfx10-1-generic", "gfx1030", 1, Family),
            ("gfx10-3-generic", "gfx1012", 1, Family),
            ("gfx9-generic", "gfx908", 1, Family),
            ("gfx9-generic", "gfx90a", 1, Family),
            ("gfx9-generic", "gfx942", 1, Family),
            ("gfx9-4-generic", "gfx90a", 1, Family),
            ("gfx12-generic", "gfx1250", 1, Family),
            ("gfx9-generic", "gfx9-4-generic", 1, Family),
            // Generic versions.
            ("gfx11-generic", "gfx1100", 0, Version),
            ("gfx9-4-generic", "gfx942", 0, Version),
            ("gfx11-generic", "gfx11-generic", 0, Version),
            ("gfx11-generic", "gfx1100", 2, Runs),
            ("gfx12-generic", "gfx1200", 255, Runs),
            // xnack: any, on, off against on, off, unknown.
            ("gfx90a", "gfx90a:sramecc+:xnack+", 0, Runs),
            ("gfx90a", "gfx90a:sramecc+:xnack-", 0, Runs),
            ("gfx90a:xnack+", "gfx90a:sramecc+:xnack+", 0, Runs),
            ("gfx90a:xnack-", "gfx90a:sramecc+:xnack-", 0, Runs),
            ("gfx90a:xnack+", "gfx90a:sramecc+:xnack-", 0, Xnack),
            ("gfx90a:xnack-", "gfx90a:sramecc+:xnack+", 0, Xnack),
            ("gfx90a:xnack+", "gfx90a", 0, Runs),
            ("gfx1010:xnack+", "gfx1010:xnack-", 0, Xnack),
            ("gfx9-generic:xnack+", "gfx900:xnack-", 1, Xnack),
            ("gfx9-generic:xnack-", "gfx900:xnack-", 1, Runs),
            ("gfx9-4-generic:xnack-", "gfx942:sramecc+:xnack+", 1, Xnack),
            ("gfx10-1-generic:xnack-", "gfx1012:xnack-", 1, Runs),
            // sramecc.
            ("gfx908:sramecc+", "gfx908:sramecc+:xnack-", 0, Runs),
            ("gfx908:sramecc+", "gfx908:sramecc-:xnack-", 0, Sramecc),
            ("gfx906:sramecc-", "gfx906:sramecc+:xnack+", 0, Sramecc),
            ("gfx942:sramecc-:xnack+", "gfx942:sramecc-:xnack+", 0, Runs),
            ("gfx942:sramecc-:xnack+", "gfx942:sramecc+:xnack-", 0, Sramecc),
            ("gfx9-4-generic:sramecc+", "gfx950:sramecc-:xnack-", 1, Sramecc),
        ]
    };

    #[test]
    fn pairs() {
        assert!(PAIRS.len() >= 40);
        for (object, device, generic_version, expected) in PAIRS {
            let object: TargetId = object.parse().unwrap();
            let device: TargetId = device.parse().unwrap();
            let verdict = match object.runs_on(device, *generic_version).map_err(|e| e.reason) {
                Ok(()) => Verdict::Runs,
                Err(Reason::ProcessorDiffers) => Verdict::Processor,
                Err(Reason::NotInFamily) => Verdict::Family,
                Err(Reason::GenericVersion { .. }) => Verdict::Version,
                Err(Reason::Xnack { .. }) => Verdict::Xnack,
                Err(Reason::Sramecc { .. }) => Verdict::Sramecc,
            };
            assert_eq!(verdict, *expected, "{object} on {device}");
        }
    }

    #[test]
    fn a_device_without_the_feature_is_not_one_with_it_off() {
        let object: TargetId = "gfx90a:xnack-".parse().unwrap();
        let device = TargetId { xnack: Setting::Unsupported, ..object };
        assert_eq!(
            object.runs_on(device, 0).unwrap_err().to_string(),
            "gfx90a:xnack- does not run on gfx90a: it needs xnack off, and the device has no such \
             setting"
        );
    }

    #[test]
    fn reasons_name_both_sides() {
        let say = |object: &str, device: &str, version| {
            let (object, device): (TargetId, TargetId) =
                (object.parse().unwrap(), device.parse().unwrap());
            object.runs_on(device, version).unwrap_err().to_string()
        };
        assert_eq!(
            say("gfx1100", "gfx1101", 0),
            "gfx1100 does not run on gfx1101: exact processors do not run each other's code; \
             compile for gfx1101 or gfx11-generic"
        );
        assert_eq!(
            say("gfx942", "gfx90a", 0),
            "gfx942 does not run on gfx90a: exact processors do not run each other's code; \
             compile for gfx90a"
        );
        assert_eq!(
            say("gfx9-4-generic", "gfx90a", 1),
            "gfx9-4-generic does not run on gfx90a: gfx9-4-generic stands for gfx942, gfx950"
        );
        assert_eq!(
            say("gfx12-generic", "gfx1200", 0),
            "gfx12-generic does not run on gfx1200: it has generic version 0, and the device needs \
             1 or later"
        );
    }

    #[test]
    fn flags_carry_their_generic_version() {
        use crate::target::AbiVersion;
        let device: TargetId = "gfx1151".parse().unwrap();
        let runs = |raw, abi| EFlags::new(raw, abi).runs_on(device).map(|r| r.is_ok());
        assert_eq!(runs(0x0100_0054, AbiVersion::V6), Some(true));
        assert_eq!(runs(0x54, AbiVersion::V6), Some(false));
        assert_eq!(runs(0x54, AbiVersion::V5), Some(false));
        assert_eq!(runs(0x4a, AbiVersion::V5), Some(true));
        assert_eq!(runs(0x40, AbiVersion::V6), None);
    }
}
