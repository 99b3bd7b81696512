//! What a kernel needs of a device.

use hsaco_isa::target::Generation;

use crate::descriptor::{KernelCodeV2, KernelDescriptor};

/// What a kernel needs of a device. `None` is "not known", never zero.
///
/// The numbers are the metadata's. A kernel without metadata has the descriptor's, where register
/// counts are what the hardware allocates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Resources {
    /// Vector registers, accumulation registers included where they share a file.
    pub vgprs: Option<u64>,
    /// Accumulation registers.
    pub agprs: Option<u64>,
    /// Scalar registers.
    pub sgprs: Option<u64>,
    /// Static LDS, in bytes.
    pub lds: Option<u64>,
    /// Scratch of one work-item, in bytes.
    pub scratch: Option<u64>,
    /// Size of the argument segment, in bytes.
    pub kernarg_size: Option<u64>,
    /// Work-items of a wave.
    pub wavefront_size: Option<u64>,
    /// Most work-items of a workgroup.
    pub max_workgroup_size: Option<u64>,
}

impl Resources {
    pub(crate) fn from_descriptor(
        descriptor: &KernelDescriptor,
        generation: Option<Generation>,
    ) -> Self {
        Self {
            vgprs: generation.map(|it| u64::from(descriptor.vgprs(it))),
            agprs: generation.and_then(|it| descriptor.agprs(it)).map(u64::from),
            sgprs: generation.and_then(|it| descriptor.sgprs(it)).map(u64::from),
            lds: Some(u64::from(descriptor.group_segment_fixed_size)),
            scratch: Some(u64::from(descriptor.private_segment_fixed_size)),
            kernarg_size: descriptor.kernarg_segment_size().map(u64::from),
            wavefront_size: generation.map(|it| u64::from(descriptor.wavefront_size(it))),
            max_workgroup_size: None,
        }
    }

    pub(crate) fn from_v2(code: &KernelCodeV2) -> Self {
        Self {
            vgprs: Some(u64::from(code.workitem_vgpr_count)),
            agprs: None,
            sgprs: Some(u64::from(code.wavefront_sgpr_count)),
            lds: Some(u64::from(code.workgroup_group_segment_byte_size)),
            scratch: Some(u64::from(code.workitem_private_segment_byte_size)),
            kernarg_size: Some(code.kernarg_segment_byte_size),
            wavefront_size: code.lanes().filter(|&lanes| lanes > 1).map(u64::from),
            max_workgroup_size: None,
        }
    }

    /// Sizes that the metadata leaves out, from the descriptor. Register counts are not mixed: the
    /// metadata's are what the code uses, the descriptor's what the hardware allocates.
    pub(crate) fn or_described(self, described: impl FnOnce() -> Self) -> Self {
        let sizes = [self.lds, self.scratch, self.kernarg_size, self.wavefront_size];
        if sizes.iter().all(Option::is_some) {
            return self;
        }
        let described = described();
        Self {
            lds: self.lds.or(described.lds),
            scratch: self.scratch.or(described.scratch),
            kernarg_size: self.kernarg_size.or(described.kernarg_size),
            wavefront_size: self.wavefront_size.or(described.wavefront_size),
            ..self
        }
    }
}
