//! What `cargo xtask codegen` makes of `isa-data/semantics.tsv`.

#[allow(clippy::all, dead_code, reason = "generated")]
#[rustfmt::skip]
mod semantics;

pub(crate) use semantics::{FIDELITY_BY_TARGET, NAMES, Op, REASONS, ROWS, TARGETS, TYPES};
