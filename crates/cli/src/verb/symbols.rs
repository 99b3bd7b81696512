//! `hsaco symbols`: what objects define and want.

use anyhow::Result;
use hsaco::load::{LoadedSymbolKind, SymbolRow};
use hsaco_describe::names::Names;
use hsaco_describe::symbols::{Options, Symbols};
use hsaco_describe::tables::{self, Place};
use hsaco_table::Rows;

use crate::args::{Inputs, ObjectFilter};
use crate::frame::Heading;
use crate::report::Status;
use crate::skeleton::{self, AskedTable, Look, Page, TableVerb, Verb};
use crate::table::{Cell, Table};
use crate::tabular::{NameStyle, TableAnswer};

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
    answer: TableAnswer,
    #[command(flatten)]
    style: NameStyle,
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
    let Args { inputs, objects, answer, .. } = args;
    skeleton::run_table(args, &AskedTable { inputs, objects, kernels: None, answer })
}

impl TableVerb for Args {
    type Record<'a> = SymbolRow;

    fn names(&self) -> Names {
        self.style.or_mangled(self.no_demangle)
    }

    fn rows(&self, row: &Symbols, place: Place<'_>) -> Rows {
        tables::rows(Some(place), &row.symbols)
    }
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
            let name = self.names().of(symbol.name.as_str().into());
            let [kind, binding, visibility] = symbol.words().map(Cell::from);
            let value = symbol.value().map_or(Cell::Unknown, Cell::Hex);
            let size = Cell::Number(symbol.size());
            table.row([value, size, kind, binding, visibility, (&*name).into()]);
        }
        Ok(table.write(&mut page.out, page.color)?)
    }
}
