//! The machine around kernels, by small programs of our own assembler.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "tests"
)]

mod clusters;
mod errors;
mod sanitize;
mod support;
mod threads;
mod watch;
