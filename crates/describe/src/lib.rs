//! What an object of a file holds, as rows.
//!
//! Each module answers one question about a [`hsaco_files::ObjectItem`]: what it defines ([`list`]), all there is to know of it
//! ([`info`]), its [`arguments`] and their bytes ([`kernarg`]), [`calls`], control [`flow`],
//! [`lines`], [`notes`], the loops of a function ([`body`]) and what their instructions are ([`mix`]), instructions that fit a [`query`], [`resources`], [`size`], [`source`] and [`symbols`]. Rows are plain values that
//! serialize to the JSON of the command, version [`hsaco_bytes::SCHEMA_VERSION`]; what is wrong with an object is noted
//! beside them. [`executable`] loads the objects of files, and
//! [`run`] puts what a kernel is given on a device and what came of it into rows; [`prove`] does so for an object and what
//! was made of it. [`assembly`] is lines as encodings.
//!
//! ```
//! use hsaco_describe::resources::Resources;
//! use hsaco_files::{KernelSelection, ObjectItem, Trouble};
//! use hsaco_container::entries;
//!
//! # let file = std::fs::read("../../tests/fixtures/s1.gfx942.co")?;
//! let (kernels, mut trouble) = (KernelSelection::default(), Trouble::default());
//! for (number, entry) in entries(&file, &Default::default()).enumerate() {
//!     let entry = entry?;
//!     let item = ObjectItem::new(number, &entry, &mut trouble);
//!     for kernel in Resources::new(&item, &kernels, &mut trouble).kernels {
//!         println!("{}: {:?} VGPRs", kernel.demangled, kernel.vgprs.needed);
//!         # assert!(kernel.vgprs.needed.is_some());
//!     }
//! }
//! assert!(trouble.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub mod arguments;
pub mod assembly;
pub mod body;
pub mod calls;
pub mod dataset;
pub mod difference;
pub mod examples;
pub mod executable;
pub mod flow;
pub mod info;
pub mod kernarg;
pub mod lines;
pub mod list;
pub mod mix;
pub mod names;
pub mod notes;
pub mod prove;
pub mod query;
pub mod replay;
pub mod resource_words;
pub mod resources;
pub mod run;
pub mod side;
pub mod size;
pub mod source;
pub mod symbols;
pub mod tables;
pub mod what_if;

use std::borrow::Cow;

use hsaco_bytes::Str;
use hsaco_demangle::demangle;

mod code;
mod place;
mod tree;

pub use code::open_code;
pub use place::{Place, PlacePattern};
pub use tree::Tree;

/// A name as its author wrote it: demangled where it is mangled.
///
/// ```
/// use hsaco_describe::source_name;
/// assert_eq!(source_name("_Z3addPfi".into()), "add(float*, int)");
/// assert_eq!(source_name("vector_add".into()), "vector_add");
/// ```
pub fn source_name(name: Str<'_>) -> Cow<'_, str> {
    demangle(name.as_bytes()).map_or_else(|| name.to_str_lossy(), Cow::Owned)
}
