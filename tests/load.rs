//! Executables: symbols, linking, relocation, images, resources, on objects that clang, llvm-mc and yaml2obj make.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[path = "load/sample.rs"]
mod sample;

#[path = "load/errors.rs"]
mod errors;
#[path = "load/link.rs"]
mod link;
#[path = "load/mutations.rs"]
mod mutations;
#[path = "load/packed.rs"]
mod packed;
#[path = "load/relocations.rs"]
mod relocations;
#[path = "load/resolution.rs"]
mod resolution;
#[path = "load/resources.rs"]
mod resources;
#[path = "load/symbols.rs"]
mod symbols;
