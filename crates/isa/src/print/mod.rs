//! Instructions as text, to the letter as LLVM 22 prints them.

mod named;
mod out;

pub use out::Token;
pub(crate) use out::{Marks, Out};
