//! `hsaco lines`: which source lines code comes from, and which code a source line became.

use std::io::Write;

use anyhow::Result;
use hsaco_describe::PlacePattern;
use hsaco_describe::lines::{Frames, Line, Lines, Options};
use hsaco_describe::source_name;

use crate::args::Reading;
use crate::frame::Heading;
use crate::report::Status;
use crate::scan::Verify;
use crate::skeleton::{self, Look, Page, Verb};
use hsaco::bytes::escape::shown;

/// What to say where nothing maps code to its source.
pub(crate) const NO_LINES: &str = "no line information; compile with -g or -gline-tables-only";

/// Shows which source lines the code of kernels comes from
///
/// Each row is a stretch of code with one place in the source. With --at it is the other way round:
/// only code of those lines.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    reading: Reading,
    /// Only code of this line (kernel.hip:17, or kernel.hip:17:9 with a column); a path may begin at any folder
    #[arg(long, value_name = "FILE:LINE")]
    at: Vec<PlacePattern>,
    /// Show the calls that were inlined, the innermost first
    #[arg(long)]
    inlines: bool,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    skeleton::run(args, &args.reading)
}

impl Verb for Args {
    type Row<'e> = Lines;
    const HEADING: Heading = Heading::Name;
    const VERIFY: Verify = Verify::Cheap;
    const HAS_ENTRY_ID: bool = false;

    fn read(&self, look: &mut Look<'_, '_, '_>) -> Lines {
        let max_size = self.reading.inputs.max_size;
        let options =
            Options { kernels: look.kernels, at: &self.at, inlines: self.inlines, max_size };
        Lines::new(look.item, &options, look.trouble)
    }

    fn text(&self, row: &Lines, page: &mut Page) -> Result<()> {
        for kernel in &row.kernels {
            if kernel.lines.is_empty() && !self.at.is_empty() {
                continue;
            }
            writeln!(page.out, "  {}", shown(&source_name(kernel.name.as_str().into())))?;
            if kernel.lines.is_empty() {
                writeln!(page.out, "    {}", nothing(row.is_readable))?;
            }
            kernel.lines.iter().try_for_each(|line| write_line(&mut page.out, line))?;
        }
        Ok(())
    }

    fn is_found(&self, row: &Lines) -> bool {
        row.has_lines()
    }

    fn missing(&self) -> (Status, String) {
        let places: Vec<String> = self.at.iter().map(ToString::to_string).collect();
        let message = match places.is_empty() {
            true => NO_LINES.to_owned(),
            false => format!("no code comes from {}", places.join(" or ")),
        };
        (Status::Unreadable, message)
    }
}

/// What to say of a kernel without lines: a damaged object may have had some.
pub(crate) fn nothing(is_readable: bool) -> &'static str {
    if is_readable { NO_LINES } else { "no line information could be read" }
}

fn write_line(out: &mut Vec<u8>, line: &Line) -> Result<()> {
    let mut code = format!("{:#x}..{:#x}", line.start, line.end);
    for frame in line.place.iter() {
        let function = frame.function.as_deref().map(|name| source_name(name.into()));
        let function = function.map(|name| format!("  {name}")).unwrap_or_default();
        writeln!(out, "    {code:<16}  {}", shown(&format!("{}{function}", place(frame))))?;
        code.clear();
    }
    Ok(())
}

/// `file:line:column`, as compilers write it; code that the compiler made up has no line.
fn place(frame: &Frames) -> String {
    let file = frame.file.as_deref().unwrap_or("?");
    match (frame.line, frame.column) {
        (Some(line), Some(column)) => format!("{file}:{line}:{column}"),
        (Some(line), None) => format!("{file}:{line}"),
        (None, _) => format!("{file}:?"),
    }
}
