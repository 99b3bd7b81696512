//! AMD GPU code objects and the containers that carry them.
#![forbid(unsafe_code)]

mod bytes;
pub mod descriptor;
mod error;
pub mod yaml;

pub use bytes::Str;
pub use descriptor::{KernelCodeV2, KernelDescriptor};
pub use error::{Error, ErrorKind, Result};
