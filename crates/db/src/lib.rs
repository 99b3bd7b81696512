//! A database of kernels: many files, one index, and a kernel decoded when it is first asked for.
//!
//! Adding a file reads names and headers. A kernel's instructions, blocks and source places are computed on
//! first use, once for all threads; a failure is stored like an answer.
//!
//! ```
//! use hsaco_db::Database;
//! # let file = std::fs::read("../../tests/fixtures/lines.dwarf5.co")?;
//! let database = Database::new();
//! database.add("lines.co", file)?;
//! assert_eq!(database.counts().decoded_kernels, 0);
//!
//! let kernel = database.kernel("space::kernel_one(float*, vec::Pair<float> const*, int)")?;
//! let first = kernel.instructions()?.next().unwrap();
//! assert_eq!(first.mnemonic(), "s_load_dword");
//! assert_eq!(first.location()?.unwrap().line, Some(15));
//! assert_eq!(database.counts().decoded_kernels, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod catalog;
mod code;
mod content;
mod data;
mod database;
pub mod index;
mod kernel;
mod listing;
mod name;
mod object;
mod shared;
mod unpacked;
mod wanted;

pub use content::{Content, ContentView, FoundEntries, Stored};
pub use data::Data;
pub use database::{Added, Database, Which};
pub use kernel::{IndexedKernel, Instruction};
pub use listing::Listing;
pub use object::{DeviceFunction, Object, Tables};
pub use shared::{Counts, DatabaseOptions};
pub use wanted::Wanted;
