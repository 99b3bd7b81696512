//! An AMD GPU on the CPU: runs the kernels of code objects.
//!
//! A [`Device`] has memory and loads executables; a [`Dispatch`] runs a kernel of one. Nothing here does I/O, spawns
//! threads or looks at a clock.
#![deny(unsafe_code)]

mod call;
mod device;
mod dispatch;
mod error;
mod exec;
mod generated;
mod hostcall;
mod memory;
pub mod num;
mod print_buffer;
mod printf;
mod probe;
mod schedule;
mod semantics;
mod snapshot;
mod step;
#[cfg(test)]
mod tests;
mod translate;
mod watch;
mod wave;
mod workgroup;

pub use call::{Argument, Kernel};
pub use device::{Device, Revision};
pub use dispatch::{Dispatch, Limits, Outcome, with_apertures};
pub use error::{Error, ErrorKind, Location, Result};
pub use hostcall::Host;
pub use memory::Memory;
pub use probe::Probe;
pub use schedule::Run;
pub use semantics::{Coverage, Fidelity, coverage, fidelity, mnemonics};
pub use snapshot::Registers;
pub use watch::{Executed, InstructionProfile, Reached, RegisterValue, TraceFilter, Tracer};
