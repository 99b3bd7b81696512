//! Instructions as text, to the letter as LLVM 22 prints them.

mod inst;
mod named;
mod operand;
mod out;
mod padded;
mod quick;
mod remark;
mod resize;
mod script;

pub use inst::VgprMsb;
pub use out::Token;
pub(crate) use out::{Marks, Out};
pub(crate) use quick::Texts;
