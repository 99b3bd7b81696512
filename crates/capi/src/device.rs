//! Devices that objects are checked against: a processor by name, with its limits or the caller's own.

use std::ffi::c_char;
use std::sync::{Mutex, PoisonError};

use hsaco::check::{self, Limit};

use crate::border::{Out, text};
use crate::error::{Failure, Result, Status, border};
use crate::handle::{self, Handle};

/// A device to check objects against; hsaco_device_free takes it back. All functions may be called from any thread.
pub struct Device {
    device: Mutex<check::Device>,
}

impl Handle for Device {
    const NAME: &'static str = "device";
}

impl Device {
    /// The device as it is now.
    pub(crate) fn now(&self) -> check::Device {
        self.device.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A limit of a device.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceLimit {
    /// Bytes of LDS of a workgroup.
    Lds = 0,
    /// Vector registers of a wave.
    Vgprs = 1,
    /// Scalar registers of a wave.
    Sgprs = 2,
    /// Scalar registers that the launch can fill.
    UserSgprs = 3,
    /// Work-items of a workgroup.
    Workgroup = 4,
    /// Waves on one SIMD.
    Waves = 5,
}

/// The limit of a number of `hsaco_device_limit`.
fn limit_of(number: u32) -> Result<Limit> {
    let found = usize::try_from(number).ok().and_then(|it| Limit::ALL.get(it));
    let unknown = || Failure::argument(format!("limit {number} is none of a device"));
    found.map(|(_, limit)| *limit).ok_or_else(unknown)
}

/// Reads the name of a device.
pub(crate) fn parse(name: &str) -> Result<check::Device> {
    name.parse().map_err(|error| Failure::target("device", name, &error))
}

/// Makes a device by its name, such as "gfx942", "gfx90a:sramecc+:xnack-" or "MI300X", with the limits of its
/// processor.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_device_create(
    name: *const c_char,
    device: *mut *mut Device,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let (out, name) = unsafe { (Out::handle(device, "device")?, text(name, "name")?) };
        out.set(handle::new(Device { device: Mutex::new(parse(name)?) }));
        Ok(())
    })
}

/// Gives a device another limit, such as what hipDeviceGetAttribute says of the one that is there. `limit` is a
/// hsaco_device_limit.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_device_set_limit(
    device: *mut Device,
    limit: u32,
    value: u32,
) -> Status {
    border(|| {
        let (device, limit) = (handle::get(device)?, limit_of(limit)?);
        device.device.lock().unwrap_or_else(PoisonError::into_inner).set(limit, value);
        Ok(())
    })
}

/// A limit of a device: a hsaco_device_limit.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_device_get_limit(
    device: *const Device,
    limit: u32,
    value: *mut u32,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::new(value, "value", 0) }?;
        let limits = handle::get(device)?.now().limits;
        out.set(match limit_of(limit)? {
            Limit::Lds => limits.lds_bytes,
            Limit::Vgprs => limits.max_vgprs,
            Limit::Sgprs => limits.max_sgprs,
            Limit::UserSgprs => limits.max_user_sgprs,
            Limit::Workgroup => limits.max_workgroup,
            Limit::Waves => limits.max_waves,
        });
        Ok(())
    })
}

/// Takes a device back; null is fine.
#[unsafe(no_mangle)]
pub extern "C" fn hsaco_device_free(device: *mut Device) -> Status {
    handle::free(device)
}
