//! Notes and segments of an edited object, and the program headers.

use hsaco_bytes::Result;

use crate::{PF_R, PT_LOAD, PT_NOTE, PT_PHDR, SHF_ALLOC, SHT_NOTE, Segment};

use super::super::note::Run;
use super::super::row::{SEGMENT_SIZE, place, segment_bytes};
use super::super::{add, align_up, put_at, unsupported};
use super::{CONTEXT, Edit};

/// The first count that does not stand in the file header itself.
const EXTENDED_SEGMENTS: usize = 0xffff;

impl Edit<'_> {
    pub(super) fn rewrite_notes(&mut self) -> Result<Vec<Run>> {
        let changes = std::mem::take(&mut self.notes);
        if changes.is_empty() {
            return Ok(Vec::new());
        }
        let tables = crate::note::tables(&self.elf);
        let mut moving = Vec::new();
        for table in tables {
            let Some(run) = Run::rewrite(&table?, &changes)? else { continue };
            match run.bytes.len() as u64 <= run.old_size {
                true => self.shrink_notes(&run)?,
                false => moving.push(run),
            }
        }
        Ok(moving)
    }

    /// Notes that still fit stay where they are.
    fn shrink_notes(&mut self, run: &Run) -> Result<()> {
        let size = usize::try_from(run.old_size).unwrap_or(usize::MAX);
        let mut padded = run.bytes.clone();
        padded.resize(size, 0);
        let offset = run.old_offset;
        let address = self.segments.iter().find(|it| it.kind == PT_NOTE && it.offset == offset);
        let address = address.map(|it| it.address);
        put_at(&mut self.bytes, offset, &padded, CONTEXT)?;
        self.point_notes(run, offset, address);
        Ok(())
    }

    /// Tells the headers where a run of notes is now.
    fn point_notes(&mut self, run: &Run, offset: u64, address: Option<u64>) {
        for segment in self.segments.iter_mut().filter(|it| it.kind == PT_NOTE) {
            if run.holds(segment.offset, segment.file_size) {
                let start = run.moved(segment.offset);
                segment.file_size = run.moved(segment.offset + segment.file_size) - start;
                segment.memory_size = segment.file_size;
                segment.offset = offset + start;
                segment.address = address.map_or(0, |it| it + start);
            }
        }
        for section in self.sections.iter_mut().filter(|it| it.kind == SHT_NOTE) {
            if run.holds(section.offset, section.size) {
                let start = run.moved(section.offset);
                section.size = run.moved(section.offset + section.size) - start;
                section.offset = offset + start;
                if section.flags & SHF_ALLOC != 0 {
                    section.address = address.map_or(0, |it| it + start);
                }
            }
        }
    }

    /// Writes moved notes and, where they changed, the program headers.
    pub(super) fn write_segments(&mut self, runs: &[Run]) -> Result<()> {
        let old = self.elf.segments();
        let has_load = old.iter().any(|it| it.kind == PT_LOAD);
        if !has_load {
            runs.iter().try_for_each(|run| {
                let offset = align_up(self.bytes.len() as u64, 8, CONTEXT)?;
                put_at(&mut self.bytes, offset, &run.bytes, CONTEXT)?;
                self.point_notes(run, offset, None);
                Ok(())
            })?;
            return self.write_program_headers(None);
        }
        let needed = self.segments.len() + usize::from(!runs.is_empty());
        let moves = needed > old.len() && !self.has_room(needed);
        let has_phdr = old.iter().any(|it| it.kind == PT_PHDR);
        if runs.is_empty() && !(moves && has_phdr) {
            let at = moves.then(|| align_up(self.bytes.len() as u64, 8, CONTEXT)).transpose()?;
            return self.write_program_headers(at.map(|offset| (offset, None)));
        }
        // One read-only segment for all that moves.
        let offset = align_up(self.bytes.len() as u64, 8, CONTEXT)?;
        let address =
            add(align_up(self.end_address, self.page, CONTEXT)?, offset % self.page, CONTEXT)?;
        let count = self.segments.len() as u64 + 1;
        let mut size = if moves { count * SEGMENT_SIZE } else { 0 };
        for run in runs {
            size = align_up(size, 8, CONTEXT)?;
            put_at(&mut self.bytes, add(offset, size, CONTEXT)?, &run.bytes, CONTEXT)?;
            self.point_notes(run, offset + size, Some(address + size));
            size += run.bytes.len() as u64;
        }
        self.end_address = add(address, size, CONTEXT)?;
        self.push_load(PF_R, offset, address, size);
        self.write_program_headers(moves.then_some((offset, Some(address))))
    }

    pub(super) fn push_load(&mut self, flags: u32, offset: u64, address: u64, size: u64) {
        self.segments.push(Segment {
            index: u32::try_from(self.segments.len()).unwrap_or(u32::MAX),
            kind: PT_LOAD,
            flags,
            offset,
            address,
            file_size: size,
            memory_size: size,
            align: self.page,
        });
    }

    /// Whether the program headers can grow where they are: into zeroes that belong to nothing.
    fn has_room(&self, count: usize) -> bool {
        let elf = &self.elf;
        let header = elf.header();
        let start = header.program_headers + elf.segments().len() as u64 * SEGMENT_SIZE;
        let end = header.program_headers + count as u64 * SEGMENT_SIZE;
        let overlaps = |offset: u64, size: u64| {
            size != 0 && offset < end && offset.saturating_add(size) > start
        };
        let rows = elf.sections().len() as u64 * u64::from(header.section_header_size);
        let is_free = !elf.sections().is_empty()
            && u64::from(header.program_header_size) == SEGMENT_SIZE
            && !overlaps(header.section_headers, rows)
            && !elf.sections().iter().any(|it| overlaps(it.offset, it.file_size()))
            && !elf.segments().iter().any(|it| {
                !matches!(it.kind, PT_LOAD | PT_PHDR) && overlaps(it.offset, it.file_size)
            });
        let is_mapped = elf.segments().iter().all(|it| it.kind != PT_PHDR)
            || elf.loads().any(|it| {
                it.offset <= header.program_headers && end <= it.offset.saturating_add(it.file_size)
            });
        let gap = hsaco_bytes::slice(elf.data(), start, end.saturating_sub(start), CONTEXT);
        is_free && is_mapped && gap.is_ok_and(|it| it.iter().all(|&byte| byte == 0))
    }

    /// Writes the program headers, at a new place if there is one.
    fn write_program_headers(&mut self, moved: Option<(u64, Option<u64>)>) -> Result<()> {
        let elf = &self.elf;
        let header = *elf.header();
        if self.segments == elf.segments() {
            return Ok(());
        }
        if moved.is_none() && self.segments.len() == elf.segments().len() {
            let rows = self.segments.iter().zip(elf.segments()).zip(0_u64..);
            for ((new, _), index) in rows.filter(|((new, old), _)| new != old) {
                let at = header.program_headers + index * u64::from(header.program_header_size);
                put_at(&mut self.bytes, at, &segment_bytes(new), CONTEXT)?;
            }
            return Ok(());
        }
        let count = u16::try_from(self.segments.len()).ok();
        let count = count
            .filter(|&it| usize::from(it) < EXTENDED_SEGMENTS)
            .ok_or_else(|| unsupported(CONTEXT, "more segments than the file header can count"))?;
        let size = u64::from(count) * SEGMENT_SIZE;
        for table in self.segments.iter_mut().filter(|it| it.kind == PT_PHDR) {
            if let Some((offset, address)) = moved {
                table.offset = offset;
                table.address = address.unwrap_or(table.address);
            }
            (table.file_size, table.memory_size) = (size, size);
        }
        let at = moved.map_or(header.program_headers, |(offset, _)| offset);
        let table: Vec<u8> = self.segments.iter().flat_map(segment_bytes).collect();
        put_at(&mut self.bytes, at, &table, CONTEXT)?;
        let entry = u16::try_from(SEGMENT_SIZE).unwrap_or(u16::MAX);
        put_at(&mut self.bytes, place::PROGRAM_HEADERS, &at.to_le_bytes(), CONTEXT)?;
        put_at(&mut self.bytes, place::PROGRAM_HEADER_SIZE, &entry.to_le_bytes(), CONTEXT)?;
        put_at(&mut self.bytes, place::PROGRAM_HEADER_COUNT, &count.to_le_bytes(), CONTEXT)
    }
}
