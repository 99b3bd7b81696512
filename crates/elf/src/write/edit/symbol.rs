//! Symbols of an edited object.

use hsaco_bytes::{Result, memory};

use crate::relocation::Encoding;
use crate::{
    ET_REL, SHT_DYNSYM, SHT_GROUP, SHT_REL, SHT_RELA, SHT_STRTAB, SHT_SYMTAB, SHT_SYMTAB_SHNDX,
};

use super::super::row::{SectionRow, change_u64};
use super::super::{NewSymbol, add_string, unsupported};
use super::{CONTEXT, Edit};

impl Edit<'_> {
    pub(super) fn write_symbols(&mut self) -> Result<()> {
        let symbols = std::mem::take(&mut self.symbols);
        if symbols.is_empty() {
            return Ok(());
        }
        let table = self.symbol_table()?;
        let row = self.sections.get(table as usize).copied().unwrap_or_default();
        if row.entry_size != NewSymbol::SIZE {
            let detail = format!("symbols of {} bytes", row.entry_size);
            return Err(unsupported(CONTEXT, detail));
        }
        let (mut local, mut global) = (Vec::new(), Vec::new());
        let sections = self.sections.len();
        for symbol in &symbols {
            let name = add_string(self.content(row.link)?, &symbol.name, CONTEXT)?;
            let list = if symbol.is_local() { &mut local } else { &mut global };
            list.extend(symbol.bytes(name, sections)?);
        }
        let first_global = u64::from(row.info);
        let added = (local.len() as u64) / NewSymbol::SIZE;
        if added != 0 {
            self.renumber_symbols(table, first_global, added)?;
        }
        let content = self.content(table)?;
        let at = usize::try_from(first_global * NewSymbol::SIZE).unwrap_or(usize::MAX);
        let at = at.min(content.len());
        content.splice(at..at, local);
        content.extend(global);
        self.extend_section_indices(table, first_global, added, symbols.len() as u64)?;
        if let Some(row) = self.sections.get_mut(table as usize) {
            row.info = u32::try_from(first_global + added).unwrap_or(u32::MAX);
        }
        Ok(())
    }

    /// The index of `.symtab`, which is made from `.dynsym` where there is none: a tool that reads
    /// symbols reads one of the two.
    fn symbol_table(&mut self) -> Result<u32> {
        let find = |kind: u32| self.sections.iter().zip(0_u32..).find(|(it, _)| it.kind == kind);
        if let Some((_, index)) = find(SHT_SYMTAB) {
            return Ok(index);
        }
        if self.sections.is_empty() {
            return Err(unsupported(CONTEXT, "symbols of an object without section headers"));
        }
        let dynamic = find(SHT_DYNSYM).map(|(row, index)| (*row, index));
        let (symbols, strings, info) = match dynamic {
            Some((row, index)) => {
                let strings = memory::copy(self.section_bytes(row.link)?, CONTEXT)?;
                (memory::copy(self.section_bytes(index)?, CONTEXT)?, strings, row.info)
            }
            None => (vec![0; 24], vec![0], 1),
        };
        let row = SectionRow { kind: SHT_STRTAB, align: 1, ..SectionRow::default() };
        let link = self.push_section(".strtab", row)?.unwrap_or(0);
        let row = SectionRow {
            kind: SHT_SYMTAB,
            align: 8,
            entry_size: NewSymbol::SIZE,
            link,
            info,
            ..SectionRow::default()
        };
        let table = self.push_section(".symtab", row)?.unwrap_or(0);
        self.contents.insert(link, strings);
        self.contents.insert(table, symbols);
        Ok(table)
    }

    /// Local symbols stand before all others: references to those by number are updated.
    fn renumber_symbols(&mut self, table: u32, first: u64, added: u64) -> Result<()> {
        let by_group = |it: &SectionRow| it.kind == SHT_GROUP && it.link == table;
        if self.sections.iter().any(by_group) || self.elf.header().e_type == ET_REL {
            return Err(unsupported(CONTEXT, "local symbols of an object that is not linked"));
        }
        let is_packed = |it: &&SectionRow| {
            Encoding::of_section(it.kind).is_some_and(|encoding| encoding.row_size().is_none())
        };
        if let Some(row) = self.sections.iter().filter(is_packed).find(|it| it.link == table) {
            let detail = "local symbols of an object with packed relocations that name symbols";
            return Err(unsupported(CONTEXT, detail).at(row.offset));
        }
        let rows = self.sections.iter().zip(0_u32..);
        let referring = rows.filter(|(it, _)| {
            matches!(it.kind, SHT_RELA | SHT_REL) && it.link == table && it.entry_size >= 16
        });
        let referring: Vec<_> = referring.map(|(it, _)| *it).collect();
        for row in referring {
            let (start, size) = (row.offset, row.size);
            hsaco_bytes::slice(&self.bytes, start, size, "relocations")?;
            let start = usize::try_from(start).unwrap_or(usize::MAX);
            let end = start.saturating_add(usize::try_from(size).unwrap_or(usize::MAX));
            let step = usize::try_from(row.entry_size).unwrap_or(usize::MAX);
            for entry in self.bytes.get_mut(start..end).unwrap_or_default().chunks_exact_mut(step) {
                change_u64(entry, 8, |info| {
                    if info >> 32 >= first { info.saturating_add(added << 32) } else { info }
                });
            }
        }
        Ok(())
    }

    /// The table of section indices that do not fit has a word for each symbol.
    fn extend_section_indices(
        &mut self,
        table: u32,
        first: u64,
        locals: u64,
        all: u64,
    ) -> Result<()> {
        let mut rows = self.sections.iter().zip(0_u32..);
        let found = rows.find(|(it, _)| it.kind == SHT_SYMTAB_SHNDX && it.link == table);
        let Some((_, index)) = found else { return Ok(()) };
        let words = |count: u64| usize::try_from(count.saturating_mul(4)).unwrap_or(usize::MAX);
        let content = self.content(index)?;
        let at = words(first).min(content.len());
        content.splice(at..at, vec![0; words(locals)]);
        content.resize(content.len().saturating_add(words(all - locals)), 0);
        Ok(())
    }
}
