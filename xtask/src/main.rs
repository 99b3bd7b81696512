//! `cargo xtask VERB`: everything a developer types.
fn main() {}
