//! Vector arithmetic: sources with what changes them, the operation, results with what changes those.

use hsaco_isa::model::{
    Extension, Format, Half, OperandValue, Register, RegisterFile, SourceModifiers,
};
use hsaco_isa::target::Generation;

use super::operand::Wide;
use super::{Builder, Registers};
use crate::error::Result;
use crate::exec::float::{self, Clamp, ClampBoth, Operation, OutputScale};
use crate::exec::modifier::{self, DppControl, change};
use crate::exec::valu::{self, Lane, bit3, carry, compare, dot, saturate};
use crate::exec::{exception, lane};
use crate::generated::Op;
use crate::num::{self, BF16, F16, F32, F64};
use crate::semantics::{Semantics, Type};
use crate::step::Handler;
use crate::wave::scalar;

/// What stands for the first source where DPP8 reads inactive lanes too; 0xe9 where they are zero.
const DPP8_FETCHES_INACTIVE: i64 = 0xea;

/// Which operation of an encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Single,
    /// The first or the second of a dual instruction.
    X,
    Y,
}

impl Part {
    /// The name of a source.
    fn source(self, number: usize) -> &'static str {
        const NAMES: [[&str; 3]; 3] = [
            ["src0", "src1", "src2"],
            ["src0X", "vsrc1X", "vsrc2X"],
            ["src0Y", "vsrc1Y", "vsrc2Y"],
        ];
        NAMES.get(self as usize).and_then(|it| it.get(number)).copied().unwrap_or("")
    }

    fn target(self) -> &'static str {
        ["vdst", "vdstX", "vdstY"].get(self as usize).copied().unwrap_or("")
    }

    /// The name of a third source that is the destination's old value.
    fn accumulator(self) -> &'static str {
        ["src2", "src2X", "src2Y"].get(self as usize).copied().unwrap_or("")
    }
}

impl<const C: usize> Builder<'_, C> {
    /// Pushes `d = lane(a, b, c)`.
    fn change<L: Lane>(&mut self, registers: Registers) {
        self.push(change::<C, L>(self.host), registers);
    }

    /// Pushes a change of one register into a temporary.
    fn changed<L: Lane>(&mut self, a: u16) -> Result<u16> {
        let d = self.temporary(1)?;
        self.change::<L>(Registers { d, a, b: a, c: a, ..Registers::default() });
        Ok(d)
    }

    pub(super) fn vector(&mut self, semantics: &'static Semantics, part: Part) -> Result<()> {
        match semantics.inputs {
            [Type::Lane | Type::Swap | Type::Movrel, ..] => {
                return self.between_lanes(semantics.op);
            }
            [Type::Pkf32 | Type::Pk32, ..] => return self.pairs(semantics),
            [Type::Matrix, ..] => return self.matrix(semantics),
            [Type::Small, ..] => return self.small_elements(semantics),
            _ => {}
        }
        if matches!(semantics.op, Op::VMbcntLoU32B32 | Op::VMbcntHiU32B32) {
            return self.count_below(semantics);
        }
        if matches!(semantics.outputs, [Type::Sf16 | Type::Sf32, ..]) {
            self.push(modifier::all_lanes::<C>, Registers::default());
        }
        let mut sources = [0; 3];
        for (number, ty) in semantics.inputs.iter().enumerate() {
            let Some(place) = sources.get_mut(number) else { break };
            *place = self.source(semantics, part, number, *ty)?;
        }
        self.check_divisor(semantics, sources);
        self.operate(semantics, part, sources)?;
        if self.inst.extension().is_some_and(|it| it != Extension::Sdwa) {
            self.push(modifier::restore::<C>, Registers::default());
        }
        Ok(())
    }

    /// A check of what is divided by, if the kernel asks for it.
    fn check_divisor(&mut self, semantics: &Semantics, [a, ..]: [u16; 3]) {
        // Later ones do not have it in MODE, and a dispatch that asks for it is refused.
        if self.target.generation >= Generation::Gfx12 {
            return;
        }
        if let Some((bit, e)) = exception::division(semantics) {
            let k = bit.into();
            self.push(exception::check_divisor::<C>, Registers { a, e, k, ..Registers::default() });
        }
    }

    /// Both operations of a dual instruction read before either writes.
    pub(super) fn dual(&mut self, first: &'static Semantics) -> Result<()> {
        let name = self.inst.second_mnemonic().unwrap_or_default();
        let second = super::lookup(name, self.target)?;
        let target = self.needed(Part::X.target())?;
        let OperandValue::Register(register) = target else {
            return Err(self.unsupported("no destination"));
        };
        let to = self.vector_register(register, 3)?;
        let count = u16::from(register.count.max(1));
        let from = self.temporary(count)?;
        self.vector_into(first, Part::X, from)?;
        self.vector(second, Part::Y)?;
        for at in 0..count {
            let (d, a) = (to + at, from + at);
            self.change::<modifier::Copy>(Registers { d, a, b: a, c: a, ..Registers::default() });
        }
        Ok(())
    }

    /// The operation with its result in a temporary.
    fn vector_into(&mut self, semantics: &'static Semantics, part: Part, to: u16) -> Result<()> {
        let mut sources = [0; 3];
        for (number, ty) in semantics.inputs.iter().enumerate() {
            let Some(place) = sources.get_mut(number) else { break };
            *place = self.source(semantics, part, number, *ty)?;
        }
        let run = self.operation(semantics.op, false)?;
        let [a, b, c] = padded(semantics, sources);
        let k = self.number("bitop3").cast_unsigned();
        self.push(run, Registers { d: to, a, b, c, k, ..Registers::default() });
        Ok(())
    }

    /// The value of a source, which the encoding may leave out.
    fn source_value(
        &self,
        semantics: &'static Semantics,
        part: Part,
        number: usize,
    ) -> Result<(OperandValue, &'static str)> {
        let mnemonic = semantics.mnemonic;
        let imm = || self.needed("imm");
        if mnemonic.starts_with("v_fmamk") || mnemonic.starts_with("v_madmk") {
            return Ok(match number {
                1 => (imm()?, ""),
                2 => (self.needed(part.source(1))?, part.source(1)),
                _ => (self.needed(part.source(0))?, part.source(0)),
            });
        }
        if number == 2 && (mnemonic.starts_with("v_fmaak") || mnemonic.starts_with("v_madak")) {
            return Ok((imm()?, ""));
        }
        let name = part.source(number);
        if let Some(value) = self.operand(name) {
            return Ok((value, name));
        }
        if number == 2
            && let Some(value) = self.operand(part.accumulator())
        {
            return Ok((value, part.accumulator()));
        }
        // The destination's old value.
        Ok((self.needed(part.target())?, ""))
    }

    /// A source in the vector file, with all that changes it; the number of a scalar register for a lane mask.
    fn source(
        &mut self,
        semantics: &'static Semantics,
        part: Part,
        number: usize,
        ty: Type,
    ) -> Result<u16> {
        if ty == Type::Mask {
            let value = self.operand(part.source(number));
            return match value {
                Some(value) => self.scalar_source(value, Wide::Unsigned),
                None => Ok(scalar::VCC),
            };
        }
        let (value, name) = self.source_value(semantics, part, number)?;
        let wide = Wide::of(ty);
        let modifiers = self.modifiers(name);
        let mut at = self.vector_source(value, wide, number as u8)?;
        if number == 0 && part == Part::Single {
            at = self.of_other_lanes(at, wide)?;
        }
        if self.inst.extension() == Some(Extension::Sdwa) {
            at = self.selected(at, number, modifiers)?;
        }
        match ty {
            Type::Mix => self.mixed(at, value, modifiers, semantics),
            Type::Byte => self.byte(at),
            Type::Pk16 | Type::Pkf16 | Type::Pkbf16 => self.packed(at, ty, modifiers, semantics),
            _ => {
                let at = self.half(at, value, ty, modifiers)?;
                self.signed(at, ty, modifiers)
            }
        }
    }

    /// What DPP reads.
    fn of_other_lanes(&mut self, at: u16, wide: Wide) -> Result<u16> {
        let is_gfx10 = !self.target.is_gfx9();
        let control = match self.inst.extension() {
            Some(Extension::Dpp16) => DppControl {
                control: self.number("dpp_ctrl") as u32,
                row_mask: self.number("row_mask") as u8,
                bank_mask: self.number("bank_mask") as u8,
                bound_ctrl: self.number("bound_ctrl") != 0,
                fetch_inactive: is_gfx10 && self.number("fi") != 0,
                is_dpp8: false,
            },
            Some(Extension::Dpp8) => DppControl {
                control: self.number("dpp8") as u32,
                row_mask: 15,
                bank_mask: 15,
                bound_ctrl: true,
                fetch_inactive: self.number("fi") == DPP8_FETCHES_INACTIVE,
                is_dpp8: true,
            },
            _ => return Ok(at),
        };
        if !control.is_dpp8 && !modifier::dpp::has(control.control, is_gfx10) {
            return Err(self.unsupported("this DPP control"));
        }
        let count = if wide == Wide::No { 1 } else { 2 };
        let to = self.temporary(count)?;
        for part in 0..count {
            let registers =
                Registers { d: to + part, a: at + part, k: control.pack(), ..Registers::default() };
            self.push(modifier::dpp_read::<C>, registers);
        }
        Ok(to)
    }

    /// What SDWA selects of a source.
    fn selected(&mut self, at: u16, number: usize, modifiers: SourceModifiers) -> Result<u16> {
        let name = if number == 0 { "src0_sel" } else { "src1_sel" };
        if self.operand(name).is_none() || number > 1 {
            return Ok(at);
        }
        match (self.number(name), modifiers.sext) {
            (0, false) => self.changed::<modifier::ByteU0>(at),
            (1, false) => self.changed::<modifier::ByteU1>(at),
            (2, false) => self.changed::<modifier::ByteU2>(at),
            (3, false) => self.changed::<modifier::ByteU3>(at),
            (4, false) => self.changed::<modifier::HalfU0>(at),
            (5, false) => self.changed::<modifier::HalfU1>(at),
            (0, true) => self.changed::<modifier::ByteI0>(at),
            (1, true) => self.changed::<modifier::ByteI1>(at),
            (2, true) => self.changed::<modifier::ByteI2>(at),
            (3, true) => self.changed::<modifier::ByteI3>(at),
            (4, true) => self.changed::<modifier::HalfI0>(at),
            (5, true) => self.changed::<modifier::HalfI1>(at),
            _ => Ok(at),
        }
    }

    /// The byte that `byte_sel` chooses.
    fn byte(&mut self, at: u16) -> Result<u16> {
        match self.number("byte_sel") {
            1 => self.changed::<modifier::ByteU1>(at),
            2 => self.changed::<modifier::ByteU2>(at),
            3 => self.changed::<modifier::ByteU3>(at),
            _ => self.changed::<modifier::ByteU0>(at),
        }
    }

    /// A 16-bit source in the lower half.
    fn half(
        &mut self,
        at: u16,
        value: OperandValue,
        ty: Type,
        modifiers: SourceModifiers,
    ) -> Result<u16> {
        if !matches!(ty, Type::B16 | Type::F16 | Type::Bf16) {
            return Ok(at);
        }
        let is_high = match value {
            OperandValue::Register(Register { half: Some(half), .. }) => half == Half::High,
            _ => modifiers.op_sel,
        };
        if is_high { self.changed::<modifier::High>(at) } else { Ok(at) }
    }

    /// The absolute value, then the negative.
    fn signed(&mut self, at: u16, ty: Type, modifiers: SourceModifiers) -> Result<u16> {
        let bit = match ty {
            Type::F16 | Type::Bf16 => 0x8000,
            Type::F32 | Type::F64 => 0x8000_0000,
            _ => return Ok(at),
        };
        if !modifiers.neg && !modifiers.abs {
            return Ok(at);
        }
        let clear = self.vector_constant(if modifiers.abs { bit } else { 0 });
        let flip = self.vector_constant(if modifiers.neg { bit } else { 0 });
        if ty != Type::F64 {
            let d = self.temporary(1)?;
            let registers = Registers { d, a: at, b: clear, c: flip, ..Registers::default() };
            self.change::<modifier::Sign>(registers);
            return Ok(d);
        }
        let d = self.temporary(2)?;
        self.change::<modifier::Copy>(Registers { d, a: at, b: at, c: at, ..Registers::default() });
        let high = Registers { d: d + 1, a: at + 1, b: clear, c: flip, ..Registers::default() };
        self.change::<modifier::Sign>(high);
        Ok(d)
    }

    /// Halves as `op_sel` and `op_sel_hi` choose them, each negated by itself.
    fn packed(
        &mut self,
        at: u16,
        ty: Type,
        modifiers: SourceModifiers,
        semantics: &'static Semantics,
    ) -> Result<u16> {
        // Encodings without modifiers take the halves as they are.
        let has_modifiers = self.operands.iter().any(|it| it.name == "src0_modifiers");
        let is_packed = self.inst.format() == Format::Vop3p;
        if !is_packed && (modifiers.neg || modifiers.abs) {
            return Err(self.unsupported("a modifier of two halves"));
        }
        if self.inst.extension() == Some(Extension::Sdwa) {
            return Err(self.unsupported("a part of two halves"));
        }
        let is_vop2 = semantics.op == Op::VPkFmacF16 || !has_modifiers || !is_packed;
        let (low, high) =
            if is_vop2 { (false, true) } else { (modifiers.op_sel, modifiers.op_sel_hi) };
        let at = match (low, high) {
            (false, true) => at,
            (false, false) => self.changed::<modifier::LowLow>(at)?,
            (true, true) => self.changed::<modifier::HighHigh>(at)?,
            (true, false) => self.changed::<modifier::HighLow>(at)?,
        };
        if !modifiers.neg && !modifiers.abs || ty == Type::Pk16 {
            return Ok(at);
        }
        let flip = u32::from(modifiers.neg) << 15 | u32::from(modifiers.abs) << 31;
        let (clear, flip) = (self.vector_constant(0), self.vector_constant(flip));
        let d = self.temporary(1)?;
        self.change::<modifier::Sign>(Registers {
            d,
            a: at,
            b: clear,
            c: flip,
            ..Registers::default()
        });
        Ok(d)
    }

    /// A float, or the half that `op_sel` chooses, widened.
    fn mixed(
        &mut self,
        at: u16,
        _: OperandValue,
        modifiers: SourceModifiers,
        semantics: &'static Semantics,
    ) -> Result<u16> {
        let mut at = at;
        if modifiers.op_sel_hi {
            if modifiers.op_sel {
                at = self.changed::<modifier::High>(at)?;
            }
            let is_brain = semantics.mnemonic.ends_with("bf16");
            let op = if is_brain { Op::VCvtF32Bf16 } else { Op::VCvtF32F16 };
            let run = self.operation(op, false)?;
            let d = self.temporary(1)?;
            self.push(run, Registers { d, a: at, b: at, c: at, ..Registers::default() });
            at = d;
        }
        self.signed(at, Type::F32, modifiers)
    }

    /// What MODE says of floats.
    pub(super) fn floats(&self) -> num::Mode {
        num::Mode::decode(self.mode.0, self.target.numerics())
    }

    /// The operation that an operand leaves: compilers for gfx942 add numbers of 64 bits by one that shifts first.
    fn plain(&self, op: Op) -> Op {
        match (op, self.operand("src1")) {
            (Op::VLshlAddU64, Some(OperandValue::Integer(0))) => Op::VAddU64,
            _ => op,
        }
    }

    /// The handler of an operation.
    fn operation(&self, op: Op, clamps: bool) -> Result<Handler<C>> {
        let plain = match op {
            Op::VFmaMixF32 | Op::VFmaMixF32Bf16 => Op::VFmaF32,
            other if mixes_into_half(other) => Op::VFmaF32,
            other => other,
        };
        if clamps && let Some(run) = saturate::find(plain, self.host) {
            return Ok(run);
        }
        if let Some(run) = dot::find(plain, self.dot_choice(clamps), self.host) {
            return Ok(run);
        }
        let mode = self.floats();
        let found = valu::find(plain, self.host)
            .or_else(|| float::find(plain, &mode, self.host))
            .or_else(|| carry::find(plain, self.host))
            .or_else(|| bit3::find(plain));
        found.ok_or_else(|| self.unsupported("not written yet"))
    }

    fn operate(
        &mut self,
        semantics: &'static Semantics,
        part: Part,
        sources: [u16; 3],
    ) -> Result<()> {
        let ty = semantics.outputs.first().copied().unwrap_or(Type::B32);
        let is_small = ["fp8", "bf8"].iter().any(|name| semantics.mnemonic.contains(name));
        let drops_clamp = is_small && self.target.has_errata();
        let clamps = self.number("clamp") != 0 && !drops_clamp;
        let is_float = matches!(
            ty,
            Type::F16
                | Type::F32
                | Type::F64
                | Type::Bf16
                | Type::Pkf16
                | Type::Pkbf16
                | Type::Sf16
                | Type::Sf32
        );
        if ty == Type::Mask {
            return self.compare(semantics, sources);
        }
        let is_e5m3 = clamps && is_small && self.target.generation == Generation::Gfx125;
        let run = match is_e5m3 {
            true => float::find_e5m3(semantics.op)
                .ok_or_else(|| self.unsupported("clamp of this operation"))?,
            false => self.operation(self.plain(semantics.op), clamps && !is_float)?,
        };
        let clamps = clamps && !is_e5m3;
        let [a, mut b, mut c] = padded(semantics, sources);
        if self.plain(semantics.op) != semantics.op {
            b = c;
        }
        if semantics.op == Op::VBitop2B32 {
            c = self.vector_constant(0);
        }
        let carry_clamps = clamps && carry::clamps(semantics.op);
        let k = self.number("bitop3").cast_unsigned() | u64::from(carry_clamps);
        let mut registers = Registers { a, b, c, k, ..Registers::default() };
        if semantics.outputs.get(1) == Some(&Type::Mask) {
            registers.e = match self.operand("sdst") {
                Some(value) => self.scalar_target(value)?,
                None => scalar::VCC,
            };
        }
        // Conversions keep to the range of their type without it.
        let keeps_range = semantics.mnemonic.starts_with("v_cvt_")
            || carry_clamps
            || saturate::find::<C>(semantics.op, self.host).is_some()
            || dot::find::<C>(semantics.op, self.dot_choice(true), self.host).is_some();
        if clamps && !is_float && !keeps_range {
            return Err(self.unsupported("clamp of this operation"));
        }
        let omod = self.number("omod");
        self.result(semantics, part, ty, run, registers, (is_float && clamps && !is_e5m3, omod))
    }

    fn compare(&mut self, semantics: &'static Semantics, sources: [u16; 3]) -> Result<()> {
        let found = compare::find(semantics.op, &self.floats(), self.host);
        let (run, k) = found.ok_or_else(|| self.unsupported("not written yet"))?;
        let [a, b, c] = padded(semantics, sources);
        let d = self.mask_target(semantics)?;
        self.push(run, Registers { d, a, b, c, k, ..Registers::default() });
        Ok(())
    }

    /// Where a comparison goes.
    fn mask_target(&mut self, semantics: &'static Semantics) -> Result<u16> {
        let is_exec = semantics.mnemonic.starts_with("v_cmpx");
        match self.operand("sdst") {
            Some(value) => self.scalar_target(value),
            None if is_exec && !self.target.is_gfx9() => Ok(scalar::SINK),
            None => Ok(scalar::VCC),
        }
    }

    /// The operation, and what becomes of its result.
    fn result(
        &mut self,
        semantics: &'static Semantics,
        part: Part,
        ty: Type,
        run: Handler<C>,
        mut registers: Registers,
        (clamps, omod): (bool, i64),
    ) -> Result<()> {
        if matches!(ty, Type::Sf16 | Type::Sf32) {
            return self.scalar_result(run, registers, ty, (clamps, omod));
        }
        let OperandValue::Register(target) = self.needed(part.target())? else {
            return Err(self.unsupported("no destination"));
        };
        let to = self.vector_register(target, 3)?;
        if ty == Type::Byte {
            return self.byte_result(run, registers, to);
        }
        let is_half = matches!(ty, Type::F16 | Type::B16 | Type::Bf16);
        let is_sdwa = self.inst.extension() == Some(Extension::Sdwa);
        let keeps_half = is_half && (target.half.is_some() || self.keeps_other_half(semantics));
        if !clamps && omod == 0 && !keeps_half && !is_sdwa {
            registers.d = to;
            self.push(run, registers);
            return Ok(());
        }
        let count = if Wide::of(ty) == Wide::No { 1 } else { 2 };
        let mut from = self.temporary(count)?;
        registers.d = from;
        self.push(run, registers);
        if mixes_into_half(semantics.op) {
            from = self.narrowed(from, ty)?;
        }
        from = self.output_modified(from, ty, omod)?;
        if clamps {
            from = self.clamped(from, ty)?;
        }
        self.deliver(semantics, target, to, from, count, keeps_half)
    }

    /// One byte of the destination: by `byte_sel`, on gfx9 by the upper bits of `op_sel`.
    fn byte_result(&mut self, run: Handler<C>, mut registers: Registers, to: u16) -> Result<()> {
        let byte = match self.target.is_gfx9() {
            true => {
                let [low, high] = [self.modifiers("src2").op_sel, self.modifiers("src0").op_sel_hi];
                u64::from(low) | u64::from(high) << 1
            }
            false => self.number("byte_sel") as u64 & 3,
        };
        registers.d = self.temporary(1)?;
        self.push(run, registers);
        let k = (byte * 8) | 8 << 8 | 2 << 16;
        let merged = Registers { d: to, a: to, b: registers.d, k, ..Registers::default() };
        self.push(modifier::merge::<C>, merged);
        Ok(())
    }

    /// A float as the half or bf16 that it is to be.
    fn narrowed(&mut self, from: u16, ty: Type) -> Result<u16> {
        let op = if ty == Type::Bf16 { Op::VCvtPkBf16F32 } else { Op::VCvtF16F32 };
        let run = self.operation(op, false)?;
        let d = self.temporary(1)?;
        self.push(run, Registers { d, a: from, b: from, c: from, ..Registers::default() });
        Ok(d)
    }

    /// The result of a step of its own on a value in a temporary.
    fn finished<O: Operation>(&mut self, from: u16, number: u32) -> Result<u16> {
        let d = self.temporary(if O::WIDE[0] { 2 } else { 1 })?;
        let b = self.vector_constant(number);
        self.push(float::each::<C, O>, Registers { d, a: from, b, c: b, ..Registers::default() });
        Ok(d)
    }

    fn output_modified(&mut self, from: u16, ty: Type, omod: i64) -> Result<u16> {
        let mode = self.floats();
        let number = omod as u32;
        match ty {
            _ if omod == 0 => Ok(from),
            Type::F32 if mode.omod_works::<F32>() => {
                self.finished::<OutputScale<F32>>(from, number)
            }
            Type::F16 if mode.omod_works::<F16>() => {
                self.finished::<OutputScale<F16>>(from, number)
            }
            Type::F64 if mode.omod_works::<F64>() => {
                self.finished::<OutputScale<F64>>(from, number)
            }
            Type::Bf16 if mode.omod_works::<BF16>() => {
                self.finished::<OutputScale<BF16>>(from, number)
            }
            Type::F32 | Type::F16 | Type::F64 | Type::Bf16 => Ok(from),
            _ => Err(self.unsupported("an output modifier")),
        }
    }

    fn clamped(&mut self, from: u16, ty: Type) -> Result<u16> {
        match ty {
            Type::F32 => self.finished::<Clamp<F32>>(from, 0),
            Type::F16 => self.finished::<Clamp<F16>>(from, 0),
            Type::Bf16 => self.finished::<Clamp<BF16>>(from, 0),
            Type::F64 => self.finished::<Clamp<F64>>(from, 0),
            Type::Pkf16 => self.finished::<ClampBoth<F16>>(from, 0),
            Type::Pkbf16 => self.finished::<ClampBoth<BF16>>(from, 0),
            _ => Err(self.unsupported("clamp")),
        }
    }

    /// From a temporary to where the result belongs.
    fn deliver(
        &mut self,
        semantics: &'static Semantics,
        target: Register,
        to: u16,
        from: u16,
        count: u16,
        keeps_half: bool,
    ) -> Result<()> {
        let is_sdwa = self.inst.extension() == Some(Extension::Sdwa);
        if is_sdwa && self.operand("dst_sel").is_some() {
            let (first, width) = match self.number("dst_sel") {
                byte @ 0..=3 => (byte as u64 * 8, 8),
                4 => (0, 16),
                5 => (16, 16),
                _ => (0, 32),
            };
            let k = first | width << 8 | (self.number("dst_unused") as u64 & 3) << 16;
            let registers = Registers { d: to, a: to, b: from, k, ..Registers::default() };
            self.push(modifier::merge::<C>, registers);
            return Ok(());
        }
        if keeps_half {
            let is_high = match target.half {
                Some(half) => half == Half::High,
                None => self.writes_high(semantics),
            };
            let registers = Registers { d: to, a: to, b: from, c: from, ..Registers::default() };
            if is_high {
                self.change::<modifier::InsertHigh>(registers);
            } else {
                self.change::<modifier::InsertLow>(registers);
            }
            return Ok(());
        }
        for at in 0..count {
            let (d, a) = (to + at, from + at);
            self.change::<modifier::Copy>(Registers { d, a, b: a, c: a, ..Registers::default() });
        }
        Ok(())
    }

    fn writes_high(&self, semantics: &'static Semantics) -> bool {
        match semantics.op {
            Op::VFmaMixhiF16 | Op::VFmaMixhiBf16 => true,
            Op::VFmaMixloF16 | Op::VFmaMixloBf16 => false,
            _ => self.modifiers("src0").op_sel_hi,
        }
    }

    /// Whether a 16-bit result leaves the other half alone: from gfx10 on, and where the half is chosen.
    fn keeps_other_half(&self, semantics: &'static Semantics) -> bool {
        let mixes = mixes_into_half(semantics.op);
        // Of gfx9 those with three sources of their own.
        let three = self.operand("src2").is_some()
            && semantics.op != Op::VMacF16
            && semantics.op != Op::VFmacF16
            && !semantics.mnemonic.contains("legacy");
        let packs = ["v_cvt_sr_", "v_cvt_pk_fp8", "v_cvt_pk_bf8"]
            .iter()
            .any(|start| semantics.mnemonic.starts_with(start));
        mixes || packs || !self.target.is_gfx9() || three || self.modifiers("src0").op_sel_hi
    }

    /// A result in a scalar register, whatever EXEC is: of the first lane, where operands of all lanes are the same.
    fn scalar_result(
        &mut self,
        run: Handler<C>,
        mut registers: Registers,
        ty: Type,
        (clamps, omod): (bool, i64),
    ) -> Result<()> {
        let value = self.needed("vdst")?;
        let to = self.scalar_target(value)?;
        let ty = if ty == Type::Sf16 { Type::F16 } else { Type::F32 };
        registers.d = self.temporary(1)?;
        self.push(run, registers);
        let mut from = self.output_modified(registers.d, ty, omod)?;
        if clamps {
            from = self.clamped(from, ty)?;
        }
        let zero = scalar::CONSTANTS + self.pools.scalar(0, None);
        let read = lane::find(Op::VReadlaneB32).ok_or_else(|| self.unsupported("readlane"))?;
        self.push(read, Registers { d: to, a: from, b: zero, ..Registers::default() });
        self.push(modifier::restore::<C>, Registers::default());
        Ok(())
    }

    fn count_below(&mut self, semantics: &'static Semantics) -> Result<()> {
        let a = self.source(semantics, Part::Single, 0, Type::B32)?;
        let b = self.source(semantics, Part::Single, 1, Type::B32)?;
        let OperandValue::Register(target) = self.needed("vdst")? else {
            return Err(self.unsupported("no destination"));
        };
        let d = self.vector_register(target, 3)?;
        let run = lane::find(semantics.op).ok_or_else(|| self.unsupported("not written yet"))?;
        let k = u64::from(semantics.op == Op::VMbcntHiU32B32);
        self.push(run, Registers { d, a, b, k, ..Registers::default() });
        Ok(())
    }

    /// Two registers, each with an operation of its own.
    fn pairs(&mut self, semantics: &'static Semantics) -> Result<()> {
        let op = match semantics.op {
            Op::VPkAddF32 => Op::VAddF32,
            Op::VPkMulF32 => Op::VMulF32,
            Op::VPkFmaF32 => Op::VFmaF32,
            Op::VPkMovB32 => Op::VMovB32,
            _ => return Err(self.unsupported("not written yet")),
        };
        let OperandValue::Register(target) = self.needed("vdst")? else {
            return Err(self.unsupported("no destination"));
        };
        let to = self.vector_register(target, 3)?;
        let run = self.operation(op, false)?;
        let from = self.temporary(2)?;
        for half in 0..2 {
            let mut sources = [0; 3];
            for (number, _) in semantics.inputs.iter().enumerate() {
                let Some(place) = sources.get_mut(number) else { break };
                *place = self.pair_source(number, half == 1)?;
            }
            let [mut a, b, mut c] = padded(semantics, sources);
            if op == Op::VMovB32 {
                // The first result is of the first source, the second of the second.
                a = if half == 1 { b } else { a };
                c = a;
            }
            let b = if op == Op::VMovB32 { a } else { b };
            self.push(run, Registers { d: from + half, a, b, c, ..Registers::default() });
        }
        for half in 0..2 {
            let mut a = from + half;
            if self.number("clamp") != 0 {
                a = self.clamped(a, Type::F32)?;
            }
            self.change::<modifier::Copy>(Registers {
                d: to + half,
                a,
                b: a,
                c: a,
                ..Registers::default()
            });
        }
        Ok(())
    }

    /// One register of a pair, as `op_sel` and `op_sel_hi` choose it.
    fn pair_source(&mut self, number: usize, is_high: bool) -> Result<u16> {
        let name = Part::Single.source(number);
        let (value, modifiers) = (self.needed(name)?, self.modifiers(name));
        let is_mov = self.inst.mnemonic() == "v_pk_mov_b32";
        let upper = match is_high {
            true if is_mov => modifiers.op_sel,
            true => modifiers.op_sel_hi,
            false => modifiers.op_sel,
        };
        let is_register = matches!(value, OperandValue::Register(it)
            if !matches!(it.file, RegisterFile::Special(_)) || it.count > 1);
        let first = match value {
            OperandValue::Register(_) if is_register => {
                self.vector_source(value, Wide::Unsigned, number as u8)?
            }
            _ => self.vector_source(value, Wide::No, number as u8)?,
        };
        let at = if is_register && upper { first + 1 } else { first };
        let neg = if is_high { modifiers.abs } else { modifiers.neg };
        self.signed(at, Type::F32, SourceModifiers { neg, ..SourceModifiers::default() })
    }

    fn between_lanes(&mut self, op: Op) -> Result<()> {
        let run = lane::find(op).ok_or_else(|| self.unsupported("not written yet"))?;
        let value = self.needed("vdst")?;
        let src0 = self.operand("src0");
        let mut registers = Registers::default();
        match op {
            Op::VReadlaneB32 | Op::VReadfirstlaneB32 => {
                registers.d = self.scalar_target(value)?;
                registers.a = self.vector_source(self.needed("src0")?, Wide::No, 0)?;
                if op == Op::VReadlaneB32 {
                    registers.b = self.scalar_source(self.needed("src1")?, Wide::No)?;
                }
                self.push(run, registers);
                self.after_scalar_write(registers.d, 1);
                return Ok(());
            }
            Op::VWritelaneB32 => {
                registers.a = self.scalar_source(self.needed("src0")?, Wide::No)?;
                registers.b = self.scalar_source(self.needed("src1")?, Wide::No)?;
            }
            Op::VPermlane16B32 | Op::VPermlanex16B32 => {
                registers.a = self.vector_source(self.needed("src0")?, Wide::No, 0)?;
                registers.b = self.scalar_source(self.needed("src1")?, Wide::No)?;
                registers.c = self.scalar_source(self.needed("src2")?, Wide::No)?;
                let [first, second] = ["src0", "src1"].map(|name| self.modifiers(name).op_sel);
                let is_other = op == Op::VPermlanex16B32;
                registers.k = u64::from(first) | u64::from(second) << 1 | u64::from(is_other) << 2;
            }
            Op::VPermlane16VarB32 | Op::VPermlanex16VarB32 => {
                registers.a = self.vector_source(self.needed("src0")?, Wide::No, 0)?;
                registers.b = self.vector_source(self.needed("src1")?, Wide::No, 1)?;
                let [first, second] = ["src0", "src1"].map(|name| self.modifiers(name).op_sel);
                let is_other = op == Op::VPermlanex16VarB32;
                registers.k = u64::from(first) | u64::from(second) << 1 | u64::from(is_other) << 2;
            }
            Op::VPermlaneBcastB32
            | Op::VPermlaneUpB32
            | Op::VPermlaneDownB32
            | Op::VPermlaneXorB32
            | Op::VPermlaneIdxGenB32 => {
                registers.a = self.vector_source(self.needed("src0")?, Wide::No, 0)?;
                registers.b = self.scalar_source(self.needed("src1")?, Wide::No)?;
                if let Some(width) = self.operand("src2") {
                    registers.c = self.scalar_source(width, Wide::No)?;
                }
            }
            Op::VSwapB16 => {
                let source = self.needed("src0")?;
                registers.a = self.vector_source(source, Wide::No, 0)?;
                let is_high = |value| matches!(value, OperandValue::Register(it) if it.half == Some(Half::High));
                registers.k = u64::from(is_high(value)) | u64::from(is_high(source)) << 1;
            }
            Op::VSwapB32 => {
                registers.a = self.vector_source(self.needed("src0")?, Wide::No, 0)?;
            }
            _ => {
                let value = src0.ok_or_else(|| self.unsupported("no source"))?;
                registers.a = self.vector_source(value, Wide::No, 0)?;
            }
        }
        let OperandValue::Register(target) = value else {
            return Err(self.unsupported("no destination"));
        };
        registers.d = self.vector_register(target, 3)?;
        let is_relative = matches!(
            op,
            Op::VMovrelsB32
                | Op::VMovreldB32
                | Op::VMovrelsdB32
                | Op::VMovrelsd2B32
                | Op::VSwaprelB32
        );
        if is_relative {
            registers.k = u64::from(self.layout.vgprs);
        }
        self.push(run, registers);
        Ok(())
    }
}

/// Whether a sum of products in f32 becomes one half of a register.
fn mixes_into_half(op: Op) -> bool {
    use Op::{VFmaMixhiBf16, VFmaMixhiF16, VFmaMixloBf16, VFmaMixloF16};
    matches!(op, VFmaMixloF16 | VFmaMixhiF16 | VFmaMixloBf16 | VFmaMixhiBf16)
}

/// Sources, of which those that an operation does not have are the first.
fn padded(semantics: &Semantics, sources: [u16; 3]) -> [u16; 3] {
    let [a, b, c] = sources;
    match semantics.inputs.len() {
        0 | 1 => [a, a, a],
        2 => [a, b, a],
        _ => [a, b, c],
    }
}
