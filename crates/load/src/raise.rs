//! What kernels need beyond what they have.

use hsaco_analysis::Shortage;
use hsaco_object::descriptor::KernelDescriptor;
use hsaco_object::write::{MetadataEdit, NewValue, Registers};

use crate::id::ObjectId;
use crate::image::Image;

/// A resource of which a kernel has less than it needs with all that it calls, with the names of the functions on the way.
pub type NamedShortage = Shortage<Vec<String>>;

/// A kernel that needs more than it was compiled to have.
#[derive(Clone, Debug)]
pub struct Raise {
    /// The object that it is in.
    pub object: ObjectId,
    /// Its name, without `.kd`.
    pub kernel: String,
    /// What it has too little of.
    pub shortages: Vec<NamedShortage>,
    /// Whether it needs a stack of a size that only run time knows, and was compiled without.
    pub needs_dynamic_stack: bool,
    /// Most work-items of a workgroup that still fit, where its metadata allows more.
    pub workgroup_limit: Option<u64>,
    /// Whether descriptor and metadata were raised; else this only says what is missing.
    pub is_applied: bool,
    pub(crate) number: u32,
    pub(crate) address: u64,
    pub(crate) descriptor: KernelDescriptor,
    pub(crate) values: Vec<(String, NewValue)>,
    pub(crate) registers: Registers,
}

impl Raise {
    /// Writes the raised descriptor into the memory of its object.
    pub(crate) fn write(&self, images: &mut [Image]) {
        let Some(image) = images.get_mut(self.object.index()) else { return };
        let address = self.address.wrapping_add(image.delta);
        let bytes = self.descriptor.to_bytes();
        let holds = |it: &&mut crate::image::MemorySegment| it.range().contains(&address);
        let Some(segment) = image.segments.iter_mut().find(holds) else { return };
        let start = usize::try_from(address - segment.address).unwrap_or(usize::MAX);
        let place = segment.bytes.get_mut(start..).and_then(|it| it.get_mut(..bytes.len()));
        if let Some(place) = place {
            place.copy_from_slice(&bytes);
        }
    }

    pub(crate) fn write_metadata(
        &self,
        metadata: &mut MetadataEdit<'_>,
    ) -> hsaco_bytes::Result<()> {
        for (key, value) in &self.values {
            metadata.set(&self.kernel, key, value.clone())?;
        }
        Ok(())
    }
}
