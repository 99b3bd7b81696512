//! Hazards: pairs of instructions that hardware does not keep apart, and how far apart they must stand.
//!
//! A [`Hazard`] is a row of the table of a generation: what the first instruction is, what the second, which registers
//! they share, and how much must stand between. [`Hazards::between`] asks all rows about two instructions. How much stands
//! between is counted in a [`Unit`], and [`Hazard::passage`] says what one instruction in between adds to it:
//!
//! ```
//! use hsaco_isa::model::VgprMsb;
//! use hsaco_isa::{Assembler, Processor};
//! let assembler = Assembler::new(Processor::from_name("gfx942").unwrap(), Default::default())?;
//! let [first, second] = ["v_readfirstlane_b32 s0, v0", "buffer_load_dword v1, off, s[4:7], s0"]
//!     .map(|line| assembler.assemble(line).unwrap());
//! let decoder = assembler.decoder();
//! let [first, second] = [&first, &second].map(|it| decoder.effects(it, VgprMsb::default()));
//! let demand = decoder.hazards().between(&first, &second).next().unwrap();
//! assert_eq!((demand.hazard.name, demand.needed), ("valu-sgpr-vmem", 5));
//! assert_eq!(demand.register.unwrap().to_string(), "s0");
//! # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
//! ```
//!
//! Rows are those that LLVM's GCNHazardRecognizer.cpp works around for the processor, with the distances of AMD's ISA
//! manuals; what it assumes beyond them to be safe is left out. `s_delay_alu` is about speed alone and is no row.

mod kind;
mod table;

use self::table::{
    GFX9, GFX11_TRANS, GFX90A, GFX90A_MATRIX, GFX940, GFX942, GFX950, GFX1250, VCMPX_PERMLANE, WMMA,
};
use super::Effects;
use crate::model::{Arch, Register, RegisterFile, Special};

pub use self::kind::Kinds;

/// In what the distance between two instructions is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Instructions of any kind; `s_nop N` counts for `N + 1`.
    WaitStates,
    /// Vector computations; `v_nop` is one.
    Computations,
    /// Vector computations other than `v_nop`, which is dropped before it gets that far.
    RealComputations,
}

impl Unit {
    /// What is counted, for messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Unit::WaitStates => "wait states",
            Unit::Computations => "vector instructions",
            Unit::RealComputations => "vector instructions other than v_nop",
        }
    }
}

/// The registers that the two instructions of a hazard share.
#[derive(Clone, Copy)]
enum Shared {
    /// The first writes a scalar register, or VCC, that the second names.
    Scalar,
    /// The same, but that the second takes it as a constant, not as a carry or as the mask of a choice.
    ScalarConstant,
    /// The first writes a vector register that the second reads.
    VectorRead,
    /// The same, but that the second reads it from other lanes: the first source of DPP.
    MovedLanes,
    /// The first writes a vector register that the second writes.
    VectorWrite,
    /// The same, but that the second takes another operation, or not as what it adds to.
    VectorReadByOther,
    /// The first writes a vector register that the second, another operation, writes.
    VectorWriteByOther,
    /// The first reads a vector register that the second writes.
    SourceWrite,
    /// The first writes a scalar register that the second takes a lane's number from.
    LaneSelect,
    Vcc,
    Exec,
    M0,
    /// The first stores what the second overwrites.
    StoreData,
    HwReg,
    /// The first writes what the second multiplies.
    Factors,
    /// The first writes part of what the second adds to, or more.
    PartOfSum,
    /// The first writes exactly what the second adds to.
    Sum,
    /// The first adds to what the second overwrites.
    SumWrite,
    /// None: the kinds alone matter.
    Nothing,
}

/// How far apart the instructions must stand, from the first's passes through the matrix pipeline.
#[derive(Clone, Copy)]
enum Needed {
    Fixed(u8),
    /// Passes and so many more.
    PassesAnd(i8),
    /// The same, and one more unless there are two.
    PassesAndLonger(i8),
    /// One number for 4 passes, another for longer ones.
    Double(u8, u8),
    /// Only where there are two passes.
    TwoPasses(u8),
    /// By the kind of matrix product of gfx1250: dense and short or long, sparse and short or long.
    ByCategory([u8; 4]),
}

/// Two kinds of instructions that must not follow each other closely.
pub struct Hazard {
    /// A name that programs may rely on.
    pub name: &'static str,
    /// What goes wrong.
    pub what: &'static str,
    /// Where the number comes from.
    pub source: &'static str,
    /// In what distance is counted.
    pub unit: Unit,
    first: Kinds,
    second: Kinds,
    not_first: Kinds,
    not_second: Kinds,
    shared: Shared,
    needed: Needed,
    ends: Ends,
    doubt: Option<Doubt>,
}

/// What may keep the two instructions of a hazard apart although too little stands between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Doubt {
    /// A matrix instruction between them, which waits for the matrix instruction before it: how long is not told.
    Matrix,
    /// The hardware, which holds a wave back after instructions of several cycles, unless `DISABLE_XDL_ARB_STALL` of
    /// `SCHED_MODE` is set: manuals demand the distance and say this as well.
    Mode,
    /// The hardware, which may hold a wave back by itself: manuals demand the distance, and kernels that ship have less,
    /// between these two or between others of their kind.
    Shipped,
    /// `s_setvskip`, which may have one of the two passed over.
    Skip,
}

impl Doubt {
    /// The same for messages: what follows "unless".
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Doubt::Matrix => "the matrix instructions between them take long enough",
            Doubt::Mode => {
                "the hardware holds the wave back, as it may while SCHED_MODE bit 2 is 0"
            }
            Doubt::Shipped => "the hardware waits by itself, as shipped kernels suggest",
            Doubt::Skip => "s_setvskip has one of the two passed over",
        }
    }
}

impl std::fmt::Debug for Hazard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// What ends a hazard whatever the distance.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    Distance,
    /// What makes the hardware wait for vector results: memory accesses, exports, `s_waitcnt_depctr` with `va_vdst` 0;
    /// and the second of two transcendental instructions.
    VectorResults,
}

/// What an instruction between the two adds to their distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// So much.
    Adds(u8),
    /// It ends the hazard.
    Ends,
}

/// What two instructions demand.
#[derive(Clone, Copy, Debug)]
pub struct Demand {
    /// Which hazard it is.
    pub hazard: &'static Hazard,
    /// How much must stand between them, in the hazard's unit.
    pub needed: u8,
    /// The register that they share.
    pub register: Option<Register>,
}

impl Demand {
    /// The registers that the first instruction leaves to the second, for those between them to overwrite; none where the
    /// two share no register.
    #[must_use]
    pub fn left_by(&self, first: &Effects<'_>) -> Option<LeftRegisters> {
        let shared = self.register?;
        let written = first.writes().filter(|it| it.overlaps(&shared));
        let mut left: Vec<Register> = written.flat_map(|it| it.common(&shared)).collect();
        if left.is_empty() {
            // The first one reads what the second writes.
            left.extend(shared.common(&shared));
        }
        Some(LeftRegisters(left))
    }
}

/// What nothing has overwritten yet of the registers that two instructions share.
#[derive(Debug)]
pub struct LeftRegisters(Vec<Register>);

impl LeftRegisters {
    /// An instruction between the two writes its results.
    pub fn overwrite(&mut self, between: &Effects<'_>) {
        self.0.retain(|left| !between.writes().any(|it| it.covers(left)));
    }

    /// Whether nothing is left: what was written in between is what counts.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Hazard {
    /// What an instruction between the two adds to their distance.
    #[must_use]
    pub fn passage(&self, kinds: Kinds, effects: &Effects<'_>) -> Passage {
        let waits = Kinds::VMEM.and(Kinds::DS).and(Kinds::EXP).and(Kinds::WAITS_FOR_VALU);
        if self.ends == Ends::VectorResults && kinds.any(waits) {
            return Passage::Ends;
        }
        let counts = match self.unit {
            Unit::WaitStates => return Passage::Adds(kinds.wait_states(effects)),
            Unit::Computations => kinds.any(Kinds::VALU),
            Unit::RealComputations => kinds.is_computation(),
        };
        // A transcendental instruction is half of what ends such a hazard: three computations of six.
        let half = self.ends == Ends::VectorResults && kinds.any(Kinds::TRANS);
        Passage::Adds(if half { 3 } else { counts.into() })
    }

    /// What may keep the two apart, from what the instructions between them are.
    #[must_use]
    pub const fn doubt(&self, between: Kinds) -> Option<Doubt> {
        let matrix = Kinds::MFMA.and(Kinds::DGEMM).and(Kinds::XDL);
        if self.first.any(matrix) && between.any(Kinds::MFMA) {
            Some(Doubt::Matrix)
        } else {
            self.doubt
        }
    }

    fn concerns(&self, first: Kinds, second: Kinds) -> bool {
        first.any(self.first)
            && second.any(self.second)
            && !first.any(self.not_first)
            && !second.any(self.not_second)
    }
}

/// The hazards of a processor.
#[derive(Clone, Copy)]
pub struct Hazards {
    arch: Arch,
    tables: [&'static [Hazard]; 4],
}

impl Hazards {
    pub(crate) const fn of(arch: Arch) -> Self {
        let tables: [&'static [Hazard]; 4] = if arch.has(Arch::GFX1250) {
            [GFX1250, VCMPX_PERMLANE, &[], &[]]
        } else if arch.is_gfx11_plus() {
            let trans = if arch.has(Arch::VALU_TRANS_USE) { GFX11_TRANS } else { &[] };
            [WMMA, VCMPX_PERMLANE, trans, &[]]
        } else if arch.is_gfx10_plus() {
            let permlane = if arch.has(Arch::VCMPX_PERMLANE) { VCMPX_PERMLANE } else { &[] };
            [permlane, &[], &[], &[]]
        } else if arch.has(Arch::GFX950) {
            [GFX9, GFX90A, GFX940, GFX950]
        } else if arch.has(Arch::GFX940) {
            [GFX9, GFX90A, GFX940, GFX942]
        } else if arch.has(Arch::GFX90A) {
            [GFX9, GFX90A, GFX90A_MATRIX, &[]]
        } else if arch.is_gfx9_plus() {
            [GFX9, &[], &[], &[]]
        } else {
            [&[]; 4]
        };
        Hazards { arch, tables }
    }

    /// All rows.
    pub fn rows(&self) -> impl Iterator<Item = &'static Hazard> + use<> {
        self.tables.into_iter().flatten()
    }

    /// The kinds of instructions that may be the first of a hazard.
    #[must_use]
    pub fn firsts(&self) -> Kinds {
        self.rows().fold(Kinds::NONE, |kinds, row| kinds.and(row.first))
    }

    /// What to look for before an instruction of some kinds, where only such instructions stand.
    #[must_use]
    pub fn outlook(&self, present: Kinds, second: Kinds) -> Outlook {
        let rows = self.rows().filter(|row| present.any(row.first) && second.any(row.second));
        rows.filter(|row| !second.any(row.not_second)).fold(Outlook::default(), |outlook, row| {
            let reach = |unit: bool, before: u8| if unit { before.max(row.most()) } else { before };
            let in_states = row.unit == Unit::WaitStates;
            Outlook {
                firsts: outlook.firsts.and(row.first),
                states: reach(in_states, outlook.states),
                computations: reach(!in_states, outlook.computations),
            }
        })
    }

    /// What two instructions demand, the second of which follows the first.
    pub fn between<'e>(
        &self,
        first: &'e Effects<'e>,
        second: &'e Effects<'e>,
    ) -> impl Iterator<Item = Demand> + use<'e> {
        let kinds = (Kinds::of(first), Kinds::of(second));
        self.between_kinds((kinds.0, first), (kinds.1, second))
    }

    /// The same where it is known what they are.
    pub fn between_kinds<'e>(
        &self,
        first: (Kinds, &'e Effects<'e>),
        second: (Kinds, &'e Effects<'e>),
    ) -> impl Iterator<Item = Demand> + use<'e> {
        let arch = self.arch;
        let rows = self.rows().filter(move |row| row.concerns(first.0, second.0));
        rows.filter_map(move |hazard| {
            let register = shared(hazard.shared, first, second)?;
            let needed = hazard.needed.of(arch, first.0, first.1);
            (needed > 0).then_some(Demand { hazard, needed, register })
        })
    }
}

/// What to look for before an instruction, and how far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outlook {
    /// Instructions that may be the first of a hazard.
    pub firsts: Kinds,
    /// How many wait states back.
    pub states: u8,
    /// How many vector computations back, of those that count.
    pub computations: u8,
}

impl Hazard {
    fn most(&self) -> u8 {
        const PASSES: u8 = 16;
        match self.needed {
            Needed::Fixed(needed) | Needed::TwoPasses(needed) | Needed::Double(_, needed) => needed,
            Needed::PassesAnd(more) => PASSES.saturating_add_signed(more),
            Needed::PassesAndLonger(more) => PASSES.saturating_add_signed(more + 1),
            Needed::ByCategory(all) => all.into_iter().max().unwrap_or(0),
        }
    }
}

impl Needed {
    fn of(self, arch: Arch, kinds: Kinds, first: &Effects<'_>) -> u8 {
        let passes = || passes(arch, kinds, first);
        match self {
            Needed::Fixed(needed) => needed,
            Needed::PassesAnd(more) => passes().saturating_add_signed(more),
            Needed::PassesAndLonger(more) => {
                passes().saturating_add_signed(more + i8::from(passes() != 2))
            }
            Needed::Double(short, _) if passes() == 4 => short,
            Needed::Double(_, long) => long,
            Needed::TwoPasses(needed) if passes() == 2 => needed,
            Needed::TwoPasses(_) => 0,
            Needed::ByCategory(needed) => {
                let sparse = kinds.any(Kinds::SWMMAC);
                let at = usize::from(sparse) * 2 + usize::from(is_long_product(first));
                needed.get(at).copied().unwrap_or(0)
            }
        }
    }
}

/// Whether a matrix product of gfx1250 takes 16 cycles instead of 8: integers, and eight-bit floats by formats.
fn is_long_product(first: &Effects<'_>) -> bool {
    let name = first.inst.mnemonic();
    // The formats 0 and 1 have eight bits.
    let is_f8 = |field| first.number(field).is_some_and(|format| format < 2);
    name.ends_with("_iu8")
        || name.ends_with("_f8f6f4") && (is_f8("matrix_a_fmt") || is_f8("matrix_b_fmt"))
}

/// How often a matrix instruction passes through its pipeline, after the manuals and LLVM's SISchedule.td.
fn passes(arch: Arch, kinds: Kinds, first: &Effects<'_>) -> u8 {
    let name = first.inst.mnemonic();
    let is = |part| name.contains(part);
    if kinds.any(Kinds::DGEMM) {
        return match is("_4x4x") {
            true => 4,
            false if arch.has(Arch::GFX950) => 16,
            false => 8,
        };
    }
    if is("_4x4x") {
        return 2;
    }
    let large = is("_32x32x");
    if !arch.has(Arch::GFX940) {
        return if large { 16 } else { 8 };
    }
    let is_f8 = |field| first.number(field).is_some_and(|format| format < 2);
    let is_slow = is("b_") && (is("_2b_") || is("_4b_"))
        || !kinds.any(Kinds::XDL)
        || name.ends_with("f8f6f4") && (is_f8("cbsz") || is_f8("blgp"));
    match (large, is_slow) {
        (true, true) => 16,
        (true, false) | (false, true) => 8,
        (false, false) => 4,
    }
}

/// Whether two instructions share registers as a row asks, and which.
fn shared(
    shared: Shared,
    (first_kinds, first): (Kinds, &Effects<'_>),
    (second_kinds, second): (Kinds, &Effects<'_>),
) -> Option<Option<Register>> {
    let writes = |first: &Effects<'_>, second: Register| {
        let written = first.writes().find(|it| it.overlaps(&second))?;
        Some(Some(Register { half: second.half.or(written.half), ..second }))
    };
    match shared {
        Shared::Nothing => Some(None),
        Shared::Scalar => {
            second.reads().filter(is_named_scalar).find_map(|read| writes(first, read))
        }
        Shared::ScalarConstant => {
            let mut constants = constants(second).filter(is_named_scalar);
            constants.find_map(|constant| writes(first, constant))
        }
        Shared::VectorRead => second.reads().filter(is_vector).find_map(|read| writes(first, read)),
        Shared::MovedLanes => writes(first, second.operand("src0").filter(is_vector)?),
        Shared::VectorWrite => {
            second.writes().filter(is_vector).find_map(|written| writes(first, written))
        }
        Shared::VectorReadByOther => {
            let sum = second.operand("src2").filter(|_| is_same_operation(first, second));
            let mut read = second.reads().filter(is_vector).filter(|it| Some(*it) != sum);
            read.find_map(|read| writes(first, read))
        }
        Shared::VectorWriteByOther => {
            let mut written = second.writes().filter(is_vector);
            let found = written.find_map(|written| writes(first, written));
            found.filter(|_| !is_same_operation(first, second))
        }
        Shared::SourceWrite => {
            let is_read = |it: &Register| first.reads().any(|read| read.overlaps(it));
            second.writes().filter(is_vector).find(is_read).map(Some)
        }
        Shared::LaneSelect => writes(first, second.operand("src1").filter(|it| !is_vector(it))?),
        Shared::Vcc => {
            let is_written = first.writes().any(|it| is_part(&it, [Special::Vcc, Special::VccLo]));
            let read = second.reads().find(|it| is_part(it, [Special::Vcc, Special::VccLo]))?;
            is_written.then_some(Some(read))
        }
        Shared::Exec => {
            let exec = [Special::Exec, Special::ExecLo];
            first.writes().find(|it| is_part(it, exec)).map(Some)
        }
        Shared::M0 => {
            let m0 = [Special::M0, Special::M0];
            let is_read = second.reads().any(|it| is_part(&it, m0));
            first.writes().find(|it| is_read && is_part(it, m0)).map(Some)
        }
        Shared::StoreData => {
            let data = first.operand("vdata")?;
            second.writes().filter(is_vector).find(|it| it.overlaps(&data)).map(Some)
        }
        Shared::HwReg => {
            let of = |it: &Effects<'_>| it.inst.hwreg_field().map(|field| field.register);
            (of(first).is_some() && of(first) == of(second)).then_some(None)
        }
        Shared::Factors => {
            let names: &[&str] = match second_kinds.any(Kinds::SWMMAC) {
                true => &["src0", "src1", "src2"],
                false => &["src0", "src1", "idx"],
            };
            let mut factors = names.iter().filter_map(|name| second.operand(name));
            factors.find_map(|factor| writes(first, factor).filter(|_| is_vector(&factor)))
        }
        Shared::Sum | Shared::PartOfSum => {
            let (result, sum) = (first.operand("vdst")?, sum_of(second_kinds, second)?);
            let is_same = result == sum;
            let wants_same = matches!(shared, Shared::Sum);
            (result.overlaps(&sum) && is_same == wants_same).then_some(Some(sum))
        }
        Shared::SumWrite => {
            let sum = sum_of(first_kinds, first)?;
            second.writes().filter(is_vector).find(|it| it.overlaps(&sum)).map(Some)
        }
    }
}

/// The sources of a vector instruction that are no carry, nor the mask of a choice.
fn constants(effects: &Effects<'_>) -> impl Iterator<Item = Register> {
    const WITH_CARRY: [&str; 4] = ["v_cndmask_", "v_addc_", "v_subb_", "v_subbrev_"];
    let name = effects.inst.mnemonic();
    let has_carry = WITH_CARRY.iter().any(|carry| name.starts_with(carry));
    let sources =
        ["src0", "src1", "src2"].into_iter().filter(move |source| !has_carry || *source != "src2");
    sources.filter_map(|source| effects.operand(source))
}

fn is_same_operation(first: &Effects<'_>, second: &Effects<'_>) -> bool {
    first.inst.mnemonic() == second.inst.mnemonic()
}

/// The registers that a matrix instruction adds to.
fn sum_of(kinds: Kinds, effects: &Effects<'_>) -> Option<Register> {
    let name = if kinds.any(Kinds::SWMMAC) { "srcTiedDef" } else { "src2" };
    effects.operand(name)
}

impl Effects<'_> {
    /// The register that an operand is.
    fn operand(&self, name: &str) -> Option<Register> {
        let slot = self.inst.named(name)?;
        let at = self.inst.slots().iter().position(|it| std::ptr::eq(it, slot))?;
        let is_used = (self.read_slots() | self.form.writes) >> at & 1 == 1;
        self.slot_register(at as u32).filter(|_| is_used)
    }
}

fn is_vector(register: &Register) -> bool {
    matches!(register.file, RegisterFile::Vgpr | RegisterFile::Agpr)
}

/// Scalar registers that operands name: hardware takes care of EXEC and of what has no number.
fn is_named_scalar(register: &Register) -> bool {
    let vcc = [Special::Vcc, Special::VccLo];
    matches!(register.file, RegisterFile::Sgpr | RegisterFile::Ttmp) || is_part(register, vcc)
}

/// Whether a register is one of two special ones, or the upper half of the first.
fn is_part(register: &Register, [whole, low]: [Special; 2]) -> bool {
    let high = match whole {
        Special::Vcc => Special::VccHi,
        Special::Exec => Special::ExecHi,
        other => other,
    };
    matches!(register.file, RegisterFile::Special(it) if it == whole || it == low || it == high)
}

#[cfg(test)]
mod tests {
    use crate::decoder::DecodeOptions;
    use crate::model::VgprMsb;
    use crate::{Assembler, Processor};

    /// What two lines demand: the hazards' names and how much.
    fn demands(processor: &str, first: &str, second: &str) -> String {
        let processor = Processor::from_name(processor).unwrap();
        let assembler = Assembler::new(processor, DecodeOptions::default()).unwrap();
        let [first, second] = [first, second].map(|line| assembler.assemble(line).unwrap());
        let decoder = assembler.decoder();
        let first = decoder.effects(&first, VgprMsb::default());
        let second = decoder.effects(&second, VgprMsb::default());
        let demands = decoder.hazards().between(&first, &second);
        let demands = demands.map(|it| format!("{} {}", it.hazard.name, it.needed));
        demands.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn scalar_results_of_vector_instructions() {
        let lane = "v_readfirstlane_b32 s0, v0";
        assert_eq!(demands("gfx90a", lane, "v_readlane_b32 s1, v1, s0"), "sgpr-lane-select 4");
        let compare = "v_cmp_eq_u32_e32 vcc, v0, v1";
        assert_eq!(demands("gfx90a", compare, "v_div_fmas_f32 v0, v1, v2, v3"), "vcc-div-fmas 4");
        let select = "v_cndmask_b32_e32 v0, v1, v2, vcc";
        assert_eq!(demands("gfx90a", compare, select), "");
        // The mask of a choice is no constant.
        assert_eq!(demands("gfx942", compare, select), "");
        let constant = "v_mov_b32_e32 v0, vcc_lo";
        assert_eq!(demands("gfx942", compare, constant), "valu-sgpr-valu 2");
        let [compare, select] = [compare, select].map(|line| line.replace("vcc", "vcc_lo"));
        assert_eq!(demands("gfx1100", &compare, &select), "");
    }

    /// Whether a line between two others leaves nothing of what they share.
    fn is_overwritten(processor: &str, lines: [&str; 3]) -> bool {
        let processor = Processor::from_name(processor).unwrap();
        let assembler = Assembler::new(processor, DecodeOptions::default()).unwrap();
        let insts = lines.map(|line| assembler.assemble(line).unwrap());
        let decoder = assembler.decoder();
        let [first, between, second] =
            insts.each_ref().map(|inst| decoder.effects(inst, VgprMsb::default()));
        let demand = decoder.hazards().between(&first, &second).next().unwrap();
        let mut left = demand.left_by(&first).unwrap();
        left.overwrite(&between);
        left.is_empty()
    }

    #[test]
    fn a_part_that_is_written_in_between_leaves_the_rest() {
        let store = "global_store_dword v1, v0, s[6:7]";
        let first = "v_readfirstlane_b32 s6, v2";
        for (between, is_all) in [
            ("v_readfirstlane_b32 s7, v3", false),
            ("s_mov_b32 s7, 0", false),
            ("s_mov_b32 s6, 0", true),
            ("s_mov_b64 s[6:7], 0", true),
        ] {
            assert_eq!(is_overwritten("gfx942", [first, between, store]), is_all, "{between}");
        }
        let compare = "v_cmp_eq_u32_e64 s[6:7], v0, v1";
        assert!(!is_overwritten("gfx942", [compare, "s_mov_b32 s6, 0", store]));
        let product = "v_mfma_f32_4x4x4_16b_f16 v[0:3], v[4:5], v[6:7], v[0:3]";
        let read = "global_store_dwordx4 v[8:9], v[0:3], off";
        assert!(!is_overwritten("gfx942", [product, "v_mov_b32_e32 v1, 0", read]));
        let one = "global_store_dword v[8:9], v1, off";
        assert!(is_overwritten("gfx942", [product, "v_mov_b32_e32 v1, 0", one]));
    }

    #[test]
    fn matrices_are_written_late() {
        let short = "v_mfma_f32_4x4x4f16 v[0:3], v[4:5], v[6:7], v[0:3]";
        let long = "v_mfma_f32_32x32x8f16 v[0:15], v[16:17], v[18:19], v[0:15]";
        let read = "v_mov_b32_e32 v40, v1";
        let write = "v_mov_b32_e32 v1, v40";
        assert_eq!(demands("gfx90a", short, read), "mfma-read 5");
        assert_eq!(demands("gfx90a", long, read), "mfma-read 19");
        assert_eq!(demands("gfx942", long, read), "mfma-read 11");
        assert_eq!(demands("gfx950", long, read), "mfma-read 12");
        assert_eq!(demands("gfx942", long, write), "mfma-sum-write 7, mfma-write 11");
        assert_eq!(demands("gfx942", long, long), "");
        let other = "v_mfma_f32_32x32x8f16 v[32:47], v[0:1], v[18:19], v[32:47]";
        assert_eq!(demands("gfx942", long, other), "mfma-factor 11");
        // Products of f32 take another way on gfx942, and their sums early.
        let single = "v_mfma_f32_4x4x1f32 v[0:3], v4, v5, v[8:11]";
        let overwrite = "v_mov_b32_e32 v9, v40";
        assert_eq!(demands("gfx90a", single, overwrite), "mfma-sum-write 1");
        assert_eq!(demands("gfx942", single, overwrite), "");
        let part = "v_mfma_f32_16x16x16f16 v[32:35], v[16:17], v[18:19], v[4:7]";
        assert_eq!(demands("gfx942", long, part), "mfma-sum 9");
    }

    #[test]
    fn products_run_beside_others() {
        let wmma = "v_wmma_f32_16x16x32_f16 v[0:7], v[8:15], v[16:23], v[0:7]";
        let again = "v_wmma_f32_16x16x32_f16 v[24:31], v[0:7], v[16:23], v[24:31]";
        assert_eq!(demands("gfx1250", wmma, again), "wmma-factor 5");
        assert_eq!(demands("gfx1250", wmma, "v_mov_b32_e32 v40, v1"), "wmma-read 4");
        assert_eq!(
            demands("gfx1250", "v_exp_f32_e32 v0, v1", "v_mov_b32_e32 v2, v0"),
            "trans-use 1"
        );
        assert_eq!(
            demands("gfx1100", "v_exp_f32_e32 v0, v1", "v_mov_b32_e32 v2, v0"),
            "trans-use 6"
        );
        assert_eq!(demands("gfx1151", "v_exp_f32_e32 v0, v1", "v_mov_b32_e32 v2, v0"), "");
    }

    #[test]
    fn halves_of_a_register_are_not_shared() {
        let low = "v_rcp_f16_e32 v5.l, v12.l";
        assert_eq!(demands("gfx1100", low, "v_rcp_f16_e32 v5.h, v5.h"), "");
        assert_eq!(demands("gfx1100", low, "v_add_f16_e32 v1.l, v5.h, v5.h"), "");
        assert_eq!(demands("gfx1100", low, "v_add_f16_e32 v1.l, v5.l, v5.h"), "trans-use 6");
        assert_eq!(demands("gfx1100", low, "v_mov_b32_e32 v1, v5"), "trans-use 6");
    }
}
