//! Operands whose width other operands decide: image data and addresses, matrices by their formats.

use super::Model;
use super::arch::Arch;
use super::generated::{IMAGES, OPERAND_NAMES};
use super::inst::Inst;
use super::table::{Flags, Image, ImageEncoding, Kind, Slot, Source};

/// Coordinates and gradients of the image dimensions, by encoding.
const DIMENSIONS: [(u8, u8); 8] = [(1, 2), (2, 4), (3, 6), (3, 4), (2, 2), (3, 4), (3, 4), (4, 4)];

impl Model {
    /// How many registers an operand of that kind spans.
    pub(crate) fn dwords(&self, kind: &Kind) -> u8 {
        match kind.source {
            Source::Mask | Source::SdwaMask if self.arch.has(Arch::WAVE32) => 1,
            Source::Mask | Source::SdwaMask => 2,
            _ => kind.dwords,
        }
    }

    /// How many registers an operand spans.
    pub(crate) fn operand_dwords(&self, inst: &Inst, slot: &'static Slot, kind: &Kind) -> u8 {
        self.resized_dwords(inst, slot).unwrap_or_else(|| self.dwords(kind))
    }

    /// Its width where other operands decide it, and not as the form says.
    pub(crate) fn resized_dwords(&self, inst: &Inst, slot: &'static Slot) -> Option<u8> {
        let name = OPERAND_NAMES.get(usize::from(slot.name)).copied().unwrap_or_default();
        match IMAGES.get(usize::from(inst.shape().image).wrapping_sub(1)) {
            Some(image) => self.image_dwords(inst, image, slot, name),
            None if inst.has_formats() => self.matrix_dwords(inst, name),
            None => None,
        }
    }

    /// How many registers a matrix takes in its format.
    fn matrix_dwords(&self, inst: &Inst, name: &str) -> Option<u8> {
        let (mfma, wmma) = match name {
            "src0" => ("cbsz", "matrix_a_fmt"),
            "src1" => ("blgp", "matrix_b_fmt"),
            _ => return None,
        };
        let of_format = |format, full: u8| match format {
            2 | 3 => full / 4 * 3,
            4 => full / 2,
            _ => full,
        };
        let is_known = |name| inst.operand(name).is_none_or(|format| format <= 4);
        match (inst.operand(wmma), inst.operand(mfma)) {
            // LLVM has no form for a format that does not exist, whichever of the two it is.
            (Some(_), _) if !is_known("matrix_a_fmt") || !is_known("matrix_b_fmt") => None,
            (Some(format), _) => Some(of_format(format, 16)),
            (_, Some(format)) => Some(of_format(format, 8)),
            _ => None,
        }
    }

    /// The width of an image operand, where it is not what the form says.
    fn image_dwords(
        &self,
        inst: &Inst,
        image: &Image,
        slot: &'static Slot,
        name: &str,
    ) -> Option<u8> {
        if image.flags & Image::BVH != 0 {
            return None;
        }
        let sizes = self.image_sizes(inst, image)?;
        match name {
            "vdata" | "vdst" => (sizes.data != image.data).then_some(sizes.data),
            _ if sizes.widened_address.is_some_and(|widened| std::ptr::eq(widened.0, slot)) => {
                sizes.widened_address.map(|w| w.1)
            }
            _ => None,
        }
    }

    /// What the data mask, the dimension and the rest make of an image instruction; none when LLVM leaves it as it is.
    fn image_sizes(&self, inst: &Inst, image: &Image) -> Option<ImageSizes> {
        let flags = inst.flags();
        let mut address = image.address;
        let separate = image.encoding == ImageEncoding::Separate;
        let mut partial = false;
        if self.arch.is_gfx10_plus() {
            address = self.address_dwords(inst, image)?;
            if !separate {
                if !flags.any(Flags::VSAMPLE) && address > 12 {
                    address = 16;
                }
            } else if address > image.address {
                if !self.arch.has(Arch::PARTIAL_NSA) {
                    return None;
                }
                partial = true;
            }
        }
        let data = self.data_dwords(inst);
        let unchanged = data == image.data && address == image.address;
        if unchanged || !image.shapes.contains(&(data, address)) {
            return None;
        }
        if data != image.data && !self.fits(inst, inst.named("vdata")?, data) {
            return None;
        }
        let widens = self.arch.has(Arch::NSA) && (!separate || partial) && address != image.address;
        let widened_address = if widens {
            let slot = if partial { self.last_address(inst)? } else { inst.named("vaddr0")? };
            let dwords = if partial { self.partial_dwords(image, address) } else { address };
            if !self.fits(inst, slot, dwords) {
                return None;
            }
            Some((slot, dwords))
        } else {
            None
        };
        Some(ImageSizes {
            data,
            widened_address,
            addresses: separate.then_some(address).filter(|_| !widens),
        })
    }

    /// How many registers of data the mask and the rest ask for.
    pub(crate) fn data_dwords(&self, inst: &Inst) -> u8 {
        let mask = inst.operand("dmask").unwrap_or(0) & 15;
        let mut data =
            if inst.flags().any(Flags::GATHER4) { 4 } else { mask.count_ones().max(1) as u8 };
        if inst.operand("d16").is_some_and(|d16| d16 != 0) && !self.arch.has(Arch::UNPACKED_D16) {
            data = data.div_ceil(2);
        }
        data + u8::from(inst.operand("tfe").is_some_and(|tfe| tfe != 0))
    }

    /// How many words of address the dimension and the rest ask for, from gfx10 on.
    pub(crate) fn address_dwords(&self, inst: &Inst, image: &Image) -> Option<u8> {
        let (coordinates, gradients) = *DIMENSIONS.get(inst.operand("dim")? as usize)?;
        let has = |flag| image.flags & flag != 0;
        let a16 = inst.operand("a16").is_some_and(|a16| a16 != 0);
        let components =
            if has(Image::COORDINATES) { coordinates } else { 0 } + u8::from(has(Image::LOD));
        let mut words = image.extra + if a16 { components.div_ceil(2) } else { components };
        if has(Image::GRADIENTS) {
            let halves = a16 && !self.arch.has(Arch::G16) || has(Image::G16);
            words += if halves { (gradients / 2).next_multiple_of(2) } else { gradients };
        }
        Some(words)
    }

    /// With some address registers of their own, the last operand holds all the rest.
    fn partial_dwords(&self, image: &Image, address: u8) -> u8 {
        address - image.address + 1
    }

    fn last_address(&self, inst: &Inst) -> Option<&'static Slot> {
        let slots = inst.slots();
        let resource = slots.iter().position(|slot| {
            matches!(OPERAND_NAMES.get(usize::from(slot.name)), Some(&"srsrc" | &"rsrc"))
        })?;
        slots.get(resource.checked_sub(1)?)
    }

    fn fits(&self, inst: &Inst, slot: &Slot, dwords: u8) -> bool {
        let first = self.code(inst, slot).number();
        let aligned = dwords == 1 || first.is_multiple_of(2) || !self.arch.has(Arch::ALIGNED_VGPRS);
        aligned && u16::from(dwords) + first <= 256
    }

    /// How many of an image's separate address registers print; the rest are left out.
    pub(crate) fn separate_addresses(&self, inst: &Inst) -> Option<u8> {
        let image = IMAGES.get(usize::from(inst.shape().image).checked_sub(1)?)?;
        if image.flags & Image::BVH != 0 {
            return None;
        }
        self.image_sizes(inst, image)?.addresses
    }
}

/// The sizes that an image instruction really has.
struct ImageSizes {
    data: u8,
    widened_address: Option<(&'static Slot, u8)>,
    addresses: Option<u8>,
}
