//! What instructions are to hazards.

use std::sync::LazyLock;

use crate::effects::Effects;
use crate::model::effects::Implicit;
use crate::model::table::Flags;
use crate::model::{Form, Half};

/// What an instruction is to hazards, a bit for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Kinds(u32);

macro_rules! kinds {
    ($($name:ident = $bit:literal,)*) => {
        impl Kinds { $(pub(super) const $name: Kinds = Kinds(1 << $bit);)* }
    };
}

kinds! {
    VALU = 0,
    SALU = 1,
    VMEM = 2,
    DS = 3,
    EXP = 4,
    MFMA = 5,
    XDL = 6,
    DGEMM = 7,
    DOT = 8,
    TRANS = 9,
    DPP = 10,
    DIV_FMAS = 11,
    RW_LANE = 12,
    READ_LANE = 13,
    PERMLANE = 14,
    VCMPX = 15,
    SETREG = 16,
    GETREG = 17,
    READS_M0 = 18,
    WIDE_STORE = 19,
    WMMA = 20,
    FMA_F64 = 21,
    V_NOP = 22,
    PERMLANE_SWAP = 23,
    WRITE_HIGH = 24,
    WAITS_FOR_VALU = 25,
    S_NOP = 26,
    SWMMAC = 27,
    LANE_WRITE = 28,
    WRITES_SCALAR = 29,
}

impl Kinds {
    pub(super) const NONE: Kinds = Kinds(0);

    /// Whether any is among others.
    #[must_use]
    #[inline]
    pub const fn any(self, other: Kinds) -> bool {
        self.0 & other.0 != 0
    }

    /// These and others.
    #[must_use]
    pub const fn and(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }

    /// What an instruction is.
    #[must_use]
    #[inline]
    pub fn of(effects: &Effects<'_>) -> Kinds {
        let kinds = OF_FORMS.get(effects.inst.form().index()).copied().unwrap_or_default();
        if kinds.any(OF_OPERANDS) { kinds.with_operands(effects) } else { kinds }
    }

    /// Whether it is a vector computation that no stage drops.
    #[must_use]
    pub const fn is_computation(self) -> bool {
        self.any(Kinds::VALU) && !self.any(Kinds::V_NOP)
    }

    /// The wait states that an instruction is.
    #[must_use]
    pub fn wait_states(self, effects: &Effects<'_>) -> u8 {
        if self.any(Kinds::S_NOP) { nops(effects) } else { 1 }
    }

    /// Those that may hold for a form, without those that operands rule out.
    #[cold]
    fn with_operands(self, effects: &Effects<'_>) -> Kinds {
        let tests: [(Kinds, Test); 3] = [
            (Kinds::WAITS_FOR_VALU, waits_for_vector_results),
            (Kinds::WIDE_STORE, is_wide_store),
            (Kinds::WRITE_HIGH, writes_part),
        ];
        let ruled_out =
            tests.into_iter().filter(|(kind, holds)| self.any(*kind) && !holds(effects));
        ruled_out.fold(self, |kinds, (kind, _)| Kinds(kinds.0 & !kind.0))
    }

    fn of_form(form: Form) -> Kinds {
        let (flags, name) = (form.flags(), form.mnemonic());
        let image = Flags::MIMG | Flags::VIMAGE | Flags::VSAMPLE;
        let stores = Flags::MUBUF | Flags::MTBUF | Flags::FLAT;
        // Loads to LDS count as vector computations in LLVM's tables.
        let valu = flags.any(Flags::VALU) && !flags.any(stores);
        let salu = flags.any(Flags::SALU);
        let addtid = flags.any(Flags::DS) && name.contains("addtid");
        let moves = name.starts_with("s_movrel") || name == "s_sendmsg";
        let kinds = Kinds::of_flags(&[
            (Kinds::VALU, valu),
            (Kinds::SALU, salu),
            (Kinds::VMEM, flags.any(stores | image)),
            (Kinds::DS, flags.any(Flags::DS)),
            (Kinds::EXP, flags.any(Flags::EXP)),
            (Kinds::SETREG, salu && name.starts_with("s_setreg")),
            (Kinds::GETREG, salu && name.starts_with("s_getreg")),
            (Kinds::S_NOP, name == "s_nop"),
            (Kinds::READS_M0, moves || addtid),
            (Kinds::WAITS_FOR_VALU, matches!(name, "s_waitcnt_depctr" | "s_wait_alu")),
            (Kinds::WIDE_STORE, flags.has(Flags::MAY_STORE) && flags.any(stores)),
        ]);
        if valu { kinds.and(Kinds::of_computation(form)) } else { kinds }
    }

    fn of_computation(form: Form) -> Kinds {
        let (flags, name) = (form.flags(), form.mnemonic());
        let scaled = name.contains("_ld_scale");
        let matrix = (name.starts_with("v_mfma_") || name.starts_with("v_smfmac_")) && !scaled;
        let double = name.starts_with("v_mfma_f64");
        let singles = ["_f32", "x1f32", "x2f32", "x4f32"];
        let single = name.starts_with("v_mfma") && singles.iter().any(|end| name.ends_with(end));
        let written = form.effects().implicit_writes;
        let scalar = form.slots().iter().any(|slot| slot.is_output && slot.is_named_like("sdst"))
            || written.has(Implicit::VCC | Implicit::EXEC | Implicit::EXEC64 | Implicit::EXEC_LO)
            || name.starts_with("v_read");
        let permutes = name.starts_with("v_permlane");
        Kinds::of_flags(&[
            (Kinds::MFMA, matrix),
            (Kinds::DGEMM, double),
            (Kinds::XDL, matrix && !double && !single),
            (Kinds::DOT, flags.any(Flags::DOT)),
            (Kinds::TRANS, flags.any(Flags::TRANS)),
            (Kinds::DPP, flags.any(Flags::DPP)),
            (Kinds::DIV_FMAS, name.starts_with("v_div_fmas")),
            (Kinds::RW_LANE, matches!(name, "v_readlane_b32" | "v_writelane_b32")),
            (Kinds::READ_LANE, matches!(name, "v_readlane_b32" | "v_readfirstlane_b32")),
            (Kinds::LANE_WRITE, name == "v_writelane_b32"),
            (Kinds::PERMLANE_SWAP, permutes && name.contains("swap")),
            (Kinds::PERMLANE, permutes && !name.contains("swap")),
            (Kinds::VCMPX, name.starts_with("v_cmpx_")),
            (Kinds::FMA_F64, matches!(name, "v_fma_f64" | "v_fmac_f64")),
            (Kinds::V_NOP, name == "v_nop"),
            (
                Kinds::WMMA,
                (name.starts_with("v_wmma_") && !scaled) || name.starts_with("v_swmmac_"),
            ),
            (Kinds::SWMMAC, name.starts_with("v_swmmac_")),
            (Kinds::WRITE_HIGH, flags.any(Flags::SDWA | Flags::VOP3)),
            (Kinds::WRITES_SCALAR, scalar),
        ])
    }

    fn of_flags(all: &[(Kinds, bool)]) -> Kinds {
        all.iter()
            .filter(|(_, holds)| *holds)
            .fold(Kinds::NONE, |kinds, (kind, _)| kinds.and(*kind))
    }
}

/// Whether operands leave a kind as it is.
type Test = fn(&Effects<'_>) -> bool;

/// The kinds that operands decide.
const OF_OPERANDS: Kinds = Kinds::WAITS_FOR_VALU.and(Kinds::WIDE_STORE).and(Kinds::WRITE_HIGH);

/// The kinds of all forms, worked out on first use.
static OF_FORMS: LazyLock<Box<[Kinds]>> =
    LazyLock::new(|| Form::all().map(Kinds::of_form).collect());

/// Whether `va_vdst` must be zero.
fn waits_for_vector_results(effects: &Effects<'_>) -> bool {
    effects.number("simm16").is_some_and(|fields| fields >> 12 & 0xf == 0)
}

/// More than eight bytes of data, and no register in the field whose reading would take long enough.
fn is_wide_store(effects: &Effects<'_>) -> bool {
    let is_wide = effects.operand("vdata").is_some_and(|data| data.count > 2);
    is_wide && effects.operand("soffset").is_none()
}

/// Whether the result is shifted into its place after it is computed.
fn writes_part(effects: &Effects<'_>) -> bool {
    const WHOLE: u64 = 6;
    let sdwa = effects.inst.flags().any(Flags::SDWA)
        && effects.number("dst_sel").is_some_and(|part| part != WHOLE);
    sdwa || effects.writes().any(|it| it.half == Some(Half::High))
}

/// The wait states of `s_nop`.
fn nops(effects: &Effects<'_>) -> u8 {
    effects.number("simm16").map_or(1, |count| (count as u8 & 0xf) + 1)
}
