//! What stepping A0 of gfx1250 does wrong, and which instructions meet it.
//!
//! Names are those of the rules that rewrite such instructions. What goes wrong, and how that is known, is in `docs/rules`.

use crate::model::{Format, HwRegField, OperandValue};
use crate::{Decoder, Inst};

/// Something that stepping A0 of gfx1250 does otherwise than B0.
///
/// ```
/// use hsaco_isa::{Decoder, Processor, errata};
/// let decoder = Decoder::new(Processor::from_name("gfx1250").unwrap())?;
/// let clause = decoder.decode(&[0x01, 0, 0x85, 0xbf]).unwrap();
/// assert!(errata::CLAUSE.affects(&decoder, &clause, None));
/// assert!(!errata::SETHALT.affects(&decoder, &clause, None));
/// # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Erratum {
    /// Its name, which is that of the rule about it.
    pub name: &'static str,
    /// The instructions that it is about.
    pub mnemonics: &'static [&'static str],
    /// Which of them, with what follows.
    is_met: fn(&Decoder, &Inst, Option<&Inst>) -> bool,
}

impl Erratum {
    const fn all_of(name: &'static str, mnemonics: &'static [&'static str]) -> Self {
        Self { name, mnemonics, is_met: |_, _, _| true }
    }

    /// Whether an instruction meets it where the other one follows. What registers hold may still rule it out.
    #[must_use]
    pub fn affects(&self, decoder: &Decoder, inst: &Inst, next: Option<&Inst>) -> bool {
        self.mnemonics.contains(&inst.mnemonic()) && (self.is_met)(decoder, inst, next)
    }
}

/// Loads for a cluster hang, or hand data to the wrong workgroup.
pub const CLUSTER_LOAD: Erratum = Erratum::all_of(
    "cluster-load",
    &[
        "cluster_load_b32",
        "cluster_load_b64",
        "cluster_load_b128",
        "cluster_load_async_to_lds_b8",
        "cluster_load_async_to_lds_b32",
        "cluster_load_async_to_lds_b64",
        "cluster_load_async_to_lds_b128",
    ],
);

/// Clauses are mishandled.
pub const CLAUSE: Erratum = Erratum::all_of("clause", &["s_clause"]);

/// SCC may be stale after a signal of the cluster's barrier.
pub const BARRIER_ISFIRST: Erratum = Erratum {
    name: "barrier-isfirst",
    mnemonics: &["s_barrier_signal_isfirst"],
    is_met: |decoder, inst, _| decoder.operand(inst, "src0") == Some(CLUSTER_BARRIER),
};

/// The barrier of all workgroups of a cluster.
pub const CLUSTER_BARRIER: OperandValue = OperandValue::Integer(-3);

/// Both addresses of an LDS instruction have to be multiples of what it moves.
pub const DS_TWO_ADDRESS: Erratum = Erratum::all_of(
    "ds-two-address",
    &[
        "ds_load_2addr_b32",
        "ds_load_2addr_b64",
        "ds_load_2addr_stride64_b32",
        "ds_load_2addr_stride64_b64",
        "ds_store_2addr_b32",
        "ds_store_2addr_b64",
        "ds_store_2addr_stride64_b32",
        "ds_store_2addr_stride64_b64",
        "ds_storexchg_2addr_rtn_b32",
        "ds_storexchg_2addr_rtn_b64",
        "ds_storexchg_2addr_stride64_rtn_b32",
        "ds_storexchg_2addr_stride64_rtn_b64",
    ],
);

/// Sixteen bits of M0 count, not twenty.
pub const DS_ADDTID: Erratum =
    Erratum::all_of("ds-addtid", &["ds_load_addtid_b32", "ds_store_addtid_b32"]);

/// A mask of workgroups other than zero hangs.
pub const TENSOR_MASK: Erratum = Erratum::all_of("tensor-mask", &["tensor_load_to_lds"]);

/// Seven bits of the opcode count, not eight.
pub const WMMA_SPLIT: Erratum = Erratum::all_of(
    "wmma-split",
    &[
        "v_wmma_f32_16x16x128_fp8_fp8",
        "v_wmma_f32_16x16x128_fp8_bf8",
        "v_wmma_f32_16x16x128_bf8_fp8",
        "v_wmma_f32_16x16x128_bf8_bf8",
        "v_wmma_f16_16x16x128_fp8_fp8",
        "v_wmma_f16_16x16x128_fp8_bf8",
        "v_wmma_f16_16x16x128_bf8_fp8",
        "v_wmma_f16_16x16x128_bf8_bf8",
        "v_wmma_f32_32x16x128_f4",
        "v_wmma_scale_f32_32x16x128_f4",
    ],
);

/// There is no scale for every 16 numbers.
pub const SCALE_SIXTEEN: Erratum = Erratum::all_of(
    "scale-sixteen",
    &["v_wmma_scale16_f32_16x16x128_f8f6f4", "v_wmma_scale16_f32_32x16x128_f4"],
);

/// The clamp bit does not make it E5M3.
pub const E5M3: Erratum = Erratum {
    name: "e5m3",
    mnemonics: &["v_cvt_pk_fp8_f32", "v_cvt_sr_fp8_f32", "v_cvt_f32_fp8"],
    is_met: |decoder, inst, _| decoder.operand(inst, "clamp") == Some(OperandValue::Number(1)),
};

/// A third scale that names no vector register stalls.
pub const SCALE_SRC2: Erratum = Erratum {
    name: "scale-src2",
    mnemonics: &["v_wmma_scale_f32_16x16x128_f8f6f4"],
    is_met: |_, inst, _| has_scalar_third_scale(&inst.bytes()),
};

/// Whether the third scale of a scaled matrix instruction, which nothing reads, names no vector register.
#[must_use]
pub fn has_scalar_third_scale(bytes: &[u8]) -> bool {
    let word = bytes.get(4..8).and_then(|it| it.try_into().ok()).map(u32::from_le_bytes);
    word.is_some_and(|word| word & THIRD_SCALE != THIRD_SCALE_UNUSED)
}

/// The field of the third scale in the second word, and what it is where it names v0.
pub const THIRD_SCALE: u32 = 0x1ff << 18;
/// What the field is where it names v0.
pub const THIRD_SCALE_UNUSED: u32 = 0x100 << 18;

/// A halt between a scale and its matrix instruction loses the scale.
pub const SETHALT: Erratum = Erratum::all_of("sethalt", &["s_sethalt"]);

/// A trap cannot go back to a matrix instruction of mixed formats without scales.
pub const VOP3PX_WRAP: Erratum = Erratum::all_of("vop3px-wrap", &["v_wmma_f32_16x16x128_f8f6f4"]);

/// `s_set_vgpr_msb` right behind a write of MODE may be lost.
pub const MODE_BEFORE_MSB: Erratum = Erratum {
    name: "mode-before-msb",
    mnemonics: &["s_setreg_b32", "s_setreg_imm32_b32"],
    is_met: |_, inst, next| {
        inst.hwreg_field().is_some_and(|field| field.register == HwRegField::MODE)
            && next.is_some_and(|next| next.mnemonic() == "s_set_vgpr_msb")
    },
};

/// What goes wrong is not documented.
pub const DEFERRED: Erratum = Erratum::all_of(
    "deferred",
    &["s_get_barrier_state", "s_sleep", "s_sleep_var", "s_monitor_sleep"],
);

/// What writes registers of an integer matrix instruction needs [`WMMA_SLOTS`] vector instructions between.
pub const WMMA_HAZARD: Erratum =
    Erratum::all_of("wmma-hazard", &["v_wmma_i32_16x16x64_iu8", "v_swmmac_i32_16x16x128_iu8"]);

/// Vector instructions that have to stand between an integer matrix instruction and one that writes its registers; B0
/// needs four, and so compilers left four.
pub const WMMA_SLOTS: u8 = 8;

/// The first vector memory instruction of a wave may be in no clause.
pub const ENTRY_STUB: Erratum = Erratum {
    name: "entry-stub",
    mnemonics: &["s_clause"],
    is_met: |_, _, next| next.is_some_and(is_vector_memory),
};

/// All of them.
pub const GFX1250_A0: &[Erratum] = &[
    CLUSTER_LOAD,
    CLAUSE,
    BARRIER_ISFIRST,
    DS_TWO_ADDRESS,
    DS_ADDTID,
    TENSOR_MASK,
    WMMA_SPLIT,
    SCALE_SIXTEEN,
    E5M3,
    SCALE_SRC2,
    SETHALT,
    VOP3PX_WRAP,
    MODE_BEFORE_MSB,
    DEFERRED,
    WMMA_HAZARD,
    ENTRY_STUB,
];

/// Whether an instruction is of the vector ALU, and so fills a slot behind a matrix instruction.
#[must_use]
pub fn is_vector_alu(inst: &Inst) -> bool {
    use Format::{Vinterp, Vop1, Vop2, Vop3, Vop3p, Vopc, Vopd};
    matches!(inst.format(), Vop1 | Vop2 | Vopc | Vop3 | Vop3p | Vopd | Vinterp)
}

/// Whether an instruction multiplies matrices.
#[must_use]
pub fn is_matrix(inst: &Inst) -> bool {
    inst.mnemonic().starts_with("v_wmma") || inst.mnemonic().starts_with("v_swmmac")
}

/// Whether an instruction accesses memory for each lane, LDS apart.
#[must_use]
pub fn is_vector_memory(inst: &Inst) -> bool {
    use Format::{Flat, Global, Mtbuf, Mubuf, Scratch};
    matches!(inst.format(), Flat | Global | Scratch | Mubuf | Mtbuf)
}
