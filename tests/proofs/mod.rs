//! Proofs of rules that compute: what they make is run on the emulator beside what it replaces. The models of numbers that are
//! here hold the emulator against manuals.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::needless_range_loop,
    reason = "a test may fail"
)]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::cast_lossless,
    reason = "models of numbers"
)]

mod addtid;
mod ds;
mod e5m3;
pub(crate) mod machine;
pub(crate) mod random;
mod scale_sixteen;
mod tensor;
mod wmma;
