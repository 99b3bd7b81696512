//! `hsaco args`: the arguments of kernels, where they are and of which type.

use std::io::Write;

use anyhow::Result;
use hsaco::dwarf::Spelling;
use hsaco::kernarg::SpelledArgument;
use hsaco::object::metadata::OwnedValueKind;
use hsaco_describe::arguments::{ArgumentLine, Arguments, ArgumentsOf, Options, What};
use hsaco_describe::tables::{self, ArgumentRecord, Place};
use hsaco_table::Rows;

use crate::frame::Heading;
use crate::report::Status;
use crate::skeleton::{self, Look, TableVerb, Verb};
use crate::table::{Cell, Table};
use crate::tabular::TableReading;
use hsaco::bytes::escape::shown;

/// Shows the arguments of kernels: offset, size, alignment, type, members and padding
///
/// Offsets and sizes are the metadata's, types and members those of the debug information (-g). What the
/// two say differently is named, and ends in exit code 1. Without metadata the offsets are computed, and said to be.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    reading: TableReading,
    /// Show what typedefs stand for instead of their names
    #[arg(long)]
    resolve_typedefs: bool,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    skeleton::run_table(args, &(&args.reading).into())
}

impl TableVerb for Args {
    type Record<'a> = ArgumentRecord<'a>;

    fn rows(&self, row: &Arguments, place: Place<'_>) -> Rows {
        tables::rows(Some(place), &ArgumentRecord::all(row))
    }
}

impl Verb for Args {
    type Row<'e> = Arguments;
    const HEADING: Heading = Heading::Container;

    fn read(&self, look: &mut Look<'_, '_, '_>) -> Arguments {
        let spelling = Spelling { resolve_typedefs: self.resolve_typedefs, ..Spelling::default() };
        let options =
            Options { kernels: look.kernels, spelling, max_size: self.reading.inputs.max_size };
        Arguments::new(look.item, &options, look.trouble)
    }

    fn text(&self, row: &Arguments, page: &mut skeleton::Page) -> Result<()> {
        row.kernels.iter().try_for_each(|it| write_kernel(&mut page.out, it, page.color))
    }

    fn is_finding(&self, row: &Arguments) -> bool {
        row.disagree()
    }
}

fn write_kernel(out: &mut Vec<u8>, kernel: &ArgumentsOf, color: bool) -> Result<()> {
    writeln!(out, "\nkernel {}", shown(&kernel.demangled))?;
    if kernel.computed {
        writeln!(out, "no metadata: offsets are computed from the types")?;
    }
    let lines = kernel.lines();
    if lines.is_empty() {
        writeln!(out, "no arguments")?;
        return Ok(());
    }
    let mut table = Table::titled(">OFFSET|>SIZE|>ALIGN|KIND|TYPE|ARGUMENT");
    for line in &lines {
        table.row(cells(line).each_ref().map(Stated::cell));
    }
    table.write(out, color)?;
    for disagreement in &kernel.disagreements {
        writeln!(out, "disagreement: {}", shown(&disagreement.message))?;
    }
    Ok(())
}

/// What is said in a cell.
enum Stated {
    Number(Option<u64>),
    Text(String),
}

impl Stated {
    fn cell(&self) -> Cell<'_> {
        match self {
            Self::Number(number) => (*number).into(),
            Self::Text(text) => text.into(),
        }
    }
}

/// Offset, size, alignment, kind, type and name. Offsets are those in the segment, of members too.
fn cells(line: &ArgumentLine<'_>) -> [Stated; 6] {
    let none = || Stated::Text(String::new());
    let text = |text: Option<&str>| Stated::Text(text.unwrap_or("-").to_owned());
    let indented =
        |text: &str| Stated::Text(format!("{:width$}{text}", "", width = 2 * line.depth));
    let (offset, size) = match line.bits {
        Some((bit, bits)) => {
            let place = line.offset.map(|byte| format!("{byte}.{bit}"));
            (text(place.as_deref()), Stated::Text(bit_count(bits)))
        }
        None => (Stated::Number(line.offset), Stated::Number(line.size)),
    };
    match line.what {
        What::Argument(spelled) => {
            let SpelledArgument { argument, ty, .. } = spelled;
            let kind = text(argument.kind.as_ref().map(OwnedValueKind::name));
            let alignment = Stated::Number(argument.alignment);
            [offset, size, alignment, kind, text(ty.as_deref()), text(argument.name.as_deref())]
        }
        What::Member(member) => {
            let name = match (&member.name, member.base) {
                (Some(name), _) => name,
                (None, true) => "(base)",
                (None, false) => "-",
            };
            let alignment = match line.bits {
                Some(_) => none(),
                None => Stated::Number(member.alignment),
            };
            [offset, size, alignment, none(), indented(&member.ty), indented(name)]
        }
        What::Padding => [offset, size, none(), none(), none(), indented("(padding)")],
    }
}

fn bit_count(bits: u64) -> String {
    if bits == 1 { "1 bit".to_owned() } else { format!("{bits} bits") }
}
