//! Archives: members that follow each other, and tables of where they begin.

use hsaco_bytes::{Error, ErrorKind, Result, memory, read_u32, slice};

use crate::archive::{Part, parts};

use super::{CONTEXT, Change, splice};

const HEADER_SIZE: u64 = 60;

/// An archive with new contents for members; the ones behind them move, and the tables say so.
pub(super) fn archive(data: &[u8], changes: Vec<Change>) -> Result<Vec<u8>> {
    let all = parts(data);
    let first = all.first().map_or(data.len() as u64, |it| it.header.start);
    let mut out = Vec::new();
    memory::reserve(&mut out, data.len(), CONTEXT)?;
    out.extend_from_slice(slice(data, 0, first, CONTEXT)?);
    let mut moves = Vec::new();
    let mut changes = changes.into_iter().peekable();
    let mut end = first;
    for part in &all {
        moves.push((part.header.start, out.len() as u64));
        out.extend_from_slice(slice(data, end, part.content.start - end, CONTEXT)?);
        let old = slice(data, part.content.start, size_of(part), CONTEXT)?;
        let mut inside = Vec::new();
        while let Some(mut change) = changes.next_if(|it| it.end() <= part.content.end) {
            change.start = change.start.saturating_sub(part.content.start);
            inside.push(change);
        }
        end = part.content.end;
        if inside.is_empty() {
            memory::append(&mut out, old, CONTEXT)?;
        } else {
            let content = splice(old, inside)?.0;
            let name = part.content.start - part.header.start - HEADER_SIZE;
            let header = out.len() as u64 - name - HEADER_SIZE;
            set_size(&mut out, header, name + content.len() as u64)?;
            memory::append(&mut out, &content, CONTEXT)?;
            // Members begin at even offsets; the last one need not be padded, and then is not.
            let is_odd = !(size_of(part) + name).is_multiple_of(2);
            let is_padded = !is_odd || end < data.len() as u64;
            end += u64::from(is_odd && is_padded);
            if is_padded && !out.len().is_multiple_of(2) {
                out.push(b'\n');
            }
        }
    }
    out.extend_from_slice(slice(data, end, (data.len() as u64).saturating_sub(end), CONTEXT)?);
    for (part, number) in all.iter().filter(|it| !it.is_member).zip(0..) {
        point_table(&mut out, data, part, number, &moves)?;
    }
    Ok(out)
}

fn size_of(part: &Part) -> u64 {
    part.content.end - part.content.start
}

fn set_size(out: &mut [u8], header: u64, size: u64) -> Result<()> {
    let text = format!("{size:<10}");
    let start = usize::try_from(header).unwrap_or(usize::MAX).saturating_add(48);
    match out.get_mut(start..).and_then(|it| it.get_mut(..10)) {
        Some(place) if text.len() == 10 => place.copy_from_slice(text.as_bytes()),
        _ => {
            let detail = format!("a member of {size} bytes");
            return Err(Error::new(ErrorKind::LimitExceeded, CONTEXT, detail).at(header));
        }
    }
    Ok(())
}

/// The integers of a symbol table that are offsets of members.
struct Offsets {
    start: usize,
    count: usize,
    width: usize,
    big_endian: bool,
}

/// Tells a symbol table where the members are now. Tables stand before members and do not move.
fn point_table(
    out: &mut [u8],
    data: &[u8],
    part: &Part,
    number: usize,
    moves: &[(u64, u64)],
) -> Result<()> {
    if moves.iter().all(|(old, new)| old == new) {
        return Ok(());
    }
    let header = slice(data, part.header.start, HEADER_SIZE, CONTEXT)?;
    let content = slice(data, part.content.start, size_of(part), CONTEXT)?;
    let name = header.get(..16).unwrap_or_default().trim_ascii_end();
    let count = |width: usize| match width {
        4 => read_u32(content, 0).map(|it| it.swap_bytes() as usize),
        _ => read_u32(content, 4).map(|it| it.swap_bytes() as usize),
    };
    let offsets = match (name, number) {
        (b"//", _) => return Ok(()),
        (b"/", 0) => Offsets { start: 4, count: count(4).unwrap_or(0), width: 4, big_endian: true },
        (b"/SYM64/", 0) => {
            Offsets { start: 8, count: count(8).unwrap_or(0), width: 8, big_endian: true }
        }
        // The second table of Windows: all members, then symbols by number.
        (b"/", 1) => {
            let count = read_u32(content, 0).unwrap_or(0) as usize;
            Offsets { start: 4, count, width: 4, big_endian: false }
        }
        _ => {
            let name = String::from_utf8_lossy(name).into_owned();
            let detail = format!("an archive whose members move and whose symbol table is {name}");
            return Err(Error::new(ErrorKind::Unsupported, CONTEXT, detail).at(part.header.start));
        }
    };
    let base = usize::try_from(part.content.start).unwrap_or(usize::MAX);
    let table = out.get_mut(base..).and_then(|it| it.get_mut(..content.len()));
    let table = table.and_then(|it| it.get_mut(offsets.start..)).unwrap_or_default();
    for entry in table.chunks_exact_mut(offsets.width).take(offsets.count) {
        point(entry, offsets.big_endian, moves);
    }
    Ok(())
}

fn point(entry: &mut [u8], big_endian: bool, moves: &[(u64, u64)]) {
    if !big_endian {
        entry.reverse();
    }
    let old = entry.iter().fold(0, |value: u64, &byte| value << 8 | u64::from(byte));
    if let Some((_, new)) = moves.iter().find(|(it, _)| *it == old) {
        let bytes = new.to_be_bytes();
        for (place, byte) in entry.iter_mut().rev().zip(bytes.iter().rev()) {
            *place = *byte;
        }
    }
    if !big_endian {
        entry.reverse();
    }
}
