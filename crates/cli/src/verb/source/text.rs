//! `source` as text.

use std::fmt::Write as _;
use std::io::Write as _;

use anyhow::Result;

use super::model::{KernelSource, ObjectSource, Place, Question, Stretch};
use crate::output::Output;
use crate::report::Trouble;
use crate::scan::{FileItem, ObjectItem, Visit};
use crate::source_files::Moved;
use crate::text::shown;
use crate::verb::lines::nothing;
use crate::verb::ls::object_line;

pub(super) struct TextSource<'o, 'q> {
    pub(super) out: &'o mut Output,
    pub(super) question: &'q Question<'q>,
    /// Whether columns are marked.
    pub(super) columns: bool,
}

impl Visit for TextSource<'_, '_> {
    type Row<'e> = String;

    fn begin(&mut self, file: &FileItem<'_>) -> Result<()> {
        Ok(writeln!(self.out, "{}", shown(&file.input.name))?)
    }

    fn read(&self, item: &ObjectItem<'_, '_>, trouble: &mut Trouble) -> Result<String> {
        let found = ObjectSource::new(item, self.question, trouble);
        let mut text = format!("{}\n", object_line(item));
        for kernel in &found.kernels {
            self.write_kernel(&mut text, kernel, nothing(trouble))?;
        }
        Ok(text)
    }

    fn object(&mut self, text: String) -> Result<()> {
        Ok(self.out.write_all(text.as_bytes())?)
    }

    fn end(&mut self, _error: Option<&str>) -> Result<()> {
        Ok(())
    }
}

impl TextSource<'_, '_> {
    /// Writes a kernel; `nothing` is what to say if it has no lines.
    fn write_kernel(&self, text: &mut String, kernel: &KernelSource, nothing: &str) -> Result<()> {
        writeln!(text, "  {}", shown(&kernel.demangled))?;
        if kernel.stretches.iter().all(|it| it.place.file.is_none()) {
            writeln!(text, "    {nothing}")?;
        }
        let mut file = None;
        for stretch in &kernel.stretches {
            if stretch.place.file != file {
                file.clone_from(&stretch.place.file);
                self.write_file(text, file.as_deref())?;
            }
            write_stretch(text, stretch, self.columns)?;
        }
        Ok(())
    }

    fn write_file(&self, text: &mut String, file: Option<&str>) -> Result<()> {
        let Some(file) = file else { return Ok(writeln!(text, "    code without a place")?) };
        let moved = Moved::apply(self.question.moves, file);
        let name = shown(&moved);
        match self.question.files.text(&moved) {
            Some(_) => writeln!(text, "    {name}")?,
            None => writeln!(text, "    {name} (not found; --map OLD=NEW says where it is)")?,
        }
        Ok(())
    }
}

fn write_stretch(text: &mut String, stretch: &Stretch, columns: bool) -> Result<()> {
    let source = stretch.source.as_deref().unwrap_or_default();
    if stretch.place.file.is_some() {
        let line = stretch.place.line.map_or("?".to_owned(), |it| it.to_string());
        writeln!(text, "{}", format!("    {line:>5} | {source}").trim_end())?;
    }
    if columns && stretch.source.is_some() && !stretch.columns.is_empty() {
        writeln!(text, "          | {}", marks(source, stretch))?;
    }
    let mut inlined = stretch.place.function.as_deref();
    for call in stretch.inlined_at.iter().flatten() {
        let function = inlined.unwrap_or("a function");
        writeln!(text, "          | {}, inlined at {}", shown(function), shown(&place(call)))?;
        inlined = call.function.as_deref();
    }
    for instruction in &stretch.instructions {
        writeln!(text, "            {:#x}  {}", instruction.address, instruction.text)?;
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
