//! The `hsaco` command.
fn main() {}
