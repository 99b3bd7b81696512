//! The line table of a unit.

use std::ops::Range;

use gimli::{AttributeValue, DebugLineOffset, Dwarf, LineProgramHeader, Reader as _, Section as _};

use super::path::join;
use super::program::{self, Event, Registers};
use super::{Location, Reader};

/// Sequences of rows, each for a stretch of code without gaps.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// Paths by file number; the empty one is not known.
    files: Vec<String>,
    rows: Vec<Row>,
    /// By the end of their code.
    sequences: Vec<Sequence>,
}

/// The code from an address to the next row's, or to the end of the sequence.
#[derive(Clone, Copy, Debug)]
struct Row {
    address: u64,
    place: Place,
}

/// A place by numbers; 0 is unknown for line and column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) file: u32,
    pub(super) line: u32,
    pub(super) column: u32,
}

#[derive(Debug)]
struct Sequence {
    code: Range<u64>,
    rows: Range<usize>,
}

/// A sequence that has not ended.
struct Open {
    /// Its first row that is kept.
    first: usize,
    start: Option<u64>,
    last: u64,
    is_sorted: bool,
}

impl Open {
    fn new(first: usize) -> Self {
        Open { first, start: None, last: 0, is_sorted: true }
    }

    /// Whether its rows so far are about all code of a window, and beyond.
    #[inline]
    fn covers(&self, window: &Range<u64>) -> bool {
        self.last >= window.end
            && self.is_sorted
            && self.start.is_some_and(|start| start <= window.start)
    }
}

impl Lines {
    /// Reads what the table says of the code in a window; of the rest it keeps nothing.
    pub(super) fn read(
        dwarf: &Dwarf<Reader<'_>>,
        unit: &gimli::Unit<Reader<'_>>,
        window: &Range<u64>,
    ) -> gimli::Result<Self> {
        let Some(program) = &unit.line_program else { return Ok(Self::default()) };
        let header = program.header();
        let folder = unit.comp_dir.map(AttributeValue::String);
        let files = paths(folder, header, |value| dwarf.attr_string(unit, value));
        Self::run(files, header, window)
    }

    /// Reads a table to which no unit belongs.
    pub(super) fn read_table(
        dwarf: &Dwarf<Reader<'_>>,
        offset: usize,
        window: &Range<u64>,
    ) -> gimli::Result<Self> {
        let header = table_at(dwarf, offset)?;
        let folder = header.directory(0);
        let files = paths(folder, &header, |value| dwarf.attr_line_string(value));
        Self::run(files, &header, window)
    }

    fn run(
        files: Vec<String>,
        header: &LineProgramHeader<Reader<'_>>,
        window: &Range<u64>,
    ) -> gimli::Result<Self> {
        let mut lines = Lines { files, ..Self::default() };
        let mut open = Open::new(0);
        let mut covers_window = false;
        program::run(header, |event| {
            match event {
                Event::Row(row) => {
                    lines.add(&mut open, row, window);
                    covers_window = open.covers(window);
                }
                Event::End(end) => {
                    lines.end_sequence(&open, end.address.unwrap_or(0));
                    open = Open::new(lines.rows.len());
                }
            }
            !covers_window
        })?;
        // Of a table in order nothing else is about this code: sequences do not overlap.
        match covers_window {
            true => lines.end_sequence(&open, open.last),
            false => lines.rows.truncate(open.first),
        }
        lines.sequences.sort_by_key(|sequence| sequence.code.end);
        Ok(lines)
    }

    /// Adds a row to a sequence.
    #[inline]
    fn add(&mut self, open: &mut Open, row: &Registers, window: &Range<u64>) {
        let address = row.address;
        open.is_sorted &= open.last <= address;
        open.last = address;
        open.start.get_or_insert(address);
        if address < window.end {
            self.keep(open, row, window);
        }
    }

    /// Keeps a row; of several for an address the last one counts, of those before the window the very last.
    fn keep(&mut self, open: &Open, row: &Registers, window: &Range<u64>) {
        let address = row.address;
        let number = |value: u64| u32::try_from(value).unwrap_or(0);
        let place =
            Place { file: number(row.file), line: number(row.line), column: number(row.column) };
        let row = Row { address, place };
        match self.rows.get_mut(open.first..).and_then(<[Row]>::last_mut) {
            Some(last) if last.address == address || address <= window.start => *last = row,
            _ => self.rows.push(row),
        }
    }

    /// Closes a sequence; one without code, or without order, is dropped.
    fn end_sequence(&mut self, open: &Open, end: u64) {
        match open.start {
            Some(start) if start < end && open.is_sorted => {
                let rows = open.first..self.rows.len();
                self.sequences.push(Sequence { code: start..end, rows });
            }
            _ => self.rows.truncate(open.first),
        }
    }

    /// The stretches of code that it is about.
    pub(super) fn code(&self) -> impl Iterator<Item = Range<u64>> {
        self.sequences.iter().map(|sequence| sequence.code.clone())
    }

    /// The place of an instruction.
    pub(super) fn at(&self, address: u64) -> Option<Place> {
        let number = self.sequences.partition_point(|sequence| sequence.code.end <= address);
        let sequence = self.sequences.get(number).filter(|it| it.code.contains(&address))?;
        let rows = self.rows.get(sequence.rows.clone())?;
        let after = rows.partition_point(|row| row.address <= address);
        rows.get(after.checked_sub(1)?).map(|row| row.place)
    }

    /// A place in words; none where its file is not known.
    pub(super) fn location(&self, place: Place) -> Option<Location<'_>> {
        let known = |number: u32| Some(number).filter(|number| *number != 0);
        let file = self.files.get(place.file as usize).filter(|path| !path.is_empty())?;
        Some(Location { file, line: known(place.line), column: known(place.column) })
    }

    /// The code of each row, with its place.
    pub(super) fn stretches(&self) -> impl Iterator<Item = (Range<u64>, Location<'_>)> {
        self.sequences.iter().flat_map(|sequence| {
            let rows = self.rows.get(sequence.rows.clone()).unwrap_or_default();
            let ends = rows.iter().skip(1).map(|row| row.address).chain([sequence.code.end]);
            rows.iter()
                .zip(ends)
                .filter_map(|(row, end)| Some((row.address..end, self.location(row.place)?)))
        })
    }
}

/// All tables of an object that has no units: where each is, and the code that it is about.
pub(super) fn tables(dwarf: &Dwarf<Reader<'_>>) -> gimli::Result<Vec<(usize, Vec<Range<u64>>)>> {
    let end = dwarf.debug_line.reader().len();
    let mut found = Vec::new();
    let mut offset = 0_usize;
    while offset < end {
        let header = table_at(dwarf, offset)?;
        let lines = Lines::run(Vec::new(), &header, &(0..u64::MAX))?;
        found.push((offset, lines.code().collect()));
        let size = usize::from(header.format().initial_length_size());
        offset = offset.saturating_add(size).saturating_add(header.unit_length());
    }
    Ok(found)
}

fn table_at<'s>(
    dwarf: &Dwarf<Reader<'s>>,
    offset: usize,
) -> gimli::Result<LineProgramHeader<Reader<'s>>> {
    const ADDRESS_SIZE: u8 = 8;
    let program = dwarf.debug_line.program(DebugLineOffset(offset), ADDRESS_SIZE, None, None)?;
    Ok(program.header().clone())
}

/// The paths of all files, by number; `text` is what their attributes say.
fn paths<'s>(
    unit_folder: Option<AttributeValue<Reader<'s>>>,
    header: &LineProgramHeader<Reader<'s>>,
    text: impl Fn(AttributeValue<Reader<'s>>) -> gimli::Result<Reader<'s>>,
) -> Vec<String> {
    let text = |value| text(value).map_or(String::new(), |it| it.to_string_lossy().into_owned());
    let unit_folder = unit_folder.map_or(String::new(), text);
    let numbers = 0..=header.file_names().len() as u64;
    let path = |number| {
        let Some(file) = header.file(number) else { return String::new() };
        let folder = header.directory(file.directory_index()).map_or(String::new(), text);
        // Folder 0 is the unit's own: version 5 names it in the table too, where it may be another.
        let is_own = file.directory_index() == 0;
        let unit_folder = if is_own && header.version() >= 5 { "" } else { &unit_folder };
        let folder = if is_own && header.version() < 5 { "" } else { &folder };
        join(unit_folder, folder, &text(file.path_name()))
    };
    numbers.map(path).collect()
}
