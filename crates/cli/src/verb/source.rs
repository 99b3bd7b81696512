//! `hsaco source`: the source of kernels, and what became of each line.

use std::io::Write;

use anyhow::Result;
use hsaco::isa::decoder::DecoderCache;
use hsaco_describe::Place;
use hsaco_describe::source::{
    Instruction, KernelSource, LoopChoice, ObjectSource, Options, Stretch,
};

use crate::args::Reading;
use crate::frame::Heading;
use crate::report::Status;
use crate::scan::Verify;
use crate::skeleton::{self, Look, Page, Verb};
use crate::source_files::{Moved, SourceFiles};
use crate::tabular::NameStyle;
use crate::verb::lines::{NO_LINES, nothing};
use hsaco::bytes::escape::shown;

/// Shows source lines and the instructions that they became, one below the other
///
/// Instructions are in the order of the program; before those of another line is that line, if its file is there.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    reading: Reading,
    /// Show the calls that were inlined, the innermost first
    #[arg(long)]
    inlines: bool,
    /// Mark the columns that the instructions come from, below each line
    #[arg(long)]
    columns: bool,
    /// Look for sources whose paths begin with OLD under NEW; the first that fits counts
    #[arg(long, value_name = "OLD=NEW")]
    map: Vec<Moved>,
    /// Show loops first, the innermost first: what they execute, live registers, branch targets as labels
    #[arg(long)]
    hot: bool,
    /// Show only the loop with this number, and the loops in it
    #[arg(long = "loop", value_name = "N", conflicts_with = "hot")]
    ring: Option<usize>,
    #[command(flatten)]
    style: NameStyle,
}

impl Args {
    fn loops(&self) -> Option<LoopChoice> {
        self.ring.map(LoopChoice::Number).or(self.hot.then_some(LoopChoice::Hot))
    }
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let (files, decoders) = (SourceFiles::default(), DecoderCache::default());
    skeleton::run(&Source { args, files, decoders }, &args.reading)
}

/// What is asked of every object, and what was read for others.
struct Source<'a> {
    args: &'a Args,
    files: SourceFiles,
    decoders: DecoderCache,
}

impl Verb for Source<'_> {
    type Row<'e> = ObjectSource;
    const HEADING: Heading = Heading::Name;
    const VERIFY: Verify = Verify::Cheap;

    fn read(&self, look: &mut Look<'_, '_, '_>) -> ObjectSource {
        let line = |file: &str, line| self.files.line(&self.moved(file), line);
        let options = Options {
            kernels: look.kernels,
            inlines: self.args.inlines,
            max_size: self.args.reading.inputs.max_size,
            line: &line,
            decoders: &self.decoders,
            loops: self.args.loops(),
        };
        ObjectSource::new(look.item, &options, look.trouble)
    }

    fn text(&self, row: &ObjectSource, page: &mut Page) -> Result<()> {
        let nothing = nothing(row.is_readable);
        row.kernels.iter().try_for_each(|it| self.write_kernel(&mut page.out, it, nothing))
    }

    fn is_found(&self, row: &ObjectSource) -> bool {
        match self.args.loops() {
            Some(LoopChoice::Number(_)) => row.has_loops(),
            Some(LoopChoice::Hot) => !row.kernels.is_empty(),
            None => row.has_lines(),
        }
    }

    fn missing(&self) -> (Status, String) {
        match self.args.loops() {
            Some(LoopChoice::Number(number)) => {
                (Status::Unreadable, format!("no kernel has a loop {number}; --hot shows loops"))
            }
            Some(LoopChoice::Hot) => {
                (Status::Unreadable, "there is no kernel with code".to_owned())
            }
            None => (Status::Unreadable, NO_LINES.to_owned()),
        }
    }
}

impl Source<'_> {
    fn moved(&self, file: &str) -> String {
        Moved::apply(&self.args.map, file)
    }

    /// Writes a kernel; `nothing` is what to say if it has no lines.
    fn write_kernel(&self, out: &mut Vec<u8>, kernel: &KernelSource, nothing: &str) -> Result<()> {
        let has_nothing = kernel.stretches.is_empty() && kernel.loops.iter().all(Vec::is_empty);
        if has_nothing && kernel.loops.is_some() {
            return Ok(());
        }
        writeln!(out, "  {}", shown(&self.args.style.names.of(kernel.name.as_str().into())))?;
        if !kernel.has_lines() && kernel.loops.is_none() {
            writeln!(out, "    {nothing}")?;
        }
        for ring in kernel.loops.iter().flatten() {
            for (at, words) in ring.words().iter().enumerate() {
                writeln!(out, "    {}{}", if at == 0 { "" } else { "  " }, shown(words))?;
            }
            self.write_stretches(out, &ring.stretches)?;
        }
        if kernel.loops.as_ref().is_some_and(|it| !it.is_empty()) && !kernel.stretches.is_empty() {
            writeln!(out, "    outside loops")?;
        }
        self.write_stretches(out, &kernel.stretches)
    }

    fn write_stretches(&self, out: &mut Vec<u8>, stretches: &[Stretch]) -> Result<()> {
        let mut file = None;
        for stretch in stretches {
            if stretch.place.file != file {
                file.clone_from(&stretch.place.file);
                self.write_file(out, file.as_deref())?;
            }
            write_stretch(out, stretch, self.args.columns)?;
        }
        Ok(())
    }

    fn write_file(&self, out: &mut Vec<u8>, file: Option<&str>) -> Result<()> {
        let Some(file) = file else { return Ok(writeln!(out, "    code without a place")?) };
        let moved = self.moved(file);
        let name = shown(&moved);
        match self.files.text(&moved) {
            Some(_) => writeln!(out, "    {name}")?,
            None => writeln!(out, "    {name} (not found; --map OLD=NEW says where it is)")?,
        }
        Ok(())
    }
}

fn write_stretch(out: &mut Vec<u8>, stretch: &Stretch, columns: bool) -> Result<()> {
    let source = stretch.source.as_deref().unwrap_or_default();
    if stretch.place.file.is_some() {
        let line = stretch.place.line.map_or("?".to_owned(), |it| it.to_string());
        writeln!(out, "{}", format!("    {line:>5} | {source}").trim_end())?;
    }
    if columns && stretch.source.is_some() && !stretch.columns.is_empty() {
        writeln!(out, "          | {}", marks(source, stretch))?;
    }
    let mut inlined = stretch.place.function.as_deref();
    for call in stretch.inlined_at.iter().flatten() {
        let function = inlined.unwrap_or("a function");
        writeln!(out, "          | {}, inlined at {}", shown(function), shown(&place(call)))?;
        inlined = call.function.as_deref();
    }
    stretch.instructions.iter().try_for_each(|it| write_instruction(out, it))
}

fn write_instruction(out: &mut Vec<u8>, instruction: &Instruction) -> Result<()> {
    let Instruction { address, text, label, live, .. } = instruction;
    if let Some(label) = label {
        writeln!(out, "          {label}:")?;
    }
    let text = text.trim_start();
    match live {
        None => writeln!(out, "            {address:#x}  {}", instruction.text)?,
        Some(live) => {
            let [vgprs, sgprs] = [live.vgprs, live.sgprs]
                .map(|it| it.map_or_else(|| "?".to_owned(), |it| it.to_string()));
            writeln!(out, "            {address:#x}  {vgprs:>3}v {sgprs:>3}s  {text}")?;
        }
    }
    Ok(())
}

/// A mark below each column; tabs stay, so that marks stand where the line has its columns.
fn marks(source: &str, stretch: &Stretch) -> String {
    let last = stretch.columns.last().copied().unwrap_or(0).min(MOST_COLUMNS);
    let mut letters = source.chars();
    let mark = |column: u32| match (stretch.columns.contains(&column), letters.next()) {
        (true, _) => '^',
        (false, Some('\t')) => '\t',
        (false, _) => ' ',
    };
    (1..=last).map(mark).collect()
}

/// Lines are shorter than this; a broken table may say what it wants.
const MOST_COLUMNS: u32 = 1000;

/// `file:line:column`, as far as it is known.
fn place(place: &Place) -> String {
    let file = place.file.as_deref().unwrap_or("?");
    let numbers = [place.line, place.column];
    numbers.iter().map_while(|it| *it).fold(file.to_owned(), |text, it| format!("{text}:{it}"))
}
