//! What an argument holds, by its name in the metadata.

use hsaco_bytes::Str;

macro_rules! value_kinds {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// What an argument holds.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ValueKind<'a> {
            $($(#[$doc])* $variant,)*
            /// A kind this crate has no name for.
            Other(Str<'a>),
        }

        impl ValueKind<'static> {
            /// Every kind that has a name.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];
        }

        impl<'a> ValueKind<'a> {
            /// The kind of this name.
            pub fn from_name(name: Str<'a>) -> Self {
                match name.as_bytes() {
                    $(bytes if bytes == $name.as_bytes() => Self::$variant,)*
                    _ => Self::Other(name),
                }
            }

            /// The name in the metadata.
            pub fn name(self) -> Str<'a> {
                match self {
                    $(Self::$variant => Str::new($name.as_bytes()),)*
                    Self::Other(name) => name,
                }
            }
        }
    };
}

value_kinds! {
    /// The bytes themselves.
    ByValue = "by_value",
    /// A pointer to global memory.
    GlobalBuffer = "global_buffer",
    /// A pointer to LDS whose size the launch decides.
    DynamicSharedPointer = "dynamic_shared_pointer",
    /// A sampler.
    Sampler = "sampler",
    /// An image.
    Image = "image",
    /// An OpenCL pipe.
    Pipe = "pipe",
    /// An OpenCL queue.
    Queue = "queue",
    /// A hidden slot that is not used.
    HiddenNone = "hidden_none",
    /// OpenCL global offset, x.
    HiddenGlobalOffsetX = "hidden_global_offset_x",
    /// OpenCL global offset, y.
    HiddenGlobalOffsetY = "hidden_global_offset_y",
    /// OpenCL global offset, z.
    HiddenGlobalOffsetZ = "hidden_global_offset_z",
    /// OpenCL printf buffer.
    HiddenPrintfBuffer = "hidden_printf_buffer",
    /// Host call buffer.
    HiddenHostcallBuffer = "hidden_hostcall_buffer",
    /// OpenCL default queue.
    HiddenDefaultQueue = "hidden_default_queue",
    /// OpenCL completion action.
    HiddenCompletionAction = "hidden_completion_action",
    /// Multi-grid synchronisation.
    HiddenMultigridSyncArg = "hidden_multigrid_sync_arg",
    /// Number of whole workgroups, x.
    HiddenBlockCountX = "hidden_block_count_x",
    /// Number of whole workgroups, y.
    HiddenBlockCountY = "hidden_block_count_y",
    /// Number of whole workgroups, z.
    HiddenBlockCountZ = "hidden_block_count_z",
    /// Workgroup size, x.
    HiddenGroupSizeX = "hidden_group_size_x",
    /// Workgroup size, y.
    HiddenGroupSizeY = "hidden_group_size_y",
    /// Workgroup size, z.
    HiddenGroupSizeZ = "hidden_group_size_z",
    /// Size of the last, partial workgroup, x.
    HiddenRemainderX = "hidden_remainder_x",
    /// Size of the last, partial workgroup, y.
    HiddenRemainderY = "hidden_remainder_y",
    /// Size of the last, partial workgroup, z.
    HiddenRemainderZ = "hidden_remainder_z",
    /// Number of grid dimensions.
    HiddenGridDims = "hidden_grid_dims",
    /// Device heap.
    HiddenHeapV1 = "hidden_heap_v1",
    /// Size of dynamic LDS.
    HiddenDynamicLdsSize = "hidden_dynamic_lds_size",
    /// High half of the private aperture.
    HiddenPrivateBase = "hidden_private_base",
    /// High half of the shared aperture.
    HiddenSharedBase = "hidden_shared_base",
    /// Queue pointer.
    HiddenQueuePtr = "hidden_queue_ptr",
}

impl ValueKind<'_> {
    /// True for arguments that the runtime supplies and the caller never sees.
    pub fn is_hidden(self) -> bool {
        self.name().as_bytes().starts_with(b"hidden_")
    }
}
