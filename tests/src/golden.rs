//! The golden files `tests/isa/decode/*.zst`: encodings, and what llvm-objdump 22 makes of each.
//!
//! A file holds the encodings of one family and the answers for each of its targets. Decompressed it
//! is a table with a heading and tabs between columns: the encoding's bytes in hexadecimal, then a
//! cell for each target. A cell is `.` where llvm-objdump shows `.long`, `!` where it crashes, empty
//! where the answer is the previous cell's, and else the instruction's size in words and its text.
//! Behind the bytes of an encoding llvm-objdump saw `s_nop 0` up to 32 bytes.
//!
//! `manifest.txt` has a line for each target: its name, how many rows there are, and the MD5 of its
//! own table, which is what `cargo xtask golden` packs and [`Golden::table`] gives back. A line of
//! that has the bytes printed, the text, and the bytes given.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, iter, thread};

use anyhow::{Context as _, Result, anyhow, ensure};
use hsaco::container::md5;
use hsaco::isa::Processor;

use crate::oracle::{Answer, Judge, Tally, Target, hex};

const WORD: usize = 4;
const SLOT: usize = 32;
const NOP: [u8; WORD] = 0xbf80_0000_u32.to_le_bytes();
const REFUSED: &str = ".";
const CRASHED: &str = "!";
const CRASH_TEXT: &str = "<crash>";
const LONG_TEXT: &str = ".long 0x";

/// The families that there are files for.
pub const FAMILIES: [&str; 4] = ["gfx9", "gfx10", "gfx11", "gfx12"];

/// The family whose encodings are the nearest to a processor's.
pub fn family(processor: Processor) -> &'static str {
    let is_member = |family: &&&str| processor.name().starts_with(**family);
    FAMILIES.iter().rev().find(is_member).copied().unwrap_or("gfx9")
}

/// The folder of the golden files.
pub fn golden_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("isa/decode")
}

/// The golden file of one family.
#[derive(Debug)]
pub struct Golden {
    /// Its targets, in the order of a row's answers.
    pub targets: Vec<Target>,
    table: String,
}

impl Golden {
    /// Reads the committed file of a family.
    pub fn read(family: &str) -> Result<Self> {
        let path = golden_dir().join(format!("{family}.zst"));
        let file = fs::read(&path).with_context(|| path.display().to_string())?;
        Self::unpack(&file).with_context(|| path.display().to_string())
    }

    /// Packs the tables of targets that were asked about the same encodings.
    pub fn pack(tables: &[(Target, String)]) -> Result<Vec<u8>> {
        let mut heading = "bytes".to_owned();
        let mut lines: Vec<(&str, String, String)> = Vec::new();
        for (target, table) in tables {
            heading.push_str(&format!("\t{target}"));
            if lines.is_empty() {
                lines = table.lines().map(|it| (given(it), String::new(), String::new())).collect();
            }
            ensure!(table.lines().count() == lines.len(), "{target} has other encodings");
            for (line, (bytes, cells, last)) in table.lines().zip(&mut lines) {
                ensure!(given(line) == *bytes, "{target} has other encodings: {line}");
                let cell = to_cell(&from_line(line).with_context(|| line.to_owned())?);
                cells.push('\t');
                if cell != *last {
                    cells.push_str(&cell);
                    *last = cell;
                }
            }
        }
        let lines: Vec<_> =
            lines.iter().map(|(bytes, cells, _)| format!("{bytes}{cells}\n")).collect();
        compress(format!("{heading}\n{}", lines.concat()).as_bytes())
    }

    /// Reads a packed file.
    pub fn unpack(file: &[u8]) -> Result<Self> {
        let table = String::from_utf8(zstd::decode_all(file)?)?;
        let heading = table.lines().next().unwrap_or_default();
        let targets = heading.split('\t').skip(1).map(str::parse).collect::<Result<_>>()?;
        Ok(Self { targets, table })
    }

    /// The rows in order.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> + Clone {
        self.table.lines().skip(1).filter_map(Row::parse)
    }

    /// The table of the target with that index.
    pub fn table(&self, target: usize) -> String {
        let line = |row: Row<'_>| Some(to_line(&row.bytes, &row.answers().nth(target)?));
        self.rows().filter_map(line).collect()
    }

    /// The decoder held against all rows for each wanted target, by its index, on all cores.
    pub fn tallies(&self, wanted: impl Fn(usize) -> bool) -> Result<BTreeMap<usize, Tally>> {
        let wanted: Vec<usize> = (0..self.targets.len()).filter(|it| wanted(*it)).collect();
        let next = AtomicUsize::new(0);
        let work = || -> Result<Vec<(usize, Tally)>> {
            let take = || wanted.get(next.fetch_add(1, Ordering::Relaxed)).copied();
            iter::from_fn(take).map(|target| Ok((target, self.tally(target)?))).collect()
        };
        let threads = thread::available_parallelism().map_or(2, usize::from);
        thread::scope(|scope| {
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            let mut tallies = BTreeMap::new();
            for thread in threads {
                tallies.extend(thread.join().map_err(|_| anyhow!("a thread panicked"))??);
            }
            Ok(tallies)
        })
    }

    /// The same for one target: row after row, as llvm-objdump read them.
    fn tally(&self, target: usize) -> Result<Tally> {
        let mut judge = Judge::new(self.targets.get(target).context("no such target")?)?;
        let mut tally = Tally::default();
        for row in self.rows() {
            let theirs = row.answers().nth(target).context("a row is too short")?;
            tally.add(&mut judge, &row.slot(), &theirs);
            judge.pass(&row.slot(), &theirs);
        }
        Ok(tally)
    }
}

/// A target's line in the manifest.
pub fn manifest_line(target: &Target, table: &str) -> String {
    format!("{target}\t{}\t{}\n", table.lines().count(), hex(&md5::digest(table.as_bytes())))
}

pub(crate) fn compress(table: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 22)?;
    encoder.window_log(27)?;
    encoder.long_distance_matching(true)?;
    encoder.write_all(table)?;
    Ok(encoder.finish()?)
}

/// One encoding and the answers to it.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// The encoding's bytes.
    pub bytes: Vec<u8>,
    cells: &'a str,
}

impl<'a> Row<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (digits, cells) = line.split_once('\t')?;
        Some(Self { bytes: from_hex(digits)?, cells })
    }

    /// The encoding with what followed it.
    pub fn slot(&self) -> [u8; SLOT] {
        slot(&self.bytes)
    }

    /// The answers, one for each of the file's targets.
    pub fn answers(&self) -> impl Iterator<Item = Answer<'a>> + use<'a> {
        self.cells.split('\t').scan("", |last, cell| {
            if !cell.is_empty() {
                *last = cell;
            }
            Some(from_cell(last))
        })
    }
}

fn slot(bytes: &[u8]) -> [u8; SLOT] {
    let mut slot = [0; SLOT];
    let padding = bytes.len().next_multiple_of(WORD);
    slot.iter_mut().zip(NOP.iter().cycle()).skip(padding).for_each(|(to, from)| *to = *from);
    slot.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    slot
}

pub(crate) use hsaco::bytes::hex::decode as from_hex;

fn from_cell(cell: &str) -> Answer<'_> {
    match cell {
        REFUSED => Answer::Refused,
        CRASHED => Answer::Crashed,
        _ => {
            let (words, text) = cell.split_at_checked(1).unwrap_or_default();
            Answer::Instruction { size: words.parse().unwrap_or(0) * WORD, text: text.into() }
        }
    }
}

fn to_cell(answer: &Answer<'_>) -> String {
    match answer {
        Answer::Instruction { size, text } => format!("{}{text}", size / WORD),
        Answer::Refused => REFUSED.to_owned(),
        Answer::Crashed => CRASHED.to_owned(),
    }
}

/// The bytes given, which stand last in a line of a target's table.
fn given(line: &str) -> &str {
    line.rsplit('\t').next().unwrap_or_default()
}

fn from_line(line: &str) -> Option<Answer<'_>> {
    let mut columns = line.split('\t');
    let (printed, text) = (columns.next()?, columns.next()?);
    Some(match text {
        CRASH_TEXT => Answer::Crashed,
        _ if text.starts_with(LONG_TEXT) => Answer::Refused,
        _ => Answer::Instruction { size: printed.len() / 2, text: text.into() },
    })
}

fn to_line(given: &[u8], answer: &Answer<'_>) -> String {
    let slot = slot(given);
    let printed = |size: usize| hex(slot.get(..size).unwrap_or_default());
    let [a, b, c, d, ..] = slot;
    let (printed, text) = match answer {
        Answer::Instruction { size, text } => (printed(*size), text.to_string()),
        Answer::Refused => (printed(WORD), format!("{LONG_TEXT}{}", hex(&[d, c, b, a]))),
        Answer::Crashed => (hex(given), CRASH_TEXT.to_owned()),
    };
    format!("{printed}\t{text}\t{}\n", hex(given))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "0000007e\tv_nop\t0000007e\n\
                       000000c4\t.long 0xc4000000\t000000c400000000\n\
                       ff000080000080bf\ts_add_u32 s0, 0xbf800000, s0\tff000080\n\
                       050004d20105fe03\t<crash>\t050004d20105fe03\n";
    const OTHER: &str = "0000007e\tv_nop\t0000007e\n\
                         000000c400000000\tv_new\t000000c400000000\n\
                         ff000080\t.long 0x800000ff\tff000080\n\
                         050004d20105fe03\t<crash>\t050004d20105fe03\n";

    fn tables() -> [(Target, String); 2] {
        [("gfx942", ONE), ("gfx950", OTHER)]
            .map(|(target, table)| (target.parse().unwrap(), table.to_owned()))
    }

    #[test]
    fn tables_come_back_as_they_were() {
        let golden = Golden::unpack(&Golden::pack(&tables()).unwrap()).unwrap();
        assert_eq!(golden.table.lines().nth(1), Some("0000007e\t1v_nop\t"));
        assert_eq!(golden.targets.len(), 2);
        assert_eq!([golden.table(0), golden.table(1)], [ONE, OTHER]);
    }

    #[test]
    fn other_encodings_make_another_family() {
        let mut tables = tables();
        tables[1].1 = OTHER.replacen("0000007e", "0000017e", 2);
        assert!(Golden::pack(&tables).is_err());
        tables[1].1.clear();
        assert!(Golden::pack(&tables).is_err());
    }

    #[test]
    fn every_processor_has_a_family() {
        let of = |name| family(Processor::from_name(name).unwrap());
        assert_eq!(
            ["gfx803", "gfx90a", "gfx9-4-generic", "gfx1036", "gfx1151", "gfx1250"].map(of),
            ["gfx9", "gfx9", "gfx9", "gfx10", "gfx11", "gfx12"]
        );
    }
}
