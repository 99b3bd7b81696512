//! The code of an object as text, to the byte as `llvm-objdump -d` of LLVM 22 prints it, and as JSON.
//!
//! A [`ListingPlan`] is what is to be shown of an object: it holds no text, only spans from one name to the next. [`TextWriter`]
//! and `JsonWriter` write spans into a [`Sink`], each by itself, so that threads can share them out. Beside the text of
//! `llvm-objdump` there are live registers, source lines, and text that assembles to the bytes it was made of.
//!
//! ```
//! use hsaco_listing::{Lister, ListingOptions, ListingPlan, Selection, TextStyle};
//! use hsaco_object::CodeObject;
//! # let file = std::fs::read("../../tests/fixtures/s1.gfx942.co")?;
//! let object = CodeObject::parse(&file)?;
//! let (lister, mut problems) = (Lister::new(ListingOptions::default()), Vec::new());
//! let plan = ListingPlan::new(&object, &lister, &Selection::default(), &mut problems);
//! let plan = plan.ok_or("instructions of an unknown processor")?;
//! let text = plan.to_text("s1.co", TextStyle { leading_addresses: true, color: false });
//! assert!(text.starts_with(b"\ns1.co:\tfile format elf64-amdgpu\n\nDisassembly of section .text:\n"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod attribute;
mod comment;
mod exact;
mod hex;
#[cfg(feature = "json")]
mod json;
mod layout;
mod line;
mod lister;
mod live;
mod plan;
mod selection;
mod sink;
mod source;
mod steps;
mod target;
mod text;

pub use attribute::Attribute;
#[cfg(feature = "json")]
pub use json::JsonWriter;
pub use line::TextStyle;
pub use lister::{EachNumber, Lister, ListingOptions};
pub use plan::{CodeSpan, ListingPlan};
pub use selection::{Selection, WantsKernel};
pub use sink::Sink;
pub use source::{SourceLine, SourceOptions};
pub use text::TextWriter;
