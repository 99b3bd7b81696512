//! The symbols of an object: what it defines, and what it wants from others.

use hsaco_bytes::ErrorKind;
use hsaco_files::{ObjectItem, Trouble};
use hsaco_load::{Executable, LoadedSymbolKind, SymbolRow};
use serde::Serialize;

use crate::calls::callers;

/// Which symbols are read, and what of them.
#[derive(Clone, Copy, Debug)]
pub struct Options<'q> {
    /// Of which kinds; all where none is named.
    pub kinds: &'q [LoadedSymbolKind],
    /// Whether to find who may call each function, for which all code is decoded.
    pub callers: bool,
}

/// The symbols of an object.
#[derive(Default, Serialize)]
pub struct Symbols {
    /// In the order of the loader.
    pub symbols: Vec<SymbolRow>,
}

impl Symbols {
    /// Reads them as a loader does; what it refuses is noted.
    pub fn new(item: &ObjectItem<'_, '_>, options: Options<'_>, trouble: &mut Trouble) -> Self {
        let Some(object) = &item.object else { return Symbols::default() };
        let mut executable = Executable::new(None);
        if let Err(error) = executable.inspect("", object.data()) {
            item.note(file_error(&error), trouble);
            return Symbols::default();
        }
        let callers = if options.callers { callers(item, trouble) } else { None };
        let wanted = |kind| options.kinds.is_empty() || options.kinds.contains(&kind);
        let symbols = executable.symbols().filter(|it| wanted(it.kind()));
        let row = |symbol| {
            let mut row = SymbolRow::new(&executable, &symbol);
            let is_called =
                matches!(symbol.kind(), LoadedSymbolKind::Function | LoadedSymbolKind::External);
            if let (Some(callers), true) = (&callers, is_called) {
                let own = callers.get(&symbol.name().to_string()).cloned();
                row.callers = Some(own.unwrap_or_default());
            }
            row
        };
        Symbols { symbols: symbols.map(row).collect() }
    }
}

/// What the loader says of an object, as a problem of the file.
fn file_error(error: &hsaco_load::Error) -> hsaco_bytes::Error {
    use hsaco_load::ErrorKind as Refusal;
    let kind = match error.kind() {
        Refusal::UnsupportedRelocation | Refusal::UnsupportedMetadata => ErrorKind::Unsupported,
        _ => ErrorKind::Malformed,
    };
    let found = hsaco_bytes::Error::new(kind, error.kind().name(), error.detail());
    match error.offset() {
        Some(offset) => found.at(offset),
        None => found,
    }
}
