//! `hsaco symbols`: what objects define and want.

use anyhow::Result;
use hsaco::load::{Executable, SymbolKind};
use hsaco_describe::calls::callers;
use serde::Serialize;

use crate::args::{Answer, Inputs, ObjectFilter};
use crate::executable::SymbolRow;
use crate::frame::Heading;
use crate::report::Status;
use crate::skeleton::{self, Asked, Look, Page, Verb};
use crate::table::{Cell, Table};

/// Lists kernels, functions, variables and what objects want from others
///
/// Every symbol with its kind, place, size, and who may see it; JSON has all that a runtime answers
/// about a symbol, and what it needs to launch a kernel.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    inputs: Inputs,
    #[command(flatten)]
    objects: ObjectFilter,
    #[command(flatten)]
    answer: Answer,
    /// Only symbols of this kind: kernel, variable, function, indirect_function, external, lds, absolute
    #[arg(long, value_name = "KIND", value_parser = parse_kind)]
    kind: Vec<SymbolKind>,
    /// Show who may call each function; that decodes all code
    #[arg(long)]
    callers: bool,
    /// Show names as the linker sees them
    #[arg(long)]
    no_demangle: bool,
}

fn parse_kind(text: &str) -> Result<SymbolKind, String> {
    let found = SymbolKind::ALL.into_iter().find(|it| it.name() == text);
    found.ok_or_else(|| {
        let names: Vec<&str> = SymbolKind::ALL.iter().map(|it| it.name()).collect();
        format!("expected one of {}", names.join(", "))
    })
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    skeleton::run(args, Asked::new(&args.inputs, &args.objects, &args.answer))
}

/// The symbols of an object.
#[derive(Default, Serialize)]
pub(crate) struct Symbols {
    symbols: Vec<SymbolRow>,
}

impl Verb for Args {
    type Row<'e> = Symbols;
    const HEADING: Heading = Heading::Spaced;

    fn read(&self, look: &mut Look<'_, '_, '_>) -> Symbols {
        let Some(object) = &look.item.object else { return Symbols::default() };
        let mut executable = Executable::new(None);
        if let Err(error) = executable.inspect("", object.data()) {
            look.item.note(file_error(&error), look.trouble);
            return Symbols::default();
        }
        let callers = if self.callers { callers(look.item, look.trouble) } else { None };
        let wanted = |kind| self.kind.is_empty() || self.kind.contains(&kind);
        let symbols = executable.symbols().filter(|it| wanted(it.kind()));
        let row = |symbol| {
            let mut row = SymbolRow::new(&executable, &symbol);
            let is_called = matches!(symbol.kind(), SymbolKind::Function | SymbolKind::External);
            if let (Some(callers), true) = (&callers, is_called) {
                let own = callers.get(&symbol.name().to_string()).cloned();
                row.callers = Some(own.unwrap_or_default());
            }
            row
        };
        Symbols { symbols: symbols.map(row).collect() }
    }

    fn text(&self, row: &Symbols, page: &mut Page) -> Result<()> {
        let mut table = Table::titled(">value|>size|kind|binding|visibility|name");
        for symbol in &row.symbols {
            let name = symbol.text(self.no_demangle);
            let [kind, binding, visibility] = symbol.words().map(Cell::from);
            let value = symbol.value().map_or(Cell::Unknown, Cell::Hex);
            let size = Cell::Number(symbol.size());
            table.row([value, size, kind, binding, visibility, (&name).into()]);
        }
        Ok(table.write(&mut page.out, page.color)?)
    }
}

/// What the loader says of an object, as a problem of the file.
fn file_error(error: &hsaco::load::Error) -> hsaco::bytes::Error {
    use hsaco::bytes::ErrorKind;
    let kind = match crate::executable::status_of(error.kind()) {
        Status::Unsupported => ErrorKind::Unsupported,
        _ => ErrorKind::Malformed,
    };
    let found = hsaco::bytes::Error::new(kind, error.kind().name(), error.detail());
    match error.offset() {
        Some(offset) => found.at(offset),
        None => found,
    }
}
