//! `hsaco symbols`: what objects define and want.

use anyhow::Result;
use hsaco::load::LoadedSymbolKind;
use hsaco_describe::symbols::{Options, Symbols};

use crate::args::{Answer, Inputs, ObjectFilter};
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
    kind: Vec<LoadedSymbolKind>,
    /// Show who may call each function; that decodes all code
    #[arg(long)]
    callers: bool,
    /// Show names as the linker sees them
    #[arg(long)]
    no_demangle: bool,
}

fn parse_kind(text: &str) -> Result<LoadedSymbolKind, String> {
    let found = LoadedSymbolKind::ALL.into_iter().find(|it| it.name() == text);
    found.ok_or_else(|| {
        let names: Vec<&str> = LoadedSymbolKind::ALL.iter().map(|it| it.name()).collect();
        format!("expected one of {}", names.join(", "))
    })
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    skeleton::run(args, Asked::new(&args.inputs, &args.objects, &args.answer))
}

impl Verb for Args {
    type Row<'e> = Symbols;
    const HEADING: Heading = Heading::Spaced;

    fn read(&self, look: &mut Look<'_, '_, '_>) -> Symbols {
        let options = Options { kinds: &self.kind, callers: self.callers };
        Symbols::new(look.item, options, look.trouble)
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
