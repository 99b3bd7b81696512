//! AMD GPU code objects and the containers that carry them.
#![forbid(unsafe_code)]

mod bytes;
pub mod compress;
pub mod container;
mod error;
pub mod md5;
pub mod uri;

pub use bytes::Str;
pub use error::{Error, ErrorKind, Result};
