//! Instructions as text and back, against LLVM.

mod assembler;
mod decoder;
mod real_code;
