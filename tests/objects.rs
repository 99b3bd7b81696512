//! Code objects and the files that hold them, read and written.

mod corpus;
mod kernels;
mod targets;
mod write;
