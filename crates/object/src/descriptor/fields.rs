//! The bit fields of a kernel descriptor, as one table.
//!
//! Derived from LLVM's AMDGPU definitions (Apache-2.0 WITH LLVM-exception).

use hsaco_isa::target::Generation;

use Generation::{Gfx6, Gfx7, Gfx8, Gfx9, Gfx10, Gfx11, Gfx12, Gfx90a, Gfx125, Gfx940};
use Word::{
    ComputePgmRsrc1, ComputePgmRsrc2, ComputePgmRsrc3, GroupSegmentFixedSize, KernargPreload,
    KernargSize, KernelCodeEntryByteOffset, KernelCodeProperties, PrivateSegmentFixedSize,
    Reserved0, Reserved1, Reserved3,
};

/// A word of the 64 bytes of a kernel descriptor.
///
/// ```
/// use hsaco_object::descriptor::Word;
/// assert_eq!(Word::ComputePgmRsrc1.byte_offset(), 48);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Word {
    /// Bytes of workgroup memory that every workgroup gets.
    GroupSegmentFixedSize,
    /// Bytes of scratch memory that every work-item gets.
    PrivateSegmentFixedSize,
    /// Bytes of kernel arguments; 0 says nothing.
    KernargSize,
    /// Four bytes that must be zero.
    Reserved0,
    /// Distance from the descriptor to the first instruction.
    KernelCodeEntryByteOffset,
    /// Twenty bytes that must be zero.
    Reserved1,
    /// The third resource register.
    ComputePgmRsrc3,
    /// The first resource register.
    ComputePgmRsrc1,
    /// The second resource register.
    ComputePgmRsrc2,
    /// Which values the kernel wants in its first scalar registers.
    KernelCodeProperties,
    /// Which kernel arguments arrive in scalar registers.
    KernargPreload,
    /// Four bytes that must be zero.
    Reserved3,
}

impl Word {
    /// Where the word begins in the descriptor.
    pub const fn byte_offset(self) -> usize {
        match self {
            GroupSegmentFixedSize => 0,
            PrivateSegmentFixedSize => 4,
            KernargSize => 8,
            Reserved0 => 12,
            KernelCodeEntryByteOffset => 16,
            Reserved1 => 24,
            ComputePgmRsrc3 => 44,
            ComputePgmRsrc1 => 48,
            ComputePgmRsrc2 => 52,
            KernelCodeProperties => 56,
            KernargPreload => 58,
            Reserved3 => 60,
        }
    }
}

/// A set of generations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Generations(u16);

impl Generations {
    const ALL: Self = Self::span(Gfx6, Gfx125);

    /// From one generation to another, both included.
    const fn span(first: Generation, last: Generation) -> Self {
        Self((2 << last as u16) - (1 << first as u16))
    }

    const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// True when the set has `generation` in it.
    ///
    /// ```
    /// use hsaco_isa::target::Generation;
    /// use hsaco_object::descriptor::Field;
    /// let field = Field::by_name(Generation::Gfx90a, "accum_offset").unwrap();
    /// assert!(field.generations.contains(Generation::Gfx940));
    /// assert!(!field.generations.contains(Generation::Gfx10));
    /// ```
    pub const fn contains(self, generation: Generation) -> bool {
        self.0 & (1 << generation as u16) != 0
    }
}

/// A run of bits in a kernel descriptor that means one thing.
///
/// ```
/// use hsaco_isa::target::Generation;
/// use hsaco_object::descriptor::{Field, Word};
/// let field = Field::by_name(Generation::Gfx11, "inst_pref_size").unwrap();
/// assert_eq!((field.word, field.low, field.width), (Word::ComputePgmRsrc3, 4, 6));
/// assert_eq!(field.directive, Some(".amdhsa_inst_pref_size"));
/// ```
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Field {
    /// AMD's name for it, in lower case.
    pub name: &'static str,
    /// The word it is in.
    pub word: Word,
    /// The lowest bit, counted from the start of the word.
    pub low: u8,
    /// How many bits.
    pub width: u8,
    /// Where the bits mean this.
    pub generations: Generations,
    /// True when the bits are reserved, or the hardware wants them zero in a descriptor.
    pub must_be_zero: bool,
    /// The assembler directive that sets it.
    pub directive: Option<&'static str>,
    pub(super) shown: Shown,
}

/// How a disassembler shows a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    No,
    AsIs,
    /// As a comment: there is no directive for it.
    Comment,
    /// Only when it says something.
    NonZero,
    /// A count of registers rather than of granules, with the `reserve_` lines that go before.
    Vgprs,
    Sgprs,
    AccumOffset,
    /// As a directive for wave64 and as a comment for wave32, where it has no effect.
    Wave64Only,
    /// From code object V5 on.
    FromV5,
}

impl Field {
    /// The fields of one generation; together they cover every bit once.
    ///
    /// ```
    /// use hsaco_isa::target::Generation;
    /// use hsaco_object::descriptor::Field;
    /// let bits: u32 = Field::all(Generation::Gfx940).map(|field| u32::from(field.width)).sum();
    /// assert_eq!(bits, 512);
    /// ```
    pub fn all(generation: Generation) -> impl Iterator<Item = &'static Self> + Clone {
        FIELDS.iter().filter(move |field| field.generations.contains(generation))
    }

    /// The field of a generation that has this name.
    ///
    /// ```
    /// use hsaco_isa::target::Generation;
    /// use hsaco_object::descriptor::Field;
    /// assert!(Field::by_name(Generation::Gfx9, "wgp_mode").is_none());
    /// assert!(Field::by_name(Generation::Gfx10, "wgp_mode").is_some());
    /// ```
    pub fn by_name(generation: Generation, name: &str) -> Option<&'static Self> {
        Self::all(generation).find(|field| field.name == name)
    }

    /// The largest value that fits.
    ///
    /// ```
    /// use hsaco_isa::target::Generation;
    /// use hsaco_object::descriptor::Field;
    /// let field = Field::by_name(Generation::Gfx9, "user_sgpr_count").unwrap();
    /// assert_eq!(field.max(), 31);
    /// ```
    pub const fn max(&self) -> u64 {
        match self.width {
            0 => 0,
            width => u64::MAX >> (64 - width as u32),
        }
    }

    /// The lowest bit, counted from the start of the descriptor.
    pub const fn bit_offset(&self) -> usize {
        self.word.byte_offset() * 8 + self.low as usize
    }

    const fn new(name: &'static str, word: Word, low: u8, width: u8) -> Self {
        Self {
            name,
            word,
            low,
            width,
            generations: Generations::ALL,
            must_be_zero: false,
            directive: None,
            shown: Shown::No,
        }
    }

    const fn on(self, generations: Generations) -> Self {
        Self { generations, ..self }
    }

    const fn since(self, first: Generation) -> Self {
        self.on(Generations::span(first, Gfx125))
    }

    const fn until(self, last: Generation) -> Self {
        self.on(Generations::span(Gfx6, last))
    }

    const fn zero(self) -> Self {
        Self { must_be_zero: true, ..self }
    }

    const fn comment(self) -> Self {
        Self { shown: Shown::Comment, ..self }
    }

    const fn hidden(self, directive: &'static str) -> Self {
        self.shown(directive, Shown::No)
    }

    const fn set_by(self, directive: &'static str) -> Self {
        self.shown(directive, Shown::AsIs)
    }

    const fn shown(self, directive: &'static str, shown: Shown) -> Self {
        Self { directive: Some(directive), shown, ..self }
    }
}

const fn rsrc1(name: &'static str, low: u8, width: u8) -> Field {
    Field::new(name, ComputePgmRsrc1, low, width)
}

const fn rsrc2(name: &'static str, low: u8, width: u8) -> Field {
    Field::new(name, ComputePgmRsrc2, low, width)
}

const fn rsrc3(name: &'static str, low: u8, width: u8) -> Field {
    Field::new(name, ComputePgmRsrc3, low, width)
}

const fn property(name: &'static str, low: u8, width: u8) -> Field {
    Field::new(name, KernelCodeProperties, low, width)
}

/// Generations with matrix accumulation registers in the vector register file.
const UNIFIED: Generations = Generations::span(Gfx90a, Gfx940);

/// Generations that set up scratch memory by themselves.
const ARCHITECTED: Generations =
    Generations::span(Gfx940, Gfx940).or(Generations::span(Gfx11, Gfx125));

/// Generations where the kernel is handed a scratch descriptor in scalar registers.
const NOT_ARCHITECTED: Generations =
    Generations::span(Gfx6, Gfx90a).or(Generations::span(Gfx10, Gfx10));

/// Generations whose firmware can load kernel arguments into scalar registers.
const PRELOAD: Generations = UNIFIED.or(Generations::span(Gfx125, Gfx125));
const NO_PRELOAD: Generations = Generations::span(Gfx6, Gfx9).or(Generations::span(Gfx10, Gfx12));

/// Every field of every generation, in the order in which LLVM's disassembler shows them.
#[rustfmt::skip]
pub(super) static FIELDS: &[Field] = &[
    Field::new("group_segment_fixed_size", GroupSegmentFixedSize, 0, 32).set_by(".amdhsa_group_segment_fixed_size"),
    Field::new("private_segment_fixed_size", PrivateSegmentFixedSize, 0, 32).set_by(".amdhsa_private_segment_fixed_size"),
    Field::new("kernarg_size", KernargSize, 0, 32).set_by(".amdhsa_kernarg_size"),
    Field::new("reserved0", Reserved0, 0, 32).zero(),
    Field::new("kernel_code_entry_byte_offset", KernelCodeEntryByteOffset, 0, 64),
    Field::new("reserved1_0", Reserved1, 0, 32).zero(),
    Field::new("reserved1_1", Reserved1, 32, 32).zero(),
    Field::new("reserved1_2", Reserved1, 64, 32).zero(),
    Field::new("reserved1_3", Reserved1, 96, 32).zero(),
    Field::new("reserved1_4", Reserved1, 128, 32).zero(),

    rsrc3("compute_pgm_rsrc3_reserved", 0, 32).until(Gfx9).zero(),
    rsrc3("accum_offset", 0, 6).on(UNIFIED).shown(".amdhsa_accum_offset", Shown::AccumOffset),
    rsrc3("compute_pgm_rsrc3_reserved0", 6, 10).on(UNIFIED).zero(),
    rsrc3("tg_split", 16, 1).on(UNIFIED).set_by(".amdhsa_tg_split"),
    rsrc3("compute_pgm_rsrc3_reserved1", 17, 15).on(UNIFIED).zero(),
    rsrc3("shared_vgpr_count", 0, 4).on(Generations::span(Gfx10, Gfx11)).shown(".amdhsa_shared_vgpr_count", Shown::Wave64Only),
    rsrc3("compute_pgm_rsrc3_reserved0", 0, 4).since(Gfx12).zero(),
    rsrc3("compute_pgm_rsrc3_reserved1", 4, 8).on(Generations::span(Gfx10, Gfx10)).zero(),
    rsrc3("inst_pref_size", 4, 6).on(Generations::span(Gfx11, Gfx11)).set_by(".amdhsa_inst_pref_size"),
    rsrc3("trap_on_start", 10, 1).on(Generations::span(Gfx11, Gfx11)).comment().zero(),
    rsrc3("trap_on_end", 11, 1).on(Generations::span(Gfx11, Gfx11)).comment().zero(),
    rsrc3("inst_pref_size", 4, 8).since(Gfx12).set_by(".amdhsa_inst_pref_size"),
    rsrc3("compute_pgm_rsrc3_reserved2", 12, 1).since(Gfx10).zero(),
    rsrc3("compute_pgm_rsrc3_reserved3", 13, 1).on(Generations::span(Gfx10, Gfx11)).zero(),
    rsrc3("glg_en", 13, 1).since(Gfx12).comment(),
    rsrc3("compute_pgm_rsrc3_reserved4", 14, 8).on(Generations::span(Gfx10, Gfx12)).zero(),
    rsrc3("named_bar_cnt", 14, 3).since(Gfx125).set_by(".amdhsa_named_barrier_count"),
    rsrc3("enable_dynamic_vgpr", 17, 1).since(Gfx125).comment(),
    rsrc3("tcp_split", 18, 3).since(Gfx125).comment(),
    rsrc3("enable_didt_throttle", 21, 1).since(Gfx125).comment(),
    rsrc3("compute_pgm_rsrc3_reserved5", 22, 9).since(Gfx10).zero(),
    rsrc3("compute_pgm_rsrc3_reserved6", 31, 1).on(Generations::span(Gfx10, Gfx10)).zero(),
    rsrc3("image_op", 31, 1).since(Gfx11).comment(),

    rsrc1("granulated_workitem_vgpr_count", 0, 6).shown(".amdhsa_next_free_vgpr", Shown::Vgprs),
    rsrc1("granulated_wavefront_sgpr_count", 6, 4).until(Gfx940).shown(".amdhsa_next_free_sgpr", Shown::Sgprs),
    rsrc1("granulated_wavefront_sgpr_count", 6, 4).since(Gfx10).zero().shown(".amdhsa_next_free_sgpr", Shown::Sgprs),
    rsrc1("priority", 10, 2).zero(),
    rsrc1("float_round_mode_32", 12, 2).set_by(".amdhsa_float_round_mode_32"),
    rsrc1("float_round_mode_16_64", 14, 2).set_by(".amdhsa_float_round_mode_16_64"),
    rsrc1("float_denorm_mode_32", 16, 2).set_by(".amdhsa_float_denorm_mode_32"),
    rsrc1("float_denorm_mode_16_64", 18, 2).set_by(".amdhsa_float_denorm_mode_16_64"),
    rsrc1("priv", 20, 1).zero(),
    rsrc1("enable_dx10_clamp", 21, 1).until(Gfx11).set_by(".amdhsa_dx10_clamp"),
    rsrc1("debug_mode", 22, 1).zero(),
    rsrc1("enable_ieee_mode", 23, 1).until(Gfx11).set_by(".amdhsa_ieee_mode"),
    rsrc1("disable_perf", 23, 1).since(Gfx12).zero(),
    rsrc1("bulky", 24, 1).zero(),
    rsrc1("cdbg_user", 25, 1).zero(),
    rsrc1("compute_pgm_rsrc1_reserved0", 26, 1).until(Gfx8).zero(),
    rsrc1("fp16_ovfl", 26, 1).since(Gfx9).set_by(".amdhsa_fp16_overflow"),
    rsrc1("compute_pgm_rsrc1_reserved1", 27, 1).until(Gfx12).zero(),
    rsrc1("flat_scratch_is_nv", 27, 1).since(Gfx125).comment(),
    rsrc1("compute_pgm_rsrc1_reserved2", 28, 1).zero(),
    rsrc1("compute_pgm_rsrc1_reserved3", 29, 3).until(Gfx940).zero(),
    rsrc1("wgp_mode", 29, 1).on(Generations::span(Gfx10, Gfx12)).set_by(".amdhsa_workgroup_processor_mode"),
    rsrc1("wgp_mode", 29, 1).since(Gfx125).zero(),
    rsrc1("mem_ordered", 30, 1).since(Gfx10).set_by(".amdhsa_memory_ordered"),
    rsrc1("fwd_progress", 31, 1).since(Gfx10).set_by(".amdhsa_forward_progress"),
    rsrc1("enable_wg_rr_en", 21, 1).since(Gfx12).set_by(".amdhsa_round_robin_scheduling"),

    rsrc2("enable_private_segment", 0, 1).on(NOT_ARCHITECTED).set_by(".amdhsa_system_sgpr_private_segment_wavefront_offset"),
    rsrc2("enable_private_segment", 0, 1).on(ARCHITECTED).set_by(".amdhsa_enable_private_segment"),
    rsrc2("user_sgpr_count", 1, 5).until(Gfx12).hidden(".amdhsa_user_sgpr_count"),
    rsrc2("user_sgpr_count", 1, 6).since(Gfx125).hidden(".amdhsa_user_sgpr_count"),
    rsrc2("enable_trap_handler", 6, 1).until(Gfx11).zero(),
    rsrc2("enable_dynamic_vgpr", 6, 1).on(Generations::span(Gfx12, Gfx12)),
    rsrc2("enable_sgpr_workgroup_id_x", 7, 1).set_by(".amdhsa_system_sgpr_workgroup_id_x"),
    rsrc2("enable_sgpr_workgroup_id_y", 8, 1).set_by(".amdhsa_system_sgpr_workgroup_id_y"),
    rsrc2("enable_sgpr_workgroup_id_z", 9, 1).set_by(".amdhsa_system_sgpr_workgroup_id_z"),
    rsrc2("enable_sgpr_workgroup_info", 10, 1).set_by(".amdhsa_system_sgpr_workgroup_info"),
    rsrc2("enable_vgpr_workitem_id", 11, 2).set_by(".amdhsa_system_vgpr_workitem_id"),
    rsrc2("enable_exception_address_watch", 13, 1).zero(),
    rsrc2("enable_exception_memory", 14, 1).zero(),
    rsrc2("granulated_lds_size", 15, 9).zero(),
    rsrc2("enable_exception_ieee_754_fp_invalid_operation", 24, 1).set_by(".amdhsa_exception_fp_ieee_invalid_op"),
    rsrc2("enable_exception_fp_denormal_source", 25, 1).set_by(".amdhsa_exception_fp_denorm_src"),
    rsrc2("enable_exception_ieee_754_fp_division_by_zero", 26, 1).set_by(".amdhsa_exception_fp_ieee_div_zero"),
    rsrc2("enable_exception_ieee_754_fp_overflow", 27, 1).set_by(".amdhsa_exception_fp_ieee_overflow"),
    rsrc2("enable_exception_ieee_754_fp_underflow", 28, 1).set_by(".amdhsa_exception_fp_ieee_underflow"),
    rsrc2("enable_exception_ieee_754_fp_inexact", 29, 1).set_by(".amdhsa_exception_fp_ieee_inexact"),
    rsrc2("enable_exception_int_divide_by_zero", 30, 1).set_by(".amdhsa_exception_int_div_zero"),
    rsrc2("compute_pgm_rsrc2_reserved0", 31, 1).zero(),

    property("enable_sgpr_private_segment_buffer", 0, 1).on(NOT_ARCHITECTED).set_by(".amdhsa_user_sgpr_private_segment_buffer"),
    property("enable_sgpr_private_segment_buffer", 0, 1).on(ARCHITECTED).zero(),
    property("enable_sgpr_dispatch_ptr", 1, 1).set_by(".amdhsa_user_sgpr_dispatch_ptr"),
    property("enable_sgpr_queue_ptr", 2, 1).set_by(".amdhsa_user_sgpr_queue_ptr"),
    property("enable_sgpr_kernarg_segment_ptr", 3, 1).set_by(".amdhsa_user_sgpr_kernarg_segment_ptr"),
    property("enable_sgpr_dispatch_id", 4, 1).set_by(".amdhsa_user_sgpr_dispatch_id"),
    property("enable_sgpr_flat_scratch_init", 5, 1).on(NOT_ARCHITECTED).set_by(".amdhsa_user_sgpr_flat_scratch_init"),
    property("enable_sgpr_flat_scratch_init", 5, 1).on(ARCHITECTED).zero(),
    property("enable_sgpr_private_segment_size", 6, 1).set_by(".amdhsa_user_sgpr_private_segment_size"),
    property("kernel_code_properties_reserved0", 7, 3).zero(),
    property("enable_wavefront_size32", 10, 1).until(Gfx940).zero(),
    property("enable_wavefront_size32", 10, 1).since(Gfx10).set_by(".amdhsa_wavefront_size32"),
    property("uses_dynamic_stack", 11, 1).shown(".amdhsa_uses_dynamic_stack", Shown::FromV5),
    property("kernel_code_properties_reserved1", 12, 4).zero(),

    Field::new("kernarg_preload_spec_length", KernargPreload, 0, 7).on(PRELOAD).shown(".amdhsa_user_sgpr_kernarg_preload_length", Shown::NonZero),
    Field::new("kernarg_preload_spec_length", KernargPreload, 0, 7).on(NO_PRELOAD).shown(".amdhsa_user_sgpr_kernarg_preload_length", Shown::NonZero).zero(),
    Field::new("kernarg_preload_spec_offset", KernargPreload, 7, 9).on(PRELOAD).shown(".amdhsa_user_sgpr_kernarg_preload_offset", Shown::NonZero),
    Field::new("kernarg_preload_spec_offset", KernargPreload, 7, 9).on(NO_PRELOAD).shown(".amdhsa_user_sgpr_kernarg_preload_offset", Shown::NonZero).zero(),
    Field::new("reserved3", Reserved3, 0, 32).zero(),
];

/// Register granules of one generation: how many registers one step of a count stands for.
pub(crate) const fn vgpr_granule(generation: Generation, wave32: bool) -> u32 {
    match (generation, wave32) {
        (Gfx6 | Gfx7 | Gfx8 | Gfx9, _) | (Gfx10 | Gfx11 | Gfx12, false) => 4,
        (Gfx90a | Gfx940, _) | (Gfx10 | Gfx11 | Gfx12, true) | (Gfx125, false) => 8,
        (Gfx125, true) => 16,
    }
}
