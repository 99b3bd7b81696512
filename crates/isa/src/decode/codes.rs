//! What the values of register fields stand for.

use crate::arch::Arch;
use crate::generated::KINDS;
use crate::operand::{self, Code};
use crate::table::{Kind, Source};

/// What each value of ten bits stands for.
pub(super) type CodeTable = [Code; 1 << CODE_BITS];

pub(super) const CODE_BITS: u32 = 10;

/// A table for each kind of register field.
pub(super) struct Codes {
    tables: Vec<CodeTable>,
    /// Which of `tables` a kind of operand uses.
    of_kind: [u8; KINDS.len()],
}

impl Codes {
    pub(super) fn new(arch: Arch) -> Self {
        let mut codes = Codes { tables: Vec::with_capacity(64), of_kind: [0; KINDS.len()] };
        let mut known: Vec<(Source, u8)> = Vec::with_capacity(64);
        for (kind, number) in KINDS.iter().zip(&mut codes.of_kind) {
            let Some(key) = key(kind) else { continue };
            let position = known.iter().position(|other| *other == key).unwrap_or_else(|| {
                codes.tables.push(table(arch, key));
                known.push(key);
                known.len() - 1
            });
            *number = position as u8;
        }
        codes
    }

    /// The number of the table for a kind of operand.
    #[inline]
    pub(super) fn number(&self, kind: u16) -> u8 {
        self.of_kind.get(usize::from(kind)).copied().unwrap_or_default()
    }

    /// The table of that number.
    #[inline]
    pub(super) fn table(&self, number: u8) -> Option<&CodeTable> {
        self.tables.get(usize::from(number))
    }
}

/// What decides on a table; nothing for operands that are no registers.
fn key(kind: &Kind) -> Option<(Source, u8)> {
    match kind.source {
        Source::Immediate | Source::ScalarOffset | Source::Literal | Source::Absent => None,
        // Every number that eight bits can hold is that of a register, however wide the operand.
        Source::Vgpr | Source::DualDestination => Some((Source::Vgpr, 1)),
        source @ (Source::VgprLow
        | Source::Half
        | Source::HalfLow
        | Source::Mask
        | Source::SdwaMask) => Some((source, 1)),
        source => Some((source, kind.dwords)),
    }
}

fn table(arch: Arch, (source, dwords): (Source, u8)) -> CodeTable {
    let mut codes = [Code::INVALID; 1 << CODE_BITS];
    for (value, code) in (0..).zip(&mut codes) {
        *code = operand::decode(arch, source, dwords, value);
    }
    codes
}
