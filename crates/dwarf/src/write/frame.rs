//! Frame descriptions: how to find the caller from moved code.

use hsaco_bytes::Result;
use hsaco_elf::write::Edit;

use super::MovedCode;
use super::cursor::{Cursor, push_length};

const SECTION: &str = ".debug_frame";

/// What frame descriptions have in common.
struct Common {
    offset: u64,
    address_size: u64,
    code_alignment: u64,
}

/// How to unwind from a range of addresses.
struct Description {
    offset_size: u64,
    common: u64,
    address_size: u64,
    code_alignment: u64,
    start: u64,
    end: u64,
    /// Its instructions, in the section.
    instructions: std::ops::Range<usize>,
}

/// Adds a description for each piece of moved code: the rules in force at the instruction that it
/// stands for. Answers how many have one.
pub(super) fn add(edit: &mut Edit<'_>, moved: &[MovedCode]) -> Result<usize> {
    let Some(mut section) = edit.section_content(SECTION)? else { return Ok(0) };
    let mut all = descriptions(&section);
    all.sort_by_key(|it| (it.start, it.end));
    let mut count = 0;
    for code in moved {
        let upto = all.partition_point(|it| it.start <= code.original);
        let before = all.get(..upto).unwrap_or_default();
        let found = before.iter().rev().find(|it| code.original < it.end);
        let Some(rules) = found.and_then(|it| Some((it, it.rules_at(&section, code.original)?)))
        else {
            continue;
        };
        let (description, rules) = rules;
        section.extend(description.bytes(code, &rules));
        count += 1;
    }
    if count != 0 {
        edit.write_anew(SECTION, section)?;
    }
    Ok(count)
}

/// Every description that can be read.
fn descriptions(section: &[u8]) -> Vec<Description> {
    let (mut commons, mut found): (Vec<Common>, Vec<Description>) = (Vec::new(), Vec::new());
    let mut at = 0;
    while let Some(mut cursor) = Cursor::new(section, at).filter(|it| !it.is_at_end()) {
        let Some((length, offset_size)) = cursor.length() else { break };
        let start = cursor.at;
        let Some(end) = (start as u64).checked_add(length) else { break };
        let Some(inside) = usize::try_from(end).ok().and_then(|end| section.get(..end)) else {
            break;
        };
        let entry = Cursor { data: inside, at: start };
        match read_entry(entry, offset_size, at, &commons) {
            Some(Entry::Common(common)) => commons.push(common),
            Some(Entry::Description(description)) => found.push(description),
            None => {}
        }
        at = end;
    }
    found
}

enum Entry {
    Common(Common),
    Description(Description),
}

fn read_entry(
    mut cursor: Cursor<'_>,
    offset_size: u64,
    offset: u64,
    commons: &[Common],
) -> Option<Entry> {
    let id = cursor.word(offset_size)?;
    let is_common = id == if offset_size == 8 { u64::MAX } else { 0xffff_ffff };
    if is_common {
        return read_common(cursor, offset).map(Entry::Common);
    }
    let common = commons.iter().find(|it| it.offset == id)?;
    let start = cursor.word(common.address_size)?;
    let size = cursor.word(common.address_size)?;
    Some(Entry::Description(Description {
        offset_size,
        common: id,
        address_size: common.address_size,
        code_alignment: common.code_alignment,
        start,
        end: start.saturating_add(size),
        instructions: cursor.at..cursor.data.len(),
    }))
}

fn read_common(mut cursor: Cursor<'_>, offset: u64) -> Option<Common> {
    let version = cursor.u8()?;
    let augmentation = cursor.string()?;
    // What an augmentation adds to descriptions is not known here.
    if !augmentation.is_empty() && !augmentation.starts_with(b"[llvm:") {
        return None;
    }
    let address_size = match version {
        1 | 3 => 8,
        4 => {
            let size = cursor.word(1)?;
            (cursor.u8()? == 0).then_some(size)?
        }
        _ => return None,
    };
    let code_alignment = cursor.uleb()?;
    (address_size == 8).then_some(Common { offset, address_size, code_alignment })
}

impl Description {
    /// The instructions up to an address, without those that move on.
    fn rules_at(&self, section: &[u8], address: u64) -> Option<Vec<u8>> {
        let data = section.get(..self.instructions.end)?;
        let mut cursor = Cursor { data, at: self.instructions.start };
        let mut location = self.start;
        let mut rules = Vec::new();
        while !cursor.is_at_end() {
            let start = cursor.at;
            match self.step(&mut cursor, location)? {
                Some(next) if next > address => break,
                Some(next) => location = next,
                None => rules.extend_from_slice(data.get(start..cursor.at)?),
            }
        }
        Some(rules)
    }

    /// Moves past one instruction; answers where it moves on to, if it does.
    fn step(&self, cursor: &mut Cursor<'_>, location: u64) -> Option<Option<u64>> {
        let opcode = cursor.u8()?;
        let by = |count: u64| Some(location.wrapping_add(count.wrapping_mul(self.code_alignment)));
        Some(match (opcode >> 6, opcode & 0x3f) {
            (1, count) => by(u64::from(count)),
            (2, _) => {
                cursor.uleb()?;
                None
            }
            (3, _) | (0, 0x00 | 0x0a | 0x0b | 0x2d) => None,
            (0, 0x01) => Some(cursor.word(self.address_size)?),
            (0, 0x02) => by(cursor.word(1)?),
            (0, 0x03) => by(cursor.word(2)?),
            (0, 0x04) => by(cursor.word(4)?),
            (0, 0x06 | 0x07 | 0x08 | 0x0d | 0x0e | 0x13 | 0x2e) => {
                cursor.uleb()?;
                None
            }
            (0, 0x05 | 0x09 | 0x0c | 0x11 | 0x12 | 0x14 | 0x15) => {
                cursor.uleb()?;
                cursor.uleb()?;
                None
            }
            (0, 0x30 | 0x31) => {
                cursor.uleb()?;
                cursor.uleb()?;
                cursor.uleb()?;
                None
            }
            (0, 0x0f) => {
                let size = cursor.uleb()?;
                cursor.skip(size)?;
                None
            }
            (0, 0x10 | 0x16) => {
                cursor.uleb()?;
                let size = cursor.uleb()?;
                cursor.skip(size)?;
                None
            }
            _ => return None,
        })
    }

    /// A description of moved code with these rules all along.
    fn bytes(&self, code: &MovedCode, rules: &[u8]) -> Vec<u8> {
        let offset_size = usize::try_from(self.offset_size).unwrap_or(4);
        let mut body = self.common.to_le_bytes().get(..offset_size).unwrap_or_default().to_vec();
        body.extend(code.address.to_le_bytes());
        body.extend(code.size.to_le_bytes());
        body.extend_from_slice(rules);
        let prefix = if offset_size == 8 { 12 } else { 4 };
        let padded = (prefix + body.len()).next_multiple_of(8) - prefix;
        body.resize(padded, 0);
        let mut out = Vec::new();
        push_length(&mut out, body.len() as u64, self.offset_size);
        out.extend(body);
        out
    }
}
