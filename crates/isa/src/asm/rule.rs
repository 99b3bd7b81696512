//! Rules between operands: what a line must keep to once its form is known.
//!
//! LLVM checks them after it has chosen an instruction and tries no other when one is broken; so do we.

use crate::model::effects::Implicit;
use crate::model::generated::IMAGES;
use crate::model::named::cache::SCALE_OFFSET;
use crate::model::table::{Flags, Image, ImageEncoding, Slot, Source};
use crate::model::{Arch, Code, Inst, Model, OperandValue, Register, RegisterFile, Special, tag};

use super::form::Seen;
use super::operand::is_wide_value;
use super::{LONGER_FIRST, Standard};

/// An instruction and what its text says beyond its bits.
pub(super) struct Line<'t> {
    pub(super) model: &'t Model,
    pub(super) inst: &'t Inst,
    pub(super) standard: Standard,
    pub(super) seen: Seen,
    /// Of a dual instruction where its registers are.
    pub(super) dual: Option<DualPlaces>,
    /// The name of its second half.
    pub(super) partner: &'static str,
    /// `op_sel`, `op_sel_hi`, `neg_lo`, `neg_hi`, where they are written.
    pub(super) lists: [Option<u8>; 4],
    /// Whether `SELECTED` are written as upper or lower halves.
    pub(super) halves: [Option<bool>; 4],
}

/// The slots of both halves of a dual instruction: destination, then sources by place; `NO_PLACE` for what there
/// is not.
pub(super) type DualPlaces = [[u8; 4]; 2];

const NO_PLACE: u8 = u8::MAX;

/// A rule that a line breaks: the name of the operand at fault, and what it should be.
#[derive(Clone, Copy)]
pub(super) struct Broken {
    pub(super) operand: &'static str,
    pub(super) wanted: &'static str,
}

type Verdict = Result<(), Broken>;

struct Rule {
    /// Any of LLVM's flags makes it apply.
    flags: u64,
    check: fn(&Line<'_>) -> Verdict,
}

const VECTOR: u64 =
    Flags::VOP1 | Flags::VOP2 | Flags::VOPC | Flags::VOP3 | Flags::VOP3P | Flags::SDWA;
const IMAGE: u64 = Flags::MIMG | Flags::VIMAGE | Flags::VSAMPLE;
const SCALABLE: u64 = Flags::SMRD | Flags::FLAT | Flags::MUBUF | Flags::MTBUF | IMAGE;
const MEMORY: u64 = Flags::FLAT | Flags::MUBUF | Flags::MTBUF | Flags::MIMG | Flags::DS;

const RULES: [Rule; 23] = [
    Rule { flags: Flags::VALU, check: lds_direct },
    Rule { flags: VECTOR, check: halves_as_op_sel },
    Rule { flags: Flags::VALU, check: scalar_values },
    Rule { flags: Flags::VALU, check: register_banks },
    Rule { flags: VECTOR, check: op_sel },
    Rule { flags: Flags::DPP, check: dpp_control },
    Rule { flags: Flags::DPP, check: dpp_second_source },
    Rule { flags: Flags::SDWA, check: relative_source },
    Rule { flags: Flags::SDWA, check: whole_sum },
    Rule { flags: IMAGE, check: image_dimension },
    Rule { flags: IMAGE, check: image_data },
    Rule { flags: IMAGE, check: image_address },
    Rule { flags: IMAGE, check: image_mask },
    Rule { flags: Flags::MAI, check: accumulator_write },
    Rule { flags: Flags::MAI, check: matrix_addend },
    Rule { flags: MEMORY, check: same_file },
    Rule { flags: u64::MAX, check: even_registers },
    Rule { flags: SCALABLE, check: scaled_offset },
    Rule { flags: Flags::DS, check: global_data_share },
    Rule { flags: Flags::SALU, check: no_counter_register },
    Rule { flags: Flags::SALU, check: barrier_number },
    Rule { flags: Flags::SALU, check: relative_scalar },
    Rule { flags: Flags::VOPD3, check: long_dual },
];

/// Whether a line keeps to all rules.
pub(super) fn check(line: &Line<'_>) -> Verdict {
    let flags = line.inst.flags();
    RULES.iter().filter(|rule| flags.any(rule.flags)).try_for_each(|rule| (rule.check)(line))
}

impl Line<'_> {
    fn arch(&self) -> Arch {
        self.model.arch
    }

    fn is_named(&self, names: &[&str]) -> bool {
        names.contains(&self.inst.mnemonic())
    }

    fn value_of(&self, slot: &'static Slot) -> Option<OperandValue> {
        let vector = self.one_vector_register(slot).map(OperandValue::Register);
        vector.or_else(|| Some(self.model.typed(self.inst, slot)?.value))
    }

    /// What most operands are: a vector register that nothing makes wider.
    fn one_vector_register(&self, slot: &'static Slot) -> Option<Register> {
        let code = self.is_one_register(slot).then(|| self.model.code(self.inst, slot))?;
        one_vector_register(self.model.settled(self.inst, slot, slot.kind(), code))
    }

    /// Whether an operand is one register if it is any, and nothing makes it wider.
    fn is_one_register(&self, slot: &Slot) -> bool {
        let kind = slot.kind();
        let is_number = matches!(
            kind.source,
            Source::Absent | Source::Immediate | Source::ScalarOffset | Source::Literal
        );
        !is_number && kind.dwords == 1 && !self.inst.flags().any(IMAGE)
    }

    /// The vector registers of a slot, and its name.
    fn vector_at(&self, place: u8) -> Option<(&'static str, Register)> {
        let slot = self.inst.slots().get(usize::from(place))?;
        let code = self.model.code(self.inst, slot);
        if !matches!(code.tag(), tag::VGPR | tag::AGPR | tag::HALF) {
            return None;
        }
        let settled = || self.model.settled(self.inst, slot, slot.kind(), code);
        let one = self.is_one_register(slot).then(settled).and_then(one_vector_register);
        let register = one.or_else(|| match self.model.typed(self.inst, slot)?.value {
            OperandValue::Register(register) => Some(register),
            _ => None,
        });
        Some((slot.label().unwrap_or_default(), register.filter(|it| is_vector(*it))?))
    }

    fn value(&self, name: &str) -> Option<OperandValue> {
        self.inst.named(name).and_then(|slot| self.value_of(slot))
    }

    fn register(&self, name: &str) -> Option<Register> {
        match self.value(name) {
            Some(OperandValue::Register(register)) => Some(register),
            _ => None,
        }
    }

    /// Whether a number is there and not zero.
    fn is_set(&self, name: &str) -> bool {
        let is_number = |slot: &&Slot| slot.kind().source == Source::Immediate;
        self.inst.named(name).filter(is_number).is_some_and(|slot| self.inst.value(slot) != 0)
    }
}

fn one_vector_register(code: Code) -> Option<Register> {
    let register =
        Register { file: RegisterFile::Vgpr, first: code.number(), count: 1, half: None };
    (code.tag() == tag::VGPR).then_some(register)
}

fn ensure(holds: bool, operand: &'static str, wanted: &'static str) -> Verdict {
    if holds { Ok(()) } else { Err(Broken { operand, wanted }) }
}

fn is_lds_direct(register: Register) -> bool {
    register.file == RegisterFile::Special(Special::LdsDirect)
}

fn is_vector(register: Register) -> bool {
    matches!(register.file, RegisterFile::Vgpr | RegisterFile::Agpr)
}

fn is_scalar(register: Register) -> bool {
    !is_vector(register) && !is_lds_direct(register)
}

fn is_null(register: Register) -> bool {
    matches!(register.file, RegisterFile::Special(Special::Null | Special::Null64))
}

/// LLVM does not count trap registers here.
fn is_plain_scalar(register: Register) -> bool {
    is_scalar(register) && !is_null(register) && register.file != RegisterFile::Ttmp
}

/// What the elements of `op_sel` are about, as far as an instruction has them.
pub(super) const SELECTED: [&str; 4] = ["src0", "src1", "src2", "vdst"];
/// The sources of an operation.
const SOURCES: [&str; 3] = ["src0", "src1", "src2"];
/// The same of the two operations of a dual instruction, in the order of the text.
const DUAL_SOURCES: [&str; 6] = ["src0X", "vsrc1X", "vsrc2X", "src0Y", "vsrc1Y", "vsrc2Y"];

/// `lds_direct` is read by few instructions, as the first source.
fn lds_direct(line: &Line<'_>) -> Verdict {
    if !line.seen.lds_direct {
        return Ok(());
    }
    let arch = line.arch();
    let all = SOURCES.iter().chain(&DUAL_SOURCES);
    for name in all.filter(|name| line.register(name).is_some_and(is_lds_direct)) {
        let is_reversed = line.inst.mnemonic().contains("rev_") && !line.is_named(&["v_bfrev_b32"]);
        let exists = !arch.has(Arch::GFX90A) && !arch.is_gfx11_plus();
        let may_read = exists && !is_reversed && !line.inst.flags().any(Flags::SDWA);
        ensure(may_read, name, "another register than lds_direct")?;
        ensure(*name == "src0", name, "lds_direct only as the first source")?;
    }
    Ok(())
}

/// `op_sel` must agree with `.l` and `.h`, where both are written.
fn halves_as_op_sel(line: &Line<'_>) -> Verdict {
    let Some(list) = line.lists[0].filter(|list| *list != 0 && line.arch().has(Arch::TRUE16))
    else {
        return Ok(());
    };
    let [.., destination] = line.halves;
    let is_tied = field_of(line, "src2") == field_of(line, "vdst");
    let mut position = 0;
    for (name, half) in SELECTED.into_iter().zip(line.halves) {
        if line.inst.named(name).is_none() {
            continue;
        }
        let half = if name == "src2" && is_tied { destination } else { half };
        let agrees = half.is_none_or(|upper| upper == (list >> position & 1 == 1));
        ensure(agrees, "op_sel", "an op_sel that agrees with .l and .h")?;
        position += 1;
    }
    Ok(())
}

fn field_of(line: &Line<'_>, name: &str) -> Option<u8> {
    line.inst.named(name).map(|slot| slot.field)
}

/// Shifts of 64 bits read one scalar value also where others read two.
const ONE_SCALAR: [&str; 6] =
    ["v_lshlrev_b64", "v_lshrrev_b64", "v_ashrrev_i64", "v_lshl_b64", "v_lshr_b64", "v_ashr_i64"];

/// An instruction reads one scalar value, from gfx10 on two; a literal is one.
fn scalar_values(line: &Line<'_>) -> Verdict {
    let is_dual = line.dual.is_some();
    let applies = line.inst.flags().any(VECTOR) || is_dual;
    if !line.seen.scalar || !applies || writes_lane_by_m0(line) {
        return Ok(());
    }
    let is_wide = || line.inst.slots().first().is_some_and(|slot| slot.kind().dwords == 2);
    let is_limited = !line.arch().is_gfx10_plus() || is_wide() && line.is_named(&ONE_SCALAR);
    let limit = if is_limited { 1 } else { 2 };
    let implicit = line.inst.form().effects().implicit_reads;
    let mut used: Vec<Register> = Vec::new();
    if implicit.has(Implicit::VCC | Implicit::M0 | Implicit::FLAT_SCRATCH) {
        let special = if implicit.has(Implicit::VCC) { Special::Vcc } else { Special::M0 };
        used.push(Register {
            file: RegisterFile::Special(special),
            first: 0,
            count: 1,
            half: None,
        });
    }
    // Literals of different widths are two values.
    let mut literal = line.inst.named("imm").map(|_| 1);
    let mut literals = usize::from(literal.is_some());
    let names: &[&'static str] = if is_dual { &DUAL_SOURCES } else { &SOURCES };
    for slot in line.inst.slots() {
        let is_vector = matches!(slot.kind().source, Source::Vgpr | Source::DualDestination);
        if is_vector || line.one_vector_register(slot).is_some() {
            continue;
        }
        let Some(name) = slot.label().filter(|name| names.contains(name)) else { continue };
        match line.value_of(slot) {
            Some(OperandValue::Register(register)) if is_scalar(register) && !is_null(register) => {
                let is_special = matches!(register.file, RegisterFile::Special(_));
                let count = if is_special { 1 } else { register.count.max(1) };
                let register = Register { count, ..register };
                if !used.contains(&register) {
                    used.push(register);
                }
            }
            Some(OperandValue::Literal32(_) | OperandValue::Literal64(_)) => {
                let width = slot.kind().dwords.max(1);
                literals = if literal.is_some_and(|other| other != width) { 2 } else { 1 };
                literal = Some(width);
            }
            _ => {}
        }
        ensure(used.len() + literals <= limit, name, "fewer scalar values in one instruction")?;
    }
    Ok(())
}

/// The lane that M0 chooses is no scalar value that counts.
fn writes_lane_by_m0(line: &Line<'_>) -> bool {
    let is_m0 = |register: Register| register.file == RegisterFile::Special(Special::M0);
    !line.arch().is_gfx10_plus()
        && line.is_named(&["v_writelane_b32"])
        && line.register("src1").is_some_and(is_m0)
}

/// Where the registers of a dual instruction are.
pub(super) fn dual_places(blank: &Inst) -> Option<DualPlaces> {
    let mut places = [[NO_PLACE; 4]; 2];
    let (mut half, mut place) = (0, 1);
    for (slot, number) in blank.slots().iter().zip(0..) {
        let at = match slot.label().unwrap_or_default() {
            "vdstX" => (0, 0),
            "vdstY" => (1, 0),
            name if name.ends_with("_modifiers") => continue,
            name => {
                if name == "src0Y" {
                    (half, place) = (1, 1);
                }
                place += 1;
                (half, place - 1)
            }
        };
        if let Some(to) = places.get_mut(at.0).and_then(|half| half.get_mut(at.1)) {
            *to = number;
        }
    }
    (blank.slots().first().and_then(Slot::label) == Some("vdstX")).then_some(places)
}

/// Both halves of a dual instruction read at once, each place from banks of its own.
fn register_banks(line: &Line<'_>) -> Verdict {
    let Some([first, second]) = line.dual else { return Ok(()) };
    let arch = line.arch();
    let is_long = line.inst.flags().any(Flags::VOPD3);
    let [[_, _, x, _], [_, _, y, _]] = [first, second];
    // LLVM 22 lets one register be read twice on gfx1250 only; compilers make such code for all of gfx12.
    let reads_twice = match line.standard {
        Standard::Own => arch.is_gfx12_plus(),
        Standard::Llvm => arch.has(Arch::GFX1250),
    };
    let both_move = arch.is_gfx12_plus() && x == NO_PLACE && y == NO_PLACE;
    let masks = [1, 3, 3, if is_long { 3 } else { 1 }];
    for (place, ((x, y), mask)) in first.into_iter().zip(second).zip(masks).enumerate() {
        let (Some((_, x)), Some((name, y))) = (line.vector_at(x), line.vector_at(y)) else {
            continue;
        };
        if place == 0 {
            ensure(!x.overlaps(&y), name, "another destination than the first half's")?;
        } else if both_move || reads_twice && x == y {
            continue;
        }
        let may_share = place == 0 && is_long;
        let differ = may_share || !banks_meet(x, y, mask);
        ensure(differ, name, "a register of another bank than in the first half")?;
    }
    Ok(())
}

fn banks_meet(x: Register, y: Register, mask: u16) -> bool {
    let banks = |register: Register| {
        (0..register.count.clamp(1, 2)).map(move |at| register.first + u16::from(at))
    };
    banks(x).any(|x| banks(y).any(|y| x & mask == y & mask))
}

/// Instructions that have a list of halves and read only some.
fn op_sel(line: &Line<'_>) -> Verdict {
    let [op_sel, op_sel_hi, ..] = line.lists;
    let (arch, flags) = (line.arch(), line.inst.flags());
    if op_sel.is_none() && op_sel_hi.is_none() && !flags.any(Flags::VOP3P) {
        return Ok(());
    }
    let bits = op_sel.unwrap_or(0);
    let name = line.inst.mnemonic();
    if name.starts_with("v_permlane16_") || name.starts_with("v_permlanex16_") {
        ensure(bits & !3 == 0, "op_sel", "an op_sel of two elements at most")?;
    }
    if flags.any(Flags::DOT) && arch.has(Arch::GFX940) {
        ensure(bits == 0, "op_sel", "no op_sel here")?;
        ensure(op_sel_hi.is_none(), "op_sel_hi", "no op_sel_hi here")?;
    }
    if flags.any(Flags::DOT) && flags.any(Flags::VOP3) && !flags.any(Flags::VOP3P) {
        ensure(!arch.is_gfx11_plus() || bits & 3 == 0, "op_sel", "an op_sel that starts with 0,0")?;
    }
    let is_packed_single = line.is_named(&["v_pk_add_f32", "v_pk_mul_f32", "v_pk_fma_f32"]);
    if is_packed_single && arch.is_gfx12_plus() {
        for (position, name) in SOURCES.iter().enumerate() {
            let selected = (bits | op_sel_hi.unwrap_or(u8::MAX)) >> position & 1 == 1;
            let reads_scalar = line.register(name).is_some_and(is_plain_scalar);
            ensure(!(selected && reads_scalar), name, "a scalar with op_sel and op_sel_hi 0")?;
        }
    }
    Ok(())
}

/// DPP moves double precision by few of its controls.
fn dpp_control(line: &Line<'_>) -> Verdict {
    let Some(control) = line.inst.operand("dpp_ctrl") else { return Ok(()) };
    let holds = (0x150..=0x15f).contains(&control) || !line.model.is_dp_alu(line.inst);
    ensure(holds, "dpp_ctrl", "row_newbcast, from gfx12 on row_share")
}

fn dpp_second_source(line: &Line<'_>) -> Verdict {
    if line.arch().has(Arch::DPP_SRC1_SGPR) {
        return Ok(());
    }
    let is_vector = match line.value("src1") {
        Some(OperandValue::Register(register)) => !is_scalar(register),
        value => value.is_none(),
    };
    ensure(is_vector, "src1", "a vector register")
}

/// Moves relative to M0 read vector registers, also in their SDWA forms.
fn relative_source(line: &Line<'_>) -> Verdict {
    let is_relative = line.inst.mnemonic().starts_with("v_movrels");
    let reads_vector = line.register("src0").is_some_and(is_vector);
    ensure(!is_relative || reads_vector, "src0", "a vector register")
}

/// How many samples a texel has is known to some dimensions only.
fn image_dimension(line: &Line<'_>) -> Verdict {
    const SEVERAL_SAMPLES: [u64; 2] = [6, 7];
    let image = IMAGES.get(usize::from(line.inst.shape().image).wrapping_sub(1));
    let is_msaa = image.is_some_and(|image| image.flags & Image::MSAA != 0);
    let has_samples = line.inst.operand("dim").is_none_or(|dim| SEVERAL_SAMPLES.contains(&dim));
    ensure(!is_msaa || has_samples, "dim", "a dimension with MSAA")
}

/// The data is as wide as the mask, `d16` and `tfe` ask.
fn image_data(line: &Line<'_>) -> Verdict {
    let (Some(slot), Some(_)) = (line.inst.named("vdata"), line.inst.named("dmask")) else {
        return Ok(());
    };
    let is_written = line.model.operand_dwords(line.inst, slot, slot.kind());
    let is_asked = line.model.data_dwords(line.inst);
    ensure(is_written == is_asked, "vdata", "as many registers as dmask, d16 and tfe ask for")
}

/// From gfx10 on the address is as wide as the dimension and `a16` ask.
fn image_address(line: &Line<'_>) -> Verdict {
    let image = IMAGES.get(usize::from(line.inst.shape().image).wrapping_sub(1));
    let (Some(image), Some(slot)) = (image, line.inst.named("vaddr0")) else { return Ok(()) };
    let is_one_operand = image.encoding == ImageEncoding::Plain;
    let asked = line.model.address_dwords(line.inst, image);
    let is_as_asked = asked.filter(|_| image.flags & Image::BVH == 0).is_none_or(|asked| {
        if !is_one_operand {
            return asked == written_address(line);
        }
        let written = line.model.operand_dwords(line.inst, slot, slot.kind());
        // Eight may stand for fewer, and there are none between twelve and sixteen.
        written == asked || written == 8 && asked >= 5 || written == 16 && asked > 12
    });
    ensure(is_as_asked, "vaddr0", "as many registers as dim and a16 ask for")
}

/// How many words of address stand in registers of their own, and in those that follow the last.
fn written_address(line: &Line<'_>) -> u8 {
    let slots = line.inst.slots().iter().filter(|slot| slot.is_named_like("vaddr"));
    let words = slots.map(|slot| line.model.operand_dwords(line.inst, slot, slot.kind()).max(1));
    line.model.separate_addresses(line.inst).unwrap_or_else(|| words.sum())
}

/// Gathers read one component; atomics have one, two or four.
fn image_mask(line: &Line<'_>) -> Verdict {
    let Some(mask) = line.inst.operand("dmask").map(|mask| mask & 15) else { return Ok(()) };
    let flags = line.inst.flags();
    if flags.any(Flags::GATHER4) {
        ensure(mask.count_ones() == 1, "dmask", "a dmask of one bit")?;
    }
    let is_atomic = flags.has(Flags::MAY_LOAD | Flags::MAY_STORE);
    ensure(!is_atomic || matches!(mask, 1 | 3 | 15), "dmask", "a dmask of 0x1, 0x3 or 0xf")
}

fn accumulator_write(line: &Line<'_>) -> Verdict {
    let is_limited = !line.arch().has(Arch::GFX90A) && line.is_named(&["v_accvgpr_write_b32"]);
    let reads_scalar = line.register("src0").is_some_and(is_scalar);
    ensure(!is_limited || !reads_scalar, "src0", "a vector register or a constant")
}

/// What a matrix product is added to: its destination, or registers apart from it.
fn matrix_addend(line: &Line<'_>) -> Verdict {
    let Some(value) = line.value("src2") else { return Ok(()) };
    let OperandValue::Register(addend) = value else {
        return ensure(!line.arch().has(Arch::MFMA_INLINE_BUG), "src2", "a register");
    };
    let Some(destination) = line.register("vdst") else { return Ok(()) };
    let is_apart =
        destination.count <= 4 || addend == destination || !addend.overlaps(&destination);
    ensure(is_apart, "src2", "the destination, or registers apart from it")
}

/// Data that is loaded and stored is in registers of one file; before gfx90a only vector registers will do.
fn same_file(line: &Line<'_>) -> Verdict {
    let is_accumulator =
        |name| line.register(name).map(|register| register.file == RegisterFile::Agpr);
    let data = if line.inst.flags().any(Flags::DS) { "data0" } else { "vdata" };
    let files = [data, "data1", "vdst"].map(|name| (name, is_accumulator(name)));
    if !line.arch().has(Arch::GFX90A) {
        let wrong = files.into_iter().find(|(_, accumulates)| *accumulates == Some(true));
        return wrong.map_or(Ok(()), |(name, _)| ensure(false, name, "a vector register"));
    }
    let mut found = files.into_iter().filter_map(|(name, file)| Some((name, file?)));
    let Some((_, first)) = found.next() else { return Ok(()) };
    let other = found.find(|(_, file)| *file != first);
    other.map_or(Ok(()), |(name, _)| {
        ensure(false, name, "a register of the same file as the others")
    })
}

/// Instructions whose tuples of registers may start anywhere.
const UNALIGNED: [&str; 3] = ["ds_read_b96_tr_b6", "ds_load_tr6_b96", "global_load_tr6_b96"];

/// From gfx90a on tuples of vector registers start at even ones.
fn even_registers(line: &Line<'_>) -> Verdict {
    let flags = line.inst.flags();
    let is_unaligned = || flags.any(Flags::DS | Flags::FLAT) && line.is_named(&UNALIGNED);
    if !line.arch().has(Arch::ALIGNED_VGPRS) || is_unaligned() {
        return Ok(());
    }
    let is_image = flags.any(IMAGE);
    if !line.seen.tuple && !is_image {
        return Ok(());
    }
    // Of what is one register wide only images make more.
    for slot in line.inst.slots().iter().filter(|slot| is_image || slot.kind().dwords != 1) {
        if let Some(OperandValue::Register(register)) = line.value_of(slot) {
            let is_even = !is_vector(register) || register.count < 2 || register.first % 2 == 0;
            ensure(is_even, slot.label().unwrap_or_default(), "registers from an even one on")?;
        }
    }
    Ok(())
}

/// Only scalar loads that are not of buffers, and vector addresses of 32 bits, are counted in elements.
fn scaled_offset(line: &Line<'_>) -> Verdict {
    let (flags, has) = (line.inst.flags(), |name| line.inst.named(name).is_some());
    let is_scaled =
        line.inst.operand("cpol").is_some_and(|policy| policy & u64::from(SCALE_OFFSET) != 0);
    let may_scale = if flags.any(Flags::SMRD) {
        !line.inst.mnemonic().starts_with("s_buffer_")
    } else {
        let is_scratch = flags.any(Flags::FLAT_SCRATCH);
        has("vaddr") && (is_scratch || flags.any(Flags::FLAT) && has("saddr"))
    };
    ensure(may_scale || !is_scaled, "cpol", "no scale_offset in this form")
}

/// Not all processors have a global data share; gfx90a wants even registers for its semaphores.
fn global_data_share(line: &Line<'_>) -> Verdict {
    let (arch, flags) = (line.arch(), line.inst.flags());
    if !flags.any(Flags::GWS) {
        return ensure(
            arch.has(Arch::GDS) || !line.is_set("gds"),
            "gds",
            "no gds on this processor",
        );
    }
    let is_odd = line.register("data0").is_some_and(|register| register.first % 2 == 1);
    ensure(!(is_odd && arch.has(Arch::GFX90A)), "data0", "an even register")
}

/// From gfx11 on a wait for one counter has no register to compare with.
fn no_counter_register(line: &Line<'_>) -> Verdict {
    const WAITS: [&str; 4] =
        ["s_waitcnt_vscnt", "s_waitcnt_vmcnt", "s_waitcnt_expcnt", "s_waitcnt_lgkmcnt"];
    let has_register = || line.register("sdst").is_some_and(|register| !is_null(register));
    let is_wait = line.arch().is_gfx11_plus() && line.is_named(&WAITS);
    ensure(!is_wait || !has_register(), "sdst", "`null`")
}

/// What is added to is read whole, and so written whole.
fn whole_sum(line: &Line<'_>) -> Verdict {
    const DWORD: u64 = 6;
    let adds = line.is_named(&["v_mac_f32", "v_mac_f16"]);
    let is_whole = line.inst.operand("dst_sel").is_none_or(|part| part == DWORD);
    ensure(!adds || is_whole, "dst_sel", "dst_sel:DWORD")
}

/// Barriers have a number, or M0 says which.
fn barrier_number(line: &Line<'_>) -> Verdict {
    let is_barrier = line.arch().is_gfx12_plus() && line.inst.mnemonic().contains("barrier");
    ensure(!is_barrier || line.register("src0").is_none(), "src0", "`m0` or a constant")
}

/// What is read by way of M0, or as a number of one, is a register that others follow.
fn relative_scalar(line: &Line<'_>) -> Verdict {
    let is_relative = line.is_named(&["s_movrels_b32", "s_movrels_b64", "s_cbranch_join"]);
    let is_limit = |register: Register| matches!(register.file, RegisterFile::Special(special) if is_wide_value(special.name()));
    let reads_limit = is_relative && line.register("src0").is_some_and(is_limit);
    ensure(!reads_limit, "src0", "a register that others follow")
}

/// The longer form of a dual instruction has no products of floats that are constants, and no negative constants behind a move; LLVM
/// mixes up the banks of one of the products.
fn long_dual(line: &Line<'_>) -> Verdict {
    for (name, source) in [(line.inst.mnemonic(), "src0X"), (line.partner, "src0Y")] {
        let value = line.inst.named(source).map_or(0, |slot| line.inst.value(slot));
        let is_float = name.starts_with("v_dual_dot2acc_") && (240..=248).contains(&value);
        ensure(!is_float, source, "a register or an integer")?;
        let is_mixed_up = name == LONGER_FIRST && line.standard == Standard::Llvm;
        ensure(!is_mixed_up, source, "another operation")?;
    }
    let is_negative = line.inst.operand("src0Y_modifiers").is_some_and(|it| it != 0)
        && line.register("src0Y").is_none();
    let is_read = line.is_named(&["v_dual_mov_b32"]) && is_negative;
    ensure(!is_read, "src0Y", "a register, or a constant without a sign")
}
