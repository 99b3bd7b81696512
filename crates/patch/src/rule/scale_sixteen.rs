//! Matrix products with a scale for every 16 numbers.

use hsaco_isa::errata::SCALE_SIXTEEN;
use hsaco_isa::model::{OperandValue, Register, RegisterFile};

use super::{Example, Requirement, RewriteRule, Stage, Trigger, answer, scale_src2};
use crate::body::{Body, Role, part, vgprs_near};
use crate::matrix::{self, Product, Scale, format};
use crate::{Answer, Plan, Refusal, ScaleSixteen, ScratchRegisters, Site};

const ROWS16: &str = "v_wmma_scale16_f32_16x16x128_f8f6f4";
const ROWS32: &str = "v_wmma_scale16_f32_32x16x128_f4";
const BLOCKS32: &str = "v_wmma_scale_f32_16x16x128_f8f6f4";

pub(super) const RULE: RewriteRule = RewriteRule {
    name: SCALE_SIXTEEN.name,
    summary: "a scale for every 16 numbers becomes one for every 32, twice",
    stage: Stage::Site,
    requirement: Requirement::Required,
    trigger: Trigger::Opcodes(SCALE_SIXTEEN.mnemonics),
    look: |site| answer(look(site)),
    residual: |site| !is_native(site) || scale_src2::is_affected(&site.bytes()),
    examples: EXAMPLES,
    page: include_str!("../../rules/scale-sixteen.md"),
};

fn is_native(site: &Site<'_>) -> bool {
    site.mnemonic() == ROWS16 && site.options().scale_sixteen == ScaleSixteen::Native
}

fn look(site: &Site<'_>) -> Result<Answer, Refusal> {
    if is_native(site) {
        let mut bytes = site.bytes();
        if !scale_src2::is_affected(&bytes) {
            return Ok(Answer::Keep("taken to exist on A0"));
        }
        scale_src2::fixed(&mut bytes);
        return Ok(Answer::Rewrite(Plan::replace(site, vec![site.decode(&bytes)?])));
    }
    let mut body = Body::new(site)?;
    let mut scratch = site.scratch_registers();
    let product = Product::of(site, &body, (format::FP4, format::FP4))?;
    let mut room = Room::default();
    let mut run = |body: &mut Body<'_, '_>,
                   scratch: &mut ScratchRegisters<'_>,
                   product: &Product| match site.options().scale_sixteen {
        ScaleSixteen::Native => product.emit(body, ROWS16),
        ScaleSixteen::Emulate => room.emulate(body, scratch, product),
    };
    if site.mnemonic() == ROWS32 {
        matrix::both(&mut body, &mut scratch, product.halves(), run)?;
    } else {
        run(&mut body, &mut scratch, &product)?;
    }
    Ok(Answer::Rewrite(Plan::replace(site, body.finish()?).taking(scratch)))
}

/// One half of every block of 32.
#[derive(Clone, Copy, PartialEq)]
enum Half {
    Lower,
    Upper,
}

impl Half {
    /// The bytes of scales for this half, of the eight in two registers.
    fn bytes(self) -> u32 {
        match self {
            Half::Lower => 0x0604_0200,
            Half::Upper => 0x0705_0301,
        }
    }

    /// The lanes that hold this half of matrices of bytes.
    fn lanes(self) -> u32 {
        match self {
            Half::Lower => 0x0000_ffff,
            Half::Upper => 0xffff_0000,
        }
    }

    /// Whether a register of a matrix holds this half; nothing where lanes tell.
    fn has(self, format: i64, register: u8) -> Option<bool> {
        let width = match format {
            format::FP6 | format::BF6 => 3,
            format::FP4 => 2,
            _ => return None,
        };
        Some((register / width).is_multiple_of(2) == (self == Half::Lower))
    }
}

/// The scratch registers of the emulation; two products in a row share it.
#[derive(Default)]
struct Room {
    is_used: bool,
    a: Option<Register>,
    b: Option<Register>,
    /// Of both matrices for the lower halves, then for the upper ones.
    scales: [Option<Register>; 4],
    /// The lanes of the lower halves, and of the upper ones.
    lanes: [Option<Register>; 2],
}

impl Room {
    /// Appends a product with a scale for every 16 numbers as two with one for every 32: of the lower halves of the
    /// blocks, and of the upper ones, with zeros for the other numbers.
    fn emulate(
        &mut self,
        body: &mut Body<'_, '_>,
        scratch: &mut ScratchRegisters<'_>,
        product: &Product,
    ) -> Result<(), Refusal> {
        let (a, b) = &product.scales;
        if let (Some(a), Some(b)) = (one_for_all(a), one_for_all(b)) {
            return Product { scales: (a, b), ..*product }.emit(body, BLOCKS32);
        }
        if std::mem::replace(&mut self.is_used, true) {
            matrix::distance(body)?;
        }
        // What the first product writes, the second may still have to read.
        let is_read = |row: &Register| product.d.overlaps(row);
        let sum = match is_read(&product.a) || is_read(&product.b) {
            true => vgprs_near(scratch, product.d.count, 2, &product.d)?,
            false => product.d,
        };
        let lower = (
            self.gather(body, scratch, a, Half::Lower, 0)?,
            self.gather(body, scratch, b, Half::Lower, 1)?,
        );
        let upper = (
            self.gather(body, scratch, a, Half::Upper, 2)?,
            self.gather(body, scratch, b, Half::Upper, 3)?,
        );
        let half = self.masked(body, scratch, product, Half::Lower)?;
        Product { d: sum, scales: lower, ..half }.emit(body, BLOCKS32)?;
        matrix::distance(body)?;
        let half = self.masked(body, scratch, product, Half::Upper)?;
        let c = OperandValue::Register(sum);
        Product { c, scales: upper, neg: false, abs: false, ..half }.emit(body, BLOCKS32)
    }

    /// The scales of one half of every block.
    fn gather(
        &mut self,
        body: &mut Body<'_, '_>,
        scratch: &mut ScratchRegisters<'_>,
        scale: &Scale,
        half: Half,
        place: usize,
    ) -> Result<Scale, Refusal> {
        if let Some(uniform) = one_for_all(scale) {
            return Ok(uniform);
        }
        let OperandValue::Register(pair) = scale.source else { return Ok(*scale) };
        // Scales are in the first bank, whatever VGPR MSBs are set.
        let to = taken(self.scales.get_mut(place), || scratch.vgprs(1, 1, 0))?;
        let operands = [
            (Role::Destination, to),
            (Role::First, part(&pair, 1, 1)),
            (Role::Second, part(&pair, 0, 1)),
        ];
        body.emit(&format!("v_perm_b32 @, @, @, {:#x}", half.bytes()), &operands)?;
        Ok(Scale { source: OperandValue::Register(to), ..*scale })
    }

    /// The product with zeros for the other half. Zero times a number of the other matrix is zero unless that is
    /// infinite, so the other matrix is only masked where it may be.
    fn masked(
        &mut self,
        body: &mut Body<'_, '_>,
        scratch: &mut ScratchRegisters<'_>,
        product: &Product,
        half: Half,
    ) -> Result<Product, Refusal> {
        let by_lanes = |format| format == format::FP8 || format == format::BF8;
        let masks_b = product.formats.1 == format::BF8;
        let mut lanes = None;
        if by_lanes(product.formats.0) || masks_b {
            let place = self.lanes.get_mut(usize::from(half == Half::Upper));
            let mask = taken(place, || scratch.sgprs(1, 1))?;
            body.line(&format!("s_mov_b32 {mask}, {:#x}", half.lanes()))?;
            lanes = Some(mask);
        }
        let mut result = *product;
        let to = taken(Some(&mut self.a), || vgprs_near(scratch, product.a.count, 2, &product.a))?;
        mask(body, lanes, (product.a, product.formats.0), half, &to)?;
        result.a = to;
        if masks_b {
            let to =
                taken(Some(&mut self.b), || vgprs_near(scratch, product.b.count, 2, &product.b))?;
            mask(body, lanes, (product.b, product.formats.1), half, &to)?;
            result.b = to;
        }
        Ok(result)
    }
}

/// What a place holds, taken the first time.
fn taken(
    place: Option<&mut Option<Register>>,
    take: impl FnOnce() -> Result<Register, Refusal>,
) -> Result<Register, Refusal> {
    match place {
        Some(Some(register)) => Ok(*register),
        Some(place) => take().inspect(|it| *place = Some(*it)),
        None => take(),
    }
}

/// A matrix with zeros for the other half.
fn mask(
    body: &mut Body<'_, '_>,
    lanes: Option<Register>,
    (matrix, format): (Register, i64),
    half: Half,
    to: &Register,
) -> Result<(), Refusal> {
    for at in 0..matrix.count {
        let (to, from) = (part(to, at, 1), part(&matrix, at, 1));
        match (half.has(format, at), lanes) {
            (Some(true), _) => {
                body.emit("v_mov_b32_e32 @, @", &[(Role::Destination, to), (Role::First, from)])?;
            }
            (Some(false), _) | (None, None) => {
                body.emit("v_mov_b32_e32 @, 0", &[(Role::Destination, to)])?;
            }
            (None, Some(lanes)) => {
                let operands = [(Role::Destination, to), (Role::Second, from)];
                body.emit(&format!("v_cndmask_b32_e64 @, 0, @, {lanes}"), &operands)?;
            }
        }
    }
    Ok(())
}

/// The scale, if it is one for the whole matrix: of a scalar register only the lowest byte counts.
fn one_for_all(scale: &Scale) -> Option<Scale> {
    match scale.source {
        OperandValue::Register(register) if register.file == RegisterFile::Vgpr => None,
        OperandValue::Register(pair) => {
            Some(Scale { source: OperandValue::Register(part(&pair, 0, 1)), ..*scale })
        }
        _ => Some(*scale),
    }
}

/// The lines that keep the lanes of a mask of sixteen registers.
macro_rules! lanes {
    ($mask:literal) => {
        concat!(
            "\nv_cndmask_b32_e64 v52, 0, v16, ",
            $mask,
            "\nv_cndmask_b32_e64 v53, 0, v17, ",
            $mask,
            "\nv_cndmask_b32_e64 v54, 0, v18, ",
            $mask,
            "\nv_cndmask_b32_e64 v55, 0, v19, ",
            $mask,
            "\nv_cndmask_b32_e64 v56, 0, v20, ",
            $mask,
            "\nv_cndmask_b32_e64 v57, 0, v21, ",
            $mask,
            "\nv_cndmask_b32_e64 v58, 0, v22, ",
            $mask,
            "\nv_cndmask_b32_e64 v59, 0, v23, ",
            $mask,
            "\nv_cndmask_b32_e64 v60, 0, v24, ",
            $mask,
            "\nv_cndmask_b32_e64 v61, 0, v25, ",
            $mask,
            "\nv_cndmask_b32_e64 v62, 0, v26, ",
            $mask,
            "\nv_cndmask_b32_e64 v63, 0, v27, ",
            $mask,
            "\nv_cndmask_b32_e64 v64, 0, v28, ",
            $mask,
            "\nv_cndmask_b32_e64 v65, 0, v29, ",
            $mask,
            "\nv_cndmask_b32_e64 v66, 0, v30, ",
            $mask,
            "\nv_cndmask_b32_e64 v67, 0, v31, ",
            $mask,
            "\n"
        )
    };
}

const EXAMPLES: &[Example] = &[
    Example::new(
        "SC1",
        "v_wmma_scale16_f32_16x16x128_f8f6f4 v[0:7], v[16:31], v[32:47], v[0:7], v[48:49], v[50:51]",
        concat!(
            "v_perm_b32 v8, v49, v48, 0x6040200
             v_perm_b32 v9, v51, v50, 0x6040200
             v_perm_b32 v10, v49, v48, 0x7050301
             v_perm_b32 v11, v51, v50, 0x7050301
             s_mov_b32 s0, 0xffff",
            lanes!("s0"),
            "v_wmma_scale_f32_16x16x128_f8f6f4 v[0:7], v[52:67], v[32:47], v[0:7], v8, v9",
            eight_nops!(),
            "s_mov_b32 s1, 0xffff0000",
            lanes!("s1"),
            "v_wmma_scale_f32_16x16x128_f8f6f4 v[0:7], v[52:67], v[32:47], v[0:7], v10, v11",
        ),
    ),
    Example::new(
        "SC1-six",
        "v_wmma_scale16_f32_16x16x128_f8f6f4 v[0:7], v[16:27], v[32:39], v[0:7], v[48:49], s[4:5] matrix_a_fmt:MATRIX_FMT_FP6 matrix_b_fmt:MATRIX_FMT_FP4 neg_lo:[0,0,1]",
        concat!(
            "v_perm_b32 v8, v49, v48, 0x6040200
             v_perm_b32 v9, v49, v48, 0x7050301
             v_mov_b32_e32 v50, v16
             v_mov_b32_e32 v51, v17
             v_mov_b32_e32 v52, v18
             v_mov_b32_e32 v53, 0
             v_mov_b32_e32 v54, 0
             v_mov_b32_e32 v55, 0
             v_mov_b32_e32 v56, v22
             v_mov_b32_e32 v57, v23
             v_mov_b32_e32 v58, v24
             v_mov_b32_e32 v59, 0
             v_mov_b32_e32 v60, 0
             v_mov_b32_e32 v61, 0
             v_wmma_scale_f32_16x16x128_f8f6f4 v[0:7], v[50:61], v[32:39], v[0:7], v8, s4 matrix_a_fmt:MATRIX_FMT_FP6 matrix_b_fmt:MATRIX_FMT_FP4 neg_lo:[0,0,1]",
            eight_nops!(),
            "v_mov_b32_e32 v50, 0
             v_mov_b32_e32 v51, 0
             v_mov_b32_e32 v52, 0
             v_mov_b32_e32 v53, v19
             v_mov_b32_e32 v54, v20
             v_mov_b32_e32 v55, v21
             v_mov_b32_e32 v56, 0
             v_mov_b32_e32 v57, 0
             v_mov_b32_e32 v58, 0
             v_mov_b32_e32 v59, v25
             v_mov_b32_e32 v60, v26
             v_mov_b32_e32 v61, v27
             v_wmma_scale_f32_16x16x128_f8f6f4 v[0:7], v[50:61], v[32:39], v[0:7], v9, s4 matrix_a_fmt:MATRIX_FMT_FP6 matrix_b_fmt:MATRIX_FMT_FP4",
        ),
    ),
    Example::new(
        "SC1-uniform",
        "v_wmma_scale16_f32_16x16x128_f8f6f4 v[0:7], v[16:31], v[32:47], v[0:7], s[4:5], 0",
        "v_wmma_scale_f32_16x16x128_f8f6f4 v[0:7], v[16:31], v[32:47], v[0:7], s4, 0",
    ),
    Example::same(
        "SC1-native",
        "v_wmma_scale16_f32_16x16x128_f8f6f4 v[0:7], v[16:31], v[32:47], v[0:7], v[48:49], v[50:51]",
    )
    .options(|it| it.scale_sixteen = ScaleSixteen::Native),
    Example::new(
        "SC1-native-src2",
        ".long cc3a0000, 00026530, cc330000, 04024110",
        ".long cc3a0000, 04026530, cc330000, 04024110",
    )
    .options(|it| it.scale_sixteen = ScaleSixteen::Native),
    Example::same(
        "SC2",
        "v_wmma_scale_f32_16x16x128_f8f6f4 v[0:7], v[16:31], v[32:47], v[0:7], v48, v50",
    ),
    Example::new(
        "SC3-native",
        "v_wmma_scale16_f32_32x16x128_f4 v[96:111], v[16:31], v[32:39], v[48:63], v[2:3], v[4:5]",
        "v_wmma_scale16_f32_16x16x128_f8f6f4 v[96:103], v[16:23], v[32:39], v[48:55], v[2:3], v[4:5] matrix_a_fmt:MATRIX_FMT_FP4 matrix_b_fmt:MATRIX_FMT_FP4
         v_wmma_scale16_f32_16x16x128_f8f6f4 v[104:111], v[24:31], v[32:39], v[56:63], v[2:3], v[4:5] matrix_a_fmt:MATRIX_FMT_FP4 matrix_b_fmt:MATRIX_FMT_FP4 matrix_a_scale:MATRIX_SCALE_ROW1",
    )
    .options(|it| it.scale_sixteen = ScaleSixteen::Native),
    Example::new(
        "SC3",
        "v_wmma_scale16_f32_32x16x128_f4 v[96:111], v[16:31], v[32:39], v[48:63], v[2:3], v[4:5]",
        concat!(
            "v_perm_b32 v0, v3, v2, 0x6040200
             v_perm_b32 v1, v5, v4, 0x6040200
             v_perm_b32 v6, v3, v2, 0x7050301
             v_perm_b32 v7, v5, v4, 0x7050301
             v_mov_b32_e32 v8, v16
             v_mov_b32_e32 v9, v17
             v_mov_b32_e32 v10, 0
             v_mov_b32_e32 v11, 0
             v_mov_b32_e32 v12, v20
             v_mov_b32_e32 v13, v21
             v_mov_b32_e32 v14, 0
             v_mov_b32_e32 v15, 0
             v_wmma_scale_f32_16x16x128_f8f6f4 v[96:103], v[8:15], v[32:39], v[48:55], v0, v1 matrix_a_fmt:MATRIX_FMT_FP4 matrix_b_fmt:MATRIX_FMT_FP4",
            eight_nops!(),
            "v_mov_b32_e32 v8, 0
             v_mov_b32_e32 v9, 0
             v_mov_b32_e32 v10, v18
             v_mov_b32_e32 v11, v19
             v_mov_b32_e32 v12, 0
             v_mov_b32_e32 v13, 0
             v_mov_b32_e32 v14, v22
             v_mov_b32_e32 v15, v23
             v_wmma_scale_f32_16x16x128_f8f6f4 v[96:103], v[8:15], v[32:39], v[96:103], v6, v7 matrix_a_fmt:MATRIX_FMT_FP4 matrix_b_fmt:MATRIX_FMT_FP4",
            eight_nops!(),
            "v_perm_b32 v0, v3, v2, 0x6040200
             v_perm_b32 v1, v5, v4, 0x6040200
             v_perm_b32 v6, v3, v2, 0x7050301
             v_perm_b32 v7, v5, v4, 0x7050301
             v_mov_b32_e32 v8, v24
             v_mov_b32_e32 v9, v25
             v_mov_b32_e32 v10, 0
             v_mov_b32_e32 v11, 0
             v_mov_b32_e32 v12, v28
             v_mov_b32_e32 v13, v29
             v_mov_b32_e32 v14, 0
             v_mov_b32_e32 v15, 0
             v_wmma_scale_f32_16x16x128_f8f6f4 v[104:111], v[8:15], v[32:39], v[56:63], v0, v1 matrix_a_fmt:MATRIX_FMT_FP4 matrix_b_fmt:MATRIX_FMT_FP4 matrix_a_scale:MATRIX_SCALE_ROW1",
            eight_nops!(),
            "v_mov_b32_e32 v8, 0
             v_mov_b32_e32 v9, 0
             v_mov_b32_e32 v10, v26
             v_mov_b32_e32 v11, v27
             v_mov_b32_e32 v12, 0
             v_mov_b32_e32 v13, 0
             v_mov_b32_e32 v14, v30
             v_mov_b32_e32 v15, v31
             v_wmma_scale_f32_16x16x128_f8f6f4 v[104:111], v[8:15], v[32:39], v[104:111], v6, v7 matrix_a_fmt:MATRIX_FMT_FP4 matrix_b_fmt:MATRIX_FMT_FP4 matrix_a_scale:MATRIX_SCALE_ROW1",
        ),
    ),
];
