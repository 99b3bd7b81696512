//! AMD GPU code objects: notes, metadata, kernel descriptors, kernels by name, and what each byte of a file is for.
//!
//! ```
//! # let file = std::fs::read("../../tests/fixtures/s1.gfx942.co")?;
//! let object = hsaco_object::CodeObject::parse(&file)?;
//! assert_eq!(object.target().to_string(), "gfx942");
//! assert_eq!(object.index().kernels()[0].name(), "foo");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Everything here takes bytes and returns values: no file is opened, nothing is printed, no input
//! makes it panic. What cannot be read is an [`Error`](hsaco_bytes::Error) with its offset; what is merely odd is kept
//! and shown.
#![forbid(unsafe_code)]

mod code_map;
mod code_object;
mod detached;
mod index;
mod kernel;
mod resources;

pub mod descriptor;
pub mod layout;
pub mod metadata;
pub mod msgpack;
pub mod note;
pub mod write;
pub mod yaml;

pub use code_map::{CodeMap, CodeRange, NamedCode};
pub use code_object::{CodeObject, Target};
pub use descriptor::{KernelCodeV2, KernelDescriptor};
pub use detached::DetachedKernel;
pub use index::{Index, SymbolKind};
pub use kernel::Kernel;
pub use resources::Resources;
