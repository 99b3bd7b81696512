//! The hazards of each generation, a row each with its source.

use super::Needed::{ByCategory, Double, Fixed, PassesAnd, PassesAndLonger, TwoPasses};
use super::{Doubt, Ends, Hazard, Kinds, Needed, Shared, Unit};

const fn row(
    name: &'static str,
    (first, second): (Kinds, Kinds),
    shared: Shared,
    needed: Needed,
    what: &'static str,
    source: &'static str,
) -> Hazard {
    Hazard {
        name,
        what,
        source,
        unit: Unit::WaitStates,
        first,
        second,
        not_first: Kinds::NONE,
        not_second: Kinds::NONE,
        shared,
        needed,
        ends: Ends::Distance,
        doubt: None,
    }
}

impl Hazard {
    const fn not(mut self, first: Kinds, second: Kinds) -> Self {
        (self.not_first, self.not_second) = (first, second);
        self
    }

    const fn in_units(mut self, unit: Unit) -> Self {
        self.unit = unit;
        self
    }

    const fn unless(mut self, doubt: Doubt) -> Self {
        self.doubt = Some(doubt);
        self
    }
}

const MEMORY: Kinds = Kinds::VMEM.and(Kinds::DS).and(Kinds::EXP);
const ANY_VECTOR: Kinds = Kinds::VALU.and(MEMORY);
const VALU: Kinds = Kinds::VALU;
const MFMA: Kinds = Kinds::MFMA;
const DGEMM: Kinds = Kinds::DGEMM;
const XDL: Kinds = Kinds::XDL;
const NONE: Kinds = Kinds::NONE;

/// All of gfx9: "Manually inserted wait states" (4.5) of the CDNA manuals.
pub(super) const GFX9: &[Hazard] = &[
    row(
        "valu-sgpr-vmem",
        (Kinds::WRITES_SCALAR, Kinds::VMEM),
        Shared::Scalar,
        Fixed(5),
        "a memory access reads the old value of a scalar register that a vector instruction writes",
        "CDNA manuals 4.5; checkVMEMHazards",
    ),
    row(
        "vgpr-dpp",
        (VALU, Kinds::DPP),
        Shared::MovedLanes,
        Fixed(2),
        "DPP reads lanes before the vector instruction before has written them",
        "CDNA manuals 4.5; checkDPPHazards",
    )
    .unless(Doubt::Shipped),
    row(
        "exec-dpp",
        (Kinds::WRITES_SCALAR, Kinds::DPP),
        Shared::Exec,
        Fixed(5),
        "DPP uses the old EXEC",
        "CDNA manuals 4.5; checkDPPHazards",
    ),
    row(
        "vcc-div-fmas",
        (Kinds::WRITES_SCALAR, Kinds::DIV_FMAS),
        Shared::Vcc,
        Fixed(4),
        "v_div_fmas uses the old VCC",
        "CDNA manuals 4.5; checkDivFMasHazards",
    ),
    row(
        "sgpr-lane-select",
        (Kinds::WRITES_SCALAR, Kinds::RW_LANE),
        Shared::LaneSelect,
        Fixed(4),
        "the lane is selected by the old value of the scalar register",
        "CDNA manuals 4.5; checkRWLaneHazards",
    ),
    row(
        "setreg-getreg",
        (Kinds::SETREG, Kinds::GETREG),
        Shared::HwReg,
        Fixed(2),
        "s_getreg reads the old value of the hardware register",
        "CDNA manuals 4.5; checkGetRegHazards",
    ),
    row(
        "setreg-setreg",
        (Kinds::SETREG, Kinds::SETREG),
        Shared::HwReg,
        Fixed(2),
        "one of two writes of the same hardware register is lost",
        "CDNA manuals 4.5; checkSetRegHazards",
    ),
    row(
        "m0",
        (Kinds::SALU, Kinds::READS_M0),
        Shared::M0,
        Fixed(1),
        "the old M0 is used",
        "CDNA manuals 4.5; checkReadM0Hazards",
    ),
    row(
        "store-data",
        (Kinds::WIDE_STORE, VALU),
        Shared::StoreData,
        Fixed(1),
        "the store takes what is written after it",
        "CDNA manuals 4.5; checkVALUHazards",
    ),
];

/// gfx90a and later gfx9, whatever the matrix pipeline.
pub(super) const GFX90A: &[Hazard] = &[
    row(
        "vgpr-mfma",
        (VALU, MFMA),
        Shared::VectorRead,
        Fixed(2),
        "the matrix instruction reads a register before the vector instruction before has written it",
        "CDNA manuals 7.5; checkMAIHazards90A",
    )
    .not(MFMA.and(Kinds::DOT), NONE)
    .unless(Doubt::Shipped),
    row(
        "exec-mfma",
        (Kinds::WRITES_SCALAR, MFMA),
        Shared::Exec,
        Fixed(4),
        "the matrix instruction uses the old EXEC",
        "CDNA manuals 7.5; checkMAIHazards90A",
    ),
    row(
        "dot-read",
        (Kinds::DOT, ANY_VECTOR),
        Shared::VectorReadByOther,
        Fixed(3),
        "the old value is read: a dot product comes late",
        "CDNA manuals 7.5; checkMAIVALUHazards",
    )
    .not(NONE, MFMA)
    .unless(Doubt::Shipped),
    row(
        "dot-write",
        (Kinds::DOT, VALU),
        Shared::VectorWriteByOther,
        Fixed(3),
        "the dot product, which comes late, overwrites what was written after it",
        "CDNA manuals 7.5; checkMAIVALUHazards",
    )
    .not(NONE, MFMA)
    .unless(Doubt::Shipped),
    row(
        "dgemm-fma",
        (DGEMM, Kinds::FMA_F64),
        Shared::Nothing,
        Fixed(2),
        "the multiplier is still busy with the matrix",
        "checkMAIVALUHazards",
    ),
    row(
        "dgemm-read",
        (DGEMM, VALU),
        Shared::VectorRead,
        Double(6, 11),
        "the old value is read: a matrix is written late",
        "CDNA manuals 7.5; checkMAIVALUHazards",
    )
    .not(NONE, MFMA)
    .unless(Doubt::Shipped),
    row(
        "dgemm-memory",
        (DGEMM, MEMORY),
        Shared::VectorRead,
        Double(9, 18),
        "the old value is stored: a matrix is written late",
        "CDNA manuals 7.5; checkMAIVALUHazards",
    )
    .unless(Doubt::Shipped),
    row(
        "dgemm-write",
        (DGEMM, ANY_VECTOR),
        Shared::VectorWrite,
        Double(6, 11),
        "the matrix, which is written late, overwrites what was written after it",
        "CDNA manuals 7.5; checkMAIVALUHazards",
    )
    .not(NONE, MFMA)
    .unless(Doubt::Shipped),
    row(
        "dgemm-factor",
        (DGEMM, MFMA),
        Shared::Factors,
        Double(6, 11),
        "the old value is multiplied: a matrix is written late",
        "CDNA manuals 7.5; checkMAIHazards90A",
    ),
    row(
        "dgemm-sum",
        (DGEMM, DGEMM),
        Shared::PartOfSum,
        Double(4, 9),
        "the old value is added to: a matrix is written late",
        "CDNA manuals 7.5; checkMAIHazards90A",
    ),
];

/// The matrix pipeline of gfx90a: three more states than passes.
pub(super) const GFX90A_MATRIX: &[Hazard] = &[
    matrix_read(PassesAnd(3)).not(DGEMM, MFMA),
    matrix_write(PassesAnd(3)).not(DGEMM, MFMA),
    matrix_factor(PassesAnd(3)).not(DGEMM, NONE),
    matrix_sum((MFMA, MFMA), PassesAnd(0)).not(DGEMM, DGEMM),
    matrix_sum((MFMA, DGEMM), PassesAnd(1)).not(DGEMM, NONE),
    sum_write(MFMA, PassesAnd(-1)).not(DGEMM, MFMA),
];

/// gfx942 and gfx950.
pub(super) const GFX940: &[Hazard] = &[
    row(
        "trans-use",
        (Kinds::TRANS, VALU),
        Shared::VectorRead,
        Fixed(1),
        "the old value is read: a transcendental result comes late",
        "checkVALUHazards",
    )
    .not(NONE, Kinds::TRANS),
    row(
        "part-use",
        (Kinds::WRITE_HIGH, VALU),
        Shared::VectorRead,
        Fixed(1),
        "the old value is read: a result that is shifted into its place comes late",
        "checkVALUHazards",
    )
    .unless(Doubt::Shipped),
    row(
        "valu-sgpr-valu",
        (Kinds::WRITES_SCALAR, VALU),
        Shared::ScalarConstant,
        Fixed(2),
        "the old value of a scalar register is read that a vector instruction writes",
        "CDNA3 manual 4.5, where a carry needs no wait states",
    )
    .unless(Doubt::Shipped),
    row(
        "vgpr-readlane",
        (VALU, Kinds::READ_LANE),
        Shared::VectorRead,
        Fixed(1),
        "the old value of the lane is read",
        "checkVALUHazards",
    )
    .unless(Doubt::Shipped),
    row(
        "exec-lane",
        (Kinds::WRITES_SCALAR, Kinds::READ_LANE.and(Kinds::LANE_WRITE)),
        Shared::Exec,
        Fixed(4),
        "the old EXEC is used",
        "checkVALUHazards",
    ),
    row(
        "store-data",
        (Kinds::WIDE_STORE, VALU),
        Shared::StoreData,
        Fixed(2),
        "the store takes what is written after it",
        "CDNA3 manual 4.5; checkVALUHazards",
    ),
    matrix_read(PassesAnd(2)).not(DGEMM.and(XDL), MFMA),
    matrix_write(PassesAnd(2)).not(DGEMM.and(XDL), MFMA),
    matrix_factor(PassesAnd(2)).not(DGEMM.and(XDL), NONE),
    matrix_sum((MFMA, MFMA), PassesAnd(0)).not(DGEMM.and(XDL), XDL),
    row(
        "mfma-same-sum",
        (MFMA, MFMA),
        Shared::Sum,
        TwoPasses(2),
        "the old value is added to: a matrix is written late",
        "CDNA3 manual 7.5; checkMAIHazards90A",
    )
    .not(DGEMM, NONE),
    sum_write(XDL, PassesAnd(-1)).not(NONE, MFMA),
];

pub(super) const GFX942: &[Hazard] = &[
    matrix_read_of(XDL, PassesAnd(3)).not(NONE, MFMA),
    matrix_write_of(XDL, PassesAnd(3)).not(NONE, MFMA),
    matrix_factor_of(XDL, PassesAnd(3)),
    matrix_sum((XDL, MFMA), PassesAnd(1)),
];

/// gfx950's pipeline is longer by one.
pub(super) const GFX950: &[Hazard] = &[
    matrix_read_of(XDL, PassesAndLonger(3)).not(NONE, MFMA),
    matrix_write_of(XDL, PassesAndLonger(3)).not(NONE, MFMA),
    matrix_factor_of(XDL, PassesAndLonger(3)),
    matrix_sum((XDL, XDL), PassesAnd(2)),
    matrix_sum((XDL, MFMA), PassesAndLonger(1)).not(NONE, XDL),
    row(
        "dgemm-read",
        (DGEMM, VALU),
        Shared::VectorRead,
        Double(6, 19),
        "the old value is read: a matrix is written late",
        "CDNA4 manual 7.5; checkMAIVALUHazards",
    )
    .not(NONE, MFMA)
    .unless(Doubt::Shipped),
    row(
        "dgemm-factor",
        (DGEMM, MFMA),
        Shared::Factors,
        Double(6, 19),
        "the old value is multiplied: a matrix is written late",
        "CDNA4 manual 7.5; checkMAIHazards90A",
    ),
    row(
        "dgemm-sum",
        (DGEMM, DGEMM),
        Shared::PartOfSum,
        Double(4, 17),
        "the old value is added to: a matrix is written late",
        "CDNA4 manual 7.5; checkMAIHazards90A",
    ),
    row(
        "vgpr-permlane",
        (VALU, Kinds::PERMLANE_SWAP),
        Shared::VectorRead,
        Fixed(2),
        "the old value of a lane is moved",
        "checkPermlaneHazards",
    )
    .unless(Doubt::Shipped),
    row(
        "vcmpx-permlane",
        (Kinds::VCMPX, Kinds::PERMLANE_SWAP),
        Shared::Exec,
        Fixed(4),
        "the old EXEC is used",
        "checkPermlaneHazards",
    ),
];

/// gfx11 and gfx12: one vector instruction between two products of which the second multiplies what the first gives.
pub(super) const WMMA: &[Hazard] = &[row(
    "wmma-factor",
    (Kinds::WMMA, Kinds::WMMA),
    Shared::Factors,
    Fixed(1),
    "the old value is multiplied: a matrix is written late",
    "RDNA3 manual 7.9.1; fixWMMAHazards",
)
.in_units(Unit::Computations)];

/// gfx11's first chips: transcendental results, until six vector instructions have passed or two of their own kind.
pub(super) const GFX11_TRANS: &[Hazard] = &[Hazard {
    ends: Ends::VectorResults,
    ..row(
        "trans-use",
        (Kinds::TRANS, VALU),
        Shared::VectorRead,
        Fixed(6),
        "the old value is read: a transcendental result comes late",
        "fixVALUTransUseHazard",
    )
    .in_units(Unit::Computations)
}];

pub(super) const VCMPX_PERMLANE: &[Hazard] = &[row(
    "vcmpx-permlane",
    (Kinds::VCMPX, Kinds::PERMLANE),
    Shared::Exec,
    Fixed(1),
    "v_permlane uses the old EXEC",
    "RDNA manuals; fixVcmpxPermlaneHazards",
)
.in_units(Unit::RealComputations)];

/// gfx1250, where matrix products and transcendental instructions run beside others.
pub(super) const GFX1250: &[Hazard] = &[
    row(
        "wmma-factor",
        (Kinds::WMMA, Kinds::WMMA),
        Shared::Factors,
        ByCategory([5, 9, 3, 5]),
        "the old value is multiplied: a matrix is written late",
        "checkWMMACoexecutionHazards",
    )
    .in_units(Unit::Computations),
    row(
        "wmma-read",
        (Kinds::WMMA, VALU),
        Shared::VectorRead,
        ByCategory([4, 8, 2, 4]),
        "the old value is read: a matrix is written late",
        "checkWMMACoexecutionHazards",
    )
    .not(NONE, Kinds::WMMA.and(Kinds::TRANS))
    .in_units(Unit::Computations)
    .unless(Doubt::Mode),
    row(
        "wmma-write",
        (Kinds::WMMA, VALU),
        Shared::VectorWrite,
        ByCategory([4, 8, 2, 4]),
        "the matrix, which is written late, overwrites what was written after it",
        "checkWMMACoexecutionHazards",
    )
    .not(NONE, Kinds::WMMA.and(Kinds::TRANS))
    .in_units(Unit::Computations)
    .unless(Doubt::Mode),
    row(
        "trans-use",
        (Kinds::TRANS, VALU),
        Shared::VectorRead,
        Fixed(1),
        "the old value is read: a transcendental result comes late",
        "fixVALUTransCoexecutionHazards",
    )
    .not(NONE, Kinds::TRANS)
    .in_units(Unit::Computations)
    .unless(Doubt::Mode),
    row(
        "trans-source",
        (Kinds::TRANS, VALU),
        Shared::SourceWrite,
        Fixed(1),
        "the transcendental instruction takes what is written after it",
        "fixVALUTransCoexecutionHazards",
    )
    .not(NONE, Kinds::TRANS)
    .in_units(Unit::Computations)
    .unless(Doubt::Mode),
];

const fn matrix_read_of(first: Kinds, needed: Needed) -> Hazard {
    row(
        "mfma-read",
        (first, ANY_VECTOR),
        Shared::VectorRead,
        needed,
        "the old value is read: a matrix is written late",
        "CDNA manuals 7.5; checkMAIVALUHazards",
    )
    .unless(Doubt::Shipped)
}

const fn matrix_read(needed: Needed) -> Hazard {
    matrix_read_of(MFMA, needed)
}

const fn matrix_write_of(first: Kinds, needed: Needed) -> Hazard {
    row(
        "mfma-write",
        (first, ANY_VECTOR),
        Shared::VectorWrite,
        needed,
        "the matrix, which is written late, overwrites what was written after it",
        "CDNA manuals 7.5; checkMAIVALUHazards",
    )
    .unless(Doubt::Shipped)
}

const fn matrix_write(needed: Needed) -> Hazard {
    matrix_write_of(MFMA, needed)
}

const fn matrix_factor_of(first: Kinds, needed: Needed) -> Hazard {
    row(
        "mfma-factor",
        (first, MFMA),
        Shared::Factors,
        needed,
        "the old value is multiplied: a matrix is written late",
        "CDNA manuals 7.5; checkMAIHazards90A",
    )
}

const fn matrix_factor(needed: Needed) -> Hazard {
    matrix_factor_of(MFMA, needed)
}

const fn matrix_sum(pair: (Kinds, Kinds), needed: Needed) -> Hazard {
    row(
        "mfma-sum",
        pair,
        Shared::PartOfSum,
        needed,
        "part of the old value is added to: a matrix is written late",
        "CDNA manuals 7.5; checkMAIHazards90A",
    )
}

const fn sum_write(first: Kinds, needed: Needed) -> Hazard {
    row(
        "mfma-sum-write",
        (first, VALU),
        Shared::SumWrite,
        needed,
        "the matrix instruction adds to what is written after it",
        "CDNA manuals 7.5; checkMAIVALUHazards",
    )
    .unless(Doubt::Shipped)
}
