//! Line tables: which rows there are, and the same table with more of them.

use std::ops::Range;

use gimli::{DebugLine, DebugLineOffset, LineProgramHeader, LittleEndian};

use super::MovedCode;
use super::cursor::{push_length, push_sleb, push_uleb};
use crate::read::Reader;
use crate::read::program::{self, Event, MARKS, Registers as Row};

/// One line table.
pub(super) struct LineTable {
    /// Where it begins in its section, behind its length.
    start: usize,
    end: usize,
    offset_size: u64,
    instruction_size: u64,
    is_statement: bool,
    sequences: Vec<Sequence>,
}

/// Rows of rising addresses, and where they end.
struct Sequence {
    rows: Vec<Row>,
    end: u64,
    /// The part of the program that makes them, in the section.
    program: Range<usize>,
    /// Whether that also names files.
    names_files: bool,
}

impl Sequence {
    fn holds(&self, address: u64) -> bool {
        self.rows.first().is_some_and(|row| row.address <= address) && address < self.end
    }

    /// The row that says where an address comes from.
    fn row(&self, address: u64) -> Option<Row> {
        let upto = self.rows.partition_point(|row| row.address <= address);
        self.rows.get(upto.checked_sub(1)?).copied()
    }

    /// The other code among its addresses, of some that is in the order of addresses.
    fn entered<'m>(&self, others: &'m [MovedCode]) -> &'m [MovedCode] {
        let start = self.rows.first().map_or(self.end, |row| row.address);
        let first = others.partition_point(|it| it.end() <= start);
        let last = others.partition_point(|it| it.address < self.end);
        others.get(first..last).unwrap_or_default()
    }

    /// What is left of it without the addresses of other code, which is in their order: rows and ends.
    fn without(&self, others: &[MovedCode]) -> Vec<(Vec<Row>, u64)> {
        let mut left = Vec::new();
        let mut at = self.rows.first().map_or(self.end, |row| row.address);
        let gaps = others.iter().map(|it| (it.address, it.end()));
        for (start, next) in gaps.chain([(self.end, self.end)]) {
            if at < start {
                let mut rows: Vec<Row> = self.row(at).into_iter().collect();
                for row in rows.iter_mut().filter(|row| row.address != at) {
                    *row = row.unmarked().at(at);
                }
                let first = self.rows.partition_point(|row| row.address <= at);
                let last = self.rows.partition_point(|row| row.address < start);
                rows.extend(self.rows.get(first..last).unwrap_or_default());
                left.push((rows, start));
            }
            at = at.max(next);
        }
        left
    }
}

impl LineTable {
    /// Reads the table at an offset; `None` when it is none that can be read.
    pub(super) fn read(section: &[u8], offset: u64) -> Option<Self> {
        const ADDRESS_SIZE: u8 = 8;
        let offset = usize::try_from(offset).ok()?;
        let lines = DebugLine::new(section, LittleEndian);
        let program = lines.program(DebugLineOffset(offset), ADDRESS_SIZE, None, None).ok()?;
        let header = program.header();
        let encoding = header.line_encoding();
        let instruction_size = u64::from(encoding.minimum_instruction_length);
        // More operations than one in an instruction are no GPU's.
        if encoding.maximum_operations_per_instruction != 1
            || header.address_size() != ADDRESS_SIZE
            || instruction_size == 0
        {
            return None;
        }
        let format = header.format();
        let start = offset.checked_add(format.initial_length_size().into())?;
        let mut table = Self {
            start,
            end: start.checked_add(header.unit_length())?,
            offset_size: format.word_size().into(),
            instruction_size,
            is_statement: encoding.default_is_stmt,
            sequences: Vec::new(),
        };
        table.run(header).ok()?;
        Some(table)
    }

    /// Runs the table's program.
    fn run(&mut self, header: &LineProgramHeader<Reader<'_>>) -> gimli::Result<()> {
        let mut rows = Vec::new();
        let mut start = self.end.saturating_sub(header.raw_program_buf().len());
        program::run(header, |event| {
            match event {
                Event::Row(row) => rows.push(*row),
                Event::End(end) => {
                    let program = start..self.end.saturating_sub(end.bytes_left);
                    start = program.end;
                    self.sequences.push(Sequence {
                        rows: std::mem::take(&mut rows),
                        end: end.address.unwrap_or(0),
                        program,
                        names_files: end.names_files,
                    });
                }
            }
            true
        })
    }

    /// The runs of addresses that have rows.
    pub(super) fn runs(&self) -> impl Iterator<Item = (u64, u64)> {
        self.sequences.iter().filter_map(|it| Some((it.rows.first()?.address, it.end)))
    }

    /// The row of an address, of the run that begins last.
    fn row(&self, address: u64) -> Option<Row> {
        let start = |it: &&Sequence| it.rows.first().map(|row| row.address);
        let holding = self.sequences.iter().filter(|it| it.holds(address));
        holding.max_by_key(start)?.row(address)
    }

    /// The whole table, with the rows of moved code behind the others. That must be in the order of its addresses. Where
    /// it stands among other code, that has its rows before and behind it: who looks for an address takes the first
    /// sequence that ends behind it.
    pub(super) fn with_rows(&self, section: &[u8], moved: &[MovedCode]) -> Vec<u8> {
        let mut table = Vec::with_capacity(self.end - self.start);
        let mut at = self.start;
        let mut copy = |table: &mut Vec<u8>, to: usize, next: usize| {
            table.extend_from_slice(section.get(at..to).unwrap_or_default());
            at = next;
        };
        for sequence in self.sequences.iter().filter(|it| !it.names_files) {
            let others = sequence.entered(moved);
            if others.is_empty() {
                continue;
            }
            copy(&mut table, sequence.program.start, sequence.program.end);
            for (rows, end) in sequence.without(others) {
                self.push_sequence(&mut table, &rows, end);
            }
        }
        copy(&mut table, self.end, self.end);
        let mut state = None;
        for code in moved {
            let Some(row) = self.row(code.original) else { continue };
            let row = row.unmarked().at(code.address);
            match state {
                Some((end, last)) if end == code.address => self.push_row(&mut table, last, row),
                before => {
                    self.end_sequence(&mut table, before);
                    self.begin_sequence(&mut table, row);
                }
            }
            state = Some((code.address.saturating_add(code.size), row));
        }
        self.end_sequence(&mut table, state);
        let mut out = Vec::with_capacity(table.len() + 12);
        push_length(&mut out, table.len() as u64, self.offset_size);
        out.extend(table);
        out
    }

    fn push_sequence(&self, out: &mut Vec<u8>, rows: &[Row], end: u64) {
        let Some((first, others)) = rows.split_first() else { return };
        self.begin_sequence(out, *first);
        let mut last = *first;
        for row in others {
            self.push_row(out, last, *row);
            last = *row;
        }
        self.end_sequence(out, Some((end, last)));
    }

    fn begin_sequence(&self, out: &mut Vec<u8>, row: Row) {
        out.extend([0, 9, 2]);
        out.extend(row.address.to_le_bytes());
        let first = Row::start(self.is_statement).at(row.address);
        self.push_row(out, first, row);
    }

    /// The operations that lead from one row to another.
    fn push_row(&self, out: &mut Vec<u8>, from: Row, to: Row) {
        self.advance(out, to.address.wrapping_sub(from.address));
        if from.file != to.file {
            out.push(4);
            push_uleb(out, to.file);
        }
        if from.column != to.column {
            out.push(5);
            push_uleb(out, to.column);
        }
        if from.line != to.line {
            out.push(3);
            push_sleb(out, to.line.wrapping_sub(from.line).cast_signed());
        }
        if from.is_statement != to.is_statement {
            out.push(6);
        }
        if from.isa != to.isa {
            out.push(12);
            push_uleb(out, to.isa);
        }
        if to.discriminator != 0 {
            let mut operand = vec![4];
            push_uleb(&mut operand, to.discriminator);
            out.push(0);
            push_uleb(out, operand.len() as u64);
            out.extend(operand);
        }
        let marks = MARKS.iter().zip(to.marks).filter(|(_, is_set)| *is_set);
        out.extend(marks.map(|(opcode, _)| opcode.0));
        out.push(1);
    }

    fn end_sequence(&self, out: &mut Vec<u8>, state: Option<(u64, Row)>) {
        if let Some((end, row)) = state {
            self.advance(out, end.wrapping_sub(row.address));
            out.extend([0, 1, 1]);
        }
    }

    fn advance(&self, out: &mut Vec<u8>, by: u64) {
        if by != 0 {
            out.push(2);
            push_uleb(out, by / self.instruction_size);
        }
    }
}
