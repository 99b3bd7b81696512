//! What `kernarg` says of an object: the JSON shape, which the text is made from too.

use hsaco::dwarf::DebugInfo;
use hsaco::kernarg::{Arguments, KernelLayout};
use hsaco::object::{CodeObject, Kernel};
use serde::Serialize;

use super::Question;
use crate::report::Trouble;
use crate::scan::ObjectItem;

/// One object of `kernarg`.
#[derive(Serialize)]
pub(super) struct ObjectLayouts {
    pub(super) index: usize,
    pub(super) entry_id: Option<String>,
    pub(super) target: Option<String>,
    pub(super) kernels: Vec<KernelLayout>,
}

impl ObjectLayouts {
    pub(super) fn new(
        item: &ObjectItem<'_, '_>,
        question: &Question<'_>,
        trouble: &mut Trouble,
    ) -> Self {
        let mut found = Self {
            index: item.number,
            entry_id: item.entry.id.clone(),
            target: item.target.clone(),
            kernels: Vec::new(),
        };
        let Some(object) = &item.object else { return found };
        each_kernel(object, item, question, trouble, |kernel, arguments| {
            found.kernels.push(KernelLayout::new(kernel, arguments, question.registers));
        });
        found
    }
}

/// Shows every wanted kernel of an object with its arguments; debug information that cannot be read is reported.
pub(super) fn each_kernel(
    object: &CodeObject<'_>,
    item: &ObjectItem<'_, '_>,
    question: &Question<'_>,
    trouble: &mut Trouble,
    mut show: impl FnMut(&Kernel<'_>, &Arguments),
) {
    let index = item.index(object, trouble);
    let kernels = question.kernels.of(&index);
    if kernels.is_empty() {
        return;
    }
    let debug = DebugInfo::open_capped(object, question.max_size);
    let opened = debug.as_ref().ok().map(|it| (it.map(), it.sections()));
    for kernel in kernels {
        show(kernel, &Arguments::new(object, &index, kernel, opened, question.inference));
    }
    if let Err(error) = debug {
        trouble.note(item.place(), item.located(error));
    }
}
