//! What an object says of the stepping that it is for, and what that means to rules that take one.

use hsaco_object::{CodeObject, Kernel};

use crate::refusal::{Refusal, RefusalKind};
use crate::rule::Stepping;

/// The key of a kernel's metadata.
pub(crate) const KEY: &str = ".gfx1250_revision";

/// What is to be done by what an object says.
pub(crate) enum Revision {
    /// Nothing: every kernel is for the stepping that the rules give.
    Done,
    /// Rewrite it: kernels are for the stepping that the rules take, or say nothing.
    Open,
    /// It contradicts itself or the rules.
    Refused(Refusal),
}

fn said(kernel: &Kernel<'_>) -> Option<String> {
    let map = kernel.metadata()?.map().ok()?;
    let value = map.value(KEY).ok()??;
    Some(value.as_str().map_or_else(|| value.kind_name().to_owned(), |text| text.to_string()))
}

/// Whether rules that ran in full change what a kernel says.
pub(crate) fn changes(stepping: Stepping, kernel: &Kernel<'_>) -> bool {
    stepping.takes != stepping.gives && said(kernel).as_deref() == Some(stepping.takes)
}

/// What the kernels of an object say together, to rules that take a stepping.
pub(crate) fn of(object: &CodeObject<'_>, stepping: Stepping) -> Revision {
    let index = object.index();
    let said: Vec<Option<String>> = index.kernels().iter().map(said).collect();
    let refuse = |detail: String| Revision::Refused(Refusal::new(RefusalKind::Metadata, detail));
    let odd = said.iter().zip(index.kernels()).find_map(|(said, kernel)| {
        let text = said.as_deref().filter(|text| !Stepping::ALL.contains(text))?;
        Some(format!("{KEY} of {} is {text}, neither A0 nor B0", kernel.name()))
    });
    if let Some(detail) = odd {
        return refuse(detail);
    }
    let others: Vec<&str> =
        said.iter().flatten().map(String::as_str).filter(|it| *it != stepping.takes).collect();
    match others.first() {
        None => Revision::Open,
        Some(given) if *given == stepping.gives && others.len() == said.len() => Revision::Done,
        Some(other) => refuse(format!(
            "{} of {} kernels say that they are for {other}, and the rules take {}",
            others.len(),
            said.len(),
            stepping.takes
        )),
    }
}
