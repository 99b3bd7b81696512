//! Instructions as text, to the letter as LLVM 22 prints them.

mod inst;
mod memory;
pub(crate) mod named;
pub(crate) mod operand;
mod out;
mod padded;
mod quick;
mod remark;
pub(crate) mod resize;
mod script;
mod words;

pub use inst::VgprMsb;
pub(crate) use inst::temporal_kind;
pub use memory::TextMemory;
pub use out::Token;
pub(crate) use out::{Marks, Out};
pub(crate) use quick::Texts;
pub use words::Words;
