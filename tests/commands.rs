//! The command, and the C API, as their users call them.

mod c_api;
mod check;
mod comparison;
mod disasm;
mod growth;
mod robustness;
mod roundtrip;
mod same_text;
mod source;
