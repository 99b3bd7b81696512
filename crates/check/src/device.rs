//! What an object is checked against: a processor, its settings, and what it can hold.

use std::borrow::Cow;
use std::str::FromStr;

use hsaco_isa::target::{Limits, ParseTargetError};
use hsaco_isa::{Processor, TargetId};

/// A device: a target id, and its limits.
///
/// ```
/// use hsaco_check::{Device, Limit};
/// let mut device: Device = "gfx942:xnack-".parse()?;
/// assert_eq!((device.name.as_ref(), device.limits.lds_bytes), ("gfx942:xnack-", 65536));
/// device.set(Limit::Lds, 32768);
/// assert_eq!(device.limits.lds_bytes, 32768);
/// assert_eq!("MI300X".parse::<Device>()?.name, "gfx942");
/// # Ok::<(), hsaco_isa::target::ParseTargetError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// What to call it.
    pub name: Cow<'static, str>,
    /// Its processor and settings; a setting of "any" is one that is not known, and is held against no object.
    pub target: TargetId,
    /// What it can hold.
    pub limits: Limits,
}

/// A limit that a device of one's own can have different.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Limit {
    /// Bytes of LDS of a workgroup.
    Lds,
    /// Vector registers of a wave.
    Vgprs,
    /// Scalar registers of a wave.
    Sgprs,
    /// Scalar registers that the launch can fill.
    UserSgprs,
    /// Work-items of a workgroup.
    Workgroup,
    /// Waves on one SIMD.
    Waves,
}

impl Limit {
    /// Every limit with the name it has in a devices file.
    pub const ALL: [(&'static str, Limit); 6] = [
        ("lds", Limit::Lds),
        ("vgprs", Limit::Vgprs),
        ("sgprs", Limit::Sgprs),
        ("user-sgprs", Limit::UserSgprs),
        ("workgroup", Limit::Workgroup),
        ("waves", Limit::Waves),
    ];
}

impl Device {
    /// The device of a target, with the limits of its processor.
    #[must_use]
    pub fn new(target: TargetId) -> Self {
        let name = Cow::Owned(target.to_string());
        Self { name, target, limits: *target.processor.limits() }
    }

    /// A device for every exact processor, its settings unknown.
    ///
    /// ```
    /// assert!(hsaco_check::Device::all().any(|device| device.name == "gfx1201"));
    /// assert!(hsaco_check::Device::all().all(|device| !device.target.processor.is_generic()));
    /// ```
    pub fn all() -> impl Iterator<Item = Self> {
        let exact = Processor::all().filter(|processor| !processor.is_generic());
        exact.filter_map(|processor| processor.name().parse().ok())
    }

    /// Gives the device another limit.
    pub fn set(&mut self, limit: Limit, value: u32) {
        let limits = &mut self.limits;
        match limit {
            Limit::Lds => limits.lds_bytes = value,
            Limit::Vgprs => limits.max_vgprs = value,
            Limit::Sgprs => limits.max_sgprs = value,
            Limit::UserSgprs => limits.max_user_sgprs = value,
            Limit::Workgroup => limits.max_workgroup = value,
            Limit::Waves => limits.max_waves = value,
        }
    }
}

impl FromStr for Device {
    type Err = ParseTargetError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        TargetId::of_device(text).map(Self::new)
    }
}
