//! The instructions that lead to a replacement and back, as words.

use hsaco_isa::model::{OperandValue, Register, RegisterFile, Special};
use hsaco_isa::{Decoder, Inst};

/// How control gets from one place to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JumpKind {
    /// Nothing: the replacement is in place.
    None,
    /// By one `s_branch`.
    Near,
    /// By way of other `s_branch`es.
    Relay,
    /// By an address in a pair of scalar registers.
    Far,
}

impl JumpKind {
    /// A short name that programs may rely on.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            JumpKind::None => "none",
            JumpKind::Near => "near",
            JumpKind::Relay => "relay",
            JumpKind::Far => "far",
        }
    }

    /// The jump of a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::None, Self::Near, Self::Relay, Self::Far].into_iter().find(|it| it.name() == name)
    }
}

/// `s_nop 0`.
pub(crate) const NOP: u32 = 0xbf80_0000;
/// `s_code_end`.
pub(crate) const CODE_END: u32 = 0xbf9f_0000;
/// The number of VCC as a scalar register.
pub(crate) const VCC: u16 = 106;

/// A far jump, as its instructions say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FarWay {
    pub(crate) target: u64,
    /// The scalar register in which SCC is saved before.
    pub(crate) saved: Option<Register>,
    /// Whether SCC is lost.
    pub(crate) loses_scc: bool,
}

/// Instructions that a far jump may have at the most.
const LONGEST: usize = 12;

/// The far jump that begins here, if one does: its instructions are followed from the program counter to the jump.
pub(crate) fn far_way(decoder: &Decoder, at: u64, bytes: &[u8]) -> Option<FarWay> {
    let mut trace = Trace { decoder, saved: None, pair: None, value: 0, carry: None };
    let (mut at, mut rest) = (at, bytes);
    for _ in 0..LONGEST {
        let inst = decoder.decode(rest)?;
        let after = at.wrapping_add(inst.len() as u64);
        if trace.step(&inst, after)? {
            let loses_scc = trace.carry.is_some();
            return Some(FarWay { target: trace.value, saved: trace.saved, loses_scc });
        }
        (at, rest) = (after, rest.get(inst.len()..)?);
    }
    None
}

/// Where a far jump goes, if one begins here.
pub(crate) fn far_target(decoder: &Decoder, at: u64, bytes: &[u8]) -> Option<u64> {
    far_way(decoder, at, bytes).map(|way| way.target)
}

/// The scalar register from which an instruction takes SCC back: `s_cmp_lg_u32 s0, 0`.
pub(crate) fn restored_scc(decoder: &Decoder, bytes: &[u8]) -> Option<(Register, usize)> {
    let inst = decoder.decode(bytes).filter(|it| it.mnemonic() == "s_cmp_lg_u32")?;
    let OperandValue::Register(register) = decoder.operand(&inst, "src0")? else { return None };
    let is_zero = decoder.operand(&inst, "src1") == Some(OperandValue::Integer(0));
    is_zero.then_some((register, inst.len()))
}

/// What is known of a far jump so far.
struct Trace<'d> {
    decoder: &'d Decoder,
    saved: Option<Register>,
    pair: Option<Register>,
    value: u64,
    carry: Option<bool>,
}

impl Trace<'_> {
    /// Follows one instruction; whether it jumps. Nothing where no far jump has such an instruction.
    fn step(&mut self, inst: &Inst, after: u64) -> Option<bool> {
        let name = inst.mnemonic();
        match name {
            "s_wait_alu" | "s_waitcnt_depctr" => {}
            "s_cselect_b32" if self.pair.is_none() && self.saved.is_none() => {
                let wanted = [("src0", 1), ("src1", 0)];
                let is_scc = wanted.iter().all(|(name, number)| {
                    self.decoder.operand(inst, name) == Some(OperandValue::Integer(*number))
                });
                self.saved = Some(self.register(inst, "sdst").filter(|_| is_scc)?);
            }
            "s_getpc_b64" | "s_get_pc_i64" if self.pair.is_none() => {
                (self.pair, self.value) = (Some(self.register(inst, "sdst")?), after);
            }
            "s_setpc_b64" | "s_set_pc_i64" => {
                return (self.register(inst, "src0") == self.pair).then_some(true);
            }
            _ => self.change(inst, name)?,
        }
        Some(false)
    }

    /// Follows an instruction that changes the address.
    fn change(&mut self, inst: &Inst, name: &str) -> Option<()> {
        let pair = self.pair?;
        let [low, high] = halves(&pair);
        let (dst, src) = (self.register(inst, "sdst")?, self.register(inst, "src0")?);
        let is_wide = matches!(name, "s_add_nc_u64" | "s_sub_nc_u64");
        let is_low = matches!(name, "s_add_u32" | "s_add_co_u32");
        let place = if is_wide {
            pair
        } else if is_low {
            low
        } else {
            high
        };
        if dst != place || src != place {
            return None;
        }
        let (value_low, value_high) = (self.value as u32, (self.value >> 32) as u32);
        let join = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
        match name {
            "s_add_nc_u64" => self.value = self.value.wrapping_add(self.constant(inst)?),
            "s_sub_nc_u64" => self.value = self.value.wrapping_sub(self.constant(inst)?),
            "s_add_u32" | "s_add_co_u32" => {
                let (sum, carry) = value_low.overflowing_add(self.constant(inst)? as u32);
                (self.value, self.carry) = (join(sum, value_high), Some(carry));
            }
            "s_addc_u32" | "s_add_co_ci_u32" => {
                let sum = value_high.wrapping_add(self.constant(inst)? as u32);
                self.value = join(value_low, sum.wrapping_add(self.carry?.into()));
            }
            "s_sext_i32_i16" => {
                let high = i32::from(value_high.cast_signed() as i16).cast_unsigned();
                self.value = join(value_low, high);
            }
            _ => return None,
        }
        Some(())
    }

    fn register(&self, inst: &Inst, name: &str) -> Option<Register> {
        match self.decoder.operand(inst, name)? {
            OperandValue::Register(register) => Some(register),
            _ => None,
        }
    }

    fn constant(&self, inst: &Inst) -> Option<u64> {
        match self.decoder.operand(inst, "src1")? {
            OperandValue::Integer(value) => Some(i64::from(value).cast_unsigned()),
            OperandValue::Literal32(value) => Some(value.into()),
            OperandValue::Literal64(value) => Some(value),
            _ => None,
        }
    }
}

/// The two registers of a pair.
fn halves(pair: &Register) -> [Register; 2] {
    let special = |special| Register { file: RegisterFile::Special(special), count: 1, ..*pair };
    match pair.file {
        RegisterFile::Special(_) => [special(Special::VccLo), special(Special::VccHi)],
        _ => [0, 1].map(|at| Register { first: pair.first + at, count: 1, ..*pair }),
    }
}

/// Words as bytes.
pub(crate) fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}
