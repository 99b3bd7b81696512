//! Line tables: which rows there are, and the same table with more of them.

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
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Row {
    address: u64,
    file: u64,
    line: u64,
    column: u64,
    is_statement: bool,
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
        let first =
            Row { address: 0, file: 1, line: 1, column: 0, is_statement: self.is_statement };
        let (mut row, mut rows) = (first, Vec::new());
        let by = |count: u64| count.wrapping_mul(self.instruction_size);
        while !cursor.is_at_end() {
            let opcode = cursor.u8()?;
            if opcode >= self.opcode_base {
                let adjusted = opcode - self.opcode_base;
                row.address = row.address.wrapping_add(by(u64::from(adjusted / line_range)));
                let step = line_base + i64::from(adjusted % line_range);
                row.line = row.line.wrapping_add_signed(step);
                rows.push(row);
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
                            self.sequences.push(Sequence { rows, end: row.address });
                            row = first;
                        }
                        2 => row.address = inside.word(size - 1)?,
                        _ => {}
                    }
                }
                1 => rows.push(row),
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
                7 | 10 | 11 => {}
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
        let holds = |it: &&Sequence| {
            it.rows.first().is_some_and(|row| row.address <= address) && address < it.end
        };
        let start = |it: &&Sequence| it.rows.first().map(|row| row.address);
        let sequence = self.sequences.iter().filter(holds).max_by_key(start)?;
        let upto = sequence.rows.partition_point(|row| row.address <= address);
        sequence.rows.get(upto.checked_sub(1)?).copied()
    }

    /// The whole table, with the rows of moved code behind the others. That must be in the order of
    /// its addresses.
    pub(super) fn with_rows(&self, section: &[u8], moved: &[MovedCode]) -> Vec<u8> {
        let mut table = section.get(self.start..self.end).unwrap_or_default().to_vec();
        let mut state = None;
        for code in moved {
            let Some(row) = self.row(code.original) else { continue };
            let row = Row { address: code.address, ..row };
            match state {
                Some((end, last)) if end == code.address => self.push_row(&mut table, last, row),
                before => {
                    self.end_sequence(&mut table, before);
                    table.extend([0, 9, 2]);
                    table.extend(code.address.to_le_bytes());
                    let first = Row {
                        address: code.address,
                        file: 1,
                        line: 1,
                        column: 0,
                        is_statement: self.is_statement,
                    };
                    self.push_row(&mut table, first, row);
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
