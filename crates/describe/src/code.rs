//! An object's code, with what is in the way of reading it.

use hsaco_analysis::{CallGraph, Code};
use hsaco_bytes::{Error, ErrorKind, Result};
use hsaco_container::EntryKind;
use hsaco_files::{ObjectItem, Trouble};

/// The code of an object; where there is none, what is in the way is noted.
pub fn open_code<'e>(item: &ObjectItem<'e, '_>, trouble: &mut Trouble) -> Option<Code<'e>> {
    match code(item) {
        Ok(code) => {
            let problems = code.iter().flat_map(|it| it.object().elf().problems());
            problems.for_each(|problem| item.note(problem.clone(), trouble));
            code
        }
        Err(problem) => {
            item.note(problem, trouble);
            None
        }
    }
}

fn code<'e>(item: &ObjectItem<'e, '_>) -> Result<Option<Code<'e>>> {
    compiled(item)?;
    item.object.as_ref().map(Code::of).transpose()
}

/// An error where an entry holds code that is still to be compiled. What cannot be read was noted with the item.
pub(crate) fn compiled(item: &ObjectItem<'_, '_>) -> Result<()> {
    match item.entry.kind {
        EntryKind::Bitcode | EntryKind::Spirv if item.object.is_none() => {
            let detail = format!("{} has none before it is compiled", item.entry.kind.name());
            Err(Error::new(ErrorKind::Unsupported, "instructions", detail))
        }
        _ => Ok(()),
    }
}

/// The call graph of an object, and its code.
pub(crate) fn call_graph<'e>(
    item: &ObjectItem<'e, '_>,
    trouble: &mut Trouble,
) -> Option<(CallGraph<'e>, Code<'e>)> {
    let code = open_code(item, trouble)?;
    // A pointer that is not relocated is a call that is not seen.
    for problem in code.object().relocations().1 {
        item.note(problem, trouble);
    }
    Some((CallGraph::new(&code), code))
}
