//! The line table of a unit.

use std::ops::Range;

use gimli::{ColumnType, Dwarf, LineProgramHeader, LineRow};

use super::path::join;
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

impl Lines {
    pub(super) fn read(
        dwarf: &Dwarf<Reader<'_>>,
        unit: &gimli::Unit<Reader<'_>>,
    ) -> gimli::Result<Self> {
        let Some(program) = unit.line_program.clone() else { return Ok(Self::default()) };
        let mut lines = Lines { files: paths(dwarf, unit, program.header()), ..Self::default() };
        let mut rows = program.rows();
        let mut first = 0;
        while let Some((_, row)) = rows.next_row()? {
            if row.end_sequence() {
                lines.end_sequence(first, row.address());
                first = lines.rows.len();
            } else {
                lines.add(first, row);
            }
        }
        lines.rows.truncate(first);
        lines.sequences.sort_by_key(|sequence| sequence.code.end);
        Ok(lines)
    }

    /// Adds a row; of several for an address the last one counts.
    fn add(&mut self, first: usize, row: &LineRow) {
        let number = |value: u64| u32::try_from(value).unwrap_or(0);
        let column = match row.column() {
            ColumnType::LeftEdge => 0,
            ColumnType::Column(column) => number(column.get()),
        };
        let line = row.line().map_or(0, |line| number(line.get()));
        let place = Place { file: number(row.file_index()), line, column };
        let row = Row { address: row.address(), place };
        match self.rows.get_mut(first..).and_then(<[Row]>::last_mut) {
            Some(last) if last.address == row.address => *last = row,
            _ => self.rows.push(row),
        }
    }

    /// Closes the sequence of the rows from `first` on; one without code is dropped.
    fn end_sequence(&mut self, first: usize, end: u64) {
        let is_sorted =
            self.rows.get(first..).is_some_and(|it| it.is_sorted_by_key(|row| row.address));
        match self.rows.get(first) {
            Some(row) if row.address < end && is_sorted => {
                let sequence = Sequence { code: row.address..end, rows: first..self.rows.len() };
                self.sequences.push(sequence);
            }
            _ => self.rows.truncate(first),
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

/// The paths of all files, by number.
fn paths(
    dwarf: &Dwarf<Reader<'_>>,
    unit: &gimli::Unit<Reader<'_>>,
    header: &LineProgramHeader<Reader<'_>>,
) -> Vec<String> {
    let text = |value| match dwarf.attr_string(unit, value) {
        Ok(text) => text.to_string_lossy().into_owned(),
        Err(_) => String::new(),
    };
    let unit_folder = unit.comp_dir.map_or(String::new(), |it| it.to_string_lossy().into_owned());
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
