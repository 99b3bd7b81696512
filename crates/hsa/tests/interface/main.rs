//! The interface as programs use it, and as they misuse it. One binary, so that all of it shares one loaded library.
#![allow(
    unsafe_code,
    unreachable_pub,
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "tests call C, and fail by panics"
)]

mod support;

mod kernels;
mod misuse;
mod process;
mod stress;
