//! Values that have names, and the names: what printing writes and assembling reads.

pub(crate) mod cache;
pub(crate) mod condition;
pub(crate) mod format;
pub(crate) mod hwreg;
pub(crate) mod lanes;
pub(crate) mod matrix;
pub(crate) mod message;
pub(crate) mod shader;
pub(crate) mod version;
pub(crate) mod wait;
