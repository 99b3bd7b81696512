//! Sections and the names in them, by the rules of `llvm-objdump`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use hsaco_bytes::Error;
use hsaco_elf::symbol::{
    SHN_AMDGPU_LDS, SHN_UNDEF, STT_COMMON, STT_FILE, STT_FUNC, STT_OBJECT, STT_SECTION, Symbol,
    SymbolSource, SymbolTable,
};
use hsaco_elf::{Elf, SHT_DYNSYM, SHT_SYMTAB, Segment};
use hsaco_object::CodeObject;

/// Problems of one object that are told.
const MOST_PROBLEMS: usize = 32;

/// A name for an address. Of several at one address the last in this order is the one to show.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Label<'a> {
    pub(crate) address: u64,
    pub(crate) name: Cow<'a, [u8]>,
    /// The symbol's type.
    pub(crate) kind: u8,
}

/// A section, or an executable segment of a file that has no sections.
pub(crate) struct Section<'a> {
    pub(crate) name: Cow<'a, [u8]>,
    pub(crate) address: u64,
    size: u64,
    /// Instructions, if it holds any.
    pub(crate) code: &'a [u8],
    /// The names in it, in order.
    pub(crate) labels: Vec<Label<'a>>,
}

/// True for what a compiler puts beside code.
pub(crate) fn is_data(label: &Label<'_>) -> bool {
    matches!(label.kind, STT_OBJECT | STT_COMMON)
}

/// The number of the name to show of several at one address: the last of code, else the last.
pub(crate) fn shown_by_default(labels: &[Label<'_>]) -> usize {
    labels.iter().rposition(|it| !is_data(it)).unwrap_or(labels.len().saturating_sub(1))
}

/// All sections of an object.
pub(crate) struct Layout<'a> {
    pub(crate) sections: Vec<Section<'a>>,
    /// Names of numbers, and of what is defined elsewhere.
    absolute: Vec<Label<'a>>,
    /// Sections by address, of several at one address the largest last.
    by_address: Vec<usize>,
    is_relocatable: bool,
}

impl<'a> Layout<'a> {
    /// Reads sections and symbols; what is wrong with symbols goes to `problems`.
    pub(crate) fn read(object: &CodeObject<'a>, problems: &mut Vec<Error>) -> Self {
        let sections = read_sections(object.elf());
        let by_address = by_address(&sections);
        let is_relocatable = object.is_relocatable();
        let mut layout = Self { sections, absolute: Vec::new(), by_address, is_relocatable };
        layout.add_symbols(object.elf(), problems);
        layout.absolute.sort();
        for section in &mut layout.sections {
            section.labels.sort();
            section.name_start();
        }
        layout
    }

    /// Reads sections, and of the symbols only those at and right behind the functions of some names. Nothing if there
    /// is anything unusual about them, and all symbols have to be read.
    pub(crate) fn near<'n>(
        object: &CodeObject<'a>,
        names: impl Iterator<Item = &'n [u8]>,
    ) -> Option<(Self, Vec<Symbol<'a>>)> {
        if object.is_relocatable() || object.is_v2() {
            return None;
        }
        let elf = object.elf();
        let table = elf.sections().iter().find(|it| it.kind == SHT_SYMTAB)?;
        let table = SymbolTable::of_section(elf, table, SymbolSource::Symtab).ok()?;
        let sections = read_sections(elf);
        let by_address = by_address(&sections);
        let absolute = Vec::new();
        let mut layout = Self { sections, absolute, by_address, is_relocatable: false };
        let mut functions = Vec::new();
        let mut symbols = BTreeMap::new();
        for name in names {
            let function =
                table.find_named(name).filter(|it| it.kind == STT_FUNC && it.size > 0)?;
            let near = symbols_near(&table, &function)?;
            symbols.extend(near.into_iter().map(|symbol| (symbol.index, symbol)));
            functions.push(function);
        }
        symbols.values().for_each(|symbol| layout.add(symbol, table.source()));
        layout.sections.iter_mut().for_each(|section| section.labels.sort());
        Some((layout, functions))
    }

    /// Symbols of the linker; where they name no place, those of the loader.
    fn add_symbols(&mut self, elf: &Elf<'a>, problems: &mut Vec<Error>) {
        for (kind, source) in
            [(SHT_SYMTAB, SymbolSource::Symtab), (SHT_DYNSYM, SymbolSource::Dynsym)]
        {
            let Some(section) = elf.sections().iter().find(|it| it.kind == kind) else { continue };
            match SymbolTable::of_section(elf, section, source) {
                Ok(table) => self.add_table(&table, problems),
                Err(error) => problems.push(error),
            }
            if self.sections.iter().any(|it| !it.labels.is_empty()) {
                return;
            }
        }
    }

    fn add_table(&mut self, table: &SymbolTable<'a>, problems: &mut Vec<Error>) {
        for symbol in table.iter() {
            match symbol {
                Ok(symbol) => self.add(&symbol, table.source()),
                // A broken table repeats itself.
                Err(error) if problems.len() < MOST_PROBLEMS => problems.push(error),
                Err(_) => {}
            }
        }
    }

    fn add(&mut self, symbol: &Symbol<'a>, source: SymbolSource) {
        if symbol.name.is_empty() || matches!(symbol.kind, STT_FILE | STT_SECTION) {
            return;
        }
        let name = Cow::Borrowed(symbol.name.as_bytes());
        let label = Label { address: symbol.value, name, kind: symbol.kind };
        let has_place = (SHN_UNDEF + 1..SHN_AMDGPU_LDS).contains(&symbol.section);
        if !has_place {
            if source == SymbolSource::Symtab {
                self.absolute.push(label);
            }
        } else if let Some(section) = self.sections.get_mut(symbol.section as usize) {
            let base = if self.is_relocatable { section.address } else { 0 };
            let address = label.address.wrapping_add(base);
            section.labels.push(Label { address, ..label });
        }
    }

    /// The name that a branch from a section to `target` is annotated with.
    pub(crate) fn nearest(&self, from: usize, target: u64) -> Option<&Label<'a>> {
        let in_section = match self.is_relocatable {
            true => self.sections.get(from)?.last_label(target),
            false => self.around(target).rev().find_map(|it| it.last_label(target)),
        };
        in_section.or_else(|| last_label(&self.absolute, target))
    }

    /// The sections at the highest address that is not above `target`.
    fn around(&self, target: u64) -> impl DoubleEndedIterator<Item = &Section<'a>> {
        let address = |at: usize| self.sections.get(at).map_or(0, |it| it.address);
        let end = self.by_address.partition_point(|&at| address(at) <= target);
        let (below, _) = self.by_address.split_at(end);
        let highest = below.last().map_or(0, |&at| address(at));
        let start = below.partition_point(|&at| address(at) < highest);
        let (_, highest) = below.split_at(start);
        highest.iter().filter_map(|&at| self.sections.get(at))
    }

    /// The addresses whose nearest name is looked for in this section first.
    pub(crate) fn reach(&self, section: usize) -> Range<u64> {
        let Some(address) = self.sections.get(section).map(|it| it.address) else { return 0..0 };
        if self.is_relocatable {
            return 0..u64::MAX;
        }
        // Sections are in the order of address, size and number.
        let key = |at: usize| self.sections.get(at).map(|it| (it.address, it.size, at));
        let after = self.by_address.partition_point(|&at| key(at) <= key(section));
        match self.by_address.get(after).and_then(|&at| self.sections.get(at)) {
            Some(next) => address..next.address,
            None => address..u64::MAX,
        }
    }
}

impl<'a> Section<'a> {
    /// Makes sure that code has a name where it begins: if need be, the section's.
    fn name_start(&mut self) {
        let is_named = self.labels.iter().any(|it| it.address == self.address);
        if !is_named && !self.code.is_empty() {
            let label = Label { address: self.address, name: self.name.clone(), kind: STT_FUNC };
            let at = self.labels.partition_point(|it| *it < label);
            self.labels.insert(at, label);
        }
    }

    fn last_label(&self, target: u64) -> Option<&Label<'a>> {
        last_label(&self.labels, target)
    }
}

/// More names than any function has.
const MANY: usize = 64;

/// The symbols from a function's address to the next that has a name. Nothing if another function is there too.
fn symbols_near<'a>(table: &SymbolTable<'a>, function: &Symbol<'a>) -> Option<Vec<Symbol<'a>>> {
    let is_place = |it: &Symbol<'_>| !matches!(it.kind, STT_FILE | STT_SECTION);
    let mut next = u64::MAX;
    let mut near: Vec<Symbol<'a>> = Vec::new();
    for symbol in table.places(function.section, function.value).filter(is_place) {
        if symbol.value > next {
            continue;
        }
        let symbol = table.symbol(symbol.index).ok()?;
        if symbol.name.is_empty() {
            continue;
        }
        if symbol.value > function.value && symbol.value < next {
            next = symbol.value;
            near.retain(|it| it.value <= next);
        }
        near.push(symbol);
        if near.len() > MANY {
            return None;
        }
    }
    let is_twin = |it: &&Symbol<'_>| it.kind == STT_FUNC && it.value == function.value;
    if near.iter().filter(is_twin).count() != 1 {
        return None;
    }
    Some(near)
}

/// The numbers of sections, in the order of their addresses.
fn by_address(sections: &[Section<'_>]) -> Vec<usize> {
    let mut numbers: Vec<usize> = (0..sections.len()).collect();
    numbers.sort_by_key(|&at| sections.get(at).map(|it| (it.address, it.size)));
    numbers
}

/// The last label that is not above `target`.
fn last_label<'l, 'a>(labels: &'l [Label<'a>], target: u64) -> Option<&'l Label<'a>> {
    let end = labels.partition_point(|it| it.address <= target);
    labels.get(..end)?.last()
}

fn read_sections<'a>(file: &Elf<'a>) -> Vec<Section<'a>> {
    if file.sections().is_empty() {
        return executable_segments(file);
    }
    let section = |it: &hsaco_elf::Section<'a>| Section {
        name: Cow::Borrowed(it.name.as_bytes()),
        address: it.address,
        size: it.size,
        code: file.code_of(it),
        labels: Vec::new(),
    };
    file.sections().iter().map(section).collect()
}

/// What stands for sections in a file that has none.
fn executable_segments<'a>(elf: &Elf<'a>) -> Vec<Section<'a>> {
    let section = |it: &Segment| Section {
        name: Cow::Owned(format!("PT_LOAD#{}", it.index).into_bytes()),
        address: it.address,
        size: it.memory_size,
        code: mapped(elf, it),
        labels: Vec::new(),
    };
    elf.code_segments().map(section).collect()
}

/// As many bytes as a segment has in memory, if the file goes on for so long: the zeros that a linker
/// leaves behind code are listed.
fn mapped<'a>(elf: &Elf<'a>, segment: &Segment) -> &'a [u8] {
    let start = usize::try_from(segment.offset).ok();
    let size = usize::try_from(segment.memory_size).ok();
    let range = start.zip(size).and_then(|(start, size)| Some(start..start.checked_add(size)?));
    match range.and_then(|it| elf.data().get(it)) {
        Some(bytes) => bytes,
        None => elf.segment_data(segment).unwrap_or_default(),
    }
}
