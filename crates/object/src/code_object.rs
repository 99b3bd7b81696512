//! A code object: one ELF for one AMD GPU target, and what is in it.
//!
//! ```no_run
//! # fn example(bytes: &[u8]) -> hsaco_bytes::Result<()> {
//! let object = hsaco_object::CodeObject::parse(bytes)?;
//! println!("{} for {}", object.abi_version(), object.target());
//! for kernel in object.index().kernels() {
//!     println!("{}", kernel.name());
//! }
//! # Ok(()) }
//! ```

use std::fmt;

use hsaco_bytes::{Error, Problems, Result};
use hsaco_elf::note::Note;
use hsaco_elf::relocation::{self, Relocation};
use hsaco_elf::symbol::{Symbol, SymbolTable};
use hsaco_elf::{ELFOSABI_AMDGPU_HSA, ET_REL, Elf};
use hsaco_isa::TargetId;
use hsaco_isa::target::{AbiVersion, EFlags, Generation};

use crate::metadata::Metadata;
use crate::note::{IsaVersion, NT_AMD_HSA_ISA_VERSION, OWNER_AMD};

/// An ELF file for an AMD GPU.
#[derive(Clone, Debug)]
pub struct CodeObject<'a> {
    elf: Elf<'a>,
}

/// The processor and features a code object was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A processor this crate knows.
    Known(TargetId),
    /// A machine number that had no name when this crate was written.
    Unknown(u32),
}

impl Target {
    /// The target id, when the processor is known.
    pub fn id(self) -> Option<TargetId> {
        match self {
            Self::Known(id) => Some(id),
            Self::Unknown(_) => None,
        }
    }

    /// The family of the processor, when it is known.
    pub fn generation(self) -> Option<Generation> {
        self.id().map(|id| id.processor.generation())
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(id) => f.pad(&id.to_string()),
            Self::Unknown(mach) => f.pad(&format!("unknown-{mach:#x}")),
        }
    }
}

impl<'a> CodeObject<'a> {
    /// Reads the headers of a code object. Costs the size of the header tables.
    pub fn parse(data: &'a [u8]) -> Result<Self> {
        Ok(Self { elf: Elf::parse_amdgpu(data)? })
    }

    /// The ELF file underneath.
    pub fn elf(&self) -> &Elf<'a> {
        &self.elf
    }

    /// The whole file.
    pub fn data(&self) -> &'a [u8] {
        self.elf.data()
    }

    /// True for what the compiler writes and the linker has not yet seen.
    pub fn is_relocatable(&self) -> bool {
        self.elf.header().e_type == ET_REL
    }

    /// True for objects of the HSA runtime, as opposed to PAL's and Mesa's.
    pub fn is_hsa(&self) -> bool {
        self.elf.header().os_abi == ELFOSABI_AMDGPU_HSA
    }

    /// The code object version.
    pub fn abi_version(&self) -> AbiVersion {
        AbiVersion::from_byte(self.elf.header().abi_version)
    }

    /// True for code object V2, whose kernels have a symbol type of their own.
    pub fn is_v2(&self) -> bool {
        self.is_hsa() && self.abi_version().code_object_version() == Some(2)
    }

    /// The target, as the header's flags say it.
    pub fn e_flags(&self) -> EFlags {
        let flags = self.elf.header().flags;
        match self.is_hsa() {
            true => EFlags::new(flags, self.abi_version()),
            false => EFlags::non_hsa(flags, self.abi_version()),
        }
    }

    /// The target: of the header, and for V2 of the ISA note.
    pub fn target(&self) -> Target {
        let flags = self.e_flags();
        let id = if self.is_v2() { self.v2_target() } else { flags.target_id() };
        id.map_or(Target::Unknown(flags.mach()), Target::Known)
    }

    fn v2_target(&self) -> Option<TargetId> {
        let note = self.notes().flatten().find(|it| it.is(OWNER_AMD, NT_AMD_HSA_ISA_VERSION))?;
        let isa = IsaVersion::parse(note.desc).ok()?;
        TargetId::from_v2_isa(isa.major, isa.minor, isa.stepping)
    }

    /// Every note: of the segments, else of the sections.
    pub fn notes(&self) -> impl Iterator<Item = Result<Note<'a>>> + use<'a> {
        hsaco_elf::note::tables(&self.elf).into_iter().flat_map(|table| {
            let (notes, error) = match table {
                Ok(table) => (Some(table.notes()), None),
                Err(error) => (None, Some(Err(error))),
            };
            notes.into_iter().flatten().chain(error)
        })
    }

    /// The metadata of all notes, merged.
    pub fn metadata(&self) -> Metadata<'a> {
        Metadata::from_notes(self.notes().flatten())
    }

    /// The symbol table: `.symtab`, else `.dynsym`, else the dynamic segment's.
    pub fn symbol_table(&self) -> Result<Option<SymbolTable<'a>>> {
        SymbolTable::find(&self.elf)
    }

    /// Every relocation, and what was wrong with the tables that hold them.
    pub fn relocations(&self) -> (Vec<Relocation<'a>>, Vec<Error>) {
        relocation::read(&self.elf)
    }

    /// What is wrong with the headers and notes. The index has problems of its own.
    pub fn problems(&self) -> Vec<Error> {
        let mut problems = Problems::default();
        problems.extend(self.elf.problems());
        for note in self.notes() {
            if let Err(error) = note {
                problems.note(error);
            }
        }
        problems.as_slice().to_vec()
    }

    /// `size` bytes of the file at a symbol's place, if they are there.
    pub fn bytes_at(&self, symbol: &Symbol<'_>, size: u64) -> Option<&'a [u8]> {
        if !self.is_relocatable()
            && let Some(bytes) = self.elf.at_address(symbol.value, size)
        {
            return Some(bytes);
        }
        let section = self.elf.section(symbol.section)?;
        let start = symbol.value.checked_sub(section.address)?;
        let content = self.elf.section_data(section).ok()?;
        hsaco_bytes::slice(content, start, size, "symbol content").ok()
    }
}

impl<'a> AsRef<Elf<'a>> for CodeObject<'a> {
    fn as_ref(&self) -> &Elf<'a> {
        &self.elf
    }
}
