//! Runs line programs, for reading and for writing: the same rows as gimli gives, in a fifth of the instructions. A unit's whole table has to be run to
//! know its last line, so that this is what asking for one kernel costs.

#![allow(non_upper_case_globals, reason = "constants keep the spelling of DWARF")]

use gimli::{
    DW_LNE_define_file, DW_LNE_end_sequence, DW_LNE_set_address, DW_LNE_set_discriminator,
    DW_LNS_advance_line, DW_LNS_advance_pc, DW_LNS_const_add_pc, DW_LNS_copy,
    DW_LNS_fixed_advance_pc, DW_LNS_negate_stmt, DW_LNS_set_basic_block, DW_LNS_set_column,
    DW_LNS_set_epilogue_begin, DW_LNS_set_file, DW_LNS_set_isa, DW_LNS_set_prologue_end, DwLne,
    DwLns, EndianSlice, Error, LineProgramHeader, LittleEndian, Reader as _,
};

use super::Reader;

/// The registers that rows are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Registers {
    pub(crate) address: u64,
    pub(crate) file: u64,
    pub(crate) line: u64,
    pub(crate) column: u64,
    op_index: u64,
    pub(crate) isa: u64,
    pub(crate) is_statement: bool,
    /// What the operations of [`MARKS`] say of the next row alone.
    pub(crate) marks: [bool; MARKS.len()],
    pub(crate) discriminator: u64,
}

/// Operations that mark the next row: a basic block begins, a prologue ends, an epilogue begins.
pub(crate) const MARKS: [DwLns; 3] =
    [DW_LNS_set_basic_block, DW_LNS_set_prologue_end, DW_LNS_set_epilogue_begin];

impl Registers {
    /// The state at the start of every sequence.
    pub(crate) const fn start(is_statement: bool) -> Self {
        Registers {
            address: 0,
            file: 1,
            line: 1,
            column: 0,
            op_index: 0,
            isa: 0,
            is_statement,
            marks: [false; MARKS.len()],
            discriminator: 0,
        }
    }

    /// The same for another address.
    pub(crate) fn at(self, address: u64) -> Self {
        Registers { address, ..self }
    }

    /// Without what is of one row alone.
    #[inline]
    pub(crate) fn unmarked(self) -> Self {
        Registers { discriminator: 0, marks: [false; MARKS.len()], ..self }
    }
}

/// What a program says next.
pub(crate) enum Event<'r> {
    /// From the address on, code comes from this place.
    Row(&'r Registers),
    /// The rows so far are a sequence.
    End(End),
}

/// The end of a sequence.
pub(crate) struct End {
    /// The address behind its code; without one the linker dropped the code.
    pub(crate) address: Option<u64>,
    /// Whether operations of the sequence name files.
    pub(crate) names_files: bool,
    /// How many bytes of the program are behind it.
    pub(crate) bytes_left: usize,
}

/// Runs the program of a unit for as long as `tell` wants more rows.
pub(crate) fn run(
    header: &LineProgramHeader<Reader<'_>>,
    mut tell: impl FnMut(Event<'_>) -> bool,
) -> gimli::Result<()> {
    let mut machine = Machine::new(header);
    let steps = machine.steps();
    let first_special = header.opcode_base().max(1);
    while let Some((&opcode, rest)) = machine.input.slice().split_first() {
        machine.input = EndianSlice::new(rest, LittleEndian);
        if opcode >= first_special {
            let step = steps.get(usize::from(opcode)).copied().unwrap_or_default();
            machine.advance_line(step.lines);
            machine.advance(step.operations)?;
            if !machine.row(&mut tell) {
                break;
            }
            continue;
        }
        match DwLns(opcode) {
            DwLns(0) => machine.extended(header, &mut tell)?,
            DW_LNS_copy if !machine.row(&mut tell) => break,
            DW_LNS_copy => {}
            // What compilers write most, before the rest.
            DW_LNS_set_column => machine.registers.column = machine.number()?,
            DW_LNS_advance_line => {
                let lines = machine.signed_number()?;
                machine.advance_line(lines);
            }
            other => machine.standard(header, other)?,
        }
    }
    Ok(())
}

/// What a special opcode does.
#[derive(Clone, Copy, Default)]
struct Step {
    lines: i64,
    operations: u64,
}

struct Machine<'s> {
    input: Reader<'s>,
    registers: Registers,
    /// The linker dropped the code that the next rows are about.
    is_dropped: bool,
    names_files: bool,
    is_statement: bool,
    opcode_base: u8,
    line_base: i64,
    line_range: u8,
    least_size: u64,
    operations: u64,
    highest: u64,
}

impl<'s> Machine<'s> {
    fn new(header: &LineProgramHeader<Reader<'s>>) -> Self {
        let encoding = header.line_encoding();
        let unused_bits = 64 - 8 * u32::from(header.address_size().clamp(1, 8));
        Machine {
            input: header.raw_program_buf(),
            registers: Registers::start(encoding.default_is_stmt),
            is_dropped: false,
            names_files: false,
            is_statement: encoding.default_is_stmt,
            opcode_base: header.opcode_base(),
            line_base: i64::from(encoding.line_base),
            line_range: encoding.line_range.max(1),
            least_size: u64::from(encoding.minimum_instruction_length),
            operations: u64::from(encoding.maximum_operations_per_instruction.max(1)),
            highest: u64::MAX >> unused_bits,
        }
    }

    #[inline]
    fn row(&mut self, tell: &mut impl FnMut(Event<'_>) -> bool) -> bool {
        let goes_on = self.is_dropped || tell(Event::Row(&self.registers));
        self.registers = self.registers.unmarked();
        goes_on
    }

    /// What each special opcode does, worked out once: divisions are slow.
    fn steps(&self) -> [Step; 256] {
        std::array::from_fn(|opcode| {
            let [opcode, ..] = opcode.to_le_bytes();
            let adjusted = opcode.wrapping_sub(self.opcode_base);
            Step {
                lines: self.line_base + i64::from(adjusted % self.line_range),
                operations: u64::from(adjusted / self.line_range),
            }
        })
    }

    fn standard(
        &mut self,
        header: &LineProgramHeader<Reader<'s>>,
        opcode: DwLns,
    ) -> gimli::Result<()> {
        match opcode {
            DW_LNS_advance_pc => {
                let operations = self.number()?;
                self.advance(operations)?;
            }
            DW_LNS_set_file => self.registers.file = self.number()?,
            DW_LNS_const_add_pc => {
                self.advance(u64::from((u8::MAX - self.opcode_base) / self.line_range))?;
            }
            DW_LNS_fixed_advance_pc => {
                let bytes = self.input.read_u16()?;
                self.add_to_address(u64::from(bytes))?;
                self.registers.op_index = 0;
            }
            DW_LNS_set_isa => self.registers.isa = self.number()?,
            DW_LNS_negate_stmt => self.registers.is_statement = !self.registers.is_statement,
            mark if MARKS.contains(&mark) => {
                let marks = MARKS.iter().zip(&mut self.registers.marks);
                marks.filter(|(it, _)| **it == mark).for_each(|(_, is_set)| *is_set = true);
            }
            DwLns(unknown) => {
                let mut lengths = *header.standard_opcode_lengths();
                lengths.skip(usize::from(unknown).saturating_sub(1))?;
                for _ in 0..lengths.read_u8()? {
                    self.number()?;
                }
            }
        }
        Ok(())
    }

    fn extended(
        &mut self,
        header: &LineProgramHeader<Reader<'s>>,
        tell: &mut impl FnMut(Event<'_>) -> bool,
    ) -> gimli::Result<()> {
        let length = self.number()?;
        let length = usize::try_from(length).map_err(|_| Error::UnsupportedOffset)?;
        let mut rest = self.input.split(length)?;
        match DwLne(rest.read_u8()?) {
            DW_LNE_end_sequence => {
                tell(Event::End(End {
                    address: Some(self.registers.address).filter(|_| !self.is_dropped),
                    names_files: self.names_files,
                    bytes_left: self.input.len(),
                }));
                self.registers = Registers::start(self.is_statement);
                (self.is_dropped, self.names_files) = (false, false);
            }
            DW_LNE_set_address => {
                let address = rest.read_address(header.address_size())?;
                // Linkers write -1 or -2, or leave a small number, where they dropped the code.
                self.is_dropped = address < self.registers.address || address >= self.highest - 1;
                if !self.is_dropped {
                    self.registers.address = address;
                    self.registers.op_index = 0;
                }
            }
            DW_LNE_set_discriminator => self.registers.discriminator = rest.read_uleb128()?,
            DW_LNE_define_file => self.names_files = true,
            _ => {}
        }
        Ok(())
    }

    /// Numbers are mostly of one byte.
    #[inline]
    fn number(&mut self) -> gimli::Result<u64> {
        match self.input.slice().split_first() {
            Some((&byte, rest)) if byte < 0x80 => {
                self.input = EndianSlice::new(rest, LittleEndian);
                Ok(u64::from(byte))
            }
            _ => self.input.read_uleb128(),
        }
    }

    #[inline]
    fn signed_number(&mut self) -> gimli::Result<i64> {
        match self.input.slice().split_first() {
            Some((&byte, rest)) if byte < 0x80 => {
                self.input = EndianSlice::new(rest, LittleEndian);
                Ok(i64::from((byte << 1).cast_signed() >> 1))
            }
            _ => self.input.read_sleb128(),
        }
    }

    #[inline]
    fn advance_line(&mut self, by: i64) {
        let line = self.registers.line;
        self.registers.line = match u64::try_from(by) {
            Ok(by) => line.wrapping_add(by),
            Err(_) => line.saturating_sub(by.unsigned_abs()),
        };
    }

    #[inline]
    fn advance(&mut self, operations: u64) -> gimli::Result<()> {
        if self.is_dropped {
            return Ok(());
        }
        let mut instructions = operations;
        if self.operations != 1 {
            let all = self.registers.op_index.wrapping_add(operations);
            self.registers.op_index = all % self.operations;
            instructions = all / self.operations;
        }
        self.add_to_address(self.least_size.wrapping_mul(instructions))
    }

    #[inline]
    fn add_to_address(&mut self, bytes: u64) -> gimli::Result<()> {
        if !self.is_dropped {
            let address = self.registers.address.checked_add(bytes);
            let address = address.filter(|address| *address <= self.highest);
            self.registers.address = address.ok_or(Error::AddressOverflow)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use gimli::{ColumnType, DebugLine, DebugLineOffset};

    use super::*;

    /// What there is to compare of a row.
    #[derive(Debug, Default, PartialEq, Eq)]
    struct Flat {
        place: (u64, u64, u64, u64),
        marks: (bool, u64, u64, [bool; MARKS.len()]),
        ends: bool,
    }

    impl Flat {
        fn end(address: u64) -> Self {
            Flat { place: (address, 0, 0, 0), ends: true, ..Flat::default() }
        }
    }

    fn header(section: &[u8]) -> Option<gimli::IncompleteLineProgram<Reader<'_>>> {
        let lines = DebugLine::new(section, LittleEndian);
        lines.program(DebugLineOffset(0), 8, None, None).ok()
    }

    fn ours(section: &[u8]) -> Result<Vec<Flat>, Error> {
        let program = header(section).unwrap();
        let mut rows = Vec::new();
        run(program.header(), |event| {
            match event {
                Event::Row(it) => rows.push(Flat {
                    place: (it.address, it.file, it.line, it.column),
                    marks: (it.is_statement, it.isa, it.discriminator, it.marks),
                    ends: false,
                }),
                Event::End(end) => rows.extend(end.address.map(Flat::end)),
            }
            true
        })?;
        Ok(rows)
    }

    fn gimlis(section: &[u8]) -> Result<Vec<Flat>, Error> {
        let mut rows = header(section).unwrap().rows();
        let mut all = Vec::new();
        while let Some((_, row)) = rows.next_row()? {
            let column = match row.column() {
                ColumnType::LeftEdge => 0,
                ColumnType::Column(column) => column.get(),
            };
            let line = row.line().map_or(0, std::num::NonZero::get);
            let marks = [row.basic_block(), row.prologue_end(), row.epilogue_begin()];
            all.push(match row.end_sequence() {
                true => Flat::end(row.address()),
                false => Flat {
                    place: (row.address(), row.file_index(), line, column),
                    marks: (row.is_stmt(), row.isa(), row.discriminator(), marks),
                    ends: false,
                },
            });
        }
        Ok(all)
    }

    /// A table of version 4 without files.
    fn table(least_size: u8, operations: u8, program: &[u8]) -> Vec<u8> {
        let mut header = vec![least_size, operations, 1, (-5_i8).cast_unsigned(), 14, 13];
        header.extend([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0]);
        let mut body = 4_u16.to_le_bytes().to_vec();
        body.extend((header.len() as u32).to_le_bytes());
        body.extend(header);
        body.extend(program);
        [(body.len() as u32).to_le_bytes().to_vec(), body].concat()
    }

    #[test]
    fn every_program_gives_gimlis_rows() {
        let mut state = 1_u64;
        let mut random = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let (mut rows, mut refused) = (0, 0);
        for round in 0..4000_u32 {
            let mut program = Vec::new();
            for _ in 0..random() % 60 {
                match random() % 12 {
                    0 => {
                        program.extend([0, 9, 2]);
                        let address = [0, 0x1000, u64::MAX, u64::MAX - 1, random() % 0x4000];
                        program.extend(address[(random() % 5) as usize].to_le_bytes());
                    }
                    1 => program.extend([0, 1, 1]),
                    2 => program.extend([2, 0x80 | random() as u8, random() as u8 & 0x7f]),
                    3 => program.extend([3, random() as u8 & 0x7f]),
                    _ => program.push(random() as u8),
                }
            }
            let section = table(1 + (round % 4) as u8, 1 + (round % 3) as u8, &program);
            match (ours(&section), gimlis(&section)) {
                (Ok(ours), Ok(gimlis)) => {
                    rows += ours.len();
                    assert_eq!(ours, gimlis, "{program:?}");
                }
                // Files that programs define are not read.
                (_, Err(_)) => refused += 1,
                (Err(error), Ok(_)) => panic!("{program:?}: {error}"),
            }
        }
        assert!(rows > 10_000 && refused > 100, "{rows} rows, {refused} refused");
    }

    #[test]
    fn a_table_that_is_cut_short_is_refused() {
        for program in [&[2, 0x80][..], &[0, 9, 2, 0], &[9, 1], &[0, 0x7f]] {
            assert!(ours(&table(1, 1, program)).is_err(), "{program:?}");
        }
    }
}
