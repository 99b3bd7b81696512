//! The C API: `include/hsaco.h` is made of this crate.
//!
//! One file for each subject; `error.rs` has what all of them share. A function that can fail gives a
//! [`Status`](error::Status) and leaves its reason with [`hsaco_last_error`](error::hsaco_last_error); none of them
//! panics. To add one, write it here and run `BLESS=1 cargo test -p hsaco-capi`, which writes the header.
#![allow(unsafe_code, reason = "C hands over pointers; each function says what it asks of them")]

pub mod check;
pub mod error;
pub mod executable;
