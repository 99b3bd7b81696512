//! Executables: symbols, linking, relocation, images, resources, on objects that clang, llvm-mc and yaml2obj make.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod sample;

mod errors;
mod link;
mod mutations;
mod packed;
mod relocations;
mod resolution;
mod resources;
mod symbols;
