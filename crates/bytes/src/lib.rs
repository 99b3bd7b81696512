//! Bytes that promise nothing: checked reads, strings that need not be UTF-8, allocations that may fail, and the one
//! [`Error`] that says what is wrong and at which offset. And numbers with types: ids, and vectors that they index.
//!
//! ```
//! use hsaco_bytes::{ErrorKind, Str, c_str, read_u32, slice};
//! let file = b"\x05\0\0\0hello\0";
//! let size = read_u32(file, 0).unwrap_or(0);
//! assert_eq!(slice(file, 4, u64::from(size), "greeting")?, b"hello");
//! assert_eq!(c_str(file, 4), Some(Str::from("hello")));
//!
//! let error = slice(file, 4, 100, "greeting").unwrap_err();
//! assert_eq!(error.kind(), ErrorKind::Truncated);
//! assert_eq!(error.to_string(), "truncated: greeting: 6 bytes of 100 (at offset 0x4)");
//! # Ok::<(), hsaco_bytes::Error>(())
//! ```
#![forbid(unsafe_code)]

mod error;
mod guard;
mod index;
mod read;
mod size;
mod str;

pub mod escape;
pub mod hex;
pub mod memory;
pub mod number;

pub use error::{Error, ErrorKind, Kind, Problems, Result, TextError};
pub use guard::Guard;
pub use index::{Id, IndexVec, Lists};
pub use read::{c_str, names_budget, read_u16, read_u32, read_u64, slice, spend};
pub use size::parse_size;
pub use str::Str;

/// The version of every JSON document that hsaco writes: it changes when a key goes or means something else.
pub const SCHEMA_VERSION: u32 = 1;
