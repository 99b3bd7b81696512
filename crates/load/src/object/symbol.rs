//! The symbols of an object: what each stands for, where it is, and who may see it.

use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::RandomState;
use hsaco_elf::symbol::{
    Binding, SHN_ABS, SHN_AMDGPU_LDS, SHN_COMMON, STT_AMDGPU_HSA_KERNEL, STT_COMMON, STT_FUNC,
    STT_OBJECT, STT_SECTION, Symbol, SymbolSource, SymbolTable, Visibility,
};
use hsaco_elf::{SHT_DYNSYM, SHT_SYMTAB, Segment};
use hsaco_object::{CodeObject, Index, SymbolKind};

use super::kernel::{self, Located};
use super::segment::mapped;
use crate::error::{ErrorKind, Result, refusal, unreadable};
use crate::id::LoadedSymbolKind;
use crate::name::{NameId, Names};

/// Where a symbol is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In another object.
    Elsewhere,
    /// At an address of its object.
    Memory(u64),
    /// Nowhere: it is a number.
    Number(u64),
    /// In LDS, with that alignment.
    Lds(u64),
}

/// What kind of thing a symbol's type says it is; two of one name must not differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Class {
    Unknown,
    Function,
    Variable,
}

impl Class {
    fn of(kind: u8) -> Self {
        match kind {
            STT_FUNC | STT_AMDGPU_HSA_KERNEL => Class::Function,
            STT_OBJECT | STT_COMMON => Class::Variable,
            _ => Class::Unknown,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Class::Unknown => "symbol",
            Class::Function => "function",
            Class::Variable => "variable",
        }
    }
}

/// A symbol of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) name: NameId,
    /// The name to show: a kernel's is without `.kd`.
    pub(crate) shown: NameId,
    /// What it is; nothing for the code of a kernel, whose descriptor is the kernel.
    pub(crate) kind: Option<LoadedSymbolKind>,
    pub(crate) class: Class,
    /// Its type in the file.
    pub(crate) file_type: u8,
    pub(crate) place: Place,
    pub(crate) size: u64,
    pub(crate) binding: Binding,
    pub(crate) visibility: Visibility,
    /// Whether it is among those that take part in linking.
    pub(crate) is_dynamic: bool,
    /// Whether nothing may write it once it is loaded.
    pub(crate) is_const: bool,
    pub(crate) align: u64,
    /// The kernel that it is the descriptor or the code of.
    pub(crate) kernel: Option<u32>,
}

impl Entry {
    pub(crate) fn is_defined(&self) -> bool {
        self.place != Place::Elsewhere
    }

    /// Whether other objects may refer to it.
    pub(crate) fn is_exported(&self) -> bool {
        let is_visible = matches!(self.visibility, Visibility::Default | Visibility::Protected);
        self.is_dynamic && self.is_defined() && self.binding != Binding::Local && is_visible
    }

    /// Whether references of its own object may go to another one's definition.
    pub(crate) fn is_preemptible(&self) -> bool {
        self.is_exported() && self.visibility == Visibility::Default
    }
}

/// What a number of a symbol table stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    Nothing,
    Entry(u32),
    /// A label or a section: only its address matters.
    Address(u64),
}

/// The symbols of an object, and what the numbers of its tables stand for.
pub(super) struct Tables<'a> {
    pub(super) entries: Vec<Entry>,
    pub(super) kernels: Vec<Located<'a>>,
    pub(super) fixed: Vec<Slot>,
    pub(super) dynamic: Vec<Slot>,
}

struct Reader<'r, 'a> {
    code: &'r CodeObject<'a>,
    segments: &'r [Segment],
    relro: &'r [Range<u64>],
    names: &'r mut Names,
    kernels: kernel::Found<'a>,
    entries: Vec<Entry>,
}

impl<'a> Tables<'a> {
    pub(super) fn read(
        code: &CodeObject<'a>,
        index: &Index<'a>,
        segments: &[Segment],
        relro: &[Range<u64>],
        names: &mut Names,
    ) -> Result<Self> {
        let unreadable = |error: hsaco_bytes::Error| unreadable(&error);
        let table = |kind, source| {
            let section = code.elf().sections().iter().find(|it| it.kind == kind);
            section.map(|it| SymbolTable::of_section(code.elf(), it, source)).transpose()
        };
        let fixed = table(SHT_SYMTAB, SymbolSource::Symtab).map_err(unreadable)?;
        let dynamic = match table(SHT_DYNSYM, SymbolSource::Dynsym).map_err(unreadable)? {
            Some(table) => Some(table),
            None => SymbolTable::find_dynamic(code.elf()).map_err(unreadable)?,
        };
        let kernels = kernel::Found::read(code, index, segments)?;
        let mut reader = Reader { code, segments, relro, names, kernels, entries: Vec::new() };
        let mut tables = (Vec::new(), Vec::new());
        if let Some(fixed) = &fixed {
            tables.0 = reader.read_table(fixed, true, dynamic.is_none())?;
        }
        if let Some(dynamic) = &dynamic {
            tables.1 = match &fixed {
                Some(_) => reader.join(dynamic)?,
                None => reader.read_table(dynamic, true, true)?,
            };
        }
        let kernels = reader.kernels.into_kernels();
        Ok(Self { entries: reader.entries, kernels, fixed: tables.0, dynamic: tables.1 })
    }
}

impl<'a> Reader<'_, 'a> {
    /// Adds the symbols of a table; `is_first` says whether it is the one that kernels are known by.
    fn read_table(
        &mut self,
        table: &SymbolTable<'a>,
        is_first: bool,
        is_dynamic: bool,
    ) -> Result<Vec<Slot>> {
        let mut slots = Vec::with_capacity(table.len());
        slots.push(Slot::Nothing);
        self.entries.reserve(table.len());
        self.names.reserve(table.len());
        for symbol in table.iter() {
            let symbol = symbol.map_err(|error| unreadable(&error))?;
            slots.push(self.slot(&symbol, is_first, is_dynamic)?);
        }
        Ok(slots)
    }

    /// Tells which symbols take part in linking; those that the other table has not are added.
    fn join(&mut self, table: &SymbolTable<'a>) -> Result<Vec<Slot>> {
        let mut known: HashMap<NameId, usize, RandomState> =
            HashMap::with_capacity_and_hasher(table.len(), RandomState::default());
        for (number, entry) in self.entries.iter().enumerate() {
            if entry.binding != Binding::Local {
                known.insert(entry.name, number);
            }
        }
        let mut slots = Vec::with_capacity(table.len());
        slots.push(Slot::Nothing);
        for symbol in table.iter() {
            let symbol = symbol.map_err(|error| unreadable(&error))?;
            let same = self.names.find(symbol.name).and_then(|name| known.get(&name)).copied();
            let same = same.filter(|_| symbol.binding != Binding::Local);
            let slot = match same.and_then(|at| Some((at, self.entries.get_mut(at)?))) {
                Some((at, entry)) => {
                    entry.is_dynamic = true;
                    Slot::Entry(u32::try_from(at).unwrap_or(u32::MAX))
                }
                None => self.slot(&symbol, false, true)?,
            };
            slots.push(slot);
        }
        Ok(slots)
    }

    fn slot(&mut self, symbol: &Symbol<'a>, is_first: bool, is_dynamic: bool) -> Result<Slot> {
        self.check_section(symbol)?;
        if symbol.kind == STT_SECTION {
            let section = self.code.elf().section(symbol.section);
            return Ok(Slot::Address(section.map_or(symbol.value, |it| it.address)));
        }
        let kind = SymbolKind::of(symbol, self.code.is_v2());
        let kernel = self.kernels.of_symbol(symbol, is_first);
        let is_local = symbol.binding == Binding::Local;
        let kind = match kind {
            SymbolKind::Bookkeeping => return Ok(Slot::Nothing),
            SymbolKind::Label if is_local => return Ok(Slot::Address(symbol.value)),
            SymbolKind::External if symbol.name.is_empty() => return Ok(Slot::Nothing),
            SymbolKind::KernelDescriptor | SymbolKind::KernelV2 | SymbolKind::Variable
                if kernel.is_some() =>
            {
                Some(LoadedSymbolKind::Kernel)
            }
            SymbolKind::Function if kernel.is_some() => None,
            SymbolKind::KernelDescriptor | SymbolKind::KernelV2 => Some(LoadedSymbolKind::Variable),
            SymbolKind::Function => Some(LoadedSymbolKind::Function),
            SymbolKind::IndirectFunction => Some(LoadedSymbolKind::IndirectFunction),
            SymbolKind::Variable if is_common(symbol) => Some(LoadedSymbolKind::External),
            SymbolKind::Variable => Some(LoadedSymbolKind::Variable),
            SymbolKind::LdsVariable => Some(LoadedSymbolKind::Lds),
            SymbolKind::External => Some(LoadedSymbolKind::External),
            SymbolKind::Absolute => Some(LoadedSymbolKind::Absolute),
            SymbolKind::Label if self.is_code(symbol) => Some(LoadedSymbolKind::Function),
            SymbolKind::Label => Some(LoadedSymbolKind::Variable),
        };
        self.check_place(symbol, kind)?;
        let entry = self.entry(symbol, kind, kernel, is_dynamic);
        self.entries.push(entry);
        Ok(Slot::Entry(u32::try_from(self.entries.len() - 1).unwrap_or(u32::MAX)))
    }

    fn entry(
        &mut self,
        symbol: &Symbol<'a>,
        kind: Option<LoadedSymbolKind>,
        kernel: Option<u32>,
        is_dynamic: bool,
    ) -> Entry {
        let place = match symbol.section {
            SHN_AMDGPU_LDS => Place::Lds(symbol.value),
            SHN_ABS => Place::Number(symbol.value),
            _ if !symbol.is_defined() || is_common(symbol) => Place::Elsewhere,
            _ => Place::Memory(symbol.value),
        };
        let (is_const, align) = self.section_facts(symbol, place);
        let name = self.names.intern(symbol.name);
        let plain =
            symbol.name.strip_suffix(".kd").filter(|_| kind == Some(LoadedSymbolKind::Kernel));
        Entry {
            name,
            shown: plain.map_or(name, |plain| self.names.intern(plain)),
            kind,
            class: Class::of(symbol.kind),
            file_type: symbol.kind,
            place,
            size: symbol.size,
            binding: symbol.binding,
            visibility: symbol.visibility,
            is_dynamic,
            is_const,
            align,
            kernel,
        }
    }

    /// Whether a variable is read-only once loaded, and how it is aligned: as its section is, as far as its
    /// address shows it.
    fn section_facts(&self, symbol: &Symbol<'_>, place: Place) -> (bool, u64) {
        const SHF_WRITE: u64 = 1;
        const PF_W: u32 = 2;
        let address = match place {
            Place::Memory(address) => address,
            Place::Lds(align) => return (false, align),
            Place::Elsewhere | Place::Number(_) => return (false, 0),
        };
        let section = self.code.elf().section(symbol.section).filter(|it| it.index != 0);
        let segment = mapped(self.segments, address, 0);
        let is_written = match section {
            Some(section) => section.flags & SHF_WRITE != 0,
            None => segment.is_some_and(|it| it.flags & PF_W != 0),
        };
        let is_sealed = self.relro.iter().any(|range| range.contains(&address));
        let most = section.map_or(u64::MAX, |it| it.align.max(1));
        let shown = 1_u64.checked_shl(address.trailing_zeros()).unwrap_or(1 << 63);
        (!is_written || is_sealed, most.min(shown))
    }

    fn is_code(&self, symbol: &Symbol<'_>) -> bool {
        match self.code.elf().section(symbol.section).filter(|it| it.index != 0) {
            Some(section) => section.is_executable(),
            None => mapped(self.segments, symbol.value, 0).is_some_and(Segment::is_executable),
        }
    }

    fn check_section(&self, symbol: &Symbol<'_>) -> Result<()> {
        const FIRST_RESERVED: u32 = 0xff00;
        const LAST_RESERVED: u32 = 0xffff;
        let is_known = matches!(symbol.section, SHN_AMDGPU_LDS | SHN_ABS | SHN_COMMON);
        let count = self.code.elf().sections().len();
        let is_reserved = (FIRST_RESERVED..=LAST_RESERVED).contains(&symbol.section);
        let is_past = count != 0 && symbol.section as usize >= count;
        if is_known || !(is_reserved || is_past) {
            return Ok(());
        }
        let detail = format!("`{}` is in section {:#x} of {count}", symbol.name, symbol.section);
        Err(refusal(ErrorKind::BadSymbol, detail))
    }

    fn check_place(&self, symbol: &Symbol<'_>, kind: Option<LoadedSymbolKind>) -> Result<()> {
        let is_in_memory = !self.code.is_relocatable()
            && symbol.is_defined()
            && !is_common(symbol)
            && !matches!(symbol.section, SHN_AMDGPU_LDS | SHN_ABS);
        // What only marks a place, such as the end of a section, may stand right behind one.
        let is_typed = Class::of(symbol.kind) != Class::Unknown;
        let size = if is_typed { symbol.size } else { 0 };
        if !is_in_memory || mapped(self.segments, symbol.value, size).is_some() || !is_typed {
            return Ok(());
        }
        let what = kind.map_or("kernel code", LoadedSymbolKind::name);
        let detail = format!(
            "{what} `{}`: {size:#x} bytes at {:#x} are in no segment",
            symbol.name, symbol.value
        );
        let is_descriptor = kind == Some(LoadedSymbolKind::Kernel);
        let kind = if is_descriptor { ErrorKind::BadDescriptor } else { ErrorKind::BadSymbol };
        Err(refusal(kind, detail))
    }
}

/// A declaration: its definition says where it is.
fn is_common(symbol: &Symbol<'_>) -> bool {
    symbol.section == SHN_COMMON || symbol.kind == STT_COMMON
}
