//! What is different between AMD GPU code objects, kernel by kernel.
//!
//! [`diff`] compares two objects: headers, metadata, arguments, descriptors, instructions. For files of many objects,
//! [`ObjectRecord`] is what one has in a few bytes for each function, and [`Comparison`] pairs those of two files by target
//! and name, wherever in the file they are.
//!
//! ```
//! use hsaco_diff::{Detail, diff};
//! use hsaco_object::CodeObject;
//! let (a, b) = (
//!     std::fs::read("../../tests/fixtures/s1.gfx1100.co")?,
//!     std::fs::read("../../tests/fixtures/s1.gfx942.co")?,
//! );
//! let (a, b) = (CodeObject::parse(&a)?, CodeObject::parse(&b)?);
//! assert!(diff(&a, &a, Detail { code: true, context: 3 }).is_empty());
//! let found = diff(&a, &b, Detail { code: true, context: 3 });
//! assert_eq!(found.header[0].name, "e_flags");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod align;
mod comparison;
mod digest;
mod model;
mod name;
mod pairing;
mod record;
mod resources;
mod value;

pub use comparison::Comparison;
pub use digest::Fingerprint;
pub use model::{Detail, DiffLine, FunctionDiff, ObjectDiff, Side, ValueChange};
pub use name::ObjectName;
pub use pairing::Group;
pub use record::{ComparedObject, ObjectRecord, What};
pub use resources::{Changes, KernelChange, METRICS, ResourceChange, Trend};
pub use value::{FieldValue, FieldValues};

use hsaco_object::CodeObject;

/// What is different between two objects, whatever their targets are.
#[must_use]
pub fn diff(a: &CodeObject<'_>, b: &CodeObject<'_>, detail: Detail) -> ObjectDiff {
    let (target_a, target_b) = (a.target().to_string(), b.target().to_string());
    let subject = |object, target| ComparedObject {
        index: 0,
        entry_id: None,
        target: Some(target),
        object: Some(object),
    };
    let subjects = (subject(a, target_a.as_str()), subject(b, target_b.as_str()));
    let what = What { code: detail.code, ..What::ALL };
    let record = |it: &ComparedObject<'_>| vec![ObjectRecord::new(it, what)];
    let comparison = Comparison::new(record(&subjects.0), record(&subjects.1), true);
    let group = comparison.groups().first();
    group.map_or_else(ObjectDiff::default, |group| comparison.object(detail, group, Some(subjects)))
}
