//! What is said of instructions that are not rewritten.

use crate::manifest::Remark;
use crate::refusal::Refusal;

/// Remarks so far, and whether one of them stops the object.
#[derive(Default)]
pub(crate) struct Remarks {
    list: Vec<Remark>,
    is_refused: bool,
}

impl Remarks {
    /// An instruction stays as it is, for this reason.
    pub(crate) fn keep(&mut self, rule: &str, function: &str, address: u64, reason: &str) {
        self.push(rule, function, address, Ok(reason.to_owned()));
    }

    /// Something that has to be rewritten cannot be: the object is refused.
    pub(crate) fn refuse(&mut self, rule: &str, function: &str, address: u64, refusal: Refusal) {
        self.is_refused = true;
        self.push(rule, function, address, Err(refusal));
    }

    /// Something that an object may go out without cannot be rewritten.
    pub(crate) fn pass_over(&mut self, rule: &str, function: &str, address: u64, refusal: Refusal) {
        self.push(rule, function, address, Err(refusal));
    }

    fn push(&mut self, rule: &str, function: &str, address: u64, said: Result<String, Refusal>) {
        let (rule, function) = (rule.to_owned(), function.to_owned());
        self.list.push(Remark { rule, function, address, said });
    }

    pub(crate) fn append(&mut self, others: Remarks) {
        self.is_refused |= others.is_refused;
        self.list.extend(others.list);
    }

    /// Whether the object is refused.
    pub(crate) fn is_refused(&self) -> bool {
        self.is_refused
    }

    pub(crate) fn into_vec(self) -> Vec<Remark> {
        self.list
    }
}
