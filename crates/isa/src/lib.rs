//! AMD GPU instruction sets.
//!
//! Today: what a target is. [`Processor`] names every processor LLVM 22 knows, [`TargetId`] adds the
//! xnack and sramecc settings, [`EFlags`] reads both out of an ELF header, and [`Processor::limits`]
//! says what one device of that kind can hold.
#![forbid(unsafe_code)]

mod generation;

pub use generation::Generation;
