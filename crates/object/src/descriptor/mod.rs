//! Kernel descriptors: the 64 bytes (256 in code object V2) that tell the hardware how to start a
//! kernel.
//!
//! ```
//! use hsaco_isa::target::Generation;
//! use hsaco_object::descriptor::KernelDescriptor;
//! let mut descriptor = KernelDescriptor::default();
//! descriptor.compute_pgm_rsrc1 = 5;
//! assert_eq!(descriptor.vgprs(Generation::Gfx940), 48);
//! ```

mod directive;
mod fields;
mod v2;

pub use directive::Directive;
pub(crate) use fields::vgpr_granule;
pub use fields::{Field, Generations, Word};
pub use v2::KernelCodeV2;

use hsaco_bytes::{Error, ErrorKind, Result};
use hsaco_isa::target::Generation;

const CONTEXT: &str = "kernel descriptor";

/// A kernel descriptor of code object V3 and later, every bit of it.
///
/// ```
/// use hsaco_object::descriptor::KernelDescriptor;
/// let mut bytes = [0; KernelDescriptor::SIZE];
/// bytes[8] = 24;
/// let descriptor = KernelDescriptor::from_bytes(&bytes);
/// assert_eq!(descriptor.kernarg_segment_size(), Some(24));
/// assert_eq!(descriptor.to_bytes(), bytes);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct KernelDescriptor {
    /// Bytes of workgroup memory (LDS) that every workgroup gets.
    pub group_segment_fixed_size: u32,
    /// Bytes of scratch memory that every work-item gets.
    pub private_segment_fixed_size: u32,
    /// Bytes of kernel arguments; 0 says nothing, see [`kernarg_segment_size`](Self::kernarg_segment_size).
    pub kernarg_size: u32,
    /// Must be zero.
    pub reserved0: [u8; 4],
    /// Distance from the descriptor to the first instruction, see [`entry`](Self::entry).
    pub kernel_code_entry_byte_offset: i64,
    /// Must be zero.
    pub reserved1: [u8; 20],
    /// The third resource register: its fields depend on the generation.
    pub compute_pgm_rsrc3: u32,
    /// The first resource register: registers, floating-point modes.
    pub compute_pgm_rsrc1: u32,
    /// The second resource register: system registers, exceptions.
    pub compute_pgm_rsrc2: u32,
    /// Which values the kernel wants in its first scalar registers, and its wave size.
    pub kernel_code_properties: u16,
    /// Which kernel arguments arrive in scalar registers.
    pub kernarg_preload: u16,
    /// Must be zero.
    pub reserved3: [u8; 4],
}

/// `N` bytes of `bytes` at `offset`; the offsets of this module's layouts are all inside.
fn array<const N: usize>(bytes: &[u8], offset: usize) -> [u8; N] {
    bytes.get(offset..).and_then(<[u8]>::first_chunk).copied().unwrap_or([0; N])
}

/// Writes `value` at `offset`, where it fits.
fn place(bytes: &mut [u8], offset: usize, value: &[u8]) {
    let target = bytes.get_mut(offset..).and_then(|tail| tail.get_mut(..value.len()));
    if let Some(target) = target {
        target.copy_from_slice(value);
    }
}

impl KernelDescriptor {
    /// Bytes of a descriptor; it is aligned to as many.
    pub const SIZE: usize = 64;

    /// Decodes a descriptor.
    pub fn from_bytes(bytes: &[u8; Self::SIZE]) -> Self {
        let u32_at = |word: Word| u32::from_le_bytes(array(bytes, word.byte_offset()));
        let u16_at = |word: Word| u16::from_le_bytes(array(bytes, word.byte_offset()));
        Self {
            group_segment_fixed_size: u32_at(Word::GroupSegmentFixedSize),
            private_segment_fixed_size: u32_at(Word::PrivateSegmentFixedSize),
            kernarg_size: u32_at(Word::KernargSize),
            reserved0: array(bytes, Word::Reserved0.byte_offset()),
            kernel_code_entry_byte_offset: i64::from_le_bytes(array(
                bytes,
                Word::KernelCodeEntryByteOffset.byte_offset(),
            )),
            reserved1: array(bytes, Word::Reserved1.byte_offset()),
            compute_pgm_rsrc3: u32_at(Word::ComputePgmRsrc3),
            compute_pgm_rsrc1: u32_at(Word::ComputePgmRsrc1),
            compute_pgm_rsrc2: u32_at(Word::ComputePgmRsrc2),
            kernel_code_properties: u16_at(Word::KernelCodeProperties),
            kernarg_preload: u16_at(Word::KernargPreload),
            reserved3: array(bytes, Word::Reserved3.byte_offset()),
        }
    }

    /// Decodes the descriptor at the start of `bytes`.
    ///
    /// ```
    /// use hsaco_object::descriptor::KernelDescriptor;
    /// let error = KernelDescriptor::parse(&[0; 60]).unwrap_err();
    /// assert_eq!(error.to_string(), "truncated: kernel descriptor: 60 bytes of 64 (at offset 0x0)");
    /// ```
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        bytes
            .first_chunk()
            .map(Self::from_bytes)
            .ok_or_else(|| Error::truncated(CONTEXT, 0, Self::SIZE as u64, bytes.len() as u64))
    }

    /// Encodes the descriptor: the inverse of [`from_bytes`](Self::from_bytes).
    pub fn to_bytes(self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        let mut put = |word: Word, value: &[u8]| place(&mut bytes, word.byte_offset(), value);
        put(Word::GroupSegmentFixedSize, &self.group_segment_fixed_size.to_le_bytes());
        put(Word::PrivateSegmentFixedSize, &self.private_segment_fixed_size.to_le_bytes());
        put(Word::KernargSize, &self.kernarg_size.to_le_bytes());
        put(Word::Reserved0, &self.reserved0);
        put(Word::KernelCodeEntryByteOffset, &self.kernel_code_entry_byte_offset.to_le_bytes());
        put(Word::Reserved1, &self.reserved1);
        put(Word::ComputePgmRsrc3, &self.compute_pgm_rsrc3.to_le_bytes());
        put(Word::ComputePgmRsrc1, &self.compute_pgm_rsrc1.to_le_bytes());
        put(Word::ComputePgmRsrc2, &self.compute_pgm_rsrc2.to_le_bytes());
        put(Word::KernelCodeProperties, &self.kernel_code_properties.to_le_bytes());
        put(Word::KernargPreload, &self.kernarg_preload.to_le_bytes());
        put(Word::Reserved3, &self.reserved3);
        bytes
    }

    /// Builds a descriptor from field values; bits that no field names are zero.
    ///
    /// ```
    /// use hsaco_isa::target::Generation;
    /// use hsaco_object::descriptor::KernelDescriptor;
    /// let descriptor = KernelDescriptor::from_bytes(&[0xa5; 64]);
    /// let fields = descriptor.fields(Generation::Gfx11);
    /// assert_eq!(KernelDescriptor::from_fields(fields).unwrap(), descriptor);
    /// ```
    pub fn from_fields<'a>(fields: impl IntoIterator<Item = (&'a Field, u64)>) -> Result<Self> {
        let mut descriptor = Self::default();
        for (field, value) in fields {
            descriptor.set(field, value)?;
        }
        Ok(descriptor)
    }

    /// Every field of a generation with its value; together they are the whole descriptor.
    ///
    /// ```
    /// use hsaco_isa::target::Generation;
    /// use hsaco_object::descriptor::KernelDescriptor;
    /// let mut descriptor = KernelDescriptor::default();
    /// descriptor.compute_pgm_rsrc2 = 3 << 11;
    /// let set: Vec<_> = descriptor
    ///     .fields(Generation::Gfx12)
    ///     .filter(|&(_, value)| value != 0)
    ///     .map(|(field, value)| (field.name, value))
    ///     .collect();
    /// assert_eq!(set, [("enable_vgpr_workitem_id", 3)]);
    /// ```
    pub fn fields(
        self,
        generation: Generation,
    ) -> impl Iterator<Item = (&'static Field, u64)> + Clone {
        Field::all(generation).map(move |field| (field, self.value(field)))
    }

    /// The value of one field.
    ///
    /// ```
    /// use hsaco_isa::target::Generation;
    /// use hsaco_object::descriptor::{Field, KernelDescriptor};
    /// let descriptor = KernelDescriptor::from_bytes(&[0xff; 64]);
    /// let field = Field::by_name(Generation::Gfx9, "granulated_lds_size").unwrap();
    /// assert_eq!(descriptor.value(field), 511);
    /// ```
    pub fn value(self, field: &Field) -> u64 {
        let (lane, shift) = lane(field);
        let lane = u64::from_le_bytes(array(&self.to_bytes(), lane));
        lane >> shift & field.max()
    }

    /// Sets one field, if `value` fits in it.
    ///
    /// ```
    /// use hsaco_isa::target::Generation;
    /// use hsaco_object::descriptor::{Field, KernelDescriptor};
    /// let field = Field::by_name(Generation::Gfx10, "wgp_mode").unwrap();
    /// let mut descriptor = KernelDescriptor::default();
    /// descriptor.set(field, 1).unwrap();
    /// assert_eq!(descriptor.compute_pgm_rsrc1, 1 << 29);
    /// let error = descriptor.set(field, 2).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "limit exceeded: kernel descriptor: wgp_mode is 2, and at most 1 (at offset 0x30)"
    /// );
    /// ```
    pub fn set(&mut self, field: &Field, value: u64) -> Result<()> {
        if value > field.max() {
            let detail = format!("{} is {value}, and at most {}", field.name, field.max());
            let error = Error::new(ErrorKind::LimitExceeded, CONTEXT, detail);
            return Err(error.at(field.word.byte_offset() as u64));
        }
        let mut bytes = self.to_bytes();
        let (offset, shift) = lane(field);
        let old = u64::from_le_bytes(array(&bytes, offset));
        let new = old & !(field.max() << shift) | value << shift;
        place(&mut bytes, offset, &new.to_le_bytes());
        *self = Self::from_bytes(&bytes);
        Ok(())
    }

    /// The fields that should be zero on this generation, and are not.
    ///
    /// ```
    /// use hsaco_isa::target::Generation;
    /// use hsaco_object::descriptor::KernelDescriptor;
    /// let mut descriptor = KernelDescriptor::default();
    /// descriptor.compute_pgm_rsrc2 = 1 << 15;
    /// let (field, value) = descriptor.reserved_bits_set(Generation::Gfx9).next().unwrap();
    /// assert_eq!((field.name, value), ("granulated_lds_size", 1));
    /// ```
    pub fn reserved_bits_set(
        self,
        generation: Generation,
    ) -> impl Iterator<Item = (&'static Field, u64)> + Clone {
        self.fields(generation).filter(|&(field, value)| field.must_be_zero && value != 0)
    }
}

/// What the fields add up to.
impl KernelDescriptor {
    /// Bytes of kernel arguments, or `None` when the descriptor does not say.
    pub fn kernarg_segment_size(self) -> Option<u32> {
        (self.kernarg_size != 0).then_some(self.kernarg_size)
    }

    /// The address of the first instruction, for a descriptor at `descriptor_address`; `None` when
    /// that is no address.
    ///
    /// ```
    /// use hsaco_object::descriptor::KernelDescriptor;
    /// let mut descriptor = KernelDescriptor::default();
    /// descriptor.kernel_code_entry_byte_offset = 0x1100;
    /// assert_eq!(descriptor.entry(0xc00), Some(0x1d00));
    /// assert_eq!(descriptor.entry(u64::MAX), None);
    /// ```
    pub fn entry(self, descriptor_address: u64) -> Option<u64> {
        descriptor_address.checked_add_signed(self.kernel_code_entry_byte_offset)
    }

    /// True when waves have 32 lanes.
    pub fn is_wave32(self, generation: Generation) -> bool {
        generation >= Generation::Gfx10 && self.kernel_code_properties >> 10 & 1 == 1
    }

    /// Lanes of a wave: 32 or 64.
    ///
    /// ```
    /// use hsaco_isa::target::Generation;
    /// use hsaco_object::descriptor::KernelDescriptor;
    /// let mut descriptor = KernelDescriptor::default();
    /// descriptor.kernel_code_properties = 1 << 10;
    /// assert_eq!(descriptor.wavefront_size(Generation::Gfx11), 32);
    /// assert_eq!(descriptor.wavefront_size(Generation::Gfx9), 64);
    /// ```
    pub fn wavefront_size(self, generation: Generation) -> u32 {
        if self.is_wave32(generation) { 32 } else { 64 }
    }

    /// Vector registers that a work-item gets, accumulation registers included where both share one
    /// file ([`agprs`](Self::agprs)).
    pub fn vgprs(self, generation: Generation) -> u32 {
        let blocks = (self.compute_pgm_rsrc1 & 0x3f) + 1;
        blocks * self.vgpr_granule(generation)
    }

    /// The vector registers that the descriptor counts in: its counts are multiples of it.
    ///
    /// ```
    /// use hsaco_isa::target::Generation;
    /// use hsaco_object::descriptor::KernelDescriptor;
    /// assert_eq!(KernelDescriptor::default().vgpr_granule(Generation::Gfx940), 8);
    /// ```
    pub fn vgpr_granule(self, generation: Generation) -> u32 {
        fields::vgpr_granule(generation, self.is_wave32(generation))
    }

    /// The first accumulation register's place in the register file, on generations with one file
    /// for both kinds.
    ///
    /// ```
    /// use hsaco_isa::target::Generation;
    /// use hsaco_object::descriptor::KernelDescriptor;
    /// let mut descriptor = KernelDescriptor::default();
    /// descriptor.compute_pgm_rsrc1 = 15; // 128 registers
    /// descriptor.compute_pgm_rsrc3 = 23; // of which 96 are ordinary ones
    /// assert_eq!(descriptor.accum_offset(Generation::Gfx940), Some(96));
    /// assert_eq!(descriptor.agprs(Generation::Gfx940), Some(32));
    /// assert_eq!(descriptor.agprs(Generation::Gfx11), None);
    /// ```
    pub fn accum_offset(self, generation: Generation) -> Option<u32> {
        matches!(generation, Generation::Gfx90a | Generation::Gfx940)
            .then_some(((self.compute_pgm_rsrc3 & 0x3f) + 1) * 4)
    }

    /// Accumulation registers that a work-item gets, on generations with one file for both kinds.
    pub fn agprs(self, generation: Generation) -> Option<u32> {
        let accum_offset = self.accum_offset(generation)?;
        Some(self.vgprs(generation).saturating_sub(accum_offset))
    }

    /// Scalar registers that a wave gets; `None` from gfx10 on, where every wave gets all of them.
    ///
    /// ```
    /// use hsaco_isa::target::Generation;
    /// use hsaco_object::descriptor::KernelDescriptor;
    /// let mut descriptor = KernelDescriptor::default();
    /// descriptor.compute_pgm_rsrc1 = 4 << 6;
    /// assert_eq!(descriptor.sgprs(Generation::Gfx8), Some(40));
    /// assert_eq!(descriptor.sgprs(Generation::Gfx9), Some(48));
    /// assert_eq!(descriptor.sgprs(Generation::Gfx10), None);
    /// ```
    pub fn sgprs(self, generation: Generation) -> Option<u32> {
        let count = self.compute_pgm_rsrc1 >> 6 & 0xf;
        match generation {
            Generation::Gfx6 | Generation::Gfx7 | Generation::Gfx8 => Some((count + 1) * 8),
            Generation::Gfx9 | Generation::Gfx90a | Generation::Gfx940 => {
                Some((count / 2 + 1) * 16)
            }
            _ => None,
        }
    }

    /// Scalar registers that are set up before the kernel starts, those for the whole grid only.
    pub fn user_sgprs(self, generation: Generation) -> u32 {
        let mask = if generation >= Generation::Gfx125 { 0x3f } else { 0x1f };
        self.compute_pgm_rsrc2 >> 1 & mask
    }

    /// True when a workgroup may spread over both compute units of a pair.
    ///
    /// ```
    /// use hsaco_isa::target::Generation;
    /// use hsaco_object::descriptor::KernelDescriptor;
    /// let descriptor = KernelDescriptor { compute_pgm_rsrc1: 1 << 29, ..KernelDescriptor::default() };
    /// assert!(descriptor.is_wgp_mode(Generation::Gfx11));
    /// assert!(!descriptor.is_wgp_mode(Generation::Gfx9));
    /// ```
    pub fn is_wgp_mode(self, generation: Generation) -> bool {
        generation >= Generation::Gfx10 && self.compute_pgm_rsrc1 >> 29 & 1 == 1
    }

    /// True when the kernel's stack size is not known before it runs (code object V5 and later).
    pub fn uses_dynamic_stack(self) -> bool {
        self.kernel_code_properties & 1 << 11 != 0
    }

    /// How many dwords of kernel arguments arrive in scalar registers.
    ///
    /// ```
    /// use hsaco_object::descriptor::KernelDescriptor;
    /// let mut descriptor = KernelDescriptor::default();
    /// descriptor.kernarg_preload = 2 << 7 | 6;
    /// assert_eq!(descriptor.kernarg_preload_length(), 6);
    /// assert_eq!(descriptor.kernarg_preload_offset(), 2);
    /// ```
    pub fn kernarg_preload_length(self) -> u16 {
        self.kernarg_preload & 0x7f
    }

    /// The first of those dwords, counted from the start of the kernel arguments.
    pub fn kernarg_preload_offset(self) -> u16 {
        self.kernarg_preload >> 7
    }
}

/// The byte offset of the eight aligned bytes that hold a field, and how far up it is in them.
fn lane(field: &Field) -> (usize, usize) {
    let bit = field.bit_offset();
    (bit / 64 * 8, bit % 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GENERATIONS: [Generation; 10] = [
        Generation::Gfx6,
        Generation::Gfx7,
        Generation::Gfx8,
        Generation::Gfx9,
        Generation::Gfx90a,
        Generation::Gfx940,
        Generation::Gfx10,
        Generation::Gfx11,
        Generation::Gfx12,
        Generation::Gfx125,
    ];

    /// Bytes that repeat no pattern of a power of two.
    fn noise(seed: u32) -> [u8; 64] {
        let mut state = seed;
        std::array::from_fn(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state.to_be_bytes()[0]
        })
    }

    #[test]
    fn fields_cover_every_bit_once() {
        for generation in GENERATIONS {
            let mut seen = [0_u8; 512];
            for field in Field::all(generation) {
                for bit in 0..usize::from(field.width) {
                    seen[field.bit_offset() + bit] += 1;
                }
            }
            assert_eq!(seen, [1; 512], "{generation:?}");
        }
    }

    #[test]
    fn no_field_crosses_its_lane() {
        for field in fields::FIELDS {
            assert!(lane(field).1 + usize::from(field.width) <= 64, "{}", field.name);
        }
    }

    #[test]
    fn names_are_unique_in_a_generation() {
        for generation in GENERATIONS {
            for field in Field::all(generation) {
                assert_eq!(Field::by_name(generation, field.name), Some(field));
            }
        }
    }

    #[test]
    fn bytes_and_fields_round_trip() {
        for seed in 0..200 {
            let bytes = noise(seed);
            let descriptor = KernelDescriptor::from_bytes(&bytes);
            assert_eq!(descriptor.to_bytes(), bytes);
            for generation in GENERATIONS {
                let again = KernelDescriptor::from_fields(descriptor.fields(generation)).unwrap();
                assert_eq!(again.to_bytes(), bytes, "{generation:?}");
            }
        }
    }

    #[test]
    fn each_reserved_bit_is_reported() {
        for generation in GENERATIONS {
            for field in Field::all(generation) {
                let mut descriptor = KernelDescriptor::default();
                descriptor.set(field, field.max()).unwrap();
                let reported: Vec<_> = descriptor.reserved_bits_set(generation).collect();
                let expected: &[_] = &[(field, field.max())];
                let expected = if field.must_be_zero { expected } else { &[] };
                assert_eq!(reported, expected, "{generation:?}");
            }
        }
    }

    /// Accessors read bits, for speed; the table says which.
    #[test]
    fn accessors_read_the_fields_of_the_table() {
        for (seed, generation) in (0..200).flat_map(|seed| GENERATIONS.map(|it| (seed, it))) {
            let descriptor = KernelDescriptor::from_bytes(&noise(seed));
            let field = |name| {
                let field = Field::by_name(generation, name);
                field.map_or(0, |it| u32::try_from(descriptor.value(it)).unwrap())
            };
            let is_wave32 =
                generation >= Generation::Gfx10 && field("enable_wavefront_size32") == 1;
            assert_eq!(descriptor.is_wave32(generation), is_wave32);
            let granule = fields::vgpr_granule(generation, is_wave32);
            let vgprs = (field("granulated_workitem_vgpr_count") + 1) * granule;
            assert_eq!(descriptor.vgprs(generation), vgprs);
            let accum_offset = Field::by_name(generation, "accum_offset");
            let accum_offset = accum_offset.map(|_| (field("accum_offset") + 1) * 4);
            assert_eq!(descriptor.accum_offset(generation), accum_offset);
            let count = field("granulated_wavefront_sgpr_count");
            if let Some(sgprs) = descriptor.sgprs(generation) {
                assert!(sgprs == (count + 1) * 8 || sgprs == (count / 2 + 1) * 16);
            }
            assert_eq!(descriptor.user_sgprs(generation), field("user_sgpr_count"));
            assert_eq!(descriptor.is_wgp_mode(generation), field("wgp_mode") == 1);
            assert_eq!(descriptor.uses_dynamic_stack(), field("uses_dynamic_stack") == 1);
            assert_eq!(
                u32::from(descriptor.kernarg_preload_length()),
                field("kernarg_preload_spec_length")
            );
            assert_eq!(
                u32::from(descriptor.kernarg_preload_offset()),
                field("kernarg_preload_spec_offset")
            );
        }
    }

    #[test]
    fn registers_come_in_granules() {
        let mut descriptor = KernelDescriptor { compute_pgm_rsrc1: 2, ..Default::default() };
        let vgprs = |descriptor: KernelDescriptor| GENERATIONS.map(|it| descriptor.vgprs(it));
        assert_eq!(vgprs(descriptor), [12, 12, 12, 12, 24, 24, 12, 12, 12, 24]);
        descriptor.kernel_code_properties = 1 << 10;
        assert_eq!(vgprs(descriptor), [12, 12, 12, 12, 24, 24, 24, 24, 24, 48]);
    }

    #[test]
    fn accumulation_registers_never_go_below_none() {
        let descriptor = KernelDescriptor { compute_pgm_rsrc3: 63, ..Default::default() };
        assert_eq!(descriptor.accum_offset(Generation::Gfx90a), Some(256));
        assert_eq!(descriptor.agprs(Generation::Gfx90a), Some(0));
    }
}
