//! An AMD GPU on the CPU: runs the kernels of code objects.
//!
//! A [`Device`] has memory and loads executables; a [`Dispatch`] runs a kernel of one. Nothing here does I/O, spawns
//! threads or looks at a clock.
#![deny(unsafe_code)]

mod barrier;
mod call;
mod code;
mod device;
mod dispatch;
mod error;
mod exec;
mod generated;
mod grid;
mod hostcall;
mod matrix;
mod memory;
pub mod num;
mod print_buffer;
mod printf;
mod probe;
mod revision;
mod sanitize;
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

pub use call::{CallArgument, LoadedKernel};
pub use code::{KernelCode, MnemonicCounts};
pub use device::{Device, with_apertures};
pub use dispatch::{Dispatch, Limits, Outcome, Places};
pub use error::{Error, ErrorKind, Result, StopLocation};
pub use hostcall::Host;
pub use memory::{HostMemory, Memory};
pub use probe::Probe;
pub use revision::{Effect, MetErratum, Revision};
pub use sanitize::{Event, Fault, FaultKind, Sanitizer};
pub use schedule::Run;
pub use semantics::{Coverage, Fidelity, coverage, fidelity, mnemonics};
pub use snapshot::Registers;
pub use watch::{
    Arrival, Executed, InstructionProfile, Observer, Reached, RegisterValue, TraceFilter, Tracer,
};
