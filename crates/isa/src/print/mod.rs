//! Instructions as text, to the letter as LLVM 22 prints them.

mod inst;
pub(crate) mod named;
pub(crate) mod operand;
mod out;
mod remark;
pub(crate) mod resize;

pub use inst::VgprMsb;
pub(crate) use inst::temporal_kind;
pub use out::Token;
pub(crate) use out::{Marks, Out};
