//! The extension module behind the Python package `hsaco`.
//!
//! It binds `hsaco::db`, `hsaco::load`, `hsaco::emu` and the command. What Python says shorter is Python, in `python/hsaco`: sequences, records,
//! exceptions, and kernelDB's interface.
#![allow(unsafe_code, reason = "PyO3's macros write it, and arrow.rs hands memory to C")]

mod arrow;
mod check;
mod code;
mod compact;
mod database;
mod device;
mod diff;
mod error;
mod executable;
mod extract;
mod filter;
mod fleet;
mod handle;
mod instruction;
mod kernel;
mod layout;
mod object;
mod patch;
mod pickle;
mod record;
mod sequence;
mod table;

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the command `hsaco`; the first argument is its name. Returns its exit code.
#[pyfunction]
fn command(py: Python<'_>, args: Vec<OsString>) -> u8 {
    py.detach(|| hsaco_cli::run(args))
}

/// The readable spelling of a mangled name; any other name is returned as it is.
#[pyfunction]
fn demangle(name: &str) -> String {
    hsaco::demangle::demangle(name.as_bytes()).unwrap_or_else(|| name.to_owned())
}

#[pymodule]
mod _hsaco {
    #[pymodule_export]
    use super::check::check;
    #[pymodule_export]
    use super::code::{assemble, disassemble};
    #[pymodule_export]
    use super::compact::CompactLayout;
    #[pymodule_export]
    use super::database::Database;
    #[pymodule_export]
    use super::device::{Device, LoadedKernel, Program};
    #[pymodule_export]
    use super::diff::diff;
    #[pymodule_export]
    use super::executable::Executable;
    #[pymodule_export]
    use super::extract::keep_targets;
    #[pymodule_export]
    use super::fleet::scan_file;
    #[pymodule_export]
    use super::handle::{Instruction, Kernel, Object};
    #[pymodule_export]
    use super::kernel::Block;
    #[pymodule_export]
    use super::layout::{Launch, Layout, decode_packet, dispatch_packet};
    #[pymodule_export]
    use super::patch::{patch, verify_patch};
    #[pymodule_export]
    use super::table::{Table, table};
    #[pymodule_export]
    use super::{command, demangle};

    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "its name in Python")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
