//! `hsaco query`: instructions by what they are, do and come from, over all kernels.

use std::io::Write;

use anyhow::{Context, Result};
use hsaco::isa::effects::{Access, Space};
use hsaco_describe::PlacePattern;
use hsaco_describe::names::Names;
use hsaco_describe::query::{Class, Found, FoundFunction, Query, Registers, Width};
use hsaco_describe::tables::{self, InstructionRecord, Place};
use hsaco_table::Rows;
use regex::Regex;

use crate::args::named;
use crate::frame::Heading;
use crate::report::Status;
use crate::scan::Verify;
use crate::select::KernelSelection;
use crate::skeleton::{self, Look, Page, TableVerb, Verb};
use crate::tabular::{NameStyle, TableReading};
use hsaco::bytes::escape::shown;

/// Finds instructions: by name, class, width of access, register, source line
///
/// An instruction must fit every option that is given. Kernels and device functions are searched.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    reading: TableReading,
    #[command(flatten)]
    style: NameStyle,
    /// A regular expression found in the name (`^global_`, `_b128$`)
    #[arg(short, long, value_name = "REGEX")]
    mnemonic: Option<String>,
    /// What it is; several must all hold
    #[arg(short, long, value_parser = named(&CLASSES), value_name = "CLASS")]
    class: Vec<Class>,
    /// Bytes that a lane moves, or the wave in scalar accesses (16, >=8, <4)
    #[arg(short, long, value_name = "BYTES")]
    width: Option<Width>,
    /// It reads or writes this register, or one of these (v12, s[4:7], vcc, exec)
    #[arg(long, value_name = "REGISTER")]
    register: Vec<Registers>,
    /// It reads this register
    #[arg(long, value_name = "REGISTER")]
    reads: Vec<Registers>,
    /// It writes this register
    #[arg(long, value_name = "REGISTER")]
    writes: Vec<Registers>,
    /// It comes from this line (kernel.hip:17)
    #[arg(long, value_name = "FILE:LINE")]
    at: Option<PlacePattern>,
}

/// The classes of instructions, and what names do not say of them.
const CLASSES: [(&str, &str, Class); 16] = [
    ("memory", "Accesses memory in any way", Class::Memory),
    ("load", "", Class::Access(Access::Load)),
    ("store", "", Class::Access(Access::Store)),
    ("atomic", "", Class::Access(Access::Atomic)),
    ("scalar", "", Class::Space(Space::Scalar)),
    ("global", "", Class::Space(Space::Global)),
    ("flat", "", Class::Space(Space::Flat)),
    ("buffer", "", Class::Space(Space::Buffer)),
    ("lds", "", Class::Space(Space::Lds)),
    ("scratch", "", Class::Space(Space::Scratch)),
    ("image", "", Class::Space(Space::Image)),
    ("branch", "Branches, with or without a condition", Class::Branch),
    ("call", "", Class::Call),
    ("matrix", "Multiplies matrices", Class::Matrix),
    ("wait", "Waits for counters", Class::Wait),
    ("barrier", "", Class::Barrier),
];

pub(crate) fn run(args: &Args) -> Result<Status> {
    let mnemonic = args.mnemonic.as_deref().map(Regex::new).transpose().context("--mnemonic")?;
    skeleton::run_table(&Question { args, mnemonic }, &(&args.reading).into())
}

struct Question<'a> {
    args: &'a Args,
    mnemonic: Option<Regex>,
}

impl TableVerb for Question<'_> {
    type Record<'a> = InstructionRecord<'a>;

    fn names(&self) -> Names {
        self.args.style.names
    }

    fn rows(&self, row: &Found, place: Place<'_>) -> Rows {
        tables::rows(Some(place), &InstructionRecord::all(row))
    }
}

impl Verb for Question<'_> {
    type Row<'e> = Found;
    const HEADING: Heading = Heading::Found;
    const VERIFY: Verify = Verify::Cheap;
    const HAS_ENTRY_ID: bool = false;

    fn read(&self, look: &mut Look<'_, '_, '_>) -> Found {
        let Self { args, mnemonic } = self;
        let fits = |name: &str| mnemonic.as_ref().is_none_or(|it| it.is_match(name));
        let query = Query {
            kernels: look.kernels,
            mnemonic: Some(&fits),
            classes: &args.class,
            width: args.width,
            registers: &args.register,
            reads: &args.reads,
            writes: &args.writes,
            at: args.at.as_ref(),
            max_size: args.reading.inputs.max_size,
        };
        query.find(look.item, look.trouble)
    }

    fn text(&self, row: &Found, page: &mut Page) -> Result<()> {
        row.functions.iter().try_for_each(|it| write_function(&mut page.out, it, self.names()))
    }

    fn is_shown(&self, row: &Found, _: &KernelSelection) -> bool {
        self.is_found(row)
    }

    fn is_found(&self, row: &Found) -> bool {
        !row.functions.is_empty()
    }

    fn missing(&self) -> (Status, String) {
        (Status::Findings, "no instruction is of that kind".to_owned())
    }
}

fn write_function(out: &mut Vec<u8>, function: &FoundFunction, names: Names) -> Result<()> {
    let name = function.name.as_deref().unwrap_or("unnamed");
    writeln!(out, "  {}", shown(&names.of(name.into())))?;
    for it in &function.instructions {
        let place = match (&it.file, it.line) {
            (Some(file), Some(line)) => format!("  {}:{line}", shown(file)),
            _ => String::new(),
        };
        let line = format!("    {:#x}  {:<48}{place}", it.address, it.text.trim_start());
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}
