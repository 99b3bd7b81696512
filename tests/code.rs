//! What code does, what it takes, where it comes from; arguments, databases, executables.

mod analysis;
mod arguments;
mod calls;
mod database;
mod division;
mod kernarg;
mod kerneldb;
mod load;
mod resources;
