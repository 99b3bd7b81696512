//! `hsaco symbols`: what objects define and want.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::Result;
use hsaco::analysis::CallGraph;
use hsaco::container::Entry;
use hsaco::load::{Executable, SymbolKind};
use serde::Serialize;

use crate::args::{Answer, Format, Inputs, ObjectFilter};
use crate::executable::SymbolRow;
use crate::json_files;
use crate::output::Output;
use crate::report::{Status, Trouble};
use crate::scan::{self, FileItem, ObjectItem, Verify, Visit};
use crate::table::{Align, Cell, Table};
use crate::text::shown;
use crate::verb::calls;
use crate::verb::ls::object_line;

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
    args.answer.color.apply();
    let mut out = Output::answer(&args.answer)?;
    let status = match args.answer.format {
        Format::Json => {
            let read = |item: &ObjectItem<'_, '_>, trouble: &mut Trouble| {
                let symbols = symbols(args, item, trouble);
                let object = ObjectSymbols {
                    index: item.number,
                    entry_id: item.entry.id.clone(),
                    target: item.target.clone(),
                    symbols,
                };
                Ok(vec![serde_json::to_vec(&object)?])
            };
            json_files::run(&mut out, &args.inputs, &args.objects, Verify::All, read)?
        }
        Format::Text => {
            let mut visitor = Text { out: &mut out, args, files: 0 };
            scan::run(&args.inputs, &args.objects, Verify::All, &mut visitor)?
        }
    };
    out.finish()?;
    Ok(status)
}

/// One object of `symbols`.
#[derive(Serialize)]
struct ObjectSymbols {
    index: usize,
    entry_id: Option<String>,
    target: Option<String>,
    symbols: Vec<SymbolRow>,
}

fn symbols(args: &Args, item: &ObjectItem<'_, '_>, trouble: &mut Trouble) -> Vec<SymbolRow> {
    let Some(object) = &item.object else { return Vec::new() };
    let mut executable = Executable::new(None);
    if let Err(error) = executable.inspect("", object.data()) {
        trouble.note(item.place(), item.located(file_error(&error)));
        return Vec::new();
    }
    let callers = args.callers.then(|| calls::graph(item, trouble)).flatten();
    let callers = callers.map(|(graph, _)| callers_by_name(&graph));
    let wanted = |kind| args.kind.is_empty() || args.kind.contains(&kind);
    let symbols = executable.symbols().filter(|it| wanted(it.kind()));
    let row = |symbol| {
        let mut row = SymbolRow::new(&executable, &symbol);
        let is_called = matches!(symbol.kind(), SymbolKind::Function | SymbolKind::External);
        if let (Some(callers), true) = (&callers, is_called) {
            row.callers =
                Some(callers.get(&symbol.name().to_string()).cloned().unwrap_or_default());
        }
        row
    };
    symbols.map(row).collect()
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

/// Who may call each function and each external.
fn callers_by_name(graph: &CallGraph<'_>) -> BTreeMap<String, Vec<String>> {
    let functions = graph.functions();
    let name = |number: usize| {
        let function = functions.get(number)?;
        Some(function.name.map_or_else(|| format!("{:#x}", function.address), |it| it.to_string()))
    };
    let mut callers: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (number, caller) in (0..functions.len()).filter_map(|it| Some((it, name(it)?))) {
        let known = graph.callees(number).into_iter().filter_map(name);
        let wanted = graph.calls(number).iter().filter_map(|call| match call.callee {
            hsaco::analysis::Callee::External(name) => Some(name.to_string()),
            _ => None,
        });
        for callee in known.chain(wanted) {
            let list = callers.entry(callee).or_default();
            if list.last() != Some(&caller) {
                list.push(caller.clone());
            }
        }
    }
    callers
}

struct Text<'o> {
    out: &'o mut Output,
    args: &'o Args,
    files: usize,
}

impl Visit for Text<'_> {
    type Row<'e> = (String, Vec<SymbolRow>);

    fn begin(&mut self, file: &FileItem<'_>) -> Result<()> {
        let gap = if self.files == 0 { "" } else { "\n" };
        self.files += 1;
        Ok(writeln!(self.out, "{gap}{}", shown(&file.input.name))?)
    }

    fn read<'e>(&self, item: &ObjectItem<'e, '_>, trouble: &mut Trouble) -> Result<Self::Row<'e>> {
        Ok((object_line(item), symbols(self.args, item, trouble)))
    }

    fn object(&mut self, (line, symbols): Self::Row<'_>) -> Result<()> {
        writeln!(self.out, "  {line}")?;
        let mut table = Table::new(&[
            ("value", Align::Right),
            ("size", Align::Right),
            ("kind", Align::Left),
            ("binding", Align::Left),
            ("visibility", Align::Left),
            ("name", Align::Left),
        ]);
        for symbol in &symbols {
            let name = symbol.text(self.args.no_demangle);
            let value = symbol.value().map_or(Cell::Unknown, Cell::Hex);
            let [kind, binding, visibility] = symbol.words();
            let cells = [
                value,
                Cell::Number(symbol.size()),
                kind.into(),
                binding.into(),
                visibility.into(),
                (&name).into(),
            ];
            table.row(cells);
        }
        let color = self.out.color();
        Ok(table.write(self.out, color)?)
    }

    fn other(&mut self, _entry: &Entry<'_>) -> Result<()> {
        Ok(())
    }

    fn end(&mut self, _error: Option<&str>) -> Result<()> {
        Ok(())
    }
}
