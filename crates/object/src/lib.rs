//! AMD GPU code objects and the containers that carry them.
//!
//! Everything here takes bytes and returns values: no file is opened, nothing is printed, no input
//! makes it panic. What cannot be read is an [`Error`] with its offset; what is merely odd is kept
//! and shown.
#![forbid(unsafe_code)]

mod code_object;
mod demangle;
mod detached;
mod index;
mod kernel;

pub mod container;
pub mod descriptor;
pub mod layout;
pub mod md5;
pub mod metadata;
pub mod msgpack;
pub mod note;
pub mod uri;
pub mod write;
pub mod yaml;

pub use code_object::{CodeObject, Target};
pub use demangle::demangle;
pub use descriptor::{KernelCodeV2, KernelDescriptor};
pub use detached::DetachedKernel;
pub use hsaco_bytes::{Error, ErrorKind, Result, Str, memory};
pub use hsaco_compress as compress;
pub use hsaco_elf as elf;
pub use hsaco_elf::{relocation, symbol};
pub use index::{Index, SymbolKind};
pub use kernel::{Kernel, Resources};
