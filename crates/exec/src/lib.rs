//! A program of ROCm, run on emulated devices: hsaco's HSA runtime is found, set up, and put before the machine's own.
//!
//! ```no_run
//! use hsaco_exec::{Installation, ExecSettings};
//!
//! let installation = Installation::find(&std::env::current_exe()?, None)?;
//! let settings = ExecSettings { devices: Some("gfx942".into()), ..ExecSettings::default() };
//! let mut command = settings.command(&installation, "rocminfo".as_ref(), &[])?;
//! assert!(command.status()?.success());
//! # Ok::<(), anyhow::Error>(())
//! ```
#![forbid(unsafe_code)]

mod installation;
mod settings;

pub use installation::Installation;
pub use settings::ExecSettings;
