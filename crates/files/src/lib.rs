//! Opening anything that holds AMD GPU code, and seeing its objects on every core.
//!
//! This is the one library that does I/O. [`input::inputs`] opens what a command line names; [`Walk`] shows the objects of a
//! file to a [`Visit`]or, in the order of the file, read on every core; [`ObjectSelection`] and [`KernelSelection`] say
//! which are wanted. Nothing is printed: what is wrong comes back as [`Problem`]s.
//!
//! ```
//! use hsaco_files::{ObjectItem, ObjectSelection, Problem, Trouble, Visit, Walk};
//! use hsaco_files::input::inputs;
//!
//! struct Targets(Vec<String>);
//!
//! impl Visit for Targets {
//!     type Row<'e> = String;
//!     type Error = std::convert::Infallible;
//!
//!     fn read<'e>(&self, item: &ObjectItem<'e, '_>, _: &mut Trouble) -> Result<String, Self::Error> {
//!         Ok(item.target.clone().unwrap_or_default())
//!     }
//!
//!     fn objects(&mut self, rows: Vec<String>) -> Result<(), Self::Error> {
//!         self.0.extend(rows);
//!         Ok(())
//!     }
//!
//!     fn problem(&mut self, problem: &Problem) {
//!         eprintln!("{}: {}", problem.place, problem.error);
//!     }
//! }
//!
//! let mut targets = Targets(Vec::new());
//! for input in inputs(&["../../tests/fixtures/s1.gfx942.co".into()]) {
//!     let input = input.map_err(|it| it.error)?;
//!     let all = ObjectSelection::default();
//!     if let Some(walk) = Walk::new(&input, &Default::default(), &all) {
//!         walk.run(&mut targets)?;
//!     }
//! }
//! assert_eq!(targets.0, ["gfx942"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ahead;
mod bundle;
mod dataset;
mod error;
mod extract;
mod index_file;
pub mod input;
mod item;
mod mapping;
mod name;
mod output;
pub mod parallel;
mod path;
pub mod progress;
mod prune;
mod select;
pub mod source_files;
mod staging;
mod stored;
pub mod stream;
mod walk;

pub use ahead::UnpackedEntries;
pub use bundle::{manifest_of, pack_bundle, rebuild_bundles};
pub use dataset::Dataset;
pub use error::FileError;
pub use extract::{
    EntryItem, Extracted, ExtractedFile, ExtractedObject, Extraction, LeftOut, OtherFile,
};
pub use index_file::{IndexFile, stamp_of};
pub use item::{ObjectItem, Problem, Trouble};
pub use name::{file_name_part, object_uri, unique_stem};
pub use output::{NewFile, write_file};
pub use path::seen_from;
pub use prune::{PrunedFile, PrunedSizes, Pruning, is_kept};
pub use select::{KernelSelection, ObjectSelection};
pub use staging::{StagedSource, Staging, sources};
pub use walk::{Batches, Met, OBJECT_WEIGHT, Visit, Walk, map_objects};
