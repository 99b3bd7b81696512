//! Numbers of the ELF specification and of AMD's additions to it, and their names.

/// The first four bytes of every ELF file.
pub const MAGIC: [u8; 4] = *b"\x7fELF";
/// `e_machine` of AMD GPU code objects.
pub const EM_AMDGPU: u16 = 224;
/// `EI_OSABI` of HSA code objects.
pub const ELFOSABI_AMDGPU_HSA: u8 = 64;
/// `EI_OSABI` of PAL (graphics driver) code objects.
pub const ELFOSABI_AMDGPU_PAL: u8 = 65;
/// `EI_OSABI` of Mesa code objects.
pub const ELFOSABI_AMDGPU_MESA3D: u8 = 66;
/// `e_type` of a relocatable object.
pub const ET_REL: u16 = 1;
/// `e_type` of a shared object: what the HSA loader wants.
pub const ET_DYN: u16 = 3;

/// Section without content in the list.
pub const SHT_NULL: u32 = 0;
/// Content whose meaning is the program's.
pub const SHT_PROGBITS: u32 = 1;
/// Symbol table of the static linker.
pub const SHT_SYMTAB: u32 = 2;
/// Strings that other sections refer to.
pub const SHT_STRTAB: u32 = 3;
/// Relocations with addends.
pub const SHT_RELA: u32 = 4;
/// System V hash table of the loader's symbols.
pub const SHT_HASH: u32 = 5;
/// The dynamic table.
pub const SHT_DYNAMIC: u32 = 6;
/// Notes.
pub const SHT_NOTE: u32 = 7;
/// Section that takes no bytes of the file.
pub const SHT_NOBITS: u32 = 8;
/// Relocations without addends.
pub const SHT_REL: u32 = 9;
/// Symbol table of the loader.
pub const SHT_DYNSYM: u32 = 11;
/// Sections that the linker keeps or drops together.
pub const SHT_GROUP: u32 = 17;
/// Section indices of symbols whose own field is too small.
pub const SHT_SYMTAB_SHNDX: u32 = 18;
/// Relocations of addresses, as bitmaps.
pub const SHT_RELR: u32 = 19;
/// GNU hash table of the loader's symbols.
pub const SHT_GNU_HASH: u32 = 0x6fff_fff6;
/// Section flag: writable.
pub const SHF_WRITE: u64 = 1;
/// Section flag: has an address.
pub const SHF_ALLOC: u64 = 2;
/// Section flag: holds instructions.
pub const SHF_EXECINSTR: u64 = 4;
/// `sh_flags`: the section's bytes are a header and a compressed stream.
pub const SHF_COMPRESSED: u64 = 1 << 11;

/// Segment that is mapped.
pub const PT_LOAD: u32 = 1;
/// Segment that holds the dynamic table.
pub const PT_DYNAMIC: u32 = 2;
/// Segment that holds notes.
pub const PT_NOTE: u32 = 4;
/// Segment that holds the program headers themselves.
pub const PT_PHDR: u32 = 6;
/// Segment whose flags say whether the stack is executable.
pub const PT_GNU_STACK: u32 = 0x6474_e551;
/// Segment flag: executable.
pub const PF_X: u32 = 1;
/// Segment flag: writable.
pub const PF_W: u32 = 2;
/// Segment flag: readable.
pub const PF_R: u32 = 4;

pub(crate) const HEADER_SIZE: u64 = 64;
pub(crate) const SECTION_HEADER_SIZE: u16 = 64;
pub(crate) const PROGRAM_HEADER_SIZE: u16 = 56;

/// Names of section types, as `readelf` spells them.
pub fn section_type_name(kind: u32) -> Option<&'static str> {
    Some(match kind {
        0 => "NULL",
        1 => "PROGBITS",
        2 => "SYMTAB",
        3 => "STRTAB",
        4 => "RELA",
        5 => "HASH",
        6 => "DYNAMIC",
        7 => "NOTE",
        8 => "NOBITS",
        9 => "REL",
        11 => "DYNSYM",
        14 => "INIT_ARRAY",
        15 => "FINI_ARRAY",
        17 => "GROUP",
        18 => "SYMTAB_SHNDX",
        19 => "RELR",
        0x4000_0014 => "CREL",
        0x6000_0001 => "ANDROID_REL",
        0x6000_0002 => "ANDROID_RELA",
        0x6fff_ff00 => "ANDROID_RELR",
        0x6fff_4c03 => "LLVM_ADDRSIG",
        0x6fff_fff6 => "GNU_HASH",
        _ => return None,
    })
}

/// Names of segment types, as `readelf` spells them.
pub fn segment_type_name(kind: u32) -> Option<&'static str> {
    Some(match kind {
        0 => "NULL",
        1 => "LOAD",
        2 => "DYNAMIC",
        3 => "INTERP",
        4 => "NOTE",
        6 => "PHDR",
        7 => "TLS",
        0x6474_e550 => "GNU_EH_FRAME",
        0x6474_e551 => "GNU_STACK",
        0x6474_e552 => "GNU_RELRO",
        0x6474_e553 => "GNU_PROPERTY",
        _ => return None,
    })
}

/// Names of file types, as the ELF specification spells them.
pub fn file_type_name(e_type: u16) -> Option<&'static str> {
    Some(match e_type {
        0 => "ET_NONE",
        1 => "ET_REL",
        2 => "ET_EXEC",
        3 => "ET_DYN",
        4 => "ET_CORE",
        _ => return None,
    })
}
