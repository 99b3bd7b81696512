//! Tables made by `cargo xtask codegen` from `isa-data/`.

#[rustfmt::skip]
mod tables;

pub(crate) use tables::*;
