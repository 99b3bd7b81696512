//! Code object V2's descriptor: the 256 bytes before a kernel's first instruction.
//!
//! Derived from LLVM's AMDGPU definitions (Apache-2.0 WITH LLVM-exception).

use hsaco_bytes::{Error, Result};

use super::{array, place};

/// Declares the structure with its layout once: name, type and byte offset of each field.
macro_rules! layout {
    ($($(#[$doc:meta])* $name:ident: $kind:ty = $offset:literal,)*) => {
        /// `amd_kernel_code_t`, at the address of a code object V2 kernel symbol.
        ///
        /// ```
        /// use hsaco_object::descriptor::KernelCodeV2;
        /// let mut bytes = [0; KernelCodeV2::SIZE];
        /// bytes[72] = 24;
        /// bytes[103] = 6;
        /// let code = KernelCodeV2::from_bytes(&bytes);
        /// assert_eq!(code.kernarg_segment_byte_size, 24);
        /// assert_eq!(code.lanes(), Some(64));
        /// assert_eq!(code.to_bytes(), bytes);
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub struct KernelCodeV2 {
            $($(#[$doc])* pub $name: $kind,)*
        }

        impl KernelCodeV2 {
            /// Decodes a descriptor.
            pub fn from_bytes(bytes: &[u8; Self::SIZE]) -> Self {
                Self { $($name: <$kind as Bytes>::read(bytes, $offset),)* }
            }

            /// Encodes the descriptor: the inverse of [`from_bytes`](Self::from_bytes).
            pub fn to_bytes(self) -> [u8; Self::SIZE] {
                let mut bytes = [0; Self::SIZE];
                $(self.$name.write(&mut bytes, $offset);)*
                bytes
            }
        }

        #[cfg(test)]
        const LAYOUT: &[(usize, usize)] = &[$(($offset, size_of::<$kind>()),)*];
    };
}

layout! {
    /// Major version of this structure: 1.
    amd_kernel_code_version_major: u32 = 0,
    /// Minor version of this structure.
    amd_kernel_code_version_minor: u32 = 4,
    /// 1 for an AMD GPU.
    amd_machine_kind: u16 = 8,
    /// Instruction set version, major part.
    amd_machine_version_major: u16 = 10,
    /// Instruction set version, minor part.
    amd_machine_version_minor: u16 = 12,
    /// Instruction set version, stepping.
    amd_machine_version_stepping: u16 = 14,
    /// Distance from this structure to the first instruction, see [`entry`](Self::entry).
    kernel_code_entry_byte_offset: i64 = 16,
    /// Distance from this structure to the instructions to prefetch.
    kernel_code_prefetch_byte_offset: i64 = 24,
    /// Bytes to prefetch; 0 for none.
    kernel_code_prefetch_byte_size: u64 = 32,
    /// The most scratch memory the kernel may back with memory.
    max_scratch_backing_memory_byte_size: u64 = 40,
    /// The first resource register.
    compute_pgm_rsrc1: u32 = 48,
    /// The second resource register.
    compute_pgm_rsrc2: u32 = 52,
    /// Which values the kernel wants in its first scalar registers, and more flags.
    code_properties: u32 = 56,
    /// Bytes of scratch memory that every work-item gets.
    workitem_private_segment_byte_size: u32 = 60,
    /// Bytes of workgroup memory that every workgroup gets.
    workgroup_group_segment_byte_size: u32 = 64,
    /// Bytes of global data share.
    gds_segment_byte_size: u32 = 68,
    /// Bytes of kernel arguments.
    kernarg_segment_byte_size: u64 = 72,
    /// Fine-grained barriers per workgroup.
    workgroup_fbarrier_count: u32 = 80,
    /// Scalar registers used.
    wavefront_sgpr_count: u16 = 84,
    /// Vector registers used.
    workitem_vgpr_count: u16 = 86,
    /// First vector register kept for others.
    reserved_vgpr_first: u16 = 88,
    /// How many vector registers are kept for others.
    reserved_vgpr_count: u16 = 90,
    /// First scalar register kept for others.
    reserved_sgpr_first: u16 = 92,
    /// How many scalar registers are kept for others.
    reserved_sgpr_count: u16 = 94,
    /// Register with the wave's scratch offset, for a debugger.
    debug_wavefront_private_segment_offset_sgpr: u16 = 96,
    /// First register with the scratch descriptor, for a debugger.
    debug_private_segment_buffer_sgpr: u16 = 98,
    /// Alignment of the kernel arguments, as a power of two.
    kernarg_segment_alignment: u8 = 100,
    /// Alignment of workgroup memory, as a power of two.
    group_segment_alignment: u8 = 101,
    /// Alignment of scratch memory, as a power of two.
    private_segment_alignment: u8 = 102,
    /// Lanes of a wave, as a power of two, see [`lanes`](Self::lanes).
    wavefront_size: u8 = 103,
    /// Call convention; -1 for none.
    call_convention: i32 = 104,
    /// Must be zero.
    reserved: [u8; 12] = 108,
    /// Address of a loader's data about this kernel, 0 in a file.
    runtime_loader_kernel_symbol: u64 = 120,
    /// HSAIL control directives.
    control_directives: [u8; 128] = 128,
}

impl KernelCodeV2 {
    /// Bytes of the structure; it is aligned to as many.
    pub const SIZE: usize = 256;

    /// Decodes the descriptor at the start of `bytes`.
    ///
    /// ```
    /// use hsaco_object::descriptor::KernelCodeV2;
    /// let error = KernelCodeV2::parse(&[0; 64]).unwrap_err();
    /// assert_eq!(error.to_string(), "truncated: amd_kernel_code_t: 64 bytes of 256 (at offset 0x0)");
    /// ```
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        bytes.first_chunk().map(Self::from_bytes).ok_or_else(|| {
            Error::truncated("amd_kernel_code_t", 0, Self::SIZE as u64, bytes.len() as u64)
        })
    }

    /// The address of the first instruction, for a kernel symbol at `address`; `None` when that is
    /// no address.
    pub fn entry(self, address: u64) -> Option<u64> {
        address.checked_add_signed(self.kernel_code_entry_byte_offset)
    }

    /// Lanes of a wave, or `None` for a size that no integer holds.
    pub fn lanes(self) -> Option<u32> {
        1_u32.checked_shl(self.wavefront_size.into())
    }

    /// True when the private segment's size is not known before the kernel runs.
    pub fn is_dynamic_call_stack(self) -> bool {
        self.code_properties & 1 << 20 != 0
    }

    /// True when retry after page faults must be on.
    pub fn is_xnack_enabled(self) -> bool {
        self.code_properties & 1 << 22 != 0
    }

    /// Scalar registers that are set up before the kernel starts, those for the whole grid only.
    pub fn user_sgprs(self) -> u32 {
        self.compute_pgm_rsrc2 >> 1 & 0x1f
    }
}

/// A value with a fixed place in bytes.
trait Bytes: Sized {
    fn read(bytes: &[u8], offset: usize) -> Self;
    fn write(&self, bytes: &mut [u8], offset: usize);
}

macro_rules! little_endian {
    ($($int:ty)*) => {$(
        impl Bytes for $int {
            fn read(bytes: &[u8], offset: usize) -> Self {
                Self::from_le_bytes(array(bytes, offset))
            }

            fn write(&self, bytes: &mut [u8], offset: usize) {
                place(bytes, offset, &self.to_le_bytes());
            }
        }
    )*};
}

little_endian!(u8 u16 u32 u64 i32 i64);

impl<const N: usize> Bytes for [u8; N] {
    fn read(bytes: &[u8], offset: usize) -> Self {
        array(bytes, offset)
    }

    fn write(&self, bytes: &mut [u8], offset: usize) {
        place(bytes, offset, self);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_has_no_gap() {
        let mut end = 0;
        for &(offset, size) in LAYOUT {
            assert_eq!(offset, end);
            end += size;
        }
        assert_eq!(end, KernelCodeV2::SIZE);
    }

    #[test]
    fn every_byte_survives() {
        let bytes = std::array::from_fn(|index| u8::try_from(index).unwrap());
        assert_eq!(KernelCodeV2::from_bytes(&bytes).to_bytes(), bytes);
    }
}
