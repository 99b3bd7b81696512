//! What the classes hold that lead to one another: an object has kernels, a kernel its object and its instructions, and
//! an instruction its kernel. What they answer is in a module for each.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use hsaco::db;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

/// A code object: where it was found, what it is for, what it defines.
#[pyclass(frozen, module = "hsaco")]
pub(crate) struct Object(pub(crate) Arc<db::Object>);

/// A kernel. Its instructions are decoded when they are first asked for, once for all threads.
#[pyclass(frozen, module = "hsaco")]
pub(crate) struct Kernel(pub(crate) db::IndexedKernel);

/// What an instruction is of.
#[derive(Clone)]
pub(crate) enum Of {
    Kernel(db::IndexedKernel),
    Listing(Arc<Listed>),
}

/// Bytes that were disassembled, and what they are.
pub(crate) struct Listed {
    pub(crate) listing: db::Listing,
    pub(crate) code: PyBackedBytes,
    pub(crate) target: String,
    pub(crate) address: u64,
}

/// A decoded instruction, or a word that is none.
#[pyclass(frozen, module = "hsaco")]
pub(crate) struct Instruction {
    pub(crate) of: Of,
    pub(crate) index: usize,
}

/// A hash of a part of a kernel.
pub(crate) fn hash_of(kernel: &db::IndexedKernel, part: usize) -> u64 {
    let mut hasher = DefaultHasher::new();
    (Arc::as_ptr(kernel.object()), kernel.number(), part).hash(&mut hasher);
    hasher.finish()
}
