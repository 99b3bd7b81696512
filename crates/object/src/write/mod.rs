//! Changing code objects and making new ones.
//!
//! - [`Edit`] and [`Builder`] are `hsaco_elf`'s: they write the files.
//! - [`MetadataEdit`] changes what the notes say of kernels, and leaves every other byte of them.
//! - [`KernelChange`] changes a kernel's descriptor and its metadata together.

mod kernel;
mod metadata;
mod msgpack;

pub use hsaco_elf::write::{
    Access, Builder, Edit, Identity, NewRelocation, NewSection, NewSymbol, PAGE, Placed,
};
pub use kernel::{KernelChange, Registers};
pub use metadata::MetadataEdit;
pub use msgpack::NewValue;

use hsaco_bytes::{Error, ErrorKind};

fn unsupported(context: &'static str, detail: impl Into<String>) -> Error {
    Error::new(ErrorKind::Unsupported, context, detail)
}
