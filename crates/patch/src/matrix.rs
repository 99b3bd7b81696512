//! Scaled matrix products, as rules put them together.

use hsaco_isa::model::{OperandValue, Register, RegisterFile};

use crate::body::{Body, Role, part, unsupported, vgprs_near};
use crate::refusal::Refusal;
use crate::scratch::ScratchRegisters;
use crate::site::Site;

/// Vector instructions between a matrix instruction and one that overwrites what it reads or reads what it writes: LLVM
/// 22 keeps this distance after scaled ones.
const DISTANCE: usize = 8;
/// The bit of the first word of a matrix instruction that would clamp its result.
const CLAMP: u32 = 1 << 15;

/// How a matrix is encoded, by its number.
pub(crate) mod format {
    /// E4M3.
    pub(crate) const FP8: i64 = 0;
    /// E5M2, which has infinities.
    pub(crate) const BF8: i64 = 1;
    /// E2M3 and E3M2.
    pub(crate) const FP6: i64 = 2;
    pub(crate) const BF6: i64 = 3;
    /// E2M1.
    pub(crate) const FP4: i64 = 4;
}

const FORMATS: [&str; 5] = ["FP8", "BF8", "FP6", "BF6", "FP4"];
const SCALE_FORMATS: [&str; 3] = ["E8", "E5M3", "E4M3"];

/// The scales of a matrix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    /// Where they are; vector registers are always of the first bank.
    pub(crate) source: OperandValue,
    /// Whether those of lanes 16 to 31 count.
    pub(crate) row: i64,
    /// How they are encoded.
    pub(crate) format: i64,
}

/// Scales of one.
pub(crate) const ONE: Scale = Scale { source: OperandValue::Integer(0), row: 0, format: 0 };

/// A product of matrices with scales for blocks, added to a third.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Product {
    pub(crate) d: Register,
    pub(crate) a: Register,
    pub(crate) b: Register,
    pub(crate) c: OperandValue,
    pub(crate) formats: (i64, i64),
    pub(crate) scales: (Scale, Scale),
    pub(crate) neg: bool,
    pub(crate) abs: bool,
}

impl Product {
    /// The product that an instruction makes, of matrices in these formats where it does not say.
    pub(crate) fn of(
        site: &Site<'_>,
        body: &Body<'_, '_>,
        formats: (i64, i64),
    ) -> Result<Product, Refusal> {
        let operand = |name, role| {
            body.register(name, role)
                .filter(|it| it.file == RegisterFile::Vgpr)
                .ok_or_else(|| unsupported(site, "a matrix is in no vector registers"))
        };
        let word = site.bytes().rchunks_exact(4).nth(1).map(<[u8; 4]>::try_from);
        if word.and_then(Result::ok).is_some_and(|word| u32::from_le_bytes(word) & CLAMP != 0) {
            return Err(unsupported(site, "floating products are not clamped"));
        }
        let number = |name| site.number(name).unwrap_or_default();
        let format = |name, otherwise| site.number(name).unwrap_or(otherwise);
        let scale = |source, row, kind| Scale {
            source: site.operand(source).unwrap_or(ONE.source),
            row: number(row),
            format: number(kind),
        };
        let c = match body.register("src2", Role::Third) {
            Some(register) => Some(OperandValue::Register(register)),
            None => site.operand("src2"),
        };
        let modifiers = match site.operand("src2_modifiers") {
            Some(OperandValue::Modifiers(modifiers)) => modifiers,
            _ => Default::default(),
        };
        Ok(Product {
            d: operand("vdst", Role::Destination)?,
            a: operand("src0", Role::First)?,
            b: operand("src1", Role::Second)?,
            c: c.ok_or_else(|| unsupported(site, "no third matrix"))?,
            formats: (format("matrix_a_fmt", formats.0), format("matrix_b_fmt", formats.1)),
            scales: (
                scale("scale_src0", "matrix_a_scale", "matrix_a_scale_fmt"),
                scale("scale_src1", "matrix_b_scale", "matrix_b_scale_fmt"),
            ),
            neg: modifiers.neg,
            abs: modifiers.abs,
        })
    }

    /// The upper and the lower 16 rows of a product with 32: the scales of the lower ones are in lanes 16 to 31.
    pub(crate) fn halves(&self) -> [Product; 2] {
        [0, 1].map(|half: u8| {
            let c = match self.c {
                OperandValue::Register(row) => OperandValue::Register(part(&row, half * 8, 8)),
                constant => constant,
            };
            let row = Scale { row: i64::from(half), ..self.scales.0 };
            let is_one = self.scales.0.source == ONE.source;
            let scales = (if is_one { self.scales.0 } else { row }, self.scales.1);
            Product {
                d: part(&self.d, half * 8, 8),
                a: part(&self.a, half * 8, 8),
                c,
                scales,
                ..*self
            }
        })
    }

    /// Appends it as an instruction of that name.
    pub(crate) fn emit(&self, body: &mut Body<'_, '_>, name: &str) -> Result<(), Refusal> {
        let mut registers =
            vec![(Role::Destination, self.d), (Role::First, self.a), (Role::Second, self.b)];
        let c = match self.c {
            OperandValue::Register(register) => {
                registers.push((Role::Third, register));
                "@".to_owned()
            }
            constant => text(constant),
        };
        let (a, b) = &self.scales;
        let mut line = format!("{name} @, @, @, {c}, {}, {}", text(a.source), text(b.source));
        let mut modifier = |name: &str, kind: &str, value: &str| {
            if !value.is_empty() {
                line.push_str(&format!(" {name}:{kind}{value}"));
            }
        };
        let of = |names: &[&'static str], number: i64| {
            let at = usize::try_from(number).ok().filter(|at| *at != 0);
            at.and_then(|at| names.get(at).copied()).unwrap_or_default()
        };
        modifier("matrix_a_fmt", "MATRIX_FMT_", of(&FORMATS, self.formats.0));
        modifier("matrix_b_fmt", "MATRIX_FMT_", of(&FORMATS, self.formats.1));
        modifier("matrix_a_scale", "MATRIX_SCALE_", of(&["", "ROW1"], a.row));
        modifier("matrix_b_scale", "MATRIX_SCALE_", of(&["", "ROW1"], b.row));
        modifier("matrix_a_scale_fmt", "MATRIX_SCALE_FMT_", of(&SCALE_FORMATS, a.format));
        modifier("matrix_b_scale_fmt", "MATRIX_SCALE_FMT_", of(&SCALE_FORMATS, b.format));
        modifier("neg_lo", "", if self.neg { "[0,0,1]" } else { "" });
        modifier("neg_hi", "", if self.abs { "[0,0,1]" } else { "" });
        body.emit(&line, &registers)
    }

    /// Whether what it writes is something that another reads.
    fn spoils(&self, other: &Product) -> bool {
        let is_read = |value: &OperandValue| matches!(value, OperandValue::Register(register) if self.d.overlaps(register));
        self.d.overlaps(&other.a)
            || self.d.overlaps(&other.b)
            || [other.c, other.scales.0.source, other.scales.1.source].iter().any(is_read)
    }
}

/// Appends two products in an order in which neither overwrites what the other reads; where there is none, the first
/// goes to registers of its own, and from there where it belongs. `run` appends one.
pub(crate) fn both<'s, 'v>(
    body: &mut Body<'s, 'v>,
    scratch: &mut ScratchRegisters<'_>,
    [first, second]: [Product; 2],
    mut run: impl FnMut(&mut Body<'s, 'v>, &mut ScratchRegisters<'_>, &Product) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    if !first.spoils(&second) {
        run(body, scratch, &first)?;
        return run(body, scratch, &second);
    }
    if !second.spoils(&first) {
        run(body, scratch, &second)?;
        return run(body, scratch, &first);
    }
    let kept = vgprs_near(scratch, first.d.count, 2, &first.d)?;
    run(body, scratch, &Product { d: kept, ..first })?;
    run(body, scratch, &second)?;
    distance(body)?;
    for at in 0..kept.count {
        let (to, from) = (part(&first.d, at, 1), part(&kept, at, 1));
        body.emit("v_mov_b32_e32 @, @", &[(Role::Destination, to), (Role::First, from)])?;
    }
    Ok(())
}

/// Appends the distance between a matrix instruction and one that has to do with its registers.
pub(crate) fn distance(body: &mut Body<'_, '_>) -> Result<(), Refusal> {
    (0..DISTANCE).try_for_each(|_| body.line("v_nop"))
}

/// A scale or a constant matrix, as assembly has it.
fn text(value: OperandValue) -> String {
    match value {
        OperandValue::Register(register) => register.to_string(),
        OperandValue::Integer(number) => number.to_string(),
        OperandValue::Float(bits) => format!("{:?}", f32::from_bits(bits as u32)),
        OperandValue::Literal32(bits) => format!("{bits:#x}"),
        OperandValue::Literal64(bits) => format!("{bits:#x}"),
        OperandValue::Modifiers(_) | OperandValue::Number(_) => String::new(),
    }
}
