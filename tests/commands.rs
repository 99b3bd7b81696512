//! The command, and the C API, as their users call them.

mod c_api;
mod check;
mod ci_scripts;
mod comparison;
mod disasm;
mod growth;
mod help;
mod packages;
mod partial;
mod robustness;
mod roundtrip;
mod same_text;
mod source;
