//! What it takes to look into an object's code.

use hsaco::analysis::Code;
use hsaco::bytes::{Error, ErrorKind, Result};
use hsaco::container::EntryKind;

use crate::report::Trouble;
use crate::scan::ObjectItem;

/// The code of an object; where that is none, what is in the way is noted.
pub(crate) fn open<'e>(item: &ObjectItem<'e, '_>, trouble: &mut Trouble) -> Option<Code<'e>> {
    match code(item) {
        Ok(Some(code)) => {
            for problem in code.object().elf().problems() {
                trouble.note(item.place(), item.located(problem.clone()));
            }
            Some(code)
        }
        // What cannot be read has been complained about.
        Ok(None) => None,
        Err(problem) => {
            trouble.note(item.place(), item.located(problem));
            None
        }
    }
}

fn code<'e>(item: &ObjectItem<'e, '_>) -> Result<Option<Code<'e>>> {
    match (&item.object, item.entry.kind) {
        (Some(object), _) => Code::of(object).map(Some),
        (None, EntryKind::Bitcode | EntryKind::Spirv) => {
            let detail = format!("{} has none before it is compiled", item.entry.kind.name());
            Err(Error::new(ErrorKind::Unsupported, "instructions", detail))
        }
        _ => Ok(None),
    }
}
