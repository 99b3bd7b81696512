//! Matrix operations: names taken apart, operands found, layouts chosen by target.

use hsaco_isa::model::{OperandValue, Register, RegisterFile};
use hsaco_isa::target::Generation as Family;

use super::operand::Wide;
use super::{Builder, Registers};
use crate::error::Result;
use crate::exec::{self, valu::dot::Choice};
use crate::matrix::layout::{self, Axes};
use crate::matrix::{Addend, Arithmetic, Input, Matrix, Output, Scale, ScaleFormat, Sign};
use crate::num::matrix::{Accumulator, Element, Model, Shape};
use crate::num::{Env, F16, F32, F64, Generation, Small, convert};
use crate::semantics::Semantics;

/// What kind of operation a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Mfma,
    /// Sparse, with C in D's place.
    Smfmac,
    Wmma,
    Swmmac,
}

/// The type of elements, as names have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    F16,
    Bf16,
    Xf32,
    F32,
    F64,
    I8,
    Iu8,
    Iu4,
    Fp8,
    Bf8,
    F4,
    /// As the instruction says.
    F8f6f4,
}

/// The type of C and D.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sum {
    F32,
    F64,
    I32,
    F16,
    Bf16,
    /// C is single precision.
    Bf16OfF32,
}

/// A mnemonic, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Form {
    kind: Kind,
    /// How many elements share a scale.
    scale: Option<usize>,
    result: Sum,
    shape: Shape,
    a: Name,
    b: Name,
    /// bf16 as gfx90a has it beside an older form.
    is_1k: bool,
}

impl Form {
    fn parse(mnemonic: &str) -> Option<Self> {
        let mut words = mnemonic.strip_prefix("v_")?.split('_').peekable();
        let kind = match words.next()? {
            "mfma" => Kind::Mfma,
            "smfmac" => Kind::Smfmac,
            "wmma" => Kind::Wmma,
            "swmmac" => Kind::Swmmac,
            _ => return None,
        };
        let scale = match *words.peek()? {
            "scale" => Some(32),
            "scale16" => Some(16),
            _ => None,
        };
        if scale.is_some() {
            words.next();
        }
        let result = match words.next()? {
            "f32" => Sum::F32,
            "f64" => Sum::F64,
            "i32" => Sum::I32,
            "f16" => Sum::F16,
            "bf16" => Sum::Bf16,
            "bf16f32" => Sum::Bf16OfF32,
            _ => return None,
        };
        let (shape, attached) = parse_shape(words.next()?)?;
        let rest: Vec<&str> = words.filter(|it| !is_block_count(it)).collect();
        let is_1k = rest.contains(&"1k");
        let mut types = rest.iter().filter(|it| **it != "1k");
        let first = if attached.is_empty() { types.next()? } else { attached };
        let a = parse_name(first)?;
        let b = types.next().map_or(Some(a), |it| parse_name(it))?;
        types.next().is_none().then_some(Self { kind, scale, result, shape, a, b, is_1k })
    }

    fn is_sparse(&self) -> bool {
        matches!(self.kind, Kind::Smfmac | Kind::Swmmac)
    }
}

/// `4b` in `32x32x4_4b`.
fn is_block_count(word: &str) -> bool {
    word.strip_suffix('b').is_some_and(|it| it.parse::<u8>().is_ok())
}

/// `32x32x4f16`: three numbers and what is attached to the last.
fn parse_shape(word: &str) -> Option<(Shape, &str)> {
    let mut parts = word.splitn(3, 'x');
    let m = parts.next()?.parse().ok()?;
    let n = parts.next()?.parse().ok()?;
    let last = parts.next()?;
    let digits = last.find(|it: char| !it.is_ascii_digit()).unwrap_or(last.len());
    let (k, attached) = last.split_at_checked(digits)?;
    Some((Shape { m, n, k: k.parse().ok()? }, attached))
}

fn parse_name(word: &str) -> Option<Name> {
    Some(match word {
        "f16" => Name::F16,
        "bf16" => Name::Bf16,
        "xf32" => Name::Xf32,
        "f32" => Name::F32,
        "f64" => Name::F64,
        "i8" => Name::I8,
        "iu8" => Name::Iu8,
        "iu4" => Name::Iu4,
        "fp8" => Name::Fp8,
        "bf8" => Name::Bf8,
        "f4" => Name::F4,
        "f8f6f4" => Name::F8f6f4,
        _ => return None,
    })
}

/// What a format field of three bits stands for.
fn small_format(field: i64) -> Option<Small> {
    Some(match field {
        0 => Small::FP8_OCP,
        1 => Small::BF8_OCP,
        2 => Small::FP6,
        3 => Small::BF6,
        4 => Small::FP4,
        _ => return None,
    })
}

impl<const C: usize> Builder<'_, C> {
    /// The unit that computes.
    fn unit(&self) -> Generation {
        match self.target.generation {
            Family::Gfx90a => Generation::Gfx90a,
            Family::Gfx940 if self.target.processor.name() == "gfx950" => Generation::Gfx950,
            Family::Gfx940 => Generation::Gfx942,
            Family::Gfx10 => Generation::Gfx103,
            Family::Gfx11 => Generation::Gfx11,
            Family::Gfx12 => Generation::Gfx12,
            Family::Gfx125 => Generation::Gfx1250,
            _ => Generation::Gfx908,
        }
    }

    /// What decides how a dot product is computed.
    pub(super) fn dot_choice(&self, clamps: bool) -> Choice {
        Choice {
            unit: self.unit(),
            clamps,
            saturates: self.mode.0 >> 23 & 1 == 1,
            signed: ["src0", "src1"].map(|name| self.modifiers(name).neg),
        }
    }

    pub(super) fn matrix(&mut self, semantics: &'static Semantics) -> Result<()> {
        let form = Form::parse(semantics.mnemonic)
            .ok_or_else(|| self.unsupported("not a matrix operation"))?;
        // These are decoded for gfx1250 too, which has only larger ones.
        let bits = form.shape.k * self.elements(form)?[0].bits() as usize;
        let is_smaller = if form.is_sparse() { bits < 1024 } else { bits < 512 };
        if self.unit() == Generation::Gfx1250 && form.a != Name::F32 && is_smaller {
            return Err(self.unsupported("not an instruction of gfx1250"));
        }
        let [of_a, of_b] = self.elements(form)?;
        let vdst = self.vector_operand("vdst")?;
        let blocks = self.blocks(form, vdst);
        let matrix = Matrix {
            shape: form.shape,
            blocks,
            a: (self.input(form, blocks, "src0", of_a)?, of_a),
            b: (self.input(form, blocks, "src1", of_b)?, of_b),
            c: self.addend(form, blocks)?,
            sign: self.sign_of_addend(form),
            d: self.output(form, blocks, vdst, form.result)?,
            indices: self.indices(form)?,
            scales: self.scales(form)?,
            arithmetic: self.arithmetic(form)?,
            narrows: form.result == Sum::Bf16OfF32,
            needs_all_lanes: self.unit() == Generation::Gfx1250,
        };
        let k = self.pools.matrix(matrix);
        let run = exec::matrix::find(self.host);
        self.push(run, Registers { k, ..Registers::default() });
        Ok(())
    }

    fn vector_operand(&self, name: &str) -> Result<Register> {
        match self.needed(name)? {
            OperandValue::Register(register)
                if matches!(register.file, RegisterFile::Vgpr | RegisterFile::Agpr) =>
            {
                Ok(register)
            }
            _ => Err(self.unsupported("a matrix that is not in vector registers")),
        }
    }

    /// How many matrices: as many as D has room for.
    fn blocks(&self, form: Form, vdst: Register) -> usize {
        if form.kind != Kind::Mfma {
            return 1;
        }
        let words = if form.result == Sum::F64 { 2 } else { 1 };
        usize::from(vdst.count) * 64 / (words * form.shape.m * form.shape.n)
    }

    /// The formats of A and B.
    fn elements(&self, form: Form) -> Result<[Element; 2]> {
        let fields = match form.kind {
            Kind::Mfma => ["cbsz", "blgp"],
            _ => ["matrix_a_fmt", "matrix_b_fmt"],
        };
        let element = |name: Name, source: &str, field: &str| -> Result<Element> {
            let unit = self.unit();
            let integer = |bits, signed| Element::Integer { bits, signed };
            Ok(match name {
                Name::F16 => Element::F16,
                Name::Bf16 => Element::Bf16,
                Name::Xf32 => Element::Xf32,
                Name::F32 => Element::F32,
                Name::F64 => Element::F64,
                Name::I8 => integer(8, true),
                Name::Iu8 => integer(8, self.modifiers(source).neg),
                Name::Iu4 => integer(4, self.modifiers(source).neg),
                Name::Fp8 => Element::Small(Small::fp8(unit)),
                Name::Bf8 => Element::Small(Small::bf8(unit)),
                Name::F4 => Element::Small(Small::FP4),
                Name::F8f6f4 => {
                    let format = small_format(self.number(field));
                    Element::Small(format.ok_or_else(|| self.unsupported("no such format"))?)
                }
            })
        };
        let [of_a, of_b] = fields;
        Ok([element(form.a, "src0", of_a)?, element(form.b, "src1", of_b)?])
    }

    /// Where A or B is.
    fn input(&self, form: Form, blocks: usize, name: &str, element: Element) -> Result<Input> {
        let is_a = name == "src0";
        let size = if is_a { form.shape.m } else { form.shape.n };
        let k = if is_a && form.is_sparse() { form.shape.k / 2 } else { form.shape.k };
        let bits = element.bits();
        let lanes = C * 8;
        let wide = bits as usize;
        let axes = match (form.kind, self.unit()) {
            (Kind::Mfma, _) => layout::mfma_input(size, k, blocks, wide),
            (Kind::Smfmac, _) if is_a => layout::smfmac_packed(size, k),
            (Kind::Smfmac, _) => layout::mfma_input(size, k, 1, wide),
            (Kind::Wmma, Generation::Gfx11) => layout::gfx11_input(k),
            (Kind::Wmma, Generation::Gfx12) => layout::gfx12_input(lanes, k, wide),
            (Kind::Swmmac, Generation::Gfx12) if is_a => layout::gfx12_input(lanes, k, wide),
            (Kind::Swmmac, Generation::Gfx12) => layout::gfx12_sparse_b(lanes, k, wide),
            (Kind::Swmmac, _) if is_a => layout::gfx1250_packed(k, wide),
            (Kind::Swmmac, _) => layout::gfx1250_sparse_b(k, wide),
            (Kind::Wmma, _) => {
                let is_block_format = matches!(form.a, Name::F8f6f4 | Name::F4);
                layout::gfx1250_input(size, k, wide, is_block_format)
            }
        };
        let register = self.matrix_registers(name, &axes, bits)?;
        let layout = axes.runs(bits, self.permutation(form, blocks, is_a)?);
        let modifiers = self.modifiers(name);
        let is_half = matches!(element, Element::F16 | Element::Bf16);
        let flip = match (form.kind, is_half) {
            (Kind::Wmma | Kind::Swmmac, true) => {
                u32::from(modifiers.neg) << 15 | u32::from(modifiers.abs) << 31
            }
            _ => 0,
        };
        Ok(Input { register, bits, flip, layout })
    }

    /// The first register of a matrix, all of whose registers the kernel has.
    fn matrix_registers(&self, name: &str, axes: &Axes, bits: u32) -> Result<u16> {
        let register = self.vector_operand(name)?;
        self.some_registers(register, axes.registers(bits))
    }

    fn some_registers(&self, register: Register, count: usize) -> Result<u16> {
        self.vector_register(Register { count: count as u8, ..register }, u8::MAX)
    }

    /// Which lane is read for a lane: the broadcasts of `cbsz`, `abid` and `blgp`.
    fn permutation(
        &self,
        form: Form,
        blocks: usize,
        is_a: bool,
    ) -> Result<impl Fn(usize) -> usize + use<C>> {
        let broadcasts =
            form.kind == Kind::Mfma && form.a != Name::F8f6f4 && form.result != Sum::F64;
        let field = |name: &str| if broadcasts { self.number(name) as usize } else { 0 };
        let [cbsz, abid, blgp] = ["cbsz", "abid", "blgp"].map(field);
        if 1 << cbsz > blocks || abid >= 1 << cbsz {
            return Err(self.unsupported("a broadcast of blocks that it does not have"));
        }
        let size = 64 >> cbsz;
        Ok(move |lane: usize| match (is_a, blgp) {
            (true, _) if cbsz == 0 => lane,
            (true, _) => lane % size + size * abid,
            (false, 0) => lane,
            (false, 1) => lane % 32,
            (false, 2) => lane % 32 + 32,
            (false, 3) => (lane + 16) % 64,
            (false, quarter) => lane % 16 + 16 * (quarter - 4),
        })
    }

    fn output_axes(&self, form: Form, blocks: usize) -> Axes {
        let Shape { m, n, .. } = form.shape;
        match (form.kind, self.unit()) {
            (Kind::Mfma, _) if form.result == Sum::F64 => layout::mfma_output_f64(m, n, blocks),
            (Kind::Mfma | Kind::Smfmac, _) => layout::mfma_output(m, n, blocks),
            (_, Generation::Gfx11) => layout::gfx11_output(C * 8),
            _ => layout::gfx12_output(C * 8, m),
        }
    }

    /// C or D in registers of that type.
    fn output(&self, form: Form, blocks: usize, register: Register, result: Sum) -> Result<Output> {
        let axes = self.output_axes(form, blocks);
        let bits = match result {
            Sum::F64 => 64,
            Sum::F32 | Sum::I32 => 32,
            Sum::F16 | Sum::Bf16 | Sum::Bf16OfF32 => 16,
        };
        // gfx11 has each half in a register of its own.
        let has_own = bits == 16 && self.unit() == Generation::Gfx11;
        let slot = if has_own { 32 } else { bits };
        let mut layout = axes.runs(slot, |lane| lane);
        if has_own && self.modifiers("src2").op_sel {
            layout.runs.iter_mut().for_each(|run| run.shift += 16);
        }
        let register = self.some_registers(register, axes.registers(slot))?;
        Ok(Output { register, bits, layout })
    }

    /// C: D's registers of sparse operations, else the third source.
    fn addend(&self, form: Form, blocks: usize) -> Result<Addend> {
        let result = match form.result {
            Sum::Bf16OfF32 => Sum::F32,
            other => other,
        };
        if form.is_sparse() {
            let vdst = self.vector_operand("vdst")?;
            return self.output(form, blocks, vdst, result).map(Addend::Registers);
        }
        match self.needed("src2")? {
            OperandValue::Register(register) => {
                self.output(form, blocks, register, result).map(Addend::Registers)
            }
            value => self.constant_addend(value, result).map(Addend::Constant),
        }
    }

    /// A number in the source field, in the format of C.
    fn constant_addend(&self, value: OperandValue, result: Sum) -> Result<u64> {
        let bits = match value {
            OperandValue::Integer(number) => i64::from(number).cast_unsigned(),
            OperandValue::Float(bits) => match (result, bits) {
                // The decoder gives bits of the operand's class, which may be wider or narrower than C.
                (Sum::F64, _) => bits,
                (Sum::F32 | Sum::I32, 0x1_0000_0000..) => {
                    convert::<F64, F32>(bits, Env::IEEE, Env::IEEE).into()
                }
                (Sum::F16, 0x1_0000_0000..) => {
                    convert::<F64, F16>(bits, Env::IEEE, Env::IEEE).into()
                }
                (Sum::F16, 0x1_0000..) => {
                    convert::<F32, F16>(bits as u32, Env::IEEE, Env::IEEE).into()
                }
                // A bf16 is the upper half of the single precision number.
                (Sum::Bf16, 0x1_0000_0000..) => {
                    u64::from(convert::<F64, F32>(bits, Env::IEEE, Env::IEEE) >> 16)
                }
                (Sum::Bf16, 0x1_0000..) => bits >> 16,
                _ => bits,
            },
            _ => return Err(self.unsupported("a literal as the third matrix")),
        };
        Ok(match result {
            Sum::F64 => bits,
            Sum::F32 | Sum::I32 => bits & 0xffff_ffff,
            _ => bits & 0xffff,
        })
    }

    fn sign_of_addend(&self, form: Form) -> Sign {
        let is_float = form.result != Sum::I32;
        if form.kind != Kind::Wmma || !is_float {
            return Sign::default();
        }
        let modifiers = self.modifiers("src2");
        Sign { abs: modifiers.abs, neg: modifiers.neg }
    }

    /// The indices of a sparse A.
    fn indices(&self, form: Form) -> Result<Option<Input>> {
        if !form.is_sparse() {
            return Ok(None);
        }
        let packed = form.shape.k / 2;
        let lanes = C * 8;
        let [of_a, _] = self.elements(form)?;
        let (axes, name) = match (form.kind, self.unit()) {
            (Kind::Smfmac, _) => (layout::smfmac_packed(form.shape.m, packed), "idx"),
            (_, Generation::Gfx12) => {
                (layout::gfx12_input(lanes, packed, of_a.bits() as usize), "src2")
            }
            _ => (layout::gfx1250_indices(packed), "src2"),
        };
        // An index has two bits; a register holds several sets.
        let mut layout = axes.runs(2, |lane| lane);
        let per_lane =
            layout.runs.iter().map(|run| u32::from(run.register) * 32 + u32::from(run.shift));
        let set = per_lane.max().unwrap_or(0) + 2;
        let shift = self.index_set(form) % (32 / set).max(1) * set;
        layout.runs.iter_mut().for_each(|run| run.shift += shift as u8);
        let register = self.matrix_registers(name, &axes, 2)?;
        Ok(Some(Input { register, bits: 2, flip: 0, layout }))
    }

    /// Which set of indices in the register.
    fn index_set(&self, form: Form) -> u32 {
        let number = match form.kind {
            // Where `cbsz` is not zero the first set is taken.
            Kind::Smfmac if self.number("cbsz") & 3 != 0 => 0,
            Kind::Smfmac => self.number("abid"),
            _ => ["index_key_8bit", "index_key_16bit", "index_key_32bit"]
                .iter()
                .map(|name| self.number(name))
                .max()
                .unwrap_or(0),
        };
        number as u32
    }

    /// The scales of A and B.
    fn scales(&mut self, form: Form) -> Result<Option<[Scale; 2]>> {
        let Some(per) = form.scale else { return Ok(None) };
        let of_a = self.scale(form, per, "scale_src0", true)?;
        let of_b = self.scale(form, per, "scale_src1", false)?;
        Ok(Some([of_a, of_b]))
    }

    fn scale(&mut self, form: Form, per: usize, name: &str, is_a: bool) -> Result<Scale> {
        let size = if is_a { form.shape.m } else { form.shape.n };
        let value = self.needed(name)?;
        let is_register =
            matches!(value, OperandValue::Register(it) if it.file == RegisterFile::Vgpr);
        let is_scalar = matches!(value, OperandValue::Register(_)) && !is_register;
        let (axes, first_bit, first_lane, format) = if form.kind == Kind::Mfma {
            let modifiers = self.modifiers(if is_a { "src0" } else { "src1" });
            let byte = u32::from(modifiers.op_sel) | u32::from(modifiers.op_sel_hi) << 1;
            (layout::mfma_scales(size), 8 * byte, 0, ScaleFormat::E8m0)
        } else {
            let [select, format] = if is_a {
                ["matrix_a_scale", "matrix_a_scale_fmt"]
            } else {
                ["matrix_b_scale", "matrix_b_scale_fmt"]
            };
            let format = match self.number(format) {
                0 => ScaleFormat::E8m0,
                1 => ScaleFormat::Small(Small::E5M3),
                2 => ScaleFormat::Small(Small::FP8_OCP),
                _ => return Err(self.unsupported("no such format of scales")),
            };
            // 32 rows take all lanes.
            let upper = size == 16 && self.number(select) & 1 == 1;
            let lane = if upper { 16 } else { 0 };
            (layout::wmma_scales(size, form.shape.k / per), 0, lane, format)
        };
        let bits = 8;
        let mut layout = axes.runs(bits, |lane| lane + first_lane);
        let register = if is_register {
            layout.runs.iter_mut().for_each(|run| run.shift += first_bit as u8);
            let OperandValue::Register(register) = value else {
                return Err(self.unsupported("no scales"));
            };
            self.some_registers(register, axes.registers(bits).max(1))?
        } else if is_scalar {
            // Only the lowest byte of a scalar is read.
            layout.runs.iter_mut().for_each(|run| (run.register, run.shift) = (0, 0));
            self.vector_source(value, Wide::No, u8::MAX)?
        } else {
            layout.runs.iter_mut().for_each(|run| (run.register, run.shift) = (0, 0));
            self.constant_scale(form, value)?
        };
        Ok(Scale { codes: Input { register, bits, flip: 0, layout }, per, format })
    }

    /// A scale in the source field: gfx950 takes the exponent of a float, gfx1250 knows zero as one.
    fn constant_scale(&mut self, form: Form, value: OperandValue) -> Result<u16> {
        let code = match (form.kind, value) {
            (Kind::Wmma, OperandValue::Integer(0)) => 0x7f,
            (Kind::Mfma, OperandValue::Float(bits)) => bits as u32 >> 23 & 0xff,
            (Kind::Mfma, OperandValue::Integer(number)) => {
                i32::from(number).cast_unsigned() >> 23 & 0xff
            }
            _ => return Err(self.unsupported("a constant as scales")),
        };
        Ok(self.vector_constant(code))
    }

    /// How the unit adds products.
    fn arithmetic(&self, form: Form) -> Result<Arithmetic> {
        let saturates = self.mode.0 >> 23 & 1 == 1;
        let unit = self.unit();
        let is_cdna = matches!(form.kind, Kind::Mfma | Kind::Smfmac);
        if is_cdna && saturates {
            return Err(self.unsupported("with MODE.FP16_OVFL set"));
        }
        let to = match form.result {
            Sum::F16 => Accumulator::F16 { saturate: saturates },
            Sum::Bf16 => Accumulator::Bf16,
            _ => Accumulator::F32,
        };
        let factors = |model| Arithmetic::Factors { model, to, flushes: false };
        Ok(match (form.a, unit) {
            _ if form.result == Sum::I32 => {
                Arithmetic::Integer { clamps: self.number("clamp") != 0 }
            }
            (Name::F64, Generation::Gfx90a) if self.number("blgp") != 0 => {
                return Err(self.unsupported("blgp"));
            }
            (Name::F64, _) => {
                let bits = self.number("blgp");
                Arithmetic::FusedDouble { negates: [0, 1, 2].map(|at| bits >> at & 1 == 1) }
            }
            (Name::F32, Generation::Gfx1250) => Arithmetic::Fused { flushes: false },
            (Name::F32, _) => Arithmetic::Fused { flushes: !self.floats().denorm_f32.input },
            (Name::Bf16, Generation::Gfx90a) if !form.is_1k => Arithmetic::Flushed { group: 2 },
            (_, Generation::Gfx90a) => Arithmetic::Flushed { group: 4 },
            (Name::F16, Generation::Gfx908) => factors(Model::CDNA1_F16),
            (Name::Bf16, Generation::Gfx908) => factors(Model::CDNA1_BF16),
            (Name::Xf32, _) => factors(Model::CDNA3_XF32),
            (Name::F16 | Name::Bf16, Generation::Gfx942 | Generation::Gfx950) => {
                factors(Model::CDNA3)
            }
            (Name::Fp8 | Name::Bf8, Generation::Gfx942 | Generation::Gfx950) => {
                factors(Model::CDNA3_FP8)
            }
            (_, Generation::Gfx942 | Generation::Gfx950) => Arithmetic::Doubles { group: 32, to },
            (_, Generation::Gfx11) => {
                Arithmetic::Factors { model: Model::RDNA3, to, flushes: form.a == Name::Bf16 }
            }
            (Name::Fp8 | Name::Bf8, Generation::Gfx12) => factors(Model::RDNA4_FP8),
            (_, Generation::Gfx12) => factors(Model::RDNA4),
            _ => Arithmetic::Doubles { group: form.shape.k, to },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::semantics::SEMANTICS;
    use crate::semantics::Type;

    #[test]
    fn names_say_what_is_computed() {
        let form = Form::parse("v_mfma_f32_32x32x8bf16_1k").unwrap();
        assert_eq!((form.kind, form.a, form.b), (Kind::Mfma, Name::Bf16, Name::Bf16));
        assert_eq!(form.shape, Shape { m: 32, n: 32, k: 8 });
        assert!(form.is_1k);
        let form = Form::parse("v_mfma_f32_16x16x4_4b_f16").unwrap();
        assert_eq!((form.shape.k, form.a), (4, Name::F16));
        let form = Form::parse("v_smfmac_f32_16x16x64_bf8_fp8").unwrap();
        assert_eq!((form.a, form.b), (Name::Bf8, Name::Fp8));
        let form = Form::parse("v_wmma_scale16_f32_32x16x128_f4").unwrap();
        assert_eq!((form.scale, form.shape.m, form.a), (Some(16), 32, Name::F4));
        assert_eq!(Form::parse("v_mfma_f32_16x16"), None);
    }

    #[test]
    fn all_names_of_the_table_are_understood() {
        let matrices = SEMANTICS.iter().filter(|it| it.inputs.first() == Some(&Type::Matrix));
        let unknown: Vec<&str> = matrices
            .filter(|it| it.fidelity.runs() && Form::parse(it.mnemonic).is_none())
            .map(|it| it.mnemonic)
            .collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}
