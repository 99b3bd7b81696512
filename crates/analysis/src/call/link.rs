//! What relocations say of addresses: in code, in the GOT, in data.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use hsaco_bytes::Str;
use hsaco_elf::relocation::{Relocation, RelocationType};
use hsaco_elf::symbol::{Symbol, SymbolTable};
use hsaco_elf::{SHF_ALLOC, Section};
use hsaco_object::{CodeMap, CodeObject};

use crate::stream::Stream;

const ABS32_LO: u32 = 1;
const ABS64: u32 = 3;
const REL32: u32 = 4;
const REL64: u32 = 5;
const ABS32: u32 = 6;
const GOTPCREL: u32 = 7;
const GOTPCREL32_LO: u32 = 8;
const REL32_LO: u32 = 10;
const RELATIVE64: u32 = 13;
const REL16: u32 = 14;

/// What a pointer points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pointer<'a> {
    /// A place of this object.
    Address(u64),
    /// A symbol that another object has to define.
    External(Str<'a>),
}

/// A relocation of code that the linker has kept.
#[derive(Clone, Copy, Debug)]
struct InCode<'a> {
    place: u64,
    kind: RelocationType,
    /// The symbol's address, or its name where it has none.
    symbol: Pointer<'a>,
    addend: i64,
}

/// What a relocation of code refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Named<'a> {
    pub(super) pointer: Pointer<'a>,
    /// Whether the code makes the address of a pointer to it.
    pub(super) in_got: bool,
}

/// What all relocations of an object say.
pub(super) struct Links<'a> {
    in_code: Vec<InCode<'a>>,
    /// What pointers in memory point to once the object is loaded.
    pointers: BTreeMap<u64, Pointer<'a>>,
    /// Memory that nothing changes after that, in order.
    constant: Vec<Range<u64>>,
    /// Addresses of code mean nothing before an object is linked.
    pub(super) is_relocatable: bool,
}

impl<'a> Links<'a> {
    pub(super) fn new(object: &CodeObject<'a>, map: &CodeMap<'_>) -> Self {
        let mut links = Links {
            in_code: Vec::new(),
            pointers: BTreeMap::new(),
            constant: constant_memory(object),
            is_relocatable: object.is_relocatable(),
        };
        let (relocations, _) = object.relocations();
        let fixed = object.symbol_table().ok().flatten();
        let dynamic = SymbolTable::find_dynamic(object.elf()).ok().flatten();
        for relocation in &relocations {
            match relocation.section {
                // Debug information names functions, but no code can get their addresses from there.
                Some(section) if !is_loaded(object, section) => {}
                Some(section) if links.is_relocatable || is_code(object, section) => {
                    let symbol = find(fixed.as_ref(), relocation.symbol);
                    links.add_in_section(object, section, relocation, symbol, map);
                }
                Some(_) => {}
                None => links.add_pointer(relocation, dynamic.as_ref()),
            }
        }
        links.in_code.sort_by_key(|it| it.place);
        links
    }

    fn add_in_section(
        &mut self,
        object: &CodeObject<'a>,
        section: u32,
        relocation: &Relocation<'a>,
        symbol: Option<Symbol<'a>>,
        map: &CodeMap<'_>,
    ) {
        let Some(symbol) = symbol else { return };
        let value = map.address_of(symbol.section, symbol.value);
        let pointer = pointer_to(&Symbol { value, ..symbol });
        // Data of an object that is not linked has no address that could be told from one of code.
        let is_data =
            self.is_relocatable && symbol.is_defined() && !is_code(object, symbol.section);
        if is_code(object, section) && !is_data {
            self.in_code.push(InCode {
                place: map.address_of(section, relocation.offset),
                kind: relocation.kind,
                symbol: pointer,
                addend: relocation.addend,
            });
        } else if relocation.kind.0 == ABS64 && is_code(object, symbol.section) {
            // Places in data have no address yet, but what they point to is known.
            let key = u64::MAX - self.pointers.len() as u64;
            self.pointers.insert(key, pointer.moved(relocation.addend));
        }
    }

    fn add_pointer(&mut self, relocation: &Relocation<'a>, symbols: Option<&SymbolTable<'a>>) {
        let pointer = match relocation.kind.0 {
            RELATIVE64 => Some(Pointer::Address(relocation.addend.cast_unsigned())),
            ABS64 => find(symbols, relocation.symbol)
                .map(|symbol| pointer_to(&symbol).moved(relocation.addend)),
            _ => None,
        };
        self.pointers.extend(pointer.map(|pointer| (relocation.offset, pointer)));
    }

    /// What a pointer in memory that never changes points to.
    pub(super) fn constant_pointer(&self, place: u64) -> Option<Pointer<'a>> {
        let after = self.constant.partition_point(|range| range.start <= place);
        let before = after.checked_sub(1).and_then(|at| self.constant.get(at));
        let is_constant = before.is_some_and(|range| range.contains(&place));
        self.pointers.get(&place).copied().filter(|_| is_constant)
    }

    /// Where pointers in memory point to.
    pub(super) fn pointed_at(&self) -> impl Iterator<Item = u64> + '_ {
        self.pointers.values().filter_map(|pointer| match pointer {
            Pointer::Address(address) => Some(*address),
            Pointer::External(_) => None,
        })
    }

    /// What the relocations of these instructions say that the address is which they make; `counters` are
    /// those of them that give the program counter.
    pub(super) fn made_by(
        &self,
        stream: &Stream<'_>,
        sources: &BTreeSet<usize>,
        counters: &[usize],
    ) -> Option<Named<'a>> {
        sources.iter().find_map(|source| {
            let code = stream.address_of(*source)..stream.address_of(source + 1);
            self.inside(code).find_map(|it| it.target(base_before(stream, counters, *source)))
        })
    }

    /// The addresses that relocations of a function's code name, each with the number of the instruction.
    pub(super) fn named_in(&self, stream: &Stream<'_>, counters: &[usize]) -> Vec<(usize, u64)> {
        let code = stream.address()..stream.address().saturating_add(stream.size().into());
        let named = self.inside(code).filter_map(|relocation| {
            let step = stream.step_at(relocation.place);
            match relocation.target(base_before(stream, counters, step))?.pointer {
                Pointer::Address(address) => Some((step, address)),
                Pointer::External(_) => None,
            }
        });
        named.collect()
    }

    fn inside(&self, range: Range<u64>) -> impl Iterator<Item = &InCode<'a>> {
        let first = self.in_code.partition_point(|it| it.place < range.start);
        let (_, rest) = self.in_code.split_at(first);
        rest.iter().take_while(move |it| it.place < range.end)
    }
}

impl<'a> InCode<'a> {
    /// What the relocated instruction refers to, where `base` is what its distance is added to.
    fn target(&self, base: Option<u64>) -> Option<Named<'a>> {
        let pointer = match self.kind.0 {
            GOTPCREL | GOTPCREL32_LO => {
                return Some(Named { pointer: self.symbol, in_got: true });
            }
            ABS32_LO | ABS32 | ABS64 | REL16 => self.symbol.moved(self.addend),
            REL32 | REL32_LO | REL64 => {
                let distance = self.place.wrapping_sub(base?).cast_signed();
                self.symbol.moved(self.addend.wrapping_sub(distance))
            }
            _ => return None,
        };
        Some(Named { pointer, in_got: false })
    }
}

impl Pointer<'_> {
    fn moved(self, by: i64) -> Self {
        match self {
            Pointer::Address(address) => Pointer::Address(address.wrapping_add_signed(by)),
            external => external,
        }
    }
}

/// What the last of these instructions before another has made the program counter.
fn base_before(stream: &Stream<'_>, counters: &[usize], step: usize) -> Option<u64> {
    let after = counters.partition_point(|counter| *counter <= step);
    let counter = counters.get(after.checked_sub(1)?)?;
    Some(stream.address_of(counter + 1))
}

fn pointer_to<'a>(symbol: &Symbol<'a>) -> Pointer<'a> {
    if symbol.is_defined() {
        Pointer::Address(symbol.value)
    } else {
        Pointer::External(symbol.name)
    }
}

fn find<'a>(symbols: Option<&SymbolTable<'a>>, index: u32) -> Option<Symbol<'a>> {
    symbols?.symbol(index).ok().filter(|_| index != 0)
}

/// Whether a section is part of memory when its object runs.
fn is_loaded(object: &CodeObject<'_>, section: u32) -> bool {
    object.elf().section(section).is_some_and(|it| it.flags & SHF_ALLOC != 0)
}

fn is_code(object: &CodeObject<'_>, section: u32) -> bool {
    object.elf().section(section).is_some_and(Section::is_executable)
}

/// What linkers put addresses in for code to load, what becomes read-only after relocation, and what is so always.
fn constant_memory(object: &CodeObject<'_>) -> Vec<Range<u64>> {
    const PT_GNU_RELRO: u32 = 0x6474_e552;
    const PF_W: u32 = 2;
    let elf = object.elf();
    let range = |start: u64, size: u64| start..start.saturating_add(size);
    let is_filled_once =
        |section: &&Section<'_>| section.name == ".got" || section.name == ".data.rel.ro";
    // A linker that keeps objects apart leaves one of each.
    let filled_once = elf.sections().iter().filter(is_filled_once);
    let filled_once = filled_once.map(|section| range(section.address, section.size));
    let fixed = elf
        .segments()
        .iter()
        .filter(|segment| {
            segment.kind == PT_GNU_RELRO
                || segment.kind == hsaco_elf::PT_LOAD && segment.flags & PF_W == 0
        })
        .map(|segment| range(segment.address, segment.memory_size));
    joined(filled_once.chain(fixed).collect())
}

/// The same addresses in ranges that do not overlap, in order.
fn joined(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_by_key(|range| range.start);
    let mut joined: Vec<Range<u64>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}
