//! `hsaco disasm`: code as instructions, to the byte as `llvm-objdump -d` prints it.

pub(super) mod options;

use anyhow::{Result, bail};
use hsaco::bytes::{Error, ErrorKind, Str};
use hsaco::container::{Container, EntryKind};
use hsaco::listing::{
    self, CodeSpan, JsonWriter, Lister, ListingPlan, Selection, Sink as _, TextStyle, TextWriter,
};

use crate::args::{Answer, Format, Inputs, KernelFilter, ObjectFilter};
use crate::frame::{self, Frame, Rows};
use crate::json::Members;
use crate::output::Output;
use crate::parallel;
use crate::report::{self, Status, Trouble};
use crate::scan::{self, FileItem, ObjectItem, Verify, Visit};
use crate::select::KernelSelection;
use crate::stream;
use crate::verb::lines::NO_LINES;

use options::{Attribute, DecodeMode, SourceArgs, True16, decode_options, parse_address};

/// Shows code as instructions, as llvm-objdump -d prints it
///
/// The text is to the byte what llvm-objdump -d of LLVM 22 prints. Objects of a container follow one
/// another; each begins with a line that has its number and target.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    inputs: Inputs,
    #[command(flatten)]
    objects: ObjectFilter,
    #[command(flatten)]
    kernels: KernelFilter,
    #[command(flatten)]
    answer: Answer,
    /// Only the code of these symbols, each up to the next symbol
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    disassemble_symbols: Vec<String>,
    /// Only code from this address on
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address)]
    start_address: Option<u64>,
    /// Only code below this address
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address)]
    stop_address: Option<u64>,
    /// Leave out the address before each symbol's name
    #[arg(long)]
    no_leading_addr: bool,
    /// Changes nothing, as in llvm-objdump: encodings of AMD GPU code are comments, and stay
    #[arg(long)]
    no_show_raw_insn: bool,
    /// Processor features to switch on or off: real-true16, wavefrontsize32, wavefrontsize64
    #[arg(
        long,
        value_name = "+FEATURE|-FEATURE",
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    mattr: Vec<Attribute>,
    /// Whether 16-bit operands name halves of registers; has the last word over --mattr
    #[arg(long, value_enum, default_value_t = True16::Llvm)]
    true16: True16,
    /// What counts as an instruction
    #[arg(long, value_enum, default_value_t = DecodeMode::Strict)]
    mode: DecodeMode,
    /// Before each instruction, how many vector, accumulation and scalar registers are live: needed by
    /// it or later; ? where that cannot be known
    #[arg(long)]
    live: bool,
    /// Print what hsaco asm and llvm-mc assemble to the same bytes: where the usual text does not tell all
    /// of them, data; names are comments
    #[arg(long, conflicts_with_all = ["live", "line_numbers", "source"])]
    reassemble: bool,
    #[command(flatten)]
    source: SourceArgs,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    args.answer.color.apply();
    if args.reassemble && args.answer.format == Format::Json {
        bail!("--reassemble is about text: leave --format json out");
    }
    let mut out =
        Output::open(args.answer.output.as_deref())?.exact(args.answer.format == Format::Text);
    let lister = Lister::new(listing::ListingOptions {
        decode: decode_options(&args.mattr, args.true16, args.mode),
        detects_true16: args.true16 == True16::Auto,
        live: args.live,
        reassembles: args.reassemble,
        source: args.source.options(),
        each,
    });
    let addresses = args.start_address.unwrap_or(0)..args.stop_address.unwrap_or(u64::MAX);
    let kernels = KernelSelection::new(&args.kernels);
    let wants = |name: Str<'_>| kernels.wants(name);
    let chosen = if kernels.is_all() { None } else { Some(&wants as _) };
    let selection = Selection::new(chosen, &args.disassemble_symbols, addresses);
    let reader = Reader { lister: &lister, selection: &selection };
    let status = match args.answer.format {
        Format::Text => {
            let style = TextStyle { leading_addresses: !args.no_leading_addr, color: out.color() };
            let mut visitor =
                TextListing { out: &mut out, reader, style, file: String::new(), is_object: false };
            scan::run(&args.inputs, &args.objects, Verify::Unpacked, &mut visitor)?
        }
        Format::Json => {
            let what = (&args.inputs, &args.objects, Verify::Unpacked);
            frame::run(&JsonListing { reader }, Frame::json(), what, &mut out)?
        }
    };
    out.finish()?;
    Ok(conclude(args, &lister, &selection, &kernels, status))
}

/// Works on every core.
fn each(count: usize, work: &(dyn Fn(usize) + Sync)) {
    /// A function is as much work as so many small things.
    const WEIGHT: usize = 64;
    let numbers: Vec<usize> = (0..count).collect();
    parallel::map(&numbers, WEIGHT, |number| work(*number));
}

/// The status of a run, which is not fine if something that was asked for is nowhere.
fn conclude(
    args: &Args,
    lister: &Lister,
    selection: &Selection<'_>,
    kernels: &KernelSelection,
    mut status: Status,
) -> Status {
    for name in selection.missing_symbols() {
        report::error(&format!("no code has the symbol '{name}'; hsaco info lists the symbols"));
        status.note(Status::Unreadable);
    }
    status = kernels.conclude(status);
    let (start, end) = (args.start_address.unwrap_or(0), args.stop_address.unwrap_or(u64::MAX));
    if (start, end) != (0, u64::MAX) && !selection.has_code() && status < Status::Unsupported {
        report::error(&format!("no code from {start:#x} to {end:#x}"));
        status.note(Status::Unreadable);
    }
    // The listing is whole without source lines: as with llvm-objdump, that no object has any is only said.
    if args.source.is_wanted() && !lister.has_lines() && status < Status::Unsupported {
        report::error(NO_LINES);
    }
    status
}

/// One object, as it was found and as it will be listed.
struct Row<'e> {
    number: usize,
    entry_id: Option<String>,
    target: Option<String>,
    plan: Option<ListingPlan<'e>>,
}

/// Reads objects.
#[derive(Clone, Copy)]
struct Reader<'r> {
    lister: &'r Lister,
    selection: &'r Selection<'r>,
}

impl Reader<'_> {
    fn read<'e>(&self, item: &ObjectItem<'e, '_>, trouble: &mut Trouble) -> Row<'e> {
        let mut problems = Vec::new();
        let plan = item.object.as_ref().and_then(|object| {
            ListingPlan::new(object, self.lister, self.selection, &mut problems)
        });
        if matches!(item.entry.kind, EntryKind::Bitcode | EntryKind::Spirv) {
            let detail = format!("{} has none before it is compiled", item.entry.kind.name());
            problems.push(Error::new(ErrorKind::Unsupported, "instructions", detail));
        }
        for problem in problems {
            trouble.note(item.place(), item.located(problem));
        }
        Row {
            number: item.number,
            entry_id: item.entry.id.clone(),
            target: item.target.clone(),
            plan,
        }
    }
}

/// Code for which a thread pays: to begin one takes as long as to print some kilobytes.
const WORTH_A_THREAD: usize = 32 << 10;

struct TextListing<'o> {
    out: &'o mut Output,
    reader: Reader<'o>,
    style: TextStyle,
    file: String,
    is_object: bool,
}

impl TextListing<'_> {
    /// What an object is called: a file that is one has its name.
    fn name(&self, row: &Row<'_>) -> String {
        match (self.is_object, row.target.as_deref()) {
            (true, _) => self.file.clone(),
            (false, Some(target)) => format!("{}#{} {target}", self.file, row.number),
            (false, None) => format!("{}#{}", self.file, row.number),
        }
    }
}

/// What a thread writes at a time.
struct Piece<'r, 'a> {
    /// The line before an object, which is called so.
    head: Option<String>,
    writer: TextWriter<'r, 'a>,
    spans: &'r [CodeSpan],
}

impl Visit for TextListing<'_> {
    type Row<'e> = Row<'e>;

    fn begin(&mut self, file: &FileItem<'_>) -> Result<()> {
        self.is_object = file.container == Some(Container::CodeObject);
        self.file = match file.input.name.as_str() {
            "-" => "<stdin>".to_owned(),
            name => name.to_owned(),
        };
        Ok(())
    }

    fn read<'e>(&self, item: &ObjectItem<'e, '_>, trouble: &mut Trouble) -> Result<Row<'e>> {
        Ok(self.reader.read(item, trouble))
    }

    fn object(&mut self, row: Row<'_>) -> Result<()> {
        self.objects(vec![row])
    }

    /// The threads that write go from one object to the next.
    fn objects(&mut self, rows: Vec<Row<'_>>) -> Result<()> {
        let mut pieces = Vec::new();
        for row in &rows {
            let Some(plan) = &row.plan else { continue };
            if plan.is_empty() && !self.is_object {
                continue;
            }
            let writer = TextWriter { plan, style: self.style };
            let mut head = Some(self.name(row));
            let mut units = plan.units();
            if units.is_empty() {
                units.push(&[]);
            }
            pieces.extend(units.into_iter().map(|spans| Piece {
                head: head.take(),
                writer,
                spans,
            }));
        }
        let size: usize =
            rows.iter().filter_map(|it| it.plan.as_ref()).map(ListingPlan::size).sum();
        stream::write(&pieces, size / WORTH_A_THREAD, self.out, |piece, part| {
            if let Some(name) = &piece.head {
                piece.writer.object(name, part.bytes())?;
            }
            piece.spans.iter().try_for_each(|span| piece.writer.span(span, part))
        })?;
        Ok(())
    }
}

struct JsonListing<'o> {
    reader: Reader<'o>,
}

impl Rows for JsonListing<'_> {
    type Row<'e> = Row<'e>;

    fn read<'e>(&self, item: &ObjectItem<'e, '_>, trouble: &mut Trouble) -> Result<Row<'e>> {
        Ok(self.reader.read(item, trouble))
    }

    fn write(&self, row: Row<'_>, out: &mut Output) -> Result<()> {
        let mut json = Members::begin(out)?;
        json.member("index", &row.number)?;
        json.member("entry_id", &row.entry_id)?;
        json.member("target", &row.target)?;
        json.list("functions", |out| {
            let Some(plan) = &row.plan else { return Ok(()) };
            let writer = JsonWriter { plan };
            stream::write(&plan.units(), plan.size() / WORTH_A_THREAD, *out, |spans, part| {
                spans.iter().try_for_each(|span| {
                    if span.number > 0 {
                        part.bytes().push(b',');
                    }
                    writer.span(span, part)
                })
            })?;
            Ok(())
        })?;
        json.end().map(drop)
    }
}
