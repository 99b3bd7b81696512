//! Conversions from and to E5M3, numbers without a sign of five bits of exponent and three of mantissa.

use hsaco_isa::errata::E5M3;
use hsaco_isa::model::{OperandValue, Register, RegisterFile, SourceModifiers};

use super::{Example, Requirement, RewriteRule, Stage, Trigger, answer};
use crate::body::{Body, Role, part, unsupported, vgprs_near};
use crate::{Answer, Plan, Refusal, ScratchRegisters, Site};

const PACK: &str = "v_cvt_pk_fp8_f32";
const STOCHASTIC: &str = "v_cvt_sr_fp8_f32";

/// The smallest normal number, whose byte is [`SMALLEST_BYTE`].
const SMALLEST: &str = "0x38800000";
const SMALLEST_BYTE: u32 = 8;
/// The exponent of E5M3 in that of single precision, and three bits of mantissa: a byte is the upper bits less this.
const BIAS: u32 = 112 << 3;
/// What NaN is unpacked to.
const NAN: &str = "0x7fa3d000";

pub(super) const RULE: RewriteRule = RewriteRule {
    name: E5M3.name,
    summary: "conversions from and to E5M3 are computed",
    stage: Stage::Site,
    requirement: Requirement::Required,
    trigger: Trigger::Opcodes(E5M3.mnemonics),
    look: |site| answer(look(site)),
    residual: is_e5m3,
    examples: EXAMPLES,
    page: include_str!("../../rules/e5m3.md"),
};

/// The clamp bit tells E5M3 from E4M3.
fn is_e5m3(site: &Site<'_>) -> bool {
    site.inst().is_some_and(|inst| E5M3.affects(site.view().decoder(), &inst, None))
}

fn look(site: &Site<'_>) -> Result<Answer, Refusal> {
    if !is_e5m3(site) {
        return Ok(Answer::NotMine);
    }
    let inst = site.inst().ok_or_else(|| unsupported(site, "no instruction"))?;
    if site.view().decoder().operands(&inst).any(|it| it.name.starts_with("dpp")) {
        return Err(unsupported(site, "its source comes from other lanes"));
    }
    let mut scratch = site.scratch_registers();
    let mut body = Body::new(site)?;
    let to = body
        .register("vdst", Role::Destination)
        .ok_or_else(|| unsupported(site, "no destination"))?;
    match site.mnemonic() {
        PACK => pack(site, &mut body, &mut scratch, &to)?,
        STOCHASTIC => stochastic(site, &mut body, &mut scratch, &to)?,
        _ => unpack(site, &mut body, &mut scratch, &to)?,
    }
    Ok(Answer::Rewrite(Plan::replace(site, body.finish()?).taking(scratch)))
}

/// A source, as text with a place for its register, and the register.
struct Source {
    text: String,
    register: Option<Register>,
}

impl Source {
    fn of(site: &Site<'_>, body: &Body<'_, '_>, name: &str, role: Role) -> Result<Self, Refusal> {
        let modifiers = match site.operand(&format!("{name}_modifiers")) {
            Some(OperandValue::Modifiers(modifiers)) => modifiers,
            _ => SourceModifiers::default(),
        };
        if let Some(register) = body.register(name, role) {
            let is_vector = register.file == RegisterFile::Vgpr;
            let mut text = if is_vector { "@".to_owned() } else { register.to_string() };
            if modifiers.abs {
                text = format!("|{text}|");
            }
            if modifiers.neg {
                text.insert(0, '-');
            }
            return Ok(Source { text, register: is_vector.then_some(register) });
        }
        let bits = match site.operand(name) {
            Some(OperandValue::Integer(number)) => i32::from(number).cast_unsigned(),
            Some(OperandValue::Float(bits)) => bits as u32,
            Some(OperandValue::Literal32(bits)) => bits,
            _ => return Err(unsupported(site, "a source is of no known kind")),
        };
        let sign = 1 << 31;
        let bits = if modifiers.abs { bits & !sign } else { bits };
        let bits = if modifiers.neg { bits ^ sign } else { bits };
        Ok(Source { text: format!("{bits:#x}"), register: None })
    }

    /// Appends a line that has `$` in the place of the source.
    fn emit(
        &self,
        body: &mut Body<'_, '_>,
        line: &str,
        before: &[(Role, Register)],
        role: Role,
    ) -> Result<(), Refusal> {
        let mut registers = before.to_vec();
        registers.extend(self.register.map(|it| (role, it)));
        body.emit(&line.replace('$', &self.text), &registers)
    }
}

/// Scalar registers: the lanes that hold NaN, and whether results that are too large become the largest number.
struct Flags {
    is_nan: Register,
    saturates: Register,
}

impl Flags {
    fn new(body: &mut Body<'_, '_>, scratch: &mut ScratchRegisters<'_>) -> Result<Self, Refusal> {
        let flags = Flags { is_nan: scratch.sgprs(1, 1)?, saturates: scratch.sgprs(1, 1)? };
        body.line(&format!("s_getreg_b32 {}, hwreg(HW_REG_WAVE_MODE, 23, 1)", flags.saturates))?;
        Ok(flags)
    }
}

/// Three registers to work in; the first has the result.
struct Work([Register; 3]);

impl Work {
    /// Appends a line in which each `@` stands for the next of its registers, by number.
    fn line(
        &self,
        body: &mut Body<'_, '_>,
        text: &str,
        roles: &[(Role, usize)],
    ) -> Result<(), Refusal> {
        let of = |(role, at): &(Role, usize)| self.0.get(*at).map(|it| (*role, *it));
        let registers: Vec<_> = roles.iter().filter_map(of).collect();
        body.emit(text, &registers)
    }

    /// Puts the number without a sign into the first register, and who is NaN into the flags.
    fn begin(
        &self,
        body: &mut Body<'_, '_>,
        flags: &Flags,
        source: &Source,
    ) -> Result<(), Refusal> {
        let class = format!("v_cmp_class_f32_e64 {}, $, 3", flags.is_nan);
        source.emit(body, &class, &[], Role::First)?;
        let result = [(Role::Destination, self.0[0])];
        source.emit(body, "v_max_num_f32_e64 @, 0, $", &result, Role::Second)
    }

    /// From the number's bits in the first register to its byte. Above the smallest normal number the byte is in the upper bits; below,
    /// it is a count of the smallest number. Each is worked out of what the number is on its side of the border, and they add up.
    fn finish(&self, body: &mut Body<'_, '_>, flags: &Flags, rounds: bool) -> Result<(), Refusal> {
        use Role::{Destination, First, Second};
        self.line(
            body,
            &format!("v_min_u32_e32 @, {SMALLEST}, @"),
            &[(Destination, 1), (Second, 0)],
        )?;
        self.line(body, "v_ldexp_f32 @, @, 17", &[(Destination, 1), (First, 1)])?;
        if rounds {
            self.line(body, "v_rndne_f32_e32 @, @", &[(Destination, 1), (First, 1)])?;
        }
        self.line(body, "v_cvt_u32_f32_e32 @, @", &[(Destination, 1), (First, 1)])?;
        self.line(
            body,
            &format!("v_max_u32_e32 @, {SMALLEST}, @"),
            &[(Destination, 0), (Second, 0)],
        )?;
        if rounds {
            self.line(body, "v_bfe_u32 @, @, 20, 1", &[(Destination, 2), (First, 0)])?;
            let operands = [(Destination, 0), (First, 0), (Second, 2)];
            self.line(body, "v_add3_u32 @, @, @, 0x7ffff", &operands)?;
        }
        self.line(body, "v_lshrrev_b32_e32 @, 20, @", &[(Destination, 0), (Second, 0)])?;
        let less = (BIAS + SMALLEST_BYTE).wrapping_neg();
        let operands = [(Destination, 0), (First, 0), (Second, 1)];
        self.line(body, &format!("v_add3_u32 @, @, @, {less:#x}"), &operands)?;
        let most = format!("v_sub_nc_u32_e64 @, 0xff, {}", flags.saturates);
        self.line(body, &most, &[(Destination, 1)])?;
        let operands = [(Destination, 0), (First, 1), (Second, 0)];
        self.line(body, "v_min_u32_e32 @, @, @", &operands)?;
        let nan = format!("v_cndmask_b32_e64 @, @, 0xff, {}", flags.is_nan);
        self.line(body, &nan, &[(Destination, 0), (First, 0)])
    }
}

/// Puts the lower bits of a register at a place in the destination, and leaves its others.
fn merge(
    body: &mut Body<'_, '_>,
    from: &Register,
    to: &Register,
    (first, count): (u32, u32),
) -> Result<(), Refusal> {
    if first != 0 {
        let operands = [(Role::Destination, *from), (Role::Second, *from)];
        body.emit(&format!("v_lshlrev_b32_e32 @, {first}, @"), &operands)?;
    }
    let mask = ((1_u32 << count) - 1) << first;
    let operands = [(Role::Destination, *to), (Role::Second, *from), (Role::Third, *to)];
    body.emit(&format!("v_bfi_b32 @, {mask:#x}, @, @"), &operands)
}

fn pack(
    site: &Site<'_>,
    body: &mut Body<'_, '_>,
    scratch: &mut ScratchRegisters<'_>,
    to: &Register,
) -> Result<(), Refusal> {
    let room = vgprs_near(scratch, 4, 1, to)?;
    let [second, first, help, more] = [0, 1, 2, 3].map(|at| part(&room, at, 1));
    let flags = Flags::new(body, scratch)?;
    let sources = [("src1", Role::Second, second), ("src0", Role::First, first)];
    for (name, role, result) in sources {
        let source = Source::of(site, body, name, role)?;
        let work = Work([result, help, more]);
        work.begin(body, &flags, &source)?;
        work.finish(body, &flags, true)?;
    }
    let operands = [(Role::Destination, first), (Role::First, second), (Role::Third, first)];
    body.emit("v_lshl_or_b32 @, @, 8, @", &operands)?;
    let is_upper =
        matches!(site.operand("src0_modifiers"), Some(OperandValue::Modifiers(it)) if it.op_sel_hi);
    merge(body, &first, to, (if is_upper { 16 } else { 0 }, 16))
}

/// The twelfth and higher bits of the second source are added before lower bits are dropped.
fn stochastic(
    site: &Site<'_>,
    body: &mut Body<'_, '_>,
    scratch: &mut ScratchRegisters<'_>,
    to: &Register,
) -> Result<(), Refusal> {
    let modifiers = site.operand("src1_modifiers");
    if matches!(modifiers, Some(OperandValue::Modifiers(it)) if it.neg || it.abs) {
        return Err(unsupported(site, "its noise is negated"));
    }
    let byte = site.number("byte_sel").and_then(|it| u32::try_from(it).ok()).unwrap_or_default();
    let room = vgprs_near(scratch, 2, 1, to)?;
    let [result, help] = [0, 1].map(|at| part(&room, at, 1));
    let flags = Flags::new(body, scratch)?;
    let work = Work([result, help, help]);
    let source = Source::of(site, body, "src0", Role::First)?;
    let noise = Source::of(site, body, "src1", Role::Second)?;
    work.begin(body, &flags, &source)?;
    noise.emit(body, "v_lshrrev_b32_e64 @, 12, $", &[(Role::Destination, help)], Role::Second)?;
    let operands = [(Role::Destination, result), (Role::First, help), (Role::Second, result)];
    body.emit("v_add_nc_u32_e32 @, @, @", &operands)?;
    work.finish(body, &flags, false)?;
    merge(body, &result, to, (byte * 8, 8))
}

/// The inverse of [`Work::finish`], with the same border.
fn unpack(
    site: &Site<'_>,
    body: &mut Body<'_, '_>,
    scratch: &mut ScratchRegisters<'_>,
    to: &Register,
) -> Result<(), Refusal> {
    use Role::{Destination, First, Second, Third};
    let byte = site.number("byte_sel").unwrap_or_default();
    let room = vgprs_near(scratch, 2, 1, to)?;
    let is_nan = scratch.sgprs(1, 1)?;
    let work = Work([part(&room, 0, 1), part(&room, 1, 1), *to]);
    let source = Source::of(site, body, "src0", First)?;
    let extract = format!("v_bfe_u32 @, $, {}, 8", byte * 8);
    source.emit(body, &extract, &[(Destination, work.0[0])], First)?;
    work.line(body, &format!("v_cmp_eq_u32_e64 {is_nan}, 0xff, @"), &[(Second, 0)])?;
    work.line(body, "v_min_u32_e32 @, 8, @", &[(Destination, 1), (Second, 0)])?;
    work.line(body, "v_cvt_f32_u32_e32 @, @", &[(Destination, 1), (First, 1)])?;
    work.line(body, "v_ldexp_f32 @, @, -17", &[(Destination, 1), (First, 1)])?;
    work.line(body, "v_max_u32_e32 @, 8, @", &[(Destination, 0), (Second, 0)])?;
    let operands = [(Destination, 0), (First, 0), (Third, 1)];
    work.line(body, "v_lshl_add_u32 @, @, 20, @", &operands)?;
    let less = (SMALLEST_BYTE << 20).wrapping_neg();
    work.line(
        body,
        &format!("v_add_nc_u32_e32 @, {less:#x}, @"),
        &[(Destination, 0), (Second, 0)],
    )?;
    work.line(
        body,
        &format!("v_cndmask_b32_e64 @, @, {NAN}, {is_nan}"),
        &[(Destination, 2), (First, 0)],
    )
}

/// The lines that make a byte of a source, in registers to work in.
#[rustfmt::skip]
macro_rules! byte {
    ($source:literal, $to:literal, $help:literal, $more:literal) => {
        concat!(
            "v_cmp_class_f32_e64 s0, ", $source, ", 3\n",
            "v_max_num_f32_e64 ", $to, ", 0, ", $source, "\n",
            "v_min_u32_e32 ", $help, ", 0x38800000, ", $to, "\n",
            "v_ldexp_f32 ", $help, ", ", $help, ", 17\n",
            "v_rndne_f32_e32 ", $help, ", ", $help, "\n",
            "v_cvt_u32_f32_e32 ", $help, ", ", $help, "\n",
            "v_max_u32_e32 ", $to, ", 0x38800000, ", $to, "\n",
            "v_bfe_u32 ", $more, ", ", $to, ", 20, 1\n",
            "v_add3_u32 ", $to, ", ", $to, ", ", $more, ", 0x7ffff\n",
            in_range!($to, $help)
        )
    };
}

/// The same with noise, and without rounding.
#[rustfmt::skip]
macro_rules! noisy_byte {
    ($source:literal, $noise:literal, $to:literal, $help:literal) => {
        concat!(
            "v_cmp_class_f32_e64 s0, ", $source, ", 3\n",
            "v_max_num_f32_e64 ", $to, ", 0, ", $source, "\n",
            "v_lshrrev_b32_e64 ", $help, ", 12, ", $noise, "\n",
            "v_add_nc_u32_e32 ", $to, ", ", $help, ", ", $to, "\n",
            "v_min_u32_e32 ", $help, ", 0x38800000, ", $to, "\n",
            "v_ldexp_f32 ", $help, ", ", $help, ", 17\n",
            "v_cvt_u32_f32_e32 ", $help, ", ", $help, "\n",
            "v_max_u32_e32 ", $to, ", 0x38800000, ", $to, "\n",
            in_range!($to, $help)
        )
    };
}

/// The last lines of both: the upper bits, the largest number, NaN.
#[rustfmt::skip]
macro_rules! in_range {
    ($to:literal, $help:literal) => {
        concat!(
            "v_lshrrev_b32_e32 ", $to, ", 20, ", $to, "\n",
            "v_add3_u32 ", $to, ", ", $to, ", ", $help, ", 0xfffffc78\n",
            "v_sub_nc_u32_e64 ", $help, ", 0xff, s1\n",
            "v_min_u32_e32 ", $to, ", ", $help, ", ", $to, "\n",
            "v_cndmask_b32_e64 ", $to, ", ", $to, ", 0xff, s0\n"
        )
    };
}

/// The lines that make a number of a byte from this bit on.
macro_rules! number {
    ($first:literal) => {
        concat!(
            "v_bfe_u32 v2, v1, ",
            $first,
            ", 8
             v_cmp_eq_u32_e64 s0, 0xff, v2
             v_min_u32_e32 v3, 8, v2
             v_cvt_f32_u32_e32 v3, v3
             v_ldexp_f32 v3, v3, -17
             v_max_u32_e32 v2, 8, v2
             v_lshl_add_u32 v2, v2, 20, v3
             v_add_nc_u32_e32 v2, 0xff800000, v2
             v_cndmask_b32_e64 v0, v2, 0x7fa3d000, s0"
        )
    };
}

const EXAMPLES: &[Example] = &[
    Example::new(
        "EM1",
        "v_cvt_pk_fp8_f32 v0, v1, v2 clamp",
        concat!(
            "s_getreg_b32 s1, hwreg(HW_REG_WAVE_MODE, 23, 1)\n",
            byte!("v2", "v3", "v5", "v6"),
            byte!("v1", "v4", "v5", "v6"),
            "v_lshl_or_b32 v4, v3, 8, v4\nv_bfi_b32 v0, 0xffff, v4, v0"
        ),
    ),
    Example::new(
        "EM2",
        ".long d769c005, 02020f06",
        concat!(
            "s_getreg_b32 s1, hwreg(HW_REG_WAVE_MODE, 23, 1)\n",
            byte!("v7", "v0", "v2", "v3"),
            byte!("v6", "v1", "v2", "v3"),
            "v_lshl_or_b32 v1, v0, 8, v1\nv_lshlrev_b32_e32 v1, 16, v1\nv_bfi_b32 v5, 0xffff0000, v1, v5"
        ),
    ),
    Example::same(
        "EM3",
        "v_cvt_pk_fp8_f32 v0, v1, v2\nv_cvt_sr_fp8_f32 v0, v1, v2\nv_cvt_f32_fp8_e32 v0, v1",
    ),
    Example::new(
        "EM4",
        "v_cvt_pk_fp8_f32 v0, 0x477f0000, 0x477f0000 clamp",
        concat!(
            "s_getreg_b32 s1, hwreg(HW_REG_WAVE_MODE, 23, 1)\n",
            byte!("0x477f0000", "v1", "v3", "v4"),
            byte!("0x477f0000", "v2", "v3", "v4"),
            "v_lshl_or_b32 v2, v1, 8, v2\nv_bfi_b32 v0, 0xffff, v2, v0"
        ),
    ),
    Example::new(
        "EM5",
        "v_cvt_pk_fp8_f32 v0, 0x477f0000, v2 clamp",
        concat!(
            "s_getreg_b32 s1, hwreg(HW_REG_WAVE_MODE, 23, 1)\n",
            byte!("v2", "v3", "v5", "v6"),
            byte!("0x477f0000", "v4", "v5", "v6"),
            "v_lshl_or_b32 v4, v3, 8, v4\nv_bfi_b32 v0, 0xffff, v4, v0"
        ),
    ),
    Example::new(
        "EM6",
        "v_cvt_pk_fp8_f32 v0, 1.0, 0.5 clamp",
        concat!(
            "s_getreg_b32 s1, hwreg(HW_REG_WAVE_MODE, 23, 1)\n",
            byte!("0.5", "v1", "v3", "v4"),
            byte!("1.0", "v2", "v3", "v4"),
            "v_lshl_or_b32 v2, v1, 8, v2\nv_bfi_b32 v0, 0xffff, v2, v0"
        ),
    ),
    Example::new(
        "EM7",
        "v_cvt_pk_fp8_f32 v0, -v1, |v5| clamp",
        concat!(
            "s_getreg_b32 s1, hwreg(HW_REG_WAVE_MODE, 23, 1)\n",
            byte!("|v5|", "v6", "v8", "v9"),
            byte!("-v1", "v7", "v8", "v9"),
            "v_lshl_or_b32 v7, v6, 8, v7\nv_bfi_b32 v0, 0xffff, v7, v0"
        ),
    ),
    Example::new(
        "EM7-both",
        "v_cvt_pk_fp8_f32 v0, -|v7|, -v8 clamp",
        concat!(
            "s_getreg_b32 s1, hwreg(HW_REG_WAVE_MODE, 23, 1)\n",
            byte!("-v8", "v1", "v3", "v4"),
            byte!("-|v7|", "v2", "v3", "v4"),
            "v_lshl_or_b32 v2, v1, 8, v2\nv_bfi_b32 v0, 0xffff, v2, v0"
        ),
    ),
    Example::new(
        "EM8",
        "v_cvt_sr_fp8_f32 v0, v1, v2 clamp",
        concat!(
            "s_getreg_b32 s1, hwreg(HW_REG_WAVE_MODE, 23, 1)\n",
            noisy_byte!("v1", "v2", "v3", "v4"),
            "v_bfi_b32 v0, 0xff, v3, v0"
        ),
    ),
    Example::new(
        "EM8-byte2",
        ".long d76bc005, 00020f06",
        concat!(
            "s_getreg_b32 s1, hwreg(HW_REG_WAVE_MODE, 23, 1)\n",
            noisy_byte!("v6", "v7", "v0", "v1"),
            "v_lshlrev_b32_e32 v0, 16, v0\nv_bfi_b32 v5, 0xff0000, v0, v5"
        ),
    ),
    Example::new("EM9-byte0", "v_cvt_f32_fp8_e64 v0, v1 clamp", number!(0)),
    Example::new("EM9-byte1", "v_cvt_f32_fp8_e64 v0, v1 byte_sel:1 clamp", number!(8)),
    Example::new("EM9-byte2", "v_cvt_f32_fp8_e64 v0, v1 byte_sel:2 clamp", number!(16)),
    Example::new("EM9-byte3", "v_cvt_f32_fp8_e64 v0, v1 byte_sel:3 clamp", number!(24)),
    Example::refused(
        "EM-lanes",
        "v_cvt_pk_fp8_f32_e64_dpp v0, v1, v2 clamp row_shl:1 row_mask:0xf bank_mask:0xf",
        "unsupported: ",
    ),
];
