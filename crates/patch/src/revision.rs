//! What an object says of the stepping that it is for.

use hsaco_object::{CodeObject, Kernel};

use crate::refusal::{Refusal, RefusalKind};

/// The key of a kernel's metadata.
pub(crate) const KEY: &str = ".gfx1250_revision";

/// What is to be done by what an object says.
pub(crate) enum Revision {
    /// Nothing: every kernel is for A0.
    Done,
    /// Rewrite it: kernels are for B0, or say nothing.
    Open,
    /// It contradicts itself.
    Refused(Refusal),
}

fn said(kernel: &Kernel<'_>) -> Option<String> {
    let map = kernel.metadata()?.map().ok()?;
    let value = map.value(KEY).ok()??;
    Some(value.as_str().map_or_else(|| value.kind_name().to_owned(), |text| text.to_string()))
}

/// Whether a kernel says that it is for B0.
pub(crate) fn is_b0(kernel: &Kernel<'_>) -> bool {
    said(kernel).as_deref() == Some("B0")
}

/// What the kernels of an object say together.
pub(crate) fn of(object: &CodeObject<'_>) -> Revision {
    let index = object.index();
    let said: Vec<Option<String>> = index.kernels().iter().map(said).collect();
    let refuse = |detail: String| Revision::Refused(Refusal::new(RefusalKind::Metadata, detail));
    let odd = said.iter().zip(index.kernels()).find_map(|(said, kernel)| {
        let text = said.as_deref().filter(|text| !matches!(*text, "A0" | "B0"))?;
        Some(format!("{KEY} of {} is {text}, neither A0 nor B0", kernel.name()))
    });
    if let Some(detail) = odd {
        return refuse(detail);
    }
    let done = said.iter().filter(|it| it.as_deref() == Some("A0")).count();
    match done {
        0 => Revision::Open,
        _ if done == said.len() => Revision::Done,
        _ => refuse(format!("{done} of {} kernels say that they are for A0", said.len())),
    }
}
