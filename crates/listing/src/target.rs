//! Where a branch goes, in words.

use std::borrow::Cow;

use hsaco_elf::symbol::STT_NOTYPE;
use hsaco_isa::Inst;

use crate::layout::Label;
use crate::plan::{CodeSpan, ListingPlan};

/// How a branch's target is named.
pub(crate) enum Target<'p> {
    /// A label takes the place of the last operand.
    Operand(Cow<'p, [u8]>),
    /// A name, and a distance from it, follow the encoding.
    Annotation(&'p [u8], u64),
}

impl CodeSpan {
    /// The words for the target of a branch in this span, if there are any.
    pub(crate) fn target<'p>(
        &self,
        plan: &'p ListingPlan<'_>,
        branch: &Inst,
        target: u64,
    ) -> Option<Target<'p>> {
        let labels = &plan.section(self)?.labels;
        if let Some(label) = operand(labels, target) {
            return Some(Target::Operand(quoted(&label.name)));
        }
        if !branch.has_target_first() {
            return None;
        }
        let label = match self.own.contains(&target) {
            true => labels.get(self.nearest),
            false => plan.layout.nearest(self.section, target),
        }?;
        Some(Target::Annotation(&label.name, target.wrapping_sub(label.address)))
    }
}

/// The first label without a type at an address: functions are annotated, labels are operands.
fn operand<'l, 'a>(labels: &'l [Label<'a>], address: u64) -> Option<&'l Label<'a>> {
    let first = labels.partition_point(|it| it.address < address);
    let here = labels.get(first..)?.iter().take_while(|it| it.address == address);
    here.into_iter().find(|it| it.kind == STT_NOTYPE)
}

/// A name as the assembler reads it: between quotes unless it is a plain word.
fn quoted<'n>(name: &'n [u8]) -> Cow<'n, [u8]> {
    let is_plain = |it: &u8| it.is_ascii_alphanumeric() || b"_$.".contains(it);
    if name.iter().all(is_plain) {
        return Cow::Borrowed(name);
    }
    let mut text = vec![b'"'];
    for &byte in name {
        match byte {
            b'\n' => text.extend_from_slice(b"\\n"),
            b'"' | b'\\' => text.extend_from_slice(&[b'\\', byte]),
            byte => text.push(byte),
        }
    }
    text.push(b'"');
    Cow::Owned(text)
}
