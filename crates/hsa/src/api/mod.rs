//! The calls of the interface, by subject. Names and arguments are those of the headers.
//!
//! A call checks its arguments, asks the rest of the crate, and turns the answer into a status. No panic leaves one.
//! Pointers are checked against null alone: the rest is the program's promise, as in C.
#![allow(
    clippy::not_unsafe_ptr_arg_deref,
    clippy::too_many_arguments,
    reason = "the interface is C's; callers that break its promises do so there"
)]

mod agent;
mod code_object;
mod copy;
mod executable;
mod loader;
mod memory;
mod profiling;
mod queue;
mod refused;
mod signal;
mod svm;
mod system;
mod table;
mod tools;
mod vmem;

pub(crate) use agent::*;
pub(crate) use code_object::*;
pub(crate) use copy::*;
pub(crate) use executable::*;
pub(crate) use memory::*;
pub(crate) use profiling::*;
pub(crate) use queue::*;
pub(crate) use refused::*;
pub(crate) use signal::*;
pub(crate) use svm::*;
pub(crate) use system::*;
pub(crate) use vmem::*;

/// All names that the library exports.
#[cfg(test)]
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    table::EXPORTED.iter().chain(table::ALIASES).copied()
}
