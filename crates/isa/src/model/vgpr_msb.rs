//! VGPR MSBs of gfx1250.

use std::ops::Range;

use super::inst::Inst;
use super::table::{Flags, Slot};

/// The VGPR MSBs of gfx1250: the upper bits of vector register numbers.
///
/// `s_set_vgpr_msb` sets them for the instructions that follow, a terminator clears them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VgprMsb(u8);

impl VgprMsb {
    /// The state that `s_set_vgpr_msb` with these bits leaves: two for each of the first, second and third
    /// source and the destination.
    #[must_use]
    pub const fn new(bits: u8) -> Self {
        VgprMsb(bits)
    }

    /// The bits, two for each of the three sources and the destination.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// What is added to the number of a vector register in that operand.
    pub(crate) const fn upper(self, slot: &Slot) -> u16 {
        self.upper_of(slot.msb)
    }

    /// The same for what a slot says in [`Slot::msb`].
    #[inline]
    pub(crate) const fn upper_of(self, msb: u8) -> u16 {
        if msb > 3 { 0 } else { (self.0 as u16 >> (msb * 2) & 3) << 8 }
    }

    /// The bits of the hardware register MODE that hold them.
    pub const MODE_BITS: Range<u8> = 12..20;

    /// From those bits of MODE, where the destination comes first.
    ///
    /// ```
    /// use hsaco_isa::model::VgprMsb;
    /// assert_eq!(VgprMsb::from_mode(0b10_01_00_11), VgprMsb::new(0b11_10_01_00));
    /// ```
    #[must_use]
    pub const fn from_mode(bits: u8) -> Self {
        VgprMsb(bits.rotate_right(2))
    }

    /// The state after an instruction, as `llvm-objdump` follows it from one line to the next.
    #[inline]
    pub fn update(&mut self, inst: &Inst) {
        if let Some(set) = inst.vgpr_msb() {
            *self = set;
        } else if inst.is_terminator() {
            *self = VgprMsb::default();
        }
    }
}

impl Inst {
    /// The VGPR MSBs that it sets: of `s_set_vgpr_msb` alone.
    #[inline]
    #[must_use]
    pub fn vgpr_msb(&self) -> Option<VgprMsb> {
        self.flags().has(Flags::SETS_VGPR_MSB).then_some(VgprMsb(self.low as u8))
    }
}
