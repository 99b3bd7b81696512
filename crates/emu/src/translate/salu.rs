//! Scalar arithmetic, control flow, and scalar memory.

use hsaco_isa::errata::CLUSTER_BARRIER;
use hsaco_isa::model::OperandValue;
use hsaco_isa::target::Generation;

use super::operand::Wide;
use super::{After, Builder, Condition, End, Registers};
use crate::error::Result;
use crate::exec::address::Layout;
use crate::exec::memory::{bytes, words};
use crate::exec::{atomic, barrier, control, salu, smem};
use crate::generated::Op;
use crate::semantics::{Semantics, Type};
use crate::step::Handler;
use crate::wave::scalar;

impl<const C: usize> Builder<'_, C> {
    pub(super) fn scalar_instruction(
        &mut self,
        semantics: &'static Semantics,
    ) -> Result<Option<After>> {
        if let Some(after) = self.flow(semantics.op)? {
            return Ok(Some(after));
        }
        if let Some(after) = self.state(semantics.op)? {
            return Ok(Some(after));
        }
        if self.message(semantics.op)? {
            return Ok(None);
        }
        self.scalar_arithmetic(semantics)?;
        Ok(None)
    }

    /// Branches, calls, the end, barriers.
    fn flow(&mut self, op: Op) -> Result<Option<After>> {
        let next = self.next();
        let target = self.inst.branch_target(self.address).unwrap_or(next);
        let branch = |condition| After::Flow(End::If(condition, target, next));
        let end = match op {
            Op::SBranch => After::Flow(End::To(target)),
            Op::SCbranchScc0 => branch(Condition::Scc(false)),
            Op::SCbranchScc1 => branch(Condition::Scc(true)),
            Op::SCbranchVccz => branch(Condition::VccZero(true)),
            Op::SCbranchVccnz => branch(Condition::VccZero(false)),
            Op::SCbranchExecz => branch(Condition::ExecZero(true)),
            Op::SCbranchExecnz => branch(Condition::ExecZero(false)),
            Op::SEndpgm | Op::SEndpgmSaved | Op::SCodeEnd => {
                self.push(control::end::<C>, Registers::default());
                After::Flow(End::Stop)
            }
            Op::STrap => {
                let k = self.number("simm16").cast_unsigned();
                self.push(control::trap::<C>, Registers { k, ..Registers::default() });
                After::Flow(End::To(next))
            }
            Op::SSetpcB64 => {
                let a = self.scalar_source(self.needed("src0")?, Wide::Unsigned)?;
                self.push(control::jump::<C>, Registers { a, ..Registers::default() });
                After::Flow(End::Indirect)
            }
            Op::SSwappcB64 => {
                let a = self.scalar_source(self.needed("src0")?, Wide::Unsigned)?;
                let d = self.scalar_target(self.needed("sdst")?)?;
                self.push(
                    control::swap_pc::<C>,
                    Registers { a, d, k: next, ..Registers::default() },
                );
                After::Flow(End::Indirect)
            }
            Op::SAddPcI64 => {
                let a = self.scalar_source(self.needed("src0")?, Wide::Signed)?;
                self.push(control::add_pc::<C>, Registers { a, k: next, ..Registers::default() });
                After::Flow(End::Indirect)
            }
            Op::SCallB64 => {
                let d = self.scalar_target(self.needed("sdst")?)?;
                self.push(control::set_pair::<C>, Registers { d, k: next, ..Registers::default() });
                After::Flow(End::To(target))
            }
            Op::SBarrier => {
                self.push(barrier::meet::<C>, Registers::default());
                After::Flow(End::To(next))
            }
            Op::SBarrierWait => {
                let k = self.number("simm16").cast_unsigned();
                self.push(barrier::wait::<C>, Registers { k, ..Registers::default() });
                After::Flow(End::To(next))
            }
            Op::SSleep | Op::SSleepVar => {
                self.push(control::sleep::<C>, Registers::default());
                After::Flow(End::To(next))
            }
            _ => return Ok(None),
        };
        Ok(Some(end))
    }

    /// What changes how later instructions are translated.
    fn state(&mut self, op: Op) -> Result<Option<After>> {
        let k = self.number("simm16").cast_unsigned();
        match op {
            Op::SSetregB32 | Op::SSetregImm32B32 => {
                let name = if op == Op::SSetregB32 { "sdst" } else { "imm" };
                let a = self.scalar_source(self.needed(name)?, Wide::No)?;
                let e = u16::from(self.target.generation == Generation::Gfx125);
                self.push(
                    control::set_register::<C>,
                    Registers { a, e, k, ..Registers::default() },
                );
            }
            Op::SRoundMode => {
                let k = 0xf << 32 | k & 0xf;
                self.push(control::set_mode::<C>, Registers { k, ..Registers::default() });
            }
            Op::SDenormMode => {
                let k = 0xf0 << 32 | (k & 0xf) << 4;
                self.push(control::set_mode::<C>, Registers { k, ..Registers::default() });
            }
            Op::SSetVgprMsb => {
                self.push(control::set_msb::<C>, Registers { k: k & 0xff, ..Registers::default() });
            }
            Op::SSetGprIdxOn => {
                let a = self.scalar_source(self.needed("src0")?, Wide::No)?;
                self.push(control::set_index::<C>, Registers { a, ..Registers::default() });
                let k = self.immediate_source("src1")?;
                self.push(
                    control::set_index_mode::<C>,
                    Registers { k, c: 1, ..Registers::default() },
                );
            }
            Op::SSetGprIdxIdx => {
                let a = self.scalar_source(self.needed("src0")?, Wide::No)?;
                self.push(control::set_index::<C>, Registers { a, ..Registers::default() });
            }
            Op::SSetGprIdxMode => {
                self.push(
                    control::set_index_mode::<C>,
                    Registers { k, c: 1, ..Registers::default() },
                );
            }
            Op::SSetGprIdxOff => {
                self.push(control::set_index_mode::<C>, Registers::default());
            }
            _ => return Ok(None),
        }
        Ok(Some(After::State))
    }

    /// A source that is a number of the encoding.
    fn immediate_source(&self, name: &str) -> Result<u64> {
        match self.needed(name)? {
            OperandValue::Number(number) => Ok(number.cast_unsigned()),
            OperandValue::Integer(number) => Ok(i64::from(number).cast_unsigned()),
            _ => Err(self.unsupported("an operand that is no number")),
        }
    }

    /// Messages, hardware registers, the clock: whether it is one of them.
    fn message(&mut self, op: Op) -> Result<bool> {
        let k = self.number("simm16").cast_unsigned();
        match op {
            Op::Nop | Op::SNop | Op::SSendmsg | Op::SSethalt | Op::SSetkill => {}
            Op::SGetregB32 => {
                let d = self.scalar_target(self.needed("sdst")?)?;
                self.push(control::get_register::<C>, Registers { d, k, ..Registers::default() });
            }
            Op::SGetpcB64 => {
                let d = self.scalar_target(self.needed("sdst")?)?;
                let k = self.next();
                self.push(control::set_pair::<C>, Registers { d, k, ..Registers::default() });
            }
            Op::SMemtime => {
                let d = self.scalar_target(self.needed("sdst")?)?;
                self.push(smem::time::<C>, Registers { d, ..Registers::default() });
            }
            Op::SSendmsgRtnB32 | Op::SSendmsgRtnB64 => {
                let d = self.scalar_target(self.needed("sdst")?)?;
                let c = if op == Op::SSendmsgRtnB64 { 2 } else { 1 };
                let k = self.immediate_source("src0")?;
                self.push(control::message::<C>, Registers { d, c, k, ..Registers::default() });
            }
            Op::SMovrelsB32 => self.move_relative(1, 1)?,
            Op::SMovrelsB64 => self.move_relative(1, 2)?,
            Op::SMovreldB32 => self.move_relative(2, 1)?,
            Op::SMovreldB64 => self.move_relative(2, 2)?,
            Op::SMovrelsd2B32 => self.move_relative(3, 1)?,
            Op::SBarrierLeave => self.push(barrier::leave::<C>, Registers::default()),
            Op::SBarrierSignal
            | Op::SBarrierSignalIsfirst
            | Op::SBarrierInit
            | Op::SBarrierJoin
            | Op::SGetBarrierState => self.barrier(op)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// A move of `count` registers that M0 is added to.
    fn move_relative(&mut self, k: u64, count: u16) -> Result<()> {
        let wide = if count == 2 { Wide::Unsigned } else { Wide::No };
        let a = self.scalar_source(self.needed("src0")?, wide)?;
        let d = self.scalar_target(self.needed("sdst")?)?;
        self.push(
            salu::move_relative::<C>,
            Registers { d, a, e: count, k, ..Registers::default() },
        );
        self.after_scalar_write(d, count);
        Ok(())
    }

    /// What names a barrier: a number, or M0 in the form without an operand.
    fn barrier(&mut self, op: Op) -> Result<()> {
        let mut registers = Registers::default();
        match self.operand("src0") {
            Some(_) => registers.k = self.immediate_source("src0")?,
            None => registers.a = 1,
        }
        if op == Op::SGetBarrierState {
            registers.d = self.scalar_target(self.needed("sdst")?)?;
        }
        let has_stale_scc =
            self.target.has_errata() && self.operand("src0") == Some(CLUSTER_BARRIER);
        registers.c = u16::from(op == Op::SBarrierSignalIsfirst && !has_stale_scc);
        registers.e = u16::from(self.target.generation == Generation::Gfx12);
        let run = match op {
            Op::SBarrierInit => barrier::init::<C>,
            Op::SBarrierJoin => barrier::join::<C>,
            Op::SGetBarrierState => barrier::state::<C>,
            _ => barrier::signal::<C>,
        };
        self.push(run, registers);
        Ok(())
    }

    fn scalar_arithmetic(&mut self, semantics: &'static Semantics) -> Result<()> {
        let op = semantics.op;
        let run: Handler<C> = salu::find(op).ok_or_else(|| self.unsupported("not written yet"))?;
        let Some((wide, has_result)) = salu::shape(op) else {
            return self.save_exec(run);
        };
        let is_signed = op == Op::SAshrI64 || op == Op::SBfeI64;
        let width = |is_wide: bool| match (is_wide, is_signed) {
            (false, _) => Wide::No,
            (true, true) => Wide::Signed,
            (true, false) => Wide::Unsigned,
        };
        let mut registers = Registers::default();
        let is_k = semantics.inputs.first() == Some(&Type::K);
        let is_mk = semantics.mnemonic == "s_fmamk_f32";
        let values = if is_k {
            self.short_sources(semantics, has_result)?
        } else if is_mk {
            [Some(self.needed("src0")?), Some(self.needed("imm")?), self.operand("src1")]
        } else {
            let third = self.operand("src2").or(self.operand("imm"));
            [self.operand("src0"), self.operand("src1"), third]
        };
        let target = self.operand("sdst").filter(|_| has_result);
        let [first, second, third] = values;
        let third = third.or(target);
        if let Some(value) = first {
            registers.a = self.scalar_source(value, width(wide[1]))?;
        }
        if let Some(value) = second {
            registers.b = self.scalar_source(value, width(wide[2]))?;
        }
        if let Some(value) = third {
            registers.c = self.scalar_source(value, width(wide[3]))?;
        }
        if let Some(value) = target {
            registers.d = self.scalar_target(value)?;
        }
        self.push(run, registers);
        if has_result {
            self.after_scalar_write(registers.d, 1 + u16::from(wide[0]));
        }
        Ok(())
    }

    /// Operands of instructions with a 16-bit number: the register, and the number with its sign.
    fn short_sources(
        &self,
        semantics: &'static Semantics,
        has_result: bool,
    ) -> Result<[Option<OperandValue>; 3]> {
        let short = self.number("simm16") as i16;
        let is_unsigned = semantics.mnemonic.ends_with("_u32");
        let number = if is_unsigned {
            OperandValue::Literal32(u32::from(short.cast_unsigned()))
        } else {
            OperandValue::Literal32(i32::from(short).cast_unsigned())
        };
        let register = self.operand("src0").or(self.operand("sdst"));
        let is_move = matches!(semantics.op, Op::SMovB32 | Op::SCmovB32);
        if has_result && is_move {
            return Ok([Some(number), None, None]);
        }
        Ok([register, Some(number), None])
    }

    fn save_exec(&mut self, run: Handler<C>) -> Result<()> {
        let a = self.scalar_source(self.needed("src0")?, Wide::Unsigned)?;
        let d = self.scalar_target(self.needed("sdst")?)?;
        self.push(run, Registers { d, a, ..Registers::default() });
        Ok(())
    }

    pub(super) fn scalar_memory(&mut self, semantics: &'static Semantics) -> Result<()> {
        if matches!(semantics.op, Op::SNop | Op::Nop) {
            return Ok(());
        }
        if semantics.op == Op::SMemtime {
            self.message(semantics.op)?;
            return Ok(());
        }
        let ty = semantics.inputs.first().copied().unwrap_or(Type::B32);
        let count = words(ty);
        let is_buffer = semantics.mnemonic.starts_with("s_buffer");
        let change = atomic::find::<C>(semantics.op, ty).map(|(_, number, _)| number);
        let run: Handler<C> = match (semantics.op, count) {
            (Op::SLoad | Op::SBufferLoad, Some(_)) => smem::load::<C>,
            (Op::SLoad | Op::SBufferLoad, None) => smem::load_part::<C>,
            (Op::SStore | Op::SBufferStore, Some(_)) => smem::store::<C>,
            _ if change.is_some() => smem::change::<C>,
            _ => return Err(self.unsupported("not written yet")),
        };
        let writes = matches!(semantics.op, Op::SLoad | Op::SBufferLoad);
        let zero = scalar::CONSTANTS + self.pools.scalar(0, None);
        let a = self.scalar_source(self.needed("sbase")?, Wide::Unsigned)?;
        let (mut b, mut k) = (zero, 0);
        if let Some(value) = self.operand("soffset") {
            b = self.scalar_source(value, Wide::No)?;
        }
        if let Some(OperandValue::Number(offset)) = self.operand("offset") {
            k = offset.cast_unsigned();
        }
        let name = if writes { "sdst" } else { "sdata" };
        let d = self.scalar_target(self.needed(name)?)?;
        let c = match ty {
            Type::U8 => 1,
            Type::U16 => 2,
            Type::I8 => 0x8001,
            Type::I16 => 0x8002,
            _ => count.unwrap_or(1),
        };
        let scale = if self.scales_offset() { bytes(ty) } else { 1 };
        let access = smem::Access {
            scale,
            buffer: is_buffer.then(|| Layout::of(self.target.generation)),
            change: change.unwrap_or(0) as u8,
            returns: !writes && self.operand("sdst").is_some(),
        };
        self.push(run, Registers { d, a, b, c, e: access.pack(), k });
        if writes || access.returns {
            self.after_scalar_write(d, count.unwrap_or(1));
        }
        Ok(())
    }

    /// Whether an offset register counts elements: on gfx1250, by a bit of the cache policy.
    pub(super) fn scales_offset(&self) -> bool {
        self.target.generation == Generation::Gfx125 && self.number("cpol") >> 11 & 1 == 1
    }
}
