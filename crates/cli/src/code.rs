//! What it takes to look into an object's code.

use hsaco::analysis::Decoders;
use hsaco::object::container::EntryKind;
use hsaco::object::{CodeObject, Error, ErrorKind};

use crate::report::Trouble;
use crate::scan::ObjectItem;

/// An object and the decoders for its code; where that is none, what is in the way is noted.
pub(crate) fn open<'i, 'e>(
    item: &'i ObjectItem<'e, '_>,
    trouble: &mut Trouble,
) -> Option<(&'i CodeObject<'e>, Decoders)> {
    match decoders(item) {
        Ok(Some((object, decoders))) => {
            for problem in object.elf().problems() {
                trouble.note(item.place(), item.located(problem.clone()));
            }
            Some((object, decoders))
        }
        // What cannot be read has been complained about.
        Ok(None) => None,
        Err(detail) => {
            let problem = Error::new(ErrorKind::Unsupported, "instructions", detail);
            trouble.note(item.place(), item.located(problem));
            None
        }
    }
}

fn decoders<'i, 'e>(
    item: &'i ObjectItem<'e, '_>,
) -> Result<Option<(&'i CodeObject<'e>, Decoders)>, String> {
    match (&item.object, item.entry.kind) {
        (Some(object), _) => match Decoders::new(object) {
            Some(Ok(decoders)) => Ok(Some((object, decoders))),
            Some(Err(error)) => Err(error.to_string()),
            None => Err(format!("those of {} are not known", object.target())),
        },
        (None, EntryKind::Bitcode | EntryKind::Spirv) => {
            Err(format!("{} has none before it is compiled", item.entry.kind.name()))
        }
        _ => Ok(None),
    }
}
