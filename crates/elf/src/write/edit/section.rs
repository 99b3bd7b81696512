//! Sections of an edited object, and their headers.

use hsaco_bytes::{Error, ErrorKind, Result, Str, memory};

use crate::{SHF_ALLOC, SHT_NOBITS, SHT_NULL};

use super::super::row::{SectionRow, place};
use super::super::{add_string, align_up, put_at, unsupported};
use super::{CONTEXT, Edit};

/// The first count that does not stand in the file header itself.
const EXTENDED_SECTIONS: usize = 0xff00;

impl Edit<'_> {
    /// Adds a section, if the object has section headers.
    pub(super) fn push_section(&mut self, name: &str, row: SectionRow) -> Result<Option<u32>> {
        if self.sections.is_empty() {
            return Ok(None);
        }
        let index = u32::try_from(self.sections.len()).unwrap_or(u32::MAX);
        self.added.push((name.to_owned(), index));
        let name = self.add_section_name(name)?;
        self.sections.push(SectionRow { name, ..row });
        Ok(Some(index))
    }

    /// Where a section's name begins in its table; without a table, nowhere.
    fn add_section_name(&mut self, name: &str) -> Result<u32> {
        let header = self.elf.header();
        let names = u32::from(header.section_name_index);
        if names == 0 {
            return Ok(0);
        }
        if header.section_header_count == 0 || header.section_name_index == u16::MAX {
            return Err(unsupported(CONTEXT, "more sections than the file header can count"));
        }
        let table = self.content(names)?;
        add_string(table, name.as_bytes(), CONTEXT)
    }

    /// The content of a section, to be written anew.
    pub(super) fn content(&mut self, index: u32) -> Result<&mut Vec<u8>> {
        if !self.contents.contains_key(&index) {
            self.refuse_mapped(index)?;
            let content = memory::copy(self.section_bytes(index)?, CONTEXT)?;
            self.contents.insert(index, content);
        }
        let missing = || Error::new(ErrorKind::NotFound, CONTEXT, format!("section {index}"));
        self.contents.get_mut(&index).ok_or_else(missing)
    }

    pub(super) fn section_bytes(&self, index: u32) -> Result<&[u8]> {
        let row = self.sections.get(index as usize);
        let row = row.filter(|it| !matches!(it.kind, SHT_NOBITS | SHT_NULL));
        row.map_or(Ok(&[]), |it| {
            hsaco_bytes::slice(&self.bytes, it.offset, it.size, "section content")
        })
    }

    /// What has an address cannot grow: something else has the next one.
    pub(super) fn refuse_mapped(&self, index: u32) -> Result<()> {
        let row = self.sections.get(index as usize);
        match row.is_some_and(|it| it.flags & SHF_ALLOC != 0) {
            true => {
                let name = self.elf.section(index).map_or(Str::default(), |it| it.name);
                Err(unsupported(CONTEXT, format!("{name} has an address and cannot grow")))
            }
            false => Ok(()),
        }
    }

    pub(super) fn write_contents(&mut self) -> Result<()> {
        for (index, content) in std::mem::take(&mut self.contents) {
            let Some(row) = self.sections.get_mut(index as usize) else { continue };
            let align = if row.align.is_power_of_two() { row.align } else { 1 };
            row.offset = align_up(self.bytes.len() as u64, align, CONTEXT)?;
            row.size = content.len() as u64;
            put_at(&mut self.bytes, row.offset, &content, CONTEXT)?;
        }
        Ok(())
    }

    /// Rewrites the rows that changed in place, or the whole table when there are new ones.
    pub(super) fn write_section_headers(&mut self) -> Result<()> {
        let elf = &self.elf;
        let header = *elf.header();
        let old = SectionRow::read_all(elf);
        if self.sections.len() == old.len() {
            let rows = self.sections.iter().zip(old).zip(0_u64..);
            for ((new, _), index) in rows.filter(|((new, old), _)| *new != old) {
                let at = header.section_headers + index * u64::from(header.section_header_size);
                put_at(&mut self.bytes, at, &new.bytes(), CONTEXT)?;
            }
            return Ok(());
        }
        let count = u16::try_from(self.sections.len()).ok();
        let count = count.filter(|&it| usize::from(it) < EXTENDED_SECTIONS);
        let Some(count) = count.filter(|_| header.section_header_count != 0) else {
            return Err(unsupported(CONTEXT, "more sections than the file header can count"));
        };
        let offset = align_up(self.bytes.len() as u64, 8, CONTEXT)?;
        let table: Vec<u8> = self.sections.iter().flat_map(SectionRow::bytes).collect();
        put_at(&mut self.bytes, offset, &table, CONTEXT)?;
        let size = u16::try_from(SectionRow::SIZE).unwrap_or(u16::MAX);
        put_at(&mut self.bytes, place::SECTION_HEADERS, &offset.to_le_bytes(), CONTEXT)?;
        put_at(&mut self.bytes, place::SECTION_HEADER_SIZE, &size.to_le_bytes(), CONTEXT)?;
        put_at(&mut self.bytes, place::SECTION_HEADER_COUNT, &count.to_le_bytes(), CONTEXT)
    }
}
