//! Tables made by `cargo xtask codegen` from `isa-data/`.

#[rustfmt::skip]
mod effects;
#[rustfmt::skip]
mod tables;

pub(crate) use effects::*;
pub(crate) use tables::*;
