//! Executables of AMD GPU code objects: load, link, look.
//!
//! An [`Executable`] takes code objects in any order, finds at [`freeze`](Executable::freeze) who provides what each of
//! them wants, applies relocations, gives kernels the registers and stack that all they call needs, and then answers:
//! [symbols](Symbol) of every kind, [images](Image) of memory, each [relocation](AppliedRelocation) applied, [calls](CallEdge)
//! across objects, what is at an address; or it becomes [one linked code object](Executable::link).
//!
//! ```
//! use hsaco_load::{Executable, Freeze};
//! # let file = std::fs::read("../../tests/fixtures/s1.gfx942.co")?;
//! let mut executable = Executable::new(None);
//! executable.load("s1.co", file)?;
//! executable.freeze(Freeze { base: 0x7f00_0000_0000, ..Freeze::default() })?;
//! let log: Vec<_> = executable.relocations().collect();
//! assert_eq!((log[0].place, log[0].value), (0x7f00_0000_4530, 0x7f00_0000_1d00));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod apply;
mod calls;
mod error;
mod executable;
mod freeze;
mod id;
mod image;
mod link;
mod name;
mod object;
mod raise;
mod relocate;
mod resolve;
mod resource;
#[cfg(feature = "serde")]
mod rows;
mod source;
mod symbol;

pub use calls::{CallEdge, CallTarget, CallView, FunctionRef};
pub use error::{Error, ErrorKind, Errors, Result};
pub use executable::{AppliedRelocation, Executable};
pub use freeze::{Freeze, check_object};
pub use id::{LoadedSymbolKind, ObjectId, SymbolId};
pub use image::{Image, MemorySegment};
pub use object::KernelInfo;
pub use raise::{NamedShortage, Raise};
#[cfg(feature = "serde")]
pub use rows::{
    CallRow, ErrorRow, ExecutableRows, LinkRow, ObjectRow, PlaceRow, RaiseRow, RelocationRow,
    SegmentRow, ShortageRow, SymbolRow,
};
pub use source::SourceFrame;
pub use symbol::{Located, Symbol};
