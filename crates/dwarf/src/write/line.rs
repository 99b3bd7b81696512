//! Line tables: which rows there are, and the same table with more of them.

use std::ops::Range;

use super::MovedCode;
use super::cursor::{Cursor, push_length, push_sleb, push_uleb};

/// One line table.
pub(super) struct LineTable {
    /// Where it begins in its section, behind its length.
    start: usize,
    end: usize,
    offset_size: u64,
    instruction_size: u64,
    is_statement: bool,
    opcode_base: u8,
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

#[derive(Clone, Copy, PartialEq, Eq)]
struct Row {
    address: u64,
    file: u64,
    line: u64,
    column: u64,
    is_statement: bool,
    isa: u64,
    discriminator: u64,
    /// The operations without operands that say something of this row alone.
    marks: [bool; MARKS.len()],
}

/// Operations that mark the next row: a basic block begins, a prologue ends, an epilogue begins.
const MARKS: [u8; 3] = [7, 10, 11];

impl Row {
    /// The state at the start of every sequence.
    fn first(is_statement: bool) -> Self {
        Row {
            address: 0,
            file: 1,
            line: 1,
            column: 0,
            is_statement,
            isa: 0,
            discriminator: 0,
            marks: [false; MARKS.len()],
        }
    }

    /// Without what is of one row alone.
    fn unmarked(self) -> Self {
        Row { discriminator: 0, marks: [false; MARKS.len()], ..self }
    }
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
                    *row = Row { address: at, ..row.unmarked() };
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
        let mut cursor = Cursor::new(section, offset)?;
        let (length, offset_size) = cursor.length()?;
        let start = cursor.at;
        let end = start.checked_add(usize::try_from(length).ok()?)?;
        cursor.data = section.get(..end)?;
        let version = cursor.word(2).filter(|it| (2..=5).contains(it))?;
        let address_size = match version {
            5 => {
                let size = cursor.word(1)?;
                cursor.skip(1)?;
                size
            }
            _ => 8,
        };
        let header = cursor.word(offset_size)?;
        let program = (cursor.at as u64).checked_add(header)?;
        let instruction_size = cursor.word(1)?;
        let operations = if version >= 4 { cursor.word(1)? } else { 1 };
        let is_statement = cursor.u8()? != 0;
        let line_base = i64::from(cursor.u8()?.cast_signed());
        let line_range = cursor.u8()?;
        let opcode_base = cursor.u8()?;
        let lengths =
            cursor.data.get(cursor.at..)?.get(..usize::from(opcode_base.checked_sub(1)?))?;
        // More operations than one in an instruction are no GPU's.
        if operations != 1 || line_range == 0 || address_size != 8 || instruction_size == 0 {
            return None;
        }
        let mut table = Self {
            start,
            end,
            offset_size,
            instruction_size,
            is_statement,
            opcode_base,
            sequences: Vec::new(),
        };
        let cursor = Cursor { at: usize::try_from(program).ok()?, ..cursor };
        table.run(cursor, line_base, line_range, lengths)?;
        Some(table)
    }

    /// Runs the table's program.
    fn run(
        &mut self,
        mut cursor: Cursor<'_>,
        line_base: i64,
        line_range: u8,
        lengths: &[u8],
    ) -> Option<()> {
        let first = Row::first(self.is_statement);
        let (mut row, mut rows) = (first, Vec::new());
        let (mut start, mut names_files) = (cursor.at, false);
        let by = |count: u64| count.wrapping_mul(self.instruction_size);
        while !cursor.is_at_end() {
            let opcode = cursor.u8()?;
            if opcode >= self.opcode_base {
                let adjusted = opcode - self.opcode_base;
                row.address = row.address.wrapping_add(by(u64::from(adjusted / line_range)));
                let step = line_base + i64::from(adjusted % line_range);
                row.line = row.line.wrapping_add_signed(step);
                rows.push(row);
                row = row.unmarked();
                continue;
            }
            match opcode {
                0 => {
                    let size = cursor.uleb()?;
                    let mut inside = cursor;
                    cursor.skip(size)?;
                    match if size == 0 { 0 } else { inside.u8()? } {
                        1 => {
                            let rows = std::mem::take(&mut rows);
                            let program = start..cursor.at;
                            let end = row.address;
                            self.sequences.push(Sequence { rows, end, program, names_files });
                            (row, start, names_files) = (first, cursor.at, false);
                        }
                        2 => row.address = inside.word(size - 1)?,
                        3 => names_files = true,
                        4 => row.discriminator = inside.uleb()?,
                        _ => {}
                    }
                }
                1 => {
                    rows.push(row);
                    row = row.unmarked();
                }
                2 => row.address = row.address.wrapping_add(by(cursor.uleb()?)),
                3 => row.line = row.line.wrapping_add_signed(cursor.sleb()?),
                4 => row.file = cursor.uleb()?,
                5 => row.column = cursor.uleb()?,
                6 => row.is_statement = !row.is_statement,
                8 => {
                    let adjusted = (255 - self.opcode_base) / line_range;
                    row.address = row.address.wrapping_add(by(u64::from(adjusted)));
                }
                9 => row.address = row.address.wrapping_add(cursor.word(2)?),
                12 => row.isa = cursor.uleb()?,
                7 | 10 | 11 => {
                    let marks = MARKS.iter().zip(&mut row.marks);
                    marks.filter(|(it, _)| **it == opcode).for_each(|(_, mark)| *mark = true);
                }
                _ => {
                    let count = lengths.get(usize::from(opcode) - 1)?;
                    for _ in 0..*count {
                        cursor.uleb()?;
                    }
                }
            }
        }
        Some(())
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
            let row = Row { address: code.address, ..row.unmarked() };
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
        let first = Row { address: row.address, ..Row::first(self.is_statement) };
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
        out.extend(marks.map(|(opcode, _)| *opcode));
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
