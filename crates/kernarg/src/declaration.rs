//! What a file says of a kernel's arguments, before any of it is believed.

use std::fmt;

use hsaco_bytes::Result;
use hsaco_object::metadata::{OwnedValueKind, Place};
use hsaco_object::{Kernel, KernelDescriptor};

/// What is said of a kernel's arguments: by its metadata, and of the segment's size by its descriptor.
///
/// ```
/// use hsaco_kernarg::{Declaration, NativeLayout};
/// use hsaco_object::CodeObject;
/// # let file = std::fs::read("../../tests/fixtures/s1.gfx942.co")?;
/// let object = CodeObject::parse(&file)?;
/// let index = object.index();
/// let declaration = Declaration::of(&index.kernels()[0])?;
/// assert_eq!((declaration.size, declaration.alignment), (Some(24), Some(8)));
/// let layout = NativeLayout::new(&declaration)?;
/// assert_eq!(layout.parameters()[1].offset, 8);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Declaration {
    /// Bytes of the segment: as the metadata says, else as the descriptor does; none where neither does.
    pub size: Option<u64>,
    /// What its address is a multiple of.
    pub alignment: Option<u64>,
    /// The arguments, hidden ones included; none where the metadata does not say, which is not "no arguments".
    pub arguments: Option<Vec<Declared>>,
    /// What is odd, and no reason to refuse the kernel.
    pub remarks: Vec<LayoutRemark>,
}

/// One argument, as it is declared.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Declared {
    /// Where it begins in the segment.
    pub offset: u64,
    /// Its size.
    pub size: u64,
    /// What it holds.
    pub kind: OwnedValueKind,
    /// Its name, which HIP does not say.
    pub name: Option<Box<str>>,
    /// The name of its type, which OpenCL says.
    pub type_name: Option<Box<str>>,
}

/// What is odd about a declaration, and no reason to refuse the kernel: real libraries are full of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LayoutRemark {
    /// Arguments end behind the segment, which then counts as that much longer.
    BeyondSegment {
        /// Where they end.
        end: u64,
        /// The size that is declared.
        size: u64,
    },
    /// Metadata and descriptor have different sizes; the metadata's counts.
    SizeMismatch {
        /// Bytes in the metadata.
        metadata: u64,
        /// Bytes in the descriptor.
        descriptor: u64,
    },
}

impl fmt::Display for LayoutRemark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BeyondSegment { end, size } => write!(
                f,
                "arguments end at {end}, behind the segment of {size} bytes; {end} bytes are used"
            ),
            Self::SizeMismatch { metadata, descriptor } => write!(
                f,
                "the segment has {metadata} bytes in the metadata and {descriptor} in the descriptor; \
                 the metadata's count"
            ),
        }
    }
}

impl Declaration {
    /// A segment of a size with arguments, as one that has no file declares them.
    #[must_use]
    pub fn new(size: u64, arguments: Vec<Declared>) -> Self {
        Self { arguments: Some(arguments), ..Self::default() }.with_size(Some(size))
    }

    /// What a kernel's metadata and descriptor say. Without metadata nothing is known of arguments.
    pub fn of(kernel: &Kernel<'_>) -> Result<Self> {
        let described =
            kernel.descriptor().and_then(KernelDescriptor::kernarg_segment_size).map(u64::from);
        let v2 = || kernel.v2_header().map(|it| it.kernarg_segment_byte_size);
        let described = described.or_else(v2);
        let Some(metadata) = kernel.metadata() else {
            return Ok(Self { size: described, ..Self::default() });
        };
        let said = metadata.segment()?;
        let mut remarks = Vec::new();
        if let (Some(metadata), Some(descriptor)) = (said.size, described)
            && metadata != descriptor
        {
            remarks.push(LayoutRemark::SizeMismatch { metadata, descriptor });
        }
        let arguments = said.arguments.map(|it| it.iter().map(Declared::of).collect());
        let declaration = Self { size: None, alignment: said.alignment, arguments, remarks };
        Ok(declaration.with_size(said.size.or(described)))
    }

    /// Sets the size, and remarks on visible arguments that end behind it.
    fn with_size(mut self, size: Option<u64>) -> Self {
        self.size = size;
        let visible = self.arguments.iter().flatten().filter(|it| !it.kind.is_hidden());
        let end = visible.map(|it| it.offset.saturating_add(it.size)).max().unwrap_or(0);
        if let Some(size) = size.filter(|&size| end > size) {
            self.remarks.push(LayoutRemark::BeyondSegment { end, size });
        }
        self
    }
}

impl Declared {
    /// An argument without a name.
    #[must_use]
    pub fn new(offset: u64, size: u64, kind: OwnedValueKind) -> Self {
        Self { offset, size, kind, name: None, type_name: None }
    }

    /// The same with a name.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        Self { name: Some(name.into()), ..self }
    }

    fn of(argument: &Place<'_>) -> Self {
        let text = |it: hsaco_bytes::Str<'_>| it.to_str_lossy().into();
        Self {
            offset: argument.offset,
            size: argument.size,
            kind: argument.value_kind.to_owned(),
            name: argument.name.map(text),
            type_name: argument.type_name.or(argument.value_type).map(text),
        }
    }
}
