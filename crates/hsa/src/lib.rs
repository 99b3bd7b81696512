//! The HSA runtime, `libhsa-runtime64.so.1`, whose GPUs are emulated.
//!
//! HIP, OpenCL and OpenMP stand on this interface: programs that find this library find GPUs, on any machine.
//! `api` has the calls and the table of their names; `runtime` is what they are about, on agents, signals and the
//! address space. [docs/runtime.md](../../../docs/runtime.md) says what there is of it.
#![allow(
    unsafe_code,
    reason = "C hands over pointers and shares memory; each block says why it is sound"
)]

mod abi;
mod agent;
mod api;
mod config;
#[cfg(test)]
mod headers;
mod log;
mod model;
mod pages;
mod ring;
mod runtime;
mod signal;
mod space;
mod sync;
mod value;
