//! What the code of one function uses: registers, LDS, stack.

use hsaco_isa::effects::{Effects, Flow, Space};
use hsaco_isa::model::{OperandValue, Register, RegisterFile};
use hsaco_isa::{Decoder, Inst};

use crate::cfg::{BlockId, Cfg, Exit};
use crate::register_set::RegisterSet;
use crate::stream::Stream;

/// What the code of one function uses by itself, without what it calls.
///
/// ```
/// use hsaco_analysis::{Cfg, Stream, Usage};
/// use hsaco_isa::{Decoder, Processor};
/// // v_add_u32 v3, v1, v2; s_add_i32 s32, s32, 16; s_setpc_b64 s[30:31]
/// let words = [0x6806_0501_u32, 0x8120_9020, 0xbe80_1d1e];
/// let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
/// let decoder = Decoder::new(Processor::from_name("gfx942").unwrap())?;
/// let stream = Stream::decode(&decoder, 0, &bytes);
/// let usage = Usage::new(&decoder, &stream, &Cfg::new(&decoder, &stream));
/// assert_eq!((usage.vgprs(), usage.sgprs(), usage.frame.raised), (4, 33, 16));
/// # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Usage {
    /// The registers that instructions name.
    pub registers: RegisterSet,
    /// Those of them that instructions may write.
    pub writes: RegisterSet,
    /// Whether LDS is accessed.
    pub lds: bool,
    /// What is known of its stack frame.
    pub frame: StackFrame,
    /// How many instructions it has.
    pub instructions: usize,
    /// Words that are no instructions: who knows what they use.
    pub undecoded: usize,
    /// Whether it asks for the program counter, to make an address of it.
    pub(crate) makes_addresses: bool,
}

/// What is known of the stack frame of a function, by LLVM's calling convention: s32 points to the stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StackFrame {
    /// By how much the stack pointer is raised, or where a kernel sets it; in its own unit, which is bytes of
    /// a lane or of a wave.
    pub raised: u32,
    /// The end of what is accessed at constant distances from the frame, in bytes of a lane.
    pub accessed: u32,
    /// Whether the stack pointer is raised by what only run time knows.
    pub is_dynamic: bool,
    /// Whether scratch memory is accessed by instructions of its own, whose addresses are a lane's.
    pub is_flat: bool,
    /// Whether code computes with the stack pointer: it makes addresses of its frame, by which it may access any of it.
    pub is_exposed: bool,
}

const STACK_POINTER: u16 = 32;
const FRAME_POINTER: u16 = 33;

impl Usage {
    /// Vector registers, as the highest number needs them.
    #[must_use]
    pub fn vgprs(&self) -> u32 {
        self.count(RegisterFile::Vgpr)
    }

    /// Accumulation registers.
    #[must_use]
    pub fn agprs(&self) -> u32 {
        self.count(RegisterFile::Agpr)
    }

    /// Numbered scalar registers.
    #[must_use]
    pub fn sgprs(&self) -> u32 {
        self.count(RegisterFile::Sgpr)
    }

    fn count(&self, file: RegisterFile) -> u32 {
        self.registers.highest(file).map_or(0, |highest| u32::from(highest) + 1)
    }

    /// Takes note of a register that an instruction writes.
    #[inline]
    pub(crate) fn add_write(&mut self, decoder: &Decoder, inst: &Inst, register: &Register) {
        self.registers.insert(register);
        self.writes.insert(register);
        if register.file != RegisterFile::Sgpr {
            return;
        }
        if is_one(register, STACK_POINTER) {
            self.frame.move_pointer(decoder, inst);
        }
        self.makes_addresses |= register.count == 2 && inst.len() == 4 && gives_counter(inst);
    }

    /// Takes note of a register that an instruction reads.
    #[inline]
    pub(crate) fn add_read(&mut self, inst: &Inst, register: &Register, effects: &Effects<'_>) {
        self.registers.insert(register);
        if is_one(register, STACK_POINTER) && !self.frame.is_exposed {
            let moves_it = |it: Register| is_one(&it, STACK_POINTER) || is_one(&it, FRAME_POINTER);
            let is_base = effects.memory().is_some() || inst.mnemonic() == "s_mov_b32";
            self.frame.is_exposed = !is_base && !effects.writes().any(moves_it);
        }
    }

    /// Takes note of the memory that an instruction accesses.
    #[inline]
    pub(crate) fn add_memory(&mut self, decoder: &Decoder, inst: &Inst, effects: &Effects<'_>) {
        let Some(memory) = effects.memory() else { return };
        self.lds |= memory.space == Space::Lds || memory.lds.is_some();
        if matches!(memory.space, Space::Scratch | Space::Buffer) {
            self.frame.access(decoder, inst, memory.space, memory.bytes);
        }
    }
}

/// The blocks that may run.
pub(crate) fn reached(stream: &Stream<'_>, cfg: &Cfg) -> Vec<BlockId> {
    let goes_anywhere = |block: &BlockId| {
        let block = cfg.blocks()[*block];
        let last = || stream.inst(block.end.wrapping_sub(1));
        block.exit == Some(Exit::Unknown)
            && last().is_some_and(|inst| inst.flow() == Flow::IndirectJump)
    };
    let order = cfg.reverse_post_order();
    if order.iter().any(goes_anywhere) { cfg.blocks().ids().collect() } else { order.to_vec() }
}

/// Whether an instruction gives the address after it.
pub(crate) fn gives_counter(inst: &Inst) -> bool {
    matches!(inst.mnemonic(), "s_getpc_b64" | "s_get_pc_i64")
}

fn is_one(register: &Register, number: u16) -> bool {
    register.file == RegisterFile::Sgpr && register.first == number && register.count <= 1
}

impl StackFrame {
    /// Takes note of an instruction that writes the stack pointer.
    fn move_pointer(&mut self, decoder: &Decoder, inst: &Inst) {
        let mut register = None;
        let mut number = None;
        for operand in decoder.operands(inst).filter(|operand| !operand.is_output) {
            match operand.value {
                OperandValue::Register(it) => register = Some(it),
                OperandValue::Integer(it) => number = Some(i64::from(it)),
                OperandValue::Literal32(it) => number = Some(i64::from(it.cast_signed())),
                OperandValue::Number(it) => {
                    number = Some(i64::from(it.cast_unsigned() as u16 as i16));
                }
                _ => {}
            }
        }
        match (inst.mnemonic(), number) {
            ("s_mov_b32" | "s_movk_i32", Some(number)) => self.raise(number),
            ("s_add_i32" | "s_add_u32" | "s_add_co_i32" | "s_add_co_u32", Some(number))
                if register.is_some_and(|it| is_one(&it, STACK_POINTER)) =>
            {
                self.raise(number);
            }
            ("s_addk_i32" | "s_addk_co_i32", Some(number)) => self.raise(number),
            // Back to where it was.
            ("s_mov_b32", None) => {}
            ("s_sub_i32" | "s_sub_u32" | "s_sub_co_i32" | "s_sub_co_u32", Some(_)) => {}
            _ => self.is_dynamic = true,
        }
    }

    fn raise(&mut self, by: i64) {
        self.raised = self.raised.max(u32::try_from(by).unwrap_or(0));
    }

    /// Takes note of an access at a constant distance from the stack or frame pointer.
    fn access(&mut self, decoder: &Decoder, inst: &Inst, space: Space, bytes: Option<u8>) {
        self.is_flat |= space == Space::Scratch;
        let is_pointer = |value| match value {
            Some(OperandValue::Register(register)) => {
                is_one(&register, STACK_POINTER) || is_one(&register, FRAME_POINTER)
            }
            _ => false,
        };
        let base = if space == Space::Scratch { "saddr" } else { "soffset" };
        let has_address = decoder.operand(inst, "vaddr").is_some();
        let offset = match decoder.operand(inst, "offset") {
            Some(OperandValue::Number(offset)) => u32::try_from(offset).ok(),
            _ => None,
        };
        let address = decoder.operand(inst, base);
        let is_absolute = space == Space::Scratch && address.is_none();
        if let (false, true, Some(offset)) =
            (has_address, is_absolute || is_pointer(address), offset)
        {
            self.accessed = self.accessed.max(offset.saturating_add(bytes.unwrap_or(0).into()));
        }
    }
}
