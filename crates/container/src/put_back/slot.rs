//! Containers with a table that says where each content is.

use hsaco_bytes::{Error, ErrorKind, Result, memory, slice};

use crate::bundle::{self, Bundle};
use crate::offload_binary::OffloadBinary;

use super::{CONTEXT, Change, overwrite, splice};

/// A content, where it is, and what it becomes.
struct Slot {
    offset: u64,
    size: u64,
    new: Option<Vec<u8>>,
}

impl Slot {
    fn size(&self) -> u64 {
        self.new.as_ref().map_or(self.size, |it| it.len() as u64)
    }
}

/// Gives each change to the slot that it lies in. Of slots that share their bytes, each takes one.
fn assign(data: &[u8], slots: &mut [Slot], changes: Vec<Change>) -> Result<()> {
    let mut of_slot: Vec<Vec<Change>> = slots.iter().map(|_| Vec::new()).collect();
    for change in changes {
        let holds = |slot: &Slot| {
            slot.offset <= change.start && change.end() <= slot.offset.saturating_add(slot.size)
        };
        let free = |list: &Vec<Change>| list.iter().all(|it| it.start != change.start);
        let pairs = slots.iter().zip(&of_slot).enumerate();
        let mut pairs = pairs.filter(|(_, (slot, list))| holds(slot) && free(list));
        let found = pairs.next().map(|(at, _)| at);
        let place = found.and_then(|at| of_slot.get_mut(at)).ok_or_else(|| {
            Error::new(ErrorKind::NotFound, CONTEXT, "the table's row").at(change.start)
        })?;
        place.push(change);
    }
    for (slot, mut list) in slots.iter_mut().zip(of_slot).filter(|(_, list)| !list.is_empty()) {
        list.iter_mut().for_each(|it| it.start -= slot.offset);
        let content = slice(data, slot.offset, slot.size, CONTEXT)?;
        slot.new = Some(splice(content, list)?.0);
    }
    Ok(())
}

/// True when every new content ends before another content begins.
fn all_fit(slots: &[Slot], end: u64) -> bool {
    slots.iter().filter(|it| it.new.is_some()).all(|slot| {
        let others = slots.iter().filter(|it| it.size != 0 && it.offset >= slot.offset);
        let next = others.filter(|it| !std::ptr::eq(*it, slot)).map(|it| it.offset).min();
        slot.offset.saturating_add(slot.size()) <= next.unwrap_or(end)
    })
}

/// A bundle, with the layout that it has: in place where that is possible, else one after the other.
pub(super) fn bundle(data: &[u8], changes: Vec<Change>) -> Result<Vec<u8>> {
    let bundle = Bundle::read(data).0;
    let rows = bundle.entries.iter();
    let mut slots: Vec<_> =
        rows.map(|it| Slot { offset: it.offset, size: it.size, new: None }).collect();
    assign(data, &mut slots, changes)?;
    // The last content may grow as it likes.
    if all_fit(&slots, u64::MAX) {
        let mut out = memory::copy(data, CONTEXT)?;
        for (slot, row) in slots.iter().zip(&bundle.entries) {
            let Some(new) = &slot.new else { continue };
            let start = usize::try_from(slot.offset).unwrap_or(usize::MAX);
            let end = start.saturating_add(new.len().max(usize::try_from(slot.size).unwrap_or(0)));
            if out.len() < end {
                memory::resize(&mut out, end, CONTEXT)?;
            }
            overwrite(&mut out, slot.offset, (end - start) as u64, new)?;
            overwrite(&mut out, row.row + 8, 8, &slot.size().to_le_bytes())?;
        }
        let extent = Bundle::read(&out).0.readable_extent(out.len() as u64);
        out.truncate(usize::try_from(extent).unwrap_or(usize::MAX));
        return Ok(out);
    }
    let contents = slots.iter().zip(&bundle.entries).map(|(slot, row)| {
        let content = match &slot.new {
            Some(new) => new.as_slice(),
            None => bundle.content(data, row)?,
        };
        Ok((row.id.as_bytes(), content))
    });
    let contents: Vec<_> = contents.collect::<Result<_>>()?;
    let alignment = bundle.alignment().unwrap_or_else(|| bundle.common_alignment());
    bundle::try_write(&contents, alignment)
}

/// An offload binary: what grew goes behind its end.
pub(super) fn offload_binary(data: &[u8], changes: Vec<Change>) -> Result<Vec<u8>> {
    let binary = OffloadBinary::parse(data)?;
    let table = OffloadBinary::table(data)?.start;
    let images = binary.images.iter();
    let mut slots: Vec<_> =
        images.map(|it| Slot { offset: it.offset, size: it.size, new: None }).collect();
    assign(data, &mut slots, changes)?;
    let size = usize::try_from(binary.size).unwrap_or(usize::MAX);
    let mut out = memory::copy(data.get(..size).unwrap_or(data), CONTEXT)?;
    for (slot, row) in slots.iter().zip(0_u64..) {
        let Some(new) = &slot.new else { continue };
        let row = table + row * 40;
        let ends = slot.offset.saturating_add(slot.size);
        let is_last =
            slots.iter().all(|it| it.offset <= slot.offset) && ends + 8 > out.len() as u64;
        let offset = if new.len() as u64 <= slot.size {
            overwrite(&mut out, slot.offset, slot.size, new)?;
            slot.offset
        } else {
            if is_last {
                out.truncate(usize::try_from(slot.offset).unwrap_or(usize::MAX));
            }
            out.resize(out.len().next_multiple_of(8), 0);
            let offset = out.len() as u64;
            memory::append(&mut out, new, CONTEXT)?;
            offset
        };
        overwrite(&mut out, row + 24, 8, &offset.to_le_bytes())?;
        overwrite(&mut out, row + 32, 8, &slot.size().to_le_bytes())?;
    }
    out.resize(out.len().next_multiple_of(8).max(data.len().min(size)), 0);
    let size = out.len() as u64;
    overwrite(&mut out, 8, 8, &size.to_le_bytes())?;
    Ok(out)
}
