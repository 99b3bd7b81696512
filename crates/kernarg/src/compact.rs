//! The compact projection: the runtime owns packing, from bindings by ordinal and one dense run of constants.

use hsaco_bytes::{Error, ErrorKind, Result};
use hsaco_object::metadata::ValueKind;

use crate::declaration::{Declaration, Declared};
use crate::hash::{Hasher, LayoutHash};
use crate::hidden::{HiddenBlock, HiddenField, Unsupplied};
use crate::launch::Launch;
use crate::native::{alignment, segment_size};
use crate::{CONTEXT, range};

/// The caller's word that an object was compiled for a runtime that packs its arguments.
///
/// Nothing in a plain code object says so: arguments of most are the caller's to pack, and a runtime that guesses
/// otherwise sends kernels what they do not expect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct AbiMarker;

impl AbiMarker {
    /// The object carries a marker of its runtime, and the caller has seen it.
    #[must_use]
    pub const fn seen() -> Self {
        Self
    }
}

/// How a runtime copies bindings and constants into a kernel's segment.
///
/// ```
/// use hsaco_kernarg::{AbiMarker, CompactLayout, Declaration, Declared};
/// use hsaco_object::metadata::ValueKind;
/// let declaration = Declaration::new(24, vec![
///     Declared::new(0, 8, ValueKind::GlobalBuffer),
///     Declared::new(8, 8, ValueKind::GlobalBuffer),
///     Declared::new(16, 4, ValueKind::ByValue),
///     Declared::new(20, 4, ValueKind::ByValue),
/// ]);
/// let layout = CompactLayout::new(&declaration, Some(AbiMarker::seen()))?;
/// assert_eq!((layout.bindings().len(), layout.constant_size()), (2, 8));
/// let mut segment = [0; 24];
/// layout.pack(&[0x1000, 0x2000], &[7, 0, 0, 0, 9, 0, 0, 0], None, &mut segment)?;
/// assert_eq!(segment[16..], [7, 0, 0, 0, 9, 0, 0, 0]);
/// assert!(CompactLayout::new(&declaration, None).is_err());
/// # Ok::<(), hsaco_bytes::Error>(())
/// ```
///
/// The native projection is another type:
///
/// ```compile_fail,E0308
/// fn packs_bindings(_: &CompactLayout) {}
/// fn mistake(native: &NativeLayout) {
///     packs_bindings(native);
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CompactLayout {
    bindings: Vec<Binding>,
    spans: Vec<ConstantSpan>,
    hidden: HiddenBlock,
    constants: u32,
    segment: u32,
    alignment: u32,
}

/// Where a bound buffer's address goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Binding {
    /// The 8-byte word of the segment.
    pub word: u32,
}

/// Constants to copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ConstantSpan {
    /// Where they go in the segment.
    pub target: u32,
    /// Where they are in the run of constants.
    pub source: u32,
    /// How many bytes.
    pub length: u32,
}

impl CompactLayout {
    /// The layout that is declared, of an object that the caller knows to be compiled for it.
    ///
    /// Pointers must be 8-byte words; what is neither a pointer nor a value cannot be bound. All must end within the
    /// segment, in order, with hidden ones last.
    pub fn new(declaration: &Declaration, marker: Option<AbiMarker>) -> Result<Self> {
        let unsupported = |detail: &str| Err(Error::new(ErrorKind::Unsupported, CONTEXT, detail));
        if marker.is_none() {
            return unsupported("custom-direct only: no marker says that the runtime packs");
        }
        let (Some(arguments), Some(size)) = (&declaration.arguments, declaration.size) else {
            return unsupported(
                "custom-direct only: the metadata does not say what there is to pack",
            );
        };
        let segment = segment_size(size)?;
        let mut layout = Self {
            bindings: Vec::new(),
            spans: Vec::new(),
            hidden: HiddenBlock::default(),
            constants: 0,
            segment,
            alignment: alignment(declaration.alignment)?,
        };
        let mut end = 0;
        for (position, argument) in arguments.iter().filter(|it| !it.kind.is_hidden()).enumerate() {
            end = layout.add(position, argument, end)?;
        }
        layout.hidden = HiddenBlock::new(arguments, end, segment)?;
        Ok(layout)
    }

    fn add(&mut self, position: usize, argument: &Declared, end: u32) -> Result<u32> {
        let label = || match &argument.name {
            Some(name) => format!("argument {position} ({name})"),
            None => format!("argument {position}"),
        };
        let refuse = |kind, detail: String| Err(Error::new(kind, CONTEXT, detail));
        let (offset, size) = range(argument.offset, argument.size, self.segment, label)?;
        if offset < end {
            let detail =
                format!("{} begins at {offset}, and the one before it ends at {end}", label());
            return refuse(ErrorKind::Malformed, detail);
        }
        match &argument.kind {
            ValueKind::GlobalBuffer if size == 8 && offset % 8 == 0 => {
                self.bindings.push(Binding { word: offset / 8 });
            }
            ValueKind::GlobalBuffer => {
                let detail =
                    format!("{} is a pointer of {size} bytes at {offset}, no 8-byte word", label());
                return refuse(ErrorKind::Malformed, detail);
            }
            ValueKind::ByValue if size > 0 => {
                self.spans.push(ConstantSpan {
                    target: offset,
                    source: self.constants,
                    length: size,
                });
                // The spans lie in the segment and do not overlap.
                self.constants = self.constants.saturating_add(size);
            }
            ValueKind::ByValue => {
                return refuse(ErrorKind::Malformed, format!("{} has no bytes", label()));
            }
            kind => {
                let detail = format!("{} is {}, which cannot be bound", label(), kind.name());
                return refuse(ErrorKind::Unsupported, detail);
            }
        }
        Ok(offset.saturating_add(size))
    }

    /// Where each bound buffer's address goes, by ordinal.
    pub fn bindings(&self) -> &[Binding] {
        &self.bindings
    }

    /// Where the constants go.
    pub fn spans(&self) -> &[ConstantSpan] {
        &self.spans
    }

    /// Bytes of constants, exactly as many as a caller must bring.
    pub fn constant_size(&self) -> u32 {
        self.constants
    }

    /// Bytes of the segment that packing fills.
    pub fn segment_size(&self) -> u32 {
        self.segment
    }

    /// What the segment's address must be a multiple of.
    pub fn segment_alignment(&self) -> u32 {
        self.alignment
    }

    /// The arguments that the runtime adds.
    pub fn hidden_arguments(&self) -> &[HiddenField] {
        self.hidden.fields()
    }

    /// True when binding `i` goes to word `i`: all of them are one copy.
    pub fn has_packed_bindings(&self) -> bool {
        (0..).zip(&self.bindings).all(|(ordinal, it)| it.word == ordinal)
    }

    /// True when the constants go to one run of the segment: all of them are one copy.
    pub fn has_contiguous_constants(&self) -> bool {
        self.spans.windows(2).all(|pair| match pair {
            [first, second] => first.target.saturating_add(first.length) == second.target,
            _ => true,
        })
    }

    /// True when bindings and constants do not write every byte of the segment.
    pub fn needs_zero_fill(&self) -> bool {
        let bindings = u64::from(u32::try_from(self.bindings.len()).unwrap_or(u32::MAX)) * 8;
        !self.hidden.fields().is_empty()
            || bindings + u64::from(self.constants) != u64::from(self.segment)
    }

    /// Packs addresses and constants into the first [`segment_size`](Self::segment_size) bytes of `out`. There must be
    /// exactly as many as the kernel takes; nothing is written otherwise, and nothing is allocated.
    pub fn pack(
        &self,
        bindings: &[u64],
        constants: &[u8],
        launch: Option<&Launch>,
        out: &mut [u8],
    ) -> Result<Unsupplied<'_>> {
        let exactly = |what: &str, given: usize, wanted: usize| {
            let detail = format!("{given} {what} for {wanted}");
            Err(Error::new(ErrorKind::Mismatch, CONTEXT, detail))
        };
        if bindings.len() != self.bindings.len() {
            return exactly("bindings", bindings.len(), self.bindings.len());
        }
        if constants.len() != self.constants as usize {
            return exactly("bytes of constants", constants.len(), self.constants as usize);
        }
        let available = out.len() as u64;
        let segment = out.get_mut(..self.segment as usize);
        let Some(segment) = segment else {
            return Err(Error::truncated(CONTEXT, 0, u64::from(self.segment), available));
        };
        segment.fill(0);
        for (binding, address) in self.bindings.iter().zip(bindings) {
            copy(segment, binding.word.saturating_mul(8), &address.to_le_bytes());
        }
        for span in &self.spans {
            copy(segment, span.target, part(constants, span.source, span.length));
        }
        Ok(self.hidden.write(launch, segment))
    }

    /// The addresses and constants of a packed segment.
    pub fn unpack(&self, segment: &[u8]) -> Result<(Vec<u64>, Vec<u8>)> {
        if segment.len() < self.segment as usize {
            let (needed, available) = (u64::from(self.segment), segment.len() as u64);
            return Err(Error::truncated(CONTEXT, 0, needed, available));
        }
        let address = |it: &Binding| {
            let bytes = part(segment, it.word.saturating_mul(8), 8);
            bytes.first_chunk().map_or(0, |it| u64::from_le_bytes(*it))
        };
        let spans = self.spans.iter().map(|it| part(segment, it.target, it.length));
        Ok((self.bindings.iter().map(address).collect(), spans.flatten().copied().collect()))
    }

    /// What tells layouts apart; never the hash of a native one.
    pub fn hash(&self) -> LayoutHash {
        let mut hasher = Hasher::new("compact");
        hasher.number(self.segment);
        hasher.number(self.alignment);
        for binding in &self.bindings {
            hasher.argument(binding.word, 1, "binding");
        }
        for span in &self.spans {
            hasher.argument(span.target, span.length, "constants");
        }
        for field in self.hidden.fields() {
            hasher.argument(field.offset, field.size, field.name());
        }
        hasher.finish()
    }
}

/// Bytes whose place has been checked when the layout was made.
fn part(bytes: &[u8], at: u32, length: u32) -> &[u8] {
    bytes.get(at as usize..).and_then(|it| it.get(..length as usize)).unwrap_or_default()
}

fn copy(segment: &mut [u8], at: u32, bytes: &[u8]) {
    let target = segment.get_mut(at as usize..).and_then(|it| it.get_mut(..bytes.len()));
    if let Some(target) = target {
        target.copy_from_slice(bytes);
    }
}
