//! The C API: `include/hsaco.h` is made of this crate.
//!
//! One file for each subject. `error.rs` is how functions fail, [`handle`](self) what opaque pointers stand for, `border.rs`
//! what pointers of callers become. A function that can fail gives a [`Status`](error::Status) and leaves its reason with
//! [`hsaco_last_error`](error::hsaco_last_error); none of them panics. To add one, write it here and run
//! `BLESS=1 cargo test -p hsaco-capi`, which writes the header.
#![allow(unsafe_code, reason = "C hands over pointers; each function says what it asks of them")]

pub mod argument;
pub mod border;
pub mod buffer;
pub mod call;
pub mod check;
pub mod code;
pub mod compact;
pub mod database;
pub mod demangle;
pub mod device;
pub mod elf;
pub mod emulator;
pub mod error;
pub mod executable;
pub mod handle;
pub mod instruction;
pub mod kernel;
pub mod launch;
pub mod layout;
pub mod object;
pub mod packet;
pub mod patch;
pub mod problem;
