//! Hidden arguments: what runtimes add behind the arguments of the source. The one table of their names and sizes.

macro_rules! hidden {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $size:expr;)*) => {
        /// The kinds of hidden arguments, of every code object version.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Hidden {
            $($(#[$doc])* $variant,)*
        }

        impl Hidden {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// How many there are.
            pub const COUNT: usize = Self::ALL.len();

            /// The name in the metadata.
            ///
            /// ```
            /// use hsaco_object::metadata::Hidden;
            /// assert_eq!(Hidden::HostcallBuffer.name(), "hidden_hostcall_buffer");
            /// ```
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// Its size; none for a slot that is not used, which may have any.
            pub const fn size(self) -> Option<u32> {
                match self {
                    $(Self::$variant => $size,)*
                }
            }
        }
    };
}

hidden! {
    /// A slot that is not used.
    None = "hidden_none", None;
    /// Offset of the grid in x, in work-items.
    GlobalOffsetX = "hidden_global_offset_x", Some(8);
    /// Offset of the grid in y, in work-items.
    GlobalOffsetY = "hidden_global_offset_y", Some(8);
    /// Offset of the grid in z, in work-items.
    GlobalOffsetZ = "hidden_global_offset_z", Some(8);
    /// Address of the OpenCL printf buffer.
    PrintfBuffer = "hidden_printf_buffer", Some(8);
    /// Address of the buffer for calls to the host.
    HostcallBuffer = "hidden_hostcall_buffer", Some(8);
    /// The OpenCL default queue.
    DefaultQueue = "hidden_default_queue", Some(8);
    /// The OpenCL completion action.
    CompletionAction = "hidden_completion_action", Some(8);
    /// Address of what synchronises several grids.
    MultigridSyncArg = "hidden_multigrid_sync_arg", Some(8);
    /// Whole workgroups in x.
    BlockCountX = "hidden_block_count_x", Some(4);
    /// Whole workgroups in y.
    BlockCountY = "hidden_block_count_y", Some(4);
    /// Whole workgroups in z.
    BlockCountZ = "hidden_block_count_z", Some(4);
    /// Work-items of a workgroup in x.
    GroupSizeX = "hidden_group_size_x", Some(2);
    /// Work-items of a workgroup in y.
    GroupSizeY = "hidden_group_size_y", Some(2);
    /// Work-items of a workgroup in z.
    GroupSizeZ = "hidden_group_size_z", Some(2);
    /// Work-items of the partial workgroup in x.
    RemainderX = "hidden_remainder_x", Some(2);
    /// Work-items of the partial workgroup in y.
    RemainderY = "hidden_remainder_y", Some(2);
    /// Work-items of the partial workgroup in z.
    RemainderZ = "hidden_remainder_z", Some(2);
    /// Dimensions of the grid.
    GridDims = "hidden_grid_dims", Some(2);
    /// Address of the device heap.
    HeapV1 = "hidden_heap_v1", Some(8);
    /// Bytes of LDS that the launch adds.
    DynamicLdsSize = "hidden_dynamic_lds_size", Some(4);
    /// High half of the private aperture.
    PrivateBase = "hidden_private_base", Some(4);
    /// High half of the shared aperture.
    SharedBase = "hidden_shared_base", Some(4);
    /// Address of the queue.
    QueuePtr = "hidden_queue_ptr", Some(8);
}

impl Hidden {
    /// The kind of this name, with or without `hidden_`.
    ///
    /// ```
    /// use hsaco_object::metadata::Hidden;
    /// assert_eq!(Hidden::from_name("hidden_grid_dims"), Some(Hidden::GridDims));
    /// assert_eq!(Hidden::from_name("grid_dims"), Some(Hidden::GridDims));
    /// ```
    pub fn from_name(name: &str) -> Option<Self> {
        let bare = |it: &Self| it.name().strip_prefix("hidden_") == Some(name);
        Self::ALL.iter().copied().find(|it| it.name() == name || bare(it))
    }

    /// Its place in [`Self::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }
}
