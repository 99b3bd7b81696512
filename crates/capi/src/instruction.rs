//! Instructions as rows: text, operands, and what they do.

use std::ffi::c_char;
use std::ptr;

use hsaco::db;
use hsaco::isa::effects::{self, Access, Space};
use hsaco::isa::model::{self as isa, RegisterFile as File};
use hsaco::isa::print::Words;

use crate::border::{Row, Texts};

/// A decoded instruction, or bytes that are none. What it points to lives as long as the kernel or listing that it is of.
#[repr(C)]
#[derive(Debug)]
pub struct Instruction {
    /// Which instruction of its kernel or listing it is, from 0.
    pub index: usize,
    /// Where it stands.
    pub address: u64,
    /// Its bytes.
    pub bytes: *const u8,
    /// How many.
    pub size: usize,
    /// Its text, as llvm-objdump prints it.
    pub text: *const c_char,
    /// Its name as it is printed, such as "v_add_f32_e32"; ".long" of a word that is no instruction.
    pub mnemonic: *const c_char,
    /// Its name without the suffix of its encoding, such as "v_add_f32".
    pub base_mnemonic: *const c_char,
    /// Its operands, as they are printed.
    pub operands: *const *const c_char,
    /// How many.
    pub operand_count: usize,
    /// What follows its operands, such as "offset:16".
    pub modifiers: *const *const c_char,
    /// How many.
    pub modifier_count: usize,
    /// The registers that it reads, implicit ones such as exec included.
    pub reads: *const Register,
    /// How many.
    pub read_count: usize,
    /// The registers that it writes, implicit ones such as vcc and scc included.
    pub writes: *const Register,
    /// How many.
    pub write_count: usize,
    /// The memory that it accesses.
    pub memory_space: MemorySpace,
    /// What it does there.
    pub memory_access: MemoryAccess,
    /// Bytes that a lane moves, or the wave in scalar accesses; 0 where a format or a descriptor decides.
    pub memory_width: u32,
    /// What it does to LDS on the other side, where data bypass registers.
    pub lds_access: MemoryAccess,
    /// Where execution goes after it.
    pub flow: Flow,
    /// Where it branches to, if it says so itself; HSACO_UNKNOWN if not.
    pub branch_target: u64,
}

/// Registers in a row.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Register {
    /// Which file they are of.
    pub file: RegisterFile,
    /// The number of the first; 0 of a special register.
    pub first: u32,
    /// How many registers of 32 bits.
    pub count: u32,
    /// 0 all bits, 1 the lower 16, 2 the upper 16.
    pub half: u32,
    /// As it is printed, such as `v[2:3]` or `vcc`.
    pub name: *const c_char,
}

/// A register file.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegisterFile {
    /// Vector registers.
    Vgpr = 0,
    /// Accumulation registers.
    Agpr = 1,
    /// Scalar registers.
    Sgpr = 2,
    /// Scalar registers of the trap handler.
    Ttmp = 3,
    /// A register of its own, such as vcc, exec, m0, scc.
    Special = 4,
}

/// What memory an instruction accesses.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemorySpace {
    /// None.
    None = 0,
    /// Through the scalar cache.
    Scalar = 1,
    /// Global memory.
    Global = 2,
    /// Global, LDS or scratch, as the address says.
    Flat = 3,
    /// Through a buffer descriptor.
    Buffer = 4,
    /// Memory of the workgroup.
    Lds = 5,
    /// Memory of the lane.
    Scratch = 6,
    /// Through an image descriptor.
    Image = 7,
}

/// What an instruction does to memory.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryAccess {
    /// Nothing.
    None = 0,
    /// It reads.
    Load = 1,
    /// It writes.
    Store = 2,
    /// It reads and writes at once.
    Atomic = 3,
}

/// Where execution goes after an instruction.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// To the next instruction.
    Next = 0,
    /// To its branch target.
    Branch = 1,
    /// There or to the next instruction.
    ConditionalBranch = 2,
    /// There, and back to the next instruction.
    Call = 3,
    /// To the address in a register, and back to the next instruction.
    IndirectCall = 4,
    /// To the address in a register: a jump, a tail call or the return of a function.
    IndirectJump = 5,
    /// Back from the trap handler.
    Return = 6,
    /// Nowhere: the wave ends.
    End = 7,
    /// To the trap handler, which may come back to the next instruction.
    Trap = 8,
}

impl Instruction {
    /// Of a decoded instruction, which outlives the row.
    pub(crate) fn row(it: &db::Instruction<'_>) -> Row<Self> {
        Row::new(|texts| {
            let (text, tokens) = it.tokens();
            let words = Words::of(&text, &tokens);
            let (operands, operand_count) = texts.list(words.operands.iter().copied());
            let (modifiers, modifier_count) = texts.list(words.modifiers.iter().copied());
            let (reads, read_count) = registers(texts, it.reads());
            let (writes, write_count) = registers(texts, it.writes());
            let memory = it.memory();
            Instruction {
                index: it.index(),
                address: it.address(),
                bytes: it.bytes().as_ptr(),
                size: it.bytes().len(),
                text: texts.keep(&it.text()),
                mnemonic: texts.keep(it.full_mnemonic()),
                base_mnemonic: texts.keep(it.mnemonic()),
                operands,
                operand_count,
                modifiers,
                modifier_count,
                reads,
                read_count,
                writes,
                write_count,
                memory_space: memory.map_or(MemorySpace::None, |it| space(it.space)),
                memory_access: access(memory.map(|it| it.access)),
                memory_width: memory.and_then(|it| it.bytes).map_or(0, u32::from),
                lds_access: access(memory.and_then(|it| it.lds)),
                flow: it.flow().map_or(Flow::Next, flow),
                branch_target: it.branch_target().unwrap_or(u64::MAX),
            }
        })
    }
}

fn registers(texts: &mut Texts, registers: Vec<isa::Register>) -> (*const Register, usize) {
    let mut row = |it: isa::Register| Register {
        file: match it.file {
            File::Vgpr => RegisterFile::Vgpr,
            File::Agpr => RegisterFile::Agpr,
            File::Sgpr => RegisterFile::Sgpr,
            File::Ttmp => RegisterFile::Ttmp,
            File::Special(_) => RegisterFile::Special,
        },
        first: it.first.into(),
        count: it.count.into(),
        half: it.half.map_or(0, |half| 1 + u32::from(half == isa::Half::High)),
        name: texts.keep(&it.to_string()),
    };
    let rows: Vec<_> = registers.into_iter().map(&mut row).collect();
    match rows.is_empty() {
        true => (ptr::null(), 0),
        false => texts.items(rows),
    }
}

fn space(space: Space) -> MemorySpace {
    match space {
        Space::Scalar => MemorySpace::Scalar,
        Space::Global => MemorySpace::Global,
        Space::Flat => MemorySpace::Flat,
        Space::Buffer => MemorySpace::Buffer,
        Space::Lds => MemorySpace::Lds,
        Space::Scratch => MemorySpace::Scratch,
        Space::Image => MemorySpace::Image,
    }
}

fn access(access: Option<Access>) -> MemoryAccess {
    match access {
        None => MemoryAccess::None,
        Some(Access::Load) => MemoryAccess::Load,
        Some(Access::Store) => MemoryAccess::Store,
        Some(Access::Atomic) => MemoryAccess::Atomic,
    }
}

fn flow(flow: effects::Flow) -> Flow {
    match flow {
        effects::Flow::Next => Flow::Next,
        effects::Flow::Branch => Flow::Branch,
        effects::Flow::ConditionalBranch => Flow::ConditionalBranch,
        effects::Flow::Call => Flow::Call,
        effects::Flow::IndirectCall => Flow::IndirectCall,
        effects::Flow::IndirectJump => Flow::IndirectJump,
        effects::Flow::Return => Flow::Return,
        effects::Flow::End => Flow::End,
        effects::Flow::Trap => Flow::Trap,
    }
}
