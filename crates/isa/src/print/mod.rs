//! Instructions as text, to the letter as LLVM 22 prints them.
#![allow(
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    reason = "fields are cut out of words; tables are as long as their indices reach"
)]

mod inst;
mod named;
mod number;
mod operand;
mod out;
mod padded;
mod page;
mod remark;
mod script;
mod texts;
mod words;

use std::sync::Arc;

use crate::model::Model;
use out::Marks;
pub(crate) use out::Out;
pub use out::Token;
pub use page::Page;
use script::Scripts;
use texts::Texts;
pub use words::Words;

/// Prints the instructions of one processor, and keeps the texts of their parts.
pub(crate) struct Printer {
    model: Arc<Model>,
    scripts: Scripts,
    texts: Texts,
}

impl Printer {
    pub(crate) fn new(model: Arc<Model>) -> Self {
        Printer { model, scripts: Scripts::new(), texts: Texts::new() }
    }
}
