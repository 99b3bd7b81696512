//! Vector memory: a step that makes addresses, and one that accesses memory there.

use hsaco_isa::model::{Format, OperandValue, RegisterFile};
use hsaco_isa::target::Generation;

use super::operand::Wide;
use super::{After, Builder, End, Registers};
use crate::error::Result;
use crate::exec::address::{self, Buffer, BufferAccess, Layout, Offset, Scalar64, Vector64};
use crate::exec::format::{self, Formatted};
use crate::exec::lds_copy::{self, Copy, Kind};
use crate::exec::transpose::{self, Exchange, Transpose};
use crate::exec::{atomic, barrier, ds, handler, lane, memory, tensor};
use crate::generated::Op;
use crate::semantics::{Semantics, Type};
use crate::step::Step;
use crate::wave::scalar;

/// A signed number of so many bits.
fn signed(value: i64, bits: u32) -> i64 {
    value << (64 - bits) >> (64 - bits)
}

impl<const C: usize> Builder<'_, C> {
    pub(super) fn vector_memory(&mut self, semantics: &'static Semantics) -> Result<()> {
        match semantics.op {
            Op::Cache | Op::Nop => {
                return Ok(());
            }
            Op::DsBpermuteB32 | Op::DsPermuteB32 | Op::DsSwizzleB32 | Op::DsBpermuteFiB32 => {
                return self.permute(semantics.op);
            }
            Op::DsAppend | Op::DsConsume => return self.count(semantics.op),
            _ => {}
        }
        let ty = semantics.inputs.first().copied().unwrap_or(Type::B32);
        if semantics.mnemonic.starts_with("cluster_load") {
            self.push(barrier::check_mask::<C>, Registers::default());
        }
        if self.number("gds") != 0 {
            return Err(self.unsupported("global data share"));
        }
        match self.inst.format() {
            _ if matches!(semantics.op, Op::LoadAddtid | Op::StoreAddtid) => self.lane_address()?,
            Format::Ds => self.lds_address()?,
            Format::Flat => self.flat_address(true, ty)?,
            Format::Global => self.flat_address(false, ty)?,
            Format::Scratch => self.scratch_address(ty)?,
            _ => self.buffer_address(semantics.op, ty)?,
        }
        match semantics.op {
            // The form without a destination.
            Op::Load if self.operand("vdst").or(self.operand("vdata")).is_none() => {
                self.copy_with_lds(Op::LoadToLds, ty)
            }
            Op::Load | Op::LoadAddtid => self.load(ty),
            Op::Store | Op::StoreAddtid => self.store(ty),
            Op::Load2 | Op::Load2st64 | Op::Store2 | Op::Store2st64 | Op::Swap2 | Op::Swap2st64 => {
                self.two(semantics.op, ty)
            }
            Op::LoadTr16 | Op::LoadTr8 | Op::LoadTr6 | Op::LoadTr4 => {
                self.transpose(semantics.op, ty)
            }
            Op::LoadToLds | Op::StoreFromLds | Op::LoadToLdsAsync | Op::StoreFromLdsAsync => {
                self.copy_with_lds(semantics.op, ty)
            }
            Op::LoadFormat | Op::StoreFormat => self.formatted(semantics),
            Op::LoadBlock | Op::StoreBlock => self.block(semantics.op),
            Op::DsCondxchg32RtnB64 => {
                let d = self.memory_register(self.needed("vdst")?)?;
                let a = self.memory_register(self.needed("data0")?)?;
                self.push(ds::conditional_swap::<C>, Registers { d, a, ..Registers::default() });
                Ok(())
            }
            Op::DsAtomicBarrierArriveRtnB64 | Op::DsAtomicAsyncBarrierArriveB64 => {
                self.barrier_arrive()
            }
            op => self.atomic(op, ty),
        }
    }

    /// The data that is stored, under whatever name.
    fn data(&self) -> Result<OperandValue> {
        let named = ["data0", "vdata", "vdata_in"].iter().find_map(|name| self.operand(name));
        named.ok_or_else(|| self.unsupported("no data"))
    }

    fn memory_register(&self, value: OperandValue) -> Result<u16> {
        let OperandValue::Register(register) = value else {
            return Err(self.unsupported("no register"));
        };
        self.vector_register(register, 8)
    }

    fn load(&mut self, ty: Type) -> Result<()> {
        let value = self.operand("vdst").or(self.operand("vdata"));
        let d = self.memory_register(value.ok_or_else(|| self.unsupported("no destination"))?)?;
        if let Some((source, step)) = self.address_of_its_own()
            && let Some(run) = memory::load_at(source, ty, self.host)
        {
            self.replace_last(Step { run, d, ..step });
            return Ok(());
        }
        // With ECC the other half of a register is not kept.
        let clears = self.target.is_gfx9();
        let (run, k) = memory::load(ty, clears, self.host)
            .ok_or_else(|| self.unsupported("not written yet"))?;
        self.push(run, Registers { d, k, ..Registers::default() });
        Ok(())
    }

    fn store(&mut self, ty: Type) -> Result<()> {
        let a = self.memory_register(self.data()?)?;
        if let Some((source, step)) = self.address_of_its_own()
            && let Some(run) = memory::store_at(source, ty, self.host)
        {
            self.replace_last(Step { run, d: a, ..step });
            return Ok(());
        }
        let (run, mut k) = memory::store(ty).ok_or_else(|| self.unsupported("not written yet"))?;
        if let OperandValue::Register(it) = self.data()?
            && it.half == Some(hsaco_isa::model::Half::High)
            && let Some(part) = memory::Part::of(ty)
        {
            k = memory::Part { half: Some(true), ..part }.pack();
        }
        self.push(run, Registers { a, k, ..Registers::default() });
        Ok(())
    }

    /// The step that makes addresses, where the access may do that as well: nothing looks at them in between.
    fn address_of_its_own(&self) -> Option<(memory::Source, Step<C>)> {
        self.source.filter(|_| !self.is_watched).zip(self.steps.last().copied())
    }

    fn replace_last(&mut self, step: Step<C>) {
        self.steps.pop();
        self.steps.push(step);
    }

    fn two(&mut self, op: Op, ty: Type) -> Result<()> {
        let words = memory::words(ty).unwrap_or(1);
        let (run, unit) = ds::find(op, words).ok_or_else(|| self.unsupported("not written yet"))?;
        let [first, second] = ["offset0", "offset1"].map(|name| self.number(name) as u64 & 0xff);
        let mut registers =
            Registers { k: (first * unit) | (second * unit) << 32, ..Registers::default() };
        if !matches!(op, Op::Store2 | Op::Store2st64) {
            registers.d = self.memory_register(self.needed("vdst")?)?;
        }
        if !matches!(op, Op::Load2 | Op::Load2st64) {
            registers.a = self.memory_register(self.needed("data0")?)?;
            registers.b = self.memory_register(self.needed("data1")?)?;
        }
        self.push(run, registers);
        Ok(())
    }

    fn atomic(&mut self, op: Op, ty: Type) -> Result<()> {
        let (run, k, count) =
            atomic::find(op, ty).ok_or_else(|| self.unsupported("not written yet"))?;
        let data = self.memory_register(self.data()?)?;
        let mut registers = Registers { a: data, b: data, k, ..Registers::default() };
        match op {
            // The value to store comes first, the one to compare with after it.
            Op::AtomicCmpswap => registers.b = data + count,
            Op::AtomicCmpst | Op::AtomicMskor => {
                registers.a = self.memory_register(self.needed("data1")?)?;
            }
            Op::AtomicCmpstore | Op::AtomicWrap => {
                registers.b = self.memory_register(self.needed("data1")?)?;
            }
            _ => {}
        }
        if let Some(value) = self.operands.iter().find(|it| it.is_output).map(|it| it.value) {
            registers.d = self.memory_register(value)?;
            registers.c = 1;
        }
        self.push(run, registers);
        Ok(())
    }

    /// One counter in LDS for all lanes.
    fn count(&mut self, op: Op) -> Result<()> {
        if self.number("gds") != 0 {
            return Err(self.unsupported("global data share"));
        }
        let d = self.memory_register(self.needed("vdst")?)?;
        let k = self.number("offset").cast_unsigned() & 0xffff;
        let c = u16::from(op == Op::DsConsume);
        self.push(ds::count::<C>, Registers { d, c, k, ..Registers::default() });
        Ok(())
    }

    /// A barrier of all workgroups.
    pub(super) fn grid_barrier(&mut self, op: Op) -> Result<Option<After>> {
        let a = self.memory_register(self.needed("data0")?)?;
        let k = self.number("offset").cast_unsigned() & 0xffff;
        let registers = Registers { a, k, ..Registers::default() };
        if op == Op::DsGwsInit {
            self.push(barrier::init_grid::<C>, registers);
            return Ok(None);
        }
        self.push(barrier::meet_grid::<C>, registers);
        Ok(Some(After::Flow(End::To(self.address + self.inst.len() as u64))))
    }

    fn barrier_arrive(&mut self) -> Result<()> {
        let mut registers = Registers::default();
        if let Some(target) = self.operand("vdst") {
            registers.d = self.memory_register(target)?;
            registers.a = self.memory_register(self.needed("data0")?)?;
            registers.c = 1;
        }
        self.push(ds::barrier_arrive::<C>, registers);
        Ok(())
    }

    /// How lanes exchange elements: on gfx950 in groups of sixteen, from gfx12 on of eight.
    fn transpose(&mut self, op: Op, ty: Type) -> Result<()> {
        let is_gfx9 = self.target.is_gfx9();
        if !is_gfx9 && C == 8 {
            return Err(self.unsupported("in waves of 64 lanes"));
        }
        let words = memory::words(ty).unwrap_or(0) as u8;
        let bits = match op {
            Op::LoadTr16 => 16,
            Op::LoadTr8 => 8,
            Op::LoadTr6 => 6,
            _ => 4,
        };
        let exchange = match op {
            _ if is_gfx9 => Exchange::Columns(16),
            Op::LoadTr8 => Exchange::Interleaved,
            _ => Exchange::Columns(8),
        };
        let ignores_exec = !is_gfx9 && self.inst.format() == Format::Ds;
        let kind = Transpose { exchange, bits, words, ignores_exec };
        let d = self.memory_register(self.needed("vdst")?)?;
        self.push(transpose::load::<C>, Registers { d, k: kind.pack(), ..Registers::default() });
        Ok(())
    }

    /// Between memory and LDS.
    fn copy_with_lds(&mut self, op: Op, ty: Type) -> Result<()> {
        let is_async = matches!(op, Op::LoadToLdsAsync | Op::StoreFromLdsAsync);
        let is_flat = matches!(self.inst.format(), Format::Flat | Format::Global | Format::Scratch);
        let offset = if is_flat { self.flat_offset(false) } else { self.number("offset") };
        let kind = match (memory::words(ty), memory::Part::of(ty)) {
            (Some(words), _) => Kind::Words(words as u8),
            (None, Some(part)) if !is_async => Kind::Part(part),
            _ => Kind::Byte,
        };
        let mut registers =
            Registers { k: Copy { offset: offset as u32, kind }.pack(), ..Registers::default() };
        if is_async {
            let name = if op == Op::LoadToLdsAsync { "vdst" } else { "vdata" };
            registers.a = self.memory_register(self.needed(name)?)?;
            registers.c = 1;
        }
        let is_load = matches!(op, Op::LoadToLds | Op::LoadToLdsAsync);
        self.push(if is_load { lds_copy::load::<C> } else { lds_copy::store::<C> }, registers);
        Ok(())
    }

    /// The format that an instruction has.
    fn format_number(&self) -> Option<u8> {
        (self.inst.format() == Format::Mtbuf).then(|| self.number("format") as u8)
    }

    fn formatted(&mut self, semantics: &'static Semantics) -> Result<()> {
        let mnemonic = semantics.mnemonic;
        let access = Formatted {
            number: self.format_number(),
            components: mnemonic.rsplit('_').next().unwrap_or_default().len() as u8,
            is_half: mnemonic.contains("d16"),
            is_high: mnemonic.contains("_hi_"),
            clears: self.target.is_gfx9(),
            layout: Layout::of(self.target.generation),
        };
        let data = self.operand("vdata").ok_or_else(|| self.unsupported("to LDS"))?;
        let data = self.memory_register(data)?;
        let b = self.scalar_source(self.needed("srsrc")?, Wide::Unsigned)? + 3;
        let k = access.pack();
        let registers = Registers { d: data, a: data, b, k, ..Registers::default() };
        let is_load = semantics.op == Op::LoadFormat;
        self.push(if is_load { format::load::<C> } else { format::store::<C> }, registers);
        Ok(())
    }

    /// The groups of a tensor's descriptor; those that are left out are zero.
    pub(super) fn tensor(&mut self, op: Op) -> Result<()> {
        let zeros = scalar::CONSTANTS + self.pools.zeros();
        let mut groups = [zeros; 4];
        for (group, name) in groups.iter_mut().zip(["vaddr0", "vaddr1", "vaddr2", "vaddr3"]) {
            if let Some(value) = self.operand(name).filter(|value| !is_null(*value)) {
                *group = self.scalar_source(value, Wide::Unsigned)?;
            }
        }
        let [a, b, c, d] = groups;
        let k = u64::from(op == Op::TensorStoreFromLds);
        self.push(tensor::tile::<C>, Registers { d, a, b, c, k, ..Registers::default() });
        Ok(())
    }

    fn block(&mut self, op: Op) -> Result<()> {
        if op == Op::LoadBlock {
            let d = self.memory_register(self.needed("vdst")?)?;
            self.push(lds_copy::load_block::<C>, Registers { d, ..Registers::default() });
        } else {
            let a = self.memory_register(self.needed("vdata")?)?;
            self.push(lds_copy::store_block::<C>, Registers { a, ..Registers::default() });
        }
        Ok(())
    }

    fn permute(&mut self, op: Op) -> Result<()> {
        let run = lane::find(op).ok_or_else(|| self.unsupported("not written yet"))?;
        let d = self.memory_register(self.needed("vdst")?)?;
        let offset = self.number("offset").cast_unsigned() & 0xffff;
        let registers = match op {
            Op::DsSwizzleB32 => {
                let a = self.memory_register(self.needed("addr")?)?;
                Registers { d, a, k: offset, ..Registers::default() }
            }
            _ => {
                let a = self.memory_register(self.needed("data0")?)?;
                let b = self.memory_register(self.needed("addr")?)?;
                let fetches = u64::from(op == Op::DsBpermuteFiB32) << 16;
                // RDNA2's and RDNA3's manuals: the halves of a wave of 64 lanes are two waves to it.
                let has_halves =
                    matches!(self.target.generation, Generation::Gfx10 | Generation::Gfx11);
                let c = if has_halves { 32 } else { 64 };
                Registers { d, a, b, c, k: offset | fetches, ..Registers::default() }
            }
        };
        self.push(run, registers);
        Ok(())
    }

    fn lds_address(&mut self) -> Result<()> {
        let a = self.memory_register(self.needed("addr")?)?;
        let b = self.zero();
        let k = self.number("offset").cast_unsigned() & 0xffff;
        let run = handler::<C, Offset<true>>(self.host);
        self.push(run, Registers { a, b, c: 1, k, ..Registers::default() });
        self.source = Some(memory::Source::Lds);
        Ok(())
    }

    /// A base that all lanes share, and their numbers.
    fn lane_address(&mut self) -> Result<()> {
        let mut registers = Registers::default();
        if self.inst.format() == Format::Ds {
            registers.k = self.number("offset").cast_unsigned() & 0xffff;
            let is_wide = self.target.generation == Generation::Gfx125 && !self.target.has_errata();
            registers.e = if is_wide { 20 } else { 16 };
        } else {
            registers.k = self.flat_offset(false).cast_unsigned();
            registers.b = match self.operand("saddr").filter(|value| !is_null(*value)) {
                Some(value) => self.scalar_source(value, Wide::Unsigned)?,
                None => self.zero(),
            };
        }
        self.push(address::of_lane::<C>, registers);
        Ok(())
    }

    /// A scalar register that is zero.
    fn zero(&mut self) -> u16 {
        scalar::CONSTANTS + self.pools.scalar(0, Some(0))
    }

    /// The offset in the encoding, with its sign where it has one.
    fn flat_offset(&self, is_flat: bool) -> i64 {
        let field = self.number("offset");
        match self.target.generation {
            generation if generation < Generation::Gfx10 && is_flat => field & 0xfff,
            generation if generation < Generation::Gfx10 => signed(field, 13),
            Generation::Gfx10 if is_flat => field & 0x7ff,
            Generation::Gfx10 => signed(field, 12),
            Generation::Gfx11 => signed(field, 13),
            _ => signed(field, 24),
        }
    }

    fn flat_address(&mut self, is_flat: bool, ty: Type) -> Result<()> {
        let k = self.flat_offset(is_flat).cast_unsigned();
        let saddr = self.operand("saddr").filter(|value| !is_null(*value));
        let vaddr = self.operand("vaddr");
        let Some(saddr) = saddr else {
            let a = self.memory_register(vaddr.ok_or_else(|| self.unsupported("no address"))?)?;
            let run = match is_flat {
                true => handler::<C, Vector64<true>>(self.host),
                false => handler::<C, Vector64<false>>(self.host),
            };
            self.push(run, Registers { a, k, ..Registers::default() });
            self.source = Some(memory::Source::Vector64 { is_flat });
            return Ok(());
        };
        let b = self.scalar_source(saddr, Wide::Unsigned)?;
        let a = match vaddr {
            Some(value) => self.memory_register(value)?,
            None => self.vector_constant(0),
        };
        let c = if self.scales_offset() { u16::from(memory::bytes(ty)) } else { 1 };
        let run = match is_flat {
            true => handler::<C, Scalar64<true>>(self.host),
            false => handler::<C, Scalar64<false>>(self.host),
        };
        self.push(run, Registers { a, b, c, k, ..Registers::default() });
        self.source = Some(memory::Source::Scalar64 { is_flat });
        Ok(())
    }

    fn scratch_address(&mut self, ty: Type) -> Result<()> {
        let k = self.flat_offset(false).cast_unsigned();
        let b = match self.operand("saddr").filter(|value| !is_null(*value)) {
            Some(value) => self.scalar_source(value, Wide::No)?,
            None => self.zero(),
        };
        let a = match self.operand("vaddr") {
            Some(value) => self.memory_register(value)?,
            None => self.vector_constant(0),
        };
        let c = if self.scales_offset() { u16::from(memory::bytes(ty)) } else { 1 };
        let run = handler::<C, Offset<false>>(self.host);
        self.push(run, Registers { a, b, c, k, ..Registers::default() });
        Ok(())
    }

    /// A bit of the encoding.
    pub(super) fn bit(&self, number: usize) -> bool {
        let bytes = self.inst.bytes();
        bytes.get(number / 8).is_some_and(|byte| byte >> (number % 8) & 1 == 1)
    }

    /// Bytes of an access; 0 where the descriptor says it.
    fn buffer_bytes(&self, op: Op, ty: Type) -> u8 {
        if !matches!(op, Op::LoadFormat | Op::StoreFormat) {
            return memory::bytes(ty);
        }
        let layout = Layout::of(self.target.generation);
        self.format_number().map_or(0, |number| format::bytes(number, layout) as u8)
    }

    fn buffer_address(&mut self, op: Op, ty: Type) -> Result<()> {
        let (offset_bit, index_bit) = match self.target.generation {
            generation if generation < Generation::Gfx11 => (12, 13),
            Generation::Gfx11 => (54, 55),
            _ => (62, 63),
        };
        let access = BufferAccess {
            offset: self.number("offset") as u32,
            has_offset: self.bit(offset_bit),
            has_index: self.bit(index_bit),
            bytes: self.buffer_bytes(op, ty),
            is_whole: !matches!(op, Op::Load | Op::Store | Op::LoadToLds | Op::StoreFromLds),
            is_formatted: matches!(op, Op::LoadFormat | Op::StoreFormat),
            layout: Layout::of(self.target.generation),
        };
        let a = match self.operand("vaddr") {
            Some(value) => self.memory_register(value)?,
            None => self.vector_constant(0),
        };
        let b = self.scalar_source(self.needed("srsrc")?, Wide::Unsigned)?;
        let c = match self.operand("soffset") {
            Some(value) => self.scalar_source(value, Wide::No)?,
            None => self.zero(),
        };
        let run = handler::<C, Buffer>(self.host);
        self.push(run, Registers { a, b, c, k: access.pack(), ..Registers::default() });
        self.source = Some(memory::Source::Buffer);
        Ok(())
    }
}

fn is_null(value: OperandValue) -> bool {
    use hsaco_isa::model::Special;
    matches!(value, OperandValue::Register(it)
        if matches!(it.file, RegisterFile::Special(Special::Null | Special::Null64)))
}
