//! AMD GPU code objects and the containers that carry them.
#![forbid(unsafe_code)]

mod bytes;
mod error;

pub use bytes::Str;
pub use error::{Error, ErrorKind, Result};
